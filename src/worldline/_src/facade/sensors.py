# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors of a World: handles by name, readings of the present state.

A sensor is part of the description; files bring them along. A reading is that of this moment, after any write
and any step; forces and accelerations are those that act now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from worldline._src.errors import ArgumentError, OperationError, ShapeError
from worldline._src.facade import values
from worldline._src.facade.collections import NamedCollection
from worldline._src.facade.copying import Address
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.frame import Frame
from worldline._src.facade.handle import Handle
from worldline._src.facade.known_names import returns_read_only
from worldline._src.facade.quantities import Reading, handle_attribute, reading
from worldline._src.facade.sensor_values import Readings
from worldline._src.facade.step_functions import WorksOn, works_on_keywords
from worldline._src.facade.values import TransformLike, count, pose_of, text
from worldline._src.model.scene_sensors import ordered_sensors, sensor_labels
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.sensors import ImuSensor
from worldline._src.spatial.poses import IDENTITY, Array, VectorLike, numbers
from worldline._src.step.pack_sensors import needs_dynamics
from worldline._src.step.user_elements import SENSOR
from worldline._src.step.user_kernels import Kernel

if TYPE_CHECKING:
    from worldline._src.facade.link import Link
    from worldline._src.facade.rigid_body import RigidBody
    from worldline._src.facade.step_functions import StepFunction
    from worldline._src.facade.world_runtime import WorldRuntime


class SensorReading(NamedTuple):
    """A reading with its moment; it stays what it is while the World goes on."""

    value: Array
    """SI units, quaternions xyzw, (dim,)."""
    time: float
    """`World.time` [s]."""
    frame: int
    """`World.frame`."""


class Sensor(Handle):
    """One sensor of a World; `World.sensors` finds it.

    Example:
        >>> from worldline import msd
        >>> from worldline import simulation as sx
        >>> scene = msd.from_str('''<mujoco><worldbody><body name="ball"><freejoint/>
        ...   <geom size="0.1"/><site name="top" pos="0 0 0.1"/></body></worldbody>
        ...   <sensor><velocimeter name="speed" site="top"/></sensor></mujoco>''', format="mjcf")
        >>> world = sx.World.from_scene(scene)
        >>> speed = world.sensors["speed"]
        >>> world.step(n=100)
        >>> speed.kind, speed.dim, speed.value.round(4).tolist()
        ('velocimeter', 3, [0.0, 0.0, -1.962])
    """

    def __init__(self, world: WorldRuntime, name: str, described: object) -> None:
        super().__init__(world)
        self._label = name
        self._described = described
        self._gone = "it was removed"

    def _path(self) -> Address:
        return "sensors", self.name

    @property
    def is_valid(self) -> bool:
        """False once the sensor, or what it measures, was removed."""
        return self._alive and any(
            row is self._described for row in ordered_sensors(self._world._scene.sensors)
        )

    def remove(self) -> None:
        """Take the sensor out of the World, in design mode or within `World.edit()`."""
        self._world.remove(self)

    def _require_alive(self) -> None:
        if not self.is_valid:
            self._refuse()

    @property
    def kind(self) -> str:
        """What it measures, such as "joint_position", "gyro" or "touch"."""
        readings, k = self._where()
        return readings.kinds[k]

    dim: Reading[int] = reading(
        lambda sensor: sensor.span.stop - sensor.span.start, "How many numbers a reading has."
    )

    @property
    def span(self) -> slice:
        """Its place in `World.sensors.values`."""
        readings, k = self._where()
        return slice(int(readings.table.start[k]), int(readings.table.start[k + 1]))

    @property
    @exclusive
    def value(self) -> Array:
        """The reading of this moment, SI units, quaternions xyzw, (dim,).

        With `noise` where `World.sensor_noise_seed` is set, then clipped to `cutoff`.

        Raises:
            CapabilityError: it cannot be read in this scene; the message says why.
        """
        readings, k = self._where()
        return readings.one(k)

    @exclusive
    def read(self) -> SensorReading:
        """The reading of this moment, with the time and the frame it belongs to."""
        return SensorReading(self.value, self._world.time, self._world.frame)

    @property
    def noise(self) -> float:
        """Standard deviation of every number of the reading, in its unit; settable at any time.

        Of rotations [rad]: about each axis of the frame that turns. Of directions [rad]: along each tangent.
        Of an inertial unit [m/s^2]: of the acceleration; see `gyro_noise`. What is absent, such as the
        distance of a ray that meets nothing, and counts of contacts have none. Readings have noise where
        `World.sensor_noise_seed` is set.
        """
        return self._column("noise")

    @noise.setter
    def noise(self, value: float) -> None:
        self._set_noise("noise", value)

    @property
    def gyro_noise(self) -> float:
        """Standard deviation of the angular velocity of an inertial unit [rad/s]; settable there, else 0."""
        return self._column("gyro_noise")

    @gyro_noise.setter
    def gyro_noise(self, value: float) -> None:
        readings, k = self._where()
        if readings.kinds[k] != "imu":
            raise OperationError(
                f"sensor '{self._label}' ({readings.kinds[k]}) has no gyro_noise; an inertial unit has"
            )
        self._set_noise("gyro_noise", value)

    def _set_noise(self, name: str, value: float) -> None:
        readings, k = self._where()
        self._world._require_idle()
        described: Any = self._described
        setattr(described, name, values.non_negative(value, f"{name} of sensor '{self._label}'"))
        readings.set_noise(k, described.noise, getattr(described, "gyro_noise", 0.0))

    def _column(self, name: str) -> float:
        readings, k = self._where()
        return float(getattr(readings.table, name)[k])

    @property
    def cutoff(self) -> float:
        """Largest size of a number of the reading; 0 for none. Of distances: how far is looked."""
        return self._column("cutoff")

    @property
    def needs_dynamics(self) -> bool:
        """Whether it reads forces or accelerations, which are computed for it; others read the state."""
        readings, k = self._where()
        return needs_dynamics(readings.table, k)

    def __repr__(self) -> str:
        return f"Sensor('{self._label}', {self.kind if self.is_valid else 'removed'})"

    def _where(self) -> tuple[Readings, int]:
        """The readings of its World, and its row there."""
        readings = readings_of(self._world) if self._alive else None
        k = None if readings is None else readings.row_of.get(id(self._described))
        if readings is None or k is None:
            self._refuse()
        assert readings is not None and k is not None
        return readings, k


