# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Writing SDF: a world of models, or one model alone.

A scene that is one multibody of its own name, with the default options and nothing on the world, is one
<model>. Every other scene is a <world> with gravity, time step and models; what stands on the world itself
is a static model. Named places (sites and frames) are frames, closures are joints that close loops.
Sensors are reported, and so are actuators, tendons, cameras, lights and options of solvers, which the reader
does not take from SDF either.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from worldline._src.errors import Problem, SceneError
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.bodies import Frame
from worldline._src.scene.formats.markup import child, document, root
from worldline._src.scene.formats.mjcf.orientation import between
from worldline._src.scene.formats.parts import INERTIA_OPTIONS, Inertial, Inertias, MeshFiles
from worldline._src.scene.formats.rigid import finite, finites, unit
from worldline._src.scene.formats.robot_files import written
from worldline._src.scene.formats.sdf.frames import SEPARATOR
from worldline._src.scene.formats.sdf.write_loops import End, LoopWriter
from worldline._src.scene.formats.sdf.write_models import UNREAD, Model, ModelWriter, PlacedLink, plan_models
from worldline._src.scene.formats.sdf.write_names import Names, Scope
from worldline._src.scene.formats.sdf.write_shapes import SUFFIXES, ShapeWriter, write_inertial
from worldline._src.scene.formats.sdf.write_values import put, write_pose
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.geometry import Site
from worldline._src.scene.options import SimulateOption
from worldline._src.scene.poses import IDENTITY, Pose
from worldline._src.scene.report import Report
from worldline._src.scene.world import World

if TYPE_CHECKING:
    from lxml.etree import _Element as XmlElement

VERSION: Final = "1.11"
_EARTH: Final = [0.0, 0.0, -9.81]
_OPTIONS: Final = ("gravity", "timestep", "magnetic", "wind", "disable_gravity")
_WORLD_SAID: Final = (
    *("name", "hierarchy", "assets", "couplers", "loop_closures", "joints", "frames", "simulate_option"),
    *("compile_options", "equality_constraint_set", "collision_ignores", "source_path", "sensors"),
)


def write(world: World, *, file_path: Path | None, report: Report, files: dict[str, bytes] | None) -> str:
    """The text of an SDF file for a valid scene; for the arguments see `robot_files.written`."""
    return written(report, "SDF", lambda notes: _File(world, file_path, files, notes).text)


