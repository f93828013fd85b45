# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The base of the scene's enumerations."""

from __future__ import annotations

import enum
from typing import TypeVar

A = TypeVar("A", bound=enum.Enum)
B = TypeVar("B", bound=enum.Enum)


class SceneEnum(enum.Enum):
    """An enumeration whose members are written by name, in PascalCase."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        return name

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    # members compare by identity; the hash of `Enum` is a Python function, felt where tables have such keys
    __hash__ = object.__hash__


def counterparts(of: type[A], to: type[B], **other: str) -> dict[A, B]:
    """The member of `to` for every member of `of`: that of the same words, or the one that `other` names.

    Words are compared without case and underscores: `counterparts(TargetMode, ActuatorMode)` has
    `TargetMode.PositionVelocity: ActuatorMode.POSITION_VELOCITY`. A member without a counterpart is an error.
    """
    words = {_words(name): member for name, member in to.__members__.items()}
    return {member: words[_words(other.get(name, name))] for name, member in of.__members__.items()}


def _words(name: str) -> str:
    return name.replace("_", "").lower()
