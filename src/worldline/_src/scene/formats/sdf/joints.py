# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""SDF joints, in world axes at the pose in which the file is drawn.

What an axis is expressed in depends on the version: since 1.7 the frame it names, by default the joint's own;
in 1.5 and 1.6 the joint's, or the model's when `use_parent_model_frame` says so; before that always the
model's. Once a tree is known, a `SdfJoint` becomes a joint of the link below it. A link may also turn out to
hang on its child: then the joint is taken the other way round, with the same coordinate.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from worldline._src.linear_algebra import norm
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.formats.sdf.frames import MODEL, Scope
from worldline._src.scene.formats.sdf.nodes import Node, numbers_in
from worldline._src.scene.formats.xml import Attributes, Element, Log
from worldline._src.scene.joints import Joint, JointDof, JointType
from worldline._src.scene.kinds import WORLD
from worldline._src.scene.poses import IDENTITY, Pose
from worldline._src.scene.values import Range, SpringDampCoeff, SpringDamper, StiffnessDamping
from worldline._src.scene.vectors import Array

TYPES: Final = {
    "revolute": JointType.Revolute,
    "continuous": JointType.Revolute,
    "prismatic": JointType.Slide,
    "fixed": JointType.Fixed,
    "ball": JointType.Ball,
    "universal": JointType.Universal,
    "revolute2": JointType.Universal,
    "screw": JointType.Screw,
    "gearbox": JointType.Fixed,
}
_AXES: Final = {"fixed": 0, "ball": 0, "universal": 2, "revolute2": 2, "gearbox": 2}
_UNBOUNDED: Final = 1.0e16
LinkKey = tuple[Scope, str]


class Mimic(NamedTuple):
    """That an axis follows another: position = multiplier * (other - reference) + offset."""

    element: Element
    joint: str
    multiplier: float
    offset: float


class Axis(NamedTuple):
    """An axis of a joint.

    Attributes:
        direction: In world axes, (3,), of unit length.
        dof: Its limits, spring, damping and friction.
        mimic: Which joint it follows.
    """

    direction: Array
    dof: JointDof
    mimic: Mimic | None


class Gearbox(NamedTuple):
    """That two links turn together against a third: angle of child = -ratio * angle of parent."""

    reference: LinkKey
    ratio: float


class SdfJoint(NamedTuple):
    """A joint as the file has it.

    Attributes:
        element: Where it stands.
        scope: The model it belongs to.
        name: Its name in the model.
        kind: Its type in the words of the file.
        parent: The parent link, None for the world.
        child: The child link.
        frame: The joint frame in the world.
        axes: Its axes.
        pitch: Advance of a screw, m/rad.
        gearbox: Data of a gearbox.
        cuts: Whether the file requests to cut its loop here.
    """

    element: Element
    scope: Scope
    name: str
    kind: str
    parent: LinkKey | None
    child: LinkKey
    frame: Pose
    axes: list[Axis]
    pitch: float
    gearbox: Gearbox | None
    cuts: bool

    @property
    def is_plain(self) -> bool:
        """Whether nothing but free motion would be lost with its coordinate."""
        bare = JointDof()
        return all(axis.mimic is None and axis.dof == bare for axis in self.axes)


def read_joint(scope: Scope, name: str, element: Element, origin: Pose, log: Log) -> SdfJoint | None:
    """Reads a <joint> of a scope whose frame is at `origin` in the world; None after noting a problem."""
    node = Node(element, log)
    node.required_attribute("name")
    kind = node.required_attribute("type")
    if kind and kind not in TYPES:
        Attributes(element, log).choice("type", TYPES)
        return None
    words = [node.text("parent"), node.text("child")]
    for tag, word in zip(("parent", "child"), words, strict=True):
        if word is None:
            log.problem(element, f"<{tag}> is required")
    if words[1] == WORLD:
        log.problem(element, "the child is the world; allowed: a link")
    if not kind or words[0] is None or words[1] in (None, WORLD):
        return None
    before = len(log.problems)
    parent = scope.link_of(words[0], element)
    child = scope.link_of(words[1], element)
    frame = origin * scope.pose(name, element)
    axes: list[Any] = []
    for tag in ("axis", "axis2")[: _AXES.get(kind, 1)]:
        axes.append(_read_axis(scope, node, tag, kind, frame, origin))
    pitch = _pitch(node) if kind == "screw" else 0.0
    gearbox = _gearbox(node, scope) if kind == "gearbox" else None
    cuts = _must_cut(node)
    _finish(node, kind)
    if child is None or len(log.problems) > before:
        return None
    if parent == child:
        log.problem(element, f"parent and child are the same link {child[1]!r}")
        return None
    return SdfJoint(element, scope, name, kind, parent, child, frame, axes, pitch, gearbox, cuts)


