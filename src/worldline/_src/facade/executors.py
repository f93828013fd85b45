# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Executors of task graphs, and profiles of their runs.

The sequential executor is the reference. The parallel one does what does not wait for anything on several
threads: compiled code runs beside other compiled code, so Worlds step at the same time. A World that is
stepped alone has its islands solved by all threads. Results do not depend on the executor: of what several
threads work on, no part depends on another.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from worldline._src.errors import ArgumentError, require_kind
from worldline._src.facade import values
from worldline._src.facade.closing import Closing
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.world_kind import kind_named
from worldline._src.helpers import DISABLED
from worldline._src.named_tuple import NamedTuple
from worldline._src.step.execution_profile import ComputeExecutionProfile, ComputeNodeExecutionProfile

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from worldline._src.facade.world_runtime import WorldRuntime as World
    from worldline._src.step.island_helpers import IslandCrew


class _Node(NamedTuple):
    name: str
    work: Callable[[], Any]
    after: tuple[str, ...]


class ComputeGraph(KnownNames):
    """Named pieces of work, and which of them wait for which.

    Example:
        >>> from worldline.simulation import compute
        >>> done = []
        >>> graph = compute.ComputeGraph()
        >>> graph.add("bake", lambda: done.append("cake"), after=["mix"])
        Traceback (most recent call last):
        ...
        worldline.ArgumentError: node 'bake' waits for 'mix', which is not in the graph
        >>> graph.add("mix", lambda: done.append("dough"))
        >>> graph.add("bake", lambda: done.append("cake"), after=["mix"])
        >>> profile = compute.SequentialExecutor().run(graph)
        >>> done, [node.name for node in profile.nodes]
        (['dough', 'cake'], ['mix', 'bake'])
    """

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}

    def add(self, name: str, work: Callable[[], Any], after: Iterable[str] = ()) -> None:
        """A piece of work that begins when those named in `after`, added before, are done."""
        name = values.text(name, "name of a node")
        if not name or name in self._nodes:
            raise ArgumentError(
                f"nodes need names of their own, got '{name}' {'again' if name else ''}".strip()
            )
        if not callable(work):
            raise ArgumentError(f"node '{name}' needs something to call, got {work!r}")
        waits = tuple(dict.fromkeys(values.key(x, "name in `after`") for x in values.several(after, "after")))
        for other in waits:
            if other not in self._nodes:
                raise ArgumentError(f"node '{name}' waits for '{other}', which is not in the graph")
        self._nodes[name] = _Node(name, work, waits)

    @property
    def names(self) -> list[str]:
        """Names of the nodes, in the order they were added, which is one they can run in."""
        return list(self._nodes)

    @property
    def dependencies(self) -> list[tuple[str, str]]:
        """Pairs of nodes, the first of which must be done before the second begins."""
        return [(other, node.name) for node in self._nodes.values() for other in node.after]

    def __len__(self) -> int:
        return len(self._nodes)

    def __repr__(self) -> str:
        return f"ComputeGraph({len(self._nodes)} nodes, {len(self.dependencies)} dependencies)"

    def to_dot(self) -> str:
        """The graph in the DOT language."""
        names = [f'  "{name}";' for name in self._nodes]
        return "\n".join(["digraph {", *names, *(f'  "{a}" -> "{b}";' for a, b in self.dependencies), "}"])


def _profile(
    graph: ComputeGraph, workers: int, times: dict[str, ComputeNodeExecutionProfile], wall: float
) -> ComputeExecutionProfile:
    longest: dict[str, float] = {}
    level: dict[str, int] = {}
    followers = Counter(before for before, _ in graph.dependencies)
    for k, node in enumerate(graph._nodes.values()):
        before = max((longest[name] for name in node.after), default=0.0)
        longest[node.name] = before + times[node.name].duration_us
        level[node.name] = max((level[name] + 1 for name in node.after), default=0)
        times[node.name] = times[node.name]._replace(
            topological_index=k,
            dependency_count=len(node.after),
            dependent_count=followers[node.name],
            level=level[node.name],
        )
    ran = tuple(sorted(times.values(), key=lambda node: node.start_time_us))
    return ComputeExecutionProfile(workers, ran, wall, max(longest.values(), default=0.0))


