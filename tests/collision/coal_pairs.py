# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random pairs of shapes, and how the native detector compares with Coal on them.

As a program it checks any number of pairs: python tests/collision/coal_pairs.py 120000
"""

from __future__ import annotations

import itertools
import sys
from typing import Any, NamedTuple

import numpy as np

from worldline.collision import CollisionDetector, CollisionShape

KINDS = ("plane", "sphere", "capsule", "box", "cylinder", "cone", "ellipsoid", "convex", "mesh")
PAIRS = tuple(p for p in itertools.combinations_with_replacement(KINDS, 2) if p != ("plane", "plane"))


class Sample(NamedTuple):
    """Pairs of one combination of shapes: poses of both, their sizes, and the answers of both engines."""

    kinds: tuple[str, str]
    size: np.ndarray
    poses: np.ndarray
    shapes: list[CollisionShape]
    ours: Any
    theirs: np.ndarray


def quaternions(rng, n):
    q = rng.normal(size=(n, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    # some turned by right angles, where features line up
    square = rng.random(n) < 0.15
    q[square] = np.array([[0, 0, 0, 1.0], [0.5**0.5, 0, 0, 0.5**0.5], [0.5, 0.5, 0.5, 0.5]])[
        rng.integers(0, 3, square.sum())
    ]
    return q


def icosphere_like(rng, n):
    points = rng.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    return points * rng.uniform(0.3, 1.0, 3)


def random_shape(rng, kind):
    """A shape of a kind, of size about one."""
    s = rng.uniform(0.2, 1.0, 3)
    if kind == "plane":
        return CollisionShape.plane()
    if kind == "sphere":
        return CollisionShape.sphere(s[0])
    if kind in ("capsule", "cylinder", "cone"):
        return getattr(CollisionShape, kind)(s[0], s[1])
    if kind == "box":
        return CollisionShape.box(s)
    if kind == "ellipsoid":
        return CollisionShape.ellipsoid(s)
    if kind == "convex":
        return CollisionShape.convex(icosphere_like(rng, int(rng.integers(5, 60))))
    from scipy.spatial import ConvexHull

    points = icosphere_like(rng, 40)
    return CollisionShape.mesh(points, ConvexHull(points).simplices)


def sample(rng, kinds, count, pool=12):
    """`count` random pairs: far, near, touching, deep and concentric."""
    pools = [[random_shape(rng, kind) for _ in range(pool)] for kind in kinds]
    chosen = [[pools[side][k] for k in rng.integers(0, pool, count)] for side in range(2)]
    size = np.array([max(a.extent, b.extent) for a, b in zip(*chosen, strict=True)])
    direction = rng.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    reach = np.array([a.extent + b.extent for a, b in zip(*chosen, strict=True)])
    # mostly where surfaces meet
    share = rng.choice(
        [0.0, 0.2, 0.5, 0.8, 1.0, 1.2, 2.0, 10.0], count, p=[0.02, 0.1, 0.2, 0.25, 0.2, 0.13, 0.08, 0.02]
    )
    share *= rng.uniform(0.9, 1.1, count)
    poses = np.zeros((2, count, 7))
    poses[0, :, :3] = rng.normal(size=(count, 3))
    poses[1, :, :3] = poses[0, :, :3] + direction * (share * reach)[:, None]
    poses[0, :, 3:], poses[1, :, 3:] = quaternions(rng, count), quaternions(rng, count)
    native = CollisionDetector.create("native")
    group = native.create_group()
    for k in range(count):
        for side in range(2):
            group.add(chosen[side][k])
    order = poses.transpose(1, 0, 2).reshape(-1, 7)
    group.poses = order
    pairs = np.arange(2 * count).reshape(-1, 2)
    ours = native.distances(group, pairs)
    theirs = coal_distances(group, pairs)
    return Sample(kinds, size, poses, [item.shapes[0] for item in group], ours, theirs)


def coal_distances(group, pairs):
    """Coal's signed distances with tolerances as tight as it takes them."""
    import coal

    detector = CollisionDetector.create("coal")
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    request.gjk_tolerance = 1e-9
    request.epa_tolerance = 1e-9
    request.gjk_max_iterations = 500
    request.epa_max_iterations = 500
    cache: dict[int, Any] = {}
    parts = detector._parts(group, cache)
    rows = np.empty((len(pairs), 10))
    for k, (a, b) in enumerate(pairs.tolist()):
        (g1, t1), (g2, t2) = parts[a][0], parts[b][0]
        result = coal.DistanceResult()
        rows[k, 0] = coal.distance(g1, t1, g2, t2, request, result)
        rows[k, 1:4] = result.normal
        rows[k, 4:7], rows[k, 7:10] = result.getNearestPoint1(), result.getNearestPoint2()
    return rows


