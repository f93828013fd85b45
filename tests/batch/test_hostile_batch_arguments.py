# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the wrong kind: batches refuse them with an error of the library, and change nothing."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from worldline import ArgumentError, WorldlineError, msd
from worldline import simulation as sx

TEXT = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  <body name="ball" pos="1 0 .5"><freejoint/><geom size=".1"/></body></worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator></mujoco>"""
MASKED = np.ma.array([1.0, 2.0], mask=[0, 1])
HOSTILE = (
    *(float("nan"), float("inf"), 10**400, 10**30, 1 + 2j, -5, 1.5, True, np.array(3), np.zeros((0, 3))),
    *(
        MASKED,
        np.ma.array([0, 1], mask=[0, 1]),
        "abc",
        b"x",
        None,
        object(),
        [[1, 2], [3]],
        [None],
        {},
        [0, 0, 0],
    ),
)


def scene():
    return msd.from_str(TEXT, format="mjcf")


def state(batch):
    names = ("joint_positions", "joint_velocities", "controls", "joint_forces", "body_wrenches", "time")
    return np.concatenate([np.ravel(getattr(batch, name)) for name in names])


def refused(call, batch=None):
    """Every hostile value is taken, or refused by an error of the library that leaves the batch as it was."""
    for value in HOSTILE:
        before = None if batch is None else state(batch).copy()
        try:
            call(value)
        except WorldlineError:
            assert before is None or np.array_equal(before, state(batch)), value


@pytest.fixture(params=["lanes", "threads"])
def batch(request):
    made = sx.WorldBatch(scene(), 3, layout=request.param)
    made.step(3)
    return made


@pytest.mark.parametrize("name", sorted(set(inspect.signature(sx.WorldBatch.reset).parameters) - {"self"}))
def test_resets(batch, name):
    refused(lambda value: batch.reset(**{name: value}), batch)


@pytest.mark.parametrize(
    "name", sorted(set(inspect.signature(sx.WorldBatch.step).parameters) - {"self", "n"})
)
def test_steps(batch, name):
    refused(lambda value: batch.step(1, **{name: value}))


@pytest.mark.parametrize(
    "name",
    ["articulation_array", "extract", "fingerprint", "load", "randomize", "remove_step_function", "select"],
)
def test_methods(batch, name):
    refused(lambda value: getattr(batch, name)(value), batch)


def test_parts(batch):
    joint, body = batch.multibodies["arm"].joints["hinge"], batch.rigid_bodies["ball"]
    for part, names in (
        (joint, ("position", "velocity", "force")),
        (body, ("translation", "quaternion", "linear_velocity", "angular_velocity", "force", "torque")),
    ):
        for name in names:
            refused(lambda value, part=part, name=name: setattr(part, name, value), batch)


def test_parameters(batch):
    refused(lambda value: batch.parameters[value], batch)
    refused(lambda value: batch.parameters.matching(value), batch)
    refused(lambda value: batch.parameters.__setitem__("rigid_bodies.ball.mass", value), batch)


def test_functions(batch):
    refused(lambda value: batch.add_controller("one", lambda context: None, period=value))
    refused(lambda value: batch.add_controller(value, lambda context: None))
    refused(lambda value: batch.add_stage("two", value))


def test_contacts(batch):
    found = batch.contacts
    refused(found.counts)
    refused(found.of_world)
    refused(lambda value: found.net_forces(value, 3))
    refused(lambda value: found.net_forces(3, value))
    refused(lambda value: found.pair_forces(value, 0, 1))
    refused(lambda value: found.pair_forces(3, value, -1))
    refused(lambda value: found.pair_forces(3, -1, value))


def test_sizes_of_lists_of_contacts_have_room_for_their_indices(batch):
    """No contacts need no room; contacts of worlds 0 to 3 with bodies 0 to 4 need 4 and 5."""
    found = batch.contacts
    none = sx.BatchContacts(*(column[:0] for column in found))
    assert none.counts(0).shape == (0,) and none.net_forces(0, 0).shape == (0, 0, 3)
    some = found._replace(
        world=np.array([3, 0]),
        body_a=np.array([-1, 4]),
        body_b=np.array([2, 0]),
        force=np.array([[1.0, 2, 3], [4, 5, 6]]),
    )
    assert some.counts(4).tolist() == [1, 0, 0, 1] and some.counts(6).tolist() == [1, 0, 0, 1, 0, 0]
    forces = np.zeros((4, 5, 3))
    forces[3, 2], forces[0, 4], forces[0, 0] = [1, 2, 3], [-4, -5, -6], [4, 5, 6]
    assert some.net_forces(4, 5).tolist() == forces.tolist()
    for sizes, what in (((3, 5), "num_worlds must be at least 4"), ((4, 4), "num_bodies must be at least 5")):
        with pytest.raises(ArgumentError, match=f"{what}, got"):
            some.net_forces(*sizes)
    with pytest.raises(ArgumentError, match="num_worlds must be at least 4, got 3"):
        some.counts(3)
    with pytest.raises(ArgumentError, match=f"num_worlds must be at least 0, got {2**31}"):
        none.counts(2**31)


@pytest.mark.parametrize("name", sorted(set(inspect.signature(sx.state.rollout).parameters)))
def test_rollouts(name):
    refused(lambda value: sx.state.rollout(**{"model": scene(), "steps": 2, name: value}))


@pytest.mark.parametrize("name", sorted(set(inspect.signature(sx.WorldBatch).parameters)))
def test_batches(name):
    refused(lambda value: sx.WorldBatch(**{"source": scene(), "num_worlds": 2, name: value}))


KINDS = {
    sx.Uniform: {"low": 0.0, "high": 1.0},
    sx.LogUniform: {"low": 0.1, "high": 1.0},
    sx.Normal: {"mean": 0.0, "standard_deviation": 1.0},
    sx.Choice: {"values": (1.0, 2.0)},
    sx.Randomized: {"name": "gravity", "distribution": sx.Uniform(0.5, 1.0)},
    sx.Randomization: {"lines": ()},
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_randomizations(kind):
    for name in kind.__struct_fields__:

        def made(value, name=name):
            one = kind(**{**KINDS[kind], name: value})
            if hasattr(one, "at"):
                assert np.isfinite(one.at(np.linspace(0, 0.9, 3))).all()

        refused(made)
    if hasattr(kind, "at"):
        refused(kind(**KINDS[kind]).at)
        with pytest.raises(WorldlineError, match="between 0 and 1"):
            kind(**KINDS[kind]).at(np.array([0.5, 1.5]))
    refused(sx.Randomization.from_json)


@pytest.mark.parametrize("values", [(1.0, 2.0, 3.0)])
def test_a_choice_takes_the_value_whose_weights_reach_beyond_the_share(values):
    # weights 1, 2, 1 end at shares 1/4, 3/4 and 1; a share on an end belongs to the next value
    choice = sx.Choice(values, (1.0, 2.0, 1.0))
    shares = np.array([0.0, 0.2, 0.25, 0.5, 0.75, 0.99])
    assert choice.at(shares).tolist() == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]


def test_a_normal_share_of_zero_is_finite():
    drawn = sx.Normal(0.0, 1.0).at(np.array([0.0, 0.5, 1.0]))
    # the least share that random numbers have is 2^-53; the quantile of 2^-54 is -8.29
    assert drawn[0] == pytest.approx(-8.2923611, abs=1e-6) and drawn[1] == 0.0 and 8.2 < drawn[2] < 8.3


def test_net_forces_of_contacts_carry_weights(batch):
    # the ball alone touches the ground, which carries m g
    batch.step(600)
    found, ball = batch.contacts, batch.body_names.index("ball")
    mass = batch.parameters["rigid_bodies.ball.mass"][0]
    forces = found.net_forces(3, len(batch.body_names))
    assert forces[:, ball, 2] == pytest.approx(mass * 9.81, rel=1e-6)
    assert forces[:, batch.body_names.index("arm")] == pytest.approx(0.0)
    assert found.pair_forces(3, ball, -1).tolist() == forces[:, ball].tolist()


def test_net_forces_on_two_bodies_that_touch_are_opposite():
    one, zero = np.array([0]), np.array([1])
    row = np.array([[1.0, 2.0, 3.0]])
    made = sx.BatchContacts(one, one, zero, one, zero, row, row, np.array([0.1]), row)
    assert made.net_forces(1, 2).tolist() == [[[-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]]]


def test_forces_of_a_pair_of_bodies_are_those_of_its_contacts():
    # body_b is 1, 0, 1: forces on body 1 by body 0, on 0 by 1, and on 1 by the world itself
    force = np.array([[1.0, 2, 3], [10, 20, 30], [100, 200, 300], [1000, 2000, 3000]])
    three = np.ones((4, 3))
    bodies = np.array([0, 1, -1, 0]), np.array([1, 0, 1, 1])
    made = sx.BatchContacts(np.array([2, 2, 2, 0]), *bodies, *bodies, three, three, np.ones(4), force)
    assert made.pair_forces(3, 1, 0).tolist() == [[1000, 2000, 3000], [0, 0, 0], [-9, -18, -27]]
    assert made.pair_forces(3, 0, 1).tolist() == (-made.pair_forces(3, 1, 0)).tolist()
    assert made.pair_forces(4, 1, -1)[2].tolist() == [100, 200, 300] and not made.pair_forces(4, 1, 5).any()
    for pair in ((1, 1), (-2, 1), (0, -2)):
        with pytest.raises(ArgumentError, match=f"got {pair[0]} and {pair[1]}"):
            made.pair_forces(3, *pair)


def test_numbers_of_worlds_and_bodies_have_room_for_all_indices():
    row, none = np.zeros((2, 3)), np.zeros(0, np.int64)
    bodies, ground = np.array([2, 4]), np.array([-1, -1])
    made = sx.BatchContacts(np.array([0, 3]), bodies, ground, bodies, ground, row, row, np.zeros(2), row)
    assert made.counts(4).tolist() == [1, 0, 0, 1] and made.net_forces(4, 5).shape == (4, 5, 3)
    for call in (lambda: made.counts(3), lambda: made.net_forces(3, 5)):
        with pytest.raises(ValueError, match="num_worlds must be at least 4, got 3"):
            call()
    with pytest.raises(ValueError, match="num_bodies must be at least 5, got 4"):
        made.net_forces(4, 4)
    with pytest.raises(ValueError, match="got 2147483648"):
        made.counts(2**31)
    flat = np.zeros((0, 3))
    empty = sx.BatchContacts(none, none, none, none, none, flat, flat, np.zeros(0), flat)
    assert empty.counts(0).tolist() == [] and empty.net_forces(2, 0).shape == (2, 0, 3)
