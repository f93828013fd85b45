# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small mesh files that ask for much: shared data is decoded once, and work is bounded by the size of a file."""

from __future__ import annotations

import json
import struct
import time

import numpy as np
import pytest

from worldline._src.errors import CapabilityError, SceneError
from worldline._src.scene.assets import obj
from worldline._src.scene.assets.mesh_files import read_mesh

HANG = 3.0
"""Processor time that any of these files may take [s]."""


def collada(
    primitives: str, *, node: str = '<instance_geometry url="#g"/>', more: str = "", numbers: int = 9
):
    """A file of triangles over a table of coordinates."""
    table = " ".join(map(str, range(numbers)))
    return f"""<COLLADA><library_geometries><geometry id="g"><mesh>
      <source id="p"><float_array>{table}</float_array></source>
      <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>{primitives}
      </mesh></geometry></library_geometries>{more}
      <library_visual_scenes><visual_scene id="s"><node>{node}</node></visual_scene></library_visual_scenes>
      <scene><instance_visual_scene url="#s"/></scene></COLLADA>""".encode()


INPUT = '<input semantic="VERTEX" source="#v" offset="0"/>'
TRIANGLE = f"<triangles>{INPUT}<p>0 1 2</p></triangles>"
BUFFER = (
    np.eye(4, 3, dtype="<f4").tobytes() + np.array([0, 1, 2, 0, 1, 3], "<u4").tobytes() + bytes(3_600_000)
)


def glb(
    *, count: int = 4, views: int = 0, primitives: int = 1, position: dict | None = None, **tree
) -> bytes:
    """A file of two triangles; view 2 is a megabyte of zeros, made several times if asked for."""
    tree = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}] * primitives}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3", **(position or {})},
            {"bufferView": 1, "componentType": 5125, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 24},
            *[{"buffer": 0, "byteOffset": 72, "byteLength": 3_600_000}] * views,
        ],
        "buffers": [{"byteLength": len(BUFFER)}],
        **tree,
    }
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text
    body += struct.pack("<II", len(BUFFER), 0x004E4942) + BUFFER
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


SOLID = (
    b"solid x\nfacet normal 0 0 1\nouter loop\n"
    + 3 * b"vertex %d 0 %d\n"
    + b"endloop\nendfacet\nendsolid x\n"
)
READ = {
    "primitives share a table.dae": (collada(TRIANGLE * 5000, numbers=300_000), 5000),
    "instances of one name.dae": (collada(TRIANGLE, node='<instance_geometry url="#g"/>' * 20_000), 20_000),
    "solids of one name.stl": (SOLID % (0, 0, 1, 0, 0, 1) * 20_000, 20_000),
    "views of one buffer.glb": (glb(views=8), 2),
}
REFUSED = {
    "counts whose sum wraps around.dae": collada(
        f"<polylist>{INPUT}<vcount>{4 * f'{2**62 + 2} '}</vcount><p>{'0 1 2 ' * 10}</p></polylist>"
    ),
    "instances of a wide node.dae": collada(
        TRIANGLE,
        node='<instance_node url="#n"/>' * 5000,
        more=f'<library_nodes><node id="n">{"<translate>1 0 0</translate>" * 5000}</node></library_nodes>',
    ),
    "nested geometries.dae": collada(TRIANGLE * 300)
    .replace(b"<geometry", b"<geometry>" * 1000 + b"<geometry")
    .replace(b"</geometry>", b"</geometry>" * 1001)
    .replace(b"instance_visual_scene", b"no_scene"),
    "many views of one buffer.glb": glb(views=5000),
    "many primitives of one table.glb": glb(
        count=300_000, primitives=5000, position={"bufferView": 2}, views=1
    ),
}


@pytest.mark.parametrize("name", READ)
def test_shared_data_is_decoded_once(name):
    data, triangles = READ[name]
    start = time.process_time()
    assert len(read_mesh(data, f".{name.split('.')[1]}", name).triangles) == triangles
    assert time.process_time() - start < HANG


@pytest.mark.parametrize("name", REFUSED)
def test_work_is_bounded_by_the_size_of_a_file(name):
    start = time.process_time()
    with pytest.raises(SceneError, match=name):
        read_mesh(REFUSED[name], f".{name.split('.')[1]}", name)
    assert time.process_time() - start < HANG


