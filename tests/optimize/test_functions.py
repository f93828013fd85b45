# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts as functions of arrays, of PyTorch, of JAX, and for optimisers of SciPy, against differences."""

from __future__ import annotations

import numpy as np
import pytest

from derivative_scenes import add_parameters
from worldline import optimize
from worldline import simulation as sx

H = 0.05


def world_of(kind: str) -> tuple[sx.World, list[str]]:
    """A tumbling box, or an arm with a ball joint."""
    world = sx.World(time_step=H, differentiable=True)
    if kind == "box":
        box = world.add_rigid_body("box", mass=2.0, inertia=np.diag([0.1, 0.2, 0.3]))
        box.angular_velocity = (1.0, -2.0, 0.5)
        return world, ["box.wrench"]
    robot = world.add_multibody("arm")
    spec = sx.JointSpec(name="ball", type=sx.JointType.SPHERICAL)
    robot.add_link("link", joint=spec, mass=1.0, inertia=0.1 * np.eye(3), center_of_mass=(0.2, 0, -0.3))
    robot.joints["ball"].position, robot.joints["ball"].velocity = (0.3, -0.5, 0.8), (1.0, 2.0, -1.0)
    return world, ["arm.force"]


@pytest.mark.parametrize("kind", ["box", "arm"])
def test_gradients_are_those_of_differences(kind):
    world, controls = world_of(kind)
    rollout, rng = optimize.RolloutFunction(world, controls), np.random.default_rng(0)
    x, u = world.state_vector.copy(), rng.normal(size=(4, len(rollout.action_names)))
    weights = rng.normal(size=(5, len(x)))
    states = rollout(x, u)
    by_state, by_action, _ = rollout.vjp(states, u, weights)
    basis = rollout._basis(x)
    for k in range(basis.shape[1]):
        # along the tangent: state vectors have unit quaternions
        ends = [
            rollout(rollout._system.integrate(x, s * 1e-6 * np.eye(basis.shape[1])[k]), u) for s in (-1, 1)
        ]
        slope = np.sum(weights[1:] * (ends[1] - ends[0])[1:]) / 2e-6 + weights[0] @ basis[:, k]
        assert by_state @ basis[:, k] == pytest.approx(slope, rel=1e-6, abs=1e-7)
    for t in range(4):
        shift = np.zeros_like(u)
        shift[t, 0] = 1e-6
        slope = np.sum(weights * (rollout(x, u + shift) - rollout(x, u - shift))) / 2e-6
        assert by_action[t, 0] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def world_with_parameters() -> tuple[sx.World, list[str]]:
    """A ball that slides and rolls on a plane, and an arm on a hinge; parameters of every place."""
    world = sx.World(time_step=0.01, differentiable=True)
    world.add_ground_plane(friction=0.4)
    ball = world.add_rigid_body("ball", mass=1.5, inertia=0.01 * np.eye(3), position=(0.0, 0.0, 0.0999))
    ball.add_collision_shape(sx.CollisionShape.sphere(0.1), friction=0.4)
    ball.linear_velocity = (1.0, 0.5, 0.0)
    robot = world.add_multibody("arm")
    spec = sx.JointSpec(name="hinge", axis=(0, 1, 0), transform_to_parent=np.eye(4))
    robot.add_link("link", joint=spec, mass=1.0, inertia=0.1 * np.eye(3), center_of_mass=(0.2, 0, -0.3))
    hinge = robot.joints["hinge"]
    hinge.damping_coefficient, hinge.position, hinge.velocity = [0.3], [0.4], [1.0]
    add_parameters(world, {ball: "MASS FRICTION SHAPE_SIZE", hinge: "DAMPING JOINT_FRAME", world: "GRAVITY"})
    return world, ["ball.wrench", "arm.force"]


