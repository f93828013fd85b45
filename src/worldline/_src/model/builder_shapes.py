# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes of a ModelBuilder: what `add_shape_*` takes, and the mass that shapes bring to their bodies.

A shape is kept as the `Geometry` of a scene, so that code and files meet in one place: the same table, the
same mass properties, the same meshes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.model.checks import flag
from worldline._src.spatial.poses import VectorLike, float_array, numbers, transform

if TYPE_CHECKING:
    from worldline._src.model.builder import ModelBuilder
    from worldline._src.model.model import Model
    from worldline._src.scene.asset_specs import AssetSpecs
    from worldline._src.scene.geometry import Geometry


_ERP = 0.2
"""Share of an overlap that hard contact removes in a step."""


@dataclass(frozen=True, kw_only=True)
class ShapeConfig:
    """What a shape is made of and what it touches.

    Attributes:
        density: [kg/m^3]; the mass is added to the body. 0 adds none.
        mu: Coefficient of sliding friction.
        spin_friction: [m].
        rolling_friction: [m].
        restitution: Coefficient of restitution, 0 to 1, which makes contact hard; not with `ke`. None leaves
            it to the contact law.
        ke: Stiffness of contact [N/m]; None leaves the law of the scene's default material.
        kd: Damping of contact [N s/m], with `ke`.
        margin: Distance below which contact is looked for [m].
        gap: Contact pushes below margin - gap [m].
        priority: The shape of higher priority decides the parameters of a contact.
        condim: Directions of contact force: 1, 3, 4 or 6.
        is_solid: The mass fills the volume, else it sits on the surface.
        collision_group: Groups the shape is in, a bit mask.
        collision_mask: Groups it touches, a bit mask.
        has_shape_collision: False for a shape that only has mass or is only seen.
    """

    density: float = 1000.0
    mu: float = 1.0
    spin_friction: float = 0.005
    rolling_friction: float = 0.0001
    restitution: float | None = None
    ke: float | None = None
    kd: float = 0.0
    margin: float = 0.0
    gap: float = 0.0
    priority: int = 0
    condim: int = 3
    is_solid: bool = True
    collision_group: int = 1
    collision_mask: int = 1
    has_shape_collision: bool = True


def add_shape(
    builder: ModelBuilder,
    body: int,
    shape: str,
    size: tuple[float, ...],
    xform: VectorLike | None,
    cfg: ShapeConfig | None,
    label: str | None,
    mesh: str | None = None,
    scale: VectorLike | None = None,
) -> int:
    """Check a shape, add its mass to its body, and keep it; on error nothing changes."""
    from worldline._src.scene.geometry import Geometry

    what = f"{shape.lower()} shape"
    cfg = ShapeConfig() if cfg is None else cfg
    if not isinstance(cfg, ShapeConfig):
        raise ArgumentError(f"cfg of a {what} must be a ShapeConfig, got {cfg!r}")
    for name in ("is_solid", "has_shape_collision"):
        flag(getattr(cfg, name), f"{name} of a {what}")
    for value in size:
        if float(numbers(value, (), f"size of a {what}")) <= 0.0:  # type: ignore[arg-type] # one number
            raise ArgumentError(f"sizes of a {what} must be positive, got {size}")
    pose = transform(xform, f"xform of a {what}")
    label = builder._label(label, "shape")
    geom = Geometry(
        name=label,
        shape=shape,
        size=(*map(float, size), *([0.0] * (3 - len(size)))),
        position=pose[:3],
        orientation=pose[3:],
        mesh=mesh,
        mesh_scale=scale,
        margin=cfg.margin,
        gap=cfg.gap,
        priority=cfg.priority,
        shell_inertia=not cfg.is_solid,
        physics_material=_material(cfg),
        collision_mask=_mask(cfg),
    )
    _check(geom)
    if body >= 0:
        _add_mass(builder, body, geom)
    builder._labels["shape"].add(label)
    builder.shapes.append((body, geom))
    return len(builder.shapes) - 1


