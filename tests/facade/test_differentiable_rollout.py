# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives over many steps, against differences and against each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx

gymnasium = pytest.importorskip("gymnasium")
ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
CHEETAH = ASSETS / "half_cheetah.xml"


def cheetah() -> sx.World:
    """On its feet."""
    scene = msd.from_file(CHEETAH)
    scene.simulate_option.policy.differentiable = True
    scene.simulate_option.constraint_solver_tolerance = 1e-15
    world = sx.World.from_scene(scene)
    world.step(n=60)
    return world


def final(world: sx.World, start: sx.state.WorldState, controls: np.ndarray) -> np.ndarray:
    world.set_state(start)
    for row in controls:
        control = world.get_control(world.control_space())
        control.vector = row
        world.set_control(control)
        world.step()
    return world.state_vector.copy()


def test_a_rollout_of_200_steps_through_contacts_against_differences():
    world, rng = cheetah(), np.random.default_rng(4)
    start = world.get_state(world.state_space())
    size = world.control_space().dimension
    controls = 0.1 * rng.normal(size=(200, size))
    run = sx.diff.rollout(world, controls)
    assert world.compute_step_metrics().active_contact_count > 0
    # half_cheetah has no rotations in space: tangents are differences of vectors
    g = rng.normal(size=start.tangent_dimension)
    back = run.vjp(g)
    for _ in range(3):
        x, u = rng.normal(size=start.tangent_dimension), rng.normal(size=controls.shape)
        h = 1e-8
        ends = [final(world, sx.state.integrate(start, s * h * x), controls + s * h * u) for s in (-1.0, 1.0)]
        difference = g @ (ends[1] - ends[0]) / (2.0 * h)
        product = float(back.state @ x + np.sum(back.controls * u))
        assert product == pytest.approx(difference, rel=1e-4)
        forth = run.jvp(x, u)
        assert g @ forth[-1] == pytest.approx(product, rel=1e-9)


def test_losses_of_all_states_and_checkpoints():
    world, rng = cheetah(), np.random.default_rng(5)
    controls = 0.1 * rng.normal(size=(11, world.control_space().dimension))
    before = world.state_vector.copy()
    run = sx.diff.rollout(world, controls)
    after = world.state_vector.copy()
    np.testing.assert_array_equal(run.states[[0, -1]], [before, after])
    weights = rng.normal(size=(12, world.get_state(world.state_space()).tangent_dimension))
    back = run.vjp(weights)
    x, u = rng.normal(size=weights.shape[1]), rng.normal(size=controls.shape)
    forth = run.jvp(x, u)
    product = float(back.state @ x + np.sum(back.controls * u))
    assert np.sum(weights * forth) == pytest.approx(product, rel=1e-10)
    # the World is where its steps led to
    np.testing.assert_array_equal(world.state_vector, after)


def test_parameters_of_a_rollout_forwards_and_in_reverse():
    """jvp is the transpose of vjp by parameters too; both are the slope of a rollout with another mass."""
    world, rng = cheetah(), np.random.default_rng(7)
    torso = world.multibodies["torso"]
    for owner, parameter in (
        (torso.links["torso"], sx.PhysicalParameter.MASS),
        (torso.joints["bthigh"], sx.PhysicalParameter.DAMPING),
        (torso.links["ffoot"], sx.PhysicalParameter.FRICTION),
        (world, sx.PhysicalParameter.GRAVITY),
    ):
        world.add_differentiable_parameter(owner, parameter)
    controls = 0.1 * rng.normal(size=(10, world.control_space().dimension))
    batch = sx.WorldBatch(world, 2)
    start, other = world.get_state(world.state_space()), world.clone()
    run = sx.diff.rollout(world, controls)
    count, size = run.num_parameters, start.tangent_dimension
    weights, p = rng.normal(size=(11, size)), rng.normal(size=count)
    x, u = rng.normal(size=size), rng.normal(size=controls.shape)
    back, forth = run.vjp(weights), run.jvp(x, u, p)
    product = float(back.state @ x + np.sum(back.controls * u) + back.parameters @ p)
    assert np.sum(weights * forth) == pytest.approx(product, rel=1e-9)
    ends = []
    link, mass = other.multibodies["torso"].links["torso"], torso.links["torso"].mass
    for h in (-1e-6, 1e-6):
        inertia = link.inertia
        link.mass = mass + h
        link.inertia = inertia  # which a mass takes along
        ends.append(final(other, start, controls))
    change = run.jvp(np.zeros(size), None, np.eye(count)[0])[-1]
    np.testing.assert_allclose(change, (ends[1] - ends[0]) / 2e-6, rtol=1e-4, atol=1e-6)
    runs = sx.diff.rollout(batch, np.stack([controls, controls]))
    np.testing.assert_array_equal(
        runs.jvp(np.stack([x, x]), None, np.stack([p, 0.0 * p])), [run.jvp(x, None, p), run.jvp(x)]
    )
    with pytest.raises(ValueError, match="parameter tangent"):
        run.jvp(x, None, p[:-1])
    with pytest.raises(ValueError, match="parameter tangents"):
        runs.jvp(np.stack([x, x]), None, p)


