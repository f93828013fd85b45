# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the sensor table of a Model to the arenas of the stages of sensors.

A sensor becomes rows of primitives (see `kernels/sensors/tables.py`), or a reason why it cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from worldline._src.collision.arenas import Arenas as CollisionArenas
from worldline._src.collision.arenas import BodyRow, ShapeRow, pose12
from worldline._src.collision.run import set_links
from worldline._src.collision.shapes import CollisionShape
from worldline._src.errors import CapabilityError
from worldline._src.kernels.constraints import tables as rows
from worldline._src.kernels.narrowphase import tables
from worldline._src.kernels.narrowphase.dispatch import FAMILY_LINKS, pair_family
from worldline._src.kernels.sensors import tables as t
from worldline._src.model.kinds import JointType, ShapeKind
from worldline._src.model.model import Model
from worldline._src.model.sensor_tables import ObjectKind, SensorKind, Sensors
from worldline._src.model.tables import TargetKind
from worldline._src.scalar.memory import address_of
from worldline._src.scene import sensor_types as types
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import IDENTITY, Array
from worldline._src.step.collision_rows import collision_shape
from worldline._src.step.constraints import Constraints
from worldline._src.step.pack_anchors import Anchors, link_pose
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import CONSTRAINT, MULTIBODY, SENSOR
from worldline._src.step.unknown_forces import unknown_forces


class Group(IntEnum):
    """What the reading of a sensor takes."""

    STATE = 0
    """Poses and velocities of the present state."""
    SHAPES = 1
    """The shapes around it, too: rays and distances."""
    DYNAMICS = 2
    """Accelerations, contacts and forces of the present state."""


_VOLUMES = (ShapeKind.SPHERE, ShapeKind.CAPSULE, ShapeKind.BOX, ShapeKind.CYLINDER, ShapeKind.ELLIPSOID)
_MESHES = (ShapeKind.MESH, ShapeKind.HULL)
_NOT_CLIPPED = (SensorKind.CONTACT, SensorKind.DISTANCE)
QUATERNIONS = ("frame_quaternion", "ball_quaternion")
UNITS = (*QUATERNIONS, "frame_x_axis", "frame_y_axis", "frame_z_axis")
"""Directions and rotations, which no cut-off clips."""
_POSES = {
    types.FrameSensorType.FramePos: t.POSITION,
    types.FrameSensorType.FrameQuat: t.QUATERNION,
    types.FrameSensorType.XAxis: t.X_AXIS,
    types.FrameSensorType.YAxis: t.Y_AXIS,
    types.FrameSensorType.ZAxis: t.Z_AXIS,
}
_VELOCITIES = {types.FrameSensorType.FrameAngVel: t.ANGULAR, types.FrameSensorType.FrameLinVel: t.LINEAR}
_ACCELERATIONS = {types.FrameSensorType.FrameAngAcc: t.ANGULAR, types.FrameSensorType.FrameLinAcc: t.LINEAR}
_AXES = {ObjectKind.NONE: t.WORLD_AXES, ObjectKind.LOCAL: t.OWN_AXES}
_SUBTREES = {
    types.SubtreeSensorType.Com: t.CENTER,
    types.SubtreeSensorType.LinVel: t.CENTER_VELOCITY,
    types.SubtreeSensorType.AngMom: t.ANGULAR_MOMENTUM,
}
_LIMITS = {
    types.JointSensorType.LimitPos: t.LIMIT_DISTANCE,
    types.JointSensorType.LimitVel: t.LIMIT_RATE,
    types.JointSensorType.LimitForce: t.LIMIT_FORCE,
    types.TendonSensorType.LimitPos: t.LIMIT_DISTANCE,
    types.TendonSensorType.LimitVel: t.LIMIT_RATE,
    types.TendonSensorType.LimitForce: t.LIMIT_FORCE,
}
_ACTUATORS = {
    types.ActuatorSensorType.Force: t.ACTUATOR_FORCE,
    types.ActuatorSensorType.Pos: t.ACTUATOR_LENGTH,
    types.ActuatorSensorType.Vel: t.ACTUATOR_RATE,
}
_TENDONS = {
    types.TendonSensorType.Pos: t.TENDON_LENGTH,
    types.TendonSensorType.Vel: t.TENDON_RATE,
    types.TendonSensorType.ActuatorForce: t.TENDON_FORCE,
}
_DISTANCES = {
    types.DistanceSensorType.Distance: t.SEPARATION,
    types.DistanceSensorType.Normal: t.NORMAL,
    types.DistanceSensorType.FromTo: t.SEGMENT,
}
_BALL = (types.JointSensorType.BallQuat, types.JointSensorType.BallAngVel)
_FAMILIES = {
    tables.ROUND: "near_round",
    tables.FLAT: "near_flat",
    tables.BALL: "near_ball",
    tables.CONVEX: "near_convex",
    tables.SURFACE: "near_surface",
}
"""Families of pairs between which distances are measured, by their names in a `StepPlan`."""
_LISTS = (
    *("pose", "velocity", "acceleration", "state", "subtree", "effort", "sum", "limit", "energy"),
    *("force", "touch", "found", "ray", "distance", "clip"),
)


