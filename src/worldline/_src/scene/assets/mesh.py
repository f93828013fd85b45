# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes in memory: checks, transforms, welding and topology.

Coordinates are double, but those that come from a file were rounded to single precision once: that is what
mesh formats hold, and what other engines compute mass properties from.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.linear_algebra import matmul
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.asset_specs import MeshData, MeshTransform
from worldline._src.scene.assets.cache import content_key
from worldline._src.scene.assets.rotations import rotation_matrix
from worldline._src.scene.vectors import Array, IntArray

MAX_VERTICES: Final = 20_000_000
MAX_TRIANGLES: Final = 20_000_000
MAX_COORDINATE: Final = 1.0e9
"""Beyond this, sums of fifth powers in mass properties mean nothing any more."""


class Mesh(NamedTuple):
    """Triangles.

    Attributes:
        vertices: Points, m, (N, 3).
        triangles: Vertex indices, counter-clockwise seen from outside, (M, 3).
        normals: Normals at the vertices, (N, 3), when the file has some.
        texcoords: Texture coordinates at the vertices, (N, 2), when the file has some.
    """

    vertices: Array
    triangles: IntArray
    normals: Array | None = None
    texcoords: Array | None = None

    @property
    def key(self) -> str:
        """A name for the shape, the same for every mesh with the same vertices and triangles."""
        return content_key(self.vertices, self.triangles)

    @property
    def corners(self) -> tuple[Array, Array, Array]:
        """The three corners of every triangle, each (M, 3)."""
        a, b, c = self.triangles.T
        return self.vertices[a], self.vertices[b], self.vertices[c]

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The lowest and highest coordinates, each (3,)."""
        return self.vertices.min(axis=0), self.vertices.max(axis=0)


def checked(mesh: Mesh, where: str) -> Mesh:
    """The mesh, if it can be used at all.

    Raises:
        SceneError: It is empty, too large, not finite, or its triangles name vertices that are not there.
    """
    vertices, triangles = mesh.vertices, mesh.triangles
    if not len(vertices):
        raise SceneError(f"{where}: a mesh without vertices")
    if len(vertices) > MAX_VERTICES or len(triangles) > MAX_TRIANGLES:
        given = f"{len(vertices)} vertices and {len(triangles)} triangles"
        raise SceneError(f"{where}: given {given}; allowed: {MAX_VERTICES} and {MAX_TRIANGLES}")
    low, high = mesh.bounds
    # written so that NaN fails
    if not (low.min() > -MAX_COORDINATE and high.max() < MAX_COORDINATE):
        bad = ~(np.abs(vertices) < MAX_COORDINATE).all(axis=1)
        row = int(np.argmax(bad))
        raise SceneError(
            f"{where}: vertex {row} is {vertices[row].tolist()}; allowed: numbers below {MAX_COORDINATE:g}"
        )
    if len(triangles) and (triangles.min() < 0 or triangles.max() >= len(vertices)):
        bad = ((triangles < 0) | (triangles >= len(vertices))).any(axis=1)
        row = int(np.argmax(bad))
        raise SceneError(
            f"{where}: triangle {row} is {triangles[row].tolist()}; "
            f"allowed: vertices 0 to {len(vertices) - 1}"
        )
    for name, extra in (("normals", mesh.normals), ("texture coordinates", mesh.texcoords)):
        if extra is not None and len(extra) != len(vertices):
            raise SceneError(
                f"{where}: given {len(extra)} {name}; allowed: one for each of {len(vertices)} vertices"
            )
    return mesh


def from_data(data: MeshData, where: str = "mesh") -> Mesh:
    """The mesh of a scene's own vertices; without triangles they are taken three by three."""
    triangles = data.triangles
    if triangles is None:
        if len(data.vertices) % 3:
            given = f"{len(data.vertices)} vertices without triangles"
            raise SceneError(f"{where}: given {given}; allowed: a multiple of 3")
        triangles = np.arange(len(data.vertices), dtype=np.int32).reshape(-1, 3)
    return checked(Mesh(data.vertices, triangles, data.normal, data.texcoord), where)


def to_data(mesh: Mesh, name: str = "") -> MeshData:
    """The mesh as a scene holds it."""
    return MeshData(
        name=name,
        vertices=mesh.vertices,
        triangles=mesh.triangles,
        normal=mesh.normals,
        texcoord=mesh.texcoords,
    )


