# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The JSON and msgpack encoding, what the readers forgive, and what they survive."""

from __future__ import annotations

import json
import math
import resource
import struct
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_scenes import Generator

from worldline import msd
from worldline._src.errors import ArgumentError, SceneError
from worldline._src.scene.contexts import Source
from worldline._src.scene.formats import size_limits
from worldline._src.scene.formats.native import REQUIRED

HANG = 3.0
"""Seconds of processor time a refusal may take; the slowest was measured at 0.9 s on a quiet machine."""


def plain(world: msd.World, **options: Any) -> Any:
    return json.loads(world.to_str(**options))


def read(scene: Any, **options: Any) -> msd.World:
    return msd.from_str(json.dumps(scene), format="msd", **options)


def test_an_empty_object_is_an_empty_scene() -> None:
    assert msd.from_str("{}", format="msd") == msd.World()
    assert msd.from_msgpack(b"\x80", "/a/scene.msgpack").source_path == "/a/scene.msgpack"
    assert msd.World().to_str() == "{}"


def test_encoding_is_the_documented_one() -> None:
    world = msd.World(name="a")
    world.simulate_option.solver_type = msd.SolverType.PGSIMPR
    joint = msd.Joint(name="j", type_="Slide", axis=(1, 0, 0), ref_=0.5, pos_limit=(-1, math.inf))
    joint.limit_force = msd.ConstraintForceModel.hard(0.1, 0.2)
    link = msd.Link(name="l", joints=[joint], geoms=[msd.Geometry(name="g", size=(1, 0, 0))])
    world.hierarchy.bodies.append(msd.Body(link=link))
    drive = msd.ActuatorType.position(msd.PositionParam(kp=3.0))
    world.actuators.append(msd.Actuator(target=msd.ActuatorTarget.joint("j"), actuator_type=drive))
    world.actuators.append(msd.Actuator(target=msd.ActuatorTarget.floating_base("l")))
    world.sensors.contact.append(
        msd.ContactSensor(match_=msd.ContactMatch.geom_pair("g", "g"), reduce=msd.ContactSensorReduce.None_)
    )
    scene = plain(world)
    assert scene["name"] == "a"
    assert scene["simulate_option"]["solver_type"] == "PGSIMPR"
    stored = scene["hierarchy"]["bodies"][0]["link"]["joints"][0]
    assert stored == {
        "axis": [1.0, 0.0, 0.0],
        "limit_force": {"Hard": {"bounciness": 0.1, "erp": 0.2}},
        "name": "j",
        "pos_limit": {"lower": -1.0},
        "ref_": 0.5,
        "type_": "Slide",
    }
    assert scene["actuators"][0]["actuator_type"] == {"Position": {"damping_value": 0.0, "kp": 3.0}}
    assert scene["actuators"][0]["target"] == {"Joint": "j"}
    assert scene["actuators"][1]["actuator_type"] == "Motor"
    assert scene["actuators"][1]["target"] == {"FloatingBase": "l"}
    assert scene["sensors"]["contact"][0]["match_"] == {"GeomPair": ["g", "g"]}
    everything = plain(world, defaults=True)
    assert everything["sensors"]["contact"][0]["reduce"] == "None_"
    assert everything["hierarchy"]["bodies"][0]["link"]["joints"][0]["pos_limit"] == {
        "lower": -1.0,
        "upper": "inf",
    }


@pytest.mark.parametrize(
    "limit", [{"lower": -1, "upper": 2}, [-1, 2], {"lower": -1.0, "upper": 2, "extra": 1}]
)
def test_ranges_are_read_from_an_object_or_two_ends(limit: Any) -> None:
    scene = {"actuators": [{"target": {"Joint": "j"}, "actuator_type": "Motor", "ctrlrange": limit}]}
    assert read(scene, validate=False).actuators[0].ctrlrange == msd.Range(-1, 2)


def test_open_ends_of_ranges() -> None:
    for limit in ({}, {"lower": None, "upper": None}, {"lower": "-inf", "upper": "inf"}):
        scene = {"actuators": [{"target": {"Joint": "j"}, "ctrlrange": limit}]}
        assert read(scene, validate=False).actuators[0].ctrlrange == msd.Range()


