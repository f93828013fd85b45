# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of all links and the motion of every degree of freedom."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.joints import joint_motion, turn_angles
from worldline._src.spatial.rotation import load_mat3, mat_mul, rotate, store_mat3
from worldline._src.spatial.vec3 import load_vec3, store_vec3


@kernel
def kinematics(tree, joint, q, pos_out):
    """Link poses and joint motions from base to tip [Featherstone 2008, ch. 4.4], world axes.

    Positions are relative to the position of the tree's root link, so far from the world's origin no
    digits are lost. Joint frames are turned beforehand so that every axis is the local z. O(n).
    """
    # outputs
    link_R, link_p, origin = pos_out.link_R, pos_out.link_p, pos_out.link_origin
    # inputs
    parent = tree.link_parent

    turn_angles(joint.turn_q, q, 1.0, pos_out.turn_sin, pos_out.turn_cos)
    for i in range(1, parent.shape[0]):
        p = parent[i]

        # joint frame before motion; x is its position relative to the parent
        R_WP = load_mat3(link_R, p)
        R = mat_mul(R_WP, load_mat3(joint.link_R_pre, i))
        x = rotate(R_WP, load_vec3(joint.link_p_pre, i))
        R, x, r = joint_motion(tree, joint, q, i, R, x, pos_out)

        if p == 0:
            store_vec3(origin, i, x)
        store_mat3(link_R, i, R)
        store_vec3(link_p, i, r)
