# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of contacts: combine what two shapes say, and write a cone or a pyramid for every contact point.

Generic over the scalar: a contact has rows when any world needs them, and `row_active` says in which they
count. Laws, friction and dimensions are numbers of the model and the same for all worlds.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.contact.coulomb import NONE
from worldline._src.kernels.constraints.contact.impacts import (
    BOTH,
    SLOWEST,
    Moment,
    contact_soft_row,
    impact_of,
    touches,
)
from worldline._src.kernels.constraints.impedance import (
    elliptic_first_regularizer,
    elliptic_other_regularizer,
    pyramid_regularizer,
    regularized_friction,
)
from worldline._src.kernels.constraints.jacobians import add_point_motion, clear_rows, part_velocity
from worldline._src.kernels.constraints.laws import (
    load_law,
    mixed_law,
    pair_weights,
    soft_row,
    with_bounciness,
)
from worldline._src.kernels.constraints.rows import CONE, UNILATERAL
from worldline._src.kernels.constraints.tables import (
    BOUNCED,
    BOUNCES,
    CONTACT_END,
    CONTACT_FIRST,
    DROPPED,
    ELLIPTIC,
    FRICTION_SHARE,
    GRAVITY,
    HARD,
    IMPEDANCE,
    IS_SPLIT,
    MEAN_MOTION,
    OF_CONTACT,
    RATIO,
    RECOVERY_SPEED,
    ROWS,
    SAFE,
    SHARE,
    SOLVE_PASS,
    SPLIT,
    STEP,
)
from worldline._src.kernels.narrowphase.tables import CAPSULE, PLANE
from worldline._src.kernels.narrowphase.values import select
from worldline._src.kernels.search import find_key
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import matrix, pointer
from worldline._src.scalar.ops import (
    absolute,
    any_of,
    constant,
    is_single,
    maximum,
    minimum,
    shared,
    sqrt,
    where,
)
from worldline._src.scalar.packed import PACK
from worldline._src.scalar.wide_rows import copy_row, spread_rows
from worldline._src.spatial.vec3 import Vec3

LEAST_FRICTION = 1e-5
_UPRIGHT, _UPRIGHT_SINGLE = 1.0 - 1e-12, 1.0 - 1e-5
"""Square of the cosine above which an axis is along the normal, in double and single precision."""
_SEEN = 1e20
"""Rows of hard contacts exist up to this distance [m]; below that of an empty row of a fixed layout."""


class CombinedMaterial(NamedTuple):
    """What two touching shapes agree on."""

    condim: Any
    sliding: Any
    spinning: Any
    rolling: Any
    law: Any
    margin: Any
    pair: Any
    """Row of the pair when it has parameters of its own, else -1."""


@inline
def _combined(rule, x, y):
    """Two coefficients as one; the rules of CombineKind."""
    made = maximum(x, y)
    if rule == 1:
        made = sqrt(x * y)
    if rule == 2:
        made = 0.5 * (x + y)
    if rule == 3:
        made = minimum(x, y)
    if rule == 4:
        made = x * y
    return made


@inline
def combined_material(shapes, a, b):
    """What two shapes agree on: a pair has it in writing, all others combine by priority."""
    pair = find_key(shapes.pair_key, min(a, b) * shapes.shape_condim.shape[0] + max(a, b))
    if pair < 0:
        return _combination(shapes, a, b)
    mu = shapes.pair_friction
    return CombinedMaterial(
        shapes.pair_condim[pair],
        maximum(mu[pair, 0], LEAST_FRICTION),
        maximum(mu[pair, 2], LEAST_FRICTION),
        maximum(mu[pair, 3], LEAST_FRICTION),
        load_law(shapes.pair_law, pair),
        shapes.pair_margin[pair],
        pair,
    )