def needs_dynamics(table: Sensors, k: int) -> bool:
    """Whether a sensor reads forces or accelerations, and not places and velocities alone."""
    return group_of(table, k) is Group.DYNAMICS


def group_of(table: Sensors, k: int) -> Group:
    """What the reading of a sensor takes."""
    kind, word = SensorKind(int(table.kind[k])), table.word[k]
    if kind is SensorKind.DISTANCE or table.ray_start[k] < table.ray_start[k + 1]:
        return Group.SHAPES
    if kind is SensorKind.JOINT:
        of_state = ("joint_position", "joint_velocity", "ball_quaternion", "ball_angular_velocity")
        return Group.STATE if word in of_state else Group.DYNAMICS
    if kind in (SensorKind.CONTACT, SensorKind.TOUCH, SensorKind.ACTUATOR, SensorKind.TENDON, SensorKind.IMU):
        return Group.DYNAMICS
    dynamic = ("force", "torque", "accelerometer", "potential_energy")
    dynamic += ("frame_linear_acceleration", "frame_angular_acceleration")
    return Group.DYNAMICS if word in dynamic else Group.STATE


def clipped_to(table: Sensors, k: int) -> float:
    """The size that the numbers of a sensor are clipped to; 0 where they are not."""
    if table.kind[k] in _NOT_CLIPPED or table.word[k] in UNITS:
        return 0.0
    return float(table.cutoff[k])


