# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of force elements: anchors, tendons, springs, the fluid; rows of equalities and motors."""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, stage
from worldline._src.kernels import (
    adhesion,
    anchors,
    distance_springs,
    fluid,
    gravity_compensation,
    tendons,
)
from worldline._src.kernels import transmissions as holds
from worldline._src.kernels.constraints.equality import rows as equalities
from worldline._src.kernels.constraints.motor import rows as motors
from worldline._src.kernels.constraints.tables import (
    actuator_view,
    anchor_pose_view,
    equality_view,
    fluid_view,
    member_view,
    motion_view,
    motor_view,
    record_view,
    row_note_view,
    row_view,
    shape_law_view,
    speed_view,
    spring_view,
    tendon_view,
    weight_view,
)
from worldline._src.kernels.constraints.tendon import rows as rows_of_tendons
from worldline._src.model.views import (
    acceleration_view,
    chain_view,
    clock_view,
    control_view,
    drive_view,
    gravity_compensation_view,
    inertia_view,
    limit_view,
    operand_view,
    position_view,
    tree_view,
    velocity_view,
)
from worldline._src.step.reaching import Bodies, contacts_of, trees_of


class Moving(NamedTuple):
    """How everything moves without constraints, and the velocities of the island at hand by columns."""

    q: Any
    v: Any
    a: Any
    island_v: Any
    link_V: Any
    link_A: Any


@inline
def _moving(m, c, args, d):
    """The motion of the trees."""
    tm, tc, td = trees_of(args, d)
    operands = operand_view(tm, tc, td)
    return Moving(
        operands.q,
        operands.v,
        operands.a,
        motion_view(m, c, args, d).island_v,
        velocity_view(tm, tc, td).link_V,
        acceleration_view(tm, tc, td).link_A,
    )


class EqualityTargets(NamedTuple):
    """What equalities hold."""

    tendon: Any
    anchor_X: Any


@inline
def _bodies(m, c, args, d):
    """Trees as rows see them."""
    tm, tc, td = trees_of(args, d)
    weights = weight_view(m, c, args, d)
    return Bodies(
        chain_view(tm, tc, td),
        tree_view(tm, tc, td),
        position_view(tm, tc, td),
        weights.body_link,
        weights.body_invweight,
        weights.option,
        member_view(m, c, args, d).dof_column,
    )


@stage
def anchor_poses(m, c, args, d):
    """link poses -> poses of anchors."""
    tm, tc, td = trees_of(args, d)
    anchors.anchor_poses(tree_view(tm, tc, td), position_view(tm, tc, td), anchor_pose_view(m, c, args, d))


@stage
def tendon_lengths(m, c, args, d):
    """q, v, anchors -> lengths of tendons, their rates and moments."""
    tm, tc, td = trees_of(args, d)
    operands = operand_view(tm, tc, td)
    tendons.tendon_lengths(
        chain_view(tm, tc, td),
        tree_view(tm, tc, td),
        position_view(tm, tc, td),
        anchor_pose_view(m, c, args, d),
        operands.q,
        operands.v,
        tendon_view(m, c, args, d),
    )


@stage
def tendon_forces(m, c, args, d):
    """lengths of tendons -> tau grows by their springs and dampers."""
    tm, tc, td = trees_of(args, d)
    tendons.tendon_forces(tendon_view(m, c, args, d), operand_view(tm, tc, td).tau)


@stage
def transmissions(m, c, args, d):
    """q, anchors, tendons -> lengths and moments of actuators."""
    tm, tc, td = trees_of(args, d)
    holds.transmissions(
        chain_view(tm, tc, td),
        tree_view(tm, tc, td),
        position_view(tm, tc, td),
        anchor_pose_view(m, c, args, d),
        tendon_view(m, c, args, d),
        operand_view(tm, tc, td).q,
        actuator_view(m, c, args, d),
    )


@stage
def actuated_gravity_compensation(m, c, args, d):
    """poses -> gravity compensation of joints where it is an actuator force."""
    tm, tc, td = trees_of(args, d)
    act = actuator_view(m, c, args, d)
    gravity_compensation.joint_compensation(
        tree_view(tm, tc, td),
        inertia_view(tm, tc, td),
        position_view(tm, tc, td),
        gravity_compensation_view(tm, tc, td),
        act.dof_gravcomp,
        act.act_gravcomp,
    )


