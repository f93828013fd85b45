# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Making and removing objects: every change of topology edits the description and its handles together.

Names are checked first and nothing is changed when a call is refused. Within `World.edit()` each change
leaves a note of how to undo it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.frame import FixedFrame, Frame, FreeFrame
from worldline._src.facade.joint import Joint
from worldline._src.facade.kinds import JointType, scene_joint_type
from worldline._src.facade.link import Link
from worldline._src.facade.options import JointSpec, RigidBodyOptions
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.scene import compose as compose_scene
from worldline._src.scene.bodies import Body, BodyKind, BodyRole, FrameKind, Inertia
from worldline._src.scene.bodies import Frame as SceneFrame
from worldline._src.scene.bodies import Link as SceneLink
from worldline._src.scene.joints import FreeJoint
from worldline._src.scene.joints import Joint as SceneJoint
from worldline._src.scene.kinds import Rename
from worldline._src.scene.layout import active_joints
from worldline._src.scene.world import World as Scene
from worldline._src.spatial.poses import Array, compose, inverse

if TYPE_CHECKING:
    from worldline._src.facade.multibody import Multibody
    from worldline._src.facade.world import World

_IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


# ---- names


def free_name(given: str | None, prefix: str, taken: Any, start: int, what: str) -> tuple[str, int]:
    """A checked name, or the next made-up one that nobody has; and the number to go on from."""
    if given is None or given == "":
        number = start + 1
        while f"{prefix}_{number:03d}" in taken:
            number += 1
        return f"{prefix}_{number:03d}", number
    name = values.text(given, f"name of a {what}")
    if name in taken:
        raise ArgumentError(f"a {what} named '{name}' already exists")
    return name, start


def _unique_link_name(world: World, name: str) -> str:
    """A link name of the description; names of links are unique in a whole scene."""
    taken = {link.name for link in world._scene.hierarchy.links()}
    if name not in taken:
        return name
    raise ArgumentError(f"a link named '{name}' already exists in the scene of this World")


# ---- rigid bodies


