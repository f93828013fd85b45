# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collision: pair queries against Coal, rays on a large mesh, and the growth of the broad phase."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import best_of
from worldline._src.collision.native import NativeDetector
from worldline._src.kernels.broadphase.aabb import place
from worldline._src.kernels.broadphase.pairs import broad
from worldline.collision import CollisionDetector, CollisionShape

_PAIRS = 2000
_SHAPES = {
    "sphere": CollisionShape.sphere(0.5),
    "capsule": CollisionShape.capsule(0.3, 0.5),
    "box": CollisionShape.box((0.4, 0.5, 0.6)),
}


def _random_poses(rng: np.random.Generator, count: int, size: float) -> np.ndarray:
    q = rng.normal(size=(count, 4))
    return np.hstack([size * rng.random((count, 3)), q / np.linalg.norm(q, axis=1)[:, None]])


def pair_queries(console: Console) -> None:
    """Signed distances of random pairs: ours in one call, Coal called pair by pair from Python."""
    import coal

    table = Table(title="distance queries, one thread, us a pair")
    for column in ("pair", "ours", "Coal from Python", "ratio"):
        table.add_column(column, justify="right")
    rng = np.random.default_rng(0)
    native, other = NativeDetector(), CollisionDetector.create("coal")
    names = list(_SHAPES)
    for i, a in enumerate(names):
        for b in names[i:]:
            group = native.create_group()
            for _ in range(_PAIRS):
                group.add(_SHAPES[a])
                group.add(_SHAPES[b])
            group.poses = _random_poses(rng, 2 * _PAIRS, 1.5)
            pairs = np.arange(2 * _PAIRS).reshape(-1, 2)
            parts = other._parts(group)
            request, result = coal.DistanceRequest(), coal.DistanceResult()

            listed = pairs.tolist()

            def theirs(parts=parts, request=request, result=result, listed=listed):
                for k, j in listed:
                    result.clear()
                    coal.distance(*parts[k][0][:2], *parts[j][0][:2], request, result)

            best = best_of(
                {"ours": lambda g=group, p=pairs: native.distances(g, p), "coal": theirs}, rounds=5
            )
            ours, coal_time = (1e6 * best[k] / _PAIRS for k in ("ours", "coal"))
            table.add_row(f"{a}-{b}", f"{ours:.3f}", f"{coal_time:.3f}", f"{coal_time / ours:.1f}")
    console.print(table)


def wavy_mesh(cells: int) -> CollisionShape:
    """A bumpy sheet of 2 cells^2 triangles over 10 m."""
    x = np.linspace(-5.0, 5.0, cells + 1)
    gx, gy = np.meshgrid(x, x)
    z = 0.3 * np.sin(2.0 * gx) * np.cos(1.5 * gy)
    points = np.stack([gx, gy, z], axis=-1).reshape(-1, 3)
    i = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).reshape(-1)
    first = np.stack([i, i + 1, i + cells + 1], axis=1)
    second = np.stack([i + 1, i + cells + 2, i + cells + 1], axis=1)
    return CollisionShape.mesh(points, np.concatenate([first, second]))


def rays(console: Console) -> None:
    """10,000 rays against a mesh of 100,000 triangles."""
    rng = np.random.default_rng(0)
    detector = NativeDetector()
    group = detector.create_group()
    group.add(wavy_mesh(224))
    scene = detector.scene(group)
    start = np.column_stack([rng.uniform(-5, 5, (10_000, 2)), np.full(10_000, 3.0)])
    end = np.column_stack([rng.uniform(-5, 5, (10_000, 2)), np.full(10_000, -3.0)])
    best = best_of({"rays": lambda: scene.cast(start, end)}, rounds=9)
    rate = 10_000 / best["rays"]
    triangles = scene.arenas.sizes["ntri"]
    console.print(f"rays on {triangles} triangles: {rate / 1e6:.2f} million a second\n")


def broad_phase(console: Console) -> None:
    """Time of a broad-phase pass over a pile that moves a little, per body and n log n."""
    table = Table(title="broad phase of boxes and spheres in a loose pile, every step moved")
    for column in ("bodies", "pairs", "us a step", "us / (n log2 n)"):
        table.add_column(column, justify="right")
    rng = np.random.default_rng(0)
    for count in (100, 1000, 10_000):
        detector = NativeDetector()
        group = detector.create_group()
        for k in range(count):
            group.add(CollisionShape.sphere(0.5) if k % 2 else CollisionShape.box((0.4, 0.4, 0.4)))
        poses = _random_poses(rng, count, 1.1 * count ** (1 / 3))
        group.poses = poses
        scene = detector.scene(group)
        scene.find_pairs()
        body = scene.arenas.column["body_X_W"]
        # steps back and forth: velocities of about 1 m/s at 5 ms, some leaving their box in every step
        drift = 0.005 * rng.normal(size=(40, count, 3))
        state = {"k": 0}

        def step(scene=scene, body=body, drift=drift, state=state):
            k = state["k"] = (state["k"] + 1) % 80
            body[:, :3] += drift[k] if k < 40 else -drift[k - 40]
            scene._run(place, broad)

        best = best_of({"step": step}, rounds=7)["step"] * 1e6
        pairs = len(scene.candidates())
        table.add_row(f"{count}", f"{pairs}", f"{best:.1f}", f"{best / (count * np.log2(count)):.4f}")
    console.print(table)


def run(console: Console) -> None:
    """All of them."""
    pair_queries(console)
    rays(console)
    broad_phase(console)
