# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contact events of calls with many steps, and of bodies that are removed."""

from __future__ import annotations

import pytest

from worldline import simulation as sx
from worldline._src.kernels.constraints.contact import log as contact_log
from worldline.collision import CollisionShape

Kind = sx.ContactEventKind


def bouncing(height: float = 0.15) -> tuple[sx.World, sx.RigidBody]:
    world = sx.World()
    world.add_ground_plane(restitution=0.9)
    ball = world.add_rigid_body("ball", mass=1.0, inertia=(0.004,) * 3, position=(0, 0, height))
    ball.add_collision_shape(CollisionShape.sphere(0.1))
    return world, ball


def changes(world: sx.World) -> list[sx.ContactEvent]:
    return [event for event in world.contact_events if event.kind is not Kind.PERSIST]


def test_a_bounce_within_a_call_is_logged():
    world, ball = bouncing()
    world.step(n=150)
    begin, end = world.contact_events
    assert (begin.kind, end.kind) == (Kind.BEGIN, Kind.END)
    assert begin.body_a is None and begin.body_b is ball and end.body_b is ball
    # a fall of 5 cm takes sqrt(2 h / g) = 0.10096 s
    assert begin.frame == 101 and begin.time == pytest.approx(0.101) and end.frame == 102
    assert world.step_report().dropped_contact_events == 0


@pytest.mark.parametrize("how", ["one call", "recording", "job", "executor", "runge-kutta-4"])
def test_one_call_has_the_events_of_single_steps(how):
    single, world = bouncing()[0], bouncing()[0]
    if how == "runge-kutta-4":
        for each in (single, world):
            each.multibody_options = sx.MultibodyOptions("runge-kutta-4")
    wanted = []
    for _ in range(900):
        single.step()
        wanted += [(e.kind, e.body_b.name, e.frame, e.time) for e in changes(single)]
    if how == "recording":
        world.replay_recording_enabled = True
    if how == "job":
        world.start_step(900).result()
    elif how == "executor":
        sx.compute.SequentialExecutor().step(world, n=900)
    else:
        world.step(n=900)
    # Runge-Kutta steps have no restitution: the ball stays on the ground
    assert len(wanted) >= (1 if how == "runge-kutta-4" else 6)
    assert [(e.kind, e.body_b.name, e.frame, e.time) for e in changes(world)] == wanted


def test_events_are_those_of_the_last_call():
    world, _ = bouncing()
    world.step(n=150)
    world.step(n=50)
    assert world.contact_events == []


