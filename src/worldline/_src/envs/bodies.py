# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Quantities of the bodies of a robot about its centre of mass, world axes, of many worlds at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldline._src.facade.batch.contacts import BatchContacts
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.spatial.poses import Array, rotations


class Bodies:
    """Bodies of one robot by name: masses, and where they are in the arrays of a batch."""

    def __init__(self, batch: WorldBatch, names: Sequence[str]) -> None:
        labels = batch.body_names
        self.index = np.array([labels.index(name) for name in names])
        # the last row is that of body -1, the world
        self._row = np.full(len(labels) + 1, -1)
        self._row[self.index] = np.arange(len(names))
        model = batch.model
        self.mass = model.body_mass[self.index]
        self._com, self._inertia = model.body_com[self.index], model.body_inertia[self.index]

    def centers(self, poses: Array) -> Array:
        """Centres of mass of the bodies, world frame [m], (worlds, bodies, 3)."""
        own = poses[:, self.index]
        turned = np.einsum("wbij,bj->wbi", _rotations(own), self._com)
        return own[..., :3] + turned

    def center(self, poses: Array) -> Array:
        """Centre of mass of the robot, world frame [m], (worlds, 3)."""
        return np.einsum("b,wbi->wi", self.mass, self.centers(poses)) / self.mass.sum()

    def inertias(self, poses: Array, center: Array) -> Array:
        """Inertias about the centre of mass of the robot, (worlds, bodies, 10).

        Ixx, Iyy, Izz, Ixy, Ixz, Iyz [kg m^2], mass times offset [kg m], mass [kg].
        """
        R = _rotations(poses[:, self.index])
        d = self.centers(poses) - center[:, None]
        # I_W = R I R^T + m (|d|^2 1 - d d^T)
        about = np.einsum("wbij,bjk,wblk->wbil", R, self._inertia, R)
        square = np.einsum("wbi,wbi->wb", d, d)
        moved = square[..., None, None] * np.eye(3) - d[..., :, None] * d[..., None, :]
        I = about + self.mass[:, None, None] * moved
        rows, columns = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
        mass = np.broadcast_to(self.mass, d.shape[:2])[..., None]
        return np.concatenate([I[..., rows, columns], self.mass[:, None] * d, mass], axis=-1)

    def velocities(self, poses: Array, angular: Array, linear: Array, center: Array) -> Array:
        """Angular velocity, and velocity at the centre of mass of the robot, (worlds, bodies, 6)."""
        omega, offset = angular[:, self.index], center[:, None] - poses[:, self.index, :3]
        return np.concatenate([omega, linear[:, self.index] + np.cross(omega, offset)], axis=-1)

    def contact_wrenches(self, contacts: BatchContacts, center: Array) -> Array:
        """Torque about the centre of mass of the robot and force of contacts, (worlds, bodies, 6)."""
        made = np.zeros((len(center), len(self.index), 6))
        torque = np.cross(contacts.point - center[contacts.world], contacts.force)
        wrench = np.concatenate([torque, contacts.force], axis=1)
        for body, sign in ((contacts.body_a, -1.0), (contacts.body_b, 1.0)):
            rows = self._row[body]
            own = rows >= 0
            np.add.at(made, (contacts.world[own], rows[own]), sign * wrench[own])
        return made


def _rotations(poses: Array) -> Array:
    """Rotation matrices of poses (..., 7)."""
    return rotations(poses.reshape(-1, 7)).reshape(*poses.shape[:-1], 3, 3)
