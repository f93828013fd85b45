# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Islands, the methods that solve them, and sleep."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.constraints import tables as t
from worldline._src.step import constraints
from worldline.collision import CollisionShape

G = 9.81
Method = sx.ContactSolverMethod


def cube(world, name, position, half=0.1, mass=1.0, friction=0.6, **options):
    body = world.add_rigid_body(
        name, mass=mass, inertia=np.eye(3) * mass * half**2 * 2 / 3, position=position, **options
    )
    body.add_collision_shape(CollisionShape.box((half, half, half)))
    body.friction = friction
    return body


def tower(count, method=Method.NEWTON, **options):
    world = sx.World(contact_solver_method=method, **options)
    world.add_ground_plane(friction=0.6)
    boxes = [cube(world, f"b{k}", (0, 0, 0.1 + 0.2 * k)) for k in range(count)]
    return world, boxes


# ---- islands


def test_bodies_that_do_not_touch_are_solved_apart():
    world = sx.World()
    world.add_ground_plane()
    for k in range(5):
        cube(world, f"b{k}", (k, 0, 0.1))
    cube(world, "top", (0, 0, 0.3))
    cube(world, "flying", (0, 9, 5))
    world.step(n=3)
    assert world.step_report().islands == 6


def alone_and_together(count):
    """Heights of falling tilted cubes: one in a world of its own, and `count` far apart in one world."""
    heights = []
    for many in (1, count):
        world = sx.World()
        world.add_ground_plane(friction=0.4)
        bodies = [cube(world, f"b{k}", (5 * k, 0, 0.3), angular_velocity=(1, 2, 3)) for k in range(many)]
        world.step(n=400)
        heights.append([body.translation[2] for body in bodies])
    return heights


def test_a_body_moves_alike_alone_and_next_to_others():
    (alone,), together = alone_and_together(4)
    # the same up to rounding of positions far from the origin
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-9)


def test_a_kinematic_body_joins_no_islands_and_carries_along():
    world = sx.World()
    belt = world.add_rigid_body("belt", position=(0, 0, -0.1))
    belt.add_collision_shape(CollisionShape.box((5, 1, 0.1)))
    belt.friction = 0.8
    belt.is_kinematic = True
    boxes = [cube(world, f"b{k}", (k, 0, 0.1), friction=0.8) for k in range(3)]
    belt.linear_velocity = (0.5, 0, 0)
    world.step(n=500)
    assert world.step_report().islands == 3
    for k, box in enumerate(boxes):
        assert box.linear_velocity[0] == pytest.approx(0.5, abs=1e-6)
        assert box.translation[0] - k == pytest.approx(0.25 - 0.5**2 / (2 * 0.8 * G), abs=1e-3)
    assert belt.translation[0] == pytest.approx(0.25, abs=1e-9)


# ---- methods


@pytest.mark.parametrize("method", list(Method))
def test_every_method_holds_and_slides_as_it_should(method):
    world = sx.World(contact_solver_method=method)
    angle = 0.3
    world.gravity = (G * np.sin(angle), 0, -G * np.cos(angle))
    world.add_ground_plane(friction=1.0)
    slow, fast = cube(world, "slow", (0, 0, 0.1)), cube(world, "fast", (0, 3, 0.1))
    slow.friction = 0.5**2  # pairs take the geometric mean: 0.5, above tan 0.3
    fast.friction = 0.2**2
    world.step(n=200)
    assert np.linalg.norm(slow.linear_velocity) < 1e-6
    wanted = G * (np.sin(angle) - 0.2 * np.cos(angle)) * 0.2
    assert fast.linear_velocity[0] == pytest.approx(wanted, rel=1e-3)
    assert world.step_report().converged
    resolved = {o.option: o for o in world.resolved_configuration}["contact_solver_method"]
    runs = Method.NEWTON if method is Method.AUTOMATIC else method
    assert resolved.resolved == runs.value
    assert world.step_report().methods == {runs.value: 2}