def _material(cfg: ShapeConfig) -> Any:
    from worldline._src.scene.contact import ConstraintForceModel, PhysicsMaterial
    from worldline._src.scene.values import StiffnessDamping

    material = PhysicsMaterial(
        condim=cfg.condim,
        density=cfg.density,
        friction=(cfg.mu, cfg.spin_friction, cfg.rolling_friction),
        restitution=cfg.restitution,
    )
    if cfg.kd != 0.0 and cfg.ke is None:
        raise ArgumentError(
            f"ShapeConfig: kd is the damping of a spring, give its stiffness ke; got kd={cfg.kd!r}"
        )
    if cfg.restitution is not None:
        if cfg.ke is not None:
            raise ArgumentError(
                "ShapeConfig: restitution is of hard contact and ke of a spring; give one of them, got "
                f"restitution={cfg.restitution!r} and ke={cfg.ke!r}"
            )
        material.contact_model = ConstraintForceModel.hard(cfg.restitution, _ERP)
    if cfg.ke is not None:
        material.contact_model = ConstraintForceModel.force_spring(StiffnessDamping(k=cfg.ke, d=cfg.kd))
    return material


def _mask(cfg: ShapeConfig) -> Any:
    from worldline._src.scene.contact import CollisionMask

    if not cfg.has_shape_collision:
        return CollisionMask.non_collidable()
    return CollisionMask(collide_group=cfg.collision_group, collide_with=cfg.collision_mask)


def _check(geom: Geometry) -> None:
    """The rules of a scene hold for shapes of code too."""
    from worldline._src.scene.contexts import Probe
    from worldline._src.scene.rules import RULES

    probe = Probe(rules=RULES)
    geom._check(probe, f"shape '{geom.name}'")
    if probe.problems:
        raise ArgumentError("; ".join(str(problem) for problem in probe.problems))


def _add_mass(builder: ModelBuilder, body: int, geom: Geometry) -> None:
    """Mass and inertia of a shape; one without density gives a point mass its form."""
    from worldline._src.scene.mass_properties import MassProperties, combined

    link, assets = builder.links[body], library(builder)
    part = assets.geom_properties(geom)
    if link.is_point and not part.mass > 0.0:
        whole = assets.uniform_properties([*(other for b, other in builder.shapes if b == body), geom])
        if whole.mass > 0.0:
            link.inertia = whole.inertia * (link.mass / whole.mass)
        return
    link.is_point = False
    own = MassProperties(link.mass, link.com, link.inertia)
    whole = combined([own, part])
    link.mass, link.com, link.inertia = whole.mass, whole.com.copy(), whole.inertia.copy()


def add_mesh(assets: AssetSpecs, vertices: Any, indices: Any) -> str:
    """Keep a mesh among the assets of a builder. Returns its name."""
    from worldline._src.scene.asset_specs import MeshData, MeshSource

    points = float_array(vertices, "vertices of a mesh")
    given = float_array(indices, "indices of a mesh")
    if not (given == np.round(given)).all():
        raise ArgumentError(f"indices of a mesh must be whole numbers, got {indices!r}")
    corners = np.clip(given, -1, np.size(points)).astype(np.int64)
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise ArgumentError(f"vertices of a mesh must be finite, of shape (N, 3), got {points.shape}")
    corners = corners.reshape(-1, 3) if corners.size % 3 == 0 else corners
    if corners.ndim != 2 or not corners.size or corners.min() < 0 or corners.max() >= len(points):
        raise ArgumentError(f"indices of a mesh must be triples below {len(points)}, got {corners.shape}")
    name = f"mesh_{len(assets.meshes) + 1:03d}"
    assets.meshes[name] = MeshSource.buffer(MeshData(vertices=points, triangles=corners))
    return name


def library(builder: ModelBuilder) -> Any:
    """The assets of a builder as a Model takes them."""
    from worldline._src.scene.assets.library import AssetLibrary
    from worldline._src.scene.world import World

    return AssetLibrary(World(assets=builder.assets))


def add_shape_table(builder: ModelBuilder, model: Model) -> None:
    """Give a Model the shapes of its builder, in the order of `Shapes`: those of the world first."""
    if not builder.shapes:
        return
    from worldline._src.model.scene_shapes import shape_table
    from worldline._src.model.shape_tables import Assets

    found = library(builder)
    places = sorted(builder.shapes, key=lambda place: place[0])
    model.shapes, model.assets = shape_table(places, found), Assets(found)
