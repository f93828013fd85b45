# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of a `Simulation`: what copy.deepcopy and pickle keep, and a Simulation made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldline._src.step.constraints import Constraints
from worldline._src.step.contact_memory import recall, remembered
from worldline._src.step.fixed_world import fixed_constraints
from worldline._src.step.thread_guard import ThreadGuard

if TYPE_CHECKING:
    from worldline._src.step.simulation import Simulation

_NAMES = ("model", "family", "variational", "_policy", "_limit", "servos")
"""Attributes that a copy takes over as they are."""
_COLUMNS = ("option", "control", "activation", "equality_on", "equality_break", "dof_quiet")
"""Columns of constraints that a copy takes over beside the memory of contacts and sleep."""


def state_of(sim: Simulation) -> dict[str, Any]:
    """What is needed to make the same Simulation."""
    state: dict[str, Any] = {name: getattr(sim, name) for name in _NAMES}
    state |= {"drive": sim.drive.copy(), "data": sim.data.copy()}
    state |= {"failure": sim.failure, "frozen": sim.frozen, "stepped": sim.stepped}
    state |= {"wrenches": sim.has_wrenches, "control": sim.control.copy()}
    if sim.constraints is not None:
        column = sim.constraints.column
        state["columns"] = {name: column[name].copy() for name in _COLUMNS}
        state["sleeps"], state["fixed"] = sim.constraints.sleeps, sim.constraints.is_fixed
        state["memory"] = remembered(sim)
    return state


def restore(sim: Simulation, state: dict[str, Any]) -> None:
    """Make an empty Simulation the one that `state_of` described."""
    vars(sim).update({name: state[name] for name in _NAMES}, guard=ThreadGuard())
    columns = state.get("columns")
    sim.constraints = None
    if columns is not None:
        fixed = state["fixed"]
        sim.constraints = fixed_constraints(sim.model) if fixed else Constraints(sim.model, sim.servos)
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
