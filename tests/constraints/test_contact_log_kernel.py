# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contact events of steps, beside differences of Python's sets."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from worldline._src.kernels.constraints.contact import log as contact_log

BODIES, CONTACTS, STEPS = 9, 24, 40


def new_log(room: int) -> SimpleNamespace:
    pairs, buckets = CONTACTS, 64
    return SimpleNamespace(
        counter=np.zeros(8, np.int64),
        event=np.full((room, 4), -7, np.int64),
        pair=np.zeros((pairs, 2), np.int64),
        last_pair=np.zeros((pairs, 2), np.int64),
        seen=np.zeros(pairs, np.int64),
        bucket=np.zeros(buckets, np.int64),
    )


def step(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Contacts with all that decides whether they touch: depth, normal force, and a row."""
    count = int(rng.integers(0, CONTACTS + 1))
    ids = np.full((CONTACTS, 6), -3, np.int64)
    ids[:count, 2:4] = rng.integers(-1, BODIES, (count, 2))
    contact, force = np.full((CONTACTS, 7), -1.0), np.zeros((CONTACTS, 3))
    contact[:count, 6] = rng.choice([-1e-3, 0.0, 1e-3], count)
    force[:count, 0] = rng.choice([0.0, 0.0, 2.0], count)
    row = np.where(rng.random((CONTACTS, 1)) < 0.2, -1, 5)
    return ids, contact, row, force, count


def touching(ids, contact, row, force, count) -> set[tuple[int, int]]:
    return {
        tuple(sorted(ids[k, 2:4].tolist()))
        for k in range(count)
        if row[k, 0] >= 0 and (contact[k, 6] >= 0.0 or force[k, 0] != 0.0)
    }


@pytest.mark.parametrize("seed", range(10))
def test_events_are_the_differences_of_what_touches_before_and_after(seed):
    rng = np.random.default_rng(seed)
    # room is doubled whenever the log asks for more
    log, before, wanted = new_log(4), set(), []
    for frame in range(1, STEPS + 1):
        given = step(rng)
        now = touching(*given)
        wanted += [(frame, contact_log.END, *pair) for pair in before - now]
        wanted += [(frame, contact_log.BEGIN, *pair) for pair in now - before]
        while needed := contact_log.log_contacts(*given, log):
            # asks for exactly what the step adds, and has changed nothing else
            assert needed == len(wanted)
            log.event = np.concatenate([log.event, np.full((needed, 4), -7)])
        found = log.event[: log.counter[contact_log.EVENTS]]
        assert sorted(map(tuple, found.tolist())) == sorted(wanted)
        assert log.counter[contact_log.PAIRS] == len(now)
        before = now
    assert len(wanted) > 100
