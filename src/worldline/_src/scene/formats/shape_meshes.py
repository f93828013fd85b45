# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Primitives that a format does not have, as meshes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from worldline._src.scene.asset_specs import MeshData, MeshSource
from worldline._src.scene.assets.references import free_name
from worldline._src.scene.base import clone
from worldline._src.scene.geometry import Geometry, ShapeType
from worldline._src.scene.mass_properties import primitive
from worldline._src.scene.report import Report
from worldline._src.scene.world import World

_SIDES: Final = 64


def with_meshes(world: World, has: Callable[[ShapeType], bool], report: Report) -> World:
    """The scene, or a copy in which shapes that the format does not have are meshes of the same mass."""
    if all(has(geom.shape) for geom, _ in _geoms(world)):
        return world
    made = clone(world)
    taken = set(made.assets.meshes)
    for geom, path in _geoms(made):
        if has(geom.shape):
            continue
        shape, radius, half = geom.shape.name, geom.size[0], geom.size[1]
        if geom.mass is None:
            density = geom.physics_material.density
            geom.mass = primitive(geom.shape, geom.size, density=density, shell=geom.shell_inertia).mass
        name = free_name(f"{shape.lower()}_{radius:g}_{half:g}", taken)
        taken.add(name)
        made.assets.meshes[name] = MeshSource.buffer(_cone(name, radius, half))
        geom.shape, geom.mesh, geom.size = ShapeType.Mesh, name, [0.0, 0.0, 0.0]
        report.approximated(f"{path}.shape", f"a {shape} is written as a mesh of {_SIDES} sides")
    return made


def _geoms(world: World) -> list[tuple[Geometry, str]]:
    """All geoms with their paths."""
    found = [(geom, f"$.hierarchy.geoms[{k}]") for k, geom in enumerate(world.hierarchy.geoms)]
    links = [(body.link, f"$.hierarchy.bodies[{k}].link") for k, body in enumerate(world.hierarchy.bodies)]
    while links:
        link, path = links.pop()
        found += [(geom, f"{path}.geoms[{k}]") for k, geom in enumerate(link.geoms)]
        links += [(below, f"{path}.children[{k}]") for k, below in enumerate(link.children)]
    return found


def _cone(name: str, radius: float, half: float) -> MeshData:
    """Triangles of a cone, facing out."""
    angle = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(_SIDES, -half)])
    vertices = np.vstack([ring, [[0.0, 0.0, half], [0.0, 0.0, -half]]])
    k = np.arange(_SIDES)
    after, apex, center = (k + 1) % _SIDES, np.full(_SIDES, _SIDES), np.full(_SIDES, _SIDES + 1)
    sides = np.concatenate([np.column_stack([k, after, apex]), np.column_stack([after, k, center])])
    return MeshData(name=name, vertices=vertices, triangles=sides)
