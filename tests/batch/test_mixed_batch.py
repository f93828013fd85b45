# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds that are not alike in one batch: other numbers of a robot, other props, one row an instance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from worldline import ArgumentError, BatchFailure, NotFoundError, SceneError, ShapeError, msd
from worldline import simulation as sx
from worldline.model import ArticulationView


def scene(robots: int, props: int = 0, damping: float = 0.1):
    """Floating carts with an arm each over a floor, and balls beside them."""
    bodies = "".join(
        f"""<body name="{k}/cart" pos="{k} 0 0.4"><freejoint name="{k}/root"/><geom size="0.1" mass="1"/>
        <body name="{k}/arm"><joint name="{k}/hinge" axis="0 1 0" damping="{damping}"/>
        <geom type="capsule" size="0.03 0.1" pos="0 0 0.25" mass="0.2"/></body></body>"""
        for k in range(robots)
    )
    balls = "".join(
        f'<body name="ball{k}" pos="{k} 1 0.3"><freejoint/><geom name="ball{k}" size="0.07"/></body>'
        for k in range(props)
    )
    return msd.from_str(
        f"""<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="9 9 .1"/>
        {bodies}{balls}</worldbody><keyframe><key name="up" time="3"/></keyframe></mujoco>""",
        format="mjcf",
    )


def mixed(**options) -> sx.MixedBatch:
    one, three = scene(1, 2), scene(3)
    batch = sx.MixedBatch([one, three, (scene(1, 2), 2), one, (scene(2), 1)], **options)
    view = batch.articulations("*/cart")
    rng = np.random.default_rng(2)
    view.set_dof_velocities(rng.normal(size=(view.count, view.joint_dof_count)))
    return batch


def test_worlds_of_equal_models_are_grouped():
    """Two scenes that say the same are one model, whatever objects they are."""
    batch = mixed()
    assert batch.world_group.tolist() == [0, 1, 0, 0, 0, 2]
    assert batch.world_row.tolist() == [0, 0, 1, 2, 3, 0]
    assert [group.num_worlds for group in batch.groups] == [4, 1, 1]
    assert {group.layout for group in batch.groups} == {"lanes"}
    view = batch.articulations("*/cart")
    assert view.world.tolist() == [0, 1, 1, 1, 2, 3, 4, 5, 5]
    assert view.labels[1:4] == ["0/cart", "1/cart", "2/cart"]
    assert view.joint_labels == ["root", "hinge"] and view.link_labels == ["cart", "arm"]
    assert batch.articulations("ball*").world.tolist() == [0, 0, 2, 2, 3, 3, 4, 4]


def test_a_world_has_the_bits_it_has_alone():
    batch = mixed()
    alone = [sx.WorldBatch(batch.extract(w), 1) for w in range(batch.num_worlds)]
    batch.step(150)
    threaded = mixed()
    threaded.step(150, threads=2)
    for w, one in enumerate(alone):
        one.step(150)
        for made in (batch, threaded):
            assert np.array_equal(made.world(w).joint_positions, one.joint_positions[0])
            assert np.array_equal(made.world(w).joint_velocities, one.joint_velocities[0])
    assert batch.contacts.count > 0
    for w, one in enumerate(alone):
        np.testing.assert_array_equal(batch.contacts.of_world(w).depth, one.contacts.depth)
        assert batch.kinetic_energy[w] == one.kinetic_energy[0]
    np.testing.assert_allclose(batch.time, 0.3)


def test_rows_of_instances_are_those_of_views():
    """Row k is what an ArticulationView of its world has, for reading and for writing."""
    batch = mixed()
    batch.step(20)
    view, k = batch.articulations("*/cart"), 0
    for w in range(batch.num_worlds):
        group, row = batch.groups[batch.world_group[w]], batch.world_row[w]
        own = ArticulationView(group.model, "*/cart")
        for a in range(len(own.articulations)):
            for name in ("dof_positions", "dof_velocities", "root_transforms", "root_velocities"):
                flat, one = (getattr(v, f"get_{name}") for v in (view, own))
                assert np.array_equal(flat()[k], one(group)[row, a])
            assert np.array_equal(view.get_link_transforms()[k], own.get_link_transforms(group)[row, a])
            assert np.array_equal(view.get_link_velocities()[k], own.get_link_velocities(group)[row, a])
            assert np.array_equal(
                view.get_attribute("body_mass")[k], own.get_attribute("body_mass", group.model)[0, a]
            )
            k += 1
    forces = np.arange(9.0 * view.joint_dof_count).reshape(9, -1)
    chosen = np.arange(9) % 2 == 0
    view.set_dof_forces(forces, mask=chosen)
    assert np.array_equal(view.get_dof_forces(), np.where(chosen[:, None], forces, 0.0))
    roots = view.get_root_transforms()
    roots[:, 2] = 1.0 + np.arange(9)
    view.set_root_transforms(roots)
    assert np.array_equal(view.get_root_transforms()[:, 2], 1.0 + np.arange(9))
    assert batch.world(5).multibodies["1/cart"].links["1/cart"].translation[2] == 9.0


