# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Real files, mutated: whatever they become, loading and building end in time, with a scene or a SceneError.

Mutations are of bytes and of structure (elements and keys removed, doubled, moved, renamed; values replaced by
what readers stumble over). The order is fixed by a seed. WORLDLINE_FUZZ_SECONDS says how long to go on, 10
unless given, and WORLDLINE_FUZZ_SEED where to start.
"""

from __future__ import annotations

import copy
import importlib.metadata
import importlib.util
import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from worldline import msd

SECONDS = float(os.environ.get("WORLDLINE_FUZZ_SECONDS", "10"))
SEED = int(os.environ.get("WORLDLINE_FUZZ_SEED", "0"))
LARGEST = 60_000
"""Larger files say nothing that smaller ones do not, and take long."""
PATIENCE = 20
"""Seconds after which a load counts as hanging; sound files of this size take well under one."""

BUNDLED = {
    "bundled.xml": """<mujoco><compiler angle="radian" settotalmass="3"/><option timestep="0.01"/>
      <default><geom density="500"/><default class="a"><joint damping="1"/></default></default>
      <asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
        <hfield name="h" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 1 0"/>
        <material name="s" rgba="1 0 0 1"/></asset>
      <worldbody><geom type="hfield" hfield="h"/><replicate count="3" offset="0 1 0"><body name="r">
        <freejoint/><geom type="mesh" mesh="m"/></body></replicate>
        <body name="p" childclass="a" gravcomp="1"><joint name="j" type="slide" axis="1 0 0" range="-1 1"/>
        <joint name="k"/><geom name="g" fromto="0 0 0 0 0 1" size="0.1" type="capsule"/><site name="t"/>
        <camera name="c" mode="targetbody" target="q"/></body>
        <body name="q" mocap="true"><geom size="0.1" name="o"/><site name="u" pos="1 0 0"/></body></worldbody>
      <contact><pair geom1="g" geom2="o"/><exclude body1="p" body2="q"/></contact>
      <tendon><fixed name="f"><joint joint="j" coef="2"/></fixed>
        <spatial name="w"><site site="t"/><geom geom="o" sidesite="u"/><site site="u"/></spatial></tendon>
      <equality><connect body1="p" body2="q" anchor="0 0 0"/><joint joint1="j" joint2="k" polycoef="0 1 0 0 0"/>
      </equality><actuator><motor joint="j"/><position tendon="f" kp="3" dampratio="1"/></actuator>
      <sensor><jointpos joint="j"/><framepos objtype="site" objname="t" reftype="body" refname="q"/>
        <contact geom1="g" subtree2="q" num="2" data="found force"/></sensor>
      <keyframe><key name="home" qpos="0 0 0 1 0 0 0 0 0 0 1 0 0 0 0 0 0 1 0 0 0 0.1 0.2"/></keyframe>
      </mujoco>""",
    "bundled.urdf": """<robot name="r"><material name="m"><color rgba="1 0 0 1"/></material><link name="a"/>
      <link name="b"><inertial><mass value="1"/><origin xyz="0 0 1" rpy="0 1 0"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><cylinder radius="0.1" length="1"/></geometry></collision>
        <visual><geometry><box size="1 1 1"/></geometry><material name="m"/></visual></link><link name="c"/>
      <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics damping="1" friction="0.1"/></joint>
      <joint name="k" type="continuous"><parent link="b"/><child link="c"/><mimic joint="j" multiplier="2"/>
      </joint></robot>""",
    "bundled.sdf": """<sdf version="1.9"><model name="m"><link name="a"><inertial><mass>1</mass></inertial>
      <collision name="x"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link>
      <link name="b"><pose relative_to="a">0 0 1 0 0 0</pose></link><frame name="f" attached_to="b"/>
      <joint name="j" type="revolute"><parent>a</parent><child>f</child><axis><xyz>0 0 1</xyz>
        <limit><lower>-1</lower><upper>1</upper></limit></axis></joint>
      <joint name="k" type="ball"><parent>world</parent><child>b</child></joint></model></sdf>""",
}
VALUES = (
    *(
        "",
        " ",
        "0",
        "-1",
        "1e999",
        "nan",
        "-inf",
        "0x10",
        "1_0",
        "3 4",
        "0 0 0",
        "1 2 3 4 5 6 7 8",
        "true",
        "auto",
    ),
    *(
        "world",
        "..",
        "/etc/passwd",
        "file:///dev/zero",
        "package://x/y",
        "\u00e9\u4e2d",
        "a" * 600,
        "9" * 400,
    ),
    *(
        "0 0 0 0",
        "1e308 1e308 1e308",
        "1e-320",
        "4294967296",
        "mesh",
        "hfield",
        "free",
        "ball",
        "capsule",
        "none",
    ),
)


def _real_files() -> Iterator[Path]:
    for package in ("gymnasium", "dm_control"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            yield from sorted(Path(spec.origin).parent.rglob("*.xml"))
    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.suffix in (".urdf", ".sdf"):
            yield Path(str(file.locate())).resolve()


def _corpus(folder: Path) -> list[Path]:
    found = []
    for name, text in BUNDLED.items():
        path = folder / name
        path.write_text(text)
        found.append(path)
        world = msd.from_file(path)
        world.to_file(path.with_suffix(path.suffix + ".json"))
        world.to_file(path.with_suffix(path.suffix + ".msgpack"))
        found += [path.with_suffix(path.suffix + ".json"), path.with_suffix(path.suffix + ".msgpack")]
    return found + [path for path in _real_files() if path.exists() and path.stat().st_size < LARGEST]


def _bytes_changed(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(out) + 1)
        length = min(rng.choice((1, 2, 8, 64, 500)), len(out) - at)
        kind = rng.randrange(5)
        if kind == 0 and length:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del out[at : at + length]
        elif kind == 2:
            out[at:at] = out[at : at + length]
        elif kind == 3:
            out[at:at] = rng.choice(VALUES).encode()
        elif length:
            other = rng.randrange(len(out))
            out[at : at + length] = out[other : other + length]
        if not out:
            break
    return bytes(out)


def _xml_changed(data: bytes, rng: random.Random) -> bytes:
    root = etree.fromstring(data, etree.XMLParser(recover=True, resolve_entities=False, no_network=True))
    for _ in range(rng.randint(1, 6)):
        elements = [element for element in root.iter() if isinstance(element.tag, str)]
        here, there = rng.choice(elements), rng.choice(elements)
        parent = here.getparent()
        kind = rng.randrange(8)
        if kind == 0 and parent is not None:
            parent.remove(here)
        elif kind == 1 and parent is not None:
            parent.append(copy.deepcopy(here))
        elif kind == 2 and here not in (there, *there.iterancestors()):
            there.append(here)
        elif kind == 3:
            here.tag = there.tag
        elif kind == 4 and here.text is not None:
            here.text = rng.choice(VALUES)
        elif here.attrib:
            name = rng.choice(list(here.attrib))
            if kind == 5:
                del here.attrib[name]
            elif kind == 6 and there.attrib:
                here.attrib[rng.choice(list(there.attrib))] = rng.choice(list(there.attrib.values()))
            else:
                here.attrib[name] = rng.choice(VALUES)
    return etree.tostring(root)


def _json_changed(data: bytes, rng: random.Random) -> bytes:
    root = json.loads(data)
    places: list[tuple[Any, Any]] = []
    stack = [root]
    while stack:
        here = stack.pop()
        keys = here if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        for key in keys:
            places.append((here, key))
            stack.append(here[key])
    for _ in range(rng.randint(1, 6)):
        owner, key = rng.choice(places)
        other, name = rng.choice(places)
        try:
            kind = rng.randrange(4)
            if kind == 0:
                del owner[key]
            elif kind == 1:
                owner[key] = rng.choice((None, True, -1, 1e308, [], {}, *VALUES))
            elif kind == 2:
                owner[key] = copy.deepcopy(other[name])
            elif isinstance(owner, dict):
                owner[rng.choice(VALUES)] = owner.pop(key)
        except (KeyError, IndexError):
            # an earlier change took the place away
            continue
    return json.dumps(root).encode()


def _mutated(path: Path, data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3 or path.suffix == ".msgpack":
        return _bytes_changed(data, rng)
    return _json_changed(data, rng) if path.suffix == ".json" else _xml_changed(data, rng)


def _hanging(signum: int, frame: Any) -> None:
    raise TimeoutError(f"no answer after {PATIENCE} s")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_mutated_files_end_in_a_scene_or_a_scene_error(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    corpus = [(path, path.read_bytes()) for path in _corpus(tmp_path)]
    before = signal.signal(signal.SIGALRM, _hanging)
    end = time.monotonic() + SECONDS
    loaded = refused = 0
    mutated, source = b"", Path()
    try:
        while time.monotonic() < end:
            source, data = rng.choice(corpus)
            mutated = _mutated(source, data, rng)
            file = tmp_path / f"mutated{source.suffix}"
            file.write_bytes(mutated)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            try:
                world = msd.from_file(file, asset_dirs=[source.parent])
                loaded += 1
                msd.build(world)
            except msd.SceneError:
                refused += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException as error:
        kept = Path(os.environ.get("WORLDLINE_FUZZ_KEEP", str(tmp_path))) / f"failing{source.suffix}"
        kept.write_bytes(mutated)
        error.add_note(
            f"seed {SEED}, after {loaded} scenes and {refused} refusals, from {source}; kept at {kept}"
        )
        raise
    finally:
        signal.signal(signal.SIGALRM, before)
    # a fuzzer that never gets through, or never is refused, tests nothing
    assert loaded > 3 and refused > 3
