# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The base of the scene's enumerations."""

from __future__ import annotations

import enum


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
