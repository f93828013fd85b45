# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stage that looks whether a variational step leads to closed loops."""

from __future__ import annotations

from worldline._src.kernels.constraints.equality import variational_loops
from worldline._src.step.loop_stages import loop_stage


@loop_stage
def check_loops(loop, held, h, start, move, q, v):
    """displacement -> whether it leads to closed loops; a step that does not is not solved."""
    variational_loops.check_loops(loop, held, h, start, v, move, q)
