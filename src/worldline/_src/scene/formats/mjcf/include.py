# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reading MJCF files and the files they include.

The children of an included file's root take the place of the `include` element. As in MuJoCo a file is
included at most once, which rules out cycles, and is looked for beside the file that names it, then beside
the main one.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Final

from worldline._src.errors import Problem, SceneError, UnreadableFileError, unreadable
from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.formats import xml
from worldline._src.scene.formats.mjcf.schema import ACTUATOR_DEFAULTS, RULES, SENSORS

ROOT: Final = "mujoco"
_TREE: Final = ("body", "geom", "joint", "freejoint", "site", "camera", "light", "key", "pair", "exclude")
_CONSTRAINTS: Final = ("connect", "weld", "tendon", "fixed", "spatial", "mesh", "material", "texture")
_TEXTS: Final = frozenset(
    "name file model material mesh hfield texture meshdir texturedir assetdir data input output "
    "geom site joint body sep prefix".split()
)
"""Texts that mean something else than a number that is not given."""
_BODY_FRAME: Final = frozenset(("anchor", "relpose", "body2"))
"""What equalities between two bodies have, and those between two sites may not."""
_BLANK: Final = re.compile(r"=\s*(?:\"\s*\"|'\s*')")
OBJECTS: Final = xml.object_tags(*_TREE, *_CONSTRAINTS, *ACTUATOR_DEFAULTS, *SENSORS)


def read_text(path: Path, policy: PathPolicy) -> str:
    """The text of a file that the policy has found."""
    most = min(policy.file_bytes, 4 * xml.SOURCE_CHARS)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            raise SceneError(f"{path}: allowed: an ordinary file of up to {most} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_model(source: str, file: Path | None, policy: PathPolicy, log: xml.Log) -> xml.Element:
    """The root element of a model with everything it includes in place."""
    objects = xml.check_objects(source, OBJECTS, log.limits, file)
    root = xml.parse(source, file_path=file)
    if root.tag != ROOT:
        raise SceneError("", [root.problem(f"the root is <{root.tag[:60]}>; allowed: <{ROOT}>")])
    if "<include" in source:
        _Includes(file, policy, log, objects or len(OBJECTS.findall(source))).expand(root)
    if "<include" in source or _BLANK.search(source):
        _drop_blanks(root, log)
    return root


def _drop_blanks(root: xml.Element, log: xml.Log) -> None:
    """Takes out empty numbers, which MuJoCo reads as not given; refuses empty keywords."""
    stack = [(root, RULES[ROOT])]
    while stack:
        element, rule = stack.pop()
        inside = [(child, rule.inside.get(child.tag)) for child in element.children]
        stack += [(child, below) for child, below in reversed(inside) if below is not None]
        for name, text in list(element.attributes.items()):
            if text.strip() or name not in rule.attributes:
                continue
            is_of_sites = name in _BODY_FRAME and "site1" in element.attributes
            if name in rule.filled or is_of_sites:
                del element.attributes[name]
                log.problem(
                    element, f"attribute '{name}': given {text[:20]!r}; allowed: a text that is not empty"
                )
            elif name not in _TEXTS or element.tag == "rgba" or (element.tag, name) == ("mesh", "file"):
                del element.attributes[name]
                log.kept(element, f"attribute '{name}' is empty and counts as not given")


class _Includes:
    """The includes of one model."""

    def __init__(self, file: Path | None, policy: PathPolicy, log: xml.Log, objects: int) -> None:
        self.objects = objects
        self.policy = policy
        self.log = log
        self.directory = None if file is None else file.parent
        self.seen: set[Path] = set()
        self.elements = 0
        if file is not None:
            self.seen.add(file.resolve())

    def expand(self, root: xml.Element) -> None:
        """Puts included elements in the place of their `include`, however deep they stand."""
        stack = [root]
        while stack:
            element = stack.pop()
            if any(child.tag == "include" for child in element.children):
                element.number_children()
                element.children = self._replaced(element)
            stack.extend(element.children)

    def _replaced(self, element: xml.Element) -> list[xml.Element]:
        """The children of an element without includes; those of included files may include again."""
        done: list[xml.Element] = []
        waiting = element.children[::-1]
        while waiting:
            child = waiting.pop()
            if child.tag == "include":
                waiting.extend(reversed(self._included(child)))
            else:
                done.append(child)
        return done

    def _included(self, element: xml.Element) -> list[xml.Element]:
        a = xml.Attributes(element, self.log)
        reference = a.required_text("file")
        if element.children:
            self.log.problem(element, "<include> cannot have children")
        if not reference:
            return []
        try:
            path = self._find(reference, element)
            if path in self.seen:
                self.log.problem(element, f"file '{reference[:200]}' is included twice, or includes itself")
                return []
            self.seen.add(path)
            text = read_text(path, self.policy)
            self.objects = xml.check_objects(text, OBJECTS, self.log.limits, path, self.objects)
            root = xml.parse(text, file_path=path)
        except SceneError as error:
            for problem in _here(error, element):
                self.log.add(problem)
            return []
        self.elements += sum(1 for _ in root.walk())
        if self.elements > xml.ELEMENTS:
            self.log.problem(element, f"the included files have more than {xml.ELEMENTS} elements together")
            self.log.raise_any()
        if not root.children:
            self.log.problem(element, f"file '{reference[:200]}' includes nothing")
        for name in element.attributes:
            if name != "file":
                self.log.left_out(element, f"attribute '{name[:60]}': an include has none but 'file'")
        return root.children

    def _find(self, reference: str, element: xml.Element) -> Path:
        folder = None if element.file is None else Path(element.file).parent
        try:
            return self.policy.resolve(reference, base=folder)
        except UnreadableFileError:
            if folder == self.directory:
                raise
            return self.policy.resolve(reference, base=self.directory)


def _here(error: SceneError, element: xml.Element) -> list[Problem]:
    """The problems of an error; one without a place stands at the element."""
    if not error.problems:
        return [element.problem(error.message)]
    return [p if p.file is not None else element.problem(p.message) for p in error.problems]
