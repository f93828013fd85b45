# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What all parts of the MJCF writer share: sections, attributes, names, and notes on what is lost.

The writer is the inverse of the reader. Values are written resolved, without default classes, and those that
are the format's own defaults are left out. Three kinds of notes state what happened to the rest: *left out*
and *approximated* are losses; *kept* says that something is written in other words, so that reading the file
again gives an equivalent scene and not an equal one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from worldline._src.errors import SceneError
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.base import Struct
from worldline._src.scene.bodies import Link
from worldline._src.scene.formats.markup import child, number, numbers, root
from worldline._src.scene.formats.mjcf.orientation import UNIT_SLACK
from worldline._src.scene.formats.writing import file_beside
from worldline._src.scene.poses import Pose
from worldline._src.scene.report import Fate, Report
from worldline._src.scene.values import Range
from worldline._src.scene.vectors import VectorLike
from worldline._src.scene.world import World

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

SECTIONS: Final = (
    "compiler",
    "option",
    "visual",
    "statistic",
    "extension",
    "custom",
    "asset",
    "worldbody",
    "contact",
    "tendon",
    "equality",
    "actuator",
    "sensor",
    "keyframe",
)
NO_PLACE: Final = "MJCF has no place for it"
WITHOUT_EFFECT: Final = "it has no effect here, and is not written"


class Words(dict[str, str]):
    """The attributes of an element, in the order in which they are given; defaults are left out."""

    def text(self, name: str, value: str | None) -> None:
        """A text, unless there is none."""
        if value is not None:
            self[name] = value

    def word(self, name: str, value: Any, words: Mapping[Any, str], default: Any = None) -> None:
        """The word of a value, unless it is the default."""
        if value != default:
            self[name] = words[value]

    def real(self, name: str, value: float, default: float | None = None) -> None:
        """A number, unless it is the default to the last bit."""
        text = number(value)
        if default is None or text != number(default):
            self[name] = text

    def whole(self, name: str, value: int, default: int | None = None) -> None:
        """A whole number, unless it is the default."""
        if value != default:
            self[name] = str(int(value))

    def flag(self, name: str, value: bool, default: bool | None = None) -> None:
        """A switch, unless it is the default."""
        if value != default:
            self[name] = "true" if value else "false"

    def reals(
        self,
        name: str,
        values: Iterable[float],
        default: Sequence[float] | None = None,
        *,
        short: bool = False,
    ) -> None:
        """Numbers, unless they are the default; short ones end where only defaults follow."""
        texts = [number(value) for value in values]
        usual = [] if default is None else [number(value) for value in default]
        if default is not None and texts == usual:
            return
        while short and len(texts) > 1 and texts[-1:] == usual[len(texts) - 1 : len(texts)]:
            texts.pop()
        self[name] = " ".join(texts)

    def pose(self, position: Iterable[float], rotation: Sequence[float]) -> None:
        """A place, and a rotation as a quaternion with w first."""
        self.reals("pos", position, (0.0, 0.0, 0.0))
        self.rotation("quat", rotation)

    def rotation(self, name: str, xyzw: Sequence[float]) -> None:
        """A rotation as a quaternion with w first, unless it is none."""
        x, y, z, w = map(float, xyzw)
        self.reals(name, (w, x, y, z), (1.0, 0.0, 0.0, 0.0))


class Column(NamedTuple):
    """A joint of the file that stands for some coordinates of a joint of the scene.

    Attributes:
        name: Its name in the file.
        kind: `hinge`, `slide`, `ball` or `free`.
        q_index: First coordinate of the scene's joint that it shows.
        v_index: First velocity of the scene's joint that it shows.
        factor: From the coordinate of the scene to that of the file, for one that follows another.
        turn: The frame of the scene's joint in its link, where rotations are in axes of the latter.
    """

    name: str | None
    kind: str
    q_index: int
    v_index: int
    factor: float = 1.0
    turn: Pose | None = None

    @property
    def sizes(self) -> tuple[int, int]:
        """How many coordinates and velocities it has."""
        return {"free": (7, 6), "ball": (4, 3)}.get(self.kind, (1, 1))


