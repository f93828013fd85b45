# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joints.

The format has hinges, slides, balls and free bases. Any other joint of a scene that is a sequence of axes
becomes as many joints of the file, named after it with a number: its coordinates stay what they are. A free
joint within a tree is three slides and a ball. A screw is a hinge and a slide that an equality ties together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from worldline._src.linear_algebra import dot, unit_vector
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.bodies import Body, Link
from worldline._src.scene.formats.markup import child, number
from worldline._src.scene.formats.mjcf.write_softness import write_friction, write_softness
from worldline._src.scene.formats.mjcf.writing import WITHOUT_EFFECT, Column, Words, Writing, preimage
from worldline._src.scene.joints import FreeJoint, Joint, JointDof, JointType
from worldline._src.scene.layout import active_joints
from worldline._src.scene.poses import Pose, multiply, normalized
from worldline._src.scene.values import Range, SpringDamper
from worldline._src.scene.vectors import Array

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_AXES: Final = {
    "x": np.array([1.0, 0.0, 0.0]),
    "y": np.array([0.0, 1.0, 0.0]),
    "z": np.array([0.0, 0.0, 1.0]),
}
_SAID: Final = frozenset(
    (
        *("name", "type_", "pos", "axis", "orientation", "axis2", "pitch", "euler_order", "distance_limit"),
        *("armature", "friction_loss", "friction_damping", "limit_force", "margin", "pos_limit", "ref_"),
        *("spring_damper", "actuator_force_limit", "actuator_gravcomp", "group", "dofs", "frozen"),
        "effort_limit",
    )
)
_DOF_SAID: Final = frozenset(
    (
        *("axis", "angular", "pos_limit", "stiffness", "rest_position", "damping", "friction_loss"),
        *("armature", "effort_limit", "effort_lower"),
    )
)
_USED: Final = {
    JointType.Screw: {"axis", "pitch"},
    JointType.Universal: {"axis", "axis2"},
    JointType.Planar: {"axis", "axis2"},
    JointType.Translational2D: {"axis", "axis2"},
    JointType.Cable: {"axis", "axis2"},
    JointType.Revolute: {"axis", "ref_"},
    JointType.Slide: {"axis", "ref_"},
    JointType.Euler: {"euler_order"},
    JointType.Distance: {"distance_limit"},
}


class Axis(NamedTuple):
    """One joint of the file: its kind, its axis in the joint frame, and its own settings if it has some."""

    kind: str
    axis: Array | None = None
    dof: JointDof | None = None
    factor: float = 1.0


def axes_of(joint: Joint) -> list[Axis]:
    """What a joint of the scene is made of, in order."""
    kind = joint.type_
    axis = joint.axis if joint.axis.any() else _AXES["z"]
    x, y, z = _AXES.values()
    if kind is JointType.Revolute:
        found = [Axis("hinge", axis)]
    elif kind is JointType.Slide:
        found = [Axis("slide", axis)]
    elif kind is JointType.Ball:
        found = [Axis("ball")]
    elif kind in (JointType.Free, JointType.Distance):
        found = [Axis("slide", x), Axis("slide", y), Axis("slide", z), Axis("ball")]
    elif kind is JointType.Screw:
        found = [Axis("hinge", axis), Axis("slide", axis, None, joint.pitch)]
    elif kind is JointType.Universal:
        found = [Axis("hinge", axis), Axis("hinge", joint.axis2)]
    elif kind is JointType.Planar:
        normal = unit_vector(axis)
        first = joint.axis2 - normal * dot(normal, joint.axis2)
        first = unit_vector(first)
        found = [Axis("slide", first), Axis("slide", np.cross(normal, first)), Axis("hinge", normal)]
    elif kind is JointType.Euler:
        found = [Axis("hinge", _AXES[letter]) for letter in joint.euler_order.name.lower()]
    elif kind is JointType.Translational:
        found = [Axis("slide", x), Axis("slide", y), Axis("slide", z)]
    elif kind is JointType.Translational2D:
        found = [Axis("slide", axis), Axis("slide", joint.axis2)]
    elif kind is JointType.Cable:
        found = [Axis("slide", axis), Axis("hinge", joint.axis2)]
    elif kind is JointType.D6:
        linear = [Axis("slide", dof.axis, dof) for dof in joint.dofs if not dof.angular]
        return linear + [Axis("hinge", dof.axis, dof) for dof in joint.dofs if dof.angular]
    else:
        return []
    if joint.dofs and kind not in (JointType.Ball, JointType.Free, JointType.Distance):
        own = [found[k]._replace(dof=joint.dofs[k]) for k in range(min(len(found), len(joint.dofs)))]
        found[: len(own)] = own
    return found


