# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""State and commands of a World by the objects of its description, which outlive a compiled world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.world import World as Scene
from worldline._src.spatial.poses import Array


class JointState(NamedTuple):
    """State and commands of one joint."""

    owner: Any
    q: Array
    v: Array
    a: Array
    force: Array
    q_target: Array
    v_target: Array
    a_target: Array


class BodyState(NamedTuple):
    """Forces on one body: those that stay, and those for the next step only."""

    owner: Any
    held: Array
    once: Array


SwitchKey = tuple[int, str]
"""Table and name of a constraint that can be switched or break."""


class Snapshot(NamedTuple):
    """State and commands by the objects of the description."""

    joints: dict[int, JointState]
    bodies: dict[int, BodyState]
    clock: Array
    control: Array
    activation: Array
    """Controls and activations of the scene's actuators, by their order; empty when they were none."""
    mocap: Array
    """Poses of the mocap bodies, by their order."""
    switches: Mapping[SwitchKey, float] = MappingProxyType({})
    """Constraints that are off, on or broken otherwise than their description says, by table and name."""
    joint_commands: Mapping[str, Array] = MappingProxyType({})
    """Effort, velocity and acceleration of joints between bodies, by name."""


def objects_of(scene: Scene) -> Iterator[Any]:
    """Bodies' free joints, links and joints of a scene, in an order of its own."""
    for body in scene.hierarchy.bodies:
        if body.free is not None:
            yield body.free
        for link in body.link.walk():
            yield link
            yield from link.joints
