# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whole steps with contacts, limits and actuators against MuJoCo, on its own models with random controls."""

from __future__ import annotations

import numpy as np
import pytest

from peers import gymnasium_model
from worldline import msd
from worldline import simulation as sx

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")


class Pair:
    """The same model in a World and in MuJoCo, both solving to rounding."""

    def __init__(self, path: str) -> None:
        self.m = mujoco.MjModel.from_xml_path(path)
        self.m.opt.tolerance = 1e-12
        self.m.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        self.d = mujoco.MjData(self.m)
        scene = msd.from_file(path)
        scene.simulate_option.constraint_solver_tolerance = 1e-12
        self.world = sx.World.from_scene(scene)
        self.world.enter_simulation_mode()
        labels = self.world._live().model.joint_label
        self.rows = [(j, labels.index(self.m.joint(j).name)) for j in range(self.m.njnt)]

    def state(self) -> np.ndarray:
        """qpos and qvel of the World in MuJoCo's order."""
        runtime = self.world._live()
        model, sim = runtime.model, runtime.sim
        q, v = np.zeros(self.m.nq), np.zeros(self.m.nv)
        for j, k in self.rows:
            x = sim.q[model.joint_q_start[k] : model.joint_q_start[k + 1]]
            u = sim.v[model.joint_qd_start[k] : model.joint_qd_start[k + 1]]
            if self.m.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
                x = x[[0, 1, 2, 6, 3, 4, 5]]
            elif self.m.jnt_type[j] == mujoco.mjtJoint.mjJNT_BALL:
                x = x[[3, 0, 1, 2]]
            q[self.m.jnt_qposadr[j] :][: len(x)] = x
            v[self.m.jnt_dofadr[j] :][: len(u)] = u
        return np.concatenate([q, v])

    def step(self, controls: np.ndarray) -> None:
        self.d.ctrl[:] = controls
        self.world.actuator_controls = controls
        mujoco.mj_step(self.m, self.d)
        self.world.step()

    def gap(self) -> float:
        """Largest difference of coordinates."""
        return float(np.abs(self.state()[: self.m.nq] - self.d.qpos).max())


@pytest.mark.parametrize("name", ["half_cheetah", "ant", "hopper", "walker2d", "humanoid"])
def test_random_controls_for_fifty_steps(name):
    """The promise is 1e-3, with the same options it is rounding; for fifty steps and fifty after the first touch."""
    pair = Pair(gymnasium_model(name))
    rng = np.random.default_rng(0)
    low, high = pair.m.actuator_ctrlrange.T
    steps, touched = 0, 0
    while steps < 50 or touched < 50:
        pair.step(rng.uniform(low, high))
        steps, touched = steps + 1, touched + bool(touched or pair.d.ncon)
        assert steps < 300
        assert steps != 50 or pair.gap() < 1e-9
    assert pair.gap() < 1e-9


@pytest.mark.parametrize("name", ["half_cheetah", "ant"])
def test_at_rest_height_and_contact_force_are_those_of_mujoco(name):
    pair = Pair(gymnasium_model(name))
    still = np.zeros(pair.m.nu)
    for _ in range(1500):
        pair.step(still)
    assert pair.d.ncon > 0
    assert pair.gap() < 1e-3
    constraints = pair.world._live().constraints
    weight = pair.m.body_mass.sum() * 9.81
    forces = np.zeros(pair.m.nv)
    for j, k in pair.rows:
        model = pair.world._live().model
        u = constraints.column["qfrc"][model.joint_qd_start[k] : model.joint_qd_start[k + 1]]
        forces[pair.m.jnt_dofadr[j] :][: len(u)] = u
    assert np.abs(forces - pair.d.qfrc_constraint).max() < 0.01 * weight