def test_unknown_keys_are_reported_and_refused_when_strict() -> None:
    scene = {
        "hierarchy": {"bodies": [{"link": {"joints": [{"axis": [0, 0, 1], "type": "Slide"}]}}]},
        "colour": 1,
        "assets": {"meshes": {"m": {"Path": {"path": "/m.stl", "usingmeshes": []}}}},
    }
    world = read(scene)
    assert {(entry.path, entry.fate) for entry in world.report} == {
        ("$.hierarchy.bodies[0].link.joints[0].type", msd.Fate.LeftOut),
        ("$.colour", msd.Fate.LeftOut),
        ("$.assets.meshes['m'].Path.usingmeshes", msd.Fate.LeftOut),
    }
    assert "did you mean 'type_'" in str(world.report)
    assert not world.report.is_exact
    del scene["assets"]
    with pytest.raises(SceneError, match="2 parts would be lost") as caught:
        read(scene, strict=True)
    assert any("type" in problem.path for problem in caught.value.problems)


@pytest.mark.parametrize(("owner", "keys"), REQUIRED.items())
def test_missing_required_keys_are_forgiven_unless_strict(owner: str, keys: tuple[str, ...]) -> None:
    name, _, case = owner.partition(".")
    for strict in (False, True):
        reading = Source(required=REQUIRED if strict else None)
        if case:
            getattr(msd, name)._read({case.capitalize(): {"path": "a"}}, reading, "$")
        else:
            getattr(msd, name)._read({}, reading, "$")
        missing = [problem.message for problem in reading.problems]
        assert missing == [f"given no {key!r}; {owner} requires it" for key in keys] * strict


WRONG: list[tuple[Any, str, str]] = [
    ([], "$", "given [] (list of 0); allowed: an object with the fields of World"),
    (None, "$", "given None"),
    ({"name": 3}, "$.name", "given 3 (int); allowed: text"),
    ({"hierarchy": []}, "$.hierarchy", "an object with the fields of Hierarchy"),
    ({"hierarchy": {"bodies": {}}}, "$.hierarchy.bodies", "a list, each a Body"),
    ({"hierarchy": {"bodies": [1]}}, "$.hierarchy.bodies[0]", "the fields of Body"),
    (
        {"hierarchy": {"bodies": [{"link": {"children": [[]]}}]}},
        "$.hierarchy.bodies[0].link.children[0]",
        "Link",
    ),
    ({"hierarchy": {"bodies": [{"link": {"children": 1}}]}}, "$.hierarchy.bodies[0].link.children", "a list"),
    ({"hierarchy": {"geoms": [{"size": [1, 2]}]}}, "$.hierarchy.geoms[0].size", "3 numbers"),
    ({"hierarchy": {"geoms": [{"size": [1, 2, "3"]}]}}, "$.hierarchy.geoms[0].size", "3 numbers"),
    ({"hierarchy": {"geoms": [{"shape": "Bx"}]}}, "$.hierarchy.geoms[0].shape", "did you mean 'Box'?"),
    ({"hierarchy": {"geoms": [{"shape": {"Box": 1}}]}}, "$.hierarchy.geoms[0].shape", "ShapeType"),
    ({"actuators": [{"target": {"Joit": "a"}}]}, "$.actuators[0].target", "did you mean 'Joint'?"),
    ({"actuators": [{"target": "Joint"}]}, "$.actuators[0].target", '{"Joint": ...}'),
    ({"actuators": [{"target": {"Joint": "a", "Link": "b"}}]}, "$.actuators[0].target", "ActuatorTarget"),
    ({"actuators": [{"target": {"Joint": 1}}]}, "$.actuators[0].target.Joint", "the name of a joint"),
    (
        {"actuators": [{"actuator_type": {"Motor": 1}}]},
        "$.actuators[0].actuator_type",
        'the bare text "Motor"',
    ),
    (
        {"sensors": {"contact": [{"match_": {"GeomPair": ["a"]}}]}},
        "$.sensors.contact[0].match_.GeomPair",
        "two",
    ),
    (
        {"equality_constraint_set": {"connects": [{"connect_type": {"SitePair": {"site_a": "a"}}}]}},
        "$.equality_constraint_set.connects[0].connect_type.SitePair",
        "given no 'site_b'",
    ),
    ({"assets": {"meshes": []}}, "$.assets.meshes", "a dict from text"),
    (
        {"assets": {"meshes": {"m": {"Buffer": {"data": {"vertices": [[1, 2]]}}}}}},
        "$.assets.meshes['m'].Buffer.data.vertices",
        "(N, 3)",
    ),
    ({"simulate_option": {"timestep": "fast"}}, "$.simulate_option.timestep", "a number"),
    ({"simulate_option": {"timestep": True}}, "$.simulate_option.timestep", "a number"),
    ({"simulate_option": {"friction_model": 1e400}}, "", "Number out of range"),
    ({"simulate_option": {"constraint_solver_iterations": 10**30}}, "iterations", "a whole number"),
]


