# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Methods with one needed argument refuse what is of another kind with an error of the library."""

from __future__ import annotations

import inspect
from functools import cache

import numpy as np
import pytest
from every_object import every_object

from worldline import WorldlineError

HOSTILE = (
    *(float("nan"), 10**400, 1 + 2j, -5, 1.5, True, np.array(3), np.zeros((0, 3))),
    *(np.ma.array([1.0, 2.0], mask=[0, 1]), "abc", b"x", object(), [[1, 2], [3]], [None], {}),
)
OF_PYTHON = {"index", "count"}
"""Methods of sequences, whose errors Python defines."""
LATER = {"step_async", "start_step"}
"""Methods whose errors come when their result is awaited."""


@cache
def methods():
    """Public methods that need at most one argument, with the arguments that may be given alone."""
    found = {}
    for item in every_object().values():
        kind = type(item)
        for name in dir(kind):
            member = inspect.getattr_static(kind, name)
            if name.startswith("_") or not inspect.isfunction(member) or name in OF_PYTHON | LATER:
                continue
            kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            given = [p for p in inspect.signature(member).parameters.values() if p.kind not in kinds][1:]
            needed = [p for p in given if p.default is p.empty]
            if len(needed) <= 1:
                found[f"{kind.__name__}.{name}"] = [p.name for p in (needed or given)]
    return {name: arguments for name, arguments in sorted(found.items()) if arguments}


@pytest.mark.parametrize("label", methods())
def test_what_is_of_another_kind_is_refused(label, tmp_path, monkeypatch):
    # a text is a path to some
    monkeypatch.chdir(tmp_path)
    kind, name = label.split(".")
    objects = [item for item in every_object().values() if type(item).__name__ == kind]
    for argument in methods()[label]:
        for value in HOSTILE:
            try:
                getattr(objects[0], name)(**{argument: value})
            except (WorldlineError, IndexError):
                pass
