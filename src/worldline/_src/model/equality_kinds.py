# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Equality constraints of a scene in a Model: the row that each kind becomes, and what kernels call it."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from worldline._src.kernels.constraints.equality import kinds as code
from worldline._src.linear_algebra import solve
from worldline._src.model.scene_index import SceneIndex
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.constraints import (
    EqualityConnect,
    EqualityJoint,
    EqualityPath,
    EqualityTendon,
    EqualityWeld,
)
from worldline._src.spatial.poses import IDENTITY, Array, compose, inverse, transform


class EqualityKind(IntEnum):
    """What an equality makes equal."""

    CONNECT = 0
    """The points of both ends."""
    WELD = 1
    """The poses of both ends."""
    JOINT = 2
    """A coordinate and a polynomial of another."""
    TENDON = 3
    """A length and a polynomial of another."""
    ON_PLANE = 4
    """The point of the first end and the plane of x and y of the second."""
    ON_CIRCLE = 5
    """The same and a circle about z."""
    ON_SPLINE = 6
    """The same and a spline."""


End = tuple[int, Array]
"""A body, -1 for the world, and a pose in it."""
_NOWHERE: End = (-1, IDENTITY)


class EqualityEnds:
    """The two ends of points and welds; what a scene leaves open is taken from the drawn pose."""

    def __init__(self, index: SceneIndex, body_q: Array) -> None:
        self.index = index
        self.body_q = body_q

    def _body(self, name: str | None) -> int:
        return -1 if name is None else self.index.body[name]

    def _site(self, name: str) -> End:
        body, site = self.index.sites[self.index.site[name]]
        pose = transform(np.array([*site.position.tolist(), *site.orientation.tolist()]), "site")
        return body, pose

    def _sites(self, value: Any) -> tuple[End, End]:
        return self._site(value["site_a"]), self._site(value["site_b"])

    def _links(self, value: Any) -> tuple[int, int, Array]:
        """Both bodies, and the pose of the anchor."""
        anchor = np.array([*value["anchor"].tolist(), 0.0, 0.0, 0.0, 1.0])
        return self._body(value["link_a"]), self._body(value["link_b"]), anchor

    def _X_W(self, body: int) -> Array:
        return IDENTITY if body < 0 else self.body_q[body]

    def connect(self, equality: EqualityConnect) -> tuple[End, End]:
        value = equality.connect_type.value
        if equality.connect_type.variant == "site_pair":
            return self._sites(value)
        a, b, anchor = self._links(value)
        other = compose(inverse(self._X_W(b)), compose(self._X_W(a), anchor))
        return (a, anchor), (b, other)

    def weld(self, equality: EqualityWeld) -> tuple[End, End]:
        value = equality.weld_type.value
        if equality.weld_type.variant == "site_pair":
            return self._sites(value)
        a, b, anchor = self._links(value)
        given = value["relative_pose"]
        X_ab = compose(inverse(self._X_W(a)), self._X_W(b)) if given is None else transform(given, "weld")
        return (a, compose(X_ab, anchor)), (b, anchor)


class EqualityRow(NamedTuple):
    """A row of the table of equalities."""

    kind: EqualityKind
    a: End = _NOWHERE
    b: End = _NOWHERE
    scale: float = 1.0
    first: int = -1
    second: int = -1
    polynomial: Any = (0.0,) * 5
    data: tuple[float, ...] = ()


def _connect(equality: EqualityConnect, ends: EqualityEnds) -> EqualityRow:
    return EqualityRow(EqualityKind.CONNECT, *ends.connect(equality))


def _weld(equality: EqualityWeld, ends: EqualityEnds) -> EqualityRow:
    return EqualityRow(EqualityKind.WELD, *ends.weld(equality), equality.weld_type.value["torque_scale"])


def _joint(equality: EqualityJoint, ends: EqualityEnds) -> EqualityRow:
    second = -1 if equality.joint_b is None else ends.index.joint[equality.joint_b]
    first = ends.index.joint[equality.joint_a]
    return EqualityRow(EqualityKind.JOINT, first=first, second=second, polynomial=equality.polycoeff)


def _tendon(equality: EqualityTendon, ends: EqualityEnds) -> EqualityRow:
    second = -1 if equality.tendon_b is None else ends.index.tendon[equality.tendon_b]
    first = ends.index.tendon[equality.tendon_a]
    return EqualityRow(EqualityKind.TENDON, first=first, second=second, polynomial=equality.polycoeff)


def _path(equality: EqualityPath, ends: EqualityEnds) -> EqualityRow:
    a, b = ends.index.end(equality.point), ends.index.end(equality.frame)
    value = equality.path.value
    if equality.path.variant == "plane":
        return EqualityRow(EqualityKind.ON_PLANE, a, b)
    if equality.path.variant == "circle":
        return EqualityRow(EqualityKind.ON_CIRCLE, a, b, value)
    points = np.array(value["points"])
    return EqualityRow(EqualityKind.ON_SPLINE, a, b, data=spline_data(points, value["closed"]))


def spline_data(points: Array, closed: bool) -> tuple[float, ...]:
    """A cubic spline as kernels take it: 1 if closed, then 12 coefficients a piece, x y z, constant first.

    The parameter is the length of chords, mapped to 0 to 1 in each piece; curvatures c at the points follow
    from h_i c_i-1 + 2 (h_i + h_i+1) c_i + h_i+1 c_i+1 = 6 (d_i+1 - d_i) with slopes d of the chords.
    """
    p = np.vstack([points, points[:1]]) if closed else points
    h = np.linalg.norm(np.diff(p, axis=0), axis=1)
    d, n = np.diff(p, axis=0) / h[:, None], len(points)
    A, right = np.zeros((n, n)), np.zeros((n, 3))
    for i in range(n):
        if closed or 0 < i < n - 1:
            A[i, (i - 1) % n] += h[i - 1]
            A[i, i] += 2.0 * (h[i - 1] + h[i])
            A[i, (i + 1) % n] += h[i]
            right[i] = 6.0 * (d[i] - d[i - 1])
        else:
            A[i, i] = 1.0
    bow = solve(A, right)
    bow = np.vstack([bow, bow[:1]]) if closed else bow
    numbers = [float(closed)]
    for i, w in enumerate(h):
        slope = d[i] - w * (2.0 * bow[i] + bow[i + 1]) / 6.0
        piece = np.array([p[i], slope * w, 0.5 * bow[i] * w * w, (bow[i + 1] - bow[i]) * w * w / 6.0])
        numbers += piece.T.ravel().tolist()
    return tuple(numbers)


MAKERS: dict[str, Callable[[Any, EqualityEnds], EqualityRow]] = {
    "connects": _connect,
    "welds": _weld,
    "joints": _joint,
    "tendons": _tendon,
    "paths": _path,
}
"""Lists of `EqualityConstraintSet` in the order of the table, and what their entries become."""
KERNEL_KINDS: dict[int, int] = {
    EqualityKind.CONNECT: code.POINT,
    EqualityKind.WELD: code.POSE,
    EqualityKind.JOINT: code.JOINT,
    EqualityKind.TENDON: code.TENDON,
    EqualityKind.ON_PLANE: code.ON_PLANE,
    EqualityKind.ON_CIRCLE: code.ON_CIRCLE,
    EqualityKind.ON_SPLINE: code.ON_SPLINE,
}
"""What kernels call the kinds."""
