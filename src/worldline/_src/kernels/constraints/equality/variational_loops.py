# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Closed mechanisms in variational steps: impulses of hard equalities at the start of the step.

With multipliers the discrete Euler-Lagrange equations of a step from q0 to q1 are those of momenta

    p0 + J(q0)^T lambda  at the start, with lambda such that g(q1) = 0,
    p1 - J(q1)^T mu      at the end, with mu such that J(q1) v1 = 0

in the place of p0 and p1, which keeps the map from (q0, p0) to (q1, p1) symplectic [RATTLE, Andersen 1983;
Leimkuhler and Skeel 1994; Marsden and West 2001, ch. 3.5]. Newton's method for lambda has the matrix
h J M^-1 J^T at q0, which is off by the order of h, and the equations of the step are solved again after each
of its steps; what is left after them, and mu, is for `loops.close_loops`. A mechanism that starts open keeps
its residual in these equations.

Branches of a mechanism meet in singular poses, so that a step which ends near one has to be on its branch
before Newton's method begins. It begins with the impulses of the accelerations along the loops at the start,
J a = -J' v, which leave O(h^3). With u the displacement without impulses, h v + h^2 a / 2 + O(h^3),

    J (u - h v - M^-1 J^T x) + (g(q0 + h v) + g(q0 - h v)) / 2 - g(q0) = 0      lambda = -x / h

Near a singular pose J(q0) loses rank, impulses along it hardly move what g(q1) = 0 asks to be moved, and
Newton's method diverges. Then one step of damped least squares takes its place [Levenberg 1944],

    lambda = -(J M^-1 J^T + d I)^-1 g / h

which is close to it along well-conditioned directions and bounded along the others. What it leaves open is
closed at the end of the step, with the Jacobian there.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels import configuration, kinematics
from worldline._src.kernels.anchors import anchor_poses
from worldline._src.kernels.constraints.equality.loop_columns import (
    COLUMN_END,
    COLUMN_FIRST,
    FAR,
    FAR_START,
    ROW_END,
    ROW_FIRST,
)
from worldline._src.kernels.constraints.equality.loops import (
    distance,
    factor_loop,
    loop_jacobian,
    loop_rows,
    push_loop,
    solve_loop,
)
from worldline._src.kernels.variational import solve_again
from worldline._src.scalar.ops import any_of, constant, maximum, minimum, where

_FARTHEST = 1e6
"""How far from its goal Newton's method may leave a row, in tolerances,"""
_CLOSE = 100.0
"""how far in any case,"""
_LEFT = 0.1
"""and which share of the distance that it began with."""
_DAMPING = 1e-2
"""Damping where it leaves more, as a share of the largest diagonal element of J M^-1 J^T,"""
_LEADING = 1e-6
"""and for the impulses of accelerations before it, whose equations have errors of the order of h^4."""


@inline
def _go(mechanism, start, move, h, q_out):
    """Poses and anchors where the displacement leads; q_out: the coordinates there."""
    trees = mechanism.trees
    configuration.integrate(trees.tree, start.q_start, move.displacement, constant(1.0, h), q_out)
    kinematics.kinematics(trees.tree, mechanism.joint, q_out, trees.pos)
    anchor_poses(trees.tree, trees.pos, mechanism.anchors)


@inline
def _push(loop, g, h, move_io):
    """Change u and p0 by the impulses of mechanism `g` that take `loop_force` away."""
    first, row = loop.loop_span[g, COLUMN_FIRST], loop.loop_span[g, ROW_FIRST]
    solve_loop(loop, g, loop.loop_force)

    # u -= M^-1 J^T x,  p0 -= J^T x / h
    push_loop(loop, g, move_io.displacement)
    J = loop_jacobian(loop, g, loop.loop_start).values
    for k in range(J.shape[0]):
        x = loop.loop_force[row + k] / h
        for j in range(J.shape[1]):
            d = loop.loop_dof[first + j]
            move_io.p_start[d] = move_io.p_start[d] - J[k, j] * x


