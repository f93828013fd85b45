# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Indices that count from the end: kernels of the package have none, functions of users may."""

from __future__ import annotations

import numpy as np

from worldline._src.jit import entry, inline


@inline
def _at(x, k):
    return x[k]


@entry
def _pick(x, k, out):
    out[0] = _at(x, k)
    out[-1] = x[-1]


def test_functions_outside_of_the_package_count_from_the_end():
    x, out = np.arange(5.0), np.zeros(3)
    for k in (-5, -1, 0, 4):
        _pick(x, k, out)
        assert out.tolist() == [x[k], 0.0, 4.0]
