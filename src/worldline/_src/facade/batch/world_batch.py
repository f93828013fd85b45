# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Many worlds of one description that step together."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from worldline._src import errors
from worldline._src.facade import requirements, values
from worldline._src.facade.batch import checkpoints
from worldline._src.facade.batch.array_fields import LiveField
from worldline._src.facade.batch.functions import BatchFunction, BatchFunctions, BatchStepFunction
from worldline._src.facade.batch.lane_worlds import LaneWorlds
from worldline._src.facade.batch.layout_choice import AUTOMATIC, LANES, LayoutChoice, choose_layout
from worldline._src.facade.batch.layouts import on_threads, worlds_of
from worldline._src.facade.batch.noise import SENSOR_NOISE_SEED, BatchNoise
from worldline._src.facade.batch.objects import objects_of
from worldline._src.facade.batch.parameters import Parameter, parameters_of
from worldline._src.facade.batch.randomization import Randomization, Randomized, of_mapping
from worldline._src.facade.batch.selecting import WhichWorlds, indices_of
from worldline._src.facade.batch.selection import BatchPart, BatchSelection, BatchWorlds
from worldline._src.facade.batch.template import BatchSource, Template
from worldline._src.facade.batch.thread_worlds import ThreadWorlds
from worldline._src.facade.batch.workers import Workers, workers_of
from worldline._src.facade.executors import ComputeExecutor
from worldline._src.facade.requirements import ResolvedOption
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world import World
from worldline._src.facade.world_kind import known_kind
from worldline._src.kernels import drives
from worldline._src.later import DeferredModule
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array, rotations
from worldline._src.step.divergence import DivergencePolicy
from worldline._src.step.thread_guard import ThreadGuard
from worldline._src.step.user_elements import CONTROLLER, END_STAGE, FORCE_ELEMENT, OBSERVER

if TYPE_CHECKING:
    from worldline._src.facade.batch import derivatives
    from worldline._src.facade.derivatives import StepDerivatives, StepGradient
else:
    derivatives = DeferredModule("facade.batch.derivatives")

_ARTICULATION_ARRAYS = {
    "joint_q": "joint_positions",
    "joint_qd": "joint_velocities",
    "joint_f": "joint_forces",
    "joint_target_vel": "velocity_targets",
}
"""Arrays of a State or Control and what a batch calls them."""
_STATE = ("joint_positions", "joint_velocities", "activations")
"""What `reset(state=...)` takes beside the inputs."""


