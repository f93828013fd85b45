# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps that take their contacts from a registered collision detector."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from worldline import simulation as sx
from worldline._src.errors import CapabilityError, OperationError, ShapeError, UnknownCapabilityError
from worldline.collision import CollisionDetector, CollisionShape


class Through(CollisionDetector):
    """Native contacts, in reverse, with shapes of every pair exchanged."""

    name = "through"

    def __init__(self):
        self.native, self.calls, self.fails, self.spoils = CollisionDetector.create("native"), 0, False, False

    def collide(self, group, other=None, option=None):
        self.calls += 1
        if self.fails:
            raise KeyError("mine")
        found = self.native.collide(group, other, option)
        normals = -found.normals[::-1] * (0.5 if self.spoils else 1.0)
        return replace(
            found,
            points=found.points[::-1],
            normals=normals,
            depths=found.depths[::-1],
            objects=found.objects[::-1, ::-1],
            shapes=found.shapes[::-1, ::-1],
            features=found.features[::-1],
        )

    def distances(self, group, pairs):
        return self.native.distances(group, pairs)

    def distance(self, group, other=None, option=None):
        return self.native.distance(group, other, option)


def stack(detector, shape, count=4, spread=0.0):
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    bodies = []
    for k in range(count):
        body = world.add_rigid_body(f"body_{k}", mass=1.0, position=(spread * k, 0, 0.1 + 0.2 * k))
        body.add_collision_shape(shape)
        bodies.append(body)
    world.collision_detector = detector
    return world, bodies


def heights(bodies):
    return np.array([body.translation[2] for body in bodies])


def test_native_contacts_by_the_door_give_the_same_motion():
    for shape in (CollisionShape.sphere(0.1), CollisionShape.box((0.1, 0.1, 0.1))):
        native, first = stack("native", shape, spread=0.01)
        mine, second = stack(Through(), shape, spread=0.01)
        native.step(n=100)
        mine.step(n=100)
        for a, b in zip(first, second, strict=True):
            np.testing.assert_allclose(a.transform, b.transform, rtol=0, atol=1e-9)
        assert len(native.contacts) == len(mine.contacts) > 0
        assert mine.collision_detector == "through" and native.collision_detector == "native"


def test_coal_holds_stacks_as_native_contacts_do():
    pytest.importorskip("coal")
    native, first = stack("native", CollisionShape.sphere(0.1))
    coal, second = stack("coal", CollisionShape.sphere(0.1))
    native.step(n=300)
    coal.step(n=300)
    assert heights(second) == pytest.approx(heights(first), abs=1e-9)
    # one point for a pair of boxes: the stack still stands after 0.2 s, and rocks
    coal, boxes = stack("coal", CollisionShape.box((0.1, 0.1, 0.1)))
    coal.step(n=100)
    assert len(coal.contacts) == 4
    assert heights(boxes) == pytest.approx([0.1, 0.3, 0.5, 0.7], abs=5e-3)


def test_the_rules_of_the_scene_leave_the_same_pairs_out():
    found = []
    for detector in ("native", Through()):
        world = sx.World(time_step=0.002, gravity=(0, 0, 0))
        arm, above = world.add_multibody("arm"), None
        for k in range(3):
            spec = sx.JointSpec(f"hinge_{k}", axis=(0, 1, 0))
            above = arm.add_link(f"link_{k}", above, spec, mass=1.0, inertia=(0.1, 0.1, 0.1))
            above.add_collision_shape(CollisionShape.sphere(0.1 + 0.01 * k))
        ball = world.add_rigid_body("ball", mass=1.0, position=(0.2, 0, 0))
        ball.add_collision_shape(CollisionShape.sphere(0.1))
        world.collision_detector = detector
        world.step()
        found.append(sorted((c.body_a.name, c.body_b.name) for c in world.contacts))
    # a link does not touch the one that its joint stands on
    assert found[0] == found[1] and ("link_0", "link_1") not in found[0]
    assert ("link_0", "link_2") in found[0] and len(found[0]) == 4


def test_arrays_grow_for_what_a_detector_finds():
    worlds = [sx.World(time_step=0.002) for _ in range(2)]
    for world in worlds:
        world.add_ground_plane()
        for k in range(60):
            body = world.add_rigid_body(f"b{k}", mass=1.0, position=(0.5 * (k % 8), 0.5 * (k // 8), 0.0999))
            body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    worlds[1].collision_detector = Through()
    for world in worlds:
        world.step(n=5)
    assert len(worlds[1].contacts) == len(worlds[0].contacts) == 240
    for a, b in zip(worlds[0].rigid_bodies, worlds[1].rigid_bodies, strict=True):
        np.testing.assert_allclose(a.transform, b.transform, rtol=0, atol=1e-9)


def test_an_error_leaves_the_world_as_before_the_step():
    detector = Through()
    world, bodies = stack(detector, CollisionShape.sphere(0.1))
    world.step(n=4)
    before = heights(bodies)
    detector.fails = True
    with pytest.raises(KeyError, match="mine"):
        world.step(n=4)
    assert world.frame == 4 and heights(bodies).tobytes() == before.tobytes()
    detector.fails, detector.spoils = False, True
    with pytest.raises(OperationError, match=r"'through'.*no unit normal"):
        world.step()
    detector.spoils = False
    world.step()
    assert world.frame == 5


def test_clones_batches_files_and_refusals(tmp_path):
    world, _ = stack(Through(), CollisionShape.sphere(0.1))
    assert world.clone().collision_detector == "through"
    batch = sx.WorldBatch(world, 2)
    assert batch.layout == "threads"
    batch.step(3)
    assert batch.frame.tolist() == [3, 3]
    with pytest.raises(CapabilityError, match="contacts of a collision detector"):
        sx.WorldBatch(world, 2, layout="lanes")
    for save in (lambda: pickle.dumps(world), lambda: world.save_binary(tmp_path / "w")):
        with pytest.raises(OperationError, match="collision detector 'through'"):
            save()
    with pytest.raises(UnknownCapabilityError, match=r"no collision detector 'cool'.*coal"):
        world.collision_detector = "cool"
    with pytest.raises(ShapeError, match="must be a name or a CollisionDetector, got 3"):
        world.collision_detector = 3
    assert world.collision_detector == "through"
    world.collision_detector = "native"
    pickle.dumps(world)
