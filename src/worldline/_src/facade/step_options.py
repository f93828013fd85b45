# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How a call of `World.step` is carried out, as one value."""

from __future__ import annotations

from typing import Any

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.options import Options, Setting, flag


def _steps(value: Any) -> int:
    number = values.count(value, "n of step")
    if number < 0:
        raise ArgumentError(f"step needs a non-negative step count, got {number}")
    return number


class StepOptions(Options):
    """What to do in one call of `World.step`; it changes nothing about the World or its results.

    Who does the work is an argument of its own: `world.step(options=..., executor=...)`.

    Args:
        n: number of steps.
        profile: measure the stages of the last step; see `World.last_step_profile`.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> world.step(options=sx.StepOptions(n=10, profile=True))
        >>> world.frame, world.last_step_profile.frame, world.step_profiling_enabled
        (10, 10, False)
    """

    n: Setting[int, int] = Setting(_steps)
    profile: Setting[bool, bool] = Setting(flag("StepOptions profile"))

    def __init__(self, n: int = 1, profile: bool = False) -> None:
        self.n = n
        self.profile = profile
