# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Recovery of hard position limits by a displacement after integration.

For steps with one velocity for positions and velocities, those of Runge-Kutta. A limit that is violated by
-r is moved back by the displacement of least kinetic norm, M^-1 J^T (J M^-1 J^T)^-1 (-r), one limit after the
other (nonlinear Gauss-Seidel). Centres of mass of floating trees stay where they are, and velocities are left
alone.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels import configuration, impulse_response
from worldline._src.kernels.constraints.limit.rows import limit_error
from worldline._src.kernels.constraints.limit.stops import QUIET
from worldline._src.kernels.constraints.tables import ERP, HARD, KIND, NUMBER
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import any_of, constant, minimum, where

_SWEEPS = 20
"""Most passes over the limits in a step; what is left is for the next."""


class RecoveryWork(NamedTuple):
    """Scratch: the articulated-body factor, its accelerations, three vectors of velocities, and coordinates,
    those of a trial and those at the start."""

    art: Any
    acc: Any
    extra: Any
    impulse: Any
    motion: Any
    q: Any
    q_start: Any


@inline
def _displace(tree, inertia, pos, error, d, scalar, recovery, work):
    """Move work.q by the displacement that closes `recovery` of an error, where that is positive."""
    impulse, motion = work.impulse, work.motion
    none, one = constant(0.0, recovery), constant(1.0, recovery)
    for k in range(impulse.shape[0]):
        impulse[k] = none
    impulse[d] = error.x
    if not scalar:
        impulse[d + 1], impulse[d + 2] = error.y, error.z
    impulse_response.respond(tree, inertia, pos.dof_S, impulse, work.art, work.acc, motion)

    # J M^-1 J^T, which is zero where nothing can move
    give = error.x * motion[d]
    if not scalar:
        give = give + (error.y * motion[d + 1] + error.z * motion[d + 2])
    moves = give > 0.0
    share = where(moves, recovery / where(moves, give, one), none)
    for k in range(motion.shape[0]):
        motion[k] = motion[k] * share
    configuration.integrate(tree, work.q, motion, one, work.q)


@inline
def _missing(limit, k, side, h, q_start, q):
    """Where a limit is now, and how far it still is from where this step shall bring it."""
    now, start = limit_error(limit, k, side, q), limit_error(limit, k, side, q_start).r
    most = constant(limit.limit_bound[k, 3] * h, start)
    share = minimum(start * -limit.limit_law[k, ERP], most)
    target = where(start < 0.0, start + share, constant(0.0, start))
    # bounds that are not there are never missed
    return now, where(now.r < 0.0, target - now.r, constant(0.0, start))


@kernel
def recover_limits(limit, h, tree, inertia, pos, work, q_io):
    """Coordinates beyond a hard limit go back towards it, at the speed the limit allows.

    pos: poses near q, for the metric. O(limits), and O(n) more a sweep for each that is violated.
    """
    sweep, left = 0, True
    while left and sweep < _SWEEPS:
        left = False
        for k in range(limit.limit_dof.shape[0]):
            if limit.limit_law[k, KIND] != HARD:
                continue
            for side in range(2):
                begun = work.q_start if sweep > 0 else q_io
                error, recovery = _missing(limit, k, side, h, begun, q_io)
                beyond = recovery > QUIET * h
                if any_of(beyond):
                    left = True
                    # the first pass only looks
                    if sweep > 0:
                        for i in range(q_io.shape[0]):
                            work.q[i] = q_io[i]
                        scalar = limit.limit_kind[k] == NUMBER
                        _displace(tree, inertia, pos, error, limit.limit_dof[k], scalar, recovery, work)
                        for i in range(q_io.shape[0]):
                            q_io[i] = where(beyond, work.q[i], q_io[i])
        if left and sweep == 0:
            for i in range(q_io.shape[0]):
                work.q_start[i] = q_io[i]
            for d in range(work.extra.shape[0]):
                work.extra[d] = constant(0.0, h)
            impulse_response.factor(tree, inertia, pos, work.extra, work.art)
        sweep += 1
