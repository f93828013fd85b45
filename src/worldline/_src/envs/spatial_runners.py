# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Robots that run in space: ant and humanoid, as in Gymnasium's version 5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from worldline._src.envs.bodies import Bodies
from worldline._src.envs.planar import within
from worldline._src.envs.task import Outcome, Reading, Task
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.spatial.poses import Array

_WXYZ = (0, 1, 2, 6, 3, 4, 5)
"""Columns of a pose with the quaternion wxyz, from one with xyzw; Gymnasium observes and perturbs wxyz."""
_XYZW = (0, 1, 2, 4, 5, 6, 3)


def _scalar_first(q: Array) -> Array:
    """Coordinates with the quaternion of the free joint as wxyz."""
    made = q.copy()
    made[..., :7] = q[..., _WXYZ]
    return made


@dataclass(kw_only=True)
class _Spatial(Task):
    """The first joint is free; coordinates of the legs and arms follow."""

    episode_steps: ClassVar[int] = 1000

    forward_reward_weight: float
    ctrl_cost_weight: float
    contact_cost_weight: float
    healthy_reward: float
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float]
    reset_noise_scale: float
    exclude_current_positions_from_observation: bool = True
    include_cfrc_ext_in_observation: bool = True

    def begin(self, batch: WorldBatch) -> None:
        super().begin(batch)
        # links that joints with several axes are split into have no mass and no name of their own
        self.bodies = Bodies(batch, [name for name in batch.body_names if "/" not in name])

    def start(self, world: int, rng: np.random.Generator) -> tuple[Array, Array]:
        scale = self.reset_noise_scale
        drawn = _scalar_first(self.start_q) + rng.uniform(-scale, scale, len(self.start_q))
        drawn[3:7] /= np.linalg.norm(drawn[3:7])
        q = drawn.copy()
        q[:7] = drawn[list(_XYZW)]
        return q, self.start_v + self._velocity_noise(rng)

    def _velocity_noise(self, rng: np.random.Generator) -> Array:
        return self.reset_noise_scale * rng.standard_normal(len(self.start_v))

    def _positions(self, reading: Reading) -> Reading:
        q = reading["q"]
        distance = np.hypot(q[:, 0], q[:, 1])
        return {"x_position": q[:, 0], "y_position": q[:, 1], "distance_from_origin": distance}

    def _state(self, reading: Reading) -> list[Array]:
        """Coordinates and velocities as they are observed."""
        first = 2 * self.exclude_current_positions_from_observation
        return [_scalar_first(reading["q"])[:, first:], reading["v"]]

    def reset_info(self, reading: Reading) -> Mapping[str, Array]:
        return self._positions(reading)


@dataclass(kw_only=True)
class Ant(_Spatial):
    """Run forward on four legs. See Gymnasium's Ant-v5."""

    scene_file: ClassVar[str] = "ant.xml"
    reward_threshold: ClassVar[float | None] = 6000.0

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 0.5
    contact_cost_weight: float = 5e-4
    healthy_reward: float = 1.0
    healthy_z_range: tuple[float, float] = (0.2, 1.0)
    contact_force_range: tuple[float, float] = (-1.0, 1.0)
    reset_noise_scale: float = 0.1

    def place(self) -> Array:
        return self.batch.joint_positions[:, :2].copy()

    def read(self, which: np.ndarray) -> Reading:
        part = self.batch.select(which)
        center = self.bodies.center(part.body_poses)
        forces = np.clip(self.bodies.contact_wrenches(part.contacts, center), *self.contact_force_range)
        return {"q": part.joint_positions, "v": part.joint_velocities, "forces": forces}

    def observation(self, reading: Reading) -> Array:
        parts = self._state(reading)
        if self.include_cfrc_ext_in_observation:
            parts.append(reading["forces"].reshape(len(parts[0]), -1))
        return np.concatenate(parts, axis=1)

    def outcome(self, before: Array, reading: Reading, actions: Array) -> Outcome:
        q = reading["q"]
        velocity = (q[:, :2] - before) / self.dt
        z, (low, high) = q[:, 2], self.healthy_z_range
        healthy = (low <= z) & (z <= high)
        forward, survive = velocity[:, 0] * self.forward_reward_weight, self.healthy_reward * healthy
        action_cost = self.ctrl_cost_weight * np.square(actions).sum(axis=1)
        contact_cost = self.contact_cost_weight * np.square(reading["forces"]).sum(axis=(1, 2))
        info: dict[str, Any] = self._positions(reading) | {
            "x_velocity": velocity[:, 0],
            "y_velocity": velocity[:, 1],
        }
        info |= {"reward_forward": forward, "reward_ctrl": -action_cost}
        info |= {"reward_contact": -contact_cost, "reward_survive": survive}
        reward = forward + survive - (action_cost + contact_cost)
        return Outcome(reward, ~healthy & self.terminate_when_unhealthy, info)


