# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small SDF scenes, and what the tests of the reader ask of them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.assets.rotations import rotation_matrix

HANG = 3.0
"""Seconds of processor time a refusal may take; the slowest was measured at 0.9 s on a quiet machine."""

DATA = Path(__file__).parents[2] / "data"
POSES = json.loads((DATA / "sdf_poses.json").read_text())


def load(inside: str, version: str = "1.9", **more) -> msd.World:
    return msd.from_str(f'<sdf version="{version}">{inside}</sdf>', "sdf", **more)


def model(inside: str, attributes: str = 'name="m"', **more) -> msd.World:
    return load(f"<model {attributes}>{inside}</model>", **more)


def links(world: msd.World) -> dict[str, msd.Link]:
    return {link.name: link for link in world.hierarchy.links()}


def joints(world: msd.World) -> dict[str, msd.Joint]:
    return {joint.name: joint for link in world.hierarchy.links() for joint in link.joints}


def frame(position, rotation) -> np.ndarray:
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = rotation_matrix(rotation), position
    return made


def poses(world: msd.World) -> dict[str, np.ndarray]:
    """Where every link is in the world."""
    found: dict[str, np.ndarray] = {}
    above = {id(child): link.name for link in world.hierarchy.links() for child in link.children}
    for link in world.hierarchy.links():
        here = frame(link.local_translation, link.local_rotation)
        found[link.name] = found[above[id(link)]] @ here if id(link) in above else here
    return found


def refused(text: str, wrap: bool = True, **more) -> str:
    start = time.process_time()
    with pytest.raises(SceneError) as caught:
        load(text, **more) if wrap else msd.from_str(text, "sdf", **more)
    assert time.process_time() - start < HANG
    return str(caught.value)


LINKS = (
    '<link name="a"/><link name="b"><pose>1 0 0 0 0 0</pose></link>'
    '<link name="c"><pose>2 0 0 0 0 0</pose></link>'
)


def joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'
    )
