# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""CUSTOM joints in a World: steps, limits, springs, drives, contacts, files, copies, batches, refusals."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

F, TURN, SLIDE = msd.CoordinateFunction, msd.MotionAxis.turn, msd.MotionAxis.slide
Family = sx.MultibodyIntegrationFamily
KNEE = [
    TURN((0, 1, 0), F.linear()),
    SLIDE((1, 0, 0), F.polynomial([0.01, -0.02, 0.03, 0.01])),
    SLIDE((0, 0, 1), F.spline([-2.0, -1.0, 0.0, 0.5], [0.02, 0.01, 0.0, 0.01])),
]
TWO = [
    TURN((0, 1, 0), F.linear(coordinate=0)),
    SLIDE((1, 0, 0), (F.polynomial([0.0, 0.3]), F.polynomial([0.2, 0.0, 0.1], 1))),
    TURN((1, 0, 0), F.linear(coordinate=1), F.linear(0.3)),
]


def leg(motion=KNEE, family=None, time_step=0.001, **options) -> sx.World:
    chosen = {} if family is None else {"multibody_options": sx.MultibodyOptions(integration_family=family)}
    world = sx.World(time_step=time_step, **chosen)
    robot = world.add_multibody("leg")
    thigh = robot.add_link(
        "thigh", joint=sx.JointSpec("hip", axis=(0, 1, 0)), mass=5.0, inertia=(0.1, 0.1, 0.02)
    )
    shift = np.eye(4)
    shift[2, 3] = -0.4
    spec = sx.JointSpec("knee", sx.JointType.CUSTOM, motion=motion, transform_to_parent=shift, **options)
    robot.add_link(
        "shank",
        parent=thigh,
        joint=spec,
        mass=3.0,
        inertia=(0.05, 0.04, 0.02),
        center_of_mass=(0.02, 0.01, -0.2),
    )
    return world


def energy(world: sx.World) -> float:
    return world.kinetic_energy + world.potential_energy


def test_the_drawn_pose_is_that_of_zero_coordinates():
    world = leg()
    shank = world.multibodies["leg"].links["shank"]
    # the first slide starts at 0.01
    assert np.allclose(shank.transform[:3, 3], [0.01, 0.0, -0.4], atol=1e-15)
    assert np.allclose(shank._link.local_translation, [0.01, 0.0, -0.4], atol=1e-15)
    knee = world.multibodies["leg"].joints["knee"]
    assert knee.type is sx.JointType.CUSTOM and knee.num_dofs == 1
    knee.position = [-1.0]
    wanted = [0.01 + 0.02 + 0.03 - 0.01, 0.0, -0.4]
    s, c = np.sin(-1.0), np.cos(-1.0)
    local = np.array([wanted[0] * c + 0.01 * s, 0.0, -wanted[0] * s + 0.01 * c - 0.4])
    assert np.allclose(shank.transform[:3, 3], local, atol=1e-14)


@pytest.mark.parametrize(
    ("motion", "family", "drift"),
    [
        (TWO, Family.RUNGE_KUTTA_4, 1e-9),
        # the third derivative of a spline jumps at its knots
        (KNEE, Family.RUNGE_KUTTA_4, 5e-6),
        (TWO, Family.VARIATIONAL, 5e-5),
        (KNEE, Family.VARIATIONAL, 5e-5),
    ],
    ids=["two, rk4", "knee, rk4", "two, variational", "knee, variational"],
)
def test_energy_is_kept(motion, family, drift):
    world = leg(motion, family)
    joints = world.multibodies["leg"].joints
    joints.position = [0.4] + [-0.6] * (len(joints.position) - 1)
    start = energy(world)
    drifts = []
    for _ in range(10):
        world.step(100)
        drifts.append(abs(energy(world) - start))
    assert max(drifts) < drift


