# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of analytic derivatives of a step that differentiate equalities, tendons and contacts.

They run after `linearize_joints`; see `analytic_stages.py`.
"""

from __future__ import annotations

from typing import Any

from worldline._src.duals.kind import DIRECTIONS, DOUBLES
from worldline._src.jit import inline, stage
from worldline._src.kernels.constraints import contact_derivatives as contacts
from worldline._src.kernels.constraints import islands
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.equality import derivatives as equalities
from worldline._src.kernels.constraints.equality.derivatives import POSES, VELOCITIES
from worldline._src.kernels.constraints.equality.kinds import JOINT
from worldline._src.kernels.constraints.row_derivatives import add_slips, row_forces, row_slacks
from worldline._src.kernels.constraints.solve import IslandRows
from worldline._src.kernels.constraints.tendon import derivatives as tendons
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kinds import float64, int64
from worldline._src.model import views
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar import memory
from worldline._src.step.analytic_stages import (
    BIT,
    COLOR_COUNT,
    COLORS,
    CONTACT_D,
    CONTACT_DUALS,
    CONTACT_M,
    CONTACT_MAKER,
    COUNTS,
    EQUALITY_MAKER,
    IS_STIFF,
    NLINK,
    NV,
    ROW_ARGS,
    ROW_C,
    ROW_D,
    ROW_M,
    SOLVED,
    START_V,
    TENDON_COLOR_COUNT,
    TENDON_COLORS,
    TENDON_LENGTHS,
    TENDON_MAKER,
    TENDON_NUMBERS,
    TREE_C,
    TREE_D,
    TREE_M,
    WITHOUT,
    grouping_of,
    linear_of,
    load_accelerations,
)
from worldline._src.step.reaching import contacts_of, pairs_of

_CONTACT_ID, _NCONTACT = collision.ENTRY["contact_id"], collision.ENTRY["ncontact"]
_BODY_X, _NBODY = collision.ENTRY["body_X_W"], collision.ENTRY["nbody"]


NO_COLOR = -2
"""In the place of a color: that of no link."""


class MadeRows(NamedTuple):
    """Rows of one maker of the island at hand, with the views they are in."""

    motion: Any
    solution: Any
    rows: Any
    notes: Any
    work: Any
    count: Any
    weight: Any


@inline
def rows_of_maker(header, maker, n, v, m, c, args, d):
    """The rows of one maker in an island of n columns, at velocities v and the solved accelerations."""
    program, counter = t.program_view(m, c, args, d).program, t.island_view(m, c, args, d).counter
    args[t.ISLAND_COLUMNS], args[t.ISLAND_WIDTH] = n, islands.padded_columns(n)
    # views are cut by the size of the island at hand
    motion, solution = t.motion_view(m, c, args, d), t.solve_view(m, c, args, d)
    rows, notes = t.row_view(m, c, args, d), t.row_note_view(m, c, args, d)
    work = t.work_view(m, c, args, d)
    for j in range(n):
        motion.island_v[j] = v[motion.column_dof[j]]
    load_accelerations(header, n, solution)
    counter[t.ROWS], counter[t.BOUNCED] = 0, 0
    memory.call_stage(program[t.FIRST_ROW_LINK + maker], m, c, args, d)
    count = counter[t.ROWS]
    weight = memory.vector(memory.pointer_as(work.slack[1], float64), 0, count)
    row_slacks(rows, notes, count, solution.island_a, work.slack[0])
    return MadeRows(motion, solution, rows, notes, work, count, weight)


@inline
def solved_rows(made):
    """Slacks, forces and weights of rows."""
    slack, force = made.work.slack[0], made.solution.row_force
    row_forces(made.rows, made.count, slack, force, made.weight)
    return contacts.SolvedRows(slack, force, made.weight)


# ---- equalities


@inline
def _seed_poses(header, anchor_X, anchor_link, colors, color):
    """Poses of anchors, along unit twists of the links of a color about the reference points of trees."""
    tm, td = memory.address_as(header[TREE_M], int64), memory.address_as(header[TREE_D], float64)
    tc, anchors = memory.address_as(header[TREE_C], float64), anchor_link.shape[0]
    origin, root = views.position_view(tm, tc, td).link_origin, views.tree_view(tm, tc, td).link_root
    X = memory.matrix(memory.pointer_as(anchor_X, float64), 0, 12 * anchors, DOUBLES)
    for i in range(12 * anchors):
        for k in range(1, DOUBLES):
            X[i, k] = 0.0
    for f in range(anchors):
        link, at = anchor_link[f], 12 * f
        if link > 0 and colors[link] == color:
            o = root[link]
            for k in range(3):
                # dp = e x (p - o), dR = [e] R by rows, e the axes
                one, two = (k + 1) % 3, (k + 2) % 3
                X[at + one, 1 + k] = origin[o, two] - X[at + two, 0]
                X[at + two, 1 + k] = X[at + one, 0] - origin[o, one]
                for j in range(3):
                    X[at + 3 + 3 * one + j, 1 + k] = -X[at + 3 + 3 * two + j, 0]
                    X[at + 3 + 3 * two + j, 1 + k] = X[at + 3 + 3 * one + j, 0]
                X[at + k, 4 + k] = 1.0


@inline
def _seed_velocities(link_V, colors, color):
    """Velocities of the links of a color, along unit twists."""
    nlink = colors.shape[0]
    V = memory.matrix(memory.pointer_as(link_V, float64), 0, 6 * nlink, DOUBLES)
    for i in range(1, nlink):
        for k in range(6):
            for j in range(1, DOUBLES):
                V[6 * i + k, j] = 0.0
            if colors[i] == color:
                V[6 * i + k, 1 + k] = 1.0


@inline
def _seed_coordinates(equality, turn, q):
    """Coordinates that lead or that follow others, along the last direction."""
    coordinate = equality.equality_coordinate
    Q = memory.matrix(memory.pointer_as(q, float64), 0, q.shape[0], DOUBLES)
    for k in range(coordinate.shape[0]):
        if equality.equality_kind[k] == JOINT:
            for j in range(2):
                if j == 0 or equality.equality_second[k] >= 0:
                    Q[coordinate[k, j], DIRECTIONS] = 1.0 if j != turn else 0.0


@stage
def linearize_equalities(m, c, args, d):
    """anchors, velocities and solved accelerations of links, q, v -> r and its derivatives, Hessians."""
    tm, tc = memory.address_as(m[TREE_M], int64), memory.constants_like(m[TREE_C], d)
    rows_m, rows_c = memory.address_as(m[ROW_M], int64), memory.constants_like(m[ROW_C], d)
    rows_args, rows_d = memory.address_as(m[ROW_ARGS], int64), memory.address_like(m[ROW_D], d)
    anchors, equality = (
        t.anchor_pose_view(rows_m, rows_c, rows_args, rows_d),
        t.equality_view(rows_m, rows_c, rows_args, rows_d),
    )
    link_V, q = views.velocity_view(tm, tc, d).link_V, views.operand_view(tm, tc, d).q
    colors = memory.vector(memory.address_as(m[COLORS], int64), 0, m[NLINK])
    for color in range(m[COLOR_COUNT]):
        for turn in range(2):
            # links are displaced, then sped up
            _seed_poses(
                m, anchors.anchor_X, anchors.anchor_link, colors, color if turn == POSES else NO_COLOR
            )
            _seed_velocities(link_V, colors, color if turn == VELOCITIES else NO_COLOR)
            _seed_coordinates(equality, turn, q)
            _equality_rows(m, rows_m, rows_c, rows_args, rows_d, color, turn)


@inline
def _equality_rows(header, m, c, args, d, color, turn):
    """See `linearize_equalities`."""
    island, pair = t.island_view(m, c, args, d), pairs_of(m, c, args, d).ids
    counter, groups, lin = island.counter, grouping_of(header), linear_of(header)
    tm, tc, td = (
        memory.address_as(header[TREE_M], int64),
        memory.address_as(header[TREE_C], float64),
        memory.address_as(header[TREE_D], float64),
    )
    pos, chain = views.position_view(tm, tc, td), views.chain_view(tm, tc, td)
    motions = equalities.LinkMotions(
        chain.dof_parent,
        chain.link_last,
        views.tree_view(tm, tc, td).link_root,
        pos.link_origin,
        pos.dof_S,
        views.velocity_view(tm, tc, td).link_V,
        views.acceleration_view(tm, tc, td).link_A,
        lin.rate,
        lin.second,
        lin.both,
    )
    nv, v = header[NV], memory.address_as(header[START_V], float64)
    form = equalities.EqualityForm(
        motions,
        memory.vector(memory.address_as(header[COLORS], int64), 0, header[NLINK]),
        color,
        turn,
        views.step_view(tm, tc, td).time_step[0],
        t.weight_view(m, c, args, d).option[t.SAFE] != 0.0,
    )
    for i in range(counter[t.ISLANDS]):
        n = islands.open_island(pair, i, island)
        made = rows_of_maker(header, header[EQUALITY_MAKER], n, v, m, c, args, d)
        if made.count == 0:
            continue
        equalities.linearize_equalities(
            form,
            t.equality_view(m, c, args, d),
            t.anchor_pose_view(m, c, args, d).anchor_X,
            t.member_view(m, c, args, d),
            made.rows,
            solved_rows(made),
            equalities.EqualityScratch(
                groups.list,
                made.work.vectors[0],
                memory.matrix(memory.pointer_as(lin.columns, float64), 0, 6, nv),
                memory.matrix(memory.pointer_as(lin.scratch, float64), 0, 6, 6),
                memory.matrix(memory.pointer_as(lin.scratch, float64), 36, 6, 6),
            ),
            equalities.EqualitySums(
                lin.dq,
                lin.dv,
                lin.residual,
                lin.link_W,
                memory.matrix(memory.pointer_as(lin.H, float64), groups.of[i, 2], n, n),
            ),
        )


# ---- tendons


@stage
def linearize_tendons(m, c, args, d):
    """tendons, anchors, velocities, solved a -> r and its derivatives, Hessians."""
    rows_m, rows_c = memory.address_as(m[ROW_M], int64), memory.constants_like(m[ROW_C], d)
    rows_args, rows_d = memory.address_as(m[ROW_ARGS], int64), memory.address_like(m[ROW_D], d)
    tendon, anchors = (
        t.tendon_view(rows_m, rows_c, rows_args, rows_d),
        t.anchor_pose_view(rows_m, rows_c, rows_args, rows_d),
    )
    lin, nv = linear_of(m), m[NV]
    numbers = memory.matrix(memory.address_as(m[TENDON_NUMBERS], float64), 0, tendon.tendon_size.shape[0], 4)
    sums = tendons.TendonSums(lin.dq, lin.dv, lin.residual, lin.link_W)
    tendons.begin_tendons(tendon, numbers)
    if m[TENDON_MAKER] >= 0:
        _tendon_rows(m, rows_m, rows_c, rows_args, rows_d, numbers)
    tendons.add_tendons(tendon, numbers, sums)

    tm, tc = memory.address_as(m[TREE_M], int64), memory.address_as(m[TREE_C], float64)
    td = memory.address_as(m[TREE_D], float64)
    chain, pos = views.chain_view(tm, tc, td), views.position_view(tm, tc, td)
    motions = tendons.TendonMotions(
        chain.dof_parent,
        chain.link_last,
        pos.dof_S,
        views.velocity_view(tm, tc, td).link_V,
        lin.rate,
        lin.link_Va,
        lin.rate_a,
        memory.vector(memory.address_as(m[START_V], float64), 0, nv),
        memory.vector(memory.address_as(m[SOLVED], float64), 0, nv),
    )
    colors = memory.vector(memory.address_as(m[TENDON_COLORS], int64), 0, m[NLINK])
    for color in range(m[TENDON_COLOR_COUNT]):
        _seed_poses(m, anchors.anchor_X, anchors.anchor_link, colors, color)
        memory.call_stage(m[TENDON_LENGTHS], rows_m, rows_c, rows_args, rows_d)
        tendons.bend_tendons(motions, tendon, anchors.anchor_link, colors, color, numbers, sums)


@inline
def _tendon_rows(header, m, c, args, d, numbers_io):
    """Forces of the rows of tendons, and the Hessians of islands with them."""
    island, pair = t.island_view(m, c, args, d), pairs_of(m, c, args, d).ids
    counter, groups, lin = island.counter, grouping_of(header), linear_of(header)
    v = memory.address_as(header[START_V], float64)
    for i in range(counter[t.ISLANDS]):
        n = islands.open_island(pair, i, island)
        made = rows_of_maker(header, header[TENDON_MAKER], n, v, m, c, args, d)
        tendons.add_tendon_rows(
            t.tendon_view(m, c, args, d),
            t.member_view(m, c, args, d).dof_column,
            made.rows,
            made.notes,
            solved_rows(made),
            made.count,
            numbers_io,
            memory.matrix(memory.pointer_as(lin.H, float64), groups.of[i, 2], n, n),
        )


# ---- contacts


@stage
def displace_bodies(m, c, args, d):
    """poses of bodies -> the same in dual numbers, along unit rotations and translations."""
    hm, X = memory.address_as(m[CONTACT_M], int64), memory.address_as(m[CONTACT_D], float64)
    duals = memory.address_as(m[CONTACT_DUALS], float64)
    count, at = hm[_NBODY], hm[_BODY_X]
    row_m, row_c, row_args = (
        memory.address_as(m[ROW_M], int64),
        memory.address_as(m[ROW_C], float64),
        memory.address_as(m[ROW_ARGS], int64),
    )
    body_link = t.weight_view(row_m, row_c, row_args, d).body_link
    displaced = contacts.Displaced(m[BIT], m[WITHOUT], m[COUNTS] == 1)
    for b in range(count):
        x = memory.vector(X, at + 12 * b, 12)
        y = memory.matrix(duals, DOUBLES * (at + 12 * b), 12, DOUBLES)
        for k in range(12):
            y[k, 0] = x[k]
            for j in range(1, DOUBLES):
                y[k, j] = 0.0
        if contacts.is_displaced(displaced, b, body_link[b]):
            for k in range(3):
                y[k, 4 + k] = 1.0
                # dR = [e] R by rows, e the axes
                one, two = (k + 1) % 3, (k + 2) % 3
                for j in range(3):
                    y[3 + 3 * one + j, 1 + k] = -x[3 + 3 * two + j]
                    y[3 + 3 * two + j, 1 + k] = x[3 + 3 * one + j]


@stage
def linearize_contacts(m, c, args, d):
    """contacts along displacements of bodies, v, solved a -> r and its derivatives, Hessians."""
    rows_m, rows_c = memory.address_as(m[ROW_M], int64), memory.constants_like(m[ROW_C], d)
    rows_args, rows_d = memory.address_as(m[ROW_ARGS], int64), memory.address_like(m[ROW_D], d)
    _contact_rows(m, rows_m, rows_c, rows_args, rows_d)


@inline
def _contact_rows(header, m, c, args, d):
    """See `linearize_contacts`."""
    island, pair = t.island_view(m, c, args, d), pairs_of(m, c, args, d).ids
    counter, groups, lin = island.counter, grouping_of(header), linear_of(header)
    tm, tc, td = (
        memory.address_as(header[TREE_M], int64),
        memory.address_as(header[TREE_C], float64),
        memory.address_as(header[TREE_D], float64),
    )
    pos, chain, weights = (
        views.position_view(tm, tc, td),
        views.chain_view(tm, tc, td),
        t.weight_view(m, c, args, d),
    )
    hm, X = memory.address_as(header[CONTACT_M], int64), memory.address_as(header[CONTACT_D], float64)
    touching = contacts.Touching(
        chain.dof_parent,
        chain.link_last,
        views.tree_view(tm, tc, td).link_root,
        pos.link_origin,
        pos.dof_S,
        views.velocity_view(tm, tc, td).link_V,
        lin.rate,
        lin.link_Va,
        lin.rate_a,
        weights.body_link,
        memory.matrix(X, hm[_BODY_X], hm[_NBODY], 12),
    )
    h = views.step_view(tm, tc, td).time_step[0]
    laws = contacts.ContactLaws(t.shape_law_view(m, c, args, d), h, weights.option[t.SAFE] != 0.0)
    displaced = contacts.Displaced(header[BIT], header[WITHOUT], header[COUNTS] == 1)
    v, nv = memory.address_as(header[START_V], float64), header[NV]
    wide = memory.pointer_as(lin.columns, float64)
    scratch = contacts.ContactScratch(
        groups.list,
        memory.matrix(wide, 0, 6, nv),
        memory.matrix(wide, 6 * nv, 6, nv),
        memory.matrix(wide, 12 * nv, 6, nv),
        memory.matrix(wide, 18 * nv, 6, nv),
        memory.matrix(wide, 24 * nv, 6, nv),
        memory.matrix(memory.pointer_as(lin.scratch, float64), 0, 6, 6),
        memory.matrix(memory.pointer_as(lin.scratch, float64), 36, 3, 3),
    )
    for i in range(counter[t.ISLANDS]):
        n = islands.open_island(pair, i, island)
        if counter[t.CONTACT_FIRST] == counter[t.CONTACT_END]:
            continue
        made = rows_of_maker(header, header[CONTACT_MAKER], n, v, m, c, args, d)
        frames = t.contact_frame_view(m, c, args, d)
        add_slips(t.member_view(m, c, args, d), frames, made.rows, made.work.slack[0])
        groups.of[i, 4] = header[IS_STIFF]
        H = memory.matrix(memory.pointer_as(lin.H, float64), groups.of[i, 2], n, n)
        contacts.linearize_contacts(
            contacts.ContactForm(touching, laws, displaced),
            contacts_of(args, d),
            IslandRows(t.member_view(m, c, args, d), made.rows, made.notes, frames),
            solved_rows(made),
            made.work,
            scratch,
            contacts.ContactSums(lin.dq, lin.dv, lin.residual, lin.link_W, H, groups.of[i, 4] == 1),
        )
