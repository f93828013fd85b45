# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What the integration families promise: order on every joint type, energy, momentum, restart, refusals."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import worldline.model as wm
from builders import empty_state
from integrators import rk4
from samples import Flavour, conditions, gap, random_model
from trees import random_tree
from worldline._src.errors import StepFailure
from worldline._src.kernels import drives
from worldline._src.step.simulation import Simulation
from worldline._src.step.stepping import MultibodyIntegrationFamily as Family
from worldline._src.step.stepping import VariationalOptions
from worldline.model import ModelBuilder

EVERY = [family.value for family in Family]
ORDER = {
    "semi-implicit": 1,
    "implicit-damping": 1,
    "runge-kutta-4": 4,
    "variational": 2,
    "implicit-velocity": 1,
}
FLAVOURS = [
    Flavour("free", False, 1, 0),
    Flavour("free", True, 1, 1),
    Flavour("revolute", True, 1, 2),
    Flavour("planar", True, 2, 3),
]


def run(model, q, v, family, steps, h, **options):
    """Many worlds, or one, after some steps."""
    state = empty_state(model, len(q)) if q.ndim > 1 else model.state()
    state.joint_q[...], state.joint_qd[...] = q, v
    wm.step(model, state, steps=steps, dt=h, integration_family=family, **options)
    return state.joint_q, state.joint_qd


def energy(model, q, v):
    return wm.kinetic_energy(model, q, v) + wm.potential_energy(model, q)


@cache
def _moving(flavour, worlds=4):
    rng = np.random.default_rng(50 + flavour.seed)
    model = random_model(flavour)
    away = rng.uniform(-0.7, 0.7, (40 * worlds, model.joint_dof_count))
    rest = model.joint_spring_ref if flavour.passive else wm.random_configuration(model, rng)
    q = wm.integrate(model, np.broadcast_to(rest, (len(away), rest.size)), away)
    best = np.argsort(conditions(wm.mass_matrix(model, q)))[:worlds]
    return q[best], 0.5 * rng.normal(size=(worlds, model.joint_dof_count))


def moving(flavour):
    """A tree of every joint type in moderate motion, far from where axes of a joint align."""
    q, v = _moving(flavour)
    return random_model(flavour), q.copy(), v.copy()


@cache
def truth_after(flavour, time):
    """Where the tree of `moving` is, by an independent method with a step that leaves nothing to see."""
    return rk4(*moving(flavour), time / 640, 640)


def top(moments=(1.0, 2.0, 3.0), com=(0.1, -0.2, 0.15)):
    """A thrown body whose origin is not its centre of mass."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    link = builder.add_link(mass=1.5, com=com, inertia=np.diag(moments))
    builder.add_articulation([builder.add_joint_free(link)])
    return builder.finalize()


def ball_chain(links=3, gravity=-9.81):
    builder = ModelBuilder(gravity=(0.0, 0.0, gravity))
    parent, joints = -1, []
    for k in range(links):
        link = builder.add_link(mass=1.0, com=(0.05, 0.0, -0.2), inertia=np.diag([0.02, 0.03, 0.01]))
        place = (0.0, 0.0, -0.4 if k else 0.0, 0.0, 0.0, 0.0, 1.0)
        joints.append(builder.add_joint_ball(parent, link, parent_xform=place))
        parent = link
    builder.add_articulation(joints)
    return builder.finalize()


def hinge(drive=None, **values):
    """One hinge about the vertical: no weight, inertia one."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    link = builder.add_link(mass=1.0, inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_revolute(-1, link, "z", **(drive or {}))])
    model = builder.finalize()
    model.update(**{name: np.array([value]) for name, value in values.items()})
    return model


# ---- order


def assert_order(family, model, start, end, time, counts):
    """Twice as many steps, `counts` of them, leave an error that is 2^order times smaller."""
    errors = []
    for steps in counts:
        q, v = run(model, *start, family, steps, time / steps)
        errors.append(max(np.abs(wm.difference(model, end[0], q)).max(), np.abs(v - end[1]).max()))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDER[family], abs=0.12 * ORDER[family])


@pytest.mark.parametrize("family", EVERY)
@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda f: f"{f.root}-{f.passive}")
def test_order_on_trees_of_every_joint_type(family, flavour):
    model, q, v = moving(flavour)
    end_q, end_v = truth_after(flavour, 0.1)
    counts = {1: (160, 320), 2: (40, 80), 4: (20, 40)}[ORDER[family]]
    assert_order(family, model, (q, v), (end_q, end_v), 0.1, counts)


