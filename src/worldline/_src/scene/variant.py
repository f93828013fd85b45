# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Values that are one of several named cases, each with its own data.

A variant is made by the static constructor of a case (`ActuatorTarget.joint("elbow")`), never changes which
case it is, and gives it by `.variant` and `.value`. A class declares a case in one line, `joint =
case(Ref("joint"), "The coordinates of a joint.")`, or as the decorator of a constructor with arguments of its
own. In files a case is written by its name in PascalCase: the
bare name when it has no data, `{"Joint": "elbow"}` with data, and `{"GeomPair": ["a", "b"]}` for a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from worldline._src.errors import ArgumentError
from worldline._src.scene.base import Part, clone, same
from worldline._src.scene.containers import PartOf
from worldline._src.scene.contexts import Probe, Rejected, Source, Writer
from worldline._src.scene.hints import hint
from worldline._src.scene.kinds import FAILED, Kind, Rename, describe

V = TypeVar("V", bound="Variant")
Made_co = TypeVar("Made_co", covariant=True)
Item = TypeVar("Item")
Given_contra = TypeVar("Given_contra", contravariant=True)
P = ParamSpec("P")


class Pair(Generic[Item]):
    """The data of a case with two values of one kind."""

    def __init__(self, item: Kind[Item, Any]) -> None:
        self.item = item


class Named:
    """The data of a case with fields of its own.

    Args:
        optional: Fields that may be None, or what to make of those that are None or absent.
        items: The kinds of the fields.
    """

    def __init__(
        self, optional: Mapping[str, Callable[[], Any]] | Iterable[str] = (), **items: Kind[Any, Any]
    ) -> None:
        self.items = items
        self.defaults: dict[str, Callable[[], Any]] = (
            dict(cast("Mapping[str, Callable[[], Any]]", optional))
            if isinstance(optional, Mapping)
            else dict.fromkeys(optional, lambda: None)
        )


Payload = Kind[Any, Any] | Pair[Any] | Named | None


class Case:
    """A case as a class declares it: its data, and its constructor or what to say about it."""

    def __init__(self, data: Payload, doc: str = "") -> None:
        self.data, self.doc = data, doc
        self.constructor: staticmethod[..., Any] | None = None

    def __call__(self, constructor: staticmethod[..., Any]) -> Case:
        self.constructor = constructor
        return self

    def made_by(self, cls: type[Variant], name: str) -> Callable[..., Any]:
        """The static constructor."""
        if self.constructor is not None:
            return self.constructor.__func__

        def bare() -> Any:
            return cls._make(name)

        def single(value: Any) -> Any:
            return cls._make(name, value)

        def pair(value_0: Any, value_1: Any) -> Any:
            return cls._make(name, value_0, value_1)

        make = bare if self.data is None else pair if isinstance(self.data, Pair) else single
        make.__name__, make.__qualname__ = name, f"{cls.__qualname__}.{name}"
        make.__module__, make.__doc__ = cls.__module__, self.doc
        make.__annotations__ = {"return": cls.__name__}
        return make


if TYPE_CHECKING:
    # what checkers see of a declared case: the constructor that `Variant` puts in its place

    class _MakesOfNothing:
        def __get__(self, instance: object, owner: type[V]) -> Callable[[], V]: ...

    class _OfOne(Protocol[Given_contra, Made_co]):
        def __call__(self, value: Given_contra) -> Made_co: ...

    class _MakesOfOne(Generic[Item]):
        def __get__(self, instance: object, owner: type[V]) -> _OfOne[Item, V]: ...

    class _OfTwo(Protocol[Given_contra, Made_co]):
        def __call__(self, value_0: Given_contra, value_1: Given_contra) -> Made_co: ...

    class _MakesOfTwo(Generic[Item]):
        def __get__(self, instance: object, owner: type[V]) -> _OfTwo[Item, V]: ...


