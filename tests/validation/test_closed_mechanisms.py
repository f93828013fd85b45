# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Closed mechanisms in motion: references, orders, residuals, multipliers, energies, contradictions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.closed_mechanisms import (
    POINT,
    SQUEEZER_END,
    Family,
    energy,
    four_bars,
    joints_of,
    offset,
    pendulum_of_four_bars,
    slider_crank,
    squeezer,
)
from tests.references import load

from worldline import simulation as sx
from worldline._src.facade.closure_projection import closure_row
from worldline._src.step.dynamics import integrate
from worldline._src.step.ik_problem import IkProblem


def angle_error(count: int, h: float, family: Family, time: float) -> float:
    world = four_bars(count, h, family)
    world.step(round(time / h))
    return abs(-float(joints_of(world)["v0"].position[0]) - pendulum_of_four_bars(count, time)[0])


# ---- references and orders


@pytest.mark.parametrize("count", [1, 5, 40, 100])
@pytest.mark.parametrize("family", [Family.SEMI_IMPLICIT, Family.RUNGE_KUTTA_4])
def test_four_bars_in_a_row_move_as_the_pendulum_they_are(count, family):
    bound = 3e-6 if family is Family.SEMI_IMPLICIT else 1e-9
    assert angle_error(count, 1e-3, family, 0.3) < bound


@pytest.mark.parametrize(
    ("family", "factor"),
    [(Family.SEMI_IMPLICIT, 1.9), (Family.RUNGE_KUTTA_4, 14.0), (Family.VARIATIONAL, 3.8)],
)
def test_the_order_of_a_family_holds_with_closures(family, factor):
    coarse, fine = (angle_error(2, h, family, 0.4) for h in (0.02, 0.01))
    assert coarse > factor * fine, (coarse, fine)


def test_a_singular_pose_is_passed_ten_times():
    world = four_bars(2, 1e-3, Family.RUNGE_KUTTA_4)
    start = energy(world)
    world.step(10_000)
    phi = -float(joints_of(world)["v0"].position[0])
    # B0 at 10 s
    assert np.allclose([np.sin(phi), np.cos(phi)], [0.3284581115, 0.9445185382], atol=1e-8)
    assert abs(energy(world) - start) < 1e-8


@pytest.mark.parametrize(
    ("family", "h", "bound"),
    [
        (Family.SEMI_IMPLICIT, 1e-4, 1e-2),
        (Family.SEMI_IMPLICIT, 1e-5, 1e-3),
        (Family.VARIATIONAL, 1e-4, 1e-4),
        (Family.RUNGE_KUTTA_4, 1e-3, 1e-6),
    ],
)
def test_a_slider_crank_moves_as_the_reference(family, h, bound):
    world = slider_crank(h, family)
    joints, at = joints_of(world), 0.0
    for time, state in load("slider_crank")["dynamics"].items():
        if float(time) > 1.0:
            break
        world.step(round((float(time) - at) / h))
        at = float(time)
        assert joints["crank"].position[0] == pytest.approx(state["crank_angle"], abs=bound)
        assert joints["slide"].position[0] == pytest.approx(state["slider_x"], abs=bound)


def test_runge_kutta_steps_of_a_mechanism_with_three_loops_are_exact():
    world = squeezer(2e-5, Family.RUNGE_KUTTA_4)
    world.step(1500)
    joints = joints_of(world)
    off = {name: abs(float(joints[name].position[0]) - angle) for name, angle in SQUEEZER_END.items()}
    # connect constraints of MuJoCo are off by 1.5e-6 at half of this step
    assert max(off.values()) < 1e-8, off
    assert all(closure.compute_residual().norm < 1e-12 for closure in world.loop_closures)


def force_of(closure: sx.LoopClosure, *axes: sx.LoopClosureResidualCoordinates) -> np.ndarray:
    force = closure.compute_residual(*axes).force
    assert force is not None
    return force


# ---- after every step


