# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of joints: position limits and dry friction."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.impedance import regularizer
from worldline._src.kernels.constraints.jacobians import clear_rows, row_velocity
from worldline._src.kernels.constraints.laws import HARDNESS, answer, load_law
from worldline._src.kernels.constraints.rows import FRICTION, UNILATERAL
from worldline._src.kernels.constraints.tables import ACTIVE_LIMITS, DROPPED, ROWS, SAFE, STEP
from worldline._src.scalar.ops import constant
from worldline._src.spatial.rotation import Quat, normalized, quat_to_rotation_vector


@kernel
def friction_rows(friction, weights, v, rows_out, notes_out):
    """One row a degree of freedom with dry friction: it wants to stand still, within a force."""
    h, counter = weights.option[STEP], notes_out.counter
    n = counter[ROWS]
    for k in range(friction.friction_dof.shape[0]):
        if n >= rows_out.kind.shape[0]:
            counter[DROPPED] += 1
            continue
        d = friction.friction_dof[k]
        clear_rows(rows_out.J, n, 1)
        rows_out.J[n, d] = 1.0
        damping, share = friction.friction_law[k, 1], friction.friction_law[k, 2]
        A = weights.dof_invweight[d]
        if share >= 1.0:
            # hard: rest is reached within the step
            rows_out.aref[n], rows_out.D[n] = -v[d] / h, 1.0 / (HARDNESS * A)
        else:
            rows_out.aref[n] = -damping / friction.friction_law[k, 3] * v[d]
            rows_out.D[n] = 1.0 / regularizer(share, constant(A, v[d]))
        rows_out.bound[n], rows_out.kind[n], rows_out.dim[n] = friction.friction_law[k, 0], FRICTION, 0
        notes_out.residual[n] = 0.0
        notes_out.row_of[n, 0], notes_out.row_of[n, 1] = 1, k
        n += 1
    counter[ROWS] = n


@inline
def _limit_row(limit, k, weights, r, v, rows_out, notes_out):
    """Finish a row of limit `k` whose Jacobian is written."""
    counter = notes_out.counter
    n = counter[ROWS]
    made = answer(
        load_law(limit.limit_law, k),
        r,
        row_velocity(rows_out.J, n, v),
        weights.dof_invweight[limit.limit_dof[k]],
        weights.option[STEP],
        weights.option[SAFE] != 0.0,
    )
    rows_out.aref[n], rows_out.D[n], rows_out.bound[n] = made.aref, 1.0 / made.R, 0.0
    rows_out.kind[n], rows_out.dim[n] = UNILATERAL, 0
    notes_out.residual[n] = r
    notes_out.row_of[n, 0], notes_out.row_of[n, 1] = 2, k
    counter[ROWS] = n + 1
    counter[ACTIVE_LIMITS] += 1


@kernel
def limit_rows(limit, weights, q, v, rows_out, notes_out):
    """A row for every limit that is reached, or that this step would reach when the law is hard."""
    counter, h = notes_out.counter, weights.option[STEP]
    for k in range(limit.limit_dof.shape[0]):
        d, margin = limit.limit_dof[k], limit.limit_bound[k, 2]
        hard = limit.limit_law[k, 0] == 0.0
        if counter[ROWS] + 2 > rows_out.kind.shape[0]:
            counter[DROPPED] += 1
            continue
        if limit.limit_kind[k] == 0:
            x = q[limit.limit_q[k]]
            for side in range(2):
                s = 1.0 if side == 0 else -1.0
                r = s * (x - limit.limit_bound[k, side]) - margin
                if r < 0.0 or (hard and r + h * s * v[d] < 0.0):
                    clear_rows(rows_out.J, counter[ROWS], 1)
                    rows_out.J[counter[ROWS], d] = s
                    _limit_row(limit, k, weights, r, v, rows_out, notes_out)
        else:
            # the angle of a ball joint from its zero, against the axis of that turn
            i = limit.limit_q[k]
            w = quat_to_rotation_vector(normalized(Quat(q[i], q[i + 1], q[i + 2], q[i + 3])))
            angle = (w.x * w.x + w.y * w.y + w.z * w.z) ** 0.5
            r = limit.limit_bound[k, 1] - angle - margin
            if r < 0.0 and angle > 1e-12:
                row = counter[ROWS]
                clear_rows(rows_out.J, row, 1)
                rows_out.J[row, d] = -w.x / angle
                rows_out.J[row, d + 1] = -w.y / angle
                rows_out.J[row, d + 2] = -w.z / angle
                _limit_row(limit, k, weights, r, v, rows_out, notes_out)


@kernel
def tendon_rows(tendon, weights, q, v, rows_out, notes_out):
    """A row for every limit of a fixed tendon that is reached; its length is a sum over coordinates."""
    counter = notes_out.counter
    for k in range(tendon.tendon_moment.shape[0]):
        if counter[ROWS] + 2 > rows_out.kind.shape[0]:
            counter[DROPPED] += 1
            continue
        length = 0.0
        for d in range(v.shape[0]):
            moment = tendon.tendon_moment[k, d]
            if moment != 0.0:
                length += moment * q[tendon.dof_q[d]]
        for side in range(2):
            s = 1.0 if side == 0 else -1.0
            r = s * (length - tendon.tendon_bound[k, side]) - tendon.tendon_bound[k, 2]
            if r < 0.0:
                n = counter[ROWS]
                clear_rows(rows_out.J, n, 1)
                for d in range(v.shape[0]):
                    rows_out.J[n, d] = s * tendon.tendon_moment[k, d]
                made = answer(
                    load_law(tendon.tendon_law, k),
                    r,
                    row_velocity(rows_out.J, n, v),
                    tendon.tendon_bound[k, 3],
                    weights.option[STEP],
                    weights.option[SAFE] != 0.0,
                )
                rows_out.aref[n], rows_out.D[n], rows_out.bound[n] = made.aref, 1.0 / made.R, 0.0
                rows_out.kind[n], rows_out.dim[n] = UNILATERAL, 0
                notes_out.residual[n] = r
                notes_out.row_of[n, 0], notes_out.row_of[n, 1] = 4, k
                counter[ROWS] = n + 1
                counter[ACTIVE_LIMITS] += 1
