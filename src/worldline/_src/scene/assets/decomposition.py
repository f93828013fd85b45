# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Approximate convex decomposition of meshes, by CoACD [Wei et al. 2022]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from worldline._src.errors import CapabilityError, SceneError
from worldline._src.scene.assets.cache import AssetCache, NoCache, content_key
from worldline._src.scene.assets.hulls import convex_hull
from worldline._src.scene.assets.integrals import mesh_integrals
from worldline._src.scene.assets.mesh import Mesh, welded
from worldline._src.scene.geometry import MeshInertia
from worldline._src.scene.options import CoACDApxMode, CoACDConfig, CoACDPreprocessMode

_APX: Final = {CoACDApxMode.Box: "box", CoACDApxMode.Ch: "ch"}
_PREPROCESS: Final = {
    CoACDPreprocessMode.Auto: "auto",
    CoACDPreprocessMode.On: "on",
    CoACDPreprocessMode.Off: "off",
}


def arguments(config: CoACDConfig) -> dict[str, Any]:
    """The configuration as the keywords of `coacd.run_coacd`."""
    return {
        "threshold": config.threshold,
        "max_convex_hull": config.max_convex_hull,
        "preprocess_mode": _PREPROCESS[config.preprocess_mode],
        "preprocess_resolution": config.prep_resolution,
        "resolution": config.sample_resolution,
        "mcts_nodes": config.mcts_nodes,
        "mcts_iterations": config.mcts_iteration,
        "mcts_max_depth": config.mcts_max_depth,
        "pca": config.pca,
        "merge": config.merge,
        "decimate": config.decimate,
        "max_ch_vertex": config.max_ch_vertex,
        "extrude": config.extrude,
        "extrude_margin": config.extrude_margin,
        "apx_mode": _APX[config.apx_mode],
        "seed": config.seed,
        "real_metric": config.real_metric,
    }


def decomposed(
    mesh: Mesh, config: CoACDConfig, *, cache: AssetCache | None = None, where: str = "mesh"
) -> list[Mesh]:
    """Convex parts whose union is close to a mesh; the hull alone when it is flat.

    Raises:
        CapabilityError: The package `coacd` is not installed.
        SceneError: It found no parts.
    """
    given = arguments(config)
    key = content_key(mesh.key, sorted(given.items()))
    found = (cache or NoCache()).fetch("coacd", key, lambda: _run(mesh, given, where))
    parts: list[Mesh] = []
    for index in range(len(found["vertex_counts"])):
        # all parts lie one after the other
        v0, v1 = (int(found["vertex_counts"][:end].sum()) for end in (index, index + 1))
        t0, t1 = (int(found["triangle_counts"][:end].sum()) for end in (index, index + 1))
        parts.append(Mesh(found["vertices"][v0:v1], found["triangles"][t0:t1]))
    return parts


def _run(mesh: Mesh, given: Mapping[str, Any], where: str) -> dict[str, np.ndarray]:
    hull = convex_hull(mesh.vertices, where=where)
    if len(mesh.triangles) < 4 or not _has_volume(hull):
        # native code should not see what bounds no volume
        return _packed([hull])
    try:
        import coacd
    except ImportError:
        raise CapabilityError(
            f"{where}: convex decomposition needs the package 'coacd', which is not installed; "
            "install it, or set coacd_strategy to None to use one hull"
        ) from None
    shape = welded(mesh)
    coacd.set_log_level("error")
    try:
        library: Any = coacd  # which says no types
        parts = library.run_coacd(library.Mesh(shape.vertices, shape.triangles), **given)
    except (RuntimeError, ValueError, AssertionError, MemoryError) as error:
        raise SceneError(f"{where}: convex decomposition failed: {error}") from None
    meshes = [
        Mesh(np.asarray(vertices, np.float64), np.asarray(triangles, np.int32))
        for vertices, triangles in parts
    ]
    if not meshes:
        raise SceneError(f"{where}: convex decomposition found no parts")
    return _packed(meshes)


def _has_volume(hull: Mesh) -> bool:
    try:
        return mesh_integrals(hull, MeshInertia.Exact).content > 0.0
    except SceneError:
        return False


def _packed(meshes: list[Mesh]) -> dict[str, np.ndarray]:
    return {
        "vertices": np.concatenate([mesh.vertices for mesh in meshes]),
        "triangles": np.concatenate([mesh.triangles for mesh in meshes]),
        "vertex_counts": np.array([len(mesh.vertices) for mesh in meshes], np.int64),
        "triangle_counts": np.array([len(mesh.triangles) for mesh in meshes], np.int64),
    }
