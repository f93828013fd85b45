# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Images and videos as files: PNG, GIF and MP4.

Files appear whole or not at all. Pillow writes PNG and GIF, PyAV (FFmpeg's libraries) writes MP4 with H.264,
which browsers and slides play.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError
from worldline._src.scene.formats.atomic_write import atomic_file

FILMS = (".gif", ".mp4")
SUFFIXES = (".png", *FILMS)


def checked_suffix(path: str | os.PathLike[str]) -> str:
    """The kind of a file by its name."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ArgumentError(f"{os.fspath(path)}: pictures are written as {', '.join(SUFFIXES)}")
    return suffix


def write_picture(path: str | os.PathLike[str], rgb: np.ndarray) -> None:
    """Write a PNG of (height, width, 3) bytes."""
    image = _pillow()
    with atomic_file(path) as partial:
        image.fromarray(rgb).save(partial, format="PNG")


def write_film(path: str | os.PathLike[str], frames: Iterable[np.ndarray], fps: float) -> int:
    """Write a GIF or an MP4 of frames (height, width, 3) bytes, as they come; returns how many there were."""
    suffix = checked_suffix(path)
    if suffix not in FILMS:
        raise ArgumentError(f"{os.fspath(path)}: films are written as {', '.join(FILMS)}")
    with atomic_file(path) as partial:
        return (_write_gif if suffix == ".gif" else _write_mp4)(partial, iter(frames), fps)


def _write_gif(path: Path, frames: Iterator[np.ndarray], fps: float) -> int:
    image = _pillow()
    # one table of colours for all frames, from the first: no flicker, and files are smaller
    first = image.fromarray(next(frames)).quantize(256, dither=image.Dither.NONE)
    count = 1

    def rest() -> Iterator[Any]:
        nonlocal count
        for frame in frames:
            count += 1
            yield image.fromarray(frame).quantize(palette=first, dither=image.Dither.NONE)

    # times of a GIF are hundredths of a second
    each = max(2, round(100.0 / fps)) * 10
    first.save(path, format="GIF", save_all=True, append_images=rest(), duration=each, loop=0)
    return count


def _write_mp4(path: Path, frames: Iterator[np.ndarray], fps: float) -> int:
    try:
        import av  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise CapabilityError(
            "MP4 needs the package 'av', which is not installed; pip install 'worldline[render]', or "
            "write a GIF"
        ) from None
    count = 0
    with av.open(str(path), "w", format="mp4") as file:
        stream: Any = None
        for frame in frames:
            # the format requires even sides
            frame = frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2]
            if stream is None:
                stream = file.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000))
                stream.height, stream.width = frame.shape[:2]
                stream.pix_fmt = "yuv420p"
                stream.options = {"crf": "18", "preset": "veryfast"}
            for packet in stream.encode(
                av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
            ):
                file.mux(packet)
            count += 1
        for packet in stream.encode() if stream is not None else ():
            file.mux(packet)
    return count


def _pillow() -> Any:
    try:
        from PIL import Image  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise CapabilityError(
            "pictures in files need the package 'pillow', which is not installed; "
            "pip install 'worldline[render]'"
        ) from None
    return Image
