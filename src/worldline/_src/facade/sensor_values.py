# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of all sensors of a compiled world: one array, which the stages of sensors write.

Readings are of the present state and are made when they are asked for; see `step/sensing.py`. They are
clipped to the cut-off; noise is never added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.facade.scene_frames import named_frame
from worldline._src.model.scene_sensors import ordered_sensors
from worldline._src.model.sensor_tables import Sensors
from worldline._src.spatial.poses import Array
from worldline._src.step.sensing import Sensing

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
        self._sensing = Sensing(runtime.sim)

    def one(self, k: int) -> Array:
        """The reading of sensor `k`; zeros where the scene switches sensors off."""
        if self._off:
            return np.zeros(int(self.table.start[k + 1] - self.table.start[k]))
        return self._sensing.one(k, *self._now())

    def all(self) -> Array:
        """All readings, one after the other; NaN where a sensor cannot be read."""
        return np.zeros(self.table.size) if self._off else self._sensing.all(*self._now())

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
