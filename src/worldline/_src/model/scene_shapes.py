# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the geoms, sites and pairs of a scene to the shape tables of a Model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat

import numpy as np

from worldline._src.model.force_tables import ForceModels, force_models
from worldline._src.model.kinds import ShapeFlags, ShapeKind, codes, rows_of_numbers
from worldline._src.model.scene_index import SceneIndex, labels, shared_when_empty, upright
from worldline._src.model.scene_trees import unit_pose
from worldline._src.model.shape_tables import CombineKind, ContactPairs, Frames, Shapes, Sites
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.closures import ClosureDynamicsPolicy
from worldline._src.scene.contact import CollisionMask, CombineRule, PhysicsMaterial
from worldline._src.scene.enums import counterparts
from worldline._src.scene.geometry import SHAPES, Geometry, GeomVisualAttrs, ShapeType, Site, SiteShape
from worldline._src.scene.world import World
from worldline._src.spatial.poses import Array, transform

_KINDS = {shape: ShapeKind[facts.kind] for shape, facts in SHAPES.items()}
_SITE_KINDS = counterparts(SiteShape, ShapeKind)
_RULES = counterparts(CombineRule, CombineKind)
# looking up a member of an enumeration takes Python ten times as long as looking up a name
_MESH, _HFIELD, _ENDLESS = ShapeType.Mesh, ShapeType.HField, ShapeType.InfinitePlane
_COLLIDES = ShapeFlags.COLLIDES
_NONE4, _NONE5 = (math.nan,) * 4, (math.nan,) * 5


def shape_table(
    places: Sequence[tuple[int, Geometry]], library: AssetLibrary, materials: Sequence[str] = ()
) -> Shapes:
    """Columns of geoms, each with its body; primitives that name a mesh are fitted to it here."""
    geoms = [geom for _, geom in places]
    physics: list[PhysicsMaterial] = [geom.physics_material for geom in geoms]
    masks: list[CollisionMask] = [geom.collision_mask for geom in geoms]
    looks: list[GeomVisualAttrs] = [geom.visual for geom in geoms]
    meshes = {name: i for i, name in enumerate(library.assets.meshes)}
    hfields = {name: i for i, name in enumerate(library.assets.hfields)}
    material = {name: i for i, name in enumerate(materials)}
    placed = [_placed(geom, library) for geom in geoms]
    return Shapes(
        label=labels([geom.name for geom in geoms], "shape"),
        kind=codes([_KINDS[geom.shape] for geom in geoms]),
        body=np.array([body for body, _ in places], np.int64),
        xform=rows_of_numbers([xform for xform, _ in placed], 7),
        size=rows_of_numbers([size for _, size in placed], 3),
        seen_size=rows_of_numbers(
            [geom.size[:2] if geom.shape is _ENDLESS else (0.0, 0.0) for geom in geoms], 2
        ),
        source=np.array([_source(geom, meshes, hfields) for geom in geoms], np.int64),
        scale=rows_of_numbers(
            [(1.0, 1.0, 1.0) if geom.mesh_scale is None else geom.mesh_scale.tolist() for geom in geoms], 3
        ),
        flags=codes(map(_flags, geoms, masks, repeat(library))),
        group=np.array([mask.collide_group for mask in masks], np.int64),
        mask=np.array([mask.collide_with for mask in masks], np.int64),
        margin=np.array([geom.margin for geom in geoms], np.float64),
        gap=np.array([geom.gap for geom in geoms], np.float64),
        priority=np.array([geom.priority for geom in geoms], np.int64),
        condim=np.array([p.condim for p in physics], np.int64),
        friction=rows_of_numbers([p.friction for p in physics], 3),
        friction_rule=codes([_RULES[p.friction_rule] for p in physics]),
        restitution=np.array(
            [math.nan if p.restitution is None else p.restitution for p in physics], np.float64
        ),
        restitution_rule=codes([_RULES[p.restitution_rule] for p in physics]),
        force=force_models([p.contact_model for p in physics]),
        mix=np.array([p.force_mix for p in physics], np.float64),
        fluid=rows_of_numbers([geom.fluid_coefficients or _NONE5 for geom in geoms], 5),
        visual_group=np.array([look.group for look in looks], np.int64),
        rgba=rows_of_numbers([look.color or _NONE4 for look in looks], 4),
        material=np.array([material.get(look.material or "", -1) for look in looks], np.int64),
    )


def _placed(geom: Geometry, library: AssetLibrary) -> tuple[list[float], list[float]]:
    """Pose and half sizes."""
    if geom.mesh is None or geom.shape is _MESH:
        count = SHAPES[geom.shape].lengths
        size = geom.size[:count] + [0.0] * (3 - count)
        if geom.hfield is not None:
            size = [*(0.5 * x for x in library.assets.hfields[geom.hfield].size), 0.0]
        return unit_pose(geom.position, geom.orientation), size
    fit = library.resolved(geom)
    return unit_pose(fit.position, fit.rotation), fit.size.tolist()


def _source(geom: Geometry, meshes: dict[str, int], hfields: dict[str, int]) -> int:
    if geom.shape is _HFIELD:
        return hfields[geom.hfield or ""]
    return meshes[geom.mesh] if geom.mesh is not None and geom.shape is _MESH else -1


