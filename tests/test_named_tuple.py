# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Named tuples that are quick to define behave as those of the standard library."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing

import pytest

from worldline._src.named_tuple import NamedTuple


class Ours(NamedTuple):
    """A point."""

    x: float
    y: float = 2.0
    z: float = 3.0

    @property
    def total(self) -> float:
        return self.x + self.y + self.z


class Usual(typing.NamedTuple):
    """A point."""

    x: float
    y: float = 2.0
    z: float = 3.0

    @property
    def total(self) -> float:
        return sum(self)


class Single(NamedTuple):
    only: int


class Nothing(NamedTuple):
    pass


class Derived(Ours):
    def norm(self) -> float:
        return abs(self.x)


class Unmade(Ours):
    """A class of which nothing but the signature is asked for."""


def renamed(value: object) -> str:
    return repr(value).replace("Ours", "Usual")


@pytest.mark.parametrize(
    "attempt",
    [
        lambda kind: kind(1.0),
        lambda kind: kind(1.0, 5.0, 6.0),
        lambda kind: kind(z=1.0, x=4.0),
        lambda kind: kind(1.0).total,
        lambda kind: kind(1.0)._replace(y=7.0),
        lambda kind: kind._make([1.0, 2.0, 4.0]),
        lambda kind: kind(1.0)._asdict(),
        lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__, kind.__doc__),
        lambda kind: (kind.__annotations__.keys(), kind.__slots__, kind.__name__, kind.__module__),
        lambda kind: (*kind(1.0),),
        lambda kind: kind(1.0)[1:],
        lambda kind: (kind(1.0) == (1.0, 2.0, 3.0), hash(kind(1.0)) == hash((1.0, 2.0, 3.0))),
        lambda kind: pickle.loads(pickle.dumps(kind(1.0, 9.0))),
        lambda kind: copy.deepcopy(kind(1.0, 9.0)),
        lambda kind: [(p.name, p.default) for p in inspect.signature(kind).parameters.values()],
        lambda kind: [(p.name, p.default) for p in inspect.signature(kind.__new__).parameters.values()],
        lambda kind: typing.get_type_hints(kind),
        lambda kind: kind(),
        lambda kind: kind(1.0, 2.0, 3.0, 4.0),
        lambda kind: kind(1.0, w=2.0),
        lambda kind: kind(1.0)._replace(w=2.0),
        lambda kind: kind._make([1.0, 2.0, 3.0, 4.0]),
        lambda kind: setattr(kind(1.0), "x", 5.0),
        lambda kind: setattr(kind(1.0), "w", 5.0),
    ],
)
def test_as_in_the_standard_library(attempt):
    try:
        wanted, error = attempt(Usual), None
    except (TypeError, ValueError, AttributeError) as raised:
        wanted, error = None, type(raised)
    if error is None:
        assert renamed(attempt(Ours)) == repr(wanted)
    else:
        with pytest.raises(error):
            attempt(Ours)


def test_errors_of_calls_name_the_class():
    with pytest.raises(TypeError, match=r"^Ours\.__new__\(\) missing 1 required positional argument: 'x'"):
        Ours()  # pyright: ignore[reportCallIssue]


def test_small_ones_and_derived_ones():
    assert Single(4) == (4,) and Single(4).only == 4
    assert Nothing() == () and repr(Nothing()) == "Nothing()"
    assert Derived(-4.0).norm() == 4.0 and type(Derived(1.0)._replace(x=2.0)) is Derived
    assert list(inspect.signature(Unmade).parameters) == ["x", "y", "z"]
    match Ours(1.0):
        case Ours(x, y):
            assert (x, y) == (1.0, 2.0)


def test_definitions_that_the_standard_library_refuses():
    with pytest.raises(TypeError, match="without a default"):

        class _Order(NamedTuple):
            x: float = 1.0
            y: float  # pyright: ignore

    with pytest.raises(ValueError, match="underscore"):

        class _Hidden(NamedTuple):
            _x: float  # pyright: ignore
