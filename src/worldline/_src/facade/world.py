# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The World: owns time, topology, state and stepping, and hands the work to the modules beside it.

In design mode objects are added and removed; in simulation mode time passes. Between the two lies one
check of everything. A World holds a scene description, a runtime compiled from it when something is read or
stepped, and the tables of its handles.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from os import PathLike
from typing import Any, overload

import numpy as np
from numpy.typing import DTypeLike

from worldline._src.errors import ArgumentError, BusyError, OperationError, require_kind
from worldline._src.facade import (
    closure_projection,
    construction,
    edit,
    loading,
    loop_closure,
    removal,
    requirements,
    scene_options,
    step_report,
    values,
)
from worldline._src.facade.body_options import InertiaLike, RigidBodyOptions, overridden
from worldline._src.facade.checkpoint import kill_handles
from worldline._src.facade.connections import WorldConnections
from worldline._src.facade.executors import ComputeExecutor, require_executor, step_arguments
from worldline._src.facade.frame import FixedFrame, Frame, FreeFrame
from worldline._src.facade.kinds import (
    ComputeAcceleratorPolicy,
    ContactGradientMode,
    ContactSolverMethod,
    LoopClosureFamily,
    RigidBodySolver,
)
from worldline._src.facade.link import Link
from worldline._src.facade.loading import LoadResult, ReadOptions, SceneSource
from worldline._src.facade.loop_closure import LoopClosure, LoopClosureSpec, follow_frame
from worldline._src.facade.marker import Marker
from worldline._src.facade.multibody import Multibody
from worldline._src.facade.options import (
    DeactivationOptions,
    MultibodyOptions,
    WorldOptions,
    variational_options,
)
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.runtime import Runtime
from worldline._src.facade.sensors import Sensor
from worldline._src.facade.snapshots import Snapshot
from worldline._src.facade.step_functions import StepFunctions
from worldline._src.facade.step_options import StepOptions
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.facade.world_compute import WorldCompute
from worldline._src.facade.world_contacts import WorldContacts
from worldline._src.facade.world_copies import WorldCopies
from worldline._src.facade.world_derivatives import WorldDerivatives
from worldline._src.facade.world_elements import WorldElements
from worldline._src.facade.world_kind import known_kind
from worldline._src.facade.world_members import WorldMembers
from worldline._src.facade.world_objects import WorldObjects
from worldline._src.facade.world_settings import WorldSettings
from worldline._src.facade.world_whole import WorldWhole
from worldline._src.scene.closures import FrameRef
from worldline._src.scene.report import Report
from worldline._src.scene.world import World as Scene
from worldline._src.spatial.poses import Array
from worldline._src.step.divergence import DIVERGENCE_LIMIT, DivergencePolicy
from worldline._src.step.thread_guard import FREE, STEP

_COUNTERS = ("rigid_body", "multibody", "loop_closure", "free_frame", "fixed_frame", "joint")


