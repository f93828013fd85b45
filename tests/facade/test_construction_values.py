# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Values that say what to make: mass properties as one, options of links, data of joints, of Worlds, of steps."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import collision, msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, CapabilityError

ROD = sx.Inertia(2.0, (0.0, 0.0, 0.3), np.diag([0.2, 0.2, 0.01]))


def same(a: sx.Inertia, b: sx.Inertia) -> bool:
    return (
        a.mass == b.mass
        and np.array_equal(a.center_of_mass, b.center_of_mass)
        and np.array_equal(a.moment, b.moment)
    )


# ---- mass properties as one value


def test_a_rigid_body_takes_and_returns_an_inertia():
    world = sx.World()
    rod = world.add_rigid_body("rod", inertia=ROD)
    assert same(rod.mass_properties, ROD)
    other = world.add_rigid_body("other", sx.RigidBodyOptions(inertia=ROD))
    assert same(other.mass_properties, ROD)
    other.mass_properties = sx.Inertia.from_sphere(0.5, mass=10.0)
    assert other.mass == 10.0 and np.array_equal(other.center_of_mass, np.zeros(3))
    # the description has it too
    assert sx.World.from_scene(world.to_scene()).rigid_bodies["other"].mass == 10.0


def test_a_link_takes_and_returns_an_inertia():
    world = sx.World()
    arm = world.add_multibody("arm")
    tip = arm.add_link("tip", joint=sx.JointSpec(axis=(0, 1, 0)), inertia=ROD)
    assert same(tip.mass_properties, ROD)
    # about the hinge: I + m c^2
    assert arm.mass_matrix[0, 0] == pytest.approx(0.2 + 2.0 * 0.09, rel=1e-14)
    tip.mass_properties = sx.Inertia(1.0, (0, 0, 0), np.eye(3))
    assert arm.mass_matrix[0, 0] == 1.0


def test_a_body_falls_about_the_centre_of_mass_it_was_given():
    world = sx.World(multibody_options=sx.MultibodyOptions("runge-kutta-4"))
    rod = world.add_rigid_body("rod", inertia=ROD, angular_velocity=(1, 0, 0))
    before = rod.translation + rod.rotation @ rod.center_of_mass
    v = rod.linear_velocity + np.cross(rod.angular_velocity, rod.rotation @ rod.center_of_mass)
    world.step(n=200)
    after = rod.translation + rod.rotation @ rod.center_of_mass
    t = world.time
    np.testing.assert_allclose(after, before + v * t + np.array([0, 0, -0.5 * 9.81 * t * t]), atol=1e-10)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (sx.Inertia(0.0, (0, 0, 0), np.zeros((3, 3))), "mass must be positive"),
        (sx.Inertia.from_points([(-1, 0, 0), (1, 0, 0)], 0.5), "positive definite"),
    ],
)
def test_mass_properties_that_cannot_turn_are_refused_and_change_nothing(wrong, why):
    world = sx.World()
    box = world.add_rigid_body("box", mass=3.0)
    with pytest.raises(ArgumentError, match=f"'box'.*{why}"):
        box.mass_properties = wrong
    with pytest.raises(ArgumentError, match=f"'other'.*{why}"):
        world.add_rigid_body("other", inertia=wrong)
    assert box.mass == 3.0 and world.num_rigid_bodies == 1


def test_an_inertia_beside_a_mass_is_refused():
    world = sx.World()
    arm = world.add_multibody("arm")
    for make in (
        lambda: world.add_rigid_body("a", mass=1.0, inertia=ROD),
        lambda: world.add_rigid_body("a", inertia=ROD, center_of_mass=(0, 0, 0)),
        lambda: arm.add_link("a", mass=1.0, inertia=ROD),
        lambda: sx.LinkOptions(mass=1.0, inertia=ROD),
    ):
        with pytest.raises(ArgumentError, match="an Inertia holds mass"):
            make()
    assert world.num_rigid_bodies == 0 and arm.num_links == 0


