# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Descriptors whose value is an array: an object gives the array, its class the descriptor itself.

Subclasses that can be written repeat `__get__ = ArrayProperty.__get__`: type checkers compare `__get__` and
`__set__` of one class, and would otherwise take the number that was assigned for what is read.
"""

from __future__ import annotations

from typing import Any, Self, overload

from worldline._src.spatial.poses import Array


class ArrayProperty:
    """A descriptor that reads an array of an object; subclasses say which, and how it is written."""

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Array: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else self._value(instance)

    def _value(self, instance: Any) -> Array:
        raise NotImplementedError
