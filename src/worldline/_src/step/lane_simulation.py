# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Many worlds of one model that step with contact, several in each instruction.

What `Simulation` is for one world: arrays that are the state, and `step`. The same kernels run for one world
and for lanes, so world i has the same bits however many worlds there are, however they are grouped and
however many threads step them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from worldline._src import errors
from worldline._src.jit import Stage
from worldline._src.kernels.constraints import tables as t
from worldline._src.model.checks import positive_number, whole_numbers
from worldline._src.model.compile import constant_views
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import aligned_zeros
from worldline._src.spatial.poses import Array, read_only
from worldline._src.step import evaluate, stepping
from worldline._src.step.array_views import ArrayView
from worldline._src.step.divergence import LARGEST, DivergencePolicy, Diverging, failure_of, limits_of
from worldline._src.step.fixed_constraints import FixedConstraints, FixedRoom
from worldline._src.step.interrupts import uninterrupted
from worldline._src.step.island_options import SolverMethod
from worldline._src.step.lane_arenas import group_arenas
from worldline._src.step.lane_elements import LaneElements
from worldline._src.step.lane_parameters import LaneParameters
from worldline._src.step.lane_precision import precision_of, require_precision, require_range, solver_bounds
from worldline._src.step.lane_room import dense_kept, with_growth
from worldline._src.step.lane_rows import checked_parts, row_parts, rows_of
from worldline._src.step.lane_runner import (
    FRAME,
    FROZEN,
    MARKS,
    MODE,
    QUANTITY,
    STATUS,
    STEPS,
    VALUE,
    lane_runner,
    program_table,
    set_table,
)
from worldline._src.step.lane_sensing import LaneSensing, SensorNoise, scene_noise
from worldline._src.step.portions import portions
from worldline._src.step.scene_semantics import drives_of, require_available, semantics_of
from worldline._src.step.step_table import USER, stages_of
from worldline._src.step.thread_guard import ThreadGuard, between_steps, exclusive_step
from worldline._src.step.user_elements import UserElements

if TYPE_CHECKING:
    from worldline._src.step.step_plan import StepPlan

_FROZEN = "the world is frozen as it was before it"

Chunk = Callable[[int, int, int], None]
"""Work on worlds: the first, the one behind the last, and the number of steps."""
Share = Callable[[Chunk, int, int, int], None]
"""Calls the work for parts of some worlds: their number, the multiple a part must have, and the steps."""


class _Room(NamedTuple):
    """Arenas of a group of worlds, and the table of their addresses."""

    sets: list[tuple[np.ndarray, ...]]
    table: Any


