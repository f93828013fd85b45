# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every program for every scalar: lanes equal one world bit for bit, duals equal finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from trees import KINDS, random_tree
from worldline._src.model.fields import BY_NAME, extent
from worldline._src.scalar.lanes import native_width
from worldline._src.step import programs, runner, stepping
from worldline._src.step.evaluate import WITH_GRAVITY, compiled, evaluate, new_arena
from worldline.model import forward_kinematics, integrate, random_configuration

EVERY = (*programs.ALL, *stepping.PROGRAMS)
PROGRAMS = [pytest.param(p, id=f"{p.name}-{len(p.operands)}-{len(p.stages)}") for p in EVERY]
WORLDS = 11  # not a multiple of the lanes


def operands(model, program, rng, worlds):
    """Random operands of a program, of the right kind by their field."""
    q = random_configuration(model, rng, worlds=worlds)
    values = []
    for name in program.operands:
        shape = extent(BY_NAME[name].shape, model.arenas.sizes)
        if name == "q":
            values.append(q)
        elif name == "q_other":
            values.append(integrate(model, q, 0.5 * rng.normal(size=(worlds, model.joint_dof_count))))
        elif name == "state":
            values.append(np.concatenate([q, rng.normal(size=(worlds, model.joint_dof_count))], axis=1))
        elif name == "controls":
            rest = rng.normal(size=(worlds, 2 * model.joint_dof_count))
            values.append(np.concatenate([random_configuration(model, rng, worlds=worlds), rest], axis=1))
        elif name == "time_step":
            values.append(rng.uniform(1e-3, 1e-2, (worlds, 1)))
        elif name == "body_q":
            values.append(forward_kinematics(model, q))
        else:
            values.append(rng.normal(size=(worlds, *shape)))
    return tuple(values)


def shape_of(model, program):
    return extent(program.shape, model.arenas.sizes)


def args_of(model, program):
    if program in (programs.JACOBIAN, programs.JACOBIAN_DERIVATIVE, programs.JACOBIAN_DOT_TIMES_V):
        body = model.body_count - 1
        joint = int(np.flatnonzero(model.joint_child == body)[0])
        return np.array([body, 1, model.joint_qd_start[joint + 1] - 1, 0], np.int64)
    return WITH_GRAVITY


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_lanes_and_threads_give_the_bits_of_one_world(program, seed):
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 2 * len(KINDS), passive=True, trees=2)
    values = operands(model, program, rng, WORLDS)
    args = args_of(model, program)
    shape = shape_of(model, program)
    alone = np.stack(
        [evaluate(model, program, tuple(x[w] for x in values), shape, args=args) for w in range(WORLDS)]
    )
    assert np.isfinite(alone).all()
    for lanes in {1, 4, native_width()}:
        for threads in (1, 2, 3):
            batch = evaluate(model, program, values, shape, lanes=lanes, threads=threads, args=args)
            assert np.array_equal(batch, alone), (lanes, threads)


def run_dual(model, program, values, slopes, args):
    """One world in dual numbers: the result and its derivative along `slopes`."""
    plan_shape = shape_of(model, program)
    evaluate(model, program, values, plan_shape, args=args)  # lays the program out
    table = model.scratch[program].table
    pairs = [np.stack([x, dx], axis=-1).reshape(-1) for x, dx in zip(values, slopes, strict=True)]
    pairs += [np.zeros(0)] * (4 - len(pairs))
    out = np.empty(2 * int(table[9]))
    data = new_arena(model, "dual")
    stages, run = compiled(program, "dual"), runner.runner("dual")
    span = np.array([0, 1, 0])
    run(stages, model.arenas.index, model.arenas.constant, args, data, table, *pairs, out, span)
    return out[0::2].reshape(plan_shape), out[1::2].reshape(plan_shape)


SMOOTH = [p for p in PROGRAMS if p.values[0] is not programs.JOINT_COORDINATES]


@pytest.mark.parametrize("program", SMOOTH)
def test_duals_are_derivatives(program):
    rng = np.random.default_rng(5)
    model = random_tree(rng, len(KINDS), passive=True)
    values = tuple(x[0] for x in operands(model, program, rng, 1))
    args = args_of(model, program)
    slopes = tuple(rng.normal(size=x.shape) for x in values)

    def along(h):
        moved = tuple(x + h * dx for x, dx in zip(values, slopes, strict=True))
        return evaluate(model, program, moved, shape_of(model, program), args=args)

    value, slope = run_dual(model, program, values, slopes, args)
    h = 1e-5
    # fourth-order central difference: its error is far below the tolerance
    expected = (8.0 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12.0 * h)
    scale = np.abs(expected).max() + 1.0
    assert np.abs(value - along(0.0)).max() <= 1e-11 * (np.abs(value).max() + 1.0)
    assert np.abs(slope - expected).max() <= 1e-7 * scale
