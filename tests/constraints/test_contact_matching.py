# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts across steps: by shapes and feature, then the nearest of the same shapes, beside a plain search."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from worldline._src.kernels.constraints.contact.matching import match_contacts, remember_contacts
from worldline._src.kernels.constraints.tables import CONTACT_COUNT, COUNTERS, LAST_COUNT


def contacts(rng: np.random.Generator, count: int, shapes: int, features: int) -> np.ndarray:
    """Shapes and features, each once, contacts of two shapes in a row."""
    found = {
        (*sorted(rng.choice(shapes, 2, replace=False).tolist()), int(rng.integers(features)))
        for _ in range(count)
    }
    rows = np.zeros((len(found), 6), np.int64)
    rows[:, [0, 1, 4]] = sorted(found)
    return rows


def plain(pair: np.ndarray, point: np.ndarray, last: np.ndarray, last_point: np.ndarray) -> list[int]:
    """The same by looking at every contact of the last step."""
    known = {(a, b, f): k for k, (a, b, f) in enumerate(last[:, :3].tolist())}
    match = [known.get((a, b, f), -1) for a, b, f in pair[:, [0, 1, 4]].tolist()]
    taken = set(match)
    for k, found in enumerate(match):
        if found < 0:
            free = [
                j
                for j in range(len(last))
                if j not in taken and last[j, 0] == pair[k, 0] and last[j, 1] == pair[k, 1]
            ]
            if free:
                distance = ((last_point[free] - point[k]) ** 2).sum(axis=1)
                match[k] = free[int(np.argmin(distance))]
                taken.add(match[k])
    return match


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("interrupted", [False, True])
def test_contacts_find_those_of_the_last_step(seed: int, interrupted: bool) -> None:
    rng = np.random.default_rng(seed)
    before, now = contacts(rng, 60, 6, 9), contacts(rng, 50, 6, 9)
    if interrupted:
        # contacts of two shapes need not be neighbours
        before = rng.permutation(before)
    last = np.zeros((len(before), 4), np.int64)
    last[:, :3] = before[:, [0, 1, 4]]
    # a coarse grid, so that several are as near
    last_point, contact = rng.integers(3, size=(len(before), 3)) * 1.0, np.zeros((len(now), 7))
    contact[:, :3] = rng.integers(3, size=(len(now), 3))
    counter = np.zeros(COUNTERS, np.int64)
    counter[LAST_COUNT] = len(before)
    memory = SimpleNamespace(
        counter=counter,
        last_id=last,
        last_point=last_point,
        bucket=np.zeros(2 << (2 * len(before)).bit_length(), np.int64),
        contact_match=np.zeros(len(now), np.int64),
    )
    match_contacts(now, contact, len(now), memory)
    assert memory.contact_match.tolist() == plain(now, contact[:, :3], last, last_point)
    assert (memory.contact_match >= 0).any() and (memory.contact_match < 0).any()


@pytest.mark.parametrize("depth", [-1e-3, 0.0, 1e-3])
@pytest.mark.parametrize("force", [0.0, 2.0])
@pytest.mark.parametrize("row", [-1, 0, 3])
def test_contacts_that_overlap_or_push_are_remembered_as_touching(
    depth: float, force: float, row: int
) -> None:
    counter = np.zeros(COUNTERS, np.int64)
    counter[CONTACT_COUNT] = 2
    memory = SimpleNamespace(
        counter=counter,
        last_id=np.full((3, 4), -7),
        contact_force=np.arange(18.0).reshape(3, 6),
        last_force=np.zeros((3, 6)),
        last_point=np.zeros((3, 3)),
    )
    memory.contact_force[1, 0] = force
    pair = np.arange(10).reshape(2, 5)
    contact = np.arange(14.0).reshape(2, 7)
    contact[1, 6] = depth
    remember_contacts(pair, contact, np.array([[0], [row]]), memory)
    assert memory.last_id[1].tolist() == [5, 6, 9, int(row >= 0 and (depth >= 0.0 or force != 0.0))]
    assert memory.last_id[2].tolist() == [-7] * 4 and counter[LAST_COUNT] == 2
    assert np.array_equal(memory.last_force[:2], memory.contact_force[:2])
    assert np.array_equal(memory.last_point[:2], contact[:, :3])
