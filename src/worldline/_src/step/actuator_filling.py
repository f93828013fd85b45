# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the actuators of a Model to the columns of actuation."""

from __future__ import annotations

import numpy as np

from worldline._src.model.model import Model
from worldline._src.model.tables import ActivationKind, TargetKind
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array
from worldline._src.step.joint_filling import Columns, joint_of_dofs, scalar_coordinates

JOINT_TARGETS = (TargetKind.JOINT, TargetKind.JOINT_IN_PARENT)


def working_actuators(model: Model, option: SimulateOption) -> np.ndarray:
    """Actuators that act."""
    if model.actuators is None:
        return np.zeros(0, np.int64)
    return np.flatnonzero(~np.isin(model.actuators.group, option.disabled_actuator_groups))


def actuator_moment(model: Model, u: int) -> Array:
    """How the length of an actuator changes with the degrees of freedom."""
    table = model.actuators
    assert table is not None
    moment = np.zeros(model.joint_dof_count)
    target = int(table.target[u])
    if table.target_kind[u] in JOINT_TARGETS:
        dofs = slice(int(model.joint_qd_start[target]), int(model.joint_qd_start[target + 1]))
        moment[dofs] = table.gear[u, : dofs.stop - dofs.start]
    elif table.target_kind[u] == TargetKind.TENDON and model.tendons is not None:
        moment = table.gear[u, 0] * model.tendons.coefficients[target]
    return moment


def fill_actuators(model: Model, column: Columns, working: np.ndarray, clamped: bool) -> None:
    """Actuators that act; `clamped` keeps controls within their ranges."""
    column["dof_force_range"][:] = (-np.inf, np.inf)
    if model.joint_forces is not None:
        column["dof_force_range"][:] = model.joint_forces.force_range[joint_of_dofs(model)]
    column["dof_q"][:] = scalar_coordinates(model)
    table = model.actuators
    if table is None or not working.size:
        return
    state = np.cumsum(table.activation_kind != ActivationKind.NONE) - 1
    column["act_kind"][:, 0] = table.gain_kind[working]
    column["act_kind"][:, 1] = table.bias_kind[working]
    column["act_kind"][:, 2] = table.activation_kind[working]
    column["act_kind"][:, 3] = np.where(table.activation_kind[working] != 0, state[working], -1)
    column["act_kind"][:, 4] = table.activation_early[working]
    numbers = column["act_number"]
    numbers[:, 0:10], numbers[:, 10:20] = table.gain[working], table.bias[working]
    numbers[:, 20:30] = table.activation[working]
    numbers[:, 30:32] = table.control_range[working]
    if not clamped:
        numbers[:, 30:32] = (-np.inf, np.inf)
    numbers[:, 32:34], numbers[:, 34:36] = table.force_range[working], table.activation_range[working]
    for row, u in enumerate(working.tolist()):
        moment = actuator_moment(model, u)
        column["act_moment"][row] = moment
        moved = np.flatnonzero(moment)
        column["act_span"][row] = (moved[0], moved[-1] + 1) if moved.size else (0, 0)
