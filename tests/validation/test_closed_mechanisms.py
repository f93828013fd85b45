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
    options,
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
    [(Family.SEMI_IMPLICIT, 3.8), (Family.RUNGE_KUTTA_4, 14.0), (Family.VARIATIONAL, 3.8)],
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
        (Family.SEMI_IMPLICIT, 1e-4, 1e-5),
        (Family.VARIATIONAL, 1e-4, 1e-5),
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


@pytest.mark.parametrize("family", [Family.SEMI_IMPLICIT, Family.RUNGE_KUTTA_4, Family.VARIATIONAL])
def test_policies_switch_at_random_between_steps(family):
    """`python -m benchmarks kinematics` switches 10,000 times."""
    world, rng = four_bars(2, 1e-3, family), np.random.default_rng(6)
    policies = [
        sx.LoopClosureRuntimePolicy(enabled, kinematics, dynamics)
        for enabled in (True, True, False)
        for kinematics in sx.ClosureKinematicsPolicy
        for dynamics in sx.ClosureDynamicsPolicy
    ]
    asked = 0
    for _ in range(300):
        closure = list(world.loop_closures)[rng.integers(2)]
        closure.runtime_policy = policies[rng.integers(len(policies))]
        world.step(int(rng.integers(3)))
        assert np.isfinite(world.state_vector).all()
        for one in world.loop_closures:
            residual = one.compute_residual()
            asked += int(residual.converged is not None)
            assert residual.converged is not True or residual.norm < 1e-9
            # there are no forces of what was switched on after the last step
            assert residual.active or (residual.converged is None and residual.force is None)
    assert asked > 200
    for closure in world.loop_closures:
        closure.runtime_policy = sx.LoopClosureRuntimePolicy()
        closure.dynamics = sx.ClosureDynamicsPolicy.SOLVE
    world.step(500)
    for closure in world.loop_closures:
        residual = closure.compute_residual()
        assert residual.converged and residual.norm < 1e-12


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


@pytest.mark.parametrize("family", list(Family))
def test_every_family_tells_the_force_of_a_closure(family):
    """Of the last step, which differs between families by the motion within it; dense in the test above."""
    world, default = four_bars(1, 1e-4, family), four_bars(1, 1e-4)
    for each in (world, default):
        each.step(3000)
    force = force_of(world.loop_closures["pin1"])
    expected = force_of(default.loop_closures["pin1"])
    assert np.linalg.norm(expected) > 3.0
    assert np.allclose(force, expected, atol=2e-3)


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


@pytest.mark.parametrize("h", [0.05, 0.04053, 0.03198, 0.010816946410839998, 0.01, 2e-3, 1e-3, 5e-4])
def test_variational_steps_pass_singular_poses(h):
    """A parallelogram lies flat twice in a turn, where its Jacobian loses rank: five turns, as the pendulum.

    Branches meet there, on one of which one rod stands still: steps that end close to it stay on theirs, and
    errors fall with the square of the step.
    """
    world = four_bars(1, h, Family.VARIATIONAL)
    start, pin = energy(world), world.loop_closures["pin1"]
    flat = 0
    for _ in range(round(10.0 / h)):
        before = np.cos(joints_of(world)["v0"].position[0])
        world.step()
        residual = pin.compute_residual()
        flat += int(before * np.cos(joints_of(world)["v0"].position[0]) < 0.0)
        assert abs(energy(world) - start) < 120.0 * h**2
        assert residual.norm < 1e-12 and residual.converged and residual.rank is not None
    assert flat == 10
    if 10.0 / h % 1.0 == 0.0:
        angle = -float(joints_of(world)["v0"].position[0])
        assert angle == pytest.approx(pendulum_of_four_bars(1, 10.0)[0], abs=200.0 * h**2)


def test_the_default_family_swings_with_the_square_of_the_step():
    assert sx.World().multibody_options.integration_family is Family.SEMI_IMPLICIT
    coarse, fine = swing(four_bars(1, 2e-3), 1000, 10), swing(four_bars(1, 1e-3), 2000, 20)
    assert fine < 1e-3 and coarse > 3.8 * fine, (coarse, fine)
    # twenty turns later it has not grown
    assert swing(four_bars(1, 1e-3), 20_000, 20) < 1.1 * fine


# ---- what the mean of two accelerations leaves as it is


def sprung(h: float, family: Family = Family.SEMI_IMPLICIT) -> sx.World:
    """The slider-crank with a spring and a damper at the slide and a drive at the crank."""
    world = slider_crank(h, family)
    joints = joints_of(world)
    joints["slide"].spring_stiffness, joints["slide"].damping_coefficient = 40.0, 3.0
    joints["crank"].target_stiffness, joints["crank"].target_damping = 5.0, 0.2
    joints["crank"].target_position = [1.0]
    return world


def test_springs_dampers_and_drives_keep_the_order():
    exact = sprung(1e-3, Family.RUNGE_KUTTA_4)
    exact.step(400)
    expected, errors = joints_of(exact)["crank"].position[0], []
    for h in (2e-3, 1e-3):
        world = sprung(h)
        world.step(round(0.4 / h))
        errors.append(abs(joints_of(world)["crank"].position[0] - expected))
    assert 3.6 * errors[1] < errors[0] < 1e-3, errors


