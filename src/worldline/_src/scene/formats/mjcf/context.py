# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reading context: state shared by all parts of the MJCF reader."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from worldline._src.errors import SceneError, UnreadableFileError
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.actuators import Actuator
from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.formats.mjcf.include import parse_model, read_text
from worldline._src.scene.formats.mjcf.scopes import Names, Reference, Scope, Source
from worldline._src.scene.formats.xml import NO_LAYERS, Attributes, Element, Log
from worldline._src.scene.geometry import MeshInertia
from worldline._src.scene.joints import FreeJoint, Joint
from worldline._src.scene.values import Range
from worldline._src.scene.world import World

_LIMITED: Final = {"true": True, "false": False, "auto": None}
_FEW_SCOPES: Final = 100
NO_PLACE: Final = "has no place in a scene"
_NAMED: Final = ("name", "class")
USER: Final = {"user": "the numbers of a user's own have no place at single objects of a scene"}


class Coordinates(NamedTuple):
    """A joint of the file, in the order in which the file's coordinates come.

    Attributes:
        element: The joint's element.
        scope: The scope it was read in.
        joint: What it became.
        q_count: How many coordinates it has; a quaternion is in them when there are four or seven.
        v_count: How many velocities it has.
    """

    element: Element
    scope: Scope
    joint: Joint | FreeJoint
    q_count: int
    v_count: int


class Input(NamedTuple):
    """A control signal of the file, in the order in which they come.

    Attributes:
        element: The actuator's element.
        scope: The scope it was read in.
        actuator: What it became, None when it was left out.
        activations: How many activations it has in the file.
    """

    element: Element
    scope: Scope
    actuator: Actuator | None
    activations: int


Member = tuple[Element, Scope, Sequence[Reference]]
"""An element that stands beside the tree, a scope that it belongs to, and what it refers to."""


class MeshFacts(NamedTuple):
    """What geoms take over from their mesh.

    Attributes:
        inertia: What its mass fills.
        material: Its material, for geoms without one.
        available: Whether the scene has it.
    """

    inertia: MeshInertia
    material: str | None
    available: bool = True


