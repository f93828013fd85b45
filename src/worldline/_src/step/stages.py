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

positions = tree_stage.of(kinematics.kinematics, "positions", "q -> link poses and joint motions.")
link_velocities = tree_stage.of(
    velocities.velocities,
    "link_velocities",
    "link poses, v -> spatial velocities and velocity-product accelerations.",
)


@tree_stage
def link_accelerations(gravity, tree, pos, vel, a, A):
    """poses, velocities, a -> spatial accelerations, the world at rest."""
    velocities.accelerate_world(gravity, 0.0, A)
    velocities.accelerations(tree, pos, vel, a, A)


body_poses = tree_stage.of(poses.poses, "body_poses", "q -> result: position and xyzw of every body.")
body_velocities = tree_stage.of(
    velocities.body_velocities,
    "body_velocities",
    "velocities -> result: angular velocity and velocity of the origin of every body.",
)
body_accelerations = tree_stage.of(
    velocities.body_accelerations,
    "body_accelerations",
    "accelerations -> result: angular acceleration and acceleration of the origin of every body.",
)
body_twists = tree_stage.of(
    velocities.body_twists,
    "body_twists",
    "velocities -> result: velocity of the centre of mass and angular velocity of every body.",
)


@tree_stage
def joint_coordinates(tree, body, anchor, maximal, q, result):
    """body_q, body_qd -> q and v, one after the other in result."""
    nq = q.shape[0]
    bodies.generalized(tree, body, anchor, maximal, result[:nq], result[nq:])


point_jacobian = tree_stage.of(
    jacobian.jacobian,
    "point_jacobian",
    "poses, point -> result: Jacobian of a point of one body.",
    J="six_rows",
)
point_jacobian_derivative = tree_stage.of(
    jacobian.jacobian_derivative,
    "point_jacobian_derivative",
    "velocities, point -> result: rate of the Jacobian of a point of one body.",
    J="six_rows",
)
point_bias = tree_stage.of(
    jacobian.jacobian_rate,
    "point_bias",
    "accelerations, point -> result: acceleration of a point of one body.",
)
no_wrenches = tree_stage.of(rnea.no_external_forces, "no_wrenches", "-> link forces start at zero.")
wrenches = tree_stage.of(
    rnea.external_forces, "wrenches", "poses, wrench -> link forces start at minus the external wrenches."
)
compensate_gravity = tree_stage.of(
    gravity_compensation.compensate,
    "compensate_gravity",
    "poses -> link forces with the weights that are compensated taken off.",
)
add_link_forces = tree_stage.of(
    gravity_compensation.add_joint_forces,
    "add_link_forces",
    "poses, link forces -> result grows by what minus the link forces do to the joints.",
    tau_out="result",
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
    configuration.difference,
    "spring_displacements",
    "q -> dof_u: the displacement that relaxes all springs.",
    q_other="q_rest",
    v_out="dof_u",
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


composites = tree_stage.of(crba.composites, "composites", "poses -> composite inertias.")
mass_matrix = tree_stage.of(crba.crba, "mass_matrix", "poses, composites -> M.")
factor_mass_matrix = tree_stage.of(mass_factor.factor, "factor_mass_matrix", "M -> L.")
invert_mass_matrix = tree_stage.of(
    mass_factor.invert, "invert_mass_matrix", "L -> result: M^-1.", inverse="square_result"
)
solve_mass_matrix = tree_stage.of(
    mass_factor.solve_factored, "solve_mass_matrix", "L, tau -> tau: M^-1 tau.", x_io="tau"
)
impulse_response = tree_stage.of(
    mass_factor.respond,
    "impulse_response",
    "L, tau -> tau: velocity change, kinematic bodies held.",
    x_io="tau",
)
com_position = tree_stage.of(centroidal.com_position, "com_position", "poses -> result: centre of mass.")
com_velocity = tree_stage.of(
    centroidal.com_velocity, "com_velocity", "velocities -> result: velocity of the centre of mass."
)
com_acceleration = tree_stage.of(
    centroidal.com_acceleration,
    "com_acceleration",
    "accelerations -> result: acceleration of the centre of mass.",
)
com_jacobian = tree_stage.of(
    centroidal.com_jacobian,
    "com_jacobian",
    "poses, composites -> result: Jacobian of the centre of mass.",
    J="three_rows",
)
total_momentum = tree_stage.of(
    centroidal.total_momentum, "total_momentum", "velocities -> result: momentum of everything."
)
centroidal_matrix = tree_stage.of(
    centroidal.centroidal_matrix,
    "centroidal_matrix",
    "poses, composites -> result: centroidal momentum matrix.",
    A="six_rows",
)
kinetic_energy = tree_stage.of(
    centroidal.kinetic_energy, "kinetic_energy", "velocities -> result: kinetic energy."
)


@tree_stage
def potential_energy(tree, inertia, pos, gravity, passive, dof_u, result):
    """poses, dof_u -> result: energy in the gravity field and in springs."""
    centroidal.gravity_energy(tree, inertia, pos, gravity, result)
    configuration.spring_energy(passive, dof_u, result)


difference = tree_stage.of(
    configuration.difference, "difference", "q, q_other -> v: the displacement between them."
)
integrate = tree_stage.of(
    configuration.integrate,
    "integrate",
    "q, v, fraction -> result: q moved by that fraction of v.",
    h="fraction",
    q_out="result",
)
