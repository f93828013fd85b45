# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the actuators of a Model to the columns of actuation."""

from __future__ import annotations

import functools

import numpy as np

from worldline._src.kernels import transmissions as holds
from worldline._src.kernels.constraints.tables import ConstraintColumns
from worldline._src.linear_algebra import norm
from worldline._src.model.kinds import QUATERNION_JOINTS, JointType
from worldline._src.model.model import Model
from worldline._src.model.tables import EXACT_ACTIVATIONS, BiasKind, GainKind, TargetKind
from worldline._src.scalar.columns import Block
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array
from worldline._src.step import force_element_stages as s
from worldline._src.step.inverse_weights import InverseMass
from worldline._src.step.moments import Rows, actuator_rows, entries, linear_moment, pack_rows, row_of
from worldline._src.step.pack_anchors import Anchors, measure
from worldline._src.step.pack_joints import joint_of_dofs, scalar_coordinates
from worldline._src.step.pack_tendons import TendonPacker
from worldline._src.step.packer import Packer, Packing
from worldline._src.step.tree_masses import tree_masses

JOINT_TARGETS = (TargetKind.JOINT, TargetKind.JOINT_IN_PARENT)


def working_actuators(model: Model, option: SimulateOption) -> np.ndarray:
    """Actuators that act."""
    if model.actuators is None:
        return np.zeros(0, np.int64)
    return np.flatnonzero(~np.isin(model.actuators.group, option.disabled_actuator_groups))


def _hold(model: Model, u: int, anchors: Anchors) -> tuple[int, int, int, int]:
    """Transmission of an actuator, what it holds, and whether its axes are those of the parent."""
    table = model.actuators
    assert table is not None
    kind, target, other = TargetKind(int(table.target_kind[u])), int(table.target[u]), int(table.reference[u])
    if kind in JOINT_TARGETS:
        within = int(kind == TargetKind.JOINT_IN_PARENT)
        joint, at = JointType(int(model.joint_type[target])), int(model.joint_q_start[target])
        if joint == JointType.BALL:
            return holds.BALL, at, -1, within
        if joint in QUATERNION_JOINTS:
            return holds.FREE, at + 3, -1, within
        return holds.LINEAR, -1, -1, 0
    if kind == TargetKind.TENDON:
        assert model.tendons is not None
        return (holds.TENDON, target, -1, 0) if model.tendons.spatial[target] else (holds.LINEAR, -1, -1, 0)
    if kind == TargetKind.SITE:
        return holds.SITE, anchors.site(target), -1 if other < 0 else anchors.site(other), 0
    if kind == TargetKind.SLIDER_CRANK:
        return holds.SLIDER_CRANK, anchors.site(target), anchors.site(other), 0
    return holds.ADHESION, target + 1, -1, 0


def actuator_holds(model: Model, working: np.ndarray, anchors: Anchors) -> list[tuple[int, int, int, int]]:
    """Transmissions of the actuators that act; sites become anchors."""
    return [_hold(model, u, anchors) for u in working.tolist()]


def pack_actuators(
    model: Model,
    column: ConstraintColumns,
    working: np.ndarray,
    held: list[tuple[int, int, int, int]],
    rows: Rows,
    clamped: bool,
) -> None:
    """Actuators that act, with the degrees of freedom of each; `clamped` keeps controls within ranges."""
    column.dof_force_range[:] = (-np.inf, np.inf)
    if model.joint_forces is not None:
        joints = joint_of_dofs(model)
        column.dof_force_range[:] = model.joint_forces.force_range[joints]
        if model.compensates_gravity:
            compensated = model.joint_forces.actuated_gravcomp[joints]
            column.dof_gravcomp[:] = compensated
            if not working.size:
                # without actuators nobody compensates there, and there is nothing else to bound
                column.dof_force_range[:] = (-np.inf, np.inf)
                column.dof_force_range[compensated] = 0.0
    column.dof_q[:] = scalar_coordinates(model)
    table = model.actuators
    if table is None or not working.size:
        return
    sizes = table.activation_size
    state = np.cumsum(sizes) - sizes
    column.act_kind[:, 0] = table.gain_kind[working]
    column.act_kind[:, 1] = table.bias_kind[working]
    column.act_kind[:, 2] = table.activation_kind[working]
    column.act_kind[:, 3] = np.where(sizes[working] > 0, state[working], -1)
    column.act_kind[:, 4] = table.activation_early[working]
    column.act_kind[:, 5] = sizes[working]
    column.act_kind[:, 6] = table.has_integral[working]
    column.act_kind[:, 7] = table.has_setpoint[working]
    column.act_hold[:] = held
    column.act_gear[:, :6], column.act_gear[:, 6] = table.gear[working], table.rod[working]
    on_tendon = table.target_kind[working] == TargetKind.TENDON
    column.act_tendon[:] = np.where(on_tendon, table.target[working], -1)
    if not len(column.tendon_bound):
        column.act_tendon[:] = -1
    column.act_gain[:], column.act_bias[:] = table.gain[working], table.bias[working]
    column.act_dynamics[:] = table.activation[working]
    column.act_control_range[:] = table.control_range[working] if clamped else (-np.inf, np.inf)
    column.act_force_range[:] = table.force_range[working]
    column.act_activation_range[:] = table.activation_range[working]
    column.act_length_range[:] = table.length_range[working]
    pack_rows(column, "act", rows)
    for row, u in enumerate(working.tolist()):
        if held[row][0] == holds.LINEAR:
            row_of(column, "act", row)[1][:] = linear_moment(model, u)[1]


