# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Writing scenes to files and text, in any format that is known.

The native formats say everything. A foreign format has a module `<format>/write.py` with

    write(world, *, file_path, report, files) -> str

It returns the text of the file and notes in the report, with the path in the scene, what the format cannot
say. `files` takes what has to lie beside the file, by path relative to it; None means that there is only
the text. The world it gets is valid and must not be changed; its relative asset paths start at `file_path`.
"""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path
from typing import Final

from worldline._src.errors import ArgumentError, CapabilityError, UnsupportedFormatError
from worldline._src.progress import slow
from worldline._src.scene.base import clone
from worldline._src.scene.formats import native
from worldline._src.scene.formats.atomic_write import path_text, write_atomically
from worldline._src.scene.formats.detect import format_module
from worldline._src.scene.formats.markup import check_texts
from worldline._src.scene.formats.native import JSON_SUFFIXES, MSGPACK_SUFFIXES
from worldline._src.scene.hints import hint
from worldline._src.scene.joints import JOINTS
from worldline._src.scene.kinds import describe
from worldline._src.scene.report import Report
from worldline._src.scene.world import World

SUFFIXES: Final = {
    **dict.fromkeys(JSON_SUFFIXES, "msd"),
    **dict.fromkeys(MSGPACK_SUFFIXES, "msgpack"),
    ".xml": "mjcf",
    ".mjcf": "mjcf",
    ".urdf": "urdf",
    ".sdf": "sdf",
    ".world": "sdf",
}
"""The format that a suffix stands for; `.xml` is MJCF unless another format is requested."""

TEXT_FORMATS: Final = ("msd", "mjcf", "urdf", "sdf")
FORMATS: Final = ("msd", "msgpack", "mjcf", "urdf", "sdf")


def to_file(
    world: World,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    defaults: bool = False,
    strict: bool = False,
) -> Report:
    """Writes a scene, in the format of the suffix unless one is named; see `World.to_file`."""
    target = Path(path_text(path))
    chosen = _format_of(target) if format is None else _allowed(format, FORMATS)
    _check_flags(defaults=defaults, strict=strict)
    _check_defaults(chosen, defaults)
    with slow(f"writing {target.name}"):
        if chosen == "msd":
            files = {target: native.to_json(world, file_path=target, defaults=defaults, indented=True)}
            report = Report()
        elif chosen == "msgpack":
            files = {target: native.to_msgpack(world, file_path=target, defaults=defaults)}
            report = Report()
        else:
            assets: dict[str, bytes] = {}
            report = Report()
            text = _foreign(world, chosen, target, report, assets)
            if strict:
                report.raise_losses(f"{target}: strict writing as {chosen.upper()}")
            files = {target: text.encode()}
            files |= {target.parent / name: data for name, data in assets.items()}
        write_atomically(files)
    return report


def to_bytes(world: World, file_path: str | PathLike[str] | None, defaults: bool) -> bytes:
    """A scene as msgpack; see `World.to_msgpack`."""
    _check_flags(defaults=defaults)
    return native.to_msgpack(world, file_path=file_path, defaults=defaults)


def to_text(
    world: World,
    format: str,
    file_path: str | PathLike[str] | None,
    defaults: bool,
    indented: bool,
    strict: bool,
    report: Report | None,
) -> str:
    """A scene as text; see `World.to_str`."""
    _allowed(format, TEXT_FORMATS)
    _check_flags(defaults=defaults, indented=indented, strict=strict)
    _check_defaults(format, defaults)
    if format == "msd":
        return native.to_json(world, file_path=file_path, defaults=defaults, indented=indented).decode()
    notes = Report()
    text = _foreign(world, format, None if file_path is None else Path(file_path), notes, None)
    if strict:
        notes.raise_losses(f"strict writing as {format.upper()}")
    if report is not None:
        report.extend(notes)
    return text


def file_beside(files: dict[str, bytes], file_path: Path, name: str, suffix: str, data: bytes) -> str:
    """Adds a file that is to lie beside the one written, and returns its path relative to it.

    Such files share a folder named after the file, so that nothing of the user's is in their way. Equal
    names get a number.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._") or "asset"
    folder = f"{file_path.stem}_assets"
    number, chosen = 1, f"{folder}/{plain}{suffix}"
    # file systems that ignore case are common
    taken = {known.lower() for known in files}
    while chosen.lower() in taken:
        number += 1
        chosen = f"{folder}/{plain}_{number}{suffix}"
    files[chosen] = data
    return chosen


def _format_of(target: Path) -> str:
    known = SUFFIXES.get(target.suffix.lower())
    if known is None:
        allowed = ", ".join(SUFFIXES)
        raise UnsupportedFormatError(f"path: given {str(target)!r}; allowed: a file name ending in {allowed}")
    return known


def _allowed(format: str, formats: tuple[str, ...]) -> str:
    if not isinstance(format, str) or format not in formats:
        allowed = ", ".join(formats)
        raise UnsupportedFormatError(
            f"format: given {describe(format)}; allowed: {allowed}{hint(format, formats)}"
        )
    return format


def _check_flags(**flags: bool) -> None:
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise ArgumentError(f"{name}: given {describe(value)}; allowed: True or False")


def _check_defaults(format: str, defaults: bool) -> None:
    if defaults and format not in ("msd", "msgpack"):
        raise ArgumentError(
            f"defaults: given True; allowed: False for {format.upper()}, True for msd, msgpack"
        )


def _check_joints(world: World, format: str) -> None:
    """Refuses joints that no chain of other joints can stand for."""
    for link in world.hierarchy.links():
        for joint in link.joints:
            if not JOINTS[joint.type_].is_portable:
                raise CapabilityError(
                    f"joint {joint.name!r} of link {link.name!r}: {format.upper()} has no joint of type "
                    f"{joint.type_.name}; allowed: msd, msgpack"
                )


def _foreign(
    world: World, format: str, file_path: Path | None, report: Report, files: dict[str, bytes] | None
) -> str:
    writer = format_module(format, "write", f"writing {format.upper()}")
    # other programs load such a file, so references to nothing must not get into it
    world.validate()
    check_texts(world, format)
    _check_joints(world, format)
    moved = native.for_file(world, file_path)
    if file_path is not None:
        moved = clone(moved) if moved is world else moved
        moved.source_path = os.path.abspath(file_path)
    return writer.write(moved, file_path=file_path, report=report, files=files)
