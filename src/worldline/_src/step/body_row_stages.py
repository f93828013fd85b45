# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Solver stage of large islands, whose rows touch at most two trees.

The stages that make rows and mass matrices are those of other islands. They are called for one contact, one
constraint or one tree at a time, as if it were the island, so that a row has the columns of its two trees
alone (`kernels/constraints/body_rows.py`).
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, stage
from worldline._src.kernels.constraints import body_blocks, body_rows
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.body_rows import BodyRowWork
from worldline._src.kernels.constraints.contact import recovery_energy
from worldline._src.kernels.constraints.islands import padded_columns
from worldline._src.kernels.constraints.solve import IslandRows
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.model.views import chain_view, control_view, inertia_view, operand_view
from worldline._src.named_tuple import NamedTuple
from worldline._src.step.island_stages import are_free, call_linked
from worldline._src.step.reaching import pairs_of, trees_of

_CONTACT_ID, _NCONTACT = collision.ENTRY["contact_id"], collision.ENTRY["ncontact"]


@inline
def side_columns(island, tree_node, t):
    """Columns of tree `t` in rows: whole nodes, and those of one where it cannot move or is none."""
    columns = body_blocks.SIDE
    if t >= 0 and island.tree_prescribed[t] == 0:
        columns = body_blocks.SIDE * (tree_node[t + 1] - tree_node[t])
    return columns


@inline
def _prescribed_columns(island, t):
    """Columns that a prescribed tree of many degrees of freedom has behind both sides."""
    columns = 0
    if t >= 0 and island.tree_prescribed[t] != 0:
        n = island.tree_dof[t + 1] - island.tree_dof[t]
        columns = n if n > body_blocks.SIDE else 0
    return columns


@inline
def row_columns(island, tree_node, a, b):
    """Columns of rows between trees `a` and `b`, -1 without, and of those while they are made.

    The latter include a prescribed tree that has more degrees of freedom than a node.
    """
    kept = side_columns(island, tree_node, a) + side_columns(island, tree_node, b if b != a else -1)
    return kept, kept + _prescribed_columns(island, a) + _prescribed_columns(island, b)


@inline
def _open_side(island_io, t, at, size, behind, v, island_v_out):
    """Columns of tree `t` from `at` on, with their velocities; zeros in those of no degree of freedom.

    A prescribed tree without room there has its columns from `behind` on.
    """
    for j in range(at, at + size):
        island_v_out[j], island_io.column_dof[j] = 0.0, 0
    if t >= 0:
        first, n = island_io.tree_dof[t], island_io.tree_dof[t + 1] - island_io.tree_dof[t]
        to = at if n <= size else behind
        for d in range(first, first + n):
            island_v_out[to + d - first], island_io.column_dof[to + d - first] = v[d], d
            island_io.dof_column[d] = to + d - first


@inline
def _hide_prescribed(rows, first, end, column, tree_dof, t, mobile, prescribed):
    """Take prescribed motion of a tree out of rows; what it does goes to the reference acceleration."""
    if t >= 0:
        for d in range(tree_dof[t], tree_dof[t + 1]):
            if mobile[d] == 0.0:
                for k in range(first, end):
                    rows.aref[k] -= rows.J[k, column[d]] * prescribed[d]
                    rows.J[k, column[d]] = 0.0


@inline
def _add_groups(first, end, contact, a, b, sizes, groups, group_out):
    """Groups of rows `first` to end - 1 of trees `a` and `b`, -1 without; returns how many there are then."""
    while first < end:
        last = min(first + body_blocks.MOST_ROWS, end)
        group_out[groups, body_blocks.FIRST_ROW], group_out[groups, body_blocks.END_ROW] = first, last
        group_out[groups, body_blocks.COLUMN], group_out[groups, body_blocks.SECOND_COLUMN] = -1, -1
        group_out[groups, body_blocks.SIZE], group_out[groups, body_blocks.SECOND_SIZE] = sizes
        group_out[groups, body_blocks.TREE], group_out[groups, body_blocks.SECOND_TREE] = a, b
        group_out[groups, body_blocks.CONTACT], group_out[groups, body_blocks.PAIR] = contact, -1
        first = last
        groups += 1
    return groups


