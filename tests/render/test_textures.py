# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Images of textures: damaged files are refused with the library's own errors, large ones before they are read."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline._src.drawing.looks import Looks
from worldline._src.errors import SceneError

Image = pytest.importorskip("PIL.Image", reason="images of textures need the package pillow")

FORMATS = ("PNG", "JPEG", "BMP", "TGA", "GIF", "TIFF", "WEBP", "PPM")


def pixels_of(folder: Path, content: bytes) -> np.ndarray:
    (folder / "t.png").write_bytes(content)
    (folder / "a.xml").write_text(
        '<mujoco><asset><texture name="t" type="2d" file="t.png"/></asset><worldbody/></mujoco>'
    )
    picture = Looks(msd.from_file(folder / "a.xml")).texture("t")
    assert picture is not None
    return picture.pixels


def image_file(format: str, mode: str = "RGB") -> bytes:
    colours = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    made = io.BytesIO()
    Image.fromarray(colours).convert(mode).save(made, format)
    return made.getvalue()


def png(width: int, height: int) -> bytes:
    """A PNG of a few bytes that promises many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    made, kind = bytearray(content), rng.integers(4)
    if kind == 0:
        return bytes(made[: rng.integers(len(made))])
    if kind == 1:
        at = rng.integers(len(made))
        made[at:at] = rng.bytes(int(rng.integers(1, 50)))
        return bytes(made)
    reach = len(made) if kind == 2 else min(len(made), 100)
    for at in rng.integers(0, reach, rng.integers(1, 20)):
        made[at] = rng.integers(256)
    return bytes(made)


@pytest.mark.parametrize("format", FORMATS)
def test_damaged_images_are_read_or_refused_by_name(format: str, tmp_path: Path) -> None:
    content, rng = image_file(format), np.random.default_rng(5)
    assert pixels_of(tmp_path, content).shape == (20, 30, 3)
    refused = 0
    for _ in range(40):
        try:
            found = pixels_of(tmp_path, damaged(content, rng))
            assert found.dtype == np.uint8 and found.shape[2] == 3
        except SceneError as error:
            refused += 1
            assert "t.png" in str(error)
    assert refused > 0


@pytest.mark.parametrize("width, height", [(4097, 4096), (60_000, 60_000), (2**31 - 1, 2**31 - 1)])
def test_large_images_are_refused_before_they_are_read(width: int, height: int, tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(SceneError, match=r"t\.png: .*(pixels|image)"):
            pixels_of(tmp_path, png(width, height))
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("content", [b"", b"hello", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"])
def test_what_is_no_image_is_refused_with_what_is(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="not a readable image; allowed: PNG, JPEG"):
        pixels_of(tmp_path, content)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA"])
def test_images_of_every_mode_become_colours(mode: str, tmp_path: Path) -> None:
    assert pixels_of(tmp_path, image_file("PNG", mode)).shape == (20, 30, 3)


def test_grey_of_16_bits_keeps_its_brightness(tmp_path: Path) -> None:
    made = io.BytesIO()
    Image.fromarray(np.array([[0, 0x4000], [0x80FF, 0xFFFF]], np.uint16)).save(made, "PNG")
    assert pixels_of(tmp_path, made.getvalue())[:, :, 0].tolist() == [[0, 0x40], [0x80, 0xFF]]
