# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Scopes of an SDF file, with the models it includes.

An <include> names a file, or the directory of a model whose `model.config` names one. Included files keep the
rules of their own version. Files that include themselves, includes that nest too deep, and files that
grow without bound by including each other several times are refused. A model that is merged brings its links,
joints and frames into the model that includes it, standing in a frame `_merged__name__model__`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from worldline._src.errors import MissingFileError, SceneError, UnreadableFileError
from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.formats.sdf.frames import MODEL, FrameEntry, Scope, Version
from worldline._src.scene.formats.sdf.nodes import Node, read_pose
from worldline._src.scene.formats.xml import ELEMENTS, Element, Log, check_objects, object_tags, parse

NEWEST: Final[Version] = (1, 12)
OLDEST: Final[Version] = (1, 4)
OBJECTS: Final = object_tags("link", "visual", "collision", "joint", "frame", "sensor", "light")
_INCLUDE_DEPTH: Final = 24
_MODEL_DEPTH: Final = 48
_MODELS: Final = 2000
_VERSION: Final = re.compile(r"\s*(\d{1,3})\.(\d{1,3})")


def read_version(root: Element, log: Log) -> Version:
    """The version of a file, which decides what its poses and axes mean."""
    text = root.get("version")
    found = _VERSION.match(text or "")
    if found is None:
        log.problem(root, f"attribute 'version': given {(text or '')[:20]!r}; allowed: a version such as 1.9")
        return NEWEST
    version = (int(found.group(1)), int(found.group(2)))
    if version > NEWEST:
        log.kept(root, f"version {text} is newer than {NEWEST[0]}.{NEWEST[1]}; read by its rules")
    elif version < OLDEST:
        log.approximated(root, f"version {text} is older than {OLDEST[0]}.{OLDEST[1]}; read by its rules")
    return version


