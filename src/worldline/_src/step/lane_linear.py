# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The header and the numbers of derivatives of steps of worlds in lanes; see `lane_linear_stages.py`."""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.kernels import rnea_derivatives as r
from worldline._src.kernels.constraints import lane_contact_derivatives as contacts
from worldline._src.kernels.mass_columns import TILE
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS
from worldline._src.kinds import int64
from worldline._src.model.fields import ENTRY
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar import memory

_NV, _NLINK = ENTRY["nv"], ENTRY["nlink"]

(TREE_M, TREE_DUALS, ROW_M, ROW_C, ROW_ARGS, ROW_D, ROW_DUALS) = range(7)
(CONTACT_M, CONTACT_C, CONTACT_ARGS, CONTACT_D, CONTACT_DUALS, PAIR_STAGE, PAIR_ARGS) = range(7, 14)
(NUMBERS, INTEGERS, SHAPED, IS_DAMPED, IS_PLAIN, ACTUATORS, ACTUATOR_COUNT) = range(14, 21)
(TURNS, TURN_COUNT, LINKS, COLUMNS, COLUMN_COUNT, GIVEN, ROW_ROOM, DUALS) = range(21, 29)
HEADER = 29
"""Integers of the header: addresses of arenas and arrays, sizes. IS_PLAIN: which coordinates are numbers of
their own. GIVEN: the gradient by the state after the step. ROW_ROOM: rows there is room for. DUALS:
numbers of the largest arena of dual numbers."""

Q, V, FORCE, CONTROL = range(4)
"""Directions: all coordinates and distances of contacts, all velocities, commanded forces, controls; the
second actuator of a degree of freedom has the direction after CONTROL."""
RANKS = 2
"""Most actuators of a degree of freedom, which have directions of their own."""
_JOINT = 1 + CONTROL + RANKS
_SCRATCH = PAIR_CONTACTS * contacts.SIDES * contacts.DIRECTIONS * contacts.SLOPES + 117
_ROWS = 7


class LaneLinear(NamedTuple):
    """What derivatives are made of, in lanes.

    M: mass matrix. dq, dv: derivatives of the residual r by displacements and velocities. dMw: those of M w
    by displacements. H, HD: factors of the Hessian and of M + h D. joint: the force of every degree of
    freedom and its derivatives along the directions, with the sign of r, (nv, 6). damping: h D. w: a step's
    change of accelerations by damping. v_end: velocities after the step. x, y: columns, in whole tiles; out:
    rows of columns. gradient: what goes back. off: distance from the solution of the rows.
    """

    M: Any
    dq: Any
    dv: Any
    dMw: Any
    H: Any
    HD: Any
    joint: Any
    residual: Any
    damping: Any
    w: Any
    v_end: Any
    z: Any
    rate: Any
    second: Any
    both: Any
    rate_a: Any
    base: Any
    change: Any
    push: Any
    B: Any
    link_W: Any
    link_Va: Any
    slopes: Any
    G: Any
    K: Any
    axes: Any
    rows: Any
    """Slack, force, weight, change of the force with distance, changes of aref and of D by distance or
    coordinate, change of aref by velocity."""
    x: Any
    y: Any
    out: Any
    gradient: Any
    off: Any


def linear_size(nv: int, nlink: int, rows: int, columns: int) -> int:
    """How many numbers `linear_of` cuts."""
    small = nv * (_JOINT + 5 + 7 * 6) + nlink * (r.CORIOLIS + 12) + _SCRATCH
    wide = (columns + TILE - 1) // TILE * TILE
    return 6 * nv * nv + small + _ROWS * rows + 2 * nv * (wide + columns) + 2 * nv + columns + 1


@inline
def linear_of(header, d):
    """The numbers of derivatives."""
    tm, x = memory.address_as(header[TREE_M], int64), memory.address_like(header[NUMBERS], d)
    nv, nlink, rows, columns = tm[_NV], tm[_NLINK], header[ROW_ROOM], header[COLUMN_COUNT]
    s = nv * nv
    at = 6 * s
    six = at + (_JOINT + 5) * nv
    links = six + 42 * nv
    pair = links + (r.CORIOLIS + 12) * nlink
    directions = contacts.SIDES * contacts.DIRECTIONS
    wrench = pair + PAIR_CONTACTS * directions * contacts.SLOPES
    row = pair + _SCRATCH
    column = row + _ROWS * rows
    wide = (columns + TILE - 1) // TILE * TILE
    last = column + 2 * nv * (wide + columns)
    return LaneLinear(
        memory.matrix(x, 0, nv, nv),
        memory.matrix(x, s, nv, nv),
        memory.matrix(x, 2 * s, nv, nv),
        memory.matrix(x, 3 * s, nv, nv),
        memory.matrix(x, 4 * s, nv, nv),
        memory.matrix(x, 5 * s, nv, nv),
        memory.matrix(x, at, nv, _JOINT),
        memory.vector(x, at + _JOINT * nv, nv),
        memory.vector(x, at + (_JOINT + 1) * nv, nv),
        memory.vector(x, at + (_JOINT + 2) * nv, nv),
        memory.vector(x, at + (_JOINT + 3) * nv, nv),
        memory.vector(x, at + (_JOINT + 4) * nv, nv),
        memory.matrix(x, six, nv, 6),
        memory.matrix(x, six + 6 * nv, nv, 6),
        memory.matrix(x, six + 12 * nv, nv, 6),
        memory.matrix(x, six + 18 * nv, nv, 6),
        memory.matrix(x, six + 24 * nv, nv, 6),
        memory.matrix(x, six + 30 * nv, nv, 6),
        memory.matrix(x, six + 36 * nv, nv, 6),
        memory.matrix(x, links, nlink, r.CORIOLIS),
        memory.matrix(x, links + r.CORIOLIS * nlink, nlink, 6),
        memory.matrix(x, links + (r.CORIOLIS + 6) * nlink, nlink, 6),
        memory.matrix(x, pair, PAIR_CONTACTS * directions, contacts.SLOPES),
        memory.matrix(x, wrench, directions, 6),
        memory.matrix(x, wrench + 72, 6, 6),
        memory.matrix(x, wrench + 108, 3, 3),
        memory.matrix(x, row, _ROWS, rows),
        memory.matrix(x, column, nv, wide),
        memory.matrix(x, column + nv * wide, nv, wide),
        memory.matrix(x, column + 2 * nv * wide, 2 * nv, columns),
        memory.vector(x, last, 2 * nv + columns),
        memory.vector(x, last + 2 * nv + columns, 1),
    )


@inline
def rows_of(m, d):
    """The arenas of rows: m, c, args, d."""
    return (
        memory.address_as(m[ROW_M], int64),
        memory.constants_like(m[ROW_C], d),
        memory.address_as(m[ROW_ARGS], int64),
        memory.address_like(m[ROW_D], d),
    )


@inline
def collision_of(m, d):
    """The arenas of collision."""
    return (
        memory.address_as(m[CONTACT_M], int64),
        memory.constants_like(m[CONTACT_C], d),
        memory.address_as(m[CONTACT_ARGS], int64),
        memory.address_like(m[CONTACT_D], d),
    )
