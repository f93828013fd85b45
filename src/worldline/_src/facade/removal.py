# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Removal of objects from a World, with everything that is attached to them or refers to them.

Frames on a body and closures at it go with the body, and so do the actuators, sensors and constraints of the
description that name it. Handles of what is gone are dead and say what happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldline._src.facade import values
from worldline._src.facade.end_effector import EndEffector
from worldline._src.facade.frame import FixedFrame, Frame, FreeFrame
from worldline._src.facade.joint import Joint
from worldline._src.facade.link import Link
from worldline._src.facade.loop_closure import LoopClosure
from worldline._src.facade.marker import Marker, remove_marker
from worldline._src.facade.multibody import Multibody
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.sensors import Sensor, remove_sensor
from worldline._src.facade.step_report import keep_contacts
from worldline._src.facade.subtrees import subtree
from worldline._src.facade.world_joint import WorldJoint
from worldline._src.scene.keyframe_resize import fitted_keyframes
from worldline._src.scene.pruning import Names, names_of, prune

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


Removable = RigidBody | Multibody | Link | FixedFrame | FreeFrame | LoopClosure | Marker | WorldJoint | Sensor
"""Objects that a World can be without."""


def remove(world: WorldRuntime, item: Any) -> None:
    """Take any object out of its World."""
    if isinstance(item, Joint):
        raise values.ShapeError(
            f"joint '{item.name}' goes with the link it moves; remove link '{item.child_link.name}'"
        )
    removers: dict[type, Any] = {
        RigidBody: remove_rigid_body,
        Multibody: remove_multibody,
        Link: remove_link,
        FixedFrame: remove_frame,
        FreeFrame: remove_frame,
        EndEffector: remove_frame,
        LoopClosure: remove_loop_closure,
        Marker: remove_marker,
        WorldJoint: WorldJoint.remove,
        Sensor: remove_sensor,
    }
    remover = next((act for kind, act in removers.items() if type(item) is kind), None)
    if remover is None:
        kinds = "body, multibody, link, frame, marker, closure, joint between bodies or sensor"
        raise values.ShapeError(f"a {kinds} is needed, got {item!r}")
    item._require_alive()
    if item._world is not world:
        raise values.ArgumentError(f"'{item.name}' belongs to a different world")
    # before its handles are gone: their contacts end
    keep_contacts(world)
    remover(item)


def remove_rigid_body(handle: RigidBody) -> None:
    """Take a rigid body, the frames on it and the closures at it out of the world."""
    world = handle._world
    handle._require_design(f"removing rigid body '{handle.name}'")
    _remove_attached(world, [handle])
    gone = names_of(handle._link, handle._body)
    with fitted_keyframes(world._scene):
        _without(world._scene.hierarchy.bodies, handle._body)
        _prune(world, gone)
    del world._rigid_bodies[handle.name]
    handle._kill(f"rigid body '{handle.name}' was removed")
    world._topology_changed()


def remove_link(top: Link) -> None:
    """Take a link and all that hangs on it out of its multibody."""
    owner, world = top._multibody, top._world
    top._require_design(f"removing link '{top.name}'")
    links = subtree(owner, top)
    _remove_attached(world, links)
    gone = names_of(top._link, top._body if top._parent is None else None)
    with fitted_keyframes(world._scene):
        if top._parent is None:
            _without(world._scene.hierarchy.bodies, top._body)
            _without(owner._bodies, top._body)
        else:
            _without(top._parent._link.children, top._link)
        _prune(world, gone)
    why = f"link '{top.name}' was removed"
    for link in links:
        for joint in [j for j in owner._joints.values() if j._child is link]:
            del owner._joints[joint.name]
            joint._kill(why)
        del owner._links[link.name]
        link._kill(why)
    owner._known = None
    world._topology_changed()


def remove_multibody(owner: Multibody) -> None:
    """Take a multibody with all its links out of the world."""
    world = owner._world
    owner._require_design(f"removing multibody '{owner.name}'")
    for root in [link for link in owner._links.values() if link._parent is None]:
        remove_link(root)
    del world._multibodies[owner.name]
    owner._kill(f"multibody '{owner.name}' was removed")
    world._topology_changed()


def remove_frame(frame: FixedFrame | FreeFrame) -> None:
    """Take a frame, the frames on it and the closures at it out of the world."""
    world = frame._world
    frame._require_design(f"removing frame '{frame.name}'")
    for other in [f for f in world._frames.values() if f is not frame and f._parent is frame]:
        remove_frame(other)
    for closure in [c for c in world._loop_closures.values() if c._touches(frame)]:
        remove_loop_closure(closure)
    _without(world._scene.frames, frame._frame)
    _prune(world, {("frame", frame.name)})
    del world._frames[frame.name]
    frame._kill(f"frame '{frame.name}' was removed")
    world._topology_changed()


def remove_loop_closure(handle: LoopClosure) -> None:
    """Take a closure out of its world."""
    world = handle._world
    handle._require_design(f"removing loop closure '{handle.name}'")
    _without(world._scene.loop_closures, handle._closure)
    del world._loop_closures[handle.name]
    handle._kill(f"loop closure '{handle.name}' was removed")
    world._topology_changed()


def _remove_attached(world: WorldRuntime, bodies: list[Any]) -> None:
    for frame in [f for f in world._frames.values() if any(_stands_on(f, body) for body in bodies)]:
        if frame._alive:
            remove_frame(frame)
    for closure in [c for c in world._loop_closures.values() if any(c._touches(body) for body in bodies)]:
        remove_loop_closure(closure)


def _stands_on(frame: Any, body: Any) -> bool:
    while not frame.is_world:
        if frame is body:
            return True
        frame = frame._parent if isinstance(frame, (FixedFrame, FreeFrame)) else Frame.world()
    return False


def _prune(world: WorldRuntime, gone: Names) -> None:
    for path in prune(world._scene, gone):
        world._scene.report.left_out(path, "removed with what it refers to")


def _without(rows: list[Any], item: Any) -> None:
    """Lists of a description compare by value; objects are found by identity."""
    for k, row in enumerate(rows):
        if row is item:
            del rows[k]
            return
