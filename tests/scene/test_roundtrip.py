# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever is written is read back the same, to the last bit."""

from __future__ import annotations

import pickle

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scenes import Generator

from worldline import msd

SEEDS = st.integers(0, 2**32)
scenes = settings(max_examples=40, deadline=None)


def exact(world: msd.World) -> bytes:
    """Every field as bytes; equal only for scenes that are the same to the last bit."""
    return world.to_msgpack(defaults=True)


@given(SEEDS, st.booleans())
@scenes
def test_json_write_read_write_is_unchanged(seed: int, defaults: bool) -> None:
    world = Generator(seed).world()
    text = world.to_str(defaults=defaults)
    again = msd.from_str(text, format="msd", validate=False)
    assert again == world
    assert exact(again) == exact(world)
    assert again.to_str(defaults=defaults) == text
    assert not again.report.entries


@given(SEEDS, st.booleans())
@scenes
def test_msgpack_write_read_write_is_unchanged(seed: int, defaults: bool) -> None:
    world = Generator(seed).world()
    data = world.to_msgpack(defaults=defaults)
    again = msd.from_msgpack(data, validate=False)
    assert again == world
    assert exact(again) == exact(world)
    assert again.to_msgpack(defaults=defaults) == data


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_strict_reading_takes_what_was_written(seed: int) -> None:
    world = Generator(seed).world()
    assert msd.from_str(world.to_str(), format="msd", validate=False, strict=True) == world


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_a_copy_is_equal_and_shares_nothing(seed: int) -> None:
    world = Generator(seed).world()
    before = exact(world)
    copy = world.deepcopy()
    assert exact(copy) == before
    Generator(seed + 1).world()
    spoil(copy)
    assert exact(world) == before
    assert exact(pickle.loads(pickle.dumps(world))) == before


def spoil(value: object, seen: set[int] | None = None) -> None:
    """Changes everything mutable that is reachable."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        value[...] = 7
    elif isinstance(value, list):
        for item in value:
            spoil(item, seen)
        value.clear()
    elif isinstance(value, dict):
        for item in list(value.values()):
            spoil(item, seen)
        value.clear()
    elif isinstance(value, set):
        value.clear()
    elif hasattr(value, "_data"):
        spoil(value._data, seen)
    elif hasattr(value, "_fields"):
        for name in value._fields:
            spoil(value.__dict__[name], seen)


@given(SEEDS, SEEDS)
@settings(max_examples=15, deadline=None)
def test_equality_tells_scenes_apart(first: int, second: int) -> None:
    a, b = Generator(first).world(), Generator(second).world()
    assert (a == b) == (exact(a) == exact(b))


def test_the_sign_of_zero_survives() -> None:
    world = msd.World()
    world.hierarchy.bodies.append(msd.Body(link=msd.Link(local_translation=(-0.0, 0, 0), gravcomp=-0.0)))
    for again in (msd.from_str(world.to_str(), "msd"), msd.from_msgpack(world.to_msgpack())):
        link = again.hierarchy.bodies[0].link
        assert np.signbit(link.local_translation).tolist() == [True, False, False]
        assert np.signbit(link.gravcomp)


def mesh_world(vertices: object) -> msd.World:
    world = msd.World()
    data = msd.MeshData(name="m", vertices=vertices, triangles=[[0, 1, 2]])
    world.assets.meshes["m"] = msd.MeshSource.buffer(data)
    return world


def packed(world: msd.World) -> dict:
    return msgspec.msgpack.decode(world.to_msgpack())["assets"]["meshes"]["m"]["Buffer"]["data"]


def test_mesh_of_single_precision_is_raw_little_endian_floats_in_msgpack() -> None:
    vertices = np.array([[0, 0, 0], [1.5, 0, 0], [0, 0.25, 1]], np.float32)
    data = packed(mesh_world(vertices))
    assert data["vertices"] == vertices.astype("<f4").tobytes()
    assert data["triangles"] == np.array([0, 1, 2], "<u4").tobytes()


def test_mesh_of_double_precision_keeps_its_bits_in_msgpack() -> None:
    vertices = np.array([[0.1, 0, 0], [1 / 3, 0, 0], [0, 0.25, 1e-300]])
    world = mesh_world(vertices)
    assert packed(world)["vertices"] == {"dtype": "<f8", "data": vertices.tobytes()}
    again = msd.from_msgpack(world.to_msgpack())
    stored = again.assets.meshes["m"].value["data"].vertices
    assert stored.tobytes() == vertices.tobytes()


def test_mesh_arrays_may_come_as_lists_in_msgpack() -> None:
    plain = {"Buffer": {"data": {"name": "m", "vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}}}
    raw = msgspec.msgpack.encode({"assets": {"meshes": {"m": plain}}})
    assert msd.from_msgpack(raw).assets.meshes["m"].value["data"].triangle_count == 1


@pytest.mark.parametrize("depth", [400, 1000])
def test_a_long_chain_survives(depth: int) -> None:
    world = msd.World()
    world.hierarchy.bodies.append(msd.Body())
    link = world.hierarchy.bodies[0].link
    for index in range(depth):
        link.children.append(msd.Link(name=f"link {index}"))
        link = link.children[0]
    world.validate()
    assert msd.from_str(world.to_str(), "msd") == world
    assert msd.from_msgpack(world.to_msgpack()) == world
    assert world.deepcopy() == world
