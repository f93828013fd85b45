# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From a scene description to a Model: trees, joints, mass properties.

A link with one joint becomes one body and one joint. A link with several joints becomes a chain: every
joint but the last carries a massless body named `link/joint`, the last carries the link itself. Fixed bases
hang on the world by a fixed joint, so every body of the scene is a body of the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from worldline._src.errors import Problem, SceneError, WorldlineError
from worldline._src.linear_algebra import matmul, unit_vector
from worldline._src.model.builder import ModelBuilder
from worldline._src.model.checks import check_angle_limits, check_least
from worldline._src.model.joint_kinds import KINDS, dof_config, joint_axis
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.bodies import Body, BodyKind, Link
from worldline._src.scene.joints import QUATERNION_JOINTS, FreeJoint, Joint, JointDof, JointType
from worldline._src.scene.layout import active_joints
from worldline._src.scene.mass_properties import MassProperties, scaled_to_total
from worldline._src.scene.values import Range, SpringDamper, StiffnessDamping
from worldline._src.scene.world import World
from worldline._src.spatial.poses import NO_POSE, Array, composed, rotation, transform

EARTH = (0.0, 0.0, -9.81)
_UPRIGHT = [0.0, 0.0, 0.0, 1.0]


class SceneTrees(NamedTuple):
    """A builder filled from a scene, and where the scene's objects went."""

    builder: ModelBuilder
    link_body: dict[int, int]
    """Body of every Link, by the id of the object."""
    joint_index: dict[int, int]
    """Joint of every Joint and FreeJoint, by the id of the object."""
    softness: list[tuple[int, float, float]]
    """Joints whose spring is given by frequency and damping ratio, with both numbers."""
    joints: dict[int, Joint | FreeJoint]
    """What each joint of the Model came from; welds came from nothing."""
    links: dict[int, list[Link]]
    """The links of every Body, parents first, by the id of the object."""


def add_trees(world: World, library: AssetLibrary | None = None) -> SceneTrees:
    """Fill a builder with all bodies of a checked scene; problems come together in one SceneError."""
    library = AssetLibrary(world) if library is None else library
    option = world.simulate_option
    gravity = EARTH if option.gravity is None else option.gravity
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0) if option.disable_gravity else gravity)
    links = {id(body): list(body.link.walk()) for body in world.hierarchy.bodies}
    trees = SceneTrees(builder, {}, {}, [], {}, links)
    properties = _mass_properties(world, library, list(chain.from_iterable(links.values())))
    problems: list[Problem] = []
    for label, bodies in _multibodies(world):
        first = len(builder.joints)
        for body in bodies:
            links = trees.links[id(body)]
            parents = {id(child): link for link in links for child in link.children}
            for link in links:
                above = parents.get(id(link))
                parent = -1 if above is None else trees.link_body[id(above)]
                try:
                    _add_link(trees, world, body, link, parent, properties[id(link)])
                except WorldlineError as error:
                    problems.append(Problem(f"link {link.name!r}", str(error)))
                    break
        if not problems:
            builder.add_articulation(range(first, len(builder.joints)), label=label)
    if problems:
        raise SceneError("the scene cannot be built", problems)
    return trees


def _multibodies(world: World) -> list[tuple[str | None, list[Body]]]:
    """Bodies by multibody; those without one stand alone, under the name of their base link."""
    groups: dict[Any, list[Body]] = {}
    for body in world.hierarchy.bodies:
        key = ("multibody", body.multibody) if body.multibody else ("body", id(body))
        groups.setdefault(key, []).append(body)
    taken: set[str] = set()
    named: list[tuple[str | None, list[Body]]] = []
    for (kind, _), bodies in groups.items():
        label = bodies[0].multibody if kind == "multibody" else bodies[0].link.name
        label = None if label in taken else label
        taken.add(label or "")
        named.append((label, bodies))
    return named


def _mass_properties(world: World, library: AssetLibrary, links: list[Link]) -> dict[int, MassProperties]:
    found = [library.link_properties(link) for link in links]
    if world.compile_options.total_mass is not None:
        found = scaled_to_total(found, world.compile_options.total_mass)
    return {id(link): part for link, part in zip(links, found, strict=True)}


def unit_pose(position: Array, rotation: Array | list[float]) -> list[float]:
    """7 numbers of a place and of a quaternion of any length, as a checked scene has them."""
    turn = rotation if isinstance(rotation, list) else rotation.tolist()
    pose = position.tolist() + turn
    # most links, joints and shapes are not turned
    return pose if turn == _UPRIGHT else _unit(pose)


def _placed(X_WP: Sequence[float], X_PL: Sequence[float]) -> list[float]:
    """The pose X_WL of two that have unit quaternions."""
    X_WL = composed(X_WP, X_PL)
    return X_WL if X_WL[3:] == list(X_PL[3:]) else _unit(X_WL)


def _unit(pose: list[float]) -> list[float]:
    """A pose of a checked scene, whose rotation is a quaternion, though maybe not a unit one."""
    _, _, _, x, y, z, w = pose
    return pose if abs(x * x + y * y + z * z + w * w - 1.0) < 1e-14 else transform(pose, "pose").tolist()


