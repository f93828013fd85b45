# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Links, the trees they form, and everything that stands directly on the world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import auto
from itertools import chain
from typing import Any, Final, TypeVar

from worldline._src.errors import SceneError
from worldline._src.scene.base import Choice, Parts, Struct, field, optional, part, parts, value
from worldline._src.scene.cameras import Camera, Light
from worldline._src.scene.closures import GroundContact
from worldline._src.scene.containers import ListOf, Nested, OptionalOf, struct_schema
from worldline._src.scene.contexts import Probe, Source, Writer
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.geometry import Geometry, Site
from worldline._src.scene.joints import FreeJoint, Joint
from worldline._src.scene.kinds import FAILED, NON_NEGATIVE, Kind, Real, Rename, describe
from worldline._src.scene.texts import LABEL, Name, Ref
from worldline._src.scene.vectors import QUATERNION, VECTOR3, Array, Numbers, Vector

LEAST_INERTIA = 1e-24
"""Least mass [kg] and moment of inertia [kg m^2] other than zero that a step distinguishes from rounding."""
_ROUNDING = 1e-15
"""Moments that are smaller than this share of the largest are what rounding leaves of none."""


def has_small_moment(moments: Sequence[float]) -> bool:
    """Whether a moment of inertia is positive, not rounding beside others, and too small for a step."""
    if min(moments) >= LEAST_INERTIA:
        return False
    least = _ROUNDING * max(0.0, *moments)
    return any(least < moment < LEAST_INERTIA for moment in moments)


class Inertia(Struct):
    """Mass properties of a link; what is None is computed from its geoms."""

    diag_inertia: Array | None = field(
        default=None,
        converter=OptionalOf(Vector(3)),
        doc="Principal moments about the centre of mass, kg m^2, (3,).",
    )
    mass: float | None = optional(NON_NEGATIVE, "Mass, kg.")
    orientation: Array | None = field(
        default=None,
        converter=OptionalOf(QUATERNION),
        doc="Rotation of the principal axes in the link frame, xyzw, (4,).",
    )
    pos: Array | None = field(
        default=None, converter=OptionalOf(VECTOR3), doc="Centre of mass in the link frame, m, (3,)."
    )
    full_inertia: list[float] | None = field(
        default=None,
        converter=OptionalOf(Numbers(6)),
        doc="xx, yy, zz, xy, xz, yz about the centre of mass, kg m^2; replaces `diag_inertia`.",
    )
    is_checked: bool = field(
        default=True, doc="Refuse moments that no body can have; readers turn it off where a file has such."
    )
    has_own_moments: bool = field(
        default=True,
        doc="False where the moments were derived from the shapes of the link, or assumed without any: a "
        "simulation World derives them again when its shapes or its mass change.",
    )
    has_own_pos: bool = field(
        default=True,
        doc="False where the centre of mass was derived: from the shapes of the link, see `has_own_moments`, "
        "or by a reader for a body without mass.",
    )


_FIRST_COUNT: Final = 1000
"""After so many links, and then after twice as many, a walk looks for one that it met before."""


def _require_distinct(links: Sequence[Link]) -> None:
    if len(set(map(id, links))) < len(links):
        counts = Counter(map(id, links))
        twice = next(link for link in links if counts[id(link)] > 1)
        raise SceneError(f"the same Link object, named {twice.name!r}, is in the tree twice")


Made = TypeVar("Made")


