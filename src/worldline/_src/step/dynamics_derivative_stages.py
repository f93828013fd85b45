# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of analytic derivatives of inverse and forward dynamics.

They write three (nv, nv) matrices from args[1] on in the data arena, behind all fields, and keep what they
need on the way behind those; `tail_size` says how much that is.
"""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels import mass_factor
from worldline._src.kernels import rnea_derivatives as r
from worldline._src.model import views
from worldline._src.model.fields import ENTRY
from worldline._src.scalar.memory import matrix

_NV, _NLINK = ENTRY["nv"], ENTRY["nlink"]


def tail_size(nv: int, nlink: int) -> int:
    """Numbers behind the fields of a data arena."""
    return 3 * nv * nv + 18 * nv + r.CORIOLIS * nlink


@inline
def _jacobians(m, c, args, d):
    """Derivatives of inverse dynamics: by displacements, by velocities; the mass matrix third."""
    nv, at = m[_NV], args[1]
    dq, dv, M = matrix(d, at, nv, nv), matrix(d, at + nv * nv, nv, nv), matrix(d, at + 2 * nv * nv, nv, nv)
    at += 3 * nv * nv
    operands, passive, acc = (
        views.operand_view(m, c, d),
        views.passive_view(m, c, d),
        views.acceleration_view(m, c, d),
    )
    kind, inertia, pos = (
        views.joint_view(m, c, d).dof_kind,
        views.inertia_view(m, c, d),
        views.position_view(m, c, d),
    )
    work = r.ColumnWork(
        matrix(d, at, nv, 6),
        matrix(d, at + 6 * nv, nv, 6),
        matrix(d, at + 12 * nv, nv, 6),
        acc.link_A,
        matrix(d, at + 18 * nv, m[_NLINK], r.CORIOLIS),
        views.mass_view(m, c, d).link_crb,
        acc.link_F,
    )
    r.column_motions(
        views.tree_view(m, c, d), kind, inertia, pos, views.velocity_view(m, c, d), operands, work
    )
    r.inverse_dynamics_jacobians(
        views.dof_view(m, c, d), kind, inertia, pos, work, r.DynamicsJacobians(dq, dv, M)
    )
    # springs and dampers
    for k in range(nv):
        dq[k, k] = dq[k, k] + passive.dof_stiffness[k]
        dv[k, k] = dv[k, k] + passive.dof_damping[k]
    return dq, dv, M


@stage
def inverse_dynamics_jacobians(m, c, args, d):
    """poses, velocities, accelerations, link forces, composites -> dtau/dq, dtau/dv, M."""
    _jacobians(m, c, args, d)


@stage
def take_accelerations(m, c, args, d):
    """result -> a."""
    operands = views.operand_view(m, c, d)
    for k in range(operands.a.shape[0]):
        operands.a[k] = operands.result[k]


@stage
def forward_dynamics_jacobians(m, c, args, d):
    """the same -> da/dq, da/dv, M^-1."""
    nv, at, dof = m[_NV], args[1], views.dof_view(m, c, d)
    changes = matrix(d, at, 2 * nv, nv)
    for i in range(2 * nv):
        for j in range(nv):
            changes[i, j] = 0.0
    dq, dv, M = _jacobians(m, c, args, d)
    L = views.mass_view(m, c, d).L
    mass_factor.factor(dof, M, L)
    for i in range(2 * nv):
        for j in range(nv):
            changes[i, j] = -changes[i, j]
    r.solve_columns(dof, L, dq)
    r.solve_columns(dof, L, dv)
    r.invert_mass(dof, L, M)
