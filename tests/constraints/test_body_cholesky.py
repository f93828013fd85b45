# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sparse factors of the Hessian of free bodies, against dense solutions by NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from worldline._src.jit import entry
from worldline._src.kernels.constraints.body_blocks import INVERSE_HESSIAN, PADDED, SIDE, STRIDE
from worldline._src.kernels.constraints.body_cholesky import WORTH, factor_bodies, order_bodies, solve_bodies

NEAREST_BODIES = 64
"""Neighbours there is room for in the tables."""


class Trees(NamedTuple):
    """Blocks of nodes and their numbers, as `BodyTrees` has them."""

    block: Any
    node: Any


class Factor(NamedTuple):
    """What `BodyFactorView` names."""

    body_near: Any
    body_node: Any
    body_degree: Any
    factor_block: Any
    factor_row: Any
    row_block: Any


@entry
def order(n, pair_body, pairs, factor):
    return order_bodies(n, pair_body, pairs, WORTH, factor)


@entry
def solve(n, trees, pair_body, pairs, pair_block, factor, x):
    factor_bodies(n, trees, pair_body, pairs, pair_block, factor)
    solve_bodies(n, trees, factor, x)


def room(n, blocks):
    near, node = np.zeros((n, NEAREST_BODIES), np.int64), np.zeros((n, 8), np.int64)
    degree, row, side = np.zeros(NEAREST_BODIES + 1, np.int64), np.zeros((1, PADDED)), np.zeros((10, 16))
    return Factor(near, node, degree, np.full((blocks, PADDED), np.nan), row, side)


def grid(shape):
    """Neighbours along the edges of a grid, in a random order of bodies and of pairs."""
    rng = np.random.default_rng(4)
    number = rng.permutation(int(np.prod(shape))).reshape(shape)
    found = []
    for axis in range(3):
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(0, -1), slice(1, None)
        found.append(np.stack([number[tuple(low)].ravel(), number[tuple(high)].ravel()], 1))
    pairs = np.sort(np.concatenate(found), axis=1)
    return np.ascontiguousarray(rng.permutation(pairs)), number.size


def problem(pairs, n):
    """A positive matrix with a block for every pair: padded blocks of bodies and of pairs, and all of it."""
    rng = np.random.default_rng(5)
    full, between = np.zeros((SIDE * n, SIDE * n)), np.zeros((len(pairs), PADDED))
    block = np.zeros((n, INVERSE_HESSIAN + PADDED))
    for k, (a, b) in enumerate(pairs):
        J = rng.normal(size=(4, 2 * SIDE))
        columns = np.r_[SIDE * a : SIDE * a + SIDE, SIDE * b : SIDE * b + SIDE]
        full[np.ix_(columns, columns)] += J.T @ J
        between[k].reshape(SIDE, STRIDE)[:, :SIDE] = (J.T @ J)[:SIDE, SIDE:]
    full += np.diag(rng.uniform(0.5, 2.0, SIDE * n))
    for i in range(n):
        own = slice(SIDE * i, SIDE * i + SIDE)
        block[i, INVERSE_HESSIAN:].reshape(SIDE, STRIDE)[:, :SIDE] = full[own, own]
    return full, block, between


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 1), (12, 1, 1), (5, 4, 1), (4, 3, 3)])
def test_solution(shape):
    pairs, n = grid(shape)
    full, block, between = problem(pairs, n)
    factor = room(n, 4 * len(pairs) + 1)
    assert order(n, pairs, len(pairs), factor)
    right = np.random.default_rng(6).normal(size=SIDE * n)
    x = np.r_[right, 0.0, 0.0]
    solve(n, Trees(block, np.arange(n)), pairs, len(pairs), between, factor, x)
    np.testing.assert_allclose(x[:-2], np.linalg.solve(full, right), rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("hubs", [1, 3])
def test_nodes_with_many_neighbours_come_last(hubs):
    """As the nodes of a tray under a heap; a pair of hubs may be there twice, and its blocks add up."""
    chain, n = grid((150, 1, 1))
    tray = [(k, n + h) for h in range(hubs) for k in range(n)]
    between_hubs = [(n + g, n + h) for g in range(hubs) for h in range(g + 1, hubs)]
    pairs = np.concatenate([chain, np.array(tray + 2 * between_hubs)])
    n += hubs
    full, block, between = problem(pairs, n)
    factor = room(n, 2 * len(pairs))
    assert order(n, pairs, len(pairs), factor)
    assert (factor.body_node[n - hubs :, 2] >= n - hubs).all()
    right = np.random.default_rng(6).normal(size=SIDE * n)
    x = np.r_[right, 0.0, 0.0]
    solve(n, Trees(block, np.arange(n)), pairs, len(pairs), between, factor, x)
    np.testing.assert_allclose(x[:-2], np.linalg.solve(full, right), rtol=0.0, atol=1e-11)


def test_a_chain_adds_no_blocks():
    pairs, n = grid((40, 1, 1))
    factor = room(n, len(pairs))
    assert order(n, pairs, len(pairs), factor)
    assert factor.body_node[:, 0].sum() == len(pairs)


def test_no_room():
    """Blocks, hubs, and work beyond that of conjugate gradients."""
    pairs, n = grid((4, 3, 3))
    assert not order(n, pairs, len(pairs), room(n, len(pairs)))
    # more hubs than a list of neighbours holds
    a, b = np.triu_indices(NEAREST_BODIES + 3, 1)
    every = np.stack([a, b], 1)
    assert not order(NEAREST_BODIES + 3, every, len(every), room(NEAREST_BODIES + 3, 4000))
    a, b = np.triu_indices(60, 1)
    every = np.stack([a, b], 1)
    assert not order(60, every, len(every), room(60, 4000))
