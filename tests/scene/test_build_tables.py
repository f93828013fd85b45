# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of a Model for what only native scenes describe: closures, couplers, springs, frames, loop joints."""

from __future__ import annotations

import math

import numpy as np
import pytest

from worldline import msd

HALF = math.sqrt(0.5)


def scene() -> msd.World:
    """Two links on hinges, a named frame on a frame on the second, and everything that holds them together."""
    world = msd.World(name="tables")
    first = msd.Link(name="first", joints=[msd.Joint(name="a", axis=(0, 0, 1))], gravcomp=0.25)
    second = msd.Link(
        name="second", local_translation=(1, 0, 0), joints=[msd.Joint(name="b", axis=(0, 0, 1))]
    )
    second.disable_self_collision = True
    second.children.append(msd.Link(name="third", local_translation=(1, 0, 0)))
    for link in (first, second):
        link.geoms.append(msd.Geometry(size=(0.1, 0, 0)))
    first.children.append(second)
    world.hierarchy.bodies.append(msd.Body(link=first))
    world.frames = [
        msd.Frame(name="outer", parent_frame="inner", position=(0, 0, 2)),
        msd.Frame(name="inner", parent_link="second", position=(1, 0, 0), orientation=(HALF, 0, 0, HALF)),
    ]
    return world


def test_frames_on_frames_end_on_a_body() -> None:
    model = msd.build(scene())
    assert model.frames is not None
    assert model.frames.label == ["outer", "inner"]
    assert [model.body_label[body] for body in model.frames.body] == ["second", "second"]
    # two along z of a frame that is turned by a quarter about x
    np.testing.assert_allclose(model.frames.xform[0], [1, -2, 0, HALF, 0, 0, HALF], atol=1e-15)


def test_closures() -> None:
    world = scene()
    spring = msd.ImpedanceSpring(spring=msd.StiffnessDamping(k=9.0, d=2.0), direct=True)
    world.loop_closures = [
        msd.LoopClosure(
            name="pin",
            family="Point",
            frame_a=msd.FrameRef(position=(1, 2, 3)),
            frame_b=msd.FrameRef(frame="outer"),
            dynamics="ResidualOnly",
        ),
        msd.LoopClosure(
            family="Distance",
            distance=0.5,
            frame_a=msd.FrameRef(link="first"),
            frame_b=msd.FrameRef(link="second"),
            dynamics="Solve",
            spring=spring,
            allow_collision=True,
            enabled=False,
        ),
    ]
    table = msd.build(world).closures
    assert table is not None and table.label == ["pin", "closure_001"]
    assert (
        table.family.tolist() == [1, 2]
        and table.body_a.tolist() == [-1, 0]
        and table.body_b.tolist() == [1, 1]
    )
    np.testing.assert_allclose(table.X_a[0], [1, 2, 3, 0, 0, 0, 1])
    np.testing.assert_allclose(table.X_b[0, :3], [1, -2, 0], atol=1e-15)
    assert table.solved.tolist() == [False, True] and table.enabled.tolist() == [True, False]
    assert table.collides.tolist() == [False, True] and table.distance.tolist() == [0.0, 0.5]
    # without a spring it is hard: all of the error goes in one step
    assert (table.force.kind[0], table.force.erp[0]) == (0, 1.0)
    assert (table.force.kind[1], table.force.stiffness[1], table.force.direct[1]) == (3, 9.0, True)


