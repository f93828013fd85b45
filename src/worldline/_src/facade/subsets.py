# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Subsets of a multibody: chains, branches, linkages and groups of links and joints.

A group owns and copies nothing. It keeps handles, and its vectors and matrices are the rows and columns
of the multibody's that belong to its degrees of freedom, in the order of the multibody.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.bulk import JointParameters, PerFreedom
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world_kind import require_multibody
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.degree_of_freedom import DegreeOfFreedom
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.link import Link
    from worldline._src.facade.multibody import Multibody


class Group(JointParameters, KnownNames):
    """Links and joints of one multibody seen together.

    Args:
        multibody: whose they are.
        links: its links.
        joints: its joints; their degrees of freedom are those of the group.

    Example:
        >>> from worldline import simulation as sx
        >>> arm = sx.World().add_multibody("arm")
        >>> base = arm.add_link("base")
        >>> upper = arm.add_link("upper", parent=base, joint=sx.JointSpec(name="shoulder"))
        >>> hand = arm.add_link("hand", parent=upper, joint=sx.JointSpec(name="wrist"))
        >>> part = arm.chain(upper, hand)
        >>> part.position = [0.3]
        >>> [joint.name for joint in part.joints], arm.joints.position.tolist()
        (['wrist'], [0.0, 0.3])
    """

    def __init__(self, multibody: Multibody, links: Iterable[Link], joints: Iterable[Joint]) -> None:
        require_multibody(multibody, type(self).__name__)
        multibody._require_alive()
        self._multibody = multibody
        self._links = _members(links, multibody._links.values(), "link", multibody.name)
        self._joints = _members(joints, multibody._joints.values(), "joint", multibody.name)

    @property
    def multibody(self) -> Multibody:
        """The multibody it is part of."""
        return self._multibody

    @property
    def is_valid(self) -> bool:
        """False once any of its links or joints was removed."""
        return all(part.is_valid for part in (*self._links, *self._joints))

    @property
    def links(self) -> list[Link]:
        """Its links, in the order of the multibody."""
        return list(self._links)

    @property
    def joints(self) -> list[Joint]:
        """Its joints, in the order of the multibody."""
        return list(self._joints)

    @property
    def dofs(self) -> list[DegreeOfFreedom]:
        """Its degrees of freedom, in the order of its vectors."""
        return [dof for joint in self._joints for dof in joint.dofs]

    @property
    def num_links(self) -> int:
        """Number of links."""
        return len(self._links)

    @property
    def num_dofs(self) -> int:
        """Number of degrees of freedom."""
        return sum(joint.num_dofs for joint in self._joints)

    @property
    def dof_indices(self) -> np.ndarray:
        """Where its degrees of freedom are in vectors of the multibody, (num_dofs,)."""
        rows: list[int] = []
        start = 0
        mine = {id(joint) for joint in self._joints}
        for joint in self._multibody._joints.values():
            if id(joint) in mine:
                rows += range(start, start + joint.num_dofs)
            start += joint.num_dofs
        return np.array(rows, np.int64)

    # ---- vectors

    def _bulk_joints(self) -> list[Joint]:
        return self._joints

    position = PerFreedom("position", "[m or rad]; rotation vectors for SPHERICAL and FLOATING joints")
    velocity = PerFreedom("velocity", "[m/s or rad/s]")
    acceleration = PerFreedom("acceleration", "Of the last step [m/s^2 or rad/s^2]", settable=False)
    constraint_force = PerFreedom("constraint_force", "See `Joint.constraint_force` [N, N m]", settable=False)
    force = PerFreedom("force", "Commanded efforts [N or N m]")
    command_velocity = PerFreedom("command_velocity", "Speeds that VELOCITY and SERVO follow [m/s or rad/s]")
    command_acceleration = PerFreedom("command_acceleration", "Accelerations to realise [m/s^2 or rad/s^2]")
    target_position = PerFreedom("target_position", "Where position drives lead [m or rad]")
    target_velocity = PerFreedom("target_velocity", "Speeds that drives lead to [m/s or rad/s]")
    position_lower_limits = PerFreedom("position_lower_limits", "[m or rad]", settable=False)
    position_upper_limits = PerFreedom("position_upper_limits", "[m or rad]", settable=False)

    # ---- terms of the multibody

    @property
    def mass(self) -> float:
        """Of its links [kg]."""
        return float(sum(link.mass for link in self._links))

    @property
    def center_of_mass(self) -> Array:
        """Of its links, world frame [m], (3,)."""
        if not self.mass > 0.0:
            raise ArgumentError(f"a group of '{self._multibody.name}' without mass has no centre of mass")
        moment = sum(link.mass * (link.transform @ [*link.center_of_mass, 1.0])[:3] for link in self._links)
        return np.asarray(moment) / self.mass

    @property
    def mass_matrix(self) -> Array:
        """Its rows and columns of the mass matrix of the multibody, (num_dofs, num_dofs)."""
        rows = self.dof_indices
        return self._multibody.mass_matrix[np.ix_(rows, rows)]

    @property
    def coriolis_and_gravity_forces(self) -> Array:
        """Its entries of those of the multibody [N or N m], (num_dofs,)."""
        return self._multibody.coriolis_and_gravity_forces[self.dof_indices]

    def get_world_jacobian(self, link: Link, point: VectorLike = (0.0, 0.0, 0.0)) -> Array:
        """Its columns of the Jacobian of a point of any link of the multibody, (6, num_dofs)."""
        return self._multibody.get_world_jacobian(link, point)[:, self.dof_indices]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}('{self._multibody.name}', {self.num_links} links, {self.num_dofs} dofs)"
        )


