# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors of a World and their readings.

>>> from worldline import simulation as sx
>>> world = sx.World()
>>> box = world.add_rigid_body("box")
>>> unit: sx.sensors.Sensor = world.sensors.add_imu("unit", attach_to=box)
>>> unit.read().frame
0
"""

from worldline._src.facade.sensors import Sensor, SensorCollection, SensorReading

__all__ = ["Sensor", "SensorCollection", "SensorReading"]
