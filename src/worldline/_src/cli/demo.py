# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline demo`: the main jobs on bundled models, with figures."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

if TYPE_CHECKING:
    from worldline._src.model.model import Model


def demo(
    worlds: Annotated[int, typer.Option(help="Worlds in the batch.", min=1)] = 4096,
    seconds: Annotated[float, typer.Option(help="Simulated time of the chain.", min=0.1)] = 2.0,
) -> None:
    """Swing a chain and watch its energy, then run the dynamics of a humanoid in thousands of worlds."""
    console = Console()
    console.print("[bold]Worldline demo[/bold]; the first run compiles kernels, once per machine.\n")
    _swing(console, seconds)
    _batch(console, worlds)


def _swing(console: Console, seconds: float) -> None:
    """A chain of 7 let go from the side, by the classical Runge-Kutta method."""
    from worldline._src.step import dynamics as wm
    from worldline._src.step.samples import chain

    model = chain(7)
    q, v = np.zeros(7), np.zeros(7)
    q[0] = 0.5 * np.pi
    h = 1e-3
    steps = round(seconds / h)
    start_energy = float(wm.potential_energy(model, q))
    for _ in track(range(steps), description="swinging a chain of 7 links", console=console):
        q, v = runge_kutta_step(model, q, v, h)
    moving = float(wm.kinetic_energy(model, q, v))
    lost = abs(moving + float(wm.potential_energy(model, q)) - start_energy)
    tip = wm.forward_kinematics(model, q)[-1, :3]
    console.print(
        f"  after {seconds:g} s: last link at ({tip[0]:.4f}, {tip[1]:.4f}, {tip[2]:.4f}) m, "
        f"energy off by {lost:.1e} J of {moving:.2f} J in motion\n"
    )


def runge_kutta_step(model: Model, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """One step of the fourth-order method for joints whose coordinates add up."""
    from worldline._src.step.dynamics import forward_dynamics

    none = np.zeros_like(v)
    a1 = forward_dynamics(model, q, v, none)
    v2 = v + 0.5 * h * a1
    a2 = forward_dynamics(model, q + 0.5 * h * v, v2, none)
    v3 = v + 0.5 * h * a2
    a3 = forward_dynamics(model, q + 0.5 * h * v2, v3, none)
    v4 = v + h * a3
    a4 = forward_dynamics(model, q + h * v3, v4, none)
    return q + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4), v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)


def _batch(console: Console, worlds: int) -> None:
    """The algorithms on a floating tree of 38 links in many worlds."""
    from worldline._src.step import dynamics as wm
    from worldline._src.step.samples import humanoid

    model = humanoid()
    rng = np.random.default_rng(0)
    q = wm.random_configuration(model, rng, worlds=worlds)
    v, u = rng.normal(size=(2, worlds, model.joint_dof_count))
    jobs = {
        "forward kinematics": lambda **k: wm.forward_kinematics(model, q, **k),
        "inverse dynamics": lambda **k: wm.inverse_dynamics(model, q, v, u, **k),
        "forward dynamics": lambda **k: wm.forward_dynamics(model, q, v, u, **k),
        "mass matrix": lambda **k: wm.mass_matrix(model, q, **k),
    }
    table = Table(title=f"humanoid of 38 links, {worlds} worlds, microseconds per world")
    for column in ("", "one at a time", "in lanes", "lanes, all threads", "equal bits"):
        table.add_column(column, justify="left" if not column else "right")
    for name, job in track(jobs.items(), description="running the humanoid", console=console):
        results, times = [], []
        for options in ({"lanes": 1}, {}, {"threads": 0}):
            out = job(**options)
            start = time.perf_counter()
            job(**options, out=out)
            times.append(f"{(time.perf_counter() - start) / worlds * 1e6:.2f}")
            results.append(out)
        equal = all(np.array_equal(results[0], r) for r in results[1:])
        table.add_row(name, *times, "yes" if equal else "NO")
    console.print(table)
