# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Divergence: limits by quantity, names of what failed, and names of policies."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import StepFailure, msd
from worldline._src.errors import ArgumentError, UnknownCapabilityError
from worldline._src.step import divergence
from worldline._src.step.divergence import failed_body, limits_of
from worldline.model import ModelBuilder, Simulation


def test_limits_of_every_quantity():
    """Forces need only be finite; everything else is bounded, by 1e150 where there is no limit."""
    checks = np.array([[0, 0, 0, quantity] for quantity in range(5)])
    largest = np.finfo(float).max
    assert limits_of(checks, 1e6).tolist() == [largest, 1e6, 1e6, 1e6, 1e6]
    assert limits_of(checks, np.inf).tolist() == [largest] + [1e150] * 4
    assert divergence.NAMES == ("force", "acceleration", "velocity", "position", "activation")
    assert divergence.DIVERGENCE_LIMIT == 1e10


@pytest.mark.parametrize("value", [0, 0.0, -1.0, float("nan"), True, "big", None, 10**400])
def test_a_limit_is_a_positive_number(value):
    with pytest.raises(ArgumentError, match="divergence_limit must be a positive number or infinite"):
        divergence.checked_limit(value)


@pytest.mark.parametrize("value", [1e-3, 5, np.float32(2.0), np.inf])
def test_positive_limits_are_taken(value):
    assert divergence.checked_limit(value) == float(value)


NAMED = """<mujoco><worldbody>
  <body name="floating"><freejoint/><geom size=".1"/>
    <body name="ball"><joint type="ball"/><geom size=".1"/>
      <body name="last"><joint name="h" axis="0 1 0"/><joint name="s" type="slide"/><geom size=".1"/></body></body></body>
  <body name="alone" pos="5 0 0"><joint name="a" axis="0 0 1"/><geom size=".1"/></body>
</worldbody>
<actuator><motor name="direct" joint="h"/><general name="slow" joint="h" dyntype="filter" dynprm="1"/>
  <motor name="plain" joint="s"/><general name="slower" joint="a" dyntype="integrator"/></actuator></mujoco>"""


def test_every_number_has_the_name_of_its_body_or_actuator():
    """Coordinates: 7 of the free joint, 4 of the ball, 1 each of the rest. Velocities: 6, 3, 1, 1, 1."""
    model = msd.build(msd.from_str(NAMED, format="mjcf"))
    by_position = ["floating"] * 7 + ["ball"] * 4 + ["last/h", "last"] + ["alone"]
    by_velocity = ["floating"] * 6 + ["ball"] * 3 + ["last/h", "last"] + ["alone"]
    for quantity, name in enumerate(divergence.NAMES):
        names = by_position if name == "position" else by_velocity
        if name == "activation":
            names = ["slow", "slower"]
        assert [failed_body(model, quantity, i) for i in range(len(names))] == names


def test_a_failure_has_the_numbers_that_were_recorded():
    model = msd.build(msd.from_str(NAMED, format="mjcf"))
    failure = divergence.failure_of(model, np.array([2.0, 8.0, -3e11]), 41, "put back", world=6)
    assert (failure.body, failure.quantity, failure.frame) == ("ball", "velocity", 41)
    assert failure.value == -3e11 and failure.world == 6


def test_policies_are_named_by_member_text_and_action():
    policy = divergence.DivergencePolicy
    for member in policy:
        assert (
            policy.of(member) is policy.of(member.value) is policy.of(f" {member.value.upper()} ") is member
        )
    assert {action.name.lower(): made.value for action, made in divergence.ACTIONS.items()} == {
        member.value: member.value for member in policy
    }
    with pytest.raises(UnknownCapabilityError, match="freeze"):
        policy.of("freez")
    with pytest.raises(UnknownCapabilityError):
        policy.of(3)


def crossed():
    """Two links whose joints are added in the other order than the links: joint 0 moves body 1."""
    builder = ModelBuilder()
    first = builder.add_link(label="first", mass=1.0, inertia=np.eye(3))
    second = builder.add_link(label="second", mass=1.0, inertia=np.eye(3))
    joints = [
        builder.add_joint_free(second, label="free"),
        builder.add_joint_revolute(-1, first, axis=(0, 1, 0), label="hinge"),
    ]
    for joint in joints:
        builder.add_articulation([joint])
    return builder.finalize()


def test_a_number_has_the_name_of_the_child_of_its_joint():
    model = crossed()
    assert model.joint_child.tolist() == [1, 0]
    for quantity, name in enumerate(divergence.NAMES[:4]):
        count = 7 if name == "position" else 6
        assert [failed_body(model, quantity, i) for i in (0, count - 1, count)] == [
            "second",
            "second",
            "first",
        ]
    simulation = Simulation(model)
    simulation.v[6] = 1e12
    with pytest.raises(StepFailure, match="'first'"):
        simulation.step(1)
