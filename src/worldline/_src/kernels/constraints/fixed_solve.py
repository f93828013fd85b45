# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Solve the rows of several worlds at once: from rows to accelerations.

Newton's method tries first: over active sets for plain rows (`active_sets.py`), with a line search for
elliptic cones (`cone_newton.py`), with De Saxce corrections between solves for Coulomb's law
(`coulomb_newton.py`). Worlds it does not solve go to projected Gauss-Seidel (`dual_pgs.py`). Which of them is
an option, not a matter of the rows at hand: a world must not be solved otherwise because of those in other
lanes.

There are no islands: which trees touch is different in every world. All rows stand in one list, the same for
all worlds, that holds what any of them needs; `row_active` says where a row counts. A row spans the trees it
can touch, an integer of the model, and outside of them nothing is computed.

Forces are kept at indices that a row has whether it is active or not, so the next step starts from them: one
for each dry friction, each limit (with its sign, since only one side acts), each speed limit, motor and
equality, three for each tendon, then those of every contact. Where these are many, the state of a world has
the list of those that are not zero instead, and the array of all is scratch.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.active_sets import SetWork, active_sets
from worldline._src.kernels.constraints.cone_newton import ConeProblem, ConeWork, cone_newton
from worldline._src.kernels.constraints.coulomb_newton import (
    Corrections,
    CoulombSolution,
    coulomb_newton,
)
from worldline._src.kernels.constraints.dual_pgs import DualOptions, DualRows, DualWork, dual_pgs
from worldline._src.kernels.constraints.equality.kinds import JOINT
from worldline._src.kernels.constraints.fixed_restitution import blend, gaining_worlds, take_restitution
from worldline._src.kernels.constraints.islands import tree_of
from worldline._src.kernels.constraints.lane_parts import get_element, get_lane, set_element, set_lane
from worldline._src.kernels.constraints.packed_rows import LANES, PackedRows, pack_rows, unpack_forces
from worldline._src.kernels.constraints.sparse_hessian import Pattern, add_row_forces
from worldline._src.kernels.constraints.tables import (
    BOUNCED,
    BOUNCES,
    COLD,
    NEWTON_STEPS,
    OF_CONTACT,
    OF_EQUALITY,
    OF_FRICTION,
    OF_LIMIT,
    OF_MOTOR,
    OF_SPEED,
    OF_TENDON,
    OF_TENDON_FRICTION,
    OF_TENDON_INERTIA,
    SWEEPS,
    TAKEN,
)
from worldline._src.kernels.mass_factor import factor, solved_row, span_half_solve
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import any_of, constant, maximum, where

# rows of `dual`
_R, _DIAGONAL, _STEP, FORCE = range(4)
NO_NEWTON, PLAIN_ROWS, CONES, COULOMB = range(4)
"""Newton's method in lanes: none, over active sets of plain rows, with a line search for elliptic cones, and
with De Saxce corrections for cones that obey Coulomb's law."""
# numbers of `solving`; `fixed_positions.py` has the last
SOLVED, _TRIES, SPLITS = range(3)


class Layout(NamedTuple):
    """Where things are, in integers of the model."""

    contact_id: Any
    friction_dof: Any
    limit_dof: Any
    limit_kind: Any
    speed_dof: Any
    body_link: Any
    motor_dof: Any
    tendon: Any
    equality: Any


class FixedRows(NamedTuple):
    """The rows of a step, what they belong to, frames of contacts, columns of solving, packed rows, scratch,
    bounces."""

    rows: Any
    notes: Any
    frames: Any
    dual: Any
    packed: Any
    work: Any
    bounce: Any


@inline
def _follower_dofs(layout, k):
    """First and last degree of freedom that equality `k` of two coordinates or tendons can touch."""
    equality, span, dofs = layout.equality, layout.tendon.tendon_span, layout.tendon.tendon_dof
    a, b = equality.equality_first[k], equality.equality_second[k]
    if b < 0:
        b = a
    if equality.equality_kind[k] == JOINT:
        return min(a, b), max(a, b)
    return min(dofs[span[a, 0]], dofs[span[b, 0]]), max(dofs[span[a, 1] - 1], dofs[span[b, 1] - 1])


