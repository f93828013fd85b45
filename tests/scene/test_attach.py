# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joining scenes: nothing is lost, nothing is doubled, and a refused call changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import ArgumentError, SceneError
from worldline._src.scene.layout import layout, sizes


def arm() -> msd.World:
    world = msd.World(name="arm")
    base = msd.Link(name="base", joints=[msd.Joint(name="turn", axis=(0, 0, 1))])
    hand = msd.Link(name="hand", local_translation=(1, 0, 0), joints=[msd.Joint(name="bend", axis=(0, 1, 0))])
    base.children.append(hand)
    world.hierarchy.bodies.append(msd.Body(link=base))
    for name in ("turn", "bend"):
        world.actuators.append(msd.Actuator(name=f"{name} motor", target=msd.ActuatorTarget.joint(name)))
    return world


def tool() -> msd.World:
    world = msd.World(name="tool")
    jaw = msd.Link(name="jaw", local_translation=(0, 0, 1), joints=[msd.Joint(name="grip", axis=(1, 0, 0))])
    jaw.geoms.append(msd.Geometry(name="pad", shape="Box", size=(1, 1, 1)))
    jaw.children.append(msd.Link(name="finger", sites=[msd.Site(name="tip")]))
    world.hierarchy.bodies.append(msd.Body(link=jaw))
    world.hierarchy.geoms.append(msd.Geometry(name="flange", size=(0.1, 0, 0), position=(0, 0, 2)))
    world.actuators.append(msd.Actuator(name="motor", target=msd.ActuatorTarget.joint("grip")))
    world.sensors.touch.append(msd.TouchSensor(name="feel", site="tip"))
    world.sensors.world.append(msd.WorldSensor(name="clock"))
    world.collision_ignores.link_pairs.append(["world", "jaw"])
    return world


def names(world: msd.World) -> list[str | None]:
    return [link.name for link in world.hierarchy.links()]


def link(world: msd.World, name: str) -> msd.Link:
    return next(link for link in world.hierarchy.links() if link.name == name)


def test_attaching_to_a_link() -> None:
    world = arm()
    half = math.sqrt(0.5)
    world.attach(tool(), "hand", None, (0, 0, 5), (0, 0, half, half), "t_", "_x")
    assert names(world) == ["base", "hand", "t_jaw_x", "t_finger_x"]
    hand = link(world, "hand")
    assert [child.name for child in hand.children] == ["t_jaw_x"]
    assert hand.geoms[0].name == "t_flange_x"
    np.testing.assert_allclose(hand.geoms[0].position, (0, 0, 7))
    jaw = link(world, "t_jaw_x")
    np.testing.assert_allclose(jaw.local_translation, (0, 0, 6))
    np.testing.assert_allclose(jaw.local_rotation, (0, 0, half, half))
    assert jaw.joints[0].axis.tolist() == [1.0, 0.0, 0.0]
    assert world.actuators[2].target == msd.ActuatorTarget.joint("t_grip_x")
    assert world.sensors.touch[0] == msd.TouchSensor(name="t_feel_x", site="t_tip_x")
    # the world of the tool is the hand now
    assert world.collision_ignores.link_pairs == [["hand", "t_jaw_x"]]
    world.validate()


def test_attaching_beside() -> None:
    world = arm()
    world.attach(tool(), other_translation=[1, 0, 0])
    assert len(world.hierarchy.bodies) == 2
    assert world.hierarchy.bodies[1].link.local_translation.tolist() == [1.0, 0.0, 1.0]
    assert world.hierarchy.geoms[0].position.tolist() == [1.0, 0.0, 2.0]
    assert world.collision_ignores.link_pairs == [["world", "jaw"]]
    world.validate()


def test_poses_keep_their_bits_without_a_transform() -> None:
    other = tool()
    other.hierarchy.bodies[0].link.local_rotation = (0.1, 0.2, 0.3, 0.4)
    other.hierarchy.bodies[0].link.local_translation = (1 / 3, 0.1, -0.0)
    world = msd.World().attach(other)
    copied = world.hierarchy.bodies[0].link
    assert copied.local_rotation.tobytes() == other.hierarchy.bodies[0].link.local_rotation.tobytes()
    assert copied.local_translation.tobytes() == other.hierarchy.bodies[0].link.local_translation.tobytes()
    assert copied is not other.hierarchy.bodies[0].link


