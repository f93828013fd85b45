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
its residual in these equations. At a singular pose impulses of the start do not determine the end: a step
that comes too close to one is not solved.
"""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels import configuration, kinematics
from worldline._src.kernels.anchors import anchor_poses
from worldline._src.kernels.constraints.equality.loop_columns import COLUMN_FIRST, ROW_END, ROW_FIRST
from worldline._src.kernels.constraints.equality.loops import (
    factor_loop,
    loop_jacobian,
    loop_rows,
    push_loop,
    solve_loop,
)
from worldline._src.scalar.ops import absolute, constant, maximum, where

_FARTHEST = 1e6
"""How far from its goal Newton's method may leave a row, in tolerances."""


@kernel
def start_loops(loop, held, h, q, v, crb_out):
    """Jacobians at the start of a step with their factors; no impulses yet. Needs poses there."""
    anchor_poses(held.trees.tree, held.trees.pos, held.anchors)
    for g in range(loop.loop_span.shape[0]):
        loop_rows(loop, g, held, q, v, False)
        factor_loop(loop, g, held.trees, crb_out)
        J, kept = loop_jacobian(loop, g, loop.loop_J).values, loop_jacobian(loop, g, loop.loop_start).values
        for k in range(J.shape[0]):
            row = loop.loop_span[g, ROW_FIRST] + k
            loop.loop_impulse[row], loop.loop_goal[row] = constant(0.0, h), loop.loop_r[row]
            for j in range(J.shape[1]):
                kept[k, j] = J[k, j]


@kernel
def push_loops(loop, held, h, start, v, move_io, q_out):
    """A Newton step of the impulses at the start, from where the displacement leads; q_out is there.

    p0 and the displacement change by it, and the equations of the step are to be solved again.
    """
    trees = held.trees
    configuration.integrate(trees.tree, start.q_start, move_io.displacement, constant(1.0, h), q_out)
    kinematics.kinematics(trees.tree, held.joint, q_out, trees.pos)
    anchor_poses(trees.tree, trees.pos, held.anchors)
    for g in range(loop.loop_span.shape[0]):
        first, row, end = (
            loop.loop_span[g, COLUMN_FIRST],
            loop.loop_span[g, ROW_FIRST],
            loop.loop_span[g, ROW_END],
        )
        loop_rows(loop, g, held, q_out, v, False)
        for k in range(row, end):
            loop.loop_force[k] = loop.loop_r[k] - loop.loop_goal[k]
        solve_loop(loop, g, loop.loop_force)

        # u -= M^-1 J^T x,  lambda -= x / h,  p0 -= J^T x / h
        push_loop(loop, g, move_io.displacement)
        J = loop_jacobian(loop, g, loop.loop_start).values
        for k in range(J.shape[0]):
            x = loop.loop_force[row + k] / h
            loop.loop_impulse[row + k] = loop.loop_impulse[row + k] - x
            for j in range(J.shape[1]):
                d = loop.loop_dof[first + j]
                move_io.p_start[d] = move_io.p_start[d] - J[k, j] * x
    move_io.solver_report[1] = constant(1.0, h)
    move_io.solver_report[2] = constant(1e300, h)


@kernel
def check_loops(loop, held, h, start, v, move_io, q_out):
    """A step whose displacement leaves loops open is not solved; q_out is where it leads."""
    trees = held.trees
    configuration.integrate(trees.tree, start.q_start, move_io.displacement, constant(1.0, h), q_out)
    kinematics.kinematics(trees.tree, held.joint, q_out, trees.pos)
    anchor_poses(trees.tree, trees.pos, held.anchors)
    far = constant(0.0, h)
    for g in range(loop.loop_span.shape[0]):
        loop_rows(loop, g, held, q_out, v, False)
        for k in range(loop.loop_span[g, ROW_FIRST], loop.loop_span[g, ROW_END]):
            off = absolute(loop.loop_r[k] - loop.loop_goal[k])
            far = maximum(far, off / loop.loop_tolerance[k])
    report = move_io.solver_report
    report[1] = where(far <= _FARTHEST, report[1], constant(1.0, h))
