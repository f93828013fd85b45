# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of bodies as position and rotation matrix, as collision wants them."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.spatial.rotation import load_mat3, mat_mul, rotate
from worldline._src.spatial.vec3 import add, load_vec3


@kernel
def body_matrices(tree, body, pos, rows, X_out):
    """X_out: position (3) and rotation matrix (9) of bodies whose links are `rows`, 0 for the world."""
    for b in range(rows.shape[0]):
        i = rows[b]
        if i == 0:
            continue
        R, p = load_mat3(pos.link_R, i), load_vec3(pos.link_p, i)
        p = add(p, load_vec3(pos.link_origin, tree.link_root[i]))
        if body.link_offset[i] != 0:
            p = add(p, rotate(R, load_vec3(body.link_p_post, i)))
            R = mat_mul(R, load_mat3(body.link_R_post, i))
        X_out[b, 0], X_out[b, 1], X_out[b, 2] = p.x, p.y, p.z
        X_out[b, 3], X_out[b, 4], X_out[b, 5] = R.xx, R.xy, R.xz
        X_out[b, 6], X_out[b, 7], X_out[b, 8] = R.yx, R.yy, R.yz
        X_out[b, 9], X_out[b, 10], X_out[b, 11] = R.zx, R.zy, R.zz
