# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Robots that run in a vertical plane: hopper, walker and half-cheetah, as in Gymnasium's version 5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from worldline._src.envs.task import Outcome, Reading, Task
from worldline._src.spatial.poses import Array


def within(values: Array, bounds: tuple[float, float]) -> np.ndarray:
    """Whether numbers are strictly between two bounds."""
    return (bounds[0] < values) & (values < bounds[1])


@dataclass(kw_only=True)
class _Planar(Task):
    """Coordinates are those along x and z, the pitch, and the angles of the legs."""

    episode_steps: ClassVar[int] = 1000
    velocity_bound: ClassVar[float] = np.inf
    """Velocities are observed up to this."""

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-3
    reset_noise_scale: float = 5e-3
    exclude_current_positions_from_observation: bool = True

    def start(self, world: int, rng: np.random.Generator) -> tuple[Array, Array]:
        scale = self.reset_noise_scale
        q = self.start_q + rng.uniform(-scale, scale, len(self.start_q))
        return q, self.start_v + rng.uniform(-scale, scale, len(self.start_v))

    def place(self) -> Array:
        return self.batch.joint_positions[:, 0].copy()

    def read(self, which: np.ndarray) -> Reading:
        return {"q": self.batch.joint_positions[which], "v": self.batch.joint_velocities[which]}

    def observation(self, reading: Reading) -> Array:
        q = reading["q"][:, int(self.exclude_current_positions_from_observation) :]
        bound = self.velocity_bound
        return np.concatenate([q, np.clip(reading["v"], -bound, bound)], axis=1)

    def _run(self, before: Array, reading: Reading, actions: Array) -> tuple[dict[str, Array], Array, Array]:
        """Positions and velocity, the reward for running, and the cost of the actions."""
        x = reading["q"][:, 0]
        velocity = (x - before) / self.dt
        cost = self.ctrl_cost_weight * np.square(actions).sum(axis=1)
        return {"x_position": x, "x_velocity": velocity}, self.forward_reward_weight * velocity, cost

    def reset_info(self, reading: Reading) -> Mapping[str, Array]:
        return {"x_position": reading["q"][:, 0]}


@dataclass(kw_only=True)
class HalfCheetah(_Planar):
    """Run forward; episodes never end before their time. See Gymnasium's HalfCheetah-v5."""

    scene_file: ClassVar[str] = "half_cheetah.xml"
    reward_threshold: ClassVar[float | None] = 4800.0

    ctrl_cost_weight: float = 0.1
    reset_noise_scale: float = 0.1

    def start(self, world: int, rng: np.random.Generator) -> tuple[Array, Array]:
        scale = self.reset_noise_scale
        q = self.start_q + rng.uniform(-scale, scale, len(self.start_q))
        return q, self.start_v + scale * rng.standard_normal(len(self.start_v))

    def outcome(self, before: Array, reading: Reading, actions: Array) -> Outcome:
        info, forward, cost = self._run(before, reading, actions)
        info |= {"reward_forward": forward, "reward_ctrl": -cost}
        return Outcome(forward - cost, np.zeros(len(cost), bool), info)


@dataclass(kw_only=True)
class _Standing(_Planar):
    """A robot that is healthy while its torso is high and upright."""

    velocity_bound: ClassVar[float] = 10.0

    frame_skip: int = 4
    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float]
    healthy_angle_range: tuple[float, float]

    def _healthy(self, reading: Reading) -> np.ndarray:
        z, angle = reading["q"][:, 1], reading["q"][:, 2]
        return within(z, self.healthy_z_range) & within(angle, self.healthy_angle_range)

    def outcome(self, before: Array, reading: Reading, actions: Array) -> Outcome:
        info, forward, cost = self._run(before, reading, actions)
        healthy = self._healthy(reading)
        survive = self.healthy_reward * healthy
        info |= {"z_distance_from_origin": reading["q"][:, 1] - self.start_q[1]}
        info |= {"reward_forward": forward, "reward_ctrl": -cost, "reward_survive": survive}
        return Outcome(forward + survive - cost, ~healthy & self.terminate_when_unhealthy, info)

    def reset_info(self, reading: Reading) -> Mapping[str, Array]:
        q = reading["q"]
        return {"x_position": q[:, 0], "z_distance_from_origin": q[:, 1] - self.start_q[1]}


@dataclass(kw_only=True)
class Hopper(_Standing):
    """Hop forward on one leg. See Gymnasium's Hopper-v5."""

    scene_file: ClassVar[str] = "hopper.xml"
    reward_threshold: ClassVar[float | None] = 3800.0

    healthy_state_range: tuple[float, float] = (-100.0, 100.0)
    healthy_z_range: tuple[float, float] = (0.7, float("inf"))
    healthy_angle_range: tuple[float, float] = (-0.2, 0.2)

    def _healthy(self, reading: Reading) -> np.ndarray:
        state = np.concatenate([reading["q"][:, 2:], reading["v"]], axis=1)
        return super()._healthy(reading) & within(state, self.healthy_state_range).all(axis=1)


@dataclass(kw_only=True)
class Walker2d(_Standing):
    """Walk forward on two legs. See Gymnasium's Walker2d-v5."""

    scene_file: ClassVar[str] = "walker2d.xml"

    healthy_z_range: tuple[float, float] = (0.8, 2.0)
    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)
