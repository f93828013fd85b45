# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The joints of a link as a chain of joints that a foreign format knows.

URDF and SDF allow one joint between two links, at coordinate zero where the file is drawn. A link of a scene
may have several, of more types, and may be drawn at other coordinates. `steps` takes it apart: every step is
one joint that the format knows and one link that it moves; all of these but the last have no mass. This is
how the compiler sees such links too (`model/scene_trees.py`), so the motion is the same. What changes its
meaning on the way is noted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from worldline._src.linear_algebra import dot, unit_vector
from worldline._src.scene.base import fields
from worldline._src.scene.bodies import Body, BodyKind, Link
from worldline._src.scene.formats.rigid import is_identity, product, turn_about, unit
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.joints import FreeJoint, Joint, JointDof, JointType
from worldline._src.scene.layout import active_joints
from worldline._src.scene.poses import IDENTITY, Pose
from worldline._src.scene.values import SpringDamper, StiffnessDamping
from worldline._src.scene.vectors import Array

_EYE: Final = np.eye(3)
_LETTERS: Final = {"X": _EYE[0], "Y": _EYE[1], "Z": _EYE[2]}
_SPRING_PATHS: Final = {
    "damping": "spring_damper.coeff.d",
    "stiffness": "spring_damper.coeff.k",
    "rest_position": "spring_damper.target_pos",
}


@dataclass
class Step:
    """One joint, and the link it moves.

    Attributes:
        kind: Its type, one that the format knows.
        name: Its name; None when the scene has none.
        path: Where the joint stands in the scene.
        X_PL: The frame of the moved link in that of the link above it, at coordinate zero.
        p_L: The anchor of the joint in the moved link, m, (3,).
        axes_L: Its axes in the moved link, of any length.
        dofs: Limits, springs, damping and friction, one for each freedom.
        first_dof: Which freedom of the scene's joint its first one is.
        joint: The joint of the scene, None for a weld or a free base.
        pitch: Advance of a screw, m/rad.
        drives: The step before this one drives it, by this many m/rad.
    """

    kind: JointType
    name: str | None
    path: str
    X_PL: Pose
    p_L: Array = field(default_factory=lambda: np.zeros(3))
    axes_L: list[Array] = field(default_factory=list[Array])
    dofs: list[JointDof] = field(default_factory=list[JointDof])
    first_dof: int = 0
    joint: Joint | FreeJoint | None = None
    pitch: float = 0.0
    drives: float | None = None

    def dof_path(self, index: int, name: str) -> str:
        """Where a setting of a freedom stands in the scene."""
        joint = self.joint
        if isinstance(joint, Joint) and joint.dofs:
            return f"{self.path}.dofs[{self.first_dof + index}].{name}"
        return f"{self.path}.{_SPRING_PATHS.get(name, name)}"


def steps(
    link: Link, body: Body, path: str, known: Callable[[Joint], bool], notes: WriteLosses
) -> list[Step]:
    """The chain of joints between a link and the one above it, or the world.

    Args:
        link: The link.
        body: The body it belongs to.
        path: Where the link stands in the scene.
        known: Whether the format has such a joint.
        notes: What changes its meaning.
    """
    local = unit(link.local_translation, link.local_rotation)
    base = link is body.link
    if base and body.free is not None:
        for index in range(len(link.joints)):
            notes.left_out(f"{path}.joints[{index}]", "means nothing beside the free joint of its body")
        place = path.removesuffix(".link") + ".free"
        if body.kind is BodyKind.Static:
            notes.kept(place, "a free joint of a static body, which never moves: fixed to the world")
            return [Step(JointType.Fixed, body.free.name, place, local)]
        return [Step(JointType.Free, body.free.name, place, local, joint=body.free)]
    active = active_joints(link, body)
    moving = {id(joint) for joint in active}
    name = None
    for index, joint in enumerate(link.joints):
        if id(joint) in moving:
            continue
        if joint.type_ is JointType.Fixed and not active and index == 0:
            name = joint.name
        else:
            notes.left_out(f"{path}.joints[{index}]", "means nothing beside the other joints of its link")
    if not active:
        return [Step(JointType.Fixed, name, f"{path}.joints[0]" if link.joints else path, local)]
    found: list[Step] = []
    if base and active[0].type_ is JointType.Free and active[0].frozen is None:
        message = "its coordinates are the pose in the world, and no longer count from where it is drawn"
        notes.approximated(f"{path}.joints[{link.joints.index(active[0])}]", message)
    for index, joint in enumerate(link.joints):
        if id(joint) in moving:
            found += _expanded(joint, f"{path}.joints[{index}]", local, known, notes)
            local = IDENTITY
    return _welded(found)


