# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of a step that belong to one integrator: Runge-Kutta parts and the variational equations."""

from __future__ import annotations

from worldline._src.jit import stage
from worldline._src.kernels import (
    anderson,
    configuration,
    drives,
    gravity_compensation,
    ground_contact,
    impulse_response,
    kinematics,
    momentum,
    runge_kutta,
    variational,
    velocities,
)
from worldline._src.model.views import (
    acceleration_view,
    articulated_view,
    body_view,
    control_view,
    drive_view,
    field_view,
    gravity_compensation_view,
    ground_view,
    inertia_view,
    joint_view,
    mixing_view,
    momentum_view,
    move_view,
    operand_view,
    passive_view,
    position_view,
    solver_view,
    start_view,
    step_view,
    tree_view,
    velocity_view,
)
from worldline._src.scalar.ops import any_of, constant


@stage
def runge_kutta_first(m, c, args, d):
    """q, v, a at the start -> state of the second part, half a step on."""
    operands, start, h = operand_view(m, c, d), start_view(m, c, d), step_view(m, c, d).time_step[0]
    runge_kutta.start_parts(operands.q, operands.v, start)
    runge_kutta.add_part(operands.a, 1.0, start)
    runge_kutta.next_part(tree_view(m, c, d), operands.a, 0.5 * h, start, operands.q, operands.v)


@stage
def runge_kutta_second(m, c, args, d):
    """a of the second part -> state of the third part, half a step on."""
    operands, start, h = operand_view(m, c, d), start_view(m, c, d), step_view(m, c, d).time_step[0]
    runge_kutta.add_part(operands.a, 2.0, start)
    runge_kutta.next_part(tree_view(m, c, d), operands.a, 0.5 * h, start, operands.q, operands.v)


@stage
def runge_kutta_third(m, c, args, d):
    """a of the third part -> state of the fourth part, a whole step on."""
    operands, start, h = operand_view(m, c, d), start_view(m, c, d), step_view(m, c, d).time_step[0]
    runge_kutta.add_part(operands.a, 2.0, start)
    runge_kutta.next_part(tree_view(m, c, d), operands.a, h, start, operands.q, operands.v)


@stage
def runge_kutta_last(m, c, args, d):
    """a of the fourth part -> q, v at the end of the step, the mean a."""
    operands, start, h = operand_view(m, c, d), start_view(m, c, d), step_view(m, c, d).time_step[0]
    runge_kutta.add_part(operands.a, 1.0, start)
    runge_kutta.join_parts(tree_view(m, c, d), h, start, operands.a, operands.q, operands.v)


@stage
def variational_start(m, c, args, d):
    """poses, velocities at the start -> momenta there, and a first displacement."""
    operands, start, move = operand_view(m, c, d), start_view(m, c, d), move_view(m, c, d)
    mom, h = momentum_view(m, c, d), step_view(m, c, d).time_step[0]
    for k in range(operands.q.shape[0]):
        start.q_start[k] = operands.q[k]
    momentum.momenta(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        operands.v,
        mom.link_H,
        move.p_start,
    )
    drive, given = drive_view(m, c, d), control_view(m, c, d).a_target
    variational.start_step(drive, given, h, operands.v, start, move)
    variational.yielding(drive, passive_view(m, c, d), h, mom.dof_extra)
    points = position_view(m, c, d), velocity_view(m, c, d)
    ground_contact.start_points(tree_view(m, c, d), *points, ground_view(m, c, d))


