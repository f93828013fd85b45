# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Solve the rows of several worlds at once: from rows to accelerations.

Rows of models without cones are tried by Newton's method (`active_sets.py`); worlds it does not solve, cones,
and contacts that obey Coulomb's law go to projected Gauss-Seidel (`dual_pgs.py`). Which of them is an option,
not a matter of the rows at hand: a world must not be solved otherwise because of those in other lanes.

There are no islands: which trees touch is different in every world. All rows stand in one list, the same for
all worlds, that holds what any of them needs; `row_active` says where a row counts. A row spans the trees it
can touch, an integer of the model, and outside of them nothing is computed.

Forces are kept at indices that a row has whether it is active or not, so the next step starts from them: one
for each dry friction, each limit (with its sign, since only one side acts), each speed limit, then those of
every contact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.active_sets import PlainRows, SetWork, active_sets
from worldline._src.kernels.constraints.dual_pgs import DualOptions, DualRows, DualWork, dual_pgs
from worldline._src.kernels.constraints.fixed_restitution import blend, gaining_worlds, take_restitution
from worldline._src.kernels.constraints.islands import tree_of
from worldline._src.kernels.constraints.tables import (
    BOUNCED,
    BOUNCES,
    COLD,
    NEWTON_STEPS,
    OF_CONTACT,
    OF_FRICTION,
    OF_LIMIT,
    SWEEPS,
)
from worldline._src.scalar.ops import any_of, constant, maximum, where

# rows of `dual`
_R, _DIAGONAL, _STEP, _FORCE = range(4)


class Layout(NamedTuple):
    """Where things are, in integers of the model."""

    contact_id: Any
    friction_dof: Any
    limit_dof: Any
    limit_kind: Any
    speed_dof: Any


class FixedRows(NamedTuple):
    """The rows of a step, what they belong to, frames of contacts, columns of solving, scratch, bounces."""

    rows: Any
    notes: Any
    frames: Any
    dual: Any
    work: Any
    bounce: Any


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
    if note == OF_FRICTION:
        d = layout.friction_dof[k]
    elif note == OF_LIMIT:
        d = layout.limit_dof[k]
    else:
        d = layout.speed_dof[k]
    t = tree_of(start, d)
    return start[t], start[t + 1]


@inline
def _place(layout, dual, notes, frames, r):
    """Where the force of row `r` is kept."""
    note, k = notes.row_note[r, 0], notes.row_note[r, 1]
    if note == OF_CONTACT:
        return dual.contact_kept[k] + r - frames.contact_row[k, 0]
    if note == OF_FRICTION:
        return k
    if note == OF_LIMIT:
        return layout.friction_dof.shape[0] + k
    return layout.friction_dof.shape[0] + layout.limit_dof.shape[0] + k


@inline
def _sided(layout, notes, r):
    """The degree of freedom whose sign in the Jacobian tells the side of row `r`, -1 when it has no sides."""
    note, k = notes.row_note[r, 0], notes.row_note[r, 1]
    if note == OF_LIMIT and layout.limit_kind[k] == 0:
        return layout.limit_dof[k]
    if note != OF_LIMIT and note != OF_CONTACT and note != OF_FRICTION:
        return layout.speed_dof[k]
    return -1


@inline
def _guess(layout, made, n, cold, force_out):
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
def _keep(layout, made, n, force):
    """Put forces where the next step looks for them."""
    kept = made.dual.kept
    for k in range(kept.shape[0]):
        kept[k] = constant(0.0, kept[k])
    for r in range(n):
        at = _place(layout, made.dual, made.notes, made.frames, r)
        d = _sided(layout, made.notes, r)
        if d >= 0:
            # at most one side of a world has a force
            kept[at] = kept[at] + made.rows.J[r, d] * force[r]
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
def _idle(made, n):
    """1 for worlds in which no row counts: they keep their accelerations, whatever worlds beside them do."""
    busy = constant(0.0, made.notes.row_active[0])
    for r in range(n):
        busy = maximum(busy, made.notes.row_active[r])
    return 1.0 - busy


@inline
def _respond(dof, L, first, end, x_io):
    """M^-1 x in the columns of whole trees; what is held does not answer. See `mass_factor.respond`."""
    above, mobile = dof.dof_parent, dof.dof_mobile
    for d in range(end - 1, first - 1, -1):
        x = x_io[d] * L[d, d]
        x_io[d] = x
        e = above[d]
        while e >= 0:
            x_io[e] = x_io[e] - L[d, e] * x
            e = above[e]
    for d in range(first, end):
        x = x_io[d]
        e = above[d]
        while e >= 0:
            x = x - L[d, e] * x_io[e]
            e = above[e]
        x_io[d] = (x * L[d, d]) * mobile[d]


