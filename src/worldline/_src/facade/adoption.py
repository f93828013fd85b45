# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Handles for the objects of a loaded description: rigid bodies, multibodies, frames and closures.

A free body of a single link becomes a RigidBody, everything else a Multibody: one for each body, or one for
all bodies of one `multibody` name. Objects without a name get the next made-up one, in the description too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade.construction import plain_name, reorder, unused
from worldline._src.facade.end_effector import EndEffector
from worldline._src.facade.frame import FixedFrame, Frame, FreeFrame
from worldline._src.facade.free_names import free_name, scene_names
from worldline._src.facade.joint import Joint
from worldline._src.facade.kinds import LoopClosureFamily
from worldline._src.facade.link import Link
from worldline._src.facade.loop_closure import LoopClosure, LoopClosureSpec
from worldline._src.facade.multibody import Multibody
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.values import matrix_of
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene import closures as described
from worldline._src.scene.base import clone
from worldline._src.scene.bodies import Body, BodyRole, FrameKind
from worldline._src.scene.bodies import Frame as SceneFrame
from worldline._src.scene.bodies import Link as SceneLink
from worldline._src.scene.bodies import Multibody as SceneMultibody
from worldline._src.scene.joints import FreeJoint, JointType
from worldline._src.scene.joints import Joint as SceneJoint
from worldline._src.scene.layout import active_joints

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


class Adopted(NamedTuple):
    """Handles that were made, in the order of the description."""

    rigid_bodies: list[RigidBody]
    multibodies: list[Multibody]
    links: list[Link]
    frames: list[FixedFrame | FreeFrame]
    loop_closures: list[LoopClosure]


def adopt(
    world: WorldRuntime,
    bodies: list[Body],
    frames: list[SceneFrame],
    closures: list[described.LoopClosure],
    multibodies: list[SceneMultibody],
    onto: Iterable[tuple[Link, SceneLink]] = (),
) -> Adopted:
    """Handles for parts of the World's description that have none yet.

    `onto` are links of the description that now hang on a link with a handle.
    """
    made = Adopted([], [], [], [], [])
    for robot in multibodies:
        # multibodies without links, and the order of all
        _multibody(world, robot.name, made)
    # once for all: walking the scene for every body would take the square of their number
    names = scene_names(world)
    for body in bodies:
        _adopt_body(world, body, made, names)
    for parent, top in onto:
        made.links.extend(adopt_links(parent._multibody, parent._body, top, parent, names))
    for robot in multibodies:
        _put_in_order(world._multibodies[robot.name], robot.links)
        world._multibodies[robot.name]._ground = robot.ground
    _adopt_grounds(world)
    for frame in frames:
        _adopt_frame(world, frame, made)
    ends = _Ends(world)
    for frame in made.frames:
        frame._parent = ends.find(frame._frame.parent_link, frame._frame.parent_frame)
        if isinstance(frame, EndEffector) and not isinstance(frame._parent, Link):
            raise ArgumentError(f"end effector '{frame.name}' must be on a link of a multibody")
    for closure in closures:
        _adopt_closure(world, closure, ends, made)
    return made


def _adopt_grounds(world: WorldRuntime) -> None:
    """Multibodies without a plane of their own go on with that of their points."""
    owners = {
        link._link.name: robot for robot in world._multibodies.values() for link in robot._links.values()
    }
    for point in world._scene.ground_points:
        owner = owners.get(point.link)
        if owner is not None and owner._ground is None:
            owner._ground = clone(point.contact)


def _multibody(world: WorldRuntime, name: str | None, made: Adopted) -> Multibody:
    chosen, world._numbers["multibody"] = free_name(
        name, "multibody", world._multibodies, world._numbers["multibody"], "multibody"
    )
    owner = Multibody(world, chosen)
    world._multibodies[chosen] = owner
    made.multibodies.append(owner)
    return owner


def _adopt_body(world: WorldRuntime, body: Body, made: Adopted, names: tuple[set[str], set[str]]) -> None:
    single = not body.link.children and body.multibody is None
    free = body.free is not None
    if body.role is BodyRole.RigidBody and not (free and not body.link.children):
        raise ArgumentError(
            f"body '{body.link.name}' cannot be a RigidBody, which is one link with a free joint"
        )
    links, _ = names
    if body.role is BodyRole.RigidBody or (body.role is BodyRole.Auto and single and free):
        wanted = None
        if body.link.name is not None:
            wanted = plain_name(body.link.name, "", world._rigid_bodies, links)
        label, world._numbers["rigid_body"] = free_name(
            wanted, "rigid_body", world._rigid_bodies, world._numbers["rigid_body"], "rigid body"
        )
        if body.link.name is None:
            body.link.name = unused(label, links)
            links.add(body.link.name)
        handle = RigidBody(world, body, label)
        world._rigid_bodies[label] = handle
        made.rigid_bodies.append(handle)
        return
    owner = None if body.multibody is None else world._multibodies.get(body.multibody)
    if owner is None:
        name = body.multibody or body.link.name
        owner = _multibody(world, name if name not in world._multibodies else None, made)
    elif owner not in made.multibodies:
        raise ArgumentError(f"a multibody named '{owner.name}' already exists")
    owner._bodies.append(body)
    made.links.extend(adopt_links(owner, body, body.link, None, names))


