# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Two trees of grown boxes, one of moving and one of fixed shapes, that last from step to step.

A shape stays in its place in the tree while its box stays inside the larger box the tree knows. When it
leaves, that box and the boxes above it grow, further in the direction in which it left. Once half as many
shapes have left as there are, the tree is built anew by median splits. Half spaces are in no tree: there are
few and their box is everything. In a world of few shapes no shape ever leaves: looking at all pairs costs
less than following those that move.
"""

from __future__ import annotations

from worldline._src.jit import inline, outline
from worldline._src.kernels.broadphase.aabb import EVERYWHERE
from worldline._src.kernels.narrowphase.tables import PLANE
from worldline._src.scalar.ops import maximum, minimum

# tree_root: roots, nodes used, built, left since the build, and how many shapes of each sort
MOVING_ROOT, FIXED_ROOT, NODES, BUILT, LEFT, MOVING, FIXED, PLANES = range(8)
PARENT, CHILD_A, CHILD_B, LEAF = range(4)
SKIN = 0.1
"""How much larger than a shape's box its box in the tree is, as a share of its longest side."""
AHEAD, MOST_AHEAD = 8.0, 1.0
"""A box that a shape left goes on where it got out: so many times as far as it got, at most so many longest
sides. A shape that moves far in a step is then inside for some more; the box of a slow one, which hardly gets
out, stays tight."""
FEW = 24
"""Up to so many shapes, the boxes in the tree hold everything."""


@inline
def overlap(box, i, other, j):
    """Whether row `i` of one array of boxes meets row `j` of another."""
    return (
        box[i, 0] <= other[j, 3]
        and other[j, 0] <= box[i, 3]
        and box[i, 1] <= other[j, 4]
        and other[j, 1] <= box[i, 4]
        and box[i, 2] <= other[j, 5]
        and other[j, 2] <= box[i, 5]
    )


@inline
def _inside(box, fat, i):
    return (
        box[i, 0] >= fat[i, 0]
        and box[i, 1] >= fat[i, 1]
        and box[i, 2] >= fat[i, 2]
        and box[i, 3] <= fat[i, 3]
        and box[i, 4] <= fat[i, 4]
        and box[i, 5] <= fat[i, 5]
    )


@inline
def _longest_side(box, i):
    return maximum(maximum(box[i, 3] - box[i, 0], box[i, 4] - box[i, 1]), box[i, 5] - box[i, 2])


@inline
def _set_fat(box, fat, i):
    """Grow the box of a shape by the skin."""
    # box grown by 10 % of its longest side, in every direction
    skin = SKIN * _longest_side(box, i) if fat.shape[0] > FEW else EVERYWHERE
    for e in range(3):
        fat[i, e] = box[i, e] - skin
        fat[i, 3 + e] = box[i, 3 + e] + skin


@inline
def _follow(box, fat, i):
    """The same for a shape that left its grown box, further where it got out."""
    side = _longest_side(box, i)
    for e in range(3):
        below, above = maximum(fat[i, e] - box[i, e], 0.0), maximum(box[i, 3 + e] - fat[i, 3 + e], 0.0)
        fat[i, e] = box[i, e] - (SKIN * side + minimum(AHEAD * below, MOST_AHEAD * side))
        fat[i, 3 + e] = box[i, 3 + e] + (SKIN * side + minimum(AHEAD * above, MOST_AHEAD * side))


@inline
def _centre(fat, i, axis):
    return fat[i, axis] + fat[i, 3 + axis]


