# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Results of inverse kinematics."""

from __future__ import annotations

from worldline._src.errors import FixedAttributes, OperationError
from worldline._src.kinematics.subjects import Subject
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array


class TaskReport(NamedTuple):
    """How a task stands at the coordinates of a result."""

    name: str
    error: float
    """Norm of its residual without weights [m or rad]."""
    tolerance: float | None
    """Largest error of a task that is met; None when it need not be."""
    met: bool
    """Whether the error is within the tolerance; True where there is none."""
    alone: bool | None
    """Whether the task can be met when it is the only one; None when that was not tried."""


class MethodReport(NamedTuple):
    """What one method did."""

    method: str
    success: bool
    error: float
    """Largest ratio of error to tolerance at the best coordinates it found."""
    iterations: int
    restarts: int
    reason: str
    """Why it was accepted or not."""


class IkResult(FixedAttributes):
    """The answer of `solve_ik`.

    Attributes:
        success: whether every task that must be met is met within the limits.
        q: the best coordinates found, of the whole model, (joint_coord_count,).
        method: the method that found them.
        tasks: a report a task, in the order in which they were given.
        methods: a report a method that was tried, in order.
        message: the outcome in a sentence; names the tasks that cannot be met.
    """

    def __init__(
        self,
        subject: Subject,
        q: Array,
        method: str,
        tasks: tuple[TaskReport, ...],
        methods: tuple[MethodReport, ...],
    ) -> None:
        self._subject = subject
        self.q, self.method, self.tasks, self.methods = q, method, tasks, methods
        self.success = all(task.met for task in tasks)

    @property
    def message(self) -> str:
        """The outcome in a sentence."""
        if self.success:
            return f"solved by {self.method}"
        parts = []
        for task in self.tasks:
            if not task.met:
                why = {
                    None: "",
                    False: ", which it does not reach alone either",
                    True: ", though it can be met alone",
                }
                parts.append(
                    f"'{task.name}' is {task.error:.3g} away, {task.tolerance:g} is allowed{why[task.alone]}"
                )
        text = "not solved: " + "; ".join(parts)
        if sum(task.tolerance is not None for task in self.tasks) > 1 and all(
            task.alone for task in self.tasks if not task.met
        ):
            text += "; the tasks contradict each other within the limits"
        return text

    def apply(self) -> None:
        """Write the coordinates into the World; refused when not all tasks are met. Velocities stay."""
        if not self.success:
            raise OperationError(f"inverse kinematics was {self.message}; nothing was written")
        self._subject.apply(self.q)

    def __repr__(self) -> str:
        return f"IkResult({self.message})"
