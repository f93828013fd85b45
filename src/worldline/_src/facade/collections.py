# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collections of handles: ordered by construction, looked up by name or index, always current.

A collection is a view of its owner: what is added or removed later shows. Reading a bulk property is one
operation on arrays, and so is writing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from worldline._src.errors import NotFoundError, nearest_name
from worldline._src.facade import values
from worldline._src.facade.values import VectorLike
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.degree_of_freedom import DegreeOfFreedom
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.link import Link
    from worldline._src.facade.multibody import Multibody

T = TypeVar("T")
D = TypeVar("D")


class NamedCollection(Sequence[T], Generic[T]):
    """Handles of one kind of one owner, in construction order.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> world.rigid_bodies.names, world.rigid_bodies["box"] is box, world.rigid_bodies.get("ball")
        (['box'], True, None)
    """

    def __init__(self, what: str, members: Callable[[], dict[str, T]]) -> None:
        self._what = what
        self._members = members

    @property
    def names(self) -> list[str]:
        """All names, in construction order."""
        return list(self._members())

    def __len__(self) -> int:
        return len(self._members())

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._members().values()))

    def __contains__(self, item: object) -> bool:
        members = self._members()
        return item in members if isinstance(item, str) else any(item is m for m in members.values())

    @overload
    def __getitem__(self, key: str | int) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> list[T]: ...
    def __getitem__(self, key: Any) -> Any:
        members = self._members()
        if isinstance(key, str):
            found = members.get(key)
            if found is None:
                raise NotFoundError(f"no {self._what} '{key}'{nearest_name(key, members)}")
            return found
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            rows = list(members.values())
            if not -len(rows) <= key < len(rows):
                raise IndexError(f"{self._what} {key} is out of range: there are {len(rows)}")
            return rows[key]
        if isinstance(key, slice):
            return list(members.values())[key]
        raise values.ShapeError(f"a {self._what} is looked up by name or index, got {key!r}")

    @overload
    def get(self, name: str) -> T | None: ...
    @overload
    def get(self, name: str, default: D) -> T | D: ...
    def get(self, name: str, default: Any = None) -> Any:
        """The handle of that name, or `default`."""
        return self._members().get(name, default)

    def __repr__(self) -> str:
        return f"<{len(self)} x {self._what}: {', '.join(self.names)}>"


class LinkCollection(NamedCollection["Link"]):
    """The links of a multibody."""

    def __init__(self, owner: Multibody, members: Callable[[], dict[str, Link]]) -> None:
        super().__init__("link", members)
        self._owner = owner

    @property
    def transforms(self) -> Array:
        """Poses in the world frame, (len, 4, 4)."""
        runtime = self._owner._live()
        return _matrices(runtime.sim.fresh_poses()[self._owner._body_rows(runtime)])

    @property
    def translations(self) -> Array:
        """Positions of the origins in the world frame [m], (len, 3)."""
        runtime = self._owner._live()
        return runtime.sim.fresh_poses()[self._owner._body_rows(runtime), :3]

    @property
    def masses(self) -> Array:
        """[kg], (len,)."""
        runtime = self._owner._live()
        return runtime.model.body_mass[self._owner._body_rows(runtime)]


def _matrices(poses: Array) -> Array:
    """Many poses as 4x4 transforms."""
    x, y, z, w = poses[:, 3], poses[:, 4], poses[:, 5], poses[:, 6]
    made = np.zeros((len(poses), 4, 4))
    made[:, 0, 0], made[:, 0, 1], made[:, 0, 2] = (
        1 - 2 * (y * y + z * z),
        2 * (x * y - w * z),
        2 * (x * z + w * y),
    )
    made[:, 1, 0], made[:, 1, 1], made[:, 1, 2] = (
        2 * (x * y + w * z),
        1 - 2 * (x * x + z * z),
        2 * (y * z - w * x),
    )
    made[:, 2, 0], made[:, 2, 1], made[:, 2, 2] = (
        2 * (x * z - w * y),
        2 * (y * z + w * x),
        1 - 2 * (x * x + y * y),
    )
    made[:, :3, 3] = poses[:, :3]
    made[:, 3, 3] = 1.0
    return made


class JointCollection(NamedCollection["Joint"]):
    """The joints of a multibody; vectors hold all degrees of freedom, joint after joint."""

    def __init__(self, owner: Multibody, members: Callable[[], dict[str, Joint]]) -> None:
        super().__init__("joint", members)
        self._owner = owner

    @property
    def position(self) -> Array:
        """[m or rad], (num_dofs,); rotation vectors for SPHERICAL and FLOATING joints."""
        return self._owner._positions("q")

    @position.setter
    def position(self, value: VectorLike) -> None:
        self._owner._set_positions("q", value, "position")

    @property
    def target_position(self) -> Array:
        """Where position drives lead [m or rad], (num_dofs,)."""
        return self._owner._positions("q_target")

    @target_position.setter
    def target_position(self, value: VectorLike) -> None:
        self._owner._set_positions("q_target", value, "target position")

    @property
    def velocity(self) -> Array:
        """[m/s or rad/s], (num_dofs,)."""
        return self._owner._dof_vector("v")

    @velocity.setter
    def velocity(self, value: VectorLike) -> None:
        self._owner._set_dof_vector("v", value, "velocity")

    @property
    def acceleration(self) -> Array:
        """Of the last step [m/s^2 or rad/s^2], (num_dofs,)."""
        return self._owner._dof_vector("a")

    @property
    def constraint_force(self) -> Array:
        """What constraints did in the last step, see `Joint.constraint_force` [N or N m], (num_dofs,)."""
        runtime = self._owner._live()
        return np.array(runtime.constraint_forces()[self._owner._layout(runtime).v])

    @property
    def force(self) -> Array:
        """Commanded efforts [N or N m], (num_dofs,)."""
        return self._owner._dof_vector("force")

    @force.setter
    def force(self, value: VectorLike) -> None:
        self._owner._set_dof_vector("force", value, "force")

    @property
    def target_velocity(self) -> Array:
        """Speeds that drives lead to [m/s or rad/s], (num_dofs,)."""
        return self._owner._dof_vector("v_target")

    @target_velocity.setter
    def target_velocity(self, value: VectorLike) -> None:
        self._owner._set_dof_vector("v_target", value, "target velocity")

    command_velocity = target_velocity

    @property
    def command_acceleration(self) -> Array:
        """Accelerations to realise [m/s^2 or rad/s^2], (num_dofs,)."""
        return self._owner._dof_vector("a_target")

    @command_acceleration.setter
    def command_acceleration(self, value: VectorLike) -> None:
        self._owner._set_dof_vector("a_target", value, "command acceleration")

    @property
    def position_lower_limits(self) -> Array:
        """[m or rad], (num_dofs,)."""
        return self._owner._dof_parameter("joint_limit_lower")

    @property
    def position_upper_limits(self) -> Array:
        """[m or rad], (num_dofs,)."""
        return self._owner._dof_parameter("joint_limit_upper")


class DofCollection(NamedCollection["DegreeOfFreedom"]):
    """The degrees of freedom of a multibody, in the order of its vectors and matrices."""

    def __init__(self, members: Callable[[], dict[str, DegreeOfFreedom]]) -> None:
        super().__init__("degree of freedom", members)