def has_muscles(model: Model) -> bool:
    """Whether any actuator is a muscle."""
    table = model.actuators
    if table is None:
        return False
    return bool((table.gain_kind == GainKind.MUSCLE).any() or (table.bias_kind == BiasKind.MUSCLE).any())


def settle_muscles(model: Model, block: Block, working: np.ndarray) -> None:
    """Strongest forces that a muscle leaves to be found: its scale over the acceleration a unit force makes.

    Lengths and moments are those of the start. A muscle without a range of lengths takes the limits of the
    joint or tendon it holds.
    """
    table, column = model.actuators, block.column
    if table is None or not working.size:
        return
    lengths = column.act_length_range
    muscle = (table.gain_kind[working] == GainKind.MUSCLE) | (table.bias_kind[working] == BiasKind.MUSCLE)
    if not muscle.any():
        return
    measure(model, block, np.asarray(model.joint_q), (s.anchor_poses, s.tendon_lengths, s.transmissions))
    inverse = InverseMass(model, tree_masses(model, np.array(model.joint_q)))
    for row in np.flatnonzero(muscle).tolist():
        if not np.isfinite(lengths[row]).all():
            lengths[row] = muscle_range(model, int(working[row]))
        felt = max(norm(inverse.times(*row_of(column, "act", row))), 1e-15)
        for parameters, given in ((column.act_gain, table.gain), (column.act_bias, table.bias)):
            force, scale = given[working[row], 2:4]
            parameters[row, 2] = force if force >= 0.0 else scale / felt


def muscle_range(model: Model, u: int) -> Array:
    """Range of lengths of a muscle from the limits of what it holds; not finite when there are none."""
    table = model.actuators
    assert table is not None
    if np.isfinite(table.length_range[u]).all():
        return table.length_range[u]
    target, bounds = int(table.target[u]), np.array([-np.inf, np.inf])
    if table.target_kind[u] in JOINT_TARGETS:
        d = int(model.joint_qd_start[target])
        bounds = np.array([model.joint_limit_lower[d], model.joint_limit_upper[d]])
    elif table.target_kind[u] == TargetKind.TENDON and model.tendons is not None:
        bounds = np.array(model.tendons.limit[target])
    return np.sort(bounds * table.gear[u, 0])


class ActuatorPacker(Packer):
    """Actuators that act."""

    def __init__(self, packing: Packing) -> None:
        super().__init__(packing)
        off = self.option.disable_actuators
        self.working = np.zeros(0, np.int64) if off else working_actuators(self.model, self.option)
        """Rows of `Model.actuators`."""
        self.held = actuator_holds(self.model, self.working, packing.anchors)
        self.has_muscles = has_muscles(self.model)
        """Whether any actuator is a muscle."""

    @functools.cached_property
    def dofs(self) -> Rows:
        """Degrees of freedom that every actuator moves."""
        tendons = self.packing.of(TendonPacker).dofs
        return actuator_rows(self.model, self.working, self.held, self.packing.anchors, tendons)

    def sizes(self) -> dict[str, int]:
        """Sizes of its columns."""
        table = self.model.actuators
        return {
            "nu": len(self.working),
            "na": 0 if table is None else int(np.sum(table.activation_size)),
            "nactuated": entries(self.dofs),
        }

    def fill(self, block: Block[ConstraintColumns]) -> None:
        """Fill its columns."""
        clamped = not self.option.disable_control_clamp
        pack_actuators(self.model, block.column, self.working, self.held, self.dofs, clamped)

    def fill_inertias(self, block: Block[ConstraintColumns], dofs: Array) -> None:
        """Strongest forces of muscles."""
        if self.has_muscles:
            settle_muscles(self.model, block, self.working)

    @property
    def has_moving_moments(self) -> bool:
        """Whether the moments of some actuator depend on coordinates."""
        return any(hold[0] != holds.LINEAR for hold in self.held)

    @property
    def has_adhesion(self) -> bool:
        """Whether some actuator pulls along contacts."""
        return any(hold[0] == holds.ADHESION for hold in self.held)

    def set_time_step(self, column: ConstraintColumns, h: float) -> None:
        """Filters and currents have a closed form over a step; all else takes its rate for the whole step."""
        exact = np.isin(column.act_kind[:, 2], EXACT_ACTIVATIONS)
        column.act_blend[:] = h
        if exact.any():
            time = np.maximum(column.act_dynamics[exact, 0], 1e-15)
            column.act_blend[exact, 0] = time * -np.expm1(-h / time)
