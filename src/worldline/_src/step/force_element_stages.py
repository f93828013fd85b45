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

# fmt: off
anchor_poses = constraint_stage.of(anchors.anchor_poses, "link poses -> poses of anchors.")
tendon_lengths = constraint_stage.of(tendons.tendon_lengths,
    "q, v, anchors -> lengths of tendons, their rates and moments.", dof="chain")
straight_tendon_lengths = constraint_stage.of(tendons.straight_tendon_lengths,
    "q, v, anchors -> lengths of tendons that wrap around nothing, their rates and moments.", dof="chain")
tendon_forces = constraint_stage.of(tendons.tendon_forces,
    "lengths of tendons -> tau grows by their springs and dampers.")
transmissions = constraint_stage.of(holds.transmissions,
    "q, anchors, tendons -> lengths and moments of actuators.", dof="chain")
# fmt: on


@constraint_stage
def actuated_gravity_compensation(tree, inertia, pos, compensation, act):
    """poses -> gravity compensation of joints where it is an actuator force."""
    gravity_compensation.joint_compensation(
        tree, inertia, pos, compensation, act.dof_gravcomp, act.act_gravcomp
    )


# fmt: off
adhesion_moments = constraint_stage.of(adhesion.adhesion_moments,
    "contacts -> moments of adhesive bodies.", dof="chain", found="contacts")
spring_forces = constraint_stage.of(distance_springs.spring_forces,
    "anchors, link velocities -> link forces grow by springs between anchors.")
joint_efforts = constraint_stage.of(equalities.joint_efforts,
    "anchors, velocities, commands -> link forces grow by efforts along joints between bodies.")
fluid_forces = constraint_stage.of(fluid.fluid_forces,
    "link velocities -> link forces grow by the drag of the fluid.")
equality_rows = constraint_stage.of(equalities.equality_rows,
    "q, v, anchors -> rows of the equalities of an island.", targets="equality_targets")
follower_rows = constraint_stage.of(followers.follower_rows,
    "q, v, lengths of tendons -> rows of coordinates and lengths that follow others.")
tendon_rows = constraint_stage.of(rows_of_tendons.tendon_rows,
    "lengths of tendons -> rows of their limits, dry friction and inertia.")
# fmt: on


@constraint_stage
def equality_forces(force, clock, equality):
    """forces of rows -> wrenches of equalities; those that pulled too hard are broken."""
    equalities.equality_forces(force, clock[0] + 1.0, equality)


# fmt: off
motor_rows = constraint_stage.of(motors.motor_rows,
    "q, v, a, velocity commands -> rows of the motors of an island.", command="v_target")
motor_constants = constraint_stage.of(motors.motor_constants,
    "tau grows by the constant parts of efforts of motors whose limits are not alike.")
speed_rows = constraint_stage.of(motors.speed_rows,
    "v, a -> rows of the speed limits of an island.", limit="speed_limit")
# fmt: on
