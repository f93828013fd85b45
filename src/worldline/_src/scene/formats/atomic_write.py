# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Atomic writes: files appear together and complete, or not at all.

Everything is first written beside its place under a private name. Then the files change places one by one,
the old ones stepping aside, the first file of the table last. When anything goes wrong on the way all is put
back as it was, directories that were made included.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from worldline._src.errors import ArgumentError


def path_text(path: str | os.PathLike[str]) -> str:
    """A path as text, refused when no file system can have it."""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"a path must be text or a path object, got {path!r}")
    text = os.fsdecode(path)
    try:
        bad = b"\0" in os.fsencode(text)
    except UnicodeEncodeError:
        bad = True
    if bad:
        raise ArgumentError(f"a path must not contain NUL characters or unpaired surrogates, got {text!r}")
    return text


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Generator[Path, None, None]:
    """Atomic write of one file: the block writes to the private path it is given.

    The private file is in the directory of the target, keeps its suffix, and replaces the target when the
    block ends. When the block raises, a full disk included, it is deleted and the target is as it was. A
    target that is no regular file, such as a pipe, is written directly.
    """
    target = Path(path_text(path))
    if target.exists() and not target.is_file():
        yield target
        return
    handle, name = _private(target, target.suffix)
    os.close(handle)
    try:
        yield Path(name)
        _open_permissions(name)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Writes files by path; directories of all but the first are made where they are missing.

    The first file is the one that refers to the others, so it takes its place last.
    """
    made: list[Path] = []
    ready: list[tuple[Path, Path]] = []
    moved: list[tuple[Path, Path | None]] = []
    try:
        for number, (target, data) in enumerate(files.items()):
            if number > 0:
                _make_directories(target.parent, made)
            ready.append((target, _temporary(target, data)))
        for target, temporary in reversed(ready):
            # one file replaces the old one atomically; several keep the old ones, to roll back
            if len(ready) > 1:
                moved.append((target, _set_aside(target)))
            os.replace(temporary, target)
    except BaseException:
        _undo(made, ready, moved)
        raise
    for _, aside in moved:
        if aside is not None:
            os.unlink(aside)


def _make_directories(directory: Path, made: list[Path]) -> None:
    missing: list[Path] = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for new in reversed(missing):
        new.mkdir()
        made.append(new)


def _temporary(target: Path, data: bytes) -> Path:
    """The data in a file of its own in the directory of the target."""
    handle, temporary = _private(target)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        _open_permissions(temporary)
    except BaseException:
        os.unlink(temporary)
        raise
    return Path(temporary)


def _private(target: Path, suffix: str = "") -> tuple[int, str]:
    """A new file in the directory of the target; an error names the target, not the private file."""
    try:
        return tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name.removesuffix(suffix)}.", suffix=suffix
        )
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None


def _open_permissions(path: str) -> None:
    """mkstemp makes the file private; it gets the permissions that any new file would have."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(path, 0o666 & ~mask)


def _set_aside(target: Path) -> Path | None:
    """Moves a file that is already there out of the way; None when there is none."""
    if not target.exists() or target.is_dir():
        # a directory in the place of a file is for os.replace to complain about
        return None
    handle, aside = _private(target)
    os.close(handle)
    try:
        os.replace(target, aside)
    except BaseException:
        os.unlink(aside)
        raise
    return Path(aside)


def _undo(made: list[Path], ready: list[tuple[Path, Path]], moved: list[tuple[Path, Path | None]]) -> None:
    pending = {temporary for _, temporary in ready if temporary.exists()}
    for target, aside in moved:
        if aside is not None:
            os.replace(aside, target)
        elif all(temporary not in pending for place, temporary in ready if place == target):
            # it took a place where nothing was
            target.unlink(missing_ok=True)
    for temporary in pending:
        temporary.unlink()
    for directory in reversed(made):
        directory.rmdir()