def test_a_subtree_leaves_the_rest_behind() -> None:
    world = arm()
    world.attach(tool(), "hand", other_link_name="finger", other_prefix="t_")
    assert names(world) == ["base", "hand", "t_finger"]
    assert not world.hierarchy.geoms
    assert not link(world, "hand").geoms
    assert [sensor.name for sensor in world.sensors.touch] == ["t_feel"]
    assert len(world.actuators) == 2
    left = {entry.path for entry in world.report}
    assert left == {"$.actuators[0]", "$.sensors.world[0]", "$.collision_ignores.link_pairs[0]"}


def test_a_subtree_follows_references_through_other_entries() -> None:
    other = arm()
    node = msd.JointTendonNode(joint_name="bend")
    other.tendon_set.joint_tendons.append(msd.JointTendon(name="cord", joints=[node]))
    both = [msd.JointTendonNode(joint_name=name) for name in ("turn", "bend")]
    other.tendon_set.joint_tendons.append(msd.JointTendon(name="long", joints=both))
    for name in ("cord", "long"):
        other.actuators.append(msd.Actuator(name=name, target=msd.ActuatorTarget.tendon(name)))
        other.sensors.actuator.append(msd.ActuatorSensor(name=f"{name} force", actuator=name))
    other.sensors.order = ["long force", "cord force"]
    world = msd.World().attach(other, other_link_name="hand")
    assert [tendon.name for tendon in world.tendon_set.joint_tendons] == ["cord"]
    assert [actuator.name for actuator in world.actuators] == ["bend motor", "cord"]
    assert [sensor.name for sensor in world.sensors.actuator] == ["cord force"]
    assert world.sensors.order == ["cord force"]
    world.validate()


def test_a_subtree_further_down_has_no_place_in_the_world() -> None:
    other = tool()
    at_finger, at_jaw = msd.FrameRef(link="finger"), msd.FrameRef(link="jaw")
    for end, name in ((at_finger, "finger"), (at_jaw, "jaw")):
        other.loop_closures.append(msd.LoopClosure(name=f"{name} closure", frame_b=end))
        other.distance_springs.append(msd.DistanceSpring(name=f"{name} spring", frame_a=end))
        other.joints.append(msd.WorldJoint(child=end, joint=msd.Joint(name=f"{name} joint", type_="Fixed")))
        connect = msd.ConnectConstraintType.link_anchor(name, (0, 0, 0))
        other.equality_constraint_set.connects.append(msd.EqualityConnect(connect_type=connect))
        weld = msd.WeldConstraintType.link_anchor(name, (0, 0, 0), 1.0)
        other.equality_constraint_set.welds.append(msd.EqualityWeld(weld_type=weld))
    for part, number in (("finger", 0), ("jaw", 2)):
        world = msd.World().attach(other, other_link_name=part)
        sets = world.equality_constraint_set
        for found in (world.loop_closures, world.distance_springs, world.joints, sets.connects, sets.welds):
            assert len(found) == number
        world.validate()


def test_a_subtree_brings_only_the_assets_it_uses() -> None:
    other = tool()
    for name in ("steel", "wood"):
        other.assets.textures[name] = msd.Texture()
        other.assets.materials[name] = msd.Material(name=name, texture_name=name)
    link(other, "finger").geoms.append(
        msd.Geometry(size=(1, 1, 1), visual=msd.GeomVisualAttrs(material="steel"))
    )
    world = msd.World().attach(other, other_link_name="finger", other_prefix="p/")
    assert list(world.assets.materials) == list(world.assets.textures) == ["p/steel"]
    material = world.assets.materials["p/steel"]
    assert (material.name, material.texture_name) == ("p/steel", "p/steel")