@pytest.mark.parametrize("family", list(Family))
def test_loops_are_closed_after_every_step(family):
    world = four_bars(2, 2e-3, family)
    for _ in range(150):
        world.step()
        for closure in world.loop_closures:
            residual = closure.compute_residual()
            assert residual.norm < 1e-8
            assert residual.converged and residual.iterations and residual.tolerance
            assert residual.tolerance < 1e-7
    # pins in space have three equations, of which a plane mechanism leaves two
    assert world.loop_closures["pin1"].compute_residual().rank == 4


def jacobian(world: sx.World, q: np.ndarray) -> np.ndarray:
    """Rows of all closures in world axes, from the rows of inverse kinematics."""
    runtime = world._live()
    nv = len(runtime.sim.v)
    rows = [closure_row(world, runtime, closure) for closure in world.loop_closures]
    none = np.full(nv, np.inf)
    J = IkProblem(runtime.model, list(range(nv)), rows, -none, none).evaluate(q[None])[1][0]
    runtime.sim.q[:] = q
    runtime.sim.written()
    turns = [closure.frame_b.transform[:3, :3] for closure in world.loop_closures]
    return np.concatenate([R @ J[3 * k : 3 * k + 3] for k, R in enumerate(turns)])


@pytest.mark.parametrize("count", [1, 3])
def test_multipliers_are_those_of_the_dense_equations(count):
    world = four_bars(count, 1e-3)
    world.step(300)
    sim, model = world._live().sim, world._live().model
    q, v = sim.q.copy(), sim.v.copy()
    robot = world.multibodies["bars"]
    M, bias = robot.mass_matrix, robot.coriolis_and_gravity_forces
    J = jacobian(world, q)
    assert np.abs(J @ v).max() < 1e-12
    # J' v by differences of sixth order
    rate, e = np.zeros(len(J)), 1e-2
    for k, weight in ((1, 45), (2, -9), (3, 1)):
        ahead, behind = (jacobian(world, integrate(model, q, s * k * e * v)) @ v for s in (1, -1))
        rate += weight * (ahead - behind) / (60 * e)
    S = J @ np.linalg.solve(M, J.T)
    expected = np.linalg.pinv(S, rcond=1e-9) @ (-rate + J @ np.linalg.solve(M, bias))
    sim.q[:], sim.v[:] = q, v
    sim.written()
    sim.velocities_written()
    world.step()
    forces = np.concatenate([force_of(closure) for closure in world.loop_closures])
    assert np.abs(forces - expected).max() < 1e-8 * max(1.0, np.abs(expected).max())


# ---- energy


