# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectory optimisation: against Riccati's equation, with bounds, through contact, from infeasible guesses."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from worldline import msd, optimize
from worldline import simulation as sx
from worldline._src.optimize.box_qp import solve_box_qp
from worldline._src.optimize.dynamics import SteppedWorld

H = 0.05


def cart() -> sx.World:
    world = sx.World(time_step=H, gravity=(0, 0, 0), differentiable=True)
    robot = world.add_multibody("cart")
    spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
    robot.add_link("link", joint=spec, mass=2.0)
    robot.joints["slide"].position = [1.0]
    return world


def test_box_programs_satisfy_their_conditions():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(1, 7))
        A = rng.normal(size=(n, n))
        Q, g = A @ A.T + 0.1 * np.eye(n), 3.0 * rng.normal(size=n)
        low, high = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
        x, free = solve_box_qp(Q, g, low, high, np.zeros(n))
        slope = Q @ x + g
        assert (x >= low).all() and (x <= high).all()
        np.testing.assert_allclose(slope[free], 0.0, atol=1e-7)
        assert (slope[~free & (x <= low)] >= 0.0).all() and (slope[~free & (x >= high)] <= 0.0).all()


def test_a_linear_system_is_solved_as_by_riccati():
    world, steps = cart(), 30
    cost = optimize.TrackingCost([0.0, 0.0], state=[1.0, 0.1], control=0.01, final=[5.0, 2.0])
    found = optimize.ilqr(world, np.zeros((steps, 1)), cost)
    # semi-implicit Euler: v' = v + h u / m, q' = q + h v'
    A, B = np.array([[1.0, H], [0.0, 1.0]]), np.array([[H * H / 2.0], [H / 2.0]])
    Q, R, V = np.diag([1.0, 0.1]), np.array([[0.01]]), np.diag([5.0, 2.0])
    gains = []
    for _ in range(steps):
        K = -np.linalg.solve(R + B.T @ V @ B, B.T @ V @ A)
        V = Q + A.T @ V @ (A + B @ K)
        gains.append(K)
    x, total = np.array([1.0, 0.0]), 0.0
    for t, K in enumerate(reversed(gains)):
        np.testing.assert_allclose(found.gains[t], K, atol=1e-8)
        u = K @ x
        np.testing.assert_allclose(found.actions[t], u, atol=1e-8)
        total += 0.5 * (x @ Q @ x + u @ R @ u)
        x = A @ x + B @ u
    assert found.cost == pytest.approx(total + 0.5 * (5.0 * x[0] ** 2 + 2.0 * x[1] ** 2), rel=1e-9)
    assert found.converged and len(found.history) <= 3
    # the policy leads a disturbed state the same way
    np.testing.assert_allclose(
        found.policy(3, found.states[3] + [0.1, 0.0]), found.actions[3] + 0.1 * found.gains[3, :, 0]
    )


def test_bounds_are_kept_and_are_optimal():
    world = cart()
    cost = optimize.TrackingCost([0.0, 0.0], control=1e-4, final=[500.0, 100.0])
    free = optimize.ilqr(world, np.zeros((20, 1)), cost)
    bound = 0.6 * np.abs(free.actions).max()
    held = optimize.ilqr(world, np.zeros((20, 1)), cost, lower=-bound, upper=bound)
    assert np.abs(held.actions).max() <= bound and held.cost >= free.cost
    assert (np.abs(held.actions) == bound).any()
    # no action within the bounds is better: the projected gradient vanishes
    system = SteppedWorld(world)

    def total(actions):
        system.set(held.states[0])
        x = [held.states[0]] + [system.advance(u) for u in actions]
        return sum(cost.value(t, x[t], u) for t, u in enumerate(actions)) + cost.value(20, x[-1], None)

    cost.bind(system, 20)
    for t in range(20):
        shift = np.zeros((20, 1))
        shift[t] = 1e-5
        slope = (total(held.actions + shift) - total(held.actions - shift)) / 2e-5
        if abs(held.actions[t, 0]) < bound:
            assert abs(slope) < 1e-3 * bound
        else:
            assert slope * held.actions[t, 0] <= 1e-3