class SensorTables:
    """The sensors of a model as arenas, with what cannot be read.

    Args:
        model: with a table of sensors.
        constraints: of the step; None for a step without.
        clips: whether the stages clip readings to their cut-offs; noise is added before that.
    """

    def __init__(self, model: Model, constraints: Constraints | None, clips: bool = True) -> None:
        table = model.sensors
        assert table is not None
        self.model, self.table, self._constraints, self._clips = model, table, constraints, clips
        self.refused: dict[int, str] = {}
        """Why sensors cannot be read, by row of the table."""
        self.groups = [group_of(table, k) for k in range(len(table))]
        self.moving: list[tuple[int, int]] = []
        """Frames of sensors that named frames of the scene may move: (frame of sensors, row of the table)."""
        self.seen: CollisionArenas | None = None
        """Shapes that rays see; None without rays."""
        self.solids: CollisionArenas | None = None
        """Shapes between which distances are measured; None without such sensors."""
        self._frames = Anchors(model)
        self._centers: list[tuple[int, int, Array]] = []
        self._rows: dict[str, list[tuple[int, ...]]] = {name: [] for name in _LISTS}
        self._numbers: dict[str, list[Array]] = {name: [] for name in _LISTS}
        self._members: list[int] = []
        self._pairs: list[tuple[int, int]] = []
        self._below: list[np.ndarray] = []
        if not (model.option is not None and model.option.disable_sensors):
            for k in range(len(table)):
                self._pack(k)
        self._lay_out()

    # ---- one sensor

    def _pack(self, k: int) -> None:
        table, before = self.table, {name: len(found) for name, found in self._rows.items()}
        try:
            if table.problem[k]:
                raise CapabilityError(table.problem[k])
            if table.period[k] > 0.0 or table.delay[k] > 0.0:
                self.refused[k] = (
                    f"sensor '{table.label[k]}': readings with a period or a delay are not available"
                )
                return
            _PACKERS[SensorKind(int(table.kind[k]))](self, k)
        except CapabilityError as unable:
            for name, count in before.items():
                del self._rows[name][count:], self._numbers[name][count:]
            self.refused[k] = f"sensor '{table.label[k]}' ({table.word[k]}): {unable}"
            return
        cutoff = clipped_to(table, k)
        if cutoff > 0.0 and self._clips:
            self._add("clip", (int(table.start[k]), int(table.start[k + 1])), cutoff)

    def _add(self, name: str, row: tuple[int, ...], *numbers: float) -> None:
        self._rows[name].append(row)
        self._numbers[name].append(np.array(numbers, np.float64))

    def _frame(self, kind: int, index: int, turn: Array = IDENTITY[3:]) -> int:
        """The frame of an object among those of sensors."""
        model = self.model
        if kind == ObjectKind.BODY:
            return self._frames.add(index, IDENTITY)
        if kind == ObjectKind.INERTIA:
            if index < 0:
                return self._frames.add(index, np.concatenate([np.zeros(3), turn]))
            made = self._frames.add_movable(index, np.concatenate([model.body_com[index], turn]))
            self._centers.append((made, index, turn))
            return made
        found = {
            ObjectKind.SHAPE: model.shapes,
            ObjectKind.SITE: model.sites,
            ObjectKind.CAMERA: model.cameras,
            ObjectKind.FRAME: model.frames,
        }[ObjectKind(kind)]
        assert found is not None
        if kind == ObjectKind.FRAME:
            made = self._frames.add_movable(int(found.body[index]), found.xform[index])
            self.moving.append((made, index))
            return made
        return self._frames.add(int(found.body[index]), found.xform[index])

    def _object(self, k: int) -> int:
        table = self.table
        return self._frame(int(table.object_kind[k]), int(table.object[k]), table.inertial[k, 0])

    def _reference(self, k: int) -> int:
        table = self.table
        return self._frame(int(table.reference_kind[k]), int(table.reference[k]), table.inertial[k, 1])

    def _frame_sensor(self, k: int) -> None:
        table, at = self.table, int(self.table.start[k])
        word = tuple(types.FrameSensorType)[table.quantity[k]]
        reference = ObjectKind(int(table.reference_kind[k]))
        frame = self._object(k)
        if word in _ACCELERATIONS:
            if reference not in _AXES:
                raise CapabilityError(
                    "accelerations are measured in world axes or in those of the object itself"
                )
            self._add("acceleration", (at, _ACCELERATIONS[word], frame, _AXES[reference]))
        elif word in _VELOCITIES:
            axes, other = _AXES.get(reference, t.OTHER_AXES), -1
            if axes == t.OTHER_AXES:
                other = self._reference(k)
            self._add("velocity", (at, _VELOCITIES[word], frame, axes, other))
        elif reference is ObjectKind.LOCAL:
            raise CapabilityError("a frame has no position in itself; name a reference")
        else:
            other = -1 if reference is ObjectKind.NONE else self._reference(k)
            self._add("pose", (at, _POSES[word], frame, other, 0), *np.zeros(6))

    def _imu(self, k: int) -> None:
        at, table = int(self.table.start[k]), self.table
        frame = self._frames.add(int(table.object[k]), table.xform[k])
        self._add("acceleration", (at, t.LINEAR, frame, t.OWN_AXES))
        self._add("velocity", (at + 3, t.ANGULAR, frame, t.OWN_AXES, -1))

    def _joint(self, k: int) -> None:
        model, table, at = self.model, self.table, int(self.table.start[k])
        j, word = int(table.object[k]), tuple(types.JointSensorType)[table.quantity[k]]
        q, dof = int(model.joint_q_start[j]), int(model.joint_qd_start[j])
        is_ball = model.joint_type[j] == JointType.BALL
        one = int(model.joint_qd_start[j + 1]) - dof == 1
        if (word in _BALL and not is_ball) or (word not in (*_BALL, *_LIMITS) and not one):
            kind = JointType(int(model.joint_type[j])).name
            raise CapabilityError(f"{word.name} of joint '{model.joint_label[j]}', which is {kind}")
        if word in _LIMITS:
            limits = [] if self._constraints is None else self._constraints.column.limit_dof.tolist()
            if dof in limits:
                self._add("limit", (at, _LIMITS[word], rows.OF_LIMIT, limits.index(dof)))
        elif word is types.JointSensorType.JointPos:
            self._add("state", (at, t.COORDINATE, q))
        elif word is types.JointSensorType.BallQuat:
            self._add("state", (at, t.UNIT_QUATERNION, q))
        elif word is types.JointSensorType.ActuatorForce:
            if self._constraints is not None and self._constraints.drives:
                self._add("effort", (at, t.DOF_FORCE, dof))
        else:
            for n in range(1 if one else 3):
                self._add("state", (at + n, t.VELOCITY, dof + n))

    def _subtree_links(self, body: int) -> tuple[int, int]:
        """Where the kernel links of a body and of all that hangs on it are listed."""
        links = self.model.link_of_body()[self._subtree(body)]
        first = len(self._members)
        self._members += links[links > 0].tolist()
        return first, len(self._members)

    def _subtree(self, body: int) -> np.ndarray:
        """A body and all that hangs on it; all bodies for the world."""
        model, inside = self.model, {body}
        # parents come before their children
        for j in range(model.joint_count):
            if int(model.joint_parent[j]) in inside:
                inside.add(int(model.joint_child[j]))
        return np.array(sorted(inside - {-1}), np.int64)

    def _subtree_sensor(self, k: int) -> None:
        body, word = int(self.table.object[k]), tuple(types.SubtreeSensorType)[self.table.quantity[k]]
        if self.model.body_mass[self._subtree(body)].sum() <= 0.0:
            raise CapabilityError("a subtree without mass has no centre of mass")
        self._add("subtree", (int(self.table.start[k]), _SUBTREES[word], *self._subtree_links(body)))

    def _actuator(self, k: int) -> None:
        constraints, u = self._constraints, int(self.table.object[k])
        word = tuple(types.ActuatorSensorType)[self.table.quantity[k]]
        found = [] if constraints is None else np.flatnonzero(constraints.actuators == u).tolist()
        if found:
            self._add("effort", (int(self.table.start[k]), _ACTUATORS[word], found[0]))
        elif word is not types.ActuatorSensorType.Force:
            raise CapabilityError("the actuator is switched off: its length is not followed")

    def _tendon(self, k: int) -> None:
        constraints, i, at = self._constraints, int(self.table.object[k]), int(self.table.start[k])
        assert constraints is not None, "tendons with sensors are part of every step"
        word, actuators = tuple(types.TendonSensorType)[self.table.quantity[k]], self.model.actuators
        if word in _LIMITS:
            self._add("limit", (at, _LIMITS[word], rows.OF_TENDON, i))
            return
        self._add("effort", (at, _TENDONS[word], i))
        if word is types.TendonSensorType.ActuatorForce and actuators is not None:
            acting = constraints.actuators
            on = (actuators.target_kind[acting] == TargetKind.TENDON) & (actuators.target[acting] == i)
            for u in np.flatnonzero(on).tolist():
                self._add("sum", (at, u))

    def _site(self, k: int) -> None:
        table, at, frame = self.table, int(self.table.start[k]), self._object(k)
        word, sites = tuple(types.SiteSensorType)[table.quantity[k]], self.model.sites
        assert sites is not None
        body = int(sites.body[table.object[k]])
        if table.ray_start[k] < table.ray_start[k + 1]:
            for j, ray in enumerate(table.ray[table.ray_start[k] : table.ray_start[k + 1]]):
                self._add("ray", (at + j, frame, body + 1), *ray)
        elif word is types.SiteSensorType.Magnetometer:
            field = (self.model.option or SimulateOption()).magnetic
            self._add("pose", (at, t.FIELD, frame, -1, 0), *field, 0.0, 0.0, 0.0)
        else:
            if body < 0:
                raise CapabilityError("a site of the world carries nothing that could be measured")
            unknown = unknown_forces(self.model)
            if unknown:
                raise CapabilityError(f"forces within a body are not available with {', '.join(unknown)}")
            quantity = t.FORCE if word is types.SiteSensorType.Force else t.TORQUE
            self._add("force", (at, quantity, frame, *self._subtree_links(body)))

    def _volume(self, site: int) -> tuple[int, Array]:
        """Kind and half sizes of the volume of a site."""
        sites = self.model.sites
        assert sites is not None
        kind = ShapeKind(int(sites.kind[site]))
        if kind not in _VOLUMES:
            raise CapabilityError(f"a site of kind {kind.name} has no volume")
        return int(kind), sites.size[site]

    def _touch(self, k: int) -> None:
        site, sites = int(self.table.object[k]), self.model.sites
        assert sites is not None
        kind, size = self._volume(site)
        if self._touches:
            row = int(self.table.start[k]), self._object(k), int(sites.body[site]) + 1, kind
            self._add("touch", row, *size)

    @property
    def _touches(self) -> bool:
        return self._constraints is not None and self._constraints.collision is not None

    def _contact(self, k: int) -> None:
        table, match = self.table, self.table.contact_match[k].tolist()
        kind, size, frame = 0, np.zeros(3), -1
        if match[6] >= 0:
            kind, size = self._volume(match[6])
            frame = self._frame(ObjectKind.SITE, match[6])
        if not self._touches:
            return
        numbers = int(table.contact_most[k]), int(table.contact_reduce[k]), int(table.contact_report[k])
        at = int(table.start[k]), int(table.start[k + 1])
        self._add("found", (*at, *numbers, *match[:6], -1, frame, kind), *size)
        below = np.zeros(self.model.body_count + 1, np.int64)
        for bit, body in ((1, match[2]), (2, match[5])):
            if body >= 0:
                below[self._subtree(body) + 1] |= bit
        self._below.append(below)

    def _inside(self, k: int) -> None:
        kind, size = self._volume(int(self.table.reference[k]))
        row = int(self.table.start[k]), t.INSIDE, self._object(k), self._reference(k), kind
        self._add("pose", row, *size, 0.0, 0.0, 0.0)

    def _projection(self, k: int) -> None:
        row = int(self.table.start[k]), t.PIXEL, self._object(k), self._reference(k), 0
        self._add("pose", row, *self.table.lens[k], 0.0, 0.0)

    def _world(self, k: int) -> None:
        word, at = tuple(types.WorldSensorType)[self.table.quantity[k]], int(self.table.start[k])
        if word is types.WorldSensorType.Clock:
            self._add("state", (at, t.TIME, 0))
        else:
            self._add(
                "energy", (at, t.KINETIC if word is types.WorldSensorType.KineticEnergy else t.POTENTIAL)
            )

    def _distance(self, k: int) -> None:
        table, word = self.table, tuple(types.DistanceSensorType)[self.table.quantity[k]]
        first = self._shapes_of(int(table.object_kind[k]), int(table.object[k]))
        second = self._shapes_of(int(table.reference_kind[k]), int(table.reference[k]))
        begin = len(self._pairs)
        kinds = self._solid_types()
        self._pairs += [
            (i, j) for i in first for j in second if pair_family(kinds[i], kinds[j]) != tables.SKIP
        ]
        row = int(table.start[k]), _DISTANCES[word], begin, len(self._pairs)
        self._add("distance", row, float(table.cutoff[k]))

    def _shapes_of(self, kind: int, index: int) -> list[int]:
        """A shape, or all shapes of a body."""
        shapes = self.model.shapes
        if kind == ObjectKind.SHAPE:
            return [index]
        if kind not in (ObjectKind.BODY, ObjectKind.INERTIA) or shapes is None:
            name = ObjectKind(kind).name
            raise CapabilityError(f"a distance is measured between geoms and links, not {name}")
        return np.flatnonzero(shapes.body == index).tolist()

    # ---- shapes

    def _solid_types(self) -> list[int]:
        if self.solids is None:
            model = self.model
            assert model.shapes is not None
            self.solids = self._collision(
                [(collision_shape(model, k), int(model.shapes.body[k])) for k in range(len(model.shapes))]
            )
        return self.solids.column.shape_type.tolist()

    def _collision(self, shapes: list[tuple[CollisionShape, int]], pairs: int = 0) -> CollisionArenas:
        """Collision tables of shapes on bodies, -1 for the world, with the bodies where they start."""
        model = self.model
        bodies = [BodyRow()] * (model.body_count + 1)
        made = CollisionArenas([ShapeRow(shape, body + 1) for shape, body in shapes], bodies, pairs=pairs)
        for b in range(model.body_count):
            made.column.body_X_W[b + 1] = pose12(model.body_q[b])
        return made

    def _finish_solids(self) -> set[int]:
        """Ask for the distances of all pairs; returns their families."""
        if self.solids is None:
            return set()
        if len(self._pairs) > self.solids.sizes["npair"]:
            self.solids.make_room(pairs=len(self._pairs))
        column = self.solids.column
        if self._pairs:
            column.pair[: len(self._pairs)] = self._pairs
        column.counter[tables.PAIRS], column.counter[tables.MODE] = len(self._pairs), tables.DISTANCE_MODE
        kinds = column.shape_type
        families = {pair_family(int(kinds[i]), int(kinds[j])) for i, j in self._pairs}
        links = tuple(sorted({link for family in families for link in FAMILY_LINKS.get(family, ())}))
        set_links(links, self.solids.args)
        return families

    def _seen_shapes(self) -> Array:
        """Lay out what rays see; returns half sizes of planes and radii, (shapes, 3)."""
        model, bounds = self.model, np.zeros((len(self.table.seen), 3))
        shapes = model.shapes
        if not self._rows["ray"]:
            return bounds[:0]
        made = []
        for n, k in enumerate(self.table.seen.tolist()):
            assert shapes is not None
            made.append((_surface(model, k), int(shapes.body[k])))
            if shapes.kind[k] == ShapeKind.PLANE:
                bounds[n, :2] = shapes.seen_size[k]
        self.seen = self._collision(made)
        size, kind = self.seen.column.shape_size, self.seen.column.shape_type
        long = np.isin(kind, (ShapeKind.CAPSULE,))
        round_ = np.isin(kind, (ShapeKind.CYLINDER, ShapeKind.CONE))
        radius = np.where(long, size[:, 0] + size[:, 1], np.linalg.norm(size, axis=1))
        radius = np.where(round_, np.hypot(size[:, 0], size[:, 1]), radius)
        # a hair more, for the rounding of poses
        bounds[:, 2] = 1.000001 * np.where(kind == ShapeKind.SPHERE, size[:, 0], radius)
        return bounds

    # ---- layout

    def _lay_out(self) -> None:
        model, constraints = self.model, self._constraints
        bounds, self._near = self._seen_shapes(), self._finish_solids()
        contacts = 0 if constraints is None else constraints.sizes["ncontact"]
        sizes = {f"n{name}": len(self._rows[name]) for name in _LISTS}
        sizes |= {
            "nreading": self.table.size,
            "nframe": len(self._frames),
            "nmember": len(self._members),
            "nlink": model.arenas.sizes["nlink"],
            "nshape": 0 if constraints is None else len(constraints.shapes),
            "ncontact": contacts if self._rows["found"] else 0,
            "nbelow": model.body_count + 1,
            "nseen": len(bounds),
        }
        self.block = t.TABLE.lay_out(sizes)
        column = self.block.column
        self.reading: Array = column.reading
        """All readings, one after the other; a view."""
        self.time: Array = column.time
        """Simulated time [s], (1,); written before a reading."""
        for name in _LISTS:
            rows_of = column["effort_sum" if name == "sum" else f"{name}_row"]
            if self._rows[name]:
                rows_of[:] = self._rows[name]
        numbers = {
            "pose": "pose_number",
            "touch": "touch_size",
            "found": "found_size",
            "ray": "ray_direction",
        }
        numbers |= {"distance": "distance_reach", "clip": "clip_size"}
        for name, target in numbers.items():
            if self._rows[name]:
                column[target][:] = np.array(self._numbers[name]).reshape(column[target].shape)
        if len(self._frames):
            column.frame_link[:], column.frame_pose[:] = self._frames.links, self._frames.poses
        column.member[:], column.seen_bound[:] = self._members, bounds
        if self._below:
            column.below[:] = self._below
        if constraints is not None and len(constraints.shapes):
            column.shape_row[:] = constraints.shapes
        self.refresh()

    def refresh(self) -> None:
        """Take over parameters that may be written while a world steps: masses and laws of contact."""
        model, constraints, column = self.model, self._constraints, self.block.column
        column.link_weight_share[:] = 1.0 - model.constants["link_gravcomp"]
        for made, body, turn in self._centers:
            self.place(made, body, np.concatenate([model.body_com[body], turn]))
        if constraints is not None and len(constraints.shapes):
            column.shape_hard[:] = constraints.column.shape_law[:, rows.KIND] == rows.HARD

    def place(self, frame: int, body: int, X: Array) -> bool:
        """Move a frame to a pose in a body, -1 for the world; returns whether it was elsewhere."""
        link, pose = link_pose(self.model, body, X)
        column = self.block.column
        moved = column.frame_link[frame] != link or bool((column.frame_pose[frame] != pose).any())
        column.frame_link[frame], column.frame_pose[frame] = link, pose
        return moved

    def arenas(self) -> list[tuple[np.ndarray, ...]]:
        """The arenas of sensors, of shapes that rays see and of solids; the first where there are none."""
        made = [self.block if arenas is None else arenas for arenas in (None, self.seen, self.solids)]
        return [(arenas.m, arenas.c, arenas.args, arenas.d) for arenas in made]

    def grow(self, contacts: int) -> None:
        """Make room for as many contacts as a step may find."""
        before = self.block
        if self._rows["found"] and contacts > before.sizes["ncontact"]:
            self.block = t.TABLE.lay_out(before.sizes | {"ncontact": contacts})
            self.block.take(before)
            self.reading, self.time = self.block.column.reading, self.block.column.time

    def flags(self, groups: frozenset[Group]) -> dict[str, bool]:
        """What stages have to read for some groups of sensors, by names in a `StepPlan`."""
        has = {name: bool(self._rows[name]) for name in _LISTS}
        state, shapes, dynamics = (group in groups for group in Group)
        # velocity rows are of both groups; when forces are computed for one, they are cheap for the other
        made = {
            "read_state": has["state"],
            "read_poses": has["pose"],
            "read_velocities": has["velocity"],
            "read_subtrees": has["subtree"],
        }
        made = {name: value and (state or dynamics) for name, value in made.items()}
        made |= {
            "read_dynamics": dynamics,
            "read_accelerations": has["acceleration"] and dynamics,
            "read_energies": has["energy"] and (state or dynamics),
            "read_efforts": has["effort"] and dynamics,
            "read_limits": has["limit"] and dynamics,
            "read_forces": has["force"] and dynamics,
            "read_touch": has["touch"] and dynamics,
            "read_contacts": has["found"] and dynamics,
            "read_rays": has["ray"] and shapes,
            "read_distances": has["distance"] and shapes,
            "read_clipped": has["clip"],
        }
        framed = ("read_poses", "read_velocities", "read_accelerations", "read_forces")
        framed += ("read_touch", "read_contacts", "read_rays")
        made["read_frames"] = any(made[name] for name in framed)
        for family, name in _FAMILIES.items():
            made[name] = made["read_distances"] and family in self._near
        return made

    def plan(self, plan: StepPlan, groups: frozenset[Group]) -> StepPlan:
        """The plan of a step with what reading some groups of sensors takes."""
        return plan._replace(**self.flags(groups))

    @property
    def present(self) -> frozenset[Group]:
        """Groups that some sensor which can be read is of."""
        return frozenset(group for k, group in enumerate(self.groups) if k not in self.refused)

    @property
    def branches(self) -> bool:
        """Whether some reading takes kernels that branch on numbers, for one world at a time."""
        return any(self._rows[name] for name in ("limit", "found", "ray", "distance"))


