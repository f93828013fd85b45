# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps whose contacts want another way than the speed they end with: solved for the way, then for the speed.

`solve_islands` marks such a step (`kernels/constraints/impacts.py`). The difference of both solutions moves
the coordinates after integration and leaves no trace in the velocities. Other steps pass by here for the cost
of a few copies. Whether an island may have all of its restitution shows with its speed (`restitution.py`).
Where it may not, both solves are made again, the way with the share that is left.
"""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels import configuration
from worldline._src.kernels.constraints.impacts import POSITION_PASS, SLOW, VELOCITY_PASS
from worldline._src.kernels.constraints.tables import (
    ACTIVE_LIMITS,
    AGAIN_LINK,
    ALL_ROWS,
    CONVERGED,
    DROPPED,
    HELD_BACK,
    PARTS,
    PHASE,
    RESIDUAL,
    STEP,
    SUBSTITUTED,
    UNCONVERGED,
    apart_view,
    link_view,
    program_view,
    record_view,
)
from worldline._src.model.views import operand_view, tree_view
from worldline._src.step.island_stages import call_linked
from worldline._src.step.reaching import trees_of


@stage
def keep_smooth(m, c, args, d):
    """a -> a without rows, for a second solve."""
    tm, tc, td = trees_of(args, d)
    a, kept = operand_view(tm, tc, td).a, apart_view(m, c, args, d).a_smooth
    apart, counter = apart_view(m, c, args, d), link_view(m, c, args, d).counter
    counter[PARTS], counter[HELD_BACK] = 0, 0
    for k in range(apart.tree_share.shape[0]):
        apart.tree_share[k], apart.tree_slow[k] = 1.0, SLOW
    for k in range(a.shape[0]):
        kept[k] = a[k]


@inline
def _solve_for(phase, m, c, args, d):
    """islands, v -> a of the way or of the speed."""
    tm, tc, td = trees_of(args, d)
    links, a = link_view(m, c, args, d), operand_view(tm, tc, td).a
    a_smooth, qfrc, counter = (
        apart_view(m, c, args, d).a_smooth,
        record_view(m, c, args, d).qfrc,
        links.counter,
    )
    for k in range(a.shape[0]):
        a[k] = a_smooth[k]
        qfrc[k] = 0.0
    # rows are those of the last pass; what is not solved counts whichever pass it is in
    unsolved, substituted, residual = counter[UNCONVERGED], counter[SUBSTITUTED], links.option[RESIDUAL]
    counter[ALL_ROWS], counter[ACTIVE_LIMITS], counter[UNCONVERGED], counter[SUBSTITUTED] = 0, 0, 0, 0
    links.option[PHASE], links.option[RESIDUAL] = phase, 0.0
    call_linked(program_view(m, c, args, d).program[AGAIN_LINK], m, c, args, d)
    if phase == VELOCITY_PASS:
        counter[UNCONVERGED] = max(counter[UNCONVERGED], unsolved)
        counter[SUBSTITUTED] = max(counter[SUBSTITUTED], substituted)
        links.option[RESIDUAL] = max(links.option[RESIDUAL], residual)
    counter[CONVERGED] = 1 if counter[UNCONVERGED] == 0 else 0


@stage
def solve_velocities(m, c, args, d):
    """islands, v, a of the way -> a of the speed at the end of the step, and how the two differ."""
    tm, tc, td = trees_of(args, d)
    links, apart, a = link_view(m, c, args, d), apart_view(m, c, args, d), operand_view(tm, tc, td).a
    counter, option = links.counter, links.option
    if counter[PARTS] != 0:
        dropped = counter[DROPPED]
        for k in range(a.shape[0]):
            apart.way[k] = a[k]
        _solve_for(VELOCITY_PASS, m, c, args, d)
        if counter[HELD_BACK] != 0:
            _solve_for(POSITION_PASS, m, c, args, d)
            for k in range(a.shape[0]):
                apart.way[k] = a[k]
            _solve_for(VELOCITY_PASS, m, c, args, d)
        option[PHASE] = POSITION_PASS
        counter[DROPPED] = dropped
        for k in range(a.shape[0]):
            apart.way[k] = (apart.way[k] - a[k]) * option[STEP]


@stage
def correct_positions(m, c, args, d):
    """q, how way and speed differ -> q moved by it."""
    if link_view(m, c, args, d).counter[PARTS] != 0:
        tm, tc, td = trees_of(args, d)
        q, h = operand_view(tm, tc, td).q, link_view(m, c, args, d).option[STEP]
        configuration.integrate(tree_view(tm, tc, td), q, apart_view(m, c, args, d).way, h, q)
