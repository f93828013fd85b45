# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of motors, springs between anchors and the fluid."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from worldline._src.kernels.constraints.motor.rows import MIMIC, SERVO
from worldline._src.kernels.constraints.tables import ConstraintColumns
from worldline._src.linear_algebra import matmul
from worldline._src.model.model import Model
from worldline._src.scalar.columns import Block
from worldline._src.scene.assets.rotations import rotation_matrix
from worldline._src.scene.mass_properties import principal_axes
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array
from worldline._src.step.pack_anchors import Anchors
from worldline._src.step.pack_joints import law_rows
from worldline._src.step.packer import Packer, Packing, Touched, Trees


def mimic_couplers(model: Model) -> np.ndarray:
    """Couplers that act on one joint alone."""
    return np.zeros(0, np.int64) if model.couplers is None else np.flatnonzero(model.couplers.one_way)


def motor_efforts(model: Model, dofs: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Efforts of motors, of the forces of their rows; see `bounded_rows.py`."""
    low, high = model.joint_effort_lower[dofs], model.joint_effort_limit[dofs]
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    low, high = np.where(has_low, low, 0.0), np.where(has_high, high, 0.0)
    shift = np.where(has_low & has_high, 0.5 * (low + high), low + high)
    return shift + np.where(has_high & ~has_low, -forces, forces)


def pack_motors(model: Model, column: ConstraintColumns, servos: np.ndarray, mimics: np.ndarray) -> None:
    """Servos first, then mimic motors."""
    n = len(servos)
    if n:
        column.motor_kind[:n], column.motor_on[:n] = SERVO, 1
        column.motor_dof[:n, 0] = column.motor_dof[:n, 1] = servos
    table = model.couplers
    if table is None or not mimics.size:
        return
    column.motor_kind[n:], column.motor_on[n:] = MIMIC, table.active[mimics]
    column.motor_dof[n:, 0], column.motor_dof[n:, 1] = table.dof[mimics], table.reference[mimics]
    column.motor_q[n:, 0] = table.coordinate[mimics]
    column.motor_q[n:, 1] = table.reference_coordinate[mimics]
    column.motor_number[n:, 0] = table.multiplier[mimics]
    column.motor_number[n:, 1] = table.offset[mimics]
    column.motor_law[n:] = law_rows(table.force)[mimics]


def spring_ends(model: Model, anchors: Anchors) -> list[tuple[int, int]]:
    """Anchors of both ends of the springs between bodies."""
    table = model.distance_springs
    if table is None:
        return []
    return [
        (anchors.add(int(table.body_a[k]), table.X_a[k]), anchors.add(int(table.body_b[k]), table.X_b[k]))
        for k in range(len(table))
    ]


def pack_springs(model: Model, column: ConstraintColumns, ends: list[tuple[int, int]]) -> None:
    """Springs between bodies."""
    table = model.distance_springs
    if table is None or not ends:
        return
    column.spring_end[:], column.spring_on[:] = ends, table.active
    column.spring_number[:] = np.stack([table.rest, table.stiffness, table.damping], axis=1)


def pack_fluid(model: Model, column: ConstraintColumns, option: SimulateOption) -> None:
    """Density, viscosity, wind, and the box that has the inertia of every link."""
    boxes = column.fluid_box
    if not len(boxes):
        return
    column.fluid_option[:] = (option.density, option.viscosity, *option.wind)
    turn = model.constants["link_R_post"]
    boxes[:] = 0.0
    for b, link in enumerate(model.link_of_body().tolist()):
        mass = float(model.body_mass[b])
        if link == 0 or mass <= 0.0:
            continue
        moments, rotation = principal_axes(model.body_inertia[b])
        widths = np.sqrt(np.maximum(moments.sum() - 2.0 * moments, 1e-15) / mass * 6.0)
        boxes[link, :3] = widths
        boxes[link, 3:] = matmul(turn[link].reshape(3, 3), rotation_matrix(rotation)).reshape(9)


class MotorPacker(Packer):
    """Servos with a largest force, then couplers that act on one joint alone."""

    ROWS: ClassVar[dict[str, int]] = {"motor": 1}

    def __init__(self, packing: Packing) -> None:
        super().__init__(packing)
        off = self.option.disable_constraints or self.option.disable_equality
        self.mimics = np.zeros(0, np.int64) if off else mimic_couplers(self.model)
        self.couplers: list[int] = [-1] * len(packing.servos) + self.mimics.tolist()
        """Coupler of every motor, -1 for a servo."""

    def sizes(self) -> dict[str, int]:
        """Sizes of its columns."""
        return {"nmotor": len(self.couplers)}

    def touched(self, trees: Trees) -> Touched:
        """Trees of the joints that move."""
        moved, table = self.packing.servos.tolist(), self.model.couplers
        if table:
            moved += [int(table.dof[k]) for k in self.mimics]
        return {"motor": [trees.dofs([d]) for d in moved]}

    def fill(self, block: Block[ConstraintColumns]) -> None:
        """Fill its columns."""
        pack_motors(self.model, block.column, self.packing.servos, self.mimics)


class SpringPacker(Packer):
    """Springs between bodies."""

    def __init__(self, packing: Packing) -> None:
        super().__init__(packing)
        self.ends = spring_ends(self.model, packing.anchors)

    def sizes(self) -> dict[str, int]:
        """Sizes of its columns."""
        return {"nspring": len(self.ends)}

    def fill(self, block: Block[ConstraintColumns]) -> None:
        """Fill its columns."""
        pack_springs(self.model, block.column, self.ends)


class FluidPacker(Packer):
    """The fluid that links move in."""

    def sizes(self) -> dict[str, int]:
        """A box of every link, where the fluid has a density or a viscosity."""
        drags = self.option.density > 0.0 or self.option.viscosity > 0.0
        return {"nbox": self.model.arenas.sizes["nlink"] if drags else 0}

    def fill_inertias(self, block: Block[ConstraintColumns], dofs: Array) -> None:
        """Boxes that have the inertias of links."""
        pack_fluid(self.model, block.column, self.option)
