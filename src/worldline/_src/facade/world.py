# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The World: the public names of a simulated world, and its life from description to steps.

In design mode objects are added and removed; in simulation mode time passes. Between the two lies one
check of everything. A World holds a scene description, a runtime compiled from it when something is read or
stepped, the tables of its handles, and its parts: settings, connections, ignored pairs, balance, inspection
of steps, replay, functions of the user. Public members hand on to a part or to the module that works; parts
know the World as `WorldRuntime`.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack, overload
from weakref import WeakMethod

import numpy as np

from worldline._src.errors import ArgumentError, BusyError, OperationError
from worldline._src.facade import (
    cloning,
    closure_projection,
    construction,
    contacts,
    edit,
    end_effector,
    kinds,
    loading,
    loop_closure,
    marker,
    metrics,
    removal,
    requirements,
    scene_options,
    shapes,
    step_functions,
    step_report,
    values,
    world_copies,
)
from worldline._src.facade import independent_coordinates as independents
from worldline._src.facade.body_options import InertiaLike, RigidBodyOptions, overridden
from worldline._src.facade.checkpoint import kill_handles
from worldline._src.facade.closure_projection import ClosureProjectionOptions, ClosureProjectionReport
from worldline._src.facade.collections import (
    LoopClosureCollection,
    NamedCollection,
    RigidBodyCollection,
    WorldJointCollection,
)
from worldline._src.facade.connections import Connections
from worldline._src.facade.contacts import Contact, ContactForce
from worldline._src.facade.delegation import of_part
from worldline._src.facade.end_effector import EndEffector
from worldline._src.facade.executors import ComputeExecutor, require_executor, step_arguments
from worldline._src.facade.frame import FixedFrame, Frame, FreeFrame
from worldline._src.facade.ignored_pairs import IgnoredPairs
from worldline._src.facade.joint import Joint
from worldline._src.facade.joint_spec import JointSpec
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.link import Link
from worldline._src.facade.loading import LoadResult, ReadOptions, SceneSource
from worldline._src.facade.loop_closure import LoopClosure, LoopClosureSpec, follow_frame
from worldline._src.facade.marker import Marker
from worldline._src.facade.metrics import StepMetrics
from worldline._src.facade.multibody import Multibody
from worldline._src.facade.options import (
    WORLD_DEFAULTS,
    DeactivationOptions,
    MultibodyOptions,
    WorldKeywords,
    WorldOptions,
    variational_options,
)
from worldline._src.facade.quantities import Quantity, Reading, attribute, length, quantity, reading
from worldline._src.facade.replay import Replay, ReplayCheck
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.runtime import Runtime
from worldline._src.facade.sensors import Sensor, SensorCollection
from worldline._src.facade.settings import Settings, option
from worldline._src.facade.snapshots import Snapshot
from worldline._src.facade.step_inspection import StepInspection, WorldMemoryDiagnostics
from worldline._src.facade.step_options import StepOptions
from worldline._src.facade.step_report import BreakEvent, ContactEvent, StepReport
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.facade.world_balance import WorldBalance
from worldline._src.facade.world_joint import WorldJoint
from worldline._src.facade.world_kind import known_kind
from worldline._src.facade.world_state import WorldControl, WorldState
from worldline._src.keywords import shared_keywords
from worldline._src.later import deferred_modules, without_collection
from worldline._src.scene.closures import FrameRef
from worldline._src.scene.geometry import SiteShape
from worldline._src.scene.report import Report
from worldline._src.scene.world import World as Scene
from worldline._src.spatial.poses import Array
from worldline._src.step.divergence import DivergencePolicy
from worldline._src.step.pipeline import WorldStepPipeline
from worldline._src.step.profiling import WorldStepProfile
from worldline._src.step.thread_guard import FREE, STEP
from worldline._src.step.user_kernels import Kernel

if TYPE_CHECKING:
    from worldline._src.collision.detector import CollisionDetector
    from worldline._src.collision.results import CollisionOption
    from worldline._src.collision.shapes import CollisionShape
    from worldline._src.facade import (
        derivatives,
        explain,
        fingerprint,
        jobs,
        keyframes,
        kinematics_report,
        ledger,
        persistence,
        physical_parameters,
        queries,
        state_binding,
        state_vectors,
        visibility,
    )
    from worldline._src.facade.degree_of_freedom import DegreeOfFreedom
    from worldline._src.facade.derivatives import DerivativeCheck, StepDerivatives, StepGradient
    from worldline._src.facade.explain import Explanation
    from worldline._src.facade.jobs import StepJob
    from worldline._src.facade.kinematics_report import KinematicsReport
    from worldline._src.facade.ledger import EnergyLedger
    from worldline._src.facade.queries import BodyDistance, BodyLike, BodyPoint, CollisionQueries, RayHits
    from worldline._src.facade.query_options import CollisionQueryOptions
    from worldline._src.facade.recording import Recording
    from worldline._src.facade.state_space import StateSpace
    from worldline._src.facade.visibility import VisibilityQueries
    from worldline._src.model.model import Model
else:
    (
        derivatives, explain, fingerprint, jobs, keyframes, kinematics_report, ledger, persistence,
        physical_parameters, queries, state_binding, state_vectors, visibility,
    ) = deferred_modules(
        "facade",
        "derivatives explain fingerprint jobs keyframes kinematics_report ledger persistence "
        "physical_parameters queries state_binding state_vectors visibility",
    )  # fmt: skip

_COUNTERS = ("rigid_body", "multibody", "loop_closure", "free_frame", "fixed_frame", "joint")


def _metric(name: str, doc: str) -> Any:
    """A number or vector of `World.compute_step_metrics`."""
    return reading(lambda world: getattr(world.compute_step_metrics(), name), doc)


def _whole_vector(name: str, doc: str, **which: bool) -> Quantity[Array, VectorLike]:
    """State or controls of everything as one vector."""
    return quantity(
        lambda world: state_vectors.get_vector(world, **which),
        lambda world, value: state_vectors.set_vector(world, value, name, **which),
        doc,
    )


