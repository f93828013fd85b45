# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Disk cache of processed assets.

An entry is named by a hash of everything it depends on: the content it was made from, every parameter, and
the version of the code that makes it. So entries are never stale, and moving or renaming a mesh costs
nothing. Files are written beside and renamed into place, so that processes can share the folder; a file that
is cut off, changed or unreadable is made anew. A cache that cannot be written is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from worldline._src.scene.limits import LIMITS

Arrays = dict[str, np.ndarray]

VERSION: Final = 4
"""To be raised whenever code that makes cached results changes what it returns."""

_MAGIC: Final = b"worldline-asset\x01"
_DIGEST: Final = 20
_KINDS: Final = "fiu"


def default_folder() -> Path:
    """`WORLDLINE_CACHE_DIR`, or `worldline` in the user's cache directory; assets have a folder in it."""
    own = os.environ.get("WORLDLINE_CACHE_DIR")
    if own:
        return Path(own) / "assets"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "worldline" / "assets"


def content_key(*parts: Any) -> str:
    """A name for everything in `parts`: bytes, text, numbers, None, arrays, and lists of those."""
    hasher = hashlib.blake2b(digest_size=_DIGEST)
    _feed(hasher, parts)
    return hasher.hexdigest()


def _feed(hasher: Any, part: Any) -> None:
    """Every part goes in with its type and length, so that no two lists of parts look alike."""
    array: np.ndarray = part
    entries: Sequence[Any] = part
    if isinstance(part, np.ndarray):
        _feed(hasher, (array.dtype.str, list(array.shape)))
        hasher.update(np.ascontiguousarray(array).data)
    elif isinstance(part, bytes):
        hasher.update(b"b%d:" % len(part))
        hasher.update(part)
    elif isinstance(part, list | tuple):
        hasher.update(b"l%d:" % len(entries))
        for entry in entries:
            _feed(hasher, entry)
    else:
        text = repr(part).encode()
        hasher.update(b"r%d:" % len(text))
        hasher.update(text)


class AssetCache:
    """Arrays on disk by key.

    Args:
        folder: Where entries are; the user's cache directory unless given.
        limit_bytes: When entries take more than this, the oldest ones go.
    """

    def __init__(self, folder: Path | None = None, limit_bytes: int = 4 * 2**30) -> None:
        self.folder = default_folder() if folder is None else folder
        self.limit_bytes = limit_bytes
        self._trimmed = False

    def fetch(self, kind: str, key: str, make: Callable[[], Mapping[str, np.ndarray]]) -> Arrays:
        """The arrays of an entry, made and stored when there is none."""
        path = self.folder / f"{kind}-{key}-{VERSION}"
        found = self._load(path)
        if found is None:
            found = dict(make())
            self._store(path, found)
        return found

    def _load(self, path: Path) -> Arrays | None:
        try:
            if path.stat().st_size > LIMITS.file_bytes:
                return None
            data = path.read_bytes()
        except OSError:
            return None
        import msgspec

        start = len(_MAGIC) + _DIGEST
        body = memoryview(data)[start:]
        digest = hashlib.blake2b(body, digest_size=_DIGEST).digest()
        if data[:start] != _MAGIC + digest:
            return None
        try:
            entries = msgspec.msgpack.decode(body, type=dict[str, tuple[str, list[int], bytes]])
            return {name: _array(*entry) for name, entry in entries.items()}
        except (msgspec.DecodeError, ValueError, TypeError):
            return None

    def _store(self, path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        import tempfile

        import msgspec

        body = msgspec.msgpack.encode(
            {
                name: (a.dtype.str, list(a.shape), np.ascontiguousarray(a).tobytes())
                for name, a in arrays.items()
            }
        )
        data = _MAGIC + hashlib.blake2b(body, digest_size=_DIGEST).digest() + body
        written = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, written = tempfile.mkstemp(prefix=".", suffix=".part", dir=self.folder)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(written, path)
        except OSError:
            # a full disk or a folder that is not ours: go on without
            if written is not None:
                with contextlib.suppress(OSError):
                    os.unlink(written)
        if not self._trimmed:
            self._trimmed = True
            self.trim()

    def trim(self) -> None:
        """Removes the oldest entries until the rest fits the limit."""
        with contextlib.suppress(OSError):
            entries = [(entry.stat(), entry.path) for entry in os.scandir(self.folder) if entry.is_file()]
            entries.sort(key=lambda entry: entry[0].st_mtime)
            total = sum(status.st_size for status, _ in entries)
            for status, path in entries:
                if total <= self.limit_bytes:
                    return
                os.unlink(path)
                total -= status.st_size


class NoCache(AssetCache):
    """Makes everything anew."""

    def __init__(self) -> None:
        super().__init__(Path(os.devnull), 0)

    def fetch(self, kind: str, key: str, make: Callable[[], Mapping[str, np.ndarray]]) -> Arrays:
        """The arrays, made now."""
        return dict(make())


def _array(dtype: str, shape: list[int], data: bytes) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.kind not in _KINDS:
        raise ValueError(f"an array of {dtype} is not an asset")
    return np.frombuffer(data, kind).reshape(shape)
