# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of frames: where they are, how they move, and what follows from that."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.anchors import fixed_poses, point_of_link
from worldline._src.kernels.sensors.tables import (
    ANGULAR,
    FIELD,
    INSIDE,
    LINEAR,
    OTHER_AXES,
    OWN_AXES,
    PIXEL,
    POSITION,
    QUATERNION,
    TIME,
    UNIT_QUATERNION,
    VELOCITY,
    X_AXIS,
    Y_AXIS,
)
from worldline._src.kernels.sensors.volumes import contains
from worldline._src.kernels.velocities import classical_acceleration
from worldline._src.scalar.ops import clamp, constant, maximum, minimum, where
from worldline._src.spatial.motion import Motion, load_motion, store_spatial, velocity_at
from worldline._src.spatial.rotation import (
    load_position,
    load_quat,
    load_rotation,
    matrix_to_quat,
    normalized,
    relative_rotation,
    rotate_back,
    store_quat,
)
from worldline._src.spatial.vec3 import Vec3, cross, store_three, sub

_NEAREST = 1e-15
"""Depth at which a point counts as being in front of a camera or behind it [m]."""


@inline
def _arm(pos, frames, k, i):
    """Origin of frame `k` of link `i` relative to the reference point of its tree, world axes."""
    return point_of_link(pos, i, load_position(frames.frame_pose, k))


@kernel
def frame_poses(tree, pos, frames_io):
    """Position p_L + R_L p and rotation R_L R of every frame; those of the world stay."""
    fixed_poses(tree, pos, frames_io.frame_link, frames_io.frame_pose, frames_io.frame_X)


@kernel
def frame_velocities(pos, vel, frames_io):
    """Angular velocity and velocity of the origin of every frame, V_P = V + w x r; zero in the world."""
    for k in range(frames_io.frame_link.shape[0]):
        i = frames_io.frame_link[k]
        if i > 0:
            V = load_motion(vel.link_V, i)
            store_spatial(frames_io.frame_V, k, Motion(V.ang, velocity_at(V, _arm(pos, frames_io, k, i))))


@kernel
def frame_accelerations(pos, vel, A, frames_io):
    """Angular acceleration and classical acceleration of the origin of every frame; zero in the world."""
    for k in range(frames_io.frame_link.shape[0]):
        i = frames_io.frame_link[k]
        if i > 0:
            # a_P = a + a_w x r + w x (v + w x r)
            V, Ai, r = load_motion(vel.link_V, i), load_motion(A, i), _arm(pos, frames_io, k, i)
            store_spatial(frames_io.frame_A, k, Motion(Ai.ang, classical_acceleration(V, Ai, r)))


@inline
def _pixel(view, number, n):
    """Column and row of a point in the frame of a camera that looks along -z, rows running down."""
    # u = c_x - f_x x / z, v = c_y + f_y y / z; depths near zero are kept off it on their side
    ahead, behind = minimum(view.z, -_NEAREST), maximum(view.z, _NEAREST)
    inverse = 1.0 / where(view.z <= 0.0, ahead, behind)
    x = number[n, 2] - number[n, 0] * view.x * inverse
    return x, number[n, 3] + number[n, 1] * view.y * inverse


