# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`capabilities()` tells the truth: what it calls available runs, what it calls unavailable is refused by name.

Every entry of the matrix has a proof here, so that an entry added to it fails until it is exercised.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx
from worldline._src.facade.capabilities import ROWS
from worldline._src.facade.features import feature_groups
from worldline.collision import CollisionShape

Type, Drive, Family = sx.JointType, sx.ActuatorType, sx.MultibodyIntegrationFamily
MATRIX = {row.row: row for row in sx.capabilities()}


def body(world, name="a", **options):
    made = world.add_rigid_body(name, inertia=np.diag([0.1, 0.2, 0.25]), **options)
    return made


def arm(world=None, **spec):
    world = sx.World() if world is None else world
    robot = world.add_multibody("robot")
    kind = spec.get("type", Type.REVOLUTE)
    with_axis = kind in (
        Type.REVOLUTE,
        Type.PRISMATIC,
        Type.SCREW,
        Type.UNIVERSAL,
        Type.PLANAR,
        Type.TRANSLATIONAL_2D,
    )
    given = {"name": "joint"} | ({"axis": (0, 1, 0)} if with_axis else {}) | spec
    link = robot.add_link("rod", None, sx.JointSpec(**given))
    link.mass, link.inertia, link.center_of_mass = 1.0, np.eye(3) * 0.01, (0.3, 0.1, 0)
    return world, robot


def moves(world, n=10):
    before = world.state_vector.copy()
    world.step(n=n)
    assert np.isfinite(world.state_vector).all() and not np.array_equal(before, world.state_vector)


# ---- families


@pytest.mark.parametrize("family", list(Family), ids=lambda family: family.value)
def test_families(family):
    row = MATRIX["integration family"]
    world, _ = arm(sx.World(multibody_options=sx.MultibodyOptions(family)))
    if family.value in row.available:
        moves(world)
    else:
        assert family.value in row.unavailable
        with pytest.raises(NotImplementedError, match=family.value):
            world.step()


# ---- solvers

SOLVERS = {
    "newton": sx.ContactSolverMethod.NEWTON,
    "sequential impulse": sx.ContactSolverMethod.SEQUENTIAL_IMPULSE,
    "boxed LCP": sx.ContactSolverMethod.BOXED_LCP,
}


@pytest.mark.parametrize("name", MATRIX["constraint solve"].available)
def test_solvers(name):
    method = SOLVERS[name]
    world = sx.World(contact_solver_method=method)
    world.add_ground_plane()
    body(world, position=(0, 0, 0.1)).add_collision_shape(CollisionShape.sphere(0.1))
    world.step(n=3)
    assert world.step_report().methods == {method.value: 1}


def test_solvers_that_are_not_there():
    assert MATRIX["constraint solve"].unavailable == ("barrier method",)
    world = sx.World(rigid_body_solver=sx.RigidBodySolver.IPC)
    with pytest.raises(NotImplementedError, match="barrier method"):
        world.step()


# ---- execution and derivatives


def test_execution():
    row = MATRIX["execution shape"]
    assert row.available == (
        *("single world", "kinematics-only", "batch of one description"),
        *("batch of several descriptions", "rollout", "batch in single precision"),
    )
    assert len(sx.MixedBatch([arm()[0], sx.World()]).groups) == 2
    assert sx.WorldBatch(arm()[0], 2, dtype=np.float32).dtype == np.float32
    world, robot = arm()
    moves(world)
    robot.joints[0].position = [0.3]
    pose = robot.links[0].transform.copy()
    world.sync()
    np.testing.assert_array_equal(robot.links[0].transform, pose)
    model = msd.build(world.to_scene())
    worlds = wm.LaneSimulation(model, 3)
    worlds.step(3)
    assert worlds.q.shape == (3, 1) and worlds.v.all()
    batch = sx.WorldBatch(world, 3)
    batch.step(3)
    assert batch.joint_velocities.shape == (3, 1) and batch.joint_velocities.all()
    run = sx.state.rollout(world, {"joint_positions": np.array([[0.1], [0.2]])}, steps=4)
    assert run.joint_positions.shape == (2, 5, 1) and run.joint_positions[:, -1].all()
    strict = sx.World(
        compute_accelerator_policy=sx.ComputeAcceleratorPolicy.PREFER_ACCELERATED,
        strict_solver_resolution=True,
    )
    with pytest.raises(NotImplementedError, match="accelerator"):
        strict.step()