@inline
def _push_gap(loop, g, h, move_io):
    """A Newton step of the impulses of mechanism `g` from its residuals."""
    for k in range(loop.loop_span[g, ROW_FIRST], loop.loop_span[g, ROW_END]):
        loop.loop_force[k] = loop.loop_r[k] - loop.loop_goal[k]
    _push(loop, g, h, move_io)


@inline
def _factor_start(loop, mechanism, start, damping, crb_out, q_out):
    """Damped factors at the start of the step of mechanisms that begin again; q_out is there."""
    trees = mechanism.trees
    for k in range(q_out.shape[0]):
        q_out[k] = start.q_start[k]
    kinematics.kinematics(trees.tree, mechanism.joint, q_out, trees.pos)
    for g in range(loop.loop_span.shape[0]):
        if any_of(loop.loop_state[g, FAR] > 0.5):
            J = loop_jacobian(loop, g, loop.loop_J).values
            kept = loop_jacobian(loop, g, loop.loop_start).values
            for k in range(J.shape[0]):
                for j in range(J.shape[1]):
                    J[k, j] = kept[k, j]
            factor_loop(loop, g, trees, damping, crb_out)


@inline
def _begins(loop):
    """Whether any mechanism begins, at the start of a step or again with damped impulses."""
    found = False
    for g in range(loop.loop_span.shape[0]):
        found = found or any_of(loop.loop_state[g, FAR] > 0.5)
    return found


@kernel
def start_loops(loop, mechanism, h, q, v, crb_out):
    """Jacobians at the start of a step with their factors; no impulses yet. Needs poses there."""
    anchor_poses(mechanism.trees.tree, mechanism.trees.pos, mechanism.anchors)
    for g in range(loop.loop_span.shape[0]):
        loop_rows(loop, g, mechanism, q, v, False)
        factor_loop(loop, g, mechanism.trees, 0.0, crb_out)
        loop.loop_state[g, FAR_START], loop.loop_state[g, FAR] = constant(0.0, h), constant(1.0, h)
        J, kept = loop_jacobian(loop, g, loop.loop_J).values, loop_jacobian(loop, g, loop.loop_start).values
        for k in range(J.shape[0]):
            row = loop.loop_span[g, ROW_FIRST] + k
            loop.loop_goal[row] = loop.loop_r[row]
            for j in range(J.shape[1]):
                kept[k, j] = J[k, j]


@kernel
def rows_beside_loops(loop, start, a_io):
    """Take what rows do across the loops off the accelerations; impulses of hard equalities do it instead.

    start.a_sum: accelerations without rows. Needs the Jacobians and factors of `start_loops`.
    """
    for g in range(loop.loop_span.shape[0]):
        first, row = loop.loop_span[g, COLUMN_FIRST], loop.loop_span[g, ROW_FIRST]
        J = loop_jacobian(loop, g, loop.loop_start).values
        for _ in range(2):
            # da -= M^-1 J^T (J M^-1 J^T)^-1 J da, twice because of the regularizer
            for k in range(J.shape[0]):
                total = 0.0 * a_io[0]
                for j in range(J.shape[1]):
                    d = loop.loop_dof[first + j]
                    total = total + J[k, j] * (a_io[d] - start.a_sum[d])
                loop.loop_force[row + k] = total
            solve_loop(loop, g, loop.loop_force)
            push_loop(loop, g, a_io)


