# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Attributes of a batch that are its state: live arrays, into which assignment writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldline._src.facade.array_property import ArrayProperty
from worldline._src.facade.batch.fields import FIELDS
from worldline._src.spatial.poses import Array
from worldline._src.step.array_views import numbers_of

if TYPE_CHECKING:
    from worldline._src.facade.batch.world_batch import WorldBatch


class LiveField(ArrayProperty):
    """An array of all worlds that steps read and write: a view, to be written in place or by assignment."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.__doc__ = f"{FIELDS[name]} The array itself: write into it, or assign to it."

    def _value(self, instance: Any) -> Array:
        return instance._array(self._name)

    __get__ = ArrayProperty.__get__

    def __set__(self, instance: WorldBatch, value: Any) -> None:
        array = instance._array(self._name)
        if value is not array:
            # `batch.controls += x` has written already
            array[...] = numbers_of(value, array.shape, f"WorldBatch.{self._name}")
