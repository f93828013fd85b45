# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Lay the collision tables of one world out in four arenas.

`Arenas` is what a step would own: blocks of memory and named views of them. Nothing here knows objects or
queries; `kernels/narrowphase/tables.py` says what the columns mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.collision.geometry import GeometryData
from worldline._src.collision.shapes import CollisionShape, CollisionShapeType
from worldline._src.kernels.narrowphase.tables import START_CELLS, TABLE, CollisionColumns
from worldline._src.linear_algebra import matmul
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import aligned_zeros
from worldline._src.spatial.poses import IDENTITY, Array, rotation

PAIRS_A_SHAPE = 32
"""Room for candidate pairs, a shape; equal shapes packed as closely as they can be have 13."""


class ShapeRow(NamedTuple):
    """One shape of one body, with its filters."""

    shape: CollisionShape
    body: int
    margin: float = 0.0
    group: int = 1
    collides_with: int = -1


class BodyRow(NamedTuple):
    """What pair filters know of one body; numbers as in the collision tables."""

    fixed: bool = False
    weld: int = -1
    parent: int = -1
    tree: int = -1


class Arenas:
    """The tables of one world."""

    _is_shared = False
    """Whether others have the same `m` and `c`, most of which are faces and corners of hulls."""

    def __init__(
        self,
        shapes: Sequence[ShapeRow],
        bodies: Sequence[BodyRow],
        *,
        ignored: Sequence[int] = (),
        explicit: Sequence[int] = (),
        pairs: int = 0,
        contacts: int = 0,
        fixed_contacts: int = 0,
        candidates: int = 0,
    ) -> None:
        geometry, row = _geometries(shapes)
        n = len(shapes)
        joined = _joined(geometry)
        sizes = {
            "nshape": n,
            "nbody": len(bodies),
            "ngeom": len(geometry),
            "nvertex": len(joined["vertex"]),
            "nvertex1": len(joined["near_start"]),
            "nface": len(joined["face_plane"]),
            "nface1": len(joined["face_start"]),
            "ncorner": len(joined["face_corner"]),
            "nnear": len(joined["near"]),
            "ntri": len(joined["tri"]),
            "nnode": len(joined["node_box"]),
            "npair": max(pairs, min(n * (n - 1) // 2, PAIRS_A_SHAPE * n), 16),
            "ncontact": max(contacts, 16 * n, 64),
            "nignored": len(ignored),
            "nexplicit": len(explicit),
            "ntree": 2 * n + 2,
            "nfixed_contact": fixed_contacts,
            "ncandidate": candidates,
        }
        self.sizes = sizes
        self._lay_out()
        column = self.column
        column.shape_type[:] = [int(s.shape.type) for s in shapes]
        column.shape_body[:] = [s.body for s in shapes]
        column.shape_geom[:] = row
        column.shape_group[:] = [_bits(s.group) for s in shapes]
        column.shape_with[:] = [_bits(s.collides_with) for s in shapes]
        column.body_fixed[:] = [b.fixed for b in bodies]
        column.body_weld[:] = [k if b.weld < 0 else b.weld for k, b in enumerate(bodies)]
        column.body_parent[:] = [b.parent for b in bodies]
        column.body_tree[:] = [b.tree for b in bodies]
        column.ignored[:] = np.sort(np.asarray(ignored, np.int64))
        column.explicit[:] = np.sort(np.asarray(explicit, np.int64))
        column.shape_margin[:] = [s.margin for s in shapes]
        for k, (s, g) in enumerate(zip(shapes, row, strict=True)):
            column.shape_size[k] = geometry[g].half_size if g >= 0 else s.shape._size
            column.shape_X_BS[k] = pose12(_centred_pose(s.shape, geometry[g] if g >= 0 else None))
        for name, value in joined.items():
            column[name][...] = value
        column.body_X_W[:] = pose12(IDENTITY)

    def renewed(self) -> Arenas:
        """The same shapes and bodies in arenas in which nothing has been found yet; see `own`.

        Pages of memory that are never written cost no time.
        """
        made = Arenas.__new__(Arenas)
        made.sizes = dict(self.sizes)
        made._lay_out((self.m, self.c))
        made.column.body_X_W[:] = pose12(IDENTITY)
        self._is_shared = made._is_shared = True
        return made

    def own(self) -> bool:
        """Before `m` or `c` is written: let others keep theirs. Whether they are other arrays then."""
        if not self._is_shared:
            return False
        shared, self.m, self.c = self.c, self.m.copy(), aligned_zeros(len(self.c))
        self.c[:] = shared
        self._is_shared = False
        arenas = {"m": self.m, "c": self.c, "args": self.args, "d": self.d}
        self.column = CollisionColumns(arenas, self.column._extents)
        return True

    def copy(self) -> Arenas:
        """The same tables in arenas of their own."""
        made = Arenas.__new__(Arenas)
        made.sizes = dict(self.sizes)
        made._lay_out()
        for name in ("m", "c", "args", "d"):
            getattr(made, name)[:] = getattr(self, name)
        return made

    def _lay_out(self, model: tuple[np.ndarray, np.ndarray] | None = None) -> None:
        """Fresh arenas of the present sizes; what was in the columns is kept."""
        block = TABLE.lay_out(self.sizes, model=model)
        self._is_shared = False
        previous: CollisionColumns | None = getattr(self, "column", None)
        self.m, self.c, self.args, self.d = block.m, block.c, block.args, block.d
        self.column = block.column
        if previous is None:
            return
        for name in block.names:
            old, new = previous[name], self.column[name]
            rows = min(len(old), len(new))
            new[:rows] = old[:rows]

    def make_room(self, *, pairs: int = 0, contacts: int = 0, fixed_contacts: int = 0) -> None:
        """Grow the tables of pairs and contacts, at least doubling what is too small."""
        needs = (("npair", pairs), ("ncontact", contacts), ("nfixed_contact", fixed_contacts))
        short = {
            name: max(needed, 2 * self.sizes[name]) for name, needed in needs if needed > self.sizes[name]
        }
        if short:
            self.sizes |= short
            self._lay_out()


def _bits(mask: int) -> int:
    """A mask of 32 bits as the non-negative number of its bits."""
    return mask & 0xFFFF_FFFF


def _centred_pose(shape: CollisionShape, geometry: GeometryData | None) -> Array:
    pose = shape.local_pose.copy()
    if geometry is not None:
        pose[:3] += matmul(rotation(pose), geometry.centre)
    return pose


def pose12(pose: Array) -> Array:
    """Position and rotation matrix, row by row, of a pose of position and quaternion."""
    return np.concatenate([pose[:3], rotation(pose).reshape(-1)])


def _geometries(shapes: Sequence[ShapeRow]) -> tuple[list[GeometryData], list[int]]:
    """Every geometry once, however many shapes share it, and its number for each shape."""
    known: dict[int, int] = {}
    found: list[GeometryData] = []
    rows = []
    for s in shapes:
        if s.shape.type < CollisionShapeType.CONVEX:
            rows.append(-1)
            continue
        geometry = s.shape.geometry
        if id(geometry) not in known:
            known[id(geometry)] = len(found)
            found.append(geometry)
        rows.append(known[id(geometry)])
    return found, rows


def _joined(geometry: Sequence[GeometryData]) -> dict[str, np.ndarray]:
    """All geometries in common arrays, indices moved to where their vertices ended up."""
    table = np.zeros((len(geometry), 8), np.int64)
    vertex = face = tri = node = 0
    face_start, near_start = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    start = np.zeros((len(geometry), START_CELLS), np.int64)
    corners, nears, tris, across = [], [], [], []
    corner = near = 0
    for k, g in enumerate(geometry):
        table[k] = (
            *(vertex, len(g.vertices), face, len(g.face_plane)),
            *(tri, len(g.tri), node, len(g.node_box)),
        )
        face_start.append(g.face_start[1:] + corner)
        corners.append(g.face_corner + vertex)
        near_start.append(g.near_start[1:] + near)
        nears.append(g.near + vertex)
        if len(g.start):
            start[k] = g.start + vertex
        tris.append(g.tri + np.array([vertex, vertex, vertex, 0]))
        across.append(np.where(g.tri_across < 0, -1, g.tri_across + vertex))
        corner, near = corner + len(g.face_corner), near + len(g.near)
        vertex, face = vertex + len(g.vertices), face + len(g.face_plane)
        tri, node = tri + len(g.tri), node + len(g.node_box)
    return {
        "geom": table,
        "vertex": _stack([g.vertices for g in geometry], (0, 3)),
        "face_plane": _stack([g.face_plane for g in geometry], (0, 4)),
        "face_start": np.concatenate(face_start),
        "face_corner": _stack(corners, (0,), np.int64),
        "near_start": np.concatenate(near_start),
        "near": _stack(nears, (0,), np.int64),
        "start": start,
        "tri": _stack(tris, (0, 4), np.int64),
        "tri_across": _stack(across, (0, 3), np.int64),
        "tri_edge": _stack([g.tri_edge for g in geometry], (0, 9)),
        "node_index": _stack([g.node_index for g in geometry], (0, 2), np.int64),
        "node_box": _stack([g.node_box for g in geometry], (0, 6)),
    }


def _stack(parts: Sequence[np.ndarray], shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    return np.concatenate(parts).astype(dtype, copy=False) if len(parts) else np.zeros(shape, dtype)
