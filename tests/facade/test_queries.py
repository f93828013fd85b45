# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collision queries: closed forms, fresh after every write, and without a trace."""

from __future__ import annotations

import numpy as np
import pytest

from facade.scenes import moved
from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError
from worldline.collision import CollisionOption, CollisionShape


@pytest.fixture
def world():
    world = sx.World()
    world.add_ground_plane()
    a = world.add_rigid_body("a", position=(0, 0, 2))
    a.add_collision_shape(CollisionShape.sphere(0.5))
    b = world.add_rigid_body("b", position=(3, 0, 2))
    b.add_collision_shape(CollisionShape.box((0.5, 0.5, 0.5)))
    b.add_collision_shape(CollisionShape.sphere(0.1, local_transform=(-0.6, 0, 0, 0, 0, 0, 1)))
    return world


def test_distances(world):
    a, b = world.rigid_bodies["a"], world.rigid_bodies["b"]
    found = world.distance(a, b)
    # the small ball of b sticks out to x = 2.3
    assert found.distance == pytest.approx(1.8, abs=1e-12)
    np.testing.assert_allclose(found.normal, (1, 0, 0), atol=1e-12)
    np.testing.assert_allclose(found.point_a, (0.5, 0, 2), atol=1e-12)
    np.testing.assert_allclose(found.point_b, (2.3, 0, 2), atol=1e-12)
    assert world.distance(b, a).normal[0] == pytest.approx(-1)
    assert world.distance(a, None).distance == pytest.approx(1.5, abs=1e-12)
    assert world.distance(a, sx.Frame.world()).normal[2] == pytest.approx(-1)
    a.translation = (0, 0, 0.25)
    assert world.distance(a, None).distance == pytest.approx(-0.25, abs=1e-12)


def test_a_single_ray_is_one_of_many(world):
    # tuples of floats and arrays are read by compiled code, everything else takes the way of many rays
    rng = np.random.default_rng(3)
    starts, ends = rng.uniform((-1, -1, 0.1), (4, 1, 4), (200, 3)), rng.uniform(-1, 4, (200, 3))
    strided = np.zeros((200, 5, 2))
    strided[:, 1:4, 1] = starts
    for _ in range(2):
        every = world.raycast(starts, ends)
        assert 0 < np.isfinite(every.fractions).sum() < 200 and len(set(every.bodies)) == 3
        for k in range(200):
            whole = every[k]
            for start in (tuple(starts[k].tolist()), starts[k], strided[k, 1:4, 1], starts[k].tolist()):
                one = world.raycast(start, tuple(ends[k].tolist()))
                assert (
                    len(one) == 1 and one.has_hit == (whole is not None) and one.bodies == [every.bodies[k]]
                )
                first = one[0]
                for name in ("fractions", "points", "normals", "shape_indices"):
                    assert (getattr(one, name)[0] == getattr(every, name)[k]).all(), name
                if whole is None or first is None:
                    assert whole is first
                    continue
                assert first.body is whole.body and first.fraction == whole.fraction
                assert first.shape_index == whole.shape_index
                assert (first.point == whole.point).all() and (first.normal == whole.normal).all()
        # fresh after a step and a write: the ray comes down on the ball of radius 0.5
        world.step(n=3)
        ball = world.rigid_bodies["a"]
        for height in (float(ball.translation[2]), 1.7):
            x, y, _ = ball.translation.tolist()
            hit = world.raycast((x, y, 5.0), (x, y, 0.0))[0]
            assert hit.fraction == pytest.approx((4.5 - height) / 5.0, abs=1e-12)
            ball.translation = (0.3, 0.2, 1.7)


