# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of all sensors of a compiled world.

Sensors of places and velocities are read from the state. Those of forces and accelerations need the dynamics
of the present state, which run once for all of them (`step.forward`); their readings are kept until anything
they depend on changes. Readings are clipped to the cut-off; noise is never added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.facade import sensor_contacts, sensor_forces, sensor_frames, sensor_shapes
from worldline._src.facade.sensor_moment import Moment
from worldline._src.facade.sensor_shapes import SensedShapes
from worldline._src.facade.sensor_volumes import contains
from worldline._src.model.scene_sensors import ordered_sensors
from worldline._src.model.sensor_tables import ObjectKind, SensorKind, Sensors
from worldline._src.scene.options import SimulateOption
from worldline._src.scene.sensor_types import (
    ActuatorSensorType,
    DistanceSensorType,
    FrameSensorType,
    JointSensorType,
    SiteSensorType,
    SubtreeSensorType,
    TendonSensorType,
    WorldSensorType,
)
from worldline._src.spatial.poses import Array
from worldline._src.step import dynamics
from worldline._src.step.forward import forward

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime

_WORDS: dict[SensorKind, dict[Any, str]] = {
    SensorKind.FRAME: {
        FrameSensorType.FrameAngVel: "frame_angular_velocity",
        FrameSensorType.FrameLinAcc: "frame_linear_acceleration",
        FrameSensorType.FrameLinVel: "frame_linear_velocity",
        FrameSensorType.FramePos: "frame_position",
        FrameSensorType.FrameQuat: "frame_quaternion",
        FrameSensorType.XAxis: "frame_x_axis",
        FrameSensorType.YAxis: "frame_y_axis",
        FrameSensorType.ZAxis: "frame_z_axis",
        FrameSensorType.FrameAngAcc: "frame_angular_acceleration",
    },
    SensorKind.JOINT: {
        JointSensorType.JointPos: "joint_position",
        JointSensorType.JointVel: "joint_velocity",
        JointSensorType.ActuatorForce: "joint_actuator_force",
        JointSensorType.BallQuat: "ball_quaternion",
        JointSensorType.BallAngVel: "ball_angular_velocity",
        JointSensorType.LimitPos: "joint_limit_position",
        JointSensorType.LimitVel: "joint_limit_velocity",
        JointSensorType.LimitForce: "joint_limit_force",
    },
    SensorKind.SUBTREE: {
        SubtreeSensorType.AngMom: "subtree_angular_momentum",
        SubtreeSensorType.Com: "subtree_center_of_mass",
        SubtreeSensorType.LinVel: "subtree_linear_velocity",
    },
    SensorKind.ACTUATOR: {
        ActuatorSensorType.Pos: "actuator_position",
        ActuatorSensorType.Vel: "actuator_velocity",
        ActuatorSensorType.Force: "actuator_force",
    },
    SensorKind.TENDON: {
        TendonSensorType.Pos: "tendon_position",
        TendonSensorType.Vel: "tendon_velocity",
        TendonSensorType.ActuatorForce: "tendon_actuator_force",
        TendonSensorType.LimitPos: "tendon_limit_position",
        TendonSensorType.LimitVel: "tendon_limit_velocity",
        TendonSensorType.LimitForce: "tendon_limit_force",
    },
    SensorKind.SITE: {
        SiteSensorType.Force: "force",
        SiteSensorType.Torque: "torque",
        SiteSensorType.Magnetometer: "magnetometer",
        SiteSensorType.RangeFinder: "rangefinder",
    },
    SensorKind.DISTANCE: {
        DistanceSensorType.Distance: "distance",
        DistanceSensorType.Normal: "distance_normal",
        DistanceSensorType.FromTo: "distance_from_to",
    },
    SensorKind.WORLD: {
        WorldSensorType.Clock: "clock",
        WorldSensorType.PotentialEnergy: "potential_energy",
        WorldSensorType.KineticEnergy: "kinetic_energy",
    },
}
_SINGLE: dict[SensorKind, str] = {
    SensorKind.CONTACT: "contact",
    SensorKind.TOUCH: "touch",
    SensorKind.INSIDE: "inside",
    SensorKind.PROJECTION: "camera_projection",
    SensorKind.IMU: "imu",
}
_LOCAL = {
    "frame_angular_velocity": "gyro",
    "frame_linear_acceleration": "accelerometer",
    "frame_linear_velocity": "velocimeter",
}
"""What a frame sensor that tells in its own axes is called."""
_KINEMATIC = {"joint_position", "joint_velocity", "ball_quaternion", "ball_angular_velocity"}
_DYNAMIC_KINDS = (
    SensorKind.CONTACT,
    SensorKind.TOUCH,
    SensorKind.ACTUATOR,
    SensorKind.TENDON,
    SensorKind.IMU,
)
_NOT_CLIPPED = (SensorKind.CONTACT, SensorKind.DISTANCE)
_UNITS = ("frame_quaternion", "ball_quaternion", "frame_x_axis", "frame_y_axis", "frame_z_axis")
"""Directions and rotations, which no cut-off clips."""