def write_joints(writing: Writing, element: Element, body: Body, link: Link, path: str) -> Pose | None:
    """The joints of a link; returns how far those that are frozen have moved it, None for not at all."""
    moved: Pose | None = None
    active = active_joints(link, body)
    for index, joint in enumerate(link.joints):
        here = f"{path}.joints[{index}]"
        if not any(joint is entry for entry in active):
            _note_inactive(writing, joint, here)
        elif joint.frozen is not None and not writing_any(writing, active[: _place(active, joint)]):
            shift = _frozen_pose(joint)
            moved = shift if moved is None else moved * shift
            writing.reworded(f"{here}.frozen", "the link is written where the frozen joint holds it")
            writing.columns[id(joint)] = []
        else:
            if joint.frozen is not None:
                writing.changed(
                    f"{here}.frozen", "a frozen joint after others that move is written as moving"
                )
            _write_joint(writing, element, joint, here)
    return moved


def writing_any(writing: Writing, joints: list[Joint]) -> bool:
    """Whether any of some joints is in the file."""
    return any(writing.columns.get(id(joint)) for joint in joints)


def _place(joints: list[Joint], joint: Joint) -> int:
    return next(k for k, entry in enumerate(joints) if entry is joint)


def _note_inactive(writing: Writing, joint: Joint, path: str) -> None:
    if joint.type_ is JointType.Fixed:
        writing.reworded(path, "a fixed joint is written by having none")
    else:
        writing.reworded(path, f"another joint takes its place: {WITHOUT_EFFECT}")


def _frozen_pose(joint: Joint) -> Pose:
    """Where a frozen joint holds its link, against where the link is drawn."""
    anchor = Pose(joint.pos, normalized(joint.orientation))
    total = anchor
    values, at = [*(joint.frozen or [])], 0
    for axis in axes_of(joint):
        if axis.axis is None:
            motion = Pose(np.zeros(3), normalized(np.array(values[at : at + 4])))
            at += 4
        else:
            direction = unit_vector(axis.axis)
            amount = axis.factor * (values[min(at, len(values) - 1)] - joint.ref_)
            at += 1
            if axis.kind == "slide":
                motion = Pose(direction * amount, np.array([0.0, 0.0, 0.0, 1.0]))
            else:
                turn = np.array([*(direction * np.sin(0.5 * amount)), np.cos(0.5 * amount)])
                motion = Pose(np.zeros(3), turn)
        total = total * motion
    back = anchor.inverse()
    return Pose(total.apply(back.position), normalized(multiply(total.rotation, back.rotation)))


def _write_joint(writing: Writing, element: Element, joint: Joint, path: str) -> None:
    axes = axes_of(joint)
    columns: list[Column] = []
    q = v = 0
    used = _USED.get(joint.type_, set())
    writing.idle(joint, path, {"axis", "axis2", "pitch", "euler_order", "distance_limit", "ref_"} - used)
    if len(axes) > 1:
        writing.reworded(f"{path}.type_", f"it is written as {len(axes)} joints, one for each axis")
    screw = joint.type_ is JointType.Screw
    for index, axis in enumerate(axes):
        name = joint.name
        if name is not None and len(axes) > 1:
            name = writing.fresh_name("joint", f"{name}_{index + 1}")
        follower = screw and index == 1
        if (follower and name is None) or (screw and name is None):
            name = writing.fresh_name("joint", "screw")
        words = _words(writing, joint, axis, name, path, index, bare=follower)
        child(element, "joint", words)
        column = Column(name, axis.kind, 0 if follower else q, 0 if follower else v, axis.factor)
        if axis.kind == "ball" and not joint._fields["orientation"].is_default(joint.orientation):
            column = column._replace(turn=Pose(joint.pos, normalized(joint.orientation)))
            writing.changed(
                f"{path}.orientation", "rotations of a ball joint are written in the axes of the link"
            )
        columns.append(column)
        q, v = q + column.sizes[0], v + column.sizes[1]
    writing.columns[id(joint)] = columns
    if joint.name is not None:
        writing.joints[joint.name] = columns[:1] if screw else columns
    if screw:
        _tie_screw(writing, columns, joint, path)
    writing.others(joint, path, _SAID)
    for axis in axes:
        if axis.dof is not None:
            place = next(k for k, dof in enumerate(joint.dofs) if dof is axis.dof)
            writing.others(axis.dof, f"{path}.dofs[{place}]", _DOF_SAID)
    if joint.dofs and not any(axis.dof is not None for axis in axes):
        writing.lost(f"{path}.dofs", "a ball joint has one setting for all directions")