POLE = """<mujoco><option timestep=".04"/><worldbody><body name="pole"><joint name="hinge" axis="0 1 0"/>
  <geom type="sphere" size=".05" pos="0 0 -.5" mass="1" contype="0" conaffinity="0"/></body></worldbody>
  <actuator><motor name="twist" joint="hinge"/></actuator></mujoco>"""


def pole() -> sx.World:
    scene = msd.from_str(POLE, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    return sx.World.from_scene(scene)


def test_a_pendulum_swings_up_with_less_than_its_weight():
    cost = optimize.TrackingCost([np.pi, 0.0], control=1e-3, final={"pole.q": 200.0, "pole.dq": 20.0})
    start = 0.1 * np.ones((50, 1))
    found = optimize.ilqr(pole(), start, cost, lower=-2.5, upper=2.5, iterations=60, tolerance=1e-3)
    # gravity pulls with 4.9 N m
    assert np.abs(found.actions).max() <= 2.5
    np.testing.assert_allclose(found.states[-1], [np.pi, 0.0], atol=0.1)
    costs = [one.cost for one in found.history]
    assert all(b < a for a, b in pairwise(costs))


def test_multiple_shooting_closes_gaps():
    cost = optimize.TrackingCost([np.pi, 0.0], control=1e-3, final={"pole.q": 200.0, "pole.dq": 20.0})
    guess = np.linspace([0.0, 0.0], [np.pi, 0.0], 31)
    seen = []
    found = optimize.multiple_shooting(
        pole(), np.zeros((30, 1)), guess, cost, iterations=40, tolerance=1e-3, progress=seen.append
    )
    assert len(seen) == len(found.history) and found.history[-1].gap == 0.0
    # states follow from actions
    system = SteppedWorld(pole())
    system.set(found.states[0])
    for t, u in enumerate(found.actions):
        np.testing.assert_allclose(system.advance(u), found.states[t + 1], atol=1e-9)
    np.testing.assert_allclose(found.states[-1], [np.pi, 0.0], atol=0.1)


def test_rotations_are_compared_as_rotations():
    world = sx.World(time_step=0.02, gravity=(0, 0, 0), differentiable=True)
    world.add_rigid_body("box", inertia=0.1 * np.eye(3))
    target = world.state_vector.copy()
    target[3:7] = [np.sin(0.6), 0.0, 0.0, np.cos(0.6)]
    cost = optimize.TrackingCost(target, control=1e-4, final={"box.pose": 100.0, "box.velocity": 10.0})
    found = optimize.ilqr(world, np.zeros((15, 3)), cost, controls=[f"box.wrench[{k}]" for k in range(3)])
    np.testing.assert_allclose(found.states[-1][3:7], target[3:7], atol=0.02)
    # gradients of the cost are those of differences
    system, rng = SteppedWorld(world), np.random.default_rng(1)
    cost.bind(system, 15)
    x = system.integrate(target, np.concatenate([rng.normal(size=6), np.zeros(6)]))
    slopes = [
        (cost.value(15, system.integrate(x, d), None) - cost.value(15, system.integrate(x, -d), None)) / 2e-6
        for d in 1e-6 * np.eye(12)
    ]
    np.testing.assert_allclose(cost.expand(15, x, None).x, slopes, rtol=1e-6, atol=1e-5)


def test_actions_are_held_for_several_steps():
    cost = optimize.TrackingCost([0.0, 0.0], control=0.01, final=[50.0, 20.0])
    found = optimize.ilqr(cart(), np.zeros((10, 1)), cost, steps_per_action=3)
    np.testing.assert_allclose(found.times, 3 * H * np.arange(11))
    world = cart()
    for u in found.actions:
        world.control_vector = u
        world.step(n=3)
    np.testing.assert_allclose(world.state_vector, found.states[-1], atol=1e-12)


def test_results_plot_themselves():
    pytest.importorskip("matplotlib", reason="plots need matplotlib").use("Agg")
    cost = optimize.TrackingCost([0.0, 0.0], control=0.01, final=[50.0, 20.0])
    found = optimize.ilqr(cart(), np.zeros((10, 1)), cost)
    figure = found.plot(["cart.q"])
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels == ["state", "action", "cost"]
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), found.states[:, 0])


