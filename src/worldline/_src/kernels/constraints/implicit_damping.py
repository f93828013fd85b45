# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Damping of joints at the end of a step, for every scalar; `damping.py` is quicker for one world."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.constraints.damping import damping_of
from worldline._src.kernels.mass_factor import factor, respond


@kernel
def damp_all(damped, h, mass_io, work_out, a_io):
    """a less (M + h D)^-1 h D a, which is (M + h D)^-1 M a where nothing is held. O(n depth^2).

    M itself becomes M + h D. work_out: (nv,).
    """
    M, nv = mass_io.M, a_io.shape[0]
    for d in range(nv):
        extra = h * damping_of(damped, d)
        M[d, d] = M[d, d] + extra
        work_out[d] = extra * a_io[d]
    factor(damped.chain, M, mass_io.L)
    respond(damped.chain, mass_io.L, work_out)
    for d in range(nv):
        a_io[d] = a_io[d] - work_out[d]