def _finish(node: Node, kind: str) -> None:
    unused = f"a {kind} joint has no such thing"
    ignored = {
        "physics": "of one simulator",
        "sensor": "sensors of joints are not read",
        "plugin": "of a simulator",
    }
    if kind not in ("screw",):
        ignored |= dict.fromkeys(("thread_pitch", "screw_thread_pitch"), unused)
    if kind != "gearbox":
        ignored |= dict.fromkeys(("gearbox_ratio", "gearbox_reference_body"), unused)
    for tag, count in (("axis", 0), ("axis2", 1)):
        if _AXES.get(kind, 1) <= count:
            ignored[tag] = unused
    also = ["pose"]
    physics = node.element.find("physics")
    if physics is not None and _only_cuts(physics):
        del ignored["physics"]
        also.append("physics")
    node.finish(ignored=ignored, also=also, attributes=("name", "type"))


def _must_cut(node: Node) -> bool:
    physics = node.element.find("physics")
    simbody = None if physics is None else physics.find("simbody")
    return simbody is not None and Node(simbody, node.log).flag("must_be_loop_joint", False)


def _only_cuts(physics: Element) -> bool:
    """Whether the settings of simulators say nothing but where a loop is to be cut, which is heeded."""
    simbody = physics.children[0] if len(physics.children) == 1 else None
    return simbody is not None and [part.tag for part in simbody.children] == ["must_be_loop_joint"]


def _pitch(node: Node) -> float:
    """Advance in m/rad; the older element gives rad/m of a left-handed thread."""
    newer, older = node.real("screw_thread_pitch"), node.real("thread_pitch")
    if newer is not None:
        return newer / (2.0 * math.pi)
    if older is None:
        return 1.0 / (2.0 * math.pi)
    if older == 0.0:
        node.log.problem(node.element, "<thread_pitch>: given 0; allowed: any other number")
        return 0.0
    return -1.0 / older


def _gearbox(node: Node, scope: Scope) -> Gearbox | None:
    ratio = node.real("gearbox_ratio", 1.0)
    body = node.text("gearbox_reference_body")
    reference = None if body is None else scope.link_of(body, node.element)
    if reference is None:
        node.log.problem(node.element, "<gearbox_reference_body> is required, and must be a link")
        return None
    return Gearbox(reference, ratio)


# axes


def _read_axis(scope: Scope, joint: Node, tag: str, kind: str, frame: Pose, origin: Pose) -> Axis:
    node = joint.node(tag)
    if node is None:
        return Axis(frame.turn(np.array([0.0, 0.0, 1.0])), JointDof(), None)
    direction = _direction(scope, node, frame, origin)
    dof = JointDof()
    limit = node.node("limit")
    if limit is not None:
        _limits(limit, dof, kind)
    dynamics = node.node("dynamics")
    if dynamics is not None:
        _dynamics(dynamics, dof)
    mimic = _mimic(node)
    node.finish(ignored={"initial_position": "set the state, or a keyframe, instead"})
    return Axis(direction, dof, mimic)


def _direction(scope: Scope, node: Node, frame: Pose, origin: Pose) -> Array:
    xyz = node.child("xyz")
    values = [0.0, 0.0, 1.0]
    expressed_in = None
    if xyz is not None:
        values = numbers_in(xyz, node.log, 3) or values
        attributes = Attributes(xyz, node.log)
        expressed_in = attributes.text("expressed_in") or None
        attributes.finish(strict=False)
    if scope.version < (1, 5):
        expressed_in = expressed_in or MODEL
        node.child("use_parent_model_frame")
    elif scope.version < (1, 7) and node.flag("use_parent_model_frame", False):
        expressed_in = expressed_in or MODEL
    vector = np.array(values)
    length = norm(vector)
    if not length > 0.0:
        node.log.problem(xyz or node.element, "given a zero axis; allowed: a direction")
        return np.array([0.0, 0.0, 1.0])
    base = frame
    if expressed_in is not None:
        base = origin * (IDENTITY if expressed_in == MODEL else scope.pose(expressed_in, xyz or node.element))
    return base.turn(vector / length)


