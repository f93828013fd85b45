# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of sensors when they are read: which numbers of a reading have it, and from which key it comes.

Noise is Gaussian with the standard deviation of the sensor. Its key is the seed and the name of the sensor,
its counter the component, the index of the world and the number of the frame; see `kernels/sensors/noise.py`.
It is added before the cut-off, because a sensor that saturates does so with its noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from worldline._src.jit import DISABLED
from worldline._src.kernels.sensors import noise as kernels
from worldline._src.model.model import Model
from worldline._src.model.scene_sensors import CONTACT_PARTS
from worldline._src.model.sensor_tables import ContactReport, SensorKind, Sensors
from worldline._src.scene.policies import LARGEST_WORLD
from worldline._src.spatial.poses import Array
from worldline._src.step.pack_sensors import QUATERNIONS, UNITS, clipped_to

_POSITIVE = ("touch", "rangefinder", "rangefinder_ring")
"""Sensors that read 0 or less where there is nothing to measure."""
_DIRECTIONS = (*UNITS, "distance_normal")
_CONTACT_DIRECTIONS = ContactReport.NORMAL | ContactReport.TANGENT


def _key(seed: int, name: str) -> tuple[int, int]:
    """Two words that distinguish the noise of a sensor from that of all others."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")


def _parts(table: Sensors, k: int) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Parts of the reading of a sensor with noise: kind, first, end, column, first and end of their block."""
    first, end = int(table.start[k]), int(table.start[k + 1])
    kind, word, column = table.kind[k], table.word[k], 2 * k
    if kind == SensorKind.IMU:
        yield kernels.REAL, first, first + 3, column, 0, 0
        yield kernels.REAL, first + 3, end, column + 1, 0, 0
    elif kind == SensorKind.CONTACT:
        asked = [(bit, length) for bit, length in CONTACT_PARTS if table.contact_report[k] & bit]
        size = sum(length for _, length in asked)
        for block in range(first, end, max(size, 1)):
            at, after = block, block + size
            for bit, length in asked:
                # a count has no noise
                if bit != ContactReport.FOUND:
                    of = kernels.UNIT if bit & _CONTACT_DIRECTIONS else kernels.REAL
                    yield of, at, at + length, column, block, after
                at += length
    else:
        of = kernels.POSITIVE if word in _POSITIVE else kernels.UNIT if word in _DIRECTIONS else kernels.REAL
        yield kernels.QUATERNION if word in QUATERNIONS else of, first, end, column, 0, 0


def deviations(table: Sensors) -> Array:
    """Standard deviations of all sensors and of the rates of inertial units, (2 sensors,)."""
    return np.stack([table.noise, table.gyro_noise], axis=1).ravel()


class SensorNoise:
    """The noise of all sensors of one world or several.

    Args:
        table: the sensors.
        seed: see `SimulationPolicy.sensor_noise_seed`.
        worlds: index of every world, (worlds,).

    Attributes:
        deviation: standard deviations of every world, as `deviations` gives them, (worlds, 2 sensors).
    """

    def __init__(self, table: Sensors, seed: int, worlds: np.ndarray) -> None:
        if not DISABLED:
            kernels.add_noise.ready()  # type: ignore[attr-defined]
        rows: list[tuple[int, ...]] = []
        cutoff: list[float] = []
        self._ends = [0]
        for k, name in enumerate(table.label):
            for of, first, end, column, block, after in _parts(table, k):
                at = first - int(table.start[k])
                rows.append((of, first, end, column, at, *_key(seed, name), block, after))
                cutoff.append(clipped_to(table, k))
            self._ends.append(len(rows))
        self.seed = seed
        self.deviation = np.tile(deviations(table), (len(worlds), 1))
        self._rows, self._cutoff = np.array(rows, np.int64).reshape(-1, kernels.ROW), np.array(cutoff)
        # the counter has a word of 32 bits for the index
        self._moment = np.stack([worlds & LARGEST_WORLD, worlds], axis=1).astype(np.int64)

    @property
    def worlds(self) -> np.ndarray:
        """Index of every world, (worlds,)."""
        return self._moment[:, 0].copy()

    def add(self, readings: Array, frames: np.ndarray | int, k: int | None = None) -> None:
        """Add noise to readings that are not clipped yet, and clip them, in place.

        Args:
            readings: (worlds, numbers).
            frames: steps that worlds have made, (worlds,) or one number.
            k: row of the only sensor that is read; all are when None.
        """
        self._moment[:, 1] = frames
        part = slice(None) if k is None else slice(self._ends[k], self._ends[k + 1])
        kernels.add_noise(self._rows[part], self._cutoff[part], self.deviation, self._moment, readings)


def noise_of(model: Model, seed: int | None, worlds: np.ndarray) -> SensorNoise | None:
    """The noise of a model for a seed; None where there is none, or no sensor."""
    off = model.option is not None and model.option.disable_sensors
    if model.sensors is None or seed is None or off:
        return None
    return SensorNoise(model.sensors, seed, worlds)
