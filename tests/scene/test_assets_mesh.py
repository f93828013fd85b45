# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mesh files of every kind, good and hostile."""

from __future__ import annotations

import io
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import CapabilityError, SceneError
from worldline._src.scene.assets.integrals import mesh_integrals
from worldline._src.scene.assets.library import load_mesh
from worldline._src.scene.assets.mesh import Mesh, from_data, scaled, to_data, topology, transformed, welded
from worldline._src.scene.assets.mesh_files import read_mesh
from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.assets.rotations import rotation_matrix

try:
    import mujoco
except ImportError:
    mujoco = None

HANG = 3.0
"""Seconds of processor time a refusal may take; the slowest was measured at 0.9 s on a quiet machine."""

CUBE = Mesh(
    np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)]),
    np.array(
        [
            [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
            [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
        ],
        np.int32,
    ),
)  # fmt: skip


def stl(mesh: Mesh, count: int | None = None, head: bytes = b"made here") -> bytes:
    rows = np.zeros(len(mesh.triangles), np.dtype([("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")]))
    rows["v"] = mesh.vertices[mesh.triangles]
    return head.ljust(80) + struct.pack("<I", len(rows) if count is None else count) + rows.tobytes()


def stl_text(mesh: Mesh) -> bytes:
    lines = ["solid made here"]
    for corners in mesh.vertices[mesh.triangles]:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex " + " ".join(map(repr, corner.tolist())) for corner in corners]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid made here", ""]).encode()


def obj(mesh: Mesh) -> bytes:
    lines = ["v " + " ".join(map(repr, v.tolist())) for v in mesh.vertices]
    lines += ["f " + " ".join(str(i + 1) for i in t) for t in mesh.triangles.tolist()]
    return ("\n".join(lines) + "\n").encode()


def msh(mesh: Mesh, counts: tuple[int, ...] | None = None) -> bytes:
    counts = (len(mesh.vertices), 0, 0, len(mesh.triangles)) if counts is None else counts
    vertices = mesh.vertices.astype("<f4").tobytes()
    return struct.pack("<4i", *counts) + vertices + mesh.triangles.astype("<i4").tobytes()


def through_trimesh(mesh: Mesh, kind: str) -> bytes:
    import trimesh

    made = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False).export(file_type=kind)
    return made.encode() if isinstance(made, str) else made


