# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of analytic derivatives of a step; see `analytic_step.py`.

With r(q, v, u, a) = RNEA(q, v, a) - tau - J^T f = 0 at the accelerations a that the step found:

    linearize_dynamics   derivatives of RNEA, the mass matrix                               plain numbers
    linearize_joints     those of tau and of rows of single degrees of freedom, by columns  dual numbers
    linearize_turns      those of springs and limits of orientations                          dual numbers
    linearize_equalities those of J^T f of equalities, by links of one color                  dual numbers
    linearize_tendons    those of tendons                                                     dual numbers
    displace_bodies      poses of bodies, along six directions                              plain numbers
    linearize_contacts   those of J^T f of contacts                                         dual numbers
    finish_linear        the factors of the Hessian, and of M + h D                         plain numbers

Trees that rows couple are a group; matrices of groups are dense and stand one after the other. Stages of
equalities and contacts are in `analytic_row_stages.py`.
"""

from __future__ import annotations

from typing import Any

from worldline._src.duals.kind import DOUBLES, value_of
from worldline._src.jit import inline, outline, stage
from worldline._src.kernels import rnea, velocities
from worldline._src.kernels import rnea_derivatives as r
from worldline._src.kernels.constraints import islands
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.damping import Damped, damping_of
from worldline._src.kernels.constraints.row_derivatives import (
    factor_with_pivots,
    row_forces,
    row_slacks,
    solve_with_pivots,
)
from worldline._src.kernels.inertial_forces import inertial_forces
from worldline._src.kernels.links import center_of_mass
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kinds import float64, int64
from worldline._src.model import views
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar import memory
from worldline._src.scalar.ops import sqrt
from worldline._src.spatial import motion as spatial_motion
from worldline._src.spatial.vec3 import Vec3, add, cross, dot
from worldline._src.step.reaching import pairs_of

_CONTACT_ID, _NCONTACT = collision.ENTRY["contact_id"], collision.ENTRY["ncontact"]
_BODY_X, _NBODY = collision.ENTRY["body_X_W"], collision.ENTRY["nbody"]

(TREE_M, TREE_C, TREE_D, ROW_M, ROW_C, ROW_ARGS, ROW_D, CONTACT_M, CONTACT_D, CONTACT_DUALS) = range(10)
(NUMBERS, GROUPS, START_V, END_V, SOLVED, ACTIVATED, CONTACT_MAKER, IS_DAMPED) = range(10, 18)
(NV, NLINK, BIT, WITHOUT, COUNTS, IS_STIFF) = range(18, 24)
(EQUALITY_MAKER, COLORS, COLOR_COUNT) = range(24, 27)
(TENDON_MAKER, TENDON_COLORS, TENDON_COLOR_COUNT, TENDON_LENGTHS, TENDON_NUMBERS, HAS_ROWS) = range(27, 33)
(LIMIT_MAKER, TURNS, TURN_COUNT) = range(33, 36)
HEADER = 36
"""Integers of the header: addresses of arenas and arrays, plain ones but for ROW_D and CONTACT_DUALS; which
maker of rows is that of contacts, whether damping is implicit, sizes, bodies that are displaced, whether
contacts obey Coulomb's law; which maker is that of equalities, colors of links and how many there are;
the same of tendons, with the stage of their lengths and their numbers; whether the step has rows; which
maker is that of limits, first coordinates and degrees of freedom of orientations."""

GROUP = 5
"""Integers of a group: its first place in the order of degrees of freedom, its size, where its matrices
start, whether it is damped, whether its Hessian is stiff: that of an island with contacts that obey Coulomb's
law, which is not symmetric."""
REFINEMENTS = 2
"""Of solutions with a stiff Hessian."""
SCRATCH = 144
"""Numbers of the scratch of one contact or equality."""
HALVES = 134217729.0
"""2^27 + 1: what splits the digits of a number."""


class Linear(NamedTuple):
    """What derivatives are made of, plain numbers.

    M: mass matrix. dq, dv: derivatives of r by displacements and velocities. dMw: those of M w by
    displacements. H, HD: factors of the Hessian and of M + h D, group by group. joint: r without RNEA and
    contacts, then its derivatives along the directions of joints (nv, 8). damping: h D. w: a step's change of
    accelerations by damping.
    """

    M: Any
    dq: Any
    dv: Any
    dMw: Any
    H: Any
    HD: Any
    joint: Any
    residual: Any
    damping: Any
    w: Any
    rate: Any
    second: Any
    both: Any
    rate_a: Any
    B: Any
    link_W: Any
    link_Va: Any
    scratch: Any
    """K, axes of a contact; wrenches of the rows of an equality."""
    columns: Any
    """Rows by columns of a contact, (5, 6, nv)."""
    stiff: Any
    """Stiff Hessians, whose factors are in H."""
    pivot: Any
    """Their pivots, group by group, what a solution has below its digits, and scratch, (4, nv)."""


def linear_size(nv: int, nlink: int) -> int:
    """How many numbers `linear_of` cuts."""
    return 7 * nv * nv + (8 + 3 + 24 + 30 + 4) * nv + 24 * nlink + SCRATCH


@inline
def linear_of(header):
    """The plain numbers of derivatives."""
    nv, nlink, x = header[NV], header[NLINK], memory.address_as(header[NUMBERS], float64)
    s, at, links = nv * nv, 6 * nv * nv, 6 * nv * nv + 65 * nv
    return Linear(
        memory.matrix(x, 0, nv, nv),
        memory.matrix(x, s, nv, nv),
        memory.matrix(x, 2 * s, nv, nv),
        memory.matrix(x, 3 * s, nv, nv),
        memory.vector(x, 4 * s, s),
        memory.vector(x, 5 * s, s),
        memory.matrix(x, at, nv, 8),
        memory.vector(x, at + 8 * nv, nv),
        memory.vector(x, at + 9 * nv, nv),
        memory.vector(x, at + 10 * nv, nv),
        memory.matrix(x, at + 11 * nv, nv, 6),
        memory.matrix(x, at + 17 * nv, nv, 6),
        memory.matrix(x, at + 23 * nv, nv, 6),
        memory.matrix(x, at + 29 * nv, nv, 6),
        memory.matrix(x, links, nlink, r.CORIOLIS),
        memory.matrix(x, links + 12 * nlink, nlink, 6),
        memory.matrix(x, links + 18 * nlink, nlink, 6),
        memory.vector(x, links + 24 * nlink, SCRATCH),
        memory.vector(x, at + 35 * nv, 30 * nv),
        memory.vector(x, links + 24 * nlink + SCRATCH, s),
        memory.matrix(x, links + 24 * nlink + SCRATCH + s, 4, nv),
    )


class Grouping(NamedTuple):
    """Groups of degrees of freedom that rows couple.

    count: how many groups there are. of: (groups, GROUP). order: degrees of freedom, group by group. place:
    where each is in that order, -1 when it is in no group yet. list: scratch.
    """

    count: Any
    of: Any
    order: Any
    place: Any
    list: Any


def grouping_size(nv: int) -> int:
    """How many integers `grouping_of` cuts."""
    return 8 + GROUP * (nv + 1) + 3 * nv


@inline
def grouping_of(header):
    """The groups of degrees of freedom."""
    nv, x = header[NV], memory.address_as(header[GROUPS], int64)
    at = 8 + GROUP * (nv + 1)
    return Grouping(
        memory.vector(x, 0, 8),
        memory.matrix(x, 8, nv + 1, GROUP),
        memory.vector(x, at, nv),
        memory.vector(x, at + nv, nv),
        memory.vector(x, at + 2 * nv, nv),
    )


class _Rates(NamedTuple):
    v: Any
    a: Any


# ---- trees


@stage
def linearize_dynamics(m, c, args, d):
    """poses, velocities, composites of the start, solved a -> r and its derivatives, without tau and rows."""
    tm, tc, nv = memory.address_as(m[TREE_M], int64), memory.address_as(m[TREE_C], float64), m[NV]
    lin, groups, numbers = linear_of(m), grouping_of(m), memory.address_as(m[NUMBERS], float64)
    v, a = (
        memory.vector(memory.address_as(m[START_V], float64), 0, nv),
        memory.vector(memory.address_as(m[SOLVED], float64), 0, nv),
    )
    for k in range(4 * nv * nv):
        numbers[k] = 0.0
    groups.count[0] = 0
    for k in range(nv):
        groups.place[k] = -1
        for j in range(8):
            lin.joint[k, j] = 0.0
    for i in range(m[NLINK]):
        for j in range(6):
            lin.link_W[i, j] = 0.0
    for j in range(6):
        lin.link_Va[0, j] = 0.0

    tree, inertia, pos, vel = (
        views.tree_view(tm, tc, d),
        views.inertia_view(tm, tc, d),
        views.position_view(tm, tc, d),
        views.velocity_view(tm, tc, d),
    )
    acc, kind, dof = (
        views.acceleration_view(tm, tc, d),
        views.joint_view(tm, tc, d).dof_kind,
        views.dof_view(tm, tc, d),
    )
    rnea.no_external_forces(acc.link_F)
    velocities.accelerate_world(views.field_view(tm, tc, d).gravity, 1, acc.link_A)
    rnea.rnea(tree, inertia, pos, vel, a, acc, lin.residual)
    work = r.ColumnWork(
        lin.rate, lin.second, lin.both, acc.link_A, lin.B, views.mass_view(tm, tc, d).link_crb, acc.link_F
    )
    r.column_motions(tree, kind, inertia, pos, vel, _Rates(v, a), work)
    r.inverse_dynamics_jacobians(dof, kind, inertia, pos, work, r.DynamicsJacobians(lin.dq, lin.dv, lin.M))
    r.carried_motions(tree, pos, a, lin.link_Va, lin.rate_a)
    chain, body = views.chain_view(tm, tc, d), views.body_view(tm, tc, d)
    _add_body_forces(chain, body, inertia, pos, views.step_view(tm, tc, d), lin)


@inline
def _add_body_forces(chain, body, inertia, pos, step, lin):
    """Forces at centres of mass: wrenches that are held, and the change of their arms."""
    for i in range(1, body.link_body.shape[0]):
        b = body.link_body[i]
        f = Vec3(step.body_f[b, 3], step.body_f[b, 4], step.body_f[b, 5])
        moment = Vec3(step.body_f[b, 0], step.body_f[b, 1], step.body_f[b, 2])
        if dot(f, f) == 0.0 and dot(moment, moment) == 0.0:
            continue
        arm = center_of_mass(inertia, pos, i)
        W = spatial_motion.Force(add(moment, cross(arm, f)), f)
        spatial_motion.store_spatial(
            lin.link_W, i, spatial_motion.add_force(spatial_motion.load_force(lin.link_W, i), W)
        )
        last = chain.link_last[i]
        j = last
        while j >= 0:
            # dW/dq_j = (dc/dq_j x f, 0)
            turn = cross(spatial_motion.velocity_at(spatial_motion.load_motion(pos.dof_S, j), arm), f)
            k = last
            while k >= 0:
                S = spatial_motion.load_motion(pos.dof_S, k)
                lin.dq[k, j] -= dot(S.ang, turn)
                k = chain.dof_parent[k]
            S = spatial_motion.load_motion(pos.dof_S, j)
            lin.residual[j] -= dot(S.ang, W.ang) + dot(S.lin, W.lin)
            j = chain.dof_parent[j]


# ---- rows


@inline
def load_accelerations(header, n, solution):
    """Solved accelerations of an island."""
    a = memory.address_as(header[SOLVED], float64)
    for j in range(n):
        solution.island_a[j] = a[solution.column_dof[j]]


@stage
def linearize_joints(m, c, args, d):
    """tau, q, v along directions of joints, islands -> r of joints, groups, Hessians without contacts."""
    tm, tc = memory.address_as(m[TREE_M], int64), memory.constants_like(m[TREE_C], d)
    tau, nv, lin = views.operand_view(tm, tc, d).tau, m[NV], linear_of(m)
    u = views.articulated_view(tm, tc, d).dof_u
    for k in range(nv):
        u[k] = -tau[k]
    if m[HAS_ROWS] == 1:
        rows_m, rows_c = memory.address_as(m[ROW_M], int64), memory.constants_like(m[ROW_C], d)
        rows_args, rows_d = memory.address_as(m[ROW_ARGS], int64), memory.address_like(m[ROW_D], d)
        _joint_rows(m, lin, rows_m, rows_c, rows_args, rows_d, views.operand_view(tm, tc, d).v, u)
    doubles = memory.vector(memory.pointer_as(u, float64), 0, DOUBLES * nv)
    for k in range(nv):
        for j in range(DOUBLES):
            lin.joint[k, j] = doubles[DOUBLES * k + j]


@inline
def limits_turn(limit, notes, k):
    """Whether row `k` limits the angle of an orientation."""
    return notes.row_note[k, 0] == t.OF_LIMIT and limit.limit_kind[notes.row_note[k, 1]] == t.ANGLE


@inline
def _joint_rows(header, lin, m, c, args, d, v, residual_io):
    """Rows of islands without those of contacts; groups, and M with these rows."""
    program, island = t.program_view(m, c, args, d).program, t.island_view(m, c, args, d)
    counter, pair, groups = island.counter, pairs_of(m, c, args, d).ids, grouping_of(header)
    first, at = 0, 0
    for i in range(counter[t.ISLANDS]):
        n = islands.open_island(pair, i, island)
        args[t.ISLAND_COLUMNS], args[t.ISLAND_WIDTH] = n, islands.padded_columns(n)
        # views are cut by the size of the island at hand
        motion, solution = t.motion_view(m, c, args, d), t.solve_view(m, c, args, d)
        rows, notes = t.row_view(m, c, args, d), t.row_note_view(m, c, args, d)
        work = t.work_view(m, c, args, d)
        g = groups.count[0]
        groups.of[g, 0], groups.of[g, 1], groups.of[g, 2], groups.of[g, 4] = first, n, at, 0
        groups.count[0] = g + 1
        H = memory.matrix(memory.pointer_as(lin.H, float64), at, n, n)
        for j in range(n):
            k = motion.column_dof[j]
            groups.order[first + j], groups.place[k] = k, first + j
            motion.island_v[j] = v[k]
            for e in range(n):
                H[j, e] = lin.M[k, motion.column_dof[e]]
        first, at = first + n, at + n * n
        load_accelerations(header, n, solution)
        counter[t.ROWS], counter[t.BOUNCED] = 0, 0
        for k in range(counter[t.ROW_STAGES]):
            if k != header[CONTACT_MAKER] and k != header[EQUALITY_MAKER] and k != header[TENDON_MAKER]:
                memory.call_stage(program[t.FIRST_ROW_LINK + k], m, c, args, d)
        count, limit = counter[t.ROWS], t.limit_view(m, c, args, d)
        slack, force = work.slack[0], solution.row_force
        weight = memory.vector(memory.pointer_as(work.slack[1], float64), 0, count)
        row_slacks(rows, notes, count, solution.island_a, slack)
        row_forces(rows, count, slack, force, weight)
        for k in range(count):
            if limits_turn(limit, notes, k):
                continue
            for j in range(n):
                if rows.J[k, j] != 0.0:
                    residual_io[motion.column_dof[j]] = (
                        residual_io[motion.column_dof[j]] - rows.J[k, j] * force[k]
                    )
                    x = value_of(rows.J[k, j])
                    H[j, j] += weight[k] * x * x


# ---- groups


@inline
def _factor(H_io):
    """H = L^T L from the tips on, so that what no row couples stays zero; inverses on the diagonal."""
    n = H_io.shape[0]
    for k in range(n - 1, -1, -1):
        inverse = 1.0 / sqrt(H_io[k, k])
        H_io[k, k] = inverse
        for j in range(k):
            H_io[k, j] *= inverse
        for i in range(k):
            x = H_io[k, i]
            if x != 0.0:
                for j in range(i + 1):
                    H_io[i, j] -= x * H_io[k, j]


@inline
def solve_group(L, first, columns, X_io):
    """X = H^-1 X for rows of X from `first` on, by the factor of a group."""
    n = L.shape[0]
    for k in range(n - 1, -1, -1):
        x = L[k, k]
        for j in range(columns):
            X_io[first + k, j] *= x
        for i in range(k):
            x = L[k, i]
            if x != 0.0:
                for j in range(columns):
                    X_io[first + i, j] -= x * X_io[first + k, j]
    for k in range(n):
        for i in range(k):
            x = L[k, i]
            if x != 0.0:
                for j in range(columns):
                    X_io[first + k, j] -= x * X_io[first + i, j]
        x = L[k, k]
        for j in range(columns):
            X_io[first + k, j] *= x


@inline
def _solve_transposed(H, pivot, x_io):
    """x = H^-T x by the factors of `factor_with_pivots`: by U^T, then L^T, then rows change places."""
    n = H.shape[0]
    for k in range(n):
        y = x_io[k] * H[k, k]
        x_io[k] = y
        for i in range(k + 1, n):
            x_io[i] -= H[k, i] * y
    for k in range(n - 1, -1, -1):
        y = x_io[k]
        for i in range(k):
            x_io[i] -= H[k, i] * y
    for k in range(n - 1, -1, -1):
        best = int(pivot[k])
        if best != k:
            x, y = x_io[k], x_io[best]
            x_io[k], x_io[best] = y, x


@inline
def _high_half(x):
    """The upper half of the digits of a number [Dekker 1971]."""
    wide = HALVES * x
    return wide - (wide - x)


@inline
def take_off_product(total, error, a, b):
    """total + error - a b, where `error` has what sums and products lose [Ogita, Rump & Oishi 2005]."""
    p, high_a, high_b = a * b, _high_half(a), _high_half(b)
    low_a, low_b = a - high_a, b - high_b
    # products of halves are exact: a b - p
    lost = ((high_a * high_b - p) + high_a * low_b + low_a * high_b) + low_a * low_b
    s = total - p
    z = s - total
    return s, error + ((total - (s - z)) - (p + z)) - lost


@outline
def solve_stiff(H, factors, pivot, work, transposed, x_io):
    """x = H^-1 x, or H^-T x, although H has the stiffness of hard contacts beside inertias.

    work: two vectors; the second becomes what the solution has below the digits of x. Each refinement leaves
    the share of the error that the factors leave.
    """
    n, b, y = H.shape[0], work[0], work[1]
    for i in range(n):
        b[i], y[i], x_io[i] = x_io[i], x_io[i], 0.0
    for turn in range(REFINEMENTS + 1):
        if transposed:
            _solve_transposed(factors, pivot, y)
        else:
            solve_with_pivots(factors, pivot, y)
        if turn < REFINEMENTS:
            for i in range(n):
                x_io[i] += y[i]
            # y = b - H x
            for i in range(n):
                total, error = b[i], 0.0
                for k in range(n):
                    h = H[i, k]
                    if transposed:
                        h = H[k, i]
                    total, error = take_off_product(total, error, h, x_io[k])
                y[i] = total + error


@inline
def _group_the_rest(parent, lin, groups):
    """Trees in no island are groups of their own."""
    first, at, count = 0, 0, groups.count[0]
    if count > 0:
        last = groups.of[count - 1]
        first, at = last[0] + last[1], last[2] + last[1] * last[1]
    start, nv = 0, parent.shape[0]
    while start < nv:
        end = start + 1
        while end < nv and parent[end] >= 0:
            end += 1
        if groups.place[start] < 0:
            n = end - start
            groups.of[count, 0], groups.of[count, 1], groups.of[count, 2] = first, n, at
            groups.of[count, 4] = 0
            H = memory.matrix(memory.pointer_as(lin.H, float64), at, n, n)
            for i in range(n):
                groups.order[first + i], groups.place[start + i] = start + i, first + i
                for j in range(n):
                    H[i, j] = lin.M[start + i, start + j]
            first, at, count = first + n, at + n * n, count + 1
        start = end
    groups.count[0] = count


@stage
def finish_linear(m, c, args, d):
    """r and its derivatives, Hessians -> factors of Hessians and of M + h D; wrenches are part of dr/dq."""
    tm, tc, nv = memory.address_as(m[TREE_M], int64), memory.address_as(m[TREE_C], float64), m[NV]
    lin, groups, numbers = linear_of(m), grouping_of(m), memory.address_as(m[NUMBERS], float64)
    tree, pos, dof = views.tree_view(tm, tc, d), views.position_view(tm, tc, d), views.dof_view(tm, tc, d)
    kind, acc, inertia = (
        views.joint_view(tm, tc, d).dof_kind,
        views.acceleration_view(tm, tc, d),
        views.inertia_view(tm, tc, d),
    )
    # forces on links that are held, by subtrees
    for i in range(m[NLINK] - 1, 0, -1):
        p = tree.link_parent[i]
        if p > 0:
            for j in range(6):
                lin.link_W[p, j] += lin.link_W[i, j]
    r.subtract_held_forces(dof, kind, pos, lin.link_W, lin.dq)
    for k in range(nv):
        lin.residual[k] += lin.joint[k, 0]
        lin.dq[k, k] += lin.joint[k, 1]
        lin.dv[k, k] += lin.joint[k, 2]

    _group_the_rest(dof.dof_parent, lin, groups)
    a, h = memory.address_as(m[SOLVED], float64), views.step_view(tm, tc, d).time_step[0]
    damped = Damped(views.chain_view(tm, tc, d), views.passive_view(tm, tc, d), views.drive_view(tm, tc, d))
    for k in range(nv):
        lin.damping[k] = h * damping_of(damped, k) if m[IS_DAMPED] == 1 else 0.0
    any_damped = False
    for g in range(groups.count[0]):
        first, n, at = groups.of[g, 0], groups.of[g, 1], groups.of[g, 2]
        H = memory.matrix(numbers, 4 * nv * nv + at, n, n)
        if groups.of[g, 4] == 1:
            kept = memory.matrix(memory.pointer_as(lin.stiff, float64), at, n, n)
            for i in range(n):
                for j in range(n):
                    kept[i, j] = H[i, j]
            factor_with_pivots(H, memory.vector(memory.pointer_as(lin.pivot, float64), first, n))
        else:
            _factor(H)
        groups.of[g, 3] = 0
        for i in range(first, first + n):
            if lin.damping[groups.order[i]] != 0.0:
                groups.of[g, 3] = 1
        for i in range(first, first + n):
            lin.w[groups.order[i]] = 0.0
        if groups.of[g, 3] == 1:
            any_damped = True
            HD = memory.matrix(numbers, 5 * nv * nv + at, n, n)
            x = memory.matrix(memory.pointer_as(lin.columns, float64), 0, nv, 1)
            for i in range(n):
                k = groups.order[first + i]
                x[first + i, 0] = lin.damping[k] * a[k]
                for j in range(n):
                    HD[i, j] = lin.M[k, groups.order[first + j]]
                HD[i, i] += lin.damping[k]
            _factor(HD)
            solve_group(HD, first, 1, x)
            for i in range(n):
                lin.w[groups.order[first + i]] = x[first + i, 0]
    if any_damped:
        # d(M w)/dq
        for j in range(6):
            lin.link_Va[0, j] = 0.0
        inertial_forces(tree, inertia, pos, lin.w, acc, lin.columns)
        r.carried_motions(tree, pos, lin.w, lin.link_Va, lin.second)
        crb = views.mass_view(tm, tc, d).link_crb
        r.inertial_force_jacobian(dof, kind, pos, lin.second, crb, acc.link_F, lin.dMw)
