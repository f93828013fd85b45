# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Loading scenes from files, text and bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, cast

from worldline._src import errors
from worldline._src.keywords import shared_keywords
from worldline._src.later import without_collection
from worldline._src.named_tuple import NamedTuple
from worldline._src.progress import slow
from worldline._src.scene.assets.paths import PackageDirectory, PathPolicy
from worldline._src.scene.assets.references import check_assets
from worldline._src.scene.contexts import Gathering
from worldline._src.scene.formats import native
from worldline._src.scene.formats.detect import detect, format_module
from worldline._src.scene.hints import hint
from worldline._src.scene.kinds import describe
from worldline._src.scene.limits import LIMITS, Limits
from worldline._src.scene.validate import examine
from worldline._src.scene.world import World

Strict = bool | Literal["motion"]
_BLOCK = 2**16
TEXT_FORMATS = ("mjcf", "urdf", "sdf", "msd")


class ReadOptions(NamedTuple):
    """Options of every reader.

    Attributes:
        strict: Anything approximated, left out or missing is an error; "motion" leaves out what is only seen.
        validate: Check the scene as a whole after reading.
        asset_dirs: Where to look for assets and `package://` besides the directory of the file.
        allow_outside: Let includes and assets lie outside those directories.
        limits: Bounds on the file and the scene.
    """

    strict: Strict = False
    validate: bool = True
    asset_dirs: tuple[Path | PackageDirectory, ...] = ()
    allow_outside: bool = False
    limits: Limits = LIMITS


class Reading(TypedDict, total=False):
    """Keywords of everything that reads a scene; see `from_file`."""

    strict: Strict
    validate: bool
    asset_dirs: Iterable[str | PathLike[str] | PackageDirectory]
    allow_outside: bool
    limits: Limits


_reads = shared_keywords(
    Reading, strict=False, validate=True, asset_dirs=(), allow_outside=False, limits=LIMITS
)


def _options(
    strict: Strict = False,
    validate: bool = True,
    asset_dirs: Iterable[str | PathLike[str] | PackageDirectory] = (),
    allow_outside: bool = False,
    limits: Limits = LIMITS,
) -> ReadOptions:
    if not (isinstance(strict, bool) or (isinstance(strict, str) and strict == "motion")):
        raise errors.ArgumentError(f"strict: given {describe(strict)}; allowed: True, False or 'motion'")
    for name, value in (("validate", validate), ("allow_outside", allow_outside)):
        if not isinstance(value, bool):
            raise errors.ArgumentError(f"{name}: given {describe(value)}; allowed: True or False")
    if isinstance(asset_dirs, str | bytes | PathLike):
        raise errors.ArgumentError(f"asset_dirs: given {describe(asset_dirs)}; allowed: a list of paths")
    dirs = tuple(_directory(entry) for entry in errors.listed(asset_dirs, "asset_dirs"))
    errors.require_kind(limits, Limits, "limits", "reading a scene")
    return ReadOptions(strict, validate, dirs, allow_outside, limits)


def _directory(entry: Any) -> Path | PackageDirectory:
    return entry if isinstance(entry, PackageDirectory) else Path(_path(entry, "asset_dirs"))


def _path(given: object, what: str) -> str:
    """The path of a file or folder as text."""
    path: object = cast("PathLike[str]", given).__fspath__() if isinstance(given, PathLike) else given
    if isinstance(path, str):
        return path
    raise errors.ArgumentError(
        f"{what}: given {describe(cast('object', given))}; allowed: the path of a file"
    )


@_reads
def from_file(path: str | PathLike[str], **keywords: Unpack[Reading]) -> World:
    """Loads a scene from an MJCF, URDF, SDF or MSD file, detected by suffix and content.

    Args:
        path: The file; relative asset paths start at its directory.
        strict: Raise if anything is approximated or left out instead of noting it in `report`; with
            "motion", only if it may change how the scene moves, so looks and viewer settings do not count.
        validate: Check the scene as a whole; turn off to load an unfinished one.
        asset_dirs: Where to look for assets and `package://` besides the file's directory.
        allow_outside: Let includes and assets lie outside those directories.
        limits: Bounds on the file and the scene.

    Raises:
        SceneError: Everything that is wrong with the file.

    Example:
        >>> import tempfile
        >>> from worldline import msd
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     written = msd.World(name="empty").to_file(directory + "/scene.json")
        ...     msd.from_file(directory + "/scene.json").name
        'empty'
    """
    options = _options(**keywords)
    file = Path(_path(path, "path"))
    with slow(f"loading {file.name}"), without_collection():
        data = _contents(file, options.limits)
        format = detect(data, file)
        if format == "msgpack":
            return _native(native.from_msgpack, data, str(file), options)
        if format == "msd":
            return _native(native.from_json, data, str(file), options)
        return _foreign(format, _decoded(data, file), file, options)


