# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Functions that kernels are made of: plain Python until the compiler meets them in a kernel."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

DISABLED: bool = os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")
"""True when kernels run as plain Python (environment variable NUMBA_DISABLE_JIT=1)."""


class Helper:
    """A function that kernels call. Called from Python, it runs as plain Python."""

    __slots__ = ("__dict__", "__weakref__", "_dispatcher", "merged", "py_func")

    def __init__(self, function: Callable[..., Any], merged: bool) -> None:
        self.py_func = function
        self.merged = merged
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self._dispatcher: Any = None

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)

    def __repr__(self) -> str:
        return f"{self.__module__}.{self.__name__}"

    @property
    def _numba_type_(self) -> Any:
        """What the compiler makes of a helper that a kernel names."""
        from numba import typeof

        from worldline._src import compiler

        if self._dispatcher is None:
            self._dispatcher = compiler.dispatcher(self.py_func, self.merged)
        return typeof(self._dispatcher)


class WrittenHelper(Helper):
    """A merged helper whose text the package writes when it is first called or compiled.

    `parameters` are its names, `write` makes the function.
    """

    def __init__(self, name: str, parameters: str, write: Callable[[], Callable[..., Any]]) -> None:
        self.parameters = tuple(parameters.split(", "))
        self.merged = True
        self.__name__, self.__module__ = name, ""
        self._dispatcher = None
        self._write = write

    @functools.cached_property
    def py_func(self) -> Callable[..., Any]:  # type: ignore[override]
        return self._write()


def inline(function: F) -> F:
    """A small helper; its code is merged into every caller."""
    return function if DISABLED else cast("F", Helper(function, merged=True))


def outline(function: F) -> F:
    """A larger helper that may stay a function of its own.

    The compiler merges it into the kernels that call it all the same: what a merged function is the first to
    call is merged with it.
    """
    return function if DISABLED else cast("F", Helper(function, merged=False))


def kernel(function: F) -> F:
    """An algorithm over views; its code is merged into the stage that runs it."""
    return function if DISABLED else cast("F", Helper(function, merged=True))