@inline
def _select_median(fat, order, start, end, axis):
    """Put the middle shape along an axis into its place, lower ones before it (quickselect)."""
    low, high, middle = start, end - 1, (start + end) // 2
    while low < high:
        pivot = _centre(fat, order[(low + high) // 2], axis)
        i, j = low, high
        while i <= j:
            while _centre(fat, order[i], axis) < pivot:
                i += 1
            while _centre(fat, order[j], axis) > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break


@outline
def build(node, box_out, order, leaf, fat, stack, start, end, first):
    """Build a tree over order[start:end] with nodes from `first` on; returns its root and nodes used."""
    if start == end:
        return -1, first
    top, used = 1, first + 1
    stack[0], stack[1], stack[2] = first, start, end
    node[first, PARENT] = -1
    while top > 0:
        top -= 1
        k, a, b = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        for e in range(3):
            # union of the boxes of all shapes below the node
            low, high = 1e300, -1e300
            for s in range(a, b):
                low, high = minimum(low, fat[order[s], e]), maximum(high, fat[order[s], 3 + e])
            box_out[k, e], box_out[k, 3 + e] = low, high
        if b - a == 1:
            node[k, LEAF] = order[a]
            leaf[order[a]] = k
            continue
        # split across the axis on which centres lie furthest apart, at the median
        axis, widest = 0, -1.0
        for e in range(3):
            low, high = 1e300, -1e300
            for s in range(a, b):
                x = _centre(fat, order[s], e)
                low, high = minimum(low, x), maximum(high, x)
            if high - low > widest:
                axis, widest = e, high - low
        _select_median(fat, order, a, b, axis)
        middle = (a + b) // 2
        node[k, LEAF] = -1
        node[k, CHILD_A], node[k, CHILD_B] = used, used + 1
        node[used, PARENT] = node[used + 1, PARENT] = k
        stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = used, a, middle
        stack[3 * top + 3], stack[3 * top + 4], stack[3 * top + 5] = used + 1, middle, b
        top += 2
        used += 2
    return first, used


@inline
def _grow_up(tree, k):
    """Let the boxes above node `k` hold it."""
    node, box = tree.tree_node, tree.tree_box
    up = node[k, PARENT]
    while up >= 0:
        held = True
        for e in range(3):
            if box[k, e] < box[up, e]:
                box[up, e] = box[k, e]
                held = False
            if box[k, 3 + e] > box[up, 3 + e]:
                box[up, 3 + e] = box[k, 3 + e]
                held = False
        if held:
            break
        k, up = up, node[up, PARENT]


@outline
def sort_shapes(tree, shape_type, shape_body, body_fixed):
    """Order the shapes: moving, fixed, half spaces."""
    order, root = tree.tree_order, tree.tree_root
    count = 0
    for sort in range(3):
        before = count
        for s in range(shape_type.shape[0]):
            plane = shape_type[s] == PLANE
            fixed = body_fixed[shape_body[s]] != 0
            if (2 if plane else (1 if fixed else 0)) == sort:
                order[count] = s
                tree.tree_leaf[s] = -1
                count += 1
        root[MOVING + sort] = count - before


@outline
def update_tree(tree, box, stack):
    """Follow the boxes; returns how many shapes left theirs, marked in `moved`."""
    order, root, fat, moved = tree.tree_order, tree.tree_root, tree.fat_box, tree.moved
    in_trees = root[MOVING] + root[FIXED]
    left = 0
    if root[BUILT] == 0:
        for k in range(in_trees):
            _set_fat(box, fat, order[k])
            moved[order[k]] = 1
        left = in_trees
    else:
        # in the order of memory, not of the tree: thousands of boxes do not fit the cache
        for s in range(fat.shape[0]):
            moved[s] = 0
            if tree.tree_leaf[s] >= 0 and not _inside(box, fat, s):
                _follow(box, fat, s)
                moved[s] = 1
                left += 1
    root[LEFT] += left
    if left > 0 and (root[BUILT] == 0 or 2 * root[LEFT] > in_trees):
        n = root[MOVING]
        root[MOVING_ROOT], used = build(
            tree.tree_node, tree.tree_box, order, tree.tree_leaf, fat, stack, 0, n, 0
        )
        root[FIXED_ROOT], used = build(
            tree.tree_node, tree.tree_box, order, tree.tree_leaf, fat, stack, n, in_trees, used
        )
        root[NODES], root[LEFT], root[BUILT] = used, 0, 1
    elif left > 0:
        for k in range(in_trees):
            s = order[k]
            if moved[s] != 0:
                leaf = tree.tree_leaf[s]
                for e in range(6):
                    tree.tree_box[leaf, e] = fat[s, e]
                _grow_up(tree, leaf)
    return left
