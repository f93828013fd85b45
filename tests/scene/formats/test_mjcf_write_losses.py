# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What MJCF cannot say is noted with its path in the scene, and the rest still loads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.scene.report import Fate

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick here")

TEXT = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/>
  <body name="a" pos="0 0 1"><joint name="j" axis="0 1 0" range="-60 60"/><geom name="g" size="0.1"/>
    <body name="b" pos="0 0 1"><joint name="k" axis="0 1 0"/><geom name="h" size="0.1" pos="0 0 0.2"/>
      <site name="s"/></body></body>
  <body name="c" pos="1 0 1"><freejoint name="f"/><geom size="0.1"/></body></worldbody></mujoco>"""
LINK = "$.hierarchy.bodies[0].link"


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def base() -> msd.World:
    return msd.from_str(TEXT)


def arm(world: msd.World) -> msd.Link:
    return world.hierarchy.bodies[0].link


def material(world: msd.World) -> msd.PhysicsMaterial:
    return arm(world).geoms[0].physics_material


def set_(get: Callable[[msd.World], Any], **values: Any) -> Callable[[msd.World], None]:
    def change(world: msd.World) -> None:
        for name, value in values.items():
            setattr(get(world), name, value)

    return change


def add(field: str, value: Callable[[], Any]) -> Callable[[msd.World], None]:
    return lambda world: getattr(world, field).append(value())


def closure(a: str, b: str, **more: Any) -> Callable[[msd.World], None]:
    frames = {"frame_a": msd.FrameRef(link=a), "frame_b": msd.FrameRef(link=b)}
    return add("loop_closures", lambda: msd.LoopClosure(**frames, **more))


LEFT, APPROXIMATED = Fate.LeftOut, Fate.Approximated
SPRING = msd.StiffnessDamping(k=2500.0, d=100.0)
CASES: dict[str, tuple[Callable[[msd.World], None], str, Fate]] = {
    "velocity limit": (
        set_(lambda w: arm(w).joints[0], velocity_limit=3.0),
        f"{LINK}.joints[0].velocity_limit",
        LEFT,
    ),
    "effort limit": (
        set_(lambda w: arm(w).children[0].joints[0], effort_limit=3.0),
        f"{LINK}.children[0].joints[0].effort_limit",
        APPROXIMATED,
    ),
    "drive": (set_(lambda w: arm(w).joints[0], drive="Velocity"), f"{LINK}.joints[0].drive", LEFT),
    "restitution": (
        set_(material, restitution=0.5),
        f"{LINK}.geoms[0].physics_material.restitution",
        LEFT,
    ),
    "combine rule": (
        set_(material, friction_rule="Average"),
        f"{LINK}.geoms[0].physics_material.friction_rule",
        LEFT,
    ),
    "hard contact": (
        set_(material, contact_model=msd.ConstraintForceModel.hard(0.2, 0.8)),
        f"{LINK}.geoms[0].physics_material.contact_model",
        APPROXIMATED,
    ),
    "force spring": (
        set_(lambda w: arm(w).joints[0], limit_force=msd.ConstraintForceModel.force_spring(SPRING)),
        f"{LINK}.joints[0].limit_force",
        APPROXIMATED,
    ),
    "kinematic": (
        set_(lambda w: w.hierarchy.bodies[1], kind="Kinematic"),
        "$.hierarchy.bodies[1].kind",
        APPROXIMATED,
    ),
    "static": (
        set_(lambda w: w.hierarchy.bodies[1], kind="Static"),
        "$.hierarchy.bodies[1].kind",
        APPROXIMATED,
    ),
    "start velocity": (
        set_(lambda w: w.hierarchy.bodies[1], linear_velocity=(1, 0, 0)),
        "$.hierarchy.bodies[1].linear_velocity",
        LEFT,
    ),
    "finite plane": (
        set_(lambda w: w.hierarchy.geoms[0], shape="Plane"),
        "$.hierarchy.geoms[0].shape",
        APPROXIMATED,
    ),
    "mesh surface": (
        set_(lambda w: arm(w).geoms[0], mesh_surface=True),
        f"{LINK}.geoms[0].mesh_surface",
        LEFT,
    ),
    "closure": (
        closure("a", "b", dynamics="ResidualOnly"),
        "$.loop_closures[0]",
        LEFT,
    ),
    "solved closure": (
        closure("b", "c", family="Point", dynamics="Solve"),
        "$.loop_closures[0]",
        APPROXIMATED,
    ),
    "axis closure": (
        closure("b", "c", family="Axis", dynamics="Solve"),
        "$.loop_closures[0]",
        LEFT,
    ),
    "coupler": (
        add("couplers", lambda: msd.JointCoupler(joint="j", reference="k", multiplier=2.0, offset=0.1)),
        "$.couplers[0]",
        APPROXIMATED,
    ),
    "breakable": (
        lambda w: w.equality_constraint_set.joints.append(msd.EqualityJoint(joint_a="j", break_force=3.0)),
        "$.equality_constraint_set.joints[0].break_force",
        LEFT,
    ),
    "world joint": (
        add(
            "joints",
            lambda: msd.WorldJoint(
                parent=msd.FrameRef(link="b"), child=msd.FrameRef(link="c"), joint=msd.Joint(axis=(0, 0, 1))
            ),
        ),
        "$.joints[0]",
        LEFT,
    ),
    "multibody": (
        set_(lambda w: w.hierarchy.bodies[0], multibody="robot"),
        "$.hierarchy.bodies[0].multibody",
        LEFT,
    ),
    "solver": (
        set_(lambda w: w.simulate_option, solver_type="Lemke"),
        "$.simulate_option.solver_type",
        APPROXIMATED,
    ),
    "integrator": (
        set_(lambda w: w.simulate_option, integrator="Variational"),
        "$.simulate_option.integrator",
        APPROXIMATED,
    ),
    "policy": (
        set_(lambda w: w.simulate_option.policy, differentiable=True),
        "$.simulate_option.policy.differentiable",
        LEFT,
    ),
    "frame kind": (
        add("frames", lambda: msd.Frame(name="tool", parent_link="b", kind="EndEffector")),
        "$.frames[0].kind",
        APPROXIMATED,
    ),
    "imu": (
        lambda w: w.sensors.imu.append(msd.ImuSensor(name="imu", link="b", position=(0, 0, 0.1))),
        "$.sensors.imu[0]",
        APPROXIMATED,
    ),
    "held force": (
        add("keyframes", lambda: msd.Keyframe(dof_force=np.ones(8))),
        "$.keyframes[0].dof_force",
        LEFT,
    ),
    "ambient light": (
        set_(lambda w: w.visual.ambient_light, brightness=1.0),
        "$.visual.ambient_light.brightness",
        LEFT,
    ),
    "decomposition": (
        set_(lambda w: w.simulate_option, coacd_strategy=msd.CoACDConfig()),
        "$.simulate_option.coacd_strategy",
        LEFT,
    ),
    "massless": (
        lambda w: arm(w).children[0].geoms.clear(),
        f"{LINK}.children[0].inertial",
        APPROXIMATED,
    ),
    "impossible moments": (
        set_(arm, inertial=msd.Inertia(mass=1.0, pos=(0, 0, 0), diag_inertia=(1, 1, 5))),
        f"{LINK}.inertial",
        APPROXIMATED,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_noted_where_it_stands(name: str) -> None:
    change, path, fate = CASES[name]
    world = base()
    change(world)
    report = msd.Report()
    text = world.to_str(format="mjcf", report=report)
    assert [(entry.path, entry.fate) for entry in report.losses] == [(path, fate)]
    msd.from_str(text)
    if name not in ("massless", "impossible moments"):
        mujoco.MjModel.from_xml_string(text)


def test_the_scene_itself_loses_nothing() -> None:
    assert base().to_str(format="mjcf", strict=True)


def test_a_coupler_holds_joints_as_it_says() -> None:
    world = base()
    CASES["coupler"][0](world)
    arm(world).joints[0].ref_ = 0.3
    model = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf"))
    data = mujoco.MjData(model)
    data.qpos[1] = 0.25
    data.qpos[0] = 2.0 * 0.25 + 0.1
    mujoco.mj_forward(model, data)
    equality = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    assert equality.sum() == 1 and abs(data.efc_pos[equality][0]) < 1e-15


def test_a_distance_spring_is_a_tendon() -> None:
    world = base()
    spring = msd.DistanceSpring(
        name="band",
        frame_a=msd.FrameRef(link="b", position=(0.1, 0, 0)),
        frame_b=msd.FrameRef(position=(0, 0, 3)),
        rest_length=0.2,
        stiffness=30.0,
        damping=2.0,
    )
    world.distance_springs.append(spring)
    report = msd.Report()
    model = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf", report=report))
    assert report.is_exact and len(report) == 1
    assert (model.tendon_stiffness[0], model.tendon_damping[0]) == (30.0, 2.0)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ten_length[0] == pytest.approx(np.hypot(0.1, 1.0))


def test_laws_of_contact_answer_alike_in_one_step() -> None:
    """A ball pressed into the floor is pushed out as fast by MuJoCo as by the law that was approximated."""
    for law in (
        msd.ConstraintForceModel.acceleration_spring(SPRING),
        msd.ConstraintForceModel.hard(0.0, 0.2),
    ):
        world = msd.from_str(
            "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 1' condim='1'/><body name='c' pos='0 0 0.099'>"
            "<freejoint/><geom name='ball' size='0.1' condim='1'/></body></worldbody></mujoco>"
        )
        for geom in (world.hierarchy.geoms[0], world.hierarchy.bodies[0].link.geoms[0]):
            geom.physics_material.contact_model = law
        report = msd.Report()
        model = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf", report=report))
        assert not report.is_exact
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data)
        ours = sx.World.from_scene(world)
        ours.step()
        speed = float(ours.rigid_bodies[0].linear_velocity[2])
        assert data.qvel[2] == pytest.approx(speed, rel=2e-3)


def test_links_that_do_not_touch_each_other_become_pairs() -> None:
    world = base()
    arm(world).disable_self_collision = True
    model = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf", strict=True))
    assert model.nexclude == 1


def test_what_refers_to_something_left_out_is_left_out_too() -> None:
    world = base()
    arm(world).children[0].joints[0].type_ = "Fixed"
    world.actuators.append(msd.Actuator(name="m", target=msd.ActuatorTarget.joint("k")))
    world.actuators.append(msd.Actuator(name="n", target=msd.ActuatorTarget.joint("j")))
    world.sensors.joint.append(msd.JointSensor(joint="k"))
    world.sensors.actuator.append(msd.ActuatorSensor(actuator="m"))
    world.keyframes.append(msd.Keyframe(ctrl=(1.0, 2.0)))
    report = msd.Report()
    model = mujoco.MjModel.from_xml_string(world.to_str(format="mjcf", report=report))
    assert (model.nu, model.nsensor) == (1, 0)
    assert model.key_ctrl[0][0] == 2.0
    paths = [entry.path for entry in report.losses]
    assert paths == ["$.actuators[0]", "$.sensors.joint[0]", "$.sensors.actuator[0]", "$.keyframes[0].ctrl"]
