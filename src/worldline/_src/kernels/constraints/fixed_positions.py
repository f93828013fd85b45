# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Position pass of several worlds at once: joints beyond hard limits come back by a displacement.

As in a step of islands (`step/impact_stages.py`), all rows are solved for positions and then for velocities,
and h (a_position - a_velocity) moves the coordinates after integration (split impulse). Only worlds in which
a limit recovers are solved twice; the others keep their bits.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels import configuration
from worldline._src.kernels.constraints.fixed_solve import FORCE, SOLVED, SPLITS, guess_forces, idle_worlds
from worldline._src.kernels.constraints.jacobians import part_velocity
from worldline._src.kernels.constraints.limit.stops import QUIET
from worldline._src.kernels.constraints.tables import COLD, ERP, HARD, IS_SPLIT, KIND, OF_LIMIT, STEP
from worldline._src.scalar.ops import any_of, constant, maximum, minimum, where


@inline
def _aim_at_positions(limit, h, v, n, made_io):
    """Targets of the position pass for rows of hard limits; returns 1 for worlds in which one is another.

    Those of the velocity pass are kept.
    """
    rows, notes, dual, kept = made_io.rows, made_io.notes, made_io.dual, made_io.bounce.bounce_force
    splits = constant(0.0, v[0])
    for r in range(n):
        aref, k = rows.aref[r], notes.row_note[r, 1]
        kept[r] = aref
        if notes.row_note[r, 0] == OF_LIMIT and limit.limit_law[k, KIND] == HARD:
            # recovery: a share of the error in this step, at a bounded speed
            share = notes.row_residual[r] * (-limit.limit_law[k, ERP] / h)
            recovery = minimum(share, constant(limit.limit_bound[k, 3], share))
            # J v + h aref: the velocity after the impact, which is faster where the limit bounces
            after = part_velocity(rows.J, r, v, dual.row_first[r], dual.row_end[r]) + h * aref
            fast = (notes.row_active[r] > 0.5) & (recovery > QUIET) & (recovery > after)
            rows.aref[r] = where(fast, aref + (recovery - after) * (1.0 / h), aref)
            splits = where(fast, 1.0, splits)
    return splits


@kernel
def begin_positions(limit, option, v, n, split_out, counter_out, made_io, a_io):
    """Rows of worlds in which hard limits recover ask for the position after the step.

    v: velocities; a: accelerations without rows. Other worlds count as solved.
    """
    counter_out[IS_SPLIT] = 0
    if n > 0:
        solving = made_io.dual.solving
        splits = _aim_at_positions(limit, option[STEP], v, n, made_io)
        if any_of(splits > 0.5):
            counter_out[IS_SPLIT] = 1
            for d in range(a_io.shape[0]):
                split_out.a_smooth[d] = a_io[d]
            solving[SPLITS] = splits
            solving[SOLVED] = maximum(solving[SOLVED], 1.0 - splits)


@kernel
def begin_velocities(layout, option, n, counter, split_out, made_io, a_io):
    """Keep accelerations of the position pass; rows, guesses and accelerations are those of a step again."""
    if counter[IS_SPLIT] != 0:
        solving, kept = made_io.dual.solving, made_io.bounce.bounce_force
        for d in range(a_io.shape[0]):
            split_out.correction[d] = a_io[d]
            a_io[d] = split_out.a_smooth[d]
        for r in range(n):
            made_io.rows.aref[r] = kept[r]
        guess_forces(layout, made_io, n, option[COLD] != 0.0, made_io.dual.dual[FORCE])
        solving[SOLVED] = idle_worlds(made_io, n)


@kernel
def end_velocities(option, counter, made, a, split_io):
    """How the rate of displacement of a step differs from its velocity: h (a_position - a_velocity)."""
    if counter[IS_SPLIT] != 0:
        splits, correction = made.dual.solving[SPLITS], split_io.correction
        for d in range(a.shape[0]):
            change = (correction[d] - a[d]) * option[STEP]
            correction[d] = where(splits > 0.5, change, constant(0.0, change))


@kernel
def correct_positions(tree, option, split, counter, made, q_work, q_io):
    """Coordinates of worlds in which hard limits recover move by the correction."""
    if counter[IS_SPLIT] != 0:
        splits = made.dual.solving[SPLITS]
        configuration.integrate(tree, q_io, split.correction, constant(option[STEP], q_io[0]), q_work)
        for i in range(q_io.shape[0]):
            q_io[i] = where(splits > 0.5, q_work[i], q_io[i])
