# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The base of all handles: they belong to a World, keep it alive, and raise once their object is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldline._src.errors import OperationError
from worldline._src.facade.copying import Address, CopiedWithWorld
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.world_kind import require_world

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime


class Handle(CopiedWithWorld, KnownNames):
    """An object of a World. One entity has one handle, so `==` and `is` say the same.

    Handles keep their World alive and are used by the thread that uses it: while a step of the World runs in
    another thread, reading and writing raise `BusyError`.
    """

    _world: WorldRuntime
    _alive: bool
    _gone: str
    _label: str

    def __init__(self, world: WorldRuntime) -> None:
        require_world(world, type(self).__name__)
        self._world = world
        self._alive = True
        self._gone = ""

    @property
    def is_valid(self) -> bool:
        """False once the object was removed or its World cleared."""
        return self._alive

    @property
    def name(self) -> str:
        """Unique among its kind within its owner."""
        return self._label

    def is_same_instance_as(self, other: object) -> bool:
        """True for the same entity of the same World."""
        return self is other

    def _kill(self, why: str) -> None:
        self._alive = False
        self._gone = why

    def _address(self) -> Address:
        self._require_alive()
        return self._path()

    def _path(self) -> Address:
        """Collections and names that lead from the World to the object."""
        raise NotImplementedError

    def _live(self) -> Runtime:
        """The compiled world, brought up to date with the description; refuses a dead handle."""
        if not self._alive:
            self._refuse()
        world = self._world
        runtime = world._runtime
        if runtime is None or runtime.guard.busy or runtime.sim.unsettled:
            return world._reach()
        return runtime

    def _require_alive(self) -> None:
        if not self._alive:
            self._refuse()

    def _refuse(self) -> None:
        raise OperationError(
            f"this {type(self).__name__} handle ('{self.name}') is not valid any more: {self._gone}"
        )

    def _require_design(self, what: str) -> None:
        self._require_alive()
        self._world._require_design(what)
