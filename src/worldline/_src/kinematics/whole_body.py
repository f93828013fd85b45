# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whole-body control: joint forces of robots that stand on contacts, by a quadratic program a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade import values
from worldline._src.kinematics.controllers import TaskController, _gains, _not_negative
from worldline._src.kinematics.quadratic_program import quadratic_program
from worldline._src.kinematics.subjects import Subject
from worldline._src.kinematics.tasks import PositionTask, Task, tasks_in
from worldline._src.math.arrays import unit_vector
from worldline._src.model.kinds import JointType
from worldline._src.spatial.poses import Array, numbers
from worldline._src.step.dynamics import inverse_dynamics, mass_matrix

_RANK = 1e-9
"""Singular values below this share of the largest leave a direction free."""


class WholeBodyController(TaskController):
    """Joint forces of a robot that stands, walks or holds on by contacts, with a base that nothing drives.

    Accelerations a and contact forces f are the least squares of the wanted accelerations of all tasks and of
    the posture, subject to the equations of motion of joints without a motor, to contacts that stay where
    they are, to friction cones (inscribed pyramids) and to limits of joint efforts [Escande, Mansard and
    Wieber 2014; Kuindersma et al. 2016]:

        min |J a + J' v - x''|^2 + w_p |a - a_posture|^2 + w_f |f|^2
        with  M_u a + h_u = J_c,u^T f,   J_c a + J_c' v = -d J_c v,   f in the pyramid,   |tau| <= limit

    Args:
        subject: a World; a Model for `forces` alone.
        tasks: tasks of frames, joints and the centre of mass, of one priority; weights are 0 or 1.
        contacts: points of frames that touch what stands still, as `PositionTask`; their targets are not
            used. `set_contacts` changes them, as steps do.
        joints: what is commanded; by default all joints that tasks and contacts depend on but free ones.
        friction: coefficient of the contacts.
        normal: direction in which contacts push, world axes, (3,).
        min_force: least normal force of a contact [N].
        max_effort: largest effort of the commanded joints [N or N m]; by default those of the model.
        stiffness: k of all tasks [1/s^2], a number or one a row with weight 1.
        damping_ratio: of tasks and posture.
        posture: coordinates of the whole model that the joints tend to; the present ones by default.
        posture_stiffness: [1/s^2].
        posture_weight: w_p, beside 1 for the tasks.
        force_weight: w_f [1/kg^2].
        contact_damping: d, which takes the slip off contacts [1/s].

    Example:
        >>> from worldline import kinematics as wk
        >>> from worldline import simulation as sx
        >>> world = sx.World(time_step=0.002)
        >>> robot = world.add_multibody("hopper")
        >>> body = robot.add_link("body", joint=sx.JointSpec("base", type=sx.JointType.FLOATING), mass=4.0)
        >>> slide = sx.JointSpec("leg", type=sx.JointType.PRISMATIC, axis=(0, 0, -1))
        >>> leg = robot.add_link("leg", body, slide, mass=1.0)
        >>> goal = wk.PositionTask(body, (0, 0, 0.1), weight=(0, 0, 1))
        >>> control = wk.WholeBodyController(world, goal, [wk.PositionTask(leg, (0, 0, 0))])
        >>> tau = control.forces(world.model().joint_q, world.model().joint_qd)
        >>> (control.contact_forces[0, 2] > 5 * 9.81, tau[:6].tolist())
        (True, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    """

    def __init__(
        self,
        subject: Any,
        tasks: Sequence[Task] | Task,
        contacts: Sequence[PositionTask] = (),
        *,
        joints: Any = None,
        friction: float = 0.6,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        min_force: float = 0.0,
        max_effort: float | None = None,
        stiffness: ArrayLike = 100.0,
        damping_ratio: float = 1.0,
        posture: ArrayLike | None = None,
        posture_stiffness: float = 10.0,
        posture_weight: float = 1e-4,
        force_weight: float = 1e-6,
        contact_damping: float = 20.0,
    ) -> None:
        own = tasks_in(tasks)
        self._commanded, self._contacts = joints, _points(contacts)
        self._count, self._k = len(own), stiffness
        self._friction = _not_negative(friction, "friction")
        self._normal = unit_vector(normal, "normal of a controller")
        self._least, self._effort = _not_negative(min_force, "min_force"), None
        if max_effort is not None:
            self._effort = _not_negative(max_effort, "max_effort")
        self._posture_weight = _not_negative(posture_weight, "posture_weight")
        self._force_weight = _not_negative(force_weight, "force_weight")
        self._contact_damping = _not_negative(contact_damping, "contact_damping")
        self.contact_forces = np.zeros((len(self._contacts), 3))
        """Forces on the robot that the last call of `forces` planned, world axes [N], (contacts, 3)."""
        every = [*own, *self._contacts]
        super().__init__(subject, every, None, posture, posture_stiffness, damping_ratio)

    def _build(self, subject: Subject) -> None:
        super()._build(subject)
        model = subject.model
        starts, free = model.joint_qd_start, np.zeros(model.joint_dof_count, bool)
        for j in np.flatnonzero(np.asarray(model.joint_type) == JointType.FREE).tolist():
            free[int(starts[j]) : int(starts[j + 1])] = True
        driven = ~free
        if self._commanded is not None:
            driven[:] = False
            for j in subject.joints(self._commanded):
                driven[int(starts[j]) : int(starts[j + 1])] = True
        self._driven = driven[self._columns]
        rows = int(self._used.sum()) - 3 * len(self._contacts)
        self._stiffness = _gains(self._k, rows, "stiffness")
        limit = np.array(model.joint_effort_limit)[self._columns]
        self._limit = limit if self._effort is None else np.full(len(limit), self._effort)

    def _is_commanded(self, dof: int) -> bool:
        model = self._subject.model
        j = int(np.searchsorted(model.joint_qd_start, dof, side="right")) - 1
        if self._commanded is not None:
            return j in self._subject.joints(self._commanded)
        return bool(model.joint_type[j] != JointType.FREE)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks as they are now, without the contacts."""
        return tuple(self._tasks[: self._count])

    def set_contacts(self, contacts: Sequence[PositionTask]) -> None:
        """Stand on other points from now on."""
        self._contacts = _points(contacts)
        self._tasks = [*self._tasks[: self._count], *self._contacts]
        self.contact_forces = np.zeros((len(self._contacts), 3))
        self._build(self._subject)

    def forces(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Generalized forces of the whole model, zero where nothing is commanded, (joint_dof_count,)."""
        model, columns, driven = self._subject.model, self._columns, self._driven
        at = numbers(q, (model.joint_coord_count,), "q")
        moving = numbers(v, (model.joint_dof_count,), "v")
        state = self.state(at, moving)
        n, m = len(columns), 3 * len(self._contacts)
        rows = len(state.error) - m
        J, Jc, k = state.J[:rows], state.J[rows:], self._stiffness
        wanted = -k * state.error[:rows] - 2.0 * self._damping_ratio * np.sqrt(k) * state.rate[:rows]
        M = mass_matrix(model, at)[np.ix_(columns, columns)]
        h = inverse_dynamics(model, at, moving, np.zeros(model.joint_dof_count))[columns]

        # what must hold: motion of joints without a motor, contacts that stay
        loose = ~driven
        E = np.block([[M[loose], -Jc.T[loose]], [Jc, np.zeros((m, m))]])
        e = np.concatenate([-h[loose], -state.drift[rows:] - self._contact_damping * state.rate[rows:]])
        start, free = np.zeros(n + m), np.eye(n + m)
        if len(E):
            U, S, V = np.linalg.svd(E)
            rank = int(np.sum(S > _RANK * S.max(initial=0.0)))
            start = V[:rank].T @ ((U[:, :rank].T @ e) / S[:rank])
            free = V[rank:].T

        # what is wanted: tasks, posture, small forces
        posture, small = np.sqrt(self._posture_weight), np.sqrt(self._force_weight)
        weights = np.concatenate([np.ones(rows), np.full(n, posture), np.full(m, small)])
        A = np.vstack([np.hstack([J, np.zeros((rows, m))]), np.eye(n + m)]) * weights[:, None]
        b = np.concatenate([wanted - state.drift[:rows], self._rest(at, moving), np.zeros(m)]) * weights

        # bounds: pyramids of friction, efforts
        P = _pyramid(self._normal, self._friction)
        G = [np.hstack([np.zeros((5, n)), np.kron(np.eye(len(self._contacts))[i], P)]) for i in range(m // 3)]
        room = [np.array([0.0, 0.0, 0.0, 0.0, -self._least])] * (m // 3)
        bounded = driven & np.isfinite(self._limit)
        effort = np.hstack([M, -Jc.T])[bounded]
        G += [effort, -effort]
        room += [self._limit[bounded] - h[bounded], self._limit[bounded] + h[bounded]]
        rows_of_bounds, bound = np.vstack(G), np.concatenate(room)
        AF = A @ free
        H = AF.T @ AF + 1e-12 * np.eye(free.shape[1])
        try:
            y = quadratic_program(
                H, AF.T @ (b - A @ start), rows_of_bounds @ free, bound - rows_of_bounds @ start
            )
        except ArgumentError as error:
            raise OperationError(
                "whole-body control: contacts and efforts cannot hold the robot in this state"
            ) from error
        z = start + free @ y
        f = z[n:]
        self.contact_forces = f.reshape(-1, 3).copy()
        made = np.zeros(model.joint_dof_count)
        made[columns] = np.where(driven, M @ z[:n] + h - Jc.T @ f, 0.0)
        return made


def _points(contacts: Sequence[PositionTask]) -> list[PositionTask]:
    made = values.several(contacts, "contacts")
    for contact in made:
        if not isinstance(contact, PositionTask) or contact.reference is not None:
            raise ArgumentError(f"contacts are position tasks of points in the world, got {contact!r}")
        if (np.asarray(contact.weight) != 1.0).any():
            raise ArgumentError(f"contacts hold all directions: their weight is 1, got {contact!r}")
    return made


def _pyramid(normal: Array, friction: float) -> Array:
    """Rows that are not positive for forces in the pyramid within the friction cone, and minus the normal."""
    helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = np.cross(normal, helper)
    first /= np.linalg.norm(first)
    second, slope = np.cross(normal, first), friction / np.sqrt(2.0) * normal
    return np.stack([first - slope, -first - slope, second - slope, -second - slope, -normal])
