# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Closed mechanisms stay closed: coordinates and velocities are projected onto their hard equalities.

Accelerations satisfy hard equalities exactly, J a = -J' v, but a step of length h leaves a residual of the
order of its method. So at the end of a step coordinates move by the displacement of least kinetic norm that
closes the loops, and velocities change by the impulse that leads along them [Lubich 1991; Hairer, Lubich,
Wanner 2006, ch. VII.1.4]:

    q <- q + M^-1 J^T lambda   with  g(q) = 0        v <- v - M^-1 J^T (J M^-1 J^T)^-1 J v

Neither adds to the order of an error, nor does it leave a trace of the displacement in the velocity. Newton's
method for lambda keeps J, M and their factors for all of its steps, and takes new ones where they converge
slowly. Rows that follow from others are consistent with them, which a small regularizer makes use of: the
iteration takes its effect away. A mechanism that starts open is closed at a bounded speed. One that cannot be
closed, because its equalities contradict each other, stays where it is when moving it does not help.

Semi-implicit Euler has order one. A mechanism on which no other rows act has the step of RATTLE instead
[Andersen 1983], of order two, with a' the accelerations that forces alone cause at the end:

    w = v + h/2 a(q, v)    q1 = q + h w, closed    v1 = w + h/2 a'(q1, w + h/2 a), led along the loops
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels import configuration, kinematics, mass_factor
from worldline._src.kernels.anchors import anchor_poses
from worldline._src.kernels.constraints.equality.kinds import (
    AXIS,
    JOINT,
    PLANE,
    POINT,
    ROW_COUNT,
    SCREW,
    PointMotion,
    anchor_axes,
    is_carried,
)
from worldline._src.kernels.constraints.equality.loop_columns import (
    COLUMN_END,
    COLUMN_FIRST,
    EQUALITY_END,
    EQUALITY_FIRST,
    FAR,
    FAR_START,
    JACOBIAN_AT,
    ROUNDS,
    ROW_END,
    ROW_FIRST,
    SQUARE_AT,
    TREES_END,
    TREES_FIRST,
)
from worldline._src.kernels.constraints.equality.rows import (
    FASTEST_CLOSING,
    ON,
    add_axes_motion,
    add_point_motion,
    follow,
)
from worldline._src.kernels.constraints.island_mass import island_mass
from worldline._src.kernels.constraints.tables import TREE_END, TREE_FIRST
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import matrix, pointer
from worldline._src.scalar.ops import absolute, any_of, constant, maximum, sqrt, where
from worldline._src.spatial.rotation import load_position
from worldline._src.spatial.vec3 import Vec3, scale

TOLERANCE = 1e-13
"""How exactly a row is closed [m or rad],"""
_ROUNDING = 1e-14
"""and which share of the coordinates of its point rounding takes."""
_MOST = 12
"""Most Newton steps."""
_SLOW = 0.1
"""Share of the distance that a Newton step with old factors may leave."""
_SOFTNESS = 1e-9
"""Regularizer of rows, as a share of their own inverse inertia."""
_VELOCITY_ROUNDS = 2


class Mechanism(NamedTuple):
    """Equalities of mechanisms with their anchors, bodies as rows see them and trees as mass matrices do, and
    their joints."""

    equality: Any
    targets: Any
    anchors: Any
    joint: Any
    bodies: Any
    trees: Any


class LoopTrees(NamedTuple):
    """The trees of a mechanism as those of an island."""

    counter: Any
    island_tree: Any
    dof_column: Any


class Above(NamedTuple):
    """The column above every column."""

    dof_parent: Any


class Dense(NamedTuple):
    """A matrix; helpers of kernels return tuples of arrays, not arrays."""

    values: Any


@inline
def loop_jacobian(loop, g, flat):
    """The part of a column of Jacobians that belongs to mechanism `g`, (rows, columns)."""
    span = loop.loop_span
    rows, columns = span[g, ROW_END] - span[g, ROW_FIRST], span[g, COLUMN_END] - span[g, COLUMN_FIRST]
    return Dense(matrix(pointer(flat), span[g, JACOBIAN_AT], rows, columns))


@inline
def loop_square(loop, g):
    """The matrix of the rows of mechanism `g`."""
    rows = loop.loop_span[g, ROW_END] - loop.loop_span[g, ROW_FIRST]
    return Dense(matrix(pointer(loop.loop_S), loop.loop_span[g, SQUARE_AT], rows, rows))


