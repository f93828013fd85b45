# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures and films as files, from functions and from the command line."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from needs import drawing
from typer.testing import CliRunner

from worldline._src.cli import main as command
from worldline._src.errors import ArgumentError, CapabilityError
from worldline._src.render import files

SCENE = """<mujoco><worldbody>
  <camera name="side" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/>
  <body name="ball" pos="0 0 1.5"><freejoint/><geom type="sphere" size="0.3" rgba="1 0 0 1"/></body>
</worldbody><keyframe><key name="low" qpos="0 0 0.5 1 0 0 0"/></keyframe></mujoco>"""


def frames(count=7, size=(48, 64)):
    """A white square that moves over black."""
    for k in range(count):
        frame = np.zeros((*size, 3), np.uint8)
        frame[10:20, 4 * k : 4 * k + 10] = 255
        yield frame


def red(rgb):
    """Middle of what is red, row and column."""
    wide = np.asarray(rgb).astype(int)
    return np.argwhere((wide[..., 0] > 90) & (wide[..., 0] > 2 * wide[..., 1:].max(axis=2))).mean(axis=0)


def test_a_png_keeps_every_pixel(tmp_path):
    from PIL import Image

    picture = np.random.default_rng(0).integers(0, 256, (20, 30, 3)).astype(np.uint8)
    files.write_picture(tmp_path / "a.png", picture)
    assert (np.asarray(Image.open(tmp_path / "a.png")) == picture).all()


def test_a_gif_has_its_frames_and_times(tmp_path):
    from PIL import Image

    assert files.write_film(tmp_path / "a.gif", frames(), 20.0) == 7
    with Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == 7 and film.info["duration"] == 50
        film.seek(6)
        assert np.asarray(film.convert("L"))[10:20, 24:34].min() > 250


def test_an_mp4_plays_back(tmp_path):
    av = pytest.importorskip("av", reason="MP4 needs the package av")
    assert files.write_film(tmp_path / "a.mp4", frames(size=(49, 65)), 25.0) == 7
    with av.open(str(tmp_path / "a.mp4")) as film:
        shown = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
        assert film.streams.video[0].average_rate == 25
    # sides are even
    assert len(shown) == 7 and shown[0].shape == (48, 64, 3)
    assert shown[6][12:18, 26:32].min() > 200 and shown[6][30:].max() < 40


def test_what_fails_leaves_no_file(tmp_path):
    def broken():
        yield from frames(2)
        raise RuntimeError("the end")

    for name in ("a.gif", "a.mp4"):
        with pytest.raises(RuntimeError, match="the end"):
            files.write_film(tmp_path / name, broken(), 25.0)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ArgumentError, match=r"a.bmp: pictures are written as .png, .gif, .mp4"):
        files.checked_suffix("a.bmp")
    with pytest.raises(ArgumentError, match="films are written as"):
        files.write_film(tmp_path / "a.png", frames(), 25.0)


def test_missing_packages_are_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(CapabilityError, match=r"'av'.*worldline\[render\]"):
        files.write_film(tmp_path / "a.mp4", frames(), 25.0)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(CapabilityError, match=r"'pillow'.*"):
        files.write_picture(tmp_path / "a.png", next(frames()))


# ---- the command


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text(SCENE)
    return path


def call(*arguments):
    return CliRunner().invoke(
        command.app, ["render", *map(str, arguments)], env={"COLUMNS": "1000", "TERM": "dumb"}
    )


@drawing
def test_a_picture_from_the_command_line(scene, tmp_path):
    from PIL import Image

    out = tmp_path / "a.png"
    done = call(scene, "-o", out, "--camera", "side", "--width", 120, "--height", 80)
    assert done.exit_code == 0, done.output
    picture = np.asarray(Image.open(out))
    assert picture.shape == (80, 120, 3) and "120 x 80 pixels" in done.output
    high = red(picture)
    done = call(scene, "-o", out, "--camera", "side", "--width", 120, "--height", 80, "--keyframe", "low")
    assert done.exit_code == 0 and red(Image.open(out))[0] > high[0] + 20
    # a free camera from the other side
    done = call(
        scene, "-o", out, "--position", 0, 3, 1.5, "--target", 0, 0, 1.5, "--width", 80, "--height", 80
    )
    assert done.exit_code == 0 and red(Image.open(out)) == pytest.approx([39.5, 39.5], abs=1.0)


@drawing
def test_a_film_from_the_command_line(scene, tmp_path):
    from PIL import Image

    out = tmp_path / "a.gif"
    size = ("--width", 60, "--height", 40, "--no-shadows", "--camera", "side")
    done = call(scene, "-o", out, "--duration", 0.4, "--fps", 10, *size)
    assert done.exit_code == 0, done.output
    assert "4 pictures, 0.4 s, up to time 0.3 s" in done.output
    with Image.open(out) as film:
        heights = []
        for k in range(film.n_frames):
            film.seek(k)
            heights.append(red(film.convert("RGB"))[0])
    # g t^2 / 2 at 0, 0.1, 0.2, 0.3 s, as the camera at 3 m sees it
    pixels = 20.0 / np.tan(np.radians(22.5)) / 3.0
    assert np.diff(heights) == pytest.approx(pixels * 9.81 / 2 * np.array([0.01, 0.03, 0.05]), abs=1.2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "a.bmp"), ".png or .gif or .mp4"),
        (("-o", "a.png", "--camera", "side", "--position", 1, 2, 3), "not both"),
        (("-o", "a.png", "--width", 0), "--width"),
        ((), "--output"),
    ],
)
def test_bad_arguments_of_the_command(scene, arguments, message):
    done = call(scene, *arguments)
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)