def _welded(found: list[Step]) -> list[Step]:
    """A chain of nothing but frozen joints as one weld."""
    if any(step.kind is not JointType.Fixed for step in found):
        return found
    X_PL = found[0].X_PL
    for step in found[1:]:
        X_PL = product(X_PL, step.X_PL)
    return [replace(found[0], X_PL=X_PL)]


# one joint


def _expanded(
    joint: Joint, path: str, local: Pose, known: Callable[[Joint], bool], notes: WriteLosses
) -> list[Step]:
    anchor = unit(joint.pos, joint.orientation)
    whole = known(joint) and joint.frozen is None
    if whole:
        parts = [Step(joint.type_, joint.name, path, IDENTITY, axes_L=_axes(joint), pitch=joint.pitch)]
    else:
        parts = _elementary(joint, path, notes)
    dofs = dofs_of(joint, path, notes)
    start = 0
    for part in parts:
        part.joint, part.p_L = joint, anchor.position
        part.axes_L = [anchor.turn(axis) for axis in part.axes_L]
        part.first_dof = start
        count = 0 if part.drives is not None else len(dofs) if len(parts) == 1 else 1
        part.dofs = dofs[start : start + count]
        start += count
        part.X_PL, local = local, IDENTITY
    if joint.ref_ and joint.type_ in (JointType.Revolute, JointType.Slide):
        back = product(
            product(anchor, _motion(parts[0].kind, _axis(joint), -joint.ref_, 0.0)), anchor.inverse()
        )
        parts[0].X_PL = product(parts[0].X_PL, back)
        message = f"drawn at coordinate zero, as the format requires it, instead of {joint.ref_!r}"
        notes.approximated(f"{path}.ref_", message)
    if joint.frozen is not None:
        return _frozen(joint, parts, anchor, path, notes)
    if (
        whole
        and joint.type_ in (JointType.Ball, JointType.Free)
        and not is_identity(Pose(np.zeros(3), anchor.rotation))
    ):
        notes.approximated(f"{path}.orientation", "its coordinates are in the axes of the link")
    return parts


def _frozen(joint: Joint, parts: list[Step], anchor: Pose, path: str, notes: WriteLosses) -> list[Step]:
    """The parts as one weld at the coordinates they are frozen at."""
    q = list(joint.frozen or ())
    X_PL = parts[0].X_PL
    back = anchor.inverse()
    for index, part in enumerate(parts):
        if part.drives is not None:
            continue
        if part.kind in (JointType.Ball, JointType.Free):
            place = np.array(q[:-4]) if len(q) > 4 else np.zeros(3)
            motion = unit(place, np.array(q[-4:]))
        else:
            # the axes of the parts are those of the link by now
            axis = back.turn(part.axes_L[0])
            motion = _motion(part.kind, axis, q[index], joint.pitch)
        X_PL = product(X_PL, product(product(anchor, motion), back))
    notes.approximated(f"{path}.frozen", "a frozen joint is written as a fixed one")
    return [Step(JointType.Fixed, joint.name, path, X_PL, joint=joint)]


def _motion(kind: JointType, axis: Array, q: float, pitch: float) -> Pose:
    """The motion of a joint of one axis, in its own frame."""
    axis = _normal(axis)
    if kind is JointType.Slide:
        return Pose(q * axis, IDENTITY.rotation)
    turn = turn_about(axis, q)
    return Pose(pitch * q * axis, turn.rotation) if kind is JointType.Screw else turn


def _axis(joint: Joint) -> Array:
    return joint.axis if joint.axis.any() else _EYE[2]


def _normal(vector: Array) -> Array:
    return unit_vector(vector)


def _axes(joint: Joint) -> list[Array]:
    kind = joint.type_
    if kind in (JointType.Universal, JointType.Planar):
        return [_axis(joint), joint.axis2]
    return [_axis(joint)] if kind in (JointType.Revolute, JointType.Slide, JointType.Screw) else []