def adopt_links(
    owner: Multibody,
    body: Body,
    top: SceneLink,
    parent: Link | None,
    names: tuple[set[str], set[str]] | None = None,
) -> list[Link]:
    """Handles for a link, for all that hangs on it, and for their joints.

    `names` are those of links and joints of the scene, which grow by those that are given here.
    """
    in_scene, joints_in_scene = scene_names(owner._world) if names is None else names
    prefix = f"{owner.name}/" if body.multibody is not None else ""
    handles: dict[int, Link] = {}
    above = {id(child): link for link in top.walk() for child in link.children}
    for link in top.walk():
        wanted = None if link.name is None else plain_name(link.name, prefix, owner._links, in_scene)
        label, owner._link_number = free_name(wanted, "link", owner._links, owner._link_number, "link")
        if link.name is None:
            link.name = unused(f"{owner.name}/{label}", in_scene)
            in_scene.add(link.name)
        over = above.get(id(link))
        handle = Link(owner, body, link, parent if over is None else handles[id(over)], label)
        handles[id(link)] = handle
        owner._links[label] = handle
        for joint in _joints(link, body):
            wanted = (
                None if joint.name is None else plain_name(joint.name, prefix, owner._joints, joints_in_scene)
            )
            if wanted is None:
                guess = label + ("_free" if isinstance(joint, FreeJoint) else "_joint")
                wanted = None if guess in owner._joints else guess
            name, owner._joint_number = free_name(
                wanted, "joint", owner._joints, owner._joint_number, "joint"
            )
            owner._joints[name] = Joint(owner, joint, handle, name)
    return list(handles.values())


def _joints(link: SceneLink, body: Body) -> list[SceneJoint | FreeJoint]:
    """The joints of a link that mean something, fixed ones included."""
    if link is body.link and body.free is not None:
        return [body.free]
    active = {id(joint) for joint in active_joints(link, body)}
    return [j for j in link.joints if id(j) in active or (j.type_ is JointType.Fixed and j.name)]


def _put_in_order(owner: Multibody, names: list[str]) -> None:
    """The order in which links were made, where the description states it."""
    by_name = {link._link.name: link for link in owner._links.values()}
    order = [by_name[name] for name in names if name in by_name]
    if len(order) != len(owner._links):
        return
    reorder(owner._links, [link.name for link in order])
    place = {id(link): k for k, link in enumerate(order)}
    # a stable sort: several joints of one link stay in their order
    rows = sorted(owner._joints.values(), key=lambda joint: place[id(joint._child)])
    reorder(owner._joints, [joint.name for joint in rows])


def _adopt_frame(world: WorldRuntime, frame: SceneFrame, made: Adopted) -> None:
    if frame.kind is FrameKind.EndEffector:
        label, _ = free_name(frame.name, "end_effector", world._frames, 0, "frame")
        frame.name = label
        world._frames[label] = handle = EndEffector(world, frame, Frame.world())
        made.frames.append(handle)
        return
    free = frame.kind is FrameKind.Free
    prefix = "free_frame" if free else "fixed_frame"
    label, world._numbers[prefix] = free_name(
        frame.name, prefix, world._frames, world._numbers[prefix], "frame"
    )
    frame.name = label
    # parents come when all frames are there
    handle = (FreeFrame if free else FixedFrame)(world, frame, Frame.world())
    world._frames[label] = handle
    made.frames.append(handle)


class _Ends:
    """Handles of links and frames by the names of the description."""

    def __init__(self, world: WorldRuntime) -> None:
        self.frames = world._frames
        self.links: dict[str | None, Frame] = {}
        for body in world._rigid_bodies.values():
            self.links[body._link.name] = body
        for robot in world._multibodies.values():
            for link in robot._links.values():
                self.links[link._link.name] = link

    def find(self, link: str | None, frame: str | None) -> Frame:
        """The handle; the world's frame when neither is named."""
        if frame is not None:
            return self.frames[frame]
        if link is None or (link == "world" and link not in self.links):
            return Frame.world()
        return self.links[link]


def _adopt_closure(world: WorldRuntime, closure: described.LoopClosure, ends: _Ends, made: Adopted) -> None:
    label, world._numbers["loop_closure"] = free_name(
        closure.name, "loop_closure", world._loop_closures, world._numbers["loop_closure"], "loop closure"
    )
    closure.name = label
    a, b = closure.frame_a, closure.frame_b
    spec = LoopClosureSpec(
        ends.find(a.link, a.frame),
        ends.find(b.link, b.frame),
        LoopClosureFamily(closure.family.name),
        matrix_of(np.concatenate([a.position, a.orientation])),
        matrix_of(np.concatenate([b.position, b.orientation])),
        closure.distance,
        closure.allow_collision,
    )
    handle = LoopClosure(world, closure, spec)
    world._loop_closures[label] = handle
    made.loop_closures.append(handle)
