# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The one place that calls the compiler.

Five kinds of compiled function, by how they are reached:

- `@inline`: small helpers over values and views. Always merged into their caller, never compiled alone.
- `@outline`: larger helpers called from several places, kept as functions.
- `@kernel`: one algorithm over views. Merged into the stage that runs it.
- `@stage`: an entry point `stage(m, c, args, d)` over four arenas (model integers, model constants,
  call arguments, data of one world or one lane group). Compiled and cached alone, once per scalar, and
  called through its address, so that a program of stages never compiles a stage twice.
- `@entry`: a function Python calls with arrays.

All of them share one set of floating-point flags. `contract`, `nsz` and `arcp` keep the results of one
world and of a lane equal bit for bit; anything that may reorder sums would not. None of them may
allocate: they are compiled without the memory manager, so an allocation is a compile error.

Compiled code is kept on disk under a hash of the sources it depends on; see `kernel_cache.py`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numba
from numba.core import config as numba_config
from numba.core import event as numba_event

from worldline._src.kernel_cache import KernelCache, cache_usable
from worldline._src.progress import say

F = TypeVar("F", bound=Callable[..., Any])

FASTMATH = {"contract", "nsz", "arcp"}
"""Floating-point freedoms given to the compiler, the same for every scalar."""

DISABLED: bool = bool(numba_config.DISABLE_JIT)
"""True when kernels run as plain Python (environment variable NUMBA_DISABLE_JIT=1)."""

OPTIONS: dict[str, Any] = {
    "fastmath": FASTMATH,
    "error_model": "numpy",
    "nogil": True,
    "_nrt": False,
}
_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
INLINE_OPTIONS: dict[str, Any] = {**OPTIONS, **_NO_WRAPPERS, "forceinline": True}


def inline(function: F) -> F:
    """Compile a small helper; its code is merged into every caller."""
    return numba.njit(**INLINE_OPTIONS)(function)


def outline(function: F) -> F:
    """Compile a helper that stays a function of its own: for large code called from several places."""
    return numba.njit(**OPTIONS, **_NO_WRAPPERS)(function)


def kernel(function: F) -> F:
    """Compile an algorithm over views; its code is merged into the stage that runs it."""
    return numba.njit(**INLINE_OPTIONS)(function)


def entry(function: F, **options: Any) -> F:
    """Compile a function that Python calls; cached on disk."""
    if DISABLED:
        return function
    compiled = numba.njit(**OPTIONS, **options)(function)
    if cache_usable():
        compiled._cache = KernelCache(function)
    return compiled


def _signature(scalar: Any) -> tuple[Any, ...]:
    """Types of the arenas of a stage."""
    pointer = numba.types.CPointer
    return pointer(numba.int64), pointer(numba.float64), pointer(numba.int64), pointer(scalar)


class Stage:
    """A compiled step `(m, c, args, d)` that is called through its address.

    `address(scalar)` compiles it for a scalar when that has not happened on this machine, loads it from
    the cache otherwise, and keeps it alive. Called directly, it runs as plain Python.
    """

    registry: dict[str, Stage] = {}  # noqa: RUF012 - the list of all stages, filled on import
    elsewhere: dict[tuple[Stage, Any], Callable[[], None]] = {}  # noqa: RUF012 - filled by `compile_ahead`
    """What waits for stages and scalars that another process may be compiling."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function
        self.name = function.__name__
        self.doc = (function.__doc__ or "").strip()
        self._address: dict[Any, int] = {}
        self._dispatcher = entry(function, **_NO_WRAPPERS)
        Stage.registry[self.name] = self

    def __call__(self, m: Any, c: Any, args: Any, d: Any) -> None:
        self.function(m, c, args, d)

    def __repr__(self) -> str:
        return f"Stage({self.name})"

    def is_compiled(self, scalar: Any) -> bool:
        """Whether `address` need not call the compiler: the code is here, or in the cache on disk."""
        if scalar in self._address:
            return True
        cache = getattr(self._dispatcher, "_cache", None)
        return isinstance(cache, KernelCache) and cache.holds(_signature(scalar))

    def address(self, scalar: Any) -> int:
        """The address of this stage's machine code for `scalar`."""
        known = self._address.get(scalar)
        if known is not None:
            return known
        settle = Stage.elsewhere.pop((self, scalar), None)
        if settle is not None:
            settle()
        signature = _signature(scalar)
        with announced(f"{self.name} for {scalar}"):
            self._dispatcher.compile(signature)
        compiled = self._dispatcher.overloads[signature]
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        self._address[scalar] = address
        return address


def stage(function: Callable[..., None]) -> Stage:
    """Register an entry point over arenas; see `Stage`."""
    return Stage(function)


class _CompileLine(numba_event.Listener):
    """Writes one line when the compiler really starts, and how long it took."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.started: float | None = None

    def on_start(self, event: Any) -> None:
        if self.started is None:
            self.started = time.perf_counter()
            say(f"worldline: compiling {self.what} (once per machine) ...", end="")

    def on_end(self, event: Any) -> None:
        pass

    def close(self) -> None:
        if self.started is not None:
            say(f" {time.perf_counter() - self.started:.1f} s")


@contextlib.contextmanager
def announced(what: str) -> Iterator[None]:
    """Show a line while something compiles inside; silent when the cache has it."""
    line = _CompileLine(what)
    numba_event.register("numba:compile", line)
    try:
        yield
    finally:
        numba_event.unregister("numba:compile", line)
        line.close()
