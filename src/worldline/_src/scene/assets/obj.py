# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Wavefront OBJ files: vertices, texture coordinates and faces by object.

Every index is compared with what the file defines before any table is made from it, so memory is bounded by
the size of the file. Materials, normals, lines and curves are skipped. Faces of more than three corners are
split into triangles as in compiled MJCF models: a quadrilateral along its shorter diagonal, a larger polygon
by cutting off ears, both in single precision. Rounded corners lie in no plane, so that another split has
another volume.
"""

from __future__ import annotations

import io
from array import array
from collections.abc import Collection
from typing import Final

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.scene.assets.mesh import MAX_TRIANGLES, MAX_VERTICES, Mesh
from worldline._src.scene.vectors import Array, IntArray

_UNNAMED: Final = "geometry"
_EAR_WORK: Final = 40_000_000
_EAR_WORK_PER_CORNER: Final = 600
"""Corners that may be compared to find ears in the polygons of a file; a try of 30 us counts as 500 more."""


class _Faces:
    """Corners of the faces of one object, with the line of each face for messages."""

    def __init__(self) -> None:
        self.vertices = array("q")
        self.texcoords = array("q")
        self.sizes = array("q")
        self.lines = array("q")


class _Lines:
    """One pass over the lines of a file; indices are zero-based afterwards, -1 for a missing coordinate."""

    def __init__(self, data: bytes, where: str) -> None:
        self.where = where
        self.vertices = array("d")
        self.vertex_lines = array("q")
        self.texcoords = array("d")
        self.parts: dict[str, _Faces] = {}
        self.triangles = 0
        faces: _Faces | None = None
        name = _UNNAMED
        joined = b""
        for line, content in enumerate(io.BytesIO(data), 1):
            if b"\\" in content and content.rstrip().endswith(b"\\"):
                joined += content.rstrip()[:-1] + b" "
                continue
            words = (joined + content).split()
            joined = b""
            if not words:
                continue
            kind = words[0]
            if kind == b"v":
                self._vertex(words, line)
            elif kind == b"f":
                if faces is None:
                    faces = self.parts.setdefault(name, _Faces())
                self._face(words, faces, line)
            elif kind == b"vt":
                self.texcoords.extend([*self._floats(words[1:3], line), 0.0][:2])
            elif kind == b"o":
                faces, name = None, b" ".join(words[1:]).decode("utf-8", "replace") or _UNNAMED

    def _floats(self, words: list[bytes], line: int) -> list[float]:
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            numbers = []
        if not numbers or any(b"_" in word for word in words):
            given = b" ".join(words)[:60].decode("utf-8", "replace")
            raise SceneError(f"{self.where}:{line}: given {given!r}; allowed: numbers")
        return numbers

    def _vertex(self, words: list[bytes], line: int) -> None:
        if len(words) < 4:
            raise SceneError(
                f"{self.where}:{line}: given a vertex of {len(words) - 1} numbers; allowed: 3 or more"
            )
        if len(self.vertex_lines) == MAX_VERTICES:
            raise SceneError(f"{self.where}:{line}: more than {MAX_VERTICES} vertices")
        self.vertices.extend(self._floats(words[1:4], line))
        self.vertex_lines.append(line)

    def _face(self, words: list[bytes], faces: _Faces, line: int) -> None:
        count = len(words) - 1
        self.triangles += max(count - 2, 0)
        if self.triangles > MAX_TRIANGLES:
            raise SceneError(f"{self.where}:{line}: more than {MAX_TRIANGLES} triangles")
        if count < 3:
            # lines and points written as faces bound nothing
            return
        try:
            for word in words[1:]:
                fields = word.split(b"/")
                vertex = int(fields[0])
                texcoord = int(fields[1]) if len(fields) > 1 and fields[1] else 0
                # negative indices count back from the last vertex so far; the first vertex is 1
                faces.vertices.append(vertex - 1 if vertex > 0 else vertex + len(self.vertex_lines))
                faces.texcoords.append(texcoord - 1 if texcoord >= 0 else texcoord + len(self.texcoords) // 2)
                if not vertex or b"_" in word:
                    raise ValueError
        except (ValueError, OverflowError):
            given = b" ".join(words)[:60].decode("utf-8", "replace")
            raise SceneError(f"{self.where}:{line}: given {given!r}; allowed: vertex numbers") from None
        faces.sizes.append(count)
        faces.lines.append(line)


def read_obj(data: bytes, where: str, names: Collection[str] | None = None) -> dict[str, Mesh]:
    """The meshes of an OBJ file by object.

    Args:
        data: The content of the file.
        where: The file, for messages.
        names: When given, each object is a mesh of the vertices it uses; else the file is one mesh with all
            of its vertices.

    Raises:
        SceneError: A line is malformed, a coordinate is not finite, or a face names a missing vertex.
    """
    lines = _Lines(data, where)
    if not lines.vertices:
        return {}
    with np.errstate(over="ignore"):
        vertices = np.array(lines.vertices, dtype=np.float32).astype(np.float64).reshape(-1, 3)
    if not np.isfinite(vertices).all():
        row = int(np.argmax(~np.isfinite(vertices).all(axis=1)))
        raise SceneError(f"{where}:{lines.vertex_lines[row]}: a vertex that is not finite")
    texcoords = np.array(lines.texcoords).reshape(-1, 2)
    corners = {name: _corners(faces, vertices, texcoords, where) for name, faces in lines.parts.items()}
    if names:
        return {
            name: _used(_part(part, vertices, texcoords)) for name, part in corners.items() if len(part[0])
        }
    if not corners:
        return {_UNNAMED: Mesh(vertices, np.empty((0, 3), np.int32))}
    whole = np.concatenate([part[0] for part in corners.values()])
    mapped = np.concatenate([part[1] for part in corners.values()])
    return {_UNNAMED: _part((whole, mapped), vertices, texcoords)}


def _corners(faces: _Faces, vertices: Array, texcoords: Array, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertex and texture indices of triangles, each (M, 3); texture indices are -1 where any is missing."""
    sizes = np.array(faces.sizes, dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    index = np.array(faces.vertices, dtype=np.int64)
    bad = (index < 0) | (index >= len(vertices))
    if bad.any():
        corner = int(np.argmax(bad))
        face = int(np.searchsorted(starts, corner, side="right")) - 1
        given = faces.vertices[corner] + 1
        raise SceneError(
            f"{where}:{faces.lines[face]}: a face names vertex {given}; allowed: 1 to {len(vertices)}"
        )
    # looks may be damaged while the shape is sound: such texture coordinates are dropped as a whole
    texture = np.array(faces.texcoords, dtype=np.int64)
    if ((texture < 0) | (texture >= len(texcoords))).any():
        texture = np.full_like(index, -1)
    # fans: triangle k of a face has the corners 0, k + 1, k + 2
    inner = sizes - 2
    first = np.repeat(starts, inner)
    step = np.arange(int(inner.sum())) - np.repeat(np.cumsum(inner) - inner, inner)
    triangles = np.stack((first, first + step + 1, first + step + 2), axis=1)
    # quadrilaterals whose diagonal from corner 1 to 3 is the shorter one: 0 1 3 and 1 2 3
    quads = starts[sizes == 4]
    rows = np.cumsum(inner) - inner
    p0, p1, p2, p3 = (vertices[index[quads + corner]].astype(np.float32) for corner in range(4))
    with np.errstate(over="ignore"):
        shorter = _square(p2 - p0) >= _square(p3 - p1)
    for offset, order in enumerate(((0, 1, 3), (1, 2, 3))):
        triangles[rows[sizes == 4][shorter] + offset] = quads[shorter][:, None] + np.array(order)
    work = _EAR_WORK + _EAR_WORK_PER_CORNER * len(index)
    for face in np.flatnonzero(sizes > 4).tolist():
        corners = vertices[index[starts[face] : starts[face] + sizes[face]]].astype(np.float32)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            found, work = _ears(corners, work)
        if work < 0:
            raise SceneError(
                f"{where}:{faces.lines[face]}: the polygons up to this one, of {sizes[face]} corners, "
                "take too long to split; allowed: triangles, or polygons of fewer corners"
            )
        triangles[rows[face] : rows[face] + len(found)] = np.array(found) + starts[face]
    return index[triangles], texture[triangles]


def _square(x: np.ndarray) -> np.ndarray:
    """Squared lengths of rows, summed in order."""
    return x[:, 0] * x[:, 0] + x[:, 1] * x[:, 1] + x[:, 2] * x[:, 2]


def _ears(corners: np.ndarray, work: int) -> tuple[list[tuple[int, int, int]], int]:
    """A polygon in triangles by ear clipping, single precision; what has no ear becomes a fan.

    Returns the triangles and what is left of the work that was allowed, negative where it did not suffice.

    The polygon is seen along the axis that the normal of its first proper corner is closest to. An ear is
    three successive corners that turn the same way as the first two do about the origin, with no other
    corner inside, which is the rule of MuJoCo's reader. Where no ear is left that reader makes a hole.
    """
    x, y = corners[:, _plane(corners)].T
    left = list(range(len(corners)))
    made: list[tuple[int, int, int]] = []
    at, tries = 0, len(left)
    while len(left) > 3 and tries > 0 and work >= 0:
        count = len(left)
        work -= count + 500
        at %= count
        a, b, c = (left[(at + k) % count] for k in range(3))
        turn = (x[b] - x[a]) * (y[c] - y[b]) - (y[b] - y[a]) * (x[c] - x[b])
        area = (x[a] * y[b] - y[a] * x[b]) * np.float32(0.5)
        others = [left[(at + k) % count] for k in range(3, count)]
        if turn * area < 0.0 or _any_inside(x[[a, b, c]], y[[a, b, c]], x[others], y[others]):
            at += 1
            tries -= 1
            continue
        made.append((a, b, c))
        del left[(at + 1) % count]
        tries = len(left)
    return made + [(left[0], left[k], left[k + 1]) for k in range(1, len(left) - 1)], work


def _plane(corners: np.ndarray) -> list[int]:
    """The two axes in which a polygon is seen."""
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.abs(np.cross(edges, np.roll(edges, -1, axis=0)))
    for cx, cy, cz in normals:
        if max(cx, cy, cz) > np.finfo(np.float32).eps:
            if cx > cy and cx > cz:
                return [1, 2]
            return [0, 1] if cz > cx and cz > cy else [0, 2]
    return [1, 2]


def _any_inside(x: np.ndarray, y: np.ndarray, px: np.ndarray, py: np.ndarray) -> bool:
    """Whether any of some points is inside a triangle, by the crossings of a ray."""
    inside = np.zeros(len(px), bool)
    for i, j in ((0, 2), (1, 0), (2, 1)):
        between = (y[i] > py) != (y[j] > py)
        inside ^= between & (px < (x[j] - x[i]) * (py - y[i]) / (y[j] - y[i]) + x[i])
    return bool(inside.any())


def _part(corners: tuple[np.ndarray, np.ndarray], vertices: Array, texcoords: Array) -> Mesh:
    """One mesh; a vertex with several texture coordinates is repeated, once for each."""
    index, texture = corners
    if not texture.size or texture.min() < 0:
        return Mesh(vertices, index.astype(np.int32))
    pairs = index.reshape(-1) * len(texcoords) + texture.reshape(-1)
    unique, inverse = np.unique(pairs, return_inverse=True)
    own, coordinate = np.divmod(unique, len(texcoords))
    # vertices that no face uses still count for the hull
    unused = np.setdiff1d(np.arange(len(vertices)), own)
    extra = np.zeros((len(unused), 2))
    return Mesh(
        np.concatenate((vertices[own], vertices[unused])),
        inverse.reshape(-1, 3).astype(np.int32),
        None,
        np.concatenate((texcoords[coordinate], extra)),
    )


def _used(mesh: Mesh) -> Mesh:
    used, inverse = np.unique(mesh.triangles, return_inverse=True)
    triangles: IntArray = inverse.reshape(-1, 3).astype(np.int32)
    texcoords = None if mesh.texcoords is None else mesh.texcoords[used]
    return Mesh(mesh.vertices[used], triangles, None, texcoords)
