# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of equalities: points, poses, axes and distances of anchors, and coordinates or lengths that follow.

Residuals are those of the first anchor against the second, so that a row's force acts on the first and its
opposite on the second. A direction that turns with the second anchor sees the first anchor's point from both
bodies, which is the whole derivative of the residual. Rotations are compared by the vector part of the
quaternion that leads from the second to the first, times a scale [m or 1]; its rate is
(w I - [vec]x) u / 2 with the relative angular velocity u in the axes of the second.

The second derivative of a residual is J a plus what velocities add, J' v. It is found from the accelerations
of the links without constraints: along the axes of a row, less J a, plus what the turning of axes brings.

The coordinate of a hinge or slide, of the second anchor against the first along z, may have limits and a
motor: an effort that acts before rows are solved (`joint_efforts`), or a row that leads to a velocity or an
acceleration at the end of the step, with an effort within bounds. Its spring and damper act before rows are
solved as well. Armature is a row that resists acceleration, -I x''; with implicit damping I + h d, which
takes the damping at the end of the step. Dry friction is a row that leads to rest with a bounded effort.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.bounded_rows import bound_row, constant_part, whole_force
from worldline._src.kernels.constraints.contact.impacts import FASTEST, SLOW
from worldline._src.kernels.constraints.equality.kinds import (
    JOINT,
    POINT,
    ROW_COUNT,
    SLIDE,
    TENDON,
    PointMotion,
    anchor_axes,
    is_carried,
    set_axis,
)
from worldline._src.kernels.constraints.impedance import impedance, reference_acceleration, regularizer
from worldline._src.kernels.constraints.jacobians import clear_rows, row_velocity
from worldline._src.kernels.constraints.laws import (
    HARDNESS,
    LEAST_INVERSE,
    law_spring,
    load_law,
    pair_weights,
    soft_row,
)
from worldline._src.kernels.constraints.limit.stops import hard_stop, mark_split, resting_gap
from worldline._src.kernels.constraints.row_start import note_row
from worldline._src.kernels.constraints.rows import EQUALITY, FRICTION, UNILATERAL
from worldline._src.kernels.constraints.tables import (
    ACTIVE_LIMITS,
    ALL_ROWS,
    DROPPED,
    HARD,
    IMPEDANCE,
    KIND,
    OF_BOUND,
    OF_DRIVE,
    OF_DRIVE_SPEED,
    OF_EQUALITY,
    OF_JOINT_FRICTION,
    OF_JOINT_INERTIA,
    ROWS,
    SAFE,
    STEP,
    TREE_END,
    TREE_FIRST,
)
from worldline._src.kernels.velocities import classical_acceleration
from worldline._src.scalar.memory import matrix, pointer
from worldline._src.scalar.ops import clamp, maximum, nearest, sqrt
from worldline._src.scalar.trigonometry import atan2
from worldline._src.spatial.motion import (
    Force,
    add_to_force,
    load_motion,
    velocity_at,
)
from worldline._src.spatial.rotation import (
    load_position,
    load_rotation,
    matrix_to_quat,
    relative_rotation,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, scale, sub

OFF, ON, BROKEN = range(3)
NO_MOTOR, EFFORT, VELOCITY, ACCELERATION = range(4)
"""What drives the coordinate of a hinge or slide: nothing, its command of an effort, a row that leads to its
command of a velocity, a row that leads to its command of an acceleration."""
_OPEN = 1e300
"""Bounds beyond this are none."""
FASTEST_CLOSING = 10.0
"""Largest speed at which a hard equality that starts open is closed [m/s or rad/s]."""
_FULL_TURN = 6.283185307179586


@inline
def _point_motion(bodies, moving, link, point):
    """The motion of a link at a point; the world stands still."""
    none = Vec3(0.0, 0.0, 0.0)
    if link == 0:
        return PointMotion(none, none, none, none)
    origin, root = bodies.pos.link_origin, bodies.tree.link_root[link]
    p = sub(point, Vec3(origin[root, 0], origin[root, 1], origin[root, 2]))
    V, A = load_motion(moving.link_V, link), load_motion(moving.link_A, link)
    # trees are lifted against gravity, by the acceleration of the world's row
    a = sub(classical_acceleration(V, A, p), load_motion(moving.link_A, 0).lin)
    return PointMotion(velocity_at(V, p), V.ang, a, A.ang)


@inline
def add_axes_motion(bodies, link, point, seen, a, axes_io, count, sign, J_io, first):
    """Rows grow by sign times what a link does at a point along and about their axes.

    So does the last column of the axes by the acceleration `seen` there, less what `a` does by the new
    entries: J' v once both bodies are in.
    """
    for r in range(count):
        along = Vec3(axes_io[r, 0], axes_io[r, 1], axes_io[r, 2])
        about = Vec3(axes_io[r, 3], axes_io[r, 4], axes_io[r, 5])
        axes_io[r, 6] += sign * (dot(along, seen.a) + dot(about, seen.turn))
    if link > 0:
        origin, root = bodies.pos.link_origin, bodies.tree.link_root[link]
        p = sub(point, Vec3(origin[root, 0], origin[root, 1], origin[root, 2]))
        d = bodies.dof.link_last[link]
        while d >= 0:
            S = load_motion(bodies.pos.dof_S, d)
            u = add(S.lin, cross(S.ang, p))
            for r in range(count):
                along = Vec3(axes_io[r, 0], axes_io[r, 1], axes_io[r, 2])
                about = Vec3(axes_io[r, 3], axes_io[r, 4], axes_io[r, 5])
                entry = sign * (dot(along, u) + dot(about, S.ang))
                J_io[first + r, bodies.column[d]] += entry
                axes_io[r, 6] -= entry * a[d]
            d = bodies.dof.dof_parent[d]


@inline
def add_point_motion(bodies, link_a, p_a, A, link_b, p_b, B, a, axes_io, J_out, first):
    """Three rows of a point of one link less that of another, as `add_axes_motion` along the world's axes.

    A, B: accelerations of both points [m/s^2], of which the last column of the axes becomes J' v.
    Degrees of freedom above both links carry both points: they see the distance between them alone.
    """
    origin, root, last = bodies.pos.link_origin, bodies.tree.link_root, bodies.dof.link_last
    gap, bias = sub(p_a, p_b), sub(A, B)
    i, j = -1, -1
    if link_a > 0:
        i = last[link_a]
        p_a = sub(p_a, Vec3(origin[root[link_a], 0], origin[root[link_a], 1], origin[root[link_a], 2]))
    if link_b > 0:
        j = last[link_b]
        p_b = sub(p_b, Vec3(origin[root[link_b], 0], origin[root[link_b], 1], origin[root[link_b], 2]))
    # parents come before their children: the larger number is not above the other
    while i >= 0 or j >= 0:
        d = max(i, j)
        S, sign, arm = load_motion(bodies.pos.dof_S, d), 1.0, p_a
        if i == j:
            sign, arm = 0.0, gap
        elif d == j:
            sign, arm = -1.0, scale(p_b, -1.0)
        # J_d = +-S.lin + S.ang x (+-p)
        u = add(scale(S.lin, sign), cross(S.ang, arm))
        column = bodies.column[d]
        J_out[first, column], J_out[first + 1, column], J_out[first + 2, column] = u.x, u.y, u.z
        bias = sub(bias, scale(u, a[d]))
        above = bodies.dof.dof_parent[d]
        i, j = above if i == d else i, above if j == d else j
    axes_io[0, 6], axes_io[1, 6], axes_io[2, 6] = bias.x, bias.y, bias.z


@inline
def _polynomial(number, k, x):
    """Value and slope of the polynomial of equality `k`."""
    value, slope = number[k, 4], 0.0
    for power in range(3, -1, -1):
        slope = slope * x + value
        value = value * x + number[k, power]
    return value, slope


@inline
def _bend(equality, k, q, v):
    """J' v of a coordinate that is a polynomial of another: -p''(x) x'^2."""
    number, b = equality.equality_number, equality.equality_second[k]
    if b < 0:
        return 0.0 * v[equality.equality_first[k]]
    x = q[equality.equality_coordinate[k, 1]] - number[k, 6]
    return -((12.0 * number[k, 4] * x + 6.0 * number[k, 3]) * x + 2.0 * number[k, 2]) * v[b] * v[b]


@inline
def follow(equality, tendon, k, q, column, J_io, row, residual_out, n):
    """The row of a coordinate or length that is a polynomial of another; returns the inverse inertia."""
    number, a, b = equality.equality_number, equality.equality_first[k], equality.equality_second[k]
    x = 0.0
    if equality.equality_kind[k] == JOINT:
        if b >= 0:
            x = q[equality.equality_coordinate[k, 1]] - number[k, 6]
        value, slope = _polynomial(number, k, x)
        residual_out[n] = q[equality.equality_coordinate[k, 0]] - number[k, 5] - value
        J_io[row, column[a]] += 1.0
        if b >= 0:
            J_io[row, column[b]] -= slope
    else:
        if b >= 0:
            x = tendon.tendon_size[b, 0] - number[k, 6]
        value, slope = _polynomial(number, k, x)
        residual_out[n] = tendon.tendon_size[a, 0] - number[k, 5] - value
        # degrees of freedom outside the island have no column, and no moment
        for i in range(tendon.tendon_span[a, 0], tendon.tendon_span[a, 1]):
            if tendon.tendon_moment[i] != 0.0:
                J_io[row, column[tendon.tendon_dof[i]]] += tendon.tendon_moment[i]
        if b >= 0:
            for i in range(tendon.tendon_span[b, 0], tendon.tendon_span[b, 1]):
                if tendon.tendon_moment[i] != 0.0:
                    J_io[row, column[tendon.tendon_dof[i]]] -= slope * tendon.tendon_moment[i]
    return number[k, 8]


@inline
def _finish(law, norm, A, bias, v, n, h, safe, rows_out, notes_out):
    """Reference and regularizer of a row whose Jacobian and residual are written; bias is J' v."""
    r, u = notes_out.row_residual[n], row_velocity(rows_out.J, n, v)
    A = maximum(A, LEAST_INVERSE)
    if law.kind == HARD:
        # J a = -J' v where the end of a step is projected (`loops.py`), else what closes the residual there;
        # half of the bias does so to second order
        speed = clamp(law.erp * r / h, -FASTEST_CLOSING, FASTEST_CLOSING)
        rows_out.aref[n] = (-speed - law.erp * u) / h - (1.0 - 0.5 * law.erp) * bias
        rows_out.D[n] = 1.0 / (HARDNESS * A)
    elif law.kind == IMPEDANCE:
        # all rows of a constraint share the impedance at the norm of their residuals
        share = impedance(norm, law.d0, law.dmax, law.width, law.middle, law.power)
        rows_out.aref[n] = reference_acceleration(law_spring(law, h, safe), share, r, u) - bias
        rows_out.D[n] = 1.0 / regularizer(share, A)
    else:
        made = soft_row(law, r, u, A, h, safe)
        rows_out.aref[n], rows_out.D[n] = made.aref - bias, 1.0 / made.R
    # a rigid row is solved until its regularizer is gone
    rows_out.bound[n] = 1.0 if law.kind == HARD and law.erp == 0.0 else 0.0
    rows_out.kind[n], rows_out.dim[n] = EQUALITY, 0


@inline
def _coordinate_axis(equality, k, X):
    """Write the axis of a hinge's or slide's coordinate to the scratch of a row."""
    R, axes = load_rotation(X, equality.equality_first[k]), equality.equality_bound_axis
    none, z = Vec3(0.0, 0.0, 0.0), Vec3(R.xz, R.yz, R.zz)
    if equality.equality_kind[k] == SLIDE:
        set_axis(axes, 0, z, none, 0.0)
    else:
        set_axis(axes, 0, none, z, 0.0)


@inline
def _coordinate_row(equality, k, X, bodies, moving, sign, rows_out, n):
    """Row `n` along a coordinate, sign times; returns its velocity, J' v and inverse inertia."""
    p, axes = load_position(X, equality.equality_second[k]), equality.equality_bound_axis
    link_a, link_b = equality.equality_link[k, 0], equality.equality_link[k, 1]
    A, B = _point_motion(bodies, moving, link_a, p), _point_motion(bodies, moving, link_b, p)
    _coordinate_axis(equality, k, X)
    clear_rows(rows_out.J, n, 1)
    add_axes_motion(bodies, link_b, p, B, moving.a, axes, 1, sign, rows_out.J, n)
    add_axes_motion(bodies, link_a, p, A, moving.a, axes, 1, -sign, rows_out.J, n)
    A_move, A_turn = pair_weights(
        bodies.body_invweight, equality.equality_body[k, 0], equality.equality_body[k, 1]
    )
    A_row = A_move if equality.equality_kind[k] == SLIDE else A_turn
    return row_velocity(rows_out.J, n, moving.island_v), axes[0, 6], maximum(A_row, LEAST_INVERSE)


@inline
def _motor_row(equality, k, X, bodies, moving, rows_out, notes_out):
    """The row of a motor that leads to a velocity or an acceleration: J a = x'' - J' v."""
    n, h, motor = notes_out.counter[ROWS], bodies.option[STEP], equality.equality_motor[k]
    u, bias, A = _coordinate_row(equality, k, X, bodies, moving, 1.0, rows_out, n)
    wanted = equality.equality_command[k, 2]
    if motor == VELOCITY:
        wanted = (equality.equality_command[k, 1] - u) / h
    lower, upper = equality.equality_effort[k, 0], equality.equality_effort[k, 1]
    bound_row(lower, upper, wanted - bias, HARDNESS * A, n, rows_out)
    note_row(notes_out, n, OF_DRIVE, k, 0.0)


@inline
def _speed_limit_rows(equality, k, X, bodies, moving, rows_out, notes_out):
    """Limits of the rate of a coordinate: the step must not end beyond them."""
    h = bodies.option[STEP]
    for side in range(2):
        s, most, n = 1.0 - 2.0 * side, equality.equality_speed[k, 1 - side], notes_out.counter[ROWS]
        if abs(most) < _OPEN:
            u, bias, A = _coordinate_row(equality, k, X, bodies, moving, -s, rows_out, n)
            # -s x' >= -s most
            rows_out.aref[n], rows_out.D[n] = (-s * most - u) / h - bias, 1.0 / (HARDNESS * A)
            rows_out.bound[n], rows_out.kind[n], rows_out.dim[n] = 0.0, UNILATERAL, 0
            note_row(notes_out, n, OF_DRIVE_SPEED, k, u + s * most)


@inline
def _passive_rows(equality, k, X, bodies, moving, rows_out, notes_out):
    """Dry friction of a coordinate and inertia against its acceleration."""
    friction, inertia, h = equality.equality_friction, equality.equality_armature[k, 1], bodies.option[STEP]
    if friction[k, 0] > 0.0:
        n = notes_out.counter[ROWS]
        u, bias, A = _coordinate_row(equality, k, X, bodies, moving, 1.0, rows_out, n)
        if friction[k, 2] >= 1.0:
            # hard: rest within the step, J a = -x' / h - J' v
            rows_out.aref[n], rows_out.D[n] = -u / h - bias, 1.0 / (HARDNESS * A)
        else:
            rows_out.aref[n] = -friction[k, 1] / friction[k, 3] * u - bias
            rows_out.D[n] = 1.0 / regularizer(friction[k, 2], A)
        rows_out.bound[n], rows_out.kind[n], rows_out.dim[n] = friction[k, 0], FRICTION, 0
        note_row(notes_out, n, OF_JOINT_FRICTION, k, 0.0)
    if inertia > 0.0:
        n = notes_out.counter[ROWS]
        _, bias, _ = _coordinate_row(equality, k, X, bodies, moving, 1.0, rows_out, n)
        # f = -I (J a + J' v)
        rows_out.aref[n], rows_out.D[n] = -bias, inertia
        rows_out.bound[n], rows_out.kind[n], rows_out.dim[n] = 0.0, EQUALITY, 0
        note_row(notes_out, n, OF_JOINT_INERTIA, k, 0.0)


@inline
def _extra_rows(equality, k):
    """Rows of a motor, of limits of the velocity, of friction and of inertia."""
    count = 1 if equality.equality_motor[k] >= VELOCITY else 0
    count += 1 if equality.equality_friction[k, 0] > 0.0 else 0
    count += 1 if equality.equality_armature[k, 1] > 0.0 else 0
    for side in range(2):
        if abs(equality.equality_speed[k, side]) < _OPEN:
            count += 1
    return count


@inline
def _coordinate(equality, k, X):
    """The angle or the way of the second anchor against the first, about or along z of the first."""
    first, second = equality.equality_first[k], equality.equality_second[k]
    R = load_rotation(X, first)
    if equality.equality_kind[k] == SLIDE:
        return dot(Vec3(R.xz, R.yz, R.zz), sub(load_position(X, second), load_position(X, first)))
    E = matrix_to_quat(relative_rotation(R, load_rotation(X, second)))
    return 2.0 * atan2(E.z, E.w)


@inline
def _bound_rows(equality, k, X, bodies, v, a, rows_out, notes_out):
    """Limits of the coordinate of a hinge or slide: of the second anchor against the first, along z."""
    number, counter = equality.equality_number, notes_out.counter
    axes = equality.equality_bound_axis
    first, second, h = equality.equality_first[k], equality.equality_second[k], bodies.option[STEP]
    R, p_b = load_rotation(X, first), load_position(X, second)
    none = Vec3(0.0, 0.0, 0.0)
    still = PointMotion(none, none, none, none)
    z = Vec3(R.xz, R.yz, R.zz)
    sliding = equality.equality_kind[k] == SLIDE
    A_move, A_turn = pair_weights(
        bodies.body_invweight, equality.equality_body[k, 0], equality.equality_body[k, 1]
    )
    A = maximum(A_move if sliding else A_turn, LEAST_INVERSE)
    x, near = _coordinate(equality, k, X), resting_gap(bodies.option)
    if sliding:
        set_axis(axes, 0, z, none, 0.0)
    else:
        set_axis(axes, 0, none, z, 0.0)
    for side in range(2):
        s, n = 1.0 - 2.0 * side, counter[ROWS]
        if n >= rows_out.kind.shape[0]:
            counter[DROPPED] += 1
            continue
        clear_rows(rows_out.J, n, 1)
        link_a, link_b = equality.equality_link[k, 0], equality.equality_link[k, 1]
        add_axes_motion(bodies, link_b, p_b, still, a, axes, 1, s, rows_out.J, n)
        add_axes_motion(bodies, link_a, p_b, still, a, axes, 1, -s, rows_out.J, n)
        r, u = s * (x - number[k, 9 + side]), row_velocity(rows_out.J, n, v)
        if r < near or r + h * u < near:
            made = hard_stop(0.0, 1.0, r, u, A, FASTEST, SLOW, bodies.option)
            mark_split(made, counter)
            rows_out.aref[n], rows_out.D[n] = made.aref, 1.0 / made.R
            notes_out.row_active[n] = 1.0
            rows_out.bound[n], rows_out.kind[n], rows_out.dim[n] = 0.0, UNILATERAL, 0
            notes_out.row_residual[n] = r
            notes_out.row_note[n, 0], notes_out.row_note[n, 1] = OF_BOUND, k
            counter[ROWS] = n + 1
            counter[ACTIVE_LIMITS] += 1


@inline
def _equality(equality, targets, bodies, moving, k, rows_out, notes_out):
    """The rows of equality `k`, for which there is room."""
    counter, option = notes_out.counter, bodies.option
    h, safe = option[STEP], option[SAFE] != 0.0
    X, residual, v = targets.anchor_X, notes_out.row_residual, moving.island_v
    kind, n = equality.equality_kind[k], counter[ROWS]
    count = ROW_COUNT[kind]
    clear_rows(rows_out.J, n, count)
    moved, axes = count, matrix(pointer(equality.equality_axes[k]), 0, 6, 7)
    axes[0, 6] = 0.0
    if kind == JOINT or kind == TENDON:
        A_move = follow(equality, targets.tendon, k, moving.q, bodies.column, rows_out.J, n, residual, n)
        A_turn = A_move
        if kind == JOINT and equality.equality_law[k, KIND] == HARD:
            axes[0, 6] = _bend(equality, k, moving.q, moving.v)
    else:
        a, b = equality.equality_first[k], equality.equality_second[k]
        link_a, link_b = equality.equality_link[k, 0], equality.equality_link[k, 1]
        p_a, p_b = load_position(X, a), load_position(X, b)
        if is_carried(kind):
            # directions that turn with b see the point of a from both
            p_b = p_a
        A, B = _point_motion(bodies, moving, link_a, p_a), _point_motion(bodies, moving, link_b, p_b)
        moved = anchor_axes(equality, k, X, A, B, axes, residual, n)
        if kind == POINT:
            add_point_motion(bodies, link_a, p_a, A.a, link_b, p_b, B.a, moving.a, axes, rows_out.J, n)
        else:
            add_axes_motion(bodies, link_a, p_a, A, moving.a, axes, count, 1.0, rows_out.J, n)
            add_axes_motion(bodies, link_b, p_b, B, moving.a, axes, count, -1.0, rows_out.J, n)
        body_a, body_b = equality.equality_body[k, 0], equality.equality_body[k, 1]
        A_move, A_turn = pair_weights(bodies.body_invweight, body_a, body_b)
    total = 0.0
    for r in range(n, n + count):
        total += residual[r] * residual[r]
    norm = sqrt(total)
    law, turn_law = load_law(equality.equality_law, k), load_law(equality.equality_turn_law, k)
    for r in range(n, n + count):
        bias = axes[r - n, 6]
        if r - n < moved:
            _finish(law, norm, A_move, bias, v, r, h, safe, rows_out, notes_out)
        else:
            _finish(turn_law, norm, A_turn, bias, v, r, h, safe, rows_out, notes_out)
        notes_out.row_note[r, 0], notes_out.row_note[r, 1] = OF_EQUALITY, k
        notes_out.row_active[r] = 1.0
    equality.equality_row[k] = counter[ALL_ROWS] + n
    counter[ROWS] = n + count
    if equality.equality_motor[k] >= VELOCITY:
        _motor_row(equality, k, X, bodies, moving, rows_out, notes_out)
    _speed_limit_rows(equality, k, X, bodies, moving, rows_out, notes_out)
    _passive_rows(equality, k, X, bodies, moving, rows_out, notes_out)
    if equality.equality_number[k, 9] > -_OPEN or equality.equality_number[k, 10] < _OPEN:
        _bound_rows(equality, k, X, bodies, v, moving.a, rows_out, notes_out)


@kernel
def equality_rows(equality, targets, bodies, moving, island, rows_out, notes_out):
    """Rows of the active equalities of an island.

    held: what they hold beside coordinates, tendons and anchors; moving: the motion without constraints.
    """
    counter = island.counter
    for i in range(counter[TREE_FIRST], counter[TREE_END]):
        t = island.island_tree[i]
        for j in range(island.tree_equality[t], island.tree_equality[t + 1]):
            k = island.equality_order[j]
            equality.equality_row[k] = -1
            if equality.equality_on[k] == ON:
                count = ROW_COUNT[equality.equality_kind[k]] + _extra_rows(equality, k)
                if counter[ROWS] + count > rows_out.kind.shape[0]:
                    counter[DROPPED] += 1
                else:
                    _equality(equality, targets, bodies, moving, k, rows_out, notes_out)


@inline
def _pull(tree, pos, link, point, along, about, link_F_io):
    """A force at a point and a torque on a link; link_F holds minus the external forces."""
    if link > 0:
        p = sub(point, load_vec3(pos.link_origin, tree.link_root[link]))
        F = Force(scale(add(about, cross(p, along)), -1.0), scale(along, -1.0))
        add_to_force(link_F_io, link, F)


@inline
def _rate(tree, pos, link_V, link, point, z, slides):
    """Velocity of a link at a point along z, or its angular velocity about z; the world stands still."""
    if link == 0:
        return 0.0
    V = load_motion(link_V, link)
    if not slides:
        return dot(z, V.ang)
    return dot(z, velocity_at(V, sub(point, load_vec3(pos.link_origin, tree.link_root[link]))))


@inline
def _passive_effort(tree, pos, link_V, X, equality_io, k):
    """Efforts of spring and damper of coordinate `k`: -k (x - rest) and -d x'; keeps and adds them."""
    passive, spring = equality_io.equality_passive, equality_io.equality_spring
    spring[k, 0] = spring[k, 1] = 0.0
    if equality_io.equality_on[k] != ON:
        return 0.0
    slides = equality_io.equality_kind[k] == SLIDE
    if passive[k, 0] > 0.0:
        stretch = _coordinate(equality_io, k, X) - passive[k, 1]
        if not slides:
            # a whole turn is the same angle: the nearest one counts
            stretch -= _FULL_TURN * nearest(stretch / _FULL_TURN)
        spring[k, 0] = -passive[k, 0] * stretch
    if passive[k, 2] > 0.0:
        R, p = (
            load_rotation(X, equality_io.equality_first[k]),
            load_position(X, equality_io.equality_second[k]),
        )
        z, link_a, link_b = (
            Vec3(R.xz, R.yz, R.zz),
            equality_io.equality_link[k, 0],
            equality_io.equality_link[k, 1],
        )
        rate = _rate(tree, pos, link_V, link_b, p, z, slides) - _rate(tree, pos, link_V, link_a, p, z, slides)
        spring[k, 1] = -passive[k, 2] * rate
    return spring[k, 0] + spring[k, 1]


@kernel
def joint_efforts(tree, pos, link_V, anchor_X, equality_io, link_F_io):
    """Efforts on coordinates of joints between bodies that act before rows are solved.

    Those of motors, commanded ones and constant parts of bounded ones, of springs and of dampers. The second
    place feels them along the axis of the coordinate, the first anchor the opposite.
    """
    efforts, drive = equality_io.equality_effort, equality_io.equality_drive
    for k in range(equality_io.equality_kind.shape[0]):
        drive[k, 0] = 0.0
        motor, effort = equality_io.equality_motor[k], 0.0
        if motor != NO_MOTOR and equality_io.equality_on[k] == ON:
            effort = constant_part(efforts[k, 0], efforts[k, 1])
            if motor == EFFORT:
                effort = min(max(equality_io.equality_command[k, 0], efforts[k, 0]), efforts[k, 1])
            drive[k, 0] = effort
        effort += _passive_effort(tree, pos, link_V, anchor_X, equality_io, k)
        if effort == 0.0:
            continue
        R, p = (
            load_rotation(anchor_X, equality_io.equality_first[k]),
            load_position(anchor_X, equality_io.equality_second[k]),
        )
        along, about = Vec3(0.0, 0.0, 0.0), scale(Vec3(R.xz, R.yz, R.zz), effort)
        if equality_io.equality_kind[k] == SLIDE:
            along, about = about, along
        link_a, link_b = equality_io.equality_link[k, 0], equality_io.equality_link[k, 1]
        _pull(tree, pos, link_b, p, along, about, link_F_io)
        _pull(tree, pos, link_a, p, scale(along, -1.0), scale(about, -1.0), link_F_io)


@kernel
def equality_forces(force, frame, equality_io):
    """What every equality does to its first anchor: force and torque; it breaks where either is too much.

    Those of coordinates and lengths have one number, the generalized force. frame: number of the step.
    """
    wrench, number = equality_io.equality_wrench, equality_io.equality_number
    broken, drive = equality_io.equality_break, equality_io.equality_drive
    efforts = equality_io.equality_effort
    for k in range(equality_io.equality_kind.shape[0]):
        n, kind = equality_io.equality_row[k], equality_io.equality_kind[k]
        for j in range(6):
            wrench[k, j] = 0.0
        drive[k, 1] = 0.0
        if n < 0:
            continue
        motor = equality_io.equality_motor[k]
        if motor == EFFORT:
            drive[k, 1] = drive[k, 0]
        elif motor != NO_MOTOR:
            # its row stands behind those of the joint
            drive[k, 1] = whole_force(efforts[k, 0], efforts[k, 1], force[n + ROW_COUNT[kind]])
        if kind == JOINT or kind == TENDON:
            wrench[k, 0] = force[n]
        else:
            axes = matrix(pointer(equality_io.equality_axes[k]), 0, 6, 7)
            for r in range(ROW_COUNT[kind]):
                for j in range(6):
                    wrench[k, j] += force[n + r] * axes[r, j]
        f, t = wrench[k, :3], wrench[k, 3:]
        pull = sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
        twist = sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2])
        if pull > number[k, 11] or twist > number[k, 12]:
            equality_io.equality_on[k] = BROKEN
            broken[k, 0], broken[k, 1], broken[k, 2] = frame, pull, twist
