# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The tree of bodies.

Bodies, frames and replicas nest without bound, so the tree is walked with a stack of what is still to be
read, in the order of the file, and not by functions that call themselves. Frames leave no trace but in the
poses of what they hold; a named one also becomes a frame of the scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final

import numpy as np

from worldline._src.linear_algebra import matmul
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.bodies import Body, Frame, Hierarchy, Inertia, Link
from worldline._src.scene.formats.mjcf.cameras import read_camera, read_light
from worldline._src.scene.formats.mjcf.composition import Composition
from worldline._src.scene.formats.mjcf.context import Coordinates, Reading
from worldline._src.scene.formats.mjcf.geoms import read_geom, read_site
from worldline._src.scene.formats.mjcf.joints import joint_type, read_free, read_joint
from worldline._src.scene.formats.mjcf.orientation import (
    HERE,
    Placement,
    multiply,
    read_placement,
    read_rotation,
)
from worldline._src.scene.formats.mjcf.schema import ORIENTATION
from worldline._src.scene.formats.mjcf.scopes import Scope
from worldline._src.scene.formats.xml import Attributes, Element
from worldline._src.scene.joints import JointType
from worldline._src.scene.mass_properties import has_counted_mass
from worldline._src.scene.options import CompileOptions

_LEFT_OUT: Final = {
    "flexcomp": "deformable objects are not modelled",
    "composite": "composite objects are no longer part of the format",
    "plugin": "plugins have no place in a scene",
}
_BODY_IGNORED: Final = {
    "user": "the numbers of a user's own have no place at single objects of a scene",
    "sleep": "sleeping is a matter of the whole scene",
}


_PLAIN_BODY: Final = {"name", "childclass", "pos", *ORIENTATION}
"""What most bodies have at most."""
_FUSE: Final = {"auto": True, "false": False}
# looking up a member of an enumeration takes Python ten times as long as looking up a name
_FREE, _BALL = JointType.Free, JointType.Ball
_TURNING: Final = {JointType.Ball, JointType.Revolute}


class Place(NamedTuple):
    """Where something is read into.

    Attributes:
        holder: The link, or the world.
        body: The body of the tree, None in the world.
        scope: What names mean.
        frame: The frame it is given in, seen from the holder.
        childclass: The default class of the bodies around it.
    """

    holder: Link | Hierarchy
    body: Body | None
    scope: Scope
    frame: Placement
    childclass: str | None