@pytest.mark.parametrize(
    "bad",
    [
        (0.0, np.nan, 0.0),
        np.array([0.0, np.inf, 0.0]),
        (0.0, 0.0),
        (0.0, "1", 0.0),
        np.zeros(4),
        None,
        (0.0, 1j, 0.0),
    ],
)
def test_a_single_ray_refuses_what_is_no_point(world, bad):
    good = (0.0, 0.0, 5.0)
    world.raycast(good, good)
    for ray in ((bad, good), (good, bad)):
        with pytest.raises(ArgumentError):
            world.raycast(*ray)
    # types that compiled code does not read
    for other in (
        np.array([0.0, 0.0, -5.0], np.float32),
        np.array([0, 0, -5]),
        (0, 0, -5),
        (False, 0.0, -5.0),
    ):
        assert world.raycast(good, other)[0].fraction == pytest.approx(0.25, abs=1e-15)


def test_collide_is_fresh_and_leaves_no_trace(world):
    a, b = world.rigid_bodies["a"], world.rigid_bodies["b"]
    assert world.collide() == []
    b.translation = (0.9, 0, 2)
    state = world.state_vector
    contacts = world.collide()
    # box face at x = 0.4, and the small ball from 0.2 to 0.4
    assert {(c.body_a, c.body_b, c.shape_index_b) for c in contacts} == {(a, b, 0), (a, b, 1)}
    box = next(c for c in contacts if c.shape_index_b == 0)
    assert box.depth == pytest.approx(0.1, abs=1e-9) and not box.force.any()
    np.testing.assert_allclose(box.normal, (1, 0, 0), atol=1e-9)
    assert (world.state_vector == state).all() and world.frame == 0 and world.contacts == []
    b.translation = (3, 0, 2)
    assert world.collide() == []
    assert len(world.collide(CollisionOption(margin=2.0))) > 0
    world.step()
    a.translation = (0, 0, 0.4)
    (contact,) = world.collide()
    assert contact.body_a is None and contact.body_b is a and contact.depth == pytest.approx(0.1, abs=1e-12)


def test_rays(world):
    a = world.rigid_bodies["a"]
    found = world.raycast([[0, 0, 5], [0, 0, 5], [10, 0, 1]], [[0, 0, -5], [0, 0, 4], [10, 0, -1]])
    assert len(found) == 3 and found.has_hit
    np.testing.assert_allclose(found.fractions, (0.25, np.inf, 0.5), atol=1e-12)
    assert found.bodies == [a, None, None] and found.shape_indices.tolist() == [0, -1, 0]
    first, second, third = found
    assert first is not None and second is None and third is not None
    np.testing.assert_allclose(first.point, (0, 0, 2.5), atol=1e-12)
    np.testing.assert_allclose(third.normal, (0, 0, 1), atol=1e-12)
    a.translation = (0, 0, 3)
    hit = world.raycast((0, 0, 5), (0, 0, -5))[0]
    assert hit is not None and hit.fraction == pytest.approx(0.15, abs=1e-12)


def test_overlaps(world):
    a, b = world.rigid_bodies["a"], world.rigid_bodies["b"]
    probe = CollisionShape.sphere(0.2)
    assert world.overlap(probe, moved(0, 0, 2.6)) == [a]
    assert world.overlap(probe, moved(0, 0, 2.75)) == []
    assert world.overlap(probe, moved(0, 0, 0.1)) == [None]
    assert world.overlap(CollisionShape.box((5, 5, 0.1)), moved(0, 0, 2)) == [a, b]
    assert world.overlap(probe) == [None]


def test_ignored_pairs(world):
    a, b = world.rigid_bodies["a"], world.rigid_bodies["b"]
    b.translation = (0.9, 0, 2)
    world.set_collision_pair_ignored(b, a)
    world.set_collision_pair_ignored(a, b)
    assert world.num_ignored_collision_pairs == 1 and world.is_collision_pair_ignored(a, b)
    assert world.collide() == []
    # a distance is asked for by name
    assert world.distance(a, b).distance < 0
    world.set_collision_pair_ignored(a, None)
    a.translation, b.translation = (0, 0, 0.4), (9, 0, 2)
    assert world.collide() == []
    world.step(n=200)
    assert a.translation[2] < 0.3
    world.set_collision_pair_ignored(a, None, False)
    assert not world.is_collision_pair_ignored(a, None) and world.num_ignored_collision_pairs == 1
    assert world.collide()
    world.clear_ignored_collision_pairs()
    assert world.num_ignored_collision_pairs == 0 and not world.is_collision_pair_ignored(a, b)


