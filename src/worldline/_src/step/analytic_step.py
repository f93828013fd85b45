# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Analytic derivatives of steps whose forces are local: as columns, and backwards from a gradient.

At the accelerations a that the step found, r(q, v, u, a) = RNEA(q, v, a) - tau - J^T f vanishes, so that
da = -H^-1 (dr/dq dq + dr/dv dv + dr/du du) with H = M + J^T W J. What r is made of decides how it is
differentiated:

    RNEA        formulas [Carpentier & Mansard 2018], `kernels/rnea_derivatives.py`
    tau, rows   forces of drives, springs, dampers and actuators, rows of limits and joint friction: each acts
    of joints   on one degree of freedom and depends on its coordinate, velocity and actuators alone, so all
                of their derivatives come from one pass of dual numbers, with every coordinate changed at once
                along the first direction, every velocity along the second (compressed differentiation
                [Curtis, Powell & Reid 1974])
    contacts    dual numbers along displacements of bodies, and formulas; `contact_derivatives.py`

The same matrices serve both products: H is symmetric, so a gradient goes back through one solve with its
factor, w = H^-1 dL/da, and the products w^T dr/dx. Steps with forces of other kinds are differentiated in
dual numbers (`column_step.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.duals.kind import DOUBLES, dual_address
from worldline._src.jit import entry, inline
from worldline._src.kernels.constraints.contact_derivatives import ALL_BODIES, parting_bit
from worldline._src.kernels.constraints.tables import NUMBER
from worldline._src.kernels.links import center_of_mass
from worldline._src.kernels.narrowphase.dispatch import narrow_sort
from worldline._src.kernels.narrowphase.lanes import fixed_shape_poses
from worldline._src.kernels.narrowphase.tables import CONTACTS
from worldline._src.kernels.transmissions import LINEAR as LINEAR_LENGTH
from worldline._src.kinds import float64, int64
from worldline._src.model.compile import constant_views
from worldline._src.model.views import chain_view, inertia_view, position_view, step_view
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_as, address_of, matrix, vector
from worldline._src.spatial.motion import load_motion, velocity_at
from worldline._src.spatial.poses import Array
from worldline._src.spatial.rotation import rotation_vector_to_quat
from worldline._src.spatial.vec3 import Vec3
from worldline._src.step import analytic_stages as s
from worldline._src.step import stages as trees
from worldline._src.step.column_step import has_inverse_form
from worldline._src.step.derivatives import is_analytic
from worldline._src.step.dual_step import (
    CALL,
    INTEGERS,
    NUMBERS,
    OPERATION,
    STRUCTURE,
    DualStep,
    Operation,
    obeys_coulomb,
    operate,
    quaternions,
)
from worldline._src.step.island_stages import solve_islands
from worldline._src.step.simulation import Simulation
from worldline._src.step.step_stages import accelerations
from worldline._src.step.step_table import COLLISION, LOG, MULTIBODY, USER, called_stages

_LINEAR, _PLAIN_LINEAR = COLLISION + 1, COLLISION + 2
"""Sets of arenas of the stages of derivatives: the header, and the trees in dual or plain numbers."""

_TREE_STAGES = ("positions", "link_velocities", "center_forces", "accelerations", "composites", "mass_matrix")
_JOINT_STAGES = ("drive_forces", "no_drive_forces", "actuator_forces", "spring_displacements")
_CONTACT_STAGES = ("collision_poses", "shape_poses", "narrow_round", "narrow_flat", "narrow_ball", "narrow_convex")
_STAGES = frozenset(
    (
        *(_TREE_STAGES + _JOINT_STAGES + _CONTACT_STAGES),
        *("add_passive_forces", "advance_activations", "solve_islands", "damp_implicitly"),
        *("semi_implicit_euler", "count_step"),
    )
) | STRUCTURE - {"keep_smooth", "solve_velocities", "correct_positions", "narrow_surface"}
"""Stages of steps that have analytic derivatives."""
_MAKERS = frozenset(("friction_rows", "limit_rows", "contact_rows"))
"""Their makers of rows."""

Q, V, FORCE, CONTROL, ACTIVATION = 0, 1, 2, 3, 5
"""Directions of joints; the second actuator of a degree of freedom has the ones after CONTROL and ACTIVATION."""
_RANKS = 2
_SOURCES = {
    "displacement": 0,
    "velocity": 1,
    "force": 2,
    "control": 3,
    "activation": 4,
    "body_f": 5,
}
"""What terms of a column come from."""
_BY_Q, _BY_V, _BY_FORCE, _BY_CONTROL, _BY_ACTIVATION, _BY_BODY = range(6)
_SMALL = 1e-4
"""Square of an angle below which series take the place of quotients."""
_PLANS = 2
"""Columns that are kept, for the seeds used last."""


class _Plan(NamedTuple):
    given: Any
    terms: np.ndarray
    """Source, number, column."""
    values: Array
    columns: int


class StepGradients(NamedTuple):
    """The gradient of a loss by what a step began with, in the numbers of the model."""

    displacement: Array
    velocity: Array
    activation: Array
    force: Array
    control: Array
    body_f: Array


def has_local_forces(sim: Simulation) -> bool:
    """Whether all that acts in a step has analytic derivatives; see the module."""
    if not has_inverse_form(sim) or not is_analytic(sim.model):
        return False
    if any(stage.name not in _STAGES for stage, place in sim.schedule if place not in (LOG, USER)):
        return False
    # drives of orientations depend on displacements by the logarithm of a rotation
    turns = quaternions(sim.model)[:, 1:] + np.arange(3)
    if sim.model.joint_target_ke[turns].any():
        return False
    constraints = sim.constraints
    if constraints is None:
        return True
    makers = {row.stage.name for row in called_stages(constraints.step_plan) if row.link is None}
    column = constraints.column
    if not makers <= _MAKERS or (column.limit_kind != NUMBER).any():
        return False
    if constraints.collision is not None and obeys_coulomb(constraints):
        return False
    return _actuators(sim) is not None


def _actuators(sim: Simulation) -> np.ndarray | None:
    """Degree of freedom, rank on it and first activation (-1: none) of every actuator; None if one has others."""
    if sim.constraints is None:
        return np.zeros((0, 3), np.int64)
    column = sim.constraints.column
    found: list[tuple[int, int, int]] = []
    used: dict[int, int] = {}
    for u in range(len(column.control)):
        first, end = column.act_span[u].tolist()
        kind = column.act_kind[u]
        local = end - first == 1 and column.act_hold[u, 0] == LINEAR_LENGTH and column.act_tendon[u] < 0
        if not local or (kind[3] >= 0 and kind[5] != 1):
            return None
        dof = int(column.act_dof[first])
        rank = used.get(dof, 0)
        if rank >= _RANKS:
            return None
        used[dof] = rank + 1
        found.append((dof, rank, int(kind[3])))
    return np.array(found, np.int64).reshape(-1, 3)


# ---- compiled


@entry(
    signature="int64[:,::1] int64[::1] int64[:,::1] int64[::1] int64[:,::1] int64[::1] int64[:,::1] int64[::1] "
    "float64[:,::1] int64[::1]",
    label="analytic derivatives of a step",
)
def _linearize(operations, spans, sets, header, inputs, directions, pairs, counter, pushes, body_link):
    """Fill the numbers of `analytic_stages.py`.

    spans: where operations of joints, of contacts and the last ones start, and where they end. inputs: address
    of duals, how many there are, address of values, where they start in `directions`, the direction that
    changes each (-1: none). pairs, pushes: contacts of the step and their forces.
    """
    for p in range(inputs.shape[0]):
        n = inputs[p, 1]
        values = vector(address_as(inputs[p, 2], float64), 0, n)
        duals = vector(address_as(inputs[p, 0], float64), 0, DOUBLES * n)
        for i in range(n):
            duals[DOUBLES * i] = values[i]
            for k in range(1, DOUBLES):
                duals[DOUBLES * i + k] = 0.0
            if directions[inputs[p, 3] + i] >= 0:
                duals[DOUBLES * i + 1 + directions[inputs[p, 3] + i]] = 1.0
    operate(operations, 0, spans[1], sets)

    # bodies that touch each other are displaced one after the other: those with a bit of their number, then
    # those without it, for every bit that tells two of them apart
    bits, touches = 0, False
    for k in range(counter[CONTACTS]):
        if pushes[k, 0] > 0.0:
            touches = True
            a, b = pairs[k, 2], pairs[k, 3]
            if body_link[a] > 0 and body_link[b] > 0:
                bits |= 1 << parting_bit(a, b)
    if touches and bits == 0:
        header[s.BIT], header[s.WITHOUT], header[s.COUNTS] = ALL_BODIES, 0, 1
        operate(operations, spans[1], spans[2], sets)
    header[s.COUNTS], bit = 1, 0
    while bits >> bit != 0:
        if (bits >> bit) & 1 == 1:
            for without in range(2):
                header[s.BIT], header[s.WITHOUT] = bit, without
                operate(operations, spans[1], spans[2], sets)
            header[s.COUNTS] = 0
        bit += 1
    operate(operations, spans[2], spans[3], sets)


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
def _residual_step(header, lin, groups, h, x_out):
    """How far h times a Newton step from the accelerations of the step is, over one and the largest speed."""
    nv, numbers = header[s.NV], address_as(header[s.NUMBERS], float64)
    v = address_as(header[s.END_V], float64)
    worst, scale = 0.0, 1.0
    for p in range(nv):
        x_out[p, 0] = lin.residual[groups.order[p]]
        scale = max(scale, 1.0 + abs(v[p]))
    for g in range(groups.count[0]):
        first, n, at = groups.of[g, 0], groups.of[g, 1], groups.of[g, 2]
        s.solve_group(matrix(numbers, 4 * nv * nv + at, n, n), first, 1, x_out)
    for p in range(nv):
        off = h * abs(x_out[p, 0])
        if not off <= worst:
            worst = off
    return worst / scale


@entry(
    signature="int64[::1] int64[:,::1] float64[::1] int64[:,::1] int64[:,::1] int64[::1] float64[:,::1] "
    "float64[:,::1] float64[:,::1]",
    label="columns of the analytic derivatives of a step",
)
def _columns(header, terms, values, actuators, turns, links, x, y, out):
    """Derivatives of displacements, velocities and activations after a step, (2 nv + activations, columns).

    terms: source, number and column of every change. actuators: degree of freedom, rank, activation. turns:
    first coordinate and degree of freedom of orientations. links: of bodies. x, y: scratch, (nv, columns + 1).
    Returns how far the accelerations are from the solution of their rows; see `_residual_step`.
    """
    nv, columns, numbers = header[s.NV], out.shape[1], address_as(header[s.NUMBERS], float64)
    lin, groups = s.linear_of(header), s.grouping_of(header)
    order, place = groups.order, groups.place
    tm, tc = address_as(header[s.TREE_M], int64), address_as(header[s.TREE_C], float64)
    td = address_as(header[s.TREE_D], float64)
    h = step_view(tm, tc, td).time_step[0]
    off = _residual_step(header, lin, groups, h, x)
    activations = out.shape[0] - 2 * nv
    slopes = matrix(address_as(header[s.ACTIVATED], float64), 0, max(activations, 1), DOUBLES)

    # x = dr, y = d(M w)
    for i in range(nv):
        for j in range(columns):
            x[i, j], y[i, j] = 0.0, 0.0
    for i in range(out.shape[0]):
        for j in range(columns):
            out[i, j] = 0.0
    for k in range(terms.shape[0]):
        source, i, j, value = terms[k, 0], terms[k, 1], terms[k, 2], values[k]
        if source == _BY_Q:
            out[i, j] += value
            for p in range(nv):
                x[p, j] += value * lin.dq[order[p], i]
                y[p, j] += value * lin.dMw[order[p], i]
        elif source == _BY_V:
            out[nv + i, j] += value
            for p in range(nv):
                x[p, j] += value * lin.dv[order[p], i]
        elif source == _BY_FORCE:
            x[place[i], j] += value * lin.joint[i, 1 + FORCE]
        elif source == _BY_BODY:
            _add_body_force(tm, tc, td, links[i // 6], i % 6, value, place, j, x)
        else:
            first = CONTROL if source == _BY_CONTROL else ACTIVATION
            for u in range(actuators.shape[0]):
                owns = u == i if source == _BY_CONTROL else actuators[u, 2] == i
                if owns:
                    d, rank, at = actuators[u, 0], actuators[u, 1], actuators[u, 2]
                    x[place[d], j] += value * lin.joint[d, 1 + first + rank]
                    if at >= 0:
                        out[2 * nv + at, j] += value * slopes[at, 1 + first + rank]
        if source == _BY_Q or source == _BY_V:
            for u in range(actuators.shape[0]):
                at = actuators[u, 2]
                if at >= 0 and actuators[u, 0] == i:
                    out[2 * nv + at, j] += value * slopes[at, 1 + source]

    for g in range(groups.count[0]):
        first, n, at, damped = groups.of[g, 0], groups.of[g, 1], groups.of[g, 2], groups.of[g, 3]
        # x = H^-1 dr = -da
        s.solve_group(matrix(numbers, 4 * nv * nv + at, n, n), first, columns, x)
        if damped == 1:
            # -da' = x - (M + h D)^-1 (h D x + d(M w))
            for p in range(first, first + n):
                b = lin.damping[order[p]]
                for j in range(columns):
                    y[p, j] += b * x[p, j]
            s.solve_group(matrix(numbers, 5 * nv * nv + at, n, n), first, columns, y)
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
            a, b, c = _add_turned(made.sine, made.versine, phi, (out[i, j], out[i + 1, j], out[i + 2, j]), -1.0)
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
    signature="int64[::1] int64[:,::1] int64[:,::1] int64[::1] float64[::1] float64[:,::1] float64[::1] "
    "float64[::1] float64[::1] float64[:,::1]",
    label="gradients of a step",
)
def _pull_back(header, actuators, turns, links, g, x, state, force, control, body_f):
    """The gradient `state` (2 nv + activations) by what a step began with, from that by its end, `g`.

    Also by commanded forces, controls and forces on bodies. x: scratch, (nv, 2). Returns what `_columns` does.
    """
    nv, numbers = header[s.NV], address_as(header[s.NUMBERS], float64)
    lin, groups = s.linear_of(header), s.grouping_of(header)
    order, place = groups.order, groups.place
    tm, tc = address_as(header[s.TREE_M], int64), address_as(header[s.TREE_C], float64)
    td = address_as(header[s.TREE_D], float64)
    h = step_view(tm, tc, td).time_step[0]
    off = _residual_step(header, lin, groups, h, x)
    activations = g.shape[0] - 2 * nv
    slopes = matrix(address_as(header[s.ACTIVATED], float64), 0, max(activations, 1), DOUBLES)

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

    # through accelerations: w = H^-1 (1 - h D (M + h D)^-1) dL/da'
    for p in range(nv):
        x[p, 0] = h * state[nv + order[p]]
        x[p, 1] = 0.0
    for k in range(groups.count[0]):
        first, n, at, damped = groups.of[k, 0], groups.of[k, 1], groups.of[k, 2], groups.of[k, 3]
        if damped == 1:
            for p in range(first, first + n):
                x[p, 1] = x[p, 0]
            _solve_one(matrix(numbers, 5 * nv * nv + at, n, n), first, 1, x)
            for p in range(first, first + n):
                x[p, 0] -= lin.damping[order[p]] * x[p, 1]
        _solve_one(matrix(numbers, 4 * nv * nv + at, n, n), first, 0, x)
    for p in range(nv):
        i, w, y = order[p], x[p, 0], x[p, 1]
        for j in range(nv):
            state[j] += y * lin.dMw[i, j] - w * lin.dq[i, j]
            state[nv + j] -= w * lin.dv[i, j]
        force[i] = -w * lin.joint[i, 1 + FORCE]

    # actuators
    for k in range(activations):
        state[2 * nv + k] = 0.0
    for u in range(actuators.shape[0]):
        d, rank, at = actuators[u, 0], actuators[u, 1], actuators[u, 2]
        w = x[place[d], 0]
        control[u] = -w * lin.joint[d, 1 + CONTROL + rank]
        if at >= 0:
            y = g[2 * nv + at]
            control[u] += y * slopes[at, 1 + CONTROL + rank]
            state[2 * nv + at] = y * slopes[at, 1 + ACTIVATION + rank] - w * lin.joint[d, 1 + ACTIVATION + rank]
            state[d] += y * slopes[at, 1 + Q]
            state[nv + d] += y * slopes[at, 1 + V]

    # forces at centres of mass
    if body_f.shape[0] > 0:
        pos, chain, inertia = position_view(tm, tc, td), chain_view(tm, tc, td), inertia_view(tm, tc, td)
        for b in range(body_f.shape[0]):
            for j in range(6):
                body_f[b, j] = 0.0
            if links[b] > 0:
                arm, d = center_of_mass(inertia, pos, links[b]), chain.link_last[links[b]]
                while d >= 0:
                    S, w = load_motion(pos.dof_S, d), x[place[d], 0]
                    p = velocity_at(S, arm)
                    along = (S.ang.x, S.ang.y, S.ang.z, p.x, p.y, p.z)
                    for j in range(6):
                        body_f[b, j] += w * along[j]
                    d = chain.dof_parent[d]
    return off


@inline
def _solve_one(L, first, column, x_io):
    """Column `column` of x becomes H^-1 of it, for rows from `first` on; see `solve_group`."""
    n = L.shape[0]
    for k in range(n - 1, -1, -1):
        y = x_io[first + k, column] * L[k, k]
        x_io[first + k, column] = y
        for i in range(k):
            x_io[first + i, column] -= L[k, i] * y
    for k in range(n):
        y = x_io[first + k, column]
        for i in range(k):
            y -= L[k, i] * x_io[first + i, column]
        x_io[first + k, column] = y * L[k, k]


# ---- the step


class AnalyticStep(DualStep):
    """A step with local forces, its derivatives as matrices."""

    def __init__(self, sim: Simulation, relaxed: bool, kept: dict[str, Array]) -> None:
        nv, nlink = sim.model.joint_dof_count, sim.model.arenas.sizes["nlink"]
        self._nv = nv
        self._header = np.zeros(s.HEADER, np.int64)
        self._numbers = np.zeros(s.linear_size(nv, nlink))
        self._groups = np.zeros(s.grouping_size(nv), np.int64)
        self._solved = np.zeros(nv)
        self._plans: list[_Plan] = []
        found = _actuators(sim)
        assert found is not None
        self._actuators = found
        self._turns = np.ascontiguousarray(quaternions(sim.model))
        super().__init__(sim, relaxed, kept)
        self._make_inputs(sim)
        self._activations = self._sizes.get("activation", 0)
        h = self._header
        h[s.NV], h[s.NLINK] = nv, nlink
        h[s.START_V], h[s.END_V] = address_of(kept["v"]), address_of(sim.field("v"))
        h[s.ACTIVATED] = self._place("activation") if self._activations else address_of(self._numbers)
        constraints, none = sim.constraints, np.zeros((0, 6), np.int64)
        self._contacts: tuple[Any, ...] = (none, np.zeros(8, np.int64), np.zeros((0, 6)), np.zeros(0, np.int64))
        if constraints is not None and constraints.collision is not None:
            column = constraints.collision.column
            own = constraints.column
            self._contacts = (column.contact_id, column.counter, own.contact_force, own.body_link)
        self._links = np.ascontiguousarray(constant_views(sim.model.arenas)["body_link"], np.int64)

    def _make_inputs(self, sim: Simulation) -> None:
        """Values of the step in dual numbers, with the direction that changes each."""
        nv = self._nv
        turns = set((self._turns[:, :1] + np.arange(4)).reshape(-1).tolist())
        directions = {
            "q": [-1 if i in turns else Q for i in range(self._sizes["q"])],
            "v": [V] * nv,
            "force": [FORCE] * nv,
            "control": (CONTROL + self._actuators[:, 1]).tolist(),
        }
        if "activation" in self._sizes:
            ranks = [-1] * self._sizes["activation"]
            for _, rank, at in self._actuators.tolist():
                if at >= 0:
                    ranks[at] = ACTIVATION + rank
            directions["activation"] = ranks
        inputs, flat = [], []
        for name, size in self._sizes.items():
            if name in ("a", "body_f"):
                continue
            inputs.append((self._place(name), size, address_of(self.kept[name]), len(flat)))
            flat += directions.get(name, [-1] * size)
        self._input_table = np.array(inputs, np.int64).reshape(-1, 4)
        self._directions = np.array(flat, np.int64)

    # ---- operations

    def _make_operations(self, sim: Simulation) -> None:
        """The step in plain numbers, then what its derivatives are made of."""
        index, constant, arguments, _ = sim.sets[MULTIBODY]
        h, data = self._header, sim.data
        h[s.TREE_M], h[s.TREE_C], h[s.TREE_D] = address_of(index), address_of(constant), address_of(data)
        h[s.NUMBERS], h[s.GROUPS] = address_of(self._numbers), address_of(self._groups)
        h[s.SOLVED], h[s.CONTACT_MAKER] = address_of(self._solved), -1
        dual = [address_of(x) for x in (h, constant, arguments, self._trees)]
        plain_set = [*dual[:3], address_of(data)]
        self._sets = np.concatenate([self._sets, np.array([dual, plain_set], np.int64)])

        plain: list[Operation] = []
        names = {stage.name for stage, place in sim.schedule if place not in (LOG, USER)}
        joints: list[Operation] = [(CALL, s.linearize_dynamics.address(float64), _PLAIN_LINEAR, 0)]
        contacts: list[Operation] = []
        after: list[Operation] = []
        solves = "solve_islands" in names
        for stage, place in sim.schedule:
            if place in (LOG, USER):
                continue
            if stage is solve_islands:
                assert self._block is not None
                self._copy_integers(self._block.m, self._m, plain)
                self._copy_integers(self._block.args, self._args, plain)
                plain += self._redirect
            plain.append((CALL, stage.address(float64), place, 0))
            if stage is narrow_sort:
                self._copy_integers(sim.sets[COLLISION][2], self._collision_args, plain)
                plain += self._redirect_links
                self._reset_counters(sim, plain, contacts)
            elif stage is accelerations:
                plain.append((CALL, trees.composites.address(float64), MULTIBODY, 0))
            if stage is solve_islands or (stage is accelerations and not solves):
                # doubles are copied as integers are
                plain.append((INTEGERS, address_of(sim.a), address_of(self._solved), self._nv))
            if stage.name in (*_JOINT_STAGES, "add_passive_forces"):
                joints.append((CALL, dual_address(stage), place, 0))
            elif stage.name == "advance_activations":
                after.append((CALL, dual_address(stage), place, 0))
            elif stage.name == "shape_poses":
                contacts.append((CALL, s.displace_bodies.address(float64), _PLAIN_LINEAR, 0))
                contacts.append((CALL, dual_address(fixed_shape_poses), COLLISION, 0))
            elif stage.name in _CONTACT_STAGES and stage.name != "collision_poses":
                contacts.append((CALL, dual_address(stage), place, 0))
        joints.append((CALL, dual_address(s.linearize_joints), _LINEAR, 0))
        joints += after
        if contacts:
            # the columns of contacts are constants
            for name in ("dof_S", "link_origin"):
                field = sim.field(name)
                joints.append((NUMBERS, address_of(field), self._place(name), field.size))
            contacts.append((CALL, dual_address(s.linearize_contacts), _LINEAR, 0))
        h[s.IS_DAMPED] = int("damp_implicitly" in names)
        self._point_at_rows(sim)
        last = [(CALL, s.finish_linear.address(float64), _PLAIN_LINEAR, 0)]
        whole = [*joints, *contacts, *last]
        ends = np.cumsum([0, len(joints), len(contacts), len(last)])
        self._dual, self._spans = np.array(whole, np.int64).reshape(-1, OPERATION), ends.astype(np.int64)
        self._plain = np.array(plain, np.int64).reshape(-1, OPERATION)

    @staticmethod
    def _copy_integers(source: np.ndarray, target: np.ndarray, operations: list[Operation]) -> None:
        operations.append((INTEGERS, address_of(source), address_of(target), len(source)))

    def _reset_counters(self, sim: Simulation, plain: list[Operation], contacts: list[Operation]) -> None:
        """Counters of contacts as they were before any was found."""
        assert sim.constraints is not None and sim.constraints.collision is not None
        counter = sim.constraints.collision.column.counter
        offset = address_of(counter) - address_of(sim.sets[COLLISION][2])
        copy = np.zeros_like(counter)
        self._alive.append(copy)
        plain.append((INTEGERS, address_of(counter), address_of(copy), counter.size))
        contacts.append((INTEGERS, address_of(copy), address_of(self._collision_args) + offset, counter.size))

    def _point_at_rows(self, sim: Simulation) -> None:
        """Addresses of the arenas of rows and collision."""
        h, constraints = self._header, sim.constraints
        if constraints is None or self._block is None:
            return
        if any(stage is solve_islands for stage, _ in sim.schedule):
            h[s.ROW_M], h[s.ROW_C] = address_of(self._m), address_of(self._block.c)
            h[s.ROW_ARGS], h[s.ROW_D] = address_of(self._args), address_of(self._rows)
        makers = [row.stage.name for row in called_stages(constraints.step_plan) if row.link is None]
        if "contact_rows" in makers:
            h[s.CONTACT_MAKER] = makers.index("contact_rows")
        if constraints.collision is not None:
            h[s.HIT_M], h[s.HIT_D] = (address_of(constraints.collision.m), address_of(constraints.collision.d))
            h[s.HIT_DUALS] = int(self._sets[COLLISION, 3])

    # ---- derivatives

    def repeat(self, sim: Simulation) -> None:
        """Repeat the step in plain numbers, and make the matrices of its derivatives."""
        super().repeat(sim)
        _linearize(
            self._dual,
            self._spans,
            self._sets,
            self._header,
            self._input_table,
            self._directions,
            *self._contacts,
        )

    def columns(self, seeds: Any) -> tuple[Array, float]:
        """Derivatives by columns of the displacement, velocity and activation after the step.

        Also how far its accelerations are from the solution of its rows, as a share of velocities.
        """
        plan = next((one for one in self._plans if one.given is seeds), None)
        if plan is None:
            plan = _plan_of(seeds)
            self._plans = [plan, *self._plans[: _PLANS - 1]]
        n = plan.columns
        out = np.empty((2 * self._nv + self._activations, n))
        x, y = np.empty((2, self._nv, max(n, 1)))
        off = _columns(
            self._header, plan.terms, plan.values, self._actuators, self._turns, self._links, x, y, out
        )
        return out, off

    def pull_back(self, g: Array, with_bodies: bool) -> tuple[StepGradients, float]:
        """The gradient by what the step began with, from that by displacement, velocity and activation after it."""
        nv, na = self._nv, self._activations
        state, force, control = np.empty(2 * nv + na), np.empty(nv), np.empty(len(self._actuators))
        body_f = np.empty((len(self._links) if with_bodies else 0, 6))
        off = _pull_back(
            self._header,
            self._actuators,
            self._turns,
            self._links,
            g,
            np.empty((nv, 2)),
            state,
            force,
            control,
            body_f,
        )
        made = StepGradients(state[:nv], state[nv : 2 * nv], state[2 * nv :], force, control, body_f.reshape(-1))
        return made, off


def _plan_of(seeds: Any) -> _Plan:
    """Terms of columns along seeds."""
    terms, values, columns = [np.zeros((0, 3), np.int64)], [np.zeros(0)], 0
    for name, rows in seeds._asdict().items():
        if rows is None:
            continue
        columns = max(columns, len(rows))
        column, number = np.nonzero(rows)
        if len(column):
            terms.append(np.stack([np.full(len(column), _SOURCES[name]), number, column], axis=1))
            values.append(rows[column, number])
    return _Plan(seeds, np.concatenate(terms).astype(np.int64), np.concatenate(values), columns)


def takes(seeds: Any) -> bool:
    """Whether all directions are those that terms have."""
    return all(rows is None or name in _SOURCES for name, rows in seeds._asdict().items())
