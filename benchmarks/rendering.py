# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures without a screen beside MuJoCo's: one alone, and one after the other with a renderer kept open.

Asked: as fast as MuJoCo with software OpenGL at the same size. Both draw the same robot with shadows;
MuJoCo takes the OpenGL of MUJOCO_GL, egl by default, which is software where there is no graphics card.
"""

from __future__ import annotations

import importlib.util
import os

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.python_calls import measured
from benchmarks.real_robots import robots
from benchmarks.timing import against_mujoco
from worldline import simulation as sx

WIDTH, HEIGHT, TURNS = 640, 480, 12


def run(console: Console) -> None:
    """Print the table."""
    if importlib.util.find_spec("mujoco") is None or importlib.util.find_spec("vtkmodules") is None:
        console.print("MuJoCo or VTK is not installed")
        return
    os.environ.setdefault("MUJOCO_GL", "egl")
    import mujoco

    table = Table(title=f"pictures of {WIDTH} x {HEIGHT}, milliseconds")
    against_mujoco(table, "picture")
    names = ("humanoid of Gymnasium", "Unitree G1")
    for robot in (robot for robot in robots() if robot.name in names):
        world = sx.World.from_file(str(robot.path))
        model = mujoco.MjModel.from_xml_path(str(robot.path))
        model.vis.global_.offwidth, model.vis.global_.offheight = WIDTH, HEIGHT
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        kept, theirs = sx.Renderer(world, WIDTH, HEIGHT), mujoco.Renderer(model, HEIGHT, WIDTH)

        def their_one(model=model, data=data) -> None:
            with mujoco.Renderer(model, HEIGHT, WIDTH) as renderer:
                renderer.update_scene(data)
                renderer.render()

        def their_next(renderer=theirs, data=data) -> None:
            renderer.update_scene(data)
            renderer.render()

        rows = (
            ("one alone", lambda w=world: sx.render(w, width=WIDTH, height=HEIGHT), their_one),
            ("renderer kept open", kept.render, their_next),
        )
        for what, our_job, their_job in rows:
            ours, others = (1e-3 * found for found in measured([our_job, their_job], turns=TURNS))
            figures = (ours.min(), np.median(ours), others.min(), np.median(others))
            ratios = (f"{figures[2] / figures[0]:.2f}", f"{figures[3] / figures[1]:.2f}")
            table.add_row(f"{robot.name}, {what}", *(f"{x:.1f}" for x in figures), *ratios, "1.0")
        kept.close()
        theirs.close()
    console.print(table)
