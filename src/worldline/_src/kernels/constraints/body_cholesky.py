# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sparse factors of a symmetric matrix with a (6, 6) block for every node and every pair of them.

A node is a free body or up to six degrees of freedom of another tree (`body_blocks.py`); two have a block
where their trees touch or are the same. Nodes are eliminated in the order of least degree [Tinney, Walker
1967; George, Liu 1989]: the one with the fewest neighbours is next, and its neighbours become neighbours of
each other. In a heap most bodies touch a handful of others, so few blocks are added and the work grows hardly
faster than the number of contacts. A node with many neighbours, as that of a tray under a heap, is a *hub*:
hubs come last, all of them neighbours of each other, and nobody keeps a list of who touches them.

`BodyFactorView` has the arrays; nodes are numbered within their island. Blocks have six rows of eight
numbers, the last two zero, so that a row is two packs. The block of two nodes has the rows of the one that
is eliminated first and the columns of the other.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_blocks import (
    INVERSE_HESSIAN,
    PADDED,
    SIDE,
    STRIDE,
    invert_padded,
)
from worldline._src.scalar.packed import PACK, load_pack, load_row, pack_of, store_pack, store_row, sum_pack

DEGREE, FIRST_BLOCK, RANK, AT_RANK, NEXT, BEFORE, MARK, HUB = range(8)
"""What is kept of a node: neighbours left, its first block, when it is eliminated, the node whose turn is at
this number, the next and the one before in the list of its degree, who looked at it last, and 1 for a hub."""
WORTH = 16
"""Products of blocks for every block of the matrix up to which factors take less time than conjugate
gradients."""


@inline
def _link(factor, i, k):
    """Put node `i` at the head of the list of those of degree `k`."""
    head = factor.body_degree[k]
    factor.body_node[i, NEXT], factor.body_node[i, BEFORE] = head, -1
    if head >= 0:
        factor.body_node[head, BEFORE] = i
    factor.body_degree[k] = i


@inline
def _unlink(factor, i, k):
    before, after = factor.body_node[i, BEFORE], factor.body_node[i, NEXT]
    if before >= 0:
        factor.body_node[before, NEXT] = after
    else:
        factor.body_degree[k] = after
    if after >= 0:
        factor.body_node[after, BEFORE] = before


@inline
def _add_near(factor, i, j):
    """Let `j` be a neighbour of `i`; False where there is no room."""
    count = factor.body_node[i, DEGREE]
    if count >= factor.body_near.shape[1]:
        return False
    factor.body_near[i, count] = j
    factor.body_node[i, DEGREE] = count + 1
    return True


@inline
def _connect(factor, u, v):
    """Take `v` out of the neighbours of `u` and put in those of `v`; False where there is no room."""
    node, near = factor.body_node, factor.body_near
    for e in range(node[u, DEGREE] - 1, -1, -1):
        w = near[u, e]
        node[w, MARK] = u
        if w == v:
            node[u, DEGREE] -= 1
            near[u, e] = near[u, node[u, DEGREE]]
    fits = True
    for e in range(node[v, DEGREE]):
        w = near[v, e]
        if w != u and node[w, MARK] != u:
            fits = fits and _add_near(factor, u, w)
    return fits


@inline
def _mark_hubs(n, pair_body, pairs, node_out, hubs_out):
    """Nodes with more neighbours than half of what lists hold; returns how many, -1 without room for them.

    hubs_out: the first of them.
    """
    for i in range(n):
        node_out[i, DEGREE], node_out[i, MARK], node_out[i, HUB] = 0, -1, 0
    for p in range(pairs):
        node_out[pair_body[p, 0], DEGREE] += 1
        node_out[pair_body[p, 1], DEGREE] += 1
    hubs, most = 0, hubs_out.shape[0] - 1
    for i in range(n):
        if 2 * node_out[i, DEGREE] > most:
            if hubs > most:
                return -1
            node_out[i, HUB] = 1
            hubs_out[hubs] = i
            hubs += 1
        node_out[i, DEGREE] = 0
    return hubs


