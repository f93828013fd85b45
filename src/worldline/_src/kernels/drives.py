# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What drives a step: commanded forces, position and velocity drives, prescribed accelerations, wrenches."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.links import center_of_mass
from worldline._src.scalar.ops import clamp, constant
from worldline._src.spatial.motion import Force, add_motion, load_motion, scale_motion, store_spatial
from worldline._src.spatial.vec3 import Vec3, add, cross, scale

# what a degree of freedom makes of its command; also the values of the field dof_drive
FORCE = 0
PASSIVE = 1
VELOCITY = 2
ACCELERATION = 3
LOCKED = 4


@kernel
def drive_forces(drive, control, error, v, tau_out):
    """Commanded forces and spring-damper drives, together within the effort limits.

    `error` leads from the coordinates to their targets. Only degrees of freedom of kind FORCE listen.
    """
    for d in range(v.shape[0]):
        zero = constant(0.0, v[d])
        tau_out[d] = zero
        if drive.dof_drive[d] == FORCE:
            # tau = force + ke (q_target - q) + kd (v_target - v), with v_target = 0 for pure position drives
            wanted = control.force[d] + drive.dof_target_ke[d] * error[d]
            speed = drive.dof_follows_velocity[d] * control.v_target[d]
            wanted = wanted + drive.dof_target_kd[d] * (speed - v[d])
            tau_out[d] = clamp(wanted, zero + drive.dof_effort_lower[d], zero + drive.dof_effort_limit[d])


@kernel
def prescribed_speeds(drive, speed, v, h, a_out):
    """The acceleration that reaches a commanded speed, or rest, within one step."""
    for d in range(v.shape[0]):
        if drive.dof_drive[d] == VELOCITY:
            # a = (v_target - v) / h
            a_out[d] = (speed[d] - v[d]) / h
        if drive.dof_drive[d] == LOCKED:
            a_out[d] = -v[d] / h


@kernel
def prescribe(dof, drive, pos, given, link_c_io):
    """Accelerations of prescribed degrees of freedom, as part of what the joint does by itself.

    Added to link_c they act like velocity-product accelerations, which is all the articulated-body
    algorithm needs to know of them: hybrid dynamics [Featherstone 2008, ch. 9] without a second kernel.
    """
    for d in range(given.shape[0]):
        if drive.dof_drive[d] >= VELOCITY:
            i = dof.dof_link[d]
            # c_i += S_d a_d
            given_A = scale_motion(load_motion(pos.dof_S, d), given[d])
            store_spatial(link_c_io, i, add_motion(load_motion(link_c_io, i), given_A))


@kernel
def keep_prescribed(drive, given, a_io):
    """Put the prescribed accelerations where the algorithm left zeros."""
    for d in range(given.shape[0]):
        if drive.dof_drive[d] >= VELOCITY:
            a_io[d] = given[d]


@kernel
def center_forces(body, inertia, pos, body_f, link_F_out):
    """Start link forces from minus the torques and the forces at the centres of mass, world axes."""
    for i in range(1, link_F_out.shape[0]):
        b = body.link_body[i]
        moment = Vec3(body_f[b, 0], body_f[b, 1], body_f[b, 2])
        f = Vec3(body_f[b, 3], body_f[b, 4], body_f[b, 5])
        # -(t + c x f, f), about the reference point of the tree
        moment = add(moment, cross(center_of_mass(inertia, pos, i), f))
        store_spatial(link_F_out, i, Force(scale(moment, -1.0), scale(f, -1.0)))
