# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A quick look at a whole scene, which nearly always finds nothing.

`validate` tells everything that is wrong and where, so it builds the path of every field it visits. A sound
scene needs no paths. Here each class gets a function, written out as code once (as `dataclasses` does), that
looks at the fields of an object: numbers and flags many at a time, other objects by their own functions. What
is not plainly sound goes to the `check` of its kind; a problem there ends the look with `Doubt`, and the
caller starts over with the thorough walk. So this file has no rule of its own: at worst it asks too often.

Names and short arrays are only gathered on the way, and looked at in the end, all of a kind at once; rules,
which rely on them, come after that.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Final

import numpy as np

from worldline._src.scene.arrays import Table
from worldline._src.scene.base import Struct
from worldline._src.scene.containers import ListOf, Nested, OptionalOf
from worldline._src.scene.contexts import Probe
from worldline._src.scene.kinds import Flag, Integer, Kind, Real
from worldline._src.scene.lending import LENT, Loan, Loans
from worldline._src.scene.limits import LIMITS, Limits
from worldline._src.scene.rules import RULES
from worldline._src.scene.texts import Enumeration, Name, Ref, Text
from worldline._src.scene.values import Range
from worldline._src.scene.variant import Named, Pair, Variant, VariantOf
from worldline._src.scene.vectors import Numbers, Vector

Look = Callable[[Any, Probe], None]
_FEW: Final = 2
"""Fewer numbers than this are compared one by one."""
_MOST_KNOWN: Final = 1000
_DOUBLE: Final = np.dtype(np.float64)
_QUATERNION: Final = 4


class Doubt(Exception):
    """Something is wrong, or needs a closer look; never leaves this package."""


class Glance(Probe):
    """A probe that keeps names and references, and stops at the first problem.

    Attributes:
        vectors: Every short array that was met, by the length it has to have, None for any.
        directions: Those of them that are quaternions.
        defined: Every name that was met, by namespace.
        ruled: Rules and the objects to look at with them.
        looked: Which loans were looked at, by the identity of the dict that holds them.
    """

    hasty = True

    def __init__(self, limits: Limits = LIMITS) -> None:
        super().__init__(limits, rules=RULES)
        self.vectors: defaultdict[int | None, list[np.ndarray]] = defaultdict(list)
        self.directions: list[np.ndarray] = []
        self.defined: defaultdict[str, list[str]] = defaultdict(list)
        self.ruled: list[tuple[Callable[[Any, Probe, str], None], Any]] = []
        self.looked: defaultdict[int, set[str]] = defaultdict(set)
        self._loans: set[Loan] = set()
        self._sound: list[Loan] = []

    def problem(self, path: str, message: str) -> None:
        raise Doubt

    def look(self, value: Struct) -> None:
        """Looks at an object and all it holds."""
        (_LOOKS.get(type(value)) or _written(type(value)))(value, self)

    def name(self, namespace: str, name: str, path: str) -> None:
        self.defined[namespace].append(name)

    def look_at_loan(self, kind: Kind[Any, Any], loans: Loans, name: str) -> None:
        """Looks at what is lent to a field, once for all who borrow it."""
        self.looked[id(loans)].add(name)
        loan = loans.get(name)
        if loan is None:
            raise Doubt
        if loan.is_sound or loan in self._loans:
            return
        self._loans.add(loan)
        before = len(self.references)
        kind.check(loan.value, self, "")
        # what refers to others is sound only in a scene that has them
        if len(self.references) == before:
            self._sound.append(loan)

    def finish(self) -> None:
        """Visits every link that was put off, and looks at what was gathered."""
        super().finish()
        self._finish_names()
        self._finish_vectors()
        for rule, owner in self.ruled:
            rule(owner, self, "")
        for loan in self._sound:
            loan.is_sound = True

    def _finish_names(self) -> None:
        for namespace, found in self.defined.items():
            if not {str}.issuperset(map(type, found)):
                raise Doubt
            self.names[namespace] = names = dict.fromkeys(found, "")
            if len(names) < len(found) or "" in names or not "".join(found).isprintable():
                raise Doubt

    def _finish_vectors(self) -> None:
        for length, found in self.vectors.items():
            if not {np.ndarray}.issuperset(map(type, found)):
                raise Doubt
            layouts = list(map(_layout, found))
            if length is None:
                is_fit = all(kind == _DOUBLE and len(shape) == 1 for kind, shape in layouts)
            else:
                is_fit = layouts.count((_DOUBLE, (length,))) == len(layouts)
            if not is_fit:
                raise Doubt
        values = _joined(list(chain.from_iterable(self.vectors.values())))
        if values and not np.isfinite(np.frombuffer(values)).all():
            raise Doubt
        if self.directions and not np.frombuffer(_joined(self.directions)).reshape(-1, 4).any(axis=1).all():
            raise Doubt


