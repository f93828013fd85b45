# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Hard limits of joints: impulses that take energy and keep momentum, against closed forms and NumPy."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx

G = 9.81
ONE_VELOCITY = ("semi-implicit", "implicit-damping", "implicit-velocity")
FAMILIES = (*ONE_VELOCITY, "runge-kutta-4")


def made(family="semi-implicit", h=1e-3, gravity=(0, 0, -G)):
    world = sx.World(time_step=h, gravity=gravity)
    world.multibody_options = sx.MultibodyOptions(integration_family=family)
    return world


def arm(world, limits, *, axes=None, speeds=None, floating=False):
    """A chain of links of 1 kg, a metre apart, that hangs down at zero."""
    robot = world.add_multibody("arm")
    root = sx.JointSpec("root", sx.JointType.FLOATING) if floating else None
    link = robot.add_link("base", joint=root, mass=1.0, inertia=0.1 * np.eye(3))
    for i, (low, high) in enumerate(limits):
        pose = np.eye(4)
        pose[2, 3] = -1.0 if i else 0.0
        spec = sx.JointSpec(
            f"j{i}",
            axis=(0, 1, 0) if axes is None else axes[i],
            transform_to_parent=pose,
            position_lower_limits=low,
            position_upper_limits=high,
            velocity_limits=np.inf if speeds is None else speeds[i],
        )
        inertia = 0.05 * np.eye(3)
        link = robot.add_link(f"l{i}", link, spec, mass=1.0, center_of_mass=(0, 0, -0.5), inertia=inertia)
    return robot


FREE = (-np.inf, np.inf)


def energy(world):
    sim, model = world._live().sim, world._live().model
    q, v = sim.q.copy(), sim.v.copy()
    return float(wm.kinetic_energy(model, q, v) + wm.potential_energy(model, q))


def kinetic(world):
    sim, model = world._live().sim, world._live().model
    return float(wm.kinetic_energy(model, sim.q.copy(), sim.v.copy()))


def momentum(world):
    """Linear and angular momentum about the origin of the world."""
    sim, model = world._live().sim, world._live().model
    poses, twists = (f(model, *x) for f, x in _motion(sim))
    p, L = np.zeros(3), np.zeros(3)
    for b in range(model.body_count):
        quat = poses[b, 3:]
        R = rotation(quat)
        center, w = poses[b, :3] + R @ model.body_com[b], twists[b, :3]
        u = twists[b, 3:] + np.cross(w, R @ model.body_com[b])
        p += model.body_mass[b] * u
        L += model.body_mass[b] * np.cross(center, u) + R @ model.body_inertia[b] @ R.T @ w
    return p, L


def _motion(sim):
    q, v = sim.q.copy(), sim.v.copy()
    return (wm.forward_kinematics, (q,)), (wm.link_velocities, (q, v))


def rotation(quat):
    x, y, z, w = quat
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


