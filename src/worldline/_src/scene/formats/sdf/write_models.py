# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The bodies of a scene as SDF models.

Bodies of one multibody are one model; a body without one is a model by itself, named after its base link.
A body that never moves, and nothing in it, is a static model. A base that is fixed hangs on the world by a
joint, a free one by none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from worldline._src.scene.base import fields
from worldline._src.scene.bodies import Body, BodyKind, Link
from worldline._src.scene.formats.chains import Step, note_rest, steps
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.parts import Inertial, Inertias
from worldline._src.scene.formats.rigid import product
from worldline._src.scene.formats.sdf.frames import SEPARATOR
from worldline._src.scene.formats.sdf.trees import cross_pairs
from worldline._src.scene.formats.sdf.write_joints import DOF_SAID, is_known, write_joint
from worldline._src.scene.formats.sdf.write_names import Names, Place, Scope
from worldline._src.scene.formats.sdf.write_shapes import ShapeWriter, write_inertial
from worldline._src.scene.formats.sdf.write_values import put, write_pose
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.joints import JointType
from worldline._src.scene.poses import IDENTITY, Pose
from worldline._src.scene.world import World

if TYPE_CHECKING:
    from lxml.etree import _Element as XmlElement

_LINK_SAID: Final = (
    *("name", "children", "geoms", "inertial", "joints", "local_translation", "local_rotation"),
    *("gravcomp", "disable_self_collision", "sites"),
)
UNREAD: Final = "not written, since nothing of the kind is read from SDF"
_NOTHING: Final = Inertial(0.0, IDENTITY, [0.0] * 6)


@dataclass
class PlacedLink:
    """A link of the scene on its way into the file.

    Attributes:
        place: Where it stands in the file.
        X_WL: Its pose in the world with all coordinates at zero.
        root: What it hangs on in the end: the name of the world, or of a floating base.
    """

    link: Link
    path: str
    above: PlacedLink | None
    chain: list[Step]
    X_WL: Pose = IDENTITY
    place: Place | None = None
    middles: list[Place] = field(default_factory=list[Place])
    root: str = ""


@dataclass
class Model:
    """A model on its way into the file."""

    name: str
    bodies: list[tuple[int, Body]]
    is_static: bool
    links: list[PlacedLink] = field(default_factory=list[PlacedLink])


def plan_models(world: World, notes: WriteLosses) -> list[Model]:
    """The models that the bodies of a scene become, without anything of the file yet."""
    found: dict[tuple[object, bool], Model] = {}
    for index, body in enumerate(world.hierarchy.bodies):
        path = f"$.hierarchy.bodies[{index}]"
        links = _links(body, f"{path}.link", notes)
        never = all(step.kind is JointType.Fixed for entry in links for step in entry.chain)
        static = body.kind is BodyKind.Static and never
        key = (body.multibody or id(body), static)
        # a name may say its model
        label = body.multibody or (body.link.name or "").split(SEPARATOR)[0] or f"body_{index}"
        model = found.setdefault(key, Model(label, [], static))
        model.bodies.append((index, body))
        model.links += links
        if not body.multibody:
            notes.kept(f"{path}.multibody", "a body of no multibody becomes a model of its own")
        if body.kind is BodyKind.Static and not static:
            notes.kept(f"{path}.kind", "a static base of what moves is fixed to the world")
        if static:
            _note_static(links, notes)
        for entry in links if not static else ():
            note_rest(entry.chain, DOF_SAID, notes)
        _note_body(body, path, notes)
    return list(found.values())


def _note_body(body: Body, path: str, notes: WriteLosses) -> None:
    kinematic = body.kind is BodyKind.Kinematic
    said = ["free", "link", "multibody"]
    if not kinematic or body.free is not None:
        said.append("kind")
    notes.rest(body, path, said)
    if body.free is not None and body.free.name is not None:
        notes.left_out(f"{path}.free.name", "a floating model has no joint that could have a name")


