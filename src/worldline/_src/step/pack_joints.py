# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the tables of a Model to the columns of joint rows: limits and dry friction."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact.impacts import FASTEST
from worldline._src.kernels.constraints.friction.columns import FrictionColumns
from worldline._src.kernels.constraints.limit.columns import LimitColumns
from worldline._src.model.force_tables import ForceModels
from worldline._src.model.kinds import QUATERNION_JOINTS, JointType
from worldline._src.model.model import UNLIMITED_SPEED, Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.columns import Block
from worldline._src.spatial.poses import Array
from worldline._src.step.packer import Packer, Packing, Touched, Trees

"""Columns of `kernels/constraints/tables.py` by name."""


class Limit(NamedTuple):
    """One position limit: its first degree of freedom and coordinate, what it bounds, its ends, its joint."""

    dof: int
    coordinate: int
    kind: int
    lower: float
    upper: float
    joint: int

    @property
    def place(self) -> tuple[int, int, int, int]:
        """What its row is known by: all but the ends."""
        return self.dof, self.coordinate, self.kind, self.joint


def position_limits(model: Model) -> list[Limit]:
    """Position limits of a model, by degree of freedom.

    A joint that turns freely has one, on the angle of its rotation; a distance joint has one on the distance
    of its anchors beside those of its coordinates.
    """
    lower, upper = model.joint_limit_lower, model.joint_limit_upper
    # a spring-damper without stiffness and damping pushes with nothing
    pushes = (model.joint_limit_ke > 0.0) | (model.joint_limit_kd > 0.0)
    finite = (np.isfinite(lower) | np.isfinite(upper)) & pushes
    bounded = (model.joint_distance[:, 0] > 0.0) | (model.joint_distance[:, 1] >= 0.0)
    ranged = bounded & (model.joint_type == JointType.DISTANCE)
    joints = joint_of_dofs(model)
    found = []
    for j in sorted({*joints[finite].tolist(), *np.flatnonzero(ranged).tolist()}):
        first, end = model.joint_qd_start[j : j + 2].tolist()
        shift = int(model.joint_q_start[j]) - first
        turning = end - 3 if model.joint_type[j] in QUATERNION_JOINTS else end
        if ranged[j]:
            near, far = model.joint_distance[j].tolist()
            ends = near if near > 0.0 else -np.inf, far if far >= 0.0 else np.inf
            found.append(Limit(first, first + shift, t.LENGTH, *ends, j))
        found += [
            Limit(d, d + shift, t.NUMBER, float(lower[d]), float(upper[d]), j)
            for d in range(first, turning)
            if finite[d]
        ]
        if turning < end and finite[turning] and np.isfinite(upper[turning]):
            found.append(Limit(turning, turning + shift, t.ANGLE, -np.inf, float(upper[turning]), j))
    return sorted(found)


def pack_limits(model: Model, column: LimitColumns, limits: list[Limit]) -> None:
    """Position limits of joints."""
    if not limits:
        return
    dofs, coordinates, kinds, lower, upper, joint = (np.array(part) for part in zip(*limits, strict=True))
    column.limit_dof[:], column.limit_q[:], column.limit_kind[:] = dofs, coordinates, kinds
    bound = column.limit_bound
    bound[:, 0], bound[:, 1] = lower, upper
    bound[:, 3] = recovery_speeds(model)[dofs]
    if model.joint_forces is not None:
        column.limit_law[:] = law_rows(model.joint_forces.limit)[joint]
        bound[:, 2] = model.joint_forces.margin[joint]
    else:
        column.limit_law[:, t.ERP] = 1.0
    # a stiffness of its own makes the limit of a degree of freedom a spring-damper
    stiffness, damping = model.joint_limit_ke[dofs], model.joint_limit_kd[dofs]
    spring, laws = np.isfinite(stiffness) & (kinds != t.LENGTH), column.limit_law
    laws[spring] = 0.0
    laws[spring, t.KIND] = t.FORCE_SPRING
    laws[spring, t.STIFFNESS], laws[spring, t.DAMPING] = stiffness[spring], damping[spring]


def recovery_speeds(model: Model) -> Array:
    """Largest speed at which degrees of freedom return from beyond their limits: one that they may have."""
    return np.minimum(FASTEST, np.minimum(model.joint_velocity_limit, -model.joint_velocity_lower))