def connected(
    sets: list[tuple[Any, ...]], own: list[tuple[np.ndarray, ...]], *, has_rows: bool
) -> list[tuple[Any, ...]]:
    """All sets of arenas, those of a step and those of sensors, which get the addresses of all others."""
    link = own[0][2]
    m, c, _, d = sets[MULTIBODY]
    link[: t.ROW_M] = [address_of(x) for x in (m, c, d)]
    link[t.ROW_M : t.COLLISION_M] = [address_of(x) if has_rows else 0 for x in sets[CONSTRAINT]]
    for arenas, first in zip(own[1:], (t.SEEN_M, t.SOLID_M), strict=True):
        link[first : first + 4] = [address_of(x) for x in arenas]
    return [*sets[:SENSOR], *own]


def _surface(model: Model, k: int) -> CollisionShape:
    """Row `k` of the shapes of a model as rays see it: meshes by their triangles."""
    assert model.shapes is not None
    if model.shapes.kind[k] not in _MESHES:
        return collision_shape(model, k)
    assert model.assets is not None
    mesh = model.assets.mesh(int(model.shapes.source[k]))
    points, place = mesh.vertices * model.shapes.scale[k], model.shapes.xform[k]
    return CollisionShape.mesh(points, mesh.triangles, local_transform=place)


_PACKERS: dict[SensorKind, Callable[[SensorTables, int], None]] = {
    SensorKind.CONTACT: SensorTables._contact,
    SensorKind.FRAME: SensorTables._frame_sensor,
    SensorKind.JOINT: SensorTables._joint,
    SensorKind.SUBTREE: SensorTables._subtree_sensor,
    SensorKind.TOUCH: SensorTables._touch,
    SensorKind.ACTUATOR: SensorTables._actuator,
    SensorKind.TENDON: SensorTables._tendon,
    SensorKind.SITE: SensorTables._site,
    SensorKind.DISTANCE: SensorTables._distance,
    SensorKind.INSIDE: SensorTables._inside,
    SensorKind.PROJECTION: SensorTables._projection,
    SensorKind.WORLD: SensorTables._world,
    SensorKind.IMU: SensorTables._imu,
}