def _tie_screw(writing: Writing, columns: list[Column], joint: Joint, path: str) -> None:
    turn, slide = columns
    words = Words(joint1=slide.name or "", joint2=turn.name or "")
    words.reals("polycoef", (0.0, joint.pitch), (0.0, 1.0))
    child(writing.section("equality"), "joint", words)
    writing.changed(
        f"{path}.type_", "a screw becomes a hinge and a slide that a soft constraint ties together"
    )


def _words(
    writing: Writing, joint: Joint, axis: Axis, name: str | None, path: str, index: int, *, bare: bool
) -> Words:
    """The attributes of one joint of the file; a bare one has an axis and nothing else."""
    words = Words()
    words.text("name", name)
    if axis.kind != "hinge":
        words["type"] = axis.kind
    frame = Pose(joint.pos, joint.orientation)
    turned = joint._fields["orientation"].is_default(joint.orientation)
    if not turned:
        frame = Pose(joint.pos, normalized(joint.orientation))
        if index == 0:
            writing.reworded(f"{path}.orientation", "axes are written in the frame of the link")
    words.reals("pos", joint.pos, (0.0, 0.0, 0.0))
    if axis.axis is not None:
        direction = writing.unit(axis.axis, f"{path}.axis")
        words.reals("axis", direction if turned else frame.turn(np.array(direction)), (0.0, 0.0, 1.0))
    if bare:
        return words
    dof = axis.dof
    limit = joint.pos_limit if dof is None else dof.pos_limit
    where = path if dof is None else f"{path}.dofs[{next(k for k, d in enumerate(joint.dofs) if d is dof)}]"
    words.real("ref", joint.ref_ if joint.type_ in (JointType.Revolute, JointType.Slide) else 0.0, 0.0)
    if axis.kind == "ball":
        _write_ball_limit(writing, words, joint, path)
    else:
        writing.range(words, "range", limit, f"{where}.pos_limit", absent=True)
    words.real("margin", joint.margin, 0.0)
    _write_limit_force(writing, words, joint, limit.is_bounded, path, index)
    words.real("armature", joint.armature if dof is None else dof.armature, 0.0)
    loss = joint.friction_loss if dof is None else dof.friction_loss
    words.real("frictionloss", loss, 0.0)
    if index == 0 or loss:
        write_friction(writing, words, joint.friction_damping, loss, f"{path}.friction_damping")
    _write_spring(writing, words, joint, dof, path, is_ball=axis.kind == "ball")
    if axis.kind != "ball":
        _write_force_limit(writing, words, joint, dof, where)
    elif joint.type_ is JointType.Ball:
        for field in ("actuator_force_limit", "effort_limit"):
            if not joint._fields[field].is_default(getattr(joint, field)):
                writing.lost(f"{path}.{field}", "a ball joint has no direction to be forced in")
    words.flag("actuatorgravcomp", joint.actuator_gravcomp, False)
    words.whole("group", joint.group, 0)
    return words


def _write_force_limit(writing: Writing, words: Words, joint: Joint, dof: JointDof | None, path: str) -> None:
    """Bounds on the forces of actuators; without any, the bound on commanded efforts comes closest."""
    if joint.actuator_force_limit is not None:
        force = f"{path.partition('.dofs')[0]}.actuator_force_limit"
        writing.range(words, "actuatorfrcrange", joint.actuator_force_limit, force)
    effort = joint.effort_limit if dof is None else dof.effort_limit
    least = -effort if dof is None or dof.effort_lower is None else dof.effort_lower
    if not (np.isfinite(effort) or np.isfinite(least)):
        return
    if joint.actuator_force_limit is None and np.isfinite(effort - least) and effort > least:
        words.reals("actuatorfrcrange", (least, effort))
        writing.changed(f"{path}.effort_limit", "it bounds the force of all actuators of the joint together")
    else:
        writing.lost(f"{path}.effort_limit")


def _write_limit_force(
    writing: Writing, words: Words, joint: Joint, limited: bool, path: str, index: int
) -> None:
    model = joint.limit_force
    if limited or model.variant == "impedance":
        write_softness(writing, words, model, f"{path}.limit_force", "solreflimit", "solimplimit")
    elif index == 0:
        writing.reworded(f"{path}.limit_force", "there are no limits that could be soft")


