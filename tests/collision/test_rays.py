# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rays: meshes against brute force, solids against their own distance, edges of the interface."""

from __future__ import annotations

import numpy as np
import pytest
from test_properties import DETECTOR, SHAPES, random_pose

from worldline.collision import CollisionShape, RaycastOption


def brute_force(vertices, triangles, start, end):
    """Share of the way to the first triangle, in plain NumPy over all triangles."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    d = end - start
    p = np.cross(d, c - a)
    det = np.einsum("ij,ij->i", b - a, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = start - a
        u = np.einsum("ij,ij->i", s, p) / det
        q = np.cross(s, b - a)
        v = (q @ d) / det
        t = np.einsum("ij,ij->i", c - a, q) / det
    hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0) & (t <= 1)
    return t[hit].min() if hit.any() else np.inf


def test_rays_on_a_mesh_are_those_of_brute_force():
    rng = np.random.default_rng(0)
    vertices = rng.normal(size=(300, 3))
    triangles = rng.integers(0, 300, (700, 3))
    triangles = triangles[(np.diff(np.sort(triangles, axis=1), axis=1) > 0).all(axis=1)]
    group = DETECTOR.create_group()
    group.add(CollisionShape.mesh(vertices, triangles))
    start, end = 3.0 * rng.normal(size=(2, 500, 3))
    found = DETECTOR.raycast(group, start, end)
    expected = np.array([brute_force(vertices, triangles, a, b) for a, b in zip(start, end, strict=True)])
    assert (np.isfinite(expected)).sum() > 100
    assert np.allclose(found.fractions, expected, rtol=0, atol=1e-12)
    hit = found.objects == 0
    assert (hit == np.isfinite(expected)).all()
    corners = vertices[triangles[found.triangles[hit]]]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    along = np.abs(np.einsum("ij,ij->i", normal, found.normals[hit])) / np.linalg.norm(normal, axis=1)
    assert np.allclose(along, 1.0, atol=1e-9)


@pytest.mark.parametrize("kind", [k for k in SHAPES if k not in ("plane", "mesh", "height_field")])
def test_rays_end_on_the_surface(kind):
    rng = np.random.default_rng(1)
    pose = random_pose(rng)
    group = DETECTOR.create_group()
    group.add(SHAPES[kind], pose=pose)
    start = pose[:3] + 2.0 * rng.normal(size=(200, 3))
    end = pose[:3] + 0.3 * rng.normal(size=(200, 3))
    found = DETECTOR.raycast(group, start, end)
    hits = 0
    for k in range(200):
        before = DETECTOR.closest_point(group, start[k]).distance
        if before <= 1e-6:
            continue
        if found.objects[k] < 0:
            # it missed: no point of it is inside
            shares = np.linspace(0.0, 1.0, 30)[:, None]
            inside = [
                DETECTOR.closest_point(group, p).distance for p in start[k] + shares * (end[k] - start[k])
            ]
            assert min(inside) > -1e-6
            continue
        hits += 1
        assert abs(DETECTOR.closest_point(group, found.points[k]).distance) < 1e-6
        assert found.normals[k] @ (end[k] - start[k]) < 1e-9
        # and nothing was passed through on the way
        middle = 0.5 * (start[k] + found.points[k])
        assert DETECTOR.closest_point(group, middle).distance > -1e-6
    assert hits > 50


def test_a_ray_from_inside_hits_at_once():
    group = DETECTOR.create_group()
    group.add(CollisionShape.sphere(1.0))
    found = DETECTOR.raycast(group, (0, 0, 0), (2, 0, 0))
    assert found.fractions.tolist() == [0.0]
    assert found.normals.tolist() == [[-1.0, 0.0, 0.0]]


def test_all_hits_are_sorted():
    group = DETECTOR.create_group()
    for x in (3.0, 1.0, 2.0):
        group.add(CollisionShape.sphere(0.1), pose=(x, 0, 0, 0, 0, 0, 1))
    found = DETECTOR.raycast(group, (0, 0, 0), (10, 0, 0), RaycastOption(all_hits=True))
    assert found.objects.tolist() == [1, 2, 0]
    assert np.allclose(found.points[:, 0], [0.9, 1.9, 2.9])


def test_nothing_to_hit():
    group = DETECTOR.create_group()
    found = DETECTOR.raycast(group, (0, 0, 0), (1, 0, 0))
    assert not found.has_hit
    assert found.fractions.tolist() == [np.inf]
    with pytest.raises(ValueError, match="as many starts as ends"):
        DETECTOR.raycast(group, np.zeros((2, 3)), np.zeros((3, 3)))


def field_of_mujoco(rng):
    """A height field of MuJoCo, its data, and the same field here."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")
    heights = rng.random((4, 6))
    spec = mujoco.MjSpec()
    spec.add_hfield(name="ground", nrow=4, ncol=6, size=(1.5, 1.0, 1.0, 0.1), userdata=heights.ravel())
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="ground")
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    # the compiler of MuJoCo spreads heights over 0 to 1 and keeps them in single precision
    known = np.asarray(model.hfield_data, np.float64).reshape(4, 6)
    group = DETECTOR.create_group()
    group.add(CollisionShape.height_field(known, (3.0, 2.0), base=0.1))

    def distances(start, along):
        geom = np.zeros(1, np.int32)
        rays = zip(start, np.broadcast_to(along, start.shape).copy(), strict=True)
        return np.array([mujoco.mj_ray(model, data, o, d, None, 1, -1, geom) for o, d in rays])

    return distances, group


