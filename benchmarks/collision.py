# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collision: pair queries against Coal, rays on a large mesh, the broad phase of a pile and how it grows.

Coal is called from Python and, where a C++ compiler and the headers of Coal and Eigen are found (pip install
coal cmeel-eigen), from C++ too.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks import peers_in_cpp
from benchmarks.timing import best_of, table_of, turns_of
from worldline import simulation as sx
from worldline._src.collision.arenas import pose12
from worldline._src.collision.native import NativeDetector
from worldline._src.kernels.broadphase.aabb import shape_poses
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


def build_peer(folder: Path) -> Path | None:
    """Coal's loop in C++, or None where it cannot be built."""
    import coal

    source = Path(__file__).parent / "coal_pairs.cpp"
    return peers_in_cpp.build(coal, source, folder / "coal_pairs", "coal")


def peer_time(program: Path, a: str, b: str, poses: np.ndarray) -> float:
    """Time of a query of the C++ loop [us]."""
    rows = "\n".join(" ".join(map(repr, row)) for row in (pose12(pose).tolist() for pose in poses))
    text = f"{a} {b} {len(poses) // 2}\n{rows}\n"
    return float(
        subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True).stdout.split()[
            0
        ]
    )


def pair_queries(console: Console) -> None:
    """Signed distances of random pairs: ours in one call and in compiled code alone, Coal pair by pair."""
    import coal

    table = table_of(
        "distance queries, one thread, us a pair",
        "pair | ours, one call | ours, compiled | Coal, C++ | Coal, Python | C++ / ours | Python / ours",
    )
    rng = np.random.default_rng(0)
    native, other = NativeDetector(), CollisionDetector.create("coal")
    names = list(_SHAPES)
    with tempfile.TemporaryDirectory() as folder:
        program = build_peer(Path(folder))
        for a, b in [(a, b) for i, a in enumerate(names) for b in names[i:]]:
            group = native.create_group()
            for _ in range(_PAIRS):
                group.add(_SHAPES[a])
                group.add(_SHAPES[b])
            poses = _random_poses(rng, 2 * _PAIRS, 1.5)
            group.poses = poses
            pairs = np.arange(2 * _PAIRS).reshape(-1, 2)
            native.distances(group, pairs)
            scene = native.scene(group)
            parts = [part[0][:2] for part in other._parts(group)]
            request, result = coal.DistanceRequest(), coal.DistanceResult()
            listed = pairs.tolist()

            def theirs(parts=parts, request=request, result=result, listed=listed):
                for k, j in listed:
                    result.clear()
                    coal.distance(*parts[k], *parts[j], request, result)

            jobs = {
                "ours": lambda g=group, p=pairs: native.distances(g, p),
                "compiled": lambda s=scene: s._run(shape_poses, *s.narrow),
                "coal": theirs,
            }
            best = {name: 1e6 * spent / _PAIRS for name, spent in best_of(jobs, rounds=40, least=0.0).items()}
            peer = peer_time(program, a, b, poses) if program is not None else np.nan
            table.add_row(
                f"{a}-{b}",
                *(f"{x:.3f}" for x in (best["ours"], best["compiled"], peer, best["coal"])),
                f"{peer / best['ours']:.1f}",
                f"{best['coal'] / best['ours']:.1f}",
            )
    console.print(table)


_CURVED = {
    "ellipsoid": ('type="ellipsoid" size="0.3 0.4 0.5"', CollisionShape.ellipsoid((0.3, 0.4, 0.5))),
    "cylinder": ('type="cylinder" size="0.3 0.5"', CollisionShape.cylinder(0.3, 0.5)),
    "box": ('type="box" size="0.3 0.4 0.5"', CollisionShape.box((0.3, 0.4, 0.5))),
}


_ASKED = {("ellipsoid", "ellipsoid"), ("ellipsoid", "hull"), ("cylinder", "cylinder")}


def _hull_points() -> np.ndarray:
    """200 points on an ellipsoid: a scanned part, roughly."""
    x = np.random.default_rng(1).normal(size=(200, 3))
    return x / np.linalg.norm(x, axis=1)[:, None] * (0.3, 0.4, 0.5)


