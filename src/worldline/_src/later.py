# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Names of public modules, and modules of the package, that are imported when they are first used.

Half of the modules have no part in the first step of a world, and to import them takes longer than the step.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

PACKAGE = "worldline._src"


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Let no garbage be collected meanwhile: for work that makes many objects and keeps most of them.

    To look through them again and again takes a tenth of the time of an import or of loading a scene, and an
    eighth of what the compiler takes. They are young ones afterwards: the next collection finds those of them
    that nobody needs any more, such as the worlds of a loop.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def import_for_good(name: str) -> Any:
    """A module, imported without collections, whose objects the collector then takes for old ones.

    Modules, classes and functions live as long as the process, so the collector finds nothing among them, yet
    traversing those of a World takes a tenth of the time until its first step. Freezing and unfreezing moves
    every tracked object to the oldest generation, where a full collection still finds garbage. Objects that a
    program has frozen itself stay frozen.

    >>> from worldline._src.later import import_for_good
    >>> import_for_good("worldline.math").__name__
    'worldline.math'
    """
    if name in sys.modules:
        return importlib.import_module(name)
    with without_collection():
        module = importlib.import_module(name)
        if gc.get_freeze_count() == 0:
            gc.freeze()
            gc.unfreeze()
    return module


class DeferredModule:
    """Stands for a module below `worldline._src`, which is imported when one of its names is asked for.

    Type checkers see the module itself, imported for them alone.

    >>> from worldline._src.later import DeferredModule
    >>> poses = DeferredModule("spatial.poses")
    >>> poses.normalized_quaternion.__module__
    'worldline._src.spatial.poses'
    """

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = f"{PACKAGE}.{name}"

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self.__dict__["_name"])
        # a module that another thread has only begun to import may lack the name
        if module is None or name not in vars(module):
            module = importlib.import_module(self.__dict__["_name"])
        return getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(importlib.import_module(self.__dict__["_name"]), name, value)

    def __repr__(self) -> str:
        return f"DeferredModule({self.__dict__['_name']!r})"


def deferred_modules(package: str, names: str) -> list[Any]:
    """A `DeferredModule` for each of several modules of a package, named in one text."""
    return [DeferredModule(f"{package}.{name}") for name in names.split()]


def later(module: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a public module, which imports names from their homes when they are asked for.

    `homes`: modules below `worldline._src`, or "numpy", and the names that are taken from each; those of ""
    are modules below the public one.
    """
    found = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        home = found.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if home == "":
            value = import_for_good(f"{module}.{name}")
        else:
            value = getattr(import_for_good(home if home == "numpy" else f"{PACKAGE}.{home}"), name)
        setattr(sys.modules[module], name, value)
        return value

    return load
