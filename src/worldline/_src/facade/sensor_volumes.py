# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Volumes of sites: whether they contain a point, and whether a ray meets them.

Points and directions are in the frame of the site.
"""

from __future__ import annotations

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.model.kinds import ShapeKind
from worldline._src.spatial.poses import Array

_Span = tuple[float, float]
_NEVER: _Span = (np.inf, -np.inf)


def contains(kind: int, size: Array, point: Array) -> bool:
    """Whether a volume contains a point."""
    x, y, z = point.tolist()
    if kind == ShapeKind.SPHERE:
        return x * x + y * y + z * z <= size[0] ** 2
    if kind == ShapeKind.ELLIPSOID:
        return float(((point / size) ** 2).sum()) <= 1.0
    if kind == ShapeKind.BOX:
        return bool((np.abs(point) <= size).all())
    if kind == ShapeKind.CYLINDER:
        return x * x + y * y <= size[0] ** 2 and abs(z) <= size[1]
    if kind == ShapeKind.CAPSULE:
        beyond = max(abs(z) - size[1], 0.0)
        return x * x + y * y + beyond * beyond <= size[0] ** 2
    raise CapabilityError(f"a site of kind {ShapeKind(kind).name} has no volume")


def meets(kind: int, size: Array, start: Array, along: Array) -> bool:
    """Whether a ray meets a volume or starts in it."""
    if kind in (ShapeKind.SPHERE, ShapeKind.ELLIPSOID):
        scale = np.full(3, size[0]) if kind == ShapeKind.SPHERE else size
        return _ball(start / scale, along / scale)[1] >= 0.0
    if kind == ShapeKind.BOX:
        span = (-np.inf, np.inf)
        for j in range(3):
            span = _both(span, _slab(start[j], along[j], size[j]))
        return _ahead(span)
    if kind in (ShapeKind.CYLINDER, ShapeKind.CAPSULE):
        tube = _ball(start[:2] / size[0], along[:2] / size[0])
        spans = [_both(tube, _slab(start[2], along[2], size[1]))]
        if kind == ShapeKind.CAPSULE:
            for end in (-size[1], size[1]):
                spans.append(_ball((start - [0.0, 0.0, end]) / size[0], along / size[0]))
        return any(_ahead(span) for span in spans)
    raise CapabilityError(f"a site of kind {ShapeKind(kind).name} has no volume")


def _ahead(span: _Span) -> bool:
    return span[0] <= span[1] and span[1] >= 0.0


def _both(a: _Span, b: _Span) -> _Span:
    return max(a[0], b[0]), min(a[1], b[1])


def _slab(x: float, d: float, half: float) -> _Span:
    """Where a ray is between two planes."""
    if d == 0.0:
        return (-np.inf, np.inf) if abs(x) <= half else _NEVER
    a, b = (-half - x) / d, (half - x) / d
    return min(a, b), max(a, b)


def _ball(p: Array, d: Array) -> _Span:
    """Where a ray is within the unit ball, or the unit circle."""
    a, b, c = float(d @ d), float(p @ d), float(p @ p) - 1.0
    if a == 0.0:
        return (-np.inf, np.inf) if c <= 0.0 else _NEVER
    square = b * b - a * c
    if square < 0.0:
        return _NEVER
    root = square**0.5
    return (-b - root) / a, (-b + root) / a
