# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of bodies as homogeneous transforms."""

from __future__ import annotations

from worldline._src.jit import entry, outline


@outline
def _product(a, b):
    """a b, rounded: within a sum the compiler would fuse it, and bits were not those of one pose alone."""
    return a * b


@entry(signature="float64[:,::1] int64[::1] float64[:,::1]", label="transforms of bodies")
def pose_matrices(poses, rows, X_out):
    """4x4 transforms, 16 numbers a row, of some rows of position and unit quaternion xyzw, (n, 7)."""
    for k in range(rows.shape[0]):
        b = rows[k]
        x, y, z, w = poses[b, 3], poses[b, 4], poses[b, 5], poses[b, 6]
        xx, yy, zz = _product(x, x), _product(y, y), _product(z, z)
        xy, xz, yz = _product(x, y), _product(x, z), _product(y, z)
        wx, wy, wz = _product(w, x), _product(w, y), _product(w, z)
        X_out[k, 0], X_out[k, 1], X_out[k, 2] = 1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (xz + wy)
        X_out[k, 4], X_out[k, 5], X_out[k, 6] = 2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx)
        X_out[k, 8], X_out[k, 9], X_out[k, 10] = 2.0 * (xz - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy)
        X_out[k, 3], X_out[k, 7], X_out[k, 11] = poses[b, 0], poses[b, 1], poses[b, 2]
        X_out[k, 12], X_out[k, 13], X_out[k, 14], X_out[k, 15] = 0.0, 0.0, 0.0, 1.0
