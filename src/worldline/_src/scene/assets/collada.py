# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The triangles of COLLADA (.dae) files.

Half of the robots in the wild come with such meshes, and trimesh reads them only with a further package. Only
shapes are taken: materials, lights and animation are not. The unit of the file is applied; its up axis is
not, since robot files turn their meshes themselves and every robotics tool ignores it.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.linear_algebra import matmul, unit_vector
from worldline._src.scene.assets.mesh import MAX_TRIANGLES, Mesh, joined, welded
from worldline._src.scene.assets.rotations import rotation_matrix
from worldline._src.scene.vectors import Array

_DEPTH: Final = 64
_NODES: Final = 50_000
"""Nodes, what they hold and primitives; an instance counts as often as it is used."""
_FACES: Final = ("triangles", "polylist", "polygons", "tristrips", "trifans")


class _Broken(Exception):
    """Says what is wrong with a file; becomes a `SceneError`."""


def read_collada(data: bytes, where: str) -> dict[str, Mesh]:
    """The meshes of a COLLADA file by the name of their node, in metres.

    Raises:
        SceneError: The file is broken or has a document type.
    """
    import lxml.etree as etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=len(data) < 2**28, recover=False
    )
    try:
        if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:
            raise _Broken("a document type is not allowed")
        root = etree.fromstring(data, parser)
        with np.errstate(all="ignore"):
            return _Document(root).meshes()
    except etree.XMLSyntaxError as error:
        reason = str(error.msg).split(", line ")[0]
        raise SceneError(f"{where}:{error.lineno or 0}: not well-formed XML: {reason}") from None
    except _Broken as error:
        raise SceneError(f"{where}: not a readable DAE mesh: {error}") from None
    except (ValueError, IndexError, KeyError, OverflowError, MemoryError, RecursionError) as error:
        text = str(error).split("\n")[0][:120]
        raise SceneError(f"{where}: not a readable DAE mesh: {type(error).__name__} {text}") from None


