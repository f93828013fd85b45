# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joints that MJCF does not have, written as several that it has: coordinates and dynamics stay the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import worldline.model as wm
from worldline import msd

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick here")
J = msd.JointType
KINDS = {
    "revolute": msd.Joint(axis=(1, 2, 3), ref_=0.3),
    "slide": msd.Joint(type_=J.Slide, axis=(0, 1, 1), ref_=-0.2),
    "ball": msd.Joint(type_=J.Ball),
    "universal": msd.Joint(type_=J.Universal, axis=(1, 0, 0), axis2=(0, 1, 0.5)),
    "planar": msd.Joint(type_=J.Planar, axis=(0, 1, 1), axis2=(1, 0, 0.2)),
    "euler": msd.Joint(type_=J.Euler, euler_order="ZXY"),
    "translational": msd.Joint(type_=J.Translational),
    "translational2d": msd.Joint(type_=J.Translational2D, axis=(1, 0, 0), axis2=(0, 0, 1)),
    "cable": msd.Joint(type_=J.Cable, axis=(0, 0, 1), axis2=(1, 0, 0)),
    "free": msd.Joint(type_=J.Free),
    "d6": msd.Joint(
        type_=J.D6,
        dofs=[
            msd.JointDof(axis=(1, 1, 0), angular=False, armature=0.3, damping=0.5, pos_limit=(-1, 1)),
            msd.JointDof(axis=(0, 0, 1), angular=True, stiffness=2.0, rest_position=0.1),
            msd.JointDof(axis=(0, 1, 0), angular=True, friction_loss=0.2),
        ],
    ),
}


def scene(joint: msd.Joint) -> msd.World:
    """A link that moves by the joint on one that turns, with another link on it."""
    joint.name = "joint"
    joint.pos = (0.1, -0.2, 0.3)
    if joint.type_ not in (J.Ball, J.Free):
        joint.orientation = (0.1, 0.2, 0.3, 0.9)
    joint.limit_force = msd.ConstraintForceModel.impedance(msd.ImpedanceSpring())
    mass = msd.Inertia(mass=2.0, pos=(0.1, 0.2, 0.3), full_inertia=[0.3, 0.4, 0.5, 0.01, 0.02, 0.03])
    tip = msd.Link(name="tip", local_translation=(0.2, 0.1, 0.0), inertial=mass)
    tip.joints.append(msd.Joint(name="last", axis=(0, 0, 1)))
    middle = msd.Link(name="middle", local_translation=(0, 0.3, 0.1), local_rotation=(0.2, 0, 0.1, 0.97))
    middle.joints.append(joint)
    middle.inertial, middle.children = mass.__class__(**vars_of(mass)), [tip]
    base = msd.Link(name="base", children=[middle], inertial=msd.Inertia(**vars_of(mass)))
    base.joints.append(msd.Joint(name="first", axis=(0, 1, 0)))
    world = msd.World()
    world.hierarchy.bodies.append(msd.Body(link=base))
    return world


def vars_of(mass: msd.Inertia) -> dict[str, object]:
    return {"mass": mass.mass, "pos": mass.pos, "full_inertia": mass.full_inertia}


def file_order(world: msd.World, q: np.ndarray) -> np.ndarray:
    """Coordinates of the scene as the file has them: w of a quaternion first."""
    kind = world.hierarchy.bodies[0].link.children[0].joints[0].type_
    out = q.copy()
    if kind in (J.Ball, J.Free):
        start = 1 if kind is J.Ball else 4
        out[start : start + 4] = q[[start + 3, start, start + 1, start + 2]]
    return out


