# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Implicit derivatives of the accelerations that satisfy constraint rows, in dual numbers.

At the solution the gradient of the cost of `newton.py` vanishes,

    g(a, x) = M (a - a_smooth) - J^T f(J a - aref) = 0,

where M, J, aref, a_smooth and the laws of f depend on the state x. Hence da/dx = -H^-1 dg/dx with a held,
and H = M + J^T W J the Hessian of the active set. The gradient in dual numbers has dg/dx in its derivatives,
so one Newton step from the solution, with one factorisation for all directions, gives da/dx; its value
part takes off what the solver left.

With the accelerations a held, M (a - a_smooth) is the residual of inverse dynamics,

    r(x) = RNEA(q, v, a) - tau,

whose derivatives need neither M nor a_smooth in dual numbers (`linearize_rows`). H holds values alone, so one
factorisation serves every direction of the step.

Contacts that obey Coulomb's law have the slip of the solution taken off their normal target
(`contact/coulomb.py`). With it the slack of the normal is r_0 + |mu r_t|, and the matrix is not symmetric:
every such contact adds (J^T W e_0) (d|mu r_t| / da).

Relaxed complementarity. A one-sided row solves 0 <= f, 0 <= s, f s = 0 with s = r + R f and R = 1 / D: its
weight is D where it pushes and zero elsewhere. On the central path of an interior-point method f s = kappa,
and the weight is W = 1 / (R + s / f) [Howell et al. 2022, Dojo]. The point of the path that belongs to a
solution keeps z = s - rho f, where rho = 1 / m is the inverse of the mass that the row moves, estimated from
the diagonal of M; kappa = m a0^2 with an acceleration a0. Then

    s / f = rho (q + z) / (q - z),  q^2 = z^2 + 4 a0^2,

so W goes from D (z << -a0, firm contact) by 1 / (R + rho) (z = 0, the mean of both sides) to zero
(z >> a0). Values are those of the step; derivatives of forces are multiplied by W / D.

