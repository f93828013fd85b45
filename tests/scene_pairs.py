# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The same MJCF scene in a World and in MuJoCo, both solving to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.constraints.tables import ALL_ROWS, ISLANDS


class ScenePair:
    """One scene twice; states are compared in MuJoCo's order."""

    def __init__(self, mujoco: Any, xml: str) -> None:
        self.mujoco = mujoco
        self.m = mujoco.MjModel.from_xml_string(xml)
        self.m.opt.tolerance = 1e-12
        self.m.opt.iterations = 200
        self.m.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        self.d = mujoco.MjData(self.m)
        scene = msd.from_str(xml, format="mjcf")
        scene.simulate_option.constraint_solver_tolerance = 1e-12
        scene.simulate_option.constraint_solver_iterations = 200
        self.world = sx.World.from_scene(scene)
        self.world.enter_simulation_mode()
        labels = self.runtime.model.joint_label
        self.rows = [(j, labels.index(self.m.joint(j).name)) for j in range(self.m.njnt)]

    @property
    def runtime(self):
        return self.world._live()

    @property
    def column(self):
        return self.runtime.constraints.column

    def in_order(self, x: np.ndarray) -> np.ndarray:
        """A vector over degrees of freedom in MuJoCo's order."""
        made, model = np.zeros(self.m.nv), self.runtime.model
        for j, k in self.rows:
            u = x[model.joint_qd_start[k] : model.joint_qd_start[k + 1]]
            made[self.m.jnt_dofadr[j] :][: len(u)] = u
        return made

    @property
    def row_count(self) -> int:
        """Rows of the last step."""
        return int(self.column["counter"][ALL_ROWS])

    def jacobian(self) -> np.ndarray | None:
        """Rows of the last step in MuJoCo's order; None when there is more than one island."""
        if self.column["counter"][ISLANDS] != 1:
            return None
        J = np.zeros((self.row_count, self.m.nv))
        J[:, self.column["column_dof"]] = self.column["J"][: self.row_count, : self.m.nv]
        return np.array([self.in_order(row) for row in J])

    def q(self) -> np.ndarray:
        """qpos of the World in MuJoCo's order."""
        sim, model, q = self.runtime.sim, self.runtime.model, np.zeros(self.m.nq)
        kinds = self.mujoco.mjtJoint
        for j, k in self.rows:
            x = sim.q[model.joint_q_start[k] : model.joint_q_start[k + 1]]
            if self.m.jnt_type[j] == kinds.mjJNT_FREE:
                x = x[[0, 1, 2, 6, 3, 4, 5]]
            elif self.m.jnt_type[j] == kinds.mjJNT_BALL:
                x = x[[3, 0, 1, 2]]
            q[self.m.jnt_qposadr[j] :][: len(x)] = x
        return q

    def step(self, controls=None, n: int = 1) -> None:
        for _ in range(n):
            if controls is not None:
                self.d.ctrl[:] = controls
                self.world.actuator_controls = controls
            self.mujoco.mj_step(self.m, self.d)
            self.world.step()

    def shake(self, rng: np.random.Generator, size: float = 1.0) -> None:
        """The same random velocities in both."""
        v = rng.uniform(-size, size, self.m.nv)
        self.d.qvel[:] = v
        sim, model = self.runtime.sim, self.runtime.model
        for j, k in self.rows:
            dofs = slice(int(model.joint_qd_start[k]), int(model.joint_qd_start[k + 1]))
            sim.v[dofs] = v[self.m.jnt_dofadr[j] :][: dofs.stop - dofs.start]
        sim.velocities_written()

    def gap(self) -> float:
        """Largest difference of coordinates."""
        return float(np.abs(self.q() - self.d.qpos).max())

    def acceleration_gap(self) -> float:
        """Largest difference of the accelerations of the last step."""
        return float(np.abs(self.in_order(self.runtime.sim.a) - self.d.qacc).max())


def free_pair(h: float, mass: float, moment: float) -> msd.World:
    """Two free bodies "a" and "b" without gravity, with equal moments of inertia so that they spin steadily."""
    scene = msd.World()
    scene.simulate_option.timestep, scene.simulate_option.gravity = h, (0.0, 0.0, 0.0)
    for name in "ab":
        inertial = msd.Inertia(mass=mass, pos=(0, 0, 0), diag_inertia=(moment,) * 3)
        link = msd.Link(name=name, inertial=inertial)
        scene.hierarchy.bodies.append(msd.Body(link=link, free=msd.FreeJoint(name=f"{name}_free")))
    return scene
