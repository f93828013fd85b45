# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""World poses of shapes and their axis-aligned boxes, grown by the margin."""

from __future__ import annotations

from worldline._src.jit import inline, kernel, stage
from worldline._src.kernels.narrowphase.tables import (
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    PLANE,
    SPHERE,
    shape_box_view,
    shape_pose_view,
)
from worldline._src.scalar.ops import absolute, constant, maximum, minimum, sqrt
from worldline._src.spatial.rotation import load_position, load_rotation, mat_mul, rotate
from worldline._src.spatial.vec3 import Vec3, add

EVERYWHERE = 1.0e30
"""Half the size of the box of a half space."""


@inline
def _disc(axis, radius):
    """Half sizes of the box of a disc at right angles to `axis`."""
    return Vec3(
        # r sqrt(1 - a_i^2)
        radius * sqrt(maximum(0.0 * axis.x, 1.0 - axis.x * axis.x)),
        radius * sqrt(maximum(0.0 * axis.y, 1.0 - axis.y * axis.y)),
        radius * sqrt(maximum(0.0 * axis.z, 1.0 - axis.z * axis.z)),
    )


@inline
def _swept(axis, length, half):
    """Half sizes of the box of what sweeps a box of half sizes `half` to both sides along `axis`."""
    # |a_i| l + h_i
    return Vec3(
        absolute(axis.x) * length + half.x,
        absolute(axis.y) * length + half.y,
        absolute(axis.z) * length + half.z,
    )


@inline
def shape_box(kind, size, R):
    """Lowest and highest coordinates of a shape about its own origin, in world axes."""
    if kind == PLANE:
        far = constant(EVERYWHERE, R.xx)
        return Vec3(-far, -far, -far), Vec3(far, far, far)
    axis = Vec3(R.xz, R.yz, R.zz)
    if kind == SPHERE:
        half = Vec3(size.x, size.x, size.x)
    elif kind == CAPSULE:
        half = _swept(axis, size.y, Vec3(size.x, size.x, size.x))
    elif kind == CYLINDER:
        half = _swept(axis, size.y, _disc(axis, size.x))
    elif kind == CONE:
        # the base disc at -half of the axis and the apex at +half
        rim = _disc(axis, size.x)
        x, y, z = axis.x * size.y, axis.y * size.y, axis.z * size.y
        low = Vec3(minimum(-x - rim.x, x), minimum(-y - rim.y, y), minimum(-z - rim.z, z))
        return low, Vec3(maximum(rim.x - x, x), maximum(rim.y - y, y), maximum(rim.z - z, z))
    elif kind == ELLIPSOID:
        # h_i = |row i of R diag(a, b, c)|
        xx, xy, xz = R.xx * size.x, R.xy * size.y, R.xz * size.z
        yx, yy, yz = R.yx * size.x, R.yy * size.y, R.yz * size.z
        zx, zy, zz = R.zx * size.x, R.zy * size.y, R.zz * size.z
        half = Vec3(
            sqrt(xx * xx + xy * xy + xz * xz),
            sqrt(yx * yx + yy * yy + yz * yz),
            sqrt(zx * zx + zy * zy + zz * zz),
        )
    else:
        # boxes, and everything with vertices by the half sizes of its local box
        half = Vec3(
            absolute(R.xx) * size.x + absolute(R.xy) * size.y + absolute(R.xz) * size.z,
            absolute(R.yx) * size.x + absolute(R.yy) * size.y + absolute(R.yz) * size.z,
            absolute(R.zx) * size.x + absolute(R.zy) * size.y + absolute(R.zz) * size.z,
        )
    return Vec3(-half.x, -half.y, -half.z), half


@inline
def pose_shape(shapes, i, X_out):
    """Pose of shape `i` from that of its body; also returned as position and rotation."""
    X_WB, X_BS, b = shapes.body_X_W, shapes.shape_X_BS, shapes.shape_body[i]
    # X_WS = X_WB X_BS
    R_WB = load_rotation(X_WB, b)
    p = add(load_position(X_WB, b), rotate(R_WB, load_position(X_BS, i)))
    R = mat_mul(R_WB, load_rotation(X_BS, i))
    X_out[i, 0], X_out[i, 1], X_out[i, 2] = p.x, p.y, p.z
    X_out[i, 3], X_out[i, 4], X_out[i, 5] = R.xx, R.xy, R.xz
    X_out[i, 6], X_out[i, 7], X_out[i, 8] = R.yx, R.yy, R.yz
    X_out[i, 9], X_out[i, 10], X_out[i, 11] = R.zx, R.zy, R.zz
    return p, R


@kernel
def pose_shapes(shapes, placed_out):
    """Body poses -> shape poses and boxes."""
    box = placed_out.box
    for i in range(shapes.shape_type.shape[0]):
        p, R = pose_shape(shapes, i, placed_out.shape_X_W)
        zero, sizes = constant(0.0, p.x), shapes.shape_size
        size = Vec3(zero + sizes[i, 0], zero + sizes[i, 1], zero + sizes[i, 2])
        low, high = shape_box(shapes.shape_type[i], size, R)
        margin = shapes.shape_margin[i]
        box[i, 0], box[i, 1], box[i, 2] = p.x + low.x - margin, p.y + low.y - margin, p.z + low.z - margin
        box[i, 3], box[i, 4], box[i, 5] = p.x + high.x + margin, p.y + high.y + margin, p.z + high.z + margin


@stage
def shape_poses(m, c, args, d):
    """Body poses -> shape poses and boxes."""
    pose_shapes(shape_pose_view(m, c, args, d), shape_box_view(m, c, args, d))
