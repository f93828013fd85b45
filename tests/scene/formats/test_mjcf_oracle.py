# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Models of the packages `gymnasium` and `dm_control`, and random ones, against what MuJoCo compiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mjcf_compare import differences, mujoco
from mjcf_packages import package_files
from mjcf_random import Generator

from worldline import msd


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # MuJoCo writes its warnings to a file in the working directory
    monkeypatch.chdir(tmp_path)


def load_both(path: Path) -> tuple[msd.World, Any]:
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        pytest.skip(f"MuJoCo does not load it: {str(error).splitlines()[0][:100]}")
    return msd.from_file(path, allow_outside=True), model


@pytest.mark.parametrize("path", package_files())
def test_package_model_is_what_mujoco_compiles(path: Path) -> None:
    world, model = load_both(path)
    assert differences(world, model) == ""


@pytest.mark.parametrize("seed", range(40))
def test_random_model_is_what_mujoco_compiles(seed: int) -> None:
    text = Generator(seed).model()
    try:
        model = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        pytest.skip(f"MuJoCo does not compile it: {str(error).splitlines()[0][:80]}")
    assert differences(msd.from_str(text), model) == ""
