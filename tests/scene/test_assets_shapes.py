# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Hulls, decompositions, fitted primitives, height fields, and the library that brings them together."""

from __future__ import annotations

import builtins
import struct
import time
import zlib

import numpy as np
import pytest
from test_mass_properties import l_shape, mesh_xml, needs_mujoco, random_rotation, text, wxyz

from worldline import msd
from worldline._src.errors import CapabilityError, SceneError
from worldline._src.scene.assets.cache import AssetCache, NoCache
from worldline._src.scene.assets.decomposition import arguments, decomposed
from worldline._src.scene.assets.fitting import bounding_box, fitted, inertia_box
from worldline._src.scene.assets.hfields import load_hfield, read_heights
from worldline._src.scene.assets.hulls import convex_hull
from worldline._src.scene.assets.integrals import mesh_integrals
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.assets.mesh import Mesh, to_data, topology
from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.assets.rotations import rotation_matrix
from worldline._src.scene.geometry import MeshInertia, ShapeType
from worldline._src.scene.options import ShapeFit

HANG = 3.0
"""Seconds of processor time a refusal may take; the slowest was measured at 0.9 s on a quiet machine."""


def volume(mesh: Mesh) -> float:
    return mesh_integrals(mesh, MeshInertia.Exact).content


# hulls


def test_hull_of_a_cloud_is_closed_and_holds_every_point():
    points = np.random.default_rng(0).normal(size=(500, 3))
    hull = convex_hull(points)
    assert topology(hull) == (True, True)
    a, b, c = hull.corners
    normals = np.cross(b - a, c - a)
    heights = np.einsum("ik,jk->ij", points, normals) - np.einsum("jk,jk->j", a, normals)
    assert heights.max() < 1e-12
    bounded = convex_hull(points, max_vertices=12)
    assert len(bounded.vertices) == 12 and volume(bounded) < volume(hull)


def test_hull_of_a_box_with_points_inside():
    corners = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 2) for z in (0.0, 3)])
    hull = convex_hull(np.concatenate((corners, np.random.default_rng(0).uniform(0.1, 0.9, (50, 3)))))
    assert len(hull.vertices) == 8 and len(hull.triangles) == 12
    assert volume(hull) == pytest.approx(6.0)


@pytest.mark.parametrize("thickness", [0.0, 1e-13])
def test_hull_of_a_sheet_is_flat_with_two_sides(thickness):
    rng = np.random.default_rng(4)
    points = np.c_[rng.uniform(size=(40, 2)), thickness * rng.normal(size=40)] @ rotation_matrix(
        random_rotation(rng)
    )
    hull = convex_hull(points)
    assert topology(hull).is_closed
    assert abs(mesh_integrals(hull, MeshInertia.Shell).content / 2) > 0.5


@pytest.mark.parametrize("points", [np.zeros((1, 3)), np.zeros((9, 3)), np.outer(np.arange(5.0), [1, 2, 3])])
def test_points_on_a_line_have_no_hull(points):
    with pytest.raises(SceneError, match="on one line"):
        convex_hull(points, where="needle")


# decomposition


def test_every_parameter_reaches_coacd():
    config = msd.CoACDConfig(
        apx_mode="Box", decimate=True, extrude=True, extrude_margin=0.3, max_ch_vertex=17, max_convex_hull=5,
        mcts_iteration=7, mcts_max_depth=2, mcts_nodes=9, merge=True, pca=True, prep_resolution=33,
        preprocess_mode="On", real_metric=True, sample_resolution=1234, seed=8, threshold=0.2,
    )  # fmt: skip
    assert arguments(config) == {
        "apx_mode": "box", "decimate": True, "extrude": True, "extrude_margin": 0.3, "max_ch_vertex": 17,
        "max_convex_hull": 5, "mcts_iterations": 7, "mcts_max_depth": 2, "mcts_nodes": 9, "merge": True,
        "pca": True, "preprocess_resolution": 33, "preprocess_mode": "on", "real_metric": True,
        "resolution": 1234, "seed": 8, "threshold": 0.2,
    }  # fmt: skip
    coacd = pytest.importorskip("coacd", reason="the package coacd is not installed")
    import inspect

    known = set(inspect.signature(coacd.run_coacd).parameters) - {"mesh"}
    assert known == set(arguments(config))


def test_decomposition_cuts_an_l_in_two_and_is_kept(tmp_path, monkeypatch):
    coacd = pytest.importorskip("coacd", reason="the package coacd is not installed")
    mesh = l_shape()
    config = msd.CoACDConfig(threshold=0.05, mcts_iteration=20, sample_resolution=500)
    parts = decomposed(mesh, config, cache=AssetCache(tmp_path))
    assert len(parts) == 2
    assert sum(map(volume, parts)) == pytest.approx(volume(mesh), rel=0.02)
    monkeypatch.setattr(coacd, "run_coacd", None)
    again = decomposed(mesh, config, cache=AssetCache(tmp_path))
    assert all(np.array_equal(a.vertices, b.vertices) for a, b in zip(parts, again, strict=True))
    assert all(np.array_equal(a.triangles, b.triangles) for a, b in zip(parts, again, strict=True))