class Tree:
    """The bodies of a scene while they are read."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.log = reading.log
        self.composition = Composition(reading)
        self.stack: list[tuple[Element, Place]] = []
        # positions of bodies before the frames around them, by the id of the link
        self.framed: dict[int, Sequence[float]] = {}

    def read(self) -> None:
        """Reads the `worldbody` sections of the main file, and what they bring in."""
        root = self.reading.root
        sections = root.source.root.all("worldbody")
        if not self.composition.affordable(sections, root.source):
            return
        place = Place(self.reading.world.hierarchy, None, root, HERE, None)
        for section in reversed(sections):
            self._push(section, place)
        while self.stack:
            element, place = self.stack.pop()
            self._read(element, place)
        self._place_massless(self.reading.world.compile_options)

    def _place_massless(self, options: CompileOptions) -> None:
        """Place the inertial frames of bodies without mass as compiled models have them.

        They are as far from the body's origin as that is from the origin of the parent, or of the <frame>
        around it. There lies the mass that a bound gives, and there constraint rows look at the inertia of
        what carries the body.
        """
        for link in self.reading.world.hierarchy.links():
            if link.inertial.mass is None and not has_counted_mass(link, options):
                link.inertial.pos = self.framed.get(id(link), link.local_translation)
                link.inertial.has_own_pos = False

    def _push(self, element: Element, place: Place) -> None:
        self.stack.extend(zip(element.children[::-1], repeat(place), strict=False))

    def _read(self, element: Element, place: Place) -> None:
        tag = element.tag
        reading, scope, childclass, frame = self.reading, place.scope, place.childclass, place.frame
        holder = place.holder
        if tag == "geom":
            geom = read_geom(reading, element, scope, childclass, frame)
            if geom is not None:
                holder.geoms.append(geom)
        elif tag == "body":
            self._body(element, place)
        elif tag in ("joint", "freejoint"):
            self._joint(element, place)
        elif tag == "site":
            holder.sites.append(read_site(reading, element, scope, childclass, frame))
        elif tag == "inertial":
            self._inertial(element, place)
        elif tag == "frame":
            self._frame(element, place)
        elif tag == "camera":
            holder.cameras.append(read_camera(reading, element, scope, childclass, frame))
        elif tag == "light":
            light = read_light(reading, element, scope, childclass, frame)
            if light is not None:
                holder.lights.append(light)
        elif tag == "replicate":
            for inner, offset in reversed(self.composition.replicas(element, scope)):
                self._push(element, place._replace(scope=inner, frame=frame.then(offset)))
        elif tag == "attach":
            self._attach(element, place)
        elif tag in _LEFT_OUT:
            self.log.left_out(element, _LEFT_OUT[tag])

    def _body(self, element: Element, place: Place) -> None:
        a = Attributes(element, self.log)
        scope = place.scope
        own = read_placement(a, scope.compiler)
        position, rotation = place.frame.then(own)
        link = Link(
            name=self.reading.names.own(scope, element, "link"),
            local_translation=position,
            local_rotation=rotation,
        )
        if place.frame is not HERE:
            self.framed[id(link)] = own.position
        mocap = False
        is_plain = element.attributes.keys() <= _PLAIN_BODY
        if not is_plain:
            a.mark("name", "simple")
            link.__dict__["gravcomp"] = a.real("gravcomp", 0.0)
            link.__dict__["may_fuse"] = a.choice("fuse", _FUSE, True)
            mocap = a.flag("mocap", False)
        body = place.body
        if isinstance(place.holder, Hierarchy):
            body = Body(link=link, mocap=mocap)
            place.holder.bodies.append(body)
        else:
            place.holder.children.append(link)
            if mocap:
                a.reject("mocap", "given for a body inside another; allowed: only for those of the world")
        childclass = a.text("childclass")
        if childclass:
            scope.source.defaults.find(childclass, element, "childclass")
        if "inertial" in scope.source.tags and len(element.all("inertial")) > 1:
            self.log.problem(element, "more than one <inertial>")
        if not is_plain:
            self.reading.finish(a, _BODY_IGNORED)
        inner = Place(link, body, scope, HERE, childclass or place.childclass)
        self._push(element, inner)

    def _frame(self, element: Element, place: Place) -> None:
        a = Attributes(element, self.log)
        a.mark("name")
        placement = place.frame.then(read_placement(a, place.scope.compiler))
        childclass = a.text("childclass")
        if childclass:
            place.scope.source.defaults.find(childclass, element, "childclass")
        for name in ("scale", "scaling", "massscale"):
            if a.text(name) is not None:
                self.log.left_out(element, f"attribute '{name}': what a frame holds keeps its size")
        self.reading.finish(a)
        self._keep_frame(element, place, placement)
        self._push(element, place._replace(frame=placement, childclass=childclass or place.childclass))

    def _keep_frame(self, element: Element, place: Place, placement: Placement) -> None:
        if not element.get("name"):
            return
        parent = place.holder.name if isinstance(place.holder, Link) else None
        if isinstance(place.holder, Link) and parent is None:
            self.log.left_out(
                element, "attribute 'name': a frame in a body without a name keeps its contents only"
            )
            return
        name = self.reading.names.own(place.scope, element, "frame")
        position, orientation = placement
        self.reading.world.frames.append(
            Frame(name=name, parent_link=parent, position=position, orientation=orientation)
        )

    def _joint(self, element: Element, place: Place) -> None:
        reading, scope, link, body = self.reading, place.scope, place.holder, place.body
        if not isinstance(link, Link) or body is None:
            self.log.problem(element, "the world cannot have joints")
            return
        if body.mocap and link is body.link:
            self.log.problem(element, "a mocap body cannot have joints")
            return
        a = reading.attributes(element, scope, place.childclass)
        kind = joint_type(a)
        if kind is _FREE:
            if link is not body.link:
                self.log.problem(element, "only bodies of the world can be free")
            elif body.free is not None or link.joints:
                self.log.problem(element, "a free joint beside others; allowed: one free joint alone")
            else:
                body.free = read_free(reading, a, scope)
                reading.joints.append(Coordinates(element, scope, body.free, 7, 6))
            return
        if body.free is not None and link is body.link:
            self.log.problem(element, "a joint beside a free one; allowed: one free joint alone")
            return
        if link.joints and kind in _TURNING:
            before = {joint.type_ for joint in link.joints}
            if _BALL in before or (kind is _BALL and before & _TURNING):
                self.log.problem(element, "a ball joint and another rotation in one body")
                return
        joint = read_joint(reading, a, kind, scope, place.frame)
        link.joints.append(joint)
        q, v = joint.sizes
        reading.joints.append(Coordinates(element, scope, joint, q, v))

    def _inertial(self, element: Element, place: Place) -> None:
        if not isinstance(place.holder, Link):
            self.log.problem(element, "the world cannot have mass")
            return
        a = Attributes(element, self.log)
        compiler, frame = place.scope.compiler, place.frame
        mass, position = a.real("mass", None), a.reals("pos", 3)
        if mass is None or position is None:
            self.log.problem(element, "attributes 'mass' and 'pos' are required")
            return
        rotation = read_rotation(a, compiler)
        moments, full = a.reals("diaginertia", 3), a.reals("fullinertia", 6)
        if mass < 0.0:
            a.reject("mass", f"given {mass:g}; allowed: a mass >= 0")
        if moments is not None and full is not None:
            self.log.problem(element, "given both 'diaginertia' and 'fullinertia'; allowed: one of both")
        if moments is None and full is None:
            # a point, which only a body that cannot turn may be
            moments = [0.0, 0.0, 0.0]
        if full is not None and rotation is not None:
            self.log.problem(element, "given 'fullinertia' and an orientation; allowed: one of both")
        inertial = Inertia(mass=abs(mass), pos=frame.apply(position), diag_inertia=moments)
        if moments is not None:
            inertial.orientation = multiply(frame.rotation, rotation or HERE.rotation)
        elif full is not None:
            inertial.full_inertia = full if frame is HERE else _turned(full, frame)
        place.holder.inertial = inertial
        self.reading.finish(a)

    def _attach(self, element: Element, place: Place) -> None:
        found = self.composition.attached(element, place.scope)
        if found is None:
            return
        scope, target, childclass = found
        inner = Place(place.holder, place.body, scope, place.frame, childclass)
        if target.tag in ("body", "frame"):
            self.stack.append((target, inner))
        else:
            for section in reversed(target.all("worldbody")):
                self._push(section, inner)


def _turned(full: list[float], frame: Placement) -> list[float]:
    """A tensor given in a frame, in the axes of the link."""
    xx, yy, zz, xy, xz, yz = full
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    turned = Placement(rotation=frame.rotation)
    matrix = np.array([turned.apply(axis) for axis in np.eye(3).tolist()]).T
    i = matmul(matrix, tensor, matrix.T)
    return [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]
