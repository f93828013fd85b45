# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of force elements: anchors, tendons, springs, the fluid; rows of equalities and motors."""

from __future__ import annotations

from worldline._src.kernels import adhesion, anchors, distance_springs, fluid, gravity_compensation, tendons
from worldline._src.kernels import transmissions as holds
from worldline._src.kernels.constraints.equality import followers
from worldline._src.kernels.constraints.equality import rows as equalities
from worldline._src.kernels.constraints.motor import rows as motors
from worldline._src.kernels.constraints.tendon import rows as rows_of_tendons
from worldline._src.step.constraint_operands import constraint_stage

anchor_poses = constraint_stage.of(anchors.anchor_poses)
tendon_lengths = constraint_stage.of(tendons.tendon_lengths, dof="chain")
straight_tendon_lengths = constraint_stage.of(tendons.straight_tendon_lengths, dof="chain")
tendon_forces = constraint_stage.of(tendons.tendon_forces)
transmissions = constraint_stage.of(holds.transmissions, dof="chain")


@constraint_stage
def actuated_gravity_compensation(tree, inertia, pos, compensation, act):
    """poses -> gravity compensation of joints where it is an actuator force."""
    gravity_compensation.joint_compensation(
        tree, inertia, pos, compensation, act.dof_gravcomp, act.act_gravcomp
    )


adhesion_moments = constraint_stage.of(adhesion.adhesion_moments, dof="chain", found="contacts")
spring_forces = constraint_stage.of(distance_springs.spring_forces)
joint_efforts = constraint_stage.of(equalities.joint_efforts)
fluid_forces = constraint_stage.of(fluid.fluid_forces)
equality_rows = constraint_stage.of(equalities.equality_rows, targets="equality_targets")
follower_rows = constraint_stage.of(followers.follower_rows)
tendon_rows = constraint_stage.of(rows_of_tendons.tendon_rows)


@constraint_stage
def equality_forces(force, clock, equality):
    """forces of rows -> wrenches of equalities; those that pulled too hard are broken."""
    equalities.equality_forces(force, clock[0] + 1.0, equality)


motor_rows = constraint_stage.of(motors.motor_rows, command="v_target")
motor_constants = constraint_stage.of(motors.motor_constants)
speed_rows = constraint_stage.of(motors.speed_rows, limit="speed_limit")