@pytest.mark.parametrize(("scene", "path", "words"), WRONG)
def test_wrong_content_is_refused_with_its_place(scene: Any, path: str, words: str) -> None:
    text = json.dumps(scene).replace("Infinity", "1e400")
    with pytest.raises(SceneError) as caught:
        msd.from_str(text, format="msd", file_path="robot.json")
    assert path in str(caught.value)
    assert words in str(caught.value)
    assert "robot.json" in str(caught.value)


def test_all_problems_of_a_file_come_together() -> None:
    geom = {"name": "a", "size": [1, 1, 1]}
    scene = {
        "hierarchy": {"geoms": [{**geom, "size": "big"}, geom]},
        "actuators": [{"target": {"Joint": "elbow"}}],
        "simulate_option": {"timestep": -1.0},
    }
    with pytest.raises(SceneError, match="4 problems") as caught:
        read(scene)
    assert {problem.path for problem in caught.value.problems} == {
        "$.hierarchy.geoms[0].size",
        "$.hierarchy.geoms[1].name",
        "$.actuators[0].target.Joint",
        "$.simulate_option.timestep",
    }


def test_problems_keep_their_places_after_a_broken_neighbour() -> None:
    geoms = [1, *({"size": [1, 1, 1]} for _ in range(10)), {"size": [0, 0, 0]}]
    actuators = [{"target": 5}, {"target": {"Joint": "none"}}]
    meshes = {"m": {"Bufer": {}}}
    scene = {"hierarchy": {"geoms": geoms}, "actuators": actuators, "assets": {"meshes": meshes}}
    scene["hierarchy"]["geoms"][2]["mesh"] = "m"
    scene["hierarchy"]["bodies"] = [{"link": {"children": [0, {"gravcomp": "x"}]}}]
    with pytest.raises(SceneError) as caught:
        read(scene)
    assert {problem.path for problem in caught.value.problems} == {
        "$.hierarchy.geoms[0]",
        "$.hierarchy.geoms[11].size",
        "$.hierarchy.bodies[0].link.children[0]",
        "$.hierarchy.bodies[0].link.children[1].gravcomp",
        "$.actuators[0].target",
        "$.actuators[1].target.Joint",
        "$.assets.meshes['m']",
    }


def test_unknown_keys_beyond_counting_are_summed_up() -> None:
    world = read({f"key {i}": 0 for i in range(3000)})
    assert len(world.report) == 1001
    assert world.report.entries[-1].message == "2000 more unknown keys"


def test_numbers_put_into_lists_in_place_are_written_as_numbers() -> None:
    world = msd.World()
    geom = world.add_ground_plane(0.0)
    geom.size[:] = [1, np.float32(0.5), np.int64(2)]
    for again in (msd.from_str(world.to_str(), "msd"), msd.from_msgpack(world.to_msgpack())):
        assert again.hierarchy.geoms[0].size == [1.0, 0.5, 2.0]
        assert again == world


def test_nan_is_refused_wherever_it_comes_from() -> None:
    for bad in (math.nan, math.inf):
        packed = msgspec.msgpack.encode(
            {"hierarchy": {"geoms": [{"size": [1, 1, 1], "position": [0, bad, 0]}]}}
        )
        with pytest.raises(SceneError, match=r"\$\.hierarchy\.geoms\[0\]\.position"):
            msd.from_msgpack(packed)
    with pytest.raises(SceneError, match="not JSON"):
        msd.from_str('{"simulate_option": {"timestep": NaN}}', format="msd")
    world = msd.World()
    world.add_ground_plane(0.0).position[1] = math.nan
    for write in (world.to_str, world.to_msgpack):
        with pytest.raises(SceneError, match=r"cannot be written.*\n.*\$\.hierarchy\.geoms\[0\]\.position"):
            write()


