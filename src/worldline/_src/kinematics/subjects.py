# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Subjects of inverse kinematics: a World with its handles, or a Model with its labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError, OperationError, nearest_name
from worldline._src.facade import values
from worldline._src.facade.closure_projection import closure_row, frame_of
from worldline._src.facade.frame import Frame
from worldline._src.facade.joint import Joint
from worldline._src.facade.loop_closure import LoopClosure
from worldline._src.facade.multibody import Multibody
from worldline._src.facade.runtime import Runtime
from worldline._src.facade.world import World
from worldline._src.model.model import Model
from worldline._src.model.topology import chain_dofs
from worldline._src.spatial.poses import IDENTITY, Array
from worldline._src.step.evaluate import is_count
from worldline._src.step.ik_problem import TaskRow


class Subject:
    """A Model, where its coordinates are, and how frames and joints are named."""

    model: Model

    def coordinates(self) -> Array:
        """Present coordinates, (joint_coord_count,)."""
        raise NotImplementedError

    def frame(self, given: Any, what: str) -> tuple[int, Array]:
        """Body, -1 for the world, and the pose of a frame in it."""
        raise NotImplementedError

    def joint(self, given: Any, what: str) -> int:
        """Index of a joint in the model."""
        raise NotImplementedError

    def joints(self, given: Any) -> list[int]:
        """Indices of joints that may move."""
        if isinstance(given, (str, Joint)) or not isinstance(given, Iterable):
            given = [given]
        given = values.several(given, "joints of inverse kinematics")
        return [self.joint(each, "joints of inverse kinematics") for each in given]

    def closure(self, given: Any) -> TaskRow:
        """The rows of a loop closure."""
        raise ArgumentError(f"a closure task needs a loop closure of a World, got {given!r}")

    def closures(self) -> dict[LoopClosure, set[int]]:
        """Loop closures that steps or writes keep closed, and the degrees of freedom that could open them."""
        return {}

    def apply(self, q: Array) -> None:
        """Put coordinates where the subject has its state."""
        raise OperationError("a Model has no state of its own: use the coordinates of the result")


class ModelSubject(Subject):
    """A Model: bodies and joints by label or index."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def coordinates(self) -> Array:
        return np.array(self.model.joint_q, np.float64)

    def frame(self, given: Any, what: str) -> tuple[int, Array]:
        return self._found(given, self.model.body_label, what, "body"), IDENTITY.copy()

    def joint(self, given: Any, what: str) -> int:
        return self._found(given, self.model.joint_label, what, "joint")

    def _found(self, given: Any, labels: Any, what: str, kind: str) -> int:
        names = list(labels)
        if isinstance(given, str):
            if given not in names:
                raise ArgumentError(f"{what}: no {kind} '{given}'{nearest_name(given, names)}")
            if names.count(given) > 1:
                raise ArgumentError(f"{what}: {names.count(given)} {kind} labels are '{given}'; use an index")
            return names.index(given)
        if not is_count(given) or not 0 <= given < len(names):
            raise ArgumentError(
                f"{what} must be the label or index of a {kind}, 0 to {len(names) - 1}, got {given!r}"
            )
        return int(given)


class WorldSubject(Subject):
    """A World: frames, bodies, links and joints by their handles."""

    def __init__(self, world: World, runtime: Runtime | None = None) -> None:
        self.world = world
        self._runtime = world._live() if runtime is None else runtime
        self.model = self._runtime.model

    def coordinates(self) -> Array:
        return self._runtime.sim.q.copy()

    def frame(self, given: Any, what: str) -> tuple[int, Array]:
        if not isinstance(given, Frame):
            raise ArgumentError(f"{what} must be a frame, body or link of the World, got {given!r}")
        return frame_of(self.world, self._runtime, given, what)

    def _require_mine(self, handle: Any, what: str) -> None:
        if handle._world is not self.world:
            raise ArgumentError(f"{what} is of another World: {handle!r}")

    def joint(self, given: Any, what: str) -> int:
        if not isinstance(given, Joint):
            raise ArgumentError(f"{what} must be joints of the World, got {given!r}")
        self._require_mine(given, what)
        index = self._runtime.joint_index.get(id(given._joint))
        if index is None:
            raise ArgumentError(f"{what}: joint '{given.name}' is frozen and does not move")
        return index

    def joints(self, given: Any) -> list[int]:
        if isinstance(given, Multibody):
            self._require_mine(given, "joints of inverse kinematics")
            given = [j for j in given.joints if id(j._joint) in self._runtime.joint_index]
        return super().joints(given)

    def closure(self, given: Any) -> TaskRow:
        if not isinstance(given, LoopClosure):
            raise ArgumentError(f"a closure task needs a loop closure of the World, got {given!r}")
        self._require_mine(given, "closure of a task")
        given._require_alive()
        return closure_row(self.world, self._runtime, given)

    def closures(self) -> dict[LoopClosure, set[int]]:
        made: dict[LoopClosure, set[int]] = {}
        for closure in self.world._loop_closures.values():
            if closure._is_solved or closure._is_projected:
                row = self.closure(closure)
                # what moves both ends alike does not open it
                made[closure] = chain_dofs(self.model, row.a) ^ chain_dofs(self.model, row.b)
        return made

    def apply(self, q: Array) -> None:
        self.world._require_idle()
        runtime = self.world._live()
        if runtime is not self._runtime:
            raise OperationError("the World was compiled anew since its inverse kinematics was solved")
        runtime.sim.q[:] = q
        runtime.sim.written()


def subject_of(given: Any) -> Subject:
    """The subject of a World or a Model."""
    if isinstance(given, World):
        return WorldSubject(given)
    if isinstance(given, Model):
        return ModelSubject(given)
    raise ArgumentError(f"inverse kinematics needs a World or a Model, got {given!r}")
