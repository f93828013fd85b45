# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Many worlds with contact: what it gains to step several in each instruction.

Time of one step of one world, on one thread, from states that differ from world to world: by MuJoCo, by
`Simulation` (one world, Newton's method), by `LaneSimulation` one world at a time, and in lanes. The last two
run the same kernels and end with the same bits, which is checked; how far they are from Newton's method is
shown. Controls are random and constant. Robots of gymnasium are stepped when it is installed, with Euler's
method on both sides.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.timing import microseconds_of, table_of
from worldline import msd
from worldline._src.scalar.lanes import native_width
from worldline._src.step.constraints import Constraints
from worldline.model import LaneSimulation, Model, MultibodyIntegrationFamily, Simulation

WORLDS = 64
STEPS = 100
SETTLE = 150
FAMILY = MultibodyIntegrationFamily.IMPLICIT_DAMPING

BALLS = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1"/>
  {}</worldbody></mujoco>""".format(
    "".join(
        f'<body pos="{0.03 * k} {0.05 * (k % 2)} {0.2 + 0.25 * k}"><freejoint/>'
        f'<geom type="{"sphere" if k % 2 else "capsule"}" size=".1 .08"/></body>'
        for k in range(4)
    )
)
QUADRUPED = """<mujoco><option timestep="0.002"/>
  <default><geom type="capsule" contype="0" conaffinity="1" friction=".9"/>
    <joint damping=".5" armature=".01"/></default>
  <worldbody><geom type="plane" size="9 9 .1" contype="1"/>
  <body pos="0 0 .45"><freejoint/><geom type="box" size=".2 .1 .05" mass="5"/>{}</body></worldbody>
  <actuator>{}</actuator></mujoco>""".format(
    "".join(
        f'''<body pos="{x} {y} 0"><joint name="hip{x}{y}" axis="0 1 0" range="-60 60"/>
        <geom fromto="0 0 0 0 0 -.2" size=".03" mass=".5"/>
        <body pos="0 0 -.2"><joint name="knee{x}{y}" axis="0 1 0" range="-120 0"/>
        <geom fromto="0 0 0 0 0 -.2" size=".025" mass=".3"/></body></body>'''
        for x in (0.18, -0.18)
        for y in (0.12, -0.12)
    ),
    "".join(
        f'<position joint="{name}{x}{y}" kp="40" kv="1" ctrlrange="-1 1"/>'
        for name in ("hip", "knee")
        for x in (0.18, -0.18)
        for y in (0.12, -0.12)
    ),
)


def scenes() -> dict[str, str]:
    """Texts by name."""
    found = {"4 capsules and spheres": BALLS, "quadruped": QUADRUPED}
    spec = importlib.util.find_spec("gymnasium")
    if spec is not None and spec.origin is not None:
        assets = Path(spec.origin).parent / "envs/mujoco/assets"
        for name in ("hopper", "half_cheetah", "walker2d", "ant"):
            text = (assets / f"{name}.xml").read_text()
            found[name] = text.replace('integrator="RK4"', 'integrator="Euler"')
    return found


def started(model: Model) -> LaneSimulation:
    """Worlds with velocities and controls of their own, some time after they were let go."""
    worlds = LaneSimulation(model, WORLDS, integration_family=FAMILY)
    rng = np.random.default_rng(0)
    worlds.v[:] = 0.1 * rng.normal(size=worlds.v.shape)
    worlds.control[:] = 0.4 * rng.uniform(-1.0, 1.0, worlds.control.shape)
    worlds.step(SETTLE)
    return worlds


def newton_worlds(model: Model, start: LaneSimulation) -> tuple[list[Simulation], Callable[[], None]]:
    """The same worlds one by one, and what puts them back to the start."""
    made = []
    for w in range(WORLDS):
        one = Simulation(model, model.time_step, FAMILY, constraints=Constraints(model))
        assert one.constraints is not None
        one.control[:] = start.control[w]
        made.append(one)
    q, v = start.q.copy(), start.v.copy()

    def restart() -> None:
        for w, one in enumerate(made):
            one.q[:], one.v[:] = q[w], v[w]
            one.written()

    return made, restart


def mujoco_coordinates(model: Any, q: np.ndarray) -> np.ndarray:
    """Coordinates of many worlds as MuJoCo has them, with scalar-first quaternions of free joints."""
    import mujoco

    made = q.copy()
    for at in model.jnt_qposadr[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE] + 3:
        made[:, at : at + 4] = np.roll(q[:, at : at + 4], 1, axis=1)
    return made


def mujoco_worlds(text: str, start: LaneSimulation) -> tuple[Callable[[], object], Callable[[], None]]:
    """A job that steps the same worlds in MuJoCo, and what puts them back to the start."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    data = [mujoco.MjData(model) for _ in range(WORLDS)]
    q, v, control = mujoco_coordinates(model, start.q), start.v.copy(), start.control.copy()

    def restart() -> None:
        for w, one in enumerate(data):
            mujoco.mj_resetData(model, one)
            one.qpos[:], one.qvel[:], one.ctrl[:] = q[w], v[w], control[w]

    return lambda: [mujoco.mj_step(model, one, STEPS) for one in data], restart


def measure(text: str) -> list[str]:
    """The figures of a scene."""
    model = msd.build(msd.from_str(text, format="mjcf"))
    width = native_width()
    alone, wide = started(model), started(model)
    first = [(x, getattr(alone, x).copy()) for x in ("q", "v", "activation", "kept")]
    singles, restart_singles = newton_worlds(model, alone)
    job, restart_mujoco = mujoco_worlds(text, alone)

    def before() -> None:
        for name, values in first:
            getattr(alone, name)[:], getattr(wide, name)[:] = values, values
        restart_singles()
        restart_mujoco()

    before()
    alone.step(STEPS, lanes=1)
    wide.step(STEPS, lanes=width)
    if alone.q.tobytes() != wide.q.tobytes():
        raise RuntimeError("lanes do not have the bits of one world")
    for one in singles:
        one.step(STEPS)
    apart = float(np.median([np.abs(one.q - wide.q[w]).max() for w, one in enumerate(singles)]))
    late = 100.0 * wide.unconverged.mean() / STEPS
    each = microseconds_of(
        {
            "MuJoCo": job,
            "Newton": lambda: [one.step(STEPS) for one in singles],
            "alone": lambda: alone.step(STEPS, lanes=1),
            "lanes": lambda: wide.step(STEPS, lanes=width),
        },
        WORLDS * STEPS,
        before,
    )
    return [
        *(f"{each[name]:.2f}" for name in ("MuJoCo", "Newton", "alone", "lanes")),
        f"{each['alone'] / each['lanes']:.2f}",
        f"{each['MuJoCo'] / each['lanes']:.2f}",
        f"{apart:.0e}",
        f"{late:.0f} %",
    ]


def run(console: Console) -> None:
    """Print the table."""
    title = f"us a step of a world, {WORLDS} worlds, one thread, {native_width()} lanes"
    table = table_of(title, "scene | MuJoCo | Newton | alone | lanes | gain | over MuJoCo | apart | late")
    for name, text in scenes().items():
        table.add_row(name, *measure(text))
    console.print(table)
    console.print("apart: largest difference of coordinates to Newton's method at the end, median of worlds")
    console.print("late: solves that ended at the most sweeps")
