# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random pairs of shapes, how the native detector compares with Coal on them, and who is right where not.

Neither engine is believed. A distance stands when the points are that far apart and a plane across the normal
keeps the shapes that far apart; a depth when moving by it along the normal separates the shapes (the plane
again) and no direction of a dense set needs less. As a program it checks any number of pairs and prints the
tables of docs/collision.md: python tests/collision/coal_pairs.py 120000
"""

from __future__ import annotations

import itertools
import sys
from typing import Any, NamedTuple

import numpy as np

from worldline.collision import CollisionDetector, CollisionShape

KINDS = (
    "plane",
    "sphere",
    "capsule",
    "box",
    "cylinder",
    "cone",
    "ellipsoid",
    "convex",
    "mesh",
    "height_field",
)
_SKIPPED = {("plane", "plane"), ("plane", "height_field"), ("height_field", "height_field")}
PAIRS = tuple(p for p in itertools.combinations_with_replacement(KINDS, 2) if p not in _SKIPPED)
SURFACES = {"mesh", "height_field"}
"""Not convex: only distances apart can be compared."""

DISTANCE, NORMAL, PLANE = 1e-6, 1e-4, 1e-7
"""What counts as different, and as a plane that does not hold what it claims; over the size of the shapes."""
TURNED = 0.05
"""Angle between normals [rad] above which they are two directions and not one that is inexact."""


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
    if kind == "height_field":
        return CollisionShape.height_field(0.4 * rng.random((4, 5)), 2.0 * s[:2] + 0.2, base=0.5 * s[2])
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
    reaches = np.array([a.extent + b.extent for a, b in zip(*chosen, strict=True)])
    # mostly where surfaces meet
    share = rng.choice(
        [0.0, 0.2, 0.5, 0.8, 1.0, 1.2, 2.0, 10.0], count, p=[0.02, 0.1, 0.2, 0.25, 0.2, 0.13, 0.08, 0.02]
    )
    share *= rng.uniform(0.9, 1.1, count)
    poses = np.zeros((2, count, 7))
    poses[0, :, :3] = rng.normal(size=(count, 3))
    poses[1, :, :3] = poses[0, :, :3] + direction * (share * reaches)[:, None]
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
        rows[k, 0] = np.inf
        for (g1, t1, _), (g2, t2, _) in itertools.product(parts[a], parts[b]):
            result = coal.DistanceResult()
            distance = coal.distance(g1, t1, g2, t2, request, result)
            if distance < rows[k, 0]:
                rows[k, 0] = distance
                rows[k, 1:4] = result.normal
                rows[k, 4:7], rows[k, 7:10] = result.getNearestPoint1(), result.getNearestPoint2()
    return rows


def matrix(pose):
    x, y, z, w = pose[3:]
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def reach(shape, pose, n):
    """How far a convex shape at a pose reaches along world directions `n`, (3,) or (m, 3): its support."""
    n = np.asarray(n)
    d = n @ matrix(pose)
    kind = shape.type.name
    rho, z = np.hypot(d[..., 0], d[..., 1]), d[..., 2]
    if kind == "SPHERE":
        value = shape.radius + 0.0 * z
    elif kind == "CAPSULE":
        value = shape.radius + shape.half_height * np.abs(z)
    elif kind == "BOX":
        value = np.abs(d) @ shape.half_extents
    elif kind == "CYLINDER":
        value = shape.radius * rho + shape.half_height * np.abs(z)
    elif kind == "CONE":
        value = np.maximum(shape.half_height * z, shape.radius * rho - shape.half_height * z)
    elif kind == "ELLIPSOID":
        value = np.linalg.norm(shape.semi_axes * d, axis=-1)
    elif kind == "PLANE":
        value = np.where(z > 1.0 - 1e-12, 0.0, np.inf)
    else:
        value = (d @ shape.vertices.T).max(axis=-1)
    return n @ pose[:3] + value


def separation(s, k, n):
    """How far a plane across `n` keeps the shapes of pair `k` apart; negative: they overlap by that."""
    return -reach(s.shapes[2 * k + 1], s.poses[1, k], -n) - reach(s.shapes[2 * k], s.poses[0, k], n)


def certificates(s):
    """Two proofs per pair, over size: the points are the distance apart, and a plane keeps the shapes apart.

    Together they say that the distance of shapes apart is right, and that shapes moved by the depth along
    the normal do not overlap: the depth is then not too small.
    """
    between = s.ours.point_b - s.ours.point_a
    apart = np.linalg.norm(between - s.ours.normal * s.ours.distance[:, None], axis=1)
    plane = np.zeros(len(apart))
    if not SURFACES & set(s.kinds):
        for k, n in enumerate(s.ours.normal):
            plane[k] = abs(separation(s, k, n) - s.ours.distance[k])
    return apart / s.size, plane / s.size


def judged(s):
    """Per pair: gap of distance over size, and angle between normals."""
    gap = (s.ours.distance - s.theirs[:, 0]) / s.size
    cosine = np.einsum("ij,ij->i", s.ours.normal, s.theirs[:, 1:4])
    return gap, np.sqrt(np.maximum(0.0, 2.0 - 2.0 * cosine))


_GOLDEN = np.pi * (3.0 - 5.0**0.5)


def directions(count):
    """Unit vectors spread evenly over all directions."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    turn = _GOLDEN * np.arange(count)
    rho = np.sqrt(1.0 - z * z)
    return np.stack([rho * np.cos(turn), rho * np.sin(turn), z], axis=1)


DENSE = directions(2000)


def least_depth(s, k):
    """The least overlap over a dense set of directions: what no depth may exceed by more than its grain."""
    return float(-separation(s, k, DENSE).max())


class Verdict(NamedTuple):
    """Who is right about one pair, and how the other differs."""

    what: str
    ours_wrong: bool


