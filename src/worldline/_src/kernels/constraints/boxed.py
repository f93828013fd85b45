# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of an island as a boxed linear complementarity problem, solved by Dantzig's pivoting.

With A = J M^-1 J^T + R and b = aref - J a_smooth the forces satisfy A f - b = 0 inside their bounds: none for
equalities, a fixed one for dry friction, zero from below for limits and normals, and for friction of contacts
the coefficient times the normal force, direction by direction. The first of these directions is turned to the
slip that the contact would have without forces, where a box and the round cone agree: sliding does not depend
on how axes lie. Forces are exact up to rounding; the price is cubic in the number of rows, so it is meant for
islands of moderate size.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.jacobians import hide_prescribed, row_velocity
from worldline._src.kernels.constraints.reverse_cholesky import reverse_cholesky, reverse_cholesky_solve
from worldline._src.kernels.constraints.rows import CONE, EQUALITY, FRICTION, next_row
from worldline._src.kernels.constraints.solve import (
    gather_accelerations,
    give_back,
    record_contacts,
    record_residual,
    record_rows,
)
from worldline._src.kernels.constraints.tables import GRAVITY, ITERATIONS, ROWS
from worldline._src.kernels.lcp.dantzig import dantzig
from worldline._src.kernels.lcp.problem import INFINITY, Problem, bounds_of, slack
from worldline._src.scalar.memory import matrix, pointer
from worldline._src.scalar.ops import sqrt

TOLERANCE = 1e-9
"""Largest residual, relative to the largest right side."""
PIVOTS = 50
"""Most pivots, as a multiple of the number of rows."""


@inline
def _bounds(rows, n, problem_out):
    """Bounds of all rows, and whose normal force scales them."""
    lo, hi, findex = problem_out.lo, problem_out.hi, problem_out.findex
    k = 0
    while k < n:
        kind = rows.kind[k]
        lo[k], hi[k], findex[k] = 0.0, INFINITY, -1
        if kind == EQUALITY:
            lo[k] = -INFINITY
        elif kind == FRICTION:
            lo[k], hi[k] = -rows.bound[k], rows.bound[k]
        end = next_row(rows, k)
        if kind == CONE:
            for j in range(k + 1, end):
                lo[j], hi[j], findex[j] = -rows.bound[j], rows.bound[j], k
        k = end


@inline
def _turn_pair(x_io, k, c, s):
    """Turn numbers k + 1 and k + 2, which belong to the sliding axes of the cone at row `k`."""
    x, y = x_io[k + 1], x_io[k + 2]
    x_io[k + 1], x_io[k + 2] = c * x + s * y, c * y - s * x


@inline
def _turn(rows_io, k, c, s):
    """Turn both sliding axes of the cone at row `k`."""
    J = rows_io.J
    for j in range(J.shape[1]):
        x, y = J[k + 1, j], J[k + 2, j]
        J[k + 1, j], J[k + 2, j] = c * x + s * y, c * y - s * x
    _turn_pair(rows_io.aref, k, c, s)


@inline
def _turn_to_slip(n, smooth, rows_io, turns_out):
    """Turn sliding axes so that the first lies along the slip without forces; cosines and sines are kept."""
    k = 0
    while k < n:
        end = next_row(rows_io, k)
        if rows_io.kind[k] == CONE and end - k > 2:
            x = row_velocity(rows_io.J, k + 1, smooth) - rows_io.aref[k + 1]
            y = row_velocity(rows_io.J, k + 2, smooth) - rows_io.aref[k + 2]
            length = sqrt(x * x + y * y)
            turns_out[k + 1], turns_out[k + 2] = 1.0, 0.0
            if length > 0.0:
                turns_out[k + 1], turns_out[k + 2] = x / length, y / length
            _turn(rows_io, k, turns_out[k + 1], turns_out[k + 2])
        k = end


@inline
def _turn_back(n, turns, rows_io, force_io):
    """Axes as they were, and forces along them."""
    k = 0
    while k < n:
        end = next_row(rows_io, k)
        if rows_io.kind[k] == CONE and end - k > 2:
            c, s = turns[k + 1], -turns[k + 2]
            _turn(rows_io, k, c, s)
            _turn_pair(force_io, k, c, s)
        k = end


