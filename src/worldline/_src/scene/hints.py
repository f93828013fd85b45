# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable

from worldline._src.errors import nearest_name


def hint(name: object, candidates: Iterable[str]) -> str:
    """A hint at the nearest valid name; bounded work however many or long the names are."""
    if not isinstance(name, str) or not 0 < len(name) <= 80:
        return ""
    pool = [known for known in candidates if abs(len(known) - len(name)) <= 8]
    if len(pool) > 300:
        pool = [known for known in pool if known[:1] == name[:1] or known[-1:] == name[-1:]][:300]
    return nearest_name(name, pool)
