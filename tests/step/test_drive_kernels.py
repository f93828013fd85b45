# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Drives of degrees of freedom, beside the same formulas on whole arrays."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from worldline._src.kernels import drives

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