def test_a_boxed_problem_agrees_with_newton_without_friction():
    states = []
    for method in (Method.NEWTON, Method.BOXED_LCP):
        world = sx.World(contact_solver_method=method)
        world.add_ground_plane(friction=0.0)
        for k in range(4):
            cube(world, f"b{k}", (0.02 * k, 0, 0.1 + 0.2 * k), friction=0.0)
        world.step(n=100)
        states.append(world.state_vector.copy())
    np.testing.assert_allclose(states[1], states[0], atol=1e-6)


PILE = "<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='9 9 1'/>{}</worldbody></mujoco>"


def pile(method, count=40):
    shift = np.random.default_rng(5).uniform(-0.02, 0.02, (count, 2))
    bodies = "".join(
        f"<body pos='{0.1 * (k % 4) + shift[k, 0]} {0.1 * (k // 4 % 3) + shift[k, 1]} {0.06 + 0.12 * (k // 12)}'>"
        f"<freejoint/><geom type='{'box' if k % 2 else 'sphere'}' size='.05 .05 .05' mass='1'/></body>"
        for k in range(count)
    )
    world = sx.World.from_scene(msd.from_str(PILE.format(bodies), format="mjcf"))
    world.contact_solver_method = method
    return world


def test_sequential_impulses_carry_a_pile(monkeypatch):
    monkeypatch.setattr(constraints, "_FREE_COLUMNS", 30)
    world = pile(Method.SEQUENTIAL_IMPULSE)
    world.step(n=1500)
    report = world.step_report()
    assert report.max_penetration < 4e-3
    # some island was large enough for impulses: it has contacts and no rows
    assert report.rows < report.contacts
    # the ground takes up the weight of all, less what momentum they gain
    before, pushed = world.linear_momentum[2], 0.0
    for _ in range(50):
        world.step()
        pushed += sum(pair.force[2] for pair in world.step_report().pairs if pair.body_a is None)
    gained = (world.linear_momentum[2] - before) / (50 * 0.002)
    assert pushed / 50 == pytest.approx(40 * G + gained, rel=1e-9)
    assert abs(gained) < 0.05 * 40 * G


def test_sequential_impulses_agree_with_newton_for_frictionless_balls(monkeypatch):
    """Where the methods solve the same problem they find the same forces."""
    monkeypatch.setattr(constraints, "_SWEEP_SHARE", 1e-11)
    monkeypatch.setattr(constraints, "_FREE_COLUMNS", 0)
    states = []
    for method in (Method.NEWTON, Method.SEQUENTIAL_IMPULSE):
        world = sx.World(contact_solver_method=method)
        world.add_ground_plane(friction=0.0)
        for k in range(20):
            body = world.add_rigid_body(
                f"b{k}", mass=1.0, inertia=np.eye(3) * 4e-3, position=(0.19 * k, 0, 0.1)
            )
            body.add_collision_shape(CollisionShape.sphere(0.1))
            body.friction = 0.0
        world.enter_simulation_mode()
        column = world._runtime.constraints.column
        assert bool(column["option"][t.FREE_COLUMNS] < np.inf) is (method is Method.SEQUENTIAL_IMPULSE)
        column["option"][t.SWEEPS] = 20000
        world.step(n=5)
        states.append(world.state_vector.copy())
    np.testing.assert_allclose(states[1], states[0], atol=1e-6)


# ---- sleep


def asleep(world):
    return {name for name in world.rigid_bodies.names if world.rigid_bodies[name].is_sleeping}


SLEEP = sx.DeactivationOptions(enabled=True, time_until_sleep=0.2)


