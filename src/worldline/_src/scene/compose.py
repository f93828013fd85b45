# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Attaching one scene to another.

The other scene is copied, its names get their prefix and suffix wherever they are defined or
referred to, and its world becomes a link, or the world, of the scene it is attached to. All of this
is prepared and checked on the copy; only then is the scene changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, Problem, SceneError
from worldline._src.scene.base import Struct, clone, same
from worldline._src.scene.bodies import BodyKind, Link
from worldline._src.scene.closures import FrameRef
from worldline._src.scene.constraints import ConnectConstraintType, WeldConstraintType
from worldline._src.scene.contexts import Rejected
from worldline._src.scene.extraction import extract, find_link
from worldline._src.scene.keyframe_resize import KeyframeResize
from worldline._src.scene.kinds import WORLD, Rename, describe
from worldline._src.scene.merging import MERGED_LISTS, MERGED_TABLES, NOT_MERGED, ON_PARENT, look, resolve
from worldline._src.scene.poses import IDENTITY, Pose, normalized
from worldline._src.scene.texts import TEXT, unwritable
from worldline._src.scene.validate import check_structure, is_ground, movable_links
from worldline._src.scene.vectors import QUATERNION, VECTOR3, VectorLike

if TYPE_CHECKING:
    from worldline._src.scene.world import World


def attach(
    world: World,
    other: World,
    self_link_name: str | None,
    other_link_name: str | None,
    translation: VectorLike | None,
    rotation: VectorLike | None,
    prefix: str | None,
    suffix: str | None,
) -> None:
    """Adds a copy of another scene; see `World.attach`."""
    if type(other) is not type(world):
        raise ArgumentError(f"other: given {describe(other)}; allowed: a World")
    for scene, what in ((world, "this scene"), (other, "the other scene")):
        problems = check_structure(scene)
        if problems:
            raise SceneError(f"{what} cannot be walked", problems)
    pose = _pose(translation, rotation)
    new = _renaming(world, other, _text(prefix, "other_prefix"), _text(suffix, "other_suffix"))
    target = None if self_link_name is None else find_link(world, self_link_name, "self_link_name")

    part = clone(other)
    resize = KeyframeResize(world)
    notes = type(world.report)()
    if other_link_name is not None:
        extract(part, other_link_name, notes)
    if target is not None:
        _refuse_bodies(world, part, target)
        _refuse_ground(part, target)
    ground = WORLD if target is None else str(target.name)
    own_world = _has_world_link(part)
    rename(part, new._replace(world=ground))
    move(part, pose, None if target is None else target.name, None if own_world else ground)
    _refuse_names(world, part)

    # from here on nothing fails
    _note_left_behind(world, other, notes)
    _join(world, part, target)
    resize.apply()
    world.report.extend(notes)


def _refuse_ground(part: World, target: Link) -> None:
    """The plane under points of links stands in the world and cannot move with a link."""
    message = f"a ground plane is fixed in the world and cannot be attached to link {target.name!r}"
    if part.ground_points:
        raise SceneError("the other scene has ground contact", [Problem("$.ground_points", message)])


def rename(world: World, new: Rename) -> None:
    """Replaces every name and path of a scene, where it is defined and wherever it is used."""
    if _has_world_link(world):
        # then that is what the references mean
        new = new._replace(world=new.name(WORLD))
    world._rename(new)
    bases = {id(body.link) for body in world.hierarchy.bodies}
    for link in world.hierarchy.links():
        # the walk over fields does not go into children; see contexts
        if id(link) not in bases:
            link._rename(new)


def _has_world_link(world: World) -> bool:
    return any(link.name == WORLD for link in world.hierarchy.links())


def base_directory(world: World) -> str | None:
    """Where relative asset paths of a scene start, None when unknown."""
    return None if world.source_path is None else os.path.dirname(os.path.abspath(world.source_path))


def is_rooted(path: str) -> bool:
    """Whether a path means the same wherever the scene's file is: absolute, or a URL."""
    return os.path.isabs(path) or "://" in path


def _text(value: str | None, argument: str) -> str:
    if value is None:
        return ""
    try:
        text = TEXT(value)
    except Rejected as rejected:
        raise rejected.under(argument) from None
    fault = unwritable(text)
    if fault:
        raise ArgumentError(f"{argument}: given {text!r}; allowed: text without {fault}")
    return text


