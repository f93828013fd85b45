# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collision arenas of a world that steps: made from a Model, connected to the columns of constraints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from worldline._src.collision.arenas import Arenas
from worldline._src.collision.run import set_links
from worldline._src.kernels.broadphase.tree import BUILT
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.narrowphase.dispatch import FAMILY_LINKS
from worldline._src.kernels.narrowphase.tables import CONTACTS, FAT, PAIRS
from worldline._src.model.model import Model
from worldline._src.scalar.memory import address_of
from worldline._src.scene.options import SimulateOption
from worldline._src.step.collision_rows import ShapeRow, body_rows, excluded_keys


def collision_arenas(
    model: Model, option: SimulateOption, rows: list[ShapeRow], explicit: list[int], pairs: int, contacts: int
) -> Arenas:
    """Arenas for the shapes that can touch, with room for these pairs and contacts."""
    return Arenas(
        rows,
        body_rows(model, parents=not option.disable_parent_filter),
        ignored=excluded_keys(model, rows),
        explicit=explicit,
        pairs=pairs,
        contacts=contacts,
    )


def family_links(families: Iterable[int]) -> list[int]:
    """Links of the narrow phase that families of pairs call, ascending."""
    return sorted({link for family in families for link in FAMILY_LINKS.get(family, ())})


def link_families(arenas: Arenas, families: Iterable[int]) -> None:
    """Write the addresses of the links that families of pairs call."""
    set_links(tuple(family_links(families)), arenas.args)


def found_contacts(arenas: Arenas) -> tuple[int, int]:
    """Contacts and pairs that the last detection found, those without room included."""
    found = arenas.column.counter
    return int(found[CONTACTS]), int(max(found[PAIRS], found[FAT]))


def connect_collision(column: t.ConstraintColumns, arenas: Arenas) -> None:
    """Tell the stages of constraints where the arenas of collision are."""
    link = column.link
    link[t.COLLISION_M], link[t.COLLISION_C] = address_of(arenas.m), address_of(arenas.c)
    link[t.COLLISION_ARGS], link[t.COLLISION_D] = address_of(arenas.args), address_of(arenas.d)


def refresh_fixed_bodies(arenas: Arenas, model: Model) -> None:
    """Kinds of bodies changed: trees of boxes are built again where other bodies are fixed."""
    is_fixed = [row.fixed for row in body_rows(model)]
    if not np.array_equal(arenas.column.body_fixed != 0, is_fixed):
        arenas.own()
        arenas.column.body_fixed[:] = is_fixed
        arenas.column.tree_root[BUILT] = 0
