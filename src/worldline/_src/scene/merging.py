# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Merge rules for attaching one scene to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.base import Struct
from worldline._src.scene.constraints import EqualityConstraintSet
from worldline._src.scene.contexts import Probe
from worldline._src.scene.kinds import Kind
from worldline._src.scene.limits import Limits

if TYPE_CHECKING:
    from worldline._src.scene.world import World

MERGED_LISTS: Final = (
    "actuators",
    "collision_ignores.link_pairs",
    *(f"equality_constraint_set.{name}" for name in EqualityConstraintSet._fields),
    "sensors.contact",
    "sensors.frame",
    "sensors.joint",
    "sensors.subtree",
    "sensors.touch",
    "sensors.actuator",
    "sensors.tendon",
    "sensors.site",
    "sensors.distance",
    "sensors.inside",
    "sensors.projection",
    "sensors.world",
    "sensors.imu",
    "sensors.order",
    "tendon_set.joint_tendons",
    "tendon_set.spatial_tendons",
    "loop_closures",
    "couplers",
    "distance_springs",
    "ground_points",
    "joints",
    "frames",
    "multibodies",
    "contact_pairs",
    "differentiable_parameters",
)
"""Lists that are joined end to end."""

MERGED_TABLES: Final = (
    "assets.hfields",
    "assets.materials",
    "assets.meshes",
    "assets.textures",
    "custom.numeric",
    "custom.text",
)
"""Tables that are joined by name."""

NOT_MERGED: Final = (
    "assets.skybox",
    "compile_options",
    "free_camera",
    "keyframes",
    "simulate_option",
    "statistic",
    "visual",
)
"""What stays as it is in the scene that is attached to."""

ON_PARENT: Final = ("cameras", "geoms", "lights", "sites")
"""Lists of the hierarchy that move onto the link that is attached to."""

_UNBOUNDED = Limits(elements=2**62, problems=2**62, link_depth=2**62)


class Entry(NamedTuple):
    """An entry of one of the joined lists, with what it defines and what it refers to."""

    path: str
    index: int  # type: ignore[assignment] # a field, not the method of tuples
    value: Any
    names: set[tuple[str, str]]
    references: list[tuple[tuple[str, ...], str]]


def resolve(world: World, path: str) -> Any:
    """The value at a dotted path."""
    value: Any = world
    for part in path.split("."):
        value = getattr(value, part)
    return value


def kind_at(world: World, path: str) -> Kind[Any, Any]:
    """The kind of the field at a dotted path."""
    *owners, last = path.split(".")
    owner: Struct = resolve(world, ".".join(owners)) if owners else world
    return owner._fields[last].kind


def look(value: Struct) -> Probe:
    """All names and references in a scene object, whatever else is wrong with it."""
    probe = Probe(_UNBOUNDED, values=False, names_only=True)
    value._check(probe, "$")
    probe.finish()
    return probe


def entries(world: World) -> Iterator[Entry]:
    """Every entry of the joined lists."""
    for path in MERGED_LISTS:
        listed: Any = kind_at(world, path)
        item: Any = listed.item
        for index, value in enumerate(resolve(world, path)):
            probe = Probe(_UNBOUNDED, values=False)
            item.check(value, probe, "$")
            names = {(space, name) for space, known in probe.names.items() for name in known}
            references = [(spaces, name) for spaces, name, _ in probe.references if name]
            yield Entry(path, index, value, names, references)