def test_cells_of_height_fields_are_split_as_in_mujoco():
    rng = np.random.default_rng(5)
    distances, group = field_of_mujoco(rng)
    start = np.column_stack([rng.uniform(-1.4, 1.4, 300), rng.uniform(-0.9, 0.9, 300), np.full(300, 3.0)])
    found = DETECTOR.raycast(group, start, start - (0.0, 0.0, 4.0))
    np.testing.assert_allclose(4.0 * found.fractions, distances(start, (0.0, 0.0, -1.0)), atol=1e-9)


def test_the_ground_of_a_height_field_has_sides_and_a_base_as_in_mujoco():
    """Rays from everywhere around the field, toward its box: which meet it, distances, outward normals."""
    rng = np.random.default_rng(6)
    distances, group = field_of_mujoco(rng)
    around = rng.normal(size=(2000, 3))
    start = 4.0 * around / np.linalg.norm(around, axis=1, keepdims=True)
    along = rng.uniform((-1.6, -1.1, -0.2), (1.6, 1.1, 1.1), (2000, 3)) - start
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    found, expected = DETECTOR.raycast(group, start, start + 8.0 * along), distances(start, along)
    met = expected >= 0.0
    np.testing.assert_array_equal(np.isfinite(found.fractions), met)
    np.testing.assert_allclose(8.0 * found.fractions[met], expected[met], atol=1e-6)
    points, normals = found.points[met], found.normals[met]
    assert (np.einsum("ij,ij->i", normals, along[met]) < 0.0).all()
    for axis, place in ((0, -1.5), (0, 1.5), (1, -1.0), (1, 1.0), (2, -0.1)):
        there = np.abs(points[:, axis] - place) < 1e-9
        expected_normal = np.sign(place) * np.eye(3)[axis]
        assert there.sum() > 20 and np.allclose(normals[there], expected_normal, atol=1e-12)


def test_a_ray_within_the_ground_of_a_height_field_meets_its_sides_from_inside():
    group = DETECTOR.create_group()
    group.add(CollisionShape.height_field(np.full((3, 3), 0.5), (2.0, 4.0), base=1.0))
    start = np.full((6, 3), (0.2, -0.3, 0.1))
    along = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], float)
    found = DETECTOR.raycast(group, start, start + along * 10.0)
    np.testing.assert_allclose(10.0 * found.fractions, [0.8, 1.2, 2.3, 1.7, 0.4, 1.1], atol=1e-12)
    np.testing.assert_allclose(found.normals, -along, atol=1e-12)