AGREE = "agree"
CLASSES = {
    "no answer": "Coal returns minus the largest number",
    "deeper": "Coal's depth is larger; ours separates the shapes",
    "overlap left": "Coal's depth is smaller, but moved by it the shapes still overlap",
    "farther": "Coal's distance is larger than the distance of our points on the surfaces",
    "closer": "Coal's distance is smaller than the gap our plane proves",
    "touching": "within rounding of touching: the normal is not defined",
    "no normal": "Coal's normal is not a unit vector",
    "two ways": "another direction separates with the same depth",
    "normal off": "the plane across Coal's normal keeps less distance than the one across ours",
    "ours": "ours is wrong",
}


def verdict(s, k, gap, angle):
    """Why both engines differ about pair `k`, from planes and points and nothing else."""
    theirs, ours, size = s.theirs[k, 0], s.ours.distance[k], s.size[k]
    if theirs < -1e300:
        return Verdict("no answer", False)
    if s.kinds[0] in SURFACES or s.kinds[1] in SURFACES:
        return _surface_verdict(s, k, gap, angle)
    mine = separation(s, k, s.ours.normal[k])
    proven = abs(mine - ours) < PLANE * size
    if abs(gap) > DISTANCE:
        if theirs > 0.0 and ours > 0.0:
            return Verdict("farther" if gap < 0.0 else "closer", not proven)
        if gap > 0.0:
            return Verdict("deeper", not proven)
        normal = s.theirs[k, 1:4]
        unit = abs(np.linalg.norm(normal) - 1.0) < 1e-6
        held = unit and separation(s, k, normal) >= theirs - PLANE * size
        return Verdict("ours" if held else "overlap left", held)
    if angle > NORMAL:
        if abs(ours) < DISTANCE * size:
            return Verdict("touching", not proven)
        if abs(np.linalg.norm(s.theirs[k, 1:4]) - 1.0) > 1e-6:
            return Verdict("no normal", not proven)
        # the right normal is the one whose plane keeps the shapes farthest apart
        other = separation(s, k, s.theirs[k, 1:4])
        if not proven or other > mine + 1e-9 * size:
            return Verdict("ours", True)
        same = ours < 0.0 and angle > TURNED and mine - other < 2.0 * DISTANCE * size
        return Verdict("two ways" if same else "normal off", False)
    return Verdict(AGREE, False)


def _surface_verdict(s, k, gap, angle):
    """Surfaces are not convex: apart, points on both of them are the proof, and the closer pair is right."""
    theirs, ours, size = s.theirs[k, 0], s.ours.distance[k], s.size[k]
    if theirs <= DISTANCE * size or ours <= DISTANCE * size:
        # cut through: neither number is a depth of the whole; both must see it
        return Verdict(AGREE if abs(min(gap, 0.0)) < DISTANCE or theirs <= DISTANCE * size else "ours", False)
    if abs(gap) > DISTANCE:
        points = np.linalg.norm(s.ours.point_b[k] - s.ours.point_a[k])
        return Verdict("farther" if gap < 0.0 else "ours", gap > 0.0 or abs(points - ours) > PLANE * size)
    if angle > NORMAL:
        # the normal of closest points apart is the line between them
        line = s.ours.point_b[k] - s.ours.point_a[k]
        wrong = bool(np.linalg.norm(line / ours - s.ours.normal[k]) > NORMAL)
        if abs(np.linalg.norm(s.theirs[k, 1:4]) - 1.0) > 1e-6:
            return Verdict("no normal", wrong)
        line = s.theirs[k, 7:10] - s.theirs[k, 4:7]
        other = np.linalg.norm(line / theirs - s.theirs[k, 1:4]) > NORMAL
        return Verdict("ours" if wrong else ("normal off" if other else "two ways"), wrong)
    return Verdict(AGREE, False)


def compared(s):
    """Counts by class, pairs where ours is wrong, and pairs whose depth a direction of the dense set beats."""
    with np.errstate(over="ignore"):
        gap, angle = judged(s)
    convex = not SURFACES & set(s.kinds) and "plane" not in s.kinds
    counts, wrong, beaten = dict.fromkeys((AGREE, *CLASSES), 0), [], []
    for k in range(len(gap)):
        found = verdict(s, k, gap[k], angle[k])
        counts[found.what] += 1
        if found.ours_wrong:
            wrong.append(k)
        depth = -s.ours.distance[k]
        if convex and depth > 0.0 and least_depth(s, k) < depth * (1.0 - 1e-9) - 1e-9 * s.size[k]:
            beaten.append(k)
    return counts, wrong, beaten


def main():
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 120_000
    rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    each = total // len(PAIRS) + 1
    chosen = [tuple(a.split("-")) for a in sys.argv[3:]] or PAIRS
    names = [AGREE, *CLASSES]
    print(("{:24s} {:>6s} {:>9s} {:>9s} {:>7s}" + " {:>12s}" * len(names)).format(
        "pair", "pairs", "points", "plane", "beaten", *names
    ))  # fmt: skip
    total = dict.fromkeys(names, 0)
    for kinds in chosen:
        s = sample(rng, kinds, each)
        counts, wrong, beaten = compared(s)
        points, plane = certificates(s)
        row = " ".join(f"{counts[name]:12d}" for name in names)
        label = f"{kinds[0]}-{kinds[1]}"
        print(
            f"{label:24s} {each:6d} {points.max():9.1e} {plane.max():9.1e} {len(beaten):7d} {row}", flush=True
        )
        if wrong:
            print(f"  ours is wrong: {wrong}")
        for name in names:
            total[name] += counts[name]
    print(f"{each * len(chosen)} pairs: {total}")


if __name__ == "__main__":
    main()