@inline
def _dofs(layout, note, k):
    """First and last degree of freedom that a row of anything but contacts can touch."""
    span = layout.tendon.tendon_span
    if note == OF_FRICTION:
        d = layout.friction_dof[k]
    elif note == OF_LIMIT:
        d = layout.limit_dof[k]
    elif note == OF_MOTOR:
        d = layout.motor_dof[k, 0]
    elif note == OF_EQUALITY:
        return _follower_dofs(layout, k)
    elif note == OF_SPEED:
        d = layout.speed_dof[k]
    else:
        return layout.tendon.tendon_dof[span[k, 0]], layout.tendon.tendon_dof[span[k, 1] - 1]
    return d, d


@inline
def _span(layout, dual, note, k):
    """First column and end of the trees that a row can touch."""
    start = dual.tree_dof
    if note == OF_CONTACT:
        a, b = dual.body_tree[layout.contact_id[k, 2]], dual.body_tree[layout.contact_id[k, 3]]
        if a < 0:
            a = b
        if b < 0:
            b = a
        return start[min(a, b)], start[max(a, b) + 1]
    low, high = _dofs(layout, note, k)
    return start[tree_of(start, low)], start[tree_of(start, high) + 1]


@inline
def _place(layout, dual, notes, frames, r):
    """Where the force of row `r` is kept."""
    note, k = notes.row_note[r, 0], notes.row_note[r, 1]
    if note == OF_CONTACT:
        at = dual.contact_kept[layout.contact_id[k, 5], k % PAIR_CONTACTS]
        return at + r - frames.contact_row[k, 0]
    if note == OF_FRICTION:
        return k
    at = layout.friction_dof.shape[0]
    if note == OF_LIMIT:
        return at + k
    at += layout.limit_dof.shape[0]
    if note == OF_SPEED:
        return at + k
    at += layout.speed_dof.shape[0]
    if note == OF_MOTOR:
        return at + k
    at += layout.motor_dof.shape[0]
    if note == OF_EQUALITY:
        return at + k
    # limit, dry friction and inertia of a tendon
    at += layout.equality.equality_kind.shape[0] + 3 * k
    if note == OF_TENDON_FRICTION:
        at += 1
    elif note == OF_TENDON_INERTIA:
        at += 2
    return at


@inline
def _sided(layout, notes, r):
    """The degree of freedom whose sign in the Jacobian tells the side of row `r`, -1 when it has no sides."""
    note, k = notes.row_note[r, 0], notes.row_note[r, 1]
    if note == OF_LIMIT and layout.limit_kind[k] == 0:
        return layout.limit_dof[k]
    if note == OF_SPEED:
        return layout.speed_dof[k]
    return -1


@inline
def guess_forces(layout, made, n, cold, force_out):
    """Forces of the last step for the rows of this one; zero where every solve starts from zero."""
    for r in range(n):
        force = made.dual.kept[_place(layout, made.dual, made.notes, made.frames, r)]
        d = _sided(layout, made.notes, r)
        if d >= 0:
            force = maximum(made.rows.J[r, d] * force, 0.0)
        if cold:
            force = constant(0.0, force)
        force_out[r] = where(made.notes.row_active[r] > 0.5, force, constant(0.0, force))


@inline
def _forget(made):
    """Make all kept forces zero; where they are listed, those of the list."""
    kept = made.dual.kept
    if made.dual.kept_list.shape[0] > 0:
        _spread_list(made, False)
    else:
        for k in range(kept.shape[0]):
            kept[k] = constant(0.0, kept[k])


@inline
def _spread_list(made, with_forces):
    """Put the forces of the list, or zeros, at their places."""
    kept, listed, lanes = made.dual.kept, made.dual.kept_list, made.packed.packed_end[LANES]
    for lane in range(lanes):
        e, at = 0, get_element(listed, 0, 0, lane, lanes)
        while at > 0.5:
            force = get_element(listed, e, 1, lane, lanes)
            set_lane(kept, int(at) - 1, lane, lanes, force if with_forces else 0.0)
            e += 1
            at = get_element(listed, e, 0, lane, lanes) if e < listed.shape[0] else 0.0