def test_what_optimisers_are_given_is_checked():
    world = cart()
    cost = optimize.TrackingCost([0.0, 0.0])
    with pytest.raises(ValueError, match="shape \\(steps, 1\\)"):
        optimize.ilqr(world, np.zeros((5, 2)), cost)
    with pytest.raises(KeyError, match="no control 'motor'"):
        optimize.ilqr(world, np.zeros((5, 1)), cost, controls=["motor"])
    with pytest.raises(ValueError, match="exceed"):
        optimize.ilqr(world, np.zeros((5, 1)), cost, lower=1.0, upper=0.0)
    with pytest.raises(ValueError, match="must be a Cost"):
        optimize.ilqr(world, np.zeros((5, 1)), 3.0)
    with pytest.raises(ValueError, match="target must have shape"):
        optimize.ilqr(world, np.zeros((5, 1)), optimize.TrackingCost([0.0]))
    with pytest.raises(KeyError, match="state weights: there is no 'q'"):
        optimize.ilqr(world, np.zeros((5, 1)), optimize.TrackingCost([0.0, 0.0], state={"q": 1.0}))
    with pytest.raises(ValueError, match="states must have shape"):
        optimize.multiple_shooting(world, np.zeros((5, 1)), np.zeros((5, 2)), cost)
    with pytest.raises(RuntimeError, match="differentiable=True"):
        optimize.ilqr(sx.World(), np.zeros((5, 1)), cost)


def test_a_receding_horizon_acts_as_riccati_from_every_state():
    world, steps = cart(), 12
    before = world.state_vector.copy()
    cost = optimize.TrackingCost([0.0, 0.0], state=[1.0, 0.1], control=0.01, final=[5.0, 2.0])
    control = optimize.RecedingHorizon(world, np.zeros((steps, 1)), cost)
    A, B = np.array([[1.0, H], [0.0, 1.0]]), np.array([[H * H / 2.0], [H / 2.0]])
    Q, R, V = np.diag([1.0, 0.1]), np.array([[0.01]]), np.diag([5.0, 2.0])
    for _ in range(steps):
        K = -np.linalg.solve(R + B.T @ V @ B, B.T @ V @ A)
        V = Q + A.T @ V @ (A + B @ K)
    for state in ([1.0, 0.0], [-0.3, 2.0], [0.0, -1.0]):
        plan = control.plan(state)
        np.testing.assert_allclose(plan.actions[0], K @ state, atol=1e-7)
        np.testing.assert_array_equal(plan.states[0], state)
        np.testing.assert_array_equal(control.actions, [*plan.actions[1:], plan.actions[-1]])
    # a target that moves: the same problem from a place that is as far from it
    moved = optimize.TrackingCost([2.0, 0.0], state=[1.0, 0.1], control=0.01, final=[5.0, 2.0])
    np.testing.assert_allclose(control.plan([3.0, 0.0], moved).actions[0], K @ [1.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(control.plan([1.0, 0.0]).actions[0], K @ [-1.0, 0.0], atol=1e-7)
    kept = control.actions
    with pytest.raises(ValueError, match="Cost"):
        control.plan([1.0, 0.0], "cost")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="state"):
        control.plan([1.0])
    assert control.actions is kept
    np.testing.assert_array_equal(world.state_vector, before)
