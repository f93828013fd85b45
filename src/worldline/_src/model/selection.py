# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""ArticulationView: equal articulations of a model as stable arrays [world, articulation, ...]."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, NotFoundError, nearest_name, require_kind
from worldline._src.model.kinds import JointType
from worldline._src.model.model import Control, Model, State
from worldline._src.spatial.poses import Array, flag_array, float_array


class ArticulationSource(Protocol):
    """Worlds of one model that are no State, such as a batch."""

    def articulation_array(self, name: str) -> Array:
        """An array of a State or Control by name with the world as its first dimension, to be written."""
        ...


Holder = State | Control | ArticulationSource
Pattern = str | re.Pattern[str] | Sequence[str | re.Pattern[str]] | Sequence[int]
_PER_COORDINATE = ("joint_q", "joint_spring_ref")
_PER_JOINT = ("joint_type", "joint_parent", "joint_child", "joint_X_p", "joint_X_c", "joint_distance")
_FIXED = ("joint_type", "joint_parent", "joint_child")
"""Attributes that describe the layout and are read-only."""
_MADE_UP = re.compile(r"joint_\d{3,}")


def _matches(pattern: Pattern, labels: Sequence[str], what: str) -> set[int]:
    """Indices of the labels that a glob, a regular expression, several of them, or indices select."""
    single = isinstance(pattern, (str, re.Pattern))
    if not single and (not isinstance(pattern, (Sequence, np.ndarray)) or getattr(pattern, "ndim", 1) == 0):
        raise ArgumentError(f"{what}s are selected by globs, regular expressions or indices, got {pattern!r}")
    chosen: set[int] = set()
    for item in [pattern] if single else pattern:
        if isinstance(item, str):
            chosen |= {i for i, label in enumerate(labels) if fnmatch.fnmatchcase(label, item)}
        elif isinstance(item, re.Pattern):
            chosen |= {i for i, label in enumerate(labels) if item.fullmatch(label)}
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool) and 0 <= item < len(labels):
            chosen.add(int(item))
        else:
            raise ArgumentError(f"{what} index must be 0 to {len(labels) - 1}, got {item!r}")
    return chosen


def _found(pattern: Pattern, labels: Sequence[str], what: str) -> set[int]:
    chosen = _matches(pattern, labels, what)
    if not chosen:
        there = ", ".join(labels) or "none"
        raise NotFoundError(f"no {what} matches {pattern!r}; there are: {there}")
    return chosen


def _filtered(
    include: Pattern | None, exclude: Pattern | None, labels: Sequence[str], what: str
) -> list[int]:
    chosen = set(range(len(labels))) if include is None else _found(include, labels, what)
    return sorted(chosen - (set() if exclude is None else _matches(exclude, labels, what)))


def _types(types: Sequence[JointType]) -> set[JointType]:
    try:
        return {JointType(t) for t in types}
    except (TypeError, ValueError):
        raise ArgumentError(f"joint types must be a list of JointType, got {types!r}") from None


def _last_part(label: str) -> str:
    return label.rsplit("/", 1)[-1]