A step iterates Coulomb's law to a share of the slip that is more than the give of a hard contact, so at its
result a contact that slides may look open. `settle_rows` goes on to the solution itself, by Newton's method
on g(a) = 0 with the unsymmetric H. Its first step is lifted [Albersmeyer and Diehl 2010]: the normal slack
s_0 of a Coulomb contact counts as an unknown of its own, which starts where the step left it, and the defect
r_0 + |mu r_t| - s_0 enters the linearised forces. So every contact keeps the zone that the step found.
"""

from __future__ import annotations

from typing import Any

from worldline._src.duals.kind import value_of
from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.cone import (
    OPEN,
    SLIDING,
    STICKING,
    cone_measures,
    sliding_forces,
    sliding_hessian,
)
from worldline._src.kernels.constraints.contact.coulomb import slip_norm
from worldline._src.kernels.constraints.jacobians import hide_prescribed
from worldline._src.kernels.constraints.row_forces import plain_zone
from worldline._src.kernels.constraints.rows import CONE, UNILATERAL
from worldline._src.kernels.constraints.solve import gather_accelerations, give_back
from worldline._src.kernels.constraints.tables import CONTACT_END, CONTACT_FIRST, OF_CONTACT, ROWS
from worldline._src.kinds import float64
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import matrix, pointer_as, vector
from worldline._src.scalar.ops import constant, sqrt

SLIDING_CONE = -1.0
"""Weight of rows that bring a block of their own to the Hessian."""


SETTLING_STEPS = 8
"""Most Newton steps from the result of a step to the solution of its rows."""
SETTLED, UNSETTLED = 1e-13, 1e-9
"""Newton step that needs no other one, and one beyond which the last step has not converged, as shares of the
largest acceleration or of one."""
UNKNOWN = float("nan")
"""Accelerations of rows that are not solved."""
NO_ROWS = -2.0
"""First pivot of an island without rows."""
SYMMETRIC = -1.0
"""First pivot of an island whose Hessian is symmetric: it has none."""


@inline
def _span(notes, k, width):
    """Columns in which row `k` may have entries."""
    if notes.row_note[k, 0] == OF_CONTACT:
        return notes.row_first[k], notes.row_end[k]
    return 0, width


@inline
def row_slacks(rows, notes, n, a, slack_out):
    """J a - aref, with the acceleration held: derivatives are those of J and aref."""
    for k in range(n):
        total = -rows.aref[k]
        first, end = _span(notes, k, a.shape[0])
        for j in range(first, min(end, a.shape[0])):
            total = total + value_of(a[j]) * rows.J[k, j]
        slack_out[k] = total


@inline
def row_forces(rows, n, slack, force_out, weight_out):
    """Forces of all rows, and the weight of each in the Hessian; SLIDING_CONE for those of a sliding cone."""
    k = 0
    while k < n:
        if rows.kind[k] == CONE:
            end = k + rows.dim[k]
            zone, N, T = cone_measures(rows, k, slack)
            for j in range(k, end):
                force_out[j] = constant(0.0, slack[j])
                weight_out[j] = 0.0
                if zone == STICKING:
                    force_out[j] = -(rows.D[j] * slack[j])
                    weight_out[j] = value_of(rows.D[j])
            if zone != STICKING and zone != OPEN:
                for j in range(k, end):
                    weight_out[j] = SLIDING_CONE
                sliding_forces(rows, k, slack, N, T, force_out)
            k = end
        else:
            spring, fixed_force = plain_zone(rows, k, slack[k])
            force_out[k], weight_out[k] = constant(0.0, slack[k]) + fixed_force, 0.0
            if spring:
                force_out[k], weight_out[k] = -(rows.D[k] * slack[k]), value_of(rows.D[k])
            k += 1


@inline
def _share(M, rows, notes, k, fixed_force, slack, columns, a0):
    """W / D of row `k`, which pushes with `push`, on the central path; see the module."""
    rho = 0.0
    first, end = _span(notes, k, columns)
    for j in range(first, min(end, columns)):
        x = value_of(rows.J[k, j])
        rho += x * x / value_of(M[j, j])
    z = value_of(slack[k])
    if fixed_force > 0.0:
        z = -rho * fixed_force
    root = sqrt(z * z + 4.0 * a0 * a0)
    # (q + z) / (q - z) without cancellation, since (q + z) (q - z) = 4 a0^2
    quotient = 2.0 * a0 / (root - z)
    if z > 0.0:
        quotient = (root + z) / (2.0 * a0)
    return 1.0 / (1.0 + value_of(rows.D[k]) * rho * quotient * quotient)


@inline
def _relax(M, rows, notes, n, slack, columns, a0, force_io, weight_io, share_out):
    """Forces and weights of one-sided rows with relaxed complementarity, and W / D of every row."""
    k = 0
    while k < n:
        end = k + 1
        if rows.kind[k] == CONE:
            end = k + rows.dim[k]
        if rows.kind[k] == CONE or rows.kind[k] == UNILATERAL:
            share = _share(M, rows, notes, k, value_of(force_io[k]), slack, columns, a0)
            if weight_io[k] == 0.0:
                # a row that does not push: its normal alone begins to
                weight_io[k] = share * value_of(rows.D[k])
                force_io[k] = -(weight_io[k] * (slack[k] - value_of(slack[k])))
            else:
                for j in range(k, end):
                    value = value_of(force_io[j])
                    force_io[j] = value + share * (force_io[j] - value)
                    share_out[j] = share
                    if weight_io[j] > 0.0:
                        weight_io[j] = share * weight_io[j]
        k = end


@inline
def _take_off_forces(rows, notes, n, columns, force, weight, g_io):
    """g -= J^T f. A force may be zero and its derivatives not, unless its row does not act."""
    for k in range(n):
        if weight[k] != 0.0 or force[k] != 0.0:
            first, end = _span(notes, k, columns)
            for j in range(first, min(end, columns)):
                g_io[j] = g_io[j] - rows.J[k, j] * force[k]


@inline
def _add_cone(rows, k, slack, share, cone_C, columns, H_io):
    """H += share J^T C J of a sliding cone."""
    zone, N, T = cone_measures(rows, k, slack)
    if zone == SLIDING:
        sliding_hessian(rows, k, slack, N, T, cone_C)
        for r in range(rows.dim[k]):
            for s in range(rows.dim[k]):
                C = share * value_of(cone_C[r, s])
                for i in range(columns):
                    x = C * value_of(rows.J[k + r, i])
                    if x != 0.0:
                        for j in range(i + 1):
                            H_io[i, j] += x * value_of(rows.J[k + s, j])


@inline
def _hessian(M, rows, notes, n, slack, weight, share, cone_C, H_out):
    """M + J^T W J, the lower triangle, as plain numbers."""
    columns = H_out.shape[0]
    for i in range(columns):
        for j in range(i + 1):
            H_out[i, j] = value_of(M[i, j])
    for k in range(n):
        if weight[k] > 0.0:
            first, end = _span(notes, k, columns)
            for i in range(first, min(end, columns)):
                x = weight[k] * value_of(rows.J[k, i])
                if x != 0.0:
                    for j in range(first, i + 1):
                        H_out[i, j] += x * value_of(rows.J[k, j])
        elif weight[k] < 0.0 and rows.dim[k] > 0:
            _add_cone(rows, k, slack, share[k], cone_C, columns, H_out)


@inline
def add_slips(island, frames, rows, slack_io):
    """Add its slip to the normal slack of every contact that obeys Coulomb's law; returns how many do."""
    count = 0
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        first, condim = frames.contact_row[k, 0], frames.contact_row[k, 1]
        if first >= 0 and frames.de_saxce[k] >= 0.0:
            slack_io[first] = slack_io[first] + slip_norm(rows, first, condim, slack_io)
            count += 1
    return count


