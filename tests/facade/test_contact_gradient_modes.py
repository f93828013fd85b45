# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Modes of derivatives of contacts: what they are, and that they do what they are good for."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.facade import phantom_contacts
from worldline._src.step.derivative_stages import RELAXATION

Mode = sx.ContactGradientMode
H = 0.005


def resting(mode: Mode, mass: float = 1.0) -> tuple[sx.World, sx.RigidBody]:
    """A ball at rest on hard ground."""
    world = sx.World(time_step=H, differentiable=True, contact_gradient_mode=mode)
    ground = world.add_rigid_body("ground", position=(0, 0, -0.5))
    ground.is_static = True
    ground.set_collision_shape(sx.CollisionShape.box((5, 5, 0.5)))
    ball = world.add_rigid_body("ball", mass=mass, position=(0, 0, 0.1))
    ball.set_collision_shape(sx.CollisionShape.sphere(0.1))
    world.step(n=5)
    return world, ball


def two_balls(mode: Mode, gap: float = 0.4) -> tuple[sx.World, sx.RigidBody]:
    """Balls of 1 kg and 3 kg that do not touch, without gravity; the second is returned."""
    world = sx.World(time_step=H, gravity=(0, 0, 0), differentiable=True, contact_gradient_mode=mode)
    for k, name in enumerate(("ball", "puck")):
        body = world.add_rigid_body(name, mass=1.0 + 2.0 * k, position=(k * (0.2 + gap), 0, 0))
        body.set_collision_shape(sx.CollisionShape.sphere(0.1))
    return world, world.rigid_bodies["puck"]


BALLS = """<mujoco><option timestep=".005" gravity="0 0 0"/><worldbody>
  <body name="ball"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>
  <body name="puck" pos=".3 0 0"><freejoint/><geom type="sphere" size=".1" mass="3"/></body>
</worldbody></mujoco>"""


def balls(mode: Mode) -> sx.World:
    """The same balls with the impedance law."""
    scene = msd.from_str(BALLS, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(scene)
    world.contact_gradient_mode = mode
    return world


def entry(world: sx.World, row: str, column: str) -> float:
    made = world.get_step_derivatives()
    if column in made.control_names:
        return float(made.control_jacobian[made.state_names.index(row), made.control_names.index(column)])
    return float(made.state_jacobian[made.state_names.index(row), made.state_names.index(column)])


def test_relaxed_complementarity_is_its_formula():
    # a ball pushes with m g: with z = -g the row moves like a mass 1 / (R + s / f) beside that of the ball
    for mass in (1.0, 4.0):
        world, _ = resting(Mode.COMPLEMENTARITY_AWARE, mass)
        z = -9.81
        q = np.sqrt(z * z + 4.0 * RELAXATION**2)
        added = mass * (q - z) / (q + z)
        found = entry(world, "ball.velocity[2]", "ball.wrench[5]")
        assert found == pytest.approx(H / (mass + added), rel=1e-5)
        world.contact_gradient_mode = Mode.ANALYTIC
        world.step()
        assert 0.0 <= entry(world, "ball.velocity[2]", "ball.wrench[5]") < 1e-6 * H


def test_relaxed_complementarity_counts_half_where_contact_is_about_to_open():
    world, _ = resting(Mode.COMPLEMENTARITY_AWARE)
    world.gravity = (0, 0, 0)
    world.step(n=3)
    # no force, no gap: the mean of holding and of letting go
    assert entry(world, "ball.velocity[2]", "ball.wrench[5]") == pytest.approx(0.5 * H, rel=1e-3)


def test_modes_change_no_bit_of_steps():
    ends = []
    for mode in Mode:
        world = balls(mode)
        world.rigid_bodies["ball"].linear_velocity = (4.0, 0.1, 0.2)
        for _ in range(20):
            world.step()
            world.get_step_derivatives()
        ends.append(world.state_vector.copy())
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])


def test_modes_agree_where_there_is_no_contact():
    made = []
    for mode in (Mode.ANALYTIC, Mode.COMPLEMENTARITY_AWARE):
        world, _ = two_balls(mode)
        world.step()
        made.append(world.get_step_derivatives().state_jacobian)
    np.testing.assert_array_equal(*made)


