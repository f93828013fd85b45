# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""SDF, the format of Gazebo, versions 1.4 to 1.12.

Models float unless they are static or joined to the world. Names within a <world> carry the names of their
models, `model::link`, as in Gazebo; those of a file that is one model do not. Links of one model do not
touch each other unless it says `self_collide`. Frames are kept by name. Inertial units, magnetometers and
lidars are read; other sensors, plugins, lights and the settings of single simulators are reported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.assets.references import AssetReferences
from worldline._src.scene.bodies import Body, BodyKind, Frame, Link
from worldline._src.scene.formats.robot_files import read_file
from worldline._src.scene.formats.sdf.couplings import add_couplers
from worldline._src.scene.formats.sdf.frames import SEPARATOR, FrameEntry, Scope
from worldline._src.scene.formats.sdf.includes import OBJECTS, ScopeBuilder, read_version
from worldline._src.scene.formats.sdf.joints import LinkKey, SdfJoint, read_joint
from worldline._src.scene.formats.sdf.nodes import Node
from worldline._src.scene.formats.sdf.sensors import SensorReader
from worldline._src.scene.formats.sdf.shapes import ShapeReader
from worldline._src.scene.formats.sdf.trees import SdfLink, TreeBuilder, cross_pairs
from worldline._src.scene.formats.xml import Element, Log
from worldline._src.scene.poses import Pose
from worldline._src.scene.world import World

_SIMULATOR: Final = "a setting of one simulator"
_LIGHTS: Final = "lights of the format are not read"
_WORLD_IGNORED: Final = {
    "light": _LIGHTS,
    "plugin": _SIMULATOR,
    "gui": _SIMULATOR,
    "scene": "rendering of one simulator",
    "audio": "sound is not simulated",
    "atmosphere": "the atmosphere is not simulated",
    "spherical_coordinates": "places on Earth are not used",
    "state": "a state is no part of a scene",
    "actor": "animated figures are not supported",
    "road": "roads are not supported",
    "population": "populations of models are not supported",
}
_MODEL_IGNORED: Final = {
    "plugin": _SIMULATOR,
    "gripper": _SIMULATOR,
    "allow_auto_disable": "sleeping is set for the whole scene here",
    "enable_wind": "wind is set for the whole scene here",
}
_LINK_IGNORED: Final = {
    "light": _LIGHTS,
    "plugin": _SIMULATOR,
    "velocity_decay": "give damping to joints instead",
    "enable_wind": "wind is set for the whole scene here",
    "must_be_base_link": "only for a physics engine of the past",
    "projector": "projectors are not supported",
    "audio_source": "sound is not simulated",
    "audio_sink": "sound is not simulated",
    "battery": "batteries are not simulated",
    "particle_emitter": "particles are not simulated",
}
_PARTS: Final = ("link", "joint", "frame", "model", "include", "static", "pose")
_MANY_PAIRS: Final = 2000


def read(source: str, *, file_path: Path | None, options: Any) -> World:
    """The scene of an SDF text.

    Args:
        source: The text.
        file_path: The file it came from; includes and meshes are looked up around it.
        options: See `ReadOptions`.

    Raises:
        SceneError: Everything that is wrong with the file.
    """

    def make(root: Element, policy: PathPolicy, log: Log) -> World:
        return _File(root, policy, log).world

    return read_file(source, file_path, options, "SDF", "sdf", OBJECTS, make)


