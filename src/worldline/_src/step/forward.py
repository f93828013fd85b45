# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Accelerations and forces of a world as it stands, without a step.

The stages of a step up to the integrator run once on the arenas of the step itself; afterwards every arena is
put back, so the next step has the same bits as if nobody had looked. Damping that an integrator takes at the
end of a step is taken now: what is found belongs to this moment and to no time step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from worldline._src.errors import OperationError
from worldline._src.jit import Stage
from worldline._src.kernels import drives
from worldline._src.model.compile import constant_views
from worldline._src.spatial.poses import Array
from worldline._src.step import runner
from worldline._src.step.evaluate import WITH_GRAVITY
from worldline._src.step.loop_operands import loop_operands
from worldline._src.step.simulation import Simulation
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import MULTIBODY, forward_stages


@contextmanager
def forward(sim: Simulation, body_f: Array) -> Iterator[None]:
    """Within the block `sim.a` and the columns of its constraints are those of the present state.

    Args:
        sim: the world; it is as it was when the block is left.
        body_f: torques, then forces at centres of mass, that act now, world axes, (body_count, 6).
    """
    before = sim.body_f.copy()
    sim.body_f[:] = body_f
    # may prepare the step again and write addresses into the arenas, which must stay: copies come after it
    sim.forces_written()
    _program(sim)
    # what is marked as up to date must be so in the copies
    sim.fresh_poses()
    sim.fresh_velocities()
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    try:
        while True:
            program, sets = _program(sim)
            kept = [(block, block.copy()) for block in _arenas(sim)]
            resume, pauses = np.zeros(1, np.int64), sim.begin_calls(program)
            operands = (*loop_operands(program, sets), *_checks(sim), resume)
            done = runner.advancer()(*operands, 1)
            while not done and int(resume[0]) in pauses:
                pauses[int(resume[0])]()
                done = runner.advancer()(*operands, 1)
            if done:
                break
            if sim.constraints is None or resume[0] == 0:
                raise OperationError("accelerations of the present state are not finite")
            # out of room: once more from the beginning, with more of it
            needed = sim.constraints.missing_room()
            _put_back(kept)
            sim.make_room(needed)
        yield
    finally:
        _put_back(kept)
        sim.body_f[:] = before


def _checks(sim: Simulation) -> tuple[Any, ...]:
    """Other operands of the loop: arenas are put back by `forward`, and numbers need only be finite."""
    trees = sim.checks[:, 0] == MULTIBODY
    limits = np.stack([sim.limits[1][trees]] * 2)
    return np.zeros((0, 5), np.int64), sim.checks[trees], limits, sim.clock, np.zeros(5)


def _put_back(kept: list[tuple[np.ndarray, np.ndarray]]) -> None:
    for block, copy in kept:
        block[:] = copy


def _arenas(sim: Simulation) -> list[np.ndarray]:
    """Everything that stages write."""
    blocks = [sim.data]
    if sim.constraints is not None:
        blocks += [sim.constraints.block.args, sim.constraints.block.d]
        if sim.constraints.collision is not None:
            blocks += [sim.constraints.collision.args, sim.constraints.collision.d]
    return blocks


def _program(sim: Simulation) -> tuple[list[tuple[Stage, int]], list[tuple[Any, ...]]]:
    """Stages from the state to accelerations, and the sets of arenas they run on."""
    # prepares the step where none was made yet, and with it the sets
    plan = forward_plan(sim)
    sets = list(sim.sets)
    sets[MULTIBODY] = (*forward_trees(sim)[:3], sim.data)
    return forward_stages(plan), sets


def forward_plan(sim: Simulation) -> StepPlan:
    """What an evaluation of the present state has to do."""
    if not sim.stages:
        raise OperationError("a step of this world has no stages")
    if sim.constraints is not None:
        return sim.constraints.step_plan
    return sim.plan()._replace(wrenches=True)


def forward_trees(sim: Simulation) -> tuple[Any, ...]:
    """The arenas of the trees for an evaluation of the present state."""
    if sim.constraints is not None:
        return sim.sets[MULTIBODY]
    # the constants of a step may have damping in the place of inertia: take those of the model
    arenas = sim.model.arenas
    arenas = arenas._replace(index=arenas.index.copy(), constant=arenas.constant.copy())
    view, prescribed = constant_views(arenas), sim.drive >= drives.VELOCITY
    view["dof_drive"][:] = sim.drive
    view["dof_mobile"][prescribed] = 0.0
    return arenas.index, arenas.constant, WITH_GRAVITY, sim.data
