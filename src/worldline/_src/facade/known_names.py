# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Objects that let no write vanish: unknown attributes are refused, and arrays that properties return are
read-only copies.

`world.gravty = 0` and `joint.position[0] = 1` are errors, not a silent nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from worldline._src.errors import nearest_name

F = TypeVar("F", bound=Callable[..., Any])
_ARRAYS = ("Array", "np.ndarray", "Array | None")


class KnownNames:
    """Refuses public attributes that the class does not have; a subclass of a user may have its own.

    Properties whose annotation says that they return an array return it read-only.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, item in list(vars(cls).items()):
            if isinstance(item, property) and item.fget is not None and _returns_array(item.fget):
                setattr(cls, name, property(_read_only(item.fget), item.fset, item.fdel, item.__doc__))

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and not hasattr(type(self), name) and _is_ours(type(self)):
            known = [other for other in dir(type(self)) if other[0] != "_"]
            hint = nearest_name(name, known)
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'{hint}")
        object.__setattr__(self, name, value)


def returns_read_only(function: F) -> F:
    """Mark the function of a property that makes its array read-only by itself, which is faster."""
    function.__dict__["_as_it_is"] = True
    return function


def returns_view(function: F) -> F:
    """Mark the function of a property whose array is a view to be written through."""
    function.__dict__["_as_it_is"] = True
    return function


def _returns_array(function: Callable[..., Any]) -> bool:
    return function.__annotations__.get("return") in _ARRAYS and "_as_it_is" not in function.__dict__


def _read_only(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def read(self: Any) -> Any:
        made = function(self)
        if made is not None:
            # by position: NumPy takes three times as long for a keyword
            made.setflags(write=False)
        return made

    return returns_read_only(read)


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("worldline.")
