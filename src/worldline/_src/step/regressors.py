# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Regressors: forces and energies as matrices times the inertial parameters of the bodies.

The equations of motion are linear in ten numbers a body: mass m, first moments m c, and the six entries xx,
xy, yy, xz, yz, zz of the inertia about the body's origin, all in the body frame. What identification needs is
the matrix in front of them [Atkeson, An, Hollerbach 1986]. Here a body's own 6x10 matrix is Newton's and
Euler's equations about its origin, and the Jacobian of the origin takes it to the joints.

Armature, springs and dampers are no inertial parameters and have no part in the matrices; gravity has.
"""

from __future__ import annotations

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.model.model import Model, takes_model
from worldline._src.spatial.poses import Array, VectorLike, float_array
from worldline._src.step.dynamics import forward_kinematics, link_accelerations, link_velocities
from worldline._src.step.jacobians import jacobian

PARAMETERS = 10
"""Inertial parameters of a body."""


@takes_model
def inertial_parameters(model: Model) -> Array:
    """Mass [kg], first moments [kg m], inertia xx, xy, yy, xz, yz, zz about the origin [kg m^2].

    Returns:
        Shape (10 body_count,), body after body, body axes.

    Example:
        >>> from worldline.model import ModelBuilder, inertial_parameters
        >>> builder = ModelBuilder()
        >>> _ = builder.add_body(mass=2.0, com=(1, 0, 0))
        >>> inertial_parameters(builder.finalize())[:4].tolist()
        [2.0, 2.0, 0.0, 0.0]
    """
    mass, com = model.body_mass, model.body_com
    squared = np.einsum("bi,bi->b", com, com)
    about_origin = model.body_inertia + mass[:, None, None] * (
        squared[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
    )
    entries = about_origin[:, (0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)]
    return np.concatenate([mass[:, None], mass[:, None] * com, entries], axis=1).reshape(-1)


def body_regressor(velocity: VectorLike, acceleration: VectorLike) -> Array:
    """Wrench that moves a body, moment about its origin and force, per unit of its inertial parameters.

    Args:
        velocity: angular velocity [rad/s] and velocity of the origin [m/s], body axes, (..., 6). The
            linear part makes no difference.
        acceleration: angular acceleration and acceleration of the origin, body axes, (..., 6); take
            gravity off the linear part for the wrench that also holds the weight.

    Returns:
        Shape (..., 6, 10).

    Example:
        >>> from worldline.model import body_regressor
        >>> hovering = body_regressor([0.0] * 6, [0, 0, 0, 0, 0, 9.81])
        >>> hovering[5, 0], hovering[0, 2]  # a kilogram needs a lift, its arm along y a moment about x
        (np.float64(9.81), np.float64(9.81))
    """
    V, A = float_array(velocity, "velocity"), float_array(acceleration, "acceleration")
    if V.shape[-1:] != (6,) or A.shape[-1:] != (6,):
        raise ArgumentError(
            f"velocity and acceleration must have shape (..., 6), got {V.shape} and {A.shape}"
        )
    w, dw, a = V[..., :3], A[..., :3], A[..., 3:]
    made = np.zeros((*np.broadcast_shapes(V.shape, A.shape)[:-1], 6, PARAMETERS))
    # force m a + (dw x + w x w x) m c; moment m c x a + L(dw) I + w x L(w) I
    made[..., 3:, 0] = a
    made[..., 3:, 1:4] = _skew(dw) + _skew(w) @ _skew(w)
    made[..., :3, 1:4] = -_skew(a)
    made[..., :3, 4:] = _on_entries(dw) + _skew(w) @ _on_entries(w)
    return made


@takes_model
def joint_torque_regressor(model: Model, q: VectorLike, qd: VectorLike, qdd: VectorLike) -> Array:
    """Generalized forces that give accelerations, per unit of the inertial parameters of all bodies.

    Times `inertial_parameters(model)` it is `inverse_dynamics` without armature, springs and dampers.

    Args:
        model: the model.
        q: joint coordinates, ([worlds,] joint_coord_count).
        qd: joint velocities, ([worlds,] joint_dof_count).
        qdd: joint accelerations, ([worlds,] joint_dof_count).

    Returns:
        Shape ([worlds,] joint_dof_count, 10 body_count).

    Example:
        >>> from worldline.model import ModelBuilder, inertial_parameters, joint_torque_regressor
        >>> builder = ModelBuilder()
        >>> bob = builder.add_link(mass=2.0, com=(1, 0, 0))
        >>> hinge = builder.add_joint_revolute(parent=-1, child=bob, axis=(0, 1, 0))
        >>> _ = builder.add_articulation([hinge])
        >>> model = builder.finalize()
        >>> Y = joint_torque_regressor(model, [0.0], [0.0], [0.0])
        >>> (Y @ inertial_parameters(model)).round(6)  # -m g l: the hinge turns against the weight
        array([-19.62])
    """
    R = rotations(forward_kinematics(model, q))
    V = link_velocities(model, q, qd)
    A = link_accelerations(model, q, qd, qdd)
    # what compensates gravity is a force at the centre of mass: for the body gravity is that much weaker
    A[..., 3:] -= _felt_gravity(model)
    wrenches = body_regressor(in_body(R, V), in_body(R, A))
    worlds = wrenches.shape[:-3]
    made = np.zeros((*worlds, model.joint_dof_count, PARAMETERS * model.body_count))
    for b in range(model.body_count):
        J = jacobian(model, q, b, axes="link")
        made[..., PARAMETERS * b : PARAMETERS * (b + 1)] = np.swapaxes(J, -1, -2) @ wrenches[..., b, :, :]
    return made


@takes_model
def kinetic_energy_regressor(model: Model, q: VectorLike, qd: VectorLike) -> Array:
    """Kinetic energy per unit of the inertial parameters of all bodies, ([worlds,] 10 body_count).

    Times `inertial_parameters(model)` it is `kinetic_energy` without armature.
    """
    V = in_body(rotations(forward_kinematics(model, q)), link_velocities(model, q, qd))
    w, v = V[..., :3], V[..., 3:]
    # m v.v / 2 + m c . (v x w) + w . I w / 2
    mass = 0.5 * np.sum(v * v, axis=-1, keepdims=True)
    turning = 0.5 * np.einsum("...i,...ij->...j", w, _on_entries(w))
    made = np.concatenate([mass, np.cross(v, w), turning], axis=-1)
    return made.reshape(*made.shape[:-2], -1)


@takes_model
def potential_energy_regressor(model: Model, q: VectorLike) -> Array:
    """Energy in the gravity field per unit of the inertial parameters, ([worlds,] 10 body_count).

    Times `inertial_parameters(model)` it is `potential_energy` without springs.
    """
    poses = forward_kinematics(model, q)
    g = np.broadcast_to(np.asarray(model.gravity), (model.body_count, 3))
    mass = -np.einsum("...bi,bi->...b", poses[..., :3], g)[..., None]
    moments = -np.einsum("...bij,bi->...bj", rotations(poses), g)
    made = np.concatenate([mass, moments, np.zeros((*moments.shape[:-1], 6))], axis=-1)
    return made.reshape(*made.shape[:-2], -1)


def _felt_gravity(model: Model) -> Array:
    return (1.0 - model.body_gravcomp)[:, None] * np.asarray(model.gravity)


def rotations(poses: Array) -> Array:
    """Rotation matrices of poses with xyzw, (..., 3, 3)."""
    x, y, z, w = np.moveaxis(poses[..., 3:], -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def in_body(R: Array, V: Array) -> Array:
    """Spatial vectors from world to body axes."""
    both = V.reshape(*V.shape[:-1], 2, 3)
    return np.einsum("...ji,...kj->...ki", R, both).reshape(V.shape)


def _skew(v: Array) -> Array:
    made = np.zeros((*v.shape, 3))
    x, y, z = np.moveaxis(v, -1, 0)
    made[..., 0, 1], made[..., 0, 2], made[..., 1, 2] = -z, y, -x
    made[..., 1, 0], made[..., 2, 0], made[..., 2, 1] = z, -y, x
    return made


def _on_entries(w: Array) -> Array:
    """L(w) with I w = L(w) (xx, xy, yy, xz, yz, zz), (..., 3, 6)."""
    made = np.zeros((*w.shape, 6))
    x, y, z = np.moveaxis(w, -1, 0)
    made[..., 0, 0], made[..., 0, 1], made[..., 0, 3] = x, y, z
    made[..., 1, 1], made[..., 1, 2], made[..., 1, 4] = x, y, z
    made[..., 2, 3], made[..., 2, 4], made[..., 2, 5] = x, y, z
    return made