def test_an_unfinished_scene_can_be_saved_and_loaded_without_validation() -> None:
    world = msd.World(actuators=[msd.Actuator()], hierarchy=msd.Hierarchy(geoms=[msd.Geometry()] * 2))
    with pytest.raises(SceneError):
        msd.from_str(world.to_str(), format="msd")
    assert msd.from_str(world.to_str(), format="msd", validate=False) == world


HOSTILE = {
    "nothing": b"",
    "text": b"hello",
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "cut off": b'{"name": "a", "hierarchy": {',
    "deep lists": b"[" * 1_000_000,
    "deep objects": b'{"a":' * 300_000,
    "deep but closed": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "deep links": b'{"hierarchy":{"bodies":[{"link":' + b'{"children":[' * 1500 + b"]}" * 1500 + b"}]}}",
    "many objects": b'{"hierarchy":{"geoms":[' + b"{}," * 1_000_000 + b"{}]}}",
    "many empty lists": b"[" + b"[]," * 8_000_000 + b"[]]",
    "many unknown keys": b"{" + b",".join(b'"k%d":0' % i for i in range(200_000)) + b"}",
    "many wrong entries": b'{"actuators":[' + b"0," * 100_000 + b"0]}",
    "long number": b'{"name":' + b"9" * 200_000 + b"}",
    "long text": b'{"hierarchy":{"geoms":[{"shape":"' + b"x" * 5_000_000 + b'"}]}}',
    "long key": b'{"' + b"x" * 5_000_000 + b'":0}',
    "lone surrogate": b'{"name":"\\ud800"}',
    "NUL in a name": b'{"name":"a\\u0000b"}',
    "huge number": b'{"simulate_option":{"timestep":1e999}}',
}
HOSTILE_MSGPACK = {
    "nothing": b"",
    "a number": b"\x01",
    "long list": b"\xdd\xff\xff\xff\xff",
    "long map": b"\xdf\xff\xff\xff\xff",
    "long text": b"\xdb\xff\xff\xff\xff",
    "long blob": b"\xc6\xff\xff\xff\xff",
    "long list inside": b"\x81\xa9actuators\xdd\x7f\xff\xff\xff\xc0",
    "deep lists": b"\x91" * 1_000_000,
    "deep maps": b"\x81\xa1a" * 300_000,
    "many empty lists": b"\xdd" + struct.pack(">I", 9_000_000) + b"\x90" * 9_000_000,
    "wrong keys": msgspec.msgpack.encode({1: 2, None: 3, "name": "a"})[:-1],
    "extension": msgspec.msgpack.encode({"name": msgspec.msgpack.Ext(5, b"abc")}),
    "bytes for text": msgspec.msgpack.encode({"name": b"abc"}),
    "odd blob": msgspec.msgpack.encode(
        {"assets": {"meshes": {"m": {"Buffer": {"data": {"vertices": b"1234567"}}}}}}
    ),
    "odd index blob": msgspec.msgpack.encode(
        {"assets": {"meshes": {"m": {"Buffer": {"data": {"vertices": b"", "triangles": b"1234567"}}}}}}
    ),
    "indices beyond": msgspec.msgpack.encode(
        {"assets": {"meshes": {"m": {"Buffer": {"data": {"vertices": b"", "triangles": b"\xff" * 12}}}}}}
    ),
    "lying table": msgspec.msgpack.encode(
        {"assets": {"meshes": {"m": {"Buffer": {"data": {"vertices": {"dtype": "<f8", "data": 3}}}}}}}
    ),
}


