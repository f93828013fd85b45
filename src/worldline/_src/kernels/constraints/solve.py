# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Hand the rows of a step to the solver, and what comes back to the trees."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.coulomb import TURNS, guess_lift, undo_lift
from worldline._src.kernels.constraints.jacobians import hide_held
from worldline._src.kernels.constraints.newton import NewtonOptions, newton
from worldline._src.kernels.constraints.tables import (
    CONVERGED,
    ITERATIONS,
    LINE_STEPS,
    LINE_TOLERANCE,
    NEWTON_STEPS,
    ROWS,
    TOLERANCE,
)
from worldline._src.kernels.mass_factor import factor, solve_factored


@inline
def _padded(M, mobile, M_out):
    """The mass matrix with rows padded; prescribed degrees of freedom stand alone with unit inertia."""
    nv = mobile.shape[0]
    for i in range(nv):
        for j in range(M_out.shape[1]):
            M_out[i, j] = 0.0
        for j in range(nv):
            M_out[i, j] = M[i, j] * (mobile[i] * mobile[j])
        if mobile[i] == 0.0:
            M_out[i, i] = 1.0


@kernel
def solve_rows(chain, M, held, rows_io, frames_io, work_out, solution_out, a_io):
    """Accelerations that satisfy the rows, from the smooth ones in a_io; the last solution is the guess."""
    counter, option, rows = solution_out.counter, solution_out.option, rows_io
    n = counter[ROWS]
    nv = a_io.shape[0]
    for d in range(nv):
        solution_out.qfrc[d] = 0.0
    counter[ITERATIONS], counter[CONVERGED] = 0, 1
    if n == 0:
        for d in range(nv):
            solution_out.a[d] = a_io[d]
        return
    _padded(M, chain.dof_mobile, solution_out.M)
    hide_held(rows.J, 0, n, chain.dof_mobile, held, rows.aref)
    options = NewtonOptions(
        option[TOLERANCE], int(option[NEWTON_STEPS]), option[LINE_TOLERANCE], int(option[LINE_STEPS])
    )
    guess_lift(frames_io, solution_out.a, rows, work_out.slack[0])
    for turn in range(TURNS):
        stats = newton(solution_out.M, a_io, rows, n, options, work_out, solution_out.force, solution_out.a)
        counter[ITERATIONS] += stats.iterations
        counter[CONVERGED] = 1 if stats.converged else 0
        if not undo_lift(frames_io, work_out.slack[0], rows):
            break
        if turn == TURNS - 1:
            counter[CONVERGED] = 0
    for k in range(n):
        f = solution_out.force[k]
        if f != 0.0:
            for d in range(nv):
                solution_out.qfrc[d] += f * rows.J[k, d]
    for d in range(nv):
        if chain.dof_mobile[d] != 0.0:
            a_io[d] = solution_out.a[d]
        else:
            solution_out.a[d] = a_io[d]


@kernel
def damp_implicitly(dof, passive, drive, h, mass_io, work_out, a_io):
    """a = (M + h D)^-1 M a: what damping does at the end of the step in the place of its beginning.

    M itself becomes M + h D.
    """
    M, nv = mass_io.M, a_io.shape[0]
    for d in range(nv):
        total = 0.0
        for e in range(nv):
            total += M[d, e] * a_io[e]
        work_out[d] = total
    for d in range(nv):
        a_io[d] = work_out[d]
        M[d, d] += h * (passive.dof_damping[d] + drive.dof_target_kd[d])
    factor(dof, M, mass_io.L)
    solve_factored(dof, mass_io.L, a_io)
