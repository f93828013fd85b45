# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Phantom contacts: derivatives of contacts that have not closed yet, for gradients alone.

Before two shapes touch, the exact derivative of one body by the other is zero, and an optimiser that should
make them meet learns nothing. `ContactGradientMode.PRE_CONTACT_SURROGATE` adds, at the end of a step, the
derivative of a critically damped spring between every two shapes within `REACH`. With the gap g, the Jacobian
J of its rate and the inverse K = J M^-1 J^T of the mass it moves, an impulse changes by

    d lambda = -w(g) K^-1 (h / tau^2 dg + 2 h / tau J dv),  w(g) = (1 + g / LENGTH)^-2,

and velocities by dv = M^-1 J^T d lambda. Several phantoms share K. Values do not change: steps have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.collision.results import CollisionOption
from worldline._src.facade import queries
from worldline._src.facade.exclusive import exclusive
from worldline._src.spatial.poses import IDENTITY, Array, rotation
from worldline._src.step.dynamics import forward_kinematics, solve_mass_matrix
from worldline._src.step.jacobians import jacobian

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime

REACH = 1.0
"""Shapes farther apart than this have no phantom contact [m]."""
LENGTH = 0.1
"""Gap over which the influence of a phantom contact falls to a quarter [m]."""
TIME_CONSTANT = 0.02
"""Of the spring of a phantom contact, two steps at least [s]."""
_SHARED = 1e-6
"""Regularises contacts that move the same masses, as a share of K."""


@exclusive
def gap_rows(world: WorldRuntime, q: Array) -> tuple[Array, Array]:
    """Gaps of all pairs of shapes near each other at coordinates `q`, (n,), and their Jacobian, (n, nv)."""
    runtime = world._live()
    model, scene = runtime.model, queries.scene_of(world)
    nothing = np.zeros(0), np.zeros((0, model.joint_dof_count))
    if not len(scene.group):
        return nothing
    poses = np.vstack([forward_kinematics(model, q).reshape(-1, 7), IDENTITY])
    kept = scene.group.poses.copy()
    try:
        scene.group.poses = poses[scene.body]
        found = scene.detector.collide(scene.group, option=CollisionOption(margin=REACH))
    finally:
        scene.group.poses = kept
    near = np.flatnonzero(found.depths < 0.0)
    mobile = model.constants["dof_mobile"]
    gaps: list[float] = []
    rows: list[Array] = []
    for k in near.tolist():
        # the normal points from a to b: the gap opens with n (v_b - v_a)
        row = np.zeros(model.joint_dof_count)
        for side, index in ((-1.0, found.objects[k, 0]), (1.0, found.objects[k, 1])):
            body = int(scene.body[index])
            if body >= 0:
                point = rotation(poses[body]).T @ (found.points[k] - poses[body, :3])
                row += side * found.normals[k] @ jacobian(model, q, body, point)[3:]
        row *= mobile
        if row.any():
            gaps.append(-found.depths[k])
            rows.append(row)
    return (np.array(gaps), np.array(rows)) if rows else nothing


def phantom_terms(world: WorldRuntime, q: Array) -> tuple[Array, Array] | None:
    """Changes of velocities after a step by displacements and velocities after it, (nv, nv) each."""
    gap, J = gap_rows(world, q)
    if not len(gap):
        return None
    model, h = world._live().model, world.time_step
    response = np.array([solve_mass_matrix(model, q, row) for row in J])
    K = J @ response.T
    K[np.diag_indices_from(K)] *= 1.0 + _SHARED
    root = 1.0 / (1.0 + gap / LENGTH)
    # -M^-1 J^T (w^1/2 K^-1 w^1/2) J, symmetric in the weights of phantoms that share masses
    pull = -response.T @ (root[:, None] * np.linalg.solve(K, root[:, None] * J))
    tau = max(TIME_CONSTANT, 2.0 * h)
    return h / tau**2 * pull, 2.0 * h / tau * pull
