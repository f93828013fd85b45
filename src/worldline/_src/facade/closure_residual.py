# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Residuals, constraint forces and solver results of loop closures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.facade import values
from worldline._src.facade.kinds import LoopClosureFamily, LoopClosureResidualCoordinates
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, compose, inverse
from worldline._src.step.pack_equalities import Owner
from worldline._src.step.pack_loops import loop_outcome

if TYPE_CHECKING:
    from worldline._src.facade.loop_closure import LoopClosure

_TURNED_BY_HINGE = (LoopClosureFamily.AXIS, LoopClosureFamily.REVOLUTE)


class LoopClosureResidual(NamedTuple):
    """How far a closure is from being closed: endpoint A minus endpoint B."""

    value: Array
    """RIGID: translation, then the rotation vector taking B to A; POINT: translation; AXIS and REVOLUTE:
    translation, then the tilt of A's z axis along B's x and y, up to 2 for antiparallel axes; DISTANCE:
    distance minus what is kept; UNIVERSAL: translation, then the cosine of A's z and B's x; PRISMATIC:
    translation along B's x and y, then the rotation vector; PLANAR: translation along B's z, then the tilt.
    Vectors are in the axes of `coordinates` [m, rad]."""
    norm: float
    translation: Array
    """Position of A minus position of B [m], (3,)."""
    rotation: Array
    """Rotation vector taking B to A [rad], (3,)."""
    coordinates: LoopClosureResidualCoordinates
    """The axes of all vectors: the world's, or those of an endpoint."""
    enabled: bool
    active: bool
    """True when a stage acts on the closure."""
    force: Array | None
    """Force of the last step on endpoint A [N], (3,); B feels the opposite. None when nothing was solved, and
    after coordinates or velocities were written or restored."""
    torque: Array | None
    """Torque of the last step on A about its endpoint [N m], (3,); None like the force."""
    converged: bool | None = None
    """Whether the last projection closed it: that of written coordinates where the policy is PROJECT, else
    that of the last step. None when neither was made, as the next three. A closure that starts open is closed
    at 10 m/s, and counts as converged on the way."""
    iterations: int | None = None
    """Iterations of that projection."""
    tolerance: float | None = None
    """Largest residual that it allowed [m or rad]."""
    rank: int | None = None
    """Independent equations of all closures that were projected with it; fewer than their number where some
    follow from others, as in a plane mechanism, or in a singular pose."""

    @property
    def force_available(self) -> bool:
        """Whether a stage solved for force and torque."""
        return self.force is not None


def _tilt(z: Array) -> Array:
    """How far a unit vector leans from the z axis, (2,): its x and y, and beyond a right angle what goes on
    to 2 along the same direction, so that the opposite axis is not taken for the same."""
    across = z[:2]
    if z[2] >= 0.0:
        return across
    length = float(np.linalg.norm(across))
    along = across / length if length > 1e-12 else np.array([1.0, 0.0])
    return 2.0 * along - across


def _value(family: LoopClosureFamily, A: Array, B: Array, distance: float, axes: Array) -> Array:
    """The residual of a family between two poses, vectors in given axes."""
    gap, R_B = A[:3] - B[:3], values.matrix_of(B)[:3, :3]
    local, z = R_B.T @ gap, R_B.T @ values.matrix_of(A)[:3, 2]
    rotation = axes.T @ values.rotation_vector(compose(A, inverse(B))[3:])
    if family is LoopClosureFamily.DISTANCE:
        return np.array([float(np.linalg.norm(gap)) - distance])
    if family is LoopClosureFamily.RIGID:
        return np.concatenate([axes.T @ gap, rotation])
    if family is LoopClosureFamily.PRISMATIC:
        return np.concatenate([local[:2], rotation])
    if family is LoopClosureFamily.PLANAR:
        return np.concatenate([local[2:], _tilt(z)])
    rest = np.zeros(0)
    if family in _TURNED_BY_HINGE:
        rest = _tilt(z)
    elif family is LoopClosureFamily.UNIVERSAL:
        rest = z[:1]
    return np.concatenate([axes.T @ gap, rest])


class _Outcome(NamedTuple):
    """How a projection went."""

    converged: bool | None = None
    iterations: int | None = None
    tolerance: float | None = None
    rank: int | None = None


def _outcome(closure: LoopClosure) -> _Outcome:
    """How the last projection of a closure went."""
    report = closure._world._projection_report
    if closure._is_projected:
        if report is None:
            return _Outcome()
        return _Outcome(report.converged, report.iterations, report.tolerance, report.rank)
    runtime = closure._world._live()
    table, constraints = runtime.model.closures, runtime.constraints
    if not closure._is_solved or constraints is None or table is None or not runtime.sim.stepped:
        return _Outcome()
    row = constraints.row_of(Owner.CLOSURE, table.label.index(closure.name))
    found = None if row is None else loop_outcome(constraints.column, row)
    return _Outcome() if found is None else _Outcome(*found)


def measured(closure: LoopClosure, coordinates: LoopClosureResidualCoordinates) -> LoopClosureResidual:
    """The residual of a closure now, with what the last step or projection left."""
    spec = closure._spec
    A = compose(spec.frame_a._pose().copy(), values.pose_of(spec.offset_a, "offset_a"))
    B = compose(spec.frame_b._pose().copy(), values.pose_of(spec.offset_b, "offset_b"))
    axes = np.eye(3)
    if coordinates is not LoopClosureResidualCoordinates.WORLD:
        end = A if coordinates is LoopClosureResidualCoordinates.ENDPOINT_A else B
        axes = values.matrix_of(end)[:3, :3]
    value = _value(spec.family, A, B, spec.distance, axes)
    wrench = closure._wrench()
    return LoopClosureResidual(
        value=values.read_only(value),
        norm=float(np.linalg.norm(value)),
        translation=values.read_only(axes.T @ (A[:3] - B[:3])),
        rotation=values.read_only(axes.T @ values.rotation_vector(compose(A, inverse(B))[3:])),
        coordinates=coordinates,
        enabled=closure._closure.enabled,
        active=closure._is_solved or closure._is_projected,
        force=None if wrench is None else values.read_only(axes.T @ wrench[:3]),
        torque=None if wrench is None else values.read_only(axes.T @ wrench[3:]),
        **_outcome(closure)._asdict(),
    )
