# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Selection of worlds of a batch: indices, a mask, a slice, or all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.masked import has_masked_entries

WhichWorlds = Any
"""Indices (one or several), a mask of bools with one entry a world, a slice, or None for all worlds."""


def indices_of(which: WhichWorlds, count: int, what: str = "worlds", least: int = 0) -> np.ndarray:
    """Indices of the worlds that are meant, in the order given; each at most once."""
    if which is None:
        return np.arange(count)
    if isinstance(which, slice):
        return np.arange(count)[which]
    if has_masked_entries(which):
        raise ArgumentError(f"indices of {what} must not have masked entries; fill them first")
    try:
        given = np.atleast_1d(np.asarray(which))
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{what} are given by indices or by a mask of bools, got {which!r}") from error
    if given.dtype == bool:
        if given.shape != (count,):
            raise ArgumentError(
                f"a mask of {what} needs shape ({count},), one entry a world, got {given.shape}"
            )
        return np.flatnonzero(given)
    if given.size < least:
        raise ArgumentError(f"at least {least} of the {what} must be given, got {which!r}")
    if given.size == 0:
        return np.zeros(0, np.int64)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise ArgumentError(f"{what} are given by indices or by a mask of bools, got {which!r}")
    if given.min() < -count or given.max() >= count:
        raise ArgumentError(f"indices of {what} are from 0 to {count - 1}, got {which!r}")
    found = np.where(given < 0, given + count, given).astype(np.int64)
    if len(np.unique(found)) != len(found):
        raise ArgumentError(f"each of the {what} may be given once, got {which!r}")
    return found
