# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The log of contact events of one world: its arena, the stage that writes it, and how it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.jit import stage
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact import log
from worldline._src.kernels.constraints.tables import (
    CONTACT_COUNT,
    SHORT,
    contact_frame_view,
    contact_memory_view,
)
from worldline._src.kinds import float64, int64
from worldline._src.scalar.columns import Block
from worldline._src.scalar.memory import address_as, address_of
from worldline._src.step.reaching import contacts_of

if TYPE_CHECKING:
    from worldline._src.step.constraints import Constraints

_NPAIR = log.TABLE.entry["npair"]

Pair = tuple[int, int]
"""Two bodies of the constraint tables, the lower number first; 0 is the world."""


@stage
def log_contacts(m, c, args, d):
    """contacts, constraint forces -> contact events, or how many there must be room for."""
    rm, rc = address_as(args[log.ROWS_M], int64), address_as(args[log.ROWS_C], float64)
    ra, rd = address_as(args[log.ROWS_ARGS], int64), address_as(args[log.ROWS_D], float64)
    found, memory = contacts_of(ra, rd), contact_memory_view(rm, rc, ra, rd)
    args[SHORT] = log.log_contacts(
        found.contact_id,
        found.contact,
        contact_frame_view(rm, rc, ra, rd).contact_row,
        memory.contact_force,
        min(memory.counter[CONTACT_COUNT], m[_NPAIR]),
        log.log_view(m, c, args, d),
    )


class ContactLog:
    """Contact events of the steps since `start`."""

    def __init__(self, constraints: Constraints) -> None:
        self._constraints = constraints
        self._block = _laid_out(constraints.sizes["ncontact"], log.CAPACITY)
        self._counter = self._block.column.counter

    def arenas(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The arenas of the stage; it reaches those of the rows by address."""
        rows = self._constraints.block
        self._make_room()
        block = self._block
        block.column.link[:4] = [address_of(x) for x in (rows.m, rows.c, rows.args, rows.d)]
        return block.m, block.c, block.args, block.d

    @property
    def missing(self) -> int:
        """Events that the step at hand must have room for; 0 where there is enough."""
        return int(self._block.column.link[SHORT])

    def _make_room(self) -> None:
        """Grow with the contacts that the constraints have room for, and with the events of a call."""
        column, contacts = self._block.column, self._constraints.sizes["ncontact"]
        room, needed = len(column.event), self.missing
        if contacts > len(column.pair) or needed > room:
            events = min(max(needed, 2 * room), log.LARGEST) if needed > room else room
            self._lay_out_again(max(contacts, len(column.pair)), events)

    def _lay_out_again(self, contacts: int, events: int) -> None:
        old, self._block = self._block, _laid_out(contacts, events)
        for name in ("counter", "event", "last_pair"):
            kept = old.column[name]
            self._block.column[name][: len(kept)] = kept
        self._counter = self._block.column.counter

    def start(self, frame: int) -> None:
        """A call of steps begins: events from before are dropped.

        Args:
            frame: steps made so far.
        """
        counter = self._counter
        counter[0], counter[1] = 0, frame

    def forget(self) -> None:
        """The state is no longer what the last step led to: no events, and nothing touched."""
        self._counter[log.EVENTS] = self._counter[log.PAIRS] = 0

    def pairs(self) -> list[Pair]:
        """Pairs that touched in the last step."""
        return [(a, b) for a, b in self._block.column.last_pair[: self._counter[log.PAIRS]].tolist()]

    def set_pairs(self, pairs: list[Pair]) -> None:
        """Let these pairs be the ones that touched in the last step."""
        self._make_room()
        place = self._block.column.last_pair
        kept = pairs[: len(place)]
        place[: len(kept)] = np.array(kept, np.int64).reshape(-1, 2)
        self._counter[log.PAIRS] = len(kept)

    def take(self) -> None:
        """Take the pairs that touched from the contacts that the constraints hold; there are no events."""
        column, collision = self._constraints.column, self._constraints.collision
        assert collision is not None
        count = int(column.counter[t.CONTACT_COUNT])
        touching = (collision.column.contact[:count, 6] >= 0.0) | (column.contact_force[:count, 0] != 0.0)
        touching &= column.contact_row[:count, 0] >= 0
        ids = np.sort(collision.column.contact_id[:count][touching][:, 2:4], axis=1)
        self.forget()
        self.set_pairs(list(dict.fromkeys((a, b) for a, b in ids.tolist())))

    def events(self, frame: int) -> list[tuple[int, int, Pair]]:
        """Frame, begin or end, and pair of every event up to a frame, in the order they happened."""
        count = int(self._counter[log.EVENTS])
        room = len(self._block.column.event)
        order = np.arange(max(0, count - room), count) % room
        rows = self._block.column.event[order].tolist()
        return [(at, kind, (a, b)) for at, kind, a, b in rows if at <= frame]

    @property
    def dropped(self) -> int:
        """Events that were overwritten by later ones."""
        return max(0, int(self._counter[log.EVENTS]) - len(self._block.column.event))

    def persisting(self, frame: int) -> list[Pair]:
        """Pairs that touched in the last step and have no event: they touched before the first one too."""
        changed = {pair for _, _, pair in self.events(frame)}
        return [pair for pair in self.pairs() if pair not in changed]

    def copy(self) -> dict[str, np.ndarray]:
        """What `put_back` takes."""
        return {name: self._block.column[name].copy() for name in ("counter", "event", "last_pair")}

    def put_back(self, kept: dict[str, np.ndarray]) -> None:
        """Be as when `copy` was called; there may be room for more since."""
        for name, values in kept.items():
            self._block.column[name][: len(values)] = values


def is_short(contact_log: ContactLog | None) -> bool:
    """Whether a step returned because it has more events than there is room for."""
    return contact_log is not None and contact_log.missing > 0


def _laid_out(contacts: int, events: int) -> Block:
    """The arena for so many contacts, each of which may be a pair of its own, and events."""
    buckets = max(16, 1 << (2 * contacts).bit_length())
    return log.TABLE.lay_out({"npair": contacts, "nbucket": buckets, "nevent": events})