def _note_static(links: list[PlacedLink], notes: WriteLosses) -> None:
    for entry in links:
        for index, joint in enumerate(entry.link.joints):
            if joint.name is not None:
                notes.left_out(f"{entry.path}.joints[{index}]", "a static model has no joints")
    if any(entry.above is not None and entry.above.above is not None for entry in links):
        notes.kept(links[0].path, "all links of a static model hang on its first one when it is read")


def _links(body: Body, path: str, notes: WriteLosses) -> list[PlacedLink]:
    """All links of a body, parents first, with the joints above them."""
    made: list[PlacedLink] = []
    stack: list[tuple[Link, str, PlacedLink | None]] = [(body.link, path, None)]
    while stack:
        link, here, above = stack.pop()
        entry = PlacedLink(link, here, above, steps(link, body, here, is_known, notes))
        made.append(entry)
        entry.X_WL = IDENTITY if above is None else above.X_WL
        for index, step in enumerate(entry.chain):
            entry.X_WL = product(entry.X_WL, step.X_PL)
            if step.kind is JointType.Free and above is not None and index == 0:
                notes.approximated(step.path, "a link that is free of its parent floats by itself")
        stack.extend(
            reversed([(part, f"{here}.children[{i}]", entry) for i, part in enumerate(link.children)])
        )
    return made


@dataclass
class WrittenAxis:
    """An axis in the file: its joint, which axis of it, and the links on both sides."""

    joint: Place
    step: Step
    index: int
    element: XmlElement
    parent: Place | None
    child: Place


