# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every error a user can meet has one public path, `worldline.<name>`, and the built-in kinds it promises."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path

import pytest

import worldline
from processes import output_of
from worldline import (
    ArgumentError,
    CapabilityError,
    MissingFileError,
    NotFoundError,
    OperationError,
    ReplayIndexError,
    SceneError,
    ShapeError,
    UnavailableStage,
    UnknownCapabilityError,
    UnreadableFileError,
    UnsupportedFormatError,
    WorldlineError,
)
from worldline._src import errors

SOURCE = Path(worldline.__file__).parent / "_src"
# caught on the way up and never seen by a user
INTERNAL = {"_Broken", "Doubt", "Rejected", "TooManyProblems"}


def defined_errors():
    """Names of all classes in the source that derive from an exception, by file."""
    found = {}
    bases = {error.__name__ for error in errors.PUBLIC} | {
        "Exception",
        "ValueError",
        "RuntimeError",
        "OSError",
    }
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and bases & {getattr(b, "id", "") for b in node.bases}:
                found[node.name] = path
    return found


def test_every_error_is_importable_from_worldline():
    missing = {
        n: str(p) for n, p in defined_errors().items() if n not in INTERNAL and not hasattr(worldline, n)
    }
    assert not missing, "define it in errors.py, list it in errors.PUBLIC and in worldline/__init__.py"
    assert {error.__name__ for error in errors.PUBLIC} <= set(worldline.__all__)


@pytest.mark.parametrize("error", errors.PUBLIC, ids=lambda e: e.__name__)
def test_errors_are_named_by_their_public_path(error):
    assert getattr(worldline, error.__name__) is error
    assert error.__module__ == "worldline" and issubclass(error, WorldlineError) and error.__doc__


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (ArgumentError, (ValueError,)),
        (ShapeError, (ValueError, TypeError)),
        (OperationError, (RuntimeError,)),
        (CapabilityError, (NotImplementedError,)),
        (UnavailableStage, (RuntimeError, NotImplementedError)),
        (UnknownCapabilityError, (ValueError, NotImplementedError)),
        (UnsupportedFormatError, (SceneError, NotImplementedError)),
        (NotFoundError, (KeyError,)),
        (ReplayIndexError, (IndexError,)),
        (UnreadableFileError, (SceneError, OSError)),
        (MissingFileError, (SceneError, FileNotFoundError)),
    ],
)
def test_errors_are_the_built_in_kinds_a_caller_expects(error, kinds):
    for kind in kinds:
        assert issubclass(error, kind)


def test_errors_survive_pickle_and_copy():
    made = [
        MissingFileError("a.xml: cannot be read", [errors.Problem("$", "gone")], filename="a.xml"),
        SceneError("no", [errors.Problem("$.a", "b")]),
        worldline.StepFailure("box", "position", 3),
        worldline.StepFailure("box", "velocity", 3, 2e11, world=4, outcome="it is frozen"),
        worldline.LayoutError("it", "mass", "box"),
        UnknownCapabilityError("no such"),
    ]
    for error in made:
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(twin) is type(error) and str(twin) == str(error)
            assert vars(twin) == vars(error)
    assert made[0].filename == "a.xml" and made[0].errno == 2 and "Errno" not in str(made[0])
    assert pickle.loads(pickle.dumps(made[0])).filename == "a.xml"


def test_modules_load_on_first_use_and_errors_are_light():
    code = (
        "import sys, worldline\n"
        "from worldline import StepFailure, MissingFileError\n"
        "assert not {'numba', 'numpy', 'lxml'} & set(sys.modules)\n"
        "assert set(worldline._MODULES) <= set(dir(worldline))\n"
        "print([getattr(worldline, name).__name__ for name in sorted(worldline._MODULES)])"
    )
    modules = ["collision", "kinematics", "lcp", "math", "model", "msd", "ops", "optimize", "simulation"]
    assert output_of(code) == str([f"worldline.{name}" for name in modules])
