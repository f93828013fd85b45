# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Warm-start data of the next step: contacts of the last one, sleeping trees, dual forces, and in the fixed
layout forces of rows.

Coordinates, velocities and accelerations alone would go on awake: bodies at rest would be solved again where
the World that was saved does not touch them, and the forces that hold sleepers would be lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.spatial.poses import Array
from worldline._src.step.room import Room

if TYPE_CHECKING:
    from worldline._src.step.constraints import Constraints
    from worldline._src.step.simulation import Simulation

_CONTACTS = ("contact_row", "contact_force", "frame")
_COLLISION = ("contact", "contact_id")
_DUAL = "ground_dual"
_SLEEP = ("tree_group", "tree_quiet", "dof_kept")
_KEPT = ("kept", "kept_list")
"""Forces that the next step of the fixed layout starts from."""
_WHOLE = _SLEEP + _KEPT


def forces_of_rows(sim: Simulation) -> Array | None:
    """Forces that the next step of the fixed layout starts from; a view, None where there are islands."""
    constraints = sim.constraints
    return constraints.column[constraints.kept_column] if constraints and constraints.is_fixed else None


def remembered(sim: Simulation) -> dict[str, Array]:
    """Copies of what the next step reads; whole numbers become floats, which hold them exactly."""
    duals = {_DUAL: sim.ground_dual.copy()} if sim.ground_dual.any() else {}
    constraints = sim.constraints
    if constraints is None:
        return duals
    column = constraints.column
    whole = [constraints.kept_column] if constraints.is_fixed else []
    whole += _SLEEP if constraints.sleeps else ()
    made = duals | {name: column[name].astype(np.float64) for name in whole}
    count = int(column.counter[t.CONTACT_COUNT])
    if constraints.collision is not None and count:
        made |= {name: column[name][:count].astype(np.float64) for name in _CONTACTS}
        made |= {name: constraints.collision.column[name][:count].astype(np.float64) for name in _COLLISION}
    return made


def unfit(sim: Simulation, memory: Mapping[str, Array]) -> str | None:
    """The name of what does not fit the model, of memory from elsewhere; None when all of it fits."""
    if _DUAL in memory:
        if memory[_DUAL].shape != sim.ground_dual.shape:
            return _DUAL
        memory = {name: given for name, given in memory.items() if name != _DUAL}
    constraints = sim.constraints
    if constraints is None:
        return next(iter(memory), None)
    column, collision = constraints.column, constraints.collision
    places = _places(constraints)
    count = len(memory["contact"]) if "contact" in memory else 0
    for name, given in memory.items():
        place = places.get(name)
        wanted = None if place is None else (place.shape[0] if name in _WHOLE else count, *place.shape[1:])
        if place is None or given.shape != wanted:
            return name
        if name not in _WHOLE and not set(_CONTACTS + _COLLISION) <= memory.keys():
            return name
    if collision is not None and count:
        shapes, bodies = len(column.shape_condim), len(column.body_link)
        ids = memory["contact_id"]
        if (ids[:, :4] < 0).any() or (ids[:, :2] >= shapes).any() or (ids[:, 2:4] >= bodies).any():
            return "contact_id"
    return None


def recall(sim: Simulation, memory: Mapping[str, Array]) -> str | None:
    """Put back what `remembered` gave for the same model; returns the name of what does not fit.

    Nothing changes then. There may be more contacts than there is room for now: the room grows.
    """
    wrong = unfit(sim, memory)
    if wrong is not None:
        return wrong
    if _DUAL in memory:
        sim.ground_dual[:] = memory[_DUAL]
    constraints = sim.constraints
    if constraints is None:
        return None
    count = len(memory["contact"]) if "contact" in memory else 0
    if count > constraints.sizes["ncontact"]:
        sim.make_room(Room(contacts=count))
    places = _places(constraints)
    for name, given in memory.items():
        if name == _DUAL:
            continue
        if name in _WHOLE:
            if constraints.sleeps or name in _KEPT:
                places[name][:] = given
        else:
            places[name][:count] = given
    constraints.column.counter[t.CONTACT_COUNT] = count
    return None


def _places(constraints: Constraints) -> dict[str, Array]:
    """The columns that memory is of, by name."""
    column, collision = constraints.column, constraints.collision
    made = {name: column[name] for name in _WHOLE}
    if collision is not None:
        made |= {name: column[name] for name in _CONTACTS} | {
            name: collision.column[name] for name in _COLLISION
        }
    return made