def _flags(geom: Geometry, mask: CollisionMask, library: AssetLibrary) -> ShapeFlags:
    flags = _COLLIDES if mask.collide_group or mask.collide_with else ShapeFlags.NONE
    if geom.shape is _MESH:
        if geom.mesh is not None and library.assets.meshes[geom.mesh].value["acd"]:
            flags |= ShapeFlags.DECOMPOSED
        if geom.mesh_surface:
            flags |= ShapeFlags.SURFACE
    return flags


def site_table(index: SceneIndex) -> Sites:
    """Columns of sites; both ends of a long one give its pose and its length."""
    placed = [_site(site) for _, site in index.sites]
    return Sites(
        label=labels([site.name for _, site in index.sites], "site"),
        body=np.array([body for body, _ in index.sites], np.int64),
        xform=np.array([xform for xform, _ in placed], np.float64).reshape(-1, 7),
        kind=codes([_SITE_KINDS[site.shape] for _, site in index.sites]),
        size=np.array([size for _, size in placed], np.float64).reshape(-1, 3),
    )


def _site(site: Site) -> tuple[list[float], list[float]]:
    if site.from_to is None:
        return unit_pose(site.position, site.orientation), site.size
    ends = np.array(site.from_to).reshape(2, 3)
    line = ends[1] - ends[0]
    half = 0.5 * math.hypot(*line.tolist())
    turn = upright(0.5 * line / half)
    radius = site.size[0]
    long = site.shape in (SiteShape.Capsule, SiteShape.Cylinder)
    size = [radius, half, 0.0] if long else [radius, radius, half]
    xform = transform(np.array([*(0.5 * (ends[0] + ends[1])).tolist(), *turn]), "site")
    return xform.tolist(), [radius, 0.0, 0.0] if site.shape is SiteShape.Sphere else size


def light_table(world: World, index: SceneIndex) -> Frames:
    """Columns of lights, which shine along minus z of their frames."""
    lights = [(-1, light) for light in world.hierarchy.lights]
    lights += [(body, light) for body, link in index.links for light in link.lights]
    places: list[tuple[int, Array]] = []
    for body, light in lights:
        back = -light.direction / (math.hypot(*light.direction.tolist()) or 1.0)
        places.append((body, np.array(unit_pose(light.position, upright(back)))))
    return frame_table([light.name for _, light in lights], places, "light")


def frame_table(names: Sequence[str | None], places: Sequence[tuple[int, Array]], what: str) -> Frames:
    """Columns of things that are only a pose on a body."""
    return Frames(
        label=labels(names, what),
        body=np.array([body for body, _ in places], np.int64),
        xform=np.array([xform for _, xform in places], np.float64).reshape(-1, 7),
    )


@shared_when_empty(lambda world: world.contact_pairs)
def pair_table(world: World, index: SceneIndex) -> ContactPairs:
    """Columns of the pairs with parameters of their own."""
    pairs = world.contact_pairs
    force: ForceModels = force_models([pair.contact_model for pair in pairs])
    return ContactPairs(
        label=labels([pair.name for pair in pairs], "pair"),
        shapes=np.array(
            [(index.shape[pair.geom_a], index.shape[pair.geom_b]) for pair in pairs], np.int64
        ).reshape(-1, 2),
        condim=np.array([pair.condim for pair in pairs], np.int64),
        friction=np.array([pair.friction for pair in pairs], np.float64).reshape(-1, 5),
        force=force,
        friction_force=force_models(
            [p.contact_model if p.friction_model is None else p.friction_model for p in pairs]
        ),
        margin=np.array([pair.margin for pair in pairs], np.float64),
        gap=np.array([pair.gap for pair in pairs], np.float64),
    )


def excluded_bodies(world: World, index: SceneIndex) -> np.ndarray:
    """Pairs of bodies that never touch, -1 for the world, lower first, shape (k, 2).

    These are pairs that the scene names, and two bodies connected by a solved loop closure or by a joint
    of the world, which touch no more than parent and child of a tree do. What is fixed to the world itself
    still touches the world's shapes, and joints that can break keep the contacts of their bodies, which need
    them afterwards.
    """
    pairs = [(index.body[a], index.body[b]) for a, b in world.collision_ignores.link_pairs]
    ends = [
        (joint.parent, joint.child) for joint in world.joints if not joint.break_force + joint.break_torque
    ]
    for closure in world.loop_closures:
        solved = closure.enabled and closure.dynamics is ClosureDynamicsPolicy.Solve
        if solved and not closure.allow_collision:
            ends.append((closure.frame_a, closure.frame_b))
    tied = [(index.end(a)[0], index.end(b)[0]) for a, b in ends]
    pairs += [pair for pair in tied if min(pair) >= 0]
    return np.array([sorted(pair) for pair in pairs], np.int64).reshape(-1, 2)


def quiet_subtrees(world: World, index: SceneIndex, bodies: int) -> np.ndarray:
    """For every body the topmost one above it whose subtree does not touch itself, -1 for none."""
    found = [-1] * bodies
    if not any(link.disable_self_collision for _, link in index.links):
        return np.array(found, np.int64)
    for body in world.hierarchy.bodies:
        stack = [(body.link, -1)]
        while stack:
            link, above = stack.pop()
            here = index.trees.link_body[id(link)]
            if above < 0 and link.disable_self_collision:
                above = here
            found[here] = above
            stack.extend([(child, above) for child in link.children])
    return np.array(found, np.int64)