@inline
def _combination(shapes, a, b):
    """Priority first; shapes of equal priority combine."""
    friction, laws, contact = shapes.shape_friction, shapes.shape_law, shapes.shape_contact
    # contact pushes below the sum of margins less the sum of gaps
    margin = contact[a, 0] + contact[b, 0] - (contact[a, 1] + contact[b, 1])
    winner = a
    if shapes.shape_priority[b] > shapes.shape_priority[a]:
        winner = b
    law = load_law(laws, winner)
    condim = shapes.shape_condim[winner]
    s, t, r = friction[winner, 0], friction[winner, 1], friction[winner, 2]
    if shapes.shape_priority[a] == shapes.shape_priority[b]:
        rule = min(shapes.shape_rule[a, 0], shapes.shape_rule[b, 0])
        condim = max(shapes.shape_condim[a], shapes.shape_condim[b])
        s = _combined(rule, friction[a, 0], friction[b, 0])
        t = _combined(rule, friction[a, 1], friction[b, 1])
        r = _combined(rule, friction[a, 2], friction[b, 2])
        law_a, law_b = load_law(laws, a), load_law(laws, b)
        rule = min(shapes.shape_rule[a, 1], shapes.shape_rule[b, 1])
        law = with_bounciness(
            mixed_law(law_a, law_b, contact[a, 2], contact[b, 2]),
            _combined(rule, law_a.bounciness, law_b.bounciness),
        )
    # worlds with friction of their own agree on whether there is any
    spins = condim > 3 and shared(t) >= LEAST_FRICTION
    rolls = condim > 4 and shared(r) >= LEAST_FRICTION
    if shared(s) < LEAST_FRICTION and not spins and not rolls:
        # no friction to speak of: rows that could not push would only cost
        condim = 1
    return CombinedMaterial(
        condim,
        maximum(s, LEAST_FRICTION),
        maximum(t, LEAST_FRICTION),
        maximum(r, LEAST_FRICTION),
        law,
        margin,
        -1,
    )


@inline
def first_tangent(contacts, a, b, normal):
    """Where the first tangent points before it is made square to the normal.

    Capsules on planes take their own axis, so that the edges of a linearised cone turn with them.
    """
    zero, one = constant(0.0, normal.x), constant(1.0, normal.x)
    steep = absolute(normal.y) > 0.5
    helper = Vec3(zero, where(steep, zero, one), where(steep, one, zero))
    kind_a, kind_b = contacts.shape_type[a], contacts.shape_type[b]
    lying = -1
    if kind_a == PLANE and kind_b == CAPSULE:
        lying = b
    if kind_b == PLANE and kind_a == CAPSULE:
        lying = a
    if lying >= 0:
        X = contacts.shape_X_W
        axis = Vec3(X[lying, 5], X[lying, 8], X[lying, 11])
        along = axis.x * normal.x + axis.y * normal.y + axis.z * normal.z
        upright = _UPRIGHT_SINGLE if is_single(along) else _UPRIGHT
        helper = select(along * along < upright, axis, helper)
    return helper


@inline
def set_frame(x, helper, k, frame_out):
    """Axes of a contact in rows: normal, then two tangents."""
    s = helper.x * x.x + helper.y * x.y + helper.z * x.z
    y = Vec3(helper.x - s * x.x, helper.y - s * x.y, helper.z - s * x.z)
    n = 1.0 / sqrt(y.x * y.x + y.y * y.y + y.z * y.z)
    y = Vec3(y.x * n, y.y * n, y.z * n)
    frame_out[k, 0], frame_out[k, 1], frame_out[k, 2] = x.x, x.y, x.z
    frame_out[k, 3], frame_out[k, 4], frame_out[k, 5] = y.x, y.y, y.z
    frame_out[k, 6] = x.y * y.z - x.z * y.y
    frame_out[k, 7] = x.z * y.x - x.x * y.z
    frame_out[k, 8] = x.x * y.y - x.y * y.x


@inline
def _friction_of(met, own, j):
    """Coefficient of friction direction `j`, 1 to 5; `own` are those of pairs, which differ by direction."""
    if met.pair >= 0:
        return maximum(own[met.pair, j - 1], LEAST_FRICTION)
    mu = met.sliding
    if j == 3:
        mu = met.spinning
    if j > 3:
        mu = met.rolling
    return mu


class Moved(NamedTuple):
    """Velocities by columns, and which columns the bodies of a contact have."""

    v: Any
    first: Any
    end: Any


@inline
def _speed(base, j, moved):
    """How fast the contact moves along row `j` of its Jacobian."""
    return part_velocity(base, j, moved.v, moved.first, moved.end)


