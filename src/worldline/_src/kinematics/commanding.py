# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Common base of controllers: tasks, and the World that they command."""

from __future__ import annotations

from typing import ClassVar

from worldline._src.errors import ArgumentError, FixedAttributes, OperationError
from worldline._src.facade.step_functions import WorldStepContext
from worldline._src.kinematics.subjects import Subject, WorldSubject
from worldline._src.kinematics.tasks import Task
from worldline._src.step.evaluate import is_count


class Commander(FixedAttributes):
    """A controller that leads tasks to their goals, and follows its World when that is compiled anew."""

    _what: ClassVar[str]
    _tasks: list[Task]
    _subject: Subject

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks as they are now."""
        return tuple(self._tasks)

    def _task(self, index: int) -> Task:
        if not is_count(index) or not 0 <= index < len(self._tasks):
            raise ArgumentError(f"there are {len(self._tasks)} tasks, got index {index!r}")
        return self._tasks[index]

    def _build(self, subject: Subject) -> None:
        """Make everything that depends on the indices of a model."""
        raise NotImplementedError

    def _follow(self, step: WorldStepContext) -> None:
        """Require the own World; one that was compiled anew has the same tasks at other indices."""
        subject = self._subject
        if not isinstance(subject, WorldSubject) or step._world is not subject.world:
            raise OperationError(f"{self._what} commands the World it was made for, no other")
        if step._runtime is not subject._runtime:
            self._build(WorldSubject(subject.world, step._runtime))
