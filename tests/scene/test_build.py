# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From scenes to models: trees, bases, several joints, masses, tables, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from worldline import msd
from worldline._src.errors import SceneError
from worldline.model import BodyFlags, JointType

SPHERE = 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3


def mjcf(body: str, rest: str = "") -> msd.World:
    return msd.from_str(f"<mujoco><worldbody>{body}</worldbody>{rest}</mujoco>", format="mjcf")


def test_a_free_body_starts_where_it_is_drawn():
    model = msd.build(
        mjcf("<body name='ball' pos='1 2 3' quat='0 1 0 0'><freejoint name='root'/><geom size='.1'/></body>")
    )
    assert model.joint_label == ["root"]
    assert model.joint_type.tolist() == [JointType.FREE]
    assert model.joint_q == pytest.approx([1, 2, 3, 1, 0, 0, 0])
    assert wm.forward_kinematics(model, np.array(model.joint_q))[0, :3] == pytest.approx([1, 2, 3])
    assert model.body_mass[0] == pytest.approx(SPHERE)


def test_a_fixed_base_is_welded_to_the_world():
    model = msd.build(mjcf("<body name='base' pos='0 0 1'><geom size='.1'/></body>"))
    assert model.joint_type.tolist() == [JointType.FIXED]
    assert model.joint_dof_count == 0
    assert wm.forward_kinematics(model, np.zeros(0))[0, :3] == pytest.approx([0, 0, 1])


def test_several_joints_on_one_link_move_it_in_order():
    """A hinge off the link's origin, then a slide along the turned axis."""
    model = msd.build(
        mjcf(
            "<body name='arm'><joint name='turn' axis='0 0 1' pos='1 0 0'/>"
            "<joint name='slide' type='slide' axis='1 0 0'/><geom size='.1'/></body>"
        )
    )
    assert model.body_label == ["arm/turn", "arm"]
    assert model.joint_label == ["turn", "slide"]
    pose = wm.forward_kinematics(model, [0.5 * np.pi, 0.25])[model.body_index("arm")]
    assert pose[:3] == pytest.approx([1.0, -1.0 + 0.25, 0.0], abs=1e-15)
    assert model.body_mass.tolist() == pytest.approx([0.0, SPHERE])


def test_the_reference_coordinate_is_that_of_the_drawn_pose():
    model = msd.build(
        mjcf("<body name='a' pos='0 0 1'><joint type='slide' axis='0 0 1' ref='.5'/><geom size='.1'/></body>")
    )
    assert model.joint_q == pytest.approx([0.5])
    assert wm.forward_kinematics(model, [0.5])[0, 2] == pytest.approx(1.0)
    assert wm.forward_kinematics(model, [0.0])[0, 2] == pytest.approx(0.5)


def test_the_reference_angle_of_a_hinge_is_that_of_the_drawn_pose():
    model = msd.build(
        mjcf(
            "<body name='a'><joint axis='0 0 1' ref='90'/><geom size='.1'/><body name='b' pos='1 0 0'/></body>"
        )
    )
    assert model.joint_q == pytest.approx([0.5 * np.pi])
    tip = model.body_index("b")
    assert wm.forward_kinematics(model, [0.5 * np.pi])[tip, :3] == pytest.approx([1, 0, 0], abs=1e-15)
    assert wm.forward_kinematics(model, [0.0])[tip, :3] == pytest.approx([0, -1, 0], abs=1e-15)


def test_welded_subtrees_add_their_mass():
    parts = "<geom size='.1'/><body name='b' pos='1 0 0'><geom size='.1'/></body>"
    model = msd.build(mjcf(f"<body name='a'><joint axis='0 0 1'/>{parts}</body>"))
    assert model.joint_type.tolist() == [JointType.REVOLUTE, JointType.FIXED]
    one = 0.4 * SPHERE * 0.01
    assert wm.mass_matrix(model, [0.3]) == pytest.approx(np.array([[2.0 * one + SPHERE]]))


def test_mocap_bodies_are_kinematic():
    model = msd.build(mjcf("<body name='hand' mocap='true' pos='0 1 0'><geom size='.1'/></body>"))
    assert model.body_flags.tolist() == [BodyFlags.KINEMATIC]


def test_two_bodies_are_two_articulations_under_their_names():
    free = "<freejoint/><geom size='.1'/>"
    model = msd.build(mjcf(f"<body name='a'>{free}</body><body name='b'>{free}</body>"))
    assert model.articulation_label == ["a", "b"]
    assert model.joint_dof_count == 12


def test_bodies_of_one_multibody_are_one_articulation():
    scene = mjcf(
        "<body name='a'><joint/><geom size='.1'/></body><body name='b'><joint/><geom size='.1'/></body>"
    )
    for body in scene.hierarchy.bodies:
        body.multibody = "pair"
    model = msd.build(scene)
    assert model.articulation_label == ["pair"]
    assert model.joint_articulation.tolist() == [0, 0]


