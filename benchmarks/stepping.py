# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whole steps: cost of a call on one body, steps per second beside MuJoCo, and reads after writes.

Asked: `world.step()` on one rigid body at most 5 us; `world.step(n=1000)` of a 7-joint arm at least 1.5 times
MuJoCo without contacts; a read after a write at most 10 us; falling humanoids at least 1.5 times, ants and
cheetahs at least 1.2 times MuJoCo. Both engines run their compiled loops on one thread, same model, same time
step; MuJoCo's model is built from the same file.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.timing import best_of, table_of, turns_of
from worldline import simulation as sx

CALLS = 2000
STEPS = 400


def arm_xml() -> str:
    """A hanging chain of seven hinges, as `worldline._src.step.samples.chain` has it."""
    text = '<mujoco><option timestep="0.001"><flag contact="disable"/></option><worldbody>'
    for i in range(7):
        axis = ("1 0 0", "0 1 0", "0 0 1")[i % 3]
        text += f'<body name="l{i}" pos="0 0 {-0.3 if i else 0}"><joint name="j{i}" axis="{axis}"/>'
        text += '<inertial pos="0 0.01 -0.15" mass="1" diaginertia="0.01 0.012 0.008"/>'
    return text + "</body>" * 7 + "</worldbody></mujoco>"


def _calls(console: Console) -> None:
    world = sx.World()
    world.add_rigid_body("box", position=(0, 0, 1))
    world.step()
    arm = sx.World()
    robot, parent = arm.add_multibody("arm"), None
    for i in range(7):
        axis = [0.0, 0.0, 0.0]
        axis[i % 3] = 1.0
        parent = robot.add_link(f"l{i}", parent, sx.JointSpec(name=f"j{i}", axis=axis))
    arm.step()
    joint, tip = robot.joints[0], robot.links[-1]

    def write() -> None:
        for _ in range(CALLS):
            joint.position = [0.1]

    def write_and_read() -> None:
        for _ in range(CALLS):
            joint.position = [0.1]
            _ = tip.transform

    times = best_of(
        {
            "step": lambda: [world.step() for _ in range(CALLS)],
            "write": write,
            "both": write_and_read,
        }
    )
    micro = {name: 1e6 * seconds / CALLS for name, seconds in times.items()}
    table = table_of("calls from Python, microseconds", "call | measured | asked")
    table.add_row("world.step() of one rigid body", f"{micro['step']:.2f}", "5")
    table.add_row("link.transform after joint.position = q", f"{micro['both'] - micro['write']:.2f}", "10")
    table.add_row("joint.position = q", f"{micro['write']:.2f}", "")
    console.print(table)


def _restart(model: Any, data: Any, world: sx.World, mujoco: Any) -> None:
    mujoco.mj_resetData(model, data)
    world.reset()


def _scenes() -> list[tuple[str, str, float]]:
    """Name, path or text, and what is asked."""
    found = [("7-joint arm, no contacts", arm_xml(), 1.5)]
    package = importlib.util.find_spec("gymnasium")
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "envs/mujoco/assets"
        found += [(name, str(folder / f"{name}.xml"), 1.2) for name in ("half_cheetah", "ant")]
        found.append(("humanoid", str(folder / "humanoid.xml"), 1.5))
    return found


def run(console: Console) -> None:
    """Print both tables."""
    import mujoco

    from worldline import msd

    _calls(console)
    table = table_of(
        f"steps per second, best of {STEPS} steps from the start, falling and lying, one thread",
        "scene | Worldline | MuJoCo | ratio | ratio, median | asked",
    )
    for name, source, asked in _scenes():
        text = source.startswith("<")
        model = mujoco.MjModel.from_xml_string(source) if text else mujoco.MjModel.from_xml_path(source)
        model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        data = mujoco.MjData(model)
        scene = msd.from_str(source, format="mjcf") if text else msd.from_file(source)
        world = sx.World.from_scene(scene)
        world.enter_simulation_mode()
        times = turns_of(
            {
                "ours": lambda w=world: w.step(STEPS),
                "theirs": lambda m=model, d=data: mujoco.mj_step(m, d, STEPS),
            },
            before=lambda m=model, d=data, w=world: _restart(m, d, w, mujoco),
        )
        ours, theirs = STEPS / times["ours"].min(), STEPS / times["theirs"].min()
        middle = np.median(times["theirs"]) / np.median(times["ours"])
        cells = (f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.2f}", f"{middle:.2f}", f"{asked}")
        table.add_row(name, *cells)
        if not np.isfinite(world.kinetic_energy):
            raise RuntimeError(f"{name}: the state is not finite")
    console.print(table)
