# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which format a file has, by its suffix and its content."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Final

from worldline._src.errors import CapabilityError, SceneError, UnsupportedFormatError
from worldline._src.scene.formats.native import JSON_SUFFIXES, MSGPACK_SUFFIXES

XML_ROOTS: Final = {"mujoco": "mjcf", "mujocoinclude": "mjcf", "robot": "urdf", "sdf": "sdf"}
_SUFFIXES: Final = {
    **dict.fromkeys(JSON_SUFFIXES, "msd"),
    **dict.fromkeys(MSGPACK_SUFFIXES, "msgpack"),
    ".mjcf": "mjcf",
    ".urdf": "urdf",
    ".sdf": "sdf",
    ".world": "sdf",
}
# comments, declarations and processing instructions before the root element
_PROLOG: Final = re.compile(r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*>)*", re.DOTALL)
_ROOT: Final = re.compile(r"<([A-Za-z_][\w.:-]*)")


def detect(data: bytes, path: Path | None = None) -> str:
    """The format of a file: `mjcf`, `urdf`, `sdf`, `msd` (JSON) or `msgpack`.

    Content decides where it can; the suffix decides the rest.
    """
    head = data[:65536].removeprefix(b"\xef\xbb\xbf")
    body = head.lstrip()
    suffix = "" if path is None else path.suffix.lower()
    by_suffix = _SUFFIXES.get(suffix)
    if by_suffix == "msgpack":
        return by_suffix
    if body.startswith(b"<"):
        root = _xml_root(body.decode("utf-8", "replace"))
        found = XML_ROOTS.get(root or "", by_suffix if by_suffix != "msd" else None)
        if found is not None:
            return found
        allowed = ", ".join(XML_ROOTS)
        raise SceneError(f"{_where(path)}given XML with the root {root!r}; allowed: {allowed}")
    if body.startswith(b"{") or by_suffix is not None:
        return by_suffix if by_suffix in ("mjcf", "urdf", "sdf") else "msd"
    if head and (0x80 <= head[0] <= 0x8F or head[0] in (0xDE, 0xDF)):
        return "msgpack"
    raise UnsupportedFormatError(
        f"{_where(path)}given a file of unknown format; allowed: MJCF, URDF, SDF, MSD JSON, MSD msgpack"
    )


def _where(path: Path | None) -> str:
    return "" if path is None else f"{path}: "


def _xml_root(text: str) -> str | None:
    prolog = _PROLOG.match(text)
    root = _ROOT.match(text, prolog.end() if prolog else 0)
    return None if root is None else root.group(1)


def format_module(format: str, part: str, doing: str) -> ModuleType:
    """The module `read` or `write` of a format, which is imported when it is first needed."""
    name = f"worldline._src.scene.formats.{format}.{part}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        raise CapabilityError(f"{doing} is not part of this build") from None
