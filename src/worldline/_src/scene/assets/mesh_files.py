# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mesh files: STL, OBJ, MuJoCo's MSH, and whatever else trimesh reads.

Binary formats state counts that are held against the size of the file before anything is allocated. trimesh
gets bytes and no way to open further files, so a mesh cannot pull in textures, buffers or addresses; whatever
it raises on a broken file becomes a `SceneError`.
"""

from __future__ import annotations

import importlib.util
import io
import json
import re
import struct
import threading
import warnings
from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from worldline._src.errors import CapabilityError, SceneError
from worldline._src.linear_algebra import matmul
from worldline._src.scene.assets.collada import read_collada
from worldline._src.scene.assets.hulls import convex_hull
from worldline._src.scene.assets.mesh import MAX_TRIANGLES, MAX_VERTICES, Mesh, checked, joined, welded
from worldline._src.scene.assets.obj import read_obj
from worldline._src.scene.kinds import hint

if TYPE_CHECKING:
    import logging

STL_ROW: Final = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_STL_HEAD: Final = 84
_BAD_NUMBER: Final = re.compile(rb"(?<![a-z_])(?:nan|inf|infinity)(?![a-z_])")
"""A number that is not finite, as a word of its own."""


def read_mesh(data: bytes, suffix: str, where: str, names: Collection[str] | None = None) -> Mesh:
    """The mesh in the bytes of a file.

    Args:
        data: The content.
        suffix: The suffix of the file name, such as `.stl`.
        where: The file, for messages.
        names: Parts to take; all of them when None or empty.

    Raises:
        SceneError: The content is broken, or lies about its size.
        CapabilityError: Nothing here reads such files.
    """
    suffix = suffix.lower()
    if suffix == ".msh":
        parts = {"": _read_msh(data, where)}
    elif suffix == ".stl":
        parts = {"": _read_stl(data, where)}
    elif suffix == ".obj":
        parts = read_obj(data, where, names)
    elif suffix == ".dae":
        parts = read_collada(data, where)
    else:
        parts = _read_with_trimesh(data, suffix, where)
    chosen = _chosen(parts, names, where)
    mesh = checked(joined(chosen), where)
    if not len(mesh.triangles):
        # a cloud of points stands for its hull
        mesh = convex_hull(mesh.vertices, where=where)
    return mesh


def may_hold_bad_numbers(data: bytes, suffix: str) -> bool:
    """Whether a mesh file may have vertices that are not finite, found out without reading it.

    Tables of binary STL and MSH files are summed, texts are searched for words. Other formats are not looked
    into, and neither are files whose counts do not fit their size, which are damaged in another way.
    """
    suffix = suffix.lower()
    with np.errstate(invalid="ignore", over="ignore"):
        if suffix == ".msh" and len(data) >= 16:
            count = struct.unpack_from("<i", data)[0]
            fits = 0 <= 12 * count <= len(data) - 16
            return fits and not np.isfinite(np.frombuffer(data, "<f4", 3 * count, 16).sum())
        if suffix == ".stl" and len(data) >= _STL_HEAD:
            count = struct.unpack_from("<I", data, 80)[0]
            if _STL_HEAD + STL_ROW.itemsize * count == len(data):
                return not np.isfinite(np.frombuffer(data, STL_ROW, count, _STL_HEAD)["corners"].sum())
    if suffix not in (".obj", ".stl", ".dae"):
        return False
    text = data.lower()
    return (b"nan" in text or b"inf" in text) and _BAD_NUMBER.search(text) is not None


def _chosen(parts: dict[str, Mesh], names: Collection[str] | None, where: str) -> list[Mesh]:
    if not parts:
        raise SceneError(f"{where}: no triangles in the file")
    if not names:
        return list(parts.values())
    missing = sorted(set(names) - set(parts))
    if missing:
        known = ", ".join(sorted(parts)[:20])
        raise SceneError(f"{where}: no part {missing[0]!r}; allowed: {known}{hint(missing[0], parts)}")
    return [mesh for name, mesh in parts.items() if name in names]


def _read_msh(data: bytes, where: str) -> Mesh:
    """MuJoCo's binary mesh: four counts, then vertices, normals, texture coordinates and triangles."""
    if len(data) < 16:
        raise SceneError(f"{where}: given {len(data)} bytes; allowed: a header of 16 bytes at least")
    counts = struct.unpack_from("<4i", data)
    n_vertex, n_normal, n_texcoord, n_triangle = counts
    needed = 16 + 12 * n_vertex + 12 * n_normal + 8 * n_texcoord + 12 * n_triangle
    if min(counts) < 0 or needed != len(data):
        raise SceneError(
            f"{where}: the header promises {n_vertex} vertices, {n_normal} normals, {n_texcoord} texture "
            f"coordinates and {n_triangle} triangles, which need {needed} bytes; the file has {len(data)}"
        )
    at = 16
    tables: list[np.ndarray] = []
    for count, width, dtype in (
        (n_vertex, 3, "<f4"),
        (n_normal, 3, "<f4"),
        (n_texcoord, 2, "<f4"),
        (n_triangle, 3, "<i4"),
    ):
        tables.append(np.frombuffer(data, dtype, count * width, at).reshape(-1, width))
        at += 4 * count * width
    vertices, normals, texcoords, triangles = tables
    return Mesh(
        vertices.astype(np.float64),
        triangles.astype(np.int32),
        normals.astype(np.float64) if n_normal else None,
        texcoords.astype(np.float64) if n_texcoord else None,
    )