@pytest.mark.parametrize("family", EVERY)
def test_order_of_a_chain_of_ball_joints(family):
    model = ball_chain()
    rng = np.random.default_rng(4)
    q, v = wm.random_configuration(model, rng), rng.normal(size=9)
    end_q, end_v = rk4(model, q, v, 0.5 / 3200, 3200)
    counts = {1: (1600, 3200), 2: (200, 400), 4: (100, 200)}[ORDER[family]]
    assert_order(family, model, (q, v), (end_q, end_v), 0.5, counts)


@pytest.mark.parametrize("family", EVERY)
def test_commands_drives_and_forces_on_bodies_converge_together(family):
    """All families step the same equations: forces, targets and wrenches held, at any step."""
    rng = np.random.default_rng(8)
    builder, parent, joints = ModelBuilder(), -1, []
    for kind in ("free", "revolute", "ball", "prismatic"):
        link = builder.add_link(mass=1.0, com=(0.05, 0.1, -0.1), inertia=np.diag([0.02, 0.03, 0.04]))
        options = {"parent": parent, "child": link}
        if kind in ("revolute", "prismatic"):
            options |= {"axis": "x", "target_ke": 2.0, "target_kd": 0.3, "stiffness": 1.0, "damping": 0.1}
        joints.append(getattr(builder, f"add_joint_{kind}")(**options))
        parent = link
    builder.add_articulation(joints)
    model = builder.finalize()
    n = model.joint_dof_count
    control = model.control()
    control.joint_f[:] = 0.1 * rng.normal(size=n)
    control.joint_target_pos[:] = 0.3 * rng.normal(size=n)
    control.joint_target_vel[:] = 0.3 * rng.normal(size=n)
    push = 0.1 * rng.normal(size=(model.body_count, 6))

    def end(family, steps):
        state = model.state()
        state.joint_qd[:], state.body_f[:] = 0.2, push
        wm.step(model, state, control, steps=steps, dt=0.2 / steps, integration_family=family)
        return np.r_[state.joint_q, state.joint_qd]

    truth = end("runge-kutta-4", 800)
    steps = {1: 400, 2: 50, 4: 25}[ORDER[family]]
    errors = [np.abs(end(family, n) - truth).max() for n in (steps, 2 * steps)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDER[family], abs=0.12 * ORDER[family])
    # each of them matters
    for array in (control.joint_f, control.joint_target_pos, control.joint_target_vel, push):
        array[...] = 0.0
        changed = end("runge-kutta-4", 800)
        assert np.abs(changed - truth).max() > 0.01
        truth = changed


@pytest.mark.parametrize("family", EVERY)
def test_bodies_whose_weight_is_compensated(family):
    """Half of its weight taken off, a free body falls at half of gravity, in every family."""
    builder = ModelBuilder()
    link = builder.add_link(mass=2.0, inertia=np.eye(3), gravcomp=0.5)
    builder.add_articulation([builder.add_joint_free(link)])
    model = builder.finalize()
    _, v = run(model, np.array(model.joint_q), np.zeros(6), family, 10, 0.01)
    assert v == pytest.approx([0.0, 0.0, -0.4905, 0.0, 0.0, 0.0], abs=1e-12)


# ---- energy and momentum


