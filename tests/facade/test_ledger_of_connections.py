# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The energy ledger closes with tendons, springs between bodies, a fluid, motors and closures."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx

SCENE = """
<mujoco><option timestep="0.002" density="30" viscosity="0.2" wind="0.5 0 0"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody><site name="s0" pos="0 0 1"/>
    <body pos="0 0 .5"><joint name="j1" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".05" mass="1"/>
      <site name="s1" pos=".3 0 0"/>
      <body pos=".4 0 0"><joint name="j2" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .4 0 0" size=".05" mass="1"/><site name="s2" pos=".2 0 .1"/></body></body>
    <body name="loose" pos="1 0 .5"><freejoint name="f"/><geom type="box" size=".1 .1 .1" mass="1"/></body>
  </worldbody>
  <tendon><spatial name="t" stiffness="40" damping="1" frictionloss=".5"><site site="s0"/><site site="s1"/>
    <site site="s2"/></spatial>
    <fixed name="u" stiffness="3" damping=".1"><joint joint="j1" coef="1"/><joint joint="j2" coef="-.5"/></fixed>
  </tendon>
  <equality><connect body1="loose" anchor="0 0 .3"/></equality>
</mujoco>"""


def test_every_cause_is_found():
    world = sx.World.from_scene(msd.from_str(SCENE, format="mjcf"))
    seen = dict.fromkeys(("springs", "damping", "joint_friction", "limits"), 0.0)
    for _ in range(100):
        world.step()
        ledger = world.energy_ledger()
        scale = max(world.kinetic_energy, *map(abs, ledger.causes().values()))
        assert abs(ledger.unexplained) < 1e-9 * scale
        assert ledger.actuators == 0.0 or abs(ledger.actuators) < 1e-12 * scale
        for name in seen:
            seen[name] = max(seen[name], abs(getattr(ledger, name)))
    assert min(seen.values()) > 0.0


def test_springs_between_bodies_and_servos():
    world = sx.World(time_step=0.001)
    a = world.add_rigid_body("a", mass=1.0, position=(0, 0, 0), angular_velocity=(1, 2, 3))
    b = world.add_rigid_body("b", mass=2.0, position=(1, 0.2, 0))
    world.add_rigid_body_distance_spring(
        "s", a, b, 0.5, 80.0, parent_anchor=(0.1, 0, 0), child_anchor=(0, 0.2, 0), damping=3.0
    )
    arm = world.add_multibody("arm")
    link = arm.add_link("bar", joint=sx.JointSpec(name="hinge", axis=(0, 1, 0)))
    link.center_of_mass, link.inertia = (0.5, 0, 0), np.eye(3) * 0.1
    hinge = arm.joints["hinge"]
    hinge.actuator_type = sx.ActuatorType.SERVO
    hinge.effort_limits = [3.0]
    hinge.command_velocity = [1.0]
    for _ in range(50):
        world.step()
        ledger = world.energy_ledger()
        scale = max(world.kinetic_energy, *map(abs, ledger.causes().values()))
        assert abs(ledger.unexplained) < 1e-9 * scale
    assert ledger.springs != 0.0 and ledger.damping < 0.0
    # the servo works with all it has
    assert abs(ledger.actuators) > 0.0 and abs(ledger.limits) < 1e-9 * scale


def test_a_spring_between_bodies_works_with_its_stretch_and_damps_with_its_rate():
    world = sx.World(time_step=0.001, gravity=(0, 0, 0))
    a = world.add_rigid_body("a", mass=1.0, linear_velocity=(-0.4, 0, 0))
    b = world.add_rigid_body("b", mass=2.0, position=(1.2, 0, 0), linear_velocity=(0.3, 0, 0))
    world.add_rigid_body_distance_spring("s", a, b, 0.5, 80.0, damping=3.0)
    world.step(n=20)
    length, rate = b.translation[0] - a.translation[0], b.linear_velocity[0] - a.linear_velocity[0]
    world.step()
    h, ledger = world.time_step, world.energy_ledger()
    mean = 0.5 * (rate + b.linear_velocity[0] - a.linear_velocity[0])
    assert ledger.springs == pytest.approx(-80.0 * (length - 0.5) * mean * h, rel=1e-9)
    assert ledger.damping == pytest.approx(-3.0 * rate * mean * h, rel=1e-9)
    assert abs(ledger.unexplained) < 1e-12


FORK = """
<mujoco><option timestep="0.005" integrator="implicitfast"/>
  <default><geom type="capsule" fromto="0 0 0 .3 0 0" size=".04" contype="0" conaffinity="0"/></default>
  <worldbody><body><joint name="a" axis="0 1 0"/><geom/>
      <body pos=".3 0 0"><joint name="b" axis="0 1 0" damping=".1"/><geom/></body>
      <body pos=".3 0 0"><joint name="c" axis="0 0 1"/><geom/></body></body>
    <body pos="0 1 0"><joint name="f" axis="0 1 0"/><geom/></body></worldbody>
  <tendon><fixed name="t" damping=".3"><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/>
    <joint joint="c" coef=".4"/><joint joint="f" coef=".7"/></fixed></tendon>
  <actuator><velocity tendon="t" kv="8"/><position joint="b" kp="20" kv="2"/>
    <general joint="c" dyntype="filter" dynprm=".1" gaintype="affine" gainprm="1 0 -1"/>
    <velocity joint="f" kv="9" forcerange="-1 1"/></actuator>
</mujoco>"""