class Chain(Group):
    """The links from one down to another that hangs on it, and the joints between them.

    Args:
        multibody: whose they are.
        start: the first link.
        target: the last link.
        include_parent_joint: whether the joints that move the first link belong to it.
    """

    def __init__(
        self, multibody: Multibody, start: Link, target: Link, *, include_parent_joint: bool = False
    ) -> None:
        require_multibody(multibody, type(self).__name__)
        path = _to_root(multibody, multibody._own(target))
        if multibody._own(start) not in path:
            raise ArgumentError(f"link '{target.name}' does not hang on link '{start.name}'")
        links = path[: path.index(start) + 1]
        super().__init__(
            multibody,
            links,
            _between(links, start, values.flag(include_parent_joint, "include_parent_joint")),
        )


class Branch(Group):
    """A link and all that hangs on it, and the joints between them; see `Chain` for the arguments."""

    def __init__(self, multibody: Multibody, start: Link, *, include_parent_joint: bool = False) -> None:
        require_multibody(multibody, type(self).__name__)
        links = _below(multibody, multibody._own(start))
        super().__init__(
            multibody,
            links,
            _between(links, start, values.flag(include_parent_joint, "include_parent_joint")),
        )


class Linkage(Group):
    """All links on the ways from one to others, up and down the tree, and the joints between them.

    Args:
        multibody: whose they are.
        start: where the ways begin.
        targets: where they end.
    """

    def __init__(self, multibody: Multibody, start: Link, targets: Iterable[Link]) -> None:
        require_multibody(multibody, type(self).__name__)
        up = _to_root(multibody, multibody._own(start))
        links: list[Link] = []
        for target in values.several(targets, "targets of a linkage"):
            down = _to_root(multibody, multibody._own(target))
            common = next((link for link in up if link in down), None)
            if common is None:
                raise ArgumentError(f"there is no path from link '{start.name}' to link '{target.name}'")
            links += [*up[: up.index(common) + 1], *down[: down.index(common)]]
        inside = {id(link) for link in links}
        joints = [joint for link in links if id(link._parent) in inside for joint in link.parent_joints]
        super().__init__(multibody, links, joints)


def _members(given: Iterable[Any], known: Iterable[Any], what: str, owner: str) -> list[Any]:
    """Handles without repetition, in the order of the multibody."""
    wanted = values.several(given, f"{what}s")
    order = {id(handle): k for k, handle in enumerate(known)}
    for handle in wanted:
        if id(handle) not in order:
            name = getattr(handle, "name", handle)
            raise ArgumentError(f"{what} {name!r} does not belong to multibody '{owner}'")
    return sorted({id(handle): handle for handle in wanted}.values(), key=lambda handle: order[id(handle)])


def _to_root(multibody: Multibody, link: Link) -> list[Link]:
    """A link and all it hangs on, itself first."""
    path = [link]
    while path[-1]._parent is not None:
        path.append(path[-1]._parent)
    return path


def _below(multibody: Multibody, start: Link) -> list[Link]:
    """A link and all that hangs on it; parents are made before their children."""
    inside = {id(start)}
    found = [start]
    for link in multibody._links.values():
        if id(link._parent) in inside:
            inside.add(id(link))
            found.append(link)
    return found


def _between(links: list[Link], start: Link, with_first: bool) -> list[Joint]:
    """Joints that move the links, those of the first only if wanted."""
    return [joint for link in links if with_first or link is not start for joint in link.parent_joints]
