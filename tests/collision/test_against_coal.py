# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Signed distances against Coal on random pairs of every two shapes; see coal_pairs for the long run.

Coal's penetration search sometimes fails outright, stops at a deeper answer, or claims a depth that leaves
the shapes overlapping. So every answer of ours must prove itself, and wherever the two differ it must be
shown that ours is right; docs/collision.md has the counts of all classes.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("coal", reason="Coal is the yardstick here")

from coal_pairs import PAIRS, SURFACES, certificates, compared, sample

COUNT = 40


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_every_difference_is_explained(kinds):
    s = sample(np.random.default_rng(PAIRS.index(kinds)), kinds, COUNT)
    assert np.isfinite(s.ours.distance).all()
    points, plane = certificates(s)
    # the points are as far apart as claimed, along the normal, and planes keep the shapes that far apart
    assert points.max() < 2e-9
    assert plane.max() < 1e-9
    counts, wrong, beaten = compared(s)
    assert not wrong
    assert counts["ours"] == 0
    # no direction of a dense set needs less to separate the shapes
    assert not beaten
    if SURFACES & set(kinds):
        # both see it when a surface is cut
        theirs = s.theirs[:, 0]
        known = theirs > -1e300
        if "plane" not in kinds:
            assert ((theirs > 1e-6) == (s.ours.distance > 1e-6))[known].all()