@stage
def variational_solve(m, c, args, d):
    """momenta at the start -> displacement and impulse of the step, by quasi-Newton steps.

    One loop over what a step of another family does in stages: how often it runs is known only here.
    """
    operands, move, mom = operand_view(m, c, d), move_view(m, c, d), momentum_view(m, c, d)
    tree, inertia, pos, vel = (
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
    )
    acc, art = acceleration_view(m, c, d), articulated_view(m, c, d)
    control, drive, passive = control_view(m, c, d), drive_view(m, c, d), passive_view(m, c, d)
    step, options = step_view(m, c, d), solver_view(m, c, d).solver_options
    q_start, h = start_view(m, c, d).q_start, step.time_step[0]
    q, v, tau = operands.q, operands.v, operands.tau
    half, mixing, ground = constant(0.5, h), mixing_view(m, c, d), ground_view(m, c, d)
    touches = ground.ground_link.shape[0] > 0

    iteration = 0
    while iteration < options[1] and any_of(move.solver_report[1] > 0.5):
        # the state half way
        configuration.integrate(tree, q_start, move.displacement, half, q)
        variational.middle_velocities(move.displacement, h, v)
        kinematics.kinematics(tree, joint_view(m, c, d), q, pos)
        velocities.velocities(tree, pos, v, vel)

        # forces there
        drives.center_forces(body_view(m, c, d), inertia, pos, step.body_f, acc.link_F)
        momentum.weights(inertia, pos, field_view(m, c, d).gravity, acc.link_F)
        gravity_compensation.compensate(inertia, pos, gravity_compensation_view(m, c, d), acc.link_F)
        ground_contact.ground_forces(tree, pos, vel, ground, acc.link_F)
        configuration.difference(tree, q, control.q_target, art.dof_u)
        drives.drive_forces(drive, control, art.dof_u, v, tau)
        configuration.difference(tree, q, passive.q_rest, art.dof_u)
        for k in range(v.shape[0]):
            tau[k] = tau[k] + configuration.passive_force(passive, k, art.dof_u, v)

        # momenta there, what is missing from them, and the displacement that makes up for it
        momentum.momenta(tree, inertia, pos, vel, v, mom.link_H, mom.dof_p)
        momentum.momentum_rates(tree, pos, vel, v, tau, mom.link_H, acc.link_F, mom.dof_f)
        variational.level_rotors(tree, inertia, v, mom.dof_f)
        variational.momentum_gap(tree, move.p_start, move.displacement, mom.dof_p, mom.dof_f, h, mom.dof_gap)
        if iteration == 0 or touches:
            if touches:
                # points touch and leave, stick and slide from one iteration to the next
                ground_contact.ground_yielding(tree, pos, vel, h, ground)
                impulse_response.factor_on_ground(tree, inertia, pos, mom.dof_extra, ground, art)
            else:
                # one matrix for all iterations: mixing compares what they found by it, and a factor costs
                impulse_response.factor(tree, inertia, pos, mom.dof_extra, art)
            for k in range(v.shape[0]):
                for j in range(6):
                    mom.dof_S_kept[k, j] = pos.dof_S[k, j]
        impulse_response.respond(tree, inertia, mom.dof_S_kept, mom.dof_gap, art, acc, operands.a)
        active = move.solver_report[1]
        variational.measure(options, operands.a, mom.dof_f, h, v, move)
        bound = variational.longest_step(v)
        # where the matrix changes, steps that it was told nothing of are as good as any that mixing knows
        anderson.mix(0 if touches else iteration, operands.a, mom.dof_gap, bound, mixing, mom.dof_gap)
        variational.advance(active, mom.dof_gap, h, move.displacement)
        iteration += 1


@stage
def variational_finish(m, c, args, d):
    """displacement, impulse -> q and momenta at the end of the step; v to start from there."""
    operands, start, move = operand_view(m, c, d), start_view(m, c, d), move_view(m, c, d)
    mom, h, tree = momentum_view(m, c, d), step_view(m, c, d).time_step[0], tree_view(m, c, d)
    variational.end_momenta(tree, move.p_start, move.displacement, move.impulse, mom.p_end)
    configuration.integrate(tree, start.q_start, move.displacement, constant(1.0, h), operands.q)
    variational.guess_velocities(
        inertia_view(m, c, d),
        drive_view(m, c, d),
        control_view(m, c, d).a_target,
        h,
        start,
        move.displacement,
        operands.v,
    )


@stage
def variational_velocities(m, c, args, d):
    """poses, velocities and momenta at the end of the step -> v of these momenta."""
    operands, mom, h = operand_view(m, c, d), momentum_view(m, c, d), step_view(m, c, d).time_step[0]
    tree, inertia, pos = tree_view(m, c, d), inertia_view(m, c, d), position_view(m, c, d)
    momentum.momenta(tree, inertia, pos, velocity_view(m, c, d), operands.v, mom.link_H, mom.dof_p)
    for k in range(operands.v.shape[0]):
        mom.dof_gap[k] = mom.p_end[k] - mom.dof_p[k]
        mom.dof_extra[k] = constant(0.0, h)
    art, acc = articulated_view(m, c, d), acceleration_view(m, c, d)
    impulse_response.factor(tree, inertia, pos, mom.dof_extra, art)
    impulse_response.respond(tree, inertia, pos.dof_S, mom.dof_gap, art, acc, mom.dof_p)
    variational.end_velocities(
        h,
        start_view(m, c, d),
        mom.dof_p,
        move_view(m, c, d).solver_report,
        operands.a,
        operands.v,
    )
    ground_contact.update_duals(tree, pos, ground_view(m, c, d))


@stage
def ground_forces(m, c, args, d):
    """poses, velocities, link forces -> link forces with those of the ground at the present velocities."""
    tree, pos, vel, ground = (
        tree_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        ground_view(m, c, d),
    )
    ground_contact.start_points(tree, pos, vel, ground)
    ground_contact.ground_forces(tree, pos, vel, ground, acceleration_view(m, c, d).link_F)