class _File:
    def __init__(
        self, world: World, file_path: Path | None, files: dict[str, bytes] | None, notes: WriteLosses
    ) -> None:
        self.world = world
        self.notes = notes
        _check_names(world)
        library = AssetLibrary(world)
        meshes = MeshFiles(world, library, file_path, files, SUFFIXES, notes)
        shapes = ShapeWriter(world, meshes, notes)
        planned = plan_models(world, notes)
        in_world = not self._is_one_model(planned)
        element = root("sdf", {"version": VERSION})
        self.names = Names(notes, in_world, _names(world))
        self.models = ModelWriter(world, self.names, shapes, Inertias(world, library, notes), notes)
        top = self._world(element) if in_world else Scope(element)
        if world.hierarchy.geoms:
            self._environment(top, shapes)
        for model in planned:
            self._model(top, model)
        loops = LoopWriter(world, top, self.models, self.names, notes)
        loops.write()
        self._frames(top, loops)
        self._sites(top, loops)
        for scope in self.models.scopes.values():
            scope.settle()
        self._rest(shapes)
        self.text = document(element)

    def _is_one_model(self, planned: list[Model]) -> bool:
        """Whether the scene is a single model, which a file without a world describes."""
        world = self.world
        option, plain = world.simulate_option, SimulateOption()
        if len(planned) != 1 or any(getattr(option, name) != getattr(plain, name) for name in _OPTIONS):
            return False
        name = planned[0].name
        named = [link.name for link in world.hierarchy.links() if link.name]
        on_world = [
            frame for frame in world.frames if frame.parent_link is None and frame.parent_frame is None
        ]
        return (
            world.name in ("", name)
            and not any(link.startswith(name + SEPARATOR) for link in named)
            and not (world.hierarchy.geoms or world.hierarchy.sites or on_world)
        )

    # the world

    def _world(self, element: XmlElement) -> Scope:
        world, option = self.world, self.world.simulate_option
        if not world.name:
            self.notes.kept("$.name", "SDF requires a name here, and a new one is made")
        made = child(element, "world", {"name": world.name or "scene"})
        # other readers require the name of an engine, and accept any
        physics = child(made, "physics", {"name": "step", "type": "ignored"})
        put(physics, "max_step_size", finite(option.timestep))
        gravity = _EARTH if option.gravity is None else option.gravity
        if option.disable_gravity:
            self.notes.kept("$.simulate_option.disable_gravity", "gravity is written as zero")
            gravity = [0.0, 0.0, 0.0]
        put(made, "gravity", finites(gravity))
        if option.magnetic != SimulateOption().magnetic:
            put(made, "magnetic_field", finites(option.magnetic))
        if any(option.wind):
            put(child(made, "wind"), "linear_velocity", finites(option.wind))
        return Scope(made)

    def _environment(self, top: Scope, shapes: ShapeWriter) -> None:
        """A static model of everything that stands on the world itself."""
        scope = top.model("environment")
        put(scope.element, "static", "true")
        link = child(scope.element, "link", {"name": scope.claim("link")})
        write_inertial(link, Inertial(0.0, IDENTITY, [0.0] * 6))
        owner = self.names.prefix(scope) + "link"
        shapes.write_shapes(link, self.world.hierarchy.geoms, "$.hierarchy.geoms", owner)
        self.notes.kept("$.hierarchy.geoms", f"what stands on the world is a static model {scope.path[-1]!r}")

    def _model(self, top: Scope, model: Model) -> None:
        scope = top.model(model.name)
        if model.bodies[0][1].multibody not in (None, scope.path[-1]):
            path = f"$.hierarchy.bodies[{model.bodies[0][0]}].multibody"
            message = f"the name {model.name!r} is taken or not allowed; the model is {scope.path[-1]!r}"
            self.notes.approximated(path, message)
        if not self.names.in_world and model.name != self.world.name:
            self.notes.kept("$.name", "the name of a file of one model is that of the model")
        self.models.write(scope, model)

    # named places

    def _frames(self, top: Scope, loops: LoopWriter) -> None:
        for index, frame in enumerate(self.world.frames):
            path = f"$.frames[{index}]"
            if frame.parent_frame is not None:
                self.notes.kept(f"{path}.parent_frame", "written as a frame of the link that it moves with")
            end = loops.on(frame.parent_link, frame.parent_frame, unit(frame.position, frame.orientation))
            self._frame(top, frame, path, end, loops)
            said = ("name", "parent_link", "parent_frame", "position", "orientation")
            self.notes.rest(frame, path, said)

    def _sites(self, top: Scope, loops: LoopWriter) -> None:
        owners: list[tuple[PlacedLink | None, str, list[Site]]]
        owners = [(None, "$.hierarchy", self.world.hierarchy.sites)]
        owners += [(entry, entry.path, entry.link.sites) for entry in self.models.placed]
        for entry, path, sites in owners:
            for index, site in enumerate(sites):
                here = f"{path}.sites[{index}]"
                self.notes.approximated(here, "a site is written as a frame, without shape and look")
                self._frame(top, site, here, End(entry, _site_pose(site)), loops)

    def _frame(self, top: Scope, named: Frame | Site, path: str, end: End, loops: LoopWriter) -> None:
        if end.place is None:
            place, attached = self.names.place(top, named.name, path, "frame", ends=()), None
        else:
            place = self.names.place(loops.scope_of((end,)), named.name, path, "frame", ends=(end.place,))
            attached = end.place.seen_from(place.scope)
        made = child(place.scope.element, "frame", {"name": place.name, "attached_to": attached})
        write_pose(made, end.pose)

    # what is left

    def _rest(self, shapes: ShapeWriter) -> None:
        world, notes = self.world, self.notes
        shapes.note_unused()
        notes.rest(world.hierarchy, "$.hierarchy", ("bodies", "geoms", "sites"), UNREAD)
        notes.rest(world.sensors, "$.sensors", (), "sensors are not written to SDF")
        notes.rest(world.compile_options, "$.compile_options", INERTIA_OPTIONS)
        notes.rest(world.simulate_option, "$.simulate_option", _OPTIONS)
        for index, pair in enumerate(world.collision_ignores.link_pairs):
            if frozenset(pair) not in self.models.apart:
                notes.left_out(f"$.collision_ignores.link_pairs[{index}]")
        notes.rest(world, "$", _WORLD_SAID)


def _site_pose(site: Site) -> Pose:
    placed = None if site.from_to is None else between(site.from_to)
    if placed is None:
        return unit(site.position, site.orientation)
    (position, rotation), _ = placed
    return Pose(np.array(position), np.array(rotation))


def _names(world: World) -> list[str]:
    """The names of everything that needs one in SDF."""
    links = list(world.hierarchy.links())
    named = [*links, *world.frames, *world.hierarchy.sites, *world.loop_closures, *world.couplers]
    for link in links:
        named += [*link.joints, *link.sites]
    named += [owned.joint for owned in world.joints]
    return [part.name for part in named if part.name is not None]


def _check_names(world: World) -> None:
    """Refuses names that the text of an element would not keep."""
    problems: list[Problem] = []

    def look(name: str | None, path: str) -> None:
        if name is not None and name != name.strip():
            message = f"given {name[:80]!r}; allowed in SDF: a name without blanks at its ends"
            problems.append(Problem(path, message))

    for index, body in enumerate(world.hierarchy.bodies):
        look(body.multibody, f"$.hierarchy.bodies[{index}].multibody")
    for number, link in enumerate(world.hierarchy.links()):
        look(link.name, f"name of link {number}")
        for joint in link.joints:
            look(joint.name, f"name of a joint of link {link.name!r}")
    if problems:
        raise SceneError("the scene cannot be written as SDF", problems)
