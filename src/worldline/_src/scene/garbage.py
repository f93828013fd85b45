# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Putting off the garbage collector while many objects are made that all stay.

Reading a scene makes thousands of small objects. After every few hundred of them Python's collector looks for
cycles nobody holds any more, finds none, and has spent a fifth of the time. It is the whole process's
collector, so it is put off for milliseconds only, and comes back when the last one who asked is done.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_holders = 0
_was_enabled = False


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
                gc.enable()