def dae(mesh: Mesh, *, unit: float = 1.0, up: str = "Z_UP", matrix: str = "", body: str = "") -> bytes:
    numbers = " ".join(map(repr, mesh.vertices.ravel().tolist()))
    indices = " ".join(f"{i} 0" for i in mesh.triangles.ravel())
    body = body or (
        f'<triangles count="{len(mesh.triangles)}"><input semantic="VERTEX" source="#v" offset="0"/>'
        f'<input semantic="NORMAL" source="#n" offset="1"/><p>{indices}</p></triangles>'
    )
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit meter="{unit}"/><up_axis>{up}</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="{mesh.vertices.size}">{numbers}</float_array>
      <technique_common><accessor source="#pa" stride="3"/></technique_common></source>
    <source id="n"><float_array id="na" count="3">0 0 1</float_array></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    {body}
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node name="part">{matrix}
    <instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>""".encode()


FILES = {
    ".stl": stl(CUBE),
    ".STL": stl(CUBE, head=b"solid but binary"),
    ".stl ": stl_text(CUBE),
    ".obj": obj(CUBE),
    ".msh": msh(CUBE),
    ".dae": dae(CUBE),
    ".glb": through_trimesh(CUBE, "glb"),
    ".ply": through_trimesh(CUBE, "ply"),
    ".off": through_trimesh(CUBE, "off"),
}


@pytest.mark.parametrize("suffix", FILES)
def test_every_format_gives_the_same_shape(suffix):
    mesh = read_mesh(FILES[suffix], suffix.strip(), "cube")
    assert len(mesh.triangles) == 12 and len(mesh.vertices) == 8
    assert mesh_integrals(mesh).content == pytest.approx(6.0)
    assert np.allclose(mesh.bounds, [[0, 0, 0], [1, 2, 3]])
    assert topology(mesh) == (True, True)


def test_stl_with_bytes_after_its_end_is_read():
    assert len(read_mesh(stl(CUBE) + b"trailer", ".stl", "cube").triangles) == 12


def test_points_without_triangles_stand_for_their_hull():
    mesh = read_mesh(msh(CUBE._replace(triangles=np.empty((0, 3), np.int32))), ".msh", "cube")
    assert mesh_integrals(mesh).content == pytest.approx(6.0)


def test_polygons_and_parts_of_an_obj():
    text = b"o first\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n"
    text += b"o second\nv 0 0 1\nv 1 0 1\nv 1 1 1\nf -3 -2 -1\n"
    assert len(read_mesh(text, ".obj", "x").triangles) == 3
    assert len(read_mesh(text, ".obj", "x", {"first"}).triangles) == 2
    with pytest.raises(SceneError, match="no part 'frist'; allowed: first, second; did you mean 'first'"):
        read_mesh(text, ".obj", "x", {"frist"})


def test_collada_applies_units_and_nodes_but_not_the_up_axis():
    node = "<translate>10 0 0</translate><rotate>0 0 1 90</rotate><scale>1 1 -1</scale>"
    mesh = read_mesh(dae(CUBE, unit=0.001, up="Y_UP", matrix=node), ".dae", "cube")
    assert np.allclose(mesh.bounds, [[0.008, 0, -0.003], [0.01, 0.001, 0]])
    # a mirrored node turns its triangles around
    assert mesh_integrals(mesh).mode is msd.MeshInertia.Exact
    assert mesh_integrals(mesh, msd.MeshInertia.Exact).content == pytest.approx(6e-9)


VERTEX = '<input semantic="VERTEX" source="#v" offset="0"/>'


@pytest.mark.parametrize(
    "body",
    [
        f"<polylist>{VERTEX}<vcount>4</vcount><p>0 2 6 4</p></polylist>",
        '<polygons count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 6 4</p></polygons>',
        '<tristrips count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 4 6</p></tristrips>',
    ],
)
def test_collada_polygons_and_strips(body):
    mesh = read_mesh(dae(CUBE, body=body), ".dae", "cube")
    assert len(mesh.triangles) == 2 and len(mesh.vertices) == 4
    assert mesh_integrals(mesh, msd.MeshInertia.Shell).content == pytest.approx(2.0)
    normals = np.cross(
        *(mesh.vertices[mesh.triangles[:, k]] - mesh.vertices[mesh.triangles[:, 0]] for k in (1, 2))
    )
    assert (normals[:, 2] < 0).all()


@pytest.mark.skipif(mujoco is None, reason="the package mujoco is not installed")
@pytest.mark.parametrize("suffix", [".stl", ".obj", ".msh"])
def test_files_weigh_what_the_compiled_model_says(tmp_path, suffix):
    rng = np.random.default_rng(1)
    # numbers that single precision cannot hold
    mesh = CUBE._replace(vertices=CUBE.vertices + rng.uniform(-0.2, 0.2, CUBE.vertices.shape))
    path = tmp_path / f"m{suffix}"
    path.write_bytes({".stl": stl, ".obj": obj, ".msh": msh}[suffix](mesh))
    rotation = rng.normal(size=4)
    w, x, y, z = rotation[3], *rotation[:3]
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="m" file="{path}" inertia="exact" scale="0.3 -0.7 0.2" '
        f'refpos="0.1 0.2 0.3" refquat="{w} {x} {y} {z}"/></asset>'
        '<worldbody><body><geom type="mesh" mesh="m"/></body>'
        "</worldbody></mujoco>"
    )
    transform = msd.MeshTransform(scale=(0.3, -0.7, 0.2), position=(0.1, 0.2, 0.3), rotation=rotation)
    ours = mesh_integrals(load_mesh(msd.MeshSource.path("m" + suffix, transform), PathPolicy(tmp_path)))
    assert 1000 * ours.content == pytest.approx(model.body_mass[1], rel=1e-12)
    assert np.allclose(ours.com, model.body_ipos[1], rtol=0, atol=1e-12)
    assert np.allclose(np.linalg.eigvalsh(1000 * ours.inertia), np.sort(model.body_inertia[1]), rtol=1e-11)


def test_transform_moves_turns_and_then_scales():
    turn = np.array([0, 0, np.sqrt(0.5), np.sqrt(0.5)])
    made = transformed(CUBE, msd.MeshTransform(position=(1, 0, 0), rotation=turn, scale=(2, 1, 1)))
    expected = ((CUBE.vertices - [1, 0, 0]) @ rotation_matrix(turn)) * [2, 1, 1]
    assert np.allclose(made.vertices, expected)
    assert mesh_integrals(
        scaled(CUBE, np.array([-1.0, 1, 1])), msd.MeshInertia.Exact
    ).content == pytest.approx(6)
    for scale in ([0.0, 1, 1], [np.nan, 1, 1]):
        with pytest.raises(SceneError, match="scale"):
            scaled(CUBE, np.array(scale))


def test_welding_is_exact_and_keeps_the_order():
    soup = CUBE.vertices[CUBE.triangles.ravel()]
    mesh = welded(Mesh(soup, np.arange(36, dtype=np.int32).reshape(-1, 3)))
    assert len(mesh.vertices) == 8
    assert np.array_equal(mesh.vertices[mesh.triangles], CUBE.vertices[CUBE.triangles])
    assert np.array_equal(mesh.vertices[0], soup[0])
    apart = soup.copy()
    apart[0] += 1e-13
    assert len(welded(Mesh(apart, np.arange(36, dtype=np.int32).reshape(-1, 3))).vertices) > 8
    signs = np.array([[0.0, 0, 0], [-0.0, 1, 0], [0.0, 1, 0]])
    assert len(welded(Mesh(signs, np.array([[0, 1, 2]], np.int32))).vertices) == 2


def test_scene_vertices_go_both_ways():
    data = to_data(CUBE, "cube")
    assert np.array_equal(from_data(data).triangles, CUBE.triangles)
    assert from_data(msd.MeshData(vertices=np.zeros((6, 3)))).triangles.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(SceneError, match="multiple of 3"):
        from_data(msd.MeshData(vertices=np.zeros((4, 3))))
    with pytest.raises(SceneError, match="triangle 0"):
        from_data(msd.MeshData(vertices=np.zeros((4, 3)), triangles=[[0, 1, 9]]))


# hostile files


def broken(value: float) -> Mesh:
    vertices = CUBE.vertices.copy()
    vertices[3, 1] = value
    return CUBE._replace(vertices=vertices)


HOSTILE = {
    "empty.stl": b"",
    "short.stl": b"solid",
    "promises billions.stl": stl(CUBE, 0xFFFFFFFF),
    "promises one more.stl": stl(CUBE, 13),
    "none.stl": stl(CUBE, 0)[:84],
    "nan.stl": stl(broken(np.nan)),
    "infinite.stl": stl(broken(np.inf)),
    "far.stl": stl(broken(1e30)),
    "text that ends.stl": stl_text(CUBE)[:300],
    "text without numbers.stl": b"solid x\nfacet normal a b c\nouter loop\nvertex a b c\nendsolid x\n",
    "text without triangles.stl": b"solid x\nendsolid x\n",
    "empty.obj": b"",
    "index beyond.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n",
    "huge index.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 99999999999999999999\n",
    "nan.obj": b"v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n",
    "words.obj": b"v a b c\nf x y z\n",
    "one point.obj": b"v 0 0 0\n",
    "empty.msh": b"",
    "promises billions.msh": msh(CUBE, (2**31 - 1, 2**31 - 1, 2**31 - 1, 2**31 - 1)),
    "negative.msh": msh(CUBE, (-1, 0, 0, 12)),
    "one more.msh": msh(CUBE, (9, 0, 0, 12)),
    "index beyond.msh": msh(CUBE._replace(triangles=CUBE.triangles + 5)),
    "nan.msh": msh(broken(np.nan)),
    "empty.dae": b"",
    "bomb.dae": b'<!DOCTYPE a [<!ENTITY b "cc"><!ENTITY d "&b;&b;">]><COLLADA>&d;</COLLADA>',
    "reads files.dae": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><COLLADA>&b;</COLLADA>',
    "nothing.dae": b"<COLLADA/>",
    "loop of nodes.dae": dae(CUBE, matrix='<node id="l"><node><instance_node url="#l"/></node></node>'),
    "unit zero.dae": dae(CUBE, unit=0),
    "nan.dae": dae(broken(np.nan)),
    "index beyond.dae": dae(CUBE._replace(triangles=CUBE.triangles + 5)),
    "counts.dae": dae(CUBE, body=f"<polylist>{VERTEX}<vcount>99999999999</vcount><p>0 1 2</p></polylist>"),
    "words.dae": dae(CUBE, body=f"<triangles>{VERTEX}<p>a b c</p></triangles>"),
    "stride.dae": dae(CUBE, body=f"<triangles>{VERTEX.replace('0', '99999999')}<p>0 1 2</p></triangles>"),
    "cut.glb": through_trimesh(CUBE, "glb")[:50],
    "text.glb": b"glTF is not here",
    "cut.ply": through_trimesh(CUBE, "ply")[:150],
    "promises.ply": b"ply\nformat ascii 1.0\nelement vertex 2000000000\nproperty float x\nend_header\n0\n",
    "promises.off": b"OFF\n2000000000 2000000000 0\n0 0 0\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_mesh_is_refused_at_once(name):
    start = time.process_time()
    with pytest.raises(SceneError) as caught:
        read_mesh(HOSTILE[name], Path(name).suffix, name)
    assert time.process_time() - start < HANG
    assert name in str(caught.value)


def test_unknown_kinds_of_mesh_are_named():
    for suffix in (".fbx", ".zip", ""):
        with pytest.raises(CapabilityError, match="there are: dae, glb"):
            read_mesh(b"", suffix, "x")


@pytest.mark.parametrize("suffix", FILES)
def test_mutated_files_raise_nothing_else(suffix):
    rng = np.random.default_rng(2)
    data = FILES[suffix]
    for _ in range(40):
        changed = np.frombuffer(data, np.uint8).copy()
        where = rng.integers(len(changed), size=rng.integers(1, 8))
        changed[where] = rng.integers(256, size=len(where))
        mutated = changed.tobytes()[: rng.integers(len(data) // 2, len(data) + 1)]
        try:
            mesh = read_mesh(mutated, suffix.strip(), "x")
        except SceneError:
            continue
        assert np.isfinite(mesh.vertices).all()
        assert mesh.triangles.min() >= 0 and mesh.triangles.max() < len(mesh.vertices)


def test_a_mesh_cannot_open_other_files(tmp_path, monkeypatch):
    opened = []
    original = io.open
    monkeypatch.setattr("builtins.open", lambda *a, **k: opened.append(a[0]) or original(*a, **k))
    (tmp_path / "secret.mtl").write_text("newmtl a\nmap_Kd secret.png\n")
    read_mesh(b"mtllib secret.mtl\nusemtl a\n" + obj(CUBE), ".obj", str(tmp_path / "x.obj"))
    assert not [path for path in opened if "secret" in str(path)]
