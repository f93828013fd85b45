# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mesh files of every kind, good and hostile."""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
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

TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def broken(value: float) -> Mesh:
    vertices = CUBE.vertices.copy()
    vertices[3, 1] = value
    return CUBE._replace(vertices=vertices)


OBJ_HEAD = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"


def glb(*, vertices: np.ndarray = TETRAHEDRON, count: int = 4, accessor: dict | None = None) -> bytes:
    corners = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], "<u4").tobytes()
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            accessor or {"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5125, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 48},
        ],
        "buffers": [{"byteLength": 96}],
    }
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text
    body += struct.pack("<II", 96, 0x004E4942) + vertices.astype("<f4").tobytes() + corners
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def ply(rows: bytes, faces: int = 1) -> bytes:
    head = b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    head += b"element face %d\nproperty list uchar int vertex_indices\nend_header\n" % faces
    return head + rows + b"3 0 1 2\n"


def test_the_hand_made_files_are_sound_before_they_are_damaged():
    assert read_mesh(glb(), ".glb", "x").triangles.shape == (4, 3)
    assert read_mesh(ply(b"0 0 0\n1 0 0\n0 1 0\n"), ".ply", "x").triangles.shape == (1, 3)
    assert read_mesh(OBJ_HEAD + b"f 1 2 3\n", ".obj", "x").triangles.shape == (1, 3)


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
    "far index with texture.obj": OBJ_HEAD + b"vt 0 0\nf 1/1 2/1 3/1\nf 1/1 2/1 99999999/1\n",
    "two numbers.obj": b"v 100 0\n" + OBJ_HEAD + b"f 1 2 3\nf 1 2 4\n",
    "index zero.obj": OBJ_HEAD + b"f 0 1 2\n",
    "index before the first.obj": OBJ_HEAD + b"f -1 -2 -9\n",
    "index of many digits.obj": OBJ_HEAD + b"f 1 2 " + b"9" * 5000 + b"\n",
    "underscores.obj": OBJ_HEAD + b"v 1_0 0 0\nf 1 2 3\n",
    "infinite.obj": OBJ_HEAD + b"v 0 0 1e999\nf 1 2 3\n",
    "zeros without a buffer.glb": glb(accessor={"componentType": 5126, "count": 500_000_000, "type": "VEC3"}),
    "counts.glb": glb(count=500_000_000),
    "nan.glb": glb(vertices=np.array([[0, 0, 0], [1, 0, 0], [0, np.nan, 0], [0, 0, 1]])),
    "nan.ply": ply(b"0 0 0\n1 0 0\n0 nan 0\n"),
    "fewer.ply": ply(b"0 0 0\n1 0 0\n0 1 0\n", faces=3),
    "no properties.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 2000000000\nend_header\n0000",
    "nan.off": b"OFF\n3 1 0\nnan 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
    "fewer.off": b"OFF\n3 9 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
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


OBJ_MIXED = (
    b"o a\n" + OBJ_HEAD + b"vt 0 0\nvt 1 0\nvn 0 0 1\nf 1/1/1 2/2/1 3/1/1\nf 1/1 2/2 4/1\n"
    b"o b\nf 2 3 4 1\nf -1 -2 -3\n"
)
DAMAGED = {**FILES, ".obj mixed": OBJ_MIXED, ".glb small": glb(), ".ply text": ply(b"0 0 0\n1 0 0\n0 1 0\n")}
SWAPPED = (
    b"nan",
    b"inf",
    b"-1",
    b"1e400",
    b"99999999",
    b"0",
    b"1e30",
    b"4294967296",
    b"1/2",
    b"x",
    b"",
    b"1 2",
)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Flipped bits, a missing end, a number replaced, or a stretch that is lost or repeated."""
    made, kind = bytearray(data), rng.randrange(4)
    at = rng.randrange(len(made))
    if kind == 0:
        for _ in range(rng.randrange(1, 6)):
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del made[at:]
    elif kind == 2:
        found = rng.choice(list(re.finditer(rb"-?\d+(\.\d+)?(e-?\d+)?|$", data)))
        made[found.start() : found.end()] = rng.choice(SWAPPED)
    elif rng.random() < 0.5:
        del made[at : at + rng.randrange(1, 40)]
    else:
        made[at:at] = made[at : at + rng.randrange(1, 40)]
    return bytes(made)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_meshes_are_read_or_refused_with_their_file(name):
    """Hull and mass properties as well: what is read can be used, or is refused by name."""
    rng = random.Random(5)
    start, refused = time.process_time(), 0
    for _ in range(100):
        data = damaged(DAMAGED[name], rng)
        try:
            mesh = read_mesh(data, name.split()[0], "the file")
            assert np.isfinite(mesh.vertices).all() and mesh.vertices.shape[1] == 3
            assert 0 <= mesh.triangles.min() <= mesh.triangles.max() < len(mesh.vertices)
            mesh_integrals(mesh, where="the file")
        except SceneError as error:
            assert "the file" in str(error)
            refused += 1
    assert 0 < refused < 100
    assert time.process_time() - start < HANG


@pytest.mark.skipif(mujoco is None, reason="needs mujoco")
def test_nothing_is_printed_about_a_damaged_mesh(capfd):
    text = stl_text(CUBE).decode()
    assert "normal 0" in text
    damaged = [
        text.replace("normal 0", word, 1) for word in ("norml 0", "normal x", "normal", "normal 1e999")
    ]
    damaged += [text.replace("endfacet", "", 1), text.replace("vertex", "vertx", 1)]
    for one in damaged:
        with contextlib.suppress(SceneError):
            read_mesh(one.encode(), ".stl", "m.stl")
    assert capfd.readouterr() == ("", "")


def test_quadrilaterals_are_split_as_in_compiled_models():
    for last in (b"2 2 1", b"0.9 0.9 1"):
        text = b"v 0 0 0\nv 1.5 0 0\nv " + last + b"\nv 0 1.5 0\nf 1 2 3 4\n"
        spec = '<mujoco><asset><mesh name="m" file="m.obj" inertia="shell"/></asset>'
        spec += '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
        faces = mujoco.MjModel.from_xml_string(spec, {"m.obj": text}).mesh_face
        assert np.array_equal(read_mesh(text, ".obj", "x").triangles, faces)


def test_texture_coordinates_of_an_obj_repeat_vertices_where_they_differ():
    text = OBJ_HEAD + b"vt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\nf 1/3 4/1 2/2\n"
    mesh = read_mesh(text, ".obj", "x")
    assert mesh.texcoords is not None
    corners = [(0, 0), (1, 0), (0, 1), (0, 1), (0, 0), (1, 0)]
    assert np.array_equal(mesh.texcoords[mesh.triangles.ravel()], corners)
    assert np.array_equal(mesh.vertices[mesh.triangles], TETRAHEDRON[[[0, 1, 2], [0, 3, 1]]])
    # damaged looks do not spoil the shape
    assert read_mesh(text.replace(b"4/1", b"4/77"), ".obj", "x").texcoords is None


def test_a_mesh_cannot_open_other_files(tmp_path, monkeypatch):
    opened = []
    original = io.open
    monkeypatch.setattr("builtins.open", lambda *a, **k: opened.append(a[0]) or original(*a, **k))
    (tmp_path / "secret.mtl").write_text("newmtl a\nmap_Kd secret.png\n")
    read_mesh(b"mtllib secret.mtl\nusemtl a\n" + obj(CUBE), ".obj", str(tmp_path / "x.obj"))
    assert not [path for path in opened if "secret" in str(path)]