def test_controllers_are_searched_once():
    data = collada(TRIANGLE, node='<instance_controller url="#r"/>' * 20_000)
    start = time.process_time()
    with pytest.raises(SceneError, match="no triangles"):
        read_mesh(data.replace(b"<COLLADA>", b'<COLLADA id="r">'), ".dae", "x")
    assert time.process_time() - start < HANG


def spiral(turns: int) -> bytes:
    """One polygon between two arms of a spiral, whose ears are found one by one."""
    k = np.arange(turns)
    radius = 1.0 + 0.01 * k
    out, back = radius * np.exp(0.3j * k), ((radius + 0.2) * np.exp(0.3j * k))[::-1]
    lines = [f"v {z.real:.6f} {z.imag:.6f} 0\n" for z in [*out, *back]]
    return ("".join(lines) + "f " + " ".join(map(str, range(1, 2 * turns + 1))) + "\n").encode()


def test_polygons_take_work_that_grows_with_their_file(monkeypatch):
    data = spiral(100)
    assert len(read_mesh(data, ".obj", "x").triangles) == 198
    monkeypatch.setattr(obj, "_EAR_WORK", 0)
    with pytest.raises(
        SceneError, match=r"x:201: the polygons up to this one, of 200 corners, take too long"
    ):
        read_mesh(data, ".obj", "x")
    # a convex polygon has an ear wherever one looks
    angle = np.linspace(0.0, 2.0 * np.pi, 64, endpoint=False)
    corners = "".join(f"v {np.cos(a):.6f} {np.sin(a):.6f} 0\n" for a in angle)
    convex = corners + ("f " + " ".join(map(str, range(1, 65))) + "\n") * 20
    assert len(read_mesh(convex.encode(), ".obj", "x").triangles) == 62 * 20


def test_vertices_of_two_numbers_are_refused():
    with pytest.raises(
        SceneError, match=r"x: given vertices \(4, 2\) and triangles \(2, 3\); allowed: rows of three"
    ):
        read_mesh(glb(position={"type": "VEC2"}), ".glb", "x")


@pytest.mark.parametrize(
    ("word", "changes"),
    [
        ("sparse", {"position": {"sparse": {"count": 1}}}),
        ("normalized", {"position": {"normalized": True}}),
        (
            "EXT_meshopt_compression",
            {"extensionsRequired": ["KHR_materials_unlit", "EXT_meshopt_compression"]},
        ),
    ],
)
def test_vertices_that_would_be_taken_for_others_are_refused(word, changes):
    with pytest.raises(CapabilityError, match=f"x: no reader for vertices that need '{word}'"):
        read_mesh(glb(**changes), ".glb", "x")
    assert len(read_mesh(glb(extensionsRequired=["KHR_materials_unlit"]), ".glb", "x").triangles) == 2


@pytest.mark.parametrize(
    "text",
    [
        "solid x\n facet normal 0 0 1\nouter loop vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endloop\nendfacet\nendsolid",
        "SOLID vertex\r\nFACET NORMAL 0 0 1\r\nOUTER LOOP\r\nVERTEX 0 0 0\r\nVERTEX 1 0 0\r\nVERTEX 0 1 0\r\nENDLOOP\r\n"
        "ENDFACET\r\nENDSOLID vertex",
    ],
)
def test_a_text_stl_is_words(text):
    mesh = read_mesh(text.encode(), ".stl", "x")
    assert mesh.vertices[mesh.triangles].tolist() == [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]


@pytest.mark.parametrize(
    "inner", ["vertex 0 0 0\nvertex 1 0 0\n", "vertex 0 0 0\nvertex 1 0 z\nvertex 0 1 0\n"]
)
def test_a_triangle_of_a_text_stl_has_three_vertices(inner):
    good = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    text = f"solid x\n{good}facet normal 0 0 1\nouter loop\n{inner}endloop\nendfacet\nendsolid x\n"
    with pytest.raises(SceneError, match=r"x: .*three"):
        read_mesh(text.encode(), ".stl", "x")