class Reading:
    """A scene that is being read.

    Attributes:
        log: Problems and notes.
        world: The scene.
        policy: Which files may be read.
        limits: Bounds on the scene.
        names: Names of the scene.
        root: The scope of the main file.
        joints: Joints in the order of the file's coordinates.
        inputs: Control signals in the order of the file's.
        meshes: What is known of each mesh.
        done: Assets that have been read, by file and prefix.
        later: What can only be done once all names are known.
    """

    def __init__(self, source: str, file: Path | None, options: Any) -> None:
        where = f"{file}: " if file is not None else ""
        self.log = Log(f"{where}cannot read the model", options.limits)
        self.limits = options.limits
        self.policy = PathPolicy.of(file, options)
        self.world = World()
        self.names = Names(self.log)
        self.joints: list[Coordinates] = []
        self.inputs: list[Input] = []
        self.meshes: dict[str, MeshFacts] = {}
        self.done: set[tuple[int, str]] = set()
        self.later: list[Callable[[], None]] = []
        self._models: dict[Path, Source] = {}
        root = parse_model(source, file, self.policy, self.log)
        self.root = Scope(Source(root, file, self.log))
        self._file = None if file is None else file.absolute()

    def model(self, element: Element, source: Source) -> Source | None:
        """The model file that an `asset/model` element names, read once; None after noting a problem."""
        reference = Attributes(element, self.log).required_text("file")
        if not reference:
            return None
        if not self._models and self._file is not None:
            self._models[self._file.resolve()] = self.root.source
        try:
            path = self.policy.resolve(reference, base=source.directory)
            known = self._models.get(path)
            if known is None:
                root = parse_model(read_text(path, self.policy), path, self.policy, self.log)
                known = self._models[path] = Source(root, path, self.log)
            return known
        except SceneError as error:
            if not error.problems:
                self.log.problem(element, error.message)
            for problem in error.problems:
                self.log.add(problem if problem.file else element.problem(problem.message))
            return None

    def close(self) -> None:
        """Lets go of the files and of what was put off; the scene is what remains."""
        self.later.clear()
        for source in {id(scope.source): scope.source for scope in self.root.walk()}.values():
            source.root.dismantle()

    def attributes(
        self, element: Element, scope: Scope, childclass: str | None = None, tag: str | None = None
    ) -> Attributes:
        """The attributes of an element over those of its default class."""
        layers = scope.default_class(element, childclass).layers.get(tag or element.tag, NO_LAYERS)
        return Attributes(element, self.log, layers, _NAMED)

    def note_others(self, a: Attributes, known: frozenset[str], ignored: Mapping[str, str]) -> None:
        """Notes the attributes besides those that are read whenever they are given."""
        for holder, name in a.others(known):
            self._unread(holder, name, ignored)

    def finish(self, a: Attributes, ignored: Mapping[str, str] = USER) -> None:
        """Notes the attributes that were not read."""
        for holder, name in a.unread():
            self._unread(holder, name, ignored)

    def _unread(self, holder: Element, name: str, ignored: Mapping[str, str]) -> None:
        # those of another namespace only tools look at
        if not name.startswith("{") and ":" not in name:
            self.log.left_out(holder, f"attribute '{name}': {ignored.get(name, NO_PLACE)}")

    def asset(self, a: Attributes, attribute: str, namespace: str, scope: Scope) -> str | None:
        """The name of an asset that an element refers to, None for none; notes one that is not there."""
        raw = a.text(attribute)
        if not raw:
            return None
        name = scope.asset(raw)
        if self.names.has((namespace,), name):
            return name
        self.names.missing(Reference(a.holder(attribute), attribute, (namespace,), name))
        return None

    def file(self, a: Attributes, attribute: str, directory: str, scope: Scope) -> str | None:
        """The path of an asset as the scene keeps it, None after noting a problem."""
        reference = a.text(attribute)
        if not reference:
            return None
        if scope.compiler.strippath:
            reference = reference.replace("\\", "/").rsplit("/", maxsplit=1)[-1]
        try:
            return self.policy.stored(self._asset(a, reference, directory, scope))
        except UnreadableFileError as error:
            # a scene can be inspected without its meshes; code that needs them raises again
            self.log.left_out(a.element, f"attribute '{attribute}': {error.message}")
            start = scope.source.directory or Path()
            return self.policy.stored(Path(os.path.normpath(start.absolute() / directory / reference)))
        except SceneError as error:
            self.log.problem(a.element, f"attribute '{attribute}': {error.message}")
            return None

    def _asset(self, a: Attributes, reference: str, directory: str, scope: Scope) -> Path:
        """A file beside the model, else beside the included file that names it, where no directory counts."""
        try:
            return self.policy.resolve(reference, base=scope.source.directory, prefix=directory)
        except UnreadableFileError:
            folder = None if a.element.file is None else Path(a.element.file).parent
            if folder is None or folder == scope.source.directory:
                raise
            try:
                return self.policy.resolve(reference, base=folder)
            except UnreadableFileError:
                pass
            raise

    def limits_of(
        self, a: Attributes, flag: str, name: str, scope: Scope, factor: float = 1.0
    ) -> Range | None:
        """A range that limits something, None where it does not.

        A range says by itself whether it limits when the file says so, which is the default.
        """
        if name not in a and flag not in a:
            return None
        ends = a.reals(name, 2, default=(0.0, 0.0), infinite=True) or [0.0, 0.0]
        limited = a.choice(flag, _LIMITED, None)
        if limited is None:
            if not scope.compiler.autolimits and name in a and ends != [0.0, 0.0]:
                message = f"a range without '{flag}' means nothing while autolimits is off"
                a.reject(name, message)
                return None
            limited = ends[0] < ends[1]
            if ends[0] > ends[1]:
                self.log.left_out(
                    a.holder(name), f"attribute '{name}': a range from high to low limits nothing"
                )
        if not limited:
            return None
        if not ends[0] <= ends[1]:
            a.reject(name, f"given {ends[0]:g} to {ends[1]:g}; allowed: the lower end first")
            return None
        return Range(ends[0] * factor, ends[1] * factor)

    def members(self, tag: str, references: Callable[[Element], Sequence[Reference]]) -> list[Member]:
        """What stands in the sections of a tag, with each scope it belongs to, in the order of the scene.

        An element that belongs nowhere because of an undefined name is a problem.
        """
        if not self.root.children:
            return self._members_of_root(tag, references)
        scopes = list(self.root.walk())
        sources = {id(scope.source): scope.source for scope in scopes}
        found: dict[int, list[Member]] = {id(scope): [] for scope in scopes}
        total = 0
        for source in sources.values():
            places = [scope for scope in scopes if scope.source is source]
            for element in source.section(tag):
                wanted = references(element)
                here = [s for s in self._candidates(places, wanted) if self.names.belongs(s, wanted)]
                for scope in here:
                    found[id(scope)].append((element, scope, wanted))
                total += len(here)
                if total > self.limits.elements:
                    self.log.problem(
                        element, f"all replicas together have more than {self.limits.elements} elements"
                    )
                    self.log.raise_any()
                if not here:
                    self._unplaced(element, source, wanted, places)
        return [member for scope in scopes for member in found[id(scope)]]

    def _members_of_root(
        self, tag: str, references: Callable[[Element], Sequence[Reference]]
    ) -> list[Member]:
        """`members` of a file without replicas and attached models, in which everything belongs that can."""
        root = self.root
        found: list[Member] = []
        for element in root.source.section(tag):
            wanted = references(element)
            for reference in wanted:
                name = reference.name if root.is_plain else root.name(reference.name)
                if not self.names.has(reference.namespaces, name):
                    self._unplaced(element, root.source, wanted, [root])
                    break
            else:
                found.append((element, root, wanted))
        return found

    def _candidates(self, places: Sequence[Scope], references: Sequence[Reference]) -> Sequence[Scope]:
        """Scopes of a file in which an element might belong; all of them where that is quick to find out."""
        if len(places) <= _FEW_SCOPES:
            return places
        named = {id(scope) for reference in references for scope in self.names.definers(reference)}
        return [scope for scope in places if id(scope) in named or scope.whole]

    def _unplaced(
        self, element: Element, source: Source, references: Sequence[Reference], scopes: Sequence[Scope]
    ) -> None:
        """Notes why an element came nowhere, where that is a mistake."""
        names = self.names
        missing = [
            r
            for r in references
            if not names.definers(r) and not any(names.find(s, r.namespaces, r.name) for s in scopes[:100])
        ]
        for reference in missing:
            # of an attached model only a part may have come, and what refers to the rest stays away with it
            if source is self.root.source or reference.name not in source.names:
                names.missing(reference)
        if references and not missing and source is self.root.source:
            self.log.problem(element, "it refers to objects that no replica has together")
