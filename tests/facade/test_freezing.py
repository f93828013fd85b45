# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joints that are welded at values and let go again: reduced models of a multibody and of a description."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError, SceneError

ROBOT = """<mujoco><worldbody><body name="a"><joint name="j1" axis="0 1 0" damping="0.1"/>
  <geom size="0.1" pos="0.4 0 0"/><body name="b" pos="0.5 0 0"><joint name="j2" axis="0 0 1"/>
  <geom size="0.1" pos="0.4 0 0"/><body name="c" pos="0.5 0 0"><joint name="j3" axis="0 1 0"/>
  <geom size="0.1" pos="0.2 0 0"/></body></body></body></worldbody>
  <actuator><motor name="m1" joint="j1"/><motor name="m2" joint="j2"/></actuator>
  <sensor><jointpos name="s2" joint="j2"/><jointpos name="s3" joint="j3"/></sensor>
  <keyframe><key name="home" qpos="0.1 0.2 0.3"/></keyframe></mujoco>"""


TWO_AXES = (sx.JointType.UNIVERSAL, sx.JointType.PLANAR)


def arm(world, types=(sx.JointType.REVOLUTE,) * 3):
    robot = world.add_multibody("arm")
    link = None
    for k, kind in enumerate(types):
        pose = np.eye(4)
        pose[0, 3] = 0.5
        axis = ((0, 1, 0), (0, 0, 1), (1, 0, 0))[k % 3]
        axes = {"axis": axis, "axis2": (1, 1, 1)} if kind in TWO_AXES else {"axis": axis}
        if kind in (sx.JointType.SPHERICAL, sx.JointType.FLOATING):
            axes = {}
        spec = sx.JointSpec(name=f"j{k}", type=kind, transform_to_parent=pose, **axes)
        link = robot.add_link(f"l{k}", parent=link, joint=spec, center_of_mass=(0.2, 0.1, 0.0))
    return robot


@pytest.mark.parametrize("kind", ["REVOLUTE", "PRISMATIC", "SPHERICAL", "UNIVERSAL", "PLANAR", "FLOATING"])
def test_frozen_joints_leave_the_rest_of_the_equations(kind):
    world = sx.World()
    types = (sx.JointType.REVOLUTE, sx.JointType[kind], sx.JointType.REVOLUTE)
    robot = arm(world, types)
    rng = np.random.default_rng(3)
    n = robot.num_dofs
    q = rng.uniform(-0.8, 0.8, n)
    robot.joints.position = q
    M, poses = robot.mass_matrix, robot.links.transforms
    kept = [0, n - 1]
    g = robot.gravity_forces
    robot.freeze([robot.joints["j1"]])
    assert robot.num_dofs == 2 and robot.joints["j1"].is_frozen and robot.joints["j1"].num_dofs == 0
    np.testing.assert_allclose(robot.joints.position, q[kept], atol=0)
    np.testing.assert_allclose(robot.links.transforms, poses, atol=1e-14)
    np.testing.assert_allclose(robot.mass_matrix, M[np.ix_(kept, kept)], atol=1e-13)
    np.testing.assert_allclose(robot.gravity_forces, g[kept], atol=1e-13)
    np.testing.assert_allclose(robot.joints["j1"].frozen_position, q[1:-1], atol=1e-12)
    robot.unfreeze()
    assert robot.num_dofs == n and robot.joints["j1"].frozen_position is None
    np.testing.assert_allclose(robot.joints.position, q, atol=1e-12)
    np.testing.assert_allclose(robot.mass_matrix, M, atol=1e-13)


def test_a_frozen_robot_moves_as_one_whose_joints_are_locked():
    worlds = []
    for frozen in (True, False):
        world = sx.World()
        robot = arm(world)
        robot.joints.position = [0.3, 0.9, -0.4]
        if frozen:
            robot.freeze(["j1"])
        else:
            robot.joints["j1"].actuator_type = sx.ActuatorType.LOCKED
        world.step(n=200)
        worlds.append(robot.links.transforms)
    np.testing.assert_allclose(worlds[0], worlds[1], atol=1e-11)


def test_joints_are_frozen_at_values():
    world = sx.World()
    robot = arm(world, (sx.JointType.REVOLUTE, sx.JointType.SPHERICAL))
    robot.joints.position = [0.2, 0.1, 0.2, 0.3]
    at = robot.links.transforms
    robot.joints.position = [0.0] * 4
    robot.freeze(["j1", "j0"], [0.1, 0.2, 0.3, 0.2])
    assert robot.num_dofs == 0 and robot.joints["j0"].frozen_position.tolist() == [0.2]
    np.testing.assert_allclose(robot.links.transforms, at, atol=1e-14)


