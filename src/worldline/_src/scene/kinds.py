# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of field values, beginning with numbers.

A `Kind` is all the scene knows about a field: what assignment accepts and how it is stored (`__call__`),
what a file may hold (`read`, `plain`), what a valid scene needs (`check`), and how names in it change when
scenes are joined (`rename`). Assignment looks at types and shapes only; NaN and ranges of values are the
business of `check`, since a list or an array edited in place can break them at any time anyway.
"""

from __future__ import annotations

import math
import numbers
import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

import numpy as np

from worldline._src.masked import is_masked_array
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.contexts import Probe, Rejected, Source, Writer
from worldline._src.scene.hints import hint  # noqa: F401 # pyright: ignore[reportUnusedImport] # formats look for it here

S = TypeVar("S")
T = TypeVar("T")


WORLD: Final = "world"
"""The name by which references mean the world itself instead of one of its links."""

FAILED: Final[Any] = object()
"""What `Kind.read` returns after it noted a problem."""

_LARGEST: Final = sys.float_info.max
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


def short_repr(value: object) -> str:
    """The repr of a value, cut to a bearable length."""
    return _short.repr(value)


def describe(value: object) -> str:
    """A value in a few words, for messages."""
    if value is None:
        return "None"
    if is_masked_array(value):
        return f"a masked array of shape {getattr(value, 'shape', ())}"
    given: Any = value
    if isinstance(value, np.ndarray):
        return f"an array of shape {given.shape} and type {given.dtype}"
    if isinstance(value, list | tuple):
        return f"{_short.repr(given)} ({type(given).__name__} of {len(given)})"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return f"{_short.repr(value)} ({type(value).__name__})"


def _unchanged(text: str) -> str:
    return text


class Rename(NamedTuple):
    """What to do with the names and paths of a scene.

    Attributes:
        name: The new name of an object.
        world: What takes the place of the world in references.
        file: The new path of an asset.
    """

    name: Callable[[str], str] = _unchanged
    world: str = WORLD
    file: Callable[[str], str] = _unchanged


class Kind(Generic[S, T]):
    """What a field may hold."""

    allowed: str = "anything"
    immutable: bool = False
    """Whether stored values cannot change, so that copies may share them."""

    def __call__(self, value: S) -> T:
        """The value as it is stored; `Rejected` when it does not fit."""
        raise NotImplementedError

    def reject(self, value: object) -> Rejected:
        """The error for a value that does not fit."""
        return Rejected(describe(value), self.allowed)

    def plain(self, value: T, writer: Writer) -> Any:
        """The value as maps, lists, numbers and text."""
        return value

    def read(self, raw: Any, source: Source, path: str) -> Any:
        """The value from maps, lists, numbers and text; `FAILED` after noting a problem."""
        try:
            return self(raw)
        except Rejected as rejected:
            source.reject(path + rejected.path, rejected.given, rejected.allowed)
            return FAILED

    def copy(self, value: T, writer: Writer) -> T:
        """An independent copy."""
        return value

    def check(self, value: Any, probe: Probe, path: str) -> None:
        """Notes whatever is wrong with a stored value."""
        try:
            self(value)
        except Rejected as rejected:
            probe.reject(path + rejected.path, rejected.given, rejected.allowed)

    def sound(self) -> str:
        """A quick test that says of most sound values that `check` has nothing to do with them.

        Python for the value `v`, with `{k}` for this kind; empty when there is none.
        """
        return ""

    def rename(self, value: T, new: Rename) -> T:
        """The value with every scene name in it replaced."""
        return value

    def has_names(self) -> bool:
        """Whether `rename` may do anything at all."""
        return False

    def identical(self, a: T, b: T) -> bool:
        """Whether two stored values are the same to the last bit, the sign of zero included."""
        return a == b

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        """The JSON Schema of the plain form."""
        raise NotImplementedError


def is_list(value: object) -> bool:
    """Whether a value can be gone through entry by entry; text, maps, masked arrays and scalars cannot."""
    if isinstance(value, str | bytes | Mapping) or is_masked_array(value) or not isinstance(value, Iterable):
        return False
    return not (isinstance(value, np.ndarray) and value.ndim == 0)


class Flag(Kind[bool, bool]):
    """True or False."""

    immutable = True
    allowed = "True or False"

    def __call__(self, value: bool) -> bool:
        if value is True or value is False:
            return value
        if isinstance(value, np.bool_):
            return bool(value)
        raise self.reject(value)

    def sound(self) -> str:
        return "v is True or v is False"

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {"type": "boolean"}


def to_float(value: Any) -> float | None:
    """A real number as a float, None for anything else (text, truth values, complex numbers)."""
    if type(value) is float:
        return value
    if isinstance(value, bool | np.bool_):
        return None
    if is_masked_array(value):
        return None
    given: Any = value
    if isinstance(value, np.ndarray) and given.ndim == 0 and given.dtype.kind in "fiu":
        value = given.item()
    if isinstance(value, numbers.Real):
        try:
            made = float(value)
        except OverflowError:
            return None
        # a longer type of float may hold a finite number that becomes an infinite one
        return None if math.isinf(made) and abs(value) != math.inf else made
    return None


class Real(Kind[float, float]):
    """A real number; the bounds are those of a valid scene.

    Args:
        minimum: Least valid value.
        above: Value that a valid one must exceed.
        maximum: Greatest valid value.
        infinite: Whether infinities are valid.
    """

    immutable = True

    def __init__(
        self,
        *,
        minimum: float | None = None,
        above: float | None = None,
        maximum: float | None = None,
        infinite: bool = False,
    ) -> None:
        self.minimum, self.above, self.maximum, self.infinite = minimum, above, maximum, infinite
        words = [] if infinite else ["finite"]
        words += [f">= {minimum:g}"] if minimum is not None else []
        words += [f"> {above:g}"] if above is not None else []
        words += [f"<= {maximum:g}"] if maximum is not None else []
        self.allowed = "a number" + (" " + " and ".join(words) if words else "")
        # every valid number and no other lies within these
        self.least = max(-math.inf if infinite else -_LARGEST, -math.inf if minimum is None else minimum)
        if above is not None:
            self.least = max(self.least, math.nextafter(above, math.inf))
        self.greatest = min(math.inf if infinite else _LARGEST, math.inf if maximum is None else maximum)

    def __call__(self, value: float) -> float:
        if type(value) is float:
            return value
        number = to_float(value)
        if number is None:
            raise self.reject(value)
        return number

    def is_number(self, value: float) -> bool:
        """Whether a value is finite, or infinite where that is allowed."""
        return math.isfinite(value) or (self.infinite and value == value)

    def is_valid(self, value: float) -> bool:
        """Whether a number lies within the bounds; NaN never does."""
        return self.least <= value <= self.greatest

    def identical(self, a: float, b: float) -> bool:
        return a == b and (a != 0.0 or math.copysign(1.0, a) == math.copysign(1.0, b))

    def plain(self, value: float, writer: Writer) -> Any:
        if not writer.binary and math.isinf(value):
            # JSON has no infinity
            return "inf" if value > 0 else "-inf"
        return value

    def read(self, raw: Any, source: Source, path: str) -> Any:
        if self.infinite and (raw == "inf" or raw == "-inf"):
            return math.inf if raw == "inf" else -math.inf
        return super().read(raw, source, path)

    def check(self, value: Any, probe: Probe, path: str) -> None:
        if type(value) is float and self.least <= value <= self.greatest:
            return
        if type(value) is not float:
            probe.reject(path, describe(value), self.allowed)
        elif not (self.is_valid(value) if probe.values else self.is_number(value)):
            probe.reject(path, repr(value), self.allowed)

    def sound(self) -> str:
        return f"type(v) is float and {self.least!r} <= v <= {self.greatest!r}"

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        number: dict[str, Any] = {"type": "number"}
        number |= {"minimum": self.minimum} if self.minimum is not None else {}
        number |= {"exclusiveMinimum": self.above} if self.above is not None else {}
        number |= {"maximum": self.maximum} if self.maximum is not None else {}
        return {"anyOf": [number, {"enum": ["inf", "-inf"]}]} if self.infinite else number


class Integer(Kind[int, int]):
    """A whole number that fits 64 bits; the bounds are those of a valid scene."""

    immutable = True

    def __init__(self, *, minimum: int | None = None, maximum: int | None = None) -> None:
        self.minimum = -(2**63) if minimum is None else minimum
        self.maximum = 2**63 - 1 if maximum is None else maximum
        words = [f">= {minimum}"] if minimum is not None else []
        words += [f"<= {maximum}"] if maximum is not None else []
        self.allowed = "a whole number" + (" " + " and ".join(words) if words else "")

    def __call__(self, value: int) -> int:
        if type(value) is not int:
            if isinstance(value, bool) or not isinstance(value, numbers.Integral):
                raise self.reject(value)
            value = int(value)
        if not -(2**63) <= value < 2**64:
            raise self.reject(value)
        return value

    def check(self, value: Any, probe: Probe, path: str) -> None:
        outside = type(value) is int and not self.minimum <= value <= self.maximum
        if type(value) is not int or (outside and probe.values):
            probe.reject(path, describe(value), self.allowed)

    def sound(self) -> str:
        return f"type(v) is int and {self.minimum} <= v <= {self.maximum}"

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


FLAG = Flag()
REAL = Real()
NON_NEGATIVE = Real(minimum=0.0)
POSITIVE = Real(above=0.0)
BOUND = Real(infinite=True)
LIMIT = Real(minimum=0.0, infinite=True)
NON_POSITIVE_LIMIT = Real(maximum=0.0, infinite=True)
INTEGER = Integer()
COUNT = Integer(minimum=0)
