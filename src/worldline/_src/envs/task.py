# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Learning tasks: a scene, initial states, observations, rewards and termination.

A task computes on all worlds of a batch at once. Arrays have the world as their first dimension.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, OperationError
from worldline._src.facade import values
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.formats.load import from_file
from worldline._src.scene.world import World as Scene
from worldline._src.spatial.poses import Array

ASSETS = Path(__file__).parents[2] / "assets"
"""Scene files of the robots."""
Reading = dict[str, Array]
"""Quantities of some worlds by name, one row each."""


class Outcome(NamedTuple):
    """What a step of the worlds led to."""

    reward: Array
    """(worlds,)."""
    terminated: np.ndarray
    """Whether the episode ended by the rules of the task, (worlds,)."""
    info: Mapping[str, Array]
    """Parts of the reward and positions by name, one row a world."""


@dataclass(kw_only=True)
class Task(FixedAttributes, ABC):
    """A task on the worlds of a batch; its fields are the options that an environment takes.

    Options can be written while an environment runs, but for those of `scene_options`. Tasks of this package
    take no other attributes after `begin`; a user's own may.

    Args:
        frame_skip: steps of the simulation in one step of the environment.
    """

    scene_file: ClassVar[str]
    """Name of the scene in the folder of assets."""
    episode_steps: ClassVar[int]
    """Steps of the environment after which an episode is cut off."""
    reward_threshold: ClassVar[float | None] = None
    """Reward of an episode at which the task counts as solved."""
    camera: ClassVar[str | None] = "track"
    """Camera of the scene that pictures are taken with."""
    scene_options: ClassVar[tuple[str, ...]] = ()
    """Options that shape the scene, which are fixed when there are worlds."""

    frame_skip: int = 5

    def __post_init__(self) -> None:
        self.check_options()

    def check_options(self) -> None:
        """Refuse options that a task cannot have; called when it is made, and after an option is written."""
        if self.frame_skip < 1:
            raise ArgumentError(f"frame_skip must be a positive whole number, got {self.frame_skip}")
        noise = getattr(self, "reset_noise_scale", 0.0)
        if noise < 0.0:
            raise ArgumentError(f"reset_noise_scale must not be negative, got {noise}")

    def __setattr__(self, name: str, value: Any) -> None:
        option = next((field for field in fields(self) if field.name == name), None)
        if option is None:
            return super().__setattr__(name, value)
        value = _checked_option(value, option.default, f"option '{name}' of {type(self).__name__}")
        if not hasattr(self, "batch"):
            return super().__setattr__(name, value)
        if name in self.scene_options:
            raise OperationError(f"option '{name}' shapes the scene; make another environment to change it")
        before = getattr(self, name)
        super().__setattr__(name, value)
        try:
            self.check_options()
        except ArgumentError:
            super().__setattr__(name, before)
            raise

    # ---- the worlds

    def scene(self) -> Scene:
        """The scene that every world starts from."""
        return from_file(ASSETS / self.scene_file)

    def begin(self, batch: WorldBatch) -> None:
        """Take over the worlds; called once."""
        self.batch = batch
        self.start_q, self.start_v = batch.joint_positions[0].copy(), batch.joint_velocities[0].copy()

    @property
    def dt(self) -> float:
        """Duration of a step of the environment [s]."""
        return self.frame_skip * self.batch.time_step

    @property
    def action_bounds(self) -> tuple[Array, Array]:
        """Smallest and largest action."""
        actuators = self.batch.model.actuators
        assert actuators is not None
        return actuators.control_range[:, 0], actuators.control_range[:, 1]

    def controls(self, actions: Array) -> Array:
        """Controls of the actuators for actions."""
        return actions

    # ---- episodes

    @abstractmethod
    def start(self, world: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Coordinates and velocities at which an episode of a world starts, drawn from `rng`."""

    @abstractmethod
    def place(self) -> Array:
        """What rewards compare before and after a step, such as positions, (worlds, n)."""

    @abstractmethod
    def read(self, which: np.ndarray) -> Reading:
        """Quantities of some worlds as they stand, for the functions below."""

    @abstractmethod
    def observation(self, reading: Reading) -> Array:
        """What is observed, (worlds, n)."""

    @abstractmethod
    def outcome(self, before: Array, reading: Reading, actions: Array) -> Outcome:
        """Rewards and ends of episodes of all worlds; `before` is what `place` gave before the step."""

    def reset_info(self, reading: Reading) -> Mapping[str, Array]:
        """What an environment reports of a start, by name."""
        return {}

    def acted(self, actions: Array) -> None:  # a task may do nothing
        """Called after a step with the actions it took."""


@dataclass(kw_only=True)
class ServoTask(Task):
    """A task whose actions, -1 to 1, move the set points of position servos by shares of `action_scale`.

    Episodes start from the keyframe "ready" of the scene.
    """

    camera: ClassVar[str | None] = None

    action_scale: float = 0.1

    def begin(self, batch: WorldBatch) -> None:
        super().begin(batch)
        batch.reset(keyframe="ready")
        self.start_q, self.ready_controls = batch.joint_positions[0].copy(), batch.controls[0].copy()
        self._lower, self._upper = super().action_bounds

    @property
    def action_bounds(self) -> tuple[Array, Array]:
        return -np.ones(len(self.ready_controls)), np.ones(len(self.ready_controls))

    def controls(self, actions: Array) -> Array:
        moved = self.batch.controls + self.action_scale * np.clip(actions, -1.0, 1.0)
        return np.clip(moved, self._lower, self._upper)

    def place(self) -> Array:
        return np.zeros(0)


def _checked_option(value: Any, default: Any, what: str) -> Any:
    """A value that is of the kind of its default: a flag, a whole number, a finite number, or a range."""
    if isinstance(default, bool):
        return values.flag(value, what)
    if isinstance(default, int):
        return values.count(value, what)
    if isinstance(default, float):
        return values.real(value, what)
    if isinstance(default, tuple):
        made = values.array(value, what)
        rises = len(default) != 2 or (made.shape == (2,) and made[0] <= made[1])
        if made.shape != (len(default),) or np.isnan(made).any() or not rises:
            raise ArgumentError(f"{what} must be {len(default)} numbers, the lower one first, got {value!r}")
        return tuple(made.tolist())
    # a task of the user's own may have options of other kinds
    return value


def check_kind(kind: Any) -> None:
    """Refuse what is no class of a task."""
    if not (isinstance(kind, type) and issubclass(kind, Task)):
        raise ArgumentError(f"task must be a class of a Task, got {kind!r}")


def option_names(kind: type[Task]) -> tuple[str, ...]:
    """Names of the options of a task."""
    check_kind(kind)
    return tuple(field.name for field in fields(kind))


def of_options(kind: type[Task], options: Mapping[str, Any]) -> Task:
    """A task with options by name, or an error that names those it does not have."""
    unknown = sorted(set(options) - set(option_names(kind)))
    if unknown:
        known = ", ".join(option_names(kind))
        raise ArgumentError(f"{kind.__name__} has no option '{unknown[0]}'; it has {known}")
    return kind(**options)