class Children(Kind["Iterable[Link]", "list[Link]"]):
    """The child links of a link. Walks do not recurse into them; see `contexts`."""

    allowed = "a list, each a Link"

    def __init__(self) -> None:
        self.item: Nested[Link] | None = None

    def _item(self) -> Nested[Link]:
        if self.item is None:
            self.item = Nested(Link)
        return self.item

    def __call__(self, value: Iterable[Link]) -> list[Link]:
        return ListOf(self._item())(value)

    def plain(self, value: list[Link], writer: Writer) -> Any:
        return self._each(value, writer, Link._plain)

    @staticmethod
    def _each(value: list[Link], writer: Writer, change: Callable[[Link, Writer], Made]) -> list[Made]:
        """What is made of every link, filled in after the links above."""
        made: list[Made] = []

        def work() -> None:
            for link in value:
                writer.visit(link)
                made.append(change(link, writer))

        writer.later(work)
        return made

    def read(self, raw: Any, source: Source, path: str) -> Any:
        entries: list[Any] = raw
        if not isinstance(raw, list):
            source.reject(path, describe(entries), self.allowed)
            return FAILED
        made: list[Link | None] = []

        def work() -> None:
            source.count(len(entries), path)
            if entries and source.depth > source.limits.link_depth:
                source.problem(path, f"links nested deeper than {source.limits.link_depth}")
                return
            for index, entry in enumerate(entries):
                link = Link._read(entry, source, f"{path}[{index}]")
                made.append(None if link is FAILED else link)

        source.later(work)
        return made

    def copy(self, value: list[Link], writer: Writer) -> list[Link]:
        return self._each(value, writer, Link._copy)

    def check(self, value: Any, probe: Probe, path: str) -> None:
        links: list[Any] = value
        if not isinstance(value, list):
            probe.reject(path, describe(links), self.allowed)
            return

        def work() -> None:
            probe.count(len(links), path)
            for index, link in enumerate(links):
                here = f"{path}[{index}]"
                if not isinstance(link, Link):
                    probe.reject(here, describe(link), "a Link")
                elif fault := probe.fault(link, here):
                    probe.problem(here, fault)
                else:
                    link._check(probe, here)

        probe.later(work)

    def sound(self) -> str:
        return "type(v) is list and not v"

    def identical(self, a: list[Link], b: list[Link]) -> bool:
        # only used for defaults, which have no children
        return not a and not b

    def has_names(self) -> bool:
        return True

    def rename(self, value: list[Link], new: Rename) -> list[Link]:
        # the rename walks over all links itself
        return value

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {"type": "array", "items": struct_schema(Link, definitions)}


class Link(Struct):
    """A rigid body of a tree, with its joints to the parent and everything attached to it.

    Example:
        >>> arm = Link(name="arm", joints=[Joint(name="shoulder", axis=(0, 0, 1))])
        >>> arm.children.append(Link(name="hand", local_translation=(0.4, 0, 0)))
        >>> [link.name for link in arm.walk()]
        ['arm', 'hand']
    """

    cameras: Parts[Camera] = parts(Camera, "Cameras on the link.")
    children: list[Link] = field(default_factory=list, converter=Children(), doc="Child links.")
    disable_self_collision: bool = field(
        default=False, doc="No contact within this link and its descendants; False leaves it to the parent."
    )
    geoms: Parts[Geometry] = parts(Geometry, "Geoms on the link.")
    gravcomp: float = field(default=0.0, doc="Share of its gravity that is cancelled; 1 makes it float.")
    inertial: Inertia = part(Inertia, "Mass properties in the link frame.")
    joints: Parts[Joint] = parts(
        Joint,
        "Joints to the parent, applied in order; none is a weld. A ball joint replaces other rotations.",
    )
    lights: Parts[Light] = parts(Light, "Lights on the link.")
    local_rotation: Array = field(
        default=(0.0, 0.0, 0.0, 1.0), converter=QUATERNION, doc="Rotation in the parent frame, xyzw, (4,)."
    )
    local_translation: Array = field(
        default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="Place in the parent frame, m, (3,)."
    )
    may_fuse: bool = field(
        default=True,
        doc="Whether it may be merged into its parent when it is welded to it; see `fuse_static`.",
    )
    name: str | None = optional(Name("link"), "Name.")
    sites: Parts[Site] = parts(Site, "Sites on the link.")

    def walk(self) -> Iterator[Link]:
        """This link and all below it, parents first, depth first in the order of the lists.

        Raises:
            SceneError: A link is reached twice, so this is no tree.
        """
        # all at once: scenes are walked often, and each step of a generator takes as long as all done here
        found: list[Link] = []
        stack: list[Link] = [self]
        most = _FIRST_COUNT
        while stack:
            link = stack.pop()
            found.append(link)
            if link.children:
                stack += link.children[::-1]
            if len(found) >= most:
                # a link below itself would go on for ever
                _require_distinct(found)
                most *= 2
        _require_distinct(found)
        return iter(found)


