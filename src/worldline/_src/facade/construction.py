# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Making objects: every addition edits the description and its handles together.

Names and numbers are checked first, and nothing is changed when a call is refused.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, UnknownCapabilityError
from worldline._src.facade import values
from worldline._src.facade.body_options import LinkOptions, RigidBodyOptions, described_inertia
from worldline._src.facade.frame import FixedFrame, Frame, FreeFrame
from worldline._src.facade.free_names import free_name, scene_names
from worldline._src.facade.joint import Joint
from worldline._src.facade.joint_spec import JointSpec, drawn_pose, own_fields
from worldline._src.facade.kinds import SCENE_JOINTS, JointType, drive_type, scene_joint_type
from worldline._src.facade.link import Link
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.linear_algebra import unit_vector
from worldline._src.model.checks import check_angle_limits
from worldline._src.scene import compose as compose_scene
from worldline._src.scene.bodies import Body, BodyKind, BodyRole, FrameKind
from worldline._src.scene.bodies import Frame as SceneFrame
from worldline._src.scene.bodies import Link as SceneLink
from worldline._src.scene.contact import ConstraintForceModel
from worldline._src.scene.joints import FreeJoint, JointDof
from worldline._src.scene.joints import Joint as SceneJoint
from worldline._src.scene.keyframe_resize import fitted_keyframes
from worldline._src.scene.kinds import Rename
from worldline._src.scene.values import Range
from worldline._src.spatial.poses import inverse

if TYPE_CHECKING:
    from worldline._src.facade.multibody import Multibody
    from worldline._src.facade.world_runtime import WorldRuntime

IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
_TURNING = (JointType.SPHERICAL, JointType.FLOATING, JointType.DISTANCE)
"""Joints whose coordinates are more than a number for each degree of freedom."""


# ---- names


