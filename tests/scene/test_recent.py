# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A text that was read before is copied and not read again, and nobody can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from worldline import msd
from worldline._src.scene.formats.mjcf import read as mjcf
from worldline._src.scene.formats.recent import RECENT

TEXT = """<mujoco model="one"><worldbody><body name="bob" sleep="never"><joint name="hinge"/>
<geom name="ball" size="0.1"/></body></worldbody></mujoco>"""


LICENSED = TEXT.replace("<worldbody>", "<!-- See http://example.org/license; file='none' --><worldbody>")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that the reader was really given."""
    RECENT.clear()
    seen: list[str] = []
    read = mjcf.read

    def counted(source: str, **more: Any) -> msd.World:
        seen.append(source)
        return read(source, **more)

    monkeypatch.setattr(mjcf, "read", counted)
    return seen


def test_the_third_load_reads_nothing(reads: list[str]) -> None:
    scenes = [msd.from_str(TEXT) for _ in range(4)]
    assert len(reads) == 2
    assert all(scene == scenes[0] for scene in scenes)
    notes = [[str(note) for note in scene.report] for scene in scenes]
    assert notes[0] and all(note == notes[0] for note in notes)


def test_copies_share_nothing(reads: list[str]) -> None:
    first, second, third = (msd.from_str(TEXT) for _ in range(3))
    fresh = first.to_str()
    for scene in (first, second, third):
        scene.hierarchy.bodies[0].link.geoms[0].position[0] = 7.0
        scene.hierarchy.bodies[0].link.joints.clear()
        scene.report.left_out("$", "mine")
        assert msd.from_str(TEXT).to_str() == fresh
    assert "mine" not in str(msd.from_str(TEXT).report)


def test_options_and_places_count(reads: list[str], tmp_path: Path) -> None:
    for _ in range(3):
        msd.from_str(TEXT)
    with pytest.raises(msd.SceneError):
        msd.from_str(TEXT, strict=True)
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_text(TEXT)
        for _ in range(3):
            assert msd.from_file(tmp_path / name).source_path == str(tmp_path / name)
    (tmp_path / "a.xml").write_text(TEXT.replace("one", "two"))
    assert msd.from_file(tmp_path / "a.xml").name == "two"


def test_what_refers_to_other_files_is_read_each_time(reads: list[str], tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text("<mujoco><worldbody><body name='x'/></worldbody></mujoco>")
    (tmp_path / "whole.xml").write_text("<mujoco><include file='part.xml'/></mujoco>")
    for _ in range(3):
        msd.from_file(tmp_path / "whole.xml")
    (tmp_path / "part.xml").write_text("<mujoco><worldbody><body name='y'/></worldbody></mujoco>")
    assert [link.name for link in msd.from_file(tmp_path / "whole.xml").hierarchy.links()] == ["y"]
    assert len(reads) == 4


def test_comments_refer_to_no_file(reads: list[str]) -> None:
    for _ in range(4):
        msd.from_str(LICENSED)
    assert len(reads) == 2


@pytest.mark.parametrize("aside", ["<![CDATA[{}]]>", "<?x {} ?>"])
def test_signs_of_comments_hide_no_file(reads: list[str], tmp_path: Path, aside: str) -> None:
    (tmp_path / "part.xml").write_text("<mujoco><worldbody><body name='x'/></worldbody></mujoco>")
    hidden = f"{aside.format('<!--')}<include file='part.xml'/>{aside.format('-->')}"
    (tmp_path / "whole.xml").write_text(f"<mujoco>{hidden}</mujoco>")
    for _ in range(4):
        assert [link.name for link in msd.from_file(tmp_path / "whole.xml").hierarchy.links()] == ["x"]
    assert len(reads) == 4


def test_only_a_few_are_kept(reads: list[str]) -> None:
    for number in range(100):
        for _ in range(2):
            msd.from_str(TEXT.replace("one", str(number)))
    assert len(RECENT._known) <= 16
    msd.from_str(TEXT.replace("one", "0"))
    assert len(reads) == 201
