# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of models: entry points over the arenas that run one kernel each, or a few.

A stage states in its docstring what it needs and what it writes. Programs in `programs.py` put stages
in order; the runner calls them by address, once per world or once per group of lanes.
"""

from __future__ import annotations

from worldline._src.kernels import (
    aba,
    centroidal,
    configuration,
    crba,
    gravity_compensation,
    jacobian,
    kinematics,
    mass_factor,
    poses,
    rnea,
    velocities,
)
from worldline._src.kernels import maximal as bodies
from worldline._src.step.tree_operands import tree_stage

positions = tree_stage.of(kinematics.kinematics, name="positions")
link_velocities = tree_stage.of(velocities.velocities, name="link_velocities")


@tree_stage
def link_accelerations(gravity, tree, pos, vel, a, A):
    """poses, velocities, a -> spatial accelerations, the world at rest."""
    velocities.accelerate_world(gravity, 0.0, A)
    velocities.accelerations(tree, pos, vel, a, A)


body_poses = tree_stage.of(poses.poses, name="body_poses")
body_velocities = tree_stage.of(velocities.body_velocities)
body_accelerations = tree_stage.of(velocities.body_accelerations)
body_twists = tree_stage.of(velocities.body_twists)


@tree_stage
def joint_coordinates(tree, body, anchor, maximal, q, result):
    """body_q, body_qd -> q and v, one after the other in result."""
    nq = q.shape[0]
    bodies.generalized(tree, body, anchor, maximal, result[:nq], result[nq:])


point_jacobian = tree_stage.of(jacobian.jacobian, name="point_jacobian", J="six_rows")
point_jacobian_derivative = tree_stage.of(
    jacobian.jacobian_derivative, name="point_jacobian_derivative", J="six_rows"
)
point_bias = tree_stage.of(jacobian.jacobian_rate, name="point_bias")
no_wrenches = tree_stage.of(rnea.no_external_forces, name="no_wrenches")
wrenches = tree_stage.of(rnea.external_forces, name="wrenches")
compensate_gravity = tree_stage.of(gravity_compensation.compensate, name="compensate_gravity")
add_link_forces = tree_stage.of(
    gravity_compensation.add_joint_forces, name="add_link_forces", tau_out="result"
)


@tree_stage
def inverse_dynamics(args, gravity, tree, inertia, pos, vel, a, acc, result):
    """poses, velocities, link forces, a; gravity if args[0] is 1 -> result: generalized forces."""
    velocities.accelerate_world(gravity, args[0], acc.link_A)
    rnea.rnea(tree, inertia, pos, vel, a, acc, result)


@tree_stage
def forward_dynamics(args, gravity, tree, inertia, pos, vel, tau, art, acc, result):
    """poses, velocities, link forces, tau; gravity if args[0] is 1 -> result: accelerations."""
    velocities.accelerate_world(gravity, args[0], acc.link_A)
    aba.aba(tree, inertia, pos, vel, tau, art, acc, result)


spring_displacements = tree_stage.of(
    configuration.difference, name="spring_displacements", q_other="q_rest", v_out="dof_u"
)


@tree_stage
def add_passive_forces(passive, dof_u, v, tau):
    """dof_u, v -> tau grows by the forces of springs and dampers."""
    for k in range(dof_u.shape[0]):
        tau[k] = tau[k] + configuration.passive_force(passive, k, dof_u, v)


@tree_stage
def subtract_passive_forces(passive, dof_u, v, result):
    """dof_u, v -> result shrinks by the forces of springs and dampers."""
    for k in range(dof_u.shape[0]):
        result[k] = result[k] - configuration.passive_force(passive, k, dof_u, v)


@tree_stage
def passive_forces(passive, dof_u, v, result):
    """dof_u, v -> result: forces of springs and dampers."""
    for k in range(dof_u.shape[0]):
        result[k] = configuration.passive_force(passive, k, dof_u, v)


composites = tree_stage.of(crba.composites)
mass_matrix = tree_stage.of(crba.crba, name="mass_matrix")
factor_mass_matrix = tree_stage.of(mass_factor.factor, name="factor_mass_matrix")
invert_mass_matrix = tree_stage.of(mass_factor.invert, name="invert_mass_matrix", inverse="square_result")
solve_mass_matrix = tree_stage.of(mass_factor.solve_factored, name="solve_mass_matrix", x_io="tau")
impulse_response = tree_stage.of(mass_factor.respond, name="impulse_response", x_io="tau")
com_position = tree_stage.of(centroidal.com_position)
com_velocity = tree_stage.of(centroidal.com_velocity)
com_acceleration = tree_stage.of(centroidal.com_acceleration)
com_jacobian = tree_stage.of(centroidal.com_jacobian, J="three_rows")
total_momentum = tree_stage.of(centroidal.total_momentum)
centroidal_matrix = tree_stage.of(centroidal.centroidal_matrix, A="six_rows")
kinetic_energy = tree_stage.of(centroidal.kinetic_energy)


@tree_stage
def potential_energy(tree, inertia, pos, gravity, passive, dof_u, result):
    """poses, dof_u -> result: energy in the gravity field and in springs."""
    centroidal.gravity_energy(tree, inertia, pos, gravity, result)
    configuration.spring_energy(passive, dof_u, result)


difference = tree_stage.of(configuration.difference)
integrate = tree_stage.of(configuration.integrate, h="fraction", q_out="result")
