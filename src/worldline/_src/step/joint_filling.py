# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the tables of a Model to the columns of joint rows: limits and dry friction."""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.model.force_tables import ForceModels
from worldline._src.model.kinds import QUATERNION_JOINTS, JointType
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array

Columns = dict[str, np.ndarray]
"""Columns of `kernels/constraints/tables.py` by name."""


def fill_limits(model: Model, column: Columns, limited: np.ndarray) -> None:
    """Position limits of joints."""
    if not limited.size:
        return
    joint = joint_of_dofs(model)[limited]
    ball = model.joint_type[joint] == JointType.BALL
    column["limit_dof"][:] = limited
    column["limit_q"][:] = np.where(
        ball,
        model.joint_q_start[joint],
        limited - model.joint_qd_start[joint] + model.joint_q_start[joint],
    )
    column["limit_kind"][:] = ball
    column["limit_bound"][:, 0] = model.joint_limit_lower[limited]
    column["limit_bound"][:, 1] = model.joint_limit_upper[limited]
    if model.joint_forces is not None:
        column["limit_law"][:] = law_rows(model.joint_forces.limit)[joint]
        column["limit_bound"][:, 2] = model.joint_forces.margin[joint]
    else:
        column["limit_law"][:, t.ERP] = 1.0


def fill_friction(model: Model, column: Columns, rubbing: np.ndarray) -> None:
    """Dry friction of joints."""
    if not rubbing.size:
        return
    column["friction_dof"][:] = rubbing
    column["friction_law"][:, 0] = model.joint_friction[rubbing]
    column["friction_law"][:, 2:] = 1.0
    if model.joint_forces is not None:
        laws, joint = model.joint_forces.friction, joint_of_dofs(model)[rubbing]
        column["friction_law"][:, 1] = laws.damping[joint]
        # without damping, or without an impedance to scale it by, friction is hard
        soft = (laws.damping[joint] > 0.0) & (laws.impedance[joint] > 0.0)
        column["friction_law"][:, 2] = np.where(soft, laws.impedance[joint], 1.0)
        column["friction_law"][:, 3] = np.maximum(laws.dmax[joint], 1e-4)


def law_rows(force: ForceModels) -> Array:
    """Laws as rows of numbers; see kernels/constraints/tables.py."""
    made = np.zeros((len(force), t.LAW))
    made[:, t.KIND] = force.kind
    made[:, t.STIFFNESS], made[:, t.DAMPING] = force.stiffness, force.damping
    made[:, t.D0 : t.POWER + 1] = force.impedance
    made[:, t.DIRECT] = force.direct
    made[:, t.BOUNCINESS], made[:, t.ERP] = force.bounciness, force.erp
    return made


def joint_of_dofs(model: Model) -> np.ndarray:
    """Joint of every degree of freedom."""
    return np.repeat(np.arange(model.joint_count), np.diff(model.joint_qd_start))


def scalar_coordinates(model: Model) -> np.ndarray:
    """Coordinate of every degree of freedom that is a number of its own, -1 of others."""
    joint = joint_of_dofs(model)
    q = np.arange(model.joint_dof_count) - model.joint_qd_start[joint] + model.joint_q_start[joint]
    turning = np.isin(model.joint_type[joint], list(QUATERNION_JOINTS))
    return np.where(turning, -1, q)


def limited_dofs(model: Model) -> np.ndarray:
    """Degrees of freedom with limits; of a ball joint the first."""
    joint = joint_of_dofs(model)
    finite = np.isfinite(model.joint_limit_lower) | np.isfinite(model.joint_limit_upper)
    ball = model.joint_type[joint] == JointType.BALL
    first = np.arange(model.joint_dof_count) == model.joint_qd_start[joint]
    free = np.isin(model.joint_type[joint], [JointType.FREE, JointType.DISTANCE])
    return np.flatnonzero(finite & ~free & (~ball | first))