@known_kind
class World(KnownNames):
    """A simulated world.

    Args:
        time_step: [s], positive.
        gravity: [m/s^2], (3,); (0, 0, -9.81) when None.
        differentiable: whether derivatives of steps may be requested; see `get_step_derivatives`.
        rigid_body_solver: method for free rigid bodies.
        multibody_options: how multibodies are integrated.
        contact_solver_method: how constraints are solved.
        contact_gradient_mode: which derivative of contact is returned.
        compute_accelerator_policy: where work may run.
        deactivation_options: when resting islands fall asleep.
        dtype: scalar of all arrays; float64 is what there is.
        strict_solver_resolution: refuse to step where another method would stand in for the requested one;
            see `resolved_configuration`.
        divergence_policy, divergence_limit: what happens when a step diverges, and beyond which coordinate,
            velocity, acceleration or activation it has (SI units).
        contact_sweeps: sweeps of sequential impulses in a step at most; 0 goes on until contacts are solved.
        fixed_layout: step with the bits of a world in lanes of a `WorldBatch`.
        sensor_noise_seed: has sensors read with their noise; None reads them without.
        sensor_noise_world: index of the World in that noise, such as its index in a batch.
        options: all of the above as one value; other arguments must then be left out.

    One thread at a time may use a World and its handles; while a step runs in another thread, every call
    raises `BusyError`. `copy.deepcopy` and pickle make Worlds of their own; see `clone`.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World(time_step=0.001)
        >>> box = world.add_rigid_body("box", mass=1.0, position=(0.0, 0.0, 0.5))
        >>> world.step(n=100)
        >>> round(world.time, 9), box.translation.round(7).tolist()
        (0.1, [0.0, 0.0, 0.4504595])
    """

    @shared_keywords(WorldKeywords, **WORLD_DEFAULTS)
    def __init__(
        self,
        time_step: float = 0.001,
        *,
        options: WorldOptions | None = None,
        **keywords: Unpack[WorldKeywords],
    ) -> None:
        given = WorldOptions(time_step, **keywords)
        if options is not None:
            if not isinstance(options, WorldOptions):
                raise values.ShapeError(f"options must be a WorldOptions, got {options!r}")
            if given != WorldOptions():
                raise ArgumentError("give World its options as one value or as keywords, not both")
            given = options.copy()
        self._start(given)

    def _start(self, options: WorldOptions, scene: Scene | None = None) -> None:
        """An empty world in design mode; `scene` is what it is going to be filled with."""
        self._replay = Replay(self)
        self._recorder: Replay | None = None
        self._job: StepJob | None = None
        self._layout_edits = 0
        """Grows with every change that handles make to the description alone."""
        self._settings = Settings(self)
        self._connections = Connections(self)
        self._ignored_pairs = IgnoredPairs(self)
        self._balance = WorldBalance(self)
        self._inspection = StepInspection(self)
        self._parameters: list[physical_parameters.Parameter] = []
        self._options = options
        self._functions = step_functions.StepFunctions(self)
        if scene is None:
            scene = Scene()
            scene_options.set_contact_defaults(scene)
        self._scene = scene
        self._runtime: Runtime | None = None
        self._compiling = threading.Lock()
        self._observers: set[int] = set()
        """Threads that look at this World and leave compiling it to the others."""
        self._carried: Snapshot | None = None
        self._cloned: Runtime | None = None
        self._simulating = False
        self._checked = False
        self._validated = False
        self._editing = False
        self._time_start = 0.0
        self._initial: Snapshot | None = None
        self._initial_time = 0.0
        self._numbers: dict[str, int] = dict.fromkeys(_COUNTERS, 0)
        self._rigid_bodies: dict[str, RigidBody] = {}
        self._multibodies: dict[str, Multibody] = {}
        self._frames: dict[str, FixedFrame | FreeFrame] = {}
        self._loop_closures: dict[str, LoopClosure] = {}
        self._sensors: dict[str, Sensor] = {}
        self._markers: dict[int, Marker] = {}
        self._closure_projection = closure_projection.ClosureProjectionOptions()
        self._projection: closure_projection.Kept | None = None
        self._projection_report: closure_projection.ClosureProjectionReport | None = None
        self._touching: list[step_report.Touch] | None = None
        """Pairs that touched before the topology changed, until the World is compiled again."""
        self._ended: list[step_report.ContactEvent] = []
        """Contacts that ended before the last call of steps because a body was removed."""
        self._ended_since: list[step_report.ContactEvent] = []
        """The same since that call."""

    def _parts(self) -> tuple[Settings, Connections, IgnoredPairs, WorldBalance, StepInspection]:
        """Parts whose state an `edit()` that fails takes back."""
        return self._settings, self._connections, self._ignored_pairs, self._balance, self._inspection

    # ---- objects

    def add_rigid_body(
        self,
        name: str = "",
        options: RigidBodyOptions | None = None,
        *,
        mass: float | None = None,
        inertia: InertiaLike | None = None,
        position: VectorLike | None = None,
        orientation: VectorLike | None = None,
        linear_velocity: VectorLike | None = None,
        angular_velocity: VectorLike | None = None,
        fixed: bool | None = None,
        kinematic: bool = False,
        center_of_mass: VectorLike | None = None,
    ) -> RigidBody:
        """A new rigid body; keywords override the options.

        Args:
            name: unique; made up when empty.
            options: how it starts.
            mass, inertia, position, orientation, linear_velocity, angular_velocity, center_of_mass: as in
                RigidBodyOptions; an `Inertia` stands for mass, inertia and centre of mass.
            fixed: the body never moves.
            kinematic: the body follows its velocity and feels no forces.
        """
        who = f"rigid body '{name}'" if isinstance(name, str) and name else "a rigid body"
        chosen = overridden(who, RigidBodyOptions(), options, mass, inertia, center_of_mass)
        given = {
            "position": position,
            "orientation": orientation,
            "linear_velocity": linear_velocity,
            "angular_velocity": angular_velocity,
            "is_static": fixed,
        }
        for field, value in given.items():
            if value is not None:
                setattr(chosen, field, value)
        return construction.add_rigid_body(self, name, chosen, kinematic)

    def add_multibody(self, name: str = "") -> Multibody:
        """A new multibody without links."""
        return construction.add_multibody(self, name, Multibody)

    def add_free_frame(self, name: str = "", *, parent: Frame | None = None) -> FreeFrame:
        """A named frame that may be placed at any time; on the world when `parent` is None."""
        made = construction.add_frame(self, name, parent, None, free=True)
        assert isinstance(made, FreeFrame)
        return made

    def add_fixed_frame(self, name: str, parent: Frame, offset: TransformLike | None = None) -> FixedFrame:
        """A named frame with a constant pose (4x4) in a body, link or frame."""
        made = construction.add_frame(self, name, parent, offset, free=False)
        assert isinstance(made, FixedFrame)
        return made

    def add_loop_closure(
        self,
        *given: str | LoopClosureSpec | None,
        name: str | None = None,
        spec: LoopClosureSpec | None = None,
        frame_a: Frame | None = None,
        frame_b: Frame | None = None,
        family: kinds.LoopClosureFamily | None = None,
        offset_a: TransformLike | None = None,
        offset_b: TransformLike | None = None,
        distance: float | None = None,
        allow_collision: bool | None = None,
    ) -> LoopClosure:
        """A closure between two frames, from a spec or from keywords; see `LoopClosureSpec`.

        Args:
            given: the name, the spec, or both in this order; both may be keywords.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box, ball = world.add_rigid_body("box"), world.add_rigid_body("ball")
            >>> spec = sx.LoopClosureSpec(box, ball, sx.LoopClosureFamily.POINT)
            >>> world.add_loop_closure(spec, name="pin").name
            'pin'
            >>> world.add_loop_closure("weld", frame_a=box, frame_b=ball).name
            'weld'
        """
        ends = {
            "frame_a": frame_a,
            "frame_b": frame_b,
            "family": family,
            "offset_a": offset_a,
            "offset_b": offset_b,
            "distance": distance,
            "allow_collision": allow_collision,
        }
        ends = {key: value for key, value in ends.items() if value is not None}
        return loop_closure.add_loop_closure(self, *loop_closure.name_and_spec(given, name, spec, ends))

    def remove(self, item: removal.Removable) -> None:
        """Take an object out, in design mode or within `edit()`, with all that stands on it or refers to it.

        Frames and closures on a body go with it, and so do actuators, sensors and constraints of the
        description. Their handles are dead from then on.
        """
        removal.remove(self, item)

    def edit(self) -> AbstractContextManager[World]:
        """A block in which objects may be added and removed although time has passed.

        At its end everything is checked; state is carried over by object, handles of what stays are alive,
        those of what went are dead. When anything in the block raises, or the check fails, the World is as
        it was. Steps wait until the block is over, and blocks do not nest. `reset` leads what was there to
        its old start, and what was added to how it was added.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> world.step(n=10)
            >>> with world.edit():
            ...     ball = world.add_rigid_body("ball", position=(0, 0, 1))
            >>> world.frame, world.rigid_bodies.names, box.is_valid
            (10, ['box', 'ball'], True)
        """
        return edit.edit(self)

    # ---- files and descriptions

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        *,
        read_options: ReadOptions | None = None,
        options: WorldOptions | None = None,
    ) -> World:
        """A World from an MJCF, URDF, SDF or MSD file.

        Args:
            path: the file, or its `file://` URI.
            read_options: how it is read.
            options: of the World; those the file requests when None.

        Raises:
            SceneError: everything that is wrong with the file.
        """
        return loading.world_of_file(cls, path, read_options, options)

    @classmethod
    def from_scene(cls, scene: Scene, *, options: WorldOptions | None = None) -> World:
        """A World from a description, which is copied; state that `to_scene` wrote comes back exactly.

        Example:
            >>> from worldline import msd, simulation as sx
            >>> scene = msd.from_str(
            ...     "<mujoco><worldbody><body name='bob'><joint name='hinge' axis='0 1 0'/>"
            ...     "<geom size='0.1' pos='0 0 -1'/></body></worldbody></mujoco>", format="mjcf")
            >>> sx.World.from_scene(scene).multibodies["bob"].joints.names
            ['hinge']
        """
        return loading.new_world(cls, loading.read_scene(scene), options)

    def to_scene(self) -> Scene:
        """A description with all objects, the options and the state; a copy.

        State is the keyframe `worldline:state`: coordinates, velocities, commands, controls of actuators,
        persistent wrenches and time, to the last bit. The number of steps, one-shot forces and
        accelerations belong to the run and stay here; `save_binary` keeps those too.
        """
        return loading.to_scene(self)

    def add_scene(
        self,
        source: SceneSource,
        *,
        prefix: str = "",
        suffix: str = "",
        translation: VectorLike | None = None,
        rotation: VectorLike | None = None,
        at: Link | None = None,
        read_options: ReadOptions | None = None,
    ) -> LoadResult:
        """Add everything of a description or a file; on error nothing changes.

        Args:
            source: a description, a path, or a `file://` URI.
            prefix: put before every name that comes.
            suffix: put after every name that comes.
            translation: where the world of the source comes to lie [m], (3,).
            rotation: how it is turned, xyzw, (4,).
            at: link that takes the place of that world; what comes then belongs to its multibody.
            read_options: how a file is read.
        """
        return loading.add_scene(self, source, read_options, prefix, suffix, translation, rotation, at)

    report: Reading[Report] = attribute(
        "_scene.report", "What was approximated or left out on the way into this World."
    )

    # ---- lifecycle

    def validate_topology(self) -> None:
        """Check everything that entering simulation mode checks, and change nothing."""
        self._live()
        loop_closure.require_initially_closed(self)

    def enter_simulation_mode(self) -> None:
        """End design mode: check everything, compile, and remember the state that `reset` returns to."""
        self._require_no_edit("entering simulation mode")
        if self._simulating:
            raise OperationError("the World is already in simulation mode")
        self.validate_topology()
        self._simulating = True
        self._remember()

    def _remember(self) -> None:
        self._initial = self._live().snapshot()
        self._initial_time = self.time

    def reset(self) -> None:
        """Back to the state, commands, time and frame at which simulation mode was entered."""
        self._require_no_edit("reset")
        if not self._simulating or self._initial is None:
            raise OperationError("reset needs simulation mode; enter_simulation_mode() or step() first")
        self._live().reset(self._initial)
        self._set_time(self._initial_time)

    def clear(self) -> None:
        """An empty world in design mode with the options a new World has; all handles become invalid."""
        self._require_idle()
        self._require_no_edit("clear")
        kill_handles(self, "its World was cleared")
        self._start(WorldOptions())

    @overload
    def step(
        self, n: int = 1, *, executor: ComputeExecutor | None = None, options: StepOptions | None = None
    ) -> None: ...
    @overload
    def step(self, executor: ComputeExecutor, n: int = 1, /) -> None: ...
    @overload
    def step(self, executor: ComputeExecutor, /, *, n: int = 1) -> None: ...
    def step(
        self,
        *given: int | ComputeExecutor,
        n: int = 1,
        executor: ComputeExecutor | None = None,
        options: StepOptions | None = None,
    ) -> None:
        """Advance time by `n` steps, complete on return; enters simulation mode when n is positive.

        Interrupting with Ctrl-C stops between two steps. A step beyond `divergence_limit` is taken back and
        raises `StepFailure`, which names body and quantity, unless `divergence_policy` says otherwise.

        Args:
            n: number of steps.
            executor: who does the work, before `n` or by name; this thread when None. A `ParallelExecutor`
                solves independent islands on several threads; see its `step`.
            options: the number of steps and more as one value; `n` must then be left out.
        """
        if given:
            n, executor = step_arguments(given, n, executor)
        if options is not None:
            if n != 1:
                raise ArgumentError("give step its number of steps in the options or as n, not both")
            self._inspection.step_with(options, executor)
            return
        if executor is not None:
            require_executor(executor).step(self, n)
            return
        if n.__class__ is not int or n >> 63:
            n = values.count(n, "n of step")
        if n <= 0:
            if n < 0:
                raise ArgumentError(f"step needs a non-negative step count, got {n}")
            return
        runtime = self._runtime
        if runtime is None or not self._checked:
            runtime = self._ready()
        self._begin_call(runtime)
        if self._recorder is not None:
            self._inspection.step_recorded(runtime, n)
            return
        guard = runtime.guard
        if guard.busy:
            guard.take()
            self._require_current(runtime)
        # no call since the runtime was looked up, so no other thread either
        guard.busy = STEP
        try:
            runtime.step(n)
        finally:
            guard.busy = FREE

    def _begin_call(self, runtime: Runtime) -> None:
        """A call of steps begins: contact events from before it are dropped."""
        if self._ended or self._ended_since:
            self._ended, self._ended_since = self._ended_since, []
        log = runtime.sim.contact_log
        if log is not None:
            log.start(int(runtime.sim.clock.item(0)))

    def _prepared(self) -> Runtime:
        """What `_ready` returns, without looking again at what has not changed."""
        runtime = self._runtime
        return self._ready() if runtime is None or not self._checked else runtime

    def _ready(self) -> Runtime:
        """In simulation mode, compiled, and with all that is requested available."""
        self._require_no_edit("a step")
        if not self._simulating:
            self.validate_topology()
        # a request that cannot be met leaves the World in the mode it is in
        requirements.require_step(self)
        if not self._simulating:
            self.enter_simulation_mode()
        self._checked = True
        return self._live()

    # ---- time, gravity and the choice of methods

    @property
    def time_step(self) -> float:
        """[s]"""
        return self._options.time_step

    @time_step.setter
    def time_step(self, value: float) -> None:
        time = self.time
        self._settings.set("time_step", value)
        self._set_time(time)

    @property
    def time(self) -> float:
        """Simulated time [s]: what was last set, and the time step for every step since."""
        return self._time_start + self._clock().item(1) * self._options.time_step

    @time.setter
    def time(self, value: float) -> None:
        self._require_idle()
        self._set_time(values.non_negative(value, "World time"))

    @property
    def frame(self) -> int:
        """Number of steps made."""
        return int(self._clock().item(0))

    @property
    def gravity(self) -> Array:
        """[m/s^2], (3,)."""
        return self._options.gravity

    @gravity.setter
    def gravity(self, value: VectorLike) -> None:
        self._settings.set("gravity", value)

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
        self._write_actuators("control", value)
        self._live().controls_written()

    def _write_actuators(self, name: str, value: VectorLike) -> None:
        """Numbers of actuators into an array of the runtime."""
        self._require_idle()
        array: Array = getattr(self._live(), name)
        array[:] = values.dof_vector(value, len(array), f"actuator {name}s")

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
        self._write_actuators("activation", value)

    dtype: Reading[np.dtype[np.float64]] = attribute(
        "_options.dtype", "The scalar of all arrays: double precision."
    )

    is_simulation_mode: Reading[bool] = attribute(
        "_simulating", "False while objects may be added and removed, True once time passes."
    )

    is_differentiable: Reading[bool] = attribute("_options.differentiable", "Whether steps can be derived.")

    @property
    def options(self) -> WorldOptions:
        """All options as one value; a copy."""
        return self._options.copy()

    rigid_body_solver: Quantity[kinds.RigidBodySolver, kinds.RigidBodySolver] = option(
        "rigid_body_solver", "Method for free rigid bodies."
    )

    multibody_options: Quantity[MultibodyOptions, MultibodyOptions] = option(
        "multibody_options", "How multibodies are integrated; a copy, assign it back to change it."
    )

    contact_solver_method: Quantity[kinds.ContactSolverMethod, kinds.ContactSolverMethod] = option(
        "contact_solver_method",
        "How constraints are solved; see `ContactSolverMethod`. `step_report().methods` counts what ran.",
    )

    contact_gradient_mode: Quantity[kinds.ContactGradientMode, kinds.ContactGradientMode] = option(
        "contact_gradient_mode", "Which derivative of contact is returned."
    )

    compute_accelerator_policy: Quantity[kinds.ComputeAcceleratorPolicy, kinds.ComputeAcceleratorPolicy] = (
        option("compute_accelerator_policy", "Where work may run.")
    )

    deactivation_options: Quantity[DeactivationOptions, DeactivationOptions] = option(
        "deactivation_options", "When resting islands fall asleep; a copy, assign it back to change it."
    )

    deactivation_enabled: Reading[bool] = attribute(
        "_options.deactivation_options.enabled", "Whether resting islands fall asleep."
    )

    strict_solver_resolution: Quantity[bool, bool] = option(
        "strict_solver_resolution",
        """Whether only the requested methods may run.

        `contact_solver_method` then solves islands of any size, also those that another method would solve
        faster or in less memory, and no other method is tried where it does not converge. What has no such
        method (an accelerator) is refused before the first step.
        """,
    )

    contact_sweeps: Quantity[int, int] = option(
        "contact_sweeps",
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

    fixed_layout: Quantity[bool, bool] = option(
        "fixed_layout",
        """Whether rows of contacts, limits and friction have the fixed layout of worlds in lanes.

        The World then has the bits of its lane in a `WorldBatch`, contacts included: all pairs of shapes that
        may touch have rows of their own, one method solves all of them at once, and it starts from the forces
        of the last step. Steps agree with those in islands to the tolerance of the solver and take longer
        where there are many shapes. Hard contacts are solved once; see the page on the step. What lanes do
        not have is refused by name before the first step. Chosen in design mode.

        Example:
            >>> import numpy as np
            >>> from worldline import simulation as sx
            >>> world = sx.World(fixed_layout=True)
            >>> _ = world.add_ground_plane()
            >>> ball = world.add_rigid_body("ball", position=(0, 0, 0.1))
            >>> _ = ball.add_collision_shape(sx.CollisionShape.sphere(0.1))
            >>> batch = sx.WorldBatch(world, 5)
            >>> world.step(50)
            >>> batch.step(50)
            >>> batch.layout, bool((batch.rigid_bodies["ball"].translation[3] == ball.translation).all())
            ('lanes', True)
        """,
    )

    sensor_noise_seed: Quantity[int | None, int | None] = option(
        "sensor_noise_seed",
        """Seed of the noise of sensors; None, the default, reads them without noise.

        Noise is Gaussian with the standard deviation of the sensor (`Sensor.noise`). It follows from the
        seed, `sensor_noise_world`, `frame`, the name of the sensor and the number of the component, and from
        nothing else: reading twice in a frame gives the same numbers, and so do replays, clones and saved
        Worlds. After `reset` the same frames have the same noise; another seed gives other noise.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(sensor_noise_seed=3)
            >>> box = world.add_rigid_body("box", fixed=True)
            >>> unit = world.sensors.add_imu("unit", attach_to=box, noise=0.1)
            >>> first, again = unit.value, unit.value
            >>> (first == again).all(), abs(first[2] - 9.81) < 0.6, first[3:].tolist()
            (np.True_, np.True_, [0.0, 0.0, 0.0])
        """,
    )

    sensor_noise_world: Quantity[int, int] = option(
        "sensor_noise_world",
        """Index of the World in the noise of its sensors: Worlds of other indices have independent noise.

        World i of a batch has the index of the World that the batch is made of, plus i.
        """,
    )

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

    divergence_policy: Quantity[DivergencePolicy, DivergencePolicy | str] = option(
        "divergence_policy", 'What happens when a step diverges; also set from its text, such as "freeze".'
    )

    divergence_limit: Quantity[float, float] = option(
        "divergence_limit",
        "Largest coordinate, velocity, acceleration and activation that a step may end with, SI units.",
    )

    @property
    def resolved_configuration(self) -> tuple[requirements.ResolvedOption, ...]:
        """What was requested, what a step makes of it, and why."""
        return requirements.resolved_configuration(self)

    # ---- objects by kind, name and number

    @property
    def rigid_bodies(self) -> RigidBodyCollection:
        """All rigid bodies in construction order."""
        return RigidBodyCollection("rigid body", lambda: self._rigid_bodies)

    @property
    def multibodies(self) -> NamedCollection[Multibody]:
        """All multibodies in construction order."""
        return NamedCollection("multibody", lambda: self._multibodies)

    @property
    def loop_closures(self) -> LoopClosureCollection:
        """All loop closures in construction order."""
        return LoopClosureCollection("loop closure", lambda: self._loop_closures)

    @property
    def closure_projection(self) -> ClosureProjectionOptions:
        """How closures with the policy PROJECT are closed; a copy, assign it back to change it.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> world.closure_projection = sx.ClosureProjectionOptions(tolerance=1e-8)
            >>> world.closure_projection.tolerance
            1e-08
        """
        return self._closure_projection.copy()

    @closure_projection.setter
    def closure_projection(self, value: ClosureProjectionOptions) -> None:
        closure_projection.set_options(self, value)

    @property
    def closure_projection_report(self) -> ClosureProjectionReport | None:
        """What the last projection of closures did, up to date; None when there was none."""
        self._live()
        return self._projection_report

    def independent_coordinates(
        self,
        independent: Iterable[Joint | DegreeOfFreedom] | Joint | DegreeOfFreedom | None = None,
        *,
        closures: Iterable[LoopClosure] | LoopClosure | None = None,
    ) -> independents.IndependentCoordinates:
        """The World as a closed mechanism of as many coordinates as it has freedoms: a view of its own.

        Trees, closures and their numbers of degrees of freedom stay what they are.

        Args:
            independent: joints or degrees of freedom whose velocities determine all others; None for those
                that do so best at the present coordinates.
            closures: which closures count; all that are enabled when None. They must be closed.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(gravity=(0, 0, 0))
            >>> carts = world.add_multibody("carts")
            >>> base = carts.add_link("base")
            >>> for name in "ab":
            ...     spec = sx.JointSpec(name, sx.JointType.PRISMATIC, axis=(1, 0, 0))
            ...     cart = carts.add_link(name, base, spec, mass=2.0)
            >>> rod = world.add_loop_closure("rod", frame_a=carts.links["a"], frame_b=carts.links["b"])
            >>> reduced = world.independent_coordinates(carts.joints["a"])
            >>> reduced.mass_matrix.tolist(), reduced.forward_dynamics([8.0]).tolist()
            ([[4.0]], [2.0])
        """
        return independents.independent_coordinates(self, closures, independent)

    @property
    def frames(self) -> NamedCollection[FixedFrame | FreeFrame]:
        """All named frames in construction order."""
        return NamedCollection("frame", lambda: self._frames)

    @property
    def sensors(self) -> SensorCollection:
        """All sensors of the description in the order of their readings; `values` reads all at once."""
        return SensorCollection(self)

    @property
    def markers(self) -> NamedCollection[Marker]:
        """All named places on bodies and on the world; sites of a file are among them."""
        return NamedCollection("marker", lambda: marker.markers_by_name(self))

    def add_marker(
        self,
        name: str = "",
        parent: Frame | None = None,
        *,
        position: VectorLike = (0.0, 0.0, 0.0),
        orientation: VectorLike = (0.0, 0.0, 0.0, 1.0),
        shape: SiteShape = SiteShape.Sphere,
        size: VectorLike = (0.01, 0.0, 0.0),
        rgba: VectorLike = (0.5, 0.5, 0.5, 1.0),
    ) -> Marker:
        """A named place without mass, in design mode or within `edit()`.

        Args:
            name: unique among the markers; made up when empty.
            parent: rigid body or link it moves with; the world when None.
            position: in the parent [m], (3,).
            orientation: in the parent, xyzw, (4,).
            shape: a member of `worldline.msd.SiteShape`.
            size: half sizes [m], (3,).
            rgba: colour and opacity, 0 to 1, (4,).
        """
        world = self
        return marker.add_marker(world, name, parent, position, orientation, shape, size, rgba)

    num_rigid_bodies: Reading[int] = length("_rigid_bodies", "Number of rigid bodies.")

    num_multibodies: Reading[int] = length("_multibodies", "Number of multibodies.")

    num_loop_closures: Reading[int] = length("_loop_closures", "Number of loop closures.")

    @property
    def num_dofs(self) -> int:
        """Degrees of freedom of all multibodies."""
        return sum(robot.num_dofs for robot in self._multibodies.values())

    def get_rigid_body(self, name: str) -> RigidBody | None:
        """The rigid body of that name, or None."""
        return self._rigid_bodies.get(values.key(name, "name of a rigid body"))

    def get_multibody(self, name: str) -> Multibody | None:
        """The multibody of that name, or None."""
        return self._multibodies.get(values.key(name, "name of a multibody"))

    def get_loop_closure(self, name: str) -> LoopClosure | None:
        """The loop closure of that name, or None."""
        return self._loop_closures.get(values.key(name, "name of a loop closure"))

    def get_frame(self, name: str) -> FixedFrame | FreeFrame | None:
        """The named frame of that name, or None."""
        return self._frames.get(values.key(name, "name of a frame"))

    def get_rigid_body_names(self) -> list[str]:
        """Names of all rigid bodies, sorted."""
        return sorted(self._rigid_bodies)

    def has_rigid_body(self, name: str) -> bool:
        """Whether there is a rigid body of that name."""
        return isinstance(name, str) and name in self._rigid_bodies

    def has_multibody(self, name: str) -> bool:
        """Whether there is a multibody of that name."""
        return isinstance(name, str) and name in self._multibodies

    def has_loop_closure(self, name: str) -> bool:
        """Whether there is a loop closure of that name."""
        return isinstance(name, str) and name in self._loop_closures

    def has_frame(self, name: str) -> bool:
        """Whether there is a named frame of that name."""
        return isinstance(name, str) and name in self._frames

    def _own_frame(self, frame: object, what: str) -> None:
        """Refuse what is no frame, dead, or of another world."""
        if not isinstance(frame, Frame):
            raise values.ShapeError(f"{what} must be a frame, body or link, got {frame!r}")
        frame._require_alive()
        if not frame.is_world and frame._world is not self:
            raise ArgumentError(
                f"{what} '{frame.name}' belongs to a different world; only frames of this World can be used"
            )

    def _clone_multibody(
        self, robot: Multibody, name: str, translation: VectorLike, rotation: VectorLike
    ) -> Multibody:
        """See `Multibody.clone`."""
        return cloning.clone_multibody(robot, name, translation, rotation)

    def _add_end_effector(
        self, robot: Multibody, name: str, link: Link, offset: TransformLike | None
    ) -> EndEffector:
        """See `Multibody.add_end_effector`."""
        return end_effector.add_end_effector(robot, name, link, offset)

    def _require_idle(self) -> None:
        """Refuse while a job owns the World or another thread steps or compiles it."""
        if self._job is not None:
            self._job._refuse()
        runtime = self._runtime
        if runtime is not None and runtime.guard.busy:
            runtime.guard.wait()
        if self._compiling.locked():
            raise BusyError("another thread compiles this World; one thread at a time may use a World")

    # ---- time

    def _clock(self) -> Array:
        """Steps since the start and since time was set; while a job runs, as they were when it started."""
        runtime = self._runtime
        if runtime is not None:
            # one number that a step writes last: other threads may look how far it is
            return runtime.sim.clock
        if self._job is not None:
            return self._job._clock
        return np.zeros(2) if self._carried is None else self._carried.clock

    def _set_time(self, time: float, /) -> None:
        self._time_start = time
        if self._runtime is not None:
            self._runtime.sim.clock[1] = 0.0
        elif self._carried is not None:
            self._carried.clock[1] = 0.0

    # ---- state by name

    def state_space(self) -> StateSpace:
        """The variables of the World's whole state, finalized.

        `<rigid body>.pose` (position [m], xyzw) of every rigid body, `<multibody>.q` of every multibody; then
        `<rigid body>.velocity` (of the origin in world axes [m/s], angular in body axes [rad/s]) and
        `<multibody>.dq`; then `<actuator>.activation` of every actuator that has one. Bounds of q are the
        position limits, those of dq the velocity limits, those of activations the ranges that the scene
        gives. Spaces made by hand may also name single joints, `arm.elbow.q`.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> world.state_space().variable_names
            ['box.pose', 'box.velocity']
        """
        return state_vectors.own_space(self, control=False, rigid_only=False)

    def control_space(self) -> StateSpace:
        """The variables of the World's controls, finalized.

        `<rigid body>.wrench` (persistent torque [N m], then force at the centre of mass [N], world axes),
        `<multibody>.force` (commanded efforts), and `<actuator>.control` of every actuator of the scene, with
        its control range as bounds. Spaces made by hand may also name `<multibody>.target_position`,
        `.target_velocity`, `.command_acceleration`, and the same of single joints.

        Example:
            >>> from worldline import msd
            >>> from worldline import simulation as sx
            >>> scene = msd.from_str('''<mujoco><worldbody><body name="arm"><joint name="j"/>
            ...   <geom size="0.1"/></body></worldbody><actuator><motor name="m" joint="j"/></actuator>
            ...   </mujoco>''', format="mjcf")
            >>> world = sx.World.from_scene(scene)
            >>> world.control_space().variable_names, len(world.control_vector)
            (['arm.force', 'm.control'], 2)
        """
        return state_vectors.own_space(self, control=True, rigid_only=False)

    def get_state(self, space: StateSpace) -> WorldState:
        """A copy of the state that the variables of a finalized space name.

        A state of the whole World, one with the variables of `state_space()`, also remembers where the solver
        goes on from it: unless its numbers are changed, `set_state` continues bit for bit.
        """
        return state_vectors.get_state(self, space)

    def set_state(self, state: WorldState) -> None:
        """Write a whole state at once; on error nothing changes.

        Numbers must be finite. Quaternions are made unit. Bounds are not enforced: see
        `WorldState.is_within_bounds`. What the space does not name stays as it is, such as time, commands,
        and joints that broke.
        """
        state_vectors.set_state(self, state)

    def get_control(self, space: StateSpace) -> WorldControl:
        """A copy of the controls that a finalized space names; of a space of state, those of its owners."""
        return state_binding.get_control(self, space)

    def set_control(self, control: WorldControl) -> None:
        """Write controls at once; on error nothing changes."""
        state_binding.put(self, control, control=True)

    # ---- state as vectors

    state_vector = _whole_vector(
        "state_vector",
        """All state as one vector in the layout of `state_space()`, x = [q; qdot; activations].

        A rigid body has 7 numbers (position, xyzw) and 6 velocities: the whole pose, not only where it is.
        Writing back what was just read changes nothing, so the World continues bit for bit. A vector that is
        written later is the same mechanical state, but the solver starts from other forces, so contacts agree
        to the tolerance of the solver only; `get_state` and `set_state`, replay frames and `clone` keep the
        start of the solver too.
        """,
    )
    control_vector = _whole_vector(
        "control_vector",
        "All controls as one vector in the layout of `control_space()`, (num_efforts,).",
        control=True,
    )
    rigid_body_state_vector = _whole_vector(
        "rigid_body_state_vector",
        "Poses of all rigid bodies, then their velocities, (13 num_rigid_bodies,).",
        rigid_only=True,
    )
    rigid_body_control_vector = _whole_vector(
        "rigid_body_control_vector",
        "Persistent torque, then force of every rigid body, world axes, (num_rigid_body_efforts,).",
        control=True,
        rigid_only=True,
    )

    @property
    def num_efforts(self) -> int:
        """Length of `control_vector`: 6 per rigid body, the dofs of the multibodies, and one per actuator."""
        return self.num_rigid_body_efforts + self.num_dofs + len(self.actuator_controls)

    @property
    def num_rigid_body_dofs(self) -> int:
        """Degrees of freedom of the rigid bodies: 6 each."""
        return 6 * self.num_rigid_bodies

    @property
    def num_rigid_body_efforts(self) -> int:
        """Length of `rigid_body_control_vector`: 6 per rigid body."""
        return 6 * self.num_rigid_bodies

    # ---- replay

    replay: Reading[Replay] = attribute("_replay", "Recorded frames, their branches, labels and checks.")

    @property
    def replay_recording_enabled(self) -> bool:
        """Whether every completed step leaves a frame; turning it on starts anew with the present state."""
        return self._replay.enabled

    @replay_recording_enabled.setter
    def replay_recording_enabled(self, value: bool) -> None:
        self._require_idle()
        self._replay.enabled = value

    replay_frame_count: Reading[int] = attribute("_replay.frame_count", "Frames on the current branch.")

    replay_cursor: Reading[int | None] = attribute(
        "_replay.cursor", "The frame last recorded or restored; None before recording."
    )

    def get_replay_frame_time(self, index: int) -> float:
        """Simulated time of a frame of the current branch [s]."""
        return self._replay.frame_time(index)

    def get_replay_simulation_frame(self, index: int) -> int:
        """`World.frame` at a frame of the current branch."""
        return self._replay.simulation_frame(index)

    def restore_replay_frame(self, index: int) -> None:
        """Make the World what it was at a frame of the current branch, and continue from there.

        Raises:
            ReplayIndexError: there is no such frame.
            LayoutError: the World is not built as it was; says what changed, and nothing is restored.
        """
        self._replay.restore(index)

    def clear_replay_recording(self) -> None:
        """Forget all frames; when recording, the present state becomes frame 0."""
        self._require_idle()
        self._replay.clear()

    def verify_replay(self, branch: str | None = None) -> ReplayCheck:
        """Simulate a branch again, the current one when None, and compare every frame bit for bit."""
        return self._replay.verify(branch)

    @property
    def recording(self) -> Recording:
        """The frames of the current branch as arrays; a copy."""
        return self._replay.recording()

    # ---- keyframes

    @property
    def keyframes(self) -> list[str]:
        """Names of the states that the scene brought along."""
        return keyframes.names(self)

    def apply_keyframe(self, name: str) -> None:
        """Take everything a keyframe of the scene holds.

        That is coordinates, velocities, the time if it has one, controls and activations of actuators, poses
        of mocap bodies, commands, targets and persistent wrenches; what it leaves open is as at the start.
        """
        keyframes.apply(self, name)

    # ---- other ways to let time pass

    def start_step(self, n: int = 1) -> StepJob:
        """Step in the background; see `StepJob` for progress, cancelling and when results can be seen."""
        return jobs.start_step(self, n)

    async def step_async(self, n: int = 1) -> int:
        """Step without holding up the event loop; returns the number of steps made.

        Cancelling the task stops at the end of a step and leaves the World there.

        Example:
            >>> import asyncio
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> asyncio.run(world.step_async(n=100)), world.frame
            (100, 100)
        """
        return await jobs.step_async(self, n)

    def step_kinematics(
        self,
        n: int = 1,
        update_collision: bool = False,
        update_sensors: bool = False,
        clearance_range: float | None = None,
    ) -> KinematicsReport:
        """Let time pass for motion that is written from outside: a kinematics-only tick.

        Time advances by n time steps and `frame` by n; positions, velocities, forces and commands stay what
        was written. Poses are up to date on return. When recording, every tick leaves a frame. Enters
        simulation mode when n is positive.

        Args:
            n: number of ticks.
            update_collision: also look for contacts and for the closest pair of bodies, for the report.
            update_sensors: also read the sensors of places and velocities, which are up to date anyway;
                refused when one of them cannot be read. Those of forces are left alone: a tick has none.
            clearance_range: with `update_collision`, also report the clearance of every pair of bodies closer
                than this [m], of those that a step lets collide.

        Returns:
            Residuals of closures, and with `update_collision` clearances and contacts, at the end.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(time_step=0.5)
            >>> box = world.add_rigid_body("box")
            >>> box.translation = (1, 2, 3)
            >>> world.step_kinematics(n=4)
            KinematicsReport(frame 4)
            >>> world.time, world.frame, box.translation.tolist()
            (2.0, 4, [1.0, 2.0, 3.0])
        """
        return kinematics_report.step_kinematics(self, n, update_collision, update_sensors, clearance_range)

    def __repr__(self) -> str:
        mode = "simulation" if self._simulating else "design"
        return (
            f"World({mode} mode, time {self.time:g} s, {self.num_rigid_bodies} rigid bodies, "
            f"{self.num_multibodies} multibodies)"
        )

    # ---- everything at once: energy, momentum, centre of mass, balance

    def compute_step_metrics(self) -> StepMetrics:
        """Energy, momentum and what the last step's solver did; changes nothing."""
        return metrics.compute_step_metrics(self)

    kinetic_energy: Reading[float] = _metric("kinetic_energy", "Of everything that moves [J].")
    potential_energy: Reading[float] = _metric(
        "potential_energy", "In the gravity field, zero at the world's origin, and in joint springs [J]."
    )
    linear_momentum: Reading[Array] = _metric("linear_momentum", "World axes [kg m/s], (3,).")
    angular_momentum: Reading[Array] = _metric(
        "angular_momentum", "About the world's origin, world axes [kg m^2/s], (3,)."
    )

    @property
    def center_of_mass(self) -> Array:
        """World frame [m], (3,); the origin when nothing has mass."""
        return metrics.center_of_mass(self)

    get_support_polygon = of_part("_balance", WorldBalance.get_support_polygon)

    get_zero_moment_point = of_part("_balance", WorldBalance.get_zero_moment_point)
    get_balance_margin = of_part("_balance", WorldBalance.get_balance_margin)

    # ---- contacts

    def add_ground_plane(
        self,
        height: float = 0.0,
        *,
        friction: float = shapes.FRICTION,
        restitution: float = shapes.RESTITUTION,
    ) -> str:
        """A plane across the whole world at z = height [m], solid below; returns its name.

        It belongs to no body: in contacts it is None.

        Args:
            height: [m].
            friction: coefficient of dry friction; pairs use the geometric mean.
            restitution: share of the closing speed that returns, 0 to 1; pairs use the larger.
        """
        return shapes.add_ground_plane(self, height, friction, restitution)

    # ---- the last step

    @property
    def contacts(self) -> list[Contact]:
        """Contacts of the last step that overlapped or pushed, with their forces.

        Points are those at the beginning of that step, which its forces were solved at. Empty before the
        first step, and after `reset`, an edit or a keyframe. After a replay frame was restored they are
        those of the step that made the frame.
        """
        return contacts.last_contacts(self)

    def get_last_contact_forces(self) -> list[ContactForce]:
        """Forces and impulses of the contacts of the last step, in the order of `contacts`."""
        return contacts.last_contact_forces(self)

    @property
    def break_events(self) -> list[BreakEvent]:
        """Joints of the World and equality constraints that are broken, in the order in which they broke.

        Those that were mended are not in it. `step_report().broken` has the names of the last step. What
        broke before the World was last edited or loaded has frame 0 and no force.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> body = world.add_rigid_body("lamp", mass=2.0, inertia=(0.1, 0.1, 0.1))
            >>> hook = world.add_joint(body, sx.JointSpec("hook", type=sx.JointType.SPHERICAL))
            >>> hook.break_force = 10.0
            >>> world.step()
            >>> [(event.name, event.frame) for event in world.break_events]
            [('hook', 1)]
        """
        return step_report.break_events(self)

    @property
    def contact_events(self) -> list[ContactEvent]:
        """Pairs of bodies that began to touch, went on, or ceased to touch in the last call of steps.

        All steps of a `step(n)`, of a step job or of an executor count: BEGIN and END come in the order in
        which they happened, with the number and the time of their step. Then comes PERSIST for every pair
        that touched throughout. A body that is removed ends its contacts: those ENDs are in the list at
        once, and again at the head of the list of the next call, for programs that look after every step.

        The last 1,048,576 events of a call are kept. `step_report().dropped_contact_events` says how many
        older ones there were; it is 0 unless a call makes very many steps. No events are left after `reset`,
        a keyframe or a restored replay frame; pairs that touch in a restored frame go on.

        Example:
            >>> from worldline import simulation as sx
            >>> from worldline.collision import CollisionShape
            >>> world = sx.World()
            >>> ground = world.add_ground_plane(restitution=0.8)
            >>> ball = world.add_rigid_body("ball", position=(0, 0, 0.15))
            >>> ball.add_collision_shape(CollisionShape.sphere(0.1))
            >>> world.step(n=200)
            >>> [(event.kind.value, event.body_b.name) for event in world.contact_events]
            [('begin', 'ball'), ('end', 'ball')]
        """
        return step_report.contact_events(self)

    def step_report(self) -> StepReport:
        """What the last step did: convergence, limits, what was cut, contacts by pair; `print` shows it.

        Example:
            >>> from worldline import simulation as sx
            >>> from worldline.collision import CollisionShape
            >>> world = sx.World()
            >>> ground = world.add_ground_plane()
            >>> ball = world.add_rigid_body("ball", position=(0, 0, 0.1))
            >>> ball.add_collision_shape(CollisionShape.sphere(0.1))
            >>> world.step(n=10)
            >>> report = world.step_report()
            >>> report.converged, report.contacts, report.pairs[0].body_b is ball
            (True, 1, True)
        """
        return step_report.step_report(self)

    def energy_ledger(self) -> EnergyLedger:
        """Where the kinetic energy of the last step came from and went to, by cause [J].

        For the semi-implicit families. Costs several times a step on request, nothing otherwise.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> stone = world.add_rigid_body("stone", mass=2.0, linear_velocity=(0, 0, 5))
            >>> world.step()
            >>> ledger = world.energy_ledger()
            >>> round(ledger.gravity, 6), ledger.contact, abs(ledger.unexplained) < 1e-12
            (-0.098004, 0.0, True)
        """
        return ledger.energy_ledger(self)

    def explain(self, a: BodyLike, b: BodyLike) -> Explanation:
        """Why two bodies do or do not touch; None is the world with its fixed shapes.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> a, b = world.add_rigid_body("a"), world.add_rigid_body("b")
            >>> print(world.explain(a, b))
            no shapes: 'a' has no collision shapes
        """
        return explain.explain(self, a, b)

    # ---- queries of the present

    @property
    def collision(self) -> CollisionQueries:
        """Queries that say themselves whether to look for what was written since; see `CollisionQueries`."""
        return queries.CollisionQueries(self)

    @property
    def visibility(self) -> VisibilityQueries:
        """Which bodies a camera sees; see `VisibilityQueries`."""
        return visibility.VisibilityQueries(self)

    def collide(
        self,
        options: CollisionOption | CollisionQueryOptions | None = None,
        *,
        include: CollisionQueryOptions | None = None,
    ) -> list[Contact]:
        """Where bodies touch now; nothing is solved and nothing changes.

        These are the contacts that push in a step: shapes closer than their margins less their gaps, with a
        negative depth where they are still apart, and pairs with parameters of their own whatever the other
        filters say. Pairs that a step leaves out are left out: shapes of one body, bodies and what their
        joint stands on, ignored pairs.

        Args:
            options: margin, largest number of contacts, see `worldline.collision.CollisionOption`; or a
                `CollisionQueryOptions`, the same as `include`.
            include: which pairs to report, of those found; all when None.

        Example:
            >>> from worldline import simulation as sx
            >>> from worldline.collision import CollisionShape
            >>> world = sx.World()
            >>> a = world.add_rigid_body("a")
            >>> b = world.add_rigid_body("b", position=(1.5, 0, 0))
            >>> for ball in (a, b):
            ...     ball.add_collision_shape(CollisionShape.sphere(1.0))
            >>> contact, = world.collide()
            >>> contact.body_a is a, contact.normal.tolist(), contact.depth
            (True, [1.0, 0.0, 0.0], 0.5)
            >>> b.translation = (3, 0, 0)
            >>> world.collide(), world.distance(a, b).distance
            ([], 1.0)
        """
        return queries.collide(self, options, include=include)

    def distance(self, a: BodyLike, b: BodyLike) -> BodyDistance:
        """Signed distance and closest points of two bodies now; None is the world with its fixed shapes.

        Ignored pairs have a distance too.
        """
        return queries.distance(self, a, b)

    def raycast(self, start: VectorLike, end: VectorLike) -> RayHits:
        """The nearest hit of a ray, or of many at once, now.

        Args:
            start: where the rays begin, world [m], (3,) or (n, 3).
            end: where they end, the same shape, or (3,) for all.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> ground = world.add_ground_plane()
            >>> hit = world.raycast((0, 0, 2), (0, 0, -2))[0]
            >>> hit.fraction, hit.point.tolist(), hit.body
            (0.5, [0.0, 0.0, 0.0], None)
        """
        scene = None if self._runtime is None else self._runtime.queries
        single = None if scene is None else scene.cast_single(start, end)
        return queries.raycast(self, start, end) if single is None else single

    def overlap(
        self, shape: CollisionShape, pose: TransformLike | None = None
    ) -> list[RigidBody | Link | None]:
        """Bodies that a shape at a pose (4x4, the origin when None) overlaps now; None is the world's own."""
        return queries.overlap(self, shape, pose)

    def closest_point(self, point: VectorLike) -> BodyPoint:
        """The point on the surface of any body, the world's own shapes included, closest to a point now.

        Args:
            point: world [m], (3,).

        Example:
            >>> from worldline import simulation as sx
            >>> from worldline.collision import CollisionShape
            >>> world = sx.World()
            >>> ball = world.add_rigid_body("ball", position=(2, 0, 0))
            >>> ball.add_collision_shape(CollisionShape.sphere(0.5))
            >>> found = world.closest_point((0, 0, 0))
            >>> found.body is ball, found.point.round(6).tolist(), round(found.distance, 6)
            (True, [1.5, 0.0, 0.0], 1.5)
        """
        return queries.closest_point(self, point)

    # ---- pairs that never touch

    set_collision_pair_ignored = of_part("_ignored_pairs", IgnoredPairs.set_collision_pair_ignored)

    is_collision_pair_ignored = of_part("_ignored_pairs", IgnoredPairs.is_collision_pair_ignored)

    clear_ignored_collision_pairs = of_part("_ignored_pairs", IgnoredPairs.clear_ignored_collision_pairs)

    num_ignored_collision_pairs: Reading[int] = attribute(
        "_ignored_pairs.num_ignored_collision_pairs", "How many pairs are ignored."
    )

    # ---- connections of bodies beside the trees

    # ---- joints

    @overload
    def add_joint(self, child: Frame, spec: JointSpec) -> WorldJoint: ...

    @overload
    def add_joint(self, parent: Frame, child: Frame, spec: JointSpec) -> WorldJoint: ...

    def add_joint(self, *given: Any, **named: Any) -> WorldJoint:
        """A joint that the World owns: `add_joint(parent, child, spec)`, or `(child, spec)` to the world.

        Bodies and links keep their own freedom; a step holds the joint by constraint rows. Types are FIXED,
        REVOLUTE, PRISMATIC, SPHERICAL, SCREW, UNIVERSAL and PLANAR. Without transforms or anchors in the spec
        the joint is where the child is, and their pose now is what is kept; with anchors the relative
        rotation now is.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> a, b = world.add_rigid_body("a"), world.add_rigid_body("b", position=(1, 0, 0))
            >>> world.add_joint(a, b, sx.JointSpec(name="weld", type=sx.JointType.FIXED)).num_dofs
            0
        """
        return self._connections.add_joint(*given, **named)

    joints: Reading[WorldJointCollection] = attribute(
        "_connections.joints", "Joints that the World owns; those of trees are in their multibody."
    )

    num_joints: Reading[int] = attribute("_connections.num_joints", "Number of joints that the World owns.")

    get_joint = of_part("_connections", Connections.get_joint)

    has_joint = of_part("_connections", Connections.has_joint)

    # ---- distance springs

    add_rigid_body_distance_spring = of_part("_connections", Connections.add_rigid_body_distance_spring)

    has_rigid_body_distance_spring = of_part("_connections", Connections.has_rigid_body_distance_spring)

    get_rigid_body_distance_spring_parameters = of_part(
        "_connections", Connections.get_rigid_body_distance_spring_parameters
    )

    set_rigid_body_distance_spring_parameters = of_part(
        "_connections", Connections.set_rigid_body_distance_spring_parameters
    )

    remove_rigid_body_distance_spring = of_part("_connections", Connections.remove_rigid_body_distance_spring)

    # ---- equality constraints of a scene

    add_equality = of_part("_connections", Connections.add_equality)

    is_equality_active = of_part("_connections", Connections.is_equality_active)

    set_equality_active = of_part("_connections", Connections.set_equality_active)

    get_equality_force = of_part("_connections", Connections.get_equality_force)

    # ---- the step as something to look at

    @overload
    def sync(
        self,
        stage: kinds.WorldSyncStage = kinds.WorldSyncStage.KINEMATICS,
        *,
        executor: ComputeExecutor | None = None,
    ) -> None: ...

    @overload
    def sync(self, executor: ComputeExecutor, stage: kinds.WorldSyncStage = ..., /) -> None: ...

    @overload
    def sync(self, executor: ComputeExecutor, /, *, stage: kinds.WorldSyncStage = ...) -> None: ...

    def sync(
        self,
        *given: kinds.WorldSyncStage | ComputeExecutor,
        stage: kinds.WorldSyncStage | None = None,
        executor: ComputeExecutor | None = None,
    ) -> None:
        """Bring poses and velocities up to date now; time does not pass.

        Reads are up to date anyway; this places the work, on the caller's thread when executor is None.

        Args:
            stage: what to bring up to date.
            executor: who does it, before `stage` or by name.
        """
        self._inspection.sync(*given, stage=stage, executor=executor)

    def update_kinematics(self, executor: ComputeExecutor | None = None) -> None:
        """The same as `sync(WorldSyncStage.KINEMATICS)`."""
        self.sync(kinds.WorldSyncStage.KINEMATICS, executor=executor)

    def _repr_html_(self) -> str:
        from worldline._src.facade.notebook import world_html

        return world_html(self)

    @property
    def pipeline(self) -> WorldStepPipeline:
        """The stages of a step of this World as it is now, with what each reads and writes.

        Stages that would have nothing to do are not among them.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> print(world.pipeline)
            step: 6 stages
               1  positions            kinematics   q -> link poses
               2  link_velocities      kinematics   link poses, v -> link velocities
               3  no_wrenches          forces       -> link forces
               4  drive_forces         forces       q, v, commands -> tau
               5  accelerations        dynamics     link poses, link velocities, link forces, tau -> a
               6  semi_implicit_euler  integration  q, v, a -> q, v
        """
        return self._inspection.pipeline

    @property
    def pipelines(self) -> dict[str, WorldStepPipeline]:
        """Stages by what they are for.

        "step" is all of a step, "kinematics" what `sync` runs, "collision" the part of a step that finds
        contacts, "sensors" what readings of forces and accelerations run, which is a step up to its
        integrator, and "rendering" what places are drawn from.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> {name: len(stages) for name, stages in world.pipelines.items()}
            {'step': 6, 'kinematics': 4, 'collision': 0, 'sensors': 5, 'rendering': 1}
        """
        return self._inspection.pipelines

    @property
    def step_profiling_enabled(self) -> bool:
        """Whether the last step of every `step(n)` is measured stage by stage; off by default.

        Results are the same bit for bit. A measured step costs some microseconds more a stage.
        """
        return self._inspection.step_profiling_enabled

    @step_profiling_enabled.setter
    def step_profiling_enabled(self, value: bool) -> None:
        self._inspection.step_profiling_enabled = value

    last_step_profile: Reading[WorldStepProfile] = attribute(
        "_inspection.last_step_profile",
        """Times of the last step that was measured; empty before the first.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> world.step_profiling_enabled = True
            >>> world.step()
            >>> [stage.name for stage in world.last_step_profile.stages][-2:]
            ['semi_implicit_euler', 'kinematics']
        """,
    )

    memory_diagnostics: Reading[WorldMemoryDiagnostics] = attribute(
        "_inspection.memory_diagnostics", "Memory that the World holds for its steps [bytes]."
    )

    # ---- copies in memory and in files

    def clone(self) -> World:
        """A World of its own that is like this one in everything but its replay, and steps to the same bits.

        `copy.deepcopy` does the same, pickle stores what `save_binary` writes, and handles in the same
        structure become those of the copy. `copy.copy` is refused.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box", position=(0, 0, 1))
            >>> world.step(n=10)
            >>> copied = world.clone()
            >>> copied.step(n=5), world.step(n=5)
            (None, None)
            >>> bool((copied.rigid_bodies["box"].translation == box.translation).all()), copied.frame
            (True, 15)
        """
        return persistence.clone_world(self)

    def model(self) -> Model:
        """The compiled description of this World with its present parameters, for the array layer; a copy.

        `joint_q` and `joint_qd` are where the description starts, which regularizers of constraints depend
        on, and not where the World is: `state.rollout` of the World starts there, that of its model here.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> world.model().body_label
            ['box']
        """
        return persistence.clone_world(self)._live().model

    def fingerprint(self) -> str:
        """Hash of model, options, state, commands and time, 64 hexadecimal digits.

        Equal fingerprints mean equal numbers to the last bit. What the solver starts the next step from is
        not part of it.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> copied = world.clone()
            >>> same = copied.fingerprint() == world.fingerprint()
            >>> box.mass = 2.0
            >>> same, copied.fingerprint() == world.fingerprint()
            (True, False)
        """
        return fingerprint.world_fingerprint(self)

    def __copy__(self) -> World:
        raise OperationError(
            f"copy.copy of a {type(self).__name__} would share its bodies and state; "
            "use World.clone() or copy.deepcopy for a World of its own"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        made = memo[id(self)] = persistence.clone_world(self)
        for name, value in world_copies.own_attributes(self).items():
            vars(made)[name] = copy.deepcopy(value, memo)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        stored = (type(self), persistence.to_bytes(self), self.step_profiling_enabled)
        return world_copies.unpickled, stored, world_copies.own_attributes(self)

    def save_binary(self, path: str | PathLike[str]) -> None:
        """Write everything to a file: a World that loads it goes on bit for bit."""
        persistence.save(self, path)

    def load_binary(self, path: str | PathLike[str]) -> None:
        """Become the World of a file that `save_binary` wrote; handles from before become invalid.

        Mode, time, options, state and the numbering of made-up names are those of the saved World.

        Raises:
            SceneError: no file, a damaged one, or one of another version; the World is as it was.

        Example:
            >>> import tempfile
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> world.step(n=10)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     world.save_binary(folder + "/world.bin")
            ...     other = sx.World()
            ...     other.load_binary(folder + "/world.bin")
            >>> other.frame, bool((other.rigid_bodies["box"].translation == box.translation).all())
            (10, True)
        """
        persistence.restore(self, path)

    # ---- derivatives of steps

    def get_step_derivatives(self) -> StepDerivatives:
        """Derivatives of the state after the last step by the state before it, controls and parameters.

        The World must be made with `differentiable=True`, and nothing but state and commands may have
        changed since the step. Rows and columns of state are tangents, as `state.difference` has them: a
        displacement for every degree of freedom, rotations in body axes, then velocities, then activations
        of actuators. Derivatives are exact for the contacts and rows that the step had, with their sides;
        `check_derivatives` finds where a small change leads to others. The other modes of
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
        return derivatives.get_step_derivatives(self)

    def apply_step_vjp(self, d_loss_d_next_state: VectorLike) -> StepGradient:
        """The gradient of a loss by state and controls before the last step, from that by the state after it.

        Args:
            d_loss_d_next_state: on the tangent of the state, (dimension of the tangent,).

        It costs two to four steps where forces act on single joints or in contacts of the impedance model:
        the gradient goes back through one solve with the factor of the Hessian. Otherwise it is the product
        with the matrices of `get_step_derivatives`. Gradients by parameters always are.

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
        return derivatives.apply_step_vjp(self, d_loss_d_next_state)

    def apply_step_jvp(
        self, state: VectorLike, control: VectorLike | None = None, parameter: VectorLike | None = None
    ) -> Array:
        """The change of the state after the last step along a change of what it began with.

        Args:
            state: on the tangent of the state, (dimension of the tangent,).
            control: (dimension of the control space,); zero when None.
            parameter: (numbers of `add_differentiable_parameter`,); zero when None.

        Example:
            >>> import numpy as np
            >>> from worldline import simulation as sx
            >>> world = sx.World(time_step=0.01, differentiable=True)
            >>> box = world.add_rigid_body("box")
            >>> world.step()
            >>> world.apply_step_jvp(np.eye(12)[8])[[2, 8]].round(9).tolist()
            [0.01, 1.0]
        """
        return derivatives.apply_step_jvp(
            self,
            values.array(state, "state tangent"),
            None if control is None else values.array(control, "control tangent"),
            None if parameter is None else values.array(parameter, "parameter tangent"),
        )

    def add_differentiable_parameter(
        self,
        body: RigidBody | Link | Joint | World,
        parameter: kinds.PhysicalParameter,
        *,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
    ) -> None:
        """Add a parameter to the columns of `StepDerivatives.parameter_jacobian`.

        Args:
            body: a rigid body or link, a joint, or the World, whichever has the parameter.
            parameter: which one.
            lower_bound, upper_bound: kept for optimisers; steps do not look at them.

        These columns come from dual numbers. A parameter that decides which stages a step has is differenced
        on a copy of the World; see `provenance`. Clones have the same parameters; files do not keep them.

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
        physical_parameters.add_parameter(self, body, parameter, lower_bound, upper_bound)

    @property
    def num_differentiable_parameters(self) -> int:
        """Numbers of all parameters that were added: columns of `parameter_jacobian`."""
        return physical_parameters.count(self)

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
        return derivatives.check_derivatives(self, step)

    # ---- functions and kernels of the user within steps

    @step_functions.works_on_keywords
    def add_controller(
        self,
        name: str,
        function: Callable[[step_functions.WorldStepContext], object] | Kernel,
        *,
        period: float | None = None,
        **works_on: Unpack[step_functions.WorksOn],
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
        self._functions.add(name, step_functions.CONTROLLER, function, period, **works_on)

    @step_functions.works_on_keywords
    def add_force_element(
        self,
        name: str,
        function: Callable[[step_functions.WorldStepContext], object] | Kernel,
        **works_on: Unpack[step_functions.WorksOn],
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
        self._functions.add(name, step_functions.FORCE_ELEMENT, function, **works_on)

    @step_functions.works_on_keywords
    def add_stage(
        self,
        name: str,
        function: Callable[[step_functions.WorldStepContext], object] | Kernel,
        place: str,
        **works_on: Unpack[step_functions.WorksOn],
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
        self._functions.add_stage(name, function, place, **works_on)

    def add_observer(self, name: str, function: Callable[[step_functions.WorldStepContext], object]) -> None:
        """Call a function at the end of every step, with its result in `q` and `v`; see `add_controller`."""
        self._functions.add(name, step_functions.OBSERVER, function)

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
        derivatives refuse it. Queries such as `contacts` of a World still report the contacts of the step;
        those about distances, rays and overlaps are native.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> world.collision_detector
            'native'
        """
        detector = self._functions.detector
        return step_functions.NATIVE if detector is None else detector.name

    @collision_detector.setter
    def collision_detector(self, value: str | CollisionDetector) -> None:
        self._functions.set_detector(value)

    @property
    def step_functions(self) -> tuple[step_functions.StepFunction, ...]:
        """Controllers, force elements, stages and observers, in the order in which they were added."""
        return self._functions.all

    # ---- between description and runtime

    def _live(self) -> Runtime:
        runtime = self._runtime
        if runtime is None or runtime.guard.busy or runtime.sim.unsettled:
            return self._reach()
        return runtime

    def _reach(self) -> Runtime:
        """The compiled side where it is not at hand: to be made, to be projected, or in use by a thread."""
        runtime = self._runtime
        if runtime is None:
            runtime = self._compile()
        else:
            runtime.guard.wait()
        if runtime.sim.unsettled:
            closure_projection.settle(self, runtime)
        return runtime

    def _require_current(self, runtime: Runtime) -> None:
        """Refuse a step for which the calling thread had to wait, if the World was changed meanwhile."""
        if self._runtime is not runtime:
            runtime.guard.end()
            raise BusyError("another thread changed this World while the step began")

    def _compile(self) -> Runtime:
        """Build the model of the description as it is now, and carry the state over."""
        if threading.get_ident() in self._observers:
            raise BusyError("this World was changed and is not compiled yet; observers wait for its owner")
        self._require_idle()
        if not self._compiling.acquire(False):
            raise BusyError("another thread compiles this World; one thread at a time may use a World")
        try:
            with without_collection():
                return self._compile_alone()
        finally:
            self._compiling.release()

    @contextmanager
    def _observed(self) -> Generator[None, None, None]:
        """A block in which this thread looks at the World while another one may change it.

        Reads raise `BusyError` instead of compiling a description that is being changed, which would refuse
        the changes of the thread that makes them.
        """
        thread = threading.get_ident()
        self._observers.add(thread)
        try:
            yield
        finally:
            self._observers.discard(thread)

    def _compile_alone(self) -> Runtime:
        if self._runtime is not None:
            return self._runtime
        self._write_options()
        chosen = self._options.multibody_options
        made = Runtime(
            self._scene,
            self._options.time_step,
            chosen.integration_family,
            variational_options(chosen),
            self._options.contact_solver_method,
            self._options.strict_solver_resolution,
            self._cloned,
            self._options.differentiable,
            self._options.contact_sweeps,
            fixed=self._options.fixed_layout,
            validated=self._validated,
        )
        self._cloned = None
        made.set_sleep(self._options.deactivation_options)
        self._set_divergence(made)
        if self._carried is not None:
            made.restore(self._carried)
            self._carried = None
        self._runtime = made
        closure_projection.watch(self, made)
        if self._functions.any:
            self._functions.attach(made)
        step_report.carry_contacts(self)
        if self._inspection.step_profiling_enabled:
            self._inspection.attach_profiler(made)
        return made

    def _write_options(self) -> None:
        """Put what the World says into the description."""
        scene_options.into_description(self._options, self._scene)

    def _require_design(self, what: str) -> None:
        self._require_idle()
        if self._simulating and not self._editing:
            raise OperationError(
                f"{what} is not possible in simulation mode; use `with world.edit():`, or clear()"
            )

    def _topology_changed(self) -> None:
        """Compile again before the next read; state is carried over by object."""
        if self._runtime is not None:
            step_report.keep_contacts(self)
            self._carried = self._runtime.snapshot()
            self._runtime = None
        self._configuration_changed()

    def _require_no_edit(self, what: str) -> None:
        if self._editing:
            raise OperationError(f"{what} is not possible within edit(); leave the block first")

    def _configuration_changed(self) -> None:
        """Look again before the next step whether all that is requested is available."""
        self._checked = self._validated = False
        self._layout_edits += 1

    def _frame_ref(self, frame: Frame, offset: Array) -> FrameRef:
        """A pose on a frame, as the description names it."""
        pose = values.pose_of(offset, "offset")
        if isinstance(frame, Marker):
            # places of the description are on bodies and frames: through the marker to its body
            return self._frame_ref(frame.parent_frame, frame.local_transform @ offset)
        link = frame._link.name if isinstance(frame, (RigidBody, Link)) else None
        named = frame.name if isinstance(frame, (FixedFrame, FreeFrame)) else None
        return FrameRef(link=link, frame=named, position=pose[:3], orientation=pose[3:])

    def _frame_moved(self, frame: Any) -> None:
        """Write the parent of a named frame into the description."""
        parent = frame._parent
        frame._frame.parent_link = parent._link.name if isinstance(parent, (RigidBody, Link)) else None
        frame._frame.parent_frame = parent.name if isinstance(parent, (FixedFrame, FreeFrame)) else None
        self._layout_edits += 1
        self._follow_frame(frame)

    def _follow_frame(self, frame: Frame) -> None:
        """Closures that end on a frame which was moved go with it."""
        if self._loop_closures:
            follow_frame(self, frame)
