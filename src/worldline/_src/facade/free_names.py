# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Default names of objects of a World, and names in use."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from worldline._src.errors import ArgumentError
from worldline._src.facade import values

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


def free_name(
    given: str | None, prefix: str, taken: Container[str], start: int, what: str
) -> tuple[str, int]:
    """A checked name, or the next generated one that is unused; and the counter to continue from."""
    if given is None or (isinstance(given, str) and not given):
        number = start + 1
        while f"{prefix}_{number:03d}" in taken:
            number += 1
        return f"{prefix}_{number:03d}", number
    name = values.text(given, f"name of a {what}")
    if name in taken:
        raise ArgumentError(f"a {what} named '{name}' already exists")
    return name, start


def scene_names(world: WorldRuntime) -> tuple[set[str], set[str]]:
    """Names of the links and of the joints of the description; each is unique in a whole scene."""
    links: set[str | None] = set()
    joints: set[str | None] = set()
    for body in world._scene.hierarchy.bodies:
        joints.add(body.free.name if body.free is not None else None)
        for link in body.link.walk():
            links.add(link.name)
            joints.update(joint.name for joint in link.joints)
    joints.update(joint.joint.name for joint in world._scene.joints)
    return links - {None}, joints - {None}  # type: ignore[return-value] # None was taken out
