# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes and height fields.

In the format scale and inertia belong to a mesh, in a scene to each geom that shows it. So a mesh comes once
for every way in which it is used: the first under its own name, others under names made from it.
"""

from __future__ import annotations

import re
import struct
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.scene.asset_specs import HFieldSource, MeshData, MeshSource, MeshTransform
from worldline._src.scene.assets.mesh import Mesh, from_data, to_data
from worldline._src.scene.formats.markup import child, numbers
from worldline._src.scene.formats.mjcf.writing import Words, Writing
from worldline._src.scene.geometry import Geometry, MeshInertia

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_INERTIA: Final = {
    MeshInertia.Convex: "convex",
    MeshInertia.Exact: "exact",
    MeshInertia.Legacy: "legacy",
    MeshInertia.Shell: "shell",
}
_KNOWN_FILES: Final = (".obj", ".stl", ".msh")
_MOST_FACES: Final = 200_000
"""Triangles of an STL file that MuJoCo reads."""
_LEAST_BASE: Final = 1e-3
"""Thickness of the ground below a height field that has none, m; the format requires some."""


def mesh_asset(writing: Writing, geom: Geometry, path: str) -> str:
    """The name of the asset that is the mesh of a geom, which is written if it is the first."""
    name = geom.mesh or ""
    scale = None if geom.mesh_scale is None else tuple(geom.mesh_scale.tolist())
    inertia = geom.mesh_inertia
    if inertia is MeshInertia.Auto:
        inertia = _resolved(writing, geom, path)
    key = (name, scale, inertia)
    known = writing.meshes.get(key)
    if known is not None:
        return known
    first = not any(other[0] == name for other in writing.meshes)
    asset = name if first else writing.fresh_name("mesh", name)
    if not first or scale is not None:
        writing.reworded(f"{path}.mesh", "scale and inertia of a geom are written as those of its mesh")
    writing.meshes[key] = asset
    _write_mesh(writing, asset, name, scale, inertia)
    return asset


def _resolved(writing: Writing, geom: Geometry, path: str) -> MeshInertia:
    """What an automatic inertia comes down to."""
    try:
        found = writing.library.integrals(geom).mode
        if found is MeshInertia.Exact:
            # automatic inertia is exact for meshes that are inside out too, which MuJoCo refuses to integrate
            writing.library.integrals_of(geom.mesh or "", geom.mesh_scale, found)
    except SceneError:
        found = MeshInertia.Convex
    writing.reworded(f"{path}.mesh_inertia", f"it is written as {found.name.lower()}")
    return found


def write_other_meshes(writing: Writing) -> None:
    """Meshes that no geom shows."""
    used = {key[0] for key in writing.meshes}
    for name in writing.world.assets.meshes:
        if name not in used:
            writing.meshes[name, None, None] = name
            _write_mesh(writing, name, name, None, MeshInertia.Legacy)


def sort_meshes(writing: Writing) -> None:
    """Puts the meshes into the order that the scene has them in."""
    asset = writing.section("asset")
    order = {name: k for k, name in enumerate(writing.world.assets.meshes)}
    found = [element for element in asset if element.tag == "mesh"]
    for element in found:
        asset.remove(element)
    of = {asset_name: key[0] for key, asset_name in writing.meshes.items()}
    for element in sorted(found, key=lambda e: order[of[e.get("name", "")]]):
        asset.append(element)


def _write_mesh(
    writing: Writing, asset: str, name: str, scale: tuple[float, ...] | None, inertia: MeshInertia
) -> None:
    source: MeshSource = writing.world.assets.meshes[name]
    path = f"$.assets.meshes[{name!r:.80}]"
    words = Words(name=asset)
    element = child(writing.section("asset"), "mesh", words)
    value = source.value
    if value["acd"]:
        writing.lost(f"{path}.acd", "MuJoCo makes one hull of a mesh")
    if source.variant == "buffer":
        data: MeshData = value["data"]
        if data.name != name:
            writing.lost(f"{path}.data.name", "a mesh has the name of its asset")
        if data.tangents is not None:
            writing.lost(f"{path}.data.tangents")
        _write_triangles(writing, element, data, path, scale)
    else:
        _write_file(writing, element, name, value, path, scale)
    if inertia is not MeshInertia.Legacy:
        element.set("inertia", _INERTIA[inertia])


def _is_read_whole(writing: Writing, file: str, suffix: str) -> bool:
    """Whether MuJoCo reads all triangles of a file.

    It refuses binary STL of many triangles, and of an OBJ file it reads the first object or group only.
    """
    if suffix not in (".stl", ".obj"):
        return True
    try:
        data = writing.library.policy.read(writing.library.policy.resolve(file))
    except SceneError:
        # missing files are noted elsewhere
        return True
    if suffix == ".stl":
        return len(data) < 84 or struct.unpack_from("<I", data, 80)[0] <= _MOST_FACES
    first = _FACE.search(data)
    other = None if first is None else _GROUP.search(data, first.end())
    return other is None or _FACE.search(data, other.end()) is None


_FACE: Final = re.compile(rb"(?m)^\s*f\s")
_GROUP: Final = re.compile(rb"(?m)^\s*[og]\s")


def _write_file(
    writing: Writing, element: Element, name: str, value: dict[str, Any], path: str, scale: Any
) -> None:
    file = value["path"]
    suffix = PurePosixPath(file.replace("\\", "/")).suffix.lower()
    is_known = suffix in _KNOWN_FILES and _is_read_whole(writing, file, suffix)
    if not is_known or value["using_meshes"] or "://" in file:
        try:
            mesh = writing.library.mesh(name)
        except SceneError as error:
            writing.lost(
                path, f"MuJoCo cannot read the file, and neither can it be converted: {error.message}"
            )
        else:
            writing.reworded(
                f"{path}.path", "MuJoCo cannot read all of the file, so its triangles are written"
            )
            _write_triangles(writing, element, to_data(mesh, name), path, scale)
            return
    element.set("file", writing.asset_file(file))
    transform: MeshTransform = value["transform"]
    words = Words()
    if transform.position is not None:
        words.reals("refpos", transform.position)
    if transform.rotation is not None:
        x, y, z, w = writing.unit(transform.rotation.tolist(), f"{path}.transform.rotation")
        words.reals("refquat", (w, x, y, z))
    total = _product(transform.scale, scale)
    if total is not None:
        words.reals("scale", total)
    for key, text in words.items():
        element.set(key, text)


def _product(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first
    return np.asarray(first) * np.asarray(second)


def _write_triangles(writing: Writing, element: Element, data: MeshData, path: str, scale: Any) -> None:
    """Vertices and faces in the file itself, in single precision, which is what the format keeps."""
    mesh: Mesh = from_data(data, path)
    if data.triangles is None:
        writing.reworded(f"{path}.data.triangles", "triangles are written in full")
    single = mesh.vertices.astype(np.float32).astype(np.float64)
    if not np.array_equal(single, mesh.vertices):
        writing.changed(f"{path}.data.vertices", "vertices are kept in single precision")
    element.set("vertex", numbers(single.ravel()))
    if mesh.normals is not None:
        element.set("normal", numbers(mesh.normals.ravel()))
    if mesh.texcoords is not None:
        element.set("texcoord", numbers(mesh.texcoords.ravel()))
    element.set("face", " ".join(map(str, mesh.triangles.ravel().tolist())))
    if scale is not None:
        element.set("scale", numbers(scale))


# height fields


def write_hfields(writing: Writing) -> None:
    """All height fields."""
    for name, hfield in writing.world.assets.hfields.items():
        path = f"$.assets.hfields[{name!r:.80}]"
        words = Words(name=name)
        kind, value = hfield.source_type.variant, hfield.source_type.value
        half, height, base = [0.5 * x for x in hfield.size], hfield.height_scale, hfield.base
        if kind == "path":
            words["file"] = writing.asset_file(value["path"])
            words.text("content_type", value["content_type"])
            if hfield.nrow or hfield.ncol:
                writing.reworded(f"{path}.nrow", "rows and columns are those of the file")
        else:
            height, base = _write_heights(writing, words, name, hfield, value, path)
        if not base > 0.0:
            writing.changed(f"{path}.base", f"the ground below it has to be thick, so it is {_LEAST_BASE} m")
            base = _LEAST_BASE
        if not (min(half) > 0.0 and height > 0.0):
            writing.changed(f"{path}.size", "MuJoCo refuses height fields without a size or with no height")
        words.reals("size", (*half, height, base))
        child(writing.section("asset"), "hfield", words)


def _write_heights(
    writing: Writing, words: Words, name: str, hfield: HFieldSource, value: dict[str, Any], path: str
) -> tuple[float, float]:
    """Heights from 0 to 1, the row at +y first; returns what they are multiplied by, and the base."""
    heights = np.asarray(value["hfield"], float)
    rows, columns = hfield.nrow, hfield.ncol
    heights = heights.reshape(rows, columns) if rows and columns else np.atleast_2d(heights)
    if heights.ndim != 2 or min(heights.shape) < 2:
        writing.changed(path, "MuJoCo refuses height fields of one row or column")
    words.whole("nrow", heights.shape[0])
    words.whole("ncol", heights.shape[1])
    if value["name"] != name:
        writing.lost(f"{path}.source_type.Buffer.name", "a height field has the name of its asset")
    scale, base = hfield.height_scale, hfield.base
    low, high = float(heights.min(initial=np.inf)), float(heights.max(initial=-np.inf))
    flat = not high > low
    if low != 0.0 or (high != 1.0 and not flat):
        writing.reworded(
            f"{path}.source_type", "heights are written from 0 to 1, and the scale makes up for it"
        )
        spread = 1.0 if flat else high - low
        heights = (heights - low) / spread
        writing.sunk[name] = scale * low
        base += scale * low
        scale *= spread
    words["elevation"] = numbers(heights[::-1].ravel())
    return scale, base
