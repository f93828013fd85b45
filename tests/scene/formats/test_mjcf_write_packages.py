# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Models of `gymnasium` and `dm_control`, read, written and read again, by MuJoCo and by Worldline.

Three things may differ, and only these: the directory that paths of assets start at, notes of the reader, and
what it left out or approximated already, which `mjcf_twins.EXPLAINED` lists.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mjcf_again import rooted, scene_differences, written
from mjcf_packages import package_files
from mjcf_twins import model_differences, motion_differences, mujoco

from worldline import msd


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # MuJoCo writes its warnings to a file in the working directory
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", package_files())
def test_package_model_is_written_without_loss(path: Path, tmp_path: Path) -> None:
    try:
        before = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        pytest.skip(f"MuJoCo does not load it: {str(error).splitlines()[0][:100]}")
    world = msd.from_file(path, allow_outside=True)
    again, report = written(world, tmp_path / "written.xml")
    # distances of fog and planes are in units of a size that some of these files do not give
    assert all(entry.path.startswith("$.visual.") for entry in report), str(report)
    assert scene_differences(rooted(world), rooted(again)) == []
    assert rooted(again) == rooted(world)
    after = mujoco.MjModel.from_xml_path(str(tmp_path / "written.xml"))
    assert model_differences(before, after) == []
    assert motion_differences(before, after, np.random.default_rng(7)) == []
