# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""All pairs of shapes that may touch, wherever they are: the list that worlds in lanes share."""

from __future__ import annotations

from worldline._src.jit import kernel, stage
from worldline._src.kernels.broadphase.pairs import allowed
from worldline._src.kernels.narrowphase.tables import PAIRS, PLANE, filter_view, pair_view


@kernel
def list_every_pair(rules, pairs_out):
    """Pairs in order of their shapes; two half spaces never touch. More than fit are counted only."""
    found, n = 0, rules.shape_type.shape[0]
    for i in range(n):
        for j in range(i + 1, n):
            both = rules.shape_type[i] == PLANE and rules.shape_type[j] == PLANE
            if not both and allowed(rules, i, j):
                if found < pairs_out.pair.shape[0]:
                    pairs_out.pair[found, 0], pairs_out.pair[found, 1] = i, j
                found += 1
    pairs_out.counter[PAIRS] = found


@stage
def every_pair(m, c, args, d):
    """Filters -> every pair that may touch."""
    list_every_pair(filter_view(m, c, args, d), pair_view(m, c, args, d))
