# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the forces of contacts by displacements and velocities of the bodies that touch.

A contact of bodies A and B depends on coordinates in three ways, and each is differentiated where it is
small. Its generalized force is Q = sum_k J_k^T f_k, with f_k a function of the slacks J_k a - aref_k.

Geometry. Points, normals and distances depend on the poses of A and B alone. Their rows come in dual numbers
whose first six directions are unit displacements of one of the two bodies, with the columns S of its joints
held, so Q has derivatives by six numbers in the place of all coordinates. Displacements of the body by
coordinates, T_i, are its columns S_i moved to its origin: dQ/dq_i = (dQ/dbody) T_i.

Motion. With s_j the speed of the contact along its axes (normal, tangents, then rotations) and K the matrix
of second derivatives of its cost by accelerations along them, forces by axes change by -K ds. Laws of the
impedance model want aref_j = -b_j s_j + g(distance), so that velocities count as b_j times accelerations:
with the wrench F_j of a unit force along axis j, and V(x) the motion of a link by x in the place of v,

    ds_j / dq_i = F_j . (D_i V(a) + b_j D_i V(v)),   D_i V(x) = S_i x V(x) + V_c(x) x S_i,
    ds_j / dv_i = b_j F_j . S_i.

Springs and hard contacts without restitution want the speed at the end of the step: b_j = 1 / h. They obey
Coulomb's law, whose normal slack is s_0 + |mu s_t| (`row_derivatives.py`), so that forces change by
-K (ds + e_0 (d|mu s_t| / ds_t) ds_t): the matrix in the place of K, and the Hessian, are not symmetric.

Columns. The wrench of the contact is held while its columns turn; wrenches of all contacts are summed by link
(`subtract_held_forces` of `rnea_derivatives.py`).
"""

from __future__ import annotations

from typing import Any

from worldline._src.duals.kind import DOUBLES, value_of
from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.cone import cone_measures, sliding_hessian
from worldline._src.kernels.constraints.contact.coulomb import slip_norm
from worldline._src.kernels.constraints.contact.rows import combined_material
from worldline._src.kernels.constraints.laws import law_spring, load_law
from worldline._src.kernels.constraints.rows import CONE
from worldline._src.kernels.constraints.tables import CONTACT_END, CONTACT_FIRST, IMPEDANCE
from worldline._src.kinds import float64
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import pointer_as, vector
from worldline._src.scalar.ops import constant
from worldline._src.spatial.motion import (
    Force,
    add_motion,
    add_to_force,
    cross_motion,
    load_motion,
    velocity_at,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, scale, sub

AXES = 6
"""Axes of a contact: normal and two tangents, then rotations about them."""
ALL_BODIES = -1
"""In the place of a bit: every body that can move is displaced."""


class Displaced(NamedTuple):
    """Which bodies are displaced: those whose number has a bit, or has it not; see `is_displaced`.

    counts: whether contacts with bodies that cannot move are differentiated with these.
    """

    bit: Any
    without: Any
    counts: Any


class Touching(NamedTuple):
    """Trees as contacts see them, in plain numbers.

    link_V, link_Va: motions of links by velocities and by accelerations; rate, rate_a: V_c x S of columns.
    body_X: poses of bodies in the collision tables.
    """

    dof_parent: Any
    link_last: Any
    link_root: Any
    origin: Any
    S: Any
    link_V: Any
    rate: Any
    link_Va: Any
    rate_a: Any
    body_link: Any
    body_X: Any


class ContactLaws(NamedTuple):
    """What the damping of contacts comes from: materials, time step [s], whether short times are kept out."""

    shapes: Any
    h: Any
    safe: Any


class SolvedRows(NamedTuple):
    """Rows of an island at its accelerations: slacks and forces in dual numbers, weights in plain ones."""

    slack: Any
    force: Any
    weight: Any


class ContactForm(NamedTuple):
    """What contacts are differentiated with."""

    touching: Any
    laws: Any
    displaced: Any


class ContactScratch(NamedTuple):
    """Of one contact, by the columns of `dofs`: rows by axes, their changes, products; displacements; changes
    of forces by axes through geometry."""

    dofs: Any
    base: Any
    change: Any
    product: Any
    twist: Any
    push: Any
    K: Any
    axes: Any


class ContactSums(NamedTuple):
    """What contacts add to: derivatives of residuals by q and v, residuals, wrenches of links, Hessian.

    whole: whether both triangles of the Hessian are added to.
    """

    dq: Any
    dv: Any
    residual: Any
    link_W: Any
    H: Any
    whole: Any


@inline
def is_displaced(displaced, body, link):
    """Whether a body is displaced along the six directions."""
    if link == 0:
        return False
    if displaced.bit == ALL_BODIES:
        return True
    has = (body >> displaced.bit) & 1
    return has != displaced.without


@inline
def parting_bit(a, b):
    """The lowest bit in which two numbers differ."""
    bit = 0
    while ((a >> bit) & 1) == ((b >> bit) & 1):
        bit += 1
    return bit


@inline
def gather_columns(touching, a, b, dofs_out):
    """Degrees of freedom that move one of two links, each once; returns how many."""
    count, d = 0, -1
    if a > 0:
        d = touching.link_last[a]
        while d >= 0:
            dofs_out[count] = d
            count += 1
            d = touching.dof_parent[d]
    first = count
    if b > 0:
        d = touching.link_last[b]
        while d >= 0:
            known = False
            for t in range(first):
                known = known or dofs_out[t] == d
            if known:
                break
            dofs_out[count] = d
            count += 1
            d = touching.dof_parent[d]
    return count


@inline
def _stiffness(rows, first, condim, mu, slack, weight, cone_C, K_out):
    """Second derivatives of the cost of a contact by accelerations along its axes."""
    for i in range(condim):
        for j in range(condim):
            K_out[i, j] = 0.0
    if rows.kind[first] == CONE:
        if weight[first] > 0.0:
            for j in range(condim):
                K_out[j, j] = weight[first + j]
        elif weight[first] < 0.0:
            _, N, T = cone_measures(rows, first, slack)
            sliding_hessian(rows, first, slack, N, T, cone_C)
            for i in range(condim):
                for j in range(condim):
                    K_out[i, j] = value_of(cone_C[i, j])
    elif condim == 1:
        K_out[0, 0] = weight[first]
    else:
        # edges normal +- mu tangent
        for j in range(1, condim):
            m, up = value_of(mu[j - 1]), first + 2 * (j - 1)
            both, between = weight[up] + weight[up + 1], weight[up] - weight[up + 1]
            K_out[0, 0] += both
            K_out[0, j] = m * between
            K_out[j, 0] = K_out[0, j]
            K_out[j, j] = m * m * both


@inline
def _add_slip(rows, first, condim, slack, weight, K_io):
    """K (1 + e_0 d|mu s_t| / ds_t), for a contact that obeys Coulomb's law and slides at all."""
    slip = value_of(slip_norm(rows, first, condim, slack))
    if slip > 0.0 and weight[first] != 0.0:
        for j in range(1, condim):
            mu = value_of(rows.bound[first + j])
            pull = mu * mu * value_of(slack[first + j]) / slip
            for i in range(condim):
                K_io[i, j] += K_io[i, 0] * pull


