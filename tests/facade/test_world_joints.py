# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joints that the World owns, what breaks them, distance springs, and switches of equalities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, NotFoundError, OperationError

SPEC, TYPE = sx.JointSpec, sx.JointType


def body(world, name: str, at, mass: float = 2.0, **more):
    return world.add_rigid_body(name, mass=mass, position=at, inertia=np.diag([0.02, 0.1, 0.1]), **more)


@pytest.fixture
def world() -> sx.World:
    return sx.World(time_step=0.001)


def test_a_hinge_to_the_world_is_a_pendulum(world):
    bar = body(world, "bar", (0.5, 0, 0))
    hinge = world.add_joint(
        bar, SPEC(name="hinge", axis=(0, 1, 0), parent_anchor=(0, 0, 0), child_anchor=(-0.5, 0, 0))
    )
    world.step(1)
    # about the hinge: m g l over m l^2 + I
    assert bar.angular_velocity[1] == pytest.approx(2 * 9.81 * 0.5 / (2 * 0.25 + 0.1) * 0.001, rel=1e-6)
    world.step(1500)
    assert np.linalg.norm(bar.translation) == pytest.approx(0.5, abs=1e-5)
    assert abs(bar.translation[1]) < 1e-9 and abs(bar.angular_velocity[0]) < 1e-9
    energy = 2 * 9.81 * bar.translation[2] + 0.5 * 0.6 * bar.angular_velocity[1] ** 2
    assert abs(energy) < 0.05
    assert hinge.num_dofs == 1 and not hinge.is_broken


def test_a_slide_falls_along_its_axis_to_its_limit(world):
    rider = body(world, "rider", (0, 0, 0))
    slide = world.add_joint(rider, SPEC(name="slide", type=TYPE.PRISMATIC, axis=(1, 0, -1)))
    slide.set_position_limits(-1.0, 0.25)
    world.step(100)
    assert np.allclose(rider.linear_velocity, np.array([1, 0, -1]) * 9.81 / 2 * 0.1, rtol=1e-5, atol=1e-6)
    world.step(2000)
    assert np.allclose(rider.translation, np.array([1, 0, -1]) * 0.25 / math.sqrt(2), atol=1e-5)
    assert np.linalg.norm(rider.linear_velocity) < 1e-4


@pytest.mark.parametrize(("kind", "free"), [("FIXED", 0), ("SPHERICAL", 3)])
def test_two_bodies_hold_together(world, kind, free):
    a, b = body(world, "a", (0, 0, 0)), body(world, "b", (1, 0, 0), angular_velocity=(0.5, 2.0, 1.0))
    joint = world.add_joint(
        a, b, SPEC(name="j", type=TYPE[kind], parent_anchor=(0.5, 0, 0), child_anchor=(-0.5, 0, 0))
    )
    assert joint.num_dofs == free and joint.parent_rigid_body is a and joint.child_rigid_body is b
    world.step(500)
    gap = a.transform @ [0.5, 0, 0, 1] - b.transform @ [-0.5, 0, 0, 1]
    assert np.abs(gap).max() < 1e-5
    turned = np.linalg.norm(a.rotation - b.rotation)
    assert turned < 1e-4 if kind == "FIXED" else turned > 0.1
    total = a.linear_velocity + b.linear_velocity
    assert np.allclose(total, [0, 0, -2 * 9.81 * 0.5], atol=1e-8)


def test_a_joint_breaks_at_its_force_and_can_be_mended(world):
    a = body(world, "a", (0, 0, 0))
    joint = world.add_joint(a, SPEC(name="weld", type=TYPE.FIXED))
    joint.break_force = 25.0
    world.step(50)
    assert not joint.is_broken
    # the joint holds the world: the first end, and the weight pulls it down
    assert joint.wrench == pytest.approx([0, 0, 0, 0, 0, -2 * 9.81], abs=1e-3)
    a.force = (0, 0, -10.0)
    world.step(1)
    assert joint.is_broken
    a.force = (0, 0, 0)
    v = a.linear_velocity[2]
    world.step(100)
    assert a.linear_velocity[2] == pytest.approx(v - 9.81 * 0.1, rel=1e-9)
    assert not joint.wrench.any()
    # it would break again on the way back
    joint.break_force = math.inf
    assert joint.is_broken
    joint.reset_breakage()
    assert not joint.is_broken
    world.step(100)
    assert abs(a.linear_velocity[2]) < 1e-6