def _pose(translation: VectorLike | None, rotation: VectorLike | None) -> Pose:
    given: list[np.ndarray] = []
    for value, kind, argument, default in (
        (translation, VECTOR3, "other_translation", IDENTITY.position),
        (rotation, QUATERNION, "other_rotation", IDENTITY.rotation),
    ):
        try:
            vector = default if value is None else kind(value)
            if not np.isfinite(vector).all() or (kind is QUATERNION and not vector.any()):
                raise kind.reject(value)
        except Rejected as rejected:
            raise rejected.under(argument) from None
        given.append(vector)
    return Pose(given[0], normalized(given[1]))


def _renaming(world: World, other: World, prefix: str, suffix: str) -> Rename:
    ours, theirs = base_directory(world), base_directory(other)

    def file(path: str) -> str:
        # a relative path starts at another directory from now on
        if not path or theirs in (None, ours) or is_rooted(path):
            return path
        return os.path.join(str(theirs), path)

    def renamed(name: str) -> str:
        return prefix + name + suffix

    return Rename(name=renamed, file=file)


def _refuse_bodies(world: World, part: World, target: Link) -> None:
    """What cannot become a child of a link."""
    problems: list[Problem] = []
    for index, body in enumerate(part.hierarchy.bodies):
        path = f"$.hierarchy.bodies[{index}]"
        if body.free is not None:
            problems.append(Problem(path, "a free body cannot be attached to a link"))
        if body.mocap:
            problems.append(Problem(path, "a mocap body cannot be attached to a link"))
        if body.kind is not BodyKind.Dynamic:
            message = f"a {body.kind.name} body cannot be attached to a link"
            problems.append(Problem(path, message))
    if any(moves for link, moves, _ in movable_links(world) if link is target):
        for index, geom in enumerate(part.hierarchy.geoms):
            if is_ground(geom):
                message = (
                    f"the {geom.shape.name} {geom.name!r} cannot ride on link {target.name!r}, which"
                    " moves; remove it, or name the part to attach with other_link_name"
                )
                problems.append(Problem(f"$.hierarchy.geoms[{index}]", message))
    if problems:
        raise SceneError("the other scene cannot be attached", problems)


def _refuse_names(world: World, part: World) -> None:
    """Names that both scenes define; assets may be shared when they are the same."""
    shared: set[tuple[str, str]] = set()
    for path in MERGED_TABLES:
        old, new = resolve(world, path), resolve(part, path)
        shared |= {(path, name) for name in old.keys() & new.keys() if same(old[name], new[name])}
    ours, theirs = look(world), look(part)
    known = ours.names
    problems: list[Problem] = []
    for defining, referring in ((ours, theirs), (theirs, ours)):
        where = defining.names.get("link", {}).get(WORLD)
        if where is not None and WORLD not in referring.names.get("link", {}):
            for spaces, name, path in referring.references:
                if name == WORLD and "link" in spaces:
                    message = f"means the world, but would mean the link of that name at {where}"
                    problems.append(Problem(path, message))
    for space, names in theirs.names.items():
        for name, path in names.items():
            before = known.get(space, {}).get(name)
            if before is None or any((table, name) in shared and table in path for table in MERGED_TABLES):
                continue
            message = (
                f"given the {space} name {name!r}, already used at {before} of this scene;"
                " allowed: another other_prefix or other_suffix"
            )
            problems.append(Problem(path, message))
    if problems:
        raise SceneError("the other scene uses names of this one", problems)


def _frame_refs(part: World) -> Iterator[FrameRef]:
    for closure in part.loop_closures:
        yield from (closure.frame_a, closure.frame_b)
    for spring in part.distance_springs:
        yield from (spring.frame_a, spring.frame_b)
    for joint in part.joints:
        yield from (joint.parent, joint.child)
    equalities = part.equality_constraint_set
    for equality in (entry for name in equalities._fields for entry in getattr(equalities, name)):
        yield from (ref for name in equality._fields if isinstance(ref := getattr(equality, name), FrameRef))