def test_freezing_is_topology_and_handles_stay():
    world = sx.World()
    robot = arm(world)
    joint, link = robot.joints["j1"], robot.links["l2"]
    world.step(n=5)
    moving = robot.joints.velocity
    with pytest.raises(OperationError, match="simulation mode"):
        robot.freeze()
    with world.edit():
        robot.freeze([joint])
    assert joint.is_valid and link.is_valid and robot.joints["j1"] is joint
    np.testing.assert_array_equal(robot.joints.velocity, moving[[0, 2]])
    world.step()
    # a frozen joint has no numbers, and takes none
    assert joint.position.shape == joint.velocity.shape == (0,) and joint.dofs == []
    with pytest.raises(OperationError, match="is frozen"):
        joint.damping_coefficient = 1.0
    with pytest.raises(RuntimeError), world.edit():
        robot.unfreeze()
        raise RuntimeError("no")
    assert joint.is_frozen and robot.num_dofs == 2
    with world.edit():
        robot.unfreeze(["j1"])
    assert robot.num_dofs == 3 and joint.velocity.tolist() == [0.0]
    world.step()
    assert world.frame == 7


def test_what_refers_to_a_frozen_joint_waits_for_it():
    world = sx.World.from_scene(msd.from_str(ROBOT, format="mjcf"))
    robot = world.multibodies[0]
    before = (world.actuator_names, world.sensors.names)
    robot.freeze(["j2"], [0.25])
    assert world.actuator_names == ["m1"] and world.sensors.names == ["s3"]
    world.apply_keyframe("home")
    np.testing.assert_allclose(robot.joints.position, [0.1, 0.3])
    world.step()
    world_again = sx.World.from_scene(world.to_scene())
    assert world_again.multibodies[0].joints["j2"].frozen_position.tolist() == [0.25]
    with world.edit():
        robot.unfreeze()
    assert (world.actuator_names, sorted(world.sensors.names)) == (before[0], sorted(before[1]))
    assert robot.joints["j2"].position.tolist() == [0.25]
    world.step()


def test_frozen_joints_are_saved(tmp_path):
    world = sx.World()
    robot = arm(world)
    robot.joints.position = [0.1, 0.2, 0.3]
    robot.freeze(["j1"])
    world.step(n=3)
    world.save_binary(tmp_path / "world.bin")
    again = sx.World()
    again.load_binary(tmp_path / "world.bin")
    kept = again.multibodies["arm"]
    np.testing.assert_array_equal(kept.joints.position, robot.joints.position)
    again.step()
    with again.edit():
        kept.unfreeze()
    assert kept.num_dofs == 3 and kept.joints["j1"].position.tolist() == [0.2]


def test_wrong_joints_are_refused_and_nothing_changes():
    world = sx.World()
    robot, other = arm(world), world.add_multibody("other")
    other.add_link("x", joint=sx.JointSpec(name="x"))
    with pytest.raises(ArgumentError, match="does not belong"):
        robot.freeze(["j0", other.joints[0]])
    with pytest.raises(KeyError, match="j9"):
        robot.freeze(["j9"])
    with pytest.raises(ArgumentError, match="once"):
        robot.freeze(["j0", "j0"])
    with pytest.raises(ArgumentError, match="2"):
        robot.freeze(["j0", "j1"], [0.0])
    with pytest.raises(TypeError, match="several"):
        robot.freeze("j0")
    base = sx.World.from_scene(
        msd.from_str(
            "<mujoco><worldbody><body name='b'><freejoint name='f'/><geom size='0.1'/><body name='c'>"
            "<joint/><geom size='0.1'/></body></body></worldbody></mujoco>",
            format="mjcf",
        )
    ).multibodies[0]
    with pytest.raises(ArgumentError, match="floating bases"):
        base.freeze(["f"])
    assert robot.num_dofs == 3 and not any(joint.is_frozen for joint in robot.joints)


# ---- descriptions


def test_a_description_is_frozen_and_let_go():
    scene = msd.from_str(ROBOT, format="mjcf")
    whole = msd.build(scene)
    taken = scene.freeze({"j2": [0.5]})
    assert sorted(part.item.name for part in taken) == ["m2", "s2"]
    reduced = msd.build(msd.from_str(scene.to_str(), format="msd", file_path="/x.json"))
    assert reduced.joint_dof_count == 2 and reduced.body_count == whole.body_count
    scene.unfreeze(["j2"], taken)
    assert msd.build(scene).joint_dof_count == 3 and [a.name for a in scene.actuators] == ["m1", "m2"]
    with pytest.raises(ArgumentError, match="no joint 'j4'"):
        scene.freeze({"j4": [0.0]})
    with pytest.raises(ArgumentError, match="1 coordinates"):
        scene.freeze({"j1": [0.0, 1.0]})


def test_a_scene_whose_actuator_is_on_a_frozen_joint_is_not_built():
    scene = msd.from_str(ROBOT, format="mjcf")
    next(link for link in scene.hierarchy.links() if link.name == "b").joints[0].frozen = [0.0]
    scene.keyframes = []
    with pytest.raises(SceneError, match="frozen joint"):
        msd.build(scene)
    scene.hierarchy.bodies[0].link.joints[0].frozen = [0.0, 1.0]
    with pytest.raises(SceneError, match=r"frozen"):
        msd.build(scene)
