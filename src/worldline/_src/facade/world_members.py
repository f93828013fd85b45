# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Members of World for state, replay and steps in the background; each hands on to the module that works."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from worldline._src.errors import BusyError
from worldline._src.facade import values
from worldline._src.facade.known_names import KnownNames, returns_read_only
from worldline._src.facade.replay import Replay, ReplayCheck
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world_state import WorldControl, WorldState
from worldline._src.later import DeferredModule
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade import (
        jobs,
        keyframes,
        kinematics_report,
        sensors,
        state_binding,
        state_vectors,
    )
    from worldline._src.facade.jobs import StepJob
    from worldline._src.facade.kinematics_report import KinematicsReport
    from worldline._src.facade.recording import Recording
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.snapshots import Snapshot
    from worldline._src.facade.state_space import StateSpace
    from worldline._src.facade.world import World
else:
    jobs = DeferredModule("facade.jobs")
    keyframes = DeferredModule("facade.keyframes")
    kinematics_report = DeferredModule("facade.kinematics_report")
    sensors = DeferredModule("facade.sensors")
    state_binding = DeferredModule("facade.state_binding")
    state_vectors = DeferredModule("facade.state_vectors")


class WorldMembers(KnownNames):
    """State by name and as vectors, replay, jobs."""

    if TYPE_CHECKING:
        _runtime: Runtime | None
        _carried: Snapshot | None
        _time_start: float

    def _start_members(self) -> None:
        self._replay = Replay(cast("World", self))
        self._recorder: Replay | None = None
        self._job: StepJob | None = None
        self._layout_edits = 0
        """Grows with every change that handles make to the description alone."""

    def _self(self) -> World:
        return cast("World", self)

    def _require_idle(self) -> None:
        """Refuse while a job owns the World or another thread steps or compiles it."""
        if self._job is not None:
            self._job._refuse()
        runtime = self._runtime
        if runtime is not None and runtime.guard.busy:
            runtime.guard.wait()
        if self._self()._compiling.locked():
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
        return state_vectors.own_space(self._self(), control=False, rigid_only=False)

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
        return state_vectors.own_space(self._self(), control=True, rigid_only=False)

    def get_state(self, space: StateSpace) -> WorldState:
        """A copy of the state that the variables of a finalized space name.

        A state of the whole World, one with the variables of `state_space()`, also remembers where the solver
        goes on from it: unless its numbers are changed, `set_state` continues bit for bit.
        """
        return state_vectors.get_state(self._self(), space)

    def set_state(self, state: WorldState) -> None:
        """Write a whole state at once; on error nothing changes.

        Numbers must be finite. Quaternions are made unit. Bounds are not enforced: see
        `WorldState.is_within_bounds`. What the space does not name stays as it is, such as time, commands,
        and joints that broke.
        """
        state_vectors.set_state(self._self(), state)

    def get_control(self, space: StateSpace) -> WorldControl:
        """A copy of the controls that a finalized space names; of a space of state, those of its owners."""
        return state_binding.get_control(self._self(), space)

    def set_control(self, control: WorldControl) -> None:
        """Write controls at once; on error nothing changes."""
        state_binding.put(self._self(), control, control=True)

    # ---- state as vectors

    @property
    @returns_read_only
    def state_vector(self) -> Array:
        """All state as one vector in the layout of `state_space()`, x = [q; qdot; activations].

        A rigid body has 7 numbers (position, xyzw) and 6 velocities: the whole pose, not only where it is.
        Writing back what was just read changes nothing, so the World continues bit for bit. A vector that is
        written later is the same mechanical state, but the solver starts from other forces, so contacts agree
        to the tolerance of the solver only; `get_state` and `set_state`, replay frames and `clone` keep the
        start of the solver too.
        """
        return state_vectors.get_vector(self._self())

    @state_vector.setter
    def state_vector(self, value: VectorLike) -> None:
        state_vectors.set_vector(self._self(), value, "state_vector")

    @property
    @returns_read_only
    def control_vector(self) -> Array:
        """All controls as one vector in the layout of `control_space()`, (num_efforts,)."""
        return state_vectors.get_vector(self._self(), control=True)

    @control_vector.setter
    def control_vector(self, value: VectorLike) -> None:
        state_vectors.set_vector(self._self(), value, "control_vector", control=True)

    @property
    @returns_read_only
    def rigid_body_state_vector(self) -> Array:
        """Poses of all rigid bodies, then their velocities, (13 num_rigid_bodies,)."""
        return state_vectors.get_vector(self._self(), rigid_only=True)

    @rigid_body_state_vector.setter
    def rigid_body_state_vector(self, value: VectorLike) -> None:
        state_vectors.set_vector(self._self(), value, "rigid_body_state_vector", rigid_only=True)

    @property
    @returns_read_only
    def rigid_body_control_vector(self) -> Array:
        """Held torque, then force of every rigid body, world axes, (num_rigid_body_efforts,)."""
        return state_vectors.get_vector(self._self(), control=True, rigid_only=True)

    @rigid_body_control_vector.setter
    def rigid_body_control_vector(self, value: VectorLike) -> None:
        state_vectors.set_vector(
            self._self(), value, "rigid_body_control_vector", control=True, rigid_only=True
        )

    @property
    def num_efforts(self) -> int:
        """Length of `control_vector`: 6 per rigid body, the dofs of the multibodies, and one per actuator."""
        world = self._self()
        return self.num_rigid_body_efforts + world.num_dofs + len(world.actuator_controls)

    @property
    def num_rigid_body_dofs(self) -> int:
        """Degrees of freedom of the rigid bodies: 6 each."""
        return 6 * self._self().num_rigid_bodies

    @property
    def num_rigid_body_efforts(self) -> int:
        """Length of `rigid_body_control_vector`: 6 per rigid body."""
        return 6 * self._self().num_rigid_bodies

    # ---- replay

    @property
    def replay(self) -> Replay:
        """Recorded frames, their branches, labels and checks."""
        return self._replay

    @property
    def replay_recording_enabled(self) -> bool:
        """Whether every completed step leaves a frame; turning it on starts anew with the present state."""
        return self._replay.enabled

    @replay_recording_enabled.setter
    def replay_recording_enabled(self, value: bool) -> None:
        self._require_idle()
        self._replay.enabled = value

    @property
    def replay_frame_count(self) -> int:
        """Frames on the current branch."""
        return self._replay.frame_count

    @property
    def replay_cursor(self) -> int | None:
        """The frame last recorded or restored; None before recording."""
        return self._replay.cursor

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
        return keyframes.names(self._self())

    def apply_keyframe(self, name: str) -> None:
        """Take everything a keyframe of the scene holds.

        That is coordinates, velocities, the time if it has one, controls and activations of actuators, poses
        of mocap bodies, commands, targets and held forces; what it leaves open is as at the start.
        """
        keyframes.apply(self._self(), name)

    # ---- other ways to let time pass

    def start_step(self, n: int = 1) -> StepJob:
        """Step in the background; see `StepJob` for progress, cancelling and when results can be seen."""
        return jobs.start_step(self._self(), n)

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
        return await jobs.step_async(self._self(), n)

    def step_kinematics(
        self, n: int = 1, update_collision: bool = False, update_sensors: bool = False
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

        Returns:
            Residuals of closures, and with `update_collision` clearance and contacts, at the end.

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
        count = jobs.step_count(n, "step_kinematics")
        for name, wanted in (("update_collision", update_collision), ("update_sensors", update_sensors)):
            if not isinstance(wanted, bool):
                raise values.ShapeError(f"{name} must be True or False, got {wanted!r}")
        world = self._self()
        if update_sensors:
            sensors.read_kinematic(world)
        if count == 0:
            return kinematics_report.kinematics_report(world, update_collision)
        world._require_no_edit("a step")
        if not world._simulating:
            world.enter_simulation_mode()
        runtime: Runtime = world._live()
        with runtime.guard:
            (runtime.tick if self._recorder is None else lambda k: self._replay._tick(runtime, k))(count)
            runtime.sim.fresh_poses()
            runtime.sim.fresh_velocities()
        return kinematics_report.kinematics_report(world, update_collision)

    def __repr__(self) -> str:
        world = self._self()
        mode = "simulation" if world._simulating else "design"
        return (
            f"World({mode} mode, time {world.time:g} s, {world.num_rigid_bodies} rigid bodies, "
            f"{world.num_multibodies} multibodies)"
        )
