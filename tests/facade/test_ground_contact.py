# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Points of links on a ground plane, in the variational family: closed forms, refusals, copies."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from worldline import ArgumentError, CapabilityError, OperationError, SceneError, model, msd
from worldline import simulation as sx
from worldline._src.step.forward import forward

G = 9.81
MASS = 2.0


def variational(h: float = 0.001) -> sx.World:
    return sx.World(time_step=h, multibody_options=sx.MultibodyOptions("variational"))


def lift(world: sx.World, stiffness: float = 1e4, points: int = 1, **more) -> sx.Joint:
    """A mass on a vertical rail, whose points touch a plane at z = 0 when its coordinate is zero."""
    robot = world.add_multibody("lift")
    rail = sx.JointSpec(name="rail", type=sx.JointType.PRISMATIC, axis=(0, 0, 1))
    foot = robot.add_link("foot", joint=rail, mass=MASS)
    robot.set_ground_contact((0, 0, 1), (0, 0, 0), stiffness, **more)
    for k in range(points):
        robot.add_ground_contact_point(foot, (0.1 * k, 0, 0))
    return foot.parent_joint


def sledge(world: sx.World, normal=(0.0, 0.0, 1.0), point=(0.0, 0.0, 0.0), **more) -> sx.Link:
    """A mass that may move along x and z and does not turn."""
    robot = world.add_multibody("sledge")
    axes = (np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    spec = sx.JointSpec(type=sx.JointType.D6, linear_axes=axes, angular_axes=())
    body = robot.add_link("body", joint=spec, mass=MASS)
    robot.set_ground_contact(normal, point, 1e4, **more)
    robot.add_ground_contact_point(body, (0, 0, 0))
    return body


def box(world: sx.World, **more) -> sx.Link:
    """A free box with a point at each lower corner."""
    robot = world.add_multibody("box")
    spec = sx.JointSpec(type=sx.JointType.FLOATING)
    body = robot.add_link("body", joint=spec, mass=MASS, inertia=(0.02, 0.03, 0.04))
    robot.set_ground_contact((0, 0, 1), (0, 0, 0), 1e4, **more)
    for x in (-0.1, 0.1):
        for y in (-0.1, 0.1):
            robot.add_ground_contact_point(body, (x, y, -0.1))
    return body


# ---- the force law


@pytest.mark.parametrize(("stiffness", "points"), [(1e3, 1), (1e4, 2), (1e6, 3)])
def test_weight_rests_where_penalties_carry_it(stiffness, points):
    world = variational()
    rail = lift(world, stiffness, points, damping_coefficient=2.0 * math.sqrt(MASS * stiffness) / points)
    world.step(n=3000)
    assert -rail.position[0] == pytest.approx(MASS * G / (points * stiffness), rel=1e-6)


def test_an_undamped_bounce_returns_its_energy():
    world = variational(h=0.0005)
    rail = lift(world)
    rail.position = [0.1]
    heights = []
    for _ in range(4000):
        world.step()
        heights.append(rail.position[0])
    assert min(heights) < -0.01
    # 2 s are several bounces; the energy error of a symplectic step is bounded
    assert max(heights[2000:]) == pytest.approx(0.1, rel=2e-3)


def test_damping_decays_as_a_damped_oscillator():
    c, k = 40.0, 1e4
    world = variational(h=0.0002)
    rail = lift(world, k, damping_coefficient=c)
    rest, start = -MASS * G / k, 2e-4
    rail.position = [rest + start]
    times, found = [], []
    for _ in range(1000):
        world.step()
        times.append(world.time)
        found.append(rail.position[0] - rest)
    rate, t = c / (2.0 * MASS), np.array(times)
    w = math.sqrt(k / MASS - rate * rate)
    expected = start * np.exp(-rate * t) * (np.cos(w * t) + rate / w * np.sin(w * t))
    np.testing.assert_allclose(found, expected, atol=2e-3 * start)


def test_damping_never_pulls_and_never_exceeds_the_penalty():
    world = variational()
    rail = lift(world, 1e3, damping_coefficient=1e3)
    rail.position, rail.velocity = [-0.001], [-2.0]
    with forward(world._live().sim, np.zeros((1, 6))):
        # 1 N of penalty and as much damping, although c d' is 2000 N
        assert world._live().sim.a[0] == pytest.approx(2.0 / MASS - G, rel=1e-12)
    rail.velocity = [2.0]
    with forward(world._live().sim, np.zeros((1, 6))):
        assert world._live().sim.a[0] == pytest.approx(-G, rel=1e-12)


def test_kinetic_friction_slows_down_by_mu_g():
    world = variational()
    body = sledge(world, friction_coefficient=0.3)
    joint = body.parent_joint
    joint.position, joint.velocity = [0.0, -MASS * G / 1e4], [2.0, 0.0]
    world.step(n=400)
    assert joint.velocity[0] == pytest.approx(2.0 - 0.3 * G * 0.4, rel=1e-5)
    world.step(n=600)
    # it stops, and does not go back
    assert abs(joint.velocity[0]) < 1e-8
    assert joint.position[0] == pytest.approx(2.0**2 / (2.0 * 0.3 * G), rel=2e-3)


@pytest.mark.parametrize("regularization", [1e-3, 1e-4])
def test_below_the_cone_a_point_creeps_at_the_viscous_speed(regularization):
    slope, mu = math.atan(0.4), 0.5
    world = variational()
    body = sledge(
        world,
        (math.sin(slope), 0, math.cos(slope)),
        friction_coefficient=mu,
        friction_regularization=regularization,
        damping_coefficient=200.0,
    )
    world.step(n=3000)
    # mu N u / sqrt(u^2 + e^2) = m g sin(slope)
    ratio = math.tan(slope) / mu
    speed = regularization * ratio / math.sqrt(1.0 - ratio**2)
    assert np.linalg.norm(body.parent_joint.velocity) == pytest.approx(speed, rel=1e-5)


def test_beyond_the_cone_a_point_slides():
    slope, mu = math.atan(0.7), 0.5
    normal = np.array([math.sin(slope), 0.0, math.cos(slope)])
    world = variational()
    body = sledge(world, normal, friction_coefficient=mu)
    depth = MASS * G * math.cos(slope) / 1e4
    body.parent_joint.position = -depth * normal[[0, 2]]
    world.step(n=1000)
    expected = G * (math.sin(slope) - mu * math.cos(slope))
    assert np.linalg.norm(body.parent_joint.velocity) == pytest.approx(expected, rel=1e-4)


def test_plane_point_and_normal_place_the_ground():
    normal, point = np.array([1.0, 0.0, 2.0]), np.array([0.0, 0.0, 0.3])
    world = variational()
    body = sledge(world, normal, point, friction_coefficient=2.0, damping_coefficient=200.0)
    body.parent_joint.position = [0.0, 0.3]
    world.step(n=2000)
    n = normal / np.linalg.norm(normal)
    assert n @ (body.translation - point) == pytest.approx(-MASS * G * n[2] / 1e4, rel=1e-5)


def test_duals_take_the_depth_to_zero():
    world = variational()
    rail = lift(world, 1e3, damping_coefficient=60.0, dual_update_cadence=200)
    world.step(n=199)
    assert not world._live().sim.ground_dual[:, 0].any()
    world.step(n=7801)
    assert abs(rail.position[0]) < 1e-9
    assert world._live().sim.ground_dual[0, 0] == pytest.approx(MASS * G, rel=1e-6)


def test_a_box_tumbles_and_comes_to_rest():
    world = variational()
    body = box(world, friction_coefficient=0.8, damping_coefficient=100.0)
    joint = body.parent_joint
    joint.position, joint.velocity = [0, 0, 0.3, 0.3, 0.5, 0.2], [1, 0.5, 0, 3, 2, 1]
    most = 0.0
    for _ in range(4000):
        world.step()
        most = max(most, world._live().sim.solver_report[0])
    assert most < 60
    np.testing.assert_allclose(joint.velocity, 0.0, atol=1e-6)
    # on its points or on its back: no other corner touches anything, so only the four points may carry
    heights = [float(body.transform[2, :] @ [x, y, -0.1, 1.0]) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    np.testing.assert_allclose(heights, -MASS * G / 4e4, rtol=1e-3)


def test_friction_of_free_bodies_slides_as_far_as_it_must():
    world = variational()
    body = box(world, friction_coefficient=0.5, damping_coefficient=100.0)
    joint = body.parent_joint
    joint.position, joint.velocity = [0, 0, 0.1 - MASS * G / 4e4, 0, 0, 0], [2.0, 0, 0, 0, 0, 0]
    world.step(n=1000)
    assert body.translation[0] == pytest.approx(2.0**2 / (2.0 * 0.5 * G), rel=2e-3)


def test_forces_of_the_present_know_the_ground():
    world = variational()
    rail = lift(world)
    rail.position = [-MASS * G / 1e4]
    with forward(world._live().sim, np.zeros((1, 6))):
        np.testing.assert_allclose(world._live().sim.a, 0.0, atol=1e-12)


def test_wrenches_of_joints_refuse_what_they_do_not_know():
    world = variational()
    rail = lift(world)
    world.step()
    with pytest.raises(CapabilityError, match="ground contact points"):
        rail.compute_wrench_to_child()


# ---- refusals


@pytest.mark.parametrize(
    "family", ["semi-implicit", "implicit-damping", "runge-kutta-4", "implicit-velocity"]
)
def test_other_families_refuse_before_anything_changes(family):
    world = variational()
    rail = lift(world)
    rail.position = [0.5]
    world.multibody_options = sx.MultibodyOptions(family)
    with pytest.raises(CapabilityError, match=f"'{family}' does not have ground contact points"):
        world.step()
    assert world.frame == 0 and rail.position[0] == 0.5
    built = msd.build(world.to_scene())
    with pytest.raises(CapabilityError, match="ground contact points"):
        model.Simulation(built).step()
    with pytest.raises(CapabilityError, match="ground contact points"):
        model.LaneSimulation(built, 4)
    with pytest.raises(CapabilityError, match="ground contact points"):
        model.step(built, built.state())
    world.multibody_options = sx.MultibodyOptions("variational")
    world.step()
    assert rail.velocity[0] < 0.0


def test_array_steps_refuse_duals():
    world = variational()
    lift(world, dual_update_cadence=5)
    built = msd.build(world.to_scene())
    with pytest.raises(CapabilityError, match="dual updates"):
        model.step(built, built.state())


BAD = (
    {"plane_normal": (0, 0, 0)},
    {"plane_normal": (0, 0)},
    {"plane_point": (0, math.nan, 0)},
    {"stiffness": -1.0},
    {"stiffness": math.inf},
    {"friction_coefficient": -0.1},
    {"friction_regularization": 0.0},
    {"damping_coefficient": -1.0},
    {"dual_update_cadence": -1},
    {"dual_update_cadence": 1.5},
)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: "-".join(map(str, next(iter(bad.items())))))
def test_numbers_that_mean_nothing_are_refused(bad):
    world = variational()
    rail = lift(world)
    robot = world.multibodies["lift"]
    given = {"plane_normal": (0, 0, 1), "plane_point": (0, 0, 0), "stiffness": 5.0} | bad
    with pytest.raises(ArgumentError, match=next(iter(bad))):
        robot.set_ground_contact(**given)
    rail.position = [-0.1]
    world.step()
    # the point of before is still there
    assert rail.velocity[0] > 0.0


def test_a_normal_of_any_length_is_the_same_plane():
    velocities = []
    for length in (1.0, 0.25, 8.0):
        world = variational()
        rail = lift(world)
        world.multibodies["lift"].set_ground_contact((0, 0, length), (0, 0, 0), 500.0)
        world.multibodies["lift"].add_ground_contact_point(rail.child_link, (0, 0, 0))
        rail.position = [-0.1]
        world.step(3)
        velocities.append(rail.velocity[0])
    assert velocities[1:] == velocities[:1] * 2 and velocities[0] > 0.0


def test_points_need_a_plane_and_a_link_of_the_multibody():
    world = variational()
    a, b = world.add_multibody("a"), world.add_multibody("b")
    link, other = a.add_link("link"), b.add_link("link")
    with pytest.raises(OperationError, match="set_ground_contact first"):
        a.add_ground_contact_point(link, (0, 0, 0))
    a.set_ground_contact((0, 0, 1), (0, 0, 0), 1.0)
    with pytest.raises(ArgumentError, match="does not belong to multibody 'a'"):
        a.add_ground_contact_point(other, (0, 0, 0))
    with pytest.raises(ArgumentError, match="ground contact point of link 'link'"):
        a.add_ground_contact_point(link, (0, 0))
    assert not world.to_scene().ground_points


def test_a_new_plane_drops_the_points():
    world = variational()
    rail = lift(world)
    robot = world.multibodies["lift"]
    rail.position = [-0.1]
    robot.set_ground_contact((0, 0, 1), (0, 0, 0), 1e4)
    world.step()
    assert rail.velocity[0] == pytest.approx(-G * 0.001)
    robot.add_ground_contact_point(robot.links["foot"], (0, 0, 0))
    world.step()
    assert rail.velocity[0] > 0.0


# ---- copies and files


def bits(world: sx.World) -> bytes:
    sim = world._live().sim
    return sim.q.tobytes() + sim.v.tobytes() + sim.ground_dual.tobytes()


def running() -> sx.World:
    world = variational()
    body = box(world, friction_coefficient=0.8, damping_coefficient=100.0, dual_update_cadence=7)
    body.parent_joint.position = [0, 0, 0.12, 0.1, 0.05, 0.2]
    world.step(n=120)
    assert world._live().sim.ground_dual.any()
    return world


def reloaded(world: sx.World, tmp_path) -> sx.World:
    world.save_binary(tmp_path / "world.bin")
    made = sx.World()
    made.load_binary(tmp_path / "world.bin")
    return made


COPIES = {
    "clone": lambda world, _: world.clone(),
    "deepcopy": lambda world, _: copy.deepcopy(world),
    "pickle": lambda world, _: pickle.loads(pickle.dumps(world)),
    "binary": reloaded,
}


@pytest.mark.parametrize("how", COPIES)
def test_copies_go_on_to_the_same_bits(how, tmp_path):
    world = running()
    other = COPIES[how](world, tmp_path)
    assert bits(other) == bits(world)
    world.step(n=60)
    other.step(n=60)
    assert bits(other) == bits(world)


def test_replay_goes_back_with_the_duals():
    world = running()
    world.replay_recording_enabled = True
    world.step(n=20)
    middle = bits(world)
    frame = world.replay.frame_count - 1
    world.step(n=30)
    end = bits(world)
    world.restore_replay_frame(frame)
    assert bits(world) == middle
    world.step(n=30)
    assert bits(world) == end


def test_reset_clears_the_duals():
    world = running()
    world.reset()
    assert not world._live().sim.ground_dual.any()


def test_a_step_that_is_taken_back_leaves_the_duals():
    world = running()
    world.step(n=3)
    world.multibody_options = sx.MultibodyOptions("variational", variational_max_iterations=1)
    world.multibodies["box"].joints[0].velocity = [0, 0, 0, 5.0, 1.0, 0]
    before = bits(world)
    with pytest.raises(sx.StepFailure, match="was not found"):
        world.step()
    assert bits(world) == before


def test_a_plane_without_points_is_kept_by_copies():
    world = variational()
    robot = world.add_multibody("robot")
    robot.add_link("foot")
    robot.set_ground_contact((0, 0, 1), (0, 0, 0.5), 100.0)
    copied = copy.deepcopy(world)
    other = copied.multibodies["robot"]
    other.add_ground_contact_point(other.links["foot"], (0, 0, 0))
    assert copied.to_scene().ground_points[0].contact.plane_point.tolist() == [0, 0, 0.5]


def test_scenes_keep_points_and_other_formats_name_the_loss():
    world = running()
    scene = world.to_scene()
    again = msd.from_str(scene.to_str(), format="msd")
    assert again == scene and len(again.ground_points) == 4
    for name in ("mjcf", "sdf", "urdf"):
        report = msd.Report()
        scene.to_str(format=name, report=report)
        assert any("ground_points" in entry.path for entry in report.losses), name


def test_points_go_with_their_link_and_come_with_a_clone():
    world = variational()
    lift(world)
    robot = world.multibodies["lift"]
    twin = robot.clone("twin", translation=(0, 0, 0.4), rotation=(0, 0, 0, 1))
    rows = world.to_scene().ground_points
    assert [row.link for row in rows] == ["lift/foot", "twin/foot"]
    assert rows[1].contact.plane_point.tolist() == [0, 0, 0.4]
    world.remove(robot.links["foot"])
    assert [row.link for row in world.to_scene().ground_points] == ["twin/foot"]
    twin.name = "other"
    assert [row.link for row in world.to_scene().ground_points] == ["other/foot"]


def test_a_ground_plane_cannot_hang_on_a_link():
    world = variational()
    lift(world)
    part, other = world.to_scene(), variational()
    arm = other.add_multibody("arm").add_link("arm")
    with pytest.raises(SceneError, match="ground plane is fixed in the world"):
        other.add_scene(part, at=arm)


# ---- lanes


def test_lanes_have_the_bits_of_one_world():
    world = variational()
    box(world, friction_coefficient=0.8, damping_coefficient=100.0)
    built = msd.build(world.to_scene())
    rng = np.random.default_rng(3)
    q = np.tile(built.joint_q, (9, 1))
    q[:, 2] = rng.uniform(0.09, 0.15, 9)
    v = rng.normal(size=(9, 6))

    def stepped(rows: slice) -> np.ndarray:
        built.world_count = len(q[rows])
        state = built.state()
        state.joint_q[...] = q[rows].reshape(state.joint_q.shape)
        state.joint_qd[...] = v[rows].reshape(state.joint_qd.shape)
        model.step(built, state, steps=40)
        return np.concatenate([state.joint_q, state.joint_qd], axis=-1).reshape(len(q[rows]), -1)

    together = stepped(slice(0, 9))
    assert not np.allclose(together[0], together[1])
    for k in range(9):
        assert stepped(slice(k, k + 1)).tobytes() == together[k : k + 1].tobytes()
