# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of the present state with their forces, of one world and of worlds in lanes.

The stages of a step up to the integrator run on copies of the state, so that the next step has the same bits
as if nobody had asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.rows import CONE
from worldline._src.kernels.narrowphase import tables as h
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step.evaluate import SCALARS, choose_scalar
from worldline._src.step.forward import forward
from worldline._src.step.lane_room import grown
from worldline._src.step.lane_runner import MARKS, lane_runner, program_table
from worldline._src.step.lane_simulation import LaneSimulation
from worldline._src.step.simulation import Simulation
from worldline._src.step.step_table import COLLISION, CONSTRAINT, forward_stages


class ContactRows(NamedTuple):
    """Contacts of worlds, one row each, by world."""

    world: np.ndarray
    """Index of the world, (contacts,)."""
    body: np.ndarray
    """Bodies of the model that touch, -1 for the world itself, (contacts, 2)."""
    shape: np.ndarray
    """Shapes of the model that touch, (contacts, 2)."""
    point: Array
    """Halfway between the surfaces, world frame [m], (contacts, 3)."""
    normal: Array
    """Unit vector from the first body to the second, (contacts, 3)."""
    depth: Array
    """Overlap [m], (contacts,)."""
    force: Array
    """On the second body, world axes [N], (contacts, 3)."""


def no_contacts() -> ContactRows:
    """The contacts of worlds in which nothing touches."""
    pairs, vectors = np.zeros((0, 2), np.int64), np.zeros((0, 3))
    return ContactRows(np.zeros(0, np.int64), pairs, pairs, vectors, vectors, np.zeros(0), vectors)


def joined(parts: list[ContactRows]) -> ContactRows:
    """Contacts of several lists, one after the other."""
    columns = zip(no_contacts(), *parts, strict=True)
    return ContactRows(*(np.concatenate(column) for column in columns))


def contacts_of(sim: Simulation, body_f: Array, world: int = 0) -> ContactRows:
    """Contacts of one world as it stands, in the order of `World.contacts`.

    Args:
        sim: the world; it is as it was afterwards.
        body_f: torques, then forces at centres of mass, that act now, world axes, (body_count, 6).
        world: its index in the result.
    """
    if sim.constraints is None or sim.constraints.collision is None:
        return no_contacts()
    with forward(sim, body_f):
        constraints, collision = sim.constraints, sim.constraints.collision
        column, count = constraints.column, int(constraints.column.counter[t.CONTACT_COUNT])
        axes = column.frame[:count].reshape(-1, 3, 3)
        force = np.einsum("ki,kij->kj", column.contact_force[:count, :3], axes)
        force[column.contact_row[:count, 0] < 0] = 0.0
        made = column.contact_row[:count, 0] >= 0
        return _rows(
            np.full(count, world),
            collision.column.contact_id[:count],
            collision.column.contact[:count],
            force,
            constraints.shapes,
            made,
        )


def _rows(
    world: np.ndarray, ids: np.ndarray, contact: Array, force: Array, shapes: np.ndarray, made: np.ndarray
) -> ContactRows:
    """Contacts that overlap or push, of all that were looked at."""
    kept = np.flatnonzero(made & ((contact[:, 6] >= 0.0) | force.any(axis=1)))
    ids, contact = ids[kept], contact[kept]
    return ContactRows(
        world[kept].astype(np.int64),
        ids[:, 2:4] - 1,
        shapes[ids[:, 0:2]].astype(np.int64),
        contact[:, 0:3].copy(),
        contact[:, 3:6].copy(),
        contact[:, 6].copy(),
        force[kept],
    )


def contacts_in_lanes(sim: LaneSimulation, which: np.ndarray) -> ContactRows:
    """Contacts of some worlds as they stand; `which` has their indices, of which `world` is the position."""
    if sim.constraints.collision is None or not len(which):
        return no_contacts()
    if not sim.constraints.looks:
        return _contacts_in_lanes(sim, which)
    # worlds of a group share the pairs that are near
    parts, width = [], SCALARS[choose_scalar(None, sim.worlds)][1]
    for low in range(0, len(which), width):
        part = _contacts_in_lanes(sim, which[low : low + width])
        parts.append(part._replace(world=part.world + low))
    return joined(parts)


