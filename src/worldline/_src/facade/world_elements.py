# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Elements of the user within the steps of a World: controllers, force elements, stages, observers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from worldline._src.collision.detector import CollisionDetector
from worldline._src.errors import ArgumentError, nearest_name
from worldline._src.facade.step_functions import (
    CONTROLLER,
    FORCE_ELEMENT,
    NATIVE,
    OBSERVER,
    PLACES,
    StepFunction,
    StepFunctions,
    WorksOn,
    WorldStepContext,
    works_on_keywords,
)
from worldline._src.step.user_kernels import Kernel


class WorldElements:
    """What a World runs within its steps beside its own stages."""

    _functions: StepFunctions

    @works_on_keywords
    def add_controller(
        self,
        name: str,
        function: Callable[[WorldStepContext], object] | Kernel,
        *,
        period: float | None = None,
        **works_on: Unpack[WorksOn],
    ) -> None:
        """Call a function at the start of every step, or of one step each `period`, to write commands.

        It gets a `WorldStepContext` and writes `control`, `force`, `q_target` or `v_target`, which stay until
        they are written again. When it raises, the World is as it was before that step and the error reaches
        the caller of `step`. It runs in the thread that steps; calls on the World are refused inside of it.
        Clones have the same functions; files hold none, so that a World with any is not saved or pickled.

        A kernel (`worldline.kernel`) does the same with a `KernelStep`, within compiled code, also in
        batches. Kernels run before functions of Python of the same kind.

        Args:
            name: unique among the functions of the World.
            function: called with the context; what it returns is dropped. Or a kernel.
            period: time from one call to the next [s], a whole number of time steps; None for every step.
            bodies: bodies that a kernel finds in `KernelStep.bodies`.
            joints: joints that it finds in `dofs` and `coordinates`.
            actuators: names of actuators that it finds in `actuators`.
            parameters: numbers that it finds in `parameters`; `step_functions` lets them be changed.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(time_step=0.001)
            >>> arm = world.add_multibody("arm")
            >>> base = arm.add_link("base")
            >>> bob = arm.add_link("bob", base, sx.JointSpec("hinge", axis=(0, 1, 0)), mass=1.0,
            ...     inertia=(0.1, 0.1, 0.1), center_of_mass=(0.2, 0, 0))
            >>> hinge = arm.joints["hinge"]
            >>> def hold(step):
            ...     q, v = step.q[step.coordinates(hinge)], step.v[step.dofs(hinge)]
            ...     step.force[step.dofs(hinge)] = 400.0 * (0.5 - q) - 20.0 * v
            >>> world.add_controller("pd", hold)
            >>> world.step(n=3000)
            >>> hinge.position.round(3).tolist()
            [0.504]
        """
        self._functions.add(name, CONTROLLER, function, period, **works_on)

    @works_on_keywords
    def add_force_element(
        self,
        name: str,
        function: Callable[[WorldStepContext], object] | Kernel,
        **works_on: Unpack[WorksOn],
    ) -> None:
        """Call a function in every evaluation of the dynamics, to add forces; see `add_controller`.

        Runge-Kutta steps evaluate four times, at the times in `time`. Bodies are where the evaluation has
        them (`body_q`, `body_qd`), and what is added to `body_f` and `force` holds for it alone. The
        variational family refuses force elements.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(time_step=0.001)
            >>> ball = world.add_rigid_body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1))
            >>> world.add_force_element("lift", lambda step: step.add_force(ball, (0.0, 0.0, 2.0 * 9.81)))
            >>> world.step(n=100)
            >>> ball.linear_velocity.round(9).tolist()
            [0.0, 0.0, 0.0]
        """
        self._functions.add(name, FORCE_ELEMENT, function, **works_on)

    @works_on_keywords
    def add_stage(
        self,
        name: str,
        function: Callable[[WorldStepContext], object] | Kernel,
        place: str,
        **works_on: Unpack[WorksOn],
    ) -> None:
        """Add a stage to the pipeline of a step: a function or kernel that changes what the step computes.

        Args:
            name: unique among the functions of the World.
            function: called with the context; what it returns is dropped. Or a kernel.
            place: "accelerations": behind the dynamics and before constraints are solved, in every
                evaluation; writes `a`. "end": after integration, once a step; writes `q` and `v`.
            bodies, joints, actuators, parameters: what a kernel works on; see `add_controller`.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(time_step=0.01, gravity=(0, 0, 0))
            >>> ball = world.add_rigid_body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1))
            >>> ball.linear_velocity = (3.0, 0.0, 0.0)
            >>> def slow(step):
            ...     step.v[:] *= 0.5
            >>> world.add_stage("slow", slow, "end")
            >>> world.step(n=2)
            >>> ball.linear_velocity.tolist()
            [0.75, 0.0, 0.0]
        """
        if place not in PLACES:
            hint = nearest_name(str(place), list(PLACES))
            raise ArgumentError(
                f"place of stage '{name}' must be one of {', '.join(PLACES)}, got {place!r}{hint}"
            )
        self._functions.add(name, PLACES[place], function, **works_on)

    def add_observer(self, name: str, function: Callable[[WorldStepContext], object]) -> None:
        """Call a function at the end of every step, with its result in `q` and `v`; see `add_controller`."""
        self._functions.add(name, OBSERVER, function)

    def remove_step_function(self, name: str) -> None:
        """Run a controller, force element, stage or observer no more; a KeyError when none has that name."""
        self._functions.remove(name)

    @property
    def collision_detector(self) -> str:
        """Name of the detector that finds the contacts of steps: "native" unless another one is assigned.

        Assign the name of a registered detector (`worldline.collision.CollisionDetector`), or one itself. A
        step then returns to Python once in every evaluation, and islands, laws and solvers work on what the
        detector found. Its contacts are as good as it is: Coal gives one point for a pair of shapes, so a box
        that stands on one of them tips over. Clones have it too; batches step on threads, and files and
        derivatives refuse it. Queries such as `contacts` of a World still tell the contacts of the step;
        those about distances, rays and overlaps are native.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> world.collision_detector
            'native'
        """
        detector = self._functions.detector
        return NATIVE if detector is None else detector.name

    @collision_detector.setter
    def collision_detector(self, value: str | CollisionDetector) -> None:
        self._functions.set_detector(value)

    @property
    def step_functions(self) -> tuple[StepFunction, ...]:
        """Controllers, force elements, stages and observers, in the order in which they were added."""
        return self._functions.all
