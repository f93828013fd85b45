# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of motors, speed limits, springs between anchors and the fluid."""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.constraints.motor.rows import MIMIC, SERVO
from worldline._src.kernels.constraints.tables import ConstraintColumns
from worldline._src.model.compile import constant_views
from worldline._src.model.model import UNLIMITED_SPEED, Model
from worldline._src.scene.options import SimulateOption
from worldline._src.step.pack_anchors import Anchors
from worldline._src.step.pack_joints import law_rows


def mimic_couplers(model: Model) -> np.ndarray:
    """Couplers that act on one joint alone."""
    return np.zeros(0, np.int64) if model.couplers is None else np.flatnonzero(model.couplers.one_way)


def limited_speeds(model: Model) -> np.ndarray:
    """Degrees of freedom with a speed limit."""
    return np.flatnonzero(
        np.minimum(model.joint_velocity_limit, -model.joint_velocity_lower) < UNLIMITED_SPEED
    )


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
    turn = constant_views(model.arenas)["link_R_post"]
    boxes[:] = 0.0
    for b, link in enumerate(model.link_of_body().tolist()):
        mass = float(model.body_mass[b])
        if link == 0 or mass <= 0.0:
            continue
        moments, axes = np.linalg.eigh(model.body_inertia[b])
        widths = np.sqrt(np.maximum(moments.sum() - 2.0 * moments, 1e-15) / mass * 6.0)
        boxes[link, :3] = widths
        boxes[link, 3:] = (turn[link].reshape(3, 3) @ axes).reshape(9)