class ComputeExecutor(KnownNames):
    """Who does work that has an order: `SequentialExecutor` or `ParallelExecutor`."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.worker_count} workers)"

    @property
    def worker_count(self) -> int:
        """How many pieces of work may be done at the same time."""
        raise NotImplementedError

    def run(self, graph: ComputeGraph) -> ComputeExecutionProfile:
        """Do the work of a graph."""
        raise NotImplementedError

    def step(self, worlds: World | Sequence[World], n: int = 1) -> ComputeExecutionProfile:
        """Let all Worlds make `n` steps; each has the bits it would have alone."""
        return self.run(_stepping(worlds, n))


class SequentialExecutor(ComputeExecutor):
    """Does everything on the caller's thread, one after the other: the reference."""

    @property
    def worker_count(self) -> int:
        """One."""
        return 1

    def run(self, graph: ComputeGraph) -> ComputeExecutionProfile:
        """Do the work of a graph; the first error ends the run and is raised."""
        require_kind(graph, ComputeGraph, "graph", "run")
        times: dict[str, ComputeNodeExecutionProfile] = {}
        begin = perf_counter()
        for node in graph._nodes.values():
            start = perf_counter()
            node.work()
            times[node.name] = ComputeNodeExecutionProfile(
                node.name, 0, 1e6 * (start - begin), 1e6 * (perf_counter() - start)
            )
        return _profile(graph, 1, times, 1e6 * (perf_counter() - begin))

    def step(self, worlds: World | Sequence[World], n: int = 1) -> ComputeExecutionProfile:
        """Let all Worlds make `n` steps.

        Example:
            >>> from worldline import simulation as sx
            >>> worlds = [sx.World() for _ in range(3)]
            >>> profile = sx.compute.SequentialExecutor().step(worlds, n=10)
            >>> [world.frame for world in worlds], profile.worker_count
            ([10, 10, 10], 1)
        """
        return self.run(_stepping(worlds, n))

    def __repr__(self) -> str:
        return "SequentialExecutor()"


class ParallelExecutor(ComputeExecutor, Closing):
    """Does what does not wait for anything on several threads.

    Args:
        worker_count: threads; one for each usable processor when None.
        inline_threshold: graphs with fewer nodes than this, and steps of one World with fewer islands, run on
            the caller's thread, where handing them over would cost more than it gains.

    Use it as a context manager, or call `close`, to end its threads. One thread at a time may use it. In a
    forked process it starts threads of its own.
    """

    def __init__(self, worker_count: int | None = None, inline_threshold: int = 2) -> None:
        if worker_count is None:
            found = (
                os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
            )
            worker_count = len(found)
        self._workers = values.count(worker_count, "worker_count")
        if self._workers < 1:
            raise ArgumentError(f"worker_count must be at least 1, got {worker_count}")
        self._threshold = _threshold(inline_threshold)
        self._numbers: dict[int, int] = {}
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._crew: IslandCrew | None = None
        self._sharing = threading.Lock()
        self._process = os.getpid()

    @property
    def worker_count(self) -> int:
        """Number of threads."""
        return self._workers

    @property
    def inline_threshold(self) -> int:
        """Graphs with fewer nodes, and steps of one World with fewer islands, run on the caller's thread."""
        return self._threshold

    @inline_threshold.setter
    def inline_threshold(self, value: int) -> None:
        self._threshold = _threshold(value)

    def _worker(self) -> int:
        with self._lock:
            return self._numbers.setdefault(threading.get_ident(), len(self._numbers))

    def run(self, graph: ComputeGraph) -> ComputeExecutionProfile:
        """Do the work of a graph; the first error is raised once what had begun is done."""
        require_kind(graph, ComputeGraph, "graph", "run")
        if len(graph) < self._threshold or self._workers == 1:
            return SequentialExecutor().run(graph)
        from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

        if self._pool is None or self._process != os.getpid():
            # threads do not live on in a forked process
            self._numbers, self._lock, self._process = {}, threading.Lock(), os.getpid()
            self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="worldline")
        begin = perf_counter()
        times: dict[str, ComputeNodeExecutionProfile] = {}

        def do(node: _Node) -> None:
            start = perf_counter()
            node.work()
            spent = perf_counter() - start
            times[node.name] = ComputeNodeExecutionProfile(
                node.name, self._worker(), 1e6 * (start - begin), 1e6 * spent
            )

        open_waits = {node.name: len(node.after) for node in graph._nodes.values()}
        followers: dict[str, list[str]] = {name: [] for name in graph._nodes}
        for before, after in graph.dependencies:
            followers[before].append(after)
        running: dict[Future[None], str] = {}
        ready: list[str] = [name for name, waits in open_waits.items() if not waits]
        failure: BaseException | None = None
        while ready or running:
            for name in ready:
                running[self._pool.submit(do, graph._nodes[name])] = name
            ready = []
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                name = running.pop(future)
                failure = failure or future.exception()
                for other in followers[name]:
                    open_waits[other] -= 1
                    if not open_waits[other] and failure is None:
                        ready.append(other)
            if failure is not None:
                ready = []
        if failure is not None:
            raise failure
        return _profile(graph, self._workers, times, 1e6 * (perf_counter() - begin))

    def step(self, worlds: World | Sequence[World], n: int = 1) -> ComputeExecutionProfile:
        """Let all Worlds make `n` steps, several at a time; each has the bits it would have alone.

        Of one World the islands of every step are solved by all threads. What a step does beside that is done
        by the caller's thread, as are steps with fewer islands than `inline_threshold`, steps of a World with
        kinematic trees, which may touch several islands, and those of the fixed layout, which has no islands.

        Example:
            >>> from worldline import simulation as sx
            >>> worlds = [sx.World() for _ in range(4)]
            >>> with sx.compute.ParallelExecutor(2) as executor:
            ...     profile = executor.step(worlds, n=10)
            >>> [world.frame for world in worlds], len(profile.nodes)
            ([10, 10, 10, 10], 4)
        """
        return self.run(_stepping(worlds, n, self._share))

    def _share(self, world: World, n: int) -> None:
        """Steps of one World, whose islands all threads solve."""
        if not n or self._workers == 1 or DISABLED or not self._sharing.acquire(blocking=False):
            world.step(n)
            return
        try:
            if self._crew is None or self._crew.process != os.getpid():
                from worldline._src.step.island_helpers import IslandCrew

                self._crew = IslandCrew(self._workers - 1)
                weakref.finalize(self, self._crew.close)
            world._inspection.step_shared(self._crew, n, self._threshold)
        finally:
            self._sharing.release()

    def close(self) -> None:
        """End the threads; the executor may be used again, which starts new ones."""
        if self._crew is not None:
            self._crew.close()
            self._crew = None
        if self._pool is not None:
            if self._process == os.getpid():
                self._pool.shutdown()
            self._pool = None
            self._numbers.clear()

    def __reduce__(self) -> tuple[type[ParallelExecutor], tuple[int, int]]:
        # threads are started when needed, also by a copy
        return type(self), (self._workers, self._threshold)

    def __repr__(self) -> str:
        return f"ParallelExecutor({self._workers})"


