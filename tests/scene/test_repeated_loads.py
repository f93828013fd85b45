# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every load reads its files: scenes of one text share nothing, and changed files are seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from worldline import msd

TEXT = """<mujoco model="one"><worldbody><body name="bob" sleep="never"><joint name="hinge"/>
<geom name="ball" size="0.1"/></body></worldbody></mujoco>"""


def test_scenes_of_one_text_are_equal_and_share_nothing() -> None:
    scenes = [msd.from_str(TEXT) for _ in range(3)]
    fresh = scenes[0].to_str()
    notes = [[str(note) for note in scene.report] for scene in scenes]
    assert notes[0] and all(note == notes[0] for note in notes)
    for scene in scenes:
        scene.hierarchy.bodies[0].link.geoms[0].position[0] = 7.0
        scene.hierarchy.bodies[0].link.joints.clear()
        scene.report.left_out("$", "mine")
        assert msd.from_str(TEXT).to_str() == fresh
    assert "mine" not in str(msd.from_str(TEXT).report)


def test_options_and_paths_count(tmp_path: Path) -> None:
    msd.from_str(TEXT)
    with pytest.raises(msd.SceneError):
        msd.from_str(TEXT, strict=True)
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_text(TEXT)
        assert msd.from_file(tmp_path / name).source_path == str(tmp_path / name)
    (tmp_path / "a.xml").write_text(TEXT.replace("one", "two"))
    assert msd.from_file(tmp_path / "a.xml").name == "two"


@pytest.mark.parametrize("aside", ["", "<![CDATA[{}]]>", "<?x {} ?>"])
def test_a_changed_include_is_seen(tmp_path: Path, aside: str) -> None:
    hidden = f"{aside.format('<!--')}<include file='part.xml'/>{aside.format('-->')}"
    (tmp_path / "all.xml").write_text(f"<mujoco>{hidden}</mujoco>")
    for name in ("x", "x", "y"):
        part = f"<mujoco><worldbody><body name='{name}'/></worldbody></mujoco>"
        (tmp_path / "part.xml").write_text(part)
        assert [link.name for link in msd.from_file(tmp_path / "all.xml").hierarchy.links()] == [name]
