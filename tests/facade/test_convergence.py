# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`StepReport.converged`: large islands are solved, and what is not right is not called so.

Laws of contact are checked here from what a World reports, by formulas of their own.
"""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx
from worldline.collision import CollisionShape

G = 9.81
Method = sx.ContactSolverMethod


def add_bin(world, friction):
    """A floor and four fixed walls around a square of 0.8 m."""
    world.add_ground_plane(friction=friction)
    for k, (x, y) in enumerate(((0.45, 0.0), (-0.45, 0.0), (0.0, 0.45), (0.0, -0.45))):
        wall = world.add_rigid_body(f"wall{k}", position=(x, y, 1.0))
        wall.add_collision_shape(CollisionShape.box((0.05, 0.5, 1.0) if x else (0.5, 0.05, 1.0)))
        wall.friction = friction
        wall.is_kinematic = True


def spheres_in_bin(method, mass=1.0, friction=0.5, count=45, strict=False):
    world = sx.World(contact_solver_method=method, time_step=0.005, strict_solver_resolution=strict)

    def ball(k, x, y, rng):
        at = (-0.24 + 0.24 * (k % 3) + x, -0.24 + 0.24 * (k // 3 % 3) + y, 0.12 + 0.22 * (k // 9))
        return {"mass": mass, "inertia": 0.004 * mass * np.eye(3), "position": at}

    return filled(world, 1, count, friction, CollisionShape.sphere(0.1), ball)


def filled(world, seed, count, friction, shape, options):
    """A bin with bodies of one shape; `options` says how body k is added, with its random shift."""
    add_bin(world, friction)
    rng = np.random.default_rng(seed)
    for k in range(count):
        x, y = rng.uniform(-0.02, 0.02, 2)
        body = world.add_rigid_body(f"body{k}", **options(k, x, y, rng))
        body.add_collision_shape(shape)
        body.friction = friction
    return world


def boxes_in_bin(count=100, friction=0.5):
    def box(k, x, y, rng):
        at = (-0.27 + 0.18 * (k % 4) + x, -0.27 + 0.18 * (k // 4 % 4) + y, 0.12 + 0.18 * (k // 16))
        inertia = np.eye(3) * 0.05**2 * 2 / 3
        return {"inertia": inertia, "position": at, "angular_velocity": rng.uniform(-3, 3, 3)}

    return filled(sx.World(time_step=0.002), 3, count, friction, CollisionShape.box((0.05, 0.05, 0.05)), box)


def moving(world):
    return [body for body in world.rigid_bodies if not body.is_kinematic]


def check_contact_laws(world, friction, before, rests=True):
    """Momentum, cones and complementarity of the last step, from bodies and contacts alone.

    before: linear velocities at its start. Velocities of contacts are those after the step, where what does
    not rest has turned on.
    """
    h, bodies = world.time_step, moving(world)
    force = {id(body): np.zeros(3) for body in bodies}
    fastest = 0.0
    for contact in world.contacts:
        normal, sides = np.asarray(contact.normal), (contact.body_a, contact.body_b)
        push = float(contact.force @ normal)
        slide = contact.force - push * normal
        assert push >= 0.0
        assert np.linalg.norm(slide) <= friction * push * (1.0 + 1e-9) + 1e-12
        velocity = np.zeros(3)
        for body, sign in zip(sides, (-1.0, 1.0), strict=True):
            if body is not None and id(body) in force:
                force[id(body)] += sign * contact.force
                arm = contact.point - body.translation
                velocity += sign * (body.linear_velocity + np.cross(body.angular_velocity, arm))
        slip = velocity - (velocity @ normal) * normal
        # what pushes does not part faster than overlap is pushed out, and what slides has all its friction
        if rests and push > 0.05 * G:
            allowed = max(contact.depth, 0.0) * 0.2 / h + 0.1 * G * h
            fastest = max(fastest, float(velocity @ normal) - allowed)
            if np.linalg.norm(slip) > 0.3 * G * h:
                assert np.linalg.norm(slide) >= 0.9 * friction * push
    for body, start in zip(bodies, before, strict=True):
        change = (body.linear_velocity - start) / h - np.asarray(world.gravity)
        np.testing.assert_allclose(change * body.mass, force[id(body)], atol=1e-6 * body.mass * G)
    return fastest


@pytest.mark.parametrize("method", list(Method))
def test_spheres_in_a_bin_converge(method):
    world = spheres_in_bin(method)
    late = [k for k in range(250) if not step_of(world).converged]
    assert late == []
    report = world.step_report()
    assert report.residual <= 0.01 and report.unconverged_islands == 0


def step_of(world):
    world.step()
    return world.step_report()


@pytest.mark.parametrize("method", list(Method))
def test_spheres_that_friction_locks_converge(method):
    """With as much friction as weight spheres jam: from step 64 on overlap cannot be pushed apart everywhere.

    Impulses of such islands grew in every sweep or went round in cycles: 31, 22, 22 and 49 of 250 steps.
    """
    world = spheres_in_bin(method, friction=1.0)
    world.step(n=60)
    assert [k for k in range(60, 110) if not step_of(world).converged] == []


def test_contacts_of_a_jam_obey_their_laws():
    """Forces are those of the motion and within their cones; no contact closes faster than gravity makes."""
    world = spheres_in_bin(Method.SEQUENTIAL_IMPULSE, friction=1.0)
    world.step(n=60)
    most = 0
    for _ in range(40):
        before = [body.linear_velocity.copy() for body in moving(world)]
        world.step()
        report = world.step_report()
        most = max(most, report.iterations)
        assert report.converged
        check_contact_laws(world, 1.0, before, rests=False)
        assert closing_speed(world) <= G * world.time_step
    # more than sweeps and conjugate directions take: regularizers were raised
    assert most > 1500 and report.max_penetration < 0.005


def closing_speed(world):
    """Fastest approach of bodies that overlap at a contact that pushes [m/s]; a gap may close."""
    pushing = (c for c in world.contacts if c.depth > 0.0 and c.force @ c.normal > 0.0)
    return max(-contact_speed(c) for c in pushing)


def contact_speed(contact):
    """n . (v_b - v_a) at the point, from positions and velocities of bodies."""
    speed = 0.0
    for body, sign in ((contact.body_a, -1.0), (contact.body_b, 1.0)):
        if body is not None:
            arm = contact.point - body.translation
            speed += sign * contact.normal @ (body.linear_velocity + np.cross(body.angular_velocity, arm))
    return speed


def test_a_jam_that_is_not_solved_names_the_pair_that_approaches_fastest():
    """Newton's method alone, without one that stands in for it."""
    world = spheres_in_bin(Method.NEWTON, friction=1.0, strict=True)
    for _ in range(80):
        world.step()
        report = world.step_report()
        if not report.converged:
            break
        assert report.worst == ""
    assert report.residual > 0.01 and not report.unmet
    assert f"approach fastest: {report.worst}" in str(report)
    fastest = min((c for c in world.contacts if c.force @ c.normal > 0.0), key=contact_speed)
    names = [world_name(body) for body in (fastest.body_a, fastest.body_b)]
    assert report.worst == ", ".join(names) and contact_speed(fastest) < 0.0


