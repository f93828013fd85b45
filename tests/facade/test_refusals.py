# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What is refused, with which kind of error and which words; a refused call changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from facade.scenes import moved, pendulum
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError

NAN, INF = float("nan"), float("inf")
SKEWED = np.diag([1.0, 1.0, 2.0, 1.0])


@pytest.fixture
def world():
    return sx.World()


@pytest.mark.parametrize("value", [0.0, -1.0, NAN, INF])
def test_time_step_must_be_positive_and_finite(world, value):
    with pytest.raises(ArgumentError, match="positive and finite"):
        world.time_step = value
    with pytest.raises(ArgumentError):
        sx.World(time_step=value)
    assert world.time_step == 0.001


@pytest.mark.parametrize("value", [-1.0, NAN, INF])
def test_time_must_not_be_negative(world, value):
    with pytest.raises(ArgumentError, match="non-negative"):
        world.time = value
    assert world.time == 0.0


def test_gravity_must_be_finite(world):
    with pytest.raises(ArgumentError, match="finite"):
        world.gravity = (0, 0, NAN)
    assert world.gravity.tolist() == [0, 0, -9.81]


BAD_OPTIONS = [
    ("mass", 0.0, "mass must be positive and finite"),
    ("mass", INF, "mass must be positive and finite"),
    ("inertia", -np.eye(3), "inertia must be symmetric positive definite"),
    ("inertia", [[1, 1, 0], [0, 1, 0], [0, 0, 1]], "inertia must be symmetric positive definite"),
    ("orientation", (0, 0, 0, 0), "orientation must be finite and non-zero"),
    ("orientation", (NAN, 0, 0, 1), "orientation must be finite and non-zero"),
    ("position", (NAN, 0, 0), "position must contain only finite"),
    ("linear_velocity", (INF, 0, 0), "must contain only finite"),
    ("angular_velocity", (INF, 0, 0), "must contain only finite"),
]


@pytest.mark.parametrize(("field", "value", "words"), BAD_OPTIONS)
def test_rigid_body_options_check_when_set(world, field, value, words):
    options = sx.RigidBodyOptions()
    before = repr(options)
    with pytest.raises(ArgumentError, match=words):
        setattr(options, field, value)
    with pytest.raises(ArgumentError, match=words):
        world.add_rigid_body("x", **{field: value})
    assert repr(options) == before and world.num_rigid_bodies == 0


LIVE = [
    ("mass", -1.0, "RigidBody mass"),
    ("inertia", np.zeros((3, 3)), "RigidBody inertia"),
    ("linear_velocity", (NAN, 0, 0), "RigidBody linear velocity"),
    ("angular_velocity", (NAN, 0, 0), "RigidBody angular velocity"),
    ("force", (NAN, 0, 0), "RigidBody force"),
    ("torque", (NAN, 0, 0), "RigidBody torque"),
    ("transform", SKEWED, "rotation must be orthonormal"),
    ("friction", -0.1, "non-negative"),
    ("restitution", 1.5, "between 0 and 1"),
]


@pytest.mark.parametrize(("field", "value", "words"), LIVE)
def test_live_bodies_check_when_written(world, field, value, words):
    box = world.add_rigid_body("box")
    before = np.copy(getattr(box, field))
    with pytest.raises(ArgumentError, match=words):
        setattr(box, field, value)
    assert np.array_equal(getattr(box, field), before)


@pytest.mark.parametrize("value", [np.eye(3), np.zeros(16), 3.0])
def test_transforms_are_4x4(world, value):
    with pytest.raises(TypeError, match="Expected a 4x4 matrix"):
        world.add_rigid_body("box").transform = value


@pytest.mark.parametrize("field", ["position", "velocity", "force", "target_position", "command_velocity"])
def test_joint_vectors_are_vectors_never_numbers(world, field):
    hinge = pendulum(world).joints["hinge"]
    with pytest.raises(TypeError, match="Expected a 1-D vector"):
        setattr(hinge, field, 0.5)
    with pytest.raises(ArgumentError, match=f"Joint {field.replace('_', ' ')} dimension"):
        setattr(hinge, field, [0.5, 0.5])
    with pytest.raises(ArgumentError, match="finite"):
        setattr(hinge, field, [NAN])
    assert getattr(hinge, field).tolist() == [0.0]