def test_a_subtree_that_looked_outside_looks_ahead() -> None:
    other = tool()
    finger = link(other, "finger")
    finger.cameras.append(msd.Camera(name="eye", rotation_track="LookAtLink", track_target="jaw"))
    finger.lights.append(msd.Light(name="lamp", mode=msd.TrackMode.target_body("jaw")))
    world = msd.World().attach(other, other_link_name="finger")
    camera = world.hierarchy.bodies[0].link.cameras[0]
    assert (camera.track_target, camera.rotation_track) == (None, msd.RotationTrack.FixedLocal)
    assert world.hierarchy.bodies[0].link.lights[0].mode == msd.TrackMode.fixed()
    assert len([e for e in world.report if e.fate is msd.Fate.Approximated]) == 2
    world.validate()


def test_closures_and_frames_of_the_other_world_move_along() -> None:
    other = tool()
    other.loop_closures.append(
        msd.LoopClosure(name="c", frame_a=msd.FrameRef(position=(0, 0, 1)), frame_b=msd.FrameRef(link="jaw"))
    )
    other.frames.append(msd.Frame(name="f", position=(1, 0, 0)))
    other.distance_springs.append(
        msd.DistanceSpring(frame_a=msd.FrameRef(frame="f"), frame_b=msd.FrameRef(link="jaw"))
    )
    other.joints.append(msd.WorldJoint(child=msd.FrameRef(link="finger"), joint=msd.Joint(type_="Fixed")))
    world = arm().attach(other, "hand", other_translation=(0, 2, 0))
    closure = world.loop_closures[0]
    assert closure.frame_a == msd.FrameRef(link="hand", position=(0, 2, 1))
    assert closure.frame_b == msd.FrameRef(link="jaw")
    assert world.frames[0] == msd.Frame(name="f", parent_link="hand", position=(1, 2, 0))
    assert world.distance_springs[0].frame_a == msd.FrameRef(frame="f")
    assert world.joints[0].parent == msd.FrameRef(link="hand", position=(0, 2, 0))
    beside = arm().attach(other, other_translation=(0, 2, 0))
    assert beside.loop_closures[0].frame_a == msd.FrameRef(position=(0, 2, 1))


def test_equalities_against_the_world_hold_against_the_link() -> None:
    other = tool()
    connect, weld = msd.ConnectConstraintType.link_anchor, msd.WeldConstraintType.link_anchor
    other.equality_constraint_set.connects = [
        msd.EqualityConnect(connect_type=connect("jaw", (1, 2, 3))),
        msd.EqualityConnect(connect_type=connect("world", (1, 2, 3), "jaw")),
    ]
    half = math.sqrt(0.5)
    other.equality_constraint_set.welds = [
        msd.EqualityWeld(weld_type=weld("jaw", (1, 0, 0), 1.0, None, (0, 0, 1, 0, 0, 0, 1))),
        msd.EqualityWeld(weld_type=weld("world", (1, 0, 0), 1.0, "jaw", (0, 0, 1, 0, 0, 0, 1))),
        msd.EqualityWeld(weld_type=weld("jaw", (1, 0, 0), 1.0)),
    ]
    world = arm().attach(other, "hand", other_translation=(0, 0, 5), other_rotation=(0, 0, half, half))
    connects = [e.connect_type.value for e in world.equality_constraint_set.connects]
    assert connects[0]["link_b"] == "hand"
    np.testing.assert_allclose(connects[0]["anchor"], (1, 2, 3))
    assert connects[1]["link_a"] == "hand"
    np.testing.assert_allclose(connects[1]["anchor"], (-2, 1, 8))
    welds = [e.weld_type.value for e in world.equality_constraint_set.welds]
    # the world of the tool in the frame of the jaw, then the hand in that world
    assert welds[0]["link_b"] == "hand"
    np.testing.assert_allclose(welds[0]["relative_pose"], (0, 0, -4, 0, 0, -half, half), atol=1e-15)
    np.testing.assert_allclose(welds[0]["anchor"], (0, 1, 5), atol=1e-15)
    assert welds[1]["link_a"] == "hand"
    np.testing.assert_allclose(welds[1]["relative_pose"], (0, 0, 6, 0, 0, half, half), atol=1e-15)
    assert welds[2]["link_b"] == "hand"
    assert welds[2]["relative_pose"] is None
    world.validate()