def test_a_joint_breaks_at_its_torque_and_tells(world):
    a = body(world, "a", (0, 0, 0))
    joint = world.add_joint(a, SPEC(name="weld", type=TYPE.FIXED))
    joint.break_torque = 5.0
    assert joint.break_force == math.inf and joint.break_torque == 5.0
    with pytest.raises(ArgumentError, match="must be positive"):
        joint.break_torque = -1.0
    a.torque = (0, 0, 4.9)
    world.step(3)
    assert not joint.is_broken and world.break_events == [] and world.step_report().broken == ()
    a.torque = (0, 0, 5.1)
    world.step(1)
    assert joint.is_broken and world.step_report().broken == ("weld",)
    assert "broke: weld" in str(world.step_report())
    world.step(10)
    (event,) = world.break_events
    assert event.name == "weld" and event.joint is joint
    assert event.frame == 4 and event.time == pytest.approx(0.004)
    assert event.torque == pytest.approx(5.1, rel=1e-6) and event.force == pytest.approx(2 * 9.81, rel=1e-6)
    assert world.step_report().broken == ()
    joint.reset_breakage()
    assert world.break_events == []


WELDED = """<mujoco><option gravity="0 0 -10" timestep="0.001"/><worldbody>
<body name="a"><freejoint/><geom type="sphere" size="0.1" mass="2" contype="0"/></body>
<body name="b" pos="1 0 0"><joint name="b" type="slide" axis="0 0 1"/>
  <geom type="sphere" size="0.1" mass="3" contype="0"/></body></worldbody>
<equality><weld name="weld" body1="a" solref="0.002 1" solimp="0.999 0.999 0.001"/>
  <joint name="held" joint1="b" solref="0.002 1" solimp="0.999 0.999 0.001"/></equality></mujoco>"""


def test_equalities_break_too(tmp_path):
    scene = msd.from_str(WELDED, format="mjcf")
    made = scene.equality_constraint_set
    made.welds[0].break_torque, made.joints[0].break_force = 3.0, 35.0
    path = tmp_path / "scene.json"
    scene.to_file(path)
    world = sx.World.from_scene(msd.from_file(path))
    world.step(200)
    assert world.break_events == []
    world.rigid_bodies["a"].torque = (0, 4.0, 0)
    world.multibodies[0].joints["b"].force = [-8.0]
    world.step(3)
    assert {event.name for event in world.break_events} == {"weld", "held"}
    assert not world.is_equality_active("weld")
    held = next(event for event in world.break_events if event.name == "held")
    assert held.joint is None and held.force > 35.0


def test_a_broken_joint_stays_broken_when_the_world_is_compiled_again(world, tmp_path):
    a, b = body(world, "a", (0, 0, 0)), body(world, "b", (1, 0, 0))
    joint = world.add_joint(a, SPEC(name="weld", type=TYPE.FIXED))
    joint.break_force = 5.0
    world.step(2)
    assert joint.is_broken
    b.mass = 3.0
    with world.edit():
        world.add_joint(b, SPEC(name="other", type=TYPE.FIXED))
    assert joint.is_broken
    world.save_binary(tmp_path / "w.bin")
    loaded = sx.World()
    loaded.load_binary(tmp_path / "w.bin")
    assert loaded.joints["weld"].is_broken and not loaded.joints["other"].is_broken
    world.reset()
    assert not joint.is_broken