class Writing:
    """A scene that is being written.

    Attributes:
        world: The scene.
        report: What the format cannot say.
        file_path: The file it is written for, None for text alone.
        files: Takes what has to lie beside the file, None when nothing may.
        bodies: The element of every link by name, and the world's under None.
        columns: What became of every joint of the scene, by the identity of the object, in the file's order.
        joints: The same by name; joints that are not in the file are not in it.
        bases: Names of free joints by the name of their link.
        gone: Objects that did not get into the file, by namespace and name.
        absent: Actuators that did not get into the file, by the identity of the object.
        meshes: The asset that stands for a mesh at a scale and with an inertia.
        library: Meshes of the scene.
        sunk: How far the zero of a height field moved, by name, m.
    """

    def __init__(
        self, world: World, report: Report, file_path: Path | None, files: dict[str, bytes] | None
    ) -> None:
        self.world = world
        self.report = report
        self.file_path = file_path
        self.files = files
        self.bodies: dict[str | None, Element] = {}
        self.columns: dict[int, list[Column]] = {}
        self.joints: dict[str, list[Column]] = {}
        self.bases: dict[str, str] = {}
        self.gone: set[tuple[str, str]] = set()
        self.absent: set[int] = set()
        self.meshes: dict[tuple[Any, ...], str] = {}
        self.sunk: dict[str, float] = {}
        self._sections: dict[str, Element] = {}
        self._noted: set[tuple[str, str]] = set()
        self._names: dict[str, set[str]] = {}
        self._copies: dict[Path, str] = {}
        self.library = AssetLibrary(world)

    def section(self, tag: str) -> Element:
        """A section of the file, made on first use."""
        found = self._sections.get(tag)
        if found is None:
            found = self._sections[tag] = root(tag)
        return found

    def document(self) -> Element:
        """The whole, with the sections in their usual order."""
        name = self.world.name
        top = root("mujoco", {"model": name or None})
        for tag in SECTIONS:
            section = self._sections.get(tag)
            if section is not None and (len(section) or section.attrib):
                top.append(section)
        return top

    # notes

    def _note(self, fate: Fate, path: str, message: str) -> None:
        # a joint of several axes is met several times, and has one note
        if (path, message) not in self._noted:
            self._noted.add((path, message))
            self.report.add(fate, path, message)

    def lost(self, path: str, message: str = NO_PLACE) -> None:
        """Notes what is not in the file."""
        self._note(Fate.LeftOut, path, message)

    def changed(self, path: str, message: str) -> None:
        """Notes what is in the file with another meaning."""
        self._note(Fate.Approximated, path, message)

    def reworded(self, path: str, message: str) -> None:
        """Notes what is in the file in other words."""
        self._note(Fate.Kept, path, message)

    def others(self, part: Struct, path: str, said: Collection[str], message: str = NO_PLACE) -> None:
        """Notes every field of an object that differs from its default and is not written."""
        for name, known in part._fields.items():
            if name not in said and not known.is_default(getattr(part, name)):
                self.lost(f"{path}.{name}", message)

    def idle(self, part: Struct, path: str, names: Iterable[str]) -> None:
        """Notes fields that are not written because they mean nothing where they stand."""
        for name in names:
            if not part._fields[name].is_default(getattr(part, name)):
                self.reworded(f"{path}.{name}", WITHOUT_EFFECT)

    # files that the file refers to

    def asset_file(self, reference: str) -> str:
        """How the file names an asset: by its path, or by that of a copy where its reader may not go."""
        if self.files is None or self.file_path is None:
            return reference
        try:
            found = self.library.policy.resolve(reference)
            if PathPolicy(self.file_path.parent).allows(found):
                return reference
            if found not in self._copies:
                data = self.library.policy.read(found)
                self._copies[found] = file_beside(self.files, self.file_path, found.stem, found.suffix, data)
        except SceneError:
            # missing files are noted elsewhere
            return reference
        return self._copies[found]

    # small things that stand everywhere

    def rotation(self, words: Words, name: str, xyzw: Sequence[float], path: str) -> None:
        """A rotation of the scene, at unit length."""
        words.rotation(name, self.unit(xyzw, path))

    def pose(self, words: Words, position: Iterable[float], xyzw: Sequence[float], path: str) -> None:
        """A place and a rotation of the scene, at unit length; the path is that of the rotation."""
        words.pose(position, self.unit(xyzw, path))

    def unit(self, vector: VectorLike, path: str) -> tuple[float, ...]:
        """A direction or a quaternion as the reader will make it."""
        values = tuple(float(x) for x in vector)
        length = math.hypot(*values)
        if abs(length - 1.0) <= UNIT_SLACK:
            return values
        self.reworded(path, "it is written at unit length")
        largest = max(map(abs, values))
        scaled = [x / largest for x in values]
        length = math.hypot(*scaled)
        return tuple(x / length for x in scaled)

    def whole(
        self, words: Words, name: str, value: int, default: int, path: str, most: int = 2**31 - 1
    ) -> None:
        """A whole number within the 32 bits that the format has for it."""
        near = max(-(2**31), min(most, value))
        if near != value:
            self.changed(path, f"given {value}, which becomes {near}, the nearest that a file can say")
        words.whole(name, near, default)

    def range(self, words: Words, name: str, value: Range | None, path: str, *, absent: bool = False) -> bool:
        """A range that limits; returns whether there is one. Where `absent`, one without bounds says none."""
        if value is None:
            return False
        if not value.is_bounded:
            if (value.lower, value.upper) != (-math.inf, math.inf):
                self.lost(path, "a range has at least one finite end")
            elif not absent:
                self.reworded(path, "a range without bounds is no range")
            return False
        lower, upper = value.lower, value.upper
        if not lower < upper:
            upper = math.nextafter(lower, math.inf)
            self.changed(path, "a range needs some room, so it is one step of the last digit wide")
        words[name] = numbers((lower, upper))
        return True

    # names

    def taken(self, namespace: str) -> set[str]:
        """All names of a kind of objects."""
        found = self._names.get(namespace)
        if found is None:
            found = self._names[namespace] = {
                name for name in _names(self.world, namespace) if name is not None
            }
        return found

    def fresh_name(self, namespace: str, base: str) -> str:
        """A name that nothing of its kind has."""
        taken = self.taken(namespace)
        count, name = 1, base
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        return name

    def add_site(self, link: str | None, pose: Pose, base: str) -> str:
        """A new site on a link, None for the world; returns its name."""
        name = self.fresh_name("site", base)
        words = Words(name=name)
        words.pose(pose.position.tolist(), pose.rotation.tolist())
        child(self.bodies[link], "site", words)
        return name


