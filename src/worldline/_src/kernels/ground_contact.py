# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Points of links on a ground plane: a penalty force, damping, regularised Coulomb friction.

With d the depth of a point below the plane and d' its rate half way through the step, and u its velocity
along the plane at the end, twice that half way less that of the start,

    s = max(0, dual + k d)                        penalty, or augmented Lagrangian [Hestenes 1969]
    N = s + clamp(c d', -s, s)                    Kelvin-Voigt damping, which never pulls
    f = N n - mu N u / sqrt(u . u + e^2)          Coulomb friction, a viscous law below the speed e

Friction at the end of the step brings a point to rest where one half way would turn its velocity round.
Bounding the damping by the penalty makes the force continuous where a point meets the plane, without which
the equations of an implicit step may have no solution. Duals grow by the penalty that is left,
dual <- max(0, dual + k d), so that a point at rest comes up to the plane and the dual carries it.

All of it is free of branches on numbers: points above the plane have s = 0.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import clamp, constant, maximum, sqrt, where
from worldline._src.spatial.motion import Force, load_force, load_motion, store_spatial, velocity_at
from worldline._src.spatial.rotation import load_mat3, rotate
from worldline._src.spatial.sym6 import sym6_minus_outer
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, scale, store_vec3, sub

STIFFNESS, FRICTION, REGULARIZATION, DAMPING = range(4)
"""Columns of ground_law; of the speed of regularization its square, as products of numbers of the model may
round otherwise in lanes."""
ALONG_N, ALONG_T, ALONG_TB, ALONG_B, POINT, SLIP, DIRECTION, SCALE = 0, 1, 2, 3, 4, 7, 9, 11
"""Columns of ground_yield: added inertia along the normal and within the plane, the point, and of the last
iteration the slip, the direction of friction and r."""


class _Touch(NamedTuple):
    """A point, relative to the reference point of its tree, and what the ground does there."""

    p: Any
    n: Any
    depth: Any
    normal: Any
    """Normal force N."""
    drag: Any
    """Friction for each unit of velocity along the plane, mu N / r."""
    slip: Any
    """Velocity along the plane at the end of the step."""


@inline
def _depth(tree, pos, ground, g):
    """Where point `g` is, relative to the reference point of its tree, and how far below the plane."""
    i, plane = ground.ground_link[g], ground.ground_plane
    p = add(load_vec3(pos.link_p, i), rotate(load_mat3(pos.link_R, i), load_vec3(ground.ground_point, g)))
    n = load_vec3(plane, g)
    origin = load_vec3(pos.link_origin, tree.link_root[i])
    return p, n, plane[g, 3] - (dot(n, origin) + dot(n, p))


@inline
def _touch(tree, pos, vel, ground, g):
    """The force law at point `g`."""
    p, n, depth = _depth(tree, pos, ground, g)
    law = ground.ground_law
    u = velocity_at(load_motion(vel.link_V, ground.ground_link[g]), p)
    sinking = -dot(n, u)
    ahead = sub(scale(u, 2.0), load_vec3(ground.ground_start, g))
    slip = sub(ahead, scale(n, dot(n, ahead)))
    s = maximum(ground.ground_dual[g, 0] + law[g, STIFFNESS] * depth, constant(0.0, depth))
    normal = s + clamp(law[g, DAMPING] * sinking, -s, s)
    drag = (law[g, FRICTION] * normal) * (1.0 / sqrt(dot(slip, slip) + law[g, REGULARIZATION]))
    return _Touch(p, n, depth, normal, drag, slip)


@kernel
def start_points(tree, pos, vel, ground_io):
    """Keep the velocities of all points at the start of a step; nothing is known of their friction yet."""
    for g in range(ground_io.ground_link.shape[0]):
        p, _, _ = _depth(tree, pos, ground_io, g)
        u = velocity_at(load_motion(vel.link_V, ground_io.ground_link[g]), p)
        store_vec3(ground_io.ground_start, g, u)
        ground_io.ground_yield[g, SCALE] = constant(0.0, u.x)


@kernel
def ground_forces(tree, pos, vel, ground, link_F_io):
    """Add minus the force of the ground on every point to the force of its link. O(points)."""
    for g in range(ground.ground_link.shape[0]):
        i = ground.ground_link[g]
        touch = _touch(tree, pos, vel, ground, g)
        # f = N n - drag u
        f = sub(scale(touch.n, touch.normal), scale(touch.slip, touch.drag))
        F = load_force(link_F_io, i)
        store_spatial(link_F_io, i, Force(sub(F.ang, cross(touch.p, f)), sub(F.lin, f)))


@kernel
def ground_yielding(tree, pos, vel, h, ground_io):
    """What the ground adds to the inertia that a displacement meets.

    Along the normal W = h (c / 2 + h k / 4). Along the plane, with r = sqrt(u . u + e^2) and the direction
    w of friction as a variable of its own, |w| <= 1, the linearised law r w = u gives the primal-dual Newton
    matrix [Chan, Golub and Mulet 1999], which converges from sliding and from sticking points alike:

        W = h (mu N / r) (1 - (w u^T + u w^T) / (2 r)),      w <- u / r + (1 - w u^T / r) (u_new - u) / r
    """
    yields, law = ground_io.ground_yield, ground_io.ground_law
    for g in range(ground_io.ground_link.shape[0]):
        touch = _touch(tree, pos, vel, ground_io, g)
        zero, one = constant(0.0, touch.depth), constant(1.0, touch.depth)
        presses = ground_io.ground_dual[g, 0] + law[g, STIFFNESS] * touch.depth > zero
        stiff = 0.5 * (h * law[g, DAMPING]) + 0.25 * (h * (h * law[g, STIFFNESS]))
        yields[g, ALONG_N] = where(presses, stiff, zero)

        # slip in a basis of the plane, and over r
        t = load_vec3(ground_io.ground_tangent, g)
        ut, ub = dot(touch.slip, t), dot(touch.slip, cross(touch.n, t))
        r = sqrt(ut * ut + ub * ub + law[g, REGULARIZATION])
        at, ab = ut * (one / r), ub * (one / r)

        # w <- u / r + (1 - w u^T / r) du / r with numbers of the last iteration, if there was one
        vt, vb, last = yields[g, SLIP], yields[g, SLIP + 1], yields[g, SCALE]
        begins = last <= zero
        inverse = one / where(begins, one, last)
        dt, db = ut - vt, ub - vb
        turn = (vt * dt + vb * db) * inverse
        wt = where(begins, at, (vt + dt - yields[g, DIRECTION] * turn) * inverse)
        wb = where(begins, ab, (vb + db - yields[g, DIRECTION + 1] * turn) * inverse)
        shorter = one / maximum(sqrt(wt * wt + wb * wb), one)
        wt, wb = wt * shorter, wb * shorter

        # W = h (mu N / r) (1 - (w u^T + u w^T) / (2 r))
        drag = h * touch.drag
        yields[g, ALONG_T] = drag * (one - wt * at)
        yields[g, ALONG_TB] = -0.5 * drag * (wt * ab + wb * at)
        yields[g, ALONG_B] = drag * (one - wb * ab)
        yields[g, POINT], yields[g, POINT + 1], yields[g, POINT + 2] = touch.p.x, touch.p.y, touch.p.z
        yields[g, SLIP], yields[g, SLIP + 1], yields[g, SCALE] = ut, ub, r
        yields[g, DIRECTION], yields[g, DIRECTION + 1] = wt, wb


@inline
def add_yielding(IA, ground, g):
    """Articulated inertia with what the ground adds at point `g`: J^T W J, one direction after the other."""
    yields = ground.ground_yield
    p = Vec3(yields[g, POINT], yields[g, POINT + 1], yields[g, POINT + 2])
    n, t = load_vec3(ground.ground_plane, g), load_vec3(ground.ground_tangent, g)
    b = cross(n, t)
    both, mixed = add(t, b), yields[g, ALONG_TB]
    # a t t^T + c (t b^T + b t^T) + d b b^T = (a - c) t t^T + (d - c) b b^T + c (t + b) (t + b)^T
    IA = sym6_minus_outer(IA, Force(cross(p, n), n), -yields[g, ALONG_N])
    IA = sym6_minus_outer(IA, Force(cross(p, t), t), mixed - yields[g, ALONG_T])
    IA = sym6_minus_outer(IA, Force(cross(p, b), b), mixed - yields[g, ALONG_B])
    return sym6_minus_outer(IA, Force(cross(p, both), both), -mixed)


@kernel
def update_duals(tree, pos, ground_io):
    """dual <- max(0, dual + k d) every so many steps of the cadence; cadence 0 keeps it at zero."""
    dual, cadence = ground_io.ground_dual, ground_io.ground_cadence
    for g in range(cadence.shape[0]):
        if cadence[g] > 0:
            _, _, depth = _depth(tree, pos, ground_io, g)
            zero = constant(0.0, depth)
            age = dual[g, 1] + 1.0
            due = age >= cadence[g]
            raised = maximum(dual[g, 0] + ground_io.ground_law[g, STIFFNESS] * depth, zero)
            dual[g, 0] = where(due, raised, dual[g, 0])
            dual[g, 1] = where(due, zero, age)
