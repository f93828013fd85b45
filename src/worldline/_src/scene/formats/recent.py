# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Scenes that were read a moment ago.

Training loads the same robot for every environment. A text that refers to no other file always means the same
scene, so one that comes a second time is kept, and from then on copied, which takes a tenth of reading it.
The copies share nothing with what is kept. A text that comes once costs nothing here.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from worldline._src.scene.formats.mjcf.making import maker
from worldline._src.scene.report import Report
from worldline._src.scene.world import World

_MOST: Final = 16
_LONGEST: Final = 200_000
_DEEPEST: Final = 60
_ELSEWHERE: Final = ("file", "uri", "://")
"""In every way a format has to name another file; a text that has it for other reasons is only read again."""


_ASIDE: Final = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[cdata\[.*?\]\]>", re.DOTALL)
"""Comments, and what may hold the signs of a comment without being one."""


class RecentScenes:
    """The last few scenes by what they were read from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Any, Callable[[], World] | None] = OrderedDict()

    def find(self, key: Any) -> World | None:
        """A copy of the scene that was read from the same, if it is known."""
        with self._lock:
            make = self._known.get(key)
            if make is None:
                return None
            self._known.move_to_end(key)
        # outside of the lock: nobody changes what is kept
        made = make()
        notes, made.report = made.report, Report()
        made.report.extend(notes)
        return made

    def keep(self, key: Any, text: str, world: World) -> None:
        """Takes note of a scene; keeps a copy when it is met for the second time."""
        if len(text) > _LONGEST:
            return
        with self._lock:
            again = key in self._known
        # only looked into when it comes again
        make = maker(world.deepcopy()) if again and not _names_files(text) and _is_shallow(world) else None
        with self._lock:
            self._known[key] = make
            self._known.move_to_end(key)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)

    def clear(self) -> None:
        """Forgets all."""
        with self._lock:
            self._known.clear()


def _names_files(text: str) -> bool:
    # a search for each word is far quicker than one pattern with all of them
    lower = text.lower()
    if not any(word in lower for word in _ELSEWHERE):
        return False
    # comments have addresses of licenses
    said = _ASIDE.sub(lambda found: "" if found[0].startswith("<!--") else found[0], lower)
    return any(word in said for word in _ELSEWHERE)


def _is_shallow(world: World) -> bool:
    """Whether links nest so little that functions may call themselves for each level."""
    level = [body.link for body in world.hierarchy.bodies]
    for _ in range(_DEEPEST):
        level = [child for link in level for child in link.children]
        if not level:
            return True
    return False


RECENT: Final = RecentScenes()