def unused(wanted: str, taken: set[str]) -> str:
    """A name of the description near the wanted one and unused; see `plain_name`."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}#{number}"
    return name


def plain_name(name: str, prefix: str, taken: Container[str], in_scene: Container[str]) -> str:
    """The name a user gave: without what made it unique in the description."""
    label = name.removeprefix(prefix)
    base, mark, number = label.rpartition("#")
    if mark and number.isdecimal() and base not in taken and f"{prefix}{base}" in in_scene:
        return base
    return name if label == "" or label in taken else label


# ---- rigid bodies


def add_rigid_body(world: WorldRuntime, name: str, options: RigidBodyOptions, kinematic: bool) -> RigidBody:
    """A free body, its link and its handle."""
    world._require_design("adding a rigid body")
    kinematic = values.flag(kinematic, "kinematic of a rigid body")
    if options.is_static and kinematic:
        raise ArgumentError("a rigid body is static or kinematic, not both")
    chosen, number = free_name(
        name, "rigid_body", world._rigid_bodies, world._numbers["rigid_body"], "rigid body"
    )
    links, _ = scene_names(world)
    body = Body(
        free=FreeJoint(),
        link=SceneLink(
            name=unused(chosen, links),
            local_translation=options.position,
            local_rotation=options.orientation,
            inertial=described_inertia(options),
        ),
        kind=BodyKind.Static
        if options.is_static
        else (BodyKind.Kinematic if kinematic else BodyKind.Dynamic),
        role=BodyRole.RigidBody,
        linear_velocity=options.linear_velocity,
        angular_velocity=options.angular_velocity,
    )
    handle = RigidBody(world, body, chosen)
    world._numbers["rigid_body"] = number
    with fitted_keyframes(world._scene):
        world._scene.hierarchy.bodies.append(body)
    world._rigid_bodies[chosen] = handle
    world._topology_changed()
    return handle


# ---- multibodies


def add_multibody(world: WorldRuntime, name: str, kind: type[Multibody]) -> Multibody:
    """A multibody without links; `kind` is its class, whose module imports this one."""
    world._require_design("adding a multibody")
    chosen, world._numbers["multibody"] = free_name(
        name, "multibody", world._multibodies, world._numbers["multibody"], "multibody"
    )
    made = kind(world, chosen)
    world._multibodies[chosen] = made
    return made


def add_link(
    owner: Multibody, name: str, parent: Link | None, spec: JointSpec | None, options: LinkOptions
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
    if spec is not None and spec.type not in SCENE_JOINTS:
        raise UnknownCapabilityError(f"joint of a link: {spec.type.name} joints are not available")
    if spec is not None and (spec.parent_anchor is not None or spec.child_anchor is not None):
        raise ArgumentError("joint of a link: anchors are for joints between bodies; use the transforms")
    chosen, number = free_name(name, "link", owner._links, owner._link_number, "link")
    joint_name, joint_number = "", owner._joint_number
    if spec is not None:
        spec = spec.copy()
        spec.check_axes()
        joint_name, joint_number = free_name(spec.name, "joint", owner._joints, owner._joint_number, "joint")

    links, joints = scene_names(world)
    joint = None if spec is None else _described(spec, unused(f"{owner.name}/{joint_name}", joints))
    local = IDENTITY if spec is None else drawn_pose(spec)
    link = SceneLink(
        name=unused(f"{owner.name}/{chosen}", links),
        local_translation=local[:3],
        local_rotation=local[3:],
        inertial=described_inertia(options),
        gravcomp=options.gravity_compensation,
    )
    if joint is not None:
        link.joints.append(joint)
    body = Body(link=link, multibody=owner.name, role=BodyRole.Multibody) if parent is None else parent._body
    handle = Link(owner, body, link, parent, chosen)
    owner._link_number, owner._joint_number = number, joint_number
    with fitted_keyframes(world._scene):
        if parent is None:
            world._scene.hierarchy.bodies.append(body)
            owner._bodies.append(body)
        else:
            parent._link.children.append(link)
    _claim(owner)
    owner._links[chosen] = handle
    if joint is not None:
        owner._joints[joint_name] = Joint(owner, joint, handle, joint_name)
    world._topology_changed()
    return handle


def _claim(owner: Multibody) -> None:
    """Bodies that came from a file say from now on to which multibody they belong."""
    for body in owner._bodies:
        body.multibody, body.role = owner.name, BodyRole.Multibody


def _described(spec: JointSpec, name: str) -> SceneJoint:
    """The joint of a spec in the description: its frame is given in the child link."""
    anchor = inverse(values.pose_of(spec.transform_from_parent, "transform_from_parent"))
    made = SceneJoint(
        name=name,
        type_=scene_joint_type(spec.type),
        axis=unit_vector(spec.axis),
        axis2=unit_vector(spec.axis2),
        pos=anchor[:3],
        orientation=anchor[3:],
        pitch=spec.pitch,
        # a limit stops the joint at once; readers of files give limits the softness of their format
        limit_force=ConstraintForceModel.hard(0.0, 1.0),
        margin=spec.limit_margin,
        drive=drive_type(spec.actuator_type),
    )
    for field, value in own_fields(spec).items():
        setattr(made, field, value)
    axes = [*((axis, False) for axis in spec.linear_axes), *((axis, True) for axis in spec.angular_axes)]
    made.dofs = _dof_settings(spec, len(axes) or made.sizes[1]) or [JointDof() for _ in axes]
    for dof, (axis, angular) in zip(made.dofs, axes, strict=False):
        dof.axis, dof.angular = unit_vector(axis), angular
    return made


_DOF_FIELDS = {
    "velocity_limits": "velocity_limit",
    "acceleration_limits": "acceleration_limit",
    "effort_limits": "effort_limit",
    "spring_stiffness": "stiffness",
    "rest_position": "rest_position",
    "damping_coefficient": "damping",
    "coulomb_friction": "friction_loss",
    "armature": "armature",
}
"""Field of a JointSpec, and that of a JointDof."""


def _dof_settings(spec: JointSpec, count: int) -> list[JointDof]:
    """Own settings of every degree of freedom; none when the spec leaves all as it is."""
    given = {
        name: values.spread(numbers, count, f"JointSpec {name}")
        for name in ("position_lower_limits", "position_upper_limits", *_DOF_FIELDS)
        if (numbers := getattr(spec, name)) is not None
    }
    if not given:
        return []
    if "rest_position" in given and spec.type in _TURNING:
        raise ArgumentError(f"JointSpec rest_position: springs of {spec.type.name} joints rest at zero")
    low = given.get("position_lower_limits", np.full(count, -np.inf))
    high = given.get("position_upper_limits", np.full(count, np.inf))
    if (low > high).any():
        raise ArgumentError(
            f"JointSpec: lower limits {low.tolist()} must not exceed upper limits {high.tolist()}"
        )
    if spec.type in _TURNING:
        check_angle_limits(low[-3:], high[-3:], f"a {spec.type.name} JointSpec")
    made = [JointDof(pos_limit=Range(lower=float(low[k]), upper=float(high[k]))) for k in range(count)]
    for name, field in _DOF_FIELDS.items():
        for dof, value in zip(made, given.get(name, ()), strict=False):
            setattr(dof, field, float(value))
    return made


def rename_multibody(owner: Multibody, name: str) -> None:
    """Give a multibody another name, and its links and joints in the description with it."""
    world = owner._world
    if isinstance(name, str) and not name:
        raise ArgumentError("the name of a multibody cannot be empty")
    if isinstance(name, str) and name == owner._name:
        return
    name = values.text(name, "name of a multibody")
    if name in world._multibodies:
        raise ArgumentError(f"a multibody named '{name}' already exists")
    before = f"{owner._name}/"
    links, joints = scene_names(world)
    new: dict[str, str] = {}
    for link in owner._links.values():
        for part, taken in ((link._link, links), *((joint, joints) for joint in link._link.joints)):
            if part.name is not None and part.name.startswith(before):
                new[part.name] = unused(f"{name}/{part.name.removeprefix(before)}", taken)
    rename_in_scene(world, new)
    for body in owner._bodies:
        if body.multibody == owner._name:
            body.multibody = name
    order = [name if key == owner._name else key for key in world._multibodies]
    world._multibodies[name] = world._multibodies.pop(owner._name)
    reorder(world._multibodies, order)
    owner._name = name
    world._topology_changed()


def no_joint(owner: Multibody, link: Link) -> Joint:
    """A handle for the joint that a link fixed to its parent does not have."""
    joint = Joint(owner, SceneJoint(type_=scene_joint_type(JointType.FIXED)), link, "")
    where = "the world" if link._parent is None else f"link '{link._parent.name}'"
    joint._kill(f"link '{link.name}' is fixed to {where} and has no joint")
    return joint


# ---- frames


def add_frame(world: WorldRuntime, name: str, parent: Frame | None, offset: Any, free: bool) -> Frame:
    """A named frame on a body, a link, another frame or the world."""
    world._require_design("adding a frame")
    parent = Frame.world() if parent is None else parent
    world._own_frame(parent, "parent")
    parent._require_base()
    prefix = "free_frame" if free else "fixed_frame"
    chosen, number = free_name(name, prefix, world._frames, world._numbers[prefix], "frame")
    pose = IDENTITY if offset is None else values.pose_of(offset, f"offset of frame '{chosen}'")
    described = SceneFrame(
        name=chosen, kind=FrameKind.Free if free else FrameKind.Fixed, position=pose[:3], orientation=pose[3:]
    )
    handle = FreeFrame(world, described, parent) if free else FixedFrame(world, described, parent)
    world._numbers[prefix] = number
    world._scene.frames.append(described)
    world._frames[chosen] = handle
    world._frame_moved(handle)
    return handle


def reorder(table: dict[str, Any], order: list[str]) -> None:
    """Give a table the order of `order`."""
    for key in [key for key in order if key in table]:
        table[key] = table.pop(key)


def rename_in_scene(world: WorldRuntime, new: dict[str, str]) -> None:
    """New names for links and joints, where they are defined and wherever they are used."""

    def name(old: str) -> str:
        return new.get(old, old)

    compose_scene.rename(world._scene, Rename(name))