def _elementary(joint: Joint, path: str, notes: WriteLosses) -> list[Step]:
    """A joint as turns about one axis and slides along one, in their order; a few stay what they are."""
    kind = joint.type_
    turn, slide = JointType.Revolute, JointType.Slide
    if kind is JointType.Universal:
        parts = [(turn, _axis(joint)), (turn, joint.axis2)]
    elif kind is JointType.Planar:
        normal = _normal(_axis(joint))
        first = _normal(joint.axis2 - normal * dot(normal, joint.axis2))
        parts = [(slide, first), (slide, _normal(np.cross(normal, first))), (turn, normal)]
    elif kind is JointType.Euler:
        parts = [(turn, _LETTERS[letter]) for letter in joint.euler_order.name]
    elif kind is JointType.Translational:
        parts = [(slide, axis) for axis in _EYE]
    elif kind is JointType.Translational2D:
        parts = [(slide, _axis(joint)), (slide, joint.axis2)]
    elif kind is JointType.Cable:
        parts = [(slide, _axis(joint)), (turn, joint.axis2)]
    elif kind is JointType.D6:
        parts = [(turn if dof.angular else slide, dof.axis) for dof in joint.dofs]
    elif kind is JointType.Ball and joint.frozen is None:
        notes.approximated(path, "a ball joint is written as three turns about x, y and z")
        parts = [(turn, axis) for axis in _EYE]
    elif kind is JointType.Screw and joint.frozen is None:
        notes.approximated(path, "a screw is written as a turn and a slide that follows it")
        axis = _axis(joint)
        name = None if joint.name is None else f"{joint.name}_advance"
        return [
            Step(turn, joint.name, path, IDENTITY, axes_L=[axis]),
            Step(slide, name, path, IDENTITY, axes_L=[axis], drives=joint.pitch),
        ]
    else:
        if kind is JointType.Distance:
            notes.approximated(path, "a distance joint is written as a free one, without its bounds")
        free = kind in (JointType.Distance, JointType.Free)
        return [Step(JointType.Free if free else kind, joint.name, path, IDENTITY, axes_L=_axes(joint))]
    if len(parts) > 1 and joint.frozen is None and kind is not JointType.Ball:
        notes.kept(path, "a joint of several freedoms is written as a chain of joints and links without mass")
    names = [None if joint.name is None else f"{joint.name}_{k + 1}" for k in range(len(parts))]
    if len(parts) == 1:
        names = [joint.name]
    return [
        Step(part, name, path, IDENTITY, axes_L=[axis])
        for (part, axis), name in zip(parts, names, strict=True)
    ]


def dofs_of(joint: Joint, path: str, notes: WriteLosses) -> list[JointDof]:
    """The settings of every freedom of a joint; a spring by frequency cannot be expressed and is noted."""
    if joint.dofs:
        return list(joint.dofs)
    made = JointDof(
        pos_limit=joint.pos_limit,
        velocity_limit=joint.velocity_limit,
        acceleration_limit=joint.acceleration_limit,
        effort_limit=joint.effort_limit,
        friction_loss=joint.friction_loss,
        armature=joint.armature,
    )
    damper: SpringDamper | None = joint.spring_damper
    if damper is not None:
        coefficients = damper.coeff.value
        if isinstance(coefficients, StiffnessDamping):
            made.stiffness, made.damping = coefficients.k, coefficients.d
            made.rest_position = damper.target_pos if coefficients.k > 0.0 else 0.0
        else:
            message = "a spring given by its frequency depends on the inertia it meets"
            notes.left_out(f"{path}.spring_damper", message)
    return [made] * joint.full_sizes[1]


SAID: Final = frozenset(
    (
        *("name", "type_", "axis", "axis2", "pos", "orientation", "ref_", "pitch", "euler_order", "dofs"),
        *("pos_limit", "velocity_limit", "acceleration_limit", "effort_limit", "friction_loss", "armature"),
        *("spring_damper", "frozen"),
    )
)
"""Fields of a joint that its steps carry; `note_rest` looks after the settings of its freedoms."""


def note_rest(found: list[Step], said: Collection[str], notes: WriteLosses) -> None:
    """Notes what a format does not say of the joints of a link, `said` being the settings that it does."""
    noted: set[int] = set()
    for step in found:
        joint = step.joint
        if joint is not None and id(joint) not in noted:
            noted.add(id(joint))
            idle = _idle(joint, step, notes)
            notes.rest(joint, step.path, ("name", *idle) if isinstance(joint, FreeJoint) else (*SAID, *idle))
        # a joint without axes, and the plane of URDF, have no place for them
        axisless = not step.axes_L or step.kind is JointType.Planar
        for index, dof in enumerate(step.dofs):
            for name, known in fields(dof).items():
                if name in ("axis", "angular") or (name in said and not axisless):
                    continue
                if not known.is_default(getattr(dof, name)):
                    notes.left_out(step.dof_path(index, name))


def _idle(joint: Joint | FreeJoint, step: Step, notes: WriteLosses) -> list[str]:
    """Fields that mean nothing: how limits and friction answer that are not there."""
    dofs = [] if isinstance(joint, FreeJoint) else joint.dofs or [joint]
    rubs = any(dof.friction_loss for dof in dofs) or (isinstance(joint, FreeJoint) and joint.friction_loss)
    idle = [] if rubs else ["friction_damping"]
    if not any(dof.pos_limit.is_bounded for dof in dofs):
        idle += ["limit_force", "margin"]
    for name in idle:
        if name in fields(joint) and not fields(joint)[name].is_default(getattr(joint, name)):
            notes.kept(
                f"{step.path}.{name}", "how friction and limits answer is not written where there are none"
            )
    return idle


def unlimited(dof: JointDof) -> bool:
    """Whether a freedom has no end on either side."""
    return math.isinf(dof.pos_limit.lower) and math.isinf(dof.pos_limit.upper)
