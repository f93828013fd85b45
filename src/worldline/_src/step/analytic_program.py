# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Analytic derivatives of a step in one call: repeat it, make their matrices, columns or a gradient of them.

All that stays the same between calls is reached through the header, so that a call has few operands.
"""

from __future__ import annotations

from typing import Any

from worldline._src.duals.kind import DOUBLES
from worldline._src.jit import entry, inline, outline
from worldline._src.kernels.constraints.contact_derivatives import ALL_BODIES, parting_bit
from worldline._src.kernels.constraints.row_derivatives import solve_with_pivots
from worldline._src.kernels.constraints.tables import BY_IMPULSES, BY_PIVOTING, BY_SWEEPS, IS_SPLIT
from worldline._src.kernels.links import center_of_mass
from worldline._src.kernels.narrowphase.tables import CONTACTS
from worldline._src.kinds import float64, int64
from worldline._src.model.views import chain_view, inertia_view, position_view, step_view
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_as, matrix, pointer_as, vector
from worldline._src.spatial.motion import load_motion, velocity_at
from worldline._src.spatial.rotation import rotation_vector_to_quat
from worldline._src.spatial.vec3 import Vec3
from worldline._src.step import analytic_stages as s
from worldline._src.step.dual_step import OPERATION, operate

(OPERATIONS, SETS, BEGUN, JOINTS_END, CONTACTS_END, FINISHED, PUT_BACK, INPUTS, DIRECTIONS) = range(
    s.HEADER, s.HEADER + 9
)
(PAIRS, PAIR_COUNTER, PUSHES, BODY_LINK, ROW_COUNTER, SPLITS, ACTUATORS, TURNS, LINKS) = range(
    s.HEADER + 9, s.HEADER + 18
)
(SET_COUNT, INPUT_COUNT, DIRECTION_COUNT, PAIR_COUNT, BODY_COUNT, ACTUATOR_COUNT) = range(
    s.HEADER + 18, s.HEADER + 24
)
(TURN_COUNT, LINK_COUNT, ACTIVATIONS) = range(s.HEADER + 24, s.HEADER + 27)
PROGRAM_HEADER = s.HEADER + 27
"""Integers of the header of a program: those of `analytic_stages.py`; addresses; where parts of operations
end (the step in plain numbers, joints, contacts, what finishes, what puts the World back); sizes."""

Q, V, FORCE, CONTROL, ACTIVATION = 0, 1, 2, 3, 5
"""Directions of joints; the second actuator of a degree of freedom has those after CONTROL and ACTIVATION."""
BY_Q, BY_V, BY_FORCE, BY_CONTROL, BY_ACTIVATION, BY_BODY = range(6)
"""What changes: a displacement, a velocity, a commanded force, a control, an activation, a force on a body;
nothing where it is negative."""
OTHER_METHOD = -1.0
"""In the place of a distance from the solution: rows that Newton's method did not solve."""
_SMALL = 1e-4
"""Square of an angle below which series take the place of quotients."""


@inline
def _seed_inputs(header):
    """Values of the step in dual numbers, with the direction that changes each."""
    inputs = matrix(address_as(header[INPUTS], int64), 0, header[INPUT_COUNT], 4)
    directions = vector(address_as(header[DIRECTIONS], int64), 0, header[DIRECTION_COUNT])
    for p in range(inputs.shape[0]):
        n = inputs[p, 1]
        values = vector(address_as(inputs[p, 2], float64), 0, n)
        duals = vector(address_as(inputs[p, 0], float64), 0, DOUBLES * n)
        for i in range(n):
            for k in range(DOUBLES):
                duals[DOUBLES * i + k] = 0.0
            duals[DOUBLES * i] = values[i]
            direction = directions[inputs[p, 3] + i]
            if direction >= 0:
                duals[DOUBLES * i + 1 + direction] = 1.0


