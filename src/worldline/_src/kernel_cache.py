# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Where compiled kernels are kept, and under which name.

The compiler's own cache watches only the file a function is in, so it would serve stale code after an
edit to a helper elsewhere, and it goes by the path and the time of that file, so two copies of one
source compile twice. Here a function is kept under a hash of every source its machine code can depend
on: its own file, the files of the names it uses, what those import, and the scalars and value types,
which take part through operators and are always counted. Equal sources share compiled code wherever
they lie; an edit recompiles the stages that can see it and no others.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numba
from numba.core import caching

from worldline._src.progress import say

PACKAGE = "worldline._src"
ALWAYS = ("jit.py", "kernel_cache.py", "scalar", "spatial")
"""Sources every kernel depends on without naming them: flags, and the operators of scalars and values."""

_IMPORT = re.compile(rf"^\s*from {re.escape(PACKAGE)}\.([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")


def cache_root() -> Path:
    """Where compiled code is kept: WORLDLINE_CACHE_DIR, or the user's cache folder."""
    given = os.environ.get("WORLDLINE_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "worldline"


def cache_folder() -> Path:
    """The folder of compiled kernels; one folder in it for each set of sources."""
    return cache_root() / "kernels"


@functools.cache
def cache_usable() -> bool:
    """Whether the cache folder can be written; without it kernels compile anew in every process."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
    except OSError:
        pass
    if os.access(cache_folder(), os.W_OK):
        return True
    say(f"worldline: cannot write {cache_folder()}; kernels compile anew in every process")
    return False


class Sources:
    """The source files of the package below `root`, and what each imports.

    >>> from worldline._src.kernel_cache import SOURCES
    >>> sorted(p.name for p in SOURCES.behind("spatial.vec3") if p.parent.name == "spatial")
    ['vec3.py']
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._imports: dict[Path, dict[str, Path]] = {}
        self._behind: dict[Path, frozenset[Path]] = {}
        self._assigned: dict[Path, dict[str, set[str]]] = {}
        self._text: dict[Path, str] = {}
        self._digests: dict[Path, bytes] = {}

    def path(self, module: str) -> Path | None:
        """The file of a module named below the package, None when there is none."""
        base = self.root.joinpath(*module.split("."))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return path
        return None

    def text(self, path: Path) -> str:
        if path not in self._text:
            self._text[path] = path.read_text()
        return self._text[path]

    def imports(self, path: Path) -> dict[str, Path]:
        """The names a file imports from the package, and the files they come from."""
        known = self._imports.get(path)
        if known is None:
            known = {}
            for module, names in _IMPORT.findall(_COMMENT.sub("", self.text(path))):
                source = self.path(module)
                for item in names.strip("()").split(","):
                    name, _, alias = item.strip().partition(" as ")
                    found = self.path(f"{module}.{name}") or source
                    if name and found is not None:
                        known[alias.strip() or name] = found
            self._imports[path] = known
        return known

    def behind(self, module: str | Path) -> frozenset[Path]:
        """A file and everything it imports from the package, directly or not."""
        start = self.path(module) if isinstance(module, str) else module
        assert start is not None, module
        if start not in self._behind:
            seen = {start}
            left = [start]
            while left:
                for path in self.imports(left.pop()).values():
                    if path not in seen:
                        seen.add(path)
                        left.append(path)
            self._behind[start] = frozenset(seen)
        return self._behind[start]

    @functools.cached_property
    def always(self) -> frozenset[Path]:
        found: set[Path] = set()
        for name in ALWAYS:
            path = self.root / name
            found.update(path.rglob("*.py") if path.is_dir() else [path])
        return frozenset(found)

    def of(self, function: Callable[..., Any]) -> frozenset[Path]:
        """Every source the machine code of `function` can depend on."""
        own = Path(function.__code__.co_filename)
        imports = self.imports(own)
        found = {own} | self.always
        # helpers and constants of the same file are followed by name, so that a file of many stages does
        # not tie all of them to everything one of them uses
        assigned = self.assigned(own)
        left, seen = list(_names(function.__code__)), set()
        while left:
            name = left.pop()
            if name in seen:
                continue
            seen.add(name)
            helper = function.__globals__.get(name)
            helper = getattr(helper, "py_func", helper)
            if name in imports:
                found |= self.behind(imports[name])
            elif getattr(helper, "__module__", None) == function.__module__ and hasattr(helper, "__code__"):
                left += _names(helper.__code__)
            else:
                left += assigned.get(name, ())
        return frozenset(found)

    def assigned(self, path: Path) -> dict[str, set[str]]:
        """The names a file assigns at its top, and the names each is made from."""
        known = self._assigned.get(path)
        if known is None:
            known = {}
            for node in ast.parse(self.text(path)).body:
                if isinstance(node, ast.Assign | ast.AnnAssign):
                    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
                    for name in used:
                        known.setdefault(name, set()).update(used)
            self._assigned[path] = known
        return known

    def fingerprint(self, function: Callable[..., Any]) -> str:
        """A hash of the compiler and of every source `function` depends on."""
        digest = hashlib.sha256(f"{sys.version_info[:2]} {numba.__version__}".encode())
        for each in sorted(self._digest(path) for path in self.of(function)):
            digest.update(each)
        return digest.hexdigest()[:16]

    def _digest(self, path: Path) -> bytes:
        """A hash of one file and of its place in the package."""
        known = self._digests.get(path)
        if known is None:
            inside = path.is_relative_to(self.root)
            label = path.relative_to(self.root).as_posix() if inside else path.name
            known = self._digests[path] = hashlib.sha256(f"{label} {self.text(path)}".encode()).digest()
        return known


def _names(code: CodeType) -> Iterator[str]:
    """Global names a function uses, its inner functions included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


SOURCES = Sources(Path(__file__).parent)


class _ByContent(caching._CacheLocator):  # the compiler's own name for what finds a cache
    """Finds the cache of a function by the content of its sources."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._fingerprint = SOURCES.fingerprint(function)
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(cache_folder() / self._fingerprint)

    def get_source_stamp(self) -> str:
        return self._fingerprint

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _ByContent:
        return cls(py_func)


class _Results(caching.CompileResultCacheImpl):
    _locator_classes = [_ByContent]  # noqa: RUF012 - declared so by the compiler


class KernelCache(caching.FunctionCache):
    """The disk cache of one kernel, in the place of the compiler's own."""

    _impl_class = _Results

    def holds(self, signature: tuple[Any, ...]) -> bool:
        """Whether there is code for these types on disk; not whether it is for this processor."""
        return any(key[0] == signature for key in self._cache_file._load_index())
