# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of kinematics and dynamics as matrices.

They are analytic (`kernels/rnea_derivatives.py`, `kernels/motion_derivatives.py`), in lanes where there are
several worlds. For custom joints, and of dynamics with compensated gravity, springs of orientations and
kinematic bodies, the kernels run in dual numbers, once for every direction. Nothing is differenced. A
column of the derivative by position is the change per unit of displacement of one degree of freedom, as
`integrate` moves it, with the numbers in `qd`, `qdd` and `tau` held constant. Joint springs, dampers,
armature and compensated gravity are part of it.

Operands may have a world dimension; so have the results then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np

from worldline._src.errors import CapabilityError, OperationError
from worldline._src.jit import DISABLED
from worldline._src.keywords import shared_keywords
from worldline._src.model.model import Model, takes_model
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, VectorLike
from worldline._src.step import evaluate as evaluation
from worldline._src.step import programs, runner, stages
from worldline._src.step.dual_step import quaternions
from worldline._src.step.dynamics_derivative_stages import (
    forward_dynamics_jacobians,
    integration_jacobians,
    inverse_dynamics_jacobians,
    momentum_jacobians,
    motion_jacobians,
    tail_size,
    take_accelerations,
)
from worldline._src.step.evaluate import (
    NO_ARGS,
    WITH_GRAVITY,
    Program,
    check_output,
    compiled,
    evaluate,
    new_arena,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Spread(TypedDict, total=False):
    """Keywords of functions that spread worlds over threads and lanes, and that name the array of results."""

    threads: int
    lanes: int | None
    out: Array | None


F = TypeVar("F", bound=Callable[..., Any])


def _spread(function: F) -> F:
    return takes_model(shared_keywords(Spread, threads=1, lanes=None, out=None)(function))


class InverseDynamicsDerivatives(NamedTuple):
    """Of generalized forces, ([worlds,] joint_dof_count, joint_dof_count) each."""

    dtau_dq: Array
    """By displacements."""
    dtau_dqd: Array
    """By velocities."""
    dtau_dqdd: Array
    """By accelerations: the mass matrix."""


class ForwardDynamicsDerivatives(NamedTuple):
    """Of joint accelerations, ([worlds,] joint_dof_count, joint_dof_count) each."""

    dqdd_dq: Array
    """By displacements."""
    dqdd_dqd: Array
    """By velocities."""
    dqdd_dtau: Array
    """By generalized forces: the inverse of the mass matrix."""


class KinematicsDerivatives(NamedTuple):
    """Of `link_velocities` and `link_accelerations`, ([worlds,] body_count, 6, joint_dof_count) each."""

    velocity_dq: Array
    velocity_dqd: Array
    acceleration_dq: Array
    acceleration_dqd: Array
    acceleration_dqdd: Array


class CentroidalDerivatives(NamedTuple):
    """Of `momentum` about the centre of mass, ([worlds,] 6, joint_dof_count) each."""

    momentum_dq: Array
    """By displacements."""
    momentum_dqd: Array
    """By velocities: the centroidal momentum matrix."""


class IntegrationDerivatives(NamedTuple):
    """Of a configuration that was moved, ([worlds,] joint_dof_count, joint_dof_count) each."""

    configuration_dq: Array
    """By displacements of the configuration before."""
    configuration_ddisplacement: Array
    """By the displacement that it was moved by."""


@_spread
def inverse_dynamics_derivatives(
    model: Model,
    q: VectorLike,
    qd: VectorLike,
    qdd: VectorLike,
    **keywords: Unpack[Spread],
) -> InverseDynamicsDerivatives:
    """Derivatives of `inverse_dynamics` by displacement, velocity and acceleration.

    Args:
        model: the model.
        q: joint coordinates, ([worlds,] joint_coord_count).
        qd: joint velocities, ([worlds,] joint_dof_count).
        qdd: joint accelerations, ([worlds,] joint_dof_count).
        threads: worlds are spread over this many threads.
        lanes: worlds per instruction.
        out: ([worlds,] 3, joint_dof_count, joint_dof_count), takes the matrices one after the other. Calls
            that write to the same array again spare new memory, which takes longer than they do.

    Example:
        >>> from worldline.model import ModelBuilder, inverse_dynamics_derivatives
        >>> builder = ModelBuilder()
        >>> bob = builder.add_link(mass=1.0, com=(0, 0, -1), inertia=[[0.0] * 3] * 3)
        >>> hinge = builder.add_joint_revolute(parent=-1, child=bob, axis=(0, 1, 0))
        >>> _ = builder.add_articulation([hinge])
        >>> made = inverse_dynamics_derivatives(builder.finalize(), [0.0], [0.0], [0.0])
        >>> made.dtau_dq.round(6).tolist(), made.dtau_dqdd.tolist()  # m g l and m l^2
        ([[9.81]], [[1.0]])
    """
    if is_analytic(model):
        made = _three(model, _INVERSE_DYNAMICS, (q, qd, qdd), keywords)
    else:
        made = _dynamics_columns(model, programs.INVERSE_DYNAMICS, (q, qd, qdd), keywords)
    return InverseDynamicsDerivatives(*made)


@_spread
def forward_dynamics_derivatives(
    model: Model,
    q: VectorLike,
    qd: VectorLike,
    tau: VectorLike,
    **keywords: Unpack[Spread],
) -> ForwardDynamicsDerivatives:
    """Derivatives of `forward_dynamics` by displacement, velocity and generalized force.

    The arguments are those of `inverse_dynamics_derivatives`, with generalized forces `tau` [N or N m],
    ([worlds,] joint_dof_count), for accelerations.
    """
    if is_analytic(model) and not model.body_kinematic.any():
        made = _three(model, _FORWARD_DYNAMICS, (q, qd, tau), keywords)
    else:
        made = _dynamics_columns(model, programs.FORWARD_DYNAMICS, (q, qd, tau), keywords)
    return ForwardDynamicsDerivatives(*made)


def _three(
    model: Model, program: Program, operands: tuple[VectorLike, ...], keywords: Spread
) -> tuple[Array, Array, Array]:
    """Three (nv, nv) matrices of a program."""
    shape = (3, model.joint_dof_count, model.joint_dof_count)
    made = _analytic(model, program, operands, shape, keywords)
    return made[..., 0, :, :], made[..., 1, :, :], made[..., 2, :, :]


def _require_array(keywords: Spread, what: str) -> None:
    """Refuse `bind`, whose result is one array."""
    if isinstance(keywords.get("out"), evaluation.Binding):
        raise CapabilityError(f"{what} cannot be bound: its result is more than one array")


def _dynamics_columns(
    model: Model, program: Program, operands: tuple[VectorLike, ...], keywords: Spread
) -> list[Array]:
    """Derivatives of inverse or forward dynamics, column by column."""
    if model.compensates_gravity:
        program = programs.COMPENSATED[id(program)]
    made = _columns(model, program, operands, (model.joint_dof_count,), WITH_GRAVITY)
    return _written(made, keywords, 2, program.name)


def _written(made: list[Array], keywords: Spread, core: int, what: str) -> list[Array]:
    """Matrices of `core` dimensions, written to `out` one after the other where it is given."""
    _require_array(keywords, what)
    out = keywords.get("out")
    if out is None:
        return made
    whole = np.stack(made, axis=-core - 1)
    check_output(out, whole.shape, (), what)
    out[...] = whole
    return list(np.moveaxis(out, -core - 1, 0))


@_spread
def kinematics_derivatives(
    model: Model,
    q: VectorLike,
    qd: VectorLike,
    qdd: VectorLike,
    **keywords: Unpack[Spread],
) -> KinematicsDerivatives:
    """Derivatives of `link_velocities` and `link_accelerations`; those of poses are `jacobian`.

    The arguments are those of `inverse_dynamics_derivatives`; `out` is ([worlds,] 5, body_count, 6,
    joint_dof_count).
    """
    shape = (model.body_count, 6)
    if not model.arenas.sizes["nbend"]:
        whole = (5, *shape, model.joint_dof_count)
        made = _analytic(model, _KINEMATICS, (q, qd, qdd), whole, keywords)
        return KinematicsDerivatives(*np.moveaxis(made, -4, 0))
    velocities = _columns(model, programs.LINK_VELOCITIES, (q, qd), shape, NO_ARGS)
    accelerations = _columns(model, programs.LINK_ACCELERATIONS, (q, qd, qdd), shape, NO_ARGS)
    return KinematicsDerivatives(*_written([*velocities, *accelerations], keywords, 3, _KINEMATICS.name))


@_spread
def centroidal_derivatives(
    model: Model, q: VectorLike, qd: VectorLike, **keywords: Unpack[Spread]
) -> CentroidalDerivatives:
    """Derivatives of `momentum`, angular, then linear, about the centre of mass.

    The arguments are those of `inverse_dynamics_derivatives`, without accelerations; `out` is ([worlds,]
    2, 6, joint_dof_count).
    """
    if not model.arenas.sizes["nbend"]:
        made = _analytic(model, _CENTROIDAL, (q, qd), (2, 6, model.joint_dof_count), keywords)
        return CentroidalDerivatives(made[..., 0, :, :], made[..., 1, :, :])
    made = _columns(model, programs.MOMENTUM, (q, qd), (6,), NO_ARGS)
    return CentroidalDerivatives(*_written(made, keywords, 2, _CENTROIDAL.name))


@_spread
def integration_derivatives(
    model: Model, displacement: VectorLike, **keywords: Unpack[Spread]
) -> IntegrationDerivatives:
    """Derivatives of `integrate` on the tangents of its result; they do not depend on where it starts.

    Args:
        model: the model.
        displacement: ([worlds,] joint_dof_count).
        threads, lanes: as of `inverse_dynamics_derivatives`.
        out: ([worlds,] 2, joint_dof_count, joint_dof_count), takes the matrices one after the other.

    Example:
        >>> import numpy as np
        >>> from worldline.model import ModelBuilder, integration_derivatives
        >>> builder = ModelBuilder()
        >>> joint = builder.add_joint_ball(parent=-1, child=builder.add_link(mass=1.0))
        >>> _ = builder.add_articulation([joint])
        >>> made = integration_derivatives(builder.finalize(), [0.0, 0.0, np.pi / 2])  # a quarter turn
        >>> made.configuration_dq.round(9).tolist()
        [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    n = model.joint_dof_count
    made = _analytic(model, _INTEGRATION, (displacement,), (2, n, n), keywords)
    return IntegrationDerivatives(made[..., 0, :, :], made[..., 1, :, :])


def is_analytic(model: Model) -> bool:
    """Whether `kernels/rnea_derivatives.py` has all that acts on the joints of a model."""
    if model.compensates_gravity or model.arenas.sizes["nbend"]:
        return False
    if model.joint_coord_count == model.joint_dof_count:
        return True
    # springs of orientations depend on displacements by the logarithm of a rotation
    turns = quaternions(model)[:, 1:] + np.arange(3)
    return not model.joint_stiffness[turns].any()


def _analytic(
    model: Model,
    program: Program,
    operands: tuple[Any, ...],
    shape: tuple[int, ...],
    keywords: Spread,
) -> Array:
    """Matrices of some shape that a program leaves behind the fields of its arena."""
    _require_array(keywords, program.name)
    n, written = model.joint_dof_count, math.prod(shape)
    if program not in model.scratch:
        base = model.arenas.data_size
        plan = evaluation.plan_of(model, program)
        plan.table[4], plan.table[9] = base, written
        model.scratch[program] = plan._replace(size=base + tail_size(written, n, model.arenas.sizes["nlink"]))
    args = np.array([1, model.arenas.data_size, 0, 0], np.int64)
    return evaluate(model, program, operands, shape, args=args, **keywords)


_AT_ACCELERATIONS = (stages.no_wrenches, stages.inverse_dynamics, stages.composites)
_INVERSE_DYNAMICS = Program(
    "inverse_dynamics_derivatives",
    (stages.positions, stages.link_velocities, *_AT_ACCELERATIONS, inverse_dynamics_jacobians),
    ("q", "v", "a"),
    ("q", "qd", "qdd"),
    ("nv", "nv"),
)
_FORWARD_DYNAMICS = Program(
    "forward_dynamics_derivatives",
    (*programs.FORWARD_DYNAMICS.stages, take_accelerations, *_AT_ACCELERATIONS, forward_dynamics_jacobians),
    ("q", "v", "tau"),
    ("q", "qd", "tau"),
    ("nv", "nv"),
    needs_inertia="mobile",
)
_KINEMATICS = Program(
    "kinematics_derivatives",
    (stages.positions, stages.link_velocities, stages.link_accelerations, motion_jacobians),
    ("q", "v", "a"),
    ("q", "qd", "qdd"),
    ("nv", "nv"),
)
_CENTROIDAL = Program(
    "centroidal_derivatives",
    (stages.positions, stages.link_velocities, stages.composites, momentum_jacobians),
    ("q", "v"),
    ("q", "qd"),
    ("nv", "nv"),
)
_INTEGRATION = Program(
    "integration_derivatives", (integration_jacobians,), ("v",), ("displacement",), ("nv", "nv")
)
ANALYTIC_PROGRAMS = (_INVERSE_DYNAMICS, _FORWARD_DYNAMICS, _KINEMATICS, _CENTROIDAL, _INTEGRATION)
"""Programs that leave matrices behind the fields of their arena."""

PROGRAMS = (
    programs.INVERSE_DYNAMICS,
    programs.FORWARD_DYNAMICS,
    *programs.COMPENSATED.values(),
    programs.LINK_VELOCITIES,
    programs.LINK_ACCELERATIONS,
    programs.MOMENTUM,
    programs.INTEGRATE,
)
"""Programs that are differentiated: those that run in dual numbers."""


def _columns(
    model: Model, program: Program, operands: tuple[Any, ...], shape: tuple[int, ...], args: np.ndarray
) -> list[Array]:
    """Derivatives of a program by each of its operands, the first of which are coordinates."""
    # values first: this checks the operands and lays the program out
    values = evaluate(model, program, operands, shape, args=args)
    batch = values.shape[: values.ndim - len(shape)]
    worlds, n = int(np.prod(batch, dtype=np.int64)), model.joint_dof_count
    q, *others = (np.asarray(x, np.float64) for x in operands)
    q = np.broadcast_to(q, (*batch, model.joint_coord_count)).reshape(worlds, 1, -1)
    others = [np.broadcast_to(x, (*batch, n)).reshape(worlds, 1, -1) for x in others]
    made = []
    for k in range(len(operands)):
        rows = [np.zeros((worlds, n, x.shape[-1], 2)) for x in (q, *others)]
        for row, x in zip(rows, (q, *others), strict=True):
            row[..., 0] = x
        rows[k][..., 1] = _rates(model, q) if k == 0 else np.eye(n)
        slopes = _slopes(model, program, rows, worlds * n, args).reshape(*batch, n, *shape)
        made.append(np.ascontiguousarray(np.moveaxis(slopes, len(batch), -1)))
    return made


def _rates(model: Model, q: Array) -> Array:
    """Rates of the coordinates for a unit velocity of each degree of freedom, (worlds, nv, nq)."""
    worlds, n = q.shape[0], model.joint_dof_count
    evaluate(model, programs.INTEGRATE, (q[:, 0], np.zeros(n), np.ones(1)), (model.joint_coord_count,))
    rows = [np.zeros((worlds, n, size, 2)) for size in (model.joint_coord_count, n, 1)]
    rows[0][..., 0] = q
    rows[1][..., 1] = np.eye(n)
    rows[2][..., 0] = 1.0
    return _slopes(model, programs.INTEGRATE, rows, worlds * n, NO_ARGS).reshape(worlds, n, -1)


def _slopes(model: Model, program: Program, rows: list[Array], count: int, args: np.ndarray) -> Array:
    """A program in dual numbers: operands alternate value and slope; the slopes of the result."""
    if DISABLED:
        raise OperationError("derivatives need the compiler, which NUMBA_DISABLE_JIT switches off")
    table = model.scratch[program].table
    flat = [row.reshape(-1) for row in rows]
    flat += [np.zeros(0)] * (4 - len(flat))
    out = np.empty((count, int(table[9]), 2))
    arenas = model.arenas
    data = new_arena(model, "dual")
    addresses, run = compiled(program, "dual"), runner.runner("dual")
    every = (1 << len(rows)) - 1
    span = np.array((0, count, every), np.int64)
    run(addresses, arenas.index, arenas.constant, args, data, table, *flat, out.reshape(-1), span)
    return out[..., 1]