@inline
def _add_de_saxce(rows, first, condim, slack, weight, share, cone_C, u_out, n_out, H_io):
    """H += (J^T W e_0) (d|mu r_t| / da) of one contact, the whole matrix."""
    columns = u_out.shape[0]
    slip = value_of(slip_norm(rows, first, condim, slack))
    if slip > 0.0 and weight[first] != 0.0:
        for i in range(columns):
            u_out[i] = weight[first] * value_of(rows.J[first, i])
            n_out[i] = 0.0
        if weight[first] < 0.0:
            _, N, T = cone_measures(rows, first, slack)
            sliding_hessian(rows, first, slack, N, T, cone_C)
            for i in range(columns):
                u_out[i] = 0.0
                for r in range(condim):
                    u_out[i] += share[first] * value_of(cone_C[r, 0]) * value_of(rows.J[first + r, i])
        for r in range(first + 1, first + condim):
            mu = value_of(rows.bound[r])
            pull = mu * mu * value_of(slack[r]) / slip
            for i in range(columns):
                n_out[i] += pull * value_of(rows.J[r, i])
        for i in range(columns):
            for j in range(columns):
                H_io[i, j] += u_out[i] * n_out[j]


@inline
def _add_de_saxce_terms(island, frames, rows, slack, weight, share, work_out, H_io):
    """The whole matrix with what Coulomb's law adds, from the lower triangle of H."""
    columns = H_io.shape[0]
    for i in range(columns):
        for j in range(i):
            H_io[j, i] = H_io[i, j]
    u = vector(pointer_as(work_out.vectors[1], float64), 0, columns)
    n = vector(pointer_as(work_out.vectors[2], float64), 0, columns)
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        first, condim = frames.contact_row[k, 0], frames.contact_row[k, 1]
        if first >= 0 and frames.de_saxce[k] >= 0.0:
            _add_de_saxce(rows, first, condim, slack, weight, share, work_out.cone_C, u, n, H_io)