@dataclass(kw_only=True)
class Humanoid(_Spatial):
    """Walk forward on two legs, in space. See Gymnasium's Humanoid-v5."""

    scene_file: ClassVar[str] = "humanoid.xml"

    forward_reward_weight: float = 1.25
    ctrl_cost_weight: float = 0.1
    contact_cost_weight: float = 5e-7
    contact_cost_range: tuple[float, float] = (-np.inf, 10.0)
    healthy_reward: float = 5.0
    healthy_z_range: tuple[float, float] = (1.0, 2.0)
    reset_noise_scale: float = 1e-2
    include_cinert_in_observation: bool = True
    include_cvel_in_observation: bool = True
    include_qfrc_actuator_in_observation: bool = True

    def begin(self, batch: WorldBatch) -> None:
        super().begin(batch)
        actuators, model = batch.model.actuators, batch.model
        assert actuators is not None
        low, high = self.action_bounds
        self._range = low, high
        dofs = {name: int(model.joint_qd_start[k]) for k, name in enumerate(model.joint_label)}
        # every motor turns the joint of its name
        self._dof = np.array([dofs[name] for name in batch.actuator_names]) - 6
        self._gear = actuators.gear[:, 0]
        coordinates = {name: int(model.joint_q_start[k]) for k, name in enumerate(model.joint_label)}
        self._tendons = [(coordinates[f"{s}_hip_y"], coordinates[f"{s}_knee"]) for s in ("left", "right")]

    def _velocity_noise(self, rng: np.random.Generator) -> Array:
        scale = self.reset_noise_scale
        return rng.uniform(-scale, scale, len(self.start_v))

    def place(self) -> Array:
        return self.bodies.center(self.batch.body_poses)[:, :2]

    def read(self, which: np.ndarray) -> Reading:
        part = self.batch.select(which)
        poses, bodies = part.body_poses, self.bodies
        center = bodies.center(poses)
        made = {"q": part.joint_positions, "v": part.joint_velocities, "center": center[:, :2]}
        made["forces"] = bodies.contact_wrenches(part.contacts, center)
        if self.include_cinert_in_observation:
            made["cinert"] = bodies.inertias(poses, center)
        if self.include_cvel_in_observation:
            angular, linear = part.body_angular_velocities, part.body_linear_velocities
            made["cvel"] = bodies.velocities(poses, angular, linear, center)
        if self.include_qfrc_actuator_in_observation:
            made["effort"] = np.zeros((len(which), len(self.start_v) - 6))
            made["effort"][:, self._dof] = self._gear * np.clip(part.controls, *self._range)
        return made

    def observation(self, reading: Reading) -> Array:
        parts = self._state(reading)
        parts += [reading[name] for name in ("cinert", "cvel", "effort") if name in reading]
        if self.include_cfrc_ext_in_observation:
            parts.append(reading["forces"])
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)

    def outcome(self, before: Array, reading: Reading, actions: Array) -> Outcome:
        velocity = (reading["center"] - before) / self.dt
        healthy = within(reading["q"][:, 2], self.healthy_z_range)
        forward, survive = self.forward_reward_weight * velocity[:, 0], self.healthy_reward * healthy
        action_cost = self.ctrl_cost_weight * np.square(actions).sum(axis=1)
        contact_cost = self.contact_cost_weight * np.square(reading["forces"]).sum(axis=(1, 2))
        contact_cost = np.clip(contact_cost, *self.contact_cost_range)
        info = {**self.reset_info(reading), "x_velocity": velocity[:, 0], "y_velocity": velocity[:, 1]}
        info |= {"reward_survive": survive, "reward_forward": forward}
        info |= {"reward_ctrl": -action_cost, "reward_contact": -contact_cost}
        reward = forward + survive - (action_cost + contact_cost)
        return Outcome(reward, ~healthy & self.terminate_when_unhealthy, info)

    def reset_info(self, reading: Reading) -> Mapping[str, Array]:
        # tendons over hip and knee only measure: length = knee - hip
        q, v = reading["q"], reading["v"]
        length = np.stack([q[:, knee] - q[:, hip] for hip, knee in self._tendons], axis=1)
        rate = np.stack([v[:, knee - 1] - v[:, hip - 1] for hip, knee in self._tendons], axis=1)
        return self._positions(reading) | {"tendon_length": length, "tendon_velocity": rate}
