# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The tree of bodies, their mass properties, and named frames.

Links nest without bound, so the tree is walked in the order of a list and not by functions that call
themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.linear_algebra import matmul
from worldline._src.scene import mass_properties
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.bodies import Body, BodyKind, Frame, FrameKind, Hierarchy, Inertia, Link
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.mjcf.possible_inertia import (
    FLOOR,
    PossibleInertia,
    is_substantial,
    possible_inertia,
)
from worldline._src.scene.formats.mjcf.write_cameras import write_camera, write_light
from worldline._src.scene.formats.mjcf.write_geoms import write_geom, write_site
from worldline._src.scene.formats.mjcf.write_joints import write_distance_limits, write_free, write_joints
from worldline._src.scene.formats.mjcf.writing import WITHOUT_EFFECT, Words, Writing, paths_of_links
from worldline._src.scene.geometry import MeshInertia, ShapeType
from worldline._src.scene.options import CompileOptions, InertiaSource
from worldline._src.scene.poses import IDENTITY, Pose, normalized

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_BODY_SAID: Final = frozenset(("free", "link", "mocap", "kind"))
_LINK_SAID: Final = frozenset(
    (
        *("name", "local_translation", "local_rotation", "gravcomp", "may_fuse", "inertial", "joints"),
        *("geoms", "sites", "cameras", "lights", "children", "disable_self_collision"),
    )
)
_GROUND: Final = {ShapeType.HField, ShapeType.Plane, ShapeType.InfinitePlane}


def write_bodies(writing: Writing) -> None:
    """The `worldbody` section."""
    world = writing.world
    top = writing.section("worldbody")
    writing.bodies[None] = writing.bodies["world"] = top
    elements: dict[int, Element] = {}
    frames = _frames_by_link(writing)
    library = writing.library
    _write_contents(writing, top, world.hierarchy, "$.hierarchy", frames.get(None, []))
    for link, parent, index, path in paths_of_links(world):
        body = world.hierarchy.bodies[index]
        above = top if parent is None else elements[id(parent)]
        element = child(above, "body")
        elements[id(link)] = element
        if link.name is not None:
            writing.bodies[link.name] = element
        _write_link(writing, element, body, link, path, library)
        _write_contents(writing, element, link, path, frames.get(link.name, []))
        write_distance_limits(writing, above, element, link, path)
        if parent is None:
            writing.others(body, f"$.hierarchy.bodies[{index}]", _BODY_SAID)


def _write_link(
    writing: Writing, element: Element, body: Body, link: Link, path: str, library: AssetLibrary
) -> None:
    base = link is body.link
    words = Words()
    words.text("name", link.name)
    is_mocap = base and _is_mocap(writing, body, path.removesuffix(".link"))
    is_still = base and body.kind is BodyKind.Static
    if base and body.free is not None and not (is_mocap or is_still):
        write_free(writing, element, body, path.removesuffix(".link"))
        for index in range(len(link.joints)):
            writing.reworded(f"{path}.joints[{index}]", f"a free base takes its place: {WITHOUT_EFFECT}")
        moved = None
    elif is_mocap or is_still:
        for index, joint in enumerate(link.joints):
            writing.lost(f"{path}.joints[{index}]", "such a body has no joints")
            writing.columns[id(joint)] = []
        moved = None
    else:
        moved = write_joints(writing, element, body, link, path)
    pose = Pose(link.local_translation, link.local_rotation)
    if moved is not None:
        pose = Pose(pose.position, normalized(pose.rotation)) * moved
    writing.pose(words, pose.position, pose.rotation.tolist(), f"{path}.local_rotation")
    words.real("gravcomp", link.gravcomp, 0.0)
    if is_mocap:
        words["mocap"] = "true"
    if not link.may_fuse:
        words["fuse"] = "false"
    for name, text in words.items():
        element.set(name, text)
    _write_inertia(writing, element, link, path, library)
    if any(writing.columns.get(id(joint)) for joint in _movers(body, link)) and _is_massless(writing, link):
        _raise_mass(writing, element, path)
    writing.others(link, path, _LINK_SAID)


