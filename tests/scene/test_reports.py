# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reports, summaries, the JSON Schema, examples in docstrings, and what importing costs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import json
import pickle
import pkgutil
import re
from typing import Any

import pytest
from random_scenes import Generator

from processes import loaded_by
from worldline import msd
from worldline._src import scene
from worldline._src.errors import ArgumentError, Problem, SceneError


def test_a_report_tells_fate_and_place() -> None:
    report = msd.Report()
    assert report.is_exact
    assert str(report) == "nothing to report"
    report.kept("a/b", "as it is", file="f.xml", line=1)
    assert report.is_exact
    report.raise_losses()
    report.approximated("a/c", "nearly", file="f.xml", line=7)
    report.left_out("a/d", "unknown")
    assert [entry.fate for entry in report] == [msd.Fate.Kept, msd.Fate.Approximated, msd.Fate.LeftOut]
    assert str(report).splitlines() == [
        "kept: f.xml:1: a/b: as it is",
        "approximated: f.xml:7: a/c: nearly",
        "left out: a/d: unknown",
    ]
    with pytest.raises(SceneError) as caught:
        report.raise_losses("robot.xml")
    assert caught.value.problems == (
        Problem("a/c", "approximated: nearly", "f.xml", 7),
        Problem("a/d", "left out: unknown"),
    )
    more = msd.Report()
    more.extend(report)
    assert len(more) == 3


def test_a_copy_of_a_world_has_its_own_report() -> None:
    world = msd.World()
    world.report.left_out("a", "b")
    copy = world.deepcopy()
    copy.report.left_out("c", "d")
    assert (len(world.report), len(copy.report)) == (1, 2)
    assert not msd.World().report.entries


def test_scene_errors_carry_their_problems() -> None:
    error = SceneError("bad", [Problem("$.a", "wrong", "f.json", 3), Problem("$.b", "worse")])
    assert isinstance(error, ArgumentError)
    assert isinstance(error, ValueError)
    assert str(error) == "bad\n  f.json:3: $.a: wrong\n  $.b: worse"
    again = pickle.loads(pickle.dumps(error))
    assert again.problems == error.problems
    assert str(again) == str(error)
    assert str(SceneError("only words")) == "only words"
    assert SceneError("only words").problems == ()


def test_long_paths_are_shortened_in_messages_only() -> None:
    problem = Problem("$" + ".children[0]" * 100, "wrong")
    assert len(str(problem)) < 300
    assert len(problem.path) > 1000


def test_refusals_survive_pickling() -> None:
    with pytest.raises(ArgumentError) as caught:
        msd.Geometry(size=(1, 2))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_summary_counts_what_is_there() -> None:
    world = msd.World(name="demo", source_path="demo.json")
    world.add_ground_plane(0.0)
    link = msd.Link(joints=[msd.Joint(axis=(0, 0, 1))], inertial=msd.Inertia(mass=2.5))
    link.geoms = [msd.Geometry(size=(1, 0, 0)), msd.Geometry(shape="Box", size=(1, 1, 1))]
    world.hierarchy.bodies.append(msd.Body(link=link))
    world.hierarchy.bodies.append(msd.Body(free=msd.FreeJoint()))
    world.sensors.touch.append(msd.TouchSensor())
    world.report.left_out("a", "b")
    lines = [line.split() for line in world.summary().splitlines()]
    assert lines[0] == ["scene", "'demo'", "from", "demo.json"]
    table = {line[0]: " ".join(line[1:]) for line in lines[1:]}
    assert table["bodies"] == "2, 1 free"
    assert table["links"] == "2, 1 with a given mass, 2.5 kg"
    assert table["joints"] == "1 (1 Revolute)"
    assert table["coordinates"] == "8, velocities 7"
    assert table["geoms"] == "3 (1 InfinitePlane, 1 Sphere, 1 Box)"
    assert table["sensors"] == "1 (1 touch)"
    assert table["read"] == "with 1 losses"
    assert "actuators" not in table
    Generator(1).world().summary()


SCHEMA = msd.json_schema()


