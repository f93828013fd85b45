# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What one call from Python costs beyond its kernel; asked: at most 5 microseconds."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import worldline.model as wm
from benchmarks.timing import best_of
from worldline._src.step.samples import chain

WORLDS, CALLS = 1000, 1000


def run(console: Console) -> None:
    """Print the table for a chain of 7."""
    model = chain(7)
    rng = np.random.default_rng(0)
    q, v, u = rng.normal(size=(3, WORLDS, 7))
    functions = {
        "forward dynamics": (wm.forward_dynamics, (q, v, u)),
        "inverse dynamics": (wm.inverse_dynamics, (q, v, u)),
        "forward kinematics": (wm.forward_kinematics, (q,)),
        "mass matrix": (wm.mass_matrix, (q,)),
    }
    table = Table(title="one call from Python on a chain of 7, microseconds")
    table.add_column("function")
    for column in ("call", "kernel", "difference"):
        table.add_column(column, justify="right")
    for name, (function, operands) in functions.items():
        first = tuple(x[0].copy() for x in operands)
        out = function(model, *operands)
        times = best_of(
            {
                "call": lambda f=function, x=first: [f(model, *x) for _ in range(CALLS)],
                "kernel": lambda f=function, x=operands, o=out: f(model, *x, out=o, lanes=1),
            }
        )
        call, kernel = times["call"] / CALLS * 1e6, times["kernel"] / WORLDS * 1e6
        table.add_row(name, f"{call:.2f}", f"{kernel:.2f}", f"{call - kernel:.2f}")
    console.print(table)