def _is_mocap(writing: Writing, body: Body, path: str) -> bool:
    """Whether a body is written as one whose pose is set from outside."""
    if body.kind is BodyKind.Kinematic and not body.mocap:
        writing.changed(f"{path}.kind", "a kinematic body is written as a mocap body, which has no velocity")
    elif body.kind is BodyKind.Static and body.free is not None:
        writing.changed(f"{path}.kind", "a static body is written as one that is fixed to the world")
        writing.columns[id(body.free)] = []
    elif body.kind is not BodyKind.Dynamic:
        writing.reworded(f"{path}.kind", "a body without joints is fixed anyway")
    if body.kind is BodyKind.Kinematic and body.free is not None:
        writing.columns[id(body.free)] = []
    return body.mocap or body.kind is BodyKind.Kinematic


def _write_contents(
    writing: Writing, element: Element, holder: Link | Hierarchy, path: str, frames: list[tuple[int, Frame]]
) -> None:
    for index, geom in enumerate(holder.geoms):
        write_geom(writing, element, geom, f"{path}.geoms[{index}]")
    for index, site in enumerate(holder.sites):
        write_site(writing, element, site, f"{path}.sites[{index}]")
    for index, camera in enumerate(holder.cameras):
        write_camera(writing, element, camera, f"{path}.cameras[{index}]")
    for index, light in enumerate(holder.lights):
        write_light(writing, element, light, f"{path}.lights[{index}]")
    for index, frame in frames:
        _write_frame(writing, element, frame, f"$.frames[{index}]")


# mass


def _write_inertia(writing: Writing, element: Element, link: Link, path: str, library: AssetLibrary) -> None:
    """Mass properties, where they are given or MuJoCo would find others from the geoms."""
    inertial, options = link.inertial, writing.world.compile_options
    here = f"{path}.inertial"
    if not inertial.is_checked:
        writing.reworded(f"{here}.is_checked", "whether moments are checked is not up to the file")
    is_derived = not inertial.has_own_pos and inertial.mass is not None
    if not inertial.has_own_moments or is_derived:
        writing.reworded(here, "mass properties derived from the shapes are written as numbers")
    said = {"diag_inertia", "mass", "orientation", "pos", "full_inertia", "is_checked"}
    said |= {"has_own_moments", "has_own_pos"}
    writing.others(inertial, here, said)
    moments = inertial.diag_inertia if inertial.full_inertia is None else inertial.full_inertia
    if _is_given(inertial):
        _write_given(writing, element, inertial, here)
        return
    given = [inertial.mass, moments, inertial.orientation]
    is_left_open = inertial.pos is None or _is_placed_by_reader(link, options)
    if all(entry is None for entry in given) and is_left_open:
        if not any(_differs(geom, options) for geom in link.geoms):
            return
    elif options.inertia_source is InertiaSource.Geometry:
        writing.reworded(here, "mass properties come from the geoms")
        return
    try:
        plain = library.link_properties(link)
    except SceneError as error:
        writing.lost(here, f"mass properties cannot be computed: {error.message}")
        return
    if not plain.mass > 0.0:
        if any(entry is not None for entry in given):
            writing.reworded(here, "a link without mass is written without mass properties")
        return
    writing.reworded(here, "what the geoms give is written as numbers")
    moment, rotation = mass_properties.principal_axes(plain.inertia)
    words = Words()
    words.pose(plain.com, rotation.tolist())
    words.setdefault("pos", "0 0 0")
    words.real("mass", plain.mass)
    words.reals("diaginertia", moment)
    child(element, "inertial", words)


