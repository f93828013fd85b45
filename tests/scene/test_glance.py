# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The quick look at a scene never passes what the thorough walk rejects."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from faulty_scenes import scene
from random_scenes import Generator

from worldline import msd
from worldline._src.scene.base import Struct, fields
from worldline._src.scene.contexts import Probe, TooManyProblems
from worldline._src.scene.glance import Doubt, Glance
from worldline._src.scene.limits import LIMITS
from worldline._src.scene.rules import RULES
from worldline._src.scene.validate import _walk

WRONG: list[Any] = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    -1.0,
    0.0,
    1,
    True,
    "",
    "nobody",
    "a\x00b",
    [],
    [1.0],
    [1.0, "x"],
    {},
    object(),
    np.zeros(3),
    np.zeros(4),
    np.array([1.0, math.nan, 0.0]),
    np.zeros(3, np.float32),
    msd.Range(),
    msd.Link(),
]


def passes(part: Struct) -> bool:
    """Whether the quick look finds nothing."""
    glance = Glance(LIMITS)
    try:
        glance.look(part)
        glance.finish()
    except (Doubt, TooManyProblems):
        return False
    return True


def is_sound(part: Struct) -> bool:
    """Whether the thorough walk finds nothing."""
    probe = Probe(LIMITS, rules=RULES)
    try:
        part._check(probe, "$")
        probe.finish()
    except TooManyProblems:
        return False
    return not probe.problems


def objects(value: Any, found: list[Struct]) -> list[Struct]:
    """All objects of a scene, those in variants too."""
    if isinstance(value, Struct):
        found.append(value)
        for inner in vars(value).values():
            objects(inner, found)
    elif isinstance(value, list | tuple):
        for inner in value:
            objects(inner, found)
    elif isinstance(value, dict):
        objects(list(value.values()), found)
    elif hasattr(value, "variant"):
        objects(value.value, found)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_never_passes_what_the_walk_rejects(seed: int) -> None:
    draw = random.Random(seed)
    parts = objects(Generator(seed).world(), [])
    sound = [part for part in parts if is_sound(part)]
    assert len(sound) > 100
    wrong = []
    for _ in range(3000):
        part = draw.choice(sound)
        name = draw.choice(list(fields(part)))
        before = part.__dict__[name]
        # past the checks of assignment, as an edit of a list or an array in place can go
        part.__dict__[name] = value = draw.choice(WRONG)
        if passes(part) and not is_sound(part):
            wrong.append((type(part).__name__, name, value))
        part.__dict__[name] = before
    assert wrong == []


def test_sound_scenes_need_no_second_walk() -> None:
    _walk(scene(), Glance(LIMITS))


def test_a_value_that_was_sound_once_is_looked_at_again() -> None:
    world = msd.World()
    world.hierarchy.bodies.append(msd.Body(link=msd.Link(geoms=[msd.Geometry(size=(1, 1, 1))])))
    mask = world.hierarchy.bodies[0].link.geoms[0].collision_mask
    assert passes(world)
    spring = msd.StiffnessDamping(k=1.0, d=1.0)
    glance = Glance(LIMITS)
    glance.look(spring)
    spring.__dict__["k"] = 1
    with pytest.raises(Doubt):
        glance.look(spring)
    mask.__dict__["collide_group"] = 1.0
    assert not passes(world)