def test_limits_must_be_in_order(world):
    hinge = pendulum(world).joints["hinge"]
    with pytest.raises(ArgumentError, match="must not exceed upper limits"):
        hinge.set_position_limits(1.0, -1.0)
    assert hinge.position_lower_limits.tolist() == [-INF] and hinge.position_upper_limits.tolist() == [INF]


@pytest.mark.parametrize(
    "field",
    [
        "spring_stiffness",
        "damping_coefficient",
        "armature",
        "coulomb_friction",
        "target_stiffness",
        "effort_limits",
    ],
)
def test_coefficients_must_not_be_negative(world, field):
    hinge = pendulum(world).joints["hinge"]
    before = getattr(hinge, field).tolist()
    with pytest.raises(ArgumentError, match="non-negative"):
        setattr(hinge, field, -1.0)
    assert getattr(hinge, field).tolist() == before


@pytest.mark.parametrize(
    "call", ["compute_inverse_dynamics", "compute_impulse_response", "compute_forward_dynamics"]
)
def test_lengths_must_match_the_degrees_of_freedom(world, call):
    with pytest.raises(ArgumentError, match="must match"):
        getattr(pendulum(world), call)([1.0, 2.0])


def test_a_foreign_parent_link_is_refused(world):
    one, two = pendulum(world, "one"), pendulum(world, "two")
    with pytest.raises(ArgumentError, match="does not belong"):
        one.add_link("x", parent=two.links["base"])
    assert one.num_links == 2


def test_a_parent_link_of_another_world_is_refused(world):
    other = pendulum(sx.World())
    with pytest.raises(ArgumentError, match="different world"):
        pendulum(world).add_link("x", parent=other.links["base"])


def test_a_foreign_link_has_no_jacobian_here(world):
    one, two = pendulum(world, "one"), pendulum(world, "two")
    with pytest.raises(ArgumentError, match="does not belong"):
        one.get_jacobian(two.links["bob"])


def test_closure_endpoints_must_be_distinct(world):
    box = world.add_rigid_body()
    with pytest.raises(ArgumentError, match="distinct"):
        world.add_loop_closure(frame_a=box, frame_b=box)
    assert world.num_loop_closures == 0


def test_closure_endpoints_of_another_world_are_refused(world):
    box, foreign = world.add_rigid_body(), sx.World().add_rigid_body()
    with pytest.raises(ArgumentError, match=r"different world.*this World"):
        world.add_loop_closure(frame_a=box, frame_b=foreign)
    with pytest.raises(ArgumentError, match="different world"):
        box.relative_transform(foreign)
    with pytest.raises(ArgumentError, match="different world"):
        world.add_fixed_frame("f", foreign)


def test_the_world_frame_is_an_endpoint_in_every_world(world):
    closure = world.add_loop_closure(
        frame_a=world.add_rigid_body(position=(1, 0, 0)), frame_b=sx.Frame.world()
    )
    assert closure.compute_residual().translation.tolist() == [1.0, 0.0, 0.0]


def test_closure_arguments_are_symmetric_by_name(world):
    a, b = world.add_rigid_body(), world.add_rigid_body()
    with pytest.raises(TypeError):
        world.add_loop_closure(parent=a, child=b)  # type: ignore[call-arg]


def test_a_disabled_closure_may_keep_its_policies(world):
    closure = world.add_loop_closure(frame_a=world.add_rigid_body(), frame_b=world.add_rigid_body())
    closure.runtime_policy = sx.LoopClosureRuntimePolicy(
        False, sx.ClosureKinematicsPolicy.PROJECT, sx.ClosureDynamicsPolicy.SOLVE
    )
    world.step()
    assert closure.kinematics is sx.ClosureKinematicsPolicy.PROJECT
    residual = closure.compute_residual()
    assert residual.force is None and not residual.force_available and not residual.active


