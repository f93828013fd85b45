# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Spin of bodies that hang on nothing: a step that keeps their momentum and never gains energy by turning.

A body whose angular velocity w changes within its own axes feels the torque -w x I w. Taken at the beginning
of a step it gains energy, without bound from about a radian a step on. Here the body turns by h u and the
velocity w at its end follows from the momentum L after all torques of the step, in the axes at its beginning:

    I w = exp(-h u) L,   u = (1 - s) I^-1 L + s w

So L is kept in the world whatever u is. With s = 1/2 so is energy, because (I^-1 L + w) (I w - L) = 0 for
a turn about u [Simo, Wong 1991]; with more it shrinks, so s grows with the turn and outweighs what two Newton
steps leave open. To first order in h |w| all of this is the torque at the beginning. The centre of mass keeps
its momentum in the same way where it is not the origin of the joint.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.scalar.ops import any_of, constant, is_single, maximum, minimum, where
from worldline._src.spatial.inertia import load_sym3, sym_mul
from worldline._src.spatial.motion import load_motion
from worldline._src.spatial.rotation import (
    conjugate,
    load_mat3,
    mat_mul,
    quat_to_matrix,
    rotate,
    rotation_vector_to_quat,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, scale, store_vec3, sub

_ITERATIONS = 2
"""Newton steps; what they leave open is the difference between two velocities, never momentum."""
_SMALL_TURN = 0.04
"""Square of the turn in a step up to which momentum is put before the energy of a contact [rad^2]."""
_ROUNDING, _ROUNDING_SINGLE = 1e-12, 1e-5
"""Share of an energy by which rounding may change it, in double and single precision."""
_KEPT, _KEPT_SINGLE = 1e-9, 1e-5
"""Share of an energy by which a fast turn may exceed it."""
_NO_TURN = 1e-16
"""Square of the turn in a step below which rounding is all that would change [rad^2]."""


@inline
def _solve(a, b, c, y):
    """x of [a b c] x = y, columns given."""
    # Cramer's rule: x_1 = y . (b x c) / a . (b x c), and so on
    bc = cross(b, c)
    inverse = 1.0 / dot(a, bc)
    return Vec3(dot(y, bc) * inverse, dot(a, cross(y, c)) * inverse, dot(a, cross(b, y)) * inverse)


@inline
def _over_inertia(J, y):
    """I^-1 y."""
    return _solve(Vec3(J.xx, J.xy, J.xz), Vec3(J.xy, J.yy, J.yz), Vec3(J.xz, J.yz, J.zz), y)


@inline
def _turned_back(w, h, L):
    """exp(-h w) L."""
    return rotate(quat_to_matrix(conjugate(rotation_vector_to_quat(scale(w, h)))), L)


@inline
def _chosen(condition, a, b):
    return Vec3(where(condition, a.x, b.x), where(condition, a.y, b.y), where(condition, a.z, b.z))


@inline
def _between(a, b, share):
    return add(a, scale(sub(b, a), share))


@inline
def turning(J, L, h):
    """Velocity that a body turns with during a step, and the one it ends with; both in its own axes.

    Args:
        J: inertia about the centre of mass.
        L: angular momentum about the centre of mass, axes at the beginning of the step.
        h: time step.
    """
    start = _over_inertia(J, L)
    half = constant(0.5, h)
    # s = 1/2 + min(1/2, (h |w|)^2 / 4)
    late = half + minimum(half, 0.25 * (h * h * dot(start, start)))
    end = start
    for _ in range(_ITERATIONS):
        # residual g = I w - exp(-h u) L
        H = _turned_back(_between(start, end, late), h, L)
        gap = sub(sym_mul(J, end), H)
        # columns of I - s h [H]x, the derivative up to the change of the turn's axis
        k = h * late
        x, y, z = k * H.x, k * H.y, k * H.z
        step = _solve(
            Vec3(J.xx, J.xy - z, J.xz + y),
            Vec3(J.xy + z, J.yy, J.yz - x),
            Vec3(J.xz - y, J.yz + x, J.zz),
            gap,
        )
        end = sub(end, step)
    during = _between(start, end, late)
    # momentum exactly: w = I^-1 exp(-h u) L
    end = _over_inertia(J, _turned_back(during, h, L))
    # a turn of radians a step has no solution nearby: then the body turns about its momentum and keeps both
    before, square = dot(start, L), dot(L, L)
    calm = dot(end, sym_mul(J, end)) <= before * (
        1.0 + (_ROUNDING_SINGLE if is_single(before) else _ROUNDING)
    )
    about = scale(L, before / maximum(square, constant(1e-300, square)))
    return _chosen(calm, during, about), _chosen(calm, end, start)


@inline
def _into_joint(S, d, a):
    """A vector of world axes in those of the linear columns that start at `d`."""
    return Vec3(
        dot(load_motion(S, d).lin, a), dot(load_motion(S, d + 1).lin, a), dot(load_motion(S, d + 2).lin, a)
    )


@inline
def _add_three(array, d, a):
    array[d] = array[d] + a.x
    array[d + 1] = array[d + 1] + a.y
    array[d + 2] = array[d + 2] + a.z


@inline
def _set_three(array, d, a):
    array[d], array[d + 1], array[d + 2] = a.x, a.y, a.z


@inline
def _three(array, d):
    return Vec3(array[d], array[d + 1], array[d + 2])


@kernel
def hold_spin(tree, inertia, pos, v, h, spin_io, a_io):
    """Accelerations of free-floating bodies, such that h a leads to the spin of `turning`; others stay.

    Turns below spin_io.spin_turn take the torque at the beginning. spin_io.link_spin is for `turn`: the
    momentum that turning takes out of the body's axes in the step, and 1 where it does.
    """
    floating, least, spin_out = spin_io.link_floating, spin_io.spin_turn[0], spin_io.link_spin
    for i in range(1, floating.shape[0]):
        d = tree.link_v_start[i]
        if floating[i] == 1.0:
            w, a = _three(v, d + 3), _three(a_io, d + 3)
            zero = constant(0.0, h)
            ahead = add(w, scale(a, h))
            turned = h * h * maximum(dot(w, w), dot(ahead, ahead))
            store_vec3(spin_out, i, Vec3(zero, zero, zero))
            spin_out[i, 3] = where(turned >= least * least, 1.0, zero)
            fast = turned >= max(least * least, _NO_TURN)
            if any_of(fast):
                J, r = load_sym3(inertia.link_inertia, i), load_vec3(inertia.link_com, i)
                Jw = sym_mul(J, w)
                # momentum after all torques of the step, axes at its beginning: L = I w + h (I a + w x I w)
                L = add(Jw, scale(add(sym_mul(J, a), cross(w, Jw)), h))
                _, end = turning(J, L, h)
                # what turning takes out of the body's axes: L - I w_end
                gone = sub(L, sym_mul(J, end))
                store_vec3(spin_out, i, _chosen(fast, gone, Vec3(zero, zero, zero)))
                # the centre of mass goes on with the momentum of the step: its turning is no acceleration
                late = sub(ahead, end)
                shift = add(cross(late, r), scale(cross(w, cross(w, r)), h))
                shift = _into_joint(pos.dof_S, d, rotate(load_mat3(pos.link_R, i), shift))
                rate = where(fast, 1.0 / h, zero)
                _add_three(a_io, d, scale(shift, rate))
                _add_three(a_io, d + 3, scale(late, -rate))


@inline
def _turn_body(inertia, pos, i, d, turns, w, h, taken, v_io, rate_out):
    J, r = load_sym3(inertia.link_inertia, i), load_vec3(inertia.link_com, i)
    # L = I w + what `hold_spin` set aside
    L = add(sym_mul(J, w), load_vec3(taken, i))
    during, end = turning(J, L, h)
    # contacts balance energy in the axes at the beginning: a fast turn out of them must not undo that
    energy, least = dot(end, sym_mul(J, end)), dot(w, sym_mul(J, w))
    fastest = h * h * maximum(dot(w, w), dot(end, end))
    more = 1.0 + (_KEPT_SINGLE if is_single(energy) else _KEPT)
    kept = energy <= where(fastest < _SMALL_TURN, energy, least * more)
    during, end = _chosen(kept, during, w), _chosen(kept, end, w)
    R = load_mat3(pos.link_R, i)
    R_end = mat_mul(R, quat_to_matrix(rotation_vector_to_quat(scale(during, h))))
    # the centre of mass keeps its velocity: v_O = v_c - w x r at the beginning and at the end
    center = rotate(R, cross(w, r))
    moved = add(center, scale(sub(rotate(R, r), rotate(R_end, r)), 1.0 / h))
    left = sub(center, rotate(R_end, cross(end, r)))
    here = where(turns, 1.0, constant(0.0, h))
    _add_three(rate_out, d, scale(_into_joint(pos.dof_S, d, moved), here))
    _add_three(v_io, d, scale(_into_joint(pos.dof_S, d, left), here))
    _set_three(rate_out, d + 3, _chosen(turns, during, w))
    _set_three(v_io, d + 3, _chosen(turns, end, w))


@kernel
def turn(tree, inertia, pos, h, spin, v_io, rate_out):
    """Velocities at the end of a step from those that all forces led to, and the rate of the way there."""
    floating, taken = spin.link_floating, spin.link_spin
    for d in range(v_io.shape[0]):
        rate_out[d] = v_io[d]
    for i in range(1, floating.shape[0]):
        d = tree.link_v_start[i]
        if floating[i] == 1.0:
            w = _three(v_io, d + 3)
            turns = taken[i, 3] * (h * h * dot(w, w)) >= _NO_TURN
            if any_of(turns):
                _turn_body(inertia, pos, i, d, turns, w, h, taken, v_io, rate_out)
