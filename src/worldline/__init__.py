# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worldline: multibody physics for robotics in Python.

Public modules, loaded when they are first used:

- `worldline.simulation`: worlds of objects to build or load, step and read;
- `worldline.model`: models as arrays, and kinematics and dynamics of trees on one world or on many;
- `worldline.msd`: the scene description and its files;
- `worldline.collision`: shapes, contacts, distances and rays without a world;
- `worldline.lcp`: linear complementarity problems and their solvers;
- `worldline.kinematics`: inverse kinematics of worlds and models;
- `worldline.optimize`: trajectory optimisation and system identification over differentiable worlds;
- `worldline.distributed`: rollouts on a Ray cluster (needs the extra `distributed`);
- `worldline.envs`: learning environments for Gymnasium (needs the extra `learn`);
- `worldline.ops`: operations for kernels of your own;
- `worldline.math`: rotations, quaternions, Euler angles, and the groups SO(3) and SE(3).

`worldline.kernel` makes a function a compiled kernel that runs within steps.

All errors are here: `worldline.WorldlineError` and the classes that derive from it.

>>> import worldline
>>> world = worldline.simulation.World()
>>> try:
...     world.rigid_bodies["box"]
... except worldline.NotFoundError as error:
...     print(isinstance(error, KeyError))
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from worldline._src.errors import (
    ArgumentError,
    BatchFailure,
    BusyError,
    CapabilityError,
    EnumError,
    ForbiddenPathError,
    LayoutError,
    MachineCodeError,
    MissingFileError,
    NotFoundError,
    OperationError,
    RecordingError,
    ReplayIndexError,
    SceneError,
    ShapeError,
    StepFailure,
    UnavailableStage,
    UnknownCapabilityError,
    UnreadableFileError,
    UnsupportedFormatError,
    WorldlineError,
)
from worldline._src.later import import_for_good as _import_for_good

if TYPE_CHECKING:
    from worldline import collision, kinematics, lcp, math, model, msd, ops, optimize, simulation
    from worldline._src.step.user_kernels import kernel

__version__ = "0.1.0"
__all__ = [
    "ArgumentError", "BatchFailure", "BusyError", "CapabilityError", "EnumError", "ForbiddenPathError",
    "LayoutError", "MachineCodeError", "MissingFileError", "NotFoundError", "OperationError",
    "RecordingError", "ReplayIndexError", "SceneError", "ShapeError", "StepFailure", "UnavailableStage",
    "UnknownCapabilityError", "UnreadableFileError", "UnsupportedFormatError", "WorldlineError",
    "__version__", "collision", "kernel", "kinematics", "lcp", "math", "model", "msd", "ops", "optimize",
    "simulation",
]  # fmt: skip

_MODULES = frozenset(
    {"collision", "kinematics", "lcp", "math", "model", "msd", "ops", "optimize", "simulation"}
)

_EXTRAS = frozenset({"distributed", "envs"})
"""Modules that need more packages than the library does."""


def __getattr__(name: str) -> Any:
    if name in _MODULES or name in _EXTRAS:
        return _import_for_good(f"worldline.{name}")
    if name == "kernel":
        return importlib.import_module("worldline._src.step.user_kernels").kernel
    raise AttributeError(f"module 'worldline' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