@inline
def _find_spans(layout, made, n):
    """The columns of every row."""
    dual, notes = made.dual, made.notes
    for r in range(n):
        first, end = _span(layout, dual, notes.row_note[r, 0], notes.row_note[r, 1])
        dual.row_first[r], dual.row_end[r] = first, end


@inline
def _newton(made, n, M, idle, a_io):
    """Plain rows by Newton's method; returns 1 for worlds that are solved."""
    rows, dual, work = made.rows, made.dual, made.work
    plain = PlainRows(
        rows.J,
        dual.row_first,
        dual.row_end,
        rows.aref,
        rows.D,
        rows.bound,
        made.notes.row_active,
        rows.kind,
    )
    scratch = SetWork(work.H, work.vectors, dual.dual[_DIAGONAL], dual.dual[_STEP], dual.dual[_R])
    return active_sets(plain, n, M, idle, scratch, dual.sweeps, dual.dual[_FORCE], a_io)


@inline
def _gauss_seidel(dof, L, made, n, option, tolerance, solved, a_io):
    """Worlds that are not solved, by sweeps; returns 1 for those that did not converge."""
    rows, dual = made.rows, made.dual
    first, end, K = dual.row_first, dual.row_end, dual.K
    for r in range(n):
        for d in range(first[r], end[r]):
            K[r, d] = rows.J[r, d]
        dual.dual[_R, r] = 1.0 / rows.D[r]
        _respond(dof, L, first[r], end[r], K[r])
    problem = DualRows(
        rows.J,
        K,
        first,
        end,
        rows.aref,
        dual.dual[_R],
        rows.bound,
        made.notes.row_active,
        rows.kind,
        rows.dim,
        dual.row_coulomb,
    )
    work = DualWork(dual.dual[_DIAGONAL], dual.dual[_STEP], dual.dual_block, dual.dual_local)
    options = DualOptions(tolerance, int(option[SWEEPS]), solved)
    return dual_pgs(problem, n, options, work, dual.sweeps, dual.dual[_FORCE], a_io)


@inline
def _solve(dof, mass, option, tolerance, n, done, made_io, a_io):
    """Forces and accelerations of worlds that are not done, from guesses and smooth accelerations."""
    sweeps, solved, tries = made_io.dual.sweeps, done, constant(0.0, done)
    if option[NEWTON_STEPS] > 0.0:
        solved = _newton(made_io, n, mass.M, done, a_io)
        tries = sweeps[0]
    if any_of(solved < 0.5):
        left = _gauss_seidel(dof, mass.L, made_io, n, option, tolerance, solved, a_io)
        sweeps[1] = sweeps[1] + left
        tries = tries + sweeps[0]
    return tries


@kernel
def solve_fixed_rows(dof, mass, layout, option, tolerance, n, made_io, a_io):
    """Accelerations that satisfy `n` rows, from the smooth ones in a_io.

    mass: M and its factor L, current. tolerance: change of a slack that ends sweeps [m/s^2]. Forces for the
    next step stay in `kept`, sweeps and steps without convergence in `sweeps`.
    """
    force, bounce = made_io.dual.dual[_FORCE], made_io.bounce
    tries = constant(0.0, a_io[0])
    if n > 0:
        bounces = bounce.counter[BOUNCED] & BOUNCES != 0
        if bounces:
            for d in range(a_io.shape[0]):
                bounce.a_smooth[d] = a_io[d]
        _guess(layout, made_io, n, option[COLD] != 0.0, force)
        _mark_coulomb(made_io, n)
        _find_spans(layout, made_io, n)
        tries = _solve(dof, mass, option, tolerance, n, _idle(made_io, n), made_io, a_io)
        if bounces:
            gains = gaining_worlds(layout.contact_id, option, force, a_io, made_io)
            if any_of(gains > 0.5):
                take_restitution(layout.contact_id, n, option, force, made_io, a_io)
                tries = tries + _solve(dof, mass, option, tolerance, n, 1.0 - gains, made_io, a_io)
                blend(layout.contact_id, made_io, n, option, force, a_io)
    made_io.dual.sweeps[0] = tries
    _keep(layout, made_io, n, force)