@inline
def _list_kept(layout, made, n):
    """List the forces of a world in the order of its rows, and clear the array of all.

    A world has the first of them that there is room for, whatever worlds beside it have.
    """
    kept, listed, lanes = made.dual.kept, made.dual.kept_list, made.packed.packed_end[LANES]
    for lane in range(lanes):
        e = 0
        for r in range(n):
            at = _place(layout, made.dual, made.notes, made.frames, r)
            force = get_lane(kept, at, lane, lanes)
            counts = get_lane(made.notes.row_active, r, lane, lanes) > 0.5
            if counts and force != 0.0 and e < listed.shape[0]:
                set_element(listed, e, 0, lane, lanes, 1.0 + at)
                set_element(listed, e, 1, lane, lanes, force)
                e += 1
        if e < listed.shape[0]:
            set_element(listed, e, 0, lane, lanes, 0.0)
    for r in range(n):
        at = _place(layout, made.dual, made.notes, made.frames, r)
        kept[at] = constant(0.0, kept[at])


@inline
def _keep(layout, made, n, force):
    """Put forces where the next step looks for them."""
    kept = made.dual.kept
    _forget(made)
    for r in range(n):
        at = _place(layout, made.dual, made.notes, made.frames, r)
        d = _sided(layout, made.notes, r)
        if d >= 0:
            # at most one side of a world has a force
            kept[at] = kept[at] + made.rows.J[r, d] * force[r]
        elif made.notes.row_note[r, 0] == OF_TENDON:
            # both limits of a tendon, of which one has a force
            kept[at] = kept[at] + force[r]
        else:
            kept[at] = force[r]


@inline
def _mark_coulomb(made, n):
    """Mark the cones that obey Coulomb's law: contacts with friction of all laws but the impedance model."""
    notes, frames, coulomb = made.notes, made.frames, made.dual.row_coulomb
    for r in range(n):
        coulomb[r] = 0
        k = notes.row_note[r, 1]
        if notes.row_note[r, 0] == OF_CONTACT and frames.contact_row[k, 0] == r:
            # the law is the model's: either all worlds have a De Saxce correction or none
            if any_of(frames.de_saxce[k] >= 0.0):
                coulomb[r] = 1


@inline
def idle_worlds(made, n):
    """1 for worlds in which no row counts: they keep their accelerations, whatever worlds beside them do."""
    busy = constant(0.0, made.notes.row_active[0])
    for r in range(n):
        busy = maximum(busy, made.notes.row_active[r])
    return 1.0 - busy


@inline
def _respond(dof, L, first, end, x_io):
    """M^-1 x in the columns of whole trees; what is held does not answer. See `mass_factor.respond`."""
    above, mobile = dof.dof_parent, dof.dof_mobile
    span_half_solve(above, L, first, end, x_io)
    for d in range(first, end):
        x_io[d] = solved_row(above, L, d, x_io) * mobile[d]


@inline
def _find_spans(layout, made, n):
    """The columns of every row."""
    dual, notes = made.dual, made.notes
    for r in range(n):
        first, end = _span(layout, dual, notes.row_note[r, 0], notes.row_note[r, 1])
        dual.row_first[r], dual.row_end[r] = first, end


@kernel
def begin_solve(layout, option, n, a, made_io):
    """Guesses, columns and laws of `n` rows; worlds without rows are solved."""
    solving, zero = made_io.dual.solving, constant(0.0, a[0])
    solving[SOLVED], solving[_TRIES] = zero + 1.0, zero
    if n > 0:
        if made_io.bounce.counter[BOUNCED] & BOUNCES != 0:
            for d in range(a.shape[0]):
                made_io.bounce.a_smooth[d] = a[d]
        if made_io.dual.kept_list.shape[0] > 0:
            _spread_list(made_io, True)
        guess_forces(layout, made_io, n, option[COLD] != 0.0, made_io.dual.dual[FORCE])
        _mark_coulomb(made_io, n)
        _find_spans(layout, made_io, n)
        solving[SOLVED] = idle_worlds(made_io, n)


@inline
def _chain_mask(dof, link):
    """Columns that move a link, as bits."""
    mask = 0
    if link > 0:
        d = dof.link_last[link]
        while d >= 0:
            mask |= 1 << d
            d = dof.dof_parent[d]
    return mask


