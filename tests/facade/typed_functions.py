# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Functions of a user within steps, with every name and its type."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldline import simulation as sx


def run() -> int:
    """Calls of all three kinds."""
    world = sx.World(time_step=0.01)
    arm = world.add_multibody("arm")
    base = arm.add_link("base")
    bob = arm.add_link("bob", base, sx.JointSpec("hinge"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    hinge = arm.joints["hinge"]
    calls: list[float] = []

    def control(step: sx.WorldStepContext) -> None:
        q: NDArray[np.float64] = step.q[step.coordinates(hinge)]
        v: NDArray[np.float64] = step.v[step.dofs(hinge)]
        step.force[step.dofs(hinge)] = -q - v
        step.control[:], step.q_target[:], step.v_target[:] = 0.0, 0.0, 0.0

    def push(step: sx.WorldStepContext) -> None:
        row: int = step.body_row(bob)
        center: NDArray[np.float64] = step.center_of_mass(bob)
        step.add_force(bob, np.array([1.0, 0.0, 0.0]), center)
        step.body_f[row, 3] += 0.0 * (step.body_q[row, 0] + step.body_qd[row, 0])

    def log(step: sx.WorldStepContext) -> None:
        frame: int = step.frame
        calls.append(step.time + step.time_step + frame)

    world.add_controller("control", control, period=0.02)
    world.add_force_element("push", push)
    world.add_observer("log", log)
    found: tuple[sx.StepFunction, ...] = world.step_functions
    kinds: list[tuple[str, str, float | None]] = [(f.name, f.kind, f.period) for f in found]
    assert found[0].function is control and len(kinds) == 3
    height: sx.FunctionSensor = world.sensors.add_function(
        "height", lambda w: w.rigid_bodies.names.index("a")
    )
    height.remove()
    speed: sx.FunctionSensor = world.sensors.add_function("speed", lambda w: arm.joints.velocity, dim=1)
    other: sx.FunctionSensor = speed.copy_to(world)
    readings: tuple[object, ...] = (speed.kind, speed.dim, speed.span, speed.noise, speed.cutoff)
    assert speed.value.shape == (1,) and not speed.needs_dynamics and speed.is_valid and not other.is_valid
    assert readings[0] == "function"
    world.step(n=4)
    world.remove_step_function("log")
    return len(calls)