def test_link_options_make_the_same_link_as_keywords():
    world = sx.World()
    arm = world.add_multibody("arm")
    options = sx.LinkOptions(2.0, np.diag([1.0, 2.0, 2.5]), (0.1, 0, 0), gravity_compensation=1.0)
    a = arm.add_link("a", options=options)
    b = arm.add_link("b", mass=2.0, inertia=np.diag([1.0, 2.0, 2.5]), center_of_mass=(0.1, 0, 0))
    assert same(a.mass_properties, b.mass_properties)
    assert (a.gravity_compensation, b.gravity_compensation) == (1.0, 0.0)
    assert arm.add_link("c", options=options, mass=5.0).mass == 5.0 and options.mass == 2.0
    with pytest.raises(TypeError, match="LinkOptions"):
        arm.add_link("d", options=sx.RigidBodyOptions())  # type: ignore[arg-type]


# ---- data of joints


DATA = {
    "position_lower_limits": (-1.0, -2.0),
    "position_upper_limits": (1.0, np.inf),
    "velocity_limits": (3.0, 4.0),
    "acceleration_limits": (5.0, 6.0),
    "effort_limits": (7.0, 8.0),
    "spring_stiffness": (9.0, 10.0),
    "rest_position": (0.1, 0.2),
    "damping_coefficient": (0.3, 0.4),
    "coulomb_friction": (0.5, 0.6),
    "armature": (0.7, 0.8),
}


def test_a_joint_spec_gives_the_joint_its_data():
    world = sx.World()
    arm = world.add_multibody("arm")
    spec = sx.JointSpec(
        type=sx.JointType.UNIVERSAL, limit_margin=0.05, actuator_type=sx.ActuatorType.VELOCITY, **DATA
    )
    arm.add_link("a", joint=spec)
    arm.add_link("b", joint=sx.JointSpec(type=sx.JointType.UNIVERSAL))
    joint, plain = arm.joints
    for name, numbers in DATA.items():
        np.testing.assert_array_equal(getattr(joint, name), numbers, err_msg=name)
    assert joint.limit_margin == 0.05 and joint.actuator_type is sx.ActuatorType.VELOCITY
    assert plain.limit_margin == 0.0 and plain.actuator_type is sx.ActuatorType.FORCE
    # and what was told at the beginning is what setters would have done
    plain.set_position_limits(DATA["position_lower_limits"], DATA["position_upper_limits"])
    plain.limit_margin, plain.actuator_type = 0.05, sx.ActuatorType.VELOCITY
    for name in list(DATA)[2:]:
        setattr(plain, name, DATA[name])
    for q, v in ((joint, (0.4, -0.6)), (plain, (0.4, -0.6))):
        q.position, q.command_velocity = v, v
    world.step(n=50)
    np.testing.assert_array_equal(joint.position, plain.position)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"effort_limits": -1.0}, "non-negative"),
        ({"armature": np.inf}, "finite"),
        ({"damping_coefficient": [[1.0]]}, "one or one for each"),
        ({"position_lower_limits": np.nan}, "numbers"),
        ({"limit_margin": np.inf}, "finite"),
    ],
)
def test_data_of_a_joint_is_checked_when_it_is_given(data, words):
    with pytest.raises(ArgumentError, match=words):
        sx.JointSpec(**data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"effort_limits": (1.0, 2.0)}, "one number or 1"),
        ({"position_lower_limits": 2.0, "position_upper_limits": 1.0}, "must not exceed"),
        ({"type": sx.JointType.SPHERICAL, "rest_position": 0.0}, "rest at zero"),
    ],
)
def test_data_that_does_not_fit_the_joint_adds_nothing(data, words):
    arm = sx.World().add_multibody("arm")
    with pytest.raises(ArgumentError, match=words):
        arm.add_link("a", joint=sx.JointSpec(**data))
    assert arm.num_links == 0 and arm.num_joints == 0