class _Document:
    def __init__(self, root: Any) -> None:
        self.root = root
        self.by_id = {element.get("id"): element for element in root.iter() if element.get("id")}
        # by element: what several instances or primitives share is decoded once
        self.geometries: dict[Any, Mesh | None] = {}
        self.tables: dict[Any, Array] = {}
        self.skins: dict[Any, Any] = {}
        self.named: dict[str, int] = {}
        self.visited = 0
        self.triangles = 0

    def meshes(self) -> dict[str, Mesh]:
        unit = next(_all(self.root, "unit"), None)
        meter = float(unit.get("meter", "1")) if unit is not None else 1.0
        if not 0.0 < meter < math.inf:
            raise _Broken(f"a unit of {meter} m")
        frame = np.diag([meter, meter, meter, 1.0])
        parts: dict[str, Mesh] = {}
        scene = next(_all(self.root, "instance_visual_scene"), None)
        if scene is None:
            # no scene at all: every geometry stands where it is
            for geometry in _all(self.root, "geometry"):
                self._place(geometry, frame, geometry.get("name") or "mesh", parts)
            return parts
        for node in _children(self._target(scene.get("url")), "node"):
            self._walk(node, frame, 0, parts)
        return parts

    def _visit(self, count: int) -> None:
        self.visited += count
        if self.visited > _NODES:
            raise _Broken(f"more than {_NODES} nodes, transformations, instances and primitives")

    def _walk(self, node: Any, frame: Array, depth: int, parts: dict[str, Mesh]) -> None:
        self._visit(1 + len(node))
        if depth > _DEPTH:
            raise _Broken(f"nodes nested deeper than {_DEPTH}")
        for child in node:
            tag = _tag(child)
            if tag in _TRANSFORMS:
                frame = matmul(frame, _TRANSFORMS[tag](_numbers(child)))
        name = node.get("name") or node.get("id") or "mesh"
        for child in node:
            tag = _tag(child)
            if tag == "node":
                self._walk(child, frame, depth + 1, parts)
            elif tag == "instance_node":
                self._walk(self._target(child.get("url")), frame, depth + 1, parts)
            elif tag == "instance_geometry":
                self._place(self._target(child.get("url")), frame, name, parts)
            elif tag == "instance_controller":
                controller = self._target(child.get("url"))
                if controller not in self.skins:
                    self.skins[controller] = next(_all(controller, "skin"), None)
                if self.skins[controller] is not None:
                    self._place(self._target(self.skins[controller].get("source")), frame, name, parts)

    def _place(self, geometry: Any, frame: Array, name: str, parts: dict[str, Mesh]) -> None:
        mesh = self._geometry(geometry)
        if mesh is None:
            return
        self.triangles += len(mesh.triangles)
        if self.triangles > MAX_TRIANGLES:
            raise _Broken(f"more than {MAX_TRIANGLES} triangles")
        triangles = mesh.triangles if np.linalg.det(frame[:3, :3]) > 0.0 else mesh.triangles[:, ::-1]
        vertices = matmul(mesh.vertices, frame[:3, :3].T) + frame[:3, 3]
        label = name
        while label in parts:
            self.named[name] = self.named.get(name, 1) + 1
            label = f"{name}.{self.named[name]}"
        parts[label] = Mesh(vertices, np.ascontiguousarray(triangles))

    def _geometry(self, geometry: Any) -> Mesh | None:
        if geometry not in self.geometries:
            meshes: list[Mesh] = []
            for primitive in geometry.iter():
                if _tag(primitive) in _FACES:
                    found = self._primitive(primitive)
                    if found is not None:
                        meshes.append(found)
            self.geometries[geometry] = welded(joined(meshes)) if meshes else None
        return self.geometries[geometry]

    def _primitive(self, primitive: Any) -> Mesh | None:
        self._visit(1)
        inputs = list(_children(primitive, "input"))
        stride = 1 + max((int(entry.get("offset", "0")) for entry in inputs), default=0)
        vertex = next((entry for entry in inputs if entry.get("semantic") == "VERTEX"), None)
        if vertex is None or not 0 < stride <= 64:
            raise _Broken(f"<{_tag(primitive)}> without vertices")
        offset = int(vertex.get("offset", "0"))
        positions = self._positions(self._target(vertex.get("source")))
        lists = [_integers(p)[offset::stride] for p in _children(primitive, "p")]
        kind = _tag(primitive)
        if kind == "triangles":
            rows = [indices[: len(indices) // 3 * 3].reshape(-1, 3) for indices in lists]
        elif kind == "polylist":
            counts = next(
                (_integers(entry) for entry in _children(primitive, "vcount")), np.empty(0, np.int64)
            )
            rows = [_fans(np.concatenate(lists) if lists else np.empty(0, np.int64), counts)]
        elif kind == "tristrips":
            rows = [_strip(indices) for indices in lists]
        else:
            rows = [_fans(indices, np.array([len(indices)])) for indices in lists]
        if not rows or not sum(map(len, rows)):
            return None
        triangles = np.concatenate(rows)
        if triangles.min() < 0 or triangles.max() >= len(positions):
            raise _Broken(f"a triangle names vertex {triangles.max()} of {len(positions)}")
        # primitives of different materials, even different files, share one table of positions
        used, inverse = np.unique(triangles, return_inverse=True)
        return Mesh(positions[used], inverse.reshape(-1, 3).astype(np.int32))

    def _positions(self, vertices: Any) -> Array:
        entry = next((e for e in _children(vertices, "input") if e.get("semantic") == "POSITION"), None)
        source = vertices if entry is None else self._target(entry.get("source"))
        if source not in self.tables:
            self.tables[source] = self._table(source)
        return self.tables[source]

    def _table(self, source: Any) -> Array:
        accessor = next(_all(source, "accessor"), None)
        stride = int(accessor.get("stride", "3")) if accessor is not None else 3
        array = next(_all(source, "float_array"), None)
        if array is None or not 3 <= stride <= 64:
            raise _Broken("vertices without coordinates")
        numbers = _numbers(array)
        table = numbers[: len(numbers) // stride * stride].reshape(-1, stride)[:, :3]
        return table.astype(np.float32).astype(np.float64)

    def _target(self, url: str | None) -> Any:
        if not url or not url.startswith("#") or url[1:] not in self.by_id:
            raise _Broken(f"a reference to {url!r}, which is not in the file")
        return self.by_id[url[1:]]


def _tag(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _all(element: Any, tag: str) -> Any:
    return (found for found in element.iter() if _tag(found) == tag)


def _children(element: Any, tag: str) -> Any:
    return (found for found in element if _tag(found) == tag)


def _numbers(element: Any) -> Array:
    return np.array((element.text or "").split(), dtype=np.float64)


def _integers(element: Any) -> np.ndarray:
    return np.array((element.text or "").split(), dtype=np.int64)


def _fans(indices: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Triangles of convex polygons, each a fan about its first corner."""
    # each is compared alone: a sum of huge counts wraps around
    if counts.size and (counts.min() < 0 or counts.max() > len(indices) or int(counts.sum()) > len(indices)):
        raise _Broken("polygons with more corners than the list holds")
    starts = np.cumsum(counts) - counts
    inner = np.maximum(counts - 2, 0)
    first = np.repeat(starts, inner)
    step = np.arange(int(inner.sum())) - np.repeat(np.cumsum(inner) - inner, inner)
    return np.stack((indices[first], indices[first + step + 1], indices[first + step + 2]), axis=1)


def _strip(indices: np.ndarray) -> np.ndarray:
    rows = np.stack((indices[:-2], indices[1:-1], indices[2:]), axis=1)
    # every second triangle of a strip runs the other way round
    rows[1::2] = rows[1::2, ::-1]
    return rows


def _matrix(numbers: Array) -> Array:
    return numbers.reshape(4, 4)


def _translate(numbers: Array) -> Array:
    made = np.eye(4)
    made[:3, 3] = numbers.reshape(3)
    return made


def _scale(numbers: Array) -> Array:
    return np.diag([*numbers.reshape(3), 1.0])


def _rotate(numbers: Array) -> Array:
    axis, angle = numbers[:3], math.radians(numbers[3])
    made = np.eye(4)
    if axis.any():
        made[:3, :3] = rotation_matrix(
            np.append(unit_vector(axis) * math.sin(angle / 2.0), math.cos(angle / 2.0))
        )
    return made


_TRANSFORMS: Final = {"matrix": _matrix, "translate": _translate, "scale": _scale, "rotate": _rotate}
