# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""URDF joints; `urdf/joints.py` reads them back."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Final

import numpy as np

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.formats.chains import Step, unlimited
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.rigid import finite, finites
from worldline._src.scene.formats.urdf.joints import across
from worldline._src.scene.formats.urdf.write_shapes import write_origin
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.joints import Joint, JointDof, JointType
from worldline._src.scene.poses import Pose
from worldline._src.scene.world import World

if TYPE_CHECKING:
    from lxml.etree import _Element as XmlElement

DOF_SAID: Final = (
    *("pos_limit", "velocity_limit", "effort_limit", "acceleration_limit"),
    *("damping", "friction_loss"),
)
"""Settings of a freedom that a URDF joint has."""
_WORDS: Final = {
    JointType.Revolute: "revolute",
    JointType.Slide: "prismatic",
    JointType.Fixed: "fixed",
    JointType.Free: "floating",
    JointType.Planar: "planar",
}


class Mimic(NamedTuple):
    """That a joint follows another: position = multiplier * other + offset."""

    joint: str
    multiplier: float
    offset: float


def is_known(joint: Joint) -> bool:
    """Whether URDF has such a joint."""
    if joint.type_ is not JointType.Planar:
        return joint.type_ in _WORDS
    # the directions in the plane are the reader's choice, and nothing else can be said of them
    turn = Pose(np.zeros(3), joint.orientation)
    axis, first = turn.turn(joint.axis), turn.turn(joint.axis2)
    plain = Joint(name=joint.name, type_=joint.type_, axis=joint.axis, axis2=joint.axis2)
    plain.pos, plain.orientation = joint.pos, joint.orientation
    return joint == plain and np.allclose(across(axis), first, rtol=0.0, atol=1.0e-12)


def write_joint(
    root: XmlElement, step: Step, name: str, ends: tuple[str, str], origin: Pose, mimic: Mimic | None
) -> None:
    """Writes a <joint>.

    Args:
        root: The robot.
        step: The joint.
        name: Its name in the file.
        ends: The names of the parent and the child link.
        origin: The frame of the child in that of the parent, which is the joint's.
        mimic: Which joint it follows.
    """
    dof = step.dofs[0] if step.dofs else JointDof()
    word = _WORDS[step.kind]
    if step.kind is JointType.Revolute and unlimited(dof):
        word = "continuous"
    made = child(root, "joint", {"name": name, "type": word})
    write_origin(made, origin)
    child(made, "parent", {"link": ends[0]})
    child(made, "child", {"link": ends[1]})
    if step.axes_L:
        child(made, "axis", {"xyz": finites(step.axes_L[0])})
    if step.kind in (JointType.Revolute, JointType.Slide):
        _limit(made, word, dof)
        if dof.damping or dof.friction_loss:
            damping = finite(dof.damping) if dof.damping else None
            friction = finite(dof.friction_loss) if dof.friction_loss else None
            child(made, "dynamics", {"damping": damping, "friction": friction})
    if mimic is not None:
        offset = finite(mimic.offset) if mimic.offset else None
        child(made, "mimic", {"joint": mimic.joint, "multiplier": finite(mimic.multiplier), "offset": offset})


def _limit(joint: XmlElement, word: str, dof: JointDof) -> None:
    """A <limit>; other readers insist on effort and velocity, and do not know infinity."""
    rest = (dof.effort_limit, dof.velocity_limit, dof.acceleration_limit)
    if word == "continuous" and all(math.isinf(value) for value in rest):
        return
    ends = {} if word == "continuous" else {"lower": dof.pos_limit.lower, "upper": dof.pos_limit.upper}
    numbers = {**ends, "effort": dof.effort_limit, "velocity": dof.velocity_limit}
    texts: dict[str, str | None] = {key: _bounded(value) for key, value in numbers.items()}
    if math.isfinite(dof.acceleration_limit):
        texts["acceleration"] = finite(dof.acceleration_limit)
    child(joint, "limit", texts)


def _bounded(value: float) -> str:
    return finite(math.copysign(sys.float_info.max, value) if math.isinf(value) else value)


def mimics(
    world: World, named: dict[tuple[str, int], tuple[Step, str]], notes: WriteLosses
) -> dict[str, Mimic]:
    """Which joints of the file follow which.

    Args:
        world: The scene.
        named: The joint of the file for every freedom of every named joint of the scene, and its name.
        notes: What cannot be said, or not in full.
    """
    found: dict[str, Mimic] = {}

    def follow(path: str, ends: tuple[tuple[str, int], tuple[str, int]], law: tuple[float, float]) -> bool:
        (first, follower), (second, leader) = (named.get(end, (None, "")) for end in ends)
        turns = (JointType.Revolute, JointType.Slide)
        if first is None or second is None or first.kind not in turns or second.kind not in turns:
            notes.left_out(path, "URDF couples joints of one freedom only")
        elif follower in found:
            notes.left_out(path, f"the joint {follower!r} follows another one already")
        else:
            found[follower] = Mimic(leader, *law)
            return True
        return False

    for index, coupler in enumerate(world.couplers):
        path = f"$.couplers[{index}]"
        ends = ((coupler.joint, coupler.joint_dof), (coupler.reference, coupler.reference_dof))
        if not coupler.active:
            notes.left_out(path, "it is switched off, which URDF cannot say")
        elif follow(path, ends, (coupler.multiplier, coupler.offset)):
            if coupler.mode.name != "Mimic":
                notes.approximated(f"{path}.mode", "the leading joint of a <mimic> feels nothing of it")
            if coupler.name != f"{coupler.joint}_mimic":
                notes.kept(f"{path}.name", "a <mimic> has no name of its own")
            said = ("name", "joint", "reference", "joint_dof", "reference_dof", "multiplier", "offset")
            notes.rest(coupler, path, (*said, "mode", "active"))
    for index, equality in enumerate(world.equality_constraint_set.joints):
        path = f"$.equality_constraint_set.joints[{index}]"
        offset, multiplier, *higher = equality.polycoeff
        if not equality.active or equality.joint_b is None or any(higher):
            notes.left_out(path)
        elif follow(path, ((equality.joint_a, 0), (equality.joint_b, 0)), (multiplier, offset)):
            notes.approximated(path, "written as a <mimic>, which the leading joint feels nothing of")
    return found
