# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics and dynamics as functions on arrays.

Every function takes a `Model` and operands for one world, shape `(n,)`, or for many, `(worlds, n)`; an
operand without a world dimension serves all worlds. `out=` takes the result, `threads=` spreads worlds
over threads (0: all processors), `lanes=` sets how many worlds one instruction handles (None: what the
processor has). The result does not depend on threads or lanes, not even in the last bit.

Velocities and accelerations of links and rows of Jacobians are angular first, then linear.
"""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np

from worldline._src.errors import ArgumentError, one_of
from worldline._src.masked import has_masked_entries
from worldline._src.model.checks import flag
from worldline._src.model.kinds import QUATERNION_JOINTS, JointType
from worldline._src.model.model import Model, takes_model
from worldline._src.spatial.poses import Array, VectorLike
from worldline._src.step import programs
from worldline._src.step.array_functions import Evaluation, array_function
from worldline._src.step.evaluate import WITH_GRAVITY, evaluate, is_count

_WHOLE = np.ones(1)


def _zeros(model: Model, n: int) -> Array:
    key = ("zeros", n)
    zeros = model.scratch.get(key)
    if zeros is None:
        zeros = model.scratch[key] = np.zeros(n)
    return zeros


@array_function
def forward_kinematics(model: Model, q: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Pose of every body: position [m] and xyzw of its origin, world frame.

    Returns:
        Shape ([worlds,] body_count, 7).

    Example:
        >>> from worldline.model import ModelBuilder, forward_kinematics
        >>> builder = ModelBuilder()
        >>> link = builder.add_link(mass=1.0)
        >>> joint = builder.add_joint_prismatic(-1, link, axis=(0, 0, 1))
        >>> _ = builder.add_articulation([joint])
        >>> forward_kinematics(builder.finalize(), [0.5])[0, 2]
        np.float64(0.5)
    """
    shape = (model.body_count, 7)
    return evaluate(model, programs.FORWARD_KINEMATICS, (q,), shape, **keywords)


