# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Equality constraints."""

from __future__ import annotations

from typing import Any, Final

from worldline._src.scene import constraints
from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.orientation import from_wxyz, turn
from worldline._src.scene.formats.mjcf.scopes import Reference
from worldline._src.scene.formats.mjcf.solver import read_spring
from worldline._src.scene.formats.xml import Attributes, Element

_ENDS: Final = {
    "connect": (("body1", "link"), ("body2", "link"), ("site1", "site"), ("site2", "site")),
    "weld": (("body1", "link"), ("body2", "link"), ("site1", "site"), ("site2", "site")),
    "joint": (("joint1", "joint"), ("joint2", "joint")),
    "tendon": (("tendon1", "tendon"), ("tendon2", "tendon")),
}
_POLYNOMIAL: Final = (0.0, 1.0, 0.0, 0.0, 0.0)


def references(element: Element) -> list[Reference]:
    """What an equality constraint refers to."""
    return [
        Reference(element, name, (space,), element.get(name) or "")
        for name, space in _ENDS.get(element.tag, ())
        if element.get(name)
    ]


def read_equalities(reading: Reading) -> None:
    """All `equality` sections."""
    made = reading.world.equality_constraint_set
    lists: dict[str, list[Any]] = {
        "connect": made.connects,
        "weld": made.welds,
        "joint": made.joints,
        "tendon": made.tendons,
    }
    for element, scope, wanted in reading.members("equality", references):
        if element.tag not in lists:
            reading.log.left_out(
                element, "constraints on deformable objects, or of older versions of the format"
            )
            continue
        a = reading.attributes(element, scope, tag="equality")
        ends = {r.attribute: reading.names.resolve(scope, r) for r in wanted}
        a.mark(*(name for name, _ in _ENDS[element.tag]))
        if element.tag in ("connect", "weld"):
            constraint = _read_bodies(a, ends)
        else:
            constraint = _read_scalars(a, ends)
        if constraint is None:
            continue
        constraint.name = reading.names.own(scope, element, "equality")
        constraint.active = a.flag("active", True)
        constraint.spring = read_spring(a)
        reading.finish(a)
        lists[element.tag].append(constraint)


def _read_bodies(
    a: Attributes, ends: dict[str, str | None]
) -> constraints.EqualityConnect | constraints.EqualityWeld | None:
    connect = a.element.tag == "connect"
    anchor = a.reals("anchor", 3)
    pose = a.reals("relpose", 7)
    scale = a.real("torquescale", 1.0)
    if "site1" in ends or "site2" in ends:
        if set(ends) != {"site1", "site2"} or anchor is not None or pose is not None:
            a.log.problem(a.element, "given a site and something else; allowed: two sites, or bodies")
            return None
        first, second = ends["site1"] or "", ends["site2"] or ""
        if connect:
            return constraints.EqualityConnect(
                connect_type=constraints.ConnectConstraintType.site_pair(first, second)
            )
        return constraints.EqualityWeld(
            weld_type=constraints.WeldConstraintType.site_pair(first, second, scale)
        )
    if "body1" not in ends:
        a.log.problem(a.element, "attribute 'body1' is required, or two sites")
        return None
    first, second = ends["body1"] or "", ends.get("body2")
    if connect:
        if anchor is None:
            a.log.problem(a.element, "attribute 'anchor' is required with bodies")
            return None
        return constraints.EqualityConnect(
            connect_type=constraints.ConnectConstraintType.link_anchor(first, anchor, second)
        )
    anchor = anchor or [0.0, 0.0, 0.0]
    relative = None if pose is None else _relative_pose(pose, anchor)
    kind = constraints.WeldConstraintType.link_anchor(first, anchor, scale, second, relative)
    return constraints.EqualityWeld(weld_type=kind)


def _relative_pose(pose: list[float], anchor: list[float]) -> list[float] | None:
    """Link b seen from link a; the file gives where a sees the anchor, and how b is turned.

    A zero quaternion stands for the pose of the start.
    """
    rotation = from_wxyz(pose[3:])
    if rotation is None:
        return None
    offset = turn(rotation, anchor)
    return [*(pose[i] - offset[i] for i in range(3)), *rotation]


def _read_scalars(
    a: Attributes, ends: dict[str, str | None]
) -> constraints.EqualityJoint | constraints.EqualityTendon | None:
    tag = a.element.tag
    first = ends.get(f"{tag}1")
    if first is None:
        if f"{tag}1" not in ends:
            a.log.problem(a.element, f"attribute '{tag}1' is required")
        return None
    coefficients = a.reals("polycoef", 1, 5, default=_POLYNOMIAL)
    second = ends.get(f"{tag}2")
    if tag == "joint":
        return constraints.EqualityJoint(joint_a=first, joint_b=second, polycoeff=coefficients)
    return constraints.EqualityTendon(tendon_a=first, tendon_b=second, polycoeff=coefficients)
