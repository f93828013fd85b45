# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every public object takes no unknown attribute, and is copied and pickled or refuses in the library's words."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from hostile import public_objects as makers
from hostile.walk import classes
from worldline import WorldlineError, lcp, model, optimize
from worldline import simulation as sx

MAKERS: dict[str, Callable[[], makers.Objects]] = {
    "world": partial(makers.in_world, True),
    **makers.PARTS,
}
"""Environments are not here: trainers and wrappers of Gymnasium put attributes of their own on them."""
TAKE_ANY = {
    "envs.VectorWorldEnv": "wrappers of Gymnasium and trainers write attributes of their own",
    "envs.WorldEnv": "wrappers of Gymnasium and trainers write attributes of their own",
}
"""Public classes whose objects take any attribute, and why. Members of enumerations and errors are no settings."""
OWN_FRAMES = {"Replay"}
"""A recording stays with its World, so the replay of a copy is empty."""


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def of_every_class(group: str) -> Iterator[Any]:
    seen: set[type] = set()
    for item in MAKERS[group]().values():
        if type(item) not in seen and type(item).__module__.startswith("worldline."):
            seen.add(type(item))
            yield item


@pytest.mark.parametrize("group", MAKERS)
def test_unknown_attributes_are_refused(group: str) -> None:
    for item in of_every_class(group):
        with pytest.raises((AttributeError, TypeError, WorldlineError)):
            item.no_such_name = 1


def takes_any(kind: type) -> bool:
    """Whether objects of a class have a dictionary, and writes to it are those of Python itself."""
    writes = next(base for base in kind.__mro__ if "__setattr__" in vars(base))
    return kind.__dictoffset__ != 0 and not writes.__module__.startswith(("worldline", "msgspec"))


def test_no_public_class_takes_attributes_that_it_does_not_have() -> None:
    assert {name for name, kind in classes().items() if takes_any(kind)} == set(TAKE_ANY)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("group", MAKERS)
def test_objects_are_copied_whole_or_refuse(group: str, copied: Callable[[Any], Any]) -> None:
    for item in of_every_class(group):
        try:
            made = copied(item)
        except WorldlineError:
            continue
        assert type(made) is type(item)
        if type(item).__name__ not in OWN_FRAMES and "0x" not in repr(item):
            assert repr(made) == repr(item)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copied_problem_has_the_same_solution(copied: Callable[[Any], Any]) -> None:
    problem = lcp.LcpProblem([[2, 1], [1, 2]], [5, 6], lo=[-np.inf, -0.5], hi=[1.0, 0.5], findex=[-1, 0])
    made = copied(problem)
    for name in ("A", "b", "lo", "hi", "findex"):
        assert np.array_equal(getattr(made, name), getattr(problem, name))
        assert not getattr(made, name).flags.writeable
    assert np.array_equal(lcp.solve(made).x, lcp.solve(problem).x)


def test_what_is_bound_says_why_it_is_not_copied() -> None:
    bound = makers.models()["bound"]
    assert isinstance(bound, model.BoundCall)
    with pytest.raises(WorldlineError, match="bind the function anew"):
        copy.deepcopy(bound)


def test_actions_of_a_horizon_are_checked_when_they_are_written() -> None:
    world = sx.World(time_step=0.05, gravity=(0, 0, 0), differentiable=True)
    cart = world.add_multibody("cart")
    cart.add_link("link", joint=sx.JointSpec("slide", sx.JointType.PRISMATIC, axis=(1, 0, 0)), mass=1.0)
    cost = optimize.TrackingCost([1.0, 0.0], state=1.0, control=0.01)
    control = optimize.RecedingHorizon(world, np.zeros((5, 1)), cost)
    for wrong in (np.zeros((4, 1)), np.zeros((5, 2)), np.full((5, 1), np.nan), "abc"):
        with pytest.raises(WorldlineError, match="actions"):
            control.actions = wrong  # pyright: ignore[reportAttributeAccessIssue]
    given = np.ones((5, 1))
    control.actions = given
    given[:] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        control.actions[0] = 9.0
    assert control.actions.tolist() == [[1.0]] * 5
