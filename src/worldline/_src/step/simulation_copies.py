# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of a `Simulation` and of constraints: what copy.deepcopy and pickle keep, and what is made of it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.kernels.constraints.tables import TABLE
from worldline._src.step.constraints import Constraints
from worldline._src.step.contact_memory import recall, remembered
from worldline._src.step.thread_guard import ThreadGuard

if TYPE_CHECKING:
    from worldline._src.model.model import Model
    from worldline._src.step.simulation import Simulation

_NAMES = ("model", "family", "variational", "_policy", "_limit", "servos")
"""Attributes that a copy takes over as they are."""
_COLUMNS = ("option", "control", "activation", "equality_on", "equality_break", "dof_quiet")
"""Columns of constraints that a copy takes over beside the memory of contacts and sleep."""


def copied_constraints(constraints: Constraints, model: Model) -> Constraints:
    """The same for `model`, a copy of their model, in arenas of their own; `connect` puts addresses right."""
    made = copy.copy(constraints)
    for name, value in vars(constraints).items():
        # all else that is no array, dictionary or list is replaced as a whole where it changes
        if isinstance(value, (np.ndarray, dict, list)):
            setattr(made, name, value.copy())
    made.model, made.option = model, constraints.option if model.option is None else model.option
    made.block = TABLE.lay_out(made.sizes)
    for name in ("m", "c", "args", "d"):
        getattr(made.block, name)[:] = getattr(constraints.block, name)
    made.column = made.block.column
    made.collision = None if constraints.collision is None else constraints.collision.copy()
    return made


def state_of(sim: Simulation) -> dict[str, Any]:
    """What is needed to make the same Simulation."""
    state: dict[str, Any] = {name: getattr(sim, name) for name in _NAMES}
    state |= {"drive": sim.drive.copy(), "data": sim.data.copy()}
    state |= {"failure": sim.failure, "frozen": sim.frozen, "stepped": sim.stepped}
    state |= {"wrenches": sim.has_wrenches, "control": sim.control.copy()}
    if sim.constraints is not None:
        column = sim.constraints.column
        state["columns"] = {name: column[name].copy() for name in _COLUMNS}
        state["sleeps"] = sim.constraints.sleeps
        state["memory"] = remembered(sim)
    return state


def restore(sim: Simulation, state: dict[str, Any]) -> None:
    """Make an empty Simulation the one that `state_of` described."""
    vars(sim).update({name: state[name] for name in _NAMES}, guard=ThreadGuard())
    columns = state.get("columns")
    sim.constraints = None if columns is None else Constraints(sim.model, sim.servos)
    sim._lay_out(sim.model.time_step)
    sim.data[:] = state["data"]
    sim.drive[:] = state["drive"]
    sim.has_wrenches = state["wrenches"]
    sim.control[:] = state["control"]
    if sim.constraints is not None and columns is not None:
        for name, numbers in columns.items():
            sim.constraints.column[name][:] = numbers
        sim.constraints.sleeps = state["sleeps"]
        lost = recall(sim, state["memory"])
        assert lost is None, f"{lost} of a Simulation fits its clone"
        if sim.contact_log is not None:
            sim.contact_log.take()
    sim.failure, sim.frozen, sim.stepped = state["failure"], state["frozen"], state["stepped"]
