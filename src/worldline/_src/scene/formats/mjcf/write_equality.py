# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Equality constraints, and what becomes of closures of loops and gears.

Those of the scene go back to what they were read from. A closure that shares a point or a pose becomes a
constraint between two new sites, a gear one between two joints; both are soft in MuJoCo where the scene has
them hard, which is noted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from worldline._src.scene.closures import (
    ClosureDynamicsPolicy,
    FrameRef,
    JointCoupler,
    LoopClosure,
    LoopClosureFamily,
)
from worldline._src.scene.constraints import EqualityTendon
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.mjcf.orientation import turn
from worldline._src.scene.formats.mjcf.write_bodies import frame_pose
from worldline._src.scene.formats.mjcf.write_softness import write_softness
from worldline._src.scene.formats.mjcf.writing import Words, Writing, preimage
from worldline._src.scene.joints import FreeJoint, Joint
from worldline._src.scene.poses import Pose, normalized

_POLYNOMIAL: Final = (0.0, 1.0, 0.0, 0.0, 0.0)
_CLOSURES: Final = {LoopClosureFamily.Rigid: "weld", LoopClosureFamily.Point: "connect"}
_CLOSURE_SAID: Final = frozenset(
    ("name", "frame_a", "frame_b", "family", "enabled", "dynamics", "spring", "allow_collision")
)
_COUPLER_SAID: Final = frozenset(
    ("name", "joint", "reference", "joint_dof", "reference_dof", "multiplier", "offset", "active", "spring")
)


def write_equalities(writing: Writing) -> None:
    """The `equality` section."""
    made = writing.world.equality_constraint_set
    writers: dict[str, Callable[[Writing, Any, str], None]] = {
        "connects": _write_connect,
        "welds": _write_weld,
        "joints": _write_joints,
        "tendons": _write_tendons,
    }
    for name in (*writers, *(made._fields.keys() - writers)):
        for index, constraint in enumerate(getattr(made, name)):
            path = f"$.equality_constraint_set.{name}[{index}]"
            if name in writers:
                writers[name](writing, constraint, path)
            else:
                writing.lost(path, "MJCF has no such constraint")
    for index, closure in enumerate(writing.world.loop_closures):
        _write_closure(writing, closure, f"$.loop_closures[{index}]")
    for index, coupler in enumerate(writing.world.couplers):
        _write_coupler(writing, coupler, f"$.couplers[{index}]")


def _start(writing: Writing, constraint: Any, path: str) -> Words:
    words = Words()
    words.text("name", constraint.name)
    for field in ("break_force", "break_torque"):
        if getattr(constraint, field):
            writing.lost(f"{path}.{field}", "constraints of a file do not break")
    return words


def _finish(writing: Writing, tag: str, words: Words, constraint: Any, path: str) -> None:
    words.flag("active", constraint.active, True)
    write_softness(writing, words, constraint.spring, f"{path}.spring")
    child(writing.section("equality"), tag, words)


def _write_ends(words: Words, kind: Any) -> bool:
    """The two bodies; returns whether it is two links, not sites."""
    value = kind.value
    if kind.variant == "site_pair":
        words["site1"], words["site2"] = value["site_a"], value["site_b"]
        return False
    words["body1"] = value["link_a"]
    words.text("body2", value["link_b"])
    return True


def _write_connect(writing: Writing, connect: Any, path: str) -> None:
    words = _start(writing, connect, path)
    if _write_ends(words, connect.connect_type):
        words.reals("anchor", connect.connect_type.value["anchor"])
    _finish(writing, "connect", words, connect, path)


def _write_weld(writing: Writing, weld: Any, path: str) -> None:
    words = _start(writing, weld, path)
    value = weld.weld_type.value
    if _write_ends(words, weld.weld_type):
        words.reals("anchor", value["anchor"], (0.0, 0.0, 0.0))
        relative = value["relative_pose"]
        if relative is not None:
            here = f"{path}.weld_type.LinkAnchor.relative_pose"
            x, y, z, w = writing.unit(relative[3:], here)
            rotation = x, y, z, w
            offset = turn(rotation, value["anchor"].tolist())
            place = [
                preimage(lambda x, o=o: x - o, p + o, p) for p, o in zip(relative[:3], offset, strict=True)
            ]
            words.reals("relpose", (*place, rotation[3], *rotation[:3]))
    words.real("torquescale", value["torque_scale"], 1.0)
    _finish(writing, "weld", words, weld, path)


def _write_joints(writing: Writing, constraint: Any, path: str) -> None:
    words = _start(writing, constraint, path)
    for attribute, name in (("joint1", constraint.joint_a), ("joint2", constraint.joint_b)):
        if name is None:
            continue
        columns = writing.joints.get(name, [])
        if not columns or columns[0].kind not in ("hinge", "slide"):
            writing.lost(path, f"the joint {name!r:.80} has not one axis in the file")
            return
        if len(columns) > 1:
            writing.reworded(path, "it ties the first axis of a joint that has several")
        words[attribute] = columns[0].name or ""
    words.reals("polycoef", constraint.polycoeff, _POLYNOMIAL, short=True)
    _finish(writing, "joint", words, constraint, path)


