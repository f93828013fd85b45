# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Lanes of models with many pairs: near pairs alone have contacts, and room grows with what steps need."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import worldline._src.step.fixed_constraints as fixed
from worldline import msd
from worldline import simulation as sx
from worldline._src.facade.batch.lane_worlds import LaneWorlds
from worldline.model import LaneSimulation

LINKS = 14


def snake() -> str:
    """A chain of capsules and boxes that falls on the floor and onto itself; 91 + 14 pairs less neighbours."""
    body, shapes = "", ('type="capsule" size=".04 .06"', 'type="box" size=".04 .03 .08"', 'size=".05"')
    for k in reversed(range(LINKS)):
        joint = (
            "<freejoint/>" if k == 0 else f'<joint name="j{k}" axis="{k % 2} {(k + 1) % 2} 0" damping=".01"/>'
        )
        place = "0 0 .25" if k == 0 else "0 0 .2"
        geom = f'<geom name="g{k}" {shapes[k % 3]} density="800"/>'
        body = f'<body name="b{k}" pos="{place}" euler="{12 * (k > 0)} {50 * (k > 0)} 0">{joint}{geom}{body}</body>'
    return (
        '<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>'
        f"{body}</worldbody></mujoco>"
    )


def snakes(count: int, **options) -> sx.WorldBatch:
    batch = sx.WorldBatch(msd.from_str(snake(), format="mjcf"), count, layout="lanes", **options)
    batch.joint_velocities[:] = 2.0 * np.random.default_rng(5).normal(size=(16, LINKS + 5))[:count]
    return batch


def lanes(batch: sx.WorldBatch) -> LaneSimulation:
    assert isinstance(batch._worlds, LaneWorlds)
    return batch._worlds.sim


def constraints(batch: sx.WorldBatch) -> fixed.FixedConstraints:
    return lanes(batch).constraints


def room(batch: sx.WorldBatch) -> fixed.FixedRoom:
    found = constraints(batch).room
    assert found is not None
    return found


@pytest.fixture
def every_pair(monkeypatch):
    """Batches made in here have contacts of every pair that may touch."""
    monkeypatch.setattr(fixed, "MANY_ROWS", 10**6)


@pytest.fixture
def scarce(monkeypatch):
    """Batches made in here have hardly any room at first."""
    monkeypatch.setattr(fixed, "MANY_ROWS", 8)
    monkeypatch.setattr(fixed, "_PAIR_ROOM", -2 * (LINKS + 1) + 3)


def test_near_pairs_have_the_contacts_of_all_pairs(monkeypatch):
    """The same bits as with rows for every pair, and the same contacts with the same forces."""
    near = snakes(9)
    monkeypatch.setattr(fixed, "MANY_ROWS", 10**6)
    every = snakes(9)
    assert constraints(near).looks and not constraints(every).looks
    for _ in range(4):
        near.step(60)
        every.step(60)
        assert np.array_equal(near.joint_positions, every.joint_positions)
        assert np.array_equal(near.joint_velocities, every.joint_velocities)
        for one, other in zip(near.contacts, every.contacts, strict=True):
            assert np.array_equal(one, other)
    assert every.contacts.count > 9


@pytest.mark.usefixtures("scarce")
def test_room_grows_without_changing_a_bit(monkeypatch):
    """Steps that are short of room are made again with more of it, on one thread and on two."""
    small, threaded = snakes(9), snakes(9)
    start = room(small)
    small.step(200)
    threaded.step(200, threads=2)
    assert start.pairs == 3
    assert room(small).pairs > 12 and room(small).rows > 32
    monkeypatch.setattr(fixed, "MANY_ROWS", 10**6)
    large = snakes(9)
    large.step(200)
    for batch in (small, threaded):
        assert np.array_equal(batch.joint_positions, large.joint_positions)
        assert np.array_equal(batch.frame, large.frame) and not batch.failures


@pytest.mark.usefixtures("scarce")
def test_readings_and_contacts_grow_room_too():
    """Contacts are those of a batch that has stepped with room for them."""
    batch, known = snakes(9), snakes(9)
    known.step(200)
    batch.joint_positions, batch.joint_velocities = known.joint_positions, known.joint_velocities
    assert room(batch).pairs == 3
    depth = np.sort(batch.contacts.depth)
    assert room(batch).pairs > 12
    assert np.array_equal(depth, np.sort(known.contacts.depth))


@pytest.mark.usefixtures("scarce")
def test_own_parameters_and_copies_survive_growth():
    """Friction and masses of worlds stay theirs when arenas are laid out anew; so do copies."""
    batch = snakes(9)
    batch.parameters["shapes.floor.friction"] = np.linspace(0.2, 1.0, 9)
    batch.parameters["multibodies.b0.links.b3.mass"] = np.linspace(0.5, 2.0, 9)
    alone = sx.WorldBatch(batch.extract(7), 1, layout="lanes")
    batch.step(150)
    alone.step(150)
    assert room(batch).pairs > 12
    assert np.array_equal(alone.joint_positions[0], batch.joint_positions[7])
    twin = copy.deepcopy(lanes(batch))
    batch.step(20)
    twin.step(20)
    assert np.array_equal(twin.q, lanes(batch).q)
    batch.parameters["multibodies.b0.links.b3.mass"] = 1.0
    batch.step(5)
    assert not batch.failures


@pytest.mark.usefixtures("every_pair")
def test_too_many_rows_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(fixed, "MOST_ROWS", 100)
    batch = sx.WorldBatch(msd.from_str(snake(), format="mjcf"), 2)
    assert batch.layout == "threads" and "room for 100 rows" in str(batch.resolved_configuration)
