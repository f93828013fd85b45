# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a step by physical parameters, against closed forms and against Worlds made with others."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import OperationError

P = sx.PhysicalParameter
H = 0.01


def entry(world: sx.World, row: str, column: str) -> float:
    made = world.get_step_derivatives()
    return float(made.parameter_jacobian[made.state_names.index(row), made.parameter_names.index(column)])


def test_gravity_accelerates_everything_alike():
    world = sx.World(time_step=H, differentiable=True)
    world.add_rigid_body("box", mass=2.0)
    world.add_differentiable_parameter(world, P.GRAVITY)
    world.step()
    made = world.get_step_derivatives()
    assert made.parameter_names == ("gravity[0]", "gravity[1]", "gravity[2]")
    # v = h g
    np.testing.assert_allclose(made.parameter_jacobian[6:9], H * np.eye(3), atol=1e-9)
    assert made.provenance["parameter_jacobian"] is sx.Provenance.DUAL


def sliding(friction: float) -> str:
    return f"""<mujoco><option timestep="{H}" cone="elliptic" iterations="200" tolerance="1e-14"/><worldbody>
      <geom type="plane" size="5 5 .1" friction=".1"/>
      <body name="box" pos="0 0 .098"><freejoint/>
        <geom type="box" size=".1 .1 .1" mass="2" friction="{friction}"/></body></worldbody></mujoco>"""


def made_from(text: str) -> sx.World:
    scene = msd.from_str(text, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    return sx.World.from_scene(scene)


def test_friction_is_that_of_a_world_made_with_another():
    def end(friction: float) -> np.ndarray:
        world = made_from(sliding(friction))
        world.rigid_bodies["box"].linear_velocity = (2.0, 0.5, 0.0)
        world.step()
        return world.state_vector[7:]

    world = made_from(sliding(0.5))
    box = world.rigid_bodies["box"]
    box.linear_velocity = (2.0, 0.5, 0.0)
    world.add_differentiable_parameter(box, P.FRICTION)
    world.step()
    made = world.get_step_derivatives()
    assert made.parameter_names == ("box.friction",)
    # friction combines by the maximum: the box has its way
    central = (end(0.5 + 1e-4) - end(0.5 - 1e-4)) / 2e-4
    assert np.abs(central[:2]).max() > 1e-3
    np.testing.assert_allclose(made.parameter_jacobian[6:, 0], central, rtol=1e-5, atol=1e-6)


def test_restitution_of_an_impact():
    world = sx.World(time_step=0.002, gravity=(0, 0, 0), differentiable=True)
    ground = world.add_rigid_body("ground", position=(0, 0, -0.5))
    ground.is_static = True
    ground.set_collision_shape(sx.CollisionShape.box((5, 5, 0.5)))
    ball = world.add_rigid_body("ball", position=(0, 0, 0.1001))
    ball.set_collision_shape(sx.CollisionShape.sphere(0.1))
    ball.restitution = 0.8
    ball.linear_velocity = (0, 0, -3)
    world.add_differentiable_parameter(ball, P.RESTITUTION)
    for _ in range(10):
        world.step()
        if ball.linear_velocity[2] > 0.0:
            break
    # v = -e v_before
    assert entry(world, "ball.velocity[2]", "ball.restitution") == pytest.approx(3.0, rel=1e-6)


def test_sizes_of_shapes_move_contacts():
    text = """<mujoco><option timestep=".01" iterations="200" tolerance="1e-14"/><worldbody><geom type="plane" size="5 5 .1"/>
      <body name="ball" pos="0 0 {0}"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".004 .004 .004"/>
        <geom type="sphere" size="{1}"/></body></worldbody></mujoco>"""

    def end(size: float) -> np.ndarray:
        world = made_from(text.format(0.098, size))
        world.step()
        return world.state_vector[7:]

    world = made_from(text.format(0.098, 0.1))
    world.add_differentiable_parameter(world.rigid_bodies["ball"], P.SHAPE_SIZE)
    world.step()
    found = world.get_step_derivatives().parameter_jacobian[6:, 0]
    central = (end(0.1 + 1e-6) - end(0.1 - 1e-6)) / 2e-6
    assert abs(central[2]) > 1.0
    np.testing.assert_allclose(found, central, rtol=1e-5, atol=1e-5)


def test_frames_of_joints():
    world = sx.World(time_step=H, differentiable=True)
    robot = world.add_multibody("arm")
    spec = sx.JointSpec(name="hinge", type=sx.JointType.REVOLUTE, axis=(0, 1, 0))
    robot.add_link("link", joint=spec, mass=1.0, inertia=0.2 * np.eye(3), center_of_mass=(0.5, 0, 0))
    hinge = robot.joints["hinge"]
    world.add_differentiable_parameter(hinge, P.JOINT_FRAME)
    world.step()
    made = world.get_step_derivatives()
    assert len(made.parameter_names) == 6
    row, q = made.state_names.index("arm.dq"), float(hinge.position[0])
    # a turn about the axis of the hinge is a displacement of its coordinate; translations change nothing
    turn = made.parameter_jacobian[row]
    np.testing.assert_allclose(turn[[0, 1, 2, 3, 5]], 0.0, atol=1e-8)
    assert turn[4] == pytest.approx(made.state_jacobian[row, made.state_names.index("arm.q")], abs=1e-8)
    assert q == pytest.approx(float(hinge.position[0]))


def test_mass_of_a_pendulum_with_a_spring():
    world = sx.World(time_step=H, gravity=(0, 0, 0), differentiable=True)
    robot = world.add_multibody("arm")
    spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
    link = robot.add_link("link", joint=spec, mass=2.0)
    slide = robot.joints["slide"]
    slide.spring_stiffness, slide.position = [3.0], [0.2]
    world.add_differentiable_parameter(link, P.MASS)
    world.step()
    # a = -k q / m
    assert entry(world, "arm.dq", "arm.link.mass") == pytest.approx(H * 0.6 / 4.0, rel=1e-9)


def test_what_has_no_such_numbers_is_refused():
    world = sx.World(differentiable=True)
    box = world.add_rigid_body("box")
    with pytest.raises(NotImplementedError, match="needs shapes that can touch"):
        world.add_differentiable_parameter(box, P.FRICTION)
    with pytest.raises(NotImplementedError, match="GRAVITY of RigidBody"):
        world.add_differentiable_parameter(box, P.GRAVITY)
    with pytest.raises(NotImplementedError, match="DAMPING of RigidBody"):
        world.add_differentiable_parameter(box, P.DAMPING)
    assert world.num_differentiable_parameters == 0


def test_a_world_without_derivatives_takes_no_parameters():
    world = sx.World()
    body = world.add_rigid_body("box", mass=1.0)
    with pytest.raises(OperationError, match="takes no derivatives"):
        world.add_differentiable_parameter(body, P.MASS)
    assert world.num_differentiable_parameters == 0