@inline
def _cone(rows, notes, met, shapes, base, moved, first, u, impact, weights, option):
    """An elliptic cone: normal, then friction directions that share its regularizer."""
    h, dim, share = option[STEP], met.condim, option[FRICTION_SHARE]
    normal = contact_soft_row(met.law, impact, u, weights[0], h, option[SAFE] != 0.0)
    R1 = elliptic_first_regularizer(normal.friction_R, option[RATIO])
    damping = normal.friction_damping
    if met.pair >= 0:
        own = load_law(shapes.pair_friction_law, met.pair)
        damping = contact_soft_row(own, impact, u, weights[0], h, option[SAFE] != 0.0).friction_damping
    for j in range(dim):
        k = first + j
        copy_row(base, j, rows.J, k)
        rows.kind[k] = CONE
        rows.dim[k] = dim if j == 0 else 0
        notes.row_residual[k] = impact.r if j == 0 else constant(0.0, impact.r)
        if j == 0:
            rows.aref[k], rows.D[k] = normal.aref, 1.0 / normal.R
            rows.bound[k] = share * regularized_friction(met.sliding, R1, normal.R)
            notes.row_impact[k] = impact.wanted + impact.before
        else:
            mu, slip = _friction_of(met, shapes.pair_friction, j), _speed(base, j, moved)
            R = R1 if j == 1 else elliptic_other_regularizer(R1, met.sliding, mu)
            rows.aref[k], rows.D[k] = -damping * slip, 1.0 / R
            rows.bound[k] = share * mu
            notes.row_impact[k] = (2.0 - h * damping) * slip


@inline
def _pyramid(rows, notes, met, shapes, base, moved, first, u, impact, weights, option):
    """Edges normal +- mu tangent of the linearised cone of the impedance model, all with one regularizer."""
    h, dim = option[STEP], met.condim
    mu = _friction_of(met, shapes.pair_friction, 1)
    # a spring along the normal, damped along the tangents too
    weight = weights[0] * (1.0 + mu * mu)
    normal = soft_row(met.law, impact.r, u, weight, h, option[SAFE] != 0.0)
    D = 1.0 / pyramid_regularizer(normal.R, met.sliding, option[RATIO])
    for j in range(1, dim):
        mu = _friction_of(met, shapes.pair_friction, j)
        slip = _speed(base, j, moved)
        brake = normal.friction_damping * mu * slip
        up = first + 2 * (j - 1)
        spread_rows(base, 0, j, mu, rows.J, up)
        for side in range(2):
            k = up + side
            rows.kind[k], rows.dim[k] = UNILATERAL, 0
            rows.aref[k] = normal.aref - brake if side == 0 else normal.aref + brake
            rows.D[k], rows.bound[k] = D, 0.0
            notes.row_residual[k] = impact.r


