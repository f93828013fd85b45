# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Execution profiles of task graphs: nodes, their workers, start and end times."""

from __future__ import annotations

from worldline._src.errors import by_name
from worldline._src.named_tuple import NamedTuple


class ComputeNodeExecutionProfile(NamedTuple):
    """When one node of a graph ran, and who ran it."""

    name: str
    worker_index: int
    """Number of the worker, from 0."""
    start_time_us: float
    """Since the beginning of the run [us]."""
    duration_us: float
    """[us]"""
    topological_index: int = 0
    """Its place in an order in which the nodes can run."""
    dependency_count: int = 0
    """Nodes that it waits for."""
    dependent_count: int = 0
    """Nodes that wait for it."""
    level: int = 0
    """Most nodes that one after the other come before it."""

    @property
    def end_time_us(self) -> float:
        """Since the beginning of the run [us]."""
        return self.start_time_us + self.duration_us

    @property
    def duration_ms(self) -> float:
        """[ms]"""
        return 1e-3 * self.duration_us


class ComputeExecutionProfile(NamedTuple):
    """How the time of one run of a graph went."""

    worker_count: int
    """Workers that could take part."""
    nodes: tuple[ComputeNodeExecutionProfile, ...]
    """Times of the nodes, in the order they began."""
    wall_time_us: float
    """From beginning to end [us]."""
    critical_path_time_us: float
    """The longest sum of times along nodes that wait for each other [us]."""

    @property
    def total_node_time_us(self) -> float:
        """Sum over the nodes [us]."""
        return sum(node.duration_us for node in self.nodes)

    @property
    def max_parallelism(self) -> int:
        """Most nodes that ran at the same time."""
        marks = [(node.start_time_us, 1) for node in self.nodes]
        marks += [(node.end_time_us, -1) for node in self.nodes]
        most = now = 0
        for _, change in sorted(marks):
            now += change
            most = max(most, now)
        return most

    @property
    def average_parallelism(self) -> float:
        """Time of the nodes by time of the run."""
        return self.total_node_time_us / self.wall_time_us if self.wall_time_us > 0.0 else 0.0

    @property
    def wall_time_ms(self) -> float:
        """From beginning to end [ms]."""
        return 1e-3 * self.wall_time_us

    def is_empty(self) -> bool:
        """Whether no node ran."""
        return not self.nodes

    def get_node(self, name: str) -> ComputeNodeExecutionProfile:
        """The times of one node; a KeyError with the nearest name if there is none."""
        return by_name(self.nodes, name, f"no node '{name}' ran")

    def summary(self) -> str:
        """A few lines of text."""
        lines = [
            f"{len(self.nodes)} nodes on {self.worker_count} workers: {self.wall_time_us:.0f} us, "
            f"{self.average_parallelism:.2f} at a time on average"
        ]
        lines += [f"  {n.name}: worker {n.worker_index}, {n.duration_us:.0f} us" for n in self.nodes]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ComputeExecutionProfile: {len(self.nodes)} nodes, {self.wall_time_us:.0f} us>"
