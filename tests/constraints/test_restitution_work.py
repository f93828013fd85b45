# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Work of impacts in a solved island, from speeds before and after them that the test chose itself."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from worldline._src.kernels.constraints import restitution
from worldline._src.kernels.constraints.tables import (
    ALL_ROWS,
    CONTACT_END,
    CONTACT_FIRST,
    COUNTERS,
    ROWS,
    ROWS_BEFORE,
    STEP,
)

H, DOFS = 0.01, 5
FIRST = (0, 3, -1, 4, 6)
"""First rows of contacts: of three rows, of one, of none, of two, and of one that does not bounce."""
SIZE = (3, 1, 3, 2, 1)
COUNT = 7
BOUNCES = (True, True, True, True, False)


def island(seed: int) -> tuple[SimpleNamespace, SimpleNamespace, np.ndarray]:
    """Rows whose speeds before and after an impact add up to what is returned."""
    rng = np.random.default_rng(seed)
    J, a = rng.normal(size=(COUNT, DOFS)), rng.normal(size=DOFS)
    impact, speeds = rng.normal(size=COUNT), rng.normal(size=COUNT)
    # h (J a - aref) + impact = v_before + v_after
    aref = J @ a - (speeds - impact) / H
    bounce = np.where(BOUNCES, rng.uniform(0.1, 1.0, 5), -1.0)
    slip = np.where(rng.random(5) < 0.5, rng.uniform(0.1, 1.0, 5), -1.0)
    for k, row in enumerate(FIRST):
        if row >= 0:
            # the De Saxce correction is taken off the target of a normal
            aref[row] -= max(slip[k], 0.0)
    counter = np.zeros(COUNTERS, np.int64)
    counter[CONTACT_FIRST], counter[CONTACT_END], counter[ROWS] = 0, 5, COUNT
    rows = SimpleNamespace(J=J, aref=aref)
    frames = SimpleNamespace(
        contact_row=np.array([FIRST, SIZE], np.int64).T.copy(), bounce=bounce, de_saxce=slip
    )
    members = SimpleNamespace(counter=counter, contact_order=rng.permutation(5))
    option = np.zeros(64)
    option[STEP] = H
    solution = SimpleNamespace(
        option=option,
        row_force=rng.uniform(0.1, 2.0, COUNT),
        island_a=a,
        counter=counter,
        island_smooth=rng.normal(size=DOFS),
        column_dof=np.array([4, 1, 0, 2, 6]),
    )
    notes = SimpleNamespace(row_impact=impact)
    return SimpleNamespace(rows=rows, frames=frames, members=members, notes=notes), solution, speeds


def memory() -> SimpleNamespace:
    return SimpleNamespace(
        bounce_speed=np.full(COUNT, np.nan), bounce_force=np.zeros(COUNT), bounce_a=np.zeros(DOFS)
    )


def bouncing() -> list[int]:
    """Rows of contacts that bounce."""
    return [
        row
        for first, size, bounces in zip(FIRST, SIZE, BOUNCES, strict=True)
        if first >= 0 and bounces
        for row in range(first, first + size)
    ]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("over", [0.5, 2.0])
def test_work_beyond_what_solvers_leave_is_noticed(seed, over):
    rows, solution, speeds = island(seed)
    frames, force, active = rows.frames, solution.row_force, bouncing()
    # the tangential force of the first contact brings work to a multiple of what solvers leave
    given = sum(H * force[r] * e for r, e in zip(FIRST, frames.bounce, strict=True) if r >= 0 and e >= 0.0)
    others = sum(0.5 * H * force[r] * speeds[r] for r in active if r != 1)
    force[1] = (over * restitution.GAIN * given - others) / (0.5 * H * speeds[1])
    kept = memory()
    assert restitution.gains_energy(rows, solution, kept) == (over > 1.0)
    np.testing.assert_allclose(kept.bounce_speed[active], speeds[active], atol=1e-9)
    assert np.isnan(np.delete(kept.bounce_speed, active)).all()
    assert np.array_equal(kept.bounce_force, force if over > 1.0 else np.zeros(COUNT))
    assert np.array_equal(kept.bounce_a, solution.island_a if over > 1.0 else np.zeros(DOFS))