_layout = attrgetter("dtype", "shape")
"""What the bytes of an array mean."""


def _joined(arrays: Sequence[np.ndarray]) -> bytes:
    """The bytes of all arrays, one after another; a third of the time that `np.concatenate` takes."""
    try:
        return b"".join(arrays)  # type: ignore[arg-type]
    except (BufferError, TypeError, ValueError):
        # parts of larger arrays need not lie in one piece
        return b"".join([array.tobytes() for array in arrays])


_LOOKS: dict[type, Look] = {}
_CASES: dict[type, dict[str, Look]] = {}


class _Code:
    """The source of one function, and the objects it names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "inf": math.inf,
            "isfinite": math.isfinite,
            "ndarray": np.ndarray,
            "double": _DOUBLE,
            "nothing": {},
        }

    def name(self, value: Any) -> str:
        """A name for an object."""
        name = f"o{len(self.names)}"
        self.names[name] = value
        return name

    def add(self, depth: int, text: str) -> None:
        """A line."""
        self.lines.append("    " * depth + text)

    def function(self, header: str) -> Any:
        """The function the lines make."""
        exec("\n".join([header, *self.lines, "    return None"]), self.names)
        return self.names["look"]


def _written(cls: type[Struct]) -> Look:
    """The function for a class, which is written when its first object is met."""
    code = _Code()
    code.add(1, "values = owner.__dict__")
    kinds = {name: known.kind for name, known in cls._fields.items()}
    plain = [name for name, kind in kinds.items() if _is_plain(kind)]
    if len(plain) >= _FEW:
        # a scene has hundreds of objects with the same few numbers, and those were looked at before;
        # types count too, since 1 and True are equal to 1.0
        known = _Known()
        code.add(1, f"t = {code.name(itemgetter(*plain))}(values)")
        code.add(1, "types = tuple(map(type, t))")
        code.add(1, f"if t not in {code.name(known.get)}(types, ()):")
        for name in plain:
            code.add(2, f"{code.name(kinds.pop(name))}.check(values[{name!r}], probe, '')")
        code.add(2, f"{code.name(known.add)}(types, t)")
    arrays: dict[int, list[str]] = {}
    for name, kind in kinds.items():
        if type(kind) is Vector and kind.length is not None and not kind.nonzero:
            arrays.setdefault(kind.length, []).append(name)
    for length, names in arrays.items():
        if len(names) > 1:
            code.add(1, f"probe.vectors[{length}] += {code.name(itemgetter(*names))}(values)")
            for name in names:
                del kinds[name]
    if any(kind.holds_part for kind in kinds.values()):
        # objects that were made alike have the same loans, all in one dict
        code.add(1, f"lent = values.get({LENT!r}, nothing)")
        code.add(1, "looked = probe.looked[id(lent)]")
    for name, kind in kinds.items():
        depth = 2 if kind.holds_part else 1
        if kind.holds_part:
            code.add(1, f"if {name!r} in values:")
        code.add(depth, f"v = values[{name!r}]")
        _look_at(kind, code, depth)
        if kind.holds_part:
            look = f"probe.look_at_loan({code.name(kind)}, lent, {name!r})"
            code.add(1, f"elif {name!r} not in looked: {look}")
    if cls in RULES:
        code.add(1, f"probe.ruled.append(({code.name(RULES[cls])}, owner))")
    _LOOKS[cls] = code.function("def look(owner, probe):")
    return _LOOKS[cls]


class _Known(dict[tuple[type, ...], set[tuple[Any, ...]]]):
    """Numbers of objects that were found sound, by their types."""

    def add(self, types: tuple[type, ...], values: tuple[Any, ...]) -> None:
        known = self.setdefault(types, set())
        if len(known) < _MOST_KNOWN:
            known.add(values)


def _is_plain(kind: Kind[Any, Any]) -> bool:
    """Whether all that counts of a value is the value: numbers, flags and members of enumerations."""
    kind = kind.item if isinstance(kind, OptionalOf) else kind
    return type(kind) in (Real, Integer, Flag, Enumeration)


def _look_at(kind: Kind[Any, Any], code: _Code, depth: int) -> None:
    """Lines that look at the value `v`."""
    check = f"{code.name(kind)}.check(v, probe, '')"
    if isinstance(kind, OptionalOf):
        code.add(depth, "if v is not None:")
        _look_at(kind.item, code, depth + 1)
        return
    if type(kind) is Vector and (kind.length == _QUATERNION or not kind.nonzero):
        code.add(depth, f"probe.vectors[{kind.length}].append(v)")
        if kind.nonzero:
            code.add(depth, "probe.directions.append(v)")
        return
    if type(kind) is Nested:
        look = code.name(_LOOKS.get(kind.struct) or _written(kind.struct))
        code.add(depth, f"if type(v) is {code.name(kind.struct)}: {look}(v, probe)")
        code.add(depth, f"else: {check}")
    elif type(kind) is ListOf and kind.length is None:
        code.add(depth, f"if type(v) is not list: {check}")
        code.add(depth, "elif v:")
        code.add(depth + 1, "probe.count(len(v), '')")
        code.add(depth + 1, "for v in v:")
        _look_at(kind.item, code, depth + 2)
    elif type(kind) is VariantOf:
        code.add(depth, f"if type(v) is {code.name(kind.cases)}:")
        code.add(depth + 1, f"look = {code.name(_cases(kind.cases))}[v._variant]")
        code.add(depth + 1, "if look is not None: look(v._data, probe)")
        code.add(depth, f"else: {check}")
    elif type(kind) is Name:
        code.add(depth, f"probe.defined[{kind.namespace!r}].append(v)")
    elif type(kind) is Ref:
        code.add(depth, "if type(v) is str and v.isprintable():")
        code.add(depth + 1, f"probe.references.append(({kind.namespaces!r}, v, ''))")
        code.add(depth, f"else: {check}")
    else:
        code.add(depth, f"if not ({_test(kind, code)}): {check}" if _test(kind, code) else check)


def _test(kind: Kind[Any, Any], code: _Code) -> str:
    """A test of `v` that no unsound value passes; empty when there is none."""
    if type(kind) is Table:
        shape = f"type(v) is ndarray and v.dtype is double and v.ndim == 2 and v.shape[1] == {kind.columns}"
        return f"{shape} and not v.size"
    if type(kind) is Numbers and kind.length:
        floats = code.name((float,) * kind.length)
        types = f"type(v) is list and tuple(map(type, v)) == {floats} and isfinite(sum(v))"
        return types if kind.item.minimum is None else f"{types} and min(v) >= {kind.item.least!r}"
    if type(kind) is Text:
        return "type(v) is str and v.isprintable()"
    return kind.sound().replace("{k}", code.name(kind))


def _cases(cls: type[Variant]) -> dict[str, Look | None]:
    """What looks at the data of each case of a variant; None for one without data."""
    if cls not in _CASES:
        _CASES[cls] = made = {}
        for case, payload in cls._cases.items():
            if payload is None:
                made[case] = None
                continue
            code = _Code()
            if isinstance(payload, Pair):
                code.add(1, "for v in data:")
                _look_at(payload.item, code, 2)
            elif isinstance(payload, Named):
                for name, kind in payload.items.items():
                    code.add(1, f"v = data[{name!r}]")
                    _look_at(OptionalOf(kind) if name in payload.defaults else kind, code, 1)
            else:
                code.add(1, "v = data")
                _look_at(payload, code, 1)
            made[case] = code.function("def look(data, probe):")
    return _CASES[cls]


def _look_at_range(owner: Range, probe: Probe) -> None:
    values = owner.__dict__
    lower, upper = values["lower"], values["upper"]
    if not (type(lower) is float and type(upper) is float and lower <= upper):
        raise Doubt


_LOOKS[Range] = _look_at_range
