# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Where compiled kernels are kept, and under which name.

The compiler's own cache watches only the file a function is in, so it would serve stale code after an
edit to a helper elsewhere, and it goes by the path and the time of that file, so two copies of one
source compile twice. Here a function is kept under a hash of every source its machine code can depend
on: its own file, the files of the names it uses, what those import, and the scalars and value types,
which take part through operators and are always counted. Equal sources share compiled code wherever
they lie; an edit recompiles the stages that can see it and no others.

A file here is the object code of one function, with a checksum. It is loaded without the compiler proper: the
part of it that places object code in memory is enough.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from worldline._src.named_tuple import NamedTuple
from worldline._src.processor import target
from worldline._src.progress import say

PACKAGE = "worldline._src"
ALWAYS = ("compiler.py", "contraction.py", "helpers.py", "kinds.py", "operands.py", "scalar", "spatial")
"""Sources every kernel depends on without naming them: flags, and the operators of scalars and values."""
NEVER = ("jit.py", "spatial/poses.py")
"""What does not change the code of kernels: what finds machine code and calls it, and NumPy on poses."""

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


class Derivation(NamedTuple):
    """Where a function comes from whose text was written by the package itself.

    `text` is all that it does, `modules` have the views it cuts, `functions` are what it calls. It is the
    attribute `derivation` of such a function.
    """

    text: str
    modules: tuple[str, ...]
    functions: tuple[Any, ...]


class Sources:
    """The source files of the package below `root`, and what each imports.

    >>> from worldline._src.kernel_cache import SOURCES
    >>> sorted(p.name for p in SOURCES.behind("spatial.vec3") if p.parent.name == "spatial")
    ['vec3.py']
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._paths: dict[str, Path | None] = {}
        self._imports: dict[Path, dict[str, Path]] = {}
        self._behind: dict[Path, frozenset[Path]] = {}
        self._assigned: dict[Path, dict[str, set[str]]] = {}
        self._text: dict[Path, str] = {}
        self._digests: dict[Path, bytes] = {}
        self._combined: dict[Callable[..., Any], bytes] = {}

    def path(self, module: str) -> Path | None:
        """The file of a module named below the package, None when there is none."""
        if module not in self._paths:
            base = os.path.join(self.root, *module.split("."))
            files = (f"{base}.py", os.path.join(base, "__init__.py"))
            found = next((path for path in files if os.path.isfile(path)), None)
            self._paths[module] = None if found is None else Path(found)
        return self._paths[module]

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
                is_package = source is None or source.name == "__init__.py"
                for item in names.strip("()").split(","):
                    name, _, alias = item.strip().partition(" as ")
                    found = (self.path(f"{module}.{name}") if is_package else None) or source
                    if name and found is not None and found not in self.never:
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
    def never(self) -> frozenset[Path]:
        return frozenset(self.root / name for name in NEVER)

    @functools.cached_property
    def always(self) -> frozenset[Path]:
        found: set[Path] = set()
        for name in ALWAYS:
            path = self.root / name
            found.update(path.rglob("*.py") if path.is_dir() else [path])
        return frozenset(found - self.never)

    def of(self, function: Callable[..., Any]) -> frozenset[Path]:
        """Every source the machine code of `function` can depend on."""
        derivation: Derivation | None = getattr(function, "derivation", None)
        if derivation is None:
            return self._seen_by(function, Path(function.__code__.co_filename))
        found = set(self.always)
        for module in derivation.modules:
            found |= self.behind(self._within(module))
        for part in derivation.functions:
            own = self.path(self._within(part.__module__)) if part.__module__.startswith(PACKAGE) else None
            if isinstance(part, type):
                found |= {own} if own else set()
            else:
                found |= self._seen_by(part, own or Path(part.__code__.co_filename))
        return frozenset(found)

    @staticmethod
    def _within(module: str) -> str:
        """The name of a module below the package."""
        return module.removeprefix(f"{PACKAGE}.")

    def _seen_by(self, function: Callable[..., Any], own: Path) -> frozenset[Path]:
        """A file and the sources of all that a function in it names."""
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
            helper: Any = function.__globals__.get(name)
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
            import ast

            for node in ast.parse(self.text(path)).body:
                if isinstance(node, ast.Assign | ast.AnnAssign):
                    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
                    for name in used:
                        known.setdefault(name, set()).update(used)
            self._assigned[path] = known
        return known

    def fingerprint(self, function: Callable[..., Any]) -> str:
        """A hash of the compiler and of every source `function` depends on."""
        known = getattr(function, "source_key", None) or self._combined.get(function)
        if known is None:
            each = sorted(self.digest(path) for path in self.of(function))
            derivation: Derivation | None = getattr(function, "derivation", None)
            text = b"" if derivation is None else derivation.text.encode()
            known = self._combined[function] = b"".join(each) + text
        compiler = f"{sys.version_info[:2]} {compiler_version()}".encode()
        return hashlib.sha256(compiler + known).hexdigest()[:16]

    def label(self, path: Path) -> str:
        """The name of a file within the package; its last part for files elsewhere."""
        text, folder = str(path), f"{self.root}{os.sep}"
        return text.removeprefix(folder).replace(os.sep, "/") if text.startswith(folder) else path.name

    def digest(self, path: Path) -> bytes:
        """A hash of one file and of its place in the package."""
        known = self._digests.get(path)
        if known is None:
            named = f"{self.label(path)} {self.text(path)}"
            known = self._digests[path] = hashlib.sha256(named.encode()).digest()
        return known


def _names(code: CodeType) -> Iterator[str]:
    """Global names a function uses, its inner functions included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