@inline
def _displace_bodies(header, operations, sets):
    """Run the operations of contacts until each body of every pair that touches was displaced alone.

    Bodies that touch each other are displaced one after the other: those with a bit of their number, then
    those without it, for every bit that tells two of them apart.
    """
    pairs = matrix(address_as(header[PAIRS], int64), 0, header[PAIR_COUNT], 6)
    pushes = matrix(address_as(header[PUSHES], float64), 0, header[PAIR_COUNT], 6)
    body_link = vector(address_as(header[BODY_LINK], int64), 0, header[BODY_COUNT])
    bits, touches = 0, False
    for k in range(vector(address_as(header[PAIR_COUNTER], int64), 0, 8)[CONTACTS]):
        if pushes[k, 0] > 0.0:
            touches = True
            a, b = pairs[k, 2], pairs[k, 3]
            if body_link[a] > 0 and body_link[b] > 0:
                bits |= 1 << parting_bit(a, b)
    if touches and bits == 0:
        header[s.BIT], header[s.WITHOUT], header[s.COUNTS] = ALL_BODIES, 0, 1
        operate(operations, header[JOINTS_END], header[CONTACTS_END], sets)
    header[s.COUNTS], bit = 1, 0
    while bits >> bit != 0:
        if (bits >> bit) & 1 == 1:
            for without in range(2):
                header[s.BIT], header[s.WITHOUT] = bit, without
                operate(operations, header[JOINTS_END], header[CONTACTS_END], sets)
            header[s.COUNTS] = 0
        bit += 1


@outline
def _linearize(header):
    """Repeat the step, fill the numbers of `analytic_stages.py`; false where another method solved rows."""
    operations = matrix(address_as(header[OPERATIONS], int64), 0, header[PUT_BACK], OPERATION)
    sets = matrix(address_as(header[SETS], int64), 0, header[SET_COUNT], 4)
    operate(operations, 0, header[BEGUN], sets)
    if header[ROW_COUNTER] != 0:
        counter = address_as(header[ROW_COUNTER], int64)
        others = counter[BY_IMPULSES] + counter[BY_SWEEPS] + counter[BY_PIVOTING]
        if others != 0 or (header[SPLITS] == 1 and counter[IS_SPLIT] != 0):
            operate(operations, header[FINISHED], header[PUT_BACK], sets)
            return False
    _seed_inputs(header)
    operate(operations, header[BEGUN], header[JOINTS_END], sets)
    if header[PAIR_COUNTER] != 0:
        _displace_bodies(header, operations, sets)
    operate(operations, header[CONTACTS_END], header[FINISHED], sets)
    return True


@inline
def _put_back(header):
    """What the World had before."""
    operations = matrix(address_as(header[OPERATIONS], int64), 0, header[PUT_BACK], OPERATION)
    sets = matrix(address_as(header[SETS], int64), 0, header[SET_COUNT], 4)
    operate(operations, header[FINISHED], header[PUT_BACK], sets)


class _Turn(NamedTuple):
    """sin x / x, (1 - cos x) / x^2 and (x - sin x) / x^3 of an angle."""

    sine: Any
    versine: Any
    rest: Any


@inline
def _turn_of(x, y, z):
    square = x * x + y * y + z * z
    Q = rotation_vector_to_quat(Vec3(x, y, z))
    half = 0.5 - square * (1.0 / 48.0)
    if square > _SMALL:
        half = (Q.x * x + Q.y * y + Q.z * z) / square
    rest = 1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0))
    sine = 2.0 * half * Q.w
    if square > _SMALL:
        rest = (1.0 - sine) / square
    else:
        sine = 1.0 - square * rest
    return _Turn(sine, 2.0 * half * half, rest)


@inline
def _add_turned(b, c, phi, x, sign):
    """x + sign b phi x x + c phi x (phi x x)."""
    px, py, pz = phi
    ax, ay, az = x
    ux, uy, uz = py * az - pz * ay, pz * ax - px * az, px * ay - py * ax
    wx, wy, wz = py * uz - pz * uy, pz * ux - px * uz, px * uy - py * ux
    b = sign * b
    return ax + b * ux + c * wx, ay + b * uy + c * wy, az + b * uz + c * wz


@inline
def _solve_one(L, x_io):
    """x becomes H^-1 x, by the factor of a group; see `solve_group`."""
    n = L.shape[0]
    for k in range(n - 1, -1, -1):
        y = x_io[k] * L[k, k]
        x_io[k] = y
        for i in range(k):
            x_io[i] -= L[k, i] * y
    for k in range(n):
        y = x_io[k]
        for i in range(k):
            y -= L[k, i] * x_io[i]
        x_io[k] = y * L[k, k]


