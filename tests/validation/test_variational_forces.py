# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tendons, actuators, springs and fluids in variational steps: order two, energy, rest; islands that sleep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.closed_mechanisms import Family, energy, four_bars, joints_of, options, slider_crank

from worldline import msd
from worldline import simulation as sx

ARM = """<mujoco><option {option}/><default><geom contype="0" conaffinity="0"/></default><worldbody>
<body pos="0 0 1"><joint name="a" axis="0 1 0" {joint}/>
<geom type="capsule" size=".03" fromto="0 0 0 .4 0 0" mass="1"/><site name="near" pos=".2 0 .05"/>
<body pos=".4 0 0" gravcomp="{lift}"><joint name="b" axis="0 1 0"/>
<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass=".7"/><site name="far" pos=".15 0 .05"/></body></body>
<site name="wall" pos=".1 0 1.3"/></worldbody>{rest}</mujoco>"""
PATH = '<spatial name="t" {}><site site="wall"/><site site="near"/><site site="far"/></spatial>'
ARMS = {
    "servos": {"rest": '<position joint="a" kp="60" kv="1"/><velocity joint="b" kv=".3"/>'},
    "force at a site": {"rest": '<motor site="far" gear="0 0 1 0 .2 0"/>'},
    "tendon": {"tendon": PATH.format('stiffness="80" damping=".5" springlength=".2"')},
    "actuator of a tendon": {"tendon": PATH.format(""), "rest": '<position tendon="t" kp="80"/>'},
    "fluid": {"option": 'density="200" viscosity="2"'},
    "gravity compensation": {"joint": 'actuatorgravcomp="true"', "lift": "1"},
}


def arm(parts: dict[str, str], h: float, family: Family) -> sx.World:
    tendon, rest = parts.get("tendon", ""), parts.get("rest", "")
    blocks = f"<tendon>{tendon}</tendon>" * bool(tendon) + f"<actuator>{rest}</actuator>" * bool(rest)
    text = ARM.format(
        option=parts.get("option", ""), joint=parts.get("joint", ""), lift=parts.get("lift", "0"), rest=blocks
    )
    world = sx.World.from_scene(msd.from_str(text))
    world.time_step, world.multibody_options = h, options(family)
    for joint, q, v in zip(joints_of(world).values(), (0.3, 0.5), (1.0, -2.0), strict=True):
        joint.position, joint.velocity = [q], [v]
    world.enter_simulation_mode()
    world.actuator_controls = np.full(len(world.actuator_controls), 0.4)
    return world


def ends(make: Callable[[float, Family], sx.World], h: float, family: Family, time: float) -> np.ndarray:
    world = make(h, family)
    world.step(round(time / h))
    return world.state_vector


def order_two(make: Callable[[float, Family], sx.World], h: float, time: float) -> None:
    """Errors against Runge-Kutta steps fall by four with the step."""
    exact = ends(make, h / 8, Family.RUNGE_KUTTA_4, time)
    errors = [np.abs(ends(make, step, Family.VARIATIONAL, time) - exact).max() for step in (h, h / 2)]
    assert 3.8 * errors[1] < errors[0] < 1e-2, errors


@pytest.mark.parametrize("name", ARMS)
def test_forces_of_a_scene_act_half_way(name):
    order_two(lambda h, family: arm(ARMS[name], h, family), 1e-3, 0.25)


def sprung(h: float, family: Family) -> sx.World:
    """Two bodies tied by a spring and hinged bodies with a spring, a damper and a force at their joint."""
    world = sx.World(time_step=h, multibody_options=options(family))
    a = world.add_rigid_body("a", mass=1.0, inertia=(0.1, 0.1, 0.1), linear_velocity=(0, 1, 0))
    b = world.add_rigid_body("b", mass=2.0, inertia=(0.1,) * 3, position=(1, 0, 0))
    world.add_rigid_body_distance_spring("spring", a, b, 0.8, 100.0, damping=0.5)
    c = world.add_rigid_body("c", mass=1.0, inertia=(0.02, 0.03, 0.04), position=(0, 3, 0))
    spec = sx.JointSpec("hinge", axis=(1, 0, 0), spring_stiffness=3.0, damping_coefficient=0.1)
    world.add_joint(c, spec)
    return world


def test_springs_of_bodies_and_of_joints_between_bodies_act_half_way():
    order_two(sprung, 4e-3, 0.4)


