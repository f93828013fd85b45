# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Waiting for what a viewer does on its own thread."""

from __future__ import annotations

import time
from contextlib import suppress

from worldline import BusyError


def until(check, seconds=20.0):
    """Wait for a check; while the viewer is inside a step, reads are refused."""
    end = time.monotonic() + seconds
    while True:
        with suppress(BusyError):
            if check():
                return
        assert time.monotonic() < end
        time.sleep(0.01)
