# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""SDF joints; `joints.py` reads them back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from worldline._src.scene.formats.chains import Step, unlimited
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.rigid import finite, finites
from worldline._src.scene.formats.sdf.write_names import Place
from worldline._src.scene.formats.sdf.write_values import put, write_pose
from worldline._src.scene.joints import Joint, JointDof, JointType
from worldline._src.scene.kinds import WORLD
from worldline._src.scene.poses import IDENTITY, Pose

if TYPE_CHECKING:
    from lxml.etree import _Element as XmlElement

DOF_SAID: Final = (
    *(
        "pos_limit",
        "velocity_limit",
        "effort_limit",
        "damping",
        "friction_loss",
        "stiffness",
        "rest_position",
    ),
)
"""Settings of a freedom that an SDF axis has."""
WORDS: Final = {
    JointType.Revolute: "revolute",
    JointType.Slide: "prismatic",
    JointType.Fixed: "fixed",
    JointType.Ball: "ball",
    JointType.Universal: "universal",
    JointType.Screw: "screw",
}


def is_known(joint: Joint) -> bool:
    """Whether SDF has such a joint."""
    return joint.type_ in WORDS


def new_joint(place: Place, kind: str, parent: Place | None, below: Place, pose: Pose) -> XmlElement:
    """A <joint> with its ends and the pose of its frame in the child, without axes."""
    made = child(place.scope.element, "joint", {"name": place.name, "type": kind})
    write_pose(made, pose)
    put(made, "parent", WORLD if parent is None else seen(parent, place))
    put(made, "child", seen(below, place))
    return made


def seen(link: Place, place: Place) -> str:
    """What a link is called where a joint stands."""
    name = link.seen_from(place.scope)
    assert name is not None
    return name


def write_joint(place: Place, step: Step, parent: Place | None, below: Place) -> list[XmlElement]:
    """Writes a <joint>; returns its axes.

    Args:
        place: Where the joint stands, and its name.
        step: The joint.
        parent: The link above, None for the world.
        below: The link that it moves.
    """
    word = WORDS[step.kind]
    if step.kind is JointType.Revolute and (not step.dofs or unlimited(step.dofs[0])):
        word = "continuous"
    made = new_joint(place, word, parent, below, Pose(step.p_L, IDENTITY.rotation))
    if step.kind is JointType.Screw:
        put(made, "screw_thread_pitch", finite(2.0 * math.pi * step.pitch))
    axes: list[XmlElement] = []
    for tag, axis, index in zip(("axis", "axis2"), step.axes_L, range(2), strict=False):
        dof = step.dofs[index] if index < len(step.dofs) else JointDof()
        axes.append(write_axis(made, tag, axis.tolist(), dof))
    return axes


def write_axis(joint: XmlElement, tag: str, axis: list[float], dof: JointDof) -> XmlElement:
    """An axis in the frame of the joint, with its limits, spring, damping and friction."""
    made = child(joint, tag)
    put(made, "xyz", finites(axis))
    limits = {
        "lower": dof.pos_limit.lower,
        "upper": dof.pos_limit.upper,
        "effort": dof.effort_limit,
        "velocity": dof.velocity_limit,
    }
    limits = {name: value for name, value in limits.items() if math.isfinite(value)}
    if limits:
        element = child(made, "limit")
        for name, value in limits.items():
            put(element, name, finite(value))
    dynamics = {
        "damping": dof.damping,
        "friction": dof.friction_loss,
        "spring_reference": dof.rest_position if dof.stiffness else 0.0,
        "spring_stiffness": dof.stiffness,
    }
    dynamics = {name: value for name, value in dynamics.items() if value}
    if dynamics:
        element = child(made, "dynamics")
        for name, value in dynamics.items():
            put(element, name, finite(value))
    return made


def close_loop(joint: XmlElement) -> None:
    """Asks readers to cut the loop that a joint closes at this joint."""
    put(child(child(joint, "physics"), "simbody"), "must_be_loop_joint", "true")
