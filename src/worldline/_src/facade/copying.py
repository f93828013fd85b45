# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""copy.deepcopy and pickle of what belongs to a World.

Handles follow their World: a structure that holds a World and handles of it becomes one that holds the copy
and its handles. Views and things at work refuse and say what to do instead.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NoReturn

from worldline._src.errors import OperationError

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime

Address = tuple[str, ...]
"""Collections and names that lead from a World to an object of it, in turn."""


class CopiedWithWorld:
    """What belongs to a World and is copied and pickled with it; copy.copy gives the object itself."""

    __slots__ = ()

    if TYPE_CHECKING:
        _world: WorldRuntime

    def _address(self) -> Address:
        """How a World leads to the object."""
        raise NotImplementedError

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return find(copy.deepcopy(self._world, memo), self._address())

    def __reduce__(self) -> Any:
        return find, (self._world, self._address())


class NotCopied:
    """What can be neither copied nor pickled: a view, or something that is at work; says what to do."""

    __slots__ = ()

    _instead = "make a new one"

    def _refuse_copy(self) -> NoReturn:
        raise OperationError(f"a {type(self).__name__} can be neither copied nor pickled: {self._instead}")

    def __copy__(self) -> Any:
        self._refuse_copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        self._refuse_copy()

    def __reduce__(self) -> Any:
        self._refuse_copy()


VIEW_OF_A_BATCH = "it is a view; copy the batch and ask the copy"


def find(world: WorldRuntime, address: Address) -> Any:
    """The object of a World at an address."""
    found: Any = world
    for k in range(0, len(address), 2):
        found = getattr(found, address[k])
        if k + 1 < len(address):
            found = found[address[k + 1]]
    return found