def swing(world: sx.World, steps: int, every: int) -> float:
    start, most = energy(world), 0.0
    for _ in range(steps // every):
        world.step(every)
        most = max(most, abs(energy(world) - start))
    return most


def test_the_energy_of_a_four_bar_swings_by_little():
    assert swing(four_bars(1, 1e-3, Family.RUNGE_KUTTA_4), 2000, 20) < 1e-8
    assert swing(slider_crank(1e-3, Family.VARIATIONAL), 10_000, 20) < 1e-3


def test_variational_steps_do_not_go_through_a_singular_pose():
    """A parallelogram that lies flat has two ways to go on: steps are exact up to there, and then refused."""
    world = four_bars(1, 1e-3, Family.VARIATIONAL)
    start = energy(world)
    with pytest.raises(sx.StepFailure, match="not found"):
        for _ in range(100):
            world.step(100)
            assert abs(energy(world) - start) < 1e-3
    assert np.isfinite(energy(world))


def test_semi_implicit_steps_swing_as_those_of_the_pendulum():
    """Half a kick, h/2 times the power of gravity, whatever the coordinates; closures add nothing to it."""
    h, count = 1e-3, 1
    inertia, weight = (count + 1) / 3 + count, ((count + 1) / 2 + count) * 9.81
    phi, rate, most = 0.0, 1.0, 0.0
    start = 0.5 * inertia + weight
    for k in range(2000):
        rate += h * weight / inertia * np.sin(phi)
        phi += h * rate
        if k % 20 == 19:
            most = max(most, abs(0.5 * inertia * rate**2 + weight * np.cos(phi) - start))
    assert swing(four_bars(count, h), 2000, 20) == pytest.approx(most, rel=0.01)


# ---- what cannot be closed


def pinned(*places: float) -> sx.World:
    world = sx.World(time_step=1e-3)
    body = world.add_rigid_body("bar", mass=2.0, inertia=(0.02, 0.1, 0.1))
    for k, x in enumerate(places):
        world.add_loop_closure(
            f"pin{k}", frame_a=body, frame_b=sx.Frame.world(), offset_b=offset(x), family=POINT
        )
    return world


def test_contradictory_closures_say_that_they_are_not_met():
    world = pinned(0.0, 0.002)
    world.step(20)
    report = world.step_report()
    assert not report.converged and set(report.unmet) == {"pin0", "pin1"}
    for closure in world.loop_closures:
        residual = closure.compute_residual()
        assert residual.converged is False and residual.norm > 9e-4
    assert np.isfinite(world.rigid_bodies["bar"].transform).all()
    assert np.abs(world.rigid_bodies["bar"].linear_velocity).max() < 1e-6
    # the same body with one of them is held
    world.loop_closures["pin1"].enabled = False
    world.step(5)
    assert world.step_report().converged and world.loop_closures["pin0"].compute_residual().norm < 1e-8


def test_a_closure_that_starts_open_is_closed_without_speed():
    world = pinned(0.1)
    world.gravity = (0.0, 0.0, 0.0)
    body, closure = world.rigid_bodies["bar"], world.loop_closures["pin0"]
    world.step(5)
    # 10 m/s
    assert body.translation[0] == pytest.approx(0.05, abs=1e-9)
    assert closure.compute_residual().converged and world.step_report().converged
    world.step(6)
    assert closure.compute_residual().norm < 1e-10 and np.abs(body.linear_velocity).max() < 1e-12


def test_forces_are_given_in_the_axes_of_an_endpoint():
    world = sx.World(time_step=1e-3)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    X = np.eye(4)
    X[:3, :3] = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]) @ turn
    body = world.add_rigid_body("bar", mass=2.0, inertia=(0.02, 0.1, 0.1))
    closure = world.add_loop_closure("weld", frame_a=body, frame_b=sx.Frame.world(), offset_a=X, offset_b=X)
    world.step(3)
    Axes = sx.LoopClosureResidualCoordinates
    force = force_of(closure)
    assert np.allclose(force, [0, 0, 2 * 9.81], atol=1e-8)
    for axes in (Axes.ENDPOINT_A, Axes.ENDPOINT_B):
        assert closure.compute_residual(axes).coordinates is axes
        assert np.allclose(force_of(closure, axes), X[:3, :3].T @ force, atol=1e-8)
    with pytest.raises(ValueError, match="coordinates of a residual"):
        closure.compute_residual("a")  # type: ignore[arg-type]


# ---- policies


def test_policies_switch_between_steps_at_random():
    world = slider_crank(1e-3)
    closure, rng = world.loop_closures["pin"], np.random.default_rng(4)
    solve, project = sx.ClosureDynamicsPolicy.SOLVE, sx.ClosureKinematicsPolicy.PROJECT
    for _ in range(100):
        closure.runtime_policy = sx.LoopClosureRuntimePolicy(
            enabled=bool(rng.integers(4)),
            kinematics=list(sx.ClosureKinematicsPolicy)[rng.integers(2)],
            dynamics=list(sx.ClosureDynamicsPolicy)[rng.integers(2)],
        )
        world.step(int(rng.integers(3)))
        policy, residual = closure.runtime_policy, closure.compute_residual()
        acts = policy.enabled and (policy.dynamics is solve or policy.kinematics is project)
        assert residual.active == acts and np.isfinite(residual.value).all()
        if policy.enabled and policy.kinematics is project:
            report = world.closure_projection_report
            assert report is not None and report.converged and residual.norm < 1e-8
    closure.runtime_policy = sx.LoopClosureRuntimePolicy(kinematics=project, dynamics=solve)
    world.sync()
    report = world.closure_projection_report
    assert report is not None and report.converged
    world.step()
    assert closure.compute_residual().norm < 1e-8
