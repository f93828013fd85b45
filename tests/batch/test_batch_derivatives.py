# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the steps of a batch on threads: those of each world alone, and central differences."""

import numpy as np
import pytest
from batch_scenes import robot, scatter

from worldline import simulation as sx

COUNT = 3


def differentiable_batch(settle: int = 150) -> sx.WorldBatch:
    """Hopping robots on the ground, each in a posture of its own."""
    scene = robot()
    scene.simulate_option.policy.differentiable = True
    batch = sx.WorldBatch(scene, COUNT)
    scatter(batch)
    batch.step(settle)
    return batch


@pytest.fixture(scope="module")
def stepped() -> sx.WorldBatch:
    """A batch whose last step is differentiated and that nothing else changes."""
    return differentiable_batch()


def test_jacobians_are_those_of_each_world_alone():
    batch = differentiable_batch(settle=149)
    alone = [batch.extract(i) for i in range(COUNT)]
    batch.step()
    made = batch.get_step_derivatives(threads=2)
    for i, world in enumerate(alone):
        world.step()
        own = world.get_step_derivatives()
        assert made.state_names == own.state_names and made.control_names == own.control_names
        assert (made.state_jacobian[i] == own.state_jacobian).all()
        assert (made.control_jacobian[i] == own.control_jacobian).all()
    assert made.provenance["state_jacobian"].value == "analytic"
    assert len({one.tobytes() for one in made.state_jacobian}) == COUNT, "the worlds differ"


def test_columns_are_central_differences_of_steps_of_the_batch(tmp_path):
    batch, h = differentiable_batch(settle=149), 1e-5
    start = tmp_path / "start.wlb"
    batch.save(start)

    def velocities_after(name: str, column: int, change: float) -> np.ndarray:
        batch.load(start)
        getattr(batch, name)[:, column] += change
        batch.step()
        return batch.joint_velocities.copy()

    nv = batch.joint_velocities.shape[1]
    for name, column, jacobian, at in (
        ("controls", 0, "control_jacobian", "servo.control"),
        ("joint_velocities", 6, "state_jacobian", "trunk.dq[6]"),
    ):
        difference = velocities_after(name, column, h) - velocities_after(name, column, -h)
        batch.load(start)
        batch.step()
        made = batch.get_step_derivatives()
        names = made.control_names if jacobian == "control_jacobian" else made.state_names
        exact = getattr(made, jacobian)[:, nv : 2 * nv, names.index(at)]
        assert np.abs(exact).max() > 1e-3
        np.testing.assert_allclose(exact, difference / (2.0 * h), rtol=1e-5, atol=1e-6)


def test_products_are_those_of_the_jacobians(stepped):
    made, rng = stepped.get_step_derivatives(), np.random.default_rng(1)
    n, m = len(made.state_names), len(made.control_names)
    g, x, u = (rng.normal(size=(COUNT, k)) for k in (n, n, m))
    back = stepped.apply_step_vjp(g, threads=0)
    np.testing.assert_allclose(back.state, np.einsum("wi,wij->wj", g, made.state_jacobian), rtol=1e-12)
    np.testing.assert_allclose(back.control, np.einsum("wi,wij->wj", g, made.control_jacobian), rtol=1e-12)
    change = stepped.apply_step_jvp(x, u, threads=2)
    expected = np.einsum("wij,wj->wi", made.state_jacobian, x)
    np.testing.assert_allclose(stepped.apply_step_jvp(x), expected, rtol=1e-9, atol=1e-12)
    expected += np.einsum("wij,wj->wi", made.control_jacobian, u)
    np.testing.assert_allclose(change, expected, rtol=1e-9, atol=1e-12)


def test_worlds_can_be_chosen(stepped):
    whole, part = stepped.get_step_derivatives(), stepped.get_step_derivatives([2, 0])
    assert (part.state_jacobian == whole.state_jacobian[[2, 0]]).all()
    masked = stepped.get_step_derivatives(np.array([False, True, False]))
    assert (masked.control_jacobian == whole.control_jacobian[[1]]).all()


