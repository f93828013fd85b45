# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Height fields: MuJoCo's binary tables, images, and heights given in the scene.

Heights from a file are spread over 0 to 1 before `height_scale` applies, as MJCF does; those of a scene are
heights already. Row 0 is at -y, so the rows of an image, which begin at the top, are turned around.
"""

from __future__ import annotations

import io
import struct
from pathlib import PurePath
from typing import Final

import numpy as np

from worldline._src.errors import CapabilityError, SceneError
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.asset_specs import HFieldSource
from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.vectors import Array

MAX_HEIGHTS: Final = 50_000_000
_PNG: Final = b"\x89PNG\r\n\x1a\n"


class HeightField(NamedTuple):
    """Heights over a rectangle about the origin.

    Attributes:
        heights: Heights, m, (rows, columns); rows go along y, columns along x.
        size: Size along x and y, m, (2,).
        base: Thickness of the ground below height 0, m.
    """

    heights: Array
    size: Array
    base: float


def grid_triangles(rows: int, columns: int) -> np.ndarray:
    """Two triangles of every cell of a grid of vertices, row by row, (2 cells, 3).

    Cells are split from the vertex at the lower row and column to the one across, as in MuJoCo.
    """
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    b, c, d = a + 1, a + columns, a + columns + 1
    return np.stack([a, b, d, a, d, c], axis=1).reshape(-1, 3)


def load_hfield(source: HFieldSource, policy: PathPolicy, where: str = "hfield") -> HeightField:
    """The height field that a scene describes.

    Raises:
        SceneError: It is missing, broken, too large or too small.
        CapabilityError: An image, and the package Pillow is not installed.
    """
    heights = heights_of(source, policy, where)
    if not np.isfinite(heights).all():
        raise SceneError(f"{where}: a height that is not finite")
    if min(heights.shape) < 2:
        raise SceneError(
            f"{where}: given {heights.shape[0]} rows and {heights.shape[1]} columns; allowed: 2 or more"
        )
    return HeightField(source.height_scale * heights, np.array(source.size), source.base)


def heights_of(source: HFieldSource, policy: PathPolicy, where: str = "hfield") -> Array:
    """The heights of a height field before they are scaled, (rows, columns)."""
    data = source.source_type.value
    if source.source_type.variant == "buffer":
        heights = np.asarray(data["hfield"], dtype=np.float64)
        return _shaped(heights, source.nrow, source.ncol, where)
    path = policy.resolve(data["path"])
    heights = _normalized(read_heights(policy.read(path), str(path), data["content_type"]))
    _agree(heights, source.nrow, source.ncol, where)
    return heights


def _shaped(heights: Array, nrow: int, ncol: int, where: str) -> Array:
    if heights.ndim == 2:
        _agree(heights, nrow, ncol, where)
        return heights
    if nrow * ncol != heights.size:
        raise SceneError(f"{where}: given {heights.size} heights; allowed: {nrow} rows of {ncol}")
    return heights.reshape(nrow, ncol)


def _agree(heights: Array, nrow: int, ncol: int, where: str) -> None:
    rows, columns = heights.shape
    if nrow not in (0, rows) or ncol not in (0, columns):
        raise SceneError(f"{where}: given {rows} rows of {columns} heights; allowed: {nrow} rows of {ncol}")


def _normalized(heights: Array) -> Array:
    low, high = float(heights.min()), float(heights.max())
    return (heights - low) / (high - low) if high > low else np.zeros_like(heights)


def read_heights(data: bytes, where: str, content_type: str | None = None) -> Array:
    """The heights in the bytes of a file, as they stand there, (rows, columns).

    Args:
        data: The content.
        where: The file, for messages.
        content_type: `image/png` or `image/vnd.mujoco.hfield`; detected from the content when None.
    """
    is_image = content_type == "image/png" if content_type else data.startswith(_PNG)
    if not is_image and content_type not in (None, "", "image/vnd.mujoco.hfield"):
        raise CapabilityError(f"{where}: no reader for height fields of type {content_type!r}")
    if is_image or PurePath(where).suffix.lower() == ".png":
        return _read_png(data, where)
    return _read_table(data, where)


def _read_table(data: bytes, where: str) -> Array:
    if len(data) < 8:
        raise SceneError(f"{where}: given {len(data)} bytes; allowed: two counts of 4 bytes and the heights")
    rows, columns = struct.unpack_from("<2i", data)
    needed = 8 + 4 * rows * columns
    if rows <= 0 or columns <= 0 or needed != len(data):
        raise SceneError(
            f"{where}: the header promises {rows} rows of {columns} heights, which need {needed} bytes; "
            f"the file has {len(data)}"
        )
    heights = np.frombuffer(data, "<f4", rows * columns, 8).reshape(rows, columns).astype(np.float64)
    if not np.isfinite(heights).all():
        raise SceneError(f"{where}: a height that is not finite")
    return heights


def _read_png(data: bytes, where: str) -> Array:
    if not data.startswith(_PNG) or len(data) < 33 or data[12:16] != b"IHDR":
        raise SceneError(f"{where}: not a PNG image")
    width, height = struct.unpack_from(">2I", data, 16)
    # a few bytes of a packed image can stand for gigabytes
    if not 0 < width * height <= MAX_HEIGHTS:
        raise SceneError(f"{where}: given {width} x {height} pixels; allowed: {MAX_HEIGHTS} in all")
    try:
        from PIL import Image  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise CapabilityError(
            f"{where}: height fields from images need the package 'pillow', which is not installed"
        ) from None
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            grey = np.asarray(image.convert("L"), dtype=np.float64)
    except Exception as error:
        # damaged images make their reader fail in every way there is
        text = str(error).split("\n")[0][:200] or type(error).__name__
        raise SceneError(f"{where}: not a readable PNG image: {text}") from None
    return grey[::-1]