def world_name(body):
    return "world" if body is None else body.name


def test_a_settled_pile_of_boxes_converges():
    world = boxes_in_bin()
    world.step(n=1000)
    reports = []
    for _ in range(75):
        world.step(n=2)
        reports.append(world.step_report())
    assert [report.converged for report in reports] == [True] * 75
    assert max(report.residual for report in reports) <= 0.01
    # the pile is one large island, not a few columns of boxes
    assert world.step_report().contacts > 200


def test_contacts_of_a_converged_step_obey_their_laws():
    world = spheres_in_bin(Method.SEQUENTIAL_IMPULSE)
    world.step(n=200)
    for _ in range(10):
        before = [body.linear_velocity.copy() for body in moving(world)]
        world.step()
        assert world.step_report().converged
        check_contact_laws(world, 0.5, before)


@pytest.mark.parametrize("method", list(Method))
def test_convergence_does_not_depend_on_the_unit_of_mass(method):
    heights = []
    for mass in (1e-12, 1.0, 1e13):
        world = spheres_in_bin(method, mass=mass, count=9)
        late = sum(not step_of(world).converged for _ in range(100))
        assert late == 0
        heights.append([body.translation[2] for body in moving(world)])
    np.testing.assert_allclose(heights[0], heights[1], atol=1e-6)
    np.testing.assert_allclose(heights[2], heights[1], atol=1e-6)


@pytest.mark.parametrize("mass", [1e-20, 1e-12, 1e12, 3e12, 1e13, 1e16, 1e20])
@pytest.mark.parametrize("inertia", [None, 0.004], ids=["default", "sphere"])
def test_any_mass_rests_on_the_floor(mass, inertia):
    """The default inertia does not go with the mass; rows must not take the one for the other."""
    world = sx.World()
    world.add_ground_plane()
    kept = {} if inertia is None else {"inertia": inertia * mass * np.eye(3)}
    ball = world.add_rigid_body("ball", mass=mass, position=(0, 0, 0.1), **kept)
    ball.add_collision_shape(CollisionShape.sphere(0.1))
    world.step(n=500)
    assert ball.translation[2] == pytest.approx(0.1, abs=1e-6)
    assert world.step_report().converged
    (contact,) = world.contacts
    assert contact.force[2] == pytest.approx(mass * G, rel=1e-4)