class ArticulationView(FixedAttributes):
    """A selection of equal articulations, read and written as arrays of one stable shape.

    Arrays have the shape (worlds, articulations, n): the same logic runs on one robot or on thousands.
    Writing changes the State (or Control) given; `eval_fk` brings body poses up to date when you say so. A
    `WorldBatch` of the model may stand in the place of both: worlds are those of the batch then, and poses
    and velocities of links are up to date by themselves.

    Args:
        model: the model.
        pattern: articulations by label: a glob, several globs, a compiled regular expression, or indices.
        include_joints: joints by the last part of their label; None for all.
        exclude_joints: joints to leave out, by the last part of their label.
        include_links: links by the last part of their label; None for all.
        exclude_links: links to leave out, by the last part of their label.
        include_joint_types: only joints of these types; None for all.
        exclude_joint_types: no joints of these types.

    Example:
        >>> from worldline import msd, simulation as sx
        >>> from worldline.model import ArticulationView
        >>> scene = msd.from_str(
        ...     "<mujoco><worldbody><body name='bob'><joint name='hinge' axis='0 1 0' armature='0.1'/>"
        ...     "<geom size='0.1' pos='0 0 -1'/></body></worldbody></mujoco>", format="mjcf")
        >>> batch = sx.WorldBatch(scene, 3)
        >>> view = ArticulationView(batch.model, "bob")
        >>> view.set_dof_positions(batch, [[[0.1]], [[0.2]], [[0.3]]])
        >>> view.flat(view.get_dof_positions(batch)).tolist()
        [[0.1], [0.2], [0.3]]
        >>> view.get_attribute("joint_armature", batch.model).tolist()
        [[[0.1]]]
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
        require_kind(model, Model, "model", "ArticulationView")
        self.model = model
        self.articulations = sorted(_found(pattern, model.articulation_label, "articulation"))
        ranges = [self._range(a) for a in self.articulations]
        first = ranges[0]
        for a, here in zip(self.articulations, ranges, strict=True):
            if [self._signature(here, j) for j in here] != [self._signature(first, j) for j in first]:
                one, other = model.articulation_label[self.articulations[0]], model.articulation_label[a]
                raise ArgumentError(
                    f"articulations '{one}' and '{other}', both matching {pattern!r}, are not alike: joints "
                    "differ in number, type, parent or label"
                )

        labels = [_last_part(model.joint_label[j]) for j in first]
        kinds = [JointType(model.joint_type[j]) for j in first]
        joints = _filtered(include_joints, exclude_joints, labels, "joint")
        if include_joint_types is not None:
            joints = [k for k in joints if kinds[k] in _types(include_joint_types)]
        if exclude_joint_types is not None:
            joints = [k for k in joints if kinds[k] not in _types(exclude_joint_types)]
        self.joint_labels: list[str] = [labels[k] for k in joints]
        names = [_last_part(model.body_label[int(model.joint_child[j])]) for j in first]
        links = _filtered(include_links, exclude_links, names, "link")
        self.link_labels: list[str] = [names[k] for k in links]

        self._roots = np.array([r[0] for r in ranges])
        self._single = not (model.joint_parent[first[1:]] < 0).any()
        self._joints = np.array([[r[k] for k in joints] for r in ranges], np.int64)
        self._q = self._columns(ranges, joints, model.joint_q_start)
        self._v = self._columns(ranges, joints, model.joint_qd_start)
        self._bodies = np.array([[model.joint_child[r[k]] for k in links] for r in ranges], np.int64)

    def _range(self, articulation: int) -> range:
        joints = np.flatnonzero(self.model.joint_articulation == articulation)
        return range(int(joints[0]), int(joints[-1]) + 1)

    def _signature(self, joints: range, j: int) -> tuple[Any, ...]:
        """What must be equal in articulations that are alike: not labels that do not distinguish joints."""
        m = self.model
        above = [k for k in joints if m.joint_child[k] == m.joint_parent[j]]
        label = _last_part(m.joint_label[j])
        return (
            int(m.joint_type[j]),
            *m.joint_dof_dim[j].tolist(),
            above[0] - joints[0] if above else -1,
            None if len(joints) == 1 or _MADE_UP.fullmatch(label) else label,
        )

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

    def _rows(self, holder: Holder, name: str) -> Array:
        """An array of a State, Control or batch with a world dimension, sharing its memory."""
        if not isinstance(holder, (State, Control)) and hasattr(holder, "articulation_array"):
            if getattr(holder, "model", None) is not self.model:
                raise ArgumentError(f"{holder!r} is not of this view's model")
            return holder.articulation_array(name)
        # a model has no forces of its own
        one: tuple[int, ...] = (
            (self.model.body_count, 6) if name == "body_f" else getattr(self.model, name).shape
        )
        array = cast("Array | None", getattr(holder, name, None))
        shape = one if self.model.world_count == 1 else (self.model.world_count, *one)
        if not isinstance(array, np.ndarray) or array.shape != shape:
            got = f"shape {array.shape}" if isinstance(array, np.ndarray) else type(holder).__name__
            raise ArgumentError(f"{name} must be of this view's model, of shape {shape}, got {got}")
        return array[None] if self.model.world_count == 1 else array

    def _get(self, holder: Holder, name: str, columns: np.ndarray) -> Array:
        return self._rows(holder, name)[:, columns]

    def _set(self, holder: Holder, name: str, columns: np.ndarray, values: Any, mask: Any) -> None:
        rows = self._rows(holder, name)
        given = self._given(values, (len(rows), *columns.shape, *rows.shape[2:]), name)
        chosen = self._mask(mask, len(rows))
        present = rows[:, columns]
        wide = chosen.reshape(*chosen.shape, *(1,) * (present.ndim - 2))
        rows[:, columns] = np.where(wide, given, present)

    @staticmethod
    def _given(values: Any, shape: tuple[int, ...], what: str) -> Array:
        given = float_array(values, f"values for {what}")
        if not np.isfinite(given).all():
            raise ArgumentError(f"values for {what} must be finite")
        try:
            return np.broadcast_to(given, shape)
        except ValueError as error:
            raise ArgumentError(f"values for {what} must have shape {shape}, got {given.shape}") from error

    def _mask(self, mask: Any, worlds: int) -> np.ndarray:
        shape = (worlds, len(self.articulations))
        if mask is None:
            return np.ones(shape, bool)
        given = flag_array(mask, "mask")
        if given.shape == shape[:1]:
            return np.broadcast_to(given[:, None], shape)
        if given.shape == shape:
            return given
        raise ArgumentError(f"mask must be booleans of shape {shape[:1]} or {shape}, got {given.shape}")

    def get_dof_positions(self, state: State | ArticulationSource) -> Array:
        """Coordinates of the selected joints, a copy, shape (worlds, articulations, coordinates)."""
        return self._get(state, "joint_q", self._q)

    def set_dof_positions(self, state: State | ArticulationSource, values: Any, mask: Any = None) -> None:
        """Write coordinates of the selected joints; `mask` by world or by articulation."""
        self._set(state, "joint_q", self._q, values, mask)

    def get_dof_velocities(self, state: State | ArticulationSource) -> Array:
        """Velocities of the selected joints, a copy, shape (worlds, articulations, dofs)."""
        return self._get(state, "joint_qd", self._v)

    def set_dof_velocities(self, state: State | ArticulationSource, values: Any, mask: Any = None) -> None:
        """Write velocities of the selected joints."""
        self._set(state, "joint_qd", self._v, values, mask)

    def get_dof_forces(self, control: Control | ArticulationSource) -> Array:
        """Generalized forces of the selected joints, a copy."""
        return self._get(control, "joint_f", self._v)

    def set_dof_forces(self, control: Control | ArticulationSource, values: Any, mask: Any = None) -> None:
        """Write generalized forces of the selected joints."""
        self._set(control, "joint_f", self._v, values, mask)

    def get_link_transforms(self, state: State | ArticulationSource) -> Array:
        """Poses of the selected links, a copy, shape (worlds, articulations, links, 7)."""
        return self._get(state, "body_q", self._bodies)

    def get_link_velocities(self, state: State | ArticulationSource) -> Array:
        """Velocities of the selected links as State.body_qd has them, a copy."""
        return self._get(state, "body_qd", self._bodies)

    def _floating(self) -> bool:
        return JointType(self.model.joint_type[self._roots[0]]) in (JointType.FREE, JointType.DISTANCE)

    def _root_columns(self) -> np.ndarray:
        if not self._single:
            raise ArgumentError("these articulations have several roots; move them joint by joint")
        starts = self.model.joint_q_start[self._roots]
        return starts[:, None] + np.arange(7)

    def get_root_transforms(self, state: State | ArticulationSource) -> Array:
        """Pose of every root, a copy, shape (worlds, articulations, 7).

        Floating roots keep it in their coordinates; others in the model, as the pose of the root joint.
        """
        columns = self._root_columns()
        if self._floating():
            return self._get(state, "joint_q", columns)
        poses = self.model.joint_X_p[self._roots]
        return np.repeat(poses[None], len(self._rows(state, "joint_q")), axis=0)

    def set_root_transforms(self, state: State | ArticulationSource, values: Any, mask: Any = None) -> None:
        """Move the roots. Floating roots change the state; others change the model for all worlds."""
        columns = self._root_columns()
        worlds = len(self._rows(state, "joint_q"))
        given = self._given(values, (worlds, *columns.shape), "root transforms").copy()
        lengths = np.linalg.norm(given[..., 3:], axis=-1, keepdims=True)
        if (lengths < 1e-12).any():
            raise ArgumentError("root transforms need quaternions (xyzw) that are not zero")
        # unit quaternions keep their bits
        given[..., 3:] /= np.where(np.abs(lengths - 1.0) < 1e-12, 1.0, lengths)
        if self._floating():
            self._set(state, "joint_q", columns, given, mask)
            return
        if not isinstance(state, State | Model):
            raise ArgumentError(
                "roots that are not floating are part of the model, which worlds of a batch share; move them "
                "in the World that the batch is made of"
            )
        chosen = self._mask(mask, worlds)
        if not (chosen == chosen[:1]).all() or not (given == given[:1]).all():
            raise ArgumentError("roots that are not floating are part of the model: move all worlds alike")
        poses = np.array(self.model.joint_X_p)
        poses[self._roots[chosen[0]]] = given[0][chosen[0]]
        self.model.update(joint_X_p=poses)

    def _root_velocity_columns(self) -> np.ndarray:
        if not self._single:
            raise ArgumentError("these articulations have several roots; read velocities joint by joint")
        if not self._floating():
            raise ArgumentError("roots that are not floating have no velocity of their own")
        return self.model.joint_qd_start[self._roots][:, None] + np.arange(6)

    def get_root_velocities(self, state: State | ArticulationSource) -> Array:
        """Velocity of every floating root, a copy, shape (worlds, articulations, 6).

        Linear velocity of the origin, world axes [m/s], then angular velocity, axes of the root [rad/s], as
        `State.joint_qd` has them.
        """
        return self._get(state, "joint_qd", self._root_velocity_columns())

    def set_root_velocities(self, state: State | ArticulationSource, values: Any, mask: Any = None) -> None:
        """Write velocities of floating roots, as `get_root_velocities` gives them."""
        self._set(state, "joint_qd", self._root_velocity_columns(), values, mask)

    # ---- attributes by name

    def _attribute_columns(self, name: str) -> np.ndarray:
        """Rows of an array of the model, a State or a Control that belong to the selection."""
        if not isinstance(name, str):
            raise ArgumentError(f"the name of an attribute must be a text, got {name!r}")
        if name.startswith("body_"):
            array = cast("Array | None", getattr(self.model, name, None))
            per_body = isinstance(array, np.ndarray) and array.shape[:1] == (self.model.body_count,)
            if per_body or name == "body_f":
                return self._bodies
        if name in _PER_JOINT:
            return self._joints
        if name in _PER_COORDINATE:
            return self._q
        array = cast("Array | None", getattr(self.model, name, None)) if name.startswith("joint_") else None
        if isinstance(array, np.ndarray) and array.shape[:1] == (self.model.joint_dof_count,):
            return self._v
        known = (n for n in vars(self.model) if n.startswith(("joint_", "body_")))
        there = [n for n in known if isinstance(getattr(self.model, n), np.ndarray)]
        raise NotFoundError(f"articulations have no attribute {name!r}{nearest_name(name, there)}")

    def get_attribute(self, name: str, source: Model | Holder) -> Array:
        """Any array of a Model, State, Control or batch for the selection, a copy.

        Arrays by degree of freedom have the shape (worlds, articulations, dofs, ...), those by joint or body
        one row a joint or link in place of dofs. Arrays of a Model have one world.

        Args:
            name: such as "joint_armature", "body_mass" or "joint_q".
            source: where the array is.
        """
        columns = self._attribute_columns(name)
        if isinstance(source, Model):
            self._require_model(source)
            self._require_own(name)
            return getattr(source, name)[columns][None]
        return self._get(source, name, columns)

    def set_attribute(self, name: str, target: Model | Holder, values: Any, mask: Any = None) -> None:
        """Write an array of a Model, State, Control or batch for the selection, as `get_attribute` gives it.

        A Model that is written serves all its worlds alike; see `Model.update`.
        """
        columns = self._attribute_columns(name)
        if not isinstance(target, Model):
            self._set(target, name, columns, values, mask)
            return
        self._require_model(target)
        self._require_own(name)
        if name in _FIXED:
            raise ArgumentError(f"{name} describes the layout of the model and cannot be written")
        whole = np.array(getattr(target, name))
        given = self._given(values, (1, *columns.shape, *whole.shape[1:]), name)[0]
        chosen = self._mask(mask, 1)[0]
        wide = chosen.reshape(-1, *(1,) * (given.ndim - 1))
        whole[columns] = np.where(wide, given, whole[columns])
        target.update(**{name: whole})

    def _require_own(self, name: str) -> None:
        if not hasattr(self.model, name):
            raise ArgumentError(f"a Model has no {name}; give a State")

    def _require_model(self, model: Model) -> None:
        if model is not self.model:
            raise ArgumentError("the model is not that of this view")

    # ---- rows of instances

    @staticmethod
    def flat(values: Array) -> Array:
        """An array (worlds, articulations, ...) with one row an instance; a view where strides allow."""
        if not isinstance(values, np.ndarray) or values.ndim < 2 or isinstance(values, np.ma.MaskedArray):
            raise ArgumentError(f"values must be an array of worlds and articulations, got {values!r}")
        return values.reshape(-1, *values.shape[2:])

    def instances(self, worlds: int | None = None) -> np.ndarray:
        """World and articulation of every row of `flat`, (worlds * articulations, 2).

        Args:
            worlds: how many there are; those of the model when None.
        """
        count = self.model.world_count if worlds is None else worlds
        whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
        if not whole or not 0 <= count < 1 << 31:
            raise ArgumentError(f"worlds must be a whole number that is not negative, got {worlds!r}")
        world, row = np.divmod(np.arange(count * len(self.articulations)), len(self.articulations))
        return np.stack([world, np.array(self.articulations)[row]], axis=1)

    def is_scalar(self) -> bool:
        """True when no selected joint has a quaternion, so positions line up with velocities."""
        return self.joint_coord_count == self.joint_dof_count

    def __repr__(self) -> str:
        return (
            f"ArticulationView({len(self.articulations)} articulations x {self.world_count} worlds, "
            f"{self.joint_dof_count} dofs, {self._bodies.shape[1]} links)"
        )
