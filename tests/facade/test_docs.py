# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of the object facade run, and everything public is documented."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

from worldline import simulation as sx
from worldline.simulation import compute, state

PUBLIC = {name: getattr(sx, name) for name in sx.__all__}
PUBLIC |= {f"state.{name}": getattr(state, name) for name in state.__all__}
PUBLIC |= {f"compute.{name}": getattr(compute, name) for name in compute.__all__}
OWNERS = [item for item in PUBLIC.values() if getattr(item, "__module__", "").startswith("worldline")]
BASES = [base for item in OWNERS if inspect.isclass(item) for base in item.__mro__]
MODULES = sorted(
    {sx.__name__, state.__name__, compute.__name__}
    | {item.__module__ for item in (*OWNERS, *BASES) if item.__module__.startswith("worldline")}
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def members():
    for name, item in PUBLIC.items():
        if inspect.isclass(item) and item.__module__.startswith("worldline"):
            yield name, item
            for member in dir(item):
                value = inspect.getattr_static(item, member)
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    yield f"{name}.{member}", value
        elif inspect.isfunction(item):
            yield name, item


def test_everything_public_has_a_docstring():
    assert [name for name, item in members() if not (inspect.getdoc(item) or "").strip()] == []


@pytest.mark.parametrize("module", [sx, state, compute], ids=["simulation", "state", "compute"])
def test_the_module_lists_what_it_has(module):
    assert module.__all__ == sorted(module.__all__)
    assert {n for n, x in vars(module).items() if not n.startswith("_") and not inspect.ismodule(x)} == set(
        module.__all__
    )
