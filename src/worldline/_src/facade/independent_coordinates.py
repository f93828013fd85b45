# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Independent coordinates: a closed mechanism as a system of as many coordinates as it has freedoms.

The trees and their closures stay what they are. This is a view of the present state: velocities z of chosen
degrees of freedom give all others by v = T z, because closures keep J v = 0, and the dynamics follow with the
mass matrix T^T M T [Wittenburg 2008].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, OperationError
from worldline._src.facade import values
from worldline._src.facade.closure_projection import closure_row
from worldline._src.facade.degree_of_freedom import DegreeOfFreedom
from worldline._src.facade.joint import Joint
from worldline._src.facade.quantities import Reading, length
from worldline._src.spatial.poses import Array, float_array, numbers, read_only
from worldline._src.step.dynamics import integrate, inverse_dynamics, mass_matrix
from worldline._src.step.ik_problem import IkProblem

if TYPE_CHECKING:
    from worldline._src.facade.loop_closure import LoopClosure
    from worldline._src.facade.world_runtime import WorldRuntime

_RANK = 1e-9
"""Singular values below this share of the largest do not count."""
_STRIDE = 1e-5
"""Stride of the central difference along the motion, over the largest velocity [rad or m]."""
_OPEN = 1e-6
"""Residual of a closure from which on it is not closed [m or rad]."""


class IndependentCoordinates(FixedAttributes):
    """A minimal view of the closed mechanism that a World is at its present coordinates.

    Attributes:
        dofs: indices, in the model, of the degrees of freedom that are independent, (freedoms,).
        names: labels of their joints, with an index where a joint has several.
        closures: names of the closures that count.
        rank: number of independent equations of the closures.
    """

    def __init__(self, world: WorldRuntime, closures: Sequence[LoopClosure], chosen: Any) -> None:
        runtime = world._live()
        self._world, self._runtime, self._model = world, runtime, runtime.model
        model = self._model
        self.closures = tuple(closure.name for closure in closures)
        rows = [closure_row(world, runtime, closure) for closure in closures]
        every = list(range(model.joint_dof_count))
        none = np.full(model.joint_dof_count, np.inf)
        self._problem = IkProblem(model, every, rows, -none, none) if rows else None
        q, J = self._q, self._jacobian(self._q)
        residual = self._residual(q)
        if residual > _OPEN:
            raise OperationError(
                f"closures {', '.join(map(repr, self.closures))} are open by {residual:.3g}: close them "
                "first, by the policy PROJECT or by inverse kinematics"
            )
        moved = ~np.repeat(model.body_kinematic[model.joint_child], np.diff(model.joint_qd_start))
        free = np.flatnonzero(moved)
        self.rank = _rank(J[:, free])
        count = len(free) - self.rank
        if chosen is None:
            self.dofs = _chosen(J, free, count)
        else:
            self.dofs = self._given(chosen, free, count)
        self._free = free
        self._dependent = np.setdiff1d(free, self.dofs)
        if _rank(J[:, self._dependent]) < self.rank:
            raise ArgumentError(
                f"the chosen degrees of freedom do not determine the others here: {', '.join(self.names)}"
            )

    def _given(self, chosen: Any, free: np.ndarray, count: int) -> np.ndarray:
        if isinstance(chosen, (Joint, DegreeOfFreedom)) or not values.is_iterable(chosen):
            chosen = [chosen]
        found: list[int] = []
        for each in values.several(chosen, "independent coordinates"):
            joint = each._joint if isinstance(each, DegreeOfFreedom) else each
            if not isinstance(joint, Joint):
                raise ArgumentError(f"independent coordinates are joints or degrees of freedom, got {each!r}")
            if joint._world is not self._world:
                raise ArgumentError(f"independent coordinates of another World: {each!r}")
            part = self._runtime.v_slice(joint._joint)
            if isinstance(each, DegreeOfFreedom):
                found.append(part.start + each._index)
            else:
                found += range(part.start, part.stop)
        if len(set(found)) != count or not set(found) <= set(free.tolist()):
            raise ArgumentError(
                f"the mechanism has {count} freedoms that move here; {len(set(found))} were chosen"
            )
        return np.array(sorted(set(found)), np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """Joints of the independent degrees of freedom, with an index where a joint has several."""
        model = self._model
        made: list[str] = []
        dofs: list[int] = self.dofs.tolist()
        for d in dofs:
            j = int(np.searchsorted(model.joint_qd_start, d, side="right")) - 1
            start, end = int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1])
            label = str(model.joint_label[j])
            made.append(label if end - start == 1 else f"{label}[{d - start}]")
        return tuple(made)

    num_freedoms: Reading[int] = length("dofs", "Number of independent coordinates.")

    @property
    def _q(self) -> Array:
        if self._world._live() is not self._runtime:
            raise OperationError("the World was compiled anew since these coordinates were requested")
        return self._runtime.sim.q.copy()

    @property
    def velocity(self) -> Array:
        """Velocities z of the independent degrees of freedom now [m/s or rad/s], (freedoms,)."""
        return read_only(self._runtime.sim.v[self.dofs].copy())

    def _jacobian(self, q: Array) -> Array:
        if self._problem is None:
            return np.zeros((0, self._model.joint_dof_count))
        return self._problem.evaluate(q[None])[1][0]

    def _residual(self, q: Array) -> float:
        if self._problem is None:
            return 0.0
        return float(np.abs(self._problem.evaluate(q[None])[0][0]).max())

    @property
    def velocity_map(self) -> Array:
        """T of v = T z: velocities of the whole model by independent ones, (joint_dof_count, freedoms)."""
        return read_only(self._map(self._jacobian(self._q)))

    def _map(self, J: Array) -> Array:
        T = np.zeros((self._model.joint_dof_count, len(self.dofs)))
        T[self.dofs, np.arange(len(self.dofs))] = 1.0
        if len(self._dependent):
            # J_dependent v_dependent = -J_independent z
            T[self._dependent] = -np.linalg.pinv(J[:, self._dependent], rcond=_RANK) @ J[:, self.dofs]
        return T

    @property
    def mass_matrix(self) -> Array:
        """T^T M T, (freedoms, freedoms)."""
        q = self._q
        T = self._map(self._jacobian(q))
        return read_only(T.T @ mass_matrix(self._model, q) @ T)

    def _drift(self, q: Array, v: Array) -> Array:
        """Accelerations of the whole model without independent ones: J a = -J' v."""
        made = np.zeros(self._model.joint_dof_count)
        if self._problem is None or not len(self._dependent):
            return made
        h = _STRIDE / max(1.0, float(np.abs(v).max(initial=0.0)))
        around = np.stack([integrate(self._model, q, h * v), integrate(self._model, q, -h * v)])
        rates = self._problem.evaluate(around)[1] @ v
        J = self._problem.evaluate(q[None])[1][0]
        made[self._dependent] = -np.linalg.pinv(J[:, self._dependent], rcond=_RANK) @ (
            (rates[0] - rates[1]) / (2.0 * h)
        )
        return made

    def bias_forces(self, z: Any = None) -> Array:
        """Generalized forces without acceleration: T^T (M a_0 + bias), with gravity, springs and dampers,
        (freedoms,).

        Args:
            z: velocities of the independent degrees of freedom, (freedoms,); the present ones when None.
        """
        return self.inverse_dynamics(np.zeros(len(self.dofs)), z)

    def inverse_dynamics(self, acceleration: Any, z: Any = None) -> Array:
        """Generalized forces on the independent degrees of freedom for their accelerations, (freedoms,).

        Args:
            acceleration: of the independent degrees of freedom, (freedoms,).
            z: their velocities; the present ones when None.
        """
        q = self._q
        T = self._map(self._jacobian(q))
        v = T @ self._rates(z)
        a = T @ self._vector(acceleration, "acceleration") + self._drift(q, v)
        return T.T @ inverse_dynamics(self._model, q, v, a)

    def forward_dynamics(self, force: Any = None, z: Any = None) -> Array:
        """Accelerations of the independent degrees of freedom, (freedoms,): those of the closed mechanism.

        Args:
            force: generalized forces of the whole model, (joint_dof_count,), or of the independent degrees of
                freedom, (freedoms,); none when None. Actuators, contacts and limits of the World do not act.
            z: velocities of the independent degrees of freedom; the present ones when None.
        """
        q = self._q
        T = self._map(self._jacobian(q))
        own = np.zeros(len(self.dofs))
        if force is not None:
            given = float_array(force, "force of independent coordinates")
            whole = given.shape == (self._model.joint_dof_count,)
            own = T.T @ numbers(given, given.shape, "force") if whole else self._vector(given, "force")
        rest = self.bias_forces(z)
        made = np.linalg.solve(T.T @ mass_matrix(self._model, q) @ T, own - rest)
        return np.asarray(made, np.float64)

    def full_acceleration(self, acceleration: Any, z: Any = None) -> Array:
        """Accelerations of the whole model by those of the independent degrees of freedom,
        (joint_dof_count,)."""
        q = self._q
        T = self._map(self._jacobian(q))
        return T @ self._vector(acceleration, "acceleration") + self._drift(q, T @ self._rates(z))

    def _rates(self, z: Any) -> Array:
        return self.velocity if z is None else self._vector(z, "z")

    def _vector(self, value: Any, what: str) -> Array:
        return numbers(value, (len(self.dofs),), f"{what} of independent coordinates")

    def __repr__(self) -> str:
        return f"IndependentCoordinates({', '.join(self.names)})"


