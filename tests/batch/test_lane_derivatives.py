# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of steps of worlds in lanes: those of a World, central differences, and of worlds that differ."""

import copy
from pathlib import Path

import numpy as np
import pytest

from peers import gymnasium_model
from worldline import model, msd
from worldline import simulation as sx

SCENE = """<mujoco><option timestep="0.002" {option}/><compiler angle="degree"/>
<default><joint damping=".2" armature=".01"/><geom contype="1" conaffinity="1" friction=".3"/></default>
<worldbody>
  <geom name="floor" type="plane" size="9 9 .1" friction="1" condim="3"/>
  <body name="trunk" pos="0 0 .83"><freejoint name="root"/>
    <geom type="box" size=".15 .1 .08" mass="4" contype="0" conaffinity="2"/>
    <body name="thigh" pos="0 0 -.1"><joint name="hip" axis="0 1 0" range="-60 80" frictionloss=".5"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04" mass="1.2"/>
      <body name="shin" pos="0 0 -.35"><joint name="knee" axis="0 1 0" range="-120 1" stiffness="2"/>
        <geom name="foot" type="capsule" fromto="0 0 0 0 0 -.35" size=".03" mass=".6" condim="4"/></body></body>
    <body name="tail" pos="-.15 0 0"><joint name="tail" type="ball"/>
      <geom type="sphere" pos="-.2 0 0" size=".05" mass=".3"/></body></body>
  <body name="ball" pos=".12 .01 .45"><joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
    <joint name="spin" type="ball"/><geom type="sphere" size=".07" mass=".5" condim="{condim}"/></body>
  <body name="rod" pos=".3 .02 .45"><joint name="push" type="slide" axis="1 0 0" range="-.3 .01"/>
    <joint name="swing" axis="0 0 1"/><geom type="capsule" fromto="-.05 -.2 0 .05 .2 .03" size=".05" mass=".5"/></body>
</worldbody>
<actuator><position name="servo" joint="hip" kp="60" kv="2" ctrlrange="-1 1"/>
  <motor name="knee" joint="knee" gear="8"/><motor name="extra" joint="knee" gear="3"/></actuator>
</mujoco>"""
COUNT = 11


def scene(option: str = "", condim: int = 3) -> msd.World:
    """A hopping robot, a ball and a rod that touch each other and a floor."""
    made = msd.from_str(SCENE.format(option=option, condim=condim), format="mjcf")
    made.simulate_option.policy.differentiable = True
    return made


def scatter(batch: sx.WorldBatch, worlds: range) -> None:
    """Velocities, controls and forces that depend on the number of a world alone."""
    for row, world in enumerate(worlds):
        rng = np.random.default_rng(world)
        batch.joint_velocities[row] += 0.8 * rng.normal(size=batch.joint_velocities.shape[1])
        batch.joint_velocities[row, -2] = -0.6 * (world % 3)
        batch.controls[row] = rng.uniform(-1, 1, batch.controls.shape[1])
        batch.joint_forces[row] = 0.1 * rng.normal(size=batch.joint_forces.shape[1])
        if world % 2:
            batch.body_wrenches[row, 1] = rng.normal(size=6)


def moving(
    option: str = "", condim: int = 3, worlds: range = range(COUNT), steps: int = 120
) -> sx.WorldBatch:
    """Worlds in motion, in states of contact of their own."""
    batch = sx.WorldBatch(scene(option, condim), len(worlds))
    scatter(batch, worlds)
    batch.step(steps)
    return batch


@pytest.fixture(scope="module")
def stepped() -> sx.WorldBatch:
    """Worlds whose last step is differentiated, and that nothing changes."""
    return moving()


