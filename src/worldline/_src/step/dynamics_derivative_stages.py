# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of analytic derivatives of dynamics, of the motion of bodies and of momentum.

They write matrices from args[1] on in the data arena, behind all fields, and keep what they need on the way
behind those; `tail_size` says how much that is.
"""

from __future__ import annotations

from worldline._src.jit import Stage, Unit, inline, stage
from worldline._src.kernels import mass_columns, motion_derivatives
from worldline._src.kernels import rnea_derivatives as r
from worldline._src.kernels.mass_columns import TILE
from worldline._src.kinds import LANES4, Kind, float64
from worldline._src.model import views
from worldline._src.model.fields import ENTRY
from worldline._src.scalar.memory import matrix, pointer_as
from worldline._src.scalar.packed import PACK

_NV, _NLINK, _NBODY = ENTRY["nv"], ENTRY["nlink"], ENTRY["nbody"]


def tail_size(written: int, nv: int, nlink: int) -> int:
    """Numbers behind the fields of a data arena, for matrices of `written` numbers."""
    columns = PACK + nv * (2 * nv + TILE * PACK)
    return written + 18 * nv + r.CORIOLIS * nlink + columns


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
def _clear(matrix_out):
    for i in range(matrix_out.shape[0]):
        for j in range(matrix_out.shape[1]):
            matrix_out[i, j] = 0.0


@inline
def _jacobians(m, c, d, at, jacobians_out):
    """Derivatives of inverse dynamics; motions of columns are kept from `at` on."""
    passive, dq, dv = views.passive_view(m, c, d), jacobians_out.dq, jacobians_out.dv
    r.inverse_dynamics_jacobians(
        views.dof_view(m, c, d),
        views.joint_view(m, c, d).dof_kind,
        views.inertia_view(m, c, d),
        views.position_view(m, c, d),
        _columns(m, c, d, at),
        jacobians_out,
    )
    # springs and dampers
    for k in range(m[_NV]):
        dq[k, k] = dq[k, k] + passive.dof_stiffness[k]
        dv[k, k] = dv[k, k] + passive.dof_damping[k]


@stage
def inverse_dynamics_jacobians(m, c, args, d):
    """poses, velocities, accelerations, link forces, composites -> dtau/dq, dtau/dv, M."""
    nv, at = m[_NV], args[1]
    # only the pattern of the tree is written, and other programs leave their results here
    _clear(matrix(d, at, 3 * nv, nv))
    dq, dv, M = matrix(d, at, nv, nv), matrix(d, at + nv * nv, nv, nv), matrix(d, at + 2 * nv * nv, nv, nv)
    _jacobians(m, c, d, at + 3 * nv * nv, r.DynamicsJacobians(dq, dv, M))


@stage
def take_accelerations(m, c, args, d):
    """result -> a."""
    operands = views.operand_view(m, c, d)
    for k in range(operands.a.shape[0]):
        operands.a[k] = operands.result[k]


@inline
def _behind_jacobians(m, args):
    """Where memory for columns begins: behind matrices and motions, on the boundary of a vector."""
    nv = m[_NV]
    return (args[1] + 3 * nv * nv + 18 * nv + r.CORIOLIS * m[_NLINK] + PACK - 1) // PACK * PACK


@stage
def forward_dynamics_jacobians_of_one(m, c, args, d):
    """poses, velocities, accelerations, link forces, composites of one world -> da/dq, da/dv, M^-1."""
    nv, at, room, dof = m[_NV], args[1], _behind_jacobians(m, args), views.dof_view(m, c, d)
    width = TILE * PACK
    wide = (2 * nv + width - 1) // width * width
    # da = -M^-1 dtau, of vectors of neighbouring columns
    dtau, tile = matrix(d, room, nv, wide), matrix(d, room, nv, width)
    L = views.mass_view(m, c, d).L
    _clear(dtau)
    _jacobians(m, c, d, at + 3 * nv * nv, r.DynamicsJacobians(dtau[:, :nv], dtau[:, nv : 2 * nv], L))
    mass_columns.factor_in_place(dof, L)
    solve = matrix(pointer_as(dtau, LANES4), 0, nv, wide // PACK)
    mass_columns.solve_columns(dof, L, wide // PACK, solve)
    dq, dv = matrix(d, at, nv, nv), matrix(d, at + nv * nv, nv, nv)
    for i in range(nv):
        for j in range(nv):
            dq[i, j] = dtau[i, j]
        for j in range(nv):
            dv[i, j] = dtau[i, nv + j]
    columns = mass_columns.Columns(tile, matrix(pointer_as(tile, LANES4), 0, nv, TILE))
    mass_columns.invert_mass(dof, L, columns, matrix(d, at + 2 * nv * nv, nv, nv))


@stage
def forward_dynamics_jacobians_of_lanes(m, c, args, d):
    """The same of worlds in lanes, whose numbers are vectors as they are."""
    nv, at, room, dof = m[_NV], args[1], _behind_jacobians(m, args), views.dof_view(m, c, d)
    dq, dv = matrix(d, at, nv, nv), matrix(d, at + nv * nv, nv, nv)
    L = views.mass_view(m, c, d).L
    _clear(matrix(d, at, 2 * nv, nv))
    _jacobians(m, c, d, at + 3 * nv * nv, r.DynamicsJacobians(dq, dv, L))
    mass_columns.factor_in_place(dof, L)
    # whole tiles in place, then columns that fill none, those of dq beside those of dv
    whole = nv // TILE * TILE
    left = nv - whole
    rest, width = matrix(d, room, nv, 2 * TILE), (2 * left + TILE - 1) // TILE * TILE
    for i in range(nv):
        for k in range(left):
            rest[i, k], rest[i, left + k] = dq[i, whole + k], dv[i, whole + k]
        for k in range(2 * left, width):
            rest[i, k] = 0.0
    for part in range(3):
        columns = matrix(d, at + part * nv * nv, nv, nv) if part < 2 else rest
        mass_columns.solve_columns(dof, L, whole if part < 2 else width, columns)
    for i in range(nv):
        for k in range(left):
            dq[i, whole + k], dv[i, whole + k] = rest[i, k], rest[i, left + k]
    tile = matrix(d, room, nv, TILE)
    mass_columns.invert_mass(dof, L, mass_columns.Columns(tile, tile), matrix(d, at + 2 * nv * nv, nv, nv))


class _OneOrLanes(Stage):
    """Two stages with the same result: one for one world, one for lanes and for plain Python."""

    def __init__(self, name: str, one: Stage, lanes: Stage) -> None:
        super().__init__(name, one.doc, lambda: lanes.function)
        self._one, self._lanes = one, lanes

    def unit(self, scalar: Kind) -> Unit:
        return (self._one if scalar is float64 else self._lanes).unit(scalar)


forward_dynamics_jacobians = _OneOrLanes(
    "forward_dynamics_jacobians", forward_dynamics_jacobians_of_one, forward_dynamics_jacobians_of_lanes
)


@stage
def motion_jacobians(m, c, args, d):
    """poses, velocities, accelerations -> velocities by q, v and accelerations by q, v, a of all bodies."""
    nv, rows, at = m[_NV], 6 * m[_NBODY], args[1]
    size = rows * nv
    _clear(matrix(d, at, 5 * rows, nv))
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