def _add_link(
    trees: SceneTrees, world: World, body: Body, link: Link, parent: int, mass: MassProperties
) -> None:
    """One link, its joints to the parent, and the massless bodies between several joints."""
    builder = trees.builder
    local: Sequence[float] = unit_pose(link.local_translation, link.local_rotation)
    base = link is body.link
    free = body.free if base else None
    joints: Sequence[Joint | FreeJoint] = active_joints(link, body) if free is None else [free]
    world_pose = np.array(local if parent < 0 else _placed(builder.links[parent].xform.tolist(), local))

    if joints:
        check_least(mass.mass, mass.inertia, f"link '{link.name or len(builder.links)}'")
    for k, joint in enumerate(joints[:-1]):
        name = joint.name or f"{k}"
        label = f"{link.name or f'link_{len(builder.links)}'}/{name}"
        middle = builder.add_link(world_pose, label=label)
        _add_joint(trees, world, parent, middle, joint, local)
        parent, local = middle, NO_POSE
    index = builder._add_link(
        world_pose,
        mass.mass,
        mass.com,
        mass.inertia,
        base and (body.mocap or body.kind is not BodyKind.Dynamic),
        link.name or None,
        check_inertia=link.inertial.is_checked,
        check_least_inertia=False,
        gravcomp=link.gravcomp,
    )
    trees.link_body[id(link)] = int(index)
    if joints:
        _add_joint(trees, world, parent, index, joints[-1], local)
        if base and body.free is not None:
            _start_velocity(builder, body)
    else:
        builder.add_joint_fixed(parent, index, parent_xform=np.array(local))


def _start_velocity(builder: ModelBuilder, body: Body) -> None:
    """Velocity of a free base: linear in world axes, angular from world axes to body axes."""
    if not any(body.linear_velocity.tolist() + body.angular_velocity.tolist()):
        return
    joint = builder.joints[-1]
    turn = rotation(builder.links[joint.child].xform)
    start = joint.v_start
    builder.joint_qd[start : start + 3] = np.asarray(body.linear_velocity).tolist()
    builder.joint_qd[start + 3 : start + 6] = matmul(turn.T, body.angular_velocity).tolist()


def _add_joint(
    trees: SceneTrees, world: World, parent: int, child: int, joint: Joint | FreeJoint, local: Sequence[float]
) -> None:
    """A joint of the scene; `local` is the child's pose in the parent where the scene is drawn."""
    builder, option = trees.builder, world.simulate_option
    if isinstance(joint, FreeJoint):
        index = builder.add_joint_free(
            child,
            parent,
            label=joint.name,
            armature=joint.armature,
            friction=0.0 if option.disable_frictionloss else joint.friction_loss,
            damping=0.0 if option.disable_damping else joint.damping,
            stiffness=0.0 if option.disable_springs else joint.stiffness,
        )
        trees.joint_index[id(joint)] = int(index)
        trees.joints[int(index)] = joint
        return
    anchor = unit_pose(joint.pos, joint.orientation)
    moved = composed(anchor, _reference(joint).tolist()) if joint.ref_ else anchor
    settings, spring = _settings(joint, world)
    frames: dict[str, Any] = {
        "parent": parent,
        "child": child,
        "parent_xform": np.array(_placed(local, moved)),
        "child_xform": np.array(anchor),
        "label": joint.name,
    }
    index = KINDS[joint.type_].add(builder, joint, frames, settings)
    if joint.dofs and joint.type_ is not JointType.D6:
        _set_dofs(builder.joints[index], joint.dofs)
    if joint.type_ in QUATERNION_JOINTS:
        turns = builder.joints[index].angular
        limits = [d.limit_lower for d in turns], [d.limit_upper for d in turns]
        check_angle_limits(*limits, f"joint '{builder.joints[index].label}'")
    if spring is not None:
        trees.softness.append((int(index), *spring))
    trees.joint_index[id(joint)] = int(index)
    trees.joints[int(index)] = joint


def _reference(joint: Joint) -> Array:
    """The motion that takes the drawn pose back to coordinate zero."""
    pose = transform(None, "")
    along = unit_vector(joint_axis(joint))
    if joint.type_ is JointType.Revolute:
        pose[3:6] = along * np.sin(-0.5 * joint.ref_)
        pose[6] = np.cos(0.5 * joint.ref_)
    elif joint.type_ is JointType.Slide:
        pose[:3] = -along * joint.ref_
    return pose


def _settings(joint: Joint, world: World) -> tuple[dict[str, Any], tuple[float, float] | None]:
    """Keywords of every degree of freedom; a spring by frequency is settled when masses are known."""
    option = world.simulate_option
    limit: Range = joint.pos_limit
    settings: dict[str, Any] = {
        "armature": joint.armature,
        "friction": 0.0 if option.disable_frictionloss else joint.friction_loss,
        "limit_lower": limit.lower,
        "limit_upper": limit.upper,
        "effort_limit": joint.effort_limit,
        "velocity_limit": joint.velocity_limit,
        # the joint's own law, a hard stop unless it says otherwise
        "limit_ke": math.inf,
    }
    spring = None
    damper: SpringDamper | None = joint.spring_damper
    if damper is not None:
        coefficients = damper.coeff.value
        settings["spring_ref"] = damper.target_pos
        if isinstance(coefficients, StiffnessDamping):
            settings["stiffness"] = 0.0 if option.disable_springs else coefficients.k
            settings["damping"] = 0.0 if option.disable_damping else coefficients.d
        else:
            spring = (coefficients.w, coefficients.z)
    return settings, spring


def _set_dofs(record: Any, dofs: list[JointDof]) -> None:
    own = [
        dof_config(dof, old.axis) for dof, old in zip(dofs, (*record.linear, *record.angular), strict=True)
    ]
    record.linear, record.angular = own[: len(record.linear)], own[len(record.linear) :]