def test_missing_coacd_is_named(monkeypatch):
    real = builtins.__import__

    def refuse(name, *more, **named):
        if name == "coacd":
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(CapabilityError, match="'coacd', which is not installed"):
        decomposed(l_shape(), msd.CoACDConfig())


def test_a_sheet_is_its_own_decomposition():
    sheet = Mesh(
        np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    )
    assert len(decomposed(sheet, msd.CoACDConfig())) == 1


# fitting


def test_a_box_is_its_own_inertia_box():
    corners = np.array([[x, y, z] for x in (-0.3, 0.3) for y in (-0.2, 0.2) for z in (-0.1, 0.1)])
    turn = rotation_matrix(random_rotation(np.random.default_rng(8)))
    mesh = convex_hull(corners @ turn.T + [1, 2, 3])
    for box in (inertia_box(mesh_integrals(mesh)), bounding_box(mesh, mesh_integrals(mesh))):
        assert np.allclose(box.size, [0.1, 0.2, 0.3])
        assert np.allclose(box.position, [1, 2, 3])
        axes = np.abs(rotation_matrix(box.rotation).T @ turn)
        assert np.allclose(axes, [[0, 0, 1], [0, 1, 0], [1, 0, 0]], atol=1e-9)


FITTABLE = ["sphere", "capsule", "cylinder", "ellipsoid", "box"]


@needs_mujoco
@pytest.mark.parametrize("name", FITTABLE)
@pytest.mark.parametrize("fit", list(ShapeFit))
@pytest.mark.parametrize(
    "mode", [MeshInertia.Exact, MeshInertia.Convex, MeshInertia.Legacy, MeshInertia.Shell]
)
def test_fitted_primitives_equal_the_compiled_ones(name, fit, mode):
    import mujoco

    rng = np.random.default_rng(9)
    mesh = l_shape()
    position, rotation = rng.normal(size=3), random_rotation(rng)
    scale = np.array([0.5, 0.8, 1.1])
    flag = "true" if fit is ShapeFit.Aabb else "false"
    extra = f'inertia="{mode.name.lower()}" scale="{text(scale)}"'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler fitaabb="{flag}"/><asset>{mesh_xml("m", mesh, extra)}</asset><worldbody><body>'
        f'<geom type="{name}" mesh="m" pos="{text(position)}" quat="{wxyz(rotation)}" fitscale="0.9"/>'
        "</body></worldbody></mujoco>"
    )
    world = msd.World()
    world.assets.meshes["m"] = msd.MeshSource.buffer(to_data(mesh))
    geom = msd.Geometry(
        shape=name.capitalize(), mesh="m", mesh_scale=scale, mesh_inertia=mode, fit_scale=0.9,
        position=position, orientation=rotation,
    )  # fmt: skip
    library = AssetLibrary(world, PathPolicy(), NoCache())
    ours = library.resolved(geom, fit)
    assert np.allclose(ours.size, model.geom_size[0], rtol=1e-9)
    assert np.allclose(ours.position, model.geom_pos[0], rtol=0, atol=1e-8)
    w, x, y, z = model.geom_quat[0]
    theirs = rotation_matrix(np.array([x, y, z, w]))
    # an axis may point either way
    assert np.allclose(np.abs(theirs.T @ rotation_matrix(ours.rotation)), np.eye(3), atol=1e-7)
    world.compile_options.shape_fit = fit
    found = library.geom_properties(geom)
    assert found.mass == pytest.approx(model.body_mass[1], rel=1e-9)
    assert np.allclose(found.com, model.body_ipos[1], rtol=0, atol=1e-8)
    assert np.allclose(np.linalg.eigvalsh(found.inertia), np.sort(model.body_inertia[1]), rtol=1e-9)


def test_only_some_shapes_can_be_fitted():
    with pytest.raises(SceneError, match="given a Plane to fit"):
        fitted(ShapeType.Plane, l_shape(), mesh_integrals(l_shape()), ShapeFit.Aabb)


# height fields

HEIGHTS = np.array([[1.0, 2, 3], [4, 5, 9]])


def table(heights: np.ndarray, rows: int | None = None, columns: int | None = None) -> bytes:
    shape = (heights.shape[0] if rows is None else rows, heights.shape[1] if columns is None else columns)
    return struct.pack("<2i", *shape) + heights.astype("<f4").tobytes()


def png(pixels: np.ndarray, width: int | None = None) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + bytes(row.tolist()) for row in pixels.astype(np.uint8))
    head = struct.pack(">2I5B", pixels.shape[1] if width is None else width, pixels.shape[0], 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def field_of(path: str, **more) -> msd.HFieldSource:
    return msd.HFieldSource(source_type=msd.HFieldSourceType.path(path), size=(4, 2), **more)


@needs_mujoco
def test_binary_height_field_equals_the_compiled_one(tmp_path):
    import mujoco

    (tmp_path / "h.bin").write_bytes(table(HEIGHTS))
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><hfield name="h" file="{tmp_path / "h.bin"}" size="2 1 3 0.1"/></asset>'
        '<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>'
    )
    found = load_hfield(field_of("h.bin", height_scale=3.0, base=0.1), PathPolicy(tmp_path))
    assert np.allclose(found.heights, 3.0 * model.hfield_data.reshape(2, 3), atol=1e-6)
    assert found.size.tolist() == [4, 2] and found.base == 0.1