@kernel
def order_bodies(n, pair_body, pairs, worth, factor_out):
    """Order of elimination of `n` nodes, and which blocks there will be; False where they have no room.

    pair_body: (pairs, 2), the nodes of each pair. Also False where factors need more than `worth` products of
    blocks for every block of the matrix.
    """
    node, degree, near = factor_out.body_node, factor_out.body_degree, factor_out.body_near
    hubs = _mark_hubs(n, pair_body, pairs, node, degree)
    if hubs < 0:
        return False
    # hubs at the end, each with all behind it
    blocks = 0
    for h in range(hubs):
        i, rank = degree[h], n - hubs + h
        node[i, RANK], node[rank, AT_RANK], node[i, DEGREE] = rank, i, hubs - 1 - h
        for e in range(hubs - 1 - h):
            near[i, e] = degree[h + 1 + e]
    for p in range(pairs):
        a, b = pair_body[p, 0], pair_body[p, 1]
        if not (node[a, HUB] != 0 or _add_near(factor_out, a, b)):
            return False
        if not (node[b, HUB] != 0 or _add_near(factor_out, b, a)):
            return False
    for k in range(degree.shape[0]):
        degree[k] = -1
    for i in range(n - 1, -1, -1):
        if node[i, HUB] == 0:
            _link(factor_out, i, node[i, DEGREE])

    products, least = 0, 0
    for rank in range(n):
        v = node[rank, AT_RANK]
        if rank < n - hubs:
            while degree[least] < 0:
                least += 1
            v = degree[least]
            _unlink(factor_out, v, least)
            node[v, RANK], node[rank, AT_RANK] = rank, v
        count = node[v, DEGREE]
        node[v, FIRST_BLOCK] = blocks
        blocks += count
        products += count * (count + 3) // 2
        if blocks > factor_out.factor_block.shape[0] or products > worth * (pairs + n):
            return False
        if rank < n - hubs:
            for e in range(count):
                u = near[v, e]
                if node[u, HUB] == 0:
                    _unlink(factor_out, u, node[u, DEGREE])
                    if not _connect(factor_out, u, v):
                        return False
                    _link(factor_out, u, node[u, DEGREE])
                    least = min(least, node[u, DEGREE])
    return True


@inline
def _find(factor, i, j):
    """The block of nodes `i` and `j`, of which `i` is eliminated first."""
    at, near = factor.body_node[i, FIRST_BLOCK], factor.body_near
    k = 0
    while near[i, k] != j:
        k += 1
    return at + k


@inline
def _place_pairs(pair_body, pairs, pair_block, factor_io):
    """Add the blocks of pairs to those of the factor, which are zero; two nodes may have several pairs."""
    block, rank = factor_io.factor_block, factor_io.body_node
    for p in range(pairs):
        a, b = pair_body[p, 0], pair_body[p, 1]
        if rank[a, RANK] < rank[b, RANK]:
            at = _find(factor_io, a, b)
            for j in range(0, SIDE * STRIDE, PACK):
                store_row(block, at, j, load_row(block, at, j) + load_row(pair_block, p, j))
        else:
            at = _find(factor_io, b, a)
            for i in range(SIDE):
                for j in range(SIDE):
                    block[at, STRIDE * i + j] += pair_block[p, STRIDE * j + i]


@inline
def _subtract_product(A, a, B, b, C_io, c, at):
    """C -= A^T B for rows `a`, `b` and `c` of arrays of blocks; the block of C begins at `at`."""
    for i in range(SIDE):
        row = at + STRIDE * i
        low, high = load_row(C_io, c, row), load_row(C_io, c, row + PACK)
        for k in range(SIDE):
            x = A[a, STRIDE * k + i]
            low = low - x * load_row(B, b, STRIDE * k)
            high = high - x * load_row(B, b, STRIDE * k + PACK)
        store_row(C_io, c, row, low)
        store_row(C_io, c, row + PACK, high)


@inline
def _scaled(D, t, B, b, W_out):
    """W = D^-1 B with the inverse block of node `t`."""
    for i in range(SIDE):
        low, high = pack_of(0.0), pack_of(0.0)
        for k in range(SIDE):
            x = D[t, INVERSE_HESSIAN + STRIDE * i + k]
            low = low + x * load_row(B, b, STRIDE * k)
            high = high + x * load_row(B, b, STRIDE * k + PACK)
        store_row(W_out, 0, STRIDE * i, low)
        store_row(W_out, 0, STRIDE * i + PACK, high)


