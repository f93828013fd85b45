# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions, and where their machine code comes from.

Five kinds of compiled function, by how they are reached:

- `@inline`: small helpers over values and views. Always merged into their caller, never compiled alone.
- `@outline`: larger helpers called from several places, which the compiler may keep as functions.
- `@kernel`: one algorithm over views. Merged into the stage that runs it.
- `@stage`: an entry point `stage(m, c, args, d)` over four arenas (model integers, model constants,
  call arguments, data of one world or one lane group). Compiled and cached alone, once per scalar, and
  called through its address, so that a program of stages never compiles a stage twice.
- `@entry`: a function Python calls with arrays and numbers.

All of them are plain functions until machine code is needed. It is taken from the package where that has it
for the present sources (`machine_code.py`), from the cache on disk otherwise (`kernel_cache.py`), and
compiled as the last resort (`compiler.py`), which is the only one of the three that imports the compiler.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import threading
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from worldline._src import kernel_cache, machine_code
from worldline._src.errors import MachineCodeError
from worldline._src.helpers import DISABLED, F, inline, kernel, outline
from worldline._src.kinds import Kind
from worldline._src.later import without_collection
from worldline._src.named_tuple import NamedTuple
from worldline._src.operands import DTYPES, FAILED, REFUSED, described, flatten, parsed
from worldline._src.operands import variant as variant_of
from worldline._src.progress import compiling

_OBTAINING = threading.RLock()
"""Held while machine code is obtained: the first of two copies would be freed while its address is in use."""

__all__ = ["DISABLED", "Entry", "Stage", "Unit", "entry", "inline", "kernel", "outline", "stage"]


ELSEWHERE: dict[tuple[Any, str], Callable[[], None]] = {}
"""What waits for functions and types that another process may be compiling; filled by `compile_ahead`."""


class Unit(NamedTuple):
    """A function that is compiled alone, for certain types: what machine code is kept for."""

    function: Callable[..., Any]
    variant: str
    label: str
    make: Callable[[Any], Any]

    def is_ready(self) -> bool:
        """Whether machine code is in the package or in the cache, so that nothing has to be compiled."""
        packaged = machine_code.package().holds(self.function, self.variant)
        return packaged or kernel_cache.is_cached(self.function, self.variant)

    def obtain(self) -> kernel_cache.Code:
        """Machine code: from the package, from the cache, or compiled now."""
        found = machine_code.package().load(self.function, self.variant)
        if found is not None:
            return found
        settle = ELSEWHERE.pop((self.function, self.variant), None)
        if settle is not None:
            settle()
        return kernel_cache.load(self.function, self.variant) or self.compile()

    def compile(self) -> kernel_cache.Code:
        """Machine code made now, and put into the cache."""
        if kernel_cache.compiler_version() is None:
            raise MachineCodeError(
                f"{self.label} has to be compiled for this processor, and the compiler is not installed: "
                "pip install 'worldline[compiler]'"
            )
        with compiling(self.label), without_collection():
            from worldline._src import compiler

            made = self.make(compiler)
            kernel_cache.save(self.function, self.variant, made.image, made.symbol, made.result)
        address, owner = kernel_cache.placed(made.image, made.symbol)
        return kernel_cache.Code(address, made.result, owner, "compiler")


class Stage:
    """A compiled step `(m, c, args, d)` that is called through its address.

    `address(scalar)` finds its machine code for a scalar, compiles it when there is none, and keeps it alive.
    Called directly, it runs as plain Python.
    """

    registry: dict[str, Stage] = {}  # noqa: RUF012 - the list of all stages, filled on import

    def __init__(self, name: str, doc: str, make: Callable[[], Callable[..., None]]) -> None:
        self.name, self.doc, self._make = name, doc, make
        self._code: dict[Kind, kernel_cache.Code] = {}
        Stage.registry[name] = self

    @functools.cached_property
    def function(self) -> Callable[..., None]:
        """The function over arenas, made when it is first needed."""
        return self._make()

    def __call__(self, m: Any, c: Any, args: Any, d: Any) -> None:
        self.function(m, c, args, d)

    def __repr__(self) -> str:
        return f"Stage({self.name})"

    def is_compiled(self, scalar: Kind) -> bool:
        """Whether `address` need not call the compiler: the code is here, in the package or in the cache."""
        return scalar in self._code or self.unit(scalar).is_ready()

    def unit(self, scalar: Kind) -> Unit:
        """What machine code of this stage is kept for."""
        return Unit(
            self.function,
            scalar.name,
            f"{self.name} for {scalar}",
            lambda compiler: compiler.compile_stage(getattr(self.function, "py_func", self.function), scalar),
        )

    def address(self, scalar: Kind) -> int:
        """The address of this stage's machine code for `scalar`."""
        known = self._code.get(scalar)
        if known is None:
            with _OBTAINING:
                known = self._code.get(scalar)
                if known is None:
                    known = self._code[scalar] = self.unit(scalar).obtain()
        return known.address


