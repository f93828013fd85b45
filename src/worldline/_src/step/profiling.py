# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How long every stage of a step takes, measured by running them one by one from Python.

The stages are the same machine code in the same order on the same memory, so a profiled step has the bits of
any other. Of many steps in one call only the last is profiled; the others run in the compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import by_name
from worldline._src.kernels.constraints.tables import SHORT
from worldline._src.kernels.program import caller
from worldline._src.named_tuple import NamedTuple
from worldline._src.step import runner
from worldline._src.step.evaluate import stage_addresses
from worldline._src.step.execution_profile import ComputeExecutionProfile, ComputeNodeExecutionProfile
from worldline._src.step.pipeline import stage_metadata

if TYPE_CHECKING:
    from worldline._src.step.simulation import Simulation

KINEMATICS = "kinematics"
"""Name of the refresh of body poses and velocities after a step, the last stage of every profile."""
_TRIES = 20


class WorldStepStageProfile(NamedTuple):
    """Time that one stage took in a step; the cost of the call from Python is taken off."""

    name: str
    domain: str
    duration_us: float
    """[us]"""
    calls: int = 1
    """How often it ran in the step."""
    acceleration: str = "none"
    """Special hardware that it used."""
    graph_profiles: tuple[ComputeExecutionProfile, ...] = ()
    """One for each time it ran: a stage is a graph of one node, run by one worker."""

    @property
    def duration_ms(self) -> float:
        """[ms]"""
        return 1e-3 * self.duration_us

    @property
    def total_graph_wall_time_us(self) -> float:
        """Sum over its graphs [us]."""
        return sum(graph.wall_time_us for graph in self.graph_profiles)

    @property
    def max_graph_worker_count(self) -> int:
        """Most workers that one of its graphs could use."""
        return max((graph.worker_count for graph in self.graph_profiles), default=0)

    @property
    def max_graph_parallelism(self) -> int:
        """Most nodes of one of its graphs that ran at the same time."""
        return max((graph.max_parallelism for graph in self.graph_profiles), default=0)