def _limits(node: Node, dof: JointDof, kind: str) -> None:
    lower = node.real("lower", -math.inf, infinite=True)
    upper = node.real("upper", math.inf, infinite=True)
    effort = node.real("effort", -1.0, infinite=True)
    velocity = node.real("velocity", -1.0, infinite=True)
    node.finish(ignored=dict.fromkeys(("stiffness", "dissipation"), "limits are as hard as the scene's"))
    if lower > upper:
        node.log.approximated(node.element, f"lower {lower} is above upper {upper}; exchanged")
        lower, upper = upper, lower
    # by the format such numbers mean no limit, and so do negative efforts and velocities
    lower = -math.inf if lower <= -_UNBOUNDED else lower
    upper = math.inf if upper >= _UNBOUNDED else upper
    if kind != "continuous":
        dof.pos_limit = Range(lower, upper)
    dof.effort_limit = math.inf if effort < 0.0 else effort
    dof.velocity_limit = math.inf if velocity < 0.0 else velocity


def _dynamics(node: Node, dof: JointDof) -> None:
    dof.damping = node.real("damping", 0.0)
    dof.friction_loss = node.real("friction", 0.0)
    dof.stiffness = node.real("spring_stiffness", 0.0)
    dof.rest_position = node.real("spring_reference", 0.0)
    node.finish()
    for tag, value in (
        ("damping", dof.damping),
        ("friction", dof.friction_loss),
        ("spring_stiffness", dof.stiffness),
    ):
        if value < 0.0:
            node.log.problem(node.element, f"<{tag}>: given {value}; allowed: 0 or more")
    if dof.stiffness == 0.0:
        # without a spring its rest means nothing
        dof.rest_position = 0.0


def _mimic(axis: Node) -> Mimic | None:
    node = axis.node("mimic")
    if node is None:
        return None
    joint = node.required_attribute("joint")
    if (node.attribute("axis") or "axis") != "axis":
        node.log.left_out(node.element, "only the first axis of a joint can be followed")
        return None
    multiplier = node.real("multiplier", 1.0)
    offset = node.real("offset", 0.0) - multiplier * node.real("reference", 0.0)
    node.finish()
    return Mimic(node.element, joint, multiplier, offset) if joint else None


# from the file's joint to a joint of a link


def make_joint(joint: SdfJoint, name: str, link: Pose, *, turned_around: bool = False) -> Joint:
    """The joint of a link at `link` in the world to the link above it.

    Args:
        joint: The joint of the file.
        name: Its name in the scene.
        link: The link that carries it: the child, or the parent when it is turned around.
        turned_around: The link hangs on its child; the coordinate stays the same.
    """
    made = Joint(name=name, type_=TYPES[joint.kind])
    if made.type_ is JointType.Fixed:
        return made
    back = link.inverse()
    made.pos = back.apply(joint.frame.position)
    sign = -1.0 if turned_around else 1.0
    axes = [sign * back.turn(axis.direction) for axis in joint.axes]
    dofs = [axis.dof for axis in joint.axes]
    if turned_around:
        # turning back undoes the second rotation first
        axes, dofs = axes[::-1], dofs[::-1]
    if axes:
        made.axis = axes[0]
    if len(axes) > 1:
        made.axis2 = axes[1]
        made.dofs = dofs if any(dof != JointDof() for dof in dofs) else []
    elif dofs:
        _give(made, dofs[0])
    made.pitch = joint.pitch
    return made


def make_free_standing(joint: SdfJoint, name: str) -> Joint:
    """The joint in its own frame, for a joint that the world owns."""
    made = make_joint(joint, name, joint.frame)
    made.pos = (0.0, 0.0, 0.0)
    return made


def _give(made: Joint, dof: JointDof) -> None:
    made.pos_limit = dof.pos_limit
    made.effort_limit, made.velocity_limit = dof.effort_limit, dof.velocity_limit
    made.friction_loss = dof.friction_loss
    if dof.damping > 0.0 or dof.stiffness > 0.0:
        spring = StiffnessDamping(k=dof.stiffness, d=dof.damping)
        coefficients = SpringDampCoeff.stiffness_damping(spring)
        made.spring_damper = SpringDamper(coeff=coefficients, target_pos=dof.rest_position)