def _contacts_in_lanes(sim: LaneSimulation, which: np.ndarray) -> ContactRows:
    """Contacts of worlds that share the pairs that have any."""
    collision = sim.constraints.collision
    assert collision is not None
    scalar = choose_scalar(None, sim.worlds)
    width, run = SCALARS[scalar][1], lane_runner(scalar)
    # the plan of a step, of which only the evaluation runs
    sim.stages(wrenches=bool(sim.body_f.any()))
    program = program_table(forward_stages(sim.constraints.step_plan), scalar, sim.has_own_parameters)
    tables, constraints = sim.row_tables, sim.constraints
    count, total = constraints.sizes["ncontact"], len(which)
    contact, frame = np.empty((total, count, 7)), np.empty((total, count, 9))
    mu, kept = np.empty((total, *constraints.column.mu.shape)), np.empty((total, constraints.sizes["nkept"]))
    first, condim, cone = (np.empty((total, count), np.int64) for _ in range(3))
    with sim.room(scalar) as room:
        columns = [
            _column(collision, h, "contact", room.sets[COLLISION], width)[:, :count],
            _column(constraints.block, t, "frame", room.sets[CONSTRAINT], width).reshape(width, -1, 9),
            _column(constraints.block, t, "mu", room.sets[CONSTRAINT], width),
        ]
        rows = _column(constraints.block, t, "contact_row", room.sets[CONSTRAINT], width)
        ids = _column(collision, h, "contact_id", room.sets[COLLISION], width)[:count]
        kinds = _column(constraints.block, t, "kind", room.sets[CONSTRAINT], width)
        for low in range(0, total, width):
            group = which[low : low + width]
            state, inputs, own = sim.rows(group)
            marks, span = np.zeros((len(group), MARKS)), slice(low, low + len(group))
            run(program, room.table, *tables, state, inputs, own, marks, 0, len(group), 1)
            if grown(sim, marks):
                return _contacts_in_lanes(sim, which)
            for made, column in zip((contact, frame, mu), columns, strict=True):
                made[span] = column[: len(group)]
            first[span], condim[span] = rows[:count, 0], rows[:count, 1]
            cone[span], kept[span] = kinds[rows[:count, 0]] == CONE, sim.kept_of(state)
    places = constraints.column.contact_kept[ids[:, 5], np.arange(count) % PAIR_CONTACTS]
    force = _forces(places, kept, mu, np.where(first >= 0, condim, 0), cone)
    force = np.einsum("wki,wkij->wkj", force, frame.reshape(total, count, 3, 3))
    return _rows(
        np.repeat(np.arange(total), count),
        np.tile(ids, (total, 1)),
        contact.reshape(-1, 7),
        force.reshape(-1, 3),
        constraints.shapes,
        (first >= 0).ravel(),
    )


def _forces(at: np.ndarray, kept: Array, mu: Array, condim: np.ndarray, cone: np.ndarray) -> Array:
    """Forces of contacts in their frames from the forces of their rows, (worlds, contacts, 3).

    at: first row of every contact in `kept`; condim: directions of every contact, 0 where it has no rows;
    cone: whether rows are directions of an elliptic cone, and not edges of a pyramid.
    """
    made = np.zeros((*condim.shape, 3))
    for k in np.flatnonzero(condim.any(axis=0)).tolist():
        for dim in np.unique(condim[:, k]).tolist():
            for round_ in (False, True):
                worlds = np.flatnonzero((condim[:, k] == dim) & (cone[:, k] == round_))
                if not dim or not len(worlds):
                    continue
                forces = kept[worlds, at[k] :]
                if dim == 1 or round_:
                    most = min(dim, 3)
                    made[worlds, k, :most] = forces[:, :most]
                    continue
                # edges of a pyramid: normal force is their sum, friction mu times differences of opposites
                for j in range(1, dim):
                    up, down = forces[:, 2 * j - 2], forces[:, 2 * j - 1]
                    made[worlds, k, 0] += up + down
                    if j < 3:
                        made[worlds, k, j] = mu[worlds, k, j - 1] * (up - down)
    return made


def _column(block: Any, tables: Any, name: str, arenas: Any, width: int) -> np.ndarray:
    """A column of a group: with a leading world dimension when worlds differ in it."""
    column, like = tables.TABLE.by_name[name], block.column[name]
    at = int(block.m[tables.TABLE.entry[name]])
    if column.space == "args":
        return arenas[2][at : at + like.size].reshape(like.shape)
    numbers = arenas[3].reshape(-1, width)[at : at + like.size]
    return np.moveaxis(numbers.reshape(*like.shape, width), -1, 0)