class WorldStepProfile(NamedTuple):
    """Times of the stages of one step, in the order they ran; stages that ran again are summed up.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> world.step(options=sx.StepOptions(n=3, profile=True))
        >>> profile = world.last_step_profile
        >>> profile.frame, profile.step_count, profile.get_stage("positions").calls
        (3, 1, 1)
    """

    frame: int = 0
    """Number of the step."""
    stages: tuple[WorldStepStageProfile, ...] = ()
    """Times of the stages, in the order they ran."""
    wall_time_us: float = 0.0
    """From the beginning of the step to its end, calls from Python included [us]."""

    @property
    def step_count(self) -> int:
        """Steps that were measured: one, or none when nothing was."""
        return 0 if self.is_empty() else 1

    @property
    def wall_time_ms(self) -> float:
        """The same [ms]."""
        return 1e-3 * self.wall_time_us

    @property
    def total_stage_time_us(self) -> float:
        """Sum over the stages [us]."""
        return sum(stage.duration_us for stage in self.stages)

    def is_empty(self) -> bool:
        """Whether nothing was measured."""
        return not self.stages

    def get_stage(self, name: str) -> WorldStepStageProfile:
        """The times of one stage; a KeyError with the nearest name if there is none."""
        return by_name(self.stages, name, f"no stage '{name}' was measured")

    def summary(self) -> str:
        """A table of text: one line a stage, its time and its share."""
        if self.is_empty():
            return "no step was measured; set step_profiling_enabled and step"
        total = max(self.total_stage_time_us, 1e-12)
        width = max(len(stage.name) for stage in self.stages)
        lines = [f"step {self.frame}: {self.total_stage_time_us:.2f} us in {len(self.stages)} stages"]
        for stage in self.stages:
            again = f"  x {stage.calls}" if stage.calls > 1 else ""
            share = 100.0 * stage.duration_us / total
            time = f"{stage.duration_us:9.2f} us  {share:5.1f} %"
            lines.append(f"  {stage.name:<{width}}  {stage.domain:<11}  {time}{again}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<WorldStepProfile of step {self.frame}: {self.total_stage_time_us:.2f} us>"


class StepProfiler:
    """Takes the place of the compiled loop over steps of a `Simulation`; see `runner.advancer`."""

    def __init__(self, sim: Simulation, report: Callable[[WorldStepProfile], None]) -> None:
        self.sim = sim
        self.report = report
        self._schedule: tuple[Any, ...] = ()
        self._arenas: list[tuple[Any, ...]] = []
        self._calls: list[tuple[Any, ...]] = []
        self._spent = np.zeros(0, np.int64)
        self._started = 0
        self._names: list[tuple[str, str]] = []
        self._cost_ns = 0

    def _prepare(self) -> None:
        """Look at the stages that the simulation has now."""
        program, self._arenas = self.sim.schedule, self.sim.sets
        self._schedule = program
        self._names = [
            (stage.name, meta.domain)
            for (stage, _), meta in zip(program, stage_metadata(program), strict=True)
        ]
        sets = self.sim.sets
        if runner.DISABLED:
            self._calls = [((stage,), *sets[place]) for stage, place in program]
        else:
            addresses = stage_addresses(tuple(stage for stage, _ in program))
            self._calls = [(addresses[k : k + 1], *sets[place]) for k, (_, place) in enumerate(program)]
        self._cost_ns = self._call_cost()
        if len(self._spent) != len(program):
            self._spent = np.zeros(len(program), np.int64)

    def _call_cost(self) -> int:
        """What a call of no stage at all takes [ns]."""
        if not self._calls:
            return 0
        call, arenas = caller(), self._calls[0][1:]
        nothing = () if runner.DISABLED else np.zeros(0, np.int64)
        best = 1 << 60
        for _ in range(_TRIES):
            start = perf_counter_ns()
            call(nothing, *arenas)
            best = min(best, perf_counter_ns() - start)
        return best

    def advance(self, program: Any, sets: Any, *operands: Any) -> int:
        """Make steps, measure the last; returns how many were good. See `runner.advancer`."""
        keep, checks, limits, clock, record, resumed, n = operands
        sim = self.sim
        # arenas that grew are others
        if self._schedule is not sim.schedule or self._arenas is not sim.sets:
            self._prepare()
        done = runner.advancer()(program, sets, *operands[:-1], n - 1) if n > 1 else 0
        if done != n - 1:
            return done
        first, resumed[0] = int(resumed[0]), 0
        if first == 0:
            self._started, self._spent[:] = perf_counter_ns(), 0
            runner.put_back(sim.sets, keep, False)
        call = caller()
        resume = [one[2] for one in program] if runner.DISABLED else program[:, 2].tolist()
        before = perf_counter_ns()
        for k in range(first, len(self._calls)):
            call(*self._calls[k])
            now = perf_counter_ns()
            self._spent[k] += now - before
            before = now
            if resume[k] >= 0 and self._calls[k][3][SHORT] != 0:
                resumed[0] = resume[k]
                return done
        if not runner.judge(sim.sets, keep, checks, limits, clock, record):
            return done
        sim.written()
        before = perf_counter_ns()
        with sim.guard.reading():
            sim.fresh_poses()
            sim.fresh_velocities()
        end = perf_counter_ns()
        self._tell(self._spent - self._cost_ns, end - before, end - self._started)
        return n

    def _tell(self, durations: np.ndarray, refresh: int, wall: int) -> None:
        times: dict[str, tuple[str, list[ComputeExecutionProfile]]] = {}
        for (name, domain), spent in zip(self._names, durations.tolist(), strict=True):
            times.setdefault(name, (domain, []))[1].append(_graph(name, max(spent, 0) * 1e-3))
        times[KINEMATICS] = (KINEMATICS, [_graph(KINEMATICS, refresh * 1e-3)])
        stages = [
            WorldStepStageProfile(
                name,
                domain,
                sum(graph.wall_time_us for graph in graphs),
                len(graphs),
                graph_profiles=tuple(graphs),
            )
            for name, (domain, graphs) in times.items()
        ]
        self.report(WorldStepProfile(int(self.sim.clock[0]), tuple(stages), wall * 1e-3))


def _graph(name: str, duration_us: float) -> ComputeExecutionProfile:
    """One run of a stage."""
    return ComputeExecutionProfile(
        1, (ComputeNodeExecutionProfile(name, 0, 0.0, duration_us),), duration_us, duration_us
    )