def conforms(value: Any, schema: dict[str, Any]) -> bool:
    """A small JSON Schema check: exactly the keywords the exported schema uses."""
    if "$ref" in schema:
        return conforms(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")])
    if "anyOf" in schema:
        return any(conforms(value, option) for option in schema["anyOf"])
    if "oneOf" in schema:
        return sum(conforms(value, option) for option in schema["oneOf"]) == 1
    if "enum" in schema:
        return value in schema["enum"]
    if "const" in schema:
        return value == schema["const"]
    match schema["type"]:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "integer" | "number":
            kinds = (int,) if schema["type"] == "integer" else (int, float)
            return (
                isinstance(value, kinds)
                and not isinstance(value, bool)
                and schema.get("minimum", value) <= value <= schema.get("maximum", value)
                and value > schema.get("exclusiveMinimum", -float("inf"))
            )
        case "array":
            return (
                isinstance(value, list)
                and schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
                and all(conforms(item, schema["items"]) for item in value)
            )
        case "object":
            if not isinstance(value, dict) or not set(schema.get("required", ())) <= set(value):
                return False
            named = schema.get("properties", {})
            rest = schema.get("additionalProperties", True)
            return all(
                conforms(item, named[key])
                if key in named
                else (rest if isinstance(rest, bool) else conforms(item, rest))
                for key, item in value.items()
            )
    raise AssertionError(schema)


def test_schema_names_every_class_once() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert {"World", "Link", "Geometry", "ActuatorTarget", "ShapeType", "Range"} <= set(SCHEMA["$defs"])
    referred = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(SCHEMA)))
    assert referred <= set(SCHEMA["$defs"])
    assert set(SCHEMA["$defs"]["World"]["properties"]) == set(msd.World._fields)
    assert SCHEMA["$defs"]["Link"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Link"}
    assert SCHEMA["$defs"]["Geometry"]["properties"]["position"]["description"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("defaults", [False, True])
def test_written_scenes_conform_to_the_schema(seed: int, defaults: bool) -> None:
    assert conforms(json.loads(Generator(seed).world().to_str(defaults=defaults)), SCHEMA)


@pytest.mark.parametrize(
    "scene",
    [
        {"name": 1},
        {"hierarchy": {"geoms": [{"shape": "Bx"}]}},
        {"hierarchy": {"geoms": [{"size": [1, 2]}]}},
        {"hierarchy": {"geoms": [{"mass": -1}]}},
        {"actuators": [{"target": {"Joit": "a"}}]},
        {"simulate_option": {"timestep": 0}},
    ],
)
def test_wrong_scenes_do_not_conform(scene: Any) -> None:
    assert not conforms(scene, SCHEMA)


OWN = "actuators asset_specs bodies closures geometry joints report schema values world formats.load"


@pytest.mark.parametrize("name", OWN.split())
def test_examples_in_docstrings_run(name: str) -> None:
    module = importlib.import_module(f"worldline._src.scene.{name}")
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def test_importing_scenes_loads_no_heavy_library() -> None:
    code = (
        "from worldline import msd; world = msd.World(); world.validate(); "
        "msd.from_str(world.to_str(), format='msd')"
    )
    assert loaded_by(code, "numba lxml trimesh scipy matplotlib") == []


def test_modules_of_the_description_do_not_import_formats() -> None:
    # the formats stand above the description; World reaches them only when called
    for info in pkgutil.iter_modules(scene.__path__):
        if not info.ispkg:
            spec = importlib.util.find_spec(f"worldline._src.scene.{info.name}")
            assert spec is not None and spec.origin is not None
            with open(spec.origin) as file:
                top = [line for line in file if line.startswith(("from", "import"))]
            assert not [line for line in top if "scene.formats" in line], info.name


def test_strict_loading_of_motion_lets_looks_pass() -> None:
    looks = "<mujoco><visual><scale framewidth='2'/></visual><worldbody><body><geom size='1'/></body></worldbody></mujoco>"
    assert [entry.may_move for entry in msd.from_str(looks).report.losses] == [False]
    with pytest.raises(SceneError, match="1 part would be lost"):
        msd.from_str(looks, strict=True)
    msd.from_str(looks, strict="motion")
    moving = looks.replace("<geom", "<joint springdamper='1 1' type='free'/><geom")
    with pytest.raises(SceneError, match="springdamper"):
        msd.from_str(moving, strict="motion")
    with pytest.raises(ValueError, match="allowed: True, False or 'motion'"):
        msd.from_str(looks, strict="yes")  # type: ignore[arg-type]
