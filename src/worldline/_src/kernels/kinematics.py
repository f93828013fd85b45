# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of all links and the motion of every degree of freedom."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.joints import AXES, BALL, FREE, SLIDE, TURN
from worldline._src.scalar.ops import constant
from worldline._src.spatial.motion import Motion, store_spatial
from worldline._src.spatial.rotation import (
    load_mat3,
    load_quat,
    mat_mul,
    normalized,
    quat_to_matrix,
    rotate,
    store_mat3,
    turn_about_z,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, load_vec3, scale, store_vec3


@kernel
def kinematics(tree, joint, q, pos_out):
    """Link poses and joint motions from base to tip [Featherstone 2008, ch. 4.4], world axes.

    Positions are relative to the position of the tree's root link, so far from the world's origin no
    digits are lost. Joint frames are turned beforehand so that every axis is the local z. O(n).
    """
    # outputs
    link_R, link_p, origin, S = pos_out.link_R, pos_out.link_p, pos_out.link_origin, pos_out.dof_S
    # inputs
    parent, kind, q_start = tree.link_parent, tree.link_kind, tree.link_q_start
    v_start, v_end = tree.link_v_start, tree.link_v_end
    dof_kind, pitch = joint.dof_kind, joint.dof_pitch

    for i in range(1, parent.shape[0]):
        p = parent[i]
        k = kind[i]
        qi = q_start[i]
        vi = v_start[i]

        # joint frame before motion; x is its position relative to the parent
        R_WP = load_mat3(link_R, p)
        R = mat_mul(R_WP, load_mat3(joint.link_R_pre, i))
        x = rotate(R_WP, load_vec3(joint.link_p_pre, i))
        zero = constant(0.0, R.xx)
        none = Vec3(zero, zero, zero)
        at = load_vec3(link_p, p)

        if k == AXES:
            # a sequence of axes; slides come first, so x is final when the first axis turns
            for d in range(vi, v_end[i]):
                if d > vi:
                    R = mat_mul(R, load_mat3(joint.dof_R_pre, d))
                z = Vec3(R.xz, R.yz, R.zz)
                angle = q[qi + d - vi]
                if dof_kind[d] == SLIDE:
                    x = add(x, scale(z, angle))
                    store_spatial(S, d, Motion(none, z))
                else:
                    R = turn_about_z(R, angle)
                    lin = cross(add(at, x), z) if p > 0 else none
                    if dof_kind[d] != TURN:
                        x = add(x, scale(z, angle * pitch[d]))
                        lin = add(lin, scale(z, pitch[d]))
                    store_spatial(S, d, Motion(z, lin))
        elif k == FREE:
            # position in the joint frame, then a free orientation
            x = add(x, rotate(R, Vec3(q[qi], q[qi + 1], q[qi + 2])))
            store_spatial(S, vi, Motion(none, Vec3(R.xx, R.yx, R.zx)))
            store_spatial(S, vi + 1, Motion(none, Vec3(R.xy, R.yy, R.zy)))
            store_spatial(S, vi + 2, Motion(none, Vec3(R.xz, R.yz, R.zz)))
            qi = qi + 3
            vi = vi + 3

        r = add(at, x) if p > 0 else none
        if k == BALL or k == FREE:
            # free orientation; its columns are the axes of the turned frame
            R = mat_mul(R, quat_to_matrix(normalized(load_quat(q, qi))))
            X = Vec3(R.xx, R.yx, R.zx)
            Y = Vec3(R.xy, R.yy, R.zy)
            Z = Vec3(R.xz, R.yz, R.zz)
            store_spatial(S, vi, Motion(X, cross(r, X)))
            store_spatial(S, vi + 1, Motion(Y, cross(r, Y)))
            store_spatial(S, vi + 2, Motion(Z, cross(r, Z)))

        if p == 0:
            store_vec3(origin, i, x)
        store_mat3(link_R, i, R)
        store_vec3(link_p, i, r)