@pytest.mark.parametrize("per_action", [1, 3])
def test_gradients_by_parameters_are_those_of_differences(per_action):
    world, controls = world_with_parameters()
    rollout = optimize.RolloutFunction(world, controls, steps_per_action=per_action)
    rng, p = np.random.default_rng(1), rollout.parameters
    assert len(p) == len(rollout.parameter_names) == 13
    x, u = world.state_vector.copy(), rng.normal(size=(4, len(rollout.action_names)))
    states, weights = rollout(x, u), rng.normal(size=(5, len(x)))
    np.testing.assert_array_equal(states, rollout(x, u, p))
    made = rollout.vjp(states, u, weights)
    for k, name in enumerate(rollout.parameter_names):
        e = 1e-5 * max(1.0, abs(p[k])) * np.eye(len(p))[k]
        slope = np.sum(weights * (rollout(x, u, p + e) - rollout(x, u, p - e))) / (2.0 * e[k])
        assert made.parameters[k] == pytest.approx(slope, rel=2e-5, abs=2e-6), name
    # what was given before leaves no trace, also in frames
    np.testing.assert_array_equal(states, rollout(x, u))


def test_rollouts_have_parameters_of_their_own_or_share_them():
    world, controls = world_with_parameters()
    rollout, rng = optimize.RolloutFunction(world, controls), np.random.default_rng(2)
    x, u = np.tile(world.state_vector, (2, 1)), rng.normal(size=(2, 3, len(rollout.action_names)))
    p = rollout.parameters * np.array([[1.0], [1.2]])
    states, weights = rollout(x, u, p), rng.normal(size=(2, 4, x.shape[1]))
    made = rollout.vjp(states, u, weights, p)
    assert made.parameters.shape == p.shape
    for k in range(2):
        np.testing.assert_array_equal(states[k], rollout(x[k], u[k], p[k]))
        alone = rollout.vjp(states[k], u[k], weights[k], p[k])
        np.testing.assert_array_equal(made.parameters[k], alone.parameters)
    shared = rollout.vjp(rollout(x, u, p[1]), u, weights, p[1])
    each = rollout.vjp(rollout(x, u, p[1]), u, weights, np.tile(p[1], (2, 1)))
    np.testing.assert_allclose(shared.parameters, each.parameters.sum(0), rtol=1e-12)
    with pytest.raises(ValueError, match="parameters must have shape"):
        rollout(x, u, p[:, :3])


def test_rollouts_side_by_side_are_those_alone():
    world, controls = world_of("box")
    rollout, rng = optimize.RolloutFunction(world, controls), np.random.default_rng(0)
    x, u = np.tile(world.state_vector, (3, 1)), rng.normal(size=(3, 4, 6))
    states, weights = rollout(x, u), rng.normal(size=(3, 5, 13))
    by_state, by_action, _ = rollout.vjp(states, u, weights)
    for k in range(3):
        np.testing.assert_array_equal(states[k], rollout(x[k], u[k]))
        alone = rollout.vjp(states[k], u[k], weights[k])
        np.testing.assert_array_equal(by_state[k], alone[0])
        np.testing.assert_array_equal(by_action[k], alone[1])
    with pytest.raises(ValueError, match="as many rollouts"):
        rollout(x[:2], u)
    with pytest.raises(ValueError, match="state must have shape"):
        rollout(x[0, :3], u[0])


