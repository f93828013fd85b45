# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers of a World that can be plotted as it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError
from worldline._src.facade.contacts import contact_summary
from worldline._src.facade.sensors import Sensor
from worldline._src.named_tuple import NamedTuple

if TYPE_CHECKING:
    from worldline._src.facade.world import World

KEPT = 600
"""Samples of a plot."""

_MOST = 8
"""Numbers of a sensor that is plotted at most."""


class Quantity(NamedTuple):
    """Some numbers that belong into one plot."""

    title: str
    names: tuple[str, ...]
    read: Callable[[], tuple[float, ...]]


def energy(world: World) -> Quantity:
    """Kinetic, potential and total energy [J]."""

    def read() -> tuple[float, ...]:
        now = world.compute_step_metrics()
        return now.kinetic_energy, now.potential_energy, now.total_energy

    return Quantity("energy [J]", ("kinetic", "potential", "total"), read)


def contacts(world: World) -> Quantity:
    """How many contacts there are, and the deepest overlap [mm]."""

    def read() -> tuple[float, ...]:
        count, deepest = contact_summary(world._live())
        return float(count), 1e3 * deepest

    return Quantity("contacts", ("number", "deepest [mm]"), read)


def joint_names(world: World) -> list[str]:
    """Joints that can be plotted: `multibody.joint`, those with as many coordinates as axes."""
    return [
        f"{robot.name}.{joint.name}"
        for robot in world._multibodies.values()
        for joint in robot._joints.values()
        if 1 <= joint.num_dofs <= 3
    ]


def joints(world: World, names: tuple[str, ...]) -> Quantity:
    """Positions of joints [rad, m]."""
    handles: list[tuple[str, Any]] = []
    for robot in world._multibodies.values():
        handles += [(f"{robot.name}.{name}", joint) for name, joint in robot._joints.items()]
    chosen = [(name, joint) for name, joint in handles if name in names]
    shown = tuple(
        name if joint.num_dofs == 1 else f"{name}[{k}]"
        for name, joint in chosen
        for k in range(joint.num_dofs)
    )

    def read() -> tuple[float, ...]:
        return tuple(float(x) for _, joint in chosen for x in joint.position)

    return Quantity("joints [rad, m]", shown, read)


def sensor_names(world: World) -> list[str]:
    """Sensors that can be plotted: those that can be read, and have few numbers."""
    return [sensor.name for sensor in world.sensors if sensor.dim <= _MOST and _is_readable(sensor)]


def _is_readable(sensor: Sensor) -> bool:
    try:
        sensor.value  # noqa: B018
    except CapabilityError:
        return False
    return True


def sensors(world: World, names: tuple[str, ...]) -> Quantity:
    """Readings of sensors, each in its unit."""
    chosen = [world.sensors[name] for name in names]
    shown = tuple(
        sensor.name if sensor.dim == 1 else f"{sensor.name}[{k}]"
        for sensor in chosen
        for k in range(sensor.dim)
    )

    def read() -> tuple[float, ...]:
        return tuple(float(x) for sensor in chosen for x in sensor.value)

    return Quantity("sensors", shown, read)


class Samples:
    """The last samples of a quantity over time."""

    def __init__(self, quantity: Quantity, kept: int = KEPT) -> None:
        self.quantity = quantity
        self._rows: deque[tuple[float, ...]] = deque(maxlen=kept)

    def take(self, time: float) -> None:
        """Read the quantity at a time [s]; what was read later than that is forgotten."""
        while self._rows and self._rows[-1][0] >= time:
            self._rows.pop()
        numbers = tuple(float(x) for x in self.quantity.read())
        names = self.quantity.names
        if len(numbers) != len(names):
            raise ArgumentError(f"{len(names)} numbers are plotted, {', '.join(names)}; read {len(numbers)}")
        self._rows.append((time, *numbers))

    def __len__(self) -> int:
        return len(self._rows)

    def columns(self) -> tuple[np.ndarray, ...]:
        """Times, and the numbers of every name."""
        if not self._rows:
            return tuple(np.zeros((1 + len(self.quantity.names), 0)))
        return tuple(np.array(self._rows, np.float64).T.copy())