def grid(count: int) -> sx.World:
    """Balls that overlap the ground by 1 mm, none of them another."""
    world = sx.World()
    world.add_ground_plane(restitution=0.9)
    side = 60
    for k in range(count):
        at = (0.25 * (k % side), 0.25 * (k // side), 0.099)
        body = world.add_rigid_body(f"b{k}", mass=1.0, inertia=(0.004,) * 3, position=at)
        body.add_collision_shape(CollisionShape.sphere(0.1))
    return world


@pytest.mark.parametrize("how", ["step", "profile", "recording", "function"])
def test_every_event_of_a_step_with_many_contacts_is_kept(how):
    world, count = grid(1100), 1100
    seen = []
    if how == "function":
        world.add_observer("look", lambda world: seen.append(world.time))
    if how == "recording":
        world.replay_recording_enabled = True
    if how == "profile":
        world.step_profiling_enabled = True
    world.step()
    assert len(seen) == (how == "function")
    events = world.contact_events
    assert {(e.kind, e.body_a, e.body_b.name, e.frame) for e in events} == {
        (Kind.BEGIN, None, f"b{k}", 1) for k in range(count)
    }
    assert len(events) == count and world.step_report().dropped_contact_events == 0
    world.step()
    assert [e.kind for e in world.contact_events] == count * [Kind.PERSIST]


def test_many_steps_with_many_events_leave_all_of_them():
    """A call of two hundred steps has the events of two hundred calls, though its log grows several times."""
    single, world = (bounces() for _ in range(2))
    wanted = []
    for _ in range(200):
        single.step()
        wanted += [(e.kind, e.body_b.name, e.frame) for e in changes(single)]
    world.step(n=200)
    assert len(wanted) > 2 * contact_log.CAPACITY
    assert [(e.kind, e.body_b.name, e.frame) for e in changes(world)] == wanted
    assert world.step_report().dropped_contact_events == 0


def bounces() -> sx.World:
    """Balls that are thrown at the ground one after the other and leave it again."""
    world = grid(1200)
    for k, body in enumerate(world.rigid_bodies):
        if body.name.startswith("b"):
            body.translation = (*body.translation[:2], 0.1005 + 0.001 * (k % 150))
            body.linear_velocity = (0, 0, -1)
    return world


def test_a_full_log_keeps_the_last_events_and_says_so():
    world, _ = bouncing()
    world.step()
    log = world._live().sim.contact_log
    assert log is not None
    # as full as it gets
    log._lay_out_again(len(log._block.column.pair), contact_log.LARGEST)
    world._live().sim._enter_arenas()
    counter = log._counter
    counter[contact_log.EVENTS] = contact_log.LARGEST - 1
    runtime = world._live()
    runtime.step(900)
    assert log._counter is counter
    made = int(counter[contact_log.EVENTS])
    assert made > contact_log.LARGEST
    assert world.step_report().dropped_contact_events == made - contact_log.LARGEST
    assert "contact events" in str(world.step_report())
    assert len(log._block.column.event) == contact_log.LARGEST
    assert log.events(world.frame)[-1][0] > 800
    world.step()
    assert world.step_report().dropped_contact_events == 0


def test_shapes_of_two_bodies_are_one_pair_in_either_order():
    world = sx.World(gravity=(0, 0, 0))
    a, b = world.add_rigid_body("a"), world.add_rigid_body("b", position=(0, 0, 0.19))
    a.add_collision_shape(CollisionShape.sphere(0.1))
    b.add_collision_shape(CollisionShape.sphere(0.1))
    a.add_collision_shape(CollisionShape.box((0.05, 0.05, 0.1)))
    world.step()
    assert [(e.kind, e.body_a, e.body_b) for e in world.contact_events] == [(Kind.BEGIN, a, b)]


def two_balls() -> tuple[sx.World, sx.RigidBody, sx.RigidBody]:
    world = sx.World()
    world.add_ground_plane()
    balls = []
    for k in range(2):
        ball = world.add_rigid_body(f"ball{k}", position=(k, 0, 0.1))
        ball.add_collision_shape(CollisionShape.sphere(0.1))
        balls.append(ball)
    world.step(n=10)
    return world, balls[0], balls[1]


def test_a_removed_body_ends_its_contacts():
    world, first, second = two_balls()
    with world.edit():
        world.remove(first)
    ended = [e for e in world.contact_events if e.kind is Kind.END]
    assert [(e.body_a, e.body_b, e.frame, e.time) for e in ended] == [(None, first, 10, world.time)]
    assert not first.is_valid and ended[0].body_b.name == "ball0"
    world.step(n=3)
    # told again with the next call; what still touches went on
    assert [(e.kind, e.body_b) for e in world.contact_events] == [(Kind.END, first), (Kind.PERSIST, second)]
    world.step()
    assert [(e.kind, e.body_b) for e in world.contact_events] == [(Kind.PERSIST, second)]


def test_a_removed_link_ends_its_contacts():
    world = sx.World()
    world.add_ground_plane()
    robot = world.add_multibody("robot")
    base = robot.add_link("base", joint=sx.JointSpec(name="base", type=sx.JointType.FLOATING))
    base.add_collision_shape(CollisionShape.sphere(0.1))
    robot.joints["base"].position = [0, 0, 0.1, 0, 0, 0]
    world.step(n=5)
    with world.edit():
        world.remove(robot)
    assert [(e.kind, e.body_b) for e in world.contact_events] == [(Kind.END, base)]


def goes_on(world, *balls):
    """The contacts of these persist in the next step."""
    world.step()
    assert {(e.kind, e.body_b) for e in world.contact_events} == {(Kind.PERSIST, ball) for ball in balls}


def test_an_edit_that_is_rolled_back_ends_nothing():
    world, first, second = two_balls()
    before = world.contact_events
    with pytest.raises(ZeroDivisionError), world.edit():
        world.remove(first)
        raise ZeroDivisionError
    assert world.contact_events == before
    goes_on(world, first, second)


def test_an_edit_that_adds_lets_contacts_go_on():
    world, first, second = two_balls()
    with world.edit():
        world.add_rigid_body("more", position=(0, 0, 5))
    goes_on(world, first, second)


def test_reset_begins_anew():
    world, first, second = two_balls()
    world.reset()
    assert world.contact_events == []
    world.step()
    assert {(e.kind, e.body_b) for e in world.contact_events} == {(Kind.BEGIN, first), (Kind.BEGIN, second)}