@inline
def _find_masks(dof, layout, made, n):
    """The columns of every row, as bits."""
    mask, notes, dual = made.packed.row_mask, made.notes, made.dual
    for r in range(n):
        note, k = notes.row_note[r, 0], notes.row_note[r, 1]
        found = 0
        if note == OF_CONTACT:
            first = made.frames.contact_row[k, 0]
            if r > first:
                found = mask[first]
            else:
                found = _chain_mask(dof, layout.body_link[layout.contact_id[k, 2]])
                found |= _chain_mask(dof, layout.body_link[layout.contact_id[k, 3]])
        elif note == OF_FRICTION:
            found = 1 << layout.friction_dof[k]
        elif note == OF_LIMIT and layout.limit_kind[k] == 0:
            found = 1 << layout.limit_dof[k]
        elif note == OF_MOTOR:
            found = 1 << layout.motor_dof[k, 0]
        elif note == OF_SPEED:
            found = 1 << layout.speed_dof[k]
        else:
            for d in range(dual.row_first[r], dual.row_end[r]):
                found |= 1 << d
        mask[r] = found


@inline
def _packed(made):
    """Packed rows as Newton's method wants them."""
    packed, numbers = made.packed, made.packed.packed
    return PackedRows(
        packed.packed_J,
        numbers[0],
        numbers[1],
        numbers[2],
        numbers[3],
        numbers[4],
        packed.packed_column,
        packed.packed_count,
        packed.packed_mask,
        packed.packed_source,
        packed.packed_end,
    )


@inline
def _pattern(dof, made):
    """Room for the pattern of H."""
    return Pattern(made.packed.H_column, made.packed.H_count, made.packed.H_mask, dof.dof_parent)


@inline
def _pack(dof, layout, made, n, cones, columns):
    """Pack `n` rows; returns the count of packed ones."""
    _find_masks(dof, layout, made, n)
    force, mask = made.dual.dual[FORCE], made.packed.row_mask
    return pack_rows(made.rows, made.notes, mask, n, cones, columns, force, _packed(made))


@kernel
def newton_plain(dof, layout, mass, n, made_io, a_io):
    """Plain rows by Newton's method over active sets, in worlds that are not solved yet."""
    dual = made_io.dual
    solving, work, numbers = dual.solving, made_io.work, made_io.packed.packed
    done = solving[SOLVED]
    if any_of(done < 0.5):
        count = _pack(dof, layout, made_io, n, False, a_io.shape[0])
        packed, pattern = _packed(made_io), _pattern(dof, made_io)
        scratch = SetWork(work.H, work.vectors, numbers[5], numbers[6], numbers[7])
        solved = active_sets(packed, count, mass.M, pattern, done, scratch, dual.sweeps, a_io)
        unpack_forces(packed, made_io.notes.row_active, solving, dual.dual[FORCE])
        solving[SOLVED], solving[_TRIES] = solved, solving[_TRIES] + dual.sweeps[0]


@inline
def _cone_problem(dof, mass, tolerance, count, made, nv):
    """The problem of `count` packed rows with cones: what forces of the guess do, and when to end."""
    packed, answer = _packed(made), made.work.vectors[5][:nv]
    for d in range(nv):
        answer[d] = constant(0.0, packed.force[0])
    add_row_forces(packed, count, packed.force, 1.0, answer)
    _respond(dof, mass.L, 0, nv, answer)
    return ConeProblem(mass.M, _pattern(dof, made), answer, tolerance)


@inline
def _cone_work(made):
    """Scratch of Newton's method over cones."""
    work, numbers = made.work, made.packed.packed
    return ConeWork(work.H, made.dual.K, work.vectors, numbers[5], numbers[6], numbers[7])


@kernel
def newton_cones(dof, layout, mass, tolerance, n, made_io, a_io):
    """Rows with elliptic cones by Newton's method, in worlds that are not solved yet.

    tolerance: change of an acceleration that ends it [m/s^2].
    """
    dual = made_io.dual
    solving, done, nv = dual.solving, dual.solving[SOLVED], a_io.shape[0]
    if any_of(done < 0.5):
        count = _pack(dof, layout, made_io, n, True, nv)
        packed, problem = _packed(made_io), _cone_problem(dof, mass, tolerance, count, made_io, nv)
        solved = cone_newton(packed, count, problem, done, _cone_work(made_io), dual.sweeps, a_io)
        unpack_forces(packed, made_io.notes.row_active, solving, dual.dual[FORCE])
        solving[SOLVED], solving[_TRIES] = solved, solving[_TRIES] + dual.sweeps[0]