def _contents(file: Path, limits: Limits) -> bytes:
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode):
            # a pipe or a device may never end
            raise errors.SceneError(f"{file}: cannot be read: it is no regular file")
        # room for a file that grows, or does not report its size, and no more than that
        most = min(max(status.st_size, _BLOCK), limits.file_bytes) + 1
        with open(file, "rb", buffering=0) as stream:
            data = stream.read(most)
    except (OSError, ValueError) as error:
        if isinstance(error, errors.SceneError):
            raise
        raise errors.unreadable(file, error) from None
    if len(data) > limits.file_bytes:
        size = os.path.getsize(file)
        raise errors.SceneError(f"{file}: given {size} bytes; allowed: {limits.file_bytes}")
    return data


def file_text(path: str | PathLike[str], limits: Limits = LIMITS) -> str:
    """The text of a file, whatever its format."""
    file = Path(path)
    return _decoded(_contents(file, limits), file)


@_reads
def from_str(
    string: str,
    format: str = "mjcf",
    file_path: str | PathLike[str] | None = None,
    **keywords: Unpack[Reading],
) -> World:
    """Loads a scene from text.

    Args:
        string: The text.
        format: One of `mjcf`, `urdf`, `sdf` and `msd`.
        file_path: Relative asset paths start at the directory of this file; without it they have
            to be absolute.
        keywords: `strict`, `validate`, `asset_dirs`, `allow_outside`, `limits`; see `from_file`.

    Raises:
        SceneError: Everything that is wrong with the text.

    Example:
        >>> from worldline import msd
        >>> msd.from_str('{"name": "empty"}', format="msd").name
        'empty'
    """
    options = _options(**keywords)
    if not isinstance(format, str) or format not in TEXT_FORMATS:
        nearest = hint(format, TEXT_FORMATS)
        allowed = ", ".join(TEXT_FORMATS)
        raise errors.UnsupportedFormatError(f"format: given {describe(format)}; allowed: {allowed}{nearest}")
    if not isinstance(string, str):
        raise errors.ArgumentError(f"string: given {describe(string)}; allowed: text")
    file = None if file_path is None else _path(file_path, "file_path")
    if format == "msd":
        try:
            data = string.encode()
        except UnicodeEncodeError as error:
            raise errors.SceneError(f"not JSON: {error}") from None
        with slow("loading a scene"):
            return _native(native.from_json, data, file, options)
    with slow("loading a scene"):
        return _foreign(format, string, None if file is None else Path(file), options)


@_reads
def from_msgpack(
    data: bytes, file_path: str | PathLike[str] | None = None, **keywords: Unpack[Reading]
) -> World:
    """Loads a scene from MSD msgpack; the quick form for scenes with meshes in them.

    Args:
        data: The bytes.
        file_path: Relative asset paths start at the directory of this file.
        keywords: `strict`, `validate`, `asset_dirs`, `allow_outside`, `limits`; see `from_file`.

    Raises:
        SceneError: Everything that is wrong with the bytes.

    Example:
        >>> from worldline import msd
        >>> msd.from_msgpack(msd.World(name="empty").to_msgpack()).name
        'empty'
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise errors.ArgumentError(f"data: given {describe(data)}; allowed: bytes")
    file = None if file_path is None else _path(file_path, "file_path")
    options = _options(**keywords)
    with slow("loading a scene"):
        return _native(native.from_msgpack, bytes(data), file, options)


def _decoded(data: bytes, file: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # an XML declaration may name another encoding, which only its reader understands
        return data.decode("latin-1")


def _native(read: Any, data: bytes, file: str | None, options: ReadOptions) -> World:
    world, source = read(data, file=file, strict=options.strict is True, limits=options.limits)
    if file is not None:
        world.source_path = os.path.abspath(file)
    policy = PathPolicy.of(None if file is None else Path(file), options)
    for problem in check_assets(world.assets, policy):
        # not through `source.problem`, which ends the walk of a reader when there are too many
        source.problems.append(problem._replace(file=file))
    return _finish(world, source, file, options)


def _foreign(format: str, text: str, file: Path | None, options: ReadOptions) -> World:
    reader = format_module(format, "read", f"reading {format.upper()}")
    world: World = reader.read(text, file_path=file, options=options)
    if file is not None:
        world.source_path = os.path.abspath(file)
    return _finish(world, Gathering(options.limits), None if file is None else str(file), options)


def _finish(world: World, found: Gathering, file: str | None, options: ReadOptions) -> World:
    """Checks the whole scene, and raises everything that was found."""
    problems = list(found.problems)
    if options.validate:
        broken = [problem.path for problem in problems]
        for problem in examine(world, options.limits).problems:
            # a field that could not be read holds its default, of which nothing is to be said
            if not any(_within(problem.path, path) or _within(path, problem.path) for path in broken):
                problems.append(errors.Problem(problem.path, problem.message, problem.file or file))
    where = f"{file}: " if file else ""
    if problems:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise errors.SceneError(f"{where}not a valid scene: {count}", problems)
    if options.strict:
        world.report.raise_losses(f"{where}strict loading", motion_only=options.strict == "motion")
    return world


def _within(path: str, owner: str) -> bool:
    return path.startswith(owner) and path[len(owner) : len(owner) + 1] in ("", ".", "[")
