# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Enter compiled code once for a list of stages that share four arenas.

A program is the addresses of its stages, or, without the compiler, the stages themselves. Loops over many
worlds and over steps are built on the same calls in `step/runner.py`.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import DISABLED, entry
from worldline._src.scalar.memory import call_stage, pointer


@entry(signature="int64[::1] int64[::1] float64[::1] int64[::1] float64[::1]", label="the call of a program")
def _call(program, m, c, args, d):
    for k in range(program.shape[0]):
        call_stage(program[k], pointer(m), pointer(c), pointer(args), pointer(d))


def _call_python(program, m, c, args, d):
    for stage in program:
        stage(m, c, args, d)


def caller() -> Any:
    """The compiled function (program, m, c, args, d) that runs a program once on arenas with its operands."""
    return _call_python if DISABLED else _call.ready()
