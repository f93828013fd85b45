# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Robots of URDF and SDF files in Worlds: what they are made of, against Pinocchio, and how they move."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx

INERTIAL = """<inertial><origin xyz="0.1 0.02 -0.2" rpy="0.1 0.2 0.3"/><mass value="{mass}"/>
<inertia ixx="0.3" iyy="0.2" izz="0.25" ixy="0.01" ixz="0.02" iyz="-0.01"/></inertial>"""
URDF = f"""<robot name="gripper">
<link name="base"/>
<link name="upper">{INERTIAL.format(mass=2)}<collision><geometry><sphere radius="0.05"/></geometry></collision></link>
<link name="lower">{INERTIAL.format(mass=1)}</link>
<link name="finger">{INERTIAL.format(mass=0.5)}</link>
<link name="thumb">{INERTIAL.format(mass=0.5)}</link>
<joint name="shoulder" type="revolute"><origin xyz="0 0 1" rpy="0 0.3 0"/><parent link="base"/>
<child link="upper"/><axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="30" velocity="3"/>
<dynamics damping="0.4" friction="0.0"/></joint>
<joint name="elbow" type="continuous"><origin xyz="0 0 -0.5"/><parent link="upper"/><child link="lower"/>
<axis xyz="1 0 0"/></joint>
<joint name="left" type="prismatic"><origin xyz="0 0.1 -0.4"/><parent link="lower"/><child link="finger"/>
<axis xyz="0 1 0"/><limit lower="0" upper="0.05" effort="5" velocity="1"/></joint>
<joint name="right" type="prismatic"><origin xyz="0 -0.1 -0.4"/><parent link="lower"/><child link="thumb"/>
<axis xyz="0 -1 0"/><limit lower="0" upper="0.05" effort="5" velocity="1"/>
<mimic joint="left" multiplier="1" offset="0"/></joint></robot>"""


def link(name: str, x: float) -> str:
    return (
        f'<link name="{name}"><pose>{x} 0 0 0 0 0</pose><inertial><pose>0.5 0 0 0 0 0</pose><mass>1</mass>'
        "<inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>"
    )


def joint(name: str, kind: str, parent: str, child: str, axis: str = "<axis><xyz>0 1 0</xyz></axis>") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{axis}</joint>'


SDF = f"""<sdf version="1.9"><model name="bars"><pose>0 0 2 0 0 0</pose>{link("a", 0)}{link("b", 1)}{link("c", 2)}
{joint("stand", "fixed", "world", "a", "")}{joint("ab", "revolute", "a", "b")}
{joint("bc", "revolute", "b", "c")}</model></sdf>"""
LOOP = SDF.replace("</model>", f"{joint('ca', 'ball', 'c', 'a', '')}</model>")


@pytest.fixture
def urdf(tmp_path):
    file = tmp_path / "gripper.urdf"
    file.write_text(URDF)
    return file


@pytest.fixture
def sdf(tmp_path):
    file = tmp_path / "bars.sdf"
    file.write_text(SDF)
    return file


def state_of(robot, random) -> None:
    robot.joints.position = random.uniform(-1, 1, robot.num_dofs) * 0.03
    robot.joints["shoulder"].position, robot.joints["elbow"].position = random.uniform(-1, 1, (2, 1))
    robot.joints.velocity = random.normal(size=robot.num_dofs)


@pytest.mark.parametrize("way", ["from_file", "add_skeleton", "add_scene"])
def test_dynamics_of_a_urdf_are_those_of_pinocchio(urdf, way):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is the yardstick here")
    world = sx.World()
    if way == "from_file":
        world = sx.World.from_file(urdf)
        robot = world.multibodies[0]
    elif way == "add_skeleton":
        robot = sx.add_skeleton(world, urdf)
    else:
        (robot,) = world.add_scene(urdf, prefix="x_").multibodies
    before = "x_" if way == "add_scene" else ""
    model = pin.buildModelFromUrdf(str(urdf), mimic=False)
    data = model.createData()
    random = np.random.default_rng(5)
    order = []
    for joint in robot.joints:
        order.append(model.joints[model.getJointId(joint.name.removeprefix(before))].idx_v)
    for _ in range(5):
        if before:
            robot.joints.position = random.uniform(-1, 1, robot.num_dofs)
        else:
            state_of(robot, random)
        q, v = pin.neutral(model), np.zeros(model.nv)
        for joint in robot.joints:
            told = model.joints[model.getJointId(joint.name.removeprefix(before))]
            angle = joint.position[0]
            q[told.idx_q : told.idx_q + told.nq] = angle if told.nq == 1 else (np.cos(angle), np.sin(angle))
            v[told.idx_v] = joint.velocity[0]
        pin.crba(model, data, q)
        full = np.triu(data.M) + np.triu(data.M, 1).T
        np.testing.assert_allclose(robot.mass_matrix, full[np.ix_(order, order)], rtol=1e-9, atol=1e-12)
        bias = pin.nonLinearEffects(model, data, q, v)[order]
        np.testing.assert_allclose(robot.coriolis_and_gravity_forces, bias, rtol=1e-9, atol=1e-10)
        pin.framesForwardKinematics(model, data, q)
        for part in robot.links:
            place = data.oMf[model.getFrameId(part.name.removeprefix(before), pin.FrameType.BODY)]
            np.testing.assert_allclose(part.transform, place.homogeneous, rtol=1e-9, atol=1e-12)


