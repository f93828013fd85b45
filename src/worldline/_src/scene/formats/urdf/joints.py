# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""URDF joints.

The frame of a URDF joint is the frame of its child link at zero, and its axis stands in that frame; so the
link takes over the origin, and the joint keeps its anchor at the link's origin.
"""

from __future__ import annotations

import math
import sys
from typing import Final

import numpy as np

from worldline._src.linear_algebra import dot, norm
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.formats.urdf.shapes import note_unknown, only_child, read_origin
from worldline._src.scene.formats.xml import Attributes, Element, Log
from worldline._src.scene.joints import Joint, JointType
from worldline._src.scene.poses import Pose
from worldline._src.scene.values import Range, SpringDampCoeff, SpringDamper, StiffnessDamping
from worldline._src.scene.vectors import Array

TYPES: Final = {
    "revolute": JointType.Revolute,
    "continuous": JointType.Revolute,
    "prismatic": JointType.Slide,
    "fixed": JointType.Fixed,
    "floating": JointType.Free,
    "planar": JointType.Planar,
    "spherical": JointType.Ball,
}
_KNOWN: Final = (
    "origin",
    "parent",
    "child",
    "axis",
    "limit",
    "dynamics",
    "mimic",
    "safety_controller",
    "calibration",
)
_LIMITED: Final = ("revolute", "prismatic")
_CONTROLLER: Final = "belongs to a controller, which a scene does not describe"


class Mimic(NamedTuple):
    """That a joint follows another: position = multiplier * other + offset."""

    element: Element
    joint: str
    multiplier: float
    offset: float


class UrdfJoint(NamedTuple):
    """A joint as the file has it.

    Attributes:
        element: Where it stands.
        joint: The joint.
        parent: Name of the parent link.
        child: Name of the child link.
        pose: The child's frame in the parent's at zero.
        mimic: Which joint it follows.
    """

    element: Element
    joint: Joint
    parent: str
    child: str
    pose: Pose
    mimic: Mimic | None


def read_joint(element: Element, log: Log) -> UrdfJoint:
    """Reads a <joint>, noting whatever is wrong with it."""
    attributes = Attributes(element, log)
    name = attributes.required_text("name")
    kind = attributes.choice("type", {word: word for word in TYPES}, "")
    if "type" not in attributes:
        log.problem(element, f"attribute 'type' is required; allowed: {', '.join(TYPES)}")
    attributes.finish(strict=False)
    note_unknown(element, _KNOWN, log)
    for tag in ("safety_controller", "calibration"):
        for child in element.all(tag):
            log.left_out(child, _CONTROLLER)
    joint = Joint(name=name or None, type_=TYPES.get(kind, JointType.Fixed))
    if joint.type_ in (JointType.Revolute, JointType.Slide, JointType.Planar):
        joint.axis = _axis(element, log)
        if joint.type_ is JointType.Planar:
            joint.axis2 = across(joint.axis)
    _limits(element, kind, joint, log)
    _dynamics(element, joint, log)
    parent, child = (_link(element, tag, log) for tag in ("parent", "child"))
    if parent and parent == child:
        log.problem(element, f"parent and child are the same link {parent!r}")
    return UrdfJoint(element, joint, parent, child, read_origin(element, log), _mimic(element, joint, log))


def across(axis: Array) -> Array:
    """A direction at right angles to an axis, x where that is possible."""
    unit = np.array([1.0, 0.0, 0.0])
    length = norm(axis)
    if not length > 0.0:
        return unit
    along = axis / length
    if abs(along[0]) > 0.9:
        unit = np.array([0.0, 1.0, 0.0])
    sideways = unit - dot(unit, along) * along
    return sideways / norm(sideways)


def _link(element: Element, tag: str, log: Log) -> str:
    found = only_child(element, tag, log)
    if found is None:
        log.problem(element, f"<{tag} link=...> is required")
        return ""
    attributes = Attributes(found, log)
    name = attributes.required_text("link")
    attributes.finish(strict=False)
    return name


def _axis(element: Element, log: Log) -> Array:
    found = only_child(element, "axis", log)
    if found is None:
        return np.array([1.0, 0.0, 0.0])
    attributes = Attributes(found, log)
    axis = np.array(attributes.reals("xyz", 3, default=(1.0, 0.0, 0.0)))
    attributes.finish(strict=False)
    if not axis.any():
        attributes.reject("xyz", "given a zero axis; allowed: a direction")
        return np.array([1.0, 0.0, 0.0])
    return axis


def _limits(element: Element, kind: str, joint: Joint, log: Log) -> None:
    limit = only_child(element, "limit", log)
    if limit is None:
        if kind in _LIMITED:
            log.approximated(element, f"a {kind} joint without <limit>; taken as unlimited")
        return
    attributes = Attributes(limit, log)
    lower = attributes.real("lower", 0.0, infinite=True)
    upper = attributes.real("upper", 0.0, infinite=True)
    effort = attributes.real("effort", math.inf, infinite=True)
    velocity = attributes.real("velocity", math.inf, infinite=True)
    acceleration = attributes.real("acceleration", math.inf, infinite=True)
    attributes.finish(ignored={"jerk": "jerk is not limited"}, strict=False)
    lower, upper, effort, velocity = (_unbounded(value) for value in (lower, upper, effort, velocity))
    if kind in ("floating", "planar", "spherical"):
        log.left_out(limit, f"limits of a {kind} joint are not defined")
        return
    if joint.type_ is JointType.Fixed:
        # everybody writes them, and they mean nothing
        return
    if kind in _LIMITED:
        if lower > upper:
            log.approximated(limit, f"lower {lower} is above upper {upper}; exchanged")
            lower, upper = upper, lower
        joint.pos_limit = Range(lower, upper)
    for word, value in (("effort", effort), ("velocity", velocity), ("acceleration", acceleration)):
        if value < 0.0:
            attributes.reject(word, f"given {value}; allowed: 0 or more")
    joint.effort_limit, joint.velocity_limit = effort, velocity
    joint.acceleration_limit = acceleration
    if velocity == 0.0 or (kind in _LIMITED and lower == upper):
        # exporters write zeros where no limits were given, which would lock the joint
        log.kept(limit, "the joint cannot move: its limits leave no way or no speed")


def _unbounded(value: float) -> float:
    """Files that must give a number where there is no limit hold the largest one that there is."""
    return math.copysign(math.inf, value) if abs(value) >= sys.float_info.max else value


def _dynamics(element: Element, joint: Joint, log: Log) -> None:
    dynamics = only_child(element, "dynamics", log)
    if dynamics is None:
        return
    attributes = Attributes(dynamics, log)
    damping = attributes.real("damping", 0.0)
    friction = attributes.real("friction", 0.0)
    attributes.finish(strict=False)
    for word, value in (("damping", damping), ("friction", friction)):
        if value < 0.0:
            attributes.reject(word, f"given {value}; allowed: 0 or more")
    if joint.type_ is JointType.Fixed:
        return
    if damping > 0.0:
        spring = StiffnessDamping(k=0.0, d=damping)
        joint.spring_damper = SpringDamper(coeff=SpringDampCoeff.stiffness_damping(spring))
    joint.friction_loss = max(friction, 0.0)


def _mimic(element: Element, joint: Joint, log: Log) -> Mimic | None:
    found = only_child(element, "mimic", log)
    if found is None:
        return None
    attributes = Attributes(found, log)
    other = attributes.required_text("joint")
    multiplier = attributes.real("multiplier", 1.0)
    offset = attributes.real("offset", 0.0)
    attributes.finish(strict=False)
    if joint.type_ not in (JointType.Revolute, JointType.Slide):
        log.left_out(found, f"a {joint.type_.name} joint cannot follow another")
        return None
    return Mimic(found, other, multiplier, offset) if other else None