class _File:
    def __init__(self, root: Element, policy: PathPolicy, log: Log) -> None:
        self.log = log
        self.world = World()
        self.shapes = ShapeReader(self.world, AssetReferences(self.world.assets, policy), log)
        self.sensors = SensorReader(self.world, log)
        self.origins: dict[Scope, Pose] = {}
        self.links: list[SdfLink] = []
        self.joints: list[tuple[SdfJoint, str]] = []
        self.self_collide: dict[str, bool] = {}
        version = read_version(root, log)
        builder = ScopeBuilder(policy, log)
        element = self._top(root)
        self.is_world = element.tag == "world"
        if self.is_world:
            self._settings(Node(element, log))
        scope = builder.build(element, version)
        for inner in scope.walk():
            self._read_scope(inner)
        self.shapes.settle_masks()
        if not log.problems:
            self._assemble(scope)

    def _top(self, root: Element) -> Element:
        """The first world, or the root itself when there are models only."""
        node = Node(root, self.log)
        worlds, models = node.children("world"), node.children("model")
        also = ("include",) if not worlds else ()
        node.finish(ignored={"light": _LIGHTS, "actor": "not supported"}, also=also, attributes=("version",))
        if not worlds and not models and "include" not in node:
            self.log.problem(root, "neither a <world> nor a <model>")
        for extra in worlds[1:]:
            self.log.left_out(extra, "only the first world is read")
        if worlds:
            for extra in models:
                self.log.left_out(extra, "a model beside the world")
            return worlds[0]
        if len(models) == 1:
            self.world.name = models[0].get("name") or ""
        return root

    # the world

    def _settings(self, node: Node) -> None:
        option = self.world.simulate_option
        self.world.name = node.required_attribute("name")
        gravity = node.reals("gravity", 3)
        physics = node.children("physics")
        chosen = next(
            (p for p in physics if p.get("default") in ("1", "true")), physics[0] if physics else None
        )
        for extra in physics:
            if extra is not chosen:
                self.log.left_out(extra, "only one <physics> counts")
        if chosen is not None:
            inner = Node(chosen, self.log)
            if chosen.get("type"):
                self.log.kept(chosen, "attribute 'type': another engine, and the same physics")
            step = inner.real("max_step_size")
            if step is not None and step > 0.0:
                option.timestep = step
            elif step is not None:
                self.log.problem(chosen, f"<max_step_size>: given {step}; allowed: more than 0")
            # in versions 1.4 and 1.5 gravity stood here
            gravity = gravity or inner.reals("gravity", 3)
            kinds = (
                "ode",
                "bullet",
                "simbody",
                "dart",
                "max_contacts",
                "real_time_factor",
                "real_time_update_rate",
            )
            inner.finish(ignored=dict.fromkeys(kinds, _SIMULATOR), attributes=("type", "name", "default"))
        if gravity is None:
            self.log.kept(node.element, "no <gravity>; the format has 9.8 m/s^2")
        option.gravity = gravity or [0.0, 0.0, -9.8]
        magnetic = node.reals("magnetic_field", 3)
        if magnetic is not None:
            option.magnetic = magnetic
            self.sensors.has_field = True
        wind = node.node("wind")
        if wind is not None:
            option.wind = wind.reals("linear_velocity", 3, (0.0, 0.0, 0.0))
            wind.finish()
        node.finish(ignored=_WORLD_IGNORED, also=_PARTS)

    # models

    def _prefix(self, scope: Scope) -> str:
        """What stands before the names of a scope: all models around it, but not the only one of a file."""
        names: list[str] = []
        here = scope
        while here.parent is not None:
            if not here.is_merged:
                names.append(here.name)
            here = here.parent
        names.reverse()
        if not self.is_world and len(here.models) == 1:
            names = names[1:]
        return "".join(name + SEPARATOR for name in names)

    def _read_scope(self, scope: Scope) -> None:
        origin = scope.root_pose()
        self.origins[scope] = origin
        prefix, model = self._prefix(scope), _outermost(scope)
        if scope.parent is not None:
            node = Node(scope.element, self.log)
            if scope.parent.parent is None:
                self.self_collide[model] = node.flag("self_collide", False)
            node.finish(
                ignored=_MODEL_IGNORED,
                also=(*_PARTS, "self_collide"),
                attributes=("name", "canonical_link", "placement_frame"),
            )
        for name, entry in scope.frames.items():
            if entry.kind == "link":
                self._read_link(scope, name, entry, origin, prefix, model)
            elif entry.kind == "joint":
                joint = read_joint(scope, name, entry.element, origin, self.log)
                if joint is not None:
                    self.joints.append((joint, prefix + name))
            elif entry.kind == "frame":
                self._read_frame(scope, name, entry, prefix)

    def _read_link(
        self, scope: Scope, name: str, entry: FrameEntry, origin: Pose, prefix: str, model: str
    ) -> None:
        node = Node(entry.element, self.log)
        node.required_attribute("name")
        link = Link(name=prefix + name)
        link.inertial, density = self.shapes.read_inertial(node)
        self.shapes.read_shapes(node, link, scope, name, moves=not scope.is_static, density=density)
        self.sensors.read(node, link, scope, name)
        if not node.flag("gravity", True):
            link.gravcomp = 1.0
        kinematic = node.flag("kinematic", False)
        if node.flag("self_collide", None) not in (None, self.self_collide.get(model, False)):
            self.log.left_out(node.child("self_collide") or entry.element, "set for whole models only")
        node.finish(ignored=_LINK_IGNORED, also=("pose",))
        pose = origin * scope.pose(name, entry.element)
        key: LinkKey = (scope, name)
        self.links.append(SdfLink(key, entry.element, link, pose, model, scope.is_static, kinematic))

    def _read_frame(self, scope: Scope, name: str, entry: FrameEntry, prefix: str) -> None:
        Node(entry.element, self.log).finish(also=("pose",), attributes=("name", "attached_to"))
        before = len(self.log.problems)
        owner = scope.link_of(name, entry.element)
        pose = self.origins[scope] * scope.pose(name, entry.element)
        if len(self.log.problems) > before:
            return
        made = Frame(name=prefix + name)
        if owner is not None:
            inner, link = owner
            place = inner.root_pose() * inner.pose(link, entry.element)
            pose = place.inverse() * pose
            made.parent_link = self._prefix(inner) + link
        made.position, made.orientation = pose
        self.world.frames.append(made)

    # bodies

    def _assemble(self, scope: Scope) -> None:
        if not self.links:
            self.log.kept(scope.element, "no links at all")
        gearless = [entry for entry in self.joints if entry[0].kind != "gearbox"]
        trees = TreeBuilder(self.world, self.links, gearless, self.log)
        add_couplers(self.world, self.joints, trees.placed, self.log)
        by_model: dict[str, list[Body]] = {}
        for body in self.world.hierarchy.bodies:
            if body.kind is not BodyKind.Static:
                by_model.setdefault(body.multibody or "", []).append(body)
        for model, bodies in by_model.items():
            if self.self_collide.get(model, False):
                continue
            for body in bodies:
                body.link.disable_self_collision = bool(body.link.children)
            pairs = cross_pairs(bodies) if len(bodies) <= _MANY_PAIRS else []
            if len(bodies) > _MANY_PAIRS or len(pairs) > _MANY_PAIRS:
                self.log.approximated(scope.element, f"the separate parts of {model!r} can touch each other")
                continue
            self.world.collision_ignores.link_pairs.extend([a, b] for a, b in pairs)


def _outermost(scope: Scope) -> str:
    while scope.parent is not None and scope.parent.parent is not None:
        scope = scope.parent
    return scope.name