def test_what_a_rollout_is_given_is_checked():
    with pytest.raises(RuntimeError, match="differentiable=True"):
        sx.diff.rollout(sx.World(), np.zeros((3, 0)))
    world = sx.World(differentiable=True)
    world.add_rigid_body("box")
    with pytest.raises(ValueError, match="shape \\(steps, 6\\)"):
        sx.diff.rollout(world, np.zeros((3, 2)))
    assert world.frame == 0
    run = sx.diff.rollout(world, np.zeros((3, 6)))
    with pytest.raises(ValueError, match="d_loss_d_states"):
        run.vjp(np.zeros((2, 12)))
    with pytest.raises(ValueError, match="control tangents"):
        run.jvp(np.zeros(12), np.zeros((2, 6)))


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_the_reverse_pass_is_the_product_of_jacobians(integrator, monkeypatch):
    """Through formulas and through dual numbers; each step is repeated once, and sqrt(T) states are kept."""
    text = CHEETAH.read_text().replace("<option ", f'<option integrator="{integrator}" ')
    scene = msd.from_str(text, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    world, rng = sx.World.from_scene(scene), np.random.default_rng(6)
    world.step(n=60)
    other, steps = world.clone(), 17
    controls = 0.1 * rng.normal(size=(steps, world.control_space().dimension))
    made = []
    for row in controls:
        other.control_vector = row
        other.step()
        made.append(other.get_step_derivatives())
    run = sx.diff.rollout(world, controls)
    np.testing.assert_array_equal(run.states[-1], other.state_vector)
    assert (made[0].provenance["state_jacobian"] is sx.Provenance.ANALYTIC) == (integrator == "Euler")
    losses = rng.normal(size=(steps + 1, len(made[0].state_names)))
    g, by_control = losses[-1], np.zeros(controls.shape)
    for t in range(steps - 1, -1, -1):
        by_control[t] = g @ made[t].control_jacobian
        g = g @ made[t].state_jacobian + losses[t]

    repeated, step = [], sx.World.step
    monkeypatch.setattr(sx.World, "step", lambda self, *a, **k: (repeated.append(1), step(self, *a, **k)))
    back = run.vjp(losses)
    assert len(repeated) == steps and len(run._checkpoints) == 5
    for found, expected in ((back.state, g), (back.controls, by_control)):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


def test_the_gradient_by_parameters_through_contacts():
    """Mass of a thigh and damping of its joint, of a cheetah, against differences of rollouts."""
    world, rng = cheetah(), np.random.default_rng(7)
    robot = world.multibodies[0]
    thigh, hip = robot.links["bthigh"], robot.joints["bthigh"]
    # one that follows from shapes would be scaled with the mass
    thigh.inertia = np.array(thigh.inertia)
    world.step()
    world.add_differentiable_parameter(thigh, sx.PhysicalParameter.MASS)
    world.add_differentiable_parameter(hip, sx.PhysicalParameter.DAMPING)
    start = world.get_state(world.state_space())
    controls = 0.1 * rng.normal(size=(50, world.control_space().dimension))
    g = rng.normal(size=start.tangent_dimension)
    back = sx.diff.rollout(world, controls).vjp(g)
    assert world.compute_step_metrics().active_contact_count > 0
    mass, damping, h = thigh.mass, np.array(hip.damping_coefficient), 1e-6
    for k, change in enumerate(((h, 0.0), (0.0, h))):
        ends = []
        for side in (-1.0, 1.0):
            thigh.mass, hip.damping_coefficient = mass + side * change[0], damping + side * change[1]
            ends.append(final(world, start, controls))
        difference = g @ (ends[1] - ends[0]) / (2.0 * h)
        assert back.parameters[k] == pytest.approx(difference, rel=1e-4)