def _read_stl(data: bytes, where: str) -> Mesh:
    """STL of either kind; vertices that triangles share are made one, since the format repeats them."""
    promised = struct.unpack_from("<I", data, 80)[0] if len(data) >= _STL_HEAD else 0
    needed = _STL_HEAD + STL_ROW.itemsize * promised
    is_text = data[:512].lstrip()[:5].lower() == b"solid"
    if is_text and needed != len(data):
        if b"endsolid" not in data[-512:].lower().replace(b" ", b""):
            raise SceneError(f"{where}: the file ends before 'endsolid'")
        return welded(checked(_soup(_stl_text(data, where)), where))
    if len(data) < _STL_HEAD or needed > len(data):
        raise SceneError(
            f"{where}: the header promises {promised} triangles, which need {needed} bytes; "
            f"the file has {len(data)}"
        )
    if promised > MAX_TRIANGLES:
        raise SceneError(f"{where}: given {promised} triangles; allowed: {MAX_TRIANGLES}")
    # some programs append data of their own, which everybody ignores
    rows = np.frombuffer(data, STL_ROW, promised, _STL_HEAD)
    return welded(checked(_soup(rows["corners"]), where))


_LOOP: Final = re.compile(rb"(?i)outer\s+loop((?:\s+vertex(?:\s+[^\s]+){3}){3})\s+endloop")
_LOOP_BEGIN: Final = re.compile(rb"(?im)^\s*outer\s+loop")


def _stl_text(data: bytes, where: str) -> np.ndarray:
    """The corners of the triangles of a text, single precision, (M, 3, 3)."""
    loops = _LOOP.findall(data)
    if not loops or len(loops) < len(_LOOP_BEGIN.findall(data)):
        raise SceneError(f"{where}: no triangles in the file, or a triangle without three vertices")
    words = b" ".join(loops).split()
    del words[::4]
    try:
        with np.errstate(over="ignore"):
            return np.array(words, dtype=np.float64).astype(np.float32).reshape(-1, 3, 3)
    except ValueError as error:
        raise SceneError(f"{where}: a vertex is not three numbers: {str(error)[:100]}") from None