def _is_given(inertial: Inertia) -> bool:
    """Whether nothing is left to the geoms."""
    moments = inertial.diag_inertia if inertial.full_inertia is None else inertial.full_inertia
    return inertial.mass is not None and inertial.pos is not None and moments is not None


def _movers(body: Body, link: Link) -> list[Any]:
    free = [body.free] if link is body.link and body.free is not None else []
    return [*free, *link.joints]


def _raise_mass(writing: Writing, element: Element, path: str) -> None:
    """Gives a link that moves the least mass and moments with which MuJoCo reads it."""
    inertial = element.find("inertial")
    if inertial is None:
        inertial = child(element, "inertial", Words(pos="0 0 0", mass="0", diaginertia="0 0 0"))
    mass = float(inertial.get("mass", "0"))
    words = Words()
    words.real("mass", max(mass, FLOOR))
    if inertial.get("fullinertia") is None:
        moments = np.array(inertial.get("diaginertia", "").split(), dtype=np.float64)
        words.reals("diaginertia", np.maximum(moments, FLOOR))
    inertial.attrib.update(words)
    writing.changed(
        f"{path}.inertial",
        "MuJoCo refuses links that move and have no mass or no moments; written with "
        f"{max(mass, FLOOR):g} kg and moments of {FLOOR:g} kg m^2 or more",
    )


def _is_massless(writing: Writing, link: Link) -> bool:
    """Whether a link, with what is welded to it, has no mass or no moments for certain."""
    options = writing.world.compile_options
    if options.bound_mass:
        return False
    stack = [link]
    while stack:
        part = stack.pop()
        if _is_given(part.inertial) and options.inertia_source is not InertiaSource.Geometry:
            heavy = is_substantial(mass_properties.given_properties(part.inertial, mass_properties.NOTHING))
        else:
            heavy = mass_properties.has_counted_mass(part, options)
        if heavy:
            return False
        stack += [below for below in part.children if not below.joints]
    return True


def _is_placed_by_reader(link: Link, options: CompileOptions) -> bool:
    """Whether the inertial frame is where MuJoCo, and the reader, put that of a body without mass."""
    here = np.array_equal(np.asarray(link.inertial.pos), link.local_translation)
    return here and not mass_properties.has_counted_mass(link, options)


def _differs(geom: Any, options: Any) -> bool:
    """Whether MuJoCo would find other mass properties of a geom than the scene means."""
    if geom.mass == 0.0 or (geom.mass is None and geom.physics_material.density == 0.0):
        return False
    if options.inertia_source is InertiaSource.Given or not mass_properties.in_groups(
        geom.visual.group, options.inertia_groups
    ):
        return False
    if geom.shape in _GROUND:
        return geom.mass is not None
    return geom.mesh is not None and geom.mesh_inertia is MeshInertia.Auto


def _write_given(writing: Writing, element: Element, inertial: Inertia, path: str) -> None:
    words = Words()
    words.reals("pos", inertial.pos if inertial.pos is not None else ())
    given = mass_properties.given_properties(inertial, mass_properties.NOTHING)
    possible = possible_inertia(given)
    # moments in their principal axes need no positive eigenvalues, a tensor does
    is_written = possible.is_full or (inertial.full_inertia is None and mass_properties.is_physical(given))
    if not (is_written or writing.world.compile_options.balance_inertia):
        _write_possible(writing, element, inertial, possible, path)
        return
    if inertial.full_inertia is not None:
        if inertial.diag_inertia is not None:
            writing.reworded(f"{path}.diag_inertia", "the full tensor replaces it")
        full = inertial.full_inertia
        if inertial.orientation is not None:
            turn = normalized(inertial.orientation)
            if not np.array_equal(turn, IDENTITY.rotation):
                full = _turned(full, turn)
            writing.reworded(f"{path}.orientation", "the tensor is written in the axes of the link")
        words.real("mass", inertial.mass or 0.0)
        words.reals("fullinertia", full)
    else:
        if inertial.orientation is None:
            writing.reworded(f"{path}.orientation", "none is written as no rotation")
        else:
            writing.rotation(words, "quat", inertial.orientation.tolist(), f"{path}.orientation")
        words.real("mass", inertial.mass or 0.0)
        words.reals("diaginertia", inertial.diag_inertia if inertial.diag_inertia is not None else ())
    child(element, "inertial", words)