@known_kind
class WorldBatch(errors.NotShared, BatchPart):
    """Worlds of one description, each with a state, commands and time of its own, that step together.

    Every array has the world as its first dimension. The arrays of the batch itself (`joint_positions`,
    `controls` and so on) are the state: write into them, or assign to them, at any time. What is computed
    from the state (poses, velocities, energies, contacts, sensors) is up to date after every write. Handles,
    `multibodies` and `rigid_bodies`, `select` and `worlds` give read-only copies and write by assignment.

    A batch accepts what a World accepts. Worlds run in the lanes of a fixed layout, several in each
    instruction, where a step in lanes does what a step of the World does, and one by one on threads where it
    does not; `layout` and `resolved_configuration` say which and why. World i has the same bits in a batch of
    any size, at any position, on any number of threads, beside any neighbours. In lanes contacts are solved
    from the forces of the last step, which start at zero.

    A world that diverges is put back to its last good state and treated as `divergence_policy` says, while
    the others go on; `failures` names world, body, quantity and step. Replays and recordings belong to the
    World and are not part of a batch.

    Args:
        source: a World, which is cloned with its state and commands and not changed; a scene; or a Model.
        num_worlds: how many.
        layout: "lanes" or "threads" to have that one or an error that says why not; "auto" for lanes where
            they do all that is requested.
        divergence_policy: what happens to worlds that diverge; as the World or the scene says when None.
            RAISE freezes them, makes all steps of the others and raises `BatchFailure` in the end.
        dtype: precision of steps. float32 computes twice as many worlds in each instruction; the guide to
            many worlds states its errors. Arrays stay float64, with numbers of single precision after a step;
            poses, energies, contacts and sensors have double precision. What is not there is refused by name.

    Example:
        >>> import numpy as np
        >>> from worldline import msd, simulation as sx
        >>> scene = msd.from_str('''<mujoco><worldbody><geom type="plane" size="5 5 0.1"/>
        ...   <body name="ball"><freejoint/><geom size="0.1"/></body></worldbody>
        ...   </mujoco>''', format="mjcf")
        >>> batch = sx.WorldBatch(scene, 256)
        >>> batch.joint_positions[:, 2] = np.linspace(0.1, 1.0, 256)
        >>> batch.step(1000)
        >>> batch.layout, batch.joint_positions.shape, bool((batch.joint_positions[:, 2] < 0.11).all())
        ('lanes', (256, 7), True)
    """

    joint_positions = LiveField("joint_positions")
    joint_velocities = LiveField("joint_velocities")
    activations = LiveField("activations")
    position_targets = LiveField("position_targets")
    velocity_targets = LiveField("velocity_targets")
    acceleration_targets = LiveField("acceleration_targets")
    joint_forces = LiveField("joint_forces")
    controls = LiveField("controls")
    body_wrenches = LiveField("body_wrenches")
    mocap_poses = LiveField("mocap_poses")
    element_parameters = LiveField("element_parameters")
    world_joint_commands = LiveField("world_joint_commands")
    sensor_noise_seed = SENSOR_NOISE_SEED

    def __init__(
        self,
        source: BatchSource,
        num_worlds: int,
        *,
        layout: str = AUTOMATIC,
        divergence_policy: DivergencePolicy | str | None = None,
        dtype: DTypeLike = np.float64,
    ) -> None:
        count = values.count(num_worlds, "num_worlds")
        if count < 1:
            raise errors.ArgumentError(f"num_worlds must be at least 1, got {count}")
        self._template = Template(source, divergence_policy)
        self._choice: LayoutChoice = choose_layout(self._template, layout, dtype)
        self._batch, self._which, self._single = self, np.arange(count), False
        self._guard = ThreadGuard("WorldBatch", "copy.deepcopy")
        self._in_layout = worlds_of(self._template, count, self._choice)
        self._objects = objects_of(self._template)
        static = [np.r_[b.v] for b in self._objects.rigid_bodies.values() if b.is_static]
        self._static_dofs = np.concatenate([np.zeros(0, np.int64), *static])
        self._failed: dict[int, errors.StepFailure] = {}
        self._asked = layout
        self._parameter_table: dict[str, Parameter] | None = None
        self._draws = np.zeros(count, np.int64)
        # arrays in which worlds start with rows of their own
        self._own_start: dict[str, Array] = {}
        self._functions = BatchFunctions(self)
        self._noise = BatchNoise(self)
        self._number_worlds(self._which)

    def _number_worlds(self, worlds: np.ndarray) -> None:
        """Give worlds the indices by which they draw, and by which their sensors have noise."""
        self._draw_index = worlds.copy()
        self._noise.give(self._worlds)

    def __len__(self) -> int:
        return self.num_worlds

    def __repr__(self) -> str:
        return f"WorldBatch({self.num_worlds} worlds in {self.layout}, {self.model.body_count} bodies)"

    def __getstate__(self) -> dict[str, Any]:
        # functions that read and write parameters are found again when they are needed
        return {**vars(self), "_parameter_table": None}

    # ---- what it is

    @property
    def num_worlds(self) -> int:
        """How many worlds there are."""
        return len(self._which)

    @property
    def layout(self) -> str:
        """How worlds step: "lanes", several in each instruction, or "threads", one by one."""
        return self._worlds.kind

    @property
    def dtype(self) -> np.dtype:
        """Precision of steps, float64 or float32."""
        return self._choice.dtype

    @property
    def model(self) -> Model:
        """The compiled description that all worlds start with."""
        return self._template.model

    @property
    def time_step(self) -> float:
        """[s]"""
        return self._template.sim.time_step

    @property
    def divergence_policy(self) -> DivergencePolicy:
        """What happens to worlds that diverge."""
        return self._template.policy

    @property
    def body_names(self) -> list[str]:
        """Names of all bodies in the order of `body_poses`."""
        return list(self.model.body_label)

    @property
    def actuator_names(self) -> list[str]:
        """Names of the actuators in the order of `controls`."""
        return [] if self.model.actuators is None else list(self.model.actuators.label)

    @property
    def keyframes(self) -> list[str]:
        """Names of the keyframes that `reset` can lead to."""
        return [] if self.model.keyframes is None else list(self.model.keyframes.label)

    @property
    def resolved_configuration(self) -> tuple[ResolvedOption, ...]:
        """What was requested, what steps of the batch make of it, and why; its first row is the layout."""
        rows, world = self._choice.resolved(), self._template.world
        rows += [] if world is None else requirements.resolved_configuration(world)
        if isinstance(self._worlds, LaneWorlds):
            rows += self._worlds.resolved_solver()
        return tuple(rows)

    # ---- arrays

    @property
    def _worlds(self) -> LaneWorlds | ThreadWorlds:
        """The worlds in their layout; refused while another thread steps them."""
        self._guard.wait()
        return self._in_layout

    def _array(self, name: str) -> Array:
        """The live array of a field; refused where no world has a use for it."""
        if name == "acceleration_targets" and not (self._template.sim.drive == drives.ACCELERATION).any():
            raise errors.CapabilityError("acceleration_targets: no joint of this batch follows accelerations")
        found = self._worlds.arrays.get(name)
        if found is None or (name in ("mocap_poses", "world_joint_commands") and not found.shape[1]):
            what = name.replace("_", " ")
            raise errors.CapabilityError(f"{name}: this batch has no {what}")
        return found

    def _read(self, name: str) -> Array:
        return self._array(name).copy()

    def _write(self, name: str, rows: Array) -> None:
        self._array(name)[...] = rows

    def articulation_array(self, name: str) -> Array:
        """The array that an `ArticulationView` means by a name of a State or Control.

        `joint_q`, `joint_qd`, `joint_f` and `joint_target_vel` are the state and commands, to be written;
        `body_q` and `body_qd` are computed from them.
        """
        if (name := values.key(name, "name of an array")) in _ARTICULATION_ARRAYS:
            return self._array(_ARTICULATION_ARRAYS[name])
        if name == "body_q":
            return self.body_poses
        if name == "body_qd":
            # velocity of the centre of mass: that of the origin and what turning adds
            poses, omega = self.body_poses, self.body_angular_velocities
            turned = rotations(poses.reshape(-1, 7)).reshape(*poses.shape[:2], 3, 3)
            com = self.model.body_com[None]
            if self._worlds.has_own_parameters:
                com = np.array([model.body_com for model in self._worlds.models(self._which)])
            arm = np.einsum("wbij,wbj->wbi", turned, np.broadcast_to(com, (self.num_worlds, *com.shape[1:])))
            linear: Any = self.body_linear_velocities + np.cross(omega, arm)
            made = np.concatenate([linear, omega], axis=-1)
            return values.read_only(made)
        there = ", ".join([*_ARTICULATION_ARRAYS, "body_q", "body_qd"])
        raise errors.CapabilityError(f"a batch has no array '{name}' for articulations; it has {there}")

    @property
    def sensor_slices(self) -> dict[str, slice]:
        """Where the reading of every sensor is in a row of `sensor_values`, by name."""
        if self._template.world is not None:
            return {sensor.name: sensor.span for sensor in self._template.world.sensors}
        return self._worlds.sim.sensor_slices if isinstance(self._worlds, LaneWorlds) else {}

    @property
    def element_parameter_slices(self) -> dict[str, slice]:
        """Where the parameters of every kernel are in a row of `element_parameters`, by name."""
        return {} if self._template.world is None else self._template.world._functions.parameter_slices()

    # ---- parameters

    def _parameters(self) -> dict[str, Parameter]:
        if self._template.world is None:
            raise errors.CapabilityError(
                "a model that was built by code has no parameters by world; make the batch of a World"
            )
        if self._parameter_table is None:
            self._parameter_table = parameters_of(self._template.world)
        return self._parameter_table

    def _write_parameters(self, given: dict[str, Array], which: np.ndarray) -> None:
        """Give worlds parameters of their own; worlds in lanes that would differ in a step go to threads."""
        try:
            self._worlds.write_parameters(given, which)
            return
        except errors.CapabilityError as error:
            if isinstance(self._worlds, ThreadWorlds):
                raise
            if self._asked == LANES or self.dtype == np.float32:
                names = ", ".join(given)
                what = f"layout 'lanes' of {self.dtype}"
                raise errors.CapabilityError(f"{what} cannot have {names} by world: {error}") from None
            reason = str(error)
        moved = on_threads(self._worlds, given, which, self._noise)
        self._in_layout, self._choice = moved, LayoutChoice(moved.kind, (f"{', '.join(given)}: {reason}",))

    def randomize(self, randomization: Randomization, worlds: WhichWorlds = None) -> None:
        """Draw parameters of worlds: every line of a randomization for every parameter that it names.

        World i draws by itself, from the seed and its index, so that it gets the same numbers in a batch of
        any size. Numbers that are scaled or added to are those that the batch was made with.

        Args:
            randomization: what is drawn.
            worlds: indices, or a mask of bools with one entry a world; all when None.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box", mass=2.0)
            >>> batch = sx.WorldBatch(world, 4)
            >>> line = sx.Randomized("rigid_bodies.box.mass", sx.Uniform(0.5, 1.5))
            >>> batch.randomize(sx.Randomization((line,), seed=1))
            >>> masses = batch.parameters["rigid_bodies.box.mass"]
            >>> len(set(masses.tolist())), bool(((masses >= 1.0) & (masses <= 3.0)).all())
            (4, True)
        """
        which, drawn = indices_of(worlds, self.num_worlds), of_mapping(randomization)
        part = BatchSelection(self, which)
        start = self._template.world
        rows: dict[str, Array] = {}
        for line in drawn.lines:
            names = part.parameters.matching(line.name)
            if not names:
                # names the nearest, or says why no World has it
                part.parameters._find(line.name)
            for name in names:
                assert start is not None
                first = np.array(self._parameters()[name].read(start), float)
                base = rows.get(name, np.broadcast_to(first, (len(which), *first.shape)))
                given = drawn.draws(line, name, first.shape, self._draw_index[which], 0 * which)
                rows[name] = np.array(line.applied(base, given))
        if rows:
            self._write_parameters(rows, which)

    def fingerprint(self, world: int | None = None) -> str:
        """Hash of model, options, state, commands and time of one world, or of all when None; 64 hex digits.

        Equal fingerprints mean equal numbers to the last bit; what solvers start from is not part of it.
        """
        return checkpoints.fingerprint(self, world)

    def _has(self, name: str) -> bool:
        """Whether worlds have a use for an array."""
        try:
            self._array(name)
        except errors.CapabilityError:
            return False
        return True

    # ---- selection

    def select(self, worlds: WhichWorlds) -> BatchSelection:
        """Some worlds: their arrays and handles by name, with one row for each of them.

        Args:
            worlds: indices, or a mask of bools with one entry a world.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(gravity=(0, 0, 0))
            >>> box = world.add_rigid_body("box")
            >>> batch = sx.WorldBatch(world, 4)
            >>> batch.select([1, 3]).rigid_bodies["box"].translation = (5, 0, 0)
            >>> batch.joint_positions[:, 0].tolist()
            [0.0, 5.0, 0.0, 5.0]
        """
        return BatchSelection(self, indices_of(worlds, self.num_worlds))

    @property
    def worlds(self) -> BatchWorlds:
        """The worlds one by one: `batch.worlds[i]` reads and writes world i by the names of its objects."""
        return BatchWorlds(self)

    def extract(self, index: int) -> World:
        """A World that goes on from world `index`: its state, commands, time and parameters; a copy.

        From threads it goes on to the same bits. From lanes it has the same state to the last bit and solves
        contacts of its first step from no forces.
        """
        which = indices_of(index, self.num_worlds)
        if len(which) != 1 or isinstance(index, slice):
            raise errors.ArgumentError(f"extract takes the index of one world, got {index!r}")
        made = self._worlds.extract(int(which[0]))
        if made is None:
            raise errors.CapabilityError("a batch of a model that was built by code has no World to extract")
        return made

    # ---- functions of the user within steps

    def add_controller(self, name: str, function: BatchFunction, *, period: float | None = None) -> None:
        """Call a function at the start of every step, for all worlds at once, to write commands.

        It gets a `BatchStepContext`, whose arrays have the world as their first dimension, in every layout.
        When it raises, every world is as it was before that step and the error reaches the caller of `step`.
        It runs in the thread that calls `step`, whatever threads step the worlds. Functions belong to the
        batch: files and worlds that are extracted have none. Kernels (`worldline.kernel`) are added to the
        World that a batch is made of.

        Args:
            name: unique among the functions of the batch.
            function: called with the context; what it returns is dropped.
            period: time from one call to the next [s], a whole number of time steps; None for every step.
                Worlds that are not due keep their commands.

        Example:
            >>> from worldline import msd, simulation as sx
            >>> scene = msd.from_str('''<mujoco><worldbody><body><joint name="j" axis="0 0 1"/>
            ...   <geom size="0.1" pos="0.5 0 0"/></body></worldbody>
            ...   <actuator><motor name="m" joint="j"/></actuator></mujoco>''', format="mjcf")
            >>> batch = sx.WorldBatch(scene, 3)
            >>> batch.joint_positions[:, 0] = (0.1, 0.2, 0.3)
            >>> def hold(step):
            ...     step.control[:, 0] = 400.0 * (0.5 - step.q[:, 0]) - 40.0 * step.v[:, 0]
            >>> batch.add_controller("pd", hold)
            >>> batch.step(2000)
            >>> batch.joint_positions[:, 0].round(6).tolist()
            [0.5, 0.5, 0.5]
        """
        self._functions.add(name, CONTROLLER, function, period)

    def add_force_element(self, name: str, function: BatchFunction) -> None:
        """Call a function before every step, to add forces to `body_f` and `force` that hold for that step.

        Families with one evaluation a step have it; Runge-Kutta steps take kernels. See `add_controller`.
        """
        self._functions.add(name, FORCE_ELEMENT, function)

    def add_stage(self, name: str, function: BatchFunction, place: str = "end") -> None:
        """Call a function after integration, to change `q` and `v` of worlds; see `add_controller`.

        Args:
            name: unique among the functions of the batch.
            function: called with the context; what it returns is dropped.
            place: "end". What changes accelerations has to be a kernel of the World.
        """
        if not isinstance(place, str) or place != "end":
            raise errors.CapabilityError(
                f"stages of a batch have no place {place!r}, only 'end'; add a kernel to the World"
            )
        self._functions.add(name, END_STAGE, function)

    def add_observer(self, name: str, function: BatchFunction) -> None:
        """Call a function at the end of every step, with its result in `q` and `v`; see `add_controller`."""
        self._functions.add(name, OBSERVER, function)

    def remove_step_function(self, name: str) -> None:
        """Call a function no more; a KeyError when none has that name."""
        self._functions.remove(name)

    @property
    def step_functions(self) -> tuple[BatchStepFunction, ...]:
        """Functions of the batch, in the order in which they were added."""
        return self._functions.all

    # ---- stepping

    def step(
        self, n: int = 1, *, controls: Any = None, threads: int = 1, executor: ComputeExecutor | None = None
    ) -> None:
        """Make `n` steps of every world; complete on return.

        Interrupting with Ctrl-C stops between two steps, the same of all worlds.

        Args:
            n: how many.
            controls: of every step and world, (n, worlds, actuators); `controls` as they are when None. The
                last ones stay.
            threads: processors to use, 0 for all.
            executor: who does the work in the place of `threads`.

        Raises:
            BatchFailure: worlds diverged, after all steps of the others; with the policy RAISE.
            BusyError: another thread is inside a step of this batch.
        """
        self._functions.require_idle("step")
        count = values.count(n, "n of step")
        if count < 0:
            raise errors.ArgumentError(f"step needs a non-negative step count, got {count}")
        workers = workers_of(threads, executor)
        sequence = None if controls is None else self._control_sequence(controls, count)
        self._require_still()
        with self._guard.stepping():
            self._failed = {}
            if sequence is None:
                self._advance(count, workers)
            else:
                own = self._array("controls")
                for row in sequence:
                    own[...] = row
                    self._advance(1, workers)
        if self._failed and self.divergence_policy is DivergencePolicy.RAISE:
            raise errors.BatchFailure(self._failed[w] for w in sorted(self._failed))

    def _advance(self, n: int, workers: Workers) -> None:
        if self._functions.all:
            for _ in range(n):
                self._functions.step(lambda: self._advance_layout(1, workers))
        else:
            self._advance_layout(n, workers)

    def _advance_layout(self, n: int, workers: Workers) -> None:
        for failure in self._worlds.step(n, workers) if n else ():
            assert failure.world is not None
            self._failed.setdefault(failure.world, failure)

    def _control_sequence(self, controls: Any, n: int) -> Array:
        own = self._array("controls")
        given = values.array(controls, "controls of step")
        if given.shape != (n, *own.shape):
            raise errors.ShapeError(f"controls of step must have shape {(n, *own.shape)}, got {given.shape}")
        if not np.isfinite(given).all():
            raise errors.ArgumentError("controls of step must be finite")
        return given

    def _require_still(self) -> None:
        """Static bodies have no velocity."""
        if self._static_dofs.size:
            moving = self._worlds.arrays["joint_velocities"][:, self._static_dofs].any(axis=1)
            if moving.any():
                raise errors.ArgumentError(f"world {int(np.argmax(moving))} gives a static body a velocity")

    def step_kinematics(self, n: int = 1) -> None:
        """Let time pass for motion that is written from outside; nothing moves by itself."""
        count = values.count(n, "n of step_kinematics")
        if count < 0:
            raise errors.ArgumentError(f"step_kinematics needs a non-negative step count, got {count}")
        self._worlds.tick(count)

    @property
    def failures(self) -> tuple[errors.StepFailure, ...]:
        """Worlds that are frozen, and those that diverged in the last call of steps, by index."""
        found = self._failed | {failure.world: failure for failure in self._worlds.failures}
        return tuple(found[w] for w in sorted(found, key=lambda world: world or 0))

    # ---- derivatives

    def get_step_derivatives(self, worlds: WhichWorlds = None, *, threads: int = 1) -> StepDerivatives:
        """Derivatives of the last step of worlds, as `World.get_step_derivatives` has them for one.

        The batch must be made of a World with `differentiable=True`; its worlds run on threads then.

        Args:
            worlds: indices, or a mask of bools with one entry a world; all when None.
            threads: processors to use, 0 for all.

        Returns:
            Jacobians with the world as their first dimension: `state_jacobian` (worlds, n, n) with n the
            dimension of the tangent, `control_jacobian` (worlds, n, control dimension) and so on. Names and
            provenance are those of every world.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(time_step=0.01, differentiable=True)
            >>> box = world.add_rigid_body("box", mass=2.0)
            >>> batch = sx.WorldBatch(world, 3)
            >>> batch.step()
            >>> made = batch.get_step_derivatives()
            >>> made.state_jacobian.shape, made.control_jacobian[:, 8, 5].round(9).tolist()
            ((3, 12, 12), [0.005, 0.005, 0.005])
        """
        return derivatives.get_step_derivatives(self, worlds, threads)

    def apply_step_vjp(self, d_loss_d_next_state: VectorLike, *, threads: int = 1) -> StepGradient:
        """The gradient of a loss by states and controls before the last step, from that by states after it.

        Args:
            d_loss_d_next_state: on the tangents of the states, (worlds, dimension of the tangent).
            threads: processors to use, 0 for all.
        """
        return derivatives.apply_step_vjp(self, d_loss_d_next_state, threads)

    def apply_step_jvp(
        self,
        state: VectorLike,
        control: VectorLike | None = None,
        parameter: VectorLike | None = None,
        *,
        threads: int = 1,
    ) -> Array:
        """Changes of the states after the last step along changes of what it began with.

        Args:
            state: on the tangents of the states, (worlds, dimension of the tangent).
            control, parameter: (worlds, control dimension), (worlds, parameters); zero when None.
            threads: processors to use, 0 for all.
        """
        return derivatives.apply_step_jvp(self, state, control, parameter, threads)

    # ---- resetting

    def reset(
        self,
        worlds: WhichWorlds = None,
        *,
        state: Mapping[str, Any] | None = None,
        keyframe: str | None = None,
        sample: Randomization | None = None,
    ) -> None:
        """Put worlds back to the state, commands and time in which the batch was made; they go on from there.

        Args:
            worlds: indices, or a mask of bools with one entry a world; all when None.
            state: arrays by name that they get instead, such as `joint_positions`; each of the shape of one
                world, or with one row for every world that is reset.
            keyframe: name of the keyframe of the scene that they get instead.
            sample: draws for arrays by name, such as `joint_positions`, that change these states; every reset
                of a world draws anew, from the seed, its index and how often it drew.
        """
        which = indices_of(worlds, self.num_worlds)
        if state is not None and keyframe is not None:
            raise errors.ArgumentError("reset takes a state or a keyframe, not both")
        if keyframe is not None:
            values.key(keyframe, "keyframe")
        rows = (
            self._keyframe_rows(keyframe, which) if keyframe is not None else self._state_rows(state, which)
        )
        drawn = None if sample is None else self._drawn_lines(sample)
        self._worlds.reset(which)
        for w in which.tolist():
            self._failed.pop(w, None)
        for name, numbers in rows.items():
            if name == "time":
                self._worlds.set_time(which, numbers)
            else:
                self._array(name)[which] = numbers
        if sample is not None and drawn is not None:
            self._sample(sample, drawn, which)

    def _drawn_lines(self, sample: Randomization) -> list[tuple[Randomized, str]]:
        """The lines of a sample with the arrays they are for."""
        found: list[tuple[Randomized, str]] = []
        for line in of_mapping(sample).lines:
            if line.name not in self._worlds.arrays:
                hint = errors.nearest_name(line.name, list(self._worlds.arrays))
                raise errors.ArgumentError(f"sample of reset has no array '{line.name}'{hint}")
            found.append((line, line.name))
            self._array(line.name)
        return found

    def _sample(self, sample: Randomization, lines: list[tuple[Randomized, str]], which: np.ndarray) -> None:
        for line, name in lines:
            array, shape = self._array(name), self._array(name).shape[1:]
            drawn = sample.draws(line, name, shape, self._draw_index[which], self._draws[which])
            array[which] = line.applied(array[which], drawn)
        self._draws[which] += 1

    def _state_rows(self, state: Mapping[str, Any] | None, which: np.ndarray) -> dict[str, Array]:
        part = BatchSelection(self, which)
        made: dict[str, Array] = {name: rows[which] for name, rows in self._own_start.items()}
        for name, value in values.mapping(state, "state of reset").items():
            if name not in self._worlds.arrays and name != "time":
                hint = errors.nearest_name(str(name), list(self._worlds.arrays))
                raise errors.ArgumentError(f"state of reset has no array '{name}'{hint}")
            shape = () if name == "time" else self._array(name).shape[1:]
            made[name] = part._given(value, shape, f"{name} of reset")
        return made

    def _keyframe_rows(self, name: str, which: np.ndarray) -> dict[str, Array]:
        known = self.keyframes
        if name not in known:
            raise errors.NotFoundError(f"no keyframe '{name}'{errors.nearest_name(str(name), known)}")
        rows = self._template.keyframe(name)
        return {
            field: np.broadcast_to(numbers, (len(which), *np.shape(numbers)))
            for field, numbers in rows.items()
            if field == "time" or self._has(field)
        }

    # ---- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything that the next steps depend on; the file appears whole or not at all.

        A batch of the same description, number of worlds and layout that loads it goes on bit for bit.
        """
        checkpoints.save(self, path)

    def load(self, path: str | PathLike[str]) -> None:
        """Go on from a file that `save` wrote for a batch of the same description.

        Raises:
            SceneError: no file, a damaged one, or one of another batch; the batch is as it was.
        """
        checkpoints.load(self, path)
        self._failed = {}