@inline
def _axis_force(rows, first, condim, mu, force, j):
    """Force of a contact along its axis `j`."""
    if rows.kind[first] == CONE or condim == 1:
        return value_of(force[first + j])
    total = 0.0
    for i in range(1, condim):
        up = first + 2 * (i - 1)
        if j == 0:
            total += value_of(force[up]) + value_of(force[up + 1])
        elif i == j:
            total += value_of(mu[j - 1]) * (value_of(force[up]) - value_of(force[up + 1]))
    return total


@inline
def law_damping(law, h, safe):
    """b of a law: how much of its speed a row is to lose, per second."""
    b = 1.0 / h
    if law.kind == IMPEDANCE:
        b = law_spring(law, h, safe).damping
    return b


@inline
def _dampings(laws, a, b, is_cone):
    """b of the normal and of the other axes of a contact of two shapes."""
    met = combined_material(laws.shapes, a, b)
    normal = law_damping(met.law, laws.h, laws.safe)
    other = normal
    if is_cone and met.pair >= 0:
        law = load_law(laws.shapes.pair_friction_law, met.pair)
        other = law_damping(law, laws.h, laws.safe)
    return normal, other


@inline
def _arm(touching, link, point):
    """A point of the world relative to the reference point of the tree of a link."""
    return sub(point, load_vec3(touching.origin, touching.link_root[link]))


@inline
def _turn(touching, links, rates, link, d):
    """How the motion of a link by x changes with q_d: S_d x V + V_c x S_d."""
    S = load_motion(touching.S, d)
    return add_motion(cross_motion(S, load_motion(links, link)), load_motion(rates, d))


@inline
def _add_side(touching, link, sign, point, axes, condim, dampings, count, scratch):
    """Rows by axes of one body of a contact, and their changes by displacements."""
    if link == 0:
        return
    arm = _arm(touching, link, point)
    for t in range(count):
        d = scratch.dofs[t]
        # columns of the other body alone are no ancestors of this one
        e = touching.link_last[link]
        while e > d:
            e = touching.dof_parent[e]
        if e != d:
            continue
        S = load_motion(touching.S, d)
        by_a = _turn(touching, touching.link_Va, touching.rate_a, link, d)
        by_v = _turn(touching, touching.link_V, touching.rate, link, d)
        moved, moved_a, moved_v = velocity_at(S, arm), velocity_at(by_a, arm), velocity_at(by_v, arm)
        for j in range(condim):
            axis = load_vec3(axes, j % 3)
            b = dampings[0] if j == 0 else dampings[1]
            if j < 3:
                scratch.base[j, t] += sign * dot(axis, moved)
                scratch.change[j, t] += sign * (dot(axis, moved_a) + b * dot(axis, moved_v))
            else:
                scratch.base[j, t] += sign * dot(axis, S.ang)
                scratch.change[j, t] += sign * (dot(axis, by_a.ang) + b * dot(axis, by_v.ang))


