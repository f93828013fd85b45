# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arenas of one world in which lanes look for contacts of pairs that they cannot share; see
`kernels/narrowphase/single_world.py`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldline._src.collision.arenas import Arenas as CollisionArenas
from worldline._src.collision.arenas import ShapeRow
from worldline._src.collision.run import set_links
from worldline._src.jit import DISABLED, Stage
from worldline._src.kernels.broadphase.aabb import shape_poses
from worldline._src.kernels.narrowphase import single_world as one
from worldline._src.kernels.narrowphase.dispatch import FAMILY_LINKS, FAMILY_STAGES, narrow_sort
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS
from worldline._src.kinds import float64
from worldline._src.model.model import Model
from worldline._src.scalar.memory import address_of, aligned_zeros
from worldline._src.scene.options import SimulateOption
from worldline._src.step.collision_rows import body_rows


class SinglePairs:
    """Pairs of shapes, and the tables of one world that finds their contacts."""

    def __init__(
        self,
        rows: Sequence[ShapeRow],
        model: Model,
        option: SimulateOption,
        pairs: np.ndarray,
        families: Sequence[int],
    ) -> None:
        self.pairs = pairs
        self._stages: tuple[Stage, ...] = (shape_poses, narrow_sort, *(FAMILY_STAGES[f] for f in families))
        self._collision = CollisionArenas(
            rows,
            body_rows(model, parents=not option.disable_parent_filter),
            pairs=len(pairs),
            contacts=2 * PAIR_CONTACTS * len(pairs),
        )
        self._links = tuple(sorted({link for f in families for link in FAMILY_LINKS.get(f, ())}))

    def connect(self, width: int, room: int, args_io: np.ndarray) -> tuple[np.ndarray, ...]:
        """Tell the args of the collision tables of a group of lanes where `narrow_single` finds its block.

        room: pairs that the tables of the group have room for. Returns what must live as long as they do.
        """
        tables = self._collision
        set_links(self._links, tables.args)
        args, data = tables.args.copy(), aligned_zeros(len(tables.d))
        data[:] = tables.d
        made = np.zeros(one.FIRST_PAIR + one.PAIR_COLUMNS * room, np.int64)
        made[one.ADDRESSES : one.WIDTH] = [address_of(x) for x in (tables.m, tables.c, args, data)]
        made[one.WIDTH], made[one.STAGE_COUNT] = width, len(self._stages)
        made[one.FIRST_STAGE : one.FIRST_STAGE + len(self._stages)] = _addresses(self._stages)
        args_io[one.SINGLE_LINK] = address_of(made)
        return made, args, data


def _addresses(stages: Sequence[Stage]) -> list[int]:
    """Addresses of machine code, or numbers of stages without the compiler."""
    if DISABLED:
        one.STAGES.extend(stage for stage in stages if stage not in one.STAGES)
        return [one.STAGES.index(stage) for stage in stages]
    return [stage.address(float64) for stage in stages]