@pytest.mark.parametrize("ratio", [1e-6, 1e6])
def test_a_mass_ratio_of_a_million_is_carried(ratio):
    world = sx.World()
    world.add_ground_plane()
    for k, mass in enumerate((1.0, ratio)):
        box = world.add_rigid_body(
            f"box{k}", mass=mass, inertia=mass * 0.01 * 2 / 3 * np.eye(3), position=(0, 0, 0.1 + 0.2 * k)
        )
        box.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    world.step(n=500)
    report = world.step_report()
    assert report.converged
    heights = [body.translation[2] for body in world.rigid_bodies]
    np.testing.assert_allclose(heights, [0.1, 0.3], atol=1e-4)
    down = sum(c.force[2] for c in world.contacts if c.body_a is None)
    assert down == pytest.approx((1.0 + ratio) * G, rel=1e-3)


def test_a_mass_too_small_is_refused_by_name():
    world = sx.World()
    with pytest.raises(ValueError, match=r"'speck'.*1e-24 kg"):
        world.add_rigid_body("speck", mass=1e-30, inertia=1e-33 * np.eye(3))
    assert not len(world.rigid_bodies)


def pinned(world, name, body, position):
    X = np.eye(4)
    X[:3, 3] = position
    closure = world.add_loop_closure(
        name, frame_a=body, frame_b=sx.Frame.world(), family=sx.LoopClosureFamily.POINT, offset_b=X
    )
    closure.runtime_policy = sx.LoopClosureRuntimePolicy(dynamics=sx.ClosureDynamicsPolicy.SOLVE)
    return closure


def test_contradictory_closures_are_not_converged():
    """A body held to two points 2 cm apart: each is left open by 1 cm, and both are named."""
    world = sx.World(gravity=(0, 0, 0))
    body = world.add_rigid_body("body")
    left, right = pinned(world, "left", body, (-0.01, 0, 0)), pinned(world, "right", body, (0.01, 0, 0))
    world.step(n=200)
    report = world.step_report()
    assert abs(left.compute_residual().norm) == pytest.approx(0.01, rel=1e-3)
    assert abs(right.compute_residual().norm) == pytest.approx(0.01, rel=1e-3)
    assert not report.converged
    assert set(report.unmet) == {"left", "right"}
    assert "not met: left, right" in str(report)


def turned(angle):
    """A turn about x, which no closure that holds the z axis or all axes allows."""
    X = np.eye(4)
    X[1:3, 1:3] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return X


def shifted(x):
    X = np.eye(4)
    X[0, 3] = x
    return X


Family = sx.LoopClosureFamily
SHIFTS = [family for family in Family if family is not Family.PLANAR]
TURNS = [Family.RIGID, Family.AXIS, Family.REVOLUTE, Family.PRISMATIC, Family.PLANAR]


@pytest.mark.parametrize("links", [False, True], ids=["body", "link"])
@pytest.mark.parametrize(
    ("family", "offset", "left"),
    [*((family, shifted, 0.01) for family in SHIFTS), *((family, turned, 0.1) for family in TURNS)],
)
def test_contradictory_closures_of_every_family_are_named(family, offset, left, links):
    """Held to two places: half of what is between them is left open at each."""
    world = sx.World(gravity=(0, 0, 0))
    inertia = 0.1 * np.eye(3)
    if links:
        root = sx.JointSpec("root", sx.JointType.FLOATING)
        body = world.add_multibody("robot").add_link("link", joint=root, mass=1.0, inertia=inertia)
    else:
        body = world.add_rigid_body("body", inertia=inertia)
    closures = [
        world.add_loop_closure(
            f"closure{sign}",
            frame_a=body,
            frame_b=sx.Frame.world(),
            family=family,
            offset_b=offset(sign * left),
        )
        for sign in (-1, 1)
    ]
    world.step(n=200)
    report = world.step_report()
    for closure in closures:
        assert abs(closure.compute_residual().norm) == pytest.approx(left, rel=5e-3)
    assert not report.converged and set(report.unmet) == {"closure-1", "closure1"}


def test_closures_that_agree_are_met():
    world = sx.World()
    body = world.add_rigid_body("body")
    pinned(world, "left", body, (0, 0, 0))
    world.step(n=200)
    report = world.step_report()
    assert report.converged and report.unmet == ()


def test_a_body_in_a_gap_that_is_too_narrow_is_not_converged():
    world = sx.World()
    for name, z in (("floor", -0.1), ("ceiling", 0.2998)):
        slab = world.add_rigid_body(name, position=(0, 0, z))
        slab.add_collision_shape(CollisionShape.box((1, 1, 0.1)))
        slab.is_kinematic = True
    box = world.add_rigid_body("box", position=(0, 0, 0.0999), inertia=0.01 * np.eye(3))
    box.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    world.step(n=100)
    report = world.step_report()
    assert not report.converged
    assert any("box" in pair for pair in report.unmet)
