# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Coulomb's law for several worlds at once: Newton's method over cones, with De Saxce corrections.

What `contact/coulomb.py` does for one world, generic over the scalar. Newton's method (`cone_newton.py`)
finds forces that are normal to the dual cone, so a contact that slides with speed s would separate with mu s.
The correction takes mu s off the normal target. As s follows from the solution, rows are solved and targets
moved by turns, with a relaxation step by Aitken's rule for vectors. Every world has a step of its own, and
keeps its solution once its corrections have settled.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.cone_newton import cone_newton, kind_of_cones
from worldline._src.kernels.constraints.contact.coulomb import LEAST_STEP, MOST_STEP, NONE, TURNS
from worldline._src.kernels.constraints.lane_parts import set_lane
from worldline._src.kernels.constraints.packed_rows import LANES, unpack_forces
from worldline._src.kernels.constraints.sparse_hessian import row_slacks
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, any_of, constant, is_single, maximum, minimum, sqrt, where

ROUNDING, ROUNDING_SINGLE = 1e-9, 1e-5
"""Error of corrections that needs no other turn, as a share of the largest slip, in double and single
precision."""


class Corrections(NamedTuple):
    """De Saxce corrections of packed cones.

    lift: the correction [m/s^2], NONE where the law has none; error: how far it was off in the last turn.
    coulomb: by row of the fixed layout, 1 for the first row of a cone that obeys Coulomb's law. gravity: what
    corrections are measured by [m/s^2].
    """

    lift: Any
    error: Any
    coulomb: Any
    gravity: Any


class CoulombSolution(NamedTuple):
    """Where results go: iterations, forces by row of the fixed layout, which counts where `active`; the first
    of solving is scratch."""

    tries: Any
    solving: Any
    active: Any
    force: Any


class _Turn(NamedTuple):
    """Largest error of corrections, what it is measured by, and the two sums of Aitken's rule."""

    change: Any
    largest: Any
    turned: Any
    bend: Any


@inline
def _slip(rows, k, dim, slack):
    """Friction times slip of cone `k`, in the norm dual to it."""
    total = constant(0.0, slack[k])
    for j in range(k + 1, k + dim):
        u = rows.low[j] * slack[j]
        total = total + u * u
    return sqrt(total)


@inline
def _begin(rows, n, a, respond, work_out, corrections_out):
    """Lower targets by the slip that the guess of forces leads to."""
    lift, lanes, guess = corrections_out.lift, rows.end[LANES], work_out.vectors[6][: a.shape[0]]
    for i in range(a.shape[0]):
        guess[i] = a[i] + respond[i]
    row_slacks(rows, n, rows.aref, guess, work_out.slack)
    for g in range(3):
        first, end, dim = kind_of_cones(rows.end, g)
        for k in range(first, end, dim):
            for lane in range(lanes):
                row = rows.source[k, lane]
                obeys = row >= 0 and corrections_out.coulomb[row] != 0
                set_lane(lift, k, lane, lanes, 0.0 if obeys else NONE)
            slip = where(lift[k] >= 0.0, _slip(rows, k, dim, work_out.slack), lift[k])
            lift[k], corrections_out.error[k] = slip, constant(0.0, slip)
            rows.aref[k] = rows.aref[k] - maximum(slip, constant(0.0, slip))


@inline
def _measure(rows, slack, corrections):
    """How far corrections are from the slip of the last solve."""
    zero = constant(0.0, corrections.lift[0])
    change, largest, turned, bend = zero, zero + corrections.gravity, zero, zero
    for g in range(3):
        first, end, dim = kind_of_cones(rows.end, g)
        for k in range(first, end, dim):
            lift, last = corrections.lift[k], corrections.error[k]
            counts = lift >= 0.0
            slip = where(counts, _slip(rows, k, dim, slack), zero)
            off = where(counts, slip - lift, zero)
            change = maximum(change, absolute(off))
            largest = maximum(largest, maximum(slip, lift))
            turned = turned + last * (off - last)
            bend = bend + (off - last) * (off - last)
    return _Turn(change, largest, turned, bend)


@inline
def _move(rows, slack, moves, step, corrections_io):
    """Move the targets of sliding contacts towards the slip of the last solve, in worlds that go on."""
    lift, error = corrections_io.lift, corrections_io.error
    for g in range(3):
        first, end, dim = kind_of_cones(rows.end, g)
        for k in range(first, end, dim):
            counts = moves & (lift[k] >= 0.0)
            off = _slip(rows, k, dim, slack) - lift[k]
            by = where(counts, maximum(step * off, -lift[k]), constant(0.0, off))
            error[k] = where(counts, off, error[k])
            lift[k], rows.aref[k] = lift[k] + by, rows.aref[k] - by


@kernel
def coulomb_newton(rows, n, problem, done, work_out, corrections_io, solution_io, a_io):
    """Forces and accelerations of `n` packed rows whose cones obey Coulomb's law.

    Operands are those of `cone_newton`. Accelerations, and forces by rows of the fixed layout, become the
    solution in worlds that are solved and stay as they were in others. Returns 1 where a world is solved, 0
    where it is not. A turn costs what `cone_newton` does.
    """
    nv, respond, slack = a_io.shape[0], problem.respond, work_out.slack
    trial, delta, zero = work_out.vectors[6][:nv], work_out.vectors[0][:nv], constant(0.0, a_io[0])
    one, solved, share, taken = constant(1.0, zero), done, zero, zero
    _begin(rows, n, a_io, respond, work_out, corrections_io)
    for _ in range(TURNS):
        for i in range(nv):
            trial[i] = a_io[i]
        inner = cone_newton(rows, n, problem, solved, work_out, solution_io.tries, trial)
        taken = taken + solution_io.tries[0]
        turn = _measure(rows, slack, corrections_io)
        going = (solved < 0.5) & (inner > 0.5)
        rounding = ROUNDING_SINGLE if is_single(zero) else ROUNDING
        enough = maximum(zero + problem.tolerance, rounding * turn.largest)
        settled = turn.change <= enough
        fresh = going & settled
        if any_of(fresh):
            solution_io.solving[0] = where(fresh, zero, one)
            unpack_forces(rows, solution_io.active, solution_io.solving, solution_io.force)
            for i in range(nv):
                a_io[i] = where(fresh, trial[i], a_io[i])
            solved = where(fresh, one, solved)
        if not any_of(solved < 0.5):
            break
        # the next turn goes on from here; where Newton's method is not done yet, with the same targets
        moves = going & (turn.change > enough)
        curved = (share > 0.0) & (turn.bend > 0.0)
        aitken = -(share * turn.turned) * (1.0 / where(curved, turn.bend, one))
        step = where(curved, minimum(maximum(aitken, zero + LEAST_STEP), zero + MOST_STEP), one)
        _move(rows, slack, moves, step, corrections_io)
        share = where(moves, step, share)
        for i in range(nv):
            respond[i] = delta[i]
    solution_io.tries[0] = taken
    return solved
