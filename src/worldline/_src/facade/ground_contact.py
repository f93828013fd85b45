# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Points of a multibody on a ground plane, in the variational family: what `Multibody` offers of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade import values
from worldline._src.scene.base import clone
from worldline._src.scene.closures import GroundContact, GroundPoint

if TYPE_CHECKING:
    from worldline._src.facade.link import Link
    from worldline._src.facade.multibody import Multibody


def checked_ground(
    normal: values.VectorLike,
    point: values.VectorLike,
    stiffness: float,
    friction: float,
    regularization: float,
    damping: float,
    cadence: int,
) -> GroundContact:
    """A plane and a force law; every number is checked before anything changes."""
    who = "ground contact"
    direction = values.vector3(normal, f"{who} plane_normal")
    size = float(np.linalg.norm(direction))
    if not size > 0.0:
        raise ArgumentError(f"{who} plane_normal must have a direction, got {direction.tolist()}")
    steps = values.count(cadence, f"{who} dual_update_cadence")
    if steps < 0:
        raise ArgumentError(f"{who} dual_update_cadence must be a count of steps, got {steps}")
    return GroundContact(
        plane_normal=direction / size,
        plane_point=values.vector3(point, f"{who} plane_point"),
        stiffness=values.non_negative(stiffness, f"{who} stiffness"),
        friction_coefficient=values.non_negative(friction, f"{who} friction_coefficient"),
        friction_regularization=values.positive(regularization, f"{who} friction_regularization"),
        damping_coefficient=values.non_negative(damping, f"{who} damping_coefficient"),
        dual_update_cadence=steps,
    )


def set_ground(owner: Multibody, contact: GroundContact) -> None:
    """See `Multibody.set_ground_contact`."""
    owner._require_alive()
    owner._world._require_idle()
    _drop_points(owner)
    owner._ground = contact
    owner._world._topology_changed()


def _drop_points(owner: Multibody) -> None:
    """Take the points of a multibody out of the description."""
    rows, mine = owner._world._scene.ground_points, {link._link.name for link in owner._links.values()}
    rows[:] = [row for row in rows if row.link not in mine]


def add_point(owner: Multibody, link: Link, local_point: values.VectorLike) -> None:
    """See `Multibody.add_ground_contact_point`."""
    owner._require_alive()
    owner._own(link)
    place = values.vector3(local_point, f"ground contact point of link '{link.name}'")
    if owner._ground is None:
        raise OperationError(
            f"multibody '{owner.name}' has no ground plane for link '{link.name}': set_ground_contact first"
        )
    owner._world._require_idle()
    made = GroundPoint(link=str(link._link.name), position=place, contact=clone(owner._ground))
    owner._world._scene.ground_points.append(made)
    owner._world._topology_changed()