def _rank(J: Array) -> int:
    if not J.size:
        return 0
    found = np.linalg.svd(J, compute_uv=False)
    return int(np.sum(found > _RANK * max(float(found.max(initial=0.0)), 1e-300)))


def _chosen(J: Array, free: np.ndarray, count: int) -> np.ndarray:
    """Degrees of freedom whose velocities determine all others best: dependent ones are the pivots of a
    factorization of J with column pivoting; among equals later joints depend on earlier ones."""
    from scipy import linalg

    if not J.size:
        return free.copy()
    # a slight preference for columns at the end
    scale = 1.0 + 1e-6 * np.arange(len(free))
    _, pivots = linalg.qr(J[:, free] * scale, mode="r", pivoting=True)  # pyright: ignore # SciPy has no types
    return np.sort(free[pivots[len(free) - count :]])


def independent_coordinates(world: WorldRuntime, closures: Any, independent: Any) -> IndependentCoordinates:
    """See `World.independent_coordinates`."""
    from worldline._src.facade.loop_closure import LoopClosure

    if closures is None:
        chosen = [each for each in world._loop_closures.values() if each.enabled]
    else:
        given = [closures] if isinstance(closures, LoopClosure) else values.several(closures, "closures")
        for each in given:
            if not isinstance(each, LoopClosure) or each._world is not world:
                raise ArgumentError(f"closures must be loop closures of the World, got {each!r}")
            each._require_alive()
        chosen = given
    return IndependentCoordinates(world, chosen, independent)
