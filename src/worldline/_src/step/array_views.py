# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Attributes that are arrays of a simulation: assignment writes into them and never replaces them."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.spatial.poses import Array, float_array


class ArrayView:
    """An array that compiled code steps on; `owner.name = x` writes `x` into it.

    Args:
        changed: Name of the method of the owner that is called after a write; None for none.
    """

    def __init__(self, changed: str | None = None) -> None:
        self._changed = changed
        self._name = self._slot = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._slot = f"{owner.__name__}.{name}", f"_array_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> ArrayView: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Array: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else instance.__dict__[self._slot]

    def __set__(self, instance: Any, value: Any) -> None:
        array = instance.__dict__.get(self._slot)
        if array is None:
            instance.__dict__[self._slot] = value
            return
        if value is array:
            # `owner.name += x` has written already
            given = array
        else:
            given = numbers_of(value, array.shape, self._name)
        array[...] = given
        if self._changed is not None:
            getattr(instance, self._changed)()


def numbers_of(value: Any, shape: tuple[int, ...], name: str) -> Array:
    """Finite numbers that fill an array of this shape."""
    try:
        given = np.broadcast_to(float_array(value, name, f"numbers of shape {shape}"), shape)
    except ArgumentError:
        raise
    except ValueError:
        raise ArgumentError(f"{name} must be numbers of shape {shape}, got {value!r}") from None
    if not np.isfinite(given).all():
        raise ArgumentError(f"{name} must be finite, got {value!r}")
    return given
