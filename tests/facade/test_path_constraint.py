# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Points kept on planes, circles and splines against closed forms; files, copies, batches and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.special import ellipk

from worldline import msd
from worldline import simulation as sx
from worldline._src.model.equality_kinds import spline_data

Family = sx.MultibodyIntegrationFamily
UPRIGHT = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
"""Turns the plane of x and y into that of x and z."""
ROUND = [(0.5 * np.cos(a), 0.5 * np.sin(a), 0.0) for a in np.linspace(0, 2 * np.pi, 32, endpoint=False)]
CURVES = {"circle": msd.PathShape.circle(0.5), "spline": msd.PathShape.spline(ROUND, closed=True)}


def stiff() -> msd.ImpedanceSpring:
    return msd.ImpedanceSpring(
        spring=msd.StiffnessDamping(k=4e4, d=400.0), impedance=msd.Impedance(d0=0.9999, dmax=0.9999)
    )


def bead(
    path, position, velocity=(0, 0, 0), family=None, time_step=0.001, frame=UPRIGHT, **options
) -> sx.World:
    chosen = {} if family is None else {"multibody_options": sx.MultibodyOptions(integration_family=family)}
    world = sx.World(time_step=time_step, **chosen)
    world.add_rigid_body(
        "bead", position=position, linear_velocity=velocity, mass=0.5, inertia=(1e-3, 2e-3, 3e-3)
    )
    world.add_equality(
        msd.EqualityPath(
            name="wire",
            point=msd.FrameRef(link="bead"),
            frame=msd.FrameRef(orientation=frame),
            path=path,
            spring=stiff(),
            **options,
        )
    )
    return world


FAMILIES = [f for f in Family if f is not Family.VARIATIONAL]
"""Soft rows of variational steps have order one, and a period to match."""


@pytest.mark.parametrize("family", FAMILIES, ids=[f.value for f in FAMILIES])
@pytest.mark.parametrize("name", CURVES)
def test_a_bead_on_a_ring_swings_as_a_pendulum_does(name, family):
    """Period of a pendulum of amplitude a: 4 sqrt(r / g) K(sin^2(a / 2))."""
    a, h = 1.2, 0.001
    world = bead(CURVES[name], (0.5 * np.sin(a), 0.0, -0.5 * np.cos(a)), family=family, time_step=h)
    body, crossings, last = world.rigid_bodies["bead"], [], 0.5 * np.sin(a)
    off, energies = [], []
    for step in range(1, 3001):
        world.step()
        x, y, z = body.translation
        off.append(abs(np.hypot(x, z) - 0.5) + abs(y))
        energies.append(world.kinetic_energy + world.potential_energy)
        if last > 0.0 >= x or last < 0.0 <= x:
            crossings.append(h * (step - x / (x - last)))
        last = x
    period = 4.0 * np.sqrt(0.5 / 9.81) * ellipk(np.sin(0.5 * a) ** 2)
    assert np.diff(crossings).mean() == pytest.approx(0.5 * period, rel=2e-3)
    assert max(off) < 5e-4
    assert np.ptp(energies) < 0.01 * 0.5 * 9.81 * 0.5


def test_the_ring_carries_weight_and_centripetal_force():
    v = 3.0
    world = bead(CURVES["circle"], (0.0, 0.0, -0.5), (v, 0.0, 0.0))
    world.step()
    # in the lowest point N = m g + m v^2 / r
    force = world.get_equality_force("wire")
    assert force[5] == pytest.approx(0.5 * 9.81 + 0.5 * v * v / 0.5, rel=2e-4)
    assert np.abs(force[:3]).max() < 1e-12


@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_a_point_in_a_plane_slides_down_it(turn):
    frame = (np.sin(0.5 * turn), 0.0, 0.0, np.cos(0.5 * turn))
    world = bead(msd.PathShape.plane(), (0.0, 0.0, 0.0), frame=frame)
    world.step(500)
    s = 0.5 * 9.81 * np.sin(turn) * 0.5**2
    wanted = [0.0, -s * np.cos(turn), -s * np.sin(turn)]
    assert np.allclose(world.rigid_bodies["bead"].translation, wanted, atol=4e-3)
    normal = np.array([0.0, -np.sin(turn), np.cos(turn)])
    assert abs(normal @ world.rigid_bodies["bead"].translation) < 2e-4
    assert world.get_equality_force("wire")[3:] @ normal == pytest.approx(0.5 * 9.81 * np.cos(turn), rel=1e-3)


def test_beyond_its_ends_an_open_curve_goes_on_along_its_tangents():
    points = [(-1.0, 0.2, 0.0), (-0.4, 0.0, 0.0), (0.3, 0.05, 0.1), (1.0, 0.4, 0.0)]
    world = bead(msd.PathShape.spline(points), (0.0, 0.0, 0.0), frame=(0, 0, 0, 1))
    world.gravity = (0.0, 0.0, 0.0)
    x = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))]
    curve = CubicSpline(x, points, bc_type="natural")
    body = world.rigid_bodies["bead"]
    start = curve(0.5 * x[-1])
    tangent = curve(0.5 * x[-1], 1) / np.linalg.norm(curve(0.5 * x[-1], 1))
    body.translation, body.linear_velocity = start, 2.0 * tangent
    near = []
    for _ in range(1500):
        world.step()
        p = body.translation
        s = np.linspace(0.0, x[-1], 4001)
        inside = np.linalg.norm(curve(s) - p, axis=1).min()
        t = curve(x[-1], 1) / np.linalg.norm(curve(x[-1], 1))
        gap = p - curve(x[-1])
        beyond = np.linalg.norm(gap - t * max(t @ gap, 0.0))
        near.append(min(inside, beyond))
    assert max(near) < 5e-4
    assert t @ gap > 0.5 and np.linalg.norm(body.linear_velocity) == pytest.approx(2.0, rel=5e-3)