@known_kind
class World(
    WorldSettings,
    WorldObjects,
    WorldMembers,
    WorldWhole,
    WorldContacts,
    WorldConnections,
    WorldCompute,
    WorldCopies,
    WorldDerivatives,
    WorldElements,
):
    """A simulated world.

    Args:
        time_step: [s], positive.
        gravity: [m/s^2], (3,); (0, 0, -9.81) when None.
        differentiable: whether derivatives of steps may be asked for; see `get_step_derivatives`.
        rigid_body_solver: method for free rigid bodies.
        multibody_options: how multibodies are integrated.
        contact_solver_method: how constraints are solved.
        contact_gradient_mode: which derivative of contact is returned.
        compute_accelerator_policy: where work may run.
        deactivation_options: when resting islands fall asleep.
        dtype: scalar of all arrays; float64 is what there is.
        strict_solver_resolution: refuse to step where another method would stand in for one that was asked
            for; see `resolved_configuration`.
        divergence_policy, divergence_limit: what happens when a step diverges, and beyond which coordinate,
            velocity, acceleration or activation it has (SI units).
        contact_sweeps: sweeps of sequential impulses in a step at most; 0 goes on until contacts are solved.
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

    def __init__(
        self,
        time_step: float = 0.001,
        *,
        gravity: VectorLike | None = None,
        differentiable: bool = False,
        rigid_body_solver: RigidBodySolver = RigidBodySolver.SEQUENTIAL_IMPULSE,
        multibody_options: MultibodyOptions | None = None,
        contact_solver_method: ContactSolverMethod = ContactSolverMethod.AUTOMATIC,
        contact_gradient_mode: ContactGradientMode = ContactGradientMode.ANALYTIC,
        compute_accelerator_policy: ComputeAcceleratorPolicy = ComputeAcceleratorPolicy.CPU_ONLY,
        deactivation_options: DeactivationOptions | None = None,
        dtype: DTypeLike = np.float64,
        strict_solver_resolution: bool = False,
        divergence_policy: DivergencePolicy | str = DivergencePolicy.RAISE,
        divergence_limit: float = DIVERGENCE_LIMIT,
        contact_sweeps: int = 0,
        options: WorldOptions | None = None,
    ) -> None:
        given = WorldOptions(
            time_step,
            gravity,
            differentiable,
            rigid_body_solver,
            multibody_options,
            contact_solver_method,
            contact_gradient_mode,
            compute_accelerator_policy,
            deactivation_options,
            dtype,
            strict_solver_resolution,
            divergence_policy,
            divergence_limit,
            contact_sweeps,
        )
        if options is not None:
            if not isinstance(options, WorldOptions):
                raise values.ShapeError(f"options must be a WorldOptions, got {options!r}")
            if given != WorldOptions():
                raise ArgumentError("give World its options as one value or as keywords, not both")
            given = options.copy()
        self._start(given)

    def _start(self, options: WorldOptions) -> None:
        """An empty world in design mode."""
        self._start_members()
        self._start_compute()
        self._start_derivatives()
        self._start_connections()
        self._options = options
        self._functions = StepFunctions(self)
        self._scene = Scene()
        scene_options.set_contact_defaults(self._scene)
        self._runtime: Runtime | None = None
        self._compiling = threading.Lock()
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
        name: str | LoopClosureSpec | None = None,
        spec: LoopClosureSpec | None = None,
        *,
        frame_a: Frame | None = None,
        frame_b: Frame | None = None,
        family: LoopClosureFamily = LoopClosureFamily.RIGID,
        offset_a: TransformLike | None = None,
        offset_b: TransformLike | None = None,
        distance: float = 0.0,
        allow_collision: bool = False,
    ) -> LoopClosure:
        """A closure between two frames, from a spec or from keywords; see `LoopClosureSpec`."""
        if isinstance(name, LoopClosureSpec):
            name, spec = None, name
        if spec is None:
            if frame_a is None or frame_b is None:
                raise ArgumentError("a loop closure needs frame_a and frame_b, or a LoopClosureSpec")
            ends = (frame_a, frame_b, family, offset_a, offset_b, distance)
            spec = LoopClosureSpec(*ends, allow_collision=allow_collision)
        require_kind(spec, LoopClosureSpec, "spec", "add_loop_closure")
        return loop_closure.add_loop_closure(self, name, spec)

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
            options: of the World; those the file asks for when None.

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
        held forces and time, to the last bit. The number of steps, one-shot forces and accelerations belong
        to the run and stay here; `save_binary` keeps those too.
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

    @property
    def report(self) -> Report:
        """What was approximated or left out on the way into this World."""
        return self._scene.report

    # ---- lifecycle

    def validate_topology(self) -> None:
        """Check everything that entering simulation mode checks, and change nothing."""
        self._live()

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
            executor: who does the work, before `n` or by name; this thread when None. Steps of one World are
                a chain, so an executor pays when it steps several: `executor.step`.
            options: the number of steps and more as one value; `n` must then be left out.
        """
        if given:
            n, executor = step_arguments(given, n, executor)
        if options is not None:
            if n != 1:
                raise ArgumentError("give step its number of steps in the options or as n, not both")
            self._step_with(options, executor)
            return
        if executor is not None:
            require_executor(executor).step(self._self(), n)
            return
        if n.__class__ is not int:
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
            self._step_recorded(runtime, n)
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
            log.start(int(runtime.sim.clock[0]))

    def _ready(self) -> Runtime:
        """In simulation mode, compiled, and with all that is asked for available."""
        self._require_no_edit("a step")
        if not self._simulating:
            self.validate_topology()
        # a request that cannot be met leaves the World in the mode it is in
        requirements.require_step(self)
        if not self._simulating:
            self.enter_simulation_mode()
        self._checked = True
        return self._live()

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
        self._require_idle()
        if not self._compiling.acquire(False):
            raise BusyError("another thread compiles this World; one thread at a time may use a World")
        try:
            return self._compile_alone()
        finally:
            self._compiling.release()

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
        if self._profiling:
            self._attach_profiler(made)
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
        """Look again before the next step whether all that is asked for is available."""
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