@kernel
def newton_coulomb(dof, layout, mass, tolerance, gravity, n, made_io, a_io):
    """Rows with cones that obey Coulomb's law by Newton's method, in worlds that are not solved yet.

    tolerance: change of an acceleration that ends it, gravity: what slip is measured by [m/s^2].
    """
    dual = made_io.dual
    solving, done, nv = dual.solving, dual.solving[SOLVED], a_io.shape[0]
    if any_of(done < 0.5):
        count = _pack(dof, layout, made_io, n, True, nv)
        packed, problem = _packed(made_io), _cone_problem(dof, mass, tolerance, count, made_io, nv)
        # scratch of sweeps, which come after
        corrections = Corrections(dual.dual[_DIAGONAL], dual.dual[_STEP], dual.row_coulomb, gravity)
        solution = CoulombSolution(dual.sweeps, solving, made_io.notes.row_active, dual.dual[FORCE])
        scratch = _cone_work(made_io)
        solved = coulomb_newton(packed, count, problem, done, scratch, corrections, solution, a_io)
        solving[SOLVED], solving[_TRIES] = solved, solving[_TRIES] + dual.sweeps[0]


@kernel
def sweep_rows(dof, mass, option, tolerance, n, made_io, a_io):
    """Worlds that are not solved yet, by projected Gauss-Seidel.

    tolerance: change of a slack that ends sweeps [m/s^2]. The mass matrix is factored here where Newton's
    method, which does not need the factor, went before.
    """
    rows, dual = made_io.rows, made_io.dual
    first, end, K, solved = dual.row_first, dual.row_end, dual.K, dual.solving[SOLVED]
    if any_of(solved < 0.5):
        if option[NEWTON_STEPS] == PLAIN_ROWS:
            factor(dof, mass.M, mass.L)
        for r in range(n):
            for d in range(first[r], end[r]):
                K[r, d] = rows.J[r, d]
            dual.dual[_R, r] = 1.0 / rows.D[r]
            _respond(dof, mass.L, first[r], end[r], K[r])
        problem = DualRows(
            rows.J,
            K,
            first,
            end,
            rows.aref,
            dual.dual[_R],
            rows.bound,
            made_io.notes.row_active,
            rows.kind,
            rows.dim,
            dual.row_coulomb,
        )
        work = DualWork(dual.dual[_DIAGONAL], dual.dual[_STEP], dual.dual_block, dual.dual_local)
        options = DualOptions(tolerance, int(option[SWEEPS]), solved)
        left = dual_pgs(problem, n, options, work, dual.sweeps, dual.dual[FORCE], a_io)
        dual.sweeps[1] = dual.sweeps[1] + left
        dual.solving[_TRIES] = dual.solving[_TRIES] + dual.sweeps[0]
        dual.solving[SOLVED] = constant(1.0, solved)


@kernel
def begin_restitution(layout, option, n, made_io, a_io):
    """Worlds that gain energy by restitution are to be solved again, without it."""
    dual = made_io.dual
    if n > 0 and made_io.bounce.counter[BOUNCED] & BOUNCES != 0:
        force = dual.dual[FORCE]
        gains = gaining_worlds(layout.contact_id, option, force, a_io, made_io)
        if any_of(gains > 0.5):
            take_restitution(layout.contact_id, n, option, force, made_io, a_io)
            dual.solving[SOLVED] = 1.0 - gains
            made_io.bounce.counter[BOUNCED] |= TAKEN


@kernel
def end_restitution(layout, option, n, made_io, a_io):
    """Blend the solutions with restitution and without it."""
    if made_io.bounce.counter[BOUNCED] & TAKEN != 0:
        blend(layout.contact_id, made_io, n, option, made_io.dual.dual[FORCE], a_io)


@kernel
def end_solve(layout, n, made_io):
    """Keep forces for the next step in `kept`, and what solving took in `sweeps`."""
    made_io.dual.sweeps[0] = made_io.dual.solving[_TRIES]
    _keep(layout, made_io, n, made_io.dual.dual[FORCE])
    if made_io.dual.kept_list.shape[0] > 0:
        _list_kept(layout, made_io, n)