def test_what_cannot_be_joined(world):
    a, b = body(world, "a", (0, 0, 0)), body(world, "b", (1, 0, 0))
    with pytest.raises(ArgumentError, match="distinct"):
        world.add_joint(a, a, SPEC())
    with pytest.raises(ArgumentError, match="both endpoints"):
        world.add_joint(a, b, SPEC(parent_anchor=(0, 0, 0)))
    with pytest.raises(ArgumentError, match="FIXED, REVOLUTE, PRISMATIC, SPHERICAL"):
        world.add_joint(a, b, SPEC(type=TYPE.FLOATING))
    with pytest.raises(ArgumentError, match="this World"):
        world.add_joint(a, sx.World().add_rigid_body("x"), SPEC())
    joint = world.add_joint(a, b, SPEC(name="j"))
    with pytest.raises(ArgumentError, match="already exists"):
        world.add_joint(a, b, SPEC(name="j"))
    with pytest.raises(OperationError, match="not a link"):
        joint.parent_link  # noqa: B018
    assert world.joints.names == ["j"] and world.get_joint("j") is joint and world.has_joint("j")
    b.remove()
    assert not joint.is_valid and world.num_joints == 0


def test_a_distance_spring_swings_two_bodies(world):
    world.gravity = (0, 0, 0)
    a, b = body(world, "a", (0, 0, 0), mass=1.0), body(world, "b", (1.2, 0, 0), mass=3.0)
    world.add_rigid_body_distance_spring("s", a, b, 1.0, 75.0)
    # reduced mass 3/4: ten radians a second
    h = world.time_step
    world.step(314)
    apart = b.translation[0] - a.translation[0]
    assert apart == pytest.approx(1.0 + 0.2 * math.cos(10 * 314 * h), abs=1e-3)
    assert np.allclose(a.linear_velocity + 3 * b.linear_velocity, 0, atol=1e-12)
    world.set_rigid_body_distance_spring_parameters("s", 2.0, 30.0)
    assert world.get_rigid_body_distance_spring_parameters("s") == (2.0, 30.0)
    before = a.linear_velocity[0]
    world.step(1)
    assert a.linear_velocity[0] - before == pytest.approx(30.0 * (apart - 2.0) * h, rel=1e-9)


def test_a_damped_spring_comes_to_rest_with_anchors(world):
    anchor = body(world, "anchor", (0, 0, 2))
    anchor.is_static = True
    bob = body(world, "bob", (0.0, 0, 1.0))
    world.add_rigid_body_distance_spring(
        "s", anchor, bob, 0.5, 200.0, parent_anchor=(0, 0, 0), child_anchor=(0, 0, 0.1), damping=30.0
    )
    world.step(3000)
    # hangs at rest length plus weight over stiffness, the anchor a tenth above its middle
    assert bob.translation == pytest.approx([0, 0, 2 - 0.5 - 2 * 9.81 / 200 - 0.1], abs=1e-4)


def test_wrong_springs(world):
    a, b = body(world, "a", (0, 0, 0)), body(world, "b", (1, 0, 0))
    with pytest.raises(ArgumentError, match="both endpoints"):
        world.add_rigid_body_distance_spring("s", a, b, 1.0, 1.0, parent_anchor=(0, 0, 0))
    with pytest.raises(ArgumentError, match="stiffness"):
        world.add_rigid_body_distance_spring("s", a, b, 1.0, 0.0)
    world.add_rigid_body_distance_spring("s", a, b, 1.0, 1.0)
    with pytest.raises(ArgumentError, match="already exists"):
        world.add_rigid_body_distance_spring("s", a, b, 1.0, 1.0)
    with pytest.raises(NotFoundError, match="'spring'"):
        world.get_rigid_body_distance_spring_parameters("spring")


def test_equalities_of_a_scene_are_switched_by_name():
    scene = msd.from_str(
        """<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint/><geom size=".1" mass="2"/></body></worldbody>
        <equality><weld name="hold" body1="a"/></equality></mujoco>""",
        format="mjcf",
    )
    world = sx.World.from_scene(scene)
    world.step(500)
    assert world.is_equality_active("hold")
    assert world.get_equality_force("hold") == pytest.approx([0, 0, 0, 0, 0, 2 * 9.81], rel=1e-6, abs=1e-9)
    world.set_equality_active("hold", False)
    world.step(100)
    assert world._live().sim.v[2] == pytest.approx(-0.1 * 2 * 9.81, rel=0.1)
    assert not world.get_equality_force("hold").any()
    with pytest.raises(NotFoundError, match="'holt'"):
        world.set_equality_active("holt", True)


