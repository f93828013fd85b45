# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of sensors of a batch: its seed, and the indices by which worlds have independent noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.facade.options import noise_seed
from worldline._src.facade.quantities import Quantity, quantity

if TYPE_CHECKING:
    from worldline._src.facade.batch.lane_worlds import LaneWorlds
    from worldline._src.facade.batch.thread_worlds import ThreadWorlds
    from worldline._src.facade.batch.world_batch import WorldBatch


class BatchNoise:
    """The noise of the sensors of one batch.

    Attributes:
        seed: None for no noise.
    """

    def __init__(self, batch: WorldBatch) -> None:
        self._batch = batch
        self.seed, self._first = batch._template.noise

    def set_seed(self, value: Any) -> None:
        """Take another seed, which is checked; on error nothing changes."""
        seed = noise_seed(value)
        # waits for a step of another thread, or is refused
        worlds = self._batch._worlds
        self.seed = seed
        self.give(worlds)

    def give(self, worlds: LaneWorlds | ThreadWorlds) -> None:
        """Let worlds have this noise, each by the index by which it draws."""
        worlds.set_noise(self.seed, self._first + np.asarray(self._batch._draw_index))


SENSOR_NOISE_SEED: Quantity[int | None, int | None] = quantity(
    lambda batch: batch._noise.seed,
    lambda batch, value: batch._noise.set_seed(value),
    """Seed of the noise of sensors, at first that of the World or the scene; None reads without noise.

    World i has independent noise, which is that of a World with `sensor_noise_world` i, in a batch of any
    size; see `World.sensor_noise_seed`. Standard deviations are the parameters `sensors.*.noise`. After a
    reset the same frames have the same noise, so give episodes seeds of their own.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> unit = world.sensors.add_imu("unit", attach_to=world.add_rigid_body("box", fixed=True))
        >>> batch = sx.WorldBatch(world, 3)
        >>> batch.sensor_noise_seed = 5
        >>> batch.parameters["sensors.unit.noise"] = [0.0, 0.1, 0.1]
        >>> up = batch.sensor_values[:, 2]
        >>> round(float(up[0]), 9), len(set(up.tolist()))
        (9.81, 3)
    """,
)
