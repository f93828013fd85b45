# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The step in lanes is right: the answers of the one-world step, and those of closed forms."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from contact_worlds import G, ball, box, set_materials, tilted_gravity

sys.path.insert(0, str(Path(__file__).parents[1] / "step"))
from lane_scenes import scatter, scene_model

from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.constraints.tables import CONVERGED, TOLERANCE
from worldline._src.step.constraints import Constraints
from worldline.model import ActuatorMode, LaneSimulation, ModelBuilder, MultibodyIntegrationFamily, Simulation

SOFT = 1e-8
"""Agreement of velocities [m/s, rad/s] where contacts are soft: both solvers find the answer of a convex problem."""
HARD = 1e-5
"""The same for hard contacts: the one-world step undoes the lift to 1e-6 of the fastest slip, some 10 m/s here."""


def started(model, family="semi-implicit", seed=0, tolerance=1e-9):
    """Worlds in lanes, and one world for Newton's method."""
    worlds = LaneSimulation(model, 4, integration_family=family, sweeps=3000, tolerance=tolerance)
    scatter(worlds, seed)
    made = MultibodyIntegrationFamily.of(family)
    return worlds, Simulation(model, model.time_step, made, constraints=Constraints(model))


def put(one, worlds, w):
    """Give a world of its own the state of world `w`."""
    assert one.constraints is not None
    one.q[:], one.v[:] = worlds.q[w], worlds.v[w]
    one.control[:] = worlds.control[w]
    one.constraints.column["activation"][:] = worlds.activation[w]
    one.written()


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("monopod, cone", SOFT),
        ("monopod, pyramid", SOFT),
        ("pile, cone", SOFT),
        ("pile, pyramid", SOFT),
        ("hard pile, cone", HARD),
        ("hard pile, pyramid", HARD),
    ],
)
def test_every_step_is_that_of_newtons_method(name, close):
    """From states along a run, so that differences cannot grow from step to step.

    How four hard corners share a weight is not determined, and with it how friction turns a box: hard piles are
    compared without it.
    """
    compared = slice(None) if close == SOFT else slice(0, 24)
    worlds, one = started(scene_model(name), tolerance=1e-9 if close == SOFT else 1e-7)
    assert one.constraints is not None
    # at its usual 1e-8 Newton's method takes a hard pyramid for solved up to 1e-4 m/s away from the answer
    one.constraints.column["option"][TOLERANCE] = 1e-10
    contacts = compared_steps = 0
    for _ in range(60):
        worlds.step(4)
        before = [(worlds.q[w].copy(), worlds.v[w].copy(), worlds.activation[w].copy()) for w in range(4)]
        worlds.step(1)
        after = [(worlds.v[w].copy(), worlds.unconverged[w]) for w in range(4)]
        contacts += np.count_nonzero(worlds.kept)
        kept = worlds.kept.copy()
        for w in range(4):
            q, v, activation = worlds.q[w].copy(), worlds.v[w].copy(), worlds.activation[w].copy()
            worlds.q[w], worlds.v[w], worlds.activation[w] = before[w]
            put(one, worlds, w)
            worlds.q[w], worlds.v[w], worlds.activation[w] = q, v, activation
            one.step(1)
            assert one.constraints is not None
            if after[w][1] == 0 and one.constraints.column["counter"][CONVERGED] == 1:
                compared_steps += 1
                assert after[w][0][compared] == pytest.approx(one.v[compared], abs=close)
        assert np.array_equal(kept, worlds.kept)
    assert contacts > 1000
    assert compared_steps > 200, "most steps of both solvers end within their tolerance"


@pytest.mark.parametrize("name", ["monopod, cone", "monopod, pyramid"])
def test_a_whole_run_is_that_of_newtons_method(name):
    worlds, one = started(scene_model(name))
    start = started(scene_model(name))[0]
    worlds.step(500)
    assert (np.abs(worlds.kept).max(axis=1) > 1.0).all(), "nothing touches: there is nothing to compare"
    for w in range(4):
        put(one, start, w)
        one.step(500)
        assert worlds.q[w] == pytest.approx(one.q, abs=1e-7)


@pytest.mark.parametrize("family", ["implicit-damping", "runge-kutta-4"])
def test_the_answers_are_the_same_for_every_integrator(family):
    model = scene_model("monopod, cone")
    worlds, one = started(model, family)
    start = started(model, family)[0]
    worlds.step(300)
    for w in range(4):
        put(one, start, w)
        one.step(300)
        assert worlds.q[w] == pytest.approx(one.q, abs=1e-7)
        assert one.constraints is not None
        assert worlds.activation[w] == pytest.approx(one.constraints.column["activation"], abs=1e-9)