def test_pytorch_goes_through_a_rollout():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    world, controls = world_of("box")
    function = optimize.torch_rollout(world, controls)
    x = torch.tensor(np.tile(world.state_vector, (2, 1)))
    u = torch.zeros((2, 3, 6), dtype=torch.float64, requires_grad=True)
    # a network of one layer before and a loss behind
    layer = torch.full((6,), 0.5, dtype=torch.float64, requires_grad=True)
    loss = (function(x, u + layer)[:, -1, :3] ** 2).sum()
    loss.backward()
    np.testing.assert_allclose(layer.grad.numpy(), u.grad.sum((0, 1)).numpy(), rtol=1e-12)

    def again(shift):
        with torch.no_grad():
            return float((function(x, u + layer + shift)[:, -1, :3] ** 2).sum())

    for k in (0, 4):
        shift = torch.zeros(6, dtype=torch.float64)
        shift[k] = 1e-5
        assert float(layer.grad[k]) == pytest.approx(
            (again(shift) - again(-shift)) / 2e-5, rel=1e-5, abs=1e-8
        )
    single = function(x.float(), u.detach().float())
    world.add_differentiable_parameter(world.rigid_bodies["box"], sx.PhysicalParameter.MASS)
    function, mass = optimize.torch_rollout(world, controls), torch.tensor([3.0], dtype=torch.float64)
    mass.requires_grad_()
    pushed = torch.ones((3, 6), dtype=torch.float64)
    function(x[0], pushed, mass)[-1, 7].backward()
    # the speed along x is F t / m
    assert float(mass.grad) == pytest.approx(-3 * H / 9.0, rel=1e-9)
    assert single.dtype == torch.float32


def test_jax_goes_through_a_rollout():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    world, controls = world_of("box")
    function = optimize.jax_rollout(world, controls)
    x, u = world.state_vector.copy(), np.random.default_rng(0).normal(size=(3, 6))

    def loss(u):
        return (function(x, u)[-1, :3] ** 2).sum()

    gradient = np.asarray(jax.jit(jax.grad(loss))(u))
    for k in ((0, 4), (2, 1)):
        shift = np.zeros_like(u)
        shift[k] = 1e-5
        assert gradient[k] == pytest.approx(
            float(loss(u + shift) - loss(u - shift)) / 2e-5, rel=1e-5, abs=1e-8
        )
    both = jax.vmap(jax.grad(loss))(np.stack([u, 2.0 * u]))
    np.testing.assert_allclose(both[0], gradient, rtol=1e-12)
    world.add_differentiable_parameter(world.rigid_bodies["box"], sx.PhysicalParameter.MASS)
    function = optimize.jax_rollout(world, controls)
    by_mass = jax.grad(lambda mass: function(x, np.ones((3, 6)), mass)[-1, 7])(np.array([3.0]))
    assert float(by_mass[0]) == pytest.approx(-3 * H / 9.0, rel=1e-9)
    slopes = jax.vmap(jax.grad(lambda mass: function(x, np.ones((3, 6)), mass)[-1, 7]))(
        np.array([[3.0], [6.0]])
    )
    np.testing.assert_allclose(slopes[:, 0], [-3 * H / 9.0, -3 * H / 36.0], rtol=1e-9)


def test_scipy_minimises_the_cost_of_a_rollout():
    minimize = pytest.importorskip("scipy.optimize").minimize
    world, _ = world_of("box")
    target = world.state_vector.copy()
    target[:3] = 0.5, 0.0, 0.2
    cost = optimize.TrackingCost(target, control=1e-4, final={"box.pose[0]": 10.0, "box.pose[2]": 10.0})
    f = optimize.ShootingFunction(world, 5, cost, controls=["box.wrench[3]", "box.wrench[5]"])
    z = np.random.default_rng(0).normal(size=f.dimension)
    value, gradient = f.value_and_gradient(z)
    assert value == f.value(z)
    jacobian = f.last_state_jacobian(z)
    for k in range(f.dimension):
        e = 1e-5 * np.eye(f.dimension)[k]
        assert gradient[k] == pytest.approx((f.value(z + e) - f.value(z - e)) / 2e-5, rel=1e-5, abs=1e-7)
        change = f._system.difference(f.last_state(z - e), f.last_state(z + e)) / 2e-5
        np.testing.assert_allclose(jacobian[:, k], change, atol=1e-7)
    found = minimize(f.value_and_gradient, f.start, jac=True, method="BFGS")
    same = optimize.ilqr(world, np.zeros((5, 2)), cost, controls=["box.wrench[3]", "box.wrench[5]"])
    assert found.fun == pytest.approx(same.cost, rel=1e-4)
    np.testing.assert_allclose(f.last_state(found.x), same.states[-1], atol=1e-3)
