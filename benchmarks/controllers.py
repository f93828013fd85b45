# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""PD control of the arm of `examples/pd_kernel.py` within `step(n)`, beside MuJoCo's control callback.

Asked: at least the speed of MuJoCo with `mjcb_control`. All loops take turns in one process, thousands of
steps in a call each, in processor time. A controller's part is the time of its steps less that of the same
arm without one. MuJoCo has its callback set from Python, and beside it a run without any, which a callback of
C comes near to.
"""

from __future__ import annotations

import runpy
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.timing import mujoco_of, table_of, turns_of
from worldline import simulation as sx

EXAMPLE = Path(__file__).parents[1] / "examples" / "pd_kernel.py"
WANTED = np.array([0.4, -0.3, 0.2, -0.1])
STEPS, ROUNDS = 2000, 15


def _worlds(example: dict[str, Any]) -> dict[str, sx.World]:
    """The arm without a controller, with the kernel, and with a function of Python."""
    gains, names = (example["STIFFNESS"], example["DAMPING"]), [f"motor_{k}" for k in range(len(WANTED))]
    worlds = {name: example["arm"]() for name in ("none", "kernel", "function")}
    joints = list(worlds["kernel"].multibodies[0].joints)
    worlds["kernel"].add_controller(
        "pd", example["pd_kernel"], joints=joints, actuators=names, parameters=(*gains, *WANTED)
    )

    def control(step: sx.WorldStepContext) -> None:
        step.control[:] = gains[0] * (WANTED - step.q) - gains[1] * step.v

    worlds["function"].add_controller("pd", control)
    return worlds


def _peer(mujoco: Any, text: str, gains: tuple[float, float]) -> dict[str, Any]:
    """MuJoCo's loops over the same arm, without and with a callback that is set from Python."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def control(model: Any, data: Any) -> None:
        data.ctrl[:] = gains[0] * (WANTED - data.qpos) - gains[1] * data.qvel

    def loop(callback: Any) -> None:
        mujoco.set_mjcb_control(callback)
        try:
            mujoco.mj_step(model, data, nstep=STEPS)
        finally:
            mujoco.set_mjcb_control(None)

    return {"none": partial(loop, None), "callback": partial(loop, control), "data": data}


def run(console: Console) -> None:
    """Print the table."""
    if (mujoco := mujoco_of(console)) is None:
        return
    example = runpy.run_path(str(EXAMPLE))
    worlds = _worlds(example)
    peer = _peer(mujoco, example["text"](), (example["STIFFNESS"], example["DAMPING"]))
    jobs = {name: partial(world.step, STEPS) for name, world in worlds.items()}
    jobs |= {"MuJoCo": peer["none"], "mjcb_control": peer["callback"]}
    found = turns_of(jobs, rounds=ROUNDS, clock=time.process_time)
    # all of them hold the arm at the same angles, or the times say nothing
    reached = [worlds[name].multibodies[0].joints.position for name in ("kernel", "function")]
    peer["callback"]()
    for angles in (*reached, peer["data"].qpos):
        np.testing.assert_allclose(angles, reached[0], atol=1e-6)
    table = table_of(
        f"PD control of {len(WANTED)} joints within step({STEPS}), microseconds a step, one thread",
        "controller | step, best | median | controller's part | mjcb_control / it | median | asked",
    )
    best = {name: 1e6 * times.min() / STEPS for name, times in found.items()}
    middle = {name: 1e6 * float(np.median(times)) / STEPS for name, times in found.items()}
    for name, without, asked in (
        ("kernel", "none", "1.0"),
        ("function", "none", ""),
        ("mjcb_control", "MuJoCo", ""),
    ):
        table.add_row(
            name,
            f"{best[name]:.2f}",
            f"{middle[name]:.2f}",
            f"{best[name] - best[without]:.2f}",
            f"{best['mjcb_control'] / best[name]:.2f}",
            f"{middle['mjcb_control'] / middle[name]:.2f}",
            asked,
        )
    table.add_row("none", f"{best['none']:.2f}", f"{middle['none']:.2f}", "", "", "", "")
    table.add_row("MuJoCo, none", f"{best['MuJoCo']:.2f}", f"{middle['MuJoCo']:.2f}", "", "", "", "")
    console.print(table)