SensorFunction = Callable[[Any], VectorLike | float]
"""Makes the reading of a `FunctionSensor` from its World."""


class FunctionSensor(Sensor):
    """A sensor whose readings a function of the user makes; see `SensorCollection.add_function`."""

    def __init__(
        self,
        world: WorldRuntime,
        name: str,
        function: Callable[..., object],
        dim: int,
        kernel: StepFunction | None = None,
    ) -> None:
        super().__init__(world, name, None)
        self._function = function
        self._dim = dim
        self._kernel = kernel
        """What a kernel works on, with its parameters; None for a function of Python."""

    @property
    def is_valid(self) -> bool:
        """False once the sensor was removed or its World cleared."""
        return self._alive and self._world._functions.sensors.get(self._label) is self

    def remove(self) -> None:
        """Take the sensor out of the World; at any time, as nothing else depends on it."""
        self._require_alive()
        self._world._require_idle()
        self._world._functions.remove_sensor(self._label)

    @property
    def kind(self) -> str:
        """ "function", or "kernel" where it is compiled."""
        self._require_alive()
        return "function" if self._kernel is None else "kernel"

    @property
    def parameters(self) -> Array:
        """Parameters of a kernel, a copy; assign them to have the next reading use others."""
        self._require_alive()
        return np.zeros(0) if self._kernel is None else self._kernel.parameters

    @parameters.setter
    def parameters(self, value: VectorLike) -> None:
        self._require_alive()
        if self._kernel is None:
            raise OperationError(f"sensor '{self._label}' is a function of Python and has no parameters")
        self._kernel.parameters = value

    dim: Reading[int] = handle_attribute("_dim", "How many numbers a reading has.")

    @property
    def span(self) -> slice:
        """Its place in `World.sensors.values`: behind the sensors of the description."""
        self._require_alive()
        start = scene_dim(self._world)
        for other in self._world._functions.sensors.values():
            if other is self:
                break
            start += other.dim
        return slice(start, start + self._dim)

    @property
    @exclusive
    def value(self) -> Array:
        """What the function makes of the World now, (dim,); raises what it raises.

        Raises:
            ShapeError: the function returned something else than `dim` numbers.
        """
        self._require_alive()
        if self._kernel is not None:
            return self._world._functions.reading(self._label)
        made = np.atleast_1d(np.asarray(self._function(self._world)))
        return numbers(made, (self._dim,), f"reading of sensor '{self._label}'").copy()

    @property
    def noise(self) -> float:
        """0: a function may add its own, and another number is refused."""
        self._require_alive()
        return 0.0

    @noise.setter
    def noise(self, value: float) -> None:
        raise OperationError(f"sensor '{self._label}' is a function, which adds noise itself")

    @property
    def gyro_noise(self) -> float:
        """0: see `noise`."""
        return self.noise

    @gyro_noise.setter
    def gyro_noise(self, value: float) -> None:
        self.noise = value

    @property
    def cutoff(self) -> float:
        """0: none."""
        return 0.0

    @property
    def needs_dynamics(self) -> bool:
        """False: what the function reads is up to its user."""
        return False

    def copy_to(self, world: WorldRuntime) -> FunctionSensor:
        """The same sensor of another World."""
        kernel = None if self._kernel is None else self._kernel.copy_to(world)
        return FunctionSensor(world, self._label, self._function, self._dim, kernel)