class GroupMaking(NamedTuple):
    """What rows of groups are made with: views, cut once for an island; width: of its rows."""

    program: Any
    island: Any
    members: Any
    trees: Any
    v: Any
    prescribed: Any
    mobile: Any
    width: Any


@inline
def _make_group(m, c, args, d, making, a, b, contact, links, groups):
    """Call the stages that make rows, for trees `a` and `b`, and add their groups; returns how many.

    links: range of the links of these stages.
    """
    island, trees, width = making.island, making.trees, making.width
    first, second = island.counter[r.ROWS], b if b != a else -1
    sizes = side_columns(island, trees.tree_node, a), side_columns(island, trees.tree_node, second)
    kept, columns = row_columns(island, trees.tree_node, a, b)
    made = max(width, padded_columns(columns))
    args[r.ISLAND_COLUMNS], args[r.ISLAND_WIDTH] = columns, made
    rows, island_v = r.row_view(m, c, args, d), r.motion_view(m, c, args, d).island_v
    _open_side(island, a, 0, sizes[0], kept, making.v, island_v)
    _open_side(island, second, sizes[0], sizes[1], kept, making.v, island_v)
    for k in range(links[0], links[1]):
        call_linked(making.program[k], m, c, args, d)
    end, column = island.counter[r.ROWS], island.dof_column
    _hide_prescribed(rows, first, end, column, island.tree_dof, a, making.mobile, making.prescribed)
    _hide_prescribed(rows, first, end, column, island.tree_dof, second, making.mobile, making.prescribed)
    if made > width:
        # the columns of both trees come first in rows, so rows move towards the start of the storage
        args[r.ISLAND_WIDTH] = width
        kept_rows = r.row_view(m, c, args, d)
        for row in range(first, end):
            for j in range(width):
                kept_rows.J[row, j] = rows.J[row, j]
    if a >= 0 and island.tree_prescribed[a] != 0:
        a = -1
    if second >= 0 and island.tree_prescribed[second] != 0:
        second = -1
    return _add_groups(first, end, contact, a, second, sizes, groups, trees.group)


@inline
def _contact_groups(m, c, args, d, making, pair, groups):
    """Rows of all contacts of the island at hand; returns how many groups there are then."""
    island = making.island
    counter = island.counter
    begin, end = counter[r.CONTACT_FIRST], counter[r.CONTACT_END]
    for i in range(begin, end):
        k = island.contact_order[i]
        a, b = island.body_tree[pair[k, 2]], island.body_tree[pair[k, 3]]
        counter[r.CONTACT_FIRST], counter[r.CONTACT_END] = i, i + 1
        groups = _make_group(m, c, args, d, making, a, b, k, (r.CONTACT_LINK, r.CONTACT_LINK + 1), groups)
    counter[r.CONTACT_FIRST], counter[r.CONTACT_END] = begin, end
    return groups


@inline
def _set_ranges(members_out, t, limit, friction, motor, equality, tendon, speed):
    """What tree `t` has of each kind of row, as ranges of their lists."""
    members_out.tree_limit[t], members_out.tree_limit[t + 1] = limit
    members_out.tree_friction[t], members_out.tree_friction[t + 1] = friction
    members_out.tree_motor[t], members_out.tree_motor[t + 1] = motor
    members_out.tree_equality[t], members_out.tree_equality[t + 1] = equality
    members_out.tree_tendon[t], members_out.tree_tendon[t + 1] = tendon
    members_out.tree_speed[t], members_out.tree_speed[t + 1] = speed