def test_products_are_those_of_the_matrices_in_every_mode():
    rng = np.random.default_rng(0)
    for mode in Mode:
        world = balls(mode)
        world.rigid_bodies["ball"].linear_velocity = (4.0, 0.1, 0.2)
        world.step(n=6)
        made = world.get_step_derivatives()
        g, x = rng.normal(size=(2, len(made.state_names)))
        np.testing.assert_allclose(world.apply_step_vjp(g).state, g @ made.state_jacobian, rtol=1e-12)
        np.testing.assert_allclose(world.apply_step_jvp(x), made.state_jacobian @ x, rtol=1e-10, atol=1e-10)


def test_a_phantom_contact_is_its_formula():
    gap = 0.4
    world, _ = two_balls(Mode.PRE_CONTACT_SURROGATE, gap)
    world.step()
    # moving the ball ahead by 1 m pushes the puck: w m_e h / tau^2 / m with m_e = m1 m2 / (m1 + m2)
    w = (1.0 + gap / phantom_contacts.LENGTH) ** -2.0
    tau = phantom_contacts.TIME_CONSTANT
    pushed = w * 0.75 * H / tau**2 / 3.0
    assert entry(world, "puck.velocity[0]", "ball.pose[0]") == pytest.approx(pushed, rel=1e-4)
    # and its velocity, which also moves it, by the damper
    damped = w * 0.75 * (2.0 * H / tau + H * H / tau**2) / 3.0
    assert entry(world, "puck.velocity[0]", "ball.velocity[0]") == pytest.approx(damped, rel=1e-4)
    # momentum is kept
    total = entry(world, "ball.velocity[0]", "ball.pose[0]") + 3.0 * pushed
    assert total == pytest.approx(0.0, abs=1e-6)
    assert world.get_step_derivatives().provenance["open contacts"] is sx.Provenance.SURROGATE


def test_far_apart_there_are_no_phantoms():
    world, _ = two_balls(Mode.PRE_CONTACT_SURROGATE, phantom_contacts.REACH + 0.1)
    world.step()
    assert entry(world, "puck.velocity[0]", "ball.pose[0]") == 0.0


def descend(world, column, row, target, step, turns, steps):
    """Force along a column by normalised gradient steps until a number of the state is at its target."""
    start = world.get_state(world.state_space())
    world.step()
    made = world.get_step_derivatives()
    c, r = made.control_names.index(column), made.state_names.index(row)
    size, force, first = len(made.control_names), 0.0, None
    for _ in range(turns):
        world.set_state(start)
        controls = np.zeros((steps, size))
        controls[:, c] = force
        run = sx.diff.rollout(world, controls)
        reached = value(world, row)
        g = np.zeros(len(made.state_names))
        g[r] = reached - target
        gradient = float(run.vjp(g).controls[:, c].sum())
        first = gradient if first is None else first
        if abs(reached - target) < 0.02:
            return True, first
        if abs(gradient) < 1e-9:
            return False, first
        force -= step * np.sign(gradient) * min(1.0, 4.0 * abs(reached - target))
    return False, first


def value(world: sx.World, row: str) -> float:
    body, _, rest = row.partition(".")
    return float(world.rigid_bodies[body].translation[int(rest[-2])])


def test_relaxed_complementarity_finds_the_force_that_lifts():
    """The loss is flat until the force exceeds the weight: the exact gradient is nothing, this one leads on."""
    found = {}
    for mode in (Mode.ANALYTIC, Mode.COMPLEMENTARITY_AWARE):
        world, _ = resting(mode)
        found[mode] = descend(world, "ball.wrench[5]", "ball.pose[2]", 0.2, 4.0, 40, 20)
    assert not found[Mode.ANALYTIC][0] and abs(found[Mode.ANALYTIC][1]) < 1e-9
    assert found[Mode.COMPLEMENTARITY_AWARE][0]


def test_the_surrogate_finds_the_push_that_reaches_another_body():
    """The puck is not touched at first: its exact gradient is zero, this one sends the ball its way."""
    found = {}
    for mode in (Mode.ANALYTIC, Mode.PRE_CONTACT_SURROGATE):
        found[mode] = descend(balls(mode), "ball.wrench[3]", "puck.pose[0]", 0.4, 40.0, 40, 20)
    assert not found[Mode.ANALYTIC][0] and found[Mode.ANALYTIC][1] == 0.0
    assert found[Mode.PRE_CONTACT_SURROGATE][0]
