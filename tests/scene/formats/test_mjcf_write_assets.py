# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Asset files of written MJCF: what the reader of the file may not reach is copied beside it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from worldline import msd

ROBOT = """<robot name="r"><link name="a">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="flake.stl" scale="2 2 2"/></geometry></visual>
<collision><geometry><mesh filename="{reference}"/></geometry></collision></link></robot>"""
CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """A robot in a folder of its own, with a mesh that it names by a relative and an absolute path."""
    home = tmp_path / "home"
    home.mkdir()
    rows = b"".join(
        struct.pack("<12fH", 0, 0, 0, *(x for corner in face for x in CORNERS[corner]), 0) for face in FACES
    )
    (home / "flake.stl").write_bytes(bytes(80) + struct.pack("<I", len(FACES)) + rows)
    (home / "robot.urdf").write_text(ROBOT.format(reference=home / "flake.stl"))
    return home / "robot.urdf"


def test_a_robot_written_elsewhere_is_read_by_default(robot: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    msd.from_file(robot).to_file(elsewhere / "robot.xml")
    # one copy of one file, whatever names it has
    assert [path.name for path in (elsewhere / "robot_assets").iterdir()] == ["flake.stl"]
    copy = elsewhere / "robot_assets" / "flake.stl"
    assert copy.read_bytes() == (robot.parent / "flake.stl").read_bytes()
    robot.parent.rename(tmp_path / "gone")
    again = msd.from_file(elsewhere / "robot.xml")
    assert {source.value["path"] for source in again.assets.meshes.values()} == {"robot_assets/flake.stl"}
    mujoco = pytest.importorskip("mujoco")
    assert mujoco.MjModel.from_xml_path(str(elsewhere / "robot.xml")).nmesh == 2


def test_a_robot_written_where_it_is_names_its_own_files(robot: Path) -> None:
    msd.from_file(robot).to_file(robot.with_suffix(".xml"))
    assert not (robot.parent / "robot_assets").exists()
    msd.from_file(robot.with_suffix(".xml"))


def test_text_alone_keeps_the_paths(robot: Path) -> None:
    assert "robot_assets" not in msd.from_file(robot).to_str(format="mjcf")
