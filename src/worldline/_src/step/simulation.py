# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One world that steps in place: a model, the arena that holds its state, the program of its step.

The arrays of a `Simulation` are views into the arena, so a step copies nothing and enters compiled code
once for any number of steps. Constants are a copy of the model's, because a step may treat degrees of
freedom as prescribed or damping as inertia where the model does not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import CapabilityError, StepFailure
from worldline._src.jit import Stage
from worldline._src.kernels import drives
from worldline._src.kernels.program import caller
from worldline._src.model.compile import constant_views
from worldline._src.model.fields import BY_NAME, extent
from worldline._src.model.model import Model
from worldline._src.scalar.memory import address_of
from worldline._src.spatial.poses import Array
from worldline._src.step import runner
from worldline._src.step import stages as s
from worldline._src.step import step_stages as t
from worldline._src.step.constraint_program import LOG, RESUME, TREE
from worldline._src.step.constraints import Constraints, all_stages
from worldline._src.step.contact_log import ContactLog, log_contacts
from worldline._src.step.evaluate import (
    WITH_GRAVITY,
    Program,
    compiled,
    new_arena,
    require_inertia,
    stage_addresses,
)
from worldline._src.step.room import Room
from worldline._src.step.stepping import (
    IMPLICIT_FAMILIES,
    RUNGE_KUTTA_PARTS,
    MultibodyIntegrationFamily,
    Needs,
    VariationalOptions,
    adapt_constants,
    dynamics_stages,
    model_needs,
    semi_implicit_stages,
    step_stages,
)
from worldline._src.step.thread_guard import FREE, READ, ThreadGuard

if TYPE_CHECKING:
    from worldline._src.step.profiling import StepProfiler

_DEFAULT_VARIATIONAL = VariationalOptions()
_POSES = Program("poses", (t.refresh_poses,), ("q",), ("q",), ("nbody", 7))
_TWISTS = Program(
    "velocities", (s.positions, s.link_velocities, t.refresh_twists), ("q", "v"), ("q", "v"), ("nbody", 6)
)
READS = (_POSES, _TWISTS)
"""Programs that bring poses and velocities of bodies up to date."""
_CHUNK_SECONDS = 0.02
"""Compiled code returns to Python about this often, so that an interrupt is seen."""


