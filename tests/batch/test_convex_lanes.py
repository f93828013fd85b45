# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of convex shapes in lanes: found world by world, with the bits of each world alone."""

from __future__ import annotations

import numpy as np
import pytest
from batch_scenes import BOXES, robot

from worldline import msd
from worldline import simulation as sx

SOLIDS = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
  <body name="box" pos="0 0 .2"><freejoint/><geom name="brick" type="box" size=".1 .12 .08" mass="1"/></body>
  <body name="cylinder" pos=".03 .02 .5"><freejoint/><geom type="cylinder" size=".08 .1" mass=".7"/></body>
  <body name="ellipsoid" pos="-.03 .02 .8"><freejoint/><geom type="ellipsoid" size=".08 .1 .06" mass=".7"/></body>
  <body name="capsule" pos="0 -.02 1.1"><freejoint/><geom type="capsule" size=".05 .1" mass=".7"/></body>
  </worldbody></mujoco>"""


def solids(count: int, **options) -> sx.WorldBatch:
    batch = sx.WorldBatch(msd.from_str(SOLIDS, format="mjcf"), count, **options)
    rng = np.random.default_rng(3)
    batch.joint_velocities[:] = 0.3 * rng.normal(size=(16, batch.joint_velocities.shape[1]))[:count]
    return batch


def test_a_world_has_the_same_bits_in_any_batch():
    """Nine worlds are a full group of lanes and one more; alone a world has one lane."""
    batch = solids(9)
    assert batch.layout == "lanes"
    batch.step(300)
    threaded = solids(9)
    threaded.step(300, threads=2)
    assert np.array_equal(threaded.joint_positions, batch.joint_positions)
    pairs = {frozenset(p) for p in zip(batch.contacts.body_a, batch.contacts.body_b, strict=True)}
    assert {frozenset((0, 1)), frozenset((-1, 0))} <= pairs
    for k in (0, 8):
        single = solids(9).extract(k)
        one = sx.WorldBatch(single, 1)
        one.step(300)
        assert one.layout == "lanes"
        assert np.array_equal(one.joint_positions[0], batch.joint_positions[k])
        assert np.array_equal(one.joint_velocities[0], batch.joint_velocities[k])


def test_lanes_go_where_a_world_goes():
    """Both solve the same rows to the end; chaos makes the digits apart grow with the impacts."""
    lanes, threads = solids(3), solids(3, layout="threads")
    apart = []
    for _ in range(3):
        lanes.step(40)
        threads.step(40)
        apart.append(np.abs(lanes.joint_positions - threads.joint_positions).max())
    assert lanes.contacts.count > 0 and apart[-1] < 1e-7, apart


def test_forces_between_boxes_carry_the_weight():
    """At rest a lid of mass m presses on the crate below with m g, and both on the floor with theirs."""
    batch = sx.WorldBatch(robot("", BOXES, tie=""), 3)
    assert batch.layout == "lanes"
    batch.joint_velocities[:, :3] = [(-0.5, 0.1 * k, 0.0) for k in range(3)]
    batch.step(1500)
    crate, lid = (batch.body_names.index(name) for name in ("crate", "lid"))
    masses = batch.model.body_mass
    for k in range(3):
        found = batch.contacts.of_world(k)
        between = (found.body_a == crate) & (found.body_b == lid)
        below = (found.body_a == -1) & (found.body_b == crate)
        assert found.force[between, 2].sum() == pytest.approx(9.81 * masses[lid], rel=1e-6)
        assert found.force[below, 2].sum() == pytest.approx(9.81 * (masses[lid] + masses[crate]), rel=1e-6)


def test_sizes_of_such_shapes_are_shared_and_masses_are_not():
    batch = solids(3)
    (mass,) = batch.parameters.matching("*.box.mass")
    batch.parameters[mass] = [1.0, 2.0, 3.0]
    assert batch.layout == "lanes"
    batch.step(50)
    batch.worlds[1].parameters["shapes.brick.size"] = [0.1, 0.12, 0.1]
    assert batch.layout == "threads" and "sizes of shapes" in batch.resolved_configuration[0].reason