def test_a_spring_keeps_its_energy_and_momentum():
    world = sx.World(time_step=4e-3, gravity=(0, 0, 0), multibody_options=options(Family.VARIATIONAL))
    a = world.add_rigid_body("a", mass=1.0, inertia=(0.1, 0.1, 0.1), linear_velocity=(0, 1, 0))
    b = world.add_rigid_body(
        "b", mass=2.0, inertia=(0.1,) * 3, position=(1, 0, 0), linear_velocity=(0, -0.5, 0)
    )
    world.add_rigid_body_distance_spring("spring", a, b, 0.8, 100.0)

    def whole() -> float:
        stretch = float(np.linalg.norm(a.translation - b.translation)) - 0.8
        return world.kinetic_energy + 50.0 * stretch**2

    start, swing = whole(), []
    for _ in range(4):
        swing.append(0.0)
        for _ in range(250):
            world.step(10)
            swing[-1] = max(swing[-1], abs(whole() - start))
    # the period of the spring has 130 steps; no drift over 300 periods
    assert max(swing) < 1e-3 * start and swing[3] < 1.05 * swing[0], swing
    assert np.abs(a.linear_velocity + 2.0 * b.linear_velocity).max() < 1e-12


def driven(h: float, family: Family) -> sx.World:
    """A four-bar of a scene with a position actuator at its crank and a tendon across."""
    world = four_bars(1, h, family)
    scene = world.to_scene()
    servo = msd.ActuatorType.position(msd.PositionParam(kp=30.0, damping_value=1.0))
    scene.actuators.append(
        msd.Actuator(name="servo", actuator_type=servo, target=msd.ActuatorTarget.joint("bars/v0"))
    )
    made = sx.World.from_scene(scene)
    made.actuator_controls = [-0.5]
    return made


def test_a_closed_mechanism_follows_an_actuator():
    order_two(driven, 2e-3, 0.3)
    world = driven(1e-3, Family.VARIATIONAL)
    for _ in range(300):
        world.step()
        assert world.loop_closures["pin1"].compute_residual().norm < 1e-8


def test_a_stiff_spring_across_a_slider_crank_keeps_the_energy():
    world = slider_crank(1e-3, Family.VARIATIONAL)
    robot = world.multibodies["slider_crank"]
    ground = world.add_rigid_body("ground", position=(1.0, 0.2, 0.0))
    ground.is_static = True
    world.add_rigid_body_distance_spring("spring", robot.links["slider"], ground, 0.4, 500.0)

    def whole() -> float:
        stretch = float(np.linalg.norm(robot.links["slider"].translation - ground.translation)) - 0.4
        return energy(world) + 250.0 * stretch**2

    start, swing = whole(), 0.0
    for _ in range(500):
        world.step(10)
        swing = max(swing, abs(whole() - start))
        assert world.loop_closures["pin"].compute_residual().norm < 1e-8
    assert swing < 2e-3 * start


def test_motors_with_another_limit_in_each_direction_act():
    turned = []
    for family in (Family.SEMI_IMPLICIT, Family.VARIATIONAL):
        world = sx.World(time_step=1e-3, gravity=(0, 0, 0), multibody_options=options(family))
        robot = world.add_multibody("robot")
        spec = sx.JointSpec("hinge", axis=(0, 0, 1), actuator_type=sx.ActuatorType.SERVO)
        robot.add_link("wheel", joint=spec, mass=1.0, inertia=(0.1, 0.1, 0.1))
        joint = robot.joints["hinge"]
        joint.set_effort_limits(-2.0, 0.5)
        joint.command_velocity = [30.0]
        world.step(100)
        turned.append(float(joint.velocity[0]))
    # 0.5 N m on 0.1 kg m^2 for 0.1 s
    assert turned == pytest.approx([0.5, 0.5], rel=1e-9)


def test_islands_fall_asleep_and_wake():
    world = sx.World(time_step=1e-3, multibody_options=options(Family.VARIATIONAL))
    world.add_ground_plane()
    world.deactivation_options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.1)
    body = world.add_rigid_body("box", mass=2.0, inertia=(0.01,) * 3, position=(0, 0, 0.0999))
    body.add_collision_shape(sx.CollisionShape.box((0.1, 0.1, 0.1)))
    world.step(600)
    assert body.is_sleeping and not body.linear_velocity.any()
    before = body.transform.copy()
    world.step(200)
    assert np.array_equal(body.transform, before) and not body.linear_velocity.any()
    assert sum(one.force[2] for one in world.contacts) == pytest.approx(2.0 * 9.81, rel=1e-4)
    body.apply_force((0.0, 0.0, 40.0))
    world.step(100)
    assert not body.is_sleeping and body.translation[2] > 0.11


def test_adhesion_carries_a_body():
    text = """<mujoco><option timestep="0.001"/><worldbody><geom type="box" size=".2 .2 .05" pos="0 0 .15"/>
    <body name="ball" pos="0 0 .0"><freejoint/><geom type="sphere" size=".1" mass="1"/></body></worldbody>
    <actuator><adhesion body="ball" ctrlrange="0 1" gain="30"/></actuator></mujoco>"""
    heights = []
    for family in (Family.SEMI_IMPLICIT, Family.VARIATIONAL):
        world = sx.World.from_scene(msd.from_str(text))
        world.multibody_options = options(family)
        world.enter_simulation_mode()
        world.actuator_controls = [1.0]
        world.step(500)
        heights.append(float(world.state_vector[2]))
    assert abs(heights[0]) < 2e-3 and heights[1] == pytest.approx(heights[0], abs=1e-5)
