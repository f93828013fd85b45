# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inspection of the step of a World: stages, their times, and memory."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import OperationError
from worldline._src.facade import values
from worldline._src.facade.executors import ComputeExecutor, ComputeGraph, require_executor
from worldline._src.facade.frame_rows import FrameRows
from worldline._src.facade.kinds import WorldSyncStage, member
from worldline._src.facade.step_options import StepOptions
from worldline._src.named_tuple import NamedTuple
from worldline._src.step.pipeline import WorldStepPipeline, stage_metadata
from worldline._src.step.pose_programs import READS
from worldline._src.step.profiling import StepProfiler, WorldStepProfile
from worldline._src.step.step_table import MULTIBODY

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime
    from worldline._src.step.island_helpers import IslandCrew


class WorldMemoryDiagnostics(NamedTuple):
    """Memory that a World holds for its steps [bytes]."""

    model_bytes: int
    """Constants: topology, masses, parameters."""
    state_bytes: int
    """State and what is computed from it."""
    constraint_bytes: int
    """Rows, laws and the solver's work, of every thread that solves islands."""
    collision_bytes: int
    """Shapes, boxes, pairs and contacts."""
    recording_bytes: int
    """Frames of the replay."""

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return sum(self)


class StepInspection:
    """Stages, profiles and memory of a World, and steps that are measured or recorded."""

    def __init__(self, world: WorldRuntime) -> None:
        self._world = world
        self._profiling = False
        self._last_profile = WorldStepProfile()

    def step_with(self, options: StepOptions, executor: ComputeExecutor | None) -> None:
        """See `World.step`."""
        if not isinstance(options, StepOptions):
            raise values.ShapeError(f"options must be a StepOptions, got {options!r}")
        world = self._world
        before = self.step_profiling_enabled
        if options.profile:
            self.step_profiling_enabled = True
        try:
            world.step(options.n, executor=executor)
        finally:
            if not before and options.profile:
                self.step_profiling_enabled = False

    @contextmanager
    def _stepping(self, runtime: Runtime) -> Generator[None]:
        """A block that steps; what leaves a frame of each step reads between them."""
        guard = runtime.guard
        guard.take()
        self._world._require_current(runtime)
        try:
            if self._world._recorder is not None:
                guard.adopt()
            yield
        finally:
            guard.end()

    def step_recorded(self, runtime: Runtime, n: int) -> None:
        """Steps that leave a frame each."""
        with self._stepping(runtime):
            assert self._world._recorder is not None
            self._world._recorder._step(runtime, n)

    def step_shared(self, crew: IslandCrew, n: int, least: int) -> None:
        """Steps whose islands, where there are `least` of them, are solved by the threads of a crew too."""
        world = self._world
        runtime = world._prepared()
        world._begin_call(runtime)
        with self._stepping(runtime), crew.sharing(runtime.sim, least):
            if world._recorder is not None:
                world._recorder._step(runtime, n)
            else:
                runtime.step(n)

    def sync(
        self,
        *given: WorldSyncStage | ComputeExecutor,
        stage: WorldSyncStage | None = None,
        executor: ComputeExecutor | None = None,
    ) -> None:
        """See `World.sync`."""
        rest = list(given)
        if rest and isinstance(rest[0], ComputeExecutor):
            if executor is not None:
                raise values.ShapeError("sync got its executor twice")
            executor = rest.pop(0)  # type: ignore[assignment] # checked above
        if len(rest) > 1 or (rest and stage is not None):
            raise values.ShapeError("sync takes (stage), (executor) or (executor, stage)")
        stage = member(
            WorldSyncStage,
            rest[0] if rest else WorldSyncStage.KINEMATICS if stage is None else stage,
            "stage of sync",
        )
        if executor is not None:
            require_executor(executor)
            graph = ComputeGraph()
            graph.add("kinematics", lambda: self.sync(stage))
            executor.run(graph)
            return
        world = self._world
        if not world._simulating:
            raise OperationError("sync needs simulation mode; enter_simulation_mode() or step() first")
        runtime = world._live()
        runtime.sim.fresh_poses()
        runtime.sim.fresh_velocities()

    @property
    def pipeline(self) -> WorldStepPipeline:
        """See `World.pipeline`."""
        sim = self._world._live().sim
        if not sim.model.body_count:
            return WorldStepPipeline("step", ())
        # makes the list when it is out of date
        sim.stages  # noqa: B018
        return WorldStepPipeline("step", stage_metadata(sim.schedule))

    @property
    def pipelines(self) -> dict[str, WorldStepPipeline]:
        """See `World.pipelines`."""
        step = self.pipeline
        reads = [(stage, MULTIBODY) for program in READS for stage in program.stages] if len(step) else []
        drawn = reads[: len(READS[0].stages)]
        return {
            "step": step,
            "kinematics": WorldStepPipeline("kinematics", stage_metadata(reads)),
            "collision": WorldStepPipeline("collision", (s for s in step if s.domain == "collision")),
            "sensors": WorldStepPipeline("sensors", takewhile(lambda s: s.domain != "integration", step)),
            "rendering": WorldStepPipeline("rendering", stage_metadata(drawn)),
        }

    @property
    def step_profiling_enabled(self) -> bool:
        """See `World.step_profiling_enabled`."""
        return self._profiling

    @step_profiling_enabled.setter
    def step_profiling_enabled(self, value: bool) -> None:
        self._world._require_idle()
        if not isinstance(value, (bool, np.bool_)):
            raise values.ShapeError(f"step_profiling_enabled: True or False is needed, got {value!r}")
        if bool(value) != self._profiling:
            self._profiling = bool(value)
            if self._world._runtime is not None:
                self.attach_profiler(self._world._runtime)

    @property
    def last_step_profile(self) -> WorldStepProfile:
        """See `World.last_step_profile`."""
        return self._last_profile

    def attach_profiler(self, runtime: Runtime) -> None:
        sim = runtime.sim
        sim.profiler = StepProfiler(sim, self._keep_profile) if self._profiling else None
        sim.reconfigure()

    def _keep_profile(self, profile: WorldStepProfile) -> None:
        self._last_profile = profile

    @property
    def memory_diagnostics(self) -> WorldMemoryDiagnostics:
        """See `World.memory_diagnostics`."""
        world = self._world
        runtime = world._live()
        arenas, constraints = runtime.model.arenas, runtime.constraints
        rows = collision = 0
        if constraints is not None:
            block = constraints.block
            rows = block.nbytes
            if runtime.sim.helper_memory is not None:
                rows += runtime.sim.helper_memory.nbytes
            if constraints.collision is not None:
                found = constraints.collision
                collision = sum(x.nbytes for x in (found.m, found.c, found.args, found.d))
        frames = world._replay._frame_total()
        width = FrameRows(runtime).capture(world).nbytes if frames else 0
        return WorldMemoryDiagnostics(
            arenas.index.nbytes + arenas.constant.nbytes,
            runtime.sim.data.nbytes,
            rows,
            collision,
            frames * width,
        )