@inline
def _hold_wrench(touching, link, sign, point, force, moment, link_W_io):
    """Add the wrench of a contact to that of a link."""
    if link > 0:
        arm = _arm(touching, link, point)
        W = Force(scale(add(moment, cross(arm, force)), sign), scale(force, sign))
        add_to_force(link_W_io, link, W)


@inline
def _multiply(K, condim, x, count, y_out):
    """y = K x by columns."""
    for i in range(condim):
        for t in range(count):
            y_out[i, t] = 0.0
        for j in range(condim):
            k = K[i, j]
            if k != 0.0:
                for t in range(count):
                    y_out[i, t] += k * x[j, t]


@inline
def _add_to_dofs(scratch, condim, count, out_io):
    """Add base^T product to the rows and columns of the degrees of freedom of a contact."""
    dofs, base, product = scratch.dofs, scratch.base, scratch.product
    for s in range(count):
        row = dofs[s]
        for j in range(condim):
            x = base[j, s]
            if x != 0.0:
                for t in range(count):
                    out_io[row, dofs[t]] += x * product[j, t]


@inline
def _add_motion_terms(scratch, condim, count, dampings, column, by_axes, sums_io):
    """base^T K change, base^T K b base and base^T K base of one contact."""
    dofs, base, change, product = scratch.dofs, scratch.base, scratch.change, scratch.product
    # dr/dq += base^T K ds/dq
    _multiply(scratch.K, condim, change, count, product)
    if by_axes:
        _take_off_pushes(scratch, condim, count)
    _add_to_dofs(scratch, condim, count, sums_io.dq)
    # dr/dv += base^T K b base, with the changes of speeds in the place of those of accelerations
    for j in range(condim):
        b = dampings[0] if j == 0 else dampings[1]
        for t in range(count):
            change[j, t] = b * base[j, t]
    _multiply(scratch.K, condim, change, count, product)
    _add_to_dofs(scratch, condim, count, sums_io.dv)
    # H += base^T K base
    _multiply(scratch.K, condim, base, count, product)
    for s in range(count):
        row = column[dofs[s]]
        for j in range(condim):
            x = base[j, s]
            if x != 0.0:
                for t in range(count):
                    if sums_io.whole or column[dofs[t]] <= row:
                        sums_io.H[row, column[dofs[t]]] += x * product[j, t]


@inline
def _take_off_pushes(scratch, condim, count):
    """K ds/dq - df/dq: stiff forces change little, but much by geometry and as much back by motion."""
    for j in range(condim):
        for t in range(count):
            scratch.product[j, t] -= scratch.push[j, t]


@inline
def _push_by_geometry(touching, link, first, condim, count, force, n, scratch):
    """Changes of forces by axes as the body is displaced by the `n` columns of its link."""
    slopes = vector(pointer_as(force, float64), 0, DOUBLES * (first + condim))
    for j in range(condim):
        for t in range(count):
            scratch.push[j, t] = 0.0
    d = touching.link_last[link]
    for i in range(n):
        t = 0
        while scratch.dofs[t] != d:
            t += 1
        for j in range(condim):
            at = DOUBLES * (first + j) + 1
            for k in range(AXES):
                scratch.push[j, t] += slopes[at + k] * scratch.twist[k, i]
        d = touching.dof_parent[d]


@inline
def _add_geometry(
    rows, first, end, force, column, touching, body, link, scratch, count, vectors, by_axes, dq_io
):
    """dr/dq -= (dQ/dbody) T of the body that is displaced.

    by_axes: Q changes by its columns alone, and changes of forces are left in scratch.push.
    """
    dofs, twist, Q = scratch.dofs, scratch.twist, vectors[0]
    X = touching.body_X
    arm = _arm(touching, link, Vec3(X[body, 0], X[body, 1], X[body, 2]))
    for t in range(count):
        total, at = constant(0.0, force[first]), column[dofs[t]]
        for k in range(first, end):
            if by_axes:
                total = total + rows.J[k, at] * value_of(force[k])
            else:
                total = total + rows.J[k, at] * force[k]
        Q[t] = total
    slopes = vector(pointer_as(Q, float64), 0, DOUBLES * count)
    d, n = touching.link_last[link], 0
    while d >= 0:
        S = load_motion(touching.S, d)
        p = velocity_at(S, arm)
        twist[0, n], twist[1, n], twist[2, n] = S.ang.x, S.ang.y, S.ang.z
        twist[3, n], twist[4, n], twist[5, n] = p.x, p.y, p.z
        n += 1
        d = touching.dof_parent[d]
    for t in range(count):
        row, at = dofs[t], DOUBLES * t + 1
        d = touching.link_last[link]
        for i in range(n):
            total = 0.0
            for k in range(AXES):
                total += slopes[at + k] * twist[k, i]
            dq_io[row, d] -= total
            d = touching.dof_parent[d]
    if by_axes:
        _push_by_geometry(touching, link, first, end - first, count, force, n, scratch)