SOURCES = Sources(Path(__file__).parent)


@functools.cache
def compiler_version() -> str | None:
    """What tells versions of the compiler apart, found without importing it; None without a compiler."""
    versions = []
    for package in ("numba", "llvmlite"):
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            return None
        versions.append(Path(found.origin).with_name("_version.py").read_text())
    return hashlib.sha256("".join(versions).encode()).hexdigest()


@functools.cache
def _target() -> str:
    """The processor that code is compiled for, as a part of file names."""
    name, features = target()
    return f"{name}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"


class Code(NamedTuple):
    """Machine code in memory: address, form of its result, what keeps it alive, where it came from."""

    address: int
    result: str
    owner: Any
    origin: str


def _has_key(function: Callable[..., Any]) -> bool:
    """Whether all is known that code depends on; kernels of a user may see objects that tell nothing."""
    return getattr(function, "source_key", None) != b""


def _file(function: Callable[..., Any], variant: str) -> Path:
    """Where the object code of a function is kept; `variant` says for which types."""
    name = f"{function.__name__}-{function.__code__.co_firstlineno}.{variant}.{_target()}.code"
    return cache_folder() / SOURCES.fingerprint(function) / name


def is_cached(function: Callable[..., Any], variant: str) -> bool:
    """Whether there is object code for this processor on disk."""
    if not _has_key(function):
        return False
    return cache_usable() and compiler_version() is not None and _file(function, variant).is_file()


def save(function: Callable[..., Any], variant: str, image: bytes, symbol: str, result: str) -> None:
    """Keep object code on disk: a line about it, the code, a checksum of both; whole or not at all."""
    if not cache_usable() or not _has_key(function):
        return
    path = _file(function, variant)
    head = json.dumps({"symbol": symbol, "result": result}).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    import tempfile

    made, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(made, "wb") as file:
        file.write(head + image + hashlib.sha256(head + image).digest())
    os.replace(temporary, path)


def read(function: Callable[..., Any], variant: str) -> tuple[bytes, str, str] | None:
    """Object code, symbol and form of the result as they were saved; None without, or when damaged."""
    if not is_cached(function, variant):
        return None
    content = _file(function, variant).read_bytes()
    content, checksum = content[:-32], content[-32:]
    if hashlib.sha256(content).digest() != checksum:
        return None
    head, image = content.split(b"\n", 1)
    about = json.loads(head)
    return image, about["symbol"], about["result"]


def load(function: Callable[..., Any], variant: str) -> Code | None:
    """Machine code from the cache, placed in memory; None when it has to be compiled."""
    kept = read(function, variant)
    if kept is None:
        return None
    image, symbol, result = kept
    address, owner = placed(image, symbol)
    return Code(address, result, owner, "cache")


def placed(image: bytes, symbol: str) -> tuple[int, Any]:
    """The address of a symbol of object code that is placed in memory, and what keeps it there."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    # parts of one object file lie beside each other, since they refer to each other by 32-bit distances
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine, use_lmm=True)
    engine.add_object_file(binding.ObjectFileRef.from_data(image))
    engine.finalize_object()
    return engine.get_function_address(symbol), engine
