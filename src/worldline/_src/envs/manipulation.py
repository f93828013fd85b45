# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A hand that turns a cube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from worldline._src.envs.task import Outcome, Reading, ServoTask
from worldline._src.spatial.poses import Array

_FINGERS = 12
"""Joints of the fingers, before the cube."""


@dataclass(kw_only=True)
class HandTurn(ServoTask):
    """Turn a cube on the palm about the vertical with four fingers.

    Actions are changes of the angles that position servos lead to, as shares of `action_scale`. Observed are
    angles and velocities of the joints, angles of the servos [rad, rad/s], and pose, velocity and angular
    velocity of the cube [m, xyzw, m/s, rad/s]. The reward is the turning rate up to `most_rate`, less the
    distance of the cube from the middle of the palm and a cost of actions. An episode ends when the cube
    leaves the palm.
    """

    scene_file: ClassVar[str] = "hand.xml"
    episode_steps: ClassVar[int] = 500

    action_scale: float = 0.15
    most_rate: float = 3.0
    turning_reward_weight: float = 1.0
    distance_cost_weight: float = 5.0
    ctrl_cost_weight: float = 1e-2
    drop_cost: float = 10.0
    palm_size: float = 0.09
    reset_noise_scale: float = 0.05

    def start(self, world: int, rng: np.random.Generator) -> tuple[Array, Array]:
        q, scale = self.start_q.copy(), self.reset_noise_scale
        q[:_FINGERS] += rng.uniform(-scale, scale, _FINGERS)
        heading = rng.uniform(-np.pi, np.pi)
        q[_FINGERS : _FINGERS + 2] += 0.1 * rng.uniform(-scale, scale, 2)
        q[_FINGERS + 3 :] = 0.0, 0.0, np.sin(0.5 * heading), np.cos(0.5 * heading)
        self.batch.controls[world] = self.ready_controls
        return q, np.zeros_like(self.start_v)

    def read(self, which: np.ndarray) -> Reading:
        part = self.batch.select(which)
        made = {"q": part.joint_positions, "v": part.joint_velocities, "servo": part.controls}
        return made | {"turning": part.rigid_bodies["cube"].angular_velocity}

    def observation(self, reading: Reading) -> Array:
        v = reading["v"]
        parts = [reading["q"][:, :_FINGERS], v[:, :_FINGERS], reading["servo"], reading["q"][:, _FINGERS:]]
        return np.concatenate([*parts, v[:, _FINGERS : _FINGERS + 3], reading["turning"]], axis=1)

    def outcome(self, before: Array, reading: Reading, actions: Array) -> Outcome:
        turn = self.turning_reward_weight * np.clip(reading["turning"][:, 2], -self.most_rate, self.most_rate)
        at = reading["q"][:, _FINGERS : _FINGERS + 3]
        away = np.linalg.norm(at[:, :2], axis=1)
        dropped = (away > self.palm_size) | (at[:, 2] < self.start_q[_FINGERS + 2] - 0.03)
        cost = self.distance_cost_weight * away + self.drop_cost * dropped
        control = self.ctrl_cost_weight * np.square(actions).sum(axis=1)
        info = {"reward_turning": turn, "reward_position": -cost, "reward_ctrl": -control}
        return Outcome(turn - cost - control, dropped, info)