@kernel
def linearize_contacts(form, found, island, solved, work, scratch, sums_io):
    """Add what the contacts of an island do to the derivatives of its residuals; see the module.

    found: contacts of the collision tables; island: members, rows, notes, frames. Each contact adds its
    motion when the first of its bodies is displaced, its geometry when either is. O(contacts depth^2).
    """
    touching, laws, displaced = form.touching, form.laws, form.displaced
    slack, force, weight = solved.slack, solved.force, solved.weight
    members, rows, frames, vectors = island.members, island.rows, island.frames, work.vectors
    column = members.dof_column
    for i in range(members.counter[CONTACT_FIRST], members.counter[CONTACT_END]):
        k = members.contact_order[i]
        first, condim = frames.contact_row[k, 0], frames.contact_row[k, 1]
        if first < 0:
            continue
        body_a, body_b = found.contact_id[k, 2], found.contact_id[k, 3]
        a, b = touching.body_link[body_a], touching.body_link[body_b]
        moves_a, moves_b = is_displaced(displaced, body_a, a), is_displaced(displaced, body_b, b)
        counts = displaced.counts
        if a > 0 and b > 0:
            counts = displaced.bit == parting_bit(body_a, body_b)
        if moves_a == moves_b or not counts:
            continue
        is_cone = rows.kind[first] == CONE
        end = first + (condim if is_cone or condim == 1 else 2 * (condim - 1))
        acts = False
        for r in range(first, end):
            acts = acts or weight[r] != 0.0
        if not acts:
            continue
        count = gather_columns(touching, a, b, scratch.dofs)
        # rows of a pyramid are no axes
        by_axes = sums_io.whole and (is_cone or condim == 1)
        body, link = (body_a, a) if moves_a else (body_b, b)
        _add_geometry(
            rows,
            first,
            end,
            force,
            column,
            touching,
            body,
            link,
            scratch,
            count,
            vectors,
            by_axes,
            sums_io.dq,
        )
        if not moves_a and a > 0:
            if by_axes:
                for j in range(condim):
                    for t in range(count):
                        scratch.base[j, t] = value_of(rows.J[first + j, column[scratch.dofs[t]]])
                        scratch.product[j, t] = -scratch.push[j, t]
                _add_to_dofs(scratch, condim, count, sums_io.dq)
            continue

        # values of the axes, of the point and of the force
        axes = scratch.axes
        for j in range(9):
            axes[j // 3, j % 3] = value_of(frames.frame[k, j])
        at = found.contact[k]
        point = Vec3(value_of(at[0]), value_of(at[1]), value_of(at[2]))
        mu = frames.mu[k]
        dampings = _dampings(laws, found.contact_id[k, 0], found.contact_id[k, 1], is_cone)
        _stiffness(rows, first, condim, mu, slack, weight, work.cone_C, scratch.K)
        if frames.de_saxce[k] >= 0.0:
            _add_slip(rows, first, condim, slack, weight, scratch.K)
        for j in range(condim):
            for t in range(count):
                scratch.base[j, t], scratch.change[j, t] = 0.0, 0.0
        _add_side(touching, a, -1.0, point, axes, condim, dampings, count, scratch)
        _add_side(touching, b, 1.0, point, axes, condim, dampings, count, scratch)

        # the residual less J^T f, and the wrench on both links
        push = Vec3(0.0, 0.0, 0.0)
        moment = Vec3(0.0, 0.0, 0.0)
        for j in range(condim):
            f, axis = _axis_force(rows, first, condim, mu, force, j), load_vec3(axes, j % 3)
            if j < 3:
                push = add(push, scale(axis, f))
            else:
                moment = add(moment, scale(axis, f))
            for t in range(count):
                sums_io.residual[scratch.dofs[t]] -= scratch.base[j, t] * f
        _hold_wrench(touching, a, -1.0, point, push, moment, sums_io.link_W)
        _hold_wrench(touching, b, 1.0, point, push, moment, sums_io.link_W)
        _add_motion_terms(scratch, condim, count, dampings, column, by_axes, sums_io)