def add_rigid_body(world: World, name: str, options: RigidBodyOptions, kinematic: bool) -> RigidBody:
    """A free body, its link and its handle."""
    world._require_design("adding a rigid body")
    chosen, number = free_name(
        name, "rigid_body", world._rigid_bodies, world._numbers["rigid_body"], "rigid body"
    )
    _unique_link_name(world, chosen)
    moments = options.inertia
    body = Body(
        free=FreeJoint(),
        link=SceneLink(
            name=chosen,
            local_translation=options.position,
            local_rotation=options.orientation,
            inertial=Inertia(
                mass=options.mass,
                pos=(0.0, 0.0, 0.0),
                full_inertia=moments[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist(),
                # any symmetric positive definite matrix is taken, also one that no solid body has
                is_checked=False,
            ),
        ),
        kind=BodyKind.Static
        if options.is_static
        else (BodyKind.Kinematic if kinematic else BodyKind.Dynamic),
        role=BodyRole.RigidBody,
        linear_velocity=options.linear_velocity,
        angular_velocity=options.angular_velocity,
    )
    handle = RigidBody(world, body)
    world._numbers["rigid_body"] = number
    world._scene.hierarchy.bodies.append(body)
    world._rigid_bodies[chosen] = handle
    world._topology_changed(lambda: _drop_rigid_body(world, handle, "its addition was undone"))
    return handle


def _drop_rigid_body(world: World, handle: RigidBody, why: str) -> None:
    _without(world._scene.hierarchy.bodies, handle._body)
    world._rigid_bodies.pop(handle.name, None)
    handle._kill(why)


def remove_rigid_body(handle: RigidBody) -> None:
    """Take a rigid body, the frames on it and the closures at it out of the world."""
    world = handle._world
    handle._require_design(f"removing rigid body '{handle.name}'")
    _remove_attached(world, [handle])
    place = _position(world._scene.hierarchy.bodies, handle._body)
    order = list(world._rigid_bodies)
    _drop_rigid_body(world, handle, f"rigid body '{handle.name}' was removed")

    def undo() -> None:
        world._scene.hierarchy.bodies.insert(place, handle._body)
        world._rigid_bodies[handle.name] = handle
        _reorder(world._rigid_bodies, order)
        handle._alive = True

    world._topology_changed(undo)


# ---- multibodies


def add_link(
    owner: Multibody,
    name: str,
    parent: Link | None,
    spec: JointSpec | None,
    mass: float,
    inertia: Any,
    center: Any,
) -> Link:
    """A link of a multibody, with its joint."""
    world = owner._world
    owner._require_design(f"adding a link to multibody '{owner.name}'")
    if parent is not None:
        if not isinstance(parent, Link):
            raise values.ShapeError(f"parent of a link must be a Link, got {parent!r}")
        parent._require_alive()
        if parent._multibody is not owner:
            where = (
                "a different world" if parent._world is not world else f"multibody '{parent._multibody.name}'"
            )
            raise ArgumentError(
                f"parent link '{parent.name}' does not belong to multibody '{owner.name}' but to {where}"
            )
    if spec is not None and not isinstance(spec, JointSpec):
        raise values.ShapeError(f"joint of a link must be a JointSpec, got {spec!r}")
    if spec is not None and spec.type is JointType.CUSTOM:
        raise ArgumentError(
            "joint of a link: CUSTOM joints need a kinematics of their own, which is not offered"
        )
    if spec is not None and (spec.parent_anchor is not None or spec.child_anchor is not None):
        raise ArgumentError("joint of a link: anchors are for joints between bodies; use the transforms")
    chosen, number = free_name(name, "link", owner._links, owner._link_number, "link")
    joint_name, joint_number = "", owner._joint_number
    if spec is not None:
        spec = spec.copy()
        spec.check_axes()
        joint_name, joint_number = free_name(spec.name, "joint", owner._joints, owner._joint_number, "joint")

    moments = np.eye(3) if inertia is None else values.inertia_of(inertia, "Link inertia: inertia")
    local = _IDENTITY if spec is None else _drawn_pose(spec)
    link = SceneLink(
        name=_unique_link_name(world, f"{owner.name}/{chosen}"),
        local_translation=local[:3],
        local_rotation=local[3:],
        inertial=Inertia(
            mass=values.positive(mass, "Link mass: mass"),
            pos=values.vector3(center, "Link center of mass"),
            full_inertia=moments[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist(),
            is_checked=False,
        ),
    )
    joint = None
    if spec is not None:
        joint = _described(spec, f"{owner.name}/{joint_name}")
        link.joints.append(joint)
    body = Body(link=link, multibody=owner.name, role=BodyRole.Multibody) if parent is None else parent._body
    handle = Link(owner, body, link, parent)
    owner._link_number, owner._joint_number = number, joint_number
    if parent is None:
        world._scene.hierarchy.bodies.append(body)
        owner._bodies.append(body)
    else:
        parent._link.children.append(link)
    owner._links[chosen] = handle
    if joint is not None:
        owner._joints[joint_name] = Joint(owner, joint, handle)
    world._topology_changed(lambda: _drop_links(owner, [handle], "its addition was undone"))
    return handle


def _drawn_pose(spec: JointSpec) -> Array:
    """Pose of the child in the parent with the joint at zero."""
    to_parent = values.pose_of(spec.transform_to_parent, "transform_to_parent")
    return compose(to_parent, values.pose_of(spec.transform_from_parent, "transform_from_parent"))


def _described(spec: JointSpec, name: str) -> SceneJoint:
    """The joint of a spec in the description: its frame is given in the child link."""
    anchor = inverse(values.pose_of(spec.transform_from_parent, "transform_from_parent"))
    return SceneJoint(
        name=name,
        type_=scene_joint_type(spec.type),
        axis=spec.axis / np.linalg.norm(spec.axis),
        axis2=spec.axis2 / np.linalg.norm(spec.axis2),
        pos=anchor[:3],
        orientation=anchor[3:],
        pitch=spec.pitch,
    )


def _subtree(owner: Multibody, top: Link) -> list[Link]:
    """A link and all that hangs on it, parents first."""
    found = [top]
    for link in owner._links.values():
        if link._parent in found and link not in found:
            found.append(link)
    return found


def _drop_links(owner: Multibody, links: list[Link], why: str) -> None:
    """Take links out of the description and the tables; the first is the top of the others."""
    world, top = owner._world, links[0]
    if top._parent is None:
        _without(world._scene.hierarchy.bodies, top._body)
        _without(owner._bodies, top._body)
    else:
        _without(top._parent._link.children, top._link)
    for link in links:
        for joint in [j for j in owner._joints.values() if j._child is link]:
            owner._joints.pop(joint.name)
            joint._kill(why)
        owner._links.pop(link.name)
        link._kill(why)
    owner._known = None


def remove_link(owner: Multibody, top: Link) -> None:
    """Take a link and all that hangs on it out of its multibody."""
    world = owner._world
    top._require_design(f"removing link '{top.name}'")
    links = _subtree(owner, top)
    _remove_attached(world, links)
    siblings = world._scene.hierarchy.bodies if top._parent is None else top._parent._link.children
    own = top._body if top._parent is None else top._link
    place = _position(siblings, own)
    kept_links, kept_joints = dict(owner._links), dict(owner._joints)
    kept_bodies = list(owner._bodies)
    gone = [j for j in owner._joints.values() if j._child in links]
    _drop_links(owner, links, f"link '{top.name}' was removed")

    def undo() -> None:
        siblings.insert(place, own)
        owner._links, owner._joints, owner._bodies = kept_links, kept_joints, kept_bodies
        for handle in (*links, *gone):
            handle._alive = True
        owner._known = None

    world._topology_changed(undo)


def remove_multibody(owner: Multibody) -> None:
    """Take a multibody with all its links out of the world."""
    world = owner._world
    owner._require_design(f"removing multibody '{owner.name}'")
    for root in [link for link in owner._links.values() if link._parent is None]:
        remove_link(owner, root)
    order = list(world._multibodies)
    del world._multibodies[owner.name]
    owner._kill(f"multibody '{owner.name}' was removed")

    def undo() -> None:
        world._multibodies[owner.name] = owner
        _reorder(world._multibodies, order)
        owner._alive = True

    world._topology_changed(undo)


def rename_multibody(owner: Multibody, name: str) -> None:
    """Give a multibody another name, and its links and joints in the description with it."""
    world = owner._world
    if name == "":
        raise ArgumentError("the name of a multibody cannot be empty")
    if name == owner._name:
        return
    if name in world._multibodies:
        raise ArgumentError(f"a multibody named '{name}' already exists")
    before = f"{owner._name}/"
    new: dict[str, str] = {}
    for link in owner._links.values():
        for part in (link._link, *link._link.joints):
            if part.name is not None and part.name.startswith(before):
                new[part.name] = f"{name}/{part.name.removeprefix(before)}"
    world._rename_in_scene(new)
    for body in owner._bodies:
        if body.multibody == owner._name:
            body.multibody = name
    order = [name if key == owner._name else key for key in world._multibodies]
    world._multibodies[name] = world._multibodies.pop(owner._name)
    _reorder(world._multibodies, order)
    owner._name = name
    world._names_changed()


def no_joint(owner: Multibody, link: Link) -> Joint:
    """A handle for the joint that a fixed root does not have."""
    joint = Joint(owner, SceneJoint(type_=scene_joint_type(JointType.FIXED)), link, name="")
    joint._kill(f"root link '{link.name}' has no joint")
    return joint


# ---- handles for what a scene brings


def adopt(world: World, bodies: list[Body]) -> list[Any]:
    """Handles for bodies that came with a description: rigid bodies and multibodies, in their order."""
    from worldline._src.facade.multibody import Multibody

    made: list[Any] = []
    for body in bodies:
        single = not body.link.children and body.multibody is None
        free = body.free is not None
        if body.role is BodyRole.RigidBody or (body.role is BodyRole.Auto and single and free):
            if not free:
                raise ArgumentError(f"body '{body.link.name}' has no free joint, so it cannot be a RigidBody")
            handle = RigidBody(world, body)
            world._rigid_bodies[handle.name] = handle
            made.append(handle)
            continue
        name = body.multibody or body.link.name or ""
        owner = world._multibodies.get(name)
        if owner is None or (body.multibody is None):
            name, world._numbers["multibody"] = free_name(
                name if name not in world._multibodies else None,
                "multibody",
                world._multibodies,
                world._numbers["multibody"],
                "multibody",
            )
            owner = Multibody(world, name)
            world._multibodies[name] = owner
            made.append(owner)
        adopt_tree(owner, body)
    return made


def adopt_tree(owner: Multibody, body: Body) -> None:
    """Handles for the links and joints of one body of a multibody."""
    owner._bodies.append(body)
    handles: dict[int, Link] = {}
    parents = {id(child): link for link in body.link.walk() for child in link.children}
    for link in body.link.walk():
        above = parents.get(id(link))
        handle = Link(owner, body, link, None if above is None else handles[id(above)])
        handles[id(link)] = handle
        name, owner._link_number = free_name(
            handle.name or None, "link", owner._links, owner._link_number, "link"
        )
        if link.name is None:
            link.name = name
        owner._links[name] = handle
        joints: list[SceneJoint | FreeJoint] = list(active_joints(link, body))
        if link is body.link and body.free is not None:
            joints = [body.free]
        for joint in joints:
            found = Joint(owner, joint, handle)
            fallback = owner._local_name(link.name) + ("_free" if isinstance(joint, FreeJoint) else "_joint")
            wanted = found.name or (fallback if fallback not in owner._joints else None)
            label, owner._joint_number = free_name(
                wanted, "joint", owner._joints, owner._joint_number, "joint"
            )
            found._fallback = label
            owner._joints[label] = found


# ---- frames


def add_frame(world: World, name: str, parent: Frame | None, offset: Any, free: bool) -> Frame:
    """A named frame on a body, a link, another frame or the world."""
    world._require_design("adding a frame")
    parent = Frame.world() if parent is None else parent
    world._own_frame(parent, "parent")
    prefix = "free_frame" if free else "fixed_frame"
    chosen, number = free_name(name, prefix, world._frames, world._numbers[prefix], "frame")
    pose = _IDENTITY if offset is None else values.pose_of(offset, f"offset of frame '{chosen}'")
    described = SceneFrame(
        name=chosen, kind=FrameKind.Free if free else FrameKind.Fixed, position=pose[:3], orientation=pose[3:]
    )
    handle = FreeFrame(world, described, parent) if free else FixedFrame(world, described, parent)
    world._numbers[prefix] = number
    world._scene.frames.append(described)
    world._frames[chosen] = handle
    world._frame_moved(handle)

    def undo() -> None:
        _without(world._scene.frames, described)
        world._frames.pop(chosen, None)
        handle._kill("its addition was undone")

    world._noted(undo)
    return handle


def _remove_attached(world: World, bodies: list[Any]) -> None:
    """Frames on bodies and closures at them go with the bodies."""
    for frame in [f for f in world._frames.values() if any(_stands_on(f, body) for body in bodies)]:
        if frame._alive:
            remove_frame(world, frame)
    for closure in [c for c in world._loop_closures.values() if any(c._touches(body) for body in bodies)]:
        closure.remove()


def _stands_on(frame: Any, body: Any) -> bool:
    while not frame.is_world:
        if frame is body:
            return True
        frame = frame._parent if hasattr(frame, "_frame") else Frame.world()
    return False


def remove_frame(world: World, frame: Any) -> None:
    """Take a frame, and the frames on it, out of the world."""
    frame._require_design(f"removing frame '{frame.name}'")
    for other in [f for f in world._frames.values() if f is not frame and f._parent is frame]:
        remove_frame(world, other)
    for closure in [c for c in world._loop_closures.values() if c._touches(frame)]:
        closure.remove()
    place = _position(world._scene.frames, frame._frame)
    order = list(world._frames)
    _without(world._scene.frames, frame._frame)
    del world._frames[frame.name]
    frame._kill(f"frame '{frame.name}' was removed")

    def undo() -> None:
        world._scene.frames.insert(place, frame._frame)
        world._frames[frame.name] = frame
        _reorder(world._frames, order)
        frame._alive = True

    world._noted(undo)


# ---- lists of the description compare by value; objects are found by identity


def _position(rows: list[Any], item: Any) -> int:
    return next(k for k, row in enumerate(rows) if row is item)


def _without(rows: list[Any], item: Any) -> None:
    for k, row in enumerate(rows):
        if row is item:
            del rows[k]
            return


def _reorder(table: dict[str, Any], order: list[str]) -> None:
    for key in [key for key in order if key in table]:
        table[key] = table.pop(key)


def rename_in_scene(scene: Scene, new: dict[str, str]) -> None:
    """New names for some objects, where they are defined and wherever they are used."""
    compose_scene.rename(scene, Rename(name=lambda name: new.get(name, name)))
