# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Models that come with packages other engines use; tests that need one say so when it is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

import pytest


def gymnasium_model(name: str) -> str:
    """The path of one of gymnasium's MuJoCo models; only its files are used, not its code."""
    found = importlib.util.find_spec("gymnasium")
    if found is None or found.origin is None:
        pytest.skip("needs the models of the package gymnasium")
    return str(Path(found.origin).parent / "envs/mujoco/assets" / f"{name}.xml")


def example_robots(suffix: str) -> list[Path]:
    """The files of the package example-robot-data of a suffix; none where it is not installed."""
    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())).resolve() for file in files if file.suffix == suffix)
