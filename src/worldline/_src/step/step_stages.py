# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of a physics step, and those that bring poses and velocities up to date after it.

Stages with nothing to do are left out of a program: `stepping.py` puts together what a model needs.
"""

from __future__ import annotations

from worldline._src.jit import stage
from worldline._src.kernels import aba, configuration, drives, free_spin, integrators, poses, velocities
from worldline._src.model.fields import ENTRY
from worldline._src.model.views import (
    acceleration_view,
    articulated_view,
    body_view,
    control_view,
    dof_view,
    drive_view,
    field_view,
    inertia_view,
    operand_view,
    pose_view,
    position_view,
    spin_view,
    start_view,
    step_view,
    tree_view,
    turn_view,
    velocity_view,
)
from worldline._src.scalar.memory import vector
from worldline._src.scalar.ops import constant

_BODY_Q, _BODY_QD, _NBODY = ENTRY["body_q"], ENTRY["body_qd"], ENTRY["nbody"]


@stage
def unpack_state(m, c, args, d):
    """state, controls -> q, v, targets and forces."""
    step, operands, control = step_view(m, c, d), operand_view(m, c, d), control_view(m, c, d)
    nq, nv = operands.q.shape[0], operands.v.shape[0]
    for k in range(nq):
        operands.q[k] = step.state[k]
        control.q_target[k] = step.controls[k]
    for k in range(nv):
        operands.v[k] = step.state[nq + k]
        control.v_target[k] = step.controls[nq + k]
        control.force[k] = step.controls[nq + nv + k]


@stage
def pack_state(m, c, args, d):
    """q, v -> state."""
    step, operands = step_view(m, c, d), operand_view(m, c, d)
    nq = operands.q.shape[0]
    for k in range(nq):
        step.state[k] = operands.q[k]
    for k in range(operands.v.shape[0]):
        step.state[nq + k] = operands.v[k]


@stage
def drive_forces(m, c, args, d):
    """q, v, targets, forces -> tau: what drives command, within effort limits."""
    operands, control, error = operand_view(m, c, d), control_view(m, c, d), articulated_view(m, c, d).dof_u
    configuration.difference(tree_view(m, c, d), operands.q, control.q_target, error)
    drives.drive_forces(drive_view(m, c, d), control, error, operands.v, operands.tau)


@stage
def no_drive_forces(m, c, args, d):
    """-> tau starts at zero."""
    tau = operand_view(m, c, d).tau
    for k in range(tau.shape[0]):
        tau[k] = constant(0.0, tau[k])


@stage
def prescribed_speeds(m, c, args, d):
    """v, v_target -> a_target of degrees of freedom that follow a speed or are locked."""
    operands, control = operand_view(m, c, d), control_view(m, c, d)
    drives.prescribed_speeds(
        drive_view(m, c, d), control.v_target, operands.v, step_view(m, c, d).time_step[0], control.a_target
    )


@stage
def prescribe(m, c, args, d):
    """poses, a_target -> link_c carries the prescribed accelerations."""
    drives.prescribe(
        dof_view(m, c, d),
        drive_view(m, c, d),
        position_view(m, c, d),
        control_view(m, c, d).a_target,
        velocity_view(m, c, d).link_c,
    )


@stage
def center_forces(m, c, args, d):
    """poses, body_f -> link forces start at minus the torques and forces on bodies."""
    drives.center_forces(
        body_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        step_view(m, c, d).body_f,
        acceleration_view(m, c, d).link_F,
    )


@stage
def accelerations(m, c, args, d):
    """poses, velocities, link forces, tau -> a, with gravity."""
    operands, acc = operand_view(m, c, d), acceleration_view(m, c, d)
    velocities.accelerate_world(field_view(m, c, d).gravity, 1, acc.link_A)
    aba.aba(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        operands.tau,
        articulated_view(m, c, d),
        acc,
        operands.a,
    )


@stage
def keep_prescribed(m, c, args, d):
    """a_target -> a of prescribed degrees of freedom."""
    drives.keep_prescribed(drive_view(m, c, d), control_view(m, c, d).a_target, operand_view(m, c, d).a)


@stage
def semi_implicit_euler(m, c, args, d):
    """q, v, a -> v, then q with the new v."""
    operands, h = operand_view(m, c, d), step_view(m, c, d).time_step[0]
    integrators.accelerate(operands.a, h, operands.v)
    configuration.integrate(tree_view(m, c, d), operands.q, operands.v, h, operands.q)


@stage
def hold_spin(m, c, args, d):
    """v, a -> a of free bodies on their own with the spin at the end of the step."""
    operands = operand_view(m, c, d)
    free_spin.hold_spin(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        operands.v,
        step_view(m, c, d).time_step[0],
        spin_view(m, c, d),
        operands.a,
    )


@stage
def semi_implicit_turn(m, c, args, d):
    """q, v, a -> v, then q with the new v; free bodies on their own keep their angular momentum."""
    operands = operand_view(m, c, d)
    h, rate = step_view(m, c, d).time_step[0], start_view(m, c, d).v_part
    tree = tree_view(m, c, d)
    integrators.accelerate(operands.a, h, operands.v)
    free_spin.turn(
        tree,
        inertia_view(m, c, d),
        position_view(m, c, d),
        h,
        spin_view(m, c, d),
        operands.v,
        rate,
    )
    configuration.integrate(tree, operands.q, rate, h, operands.q)


@stage
def refresh_poses(m, c, args, d):
    """q -> body_q."""
    poses.poses(
        tree_view(m, c, d),
        turn_view(m, c, d),
        body_view(m, c, d),
        operand_view(m, c, d).q,
        pose_view(m, c, d),
        vector(d, m[_BODY_Q], 7 * m[_NBODY]),
    )


@stage
def refresh_twists(m, c, args, d):
    """velocities -> body_qd."""
    velocities.body_twists(
        tree_view(m, c, d),
        body_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        vector(d, m[_BODY_QD], 6 * m[_NBODY]),
    )
