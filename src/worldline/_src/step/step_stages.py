# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of a physics step, and those that bring poses and velocities up to date after it.

Stages with nothing to do are left out of a program: `stepping.py` puts together what a model needs.
"""

from __future__ import annotations

from worldline._src.kernels import aba, configuration, drives, free_spin, integrators, poses, velocities
from worldline._src.scalar.ops import constant
from worldline._src.step.tree_operands import tree_stage


@tree_stage
def unpack_state(step, q, v, control):
    """state, controls -> q, v, targets and forces."""
    nq, nv = q.shape[0], v.shape[0]
    for k in range(nq):
        q[k] = step.state[k]
        control.q_target[k] = step.controls[k]
    for k in range(nv):
        v[k] = step.state[nq + k]
        control.v_target[k] = step.controls[nq + k]
        control.force[k] = step.controls[nq + nv + k]


@tree_stage
def pack_state(step, q, v):
    """q, v -> state."""
    nq = q.shape[0]
    for k in range(nq):
        step.state[k] = q[k]
    for k in range(v.shape[0]):
        step.state[nq + k] = v[k]


@tree_stage
def drive_forces(tree, drive, control, q, v, dof_u, tau):
    """q, v, targets, forces -> tau: what drives command, within effort limits."""
    configuration.difference(tree, q, control.q_target, dof_u)
    drives.drive_forces(drive, control, dof_u, v, tau)


@tree_stage
def no_drive_forces(tau):
    """-> tau starts at zero."""
    for k in range(tau.shape[0]):
        tau[k] = constant(0.0, tau[k])


prescribed_speeds = tree_stage.of(drives.prescribed_speeds, speed="v_target", a_out="a_target")
prescribe = tree_stage.of(drives.prescribe, given="a_target")
center_forces = tree_stage.of(drives.center_forces)


@tree_stage
def accelerations(gravity, tree, inertia, pos, vel, tau, art, acc, a):
    """poses, velocities, link forces, tau -> a, with gravity."""
    velocities.accelerate_world(gravity, 1, acc.link_A)
    aba.aba(tree, inertia, pos, vel, tau, art, acc, a)


keep_prescribed = tree_stage.of(drives.keep_prescribed, given="a_target")


@tree_stage
def semi_implicit_euler(tree, a, h, q, v):
    """q, v, a -> v, then q with the new v."""
    integrators.accelerate(a, h, v)
    configuration.integrate(tree, q, v, h, q)


hold_spin = tree_stage.of(free_spin.hold_spin)


@tree_stage
def semi_implicit_turn(tree, inertia, pos, spin, a, h, q, v, v_part):
    """q, v, a -> v, then q with the new v; free bodies on their own keep their angular momentum."""
    integrators.accelerate(a, h, v)
    free_spin.turn(tree, inertia, pos, h, spin, v, v_part)
    configuration.integrate(tree, q, v_part, h, q)


refresh_poses = tree_stage.of(poses.poses, name="refresh_poses", result="body_poses")
refresh_twists = tree_stage.of(velocities.body_twists, name="refresh_twists", result="body_twists")
