# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""State and control Jacobians of a step in contact, beside centred differences of MuJoCo (mjd_transitionFD).

Asked: ten times as fast, and gradients (vjp) at the cost of four steps. All are called in turns of ten calls,
in processor time, so that they meet the same disturbances. Ratios are medians over the turns, then those of
the best turns. MuJoCo differences only Euler steps and controls of actuators, so robots step by Euler's rule,
and Worldline is asked for the same columns. A step is a call of `world.step()`, or one of those in
`world.step(n=100)`. Then the same of worlds in lanes, by states and all controls, per world.
"""

from __future__ import annotations

import importlib.util
import time
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
from rich.console import Console

from benchmarks.timing import mujoco_of, table_of
from worldline import msd
from worldline import simulation as sx
from worldline._src.facade import derivatives

ROBOTS = ("hopper", "half_cheetah", "ant", "humanoid")
WARM_UP, TURNS, CALLS = 200, 40, 10
WORLDS = 64


def _text(robot: str) -> str | None:
    spec = importlib.util.find_spec("gymnasium")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "envs" / "mujoco" / "assets" / f"{robot}.xml"
    return path.read_text().replace('integrator="RK4"', 'integrator="Euler"')


def run(console: Console) -> None:
    """Print the table."""
    if (mujoco := mujoco_of(console)) is None:
        return
    table = table_of(
        "Jacobians of one step by state and actuator controls, microseconds",
        "robot | columns | rows | ours | mujoco | mujoco / ours | step() | of 100 | jvp / step() | "
        "vjp / step() | vjp / of 100",
    )
    for robot in ROBOTS:
        text = _text(robot)
        if text is None:
            console.print("derivatives: gymnasium is not installed")
            return
        scene = msd.from_str(text, format="mjcf")
        scene.simulate_option.policy.differentiable = True
        world, other = sx.World.from_scene(scene), sx.World.from_scene(scene)
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
        direction = np.ones(n)
        start = world.get_state(world.state_space())

        calls = (
            partial(derivatives._columns, world, tangent, layout, seeds),
            partial(mujoco.mjd_transitionFD, model, data, 1e-6, True, A, B, None, None),
            partial(world.apply_step_jvp, direction),
            partial(world.apply_step_vjp, direction),
            partial(other.step, n=100),
            other.step,
        )
        times = np.zeros((len(calls), TURNS))
        for turn in range(-1, TURNS):
            # near the state that derivatives are taken at
            other.set_state(start)
            for k, call in enumerate(calls):
                began = time.thread_time()
                for _ in range(CALLS):
                    call()
                times[k, turn] = time.thread_time() - began
        times[4] /= 100
        ours, theirs, forth, back, part, step = 1e6 / CALLS * times
        table.add_row(
            robot,
            str(len(x)),
            str(int(data.nefc)),
            f"{np.median(ours):.0f}",
            f"{np.median(theirs):.0f}",
            f"{np.median(theirs / ours):.1f}, {theirs.min() / ours.min():.1f}",
            f"{np.median(step):.1f}",
            f"{np.median(part):.1f}",
            f"{np.median(forth / step):.1f}",
            f"{np.median(back / step):.1f}, {back.min() / step.min():.1f}",
            f"{np.median(back / part):.1f}, {back.min() / part.min():.1f}",
        )
    console.print(table)
    run_batches(console, mujoco)


def run_batches(console: Console, mujoco: ModuleType) -> None:
    """Print the table of worlds in lanes."""
    table = table_of(
        f"Jacobians of one step of {WORLDS} worlds by states and all controls, microseconds per world",
        "robot | lanes | threads | mujoco | threads / lanes | mujoco / lanes | vjp in lanes | vjp / step",
    )
    for robot in ROBOTS:
        text = _text(robot)
        assert text is not None, "run() has looked for the models"
        scene = msd.from_str(text, format="mjcf")
        scene.simulate_option.policy.differentiable = True
        lanes, threads = sx.WorldBatch(scene, WORLDS), sx.WorldBatch(scene, WORLDS, layout="threads")
        rng = np.random.default_rng(0)
        lanes.controls[:] = threads.controls[:] = rng.uniform(-0.3, 0.3, lanes.controls.shape)
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data, WARM_UP)
        n = 2 * model.nv + model.na
        A, B, g = np.zeros((n, n)), np.zeros((n, model.nu)), np.ones((WORLDS, n))
        plain = sx.WorldBatch(msd.from_str(text, format="mjcf"), WORLDS)
        plain.controls[:] = lanes.controls
        for batch in (lanes, threads, plain):
            batch.step(WARM_UP)
        calls = (
            (WORLDS, lanes.get_step_derivatives),
            (WORLDS, threads.get_step_derivatives),
            (1, partial(mujoco.mjd_transitionFD, model, data, 1e-6, True, A, B, None, None)),
            (WORLDS, partial(lanes.apply_step_vjp, g)),
            (WORLDS, plain.step),
        )
        times = np.zeros((len(calls), TURNS))
        for turn in range(-1, TURNS):
            for k, (worlds, call) in enumerate(calls):
                began = time.thread_time()
                call()
                times[k, turn] = 1e6 * (time.thread_time() - began) / worlds
        ours, singly, theirs, back, step = times
        table.add_row(
            robot,
            *(f"{np.median(one):.1f}" for one in (ours, singly, theirs)),
            f"{np.median(singly / ours):.1f}, {singly.min() / ours.min():.1f}",
            f"{np.median(theirs / ours):.1f}, {theirs.min() / ours.min():.1f}",
            f"{np.median(back):.1f}",
            f"{np.median(back / step):.1f}, {back.min() / step.min():.1f}",
        )
    console.print(table)
