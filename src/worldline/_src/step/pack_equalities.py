# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From equalities, loop closures, gears and joints between bodies to the columns of equality rows."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.equality.columns import EqualityColumns
from worldline._src.kernels.constraints.equality.kinds import ROW_COUNT
from worldline._src.kernels.constraints.equality.rows import (
    ACCELERATION,
    BROKEN,
    EFFORT,
    NO_MOTOR,
    ON,
    VELOCITY,
)
from worldline._src.linear_algebra import dot, unit_vector
from worldline._src.model.constraint_tables import ClosureFamily, Equalities, LoopJoints
from worldline._src.model.equality_kinds import KERNEL_KINDS, EqualityKind
from worldline._src.model.kinds import QUATERNION_JOINTS, JointDrive, JointType
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.columns import Block
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array, compose, quaternion
from worldline._src.step.pack_anchors import Anchors, link_pose
from worldline._src.step.pack_joints import law_rows
from worldline._src.step.pack_tendons import TendonPacker
from worldline._src.step.packer import Packer, Packing, Touched, Trees


class Owner(IntEnum):
    """Which table of the Model a constraint comes from."""

    EQUALITY, CLOSURE, COUPLER, LOOP_JOINT = range(4)


class Equality(NamedTuple):
    """One constraint as the kernels see it."""

    owner: Owner
    index: int
    label: str
    kind: int
    active: bool
    first: int
    second: int
    bodies: tuple[int, int]
    law: Array
    turn_law: Array
    polynomial: tuple[float, ...] = (0.0,) * 5
    starts: tuple[float, float] = (0.0, 0.0)
    coordinates: tuple[int, int] = (0, 0)
    size: float = 1.0
    bounds: tuple[float, float] = (-np.inf, np.inf)
    breaks: tuple[float, float] = (np.inf, np.inf)
    """Force and torque at which it breaks."""
    motor: int = NO_MOTOR
    effort: tuple[float, float] = (-np.inf, np.inf)
    """Bounds of the effort of its motor."""
    speed: tuple[float, float] = (-np.inf, np.inf)
    """Bounds of the rate of its coordinate."""
    passive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Stiffness, coordinate at rest and damping of its coordinate."""
    friction: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    """Dry friction of its coordinate: largest effort, damping, impedance, impedance that damping is of."""
    armature: float = 0.0
    """Inertia of its coordinate."""
    data: tuple[float, ...] = ()
    """Numbers of kinds that have many."""

    @property
    def rows(self) -> int:
        """Rows it may take."""
        limits = 2 if np.isfinite(self.bounds).any() else 0
        own = (self.motor >= VELOCITY) + int(np.isfinite(self.speed).sum()) + (self.friction[0] > 0.0)
        # implicit families make a row of damping, too
        return ROW_COUNT[self.kind] + limits + own + (self.armature > 0.0 or self.passive[2] > 0.0)


_FAMILIES = {
    ClosureFamily.RIGID: t.POSE,
    ClosureFamily.POINT: t.POINT,
    ClosureFamily.DISTANCE: t.DISTANCE,
    ClosureFamily.AXIS: t.AXIS,
    ClosureFamily.REVOLUTE: t.AXIS,
    ClosureFamily.UNIVERSAL: t.UNIVERSAL,
    ClosureFamily.PRISMATIC: t.SLIDE,
    ClosureFamily.PLANAR: t.PLANE,
}
JOINT_KINDS = {
    JointType.FIXED: t.POSE,
    JointType.REVOLUTE: t.AXIS,
    JointType.PRISMATIC: t.SLIDE,
    JointType.BALL: t.POINT,
    JointType.EULER: t.POINT,
    JointType.UNIVERSAL: t.UNIVERSAL,
    JointType.PLANAR: t.PLANE,
    JointType.TRANSLATIONAL: t.TURN,
    JointType.SCREW: t.SCREW,
}
"""Joints between bodies that rows can hold, and what they share; free joints share nothing."""

MOTORS = {
    JointDrive.FORCE: EFFORT,
    JointDrive.SERVO: VELOCITY,
    JointDrive.VELOCITY: VELOCITY,
    JointDrive.LOCKED: VELOCITY,
    JointDrive.ACCELERATION: ACCELERATION,
}
"""Motors of joints between bodies."""
_BOUNDED = (JointDrive.FORCE, JointDrive.SERVO)
"""Drives whose effort has bounds; the others take whatever they need."""
_TURN = 2.0
"""Scale of quaternion parts that makes them small angles, so that forces of their rows are torques."""


def equalities(model: Model, option: SimulateOption, anchors: Anchors) -> list[Equality]:
    """All constraints of a model that are equalities, switched on or not."""
    if option.disable_constraints:
        return []
    made: list[Equality] = []
    if not option.disable_equality:
        made += _described(model, anchors)
        made += _closures(model, anchors)
        made += _couplers(model)
    made += _joints(model, anchors)
    return made


def _described(model: Model, anchors: Anchors) -> list[Equality]:
    table = model.equalities
    if table is None or not len(table):
        return []
    laws, made = law_rows(table.force), []
    starts = np.asarray(model.joint_q)
    for k in range(len(table)):
        kind, law = KERNEL_KINDS[int(table.kind[k])], laws[k]
        a, b = int(table.first[k]), int(table.second[k])
        fixed = (Owner.EQUALITY, k, table.label[k], kind, bool(table.active[k]))
        polynomial, breaks = tuple(table.polynomial[k].tolist()), _breaks(table, k)
        if kind not in (t.JOINT, t.TENDON):
            first = anchors.add(int(table.body_a[k]), table.X_a[k])
            second = anchors.add(int(table.body_b[k]), table.X_b[k])
            bodies = (int(table.body_a[k]) + 1, int(table.body_b[k]) + 1)
            scale = float(table.torque_scale[k])
            data = table.data[k]
            made.append(
                Equality(*fixed, first, second, bodies, law, law, size=scale, breaks=breaks, data=data)
            )
        elif kind == t.JOINT:
            q_a, d_a = int(model.joint_q_start[a]), int(model.joint_qd_start[a])
            q_b, d_b = (int(model.joint_q_start[b]), int(model.joint_qd_start[b])) if b >= 0 else (0, -1)
            at = (float(starts[q_a]), float(starts[q_b]))
            ends = (d_a, d_b, (0, 0))
            made.append(Equality(*fixed, *ends, law, law, polynomial, at, (q_a, q_b), breaks=breaks))
        else:
            # lengths at the start are filled in when they are known
            made.append(Equality(*fixed, a, b, (0, 0), law, law, polynomial, breaks=breaks))
    return made


def _breaks(table: Equalities | LoopJoints, k: int) -> tuple[float, float]:
    """Force and torque at which a row of a table breaks; none is written as zero."""
    force, torque = float(table.break_force[k]), float(table.break_torque[k])
    return (force or np.inf, torque or np.inf)


def _closures(model: Model, anchors: Anchors) -> list[Equality]:
    """Closures that a step keeps closed; a policy that changes makes the constraints anew."""
    table = model.closures
    if table is None or not len(table):
        return []
    laws, made = law_rows(table.force), []
    for k in np.flatnonzero(table.enabled & table.solved).tolist():
        family = ClosureFamily(int(table.family[k]))
        bodies = int(table.body_a[k]), int(table.body_b[k])
        # endpoints on free frames move while the world runs
        first, second = (
            anchors.add_movable(body, X[k]) for body, X in zip(bodies, (table.X_a, table.X_b), strict=True)
        )
        size = float(table.distance[k]) if family is ClosureFamily.DISTANCE else _TURN
        rows = (bodies[0] + 1, bodies[1] + 1)
        kind = _FAMILIES[family]
        made.append(
            Equality(
                Owner.CLOSURE, k, table.label[k], kind, True, first, second, rows, laws[k], laws[k], size=size
            )
        )
    return made


def _couplers(model: Model) -> list[Equality]:
    """Gears that act on both joints; those that act on one alone are motors."""
    table = model.couplers
    if table is None or not len(table):
        return []
    laws, made = law_rows(table.force), []
    for k in np.flatnonzero(~table.one_way).tolist():
        polynomial = (float(table.offset[k]), float(table.multiplier[k]), 0.0, 0.0, 0.0)
        made.append(
            Equality(
                Owner.COUPLER,
                k,
                table.label[k],
                t.JOINT,
                bool(table.active[k]),
                int(table.dof[k]),
                int(table.reference[k]),
                (0, 0),
                laws[k],
                laws[k],
                polynomial,
                coordinates=(int(table.coordinate[k]), int(table.reference_coordinate[k])),
            )
        )
    return made


def _frame(axis: Array, near: Array | None = None) -> Array:
    """A rotation (as a pose) whose z axis is the given one, and whose x axis is near another."""
    z = unit_vector(np.asarray(axis, np.float64))
    helper = np.eye(3)[int(np.argmin(np.abs(z)))] if near is None else np.asarray(near, np.float64)
    x = unit_vector(helper - z * dot(helper, z))
    return np.concatenate([np.zeros(3), quaternion(np.column_stack([x, np.cross(z, x), z]))])


def _spring_law(stiffness: float) -> Array:
    """A hard law, or a spring of a force where the stiffness is finite."""
    law = np.zeros(t.LAW)
    law[t.ERP] = 1.0
    if np.isfinite(stiffness):
        law[t.KIND], law[t.STIFFNESS] = t.FORCE_SPRING, stiffness
    return law


def _joints(model: Model, anchors: Anchors) -> list[Equality]:
    table = model.loop_joints
    if table is None or not len(table):
        return []
    made = []
    for k in range(len(table)):
        kind = JOINT_KINDS.get(JointType(int(table.kind[k])))
        if kind is None:
            continue
        X_a, X_b = table.X_a[k], table.X_b[k]
        bounds = tuple(table.limit[k].tolist()) if kind in (t.AXIS, t.SLIDE) else (-np.inf, np.inf)
        if kind == t.UNIVERSAL:
            # z of the parent is its first axis, x of the child the second
            frame = _frame(table.axis[k], table.axis2[k])
            X_a, X_b = compose(X_a, frame), compose(X_b, frame)
        elif kind in (t.AXIS, t.SLIDE, t.PLANE, t.SCREW):
            frame = _frame(table.axis[k])
            X_a, X_b = compose(X_a, frame), compose(X_b, frame)
        bodies = int(table.body_a[k]), int(table.body_b[k])
        drive, free = JointDrive(int(table.drive[k])), (-np.inf, np.inf)
        moves = kind in (t.AXIS, t.SLIDE)
        made.append(
            Equality(
                Owner.LOOP_JOINT,
                k,
                table.label[k],
                kind,
                True,
                anchors.add(bodies[0], X_a),
                anchors.add(bodies[1], X_b),
                (bodies[0] + 1, bodies[1] + 1),
                _spring_law(float(table.stiffness[k, 1])),
                _spring_law(float(table.stiffness[k, 2])),
                size=float(table.pitch[k]) if kind == t.SCREW else _TURN,
                bounds=(float(bounds[0]), float(bounds[1])),
                breaks=_breaks(table, k),
                motor=MOTORS.get(drive, NO_MOTOR) if moves else NO_MOTOR,
                effort=_pair(table.effort[k]) if drive in _BOUNDED else free,
                speed=_pair(table.speed[k]) if moves else free,
                **(_passive(table, k) if moves else {}),
            )
        )
    return made


def _passive(table: LoopJoints, k: int) -> dict[str, Any]:
    """Spring, damper, dry friction and inertia of the coordinate of a joint."""
    laws, (stiffness, rest, damping) = table.friction_force, table.spring[k].tolist()
    # without damping, or without an impedance to scale it by, friction is hard
    soft = laws.damping[k] > 0.0 and laws.impedance[k] > 0.0
    share, scale = (float(laws.impedance[k]), max(float(laws.dmax[k]), 1e-4)) if soft else (1.0, 1.0)
    return {
        "passive": (stiffness, rest, damping),
        "friction": (float(table.friction[k]), float(laws.damping[k]), share, scale),
        "armature": float(table.armature[k]),
    }


def _pair(numbers: Array) -> tuple[float, float]:
    """Two numbers of a table."""
    return float(numbers[0]), float(numbers[1])


def is_projected(equality: Equality) -> bool:
    """Whether a step projects an equality at its end: hard ones of anchors and coordinates."""
    hard = equality.law[t.KIND] == t.HARD and equality.turn_law[t.KIND] == t.HARD
    return bool(hard) and equality.kind != t.TENDON


def pack_equalities(model: Model, column: EqualityColumns, made: list[Equality]) -> None:
    """Write the columns, but for the lengths of tendons and inverse inertias."""
    links = np.concatenate([[0], model.link_of_body()])
    end = 0
    for k, equality in enumerate(made):
        start, end = end, end + len(equality.data)
        column.equality_span[k] = start, end
        column.equality_data[start:end] = equality.data
        column.equality_kind[k] = equality.kind
        column.equality_on[k] = equality.active
        column.equality_first[k], column.equality_second[k] = equality.first, equality.second
        column.equality_body[k] = equality.bodies
        column.equality_link[k] = links[list(equality.bodies)]
        column.equality_coordinate[k] = equality.coordinates
        numbers = column.equality_number[k]
        numbers[:5], numbers[5:7] = equality.polynomial, equality.starts
        numbers[7], numbers[9:11] = equality.size, equality.bounds
        numbers[11:13] = equality.breaks
        column.equality_motor[k] = equality.motor
        column.equality_effort[k], column.equality_speed[k] = equality.effort, equality.speed
        column.equality_passive[k], column.equality_friction[k] = equality.passive, equality.friction
        column.equality_armature[k] = equality.armature
        column.equality_law[k], column.equality_turn_law[k] = equality.law, equality.turn_law
        if is_projected(equality):
            # what is left of the residual is for the end of the step
            column.equality_law[k, t.ERP] = column.equality_turn_law[k, t.ERP] = 0.0


def command_joints(model: Model, column: EqualityColumns, made: list[Equality], commands: Array) -> None:
    """Commands of motors of joints between bodies: effort, velocity, acceleration of each, (joints, 3)."""
    table = model.loop_joints
    for k, equality in enumerate(made):
        if table is not None and equality.owner is Owner.LOOP_JOINT:
            is_locked = table.drive[equality.index] == JointDrive.LOCKED
            column.equality_command[k] = 0.0 if is_locked else commands[equality.index]


def pack_equality_inertias(column: t.ConstraintColumns, dofs: Array) -> None:
    """Inverse inertias at the start of what follows a polynomial; tendons know theirs."""
    for k in range(len(column.equality_kind)):
        kind = column.equality_kind[k]
        seen = dofs if kind == t.JOINT else column.tendon_bound[:, 3]
        if kind in (t.JOINT, t.TENDON):
            a, b = int(column.equality_first[k]), int(column.equality_second[k])
            column.equality_number[k, 8] = seen[a] + (seen[b] if b >= 0 else 0.0)


def unheld_joints(model: Model) -> list[str]:
    """Labels and kinds of joints between bodies that no rows can hold."""
    table = model.loop_joints
    if table is None:
        return []
    free = (JointType.FREE, JointType.DISTANCE)
    return [
        f"world-owned joint '{table.label[k]}' of type {JointType(int(table.kind[k])).name}"
        for k in range(len(table))
        if int(table.kind[k]) not in JOINT_KINDS and int(table.kind[k]) not in free
    ]


def equality_on_quaternion(model: Model) -> list[str]:
    """Labels of joint equalities whose joints have no coordinate that is a number."""
    table = model.equalities
    if table is None:
        return []
    return [
        table.label[k]
        for k in np.flatnonzero(table.kind == EqualityKind.JOINT).tolist()
        for j in (int(table.first[k]), int(table.second[k]))
        if j >= 0 and model.joint_type[j] in QUATERNION_JOINTS
    ]


class EqualityPacker(Packer):
    """Equalities of a scene, closures, couplers and joints between bodies."""

    def __init__(self, packing: Packing) -> None:
        super().__init__(packing)
        self.equalities = equalities(self.model, self.option, packing.anchors)

    def sizes(self) -> dict[str, int]:
        """Sizes of its columns."""
        return {
            "nequality": len(self.equalities),
            "nequality_data": sum(len(equality.data) for equality in self.equalities),
        }

    def rows(self) -> int:
        """Most rows."""
        return sum(equality.rows for equality in self.equalities)

    def touched(self, trees: Trees) -> Touched:
        """Trees of both ends."""
        links, held = self.packing.anchors.links, []
        tendons = self.packing.of(TendonPacker).touched(trees)["tendon"]
        for equality in self.equalities:
            if equality.kind == t.JOINT:
                held.append(trees.dofs([equality.first, equality.second]))
            elif equality.kind == t.TENDON:
                second = tendons[equality.second] if equality.second >= 0 else []
                held.append(sorted({*tendons[equality.first], *second}))
            else:
                held.append(trees.links([links[equality.first], links[equality.second]]))
        return {"equality": held}

    def fill(self, block: Block[t.ConstraintColumns]) -> None:
        """Fill its columns."""
        pack_equalities(self.model, block.column, self.equalities)
        if self.model.loop_joints is not None:
            self.command_joints(block.column, self.model.loop_joints.command)

    def fill_inertias(self, block: Block[t.ConstraintColumns], dofs: Array) -> None:
        """Inverse inertias of what follows a polynomial."""
        pack_equality_inertias(block.column, dofs)

    def row_of(self, owner: Owner, index: int) -> int | None:
        """Which equality of the columns comes from a row of a table of the Model; None when none does."""
        for k, equality in enumerate(self.equalities):
            if equality.owner is owner and equality.index == index:
                return k
        return None

    def command_joints(self, column: EqualityColumns, commands: Array) -> None:
        """Effort, velocity and acceleration that motors of joints between bodies follow, (joints, 3)."""
        command_joints(self.model, column, self.equalities, commands)

    def move_closure_end(
        self, column: t.ConstraintColumns, closure: int, second: bool, body: int, X: Array
    ) -> bool:
        """Put an end of a solved closure at another pose of its body; False when it is on another body."""
        row = self.row_of(Owner.CLOSURE, closure)
        if row is None:
            return True
        anchor = self.equalities[row].second if second else self.equalities[row].first
        link, pose = link_pose(self.model, body, X)
        if link != column.anchor_link[anchor]:
            return False
        column.anchor_pose[anchor] = pose
        return True

    def reset(self, column: EqualityColumns) -> None:
        """As at the start: nothing broken."""
        column.equality_on[:] = [equality.active for equality in self.equalities]

    def take_back(self, column: EqualityColumns, frame: int) -> None:
        """Mend what broke in a step that was taken back."""
        lost = (column.equality_on == BROKEN) & (column.equality_break[:, 0] == frame)
        column.equality_on[lost] = ON
