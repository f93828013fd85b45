# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Path policy: the files that a scene may read, and where they are found.

A scene file is not to be trusted: it may name any path. Includes and assets are therefore only read below the
directory of the file, below the package that directory belongs to, and below the directories the user
named. Links are followed before the check, so neither `..` nor a symbolic link leads out. Nothing is
fetched from a network.

`package://name/rest` and `model://name/rest` are looked up in the user's directories, in the directories
of the environment variables that ROS and Gazebo use, and in the package around the file and its
neighbours; a directory is a package when it says so with a manifest.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from worldline._src.errors import ForbiddenPathError, MissingFileError, SceneError, unreadable
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.limits import LIMITS

MANIFESTS: Final = ("package.xml", "manifest.xml", "model.config")
VARIABLES: Final = {
    "package": ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"),
    "model": ("GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "SDF_PATH"),
}
_LEVELS: Final = 8


class PackageDirectory(NamedTuple):
    """The directory of one package: `package://name/rest` is `directory/rest`."""

    name: str
    directory: Path


class PathPolicy:
    """Finds the files a scene refers to, within the directories it may reach.

    Args:
        base: Directory of the scene file; relative paths start there. None allows absolute paths only.
        asset_dirs: Further directories to look in and to allow.
        allow_outside: Allow every path.
        file_bytes: Size of the largest file that is read.
    """

    def __init__(
        self,
        base: Path | None = None,
        asset_dirs: Sequence[Path | PackageDirectory] = (),
        allow_outside: bool = False,
        file_bytes: int = LIMITS.file_bytes,
    ) -> None:
        # made absolute now, since the working directory may change before it is used
        self._base = None if base is None else base.absolute()
        named = [entry for entry in asset_dirs if isinstance(entry, PackageDirectory)]
        self.packages = {entry.name: _real(entry.directory) for entry in named}
        plain = [entry for entry in asset_dirs if not isinstance(entry, PackageDirectory)]
        self.asset_dirs = (*(_real(directory) for directory in plain), *self.packages.values())
        self.allow_outside = allow_outside
        self.file_bytes = file_bytes

    # only scenes that refer to files need to know where they stand

    @cached_property
    def base(self) -> Path | None:
        """Directory of the scene file."""
        return None if self._base is None else _real(self._base)

    @cached_property
    def package(self) -> Path | None:
        """Directory of the package that the scene file belongs to."""
        return None if self.base is None else _package_root(self.base)

    @cached_property
    def _roots(self) -> list[Path]:
        return [root for root in (self.base, self.package, *self.asset_dirs) if root is not None]

    @classmethod
    def of(cls, file_path: Path | None, options: Any) -> PathPolicy:
        """The policy for a scene file under the options of its reader."""
        base = None if file_path is None else file_path.parent
        return cls(base, options.asset_dirs, options.allow_outside, options.limits.file_bytes)

    def resolve(self, reference: str, *, base: Path | None = None, prefix: str = "") -> Path:
        """The existing file or directory that a scene refers to.

        Args:
            reference: A path, or a `file://`, `package://` or `model://` address.
            base: Where a relative path starts, the directory of the scene file unless given.
            prefix: A directory put before a relative path, such as a mesh directory.

        Raises:
            ForbiddenPathError: It may not be reached, or is no path at all.
            MissingFileError: It is not there.
        """
        if not reference or "\0" in reference or len(reference) > 4096:
            raise ForbiddenPathError(f"given {reference[:60]!r}; allowed: the path of a file")
        scheme, separator, rest = reference.partition("://")
        if separator and scheme.lower() in VARIABLES:
            return self._resolve_package(scheme.lower(), rest, reference)
        if separator and scheme.lower() == "file":
            reference = unquote(rest)
        elif separator and len(scheme) > 1:
            raise ForbiddenPathError(
                f"given {reference[:200]!r}; allowed: a path, file://, package:// or model://; "
                "nothing is fetched from a network"
            )
        return self._resolve_plain(os.path.join(prefix, reference), base)

    def _resolve_plain(self, reference: str, base: Path | None) -> Path:
        start = base if base is not None else self.base
        if os.path.isabs(reference):
            candidates = [Path(reference)]
        else:
            candidates = [root / reference for root in (start, *self.asset_dirs) if root is not None]
            if not candidates:
                raise ForbiddenPathError(
                    f"given the relative path {reference[:200]!r}, but the scene has no file; "
                    "allowed: an absolute path, or give file_path or asset_dirs"
                )
        refused: Path | None = None
        for candidate in candidates:
            found = _existing(candidate)
            if found is None:
                continue
            if self.allows(found):
                return found
            refused = refused or found
        if refused is not None:
            raise ForbiddenPathError(
                f"{reference[:200]!r} lies outside the directories that may be read: {self._names()}; "
                "add its directory to asset_dirs, or set allow_outside"
            )
        tried = ", ".join(str(candidate)[:200] for candidate in candidates[:4])
        raise MissingFileError(f"no file {reference[:200]!r}; looked at {tried}")

    def _resolve_package(self, scheme: str, rest: str, reference: str) -> Path:
        # package:///name/rest is seen in the wild too
        name, _, inner = rest.lstrip("/").partition("/")
        if name in ("", ".", ".."):
            raise ForbiddenPathError(f"given {reference[:200]!r}; allowed: {scheme}://name/path")
        looked: list[str] = []
        for root in self._package_roots(scheme, name):
            looked.append(str(root))
            found = _existing(root / inner)
            if found is None:
                continue
            if not self.allow_outside and not found.is_relative_to(root) and not self.allows(found):
                raise ForbiddenPathError(f"{reference[:200]!r} leads out of {root}")
            return found
        where = f"looked in {', '.join(looked[:4])[:600]}" if looked else f"no {scheme} {name!r} is known"
        raise MissingFileError(
            f"no file {reference[:200]!r}; {where}; add the directory that holds it to asset_dirs"
        )

    def _package_roots(self, scheme: str, name: str) -> Iterator[Path]:
        """Directories that may be the package of that name, the user's first."""
        if name in self.packages:
            yield self.packages[name]
        for directory in self.asset_dirs:
            if (directory / name).is_dir():
                yield _real(directory / name)
            if directory.name == name:
                yield directory
        if self.base is not None:
            for directory in [self.base, *self.base.parents][:_LEVELS]:
                if directory.name == name and _has_manifest(directory, MANIFESTS):
                    yield directory
            if self.package is not None:
                sibling = self.package.parent / name
                if _has_manifest(sibling, MANIFESTS):
                    yield _real(sibling)
        for variable in VARIABLES[scheme]:
            for entry in filter(None, os.environ.get(variable, "").split(os.pathsep)):
                for directory in (Path(entry), Path(entry) / "share"):
                    if (directory / name).is_dir():
                        yield _real(directory / name)

    def allows(self, path: Path) -> bool:
        """Whether a real path may be reached."""
        return self.allow_outside or any(path.is_relative_to(root) for root in self._roots)

    def read(self, path: Path) -> bytes:
        """The content of an ordinary file of bounded size."""
        try:
            # a pipe or a device would block or never end, so look before opening
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise ForbiddenPathError(f"{path}: not an ordinary file")
            if status.st_size > self.file_bytes:
                raise SceneError(f"{path}: given {status.st_size} bytes; allowed: {self.file_bytes}")
            with path.open("rb") as file:
                # one byte more than it says it has: asking for the limit would reserve the limit
                data = file.read(status.st_size + 1)
        except (OSError, ValueError) as error:
            if isinstance(error, SceneError):
                raise
            raise unreadable(path, error) from None
        if len(data) > status.st_size:
            raise SceneError(f"{path}: grew while it was read")
        return data

    def stored(self, path: Path) -> str:
        """How a scene keeps a path: relative to its own file where possible, else absolute."""
        if self.base is not None and path.is_relative_to(self.base):
            return path.relative_to(self.base).as_posix()
        return str(path)

    def _names(self) -> str:
        return ", ".join(str(root) for root in self._roots[:4]) or "none"


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        return Path(os.path.abspath(path))


def _existing(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        # too long a name, a cycle of links, or simply nothing there
        return None


def _has_manifest(directory: Path, names: Sequence[str]) -> bool:
    try:
        return any((directory / name).is_file() for name in names)
    except (OSError, ValueError):
        return False


def _package_root(base: Path) -> Path | None:
    """The nearest directory around the file that says it is a package."""
    for directory in [base, *base.parents][:_LEVELS]:
        if _has_manifest(directory, MANIFESTS):
            return directory
    return None
