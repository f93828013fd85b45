# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Damping at the end of a step, in worlds that have rows: against a dense solve, and beside prescribed joints."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels import drives

ARMS = """<mujoco><option timestep="0.01"/><worldbody>
  <body><joint name="a" axis="0 1 0" damping="3"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/>
    <body pos="1 0 0"><joint name="b" axis="0 1 0" damping="2" frictionloss="0.1"/>
      <geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/></body></body>
  <body pos="0 3 0"><joint name="c" type="ball" damping="1"/>
    <geom type="box" pos=".4 .1 0" size=".4 .1 .05"/></body>
</worldbody></mujoco>"""


def arms() -> sx.World:
    world = sx.World.from_scene(msd.from_str(ARMS))
    for robot in world.multibodies:
        robot.joints.velocity = np.linspace(0.5, 1.5, robot.num_dofs)
    return world


def test_damping_is_that_of_the_velocities_a_step_ends_with():
    world = arms()
    world.time_step = 0.01
    before = world._live()
    model, q, v = before.model, before.sim.q.copy(), before.sim.v.copy()
    world.step()
    a = (world._live().sim.v - v) / 0.01
    report = world._live().sim.constraints.column["qfrc"].copy()
    force = report - wm.bias_forces(model, q, v)
    M = wm.mass_matrix(model, q)
    # M a = forces - D (v + h a)
    assert M @ a == pytest.approx(force - model.joint_damping * (v + 0.01 * a), abs=1e-10)


def test_prescribed_joints_keep_what_is_prescribed():
    world = arms()
    joint = world.multibodies[0].joints["a"]
    joint.actuator_type = sx.ActuatorType.VELOCITY
    joint.command_velocity = [0.7]
    world.step(n=5)
    assert joint.velocity[0] == pytest.approx(0.7, abs=1e-13)
    ledger = world.energy_ledger()
    assert ledger.prescribed != 0.0
    assert abs(ledger.unexplained) < 1e-12


TIED = """<mujoco><worldbody>
  <body><joint name="a" axis="0 1 0" damping="3"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/>
    <body pos="1 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/></body>
    <body pos="1 0 0" name="tip"><joint name="c" axis="0 0 1"/><geom size=".1" pos="0 .3 .4"/></body></body>
  <body name="free" pos="3 0 0"><freejoint/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/></body>
</worldbody><equality><connect body1="free" body2="tip" anchor="0 0 0"/></equality></mujoco>"""


@pytest.mark.parametrize("prescribed", [None, "a", "c"])
def test_mass_matrix_of_an_island_is_that_of_its_trees(prescribed):
    # three and six degrees of freedom: neither is a whole number of machine vectors
    world = sx.World.from_scene(msd.from_str(TIED))
    robot = next(robot for robot in world.multibodies if robot.num_dofs == 3)
    robot.joints.position = [0.3, -0.5, 0.7]
    if prescribed:
        robot.joints[prescribed].actuator_type = sx.ActuatorType.VELOCITY
    world.step()
    runtime = world._live()
    M = wm.mass_matrix(runtime.model, runtime.sim.q)
    world.step()
    held = runtime.sim.drive == drives.VELOCITY
    M[held], M[:, held] = 0.0, 0.0
    M[held, held] = 1.0
    column = runtime.sim.constraints.column
    made = column.M.reshape(-1)[: 9 * 12].reshape(9, 12)
    assert column.column_dof.tolist() == list(range(9)) and held.sum() == (prescribed is not None)
    np.testing.assert_allclose(made, np.pad(M, ((0, 0), (0, 3))), rtol=1e-13, atol=1e-13)
