# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""References, regularizers, limits and forces of equality rows, from residuals and their time derivatives.

Residual r, its rate u and the bias J' v come from positions alone (`test_equality_bias.py`). What a law makes of them
is written down here: a velocity for hard rows, a force at the end of the step for springs, MuJoCo's impedance.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_equality_bias import CLOSURES, JOINTS, PITCH, H, Motion, with_closure, with_joint

from worldline._src.kernels.constraints import tables as t

MOVE, TURN = 1.0, 40.0
"""Inverse inertias of two bodies of 2 kg and 0.05 kg m^2."""
KINDS = {
    name: (with_joint, JOINTS[name]) for name in ("Fixed", "Revolute", "Slide", "Planar", "Translational")
}
KINDS |= {name: (with_closure, CLOSURES[name]) for name in ("Point", "Distance")}
POINTS = {"Fixed": 3, "Revolute": 3, "Slide": 2, "Planar": 1, "Translational": 0, "Point": 3, "Distance": 1}
"""Rows that move points; the others turn."""


def law(kind, k=0.0, d=0.0, erp=0.0):
    row = np.zeros(11)
    row[[t.KIND, t.STIFFNESS, t.DAMPING, t.ERP]] = kind, k, d, erp
    row[[t.D0, t.DMAX, t.WIDTH, t.MIDDLE, t.POWER]] = 0.3, 0.9, 4.0, 0.5, 2.0
    return row


def rows_of(name, laws, seed, push=False):
    """Residual, rate and bias from positions, then aref and D of the rows, those that move points first."""
    rng = np.random.default_rng(seed)
    make, kind = KINDS[name]
    world = make(name, rng)
    if push:
        world.gravity = (1.3, -0.8, -9.81)
    motion = Motion(world, rng)
    column = motion.column
    column["equality_law"][0], column["equality_turn_law"][0] = laws
    if push:
        for body in world.rigid_bodies:
            body.force, body.torque = rng.normal(size=3) * 20.0, rng.normal(size=3) * 3.0
        assert motion.column is world._live().constraints.column
        column["equality_law"][0], column["equality_turn_law"][0] = laws
    r, (u, bias) = motion.residual(kind), motion.derivatives(kind)
    world.step()
    n = len(r)
    return r, u, bias, column["aref"][:n].copy(), column["D"][:n].copy(), column


def weights_of(name, count):
    return np.where(np.arange(count) < POINTS[name], MOVE, TURN)