def test_sites_and_lights_and_cameras_turn_with_the_world() -> None:
    other = msd.World()
    half = math.sqrt(0.5)
    other.hierarchy.sites.append(msd.Site(name="s", from_to=(0, 0, 0, 1, 0, 0), position=(1, 0, 0)))
    other.hierarchy.lights.append(msd.Light(direction=(1, 0, 0), position=(1, 0, 0)))
    other.hierarchy.cameras.append(msd.Camera(position=(1, 0, 0)))
    body = msd.Body(free=msd.FreeJoint(), linear_velocity=(1, 0, 0), angular_velocity=(0, 0, 1))
    other.hierarchy.bodies.append(body)
    world = msd.World().attach(other, other_translation=(0, 0, 1), other_rotation=(0, 0, 2 * half, 2 * half))
    site, light = world.hierarchy.sites[0], world.hierarchy.lights[0]
    np.testing.assert_allclose(site.from_to, (0, 0, 1, 0, 1, 1), atol=1e-15)
    np.testing.assert_allclose(site.position, (0, 1, 1), atol=1e-15)
    np.testing.assert_allclose(light.direction, (0, 1, 0), atol=1e-15)
    np.testing.assert_allclose(light.position, (0, 1, 1), atol=1e-15)
    np.testing.assert_allclose(world.hierarchy.cameras[0].orientation, (0, 0, half, half))
    np.testing.assert_allclose(world.hierarchy.bodies[0].linear_velocity, (0, 1, 0), atol=1e-15)
    np.testing.assert_allclose(world.hierarchy.bodies[0].angular_velocity, (0, 0, 1), atol=1e-15)


def test_keyframes_are_kept_and_extended() -> None:
    world = arm()
    free = msd.Link(name="ball", geoms=[msd.Geometry(size=(1, 0, 0))])
    world.hierarchy.bodies.append(msd.Body(free=msd.FreeJoint(), link=free))
    world.keyframes.append(
        msd.Keyframe(
            name="home",
            dof_pos=[9, 9, 9, 0, 0, 0, 1, 0.25, 0.5],
            dof_vel=[1, 2, 3, 4, 5, 6, 7, 8],
            ctrl=[0.75, 0.125],
        )
    )
    world.validate()
    other = tool()
    other.hierarchy.bodies[0].link.joints[0].ref_ = 0.1
    other.hierarchy.bodies[0].link.children[0].joints.append(msd.Joint(type_="Ball"))
    other.keyframes.append(msd.Keyframe(name="other", dof_pos=[1.0, 0, 0, 0, 1]))
    world.attach(other, "hand")
    world.validate()
    (home,) = world.keyframes
    # the tool hangs below the hand, so its joints come after those of the arm, and the base goes first
    assert home.dof_pos.tolist() == [9, 9, 9, 0, 0, 0, 1, 0.25, 0.5, 0.1, 0, 0, 0, 1]
    assert home.dof_vel.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0]
    assert home.ctrl.tolist() == [0.75, 0.125, 0.0]
    flying = msd.World()
    flying.hierarchy.bodies.append(
        msd.Body(free=msd.FreeJoint(), link=msd.Link(name="bird", local_translation=(1, 2, 3)))
    )
    world.attach(flying)
    # the new free base goes before the joints
    assert home.dof_pos.tolist()[7:16] == [1, 2, 3, 0, 0, 0, 1, 0.25, 0.5]
    assert home.dof_vel.tolist()[6:14] == [0, 0, 0, 0, 0, 0, 7, 8]
    world.validate()
    assert "$.keyframes" in {entry.path for entry in world.report}


def test_assets_are_shared_when_they_are_the_same() -> None:
    world, other = arm(), tool()
    world.assets.materials["steel"] = msd.Material(color=(1, 0, 0, 1))
    other.assets.materials["steel"] = msd.Material(color=(1, 0, 0, 1))
    other.custom.numeric["gain"] = [1.0]
    world.attach(other)
    assert list(world.assets.materials) == ["steel"]
    assert world.custom.numeric == {"gain": [1.0]}
    third = msd.World()
    third.assets.materials["steel"] = msd.Material(color=(0, 1, 0, 1))
    with pytest.raises(SceneError, match="the material name 'steel', already used"):
        world.attach(third)


