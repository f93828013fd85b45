# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped that follows commanded velocities over rough ground."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from worldline._src.envs.task import Outcome, Reading, Task
from worldline._src.errors import ArgumentError
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.scene.asset_specs import HFieldSource, HFieldSourceType
from worldline._src.scene.world import World as Scene
from worldline._src.spatial.poses import Array, rotations

_SIDE, _CELLS = 32.0, 64
"""Side of the ground [m], and cells along it."""
_STRENGTH = 30.0
"""Largest effort of a servo [N m]."""


def rough_heights(roughness: float, seed: int) -> Array:
    """Heights of the ground at the corners of its cells [m], from 0 to `roughness`: noise over a metre."""
    rng, n = np.random.default_rng(seed), _CELLS + 1
    noise = rng.standard_normal((n, n))
    waves = np.fft.rfft2(noise)
    k = np.hypot(np.fft.fftfreq(n, _SIDE / _CELLS)[:, None], np.fft.rfftfreq(n, _SIDE / _CELLS)[None])
    smooth = np.fft.irfft2(waves * np.exp(-np.square(0.5 * k)), (n, n))
    return roughness * (smooth - smooth.min()) / (smooth.max() - smooth.min())


@dataclass(kw_only=True)
class Quadruped(Task):
    """Follow a commanded velocity on rough ground.

    An episode draws where it starts, the heading, and a command: velocities along and across the trunk [m/s]
    and turning rate [rad/s]. Actions are offsets of the angles that position servos lead to from those of
    standing, as shares of `action_scale`. Observed are the direction of gravity, velocity and angular
    velocity in the axes of the trunk, angles from those of standing, their velocities, the last action, the
    command, and heights of the ground under the trunk relative to it. The reward is that of following the
    command, less costs of vertical motion, tilting rates, efforts and changes of the action. An episode ends
    when the trunk tips over or comes too low.
    """

    scene_file: ClassVar[str] = "quadruped.xml"
    episode_steps: ClassVar[int] = 1000
    scene_options: ClassVar[tuple[str, ...]] = ("roughness", "terrain_seed")

    action_scale: float = 0.4
    roughness: float = 0.12
    terrain_seed: int = 0
    command_range: tuple[float, float, float] = (0.7, 0.3, 0.6)
    tracking_width: float = 0.25
    vertical_cost_weight: float = 1.0
    rate_cost_weight: float = 0.05
    effort_cost_weight: float = 1e-4
    action_rate_cost_weight: float = 0.02
    healthy_height: float = 0.16
    healthy_upright: float = 0.5
    reset_noise_scale: float = 0.1

    def check_options(self) -> None:
        super().check_options()
        if not self.roughness >= 0.0:
            raise ArgumentError(f"roughness must not be negative, got {self.roughness!r}")
        if not self.tracking_width > 0.0:
            raise ArgumentError(f"tracking_width must be positive, got {self.tracking_width!r}")
        if self.terrain_seed < 0:
            raise ArgumentError(f"terrain_seed must not be negative, got {self.terrain_seed}")

    def scene(self) -> Scene:
        made, n = super().scene(), _CELLS + 1
        self.heights = rough_heights(self.roughness, self.terrain_seed)
        made.assets.hfields["terrain"] = HFieldSource(
            nrow=n,
            ncol=n,
            size=[_SIDE, _SIDE],
            source_type=HFieldSourceType.buffer(self.heights, "terrain"),
            base=0.5,
        )
        return made

    def begin(self, batch: WorldBatch) -> None:
        super().begin(batch)
        batch.reset(keyframe="stand")
        self.start_q, self._stand = batch.joint_positions[0].copy(), batch.controls[0].copy()
        self._lower, self._upper = super().action_bounds
        worlds = batch.num_worlds
        self.commands, self._last = np.zeros((worlds, 3)), np.zeros((worlds, len(self._stand)))
        self._change = np.zeros_like(self._last)
        x, y = np.meshgrid(np.linspace(-0.3, 0.5, 5), np.linspace(-0.2, 0.2, 3), indexing="ij")
        self._grid = np.stack([x.ravel(), y.ravel()], axis=1)

    @property
    def action_bounds(self) -> tuple[Array, Array]:
        return -np.ones(len(self._stand)), np.ones(len(self._stand))

    def controls(self, actions: Array) -> Array:
        moved = self._stand + self.action_scale * np.clip(actions, -1.0, 1.0)
        return np.clip(moved, self._lower, self._upper)

    def acted(self, actions: Array) -> None:
        self._change = np.clip(actions, -1.0, 1.0) - self._last
        self._last = np.clip(actions, -1.0, 1.0)

    def ground(self, points: Array) -> Array:
        """Height of the ground at points in the plane, (..., 2), world frame [m]."""
        at = np.clip((points + 0.5 * _SIDE) * (_CELLS / _SIDE), 0.0, _CELLS - 1e-9)
        cell = at.astype(np.int64)
        (i, j), (x, y) = np.moveaxis(cell, -1, 0), np.moveaxis(at - cell, -1, 0)
        h = self.heights
        # two triangles a cell, on either side of the diagonal from (0, 0) to (1, 1), as contacts have them
        far = h[j + 1, i + 1]
        below = h[j, i] + (h[j, i + 1] - h[j, i]) * x + (far - h[j, i + 1]) * y
        above = h[j, i] + (far - h[j + 1, i]) * x + (h[j + 1, i] - h[j, i]) * y
        return np.where(x > y, below, above)

    def start(self, world: int, rng: np.random.Generator) -> tuple[Array, Array]:
        q = self.start_q.copy()
        q[:2], heading = rng.uniform(-2.0, 2.0, 2), rng.uniform(-np.pi, np.pi)
        q[2] += self.ground(q[:2])
        q[3:7] = 0.0, 0.0, np.sin(0.5 * heading), np.cos(0.5 * heading)
        q[7:] += rng.uniform(-self.reset_noise_scale, self.reset_noise_scale, len(q) - 7)
        most = np.array(self.command_range)
        self.commands[world] = rng.uniform(-most, most)
        self._last[world] = self._change[world] = 0.0
        self.batch.controls[world] = self._stand
        return q, np.zeros_like(self.start_v)

    def place(self) -> Array:
        return np.zeros(0)

    def read(self, which: np.ndarray) -> Reading:
        part = self.batch.select(which)
        q, v = part.joint_positions, part.joint_velocities
        R = rotations(q[:, :7])
        # the trunk's own axes: velocities of the origin are in world axes, angular ones in the trunk's
        made = {"q": q, "v": v, "up": R[:, 2], "velocity": np.einsum("wij,wi->wj", R, v[:, :3])}
        heading = np.arctan2(R[:, 1, 0], R[:, 0, 0])
        c, s = np.cos(heading), np.sin(heading)
        turn = np.stack([np.stack([c, -s], 1), np.stack([s, c], 1)], axis=1)
        points = q[:, None, :2] + np.einsum("wij,pj->wpi", turn, self._grid)
        made["ground"] = q[:, 2:3] - self.ground(points)
        return made | {"last": self._last[which], "command": self.commands[which]}

    def observation(self, reading: Reading) -> Array:
        q, v = reading["q"], reading["v"]
        body = [-reading["up"], reading["velocity"], v[:, 3:6]]
        legs = [q[:, 7:] - self.start_q[7:], v[:, 6:], reading["last"]]
        return np.concatenate([*body, *legs, reading["command"], reading["ground"]], axis=1)

    def outcome(self, before: Array, reading: Reading, actions: Array) -> Outcome:
        velocity, v, command = reading["velocity"], reading["v"], reading["command"]
        apart = np.square(velocity[:, :2] - command[:, :2]).sum(axis=1)
        follow = np.exp(-apart / self.tracking_width)
        turn = 0.5 * np.exp(-np.square(v[:, 5] - command[:, 2]) / self.tracking_width)
        effort = self._effort(reading)
        cost = self.vertical_cost_weight * np.square(v[:, 2])
        cost += self.rate_cost_weight * np.square(v[:, 3:5]).sum(axis=1)
        cost += self.effort_cost_weight * np.square(effort).sum(axis=1)
        cost += self.action_rate_cost_weight * np.square(self._change).sum(axis=1)
        height = reading["q"][:, 2] - self.ground(reading["q"][:, :2])
        fallen = (reading["up"][:, 2] < self.healthy_upright) | (height < self.healthy_height)
        info = {"reward_velocity": follow, "reward_turning": turn, "reward_cost": -cost}
        info |= {"x_position": reading["q"][:, 0], "y_position": reading["q"][:, 1]}
        return Outcome(follow + turn - cost, fallen, info)

    def _effort(self, reading: Reading) -> Array:
        """Efforts of the servos [N m], within their bounds."""
        return np.clip(60.0 * (self.controls(self._last) - reading["q"][:, 7:]), -_STRENGTH, _STRENGTH)

    def reset_info(self, reading: Reading) -> Mapping[str, Array]:
        return {"x_position": reading["q"][:, 0], "y_position": reading["q"][:, 1]}
