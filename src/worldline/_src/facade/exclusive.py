# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Exclusive access: compound reads and writes of a World that no step on another thread may interleave."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


def exclusive(function: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a function of a World, or of an object of one, have it for itself; see `step/thread_guard.py`.

    Steps of other threads wait for it; while one runs, the call is refused with an OperationError.
    """

    @wraps(function)
    def alone(owner: Any, *given: P.args, **named: P.kwargs) -> R:
        world = owner if hasattr(owner, "_live") else owner._world
        with world._live().guard:
            return function(owner, *given, **named)

    return alone