def _soup(corners: np.ndarray) -> Mesh:
    """Triangles that share no vertices, from their corners, (M, 3, 3)."""
    vertices = corners.reshape(-1, 3).astype(np.float64)
    return Mesh(vertices, np.arange(len(vertices), dtype=np.int32).reshape(-1, 3))


def _read_with_trimesh(data: bytes, suffix: str, where: str) -> dict[str, Mesh]:
    import trimesh

    kind = suffix.removeprefix(".")
    if kind not in trimesh.available_formats() or kind in _ARCHIVES:
        known = ", ".join(sorted({"stl", "obj", "msh", "dae", "glb", "ply", "off"}))
        raise CapabilityError(f"{where}: no reader for {suffix!r} meshes; there are: {known}")
    promised = _promised(data, kind, where)
    try:
        # it warns about materials, which are not used; the checks below find invalid numbers
        with warnings.catch_warnings(), _silence(trimesh.util.log):
            warnings.simplefilter("ignore")
            library: Any = trimesh  # whose types are partly unknown
            scene = library.load_scene(
                io.BytesIO(data),
                file_type=kind,
                process=False,
                resolver=_NOTHING,
                allow_remote=False,
                skip_materials=True,
            )
            parts = _parts_of(scene)
    except SceneError as error:
        raise SceneError(f"{where}: {error}") from None
    except MemoryError:
        raise SceneError(f"{where}: not a {kind.upper()} mesh of sensible size") from None
    except Exception as error:
        # broken files make the readers fail in every way there is
        text = str(error).split("\n")[0][:200] or type(error).__name__
        raise SceneError(f"{where}: not a readable {kind.upper()} mesh: {text}") from None
    vertices = sum(len(part.vertices) for part in parts.values())
    triangles = sum(len(part.triangles) for part in parts.values())
    if vertices < promised[0] or triangles < promised[1]:
        raise SceneError(
            f"{where}: the header promises {promised[0]} vertices and {promised[1]} faces; "
            f"the file has {vertices} vertices and {triangles} triangles"
        )
    return parts


@contextmanager
def _silence(logger: logging.Logger) -> Generator[None, None, None]:
    """Let a logger say nothing about what this thread does; without handlers it would be printed."""
    me = threading.get_ident()

    def is_other(record: logging.LogRecord) -> bool:
        return record.thread != me

    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


_ARCHIVES: Final = {"zip", "tar.gz", "tar.bz2", "bz2", "3dxml", "3mf", "xaml", "dxf", "svg"}
_NOTHING: Final[dict[str, bytes]] = {}


def _promised(data: bytes, kind: str, where: str) -> tuple[int, int]:
    """Vertices and faces that a header states, (0, 0) for formats without one.

    Raises:
        SceneError: Counts that the size of the file cannot hold; every vertex and face takes a byte at least.
    """
    found: list[tuple[str, int]] = []
    if kind == "ply":
        head = data[: data.find(b"end_header")]
        found = [(name.decode(), int(count)) for name, count in _PLY_COUNT.findall(head)]
    elif kind == "off":
        match = _OFF_COUNT.match(data)
        found = [] if match is None else [("vertex", int(match[1])), ("face", int(match[2]))]
    elif kind in ("glb", "gltf"):
        found = _gltf_counts(data, where)
    for name, count in found:
        if count > len(data):
            raise SceneError(f"{where}: given {count} entries of '{name}' in a file of {len(data)} bytes")
    counts = dict(found)
    return counts.get("vertex", 0), counts.get("face", 0)


_PLY_COUNT: Final = re.compile(rb"(?m)^\s*element\s+(vertex|face)\s+(\d{1,18})\b")
_OFF_COUNT: Final = re.compile(rb"\s*(?:#[^\n]*\n\s*)*(?:OFF)?(?:\s*#[^\n]*\n)*\s*(\d{1,18})\s+(\d{1,18})\b")


