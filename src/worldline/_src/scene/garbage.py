# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Putting off the garbage collector while many objects are made that all stay.

Reading a scene makes thousands of small objects. After every few hundred of them Python's collector looks for
cycles nobody holds any more, finds none, and has spent a fifth of the time. It is the whole process's
collector, so it is put off for milliseconds only, and comes back when the last one who asked is done. What
was made meanwhile then counts as old, or it would be gone through at once.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator
from typing import Final

_MOST_AGED: Final = 300_000
"""How many objects may be called old before all are gone through; reading a robot makes two thousand."""
_lock = threading.Lock()
_holders = 0
_was_enabled = False
_aged = 0
_searches = 0
_may_age = True


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """No automatic collection inside; one that was off before stays off afterwards.

    Example:
        >>> with collection_paused():
        ...     gc.isenabled()
        False
    """
    global _holders, _was_enabled
    with _lock:
        if not _holders:
            _was_enabled = gc.isenabled()
            gc.disable()
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if not _holders and _was_enabled:
                _let_age()
                gc.enable()


def _let_age() -> None:
    """Moves what was made meanwhile to the objects that the collector looks at least often.

    Freezing and thawing does so, which takes no time. The collector does not count what comes to it this way,
    so now and then all is gone through here, unless it has done so by itself.
    """
    global _aged, _searches, _may_age
    # what others have frozen, as programs do before they fork, must stay so; counting it takes long, so once
    _may_age = _may_age and not gc.get_freeze_count()
    if not _may_age:
        return
    searches = gc.get_stats()[2]["collections"]
    if searches != _searches:
        _aged, _searches = 0, searches
    _aged += gc.get_count()[0]
    if _aged > _MOST_AGED:
        gc.collect()
    else:
        gc.freeze()
        gc.unfreeze()
