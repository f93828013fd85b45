# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of public parameters: each entry changes one parameter and names what shows the change.

A table holds an entry for every parameter that introspection finds, so a new parameter fails its test until
it has one. An entry is an `Effect`, whose observable must change, or `Refused`, whose error must name it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest

from worldline import WorldlineError
from worldline import simulation as sx


class Effect(NamedTuple):
    """`make()` gives a subject, `change(subject)` sets the parameter, `observe(subject)` gives the observable."""

    make: Callable[[], Any]
    change: Callable[[Any], Any]
    observe: Callable[[Any], Any]


class Refused(NamedTuple):
    """`call()` raises an error of the library or of Python whose text matches `words`."""

    call: Callable[[], Any]
    words: str


def settable(cls: type) -> set[str]:
    """Public properties and fields of a class that take a value."""
    found = set()
    for name in dir(cls):
        if name.startswith("_"):
            continue
        item = inspect.getattr_static(cls, name)
        if isinstance(item, property):
            if item.fset is not None:
                found.add(name)
        elif hasattr(type(item), "__set__") and getattr(item, "_settable", True):
            found.add(name)
    return found


def arguments(function: Callable[..., Any], *without: str) -> set[str]:
    """Names of the arguments of a function, less `self` and what is left out."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    given = inspect.signature(function).parameters.values()
    return {p.name for p in given if p.kind not in kinds} - {"self", *without}


def complete(table: dict[str, Any], names: Iterable[str]) -> None:
    """A table has an entry for every name, and none for what is not there."""
    names = set(names)
    assert not names - set(table), f"parameters without an entry that shows they act: {names - set(table)}"
    assert not set(table) - names, f"entries of parameters that do not exist: {set(table) - names}"


def complete_for_all(tables: dict[str, dict[str, Any]], module: Any) -> None:
    """Every table has an entry for each argument of the function of its name."""
    for name, table in tables.items():
        complete(table, arguments(getattr(module, name)))


def rows(**tables: dict[str, Any]) -> Any:
    """Parametrization over the entries of several tables."""
    return pytest.mark.parametrize(
        "entry",
        [
            pytest.param(entry, id=f"{owner}.{name}")
            for owner, table in tables.items()
            for name, entry in table.items()
        ],
    )


def rows_of(module: dict[str, Any]) -> Any:
    """Parametrization over the entries of all tables of a module, each entry once; none can be forgotten."""
    tables, seen = {}, set()
    for label, table in module.items():
        if isinstance(table, dict) and table and all(isinstance(e, Effect | Refused) for e in table.values()):
            tables[label] = {name: entry for name, entry in table.items() if id(entry) not in seen}
            seen.update(map(id, table.values()))
    return rows(**tables)


def check(entry: Effect | Refused) -> None:
    """The parameter of an entry acts, or is refused by name."""
    if isinstance(entry, Refused):
        with pytest.raises((WorldlineError, ValueError, TypeError, AttributeError), match=entry.words):
            entry.call()
        return
    plain, changed, again = entry.make(), entry.make(), entry.make()
    entry.change(changed)
    before, after = numbers(entry.observe(plain)), numbers(entry.observe(changed))
    assert same(before, numbers(entry.observe(again))), "the observable is not repeatable"
    assert not same(before, after), "nothing shows the change"


def numbers(value: Any) -> np.ndarray | str:
    """An observable that compares: an array of numbers, or a text."""
    try:
        return repr(value) if isinstance(value, (str, bytes)) else np.asarray(value, np.float64)
    except (TypeError, ValueError):
        return repr(value)


def shift(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    """The transform of a displacement, (4, 4)."""
    made = np.eye(4)
    made[:3, 3] = x, y, z
    return made


def world_of(subject: Any) -> sx.World:
    """The World of a subject: itself, its `world`, or that of a handle."""
    if isinstance(subject, sx.World):
        return subject
    return subject._world if hasattr(subject, "_world") else subject.world


def same(a: np.ndarray | str, b: np.ndarray | str) -> bool:
    """Whether two observables are equal, NaN to NaN."""
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and a == b
    return np.array_equal(a, b, equal_nan=True)


def stepped(n: int = 10) -> Callable[[Any], np.ndarray]:
    """Observe the state of the World of a subject after `n` steps."""

    def state(subject: Any) -> np.ndarray:
        world = world_of(subject)
        world.step(n=n)
        return world.state_vector

    return state


def after(n: int, what: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Observe something of a subject after `n` steps of its World."""

    def seen(subject: Any) -> Any:
        world_of(subject).step(n=n)
        return what(subject)

    return seen


def put(name: str, value: Any) -> Callable[[Any], None]:
    """Assign a property of the subject."""
    return lambda subject: setattr(subject, name, value)


class Fresh(NamedTuple):
    """A value of an argument that a call may change: made anew for each call."""

    make: Callable[[], Any]


def call(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """The result of a function for arguments by name."""
    return function(
        **{name: value.make() if isinstance(value, Fresh) else value for name, value in given.items()}
    )


def called(
    function: Callable[..., Any],
    observe: Callable[[Any], Any] = lambda result: result,
    base: dict[str, Any] | None = None,
    **pairs: tuple[Any, Any] | Effect | Refused,
) -> dict[str, Effect | Refused]:
    """A table of the arguments of a function: each has a plain value and another one that changes the result.

    An argument whose plain value is `...` is left out of the calls of the others; `base` has plain values of
    arguments whose entry is of another kind.
    """
    plain = (base or {}) | {
        name: pair[0]
        for name, pair in pairs.items()
        if not isinstance(pair, Effect | Refused) and pair[0] is not ...
    }

    def effect(name: str, other: Any) -> Effect:
        return Effect(
            lambda: dict(plain),
            lambda given: given.update({name: other}),
            lambda given: observe(call(function, given)),
        )

    return {
        name: pair if isinstance(pair, Effect | Refused) else effect(name, pair[1])
        for name, pair in pairs.items()
    }