class ScopeBuilder:
    """Builds the scopes of a file and of all files it includes.

    Args:
        policy: Which files may be reached.
        log: Where problems and notes go.
    """

    def __init__(self, policy: PathPolicy, log: Log) -> None:
        self.policy = policy
        self.log = log
        self._elements = self._models = 0
        self._objects = 1
        self._files: list[Path] = []
        self._parsed: dict[Path, Element | None] = {}
        self._resolved: dict[tuple[str, Path | None], Path] = {}

    def build(self, element: Element, version: Version) -> Scope:
        """The scope of a <world>, or of the root of a file that has models only."""
        scope = Scope("", element, version, self.log)
        self._fill(scope, element, 0)
        return scope

    def _fill(self, scope: Scope, element: Element, depth: int) -> None:
        node = Node(element, self.log)
        if depth > _MODEL_DEPTH:
            self.log.problem(element, f"models nested deeper than {_MODEL_DEPTH}")
            return
        self._elements += len(element.children)
        self._models += 1
        if self._elements > ELEMENTS or self._models > _MODELS:
            limits = f"{_MODELS} models or {ELEMENTS} elements"
            raise SceneError("", [element.problem(f"more than {limits} with all includes")])
        if not scope.is_world:
            scope.is_static = node.flag("static", False) or (
                scope.parent is not None and scope.parent.is_static
            )
            scope.canonical = scope.canonical or node.attribute("canonical_link")
            scope.placement = scope.placement or node.attribute("placement_frame")
        for child in element.children:
            if child.tag in ("link", "joint", "frame"):
                self._frame(scope, child)
            elif child.tag == "model":
                self._nested(scope, child, scope.version, depth)
            elif child.tag == "include":
                self._include(scope, child, depth)
        if scope.canonical is None:
            scope.canonical = _first_link(scope)

    def _frame(self, scope: Scope, element: Element) -> None:
        node = Node(element, self.log)
        name = node.required_attribute("name")
        attached_to = None
        base = MODEL
        if element.tag == "joint":
            attached_to = node.text("child")
            base = attached_to or MODEL
        elif element.tag == "frame":
            attached_to = node.attribute("attached_to")
            base = attached_to or MODEL
        if name:
            scope.add(name, FrameEntry(element.tag, element, read_pose(node), base, attached_to))

    def _nested(self, scope: Scope, element: Element, version: Version, depth: int) -> None:
        node = Node(element, self.log)
        name = node.required_attribute("name")
        if not name or not scope.add(name, FrameEntry("model", element, read_pose(node), MODEL)):
            return
        model = scope.models[name] = Scope(name, element, version, self.log, scope)
        self._fill(model, element, depth + 1)

    # includes

    def _include(self, scope: Scope, element: Element, depth: int) -> None:
        node = Node(element, self.log)
        uri = node.text("uri")
        name = node.text("name")
        pose = read_pose(node)
        static = node.flag("static", None)
        placement = node.text("placement_frame")
        merge = (node.attribute("merge") or "false").lower() in ("true", "1")
        node.finish(ignored={"plugin": "plugins of a simulator"})
        if uri is None:
            self.log.problem(element, "<uri> is required")
            return
        if merge and scope.is_world:
            self.log.left_out(element, "a model can be merged into a model, not into a world")
            return
        if len(self._files) >= _INCLUDE_DEPTH:
            self.log.problem(element, f"includes nested deeper than {_INCLUDE_DEPTH}")
            return
        found = self._open(uri, element)
        if found is None:
            return
        path, root = found
        model = self._model_in(root, element)
        if model is None:
            return
        self._files.append(path)
        try:
            label = name or model.get("name") or ""
            raw = pose if pose.element is not None else read_pose(Node(model, self.log))
            if merge and label:
                label = f"_merged__{label}__model__"
            if not label or not scope.add(label, FrameEntry("model", element, raw, MODEL)):
                return
            inner = Scope(label, model, read_version(root, self.log), self.log, scope)
            inner.placement = placement
            self._fill(inner, model, depth + 1)
            if static is not None:
                for below in inner.walk():
                    below.is_static = static or below.is_static
            if merge:
                # whether it stands still is up to the model that it becomes a part of
                inner.is_static = scope.is_static
                scope.merge(inner, element)
            scope.models[label] = inner
        finally:
            self._files.pop()

    def _open(self, uri: str, element: Element) -> tuple[Path, Element] | None:
        base = None if element.file is None else Path(element.file).parent
        try:
            path = self._resolved.get((uri, base))
            if path is None:
                path = self.policy.resolve(uri, base=base)
                path = self._resolved[uri, base] = self._config(path) if path.is_dir() else path
            if path in self._files or (
                not self._files and element.file and path == Path(element.file).resolve()
            ):
                self.log.problem(element, f"{path} includes itself")
                return None
            if path not in self._parsed:
                self._parsed[path] = None
                text = self.policy.read(path).decode("utf-8", "replace")
                self._objects = check_objects(text, OBJECTS, self.log.limits, path, self._objects)
                self._parsed[path] = parse(text, file_path=path)
        except UnreadableFileError as missing:
            self.log.left_out(element, str(missing))
            return None
        except SceneError as error:
            for problem in error.problems:
                self.log.add(problem)
            if not error.problems:
                self.log.problem(element, str(error))
            return None
        root = self._parsed[path]
        if root is not None and root.tag != "sdf":
            self.log.left_out(element, f"{path} has the root <{root.tag}>; allowed: <sdf>")
            return None
        return None if root is None else (path, root)

    def _config(self, directory: Path) -> Path:
        """The newest SDF file that the manifest of a model names."""
        manifest = directory / "model.config"
        if not manifest.is_file():
            raise MissingFileError(f"no model.config in {directory}")
        root = parse(self.policy.read(manifest).decode("utf-8", "replace"), file_path=manifest)
        best: tuple[Version, str] = ((0, 0), "")
        for entry in root.all("sdf"):
            found = _VERSION.match(entry.get("version") or "1.0")
            version = (int(found.group(1)), int(found.group(2))) if found else (1, 0)
            if entry.text and version >= best[0]:
                best = (version, entry.text)
        if not best[1]:
            raise MissingFileError(f"{manifest} names no SDF file")
        return self.policy.resolve(best[1], base=directory)

    def _model_in(self, root: Element, user: Element) -> Element | None:
        models = root.all("model")
        if len(models) != 1:
            where = root.file or "the file"
            self.log.left_out(user, f"{where} has {len(models)} models; allowed: one")
            return None
        return models[0]


def _first_link(scope: Scope) -> str | None:
    """The first link of a model, or of the first nested model that has one."""
    for name, entry in scope.frames.items():
        if entry.kind == "link":
            return name
    for name, model in scope.models.items():
        if model.canonical is not None:
            return f"{name}::{model.canonical}"
    return None
