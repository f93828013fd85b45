# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reading MJCF, the XML format of MuJoCo, into a scene.

The order follows what refers to what: assets, then the tree of bodies with all it attaches and replicates,
then what stands beside the tree and refers into it, and at last keyframes, which need the whole of it.
Problems are gathered along the way and raised together; what a scene has no place for is noted in its
report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worldline._src.scene.formats.mjcf.actuators import read_actuators
from worldline._src.scene.formats.mjcf.assets import read_assets
from worldline._src.scene.formats.mjcf.bodies import Tree
from worldline._src.scene.formats.mjcf.contacts import read_contacts
from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.equality import read_equalities
from worldline._src.scene.formats.mjcf.keyframes import read_keyframes
from worldline._src.scene.formats.mjcf.multi import PID_PLUGIN
from worldline._src.scene.formats.mjcf.options import read_custom, read_options, read_sizes
from worldline._src.scene.formats.mjcf.schema import WORDS
from worldline._src.scene.formats.mjcf.sensors import read_sensors
from worldline._src.scene.formats.mjcf.tendons import read_tendons
from worldline._src.scene.formats.mjcf.visual import read_visual
from worldline._src.scene.formats.xml import Element, Log, are_plain, number
from worldline._src.scene.world import World


def read(source: str, *, file_path: Path | None, options: Any) -> World:
    """The scene of an MJCF text.

    Args:
        source: The text.
        file_path: The file it came from; relative paths in it start at its directory.
        options: Which files may be read besides, and how large all may be; see `load.ReadOptions`.

    Raises:
        SceneError: Everything that is wrong with the text.
    """
    reading = Reading(source, file_path, options)
    log = reading.log
    _read_header(reading)
    read_assets(reading, reading.root)
    Tree(reading).read()
    for work in reading.later:
        work()
    read_tendons(reading)
    read_contacts(reading)
    read_equalities(reading)
    read_actuators(reading)
    read_sensors(reading)
    read_custom(reading)
    _note_rest(reading)
    _check_defaults(reading)
    # keyframes speak of the whole scene, so they mean nothing in one with holes
    log.raise_any()
    read_keyframes(reading)
    log.raise_any()
    reading.world.report = log.report
    reading.close()
    return reading.world


def _read_header(reading: Reading) -> None:
    world, source = reading.world, reading.root.source
    world.name = source.root.get("model") or ""
    mass = source.compiler.mass
    if mass is not None:
        world.compile_options = mass
    read_options(reading)
    read_sizes(reading)
    read_visual(reading)


def _note_rest(reading: Reading) -> None:
    """Notes the sections that a scene has no place for."""
    seen: set[int] = set()
    for scope in reading.root.walk():
        if id(scope.source) in seen:
            continue
        seen.add(id(scope.source))
        for element in scope.source.section("deformable"):
            reading.log.left_out(element, "deformable objects are not modelled")
        for element in scope.source.section("extension"):
            if element.get("plugin") == PID_PLUGIN:
                # read where actuators name it
                continue
            reading.log.left_out(element, "plugins have no place in a scene")


def _check_defaults(reading: Reading) -> None:
    """Looks at the numbers of default classes, since classes without elements are not read otherwise."""
    broken = {(problem.file, problem.path) for problem in reading.log.problems}
    sources = {id(scope.source): scope.source for scope in reading.root.walk()}
    for source in sources.values():
        elements = [element for section in source.root.all("default") for element in section.walk()]
        texts = [
            text for element in elements for name, text in element.attributes.items() if name not in WORDS
        ]
        if are_plain(*texts):
            # nearly always, and found out at once
            continue
        for element in elements:
            if element.attributes and not (broken and (element.file, element.path) in broken):
                _check_numbers(element, reading.log)


def _check_numbers(element: Element, log: Log) -> None:
    for name, text in element.attributes.items():
        if name in WORDS or ":" in name or are_plain(text):
            continue
        for word in text.split():
            if number(word, infinite=name.endswith("range")) is None:
                log.problem(element, f"attribute '{name}': given {word[:40]!r}; allowed: finite numbers")
