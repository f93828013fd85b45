# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Two-pass contact solve (split impulse): positions first, then velocities.

`solve_islands` marks the steps that need it (`kernels/constraints/contact/impacts.py`). The difference of
both passes moves the coordinates after integration and leaves no trace in the velocities. Other steps cost a
few copies here. Whether an island may have all of its restitution shows in the velocity pass
(`restitution.py`). Where it may not, both passes are made again, positions with the share that is left.
A pass is also made again where friction locks an island, with less of it (`recovery_energy.py`).
"""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels import configuration
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.contact.impacts import POSITION_PASS, SLOW, VELOCITY_PASS
from worldline._src.kernels.constraints.contact.recovery_energy import ROUNDS
from worldline._src.model.views import operand_view, tree_view
from worldline._src.step.island_stages import call_linked
from worldline._src.step.reaching import trees_of


@stage
def keep_smooth(m, c, args, d):
    """a -> a without rows, for a second solve."""
    tm, tc, td = trees_of(args, d)
    a, kept = operand_view(tm, tc, td).a, r.split_view(m, c, args, d).a_smooth
    split, counter = r.split_view(m, c, args, d), r.link_view(m, c, args, d).counter
    counter[r.IS_SPLIT], counter[r.RESTITUTION_LIMITED], counter[r.LOCKED] = 0, 0, 0
    counter[r.JAMMED], counter[r.WEAKENED] = 0, 0
    for k in range(split.tree_share.shape[0]):
        split.tree_share[k], split.tree_recovery[k], split.tree_grip[k] = 1.0, SLOW, 1.0
    for k in range(a.shape[0]):
        kept[k] = a[k]


@inline
def _solve_for(solve_pass, m, c, args, d):
    """islands, v -> a of a pass; islands that friction locked in the last one have less of it."""
    tm, tc, td = trees_of(args, d)
    links, a, split = r.link_view(m, c, args, d), operand_view(tm, tc, td).a, r.split_view(m, c, args, d)
    qfrc, counter = r.record_view(m, c, args, d).qfrc, links.counter
    for k in range(a.shape[0]):
        a[k] = split.a_smooth[k]
        qfrc[k] = 0.0
    if counter[r.LOCKED] == 0:
        for k in range(split.tree_grip.shape[0]):
            split.tree_grip[k] = 1.0
    # rows are those of the last pass
    counter[r.ALL_ROWS], counter[r.ACTIVE_LIMITS], counter[r.UNCONVERGED], counter[r.SUBSTITUTED] = 0, 0, 0, 0
    counter[r.LOCKED], counter[r.JAMMED] = 0, 0
    links.option[r.SOLVE_PASS], links.option[r.RESIDUAL] = solve_pass, 0.0
    call_linked(r.program_view(m, c, args, d).program[r.AGAIN_LINK], m, c, args, d)


@inline
def _unlock(solve_pass, m, c, args, d):
    """Make a pass again while friction locks islands."""
    counter = r.link_view(m, c, args, d).counter
    for _ in range(ROUNDS):
        if counter[r.LOCKED] != 0:
            _solve_for(solve_pass, m, c, args, d)


@inline
def _solve_after_positions(m, c, args, d):
    """a of the position pass -> kept, a of the velocity pass; what either does not solve counts.

    Velocities with less friction than bodies have are not those of the step: it has not converged.
    """
    tm, tc, td = trees_of(args, d)
    links, split, a = r.link_view(m, c, args, d), r.split_view(m, c, args, d), operand_view(tm, tc, td).a
    counter, option = links.counter, links.option
    for k in range(a.shape[0]):
        split.correction[k] = a[k]
    unsolved, substituted, residual = counter[r.UNCONVERGED], counter[r.SUBSTITUTED], option[r.RESIDUAL]
    jammed = counter[r.JAMMED]
    _solve_for(VELOCITY_PASS, m, c, args, d)
    _unlock(VELOCITY_PASS, m, c, args, d)
    counter[r.UNCONVERGED] = max(counter[r.UNCONVERGED], unsolved)
    counter[r.SUBSTITUTED] = max(counter[r.SUBSTITUTED], substituted)
    counter[r.JAMMED], counter[r.WEAKENED] = jammed, counter[r.JAMMED]
    option[r.RESIDUAL] = max(option[r.RESIDUAL], residual)
    counter[r.CONVERGED] = 1 if counter[r.UNCONVERGED] == 0 and counter[r.WEAKENED] == 0 else 0


@stage
def solve_velocities(m, c, args, d):
    """islands, v, a of the position pass -> a of the velocity pass, and how the two differ."""
    tm, tc, td = trees_of(args, d)
    links, split, a = r.link_view(m, c, args, d), r.split_view(m, c, args, d), operand_view(tm, tc, td).a
    counter, option = links.counter, links.option
    if counter[r.IS_SPLIT] != 0:
        dropped = counter[r.DROPPED]
        _unlock(POSITION_PASS, m, c, args, d)
        _solve_after_positions(m, c, args, d)
        if counter[r.RESTITUTION_LIMITED] != 0:
            _solve_for(POSITION_PASS, m, c, args, d)
            _unlock(POSITION_PASS, m, c, args, d)
            _solve_after_positions(m, c, args, d)
        option[r.SOLVE_PASS] = POSITION_PASS
        counter[r.DROPPED] = dropped
        # coordinates move by h (h a), or by h (h a / 2) with the mean of the velocities
        lasting = option[r.STEP] * (1.0 - 0.5 * option[r.MEAN_MOTION])
        for k in range(a.shape[0]):
            split.correction[k] = (split.correction[k] - a[k]) * lasting


@stage
def correct_positions(m, c, args, d):
    """q, position correction -> q moved by it."""
    if r.link_view(m, c, args, d).counter[r.IS_SPLIT] != 0:
        tm, tc, td = trees_of(args, d)
        q, h = operand_view(tm, tc, td).q, r.link_view(m, c, args, d).option[r.STEP]
        configuration.integrate(tree_view(tm, tc, td), q, r.split_view(m, c, args, d).correction, h, q)
