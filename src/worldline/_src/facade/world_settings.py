# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Members of World for time, gravity and the choice of methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from weakref import WeakMethod

import numpy as np

from worldline._src.facade import requirements, values
from worldline._src.facade.kinds import (
    ComputeAcceleratorPolicy,
    ContactGradientMode,
    ContactSolverMethod,
    RigidBodySolver,
)
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.options import (
    DeactivationOptions,
    MultibodyOptions,
    WorldOptions,
    variational_options,
)
from worldline._src.facade.quantities import Quantity, quantity
from worldline._src.facade.values import VectorLike
from worldline._src.spatial.poses import Array
from worldline._src.step.divergence import DivergencePolicy

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.snapshots import Snapshot
    from worldline._src.facade.world import World


def _option(name: str, changed: str, doc: str) -> Any:
    """An option of the World; the method `changed` makes the next step follow a new value."""

    def write(world: WorldSettings, value: Any) -> None:
        world._require_idle()
        setattr(world._options, name, value)
        getattr(world, changed)()

    return quantity(lambda world: getattr(world._options, name), write, doc)


class WorldSettings(KnownNames):
    """Time, gravity and the choice of methods."""

    if TYPE_CHECKING:
        _options: WorldOptions
        _runtime: Runtime | None
        _carried: Snapshot | None
        _simulating: bool
        _time_start: float
        _initial: Snapshot | None
        _initial_time: float

        def _require_idle(self) -> None: ...
        def _live(self) -> Runtime: ...
        def _configuration_changed(self) -> None: ...
        def _set_time(self, time: float, /) -> None: ...
        def _clock(self) -> Array: ...

    @property
    def time_step(self) -> float:
        """[s]"""
        return self._options.time_step

    @time_step.setter
    def time_step(self, value: float) -> None:
        self._require_idle()
        time = self.time
        self._options.time_step = value
        if self._runtime is not None:
            self._runtime.sim.time_step = self._options.time_step
        self._set_time(time)

    @property
    def time(self) -> float:
        """Simulated time [s]: what was last set, and the time step for every step since."""
        return self._time_start + float(self._clock()[1]) * self._options.time_step

    @time.setter
    def time(self, value: float) -> None:
        self._require_idle()
        self._set_time(values.non_negative(value, "World time"))

    @property
    def frame(self) -> int:
        """Number of steps made."""
        return int(self._clock()[0])

    @property
    def gravity(self) -> Array:
        """[m/s^2], (3,)."""
        return self._options.gravity

    @gravity.setter
    def gravity(self, value: VectorLike) -> None:
        self._require_idle()
        self._options.gravity = value  # type: ignore[assignment] # checked
        if self._runtime is not None:
            self._runtime.update(gravity=self._options.gravity)

    @property
    def actuator_names(self) -> list[str]:
        """Names of the actuators of the scene, in the order of `actuator_controls`.

        Actuators that the scene disables, all of them or a group, are in it too: they keep their entry and
        exert no force.
        """
        table = self._live().model.actuators
        return [] if table is None else list(table.label)

    @property
    def actuator_controls(self) -> Array:
        """Controls of the actuators of the scene, (len(actuator_names),); a copy, assign it to change it."""
        return self._live().control.copy()

    @actuator_controls.setter
    def actuator_controls(self, value: VectorLike) -> None:
        self._require_idle()
        runtime = self._live()
        runtime.control[:] = values.dof_vector(value, len(runtime.control), "actuator controls")
        runtime.controls_written()

    @property
    def actuator_activations(self) -> Array:
        """Activations of the actuators that have one, in the order of `actuator_names`; a copy, assign it.

        Integrators, filters and muscles have an activation. It is state: `state_space()` names every one as
        `<actuator>.activation`, with the bounds that the scene gives.

        Example:
            >>> from worldline import msd
            >>> from worldline import simulation as sx
            >>> scene = msd.from_str('''<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body>
            ...   </worldbody><actuator><motor name="plain" joint="j"/>
            ...   <general name="lazy" joint="j" dyntype="filter" dynprm="0.1"/></actuator></mujoco>''',
            ...   format="mjcf")
            >>> world = sx.World.from_scene(scene)
            >>> world.actuator_controls = [0.0, 1.0]
            >>> world.step(n=100)
            >>> world.actuator_activations.round(3).tolist()
            [0.867]
        """
        return self._live().activation.copy()

    @actuator_activations.setter
    def actuator_activations(self, value: VectorLike) -> None:
        self._require_idle()
        runtime = self._live()
        runtime.activation[:] = values.dof_vector(value, len(runtime.activation), "actuator activations")

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """The scalar of all arrays: double precision."""
        return self._options.dtype

    @property
    def is_simulation_mode(self) -> bool:
        """False while objects may be added and removed, True once time passes."""
        return self._simulating

    @property
    def is_differentiable(self) -> bool:
        """Whether steps can be derived."""
        return self._options.differentiable

    @property
    def options(self) -> WorldOptions:
        """All options as one value; a copy."""
        return self._options.copy()

    rigid_body_solver: Quantity[RigidBodySolver, RigidBodySolver] = _option(
        "rigid_body_solver", "_configuration_changed", "Method for free rigid bodies."
    )

    @property
    def multibody_options(self) -> MultibodyOptions:
        """How multibodies are integrated; a copy, assign it back to change it."""
        return self._options.multibody_options.copy()

    @multibody_options.setter
    def multibody_options(self, value: MultibodyOptions) -> None:
        self._require_idle()
        self._options.multibody_options = value
        if self._runtime is not None:
            self._runtime.sim.family = value.integration_family
            self._runtime.sim.variational = variational_options(value)
            self._runtime.sim.reconfigure()
        self._configuration_changed()

    contact_solver_method: Quantity[ContactSolverMethod, ContactSolverMethod] = _option(
        "contact_solver_method",
        "_choose_solver",
        "How constraints are solved; see `ContactSolverMethod`. `step_report().methods` counts what ran.",
    )
    contact_gradient_mode: Quantity[ContactGradientMode, ContactGradientMode] = _option(
        "contact_gradient_mode", "_configuration_changed", "Which derivative of contact is returned."
    )
    compute_accelerator_policy: Quantity[ComputeAcceleratorPolicy, ComputeAcceleratorPolicy] = _option(
        "compute_accelerator_policy", "_configuration_changed", "Where work may run."
    )

    @property
    def deactivation_options(self) -> DeactivationOptions:
        """When resting islands fall asleep; a copy, assign it back to change it."""
        return self._options.deactivation_options.copy()

    @deactivation_options.setter
    def deactivation_options(self, value: DeactivationOptions) -> None:
        self._require_idle()
        self._options.deactivation_options = value
        if self._runtime is not None:
            self._runtime.set_sleep(self._options.deactivation_options)
        self._configuration_changed()

    @property
    def deactivation_enabled(self) -> bool:
        """Whether resting islands fall asleep."""
        return self._options.deactivation_options.enabled

    strict_solver_resolution: Quantity[bool, bool] = _option(
        "strict_solver_resolution",
        "_choose_solver",
        """Whether only the methods that were asked for may run.

        `contact_solver_method` then solves islands of any size, also those that another method would solve
        faster or in less memory, and no other method is tried where it does not converge. What has no such
        method (an accelerator) is refused before the first step.
        """,
    )

    contact_sweeps: Quantity[int, int] = _option(
        "contact_sweeps",
        "_choose_solver",
        """Sweeps of sequential impulses over an island in a step at most; 0 goes on until it is solved.

        Few sweeps are for large heaps that must be quick rather than exact. They begin with the forces of the
        last step, so a heap of 1,000 boxes stands with four of them, in a hundredth of the time that it takes
        to solve every step. Contacts then overlap by up to a millimetre and bodies at rest creep by about a
        centimetre a second; eight sweeps halve both. `StepReport.converged` says which steps were not solved.
        Newton's method and pivoting have no sweeps.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(
            ...     contact_solver_method=sx.ContactSolverMethod.SEQUENTIAL_IMPULSE, contact_sweeps=4
            ... )
            >>> _ = world.add_ground_plane()
            >>> box = world.add_rigid_body("box", mass=1.0, position=(0.0, 0.0, 0.1))
            >>> _ = box.add_collision_shape(sx.CollisionShape.box((0.1, 0.1, 0.1)))
            >>> world.step(n=100)
            >>> world.step_report().iterations <= 4, round(float(box.translation[2]), 3)
            (True, 0.1)
        """,
    )

    def _choose_solver(self) -> None:
        if self._runtime is not None:
            options = self._options
            self._runtime.choose_solver(
                options.contact_solver_method, options.strict_solver_resolution, options.contact_sweeps
            )
        self._configuration_changed()

    def _set_divergence(self, runtime: Runtime) -> None:
        """Tell a new runtime what happens when a step diverges."""
        options = self._options
        runtime.set_divergence(
            options.divergence_policy, options.divergence_limit, WeakMethod(self._reset_diverged)
        )

    def _reset_diverged(self, runtime: Runtime) -> None:
        """What `reset` does, for a runtime that a step runs on."""
        assert self._initial is not None
        runtime.reset(self._initial)
        self._time_start, runtime.sim.clock[1] = self._initial_time, 0.0

    @property
    def divergence_policy(self) -> DivergencePolicy:
        """What happens when a step diverges; also set from its text, such as "freeze"."""
        return self._options.divergence_policy

    @divergence_policy.setter
    def divergence_policy(self, value: DivergencePolicy | str) -> None:
        self._require_idle()
        self._options.divergence_policy = value
        if self._runtime is not None:
            self._runtime.sim.divergence_policy = self._options.divergence_policy

    @property
    def divergence_limit(self) -> float:
        """Largest coordinate, velocity, acceleration and activation that a step may end with, SI units."""
        return self._options.divergence_limit

    @divergence_limit.setter
    def divergence_limit(self, value: float) -> None:
        self._require_idle()
        self._options.divergence_limit = value
        if self._runtime is not None:
            self._runtime.sim.divergence_limit = self._options.divergence_limit

    @property
    def resolved_configuration(self) -> tuple[requirements.ResolvedOption, ...]:
        """What was asked for, what a step makes of it, and why."""
        return requirements.resolved_configuration(cast("World", self))