def portions(n: int) -> Iterator[int]:
    """Cut `n` steps into portions of about `_CHUNK_SECONDS`, by how long the last one took."""
    portion = 1
    while n > 0:
        started = time.perf_counter()
        many = min(portion, n)
        yield many
        n -= many
        spent = time.perf_counter() - started
        if spent < 0.5 * _CHUNK_SECONDS:
            portion *= 2 if spent > 0.1 * _CHUNK_SECONDS else 8
        elif spent > 2.0 * _CHUNK_SECONDS:
            portion = max(1, portion // 2)


class Simulation:
    """One world of a model that steps in place."""

    def __init__(
        self,
        model: Model,
        time_step: float,
        family: MultibodyIntegrationFamily,
        variational: VariationalOptions = _DEFAULT_VARIATIONAL,
        constraints: Constraints | None = None,
        guard: ThreadGuard | None = None,
    ) -> None:
        self.model = model
        self.guard = guard or ThreadGuard()
        """Keeps threads apart; see `step/thread_guard.py`."""
        self.constraints = constraints
        """Contacts, limits, dry friction and actuators; None for motion without them."""
        touches = constraints is not None and constraints.hits is not None
        self.contact_log = ContactLog(constraints) if constraints is not None and touches else None
        """Pairs of bodies that begin or cease to touch; None without shapes."""
        self.family = family
        self.variational = variational.checked()
        self.drive = np.zeros(model.joint_dof_count, np.int64)
        """What every degree of freedom makes of its command; kernels/drives.py."""
        self.data = new_arena(model, "float", model.arenas.step_size)
        self.q = self._view("q")
        self.v = self._view("v")
        self.a = self._view("a")
        self.tau = self._view("tau")
        self.force = self._view("force")
        self.q_target = self._view("q_target")
        self.v_target = self._view("v_target")
        self.a_target = self._view("a_target")
        self.body_f = self._view("body_f")
        self.body_q = self._view("body_q")
        self.body_qd = self._view("body_qd")
        self.clock = self._view("clock")
        self.solver_report = self._view("solver_report")
        """Of the last variational step: iterations, 1 if not solved, the last correction of velocities."""
        self._h = self._view("time_step")
        self._h[0] = time_step
        self.q[:] = model.joint_q
        self.v[:] = model.joint_qd
        self.start_q, self.start_v = self._view("q_start"), self._view("v_start")
        """The state that the last step began with."""
        self.lone: tuple[tuple[int, int], ...] = ()
        """Link and first velocity of the free bodies that `kernels/free_spin.py` turns."""
        self.spin = self._view("link_spin")
        """Momentum that the last step took out of the axes of these, by link."""
        self.stepped = False
        """Whether the state is what the last step led to."""
        self.failure: StepFailure | None = None
        """Why the last step that was tried failed."""
        self.q_target[:] = model.joint_q
        offsets = model.arenas.offsets
        sizes = model.arenas.sizes
        self._table = np.array(
            [offsets["q"], sizes["nq"], offsets["v"], sizes["nv"], offsets["clock"], offsets["a"], 0],
            np.int64,
        )
        self._keep = np.array(
            [
                (TREE, offsets["q"], sizes["nq"], offsets["q_start"]),
                (TREE, offsets["v"], sizes["nv"], offsets["v_start"]),
            ],
            np.int64,
        )
        self._index = self._constant = np.zeros(0)
        self._reads: dict[str, tuple[Any, tuple[Any, ...]]] = {}
        self._poses_fresh = self._twists_fresh = False
        self._stages: tuple[Stage, ...] | None = None
        self.schedule: tuple[tuple[Stage, int], ...] = ()
        """The stages of a step with the set of arenas each runs on, as last prepared."""
        self.sets: list[tuple[Any, ...]] = []
        """The sets of arenas of `schedule`; keeps the memory alive that compiled code has addresses of."""
        self.profiler: StepProfiler | None = None
        """Measures stages in the place of the compiled loop; None when steps are not profiled."""
        self._wrenches = False

    def _view(self, name: str) -> Array:
        shape = extent(BY_NAME[name].shape, self.model.arenas.sizes)
        start = self.model.arenas.offsets[name]
        return self.data[start : start + math.prod(shape)].reshape(shape)

    # ---- reading

    def written(self) -> None:
        """Coordinates were written: poses and velocities of bodies are out of date."""
        self._poses_fresh = self._twists_fresh = self.stepped = False
        self.wake()

    def velocities_written(self) -> None:
        """Velocities were written: velocities of bodies are out of date."""
        self._twists_fresh = self.stepped = False
        self.wake()

    def wake(self) -> None:
        """Nothing sleeps any longer."""
        if self.constraints is not None and self.constraints.sleeps:
            self.constraints.wake()

    def forces_written(self) -> None:
        """body_f was written: the next step looks whether there are any."""
        if not self._wrenches and self.body_f.any():
            # from now on the step looks at forces; preparing it again for every push would cost more
            self._wrenches = True
            self._stages = None

    def fresh_poses(self) -> Array:
        """Position and xyzw of every body, up to date, (body_count, 7); a view."""
        if not self._poses_fresh:
            self._run(_POSES)
            self._poses_fresh = True
        if self.guard.busy:
            self.guard.wait()
        return self.body_q

    def fresh_velocities(self) -> Array:
        """Velocity of the centre of mass, angular velocity, of every body, (body_count, 6); a view."""
        if not self._twists_fresh:
            self._run(_TWISTS)
            self._twists_fresh = True
        if self.guard.busy:
            self.guard.wait()
        return self.body_qd

    def _run(self, program: Program) -> None:
        """Run a reading program once."""
        call = self._reads.get(program.name)
        if call is None:
            # the arenas of a model are written in place, so this holds for as long as the model
            arenas = self.model.arenas
            blocks = (compiled(program, "float"), arenas.index, arenas.constant, WITH_GRAVITY, self.data)
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
        return f"Simulation({self.model.body_count} bodies, frame {int(self.clock[0])})"

    @property
    def time_step(self) -> float:
        """[s]"""
        return float(self._h[0])

    @time_step.setter
    def time_step(self, value: float) -> None:
        self._h[0] = value
        self.reconfigure()

    @property
    def implicit(self) -> bool:
        """Whether damping is taken at the end of a step."""
        return self.family in IMPLICIT_FAMILIES

    def reconfigure(self) -> None:
        """The model, a drive or an option changed: prepare again before the next step."""
        self._stages = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of a step as they will run."""
        if self._stages is None:
            self._prepare()
        assert self._stages is not None
        return self._stages

    def _prepare(self) -> None:
        model = self.model
        prescribed = self.drive >= drives.VELOCITY
        require_inertia(model, "step", kinematic_too=False)
        needs = model_needs(model, wrenches=self._wrenches, prescribed=bool(prescribed.any()))
        program = self._program(needs)
        arenas = model.arenas._replace(index=model.arenas.index.copy(), constant=model.arenas.constant.copy())
        view = constant_views(arenas)
        view["dof_drive"][:] = self.drive
        view["dof_mobile"][prescribed] = 0.0
        view["link_lone"][view["dof_link"][prescribed]] = 0.0
        if self.constraints is None:
            adapt_constants(view, self.family, self.time_step, self.variational)
        self.lone = tuple(
            (i, int(view["link_v_start"][i])) for i in np.flatnonzero(view["link_lone"]).tolist()
        )
        self._index, self._constant = arenas.index, arenas.constant
        if self.constraints is not None:
            self.constraints.refresh()
            self.constraints.connect(
                self._index, self._constant, self.data, view["dof_mobile"], self.time_step
            )
            if self.contact_log is not None:
                program.append((log_contacts, LOG))
        self._stages = tuple(stage for stage, _ in program)
        self.schedule = tuple(program)
        self._table[runner.RESUME_AT] = 0
        self._advance = runner.advancer() if self.profiler is None else self.profiler.advance
        self._enter_arenas()

    def _enter_arenas(self) -> None:
        """Take the arenas as they are now for the next call of the loop."""
        self.sets = [(self._index, self._constant, WITH_GRAVITY, self.data)]
        if self.constraints is not None:
            self.sets += self.constraints.sets()
            if self.contact_log is not None:
                self.sets.append(self.contact_log.arenas())
        self._call = (*loop_operands(self.schedule, self.sets), self._keep, self.data, self._table)

    def _program(self, needs: Needs) -> list[tuple[Stage, int]]:
        """The stages of a step, with the arenas they run on."""
        if self.constraints is None:
            return [(stage, TREE) for stage in step_stages(self.family, needs)]
        if self.family is MultibodyIntegrationFamily.VARIATIONAL:
            parts = ", ".join(self.constraints.parts_needed)
            raise CapabilityError(f"integration family '{self.family.value}' does not have {parts}")
        # without damping the end of a step is no different from its beginning
        damped = bool(self.model.joint_damping.any() or self.model.joint_target_kd.any())
        speeds = self.family is MultibodyIntegrationFamily.IMPLICIT_VELOCITY and self.constraints.answers
        dynamics, last = semi_implicit_stages(needs)
        parts = (last,)
        if self.family is MultibodyIntegrationFamily.RUNGE_KUTTA_4:
            dynamics, parts = dynamics_stages(needs), RUNGE_KUTTA_PARTS
        first = [(t.prescribed_speeds, TREE)] if needs.prescribed else []
        return [*first, *self.constraints.step_stages(dynamics, parts, damped and self.implicit, speeds)]

    def step(self, n: int) -> None:
        """Make `n` steps; see `StepFailure` for what happens when a state is not finite."""
        if self._stages is None:
            self._prepare()
        self._poses_fresh = self._twists_fresh = self.stepped = False
        self.failure = None
        if n == 1:
            done = self._advance(*self._call, 1)
            if done != 1:
                self._go_on(1)
        else:
            self._step_many(n)
        self.stepped = True

    def _step_many(self, n: int) -> None:
        """Many steps in portions that end often enough for an interrupt to be seen between two steps."""
        for many in portions(n):
            done = self._advance(*self._call, many)
            if done != many:
                self._go_on(many - done)

    def _go_on(self, left: int) -> None:
        """Make the steps that are left after one that failed or ran out of room."""
        while left:
            if self._table[runner.RESUME_AT] == 0:
                self._fail()
            assert self.constraints is not None
            try:
                self.make_room(self.constraints.missing_room())
            except BaseException:
                # the step is given up: state and contacts are those before any stage
                self._table[runner.RESUME_AT] = 0
                self.q[:], self.v[:] = self.start_q, self.start_v
                self.constraints.forget_contacts()
                raise
            left -= self._advance(*self._call, left)

    def make_room(self, needed: Room) -> None:
        """Grow the arrays of constraints that are smaller than needed, with what is in them."""
        assert self.constraints is not None
        self.constraints.make_room(needed)
        if self._stages is not None:
            self._enter_arenas()

    def _fail(self) -> None:
        """Say which body and which quantity of it was the first that was not finite."""
        frame = int(self.clock[0]) + 1
        if self.family is MultibodyIntegrationFamily.VARIATIONAL and self.solver_report[1] != 0.0:
            largest = int(np.argmax(np.abs(self._view("dof_gap"))))
            self.failure = StepFailure(self.dof_body(largest), "solution", frame)
            raise self.failure
        what, bad = self._first_bad()
        # those of the last good step are gone; readers must not meet what is not finite
        self.a[:] = 0.0
        self.failure = StepFailure(self.dof_body(int(bad[0])), what, frame)
        raise self.failure

    def _first_bad(self) -> tuple[str, np.ndarray]:
        """The first quantity that was not finite, and its degrees of freedom."""
        for what, array in (("force", self.tau), ("acceleration", self.a)):
            bad = np.flatnonzero(~np.isfinite(array))
            if bad.size:
                return what, bad
        return self._overflow()

    def _overflow(self) -> tuple[str, np.ndarray]:
        """Forces and accelerations were finite, so what they add up to was too large."""
        with np.errstate(over="ignore", invalid="ignore"):
            v = self.v + self.time_step * self.a
            bad = np.flatnonzero(~np.isfinite(v))
            return ("velocity", bad) if bad.size else ("position", np.array([np.argmax(np.abs(v))]))

    def dof_body(self, d: int) -> str:
        """Label of the body that a degree of freedom moves."""
        model = self.model
        joint = int(np.searchsorted(model.joint_qd_start, d, side="right")) - 1
        return model.body_label[int(model.joint_child[joint])]


def loop_operands(schedule: Sequence[tuple[Stage, int]], sets: Sequence[tuple[Any, ...]]) -> tuple[Any, Any]:
    """Stages and sets of arenas as the loop over steps wants them; the arenas must outlive them."""
    resume, last = [], {}
    for k, (stage, _) in enumerate(schedule):
        last[stage] = k
        resume.append(last[RESUME[stage]] if stage in RESUME else -1)
    if runner.DISABLED:
        return tuple((*one, k) for one, k in zip(schedule, resume, strict=True)), sets
    addresses = stage_addresses(tuple(stage for stage, _ in schedule))
    places = np.array([place for _, place in schedule], np.int64)
    return (
        np.ascontiguousarray(np.stack([addresses, places, np.array(resume, np.int64)], axis=1)),
        np.array([[address_of(block) for block in row] for row in sets], np.int64),
    )


def compile_all() -> None:
    """Compile what worlds that step in place need beyond the programs of `stepping.py`."""
    caller()
    runner.advancer()
    for stages in ((t.no_drive_forces,), *(program.stages for program in (_POSES, _TWISTS))):
        stage_addresses(stages)
    stage_addresses((*all_stages(), log_contacts))
