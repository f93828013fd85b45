# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of anchors: frames fixed to links that constraints, springs, tendons and actuators act on."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.spatial.rotation import Mat3, load_mat3, mat_mul, rotate
from worldline._src.spatial.vec3 import Vec3, add, load_vec3


@inline
def anchor_position(X, k):
    """Position of anchor `k`."""
    return Vec3(X[k, 0], X[k, 1], X[k, 2])


@inline
def anchor_rotation(X, k):
    """Rotation of anchor `k`."""
    return Mat3(X[k, 3], X[k, 4], X[k, 5], X[k, 6], X[k, 7], X[k, 8], X[k, 9], X[k, 10], X[k, 11])


@inline
def _store_pose(X, k, p, R):
    X[k, 0], X[k, 1], X[k, 2] = p.x, p.y, p.z
    X[k, 3], X[k, 4], X[k, 5] = R.xx, R.xy, R.xz
    X[k, 6], X[k, 7], X[k, 8] = R.yx, R.yy, R.yz
    X[k, 9], X[k, 10], X[k, 11] = R.zx, R.zy, R.zz


@kernel
def anchor_poses(tree, pos, anchor_io):
    """anchor_X: position (3) and rotation matrix (9) in the world of anchors given in their links."""
    link, local, X = anchor_io.anchor_link, anchor_io.anchor_pose, anchor_io.anchor_X
    for k in range(link.shape[0]):
        i = link[k]
        p, R = anchor_position(local, k), anchor_rotation(local, k)
        if i > 0:
            # p_W = o + p_L + R_L p,  R_W = R_L R
            R_WL = load_mat3(pos.link_R, i)
            at = add(load_vec3(pos.link_p, i), rotate(R_WL, p))
            _store_pose(X, k, add(load_vec3(pos.link_origin, tree.link_root[i]), at), mat_mul(R_WL, R))
        else:
            _store_pose(X, k, p, R)
