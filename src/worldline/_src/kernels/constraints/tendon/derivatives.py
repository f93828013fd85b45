# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the forces of tendons by displacements and velocities, in one world.

A tendon of length L acts with one force f(L, L', L'') along its moments m = dL/dq: springs and dampers, rows
of limits, of dry friction and of inertia, where L'' stands for J a of the rows. With the weight W of its rows

    Q = m f,   dQ = dm f + m (f_L dL + f_L' dL' - W dm . a),   dL = m . dq,   dL' = m . dv + dm . v.

f_L and f_L' of rows come in dual numbers of which the first two directions are L and L'. Moments of a fixed
tendon are constants. Those of a path follow from the wrenches F = dL/dX of its links, m_i = sum of F . S_i
over the links that S_i carries: a displacement q_i changes them through the poses of links, with the columns
S held, and turns the columns, so that with V(x) the motion of a link by x (`contact_derivatives.py`)

    (dm . x) / dq_i = (dm/dX . x) S_i + F . (S_i x V(x) + Psi_i'(x)).

Derivatives by poses come in dual numbers whose first six directions are unit twists of links of one color: a
tendon has at most one link of a color. The wrench f F is held while columns turn (`subtract_held_forces`).
"""

from __future__ import annotations

from typing import Any

from worldline._src.duals.kind import DOUBLES, value_of
from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.tables import (
    OF_TENDON,
    OF_TENDON_FRICTION,
    OF_TENDON_INERTIA,
)
from worldline._src.kernels.tendons import PULLEY
from worldline._src.kinds import float64
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import pointer_as, vector
from worldline._src.spatial.motion import Force, add_motion, add_to_force, cross_motion, load_motion, power
from worldline._src.spatial.vec3 import Vec3, scale

FORCE, BY_LENGTH, BY_RATE, WEIGHT = range(4)
"""Numbers of a tendon: f, f_L, f_L' and W."""


class TendonMotions(NamedTuple):
    """Trees as tendons see them, in plain numbers: motions of links and of columns by velocities v and by
    accelerations a."""

    dof_parent: Any
    link_last: Any
    S: Any
    link_V: Any
    rate: Any
    link_Va: Any
    rate_a: Any
    v: Any
    a: Any


class TendonSums(NamedTuple):
    """What tendons add to: derivatives of residuals by q and v, residuals, wrenches of links."""

    dq: Any
    dv: Any
    residual: Any
    link_W: Any


@kernel
def begin_tendons(tendon, numbers_out):
    """f, f_L and f_L' of springs and dampers; lengths and rates are the first two directions from now on."""
    spring, size = tendon.tendon_spring, tendon.tendon_size
    doubles = vector(pointer_as(size, float64), 0, 4 * DOUBLES * size.shape[0])
    for k in range(size.shape[0]):
        # f = k (bound - L) outside of the rest interval, minus b L'
        length, rate = value_of(size[k, 0]), value_of(size[k, 1])
        stiffness, stretch = 0.0, 0.0
        if length > spring[k, 3]:
            stiffness, stretch = spring[k, 0], spring[k, 3] - length
        if length < spring[k, 2]:
            stiffness, stretch = spring[k, 0], spring[k, 2] - length
        numbers_out[k, FORCE] = stiffness * stretch - spring[k, 1] * rate
        numbers_out[k, BY_LENGTH], numbers_out[k, BY_RATE] = -stiffness, -spring[k, 1]
        numbers_out[k, WEIGHT] = 0.0
        at = 4 * DOUBLES * k
        doubles[at + 1], doubles[at + DOUBLES + 2] = 1.0, 1.0


@inline
def _sign(tendon, rows, column, k, n):
    """Whether a row has the moments of its tendon or their opposite."""
    for i in range(tendon.tendon_span[k, 0], tendon.tendon_span[k, 1]):
        x = value_of(tendon.tendon_moment[i])
        if x != 0.0:
            return 1.0 if x * value_of(rows.J[n, column[tendon.tendon_dof[i]]]) > 0.0 else -1.0
    return 0.0


@kernel
def add_tendon_rows(tendon, column, rows, notes, solved, count, numbers_io, H_io):
    """Add the forces of the rows of tendons of an island, and H += W m m^T."""
    force, weight = solved.force, solved.weight
    slopes = vector(pointer_as(force, float64), 0, DOUBLES * count)
    for n in range(count):
        owner, k = notes.row_note[n, 0], notes.row_note[n, 1]
        if owner == OF_TENDON or owner == OF_TENDON_FRICTION or owner == OF_TENDON_INERTIA:
            s, D, dofs = _sign(tendon, rows, column, k, n), weight[n], tendon.tendon_dof
            numbers_io[k, FORCE] += s * slopes[DOUBLES * n]
            numbers_io[k, BY_LENGTH] += s * slopes[DOUBLES * n + 1]
            numbers_io[k, BY_RATE] += s * slopes[DOUBLES * n + 2]
            numbers_io[k, WEIGHT] += D
            for i in range(tendon.tendon_span[k, 0], tendon.tendon_span[k, 1]):
                x = D * value_of(tendon.tendon_moment[i])
                if x != 0.0:
                    row = column[dofs[i]]
                    for j in range(tendon.tendon_span[k, 0], tendon.tendon_span[k, 1]):
                        y = value_of(tendon.tendon_moment[j])
                        if y != 0.0:
                            H_io[row, column[dofs[j]]] += x * y


@kernel
def add_tendons(tendon, numbers, sums_io):
    """r -= m f, dr/dq -= f_L m m^T, dr/dv -= f_L' m m^T. O(tendons depth^2)."""
    dofs = tendon.tendon_dof
    for k in range(numbers.shape[0]):
        first, end = tendon.tendon_span[k, 0], tendon.tendon_span[k, 1]
        for i in range(first, end):
            x = value_of(tendon.tendon_moment[i])
            sums_io.residual[dofs[i]] -= x * numbers[k, FORCE]
            for j in range(first, end):
                product = x * value_of(tendon.tendon_moment[j])
                sums_io.dq[dofs[i], dofs[j]] -= numbers[k, BY_LENGTH] * product
                sums_io.dv[dofs[i], dofs[j]] -= numbers[k, BY_RATE] * product


@inline
def _link_of_color(tendon, anchor_link, colors, color, k):
    """The link of a color that tendon `k` passes, -1 where it passes none."""
    for j in range(tendon.tendon_path[k, 0], tendon.tendon_path[k, 1]):
        if tendon.node_kind[j] != PULLEY:
            link = anchor_link[tendon.node_anchor[j]]
            if link > 0 and colors[link] == color:
                return link
            if tendon.node_side[j] >= 0:
                link = anchor_link[tendon.node_side[j]]
                if link > 0 and colors[link] == color:
                    return link
    return -1


@inline
def _bend(motions, tendon, k, link, numbers, sums_io):
    """dr/dq -= dm f + m (f_L' dm . v - W dm . a) by the pose of a link and the turning of its columns."""
    first, end, dofs = tendon.tendon_span[k, 0], tendon.tendon_span[k, 1], tendon.tendon_dof
    size = vector(pointer_as(tendon.tendon_size, float64), 0, 4 * DOUBLES * (k + 1))
    slopes, at = vector(pointer_as(tendon.tendon_moment, float64), 0, DOUBLES * end), 4 * DOUBLES * k + 1
    F = Force(Vec3(size[at], size[at + 1], size[at + 2]), Vec3(size[at + 3], size[at + 4], size[at + 5]))
    f, by_rate, W = numbers[k, FORCE], numbers[k, BY_RATE], numbers[k, WEIGHT]
    add_to_force(sums_io.link_W, link, Force(scale(F.ang, f), scale(F.lin, f)))
    V, Va = load_motion(motions.link_V, link), load_motion(motions.link_Va, link)
    d = motions.link_last[link]
    while d >= 0:
        S = load_motion(motions.S, d)
        by_v = power(F, add_motion(cross_motion(S, V), load_motion(motions.rate, d)))
        by_a = power(F, add_motion(cross_motion(S, Va), load_motion(motions.rate_a, d)))
        for i in range(first, end):
            bent = 0.0
            for j in range(6):
                bent += slopes[DOUBLES * i + 1 + j] * motions.S[d, j]
            by_v += bent * motions.v[dofs[i]]
            by_a += bent * motions.a[dofs[i]]
            sums_io.dq[dofs[i], d] -= f * bent
        push = by_rate * by_v - W * by_a
        for i in range(first, end):
            sums_io.dq[dofs[i], d] -= push * slopes[DOUBLES * i]
        d = motions.dof_parent[d]


@kernel
def bend_tendons(motions, tendon, anchor_link, colors, color, numbers, sums_io):
    """Add how moments of paths change as links of a color are displaced; see the module."""
    for k in range(numbers.shape[0]):
        link = _link_of_color(tendon, anchor_link, colors, color, k)
        if link > 0:
            _bend(motions, tendon, k, link, numbers, sums_io)
