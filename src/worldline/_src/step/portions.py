# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps in portions: compiled code returns to Python often enough for an interrupt to be seen."""

from __future__ import annotations

import time
from collections.abc import Iterator

_CHUNK_SECONDS = 0.02
"""Compiled code returns to Python about this often, so that an interrupt is seen."""


def portions(n: int, seconds: float = _CHUNK_SECONDS) -> Iterator[int]:
    """Cut `n` steps into portions of about so many seconds, by how long the last one took."""
    portion = 1
    while n > 0:
        started = time.perf_counter()
        many = min(portion, n)
        yield many
        n -= many
        spent = time.perf_counter() - started
        if spent < 0.5 * seconds:
            portion *= 2 if spent > 0.1 * seconds else 8
        elif spent > 2.0 * seconds:
            portion = max(1, portion // 2)