class BodyKind(SceneEnum):
    """How a body takes part in dynamics."""

    Dynamic, Static, Kinematic = auto(), auto(), auto()


class BodyRole(SceneEnum):
    """Which object of `worldline.simulation` stands for the body."""

    Auto, RigidBody, Multibody = auto(), auto(), auto()


class Body(Struct):
    """A tree of links whose base is free, jointed to the world, or fixed to it.

    Example:
        >>> body = Body(free=FreeJoint(), link=Link(name="ball"))
        >>> body.link.geoms.append(Geometry(size=(0.1, 0, 0)))
    """

    free: FreeJoint | None = optional(
        Nested(FreeJoint), "Makes the base free; the joints of the base link then mean nothing."
    )
    link: Link = part(Link, "The base link.")
    mocap: bool = field(default=False, doc="Its pose is set from outside; only for a fixed base.")
    kind: Choice[BodyKind] = field(
        default=BodyKind.Dynamic,
        doc="Dynamic, static, or kinematic: moved by its velocity and not by forces.",
    )
    role: Choice[BodyRole] = field(default=BodyRole.Auto, doc="Its object in a simulation.")
    multibody: str | None = optional(
        LABEL, "Name of the multibody; bodies of one name form one multibody with several roots."
    )
    linear_velocity: Array = field(
        default=(0.0, 0.0, 0.0),
        converter=VECTOR3,
        doc="Initial velocity of a free base's origin, world axes, m/s, (3,).",
    )
    angular_velocity: Array = field(
        default=(0.0, 0.0, 0.0),
        converter=VECTOR3,
        doc="Initial angular velocity of a free base, world axes, rad/s, (3,).",
    )
    friction: float = value(NON_NEGATIVE, 1.0, "Dry friction of a rigid body; two use the geometric mean.")
    restitution: float = value(
        Real(minimum=0.0, maximum=1.0),
        0.0,
        "Share of the closing speed that a rigid body returns; two use the larger.",
    )


class Multibody(Struct):
    """What bodies cannot say of the multibody they form: that it exists, and the order of its links."""

    name: str = value(LABEL, "", "Name, the `multibody` of its bodies.")
    links: list[str] = field(
        default_factory=list,
        converter=ListOf(Ref("link")),
        doc="All of its links in the order they were made; none for the order of the trees.",
    )
    ground: GroundContact | None = optional(
        Nested(GroundContact),
        "Ground plane of points that are added from now on; those there are have their own.",
    )


class FrameKind(SceneEnum):
    """Whether a frame may be moved after the start, and whether it is a robot's tool."""

    Fixed, Free, EndEffector = auto(), auto(), auto()


class Frame(Struct):
    """A named coordinate frame with no mass and no shape."""

    name: str | None = optional(Name("frame"), "Name.")
    kind: Choice[FrameKind] = field(
        default=FrameKind.Fixed, doc="Fixed in its parent, or free to be placed during simulation."
    )
    parent_link: str | None = optional(Ref("link"), "Link it moves with; None is the world.")
    parent_frame: str | None = optional(Ref("frame"), "Frame it moves with, instead of a link.")
    position: Array = field(default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="Place in the parent, m, (3,).")
    orientation: Array = field(
        default=(0.0, 0.0, 0.0, 1.0), converter=QUATERNION, doc="Rotation in the parent, xyzw, (4,)."
    )


class Hierarchy(Struct):
    """The bodies of a scene, and what is fixed to the world."""

    bodies: Parts[Body] = parts(Body, "Bodies, each with its base link.")
    cameras: Parts[Camera] = parts(Camera, "Cameras fixed to the world.")
    geoms: Parts[Geometry] = parts(Geometry, "Geoms fixed to the world.")
    lights: Parts[Light] = parts(Light, "Lights fixed to the world.")
    sites: Parts[Site] = parts(Site, "Sites fixed to the world.")

    def links(self) -> Iterator[Link]:
        """All links of all bodies, parents first."""
        return chain.from_iterable([body.link.walk() for body in self.bodies])
