# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse inertias that degrees of freedom and centres of mass show, from mass matrices of trees."""

from __future__ import annotations

from worldline._src.jit import entry, inline
from worldline._src.scalar.ops import maximum, minimum, where
from worldline._src.spatial.motion import Motion, add_motion, load_motion, scale_motion, velocity_at
from worldline._src.spatial.rotation import load_mat3, rotate
from worldline._src.spatial.vec3 import Vec3, add, load_vec3

_ROUNDING = 1e-24
"""What is left of a motion that joints do not allow, as a share of the other: that of rotation by that of
translation [m^2], or the other way round. A radius of gyration of a nanometre is 1e-18."""


@inline
def _factor(above, mobile, row, mass, factor_out, report_out):
    """M = L^T D L along the trees, tips first [Featherstone 2008, ch. 6.5]. O(n depth^2).

    Rows of L have their unit diagonal replaced by the inverse of D. What is prescribed has zeros there, so
    that nothing passes through it.
    """
    n = above.shape[0]
    for d in range(n):
        at = row[d]
        e = d
        while e >= 0:
            factor_out[at + e] = mass[at + e]
            e = above[e]
    for d in range(n - 1, -1, -1):
        at = row[d]
        # D_dd, and its share of M_dd: how far the tree is from a motion without inertia
        pivot, whole, moves = factor_out[at + d], mass[at + d], mobile[d]
        safe = where(pivot > 0.0, pivot, 1.0)
        share = where(pivot > 0.0, safe / where(whole > 0.0, whole, 1.0), 0.0)
        report_out[0] = minimum(report_out[0], where(moves == 0.0, 1.0, share))
        report_out[1] = minimum(report_out[1], where(moves == 0.0, 1.0, whole))
        report_out[2] = maximum(report_out[2], whole)
        inverse = where(moves == 0.0, 0.0, 1.0 / safe)
        e = above[d]
        while e >= 0:
            # L_de = M_de / D_dd, then M_ef -= L_de M_df for ancestors e, f of d
            x = factor_out[at + e] * inverse
            beside = row[e]
            f = e
            while f >= 0:
                factor_out[beside + f] -= x * factor_out[at + f]
                f = above[f]
            factor_out[at + e] = x
            e = above[e]
        factor_out[at + d] = inverse


@inline
def _invert(above, row, factor, inverse_out):
    """Entries of M^-1 between degrees of freedom above each other, base first [Takahashi 1973].

    L M^-1 = D^-1 L^-T has no entries left of its diagonal. O(n depth^2).
    """
    for d in range(above.shape[0]):
        at = row[d]
        # (M^-1)_de = -sum of L_df (M^-1)_fe over ancestors f
        e = above[d]
        while e >= 0:
            total = 0.0
            f = above[d]
            while f >= 0:
                total -= factor[at + f] * inverse_out[row[max(e, f)] + min(e, f)]
                f = above[f]
            inverse_out[at + e] = total
            e = above[e]
        # (M^-1)_dd = 1 / D_dd - sum of L_df (M^-1)_fd
        total = factor[at + d]
        f = above[d]
        while f >= 0:
            total -= factor[at + f] * inverse_out[at + f]
            f = above[f]
        inverse_out[at + d] = total


@inline
def _column(S, d, r):
    """Column d of the Jacobian of a point: angular velocity, then velocity."""
    # (w, v + w x r)
    motion = load_motion(S, d)
    return Motion(motion.ang, velocity_at(motion, r))


@inline
def _of_point(above, row, S, inverse, last, r):
    """diag(J M^-1 J^T) of a point that `last` is the last degree of freedom to move. O(depth^2)."""
    total = Motion(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    i = last
    while i >= 0:
        at = row[i]
        a = _column(S, i, r)
        # J_i ((M^-1)_ii J_i + 2 sum of (M^-1)_ij J_j over ancestors j)
        b = scale_motion(a, inverse[at + i])
        j = above[i]
        while j >= 0:
            b = add_motion(b, scale_motion(_column(S, j, r), 2.0 * inverse[at + j]))
            j = above[j]
        total = Motion(
            Vec3(
                total.ang.x + a.ang.x * b.ang.x,
                total.ang.y + a.ang.y * b.ang.y,
                total.ang.z + a.ang.z * b.ang.z,
            ),
            Vec3(
                total.lin.x + a.lin.x * b.lin.x,
                total.lin.y + a.lin.y * b.lin.y,
                total.lin.z + a.lin.z * b.lin.z,
            ),
        )
        i = above[i]
    return total


@inline
def _mean(v):
    return (v.x + v.y + v.z) / 3.0


@entry(
    signature="int64[::1] float64[::1] int64[::1] float64[::1] float64[::1] float64[::1] float64[::1]",
    label="inverses of mass matrices",
)
def inverse_masses(above, mobile, row, mass, factor_out, inverse_out, report_out):
    """Entries of M^-1 that degrees of freedom above each other share, of all trees.

    above: the degree of freedom above each, or -1. mobile: zero for those that are prescribed, whose entries
    are zero. row: where entry (d, 0) of the matrix of its tree would be for each d, in `mass`, `factor_out`
    and `inverse_out`, with degrees of freedom counted over all trees. report_out: least share of a pivot in
    its entry of the diagonal, least and largest entry of the diagonal.
    """
    report_out[0], report_out[1], report_out[2] = 1.0, 1.0, 0.0
    _factor(above, mobile, row, mass, factor_out, report_out)
    _invert(above, row, factor_out, inverse_out)


@entry(
    signature=(
        "int64[::1] int64[::1] int64[::1] int64[:,::1] float64[:,::1] float64[:,::1] float64[:,::1] "
        "float64[:,::1] float64[::1] float64[::1] float64[:,::1]"
    ),
    label="inverse inertias of bodies",
)
def inverse_inertias(above, row, threes, bodies, S, link_R, link_p, link_com, inverse, dof_out, body_out):
    """Diagonals of M^-1 and of J M^-1 J^T of centres of mass, the latter as means of three directions.

    above, row and inverse as in `inverse_masses`. threes: first of three degrees of freedom that share a
    mean. bodies: the link of every body, the last degree of freedom that moves it or -1, and whether it moves
    in every way. S, (nv, 6), and poses of links are in world axes about the reference point of the tree.
    body_out: translation, then rotation. O(n depth^2).
    """
    for d in range(above.shape[0]):
        dof_out[d] = inverse[row[d] + d]
    for k in range(threes.shape[0]):
        d = threes[k]
        mean = (dof_out[d] + dof_out[d + 1] + dof_out[d + 2]) / 3.0
        dof_out[d] = dof_out[d + 1] = dof_out[d + 2] = mean

    for b in range(bodies.shape[0]):
        i = bodies[b, 0]
        centre = add(load_vec3(link_p, i), rotate(load_mat3(link_R, i), load_vec3(link_com, i)))
        found = _of_point(above, row, S, inverse, bodies[b, 1], centre)
        moves, turns = _mean(found.lin), _mean(found.ang)
        # what joints do not allow is zero but for rounding
        rounding = where(bodies[b, 2] == 0, _ROUNDING, 0.0)
        body_out[b, 0] = where(moves < rounding * turns, 0.0, moves)
        body_out[b, 1] = where(turns < rounding * moves, 0.0, turns)
