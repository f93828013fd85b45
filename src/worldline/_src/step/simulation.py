# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One world that steps in place: a model, the arena that holds its state, the program of its step.

The arrays of a `Simulation` are views into the arena, so a step copies nothing and enters compiled code
once for any number of steps. Constants are a copy of the model's, because a step may treat degrees of
freedom as prescribed or damping as inertia where the model does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src import errors
from worldline._src.jit import Stage
from worldline._src.kernels import drives
from worldline._src.kernels.program import caller
from worldline._src.model.checks import positive_number
from worldline._src.model.compile import SPINS, constant_views
from worldline._src.model.fields import BY_NAME, extent
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step import divergence, evaluate, runner, simulation_copies, stepping
from worldline._src.step.array_views import ArrayView, numbers_of
from worldline._src.step.constraints import Constraints
from worldline._src.step.contact_log import ContactLog, is_short
from worldline._src.step.fixed_world import fixed_constraints, require_served
from worldline._src.step.loop_operands import loop_operands
from worldline._src.step.portions import portions
from worldline._src.step.pose_programs import POSES, TWISTS
from worldline._src.step.room import Room
from worldline._src.step.scene_semantics import constraints_of, drives_of, semantics_of
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import COLLISION, CONSTRAINT, LOG, MULTIBODY, USER, stages_of
from worldline._src.step.thread_guard import FREE, READ, ThreadGuard, between_steps, exclusive_step
from worldline._src.step.user_elements import StepContext, UserElements
from worldline._src.step.user_run import UserRun

if TYPE_CHECKING:
    from worldline._src.step.island_helpers import HelperMemory, IslandCrew
    from worldline._src.step.profiling import StepProfiler


_PLANNED = {
    *("joint_X_p", "joint_X_c", "joint_stiffness", "joint_damping", "joint_target_kd", "joint_act_mode"),
    *("body_gravcomp", "joint_effort_limit", "joint_effort_lower"),
}
"""Parameters that decide which stages a step has, beside those that let free bodies turn by themselves."""


