# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Members of World for derivatives of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldline._src.facade import values
from worldline._src.facade.kinds import PhysicalParameter, member
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.values import VectorLike
from worldline._src.later import DeferredModule
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade import derivatives, physical_parameters
    from worldline._src.facade.derivatives import DerivativeCheck, StepDerivatives, StepGradient
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.link import Link
    from worldline._src.facade.rigid_body import RigidBody
    from worldline._src.facade.world import World
else:
    derivatives = DeferredModule("facade.derivatives")
    physical_parameters = DeferredModule("facade.physical_parameters")


class WorldDerivatives(KnownNames):
    """Derivatives of the last step."""

    if TYPE_CHECKING:

        def _self(self) -> World: ...
        def _require_idle(self) -> None: ...

    def _start_derivatives(self) -> None:
        self._parameters: list[physical_parameters.Parameter] = []

    def get_step_derivatives(self) -> StepDerivatives:
        """Derivatives of the state after the last step by the state before it, controls and parameters.

        The World must be made with `differentiable=True`, and nothing but state and commands may have
        changed since the step. Rows and columns of state are tangents, as `state.difference` has them: a
        displacement for every degree of freedom, rotations in body axes, then velocities, then activations
        of actuators. Derivatives are exact for the contacts and rows that the step had, with their sides;
        `check_derivatives` tells where a small change leads to others. The other modes of
        `contact_gradient_mode` change derivatives of contacts for optimisers.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(time_step=0.01, differentiable=True)
            >>> box = world.add_rigid_body("box", mass=2.0)
            >>> world.step()
            >>> made = world.get_step_derivatives()
            >>> made.state_names[2], made.state_names[8], made.control_names[5]
            ('box.pose[2]', 'box.velocity[2]', 'box.wrench[5]')
            >>> made.state_jacobian[2, 8].round(9).item(), made.control_jacobian[8, 5].round(9).item()
            (0.01, 0.005)
        """
        return derivatives.get_step_derivatives(self._self())

    def apply_step_vjp(self, d_loss_d_next_state: VectorLike) -> StepGradient:
        """The gradient of a loss by state and controls before the last step, from that by the state after it.

        Args:
            d_loss_d_next_state: on the tangent of the state, (dimension of the tangent,).

        Derivatives are carried forward, so it costs as much as `get_step_derivatives` without parameters.

        Example:
            >>> import numpy as np
            >>> from worldline import simulation as sx
            >>> world = sx.World(time_step=0.01, differentiable=True)
            >>> box = world.add_rigid_body("box")
            >>> world.step()
            >>> made = world.apply_step_vjp(np.eye(12)[2])  # the height after the step
            >>> made.state[[2, 8]].round(9).tolist()
            [1.0, 0.01]
        """
        given = values.array(d_loss_d_next_state, "d_loss_d_next_state")
        return derivatives.apply_step_vjp(self._self(), given)

    def apply_step_jvp(self, state: VectorLike, control: VectorLike | None = None) -> Array:
        """The change of the state after the last step along a change of what it began with.

        Args:
            state: on the tangent of the state, (dimension of the tangent,).
            control: (dimension of the control space,); zero when None.

        Example:
            >>> import numpy as np
            >>> from worldline import simulation as sx
            >>> world = sx.World(time_step=0.01, differentiable=True)
            >>> box = world.add_rigid_body("box")
            >>> world.step()
            >>> world.apply_step_jvp(np.eye(12)[8])[[2, 8]].round(9).tolist()
            [0.01, 1.0]
        """
        given = None if control is None else values.array(control, "control tangent")
        return derivatives.apply_step_jvp(self._self(), values.array(state, "state tangent"), given)

    def add_differentiable_parameter(
        self,
        body: RigidBody | Link | Joint | World,
        parameter: PhysicalParameter,
        *,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
    ) -> None:
        """Add a parameter to the columns of `StepDerivatives.parameter_jacobian`.

        Args:
            body: a rigid body or link, a joint, or the World, whichever has the parameter.
            parameter: which one.
            lower_bound, upper_bound: kept for optimisers; steps do not look at them.

        These columns are differences of fourth order of the last step on a copy of the World. Clones have
        the same parameters; files do not keep them.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(time_step=0.01, gravity=(0, 0, 0), differentiable=True)
            >>> box = world.add_rigid_body("box", mass=2.0)
            >>> world.add_differentiable_parameter(box, sx.PhysicalParameter.MASS)
            >>> box.apply_force((0, 0, 4))
            >>> world.step()
            >>> made = world.get_step_derivatives()  # v = h f / m
            >>> made.parameter_names, made.parameter_jacobian[8, 0].round(6).item()
            (('box.mass',), -0.01)
        """
        self._require_idle()
        world = self._self()
        kind = member(PhysicalParameter, parameter, "parameter")
        bounds = [
            None if x is None else values.real(x, name)
            for x, name in ((lower_bound, "lower_bound"), (upper_bound, "upper_bound"))
        ]
        self._parameters.append(physical_parameters.parameter_of(world, body, kind, *bounds))

    @property
    def num_differentiable_parameters(self) -> int:
        """Numbers of all parameters that were added: columns of `parameter_jacobian`."""
        return sum(len(physical_parameters.numbers_of(self._self(), one).rows) for one in self._parameters)

    def check_derivatives(self, *, step: float = 1e-6) -> DerivativeCheck:
        """Compare derivatives of the last step by state and controls with central differences.

        Args:
            step: of the differences, which are of fourth order, in the unit of every number.

        Columns whose differences lead to another active set (contacts, rows that push, stick or slide) are
        named in `changed` and are not compared: there the step has a kink and differences mean nothing. So
        are columns whose one-sided differences disagree with the central ones by more than 5e-7.
        Derivatives of `ContactGradientMode.ANALYTIC` are compared, whatever mode the World has.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(differentiable=True)
            >>> box = world.add_rigid_body("box")
            >>> box.angular_velocity = (1, 2, 3)
            >>> world.step()
            >>> check = world.check_derivatives()
            >>> check.largest_error < 1e-7, check.changed
            (True, ())
        """
        return derivatives.check_derivatives(self._self(), step)
