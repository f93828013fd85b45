# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Enter compiled code once for a list of collision stages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64

from worldline._src.jit import DISABLED, Stage, announced, entry
from worldline._src.kernels.narrowphase.links import LINKED
from worldline._src.scalar.memory import call_stage, pointer


@entry
def _run_stages(program, m, c, args, d):
    for k in range(program.shape[0]):
        call_stage(program[k], pointer(m), pointer(c), pointer(args), pointer(d))


_SIGNATURE = "(int64[::1], int64[::1], float64[::1], int64[::1], float64[::1])"
_addresses: dict[tuple[Stage, ...], np.ndarray] = {}


def run_stages(stages: tuple[Stage, ...], m: Any, c: Any, args: Any, d: Any) -> None:
    """Run stages over the arenas of one world, in order; the links they call must be set."""
    if DISABLED:
        for stage in stages:
            stage(m, c, args, d)
        return
    program = _addresses.get(stages)
    if program is None:
        with announced("the loop over collision stages"):
            _run_stages.compile(_SIGNATURE)
        program = np.array([stage.address(float64) for stage in stages], np.int64)
        _addresses[stages] = program
    _run_stages(program, m, c, args, d)


def set_links(links: tuple[int, ...], args: Any) -> None:
    """Put the addresses of links where stages look for them: at the front of the args arena."""
    if DISABLED:
        return
    for k in links:
        args[k] = LINKED[k].address(float64)
