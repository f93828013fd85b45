# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Equal articulations of worlds that are not alike: one row an instance, and the world it is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, NotFoundError, ShapeError, require_kind
from worldline._src.facade import values as checked
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.facade.copying import VIEW_OF_A_BATCH, NotCopied
from worldline._src.model.selection import ArticulationView, Pattern
from worldline._src.spatial.poses import Array, flag_array

Read = Callable[[ArticulationView, WorldBatch], Array]


class FlatArticulationView(NotCopied, FixedAttributes):
    """A selection of equal articulations of a `MixedBatch`, read and written as arrays (instances, ...).

    Instances are in the order of their worlds, within a world in that of its model. Reading gives copies;
    poses and velocities of links are up to date after every write.

    Example:
        >>> from worldline import simulation as sx
        >>> worlds = [sx.World(gravity=(0, 0, 0)) for _ in range(2)]
        >>> for world, names in zip(worlds, (["a"], ["a", "b"])):
        ...     for name in names:
        ...         arm = world.add_multibody(name)
        ...         base = arm.add_link("base")
        ...         hinge = sx.JointSpec("hinge", axis=(0, 0, 1))
        ...         link = arm.add_link("link", parent=base, joint=hinge)
        >>> view = sx.MixedBatch(worlds).articulations("*")
        >>> view.set_dof_velocities([[1.0], [2.0], [3.0]], mask=[True, False, True])
        >>> view.world.tolist(), view.get_dof_velocities().ravel().tolist()
        ([0, 1, 1], [1.0, 0.0, 3.0])
    """

    _instead = VIEW_OF_A_BATCH

    def __init__(
        self,
        groups: Sequence[WorldBatch],
        members: Sequence[np.ndarray],
        pattern: Pattern,
        choice: Mapping[str, Any],
    ) -> None:
        self._parts: list[tuple[ArticulationView, WorldBatch]] = []
        worlds: list[np.ndarray] = []
        labels: list[str] = []
        missing: NotFoundError | None = None
        for group in checked.several(groups, "groups"):
            require_kind(group, WorldBatch, "groups", "FlatArticulationView")
        for group, those in zip(groups, members, strict=True):
            try:
                view = ArticulationView(group.model, pattern, **choice)
            except NotFoundError as error:
                missing = error
                continue
            self._parts.append((view, group))
            worlds.append(np.repeat(those, len(view.articulations)))
            labels += len(those) * [group.model.articulation_label[a] for a in view.articulations]
        if missing is not None and not self._parts:
            raise missing
        self._require_alike()
        every = np.concatenate(worlds)
        # rows of groups, one group after the other, in the order of worlds
        self._order = np.argsort(every, kind="stable")
        self.world = checked.read_only(every[self._order])
        """World of every instance, (instances,)."""
        self.labels: list[str] = [labels[k] for k in self._order.tolist()]
        """Label of every instance in the model of its world."""

    def _require_alike(self) -> None:
        first = self._parts[0][0]
        for view, _ in self._parts[1:]:
            mine, theirs = ((v.joint_labels, v.link_labels, v.joint_dof_count) for v in (first, view))
            if mine != theirs:
                raise ArgumentError(
                    f"articulations that match are not alike in all worlds: their joints are {mine[0]} and "
                    f"{theirs[0]}"
                )

    @property
    def count(self) -> int:
        """Instances in all worlds."""
        return len(self.world)

    def __len__(self) -> int:
        return self.count

    @property
    def joint_labels(self) -> list[str]:
        """Selected joints of one instance."""
        return list(self._parts[0][0].joint_labels)

    @property
    def link_labels(self) -> list[str]:
        """Selected links of one instance."""
        return list(self._parts[0][0].link_labels)

    @property
    def joint_dof_count(self) -> int:
        """Degrees of freedom of the selected joints of one instance."""
        return self._parts[0][0].joint_dof_count

    @property
    def joint_coord_count(self) -> int:
        """Coordinates of the selected joints of one instance."""
        return self._parts[0][0].joint_coord_count

    def __repr__(self) -> str:
        return f"FlatArticulationView({self.count} instances in {len(np.unique(self.world))} worlds)"

    def _read(self, read: Read) -> Array:
        rows = [view.flat(read(view, group)) for view, group in self._parts]
        return np.concatenate(rows)[self._order]

    def _write(self, name: str, read: Read, values: Any, mask: Any) -> None:
        """Write rows of instances through the method `name` of each group's view."""
        present = self._read(read)
        given = checked.array(values, f"values of {name}")
        if not np.isfinite(given).all():
            raise ArgumentError(f"values of {name} must be finite")
        try:
            rows = np.broadcast_to(given, present.shape)
        except ValueError:
            raise ShapeError(f"values of {name} must have shape {present.shape}, got {given.shape}") from None
        if mask is not None:
            chosen = flag_array(mask, "mask")
            if chosen.shape != (self.count,):
                raise ArgumentError(f"mask must be bools of shape ({self.count},), got {mask!r}")
            rows = np.where(chosen.reshape(-1, *(1,) * (rows.ndim - 1)), rows, present)
        by_group, at = np.empty_like(present), 0
        by_group[self._order] = rows
        for view, group in self._parts:
            size = group.num_worlds * len(view.articulations)
            part = by_group[at : at + size].reshape(group.num_worlds, -1, *present.shape[1:])
            getattr(view, name)(group, part)
            at += size

    def get_dof_positions(self) -> Array:
        """Coordinates of the selected joints, (instances, coordinates)."""
        return self._read(ArticulationView.get_dof_positions)

    def set_dof_positions(self, values: Any, mask: Any = None) -> None:
        """Write coordinates of the selected joints; `mask` has a bool an instance."""
        self._write("set_dof_positions", ArticulationView.get_dof_positions, values, mask)

    def get_dof_velocities(self) -> Array:
        """Velocities of the selected joints, (instances, dofs)."""
        return self._read(ArticulationView.get_dof_velocities)

    def set_dof_velocities(self, values: Any, mask: Any = None) -> None:
        """Write velocities of the selected joints."""
        self._write("set_dof_velocities", ArticulationView.get_dof_velocities, values, mask)

    def get_dof_forces(self) -> Array:
        """Generalized forces of the selected joints [N or N m], (instances, dofs)."""
        return self._read(ArticulationView.get_dof_forces)

    def set_dof_forces(self, values: Any, mask: Any = None) -> None:
        """Write generalized forces of the selected joints."""
        self._write("set_dof_forces", ArticulationView.get_dof_forces, values, mask)

    def get_root_transforms(self) -> Array:
        """Pose of every root: position [m] and xyzw, world frame, (instances, 7)."""
        return self._read(ArticulationView.get_root_transforms)

    def set_root_transforms(self, values: Any, mask: Any = None) -> None:
        """Move floating roots."""
        self._write("set_root_transforms", ArticulationView.get_root_transforms, values, mask)

    def get_root_velocities(self) -> Array:
        """Velocity of floating roots as `ArticulationView.get_root_velocities` has it, (instances, 6)."""
        return self._read(ArticulationView.get_root_velocities)

    def set_root_velocities(self, values: Any, mask: Any = None) -> None:
        """Write velocities of floating roots."""
        self._write("set_root_velocities", ArticulationView.get_root_velocities, values, mask)

    def get_link_transforms(self) -> Array:
        """Poses of the selected links: position [m] and xyzw, world frame, (instances, links, 7)."""
        return self._read(ArticulationView.get_link_transforms)

    def get_link_velocities(self) -> Array:
        """Velocities of the selected links as `State.body_qd` has them, (instances, links, 6)."""
        return self._read(ArticulationView.get_link_velocities)

    def get_attribute(self, name: str) -> Array:
        """Any array of the models by name, such as "body_mass"; one row an instance."""

        def read(view: ArticulationView, group: WorldBatch) -> Array:
            made = view.get_attribute(name, group.model)
            return np.repeat(made, group.num_worlds, axis=0)

        return self._read(read)
