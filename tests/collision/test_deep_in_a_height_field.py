# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Balls in a rough height field against the nearest point of all its triangles, from above it to far below."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.narrowphase.convex import WITNESS

RADIUS, HALF, HIGH, COUNT = 0.08, 0.6, 0.15, 7
# rows of a file are from the back to the front
HEIGHTS = np.random.default_rng(0).uniform(0.0, 1.0, (COUNT, COUNT))
FIELD = f"""<mujoco><asset><hfield name="h" nrow="{COUNT}" ncol="{COUNT}" size="{HALF} {HALF} {HIGH} 0.3"
  elevation="{" ".join(f"{x:.17g}" for x in HEIGHTS.ravel())}"/></asset><worldbody>
  <geom type="hfield" hfield="h"/>
  <body name="ball"><freejoint/><geom size="{RADIUS}" mass="1"/></body></worldbody></mujoco>"""


def triangles():
    """Corners, (triangles, 3, 3), split as MuJoCo splits them."""
    x = np.linspace(-HALF, HALF, COUNT)
    low, high = HEIGHTS.min(), HEIGHTS.max()
    z = HIGH * (HEIGHTS[::-1] - low) / (high - low)
    corner = np.array([[(x[i], x[j], z[j, i]) for i in range(COUNT)] for j in range(COUNT)])
    found = []
    for j in range(COUNT - 1):
        for i in range(COUNT - 1):
            a, b, c, d = corner[j, i], corner[j, i + 1], corner[j + 1, i], corner[j + 1, i + 1]
            found += [(a, b, d), (a, d, c)]
    return np.array(found)


def nearest_on_segments(p, a, b):
    """The nearest points of segments, one a row."""
    along = b - a
    share = np.clip(((p - a) * along).sum(axis=1) / (along * along).sum(axis=1), 0.0, 1.0)
    return a + share[:, None] * along


def above_surface(p, corners):
    """Distance of a point from the surface, negative below it, and the unit vector away from the solid."""
    a, b, c = corners.transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    foot = p - ((p - a) * normal).sum(axis=1)[:, None] * normal
    inside = np.ones(len(a), bool)
    over = np.ones(len(a), bool)
    for u, v in ((a, b), (b, c), (c, a)):
        inside &= (np.cross(v - u, foot - u) * normal).sum(axis=1) >= 0.0
        x, y = (v - u)[:, :2].T
        over &= x * (p[1] - u[:, 1]) - y * (p[0] - u[:, 0]) >= 0.0
    points = [foot[inside]] + [nearest_on_segments(p, u, v) for u, v in ((a, b), (b, c), (c, a))]
    gaps = p - np.concatenate(points)
    distance = np.linalg.norm(gaps, axis=1)
    k = distance.argmin()
    t = np.flatnonzero(over)[0]
    sign = 1.0 if (p - a[t]) @ normal[t] > 0.0 else -1.0
    return sign * distance[k], sign * gaps[k] / distance[k]


@pytest.fixture(scope="module")
def overlaps():
    """(distance of the centre, depth by brute force, way out by brute force, contacts) of balls that touch."""
    world = sx.World.from_scene(msd.from_str(FIELD, format="mjcf"))
    ball, corners, rng = world.rigid_bodies["ball"], triangles(), np.random.default_rng(1)
    found = []
    for _ in range(300):
        p = np.array([*rng.uniform(-0.45, 0.45, 2), rng.uniform(-0.02, 0.2)])
        ball.translation = p
        distance, out = above_surface(p, corners)
        contacts = world.collide()
        assert bool(contacts) == (distance < RADIUS)
        if contacts:
            found.append((distance, RADIUS - distance, out, contacts))
    return found


def test_a_ball_with_its_centre_above_ground_is_as_deep_as_its_nearest_point(overlaps):
    above = [overlap for overlap in overlaps if overlap[0] > 0.0]
    assert len(above) > 80
    for _, depth, out, contacts in above:
        deepest = max(contacts, key=lambda contact: contact.depth)
        assert deepest.depth == pytest.approx(depth, abs=1e-9)
        np.testing.assert_allclose(deepest.normal, out, atol=1e-6)


def test_contacts_below_ground_lead_up_and_are_deep_along_their_normals(overlaps):
    """No triangle has the lowest point of some balls above it: one contact, of the triangle they are most in."""
    below = [overlap for overlap in overlaps if overlap[0] < 0.0]
    single = [o for o in below if len(o[3]) == 1 and o[3][0].feature == int(WITNESS)]
    assert len(below) > 80 and len(single) > 4
    for _, _, _, contacts in below:
        assert min(contact.normal[2] for contact in contacts) > 0.5
    for _, depth, _, (contact,) in single:
        # of the planes of single triangles; none is as far as 3 percent from the nearest way out
        assert 0.97 * depth <= contact.depth <= depth + 1e-9
