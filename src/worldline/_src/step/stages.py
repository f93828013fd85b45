# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages: thin entry points that cut views from the arenas and run one kernel each.

A stage states in its docstring what it needs and what it writes. Programs in `programs.py` put stages
in order; the runner calls them by address, once per world or once per group of lanes.
"""

from __future__ import annotations

from worldline._src.jit import stage
from worldline._src.kernels import (
    aba,
    centroidal,
    configuration,
    crba,
    gravity_compensation,
    jacobian,
    kinematics,
    mass_factor,
    maximal,
    poses,
    rnea,
    velocities,
)
from worldline._src.model.fields import ENTRY
from worldline._src.model.views import (
    acceleration_view,
    anchor_view,
    articulated_view,
    body_view,
    dof_view,
    field_view,
    gravity_compensation_view,
    inertia_view,
    joint_view,
    mass_view,
    maximal_view,
    operand_view,
    passive_view,
    pose_view,
    position_view,
    tree_view,
    turn_view,
    velocity_view,
)
from worldline._src.scalar.memory import matrix

_RESULT = ENTRY["result"]
_NV = ENTRY["nv"]


@stage
def positions(m, c, args, d):
    """q -> link poses and joint motions."""
    q = operand_view(m, c, d).q
    kinematics.kinematics(tree_view(m, c, d), joint_view(m, c, d), q, position_view(m, c, d))


@stage
def link_velocities(m, c, args, d):
    """link poses, v -> spatial velocities and velocity-product accelerations."""
    v = operand_view(m, c, d).v
    velocities.velocities(tree_view(m, c, d), position_view(m, c, d), v, velocity_view(m, c, d))


@stage
def link_accelerations(m, c, args, d):
    """poses, velocities, a -> spatial accelerations, the world at rest."""
    operands, A = operand_view(m, c, d), acceleration_view(m, c, d).link_A
    velocities.accelerate_world(field_view(m, c, d).gravity, 0.0, A)
    velocities.accelerations(
        tree_view(m, c, d), position_view(m, c, d), velocity_view(m, c, d), operands.a, A
    )


@stage
def body_poses(m, c, args, d):
    """q -> result: position and xyzw of every body."""
    operands = operand_view(m, c, d)
    poses.poses(
        tree_view(m, c, d),
        turn_view(m, c, d),
        body_view(m, c, d),
        operands.q,
        pose_view(m, c, d),
        operands.result,
    )


@stage
def body_velocities(m, c, args, d):
    """velocities -> result: angular velocity and velocity of the origin of every body."""
    velocities.body_velocities(
        tree_view(m, c, d),
        body_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        operand_view(m, c, d).result,
    )


@stage
def body_accelerations(m, c, args, d):
    """accelerations -> result: angular acceleration and acceleration of the origin of every body."""
    velocities.body_accelerations(
        tree_view(m, c, d),
        body_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        acceleration_view(m, c, d).link_A,
        operand_view(m, c, d).result,
    )


@stage
def body_twists(m, c, args, d):
    """velocities -> result: velocity of the centre of mass and angular velocity of every body."""
    velocities.body_twists(
        tree_view(m, c, d),
        body_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        operand_view(m, c, d).result,
    )


@stage
def joint_coordinates(m, c, args, d):
    """body_q, body_qd -> q and v, one after the other in result."""
    result = operand_view(m, c, d).result
    nq = operand_view(m, c, d).q.shape[0]
    maximal.generalized(
        tree_view(m, c, d),
        body_view(m, c, d),
        anchor_view(m, c, d),
        maximal_view(m, c, d),
        result[:nq],
        result[nq:],
    )


@stage
def point_jacobian(m, c, args, d):
    """poses, point -> result: Jacobian of a point of one body."""
    operands = operand_view(m, c, d)
    jacobian.jacobian(
        dof_view(m, c, d),
        body_view(m, c, d),
        position_view(m, c, d),
        args,
        operands.point,
        matrix(d, m[_RESULT], 6, m[_NV]),
    )


@stage
def point_jacobian_derivative(m, c, args, d):
    """velocities, point -> result: rate of the Jacobian of a point of one body."""
    operands = operand_view(m, c, d)
    jacobian.jacobian_derivative(
        tree_view(m, c, d),
        body_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        operands.v,
        args,
        operands.point,
        matrix(d, m[_RESULT], 6, m[_NV]),
    )


@stage
def point_bias(m, c, args, d):
    """accelerations, point -> result: acceleration of a point of one body."""
    operands = operand_view(m, c, d)
    jacobian.jacobian_rate(
        body_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        acceleration_view(m, c, d).link_A,
        args,
        operands.point,
        operands.result,
    )


@stage
def no_wrenches(m, c, args, d):
    """-> link forces start at zero."""
    rnea.no_external_forces(acceleration_view(m, c, d).link_F)


@stage
def wrenches(m, c, args, d):
    """poses, wrench -> link forces start at minus the external wrenches."""
    rnea.external_forces(
        tree_view(m, c, d),
        body_view(m, c, d),
        position_view(m, c, d),
        operand_view(m, c, d).wrench,
        acceleration_view(m, c, d).link_F,
    )


@stage
def compensate_gravity(m, c, args, d):
    """poses -> link forces with the weights that are compensated taken off."""
    gravity_compensation.compensate(
        inertia_view(m, c, d),
        position_view(m, c, d),
        gravity_compensation_view(m, c, d),
        acceleration_view(m, c, d).link_F,
    )


@stage
def add_link_forces(m, c, args, d):
    """poses, link forces -> result grows by what minus the link forces do to the joints."""
    gravity_compensation.add_joint_forces(
        tree_view(m, c, d),
        position_view(m, c, d),
        acceleration_view(m, c, d).link_F,
        operand_view(m, c, d).result,
    )


@stage
def inverse_dynamics(m, c, args, d):
    """poses, velocities, link forces, a; gravity if args[0] is 1 -> result: generalized forces."""
    operands, acc = operand_view(m, c, d), acceleration_view(m, c, d)
    velocities.accelerate_world(field_view(m, c, d).gravity, args[0], acc.link_A)
    rnea.rnea(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        operands.a,
        acc,
        operands.result,
    )


@stage
def forward_dynamics(m, c, args, d):
    """poses, velocities, link forces, tau; gravity if args[0] is 1 -> result: accelerations."""
    operands, acc = operand_view(m, c, d), acceleration_view(m, c, d)
    velocities.accelerate_world(field_view(m, c, d).gravity, args[0], acc.link_A)
    aba.aba(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        operands.tau,
        articulated_view(m, c, d),
        acc,
        operands.result,
    )


@stage
def spring_displacements(m, c, args, d):
    """q -> dof_u: the displacement that relaxes all springs."""
    q, rest = operand_view(m, c, d).q, passive_view(m, c, d).q_rest
    configuration.difference(tree_view(m, c, d), q, rest, articulated_view(m, c, d).dof_u)


@stage
def add_passive_forces(m, c, args, d):
    """dof_u, v -> tau grows by the forces of springs and dampers."""
    operands, passive = operand_view(m, c, d), passive_view(m, c, d)
    x = articulated_view(m, c, d).dof_u
    for k in range(x.shape[0]):
        operands.tau[k] = operands.tau[k] + configuration.passive_force(passive, k, x, operands.v)


@stage
def subtract_passive_forces(m, c, args, d):
    """dof_u, v -> result shrinks by the forces of springs and dampers."""
    operands, passive = operand_view(m, c, d), passive_view(m, c, d)
    x = articulated_view(m, c, d).dof_u
    for k in range(x.shape[0]):
        operands.result[k] = operands.result[k] - configuration.passive_force(passive, k, x, operands.v)


@stage
def passive_forces(m, c, args, d):
    """dof_u, v -> result: forces of springs and dampers."""
    operands, passive = operand_view(m, c, d), passive_view(m, c, d)
    x = articulated_view(m, c, d).dof_u
    for k in range(x.shape[0]):
        operands.result[k] = configuration.passive_force(passive, k, x, operands.v)


@stage
def composites(m, c, args, d):
    """poses -> composite inertias."""
    crba.composites(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        mass_view(m, c, d).link_crb,
    )


@stage
def mass_matrix(m, c, args, d):
    """poses, composites -> M."""
    mass = mass_view(m, c, d)
    crba.crba(dof_view(m, c, d), inertia_view(m, c, d), position_view(m, c, d), mass.link_crb, mass.M)


@stage
def factor_mass_matrix(m, c, args, d):
    """M -> L."""
    mass = mass_view(m, c, d)
    mass_factor.factor(dof_view(m, c, d), mass.M, mass.L)


@stage
def invert_mass_matrix(m, c, args, d):
    """L -> result: M^-1."""
    mass_factor.invert(dof_view(m, c, d), mass_view(m, c, d).L, matrix(d, m[_RESULT], m[_NV], m[_NV]))


@stage
def solve_mass_matrix(m, c, args, d):
    """L, tau -> tau: M^-1 tau."""
    mass_factor.solve_factored(dof_view(m, c, d), mass_view(m, c, d).L, operand_view(m, c, d).tau)


@stage
def impulse_response(m, c, args, d):
    """L, tau -> tau: velocity change, kinematic bodies held."""
    mass_factor.respond(dof_view(m, c, d), mass_view(m, c, d).L, operand_view(m, c, d).tau)


@stage
def com_position(m, c, args, d):
    """poses -> result: centre of mass."""
    centroidal.com_position(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        operand_view(m, c, d).result,
    )


@stage
def com_velocity(m, c, args, d):
    """velocities -> result: velocity of the centre of mass."""
    centroidal.com_velocity(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        operand_view(m, c, d).result,
    )


@stage
def com_acceleration(m, c, args, d):
    """accelerations -> result: acceleration of the centre of mass."""
    centroidal.com_acceleration(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        acceleration_view(m, c, d).link_A,
        operand_view(m, c, d).result,
    )


@stage
def com_jacobian(m, c, args, d):
    """poses, composites -> result: Jacobian of the centre of mass."""
    centroidal.com_jacobian(
        dof_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        mass_view(m, c, d).link_crb,
        matrix(d, m[_RESULT], 3, m[_NV]),
    )


@stage
def total_momentum(m, c, args, d):
    """velocities -> result: momentum of everything."""
    centroidal.total_momentum(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        args,
        operand_view(m, c, d).result,
    )


@stage
def centroidal_matrix(m, c, args, d):
    """poses, composites -> result: centroidal momentum matrix."""
    centroidal.centroidal_matrix(
        tree_view(m, c, d),
        dof_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        mass_view(m, c, d).link_crb,
        matrix(d, m[_RESULT], 6, m[_NV]),
    )


@stage
def kinetic_energy(m, c, args, d):
    """velocities -> result: kinetic energy."""
    operands = operand_view(m, c, d)
    centroidal.kinetic_energy(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        velocity_view(m, c, d),
        operands.v,
        operands.result,
    )


@stage
def potential_energy(m, c, args, d):
    """poses, dof_u -> result: energy in the gravity field and in springs."""
    result = operand_view(m, c, d).result
    centroidal.gravity_energy(
        tree_view(m, c, d),
        inertia_view(m, c, d),
        position_view(m, c, d),
        field_view(m, c, d).gravity,
        result,
    )
    configuration.spring_energy(passive_view(m, c, d), articulated_view(m, c, d).dof_u, result)


@stage
def difference(m, c, args, d):
    """q, q_other -> v: the displacement between them."""
    operands = operand_view(m, c, d)
    configuration.difference(tree_view(m, c, d), operands.q, operands.q_other, operands.v)


@stage
def integrate(m, c, args, d):
    """q, v, fraction -> result: q moved by that fraction of v."""
    operands = operand_view(m, c, d)
    configuration.integrate(tree_view(m, c, d), operands.q, operands.v, operands.fraction[0], operands.result)
