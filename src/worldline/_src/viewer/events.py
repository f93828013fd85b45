# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""User events of the page, queued for the thread that owns the World.

The value is taken in the loop of the page, at once: the panel also shows where the World is, and would
otherwise overwrite what a person has just set before anybody reads it. The loop keeps the order of events,
which a pool of threads does not. Values that the viewer itself writes come back without a client.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

Post = Callable[[Callable[[], None]], None]
"""Lets a function run soon in the thread that owns the World."""


def on_change(handle: Any, post: Post, work: Callable[[Any], None]) -> None:
    """Do work with the new value of a slider, box or list when a person changes it."""
    handle.on_update(_taken(post, work))


def on_press(handle: Any, post: Post, work: Callable[[Any], None]) -> None:
    """Do work when a person presses a button, given its value: of a group of buttons, which one."""
    handle.on_click(_taken(post, work))


def _taken(post: Post, work: Callable[[Any], None]) -> Callable[[Any], Coroutine[Any, Any, None]]:
    async def changed(event: Any) -> None:
        if event.client is not None:
            value = event.target.value
            post(lambda: work(value))

    return changed
