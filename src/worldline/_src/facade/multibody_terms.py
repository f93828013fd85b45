# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Members of Multibody for identification, derivatives and balance, all in its present state."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.handle import Handle
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.later import deferred_modules
from worldline._src.scene.validate import movable_links
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.multibody import Multibody
    from worldline._src.step import balance, constrained, derivatives, regressors, second_derivatives
    from worldline._src.step.balance import PointsLike
    from worldline._src.step.constrained import ConstrainedDynamics
    from worldline._src.step.derivatives import (
        CentroidalDerivatives,
        ForwardDynamicsDerivatives,
        InverseDynamicsDerivatives,
    )
    from worldline._src.step.second_derivatives import InverseDynamicsSecondDerivatives
else:
    balance, constrained, derivatives, regressors, second_derivatives = deferred_modules(
        "step", "balance constrained derivatives regressors second_derivatives"
    )


class MultibodyTerms(Handle):
    """What is built on the equations of motion."""

    def _multi(self) -> Multibody:
        return cast("Multibody", self)

    # ---- sleep

    @property
    def is_sleeping(self) -> bool:
        """Whether all moving trees of the multibody have fallen asleep; see `DeactivationOptions`."""
        return self.deactivation_group_index >= 0

    @property
    def deactivation_group_index(self) -> int:
        """The island the multibody sleeps in, that of its first moving tree; -1 while any of it is awake."""
        owner = self._multi()
        runtime = owner._live()
        moving = {id(link) for link, can_move, _ in movable_links(owner._world._scene) if can_move}
        groups = [
            runtime.sleep_group(link._link) for link in owner._links.values() if id(link._link) in moving
        ]
        return -1 if not groups or min(groups) < 0 else groups[0]

    # ---- identification

    @property
    def inertial_parameters(self) -> Array:
        """Ten a link in the order of `links`, (10 num_links,); see `worldline.model.inertial_parameters`."""
        owner = self._multi()
        model = owner._terms()[0]
        return regressors.inertial_parameters(model)[self._parameter_columns()]

    def compute_joint_torque_regressor(self, acceleration: VectorLike) -> Array:
        """Efforts for accelerations, per unit of `inertial_parameters`, (num_dofs, 10 num_links).

        Times the parameters it is `compute_inverse_dynamics` without armature, springs and dampers.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> arm = world.add_multibody("arm")
            >>> base = arm.add_link("base")
            >>> tip = arm.add_link("tip", base, sx.JointSpec(axis=(0, 1, 0)), center_of_mass=(0.5, 0, 0))
            >>> Y = arm.compute_joint_torque_regressor([0.0])
            >>> Y.shape, (Y @ arm.inertial_parameters).round(6).tolist()
            ((1, 20), [-4.905])
        """
        owner = self._multi()
        model, q, v, order = owner._terms()
        a = scattered(owner._given(acceleration, "acceleration"), order)
        Y = regressors.joint_torque_regressor(model, q, v, a)
        return Y[np.ix_(order, self._parameter_columns())]

    @property
    def kinetic_energy_regressor(self) -> Array:
        """Kinetic energy per unit of `inertial_parameters`, without armature, (10 num_links,)."""
        model, q, v, _ = self._multi()._terms()
        return regressors.kinetic_energy_regressor(model, q, v)[self._parameter_columns()]

    @property
    def potential_energy_regressor(self) -> Array:
        """Energy in the gravity field per unit of `inertial_parameters`, (10 num_links,)."""
        model, q, _, _ = self._multi()._terms()
        return regressors.potential_energy_regressor(model, q)[self._parameter_columns()]

    def _parameter_columns(self) -> np.ndarray:
        """Where the parameters of the links are among those of the model of `_terms`."""
        owner = self._multi()
        bodies = np.array([owner._body_in_terms(link) for link in owner._links.values()], np.int64)
        return (regressors.PARAMETERS * bodies[:, None] + np.arange(regressors.PARAMETERS)).reshape(-1)

    # ---- derivatives

    def compute_inverse_dynamics_derivatives(self, acceleration: VectorLike) -> InverseDynamicsDerivatives:
        """Of `compute_inverse_dynamics` by displacements, velocities and accelerations.

        Each (num_dofs, num_dofs). A displacement of a rotation is a small turn, as velocities are.
        """
        owner = self._multi()
        model, q, v, order = owner._terms()
        a = scattered(owner._given(acceleration, "acceleration"), order)
        made = derivatives.inverse_dynamics_derivatives(model, q, v, a)
        return derivatives.InverseDynamicsDerivatives(*(part[np.ix_(order, order)] for part in made))

    def compute_inverse_dynamics_second_derivatives(
        self, acceleration: VectorLike
    ) -> InverseDynamicsSecondDerivatives:
        """Second derivatives of `compute_inverse_dynamics`, (num_dofs, num_dofs, num_dofs) each.

        The first index is the effort; see `worldline.model.inverse_dynamics_second_derivatives`.
        """
        owner = self._multi()
        model, q, v, order = owner._terms()
        a = scattered(owner._given(acceleration, "acceleration"), order)
        made = second_derivatives.inverse_dynamics_second_derivatives(model, q, v, a)
        rows = np.ix_(order, order, order)
        return second_derivatives.InverseDynamicsSecondDerivatives(*(part[rows] for part in made))

    def compute_forward_dynamics_derivatives(self, force: VectorLike) -> ForwardDynamicsDerivatives:
        """Of `compute_forward_dynamics` by displacements, velocities and efforts, (num_dofs, num_dofs) each.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> cart = world.add_multibody("cart")
            >>> slide = sx.JointSpec(type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
            >>> body = cart.add_link("body", joint=slide, mass=4.0)
            >>> cart.compute_forward_dynamics_derivatives([0.0]).dqdd_dtau.tolist()
            [[0.25]]
        """
        owner = self._multi()
        model, q, v, order = owner._terms()
        tau = scattered(owner._given(force, "force"), order)
        made = derivatives.forward_dynamics_derivatives(model, q, v, tau)
        return derivatives.ForwardDynamicsDerivatives(*(part[np.ix_(order, order)] for part in made))

    def compute_centroidal_derivatives(self) -> CentroidalDerivatives:
        """Of angular, then linear momentum by displacements and velocities, (6, num_dofs) each."""
        model, q, v, order = self._multi()._terms()
        made = derivatives.centroidal_derivatives(model, q, v)
        return derivatives.CentroidalDerivatives(*(part[:, order] for part in made))

    # ---- constraints of accelerations

    def compute_delassus_matrix(self, jacobian: TransformLike) -> Array:
        """How rows of velocities answer to forces along them: J M^-1 J^T, (rows, rows).

        Args:
            jacobian: per unit velocity of the joints, (rows, num_dofs), such as `get_world_jacobian`.
        """
        owner = self._multi()
        model, q, _, order = owner._terms()
        return constrained.delassus_matrix(model, q, self._jacobian_rows(jacobian, order))

    def compute_constrained_dynamics(
        self, force: VectorLike, jacobian: TransformLike, row_acceleration: VectorLike | None = None
    ) -> ConstrainedDynamics:
        """Accelerations for efforts while rows of velocities are held, and the forces that hold them.

        Springs, dampers and gravity act; rows may be redundant. A foot that does not slip requires this.

        Args:
            force: efforts, (num_dofs,).
            jacobian: rows of velocities, (rows, num_dofs).
            row_acceleration: wanted J a, (rows,), minus `get_jacobian_derivative_times_velocity` for a point
                that stays; zeros when None.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> cart = world.add_multibody("cart")
            >>> body = cart.add_link("body", joint=sx.JointSpec(type=sx.JointType.TRANSLATIONAL), mass=2.0)
            >>> made = cart.compute_constrained_dynamics([4.0, 0, 0], cart.get_linear_jacobian(body)[2:])
            >>> made.acceleration.round(9).tolist(), made.force.round(6).tolist()
            ([2.0, 0.0, 0.0], [19.62])
        """
        owner = self._multi()
        model, q, v, order = owner._terms()
        tau = scattered(owner._given(force, "force"), order)
        J = self._jacobian_rows(jacobian, order)
        made = constrained.constrained_dynamics(model, q, v, tau, J, row_acceleration)
        return made._replace(acceleration=made.acceleration[order])

    def _jacobian_rows(self, jacobian: TransformLike, order: np.ndarray) -> Array:
        """Rows in the order of the model of `_terms`."""
        owner = self._multi()
        J = values.array(jacobian, "jacobian")
        if J.ndim != 2 or J.shape[1] != owner.num_dofs:
            raise ArgumentError(
                f"the columns of the jacobian must match the {owner.num_dofs} degrees of freedom of "
                f"'{owner.name}', got shape {J.shape}"
            )
        made = np.empty_like(J)
        made[:, order] = J
        return made

    # ---- balance

    def get_support_polygon(self, points: PointsLike | None = None) -> Array:
        """Hull of what it stands on, seen along gravity, counterclockwise from above, (vertices, 3) [m].

        Args:
            points: world frame [m], (n, 3). When None, the contacts of the last step that push between a
                link of this multibody and anything else.
        """
        self._require_alive()
        places = self._contact_points() if points is None else values.array(points, "points")
        return balance.support_polygon(places, up=self._up())

    def get_zero_moment_point(self, acceleration: VectorLike | None = None, *, height: float = 0.0) -> Array:
        """Where on a level plane the ground would have to push, world frame [m], (3,).

        Args:
            acceleration: of the joints, (num_dofs,); those of the last step when None.
            height: of the plane along the vertical through the world's origin [m].
        """
        owner = self._multi()
        model, q, v, order = owner._terms()
        given = owner._dof_vector("a") if acceleration is None else owner._given(acceleration, "acceleration")
        level = values.real(height, "height")
        a = scattered(given, order)
        return balance.zero_moment_point(model, q, v, a, height=level, up=self._up())

    def get_balance_margin(
        self, point: VectorLike | None = None, *, points: PointsLike | None = None
    ) -> float:
        """How far a point is inside the support polygon, seen along gravity [m]; negative outside.

        Args:
            point: world frame [m], (3,); the centre of mass when None.
            points: what it stands on, as in `get_support_polygon`.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> robot = world.add_multibody("robot")
            >>> trunk = robot.add_link("trunk", center_of_mass=(0.1, 0, 0.8))
            >>> feet = [(-0.2, -0.1, 0), (0.2, -0.1, 0), (0.2, 0.1, 0), (-0.2, 0.1, 0)]
            >>> round(robot.get_balance_margin(points=feet), 6)
            0.1
        """
        place = self._multi().center_of_mass if point is None else values.vector3(point, "point")
        return balance.balance_margin(place, self.get_support_polygon(points), up=self._up())

    def _up(self) -> Array:
        gravity = np.asarray(self._multi()._world.gravity, np.float64)
        if not gravity.any():
            raise ArgumentError("without gravity nothing is up, and there is no balance")
        return -gravity

    def _contact_points(self) -> Array:
        mine = set(map(id, self._multi()._links.values()))
        places = [
            contact.point
            for contact in self._world.contacts
            if (id(contact.body_a) in mine) != (id(contact.body_b) in mine) and contact.force.any()
        ]
        return np.array(places).reshape(-1, 3)


def scattered(numbers: Array, order: np.ndarray) -> Array:
    """From the order of the multibody to that of its model."""
    made = np.empty(len(numbers))
    made[order] = numbers
    return made
