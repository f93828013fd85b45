# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of both layers run, and everything public of the array layer is documented."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import worldline.model as wm
from worldline import simulation as sx
from worldline.simulation import compute, state

PUBLIC = {name: getattr(wm, name) for name in wm.__all__}
SIMULATION = [getattr(module, name) for module in (sx, state, compute) for name in module.__all__]
CLASSES = {base for item in SIMULATION if inspect.isclass(item) for base in item.__mro__}
# methods that a part of an object carries out are documented there
PARTS = [f for item in CLASSES for f in vars(item).values() if inspect.isfunction(f)]
MODULES = sorted(
    {module.__name__ for module in (wm, sx, state, compute)}
    | {getattr(item, "__module__", None) or "" for item in (*PUBLIC.values(), *SIMULATION, *CLASSES, *PARTS)}
)
MODULES = [name for name in MODULES if name.startswith("worldline")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    examples = sum(len(t.examples) for name in MODULES for t in finder.find(importlib.import_module(name)))
    assert examples > 30


def public_members():
    for name, item in PUBLIC.items():
        yield name, item
        if inspect.isclass(item):
            for member, value in vars(item).items():
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    yield f"{name}.{member}", value


@pytest.mark.parametrize("name", [name for name, _ in public_members()])
def test_everything_public_has_a_docstring(name):
    item = dict(public_members())[name]
    assert (inspect.getdoc(item) or "").strip()


def test_the_module_lists_what_it_has():
    assert wm.__all__ == sorted(wm.__all__)
    loaded = {n for n in vars(wm) if not n.startswith("_")}
    assert loaded == set(wm.__all__)