def test_derivatives():
    row = MATRIX["differentiability"]
    modes = ("complementarity-aware", "pre-contact-surrogate")
    assert row.available == ("analytic", "autodiff", "finite-difference checked", *modes)
    world = sx.World(differentiable=True)
    world.add_rigid_body("box", mass=1.0)
    world.step()
    assert world.check_derivatives().largest_error < 1e-8
    assert world.get_step_derivatives().provenance["state_jacobian"] is sx.Provenance.ANALYTIC
    origins = {"analytic": None, modes[0]: None, modes[1]: sx.Provenance.SURROGATE}
    for mode, origin in origins.items():
        world.contact_gradient_mode = sx.ContactGradientMode(mode)
        world.step()
        assert world.get_step_derivatives().provenance.get("open contacts") is origin


CRATE = """<mujoco>{0}<worldbody><geom type="plane" size="5 5 .1"/>
  <body name="crate" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody>{1}</mujoco>"""
SUCTION = '<actuator><adhesion body="crate" ctrlrange="0 1"/></actuator>'
WITHOUT_DERIVATIVES = {
    "the variational family": ("", "", "multibody_options", sx.MultibodyOptions("variational")),
    "sleeping islands (deactivation)": ("", "", "deactivation_options", sx.DeactivationOptions(enabled=True)),
    "a boxed problem as the solver of constraints": (
        *("", "", "contact_solver_method"),
        sx.ContactSolverMethod.BOXED_LCP,
    ),
    "sweeps against slip (noslip_iterations)": ('<option noslip_iterations="3"/>', "", None, None),
    "adhesion": ("", SUCTION, None, None),
}


@pytest.mark.parametrize("words", WITHOUT_DERIVATIVES)
def test_what_has_no_derivatives_is_listed_and_refused_by_the_same_words(words):
    options, more, name, value = WITHOUT_DERIVATIVES[words]
    assert words in MATRIX["differentiability"].unavailable
    scene = msd.from_str(CRATE.format(options, more), format="mjcf")
    scene.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(scene)
    if name is not None:
        setattr(world, name, value)
    with pytest.raises(NotImplementedError, match=re.escape(words)):
        world.step()
    assert world.time == 0.0


# ---- features that are no member of an enumeration


def read(text):
    return sx.World.from_scene(msd.from_str(text, format="mjcf"))


HINGE = """<mujoco>{option}<worldbody><body {body}><joint name="j" axis="0 1 0" {joint}/><geom size=".1" pos=".3 0 0" mass="1" {geom}/>
  <site name="s" pos=".3 0 .1"/></body><site name="w" pos="0 0 .5"/></worldbody>{more}</mujoco>"""


def hinge(n=20, **parts):
    """The state of a pendulum after n steps; parts of its text are given."""
    given = dict.fromkeys(("option", "body", "joint", "geom", "more"), "") | parts
    world = read(HINGE.format(**given))
    world.step(n=n)
    return world.state_vector


def differs(**parts):
    assert not np.allclose(hinge(), hinge(**parts), atol=1e-9)


def several_roots():
    world, robot = arm()
    robot.add_link(
        "second", None, sx.JointSpec(name="other", axis=(0, 1, 0)), mass=1.0, center_of_mass=(1, 0, 0)
    )
    assert np.count_nonzero(moves_by(world)) == 4


def moves_by(world, n=10):
    before = world.state_vector.copy()
    world.step(n=n)
    return world.state_vector - before


def kinematic_and_static():
    world = sx.World()
    still, led = body(world, "still"), body(world, "led", position=(1, 0, 0))
    still.is_static, led.is_kinematic = True, True
    led.linear_velocity = (0.5, 0, 0)
    world.step(n=10)
    np.testing.assert_allclose(led.translation, (1 + 0.5 * 10 * world.time_step, 0, 0), atol=1e-12)
    np.testing.assert_array_equal(still.translation, (0, 0, 0))


def springs_and_limits():
    for part in ('stiffness="5" springref="20"', 'damping=".5"', 'armature=".1"'):
        differs(joint=part)
    for name in ("velocity_limits", "effort_limits"):
        ends = []
        for limit in (np.inf, 0.01):
            world, robot = arm(**{name: limit})
            robot.joints[0].force = [5.0]
            ends.append(moves_by(world))
        assert not np.allclose(*ends)


def position_and_velocity_drives():
    for kind in ("position", "velocity"):
        differs(
            more=f'<actuator><{kind} joint="j" {"kp" if kind == "position" else "kv"}="20" ctrlrange="0 0"/></actuator>'
        )
    builder = wm.ModelBuilder()
    rod = builder.add_link(mass=1.0, com=(0.3, 0, 0), inertia=np.eye(3) * 0.01)
    builder.add_articulation(
        [builder.add_joint_revolute(-1, rod, wm.Axis.Y, target_pos=0.5, target_ke=200.0, target_kd=20.0)]
    )
    sim = wm.Simulation(builder.finalize(), 0.005)
    sim.step(400)
    assert sim.q[0] == pytest.approx(0.5, abs=0.02)


