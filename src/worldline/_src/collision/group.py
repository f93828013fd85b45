# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Objects to be tested against each other, and which pairs of them are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from worldline._src.collision.filters import CollisionFilter
from worldline._src.collision.shapes import CollisionShape, CollisionShapeType
from worldline._src.errors import ArgumentError, FixedAttributes, OperationError, ShapeError
from worldline._src.scene.texts import unwritable
from worldline._src.spatial.poses import IDENTITY, Array, VectorLike, numbers, read_only, transform

ALL_BITS = 0xFFFF_FFFF


class CollisionObject(FixedAttributes):
    """One rigid object of a group: shapes that move together. Made by `CollisionGroup.add`."""

    def __init__(
        self, group: CollisionGroup, index: int, name: str, shapes: tuple[CollisionShape, ...], **data: object
    ) -> None:
        self._group = group
        self.index = index
        self.name = name
        self.shapes = shapes
        self.is_static: bool = bool(data["static"])
        self.margin: float = float(data["margin"])  # type: ignore[arg-type]
        self.collide_group: int = int(data["collide_group"])  # type: ignore[call-overload]
        self.collide_with: int = int(data["collide_with"])  # type: ignore[call-overload]

    def __repr__(self) -> str:
        return f"CollisionObject({self.name!r}, {', '.join(map(repr, self.shapes))})"

    @property
    def group(self) -> CollisionGroup:
        """The group it belongs to."""
        return self._group

    @property
    def pose(self) -> Array:
        """Position [m] and quaternion xyzw in the world, (7,), read-only; assign to move it."""
        return read_only(self._group._poses[self.index].copy())

    @pose.setter
    def pose(self, value: VectorLike) -> None:
        self._group.set_pose(self.index, value)


class CollisionGroup(FixedAttributes):
    """A persistent set of objects. Made by `CollisionDetector.create_group`.

    Example:
        >>> from worldline.collision import CollisionDetector, CollisionShape
        >>> group = CollisionDetector.create("native").create_group()
        >>> floor = group.add(CollisionShape.plane(), static=True)
        >>> ball = group.add(CollisionShape.sphere(0.5), pose=(0, 0, 0.4, 0, 0, 0, 1))
        >>> len(group), ball.pose[2]
        (2, np.float64(0.4))
    """

    def __init__(self) -> None:
        self._objects: list[CollisionObject] = []
        self._poses = np.zeros((0, 7))
        self._filter = CollisionFilter(self)
        self.version = 0
        """Counts changes of objects and filters; poses do not count."""
        self.pose_version = 0
        """Counts changes of poses."""

    def __repr__(self) -> str:
        return f"CollisionGroup({len(self._objects)} objects)"

    def __copy__(self) -> CollisionGroup:
        raise OperationError("copy.copy of a CollisionGroup would share its objects; use copy.deepcopy")

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[CollisionObject]:
        return iter(self._objects)

    def __getitem__(self, index: int) -> CollisionObject:
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise ShapeError(f"index of an object must be a whole number, got {index!r}")
        if not -len(self._objects) <= index < len(self._objects):
            raise IndexError(f"a group of {len(self._objects)} objects has none of index {index}")
        return self._objects[index]

    @property
    def objects(self) -> list[CollisionObject]:
        """All objects, in the order they were added."""
        return list(self._objects)

    @property
    def filter(self) -> CollisionFilter:
        """Which pairs are left out."""
        return self._filter

    def add(
        self,
        shapes: CollisionShape | Sequence[CollisionShape],
        *,
        pose: VectorLike | None = None,
        name: str = "",
        static: bool = False,
        margin: float = 0.0,
        collide_group: int = 1,
        collide_with: int = ALL_BITS,
    ) -> CollisionObject:
        """Add an object of one shape or several.

        Args:
            shapes: Its shapes; they never touch each other.
            pose: Position [m] and quaternion xyzw, (7,); None is the origin.
            name: A name for messages; made up when empty.
            static: It never touches other static objects. Planes and surfaces always are.
            margin: Contacts are found below the sum of two margins [m].
            collide_group: Bits of the groups it is in.
            collide_with: Bits of the groups it touches; a pair touches when either side says so.
        """
        parts = (shapes,) if isinstance(shapes, CollisionShape) else ()
        if isinstance(shapes, (list, tuple)):
            parts = tuple(shapes)
        if not parts or not all(isinstance(part, CollisionShape) for part in parts):
            raise ArgumentError(f"an object needs one or more CollisionShape, got {shapes!r}")
        if not 0.0 <= float(numbers(margin, (), "margin")) < 1e9:
            raise ArgumentError(f"margin must be a distance of 0 m or more, got {margin}")
        if not isinstance(name, str):
            raise ArgumentError(f"name of an object must be a text, got {name!r}")
        if fault := unwritable(name):
            raise ArgumentError(f"name of an object must not contain {fault}, got {name!r}")
        if not isinstance(static, (bool, np.bool_)):
            raise ArgumentError(f"static must be True or False, got {static!r}")
        for what, bits in (("collide_group", collide_group), ("collide_with", collide_with)):
            if not isinstance(bits, (int, np.integer)) or not 0 <= bits <= ALL_BITS:
                raise ArgumentError(f"{what} must be a bit mask from 0 to {ALL_BITS:#x}, got {bits!r}")
        where = transform(pose, "pose") if pose is not None else IDENTITY.copy()
        index = len(self._objects)
        fixed = {CollisionShapeType.PLANE, CollisionShapeType.MESH, CollisionShapeType.HEIGHT_FIELD}
        made = CollisionObject(
            self,
            index,
            name or f"object_{index:03d}",
            parts,
            static=static or any(part.type in fixed for part in parts),
            margin=margin,
            collide_group=collide_group,
            collide_with=collide_with,
        )
        self._objects.append(made)
        self._poses = np.vstack([self._poses, where])
        self.changed()
        return made

    def changed(self) -> None:
        """Note a change of objects or filters."""
        self.version += 1

    @property
    def poses(self) -> Array:
        """Poses of all objects, (n, 7): a copy that is read-only; assign to move them."""
        return read_only(self._poses.copy())

    @poses.setter
    def poses(self, value: VectorLike) -> None:
        given = numbers(value, (len(self), 7), "poses")
        lengths = np.linalg.norm(given[:, 3:], axis=1)
        if (lengths < 1e-12).any():
            row = int(np.argmin(lengths))
            raise ArgumentError(f"poses[{row}] needs a quaternion (xyzw) that is not zero")
        given[:, 3:] /= lengths[:, None]
        self._poses = given
        self.pose_version += 1

    def set_pose(self, index: int, value: VectorLike) -> None:
        """Move one object."""
        known = isinstance(index, (int, np.integer)) and not isinstance(index, bool)
        if not known or not 0 <= index < len(self):
            raise ArgumentError(f"index must be 0 to {len(self) - 1}, got {index!r}")
        self._poses[index] = transform(value, "pose")
        self.pose_version += 1

    @property
    def pose_table(self) -> Array:
        """The poses themselves, not a copy, for detectors."""
        return self._poses


OtherGroup: TypeAlias = CollisionGroup | None
"""The second group of a query between two; None for a query within one."""
