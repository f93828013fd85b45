# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Markers on bodies, end effectors of robots, and that any object can be removed."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError

SITES = """<mujoco><worldbody><site name="home" pos="0 0 2"/>
  <body name="arm"><joint name="hinge" axis="0 1 0"/><geom size="0.1" pos="0.5 0 0"/>
    <site name="tip" pos="1 0 0" rgba="1 0 0 1" type="box" size="0.1 0.2 0.3"/>
    <site name="rod" fromto="0 0 0 0 0 1" type="capsule" size="0.1"/></body></worldbody>
  <sensor><velocimeter name="speed" site="tip"/></sensor></mujoco>"""


def arm(world, n=3):
    robot = world.add_multibody("arm")
    link = None
    for k in range(n):
        pose = np.eye(4)
        pose[0, 3] = 0.5
        axis = ((0, 0, 1), (0, 1, 0), (1, 0, 0))[k % 3]
        spec = sx.JointSpec(name=f"j{k}", axis=axis, transform_to_parent=pose)
        link = robot.add_link(f"l{k}", parent=link, joint=spec)
    robot.joints.position = np.linspace(0.3, -0.7, n)
    robot.joints.velocity = np.linspace(-0.4, 1.1, n)
    return robot


def offset():
    made = np.eye(4)
    made[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    made[:3, 3] = 0.1, 0.2, 0.3
    return made


# ---- markers


def test_sites_of_a_file_are_markers():
    world = sx.World.from_scene(msd.from_str(SITES, format="mjcf"))
    assert world.markers.names == ["home", "tip", "rod"]
    tip = world.markers["tip"]
    assert tip.shape is msd.SiteShape.Box and tip.size.tolist() == [0.1, 0.2, 0.3]
    assert tip.rgba.tolist() == [1, 0, 0, 1]
    assert tip.parent_frame is world.multibodies["arm"].links["arm"]
    assert world.markers["home"].parent_frame.is_world
    assert world.markers["home"].translation.tolist() == [0, 0, 2]
    assert tip is world.markers["tip"] and tip == world.markers[1]
    np.testing.assert_allclose(world.markers["rod"].translation, [0, 0, 0.5], atol=1e-15)


def test_a_marker_moves_with_its_body_and_reads_are_fresh():
    world = sx.World.from_scene(msd.from_str(SITES, format="mjcf"))
    tip, hinge = world.markers["tip"], world.multibodies["arm"].joints["hinge"]
    hinge.position, hinge.velocity = [0.5 * np.pi], [2.0]
    np.testing.assert_allclose(tip.translation, [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(tip.linear_velocity, [-2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(tip.angular_velocity, [0, 2, 0], atol=1e-12)
    np.testing.assert_allclose(tip.relative_transform(tip.parent_frame)[:3, 3], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(tip.linear_acceleration, [0, 0, 4], atol=1e-12)


def test_markers_are_added_saved_and_named():
    world = sx.World()
    box = world.add_rigid_body("box", position=(0, 0, 1))
    corner = world.add_marker("corner", box, position=(0.1, 0, 0), rgba=(0, 1, 0, 0.5))
    made = world.add_marker(parent=box)
    assert made.name == "marker_001" and world.add_marker().name == "marker_002"
    again = sx.World.from_scene(world.to_scene())
    assert again.markers.names == world.markers.names
    np.testing.assert_array_equal(again.markers["corner"].transform, corner.transform)
    with pytest.raises(ArgumentError, match="already exists"):
        world.add_marker("corner")
    for wrong in ({"rgba": (2, 0, 0, 1)}, {"size": (-1, 0, 0)}, {"position": (np.nan, 0, 0)}):
        with pytest.raises(ArgumentError):
            world.add_marker("x", **wrong)
    with pytest.raises(TypeError, match="SiteShape"):
        world.add_marker("x", shape="ball")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="different world"):
        sx.World().add_marker("x", box)
    assert "x" not in world.markers


def test_adding_and_moving_markers_is_design_work():
    world = sx.World()
    box = world.add_rigid_body("box")
    corner = world.add_marker("corner", box)
    world.step()
    with pytest.raises(OperationError, match="simulation mode"):
        world.add_marker("other", box)
    with pytest.raises(OperationError, match="simulation mode"):
        corner.local_transform = offset()
    corner.rgba = (0, 0, 1, 1)
    with world.edit():
        corner.local_transform = offset()
        world.add_marker("other", box)
    assert corner.is_valid and world.frame == 1
    np.testing.assert_allclose(corner.local_transform, offset(), atol=1e-15)


def test_markers_die_with_their_body_and_by_removal():
    world = sx.World.from_scene(msd.from_str(SITES, format="mjcf"))
    tip, rod, home = (world.markers[name] for name in ("tip", "rod", "home"))
    speed = world.sensors["speed"]
    tip.remove()
    assert not tip.is_valid and rod.is_valid and "tip" not in world.markers
    # the sensor went with the place it measured at
    assert not speed.is_valid and world.sensors.names == []
    with pytest.raises(OperationError, match="'tip' was removed"):
        tip.transform  # noqa: B018
    world.multibodies["arm"].remove()
    assert not rod.is_valid and home.is_valid
    world.clear()
    assert not home.is_valid and len(world.markers) == 0


def test_a_closure_may_end_at_a_marker():
    world = sx.World()
    box = world.add_rigid_body("box", position=(0, 0, 1))
    corner = world.add_marker("corner", box, position=(0, 0, 0.5))
    pin = world.add_loop_closure("pin", frame_a=corner, frame_b=sx.Frame.world())
    assert pin.compute_residual().translation.tolist() == [0, 0, 1.5]
    again = sx.World.from_scene(world.to_scene()).loop_closures["pin"]
    np.testing.assert_allclose(again.compute_residual().translation, [0, 0, 1.5], atol=1e-15)
    with pytest.raises(ArgumentError, match="frames stand on"):
        world.add_fixed_frame("on it", corner)
    corner.remove()
    assert not pin.is_valid


# ---- end effectors


def test_an_end_effector_knows_its_jacobians():
    world = sx.World()
    robot = arm(world)
    tool = robot.add_end_effector("tool", robot.links["l2"], offset())
    v = robot.joints.velocity
    J = tool.world_jacobian
    np.testing.assert_allclose(
        J @ v, np.concatenate([tool.angular_velocity, tool.linear_velocity]), atol=1e-13
    )
    R = tool.rotation
    np.testing.assert_allclose(tool.jacobian[3:], R.T @ J[3:], atol=1e-15)
    np.testing.assert_array_equal(tool.linear_jacobian, J[3:])
    np.testing.assert_array_equal(tool.angular_jacobian, J[:3])
    # the rate of the Jacobian by differences
    q, h = robot.joints.position, 1e-6
    sides = []
    for s in (h, -h):
        robot.joints.position = q + s * v
        sides.append(tool.world_jacobian)
    robot.joints.position = q
    np.testing.assert_allclose(tool.jacobian_derivative, (sides[0] - sides[1]) / (2 * h), atol=1e-8)


def test_an_end_effector_is_a_frame_of_its_robot():
    world = sx.World()
    robot, other = arm(world), world.add_multibody("other")
    stranger = other.add_link("stranger")
    tool = robot.add_end_effector("tool", robot.links["l1"], offset())
    assert robot.end_effectors.names == ["tool"] and len(other.end_effectors) == 0
    assert tool.link is robot.links["l1"] and tool.multibody is robot and world.frames["tool"] is tool
    assert tool.chain.links == [robot.links["l0"], robot.links["l1"]]
    assert [joint.name for joint in tool.chain.joints] == ["j0", "j1"]
    tool.parent_frame = robot.links["l2"]
    assert tool.link is robot.links["l2"]
    for wrong in (stranger, sx.Frame.world()):
        with pytest.raises(ArgumentError, match="fixed to a link of multibody 'arm'"):
            tool.parent_frame = wrong
    with pytest.raises(ArgumentError, match="does not belong"):
        robot.add_end_effector("x", stranger)
    assert robot.add_end_effector("", robot.links["l0"]).name == "end_effector_001"
    tool.local_transform = np.eye(4)
    np.testing.assert_allclose(tool.transform, tool.link.transform, atol=1e-15)


def test_end_effectors_are_saved_and_removed(tmp_path):
    world = sx.World()
    robot = arm(world)
    tool = robot.add_end_effector("tool", robot.links["l2"], offset())
    world.step(n=3)
    world.save_binary(tmp_path / "world.bin")
    again = sx.World()
    again.load_binary(tmp_path / "world.bin")
    kept = again.multibodies["arm"].end_effectors["tool"]
    np.testing.assert_array_equal(kept.world_jacobian, tool.world_jacobian)
    with pytest.raises(OperationError, match="simulation mode"):
        robot.add_end_effector("more", robot.links["l0"])
    with world.edit():
        robot.links["l2"].remove()
    assert not tool.is_valid and len(robot.end_effectors) == 0


# ---- removal of any object


def test_any_object_can_be_removed():
    world = sx.World()
    a, b = world.add_rigid_body("a"), world.add_rigid_body("b", position=(0, 0, 1))
    weld = world.add_joint(a, b, sx.JointSpec(name="weld", type=sx.JointType.FIXED))
    world.add_rigid_body_distance_spring("spring", a, b, 0.5, 10.0)
    unit = world.sensors.add_imu("unit", attach_to=a)
    robot = arm(world)
    things = [
        weld,
        unit,
        world.add_marker("mark", a),
        world.add_fixed_frame("fixed", a),
        world.add_free_frame("free"),
        world.add_loop_closure("pin", frame_a=a, frame_b=b),
        robot.add_end_effector("tool", robot.links["l0"]),
        robot.links["l2"],
        robot,
        a,
        b,
    ]
    world.step()
    for thing in things:
        with pytest.raises(OperationError, match="simulation mode"):
            world.remove(thing)
    with world.edit():
        world.remove_rigid_body_distance_spring("spring")
        for thing in things:
            world.remove(thing)
    assert not any(thing.is_valid for thing in things)
    assert world.num_rigid_bodies == world.num_multibodies == world.num_joints == 0
    with pytest.raises(KeyError, match="spring"):
        world.remove_rigid_body_distance_spring("spring")
    world.step()
    assert world.frame == 2


def test_objects_of_another_world_are_not_removed():
    world, other = sx.World(), sx.World()
    mark = other.add_marker("mark")
    with pytest.raises(ArgumentError, match="different world"):
        world.remove(mark)
    with pytest.raises(TypeError, match="sensor is needed"):
        world.remove(3)  # type: ignore[arg-type]
    assert mark.is_valid