@pytest.mark.parametrize("shares", [(0.0, 1.0), (1.0, 0.0)])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", KINDS)
def test_hard_rows_lead_along_the_constraint_or_close_it_within_the_step(name, seed, shares):
    """J a = -J' v where the end of a step is projected (share 0); with share 1 half of the bias leaves the
    residual at the end of the step zero to second order, at a bounded speed."""
    r, u, bias, aref, D, column = rows_of(name, [law(t.HARD, erp=erp) for erp in shares], seed)
    closes = np.where(np.arange(len(r)) < POINTS[name], *shares) == 1.0
    # a step of the method of multipliers has moved the target by what the regularizer gave way, f / D
    along = H * (column["force"][: len(r)] / D - bias)
    closing = -np.clip(r / H, -10.0, 10.0) - u - 0.5 * H * bias
    np.testing.assert_allclose(H * aref, np.where(closes, closing, along), rtol=0, atol=1e-7)
    np.testing.assert_allclose(D, 1e7 / weights_of(name, len(r)), rtol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_rows_of_springs_have_their_force_at_the_end_of_the_step(name):
    numbers = np.array([[3000.0, 20.0], [700.0, 5.0]])
    r, u, bias, aref, D, _ = rows_of(name, [law(t.FORCE_SPRING, k, d) for k, d in numbers], 3)
    k, d = np.where(np.arange(len(r)) < POINTS[name], *numbers[:, :, None])
    for a in (-30.0, 0.0, 50.0):
        # the acceleration of the residual is J a + J' v
        end = u + H * (a + bias)
        np.testing.assert_allclose(D * (aref - a), -k * (r + H * end) - d * end, rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_rows_of_the_impedance_model_share_the_norm_of_all_residuals(name):
    numbers = np.array([[900.0, 50.0], [400.0, 30.0]])
    r, u, bias, aref, D, _ = rows_of(name, [law(t.IMPEDANCE, k, d) for k, d in numbers], 4)
    k, d = np.where(np.arange(len(r)) < POINTS[name], *numbers[:, :, None])
    # two parabolas from 0.3 at zero to 0.9 at 4 m, which meet half way
    x = min(np.linalg.norm(r) / 4.0, 1.0)
    share = 0.3 + 0.6 * (2.0 * x * x if x <= 0.5 else 1.0 - 2.0 * (1.0 - x) ** 2)
    wanted = -d / 0.9 * u - k / 0.9**2 * share * r - bias
    np.testing.assert_allclose(aref, wanted, rtol=1e-7, atol=1e-5)
    np.testing.assert_allclose(D, share / (1.0 - share) / weights_of(name, len(r)), rtol=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_forces_and_gravity_are_no_part_of_the_bias(name):
    """J' v follows from positions and velocities alone, whatever accelerates the bodies."""
    *_, free = rows_of(name, [law(t.HARD)] * 2, 5)
    r, _, bias, _, _, pushed = rows_of(name, [law(t.HARD)] * 2, 5, push=True)
    for column in (free, pushed):
        np.testing.assert_allclose(column["equality_axes"][0].reshape(6, 7)[: len(r), 6], bias, atol=2e-5)


@pytest.mark.parametrize("name", ["Fixed", "Revolute", "Point"])
def test_the_wrench_of_an_equality_accelerates_its_first_body(name):
    """Newton and Euler for a body of 2 kg and 0.05 kg m^2 about every axis: f = m a, r x f + n = I alpha."""
    rng = np.random.default_rng(7)
    make, _ = KINDS[name]
    world = make(name, rng)
    motion = Motion(world, rng)
    column = motion.column
    a, body = motion.places[0], int(column["anchor_link"][motion.places[0]])
    point = motion.pose(a, 0.0)[0] - motion.starts[body][0]
    live = world._live()
    at = int(live.model.joint_qd_start[body - 1])
    R = Rotation.from_quat(live.sim.q[int(live.model.joint_q_start[body - 1]) + 3 :][:4])
    world.step()
    push, twist = 2.0 * live.sim.a[at : at + 3], 0.05 * R.apply(live.sim.a[at + 3 : at + 6])
    force, torque = column["equality_wrench"][0, :3], column["equality_wrench"][0, 3:]
    assert np.linalg.norm(force) > 0.1
    np.testing.assert_allclose(force, push, rtol=1e-6)
    np.testing.assert_allclose(
        torque + np.cross(point, force), twist, rtol=0, atol=1e-6 * np.abs(twist).max()
    )


@pytest.mark.parametrize(("number", "which"), [(11, slice(0, 3)), (12, slice(3, 6))])
@pytest.mark.parametrize(("factor", "breaks"), [(1.001, False), (0.999, True)])
def test_too_much_force_or_torque_breaks_an_equality(number, which, factor, breaks):
    def stepped(limits):
        rng = np.random.default_rng(8)
        world = with_joint("Fixed", rng)
        column = Motion(world, rng).column
        column["equality_number"][0, 11:13] = limits
        world.step()
        return column

    wrench = stepped((1e300, 1e300))["equality_wrench"][0].copy()
    sizes = np.linalg.norm(wrench[:3]), np.linalg.norm(wrench[3:])
    assert max(sizes) > 2.0 * min(sizes)
    limits = np.full(2, 1e300)
    limits[number - 11] = factor * np.linalg.norm(wrench[which])
    column = stepped(limits)
    assert (column["equality_on"][0] == 2) == breaks
    if breaks:
        np.testing.assert_allclose(column["equality_break"][0, 1:], sizes, rtol=1e-12)


# ---- limits of joints between bodies


def coordinate(kind, motion, time):
    """Of the second place against the first, along or about z of the first."""
    (p, R), (p_b, R_b) = (motion.pose(place, time) for place in motion.places)
    if kind == "Slide":
        return R.as_matrix()[:, 2] @ (p_b - p)
    q = (R.inv() * R_b).as_quat(canonical=True)
    return 2.0 * np.arctan2(q[2], q[3])


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("kind", ["Slide", "Revolute"])
@pytest.mark.parametrize("beyond", [0.2, -0.5 * H, -1.0])
def test_limits_of_a_joint_between_bodies(kind, side, beyond):
    """Beyond by 0.2, within by half of what the joint moves in a step, and far within."""
    rng = np.random.default_rng(11 + side)
    world = with_joint(kind, rng)
    motion = Motion(world, rng, aligned=True)
    column, d, sign = motion.column, 1e-4, 1.0 - 2.0 * side
    x, low, high = (coordinate(kind, motion, time) for time in (0.0, -d, d))
    rate = (high - low) / (2.0 * d)
    if sign * rate > 0.0:
        # towards the limit
        world._live().sim.v[:] *= -1.0
        world._live().sim.written()
        rate = -rate
    bound = x + sign * (beyond if beyond > 0.0 else beyond * abs(rate))
    column["equality_number"][0, 9:11] = (bound, 1e301) if side == 0 else (-1e301, bound)
    before = world._live().sim.v.copy()
    world.step()
    count, n = int(column["counter"][t.ACTIVE_LIMITS]), 5
    assert count == (beyond > -1.0)
    if count == 0:
        return
    assert column["row_note"][n].tolist() == [t.OF_BOUND, 0]
    J = np.zeros(len(before))
    J[column["column_dof"][: len(before)]] = column["J"][n, : len(before)]
    r = sign * (x - bound)
    assert column["residual"][n] == pytest.approx(r, abs=1e-12)
    assert J @ before == pytest.approx(sign * rate, rel=1e-6)
    # the velocity pass: at rest from beyond the limit, otherwise just there at the end of the step
    assert column["aref"][n] == pytest.approx((-max(r, 0.0) / H - sign * rate) / H, rel=1e-6)
    A = {"Slide": MOVE, "Revolute": TURN}[kind]
    assert column["D"][n] == pytest.approx(1e7 / A, rel=1e-9)


def test_a_screw_of_negative_pitch_counts_whole_turns_too():
    rng = np.random.default_rng(2)
    world = with_joint("Screw", rng)
    motion = Motion(world, rng, aligned=True)
    column = motion.column
    column["equality_number"][0, 7] = -PITCH
    (p, R), (p_b, R_b) = (motion.pose(place, 0.0) for place in motion.places)
    q = (R_b.inv() * R).as_quat(canonical=True)
    lag, whole = R_b.as_matrix()[:, 2] @ (p - p_b) + PITCH * 2.0 * np.arctan2(q[2], q[3]), 2.0 * np.pi * PITCH
    assert abs(lag) > whole / 2.0
    world.step()
    assert column["residual"][4] == pytest.approx(lag - whole * np.round(lag / whole), abs=1e-12)