def stage(function: Callable[..., None]) -> Stage:
    """Register an entry point over arenas; see `Stage`."""
    return Stage(function.__name__, (function.__doc__ or "").strip(), lambda: function)


# ---- functions that Python calls

_LAYOUT = np.array(
    [
        object.__basicsize__,  # bytes of the header of an object
        tuple.__basicsize__,  # where the items of a tuple begin
        id(np.ndarray),
        *(id(np.dtype(one)) for one in DTYPES),
    ],
    np.int64,
)
_LAYOUT_ADDRESS = _LAYOUT.ctypes.data
_CELLS = 12
"""Numbers that a result may have."""
_NUMBERS = {"float64": ctypes.c_double, "int64": ctypes.c_int64, "boolean": ctypes.c_int64}


class _PlainCall(ctypes._CFuncPtr):  # type: ignore[attr-defined]
    """A call of machine code that converts no operands; other threads run meanwhile."""

    _flags_ = ctypes._FUNCFLAG_CDECL  # type: ignore[attr-defined]
    _restype_ = ctypes.c_int64


class _AloneCall(ctypes._CFuncPtr):  # type: ignore[attr-defined]
    """The same with no other thread running meanwhile."""

    _flags_ = ctypes._FUNCFLAG_CDECL | ctypes._FUNCFLAG_PYTHONAPI  # type: ignore[attr-defined]
    _restype_ = ctypes.c_int64


def _at_address(address: int) -> Any:
    """An address as an operand of a `_PlainCall`."""
    return ctypes.byref(ctypes.c_char.from_address(address))


class Entry:
    """A compiled function that Python calls with C-contiguous arrays of float64 or int64 and with numbers.

    With a signature the types are known; without one they are taken from the operands of each call, which
    costs a few microseconds. An array of another type is a TypeError.
    """

    registry: list[Entry] = []  # noqa: RUF012 - entries with a signature, filled on import

    def __init__(
        self, function: Callable[..., Any], signature: str | tuple[Any, ...] | None, label: str
    ) -> None:
        self.py_func = function
        self.label = label or function.__name__
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self._calls: dict[Any, Callable[..., Any]] = {}
        self._call: Callable[..., Any] | None = None
        self._code: kernel_cache.Code | None = None
        self.operands: tuple[Any, ...] | None = None
        if signature is not None:
            self.operands = parsed(signature)
            Entry.registry.append(self)

    def __call__(self, *operands: Any) -> Any:
        call = self._call
        if call is None:
            call = self._find(operands)
        return call(*operands)

    def __repr__(self) -> str:
        return f"Entry({self.__name__})"

    def ready(self) -> Callable[..., Any]:
        """The function itself, with machine code from the package, from the cache, or compiled now."""
        if self._call is None:
            assert self.operands is not None, "types come from the operands of a call"
            with _OBTAINING:
                if self._call is None:
                    self._code = self.unit().obtain()
                    self._call = _caller(self, self._code, self.operands)
        return self._call

    def bound(self, *operands: Any, alone: bool = True) -> Callable[[], int]:
        """A function without operands that calls the code on these very operands, at a third of the cost.

        For entries that take arrays, then whole numbers, and return a whole number, a truth as one, or
        nothing. No other thread runs meanwhile if it is to be `alone`.
        """
        call, code = self.ready(), self._code
        assert code is not None and code.result in ("", "i", "b") and call.__name__ == "fast"
        given = _with_usual_types(operands)
        numbers = [ctypes.c_int64(x) for x in given if not isinstance(x, np.ndarray)]
        made: Any = (_AloneCall if alone else _PlainCall)(code.address)
        made.kept = code, given  # both live as long as what calls them
        parts = _at_address(_LAYOUT_ADDRESS), _at_address(id(given)), _at_address(0)
        return functools.partial(made, *parts, *numbers)

    def unit(self, kinds: tuple[Any, ...] | None = None) -> Unit:
        """What machine code is kept for; `kinds` are the types of operands where there is no signature."""
        types = kinds or self.operands
        assert types is not None, "types come from the operands of a call"
        return Unit(
            self.py_func,
            variant_of(types),
            self.label,
            lambda compiler: compiler.compile_entry(self.py_func, types),
        )

    def _find(self, operands: tuple[Any, ...]) -> Callable[..., Any]:
        """What makes a call with these operands."""
        if self.operands is not None:
            return self.ready()
        kinds = tuple(described(one) for one in operands)
        if kinds not in self._calls:
            with _OBTAINING:
                if kinds not in self._calls:
                    self._calls[kinds] = _caller(self, self.unit(kinds).obtain(), kinds)
        return self._calls[kinds]


