# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joint coordinates from body poses and velocities: maximal to generalized.

Each joint is looked at alone: the pose and the twist of its moved frame relative to its resting frame
give its coordinates and velocities. What a joint cannot follow (a body that has left the joint) is
projected away.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.joints import AXES, BALL, FREE, SCREW
from worldline._src.scalar.ops import absolute, constant, maximum, minimum, nearest, sqrt, where
from worldline._src.scalar.trigonometry import atan2, sincos
from worldline._src.spatial.rotation import (
    Mat3,
    Quat,
    load_mat3,
    mat_mul,
    matrix_to_quat,
    normalized,
    quat_to_matrix,
    relative_rotation,
    rotate,
    rotate_back,
    store_quat,
    transpose,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, scale, sub

_PI = 3.141592653589793
_TWO_PI = 6.283185307179586

# below this sine between the outer axes of three turns the rates of the outer two lose digits
_NEAR_LOCK = 1e-8
# an angle about an axis is known to this, divided by the sine between the outer axes
_ANGLE_NOISE = 1e-14


@inline
def _axis_rotation(a, angle):
    """The rotation matrix of a turn about the unit axis `a` (Rodrigues)."""
    s, c = sincos(angle)
    t = 1.0 - c
    return Mat3(
        c + t * a.x * a.x,
        t * a.x * a.y - s * a.z,
        t * a.x * a.z + s * a.y,
        t * a.x * a.y + s * a.z,
        c + t * a.y * a.y,
        t * a.y * a.z - s * a.x,
        t * a.x * a.z - s * a.y,
        t * a.y * a.z + s * a.x,
        c + t * a.z * a.z,
    )


@inline
def _turn_between(a, u, w):
    """The angle about the unit axis `a` that turns `u` towards `w`; zero when either is along `a`."""
    u = sub(u, scale(a, dot(a, u)))
    w = sub(w, scale(a, dot(a, w)))
    y = dot(a, cross(u, w))
    x = dot(u, w)
    # an uncertain angle does no harm near the axis: what it misses, the last angle makes up for
    lost = dot(u, u) * dot(w, w) < 1e-66
    return where(lost, constant(0.0, x), atan2(y, where(lost, constant(1.0, x), x)))


@inline
def _turn_of(R, a):
    """The angle of a rotation matrix about the unit axis `a`."""
    skew = Vec3(R.zy - R.yz, R.xz - R.zx, R.yx - R.xy)
    return atan2(dot(a, skew), R.xx + R.yy + R.zz - 1.0)


@inline
def _angle_between(a, b):
    """The angle between two unit vectors, exact where they coincide."""
    side = cross(a, b)
    return atan2(sqrt(dot(side, side)), dot(a, b))


@inline
def _middle_turn(R, a, b, c):
    """The middle angle of R = R(a, .) R(b, x) R(c, .): the solution closest to zero."""
    ab = dot(a, b)
    bc = dot(b, c)
    image = rotate(R, c)
    # the angle at b of the spherical triangle (a, b, image) by half angles, exact where a meets the image
    alpha = _angle_between(a, b)
    beta = _angle_between(b, c)
    gamma = _angle_between(a, image)
    half = 0.5 * (alpha + beta + gamma)
    zero = constant(0.0, half)
    s0, _ = sincos(half)
    s1, _ = sincos(half - alpha)
    s2, _ = sincos(half - beta)
    s3, _ = sincos(half - gamma)
    spread = 2.0 * atan2(sqrt(maximum(s1 * s2, zero)), sqrt(maximum(s0 * s3, zero)))
    # for perpendicular neighbours it is the side itself
    spread = where(absolute(ab) + absolute(bc) < 1e-12, gamma, spread)
    base = atan2(dot(a, cross(b, c)), dot(a, c) - ab * bc)
    low = base - spread
    high = base + spread
    low = low - _TWO_PI * nearest(low / _TWO_PI)
    high = high - _TWO_PI * nearest(high / _TWO_PI)
    return where(absolute(low) < absolute(high) - 1e-12, low, high)


@inline
def _gimbal_correction(a, w_b, image, w):
    """What to add to the first angle near gimbal lock, so that the middle axis meets the velocity `w`.

    Where the outer axes coincide up to `gap`, the first angle is known from the pose only to round-off / gap,
    and a middle axis off by that much asks for outer rates that lose the digits of `w`. Within that freedom
    the angle is chosen so that no such rates are needed; the last angle then makes up the pose.
    """
    side = cross(a, image)
    gap = sqrt(dot(side, side))
    zero = constant(0.0, gap)
    turn = _turn_between(a, w_b, w)
    turn = turn - _PI * nearest(turn / _PI)
    freedom = _ANGLE_NOISE / maximum(gap, constant(_ANGLE_NOISE, gap))
    return where(gap < _NEAR_LOCK, maximum(minimum(turn, freedom * _PI), -freedom * _PI), zero)


@inline
def _split(e, a):
    """The part of `a` along the unit vector `e`, and the rest; twice, so that the rest is clean."""
    r = dot(e, a)
    rest = sub(a, scale(e, r))
    s = dot(e, rest)
    return r + s, sub(rest, scale(e, s))


@inline
def _unit(a):
    """Direction and inverse length of a vector; both zero when there is none to speak of."""
    n2 = dot(a, a)
    lost = n2 < 1e-26
    inverse = where(lost, constant(0.0, n2), 1.0 / sqrt(where(lost, constant(1.0, n2), n2)))
    return scale(a, inverse), inverse


@inline
def _coefficients(a, b, c, count, t):
    """Least-squares coefficients of `t` on the first `count` of three vectors.

    Gram-Schmidt and back substitution: where vectors nearly coincide the coefficients are uncertain, but
    what they add up to is `t` to the last digits. A vector that coincides with others gets zero.
    """
    e1, i1 = _unit(a)
    t1, rest = _split(e1, t)
    zero = constant(0.0, t1)
    y = zero
    z = zero
    r12 = zero
    r13 = zero
    if count > 1:
        r12, b = _split(e1, b)
        e2, i2 = _unit(b)
        t2, rest = _split(e2, rest)
        r23 = zero
        if count > 2:
            r13, c = _split(e1, c)
            r23, c = _split(e2, c)
            e3, i3 = _unit(c)
            z = dot(e3, rest) * i3
        y = (t2 - r23 * z) * i2
    return Vec3((t1 - r12 * y - r13 * z) * i1, y, z)


@inline
def _pick(axes, d, end, like):
    """The axis of column `d`, or any vector when the joint has no such column."""
    row = d if d < end else 0
    zero = constant(0.0, like)
    return Vec3(zero + axes[row, 0], zero + axes[row, 1], zero + axes[row, 2])


@inline
def _write(array, start, count, a):
    if count > 0:
        array[start] = a.x
    if count > 1:
        array[start + 1] = a.y
    if count > 2:
        array[start + 2] = a.z


@inline
def _axis_coordinates(tree, anchor, i, R, t, v, w, q_out, v_out):
    """Coordinates of a sequence of axes from relative pose (R, t) and velocity (v, w)."""
    vi, end, qi = tree.link_v_start[i], tree.link_v_end[i], tree.link_q_start[i]
    turns = anchor.dof_axis_count[i]
    slides = end - vi - turns
    axes = anchor.dof_axis

    if slides > 0:
        a = _pick(axes, vi, vi + slides, t.x)
        b = _pick(axes, vi + 1, vi + slides, t.x)
        c = _pick(axes, vi + 2, vi + slides, t.x)
        _write(q_out, qi, slides, _coefficients(a, b, c, slides, t))
        _write(v_out, vi, slides, _coefficients(a, b, c, slides, v))

    if turns > 0:
        d = vi + slides
        a = _pick(axes, d, end, t.x)
        b = _pick(axes, d + 1, end, t.x)
        c = _pick(axes, d + 2, end, t.x)
        # angles from the outside in; the last takes what is left, so the pose is always met
        zero = constant(0.0, t.x)
        x = zero
        y = zero
        rest = R
        w_b = b
        w_c = c
        if turns == 3:
            y = _middle_turn(R, a, b, c)
            R_b = _axis_rotation(b, y)
            image = rotate(R, c)
            x = _turn_between(a, rotate(R_b, c), image)
            x = x + _gimbal_correction(a, rotate(_axis_rotation(a, x), b), image, w)
            R_a = _axis_rotation(a, x)
            rest = relative_rotation(mat_mul(R_a, R_b), R)
            w_b = rotate(R_a, b)
            w_c = rotate(mat_mul(R_a, R_b), c)
        if turns == 2:
            x = _turn_between(a, b, rotate(R, b))
            R_a = _axis_rotation(a, x)
            rest = relative_rotation(R_a, R)
            w_b = rotate(R_a, b)
        z = _turn_of(rest, _pick(axes, end - 1, end, t.x))
        if anchor.dof_kind[end - 1] == SCREW:
            # the advance tells whole turns apart
            advance = dot(a, t) / where(anchor.dof_pitch[end - 1] == 0.0, 1.0, anchor.dof_pitch[end - 1])
            turned = nearest((advance - z) / _TWO_PI)
            z = z + where(anchor.dof_pitch[end - 1] == 0.0, zero, _TWO_PI * turned)
        if turns == 1:
            x = z
        if turns == 2:
            y = z
        _write(q_out, qi + slides, turns, Vec3(x, y, z))
        _write(v_out, d, turns, _coefficients(a, w_b, w_c, turns, w))


@inline
def _body_pose(body_q, b):
    """Rotation matrix and position of a body."""
    Q = normalized(Quat(body_q[b, 3], body_q[b, 4], body_q[b, 5], body_q[b, 6]))
    return quat_to_matrix(Q), Vec3(body_q[b, 0], body_q[b, 1], body_q[b, 2])


@inline
def _twist_at(body_qd, b, c_W, point):
    """Angular velocity and velocity of a point of a body whose centre of mass is at c_W."""
    w = Vec3(body_qd[b, 3], body_qd[b, 4], body_qd[b, 5])
    v = Vec3(body_qd[b, 0], body_qd[b, 1], body_qd[b, 2])
    return w, add(v, cross(w, sub(point, c_W)))


@kernel
def generalized(tree, body, anchor, maximal, q_out, v_out):
    """Joint coordinates and velocities of every joint from the two bodies it connects. O(n).

    Slides of a sequence of axes are solved by least squares, turns as generalized Euler angles with the
    middle one closest to zero.
    """
    body_q, body_qd, com_B = maximal.body_q, maximal.body_qd, anchor.body_com
    parent, kind = tree.link_parent, tree.link_kind

    for i in range(1, parent.shape[0]):
        # frames in the world: the joint at rest on the parent, the joint moved with the child
        b = body.link_body[i]
        R_B, p_B = _body_pose(body_q, b)
        R_C = load_mat3(anchor.link_R_child, i)
        R_moved = mat_mul(R_B, transpose(R_C))
        p_moved = sub(p_B, rotate(R_moved, load_vec3(anchor.link_p_child, i)))
        w, v = _twist_at(body_qd, b, add(p_B, rotate(R_B, load_vec3(com_B, b))), p_moved)
        zero = constant(0.0, p_B.x)
        R_A = load_mat3(anchor.link_R_anchor, i)
        p_A = load_vec3(anchor.link_p_anchor, i)
        R_rest = mat_mul(_identity(zero), R_A)
        p_rest = add(Vec3(zero, zero, zero), p_A)
        if parent[i] > 0:
            a = body.link_body[parent[i]]
            R_P, p_P = _body_pose(body_q, a)
            R_rest = mat_mul(R_P, R_A)
            p_rest = add(p_P, rotate(R_P, p_A))
            w_P, v_P = _twist_at(body_qd, a, add(p_P, rotate(R_P, load_vec3(com_B, a))), p_moved)
            w = sub(w, w_P)
            v = sub(v, v_P)

        # relative pose and velocity in the axes of the resting joint
        R = relative_rotation(R_rest, R_moved)
        t = rotate_back(R_rest, sub(p_moved, p_rest))
        v = rotate_back(R_rest, v)
        w = rotate_back(R_rest, w)

        qi = tree.link_q_start[i]
        vi = tree.link_v_start[i]
        if kind[i] == AXES:
            _axis_coordinates(tree, anchor, i, R, t, v, w, q_out, v_out)
        if kind[i] == FREE:
            _write(q_out, qi, 3, t)
            _write(v_out, vi, 3, v)
            qi = qi + 3
            vi = vi + 3
        if kind[i] == BALL or kind[i] == FREE:
            store_quat(q_out, qi, matrix_to_quat(R))
            _write(v_out, vi, 3, rotate_back(R, w))


@inline
def _identity(zero):
    one = constant(1.0, zero)
    return Mat3(one, zero, zero, zero, one, zero, zero, zero, one)