def test_removing_a_body_takes_its_pairs_along(world):
    a, b = world.rigid_bodies["a"], world.rigid_bodies["b"]
    world.set_collision_pair_ignored(a, b)
    b.remove()
    assert world.num_ignored_collision_pairs == 0
    world.step()


def test_parents_and_children_do_not_touch():
    world = sx.World(gravity=(0, 0, 0))
    arm = world.add_multibody("arm")
    base = arm.add_link("base", joint=sx.JointSpec("slide", sx.JointType.PRISMATIC))
    mid = arm.add_link("mid", base, sx.JointSpec("m"))
    tip = arm.add_link("tip", mid, sx.JointSpec("t"))
    for link in (base, mid, tip):
        link.add_collision_shape(CollisionShape.sphere(0.1))
    assert {(c.body_a, c.body_b) for c in world.collide()} == {(base, tip)}
    world.step()
    assert {(c.body_a, c.body_b) for c in world.contacts} == {(base, tip)}


def test_refusals(world):
    a = world.rigid_bodies["a"]
    bare = world.add_rigid_body("bare")
    other = sx.World().add_rigid_body("other")
    with pytest.raises(ArgumentError, match="no collision shapes"):
        world.distance(a, bare)
    with pytest.raises(ArgumentError, match="two different"):
        world.distance(a, a)
    with pytest.raises(ArgumentError, match="different world"):
        world.distance(a, other)
    with pytest.raises(ArgumentError, match="two different"):
        world.set_collision_pair_ignored(a, a)
    with pytest.raises(TypeError):
        world.distance(a, "b")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        world.overlap("ball")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        world.collide(3)  # type: ignore[arg-type]
    assert sx.World().collide() == [] and not sx.World().raycast((0, 0, 0), (1, 0, 0)).has_hit


def test_an_update_policy_says_when_to_look():
    world = sx.World()
    balls = [world.add_rigid_body(position=(x, 0, 0)) for x in (0.0, 1.5)]
    for ball in balls:
        ball.add_collision_shape(CollisionShape.sphere(1.0))
    queries = world.collision
    assert len(queries.query()) == 1
    balls[1].translation = (5, 0, 0)
    assert len(queries.query(update=sx.UpdatePolicy.NEVER)) == 1
    assert queries.query(update=sx.UpdatePolicy.IF_STALE) == []
    assert queries.query(update=sx.UpdatePolicy.NEVER) == queries.query(update=sx.UpdatePolicy.ALWAYS) == []
    with pytest.raises(TypeError):
        queries.query(update="always")  # type: ignore[arg-type]


def test_closest_point_is_fresh_and_signed():
    world = sx.World()
    with pytest.raises(OperationError, match="no body of this World has one"):
        world.closest_point((0, 0, 0))
    ball = world.add_rigid_body("ball", position=(2, 0, 0))
    ball.add_collision_shape(CollisionShape.sphere(0.5))
    world.add_ground_plane(-3.0)
    found = world.closest_point((0, 0, 0))
    assert found.body is ball and found.distance == pytest.approx(1.5, abs=1e-8)
    np.testing.assert_allclose(found.point, (1.5, 0, 0), atol=1e-7)
    assert world.closest_point((2.1, 0, 0)).distance == pytest.approx(-0.4, abs=1e-7)
    assert world.closest_point((9, 9, -2.5)).body is None
    ball.translation = (0, 0, 4)
    assert world.closest_point((0, 0, 0)).body is None  # the ground is nearer now


def _crowd():
    """Two rigid bodies and two robots of two links each, all in one place, on the ground."""
    world = sx.World()
    world.add_ground_plane()
    ball = CollisionShape.sphere(0.5)
    for name in ("a", "b"):
        world.add_rigid_body(name).add_collision_shape(ball)
    for name in ("r", "s"):
        robot = world.add_multibody(name)
        links = [robot.add_link("root")]
        for k in range(2):
            links.append(robot.add_link(f"l{k}", parent=links[-1], joint=sx.JointSpec(name=f"j{k}")))
        links[0].add_collision_shape(ball)
        links[2].add_collision_shape(ball)
    return world


