# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Constrained forward dynamics, and the Delassus matrix of its constraints.

Gauss' principle as a saddle-point problem: M a - J^T f = tau - bias with J a = gamma. The articulated-body
method gives free accelerations and the answers M^-1 J^T to unit forces, row by row in O(n); what is left is
the matrix J M^-1 J^T of the rows alone, named after Delassus. Rows may depend on each other: the proximal
iteration [Carpentier, Budhiraja, Mansard 2021] adds a regularizer that its limit does not feel, and finds
forces of the least change.
"""

from __future__ import annotations

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.model.checks import positive_number
from worldline._src.model.model import Model, takes_model
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, VectorLike, float_array, numbers
from worldline._src.step.dynamics import forward_dynamics, impulse_response
from worldline._src.step.evaluate import is_count

_RANK = 1e-12
"""Share of the largest eigenvalue below which rows count as depending on each other."""


class ConstrainedDynamics(NamedTuple):
    """Motion under constraints."""

    acceleration: Array
    """Joint accelerations, (joint_dof_count,)."""
    force: Array
    """Of every row, which acts as J^T force, (rows,)."""
    residual: float
    """Largest |J a - gamma| that is left."""
    iterations: int
    """Of the proximal method."""


@takes_model
def delassus_matrix(model: Model, q: VectorLike, jacobian: VectorLike) -> Array:
    """How rows move per unit of force on each: J M^-1 J^T, symmetric, (rows, rows).

    Args:
        model: the model, one world.
        q: joint coordinates, (joint_coord_count,).
        jacobian: rows of joint velocities, (rows, joint_dof_count).

    Example:
        >>> from worldline.model import ModelBuilder, delassus_matrix
        >>> builder = ModelBuilder()
        >>> cart = builder.add_link(mass=4.0)
        >>> _ = builder.add_articulation([builder.add_joint_prismatic(-1, cart, axis=(1, 0, 0))])
        >>> delassus_matrix(builder.finalize(), [0.0], [[2.0]]).tolist()
        [[1.0]]
    """
    J = _rows(model, jacobian)
    made = _answers(model, q, J) @ J.T
    return 0.5 * (made + made.T)


@takes_model
def constrained_dynamics(
    model: Model,
    q: VectorLike,
    qd: VectorLike,
    tau: VectorLike,
    jacobian: VectorLike,
    gamma: VectorLike | None = None,
    *,
    proximal: float = 1e-6,
    max_iterations: int = 20,
    tolerance: float = 1e-10,
) -> ConstrainedDynamics:
    """Accelerations that efforts give while J a = gamma holds, and the forces that see to it.

    Springs, dampers, armature and gravity act as in `forward_dynamics`. Rows may be redundant; where they
    contradict each other the result is the nearest, and `residual` says by how much.

    Args:
        model: the model, one world.
        q: joint coordinates, (joint_coord_count,).
        qd: joint velocities, (joint_dof_count,).
        tau: generalized forces, (joint_dof_count,).
        jacobian: rows of joint velocities, (rows, joint_dof_count).
        gamma: wanted J a, usually minus J' v, (rows,); zeros when None.
        proximal: regularizer as a share of the mean of the diagonal of the Delassus matrix.
        max_iterations: of the proximal method.
        tolerance: largest change of a row's acceleration at which it stops.

    Example:
        >>> from worldline.model import ModelBuilder, constrained_dynamics
        >>> builder = ModelBuilder()
        >>> bob = builder.add_link(mass=2.0)
        >>> slide = builder.add_joint_translational(-1, bob, axes=[(1, 0, 0), (0, 0, 1)])
        >>> _ = builder.add_articulation([slide])
        >>> made = constrained_dynamics(builder.finalize(), [0, 0], [0, 0], [2.0, 0.0], [[0.0, 1.0]])
        >>> made.acceleration.round(9).tolist(), made.force.round(6).tolist()  # the floor carries m g
        ([1.0, 0.0], [19.62])
    """
    J = _rows(model, jacobian)
    wanted = np.zeros(len(J)) if gamma is None else float_array(gamma, "gamma")
    if wanted.shape != (len(J),) or not np.isfinite(wanted).all():
        raise ArgumentError(f"gamma must be {len(J)} finite numbers, got shape {wanted.shape}")
    proximal, tolerance = positive_number(proximal, "proximal"), float(numbers(tolerance, (), "tolerance"))
    if not is_count(max_iterations) or max_iterations < 1:
        raise ArgumentError(f"max_iterations must be at least 1, got {max_iterations!r}")
    free = forward_dynamics(model, q, qd, tau)
    if free.ndim != 1:
        raise ArgumentError("constrained_dynamics is for one world; operands must have no world dimension")
    if not len(J):
        return ConstrainedDynamics(free, np.zeros(0), 0.0, 0)
    answers = _answers(model, q, J)
    coupling = 0.5 * (answers @ J.T + J @ answers.T)
    mu = proximal * max(float(np.trace(coupling)) / len(J), 1e-300)
    # one factorisation serves all iterations; rows that move nothing stay without force
    values, vectors = np.linalg.eigh(coupling)
    values = np.where(values > _RANK * values[-1], values, 0.0)
    missing = wanted - J @ free
    force = np.zeros(len(J))
    iterations, settled = 0, False
    while not settled and iterations < max_iterations:
        iterations += 1
        error = missing - coupling @ force
        part = vectors.T @ error
        change = vectors @ np.where(values > 0.0, part / (values + mu), 0.0)
        force = force + change
        moved = float(np.abs(coupling @ change).max())
        settled = moved <= tolerance * (1.0 + float(np.abs(missing).max()))
    acceleration = free + force @ answers
    residual = float(np.abs(J @ acceleration - wanted).max())
    return ConstrainedDynamics(acceleration, force, residual, iterations)


def _rows(model: Model, jacobian: VectorLike) -> Array:
    J = float_array(jacobian, "jacobian")
    n = model.joint_dof_count
    if J.size == 0:
        return np.zeros((0, n))
    if J.ndim != 2 or J.shape[1] != n or not np.isfinite(J).all():
        raise ArgumentError(f"jacobian must be finite with shape (rows, {n}), got shape {J.shape}")
    return J


def _answers(model: Model, q: VectorLike, J: Array) -> Array:
    """M^-1 J^T as rows, (rows, joint_dof_count)."""
    place = float_array(q, "q")
    if place.ndim != 1:
        raise ArgumentError("constraints are for one world; q must have no world dimension")
    if not len(J):
        return J
    return impulse_response(model, np.broadcast_to(place, (len(J), len(place))), J)
