# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arms that lead a fingertip to a target: Gymnasium's planar reacher, and an arm of six joints in space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from worldline._src.envs.task import Outcome, Reading, ServoTask, Task
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.spatial.poses import Array


@dataclass(kw_only=True)
class Reacher(Task):
    """Lead the fingertip of two links to a target in the plane. See Gymnasium's Reacher-v5."""

    scene_file: ClassVar[str] = "reacher.xml"
    episode_steps: ClassVar[int] = 50
    reward_threshold: ClassVar[float | None] = -3.75
    camera: ClassVar[str | None] = None

    frame_skip: int = 2
    reward_dist_weight: float = 1.0
    reward_control_weight: float = 1.0

    def begin(self, batch: WorldBatch) -> None:
        super().begin(batch)
        self._tip, self._target = (batch.body_names.index(name) for name in ("fingertip", "target"))

    def start(self, world: int, rng: np.random.Generator) -> tuple[Array, Array]:
        q = rng.uniform(-0.1, 0.1, len(self.start_q)) + self.start_q
        goal = rng.uniform(-0.2, 0.2, 2)
        while np.linalg.norm(goal) >= 0.2:
            goal = rng.uniform(-0.2, 0.2, 2)
        q[-2:] = goal
        v = self.start_v + rng.uniform(-0.005, 0.005, len(self.start_v))
        v[-2:] = 0.0
        return q, v

    def place(self) -> Array:
        return np.zeros(0)

    def read(self, which: np.ndarray) -> Reading:
        part = self.batch.select(which)
        poses = part.body_poses
        offset = poses[:, self._tip, :3] - poses[:, self._target, :3]
        return {"q": part.joint_positions, "v": part.joint_velocities, "offset": offset}

    def observation(self, reading: Reading) -> Array:
        q, v = reading["q"], reading["v"]
        angles = q[:, :2]
        parts = [np.cos(angles), np.sin(angles), q[:, 2:], v[:, :2], reading["offset"][:, :2]]
        return np.concatenate(parts, axis=1)

    def outcome(self, before: Array, reading: Reading, actions: Array) -> Outcome:
        distance = -np.linalg.norm(reading["offset"], axis=1) * self.reward_dist_weight
        control = -np.square(actions).sum(axis=1) * self.reward_control_weight
        info = {"reward_dist": distance, "reward_ctrl": control}
        return Outcome(distance + control, np.zeros(len(control), bool), info)


@dataclass(kw_only=True)
class ArmReach(ServoTask):
    """Lead the tool of an arm with six joints to a target in space.

    Actions are changes of the angles that position servos lead to, as shares of `action_scale`. Observed are
    angles, velocities and angles of the servos [rad, rad/s], and tool and target, and the offset between
    them, in the world frame [m]. The reward is the distance that is left, with a bonus near the target and
    a cost of actions. An episode never ends before its time.
    """

    scene_file: ClassVar[str] = "arm.xml"
    episode_steps: ClassVar[int] = 150

    frame_skip: int = 5
    action_scale: float = 0.05
    distance_weight: float = 1.0
    reached_within: float = 0.03
    reached_reward: float = 1.0
    ctrl_cost_weight: float = 1e-3
    reset_noise_scale: float = 0.2

    def begin(self, batch: WorldBatch) -> None:
        super().begin(batch)
        self._tool = batch.body_names.index("tool")
        self.targets = np.zeros((batch.num_worlds, 3))

    def start(self, world: int, rng: np.random.Generator) -> tuple[Array, Array]:
        scale = self.reset_noise_scale
        q = self.start_q + rng.uniform(-scale, scale, len(self.start_q))
        # anywhere in front of the arm that it can reach, above the floor
        distance, angle, height = rng.uniform((0.3, -1.2, 0.15), (0.65, 1.2, 0.7))
        self.targets[world] = distance * np.cos(angle), distance * np.sin(angle), height
        self.batch.controls[world] = q
        return q, np.zeros_like(self.start_v)

    def read(self, which: np.ndarray) -> Reading:
        part = self.batch.select(which)
        made = {"q": part.joint_positions, "v": part.joint_velocities, "servo": part.controls}
        return made | {"tool": part.body_poses[:, self._tool, :3], "target": self.targets[which]}

    def observation(self, reading: Reading) -> Array:
        offset = reading["target"] - reading["tool"]
        parts = [reading[name] for name in ("q", "v", "servo", "tool", "target")]
        return np.concatenate([*parts, offset], axis=1)

    def outcome(self, before: Array, reading: Reading, actions: Array) -> Outcome:
        distance = np.linalg.norm(reading["target"] - reading["tool"], axis=1)
        reached = distance < self.reached_within
        cost = self.ctrl_cost_weight * np.square(actions).sum(axis=1)
        reward = self.reached_reward * reached - self.distance_weight * distance - cost
        info = {"distance": distance, "is_success": reached, "reward_ctrl": -cost}
        return Outcome(reward, np.zeros(len(reward), bool), info)

    def reset_info(self, reading: Reading) -> Mapping[str, Array]:
        return {"distance": np.linalg.norm(reading["target"] - reading["tool"], axis=1)}
