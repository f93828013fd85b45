# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Displacement that brings a hard limit back after a step: M^-1 J^T (J M^-1 J^T)^-1 (-r) from the mass matrix.

Runge-Kutta steps of mechanisms at rest without gravity move nothing else.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx
from worldline._src.jit import DISABLED
from worldline._src.kernels.constraints import tables as t

H, FASTEST = 0.002, 3.0
"""Step [s] and speed of recovery [m/s or rad/s]."""


def chain(limits, kind=sx.JointType.REVOLUTE, **spec):
    """A chain of uneven links that turn about axes askew to each other."""
    world = sx.World(time_step=H, gravity=(0, 0, 0))
    world.multibody_options = sx.MultibodyOptions(integration_family="runge-kutta-4")
    robot = world.add_multibody("robot")
    link = robot.add_link("base", joint=sx.JointSpec("root", sx.JointType.FLOATING), mass=2.0)
    link.inertia = np.diag([0.3, 0.2, 0.4])
    for i, (low, high) in enumerate(limits):
        pose = np.eye(4)
        pose[:3, 3] = 0.3, -0.2 * i, -0.5
        joint = sx.JointSpec(
            f"j{i}",
            kind,
            transform_to_parent=pose,
            position_lower_limits=low,
            position_upper_limits=high,
            **({"axis": ((0, 1, 0), (0.6, 0.8, 0), (0, 0.6, 0.8))[i]} | spec),
        )
        link = robot.add_link(
            f"l{i}",
            link,
            joint,
            mass=1.0 + 0.5 * i,
            center_of_mass=(0.1, 0.2, -0.3),
            inertia=np.diag([0.05, 0.08, 0.03]),
        )
    return world, robot


def moved(world, erp=1.0):
    """Coordinates before and after a step at rest, and M^-1 at the start; limits recover a share `erp`."""
    live = world._live()
    law, bound = (live.constraints.column[f"limit_{name}"] for name in ("law", "bound"))
    assert (law[:, t.KIND] == t.HARD).all() and (bound[:, 3] == FASTEST).all()
    law[:, t.ERP] = erp
    q = live.sim.q.copy()
    M = wm.mass_matrix(live.model, q)
    world.step()
    assert not world._live().sim.v.any() and (law[:, t.ERP] == erp).all()
    return q, world._live().sim.q.copy(), np.linalg.inv(M)


def difference(q, after):
    """Displacement in velocities: of the floating base, then of the rest of the coordinates."""
    turn = Rotation.from_quat(q[3:7]).inv() * Rotation.from_quat(after[3:7])
    return np.concatenate([after[:3] - q[:3], turn.as_rotvec(), after[7:] - q[7:]])


@pytest.mark.parametrize("erp", [0.2, 1.0])
@pytest.mark.parametrize("start", [0.304, 0.9, -0.31, -1.2])
def test_one_limit_goes_back_by_the_least_displacement(start, erp):
    """A share of what it is beyond, at most 6 mrad a step; the whole tree gives way by its inertia."""
    world, robot = chain([(-0.3, 0.3)])
    robot.joints["j0"].position = [start]
    q, after, inverse = moved(world, erp)
    share = min(erp * (abs(start) - 0.3), FASTEST * H)
    wanted = -np.sign(start) * share * inverse[:, 6] / inverse[6, 6]
    # the metric is that of the start; what is not linear is of second order in the displacement
    np.testing.assert_allclose(difference(q, after), wanted, rtol=0, atol=2.0 * share**2 + 1e-12)
    assert after[7] - start == pytest.approx(wanted[6], rel=1e-9)


@pytest.mark.parametrize("erp", [0.2, 1.0])
def test_two_limits_end_where_each_of_them_is_brought(erp):
    """Each displacement takes the other limit out again, so they are repeated until both are met."""
    world, robot = chain([(-0.3, 0.3), (-0.2, 0.2), (-1.0, 1.0)])
    robot.joints.position = np.r_[robot.joints.position[:-3], 0.304, 0.205, 0.1]
    q, after, inverse = moved(world, erp)
    assert inverse[6, 7] < 0.0
    assert after[7] == pytest.approx(0.304 - erp * 0.004, abs=2e-6 * H)
    assert after[8] == pytest.approx(0.205 - erp * 0.005, abs=2e-6 * H)
    # together they are the least displacement that meets both
    J = np.eye(len(inverse))[6:8]
    wanted = inverse @ J.T @ np.linalg.solve(J @ inverse @ J.T, erp * np.array([-0.004, -0.005]))
    np.testing.assert_allclose(difference(q, after), wanted, rtol=0, atol=2e-4 * erp)