@inline
def factor_with_pivots(H_io, pivot_out):
    """H = P L U with partial pivoting; multipliers below the diagonal, inverse pivots on it."""
    n = H_io.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(H_io[i, k]) > abs(H_io[best, k]):
                best = i
        pivot_out[k] = best
        if best != k:
            for j in range(n):
                H_io[k, j], H_io[best, j] = H_io[best, j], H_io[k, j]
        inverse = 1.0 / H_io[k, k]
        H_io[k, k] = inverse
        for i in range(k + 1, n):
            factor = H_io[i, k] * inverse
            H_io[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    H_io[i, j] -= factor * H_io[k, j]


@inline
def solve_with_pivots(H, pivot, x_io):
    """x = H^-1 x from the factors of `factor_with_pivots`; plain numbers in H, dual numbers in x."""
    n = H.shape[0]
    for k in range(n):
        best = int(pivot[k])
        if best != k:
            x_io[k], x_io[best] = x_io[best], x_io[k]
    for i in range(n):
        y = x_io[i]
        for j in range(i):
            y = y - H[i, j] * x_io[j]
        x_io[i] = y
    for i in range(n - 1, -1, -1):
        y = x_io[i]
        for j in range(i + 1, n):
            y = y - H[i, j] * x_io[j]
        x_io[i] = y * H[i, i]


@inline
def _factor(H_io):
    """Cholesky's factor in the lower triangle, with the inverse of its diagonal."""
    n = H_io.shape[0]
    for k in range(n):
        total = H_io[k, k]
        for j in range(k):
            total -= H_io[k, j] * H_io[k, j]
        inverse = 1.0 / sqrt(total)
        H_io[k, k] = inverse
        for i in range(k + 1, n):
            total = H_io[i, k]
            for j in range(k):
                total -= H_io[i, j] * H_io[k, j]
            H_io[i, k] = total * inverse


@inline
def _solve(H, x_io):
    """x = H^-1 x from Cholesky's factor; plain numbers in H, dual numbers in x."""
    n = H.shape[0]
    for i in range(n):
        y = x_io[i]
        for j in range(i):
            y = y - H[i, j] * x_io[j]
        x_io[i] = y * H[i, i]
    for i in range(n - 1, -1, -1):
        y = x_io[i] * H[i, i]
        x_io[i] = y
        for j in range(i):
            x_io[j] = x_io[j] - H[i, j] * y


@inline
def solve_island(H, pivot, x_io):
    """x = H^-1 x from the factors of an island; see SYMMETRIC."""
    if pivot[0] == SYMMETRIC:
        _solve(H, x_io)
    else:
        solve_with_pivots(H, pivot, x_io)


@inline
def _rows_at_solution(chain, prescribed, a0, island_io, work_out, solution_out, M):
    """Slacks, forces, weights and shares of the rows at the solution; returns how many have De Saxce's slip.

    Weights and shares are plain numbers in the second row of work_out.slack.
    """
    rows, notes = island_io.rows, island_io.notes
    n, a = solution_out.counter[ROWS], solution_out.island_a
    columns = a.shape[0]
    hide_prescribed(solution_out.column_dof[:columns], chain.dof_mobile, prescribed, n, rows.J, rows.aref)
    slack, force = work_out.slack[0], solution_out.row_force
    weight = vector(pointer_as(work_out.slack[1], float64), 0, n)
    row_slacks(rows, notes, n, a, slack)
    corrected = add_slips(island_io.members, island_io.frames, rows, slack)
    row_forces(rows, n, slack, force, weight)
    share = vector(pointer_as(work_out.slack[1], float64), n, n)
    for k in range(n):
        share[k] = 1.0
    if a0 > 0.0:
        _relax(M, rows, notes, n, slack, columns, a0, force, weight, share)
    return corrected


@inline
def _factored_hessian(island_io, corrected, work_out, M, n, H_out, pivot_out):
    """Factors of the Hessian of the active set."""
    rows, notes, slack = island_io.rows, island_io.notes, work_out.slack[0]
    weight = vector(pointer_as(work_out.slack[1], float64), 0, n)
    share = vector(pointer_as(work_out.slack[1], float64), n, n)
    _hessian(M, rows, notes, n, slack, weight, share, work_out.cone_C, H_out)
    pivot_out[0] = SYMMETRIC
    if corrected > 0:
        _add_de_saxce_terms(island_io.members, island_io.frames, rows, slack, weight, share, work_out, H_out)
        factor_with_pivots(H_out, pivot_out)
    else:
        _factor(H_out)


@inline
def _newton_step(island_io, corrected, work_out, solution_out, M):
    """H^-1 g at the accelerations of an island, in work_out.vectors[0], from the forces of its rows there."""
    smooth, a, n = solution_out.island_smooth, solution_out.island_a, solution_out.counter[ROWS]
    columns, g = a.shape[0], work_out.vectors[0]

    # g = M (a - a_smooth) - J^T f
    for i in range(columns):
        total = constant(0.0, g[i])
        for j in range(columns):
            total = total + M[i, j] * (a[j] - smooth[j])
        g[i] = total
    weight = vector(pointer_as(work_out.slack[1], float64), 0, n)
    _take_off_forces(island_io.rows, island_io.notes, n, columns, solution_out.row_force, weight, g)

    # H^-1 g
    H = matrix(pointer_as(work_out.H, float64), 0, columns, columns)
    pivot = vector(pointer_as(work_out.vectors[3], float64), 0, columns)
    _factored_hessian(island_io, corrected, work_out, M, n, H, pivot)
    solve_island(H, pivot, g)


@inline
def _turns(corrected, a0):
    """How often the rows of an island are evaluated: twice where contacts obey Coulomb's law."""
    turns = 1
    if corrected > 0 and a0 == 0.0:
        turns = 2
    return turns


@inline
def _forces_below_digits(island_io, step, low_out, work_out, solution_out):
    """Slacks and forces of the rows at a - H^-1 g; the change, for which a has no digits, is in low_out.

    The slack of a hard contact that sticks is its force times a compliance. A millionth of it is lost where
    it is the difference of accelerations.
    """
    rows, notes, n = island_io.rows, island_io.notes, solution_out.counter[ROWS]
    a, slack = solution_out.island_a, work_out.slack[0]
    weight = vector(pointer_as(work_out.slack[1], float64), 0, n)
    for i in range(a.shape[0]):
        low_out[i] = -value_of(step[i])
    row_slacks(rows, notes, n, a, slack)
    for k in range(n):
        first, end = _span(notes, k, a.shape[0])
        for j in range(first, min(end, a.shape[0])):
            slack[k] = slack[k] + low_out[j] * value_of(rows.J[k, j])
    add_slips(island_io.members, island_io.frames, rows, slack)
    row_forces(rows, n, slack, solution_out.row_force, weight)


@kernel
def differentiate_rows(chain, prescribed, a0, island_io, work_out, solution_out, a_io):
    """Accelerations of an island in dual numbers, from the smooth ones in a_io; see the module.

    The solution is in solution_out.a_last, without derivatives; the mass matrix in solution_out.M. With an
    acceleration a0 [m/s^2] above zero, complementarity is relaxed.
    O(n^3 / 6 + rows n^2 / 2) for plain numbers, O(n^2 + rows n) for dual numbers.
    """
    gather_accelerations(a_io, solution_out)
    a, M = solution_out.island_a, solution_out.M
    corrected = _rows_at_solution(chain, prescribed, a0, island_io, work_out, solution_out, M)

    g, low = work_out.vectors[0], vector(pointer_as(work_out.vectors[4], float64), 0, a.shape[0])
    for i in range(a.shape[0]):
        low[i] = 0.0
    for turn in range(_turns(corrected, a0)):
        if turn > 0:
            _forces_below_digits(island_io, g, low, work_out, solution_out)
        _newton_step(island_io, corrected, work_out, solution_out, M)
    for i in range(a.shape[0]):
        if a0 > 0.0:
            # the relaxed rows have another solution: values are those of the step
            g[i] = g[i] - value_of(g[i])
        a[i] = a[i] + low[i] - g[i]
    give_back(chain, solution_out, a_io)


@inline
def _lift(island, frames, rows, kept, slack, defect_out):
    """Normal slacks of Coulomb contacts as the step left them, less what they are at its accelerations.

    kept: corrections of the step, by the first row of a contact. slack: (rows,) at the accelerations.
    """
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        first, condim = frames.contact_row[k, 0], frames.contact_row[k, 1]
        if first >= 0:
            defect_out[first] = 0.0
            if frames.de_saxce[k] >= 0.0:
                defect_out[first] = slip_norm(rows, first, condim, slack) - kept[first]
                slack[first] -= defect_out[first]


@inline
def _add_defects(island, frames, rows, defect, slack, weight, cone_C, force_io):
    """f -= C e_0 (r_0 + |mu r_t| - s_0): what lifted slacks lack, times the slope of the forces."""
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        first, condim = frames.contact_row[k, 0], frames.contact_row[k, 1]
        if first >= 0 and defect[first] != 0.0:
            if weight[first] > 0.0:
                force_io[first] -= weight[first] * defect[first]
            elif weight[first] < 0.0:
                _, N, T = cone_measures(rows, first, slack)
                sliding_hessian(rows, first, slack, N, T, cone_C)
                for j in range(condim):
                    force_io[first + j] -= cone_C[j, 0] * defect[first]


@kernel
def settle_rows(chain, prescribed, island_io, work_out, solution_out, a_io):
    """Accelerations that solve the rows of an island to rounding, from the smooth ones in a_io.

    Those of the step are in solution_out.island_a, and its De Saxce corrections in work_out.slack[4], by the
    first row of their contacts. Plain numbers alone; see the module. Where the method does not converge,
    accelerations are not numbers.
    O(n^3 / 3 + rows n^2) a step, of which there are two in most islands.
    """
    a, M, n = solution_out.island_a, solution_out.M, solution_out.counter[ROWS]
    for i in range(a.shape[0]):
        solution_out.island_smooth[i] = a_io[solution_out.column_dof[i]]
    rows, notes, members, frames = island_io.rows, island_io.notes, island_io.members, island_io.frames
    slack, defect, kept, g = work_out.slack[0], work_out.slack[3], work_out.slack[4], work_out.vectors[0]
    force, weight = solution_out.row_force, vector(pointer_as(work_out.slack[1], float64), 0, n)
    share = vector(pointer_as(work_out.slack[1], float64), n, n)
    hide_prescribed(solution_out.column_dof[: a.shape[0]], chain.dof_mobile, prescribed, n, rows.J, rows.aref)
    moved, scale = 0.0, 1.0
    for turn in range(SETTLING_STEPS):
        row_slacks(rows, notes, n, a, slack)
        corrected = add_slips(members, frames, rows, slack)
        if turn == 0:
            _lift(members, frames, rows, kept, slack, defect)
        row_forces(rows, n, slack, force, weight)
        for k in range(n):
            share[k] = 1.0
        if turn == 0:
            _add_defects(members, frames, rows, defect, slack, weight, work_out.cone_C, force)
        _newton_step(island_io, corrected, work_out, solution_out, M)
        moved, scale = 0.0, 1.0
        for i in range(a.shape[0]):
            a[i] = a[i] - g[i]
            moved, scale = max(moved, abs(g[i])), max(scale, abs(a[i]))
        if moved <= SETTLED * scale:
            break
    if not moved <= UNSETTLED * scale:
        for i in range(a.shape[0]):
            a[i] = UNKNOWN
    give_back(chain, solution_out, a_io)


class InverseForm(NamedTuple):
    """What the inverse form of all trees is differentiated with.

    a0: relaxation of complementarity [m/s^2]. make: whether factors of Hessians are to be made. M: the mass
    matrix, plain numbers. residual: RNEA(q, v, a) - tau of every degree of freedom, in dual numbers.
    """

    a0: Any
    make: Any
    M: Any
    residual: Any


class HessianFactors(NamedTuple):
    """Factors of the Hessian of an island, plain numbers; see SYMMETRIC for pivots."""

    H: Any
    pivot: Any


@kernel
def linearize_rows(chain, prescribed, form, island_io, work_out, solution_out, factors_io):
    """The change -da of an island's accelerations in dual numbers, in its columns of work_out.vectors[0].

    O(n^2 + rows n) in dual numbers.
    """
    a0, make, M, residual = form.a0, form.make, form.M, form.residual
    H, pivot = factors_io.H, factors_io.pivot
    a, island_M = solution_out.island_a, solution_out.M
    columns, n, column_dof = a.shape[0], solution_out.counter[ROWS], solution_out.column_dof
    for i in range(columns):
        a[i] = solution_out.a_last[column_dof[i]]
        if make or a0 > 0.0:
            for j in range(columns):
                island_M[i, j] = M[column_dof[i], column_dof[j]]
    corrected = _rows_at_solution(chain, prescribed, a0, island_io, work_out, solution_out, island_M)
    g, low = work_out.vectors[0], vector(pointer_as(work_out.vectors[4], float64), 0, columns)
    weight = vector(pointer_as(work_out.slack[1], float64), 0, n)
    for i in range(columns):
        low[i] = 0.0
    for turn in range(_turns(corrected, a0)):
        if turn > 0:
            _forces_below_digits(island_io, g, low, work_out, solution_out)
        for i in range(columns):
            g[i] = residual[column_dof[i]]
        _take_off_forces(island_io.rows, island_io.notes, n, columns, solution_out.row_force, weight, g)
        if make:
            _factored_hessian(island_io, corrected, work_out, island_M, n, H, pivot)
        solve_island(H, pivot, g)
    for i in range(columns):
        if a0 > 0.0:
            g[i] = g[i] - value_of(g[i])
        g[i] = g[i] - low[i]
