# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes that are only drawn: vertices that are not finite are refused when a scene is built."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.assets import library, mesh_files

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32)
SCENE = """<mujoco><asset><mesh name="m" file="m{0}"/></asset><worldbody><body name="b"><freejoint/>
  <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
  <geom type="mesh" mesh="m" contype="0" conaffinity="0" group="2"/></body></worldbody></mujoco>"""


def stl(points: np.ndarray) -> bytes:
    rows = np.zeros(len(FACES), mesh_files.STL_ROW)
    rows["corners"] = points[FACES]
    return bytes(80) + struct.pack("<I", len(rows)) + rows.tobytes()


def msh(points: np.ndarray) -> bytes:
    return struct.pack("<4i", len(points), 0, 0, len(FACES)) + points.tobytes() + FACES.tobytes()


def obj(points: np.ndarray, word: str = "nan") -> bytes:
    lines = ["usemtl nanny_infinite"]
    lines += ["v " + " ".join(word if x != x else repr(x) for x in row) for row in points.tolist()]
    lines += ["f " + " ".join(str(k + 1) for k in face) for face in FACES.tolist()]
    return "\n".join(lines).encode()


def ascii_stl(points: np.ndarray) -> bytes:
    lines = ["solid x"]
    for triangle in points[FACES]:
        lines += ["facet normal 0 0 1", "outer loop"]
        lines += ["vertex " + " ".join(map(str, row.tolist())) for row in triangle]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid x"]).encode()


FORMATS = {
    "binary stl": (".stl", stl),
    "ascii stl": (".stl", ascii_stl),
    "msh": (".msh", msh),
    "obj": (".obj", obj),
    "obj NaN": (".obj", lambda points: obj(points, "NaN")),
    "obj infinite": (".obj", lambda points: obj(points, "-Infinity")),
}


def scene_file(folder: Path, suffix: str, content: bytes) -> Path:
    (folder / f"m{suffix}").write_bytes(content)
    (folder / "a.xml").write_text(SCENE.format(suffix))
    return folder / "a.xml"


@pytest.mark.parametrize("name", FORMATS)
def test_vertices_that_are_not_finite_are_refused(name: str, tmp_path: Path) -> None:
    suffix, write = FORMATS[name]
    msd.build(msd.from_file(scene_file(tmp_path, suffix, write(CORNERS))))
    bad = CORNERS.copy()
    bad[2, 1] = np.nan
    scene = msd.from_file(scene_file(tmp_path, suffix, write(bad)))
    with pytest.raises(SceneError, match=rf"m\{suffix}"):
        msd.build(scene)


def test_files_are_searched_once_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = msd.from_file(scene_file(tmp_path, ".obj", obj(CORNERS)))
    calls = []
    search = mesh_files.may_hold_bad_numbers
    monkeypatch.setattr(
        mesh_files, "may_hold_bad_numbers", lambda *given: calls.append(given) or search(*given)
    )
    monkeypatch.setattr(library, "load_mesh", lambda *_, **__: pytest.fail("the mesh was read"))
    for _ in range(3):
        msd.build(scene)
    assert len(calls) == 1


def test_a_missing_file_is_left_to_drawing(tmp_path: Path) -> None:
    path = scene_file(tmp_path, ".stl", stl(CORNERS))
    scene = msd.from_file(path)
    (tmp_path / "m.stl").unlink()
    msd.build(scene)
