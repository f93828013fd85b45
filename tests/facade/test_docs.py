# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of the object facade run, and everything public is documented."""

from __future__ import annotations

import inspect

import pytest

from worldline import simulation as sx
from worldline.simulation import compute, state

PUBLIC = {name: getattr(sx, name) for name in sx.__all__}
PUBLIC |= {f"state.{name}": getattr(state, name) for name in state.__all__}
PUBLIC |= {f"compute.{name}": getattr(compute, name) for name in compute.__all__}


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
