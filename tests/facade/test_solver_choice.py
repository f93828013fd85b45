# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A method that is asked for solves islands of every size and kind, and cold starts are cold.

Which method ran is counted by the step; results are held against closed forms and against other methods.
"""

from __future__ import annotations

import numpy as np
import pytest

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

G = 9.81
Method = sx.ContactSolverMethod
FORCED = [Method.SEQUENTIAL_IMPULSE, Method.NEWTON, Method.BOXED_LCP]


def add_box(world, name, position, **options):
    body = world.add_rigid_body(name, inertia=np.eye(3) * 0.01 * 2 / 3, position=position, **options)
    body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    body.friction = 0.6
    return body


def stack(method, count, **options):
    world = sx.World(contact_solver_method=method, time_step=0.002, **options)
    world.add_ground_plane(friction=0.6)
    for k in range(count):
        add_box(world, f"b{k}", (0, 0, 0.1 + 0.2 * k))
    return world


@pytest.mark.parametrize("method", FORCED)
@pytest.mark.parametrize("count", [1, 3])
def test_a_stack_is_solved_by_what_was_asked_for(method, count):
    world = stack(method, count)
    world.step(n=200)
    report = world.step_report()
    assert report.methods == {method.value: 1} and report.converged and report.substituted_islands == 0
    carried = {pair.body_b.name: pair.force[2] for pair in report.pairs}
    for k in range(count):
        assert carried[f"b{k}"] == pytest.approx((count - k) * G, rel=1e-4)
        assert world.rigid_bodies[k].translation[2] == pytest.approx(0.1 + 0.2 * k, abs=1e-5)


@pytest.mark.parametrize(("count", "expected"), [(3, "newton"), (60, "sequential-impulse")])
def test_without_a_choice_the_size_of_an_island_decides(count, expected):
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    for k in range(count):
        ball = world.add_rigid_body(f"b{k}", position=(0.1999 * (k % 8), 0.1999 * (k // 8), 0.1))
        ball.add_collision_shape(CollisionShape.sphere(0.1))
    world.step()
    assert world.step_report().methods == {expected: 1}


@pytest.mark.parametrize("method", FORCED)
@pytest.mark.parametrize(("friction", "degrees"), [(0.3, 30.0), (0.5, 30.0), (0.7, 30.0)])
def test_a_block_on_a_slope_slides_by_coulombs_law(method, friction, degrees):
    """a = g (sin - mu cos) down the slope, or rest where mu is more than its tangent."""
    world = sx.World(contact_solver_method=method)
    angle = np.radians(degrees)
    world.gravity = G * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    world.add_ground_plane(friction=friction)
    block = add_box(world, "block", (0, 0, 0.1))
    block.friction = friction
    world.step(n=500)
    wanted = max(G * (np.sin(angle) - friction * np.cos(angle)), 0.0) * 0.5
    np.testing.assert_allclose(block.linear_velocity, (wanted, 0, 0), atol=2e-4)
    assert world.step_report().methods == {method.value: 1}


def robot(method, **options):
    """An arm with a limit, dry friction and a closure, which falls onto the ground."""
    world = sx.World(contact_solver_method=method, time_step=0.002, **options)
    world.add_ground_plane(-0.35, friction=0.5)
    arm, parent = world.add_multibody("arm"), None
    for k in range(3):
        X = np.eye(4)
        X[0, 3] = 0.3 if k else 0.0
        link = arm.add_link(
            f"l{k}", parent, sx.JointSpec(name=f"j{k}", axis=(0, 1, 0), transform_to_parent=X)
        )
        link.mass, link.inertia, link.center_of_mass = 1.0, np.eye(3) * 0.01, (0.15, 0, 0)
        shape = CollisionShape.sphere(0.05)
        link.add_collision_shape(shape)
        parent = link
    arm.joints[1].set_position_limits([-0.2], [0.3])
    arm.joints[2].coulomb_friction = [0.3]
    return world


def test_sequential_impulses_serve_multibodies_as_newton_does():
    """Limits, dry friction and contacts of a tree: sweeps over rows reach the solution of Newton's method."""
    ends = {}
    for method in (Method.NEWTON, Method.SEQUENTIAL_IMPULSE):
        scene = robot(method).to_scene()
        scene.simulate_option.constraint_solver_iterations = 20000
        world = sx.World.from_scene(scene)
        for _ in range(300):
            world.step()
            assert set(world.step_report().methods) <= {method.value}
        assert world.step_report().methods == {method.value: 1}
        ends[method] = world.state_vector.copy()
    np.testing.assert_allclose(ends[Method.SEQUENTIAL_IMPULSE], ends[Method.NEWTON], atol=5e-4)


def test_sequential_impulses_keep_a_loop_closed():
    world = sx.World(contact_solver_method=Method.SEQUENTIAL_IMPULSE, time_step=0.002)
    a = add_box(world, "a", (0, 0, 2.0), angular_velocity=(1, 2, 3))
    b = add_box(world, "b", (0.5, 0, 2.0))
    X = np.eye(4)
    X[0, 3] = 0.5
    rod = world.add_loop_closure("rod", frame_a=a, frame_b=b, family=sx.LoopClosureFamily.POINT, offset_a=X)
    momentum = world.angular_momentum.copy()
    world.gravity = (0, 0, 0)
    world.step(n=300)
    assert world.step_report().methods == {"sequential-impulse": 1}
    assert rod.compute_residual().norm < 1e-4
    np.testing.assert_allclose(world.linear_momentum, 0.0, atol=1e-12)
    np.testing.assert_allclose(world.angular_momentum, momentum, atol=1e-3)


