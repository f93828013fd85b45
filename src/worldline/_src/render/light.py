# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shadows, sky and haze as post-processing of the rendered buffers.

A pixel is in the shade when the sun, drawn as a camera, sees something nearer there. Of closed surfaces it
sees the far side, which keeps lit ones free of their own shade. The sun's share of the colour comes from
drawing twice, with the sun and without, so that sides that face away are not darkened again. The sky is
brighter at the horizon, and a plane without end fades into it.
"""

from __future__ import annotations

import numpy as np

from worldline._src.drawing.cameras import View, facing
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array

SKY = ((0.90, 0.93, 0.96), (0.45, 0.62, 0.82))
"""RGB at the horizon and overhead."""
SUN = np.array([0.5, -0.7, 1.5])
"""Where the sun is unless a light of the scene says so."""
SHADOW_PIXELS = 1024
_SOFT = ((-0.6, -0.6), (0.6, -0.6), (-0.6, 0.6), (0.6, 0.6))
"""Where the shade is computed, in pixels of the sun."""


class SunView(NamedTuple):
    """The sun as a camera over a box."""

    view: View
    near: float
    far: float


def sun_view(toward: Array, low: Array, high: Array) -> SunView:
    """A camera that looks from the sun at a box."""
    direction = toward / np.linalg.norm(toward)
    centre, reach = 0.5 * (low + high), max(0.52 * float(np.linalg.norm(high - low)), 0.05)
    R = facing(-direction, np.array([0.0, 0.0, 1.0]))
    # far enough for what lies behind the box to count as lit by a number and not by chance
    view = View(centre + 2.0 * reach * direction, R, 2.0 * reach, orthographic=True)
    return SunView(view, 0.5 * reach, 12.0 * reach)


def ray(view: View, x: float, y: float) -> Array:
    """Where the ray of a point of the picture leads, -1 to 1 from its middle to the right and up."""
    if view.orthographic:
        return view.forward
    half = np.tan(0.5 * np.radians(view.fovy))
    return view.forward + half * (
        (x - view.shift[0]) * view.R_WC[:, 0] + (y - view.shift[1]) * view.R_WC[:, 1]
    )


def rays(view: View, width: int, height: int) -> tuple[Array, Array]:
    """Where the rays of pixels start and lead, world, (n, 3); a step of 1 is 1 m along the optical axis."""
    x = (2.0 * np.arange(width) + 1.0) / width - 1.0 - view.shift[0]
    y = 1.0 - (2.0 * np.arange(height) + 1.0) / height - view.shift[1]
    half = 0.5 * view.fovy if view.orthographic else np.tan(0.5 * np.radians(view.fovy))
    across = half * width / height * view.stretch * x[None, :, None] * view.R_WC[:, 0]
    plane = (across + half * y[:, None, None] * view.R_WC[:, 1]).reshape(-1, 3)
    if view.orthographic:
        return view.position + plane, np.broadcast_to(view.forward, plane.shape)
    return view.position[None], plane + view.forward


def shade(points: Array, sun: SunView, distance: Array) -> Array:
    """How much of the sun reaches points (n, 3), 0 to 1, from the distances that the sun sees."""
    size = len(distance)
    local = (points - sun.view.position) @ sun.view.R_WC
    texel = sun.view.fovy / size
    column = local[:, 0] / texel + 0.5 * size - 0.5
    row = 0.5 * size - 0.5 - local[:, 1] / texel
    away = -local[:, 2] - 1.5 * texel
    lit = np.ones(len(points))
    # what the sun does not look at is lit
    at = np.flatnonzero((row > 1.0) & (row < size - 2.0) & (column > 1.0) & (column < size - 2.0))
    row, column, away = row[at], column[at], away[at]
    for right, down in _SOFT:
        i, j = np.rint(row + down).astype(np.int32), np.rint(column + right).astype(np.int32)
        lit[at] -= (distance[i, j] < away) / len(_SOFT)
    return lit


def sky(directions: np.ndarray) -> np.ndarray:
    """Colour of the sky along directions (n, 3), 0 to 255."""
    length = np.sqrt(np.einsum("ij,ij->i", directions, directions))
    share = np.sqrt(np.clip(directions[:, 2] / length, 0.0, 1.0))[:, None]
    low, high = 255.0 * np.array(SKY)
    return low + share * (high - low)


def haze(away: Array, reach: float) -> Array:
    """How much of the horizon is seen in a plane without end at distances, 0 to 1."""
    share = np.clip((away / reach - 0.25) / 0.6, 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)
