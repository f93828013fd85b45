# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Candidate pairs that last: only shapes that left their grown box look for partners again.

`fat_pair` holds the filtered pairs whose grown boxes meet, sorted by shapes. Pairs of shapes that left are
taken out, found anew in the trees and merged in. What goes on to the narrow phase, `pair`, is the part of it
whose real boxes meet: that depends on poses alone and not on what happened before. Where there is no room for
the list, `pair` is found without it; what does not fit there either is counted and left out.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel, outline, stage
from worldline._src.kernels.broadphase.tree import (
    BUILT,
    CHILD_A,
    CHILD_B,
    FIXED,
    FIXED_ROOT,
    LEAF,
    MOVING,
    MOVING_ROOT,
    PLANES,
    overlap,
    sort_shapes,
    update_tree,
)
from worldline._src.kernels.narrowphase.tables import (
    FAT,
    MOVED,
    PAIRS,
    PLANE,
    filter_view,
    pair_view,
    shape_box_view,
    tree_view,
    work_view,
)
from worldline._src.kernels.search import find_key
from worldline._src.scalar.ops import where


@inline
def allowed(rules, i, j):
    """Whether shapes i < j may touch, filters in their order; explicit pairs may in any case."""
    key = i * rules.shape_type.shape[0] + j
    a, b = rules.shape_body[i], rules.shape_body[j]
    masks = (rules.shape_group[i] & rules.shape_with[j]) | (rules.shape_group[j] & rules.shape_with[i])
    weld_a, weld_b = rules.body_weld[a], rules.body_weld[b]
    related = rules.body_parent[a] == weld_b and rules.body_fixed[b] == 0
    related = related or (rules.body_parent[b] == weld_a and rules.body_fixed[a] == 0)
    quiet = rules.body_tree[a] >= 0 and rules.body_tree[a] == rules.body_tree[b]
    still = rules.body_fixed[a] != 0 and rules.body_fixed[b] != 0
    if masks == 0 or a == b or still or related or weld_a == weld_b or quiet:
        return find_key(rules.explicit, key) >= 0
    return find_key(rules.ignored, key) < 0 or find_key(rules.explicit, key) >= 0


@inline
def _add_new(pairs, rules, found, s, other):
    """Note a new pair when it is allowed; counts on when there is no room."""
    i, j = (s, other) if s < other else (other, s)
    if not allowed(rules, i, j):
        return found
    if found < pairs.new_pair.shape[0]:
        pairs.new_pair[found, 0] = i
        pairs.new_pair[found, 1] = j
    return found + 1


@outline
def _find_partners(pairs, rules, tree, s, root, stack, found):
    """Shapes of one tree whose grown box meets that of shape `s`."""
    node, box = tree.tree_node, tree.tree_box
    if root < 0:
        return found
    stack[0] = root
    top = 1
    while top > 0:
        top -= 1
        k = stack[top]
        if not overlap(tree.fat_box, s, box, k):
            continue
        other = node[k, LEAF]
        if other < 0:
            stack[top], stack[top + 1] = node[k, CHILD_A], node[k, CHILD_B]
            top += 2
        elif other != s and (tree.moved[other] == 0 or s < other):
            # of two that both left, the first finds the pair
            found = _add_new(pairs, rules, found, s, other)
    return found


@inline
def _before(rows, a, b):
    return rows[a, 0] < rows[b, 0] or (rows[a, 0] == rows[b, 0] and rows[a, 1] < rows[b, 1])


@inline
def _swap(rows, a, b):
    rows[a, 0], rows[b, 0] = rows[b, 0], rows[a, 0]
    rows[a, 1], rows[b, 1] = rows[b, 1], rows[a, 1]


@inline
def _sink(rows, k, count):
    """Restore a heap below row `k`."""
    while True:
        child = 2 * k + 1
        if child >= count:
            break
        if child + 1 < count and _before(rows, child, child + 1):
            child += 1
        if not _before(rows, k, child):
            break
        _swap(rows, k, child)
        k = child


