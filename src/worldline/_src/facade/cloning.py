# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of a multibody within a World.

The part of the description that is the multibody is cut out and comes in again as a scene does, under another
name; then the joints of the new one take over the state of the old one's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldline._src.errors import ArgumentError
from worldline._src.facade import loading, values
from worldline._src.facade.construction import reorder
from worldline._src.facade.scene_state import take_state
from worldline._src.facade.values import VectorLike
from worldline._src.scene import compose
from worldline._src.scene.base import clone
from worldline._src.scene.bodies import Body, Hierarchy
from worldline._src.scene.kinds import Rename
from worldline._src.scene.merging import look
from worldline._src.scene.poses import Pose
from worldline._src.scene.pruning import Names, names_of, prune
from worldline._src.scene.world import World as Scene

if TYPE_CHECKING:
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.multibody import Multibody


def clone_multibody(owner: Multibody, name: str, translation: VectorLike, rotation: VectorLike) -> Multibody:
    """See `Multibody.clone`."""
    world = owner._world
    owner._require_alive()
    world._require_design("cloning a multibody")
    if not owner._bodies:
        raise ArgumentError(f"multibody '{owner.name}' has no links to clone")
    chosen = values.text(name, "name of the clone") or loading.unused_name(world, owner.name)
    if chosen in world._multibodies:
        raise ArgumentError(f"a multibody named '{chosen}' already exists")
    place, turn = values.vector3(translation, "translation"), values.quaternion_of(rotation, "rotation")
    part = _alone(owner)
    made = loading.attach(world, part, f"{chosen}/", "", place, turn, None, chosen).multibodies[0]
    if set(made._links) == set(owner._links) and set(made._joints) == set(owner._joints):
        reorder(made._links, list(owner._links))
        reorder(made._joints, list(owner._joints))
        for label, joint in owner._joints.items():
            _take_over(joint, made._joints[label])
    if made._ground is None and owner._ground is not None:
        made._ground = clone(owner._ground)
        moved = Pose(place, turn)
        made._ground.plane_normal = moved.turn(owner._ground.plane_normal)
        made._ground.plane_point = moved.apply(owner._ground.plane_point)
    return made


def _alone(owner: Multibody) -> Scene:
    """A description of the multibody and of what refers to nothing else."""
    world = owner._world
    part = loading.to_scene(world)
    take_state(part)
    mine = {id(body) for body in owner._bodies}
    kept: list[Body] = []
    gone = _fixed_to_world(part)
    for body, copied in zip(world._scene.hierarchy.bodies, part.hierarchy.bodies, strict=True):
        if id(body) in mine:
            kept.append(copied)
        else:
            gone |= names_of(copied.link, copied)
    gone |= {("frame", f.name) for f in part.frames if f.name and not (f.parent_link or f.parent_frame)}
    part.hierarchy = Hierarchy(bodies=kept)
    part.frames = [frame for frame in part.frames if frame.parent_link or frame.parent_frame]
    part.multibodies, part.keyframes = [], []
    prune(part, gone)
    before = f"{owner.name}/"

    def name(old: str) -> str:
        return old.removeprefix(before)

    compose.rename(part, Rename(name))
    return part


def _fixed_to_world(part: Scene) -> Names:
    """Names of what stands on the world itself."""
    fixed = Hierarchy(
        geoms=part.hierarchy.geoms,
        sites=part.hierarchy.sites,
        cameras=part.hierarchy.cameras,
        lights=part.hierarchy.lights,
    )
    return {(space, name) for space, known in look(fixed).names.items() for name in known}


def _take_over(old: Joint, new: Joint) -> None:
    """State and commands of a joint; a free base is drawn where it belongs and keeps its place."""
    if new._joint.name is not None and not hasattr(new._joint, "type_"):
        new.force = old.force
        return
    new.position, new.velocity = old.position, old.velocity
    new.force, new.target_position = old.force, old.target_position
    new.command_velocity, new.command_acceleration = old.command_velocity, old.command_acceleration