@inline
def _keep_meridian(residual_io, goal, n):
    """Measure two axes at more than a right angle along the meridian on which the step closes them.

    Their residual is 2 d - s with d = s / |s|, while rows have the rate of -s (`kinds.py`): where s moves
    sideways, d turns by 1 / |s|. With d of the goal, which the step keeps, the rate is exact.
    """
    x, y = residual_io[n], residual_io[n + 1]
    size, kept = sqrt(x * x + y * y), sqrt(goal[n] * goal[n] + goal[n + 1] * goal[n + 1])
    if size > 1.0 and kept > 0.0:
        # s = d (2 - |r|), and r = 2 d_goal - s
        share = (2.0 - size) / size
        residual_io[n] = 2.0 * goal[n] / kept - share * x
        residual_io[n + 1] = 2.0 * goal[n + 1] / kept - share * y


@inline
def loop_rows(loop, g, mechanism, q, v, has_goals):
    """Jacobian and residuals of the equalities of a mechanism that are on; has_goals: of this step."""
    span, J, residual = loop.loop_span, loop_jacobian(loop, g, loop.loop_J).values, loop.loop_r
    equality, targets, bodies = mechanism.equality, mechanism.targets, mechanism.bodies
    X, axes = targets.anchor_X, loop.loop_axes
    none = Vec3(0.0, 0.0, 0.0)
    still = PointMotion(none, none, none, none)
    first, n = span[g, ROW_FIRST], 0
    # columns beyond the reach of a row are zero from the start
    for i in range(J.shape[0]):
        residual[first + i], loop.loop_tolerance[first + i] = 0.0, TOLERANCE
        for j in range(loop.loop_reach[first + i, 0], loop.loop_reach[first + i, 1]):
            J[i, j] = 0.0
    for e in range(span[g, EQUALITY_FIRST], span[g, EQUALITY_END]):
        k = loop.loop_equality[e]
        kind, count = equality.equality_kind[k], ROW_COUNT[equality.equality_kind[k]]
        if equality.equality_on[k] == ON:
            if kind == JOINT:
                follow(equality, targets.tendon, k, q, bodies.column, J, n, residual, first + n)
            else:
                a, b = equality.equality_first[k], equality.equality_second[k]
                p_a, p_b = load_position(X, a), load_position(X, b)
                size = absolute(p_a.x) + absolute(p_a.y) + absolute(p_a.z)
                if is_carried(kind):
                    p_b = p_a
                moved = anchor_axes(equality, k, X, still, still, axes, residual, first + n)
                if has_goals and (kind == AXIS or kind == PLANE or kind == SCREW):
                    _keep_meridian(residual, loop.loop_goal, first + n + moved)
                link_a, link_b = equality.equality_link[k, 0], equality.equality_link[k, 1]
                if kind == POINT:
                    rest = scale(p_a, 0.0)
                    add_point_motion(bodies, link_a, p_a, rest, link_b, p_b, rest, v, axes, J, n)
                else:
                    add_axes_motion(bodies, link_a, p_a, still, v, axes, count, 1.0, J, n)
                    add_axes_motion(bodies, link_b, p_b, still, v, axes, count, -1.0, J, n)
                for i in range(count):
                    loop.loop_tolerance[first + n + i] = TOLERANCE + _ROUNDING * size
        n += count


@inline
def _set_goals(loop, g, equality, h):
    """What residuals shall be at the end of the step: nothing, or less by what a bounded speed allows.

    All rows of an equality shrink by the same share, so that its residual keeps its direction.
    """
    most, n = constant(FASTEST_CLOSING, h) * h, loop.loop_span[g, ROW_FIRST]
    for e in range(loop.loop_span[g, EQUALITY_FIRST], loop.loop_span[g, EQUALITY_END]):
        count, square = ROW_COUNT[equality.equality_kind[loop.loop_equality[e]]], constant(0.0, h)
        for i in range(n, n + count):
            square = square + loop.loop_r[i] * loop.loop_r[i]
        # (1 - most / |r|) r
        size = sqrt(square)
        share = where(size > most, 1.0 - most / maximum(size, most), constant(0.0, h))
        for i in range(n, n + count):
            loop.loop_goal[i] = share * loop.loop_r[i]
        n += count


