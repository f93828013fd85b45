# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Equality constraints: coincident points, points on paths, poses welded, joints and tendons coupled."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

from worldline._src.scene.base import Parts, Struct, field, optional, part, parts, value
from worldline._src.scene.closures import FrameRef
from worldline._src.scene.containers import ListOf
from worldline._src.scene.contexts import Probe
from worldline._src.scene.kinds import FLAG, NON_NEGATIVE, POSITIVE, REAL
from worldline._src.scene.texts import Name, Ref
from worldline._src.scene.values import ImpedanceSpring
from worldline._src.scene.variant import Named, Variant, case
from worldline._src.scene.vectors import VECTOR3, Array, Numbers, VectorLike

PointsLike = Sequence[VectorLike] | Array
"""Points, (n, 3)."""
_LINK = Ref("link")
_SITE = Ref("site")


class ConnectConstraintType(Variant):
    """Which two points coincide."""

    @case(Named(("link_b",), link_a=_LINK, link_b=_LINK, anchor=VECTOR3))
    @staticmethod
    def link_anchor(link_a: str, anchor: VectorLike, link_b: str | None = None) -> ConnectConstraintType:
        """The point `anchor`, m in the frame of link a, (3,), with where it lies on link b.

        None for link b is the world.
        """
        return ConnectConstraintType._make("link_anchor", **locals())

    @case(Named(site_a=_SITE, site_b=_SITE))
    @staticmethod
    def site_pair(site_a: str, site_b: str) -> ConnectConstraintType:
        """The origins of two sites."""
        return ConnectConstraintType._make("site_pair", **locals())


class WeldConstraintType(Variant):
    """Which two poses are welded together.

    `torque_scale` is the weight of the rotation rows against those of translation, m.
    """

    @case(
        Named(
            ("link_b", "relative_pose"),
            link_a=_LINK,
            link_b=_LINK,
            anchor=VECTOR3,
            relative_pose=Numbers(7),
            torque_scale=REAL,
        )
    )
    @staticmethod
    def link_anchor(
        link_a: str,
        anchor: VectorLike,
        torque_scale: float,
        link_b: str | None = None,
        relative_pose: VectorLike | None = None,
    ) -> WeldConstraintType:
        """Link b in the frame of link a: place and xyzw, (7,), None for that of the start.

        `anchor` is the welded point in the frame of link b, m, (3,). None for link b is the world.
        """
        return WeldConstraintType._make("link_anchor", **locals())

    @case(Named(site_a=_SITE, site_b=_SITE, torque_scale=REAL))
    @staticmethod
    def site_pair(site_a: str, site_b: str, torque_scale: float) -> WeldConstraintType:
        """Two sites, one on the other."""
        return WeldConstraintType._make("site_pair", **locals())


class _Equality(Struct):
    active: bool = field(default=True, doc="Whether it acts.")
    name: str | None = optional(Name("equality"), "Name.")
    spring: ImpedanceSpring = part(ImpedanceSpring, "Softness.")
    break_force: float = value(
        NON_NEGATIVE, 0.0, "Force at which it breaks, N, or generalized force of a joint; 0 is never."
    )
    break_torque: float = value(NON_NEGATIVE, 0.0, "Torque at which a weld breaks, N m; 0 is never.")


class EqualityConnect(_Equality):
    """Holds two points together."""

    connect_type: ConnectConstraintType = field(
        default_factory=lambda: ConnectConstraintType.link_anchor("", (0.0, 0.0, 0.0)), doc="Which points."
    )


class EqualityWeld(_Equality):
    """Holds two poses together."""

    weld_type: WeldConstraintType = field(
        default_factory=lambda: WeldConstraintType.link_anchor("", (0.0, 0.0, 0.0), 1.0), doc="Which poses."
    )


class EqualityJoint(_Equality):
    """Makes the coordinate of joint a a polynomial of that of joint b, or holds it still."""

    joint_a: str = value(Ref("joint"), "", "The joint that follows.")
    joint_b: str | None = optional(Ref("joint"), "The joint that leads, or None.")
    polycoeff: list[float] = field(
        default=(0.0,) * 5,
        converter=Numbers(5),
        doc="Coordinate of a as a polynomial of b, both from the reference pose, constant first.",
    )