@array_function
def link_velocities(model: Model, q: VectorLike, qd: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Angular velocity [rad/s] and velocity of the origin [m/s] of every body, world axes.

    Returns:
        Shape ([worlds,] body_count, 6).
    """
    shape = (model.body_count, 6)
    return evaluate(model, programs.LINK_VELOCITIES, (q, qd), shape, **keywords)


@array_function
def link_accelerations(
    model: Model, q: VectorLike, qd: VectorLike, qdd: VectorLike, **keywords: Unpack[Evaluation]
) -> Array:
    """Rate of `link_velocities`: angular acceleration and acceleration of the origin, world axes.

    Gravity plays no part: a link at rest has zero acceleration.

    Returns:
        Shape ([worlds,] body_count, 6).
    """
    shape = (model.body_count, 6)
    operands = (q, qd, qdd)
    return evaluate(model, programs.LINK_ACCELERATIONS, operands, shape, **keywords)


@array_function
def inverse_dynamics(
    model: Model,
    q: VectorLike,
    qd: VectorLike,
    qdd: VectorLike,
    *,
    wrenches: VectorLike | None = None,
    **keywords: Unpack[Evaluation],
) -> Array:
    """Generalized forces that give the accelerations `qdd`: M qdd + bias - passive - J^T wrenches.

    Armature is part of M; springs and dampers of the joints help or hinder as they do in motion.

    Args:
        model: the model.
        q: joint coordinates.
        qd: joint velocities.
        qdd: joint accelerations.
        wrenches: on every body, moment about its origin [N m], then force [N], world axes, (..., 6).
        out: where to put the result.
        threads: worlds are spread over this many threads.
        lanes: worlds per instruction.

    Returns:
        Shape ([worlds,] joint_dof_count) [N, N m].
    """
    pair = programs.INVERSE_DYNAMICS, programs.INVERSE_DYNAMICS_WRENCHES
    return _with_wrenches(model, pair, (q, qd, qdd), wrenches, keywords)


def _with_wrenches(
    model: Model,
    programs_of: tuple[programs.Program, programs.Program],
    operands: tuple[VectorLike, ...],
    wrenches: VectorLike | None,
    keywords: Evaluation,
) -> Array:
    """Evaluate the first of two programs, or the second with wrenches on bodies."""
    program = programs_of[wrenches is not None]
    if wrenches is not None:
        operands = (*operands, wrenches)
    if model.compensates_gravity:
        program = programs.COMPENSATED[id(program)]
    return evaluate(model, program, operands, (model.joint_dof_count,), args=WITH_GRAVITY, **keywords)


@array_function
def bias_forces(model: Model, q: VectorLike, qd: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Coriolis, centrifugal and gravity forces h of M qdd + h = tau, shape ([worlds,] nv)."""
    nv = model.joint_dof_count
    operands = (q, qd, _zeros(model, nv))
    return evaluate(model, programs.BIAS_FORCES, operands, (nv,), args=WITH_GRAVITY, **keywords)


@array_function
def coriolis_forces(model: Model, q: VectorLike, qd: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Coriolis and centrifugal forces C(q, qd) qd, shape ([worlds,] nv)."""
    nv = model.joint_dof_count
    operands = (q, qd, _zeros(model, nv))
    return evaluate(model, programs.BIAS_FORCES, operands, (nv,), **keywords)


@array_function
def gravity_forces(model: Model, q: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Gravity forces g(q) on the left side of M qdd + C + g = tau, shape ([worlds,] nv)."""
    nv = model.joint_dof_count
    operands = (q, _zeros(model, nv), _zeros(model, nv))
    return evaluate(model, programs.BIAS_FORCES, operands, (nv,), args=WITH_GRAVITY, **keywords)


@array_function
def passive_forces(model: Model, q: VectorLike, qd: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Forces of joint springs and dampers, -k (q - q_rest) - b qd, and of gravity compensation.

    Returns:
        Shape ([worlds,] joint_dof_count) [N, N m].
    """
    shape = (model.joint_dof_count,)
    program = programs.PASSIVE_FORCES_COMPENSATED if model.compensates_gravity else programs.PASSIVE_FORCES
    return evaluate(model, program, (q, qd), shape, **keywords)


@array_function
def forward_dynamics(
    model: Model,
    q: VectorLike,
    qd: VectorLike,
    tau: VectorLike,
    *,
    wrenches: VectorLike | None = None,
    **keywords: Unpack[Evaluation],
) -> Array:
    """Joint accelerations under generalized forces, by the articulated-body algorithm.

    Springs, dampers, armature and gravity are included; `wrenches` as in `inverse_dynamics`. Joints of
    kinematic bodies do not accelerate.

    Returns:
        Shape ([worlds,] joint_dof_count) [m/s^2, rad/s^2].

    Example:
        >>> from worldline.model import ModelBuilder, forward_dynamics
        >>> builder = ModelBuilder()
        >>> bob = builder.add_link(mass=1.0, com=(1, 0, 0))
        >>> joint = builder.add_joint_revolute(-1, bob, axis=(0, 1, 0))
        >>> _ = builder.add_articulation([joint])
        >>> forward_dynamics(builder.finalize(), [0.0], [0.0], [0.0])
        array([9.81])
    """
    pair = programs.FORWARD_DYNAMICS, programs.FORWARD_DYNAMICS_WRENCHES
    return _with_wrenches(model, pair, (q, qd, tau), wrenches, keywords)


@array_function
def mass_matrix(model: Model, q: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Joint-space inertia M(q) with armature, symmetric, shape ([worlds,] nv, nv)."""
    nv = model.joint_dof_count
    return evaluate(model, programs.MASS_MATRIX, (q,), (nv, nv), **keywords)


@array_function
def mass_matrix_inverse(model: Model, q: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """M(q)^-1, symmetric, shape ([worlds,] nv, nv)."""
    nv = model.joint_dof_count
    return evaluate(model, programs.MASS_MATRIX_INVERSE, (q,), (nv, nv), **keywords)


@array_function
def solve_mass_matrix(model: Model, q: VectorLike, rhs: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """M(q)^-1 rhs without forming the inverse, shape ([worlds,] nv)."""
    shape = (model.joint_dof_count,)
    return evaluate(model, programs.SOLVE_MASS_MATRIX, (q, rhs), shape, **keywords)


@array_function
def impulse_response(
    model: Model, q: VectorLike, impulse: VectorLike, **keywords: Unpack[Evaluation]
) -> Array:
    """Change of joint velocities from a generalized impulse; kinematic bodies keep theirs.

    Returns:
        Shape ([worlds,] joint_dof_count).
    """
    shape = (model.joint_dof_count,)
    return evaluate(model, programs.IMPULSE_RESPONSE, (q, impulse), shape, **keywords)


@array_function
def center_of_mass(model: Model, q: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Centre of mass of everything, world frame [m], shape ([worlds,] 3)."""
    return evaluate(model, programs.CENTER_OF_MASS, (q,), (3,), **keywords)


@array_function
def center_of_mass_velocity(
    model: Model, q: VectorLike, qd: VectorLike, **keywords: Unpack[Evaluation]
) -> Array:
    """Velocity of the centre of mass, world axes [m/s], shape ([worlds,] 3)."""
    return evaluate(model, programs.CENTER_OF_MASS_VELOCITY, (q, qd), (3,), **keywords)


@array_function
def center_of_mass_acceleration(
    model: Model, q: VectorLike, qd: VectorLike, qdd: VectorLike, **keywords: Unpack[Evaluation]
) -> Array:
    """Acceleration of the centre of mass, world axes [m/s^2], shape ([worlds,] 3)."""
    program = programs.CENTER_OF_MASS_ACCELERATION
    return evaluate(model, program, (q, qd, qdd), (3,), **keywords)


@array_function
def center_of_mass_jacobian(model: Model, q: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Velocity of the centre of mass per joint velocity, world axes, shape ([worlds,] 3, nv)."""
    program, shape = programs.CENTER_OF_MASS_JACOBIAN, (3, model.joint_dof_count)
    return evaluate(model, program, (q,), shape, **keywords)


@array_function
def momentum(
    model: Model,
    q: VectorLike,
    qd: VectorLike,
    *,
    about: Literal["com", "origin"] = "com",
    **keywords: Unpack[Evaluation],
) -> Array:
    """Angular [kg m^2/s], then linear momentum [kg m/s] of everything, world axes.

    Args:
        model: the model.
        q: joint coordinates.
        qd: joint velocities.
        about: "com" for the centre of mass, "origin" for the world's origin.
        out: where to put the result.
        threads: worlds are spread over this many threads.
        lanes: worlds per instruction.

    Returns:
        Shape ([worlds,] 6).
    """
    one_of(about, ("com", "origin"), "about")
    args = np.array([about == "origin", 0, 0, 0], np.int64)
    return evaluate(model, programs.MOMENTUM, (q, qd), (6,), args=args, **keywords)


@array_function
def centroidal_momentum_matrix(model: Model, q: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Momentum about the centre of mass per joint velocity, angular rows first, ([worlds,] 6, nv)."""
    program, shape = programs.CENTROIDAL_MOMENTUM_MATRIX, (6, model.joint_dof_count)
    return evaluate(model, program, (q,), shape, **keywords)


@array_function
def kinetic_energy(model: Model, q: VectorLike, qd: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Kinetic energy of links and armature [J], shape ([worlds,])."""
    return evaluate(model, programs.KINETIC_ENERGY, (q, qd), (), **keywords)


@array_function
def potential_energy(model: Model, q: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Energy in the gravity field, zero at the world's origin, and in joint springs [J], ([worlds,])."""
    return evaluate(model, programs.POTENTIAL_ENERGY, (q,), (), **keywords)


@array_function
def integrate(model: Model, q: VectorLike, displacement: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """Move a configuration by a displacement (velocity times time) on its manifold.

    Returns:
        Shape ([worlds,] joint_coord_count); quaternions are unit.
    """
    shape = (model.joint_coord_count,)
    return evaluate(model, programs.INTEGRATE, (q, displacement, _WHOLE), shape, **keywords)


@array_function
def difference(model: Model, q0: VectorLike, q1: VectorLike, **keywords: Unpack[Evaluation]) -> Array:
    """The displacement that `integrate` needs to move q0 to q1, shape ([worlds,] nv)."""
    shape = (model.joint_dof_count,)
    return evaluate(model, programs.DIFFERENCE, (q0, q1), shape, **keywords)


@array_function
def interpolate(
    model: Model, q0: VectorLike, q1: VectorLike, fraction: float | Array, **keywords: Unpack[Evaluation]
) -> Array:
    """The configuration a fraction of the way from q0 (0) to q1 (1) along the shortest path.

    Args:
        model: the model.
        q0: start.
        q1: end.
        fraction: one number, or one per world.
        out: where to put the result.
        threads: worlds are spread over this many threads.
        lanes: worlds per instruction.

    Returns:
        Shape ([worlds,] joint_coord_count).
    """
    if has_masked_entries(fraction):
        raise ArgumentError(f"fraction must not have masked entries; fill them first, got {fraction!r}")
    try:
        part = np.asarray(fraction)
    except ValueError as error:
        raise ArgumentError(f"fraction must be one number or one per world, got {fraction!r}") from error
    part = (part.astype(np.float64) if part.dtype.kind in "iu" else part)[..., None]
    shape = (model.joint_coord_count,)
    return evaluate(model, programs.INTERPOLATE, (q0, q1, part), shape, **keywords)


@takes_model
def neutral(model: Model) -> Array:
    """The configuration with all axis coordinates zero and all orientations identity."""
    q = np.zeros(model.joint_coord_count)
    for j in range(model.joint_count):
        if JointType(model.joint_type[j]) in QUATERNION_JOINTS:
            q[model.joint_q_start[j + 1] - 1] = 1.0
    return q


def _generator(rng: Any) -> np.random.Generator:
    """A generator of random numbers, as it is or from a seed."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if not is_count(rng) or rng < 0:
        raise ArgumentError(f"rng must be a numpy Generator, a seed of 0 or more, or None, got {rng!r}")
    return np.random.default_rng(int(rng))


@takes_model
def random_configuration(
    model: Model,
    rng: np.random.Generator | int | None = None,
    *,
    worlds: int | None = None,
    within_limits: bool = True,
) -> Array:
    """Random coordinates: uniform between limits, uniform orientations.

    Without finite limits, turns are drawn from [-pi, pi] and slides from [-1, 1]; a limit on one side holds.

    Args:
        model: the model.
        rng: a generator or a seed.
        worlds: how many rows; None for one configuration without a world dimension.
        within_limits: False ignores joint limits.

    Returns:
        Shape ([worlds,] joint_coord_count).
    """
    if worlds is not None and (not is_count(worlds) or worlds < 0):
        raise ArgumentError(f"worlds must be None or a whole number, got {worlds!r}")
    within_limits = flag(within_limits, "within_limits")
    generator = _generator(rng)
    count = 1 if worlds is None else int(worlds)
    q = np.zeros((count, model.joint_coord_count))
    for j in range(model.joint_count):
        linear, angular = (int(n) for n in model.joint_dof_dim[j])
        start, d = int(model.joint_q_start[j]), int(model.joint_qd_start[j])
        quaternion = JointType(model.joint_type[j]) in QUATERNION_JOINTS
        for k in range(linear if quaternion else linear + angular):
            reach = 1.0 if k < linear else np.pi
            low, high = -np.inf, np.inf
            if within_limits:
                low, high = float(model.joint_limit_lower[d + k]), float(model.joint_limit_upper[d + k])
            # an open side ends at the reach, or so far from a limit beyond it
            lowest = low if np.isfinite(low) else min(-reach, high - reach)
            highest = high if np.isfinite(high) else max(reach, low + reach)
            q[:, start + k] = generator.uniform(lowest, highest, count)
        if quaternion:
            x = generator.normal(size=(count, 4))
            q[:, start + linear : start + linear + 4] = x / np.linalg.norm(x, axis=1, keepdims=True)
    return q[0] if worlds is None else q
