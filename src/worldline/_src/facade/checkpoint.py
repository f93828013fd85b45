# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a World for rollback: its description, its handles and its own fields.

Objects keep their identity when they are put back, so handles that a user holds stay what they are. Only
containers are copied: arrays of a description are replaced and never written in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from worldline._src.facade.handle import Handle
from worldline._src.facade.values import is_mapping, is_sequence
from worldline._src.scene.base import Part

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


class Checkpoint:
    """Everything a World can change, except what its runtime holds.

    A runtime is put back as the object it was; callers that let it change restore its state.
    """

    def __init__(self, world: WorldRuntime) -> None:
        self._world = world
        self._saved: dict[int, tuple[object, dict[str, Any]]] = {}
        for item in (world, *world._parts(), *handles(world), *_parts(world._scene)):
            self._saved[id(item)] = (item, {name: _copied(value) for name, value in vars(item).items()})
        self._options = world._options.copy()

    def restore(self, why: str) -> None:
        """Put everything back; handles made since then are dead, and say why."""
        for handle in handles(self._world):
            if id(handle) not in self._saved:
                handle._kill(why)
        for item, fields in self._saved.values():
            vars(item).clear()
            vars(item).update({name: _copied(value) for name, value in fields.items()})
        self._world._options = self._options.copy()


def handles(world: WorldRuntime) -> Iterator[Handle]:
    """All living handles of a World."""
    for table in (world._rigid_bodies, world._frames, world._loop_closures, world._multibodies):
        yield from table.values()
    for robot in world._multibodies.values():
        yield from robot._links.values()
        yield from robot._joints.values()


def kill_handles(world: WorldRuntime, why: str) -> None:
    """Make every handle of a World invalid, with those that are made on first use."""
    for handle in list(handles(world)):
        handle._kill(why)
    for table in (world._sensors, world._markers, world._connections.joint_handles):
        for handle in table.values():
            handle._kill(why)


def _copied(value: Any) -> Any:
    return value.copy() if type(value) in (list, dict) else value


def _parts(root: Part) -> Iterator[Part]:
    """Every object of a description, with a stack instead of recursion: trees may be deep."""
    stack: list[Any] = [root]
    seen: set[int] = set()
    while stack:
        value = stack.pop()
        if isinstance(value, Part):
            if id(value) not in seen:
                seen.add(id(value))
                yield value
                stack.extend(vars(value).values())
        elif is_mapping(value):
            stack.extend(value.values())
        elif is_sequence(value) and value and not isinstance(value[0], (float, int, str)):
            stack.extend(value)