@kernel
def contact_rows(contacts, bodies, shapes, island, moving, rows_out, notes_out, frames_out):
    """Rows of every contact of the island that pushes. Rows past the capacity are counted, not written.

    `contacts` has those of the collision tables, `bodies` the trees, `moving`
    velocities by columns of the island and accelerations without contacts by degrees of freedom.
    """
    v, a_smooth = moving.island_v, moving.a
    counter, option = notes_out.counter, bodies.option
    base, frame, contact_row = frames_out.base, frames_out.frame, frames_out.contact_row
    n, dropped = counter[ROWS], 0
    last_a, last_b = 0, 0
    met = combined_material(shapes, last_a, last_b)

    for i in range(counter[CONTACT_FIRST], counter[CONTACT_END]):
        k = island.contact_order[i]
        contact_row[k, 0], contact_row[k, 1] = -1, 0
        a, b = contacts.contact_id[k, 0], contacts.contact_id[k, 1]
        # points of one pair follow each other
        if a != last_a or b != last_b:
            met = combined_material(shapes, a, b)
            last_a, last_b = a, b
        # the error of the row: distance above what contact keeps
        r = -contacts.contact[k, 6] - met.margin
        counts = r < (0.0 if met.law.kind != HARD else _SEEN)
        if not any_of(counts):
            continue
        # a world without this contact gets numbers that do no harm
        none = constant(0.0, r)
        r = where(counts, r, none)
        condim = met.condim
        # a pyramid linearises the cone of the impedance model; all other laws keep the round cone, because
        # the normal force of a pyramid depends on how many of its edges push
        elliptic = option[ELLIPTIC] != 0.0 or met.law.kind != IMPEDANCE
        count = 1
        if condim > 1:
            count = condim if elliptic else 2 * (condim - 1)
        if n + count > rows_out.kind.shape[0]:
            dropped += 1
            continue
        normal = Vec3(contacts.contact[k, 3], contacts.contact[k, 4], contacts.contact[k, 5])
        set_frame(normal, first_tangent(contacts, a, b, normal), k, frame)
        axes = matrix(pointer(frame[k]), 0, 3, 3)
        point = Vec3(contacts.contact[k, 0], contacts.contact[k, 1], contacts.contact[k, 2])
        body_a, body_b = contacts.contact_id[k, 2], contacts.contact_id[k, 3]
        clear_rows(base, 0, condim)
        link_a, link_b = bodies.body_link[body_a], bodies.body_link[body_b]
        low_a, high_a = add_point_motion(bodies, link_a, point, axes, condim, -1.0, base, 0)
        low_b, high_b = add_point_motion(bodies, link_b, point, axes, condim, 1.0, base, 0)
        moved = Moved(v, min(low_a, low_b), max(high_a, high_b))
        u, solve_pass, h = _speed(base, 0, moved), option[SOLVE_PASS], option[STEP]
        free = none
        if met.law.bounciness > 0.0 and solve_pass != BOTH:
            for d in range(v.shape[0]):
                free = free + base[0, d] * a_smooth[island.column_dof[d]]
        ahead = solve_pass != BOTH and (link_a == 0 or link_b == 0)
        counts = counts & touches(met.law, r, u, free, h, option[MEAN_MOTION], ahead)
        if not any_of(counts):
            continue
        active = where(counts, constant(1.0, r), none)
        weights = pair_weights(bodies.body_invweight, body_a, body_b)
        moment = Moment(h, solve_pass, option[SHARE], option[RECOVERY_SPEED], option[MEAN_MOTION])
        impact = impact_of(met.law, r, u, free, weights[0], moment)

        if condim == 1:
            copy_row(base, 0, rows_out.J, n)
            made = contact_soft_row(met.law, impact, u, weights[0], h, option[SAFE] != 0.0)
            rows_out.aref[n], rows_out.D[n], rows_out.bound[n] = made.aref, 1.0 / made.R, 0.0
            rows_out.kind[n], rows_out.dim[n] = UNILATERAL, 0
            notes_out.row_residual[n] = impact.r
            notes_out.row_impact[n] = impact.wanted + impact.before
        elif elliptic:
            _cone(rows_out, notes_out, met, shapes, base, moved, n, u, impact, weights, option)
        else:
            _pyramid(rows_out, notes_out, met, shapes, base, moved, n, u, impact, weights, option)
        contact_row[k, 0], contact_row[k, 1] = n, condim
        frames_out.de_saxce[k] = NONE if condim == 1 or met.law.kind == IMPEDANCE else 0.0
        frames_out.bounce[k] = impact.bounce if met.law.kind == HARD else constant(NONE, r)
        if any_of(impact.bounce > SLOWEST * option[GRAVITY] * h):
            counter[BOUNCED] |= BOUNCES
        if impact.parts != 0:
            counter[BOUNCED] |= SPLIT
        for row in range(n, n + count):
            notes_out.row_note[row, 0], notes_out.row_note[row, 1] = OF_CONTACT, k
            notes_out.row_active[row] = active
            notes_out.row_first[row] = moved.first - moved.first % PACK
            notes_out.row_end[row] = (moved.end + PACK - 1) // PACK * PACK
        for j in range(5):
            frames_out.mu[k, j] = _friction_of(met, shapes.pair_friction, j + 1)
        frames_out.mu[k, 5] = impact.recovery
        counter[IS_SPLIT] |= impact.parts
        n += count
    counter[ROWS] = n
    counter[DROPPED] += dropped
