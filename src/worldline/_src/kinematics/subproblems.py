# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Geometric subproblems of inverse kinematics: angles of one, two or three turns about fixed axes.

An axis is a unit vector h and a point p on it. Solutions are all there are; where an angle does not matter it
takes the value of a guess [Paden 1986; Elias and Wen 2022].
"""

from __future__ import annotations

import math

import numpy as np

from worldline._src.spatial.poses import Array

_NEAR = 1e-9
"""Relative slack of what just touches: targets at the edge of the range."""
_ON_CIRCLE = 1e-4
"""How far a root may be from the unit circle; double roots have half the digits."""
_RANK = 1e-7
"""Singular values below this share count as zero."""


def rotation_about(h: Array, angle: float) -> Array:
    """I + sin K + (1 - cos) K^2, where K is the cross product with the unit vector h [Rodrigues 1840]."""
    x, y, z = h.tolist()
    s, c = math.sin(angle), math.cos(angle)
    k = 1.0 - c
    return np.array(
        (
            (c + k * x * x, k * x * y - s * z, k * x * z + s * y),
            (k * x * y + s * z, c + k * y * y, k * y * z - s * x),
            (k * x * z - s * y, k * y * z + s * x, c + k * z * z),
        )
    )


def cross(a: Array, b: Array) -> Array:
    """Cross product of two vectors (3,)."""
    ax, ay, az = a.tolist()
    bx, by, bz = b.tolist()
    return np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


def angle_about(h: Array, a: Array, b: Array) -> float:
    """Angle of the turn about h that takes the part of a across h into the direction of that of b."""
    return float(np.arctan2(h @ cross(a, b), a @ b - (h @ a) * (h @ b)))


def is_across(h: Array, a: Array, scale: float) -> bool:
    """Whether a vector has a part across h that gives an angle about it."""
    return bool(np.linalg.norm(a - h * (h @ a)) > _NEAR * scale)


def circle_angles(c: float, s: float, d: float, scale: float) -> list[float] | None:
    """Angles with c cos + s sin = d, at most two; None where every angle serves."""
    r = float(np.hypot(c, s))
    if r <= _NEAR * scale:
        return None if abs(d) <= _NEAR * scale else []
    x = d / r
    if abs(x) > 1.0 + _NEAR * max(1.0, scale / r):
        return []
    middle, half = float(np.arctan2(s, c)), float(np.arccos(np.clip(x, -1.0, 1.0)))
    return [middle - half, middle + half] if half > 0.0 else [middle]


def two_circles(A: Array, B: Array, d: Array, guess: tuple[float, float]) -> list[tuple[float, float]]:
    """Angles a and b with A (cos a, sin a) + B (cos b, sin b) = d, two equations.

    Matrices of full rank leave a trigonometric polynomial of degree 2 in b, four roots at most; A of lower
    rank leaves an equation in b alone and then one in a, two roots each.
    """
    scale = max(float(np.abs(A).max()), float(np.abs(B).max()), float(np.abs(d).max()), 1e-300)
    U, S, _ = np.linalg.svd(A)
    if S[1] > _RANK * scale:
        if np.linalg.svd(B, compute_uv=False)[1] <= _RANK * scale:
            # the same with a and b exchanged has rows that separate
            return [(a, b) for b, a in two_circles(B, A, d, (guess[1], guess[0]))]
        inverse = np.linalg.inv(A)
        return _full_rank(inverse @ B, inverse @ d)
    found = []
    # the row without a: n B y = n d
    n, m = U[:, 1], U[:, 0]
    row = n @ B
    second = circle_angles(row[0], row[1], float(n @ d), scale)
    row = m @ A
    for b in [guess[1]] if second is None else second:
        rest = float(m @ (d - B @ np.array([np.cos(b), np.sin(b)])))
        first = circle_angles(row[0], row[1], rest, scale)
        found += [(a, b) for a in ([guess[0]] if first is None else first)]
    return found


def _full_rank(C: Array, e: Array) -> list[tuple[float, float]]:
    """Angles with (cos a, sin a) = e - C (cos b, sin b): the squares of both sides add up to 1."""
    P, g = C.T @ C, C.T @ e
    # |e|^2 - 1 - 2 g y + y P y as a polynomial in z = exp(i b), times z^2
    c0 = e @ e - 1.0 + 0.5 * (P[0, 0] + P[1, 1])
    first = -(g[0] - 1j * g[1])
    second = 0.25 * (P[0, 0] - P[1, 1]) - 0.5j * P[0, 1]
    roots = np.roots([second, first, c0, np.conj(first), np.conj(second)])
    found = []
    for z in roots[np.abs(np.abs(roots) - 1.0) < _ON_CIRCLE]:
        b = float(np.angle(z))
        x = e - C @ np.array([np.cos(b), np.sin(b)])
        found.append((float(np.arctan2(x[1], x[0])), b))
    return found


def three_turns_of_point(
    h: Array, p: Array, x: Array, t: Array, guess: Array, scale: float
) -> list[tuple[float, float, float]]:
    """Angles of turns about three axes that take a point x to t: E1 E2 E3 x = t [Pieper 1968].

    The circle of x about axis 3 and the circle of t about axis 1 have to meet by a turn about axis 2: the
    same height along axis 2 and the same distance from a point of it, which is linear in the sines and
    cosines of both angles.
    """
    c0, u3, v3 = _circle(h[2], p[2], x)
    b0, u1, v1 = _circle(h[0], p[0], t)
    v1 = -v1
    c0, b0 = c0 - p[1], b0 - p[1]
    A = np.array([[h[1] @ u1, h[1] @ v1], [2.0 * b0 @ u1 / scale, 2.0 * b0 @ v1 / scale]])
    B = np.array([[h[1] @ u3, h[1] @ v3], [2.0 * c0 @ u3 / scale, 2.0 * c0 @ v3 / scale]])
    d = np.array([h[1] @ (c0 - b0), (c0 @ c0 + u3 @ u3 - b0 @ b0 - u1 @ u1) / scale])
    found = []
    for a1, a3 in two_circles(A, -B, d, (guess[0], guess[2])):
        c = c0 + np.cos(a3) * u3 + np.sin(a3) * v3
        b = b0 + np.cos(a1) * u1 + np.sin(a1) * v1
        a2 = angle_about(h[1], c, b) if is_across(h[1], c, scale) else float(guess[1])
        found.append((a1, a2, a3))
    return found


def _circle(h: Array, p: Array, x: Array) -> tuple[Array, Array, Array]:
    """Centre, and the two radii, of the circle of a point about an axis: centre + cos u + sin v."""
    w = x - p
    along = h * (h @ w)
    u = w - along
    return p + along, u, cross(h, u)


def three_turns(h: Array, R: Array, guess: Array) -> list[tuple[float, float, float]]:
    """Angles of turns about three axes through one point whose product is a rotation: R1 R2 R3 = R."""
    a, b, c = h
    along = b * (b @ c)
    middle = circle_angles(a @ (c - along), a @ cross(b, c), a @ (R @ c) - a @ along, 1.0)
    found = []
    for a2 in [guess[1]] if middle is None else middle:
        R2 = rotation_about(b, float(a2))
        seen = R2 @ c
        a1 = angle_about(a, seen, R @ c) if is_across(a, seen, 1e3) else float(guess[0])
        x = cross(c, np.eye(3)[int(np.argmin(np.abs(c)))])
        a3 = angle_about(c, x, (rotation_about(a, a1) @ R2).T @ R @ x)
        found.append((a1, float(a2), a3))
    return found


def planar_turns(
    h: Array, p: Array, T: Array, guess: Array, scale: float
) -> list[tuple[float, float, float]]:
    """Angles of turns about three parallel axes whose product is a planar motion T: E1 E2 E3 = T."""
    n = h[0]
    sign = np.array([float(np.sign(n @ each)) for each in h])
    x = cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    whole = angle_about(n, x, T[:3, :3] @ x)
    # a point of axis 3 is moved by the first two turns alone; its distance from axis 1 gives the second
    t = T[:3, :3] @ p[2] + T[:3, 3] - p[0]
    c0, u, v = _circle(h[1], p[1], p[2])
    c0 = c0 - p[0]
    flat = np.eye(3) - np.outer(n, n)
    t, c0 = flat @ t, flat @ c0
    d = t @ t - c0 @ c0 - u @ u
    second = circle_angles(2.0 * c0 @ u / scale, 2.0 * c0 @ v / scale, d / scale, scale)
    found = []
    for a2 in [guess[1]] if second is None else second:
        c = c0 + np.cos(a2) * u + np.sin(a2) * v
        a1 = angle_about(h[0], c, t) if is_across(h[0], c, scale) else float(guess[0])
        a3 = sign[2] * (whole - sign[0] * a1 - sign[1] * a2)
        found.append((a1, float(a2), float(a3)))
    return found
