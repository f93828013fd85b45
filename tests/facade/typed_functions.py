# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Functions of a user within steps, with every name and its type."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import worldline
from worldline import ops
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
    _run_kernels(world, bob, hinge)
    return len(calls)


@worldline.kernel
def lift(step: ops.KernelStep) -> None:
    step.body_f[step.bodies[0], 5] = step.body_f[step.bodies[0], 5] + step.parameters[0]


@worldline.kernel(lanes=False)
def angle(step: ops.KernelStep) -> None:
    step.reading[0] = step.v[step.dofs[0]] + step.q[step.coordinates[0]]


def _run_kernels(world: sx.World, bob: sx.Link, hinge: sx.Joint) -> None:
    """Kernels, stages, and functions of a batch."""
    world.remove_step_function("control")
    world.remove_step_function("push")
    made: ops.Kernel = lift
    world.add_force_element("lift", made, bodies=(bob,), parameters=(1.0,))

    def slow(step: sx.WorldStepContext) -> None:
        step.a[:] *= 0.5

    world.add_stage("slow", slow, "accelerations")
    element: sx.StepFunction = world.step_functions[0]
    element.parameters = (2.0,)
    numbers: NDArray[np.float64] = element.parameters
    assert element.is_compiled and numbers.shape == (1,) and element.copy_to(world).name == "lift"
    reading: sx.FunctionSensor = world.sensors.add_function("angle", angle, joints=(hinge,))
    assert reading.kind == "kernel" and reading.parameters.size == 0
    name: str = world.collision_detector
    world.collision_detector = name
    batch = sx.WorldBatch(world, 2, layout="threads")
    batch.element_parameters[:] = 1.0
    place: dict[str, slice] = batch.element_parameter_slices
    assert batch.worlds[0].element_parameters.shape == (1,) and place["lift"] == slice(0, 1)

    def act(step: sx.BatchStepContext) -> None:
        row: int = step.body_row("arm/bob")
        shapes = [step.q, step.v, step.control, step.force, step.q_target, step.v_target, step.body_f]
        shapes += [step.body_q[:, row], step.body_qd, step.time, step.frame]
        assert all(len(each) == 2 for each in shapes) and step.time_step > 0.0

    def motor(step: sx.BatchStepContext) -> int:
        return step.actuator("none")

    batch.add_controller("act", act, period=0.02)
    batch.add_force_element("force", act)
    batch.add_stage("stage", act, "end")
    batch.add_observer("watch", act)
    batch.add_observer("motor", motor)
    batch.remove_step_function("motor")
    found: tuple[sx.BatchStepFunction, ...] = batch.step_functions
    told_of = [(each.name, each.kind, each.period, each.function) for each in found]
    assert told_of[0] == ("act", "controller", 0.02, act)
    batch.step(2)