def all_shapes_touch():
    """Planes are half spaces: a ball far below one is pushed; a mesh with a dent touches by its hull."""
    world = sx.World()
    world.add_ground_plane()
    below = body(world, position=(0, 0, -0.05))
    below.add_collision_shape(CollisionShape.sphere(0.1))
    world.step(n=50)
    assert below.translation[2] > -0.05


def pairs_of_their_own():
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/><body pos="0 0 .099"><freejoint/><geom name="g" size=".1"/>
      </body></worldbody>{}<keyframe><key name="k" qpos="0 0 .099 1 0 0 0" qvel="1 0 0 0 0 0"/></keyframe></mujoco>"""
    ends = []
    for pair in ("", '<contact><pair geom1="floor" geom2="g" friction=".05"/></contact>'):
        world = read(text.format(pair))
        world.apply_keyframe("k")
        ends.append(moves_by(world))
    assert not np.allclose(*ends)


def couplers_and_mimics():
    ends = []
    for couples in (False, True):
        world, robot = arm()
        robot.add_link("second", None, sx.JointSpec(name="other", axis=(0, 1, 0)), mass=1.0)
        if couples:
            robot.joints["joint"].set_mimic_joint(robot.joints["other"], 2.0)
            robot.joints["joint"].actuator_type = Drive.MIMIC
        robot.joints["other"].force = [0.5]
        ends.append(moves_by(world))
    assert not np.allclose(*ends)


def distance_springs():
    world = sx.World(gravity=(0, 0, 0))
    a, b = body(world, "a"), body(world, "b", position=(1, 0, 0))
    world.add_rigid_body_distance_spring("s", a, b, 0.5, 20.0)
    assert moves_by(world).any()


def sleeping():
    options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.05)
    world = sx.World(deactivation_options=options)
    world.add_ground_plane()
    made = body(world, position=(0, 0, 0.1))
    made.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    world.step(n=400)
    assert made.is_sleeping


def limits_and_friction():
    for part in (
        'range="-1 1"',
        'range="-1 1" solreflimit=".05 1"',
        'range="-1 9" margin=".1"',
        'frictionloss=".5"',
    ):
        differs(joint=part)
    tendon = '<tendon><fixed name="t" {}><joint joint="j" coef="1"/></fixed></tendon>'
    for part in ('range="-.01 .01"', 'frictionloss=".5"'):
        differs(more=tendon.format(part))


def frozen_joints():
    world, robot = arm()
    robot.freeze(["joint"], [0.3])
    world.step(n=5)
    assert robot.num_dofs == 0 or robot.joints["joint"].position[0] == pytest.approx(0.3)


def tendons():
    fixed = '<tendon><fixed {}><joint joint="j" coef="1"/></fixed></tendon>'
    differs(more=fixed.format('stiffness="30" springlength=".2"'))
    # a dead band that the joint does not leave pulls nothing
    still = hinge(more=fixed.format('stiffness="30" springlength="-9 9"'))
    np.testing.assert_allclose(still, hinge(), atol=1e-9)
    rope = '<tendon><spatial stiffness="30" springlength=".1"><site site="w"/>{}<site site="s"/></spatial></tendon>'
    differs(more=rope.format(""))
    wrapped = HINGE.replace(
        '<site name="w"',
        '<geom name="round" size=".15" pos=".15 0 .3" contype="0" conaffinity="0"/><site name="w"',
    )
    given = dict.fromkeys(("option", "body", "joint", "geom"), "")
    ends = []
    for part in ("", '<geom geom="round"/>'):
        world = read(wrapped.format(more=rope.format(part), **given))
        ends.append(moves_by(world))
    assert not np.allclose(*ends)


def fluid():
    differs(option='<option density="100" viscosity="1"/>')


def sensor_noise():
    world = sx.World()
    unit = world.sensors.add_imu("unit", attach_to=world.add_rigid_body("a", fixed=True), noise=0.1)
    exact = unit.value
    world.sensor_noise_seed = 1
    assert (unit.value[:3] != exact[:3]).all() and np.abs(unit.value - exact).max() < 1.0


def gravity_compensation():
    np.testing.assert_allclose(hinge(body='gravcomp="1"'), 0.0, atol=1e-12)


def passive_world_joints():
    ends = []
    for given in (
        {},
        {"spring_stiffness": 5.0, "rest_position": 0.5},
        {"damping_coefficient": 2.0},
        {"coulomb_friction": 0.4},
        {"armature": 3.0},
    ):
        world = sx.World(gravity=(0, 0, 0))
        a = body(world, "a")
        a.is_static = True
        b = body(world, "b", position=(1, 0, 0))
        world.add_joint(a, b, sx.JointSpec(type=Type.REVOLUTE, axis=(0, 0, 1), **given))
        b.apply_torque((0.0, 0.0, 1.0))
        world.step(n=30)
        ends.append(float(b.angular_velocity[2]))
    assert len({round(end, 9) for end in ends}) == len(ends)


def ground_points():
    for family in ("variational", "semi-implicit"):
        world = sx.World(multibody_options=sx.MultibodyOptions(family))
        lift = world.add_multibody("lift")
        rail = sx.JointSpec(type=Type.PRISMATIC, axis=(0, 0, 1))
        foot = lift.add_link("foot", joint=rail, mass=1.0)
        lift.set_ground_contact((0, 0, 1), (0, 0, 0), 1000.0, damping_coefficient=50.0)
        lift.add_ground_contact_point(foot, (0, 0, 0))
        if family == "variational":
            world.step(n=1000)
            assert foot.translation[2] == pytest.approx(-9.81 / 1000.0, rel=1e-6)
        else:
            with pytest.raises(NotImplementedError, match="ground"):
                world.step()


def mimic_world_joints():
    world = sx.World()
    a, b = body(world, "a"), body(world, "b", position=(1, 0, 0))
    joint = world.add_joint(a, b, sx.JointSpec(name="joint", type=Type.REVOLUTE))
    with pytest.raises(NotImplementedError, match="MIMIC"):
        joint.actuator_type = Drive.MIMIC


def drag_of_shapes():
    text = HINGE.format(
        option='<option density="100"/>',
        body="",
        joint="",
        geom='fluidshape="ellipsoid" name="wing"',
        more="",
    )
    with pytest.raises(NotImplementedError, match=r"single shapes in a fluid.*fluid_coefficients of 'wing'"):
        read(text).step()


def slow_sensors():
    for field in ("update_period", "delay"):
        text = HINGE.format(
            option="", body="", joint="", geom="", more="<sensor><jointpos joint='j'/></sensor>"
        )
        scene = msd.from_str(text, format="mjcf")
        setattr(scene.sensors.joint[0], field, 0.1)
        slow = sx.World.from_scene(scene)
        with pytest.raises(NotImplementedError, match=r"period|delay"):
            slow.sensors[0].value  # noqa: B018


PROOFS = {
    "several roots": several_roots,
    "kinematic and static bodies": kinematic_and_static,
    "springs, dampers, armature, effort and velocity limits": springs_and_limits,
    "gravity compensation": gravity_compensation,
    "position and velocity drives": position_and_velocity_drives,
    "contacts of all shapes; planes are half spaces, meshes count by their hull": all_shapes_touch,
    "contact pairs with parameters of their own": pairs_of_their_own,
    "joint couplers and mimic motors": couplers_and_mimics,
    "springs, dampers, dry friction and armature of world-owned hinges and slides": passive_world_joints,
    "points on a ground plane, in the variational family alone": ground_points,
    "distance springs": distance_springs,
    "sleeping of islands at rest": sleeping,
    "soft and hard limits of joints and tendons, margins of limits, joint and tendon friction": limits_and_friction,
    "joints frozen at values: reduced models": frozen_joints,
    "fixed and spatial tendons with springs, dead bands and wrapping": tendons,
    "drag of a fluid on the boxes of inertia": fluid,
    "noise of sensors from a seed": sensor_noise,
}
REFUSALS = {
    "mimic motors of world-owned joints": mimic_world_joints,
    "drag and lift of single shapes in a fluid": drag_of_shapes,
    "sensors with a period or a delay": slow_sensors,
}
UNASKED = {
    "dynamics approach": ("articulated-body method", "constrained dynamics", "XPBD"),
    "coordinate support": ("generalized coordinates", "maximal coordinates", "mixed systems"),
}
"""Rows about methods that no option asks for: what a World uses, and what it does not."""


@pytest.mark.parametrize("entry", PROOFS)
def test_a_claimed_feature_works(entry):
    PROOFS[entry]()


@pytest.mark.parametrize("entry", REFUSALS)
def test_a_feature_that_is_not_there_is_refused(entry):
    REFUSALS[entry]()


def test_every_entry_is_exercised():
    """Each entry of each row is tried above or, by kind, in the tests of features."""
    assert tuple(MATRIX) == ROWS
    groups = feature_groups()
    features = MATRIX["supported features"]
    kinds = {str(group) for group in groups}
    assert set(features.available) - kinds == set(PROOFS)
    lacking = {f"{group.name}: {', '.join(group.unavailable)}" for group in groups}
    assert set(features.unavailable) - lacking == set(REFUSALS)
    assert set(MATRIX["constraint solve"].available) == set(SOLVERS)
    for row, entries in UNASKED.items():
        assert {*MATRIX[row].available, *MATRIX[row].unavailable} == set(entries)
