# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Four neighbours of an array as one vector: every operation against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.jit import entry
from worldline._src.scalar import packed


@entry
def _run(matrix, vector, zero_out):
    zero_out[0] = packed.is_zero_pack(packed.load_row(matrix, 1, 3))
    packed.store_row(matrix, 0, 2, packed.load_row(matrix, 1, 3) + packed.pack_of(2.0))
    packed.store_pack(vector, 1, packed.load_pack(vector, 3))
    vector[0] = packed.sum_pack(packed.load_pack(vector, 1))


@pytest.mark.parametrize("where", [None, 0, 1, 2, 3])
def test_packs_are_four_neighbours(where):
    matrix, vector, zero = np.arange(18.0).reshape(2, 9), np.arange(8.0), np.zeros(1, bool)
    matrix[1, 3:7] = 0.0, -0.0, 0.0, 0.0
    if where is not None:
        matrix[1, 3 + where] = -1e-300
    row = matrix[1, 3:7].copy()
    _run(matrix, vector, zero)
    assert zero[0] == (where is None)
    assert matrix[0].tolist() == [0, 1, *(row + 2.0), 6, 7, 8]
    assert vector.tolist() == [18, 3, 4, 5, 6, 5, 6, 7]


def test_what_is_no_number_is_not_zero():
    matrix, zero = np.zeros((2, 9)), np.ones(1, bool)
    matrix[1, 4] = np.nan
    _run(matrix, np.zeros(8), zero)
    assert not zero[0]


@entry
def _choose(vector, out):
    packed.store_pack(out, 0, packed.where_negative(packed.load_pack(vector, 0), packed.load_pack(vector, 4)))


def test_choice_by_sign():
    vector, out = np.array([-1.0, 0.0, -0.0, -1e-300, 1.0, 2.0, 3.0, 4.0]), np.ones(4)
    _choose(vector, out)
    assert out.tolist() == [1.0, 0.0, 0.0, 4.0]