def test_a_d6_joint_is_told_by_its_axes():
    world = sx.World(gravity=(0, 0, 0))
    robot = world.add_multibody("robot")
    spec = sx.JointSpec(
        type=sx.JointType.D6,
        linear_axes=[(2, 0, 0), (0, 0, 1)],
        angular_axes=[(0, 1, 0)],
        damping_coefficient=(0.1, 0.2, 0.3),
    )
    link = robot.add_link("body", joint=spec)
    joint = robot.joints[0]
    assert joint.num_dofs == 3 and joint.damping_coefficient.tolist() == [0.1, 0.2, 0.3]
    joint.position = [1.0, 2.0, 0.5 * np.pi]
    np.testing.assert_allclose(link.translation, [1, 0, 2], atol=1e-15)
    np.testing.assert_allclose(link.rotation @ [1, 0, 0], [0, 0, -1], atol=1e-15)
    world.step()
    for wrong in ({"type": sx.JointType.D6}, {"linear_axes": [(1, 0, 0)]}):
        with pytest.raises(ArgumentError, match="D6"):
            sx.JointSpec(**wrong)
    with pytest.raises(ArgumentError, match="axes"):
        sx.JointSpec(type=sx.JointType.D6, angular_axes=[(0, 0, 0)])


def test_orders_of_euler_joints_and_bounds_of_distances():
    world = sx.World(gravity=(0, 0, 0))
    robot = world.add_multibody("robot")
    link = robot.add_link("euler", joint=sx.JointSpec(type=sx.JointType.EULER, euler_order="zyx"))
    robot.joints[0].position = [0.5 * np.pi, 0.3, 0.0]
    # first about z, then about the y that was carried along
    c, s = np.cos(0.3), np.sin(0.3)
    np.testing.assert_allclose(link.rotation @ [1, 0, 0], [0, c, -s], atol=1e-15)
    with pytest.raises(ArgumentError, match="neighbours"):
        sx.JointSpec(euler_order="xxz")
    spec = sx.JointSpec(type=sx.JointType.DISTANCE, distance_limits=(0.5, 2.0))
    robot.add_link("rope", joint=spec)
    described = robot.links["rope"]._link.joints[0].distance_limit
    assert (described.lower, described.upper) == (0.5, 2.0)
    with pytest.raises(ArgumentError, match="lower <= upper"):
        sx.JointSpec(distance_limits=(2.0, 1.0))


# ---- margins of limits and the clamp of dampers


def cart(**data):
    world = sx.World()
    robot = world.add_multibody("cart")
    robot.add_link("body", joint=sx.JointSpec(type=sx.JointType.PRISMATIC, **data))
    return world, robot.joints[0]


def test_a_limit_margin_acts_before_the_limit():
    world, joint = cart(position_lower_limits=-1.0, limit_margin=0.25)
    world.step(n=1000)
    assert joint.position[0] == pytest.approx(-0.75, abs=1e-6)
    joint.limit_margin = 0.0
    world.step(n=1000)
    assert joint.position[0] == pytest.approx(-1.0, abs=1e-9)


def test_a_margin_counts_for_limits_that_come_later():
    world, joint = cart(limit_margin=0.25)
    world.step()
    joint.set_position_limits(-0.5, 0.5)
    world.step(n=1000)
    assert joint.position[0] == pytest.approx(-0.25, abs=1e-6)


def test_a_margin_is_kept_in_the_description_and_noticed_by_a_replay():
    world, joint = cart(position_lower_limits=-1.0, limit_margin=0.25)
    assert sx.World.from_scene(world.to_scene()).multibodies[0].joints[0].limit_margin == 0.25
    world.replay_recording_enabled = True
    world.step(n=2)
    joint.limit_margin = 0.1
    with pytest.raises(sx.LayoutError, match="limit margin"):
        world.restore_replay_frame(0)
    with pytest.raises(ArgumentError, match="finite"):
        joint.limit_margin = np.inf