@overload
def case(data: None, doc: str) -> _MakesOfNothing: ...
@overload
def case(data: Pair[Item], doc: str) -> _MakesOfTwo[Item]: ...
@overload
def case(data: Kind[Item, Any], doc: str) -> _MakesOfOne[Item]: ...
@overload
def case(data: Payload) -> Callable[[Callable[P, V]], staticmethod[P, V]]: ...
def case(data: Payload, doc: str = "") -> Any:
    """Declares a case of a `Variant` with its data; without `doc`, the decorator of its constructor."""
    return Case(data, doc)


class Variant(Part):
    """One of several named cases.

    `variant` is the name of the case. `value` is its data: None, one value, a tuple of two, or a dict of
    fields; scene objects in it are live, the dict itself is a copy.
    """

    _cases: ClassVar[dict[str, Payload]] = {}
    _tags: ClassVar[dict[str, str]] = {}
    _written: ClassVar[dict[str, str]] = {}
    __hash__ = None  # type: ignore[assignment]
    _variant: str
    _data: Any

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Case)}
        cls._cases = {name: case.data for name, case in declared.items()}
        cls._tags = {"".join(map(str.capitalize, n.split("_"))): n for n in declared}
        cls._written = {n: tag for tag, n in cls._tags.items()}
        for name, case in declared.items():
            setattr(cls, name, staticmethod(case.made_by(cls, name)))

    def __init__(self) -> None:
        made = ", ".join(f"{type(self).__name__}.{case}(...)" for case in self._cases)
        raise TypeError(f"{type(self).__name__} is made by one of its cases: {made}")

    @classmethod
    def _make(cls: type[V], variant: str, *value: Any, **named: Any) -> V:
        payload = cls._cases[variant]
        where = f"{cls.__name__}.{variant}"
        try:
            if payload is None:
                data: Any = None
            elif isinstance(payload, Pair):
                data = tuple(payload.item(v) for v in value)
            elif isinstance(payload, Named):
                data = {}
                for name, kind in payload.items.items():
                    where = f"{cls.__name__}.{variant}({name})"
                    given = named.get(name)
                    make = payload.defaults.get(name) if given is None else None
                    data[name] = make() if make else kind(given)
            else:
                data = payload(value[0])
        except Rejected as rejected:
            raise rejected.under(where) from None
        return cls._of(variant, data)

    @classmethod
    def _of(cls: type[V], variant: str, data: Any) -> V:
        made = object.__new__(cls)
        object.__setattr__(made, "_variant", variant)
        object.__setattr__(made, "_data", data)
        return made

    @property
    def variant(self) -> str:
        """The name of the case."""
        return self._variant

    @property
    def value(self) -> Any:
        """The data of the case; None when it has none."""
        data: Any = self._data
        return dict(data) if isinstance(self._data, dict) else data

    if not TYPE_CHECKING:
        # type checkers would take this for a licence to set any attribute

        def __setattr__(self, name: str, value: Any) -> None:
            raise AttributeError(f"{type(self).__name__} cannot be changed; make a new one instead")

    def __eq__(self, other: object) -> bool:
        return same(self, other) if type(other) is type(self) else NotImplemented

    def __repr__(self) -> str:
        data: Any = self._data
        if self._data is None:
            inside = ""
        elif isinstance(self._data, dict):
            inside = ", ".join(f"{k}={v!r}" for k, v in data.items() if v is not None)
        elif isinstance(self._data, tuple):
            inside = ", ".join(map(repr, data))
        else:
            inside = repr(data)
        return f"{type(self).__name__}.{self._variant}({inside})"

    def __copy__(self: V) -> V:
        return self._of(self._variant, self.value)

    def __deepcopy__(self: V, memo: dict[int, Any]) -> V:
        return cast("V", clone(cast("Any", self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._variant, self._data)

    @classmethod
    def _kind(cls) -> Kind[Any, Any]:
        return VariantOf(cls)

    def _compared(self) -> Any:
        return [self._variant, self._data]

    @property
    def _tag(self) -> str:
        return self._written[self._variant]

    # the walks; see kinds.Kind for what each does

    def _plain(self, writer: Writer) -> Any:
        payload = self._cases[self._variant]
        if payload is None:
            return self._tag
        if isinstance(payload, Pair):
            return {self._tag: [payload.item.plain(entry, writer) for entry in self._data]}
        if isinstance(payload, Named):
            data = {
                name: None if self._data[name] is None else kind.plain(self._data[name], writer)
                for name, kind in payload.items.items()
            }
            return {self._tag: data}
        return {self._tag: payload.plain(self._data, writer)}

    def _copy(self: V, writer: Writer) -> V:
        payload = self._cases[self._variant]
        if isinstance(payload, Kind):
            # most copies are of cases with a single value
            return self._of(self._variant, payload.copy(self._data, writer))
        return self._of(self._variant, self._mapped(lambda kind, v: kind.copy(v, writer)))

    def _renamed(self: V, new: Rename) -> V:
        return self._of(self._variant, self._mapped(lambda kind, v: kind.rename(v, new)))

    def _mapped(self, change: Callable[[Kind[Any, Any], Any], Any]) -> Any:
        payload = self._cases[self._variant]
        if payload is None:
            return None
        if isinstance(payload, Pair):
            return tuple(change(payload.item, entry) for entry in self._data)
        if isinstance(payload, Named):
            return {
                name: None if self._data[name] is None else change(kind, self._data[name])
                for name, kind in payload.items.items()
            }
        return change(payload, self._data)

    def _identical(self, other: Variant) -> bool:
        payload, ours, theirs = self._cases[self._variant], self._data, other._data
        if payload is None:
            return True
        if isinstance(payload, Pair):
            return all(map(payload.item.identical, ours, theirs))
        if isinstance(payload, Named):
            return all(
                ours[name] is theirs[name]
                if ours[name] is None or theirs[name] is None
                else kind.identical(ours[name], theirs[name])
                for name, kind in payload.items.items()
            )
        return payload.identical(ours, theirs)

    @classmethod
    def _kinds(cls) -> Iterator[Kind[Any, Any]]:
        """The kinds of the data of all cases."""
        for payload in cls._cases.values():
            if isinstance(payload, Named):
                yield from payload.items.values()
            elif payload is not None:
                yield payload.item if isinstance(payload, Pair) else payload

    @classmethod
    def _has_names(cls) -> bool:
        return any(kind.has_names() for kind in cls._kinds())

    def _check(self, probe: Probe, path: str) -> None:
        payload = self._cases[self._variant]
        inside = f"{path}.{self._tag}"
        if isinstance(payload, Pair):
            for index, entry in enumerate(self._data):
                payload.item.check(entry, probe, f"{inside}[{index}]")
        elif isinstance(payload, Named):
            for name, kind in payload.items.items():
                if self._data[name] is not None or name not in payload.defaults:
                    kind.check(self._data[name], probe, f"{inside}.{name}")
        elif payload is not None:
            payload.check(self._data, probe, inside)

    @classmethod
    def _read(cls, raw: Any, source: Source, path: str) -> Any:
        given: Any = raw
        tag: Any = raw
        data: Any = None
        if isinstance(raw, dict) and len(given) == 1:
            ((tag, data),) = given.items()
        case = cls._tags.get(tag) if isinstance(tag, str) else None
        if case is None:
            known = f"{cls.__name__}: {', '.join(cls._tags)}{hint(tag, cls._tags)}"
            source.reject(path, describe(given), known)
            return FAILED
        payload = cls._cases[case]
        inside = f"{path}.{tag}"
        if payload is None:
            if isinstance(raw, dict) and data is not None:
                source.reject(path, describe(given), f'the bare text "{tag}"')
                return FAILED
            return cls._of(case, None)
        if isinstance(raw, str):
            source.reject(path, describe(raw), f'{{"{tag}": ...}} with the data of that case')
            return FAILED
        if isinstance(payload, Pair):
            entries: list[Any] = data
            if not isinstance(data, list) or len(entries) != 2:
                source.reject(inside, describe(entries), f"two entries, each {payload.item.allowed}")
                return FAILED
            both = [payload.item.read(e, source, f"{inside}[{i}]") for i, e in enumerate(entries)]
            return FAILED if FAILED in both else cls._of(case, tuple(both))
        if isinstance(payload, Named):
            return cls._read_named(case, payload, data, source, inside)
        value = payload.read(data, source, inside)
        return FAILED if value is FAILED else cls._of(case, value)

    @classmethod
    def _read_named(cls, case: str, payload: Named, raw: Any, source: Source, path: str) -> Any:
        table: dict[Any, Any] = raw
        if not isinstance(raw, dict):
            source.reject(path, describe(table), f"an object with {', '.join(payload.items)}")
            return FAILED
        source.require(f"{cls.__name__}.{case}", table, path)
        for key in table:
            if key not in payload.items:
                source.unknown(path, key, f"{cls.__name__}.{case}", payload.items)
        data: dict[str, Any] = {}
        for name, kind in payload.items.items():
            if name in payload.defaults and table.get(name) is None:
                data[name] = payload.defaults[name]()
            elif name not in raw:
                source.problem(path, f"given no {name!r}; allowed: {kind.allowed}")
                return FAILED
            else:
                data[name] = kind.read(raw[name], source, f"{path}.{name}")
                if data[name] is FAILED:
                    return FAILED
        return cls._of(case, data)


def _rebuild(cls: type[Variant], variant: str, data: Any) -> Variant:
    if variant not in cls._cases:
        raise ArgumentError(f"{cls.__name__} has no case {variant!r}")
    return cls._of(variant, data)


class VariantOf(PartOf[V]):
    """A variant of the given type."""

    def __init__(self, cases: type[V]) -> None:
        super().__init__(cases, f"a {cases.__name__}: {', '.join(cases._cases)}")
        self.cases = cases
        # the data of a case with fields is a dict, of which every copy has its own
        has_fields = any(isinstance(payload, Named) for payload in cases._cases.values())
        self.immutable = not has_fields and all(kind.immutable for kind in cases._kinds())

    def identical(self, a: V, b: V) -> bool:
        return type(a) is type(b) and a._variant == b._variant and a._identical(b)

    def has_names(self) -> bool:
        return self.cases._has_names()

    def rename(self, value: V, new: Rename) -> V:
        return value._renamed(new)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        name = self.cases.__name__
        if name not in definitions:
            definitions[name] = entry = {}
            entry["description"] = (self.cases.__doc__ or name).split("\n")[0]
            entry["oneOf"] = [
                self._case_schema(tag, self.cases._cases[case], definitions)
                for tag, case in self.cases._tags.items()
            ]
        return {"$ref": f"#/$defs/{name}"}

    def _case_schema(self, tag: str, payload: Payload, definitions: dict[str, Any]) -> Any:
        if payload is None:
            return {"const": tag}
        if isinstance(payload, Pair):
            item = payload.item.schema(definitions)
            inner: dict[str, Any] = {"type": "array", "items": item, "minItems": 2, "maxItems": 2}
        elif isinstance(payload, Named):
            properties: dict[str, Any] = {}
            for name, kind in payload.items.items():
                schema = kind.schema(definitions)
                free = name in payload.defaults
                properties[name] = {"anyOf": [schema, {"type": "null"}]} if free else schema
            needed = [name for name in payload.items if name not in payload.defaults]
            inner = {"type": "object", "properties": properties, "required": needed}
        else:
            inner = payload.schema(definitions)
        shape = {"type": "object", "properties": {tag: inner}, "required": [tag]}
        return shape | {"additionalProperties": False}
