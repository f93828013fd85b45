# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A scene in a few lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from worldline._src.scene.base import fields
from worldline._src.scene.layout import sizes

if TYPE_CHECKING:
    from worldline._src.scene.world import World


def summarize(world: World) -> str:
    """What a scene holds."""
    hierarchy = world.hierarchy
    links = list(hierarchy.links())
    geoms = [*hierarchy.geoms, *(geom for link in links for geom in link.geoms)]
    joints = [joint for link in links for joint in link.joints]
    coordinates, velocities = sizes(world)
    free = sum(body.free is not None for body in hierarchy.bodies)
    mocap = sum(body.mocap for body in hierarchy.bodies)
    given = [link.inertial.mass for link in links if link.inertial.mass is not None]

    rows = [
        ("bodies", f"{len(hierarchy.bodies)}{_some(free, 'free')}{_some(mocap, 'mocap')}"),
        ("links", f"{len(links)}{_some(len(given), f'with a given mass, {sum(given):.6g} kg')}"),
        ("joints", _kinds(joint.type_.name for joint in joints)),
        ("coordinates", f"{coordinates}, velocities {velocities}" if coordinates else ""),
        ("geoms", _kinds(geom.shape.name for geom in geoms)),
        ("sites", _count(len(hierarchy.sites) + sum(len(link.sites) for link in links))),
        ("cameras", _count(len(hierarchy.cameras) + sum(len(link.cameras) for link in links))),
        ("lights", _count(len(hierarchy.lights) + sum(len(link.lights) for link in links))),
        ("actuators", _kinds(actuator.actuator_type.variant for actuator in world.actuators)),
        ("sensors", _lists(world.sensors, skip=("order",))),
        ("tendons", _lists(world.tendon_set)),
        ("equalities", _lists(world.equality_constraint_set)),
        ("closures", _kinds(closure.family.name for closure in world.loop_closures)),
        ("couplers", _count(len(world.couplers))),
        ("springs", _count(len(world.distance_springs))),
        ("world joints", _kinds(joint.joint.type_.name for joint in world.joints)),
        ("frames", _count(len(world.frames))),
        ("contact pairs", _count(len(world.contact_pairs))),
        ("assets", _lists(world.assets, skip=("skybox",))),
        ("keyframes", _count(len(world.keyframes))),
        ("time step", f"{world.simulate_option.timestep:g} s"),
        ("read with", f"{len(world.report.losses)} losses" if world.report.losses else ""),
    ]
    title = f"scene {world.name!r}" if world.name else "scene"
    if world.source_path is not None:
        title += f" from {world.source_path}"
    return "\n".join([title, *(f"  {name:<14}{text}" for name, text in rows if text)])


def _count(number: int) -> str:
    return str(number) if number else ""


def _some(number: int, what: str) -> str:
    return f", {number} {what}" if number else ""


def _kinds(names: Iterable[str]) -> str:
    counts = Counter(names)
    if not counts:
        return ""
    parts = ", ".join(f"{number} {name}" for name, number in counts.most_common())
    return f"{sum(counts.values())} ({parts})"


def _lists(owner: object, skip: tuple[str, ...] = ()) -> str:
    names = [name for name in fields(owner) if name not in skip]  # type: ignore[arg-type]
    counts = {name: len(getattr(owner, name)) for name in names}
    parts = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return f"{sum(counts.values())} ({parts})" if parts else ""
