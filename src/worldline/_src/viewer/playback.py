# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Real-time playback of a World: play, pause, step, speed, reset, keyframes and scrubbing.

This knows nothing of pages or browsers. Time that cannot be simulated in time is dropped, so that a heavy
scene is slow and not late.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.quantities import Reading, attribute
from worldline._src.viewer.perturbation import Perturbation
from worldline._src.viewer.timeline import Timeline

if TYPE_CHECKING:
    from worldline._src.facade.world import World

SPEEDS = (0.01, 10.0)
"""Slowest and fastest speed."""
_SHARE = 0.8
"""How much of a frame may be spent on steps."""


class Playback:
    """Steps a World so that it keeps pace with a clock.

    Args:
        world: the World.
        interval: time between two frames [s].
        clock: seconds that pass; for tests.
    """

    def __init__(self, world: World, interval: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self.world = world
        self.timeline = Timeline(world)
        self.perturbation = Perturbation(world)
        self._interval, self._clock = interval, clock
        self._playing = False
        self._speed = 1.0
        self._last = 0.0
        self._owed = 0.0
        self.rate = 0.0
        """Simulated seconds in a second, lately."""
        self.error: BaseException | None = None
        """What stopped the last step."""

    is_playing: Reading[bool] = attribute("_playing", "Whether time passes.")

    @property
    def speed(self) -> float:
        """Simulated seconds in a second that are requested."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        speed = values.positive(value, "speed")
        if not SPEEDS[0] <= speed <= SPEEDS[1]:
            raise ArgumentError(f"speed must be {SPEEDS[0]:g} to {SPEEDS[1]:g}, got {speed:g}")
        self._speed = speed

    def play(self) -> None:
        """Let time pass."""
        if not self._playing:
            self._begin()
            self._playing, self._owed, self._last = True, 0.0, self._clock()

    def pause(self) -> None:
        """Let time stand still."""
        self._playing, self.rate = False, 0.0

    def step(self, n: int = 1) -> None:
        """Pause, and make n steps; raises what the World refuses a step with."""
        count = values.count(n, "n of step")
        self.pause()
        self._begin()
        all_made = self._steps(count)
        self.timeline.capture()
        if not all_made and self.error is not None:
            raise self.error

    def reset(self) -> None:
        """Pause, and go back to the start; the time line begins again."""
        self.pause()
        self.error = None
        if self.world.is_simulation_mode:
            self.world.reset()
        self.timeline.clear()

    def apply_keyframe(self, name: str) -> None:
        """Pause, and take the state of a keyframe."""
        self.pause()
        self.world.apply_keyframe(name)
        self.timeline.clear()

    def seek(self, index: int) -> None:
        """Pause, and go to a state of the time line."""
        self.pause()
        self.timeline.restore(index)

    def advance(self) -> int:
        """Make the steps that are due; returns how many were made."""
        if not self._playing:
            return 0
        now = self._clock()
        passed = now - self._last
        self._last = now
        h = self.world.time_step
        self._owed += passed * self._speed
        due = int(self._owed / h)
        made = self._in_time(due) if due > 0 else 0
        self._owed -= made * h
        if made < due:
            self._owed = 0.0
        rate = made * h / passed if passed > 0.0 else 0.0
        self.rate += 0.2 * (rate - self.rate)
        if made:
            self.timeline.capture()
        return made

    # ---- inside

    def _begin(self) -> None:
        """Be able to step, and have the state before the first step on the time line."""
        self.world._ready()
        if self.timeline.count == 0:
            self.timeline.capture()

    def _in_time(self, due: int) -> int:
        """As many of the due steps as fit into a frame, one at least."""
        until = self._clock() + _SHARE * self._interval
        made, portion = 0, 1
        while made < due:
            many = min(portion, due - made)
            if not self._steps(many):
                break
            made += many
            left = until - self._clock()
            if left <= 0.0:
                break
            portion = min(2 * portion, 1024)
        return made

    def _steps(self, n: int) -> bool:
        """Make n steps, with the force of a pull if any; False when one failed: then time stands still."""
        try:
            if self.perturbation.grip is None:
                self.world.step(n)
            else:
                for _ in range(n):
                    self.perturbation.apply()
                    self.world.step(1)
        except Exception as error:
            # shown on the page; the World is as it was before the step
            self.pause()
            self.error = error
            return False
        self.error = None
        return True