def stiff_stop(clamp):
    """A slider that falls on a limit whose damper is ten times what a step can follow."""
    spring = msd.ImpedanceSpring(spring=msd.StiffnessDamping(k=1000.0, d=10.0 / 0.002), direct=True)
    spring.impedance = msd.Impedance(d0=0.95, dmax=0.95, width=0.001, middle=0.5, power=2.0)
    joint = msd.Joint(
        name="slide",
        type_=msd.JointType.Slide,
        axis=(0, 0, 1),
        pos_limit=(0.0, 10.0),
        limit_force=msd.ConstraintForceModel.impedance(spring),
    )
    link = msd.Link(name="body", joints=[joint], inertial=msd.Inertia(mass=1.0, diag_inertia=(1, 1, 1)))
    scene = msd.World()
    scene.hierarchy.bodies.append(msd.Body(link=link))
    scene.simulate_option.timestep = 0.002
    scene.simulate_option.safty_damping_clamp = clamp
    world = sx.World.from_scene(scene)
    hit = world.multibodies[0].joints[0]
    hit.position, hit.velocity = [-0.001], [-1.0]
    return world, hit


def test_dampers_that_a_step_cannot_follow_are_clamped():
    world, hit = stiff_stop(True)
    world.step(n=20)
    assert abs(hit.velocity[0]) < 1.0
    world, hit = stiff_stop(False)
    world.step()
    # -d v over a step, nine times too much: the limit throws the slider
    assert hit.velocity[0] > 5.0


def test_a_clamp_follows_the_time_step():
    world, hit = stiff_stop(True)
    world.time_step = 1e-4
    world.step()
    # within what this step can follow nothing is clamped: d h is 0.5
    assert -0.6 < hit.velocity[0] < -0.4


# ---- options of a World


@pytest.mark.parametrize("name", [np.float64, "float64", float, np.dtype("f8"), sx.float64])
def test_double_precision_has_many_names(name):
    assert sx.World(dtype=name).dtype == np.float64


@pytest.mark.parametrize("name", [np.float32, "int64", np.complex128])
def test_other_scalars_are_refused(name):
    with pytest.raises(NotImplementedError, match="float64"):
        sx.World(dtype=name)
    with pytest.raises(NotImplementedError, match="float64"):
        sx.WorldOptions(dtype=name)


def test_strict_resolution_refuses_what_stands_in_for_another():
    world = sx.World(compute_accelerator_policy=sx.ComputeAcceleratorPolicy.PREFER_ACCELERATED)
    world.step()
    world.strict_solver_resolution = True
    with pytest.raises(CapabilityError, match=r"execution shape.*prefer-accelerated"):
        world.step()
    assert world.frame == 1
    world.compute_accelerator_policy = sx.ComputeAcceleratorPolicy.CPU_ONLY
    world.step()
    assert world.frame == 2


def test_strict_resolution_wants_one_method_for_all_contacts():
    world = sx.World(strict_solver_resolution=True)
    world.add_ground_plane()
    box = world.add_rigid_body("box", position=(0, 0, 0.1))
    box.add_collision_shape(collision.CollisionShape.sphere(0.1))
    for method in (sx.ContactSolverMethod.SEQUENTIAL_IMPULSE, sx.ContactSolverMethod.BOXED_LCP):
        world.contact_solver_method = method
        world.step()
        assert world.step_report().methods == {method.value: 1}
        assert not any(row.is_substituted for row in world.resolved_configuration)
    assert world.clone().strict_solver_resolution
    assert sx.World.from_scene(world.to_scene()).strict_solver_resolution


# ---- options of a step


def test_step_options_step_as_arguments_do():
    a, b = sx.World(), sx.World()
    for world in (a, b):
        world.add_rigid_body("box", position=(0, 0, 1))
    a.step(n=7)
    b.step(options=sx.StepOptions(n=7, profile=True), executor=sx.compute.SequentialExecutor())
    assert np.array_equal(a.state_vector, b.state_vector) and b.last_step_profile.frame == 7
    assert not b.step_profiling_enabled and a.last_step_profile.is_empty()


def test_step_options_are_checked():
    world = sx.World()
    with pytest.raises(ArgumentError, match="non-negative step count"):
        sx.StepOptions(n=-1)
    with pytest.raises(TypeError, match="profile"):
        sx.StepOptions(profile="much")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="not both"):
        world.step(2, options=sx.StepOptions())
    with pytest.raises(TypeError, match="StepOptions"):
        world.step(options=3)  # type: ignore[arg-type]
    world.step(options=sx.StepOptions(n=0))
    assert world.frame == 0 and not world.is_simulation_mode
