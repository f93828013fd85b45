# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Enter compiled code once for a list of stages that share four arenas.

A program is the addresses of its stages, or, without the compiler, the stages themselves. Loops over many
worlds and over steps are built on the same calls in `step/runner.py`.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import DISABLED, announced, entry
from worldline._src.scalar.memory import call_stage, pointer

_SIGNATURE = "(int64[::1], int64[::1], float64[::1], int64[::1], float64[::1])"
_ready: list[Any] = []


@entry
def _call(program, m, c, args, d):
    for k in range(program.shape[0]):
        call_stage(program[k], pointer(m), pointer(c), pointer(args), pointer(d))


def _call_python(program, m, c, args, d):
    for stage in program:
        stage(m, c, args, d)


def caller() -> Any:
    """The compiled function (program, m, c, args, d) that runs a program once on arenas with its operands."""
    if not _ready:
        run: Any = _call_python
        if not DISABLED:
            run = _call
            with announced("the call of a program"):
                run.compile(_SIGNATURE)
        _ready.append(run)
    return _ready[0]