def test_splines_are_those_of_scipy():
    points = np.random.default_rng(0).normal(size=(6, 3))
    for closed in (False, True):
        data = np.array(spline_data(points, closed))
        p = np.vstack([points, points[:1]]) if closed else points
        x = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=1))]
        wanted = CubicSpline(x, p, bc_type="periodic" if closed else "natural")
        for k, piece in enumerate(data[1:].reshape(-1, 3, 4)):
            for u in (0.0, 0.3, 0.9):
                at = piece @ [1.0, u, u * u, u**3]
                assert np.allclose(at, wanted(x[k] + u * (x[k + 1] - x[k])), atol=1e-12)


def test_a_curve_moves_with_the_body_it_is_fixed_to():
    """Two free bodies: momentum stays, and so does the point on the ring of the other."""
    world = sx.World(gravity=(0, 0, 0), time_step=0.0005)
    ring = world.add_rigid_body("ring", mass=2.0, inertia=(0.3, 0.2, 0.4), angular_velocity=(0.5, 1.0, 2.0))
    bead_ = world.add_rigid_body(
        "bead", mass=1.0, inertia=(0.01,) * 3, position=(0.5, 0, 0), linear_velocity=(0, 2, 0)
    )
    world.add_equality(
        msd.EqualityPath(
            point=msd.FrameRef(link="bead"),
            frame=msd.FrameRef(link="ring"),
            path=CURVES["circle"],
            spring=stiff(),
        )
    )
    energy = world.kinetic_energy
    momentum = 2.0 * ring.linear_velocity + bead_.linear_velocity
    world.step(1000)
    X = ring.transform
    local = X[:3, :3].T @ (bead_.translation - X[:3, 3])
    assert np.hypot(local[0], local[1]) == pytest.approx(0.5, abs=1e-3) and abs(local[2]) < 1e-3
    assert np.allclose(2.0 * ring.linear_velocity + bead_.linear_velocity, momentum, atol=1e-9)
    assert world.kinetic_energy == pytest.approx(energy, rel=2e-2)


def test_it_is_switched_and_breaks():
    world = bead(CURVES["circle"], (0.5, 0.0, 0.0), break_force=6.0)
    world.set_equality_active("wire", False)
    world.step(10)
    assert world.rigid_bodies["bead"].linear_velocity[2] == pytest.approx(-0.0981, abs=1e-9)
    world.set_equality_active("wire", True)
    world.step(500)
    assert [event.name for event in world.break_events] == ["wire"]


def test_files_clones_and_batches_keep_it(tmp_path):
    world = bead(CURVES["spline"], (0.5, 0.0, 0.0))
    world.step(50)
    file = tmp_path / "bead.msd"
    world.to_scene().to_file(file)
    read = msd.from_file(file)
    (kept,) = read.equality_constraint_set.paths
    assert (
        kept.path.variant == "spline" and len(kept.path.value["points"]) == 32 and kept.path.value["closed"]
    )
    other = world.clone()
    batch = sx.WorldBatch(world, 3)
    assert batch.layout == "threads"
    world.step(50)
    other.step(50)
    batch.step(50)
    assert np.array_equal(other.rigid_bodies["bead"].translation, world.rigid_bodies["bead"].translation)
    for row in batch.joint_positions:
        assert np.array_equal(row[:3], world.rigid_bodies["bead"].translation)
    report = world.to_scene().to_file(tmp_path / "bead.xml")
    assert any("paths[0]" in str(entry) for entry in report)
    with pytest.raises(NotImplementedError, match="equalities"):
        sx.WorldBatch(world, 3, layout="lanes")


def test_wrong_paths_are_refused_and_change_nothing():
    world = sx.World()
    world.add_rigid_body("bead")
    faulty = [
        msd.EqualityPath(point=msd.FrameRef(link="bead"), frame=msd.FrameRef(link="bead")),
        msd.EqualityPath(point=msd.FrameRef(link="nobody")),
        msd.EqualityPath(point=msd.FrameRef(link="bead"), path=msd.PathShape.circle(0.0)),
        msd.EqualityPath(
            point=msd.FrameRef(link="bead"), path=msd.PathShape.spline([(0, 0, 0), (1, 0, 0)], closed=True)
        ),
    ]
    for points in ([], [(0, 0, 0)], [(0, 0, 0), (0, 0, 0)], [(0, 0, 0), (1, 0, 0), (1, 0, 0)]):
        spline = msd.PathShape.spline(points)
        faulty.append(msd.EqualityPath(point=msd.FrameRef(link="bead"), path=spline))
    for one in faulty:
        with pytest.raises(msd.SceneError):
            world.add_equality(one)
    with pytest.raises(ValueError, match="EqualityPath"):
        world.add_equality("wire")
    fine = msd.EqualityPath(name="wire", point=msd.FrameRef(link="bead"))
    world.add_equality(fine)
    with pytest.raises(ValueError, match="already exists"):
        world.add_equality(fine)
    assert len(world.to_scene().equality_constraint_set.paths) == 1
