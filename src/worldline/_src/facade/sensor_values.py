# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of all sensors of a compiled world: one array, which the stages of sensors write.

Readings are of the present state and are made on request; see `step/sensing.py`. Noise is added
where the World has a seed for it (`step/sensor_noise.py`), and readings are clipped to the cut-off.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.facade.scene_frames import named_frame
from worldline._src.model.scene_sensors import ordered_sensors
from worldline._src.model.sensor_tables import Sensors
from worldline._src.spatial.poses import Array
from worldline._src.step.sensing import Sensing
from worldline._src.step.sensor_noise import deviations, noise_of

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime


class Readings:
    """The sensors of one compiled world."""

    def __init__(self, runtime: Runtime, world: WorldRuntime) -> None:
        table = runtime.model.sensors
        assert table is not None
        self.table: Sensors = table
        self.runtime = runtime
        described = ordered_sensors(runtime.scene.sensors)
        self.row_of = {id(sensor): k for k, sensor in enumerate(described)}
        """Row of every sensor of the description, by its id."""
        self.kinds = table.word
        self._world = world
        self._off = runtime.model.option is not None and runtime.model.option.disable_sensors
        options = world._options
        index = np.array([options.sensor_noise_world])
        self._noise = noise_of(runtime.model, options.sensor_noise_seed, index)
        self._sensing = Sensing(runtime.sim, clips=self._noise is None)

    def one(self, k: int) -> Array:
        """The reading of sensor `k`; zeros where the scene switches sensors off."""
        span = slice(int(self.table.start[k]), int(self.table.start[k + 1]))
        if self._off:
            return np.zeros(span.stop - span.start)
        made = self._sensing.one(k, *self._now())
        if self._noise is None:
            return made
        row = np.zeros((1, self.table.size))
        row[0, span] = made
        self._noise.add(row, self._world.frame, k)
        return row[0, span].copy()

    def all(self) -> Array:
        """All readings, one after the other; NaN where a sensor cannot be read."""
        if self._off:
            return np.zeros(self.table.size)
        made = self._sensing.all(*self._now())
        if self._noise is not None:
            self._noise.add(made[None], self._world.frame)
        return made

    def set_noise(self, k: int, noise: float, gyro_noise: float) -> None:
        """Give sensor `k` other standard deviations, in the model too."""
        columns = {"noise": self.table.noise.copy(), "gyro_noise": self.table.gyro_noise.copy()}
        columns["noise"][k], columns["gyro_noise"][k] = noise, gyro_noise
        # clones share the table
        self.table = self.runtime.model.sensors = replace(self.table, **columns)
        if self._noise is not None:
            self._noise.deviation[0] = deviations(self.table)

    def refused(self) -> dict[str, str]:
        """Why sensors cannot be read in this scene, by name."""
        found: dict[str, str] = {}
        for k, name in enumerate(self.table.label):
            try:
                self.one(k)
            except CapabilityError as unable:
                found[name] = str(unable)
        return found

    def _now(self) -> tuple[float, object]:
        """Time, and what else readings depend on; forces on bodies are taken over."""
        runtime, sensing = self.runtime, self._sensing
        if sensing.pushed or runtime.pushed:
            np.add(runtime.persistent_wrench, runtime.one_shot_wrench, out=sensing.body_f)
            sensing.pushed = runtime.pushed
        for frame, row in sensing.tables.moving:
            if sensing.tables.place(frame, *named_frame(runtime, row)):
                sensing.forget()
        return self._world.time, runtime.version