@kernel
def factor_bodies(n, trees, pair_body, pairs, pair_block, factor_io):
    """Factors in the order of `order_bodies`: the inverse block of each node when its turn comes.

    Blocks of nodes are at INVERSE_HESSIAN among theirs, where their inverse takes their place.
    """
    block, node, near = factor_io.factor_block, factor_io.body_node, factor_io.body_near
    scaled = factor_io.factor_row
    D, last = trees.block, node[n - 1, AT_RANK]
    for b in range(node[last, FIRST_BLOCK] + node[last, DEGREE]):
        for j in range(0, PADDED, PACK):
            store_row(block, b, j, pack_of(0.0))
    _place_pairs(pair_body, pairs, pair_block, factor_io)
    for rank in range(n):
        v = node[rank, AT_RANK]
        t, first, count = trees.node[v], node[v, FIRST_BLOCK], node[v, DEGREE]
        invert_padded(t, D)
        for j in range(count):
            # H_uw -= H_vu^T D_v^-1 H_vw, with u before w
            w = near[v, j]
            _scaled(D, t, block, first + j, scaled)
            for i in range(count):
                u = near[v, i]
                if i == j:
                    _subtract_product(block, first + i, scaled, 0, D, trees.node[w], INVERSE_HESSIAN)
                elif node[u, RANK] < node[w, RANK]:
                    _subtract_product(block, first + i, scaled, 0, block, _find(factor_io, u, w), 0)


@inline
def times_block(B, t, first, x, at, y_out, to):
    """y = B x with a block of node `t` that begins at `first`; x and y from columns `at` and `to` on.

    x has two finite numbers behind its six, which zeros of the block meet.
    """
    low, high = load_pack(x, at), load_pack(x, at + PACK)
    for i in range(SIDE):
        row = first + STRIDE * i
        y_out[to + i] = sum_pack(load_row(B, t, row) * low + load_row(B, t, row + PACK) * high)


@kernel
def solve_bodies(n, trees, factor, x_io):
    """x = H^-1 x by the factors of `factor_bodies`; x has two finite numbers behind its last."""
    block, node, near = factor.factor_block, factor.body_node, factor.body_near
    D = trees.block
    sums, found = factor.row_block[0], factor.row_block[1]
    for j in range(SIDE, STRIDE):
        sums[j] = 0.0
    # x_v <- D_v^-1 x_v, then x_u -= H_vu^T x_v
    for rank in range(n):
        v = node[rank, AT_RANK]
        at, first = SIDE * v, node[v, FIRST_BLOCK]
        times_block(D, trees.node[v], INVERSE_HESSIAN, x_io, at, found, 0)
        for k in range(SIDE):
            x_io[at + k] = found[k]
        for i in range(node[v, DEGREE]):
            u = SIDE * near[v, i]
            low, high = load_pack(x_io, u), load_pack(x_io, u + PACK)
            for k in range(SIDE):
                low = low - found[k] * load_row(block, first + i, STRIDE * k)
                high = high - found[k] * load_row(block, first + i, STRIDE * k + PACK)
            store_pack(x_io, u, low)
            store_pack(x_io, u + PACK, high)
    # x_v -= D_v^-1 sum of H_vu x_u
    for rank in range(n - 1, -1, -1):
        v = node[rank, AT_RANK]
        at, first, count = SIDE * v, node[v, FIRST_BLOCK], node[v, DEGREE]
        if count > 0:
            for k in range(SIDE):
                total = pack_of(0.0)
                for i in range(count):
                    u = SIDE * near[v, i]
                    total = total + load_row(block, first + i, STRIDE * k) * load_pack(x_io, u)
                    total = total + load_row(block, first + i, STRIDE * k + PACK) * load_pack(x_io, u + PACK)
                sums[k] = sum_pack(total)
            times_block(D, trees.node[v], INVERSE_HESSIAN, sums, 0, found, 0)
            for k in range(SIDE):
                x_io[at + k] -= found[k]