def test_every_joint_type_of_the_description_is_built():
    for kind in msd.JointType:
        joint = msd.Joint(name="j", type_=kind, axis=(0, 0, 1), pitch=0.1)
        if kind is msd.JointType.D6:
            joint.dofs = [msd.JointDof(axis=(1, 0, 0), angular=False), msd.JointDof(axis=(0, 0, 1))]
        if kind is msd.JointType.Custom:
            joint.motion = [msd.MotionAxis.turn((0, 1, 0), msd.CoordinateFunction.linear())]
        link = msd.Link(name="l", joints=[joint], geoms=[msd.Geometry(size=(0.1, 0, 0))])
        scene = msd.World()
        scene.hierarchy.bodies.append(msd.Body(link=link))
        model = msd.build(scene)
        assert (model.joint_coord_count, model.joint_dof_count) == joint.sizes, kind


def test_springs_by_frequency_swing_at_it():
    scene = mjcf("<body name='a'><joint name='h' axis='0 1 0'/><geom size='.1' pos='0 0 -1'/></body>")
    coefficients = msd.FrequencyDampingRatio(w=7.0, z=0.25)
    scene.hierarchy.bodies[0].link.joints[0].spring_damper = msd.SpringDamper(
        coeff=msd.SpringDampCoeff.frequency_damping_ratio(coefficients)
    )
    scene.simulate_option.gravity = (0.0, 0.0, 0.0)
    model = msd.build(scene)
    # x'' = -w^2 x - 2 w z x'
    assert wm.forward_dynamics(model, [0.01], [0.0], [0.0])[0] == pytest.approx(-49.0 * 0.01)
    assert wm.forward_dynamics(model, [0.0], [1.0], [0.0])[0] == pytest.approx(-2.0 * 7.0 * 0.25)


def test_gravity_and_its_switch():
    body = "<body><freejoint/><geom size='.1'/></body>"
    falling = msd.build(mjcf(body, "<option gravity='0 0 -1.6'/>"))
    assert falling.gravity.tolist() == [0.0, 0.0, -1.6]
    floating = msd.build(mjcf(body, "<option><flag gravity='disable'/></option>"))
    assert floating.gravity.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "drive",
    [
        "<position joint='h' kp='100' dampratio='1'/>",
        "<intvelocity joint='h' kp='100' dampratio='1' actrange='-1 1'/>",
    ],
)
def test_a_damping_ratio_becomes_damping_by_the_inertia_seen(drive):
    scene = mjcf(
        "<body><joint name='h' axis='0 1 0' armature='.5'/><geom size='.1' pos='0 0 -1'/></body>",
        f"<actuator>{drive}</actuator>",
    )
    before = scene.to_str()
    model = msd.build(scene)
    assert scene.to_str() == before
    inertia = wm.mass_matrix(model, [0.0])[0, 0]
    assert model.actuators.bias[0, :3] == pytest.approx([0.0, -100.0, -2.0 * np.sqrt(100.0 * inertia)])


def test_keyframes_come_in_the_order_of_the_model():
    """The file has a hinge before a free body; a scene has free bases first, a model the order of the file."""
    scene = mjcf(
        "<body name='a'><joint name='h'/><geom size='.1'/></body>"
        "<body name='b'><freejoint/><geom size='.1'/></body>",
        "<keyframe><key name='k' qpos='.5 1 2 3 0 1 0 0' qvel='7 1 2 3 4 5 6'/></keyframe>",
    )
    table = msd.build(scene).keyframes
    assert table.label == ["k"]
    assert table.joint_q[0] == pytest.approx([0.5, 1, 2, 3, 1, 0, 0, 0])
    assert table.joint_qd[0] == pytest.approx([7, 1, 2, 3, 4, 5, 6])


def test_a_scene_that_cannot_be_built_names_its_problems_and_stays_as_it_is():
    scene = mjcf("<body name='a'><joint name='h'/><geom size='.1'/></body>")
    scene.actuators.append(msd.Actuator(name="m", target=msd.ActuatorTarget.joint("hh")))
    before = scene.to_str()
    with pytest.raises(SceneError, match=r"hh.*did you mean 'h'|'h'"):
        msd.build(scene)
    assert scene.to_str() == before


def test_building_leaves_the_scene_alone():
    scene = mjcf("<body name='a'><joint name='h'/><geom size='.1'/></body>")
    before = scene.to_str()
    msd.build(scene)
    assert scene.to_str() == before


@pytest.mark.parametrize(
    "body",
    [
        "<body name='a'><freejoint/><geom size='1e300'/></body>",
        "<body name='a'><joint/><geom type='ellipsoid' size='1e200 1e200 1e200' shellinertia='true'/></body>",
        "<body name='a'><joint/><geom type='box' size='1e160 1e160 1e160' mass='1'/></body>",
        "<body name='b' pos='1e308 0 0'><body name='a' pos='1e308 0 0'><joint/><geom size='1'/></body></body>",
    ],
)
def test_numbers_that_grow_too_large_are_a_fault_of_the_scene(body):
    with pytest.raises(msd.SceneError, match="link 'a'"):
        msd.build(mjcf(body))
