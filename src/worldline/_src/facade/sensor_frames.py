# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What sensors of frames, subtrees, inertial units and cameras read."""

from __future__ import annotations

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.facade.sensor_moment import Moment, Place, across, camera_of
from worldline._src.model.sensor_tables import ObjectKind, Sensors
from worldline._src.scene.sensor_types import FrameSensorType, SubtreeSensorType
from worldline._src.spatial.poses import Array, cross, quaternion, turned

_FRAME, _SUBTREE = tuple(FrameSensorType), tuple(SubtreeSensorType)
_AXES = {FrameSensorType.XAxis: 0, FrameSensorType.YAxis: 1, FrameSensorType.ZAxis: 2}


def frame_reading(moment: Moment, table: Sensors, k: int) -> Array:
    """Position, rotation, velocity or acceleration of a frame, told in another."""
    word = _FRAME[table.quantity[k]]
    found = _placed(moment, word, int(table.object_kind[k]), int(table.object[k]))
    reference = ObjectKind(int(table.reference_kind[k]))
    if word in (FrameSensorType.FrameLinAcc, FrameSensorType.FrameAngAcc):
        if reference not in (ObjectKind.NONE, ObjectKind.LOCAL):
            raise CapabilityError("accelerations are told in world axes or in those of the object itself")
        turn, linear = moment.acceleration(found)
        # what is at rest is held up against gravity
        told = turn if word is FrameSensorType.FrameAngAcc else linear - moment.model.gravity
        return told if reference is ObjectKind.NONE else found.R_W.T @ told
    if word in (FrameSensorType.FrameLinVel, FrameSensorType.FrameAngVel):
        return _velocity(moment, table, k, found, word is FrameSensorType.FrameAngVel)
    if reference is ObjectKind.LOCAL:
        raise CapabilityError("where a frame is cannot be told in the frame itself; name a reference")
    p, R = found.p_W, found.R_W
    if reference is not ObjectKind.NONE:
        other = _placed(moment, word, int(reference), int(table.reference[k]))
        p, R = other.R_W.T @ (p - other.p_W), other.R_W.T @ R
    if word is FrameSensorType.FramePos:
        return p.copy()
    return quaternion(R) if word is FrameSensorType.FrameQuat else R[:, _AXES[word]].copy()


def _placed(moment: Moment, word: FrameSensorType, kind: int, index: int) -> Place:
    """The frame of an object; where its axes do not matter, those of a body stand for the principal ones."""
    if kind == ObjectKind.INERTIA and word in (FrameSensorType.FramePos, FrameSensorType.FrameLinVel):
        return moment.center(index)
    return moment.place(kind, index)


def _velocity(moment: Moment, table: Sensors, k: int, found: Place, angular: bool) -> Array:
    spin, linear = moment.velocity(found)
    reference = ObjectKind(int(table.reference_kind[k]))
    if reference is ObjectKind.NONE:
        return (spin if angular else linear).copy()
    if reference is ObjectKind.LOCAL:
        return found.R_W.T @ (spin if angular else linear)
    other = moment.place(reference, int(table.reference[k]))
    other_spin, other_linear = moment.velocity(other)
    if angular:
        return other.R_W.T @ (spin - other_spin)
    return other.R_W.T @ (linear - other_linear - across(other_spin, found.p_W - other.p_W))


def inertial_reading(moment: Moment, table: Sensors, k: int) -> Array:
    """Acceleration against gravity, then angular velocity, in the axes of the unit."""
    unit = moment.fixed(int(table.object[k]), table.xform[k])
    linear = moment.acceleration(unit)[1] - moment.model.gravity
    return np.concatenate([unit.R_W.T @ linear, unit.R_W.T @ moment.velocity(unit)[0]])


def subtree_reading(moment: Moment, table: Sensors, k: int) -> Array:
    """Centre of mass of a subtree, its velocity, or the angular momentum about it."""
    body, model = int(table.object[k]), moment.model
    rows = moment.subtree(body)
    mass = model.body_mass[rows, None]
    total = float(mass.sum())
    if total <= 0.0:
        raise CapabilityError("a subtree without mass has no centre of mass")
    lever = turned(moment.R[rows], model.body_com[rows])
    centers = moment.poses[rows, :3] + lever
    center = (mass * centers).sum(axis=0) / total
    word = _SUBTREE[table.quantity[k]]
    if word is SubtreeSensorType.Com:
        return center
    spin = moment.velocities[rows, :3]
    speeds = moment.velocities[rows, 3:] + cross(spin, lever)
    speed = (mass * speeds).sum(axis=0) / total
    if word is SubtreeSensorType.LinVel:
        return speed
    inertia = moment.R[rows] @ model.body_inertia[rows] @ moment.R[rows].transpose(0, 2, 1)
    return (turned(inertia, spin) + cross(centers - center, mass * (speeds - speed))).sum(axis=0)


def projected_reading(moment: Moment, table: Sensors, k: int) -> Array:
    """Column and row of a site in the image of a camera, from its upper left corner [pixels]."""
    site = moment.place(int(table.object_kind[k]), int(table.object[k]))
    camera = camera_of(moment.runtime, int(table.reference[k]))
    view = moment.place(ObjectKind.CAMERA, int(table.reference[k]))
    if camera.orthographic:
        raise CapabilityError(f"camera '{camera.name}' is orthographic; sensors project perspectives only")
    size = np.array([camera.resolution_x, camera.resolution_y], float)
    shift = np.zeros(2)
    if camera.sensor_size is not None and all(camera.sensor_size):
        pixel = np.asarray(camera.sensor_size) / size
        lens = camera.focal_length
        if lens is None or not all(lens):
            raise CapabilityError(f"camera '{camera.name}' has a sensor size and no focal length")
        focal = np.asarray(lens) / pixel
        if camera.principal_point is not None:
            # the sensor lies upside down behind the lens, as in pictures of this camera
            shift = -np.asarray(camera.principal_point) / pixel
    else:
        focal = np.full(2, 0.5 * size[1] / np.tan(0.5 * np.radians(camera.fovy)))
    x, y, z = view.R_W.T @ (site.p_W - view.p_W)
    # the camera looks along -z; rows of the image run down
    depth = min(z, -1e-15) if z <= 0.0 else max(z, 1e-15)
    return np.array([-focal[0] * x / depth, focal[1] * y / depth]) + 0.5 * size + shift