def kind_name(table: Sensors, k: int) -> str:
    """What sensor `k` measures, in words."""
    kind = SensorKind(int(table.kind[k]))
    if kind in _SINGLE:
        return _SINGLE[kind]
    word = tuple(_WORDS[kind].values())[int(table.quantity[k])]
    return _LOCAL.get(word, word) if table.reference_kind[k] == ObjectKind.LOCAL else word


def needs_dynamics(table: Sensors, k: int) -> bool:
    """Whether a sensor reads forces or accelerations, and not places and velocities alone."""
    kind, word = int(table.kind[k]), kind_name(table, k)
    if kind == SensorKind.JOINT:
        return word not in _KINEMATIC
    return (
        kind in _DYNAMIC_KINDS
        or word in ("force", "torque", "accelerometer", "potential_energy")
        or word in ("frame_linear_acceleration", "frame_angular_acceleration")
    )


class Readings:
    """The sensors of one compiled world."""

    def __init__(self, runtime: Runtime, time: Callable[[], float]) -> None:
        table = runtime.model.sensors
        assert table is not None
        self.table: Sensors = table
        self.runtime = runtime
        described = ordered_sensors(runtime.scene.sensors)
        self.row_of = {id(sensor): k for k, sensor in enumerate(described)}
        """Row of every sensor of the description, by its id."""
        self.kinds = [kind_name(table, k) for k in range(len(table))]
        self._time = time
        self._off = runtime.model.option is not None and runtime.model.option.disable_sensors
        self._dynamic = {k for k in range(len(table)) if needs_dynamics(table, k)}
        self._lasting: dict[object, Any] = {}
        self._shapes = SensedShapes(runtime)
        self._key: tuple[object, ...] = ()
        self._known: dict[int, Array | CapabilityError] = {}

    def one(self, k: int) -> Array:
        """The reading of sensor `k`; zeros where the scene switches sensors off."""
        if self._off:
            return np.zeros(int(self.table.start[k + 1] - self.table.start[k]))
        if k not in self._dynamic:
            return self._clipped(k, self._read(k, Moment(self.runtime, self._lasting)))
        self._look()
        return self._looked_up(k)

    def _looked_up(self, k: int) -> Array:
        found = self._known[k]
        if isinstance(found, CapabilityError):
            raise found
        return found.copy()

    def all(self) -> Array:
        """All readings, one after the other; NaN where a sensor cannot be read."""
        if self._off:
            return np.zeros(int(self.table.start[-1]))
        moment, made = Moment(self.runtime, self._lasting), [np.zeros(0)]
        if self._dynamic:
            self._look()
        for k in range(len(self.table)):
            try:
                known = k in self._dynamic
                made.append(self._looked_up(k) if known else self._clipped(k, self._read(k, moment)))
            except CapabilityError:
                made.append(np.full(int(self.table.start[k + 1] - self.table.start[k]), np.nan))
        return np.concatenate(made)

    def refused(self) -> dict[str, str]:
        """Why sensors cannot be read in this scene, by name."""
        found: dict[str, str] = {}
        for k, name in enumerate(self.table.label):
            try:
                self.one(k)
            except CapabilityError as unable:
                found[name] = str(unable)
        return found

    def _look(self) -> None:
        """Read everything that needs forces or accelerations, unless nothing changed since the last time."""
        key = self._inputs()
        if key == self._key:
            return
        self._key = ()
        runtime = self.runtime
        with forward(runtime.sim, runtime.held + runtime.once):
            moment = Moment(runtime, self._lasting)
            for k in self._dynamic:
                try:
                    self._known[k] = self._clipped(k, self._read(k, moment))
                except CapabilityError as unable:
                    self._known[k] = unable
        self._key = key

    def _inputs(self) -> tuple[object, ...]:
        """Everything that dynamics depend on."""
        runtime, sim = self.runtime, self.runtime.sim
        arrays = [sim.q, sim.v, sim.force, sim.q_target, sim.v_target, sim.a_target]
        arrays += [*runtime.beside.values(), sim.drive]
        if runtime.constraints is not None:
            columns = ("motor_on", "spring_on", "equality_on", "tree_group")
            arrays += [runtime.constraints.column[name] for name in columns]
        return (runtime.version, sim.time_step, id(sim.stages), *(array.tobytes() for array in arrays))

    def _clipped(self, k: int, reading: Array) -> Array:
        cutoff = float(self.table.cutoff[k])
        if cutoff <= 0.0 or self.table.kind[k] in _NOT_CLIPPED or self.kinds[k] in _UNITS:
            return reading
        return np.clip(reading, -cutoff, cutoff)

    def _read(self, k: int, moment: Moment) -> Array:
        table = self.table
        if table.period[k] > 0.0 or table.delay[k] > 0.0:
            name = table.label[k]
            raise CapabilityError(f"sensor '{name}': readings with a period or a delay are not available")
        try:
            return self._measure(k, moment)
        except CapabilityError as unable:
            raise CapabilityError(f"sensor '{table.label[k]}' ({self.kinds[k]}): {unable}") from None

    def _measure(self, k: int, moment: Moment) -> Array:
        table, kind, word = self.table, SensorKind(int(self.table.kind[k])), self.kinds[k]
        plain = _READERS.get(kind)
        if plain is not None:
            return plain(moment, table, k)
        if kind is SensorKind.SITE:
            if word == "rangefinder":
                return sensor_shapes.range_reading(moment, table, k, self._shapes)
            if word != "magnetometer":
                return sensor_forces.site_force_reading(moment, table, k)
            field = (moment.model.option or SimulateOption()).magnetic
            return moment.place(ObjectKind.SITE, int(table.object[k])).R_W.T @ np.asarray(field)
        if kind is SensorKind.DISTANCE:
            return sensor_shapes.distance_reading(moment, table, k, self._shapes)
        if kind is SensorKind.INSIDE:
            return np.array([float(_is_inside(moment, table, k))])
        assert kind is SensorKind.WORLD
        if word == "clock":
            return np.array([self._time()])
        q, v = moment.sim.q.copy(), moment.sim.v.copy()
        if word == "kinetic_energy":
            return np.array([float(dynamics.kinetic_energy(moment.model, q, v))])
        return np.array([float(dynamics.potential_energy(moment.model, q)) + _stretched(moment)])


