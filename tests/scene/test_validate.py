# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every rule finds its fault, and names the place, what was given and what is allowed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from faulty_scenes import FAULTS, arm, hand, scene

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene import base
from worldline._src.scene.contexts import Probe
from worldline._src.scene.limits import Limits
from worldline._src.scene.rules import RULES
from worldline._src.scene.validate import validate

HANG = 3.0
"""Seconds of processor time a refusal may take; the slowest was measured at 0.9 s on a quiet machine."""


def test_the_scene_is_valid() -> None:
    scene().validate()


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found_and_named(fault: str) -> None:
    change, path, given, allowed = FAULTS[fault]
    world = scene()
    change(world)
    with pytest.raises(SceneError) as caught:
        world.validate()
    (problem,) = caught.value.problems
    assert problem.path == path
    assert given in problem.message
    assert allowed.removeprefix("an ") in problem.message or allowed in problem.message
    assert str(problem) in str(caught.value)


def problems_of_all(monkeypatch: pytest.MonkeyPatch, few: int) -> list[list[str]]:
    """Problems of every faulty scene where checks are written after `few` objects of a class."""
    left: list[type] = [base.Struct]
    while left:
        cls = left.pop()
        left += cls.__subclasses__()
        monkeypatch.setattr(cls, "_checks", None)
        monkeypatch.setattr(cls, "_checked", 0)
    monkeypatch.setattr(base, "_FEW", few)
    found = []
    for change, *_ in FAULTS.values():
        world = scene()
        change(world)
        with pytest.raises(SceneError) as caught:
            world.validate()
        found.append(sorted(map(str, caught.value.problems)))
    return found