def test_semi_implicit_steps_converge_to_runge_kutta():
    ends = []
    for family, h in ((Family.RUNGE_KUTTA_4, 1e-3), (None, 1e-3), (None, 5e-4)):
        world = leg(TWO, family, h)
        world.multibodies["leg"].joints.position = [0.4, -0.6, 0.2]
        world.step(round(0.5 / h))
        ends.append(np.array(world.multibodies["leg"].joints.position))
    coarse, fine = (np.abs(end - ends[0]).max() for end in ends[1:])
    assert 1.8 < coarse / fine < 2.2


def test_limits_springs_damping_friction_armature_and_drives_act():
    # at rest on a limit, on a spring, by a servo; the knee alone moves
    limited = leg(position_lower_limits=-0.2, position_upper_limits=0.1, damping_coefficient=1.0)
    limited.multibodies["leg"].joints["hip"].actuator_type = sx.ActuatorType.LOCKED
    knee = limited.multibodies["leg"].joints["knee"]
    knee.force = [-20.0]
    limited.step(2000)
    assert knee.position[0] == pytest.approx(-0.2, abs=1e-4)
    assert knee.constraint_force[0] > 10.0

    sprung = leg(spring_stiffness=200.0, rest_position=-0.5, damping_coefficient=5.0, armature=0.05)
    sprung.multibodies["leg"].joints["hip"].actuator_type = sx.ActuatorType.LOCKED
    sprung.step(5000)
    knee = sprung.multibodies["leg"].joints["knee"]
    weight = float(sprung.multibodies["leg"].gravity_forces[1])
    assert 200.0 * (-0.5 - knee.position[0]) == pytest.approx(weight, abs=1e-6)
    assert sprung.multibodies["leg"].mass_matrix[1, 1] > 0.05

    servo = leg(actuator_type=sx.ActuatorType.SERVO, coulomb_friction=0.5)
    knee = servo.multibodies["leg"].joints["knee"]
    knee.command_velocity = [0.7]
    servo.step(300)
    assert knee.velocity[0] == pytest.approx(0.7, abs=1e-6)

    prescribed = leg(actuator_type=sx.ActuatorType.ACCELERATION)
    knee = prescribed.multibodies["leg"].joints["knee"]
    knee.command_acceleration = [2.0]
    prescribed.step(100)
    assert knee.velocity[0] == pytest.approx(0.2, abs=1e-9)

    stuck = leg(coulomb_friction=100.0)
    stuck.multibodies["leg"].joints["hip"].actuator_type = sx.ActuatorType.LOCKED
    stuck.multibodies["leg"].joints["knee"].position = [-0.3]
    stuck.step(200)
    assert stuck.multibodies["leg"].joints["knee"].position[0] == pytest.approx(-0.3, abs=1e-4)


def test_a_shank_leans_on_a_wall():
    world = leg(damping_coefficient=1.0)
    world.multibodies["leg"].joints["hip"].actuator_type = sx.ActuatorType.LOCKED
    world.multibodies["leg"].links["shank"].set_collision_shape(
        CollisionShape.sphere(0.1, local_transform=(0, 0, -0.4, 0, 0, 0, 1))
    )
    wall = world.add_rigid_body("wall", fixed=True, position=(-0.2, 0.0, -0.8))
    wall.set_collision_shape(CollisionShape.box((0.01, 1.0, 0.2)))
    knee = world.multibodies["leg"].joints["knee"]
    knee.force = [10.0]
    world.step(3000)
    (contact,) = world.contacts
    assert abs(knee.velocity[0]) < 1e-6 and knee.position[0] > 0.1
    # the contact, the weight and the command cancel
    load = 10.0 - float(world.multibodies["leg"].gravity_forces[1])
    assert knee.constraint_force[0] == pytest.approx(-load, abs=1e-6)
    assert load > 1.0 and contact.depth < 1e-3


