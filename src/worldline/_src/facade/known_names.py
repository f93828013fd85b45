# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Objects that take no attributes they do not know: `world.gravty = 0` is an error, not a silent nothing."""

from __future__ import annotations

from typing import Any

from worldline._src.errors import nearest_name


class KnownNames:
    """Refuses public attributes that the class does not have; a subclass of a user may have its own."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and not hasattr(type(self), name) and _is_ours(type(self)):
            known = [other for other in dir(type(self)) if other[0] != "_"]
            hint = nearest_name(name, known)
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'{hint}")
        object.__setattr__(self, name, value)


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("worldline.")
