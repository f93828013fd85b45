# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Second derivatives of inverse dynamics, from its exact first ones.

Generalized forces are linear in accelerations and quadratic in velocities, so derivatives by those follow
from values of the first derivatives without any error but rounding: of a linear function one difference, of a
quadratic one a difference between both sides. By displacements the first derivatives are differenced over
eight points, of order eight: good to about twelve digits.
"""

from __future__ import annotations

import numpy as np

from worldline._src.model.model import Model, takes_model
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, VectorLike
from worldline._src.step.derivatives import InverseDynamicsDerivatives, inverse_dynamics_derivatives
from worldline._src.step.dynamics import integrate, inverse_dynamics

_STEP = 0.01
"""Displacement between two points [m or rad]: rounding and what order eight leaves out are alike."""
_WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


class InverseDynamicsSecondDerivatives(NamedTuple):
    """Of generalized forces: [..., i, j, k] is that of force i, each ([worlds,] n, n, n)."""

    dq_dq: Array
    """By displacement j, and that by displacement k; symmetric in j and k but for joints that turn about
    several axes, whose displacements do not commute."""
    dqd_dqd: Array
    """By velocities j and k."""
    dq_dqd: Array
    """By displacement j and velocity k."""
    dq_dqdd: Array
    """By displacement j and acceleration k: derivatives of the mass matrix."""


@takes_model
def inverse_dynamics_second_derivatives(
    model: Model, q: VectorLike, qd: VectorLike, qdd: VectorLike
) -> InverseDynamicsSecondDerivatives:
    """Second derivatives of `inverse_dynamics` by displacement, velocity and acceleration.

    The arguments are those of `inverse_dynamics_derivatives`.

    Example:
        >>> import numpy as np
        >>> from worldline.model import ModelBuilder, inverse_dynamics_second_derivatives
        >>> builder = ModelBuilder()
        >>> bob = builder.add_link(mass=1.0, com=(0, 0, -1), inertia=[[0.0] * 3] * 3)
        >>> hinge = builder.add_joint_revolute(parent=-1, child=bob, axis=(0, 1, 0))
        >>> _ = builder.add_articulation([hinge])
        >>> made = inverse_dynamics_second_derivatives(builder.finalize(), [0.5 * np.pi], [0.0], [0.0])
        >>> made.dq_dq.round(9).tolist()  # -m g l sin(q)
        [[[-9.81]]]
    """
    n = model.joint_dof_count
    # forces first: this checks the operands
    _ = inverse_dynamics(model, q, qd, qdd)
    at, v, a = (np.asarray(x, np.float64) for x in (q, qd, qdd))
    batch = np.broadcast_shapes(at.shape[:-1], v.shape[:-1], a.shape[:-1])
    worlds = int(np.prod(batch, dtype=np.int64))
    at = np.broadcast_to(at, (*batch, model.joint_coord_count)).reshape(worlds, 1, -1)
    v, a = (np.broadcast_to(x, (*batch, n)).reshape(worlds, 1, -1) for x in (v, a))
    unit = np.eye(n)[None]

    def first(at: Array, v: Array, a: Array) -> InverseDynamicsDerivatives:
        """First derivatives for one row a direction, (worlds, n, n, n) each: row, force, by what."""
        rows = [
            np.broadcast_to(x, (worlds, n, x.shape[-1])).reshape(worlds * n, x.shape[-1]) for x in (at, v, a)
        ]
        made = inverse_dynamics_derivatives(model, *rows)
        return InverseDynamicsDerivatives(*(x.reshape(worlds, n, n, n) for x in made))

    def by_row(x: Array) -> Array:
        """From [world, k, i, j] to [..., i, j, k]."""
        return np.ascontiguousarray(np.moveaxis(x, 1, -1)).reshape(*batch, n, n, n)

    at_rest = np.zeros_like(v)
    dq_dq = np.zeros((worlds, n, n, n))
    for weight, steps in zip(_WEIGHTS, range(-4, 5), strict=True):
        if weight:
            rows = np.broadcast_to(at, (worlds, n, at.shape[-1])).reshape(worlds * n, -1)
            away = np.broadcast_to(steps * _STEP * unit, (worlds, n, n)).reshape(worlds * n, n)
            moved = integrate(model, rows, away).reshape(worlds, n, -1)
            dq_dq += weight / _STEP * first(moved, v, a).dtau_dq
    flat = first(at, at_rest, at_rest)
    dqd_dqd = first(at, unit, at_rest).dtau_dqd - flat.dtau_dqd
    dq_dqdd = first(at, at_rest, unit).dtau_dq - flat.dtau_dq
    dq_dqd = 0.5 * (first(at, v + unit, a).dtau_dq - first(at, v - unit, a).dtau_dq)
    return InverseDynamicsSecondDerivatives(*map(by_row, (dq_dq, dqd_dqd, dq_dqd, dq_dqdd)))