_READERS: dict[SensorKind, Callable[[Moment, Sensors, int], Array]] = {
    SensorKind.FRAME: sensor_frames.frame_reading,
    SensorKind.SUBTREE: sensor_frames.subtree_reading,
    SensorKind.IMU: sensor_frames.inertial_reading,
    SensorKind.PROJECTION: sensor_frames.projected_reading,
    SensorKind.JOINT: sensor_forces.joint_reading,
    SensorKind.ACTUATOR: sensor_forces.actuator_reading,
    SensorKind.TENDON: sensor_forces.tendon_reading,
    SensorKind.TOUCH: sensor_contacts.touch_reading,
    SensorKind.CONTACT: sensor_contacts.contact_reading,
}


def _is_inside(moment: Moment, table: Sensors, k: int) -> bool:
    """Whether the origin of an object lies within the volume of a site."""
    index, kind = int(table.reference[k]), int(table.object_kind[k])
    found, sites = int(table.object[k]), moment.model.sites
    assert sites is not None
    place = moment.center(found) if kind == ObjectKind.INERTIA else moment.place(kind, found)
    site = moment.place(ObjectKind.SITE, index)
    local = site.R_W.T @ (place.p_W - site.p_W)
    return contains(int(sites.kind[index]), sites.size[index], local)


def _stretched(moment: Moment) -> float:
    """Energy in springs of tendons and between bodies [J]."""
    constraints, total = moment.runtime.constraints, 0.0
    if constraints is None:
        return total
    column = constraints.column
    if constraints.sizes["ntendon"]:
        stiffness, _, low, high = column["tendon_spring"].T
        length = column["tendon_size"][:, 0]
        stretch = np.maximum(length - high, 0.0) + np.maximum(low - length, 0.0)
        total += float(0.5 * (stiffness * stretch**2).sum())
    if constraints.sizes["nspring"]:
        ends = column["place_X"][column["spring_end"], :3]
        stretch = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) - column["spring_number"][:, 0]
        total += float(0.5 * (column["spring_on"] * column["spring_number"][:, 1] * stretch**2).sum())
    return total