@inline
def distance(loop, g, h):
    """How far residuals are from their goals at most, in tolerances."""
    far = constant(0.0, h)
    for i in range(loop.loop_span[g, ROW_FIRST], loop.loop_span[g, ROW_END]):
        far = maximum(far, absolute(loop.loop_r[i] - loop.loop_goal[i]) / loop.loop_tolerance[i])
    return far


@inline
def _solve_within(above, L, begin, stop, x_io):
    """x = M^-1 x for columns of whole trees, begin ... stop - 1, as `mass_factor.solve_factored`."""
    # tip to base: x = L^-T x
    for d in range(stop - 1, begin - 1, -1):
        x = x_io[d] * L[d, d]
        x_io[d] = x
        e = above.dof_parent[d]
        while e >= 0:
            x_io[e] = x_io[e] - L[d, e] * x
            e = above.dof_parent[e]

    # base to tip: x = L^-1 x
    for d in range(begin, stop):
        x = x_io[d]
        e = above.dof_parent[d]
        while e >= 0:
            x = x - L[d, e] * x_io[e]
            e = above.dof_parent[e]
        x_io[d] = x * L[d, d]


@inline
def factor_loop(loop, g, trees, damping, crb_out):
    """M^-1 J^T and the factor of J M^-1 J^T with its regularizer, lower triangle.

    damping: added to the diagonal, as a share of its largest element; or 0.
    """
    span, reach, row = loop.loop_span, loop.loop_reach, loop.loop_span[g, ROW_FIRST]
    first, end = span[g, COLUMN_FIRST], span[g, COLUMN_END]
    n = end - first
    J, Y, S = (
        loop_jacobian(loop, g, loop.loop_J).values,
        loop_jacobian(loop, g, loop.loop_Y).values,
        loop_square(loop, g).values,
    )
    M = matrix(pointer(loop.loop_M), 0, n, n)
    loop.loop_part[TREE_FIRST], loop.loop_part[TREE_END] = span[g, TREES_FIRST], span[g, TREES_END]
    island_mass(trees, LoopTrees(loop.loop_part, loop.loop_tree, loop.loop_column), crb_out, M)
    above = Above(loop.loop_parent[first:end])
    mass_factor.factor(above, M, M)
    for k in range(J.shape[0]):
        begin, stop = reach[row + k, 0], reach[row + k, 1]
        for j in range(begin, stop):
            Y[k, j] = J[k, j] * trees.chain.dof_mobile[loop.loop_dof[first + j]]
        _solve_within(above, M, begin, stop, Y[k])
        for i in range(reach[row + k, 2], k + 1):
            total = constant(0.0, Y[k, 0])
            low, high = max(reach[row + k, 0], reach[row + i, 0]), min(reach[row + k, 1], reach[row + i, 1])
            for j in range(low, high):
                total = total + J[i, j] * Y[k, j]
            S[k, i] = total
        # rows without effect, as those that are off, stand alone
        moves = S[k, k] > 0.0
        S[k, k] = where(moves, S[k, k] * (1.0 + _SOFTNESS), constant(1.0, S[k, k]))
    if damping > 0.0:
        largest = S[0, 0]
        for k in range(1, S.shape[0]):
            largest = maximum(largest, S[k, k])
        for k in range(S.shape[0]):
            S[k, k] = S[k, k] + damping * largest

    # S = L L^T, row by row, within its skyline; the diagonal holds the inverse of that of L
    for k in range(S.shape[0]):
        begin = reach[row + k, 2]
        for i in range(begin, k):
            total = S[k, i]
            for j in range(max(begin, reach[row + i, 2]), i):
                total = total - S[k, j] * S[i, j]
            S[k, i] = total * S[i, i]
        total, least = S[k, k], S[k, k] * (0.1 * _SOFTNESS)
        for j in range(begin, k):
            total = total - S[k, j] * S[k, j]
        S[k, k] = 1.0 / sqrt(maximum(total, least))


