# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of anchors: frames fixed to links that constraints, springs, tendons and actuators act on."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.spatial.rotation import (
    load_mat3,
    load_position,
    load_rotation,
    mat_mul,
    rotate,
    store_pose,
)
from worldline._src.spatial.vec3 import add, load_vec3


@inline
def point_of_link(pos, i, p):
    """A point of link `i` relative to the reference point of its tree, world axes."""
    # p_L + R_L p
    return add(load_vec3(pos.link_p, i), rotate(load_mat3(pos.link_R, i), p))


@inline
def fixed_poses(tree, pos, link, local, X_out):
    """Position (3) and rotation matrix (9) in the world of frames given in their links, 0 for the world."""
    for k in range(link.shape[0]):
        i = link[k]
        p, R = load_position(local, k), load_rotation(local, k)
        if i > 0:
            # p_W = o + p_L + R_L p,  R_W = R_L R
            at = add(load_vec3(pos.link_origin, tree.link_root[i]), point_of_link(pos, i, p))
            store_pose(X_out, k, at, mat_mul(load_mat3(pos.link_R, i), R))
        else:
            store_pose(X_out, k, p, R)


@kernel
def anchor_poses(tree, pos, anchor_io):
    """anchor_X: poses in the world of anchors given in their links."""
    fixed_poses(tree, pos, anchor_io.anchor_link, anchor_io.anchor_pose, anchor_io.anchor_X)