@pytest.mark.parametrize("name", KINDS)
def test_dynamics_stay_the_same(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    world = scene(KINDS[name])
    model = msd.build(world)
    report = msd.Report()
    text = world.to_str(format="mjcf", report=report)
    theirs = mujoco.MjModel.from_xml_string(text)
    assert (theirs.nq, theirs.nv) == (model.joint_coord_count, model.joint_dof_count)
    count = theirs.njnt - 2
    names = [mujoco.mj_id2name(theirs, mujoco.mjtObj.mjOBJ_JOINT, i) for i in range(theirs.njnt)]
    expected = ["joint"] if count == 1 else [f"joint_{k + 1}" for k in range(count)]
    assert names == ["first", *expected, "last"]
    motion = [entry.path for entry in report.losses if ".joints[" in entry.path]
    assert motion == []
    rng = np.random.default_rng(5)
    for _ in range(3):
        q, v = rng.normal(size=theirs.nq), rng.normal(size=theirs.nv)
        if name in ("ball", "free"):
            start = 1 if name == "ball" else 4
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        data = mujoco.MjData(theirs)
        data.qpos[:], data.qvel[:] = file_order(world, q), v
        mujoco.mj_forward(theirs, data)
        mass = np.zeros((theirs.nv, theirs.nv))
        mujoco.mj_fullM(theirs, data, mass)
        np.testing.assert_allclose(wm.mass_matrix(model, q), mass, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(wm.bias_forces(model, q, v), data.qfrc_bias, rtol=1e-8, atol=1e-8)


def test_a_ball_in_turned_axes_is_told_in_those_of_its_link() -> None:
    world = scene(msd.Joint(type_=J.Ball))
    q = np.array([0.2, *(np.array([0.1, 0.5, -0.3, 0.8]) / np.linalg.norm([0.1, 0.5, -0.3, 0.8])), 0.4])
    v = np.array([0.3, 1.0, 2.0, 3.0, -0.5])
    world.keyframes.append(msd.Keyframe(dof_pos=q, dof_vel=v))
    world.hierarchy.bodies[0].link.children[0].joints[0].orientation = (0.1, 0.2, 0.3, 0.9)
    drive = msd.Actuator(target=msd.ActuatorTarget.joint("joint"), gear=(1, 2, 3, 0, 0, 0))
    world.actuators.append(drive)
    report = msd.Report()
    theirs = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf", report=report))
    assert "$.hierarchy.bodies[0].link.children[0].joints[0].orientation" in [e.path for e in report.losses]
    data = mujoco.MjData(theirs)
    mujoco.mj_resetDataKeyframe(theirs, data, 0)
    data.ctrl[:] = 1.0
    mujoco.mj_forward(theirs, data)
    model = msd.build(world)
    momenta = wm.mass_matrix(model, q) @ v
    mass = np.zeros((5, 5))
    mujoco.mj_fullM(theirs, data, mass)
    # energy and power are the same whatever the axes
    assert v @ momenta == pytest.approx(data.qvel @ mass @ data.qvel, rel=1e-12)
    assert data.qfrc_actuator @ data.qvel == pytest.approx(1.0 * 1.0 + 2.0 * 2.0 + 3.0 * 3.0, rel=1e-12)


def test_settings_of_single_axes() -> None:
    text = scene(KINDS["d6"]).to_str(format="mjcf")
    model = mujoco.MjModel.from_xml_string(text)
    np.testing.assert_array_equal(model.dof_armature[1:4], [0.3, 0.0, 0.0])
    np.testing.assert_array_equal(model.dof_damping[1:4], [0.5, 0.0, 0.0])
    np.testing.assert_array_equal(model.jnt_stiffness[1:4], [0.0, 2.0, 0.0])
    np.testing.assert_array_equal(model.dof_frictionloss[1:4], [0.0, 0.0, 0.2])
    np.testing.assert_array_equal(model.jnt_range[1], [-1.0, 1.0])
    assert model.qpos_spring[2] == 0.1


def test_a_screw_is_a_hinge_and_a_slide_tied_together() -> None:
    world = scene(msd.Joint(type_=J.Screw, axis=(0, 0, 1), pitch=0.2))
    world.keyframes.append(msd.Keyframe(name="turned", dof_pos=(0.1, 0.5, 0.3), dof_vel=(0.0, 2.0, 0.0)))
    report = msd.Report()
    model = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf", report=report))
    assert model.neq == 1 and model.nq == 4
    np.testing.assert_allclose(model.key_qpos[0], [0.1, 0.5, 0.1, 0.3])
    np.testing.assert_allclose(model.key_qvel[0], [0.0, 2.0, 0.4, 0.0])
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert abs(data.efc_pos[0]) < 1e-15
    assert "$.hierarchy.bodies[0].link.children[0].joints[0].type_" in [e.path for e in report.losses]


def test_a_distance_joint_is_free_and_a_tendon_limits_it() -> None:
    world = scene(msd.Joint(type_=J.Distance, distance_limit=(0.1, 0.5)))
    world.hierarchy.bodies[0].link.children[0].joints[0].orientation = (0, 0, 0, 1)
    report = msd.Report()
    model = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf", report=report))
    assert (model.nq, model.nv, model.ntendon) == (9, 8, 1)
    np.testing.assert_array_equal(model.tendon_range[0], [0.1, 0.5])
    data = mujoco.MjData(model)
    data.qpos[1:4] = [0.3, 0.0, 0.4]
    mujoco.mj_forward(model, data)
    assert data.ten_length[0] == pytest.approx(0.5)
    assert "$.hierarchy.bodies[0].link.children[0].joints[0].distance_limit" in [
        e.path for e in report.losses
    ]


def test_actuators_of_a_joint_with_several_axes() -> None:
    world = scene(KINDS["universal"])
    for gear in ((0, 3, 0, 0, 0, 0), (1, 1, 0, 0, 0, 0)):
        world.actuators.append(msd.Actuator(target=msd.ActuatorTarget.joint("joint"), gear=gear))
    report = msd.Report()
    model = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf", report=report))
    assert model.nu == 1 and model.actuator_gear[0][0] == 3.0 and model.actuator_trnid[0][0] == 2
    assert "$.actuators[1]" in [entry.path for entry in report.losses]


def test_frozen_joints_hold_their_link_where_they_are() -> None:
    world = scene(msd.Joint(type_=J.Universal, axis=(1, 0, 0), axis2=(0, 1, 0.5)))
    middle = world.hierarchy.bodies[0].link.children[0]
    free = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf"))
    data = mujoco.MjData(free)
    data.qpos[:] = [0.0, 0.4, -0.7, 0.0]
    mujoco.mj_forward(free, data)
    middle.joints[0].frozen = [0.4, -0.7]
    held = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf"))
    assert held.nq == 2
    other = mujoco.MjData(held)
    mujoco.mj_forward(held, other)
    np.testing.assert_allclose(other.xpos, data.xpos, atol=1e-14)
    np.testing.assert_allclose(other.xmat, data.xmat, atol=1e-14)