def test_image_height_field_begins_at_the_bottom(tmp_path):
    pytest.importorskip("PIL", reason="the package pillow is not installed")
    (tmp_path / "h.png").write_bytes(png(10 * HEIGHTS))
    found = load_hfield(field_of("h.png", height_scale=2.0), PathPolicy(tmp_path))
    assert np.allclose(found.heights, 2.0 * (HEIGHTS[::-1] - 1) / 8)


def test_missing_pillow_is_named():
    try:
        import PIL  # noqa: F401
    except ImportError:
        with pytest.raises(CapabilityError, match="pillow"):
            read_heights(png(HEIGHTS), "h.png")


def test_scene_heights_are_taken_as_they_are():
    source = msd.HFieldSource(
        nrow=2,
        ncol=3,
        size=(4, 2),
        height_scale=0.5,
        source_type=msd.HFieldSourceType.buffer(HEIGHTS.ravel(), "h"),
    )
    assert np.allclose(load_hfield(source, PathPolicy()).heights, 0.5 * HEIGHTS)
    source.source_type = msd.HFieldSourceType.buffer(HEIGHTS, "h")
    assert np.allclose(load_hfield(source, PathPolicy()).heights, 0.5 * HEIGHTS)
    source.nrow = 3
    with pytest.raises(SceneError, match="given 2 rows of 3 heights; allowed: 3 rows of 3"):
        load_hfield(source, PathPolicy())


HOSTILE = {
    "empty.bin": b"",
    "billions.bin": table(HEIGHTS, 2**31 - 1, 2**31 - 1),
    "negative.bin": table(HEIGHTS, -2, -3),
    "one more.bin": table(HEIGHTS, 2, 4),
    "nan.bin": table(np.where(HEIGHTS == 5, np.nan, HEIGHTS)),
    "one row.bin": table(HEIGHTS[:1]),
    "not.png": b"\x89PNG\r\n\x1a\nnothing",
    "bomb.png": png(HEIGHTS, 2**31 - 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_height_field_is_refused_at_once(tmp_path, name):
    (tmp_path / name).write_bytes(HOSTILE[name])
    start = time.process_time()
    with pytest.raises(SceneError):
        load_hfield(field_of(name), PathPolicy(tmp_path))
    assert time.process_time() - start < HANG


# the library


def test_library_loads_once_and_from_the_cache(tmp_path, monkeypatch):
    from test_assets_mesh import CUBE, stl

    (tmp_path / "cube.stl").write_bytes(stl(CUBE))
    world = msd.World(source_path=str(tmp_path / "scene.json"))
    world.assets.meshes["cube"] = msd.MeshSource.path("cube.stl")
    first = AssetLibrary(world, cache=AssetCache(tmp_path / "cache"))
    geom = msd.Geometry(shape="Mesh", mesh="cube", mesh_scale=(2, 1, 1), position=(1, 0, 0))
    expected = first.geom_properties(geom)
    assert expected.mass == pytest.approx(12000.0) and np.allclose(expected.com, [2, 1, 1.5])
    assert first.mesh("cube") is first.mesh("cube")
    hull = first.hull("cube", np.array([2.0, 1, 1]))
    for name in ("mesh_files.read_mesh", "library.mesh_integrals", "hulls._hull"):
        monkeypatch.setattr(f"worldline._src.scene.assets.{name}", None)
    second = AssetLibrary(world, cache=AssetCache(tmp_path / "cache"))
    assert second.geom_properties(geom).mass == expected.mass
    assert np.array_equal(second.hull("cube", np.array([2.0, 1, 1])).vertices, hull.vertices)
    with pytest.raises(SceneError, match="no mesh 'cub'; did you mean 'cube'"):
        second.mesh("cub")
    with pytest.raises(SceneError, match="no height field"):
        second.hfield("cube")


def test_massless_geoms_do_not_need_their_mesh():
    library = AssetLibrary(msd.World(), PathPolicy(), NoCache())
    assert library.geom_properties(msd.Geometry(shape="Mesh", mesh="missing", mass=0.0)).mass == 0.0


def test_link_takes_given_or_computed_inertia():
    link = msd.Link(geoms=[msd.Geometry(size=(0.1, 0, 0))])
    link.inertial = msd.Inertia(mass=1.0, pos=(0, 0, 1), diag_inertia=(1, 1, 1))
    world = msd.World()
    library = AssetLibrary(world, PathPolicy(), NoCache())
    assert library.link_properties(link).mass == 1.0
    world.compile_options.inertia_source = "Geometry"
    assert library.link_properties(link).mass == pytest.approx(4.18879, rel=1e-5)
    world.compile_options.inertia_source = "Given"
    link.inertial = msd.Inertia(mass=2.0)
    found = library.link_properties(link)
    assert found.mass == 2.0 and not found.inertia.any()