def _told(contacts):
    def kind(contact):
        a, b = contact.body_a, contact.body_b
        if a is None or b is None:
            return "world"
        links = [body for body in (a, b) if isinstance(body, sx.Link)]
        if len(links) == 2:
            return "same" if a.multibody is b.multibody else "links"
        return "mixed" if links else "bodies"

    return {kind(contact) for contact in contacts}


@pytest.mark.parametrize(
    ("flag", "kind"),
    [
        ("include_same_multibody_link_pairs", "same"),
        ("include_rigid_body_pairs", "bodies"),
        ("include_rigid_body_link_pairs", "mixed"),
        ("include_link_pairs", "links"),
    ],
)
def test_pairs_that_are_not_asked_for_are_not_told(flag, kind):
    world = _crowd()
    everything = {"same", "bodies", "mixed", "links", "world"}
    assert _told(world.collide()) == everything
    options = sx.CollisionQueryOptions()
    assert _told(world.collide(include=options)) == everything
    setattr(options, flag, False)
    assert _told(world.collide(include=options)) == everything - {kind}
    assert _told(world.collision.query(include=options)) == everything - {kind}
    with pytest.raises(ArgumentError, match=flag):
        setattr(options, flag, 1)
    with pytest.raises(ArgumentError, match="CollisionQueryOptions"):
        world.collide(include=True)


MARGINS = """<mujoco><worldbody>
<geom name="floor" type="plane" size="5 5 1"/>
<body name="wide" pos="0 0 0.11"><freejoint/><geom name="w" type="sphere" size="0.1" margin="{margin}" gap="{gap}"/></body>
<body name="masked" pos="1 0 0.105"><freejoint/>
  <geom name="m" type="sphere" size="0.1" contype="0" conaffinity="0"/></body>
<body name="above" pos="1 0 0.31"><freejoint/><geom name="a" type="sphere" size="0.1"/></body>
<body name="arm" pos="3 0 0.5"><geom name="upper" type="sphere" size="0.1"/>
  <body name="hand" pos="0.15 0 0"><joint axis="0 1 0"/><geom name="lower" type="sphere" size="0.1"/></body></body>
</worldbody><contact>
<pair geom1="floor" geom2="m" margin="0.02"/>
<pair geom1="m" geom2="a" margin="{pair}"/>
<pair geom1="upper" geom2="lower"/>
</contact></mujoco>"""


def named(contacts):
    return sorted(
        (*("" if b is None else b.name for b in (c.body_a, c.body_b)), round(c.depth, 12)) for c in contacts
    )


@pytest.mark.parametrize("override", [None, 0.0, 0.012, 0.05])
@pytest.mark.parametrize("pair", [0.003, 0.01])
@pytest.mark.parametrize(("margin", "gap"), [(0.0, 0.0), (0.02, 0.0), (0.02, 0.015), (0.005, 0.0)])
def test_queries_find_the_contacts_that_push_in_a_step(margin, gap, pair, override):
    """Margins, gaps and pairs with parameters of their own; the world moves its shapes by gravity alone."""
    scene = msd.from_str(MARGINS.format(margin=margin, gap=gap, pair=pair), format="mjcf")
    scene.simulate_option.override_contact_margin = override
    world = sx.World.from_scene(scene)
    found = named(world.collide())
    world.step()
    assert found == named(world.contacts)
    assert ("arm", "hand", 0.05) in found, "a pair is tested whatever the other filters say"


def test_the_margin_of_a_query_finds_more_than_pushes():
    world = sx.World.from_scene(msd.from_str(MARGINS.format(margin=0.0, gap=0.0, pair=0.003), format="mjcf"))
    near = named(world.collide(CollisionOption(margin=0.011)))
    assert ("", "wide", -0.01) in near and ("masked", "above", -0.005) in near
    assert len(world.collide(CollisionOption(margin=0.011, max_contacts=1))) == 1
