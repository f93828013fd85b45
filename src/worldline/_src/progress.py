# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A line on the screen for work that takes longer than a person likes to wait in silence."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

PATIENCE = 1.0
"""Seconds before a line appears."""


def say(text: str, end: str = "\n") -> None:
    """Write to standard error, unless WORLDLINE_QUIET is set."""
    if not os.environ.get("WORLDLINE_QUIET"):
        print(text, end=end, file=sys.stderr, flush=True)


@contextlib.contextmanager
def slow(what: str) -> Iterator[None]:
    """Show a line once the work inside has taken a second, and how long it took in the end."""
    start = time.perf_counter()
    timer = threading.Timer(PATIENCE, say, (f"worldline: {what} ...",), {"end": ""})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        taken = time.perf_counter() - start
        if taken >= PATIENCE:
            timer.join()
            say(f" {taken:.1f} s")
