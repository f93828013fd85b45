# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Workers that step the worlds of a batch: threads of this process, or an executor of the user."""

from __future__ import annotations

from worldline._src.errors import ArgumentError
from worldline._src.facade.executors import ComputeExecutor, ComputeGraph, require_executor
from worldline._src.named_tuple import NamedTuple
from worldline._src.step.evaluate import in_threads, is_count
from worldline._src.step.lane_simulation import Chunk


class Workers(NamedTuple):
    """Who does the work; an executor takes the place of `threads`."""

    threads: int = 1
    executor: ComputeExecutor | None = None

    @property
    def is_caller(self) -> bool:
        """Whether the calling thread does all of it."""
        return self.executor is None and self.threads == 1

    def share(self, chunk: Chunk, count: int, width: int, steps: int) -> None:
        """Call `chunk` for parts of `count` worlds, each a multiple of `width`."""
        if self.executor is None:
            if self.threads == 1:
                chunk(0, count, steps)
            else:
                in_threads(chunk, count, self.threads, width, steps)
            return
        workers = max(self.executor.worker_count, 1)
        size = -(-max(count, 1) // (workers * width)) * width
        graph = ComputeGraph()
        for low in range(0, count, size):
            high = min(low + size, count)
            graph.add(f"worlds {low} to {high - 1}", lambda a=low, b=high: chunk(a, b, steps))
        self.executor.run(graph)


def workers_of(threads: int, executor: ComputeExecutor | None) -> Workers:
    """Checked arguments of `WorldBatch.step`."""
    if not is_count(threads) or threads < 0:
        raise ArgumentError(f"threads must be a whole number, 0 for all processors, got {threads!r}")
    if executor is not None:
        require_executor(executor)
        if threads != 1:
            raise ArgumentError("give step its threads or an executor, not both")
    return Workers(int(threads), executor)
