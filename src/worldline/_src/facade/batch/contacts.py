# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of all worlds of a batch as one flat list."""

from __future__ import annotations

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step.present_contacts import ContactRows


class BatchContacts(NamedTuple):
    """Contacts of the present state of worlds, with the forces that act there now; one row each, by world.

    Bodies and shapes are indices into `WorldBatch.body_names` and into the shapes of the model; a body of -1
    is the world itself, such as the ground.
    """

    world: np.ndarray
    """Index of the world, (contacts,)."""
    body_a: np.ndarray
    """First body, (contacts,)."""
    body_b: np.ndarray
    """Second body, (contacts,)."""
    shape_a: np.ndarray
    """Shape of the first body, (contacts,)."""
    shape_b: np.ndarray
    """Shape of the second body, (contacts,)."""
    point: Array
    """Halfway between the two surfaces, world frame [m], (contacts, 3)."""
    normal: Array
    """Unit vector from body_a to body_b, (contacts, 3)."""
    depth: Array
    """Overlap [m], negative for a gap, (contacts,)."""
    force: Array
    """On body_b, world axes [N], (contacts, 3)."""

    @property
    def count(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] # tuples count values
        """Number of contacts in all worlds."""
        return len(self.world)

    def of_world(self, index: int) -> BatchContacts:
        """The contacts of one world."""
        wanted = values.count(index, "index of a world")
        return BatchContacts(*(column[self.world == wanted] for column in self))

    def counts(self, num_worlds: int) -> np.ndarray:
        """Number of contacts of every world, (num_worlds,)."""
        return np.bincount(self.world, minlength=_size(num_worlds, "num_worlds", self.world))

    def net_forces(self, num_worlds: int, num_bodies: int) -> Array:
        """Sum of the contact forces on every body, world axes [N], (num_worlds, num_bodies, 3)."""
        bodies = np.concatenate([self.body_a, self.body_b])
        made = np.zeros(
            (_size(num_worlds, "num_worlds", self.world), _size(num_bodies, "num_bodies", bodies), 3)
        )
        for body, sign in ((self.body_a, -1.0), (self.body_b, 1.0)):
            moving = body >= 0
            np.add.at(made, (self.world[moving], body[moving]), sign * self.force[moving])
        return made

    def pair_forces(self, num_worlds: int, body: int, other: int) -> Array:
        """Sum of the contact forces of body `other` on `body`, world axes [N], (num_worlds, 3).

        Args:
            num_worlds: number of worlds.
            body: index of the body that the forces act on; -1 for the world itself.
            other: index of the body that exerts them; another one.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> _ = world.add_ground_plane()
            >>> ball = world.add_rigid_body("ball", mass=2.0, position=(0, 0, 0.1))
            >>> _ = ball.add_collision_shape(sx.CollisionShape.sphere(0.1))
            >>> batch = sx.WorldBatch(world, 3)
            >>> batch.step(100)
            >>> batch.contacts.pair_forces(3, batch.body_names.index("ball"), -1)[:, 2].round(2).tolist()
            [19.62, 19.62, 19.62]
        """
        one, two = values.count(body, "body"), values.count(other, "other")
        if min(one, two) < -1 or one == two:
            raise ArgumentError(
                f"body and other must be two different indices of bodies from -1 on, got {one} and {two}"
            )
        made = np.zeros((_size(num_worlds, "num_worlds", self.world), 3))
        for a, b, sign in ((two, one, 1.0), (one, two, -1.0)):
            found = (self.body_a == a) & (self.body_b == b)
            np.add.at(made, self.world[found], sign * self.force[found])
        return made


def _size(given: int, what: str, used: np.ndarray) -> int:
    """A number of worlds or bodies that has room for the indices in use."""
    count, least = values.count(given, what), int(used.max(initial=-1)) + 1
    if not least <= count < 1 << 31:
        raise ArgumentError(f"{what} must be at least {least}, got {count}")
    return count


def batch_contacts(rows: ContactRows) -> BatchContacts:
    """The flat list of contacts that were found in worlds."""
    made = BatchContacts(
        rows.world,
        rows.body[:, 0].copy(),
        rows.body[:, 1].copy(),
        rows.shape[:, 0].copy(),
        rows.shape[:, 1].copy(),
        rows.point,
        rows.normal,
        rows.depth,
        rows.force,
    )
    for column in made:
        column.setflags(write=False)
    return made