def _write_possible(
    writing: Writing, element: Element, inertial: Inertia, possible: PossibleInertia, path: str
) -> None:
    """Moments in their principal axes, and how far they are from those of the scene."""
    mass = inertial.mass or 0.0
    words = Words()
    words.pose(inertial.pos if inertial.pos is not None else np.zeros(3), possible.rotation.tolist())
    words.setdefault("pos", "0 0 0")
    words.real("mass", possible.mass)
    words.reals("diaginertia", possible.moments)
    child(element, "inertial", words)
    if possible.change:
        moments = mass_properties.principal_axes(
            mass_properties.given_properties(inertial, mass_properties.NOTHING).inertia
        ).moments
        was, now = (" ".join(f"{x:.6g}" for x in entry) for entry in (moments, possible.moments))
        writing.changed(
            path,
            f"no body has the moments {was} kg m^2, and MuJoCo refuses them; written as the nearest possible "
            f"ones, {now} kg m^2, {100.0 * possible.change:.3g} % away",
        )
    else:
        writing.reworded(path, "the tensor is written as moments and axes")
    if possible.mass != mass:
        writing.changed(path, f"given moments and a mass of {mass:g} kg; written with {possible.mass:g} kg")


def _turned(full: list[float], rotation: Any) -> list[float]:
    xx, yy, zz, xy, xz, yz = full
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    frame = Pose(np.zeros(3), rotation)
    turn = np.array([frame.turn(axis) for axis in np.eye(3)]).T
    i = matmul(turn, tensor, turn.T)
    return [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]


# frames


def _frames_by_link(writing: Writing) -> dict[str | None, list[tuple[int, Frame]]]:
    """Named frames by the link they stand on, and a note where the file gives them another order."""
    world = writing.world
    found: dict[str | None, list[tuple[int, Frame]]] = {}
    for index, frame in enumerate(world.frames):
        owner, _ = frame_pose(world.frames, frame)
        found.setdefault(None if owner == "world" else owner, []).append((index, frame))
    order = [None, *(link.name for link in world.hierarchy.links() if link.name is not None)]
    numbers = [index for name in order for index, _ in found.get(name, [])]
    if numbers != sorted(numbers):
        writing.reworded("$.frames", "frames are written in the order of the links they stand on")
    return found


def frame_pose(frames: list[Frame], frame: Frame) -> tuple[str | None, Pose]:
    """The link that a frame stands on, None for the world, and its pose there."""
    by_name = {other.name: other for other in frames}
    pose = Pose(frame.position, frame.orientation)
    while frame.parent_frame is not None:
        frame = by_name[frame.parent_frame]
        pose = Pose(frame.position, normalized(frame.orientation)) * pose
    return frame.parent_link, pose


def _write_frame(writing: Writing, element: Element, frame: Frame, path: str) -> None:
    if frame.name is None:
        writing.lost(path, "a frame without a name is nothing in a file")
        return
    if frame.kind is not FrameKind.Fixed:
        writing.changed(f"{path}.kind", "it is written as a fixed frame")
    if frame.parent_frame is not None:
        writing.reworded(f"{path}.parent_frame", "it is written on the link that carries it")
    if frame.parent_link == "world":
        writing.reworded(f"{path}.parent_link", "what stands on the world has no parent")
    words = Words(name=frame.name)
    _, pose = frame_pose(writing.world.frames, frame)
    writing.pose(words, pose.position, pose.rotation.tolist(), f"{path}.orientation")
    child(element, "frame", words)