class ModelWriter:
    """Writes models.

    Args:
        world: The scene.
        names: Gives places to links and joints.
        shapes: Writes shapes.
        inertias: Knows mass properties.
        notes: What SDF cannot say.

    Attributes:
        joints: Where every freedom of every named joint of the scene stands: place, step, index of its axis,
            and the element of the axis.
        links: All links that have a name.
        placed: All links.
        scopes: The scopes of the models, by the names they have in the file.
        apart: Pairs of links that do not touch because models do not touch themselves.
    """

    def __init__(
        self, world: World, names: Names, shapes: ShapeWriter, inertias: Inertias, notes: WriteLosses
    ) -> None:
        self.world, self.names, self.notes = world, names, notes
        self.shapes, self.inertias = shapes, inertias
        self.joints: dict[tuple[str, int], WrittenAxis] = {}
        self.links: dict[str, PlacedLink] = {}
        self.placed: list[PlacedLink] = []
        self.scopes: dict[str, Scope] = {}
        self.apart: set[frozenset[str]] = set()

    def write(self, scope: Scope, model: Model) -> None:
        """Fills the scope of a model."""
        base = model.links[0]
        self.scopes[scope.path[0]] = scope
        if model.is_static:
            put(scope.element, "static", "true")
        elif self._touch_each_other(model):
            put(scope.element, "self_collide", "true")
        # the pose of a single body is that of its model
        X_WM = base.chain[0].X_PL if len(model.bodies) == 1 else IDENTITY
        write_pose(scope.element, X_WM)
        bases = {id(body.link): body for _, body in model.bodies}
        for number, entry in enumerate(model.links):
            self._place(scope, entry, f"link_{number}")
        for entry in model.links:
            self._write_link(scope, entry, bases.get(id(entry.link)), X_WM, model)
        if not model.is_static:
            for entry in model.links:
                self._write_joints(scope, entry)

    # links

    def _place(self, scope: Scope, entry: PlacedLink, spare: str) -> None:
        entry.place = self.names.place(scope, entry.link.name, entry.path, "link", spare=spare)
        self.placed.append(entry)
        if entry.link.name is not None:
            self.links[entry.link.name] = entry
        floats = entry.chain[0].kind is JointType.Free
        entry.root = f"{id(entry)}" if floats else "" if entry.above is None else entry.above.root
        inner = entry.place.scope
        for step in entry.chain[:-1]:
            label = f"{entry.place.name}_{(step.name or 'joint').split('::')[-1]}"
            entry.middles.append(Place(inner, inner.claim(label)))
        if len(entry.link.joints) > 1 and entry.middles:
            message = "several joints of a link are written as a chain of joints and links without mass"
            self.notes.kept(f"{entry.path}.joints", message)

    def _write_link(
        self, scope: Scope, entry: PlacedLink, base: Body | None, X_WM: Pose, model: Model
    ) -> None:
        assert entry.place is not None
        places = [*entry.middles, entry.place]
        above = None if entry.above is None else entry.above.place
        X_WP = IDENTITY if entry.above is None else entry.above.X_WL
        for step, place in zip(entry.chain, places, strict=True):
            made = child(place.scope.element, "link", {"name": place.name})
            X_WL = product(X_WP, step.X_PL)
            name = None if above is None else above.seen_from(place.scope)
            if name is not None:
                write_pose(made, step.X_PL, name)
            elif X_WM is step.X_PL:
                write_pose(made, IDENTITY)
            else:
                write_pose(made, product(X_WM.inverse(), X_WL) if X_WM is not IDENTITY else X_WL)
            if place is not entry.place:
                write_inertial(made, _NOTHING)
            else:
                self._fill(made, entry, base)
            above, X_WP = place, X_WL
        self._note_link(entry, model)

    def _fill(self, made: XmlElement, entry: PlacedLink, base: Body | None) -> None:
        assert entry.place is not None
        link = entry.link
        if link.gravcomp == 1.0:
            put(made, "gravity", "false")
        elif link.gravcomp:
            self.notes.left_out(f"{entry.path}.gravcomp", "SDF has gravity or none")
        if base is not None and base.kind is BodyKind.Kinematic and base.free is not None:
            put(made, "kinematic", "true")
        write_inertial(made, self.inertias.of(link, entry.path))
        owner = self.names.read_name(entry.place)
        self.shapes.write_shapes(made, link.geoms, f"{entry.path}.geoms", owner)

    def _note_link(self, entry: PlacedLink, model: Model) -> None:
        self.notes.rest(entry.link, entry.path, (*_LINK_SAID, "cameras", "lights"))
        looks = [name for name in fields(entry.link) if name not in ("cameras", "lights")]
        self.notes.rest(entry.link, entry.path, looks, UNREAD)
        base = entry.above is None
        if entry.link.disable_self_collision and (not base or model.is_static or not entry.link.children):
            self.notes.left_out(f"{entry.path}.disable_self_collision", "SDF has it for whole models only")

    def _touch_each_other(self, model: Model) -> bool:
        """Whether the links of a model may touch each other; SDF says so for all of them or none."""
        bodies = [body for _, body in model.bodies]
        quiet = [body.link.disable_self_collision for body in bodies if body.link.children]
        apart = cross_pairs(bodies)
        ignored = {frozenset(pair) for pair in self.world.collision_ignores.link_pairs}
        if all(quiet) and all(frozenset(pair) in ignored for pair in apart):
            self.apart.update(map(frozenset, apart))
            return False
        for index, body in model.bodies:
            if body.link.disable_self_collision and body.link.children:
                path = f"$.hierarchy.bodies[{index}].link.disable_self_collision"
                self.notes.left_out(
                    path, "other links of its model touch each other, and SDF has one rule for all"
                )
        return bool(quiet or apart)

    # joints

    def _write_joints(self, scope: Scope, entry: PlacedLink) -> None:
        assert entry.place is not None
        above = None if entry.above is None else entry.above.place
        for step, below in zip(entry.chain, [*entry.middles, entry.place], strict=True):
            if step.kind is not JointType.Free:
                ends = (below,) if above is None else (above, below)
                spare = f"{below.name}_joint"
                place = self.names.place(scope, step.name, step.path, "joint", spare=spare, ends=ends)
                axes = write_joint(place, step, above, below)
                name = None if step.joint is None else step.joint.name
                for index, axis in enumerate(axes):
                    if name is not None:
                        written = WrittenAxis(place, step, index, axis, above, below)
                        self.joints[name, step.first_dof + index] = written
            above = below