def test_relative_assets_keep_meaning_the_same_files() -> None:
    world, other = arm(), tool()
    world.source_path, other.source_path = "/robots/arm/arm.json", "/robots/tool/tool.json"
    other.assets.meshes["m"] = msd.MeshSource.path("meshes/m.stl")
    other.assets.meshes["n"] = msd.MeshSource.path("/n.stl")
    other.assets.meshes["p"] = msd.MeshSource.path("package://tool/p.stl")
    world.attach(other)
    assert world.assets.meshes["p"].value["path"] == "package://tool/p.stl"
    assert world.assets.meshes["m"].value["path"] == "/robots/tool/meshes/m.stl"
    assert world.assets.meshes["n"].value["path"] == "/n.stl"
    same = tool()
    same.source_path = "/robots/arm/tool.json"
    same.assets.meshes["m"] = msd.MeshSource.path("meshes/m.stl")
    assert arm_at(world).attach(same).assets.meshes["m"].value["path"] == "meshes/m.stl"


def arm_at(world: msd.World) -> msd.World:
    fresh = arm()
    fresh.source_path = world.source_path
    return fresh


def test_options_stay_and_are_noted() -> None:
    world, other = arm(), tool()
    other.simulate_option.timestep = 0.5
    other.visual.ssao = True
    world.attach(other)
    assert world.simulate_option.timestep == 0.01
    assert {"$.simulate_option", "$.visual"} == {entry.path for entry in world.report}


def with_free() -> msd.World:
    world = tool()
    world.hierarchy.bodies.append(msd.Body(free=msd.FreeJoint(), link=msd.Link(name="b")))
    return world


def with_mocap() -> msd.World:
    world = tool()
    world.hierarchy.bodies.append(msd.Body(mocap=True, link=msd.Link(name="b")))
    return world


def with_kinematic() -> msd.World:
    world = tool()
    world.hierarchy.bodies.append(msd.Body(kind="Kinematic", link=msd.Link(name="b")))
    return world


def with_ground() -> msd.World:
    world = tool()
    world.add_ground_plane(0.0)
    return world


def broken() -> msd.Hierarchy:
    hierarchy = msd.Hierarchy()
    hierarchy.bodies.append("body")
    return hierarchy


REFUSED: list[tuple[Callable[[], Any], dict[str, Any], str]] = [
    (tool, {"self_link_name": "hnd"}, r"self_link_name: given 'hnd'.*did you mean 'hand'\?"),
    (tool, {"other_link_name": "fingr"}, r"other_link_name: given 'fingr'.*did you mean 'finger'\?"),
    (tool, {"other_translation": (1, 2)}, r"other_translation: given \(1, 2\)"),
    (tool, {"other_translation": (1, 2, math.nan)}, "other_translation: given"),
    (tool, {"other_rotation": (0, 0, 0, 0)}, "other_rotation: given.*not all zero"),
    (tool, {"other_prefix": 3}, "other_prefix: given 3"),
    (lambda: "tool", {}, "other: given 'tool'.*allowed: a World"),
    (arm, {}, r"the other scene uses names of this one(.|\n)*the link name 'base', already used at"),
    (with_free, {"self_link_name": "hand"}, "a free body cannot be attached to a link"),
    (with_mocap, {"self_link_name": "hand"}, "a mocap body cannot be attached to a link"),
    (with_kinematic, {"self_link_name": "hand"}, "a Kinematic body cannot be attached to a link"),
    (lambda: msd.World(hierarchy=broken()), {}, r"the other scene cannot be walked(.|\n)*bodies\[0\]"),
    (with_ground, {"self_link_name": "hand"}, "InfinitePlane 'ground_0' cannot ride on link 'hand'"),
]


@pytest.mark.parametrize(("make", "arguments", "words"), REFUSED)
def test_a_refused_call_changes_nothing(make: Any, arguments: dict[str, Any], words: str) -> None:
    world = arm()
    world.keyframes.append(msd.Keyframe(dof_pos=[1, 2]))
    before = world.to_msgpack(defaults=True)
    with pytest.raises(ArgumentError, match=words):
        world.attach(make(), **arguments)
    assert world.to_msgpack(defaults=True) == before
    assert not world.report.entries