# ---- energy and momentum


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("start", [(1.2, 0.25, 0.5), (2.0, 0.1, -1.0), (-2.5, -0.2, 2.0)])
def test_a_passive_arm_gains_no_energy_at_its_stop(family, start):
    world = made(family, h=2e-4)
    robot = arm(world, (FREE, (-0.3, 0.3), FREE))
    robot.joints.position = start
    before = most = energy(world)
    for _ in range(8000):
        world.step()
        most = max(most, energy(world))
    # what the integrator itself swings by
    assert most <= before + 0.02
    assert energy(world) < before - 0.4
    assert abs(robot.joints["j1"].position[0]) <= 0.3 + 1e-9


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("family", FAMILIES)
def test_limits_of_random_arms_take_energy(family, seed):
    """Position and velocity limits of every joint, from inside: the work of their rows is never positive."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    limits = [tuple(sorted(rng.uniform(-1.5, 1.5, 2))) for _ in range(count)]
    speeds = rng.uniform(2.0, 8.0, count)
    world = made(family, h=2e-4)
    robot = arm(world, limits, axes=rng.normal(size=(count, 3)), speeds=speeds)
    robot.joints.position = [rng.uniform(low, high) for low, high in limits]
    robot.joints.velocity = 0.9 * rng.uniform(-1.0, 1.0, count) * speeds
    before = energy(world)
    low, high = np.array(limits).T
    acted = 0.0
    # parts of a Runge-Kutta step do not end on the limit
    slack = 1e-5 if family in ONE_VELOCITY else 2e-3
    for _ in range(3000):
        world.step()
        # what the integrator itself swings by
        assert energy(world) <= before + 1e-3 * max(abs(before), 50.0)
        q, v = robot.joints.position, robot.joints.velocity
        # an impulse at one joint may take another one past its limit for a step
        assert (q >= low - 2e-3).all() and (q <= high + 2e-3).all()
        assert (np.abs(v) <= speeds * (1.0 + slack)).all()
        if family in ONE_VELOCITY:
            ledger = world.energy_ledger()
            assert ledger.limits <= 1e-7
            acted += ledger.limits
    if family in ONE_VELOCITY:
        assert acted < -1e-6


@pytest.mark.parametrize("family", FAMILIES)
def test_a_floating_pair_keeps_its_momentum(family):
    world = made(family, h=2e-4, gravity=(0, 0, 0))
    robot = arm(world, ((-0.3, 0.3),), floating=True)
    robot.joints["j0"].velocity = [1.0]
    robot.joints["root"].velocity = [0.1, 0.0, -0.25, 0.0, 0.05, 0.0]
    p, L = momentum(world)
    for _ in range(3000):
        world.step()
    assert abs(robot.joints["j0"].velocity[0]) < 1e-3
    now_p, now_L = momentum(world)
    np.testing.assert_allclose(now_p, p, atol=2e-4)
    np.testing.assert_allclose(now_L, L, atol=2e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", ONE_VELOCITY)
def test_the_impulse_of_a_stop_keeps_momentum_to_rounding(family, seed):
    """The same step with and without limits, both velocities at the pose of the start: internal impulses do
    not change the momentum of the pose where they act, whatever the step."""
    rng = np.random.default_rng(seed)
    axes, limits = rng.normal(size=(3, 3)), ((-0.1, 0.1), (-0.05, 0.2), (-0.2, 0.05))
    worlds = [made(family, h=2e-3, gravity=(0, 0, 0)) for _ in range(2)]
    robots = [arm(w, x, axes=axes, floating=True) for w, x in zip(worlds, (limits, 3 * (FREE,)), strict=True)]
    stopped, free = robots
    stopped.joints.velocity = np.append(rng.normal(size=6), 2.0 * rng.choice((-1.0, 1.0), 3))
    most = 0.0
    for _ in range(150):
        q = stopped.joints.position
        free.joints.position, free.joints.velocity = q, stopped.joints.velocity
        for world in worlds:
            world.step()
        velocities = stopped.joints.velocity, free.joints.velocity
        most = max(most, float(np.abs(velocities[0] - velocities[1]).max()))
        found = []
        for v in velocities:
            free.joints.position, free.joints.velocity = q, v
            found.append(np.concatenate(momentum(worlds[1])))
        np.testing.assert_allclose(found[0], found[1], rtol=4e-15, atol=2e-14)
    assert most > 0.5


def test_the_momentum_of_a_pair_at_its_stop_is_off_by_the_order_of_the_integrator():
    """Semi-implicit Euler moves bodies along the velocities after the impulse from where they were before it,
    which without a limit too leaves an error of first order; the classical Runge-Kutta method has none until
    the step of the impact, whose four evaluations are at four poses."""

    def error(family, h, limit):
        world = made(family, h=h, gravity=(0, 0, 0))
        robot = arm(world, (limit,), floating=True)
        robot.joints["j0"].velocity = [1.0]
        robot.joints["root"].velocity = [0.1, 0.0, -0.25, 0.0, 0.05, 0.0]
        before = np.concatenate(momentum(world))
        world.step(round(0.6 / h))
        return np.abs(np.concatenate(momentum(world)) - before).max()

    for family in FAMILIES:
        coarse, fine = (error(family, h, (-0.3, 0.3)) for h in (2e-3, 1e-3))
        assert coarse < 7e-4 and coarse / fine == pytest.approx(2.0, rel=0.01)
    coarse, fine = (error("semi-implicit", h, FREE) for h in (2e-3, 1e-3))
    assert coarse < 7e-4 and coarse / fine == pytest.approx(2.0, rel=0.01)
    assert error("runge-kutta-4", 2e-3, FREE) < 1e-13


@pytest.mark.parametrize("speeds", [None, (5.0, 4.0, 3.0)])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_unrelated_plane_changes_no_bit(family, speeds):
    worlds = [made(family), made(family)]
    worlds[1].add_ground_plane(-50.0)
    robots = [arm(world, (FREE, (-0.3, 0.3), (-1.0, 1.0)), speeds=speeds) for world in worlds]
    for robot in robots:
        robot.joints.position = (2.0, 0.1, -0.9)
    for _ in range(40):
        for world in worlds:
            world.step(50)
        assert robots[0].joints.position.tolist() == robots[1].joints.position.tolist()
        assert robots[0].joints.velocity.tolist() == robots[1].joints.velocity.tolist()


# ---- closed forms


def test_a_pendulum_hits_its_stop_and_rests():
    """Rod that swings from theta to the stop at the bottom: omega^2 = 2 m g l (1 - cos theta) / I before it."""
    world = made(h=1e-4)
    robot = arm(world, ((0.0, 2.0),))
    joint, theta, inertia = robot.joints["j0"], 1.0, 0.05 + 0.25
    joint.position = [theta]
    last = 0.0
    while joint.position[0] > 0.0:
        last = float(joint.velocity[0])
        world.step()
    assert last == pytest.approx(-np.sqrt(2.0 * G * 0.5 * (1.0 - np.cos(theta)) / inertia), rel=1e-3)
    world.step(100)
    assert joint.position[0] == pytest.approx(0.0, abs=1e-7) and abs(joint.velocity[0]) < 2e-6


@pytest.mark.parametrize("bounce", [0.0, 0.5, 1.0])
def test_restitution_of_a_stop(bounce):
    """A slider without gravity comes back with -e times its speed."""
    world = made(gravity=(0, 0, 0))
    robot = world.add_multibody("cart")
    rail = sx.JointSpec("rail", sx.JointType.PRISMATIC, position_upper_limits=0.1)
    robot.add_link("body", joint=rail, mass=2.0)
    scene = world.to_scene()
    scene.hierarchy.bodies[0].link.joints[0].limit_force = msd.ConstraintForceModel.hard(bounce, 1.0)
    world = sx.World.from_scene(scene)
    joint = next(iter(world.multibodies)).joints[0]
    joint.velocity = [3.0]
    world.step(200)
    assert joint.velocity[0] == pytest.approx(-3.0 * bounce, abs=1e-6)
    assert joint.position[0] <= 0.1 + 1e-9


def test_acceleration_and_force_at_a_stop_solve_the_kkt_system():
    """M a + b = J^T f, J v' = 0, f >= 0, solved by NumPy; one limit loaded, one left, one hit."""
    world = made(h=1e-3)
    robot = arm(world, ((-1.0, 0.4), (-0.3, 1.0), (-2.0, 0.5)), axes=((0, 1, 0), (0, 1, 0), (1, 0.3, 0)))
    robot.joints.position = (0.4, -0.3, 0.5)
    robot.joints.velocity = (1.5, -2.8, -1.0)
    sim, model, h = world._live().sim, world._live().model, world.time_step
    q, v = sim.q.copy(), sim.v.copy()
    M, bias = wm.mass_matrix(model, q), wm.bias_forces(model, q, v)
    J = np.array([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    kkt = np.block([[M, -J.T], [J, np.zeros((2, 2))]])
    solved = np.linalg.solve(kkt, np.concatenate([-bias, -J @ v / h]))
    a, f = solved[:3], solved[3:]
    assert (f > 0.0).all() and v[2] + h * a[2] < 0.0
    world.step()
    np.testing.assert_allclose(robot.joints.acceleration, a, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(world._live().constraint_forces(), J.T @ f, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(robot.joints.velocity, v + h * a, atol=1e-6)


def test_sensors_at_a_stop():
    """An arm that leans on its stop: the accelerometer shows gravity alone, the stop carries the weight."""
    scene = msd.from_str(
        """<mujoco><option timestep="0.001"/><worldbody><body><joint name="j" axis="0 1 0" range="-1 30"/>
        <inertial pos="1 0 0" mass="2" diaginertia="0.1 0.1 0.1"/><site name="tip" pos="1 0 0"/></body></worldbody>
        <sensor><accelerometer name="imu" site="tip"/><jointlimitfrc name="stop" joint="j"/>
        <force name="root" site="tip"/></sensor></mujoco>""",
        format="mjcf",
    )
    scene.hierarchy.bodies[0].link.joints[0].limit_force = msd.ConstraintForceModel.hard(0.0, 1.0)
    scene.hierarchy.bodies[0].link.joints[0].pos_limit = (-1.0, 0.0)
    world = sx.World.from_scene(scene)
    world.step(50)
    np.testing.assert_allclose(world.sensors["imu"].value, [0.0, 0.0, G], atol=1e-5)
    np.testing.assert_allclose(world.sensors["stop"].value, [2.0 * G], rtol=1e-6)
    joint = next(iter(world.multibodies)).joints["j"]
    np.testing.assert_allclose(joint.acceleration, [0.0], atol=1e-5)
    np.testing.assert_allclose(joint.constraint_force, [-2.0 * G], rtol=1e-6)


# ---- from outside


@pytest.mark.parametrize("plane", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_from_outside_its_limits_an_arm_comes_back_without_a_kick(family, plane):
    world = made(family, gravity=(0, 0, 0))
    if plane:
        world.add_ground_plane(-50.0)
    robot = arm(world, ((0.1, 0.3), (0.1, 0.3)))
    robot.joints.position = (1.0, -0.3)
    assert energy(world) == 0.0
    for _ in range(600):
        world.step()
        # QUIET of both joints, squared
        assert energy(world) < 1e-9
    q = robot.joints.position
    assert (q > 0.1 - 1e-5).all() and (q < 0.3 + 1e-5).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_from_outside_its_limits_a_heavy_arm_does_not_explode(family):
    world = made(family, h=2e-3)
    world.add_ground_plane(-50.0)
    robot = arm(world, ((0.1, 0.3), (0.1, 0.3)))
    robot.joints.position = (1.0, -0.3)
    before = energy(world)
    world.step()
    assert abs(energy(world) - before) < 0.2
    for _ in range(1000):
        world.step()
        # gravity takes joint 0 towards its limits, and the displacement of joint 1 lifts it by at most its height
        assert kinetic(world) < 15.0
    np.testing.assert_allclose(robot.joints.position, np.clip(robot.joints.position, 0.1, 0.3), atol=1e-6)
    assert energy(world) < before


def test_recovery_leaves_the_centre_of_mass_of_a_floating_pair():
    world = made(gravity=(0, 0, 0))
    robot = arm(world, ((-0.3, 0.3),), floating=True)
    robot.joints["j0"].position = [0.8]
    sim, model = world._live().sim, world._live().model
    before = wm.center_of_mass(model, sim.q.copy())
    world.step(500)
    sim = world._live().sim
    assert robot.joints["j0"].position[0] == pytest.approx(0.3, abs=1e-5)
    np.testing.assert_allclose(wm.center_of_mass(model, sim.q.copy()), before, atol=2e-3)
    assert np.abs(sim.v).max() < 1e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_joints_between_bodies_come_back_from_outside_without_a_kick(family):
    """The same limits as constraints of a slide: half a metre outside, two bodies of 1 kg in free space."""
    world = made(family, gravity=(0, 0, 0))
    first, second = (world.add_rigid_body(name, mass=1.0) for name in ("first", "second"))
    spec = sx.JointSpec("slide", sx.JointType.PRISMATIC, axis=(1, 0, 0))
    slide = world.add_joint(first, second, spec)
    world.step()
    slide.set_position_limits(0.5, 1.0)
    world.step(1000)
    speed = np.abs(second.linear_velocity - first.linear_velocity).max()
    # one velocity for positions and velocities keeps the speed of recovery
    assert speed < (1e-5 if family in ONE_VELOCITY else 1.0 + 1e-5)
    assert 0.5 - 1e-5 < (second.translation - first.translation)[0] < 1.0 + 1e-5


# ---- joints that turn freely, float, or keep a distance


def hung(kind, family="semi-implicit", com=(0, 0, -0.5), **spec):
    world = made(family)
    robot = world.add_multibody("robot")
    robot.add_link(
        "bob",
        joint=sx.JointSpec("joint", kind, **spec),
        mass=1.0,
        center_of_mass=com,
        inertia=0.1 * np.eye(3),
    )
    return world, robot.joints["joint"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_spherical_joint_stops_at_its_angle(family):
    world, joint = hung(sx.JointType.SPHERICAL, family, position_upper_limits=0.5)
    joint.velocity = [2.0, 3.0, 1.0]
    before, reached = energy(world), 0.0
    slack = 1e-4 if family in ONE_VELOCITY else 5e-3
    for _ in range(2000):
        world.step()
        angle = float(np.linalg.norm(joint.position))
        reached = max(reached, angle)
        assert angle < 0.5 + slack
        assert energy(world) < before + 0.01
    assert reached > 0.499


@pytest.mark.parametrize("family", FAMILIES)
def test_a_floating_joint_stops_at_its_positions(family):
    low = [-0.2, -np.inf, -0.3, -np.inf, -np.inf, -np.inf]
    high = [0.2, np.inf, np.inf, np.inf, np.inf, np.inf]
    world, joint = hung(
        sx.JointType.FLOATING, family, (0, 0, 0), position_lower_limits=low, position_upper_limits=high
    )
    joint.velocity = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    world.step(1500)
    slack = 1e-6 if family in ONE_VELOCITY else 1e-3
    np.testing.assert_allclose(joint.position[[0, 2]], [0.2, -0.3], atol=slack)
    assert joint.position[1] == pytest.approx(1.5, rel=1e-6)


def test_a_floating_joint_stops_at_its_angle():
    high = [np.inf, np.inf, np.inf, 0.4, 0.4, 0.4]
    world, joint = hung(sx.JointType.FLOATING, position_upper_limits=high)
    joint.velocity = [0.0, 0.0, 0.0, 1.0, 2.0, -1.0]
    for _ in range(1000):
        world.step()
        assert np.linalg.norm(joint.position[3:]) < 0.4 + 1e-4
    assert np.linalg.norm(joint.position[3:]) > 0.39


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tether_holds_its_body(family):
    """Falls a metre and hangs; with a push it swings, and the cord never gives energy."""
    world, joint = hung(sx.JointType.DISTANCE, family, distance_limits=(0.0, 1.0))
    world.step(2000)
    slack = 1e-5 if family in ONE_VELOCITY else 5e-3
    assert np.linalg.norm(joint.position[:3]) == pytest.approx(1.0, abs=slack)
    assert joint.position[2] == pytest.approx(-1.0, abs=1e-2)
    joint.velocity = [2.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    before = energy(world)
    for _ in range(2000):
        world.step()
        assert np.linalg.norm(joint.position[:3]) < 1.0 + max(slack, 1e-4)
        assert energy(world) < before + 0.01


def test_a_least_distance_keeps_bodies_apart():
    world, joint = hung(sx.JointType.DISTANCE, distance_limits=(0.5, np.inf))
    joint.position = [0.01, 0.0, 1.0, 0.0, 0.0, 0.0]
    for _ in range(2000):
        world.step()
        assert np.linalg.norm(joint.position[:3]) > 0.5 - 1e-4
    # it slid off the ball and fell
    assert joint.position[2] < -1.0


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ((-0.5, -1.0, -0.5), (0.5, 1.0, 0.5)),
        (-0.2, 0.5),
        (0.1, 0.5),
        (-0.5, np.inf),
        (-np.inf, (0.5, 0.5, np.inf)),
    ],
)
def test_limits_that_no_rotation_has_are_refused(low, high):
    with pytest.raises(ValueError, match="bound the angle of its rotation"):
        hung(sx.JointType.SPHERICAL, position_lower_limits=low, position_upper_limits=high)
    world, joint = hung(sx.JointType.SPHERICAL)
    with pytest.raises(ValueError, match="joint 'robot/joint' bound the angle of its rotation"):
        joint.set_position_limits(low, high)
    assert np.isinf(joint.position_upper_limits).all()
    builder = wm.ModelBuilder()
    link = builder.add_link(mass=1.0, inertia=np.eye(3))
    with pytest.raises(ValueError, match="bound the angle of its rotation"):
        builder.add_joint_ball(-1, link, limit_lower=low, limit_upper=high)
    world.step()


BOUND = 0.3
JOINTS = {
    sx.JointType.REVOLUTE: {"axis": (0.2, 1.0, 0.3)},
    sx.JointType.PRISMATIC: {"axis": (0.2, 1.0, 0.3)},
    sx.JointType.SCREW: {"axis": (0, 1, 0), "pitch": 0.2},
    sx.JointType.UNIVERSAL: {"axis": (0, 1, 0), "axis2": (1, 0, 0)},
    sx.JointType.SPHERICAL: {"position_lower_limits": None},
    sx.JointType.PLANAR: {},
    sx.JointType.FLOATING: {"position_lower_limits": [-BOUND] * 3 + [-np.inf] * 3},
    sx.JointType.EULER: {},
    sx.JointType.TRANSLATIONAL: {},
    sx.JointType.TRANSLATIONAL_2D: {},
    sx.JointType.DISTANCE: {
        "position_lower_limits": None,
        "position_upper_limits": None,
        "distance_limits": (0.05, BOUND),
    },
    sx.JointType.D6: {"linear_axes": ((1, 0, 0),), "angular_axes": ((0, 1, 0), (0, 0, 1))},
    sx.JointType.CABLE: {},
    sx.JointType.CUSTOM: {
        "motion": (
            msd.MotionAxis.turn((0, 1, 0), msd.CoordinateFunction.linear(coordinate=0)),
            msd.MotionAxis.slide((1, 0, 0), msd.CoordinateFunction.linear(coordinate=1)),
        )
    },
}


def in_an_arm(kind, family, floating, h=1e-3):
    """A joint of any type, with limits of BOUND, between two links with hinges before and behind it."""
    world = made(family, h)
    robot, below = world.add_multibody("robot"), np.eye(4)
    below[2, 3] = -1.0
    spec = {"position_lower_limits": -BOUND, "position_upper_limits": BOUND, **JOINTS[kind]}
    root = sx.JointSpec("root", sx.JointType.FLOATING) if floating else sx.JointSpec("root", axis=(0, 1, 0))
    link = None
    for name, joint in (
        ("first", root),
        ("second", sx.JointSpec("joint", kind, transform_to_parent=below, **spec)),
        ("third", sx.JointSpec("hinge", axis=(1, 0, 0), transform_to_parent=below)),
    ):
        link = robot.add_link(
            name, link, joint, mass=1.0, center_of_mass=(0, 0, -0.5), inertia=0.05 * np.eye(3)
        )
    return world, robot.joints["joint"]


def beyond(kind, position):
    """How far a joint is outside its limits."""
    if kind is sx.JointType.SPHERICAL:
        return np.linalg.norm(position) - BOUND
    if kind is sx.JointType.DISTANCE:
        distance = np.linalg.norm(position[:3])
        return max(distance - BOUND, 0.05 - distance)
    if kind is sx.JointType.FLOATING:
        return max(np.abs(position[:3]).max(), np.linalg.norm(position[3:])) - BOUND
    return np.abs(position).max() - BOUND


def scattered(joint, size, seed):
    """Coordinates of a length, positions and orientations each."""
    rng = np.random.default_rng(seed)
    position = rng.normal(size=len(joint.position))
    for part in (position[:3], position[3:]):
        part *= size / max(float(np.linalg.norm(part)), 1e-12)
    return position


def test_every_joint_with_coordinates_is_tried():
    assert {*JOINTS} == {*sx.JointType} - {sx.JointType.FIXED}


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("family", ["semi-implicit", "runge-kutta-4"])
@pytest.mark.parametrize("kind", JOINTS)
def test_limits_of_every_joint_stop_it_and_take_energy(kind, family, floating):
    # on a short tether a step of 1 ms turns by 0.03 rad, and the integrator alone gains energy
    h = 2.5e-4 if kind is sx.JointType.DISTANCE else 1e-3
    world, joint = in_an_arm(kind, family, floating, h)
    joint.position = scattered(joint, 0.15, 3)
    joint.velocity = np.random.default_rng(4).choice((-3.0, 3.0), len(joint.velocity))
    before, reached = energy(world), -BOUND
    for _ in range(round(0.4 / h)):
        world.step()
        reached = max(reached, float(beyond(kind, joint.position)))
        # what the integrator itself swings by
        assert energy(world) < before + 0.05
        if family in ONE_VELOCITY:
            assert world.energy_ledger().limits <= 1e-6
    assert -2e-3 < reached < 5e-3


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("family", ["semi-implicit", "runge-kutta-4"])
@pytest.mark.parametrize("kind", JOINTS)
def test_every_joint_comes_back_from_outside_without_a_kick(kind, family, floating):
    world, joint = in_an_arm(kind, family, floating)
    world.gravity = (0.0, 0.0, 0.0)
    joint.position = scattered(joint, 0.75, 5)
    assert beyond(kind, joint.position) > 0.1
    for _ in range(600):
        world.step()
        assert kinetic(world) < 1e-3
    assert beyond(kind, joint.position) < 1e-3


def test_limits_set_later_on_a_floating_joint_act():
    world = made()
    robot = world.add_multibody("robot")
    robot.add_link("base", joint=sx.JointSpec("root", sx.JointType.FLOATING), mass=1.0)
    robot.joints["root"].set_position_limits(-1.0, [1.0] * 6)
    world.step(2000)
    np.testing.assert_allclose(robot.joints["root"].position[2], -1.0, atol=1e-6)


# ---- the variational family


@pytest.mark.parametrize("h", [4e-3, 2e-3, 1e-3])
def test_a_pendulum_comes_to_rest_at_its_limit_in_the_variational_family(h):
    """It falls from level to 1.2 rad below, and rests there without a trace of the time step."""
    world = sx.World(time_step=h, multibody_options=sx.MultibodyOptions("variational"))
    robot = world.add_multibody("pendulum")
    link = robot.add_link(
        "rod",
        robot.add_link("base"),
        sx.JointSpec("pivot", axis=(0, 1, 0)),
        mass=1.0,
        inertia=(0.01, 0.01, 0.01),
        center_of_mass=(0.5, 0.0, 0.0),
    )
    pivot = robot.joints["pivot"]
    pivot.set_position_limits([-1.0], [1.2])
    farthest, fastest = 0.0, 0.0
    for _ in range(round(2.0 / h)):
        world.step()
        farthest = max(farthest, float(pivot.position[0]))
        fastest = max(fastest, float(pivot.velocity[0]))
    # I v^2 / 2 = m g c sin(1.2) before it
    exact = np.sqrt(2.0 * 9.81 * 0.5 * np.sin(1.2) / 0.26)
    assert fastest == pytest.approx(exact, abs=15.0 * h) and link.name == "rod"
    assert farthest < 1.2 + 1e-9 and pivot.position[0] == pytest.approx(1.2, abs=1e-9)
    assert abs(pivot.velocity[0]) < 1e-6


def test_a_velocity_limit_acts_in_the_variational_family():
    world = made("variational")
    robot = arm(world, (FREE,), speeds=(2.0,))
    robot.joints.force = [50.0]
    for _ in range(200):
        world.step()
        assert robot.joints.velocity[0] < 2.0 + 1e-3
    assert robot.joints.velocity[0] == pytest.approx(2.0, abs=1e-3)


# ---- lanes


def lane_model(kind="arm"):
    builder = wm.ModelBuilder()
    inertia = 0.05 * np.eye(3)
    if kind == "arm":
        parent, joints = -1, []
        for i, limits in enumerate(((-2.0, 2.0), (-0.3, 0.3), (-1.0, 1.0))):
            link = builder.add_link(mass=1.0, com=(0, 0, -0.5), inertia=inertia)
            joints.append(
                builder.add_joint_revolute(
                    parent,
                    link,
                    axis=(0, 1, 0),
                    parent_xform=(0, 0, -1.0 if i else 0.0, 0, 0, 0, 1),
                    limit_lower=limits[0],
                    limit_upper=limits[1],
                    limit_ke=np.inf,
                    velocity_limit=6.0,
                )
            )
            parent = link
    else:
        link = builder.add_link(mass=1.0, com=(0, 0, -0.5), inertia=inertia)
        if kind == "ball":
            joints = [builder.add_joint_ball(-1, link, limit_upper=0.5)]
        elif kind == "free":
            limits = {"limit_lower": [-0.2, -np.inf, -0.3, *[-np.inf] * 3]}
            joints = [builder.add_joint_free(link, **limits)]
        else:
            joints = [builder.add_joint_distance(-1, link, max_distance=1.0)]
    builder.add_articulation(joints)
    return builder.finalize()


@pytest.mark.parametrize("kind", ["arm", "ball", "free", "tether"])
@pytest.mark.parametrize("family", ["semi-implicit", "runge-kutta-4"])
def test_lanes_have_the_limits_of_one_world(kind, family):
    """Each world of a batch equals the same world alone bit for bit, and one world that steps in place."""
    from worldline._src.step.constraints import Constraints
    from worldline._src.step.simulation import Simulation
    from worldline._src.step.stepping import MultibodyIntegrationFamily

    model = lane_model(kind)
    rng = np.random.default_rng(3)
    v = rng.uniform(-2.0, 2.0, (5, model.joint_dof_count))
    lanes = wm.LaneSimulation(model, 5, time_step=1e-3, integration_family=family)
    alone = wm.LaneSimulation(model, 1, time_step=1e-3, integration_family=family)
    lanes.v[:], alone.v[:] = v, v[3]
    lanes.step(800)
    alone.step(800, lanes=1)
    assert lanes.q[3].tolist() == alone.q[0].tolist() and lanes.v[3].tolist() == alone.v[0].tolist()
    sim = Simulation(model, 1e-3, MultibodyIntegrationFamily.of(family), constraints=Constraints(model))
    sim.v[:] = v[3]
    sim.step(100)
    alone = wm.LaneSimulation(model, 1, time_step=1e-3, integration_family=family)
    alone.v[:] = v[3]
    alone.step(100)
    np.testing.assert_allclose(alone.q[0], sim.q, atol=1e-5)


def test_lanes_come_back_from_outside_without_a_kick():
    model = lane_model()
    model.update(gravity=np.zeros(3))
    lanes = wm.LaneSimulation(model, 4, time_step=1e-3)
    lanes.q[1] = (0.5, 1.0, -2.0)
    lanes.q[2] = (-3.0, 0.0, 0.0)
    lanes.step(700)
    assert np.abs(lanes.v).max() < 1e-5
    assert abs(lanes.q[1, 1]) <= 0.3 + 1e-5 and lanes.q[1, 2] == pytest.approx(-1.0, abs=1e-5)
    assert lanes.q[2, 0] == pytest.approx(-2.0, abs=1e-5)
    assert lanes.q[0].tolist() == [0.0, 0.0, 0.0]


# ---- against MuJoCo


def test_soft_limits_follow_mujoco():
    """Hinges and a ball joint with solref and solimp, no shapes that touch."""
    text = """<mujoco><option timestep="0.001" integrator="Euler"/><compiler angle="radian"/><worldbody>
      <body pos="0 0 1"><joint name="a" axis="0 1 0" range="-0.4 0.6" limited="true" solreflimit="0.02 0.7"
        solimplimit="0.8 0.95 0.01 0.4 3" margin="0.02"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.6 0 0" contype="0" conaffinity="0"/>
        <body pos="0.6 0 0"><joint name="b" type="ball" range="0 0.5" limited="true" solreflimit="0.03 1"/>
          <geom type="capsule" size="0.04" fromto="0 0 0 0.4 0.1 0" contype="0" conaffinity="0"/>
          <body pos="0.4 0.1 0"><joint name="c" axis="1 0 0" range="-0.2 0.2" limited="true"/>
            <geom type="box" size="0.1 0.05 0.02" pos="0.1 0.1 0" contype="0" conaffinity="0"/>
      </body></body></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    start = np.array([2.0, 1.0, -2.0, 3.0, 1.5])
    data.qvel[:] = start
    next(iter(world.multibodies)).joints.velocity = start
    reached = 0
    for _ in range(500):
        mujoco.mj_step(model, data)
        world.step()
        reached += data.nefc
        sim = world._live().sim
        np.testing.assert_allclose(sim.v, data.qvel, atol=2e-6)
    assert reached > 200
