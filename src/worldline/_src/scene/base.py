# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The base of every object of a scene.

A `Struct` is declared like a dataclass. Each field names a `Kind`, which checks and converts what
is assigned, so `geom.size = (1, 2)` fails on that line. Type checkers see the fields, the keywords
of the constructor and what each accepts, since `field(converter=...)` is the form they know. This
is why the structs are not `msgspec.Struct`s: those check only while decoding, stop at the first
fault, and neither compare nor convert arrays. msgspec still does the JSON and msgpack underneath.
"""

from __future__ import annotations

import enum
import inspect
import math
from collections.abc import Callable, Iterable
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
)

import numpy as np

from worldline._src.scene.containers import ListOf, Nested, OptionalOf
from worldline._src.scene.contexts import Probe, Rejected, Source, Writer
from worldline._src.scene.hints import hint
from worldline._src.scene.kinds import FAILED, FLAG, REAL, Kind, Rename, describe
from worldline._src.scene.texts import Enumeration

Self = TypeVar("Self", bound="Struct")
E = TypeVar("E", bound=enum.Enum)
P = TypeVar("P", bound="Part")
_MISSING: Final = object()


class Field:
    """A declared field: its kind, its default and its description."""

    __slots__ = ("compared", "default", "doc", "factory", "kind", "name", "reference")

    def __init__(self, kind: Kind[Any, Any], default: Any, factory: Any, doc: str, compared: bool) -> None:
        self.name = ""
        self.kind = kind
        self.doc = doc
        self.compared = compared
        self.reference: Any = _MISSING
        self.default = default
        self.factory: Callable[[], Any] | None = factory
        if factory is None:
            value = kind(default)
            if isinstance(value, np.ndarray):
                self.factory = value.copy
            elif isinstance(value, list):
                self.factory = value.copy
            else:
                self.default = value

    def make(self) -> Any:
        """A fresh default."""
        return self.default if self.factory is None else self.factory()

    def is_default(self, value: Any) -> bool:
        """Whether a value is the default, to the last bit."""
        if self.reference is _MISSING:
            self.reference = self.make()
        return self.kind.identical(value, self.reference)


def field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] | None = None,
    converter: Kind[Any, Any] | None = None,
    doc: str = "",
    compared: bool = True,
) -> Any:
    """Declares a field of a `Struct`; without a converter, its kind follows from the default."""
    if default is _MISSING and default_factory is None:
        raise TypeError("a field of a scene object needs a default")
    kind = converter or _kind_of(default, default_factory)
    return Field(kind, default, get_origin(default_factory) or default_factory, doc, compared)


def value(kind: Kind[Any, Any], default: Any, doc: str) -> Any:
    """A field of a kind, with its default; `field` states other types that are accepted."""
    return field(default=default, converter=kind, doc=doc)


def optional(kind: Kind[Any, Any], doc: str) -> Any:
    """A field of a kind that may be None, and is by default."""
    return field(default=None, converter=OptionalOf(kind), doc=doc)


def part(of: Callable[[], Any], doc: str) -> Any:
    """A field that is another scene object, by default a new one."""
    return field(default_factory=of, doc=doc)


def parts(of: type[Any], doc: str) -> Any:
    """A field that is a list of scene objects, by default empty."""
    return field(default_factory=list[of], doc=doc)


def _kind_of(default: Any, factory: Callable[[], Any] | None) -> Kind[Any, Any]:
    """The kind of a flag, a number, a member of an enumeration, a part, or a list of parts (`list[Body]`)."""
    if factory is not None:
        items = get_args(factory)
        if items:
            return ListOf(items[0]._kind())
        made: Part = factory()
        return made._kind()
    if isinstance(default, enum.Enum):
        return Enumeration(type(default))
    if isinstance(default, bool):
        return FLAG
    if isinstance(default, float):
        return REAL
    raise TypeError(f"a field of a scene object with the default {default!r} needs a converter")


if TYPE_CHECKING:
    # what checkers see of fields that accept more than they hold

    class Choice(Generic[E]):
        """A member of an enumeration; its name is accepted as well."""

        def __get__(self, owner: object, cls: type) -> E: ...
        def __set__(self, owner: object, value: E | str) -> None: ...

    class Parts(list[P]):
        """A list of parts; any iterable is accepted."""

        def __get__(self, owner: object, cls: type) -> list[P]: ...
        def __set__(self, owner: object, value: Iterable[P]) -> None: ...
else:
    Choice = Parts = Any


class Part:
    """Anything in a scene that compares by content."""

    def _compared(self) -> Any:
        raise NotImplementedError

    @classmethod
    def _kind(cls) -> Kind[Any, Any]:
        """The kind of fields that hold such a part."""
        raise NotImplementedError


_set_values: Callable[[Part, dict[str, Any]], None] = vars(Part)["__dict__"].__set__
"""Gives a part its attributes at a third of what filling them in costs."""


@dataclass_transform(kw_only_default=True, eq_default=True, field_specifiers=(field,))
class Struct(Part):
    """A typed, editable object of a scene description.

    Every constructor argument is optional. Assignment converts and checks; lists and arrays are stored as
    copies of what was assigned, other scene objects as they are.
    """

    _fields: ClassVar[dict[str, Field]] = {}
    _kinds: ClassVar[dict[str, Kind[Any, Any]]] = {}
    _constants: ClassVar[dict[str, Any]] = {}
    _factories: ClassVar[tuple[tuple[str, Callable[[], Any]], ...]] = ()
    _copied: ClassVar[tuple[tuple[str, Callable[[Any, Writer], Any]], ...]] = ()
    _naming: ClassVar[tuple[tuple[str, Kind[Any, Any]], ...] | None] = None
    _checks: ClassVar[Callable[[dict[str, Any], Probe, str], None] | None] = None
    _checked: ClassVar[int] = 0
    __hash__ = None  # type: ignore[assignment]

    def __init_subclass__(cls, kw_only: bool = True, **more: Any) -> None:
        super().__init_subclass__(**more)
        fields = dict(cls._fields)
        for name, declared in list(vars(cls).items()):
            if isinstance(declared, Field):
                declared.name = name
                fields[name] = declared
                delattr(cls, name)
        cls._fields = fields
        cls._kinds = {n: f.kind for n, f in fields.items()}
        cls._constants = {n: f.default for n, f in fields.items() if f.factory is None}
        cls._factories = tuple((n, f.factory) for n, f in fields.items() if f.factory is not None)
        cls._copied = tuple((n, f.kind.copy) for n, f in fields.items() if not f.kind.immutable)
        cls._naming = None
        cls._checks, cls._checked = None, 0
        cls.__match_args__ = tuple(fields) if not kw_only else ()
        cls.__signature__ = _Signature(kw_only)
        lines = [f"    {name}: {f.doc}" for name, f in cls._fields.items() if f.doc]
        if cls.__doc__ and lines:
            cls.__doc__ = cls.__doc__.rstrip() + "\n\nAttributes:\n" + "\n".join(lines) + "\n"

    def __init__(self, *args: Any, **given: Any) -> None:
        if args:
            given = self._named(args, given)
        values = self.__dict__
        values.update(self._constants)
        if not given:
            for name, make in self._factories:
                values[name] = make()
            return
        for name, make in self._factories:
            if name not in given:
                values[name] = make()
        kinds, name = self._kinds, ""
        try:
            for name, value in given.items():
                if name not in kinds:
                    raise TypeError(f"{type(self).__name__} has no field {name!r}{hint(name, kinds)}")
                values[name] = kinds[name](value)
        except Rejected as rejected:
            raise rejected.under(f"{type(self).__name__}.{name}") from None

    def _named(self, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
        names = self.__match_args__
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__} takes keyword arguments: {', '.join(self._fields)}")
        named = dict(zip(names, args, strict=False))
        if not given:
            return named
        twice = named.keys() & given.keys()
        if twice:
            raise TypeError(f"{type(self).__name__} got {sorted(twice)} twice")
        return named | given

    if not TYPE_CHECKING:
        # type checkers would take this for a licence to use any attribute

        def __setattr__(self, name: str, value: Any) -> None:
            known = self._fields.get(name)
            if known is not None:
                try:
                    self.__dict__[name] = known.kind(value)
                except Rejected as rejected:
                    raise rejected.under(f"{type(self).__name__}.{name}") from None
            elif isinstance(getattr(type(self), name, None), property):
                object.__setattr__(self, name, value)
            else:
                near = hint(name, self._fields)
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{near}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be deleted; assign a value instead")

    def __eq__(self, other: object) -> bool:
        return same(self, other) if type(other) is type(self) else NotImplemented

    def __repr__(self) -> str:
        parts = [
            f"{name}={_shown(value)}"
            for name, known in self._fields.items()
            if not known.is_default(value := self.__dict__[name])
        ]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __copy__(self: Self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return clone(self)

    @classmethod
    def _kind(cls) -> Kind[Any, Any]:
        return Nested(cls)

    def _compared(self) -> Any:
        return [self.__dict__[name] for name, known in self._fields.items() if known.compared]

    # the walks; see kinds.Kind for what each does

    def _plain(self, writer: Writer) -> dict[str, Any]:
        always = writer.required.get(type(self).__name__, ())
        out: dict[str, Any] = {}
        for name, known in self._fields.items():
            value = self.__dict__[name]
            if writer.defaults or name in always or not known.is_default(value):
                out[name] = known.kind.plain(value, writer)
        return out

    def _copy(self: Self, writer: Writer) -> Self:
        values = self.__dict__.copy()
        for name, copied in self._copied:
            value = values[name]
            if value is not None:
                values[name] = copied(value, writer)
        other = object.__new__(type(self))
        _set_values(other, values)
        return other

    def _identical(self, other: Struct) -> bool:
        return all(
            known.kind.identical(self.__dict__[name], other.__dict__[name])
            for name, known in self._fields.items()
        )

    def _check(self, probe: Probe, path: str) -> None:
        if probe.names_only:
            for name, kind in self._naming_fields():
                kind.check(self.__dict__[name], probe, f"{path}.{name}")
            return
        values = self.__dict__
        before = len(probe.problems)
        check = type(self)._checks or _checks_of(type(self))
        check(values, probe, path)
        rule = probe.rules.get(type(self))
        if rule is not None and len(probe.problems) == before:
            # rules may rely on types that have just been checked
            rule(self, probe, path)

    def _rename(self, new: Rename) -> None:
        values = self.__dict__
        for name, kind in self._naming_fields():
            values[name] = kind.rename(values[name], new)

    @classmethod
    def _naming_fields(cls) -> tuple[tuple[str, Kind[Any, Any]], ...]:
        """The fields with names somewhere inside; the only ones that renaming has to visit."""
        if cls._naming is None:
            found = ((n, f.kind) for n, f in cls._fields.items() if f.kind.has_names())
            cls._naming = tuple(found)
        return cls._naming

    @classmethod
    def _read(cls: type[Self], raw: Any, source: Source, path: str) -> Any:
        table: dict[Any, Any] = raw
        if not isinstance(raw, dict):
            source.reject(path, describe(table), f"an object with the fields of {cls.__name__}")
            return FAILED
        source.require(cls.__name__, table, path)
        made = cls()
        for key, value in table.items():
            known = cls._fields.get(key) if isinstance(key, str) else None
            if known is None:
                source.unknown(path, key, cls.__name__, cls._fields)
                continue
            found = known.kind.read(value, source, f"{path}.{key}")
            if found is not FAILED:
                made.__dict__[key] = found
        return made


_FEW = 12
"""Objects of a class for which it does not pay to write a function that checks them."""


def _checks_of(cls: type[Struct]) -> Callable[[dict[str, Any], Probe, str], None]:
    """What checks the fields of an object of a class: its kinds one by one, until there were several."""
    cls._checked += 1
    if cls._checked > _FEW:
        return field_checks(cls)

    def check(values: dict[str, Any], probe: Probe, path: str) -> None:
        for name, known in cls._fields.items():
            known.kind.check(values[name], probe, f"{path}.{name}")

    return check


def field_checks(cls: type[Struct]) -> Callable[[dict[str, Any], Probe, str], None]:
    """A function that checks all fields of a class, made once for it.

    A scene has thousands of fields, and nearly all hold a default or an ordinary number. The function is
    written out as code, as `dataclasses` does, so that each of those costs a comparison and not a call.
    """
    names: dict[str, Any] = {"inf": math.inf}
    lines = ["def check(values, probe, path):"]
    for index, (name, known) in enumerate(cls._fields.items()):
        kind = known.kind
        names[f"k{index}"] = kind
        sound = [text.format(k=f"k{index}") for text in (kind.sound(),) if text]
        if known.factory is None:
            probe = Probe()
            kind.check(known.default, probe, "")
            if not (probe.problems or probe.references or probe.names):
                names[f"d{index}"] = known.default
                sound.insert(0, f"v is d{index}")
        lines.append(f"    v = values[{name!r}]")
        call = f"k{index}.check(v, probe, path + {'.' + name!r})"
        lines.append(f"    if not ({' or '.join(sound)}): {call}" if sound else f"    {call}")
    lines.append("    return None")
    exec("\n".join(lines), names)
    cls._checks = staticmethod(names["check"])
    return names["check"]


class _Signature:
    """What `help` shows; type checkers work it out themselves."""

    def __init__(self, kw_only: bool) -> None:
        self._kw_only = kw_only

    def __get__(self, instance: Struct | None, owner: type[Struct]) -> inspect.Signature:
        kind = inspect.Parameter.KEYWORD_ONLY if self._kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature(
            [
                inspect.Parameter(name, kind, default=f.default if f.factory is None else ...)
                for name, f in owner._fields.items()
            ]
        )


def fields(of: Struct | type[Struct]) -> dict[str, Field]:
    """The declared fields by name, in order."""
    return of._fields


def clone(root: Self) -> Self:
    """A deep copy that shares nothing with the original."""
    writer = Writer(binary=True)
    copied = root._copy(writer)
    writer.finish()
    return copied


def same(a: Any, b: Any) -> bool:
    """Deep equality of scene values; arrays compare by content."""
    seen: set[tuple[int, int]] = set()
    stack: list[tuple[Any, Any]] = [(a, b)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        one: Any = a
        other: Any = b
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(one, other)):
                return False
        elif isinstance(a, Part):
            if type(a) is not type(b):
                return False
            if (id(a), id(b)) not in seen:
                # an object that contains itself would otherwise be compared for ever
                seen.add((id(a), id(b)))
                stack.append((a._compared(), b._compared()))
        elif isinstance(a, dict) and isinstance(b, dict):
            if one.keys() != other.keys():
                return False
            stack.extend((one[key], other[key]) for key in one)
        elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
            if len(one) != len(other):
                return False
            stack.extend(zip(one, other, strict=True))
        elif a != b:
            return False
    return True


def _shown(value: Any) -> str:
    given: Any = value
    if isinstance(value, list) and given and isinstance(given[0], Struct):
        return f"[{len(given)} x {type(given[0]).__name__}]"
    if isinstance(value, dict) and given:
        return "{" + ", ".join(map(repr, list(given)[:8])) + "}"
    return repr(given.tolist()) if isinstance(value, np.ndarray) and given.size < 20 else repr(given)
