# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of the LCP layer run, all of it is documented, and it runs uncompiled."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import subprocess
import sys

import pytest

import worldline.lcp as wl

MODULES = sorted({wl.__name__} | {getattr(wl, name).__module__ for name in wl.__all__})

PLAIN = """
import numpy as np
from worldline.lcp import Dantzig, LcpProblem, Lemke, Newton, Pgs
rng = np.random.default_rng(1)
J = rng.normal(size=(6, 6))
problem = LcpProblem(J @ J.T + np.eye(6), rng.normal(size=6))
for solver in (Dantzig(), Lemke(), Pgs(), Newton()):
    print(*solver.solve(problem).x.round(7) + 0.0)
"""


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_everything_public_has_a_docstring():
    assert wl.__all__ == sorted(wl.__all__)
    assert {n for n in vars(wl) if not n.startswith("_")} == set(wl.__all__)
    for name in wl.__all__:
        assert (inspect.getdoc(getattr(wl, name)) or "").strip(), name


def test_plain_python_gives_the_same_answers():
    def run(**environment):
        out = subprocess.run(
            [sys.executable, "-c", PLAIN],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **environment},
        )
        return out.stdout.splitlines()

    compiled, plain = run(), run(NUMBA_DISABLE_JIT="1")
    assert len(compiled) == 4
    assert len(set(compiled)) == 1
    assert compiled == plain