def _caller(entry: Entry, code: Any, kinds: tuple[Any, ...]) -> Callable[..., Any]:
    """A Python function that calls machine code and returns its result.

    The code finds arrays in the tuple of operands; numbers are passed beside it. Other threads run meanwhile.
    """
    flat = flatten(kinds)
    paths = [path for path, name in flat if "[" not in name]
    types = [_NUMBERS[name] for _, name in flat if "[" not in name]
    converters = [float if one is ctypes.c_double else operator.index for one in types]
    base = (ctypes.c_int64, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    call: Any = ctypes.CFUNCTYPE(*base, *types)(code.address)
    call.code = code  # the code lives as long as what calls it
    layout, count, last = ctypes.c_void_p(_LAYOUT.ctypes.data), len(kinds), len(kinds) - len(paths)
    integer = code.result == "i"
    bound, whole, read = REFUSED + len(flat), code.result in ("", "i", "b"), _reader(code.result)

    def general(*operands: Any) -> Any:
        """Results and numbers of any form."""
        if len(operands) != count:
            raise TypeError(f"{entry.__name__} takes {count} operands, got {len(operands)}")
        cell = None if whole else (ctypes.c_int64 * _CELLS)()
        values = [_at(operands, path) for path in paths]
        numbers = [convert(x) for convert, x in zip(converters, values, strict=True)]
        value = call(layout, operands, cell, *numbers)
        if value < bound:
            return general(*_usual(entry, value, flat, operands))
        return read(value, cell)

    def fast(*operands: Any) -> Any:
        """The same for results without a cell and numbers that come last, kept short."""
        if len(operands) != count:
            return general(*operands)
        try:
            value = call(layout, operands, None, *operands[last:])
        except ctypes.ArgumentError:
            return general(*operands)
        if value < bound:
            return general(*_usual(entry, value, flat, operands))
        return value if integer else read(value, None)

    return fast if whole and paths == [(k,) for k in range(last, count)] else general


def _usual(entry: Entry, value: int, flat: list[Any], operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands that compiled code refused, as it takes them; an error where they are none of its types.

    It knows types by their addresses. Arrays that were unpickled have types of their own, equal to the usual.
    """
    if value == FAILED:
        raise RuntimeError(f"compiled code of {entry.__name__} failed")
    path, wanted = flat[value - REFUSED]
    given = _at(operands, path)
    usual = _with_usual_types(operands)
    if _at(usual, path) is not given:
        return usual
    got = f"{given.dtype} of shape {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
    raise TypeError(f"operand {path[0]} of {entry.__name__} must be a contiguous array {wanted}, got {got}")


def _with_usual_types(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Views of the arrays whose type is equal to one of NumPy's own but is another object."""
    made = []
    for given in operands:
        if isinstance(given, tuple):
            given = _with_usual_types(given)
        elif isinstance(given, np.ndarray):
            for usual in map(np.dtype, DTYPES):
                if given.dtype == usual and given.dtype is not usual:
                    given = given.view(usual)
        made.append(given)
    return tuple(made)


def _at(operands: tuple[Any, ...], path: tuple[int, ...]) -> Any:
    """An operand by its position, also in tuples."""
    for k in path:
        operands = operands[k]
    return operands


def _reader(result: str) -> Callable[[int, Any], Any]:
    """What makes a result from the returned whole number and the cell, by its form."""
    if result == "":
        return lambda value, cell: None
    if result == "i":
        return lambda value, cell: value
    if result == "b":
        return lambda value, cell: value != 0

    def read(value: int, cell: Any) -> Any:
        doubles = (ctypes.c_double * _CELLS).from_buffer(cell)
        parts = (
            doubles[k] if letter == "f" else cell[k] != 0 if letter == "b" else cell[k]
            for k, letter in enumerate(result.strip("()"))
        )
        return tuple(parts) if result.startswith("(") else next(parts)

    return read


@overload
def entry(function: F) -> F: ...
@overload
def entry(*, signature: str | tuple[Any, ...], label: str = "") -> Callable[[F], F]: ...
def entry(function: Any = None, *, signature: str | tuple[Any, ...] | None = None, label: str = "") -> Any:
    """A function that Python calls; see `Entry`.

    >>> from worldline._src.jit import entry
    >>> @entry(signature="float64[::1] int64")
    ... def first(x, n):
    ...     return x[n]
    """

    def made(function: Callable[..., Any]) -> Any:
        return function if DISABLED else Entry(function, signature, label)

    return made(function) if function is not None else made