def curved_contacts(console: Console, count: int = 100) -> None:
    """Contacts of overlapping and of nearly touching pairs: all stages of ours, all of `mj_collision`.

    Asked: 1.5 for overlapping ellipsoids, ellipsoids and hulls, and cylinders.
    """
    import mujoco

    table = table_of(
        "contacts of convex pairs, broad and narrow phase, one thread, us a pair",
        "pair | Worldline | median | MuJoCo | median | ratio, best | ratio, median | asked",
    )
    points = _hull_points()
    hull = ('type="mesh" mesh="hull"', CollisionShape.convex(points))
    kinds = {**_CURVED, "hull": hull}
    vertices = " ".join(map(repr, points.ravel().tolist()))
    rng = np.random.default_rng(0)
    for a, b in [
        ("ellipsoid", "ellipsoid"),
        ("ellipsoid", "hull"),
        ("ellipsoid", "box"),
        ("cylinder", "cylinder"),
        ("cylinder", "hull"),
        ("hull", "hull"),
    ]:
        for gap, label in ((0.55, "overlapping"), (1.05, "apart or touching")):
            middle = np.stack(
                [4.0 * (np.arange(count) % 10), 4.0 * (np.arange(count) // 10), np.zeros(count)], 1
            )
            aside = rng.normal(size=(count, 3))
            aside *= 0.7 * gap / np.linalg.norm(aside, axis=1)[:, None]
            q = rng.normal(size=(2 * count, 4))
            q /= np.linalg.norm(q, axis=1)[:, None]
            positions = np.stack([middle, middle + aside], axis=1).reshape(-1, 3)
            bodies = "".join(
                f'<body pos="{" ".join(map(repr, x))}" quat="{" ".join(map(repr, r))}"><freejoint/>'
                f'<geom {kinds[a if k % 2 == 0 else b][0]} mass="1"/></body>'
                for k, (x, r) in enumerate(zip(positions.tolist(), q.tolist(), strict=True))
            )
            model = mujoco.MjModel.from_xml_string(
                f'<mujoco><asset><mesh name="hull" vertex="{vertices}"/></asset>'
                f"<worldbody>{bodies}</worldbody></mujoco>"
            )
            data = mujoco.MjData(model)
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            native = NativeDetector()
            group = native.create_group()
            for _ in range(count):
                group.add(kinds[a][1])
                group.add(kinds[b][1])
            # of ours the scalar of a quaternion comes last
            group.poses = np.hstack([positions, q[:, 1:], q[:, :1]])
            scene = native.scene(group)
            scene.contacts()
            jobs = {
                "ours": lambda s=scene: s._run(shape_poses, broad, *s.narrow),
                "mujoco": lambda m=model, d=data: mujoco.mj_collision(m, d),
            }
            times = turns_of(jobs, rounds=60, least=0.0)
            ours, theirs = (1e6 * times[name] / count for name in ("ours", "mujoco"))
            figures = (ours.min(), np.median(ours), theirs.min(), np.median(theirs))
            ratios = (figures[2] / figures[0], figures[3] / figures[1])
            asked = "1.5" if (a, b) in _ASKED and label == "overlapping" else ""
            table.add_row(f"{a}-{b}, {label}", *(f"{x:.2f}" for x in (*figures, *ratios)), asked)
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
    best = best_of({"rays": lambda: scene.cast(start, end)}, rounds=40, least=0.0)
    rate = 10_000 / best["rays"]
    triangles = scene.arenas.sizes["ntri"]
    console.print(f"rays on {triangles} triangles: {rate / 1e6:.2f} million a second\n")


def broad_phase(console: Console) -> None:
    """Time of a broad-phase pass over a pile that moves a little, per body and n log n."""
    table = table_of(
        "broad phase of boxes and spheres in a loose pile, every step moved",
        "bodies | pairs | us a step | us / (n log2 n)",
    )
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
            scene._run(shape_poses, broad)

        best = best_of({"step": step}, rounds=200, least=0.0)["step"] * 1e6
        pairs = len(scene.candidates())
        table.add_row(f"{count}", f"{pairs}", f"{best:.1f}", f"{best / (count * np.log2(count)):.4f}")
    console.print(table)


def pile_share(console: Console, count: int = 1000) -> None:
    """Where a step of a pile of boxes and spheres spends its time, stage by stage."""
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    rng = np.random.default_rng(0)
    side = max(2, round((count / 3) ** (1 / 3)))
    for k in range(count):
        place_of = np.array([k % side, (k // side) % side, k // side**2])
        position = place_of * (0.22, 0.22, 0.21) + (0.0, 0.0, 0.11) + 0.02 * rng.random(3) * (1, 1, 0)
        body = world.add_rigid_body(f"body_{k}", mass=1.0, position=position)
        ball = rng.random() < 0.5
        body.add_collision_shape(CollisionShape.sphere(0.1) if ball else CollisionShape.box((0.1, 0.1, 0.1)))
    world.step(n=150)
    simulation = world._runtime.sim
    program, *rest = simulation._call
    names = [stage.name for stage in simulation.stages]
    spent = np.zeros((20, len(names)))
    for row in spent:
        # one stage after the other is one step
        for k in range(len(names)):
            one = np.ascontiguousarray(program[k : k + 1])
            start = time.perf_counter()
            simulation._advance(one, *rest, 1)
            row[k] = time.perf_counter() - start
    typical = np.median(spent, axis=0)
    total = typical.sum()
    table = table_of(
        f"a step of a pile of {count} boxes and spheres, {len(world.contacts)} contacts", "stage | us | share"
    )
    for k in np.argsort(-typical)[:8]:
        table.add_row(names[k], f"{1e6 * typical[k]:.0f}", f"{typical[k] / total:.1%}")
    broad_time = sum(t for name, t in zip(names, typical, strict=True) if name in ("shape_poses", "broad"))
    table.add_row("broad phase (place, broad)", f"{1e6 * broad_time:.0f}", f"{broad_time / total:.1%}")
    console.print(table)


def run(console: Console) -> None:
    """All of them."""
    pair_queries(console)
    curved_contacts(console)
    rays(console)
    broad_phase(console)
    pile_share(console)
