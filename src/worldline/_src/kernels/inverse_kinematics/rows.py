# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Residuals of inverse kinematics and their derivatives by the columns of a problem.

Tasks between two frames share one form. P is the frame that is looked at, F the frame it is looked at from:
the position of P in F is x = R_F^T (p_P - p_F), its orientation R_F^T R_P. A degree of freedom that moves P
adds the motion of P, one that moves F takes away the motion of F at the position of P, both in the axes of F.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.centroidal import mass_center, total_mass
from worldline._src.kernels.configuration import difference
from worldline._src.kernels.crba import composites
from worldline._src.kernels.inverse_kinematics.tables import (
    AXIS,
    CENTER_OF_MASS,
    COUPLING,
    DISTANCE,
    FIRST,
    FIRST_ROW,
    KIND,
    LAST_A,
    LAST_B,
    LINK_A,
    LINK_B,
    LOOK_AT,
    NEEDS_MASS,
    ORIENTATION,
    OWN,
    POLYGON,
    POSE,
    POSITION,
    POSTURE,
    REQUIRED,
    ROWS,
    SCALE,
    SECOND,
    WEIGHT,
)
from worldline._src.kernels.kinematics import kinematics
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import constant, maximum, sqrt, where
from worldline._src.spatial.inertia import load_inertia, momentum
from worldline._src.spatial.motion import load_motion, velocity_at
from worldline._src.spatial.rotation import (
    Quat,
    load_mat3,
    mat_mul,
    matrix_to_rotation_vector,
    normalized,
    quat_to_matrix,
    relative_rotation,
    rotate,
    rotate_back,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, scale, sub


class _Frame(NamedTuple):
    """Rotation, position relative to the tree's reference point, that point, last velocity that moves it."""

    R: Any
    p: Any
    origin: Any
    last: Any


class _Shape(NamedTuple):
    """A direction in F, its distance, and the factor that stretches its tilt: sqrt(2 / (1 + z))."""

    n: Any
    length: Any
    stretch: Any


@inline
def _frame(mechanism, i, last, array, k):
    """A frame fixed to link `i`: the body frame moved by a pose of 7 numbers in row `k`."""
    body, pos = mechanism.body, mechanism.pos
    R = mat_mul(load_mat3(pos.link_R, i), load_mat3(body.link_R_post, i))
    p = add(load_vec3(pos.link_p, i), rotate(load_mat3(pos.link_R, i), load_vec3(body.link_p_post, i)))
    p = add(p, rotate(R, Vec3(array[k, 0], array[k, 1], array[k, 2])))
    Q = normalized(Quat(array[k, 3], array[k, 4], array[k, 5], array[k, 6]))
    origin = load_vec3(pos.link_origin, mechanism.tree.link_root[i])
    return _Frame(mat_mul(R, quat_to_matrix(Q)), p, origin, last)


@inline
def _tilt(shape):
    """The x and y of a direction stretched so that their length is 2 sin(angle / 2): up to 2 at the back."""
    return shape.n.x * shape.stretch, shape.n.y * shape.stretch


@inline
def _shape(n, length):
    room = maximum(1.0 + n.z, constant(1e-12, n.z))
    return _Shape(n, length, sqrt(2.0 / room))


@inline
def _tilt_rate(shape, rate):
    """Derivative of `_tilt` while the direction changes by `rate`."""
    room = maximum(1.0 + shape.n.z, constant(1e-12, shape.n.z))
    change = -0.5 * shape.stretch / room * rate.z
    return shape.stretch * rate.x + change * shape.n.x, shape.stretch * rate.y + change * shape.n.y


@inline
def _store_row(problem, t, row, k, value, square, work_io):
    """Residual times weight in row `row` + k; returns `square` plus the square of a residual with a weight.

    The sum is formed within the select: the same fused operation in lanes and in one world alone.
    """
    w = problem.number[t, WEIGHT + k]
    work_io.r[row + k] = w * value
    return where(w > 0.0, square + value * value, square)


@inline
def _store_three(problem, t, row, k, value, square, work_io):
    square = _store_row(problem, t, row, k, value.x, square, work_io)
    square = _store_row(problem, t, row, k + 1, value.y, square, work_io)
    return _store_row(problem, t, row, k + 2, value.z, square, work_io)


@inline
def _add_column(problem, shape, t, row, column, ang, lin, sign, work_io):
    """Add a motion (ang, lin) of P in the axes of F to the rows of a task between frames."""
    J, w, kind = work_io.J, problem.number, problem.task[t, KIND]
    if kind == POSE or kind == ORIENTATION:
        J[row, column] = J[row, column] + sign * w[t, WEIGHT] * ang.x
        J[row + 1, column] = J[row + 1, column] + sign * w[t, WEIGHT + 1] * ang.y
        J[row + 2, column] = J[row + 2, column] + sign * w[t, WEIGHT + 2] * ang.z
    k = 3 if kind == POSE else 0
    if kind == POSE or kind == POSITION or kind == AXIS:
        J[row + k, column] = J[row + k, column] + sign * w[t, WEIGHT + k] * lin.x
        J[row + k + 1, column] = J[row + k + 1, column] + sign * w[t, WEIGHT + k + 1] * lin.y
        J[row + k + 2, column] = J[row + k + 2, column] + sign * w[t, WEIGHT + k + 2] * lin.z
    if kind == DISTANCE:
        J[row, column] = J[row, column] + sign * w[t, WEIGHT] * dot(shape.n, lin)
    if kind == AXIS or kind == LOOK_AT:
        k = 3 if kind == AXIS else 0
        if kind == AXIS:
            # the axis turns with P
            rate = cross(ang, shape.n)
        else:
            # the direction to P turns by the part of its motion across it
            rate = scale(sub(lin, scale(shape.n, dot(shape.n, lin))), 1.0 / shape.length)
        x, y = _tilt_rate(shape, rate)
        J[row + k, column] = J[row + k, column] + sign * w[t, WEIGHT + k] * x
        J[row + k + 1, column] = J[row + k + 1, column] + sign * w[t, WEIGHT + k + 1] * y


@inline
def _frame_rows(mechanism, problem, t, work_io):
    """Rows of a task between two frames; returns the square of its residual."""
    task, number = problem.task, problem.number
    kind, row = task[t, KIND], task[t, FIRST_ROW]
    P = _frame(mechanism, task[t, LINK_A], task[t, LAST_A], number, t)
    F = _frame(mechanism, task[t, LINK_B], task[t, LAST_B], problem.target, t)
    if kind == LOOK_AT:
        P, F = F, P

    # position and orientation of P in F
    apart = sub(P.origin, F.origin)
    x = rotate_back(F.R, add(sub(P.p, F.p), apart))
    turn = relative_rotation(F.R, P.R)
    length = sqrt(maximum(dot(x, x), constant(1e-24, x.x)))
    shape = _shape(scale(x, 1.0 / length), length)
    if kind == AXIS:
        shape = _shape(Vec3(turn.xz, turn.yz, turn.zz), length)

    # residuals
    square = constant(0.0, x.x)
    if kind == POSE or kind == ORIENTATION:
        w = matrix_to_rotation_vector(turn)
        square = _store_three(problem, t, row, 0, w, square, work_io)
    if kind == POSE:
        square = _store_three(problem, t, row, 3, x, square, work_io)
    if kind == POSITION or kind == AXIS:
        square = _store_three(problem, t, row, 0, x, square, work_io)
    if kind == DISTANCE:
        square = _store_row(problem, t, row, 0, length - number[t, OWN], square, work_io)
    if kind == AXIS or kind == LOOK_AT:
        k = 3 if kind == AXIS else 0
        a, b = _tilt(shape)
        square = _store_row(problem, t, row, k, a, square, work_io)
        square = _store_row(problem, t, row, k + 1, b, square, work_io)

    # columns: what moves P, then what moves F, at the position of P
    d = P.last
    while d >= 0:
        if problem.column[d] >= 0:
            S = load_motion(mechanism.pos.dof_S, d)
            ang, lin = rotate_back(F.R, S.ang), rotate_back(F.R, velocity_at(S, P.p))
            _add_column(problem, shape, t, row, problem.column[d], ang, lin, 1.0, work_io)
        d = mechanism.dof.dof_parent[d]
    at = add(P.p, apart)
    d = F.last
    while d >= 0:
        if problem.column[d] >= 0:
            S = load_motion(mechanism.pos.dof_S, d)
            ang, lin = rotate_back(F.R, S.ang), rotate_back(F.R, velocity_at(S, at))
            _add_column(problem, shape, t, row, problem.column[d], ang, lin, -1.0, work_io)
        d = mechanism.dof.dof_parent[d]
    return square


@inline
def _mass_rows(mechanism, problem, t, work_io):
    """Centre of mass at a point, or above a polygon; returns the square of the residual."""
    dof, inertia, pos = mechanism.dof, mechanism.inertia, mechanism.pos
    row, kind = problem.task[t, FIRST_ROW], problem.task[t, KIND]
    c = mass_center(mechanism.tree, inertia, pos)
    square = constant(0.0, c.x)
    if kind == CENTER_OF_MASS:
        goal = Vec3(problem.target[t, 0], problem.target[t, 1], problem.target[t, 2])
        square = _store_three(problem, t, row, 0, sub(c, goal), square, work_io)
    else:
        w = problem.number[t, WEIGHT]
        for k in range(problem.edge.shape[0]):
            # outside by n . c - offset > 0
            out = problem.edge[k, 0] * c.x + problem.edge[k, 1] * c.y - problem.edge[k, 2]
            out = maximum(out, constant(0.0, out))
            work_io.r[row + k] = w * out
            square = square + out * out

    inverse = 1.0 / total_mass(inertia)
    for j in range(problem.velocity.shape[0]):
        d = problem.velocity[j]
        I = load_inertia(mechanism.crb, dof.dof_link[d])
        v = scale(momentum(I, load_motion(pos.dof_S, d)).lin, inverse)
        if kind == CENTER_OF_MASS:
            work_io.J[row, j] = problem.number[t, WEIGHT] * v.x
            work_io.J[row + 1, j] = problem.number[t, WEIGHT + 1] * v.y
            work_io.J[row + 2, j] = problem.number[t, WEIGHT + 2] * v.z
        else:
            w = problem.number[t, WEIGHT]
            for k in range(problem.edge.shape[0]):
                slope = w * (problem.edge[k, 0] * v.x + problem.edge[k, 1] * v.y)
                inside = work_io.r[row + k] == 0.0
                work_io.J[row + k, j] = where(inside, constant(0.0, slope), slope)
    return square


@inline
def _joint_rows(mechanism, problem, t, work_io):
    """Coupled coordinates, q1 - ratio q2 - offset, or a posture; returns the square of the residual."""
    task, number, q, row = problem.task, problem.number, work_io.q, problem.task[t, FIRST_ROW]
    square = constant(0.0, q[0])
    if task[t, KIND] == COUPLING:
        w = number[t, WEIGHT]
        value = q[task[t, LINK_A]] - number[t, OWN + 1]
        if task[t, LINK_B] >= 0:
            value = value - number[t, OWN] * q[task[t, LINK_B]]
        square = _store_row(problem, t, row, 0, value, square, work_io)
        # the velocities of the two coordinates
        if task[t, FIRST] >= 0 and problem.column[task[t, FIRST]] >= 0:
            work_io.J[row, problem.column[task[t, FIRST]]] = w
        if task[t, SECOND] >= 0 and problem.column[task[t, SECOND]] >= 0:
            j = problem.column[task[t, SECOND]]
            work_io.J[row, j] = work_io.J[row, j] - w * number[t, OWN]
        return square
    difference(mechanism.tree, problem.posture, q, work_io.move)
    for j in range(problem.velocity.shape[0]):
        value, w = work_io.move[problem.velocity[j]], problem.posture_weight[j]
        work_io.r[row + j] = w * value
        work_io.J[row + j, j] = w
        square = where(w > 0.0, square + value * value, square)
    return square


@kernel
def evaluate(mechanism, problem, work_io):
    """All rows at the coordinates of the work, and two sums in `scratch`. O(n + rows depth).

    scratch[0] is half the sum of squares of the weighted residuals, scratch[1] the largest squared ratio of
    error to tolerance of a task that must be met, without weights.
    """
    J = work_io.J
    kinematics(mechanism.tree, mechanism.joint, work_io.q, mechanism.pos)
    if problem.header[NEEDS_MASS] == 1:
        composites(mechanism.tree, mechanism.inertia, mechanism.pos, mechanism.crb)
    # columns that a task does not depend on stay zero
    zero = constant(0.0, work_io.q[0])
    for t in range(problem.task.shape[0]):
        row = problem.task[t, FIRST_ROW]
        for i in range(row, row + problem.task[t, ROWS]):
            for a in range(problem.touch_start[t], problem.touch_start[t + 1]):
                J[i, problem.touch[a]] = zero

    worst = constant(0.0, work_io.q[0])
    for t in range(problem.task.shape[0]):
        kind = problem.task[t, KIND]
        if kind == CENTER_OF_MASS or kind == POLYGON:
            square = _mass_rows(mechanism, problem, t, work_io)
        elif kind == COUPLING or kind == POSTURE:
            square = _joint_rows(mechanism, problem, t, work_io)
        else:
            square = _frame_rows(mechanism, problem, t, work_io)
        if problem.task[t, REQUIRED] == 1:
            worst = maximum(worst, square * problem.number[t, SCALE])

    # derivatives by the columns in their units, and half the sum of squares
    for t in range(problem.task.shape[0]):
        row = problem.task[t, FIRST_ROW]
        for i in range(row, row + problem.task[t, ROWS]):
            for a in range(problem.touch_start[t], problem.touch_start[t + 1]):
                j = problem.touch[a]
                J[i, j] = J[i, j] * problem.scale[j]
    cost = zero
    for i in range(J.shape[0]):
        cost = cost + 0.5 * work_io.r[i] * work_io.r[i]
    work_io.scratch[0] = cost
    work_io.scratch[1] = worst
