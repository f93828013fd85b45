# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""State and control Jacobians of a step in contact, beside centred differences of MuJoCo (mjd_transitionFD).

Asked: ten times as fast. Both are called in turns, so that they meet the same disturbances; the ratio is the
median over the turns. MuJoCo differences only Euler steps and controls of actuators, so robots step by
Euler's rule here, and Worldline is asked for the same columns.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.timing import table_of
from worldline import msd
from worldline import simulation as sx
from worldline._src.facade import derivatives

ROBOTS = ("hopper", "half_cheetah", "ant", "humanoid")
WARM_UP, TURNS = 200, 100


def _text(robot: str) -> str | None:
    spec = importlib.util.find_spec("gymnasium")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "envs" / "mujoco" / "assets" / f"{robot}.xml"
    return path.read_text().replace('integrator="RK4"', 'integrator="Euler"')


def run(console: Console) -> None:
    """Print the table."""
    try:
        import mujoco
    except ImportError:
        console.print("derivatives: MuJoCo is not installed")
        return
    table = table_of(
        "Jacobians of one step by state and actuator controls, microseconds",
        "robot | columns | rows | worldline | mujoco, centred | mujoco / worldline | step | jvp / step",
    )
    for robot in ROBOTS:
        text = _text(robot)
        if text is None:
            console.print("derivatives: gymnasium is not installed")
            return
        scene = msd.from_str(text, format="mjcf")
        scene.simulate_option.policy.differentiable = True
        world = sx.World.from_scene(scene)
        world.step(n=WARM_UP)
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        for _ in range(WARM_UP):
            mujoco.mj_step(model, data)
        n = 2 * model.nv + model.na
        A, B = np.zeros((n, n)), np.zeros((n, model.nu))
        tangent, layout = derivatives.require_tangent(world), derivatives._layout(world)
        x = np.zeros((n + model.nu, len(layout.state_names)))
        u = np.zeros((n + model.nu, len(layout.control_names)))
        x[:n] = np.eye(n)
        u[n:, -model.nu :] = np.eye(model.nu)
        seeds = derivatives._seeds(world, layout, x, u)
        ours, theirs, steps, products = [], [], [], []
        direction = np.ones(n)
        for _ in range(TURNS):
            at = [time.perf_counter()]
            derivatives._columns(world, tangent, layout, seeds)
            at.append(time.perf_counter())
            mujoco.mjd_transitionFD(model, data, 1e-6, True, A, B, None, None)
            at.append(time.perf_counter())
            world.apply_step_jvp(direction)
            at.append(time.perf_counter())
            for times, first, end in zip((ours, theirs, products), at[:-1], at[1:], strict=True):
                times.append(end - first)
        start = time.perf_counter()
        world.step(n=1000)
        steps = (time.perf_counter() - start) / 1000
        ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
        rows = int(data.nefc)
        micro = [1e6 * statistics.median(times) for times in (ours, theirs)]
        table.add_row(
            robot,
            str(len(x)),
            str(rows),
            f"{micro[0]:.0f}",
            f"{micro[1]:.0f}",
            f"{ratio:.2f}",
            f"{1e6 * steps:.1f}",
            f"{statistics.median(products) / steps:.1f}",
        )
    console.print(table)