@pytest.mark.parametrize("seed", range(20))
def test_the_share_of_restitution_does_no_more_work_than_none(seed):
    rng = np.random.default_rng(100 + seed)
    rows, solution, speeds = island(seed)
    active = bouncing()
    for first, e in zip(FIRST, rows.frames.bounce, strict=True):
        if first >= 0 and e >= 0.0:
            # this solution was made without the restitution, which its targets miss
            rows.rows.aref[first] -= e / H
    full = memory()
    full.bounce_force, full.bounce_speed = rng.uniform(0.1, 3.0, COUNT), rng.normal(size=COUNT) + 1.0
    share = restitution._blend_share(rows, solution, full)

    def work(s):
        f = solution.row_force[active] * (1.0 - s) + s * full.bounce_force[active]
        return f @ (speeds[active] * (1.0 - s) + s * full.bounce_speed[active])

    allowed = max(work(0.0), 0.0)
    assert 0.0 <= share <= 1.0 and work(share) <= allowed + 1e-9
    if share < 1.0:
        # a little more would gain energy
        assert work(share + 1e-6) > allowed


@pytest.mark.parametrize("seed", range(5))
def test_targets_without_restitution_and_rows_off_the_records(seed):
    rows, solution, _ = island(seed)
    frames, aref, slip = rows.frames, rows.rows.aref.copy(), rows.frames.de_saxce.copy()
    a = np.full(8, 7.0)
    restitution.take_restitution(solution, rows, a)
    wanted = aref.copy()
    for k, first in enumerate(FIRST):
        if first >= 0:
            wanted[first] += max(slip[k], 0.0) - max(frames.bounce[k], 0.0) / H
    np.testing.assert_allclose(rows.rows.aref, wanted, rtol=1e-14)
    # a correction starts again from none; contacts that have none, or no rows, stay so
    assert frames.de_saxce.tolist() == [
        0.0 if s >= 0.0 and first >= 0 else s for s, first in zip(slip, FIRST, strict=True)
    ]
    smooth = np.full(8, 7.0)
    smooth[solution.column_dof] = solution.island_smooth
    assert np.array_equal(a, smooth)

    counter = solution.counter
    counter[ALL_ROWS], counter[ROWS_BEFORE] = 12, 12 - COUNT
    records = SimpleNamespace(qfrc=np.ones(8))
    restitution.forget_rows(rows.rows, solution, records)
    forces = np.ones(8)
    forces[solution.column_dof] -= rows.rows.J.T @ solution.row_force
    np.testing.assert_allclose(records.qfrc, forces, rtol=1e-12)
    assert counter[ALL_ROWS] == 12 - COUNT


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_forces_and_accelerations_are_blended_by_the_same_share(seed, monkeypatch):
    for name in ("record_rows", "record_contacts", "give_back"):
        monkeypatch.setattr(restitution, name, lambda *given: None)
    rng = np.random.default_rng(seed)
    rows, solution, _ = island(seed)
    full = memory()
    full.bounce_force, full.bounce_speed = rng.uniform(0.1, 3.0, COUNT), rng.normal(size=COUNT) + 3.0
    full.bounce_a = rng.normal(size=DOFS)
    force, a = solution.row_force.copy(), solution.island_a.copy()
    records = SimpleNamespace(contact_force=None)
    share = restitution.blend(None, rows, full, None, solution, records, None)
    assert share == restitution._blend_share(*island(seed)[:2], full)
    np.testing.assert_allclose(solution.row_force, (1.0 - share) * force + share * full.bounce_force)
    np.testing.assert_allclose(solution.island_a, (1.0 - share) * a + share * full.bounce_a, atol=1e-12)
    assert 0.0 < share < 1.0
