# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""ArticulationView: equal articulations of a model as stable arrays [world, articulation, ...]."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError, NotFoundError
from worldline._src.model.kinds import JointType
from worldline._src.model.model import Control, Model, State
from worldline._src.spatial.poses import Array

Pattern = str | re.Pattern[str] | Sequence[str] | Sequence[int]


def _matches(pattern: Pattern, labels: Sequence[str], what: str) -> list[int]:
    """Indices of the labels a glob, a list of globs, a regular expression or indices select."""
    if isinstance(pattern, re.Pattern):
        return [i for i, label in enumerate(labels) if pattern.fullmatch(label)]
    if isinstance(pattern, str):
        pattern = [pattern]
    chosen: list[int] = []
    for item in pattern:
        if isinstance(item, str):
            chosen += [i for i, label in enumerate(labels) if fnmatch.fnmatchcase(label, item)]
        elif 0 <= int(item) < len(labels):
            chosen.append(int(item))
        else:
            raise ArgumentError(f"{what} index must be 0 to {len(labels) - 1}, got {item}")
    return sorted(set(chosen))


def _last_part(label: str) -> str:
    return label.rsplit("/", 1)[-1]


class ArticulationView:
    """A selection of equal articulations, read and written as arrays of one stable shape.

    Arrays have the shape (worlds, articulations, n): the same logic runs on one robot or on thousands.
    Writing changes the State (or Control) given; `eval_fk` brings body poses up to date when you say so.

    Args:
        model: the model.
        pattern: articulations by label: a glob, several globs, a compiled regular expression, or indices.
        include_joints: joints by the last part of their label; None for all.
        exclude_joints: joints to leave out, by the last part of their label.
        include_links: links by the last part of their label; None for all.
        exclude_links: links to leave out, by the last part of their label.
        include_joint_types: only joints of these types; None for all.
        exclude_joint_types: no joints of these types.
    """

    def __init__(
        self,
        model: Model,
        pattern: Pattern,
        *,
        include_joints: Pattern | None = None,
        exclude_joints: Pattern | None = None,
        include_links: Pattern | None = None,
        exclude_links: Pattern | None = None,
        include_joint_types: Sequence[JointType] | None = None,
        exclude_joint_types: Sequence[JointType] | None = None,
    ) -> None:
        self.model = model
        self.articulations = _matches(pattern, model.articulation_label, "articulation")
        if not self.articulations:
            labels = ", ".join(model.articulation_label) or "none"
            raise NotFoundError(f"no articulation matches {pattern!r}; there are: {labels}")
        ranges = [range(int(model.articulation_start[a]), int(self._end(a))) for a in self.articulations]
        shapes = {tuple(self._signature(j) for j in r) for r in ranges}
        if len(shapes) > 1:
            raise ArgumentError(f"articulations matching {pattern!r} are not alike; select fewer")

        first = ranges[0]
        labels = [_last_part(model.joint_label[j]) for j in first]
        keep = set(range(len(first)) if include_joints is None else _matches(include_joints, labels, "joint"))
        keep -= set([] if exclude_joints is None else _matches(exclude_joints, labels, "joint"))
        kinds = [JointType(model.joint_type[j]) for j in first]
        if include_joint_types is not None:
            keep = {k for k in keep if kinds[k] in include_joint_types}
        if exclude_joint_types is not None:
            keep = {k for k in keep if kinds[k] not in exclude_joint_types}
        joints = sorted(keep)
        self.joint_labels: list[str] = [labels[k] for k in joints]

        names = [_last_part(model.body_label[model.joint_child[j]]) for j in first]
        links = set(range(len(first)) if include_links is None else _matches(include_links, names, "link"))
        links -= set([] if exclude_links is None else _matches(exclude_links, names, "link"))
        self.link_labels: list[str] = [names[k] for k in sorted(links)]

        self._roots = np.array([r[0] for r in ranges])
        self._q = self._columns(ranges, joints, model.joint_q_start)
        self._v = self._columns(ranges, joints, model.joint_qd_start)
        self._bodies = np.array([[model.joint_child[r[k]] for k in sorted(links)] for r in ranges], np.int64)

    def _end(self, articulation: int) -> int:
        joints = np.flatnonzero(self.model.joint_articulation == articulation)
        return int(joints[-1]) + 1

    def _signature(self, j: int) -> tuple[Any, ...]:
        m = self.model
        return int(m.joint_type[j]), *m.joint_dof_dim[j].tolist(), _last_part(m.joint_label[j])

    @staticmethod
    def _columns(ranges: list[range], joints: list[int], starts: np.ndarray) -> np.ndarray:
        rows = [[c for k in joints for c in range(starts[r[k]], starts[r[k] + 1])] for r in ranges]
        return np.array(rows, np.int64).reshape(len(ranges), -1)

    @property
    def count(self) -> int:
        """Selected articulations in all worlds."""
        return len(self.articulations) * self.model.world_count

    @property
    def world_count(self) -> int:
        """Worlds of the model."""
        return self.model.world_count

    @property
    def joint_dof_count(self) -> int:
        """Degrees of freedom of the selected joints of one articulation."""
        return self._v.shape[1]

    @property
    def joint_coord_count(self) -> int:
        """Coordinates of the selected joints of one articulation."""
        return self._q.shape[1]

    def _rows(self, array: Array) -> Array:
        """The array with a world dimension, sharing its memory."""
        return array[None] if self.model.world_count == 1 else array

    def _get(self, array: Array, columns: np.ndarray) -> Array:
        return self._rows(array)[:, columns]

    def _set(self, array: Array, columns: np.ndarray, values: Any, mask: Any, what: str) -> None:
        rows = self._rows(array)
        shape = (self.model.world_count, *columns.shape, *rows.shape[2:])
        try:
            given = np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
        except ValueError as error:
            raise ArgumentError(f"{what} must have shape {shape}, got {np.shape(values)}") from error
        if not np.isfinite(given).all():
            raise ArgumentError(f"{what} must be finite")
        chosen = self._mask(mask)
        present = rows[:, columns]
        wide = chosen.reshape(*chosen.shape, *(1,) * (present.ndim - 2))
        rows[:, columns] = np.where(wide, given, present)

    def _mask(self, mask: Any) -> np.ndarray:
        shape = (self.model.world_count, len(self.articulations))
        if mask is None:
            return np.ones(shape, bool)
        given = np.asarray(mask)
        if given.dtype == np.bool_ and given.shape == shape[:1]:
            return np.broadcast_to(given[:, None], shape)
        if given.dtype == np.bool_ and given.shape == shape:
            return given
        raise ArgumentError(f"mask must be booleans of shape {shape[:1]} or {shape}, got {given.shape}")

    def get_dof_positions(self, state: State) -> Array:
        """Coordinates of the selected joints, a copy, shape (worlds, articulations, coordinates)."""
        return self._get(state.joint_q, self._q)

    def set_dof_positions(self, state: State, values: Any, mask: Any = None) -> None:
        """Write coordinates of the selected joints; `mask` by world or by articulation."""
        self._set(state.joint_q, self._q, values, mask, "positions")

    def get_dof_velocities(self, state: State) -> Array:
        """Velocities of the selected joints, a copy, shape (worlds, articulations, dofs)."""
        return self._get(state.joint_qd, self._v)

    def set_dof_velocities(self, state: State, values: Any, mask: Any = None) -> None:
        """Write velocities of the selected joints."""
        self._set(state.joint_qd, self._v, values, mask, "velocities")

    def get_dof_forces(self, control: Control) -> Array:
        """Generalized forces of the selected joints, a copy."""
        return self._get(control.joint_f, self._v)

    def set_dof_forces(self, control: Control, values: Any, mask: Any = None) -> None:
        """Write generalized forces of the selected joints."""
        self._set(control.joint_f, self._v, values, mask, "forces")

    def get_link_transforms(self, state: State) -> Array:
        """Poses of the selected links, a copy, shape (worlds, articulations, links, 7)."""
        return self._get(state.body_q, self._bodies)

    def get_link_velocities(self, state: State) -> Array:
        """Velocities of the selected links as State.body_qd has them, a copy."""
        return self._get(state.body_qd, self._bodies)

    def _floating(self) -> bool:
        return JointType(self.model.joint_type[self._roots[0]]) in (JointType.FREE, JointType.DISTANCE)

    def _root_columns(self) -> np.ndarray:
        starts = self.model.joint_q_start[self._roots]
        return starts[:, None] + np.arange(7)

    def get_root_transforms(self, state: State) -> Array:
        """Pose of every root, a copy, shape (worlds, articulations, 7).

        Floating roots keep it in their coordinates; others in the model, as the pose of the root joint.
        """
        if self._floating():
            return self._get(state.joint_q, self._root_columns())
        poses = self.model.joint_X_p[self._roots]
        return np.repeat(poses[None], self.model.world_count, axis=0)

    def set_root_transforms(self, state: State, values: Any, mask: Any = None) -> None:
        """Move the roots. Floating roots change the state; others change the model for all worlds."""
        if self._floating():
            self._set(state.joint_q, self._root_columns(), values, mask, "root transforms")
            return
        shape = (self.model.world_count, len(self.articulations), 7)
        try:
            given = np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
        except ValueError as error:
            raise ArgumentError(f"root transforms must have shape {shape}, got {np.shape(values)}") from error
        chosen = self._mask(mask)
        if not (chosen == chosen[:1]).all() or not (given == given[:1]).all():
            raise ArgumentError("roots that are not floating are part of the model: move all worlds alike")
        poses = np.array(self.model.joint_X_p)
        poses[self._roots[chosen[0]]] = given[0][chosen[0]]
        self.model.update(joint_X_p=poses)

    def is_scalar(self) -> bool:
        """True when no selected joint has a quaternion, so positions line up with velocities."""
        return self.joint_coord_count == self.joint_dof_count

    def __repr__(self) -> str:
        return (
            f"ArticulationView({len(self.articulations)} articulations x {self.world_count} worlds, "
            f"{self.joint_dof_count} dofs, {self._bodies.shape[1]} links)"
        )