@outline
def _sort_rows(rows, count):
    """Heap sort of pairs."""
    for k in range(count // 2 - 1, -1, -1):
        _sink(rows, k, count)
    for k in range(count - 1, 0, -1):
        _swap(rows, 0, k)
        _sink(rows, 0, k)


@outline
def _merge(pairs, held, found):
    """Merge sorted new pairs into the sorted kept ones, from the back."""
    kept, new = pairs.fat_pair, pairs.new_pair
    i, j = held - 1, found - 1
    for k in range(held + found - 1, -1, -1):
        if j < 0:
            break
        use_kept = i >= 0 and (new[j, 0] < kept[i, 0] or (new[j, 0] == kept[i, 0] and new[j, 1] < kept[i, 1]))
        if use_kept:
            kept[k, 0], kept[k, 1] = kept[i, 0], kept[i, 1]
            i -= 1
        else:
            kept[k, 0], kept[k, 1] = new[j, 0], new[j, 1]
            j -= 1


@inline
def _drop_moved(pairs, rules, tree, held):
    """Take out the pairs of shapes that left their box; half spaces have none, so their pairs stay."""
    rows, moved = pairs.fat_pair, tree.moved
    kept = 0
    for q in range(held):
        i, j = rows[q, 0], rows[q, 1]
        stays = moved[i] == 0 and moved[j] == 0
        if stays or rules.shape_type[i] == PLANE or rules.shape_type[j] == PLANE:
            rows[kept, 0], rows[kept, 1] = i, j
            kept += 1
    return kept


@inline
def _lowest_below(X, box, plane, s):
    """Whether the box of a shape reaches below a half space grown by its margin."""
    nx, ny, nz = X[plane, 5], X[plane, 8], X[plane, 11]
    x = where(nx > 0.0, box[s, 0], box[s, 3]) - X[plane, 0]
    y = where(ny > 0.0, box[s, 1], box[s, 4]) - X[plane, 1]
    z = where(nz > 0.0, box[s, 2], box[s, 5]) - X[plane, 2]
    return nx * x + ny * y + nz * z


@inline
def _meet(rules, placed, i, j):
    """Whether the real boxes of two shapes meet."""
    box = placed.box
    if rules.shape_type[i] == PLANE:
        return _lowest_below(placed.shape_X_W, box, i, j) <= placed.shape_margin[i]
    if rules.shape_type[j] == PLANE:
        return _lowest_below(placed.shape_X_W, box, j, i) <= placed.shape_margin[j]
    return overlap(box, i, box, j)


@outline
def _find_without_list(rules, placed, tree, stack, pairs):
    """All pairs whose real boxes meet, from the trees alone; returns how many there are."""
    node, root, rows = tree.tree_node, tree.tree_root, pairs.pair
    in_trees, count = root[MOVING] + root[FIXED], 0
    for k in range(in_trees + root[PLANES]):
        s = tree.tree_order[k]
        top = 0
        for r in range(2):
            start = root[MOVING_ROOT] if r == 0 else root[FIXED_ROOT]
            if start >= 0:
                stack[top] = start
                top += 1
        while top > 0:
            top -= 1
            n = stack[top]
            if k < in_trees and not overlap(placed.box, s, tree.tree_box, n):
                continue
            other = node[n, LEAF]
            if other < 0:
                stack[top], stack[top + 1] = node[n, CHILD_A], node[n, CHILD_B]
                top += 2
                continue
            # each pair from its first shape; half spaces are in no tree and look for all
            i, j = (s, other) if s < other else (other, s)
            if other != s and (s < other or k >= in_trees) and _meet(rules, placed, i, j):
                if allowed(rules, i, j):
                    if count < rows.shape[0]:
                        rows[count, 0], rows[count, 1] = i, j
                    count += 1
    _sort_rows(rows, min(count, rows.shape[0]))
    return count


@kernel
def find_pairs(rules, placed, tree_io, stack_io, pairs_io):
    """Boxes -> candidate pairs, sorted; counter[PAIRS] or [FAT] above the room means there was not enough."""
    tree, pairs, stack = tree_io, pairs_io, stack_io
    counter, root = pairs.counter, tree.tree_root
    begins = root[BUILT] == 0
    if begins:
        sort_shapes(tree, rules.shape_type, rules.shape_body, rules.body_fixed)
        counter[FAT] = 0
    left = update_tree(tree, placed.box, stack)
    counter[MOVED] = left
    held = counter[FAT]
    if left > 0:
        held = _drop_moved(pairs, rules, tree, held)
        in_trees, found = root[MOVING] + root[FIXED], 0
        for k in range(in_trees):
            s = tree.tree_order[k]
            if tree.moved[s] == 0:
                continue
            found = _find_partners(pairs, rules, tree, s, root[MOVING_ROOT], stack, found)
            if k < root[MOVING]:
                found = _find_partners(pairs, rules, tree, s, root[FIXED_ROOT], stack, found)
            if begins:
                for e in range(in_trees, in_trees + root[PLANES]):
                    found = _add_new(pairs, rules, found, s, tree.tree_order[e])
        if held + found > pairs.pair.shape[0]:
            # the list would not be whole: do without it, and begin again in the next pass
            counter[PAIRS] = _find_without_list(rules, placed, tree, stack, pairs)
            counter[FAT], root[BUILT] = held + found, 0
            return
        _sort_rows(pairs.new_pair, found)
        _merge(pairs, held, found)
        held += found
    counter[FAT] = held

    # what really meets now
    count, rows = 0, pairs.fat_pair
    for q in range(held):
        i, j = rows[q, 0], rows[q, 1]
        if _meet(rules, placed, i, j):
            pairs.pair[count, 0], pairs.pair[count, 1] = i, j
            count += 1
    counter[PAIRS] = count


@stage
def broad(m, c, args, d):
    """Boxes -> candidate pairs."""
    placed = shape_box_view(m, c, args, d)
    find_pairs(
        filter_view(m, c, args, d),
        placed,
        tree_view(m, c, args, d),
        work_view(m, c, args, d).iwork,
        pair_view(m, c, args, d),
    )
