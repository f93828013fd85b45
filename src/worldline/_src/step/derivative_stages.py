# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of differentiated steps that run only in dual numbers.

`differentiate_islands` takes the place of `solve_islands`: rows of every island are made by the same stages,
and their solution, which the step found, is differentiated implicitly. `relax_islands` does so with relaxed
complementarity.

The other stages differentiate the inverse form of a step, r(x) = RNEA(q, v, a) - tau - J^T f = 0 at the
accelerations a that it found: `residual_of_dynamics` or `residual_of_forces`, `linearize_accelerations` and
`damp_linearized`. Factors of the mass matrix and of the Hessian are plain numbers, made once and used for all
directions; `HEADER` says where they are.
"""

from __future__ import annotations

from worldline._src.duals.kind import value_of
from worldline._src.jit import inline, stage
from worldline._src.kernels import crba, rnea, velocities
from worldline._src.kernels.constraints import islands, row_derivatives
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.contact.impacts import POSITION_PASS
from worldline._src.kernels.constraints.damping import Damped, damping_of
from worldline._src.kernels.constraints.solve import IslandRows
from worldline._src.kernels.inertial_forces import inertial_forces
from worldline._src.kernels.mass_factor import factor, solve_factored
from worldline._src.kinds import float64, int64
from worldline._src.model import views
from worldline._src.scalar import memory
from worldline._src.step.reaching import pairs_of, trees_of

RELAXATION = 5.0
"""Relaxation of complementarity: accelerations between those of firm contacts and of open ones [m/s^2]."""


@stage
def differentiate_islands(m, c, args, d):
    """islands, v, solved a -> a with constraints and its derivatives."""
    _differentiate(m, c, args, d, 0.0)


@stage
def relax_islands(m, c, args, d):
    """islands, v, solved a -> a with constraints and its derivatives with relaxed complementarity."""
    _differentiate(m, c, args, d, RELAXATION)


@inline
def _differentiate(m, c, args, d, a0):
    tm, tc, td = trees_of(args, d)
    program, island = r.program_view(m, c, args, d).program, r.island_view(m, c, args, d)
    operands, counter = views.operand_view(tm, tc, td), island.counter
    pair = pairs_of(m, c, args, d).ids
    for i in range(counter[r.ISLANDS]):
        n = islands.open_island(pair, i, island)
        args[r.ISLAND_COLUMNS], args[r.ISLAND_WIDTH] = n, islands.padded_columns(n)
        # views are cut by the size of the island at hand
        motion = r.motion_view(m, c, args, d)
        for j in range(n):
            motion.island_v[j] = operands.v[motion.column_dof[j]]
        counter[r.ROWS], counter[r.BOUNCED] = 0, 0
        for k in range(counter[r.ROW_STAGES]):
            memory.call_stage(program[r.FIRST_ROW_LINK + k], m, c, args, d)
        if counter[r.ROWS] > 0:
            memory.call_stage(program[r.MASS_LINK], m, c, args, d)
            row_derivatives.differentiate_rows(
                views.chain_view(tm, tc, td),
                views.control_view(tm, tc, td).a_target,
                a0,
                IslandRows(
                    r.member_view(m, c, args, d),
                    r.row_view(m, c, args, d),
                    r.row_note_view(m, c, args, d),
                    r.contact_frame_view(m, c, args, d),
                ),
                r.work_view(m, c, args, d),
                r.solve_view(m, c, args, d),
                operands.a,
            )


@stage
def settle_islands(m, c, args, d):
    """islands, v, a with constraints -> a that solves the rows to rounding, where they have Coulomb's law.

    Smooth accelerations are in a_last. Steps of two passes, and those that another method than Newton's
    solved, stay as they are, and so do islands too large for rows over all of their columns.
    """
    _settle(m, c, args, d, False)


@stage
def settle_every_island(m, c, args, d):
    """islands, v, a with constraints -> a that solves the rows to rounding, of every law."""
    _settle(m, c, args, d, True)


@inline
def _settle(m, c, args, d, every):
    """See `settle_islands`; `every`: islands of the impedance model and without contacts as well."""
    tm, tc, td = trees_of(args, d)
    program, island = r.program_view(m, c, args, d).program, r.island_view(m, c, args, d)
    operands, counter = views.operand_view(tm, tc, td), island.counter
    others = counter[r.BY_IMPULSES] + counter[r.BY_SWEEPS] + counter[r.BY_PIVOTING]
    if counter[r.IS_SPLIT] != 0 or others != 0:
        return
    pair = pairs_of(m, c, args, d).ids
    option, split = r.link_view(m, c, args, d).option, r.split_view(m, c, args, d)
    for i in range(counter[r.ISLANDS]):
        n = islands.open_island(pair, i, island)
        args[r.ISLAND_COLUMNS], args[r.ISLAND_WIDTH] = n, islands.padded_columns(n)
        # views are cut by the size of the island at hand
        motion, frames = r.motion_view(m, c, args, d), r.contact_frame_view(m, c, args, d)
        work, members = r.work_view(m, c, args, d), r.member_view(m, c, args, d)
        dense = islands.is_small(pair, n, option[r.FREE_COLUMNS], island) and n <= option[r.TREE_COLUMNS]
        obeys = dense and every
        for k in range(counter[r.CONTACT_FIRST], counter[r.CONTACT_END]):
            contact = members.contact_order[k]
            first = frames.contact_row[contact, 0]
            if dense and first >= 0 and frames.de_saxce[contact] >= 0.0:
                work.slack[4, first], obeys = frames.de_saxce[contact], True
        if not obeys:
            continue
        # rows are made where smooth accelerations are in place
        solution = r.solve_view(m, c, args, d)
        for j in range(n):
            k = motion.column_dof[j]
            motion.island_v[j], solution.island_a[j] = operands.v[k], operands.a[k]
            operands.a[k] = solution.a_last[k]
        tree = island.island_tree[counter[r.TREE_FIRST]]
        option[r.SHARE] = split.tree_share[tree] if option[r.SOLVE_PASS] == POSITION_PASS else 1.0
        option[r.RECOVERY_SPEED] = split.tree_recovery[tree]
        option[r.FRICTION_SHARE] = split.tree_grip[tree]
        counter[r.ROWS], counter[r.BOUNCED] = 0, 0
        for k in range(counter[r.ROW_STAGES]):
            memory.call_stage(program[r.FIRST_ROW_LINK + k], m, c, args, d)
        memory.call_stage(program[r.MASS_LINK], m, c, args, d)
        row_derivatives.settle_rows(
            views.chain_view(tm, tc, td),
            views.control_view(tm, tc, td).a_target,
            IslandRows(members, r.row_view(m, c, args, d), r.row_note_view(m, c, args, d), frames),
            work,
            solution,
            operands.a,
        )


# ---- the inverse form

MODE, MOVES, RELAXED, TREE_M, TREE_C, ROW_M, ROW_C, ROW_ARGS, ROW_D, FACTORS = range(10)
HEADER = 10
"""Integers of the header: mode, whether coordinates change, whether complementarity is relaxed; addresses of
arenas; the address of the plain numbers: M, its factor, that of M + h D, (nv, nv) each, the change of
accelerations by damping and pivots, (nv,) each, and Hessians of islands."""
MAKE, AGAIN, FORCES = range(3)
"""Modes: make rows and factors; make rows; derivatives of generalized forces alone."""


def factor_numbers(nv: int) -> int:
    """How many plain numbers `FACTORS` holds."""
    return 4 * nv * nv + 2 * nv


@stage
def residual_of_dynamics(m, c, args, d):
    """poses, velocities, link forces, tau, a -> dof_u: forces that a needs, less those that act."""
    operands, acc = views.operand_view(m, c, d), views.acceleration_view(m, c, d)
    residual = views.articulated_view(m, c, d).dof_u
    velocities.accelerate_world(views.field_view(m, c, d).gravity, 1, acc.link_A)
    rnea.rnea(
        views.tree_view(m, c, d),
        views.inertia_view(m, c, d),
        views.position_view(m, c, d),
        views.velocity_view(m, c, d),
        operands.a,
        acc,
        residual,
    )
    for k in range(residual.shape[0]):
        residual[k] = residual[k] - operands.tau[k]


@stage
def residual_of_forces(m, c, args, d):
    """tau -> dof_u: minus its derivatives."""
    tau, residual = views.operand_view(m, c, d).tau, views.articulated_view(m, c, d).dof_u
    for k in range(residual.shape[0]):
        residual[k] = value_of(tau[k]) - tau[k]


@stage
def factor_mass(m, c, args, d):
    """poses, composites -> M, its factor and that of M + h D; plain numbers."""
    tm, tc = memory.address_as(m[TREE_M], int64), memory.address_as(m[TREE_C], float64)
    dof = views.dof_view(tm, tc, d)
    damped = Damped(views.chain_view(tm, tc, d), views.passive_view(tm, tc, d), views.drive_view(tm, tc, d))
    nv, h = dof.dof_parent.shape[0], views.step_view(tm, tc, d).time_step[0]
    numbers = memory.address_as(m[FACTORS], float64)
    M, diagonal = memory.matrix(numbers, 0, nv, nv), memory.vector(numbers, 3 * nv * nv, nv)
    crba.crba(
        dof,
        views.inertia_view(tm, tc, d),
        views.position_view(tm, tc, d),
        views.mass_view(tm, tc, d).link_crb,
        M,
    )
    factor(dof, M, memory.matrix(numbers, nv * nv, nv, nv))
    for i in range(nv):
        diagonal[i] = M[i, i]
        M[i, i] = M[i, i] + h * damping_of(damped, i)
    factor(dof, M, memory.matrix(numbers, 2 * nv * nv, nv, nv))
    for i in range(nv):
        M[i, i] = diagonal[i]


@stage
def linearize_accelerations(m, c, args, d):
    """dof_u, islands, solved a -> a with its derivatives."""
    tm, tc = memory.address_as(m[TREE_M], int64), memory.constants_like(m[TREE_C], d)
    a, residual = views.operand_view(tm, tc, d).a, views.articulated_view(tm, tc, d).dof_u
    nv, numbers = residual.shape[0], memory.address_as(m[FACTORS], float64)
    if m[ROW_M] != 0:
        rows_m, rows_c = memory.address_as(m[ROW_M], int64), memory.constants_like(m[ROW_C], d)
        rows_args, rows_d = memory.address_as(m[ROW_ARGS], int64), memory.address_like(m[ROW_D], d)
        _linearize_islands(
            m, rows_m, rows_c, rows_args, rows_d, memory.matrix(numbers, 0, nv, nv), residual, a
        )
    # trees without rows
    solve_factored(views.dof_view(tm, tc, d), memory.matrix(numbers, nv * nv, nv, nv), residual)
    for k in range(nv):
        a[k] = a[k] - residual[k]


@inline
def _linearize_islands(header, m, c, args, d, M, residual_io, a_io):
    """Accelerations of islands with rows; their residuals become zero."""
    tm, tc, td = trees_of(args, d)
    program, island = r.program_view(m, c, args, d).program, r.island_view(m, c, args, d)
    v, counter = views.operand_view(tm, tc, td).v, island.counter
    a0 = RELAXATION if header[RELAXED] == 1 else 0.0
    nv, numbers = residual_io.shape[0], memory.address_as(header[FACTORS], float64)
    # pivots of all islands, then their Hessians
    at, before = 3 * nv * nv + nv, 3 * nv * nv + 2 * nv
    pair = pairs_of(m, c, args, d).ids
    for i in range(counter[r.ISLANDS]):
        n = islands.open_island(pair, i, island)
        args[r.ISLAND_COLUMNS], args[r.ISLAND_WIDTH] = n, islands.padded_columns(n)
        # views are cut by the size of the island at hand
        solution, work = r.solve_view(m, c, args, d), r.work_view(m, c, args, d)
        H, pivot = memory.matrix(numbers, before, n, n), memory.vector(numbers, at, n)
        at, before = at + n, before + n * n
        x = work.vectors[0]
        if header[MODE] == FORCES:
            if pivot[0] != row_derivatives.NO_ROWS:
                for j in range(n):
                    x[j] = residual_io[solution.column_dof[j]]
                row_derivatives.solve_island(H, pivot, x)
        else:
            motion = r.motion_view(m, c, args, d)
            for j in range(n):
                motion.island_v[j] = v[motion.column_dof[j]]
            counter[r.ROWS], counter[r.BOUNCED] = 0, 0
            for k in range(counter[r.ROW_STAGES]):
                memory.call_stage(program[r.FIRST_ROW_LINK + k], m, c, args, d)
            if counter[r.ROWS] > 0:
                row_derivatives.linearize_rows(
                    views.chain_view(tm, tc, td),
                    views.control_view(tm, tc, td).a_target,
                    row_derivatives.InverseForm(a0, header[MODE] == MAKE, M, residual_io),
                    IslandRows(
                        r.member_view(m, c, args, d),
                        r.row_view(m, c, args, d),
                        r.row_note_view(m, c, args, d),
                        r.contact_frame_view(m, c, args, d),
                    ),
                    work,
                    solution,
                    row_derivatives.HessianFactors(H, pivot),
                )
            else:
                pivot[0] = row_derivatives.NO_ROWS
        if pivot[0] != row_derivatives.NO_ROWS:
            for j in range(n):
                k = solution.column_dof[j]
                a_io[k] = a_io[k] - x[j]
                residual_io[k] = 0.0


@stage
def damp_linearized(m, c, args, d):
    """a, poses -> a with joint damping taken at the end of the step, and its derivatives.

    With w = (M + h D)^-1 h D a the damped accelerations are a - w, and dw = (M + h D)^-1 (h D da - dM w).
    """
    tm, tc = memory.address_as(m[TREE_M], int64), memory.constants_like(m[TREE_C], d)
    dof, a, work = (
        views.dof_view(tm, tc, d),
        views.operand_view(tm, tc, d).a,
        views.articulated_view(tm, tc, d),
    )
    damped = Damped(views.chain_view(tm, tc, d), views.passive_view(tm, tc, d), views.drive_view(tm, tc, d))
    nv, h, numbers = (
        a.shape[0],
        views.step_view(tm, tc, d).time_step[0],
        memory.address_as(m[FACTORS], float64),
    )
    L, w = memory.matrix(numbers, 2 * nv * nv, nv, nv), memory.vector(numbers, 3 * nv * nv, nv)
    for k in range(nv):
        work.dof_u[k] = h * damping_of(damped, k) * a[k]
    if m[MODE] == MAKE:
        for k in range(nv):
            w[k] = value_of(work.dof_u[k])
        solve_factored(dof, L, w)
    if m[MOVES] == 1:
        inertial_forces(
            views.tree_view(tm, tc, d),
            views.inertia_view(tm, tc, d),
            views.position_view(tm, tc, d),
            w,
            views.acceleration_view(tm, tc, d),
            work.dof_D,
        )
        for k in range(nv):
            work.dof_u[k] = work.dof_u[k] - (work.dof_D[k] - value_of(work.dof_D[k]))
    solve_factored(dof, L, work.dof_u)
    for k in range(nv):
        a[k] = a[k] - work.dof_u[k]