def overlapping(count, cone):
    """Spheres and capsules of unlike masses that start inside each other."""
    rng = np.random.default_rng(count)
    text = f'<mujoco><option timestep="0.002" cone="{cone}"/><worldbody><geom type="plane" size="5 5 .1"/>'
    for k in range(count):
        place = 0.12 * np.array([k % 3, k // 3 % 3, k // 9]) + (0, 0, 0.09) + rng.uniform(-0.02, 0.02, 3)
        turn, mass = rng.normal(size=4), 10.0 ** rng.uniform(-1.0, 1.0)
        shape = 'type="capsule" size=".06 .08"' if k % 2 else 'type="sphere" size=".1"'
        pos, quat = (" ".join(f"{x:.4f}" for x in numbers) for numbers in (place, turn))
        text += f'<body pos="{pos}" quat="{quat}"><freejoint/><geom {shape} mass="{mass:.3f}"/></body>'
    return msd.from_str(text + "</worldbody></mujoco>", format="mjcf")


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("count", [8, 10, 12])
def test_overlapping_heaps_are_solved_to_the_tolerances_of_their_solvers(count, cone):
    """Steps of a World, of lanes, and of lanes with a tight tolerance, from the states of a tight solution.

    More than 62 degrees of freedom are swept in lanes. The tolerance of sweeps is a change per sweep, so the error is
    many times as large: batches of Worlds, which have Newton's method, do not run there.
    """
    scene = overlapping(count, cone)
    model = msd.build(scene)
    right, world = Simulation(model), Simulation(model)
    assert right.constraints is not None
    right.constraints.column["option"][TOLERANCE] = 1e-15
    lanes, tight = LaneSimulation(model, 1), LaneSimulation(model, 1, tolerance=1e-10, sweeps=20_000)
    errors, fastest = np.zeros(3), 0.0
    for _ in range(60):
        q, v = right.q.copy(), right.v.copy()
        for many in (lanes, tight):
            many.q[:], many.v[:] = q, v
            many.step()
        world.q[:], world.v[:] = q, v
        world.written()
        for one in (right, world):
            one.step()
        found = [np.abs(v - right.v).max() for v in (world.v, lanes.v[0], tight.v[0])]
        errors, fastest = np.maximum(errors, found), max(fastest, np.abs(right.v).max())
    assert fastest > 10.0, "nothing overlaps: there is nothing to compare"
    newton = 6 * count <= 62
    assert lanes.solver == ("newton" if newton else "sequential-impulse")
    # pyramids are solved to rounding, the tolerance of cones is 1e-8 of the acceleration of the whole
    assert errors[0] < (1e-13 if cone == "pyramidal" else 1e-7)
    assert errors[1] < ((1e-13 if cone == "pyramidal" else 1e-7) if newton else 0.05)
    assert errors[2] < (1e-12 if newton else 1e-10)
    batch = sx.WorldBatch(scene, 2)
    assert batch.layout == ("lanes" if newton else "threads")
    assert newton or "62 degrees of freedom" in batch.resolved_configuration[0].reason


def lanes_of(world, count=4, **options):
    scene = world.to_scene()
    return LaneSimulation(msd.build(scene), count, time_step=world.time_step, **options)


@pytest.mark.parametrize("heading", [0.0, 0.4, 2.0])
@pytest.mark.parametrize(
    ("degrees", "friction", "wanted"),
    [
        (20.0, 0.5, 0.0),
        (30.0, 0.5, 0.6571453944373277),
        (45.0, 0.2, 5.549374018752024),
        (10.0, 0.0, 1.7034886229125867),
    ],
)
def test_a_block_on_a_slope_sticks_or_slides_with_the_exact_acceleration(degrees, friction, wanted, heading):
    world = sx.World()
    world.gravity = tilted_gravity(degrees, heading)
    world.add_ground_plane(friction=friction)
    box(world, friction=friction, position=(0, 0, 0.1))
    worlds = lanes_of(world)
    worlds.step(1000)
    down = np.array([np.cos(heading), np.sin(heading), 0.0])
    assert worlds.v[:, :3] == pytest.approx(np.tile(wanted * down, (4, 1)), abs=1e-6)
    assert worlds.q[:, 2] == pytest.approx(0.1, abs=1e-6)
    assert not worlds.unconverged.any()


def test_a_block_slides_along_an_edge_of_a_pyramid_as_on_a_cone():
    world = sx.World()
    world.gravity = tilted_gravity(30.0, 0.0)
    world.add_ground_plane(friction=0.5)
    box(world, friction=0.5, position=(0, 0, 0.1))
    scene = world.to_scene()
    scene.simulate_option.friction_model = 2
    worlds = LaneSimulation(msd.build(scene), 4, time_step=0.001, sweeps=300)
    worlds.step(1000)
    assert worlds.v[:, 0] == pytest.approx(0.6571453944373277, abs=1e-6)
    assert worlds.q[:, 2] == pytest.approx(0.1, abs=1e-6)


def test_a_ball_that_slips_ends_rolling_at_five_sevenths_of_its_speed():
    world = sx.World()
    world.add_ground_plane(friction=0.4)
    ball(world, friction=0.4, position=(0, 0, 0.1))
    worlds = lanes_of(world, 6)
    speeds = np.linspace(0.5, 3.0, 6)
    worlds.v[:, 0] = speeds
    worlds.step(1500)
    assert worlds.v[:, 0] == pytest.approx(5.0 / 7.0 * speeds, abs=1e-6)
    assert worlds.v[:, 4] == pytest.approx(5.0 / 7.0 * speeds / 0.1, abs=1e-5)


def test_balls_bounce_to_the_height_their_restitution_gives():
    world = sx.World()
    world.add_ground_plane(friction=0.0, restitution=0.8)
    ball(world, friction=0.0, restitution=0.8, position=(0, 0, 0.6))
    worlds = lanes_of(world)
    worlds.q[:, 2] = 0.1 + np.array([0.1, 0.2, 0.4, 0.8])
    fall = np.sqrt(2.0 * (worlds.q[:, 2] - 0.1) / G)
    highest = np.zeros(4)
    for _ in range(int(2.6 * fall.max() / world.time_step)):
        worlds.step()
        rising = worlds.time > fall + 0.01
        second = worlds.time < fall * (1.0 + 2.0 * 0.8)
        highest = np.where(rising & second, np.maximum(highest, worlds.q[:, 2] - 0.1), highest)
    assert highest == pytest.approx(0.64 * np.array([0.1, 0.2, 0.4, 0.8]), rel=0.02)


@pytest.mark.parametrize(("stiffness", "mass"), [(2000.0, 1.0), (5000.0, 3.0)])
def test_springs_rest_where_they_carry_the_weight(stiffness, mass):
    world = sx.World()
    world.add_ground_plane()
    ball(world, mass=mass, position=(0, 0, 0.1))
    scene = world.to_scene()
    set_materials(scene, msd.ConstraintForceModel.force_spring(msd.StiffnessDamping(k=stiffness, d=60.0)))
    worlds = LaneSimulation(msd.build(scene), 4, time_step=0.001)
    worlds.step(4000)
    assert worlds.q[:, 2] == pytest.approx(0.1 - mass * G / stiffness, abs=1e-6)


def test_drives_limits_and_dry_friction_hold_a_joint():
    builder = ModelBuilder()
    arms = []
    for _ in range(3):
        arm = builder.add_link(mass=1.0, com=(0, 0, -0.5), inertia=0.02 * np.eye(3))
        arms.append(builder.add_joint_revolute(parent=-1, child=arm, axis=(0, 1, 0)))
        builder.add_articulation([arms[-1]])
    model = builder.finalize()
    model.update(
        joint_limit_lower=np.array([-np.inf, -0.3, -np.inf]),
        joint_limit_upper=np.array([np.inf, 0.3, np.inf]),
        joint_friction=np.array([0.0, 0.0, 6.0]),
        joint_target_ke=np.array([400.0, 0.0, 0.0]),
        joint_target_kd=np.array([20.0, 0.0, 0.0]),
    )
    model.set_actuator_modes(slice(0, 1), [ActuatorMode.POSITION_VELOCITY])
    worlds = LaneSimulation(model, 4, time_step=0.002)
    worlds.q[:, 1], worlds.q[:, 2] = 0.25, 0.8
    worlds.force[:, 1] = 8.0
    worlds.q_target[:, 0] = [0.1, 0.2, 0.3, 0.4]
    worlds.step(3000)
    # drive and limit give way by the load of their arms, dry friction carries what is below it
    gap = worlds.q_target[:, 0] - worlds.q[:, 0]
    assert 400.0 * gap == pytest.approx(0.5 * G * np.sin(worlds.q[:, 0]), abs=1e-6)
    past = worlds.q[:, 1] - 0.3
    assert model.joint_limit_ke[1] == 1e4
    assert 1e4 * past == pytest.approx(8.0 - 0.5 * G * np.sin(worlds.q[:, 1]), abs=1e-6)
    assert worlds.q[:, 2] == pytest.approx(0.8, abs=1e-5)
    assert np.abs(worlds.v).max() < 1e-5


def test_dry_friction_of_robots_that_stand_apart():
    """Columns of an island are not degrees of freedom: each robot brakes by its own speed."""
    builder = ModelBuilder()
    for _ in range(2):
        arm = builder.add_link(mass=1.0, com=(0, 0, 0), inertia=np.eye(3))
        builder.add_articulation([builder.add_joint_revolute(parent=-1, child=arm, axis=(0, 0, 1))])
    model = builder.finalize()
    model.update(joint_friction=np.array([0.5, 0.5]))
    one = Simulation(model, 0.01, MultibodyIntegrationFamily.SEMI_IMPLICIT, constraints=Constraints(model))
    one.v[:] = 1.0, -2.0
    one.written()
    one.step(100)
    assert one.v == pytest.approx([0.5, -1.5], abs=1e-9)
    worlds = LaneSimulation(model, 2, time_step=0.01)
    worlds.v[:] = 1.0, -2.0
    worlds.step(300)
    assert worlds.v == pytest.approx(np.tile([0.0, -0.5], (2, 1)), abs=1e-9)
