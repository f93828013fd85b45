# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of analytic derivatives of dynamics, of the motion of bodies and of momentum.

They write matrices from args[1] on in the data arena, behind all fields, and keep what they need on the way
behind those; `tail_size` says how much that is.
"""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels import mass_factor, motion_derivatives
from worldline._src.kernels import rnea_derivatives as r
from worldline._src.model import views
from worldline._src.model.fields import ENTRY
from worldline._src.scalar.memory import matrix

_NV, _NLINK, _NBODY = ENTRY["nv"], ENTRY["nlink"], ENTRY["nbody"]


def tail_size(written: int, nv: int, nlink: int) -> int:
    """Numbers behind the fields of a data arena, for matrices of `written` numbers."""
    return written + 18 * nv + r.CORIOLIS * nlink


@inline
def _columns(m, c, d, at):
    """Motions of columns, kept from `at` on."""
    nv, acc = m[_NV], views.acceleration_view(m, c, d)
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
        views.tree_view(m, c, d),
        views.joint_view(m, c, d).dof_kind,
        views.inertia_view(m, c, d),
        views.position_view(m, c, d),
        views.velocity_view(m, c, d),
        views.operand_view(m, c, d),
        work,
    )
    return work


@inline
def _jacobians(m, c, args, d):
    """Derivatives of inverse dynamics: by displacements, by velocities; the mass matrix third."""
    nv, at, passive = m[_NV], args[1], views.passive_view(m, c, d)
    dq, dv, M = matrix(d, at, nv, nv), matrix(d, at + nv * nv, nv, nv), matrix(d, at + 2 * nv * nv, nv, nv)
    work = _columns(m, c, d, at + 3 * nv * nv)
    r.inverse_dynamics_jacobians(
        views.dof_view(m, c, d),
        views.joint_view(m, c, d).dof_kind,
        views.inertia_view(m, c, d),
        views.position_view(m, c, d),
        work,
        r.DynamicsJacobians(dq, dv, M),
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


@stage
def motion_jacobians(m, c, args, d):
    """poses, velocities, accelerations -> velocities by q, v and accelerations by q, v, a of all bodies."""
    nv, rows, at = m[_NV], 6 * m[_NBODY], args[1]
    size = rows * nv
    whole = matrix(d, at, 5 * rows, nv)
    for i in range(5 * rows):
        for j in range(nv):
            whole[i, j] = 0.0
    jacobians = motion_derivatives.MotionJacobians(
        matrix(d, at, rows, nv),
        matrix(d, at + size, rows, nv),
        matrix(d, at + 2 * size, rows, nv),
        matrix(d, at + 3 * size, rows, nv),
        matrix(d, at + 4 * size, rows, nv),
    )
    motion_derivatives.motion_jacobians(
        views.chain_view(m, c, d),
        views.body_view(m, c, d),
        views.position_view(m, c, d),
        views.velocity_view(m, c, d),
        _columns(m, c, d, at + 5 * size),
        jacobians,
    )


@stage
def momentum_jacobians(m, c, args, d):
    """poses, velocities, composites -> momentum about the centre of mass by q and v."""
    nv, at, acc = m[_NV], args[1], views.acceleration_view(m, c, d)
    tree, dof, inertia, pos, vel = (
        views.tree_view(m, c, d),
        views.dof_view(m, c, d),
        views.inertia_view(m, c, d),
        views.position_view(m, c, d),
        views.velocity_view(m, c, d),
    )
    rate = matrix(d, at + 12 * nv, nv, 6)
    # V_c x S of every column, and velocities of links once more
    r.carried_motions(tree, pos, views.operand_view(m, c, d).v, vel.link_V, rate)
    motion_derivatives.carried_momenta(tree, inertia, pos, vel, acc.link_F)
    motion_derivatives.momentum_jacobians(
        tree,
        dof,
        inertia,
        pos,
        views.mass_view(m, c, d).link_crb,
        acc.link_F,
        rate,
        motion_derivatives.MomentumJacobians(matrix(d, at, 6, nv), matrix(d, at + 6 * nv, 6, nv)),
    )


@stage
def integration_jacobians(m, c, args, d):
    """v, a displacement -> the configuration that it leads to by that before it and by the displacement."""
    nv, at = m[_NV], args[1]
    motion_derivatives.integration_jacobians(
        views.tree_view(m, c, d),
        views.operand_view(m, c, d).v,
        matrix(d, at, nv, nv),
        matrix(d, at + nv * nv, nv, nv),
    )