def transformed(mesh: Mesh, transform: MeshTransform) -> Mesh:
    """The mesh seen from the frame of a transform: moved, turned, and scaled last."""
    vertices, normals = mesh.vertices, mesh.normals
    if transform.position is not None:
        vertices = vertices - transform.position
    if transform.rotation is not None:
        matrix = rotation_matrix(transform.rotation)
        vertices = matmul(vertices, matrix)
        normals = None if normals is None else matmul(normals, matrix)
    mesh = Mesh(vertices, mesh.triangles, normals, mesh.texcoords)
    return mesh if transform.scale is None else scaled(mesh, transform.scale)


def scaled(mesh: Mesh, scale: Array) -> Mesh:
    """The mesh stretched along its axes; triangles of a mirrored one are turned around.

    Raises:
        SceneError: A factor is zero or not finite.
    """
    factors = np.asarray(scale, dtype=np.float64)
    if not np.isfinite(factors).all() or not factors.all():
        raise SceneError(
            f"given the mesh scale {factors.tolist()}; allowed: finite numbers, none of them zero"
        )
    if (factors == 1.0).all():
        return mesh
    triangles = mesh.triangles if np.prod(np.sign(factors)) > 0.0 else mesh.triangles[:, ::-1]
    normals = mesh.normals
    if normals is not None:
        normals = normals / factors
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        normals = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0.0)
    return Mesh(mesh.vertices * factors, np.ascontiguousarray(triangles), normals, mesh.texcoords)


def joined(meshes: list[Mesh]) -> Mesh:
    """All meshes as one; normals and texture coordinates only when each has them."""
    if len(meshes) == 1:
        return meshes[0]
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    normals = [mesh.normals for mesh in meshes if mesh.normals is not None]
    texcoords = [mesh.texcoords for mesh in meshes if mesh.texcoords is not None]
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate(
            [mesh.triangles + int(start) for mesh, start in zip(meshes, starts, strict=False)]
        ).astype(np.int32),
        np.concatenate(normals) if len(normals) == len(meshes) else None,
        np.concatenate(texcoords) if len(texcoords) == len(meshes) else None,
    )


def welded(mesh: Mesh) -> Mesh:
    """The mesh with vertices of exactly the same place made one; only the shape is kept."""
    first, inverse = _unique_rows(mesh.vertices)
    return Mesh(mesh.vertices[first], inverse[mesh.triangles].astype(np.int32))


def _unique_rows(points: Array) -> tuple[np.ndarray, np.ndarray]:
    """Where each different row stands first, in order, and for every row which of those it is.

    Sorting one hash per row is several times quicker than sorting rows; should two different rows share a
    hash, rows are sorted after all.
    """
    # zero has two bit patterns
    bits = np.ascontiguousarray(points + 0.0).view(np.uint64)
    mixed = np.zeros(len(points), np.uint64)
    for column in range(bits.shape[1]):
        mixed ^= bits[:, column]
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    if (bits != bits[first][inverse]).any():
        _, first, inverse = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)
        inverse = inverse.reshape(-1)
    # keep the order of the file
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


class Topology(NamedTuple):
    """How the triangles of a mesh hang together.

    Attributes:
        is_oriented: No two triangles run through an edge in the same direction, or every edge is run through
            as often in either direction, as where parts touch along an edge.
        is_closed: Every edge is run through once in either direction, so the mesh bounds a volume.
    """

    is_oriented: bool
    is_closed: bool


def topology(mesh: Mesh) -> Topology:
    """Whether a mesh is oriented and closed; vertices at the same place count as one."""
    triangles = welded(mesh).triangles.astype(np.int64)
    a, b, c = triangles.T
    # a triangle that collapsed in welding bounds nothing
    proper = (a != b) & (b != c) & (c != a)
    a, b, c = triangles[proper].T
    count = len(mesh.vertices)
    forward = np.sort(np.concatenate((a * count + b, b * count + c, c * count + a)))
    backward = np.sort(np.concatenate((b * count + a, c * count + b, a * count + c)))
    simple = bool(len(forward)) and not (forward[1:] == forward[:-1]).any()
    balanced = bool(len(forward)) and np.array_equal(forward, backward)
    return Topology(simple or balanced, simple and balanced)