@inline
def factor_mass(M, work_out):
    """Factor the mass matrix of the island."""
    L, first = work_out.L, work_out.L_first
    for i in range(M.shape[0]):
        first[i] = 0
        for j in range(M.shape[1]):
            L[i, j] = M[i, j]
    reverse_cholesky(M.shape[0], first, L, work_out.vectors[5])


@inline
def solve_mass(work_out, n):
    """Multiply the vector at hand by the inverse of the mass matrix."""
    reverse_cholesky_solve(n, work_out.L_first, work_out.L, work_out.vectors[5], work_out.vectors[3])


@inline
def _residual(problem, force, slacks):
    """Largest |f - clamp(f - w / A_ii)| A_ii: what a row misses alone, as an acceleration [m/s^2].

    Forces and accelerations are compared by the row's own inertia, so the unit of mass does not matter.
    """
    worst = 0.0
    for i in range(force.shape[0]):
        low, high = bounds_of(problem, force, i)
        wanted = min(max(force[i] - slacks[i] / problem.A[i, i], low), high)
        r = abs(force[i] - wanted) * problem.A[i, i]
        if not r <= worst:
            worst = r
    return worst


@kernel
def solve_boxed(chain, prescribed, island_io, work_out, boxed_out, solution_out, records_out, a_io):
    """Accelerations of an island that satisfy its rows, from the smooth ones in a_io. O(rows^3)."""
    counter, rows = solution_out.counter, island_io.rows
    n, nv = counter[ROWS], solution_out.island_a.shape[0]
    gather_accelerations(a_io, solution_out)
    smooth, a, p = solution_out.island_smooth, solution_out.island_a, work_out.vectors[3]
    hide_prescribed(solution_out.column_dof[:nv], chain.dof_mobile, prescribed, n, rows.J, rows.aref)

    turns = work_out.slack[0]
    _turn_to_slip(n, smooth, rows, turns)

    # the problem, column by column
    problem = Problem(
        matrix(pointer(boxed_out.lcp_A), 0, n, n),
        boxed_out.lcp_b[:n],
        boxed_out.lcp_lo[:n],
        boxed_out.lcp_hi[:n],
        boxed_out.lcp_findex[:n],
    )
    _bounds(rows, n, problem)
    factor_mass(solution_out.M, work_out)
    largest = 0.0
    for k in range(n):
        for j in range(rows.J.shape[1]):
            p[j] = rows.J[k, j]
        solve_mass(work_out, nv)
        for i in range(n):
            problem.A[i, k] = row_velocity(rows.J, i, p)
        problem.A[k, k] += 1.0 / rows.D[k]
        problem.b[k] = rows.aref[k] - row_velocity(rows.J, k, smooth)
        largest = max(largest, abs(problem.b[k]))
        solution_out.row_force[k] = 0.0

    # forces
    force, state = solution_out.row_force[:n], boxed_out.lcp_state[:n]
    work = matrix(pointer(boxed_out.lcp_work), 0, n + 5, n)
    _code, pivots = dantzig(problem, TOLERANCE * largest, PIVOTS * n, work, state, force)
    slack(problem, force, work[n])
    residual = _residual(problem, force, work[n]) / solution_out.option[GRAVITY]
    counter[ITERATIONS] = max(counter[ITERATIONS], pivots)
    record_residual(residual, solution_out)

    # accelerations
    _turn_back(n, turns, rows, force)
    for j in range(rows.J.shape[1]):
        p[j] = 0.0
    for k in range(n):
        for j in range(nv):
            p[j] += force[k] * rows.J[k, j]
    solve_mass(work_out, nv)
    for j in range(nv):
        a[j] = smooth[j] + p[j]
    record_rows(rows, solution_out, island_io.notes, work_out.vectors[7], records_out)
    record_contacts(rows, island_io, solution_out.row_force, records_out.contact_force)
    give_back(chain, solution_out, a_io)