class EqualityTendon(_Equality):
    """Makes the length of tendon a a polynomial of that of tendon b, or holds it still."""

    tendon_a: str = value(Ref("tendon"), "", "The tendon that follows.")
    tendon_b: str | None = optional(Ref("tendon"), "The tendon that leads, or None.")
    polycoeff: list[float] = field(
        default=(0.0,) * 5,
        converter=Numbers(5),
        doc="Length of a as a polynomial of b, both from the reference pose, constant first.",
    )


class PathShape(Variant):
    """Where a point is kept, in the frame of the path."""

    plane = case(None, "The plane of x and y.")

    @case(POSITIVE)
    @staticmethod
    def circle(radius: float) -> PathShape:
        """The circle about z in the plane of x and y, m."""
        return PathShape._make("circle", radius)

    @case(Named({"closed": lambda: False}, points=ListOf(VECTOR3), closed=FLAG))
    @staticmethod
    def spline(points: PointsLike, closed: bool = False) -> PathShape:
        """A cubic spline through points, m, (n, 3).

        An open one has no curvature at its ends and goes on along its tangents. A closed one comes back from
        the last point to the first, which is not given twice. Where it crosses itself the nearest branch
        counts.
        """
        return PathShape._make("spline", **locals())


class EqualityPath(_Equality):
    """Keeps a point of one link on a plane or a curve that is fixed to another, or to the world.

    Example:
        >>> from worldline.msd import EqualityPath, FrameRef, PathShape
        >>> EqualityPath(point=FrameRef(link="bead"), path=PathShape.circle(0.5)).path.variant
        'circle'
    """

    point: FrameRef = part(FrameRef, "Its origin is the point that is kept.")
    frame: FrameRef = part(FrameRef, "The frame that the path is given in.")
    path: PathShape = part(PathShape.plane, "Plane or curve.")


class EqualityConstraintSet(Struct):
    """All equality constraints of a scene."""

    connects: Parts[EqualityConnect] = parts(EqualityConnect, "Points.")
    joints: Parts[EqualityJoint] = parts(EqualityJoint, "Joints.")
    welds: Parts[EqualityWeld] = parts(EqualityWeld, "Poses.")
    tendons: Parts[EqualityTendon] = parts(EqualityTendon, "Tendons.")
    paths: Parts[EqualityPath] = parts(EqualityPath, "Points on planes and curves.")


def _follows(first: str, second: str) -> Callable[[Any, Probe, str], None]:
    """What follows must not be what leads."""

    def rule(equality: Any, probe: Probe, path: str) -> None:
        a, b = getattr(equality, first), getattr(equality, second)
        if a is not None and a == b:
            probe.reject(f"{path}.{second}", f"{a!r} twice", "two different objects")

    return rule


def _path(equality: EqualityPath, probe: Probe, path: str) -> None:
    if equality.point.owner == equality.frame.owner:
        probe.reject(f"{path}.frame", f"{equality.frame.owner} twice", "two different links")
    if equality.path.variant == "spline":
        points, closed = equality.path.value["points"], equality.path.value["closed"]
        ring = [*points, points[0]] if closed and points else points
        if len(points) < (3 if closed else 2) or any((a == b).all() for a, b in itertools.pairwise(ring)):
            given = f"{len(points)} points" if len(points) < 3 else "equal neighbours"
            allowed = f"at least {3 if closed else 2} points, neighbours apart"
            probe.reject(f"{path}.path.Spline.points", given, allowed)


EQUALITY_RULES: Final[dict[type, Callable[[Any, Probe, str], None]]] = {
    EqualityJoint: _follows("joint_a", "joint_b"),
    EqualityTendon: _follows("tendon_a", "tendon_b"),
    EqualityPath: _path,
}
"""What valid equalities must keep beside the kinds of their fields."""