class Simulation(errors.FixedAttributes, divergence.Diverging):
    """One world of a model that steps in place, by the rules of the scene the model was built from.

    What is left out of the arguments is what the scene requests: time step, integration family, solver of
    constraints, sleep, divergence. A model that was built by code steps with semi-implicit Euler. Contacts,
    limits, friction, actuators, tendons, equalities and closures act as in a World; what no stage does is
    refused by name with a `CapabilityError`.

    The arrays are views of the state and of what drives it. Assignment writes into them; after writing to a
    part of `q`, `v` or `body_f` call `written`, `velocities_written` or `forces_written`. After
    `Model.update` make a new one. `copy.deepcopy` and `pickle` give clones that step to the same bits.

    Args:
        model: the model.
        time_step: [s]; the model's own when None.
        family: integration family, or its text such as "runge-kutta-4"; that of the scene when None.
        variational: how equations of the variational family are solved; as the scene says when None.
        constraints: contacts, limits, friction and actuators; made from the model when None.
        guard: keeps threads apart; one of its own when None.
        divergence_policy: what happens to a state that diverges; as the scene says when None.
        divergence_limit: largest coordinate, velocity, acceleration and activation, SI units; as the scene
            says when None, which is 1e10 unless it says otherwise.

    Example:
        >>> from worldline.model import ModelBuilder, Simulation
        >>> builder = ModelBuilder()
        >>> ball = builder.add_body()
        >>> _ = builder.add_shape_sphere(ball, radius=0.1)
        >>> _ = builder.add_ground_plane()
        >>> sim = Simulation(builder.finalize(), 0.002)
        >>> sim.q = (0, 0, 0.5, 0, 0, 0, 1)
        >>> sim.step(1000)
        >>> float(sim.q[2].round(3)), sim.frame
        (0.096, 1000)
    """

    q = ArrayView("written")
    """Coordinates, (joint_coord_count,)."""
    v = ArrayView("velocities_written")
    """Velocities, (joint_dof_count,)."""
    a = ArrayView()
    """Accelerations of the last step, where the next solves constraints from, (joint_dof_count,)."""
    tau = ArrayView()
    """Generalized forces of drives, actuators and springs in the last step, (joint_dof_count,)."""
    force = ArrayView()
    """Commanded generalized forces [N or N m], (joint_dof_count,)."""
    q_target = ArrayView()
    """Coordinates that drives lead to, (joint_coord_count,)."""
    v_target = ArrayView()
    """Velocities that drives lead to, (joint_dof_count,)."""
    a_target = ArrayView()
    """Accelerations of degrees of freedom that follow them, (joint_dof_count,)."""
    body_f = ArrayView("forces_written")
    """Force at the centre of mass [N] and torque [N m] on bodies, world axes, (body_count, 6)."""
    control = ArrayView()
    """Controls of all actuators, (count,); disabled ones keep their entry and exert no force."""

    def __init__(
        self,
        model: Model,
        time_step: float | None = None,
        family: stepping.MultibodyIntegrationFamily | str | None = None,
        variational: stepping.VariationalOptions | None = None,
        constraints: Constraints | None = None,
        guard: ThreadGuard | None = None,
        *,
        divergence_policy: divergence.DivergencePolicy | str | None = None,
        divergence_limit: float | None = None,
    ) -> None:
        errors.require_kind(model, Model, "model", "Simulation")
        parts = ((variational, stepping.VariationalOptions, "variational"), (guard, ThreadGuard, "guard"))
        for given, kind, name in parts:
            if given is not None:
                errors.require_kind(given, kind, name, "Simulation")
        asked = semantics_of(model)
        h = positive_number(model.time_step if time_step is None else time_step, "time_step")
        self.family = asked.family if family is None else stepping.MultibodyIntegrationFamily.of(family)
        self.variational = (asked.variational if variational is None else variational).checked()
        policy = asked.divergence if divergence_policy is None else divergence_policy
        limit = asked.limit if divergence_limit is None else divergence_limit
        self._policy, self._limit = divergence.DivergencePolicy.of(policy), divergence.checked_limit(limit)
        self.model = model
        self.guard = ThreadGuard() if guard is None else guard
        """Keeps threads apart; see `step/thread_guard.py`."""
        if constraints is None:
            evaluate.require_articulations(model, "Simulation")
            fixed = model.option is not None and model.option.policy.fixed_layout
            constraints = fixed_constraints(model) if fixed else constraints_of(model)
        errors.require_kind(constraints, Constraints, "constraints", "Simulation")
        self.constraints = constraints if constraints.is_needed or constraints.is_fixed else None
        """Contacts, limits, dry friction and actuators; None for motion without them."""
        self.servos = constraints.servos  # degrees of freedom that servos move
        self._lay_out(h)

    def _lay_out(self, h: float) -> None:
        """Arrays at the start of the model, and the tables of the loop over steps."""
        model, constraints = self.model, self.constraints
        touches = constraints is not None and constraints.collision is not None
        self.contact_log = ContactLog(constraints) if constraints is not None and touches else None
        """Pairs of bodies that begin or cease to touch; None without shapes."""
        self.drive = drives_of(model)
        """What every degree of freedom makes of its command; kernels/drives.py."""
        # only the fixed layout has the mass matrix of all trees
        fixed = constraints is not None and constraints.is_fixed
        self.data = evaluate.new_arena(model, "float", None if fixed else model.arenas.step_size)
        self.q, self.v, self.a, self.tau, self.force = map(self.field, ("q", "v", "a", "tau", "force"))
        self.q_target, self.v_target, self.a_target = map(self.field, ("q_target", "v_target", "a_target"))
        self.body_f, self.body_q, self.body_qd = map(self.field, ("body_f", "body_q", "body_qd"))
        self.clock = self.field("clock")
        self.control = np.zeros(0 if model.actuators is None else len(model.actuators))
        self._unused_activation = np.zeros(model.activation_count)
        self.solver_report = self.field("solver_report")
        """Of the last variational step: iterations, 1 if not solved, the last correction of velocities."""
        self._h = self.field("time_step")
        self._h[0] = h
        self.start_q, self.start_v = self.field("q_start"), self.field("v_start")
        """The state that the last step began with."""
        self.floating: tuple[tuple[int, int], ...] = ()
        """Link and first velocity of the free bodies that `kernels/free_spin.py` turns."""
        self.spin = self.field("link_spin")
        """Momentum that the last step took out of the axes of these, by link."""
        self.stepped = False  # whether the state is what the last step led to
        self.failure: errors.StepFailure | None = None
        """Why the last call of `step` diverged, or why the world is frozen; None when all went well."""
        self.frozen = False  # whether the world stays at its last good state; see `DivergencePolicy.FREEZE`
        self.on_reset: Callable[[], None] | None = None
        """What takes a diverged world to its start, `reset` when None; see `DivergencePolicy.RESET`."""
        self.q[:], self.v[:] = model.joint_q, model.joint_qd
        self.q_target[:], self.v_target[:] = stepping.start_targets(model)
        self.force[:] = model.joint_f
        self.ground_dual = self.field("ground_dual")
        """Dual force of points on the ground [N], and steps since it was updated, (points, 2)."""
        self._saved = np.zeros(model.joint_dof_count + model.activation_count + self.ground_dual.size)
        self._resume = np.zeros(1, np.int64)
        self._record = np.zeros(5)
        self._keeps_going = False
        self._index = self._constant = np.zeros(0)
        self._constants = model.constants
        self._changed: set[str] = set()
        self._prescribed = np.zeros(0, np.int64)
        self._needs: tuple[StepPlan, bool, bool] | None = None
        self.preparations = 0  # how often steps were prepared, or took over other parameters
        self._reads: dict[str, tuple[Any, tuple[Any, ...]]] = {}
        self.poses_fresh = self._twists_fresh = False
        self.pose_evaluations = 0  # evaluations of poses by `fresh_poses`: poses are the same while it is
        self.projects = self.unsettled = False  # closures to be projected; what was written waits for it
        self._stages: tuple[Stage, ...] | None = None
        self.schedule: tuple[tuple[Stage, int], ...] = ()
        """The stages of a step with the set of arenas each runs on, as last prepared."""
        self.sets: list[tuple[Any, ...]] = []
        """The sets of arenas of `schedule`, then the numbers that a diverged step puts back.

        Keeps the memory alive that compiled code has addresses of."""
        self.checks = self.limits = np.zeros((0, 4))
        """Numbers that must be within limits after a step, and the limits; see `runner.advancer`."""
        self.elements = UserElements()
        """Functions of the user; call `reconfigure` after a change."""
        self.make_context: Callable[[Simulation], StepContext] = StepContext
        """What makes that which the functions are called with."""
        self.time_start: Callable[[], float] = float
        """Time at which the clock was last set to zero [s]; elements of the user see it added."""
        self.user: UserRun | None = None
        """The elements as steps run them; None without any."""
        self._pauses: dict[int, Callable[[], None]] = {}
        self.crew: IslandCrew | None = None  # threads that help with islands in the present call
        self.helper_memory: HelperMemory | None = None  # scratch of such threads, once there were some
        self.profiler: StepProfiler | None = None
        """Measures stages in the place of the compiled loop; None when steps are not profiled."""
        self.has_wrenches = False
        self.ahead: Callable[[], int] | None = None
        """Takes over an evaluation of the present state; returns the stage that a step goes on with."""

    @property
    def activation(self) -> Array:
        """Activations of actuators, (activation_count,); another view after arrays of constraints grew."""
        return self._unused_activation if self.constraints is None else self.constraints.column.activation

    @activation.setter
    def activation(self, value: Any) -> None:
        self.activation[:] = numbers_of(value, self.activation.shape, "Simulation.activation")

    def field(self, name: str) -> Array:
        """A field of the model's data arena, by its name in `model/fields.py`; a view."""
        shape = extent(BY_NAME[name].shape, self.model.arenas.sizes)
        start = self.model.arenas.offsets[name]
        return self.data[start : start + math.prod(shape)].reshape(shape)

    # ---- reading

    def written(self) -> None:
        """Coordinates were written: poses and velocities of bodies are out of date."""
        state = self.__dict__  # attributes that are there, at a fifth of the cost
        state["poses_fresh"] = state["_twists_fresh"] = state["stepped"] = state["frozen"] = False
        state["unsettled"] = self.projects
        self.wake()

    def velocities_written(self) -> None:
        """Velocities were written: velocities of bodies are out of date."""
        self._twists_fresh = self.stepped = self.frozen = False
        self.unsettled = self.projects
        self.wake()

    def wake(self) -> None:
        """Nothing sleeps any longer."""
        if self.constraints is not None and self.constraints.sleeps:
            self.constraints.wake()

    def forces_written(self) -> None:
        """body_f was written: the next step looks whether there are any."""
        if not self.has_wrenches and self.body_f.any():
            # from now on the step looks at forces; preparing it again for every push would cost more
            self.has_wrenches = True
            self._stages = None

    def fresh_poses(self) -> Array:
        """Position and xyzw of every body, up to date, (body_count, 7); a view."""
        if not self.poses_fresh:
            self._run(POSES)
            self.poses_fresh = True
            self.pose_evaluations += 1
        if self.guard.busy:
            self.guard.wait()
        return self.body_q

    def fresh_velocities(self) -> Array:
        """Velocity of the centre of mass, angular velocity, of every body, (body_count, 6); a view."""
        if not self._twists_fresh:
            self._run(TWISTS)
            self._twists_fresh = True
        if self.guard.busy:
            self.guard.wait()
        return self.body_qd

    def _run(self, program: evaluate.Program) -> None:
        """Run a reading program once."""
        call = self._reads.get(program.name)
        if call is None:
            # the arenas of a model are written in place, so this holds for as long as the model
            arenas = self.model.arenas
            blocks = (
                evaluate.compiled(program, "float"),
                arenas.index,
                arenas.constant,
                evaluate.WITH_GRAVITY,
                self.data,
            )
            call = self._reads[program.name] = (caller(), blocks)
        guard = self.guard
        if guard.busy:
            with guard:
                call[0](*call[1])
            return
        guard.busy = READ
        try:
            call[0](*call[1])
        finally:
            guard.busy = FREE

    # ---- stepping

    def __repr__(self) -> str:
        return f"Simulation({self.model.body_count} bodies, frame {self.frame})"

    @property
    def time_step(self) -> float:
        """[s]"""
        return float(self._h[0])

    @time_step.setter
    def time_step(self, value: float) -> None:
        self._h[0] = positive_number(value, "time_step")
        self.parameters_changed(("time_step",))

    @property
    def frame(self) -> int:
        """Number of steps made."""
        return int(self.clock[0])

    @property
    def time(self) -> float:
        """Simulated time since the start, or since the time step was last changed [s]."""
        return float(self.clock[1]) * self.time_step

    @property
    def implicit(self) -> bool:
        """Whether damping is taken at the end of a step."""
        return self.family in stepping.IMPLICIT_FAMILIES

    def reconfigure(self) -> None:
        """A drive, an option or the kind of a body changed: prepare again before the next step."""
        self._stages = None

    def parameters_changed(self, names: Iterable[str]) -> None:
        """Arrays of the model were replaced, or "time_step": the next step takes over what follows of them.

        Steps are prepared again only where they have other stages now, such as those of the first spring.
        """
        self._changed.update(names)

    @property
    def is_prepared(self) -> bool:
        """Whether the next step has the stages and the parameters of the last."""
        return self._stages is not None and not self._changed

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of a step as they will run."""
        if self._stages is None or self._changed:
            self._prepare()
        assert self._stages is not None
        return self._stages

    def _prepare(self) -> None:
        """Get ready for steps: all of it, or what follows from parameters that changed."""
        evaluate.require_inertia(self.model, "step", kinematic_too=False)
        timed = len(self.elements) > 0 and "time_step" in self._changed  # periods are whole numbers of steps
        if self._stages is None or timed or (self._plan_may_differ() and self._needs != self._model_needs()):
            self._prepare_all()
        else:
            if len(self._changed) > 1 or "time_step" not in self._changed or self._is_adapted:
                self._take_constants()
            if self.constraints is not None:
                self.constraints.parameters_changed(self._changed, self.time_step, self.implicit)
                collision = self.constraints.collision
                if collision is not None and collision.c is not self.sets[COLLISION][1]:
                    self._enter_arenas()
            if self.crew is not None:
                self.crew.connect(self)
        self._changed.clear()
        self.preparations += 1

    def _plan_may_differ(self) -> bool:
        """Whether parameters changed that decide which stages a step has."""
        if not _PLANNED.isdisjoint(self._changed):
            return True
        return self.model.constants.has_free_bodies and not SPINS.isdisjoint(self._changed)

    def _prepare_all(self) -> None:
        self._stages = None  # an interrupt leaves a step to be prepared again
        self._prescribed = np.flatnonzero(self.drive >= drives.VELOCITY)
        arenas, plan = self.model.arenas, self.plan()
        program = stages_of(plan)
        if self.constraints is not None:
            self.constraints.prepare(plan, damping_time=self.implicit * self.time_step)
        arenas = arenas._replace(index=arenas.index.copy(), constant=arenas.constant.copy())
        self._index, self._constant, self._constants = arenas.index, arenas.constant, constant_views(arenas)
        self._take_constants()
        if self.constraints is not None:
            self.constraints.refresh()
            mobile = self._constants["dof_mobile"]
            self.constraints.connect(self._index, self._constant, self.data, mobile, self.time_step)
        self.schedule = tuple(program)
        self.user = UserRun(self, plan) if len(self.elements) else None
        self._pauses = self.begin_calls(self.schedule)
        self._resume[0] = 0
        self._advance = runner.advancer() if self.profiler is None else self.profiler.advance
        self._enter_arenas()
        self._needs = self._model_needs()
        self._stages = tuple(stage for stage, _ in program)

    def _take_constants(self) -> None:
        """Take over the constants of the model, with those that a step has otherwise."""
        view, arenas = self._constants, self.model.arenas
        self._index[:], self._constant[:] = arenas.index, arenas.constant
        view["dof_drive"][:] = self.drive
        if self.user is not None:
            self.user.tables.refresh()
        if self._prescribed.size:
            view["dof_mobile"][self._prescribed] = 0.0
            view["link_floating"][view["dof_link"][self._prescribed]] = 0.0
        if self._is_adapted:
            stepping.adapt_constants(view, self.family, self.time_step, self.variational)
        if self.model.constants.has_free_bodies:
            links = np.flatnonzero(view["link_floating"]).tolist()
            self.floating = tuple((i, int(view["link_v_start"][i])) for i in links)

    @property
    def _is_adapted(self) -> bool:
        """Whether steps have constants that the family makes of the model's and of the time step."""
        return self.constraints is None or self.family is stepping.MultibodyIntegrationFamily.VARIATIONAL

    def _model_needs(self) -> tuple[StepPlan, bool, bool]:
        """All of the model's parameters that stages of a step depend on."""
        model = self.model
        prescribed = bool((self.drive >= drives.VELOCITY).any())
        # without damping the end of a step is no different from its beginning
        damped = bool(model.joint_damping.any() or model.joint_target_kd.any())
        lopsided = self.constraints is not None and self.constraints.lopsided
        return stepping.model_plan(model, wrenches=self.has_wrenches, prescribed=prescribed), damped, lopsided

    def begin_calls(self, schedule: Sequence[tuple[Stage, int]]) -> dict[int, Callable[[], None]]:
        """What to call when the loop over these stages returns for the user, by the stage it goes on with."""
        if self.user is None:
            return {}
        self.user.begin()
        return self.user.pauses(schedule)

    @property
    def acted(self) -> Array | None:
        """Torques, then forces of the last evaluation where force elements add some, (body_count, 6)."""
        return None if self.user is None else self.user.acted

    def controls_written(self) -> None:
        """Controls were written: actuators that act take theirs."""
        constraints, control = self.constraints, self.control
        if constraints is not None and constraints.drives:
            acting = constraints.actuators
            constraints.column.control[:] = control if len(acting) == len(control) else control[acting]

    def _enter_arenas(self) -> None:
        """Take the arenas as they are now for the next call of the loop."""
        trees = (self._index, self._constant, evaluate.WITH_GRAVITY, self.data)
        sets: list[tuple[Any, ...]] = [trees] * (USER + 1)
        if self.constraints is not None:
            sets[CONSTRAINT:LOG] = self.constraints.sets()
            if self.contact_log is not None:
                sets[LOG] = self.contact_log.arenas()
        if self.user is not None:
            sets[USER] = self.user.arenas()
        self._keep = self._make_tables(len(sets))
        sets.append((self._index, self._constant, evaluate.WITH_GRAVITY, self._saved))
        self.sets = sets
        tables = *loop_operands(self.schedule, sets), self._keep, self.checks, self.limits
        self._call = (*tables, self.clock, self._record, self._resume)
        self._once = runner.once(self._advance, self._call)
        if self.crew is not None:
            self.crew.connect(self)

    def _make_tables(self, saved: int) -> np.ndarray:
        """Lay out what is checked after a step; returns what a diverged one puts back.

        `saved`: arenas of copies beside those that readers want, the state of the start."""
        at, sizes = self.model.arenas.offsets, self.model.arenas.sizes
        nq, nv = sizes["nq"], sizes["nv"]
        keep = [
            (MULTIBODY, at["q"], nq, MULTIBODY, at["q_start"]),
            (MULTIBODY, at["v"], nv, MULTIBODY, at["v_start"]),
            (MULTIBODY, at["a"], nv, saved, 0),
        ]
        acted = None
        if self.constraints is not None and len(self.activation):
            acted = self.constraints.place_of("activation"), len(self.activation)
            keep.append((CONSTRAINT, *acted, saved, nv))
        at_ground = nv + len(self.activation)
        keep.append((MULTIBODY, at["ground_dual"], 2 * sizes["nground"], saved, at_ground))
        end = at_ground + 2 * sizes["nground"]
        if self.constraints is not None and self.constraints.is_fixed:
            name = self.constraints.kept_column
            kept = self.constraints.place_of(name), self.constraints.column[name].size
            keep.append((CONSTRAINT, *kept, saved, end))
            end += kept[1]
        keep += [] if self.user is None else self.user.kept(saved, end)
        self._saved.resize(sum(keep[-1][2::2]), refcheck=False)
        self.checks = divergence.state_checks(at, nq, nv, acted)
        self.limits = np.zeros((2, len(self.checks)))
        self._set_limits()
        return np.array(keep, np.int64)

    def _set_limits(self) -> None:
        if len(self.limits):
            self.limits[0], self.limits[1] = (
                divergence.limits_of(self.checks, x) for x in (self._limit, math.inf)
            )
        self._keeps_going = self._policy is divergence.DivergencePolicy.CONTINUE
        self._record[4] = float(self._keeps_going)

    def plan(self) -> StepPlan:
        """What a step has to do, as things are now."""
        plan, damped, _ = self._model_needs()
        plan = stepping.of_family(plan, self.family)
        stepping.require_ground(self.model, self.family)
        plan = self.elements.planned(plan)
        self.elements.require_family(plan, self.family.value)
        if self.constraints is None:
            return plan
        speeds = (
            self.family is stepping.MultibodyIntegrationFamily.IMPLICIT_VELOCITY
            and self.constraints.has_gains
        )
        if self.constraints.is_fixed:
            plan = plan._replace(fixed=True, recorded=True)
        plan = self.constraints.plan(plan, damped=damped and self.implicit, speeds=speeds)
        if plan.fixed:
            require_served(plan)
        return plan._replace(contact_log=self.contact_log is not None)

    @exclusive_step
    def step(self, n: int = 1) -> None:
        """Make `n` steps; `divergence_policy` says what happens when one diverges.

        Interrupting with Ctrl-C stops between two steps. Another thread that is inside is a `BusyError`.
        """
        self.take_steps(n)

    def take_steps(self, n: int) -> None:
        """Make `n` steps for a caller that has entered `guard`."""
        if n.__class__ is not int or not 0 <= n < 1 << 63:
            if not evaluate.is_count(n) or n < 0:
                raise errors.ArgumentError(f"n must be a non-negative step count, got {n!r}")
            n = int(n)
        if n == 0:
            return
        if self._stages is None or self._changed:
            self._prepare()
        if self.frozen:
            self.clock[:2] += n
            return
        state = self.__dict__
        state["poses_fresh"] = state["_twists_fresh"] = state["stepped"] = False
        state["failure"] = None
        self.controls_written()
        ahead = self.ahead
        if ahead is not None:
            state["ahead"] = None
            self._resume[0] = ahead()
        if self.user is not None and self.user.begin():
            if self._step_with_calls(n):
                return
        else:
            missing = 1 - self._once() if n == 1 else self._step_many(n)
            if missing and self._go_on(missing):
                return
        if self.user is not None:
            self.user.end()
        state["stepped"] = True
        if self._keeps_going and self._record[0] != 0.0:
            self.failure = self._failure("the step was kept")

    def _step_with_calls(self, n: int) -> bool:
        """Steps that return for functions of the user; returns True when one diverged."""
        while True:
            n -= self._advance(*self._call, n)
            if n == 0:
                return False
            call = self._pauses.get(self._resume.item())
            if call is None or is_short(self.contact_log):
                return self._go_on(n)
            try:
                call()
            except BaseException:
                self._give_up()
                raise

    def _give_up(self) -> None:
        """End a step between two stages: the state is that before any of them."""
        self._resume[0] = 0
        runner.put_back(self.sets, self._keep, True)
        if self.user is not None:
            self.user.give_up()
        if self.constraints is not None:
            self.constraints.take_back(int(self.clock[0]) + 1)

    def _step_many(self, n: int) -> int:
        """Steps in portions, between which an interrupt is seen; returns how many were not made."""
        missing = n
        for many in portions(n):
            done = self._advance(*self._call, many)
            missing -= done
            if done != many:
                break
        return missing

    def _go_on(self, missing: int) -> bool:
        """Make the steps that are left after one that ran out of room; returns True when one diverged."""
        while missing:
            if self._resume[0] == 0:
                self._diverged(missing)
                return True
            try:
                self._serve(int(self._resume[0]))
            except BaseException:
                self._give_up()
                raise
            missing = self._step_many(missing)
        return False

    def _serve(self, resume: int) -> None:
        """Do what a step returned for: functions of the user, or arrays that are too small."""
        call = self._pauses.get(resume)
        if is_short(self.contact_log):
            self._enter_arenas()  # the log grows; the stage before may be a call that was made already
        elif call is not None:
            call()
        else:
            assert self.constraints is not None
            self.make_room(self.constraints.missing_room())

    def make_room(self, needed: Room) -> None:
        """Grow the arrays of constraints that are smaller than needed, with what is in them."""
        assert self.constraints is not None
        self.constraints.make_room(needed)
        if self._stages is not None:
            self._enter_arenas()

    def _failure(self, outcome: str) -> errors.StepFailure:
        """Which body and quantity was the first to diverge, and when; forgets the record of it."""
        frame, self._record[0] = int(self._record[0]), 0.0
        if self.family is stepping.MultibodyIntegrationFamily.VARIATIONAL and self.solver_report[1] != 0.0:
            return divergence.unsolved(self.model, self.field("dof_gap"), frame, outcome)
        return divergence.failure_of(self.model, self._record[1:4], frame, outcome=outcome)

    def _diverged(self, missing: int) -> None:
        """Follow the policy for a step that was taken back; `missing` of those asked for were not made."""
        failure = self._failure(divergence.OUTCOMES[self._policy])
        if self.constraints is not None:
            self.constraints.take_back(failure.frame)
        if self._policy is divergence.DivergencePolicy.FREEZE:
            self.frozen = True
            self.clock[:2] += missing
        elif self._policy is divergence.DivergencePolicy.RESET:
            (self.reset if self.on_reset is None else self.on_reset)()
        self.failure = failure
        if self._policy in (divergence.DivergencePolicy.RAISE, divergence.DivergencePolicy.CONTINUE):
            raise failure

    @between_steps
    def reset(self) -> None:
        """Back to the start of the model, at rest in time; commands stay as they are."""
        self.q[:], self.v[:] = self.model.joint_q, self.model.joint_qd
        self.a[:] = 0.0
        self.activation[:] = self.ground_dual[:] = 0.0
        self.clock[:] = 0.0
        if self.constraints is not None:
            self.constraints.reset()
        self.failure = None
        self.written()

    # ---- copies

    def __copy__(self) -> Simulation:
        raise errors.OperationError("a Simulation shares no arrays; copy.deepcopy gives a clone")

    @between_steps
    def __getstate__(self) -> dict[str, Any]:
        return simulation_copies.state_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        simulation_copies.restore(self, state)
