# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of a step that run what its user gave: compiled kernels, and functions of Python.

Kernels are called through their address, one after the other, and the step does not leave compiled code. For
functions of Python a stage sets SHORT, upon which the loop over steps (`runner.py`) returns;
`user_elements.py` calls them, and the same step goes on with the next stage.

Forces of force elements hold for one evaluation. `keep_forces` copies what is applied and commanded without
them, `force_kernels` starts every evaluation from that copy, and `restore_forces` ends the step with it. The
arenas of these stages are laid out in `user_tables.py`.
"""

from __future__ import annotations

from worldline._src.jit import Stage, inline, stage
from worldline._src.kernels.constraints.tables import SHORT
from worldline._src.kinds import int64
from worldline._src.scalar.memory import address_as, address_like, vector
from worldline._src.scalar.ops import constant
from worldline._src.step.island_stages import call_linked

# args: where the trees and the rows are, the evaluation at hand, 1 for Runge-Kutta, the number of the step
TREES, ROWS, EVALUATION, FOUR, FRAME = range(8, 13)
KINDS = 13
"""Behind them a pair for every kind of element: where its list begins in args, and its number of entries."""
CONTROLLERS, FORCES, ACCELERATIONS, ENDS, SENSORS = range(5)
KIND_COUNT = 5
ENTRY = 3
"""Numbers of an entry: address of the kernel, address of its integers, steps from one call to the next."""

# m: where forces on bodies begin in the arena of trees, how many numbers they are and how many with those of
# joints behind them, and where the clock, the copy of forces and the forces of the last evaluation are
APPLIED, BODY_FORCES, ALL_FORCES, CLOCK, BASE, ACTED = range(6)

# d: time since the start of the step as a share of the time step, and the time at which the clock was zero
# [s]
FRACTION, START = range(2)


@inline
def run_kernels(m, c, args, d, kind):
    """Call the kernels of a kind that are due, in the order in which they were added."""
    first = args[KINDS + 2 * kind]
    for k in range(args[KINDS + 2 * kind + 1]):
        at = first + ENTRY * k
        if args[FRAME] % args[at + 2] == 0:
            call_linked(args[at], address_as(args[at + 1], int64), c, args, d)


def interrupt(m, c, args, d):
    """Leave compiled code, so that Python may call functions of the user before the next stage."""
    args[SHORT] = 1


def _called(name: str, flow: str) -> Stage:
    """A stage that Python carries out; `flow` is what it reads and writes."""
    return Stage(name, flow, lambda: interrupt)


@stage
def controller_kernels(m, c, args, d):
    """q, v -> commands, controls: compiled kernels that the user gave, at the start of a step."""
    d[FRACTION] = constant(0.0, d[FRACTION])
    run_kernels(m, c, args, d, CONTROLLERS)


call_controllers = _called(
    "call_controllers", "q, v -> commands, controls: functions that the user gave, at the start of a step."
)


@inline
def _forces(m, args, d):
    """Forces on bodies and commands, and their copy."""
    n = m[ALL_FORCES]
    return vector(address_like(args[TREES], d), m[APPLIED], n), vector(d, m[BASE], n)


@stage
def keep_forces(m, c, args, d):
    """forces on bodies, commands -> copy of forces: what force elements add to."""
    applied, base = _forces(m, args, d)
    for k in range(m[ALL_FORCES]):
        base[k] = applied[k]
    args[EVALUATION] = 0


@stage
def force_kernels(m, c, args, d):
    """body poses, body velocities -> forces on bodies, commands: compiled kernels that the user gave."""
    applied, base = _forces(m, args, d)
    for k in range(m[ALL_FORCES]):
        applied[k] = base[k]
    # evaluations of Runge-Kutta are at 0, 1/2, 1/2 and 1 of a step
    which = args[EVALUATION]
    share = 0.0
    if args[FOUR] != 0 and which > 0:
        share = 0.5 if which < 3 else 1.0
    d[FRACTION] = constant(share, d[FRACTION])
    args[EVALUATION] = which + 1
    run_kernels(m, c, args, d, FORCES)


call_force_elements = _called(
    "call_force_elements",
    "body poses, body velocities -> forces on bodies, commands: functions that the user gave.",
)


@stage
def acceleration_kernels(m, c, args, d):
    """a -> a: compiled kernels that the user gave, before constraints are solved."""
    run_kernels(m, c, args, d, ACCELERATIONS)


call_acceleration_stages = _called(
    "call_acceleration_stages", "a -> a: functions that the user gave, before constraints are solved."
)


call_detector = _called("call_detector", "body poses -> contacts: a registered collision detector.")


@stage
def restore_forces(m, c, args, d):
    """copy of forces -> forces on bodies, commands: what force elements added is over."""
    applied, base = _forces(m, args, d)
    acted = vector(d, m[ACTED], m[BODY_FORCES])
    for k in range(m[BODY_FORCES]):
        acted[k] = applied[k]
    for k in range(m[ALL_FORCES]):
        applied[k] = base[k]


@stage
def end_kernels(m, c, args, d):
    """q, v -> q, v: compiled kernels that the user gave, after integration."""
    d[FRACTION] = constant(1.0, d[FRACTION])
    run_kernels(m, c, args, d, ENDS)


call_end_stages = _called("call_end_stages", "q, v -> q, v: functions that the user gave, after integration.")


call_observers = _called("call_observers", "q, v -> : functions that the user gave, at the end of a step.")


@stage
def count_step(m, c, args, d):
    """-> number of the step, for kernels that run every so many of them."""
    args[FRAME] += 1


@stage
def count_steps(m, c, args, d):
    """clock -> clock: steps of every world of the fixed layout, whose loop counts elsewhere."""
    clock = vector(address_like(args[TREES], d), m[CLOCK], 2)
    for k in range(2):
        clock[k] = clock[k] + 1.0


@stage
def sensor_kernels(m, c, args, d):
    """q, v, body poses, body velocities -> readings: compiled kernels that the user gave."""
    d[FRACTION] = constant(0.0, d[FRACTION])
    run_kernels(m, c, args, d, SENSORS)
