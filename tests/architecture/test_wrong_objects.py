# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A wrong object in the place of a Model, a scene or a World is refused by name, by every public callable."""

from __future__ import annotations

import enum
import importlib
import inspect
import re

import numpy as np
import pytest

from worldline import ArgumentError, WorldlineError, msd
from worldline import simulation as sx
from worldline.model import ModelBuilder, State, mass_matrix, step

MODULES = (
    "",
    *(f".{name}" for name in ("simulation model msd collision kinematics lcp math optimize".split())),
)
OURS = {
    "Model",
    "World",
    "Simulation",
    "LaneSimulation",
    "WorldBatch",
    "Multibody",
    "Link",
    "Joint",
    "RigidBody",
}
OURS |= {"State", "Control"}

# results and parts of a World that its methods make and hand out
MADE_BY_METHODS = """BatchSelection BatchWorld BodyClearance BodyPoint CollisionQueries Contact ContactForce
DegreeOfFreedom IndependentCoordinates
JointCollection LinkCollection LoadResult RayHit RayHits Recording Replay SensorCollection StepJob
VisibilityQueries VisibleBody WorldStepContext RigidBody Joint Link Marker WorldJoint""".split()


def words(annotation: object) -> set[str]:
    return set(re.findall(r"[A-Za-z_]+", str(annotation)))


def public_callables():
    seen = set()
    for module in MODULES:
        holder = importlib.import_module(f"worldline{module}")
        for name in holder.__all__:
            item = getattr(holder, name)
            if id(item) in seen or not callable(item):
                continue
            seen.add(id(item))
            if inspect.isclass(item):
                if issubclass(item, (enum.Enum, BaseException)) or name in MADE_BY_METHODS:
                    continue
                for part, method in vars(item).items():
                    if part[0] != "_" and isinstance(method, (classmethod, staticmethod)):
                        yield f"{module}.{name}.{part}", getattr(item, part)
            yield f"{module}.{name}", item


def cases():
    for label, call in public_callables():
        try:
            signature = inspect.signature(call)
        except ValueError:
            continue
        named = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        for target in named:
            if words(target.annotation) & OURS:
                yield pytest.param(call, named, target, id=f"{label}({target.name})")


CASES = list(cases())


def arm():
    builder = ModelBuilder()
    link = builder.add_link(mass=1.0, inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_revolute(-1, link)])
    return builder.finalize()


@pytest.fixture(scope="module")
def right():
    model, world = arm(), sx.World()
    robot = world.add_multibody("r")
    base = robot.add_link("base")
    link = robot.add_link("l", parent=base, joint=sx.JointSpec(name="h", type=sx.JointType.REVOLUTE))
    parts = {"Model": model, "World": world, "Multibody": robot, "Link": link, "Joint": robot.joints["h"]}
    return parts | {"State": model.state(), "Control": model.control(), "str": "x", "int": 0}


@pytest.mark.parametrize("given", [object(), 3.5, ["abc"]], ids=["object", "float", "list"])
@pytest.mark.parametrize(("call", "named", "target"), CASES)
def test_a_wrong_object_is_refused(call, named, target, given, right):
    if isinstance(given, list) and words(target.annotation) & {"Sequence", "Iterable", "list", "tuple"}:
        given = [object()]
    arguments = {target.name: given}
    for parameter in named:
        if parameter is not target and parameter.default is parameter.empty:
            kinds = [kind for kind in right if kind in words(parameter.annotation)]
            arguments[parameter.name] = right[kinds[0]] if kinds else np.zeros(1)
    with pytest.raises(WorldlineError):
        call(**arguments)


def test_the_message_says_what_was_given_and_what_is_allowed():
    with pytest.raises(
        ArgumentError, match=r"mass_matrix: given an object of .*World for 'model'; allowed: a"
    ):
        mass_matrix(sx.World(), np.zeros(1))
    with pytest.raises(
        TypeError, match=r"build: given an object of .*Model for 'world'.* of `worldline.msd`"
    ):
        msd.build(arm())
    with pytest.raises(TypeError, match="step: given an object of dict for 'state'; allowed: a State"):
        step(arm(), {})
    assert State is type(arm().state())