@inline
def solve_loop(loop, g, x_io):
    """x = (L L^T)^-1 x for the rows of mechanism `g`."""
    S, reach, first = loop_square(loop, g).values, loop.loop_reach, loop.loop_span[g, ROW_FIRST]
    for k in range(S.shape[0]):
        total = x_io[first + k]
        for j in range(reach[first + k, 2], k):
            total = total - S[k, j] * x_io[first + j]
        x_io[first + k] = total * S[k, k]
    for k in range(S.shape[0] - 1, -1, -1):
        x = x_io[first + k] * S[k, k]
        x_io[first + k] = x
        for j in range(reach[first + k, 2], k):
            x_io[first + j] = x_io[first + j] - S[k, j] * x


@inline
def push_loop(loop, g, x_io):
    """x -= M^-1 J^T lambda, by degrees of freedom."""
    span, Y, reach = loop.loop_span, loop_jacobian(loop, g, loop.loop_Y).values, loop.loop_reach
    first, row = span[g, COLUMN_FIRST], span[g, ROW_FIRST]
    for k in range(Y.shape[0]):
        force = loop.loop_force[row + k]
        for j in range(reach[row + k, 0], reach[row + k, 1]):
            d = loop.loop_dof[first + j]
            x_io[d] = x_io[d] - force * Y[k, j]


@inline
def _across(loop, g, x, share):
    """Multipliers that `push_loop` takes a share of the part of x across the equalities of `g` away with."""
    span, J = loop.loop_span, loop_jacobian(loop, g, loop.loop_J).values
    first, row = span[g, COLUMN_FIRST], span[g, ROW_FIRST]
    for k in range(J.shape[0]):
        begin, stop = loop.loop_reach[row + k, 0], loop.loop_reach[row + k, 1]
        total = J[k, begin] * x[loop.loop_dof[first + begin]]
        for j in range(begin + 1, stop):
            total = total + J[k, j] * x[loop.loop_dof[first + j]]
        loop.loop_force[row + k] = share * total
    solve_loop(loop, g, loop.loop_force)


@inline
def _put_back(loop, g, trees, q_io):
    """Coordinates of a mechanism as they were."""
    starts = trees.tree.link_q_start
    for i in range(loop.loop_span[g, TREES_FIRST], loop.loop_span[g, TREES_END]):
        t = loop.loop_tree[i]
        last = trees.tree_links[t + 1]
        end = starts[last] if last < starts.shape[0] else q_io.shape[0]
        for k in range(starts[trees.tree_links[t]], end):
            q_io[k] = loop.loop_q[k]


@kernel
def close_loops(loop, mechanism, h, crb_out, q_io, v_io):
    """Coordinates and velocities of all closed mechanisms, projected; see the module.

    O(links) for poses in each Newton step. For a mechanism with n columns and m rows, each of which shares
    columns with w others, within a reach of c columns each, the first one takes O(n depth^2 + m c depth +
    m w^2), after clearing n^2 numbers, the next ones O(m c).
    """
    trees, motion, state = mechanism.trees, loop.loop_motion, loop.loop_state
    tree, pos, joint, anchors = trees.tree, trees.pos, mechanism.joint, mechanism.anchors
    for i in range(q_io.shape[0]):
        loop.loop_q[i] = q_io[i]
    iteration, left = 0, True
    while left:
        kinematics.kinematics(tree, joint, q_io, pos)
        anchor_poses(tree, pos, anchors)
        for d in range(motion.shape[0]):
            motion[d] = constant(0.0, h)
        left = False
        for g in range(loop.loop_span.shape[0]):
            loop_rows(loop, g, mechanism, q_io, v_io, iteration > 0)
            before = state[g, FAR]
            if iteration == 0:
                _set_goals(loop, g, mechanism.equality, h)
            far = distance(loop, g, h)
            state[g, FAR] = far
            if iteration == 0:
                state[g, FAR_START], state[g, ROUNDS] = far, 0.0
            # derivatives need one step, however close it is
            if iteration < _MOST and (iteration == 0 or any_of(far > 1.0)):
                if iteration == 0 or any_of(far > _SLOW * before):
                    factor_loop(loop, g, trees, 0.0, crb_out)
                row = loop.loop_span[g, ROW_FIRST]
                for i in range(row, loop.loop_span[g, ROW_END]):
                    loop.loop_force[i] = loop.loop_r[i] - loop.loop_goal[i]
                solve_loop(loop, g, loop.loop_force)
                push_loop(loop, g, motion)
                state[g, ROUNDS] = state[g, ROUNDS] + 1.0
                left = True
        if left:
            configuration.integrate(tree, q_io, motion, constant(1.0, h), q_io)
        iteration += 1

    # what cannot be closed and is no closer than before
    for g in range(loop.loop_span.shape[0]):
        if any_of(state[g, FAR] > 1.0) and any_of(state[g, FAR] >= state[g, FAR_START]):
            _put_back(loop, g, trees, q_io)
            left = True
    if left:
        kinematics.kinematics(tree, joint, q_io, pos)
        anchor_poses(tree, pos, anchors)
    for g in range(loop.loop_span.shape[0]):
        if left:
            loop_rows(loop, g, mechanism, q_io, v_io, True)
        for _ in range(_VELOCITY_ROUNDS):
            _across(loop, g, v_io, constant(1.0, h))
            push_loop(loop, g, v_io)