def test_an_island_at_rest_falls_asleep_and_keeps_its_forces():
    world, boxes = tower(2, deactivation_options=SLEEP)
    cube(world, "alone", (3, 0, 0.1))
    cube(world, "flying", (6, 0, 50))
    assert asleep(world) == set()
    world.step(n=150)
    assert asleep(world) == set()
    world.step(n=100)
    assert asleep(world) == {"b0", "b1", "alone"}
    assert boxes[0].deactivation_group_index == boxes[1].deactivation_group_index >= 0
    assert world.rigid_bodies["alone"].deactivation_group_index != boxes[0].deactivation_group_index
    assert world.rigid_bodies["flying"].deactivation_group_index == -1
    before = [box.transform.copy() for box in boxes]
    world.step(n=50)
    for box, pose in zip(boxes, before, strict=True):
        np.testing.assert_array_equal(box.transform, pose)
        assert not box.linear_velocity.any()
    forces = {pair.body_b: pair.force[2] for pair in world.step_report().pairs if pair.body_a is None}
    assert forces[boxes[0]] == pytest.approx(2 * G, rel=1e-4)


@pytest.mark.parametrize("how", ["hit", "force", "velocity", "pose", "off"])
def test_what_wakes_an_island(how):
    world, boxes = tower(2, deactivation_options=SLEEP)
    ball = world.add_rigid_body("ball", mass=0.1, inertia=np.eye(3) * 1e-4, position=(0.03, 0, 3.0))
    ball.add_collision_shape(CollisionShape.sphere(0.05))
    world.step(n=300)
    assert asleep(world) == {"b0", "b1"}
    if how == "hit":
        world.step(n=700)
    elif how == "force":
        boxes[1].force = (0.5, 0, 0)
        world.step()
    elif how == "velocity":
        boxes[1].linear_velocity = (0.5, 0, 0)
        assert asleep(world) == set()
    elif how == "pose":
        boxes[0].translation = (0, 0, 0.2)
    else:
        world.deactivation_options = sx.DeactivationOptions()
        world.step(n=400)
    assert asleep(world) == set()


def test_what_a_sleeper_stands_on_wakes_it():
    world = sx.World(deactivation_options=SLEEP)
    table = world.add_rigid_body("table", position=(0, 0, -0.1))
    table.add_collision_shape(CollisionShape.box((1, 1, 0.1)))
    table.is_kinematic = True
    box = cube(world, "box", (0, 0, 0.1))
    world.step(n=300)
    assert box.is_sleeping
    world._runtime.sim.v[:6] = (0.1, 0, 0, 0, 0, 0)  # as a drive would, without a write that wakes everything
    world.step()
    assert not box.is_sleeping


def test_a_sleeper_moves_as_if_it_had_never_slept():
    """Woken by a push, it does what a body at rest that never slept does."""
    ends = []
    for options in (SLEEP, sx.DeactivationOptions()):
        world, boxes = tower(1, deactivation_options=options)
        world.step(n=300)
        boxes[0].force = (8, 0, 0)
        world.step(n=100)
        ends.append(boxes[0].translation.copy())
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


def test_commands_wake_a_robot_that_fell_asleep():
    """Held by its drive it sleeps; another target wakes it, the same one does not."""
    world = sx.World(deactivation_options=SLEEP)
    world.add_ground_plane(-2.0)
    arm = world.add_multibody("arm")
    link = arm.add_link("rod", None, sx.JointSpec(name="j", axis=(0, 1, 0)))
    link.mass, link.inertia, link.center_of_mass = 1.0, np.eye(3) * 0.01, (0.3, 0, 0)
    link.add_collision_shape(CollisionShape.sphere(0.05))
    joint = arm.joints[0]
    joint.target_stiffness, joint.target_damping = 200.0, 30.0
    joint.target_position = [0.1]
    world.step(n=2000)
    column = world._runtime.constraints.column
    assert column["tree_group"].tolist() == [0] and not joint.velocity.any()
    before = joint.position.copy()
    joint.target_position = [0.1]
    world.step(n=10)
    assert column["tree_group"].tolist() == [0]
    joint.target_position = [0.4]
    world.step()
    assert column["tree_group"].tolist() == [-1]
    world.step(n=1000)
    assert joint.position[0] > before[0] + 0.2
