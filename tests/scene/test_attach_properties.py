# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Attaching random scenes: every name and every reference comes once, and leads somewhere."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from random_scenes import SKELETON, Generator

from worldline import msd
from worldline._src.scene import merging
from worldline._src.scene.base import Struct, fields
from worldline._src.scene.containers import ListOf, Nested, TableOf, TextSet
from worldline._src.scene.texts import Text
from worldline._src.scene.validate import examine
from worldline._src.scene.variant import Named, Variant

SEEDS = st.integers(0, 2**32)
AFFIXES = st.sampled_from([("a/", ""), ("", "_b"), ("left ", " (copy)"), ("<", ">")])


def strings(plain: Any) -> Counter[str]:
    """How often each text stands in a scene, as a key or as a value."""
    found: Counter[str] = Counter()
    stack = [plain]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            found[item] += 1
        elif isinstance(item, dict):
            found.update(item.keys())
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return found


def tokens(world: msd.World, *, merged_only: bool = False) -> Counter[str]:
    """How often each generated name stands in a scene; names are written <like this>."""
    plain = json.loads(world.to_str())
    if merged_only:
        for path in merging.NOT_MERGED:
            owner = plain
            *parents, last = path.split(".")
            for parent in parents:
                owner = owner.get(parent, {})
            owner.pop(last, None)
    return Counter({text: n for text, n in strings(plain).items() if text.startswith("<")})


def dangling(world: msd.World) -> list[str]:
    return [str(p) for p in examine(world).problems if "which is no" in p.message or "already" in p.message]


@given(SEEDS, SEEDS, AFFIXES)
@settings(max_examples=40, deadline=None)
def test_every_name_and_reference_comes_renamed_once(a: int, b: int, affixes: tuple[str, str]) -> None:
    prefix, suffix = affixes
    world, other = Generator(a).world(), Generator(b).world()
    expected = tokens(world)
    for name, number in tokens(other, merged_only=True).items():
        expected[prefix + name + suffix] += number
    before = other.to_msgpack(defaults=True)
    assert world.attach(other, other_prefix=prefix, other_suffix=suffix) is world
    found = Counter({t: n for t, n in strings(json.loads(world.to_str())).items() if "<" in t})
    assert found == expected
    assert other.to_msgpack(defaults=True) == before


@given(SEEDS, SEEDS)
@settings(max_examples=20, deadline=None)
def test_every_reference_leads_somewhere_after_attaching_to_a_link(a: int, b: int) -> None:
    world, other = Generator(a).world(), Generator(b, attachable=True).world()
    # their plane is fixed in the world and refuses to hang on a link
    other.ground_points = []
    world.attach(
        other,
        "<link 1>",
        other_translation=(1, 2, 3),
        other_rotation=(0, 0, 1, 1),
        other_prefix="x ",
    )
    assert not dangling(world)
    links = [link.name for link in world.hierarchy.links()]
    assert len(links) == len(set(filter(None, links))) + links.count(None)
    assert {"<link 0>", "x <link 0>"} <= set(links)


@given(SEEDS, SEEDS)
@settings(max_examples=20, deadline=None)
def test_a_subtree_brings_exactly_what_belongs_to_it(a: int, b: int) -> None:
    world, other = Generator(a).world(), Generator(b).world()
    before = {path: len(merging.resolve(world, path)) for path in merging.MERGED_LISTS}
    world.attach(other, other_link_name="<link 2>", other_suffix=" two")
    assert not dangling(world)
    assert "<link 2> two" in [link.name for link in world.hierarchy.links()]
    assert "<link 1> two" not in [link.name for link in world.hierarchy.links()]
    # the last link of the skeleton owns its joints and sites, and nothing else of it
    outside = [f"<{space} {i}> two" for space in ("geom", "camera") for i in range(SKELETON[space])]
    assert not set(outside) & set(strings(json.loads(world.to_str())))
    came = {path: len(merging.resolve(world, path)) - before[path] for path in merging.MERGED_LISTS}
    assert came["actuators"] >= 2
    assert came["tendon_set.joint_tendons"] >= 2
    kept = sum(came.values())
    total = sum(len(merging.resolve(other, path)) for path in merging.MERGED_LISTS)
    lost = [entry for entry in world.report if entry.message.startswith("not attached: it belongs")]
    orders = len(other.sensors.order) - came["sensors.order"]
    assert kept + len(lost) + orders == total


def test_every_list_of_a_world_is_accounted_for() -> None:
    # a list added to the description without a word on how it is joined shows up here
    paths: set[str] = set()

    def walk(struct: type[Struct], path: str) -> None:
        for name, known in fields(struct).items():
            here = f"{path}{name}"
            if isinstance(known.kind, ListOf | TableOf):
                paths.add(here)
            elif isinstance(known.kind, Nested) and here != "hierarchy" and here not in merging.NOT_MERGED:
                walk(known.kind.struct, f"{here}.")

    walk(msd.World, "")
    known = set(merging.MERGED_LISTS) | set(merging.MERGED_TABLES) | {"keyframes"}
    assert paths == known
    assert {n for n in fields(msd.Hierarchy) if n != "bodies"} == set(merging.ON_PARENT)


def plain_texts() -> set[str]:
    """Fields that hold text which is neither a name nor a reference nor a path."""
    found: set[str] = set()

    def look(kind: Any, where: str) -> None:
        for inner in (getattr(kind, "item", None), getattr(kind, "inner", None)):
            if inner is not None:
                look(inner, where)
        if type(kind) in (Text, TextSet):
            found.add(where)

    for name in msd.__all__:
        cls = getattr(msd, name)
        if not isinstance(cls, type):
            continue
        if issubclass(cls, Struct):
            for field, known in fields(cls).items():
                look(known.kind, f"{name}.{field}")
        elif issubclass(cls, Variant):
            for case, payload in cls._cases.items():
                for field, kind in payload.items.items() if isinstance(payload, Named) else [("", payload)]:
                    look(kind, f"{name}.{case}.{field}".rstrip("."))
    return found


def test_no_name_is_taken_for_plain_text() -> None:
    # every other text follows when scenes are renamed; a new plain one has to be meant
    assert plain_texts() == {
        "World.name",
        "World.source_path",
        "CustomData.text",
        "HFieldSourceType.path.content_type",
        "MeshSource.path.using_meshes",
    }
