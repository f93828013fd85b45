# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The worlds of a task: steps, starts of episodes, and pictures, for one environment and for many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldline._src.envs.task import Outcome, Task
from worldline._src.errors import fix_attributes
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.facade.quantities import Reading, attribute
from worldline._src.spatial.poses import Array

RENDER_MODES = ("rgb_array",)


class Episodes:
    """Worlds of one batch that a task runs on.

    A world that diverges stays at its last good state, and its episode ends.
    """

    def __init__(self, task: Task, num_worlds: int, threads: int) -> None:
        self.task, self.threads = task, threads
        self.batch = WorldBatch(task.scene(), num_worlds, divergence_policy="freeze")
        task.begin(self.batch)
        fix_attributes(task)
        self._all = np.arange(num_worlds)
        self._pictures: Any = None

    def step(self, actions: Array) -> tuple[Array, Outcome]:
        """One step of the environment in every world: observations, and what it led to."""
        task = self.task
        before = task.place()
        self.batch.controls = task.controls(actions)
        self.batch.step(task.frame_skip, threads=self.threads)
        task.acted(actions)
        reading = task.read(self._all)
        outcome = task.outcome(before, reading, actions)
        if self.batch.failures:
            outcome = outcome._replace(terminated=outcome.terminated | self.batch.frozen)
        return task.observation(reading), outcome

    def reset(
        self, which: np.ndarray, rngs: Sequence[np.random.Generator]
    ) -> tuple[Array, Mapping[str, Array]]:
        """Start an episode in some worlds, each from numbers of its own: observations and infos of these."""
        batch, task = self.batch, self.task
        batch.reset(which)
        for world, rng in zip(which.tolist(), rngs, strict=True):
            batch.joint_positions[world], batch.joint_velocities[world] = task.start(world, rng)
        reading = task.read(which)
        return task.observation(reading), task.reset_info(reading)

    def picture(self, world: int, width: int, height: int) -> np.ndarray:
        """Colours of a world as it stands, (height, width, 3), uint8."""
        from worldline._src.render.renderer import Renderer

        if self._pictures is None:
            shown = self.batch.extract(world)
            self._pictures = shown, Renderer(shown, width, height)
        shown, renderer = self._pictures
        runtime = shown._live()
        runtime.sim.q[:] = self.batch.joint_positions[world]
        runtime.sim.written()
        rgb = renderer.render(self.task.camera).rgb
        assert rgb is not None
        return rgb

    def close(self) -> None:
        """Give back what pictures took."""
        if self._pictures is not None:
            self._pictures[1].close()
            self._pictures = None


class OnEpisodes:
    """What every environment reports of the worlds it runs on."""

    task: Task
    _episodes: Episodes

    batch: Reading[WorldBatch] = attribute(
        "_episodes.batch", "The batch it runs on, world i for environment i; write its arrays to set a state."
    )

    dt: Reading[float] = attribute("task.dt", "Duration of a step [s].")
