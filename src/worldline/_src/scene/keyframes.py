# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Saved states of a scene."""

from __future__ import annotations

import numpy as np

from worldline._src.scene.arrays import Table
from worldline._src.scene.base import Struct, field, optional
from worldline._src.scene.kinds import REAL
from worldline._src.scene.texts import Name
from worldline._src.scene.vectors import Array, Vector

_ANY = Vector()


class Keyframe(Struct):
    """A saved state; an empty array leaves that part at its start.

    Coordinates come in the order of `worldline._src.scene.layout`: first the free bases (place,
    then xyzw), then the joints, both in the order of the scene. Velocities likewise.
    """

    ctrl: Array = field(default=(), converter=_ANY, doc="Control signals, (actuators,).")
    dof_pos: Array = field(default=(), converter=_ANY, doc="Coordinates, m, rad and xyzw.")
    dof_vel: Array = field(default=(), converter=_ANY, doc="Velocities, m/s and rad/s.")
    name: str | None = optional(Name("keyframe"), "Name.")
    time: float | None = optional(REAL, "Time, s.")
    act: Array = field(default=(), converter=_ANY, doc="Activations of actuators with dynamics.")
    mocap_pos: Array = field(
        default_factory=lambda: np.empty((0, 3)),
        converter=Table(3),
        doc="Places of the mocap bodies, m, (bodies, 3).",
    )
    mocap_quat: Array = field(
        default_factory=lambda: np.empty((0, 4)),
        converter=Table(4),
        doc="Rotations of the mocap bodies, xyzw, (bodies, 4).",
    )
    dof_force: Array = field(default=(), converter=_ANY, doc="Persistent joint efforts, N and N m.")
    dof_command: Array = field(default=(), converter=_ANY, doc="Commanded speeds, m/s and rad/s.")
    dof_acceleration: Array = field(
        default=(), converter=_ANY, doc="Commanded accelerations, m/s^2 and rad/s^2."
    )
    dof_target: Array = field(
        default=(), converter=_ANY, doc="Coordinates that position drives lead to, m, rad and xyzw."
    )
    link_force: Array = field(
        default_factory=lambda: np.empty((0, 6)),
        converter=Table(6),
        doc="Persistent torque, N m, and force at the centre of mass, N, of every link, world, (links, 6).",
    )
