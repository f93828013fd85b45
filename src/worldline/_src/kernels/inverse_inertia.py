# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse inertia that points of bodies show, from the inverse of the mass matrix."""

from __future__ import annotations

from worldline._src.jit import entry, inline
from worldline._src.spatial.motion import load_motion, velocity_at
from worldline._src.spatial.vec3 import load_vec3


@inline
def _column(S, d, r):
    """Column d of the Jacobian of a point: angular velocity, then velocity."""
    # (w, v + w x r)
    motion = load_motion(S, d)
    return motion.ang, velocity_at(motion, r)


@entry(
    signature="int64[::1] int64[::1] int64[:,::1] float64[:,::1] float64[:,::1] float64[::1] float64[:,::1]",
    label="inverse inertias of bodies",
)
def inverse_inertias(last, above, place, S, point, inverse, out):
    """diag(J M^-1 J^T) of a point of every body, by the columns of J that move it. O(n depth^2).

    last: last degree of freedom that moves each body, -1 for none. above: the one before each, or -1. place:
    of each degree of freedom, the first of its tree, the number of those, and where the inverse of the mass
    matrix of the tree begins in `inverse`. S, (nv, 6), and point, (bodies, 3), in world axes about the
    reference point of the tree. out: three angular rows, three linear ones, (bodies, 6).
    """
    for b in range(last.shape[0]):
        for row in range(6):
            out[b, row] = 0.0
        r = load_vec3(point, b)
        i = last[b]
        while i >= 0:
            w_i, v_i = _column(S, i, r)
            first, count = place[i, 0], place[i, 1]
            # row i of M^-1 of the tree
            at = place[i, 2] + (i - first) * count - first
            j = last[b]
            while j >= 0:
                # J_ri (M^-1)_ij J_rj, summed over i and j
                w_j, v_j = _column(S, j, r)
                weight = inverse[at + j]
                out[b, 0] += w_i.x * weight * w_j.x
                out[b, 1] += w_i.y * weight * w_j.y
                out[b, 2] += w_i.z * weight * w_j.z
                out[b, 3] += v_i.x * weight * v_j.x
                out[b, 4] += v_i.y * weight * v_j.y
                out[b, 5] += v_i.z * weight * v_j.z
                j = above[j]
            i = above[i]
