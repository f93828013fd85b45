# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The classical Runge-Kutta method of order four on the manifold of coordinates.

Orientations are integrated in the rotation vector that leads away from the start of the step, so that
the method is the classical one in a vector space [Munthe-Kaas 1999]. Its rate is the angular velocity
corrected by the inverse differential of the exponential; displacements within a step are of the order
of the step, so terms beyond their square are beyond order four. The position of a free joint and the
coordinates of axes add up as they are.
"""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.configuration import integrate
from worldline._src.kernels.joints import BALL, FREE
from worldline._src.scalar.ops import constant
from worldline._src.spatial.exponential import chart_rate
from worldline._src.spatial.vec3 import load_three, scale, store_three


@kernel
def start_parts(q, v, start_out):
    """Remember the state; the first part of a step has no displacement yet, so rates are velocities."""
    # y_0 = (q, v); k_1 = (v, a)
    for k in range(q.shape[0]):
        start_out.q_start[k] = q[k]
    for d in range(v.shape[0]):
        start_out.v_start[d] = v[d]
        start_out.v_part[d] = v[d]
        start_out.v_sum[d] = constant(0.0, v[d])
        start_out.a_sum[d] = constant(0.0, v[d])


@kernel
def add_part(a, weight, start_io):
    """Add the rates of a part of the step to the weighted sums."""
    for d in range(a.shape[0]):
        # sum w_i k_i with weights 1, 2, 2, 1
        start_io.v_sum[d] = start_io.v_sum[d] + weight * start_io.v_part[d]
        start_io.a_sum[d] = start_io.a_sum[d] + weight * a[d]


@kernel
def next_part(tree, a, reach, start_io, q_out, v_out):
    """From the start of the step by the time `reach` at the rates of the last part: the next part.

    v_part becomes the rate of the displacement there: velocities, corrected for orientations.
    """
    v_part, v_start = start_io.v_part, start_io.v_start

    # q = q_0 (+) c h k_q,  v = v_0 + c h k_v
    integrate(tree, start_io.q_start, v_part, reach, q_out)
    for d in range(a.shape[0]):
        v_out[d] = v_start[d] + reach * a[d]
    for i in range(1, tree.link_kind.shape[0]):
        end = tree.link_v_end[i]
        if tree.link_kind[i] == BALL or tree.link_kind[i] == FREE:
            # the last three columns turn
            end = end - 3
            # rate of the rotation vector phi: phi' = dexp^-1(phi) w
            moved = scale(load_three(v_part, end), reach)
            store_three(v_part, end, chart_rate(moved, load_three(v_out, end)))
        for d in range(tree.link_v_start[i], end):
            v_part[d] = v_out[d]


@kernel
def join_parts(tree, h, start, a_out, q_out, v_out):
    """The state at the end of the step from the weighted sums; a_out: the mean acceleration."""
    # y_1 = y_0 (+) h / 6 (k_1 + 2 k_2 + 2 k_3 + k_4)
    sixth = h * (1.0 / 6.0)
    integrate(tree, start.q_start, start.v_sum, sixth, q_out)
    for d in range(v_out.shape[0]):
        a_out[d] = start.a_sum[d] * (1.0 / 6.0)
        v_out[d] = start.v_start[d] + sixth * start.a_sum[d]
