# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments that must be objects of a World.

Modules of the World import this one, so that classes make themselves known here.
"""

from __future__ import annotations

from typing import Any, TypeVar

from worldline._src.errors import require_kind

_KINDS: dict[str, type] = {}
C = TypeVar("C", bound=type)


def known_kind(kind: C) -> C:
    """Make a class known by its name."""
    _KINDS[kind.__name__] = kind
    return kind


def kind_named(name: str) -> Any:
    """A class that made itself known; an empty one of that name while its module is not loaded."""
    return _KINDS.get(name) or type(name, (), {"__module__": f"worldline._src.facade.{name.lower()}"})


def require_world(given: object, where: str) -> None:
    """Refuse anything but a World."""
    require_kind(given, kind_named("World"), "world", where)


def require_multibody(given: object, where: str) -> None:
    """Refuse anything but a Multibody."""
    require_kind(given, kind_named("Multibody"), "multibody", where)
