# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Public methods that a part of an object carries out: signature and documentation are those of the part.

class World:
    has_joint = of_part("_connections", Connections.has_joint)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def of_part(part: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method that calls `method` of the part which the attribute `part` holds."""

    @wraps(method)
    def call(self: Any, *given: P.args, **named: P.kwargs) -> R:
        return method(getattr(self, part), *given, **named)

    return call