@inline
def _residual_step(header, lin, groups, h):
    """How far h times a Newton step from the accelerations of the step is, over one and the largest speed."""
    nv, numbers = header[s.NV], address_as(header[s.NUMBERS], float64)
    v, x = address_as(header[s.END_V], float64), lin.w
    worst, scale = 0.0, 1.0
    for p in range(nv):
        x[p] = lin.residual[groups.order[p]]
        scale = max(scale, 1.0 + abs(v[p]))
    for g in range(groups.count[0]):
        first, n, at = groups.of[g, 0], groups.of[g, 1], groups.of[g, 2]
        H, part = matrix(numbers, 4 * nv * nv + at, n, n), vector(pointer_as(x, float64), first, n)
        if groups.of[g, 4] == 1:
            solve_with_pivots(H, vector(pointer_as(lin.pivot, float64), first, n), part)
        else:
            _solve_one(H, part)
    for p in range(nv):
        off = h * abs(x[p])
        if not off <= worst:
            worst = off
    return worst / scale


@entry(
    signature="int64[::1] int64[:,::1] float64[::1] int64[::1] float64[::1] float64[:,::1]",
    label="columns of the analytic derivatives of a step",
)
def step_columns(header, terms, values, tangent, scratch, out):
    """Derivatives of the tangent of the state after a step along columns of changes.

    terms: source, number and column of every change, and their values. tangent: which of displacements,
    velocities and activations, one after the other, have a row of `out`. scratch: 4 nv + activations numbers
    a column. Returns how far the accelerations are from the solution of their rows, see `_residual_step`;
    OTHER_METHOD where there are no derivatives.
    """
    if not _linearize(header):
        return OTHER_METHOD
    nv, columns, at = header[s.NV], out.shape[1], pointer_as(scratch, float64)
    x, y = matrix(at, 0, nv, columns), matrix(at, nv * columns, nv, columns)
    whole = matrix(at, 2 * nv * columns, 2 * nv + header[ACTIVATIONS], columns)
    off = _columns(header, terms, values, x, y, whole)
    _put_back(header)
    for i in range(tangent.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = whole[tangent[i], j]
    return off


@inline
def _solve(L, first, columns, x_io):
    """`solve_group`; one column alone is a vector."""
    if columns == 1:
        _solve_one(L, vector(pointer_as(x_io, float64), first, L.shape[0]))
    else:
        s.solve_group(L, first, columns, x_io)


@inline
def _trees(header):
    """The arenas of the trees: m, c, d."""
    return (
        address_as(header[s.TREE_M], int64),
        address_as(header[s.TREE_C], float64),
        address_as(header[s.TREE_D], float64),
    )


@inline
def _solve_stiff(lin, factors, first, at, transposed, x_io):
    """`solve_stiff` of a group."""
    n, nv, pivot = factors.shape[0], lin.pivot.shape[1], pointer_as(lin.pivot, float64)
    H = matrix(pointer_as(lin.stiff, float64), at, n, n)
    work = matrix(pivot, 2 * nv, 2, nv)
    s.solve_stiff(H, factors, vector(pivot, first, n), work, transposed, x_io)
    for p in range(n):
        lin.pivot[1, first + p] = work[1, p]


@inline
def _linear_step(header, size):
    """The step as it was linearized, for a state of `size` numbers: factors, groups, time step, residual."""
    lin, groups = s.linear_of(header), s.grouping_of(header)
    tm, tc, td = _trees(header)
    h = step_view(tm, tc, td).time_step[0]
    slopes = matrix(address_as(header[s.ACTIVATED], float64), 0, max(size - 2 * header[s.NV], 1), DOUBLES)
    return lin, groups, h, _residual_step(header, lin, groups, h), slopes


@inline
def _columns(header, terms, values, x, y, out):
    """All rows of columns."""
    actuators = matrix(address_as(header[ACTUATORS], int64), 0, header[ACTUATOR_COUNT], 3)
    turns = matrix(address_as(header[TURNS], int64), 0, header[TURN_COUNT], 2)
    links = vector(address_as(header[LINKS], int64), 0, header[LINK_COUNT])
    nv, columns, numbers = header[s.NV], out.shape[1], address_as(header[s.NUMBERS], float64)
    lin, groups, h, off, slopes = _linear_step(header, out.shape[0])
    tm, tc, td = _trees(header)
    order, place = groups.order, groups.place

    # x = dr, y = d(M w)
    for i in range(nv):
        for j in range(columns):
            x[i, j], y[i, j] = 0.0, 0.0
    for i in range(out.shape[0]):
        for j in range(columns):
            out[i, j] = 0.0
    for k in range(terms.shape[0]):
        source, i, j, value = terms[k, 0], terms[k, 1], terms[k, 2], values[k]
        if source == BY_Q:
            out[i, j] += value
            for p in range(nv):
                x[p, j] += value * lin.dq[order[p], i]
                y[p, j] += value * lin.dMw[order[p], i]
        elif source == BY_V:
            out[nv + i, j] += value
            for p in range(nv):
                x[p, j] += value * lin.dv[order[p], i]
        elif source == BY_FORCE:
            x[place[i], j] += value * lin.joint[i, 1 + FORCE]
        elif source == BY_BODY:
            _add_body_force(tm, tc, td, links[i // 6], i % 6, value, place, j, x)
        elif source >= 0:
            first = CONTROL if source == BY_CONTROL else ACTIVATION
            for u in range(actuators.shape[0]):
                owns = u == i if source == BY_CONTROL else actuators[u, 2] == i
                if owns:
                    d, rank, at = actuators[u, 0], actuators[u, 1], actuators[u, 2]
                    x[place[d], j] += value * lin.joint[d, 1 + first + rank]
                    if at >= 0:
                        out[2 * nv + at, j] += value * slopes[at, 1 + first + rank]
        if source == BY_Q or source == BY_V:
            for u in range(actuators.shape[0]):
                at = actuators[u, 2]
                if at >= 0 and actuators[u, 0] == i:
                    out[2 * nv + at, j] += value * slopes[at, 1 + source]

    for g in range(groups.count[0]):
        first, n, at, damped = groups.of[g, 0], groups.of[g, 1], groups.of[g, 2], groups.of[g, 3]
        # x = H^-1 dr = -da
        H = matrix(numbers, 4 * nv * nv + at, n, n)
        if groups.of[g, 4] == 1:
            column = vector(pointer_as(lin.w, float64), 0, n)
            for j in range(columns):
                for p in range(n):
                    column[p] = x[first + p, j]
                _solve_stiff(lin, H, first, at, False, column)
                for p in range(n):
                    x[first + p, j] = column[p] + lin.pivot[1, first + p]
        else:
            _solve(H, first, columns, x)
        if damped == 1:
            # -da' = x - (M + h D)^-1 (h D x + d(M w))
            for p in range(first, first + n):
                b = lin.damping[order[p]]
                for j in range(columns):
                    y[p, j] += b * x[p, j]
            _solve(matrix(numbers, 5 * nv * nv + at, n, n), first, columns, y)
            for p in range(first, first + n):
                for j in range(columns):
                    x[p, j] -= y[p, j]

    # v' = v + h a', q' = q + h v'
    for p in range(nv):
        i = order[p]
        for j in range(columns):
            out[nv + i, j] -= h * x[p, j]
    v = address_as(header[s.END_V], float64)
    for k in range(turns.shape[0]):
        # Q exp(p): dQ' = exp(-p) dQ + J dp with p = h w
        i = turns[k, 1]
        phi = (h * v[i], h * v[i + 1], h * v[i + 2])
        made = _turn_of(phi[0], phi[1], phi[2])
        for j in range(columns):
            a, b, c = _add_turned(
                made.sine, made.versine, phi, (out[i, j], out[i + 1, j], out[i + 2, j]), -1.0
            )
            w = (out[nv + i, j], out[nv + i + 1, j], out[nv + i + 2, j])
            e, f, g = _add_turned(made.versine, made.rest, phi, w, -1.0)
            # what is added to every degree of freedom below is taken off here
            out[i, j], out[i + 1, j], out[i + 2, j] = (
                a + h * (e - w[0]),
                b + h * (f - w[1]),
                c + h * (g - w[2]),
            )
    for i in range(nv):
        for j in range(columns):
            out[i, j] += h * out[nv + i, j]
    return off


@inline
def _add_body_force(tm, tc, td, link, k, value, place, column, x_io):
    """dr by number `k` of the torque and force at the centre of mass of a link."""
    pos, chain = position_view(tm, tc, td), chain_view(tm, tc, td)
    if link == 0:
        return
    arm = center_of_mass(inertia_view(tm, tc, td), pos, link)
    d = chain.link_last[link]
    while d >= 0:
        S = load_motion(pos.dof_S, d)
        p = velocity_at(S, arm)
        along = (S.ang.x, S.ang.y, S.ang.z, p.x, p.y, p.z)
        x_io[place[d], column] -= value * along[k]
        d = chain.dof_parent[d]


@entry(
    signature="int64[::1] int64[::1] int64[:,::1] float64[::1] float64[::1]",
    label="gradients of a step",
)
def step_gradient(header, tangent, controls, given, out):
    """The gradient by the tangent that a step began with, then by controls, from that by its end.

    tangent: which of displacements, velocities and activations, one after the other, are numbers of `given`.
    controls: source and number of each. The last number of `out` becomes what `step_columns` returns.
    """
    last = out.shape[0] - 1
    out[last] = OTHER_METHOD
    if not _linearize(header):
        return
    nv, activations = header[s.NV], header[ACTIVATIONS]
    size, scratch = 2 * nv + activations, pointer_as(s.linear_of(header).columns, float64)
    w, y = vector(scratch, 0, nv), vector(scratch, nv, nv)
    g, state = vector(scratch, 2 * nv, size), vector(scratch, 2 * nv + size, size)
    for i in range(size):
        g[i] = 0.0
    for i in range(tangent.shape[0]):
        g[tangent[i]] = given[i]
    off = _pull_back(header, g, w, y, state)
    n = tangent.shape[0]
    for i in range(n):
        out[i] = state[tangent[i]]
    _by_controls(header, controls, g, w, vector(pointer_as(out, float64), n, controls.shape[0]))
    _put_back(header)
    out[last] = off


@inline
def _pull_back(header, g, x, y, state):
    """The gradient by the whole state; x becomes w = H^-T dL/da in the order of groups. y: scratch."""
    actuators = matrix(address_as(header[ACTUATORS], int64), 0, header[ACTUATOR_COUNT], 3)
    turns = matrix(address_as(header[TURNS], int64), 0, header[TURN_COUNT], 2)
    nv, numbers = header[s.NV], address_as(header[s.NUMBERS], float64)
    lin, groups, h, off, slopes = _linear_step(header, g.shape[0])
    order, place = groups.order, groups.place

    # through q' = q + h v'
    v = address_as(header[s.END_V], float64)
    for i in range(nv):
        state[i], state[nv + i] = g[i], g[nv + i] + h * g[i]
    for k in range(turns.shape[0]):
        i = turns[k, 1]
        phi = (h * v[i], h * v[i + 1], h * v[i + 2])
        made = _turn_of(phi[0], phi[1], phi[2])
        given = (g[i], g[i + 1], g[i + 2])
        state[i], state[i + 1], state[i + 2] = _add_turned(made.sine, made.versine, phi, given, 1.0)
        a, b, c = _add_turned(made.versine, made.rest, phi, given, 1.0)
        state[nv + i] = g[nv + i] + h * a
        state[nv + i + 1] = g[nv + i + 1] + h * b
        state[nv + i + 2] = g[nv + i + 2] + h * c

    # through accelerations: w = H^-T (1 - h D (M + h D)^-1) dL/da'
    for p in range(nv):
        x[p] = h * state[nv + order[p]]
        y[p] = 0.0
    for k in range(groups.count[0]):
        first, n, at, damped = groups.of[k, 0], groups.of[k, 1], groups.of[k, 2], groups.of[k, 3]
        if damped == 1:
            for p in range(first, first + n):
                y[p] = x[p]
            _solve_one(matrix(numbers, 5 * nv * nv + at, n, n), vector(pointer_as(y, float64), first, n))
            for p in range(first, first + n):
                x[p] -= lin.damping[order[p]] * y[p]
        H, part = matrix(numbers, 4 * nv * nv + at, n, n), vector(pointer_as(x, float64), first, n)
        if groups.of[k, 4] == 1:
            _solve_stiff(lin, H, first, at, True, part)
        else:
            _solve_one(H, part)
            for p in range(first, first + n):
                lin.pivot[1, p] = 0.0
    if header[s.IS_STIFF] == 1:
        # products as large as contacts are stiff cancel
        for j in range(nv):
            by_q, lost_q, by_v, lost_v = state[j], 0.0, state[nv + j], 0.0
            for p in range(nv):
                i, low = order[p], lin.pivot[1, p]
                by_q, lost_q = s.take_off_product(by_q, lost_q, x[p], lin.dq[i, j])
                by_v, lost_v = s.take_off_product(by_v, lost_v, x[p], lin.dv[i, j])
                lost_q, lost_v = lost_q - low * lin.dq[i, j], lost_v - low * lin.dv[i, j]
            state[j], state[nv + j] = by_q + lost_q, by_v + lost_v
    else:
        for p in range(nv):
            i, w = order[p], x[p]
            for j in range(nv):
                state[j] -= w * lin.dq[i, j]
            for j in range(nv):
                state[nv + j] -= w * lin.dv[i, j]
    for p in range(nv):
        if y[p] != 0.0:
            for j in range(nv):
                state[j] += y[p] * lin.dMw[order[p], j]

    # actuators
    for k in range(g.shape[0] - 2 * nv):
        state[2 * nv + k] = 0.0
    for u in range(actuators.shape[0]):
        d, rank, at = actuators[u, 0], actuators[u, 1], actuators[u, 2]
        w = x[place[d]]
        if at >= 0:
            b = g[2 * nv + at]
            state[2 * nv + at] = (
                b * slopes[at, 1 + ACTIVATION + rank] - w * lin.joint[d, 1 + ACTIVATION + rank]
            )
            state[d] += b * slopes[at, 1 + Q]
            state[nv + d] += b * slopes[at, 1 + V]
    return off


@inline
def _by_controls(header, controls, g, w, out):
    """The gradient by controls, from w in the order of groups."""
    nv, lin, place = header[s.NV], s.linear_of(header), s.grouping_of(header).place
    actuators = matrix(address_as(header[ACTUATORS], int64), 0, header[ACTUATOR_COUNT], 3)
    links = vector(address_as(header[LINKS], int64), 0, header[LINK_COUNT])
    slopes = matrix(address_as(header[s.ACTIVATED], float64), 0, max(header[ACTIVATIONS], 1), DOUBLES)
    tm, tc = address_as(header[s.TREE_M], int64), address_as(header[s.TREE_C], float64)
    td = address_as(header[s.TREE_D], float64)
    pos, chain, inertia = position_view(tm, tc, td), chain_view(tm, tc, td), inertia_view(tm, tc, td)
    for k in range(controls.shape[0]):
        source, i = controls[k, 0], controls[k, 1]
        out[k] = 0.0
        if source == BY_FORCE:
            out[k] = -w[place[i]] * lin.joint[i, 1 + FORCE]
        elif source == BY_CONTROL:
            d, rank, at = actuators[i, 0], actuators[i, 1], actuators[i, 2]
            out[k] = -w[place[d]] * lin.joint[d, 1 + CONTROL + rank]
            if at >= 0:
                out[k] += g[2 * nv + at] * slopes[at, 1 + CONTROL + rank]
        elif source == BY_BODY and links[i // 6] > 0:
            # w^T S^T F of a unit torque or force at the centre of mass
            link, j = links[i // 6], i % 6
            arm, d = center_of_mass(inertia, pos, link), chain.link_last[link]
            while d >= 0:
                S = load_motion(pos.dof_S, d)
                p = velocity_at(S, arm)
                along = (S.ang.x, S.ang.y, S.ang.z, p.x, p.y, p.z)
                out[k] += w[place[d]] * along[j]
                d = chain.dof_parent[d]