def endpoint(writing: Writing, reference: FrameRef) -> tuple[str | None, Pose]:
    """The link that an endpoint stands on, None for the world, and its pose there."""
    pose = Pose(reference.position, normalized(reference.orientation))
    if reference.frame is None:
        return None if reference.link == "world" else reference.link, pose
    frames = writing.world.frames
    link, base = frame_pose(frames, next(f for f in frames if f.name == reference.frame))
    return None if link == "world" else link, Pose(base.position, normalized(base.rotation)) * pose


def _write_tendons(writing: Writing, tendon: EqualityTendon, path: str) -> None:
    words = _start(writing, tendon, path)
    words["tendon1"] = tendon.tendon_a
    words.text("tendon2", tendon.tendon_b)
    words.reals("polycoef", tendon.polycoeff, _POLYNOMIAL, short=True)
    _finish(writing, "tendon", words, tendon, path)


def _write_closure(writing: Writing, closure: LoopClosure, path: str) -> None:
    tag = _CLOSURES.get(closure.family)
    if not closure.enabled or closure.dynamics is not ClosureDynamicsPolicy.Solve:
        writing.lost(path, "a closure that steps do not solve has no place in a file")
        return
    if tag is None:
        writing.lost(path, f"no equality keeps a closure of the family {closure.family.name}")
        return
    ends = [endpoint(writing, reference) for reference in (closure.frame_a, closure.frame_b)]
    base = closure.name or "closure"
    sites = [writing.add_site(*end, f"{base}_{letter}") for end, letter in zip(ends, "ab", strict=True)]
    words = Words(name=writing.fresh_name("equality", base), site1=sites[0], site2=sites[1])
    if closure.spring is not None:
        write_softness(writing, words, closure.spring, f"{path}.spring")
    child(writing.section("equality"), tag, words)
    writing.changed(path, f"it becomes a {tag} of two new sites" + _soft(closure))
    if not closure.allow_collision:
        names = [link or "world" for link, _ in ends]
        if names[0] != names[1]:
            child(writing.section("contact"), "exclude", {"body1": names[0], "body2": names[1]})
    writing.others(closure, path, _CLOSURE_SAID)


def _soft(constraint: Any) -> str:
    return ", softer than it was" if constraint.spring is None else ""


def _write_coupler(writing: Writing, coupler: JointCoupler, path: str) -> None:
    places = {}
    for field, number in (("joint", coupler.joint_dof), ("reference", coupler.reference_dof)):
        name = getattr(coupler, field)
        columns = writing.joints.get(name, [])
        if (
            number >= len(columns)
            or columns[number].kind not in ("hinge", "slide")
            or not columns[number].name
        ):
            writing.lost(path, f"the joint {name!r:.80} has no such axis in the file")
            return
        places[field] = columns[number].name
    # a polynomial starts at the drawn pose of both joints, a gear at their zeros
    zero_a, zero_b = (_drawn(writing, name) for name in (coupler.joint, coupler.reference))
    constant = coupler.offset + coupler.multiplier * zero_b - zero_a
    words = Words(name=writing.fresh_name("equality", coupler.name or f"{coupler.joint}_gear"))
    words["joint1"], words["joint2"] = places["joint"], places["reference"]
    words.reals("polycoef", (constant, coupler.multiplier), (0.0, 1.0))
    words.flag("active", coupler.active, True)
    if coupler.spring is not None:
        write_softness(writing, words, coupler.spring, f"{path}.spring")
    child(writing.section("equality"), "joint", words)
    writing.changed(path, "a gear becomes an equality of joints" + _soft(coupler))
    writing.others(coupler, path, _COUPLER_SAID)


def _drawn(writing: Writing, name: str) -> float:
    """The coordinate of a joint where the scene is drawn."""
    joints: list[Joint | FreeJoint] = [j for link in writing.world.hierarchy.links() for j in link.joints]
    found = next((joint for joint in joints if joint.name == name), None)
    return found.ref_ if isinstance(found, Joint) else 0.0


def write_distance_springs(writing: Writing) -> None:
    """Springs between two points, as tendons that run straight from one to the other."""
    for index, spring in enumerate(writing.world.distance_springs):
        path = f"$.distance_springs[{index}]"
        if not spring.active:
            writing.lost(path, "tendons cannot be switched off")
            continue
        base = spring.name or "spring"
        ends = [endpoint(writing, reference) for reference in (spring.frame_a, spring.frame_b)]
        sites = [writing.add_site(*end, f"{base}_{letter}") for end, letter in zip(ends, "ab", strict=True)]
        words = Words(name=writing.fresh_name("tendon", base))
        words.real("springlength", spring.rest_length)
        words.real("stiffness", spring.stiffness, 0.0)
        words.real("damping", spring.damping, 0.0)
        element = child(writing.section("tendon"), "spatial", words)
        for site in sites:
            child(element, "site", {"site": site})
        writing.reworded(path, "it is written as a tendon between two new sites")