PILE = """<mujoco><option timestep=".002" solver="{}"/><worldbody><geom type="plane" size="5 5 1"/>
  <body pos="0 0 .099"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos=".02 0 .297"><freejoint/><geom type="box" size=".1 .1 .1" condim="{}"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("condim", [3, 4])
def test_solvers_act_and_agree_on_a_file(condim):
    """Sweeps and Newton's method minimize the same cost of the impedance model."""
    ends = {}
    for method in (sx.ContactSolverMethod.NEWTON, sx.ContactSolverMethod.SEQUENTIAL_IMPULSE):
        world = sx.World.from_scene(msd.from_str(PILE.format("Newton", condim), format="mjcf"))
        world.contact_solver_method = method
        world.step(n=200)
        assert world.step_report().methods == {method.value: 1}
        ends[method.value] = world.state_vector.copy()
    np.testing.assert_allclose(ends["sequential-impulse"], ends["newton"], atol=2e-4)


def test_sweeps_of_a_file_are_replaced_and_reported():
    world = sx.World.from_scene(msd.from_str(PILE.format("PGS", 3), format="mjcf"))
    world.step()
    assert world.step_report().methods == {"newton": 1}
    assert any("PGS becomes Newton's method" in entry.message for entry in world.report)
    assert not world.report.losses


# ---- strict


def test_strict_pivoting_has_no_bound_on_rows():
    """Of 27 boxes in one heap, 4 contacts a face: far more than the 240 rows that are pivoted otherwise."""
    found = {}
    for strict in (False, True):
        world = sx.World(contact_solver_method=Method.BOXED_LCP, strict_solver_resolution=strict)
        world.add_ground_plane(friction=0.0)
        for k in range(27):
            box = add_box(world, f"b{k}", (0.1999 * (k % 9), 0, 0.0999 + 0.1999 * (k // 9)))
            box.friction = 0.0
        world.step()
        report = world.step_report()
        assert report.islands == 1 and report.rows > 240
        found[strict] = report.methods
        row = {o.option: o for o in world.resolved_configuration}["contact_solver_method"]
        assert row.is_substituted is not strict
    assert found == {False: {"newton": 1}, True: {"boxed-lcp": 1}}


def test_strict_newton_solves_heaps_that_impulses_would():
    found = {}
    for strict in (False, True):
        world = sx.World(
            contact_solver_method=Method.NEWTON, strict_solver_resolution=strict, time_step=0.002
        )
        world.add_ground_plane(friction=0.0)
        for k in range(260):
            ball = world.add_rigid_body(f"b{k}", position=(0.1999 * (k % 20), 0.1999 * (k // 20), 0.1))
            ball.add_collision_shape(CollisionShape.sphere(0.1))
            ball.friction = 0.0
        world.step()
        found[strict] = world.step_report().methods
    assert found == {False: {"sequential-impulse": 1}, True: {"newton": 1}}


# ---- cold starts


@pytest.mark.parametrize(("condim", "count"), [(3, 2), (4, 3)])
def test_sequential_impulses_start_from_zero_where_asked_to(condim, count):
    """A stack at rest takes few sweeps from the forces of the last step, and many from zero.

    Sliding friction alone is solved body by body; friction about normals too is swept by rows.
    """
    taken = {}
    for cold in (False, True):
        scene = stack(Method.SEQUENTIAL_IMPULSE, count).to_scene()
        scene.simulate_option.disable_warm_start = cold
        scene.simulate_option.constraint_solver_iterations = 20
        for body in scene.hierarchy.bodies:
            body.link.geoms[0].physics_material.condim = condim
        world = sx.World.from_scene(scene)
        world.step(n=20)
        counts = []
        for _ in range(40):
            world.step()
            counts.append(world.step_report().iterations)
        taken[cold] = min(counts)
        assert world.rigid_bodies[-1].translation[2] == pytest.approx(0.2 * count - 0.1, abs=1e-5)
    assert 2 * taken[False] < taken[True]


# ---- lanes


def test_lanes_solve_by_what_was_asked_for():
    ends = {}
    for policy, solver in ((None, "newton"), ("SequentialImpulse", "sequential-impulse")):
        scene = msd.from_str(PILE.format("Newton", 3).replace("box", "sphere"), format="mjcf")
        scene.simulate_option.policy.contact_solver_method = policy
        worlds = wm.LaneSimulation(msd.build(scene), 2, sweeps=2000, tolerance=1e-9)
        assert worlds.solver == solver
        worlds.step(100)
        ends[solver] = worlds.q.copy()
    np.testing.assert_allclose(ends["sequential-impulse"], ends["newton"], atol=1e-5)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"contact_solver_method": "BoxedLcp"}, "boxed problem"),
        ({"strict_solver_resolution": True}, "strict_solver_resolution"),
    ],
)
def test_lanes_refuse_by_name_what_they_cannot_force(policy, words):
    scene = msd.from_str(PILE.format("Newton", 3).replace("box", "sphere"), format="mjcf")
    for name, value in policy.items():
        setattr(scene.simulate_option.policy, name, value)
    with pytest.raises(NotImplementedError, match=words):
        wm.LaneSimulation(msd.build(scene), 2)