def reach(shape, pose, n):
    """How far a convex shape at a pose reaches along the world direction `n`: its support function."""
    x, y, z, w = pose[3:]
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    d = R.T @ n
    kind = shape.type.name
    rho = np.hypot(d[0], d[1])
    if kind == "SPHERE":
        value = shape.radius
    elif kind == "CAPSULE":
        value = shape.radius + shape.half_height * abs(d[2])
    elif kind == "BOX":
        value = shape.half_extents @ np.abs(d)
    elif kind == "CYLINDER":
        value = shape.radius * rho + shape.half_height * abs(d[2])
    elif kind == "CONE":
        value = max(shape.half_height * d[2], shape.radius * rho - shape.half_height * d[2])
    elif kind == "ELLIPSOID":
        value = np.linalg.norm(shape.semi_axes * d)
    elif kind == "PLANE":
        value = 0.0 if d[2] > 1.0 - 1e-12 else np.inf
    else:
        value = (shape.vertices @ d).max()
    return float(n @ pose[:3] + value)


def certificates(s):
    """Two proofs per pair, over size: the points are the distance apart, and a plane keeps the shapes apart.

    Together they say that the distance of shapes apart is right, and that shapes moved by the depth along
    the normal do not overlap: the depth is then not too small.
    """
    between = s.ours.point_b - s.ours.point_a
    apart = np.linalg.norm(between - s.ours.normal * s.ours.distance[:, None], axis=1)
    plane = np.zeros(len(apart))
    if "mesh" not in s.kinds:
        for k, n in enumerate(s.ours.normal):
            first = reach(s.shapes[2 * k], s.poses[0, k], n)
            second = reach(s.shapes[2 * k + 1], s.poses[1, k], -n)
            plane[k] = abs(-second - first - s.ours.distance[k])
    return apart / s.size, plane / s.size


def judged(s):
    """Per pair: gap of distance over size, and angle between normals."""
    gap = (s.ours.distance - s.theirs[:, 0]) / s.size
    cosine = np.einsum("ij,ij->i", s.ours.normal, s.theirs[:, 1:4])
    return gap, np.sqrt(np.maximum(0.0, 2.0 - 2.0 * cosine))


def main():
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 120_000
    rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    each = total // len(PAIRS) + 1
    columns = (
        "pair",
        "pairs",
        "ours farther",
        "ours closer",
        "off 1e-6",
        "deeper 1%",
        "points",
        "plane",
        "normal",
    )
    print(("{:22s}" + " {:>12s}" * 8).format(*columns))
    chosen = [tuple(a.split("-")) for a in sys.argv[3:]] or PAIRS
    for kinds in chosen:
        s = sample(rng, kinds, each)
        gap, angle = judged(s)
        if "mesh" in kinds:
            # a surface has no inside: overlaps of whole meshes are not comparable
            gap = np.where((s.theirs[:, 0] <= 0) | (s.ours.distance <= 0), 0.0, gap)
        off = np.abs(gap) > 1e-6
        worse = (s.theirs[:, 0] < 0) & (-s.ours.distance > -1.01 * s.theirs[:, 0] + 1e-6 * s.size)
        worse &= "mesh" not in kinds
        points, plane = certificates(s)
        turned = (angle > 1e-4) & ~off
        print(
            f"{kinds[0] + '-' + kinds[1]:22s} {each:12d} {gap.max():12.1e} {-gap.min():12.1e} {off.sum():12d} "
            f"{worse.sum():12d} {points.max():12.1e} {plane.max():12.1e} {turned.sum():12d}",
            flush=True,
        )
    print(f"{each * len(chosen)} pairs")


if __name__ == "__main__":
    main()