@inline
def _tree_groups(m, c, args, d, making, is_last, groups):
    """Rows of trees without those of contacts, or those of speed limits, which come last of all.

    Ranges of a tree are narrowed to the constraints that touch the same trees: those of its joints together,
    then equalities and tendons one by one. Returns how many groups there are then.
    """
    island, members, trees = making.island, making.members, making.trees
    counter, none = island.counter, (0, 0)
    trees_begin, trees_end = counter[r.TREE_FIRST], counter[r.TREE_END]
    begin, end = counter[r.CONTACT_FIRST], counter[r.CONTACT_END]
    counter[r.CONTACT_END] = begin
    links = r.FIRST_ROW_LINK, r.FIRST_ROW_LINK + counter[r.ROW_STAGES]
    for i in range(trees_begin, trees_end):
        t = island.island_tree[i]
        if trees.tree_rows[t] == 0:
            continue
        counter[r.TREE_FIRST], counter[r.TREE_END] = i, i + 1
        limit = members.tree_limit[t], members.tree_limit[t + 1]
        friction = members.tree_friction[t], members.tree_friction[t + 1]
        motor = members.tree_motor[t], members.tree_motor[t + 1]
        equality = members.tree_equality[t], members.tree_equality[t + 1]
        tendon = members.tree_tendon[t], members.tree_tendon[t + 1]
        speed = members.tree_speed[t], members.tree_speed[t + 1]
        equalities, tendons = equality[1] - equality[0], tendon[1] - tendon[0]
        for k in range(1 if is_last else 1 + equalities + tendons):
            a, b = t, -1
            if is_last:
                _set_ranges(members, t, none, none, none, none, none, speed)
            elif k == 0:
                _set_ranges(members, t, limit, friction, motor, none, none, none)
            elif k <= equalities:
                at = equality[0] + k - 1
                one = members.equality_order[at]
                a, b = trees.equality_tree[one, 0], trees.equality_tree[one, 1]
                _set_ranges(members, t, none, none, none, (at, at + 1), none, none)
            else:
                at = tendon[0] + k - 1 - equalities
                one = members.tendon_order[at]
                a, b = trees.tendon_tree[one, 0], trees.tendon_tree[one, 1]
                _set_ranges(members, t, none, none, none, none, (at, at + 1), none)
            groups = _make_group(m, c, args, d, making, a, b, -1, links, groups)
        _set_ranges(members, t, limit, friction, motor, equality, tendon, speed)
    counter[r.TREE_FIRST], counter[r.TREE_END] = trees_begin, trees_end
    counter[r.CONTACT_FIRST], counter[r.CONTACT_END] = begin, end
    return groups


@inline
def row_width(island, members, trees, pair):
    """Widest rows of the island at hand, in whole packs, and while they are made."""
    kept, made = 2 * body_blocks.SIDE, 2 * body_blocks.SIDE
    for i in range(island.counter[r.CONTACT_FIRST], island.counter[r.CONTACT_END]):
        k = island.contact_order[i]
        a, b = island.body_tree[pair[k, 2]], island.body_tree[pair[k, 3]]
        columns, whole = row_columns(island, trees.tree_node, a, b)
        kept, made = max(kept, columns), max(made, whole)
    for i in range(island.counter[r.TREE_FIRST], island.counter[r.TREE_END]):
        t = island.island_tree[i]
        if trees.tree_rows[t] > 0:
            columns, whole = row_columns(island, trees.tree_node, t, -1)
            kept, made = max(kept, columns), max(made, whole)
            for k in range(members.tree_equality[t], members.tree_equality[t + 1]):
                one = members.equality_order[k]
                a, b = trees.equality_tree[one, 0], trees.equality_tree[one, 1]
                columns, whole = row_columns(island, trees.tree_node, a, b)
                kept, made = max(kept, columns), max(made, whole)
            for k in range(members.tree_tendon[t], members.tree_tendon[t + 1]):
                one = members.tendon_order[k]
                a, b = trees.tendon_tree[one, 0], trees.tendon_tree[one, 1]
                columns, whole = row_columns(island, trees.tree_node, a, b)
                kept, made = max(kept, columns), max(made, whole)
    return padded_columns(kept), padded_columns(made)