_HOLDERS: Final = {"site": "sites", "geom": "geoms", "camera": "cameras", "light": "lights"}


def _names(world: World, namespace: str) -> Iterable[str | None]:
    hierarchy = world.hierarchy
    holders: list[Any] = [hierarchy, *hierarchy.links()]
    if namespace in _HOLDERS:
        return [item.name for holder in holders for item in getattr(holder, _HOLDERS[namespace])]
    if namespace == "link":
        return ["world", *(link.name for link in hierarchy.links())]
    if namespace == "joint":
        free = [body.free.name for body in hierarchy.bodies if body.free is not None]
        return [*free, *(joint.name for link in hierarchy.links() for joint in link.joints)]
    assets: dict[str, Mapping[str, Any]] = {"mesh": world.assets.meshes, "texture": world.assets.textures}
    if namespace in assets:
        return list(assets[namespace])
    equalities, tendons, sensors = world.equality_constraint_set, world.tendon_set, world.sensors
    lists: dict[str, list[list[Any]]] = {
        "actuator": [world.actuators],
        "tendon": [tendons.joint_tendons, tendons.spatial_tendons],
        "equality": [equalities.connects, equalities.welds, equalities.joints, equalities.tendons],
        "sensor": [getattr(sensors, name) for name in sensors._fields if name != "order"],
    }
    return [item.name for items in lists[namespace] for item in items]


def is_near(a: float, b: float) -> bool:
    """Whether two numbers are the same but for rounding."""
    return abs(a - b) <= 1e-12 * max(abs(a), abs(b))


def preimage(forward: Callable[[float], float], guess: float, wanted: float) -> float:
    """The number next to a guess that a rounded function takes to the wanted one exactly, if there is any.

    So what was computed from a number of a file, and is computed back, ends at a number that gives it again.
    """
    if forward(guess) == wanted:
        return guess
    low = high = guess
    for _ in range(8):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
        for candidate in (low, high):
            if forward(candidate) == wanted:
                return candidate
    return guess


def paths_of_links(world: World) -> list[tuple[Link, Link | None, int, str]]:
    """Every link with its parent, the index of its body and its path, parents first."""
    found: list[tuple[Link, Link | None, int, str]] = []
    for index, body in enumerate(world.hierarchy.bodies):
        stack: list[tuple[Link, Link | None, str]] = [(body.link, None, f"$.hierarchy.bodies[{index}].link")]
        while stack:
            link, parent, path = stack.pop()
            found.append((link, parent, index, path))
            below = [(c, link, f"{path}.children[{k}]") for k, c in enumerate(link.children)]
            stack.extend(reversed(below))
    return found
