# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The MJCF models that come with the packages `gymnasium` and `dm_control`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

AGAIN = ("fruitfly_v2/floor.xml", "drosophila_fused.xml")


def package_files() -> list[Any]:
    """Every MJCF model of the two packages that MuJoCo itself can load."""
    found = []
    for package, folders in (("gymnasium", ["envs/mujoco/assets"]), ("dm_control", ["."])):
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            skip = pytest.mark.skip(reason=f"the package {package} is not installed")
            found.append(pytest.param(Path(package), marks=skip, id=package))
            continue
        root = Path(spec.origin).parent
        again = pytest.mark.skip(reason="the same bodies as in another file, and seconds of meshes")
        for folder in folders:
            for path in sorted((root / folder).rglob("*.xml")):
                name = path.relative_to(root).as_posix()
                marks = [again] if name.endswith(AGAIN) else []
                found.append(pytest.param(path, marks=marks, id=f"{package}/{name}"))
    return found