def pack_friction(model: Model, column: FrictionColumns, rubbing: np.ndarray) -> None:
    """Dry friction of joints."""
    if not rubbing.size:
        return
    column.friction_dof[:] = rubbing
    column.friction_law[:, 0] = model.joint_friction[rubbing]
    column.friction_law[:, 2:] = 1.0
    if model.joint_forces is not None:
        laws, joint = model.joint_forces.friction, joint_of_dofs(model)[rubbing]
        column.friction_law[:, 1] = laws.damping[joint]
        # without damping, or without an impedance to scale it by, friction is hard
        soft = (laws.damping[joint] > 0.0) & (laws.impedance[joint] > 0.0)
        column.friction_law[:, 2] = np.where(soft, laws.impedance[joint], 1.0)
        column.friction_law[:, 3] = np.maximum(laws.dmax[joint], 1e-4)


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


def limited_speeds(model: Model) -> np.ndarray:
    """Degrees of freedom with a speed limit."""
    return np.flatnonzero(
        np.minimum(model.joint_velocity_limit, -model.joint_velocity_lower) < UNLIMITED_SPEED
    )


class JointRows(NamedTuple):
    """Position limits, degrees of freedom with dry friction, and those with limits of speed."""

    limits: list[Limit]
    rubbing: np.ndarray
    speeds: np.ndarray


class JointPacker(Packer):
    """Position limits, dry friction and speed limits of joints."""

    ROWS: ClassVar[dict[str, int]] = {"limit": 2, "friction": 1, "speed": 2}

    def __init__(self, packing: Packing) -> None:
        super().__init__(packing)
        option = self.option
        self._bounded = not (option.disable_constraints or option.disable_limit)
        self._rubs = not (option.disable_constraints or option.disable_frictionloss)
        self._ends = self._finite_ends()
        self.joint_rows = JointRows(self._limits(), self._rubbing(), self._speeds())
        """The rows there are; a change of their numbers leaves them as they were made."""
        kinds = np.array([limit.kind for limit in self.joint_rows.limits], np.int64)
        self._limited = np.array([limit.dof for limit in self.joint_rows.limits], np.int64)
        self._two_ended, self._upper_ended = (
            np.flatnonzero(x) for x in (kinds == t.NUMBER, kinds != t.LENGTH)
        )

    def _limits(self) -> list[Limit]:
        return position_limits(self.model) if self._bounded else []

    def _rubbing(self) -> np.ndarray:
        return np.flatnonzero(self.model.joint_friction > 0.0) if self._rubs else np.zeros(0, np.int64)

    def _speeds(self) -> np.ndarray:
        return limited_speeds(self.model) if self._bounded else np.zeros(0, np.int64)

    def _finite_ends(self) -> bytes:
        """Which ends of the position limits are finite, which decides what rows there are."""
        model = self.model
        return np.isfinite(model.joint_limit_lower).tobytes() + np.isfinite(model.joint_limit_upper).tobytes()

    def sizes(self) -> dict[str, int]:
        """Sizes of its columns."""
        rows = self.joint_rows
        return {"nlimit": len(rows.limits), "nfriction": len(rows.rubbing), "nspeed": len(rows.speeds)}

    def touched(self, trees: Trees) -> Touched:
        """Trees of speed limits; limits and friction are sorted by degree of freedom."""
        return {"speed": [trees.dofs([d]) for d in self.joint_rows.speeds.tolist()]}

    def fill(self, block: Block[t.ConstraintColumns]) -> None:
        """Fill its columns."""
        pack_limits(self.model, block.column, self.joint_rows.limits)
        pack_friction(self.model, block.column, self.joint_rows.rubbing)
        block.column.speed_dof[:] = self.joint_rows.speeds

    def take(self, names: Collection[str], column: t.ConstraintColumns) -> bool:
        """Take over numbers of limits and friction; False where the model needs other rows than before."""
        model, rows = self.model, self.joint_rows
        bounds = "joint_limit_lower" in names or "joint_limit_upper" in names
        if bounds and (ends := self._finite_ends()) != self._ends:
            if [x.place for x in self._limits()] != [x.place for x in rows.limits]:
                return False
            self._ends = ends
        rubs, hurries = "joint_friction" in names, "joint_velocity_limit" in names
        if rubs and self._rubbing().tobytes() != rows.rubbing.tobytes():
            return False
        if hurries and self._speeds().tobytes() != rows.speeds.tobytes():
            return False
        if rubs:
            column.friction_law[:, 0] = model.joint_friction[rows.rubbing]
        if bounds:
            two, upper, bound = self._two_ended, self._upper_ended, column.limit_bound
            bound[two, 0] = model.joint_limit_lower[self._limited[two]]
            bound[upper, 1] = model.joint_limit_upper[self._limited[upper]]
        if hurries:
            column.limit_bound[:, 3] = recovery_speeds(model)[self._limited]
        return True