class SensorCollection(NamedCollection[Sensor]):
    """All sensors of a World in the order of their readings.

    Example:
        >>> from worldline import msd
        >>> from worldline import simulation as sx
        >>> scene = msd.from_str('''<mujoco><worldbody><body name="arm">
        ...   <joint name="elbow" axis="0 1 0"/><geom size="0.1" pos="0.5 0 0"/></body></worldbody>
        ...   <sensor><jointpos name="angle" joint="elbow"/><clock name="time"/></sensor>
        ...   </mujoco>''', format="mjcf")
        >>> world = sx.World.from_scene(scene)
        >>> world.step(n=500)
        >>> world.sensors.names, world.sensors.values.round(3).tolist()
        (['angle', 'time'], [2.904, 1.0])
    """

    def __init__(self, world: WorldRuntime) -> None:
        super().__init__("sensor", self._handles)
        self._world = world

    @property
    @returns_read_only
    def values(self) -> Array:
        """All readings of this moment, one after the other, (dim,); `Sensor.span` says where each is.

        A sensor that cannot be read in this scene has NaN there; `refused` says why.
        """
        world = self._world
        runtime = world._live()
        with runtime.guard:
            readings = runtime.sensors or readings_of(world)
            assert readings is not None
            own = world._functions.sensors
            made = readings.all()
            if own:
                made = np.concatenate([made, *(sensor.value for sensor in own.values())])
        made.setflags(write=False)
        return made

    @property
    def refused(self) -> dict[str, str]:
        """Why sensors cannot be read in this scene, by name; empty when all can.

        Example:
            >>> from worldline import simulation as sx
            >>> sx.World().sensors.refused
            {}
        """
        readings = readings_of(self._world)
        return {} if readings is None else readings.refused()

    @property
    def dim(self) -> int:
        """Length of `values`."""
        return scene_dim(self._world) + sum(each.dim for each in self._world._functions.sensors.values())

    @works_on_keywords
    def add_function(
        self, name: str, function: SensorFunction | Kernel, dim: int = 1, **works_on: Unpack[WorksOn]
    ) -> FunctionSensor:
        """A sensor whose readings a function or kernel of yours makes on request, at any time.

        A function gets the World and returns `dim` numbers; an error in it reaches the caller who reads. A
        kernel (`worldline.kernel`) writes them to `reading`, and is read in batches of worlds in lanes too.
        Clones have the sensor too; files hold no functions, so a World with one is not saved or pickled.

        Args:
            name: unique among the sensors.
            function: called with the World, or a kernel.
            dim: how many numbers it returns.
            bodies, joints, actuators, parameters: what a kernel works on; see `World.add_controller`.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box", position=(3, 4, 0), fixed=True)
            >>> far = lambda world: (world.rigid_bodies["box"].translation ** 2).sum() ** 0.5
            >>> world.sensors.add_function("distance", far).value.tolist()
            [5.0]
        """
        world = self._world
        world._require_idle()
        name = text(name, "name of a sensor")
        if not name or name in self.names:
            raise ArgumentError(f"there is a sensor '{name}' already" if name else "a sensor needs a name")
        if not callable(function):
            raise ArgumentError(f"sensor '{name}' needs a function of the World, got {function!r}")
        dim = count(dim, f"dim of sensor '{name}'")
        if dim < 1:
            raise ArgumentError(f"dim of sensor '{name}' must be at least 1, got {dim}")
        parts = world._functions.made(name, SENSOR, function, None, **works_on)
        made = FunctionSensor(world, name, function, dim, parts if parts.is_compiled else None)
        world._functions.add_sensor(name, made)
        return made

    def add_imu(
        self,
        name: str = "",
        *,
        attach_to: RigidBody | Link,
        offset: TransformLike | None = None,
        noise: float = 0.0,
        gyro_noise: float = 0.0,
    ) -> Sensor:
        """An inertial unit: acceleration against gravity [m/s^2], then angular velocity [rad/s], in its axes.

        In design mode or within `edit()`.

        Args:
            name: unique among sensors; made up when empty.
            attach_to: the body it is mounted on.
            offset: its pose in the body (4x4); the frame of the body when None.
            noise, gyro_noise: standard deviations [m/s^2, rad/s]; see `Sensor.noise`.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box", fixed=True, position=(0, 0, 1))
            >>> unit = world.sensors.add_imu("unit", attach_to=box)
            >>> unit.read().value.round(6).tolist()
            [0.0, 0.0, 9.81, 0.0, 0.0, 0.0]
        """
        world = self._world
        world._require_design("adding a sensor")
        if (isinstance(attach_to, Frame) and attach_to.is_world) or not hasattr(attach_to, "_link"):
            raise ShapeError(f"attach_to must be a rigid body or a link, got {attach_to!r}")
        world._own_frame(attach_to, "attach_to")
        pose = IDENTITY if offset is None else pose_of(offset, "offset of a sensor")
        taken, name = set(self.names), values.text(name, "name of a sensor")
        if name in taken:
            raise ArgumentError(f"there is a sensor '{name}' already")
        number = 0
        while not name:
            number += 1
            name = f"imu_{number:03d}" if f"imu_{number:03d}" not in taken else ""
        world._scene.sensors.imu.append(
            ImuSensor(
                name=name,
                link=attach_to._link.name or "",
                position=pose[:3],
                orientation=pose[3:],
                noise=values.non_negative(noise, "noise of a sensor"),
                gyro_noise=values.non_negative(gyro_noise, "gyro_noise of a sensor"),
            )
        )
        world._topology_changed()
        return self[name]

    def _handles(self) -> dict[str, Sensor]:
        known, described = self._world._sensors, self._world._scene.sensors
        made: dict[str, Sensor] = {}
        for name, row in zip(sensor_labels(described), ordered_sensors(described), strict=True):
            if name not in known or known[name]._described is not row:
                known[name] = Sensor(self._world, name, row)
            made[name] = known[name]
        return made | self._world._functions.sensors


def scene_dim(world: WorldRuntime) -> int:
    """How many numbers all sensors of the description have."""
    readings = readings_of(world)
    return 0 if readings is None else readings.table.size


def remove_sensor(sensor: Sensor) -> None:
    """Take a sensor out of the description; in design mode or within `World.edit()`."""
    world = sensor._world
    world._require_design(f"removing sensor '{sensor.name}'")
    described = world._scene.sensors
    gone = ordered_sensors(described)[sensor_labels(described).index(sensor.name)]
    lists: list[list[Any]] = [rows for rows in vars(described).values() if isinstance(rows, list)]
    for rows in lists:
        rows[:] = [row for row in rows if row is not gone]
    world._topology_changed()


@exclusive
def read_kinematic(world: WorldRuntime) -> None:
    """Read every sensor of places and velocities; an error names the first that cannot be read."""
    for sensor in world.sensors:
        if not sensor.needs_dynamics:
            sensor.value  # noqa: B018


def readings_of(world: WorldRuntime) -> Readings | None:
    """The readings of a World as compiled now; None when its model has no table of sensors."""
    runtime = world._live()
    if runtime.sensors is None and runtime.model.sensors is not None:
        runtime.sensors = Readings(runtime, world)
    return runtime.sensors