def test_a_mimic_joint_needs_one_to_follow(world):
    pendulum(world).joints["hinge"].actuator_type = sx.ActuatorType.MIMIC
    with pytest.raises(OperationError, match="follows no joint"):
        world.step()
    assert not world.is_simulation_mode


def test_frames_cannot_stand_on_themselves(world):
    a = world.add_free_frame("a")
    b = world.add_fixed_frame("b", a)
    with pytest.raises(OperationError, match="cyclic frame hierarchy"):
        a.parent_frame = b
    assert a.parent_frame.is_world


def test_links_and_bodies_cannot_be_put_elsewhere(world):
    arm = pendulum(world)
    with pytest.raises(OperationError, match="cannot be given another parent"):
        arm.links["bob"].parent_frame = sx.Frame.world()


@pytest.mark.parametrize("axis", [(0, 0, 0), (NAN, 0, 0)])
def test_axes_must_be_finite_and_non_zero(world, axis):
    with pytest.raises(ArgumentError, match="axis"):
        sx.JointSpec(axis=axis)
    spec = sx.JointSpec()
    with pytest.raises(ArgumentError, match="axis"):
        spec.axis = axis
    with pytest.raises(ArgumentError, match="axis"):
        pendulum(world).joints["hinge"].axis = axis


@pytest.mark.parametrize("kind", [sx.JointType.UNIVERSAL, sx.JointType.PLANAR])
def test_two_axes_must_not_be_parallel(kind):
    with pytest.raises(ArgumentError, match="parallel"):
        sx.JointSpec(type=kind, axis=(1, 0, 0), axis2=(2, 0, 0))


@pytest.mark.parametrize("kind", [sx.JointType.SPHERICAL, sx.JointType.FLOATING])
def test_joints_without_an_axis_say_so(world, kind):
    robot = world.add_multibody()
    joint = robot.add_link(joint=sx.JointSpec(type=kind)).parent_joint
    with pytest.raises(ArgumentError, match="no axis"):
        _ = joint.axis


def test_endpoints_of_tree_joints(world):
    arm = pendulum(world)
    root = world.add_multibody().add_link(joint=sx.JointSpec())
    assert arm.joints["hinge"].parent_link.name == "base"
    with pytest.raises(OperationError, match="parent endpoint"):
        _ = root.parent_joint.parent_link
    with pytest.raises(OperationError, match="not a rigid body"):
        _ = arm.joints["hinge"].child_rigid_body


def test_a_fixed_root_has_an_invalid_joint(world):
    joint = pendulum(world).links["base"].parent_joint
    assert not joint.is_valid
    with pytest.raises(OperationError, match="no joint"):
        _ = joint.position


ENUMS = {
    "rigid_body_solver": sx.ContactSolverMethod.BOXED_LCP,
    "contact_solver_method": "boxed-lcp",
    "contact_gradient_mode": 3,
    "compute_accelerator_policy": None,
    "multibody_options": "semi-implicit",
    "deactivation_options": True,
}


@pytest.mark.parametrize("name", ENUMS)
def test_wrong_enumerations_are_type_errors_and_keep_the_old_value(world, name):
    before = getattr(world, name)
    with pytest.raises(TypeError):
        setattr(world, name, ENUMS[name])
    with pytest.raises(TypeError):
        sx.World(**{name: ENUMS[name]})
    assert getattr(world, name) == before


def test_unknown_method_families_are_refused_before_stepping(world):
    with pytest.raises(ArgumentError, match="semi-implicit"):
        sx.MultibodyOptions(integration_family="semi-implizit")
    for stage in ("kinematics", None):
        with pytest.raises(TypeError):
            world.sync(stage)  # type: ignore[arg-type]


def test_value_objects_refuse_unknown_fields():
    with pytest.raises(AttributeError, match="no field"):
        sx.RigidBodyOptions().weight = 3.0  # type: ignore[attr-defined]


def test_options_come_as_one_value_or_as_keywords():
    with pytest.raises(ArgumentError, match="not both"):
        sx.World(time_step=0.1, options=sx.WorldOptions())
    assert sx.World(options=sx.WorldOptions(time_step=0.1)).time_step == 0.1