def test_written_checks_find_what_kinds_find(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems_of_all(monkeypatch, 0) == problems_of_all(monkeypatch, 10**9)
    assert msd.Link._checks is None
    problems_of_all(monkeypatch, 0)
    assert msd.Link._checks is not None


def test_every_rule_has_a_fault_of_its_own() -> None:
    # a rule added without a test shows up here
    untested = dict(RULES)
    for change, *_ in FAULTS.values():
        world = scene()
        change(world)
        everything = problems_with(world, RULES)
        for struct in list(untested):
            others = {key: rule for key, rule in RULES.items() if key is not struct}
            if everything and problems_with(world, others) < everything:
                del untested[struct]
    assert not untested


def problems_with(world: msd.World, rules: Mapping[type, Any]) -> int:
    probe = Probe(rules=rules)
    world._check(probe, "$")
    probe.finish()
    return len(probe.problems)


def test_all_problems_come_together() -> None:
    world = scene()
    expected = set()
    for fault in ("negative mass", "actuator of no joint", "duplicate sensor of another kind", "zero size"):
        change, path, *_ = FAULTS[fault]
        change(world)
        expected.add(path)
    with pytest.raises(SceneError, match="4 problems") as caught:
        world.validate()
    assert {problem.path for problem in caught.value.problems} == expected


@pytest.mark.parametrize("size", [1e308, 1e-308, 5e-324])
def test_extreme_numbers_are_judged_without_overflow(size: float) -> None:
    world = scene()
    # moments that small are refused for links that move
    moment = max(size, 1e-20)
    arm(world).inertial.full_inertia = (moment, moment, moment, 0, 0, 0)
    hand(world).joints[0].type_ = msd.JointType.Universal
    hand(world).joints[0].axis, hand(world).joints[0].axis2 = (0, size, 0), (size, size, 0)
    hand(world).local_rotation = (0, 0, 0, size)
    world.keyframes.clear()
    # a universal joint has no single coordinate for these
    world.sensors.joint.clear()
    world.tendon_set.joint_tendons.clear()
    world.validate()
    moved = msd.World().attach(world, other_rotation=(0, 0, 0, size), other_translation=(0, 0, size))
    assert np.isfinite(moved.hierarchy.bodies[0].link.local_rotation).all()


def test_the_world_may_be_referred_to_by_name() -> None:
    world = scene()
    world.collision_ignores.link_pairs.append(["world", "hand"])
    world.sensors.frame.append(msd.FrameSensor(object_type=msd.ObjectType.link("world")))
    world.validate()


def test_a_link_inside_itself_is_found() -> None:
    world = scene()
    hand(world).children.append(arm(world))
    start = time.process_time()
    with pytest.raises(SceneError, match="the same Link object is already at"):
        world.validate()
    for use in (world.to_str, world.to_msgpack, world.deepcopy, world.summary):
        with pytest.raises(SceneError, match="same Link object"):
            use()
    assert world == world.__copy__()
    assert time.process_time() - start < HANG


def test_a_link_in_two_places_is_found() -> None:
    world = msd.World()
    link = msd.Link()
    for _ in range(60):
        # two ways down at each level: 2^60 paths for a walk that does not notice
        link = msd.Link(children=[link, link])
    world.hierarchy.bodies.append(msd.Body(link=link))
    with pytest.raises(SceneError, match="give every place its own copy"):
        world.validate()


def test_depth_and_number_are_limited() -> None:
    world = msd.World()
    link = msd.Link()
    for _ in range(30):
        link = msd.Link(children=[link])
    world.hierarchy.bodies.append(msd.Body(link=link))
    validate(world, Limits(link_depth=31))
    with pytest.raises(SceneError, match="31 levels deep; allowed: 30"):
        validate(world, Limits(link_depth=30))
    with pytest.raises(SceneError, match="more than 10 elements"):
        validate(world, Limits(elements=10))


def test_a_flood_of_problems_ends() -> None:
    world = msd.World()
    world.hierarchy.geoms.extend(msd.Geometry() for _ in range(5000))
    with pytest.raises(SceneError, match="at least 100 problems") as caught:
        world.validate()
    assert len(caught.value.problems) == 100


def test_hints_stay_quick_among_many_names() -> None:
    world = msd.World()
    world.hierarchy.geoms.extend(msd.Geometry(name=f"geom number {i}", size=(1, 1, 1)) for i in range(5000))
    world.contact_pairs.extend(
        msd.ContactPair(geom_a=f"goem number {i}", geom_b="geom number 1") for i in range(90)
    )
    start = time.process_time()
    with pytest.raises(SceneError, match="did you mean"):
        world.validate()
    assert time.process_time() - start < HANG


_JOINTED = """<mujoco><worldbody>
  <geom name="box" type="box" size="1 1 1"/><geom name="ball" size="1" pos="5 0 0"/>
  <site name="s" pos="0 0 3"/><site name="t" pos="0 0 5"/>
  <body name="loose"><freejoint name="free"/><geom size=".1"/></body>
  <body name="arm"><joint name="ball_joint" type="ball"/><geom size=".1"/>
    <body name="hand"><joint name="hinge"/><geom size=".1"/></body></body></worldbody>{}</mujoco>"""
_MISMATCHED = {
    "a sum of a free joint": (
        '<tendon><fixed><joint joint="free" coef="1"/></fixed></tendon>',
        "one coordinate",
    ),
    "a sum of a ball joint": (
        '<tendon><fixed><joint joint="ball_joint" coef="1"/></fixed></tendon>',
        "'ball_joint', a Ball joint",
    ),
    "an equation of a free joint": (
        '<equality><joint joint1="hinge" joint2="free"/></equality>',
        r"joints\[0\].joint_b: given 'free', a free joint",
    ),
    "the angle of a free joint": ('<sensor><jointpos joint="free"/></sensor>', "one coordinate"),
    "the quaternion of a hinge": ('<sensor><ballquat joint="hinge"/></sensor>', "a ball joint"),
    "a tendon around a box": (
        '<tendon><spatial><site site="s"/><geom geom="box"/><site site="t"/></spatial></tendon>',
        "'box', a Box; allowed: a geom that is a sphere or a cylinder",
    ),
    "two shapes in a row": (
        '<tendon><spatial><site site="s"/><geom geom="ball"/><geom geom="ball"/><site site="t"/></spatial></tendon>',
        "site, geom, site",
    ),
}


@pytest.mark.parametrize("name", _MISMATCHED)
def test_references_fit_what_they_are_for(name: str) -> None:
    text, message = _MISMATCHED[name]
    with pytest.raises(SceneError, match=message):
        msd.from_str(_JOINTED.format(text))


def test_what_fits_is_taken_and_joints_named_twice_add_up() -> None:
    scene = msd.from_str(
        _JOINTED.format(
            '<tendon><fixed name="f"><joint joint="hinge" coef="2"/></fixed>'
            '<spatial><site site="s"/><geom geom="ball"/><site site="t"/></spatial></tendon>'
            '<sensor><jointpos joint="hinge"/><ballquat joint="ball_joint"/></sensor>'
        )
    )
    scene.tendon_set.joint_tendons[0].joints.append(msd.JointTendonNode(joint_name="hinge", weight=0.5))
    tendons = msd.build(scene).tendons
    assert tendons.coefficient.tolist() == [2.5]