def test_files_clones_copies_and_pickles_keep_the_motion(tmp_path):
    world = leg(TWO, position_upper_limits=[1.0, 2.0], spring_stiffness=[3.0, 4.0])
    world.multibodies["leg"].joints.position = [0.4, -0.6, 0.2]
    world.step(50)
    file = tmp_path / "leg.msd"
    world.to_scene().to_file(file)
    read = msd.from_file(file)
    joint = next(j for link in read.hierarchy.links() for j in link.joints if j.type_ is msd.JointType.Custom)
    assert [axis.angular for axis in joint.motion] == [True, False, True] and joint.sizes == (2, 2)
    assert joint == next(
        j
        for link in world.to_scene().hierarchy.links()
        for j in link.joints
        if j.type_ is msd.JointType.Custom
    )
    again = msd.from_msgpack(read.to_msgpack())
    assert again == read
    binary = tmp_path / "leg.bin"
    world.save_binary(binary)
    loaded = sx.World()
    loaded.load_binary(binary)
    others = [
        world.clone(),
        copy.deepcopy(world),
        pickle.loads(pickle.dumps(world)),
        loaded,
    ]
    world.step(50)
    for other in others:
        other.step(50)
        assert np.array_equal(
            other.multibodies["leg"].joints.position, world.multibodies["leg"].joints.position
        )


def test_worlds_of_a_batch_step_as_they_do_alone():
    world = leg(TWO, damping_coefficient=0.1)
    world.multibodies["leg"].joints.position = [0.4, -0.6, 0.2]
    batch = sx.WorldBatch(world, 5, layout="lanes")
    starts = np.linspace(-0.5, 0.5, 5)
    q = np.array(batch.joint_positions)
    q[:, 1] = starts
    batch.joint_positions = q
    batch.step(100)
    for k, start in enumerate(starts):
        alone = leg(TWO, damping_coefficient=0.1)
        alone.multibodies["leg"].joints.position = [0.4, start, 0.2]
        alone.step(100)
        assert np.array_equal(batch.joint_positions[k], alone.multibodies["leg"].joints.position)


def test_a_custom_joint_can_be_frozen_and_let_go():
    world = leg(TWO)
    world.multibodies["leg"].joints.position = [0.4, -0.6, 0.2]
    shank = world.multibodies["leg"].links["shank"]
    before = shank.transform.copy()
    world.multibodies["leg"].freeze(["knee"])
    assert np.allclose(shank.transform, before, atol=1e-14)
    world.step(10)
    assert world.multibodies["leg"].num_dofs == 1


@pytest.mark.parametrize("suffix", ["xml", "urdf", "sdf"])
def test_other_formats_refuse_it_by_name_and_write_nothing(suffix, tmp_path):
    file = tmp_path / f"leg.{suffix}"
    with pytest.raises(NotImplementedError, match=r"leg/knee.*Custom"):
        leg().to_scene().to_file(file)
    assert not list(tmp_path.iterdir())


def test_wrong_specs_are_refused_and_change_nothing():
    world = sx.World()
    robot = world.add_multibody("m")
    with pytest.raises(ValueError, match="0 axes"):
        robot.add_link("x", joint=sx.JointSpec(type=sx.JointType.CUSTOM))
    with pytest.raises(ValueError, match="motion is for CUSTOM joints"):
        sx.JointSpec(motion=KNEE)
    with pytest.raises(ValueError, match=r"motion\[0\].axis"):
        sx.JointSpec(type=sx.JointType.CUSTOM, motion=[TURN((0, 0, 0), F.linear())])
    with pytest.raises(ValueError, match="axis is for"):
        sx.JointSpec(type=sx.JointType.CUSTOM, axis=(1, 0, 0), motion=KNEE)
    body = world.add_rigid_body("body")
    with pytest.raises(NotImplementedError, match="CUSTOM"):
        world.add_joint(body, sx.JointSpec(type=sx.JointType.CUSTOM, motion=KNEE))
    assert robot.num_links == 0 and world.num_joints == 0
    scene = msd.from_str(
        "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>", format="mjcf"
    )
    scene.hierarchy.bodies[0].link.joints[0].motion = [TURN((0, 0, 1), F.linear())]
    with pytest.raises(msd.SceneError, match="motion"):
        scene.validate()