def energies(model, q, v, family, h, steps, every):
    world = Simulation(model, h, Family.of(family))
    world.q[:], world.v[:] = q, v
    found = []
    for _ in range(steps // every):
        world.step(every)
        found.append(energy(model, world.q, world.v))
    return np.array(found) - energy(model, q, v)


@pytest.mark.parametrize(("family", "bound"), [("semi-implicit", 0.06), ("variational", 2e-3)])
def test_energy_of_a_pendulum_stays_bounded(family, bound):
    """Twelve hundred swings: the error of the last hundred is that of the first."""
    builder = ModelBuilder()
    link = builder.add_link(mass=1.0, com=(0.0, 0.0, -1.0), inertia=0.01 * np.eye(3))
    builder.add_articulation([builder.add_joint_revolute(-1, link, "y")])
    model = builder.finalize()
    errors = np.abs(energies(model, np.array([1.5]), np.zeros(1), family, 0.01, 280_000, 7))
    early, late = errors[:3000].max(), errors[-3000:].max()
    assert early < bound * 9.81
    assert late == pytest.approx(early, rel=0.02)


def test_variational_energy_of_a_chain_of_ball_joints_stays_bounded():
    """Chaotic motion in space; Runge-Kutta at the same step loses energy all the way."""
    model = ball_chain()
    rng = np.random.default_rng(1)
    q, v = wm.random_configuration(model, rng), rng.normal(size=9)
    h, steps = 0.005, 40_000
    errors = np.abs(energies(model, q, v, "variational", h, steps, 10))
    size = wm.kinetic_energy(model, q, v) + 9.81 * 3 * 1.2
    assert errors.max() < 0.02 * size
    assert errors[-1000:].max() < 3.0 * errors[:1000].max()
    drift = energies(model, q, v, "runge-kutta-4", 4 * h, steps // 4, 10)
    assert np.abs(drift[-100:]).mean() > 3.0 * np.abs(drift[:100]).mean()


def test_variational_keeps_the_momentum_of_a_thrown_body():
    """The intermediate axis, a thousand flips: momentum to rounding, energy to the square of the step."""
    model = top()
    q = np.r_[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]
    v = np.r_[0.3, -0.2, 0.1, 0.01, 5.0, 0.02]
    before = wm.momentum(model, q, v, about="origin")
    errors = energies(model, q, v, "variational", 0.01, 100_000, 100)
    assert np.abs(errors).max() < 0.03
    assert np.abs(errors[-100:]).max() < 1.5 * np.abs(errors[:100]).max()
    # the body goes a hundred metres: angular momentum about the origin is a difference of such arms
    for tolerance, bound in ((1e-10, 1e-8), (1e-14, 1e-11)):
        world = Simulation(model, 0.01, Family.VARIATIONAL, VariationalOptions(tolerance=tolerance))
        world.q[:], world.v[:] = q, v
        world.step(10_000)
        assert gap(wm.momentum(model, world.q, world.v, about="origin"), before) < bound


def test_variational_keeps_the_momentum_of_a_floating_tree():
    """Every joint type inside; springs, dampers and rotors between links come in pairs."""
    rng = np.random.default_rng(2)
    kinds = ("free", "revolute", "ball", "prismatic", "universal", "screw", "planar")
    model = random_tree(rng, len(kinds), kinds, root="free", passive=True)
    values = {}
    for name in ("joint_armature", "joint_damping", "joint_stiffness"):
        values[name] = getattr(model, name).copy()
        values[name][:6] = 0.0
    model.update(gravity=np.zeros(3), **values)
    q, v = wm.random_configuration(model, rng), 0.5 * rng.normal(size=model.joint_dof_count)
    before = wm.momentum(model, q, v, about="origin")
    a, b = run(model, q, v, "variational", 400, 0.005)
    assert gap(wm.momentum(model, a, b, about="origin"), before) < 1e-9
    a, b = run(model, q, v, "semi-implicit", 400, 0.005)
    assert gap(wm.momentum(model, a, b, about="origin"), before) > 1e-4


def test_variational_steps_back_to_where_they_came_from():
    """The midpoint action does not know the direction of time."""
    model, q, v = moving(FLAVOURS[0])
    a, b = run(model, q, v, "variational", 20, 0.002)
    back, speed = run(model, a, -b, "variational", 20, 0.002)
    assert np.abs(wm.difference(model, q, back)).max() < 1e-8
    assert np.abs(speed + v).max() < 1e-6


@pytest.mark.parametrize("family", EVERY)
def test_dampers_only_take_energy(family):
    model, q, v = moving(FLAVOURS[1])
    model.update(joint_damping=model.joint_damping + 0.2, gravity=np.zeros(3))
    before = energy(model, q, v)
    for _ in range(30):
        q, v = run(model, q, v, family, 1, 0.002)
        after = energy(model, q, v)
        assert (after < before).all()
        before = after


# ---- damping


@pytest.mark.parametrize("driven", [False, True])
def test_implicit_damping_is_stable_where_explicit_damping_explodes(driven):
    """h d = 20 inertias: explicit damping multiplies the speed by 1 - 20 a step, implicit by 1 / 21."""
    model = hinge({"target_kd": 200.0}) if driven else hinge(joint_damping=200.0)
    q, v, h = np.zeros(1), np.ones(1), 0.1
    _, explicit = run(model, q, v, "semi-implicit", 3, h)
    assert explicit[0] == pytest.approx((1.0 - 20.0) ** 3, rel=1e-12)
    end, implicit = run(model, q, v, "implicit-damping", 5, h)
    assert implicit[0] == pytest.approx(21.0**-5, rel=1e-12)
    assert 0.0 < end[0] < h
    # the middle damps by (1 - 10) / (1 + 10): never more than it had
    _, middle = run(model, q, v, "variational", 5, h)
    assert middle[0] == pytest.approx((-9.0 / 11.0) ** 5, rel=1e-9)


def test_implicit_damping_leaves_the_model_alone():
    model = hinge(joint_damping=200.0)
    before = model.arenas.constant.copy()
    run(model, np.zeros(1), np.ones(1), "implicit-damping", 5, 0.1)
    assert np.array_equal(model.arenas.constant, before)
    assert wm.mass_matrix(model, np.zeros(1))[0, 0] == 1.0


def test_a_drive_that_does_not_listen_does_not_slow_down():
    """Damping of a drive is inertia only where the drive damps."""
    model = hinge({"target_kd": 200.0})
    speeds = []
    for drive in (drives.FORCE, drives.PASSIVE):
        world = Simulation(model, 0.1, Family.IMPLICIT_DAMPING)
        world.drive[:] = drive
        world.v[:], world.body_f[:, 2] = 0.0, 1.0
        world.forces_written()
        world.step(1)
        speeds.append(world.v[0])
    assert speeds == pytest.approx([0.1 / 21.0, 0.1], rel=1e-12)


# ---- prescribed motion


@pytest.mark.parametrize("family", EVERY)
def test_prescribed_speeds_are_reached_within_a_step(family):
    """A driven base and a locked joint in a moving chain; the free joint feels both."""
    rng = np.random.default_rng(3)
    model = random_tree(rng, 3, ("revolute", "prismatic", "universal"), root="revolute")
    n, h = model.joint_dof_count, 0.01
    world = Simulation(model, h, Family.of(family))
    v = rng.normal(size=n)
    world.v[:] = v
    world.drive[:] = drives.FORCE
    world.drive[0], world.drive[1], world.drive[2] = drives.VELOCITY, drives.LOCKED, drives.ACCELERATION
    world.v_target[0], world.a_target[2] = 0.7, 5.0
    world.reconfigure()
    q = world.q.copy()
    world.step(1)
    assert world.v[:3] == pytest.approx([0.7, 0.0, v[2] + 5.0 * h], abs=1e-14)
    ends = np.array([0.7, 0.0, v[2] + 5.0 * h])
    moved = h * ends if ORDER[family] == 1 else 0.5 * h * (v[:3] + ends)
    assert world.q[:3] - q[:3] == pytest.approx(moved, abs=1e-14)
    assert abs(world.v[3] - v[3]) > 1e-6
    world.step(10)
    assert world.v[:2] == pytest.approx([0.7, 0.0], abs=1e-14)


@pytest.mark.parametrize("family", ["runge-kutta-4", "variational"])
def test_prescribed_motion_moves_the_rest_to_the_order_of_the_family(family):
    """A pendulum on a cart that accelerates evenly, against the motion in a tilted gravity."""
    builder = ModelBuilder()
    cart = builder.add_link(mass=1.0, inertia=np.eye(3))
    rod = builder.add_link(mass=1.0, com=(0.0, 0.0, -1.0), inertia=0.1 * np.eye(3))
    builder.add_articulation(
        [builder.add_joint_prismatic(-1, cart, "x"), builder.add_joint_revolute(cart, rod, "y")]
    )
    model = builder.finalize()
    tilted = builder.finalize()
    tilted.update(gravity=np.array([-3.0, 0.0, -9.81]))
    fixed = Simulation(tilted, 1e-4, Family.RUNGE_KUTTA_4)
    fixed.drive[0] = drives.LOCKED
    fixed.step(5000)
    errors = []
    for steps in (50, 100):
        world = Simulation(model, 0.5 / steps, Family.of(family))
        world.drive[0], world.a_target[0] = drives.ACCELERATION, 3.0
        world.step(steps)
        assert world.q[0] == pytest.approx(0.5 * 3.0 * 0.25, rel=1e-12)
        errors.append(max(abs(world.q[1] - fixed.q[1]), abs(world.v[1] - fixed.v[1])))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDER[family], abs=0.1 * ORDER[family])


def test_kinematic_bodies_keep_their_speed():
    for family in EVERY:
        model = random_tree(
            np.random.default_rng(5), 3, ("revolute", "ball"), root="revolute", kinematic=True
        )
        v = np.zeros(model.joint_dof_count)
        v[0] = 0.8
        q = np.array(model.joint_q)
        a, b = run(model, q, v, family, 10, 0.01)
        assert b[0] == 0.8
        assert a[0] - q[0] == pytest.approx(0.08, abs=1e-14)
        assert np.abs(b[1:]).max() > 1e-3


# ---- state and solver


@pytest.mark.parametrize("family", EVERY)
def test_a_saved_state_continues_bit_for_bit(family):
    model, q, v = moving(FLAVOURS[1])
    through = run(model, q, v, family, 20, 0.002)
    half = run(model, q, v, family, 10, 0.002)
    again = run(model, *half, family, 10, 0.002)
    assert np.array_equal(through[0], again[0])
    assert np.array_equal(through[1], again[1])


@pytest.mark.parametrize("family", EVERY)
def test_a_world_in_place_gives_the_bits_of_rows(family):
    model, q, v = moving(FLAVOURS[1])
    ours = run(model, q[0], v[0], family, 10, 0.002)
    world = Simulation(model, 0.002, Family.of(family))
    world.q[:], world.v[:], world.q_target[:] = q[0], v[0], wm.neutral(model)
    world.step(10)
    assert np.array_equal(world.q, ours[0])
    assert np.array_equal(world.v, ours[1])


def test_iterations_are_reported_and_fall_with_the_step():
    model, q, v = moving(FLAVOURS[1])
    counts = []
    for h in (1e-2, 1e-3, 1e-4):
        world = Simulation(model, h, Family.VARIATIONAL)
        world.q[:], world.v[:] = q[0], v[0]
        world.step(1)
        iterations, missed, correction = world.solver_report
        assert missed == 0.0
        assert correction <= 1e-10
        counts.append(iterations)
    assert counts[0] > counts[1] > counts[2] >= 2


def test_a_step_that_is_not_solved_is_taken_back():
    model, q, v = moving(FLAVOURS[0])
    world = Simulation(model, 0.01, Family.VARIATIONAL, VariationalOptions(max_iterations=2))
    world.q[:], world.v[:] = q[0], v[0]
    with pytest.raises(StepFailure, match=r"step 1: solution of '.*' was not found") as caught:
        world.step(5)
    assert caught.value.quantity == "solution"
    assert world.solver_report[0] == 2.0
    assert np.array_equal(world.q, q[0])
    assert np.array_equal(world.v, v[0])

    state = empty_state(model, len(q))
    state.joint_q[:], state.joint_qd[:] = q, v
    with pytest.raises(StepFailure, match=r"world 0, step 1: solution of .* not found; nothing was changed"):
        wm.step(model, state, dt=0.01, integration_family="variational", max_iterations=2)
    assert np.array_equal(state.joint_q, q)
    assert np.array_equal(state.joint_qd, v)


def test_a_looser_tolerance_needs_fewer_iterations():
    model, q, v = moving(FLAVOURS[1])
    counts = []
    for tolerance in (1e-10, 1e-3):
        world = Simulation(model, 0.01, Family.VARIATIONAL, VariationalOptions(tolerance=tolerance))
        world.q[:], world.v[:] = q[0], v[0]
        world.step(1)
        counts.append(world.solver_report[0])
    assert counts[1] < counts[0]
    # the option reaches the array layer too
    tight = run(model, q, v, "variational", 1, 0.01)
    loose = run(model, q, v, "variational", 1, 0.01, tolerance=1e-3)
    assert 0.0 < np.abs(tight[1] - loose[1]).max() < 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iterations": 0}, "max_iterations must be a positive count, got 0"),
        ({"max_iterations": 2.5}, "max_iterations must be a positive count, got 2.5"),
        ({"tolerance": 0.0}, "tolerance must be positive and finite, got 0.0"),
        ({"tolerance": float("nan")}, "tolerance must be positive and finite, got nan"),
        ({"integration_family": "variatonal"}, "did you mean 'variational'"),
    ],
)
def test_options_that_make_no_sense(options, message):
    model = hinge()
    state = model.state()
    with pytest.raises(ValueError, match=message):
        wm.step(model, state, **options)
    assert not state.joint_q.any()


@pytest.mark.parametrize("family", EVERY)
def test_limits_hold(family):
    """A velocity limit bounds speeds, a position limit stops."""
    fast = hinge(joint_velocity_limit=2.0)
    stopped = hinge(
        joint_velocity_limit=2.0, joint_limit_upper=0.1, joint_limit_lower=-1.0, joint_limit_ke=np.inf
    )
    control, state = fast.control(), fast.state()
    control.joint_f[:] = 100.0
    wm.step(fast, state, control, dt=0.03, integration_family=family)
    # parts of a Runge-Kutta step start at speeds between, so that their mean stays below the limit
    least = 1.2 if family == "runge-kutta-4" else 2.0 - 1e-6
    assert least < state.joint_qd[0] < 2.0 + 1e-6
    state = stopped.state()
    wm.step(stopped, state, control, steps=40, dt=0.03, integration_family=family)
    assert state.joint_q[0] == pytest.approx(0.1, abs=1e-7)
    # variational steps take recovery by displacement alone: the compliance of the row shows, h R f = 3e-7
    assert state.joint_qd[0] == pytest.approx(0.0, abs=4e-7 if family == "variational" else 1e-9)
