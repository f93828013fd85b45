# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Drives of degrees of freedom, beside the same formulas on whole arrays."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from worldline._src.kernels import drives
from worldline._src.kernels import tendons as tendon_kernels

N = 40


def drive(rng: np.random.Generator) -> SimpleNamespace:
    return SimpleNamespace(
        dof_drive=rng.integers(0, 5, N),
        dof_target_ke=rng.uniform(0, 5, N),
        dof_target_kd=rng.uniform(0, 5, N),
        dof_follows_velocity=rng.integers(0, 2, N).astype(float),
        dof_effort_lower=-rng.uniform(0, 3, N),
        dof_effort_limit=rng.uniform(0, 3, N),
        dof_link=rng.integers(1, 6, N),
    )


@pytest.mark.parametrize("seed", range(5))
def test_forces_of_drives_within_their_limits(seed):
    rng = np.random.default_rng(seed)
    made, error, v, tau = drive(rng), rng.normal(size=N), rng.normal(size=N), np.full(N, 9.0)
    control = SimpleNamespace(force=rng.normal(size=N), v_target=rng.normal(size=N))
    drives.drive_forces(made, control, error, v, tau)
    wanted = control.force + made.dof_target_ke * error
    wanted += made.dof_target_kd * (made.dof_follows_velocity * control.v_target - v)
    wanted = np.clip(wanted, made.dof_effort_lower, made.dof_effort_limit)
    np.testing.assert_allclose(tau, np.where(made.dof_drive == drives.FORCE, wanted, 0.0), rtol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_prescribed_degrees_of_freedom_reach_their_speed_in_a_step(seed):
    rng = np.random.default_rng(seed)
    made, speed, v, a, h = drive(rng), rng.normal(size=N), rng.normal(size=N), np.full(N, 9.0), 0.01
    drives.prescribed_speeds(made, speed, v, h, a)
    wanted = np.where(made.dof_drive == drives.VELOCITY, speed, v + 9.0 * h)
    wanted = np.where(made.dof_drive == drives.LOCKED, 0.0, wanted)
    np.testing.assert_allclose(v + h * a, wanted, atol=1e-13)

    # c_i += S_d a_d for whatever is prescribed, and its acceleration stays what was given
    S, c = rng.normal(size=(N, 6)), rng.normal(size=(6, 6))
    start, given = c.copy(), rng.normal(size=N)
    dof = SimpleNamespace(dof_link=made.dof_link)
    drives.prescribe(dof, made, SimpleNamespace(dof_S=S), given, c)
    is_given = made.dof_drive >= drives.VELOCITY
    assert is_given.any() and not is_given.all()
    for d in np.flatnonzero(is_given):
        start[made.dof_link[d]] += S[d] * given[d]
    np.testing.assert_allclose(c, start, rtol=1e-12)
    kept = np.zeros(N)
    drives.keep_prescribed(made, given, kept)
    assert np.array_equal(kept, np.where(is_given, given, 0.0))


def test_wrenches_act_at_the_centres_of_mass():
    """link_F = -(t + c x f, f), c = p + R com from the reference point of the tree; the world has none."""
    rng, links = np.random.default_rng(3), 5
    turns = np.linalg.qr(rng.normal(size=(links, 3, 3)))[0]
    body = SimpleNamespace(link_body=np.array([0, 2, 0, 1, 3]))
    inertia = SimpleNamespace(link_com=rng.normal(size=(links, 3)))
    pos = SimpleNamespace(link_p=rng.normal(size=(links, 3)), link_R=turns.reshape(links, 9))
    wrench, found = rng.normal(size=(4, 6)), np.full((links, 6), 9.0)
    drives.center_forces(body, inertia, pos, wrench, found)
    for i in range(1, links):
        t, f = np.split(wrench[body.link_body[i]], 2)
        c = pos.link_p[i] + turns[i] @ inertia.link_com[i]
        np.testing.assert_allclose(found[i], -np.concatenate([t + np.cross(c, f), f]), rtol=1e-12)
    assert (found[0] == 9.0).all()


def test_fixed_tendons_are_sums_of_coordinates_and_springs_pull_outside_of_their_range():
    """L = sum c q, dL/dt = sum c v; f = k (bound - L) outside of [low, high], -b dL/dt, tau += c f."""
    rng, tendons, dofs = np.random.default_rng(5), 6, 9
    counts = rng.integers(1, 4, tendons)
    ends = np.cumsum(counts)
    which = np.concatenate([np.sort(rng.choice(dofs, n, replace=False)) for n in counts])
    number = SimpleNamespace(
        tendon_span=np.column_stack([ends - counts, ends]),
        tendon_path=np.full((tendons, 2), 3),
        tendon_dof=which,
        tendon_coefficient=rng.normal(size=len(which)),
        tendon_moment=np.zeros(len(which)),
        tendon_size=np.zeros((tendons, 3)),
        tendon_spring=np.column_stack([rng.uniform(1, 5, (tendons, 2)), np.tile([-0.2, 0.3], (tendons, 1))]),
        dof_q=rng.permutation(dofs),
        dof_moment=np.zeros(dofs),
    )
    q, v, start = rng.normal(size=dofs), rng.normal(size=dofs), rng.normal(size=dofs)
    tau, expected = start.copy(), start.copy()
    tendon_kernels.straight_tendon_lengths(None, None, None, None, q, v, number)
    tendon_kernels.tendon_forces(number, tau)
    for k in range(tendons):
        here = slice(*number.tendon_span[k])
        c, d = number.tendon_coefficient[here], which[here]
        length, rate, (ke, kd) = c @ q[number.dof_q[d]], c @ v[d], number.tendon_spring[k, :2]
        force = ke * (np.clip(length, -0.2, 0.3) - length) - kd * rate
        np.testing.assert_allclose(number.tendon_size[k], [length, rate, force], rtol=1e-12)
        np.add.at(expected, d, c * force)
    np.testing.assert_allclose(tau, expected, rtol=1e-12)
    assert (number.tendon_size[:, 0] > 0.3).any() and (number.tendon_size[:, 0] < -0.2).any()