def test_all_clashing_names_are_told_at_once() -> None:
    with pytest.raises(SceneError) as caught:
        arm().attach(arm())
    given = " ".join(problem.message for problem in caught.value.problems)
    for name in ("base", "hand", "turn", "bend", "turn motor", "bend motor"):
        assert repr(name) in given
    assert len(caught.value.problems) == 6


def test_a_world_can_be_attached_to_itself_with_a_prefix() -> None:
    world = arm()
    world.attach(world, "hand", other_prefix="second ")
    assert names(world) == ["base", "hand", "second base", "second hand"]
    world.attach(world, other_suffix="!")
    assert len(names(world)) == 8
    world.validate()


def with_world_link() -> msd.World:
    """A scene whose base link is called world, as many URDF files have it."""
    world = tool()
    base = msd.Link(name="world", children=[body.link for body in world.hierarchy.bodies])
    world.hierarchy.bodies = [msd.Body(link=base)]
    anchor = msd.ConnectConstraintType.link_anchor("world", (1, 0, 0), "jaw")
    world.equality_constraint_set.connects.append(msd.EqualityConnect(connect_type=anchor))
    world.validate()
    return world


def test_a_link_may_be_called_world() -> None:
    world = arm().attach(with_world_link(), "hand", other_translation=(5, 0, 0), other_prefix="t ")
    assert world.collision_ignores.link_pairs == [["t world", "t jaw"]]
    anchor = world.equality_constraint_set.connects[0].connect_type.value
    assert anchor["link_a"] == "t world"
    assert anchor["anchor"].tolist() == [1.0, 0.0, 0.0]
    world.validate()
    beside = arm().attach(with_world_link(), other_translation=(5, 0, 0))
    anchor = beside.equality_constraint_set.connects[0].connect_type.value
    assert anchor["anchor"].tolist() == [1.0, 0.0, 0.0]
    beside.validate()


def test_the_world_is_not_mistaken_for_a_link_of_that_name() -> None:
    referring, defining = msd.World(), msd.World()
    defining.hierarchy.bodies.append(msd.Body(link=msd.Link(name="world")))
    referring.hierarchy.bodies.append(msd.Body(link=msd.Link(name="a")))
    referring.collision_ignores.link_pairs.append(["world", "a"])
    for world, other in ((referring, defining), (defining, referring)):
        with pytest.raises(SceneError, match="means the world, but would mean the link of that name"):
            world.deepcopy().attach(other)
    referring.attach(defining, other_prefix="x ")
    referring.validate()


def test_a_ground_can_ride_on_a_fixed_link() -> None:
    world = msd.World()
    world.hierarchy.bodies.append(msd.Body(link=msd.Link(name="table")))
    world.attach(with_ground(), "table", other_translation=(0, 0, 1))
    assert world.hierarchy.bodies[0].link.geoms[-1].name == "ground_0"
    world.validate()


def test_coordinates_of_a_scene() -> None:
    world = arm()
    hand = link(world, "hand")
    hand.joints = [
        msd.Joint(type_="Ball"),
        msd.Joint(axis=(0, 0, 1)),
        msd.Joint(type_="Slide", axis=(0, 0, 1)),
    ]
    world.hierarchy.bodies.append(
        msd.Body(free=msd.FreeJoint(), link=msd.Link(name="b", joints=[msd.Joint(axis=(0, 0, 1))]))
    )
    # a ball joint replaces other rotations, a free base the joints of its link
    assert [(slot.q_count, slot.v_count) for slot in layout(world)] == [(7, 6), (1, 1), (4, 3), (1, 1)]
    assert [slot.q_start for slot in layout(world)] == [0, 7, 8, 12]
    assert sizes(world) == (13, 11)
    hand.joints = [msd.Joint(type_="D6", dofs=[msd.JointDof(angular=False), msd.JointDof()])]
    assert sizes(world) == (10, 9)
    hand.joints = [msd.Joint(type_="Free"), msd.Joint(axis=(0, 0, 1)), msd.Joint(type_="Fixed")]
    assert sizes(world) == (15, 13)
    assert sizes(msd.World()) == (0, 0)
