# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of a step that belong to one integrator: Runge-Kutta parts and the variational equations."""

from __future__ import annotations

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
from worldline._src.scalar.ops import any_of, constant
from worldline._src.step.tree_operands import tree_stage


@tree_stage
def runge_kutta_first(tree, start, a, h, q, v):
    """q, v, a at the start -> state of the second part, half a step on."""
    runge_kutta.start_parts(q, v, start)
    runge_kutta.add_part(a, 1.0, start)
    runge_kutta.next_part(tree, a, 0.5 * h, start, q, v)


@tree_stage
def runge_kutta_second(tree, start, a, h, q, v):
    """a of the second part -> state of the third part, half a step on."""
    runge_kutta.add_part(a, 2.0, start)
    runge_kutta.next_part(tree, a, 0.5 * h, start, q, v)


@tree_stage
def runge_kutta_third(tree, start, a, h, q, v):
    """a of the third part -> state of the fourth part, a whole step on."""
    runge_kutta.add_part(a, 2.0, start)
    runge_kutta.next_part(tree, a, h, start, q, v)


@tree_stage
def runge_kutta_last(tree, start, a, h, q, v):
    """a of the fourth part -> q, v at the end of the step, the mean a."""
    runge_kutta.add_part(a, 1.0, start)
    runge_kutta.join_parts(tree, h, start, a, q, v)


@tree_stage
def variational_start(tree, inertia, pos, vel, drive, passive, ground, a_target, h, q, v, start, move, mom):
    """poses, velocities at the start -> momenta there, and a first displacement."""
    for k in range(q.shape[0]):
        start.q_start[k] = q[k]
    momentum.momenta(tree, inertia, pos, vel, v, mom.link_H, move.p_start)
    for k in range(v.shape[0]):
        start.v_part[k] = move.p_start[k]
    variational.start_step(drive, a_target, h, v, start, move)
    variational.yielding(drive, passive, h, mom.dof_extra)
    ground_contact.start_points(tree, pos, vel, ground)


@tree_stage
def keep_smooth_a(start, a):
    """a -> a without rows, kept."""
    for k in range(a.shape[0]):
        start.a_sum[k] = a[k]


@tree_stage
def variational_rows(tree, inertia, pos, vel, h, start, move, mom, a, v):
    """poses at the start, a, a without rows -> momenta of rows, of which the displacement sees a half."""
    for k in range(v.shape[0]):
        v[k] = h * (a[k] - start.a_sum[k])
    velocities.velocities(tree, pos, v, vel)
    momentum.momenta(tree, inertia, pos, vel, v, mom.link_H, start.v_sum)
    variational.add_momenta(start.v_sum, 0.5, move.p_start)
    variational.add_momenta(start.v_sum, 0.5, start.v_part)


@tree_stage
def no_middle_forces(start):
    """-> no forces half way but those that `variational_solve` evaluates itself."""
    for k in range(start.a_sum.shape[0]):
        start.a_sum[k] = constant(0.0, start.a_sum[k])


@tree_stage
def variational_middle(tree, h, start, move, q, v):
    """displacement -> q, v half way."""
    configuration.integrate(tree, start.q_start, move.displacement, constant(0.5, h), q)
    variational.middle_velocities(move.displacement, h, v)


@tree_stage
def keep_middle_forces(tree, pos, link_F, tau, start, move):
    """link forces, tau half way -> generalized forces, constant while the equations are solved again."""
    for k in range(tau.shape[0]):
        start.a_sum[k] = tau[k]
    gravity_compensation.add_joint_forces(tree, pos, link_F, start.a_sum)
    variational.solve_again(move)


@tree_stage
def variational_row_ends(start, move):
    """momenta of rows -> the other half of them."""
    variational.add_momenta(start.v_sum, 0.5, move.p_start)


@tree_stage
def variational_solve(
    tree,
    joint,
    body,
    inertia,
    drive,
    passive,
    compensation,
    gravity,
    ground,
    solver_options,
    step,
    start,
    control,
    q,
    v,
    tau,
    a,
    pos,
    vel,
    acc,
    art,
    mom,
    move,
    mixing,
):
    """momenta at the start -> displacement and impulse of the step, by quasi-Newton steps.

    One loop over what a step of another family does in stages: how often it runs is known only here.
    """
    q_start, h = start.q_start, step.time_step[0]
    half, touches = constant(0.5, h), ground.ground_link.shape[0] > 0

    iteration = 0
    while iteration < solver_options[1] and any_of(move.solver_report[1] > 0.5):
        # the state half way
        configuration.integrate(tree, q_start, move.displacement, half, q)
        variational.middle_velocities(move.displacement, h, v)
        kinematics.kinematics(tree, joint, q, pos)
        velocities.velocities(tree, pos, v, vel)

        # forces there
        drives.center_forces(body, inertia, pos, step.body_f, acc.link_F)
        momentum.weights(inertia, pos, gravity, acc.link_F)
        gravity_compensation.compensate(inertia, pos, compensation, acc.link_F)
        ground_contact.ground_forces(tree, pos, vel, ground, acc.link_F)
        configuration.difference(tree, q, control.q_target, art.dof_u)
        drives.drive_forces(drive, control, art.dof_u, v, tau)
        configuration.difference(tree, q, passive.q_rest, art.dof_u)
        for k in range(v.shape[0]):
            tau[k] = tau[k] + configuration.passive_force(passive, k, art.dof_u, v)
            tau[k] = tau[k] + start.a_sum[k]

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
        impulse_response.respond(tree, inertia, mom.dof_S_kept, mom.dof_gap, art, acc, a)
        active = move.solver_report[1]
        variational.measure(solver_options, a, mom.dof_f, h, v, move)
        bound = variational.longest_step(v)
        # where the matrix changes, unreported steps are as good as any that mixing knows
        anderson.mix(0 if touches else iteration, a, mom.dof_gap, bound, mixing, mom.dof_gap)
        variational.advance(active, mom.dof_gap, h, move.displacement)
        iteration += 1


@tree_stage
def variational_finish(tree, inertia, drive, a_target, h, start, move, mom, q, v):
    """displacement, impulse -> q and momenta at the end of the step; v to start from there."""
    variational.end_momenta(tree, move.p_start, move.displacement, move.impulse, mom.p_end)
    configuration.integrate(tree, start.q_start, move.displacement, constant(1.0, h), q)
    variational.guess_velocities(inertia, drive, a_target, h, start, move.displacement, v)


@tree_stage
def variational_velocities(tree, inertia, pos, vel, ground, h, start, move, mom, art, acc, a, v):
    """poses, velocities and momenta at the end of the step -> v of these momenta."""
    momentum.momenta(tree, inertia, pos, vel, v, mom.link_H, mom.dof_p)
    for k in range(v.shape[0]):
        mom.dof_gap[k] = mom.p_end[k] - mom.dof_p[k]
        mom.dof_extra[k] = constant(0.0, h)
    impulse_response.factor(tree, inertia, pos, mom.dof_extra, art)
    impulse_response.respond(tree, inertia, pos.dof_S, mom.dof_gap, art, acc, mom.dof_p)
    variational.end_velocities(h, start, mom.dof_p, move.solver_report, a, v)
    ground_contact.update_duals(tree, pos, ground)


@tree_stage
def ground_forces(tree, pos, vel, ground, link_F):
    """poses, velocities, link forces -> link forces with those of the ground at the present velocities."""
    ground_contact.start_points(tree, pos, vel, ground)
    ground_contact.ground_forces(tree, pos, vel, ground, link_F)