def test_acceleration_and_ledger_are_those_of_the_start_of_the_step():
    world, h = sprung(1e-3), 1e-3
    world.step(100)
    joints = world.multibodies["slider_crank"].joints
    q, v = joints.position[2], joints.velocity[2]
    world.step()
    a, ledger = joints.acceleration[2], world.energy_ledger()
    mean = v + 0.5 * h * a
    assert abs(ledger.unexplained) < 1e-12
    assert ledger.springs == pytest.approx(-40.0 * q * mean * h, rel=1e-9)
    assert ledger.damping == pytest.approx(-3.0 * v * mean * h, rel=1e-9)
    # the velocity at the end is that of both accelerations
    assert abs(joints.velocity[2] - v - h * a) > 1e-5


def test_others_in_the_world_move_as_without_the_mechanism():
    alone, beside = sx.World(time_step=1e-3, gravity=(0, -9.81, 0)), sprung(1e-3)
    for world in (alone, beside):
        arm = world.add_multibody("arm")
        last = None
        for k in range(2):
            spec = sx.JointSpec(f"j{k}", axis=(0, 0, 1), transform_to_parent=offset(0.3 * k))
            last = arm.add_link(
                f"a{k}", last, spec, mass=0.7, inertia=(1e-3,) * 3, center_of_mass=(0.1, 0, 0)
            )
        arm.joints["j0"].damping_coefficient = 0.1
        world.add_rigid_body("body", inertia=(0.1, 0.2, 0.3), angular_velocity=(1.0, 2.0, 3.0))
        world.step(50)
    for name in ("position", "velocity", "acceleration"):
        one, other = (getattr(world.multibodies["arm"].joints, name) for world in (alone, beside))
        assert np.array_equal(one, other), name
    one, other = (world.rigid_bodies["body"].transform for world in (alone, beside))
    assert np.array_equal(one, other)


def test_limits_stop_a_mechanism_and_let_it_go():
    world = slider_crank(1e-3)
    joints = joints_of(world)
    joints["slide"].set_position_limits([0.25], [0.45])
    joints["slide"].position, joints["crank"].position = [0.4], [np.pi / 3]
    joints["rod"].position = [-np.pi / 3 - np.arcsin(0.15 * np.sin(np.pi / 3) / 0.35)]
    joints["crank"].velocity, joints["rod"].velocity = [0.0], [0.0]
    world.step()
    start, at = energy(world), []
    for _ in range(2000):
        world.step()
        at.append(float(joints["slide"].position[0]))
        assert world.loop_closures["pin"].compute_residual().norm < 1e-8
        assert energy(world) < start + 1e-4
    assert 0.25 - 1e-4 < min(at) and max(at) < 0.45 + 1e-4
    assert min(at) < 0.251 or max(at) > 0.449
    assert np.abs(np.diff(at)).max() > 1e-4


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


# ---- with contacts, limits and drives


def driven_onto_the_ground(family: Family) -> sx.World:
    """A slider-crank whose drive turns it until the pin of the crank meets the ground or the slide its stop."""
    world = sx.World(time_step=1e-3, multibody_options=options(family))
    world.add_ground_plane()
    robot = world.add_multibody("busy")
    base = robot.add_link("base")
    crank = robot.add_link(
        "crank",
        base,
        sx.JointSpec("crank", axis=(0, -1, 0), transform_to_parent=offset(0, 0, 0.16)),
        mass=0.8,
        inertia=(1e-3,) * 3,
        center_of_mass=(0.075, 0, 0),
    )
    rod = robot.add_link(
        "rod",
        crank,
        sx.JointSpec("rod", axis=(0, -1, 0), transform_to_parent=offset(0.15)),
        mass=1.2,
        inertia=(5e-3,) * 3,
        center_of_mass=(0.175, 0, 0),
    )
    slide = sx.JointSpec(
        "slide", sx.JointType.PRISMATIC, axis=(1, 0, 0), transform_to_parent=offset(0, 0, 0.16)
    )
    slider = robot.add_link("slider", base, slide, mass=0.5, inertia=(1e-3,) * 3)
    robot.joints["slide"].position = [0.5]
    world.add_loop_closure("pin", frame_a=rod, frame_b=slider, offset_a=offset(0.35), family=POINT)
    rod.add_collision_shape(sx.CollisionShape.sphere(0.03))
    robot.joints["slide"].set_position_limits([0.32], [0.6])
    robot.joints["crank"].target_damping = 0.5
    return world


@pytest.mark.parametrize("family", list(Family))
@pytest.mark.parametrize(("speed", "stop"), [(-8.0, "ground"), (8.0, "slide")])
def test_contacts_limits_and_drives_act_on_a_mechanism(family, speed, stop):
    world = driven_onto_the_ground(family)
    joints, pin = world.multibodies["busy"].joints, world.multibodies["busy"].links["rod"]
    joints["crank"].target_velocity = [speed]
    for _ in range(600):
        world.step()
        assert world.loop_closures["pin"].compute_residual().norm < 1e-8
        assert pin.translation[2] > 0.03 - 2e-3 and joints["slide"].position[0] > 0.32 - 2e-3
    # it rests where it was stopped, and the drive pushes against it
    assert np.abs(joints.velocity).max() < 0.05
    if stop == "ground":
        assert pin.translation[2] == pytest.approx(0.03, abs=2e-3) and len(world.contacts) == 1
    else:
        assert joints["slide"].position[0] == pytest.approx(0.32, abs=2e-3)
