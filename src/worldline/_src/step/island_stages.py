# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages that find islands and solve them, one by one or on several threads (`island_sharing.py`).

`solve_next_island` calls the stages of an island through their addresses: those that make its rows, the mass
matrix when there are rows at all, and the solver. For the stages of an island the sizes of its arrays are
those of the island; see `kernels/constraints/tables.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worldline._src.jit import DISABLED, Stage, inline, stage
from worldline._src.kernels.constraints import boxed, islands, row_pgs, sleeping, solve
from worldline._src.kernels.constraints import free_bodies as free
from worldline._src.kernels.constraints import island_mass as mass
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.body_blocks import SIDE
from worldline._src.kernels.constraints.body_ncg import SweepWork
from worldline._src.kernels.constraints.body_pgs import Bodies, BodyContacts
from worldline._src.kernels.constraints.body_restitution import Bounces
from worldline._src.kernels.constraints.contact import matching
from worldline._src.kernels.constraints.contact.impacts import POSITION_PASS
from worldline._src.kernels.constraints.contact.recovery_energy import IslandTrees, Motion, part_jammed_bodies
from worldline._src.kernels.constraints.restitution import forget_rows
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kinds import float64
from worldline._src.model.views import (
    chain_view,
    inertia_view,
    operand_view,
    position_view,
    tree_view,
)
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import call_stage
from worldline._src.step.constraint_operands import constraint_stage
from worldline._src.step.island_sharing import are_shared, share_islands
from worldline._src.step.reaching import contacts_of, pairs_of, trees_of

_CONTACT_ID, _COUNTER, _NCONTACT = (
    collision.ENTRY["contact_id"],
    collision.ENTRY["counter"],
    collision.ENTRY["ncontact"],
)
_LCP = r.TABLE.entry["nlcp"]
FREE_BODY_COLUMNS = 132
"""Columns of an island up to which Newton's method is both as quick and exact: 22 free bodies.

Sequential impulses need more sweeps than anyone would wait for to hold a tower of more than a dozen boxes.
"""
LARGE_TREE = 4
"""Part of the columns of an island from which on a tree is large: one in so many."""
MOST_NODES = 64
"""Nodes of a tree that factors of an island have room for: 384 degrees of freedom."""
NEWTON_BUDGET = 50.0
"""Newton steps after which a larger island is handed to sequential impulses or to sweeps over its rows."""
_NEVER = 1e300
"""Quiet time before sleep when there is none [s]."""


def addresses(chosen: Sequence[Stage]) -> list[int]:
    """What the links of an island hold: addresses, or where stages are in `LINKED` without the compiler."""
    if DISABLED:
        LINKED.extend(one for one in chosen if one not in LINKED)
        return [LINKED.index(one) for one in chosen]
    return [one.address(float64) for one in chosen]


LINKED: list[Stage] = []
"""Stages that islands call, when they run as plain Python."""


def _call_python(address, m, c, args, d):
    LINKED[address](m, c, args, d)


@inline
def _call_compiled(address, m, c, args, d):
    call_stage(address, m, c, args, d)


call_linked = _call_python if DISABLED else _call_compiled
"""Run a stage by its address."""


@inline
def are_free(tree_link, island):
    """Whether all trees of the island at hand are free bodies without rows of their own."""
    free_ones = True
    for k in range(island.counter[r.TREE_FIRST], island.counter[r.TREE_END]):
        if tree_link[island.island_tree[k]] == 0:
            free_ones = False
    return free_ones


@inline
def have_tree_rows(island, room, n, least):
    """Whether the island at hand, of other trees than free bodies alone, is solved by rows of two trees.

    It has more than `least` columns, no row that may touch three trees, and no tree that is a large part of
    it: then the square of the island is hardly more than that of the tree.
    """
    if not n > least:
        return False
    found = True
    for k in range(island.counter[r.TREE_FIRST], island.counter[r.TREE_END]):
        t = island.island_tree[k]
        nodes = room.tree_node[t + 1] - room.tree_node[t]
        if room.tree_dense[t] != 0 or nodes > MOST_NODES or LARGE_TREE * SIDE * nodes > n:
            found = False
    return found


@inline
def _obey_coulomb(island, frames):
    """Whether all contacts of the island at hand have Coulomb's law or no friction, as impulses do.

    Friction of the impedance model is another: sliding contacts separate.
    """
    alike = True
    for i in range(island.counter[r.CONTACT_FIRST], island.counter[r.CONTACT_END]):
        k = island.contact_order[i]
        if frames.contact_row[k, 0] >= 0 and frames.contact_row[k, 1] > 1 and frames.de_saxce[k] < 0.0:
            alike = False
    return alike


@inline
def _reopen(m, c, args, d, unconverged, residual):
    """Undo the solution of the island at hand, which did not converge, for another method."""
    tm, tc, td = trees_of(args, d)
    solution, a = r.solve_view(m, c, args, d), operand_view(tm, tc, td).a
    forget_rows(r.row_view(m, c, args, d), solution, r.record_view(m, c, args, d))
    for j in range(solution.island_a.shape[0]):
        a[solution.column_dof[j]] = solution.island_smooth[j]
    counter, option = solution.counter, solution.option
    counter[r.UNCONVERGED], option[r.RESIDUAL] = unconverged, residual
    counter[r.SUBSTITUTED] += 1


@inline
def _sweep_instead(m, c, args, d, unconverged):
    """Solve the island at hand, on which Newton's method did not converge, by sweeps over its rows.

    Of both solutions the one with the smaller residual stays. Returns the counter of its method.
    """
    tm, tc, td = trees_of(args, d)
    program, rows = r.program_view(m, c, args, d).program, r.row_view(m, c, args, d)
    solution, records = r.solve_view(m, c, args, d), r.record_view(m, c, args, d)
    work, frames = r.work_view(m, c, args, d), r.contact_frame_view(m, c, args, d)
    island, a = r.member_view(m, c, args, d), operand_view(tm, tc, td).a
    counter, option, force = solution.counter, solution.option, solution.row_force
    kept_force, kept_a, first = work.slack[1], work.vectors[6], option[r.RESIDUAL]
    kept_D = work.slack[4]

    # keep what there is, then rows and accelerations as they were before the solve
    for k in range(counter[r.ROWS]):
        kept_force[k], kept_D[k] = force[k], rows.D[k]
    for j in range(solution.island_a.shape[0]):
        kept_a[j] = solution.island_a[j]
    forget_rows(rows, solution, records)
    for i in range(counter[r.CONTACT_FIRST], counter[r.CONTACT_END]):
        k = island.contact_order[i]
        row = frames.contact_row[k, 0]
        if row >= 0 and frames.de_saxce[k] >= 0.0:
            rows.aref[row] += frames.de_saxce[k]
            frames.de_saxce[k] = 0.0
    for j in range(solution.island_a.shape[0]):
        a[solution.column_dof[j]] = solution.island_smooth[j]
    counter[r.UNCONVERGED], option[r.RESIDUAL] = unconverged, 0.0
    call_linked(program[r.SWEEP_LINK], m, c, args, d)
    method = r.BY_SWEEPS
    if option[r.RESIDUAL] <= first:
        counter[r.SUBSTITUTED] += 1
    else:
        forget_rows(rows, solution, records)
        for k in range(counter[r.ROWS]):
            force[k], rows.D[k] = kept_force[k], kept_D[k]
        for j in range(solution.island_a.shape[0]):
            solution.island_a[j] = kept_a[j]
        notes = r.row_note_view(m, c, args, d)
        solve.record_rows(rows, solution, notes, work.vectors[7], records)
        solve.record_contacts(
            rows, solve.IslandRows(island, rows, notes, frames), force, records.contact_force
        )
        solve.give_back(chain_view(tm, tc, td), solution, a)
        counter[r.UNCONVERGED], option[r.RESIDUAL] = unconverged + 1, first
        method = r.BY_NEWTON
    return method


@inline
def solve_island(m, c, args, d):
    """Call the solver of the island at hand; Newton's method stands in where pivoting does not end.

    Sweeps over rows stand in where that does not converge either.

    Returns the counter of the method that solved it.
    """
    program, option = r.program_view(m, c, args, d).program, r.link_view(m, c, args, d).option
    counter = r.link_view(m, c, args, d).counter
    boxed = option[r.BOXED] != 0.0 and counter[r.ROWS] <= m[_LCP]
    method = r.BY_PIVOTING
    unconverged, residual = counter[r.UNCONVERGED], option[r.RESIDUAL]
    if boxed:
        call_linked(program[r.BOXED_LINK], m, c, args, d)
        if counter[r.UNCONVERGED] > unconverged and option[r.STRICT] == 0.0:
            _reopen(m, c, args, d, unconverged, residual)
            boxed = False
    if not boxed:
        swept = option[r.SWEPT] != 0.0
        method = r.BY_SWEEPS if swept else r.BY_NEWTON
        option[r.RESIDUAL] = 0.0
        call_linked(program[r.SWEEP_LINK if swept else r.SOLVE_LINK], m, c, args, d)
        if counter[r.UNCONVERGED] > unconverged and option[r.SWEEPS_STAND_IN] != 0.0:
            method = _sweep_instead(m, c, args, d, unconverged)
        option[r.RESIDUAL] = max(option[r.RESIDUAL], residual)
        if option[r.SLIP_SWEEPS] > 0.0:
            call_linked(program[r.SLIP_LINK], m, c, args, d)
    return method


@constraint_stage
def guess_from_last(a, a_last):
    """a of the last step -> the guess of the solver."""
    for k in range(a.shape[0]):
        a_last[k] = a[k]


@stage
def begin_rows(m, c, args, d):
    """-> no rows yet; contacts of the last step are kept."""
    counter, qfrc = r.link_view(m, c, args, d).counter, r.record_view(m, c, args, d).qfrc
    if args[r.COLLISION_M] != 0:
        found = contacts_of(args, d)
        matching.remember_contacts(
            found.contact_id,
            found.contact,
            r.contact_frame_view(m, c, args, d).contact_row,
            r.contact_memory_view(m, c, args, d),
        )
    for k in range(r.ROW_STAGES):
        counter[k] = 0
    counter[r.CONVERGED] = 1
    counter[r.SUBSTITUTED] = 0
    r.link_view(m, c, args, d).option[r.RESIDUAL] = 0.0
    for k in range(qfrc.shape[0]):
        qfrc[k] = 0.0


@stage
def find_islands(m, c, args, d):
    """contacts -> islands of trees."""
    counter, frames = r.link_view(m, c, args, d).counter, r.contact_frame_view(m, c, args, d)
    contact_row, missed, island = frames.contact_row, frames.position_missed, r.island_view(m, c, args, d)
    pair, count = pairs_of(m, c, args, d).ids, 0
    if args[r.COLLISION_M] != 0:
        found = contacts_of(args, d).counter[0]
        # room_stages.py made room for all of them
        count = min(found, pair.shape[0], contact_row.shape[0])
        counter[r.DROPPED] += found - count
        counter[r.CONTACT_COUNT] = count
        for k in range(count):
            contact_row[k, 0], contact_row[k, 1], missed[k] = -1, 0, 0.0
        # only impulses and sleepers start from the forces of the last step
        option = r.link_view(m, c, args, d).option
        if (
            option[r.FREE_COLUMNS] < _NEVER
            or option[r.QUIET_TIME] < _NEVER
            or option[r.STANDS_IN] != 0.0
            or option[r.SWEEPS_STAND_IN] != 0.0
            or option[r.SWEPT] != 0.0
        ):
            matching.match_contacts(
                pair, contacts_of(args, d).contact, count, r.contact_memory_view(m, c, args, d)
            )
    islands.find_islands(pair, count, island)


@inline
def _rest_asleep(m, c, args, d, pair, island):
    """Islands that sleep stay at rest; which ones depends on none that is solved."""
    tm, tc, td = trees_of(args, d)
    operands, sleep = operand_view(tm, tc, td), r.sleep_view(m, c, args, d)
    v = operands.v
    for i in range(island.counter[r.ISLANDS]):
        islands.open_island(pair, i, island)
        if sleeping.is_asleep(island, island.body_tree, island.tree_prescribed, pair, v, sleep):
            island.island_asleep[i] = 1
            sleeping.rest(island, sleep.tree_dof, v, operands.a)
            if args[r.COLLISION_M] != 0:
                force = r.record_view(m, c, args, d).contact_force
                frames, memory = r.contact_frame_view(m, c, args, d), r.contact_memory_view(m, c, args, d)
                sleeping.keep_forces(contacts_of(args, d), island, memory, frames, force)


@stage
def solve_islands(m, c, args, d):
    """islands, v -> a with constraints: islands that are awake, on several threads if asked for."""
    program, island = r.program_view(m, c, args, d).program, r.island_view(m, c, args, d)
    counter, pair = island.counter, pairs_of(m, c, args, d).ids
    for k in range(r.BY_NEWTON, r.BY_PIVOTING + 1):
        counter[k] = 0
    for t in range(island.tree_closed.shape[0]):
        island.tree_closed[t], island.island_asleep[t] = 0, 0
    if r.link_view(m, c, args, d).option[r.QUIET_TIME] < _NEVER:
        _rest_asleep(m, c, args, d, pair, island)
    if are_shared(args, island):
        share_islands(m, c, args, d)
    else:
        for i in range(counter[r.ISLANDS]):
            counter[r.ISLAND] = i
            call_linked(program[r.ISLAND_LINK], m, c, args, d)
    counter[r.CONVERGED] = 1 if counter[r.UNCONVERGED] == 0 else 0


@stage
def solve_next_island(m, c, args, d):
    """island, v -> a with constraints: its rows are made and solved."""
    tm, tc, td = trees_of(args, d)
    program, island = r.program_view(m, c, args, d).program, r.island_view(m, c, args, d)
    v = operand_view(tm, tc, td).v
    free_link, option = r.pgs_work_view(m, c, args, d).tree_link, r.link_view(m, c, args, d).option
    counter, pair = island.counter, pairs_of(m, c, args, d).ids
    split, i = r.split_view(m, c, args, d), counter[r.ISLAND]
    if island.island_asleep[i] != 0:
        return
    n = islands.open_island(pair, i, island)
    args[r.ISLAND_COLUMNS], args[r.ISLAND_WIDTH] = n, islands.padded_columns(n)
    # views are cut by the size of the island at hand
    motion = r.motion_view(m, c, args, d)
    for j in range(n):
        motion.island_v[j] = v[motion.column_dof[j]]
    counter[r.ROWS], counter[r.BOUNCED] = 0, 0
    tree = island.island_tree[counter[r.TREE_FIRST]]
    option[r.SHARE] = split.tree_share[tree] if option[r.SOLVE_PASS] == POSITION_PASS else 1.0
    option[r.RECOVERY_SPEED] = split.tree_recovery[tree]
    option[r.FRICTION_SHARE] = split.tree_grip[tree]
    counter[r.JAMMED] += 1 if option[r.FRICTION_SHARE] < 1.0 else 0
    small = islands.is_small(pair, n, option[r.FREE_COLUMNS], island)
    is_free = are_free(free_link, island)
    if not small and is_free:
        if option[r.BODY_ROWS] != 0.0:
            call_linked(program[r.BODY_ROW_LINK], m, c, args, d)
        else:
            call_linked(program[r.FREE_LINK], m, c, args, d)
            counter[r.BY_IMPULSES] += 1 if counter[r.ROWS] > 0 else 0
        return
    if not is_free and have_tree_rows(island, r.tree_room_view(m, c, args, d), n, option[r.TREE_COLUMNS]):
        option[r.BUDGET] = NEWTON_BUDGET if option[r.SWEEPS_STAND_IN] != 0.0 else _NEVER
        call_linked(program[r.BODY_ROW_LINK], m, c, args, d)
        solve.mark_closed(r.row_view(m, c, args, d), island)
        return
    stands_in = option[r.STANDS_IN] != 0.0 and is_free
    replaced = stands_in or option[r.SWEEPS_STAND_IN] != 0.0
    large = replaced and not islands.is_small(pair, n, FREE_BODY_COLUMNS, island)
    option[r.BUDGET] = NEWTON_BUDGET if large else _NEVER
    for k in range(counter[r.ROW_STAGES]):
        call_linked(program[r.FIRST_ROW_LINK + k], m, c, args, d)
    solve.mark_closed(r.row_view(m, c, args, d), island)
    if counter[r.ROWS] > 0:
        call_linked(program[r.MASS_LINK], m, c, args, d)
        counter[r.ROWS_BEFORE], counter[r.UNCONVERGED_BEFORE] = (
            counter[r.ALL_ROWS],
            counter[r.UNCONVERGED],
        )
        residual = option[r.RESIDUAL]
        method = solve_island(m, c, args, d)
        counter[method] += 1
        if stands_in and counter[r.UNCONVERGED] > counter[r.UNCONVERGED_BEFORE]:
            if _obey_coulomb(island, r.contact_frame_view(m, c, args, d)):
                _reopen(m, c, args, d, counter[r.UNCONVERGED_BEFORE], residual)
                counter[r.BOUNCED] = 0
                call_linked(program[r.FREE_LINK], m, c, args, d)
                counter[method] -= 1
                counter[r.BY_IMPULSES] += 1
                return
        # the position pass adds no kinetic energy
        bounced = counter[r.BOUNCED]
        if bounced == r.BOUNCES or (bounced == r.BOUNCES | r.SPLIT and option[r.SOLVE_PASS] != POSITION_PASS):
            call_linked(program[r.RESTITUTION_LINK], m, c, args, d)
        if program[r.ENERGY_LINK] != 0:
            call_linked(program[r.ENERGY_LINK], m, c, args, d)


class MassTrees(NamedTuple):
    """Trees as the mass matrix needs them."""

    chain: Any
    dof: Any
    tree: Any
    inertia: Any
    pos: Any
    tree_dof: Any
    tree_links: Any


@constraint_stage
def mass_of_island(chain, dof, tree, inertia, pos, tree_span, tree_links, island, crb, M):
    """poses -> M of an island."""
    mass.island_mass(MassTrees(chain, dof, tree, inertia, pos, tree_span, tree_links), island, crb, M)


mass_of_trees = constraint_stage.of(mass.tree_masses, name="mass_of_trees", trees_out="tree_masses")
gather_mass = constraint_stage.of(mass.gather_mass, trees="tree_masses")
solve_boxed = constraint_stage.of(boxed.solve_boxed, prescribed="a_target", island_io="island_rows")


@constraint_stage
def solve_swept(chain, a_target, memory, island_rows, work, sweeps, solution, records, a):
    """M, a, rows of an island -> the same as `solve_rows`, by sweeps over the rows."""
    solve.gather_accelerations(a, solution)
    row_pgs.solve_swept(chain, a_target, memory, island_rows, work, sweeps, solution, records)
    solve.give_back(chain, solution, a)


wake_disturbed = constraint_stage.of(sleeping.wake_disturbed, speed="v_target")
rest_in_place = constraint_stage.of(sleeping.rest_in_place)
fall_asleep = constraint_stage.of(sleeping.fall_asleep, island="islands")


@stage
def solve_free_bodies(m, c, args, d):
    """contacts, v, a of an island of free bodies -> a with contacts and their forces."""
    tm, tc, td = trees_of(args, d)
    push, body, work = (
        r.pgs_view(m, c, args, d),
        r.pgs_body_view(m, c, args, d),
        r.pgs_work_view(m, c, args, d),
    )
    weights, operands = r.weight_view(m, c, args, d), operand_view(tm, tc, td)
    bounce = r.pgs_bounce_view(m, c, args, d)
    moved = free.solve_free_bodies(
        free.Touching(
            contacts_of(args, d), r.shape_law_view(m, c, args, d), r.contact_memory_view(m, c, args, d)
        ),
        free.Trees(
            chain_view(tm, tc, td),
            tree_view(tm, tc, td),
            inertia_view(tm, tc, td),
            position_view(tm, tc, td),
            work.tree_link,
            weights.body_link,
            weights.body_invweight,
            weights.option,
        ),
        r.member_view(m, c, args, d),
        operands.v,
        free.Impulses(
            BodyContacts(
                push.pgs_a,
                push.pgs_b,
                push.pgs_axes,
                push.pgs_arm_a,
                push.pgs_arm_b,
                push.pgs_spin_a,
                push.pgs_spin_b,
                push.pgs_block,
                push.pgs_target,
                push.pgs_R,
                push.pgs_mu,
                push.pgs_active,
            ),
            Bodies(
                body.link_linear,
                body.link_angular,
                body.link_inverse_mass,
                body.link_inverse_inertia,
            ),
            work.pgs_impulse,
            work.pgs_taken,
            r.contact_frame_view(m, c, args, d),
            Bounces(
                bounce.pgs_bounce,
                bounce.pgs_before,
                bounce.pgs_speed,
                bounce.pgs_first,
                bounce.tree_share,
            ),
            SweepWork(work.pgs_kept, work.pgs_direction, work.pgs_history, work.pgs_mix),
        ),
        r.record_view(m, c, args, d),
        operands.a,
    )
    links, columns = r.link_view(m, c, args, d), r.motion_view(m, c, args, d).column_dof
    links.counter[r.UNCONVERGED_BEFORE] = links.counter[r.UNCONVERGED]
    solve.record_residual(moved / (links.option[r.GRAVITY] * links.option[r.STEP]), links)
    part_jammed_bodies(
        r.member_view(m, c, args, d),
        r.contact_frame_view(m, c, args, d),
        r.record_view(m, c, args, d),
        Motion(operands.v, operands.a),
        links.option,
        columns[: args[r.ISLAND_COLUMNS]],
        IslandTrees(
            inertia_view(tm, tc, td).link_mass,
            r.tree_span_view(m, c, args, d).tree_links,
            r.split_view(m, c, args, d).tree_recovery,
            r.split_view(m, c, args, d).tree_grip,
        ),
    )
