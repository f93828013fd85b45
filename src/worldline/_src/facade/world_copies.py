# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Members of World that copy it: clones, copy.deepcopy, pickle and files.

Attributes that a subclass of a user added are copied and pickled as they are.
"""

from __future__ import annotations

import copy
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from worldline._src.errors import OperationError
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.world_kind import kind_named
from worldline._src.later import DeferredModule

if TYPE_CHECKING:
    from worldline._src.facade import fingerprint, persistence
    from worldline._src.facade.world import World
    from worldline._src.model.model import Model
else:
    fingerprint = DeferredModule("facade.fingerprint")
    persistence = DeferredModule("facade.persistence")


class WorldCopies(KnownNames):
    """Copies of a World in memory and in files."""

    def _self(self) -> World:
        return cast("World", self)

    def clone(self) -> World:
        """A World of its own that is like this one in everything but its replay, and steps to the same bits.

        `copy.deepcopy` does the same, pickle stores what `save_binary` writes, and handles in the same
        structure become those of the copy. `copy.copy` is refused.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box", position=(0, 0, 1))
            >>> world.step(n=10)
            >>> twin = world.clone()
            >>> twin.step(n=5), world.step(n=5)
            (None, None)
            >>> bool((twin.rigid_bodies["box"].translation == box.translation).all()), twin.frame
            (True, 15)
        """
        return persistence.clone_world(self._self())

    def model(self) -> Model:
        """The compiled description of this World as it is now, for the array layer and for rollouts; a copy.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> world.model().body_label
            ['box']
        """
        return persistence.clone_world(self._self())._live().model

    def fingerprint(self) -> str:
        """Hash of model, options, state, commands and time, 64 hexadecimal digits.

        Equal fingerprints mean equal numbers to the last bit. What the solver starts the next step from is
        not part of it.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> twin = world.clone()
            >>> same = twin.fingerprint() == world.fingerprint()
            >>> box.mass = 2.0
            >>> same, twin.fingerprint() == world.fingerprint()
            (True, False)
        """
        return fingerprint.world_fingerprint(self._self())

    def __copy__(self) -> World:
        raise OperationError(
            f"copy.copy of a {type(self).__name__} would share its bodies and state; "
            "use World.clone() or copy.deepcopy for a World of its own"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        made = memo[id(self)] = persistence.clone_world(self._self())
        for name, value in _own_attributes(self).items():
            vars(made)[name] = copy.deepcopy(value, memo)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        world = self._self()
        stored = (type(self), persistence.to_bytes(world), world.step_profiling_enabled)
        return _unpickled, stored, _own_attributes(self)

    def save_binary(self, path: str | PathLike[str]) -> None:
        """Write everything to a file: a World that loads it goes on bit for bit."""
        persistence.save(self._self(), path)

    def load_binary(self, path: str | PathLike[str]) -> None:
        """Become the World of a file that `save_binary` wrote; handles from before become invalid.

        Mode, time, options, state and the numbering of made-up names are those of the saved World.

        Raises:
            SceneError: no file, a damaged one, or one of another version; the World is as it was.

        Example:
            >>> import tempfile
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> world.step(n=10)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     world.save_binary(folder + "/world.bin")
            ...     other = sx.World()
            ...     other.load_binary(folder + "/world.bin")
            >>> other.frame, bool((other.rigid_bodies["box"].translation == box.translation).all())
            (10, True)
        """
        persistence.restore(self._self(), path)


def _unpickled(kind: type[World], data: bytes, profiling: bool) -> World:
    """The World that pickle stored."""
    made = kind.__new__(kind)
    persistence.from_bytes(made, data, "pickled World")
    made.step_profiling_enabled = profiling
    return made


def _own_attributes(world: WorldCopies) -> dict[str, Any]:
    """Attributes of the instance that a World does not have by itself."""
    known = vars(kind_named("World")())
    return {name: value for name, value in vars(world).items() if name not in known}
