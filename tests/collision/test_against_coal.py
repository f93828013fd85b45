# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Signed distances against Coal on random pairs of every two shapes; see coal_pairs for the long run.

Coal's penetration search sometimes fails outright, stops at a deeper answer, or claims a depth that leaves
the shapes overlapping. So every answer of ours must prove itself, and Coal's counts where it does too.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("coal", reason="Coal is the yardstick here")

from coal_pairs import PAIRS, certificates, judged, reach, sample

COUNT = 40


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_distances(kinds):
    s = sample(np.random.default_rng(PAIRS.index(kinds)), kinds, COUNT)
    with np.errstate(over="ignore"):
        gap, angle = judged(s)
    theirs = s.theirs[:, 0]
    points, plane = certificates(s)
    assert np.isfinite(s.ours.distance).all()
    assert plane.max() < 1e-9
    assert points.max() < 1e-3
    if "mesh" in kinds:
        # a surface has no inside; while apart, distances agree, and both say so when it is cut
        apart = (theirs > 0) & (s.ours.distance > 0)
        assert np.abs(gap[apart]).max(initial=0.0) < 1e-6
        if "plane" not in kinds:
            assert ((theirs > 1e-6) == (s.ours.distance > 1e-6)).all()
        return
    for k in range(COUNT):
        normal = s.theirs[k, 1:4]
        valid = theirs[k] > -1e300 and abs(np.linalg.norm(normal) - 1.0) < 1e-6
        if valid and theirs[k] < 0:
            first = reach(s.shapes[2 * k], s.poses[0, k], normal)
            second = reach(s.shapes[2 * k + 1], s.poses[1, k], -normal)
            # a depth along a normal that does not separate is no answer
            valid = -second - first >= theirs[k] - 1e-7 * s.size[k]
        if not valid:
            continue
        # never deeper than Coal by more than rounding, never farther when apart
        assert gap[k] > -1e-6, k
        if theirs[k] > 0:
            assert gap[k] < 1e-6, k
            if s.ours.distance[k] > 1e-3 * s.size[k]:
                assert angle[k] < 1e-3, k