def _write_ball_limit(writing: Writing, words: Words, joint: Joint, path: str) -> None:
    limit = joint.pos_limit
    if not np.isfinite(limit.upper):
        if limit.is_bounded:
            writing.reworded(f"{path}.pos_limit", "only the upper end limits a ball joint")
        return
    if limit.lower != 0.0:
        writing.reworded(f"{path}.pos_limit", "only the upper end limits a ball joint")
    if limit.upper > 0.0:
        words.reals("range", (0.0, limit.upper))
    else:
        writing.lost(f"{path}.pos_limit", "a ball joint needs some room")


def _write_spring(
    writing: Writing, words: Words, joint: Joint, dof: JointDof | None, path: str, *, is_ball: bool
) -> None:
    if dof is not None:
        words.real("stiffness", dof.stiffness, 0.0)
        words.real("damping", dof.damping, 0.0)
        words.real("springref", dof.rest_position, 0.0)
        return
    damper: SpringDamper | None = joint.spring_damper
    if damper is None:
        return
    coefficients = damper.coeff.value
    rest = damper.target_pos
    if is_ball and rest:
        writing.reworded(
            f"{path}.spring_damper.target_pos", "a ball joint has no single coordinate to rest at"
        )
        rest = 0.0
    words.real("springref", rest, 0.0)
    if damper.coeff.variant == "stiffness_damping":
        if not (coefficients.k or coefficients.d or rest):
            writing.reworded(f"{path}.spring_damper", "a spring and damper of zeros is none")
        words.real("stiffness", coefficients.k, 0.0)
        words.real("damping", coefficients.d, 0.0)
    elif coefficients.w > 0.0 and coefficients.z > 0.0:
        w, z = coefficients.w, coefficients.z
        time = preimage(lambda t: 1.0 / (t * z), 1.0 / (w * z), w)
        words["springdamper"] = f"{number(time)} {number(z)}"
    else:
        writing.lost(
            f"{path}.spring_damper.coeff", "a spring by frequency needs a frequency and a damping ratio"
        )


def write_distance_limits(writing: Writing, parent: Element, element: Element, link: Link, path: str) -> None:
    """Bounds of a distance joint, as those of a tendon from the parent's anchor to the link's."""
    for index, joint in enumerate(link.joints):
        limit, here = joint.distance_limit, f"{path}.joints[{index}].distance_limit"
        if (
            joint.type_ is not JointType.Distance
            or not writing.columns.get(id(joint))
            or not limit.is_bounded
        ):
            continue
        if len(link.joints) > 1:
            writing.lost(here, "the anchor moves with the other joints of the link")
            continue
        local = Pose(link.local_translation, normalized(link.local_rotation))
        base, words = joint.name or "distance", Words()
        words["name"] = writing.fresh_name("tendon", base)
        writing.range(words, "range", Range(max(0.0, limit.lower), limit.upper), here)
        tendon = child(writing.section("tendon"), "spatial", words)
        for owner, place, letter in ((parent, local.apply(joint.pos), "a"), (element, joint.pos, "b")):
            site = Words(name=writing.fresh_name("site", f"{base}_{letter}"))
            site.reals("pos", place, (0.0, 0.0, 0.0))
            child(owner, "site", site)
            child(tendon, "site", {"site": site["name"]})
        writing.changed(here, "a tendon between two new sites limits the distance")


def write_free(writing: Writing, element: Element, body: Body, path: str) -> None:
    """The free base of a body."""
    free = body.free
    assert isinstance(free, FreeJoint)
    name = free.name
    if name is None and any(
        a.target.variant == "floating_base" and a.target.value == body.link.name
        for a in writing.world.actuators
    ):
        name = writing.fresh_name("joint", f"{body.link.name}_free")
        writing.reworded(f"{path}.free.name", f"an actuator refers to it, so it is named {name!r}")
    words = Words()
    words.text("name", name)
    words.real("armature", free.armature, 0.0)
    words.real("frictionloss", free.friction_loss, 0.0)
    write_friction(writing, words, free.friction_damping, free.friction_loss, f"{path}.free.friction_damping")
    words.real("damping", free.damping, 0.0)
    words.real("stiffness", free.stiffness, 0.0)
    if words.keys() <= {"name"}:
        child(element, "freejoint", words)
    else:
        child(element, "joint", {"name": words.pop("name", None), "type": "free", **words})
    column = Column(name, "free", 0, 0)
    writing.columns[id(free)] = [column]
    if free.name is not None:
        writing.joints[free.name] = [column]
    if name is not None and body.link.name is not None:
        writing.bases[body.link.name] = name