def close(made: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Columns agree, relative to their largest number or one."""
    scale = np.maximum(1.0, np.abs(expected).max(axis=-2, keepdims=True))
    assert (np.abs(made - expected) / scale).max() <= tolerance


@pytest.mark.parametrize(
    ("option", "condim"),
    [("", 3), ('impratio="2"', 6), ('cone="pyramidal" impratio="3"', 1)],
)
def test_jacobians_are_those_of_a_world(option, condim):
    batch = moving(option, condim)
    assert batch.layout == "lanes"
    alone = [batch.extract(i) for i in range(COUNT)]
    batch.step()
    made, touching = batch.get_step_derivatives(), set()
    for i, world in enumerate(alone):
        world.step()
        own = world.get_step_derivatives()
        assert made.state_names == own.state_names and made.control_names == own.control_names
        np.testing.assert_allclose(batch.joint_velocities[i], world._live().sim.v, rtol=1e-8, atol=1e-9)
        close(made.state_jacobian[i], own.state_jacobian, 1e-8)
        close(made.control_jacobian[i], own.control_jacobian, 1e-8)
        pushing = [one for one in world.contacts if one.force.any()]
        bodies = [(one.body_a, one.body_b) for one in pushing]
        touching.add(frozenset(tuple("" if b is None else b.name for b in pair) for pair in bodies))
    assert len(touching) > 2, "worlds of a group are in different states of contact"
    assert any("" not in pair for pairs in touching for pair in pairs), "bodies that move touch each other"


@pytest.mark.parametrize("robot", ["hopper", "half_cheetah", "ant", "humanoid"])
def test_robots_of_gymnasium(robot):
    # Worlds stop at the tolerance of their solver, lanes at rounding
    text = Path(gymnasium_model(robot)).read_text().replace('integrator="RK4"', 'integrator="Euler"')
    walker = msd.from_str(text, format="mjcf")
    walker.simulate_option.policy.differentiable = True
    batch, rng = sx.WorldBatch(walker, 9), np.random.default_rng(0)
    batch.controls[:] = rng.uniform(-0.4, 0.4, batch.controls.shape)
    batch.step(150)
    batch.joint_velocities[::2] += rng.normal(size=batch.joint_velocities[::2].shape)
    batch.step(10)
    alone = [batch.extract(i) for i in range(9)]
    batch.step()
    assert batch.layout == "lanes"
    made, forces = batch.get_step_derivatives(), 0
    for i, world in enumerate(alone):
        world.step()
        own = world.get_step_derivatives()
        close(made.state_jacobian[i], own.state_jacobian, 1e-7)
        close(made.control_jacobian[i], own.control_jacobian, 1e-7)
        forces += sum(contact.force.any() for contact in world.contacts)
    assert forces > 3


def perturbed(batch: sx.WorldBatch, world: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Central differences of one step by states and controls, from a batch with a world for every change."""
    compiled, nv, nu = batch.model, batch.joint_velocities.shape[1], batch.controls.shape[1]
    count = 2 * nv + nv + nu
    others = sx.WorldBatch(scene(), 2 * count)
    for name in ("joint_positions", "joint_velocities", "controls", "joint_forces", "body_wrenches"):
        getattr(others, name)[...] = getattr(batch, name)[world]
    for sign, first in ((1.0, 0), (-1.0, count)):
        for k in range(nv):
            e = np.zeros(nv)
            e[k] = sign * size
            others.joint_positions[first + k] = model.integrate(compiled, batch.joint_positions[world], e)
            others.joint_velocities[first + nv + k] += e
            others.joint_forces[first + 2 * nv + k] += e
        for k in range(nu):
            others.controls[first + 3 * nv + k, k] += sign * size
    others.step()
    q, v = others.joint_positions, others.joint_velocities
    moved = [model.difference(compiled, q[count + k], q[k]) for k in range(count)]
    columns = np.concatenate([np.array(moved), v[:count] - v[count:]], axis=1).T / (2.0 * size)
    return columns[:, : 2 * nv], columns[:, 2 * nv :]


def test_jacobians_are_central_differences():
    # one-sided differences tell columns with a kink within reach of a difference from others
    batch = moving(steps=119)
    compared = 0
    for world in (1, 4, 5):
        before = copy.deepcopy(batch)
        A, B = perturbed(before, world, 1e-6)
        coarse, coarse_B = perturbed(before, world, 3e-6)
        smooth = np.abs(A - coarse).max(axis=0) <= 1e-6 * np.maximum(1.0, np.abs(A).max(axis=0))
        smooth_B = np.abs(B - coarse_B).max(axis=0) <= 1e-6 * np.maximum(1.0, np.abs(B).max(axis=0))
        before.step()
        made = before.get_step_derivatives([world])
        names = made.control_names
        forces = [k for k, name in enumerate(names) if ".force" in name]
        controls = [k for k, name in enumerate(names) if name.endswith(".control")]
        own = made.control_jacobian[0][:, forces + controls]
        close(made.state_jacobian[0][:, smooth], A[:, smooth], 1e-6)
        close(own[:, smooth_B], B[:, smooth_B], 1e-6)
        compared += int(smooth.sum()) + int(smooth_B.sum())
    assert compared >= 150


def test_products_are_those_of_the_jacobians(stepped):
    made, rng = stepped.get_step_derivatives(threads=2), np.random.default_rng(1)
    n, m = len(made.state_names), len(made.control_names)
    g, x, u = (rng.normal(size=(COUNT, k)) for k in (n, n, m))
    back = stepped.apply_step_vjp(np.asfortranarray(g), threads=2)
    for found, matrix in ((back.state, made.state_jacobian), (back.control, made.control_jacobian)):
        expected = np.einsum("wi,wij->wj", g, matrix)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert back.parameter.shape == (COUNT, 0)
    change = np.einsum("wij,wj->wi", made.state_jacobian, x)
    np.testing.assert_allclose(stepped.apply_step_jvp(x), change, rtol=1e-12)
    change += np.einsum("wij,wj->wi", made.control_jacobian, u)
    np.testing.assert_allclose(stepped.apply_step_jvp(x, u), change, rtol=1e-12)
    assert (stepped.get_step_derivatives([4, 0]).state_jacobian == made.state_jacobian[[4, 0]]).all()


def test_derivatives_have_the_same_bits_in_any_batch(stepped):
    whole = stepped.get_step_derivatives()
    g = np.random.default_rng(2).normal(size=(COUNT, len(whole.state_names)))
    back = stepped.apply_step_vjp(g)
    for world in (0, 3, 10):
        alone = moving(worlds=range(world, world + 1))
        made = alone.get_step_derivatives()
        assert (made.state_jacobian[0] == whole.state_jacobian[world]).all()
        assert (made.control_jacobian[0] == whole.control_jacobian[world]).all()
        assert (alone.apply_step_vjp(g[world : world + 1]).state[0] == back.state[world]).all()


def test_a_neighbour_that_fails_changes_nothing(stepped):
    whole = stepped.get_step_derivatives()
    batch = sx.WorldBatch(scene(), COUNT, divergence_policy="freeze")
    scatter(batch, range(COUNT))
    batch.step(119)
    batch.joint_velocities[2] = 1e160
    batch.step()
    with pytest.raises(RuntimeError, match="world 2 is frozen"):
        batch.get_step_derivatives()
    others = [k for k in range(COUNT) if k != 2]
    made = batch.get_step_derivatives(others)
    assert np.isfinite(made.state_jacobian).all()
    assert (made.state_jacobian == whole.state_jacobian[others]).all()


def test_rollouts_are_products_of_steps():
    batch, rng, steps = moving(steps=100), np.random.default_rng(3), 7
    other = copy.deepcopy(batch)
    size = len(batch.get_step_derivatives([0]).control_names)
    controls = 0.3 * rng.normal(size=(COUNT, steps, size))
    run = sx.diff.rollout(batch, controls, threads=2)
    # the same steps by themselves
    first = sx.diff.rollout(other, controls[:, :1])
    n = len(batch.get_step_derivatives().state_names)
    x, u = rng.normal(size=(COUNT, n)), rng.normal(size=controls.shape)
    chain = [x]
    for t in range(steps):
        if t:
            sx.diff.rollout(other, controls[:, t : t + 1])
        chain.append(other.apply_step_jvp(chain[-1], u[:, t]))
    assert (other.joint_positions == batch.joint_positions).all() and first.states.shape[1] == 2
    assert (run.states[:, 1] == first.states[:, 1]).all()
    change = run.jvp(x, u)
    np.testing.assert_allclose(change, np.stack(chain, axis=1), rtol=1e-12, atol=1e-12)
    g = rng.normal(size=change.shape)
    back = run.vjp(g)
    np.testing.assert_allclose(
        np.einsum("wti,wti->w", g, change),
        np.einsum("wi,wi->w", back.state, x) + np.einsum("wti,wti->w", back.controls, u),
        rtol=1e-9,
    )
    world = batch.extract(3)
    assert (run.states[3, -1] == world.state_vector).all()
    own = sx.diff.rollout(moving(steps=100).extract(3), controls[3])
    np.testing.assert_allclose(run.states[3], own.states, rtol=1e-6, atol=1e-8)
    expected = own.vjp(g[3])
    np.testing.assert_allclose(
        back.state[3], expected.state, rtol=1e-6, atol=1e-6 * np.abs(back.state[3]).max()
    )
    assert (run.vjp(g[:, -1]).state != back.state).any()


def test_there_is_a_last_step_only_after_a_step(tmp_path):
    batch = sx.WorldBatch(scene(), 3)
    with pytest.raises(RuntimeError, match="no last step"):
        batch.get_step_derivatives()
    batch.step(2)
    batch.reset([1])
    with pytest.raises(RuntimeError, match="no last step"):
        batch.get_step_derivatives()
    assert batch.get_step_derivatives([0, 2]).state_jacobian.shape[0] == 2
    batch.save(tmp_path / "state.wlb")
    batch.load(tmp_path / "state.wlb")
    with pytest.raises(RuntimeError, match="no last step"):
        batch.get_step_derivatives([0])


def test_the_configuration_says_where_derivatives_come_from(stepped):
    made = stepped.get_step_derivatives([0])
    origins = {name: origin.value for name, origin in made.provenance.items()}
    assert origins["state_jacobian"] == origins["constraint solve"] == "analytic"
    assert origins["contact geometry"] == origins["joint forces"] == "dual"
    assert stepped.resolved_configuration[0].resolved == "lanes"
    for option, said in (('cone="elliptic"', "elliptic"), ('integrator="RK4"', "without formulas")):
        others = sx.WorldBatch(scene(option), 2)
        assert others.layout == "threads" and said in others.resolved_configuration[0].reason
        with pytest.raises(NotImplementedError, match=said):
            sx.WorldBatch(scene(option), 2, layout="lanes")
    world = sx.World.from_scene(scene())
    world.add_differentiable_parameter(world.multibodies["trunk"].links["shin"], sx.PhysicalParameter.MASS)
    assert "parameters" in sx.WorldBatch(world, 2).resolved_configuration[0].reason
    world = sx.World.from_scene(scene())
    world.contact_gradient_mode = sx.ContactGradientMode.PRE_CONTACT_SURROGATE
    assert sx.WorldBatch(world, 2).layout == "threads"


def test_parameters_of_single_worlds_move_a_batch_to_threads():
    batch = moving(steps=10)
    name = next(name for name in batch.parameters if name.endswith("shin.mass"))
    batch.parameters[name] = np.linspace(0.5, 0.7, COUNT)
    assert batch.layout == "threads" and "same parameters" in batch.resolved_configuration[0].reason
    batch.step()
    made = batch.get_step_derivatives().state_jacobian
    assert np.isfinite(made).all() and (made[0] != made[1]).any()
