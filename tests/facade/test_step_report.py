# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What a step tells about itself: the report, events, why bodies touch, and the energy ledger."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import CapabilityError, OperationError
from worldline.collision import CollisionShape

G = 9.81


def ball(world, name, position, radius=0.1, **options):
    body = world.add_rigid_body(
        name, mass=1.0, inertia=np.eye(3) * 0.4 * radius**2, position=position, **options
    )
    body.add_collision_shape(CollisionShape.sphere(radius))
    return body


def scale_of(world, ledger):
    return max(world.kinetic_energy, *map(abs, ledger.causes().values()))


ROBOT = """
<mujoco><option timestep="0.002" gravity="0 0 -9.81"/>
  <worldbody><geom type="plane" size="5 5 1"/>
    <body pos="0 0 0.42"><freejoint/><geom type="box" size=".2 .1 .05" mass="4"/>
      <body pos=".15 0 0"><joint name="hip" axis="0 1 0" damping="0.3" stiffness="4" armature="0.01"
          frictionloss="0.2" range="-40 40" limited="true"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.25" size=".04" mass="1"/>
        <body pos="0 0 -.25"><joint name="knee" axis="0 1 0" damping="0.2"/>
          <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".03" mass=".5"/></body></body>
      <body pos="-.15 0 0"><joint name="tail" type="ball" damping="0.05"/>
        <geom type="sphere" size=".05" pos="-.1 0 0" mass=".7"/></body>
    </body></worldbody>
  <actuator><motor name="push" joint="knee" gear="5" ctrlrange="-1 1" ctrllimited="true"/></actuator>
</mujoco>"""


@pytest.mark.parametrize("family", ["semi-implicit", "implicit-damping", "implicit-velocity"])
def test_the_ledger_closes_for_a_robot_that_does_everything(family):
    world = sx.World.from_scene(msd.from_str(ROBOT, format="mjcf"))
    world.multibody_options = sx.MultibodyOptions(integration_family=family)
    world.multibodies[0].joints["hip"].position = [0.75]
    rng = np.random.default_rng(3)
    seen = dict.fromkeys(("actuators", "springs", "damping", "joint_friction", "contact", "limits"), 0.0)
    for _ in range(150):
        world.actuator_controls = rng.uniform(-1.5, 1.5, 1)
        world.step(n=2)
        ledger = world.energy_ledger()
        assert abs(ledger.unexplained) < 1e-9 * scale_of(world, ledger)
        for name in seen:
            seen[name] = max(seen[name], abs(getattr(ledger, name)))
        assert ledger.damping < 1e-4  # of the beginning of a step, so not below zero when it turns around
    assert all(value > 1e-6 for value in seen.values()), seen
    assert "joint friction" in str(ledger)


def test_gravity_of_a_throw_is_potential_energy():
    world = sx.World()
    ball(world, "stone", (0, 0, 1), linear_velocity=(1, 0, 4))
    world.step()
    ledger = world.energy_ledger()
    assert ledger.kinetic_change == pytest.approx(-G * 4.0 * 1e-3, rel=2e-3)
    # the two differ by what a step of this size gets wrong
    assert ledger.gravity + ledger.potential_change == pytest.approx(-0.5 * (G * 1e-3) ** 2, rel=1e-6)
    assert ledger.external == 0.0


def test_a_push_is_external_work():
    world = sx.World(gravity=(0, 0, 0))
    box = world.add_rigid_body("box", mass=2.0, linear_velocity=(3, 0, 0))
    box.force = (4, 0, 0)
    world.step()
    # mean velocity times force
    assert world.energy_ledger().external == pytest.approx(4.0 * (3.0 + 1e-3) * 1e-3, rel=1e-12)
    box.force = (0, 0, 0)
    assert world.energy_ledger().external > 0.0  # what acted then
    world.step()
    assert world.energy_ledger().external == 0.0


