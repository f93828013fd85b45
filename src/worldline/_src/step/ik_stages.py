# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of inverse kinematics: rows at given coordinates, and coordinates that make residuals vanish."""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels.inverse_kinematics import differential, levenberg_marquardt, rows
from worldline._src.kernels.inverse_kinematics.tables import Mechanism, problem_view
from worldline._src.model import views


@inline
def _mechanism(m, c, d):
    return Mechanism(
        views.tree_view(m, c, d),
        views.joint_view(m, c, d),
        views.dof_view(m, c, d),
        views.body_view(m, c, d),
        views.inertia_view(m, c, d),
        views.position_view(m, c, d),
        views.mass_view(m, c, d).link_crb,
    )


@inline
def _started(m, c, args, d):
    """The views of a problem, at its start."""
    operands = views.operand_view(m, c, d)
    problem, work, result, bounds = problem_view(args, d, operands.q, operands.v.shape[0])
    for k in range(work.q.shape[0]):
        work.q[k] = problem.start[k]
    return problem, work, result, bounds


@stage
def inverse_kinematics_rows(m, c, args, d):
    """start -> weighted residuals and their derivatives by the columns."""
    problem, work, _, _ = _started(m, c, args, d)
    rows.evaluate(_mechanism(m, c, d), problem, work)


@stage
def inverse_kinematics(m, c, args, d):
    """start, target, seed -> result: coordinates and report."""
    operands = views.operand_view(m, c, d)
    problem, work, result, _ = problem_view(args, d, operands.q, operands.v.shape[0])
    levenberg_marquardt.levenberg_marquardt(_mechanism(m, c, d), problem, result, work)


@stage
def differential_inverse_kinematics(m, c, args, d):
    """start, target, before -> move: velocities of the whole model."""
    problem, work, _, bounds = _started(m, c, args, d)
    differential.differential_velocity(_mechanism(m, c, d), problem, bounds, work)
