# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes and height fields of files, taken into the scene itself, so that it no longer needs the files."""

from __future__ import annotations

from worldline._src.errors import WorldlineError
from worldline._src.scene.asset_specs import HFieldSourceType, MeshSource
from worldline._src.scene.assets.hfields import heights_of
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.assets.mesh import to_data
from worldline._src.scene.world import World


def embed_assets(world: World) -> None:
    """Replace the paths of meshes and height fields by their numbers.

    A file that cannot be read stays a path: a scene may name meshes that it never uses. Textures stay paths
    too; no step reads them.
    """
    library = AssetLibrary(world)
    for name, mesh in world.assets.meshes.items():
        if mesh.variant == "path":
            try:
                data = to_data(library.mesh(name), name)
            except WorldlineError:
                continue
            world.assets.meshes[name] = MeshSource.buffer(data, mesh.value["acd"])
    for name, hfield in world.assets.hfields.items():
        if hfield.source_type.variant == "path":
            try:
                heights = heights_of(hfield, library.policy, f"height field {name!r}")
            except WorldlineError:
                continue
            hfield.nrow, hfield.ncol = heights.shape
            hfield.source_type = HFieldSourceType.buffer(heights, name)