def test_gravity_compensation_is_external_and_no_actuator():
    text = """<mujoco><worldbody><body name="b" gravcomp=".8"><joint name="j" axis="0 1 0" stiffness="2"/>
      <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" mass="3"/></body></worldbody></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    joint = world.multibodies[0].joints["j"]
    joint.velocity, joint.effort_limits = [1.0], 5.0
    world.step()
    ledger = world.energy_ledger()
    assert ledger.actuators == pytest.approx(0.0, abs=1e-12)
    assert ledger.external == pytest.approx(-0.8 * ledger.gravity, rel=1e-9)
    assert abs(ledger.unexplained) < 1e-9 * abs(ledger.gravity)
    # what holds the weight is no effort of the drive
    assert world.step_report().clamped_efforts == ()


def test_sliding_friction_is_lost_in_contact():
    world = sx.World()
    box = world.add_rigid_body("box", mass=1.0, inertia=np.eye(3) * 0.01, position=(0, 0, 0.1))
    box.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    box.friction = 0.5
    box.linear_velocity = (2, 0, 0)
    world.add_ground_plane(friction=0.5)
    world.step(n=20)
    ledger = world.energy_ledger()
    mean = box.linear_velocity[0] + 0.25 * G * 1e-3
    assert ledger.contact + ledger.position_correction == pytest.approx(-0.5 * G * mean * 1e-3, rel=1e-4)


def test_overlap_is_pushed_apart_by_correction():
    world = sx.World(gravity=(0, 0, 0))
    ball(world, "low", (0, 0, 0.097))
    world.add_ground_plane()
    world.step()
    ledger = world.energy_ledger()
    assert ledger.position_correction > 0.0
    assert ledger.position_correction == pytest.approx(ledger.kinetic_change, rel=1e-6)
    assert ledger.contact == pytest.approx(0.0, abs=1e-6 * ledger.position_correction)


def test_deep_overlap_is_pushed_apart_without_energy():
    """Faster than 1 m/s it is a displacement: the velocity after it is none."""
    world = sx.World(gravity=(0, 0, 0))
    low = ball(world, "low", (0, 0, 0.06))
    world.add_ground_plane()
    world.step(n=5)
    assert low.translation[2] == pytest.approx(0.06 + 5 * 3.0e-3, abs=1e-6)
    assert world.kinetic_energy < 1e-12
    ledger = world.energy_ledger()
    assert ledger.position_correction == 0.0
    assert ledger.kinetic_change == pytest.approx(0.0, abs=1e-12)
    world.step(n=100)
    # what is left below that stays as a velocity
    assert low.translation[2] > 0.1 and low.linear_velocity[2] <= 1.0


def test_the_ledger_is_of_the_last_step_only():
    world = sx.World()
    stone = ball(world, "stone", (0, 0, 1))
    with pytest.raises(OperationError, match="last step"):
        world.energy_ledger()
    world.step()
    world.energy_ledger()
    stone.translation = (0, 0, 2)
    with pytest.raises(OperationError, match="written since"):
        world.energy_ledger()
    world = sx.World(multibody_options=sx.MultibodyOptions(integration_family="runge-kutta-4"))
    ball(world, "stone", (0, 0, 1))
    world.step()
    with pytest.raises(CapabilityError, match="runge-kutta-4"):
        world.energy_ledger()


def test_events_begin_persist_and_end():
    world = sx.World(time_step=0.01)
    stone = ball(world, "stone", (0, 0, 0.15))
    stone.restitution = 1.0
    ground = world.add_ground_plane(restitution=1.0)
    assert ground
    assert world.contact_events == []
    kinds = []
    for _ in range(60):
        world.step()
        for event in world.contact_events:
            assert event.body_a is None and event.body_b is stone
            kinds.append(event.kind)
    Kind = sx.ContactEventKind
    assert kinds[0] is Kind.BEGIN
    assert kinds.count(Kind.BEGIN) - kinds.count(Kind.END) in (0, 1) and kinds.count(Kind.END) >= 2
    # every stay starts with a beginning and ends with an end
    for before, after in itertools.pairwise(kinds):
        assert (after is Kind.BEGIN) == (before is Kind.END)
    stone.translation = (0, 0, 3)
    assert world.contact_events == []


def test_a_resting_body_persists():
    world = sx.World()
    a, b = ball(world, "a", (0, 0, 0.1)), ball(world, "b", (1, 0, 0.1))
    world.add_ground_plane()
    world.step(n=5)
    assert {e.body_b for e in world.contact_events} == {a, b}
    assert {e.kind for e in world.contact_events} == {sx.ContactEventKind.BEGIN}
    world.step(n=5)
    assert {e.body_b for e in world.contact_events} == {a, b}
    assert {e.kind for e in world.contact_events} == {sx.ContactEventKind.PERSIST}
    report = world.step_report()
    assert report.islands == 2 and report.unconverged_islands == 0 and report.converged
    assert report.contacts == 2 and report.rows >= 2 and report.dropped_contacts == 0
    assert [pair.body_b for pair in report.pairs] == [a, b]
    for pair in report.pairs:
        np.testing.assert_allclose(pair.force, (0, 0, G), rtol=1e-6, atol=1e-9)
    assert report.frame == 10 and report.failure is None


def two_hinges(second):
    """A World with an arm, and its joints: one that turns about z, then the one given."""
    world = sx.World()
    arm = world.add_multibody("arm")
    base = arm.add_link("base", None, sx.JointSpec(name="turn", axis=(0, 0, 1)))
    arm.add_link("tip", base, second)
    return world, *arm.joints


def test_the_report_names_limits_and_what_was_cut():
    world, turn, swing = two_hinges(sx.JointSpec(name="swing", axis=(0, 1, 0)))
    turn.effort_limits, turn.force = 0.5, [3.0]
    swing.set_position_limits(-0.1, 0.1)
    swing.velocity, swing.force = [5.0], [1.0]
    world.step()
    report = world.step_report()
    assert report.clamped_efforts == ("arm/turn",) and "efforts cut: arm/turn" in str(report)
    assert report.active_limits == ()
    world.step(n=200)
    assert world.step_report().active_limits == ("arm/swing",)
    turn.force = [0.3]
    world.step()
    assert world.step_report().clamped_efforts == ()


def test_the_report_names_servos_that_were_cut_and_speeds_at_their_limit():
    world, turn, spin = two_hinges(sx.JointSpec(name="spin", axis=(0, 0, 1)))
    turn.actuator_type, turn.effort_limits, turn.command_velocity = sx.ActuatorType.SERVO, 0.5, [100.0]
    spin.velocity_limits, spin.force = 0.2, [3.0]
    world.step(n=200)
    report = world.step_report()
    assert report.clamped_efforts == ("arm/turn",)
    assert report.active_limits == ("arm/spin",)
    turn.command_velocity, spin.force = turn.velocity, [-0.1]
    world.step(n=10)
    report = world.step_report()
    assert report.clamped_efforts == () and report.active_limits == ()


def test_the_report_names_actuators_at_their_bounds():
    world = sx.World.from_scene(msd.from_str(ROBOT, format="mjcf"))
    world.actuator_controls = [0.5]
    world.step()
    assert world.step_report().clamped_actuators == ()
    world.actuator_controls = [1.5]
    world.step()
    assert world.step_report().clamped_actuators == ("push",)


def test_the_report_names_soft_limits_that_push():
    text = ROBOT.replace('type="plane" size="5 5 1"', 'type="plane" size="5 5 1" pos="0 0 -50"')
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.step()
    assert world.step_report().active_limits == ()
    robot = world.multibodies[0]
    robot.joints["hip"].position = [0.9]
    world.step()
    assert world.step_report().active_limits == ("hip",)


def test_a_failed_step_is_in_the_report():
    world = sx.World()
    stone = ball(world, "stone", (0, 0, 1))
    stone.force = (1e308, 0, 0)
    stone.mass = 1e-3
    with pytest.raises(sx.StepFailure):
        world.step()
    failure = world.step_report().failure
    assert failure is not None and failure.body == "stone" and "failed: step 1" in str(world.step_report())
    stone.force = (0, 0, 0)
    world.step()
    assert world.step_report().failure is None


# ---- why two bodies do or do not touch


def test_explain_contact_and_distance():
    world = sx.World()
    a, b = ball(world, "a", (0, 0, 0.1)), ball(world, "b", (1, 0, 0.1))
    world.add_ground_plane()
    world.step(n=3)
    told = world.explain(None, a)
    assert told.touching and told.cause == "contact" and "9.81 N" in told.detail
    assert world.explain(a, None) == told
    told = world.explain(a, b)
    assert not told.touching and told.cause == "apart" and "0.8 m apart" in told.detail
    assert str(told).startswith("apart: 'a' and 'b'")


def test_explain_filters():
    world = sx.World()
    a, b = ball(world, "a", (0, 0, 1)), ball(world, "b", (0.05, 0, 1))
    bare = world.add_rigid_body("bare")
    assert world.explain(a, bare).cause == "no shapes"
    assert world.explain(a, a).cause == "same body"
    assert world.explain(a, b).cause == "not stepped"
    world.step()
    assert world.explain(a, b).cause == "contact"
    world.set_collision_pair_ignored(a, b)
    assert world.explain(a, b).cause == "ignored pair"


def test_explain_robots():
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
      <body name="one" pos="0 0 3"><freejoint/><geom size=".1"/>
        <body name="two" pos=".05 0 0"><joint axis="0 1 0"/><geom size=".1"/>
          <body name="three" pos=".05 0 0"><geom size=".1"/></body></body>
        <body name="far" pos="2 0 0"><joint axis="0 1 0"/><geom size=".1" contype="2" conaffinity="2"/></body>
      </body></worldbody></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    links = world.multibodies[0].links
    assert world.explain(links["one"], links["two"]).cause == "parent and child"
    assert world.explain(links["two"], links["three"]).cause == "welded"
    assert world.explain(links["two"], links["far"]).cause == "masks"
    scene = msd.from_str(text, format="mjcf")
    scene.simulate_option.disable_contacts = True
    off = sx.World.from_scene(scene)
    assert off.explain(off.multibodies[0].links["one"], None).cause == "contacts disabled"


_NEAR = '<body name="a"><freejoint/><geom name="a" size=".1" mass="1" {a}/>{child}</body>'
_OTHER = '<body name="b" pos="0 0 {z}"><freejoint/><geom name="b" size=".1" mass="1" {b}/></body>'
_CHILD = '<body name="b" pos="0 0 .15"><joint/><geom name="b" size=".1" mass="1"/></body>'
_PAIR = '<contact><pair geom1="a" geom2="b" {}/></contact>'


@pytest.mark.parametrize(
    ("bodies", "rest", "cause"),
    [
        (_NEAR + _OTHER, _PAIR, "contact"),
        (_NEAR + _OTHER, '<contact><exclude body1="a" body2="b"/></contact>', "ignored pair"),
        (
            _NEAR + _OTHER,
            '<contact><exclude body1="a" body2="b"/><pair geom1="a" geom2="b"/></contact>',
            "contact",
        ),
        (_NEAR, "", "parent and child"),
        (_NEAR, _PAIR, "contact"),
        (_NEAR, '<option><flag filterparent="disable"/></option>', "contact"),
    ],
    ids=["pair", "exclude", "exclude and pair", "joint", "joint and pair", "no filter of joints"],
)
def test_what_explain_says_is_what_a_step_does(bodies, rest, cause):
    child = "" if "{z}" in bodies else _CHILD
    masks = 'contype="0" conaffinity="0"' if rest == _PAIR else ""
    text = bodies.format(a=masks, b=masks, child=child, z=0.15) + "</worldbody>" + rest.format("")
    world = sx.World.from_scene(msd.from_str(f"<mujoco><worldbody>{text}</mujoco>", format="mjcf"))
    world.step()
    if child:
        a, b = world.multibodies[0].links["a"], world.multibodies[0].links["b"]
    else:
        a, b = world.rigid_bodies["a"], world.rigid_bodies["b"]
    told = world.explain(a, b)
    assert told.cause == cause
    assert told.touching == bool(world.contacts) == (cause == "contact")


@pytest.mark.parametrize(
    ("margins", "rest", "begin"),
    [
        ('margin=".02" gap=".01"', "", 0.04),
        ("", _PAIR.format('margin=".03" gap=".05"'), 0.03),
        ('gap=".01"', '<option o_margin=".04"><flag override="enable"/></option>', 0.04),
    ],
    ids=["shapes", "pair", "override"],
)
def test_explain_tells_where_contact_begins(margins, rest, begin):
    for gap, touching in ((begin + 1e-3, False), (begin - 1e-3, True)):
        text = (_NEAR + _OTHER).format(a=margins, b=margins, child="", z=0.2 + gap) + "</worldbody>" + rest
        text = f'<mujoco><option gravity="0 0 0"/><worldbody>{text}</mujoco>'
        world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
        world.step()
        told = world.explain(world.rigid_bodies["a"], world.rigid_bodies["b"])
        assert told.touching == bool(world.contacts) == touching
        assert touching or told.detail.endswith(f"contact begins at {begin:g} m")
