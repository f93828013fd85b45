# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whole rows of matrices, for every scalar: packs of four doubles of one world, or one element after another.

Rows of doubles are padded to whole packs. Both ways do the same operations on every element; compiled forms
are in `lowering/wide_rows.py`.
"""

from __future__ import annotations


def clear_row(target, k):
    """Zeros in row `k`."""
    target[k] = 0.0


def copy_row(source, i, target, k):
    """Row `k` becomes row `i` of another matrix."""
    target[k] = source[i]


def spread_rows(source, i, j, x, target, k):
    """Rows `k` and `k + 1` become row `i` of another matrix plus and minus `x` times its row `j`."""
    target[k] = source[i] + x * source[j]
    target[k + 1] = source[i] - x * source[j]
