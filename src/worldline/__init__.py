# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worldline: multibody physics for robotics in Python.

Public modules, loaded when they are first used:

- `worldline.lcp`: linear complementarity problems and their solvers;
- `worldline.model`: models as arrays, and kinematics and dynamics of trees on one world or on many;
- `worldline.msd`: the scene description and its files.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worldline import lcp, model, msd

__version__ = "0.1.0"
__all__ = ["__version__", "lcp", "model", "msd"]

_MODULES = frozenset({"lcp", "model", "msd"})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"worldline.{name}")
    raise AttributeError(f"module 'worldline' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