_SHARED: Final = 16
"""How often views and accessors of a glTF file may take the same bytes on average."""
_GLTF_KNOWN: Final = re.compile("KHR_(materials|texture|lights|xmp|mesh_quantization)|(EXT|MSFT)_texture_")
"""Extensions of glTF that do not touch shapes, or that need no code."""


def _gltf_counts(data: bytes, where: str) -> list[tuple[str, int]]:
    """What a glTF file allocates: entries of accessors, and bytes of views, each of which is copied.

    Raises:
        CapabilityError: Vertices that trimesh would take for others without a word.
        SceneError: Primitives that share more vertices than a mesh may have.
    """
    if data[:4] == b"glTF" and len(data) >= 20:
        (length,) = struct.unpack_from("<I", data, 12)
        data = data[20 : 20 + length]
    try:
        tree = json.loads(data)
        accessors = tree.get("accessors", [])
        rows = sum(int(accessor.get("count", 0)) for accessor in accessors)
        size = sum(int(view.get("byteLength", 0)) for view in tree.get("bufferViews", []))
        ignored = [name for name in tree.get("extensionsRequired", []) if not _GLTF_KNOWN.match(name)]
        parts = [part for mesh in tree.get("meshes", []) for part in mesh["primitives"]]
        tables = [accessors[part["attributes"]["POSITION"]] for part in parts]
        tables += [accessors[part["indices"]] for part in parts if "indices" in part]
        drawn = sum(int(table.get("count", 0)) for table in tables)
        ignored += [word for word in ("sparse", "normalized") if any(table.get(word) for table in tables)]
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        # not glTF at all, which its reader says
        return []
    if "KHR_draco_mesh_compression" in ignored and importlib.util.find_spec("DracoPy"):
        ignored.remove("KHR_draco_mesh_compression")
    if drawn > MAX_VERTICES + MAX_TRIANGLES:
        raise SceneError(f"{where}: more than {MAX_VERTICES} vertices and {MAX_TRIANGLES} triangles")
    if ignored:
        raise CapabilityError(f"{where}: no reader for vertices that need {ignored[0]!r}")
    return [("accessor", rows // _SHARED), ("bufferView", size // _SHARED)]


def _parts_of(scene: Any) -> dict[str, Mesh]:
    """The triangles of every node of a scene, in the axes of the file."""
    parts: dict[str, Mesh] = {}
    total = 0
    for node in scene.graph.nodes_geometry:
        matrix, name = scene.graph[node]
        geometry = scene.geometry[name]
        total += len(geometry.vertices) + len(getattr(geometry, "faces", ()))
        if total > MAX_TRIANGLES + MAX_VERTICES:
            raise SceneError(f"more than {MAX_VERTICES} vertices and {MAX_TRIANGLES} triangles")
        vertices = np.asarray(geometry.vertices, dtype=np.float32).astype(np.float64)
        faces = getattr(geometry, "faces", None)
        triangles: np.ndarray = np.empty((0, 3), np.int32)
        if faces is not None:
            triangles = np.asarray(faces, dtype=np.int64)
        if vertices.shape[1:] != (3,) or triangles.shape[1:] != (3,):
            given = f"vertices {vertices.shape} and triangles {triangles.shape}"
            raise SceneError(f"given {given}; allowed: rows of three numbers")
        if not np.array_equal(matrix, np.eye(4)):
            vertices = matmul(vertices, matrix[:3, :3].T) + matrix[:3, 3]
            if np.linalg.det(matrix[:3, :3]) < 0.0:
                triangles = triangles[:, ::-1]
        uv = getattr(getattr(geometry, "visual", None), "uv", None)
        texcoords = np.asarray(uv, np.float64) if uv is not None and len(uv) == len(vertices) else None
        label = name
        while label in parts:
            label = f"{label}.{len(parts)}"
        if not (triangles.size and (triangles.min() < 0 or triangles.max() >= 2**31)):
            triangles = triangles.astype(np.int32)
        parts[label] = Mesh(vertices, triangles, None, texcoords)
    return parts