def test_worlds_start_and_reset_with_a_state_of_their_own():
    worlds = []
    for k in range(3):
        world = sx.World.from_scene(scene(1))
        world.multibodies["0/cart"].joints["0/hinge"].position = [0.1 * k]
        world.multibodies["0/cart"].joints["0/hinge"].velocity = [1.0]
        world.step(k)
        worlds.append(world)
    batch = sx.MixedBatch(worlds)
    assert len(batch.groups) == 1 and batch.frame.shape == (3,)
    hinge = batch.articulations("0/cart", include_joints="hinge")
    start = hinge.get_dof_positions()
    np.testing.assert_allclose(start[:, 0], [0.0, 0.1, 0.2], atol=0.01)
    np.testing.assert_allclose(batch.time, [0.0, 0.002, 0.004])
    batch.step(30)
    batch.reset([0, 2])
    assert np.array_equal(hinge.get_dof_positions()[[0, 2]], start[[0, 2]])
    assert not np.array_equal(hinge.get_dof_positions()[1], start[1])
    batch.reset(keyframe="up")
    np.testing.assert_allclose(batch.time, 3.0)


def test_worlds_draw_by_their_own_number():
    """World i draws what world i of a batch of equal worlds draws; names that only some have are theirs."""
    name = "multibodies.0/cart.links.0/arm.mass"
    lines = (
        sx.Randomized(name, sx.Uniform(0.5, 2.0)),
        sx.Randomized("shapes.ball*.friction", sx.Uniform(0.2, 0.9), mode="set"),
    )
    batch, equal = mixed(), sx.WorldBatch(scene(1, 2), 6)
    batch.randomize(sx.Randomization(lines, seed=4))
    equal.randomize(sx.Randomization(lines, seed=4))
    for w in range(6):
        assert batch.world(w).parameters[name] == equal.parameters[name][w]
    for w in (0, 2, 3, 4):
        assert (
            batch.world(w).parameters["shapes.ball1.friction"] == equal.parameters["shapes.ball1.friction"][w]
        )
    sample = sx.Randomization((sx.Randomized("joint_velocities", sx.Uniform(0, 1), mode="set"),), seed=1)
    batch.reset(sample=sample)
    equal.reset(sample=sample)
    assert batch.world(4).joint_velocities[0] == equal.joint_velocities[4, 0]
    with pytest.raises(NotFoundError, match="nothing"):
        batch.randomize(sx.Randomization((sx.Randomized("nothing", sx.Uniform(0, 1)),)))


def test_a_world_that_fails_is_named_by_its_number():
    batch = mixed(divergence_policy="freeze")
    batch.world(5).joint_velocities = 1e300
    frames = batch.frame
    batch.step(5)
    assert [failure.world for failure in batch.failures] == [5] and batch.frozen.tolist() == [False] * 5 + [
        True
    ]
    assert (batch.frame[:5] == frames[:5] + 5).all()
    batch.reset(5)
    assert not batch.failures
    strict = sx.MixedBatch([scene(1), scene(2)], divergence_policy="raise")
    strict.world(1).joint_velocities = 1e300
    with pytest.raises(BatchFailure) as caught:
        strict.step(4)
    assert [failure.world for failure in caught.value.failures] == [1] and strict.frame[0] == 4


def test_a_checkpoint_is_of_all_worlds(tmp_path):
    batch, twin = mixed(), mixed()
    batch.step(40)
    batch.save(tmp_path / "mixed.bin")
    twin.load(tmp_path / "mixed.bin")
    assert twin.fingerprint() == batch.fingerprint() and twin.fingerprint(3) != batch.fingerprint(0)
    for made in (batch, twin):
        made.step(40)
    assert twin.fingerprint() == batch.fingerprint()
    other, before = sx.MixedBatch([scene(1), scene(2)]), None
    before = other.fingerprint()
    with pytest.raises(SceneError, match="other worlds"):
        other.load(tmp_path / "mixed.bin")
    damaged = bytearray((tmp_path / "mixed.bin").read_bytes())
    damaged[-20] ^= 255
    (tmp_path / "bad.bin").write_bytes(damaged)
    with pytest.raises(SceneError):
        twin.load(tmp_path / "bad.bin")
    assert other.fingerprint() == before and twin.fingerprint() == batch.fingerprint()


def test_wrong_calls_say_what_is_wrong_and_change_nothing():
    batch = mixed()
    view, before = batch.articulations("*/cart"), batch.fingerprint()
    name: Any = "scene"
    for call, error, text in (
        (lambda: sx.MixedBatch([]), ArgumentError, "at least one world"),
        (lambda: sx.MixedBatch([(scene(1), 0)]), ArgumentError, "at least 1, got 0"),
        (lambda: sx.MixedBatch([name]), ShapeError, "World, a scene or a Model"),
        (lambda: batch.articulations("*/cat"), NotFoundError, "no articulation matches"),
        (lambda: batch.articulations("*"), ArgumentError, "not alike"),
        (lambda: view.set_dof_positions(np.zeros((8, 8))), ShapeError, r"shape \(9, 8\)"),
        (lambda: view.set_dof_forces(np.nan), ArgumentError, "finite"),
        (lambda: view.set_dof_forces(0.0, mask=[True]), ArgumentError, "bools of shape"),
        (lambda: batch.world(6), IndexError, "there are 6"),
        (lambda: batch.step(-1), ArgumentError, "non-negative"),
        (lambda: batch.reset(keyframe="down"), NotFoundError, "no keyframe 'down'"),
        (lambda: batch.reset([7]), ArgumentError, "from 0 to 5"),
    ):
        with pytest.raises(error, match=text):
            call()
    assert batch.fingerprint() == before