@inline
def _keep_masses(m, c, args, d):
    """Mass matrices of the trees of the island at hand; returns the trace of them all."""
    program, island = r.program_view(m, c, args, d).program, r.island_view(m, c, args, d)
    counter, trees, trace = island.counter, r.body_tree_view(m, c, args, d), 0.0
    begin, end = counter[r.TREE_FIRST], counter[r.TREE_END]
    for i in range(begin, end):
        t = island.island_tree[i]
        n = body_blocks.SIDE * (trees.tree_node[t + 1] - trees.tree_node[t])
        args[r.ISLAND_COLUMNS], args[r.ISLAND_WIDTH] = n, padded_columns(n)
        M, first = r.solve_view(m, c, args, d).M, island.tree_dof[t]
        for j in range(first, island.tree_dof[t + 1]):
            island.dof_column[j] = j - first
        counter[r.TREE_FIRST], counter[r.TREE_END] = i, i + 1
        call_linked(program[r.MASS_LINK], m, c, args, d)
        for j in range(island.tree_dof[t + 1] - first):
            trace += M[j, j]
        body_blocks.keep_mass(M, n, trees.matrix_at[t], trees.tree_matrix)
    counter[r.TREE_FIRST], counter[r.TREE_END] = begin, end
    return trace


@inline
def _number_columns(island_io, groups, trees_out):
    """Columns and nodes of all trees of the island at hand, and columns of groups; returns how many columns.

    The columns of a tree that no degree of freedom has are zero in all rows.
    """
    n = 0
    for i in range(island_io.counter[r.TREE_FIRST], island_io.counter[r.TREE_END]):
        t = island_io.island_tree[i]
        for node in range(trees_out.tree_node[t], trees_out.tree_node[t + 1]):
            trees_out.island_node[n // body_blocks.SIDE] = node
            for j in range(n, n + body_blocks.SIDE):
                island_io.column_dof[j] = 0
            first = island_io.tree_dof[t] + body_blocks.SIDE * (node - trees_out.tree_node[t])
            for d in range(first, min(first + body_blocks.SIDE, island_io.tree_dof[t + 1])):
                island_io.dof_column[d], island_io.column_dof[n + d - first] = n + d - first, d
            n += body_blocks.SIDE
    group = trees_out.group
    for g in range(groups):
        for side in range(2):
            t = group[g, body_blocks.TREE + side]
            if t >= 0:
                group[g, body_blocks.COLUMN + 2 * side] = island_io.dof_column[island_io.tree_dof[t]]
    return n


@inline
def _gather(island, a, v, solution_out, island_v_out):
    """Accelerations without rows, those of the last step and velocities by columns; zeros where none is."""
    for j in range(solution_out.island_a.shape[0]):
        solution_out.island_smooth[j], solution_out.island_a[j], island_v_out[j] = 0.0, 0.0, 0.0
    for i in range(island.counter[r.TREE_FIRST], island.counter[r.TREE_END]):
        t = island.island_tree[i]
        for d in range(island.tree_dof[t], island.tree_dof[t + 1]):
            j = island.dof_column[d]
            solution_out.island_smooth[j], solution_out.island_a[j] = a[d], solution_out.a_last[d]
            island_v_out[j] = v[d]


@inline
def _give_back(island, mobile, island_a, a_out):
    """Accelerations to the degrees of freedom that are not prescribed."""
    for i in range(island.counter[r.TREE_FIRST], island.counter[r.TREE_END]):
        t = island.island_tree[i]
        for d in range(island.tree_dof[t], island.tree_dof[t + 1]):
            if mobile[d] != 0.0:
                a_out[d] = island_a[island.dof_column[d]]


@stage
def solve_body_rows(m, c, args, d):
    """contacts, v, a of a large island -> a with its rows and their forces, by rows of two trees."""
    tm, tc, td = trees_of(args, d)
    pair = pairs_of(m, c, args, d).ids
    operands, island = operand_view(tm, tc, td), r.island_view(m, c, args, d)
    members, counter = r.member_view(m, c, args, d), island.counter
    body_trees, free = (
        r.body_tree_view(m, c, args, d),
        are_free(r.pgs_work_view(m, c, args, d).tree_link, island),
    )
    width, _ = row_width(island, members, body_trees, pair)
    groups, n = 0, 0
    making = GroupMaking(
        r.program_view(m, c, args, d).program,
        island,
        members,
        body_trees,
        operands.v,
        control_view(tm, tc, td).a_target,
        chain_view(tm, tc, td).dof_mobile,
        width,
    )
    # rows of trees, of contacts, of speed limits
    for part in range(3):
        if part == 1:
            groups = _contact_groups(m, c, args, d, making, pair, groups)
        elif not free:
            groups = _tree_groups(m, c, args, d, making, part == 2, groups)
    mass_trees = recovery_energy.IslandTrees(
        inertia_view(tm, tc, td).link_mass,
        r.tree_span_view(m, c, args, d).tree_links,
        r.split_view(m, c, args, d).tree_recovery,
        r.split_view(m, c, args, d).tree_grip,
    )
    if counter[r.ROWS] > 0:
        trace = _keep_masses(m, c, args, d)
        n = _number_columns(island, groups, body_trees)
        # vectors of all columns and two more, rows of two trees
        args[r.ISLAND_COLUMNS], args[r.ISLAND_WIDTH] = n, padded_columns(n + 2)
        vectors = r.work_view(m, c, args, d).vectors
        args[r.ISLAND_WIDTH] = width
        solution, island_v = r.solve_view(m, c, args, d), r.motion_view(m, c, args, d).island_v
        _gather(island, operands.a, operands.v, solution, island_v)
        counter[r.UNCONVERGED_BEFORE] = counter[r.UNCONVERGED]
        trees = body_blocks.BodyTrees(
            body_trees.tree_dof,
            body_trees.dof_column,
            body_trees.tree_node,
            body_trees.tree_matrix,
            body_trees.matrix_at,
            body_trees.node_block,
            body_trees.island_node,
            body_trees.tree_pair,
            body_trees.group,
            groups,
            trace,
        )
        rows = IslandRows(
            members,
            r.row_view(m, c, args, d),
            r.row_note_view(m, c, args, d),
            r.contact_frame_view(m, c, args, d),
        )
        body_rows.solve_body_rows(
            trees,
            1 if free else 0,
            r.contact_memory_view(m, c, args, d),
            r.work_view(m, c, args, d),
            rows,
            BodyRowWork(
                r.sweep_view(m, c, args, d),
                r.slip_view(m, c, args, d).slip_work,
                r.bounce_view(m, c, args, d),
                vectors,
                r.pair_block_view(m, c, args, d),
                r.body_factor_view(m, c, args, d),
            ),
            solution,
        )
        records = r.record_view(m, c, args, d)
        body_rows.record_contact_forces(rows, solution, records)
        recovery_energy.note_yielding(rows, records.contact_force)
        if not free and r.program_view(m, c, args, d).program[r.ENERGY_LINK] != 0:
            doubt = recovery_energy.doubt_energy(
                members, rows.frames, records.contact_force, solution, mass_trees
            )
            locked = recovery_energy.part_locked_bodies(
                members, rows.frames, doubt.pushed, solution.option, mass_trees
            )
            if doubt.is_doubtful and not locked:
                h = solution.option[r.STEP]
                slope, bend = body_rows.body_work(trees, members, h, island_v, solution, vectors)
                scale = recovery_energy.allowed_share(members, doubt, slope, bend, solution, mass_trees)
                if scale < 1.0:
                    recovery_energy.scale_forces(scale, solution)
                    body_rows.record_contact_forces(rows, solution, records)
        body_rows.record_row_forces(trees, rows, solution, records)
        _give_back(island, chain_view(tm, tc, td).dof_mobile, solution.island_a, operands.a)
    if free:
        recovery_energy.part_jammed_bodies(
            members,
            r.contact_frame_view(m, c, args, d),
            r.record_view(m, c, args, d),
            recovery_energy.Motion(operands.v, operands.a),
            r.link_view(m, c, args, d).option,
            r.motion_view(m, c, args, d).column_dof[:n],
            mass_trees,
        )