@kernel
def lead_start(loop, mechanism, h, start, v, move_io, q_out):
    """The impulses of the accelerations along the loops at the start, for mechanisms that begin."""
    trees = mechanism.trees
    if _begins(loop):
        # x = (g(q0 + h v) + g(q0 - h v)) / 2 - g(q0), half of h^2 J' v
        for k in range(loop.loop_force.shape[0]):
            loop.loop_force[k] = -loop.loop_goal[k]
        for sign in (1.0, -1.0):
            configuration.integrate(trees.tree, start.q_start, start.v_start, sign * h, q_out)
            kinematics.kinematics(trees.tree, mechanism.joint, q_out, trees.pos)
            anchor_poses(trees.tree, trees.pos, mechanism.anchors)
            for g in range(loop.loop_span.shape[0]):
                loop_rows(loop, g, mechanism, q_out, v, False)
                for k in range(loop.loop_span[g, ROW_FIRST], loop.loop_span[g, ROW_END]):
                    loop.loop_force[k] = loop.loop_force[k] + 0.5 * loop.loop_r[k]
        for g in range(loop.loop_span.shape[0]):
            if any_of(loop.loop_state[g, FAR] > 0.5):
                # x += J (u - h v)
                J = loop_jacobian(loop, g, loop.loop_start).values
                first, row = loop.loop_span[g, COLUMN_FIRST], loop.loop_span[g, ROW_FIRST]
                for k in range(J.shape[0]):
                    for j in range(J.shape[1]):
                        d = loop.loop_dof[first + j]
                        ahead = move_io.displacement[d] - h * start.v_start[d]
                        loop.loop_force[row + k] = loop.loop_force[row + k] + J[k, j] * ahead
                _push(loop, g, h, move_io)
        solve_again(move_io)


@kernel
def push_loops(loop, mechanism, h, start, v, move_io, q_out):
    """A Newton step of the impulses at the start, from where the displacement leads; q_out is there.

    p0 and the displacement change by it, and the equations of the step are to be solved again.
    """
    _go(mechanism, start, move_io, h, q_out)
    for g in range(loop.loop_span.shape[0]):
        loop_rows(loop, g, mechanism, q_out, v, False)
        # the distance of the first of these steps is kept
        before = loop.loop_state[g, FAR_START]
        loop.loop_state[g, FAR_START] = where(before > 0.0, before, distance(loop, g, h))
        _push_gap(loop, g, h, move_io)
    solve_again(move_io)


@kernel
def damp_loops(loop, mechanism, h, start, v, crb_out, move_io, q_out):
    """Begin again with damped impulses in mechanisms that Newton's method leaves open; others keep theirs.

    loop_state[:, FAR] is 1 for the former and 0 for the latter. start.v_part: p0 without impulses.
    """
    _go(mechanism, start, move_io, h, q_out)
    solved = not any_of(move_io.solver_report[1] > 0.5)
    for g in range(loop.loop_span.shape[0]):
        loop_rows(loop, g, mechanism, q_out, v, False)
        far, most = distance(loop, g, h), _LEFT * loop.loop_state[g, FAR_START]
        most = minimum(maximum(most, constant(_CLOSE, h)), constant(_FARTHEST, h))
        closed = solved and not any_of(far > most)
        loop.loop_state[g, FAR] = constant(0.0 if closed else 1.0, h)
    if _begins(loop):
        _factor_start(loop, mechanism, start, _LEADING, crb_out, q_out)
        for g in range(loop.loop_span.shape[0]):
            if any_of(loop.loop_state[g, FAR] > 0.5):
                # u = h v, p0 as they were
                for i in range(loop.loop_span[g, COLUMN_FIRST], loop.loop_span[g, COLUMN_END]):
                    d = loop.loop_dof[i]
                    move_io.p_start[d] = start.v_part[d]
                    if mechanism.trees.chain.dof_mobile[d] != 0.0:
                        move_io.displacement[d] = h * start.v_start[d]
        solve_again(move_io)


@kernel
def push_damped(loop, mechanism, h, start, v, crb_out, move_io, q_out):
    """The same as `push_loops` by damped least squares, for mechanisms that began again."""
    if _begins(loop):
        _factor_start(loop, mechanism, start, _DAMPING, crb_out, q_out)
        _go(mechanism, start, move_io, h, q_out)
        for g in range(loop.loop_span.shape[0]):
            if any_of(loop.loop_state[g, FAR] > 0.5):
                loop_rows(loop, g, mechanism, q_out, v, False)
                _push_gap(loop, g, h, move_io)
        solve_again(move_io)