def test_rollouts_are_those_of_each_world_alone_and_move_the_batch():
    batch, rng = differentiable_batch(), np.random.default_rng(2)
    alone = [batch.extract(i) for i in range(COUNT)]
    size = alone[0].control_space().dimension
    controls = rng.uniform(-0.5, 0.5, (COUNT, 4, size))
    runs = sx.diff.rollout(batch, controls, threads=2)
    own = [sx.diff.rollout(world, controls[i]) for i, world in enumerate(alone)]
    assert (runs.states == np.array([run.states for run in own])).all()
    for i, world in enumerate(alone):
        assert (batch.extract(i).state_vector == world.state_vector).all()
    n = alone[0].get_step_derivatives().state_jacobian.shape[0]
    g, x, u = rng.normal(size=(COUNT, 5, n)), rng.normal(size=(COUNT, n)), rng.normal(size=controls.shape)
    back, change = runs.vjp(g), runs.jvp(x, u)
    for i, run in enumerate(own):
        one = run.vjp(g[i])
        assert (back.state[i] == one.state).all() and (back.controls[i] == one.controls).all()
        assert (change[i] == run.jvp(x[i], u[i])).all()
    last = runs.vjp(g[:, -1])
    assert not np.allclose(last.state, back.state)
    # both products are of one linear map
    np.testing.assert_allclose(
        np.einsum("wti,wti->w", g, change),
        np.einsum("wi,wi->w", back.state, x) + np.einsum("wti,wti->w", back.controls, u),
        rtol=1e-9,
    )


def test_what_cannot_be_differentiated_is_refused(stepped):
    plain = sx.WorldBatch(robot(), 2)
    assert plain.layout == "lanes"
    with pytest.raises(RuntimeError, match="takes no derivatives"):
        plain.get_step_derivatives()
    with pytest.raises(RuntimeError, match="takes no derivatives"):
        sx.diff.rollout(plain, np.zeros((2, 3, 13)))
    scene = robot()
    scene.simulate_option.policy.differentiable = True
    with pytest.raises(NotImplementedError, match="derivatives by activations"):
        sx.WorldBatch(scene, 2, layout="lanes")
    fresh = sx.WorldBatch(scene, 2)
    assert fresh.layout == "threads" and "derivatives" in fresh.resolved_configuration[0].reason
    with pytest.raises(RuntimeError, match="no last step"):
        fresh.get_step_derivatives()
    before = stepped.joint_positions.copy()
    for call in (
        lambda: stepped.apply_step_vjp(np.zeros(23)),
        lambda: stepped.apply_step_vjp(np.zeros((COUNT, 22))),
        lambda: stepped.apply_step_jvp(np.zeros((COUNT, 23)), np.zeros((COUNT, 1))),
        lambda: stepped.get_step_derivatives([]),
        lambda: stepped.get_step_derivatives([COUNT]),
        lambda: stepped.get_step_derivatives(threads=-1),
        lambda: sx.diff.rollout(stepped, np.zeros((2, 13))),
        lambda: sx.diff.rollout(stepped, np.full((COUNT, 2, 13), np.nan)),
        lambda: sx.diff.rollout(stepped.extract(0), np.zeros((2, 13)), threads=2),
        lambda: sx.diff.rollout("world", np.zeros((2, 13))),
    ):
        with pytest.raises((ValueError, IndexError)):
            call()
    assert (stepped.joint_positions == before).all()


def test_a_frozen_world_is_named():
    scene = robot()
    scene.simulate_option.policy.differentiable = True
    batch = sx.WorldBatch(scene, 2, divergence_policy="freeze")
    batch.joint_velocities[1] = 1e160
    batch.step()
    with pytest.raises(RuntimeError, match="world 1 is frozen"):
        batch.get_step_derivatives()
    assert batch.get_step_derivatives([0]).state_jacobian.shape == (1, 23, 23)