def test_couplers_springs_and_joints_beside_the_trees() -> None:
    world = scene()
    world.couplers = [msd.JointCoupler(joint="b", reference="a", multiplier=-2.0, offset=0.1, mode="Mimic")]
    world.distance_springs = [
        msd.DistanceSpring(
            name="rope",
            frame_a=msd.FrameRef(link="first"),
            frame_b=msd.FrameRef(),
            stiffness=3.0,
            rest_length=0.5,
        )
    ]
    world.joints = [
        msd.WorldJoint(
            parent=msd.FrameRef(link="second", position=(1, 0, 0)),
            child=msd.FrameRef(link="first"),
            joint=msd.Joint(name="extra", type_="Slide", axis=(0, 1, 0), pos_limit=(-1, 2)),
            break_force=7.0,
        )
    ]
    model = msd.build(world)
    couplers, springs, joints = model.couplers, model.distance_springs, model.loop_joints
    assert couplers is not None and springs is not None and joints is not None
    assert (couplers.dof[0], couplers.reference[0], couplers.one_way[0]) == (1, 0, True)
    assert (couplers.multiplier[0], couplers.offset[0]) == (-2.0, 0.1)
    assert (springs.body_a[0], springs.body_b[0], springs.stiffness[0], springs.rest[0]) == (0, -1, 3.0, 0.5)
    assert joints.label == ["extra"] and joints.limit.tolist() == [[-1, 2]] and joints.break_force[0] == 7.0
    assert (joints.body_a[0], joints.body_b[0]) == (1, 0)
    np.testing.assert_allclose(joints.axis, [[0, 1, 0]])


def test_a_coupler_of_a_freedom_that_is_not_there_is_refused() -> None:
    world = scene()
    world.couplers = [msd.JointCoupler(joint="b", reference="a", joint_dof=1)]
    with pytest.raises(msd.SceneError, match=r"degree of freedom 1 of joint 'b'; allowed: below 1"):
        msd.build(world)


def test_what_needs_a_joint_of_a_tree_is_refused_others() -> None:
    world = scene()
    world.joints = [
        msd.WorldJoint(
            parent=msd.FrameRef(link="second"),
            child=msd.FrameRef(link="first"),
            joint=msd.Joint(name="extra", axis=(0, 0, 1)),
        )
    ]
    world.sensors.joint.append(msd.JointSensor(joint="extra"))
    with pytest.raises(msd.SceneError, match="no joint 'extra' in the trees"):
        msd.build(world)
    world.sensors.joint.clear()
    world.actuators.append(msd.Actuator(target=msd.ActuatorTarget.joint("extra")))
    with pytest.raises(msd.SceneError, match="no joint 'extra' in the trees"):
        msd.build(world)


def test_bodies_that_do_not_touch_themselves() -> None:
    model = msd.build(scene())
    assert model.self_collision_root is not None
    assert model.self_collision_root.tolist() == [-1, 1, 1]
    assert model.body_gravcomp.tolist() == [0.25, 0, 0] and model.compensates_gravity


def test_ends_of_a_site_give_its_pose_and_length() -> None:
    world = scene()
    world.hierarchy.sites = [
        msd.Site(name="long", shape="Capsule", size=(0.1, 0, 0), from_to=(1, 0, 0, 1, 0, -4)),
        msd.Site(name="flat", shape="Ellipsoid", size=(0.1, 0, 0), from_to=(0, 0, 0, 2, 0, 0)),
    ]
    sites = msd.build(world).sites
    assert sites is not None
    np.testing.assert_allclose(sites.size, [[0.1, 2, 0], [0.1, 0.1, 1]])
    np.testing.assert_allclose(sites.xform[:, :3], [[1, 0, -2], [1, 0, 0]])
    np.testing.assert_allclose(sites.xform[1, 3:], [0, HALF, 0, HALF], atol=1e-15)


def test_the_model_keeps_nothing_of_the_scene() -> None:
    world = scene()
    model = msd.build(world)
    world.hierarchy.bodies[0].link.geoms[0].size = (9, 0, 0)
    world.simulate_option.timestep = 9.0
    assert model.shapes is not None and model.option is not None
    assert model.shapes.size[0, 0] == 0.1 and model.option.timestep != 9.0


def test_made_up_labels_stay_clear_of_names() -> None:
    world = scene()
    world.hierarchy.bodies[0].link.geoms[1:] = [msd.Geometry(name="shape_001", size=(0.1, 0, 0))]
    shapes = msd.build(world).shapes
    assert shapes is not None and shapes.label == ["shape_002", "shape_001", "shape_003"]