@stage
def adhesion_moments(m, c, args, d):
    """contacts -> moments of adhesive bodies."""
    tm, tc, td = trees_of(args, d)
    adhesion.adhesion_moments(
        chain_view(tm, tc, td),
        tree_view(tm, tc, td),
        position_view(tm, tc, td),
        contacts_of(args, d),
        shape_law_view(m, c, args, d),
        weight_view(m, c, args, d).body_link,
        actuator_view(m, c, args, d),
    )


@stage
def spring_forces(m, c, args, d):
    """anchors, link velocities -> link forces grow by springs between anchors."""
    tm, tc, td = trees_of(args, d)
    distance_springs.spring_forces(
        tree_view(tm, tc, td),
        position_view(tm, tc, td),
        velocity_view(tm, tc, td).link_V,
        anchor_pose_view(m, c, args, d),
        spring_view(m, c, args, d),
        acceleration_view(tm, tc, td).link_F,
    )


@stage
def joint_efforts(m, c, args, d):
    """anchors, velocities, commands -> link forces grow by efforts along joints between bodies."""
    tm, tc, td = trees_of(args, d)
    equalities.joint_efforts(
        tree_view(tm, tc, td),
        position_view(tm, tc, td),
        velocity_view(tm, tc, td).link_V,
        anchor_pose_view(m, c, args, d).anchor_X,
        equality_view(m, c, args, d),
        acceleration_view(tm, tc, td).link_F,
    )


@stage
def fluid_forces(m, c, args, d):
    """link velocities -> link forces grow by the drag of the fluid."""
    tm, tc, td = trees_of(args, d)
    fluid.fluid_forces(
        inertia_view(tm, tc, td),
        position_view(tm, tc, td),
        velocity_view(tm, tc, td).link_V,
        fluid_view(m, c, args, d),
        acceleration_view(tm, tc, td).link_F,
    )


@stage
def equality_rows(m, c, args, d):
    """q, v, anchors -> rows of the equalities of an island."""
    equalities.equality_rows(
        equality_view(m, c, args, d),
        EqualityTargets(tendon_view(m, c, args, d), anchor_pose_view(m, c, args, d).anchor_X),
        _bodies(m, c, args, d),
        _moving(m, c, args, d),
        member_view(m, c, args, d),
        row_view(m, c, args, d),
        row_note_view(m, c, args, d),
    )


@stage
def tendon_rows(m, c, args, d):
    """lengths of tendons -> rows of their limits, dry friction and inertia."""
    rows_of_tendons.tendon_rows(
        tendon_view(m, c, args, d),
        weight_view(m, c, args, d),
        member_view(m, c, args, d),
        row_view(m, c, args, d),
        row_note_view(m, c, args, d),
    )


@stage
def equality_forces(m, c, args, d):
    """forces of rows -> wrenches of equalities; those that pulled too hard are broken."""
    tm, tc, td = trees_of(args, d)
    frame = clock_view(tm, tc, td).clock[0] + 1.0
    equalities.equality_forces(record_view(m, c, args, d).force, frame, equality_view(m, c, args, d))


@stage
def motor_rows(m, c, args, d):
    """q, v, a, velocity commands -> rows of the motors of an island."""
    tm, tc, td = trees_of(args, d)
    motors.motor_rows(
        motor_view(m, c, args, d),
        drive_view(tm, tc, td),
        control_view(tm, tc, td).v_target,
        weight_view(m, c, args, d),
        _moving(m, c, args, d),
        member_view(m, c, args, d),
        row_view(m, c, args, d),
        row_note_view(m, c, args, d),
    )


@stage
def motor_constants(m, c, args, d):
    """tau grows by the constant parts of efforts of motors whose limits are not alike."""
    tm, tc, td = trees_of(args, d)
    motors.motor_constants(motor_view(m, c, args, d), drive_view(tm, tc, td), operand_view(tm, tc, td).tau)


@stage
def speed_rows(m, c, args, d):
    """v, a -> rows of the speed limits of an island."""
    tm, tc, td = trees_of(args, d)
    motors.speed_rows(
        speed_view(m, c, args, d).speed_dof,
        limit_view(tm, tc, td),
        weight_view(m, c, args, d),
        _moving(m, c, args, d),
        member_view(m, c, args, d),
        row_view(m, c, args, d),
        row_note_view(m, c, args, d),
    )
