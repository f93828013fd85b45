# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the forces of equalities by displacements and velocities, in one world.

The residual c of a row between two anchors depends on the poses X of their links, so its slack, which is
c'' - aref(c, c'), depends on poses X, velocities V and accelerations A of both links, with c' = F . V and
dc''/dA = F for the wrench F of a unit force of the row. Coordinates act through the links that they carry
(`rnea_derivatives.py`): displacements by

    dX = S_i,   dV = S_i x V + Psi_i',   dA = S_i x A + Psi_i' x V + Psi_i'',

velocities by dV = S_i and dA = X_i + S_i x V. The derivative by poses, with the columns S held, and that of
c'' by velocities come in dual numbers whose first six directions are unit twists of links of one color: an
equality has at most one link of a color. With the weight D of a row, its damping b (aref = -b c' - ...) and
g = dc''/dV

    dQ/dq_i = (dQ/dX) S_i - J^T D (F . dA + (g + b F) . dV),   dQ/dv_i = -J^T D (F . dA + (g + b F) . dV).

The wrench of a row is held while columns turn (`subtract_held_forces`). Rows of a coordinate that follows
another depend on both alone: the seventh direction is that of the coordinates that lead, then of those that
follow. O(colors) passes over the rows, O(equalities depth^2) beside them.
"""

from __future__ import annotations

from typing import Any

from worldline._src.duals.kind import DIRECTIONS, DOUBLES, value_of
from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.contact_derivatives import gather_columns, law_damping
from worldline._src.kernels.constraints.equality.kinds import JOINT, ROW_COUNT, is_carried
from worldline._src.kernels.constraints.equality.rows import ON
from worldline._src.kernels.constraints.laws import load_law
from worldline._src.kernels.constraints.tables import ALL_ROWS, TREE_END, TREE_FIRST
from worldline._src.kinds import float64
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import matrix, pointer, pointer_as, vector
from worldline._src.scalar.ops import constant
from worldline._src.spatial.motion import (
    Force,
    add_force,
    add_motion,
    add_to_force,
    cross_motion,
    load_force,
    load_motion,
    power,
    store_spatial,
)
from worldline._src.spatial.rotation import load_position
from worldline._src.spatial.vec3 import Vec3, add, cross, load_vec3, scale, sub

POSES, VELOCITIES = range(2)
"""What is displaced in a pass: poses and coordinates that lead, or velocities and coordinates that follow."""
_POINT_ROWS = (3, 3, 1, 1, 1, 3, 2, 3, 1, 0, 2, 1, 2, 2)
"""Rows of an equality, by its kind, that have the law of points; the others have that of rotations."""


class LinkMotions(NamedTuple):
    """Trees as equalities see them, in plain numbers: motions of links, Psi', Psi'' and X of columns."""

    dof_parent: Any
    link_last: Any
    link_root: Any
    origin: Any
    S: Any
    link_V: Any
    link_A: Any
    rate: Any
    second: Any
    both: Any


class EqualityForm(NamedTuple):
    """What equalities are differentiated with: colors of links, color and kind of the pass, time step [s],
    whether short times are kept out."""

    motions: Any
    colors: Any
    color: Any
    turn: Any
    h: Any
    safe: Any


class EqualityScratch(NamedTuple):
    """Of one equality, by degrees of freedom: Q in dual numbers, rows; F and g + b F of rows."""

    dofs: Any
    Q: Any
    base: Any
    by_A: Any
    by_V: Any


class EqualitySums(NamedTuple):
    """What equalities add to: derivatives of residuals by q and v, residuals, wrenches of links, Hessian."""

    dq: Any
    dv: Any
    residual: Any
    link_W: Any
    H: Any


@inline
def _values(a):
    return Vec3(value_of(a.x), value_of(a.y), value_of(a.z))


@inline
def _wrench(equality, k, X, motions, side, r):
    """F: the wrench on the link of one side by a unit force of row `r`, about the reference point."""
    axes, first = matrix(pointer(equality.equality_axes[k]), 0, 6, 7), equality.equality_first[k]
    anchor = first
    if side == 1 and not is_carried(equality.equality_kind[k]):
        anchor = equality.equality_second[k]
    link = equality.equality_link[k, side]
    along = _values(Vec3(axes[r, 0], axes[r, 1], axes[r, 2]))
    about = _values(Vec3(axes[r, 3], axes[r, 4], axes[r, 5]))
    arm = sub(_values(load_position(X, anchor)), load_vec3(motions.origin, motions.link_root[link]))
    sign = 1.0 - 2.0 * side
    return Force(scale(add(about, cross(arm, along)), sign), scale(along, sign))


@inline
def _generalized_force(rows, column, first, n, dofs, count, force, Q_out):
    """Q = J^T f of one equality, in dual numbers."""
    for t in range(count):
        total, at = constant(0.0, force[first]), column[dofs[t]]
        for r in range(first, first + n):
            total = total + rows.J[r, at] * force[r]
        Q_out[t] = total


@inline
def _add_hessian(base, weight, first, n, dofs, count, column, force, sums_io):
    """r -= J^T f, H += J^T D J."""
    for r in range(n):
        f, D = value_of(force[first + r]), weight[first + r]
        for s in range(count):
            x = base[r, s]
            if x != 0.0:
                sums_io.residual[dofs[s]] -= x * f
                row = column[dofs[s]]
                for t in range(count):
                    sums_io.H[row, column[dofs[t]]] += D * x * base[r, t]


@inline
def _add_follower(form, equality, k, first, members, rows, solved, scratch, sums_io):
    """The row of a coordinate that follows another."""
    dofs, count, column = scratch.dofs, 1, members.dof_column
    a, b = equality.equality_first[k], equality.equality_second[k]
    dofs[0], moved = a, b
    if b >= 0:
        dofs[1], count = b, 2
    if form.turn == VELOCITIES:
        moved = a
    if moved >= 0:
        _generalized_force(rows, column, first, 1, dofs, count, solved.force, scratch.Q)
        slopes = vector(pointer_as(scratch.Q, float64), 0, DOUBLES * count)
        for t in range(count):
            sums_io.dq[dofs[t], moved] -= slopes[DOUBLES * t + DIRECTIONS]
    if form.turn == VELOCITIES:
        # the rate of the row is J v
        damping = law_damping(load_law(equality.equality_law, k), form.h, form.safe) * solved.weight[first]
        for s in range(count):
            scratch.base[0, s] = value_of(rows.J[first, column[dofs[s]]])
        for s in range(count):
            for t in range(count):
                sums_io.dv[dofs[s], dofs[t]] += damping * scratch.base[0, s] * scratch.base[0, t]
        _add_hessian(scratch.base, solved.weight, first, 1, dofs, count, column, solved.force, sums_io)


@inline
def _add_poses(motions, link, rows, column, first, n, count, force, scratch, dq_io):
    """dr/dq -= (dQ/dX) S of the link that is displaced."""
    dofs = scratch.dofs
    _generalized_force(rows, column, first, n, dofs, count, force, scratch.Q)
    slopes = vector(pointer_as(scratch.Q, float64), 0, DOUBLES * count)
    d = motions.link_last[link]
    while d >= 0:
        for t in range(count):
            total = 0.0
            for j in range(6):
                total += slopes[DOUBLES * t + 1 + j] * motions.S[d, j]
            dq_io[dofs[t], d] -= total
        d = motions.dof_parent[d]


@inline
def _add_velocities(form, equality, k, X, side, first, n, count, solved, scratch, sums_io):
    """dr/dq and dr/dv += J^T D (F . dA + (g + b F) . dV) of the link that is displaced."""
    motions, link, base = form.motions, equality.equality_link[k, side], scratch.base
    slopes = vector(pointer_as(solved.slack, float64), 0, DOUBLES * (first + n))
    for r in range(n):
        law = load_law(equality.equality_law, k)
        if r >= _POINT_ROWS[equality.equality_kind[k]]:
            law = load_law(equality.equality_turn_law, k)
        b, at = law_damping(law, form.h, form.safe), DOUBLES * (first + r) + 1
        F = _wrench(equality, k, X, motions, side, r)
        g = Force(
            Vec3(slopes[at], slopes[at + 1], slopes[at + 2]),
            Vec3(slopes[at + 3], slopes[at + 4], slopes[at + 5]),
        )
        store_spatial(scratch.by_A, r, F)
        store_spatial(scratch.by_V, r, add_force(g, Force(scale(F.ang, b), scale(F.lin, b))))
    V, A = load_motion(motions.link_V, link), load_motion(motions.link_A, link)
    d = motions.link_last[link]
    while d >= 0:
        S, rate = load_motion(motions.S, d), load_motion(motions.rate, d)
        turned = cross_motion(S, V)
        V_q = add_motion(turned, rate)
        A_q = add_motion(
            add_motion(cross_motion(S, A), cross_motion(rate, V)), load_motion(motions.second, d)
        )
        A_v = add_motion(turned, load_motion(motions.both, d))
        for r in range(n):
            by_A, by_V, D = (
                load_force(scratch.by_A, r),
                load_force(scratch.by_V, r),
                solved.weight[first + r],
            )
            by_q, by_v = D * (power(by_A, A_q) + power(by_V, V_q)), D * (power(by_A, A_v) + power(by_V, S))
            for t in range(count):
                sums_io.dq[scratch.dofs[t], d] += base[r, t] * by_q
                sums_io.dv[scratch.dofs[t], d] += base[r, t] * by_v
        d = motions.dof_parent[d]


@inline
def _add_anchored(form, equality, k, X, first, members, rows, solved, scratch, sums_io):
    """The rows between two anchors."""
    motions, dofs, column = form.motions, scratch.dofs, members.dof_column
    link_a, link_b = equality.equality_link[k, 0], equality.equality_link[k, 1]
    if link_a == link_b:
        return
    n, count = ROW_COUNT[equality.equality_kind[k]], gather_columns(motions, link_a, link_b, dofs)
    for r in range(n):
        for t in range(count):
            scratch.base[r, t] = value_of(rows.J[first + r, column[dofs[t]]])
    if form.color == 0 and form.turn == VELOCITIES:
        _add_hessian(scratch.base, solved.weight, first, n, dofs, count, column, solved.force, sums_io)
        for side in range(2):
            if equality.equality_link[k, side] > 0:
                for r in range(n):
                    F, f = _wrench(equality, k, X, motions, side, r), value_of(solved.force[first + r])
                    held = Force(scale(F.ang, f), scale(F.lin, f))
                    add_to_force(sums_io.link_W, equality.equality_link[k, side], held)
    for side in range(2):
        link = equality.equality_link[k, side]
        if link > 0 and form.colors[link] == form.color:
            if form.turn == POSES:
                _add_poses(motions, link, rows, column, first, n, count, solved.force, scratch, sums_io.dq)
            else:
                _add_velocities(form, equality, k, X, side, first, n, count, solved, scratch, sums_io)


@kernel
def linearize_equalities(form, equality, anchor_X, members, rows, solved, scratch, sums_io):
    """Add what the equalities of an island do to the derivatives of its residuals; see the module."""
    counter = members.counter
    for i in range(counter[TREE_FIRST], counter[TREE_END]):
        t = members.island_tree[i]
        for j in range(members.tree_equality[t], members.tree_equality[t + 1]):
            k = members.equality_order[j]
            if equality.equality_on[k] == ON and equality.equality_row[k] >= 0:
                first = equality.equality_row[k] - counter[ALL_ROWS]
                if equality.equality_kind[k] != JOINT:
                    _add_anchored(form, equality, k, anchor_X, first, members, rows, solved, scratch, sums_io)
                elif form.color == 0:
                    _add_follower(form, equality, k, first, members, rows, solved, scratch, sums_io)
