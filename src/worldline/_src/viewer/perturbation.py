# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Perturbation of a body by the mouse: a damped spring from a point of the body to the cursor.

The spring acts through forces that last one step, so nothing of it stays in the World. Stiffness and damping
are scaled by the mass that is felt at the point (the inverse of J M^-1 J^T), which makes a finger as easy to
drag as a truck and keeps the explicit spring stable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.spatial.poses import Array, rotation
from worldline._src.step import dynamics, jacobians

if TYPE_CHECKING:
    from worldline._src.facade.world import World

STRENGTH = 60.0
"""Stiffness over the mass that is felt [1/s^2]."""


@dataclass
class Grip:
    """A body that is pulled.

    Attributes:
        body: index of the body.
        point: where it is pulled, in the frame of the body [m].
        target: where the hand is, in the world [m].
        mass: what is felt there at the start [kg].
    """

    body: int
    point: Array
    target: Array
    mass: float


class Perturbation:
    """The spring between a hand and a World."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.strength = STRENGTH
        """Stiffness over the mass that is felt [1/s^2]."""
        self.grip: Grip | None = None
        """What is pulled now."""

    def grab(self, body: int, point: Array, target: Array) -> None:
        """Take hold of a body at a point, both in the world [m]."""
        runtime = self._world._live()
        pose = runtime.sim.fresh_poses()[body].copy()
        local = (np.asarray(point, np.float64) - pose[:3]) @ rotation(pose)
        self.grip = Grip(body, local, np.array(target, np.float64), self._felt(body, local))

    def move(self, target: Array) -> None:
        """Move the hand to a point in the world [m]."""
        if self.grip is not None:
            self.grip.target = np.array(target, np.float64)

    def release(self) -> None:
        """Let go."""
        self.grip = None

    def line(self) -> Array | None:
        """From the pulled point to the pointer, world [m], (2, 3); None when nothing is pulled."""
        if self.grip is None:
            return None
        pose = self._world._live().sim.fresh_poses()[self.grip.body]
        return np.stack([pose[:3] + rotation(pose) @ self.grip.point, self.grip.target])

    def force(self) -> Array:
        """Force at the point [N], world, (3,); zero when nothing is pulled."""
        grip = self.grip
        if grip is None:
            return np.zeros(3)
        sim = self._world._live().sim
        pose, motion = sim.fresh_poses()[grip.body], sim.fresh_velocities()[grip.body]
        model = self._world._live().model
        R = rotation(pose)
        velocity = motion[:3] + np.cross(motion[3:], R @ (grip.point - model.body_com[grip.body]))
        stretch = grip.target - (pose[:3] + R @ grip.point)
        # critically damped
        return grip.mass * (self.strength * stretch - 2.0 * np.sqrt(self.strength) * velocity)

    def apply(self) -> None:
        """Let the spring pull in the next step."""
        if self.grip is None:
            return
        runtime = self._world._live()
        grip, force = self.grip, self.force()
        arm = rotation(runtime.sim.fresh_poses()[grip.body]) @ (
            grip.point - runtime.model.body_com[grip.body]
        )
        runtime.apply_one_shot(grip.body, np.concatenate([np.cross(arm, force), force]))

    def _felt(self, body: int, point: Array) -> float:
        """Mass that a force at a point has to move, the mean of directions [kg]; 0 for what stands still."""
        model, q = self._world._live().model, self._world._live().sim.q.copy()
        J = jacobians.jacobian(model, q, body, point)[3:]
        if not J.any() or model.body_kinematic[body]:
            return 0.0
        response = np.trace(J @ np.linalg.solve(dynamics.mass_matrix(model, q), J.T))
        return float(3.0 / response) if response > 0.0 else 0.0