@kernel
def read_poses(frames, rows, reading_out):
    """p, R of a frame, or R_O^T (p - p_O), R_O^T R in another; a field R^T B; a pixel; inside of a volume."""
    X, number, row = frames.frame_X, rows.pose_number, rows.pose_row
    for n in range(row.shape[0]):
        at, quantity, k, other = row[n, 0], row[n, 1], row[n, 2], row[n, 3]
        p, R = load_position(X, k), load_rotation(X, k)
        if quantity == FIELD:
            field = Vec3(number[n, 0] + 0.0 * p.x, number[n, 1] + 0.0 * p.x, number[n, 2] + 0.0 * p.x)
            store_three(reading_out, at, rotate_back(R, field))
            continue
        if other >= 0:
            # R_O^T (p - p_O), R_O^T R
            R_O = load_rotation(X, other)
            p, R = rotate_back(R_O, sub(p, load_position(X, other))), relative_rotation(R_O, R)
        if quantity == POSITION:
            store_three(reading_out, at, p)
        elif quantity == QUATERNION:
            store_quat(reading_out, at, matrix_to_quat(R))
        elif quantity == INSIDE:
            size = Vec3(number[n, 0], number[n, 1], number[n, 2])
            reading_out[at] = contains(row[n, 4], size, p)
        elif quantity == PIXEL:
            reading_out[at], reading_out[at + 1] = _pixel(p, number, n)
        elif quantity == X_AXIS:
            store_three(reading_out, at, Vec3(R.xx, R.yx, R.zx))
        elif quantity == Y_AXIS:
            store_three(reading_out, at, Vec3(R.xy, R.yy, R.zy))
        else:
            store_three(reading_out, at, Vec3(R.xz, R.yz, R.zz))


@kernel
def read_velocities(frames, rows, reading_out):
    """w or v of a frame in world axes or its own, or relative to a moving frame O and in its axes.

    v - v_O - w_O x (p - p_O) is the velocity that an observer on O sees.
    """
    X, V, row = frames.frame_X, frames.frame_V, rows.velocity_row
    for n in range(row.shape[0]):
        at, quantity, k, axes, other = row[n, 0], row[n, 1], row[n, 2], row[n, 3], row[n, 4]
        # rows of a twist: angular, then linear
        first = 0 if quantity == ANGULAR else 3
        a = Vec3(V[k, first], V[k, first + 1], V[k, first + 2])
        if axes == OWN_AXES:
            a = rotate_back(load_rotation(X, k), a)
        elif axes == OTHER_AXES:
            a = sub(a, Vec3(V[other, first], V[other, first + 1], V[other, first + 2]))
            if quantity == LINEAR:
                # v - v_O - w_O x (p - p_O)
                spin = Vec3(V[other, 0], V[other, 1], V[other, 2])
                a = sub(a, cross(spin, sub(load_position(X, k), load_position(X, other))))
            a = rotate_back(load_rotation(X, other), a)
        store_three(reading_out, at, a)


@kernel
def read_accelerations(frames, rows, gravity, reading_out):
    """Angular acceleration, or acceleration against gravity a - g, of a frame in world axes or its own."""
    X, A, row = frames.frame_X, frames.frame_A, rows.acceleration_row
    for n in range(row.shape[0]):
        at, quantity, k, axes = row[n, 0], row[n, 1], row[n, 2], row[n, 3]
        if quantity == ANGULAR:
            a = Vec3(A[k, 0], A[k, 1], A[k, 2])
        else:
            # specific force: a - g
            a = Vec3(A[k, 3] - gravity[0], A[k, 4] - gravity[1], A[k, 5] - gravity[2])
        if axes == OWN_AXES:
            a = rotate_back(load_rotation(X, k), a)
        store_three(reading_out, at, a)


@kernel
def read_state(q, v, rows, reading_out):
    """Coordinates, velocities, quaternions of ball joints made unit, and the time."""
    row = rows.state_row
    for n in range(row.shape[0]):
        at, quantity, k = row[n, 0], row[n, 1], row[n, 2]
        if quantity == TIME:
            reading_out[at] = rows.time[0]
        elif quantity == VELOCITY:
            reading_out[at] = v[k]
        elif quantity == UNIT_QUATERNION:
            store_quat(reading_out, at, normalized(load_quat(q, k)))
        else:
            reading_out[at] = q[k]


@kernel
def clip(rows_io):
    """Readings within plus and minus their cut-off."""
    reading = rows_io.reading
    for n in range(rows_io.clip_row.shape[0]):
        size = constant(rows_io.clip_size[n], reading[0])
        for k in range(rows_io.clip_row[n, 0], rows_io.clip_row[n, 1]):
            reading[k] = clamp(reading[k], -size, size)
