# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Edits after time has passed: all or nothing, state by object, living and dead handles; and removal."""

from __future__ import annotations

import numpy as np
import pytest

from facade.scenes import bits, moved, pendulum, rich
from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError, SceneError


@pytest.fixture
def running():
    world = sx.World()
    robot = rich(world)
    robot.joints.velocity = np.linspace(-1, 1, 5)
    world.step(25)
    return world, robot


def test_an_edit_adds_and_carries_state_by_object(running):
    world, robot = running
    before = robot.joints["l"].position, robot.joints["h"].velocity, world.time, world.frame
    with world.edit():
        finger = robot.add_link("finger", robot.links["hand"], sx.JointSpec("f"))
        world.add_rigid_body("ball", position=(0, 0, 5))
    after = robot.joints["l"].position, robot.joints["h"].velocity, world.time, world.frame
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert finger.is_valid and world.is_simulation_mode
    world.step()
    assert world.frame == 26


def test_an_edit_kills_what_it_removes_and_keeps_the_rest(running):
    world, robot = running
    hand, joint, tool, rod = (
        robot.links["hand"],
        robot.joints["h"],
        world.frames["tool"],
        world.loop_closures["rod"],
    )
    with world.edit():
        hand.remove()
    assert not any(
        h.is_valid for h in (hand, joint, tool, rod, *[f for f in world.frames if f.name == "eye"])
    )
    with pytest.raises(OperationError, match="link 'hand' was removed"):
        _ = joint.position
    assert robot.is_valid and robot.joints.names == ["l", "r"] and len(world.frames) == 0
    world.step(5)


CHANGES = {
    "add": lambda w, r: w.add_rigid_body("new"),
    "link": lambda w, r: r.add_link("new", r.links["hand"], sx.JointSpec("n")),
    "remove body": lambda w, r: w.rigid_bodies["box"].remove(),
    "remove link": lambda w, r: r.links["left"].remove(),
    "remove robot": lambda w, r: r.remove(),
    "rename": lambda w, r: setattr(r, "name", "other"),
    "axis": lambda w, r: setattr(r.joints["l"], "axis", (0, 0, 1)),
    "mass": lambda w, r: setattr(w.rigid_bodies["box"], "mass", 9.0),
    "gain": lambda w, r: setattr(r.joints["l"], "damping_coefficient", 9.0),
    "actuator": lambda w, r: setattr(r.joints["l"], "actuator_type", sx.ActuatorType.LOCKED),
    "position": lambda w, r: setattr(r.joints, "position", np.ones(5)),
    "force": lambda w, r: setattr(w.rigid_bodies["box"], "force", (9, 9, 9)),
    "static": lambda w, r: setattr(w.rigid_bodies["box"], "is_static", True),
    "frame": lambda w, r: setattr(w.frames["eye"], "local_transform", moved(9, 9, 9)),
    "policy": lambda w, r: setattr(w.loop_closures["rod"], "enabled", False),
    "time": lambda w, r: setattr(w, "time", 77.0),
    "time step": lambda w, r: setattr(w, "time_step", 0.5),
    "scene": lambda w, r: w.add_scene(w.to_scene(), prefix="x_"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_an_exception_rolls_everything_back_bit_for_bit(running, what):
    world, robot = running
    scene, state = world.to_scene(), bits(world)
    order = world.rigid_bodies.names, world.multibodies.names, robot.links.names, world.frames.names
    made = None
    with pytest.raises(ZeroDivisionError), world.edit():
        made = CHANGES[what](world, robot)
        CHANGES["add"](world, robot) if what != "add" else None
        _ = 1 / 0
    assert world.to_scene() == scene and bits(world) == state
    assert order == (world.rigid_bodies.names, world.multibodies.names, robot.links.names, world.frames.names)
    assert robot.is_valid and robot.links["hand"].is_valid and world.rigid_bodies["box"].is_valid
    if hasattr(made, "is_valid"):
        assert not made.is_valid
        with pytest.raises(OperationError, match="rolled back"):
            made._require_alive()
    other = sx.World()
    rich(other).joints.velocity = np.linspace(-1, 1, 5)
    other.step(25)
    world.step(10)
    other.step(10)
    assert bits(world) == bits(other)


def test_a_failed_check_rolls_back(running):
    world, robot = running
    with pytest.raises(SceneError, match="distance"), world.edit():
        closure = world.add_loop_closure("bad", frame_a=robot.links["hand"], frame_b=robot.links["right"])
        # a distance that only the DISTANCE family has, written past the checks of the handle
        closure._closure.distance = 0.5
    assert not closure.is_valid and world.loop_closures.names == ["rod"]
    world.step()


def test_edits_do_not_nest_and_time_waits(running):
    world, _ = running
    with world.edit():
        for call in (
            world.edit().__enter__,
            world.step,
            world.reset,
            world.clear,
            world.enter_simulation_mode,
        ):
            with pytest.raises(OperationError, match="edit"):
                call()
    with world.edit():
        pass
    world.step()


def test_an_edit_in_design_mode_is_a_transaction():
    world = sx.World()
    with pytest.raises(ArgumentError), world.edit():
        world.add_rigid_body("a")
        world.add_rigid_body("a")
    assert world.num_rigid_bodies == 0 and not world.is_simulation_mode


def test_reset_after_an_edit():
    world = sx.World(gravity=(0, 0, 0))
    old = world.add_rigid_body("old", linear_velocity=(1, 0, 0))
    world.step(10)
    with world.edit():
        new = world.add_rigid_body("new", position=(0, 0, 3), linear_velocity=(0, 1, 0))
    world.step(10)
    world.reset()
    assert old.translation.tolist() == [0, 0, 0] and new.translation.tolist() == [0, 0, 3]
    assert (world.time, world.frame) == (0.0, 0)


def test_removal_takes_actuators_sensors_and_keyframes_along():
    scene = msd.from_str(
        """<mujoco><worldbody><body name="a"><joint name="j"/><geom size="0.1"/>
        <body name="b" pos="1 0 0"><joint name="k"/><geom size="0.1"/></body></body>
        <body name="c" pos="0 0 3"><freejoint/><geom size="0.1"/></body></worldbody>
        <actuator><motor name="mj" joint="j"/><motor name="mk" joint="k"/></actuator>
        <sensor><jointpos name="sk" joint="k"/></sensor>
        <keyframe><key name="home" qpos="0 0 0 1 0 0 0 0.1 0.2"/></keyframe></mujoco>""",
        format="mjcf",
    )
    world = sx.World.from_scene(scene)
    world.multibodies["a"].links["b"].remove()
    world.validate_topology()
    left = world.to_scene()
    assert [a.name for a in left.actuators] == ["mj"] and len(left.sensors.joint) == 0
    assert len(left.keyframes[0].dof_pos) == 8
    world.rigid_bodies["c"].remove()
    world.add_multibody("m").add_link(joint=sx.JointSpec())
    world.validate_topology()
    assert world.to_scene().keyframes[0].dof_pos.size == 2


def test_world_remove_takes_any_object_of_its_own():
    world = sx.World()
    arm = pendulum(world)
    frame = world.add_free_frame("f")
    with pytest.raises(TypeError, match="remove link 'bob'"):
        world.remove(arm.joints["hinge"])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="different world"):
        sx.World().remove(arm)
    world.remove(frame)
    world.remove(arm)
    assert not arm.is_valid and not frame.is_valid and world.num_multibodies == 0
    with pytest.raises(OperationError):
        world.remove(arm)