def test_a_joint_with_a_finite_stiffness_gives_way():
    world = sx.World()
    box = world.add_rigid_body("box", mass=2.0)
    weld = world.add_joint(box, sx.JointSpec(name="weld", type=sx.JointType.FIXED))
    assert weld.constraint_projection_policy == sx.JointConstraintProjectionPolicy()
    world.step(n=100)
    assert abs(box.translation[2]) < 1e-9
    weld.constraint_projection_policy = sx.JointConstraintProjectionPolicy(linear_stiffness=1000.0)
    heights = []
    for _ in range(281):
        world.step()
        heights.append(box.translation[2])
    # the spring of the joint carries the weight: about m g / k it swings, once in 2 pi sqrt(m / k)
    assert np.mean(heights) == pytest.approx(-2.0 * 9.81 / 1000.0, rel=0.02)
    assert min(heights) < -0.03
    again = sx.World.from_scene(world.to_scene())
    assert again.joints["weld"].constraint_projection_policy.linear_stiffness == 1000.0
    told = weld.constraint_projection_policy
    told.linear_stiffness = 5.0
    assert weld.constraint_projection_policy.linear_stiffness == 1000.0


def test_joints_of_one_island_have_their_own_stiffness_of_turning():
    """Two arms on a hub twist alike, whichever joint stands first, and stay where they are joined."""
    world = sx.World(time_step=0.001, gravity=(0, 0, 0))
    hub = world.add_rigid_body("hub", mass=5.0, inertia=(1.0, 1.0, 1.0))
    arms = []
    for k, x in enumerate((0.5, -0.5)):
        arm = world.add_rigid_body(f"arm{k}", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(x, 0, 0))
        weld = world.add_joint(hub, arm, SPEC(name=f"weld{k}", type=TYPE.FIXED))
        weld.constraint_projection_policy = sx.JointConstraintProjectionPolicy(angular_stiffness=40.0)
        # twisted, and pulled off the hub by a blow
        arm.angular_velocity, arm.linear_velocity = (1.0, 0.0, 0.0), (2.0 * x, 0.0, 0.0)
        arms.append(arm)
    turns = []
    for _ in range(300):
        world.step()
        turns.append([arm.rotation[2, 1] - hub.rotation[2, 1] for arm in arms])
    turns = np.array(turns)
    np.testing.assert_allclose(turns[:, 0], turns[:, 1], rtol=0, atol=1e-9)
    # k = 40 N m on arms of 0.1 kg m^2, twice on the hub of 1: w^2 = k / 0.1 + 2 k / 1, amplitude 1 / w
    expected = 1.0 / math.sqrt(40.0 / 0.1 + 2.0 * 40.0)
    assert 0.95 * expected < turns[:, 0].max() < 1.01 * expected
    for arm, x in zip(arms, (0.5, -0.5), strict=True):
        np.testing.assert_allclose(arm.translation, (x, 0, 0), rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "wrong", [{"linear_stiffness": -1.0}, {"start_stiffness": 2.0, "angular_stiffness": 1.0}]
)
def test_stiffness_of_a_joint_is_checked(wrong):
    with pytest.raises(ArgumentError, match="stiffness"):
        sx.JointConstraintProjectionPolicy(**wrong)


def test_limits_of_a_spec_hold_between_bodies_and_other_data_is_refused():
    world = sx.World()
    box = world.add_rigid_body("box")
    spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, position_lower_limits=-0.1)
    world.add_joint(box, spec)
    world.step(n=500)
    assert box.translation[2] == pytest.approx(-0.1, abs=1e-3)
    other = sx.World()
    body = other.add_rigid_body("body")
    for wrong, words in (
        (sx.JointSpec(limit_margin=0.1), "limit_margin"),
        (sx.JointSpec(type=sx.JointType.FIXED, position_upper_limits=0.0), "position limits"),
        (sx.JointSpec(position_lower_limits=1.0, position_upper_limits=0.0), "must not exceed"),
    ):
        with pytest.raises(ArgumentError, match=words):
            other.add_joint(body, wrong)
    assert other.num_joints == 0