class LaneSimulation(errors.FixedAttributes, Diverging):
    """Worlds of one model that step together, with contacts, limits, joint friction and actuators.

    A layout that is the same for all worlds takes the place of lists: every pair of shapes that may touch, or
    is near in a world of the group where these are many, has room for its contacts. Those of spheres and
    capsules, and of them and boxes on planes, are found in lanes, those of other convex shapes world by
    world. Surfaces of triangles, closures, tendons that wrap, springs between bodies, sweeps against slip,
    sleep, prescribed joints and the variational family are refused by name (`CapabilityError`). Newton's
    method solves the rows of a `Simulation` for up to 62 degrees of freedom, with De Saxce corrections where
    contacts obey Coulomb's law; larger models, and what it cannot solve, have projected Gauss-Seidel. Both
    start from the forces of the last step. Hard contacts are solved once: what pushes apart stays in `v`.

    The arrays below are the state and what drives it; write them at any time. Assignment writes into them.
    Everything that makes the next step is in `q`, `v`, `activation` and `kept`. Parameters are those the
    model has now; after `Model.update` make a new one. `copy.deepcopy` and `pickle` give clones that step to
    the same bits.

    A world that diverges is put back to its last good state and stays there, while all others go on; time and
    `frame` are those of the batch. `failures` states which world, body and quantity it was and in which step.

    Args:
        model: the model.
        worlds: how many.
        time_step: [s]; the model's own when None.
        integration_family: any but the variational one, and implicit-velocity only where no force of an
            actuator depends on its rate; that of the scene when None, semi-implicit without a scene.
        sweeps: most passes of Gauss-Seidel over the rows of a step; `constraint_solver_iterations` of the
            scene when None, 100 without a scene.
        tolerance: passes end when no acceleration along a row changes by more than this share of gravity;
            1e-6 when None, in single precision 1e-5, which is the least there. It is a measure of its own:
            tolerances and line searches of a scene are those of Newton's method in a `Simulation`, which
            lanes solve to the end; settings that end it early are refused.
        divergence_policy: what happens to worlds that diverge; as the scene says when None.
        divergence_limit: largest coordinate, velocity, acceleration and activation, SI units; as the scene
            says when None, which is 1e10 unless it says otherwise.
        elements: kernels that run within steps; see `World.add_controller`.
        dtype: float64, or float32 for steps in single precision, twice as many worlds in each instruction.
            All arrays stay float64; those of the state hold numbers of single precision after a step, and
            what was written is rounded when a step begins. Readings of sensors and contacts are computed from
            the state in double precision. Hard contacts, limits and friction, kernels within steps and plain
            Python are refused in single precision.

    Example:
        >>> import numpy as np
        >>> from worldline.model import LaneSimulation, ModelBuilder
        >>> builder = ModelBuilder()
        >>> ball = builder.add_body()
        >>> _ = builder.add_shape_sphere(ball, radius=0.1)
        >>> _ = builder.add_ground_plane()
        >>> worlds = LaneSimulation(builder.finalize(), 8, time_step=0.002)
        >>> worlds.q[:, 2] = 0.1 + 0.05 * np.arange(8)
        >>> worlds.step(1000)
        >>> worlds.q[:, 2].round(3).tolist()
        [0.096, 0.096, 0.096, 0.096, 0.096, 0.096, 0.096, 0.096]
    """

    _has_derivatives = False

    q = ArrayView()
    """Coordinates, (worlds, joint_coord_count)."""
    v = ArrayView()
    """Velocities, (worlds, joint_dof_count)."""
    activation = ArrayView()
    """Activation states of actuators, (worlds, activation_count)."""
    kept = ArrayView()
    """Forces of rows that the next step starts from."""
    q_target = ArrayView()
    """Coordinates that drives lead to, (worlds, joint_coord_count)."""
    v_target = ArrayView()
    """Velocities that drives lead to, (worlds, joint_dof_count)."""
    force = ArrayView()
    """Commanded generalized forces [N or N m], (worlds, joint_dof_count)."""
    control = ArrayView()
    """Controls of all actuators, (worlds, count); disabled ones keep their entry and exert no force."""
    body_f = ArrayView()
    """Force at the centre of mass [N] and torque [N m] on bodies, world axes, (worlds, body_count, 6)."""

    def __init__(
        self,
        model: Model,
        worlds: int,
        *,
        time_step: float | None = None,
        integration_family: stepping.MultibodyIntegrationFamily | str | None = None,
        sweeps: int | None = None,
        tolerance: float | None = None,
        divergence_policy: DivergencePolicy | str | None = None,
        divergence_limit: float | None = None,
        elements: UserElements | None = None,
        dtype: DTypeLike = np.float64,
    ) -> None:
        errors.require_kind(model, Model, "model", "LaneSimulation")
        if not evaluate.is_count(worlds) or worlds < 1:
            raise errors.ArgumentError(f"worlds must be a positive count, got {worlds!r}")
        self._dtype = precision_of(dtype, "LaneSimulation")
        self._most_sweeps, self._tolerance = solver_bounds(model, sweeps, tolerance, self._dtype)
        h = positive_number(model.time_step if time_step is None else time_step, "time_step")
        asked = semantics_of(model)
        family = asked.family if integration_family is None else integration_family
        self.family = stepping.MultibodyIntegrationFamily.of(family)
        self.divergence_policy = asked.divergence if divergence_policy is None else divergence_policy
        self.divergence_limit = asked.limit if divergence_limit is None else divergence_limit
        if self.family is stepping.MultibodyIntegrationFamily.VARIATIONAL:
            raise errors.CapabilityError(f"steps in lanes have no integration family '{self.family.value}'")
        stepping.require_ground(model, self.family)
        require_available(model, self._has_derivatives)
        evaluate.require_articulations(model, "LaneSimulation")
        evaluate.require_inertia(model, "LaneSimulation", kinematic_too=False)
        self.model, self.worlds = model, int(worlds)
        self._h = h
        self._elements = UserElements() if elements is None else elements
        errors.require_kind(self._elements, UserElements, "elements", "LaneSimulation")
        self._room_size: FixedRoom | None = None
        self._noise = scene_noise(model, self.worlds)
        self._start()

    def _start(self) -> None:
        """Make the constraints and lay everything out, at the start of the model."""
        self.guard = ThreadGuard("LaneSimulation", "copy.deepcopy")
        self.constraints = FixedConstraints(self.model, self._most_sweeps, self._tolerance, self._room_size)
        if (
            self.family is stepping.MultibodyIntegrationFamily.IMPLICIT_VELOCITY
            and self.constraints.has_gains
        ):
            raise errors.CapabilityError(
                f"steps in lanes have no integration family '{self.family.value}' for actuators whose force "
                "depends on their rate; step worlds one at a time"
            )
        require_precision(self._dtype, self.constraints, self._elements)
        self._marks = np.zeros((self.worlds, MARKS))
        self._frozen_rows: dict[int, Array] = {}
        self._last_failures: tuple[errors.StepFailure, ...] = ()
        self._prepare()
        self._lay_out_rows()

    @property
    def dtype(self) -> np.dtype:
        """The precision of steps, float64 or float32."""
        return self._dtype

    def __repr__(self) -> str:
        return f"LaneSimulation({self.worlds} worlds, {self.model.body_count} bodies, frame {self.frame})"

    # ---- layout

    def _prepare(self) -> None:
        """Constants of a step and the arenas that groups of worlds are copied from."""
        model = self.model
        arenas = model.arenas._replace(index=model.arenas.index.copy(), constant=model.arenas.constant.copy())
        self._index, self._constant, self._views = arenas.index, arenas.constant, constant_views(arenas)
        self._data = evaluate.new_arena(model, "float")
        self._data[model.arenas.offsets["time_step"]] = self._h
        self.take_constants()
        self.elements: LaneElements | None = None
        if self._elements.kernels or self._elements.has_functions:
            four = self.family is stepping.MultibodyIntegrationFamily.RUNGE_KUTTA_4
            at = int(self.constraints.block.m[t.TABLE.entry["control"]])
            self.elements = LaneElements(self, self._elements, four, at)
        self._programs: dict[tuple[str, bool], Any] = {}
        self._rooms: dict[str, list[_Room]] = {}
        self._readings: LaneSensing | None = None
        self._alive, self._own = list[Any](), LaneParameters(self)

    def take_constants(self) -> None:
        """Take over the constants of the model, and let rows of constraints follow from them."""
        self._constant[:] = self.model.arenas.constant
        self._views["dof_drive"][:] = drives_of(self.model)
        mobile = self._views["dof_mobile"]
        self.constraints.connect(self._index, self._constant, self._data, mobile, self._h)

    def _lay_out_rows(self) -> None:
        """Rows of state and inputs, one a world, and where their parts go in the arenas."""
        sizes, own = self.model.arenas.sizes, self.elements
        state, inputs, self._written = row_parts(self.model, self.constraints, own)
        self._state, self._state_parts, held = rows_of(state, self.worlds)
        self._inputs, self._input_parts, given = rows_of(inputs, self.worlds)
        given |= held
        if own is not None:
            self.clock, self.time_start = held["clock"], given["time_start"][:, 0]
            self.element_parameters = given["element_parameters"]
            self.element_parameters[:] = self._elements.parameters
            self._body_com = given["body_com"]
            self._body_com[:] = self.model.body_com.ravel()
        self.q, self.v, self.activation = held["q"], held["v"], held["activation"]
        self.kept, self._sweeps = held["kept"], held["sweeps"]
        self.q_target, self.v_target = given["q_target"], given["v_target"]
        self.force, self.control = given["force"], given["control"]
        self.body_f = given["body_f"].reshape(self.worlds, sizes["nbody"], 6)
        self._checks = checked_parts(self.model, self.constraints)
        model = self.model
        self.q[:], self.v[:] = model.joint_q, model.joint_qd
        self.q_target[:], self.v_target[:] = stepping.start_targets(model)
        self.force[:] = model.joint_f
        self._start_row = self._state[0].copy()
        self._finite = np.empty(max(self._state.size, self._inputs.size), bool)

    def stages(self, *, wrenches: bool = True) -> list[tuple[Stage, int]]:
        """The stages of a step with the arenas they run on, with or without forces on bodies."""
        return stages_of(self.plan(wrenches=wrenches))

    def plan(self, *, wrenches: bool = True) -> StepPlan:
        """What a step has to do, with or without forces on bodies."""
        model = self.model
        damped = bool(model.joint_damping.any() or model.joint_target_kd.any())
        implicit = damped and self.family in stepping.IMPLICIT_FAMILIES
        plan = stepping.of_family(stepping.model_plan(model, wrenches=wrenches), self.family)._replace(
            fixed=True
        )
        plan = self._elements.planned(plan)
        plan = self.constraints.plan(plan, damped=implicit, speeds=False)
        self.constraints.prepare(plan)
        return plan

    def _program(self, scalar: str) -> Any:
        """The program of a step as the loop takes it; forces on bodies are read when there are any."""
        key = scalar, bool(self.body_f.any())
        if key not in self._programs:
            self._programs[key] = program_table(self.stages(wrenches=key[1]), scalar, self._own.any)
        return self._programs[key]

    def _room(self, scalar: str) -> _Room:
        """Arenas for a group of worlds; those nobody uses wait in a list."""
        try:
            return self._rooms.setdefault(scalar, []).pop()
        except IndexError:
            pass
        sets = self.sets_of(scalar, self._state.shape[1])
        return _Room(sets, set_table(sets))

    def sets_of(self, scalar: str, numbers: int) -> list[tuple[np.ndarray, ...]]:
        """Arenas for a group of worlds, those of their own constants, and room for rows of state."""
        sets = self.arenas(scalar)
        sets += self._own.sets(sets)
        saved = aligned_zeros(numbers * evaluate.SCALARS[scalar][1], evaluate.number_type(scalar))
        sets.append((self._index, self._constant, evaluate.WITH_GRAVITY, saved))
        return sets

    def arenas(self, scalar: str) -> list[tuple[np.ndarray, ...]]:
        """New arenas for a group of worlds: of trees, of rows, and of collision where there are shapes."""
        return group_arenas(self, scalar)

    # ---- parameters

    @between_steps
    def set_parameters(self, worlds: Iterable[int] | None, model: Model) -> None:
        """Let worlds, all when None, have the parameters of another model of the same structure.

        Masses, inertias, sizes of shapes, friction, damping, armature, springs, gains, limits, gears and
        gravity may differ. Such worlds step in the same lanes as all others, with the bits they have alone.

        Args:
            worlds: their indices.
            model: the model that has them.

        Raises:
            CapabilityError: it differs in what all worlds share, such as joints or laws of contact.

        Example:
            >>> from worldline.model import LaneSimulation, ModelBuilder
            >>> def pendulum(length):
            ...     builder = ModelBuilder()
            ...     bob = builder.add_link(mass=1.0, com=(0, 0, -length))
            ...     builder.add_articulation([builder.add_joint_revolute(-1, bob, axis=(0, 1, 0))])
            ...     return builder.finalize()
            >>> worlds = LaneSimulation(pendulum(1.0), 2)
            >>> worlds.set_parameters([1], pendulum(4.0))
            >>> worlds.q = [[0.1], [0.1]]
            >>> worlds.step(100)
            >>> (worlds.q[:, 0] < 0.097).tolist()
            [True, False]
        """
        errors.require_kind(model, Model, "model", "LaneSimulation.set_parameters")
        chosen, solve = self._chosen(worlds), {"sweeps": self._most_sweeps, "tolerance": self._tolerance}
        solve |= {"time_step": self._h, "integration_family": self.family, "elements": self._elements}
        if self._own.take(chosen, model, partial(LaneSimulation, worlds=1, **solve)):
            self._own_laid_out()
        if self.elements is not None:
            self._body_com[chosen] = model.body_com.ravel()

    @between_steps
    def restore_parameters(self, saved: tuple[np.ndarray, Array]) -> None:
        """Give worlds the parameters that `LaneParameters.saved` gave."""
        self._own.restore(*saved)
        self._own_laid_out()

    def take_room(self, room: FixedRoom | None) -> None:
        """Be laid out for as many pairs and rows as another simulation."""
        if room != self.constraints.room:
            self._room_size = room
            self._start()

    def laid_out_again(self, longer: int) -> None:
        """The arena of data of rows is that much longer than before."""
        self._own.moved(longer)
        self._room_size = self.constraints.room
        self._own_laid_out()

    def _own_laid_out(self) -> None:
        """Make arenas and programs anew, for other numbers that differ from world to world."""
        self._programs, self._rooms, self._readings, self._alive = {}, {}, None, []

    @property
    def has_own_parameters(self) -> bool:
        """Whether parameters differ from world to world."""
        return self._own.any

    def _chosen(self, worlds: Iterable[int] | None) -> np.ndarray:
        """Indices of worlds that a call is about."""
        chosen = np.arange(self.worlds) if worlds is None else whole_numbers(worlds, "worlds")
        if chosen.size and not (0 <= chosen.min() and chosen.max() < self.worlds):
            raise errors.ArgumentError(f"worlds must be indices from 0 to {self.worlds - 1}, got {worlds!r}")
        return chosen

    # ---- sensors

    @property
    def sensor_slices(self) -> dict[str, slice]:
        """Where the reading of every sensor of the model is in a row of `sensor_values`, by name."""
        table = self.model.sensors
        if table is None:
            return {}
        return {
            name: slice(int(table.start[k]), int(table.start[k + 1])) for k, name in enumerate(table.label)
        }

    @property
    def sensor_refused(self) -> dict[str, str]:
        """Why sensors cannot be read, by name; empty when all can."""
        return self._sensing().refused

    def sensor_values(self, *, threads: int = 1, lanes: int | None = None) -> Array:
        """Readings of all sensors of every world for its present state, (worlds, numbers).

        SI units, quaternions xyzw, clipped to the cut-off, with noise where the scene has a seed for it
        (`policy.sensor_noise_seed`); `sensor_slices` says where each sensor is, and NaN stands where one
        cannot be read, see `sensor_refused`. Forces and accelerations are those of the present state and
        inputs. No bit of the next step depends on a reading. Models with sensors of limits, contacts, rays
        or distances are read one world at a time, others in lanes.

        Args:
            threads: processors to use, 0 for all.
            lanes: worlds per instruction; as many as the processor has when None.

        Example:
            >>> from worldline import msd
            >>> from worldline.model import LaneSimulation
            >>> scene = msd.from_str('''<mujoco><worldbody><body name="arm"><joint name="j" axis="0 1 0"/>
            ...   <geom size="0.1" pos="0.5 0 0"/></body></worldbody>
            ...   <sensor><jointpos name="angle" joint="j"/></sensor></mujoco>''', format="mjcf")
            >>> worlds = LaneSimulation(msd.build(scene), 3)
            >>> worlds.q[:, 0] = (0.1, 0.2, 0.3)
            >>> worlds.sensor_values()[:, worlds.sensor_slices["angle"]].tolist()
            [[0.1], [0.2], [0.3]]
        """
        if not evaluate.is_count(threads) or threads < 0:
            raise errors.ArgumentError(
                f"threads must be a whole number, 0 for all processors, got {threads!r}"
            )
        evaluate.choose_scalar(lanes, self.worlds)  # refuses a count that no processor has, sensors or not
        return self._sensing().values(threads, lanes, self.time, self._marks[:, STEPS])

    def _sensing(self) -> LaneSensing:
        if self._readings is None:
            self._readings = LaneSensing(self, self._noise)
        return self._readings

    def _set_noise(self, noise: SensorNoise | None) -> None:
        """Have sensors read with this noise, or without any."""
        self._noise, self._readings = noise, None

    # ---- evaluation without a step

    @contextmanager
    def room(self, scalar: str) -> Iterator[_Room]:
        """Arenas for a group of worlds, to run stages on; used no more when arenas grow meanwhile."""
        room, rooms = self._room(scalar), self._rooms
        try:
            yield room
        finally:
            rooms[scalar].append(room)

    @property
    def row_tables(self) -> tuple[np.ndarray, ...]:
        """Operands of the loop over steps that lay out rows, with limits that finite numbers keep."""
        limits = np.full(len(self._checks), LARGEST)
        sets = 2 if self.constraints.collision is None else 3
        own = self._own.parts(sets if self.elements is None else USER + 1)
        return self._state_parts, self._input_parts, own, self._checks, np.stack([limits, limits])

    def rows(self, which: np.ndarray) -> tuple[Array, Array, Array]:
        """Copies of the rows of state, inputs and own parameters of some worlds."""
        return self._state[which], self._inputs[which], self._own.numbers[which]

    def kept_of(self, state: Array) -> Array:
        """Forces of constraint rows in rows of state, (worlds, rows)."""
        start = self.q.shape[1] + self.v.shape[1] + self.activation.shape[1]
        kept, sizes = state[:, start : start + self.kept.shape[1]], self.constraints.sizes
        return dense_kept(kept, sizes["nkept"]) if sizes["nkept_list"] else kept

    # ---- stepping

    @property
    def time_step(self) -> float:
        """[s]"""
        return self._h

    @property
    def frame(self) -> int:
        """Steps since the start."""
        return int(self._marks[:, STEPS].min())

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.frame * self._h

    @property
    def failures(self) -> tuple[errors.StepFailure, ...]:
        """Worlds that are frozen, and those that diverged in the last call of `step`, by index."""
        found = {failure.world: failure for failure in self._last_failures}
        for w in np.flatnonzero(self._marks[:, STATUS]).tolist():
            frozen = self._marks[w, STATUS] == FROZEN
            found[w] = self._failure(w, _FROZEN if frozen else "the step was kept")
        return tuple(found[w] for w in sorted(found, key=lambda world: world or 0))

    @property
    def any_failed(self) -> bool:
        """Whether `failures` has any."""
        return bool(self._last_failures) or bool(self._marks[:, STATUS].any())

    @property
    def frozen(self) -> np.ndarray:
        """Whether a world stays at its last good state, (worlds,); writing its state lets it go on."""
        return read_only(self._marks[:, STATUS] == FROZEN)

    def _failure(self, world: int, outcome: str) -> errors.StepFailure:
        mark = self._marks[world]
        return failure_of(self.model, mark[QUANTITY : VALUE + 1], int(mark[FRAME]), outcome, world)

    @between_steps
    def reset(self, worlds: Iterable[int] | None = None) -> None:
        """Put worlds, all when None, at the start of the model; they go on from there.

        Commands stay as they are, and so do `frame` and `time`, which are those of the batch.

        Args:
            worlds: their indices.
        """
        chosen = self._chosen(worlds)
        self._state[chosen] = self._start_row
        self._marks[chosen, STATUS] = 0.0
        for w in chosen.tolist():
            self._frozen_rows.pop(w, None)

    @property
    def sweeps(self) -> np.ndarray:
        """Passes over the rows, or linear systems, that the last step of every world took, (worlds,)."""
        return read_only(self._sweeps[:, 0].astype(np.int64))

    @property
    def solver(self) -> str:
        """The method that solves the rows: "newton", with sweeps where it does not settle, or
        "sequential-impulse" for projected Gauss-Seidel alone.

        Sequential impulses run where the scene requests them, and where Newton's method in lanes cannot serve
        the model: more than 62 degrees of freedom, prescribed motion.
        """
        swept = self.constraints.solver is SolverMethod.SEQUENTIAL_IMPULSE
        return "sequential-impulse" if swept else "newton"

    @property
    def unconverged(self) -> np.ndarray:
        """Solves of the last call of `step` that ended at the most sweeps unsolved, (worlds,)."""
        return read_only(self._sweeps[:, 1].astype(np.int64))

    @exclusive_step
    def step(self, n: int = 1, *, threads: int = 1, lanes: int | None = None) -> None:
        """Make `n` steps of every world; `divergence_policy` says what happens to worlds that diverge.

        Interrupting with Ctrl-C stops between two steps, the same of all worlds.

        Args:
            n: how many.
            threads: processors to use, 0 for all.
            lanes: worlds per instruction; as many as the processor has when None.

        Raises:
            BatchFailure: worlds diverged, after all steps of the others; with the policy RAISE.
            BusyError: another thread is inside a step of this LaneSimulation.
        """
        if not evaluate.is_count(n) or n < 0:
            raise errors.ArgumentError(f"n must be a non-negative step count, got {n!r}")
        if not evaluate.is_count(threads) or threads < 0:
            raise errors.ArgumentError(
                f"threads must be a whole number, 0 for all processors, got {threads!r}"
            )
        if threads == 1:
            self.advance(int(n), None, lanes)
        else:
            self.advance(
                int(n),
                lambda chunk, count, width, many: evaluate.in_threads(chunk, count, threads, width, many),
                lanes,
            )

    def advance(self, n: int, share: Share | None, lanes: int | None = None) -> None:
        """Make `n` steps of every world, with the work shared out by `share`, or by this thread when None."""
        scalar = evaluate.choose_scalar(lanes, self.worlds, self._dtype)
        for name, rows in (("state", self._state), ("inputs", self._inputs)):
            if not np.isfinite(rows, out=self._finite[: rows.size].reshape(rows.shape)).all():
                world = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
                raise errors.ArgumentError(f"{name} of world {world} must be finite")
            if self._dtype == np.float32:
                require_range(rows, name)
        self._begin()
        program, run, width = self._program(scalar), lane_runner(scalar), evaluate.SCALARS[scalar][1]
        *tables, _ = self.row_tables
        limits = np.stack([limits_of(self._checks, limit) for limit in (self._limit, np.inf)])

        def chunk(low: int, high: int, many: int) -> None:
            room = self._room(scalar)
            rows = self._state, self._inputs, self._own.numbers, self._marks
            run(program, room.table, *tables, limits, *rows, low, high, many)
            self._rooms[scalar].append(room)

        def portion(work: Chunk, many: int) -> None:
            work(0, self.worlds, many) if share is None else share(work, self.worlds, width, many)

        before = frozenset(self._frozen_rows)
        try:
            for many in portions(n):
                if self.constraints.may_grow:
                    uninterrupted(lambda many=many: with_growth(self, self._marks, chunk, many, portion))
                elif share is None:
                    # compiled code counts the steps it makes: an interrupt comes before it or after it
                    chunk(0, self.worlds, many)
                else:
                    uninterrupted(lambda many=many: portion(chunk, many))
        finally:
            diverged = np.flatnonzero(self.frozen).tolist() if self._marks[:, STATUS].any() else []
            failed = self._end([w for w in diverged if w not in before])
        if failed and self._policy is DivergencePolicy.RAISE:
            raise errors.BatchFailure(failed)

    def was_written(self, world: int, row: Array) -> bool:
        """Whether the state of a world is another than that of a row; commands do not count."""
        return not np.array_equal(self._state[world, : self._written], row[: self._written])

    def _begin(self) -> None:
        """Let frozen worlds go on whose state was written since, and forget failures of the last call."""
        for w, row in list(self._frozen_rows.items()):
            if self.was_written(w, row):
                self._marks[w, STATUS] = 0.0
                del self._frozen_rows[w]
        self._last_failures = ()
        self._marks[:, MODE] = float(self._policy is DivergencePolicy.CONTINUE)
        going: Any = slice(None)
        if self._marks[:, STATUS].any():
            going = ~self.frozen
            self._marks[going, STATUS] = 0.0
        self._sweeps[going, 1] = 0.0

    def _end(self, new: list[int]) -> tuple[errors.StepFailure, ...]:
        """Freeze or reset the worlds that diverged, by policy; returns why each did."""
        reset = self._policy is DivergencePolicy.RESET
        outcome = "the world was reset" if reset else _FROZEN
        failed = tuple(self._failure(w, outcome) for w in new)
        if reset:
            self.reset(new)
            self._last_failures = failed
        else:
            self._frozen_rows |= {w: self._state[w].copy() for w in new}
        return failed

    # ---- copies

    def __copy__(self) -> LaneSimulation:
        raise errors.OperationError("a LaneSimulation shares no arrays; copy.deepcopy gives a clone")

    @between_steps
    def _constants(self) -> tuple[Array, ...]:
        """Constants of rows and of collision, which copies take over."""
        block, collision = self.constraints.block, self.constraints.collision
        return (block.c, block.d, *((collision.c, collision.d) if collision else ()))

    def __getstate__(self) -> dict[str, Any]:
        state = {name: vars(self)[name] for name in _SETTINGS}
        state |= {name: vars(self)[name].copy() for name in _NUMBERS}
        state["constants"] = [x.copy() for x in self._constants()]
        state["own"] = self._own.saved()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: state[name] for name in _SETTINGS})
        self._start()
        vars(self).update({name: state[name] for name in ("_last_failures", "_frozen_rows")})
        for name in _NUMBERS:
            vars(self)[name][:] = state[name]
        for mine, given in zip(self._constants(), state["constants"], strict=True):
            mine[:] = given
        self._own.restore(*state["own"])


_SETTINGS = (
    *("model", "worlds", "family", "_h", "_most_sweeps", "_tolerance", "_policy", "_limit", "_dtype"),
    *("_last_failures", "_frozen_rows", "_elements", "_room_size", "_noise"),
)
_NUMBERS = ("_state", "_inputs", "_marks", "_index", "_constant", "_data", "_start_row")
"""What a clone takes over: settings, and arrays without addresses."""
