# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a World: names, products, parameters, conservation, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from derivative_scenes import add_parameters
from worldline import msd
from worldline import simulation as sx

MIXED = """<mujoco><option integrator="implicitfast"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body name="crate" pos="1 0 .095"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>
  <body name="ball" pos="1.19 0 .095"><freejoint/><geom type="sphere" size=".1"/></body>
  <body name="leg" pos="0 0 .5"><joint name="hip" axis="0 1 0" damping=".2"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04"/>
    <body pos="0 0 -.3"><joint name="knee" axis="0 1 0" range="-5 5" limited="true"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".04"/></body></body></worldbody>
  <actuator><motor name="push" joint="hip"/><general name="slow" joint="knee" dyntype="filter" dynprm=".1"
    gainprm="3"/></actuator></mujoco>"""


@pytest.fixture
def mixed() -> sx.World:
    """Rigid bodies and a multibody with actuators, in contact."""
    scene = msd.from_str(MIXED, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(scene)
    world.step(n=4)
    assert world.compute_step_metrics().active_contact_count > 0
    return world


def test_rows_and_columns_have_names(mixed):
    made, state = mixed.get_step_derivatives(), mixed.get_state(mixed.state_space())
    n, m = state.tangent_dimension, mixed.control_space().dimension
    assert made.state_jacobian.shape == (n, n) and made.control_jacobian.shape == (n, m)
    assert len(made.state_names) == n and len(set(made.state_names)) == n
    assert len(made.control_names) == m and len(set(made.control_names)) == m
    owners = [name.partition("[")[0] for name in made.state_names]
    sizes = {owner: owners.count(owner) for owner in owners}
    assert sizes == state.tangent_sizes
    assert "slow.activation" in made.state_names and "push.control" in made.control_names


def test_entries_belong_to_their_names(mixed):
    made = mixed.get_step_derivatives()
    row = {name: k for k, name in enumerate(made.state_names)}
    control = {name: k for k, name in enumerate(made.control_names)}
    h = mixed.time_step
    # a filter of time constant 0.1 s, in closed form or by Euler's rule
    assert made.state_jacobian[row["slow.activation"], row["slow.activation"]] == pytest.approx(1 - h / 0.1)
    assert made.control_jacobian[row["slow.activation"], control["slow.control"]] == pytest.approx(h / 0.1)
    # only the leg feels its motor, and only bodies that touch feel each other
    pushed = made.control_jacobian[:, control["push.control"]]
    others = [k for name, k in row.items() if name.startswith(("crate", "ball"))]
    assert pushed[row["leg.dq[0]"]] > 0.0 and not pushed[others].any()
    assert made.state_jacobian[row["crate.velocity[0]"], row["ball.pose[0]"]] != 0.0


def test_products_are_those_of_the_matrices(mixed):
    rng = np.random.default_rng(2)
    assert mixed.apply_step_vjp(np.zeros(len(mixed.get_step_derivatives().state_names))).parameter.shape == (
        0,
    )
    for parameter in (sx.PhysicalParameter.MASS, sx.PhysicalParameter.FRICTION):
        mixed.add_differentiable_parameter(mixed.rigid_bodies["crate"], parameter)
    mixed.step()
    made = mixed.get_step_derivatives()
    g = rng.normal(size=len(made.state_names))
    x, u = rng.normal(size=len(made.state_names)), rng.normal(size=len(made.control_names))
    back = mixed.apply_step_vjp(g)
    np.testing.assert_allclose(back.state, g @ made.state_jacobian, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(back.control, g @ made.control_jacobian, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(back.parameter, g @ made.parameter_jacobian, rtol=1e-12, atol=1e-12)
    assert back.parameter.all()
    forth = mixed.apply_step_jvp(x, u)
    whole = made.state_jacobian @ x + made.control_jacobian @ u
    np.testing.assert_allclose(forth, whole, rtol=1e-12, atol=1e-9)
    p = rng.normal(size=len(made.parameter_names))
    whole += made.parameter_jacobian @ p
    np.testing.assert_allclose(mixed.apply_step_jvp(x, u, p), whole, rtol=1e-12, atol=1e-9)


def test_derivatives_change_no_bit_of_steps():
    text = msd.from_str(MIXED, format="mjcf")
    plain = sx.World.from_scene(text)
    text.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(text)
    for _ in range(3):
        plain.step(n=20)
        world.step(n=20)
        world.get_step_derivatives()
        world.check_derivatives()
        np.testing.assert_array_equal(world.state_vector, plain.state_vector)


def test_a_push_of_one_step_is_part_of_it():
    world = sx.World(time_step=0.01, differentiable=True)
    box = world.add_rigid_body("box", mass=2.0)
    box.angular_velocity = (1.0, 2.0, 3.0)
    box.apply_torque((1.0, 0.0, 2.0))
    world.step()
    assert world.check_derivatives().largest_error < 1e-8


def test_parameters_by_dual_numbers():
    world = sx.World(time_step=0.01, gravity=(0, 0, 0), differentiable=True)
    box = world.add_rigid_body("box", mass=2.0)
    robot = world.add_multibody("arm")
    spec = sx.JointSpec(name="hinge", type=sx.JointType.REVOLUTE, axis=(0, 0, 1))
    link = robot.add_link("link", joint=spec, mass=1.0, inertia=np.diag([0.3, 0.3, 0.5]))
    hinge = robot.joints["hinge"]
    hinge.damping_coefficient, hinge.spring_stiffness = [0.3], [2.0]
    hinge.position, hinge.velocity = [0.2], [0.7]
    add_parameters(world, {box: "MASS", hinge: "DAMPING STIFFNESS ARMATURE", link: "INERTIA"})
    assert world.num_differentiable_parameters == 7
    box.apply_force((4.0, 0.0, 0.0))
    world.step()
    made = world.get_step_derivatives()
    row = {name: k for k, name in enumerate(made.state_names)}
    column = {name: k for k, name in enumerate(made.parameter_names)}
    P, h, inertia = made.parameter_jacobian, 0.01, 0.5
    assert made.provenance["parameter_jacobian"] is sx.Provenance.DUAL
    # v = h f / m, and a = -(k q + d v) / I
    assert P[row["box.velocity[0]"], column["box.mass"]] == pytest.approx(-h * 4.0 / 4.0, rel=1e-10)
    rate = row["arm.dq"]
    assert P[rate, column["arm.hinge.damping"]] == pytest.approx(-h * 0.7 / inertia, rel=1e-10)
    assert P[rate, column["arm.hinge.stiffness"]] == pytest.approx(-h * 0.2 / inertia, rel=1e-10)
    force = 2.0 * 0.2 + 0.3 * 0.7
    assert P[rate, column["arm.hinge.armature"]] == pytest.approx(h * force / inertia**2, rel=1e-10)
    assert P[rate, column["arm.link.inertia[2]"]] == pytest.approx(h * force / inertia**2, rel=1e-10)
    check = world.check_derivatives()
    assert set(made.parameter_names) <= set(check.errors) and check.largest_error < 1e-8, check.worst
    # a clone has the parameters too, and a parameter goes with its owner
    twin = world.clone()
    assert twin.num_differentiable_parameters == 7


def test_a_copy_makes_room_for_what_touches():
    """Many contacts in one island: a copy that is differenced begins with less room than the World has."""
    balls = "".join(
        f'<body name="b{i}{j}" pos="{0.199 * i} {0.199 * j} .0999"><freejoint/><geom type="sphere" size=".1"/></body>'
        for i in range(6)
        for j in range(6)
    )
    text = f'<mujoco><worldbody><geom type="plane" size="5 5 .1"/>{balls}</worldbody></mujoco>'
    scene = msd.from_str(text, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(scene)
    body = world.rigid_bodies["b00"]
    world.add_differentiable_parameter(body, sx.PhysicalParameter.MASS)
    world.step(n=2)
    assert world.compute_step_metrics().active_contact_count > 90
    body.apply_force((0.0, 0.0, 30.0))
    world.step()
    made = world.get_step_derivatives()
    # v = h f / m: it has just left its contacts
    rate = made.parameter_jacobian[made.state_names.index("b00.velocity[2]"), 0]
    assert np.isfinite(made.parameter_jacobian).all() and rate != 0.0


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_gravity_by_duals_is_that_of_differences(integrator):
    """A pendulum with gravity compensation, and a ball that slides down a slope."""
    text = f"""<mujoco><option integrator="{integrator}" gravity="1 .5 -9"/><worldbody>
      <geom type="plane" size="5 5 .1"/><body pos="0 0 1" gravcomp=".3"><joint axis="0 1 0" damping=".2"/>
        <geom type="capsule" fromto="0 0 0 .4 .1 0" size=".03" contype="0" conaffinity="0"/></body>
      <body pos="1 0 .099"><freejoint/><geom type="sphere" size=".1" mass="2"/></body></worldbody></mujoco>"""
    scene = msd.from_str(text, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(scene)
    world.add_differentiable_parameter(world, sx.PhysicalParameter.GRAVITY)
    world.step(n=20)
    state = world.state_vector.copy()
    world.step()
    made = world.get_step_derivatives()
    assert made.provenance["parameter_jacobian"] is sx.Provenance.DUAL
    before = world.gravity.copy()
    for k in range(3):
        ends = []
        for side in (-1.0, 1.0):
            world.gravity = before + side * 1e-4 * np.eye(3)[k]
            world.state_vector = state
            world.step()
            ends.append(world.get_state(world.state_space()))
        column = sx.state.difference(*ends) / 2e-4
        np.testing.assert_allclose(made.parameter_jacobian[:, k], column, rtol=0.0, atol=2e-8)
        assert np.abs(column).max() > 1e-3
    # a ball whose centre of mass is aside turns by other stages, but in Runge-Kutta: differences, and labels of
    # the other columns
    ball = world.rigid_bodies[0]
    world.add_differentiable_parameter(ball, sx.PhysicalParameter.CENTER_OF_MASS)
    world.add_differentiable_parameter(world.multibodies[0].joints[0], sx.PhysicalParameter.DAMPING)
    world.step()
    made = world.get_step_derivatives()
    origins = made.provenance
    if integrator == "RK4":
        assert origins["parameter_jacobian"] is sx.Provenance.DUAL
        return
    assert origins["parameter_jacobian"] is sx.Provenance.FINITE_DIFFERENCE
    exact = [name for name, origin in origins.items() if origin is sx.Provenance.DUAL]
    named = [name for name in exact if name in made.parameter_names]
    assert named == [*(f"gravity[{k}]" for k in range(3)), made.parameter_names[-1]]
    assert np.isfinite(made.parameter_jacobian).all() and made.parameter_jacobian[:, 3:].any(axis=0).all()


def test_momentum_and_energy_of_a_free_system():
    world = sx.World(time_step=1e-3, gravity=(0, 0, 0), differentiable=True)
    bodies = []
    rng = np.random.default_rng(0)
    for k in range(2):
        box = world.add_rigid_body(f"b{k}", mass=1.0 + k, inertia=np.diag(rng.uniform(0.1, 0.3, 3)))
        box.linear_velocity, box.angular_velocity = rng.normal(size=3), rng.normal(size=3)
        bodies.append(box)
    world.step()
    made = world.get_step_derivatives()
    row = {name: k for k, name in enumerate(made.state_names)}
    # velocities of centres do not depend on anything else, positions drift with them
    for k in range(2):
        v = [row[f"b{k}.velocity[{i}]"] for i in range(3)]
        x = [row[f"b{k}.pose[{i}]"] for i in range(3)]
        np.testing.assert_allclose(made.state_jacobian[v][:, v], np.eye(3), atol=1e-14)
        np.testing.assert_allclose(made.state_jacobian[x][:, v], 1e-3 * np.eye(3), atol=1e-14)
        others = np.setdiff1d(np.arange(len(row)), v)
        assert not made.state_jacobian[v][:, others].any()

    # rotational energy w^T I w / 2 does not change in a step, so its gradient passes through unchanged
    spin = [row[f"b0.velocity[{i}]"] for i in range(3, 6)]
    inertia = np.asarray(bodies[0].inertia)
    g = np.zeros(len(row))
    g[spin] = inertia @ world.state_vector[_numbers(world, "b0.velocity")][3:]
    back = world.apply_step_vjp(g).state
    world.step()
    assert np.abs(back[[row[f"b0.pose[{i}]"] for i in range(6)]]).max() < 1e-6
    assert np.abs(back[spin] - g[spin]).max() < 5e-3 * np.abs(g).max()


def _numbers(world: sx.World, name: str) -> slice:
    return world.state_space().get_variable(name).slice


def arm(actuators: list[sx.ActuatorType]) -> tuple[sx.World, sx.Multibody]:
    """Hinges, each with an actuator of its own type."""
    world = sx.World(time_step=0.002, differentiable=True)
    robot, parent = world.add_multibody("arm"), None
    for k, kind in enumerate(actuators):
        spec = sx.JointSpec(name=f"j{k}", type=sx.JointType.REVOLUTE, axis=(0, 1, k % 2))
        parent = robot.add_link(
            f"l{k}",
            parent=parent,
            joint=spec,
            mass=1.0,
            inertia=0.1 * np.eye(3),
            center_of_mass=(0.2, 0, -0.1),
        )
        robot.joints[f"j{k}"].actuator_type = kind
    return world, robot


FORCE = sx.ActuatorType.FORCE


@pytest.mark.parametrize("kind", ["VELOCITY", "LOCKED", "ACCELERATION", "SERVO", "FORCE"])
def test_joints_that_follow_commands(kind):
    world, robot = arm([FORCE, sx.ActuatorType[kind], FORCE])
    robot.joints["j1"].effort_limits = [5.0]
    for _ in range(3):
        world.step(n=20)
        check = world.check_derivatives()
        assert check.largest_error < 1e-8 and not check.changed, check.worst


def test_hard_limits_and_joint_friction():
    world, robot = arm([FORCE] * 3)
    robot.joints["j1"].set_position_limits(-0.05, 0.05)
    robot.joints["j2"].coulomb_friction = 2.0
    acted = 0.0
    for _ in range(3):
        world.step(n=60)
        check = world.check_derivatives()
        assert check.largest_error < 1e-7, check.worst
        acted += np.abs(world._live().constraint_forces()).max()
    assert acted > 0.0


def test_a_closure_without_force_along_a_direction_has_derivatives_there():
    world, robot = arm([FORCE] * 3)
    ball = world.add_rigid_body("ball", mass=1.0, position=(0.5, 0, -0.5))
    family = sx.LoopClosureFamily.POINT
    world.add_loop_closure("held", frame_a=robot.links["l2"], frame_b=ball, family=family)
    for _ in range(3):
        world.step(n=20)
        check = world.check_derivatives()
        assert check.largest_error < 1e-8 and not check.changed, check.worst


# ---- what is refused


def test_there_must_be_a_step_to_differentiate():
    world = sx.World()
    world.add_rigid_body("box")
    world.step()
    with pytest.raises(RuntimeError, match="World\\(differentiable=True\\)"):
        world.get_step_derivatives()
    world = sx.World(differentiable=True)
    box = world.add_rigid_body("box")
    with pytest.raises(RuntimeError, match="step first"):
        world.get_step_derivatives()
    world.step()
    box.mass = 3.0
    with pytest.raises(RuntimeError, match="changed since its last step"):
        world.get_step_derivatives()
    world.step()
    assert world.get_step_derivatives().control_jacobian[8, 5] == pytest.approx(world.time_step / 3.0)


def test_shapes_of_products_are_checked(mixed):
    with pytest.raises(ValueError, match="d_loss_d_next_state"):
        mixed.apply_step_vjp(np.zeros(3))
    with pytest.raises(ValueError, match="state tangent"):
        mixed.apply_step_jvp(np.zeros(3))
    with pytest.raises(ValueError, match="step"):
        mixed.check_derivatives(step=0.0)


def test_what_has_no_derivatives_is_refused_by_name():
    world = sx.World(differentiable=True)
    options = sx.MultibodyOptions(integration_family=sx.MultibodyIntegrationFamily.VARIATIONAL)
    world.multibody_options = options
    world.add_rigid_body("box")
    with pytest.raises(NotImplementedError, match="cannot have the variational family"):
        world.step()
    assert world.frame == 0
    world = sx.World(differentiable=True)
    box = world.add_rigid_body("box")
    with pytest.raises(NotImplementedError, match="ARMATURE of RigidBody"):
        world.add_differentiable_parameter(box, sx.PhysicalParameter.ARMATURE)
    world.add_force_element("wind", lambda context: None)
    with pytest.raises(NotImplementedError, match="force elements"):
        world.step()


def test_an_impact_with_restitution():
    world, ball = falling(height=0.101)
    ball.restitution = 0.8
    ball.linear_velocity = (0.5, 0, -3)
    for _ in range(6):
        world.step()
        check = world.check_derivatives()
        assert check.largest_error < 1e-7, check.worst
    assert ball.linear_velocity[2] > 2.0


def test_deep_overlap_is_refused_when_it_happens():
    world, _ = falling(height=0.05)
    world.step()
    with pytest.raises(NotImplementedError, match="deep overlap"):
        world.get_step_derivatives()


def falling(height: float) -> tuple[sx.World, sx.RigidBody]:
    """A ball with a hard contact above or in the ground."""
    world = sx.World(time_step=0.002, differentiable=True)
    ground = world.add_rigid_body("ground", position=(0, 0, -0.5))
    ground.is_static = True
    ground.set_collision_shape(sx.CollisionShape.box((5, 5, 0.5)))
    ball = world.add_rigid_body("ball", position=(0, 0, height))
    ball.set_collision_shape(sx.CollisionShape.sphere(0.1))
    return world, ball


@pytest.mark.parametrize("moments", [(1.0, 2.0, 3.0), (1e-3, 1.0, 1.001)], ids=["plate", "rod"])
def test_derivatives_by_the_inertia_of_flat_bodies(moments):
    """Around the moments of a plate or a rod lie some that no body has."""
    world = sx.World(time_step=1e-3, gravity=(0, 0, 0), differentiable=True)
    robot = world.add_multibody("spinner")
    spec = sx.JointSpec(name="hinge", axis=(0, 0, 1))
    robot.add_link("link", joint=spec, mass=1.0, inertia=np.diag(moments))
    world.add_differentiable_parameter(robot.links["link"], sx.PhysicalParameter.INERTIA)
    robot.joints["hinge"].velocity, robot.joints["hinge"].force = [0.5], [2.0]
    world.step()
    made = world.get_step_derivatives()
    # dv = h t / I, so d(dv)/dI = -h t / I^2, about z alone
    expected = [0.0, 0.0, -1e-3 * 2.0 / moments[2] ** 2]
    np.testing.assert_allclose(made.parameter_jacobian[1], expected, rtol=1e-9, atol=1e-12)
