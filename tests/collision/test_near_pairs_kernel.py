# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of boxes that are near, beside a search by NumPy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from worldline._src.kernels.broadphase.near_pairs import PAIR_CONTACTS, list_near_pairs
from worldline._src.kernels.narrowphase.tables import NEAR, PAIRS

SHAPES = 12


@pytest.mark.parametrize("room", [3, 100])
@pytest.mark.parametrize("seed", range(20))
def test_candidates_whose_boxes_overlap_are_listed_in_order(seed, room):
    rng = np.random.default_rng(seed)
    # a coarse grid, so that sides often touch
    low = rng.integers(-3, 3, (SHAPES, 3)).astype(float)
    box = np.hstack([low, low + rng.integers(0, 3, (SHAPES, 3))])
    candidate = np.array([(a, b) for a in range(SHAPES) for b in range(a) if rng.random() < 0.8], np.int64)
    body = rng.integers(0, 5, SHAPES)
    wanted = [
        (q, a, b)
        for q, (a, b) in enumerate(candidate.tolist())
        if (box[a, :3] <= box[b, 3:]).all() and (box[b, :3] <= box[a, 3:]).all()
    ]
    size = min(room, len(candidate))
    pairs = SimpleNamespace(pair=np.full((size, 2), -1), counter=np.zeros(8, np.int64))
    contacts = SimpleNamespace(contact_id=np.full((size * PAIR_CONTACTS, 6), -1))
    moved = box.copy()
    candidates = SimpleNamespace(candidate=candidate, shape_body=body)
    list_near_pairs(candidates, size, moved, pairs, contacts)
    assert pairs.counter[NEAR] == len(wanted) and pairs.counter[PAIRS] == min(len(wanted), size)
    assert wanted
    for k, (q, a, b) in enumerate(wanted[:size]):
        assert pairs.pair[k].tolist() == [a, b]
        rows = contacts.contact_id[k * PAIR_CONTACTS : (k + 1) * PAIR_CONTACTS]
        assert (rows[:, [0, 1, 2, 3, 5]] == [a, b, body[a], body[b], q]).all()
    listed = min(len(wanted), size)
    assert (pairs.pair[listed:] == -1).all() and (contacts.contact_id[listed * PAIR_CONTACTS :] == -1).all()
    # sides are moved out by a share of their distance from the origin, or of a metre
    np.testing.assert_allclose(box[:, :3] - moved[:, :3], 1e-9 * (1.0 + np.abs(box[:, :3])), rtol=1e-6)
    np.testing.assert_allclose(moved[:, 3:] - box[:, 3:], 1e-9 * (1.0 + np.abs(box[:, 3:])), rtol=1e-6)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_gap_along_one_axis_parts_two_boxes(axis, order):
    for gap, is_near in ((1.5e-9, True), (1e-7, False)):
        box = np.array([[0.0] * 3 + [1.0] * 3] * 2)
        box[1, axis], box[1, axis + 3] = 1.0 + gap, 2.0
        pairs = SimpleNamespace(pair=np.zeros((1, 2), np.int64), counter=np.zeros(8, np.int64))
        contacts = SimpleNamespace(contact_id=np.zeros((PAIR_CONTACTS, 6), np.int64))
        candidates = SimpleNamespace(candidate=np.array([order]), shape_body=np.zeros(2, np.int64))
        list_near_pairs(candidates, 1, box, pairs, contacts)
        assert bool(pairs.counter[NEAR]) == is_near
