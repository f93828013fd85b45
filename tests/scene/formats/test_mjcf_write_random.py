# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random scenes as MJCF: what is written without a note reads back equal, and nothing is dropped silently."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mjcf_again import scene_differences
from mjcf_random import Generator as ModelGenerator
from random_scenes import Generator

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.base import Struct
from worldline._src.scene.variant import Variant

SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)
ROUNDING = 1e-12
"""Numbers that a scene has in another form than a file may come back with other last digits."""


def sample(seed: int) -> msd.World:
    return msd.from_str(ModelGenerator(seed).model())


@pytest.mark.parametrize("seed", range(40))
def test_what_was_read_is_written_as_it_was(seed: int) -> None:
    world = sample(seed)
    report = msd.Report()
    text = world.to_str(format="mjcf", report=report)
    again = msd.from_str(text)
    assert [str(entry) for entry in report if not entry.path.startswith("$.visual")] == []
    assert scene_differences(world, again) == []
    assert again.to_str(format="mjcf") == text


def parts(world: msd.World) -> list[Struct]:
    """Every object of a scene."""
    found: list[Struct] = []
    stack: list[object] = [world]
    while stack:
        part = stack.pop()
        if isinstance(part, Struct):
            found.append(part)
            stack += [getattr(part, name) for name in part._fields]
        elif isinstance(part, Variant):
            stack.append(part.value)
        elif isinstance(part, list | tuple):
            stack += part
        elif isinstance(part, dict):
            stack += part.values()
    return found


@SETTINGS
@given(seed=st.integers(0, 30), choice=st.integers(0, 10**9), count=st.integers(1, 3))
def test_a_field_that_changes_comes_back_or_is_noted(seed: int, choice: int, count: int) -> None:
    rng = random.Random(choice)
    world = sample(seed)
    generator = Generator(choice)
    changed = []
    for _ in range(count):
        part = rng.choice(parts(world))
        name = rng.choice(list(part._fields))
        if name in ("name", "children", "bodies", "source_path", "frozen"):
            continue
        value = generator.value(part._fields[name].kind)
        try:
            setattr(part, name, value)
        except ValueError:
            continue
        changed.append((type(part).__name__, name))
    report = msd.Report()
    try:
        text = world.to_str(format="mjcf", report=report)
    except SceneError:
        # the change made no valid scene
        return
    try:
        again = msd.from_str(text, validate=False)
    except SceneError as error:
        # what the format does not take has to have a note
        assert len(report), f"{changed}: {error}"
        return
    if not len(report):
        assert scene_differences(world, again, ROUNDING) == [], changed


@SETTINGS
@given(seed=st.integers(0, 10**6), density=st.sampled_from([0.02, 0.1, 0.3]))
def test_any_scene_can_be_written(seed: int, density: float) -> None:
    world = Generator(seed, density).world()
    report = msd.Report()
    try:
        world.validate()
    except SceneError:
        with pytest.raises(SceneError):
            world.to_str(format="mjcf")
        return
    text = world.to_str(format="mjcf", report=report)
    assert text.startswith("<?xml") and len(report)


def test_the_samples_are_not_trivial() -> None:
    worlds = [sample(seed) for seed in range(10)]
    assert sum(len(world.actuators) for world in worlds) > 10
    assert sum(len(list(world.hierarchy.links())) for world in worlds) > 30