def _threshold(value: int) -> int:
    number = values.count(value, "inline_threshold")
    if number < 0:
        raise ArgumentError(f"inline_threshold must not be negative, got {number}")
    return number


def step_arguments(
    given: tuple[Any, ...], n: int, executor: ComputeExecutor | None
) -> tuple[int, ComputeExecutor | None]:
    """Steps and executor of `World.step` for `step(n)`, `step(executor)` and `step(executor, n)`."""
    if isinstance(given[0], ComputeExecutor):
        if executor is not None:
            raise values.ShapeError("step got its executor twice")
        executor, given = given[0], given[1:]
    if len(given) > 1 or (given and n != 1):
        raise values.ShapeError("step takes (n), (executor) or (executor, n)")
    return (given[0] if given else n), executor


def require_executor(value: object) -> ComputeExecutor:
    """Refuse what is no executor."""
    if not isinstance(value, ComputeExecutor):
        raise values.ShapeError(
            f"a SequentialExecutor or ParallelExecutor is needed as executor, got {value!r}"
        )
    return value


def _stepping(
    worlds: World | Sequence[World], n: int, share: Callable[[World, int], None] | None = None
) -> ComputeGraph:
    """One node a World; what may compile or raise for another reason than motion happens here, in order.

    share: makes the steps of a World that is alone.
    """
    kind = kind_named("World")
    alone = isinstance(worlds, kind)
    chosen = cast("list[World]", [worlds] if alone else values.several(worlds, "worlds"))
    count = values.count(n, "n of step")
    if count < 0:
        raise ArgumentError(f"step needs a non-negative step count, got {count}")
    if len({id(world) for world in chosen}) != len(chosen):
        raise ArgumentError("a World is given twice; only one worker may step it")
    graph = ComputeGraph()
    for k, world in enumerate(chosen):
        if not isinstance(world, kind):
            raise values.ShapeError(f"Worlds are needed, got {world!r}")
        world._require_idle()
        if count:
            world._prepared()
        if share is not None and len(chosen) == 1:
            graph.add(f"world_{k}", lambda w=world: share(w, count))
        else:
            graph.add(f"world_{k}", lambda w=world: w.step(count))
    return graph