@pytest.mark.parametrize("erp", [0.2, 1.0])
def test_a_limit_that_another_one_pushes_over_ends_at_its_bound(erp):
    """Both are met at once: whatever share the violated one recovers, the other one keeps its bound."""
    start, ends = (0.304, 0.19999), []
    for second in (0.2, 0.5):
        world, robot = chain([(-0.3, 0.3), (-0.2, second)])
        robot.joints.position = np.r_[robot.joints.position[:-2], start]
        ends.append(moved(world, erp)[1])
    # alone, the first limit takes the second joint along by more than the 10 urad there are
    assert ends[1][8] > 0.20005
    assert ends[0][7:] == pytest.approx([0.304 - 0.004 * erp, 0.2], abs=2e-6 * H)


def test_what_is_within_its_limits_keeps_its_bits():
    world, robot = chain([(-0.3, 0.3), (-0.2, 0.2)])
    robot.joints.position = np.r_[robot.joints.position[:-2], 0.29, -0.2]
    q, after, _ = moved(world)
    assert np.array_equal(q, after)


def test_soft_limits_are_not_moved():
    text = """<mujoco><option timestep="0.002" integrator="RK4" gravity="0 0 0"/><compiler angle="radian"/><worldbody>
      <body><joint name="j" axis="0 1 0" range="-.3 .3"/>
        <inertial pos="0 0 -.5" mass="1" diaginertia=".1 .1 .1"/></body></worldbody></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    live = world._live()
    live.sim.q[0] = 0.5
    live.sim.written()
    world.step()
    # a spring has brought it back by an acceleration, and nothing but that
    sim = world._live().sim
    assert sim.v[0] < 0.0
    assert sim.q[0] - 0.5 == pytest.approx(0.5 * H * sim.v[0], rel=0.2)


@pytest.mark.filterwarnings("ignore:invalid value")  # of bounds at infinity, without the compiler
@pytest.mark.parametrize("axis", [(0.36, -0.48, 0.8), (0.0, 1.0, 0.0)])
def test_a_ball_joint_goes_back_along_its_axis_of_rotation(axis):
    """The angle of the rotation shrinks; the displacement is M^-1 n over n . M^-1 n, n the axis of the rotation."""
    world, _ = chain([(0.0, 0.5)], sx.JointType.SPHERICAL, axis=(0, 0, 1))
    live = world._live()
    live.sim.q[7:11] = Rotation.from_rotvec(0.505 * np.array(axis)).as_quat()
    live.sim.written()
    q, after, inverse = moved(world, 0.2)
    share = 0.2 * 0.005
    J = np.r_[np.zeros(6), axis]
    wanted = -share * inverse @ J / (J @ inverse @ J)
    start, end = Rotation.from_quat(q[7:11]), Rotation.from_quat(after[7:11])
    assert np.linalg.norm(end.as_rotvec()) == pytest.approx(0.505 - share, abs=2e-6 * H)
    base = Rotation.from_quat(after[3:7]).as_rotvec()
    got = np.concatenate([after[:3] - q[:3], base, (start.inv() * end).as_rotvec()])
    np.testing.assert_allclose(got, wanted, rtol=0, atol=2.0 * share**2)


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
@pytest.mark.parametrize("kind", [sx.JointType.REVOLUTE, sx.JointType.SPHERICAL])
def test_a_world_within_its_tolerance_is_not_moved_with_the_worlds_beside_it(kind):
    """World 1 is beyond its limit by less than recovery acts on, world 0 by far more.

    The displacement is computed for all lanes of an instruction and is not zero in world 1.
    """
    spherical = kind is sx.JointType.SPHERICAL
    world, _ = chain([(0.0 if spherical else -0.3, 0.3)], kind, **({"axis": (0, 0, 1)} if spherical else {}))
    model = world._live().model
    worlds = wm.LaneSimulation(model, 4)
    beyond = (0.1, 0.8e-6 * H, -0.1, 0.4)
    for row, r in zip(worlds.q, beyond, strict=True):
        turn = Rotation.from_rotvec((0.3 + r) * np.array([0.36, -0.48, 0.8])).as_quat()
        row[7:] = turn if spherical else 0.3 + r
    start = worlds.q.copy()
    worlds.step(1)
    assert np.abs(worlds.q[[0, 3], 7:] - start[[0, 3], 7:]).max(axis=1).min() > 1e-4
    for w in (1, 2):
        alone = wm.LaneSimulation(model, 1)
        alone.q[0] = start[w]
        alone.step(1)
        assert np.array_equal(worlds.q[w], alone.q[0])