def move(part: World, pose: Pose, link_name: str | None, ground: str | None) -> None:
    """Places the world of a scene at a pose on a link, or on the world when no link is given.

    `ground` is the name by which references mean what takes the place of that world, if any does.
    """
    is_identity = same(list(pose), list(IDENTITY))
    for ref in _frame_refs(part):
        if ref.owner == (None, None):
            ref.link = link_name
            if not is_identity:
                ref.position, ref.orientation = pose * Pose(ref.position, ref.orientation)
    for frame in part.frames:
        if frame.parent_link is None and frame.parent_frame is None:
            frame.parent_link = link_name
            if not is_identity:
                frame.position, frame.orientation = pose * Pose(frame.position, frame.orientation)
    _move_equalities(part, pose, link_name, ground)
    if is_identity:
        # poses stay as they are, to the last bit
        return
    for body in part.hierarchy.bodies:
        link = body.link
        placed = pose * Pose(link.local_translation, link.local_rotation)
        link.local_translation, link.local_rotation = placed
        body.linear_velocity = pose.turn(body.linear_velocity)
        body.angular_velocity = pose.turn(body.angular_velocity)
    grounds = [*(point.contact for point in part.ground_points), *(m.ground for m in part.multibodies)]
    for plane in grounds:
        if plane is not None:
            plane.plane_normal, plane.plane_point = (
                pose.turn(plane.plane_normal),
                pose.apply(plane.plane_point),
            )
    for owner in (*part.hierarchy.geoms, *part.hierarchy.sites, *part.hierarchy.cameras):
        owner.position, owner.orientation = pose * Pose(owner.position, owner.orientation)
    for site in part.hierarchy.sites:
        if site.from_to is not None:
            ends = [pose.apply(np.array(site.from_to[i : i + 3])) for i in (0, 3)]
            site.from_to = np.concatenate(ends)
    for light in part.hierarchy.lights:
        light.position, light.direction = pose.apply(light.position), pose.turn(light.direction)


def _move_equalities(part: World, pose: Pose, link_name: str | None, ground: str | None) -> None:
    """Equality constraints against the world hold against what takes its place."""
    for connect in part.equality_constraint_set.connects:
        kind = connect.connect_type
        if kind.variant == "link_anchor":
            value = kind.value
            if value["link_a"] == ground:
                value["anchor"] = pose.apply(value["anchor"])
            value["link_b"] = value["link_b"] or link_name
            connect.connect_type = ConnectConstraintType.link_anchor(**value)
    for weld in part.equality_constraint_set.welds:
        kind = weld.weld_type
        if kind.variant == "link_anchor":
            weld.weld_type = WeldConstraintType.link_anchor(
                **_moved_weld(kind.value, pose, ground, link_name)
            )


def _moved_weld(
    value: dict[str, Any], pose: Pose, ground: str | None, link_name: str | None
) -> dict[str, Any]:
    relative = value["relative_pose"]
    b_in_a = None if relative is None else Pose(np.array(relative[:3]), np.array(relative[3:]))
    if value["link_b"] in (None, ground):
        value["anchor"] = pose.apply(value["anchor"])
        value["link_b"] = value["link_b"] or link_name
        b_in_a = None if b_in_a is None else b_in_a * pose.inverse()
    elif value["link_a"] == ground:
        b_in_a = None if b_in_a is None else pose * b_in_a
    if b_in_a is not None:
        value["relative_pose"] = np.concatenate(b_in_a)
    return value


def _join(world: World, part: World, target: Link | None) -> None:
    owner: Struct = world.hierarchy if target is None else target
    for name in ON_PARENT:
        getattr(owner, name).extend(getattr(part.hierarchy, name))
    if target is None:
        world.hierarchy.bodies.extend(part.hierarchy.bodies)
    else:
        target.children.extend(body.link for body in part.hierarchy.bodies)
    for path in MERGED_LISTS:
        resolve(world, path).extend(resolve(part, path))
    for path in MERGED_TABLES:
        ours = resolve(world, path)
        for name, value in resolve(part, path).items():
            ours.setdefault(name, value)


def _note_left_behind(world: World, other: World, notes: Any) -> None:
    for path in NOT_MERGED:
        theirs = resolve(other, path)
        if theirs and not same(theirs, resolve(world, path)) and not _is_default(other, path):
            notes.left_out(f"$.{path}", "not attached: this scene keeps its own")


def _is_default(world: World, path: str) -> bool:
    *owners, last = path.split(".")
    owner: Struct = resolve(world, ".".join(owners)) if owners else world
    return owner._fields[last].is_default(getattr(owner, last))
