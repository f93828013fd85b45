# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Forces on bodies and frames of bodies, for kernels of a user: small functions of a `KernelStep`."""

from __future__ import annotations

from worldline._src.jit import inline


@inline
def to_world(step, body, x, y, z):
    """A vector in the frame of a body, in world axes: (x, y, z)."""
    pose = step.body_q[body]
    a, b, c, w = pose[3], pose[4], pose[5], pose[6]
    # R x = x + 2 u x (u x x + w x) with the quaternion (u, w)
    p = b * z - c * y + w * x
    q = c * x - a * z + w * y
    r = a * y - b * x + w * z
    return x + 2.0 * (b * r - c * q), y + 2.0 * (c * p - a * r), z + 2.0 * (a * q - b * p)


@inline
def center_of_mass(step, body):
    """Centre of mass of a body in the world [m]: (x, y, z)."""
    com, pose = step.body_com[body], step.body_q[body]
    x, y, z = to_world(step, body, com[0], com[1], com[2])
    return pose[0] + x, pose[1] + y, pose[2] + z


@inline
def _add(f_io, at, x, y, z):
    """Add a vector to three numbers of a wrench."""
    f_io[at] = f_io[at] + x
    f_io[at + 1] = f_io[at + 1] + y
    f_io[at + 2] = f_io[at + 2] + z


@inline
def add_force(step, body, x, y, z):
    """Add a force at the centre of mass of a body [N], world axes."""
    _add(step.body_f[body], 3, x, y, z)


@inline
def add_torque(step, body, x, y, z):
    """Add a torque to a body [N m], world axes."""
    _add(step.body_f[body], 0, x, y, z)


@inline
def add_force_at(step, body, x, y, z, px, py, pz):
    """Add a force [N] at a point of the world [m], world axes, with its torque about the centre of mass."""
    cx, cy, cz = center_of_mass(step, body)
    ax, ay, az = px - cx, py - cy, pz - cz
    add_force(step, body, x, y, z)
    add_torque(step, body, ay * z - az * y, az * x - ax * z, ax * y - ay * x)