@kernel
def mark_loops(mechanism, islands, spin, loop_out):
    """Choose the mechanisms that take the mean of both accelerations: those with no rows of another kind.

    Prescribed motion and free bodies, whose spin is integrated exactly, have rules of their own.
    """
    trees = mechanism.trees
    for g in range(loop_out.loop_span.shape[0]):
        mean = 1
        for i in range(loop_out.loop_span[g, TREES_FIRST], loop_out.loop_span[g, TREES_END]):
            t = loop_out.loop_tree[i]
            if islands.tree_closed[t] == 0 or spin.link_floating[trees.tree_links[t]] == 1.0:
                mean = 0
        for j in range(loop_out.loop_span[g, COLUMN_FIRST], loop_out.loop_span[g, COLUMN_END]):
            if trees.chain.dof_mobile[loop_out.loop_dof[j]] == 0.0:
                mean = 0
        loop_out.loop_mean[g] = mean


@kernel
def keep_start(loop, h, a, tau, start_out, v_io):
    """Give mechanisms the other half of h a, which `lead_loops` took off; keep a and tau of the start."""
    for d in range(a.shape[0]):
        start_out.a_sum[d], start_out.v_sum[d] = a[d], tau[d]
    for g in range(loop.loop_span.shape[0]):
        if loop.loop_mean[g] == 1:
            for j in range(loop.loop_span[g, COLUMN_FIRST], loop.loop_span[g, COLUMN_END]):
                d = loop.loop_dof[j]
                v_io[d] = v_io[d] + (0.5 * h) * a[d]


@kernel
def mean_loops(loop, h, start, a_io, tau_io, v_io):
    """Velocities of the mean of both accelerations; a_io: of forces alone at the end, then of the start."""
    for g in range(loop.loop_span.shape[0]):
        if loop.loop_mean[g] == 1:
            # v + h/2 (a' - a), led along the loops where they are now
            for j in range(loop.loop_span[g, COLUMN_FIRST], loop.loop_span[g, COLUMN_END]):
                d = loop.loop_dof[j]
                v_io[d] = v_io[d] + (0.5 * h) * (a_io[d] - start.a_sum[d])
            for _ in range(_VELOCITY_ROUNDS):
                _across(loop, g, v_io, constant(1.0, h))
                push_loop(loop, g, v_io)
    for d in range(a_io.shape[0]):
        a_io[d], tau_io[d] = start.a_sum[d], start.v_sum[d]


@kernel
def lead_loops(loop, mechanism, h, q, a, crb_out, v_io):
    """Take half of the acceleration across the loops off the velocity that a semi-implicit step begins with.

    The displacement h (v + h a) is along the directions at the start, and the loops turn away by half of what
    a does in all of the step: with half of it coordinates stay closed to second order, and the velocity at
    the end, whose other half `close_loops` takes away across the directions there, neither gains nor loses
    energy by turning. Of mechanisms that take the mean of both accelerations half of all of it is taken off.
    Needs poses and anchors of the start.
    """
    for g in range(loop.loop_span.shape[0]):
        if loop.loop_mean[g] == 1:
            for j in range(loop.loop_span[g, COLUMN_FIRST], loop.loop_span[g, COLUMN_END]):
                d = loop.loop_dof[j]
                v_io[d] = v_io[d] - (0.5 * h) * a[d]
            continue
        loop_rows(loop, g, mechanism, q, v_io, False)
        factor_loop(loop, g, mechanism.trees, 0.0, crb_out)
        _across(loop, g, a, 0.5 * h)
        push_loop(loop, g, v_io)