def test_what_answers_to_speeds_at_the_end_of_a_step_is_found():
    world = sx.World.from_scene(msd.from_str(FORK, format="mjcf"))
    world.multibodies[0].joints.velocity = [1.0, -2.0, 0.5]
    seen = dict.fromkeys(("actuators", "damping"), 0.0)
    for k in range(100):
        if k == 50:
            joint = world.multibodies[0].joints["b"]
            joint.actuator_type, joint.command_velocity = sx.ActuatorType.VELOCITY, [0.7]
        world.actuator_controls = [0.5, 0.3, 1.0, 2.0]
        world.step()
        ledger = world.energy_ledger()
        scale = max(world.kinetic_energy, *map(abs, ledger.causes().values()))
        assert abs(ledger.unexplained) < 1e-9 * scale
        for name in seen:
            seen[name] = max(seen[name], abs(getattr(ledger, name)))
    assert min(seen.values()) > 1e-3


@pytest.mark.parametrize("family", ["semi-implicit", "implicit-damping"])
@pytest.mark.parametrize("kind", [sx.JointType.PRISMATIC, sx.JointType.REVOLUTE])
def test_passive_forces_of_a_joint_between_two_turning_bodies(kind, family):
    """Work of a spring and a damper is that along the joint's own coordinate, however its bodies move."""
    options = sx.MultibodyOptions(integration_family=family)
    world = sx.World(time_step=0.0005, gravity=(0, 0, 0), multibody_options=options)
    a = world.add_rigid_body("a", mass=1.0, inertia=np.diag((0.1, 0.2, 0.25)), position=(2, 1, 0))
    a.angular_velocity, a.linear_velocity = (0.3, 0.9, -0.4), (0.5, -0.2, 0.1)
    b = world.add_rigid_body("b", mass=2.0, inertia=np.diag((0.3, 0.2, 0.4)), position=(2.4, 1.5, 0.3))
    joint = world.add_joint(a, b, sx.JointSpec(name="j", type=kind, axis=(0.6, 0, 0.8)))
    joint.spring_stiffness, joint.rest_position, joint.damping_coefficient = 40.0, [0.2], 3.0
    joint.armature = 0.02
    world.step(n=120)
    q0, v0 = joint.position[0], joint.velocity[0]
    world.step()
    h, ledger = world.time_step, world.energy_ledger()
    mean = 0.5 * (v0 + joint.velocity[0])
    assert abs(mean) > 0.05
    assert ledger.springs == pytest.approx(-40.0 * (q0 - 0.2) * mean * h, rel=5e-3)
    damped = v0 if family == "semi-implicit" else joint.velocity[0]
    assert ledger.damping == pytest.approx(-3.0 * damped * mean * h, rel=5e-3)
    assert abs(ledger.unexplained) < 1e-10


def test_a_prescribed_joint_works_against_a_motor_between_bodies():
    """A hinge at w = 2 rad/s carries a motor of 1.5 N m, whose reaction its drive holds: it works with 1.5 w."""
    world = sx.World(time_step=0.001, gravity=(0, 0, 0))
    arm = world.add_multibody("arm")
    link = arm.add_link("bar", joint=sx.JointSpec(name="hinge", axis=(0, 0, 1)))
    hinge = arm.joints["hinge"]
    hinge.actuator_type, hinge.command_velocity, hinge.velocity = sx.ActuatorType.VELOCITY, [2.0], [2.0]
    disc = world.add_rigid_body("disc", mass=3.0, inertia=(0.8, 0.9, 1.0), angular_velocity=(0, 0, 2.0))
    motor = world.add_joint(link, disc, sx.JointSpec(name="motor", axis=(0, 0, 1)))
    motor.force = [1.5]
    world.step(n=10)
    h, w0 = world.time_step, disc.angular_velocity[2]
    world.step()
    ledger, mean = world.energy_ledger(), 0.5 * (w0 + disc.angular_velocity[2])
    assert disc.angular_velocity[2] - w0 == pytest.approx(1.5 * h, rel=1e-9)
    assert ledger.actuators == pytest.approx(1.5 * (mean - 2.0) * h, rel=1e-8)
    assert ledger.prescribed == pytest.approx(1.5 * 2.0 * h, rel=1e-8)
    assert ledger.kinetic_change == pytest.approx(1.5 * mean * h, rel=1e-8)
    assert abs(ledger.unexplained) < 1e-12
