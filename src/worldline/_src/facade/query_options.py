# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Options that select the pairs of bodies of a collision query."""

from __future__ import annotations

from worldline._src.errors import ShapeError
from worldline._src.facade.link import Link
from worldline._src.facade.options import Options, Setting, flag
from worldline._src.facade.rigid_body import RigidBody


def _included(name: str) -> Setting[bool, bool]:
    return Setting(flag(f"CollisionQueryOptions {name}"))


class CollisionQueryOptions(Options):
    """Which pairs a query returns; contacts with the world are always returned.

    Args:
        include_same_multibody_link_pairs: two links of one multibody.
        include_rigid_body_pairs: two rigid bodies.
        include_rigid_body_link_pairs: a rigid body and a link.
        include_link_pairs: links of different multibodies.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> world.collide(include=sx.CollisionQueryOptions(include_link_pairs=False))
        []
    """

    include_same_multibody_link_pairs = _included("include_same_multibody_link_pairs")
    include_rigid_body_pairs = _included("include_rigid_body_pairs")
    include_rigid_body_link_pairs = _included("include_rigid_body_link_pairs")
    include_link_pairs = _included("include_link_pairs")

    def __init__(
        self,
        include_same_multibody_link_pairs: bool = True,
        include_rigid_body_pairs: bool = True,
        include_rigid_body_link_pairs: bool = True,
        include_link_pairs: bool = True,
    ) -> None:
        self._take(locals())

    def includes(self, a: RigidBody | Link | None, b: RigidBody | Link | None) -> bool:
        """Whether contacts of these two are returned; None is the world."""
        for body in (a, b):
            if not isinstance(body, (RigidBody, Link, type(None))):
                raise ShapeError(f"a rigid body, a link or None for the world is needed, got {body!r}")
        if a is None or b is None:
            return True
        if isinstance(a, Link) and isinstance(b, Link):
            same = a.multibody is b.multibody
            return self.include_same_multibody_link_pairs if same else self.include_link_pairs
        if isinstance(a, RigidBody) and isinstance(b, RigidBody):
            return self.include_rigid_body_pairs
        return self.include_rigid_body_link_pairs
