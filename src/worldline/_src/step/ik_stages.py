# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of inverse kinematics: rows at given coordinates, and coordinates that make residuals vanish."""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels.inverse_kinematics import differential, levenberg_marquardt, rows
from worldline._src.kernels.inverse_kinematics.tables import Mechanism, problem_view
from worldline._src.model.views import (
    body_view,
    dof_view,
    inertia_view,
    joint_view,
    mass_view,
    operand_view,
    position_view,
    tree_view,
)


@inline
def _mechanism(m, c, d):
    return Mechanism(
        tree_view(m, c, d),
        joint_view(m, c, d),
        dof_view(m, c, d),
        body_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        mass_view(m, c, d).link_crb,
    )


@stage
def inverse_kinematics_rows(m, c, args, d):
    """start -> weighted residuals and their derivatives by the columns."""
    operands = operand_view(m, c, d)
    problem, work, _, _ = problem_view(args, d, operands.q, operands.v.shape[0])
    for k in range(work.q.shape[0]):
        work.q[k] = problem.start[k]
    rows.evaluate(_mechanism(m, c, d), problem, work)


@stage
def inverse_kinematics(m, c, args, d):
    """start, target, seed -> result: coordinates and report."""
    operands = operand_view(m, c, d)
    problem, work, result, _ = problem_view(args, d, operands.q, operands.v.shape[0])
    levenberg_marquardt.levenberg_marquardt(_mechanism(m, c, d), problem, result, work)


@stage
def differential_inverse_kinematics(m, c, args, d):
    """start, target, before -> move: velocities of the whole model."""
    operands = operand_view(m, c, d)
    problem, work, _, bounds = problem_view(args, d, operands.q, operands.v.shape[0])
    for k in range(work.q.shape[0]):
        work.q[k] = problem.start[k]
    differential.differential_velocity(_mechanism(m, c, d), problem, bounds, work)