def test_keywords_override_options(world):
    box = world.add_rigid_body("box", sx.RigidBodyOptions(mass=3.0, position=(1, 0, 0)), mass=5.0)
    assert box.mass == 5.0 and box.translation.tolist() == [1.0, 0.0, 0.0]


def test_a_failed_add_leaves_counts_and_numbers(world):
    arm = pendulum(world)
    for bad in ({"mass": -1.0}, {"inertia": np.zeros((3, 3))}, {"center_of_mass": (NAN, 0, 0)}):
        with pytest.raises(ArgumentError):
            arm.add_link(parent=arm.links["base"], joint=sx.JointSpec(), **bad)
    assert arm.num_links == 2 and arm.add_link(parent=arm.links["base"]).name == "link_001"


def test_static_and_kinematic_exclude_each_other(world):
    box = world.add_rigid_body("box", fixed=True)
    box.is_kinematic = True
    assert box.is_kinematic and not box.is_static
    box.is_static = True
    assert box.is_static and not box.is_kinematic
    with pytest.raises(ArgumentError, match="not both"):
        world.add_rigid_body("x", fixed=True, kinematic=True)


def test_relative_transforms_follow_their_definition(world):
    a = world.add_rigid_body("a", position=(1, 0, 0), orientation=(0, 0, np.sin(0.5), np.cos(0.5)))
    b = world.add_rigid_body("b", position=(0, 2, 0))
    assert np.allclose(a.relative_transform(b), np.linalg.inv(b.transform) @ a.transform, atol=1e-15)
    tool = world.add_fixed_frame("tool", a, moved(x=1))
    assert np.allclose(tool.transform, a.transform @ moved(x=1), atol=1e-15)
    assert sx.Frame.world().name == "world" and sx.Frame.world().parent_frame is sx.Frame.world()


@pytest.mark.parametrize("name", ["a\x00b", "a\ud800b"])
def test_names_that_no_file_can_hold(world, name):
    body = world.add_rigid_body("body")
    robot = world.add_multibody("robot")
    calls = [
        lambda: world.add_rigid_body(name),
        lambda: world.add_multibody(name),
        lambda: robot.add_link(name),
        lambda: world.add_free_frame(name),
        lambda: world.add_marker(name, body),
        lambda: setattr(robot, "name", name),
        lambda: sx.JointSpec(name=name),
        lambda: sx.StateSpace().add_variable(name, 1),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match=r"must not contain (NUL characters|unpaired surrogates)"):
            call()
    assert world.num_rigid_bodies == 1 and world.num_multibodies == 1 and robot.num_links == 0


@pytest.mark.parametrize("value", ["abc", 1, None])
def test_kinematic_is_true_or_false(world, value):
    with pytest.raises(ArgumentError, match="kinematic of a rigid body must be True or False"):
        world.add_rigid_body("body", kinematic=value)
    assert world.num_rigid_bodies == 0


def test_a_closure_of_a_multibody_is_on_its_own_frames(world):
    robot, other, box = (
        world.add_multibody("robot"),
        world.add_multibody("other"),
        world.add_rigid_body("box"),
    )
    first, second, foreign = robot.add_link("first"), robot.add_link("second"), other.add_link("foreign")
    ends = [foreign, box, world.add_marker("on box", box), world.add_fixed_frame("on foreign", foreign)]
    for end in ends:
        for keys in (("frame_a", "frame_b"), ("frame_b", "frame_a")):
            with pytest.raises(ArgumentError, match="which does not belong to multibody 'robot'"):
                robot.add_loop_closure("c", **dict(zip(keys, (first, end), strict=True)))
        with pytest.raises(ArgumentError, match="which does not belong to multibody 'robot'"):
            robot.add_loop_closure("c", sx.LoopClosureSpec(first, end))
    with pytest.raises(ArgumentError, match="both on the world"):
        robot.add_loop_closure("c", frame_a=world.add_free_frame("free"), frame_b=sx.Frame.world())
    assert len(world.loop_closures) == 0
    robot.add_loop_closure("c", frame_a=first, frame_b=world.add_marker("on second", second))
    robot.add_loop_closure("d", frame_a=second, frame_b=sx.Frame.world())
    assert len(world.loop_closures) == 2
