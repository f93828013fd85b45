# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joints that start beyond several hard limits: lanes and the fixed layout move as an ordinary World.

The World solves islands with another solver and another layout of rows. Both agree with the displacement of least
kinetic norm, from the mass matrix.
"""

from __future__ import annotations

import numpy as np
import pytest
from contact_worlds import with_law
from scipy.optimize import nnls

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx
from worldline._src.jit import DISABLED

H, FASTEST, BOUND = 0.002, 3.0, 0.3
"""Step [s], speed of recovery [m/s or rad/s], limits of every joint [m or rad]."""
AXES = ((0, 1, 0), (0.6, 0.8, 0), (0, 0.6, 0.8), (1, 0, 0), (0, 1, 0), (0.6, 0, 0.8))
CLOSE = 1e-10
"""Agreement of coordinates and velocities over a run; both solvers find the answer to rounding."""
pytestmark = pytest.mark.skipif(DISABLED, reason="lanes need the compiler")


def chain(count, floating, gravity=(0, 0, -9.81), **joint):
    """A chain of uneven links on hinges and slides that are askew to each other."""
    world = sx.World(time_step=H, gravity=gravity)
    robot, link = world.add_multibody("robot"), None
    if floating:
        link = robot.add_link("base", joint=sx.JointSpec("root", sx.JointType.FLOATING), mass=2.0)
        link.inertia = np.diag([0.3, 0.2, 0.4])
    for i in range(count):
        pose = np.eye(4)
        pose[:3, 3] = 0.3, -0.2 * (i % 2), -0.5
        kind = sx.JointType.PRISMATIC if i % 3 == 1 else sx.JointType.REVOLUTE
        spec = sx.JointSpec(
            f"j{i}",
            kind,
            transform_to_parent=pose,
            axis=AXES[i],
            position_lower_limits=-BOUND,
            position_upper_limits=BOUND,
        )
        link = robot.add_link(
            f"l{i}",
            link,
            spec,
            mass=1.0 + 0.5 * i,
            center_of_mass=(0.1, 0.2, -0.3),
            inertia=np.diag([0.05, 0.08, 0.03]),
        )
        for name, value in joint.items():
            setattr(robot.joints[f"j{i}"], name, value)
    return world


def sim(world):
    return world._live().sim


def put(world, q, v: float | list[float] = 0.0):
    """The last coordinates and velocities of a World."""
    one = sim(world)
    one.q[len(one.q) - len(q) :] = q
    one.v[len(one.v) - len(q) :] = v
    one.written()


def in_fixed_layout(world):
    other = world.clone()
    with other.edit():
        other.fixed_layout = True
    return other


def compare(islands, steps, close):
    """Steps of a World, of one in the fixed layout and of lanes beside worlds that are elsewhere."""
    fixed = in_fixed_layout(islands)
    start = sim(islands)
    lanes = wm.LaneSimulation(start.model, 11)
    lanes.v[:] = start.v + np.random.default_rng(0).normal(size=lanes.v.shape)
    lanes.q[:] = start.q
    lanes.v[5] = start.v
    for k in range(steps):
        islands.step()
        fixed.step()
        lanes.step(1)
        assert np.array_equal(lanes.q[5], sim(fixed).q) and np.array_equal(lanes.v[5], sim(fixed).v), k
        np.testing.assert_allclose(sim(fixed).q, sim(islands).q, rtol=0, atol=close, err_msg=str(k))
        np.testing.assert_allclose(sim(fixed).v, sim(islands).v, rtol=0, atol=close, err_msg=str(k))
    return sim(islands)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_chains_come_back_as_in_an_ordinary_world(count, floating):
    world = chain(count, floating)
    rng = np.random.default_rng(count)
    start = rng.choice([-1, 1], count) * rng.uniform(0.4, 0.75, count)
    put(world, start)
    end = compare(world, 300, CLOSE)
    assert (np.abs(end.q[-count:]) < BOUND + 1e-5).all()


@pytest.mark.parametrize(
    "joint",
    [{"coulomb_friction": 2.0}, {"target_stiffness": 200.0, "target_damping": 5.0}],
    ids=["friction", "drive"],
)
def test_other_rows_and_forces_take_part_in_the_recovery(joint):
    world = chain(4, True, **joint)
    put(world, [0.7, -0.5, 0.42, 0.1], [3.0, -1.0, 2.0, 4.0])
    compare(world, 200, 1e-8)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_at_rest_the_displacement_is_the_least_that_meets_all_limits(count):
    """min d^T M d / 2 with J d >= share, solved by non-negative least squares over the impulses of the limits.

    Joints within their limits have no row at rest; another one may push them over for a step.
    """
    world = chain(count, True, gravity=(0, 0, 0))
    rng = np.random.default_rng(10 + count)
    beyond = rng.choice([0.0005, 0.004, 0.05], count)
    q = rng.choice([-1, 1], count) * (BOUND + beyond)
    if count > 3:
        q[1] = beyond[1] = 0.0
    put(world, q)
    fixed = in_fixed_layout(world)
    one = sim(fixed)
    before = one.q.copy()
    M = wm.mass_matrix(one.model, before)
    rows = beyond > 0.0
    J = (-np.sign(q)[:, None] * np.eye(len(M))[-count:])[rows]
    wanted = np.minimum(beyond, FASTEST * H)[rows]
    # min |root^T f - root^-1 wanted| over f >= 0, with root root^T = J M^-1 J^T
    root = np.linalg.cholesky(J @ np.linalg.solve(M, J.T))
    impulses, _ = nnls(root.T, np.linalg.solve(root, wanted))
    assert (impulses == 0.0).any() or count < 5
    displacement = np.linalg.solve(M, J.T @ impulses)
    fixed.step()
    assert np.abs(one.v).max() < 1e-9
    np.testing.assert_allclose(one.q[-count:] - q, displacement[-count:], rtol=0, atol=1e-8)
    np.testing.assert_allclose(one.q[:3] - before[:3], displacement[:3], rtol=0, atol=1e-8)


ROUND = {
    "angle": sx.JointSpec("joint", sx.JointType.SPHERICAL, position_upper_limits=0.5),
    "distance": sx.JointSpec("joint", sx.JointType.DISTANCE, distance_limits=(0.2, 1.0)),
}


@pytest.mark.parametrize("kind", ROUND)
def test_limits_along_a_curve(kind):
    world = sx.World(time_step=H)
    robot = world.add_multibody("robot")
    robot.add_link("bob", joint=ROUND[kind], mass=1.0, center_of_mass=(0.1, 0, -0.5), inertia=0.1 * np.eye(3))
    robot.joints["joint"].position = [0.5, 0.6, 0.1] if kind == "angle" else [1.0, 0.5, 0.2, 0, 0, 0]
    robot.joints["joint"].velocity = [0.5, -2.0, 1.0] if kind == "angle" else [0.5, -2.0, 1.0, 0, 1, 0]
    compare(world, 300, 1e-8)


def test_beside_contacts():
    """A leg beyond two limits comes back while its soft foot is on the ground."""
    world = sx.World(time_step=H)
    world.add_ground_plane()
    leg = world.add_multibody("leg")
    hip = leg.add_link("hip", joint=sx.JointSpec("z", sx.JointType.PRISMATIC, axis=(0, 0, 1)), mass=3.0)
    pose = np.eye(4)
    pose[2, 3] = 0.75
    for name in ("a", "b"):
        spec = sx.JointSpec(
            name,
            transform_to_parent=pose,
            axis=(0, 1, 0),
            position_lower_limits=-BOUND,
            position_upper_limits=BOUND,
        )
        hip = leg.add_link(
            f"leg {name}", hip, spec, mass=1.0, center_of_mass=(0, 0, -0.2), inertia=0.02 * np.eye(3)
        )
        pose[2, 3] = -0.35
    hip.add_collision_shape(sx.CollisionShape.sphere(0.35))
    world = with_law(world, msd.ConstraintForceModel.impedance(msd.ImpedanceSpring()))
    put(world, [0.6, -1.1])
    end = compare(world, 400, 1e-7)
    assert len(world.contacts) > 0
    assert (np.abs(end.q[1:]) < BOUND + 1e-5).all()


def test_batches_of_worlds_with_hard_limits_stay_in_lanes():
    world = chain(3, False)
    batch = sx.WorldBatch(world, 3)
    assert batch.layout == "lanes"
    q = (0.6, -0.55, 0.5)
    put(world, q)
    batch.joint_positions[1] = q
    world.step(100)
    batch.step(100)
    np.testing.assert_allclose(batch.joint_positions[1], sim(world).q, rtol=0, atol=CLOSE)
