# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""All checks of a whole scene.

One walk looks at every field, applies the rules of each object and collects every name and every
reference; then the references are looked up, and what depends on the whole scene is checked.
All problems come together in one error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from worldline._src.errors import Problem
from worldline._src.scene.bodies import LEAST_INERTIA, BodyKind, Frame, Inertia, Link, has_small_moment
from worldline._src.scene.contexts import Probe, TooManyProblems
from worldline._src.scene.geometry import Geometry, ShapeType
from worldline._src.scene.hints import hint
from worldline._src.scene.kinds import WORLD, describe
from worldline._src.scene.layout import active_joints, sizes
from worldline._src.scene.limits import LIMITS, Limits
from worldline._src.scene.matching import match_kinds
from worldline._src.scene.rules import RULES

if TYPE_CHECKING:
    from worldline._src.scene.world import World

_STATIC_SHAPES = {ShapeType.InfinitePlane, ShapeType.Plane, ShapeType.HField}


def is_ground(geom: Geometry) -> bool:
    """Whether a geom has no volume of its own and must stand still."""
    return geom.shape in _STATIC_SHAPES or (geom.mesh_surface and geom.shape is ShapeType.Mesh)


def validate(world: World, limits: Limits = LIMITS) -> None:
    """Raises a `SceneError` with everything that is wrong with a scene; nothing if it is sound."""
    probe = examine(world, limits)
    probe.raise_any(f"scene {world.name!r} is not valid" if world.name else "scene is not valid")


def examine(world: World, limits: Limits = LIMITS) -> Probe:
    """A probe that has been through the whole scene."""
    probe = Probe(limits, rules=RULES)
    try:
        _walk(world, probe)
    except TooManyProblems:
        pass
    return probe


def _walk(world: World, probe: Probe) -> None:
    world._check(probe, "$")
    probe.finish()
    _references(probe)
    if not probe.problems:
        # these rely on the types of the whole tree
        links = list(world.hierarchy.links())
        _static_shapes(world, links, probe)
        _least_inertia(world, links, probe)
        _frames(world, probe)
        _keyframes(world, links, probe)
        match_kinds(world, probe)


def check_structure(world: World, limits: Limits = LIMITS) -> list[Problem]:
    """Only what cannot be written to a file: wrong types and shapes, NaN, links in cycles."""
    probe = Probe(limits, values=False)
    try:
        world._check(probe, "$")
        probe.finish()
    except TooManyProblems:
        pass
    # names met twice can be written
    return [problem for problem in probe.problems if "already used at" not in problem.message]


def _references(probe: Probe) -> None:
    names = probe.names
    for namespaces, name, path in probe.references:
        if name in names.get(namespaces[0], ()):
            continue
        if any(name in probe.names.get(space, ()) for space in namespaces):
            continue
        if name == WORLD and "link" in namespaces:
            continue
        wanted = " or ".join(namespaces)
        if not name:
            probe.reject(path, "no name", f"the name of a {wanted}")
            continue
        known = [entry for space in namespaces for entry in probe.names.get(space, ())]
        some = f"one of {', '.join(map(repr, known[:8]))}" if 0 < len(known) <= 8 else ""
        allowed = some or ("the scene has none" if not known else f"a name out of {len(known)}")
        nearest = hint(name, known)
        probe.reject(path, f"{describe(name)}, which is no {wanted}", f"{allowed}{nearest}")


def movable_links(world: World) -> Iterator[tuple[Link, bool, str]]:
    """Every link, whether a joint can move it, and its path; static bodies stay, free joint or not."""
    for index, body in enumerate(world.hierarchy.bodies):
        free = body.free is not None and body.kind is not BodyKind.Static
        stack = [(body.link, free, f"$.hierarchy.bodies[{index}].link")]
        while stack:
            link, moves, path = stack.pop()
            moves = moves or bool(active_joints(link, body))
            yield link, moves, path
            stack.extend((child, moves, f"{path}.children[{i}]") for i, child in enumerate(link.children))


def _static_shapes(world: World, links: list[Link], probe: Probe) -> None:
    if not any(is_ground(geom) for link in links for geom in link.geoms):
        return
    for link, moves, path in movable_links(world):
        for index, geom in enumerate(link.geoms if moves else ()):
            if is_ground(geom):
                allowed = "a shape with a volume, since the link can move"
                probe.reject(f"{path}.geoms[{index}].shape", geom.shape.name, allowed)


def _least_inertia(world: World, links: list[Link], probe: Probe) -> None:
    """Given masses and moments of links that move are zero, or large enough for a step."""
    small = {id(link) for link in links if _is_small(link.inertial)}
    for link, moves, path in movable_links(world) if small else ():
        if moves and id(link) in small:
            allowed = f"zero, or at least {LEAST_INERTIA} kg and kg m^2"
            given = f"a smaller mass or moment of inertia of link {link.name!r}"
            probe.reject(f"{path}.inertial", given, allowed)


def _is_small(inertial: Inertia) -> bool:
    """Whether a mass or a moment about an axis is positive and no step could move it."""
    moments = inertial.full_inertia
    if moments is None:
        diagonal: list[float] = [] if inertial.diag_inertia is None else inertial.diag_inertia.tolist()
        moments = diagonal
    return 0.0 < (inertial.mass or 0.0) < LEAST_INERTIA or (
        len(moments) > 0 and has_small_moment(moments[:3])
    )


def _frames(world: World, probe: Probe) -> None:
    frames: dict[str, Frame] = {f.name: f for f in world.frames if f.name is not None}
    sound: set[str | None] = set()
    for index, frame in enumerate(world.frames):
        seen = {frame.name}
        parent = frame.parent_frame
        while parent is not None and parent not in sound:
            if parent in seen:
                given = f"a parent that leads back to frame {parent!r}"
                probe.reject(f"$.frames[{index}].parent_frame", given, "no cycle of frames")
                break
            seen.add(parent)
            parent = frames[parent].parent_frame
        # valid, or reported already
        sound |= seen


def _keyframes(world: World, links: list[Link], probe: Probe) -> None:
    if not world.keyframes:
        return
    coordinates, velocities = sizes(world)
    mocaps = sum([body.mocap for body in world.hierarchy.bodies])
    expected = {
        "dof_pos": (coordinates, "coordinates"),
        "dof_vel": (velocities, "velocities"),
        "dof_force": (velocities, "velocities"),
        "dof_command": (velocities, "velocities"),
        "dof_acceleration": (velocities, "velocities"),
        "dof_target": (coordinates, "coordinates"),
        "link_force": (len(links), "links"),
        "ctrl": (len(world.actuators), "actuators"),
        "mocap_pos": (mocaps, "mocap bodies"),
        "mocap_quat": (mocaps, "mocap bodies"),
    }
    for index, keyframe in enumerate(world.keyframes):
        for name, (count, what) in expected.items():
            given = len(getattr(keyframe, name))
            if given not in (0, count):
                allowed = f"none, or {count} for the {what} of the scene"
                probe.reject(f"$.keyframes[{index}].{name}", f"{given} entries", allowed)
