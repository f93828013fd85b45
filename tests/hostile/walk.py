# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Public calls found by introspection: functions, constructors and methods, with their parameters."""

from __future__ import annotations

import enum
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from worldline import CapabilityError

MODULES = (
    *("simulation", "simulation.compute", "simulation.diff", "simulation.rendering", "simulation.sensors"),
    *("simulation.state", "msd", "model", "collision", "lcp", "kinematics", "optimize", "math", "envs"),
    "distributed",
)


class Call(NamedTuple):
    """A public function, constructor or method."""

    label: str
    owner: type | None
    """The class of the object that a method is called on; None for functions and constructors."""
    name: str
    function: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]


def classes() -> dict[str, type]:
    """Public classes by module and name, without enumerations and errors."""
    return {
        f"{module}.{name}": item
        for module, name, item in public()
        if inspect.isclass(item) and not issubclass(item, (enum.Enum, BaseException))
    }


def public() -> Iterator[tuple[str, str, Any]]:
    """Module, name and object of everything public."""
    for name in MODULES:
        module = importlib.import_module(f"worldline.{name}")
        for exported in module.__all__:
            try:
                yield name, exported, getattr(module, exported)
            except CapabilityError:
                # needs a package that is not installed
                continue


def calls() -> dict[str, Call]:
    """Everything public that can be called; what several classes inherit, once."""
    found: dict[str, Call] = {}
    seen: set[Any] = set()
    for module, name, item in public():
        if inspect.isclass(item):
            if item in seen or issubclass(item, (enum.Enum, BaseException)):
                continue
            seen.add(item)
            label = f"{module}.{name}"
            found[label] = Call(label, None, name, item, _parameters(item))
            for attribute in dir(item):
                static = inspect.getattr_static(item, attribute)
                if attribute.startswith("_"):
                    continue
                bare = getattr(static, "__func__", static)
                if not (inspect.isfunction(bare) and bare.__module__.startswith("worldline")):
                    continue
                if bare in seen:
                    continue
                seen.add(bare)
                is_method = inspect.isfunction(static)
                label = f"{module}.{name}.{attribute}"
                given = _parameters(bare)
                if is_method or isinstance(static, classmethod):
                    given = given[1:]
                found[label] = Call(
                    label, item if is_method else None, attribute, getattr(item, attribute), given
                )
        elif callable(item) and item not in seen:
            seen.add(item)
            label = f"{module}.{name}"
            found[label] = Call(label, None, name, item, _parameters(item))
    return found


def _parameters(item: Any) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(item).parameters.values())