def test_limits_damping_and_shapes_of_a_urdf_come_along(urdf):
    world = sx.World()
    robot = sx.add_skeleton(world, urdf)
    shoulder = robot.joints["shoulder"]
    assert (shoulder.position_lower_limits[0], shoulder.position_upper_limits[0]) == (-1.0, 2.0)
    assert (shoulder.effort_limits[0], shoulder.velocity_limits[0]) == (30.0, 3.0)
    assert shoulder.damping_coefficient.tolist() == [0.4]
    assert np.isinf(robot.joints["elbow"].position_upper_limits[0])
    assert robot.links["upper"].num_collision_shapes == 1
    assert robot.joints["left"].type is sx.JointType.PRISMATIC


def test_a_mimic_joint_of_a_urdf_follows(urdf):
    world = sx.World(time_step=0.002)
    robot = sx.add_skeleton(world, urdf)
    robot.joints["left"].force = [2.0]
    world.step(n=300)
    left, right = robot.joints["left"].position[0], robot.joints["right"].position[0]
    assert left > 0.01 and right == pytest.approx(left, abs=2e-3)


def test_robots_with_floating_and_fixed_bases(urdf):
    for kind, count in ((sx.RootJointType.FLOATING, 10), (sx.RootJointType.FIXED, 4)):
        world = sx.World()
        robot = sx.add_skeleton(world, urdf, sx.ReadOptions(root_joint=kind))
        assert robot.num_dofs == count


def test_a_robot_of_a_file_goes_to_a_description_and_back(urdf):
    world = sx.World.from_file(urdf)
    state_of(world.multibodies[0], np.random.default_rng(1))
    world.step(n=20)
    again = sx.World.from_scene(world.to_scene())
    np.testing.assert_array_equal(again.state_vector, world.state_vector)
    world.step(n=20)
    again.step(n=20)
    np.testing.assert_allclose(again.state_vector, world.state_vector, rtol=0, atol=1e-12)


def test_an_sdf_becomes_a_world(sdf):
    world = sx.World.from_file(sdf)
    (robot,) = world.multibodies
    assert robot.joints.names[-2:] == ["ab", "bc"] and robot.num_dofs == 2
    np.testing.assert_allclose(robot.links.translations, [[0, 0, 2], [1, 0, 2], [2, 0, 2]], atol=1e-12)
    # by hand: three bars of mass 1 with their centres half a metre out, the first one fixed
    # a turn about y takes x down, so weight helps
    np.testing.assert_allclose(robot.gravity_forces, -9.81 * np.array([0.5 + 1.5, 0.5]), atol=1e-9)
    robot.joints["ab"].position = [0.5 * np.pi]
    np.testing.assert_allclose(robot.links["c"].translation, [1, 0, 1], atol=1e-12)


def test_models_of_sdf_files_can_be_added_many_times(sdf):
    world = sx.World()
    first = sx.add_skeleton(world, sdf)
    second = sx.add_skeleton(world, sdf, options=sx.SkeletonLoadOptions(name="far", translation=(0, 5, 0)))
    result = world.add_scene(sdf, prefix="p_", translation=(0, 0, 1))
    assert world.multibodies.names == [first.name, "far", result.multibodies[0].name]
    np.testing.assert_allclose(second.links["b"].translation, [1, 5, 2], atol=1e-12)
    np.testing.assert_allclose(result.links[1].translation, [1, 0, 3], atol=1e-12)
    world.step(n=10)
    np.testing.assert_allclose(second.joints.position, first.joints.position, atol=1e-12)


def test_a_loop_of_an_sdf_is_a_closure_that_holds(tmp_path):
    file = tmp_path / "loop.sdf"
    file.write_text(LOOP)
    world = sx.World.from_file(file)
    (closure,) = world.loop_closures
    assert closure.name == "ca" and closure.family is sx.LoopClosureFamily.POINT
    assert closure.compute_residual().norm == pytest.approx(0.0, abs=1e-12)
    world.step(n=200)
    assert closure.compute_residual().norm < 1e-3