def attack(call: Any) -> None:
    """A bad file is refused, soon and without taking much memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    with pytest.raises(SceneError) as caught:
        call()
    assert time.process_time() - start < HANG
    assert len(str(caught.value)) < 100_000
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 400_000, f"{grown} kB"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_json_is_refused(name: str) -> None:
    text = HOSTILE[name]
    attack(lambda: msd.from_str(text.decode("utf-8", "surrogateescape"), format="msd", strict=True))


@pytest.mark.parametrize("name", HOSTILE_MSGPACK)
def test_hostile_msgpack_is_refused(name: str) -> None:
    attack(lambda: msd.from_msgpack(HOSTILE_MSGPACK[name], "scene.msgpack", strict=True))


def test_containers_are_counted_around_blobs() -> None:
    inner = {"a": [1, 2.5, "text", None, True, -1, 2**40], "b": b"\x90" * 1000, "c": [[], {}]}
    data = msgspec.msgpack.encode([inner, msgspec.msgpack.Ext(1, b"\x80" * 70000), "y" * 70000, 1 << 63])
    assert size_limits._count(data)[0] == 6


@given(st.integers(0, 2**32), st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_files_raise_nothing_but_scene_errors(seed: int, data: st.DataObject) -> None:
    generator = Generator(seed % 10)
    world = generator.world()
    packed = data.draw(st.booleans())
    raw = bytearray(world.to_msgpack() if packed else world.to_str().encode())
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.integers(0, len(raw) - 1))
        match data.draw(st.integers(0, 3)):
            case 0:
                raw[where] = data.draw(st.integers(0, 255))
            case 1:
                del raw[where : where + data.draw(st.integers(1, 20))]
            case 2:
                raw[where:where] = data.draw(st.binary(max_size=8))
            case _:
                other = data.draw(st.integers(0, len(raw) - 1))
                raw[where:where] = raw[other : other + 40]
    try:
        if packed:
            msd.from_msgpack(bytes(raw))
        else:
            msd.from_str(raw.decode("utf-8", "replace"), format="msd")
    except SceneError:
        pass


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from([*msd.World._fields, *msd.Link._fields, "Path", "data"]), inner)
        ),
        max_leaves=25,
    )
)
@settings(max_examples=150, deadline=None)
def test_any_well_formed_msgpack_raises_nothing_but_scene_errors(plain: Any) -> None:
    try:
        raw = msgspec.msgpack.encode({"hierarchy": plain, "assets": plain, "actuators": plain})
    except OverflowError:
        return
    for validate in (True, False):
        try:
            msd.from_msgpack(raw, validate=validate)
        except SceneError:
            pass


def test_arguments_of_the_wrong_type() -> None:
    with pytest.raises(ArgumentError, match=r"data: given 'abc' \(str\); allowed: bytes"):
        msd.from_msgpack("abc")
    with pytest.raises(ArgumentError, match=r"path: given 3 \(int\); allowed: the path of a file"):
        msd.from_file(3)
    with pytest.raises(ArgumentError, match="string: given 3 bytes; allowed: text"):
        msd.from_str(b"abc", format="msd")
    with pytest.raises(ArgumentError, match=r"format: given 'mjfc'.*did you mean 'mjcf'\?"):
        msd.from_str("{}", format="mjfc")
    with pytest.raises(ArgumentError, match="asset_dirs: given 'dir'"):
        msd.from_str("{}", format="msd", asset_dirs="dir")


def test_native_files_reach_no_assets_outside_their_directory(tmp_path) -> None:
    inside, outside = tmp_path / "scene", tmp_path / "elsewhere"
    inside.mkdir()
    outside.mkdir()
    cube = (Path(__file__).parents[1] / "data" / "cube.stl").read_bytes()
    (outside / "cube.stl").write_bytes(cube)
    world = msd.World()
    world.assets.meshes["m"] = msd.MeshSource.path(str(outside / "cube.stl"))
    for suffix in (".json", ".msgpack"):
        file = inside / f"scene{suffix}"
        world.to_file(file)
        with pytest.raises(SceneError, match="outside the directories that may be read"):
            msd.from_file(file)
        assert msd.from_file(file, allow_outside=True) == world
        assert msd.from_file(file, asset_dirs=[outside]) == world
    with pytest.raises(SceneError, match="outside"):
        msd.from_msgpack(world.to_msgpack())
    assert msd.from_msgpack(world.to_msgpack(), asset_dirs=[outside]) == world
