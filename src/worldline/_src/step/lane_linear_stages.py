# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of analytic derivatives of steps of worlds in lanes; see `lane_derivatives.py`.

They run after the evaluation of a step in the fixed layout, on its arenas:

    seed_direction       values of the step beside derivatives along one direction          lanes
    (stages of forces and rows, along that direction)                                       duals in lanes
    take_direction       derivatives of tau and of the numbers of rows                      lanes
    linearize_motion     RNEA by formulas, mass matrix                                      lanes
    linearize_lane_rows  slacks, forces and weights of rows; those of joints                lanes
    linearize_touching   contacts, whose geometry `displaced_pair` has in dual numbers      lanes
    factor_lanes         factors of the Hessian and of M + h D                              lanes
    lane_columns         derivatives of the state after the step along columns              lanes
    lane_gradient        the gradient by what the step began with                           lanes

Numbers along a direction stand behind their values, so an arena of dual numbers is read as one of lanes with
twice as many numbers. Worlds of a group share the rows that any of them needs; in the others they have no
weight.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, stage
from worldline._src.kernels import rnea, velocities
from worldline._src.kernels import rnea_derivatives as r
from worldline._src.kernels.constraints import lane_contact_derivatives as contacts
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact.rows import combined_material, first_tangent, set_frame
from worldline._src.kernels.constraints.damping import Damped, damping_of
from worldline._src.kernels.constraints.laws import law_spring
from worldline._src.kernels.constraints.rows import FRICTION
from worldline._src.kernels.inertial_forces import inertial_forces
from worldline._src.kernels.links import center_of_mass
from worldline._src.kernels.mass_columns import solve_pattern
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS, contacts_of_pair
from worldline._src.kernels.turns import add_turned, turn_of
from worldline._src.kinds import int64
from worldline._src.model import views
from worldline._src.model.fields import ENTRY
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar import memory
from worldline._src.scalar.ops import absolute, any_of, constant, maximum, minimum, sqrt, where
from worldline._src.spatial import motion as spatial_motion
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, scale, sub
from worldline._src.step import lane_linear as linear
from worldline._src.step.analytic_program import BY_BODY, BY_CONTROL, BY_FORCE, BY_Q, BY_V

_NV, _NLINK, _NBODY = ENTRY["nv"], ENTRY["nlink"], ENTRY["nbody"]
_AT_Q, _AT_V, _AT_TAU, _AT_FORCE = ENTRY["q"], ENTRY["v"], ENTRY["tau"], ENTRY["force"]
_AT_Q_TARGET, _AT_V_TARGET = ENTRY["q_target"], ENTRY["v_target"]
_AT_S, _AT_ORIGIN = ENTRY["dof_S"], ENTRY["link_origin"]
_AT_SHAPE, _AT_CONTACT = collision.ENTRY["shape_X_W"], collision.ENTRY["contact"]
_AT_CONTROL, _AT_AREF, _AT_D = (t.TABLE.entry[name] for name in ("control", "aref", "D"))


class _Rates(NamedTuple):
    v: Any
    a: Any


@inline
def _clear(matrix_out, like):
    for i in range(matrix_out.shape[0]):
        for j in range(matrix_out.shape[1]):
            matrix_out[i, j] = constant(0.0, like)


# ---- directions


@inline
def _copy_duals(values, duals, at, slope):
    """Values of the step to an arena of dual numbers, all with one derivative."""
    for k in range(values.shape[0]):
        duals[2 * (at + k)], duals[2 * (at + k) + 1] = values[k], constant(slope, values[k])


@inline
def _copy_matrix(values, duals, at):
    """The same of a matrix of constants."""
    n = values.shape[1]
    for i in range(values.shape[0]):
        for k in range(n):
            to = 2 * (at + n * i + k)
            duals[to], duals[to + 1] = values[i, k], constant(0.0, values[i, k])


@stage
def seed_direction(m, c, args, d):
    """The state, commands and contacts of the step -> the same in dual numbers, along direction args[0]."""
    tm, along = memory.address_as(m[linear.TREE_M], int64), args[0]
    operand, control = views.operand_view(tm, c, d), views.control_view(tm, c, d)
    nq = operand.q.shape[0]
    trees = memory.vector(memory.address_like(m[linear.TREE_DUALS], d), 0, m[linear.DUALS])
    is_plain = memory.vector(memory.address_as(m[linear.IS_PLAIN], int64), 0, nq)
    for k in range(nq):
        at = 2 * (tm[_AT_Q] + k)
        slope = 1.0 if along == linear.Q and is_plain[k] == 1 else 0.0
        trees[at], trees[at + 1] = operand.q[k], constant(slope, operand.q[k])
    _copy_duals(operand.v, trees, tm[_AT_V], 1.0 if along == linear.V else 0.0)
    _copy_duals(control.force, trees, tm[_AT_FORCE], 1.0 if along == linear.FORCE else 0.0)
    _copy_duals(control.q_target, trees, tm[_AT_Q_TARGET], 0.0)
    _copy_duals(control.v_target, trees, tm[_AT_V_TARGET], 0.0)
    if m[linear.ROW_M] == 0:
        return
    rm, rc, ra, rd = linear.rows_of(m, d)
    values = t.actuator_view(rm, rc, ra, rd).control
    rows = memory.vector(memory.address_like(m[linear.ROW_DUALS], d), 0, m[linear.DUALS])
    actuators = memory.matrix(memory.address_as(m[linear.ACTUATORS], int64), 0, m[linear.ACTUATOR_COUNT], 3)
    at = rm[_AT_CONTROL]
    for u in range(actuators.shape[0]):
        slope = 1.0 if along == linear.CONTROL + actuators[u, 1] else 0.0
        rows[2 * (at + u)], rows[2 * (at + u) + 1] = values[u], constant(slope, values[u])
    if along == linear.Q and m[linear.CONTACT_M] != 0:
        _seed_contacts(m, c, d, trees, rm, rc, ra, rd)


@inline
def _seed_contacts(m, c, d, trees, rm, rc, ra, rd):
    """Contacts whose distances change, and what their rows are made of."""
    tm, pos = (
        memory.address_as(m[linear.TREE_M], int64),
        views.position_view(memory.address_as(m[linear.TREE_M], int64), c, d),
    )
    _copy_matrix(pos.dof_S, trees, tm[_AT_S])
    _copy_matrix(pos.link_origin, trees, tm[_AT_ORIGIN])
    hm, hc, ha, hd = linear.collision_of(m, d)
    found, placed = collision.contact_view(hm, hc, ha, hd).contact, collision.shape_view(hm, hc, ha, hd)
    duals = memory.vector(memory.address_like(m[linear.CONTACT_DUALS], d), 0, m[linear.DUALS])
    _copy_matrix(placed.shape_X_W, duals, hm[_AT_SHAPE])
    contact_row, at = t.contact_frame_view(rm, rc, ra, rd).contact_row, hm[_AT_CONTACT]
    for k in range(found.shape[0]):
        for j in range(7 if contact_row[k, 0] >= 0 else 0):
            to = 2 * (at + 7 * k + j)
            duals[to], duals[to + 1] = found[k, j], constant(0.0, found[k, j])
        # r = -depth - margin
        to = 2 * (at + 7 * k + 6)
        duals[to], duals[to + 1] = found[k, 6], constant(-1.0, found[k, 6])


@stage
def take_direction(m, c, args, d):
    """tau and rows in dual numbers along direction args[0] -> their derivatives."""
    tm, along, lin = memory.address_as(m[linear.TREE_M], int64), args[0], linear.linear_of(m, d)
    tau = views.operand_view(tm, c, d).tau
    nv = tau.shape[0]
    trees = memory.vector(memory.address_like(m[linear.TREE_DUALS], d), 0, m[linear.DUALS])
    at = tm[_AT_TAU]
    for k in range(nv):
        lin.joint[k, 0] = -tau[k]
        lin.joint[k, 1 + along] = -trees[2 * (at + k) + 1]
    if m[linear.ROW_M] == 0 or along > linear.V:
        return
    rm, rc, ra, rd = linear.rows_of(m, d)
    n = t.link_view(rm, rc, ra, rd).counter[t.ROWS]
    rows = memory.vector(memory.address_like(m[linear.ROW_DUALS], d), 0, m[linear.DUALS])
    aref, D = rm[_AT_AREF], rm[_AT_D]
    for k in range(n):
        if along == linear.Q:
            lin.rows[4, k], lin.rows[5, k] = rows[2 * (aref + k) + 1], rows[2 * (D + k) + 1]
        else:
            lin.rows[6, k] = rows[2 * (aref + k) + 1]


# ---- trees


@stage
def linearize_motion(m, c, args, d):
    """poses, velocities, composites, solved a -> RNEA, its derivatives and the mass matrix; held wrenches."""
    tm, lin = memory.address_as(m[linear.TREE_M], int64), linear.linear_of(m, d)
    tree, inertia, pos, vel = (
        views.tree_view(tm, c, d),
        views.inertia_view(tm, c, d),
        views.position_view(tm, c, d),
        views.velocity_view(tm, c, d),
    )
    acc, kind, dof = (
        views.acceleration_view(tm, c, d),
        views.joint_view(tm, c, d).dof_kind,
        views.dof_view(tm, c, d),
    )
    operand = views.operand_view(tm, c, d)
    v, a = operand.v, operand.a
    like = a[0]
    _clear(memory.matrix(memory.address_like(m[linear.NUMBERS], d), 0, 6 * v.shape[0], v.shape[0]), like)
    _clear(lin.link_W, like)
    for j in range(6):
        lin.link_Va[0, j] = constant(0.0, like)
    rnea.no_external_forces(acc.link_F)
    velocities.accelerate_world(views.field_view(tm, c, d).gravity, 1, acc.link_A)
    rnea.rnea(tree, inertia, pos, vel, a, acc, lin.residual)
    work = r.ColumnWork(
        lin.rate, lin.second, lin.both, acc.link_A, lin.B, views.mass_view(tm, c, d).link_crb, acc.link_F
    )
    r.column_motions(tree, kind, inertia, pos, vel, _Rates(v, a), work)
    r.inverse_dynamics_jacobians(dof, kind, inertia, pos, work, r.DynamicsJacobians(lin.dq, lin.dv, lin.M))
    r.carried_motions(tree, pos, a, lin.link_Va, lin.rate_a)
    chain, body = views.chain_view(tm, c, d), views.body_view(tm, c, d)
    _add_body_forces(chain, body, inertia, pos, views.step_view(tm, c, d).body_f, lin)
    for i in range(v.shape[0]):
        for j in range(v.shape[0]):
            lin.H[i, j] = lin.M[i, j]


@inline
def _add_body_forces(chain, body, inertia, pos, body_f, lin):
    """Forces at centres of mass: wrenches that are held, and the change of their arms."""
    for i in range(1, body.link_body.shape[0]):
        b = body.link_body[i]
        f, moment = Vec3(body_f[b, 3], body_f[b, 4], body_f[b, 5]), load_vec3(body_f, b)
        if not any_of(dot(f, f) + dot(moment, moment) > 0.0):
            continue
        arm = center_of_mass(inertia, pos, i)
        W = spatial_motion.Force(add(moment, cross(arm, f)), f)
        spatial_motion.add_to_force(lin.link_W, i, W)
        j = chain.link_last[i]
        while j >= 0:
            # dW/dq_j = (dc/dq_j x f, 0)
            turn = cross(spatial_motion.velocity_at(spatial_motion.load_motion(pos.dof_S, j), arm), f)
            k = chain.link_last[i]
            while k >= 0:
                S = spatial_motion.load_motion(pos.dof_S, k)
                lin.dq[k, j] = lin.dq[k, j] - dot(S.ang, turn)
                k = chain.dof_parent[k]
            S = spatial_motion.load_motion(pos.dof_S, j)
            lin.residual[j] = lin.residual[j] - (dot(S.ang, W.ang) + dot(S.lin, W.lin))
            j = chain.dof_parent[j]


# ---- rows


@stage
def linearize_lane_rows(m, c, args, d):
    """rows, solved a -> slacks, forces and weights; the residual and its derivatives by rows of joints."""
    tm, lin = memory.address_as(m[linear.TREE_M], int64), linear.linear_of(m, d)
    rm, rc, ra, rd = linear.rows_of(m, d)
    rows, notes = t.row_view(rm, rc, ra, rd), t.row_note_view(rm, rc, ra, rd)
    friction, limit = t.friction_view(rm, rc, ra, rd).friction_dof, t.limit_view(rm, rc, ra, rd).limit_dof
    a = views.operand_view(tm, c, d).a
    zero = constant(0.0, a[0])
    for k in range(notes.counter[t.ROWS]):
        slack = -rows.aref[k]
        for j in range(a.shape[0]):
            slack = slack + rows.J[k, j] * a[j]
        active, wanted = notes.row_active[k] > 0.5, -(rows.D[k] * slack)
        if rows.kind[k] == FRICTION:
            on = active & (absolute(wanted) < rows.bound[k])
            force = maximum(minimum(wanted, rows.bound[k]), -rows.bound[k])
            force = where(active, force, zero)
        else:
            on = active & (slack < 0.0)
            force = where(on, wanted, zero)
        # f = D (aref - J a)
        weight = where(on, rows.D[k], zero)
        pushed = where(on, rows.D[k] * lin.rows[4, k] - lin.rows[5, k] * slack, zero)
        lin.rows[0, k], lin.rows[1, k], lin.rows[2, k], lin.rows[3, k] = slack, force, weight, pushed
        for j in range(a.shape[0]):
            # rows of other worlds may have any numbers here
            lin.residual[j] = lin.residual[j] - where(active, rows.J[k, j] * force, zero)
        note, owner = notes.row_note[k, 0], notes.row_note[k, 1]
        if note != t.OF_CONTACT:
            i = friction[owner] if note == t.OF_FRICTION else limit[owner]
            x = rows.J[k, i]
            lin.H[i, i] = lin.H[i, i] + weight * x * x
            lin.dq[i, i] = lin.dq[i, i] - x * pushed
            lin.dv[i, i] = lin.dv[i, i] - x * where(on, weight * lin.rows[6, k], zero)


# ---- contacts


@stage
def displaced_pair(m, c, args, d):
    """Poses of two shapes -> points, depths and axes of contacts of pair args[0], in dual numbers.

    Over the data of the collision tables. args[1]: which contacts, as bits. args[2]: 1 where normals are all.
    """
    hm, ha = memory.address_as(m[linear.CONTACT_M], int64), memory.address_as(m[linear.CONTACT_ARGS], int64)
    shapes, pairs = collision.shape_view(hm, c, ha, d), collision.bucket_view(hm, c, ha, d)
    out = memory.address_like(m[linear.SHAPED], d)
    found = memory.matrix(out, PAIR_CONTACTS * contacts.SLOPES, PAIR_CONTACTS, 8)
    q = args[0]
    contacts_of_pair(shapes, pairs, q, found)
    made = memory.matrix(out, 0, PAIR_CONTACTS, contacts.SLOPES)
    frame = memory.matrix(out, PAIR_CONTACTS * (contacts.SLOPES + 8), 1, 9)
    for k in range(PAIR_CONTACTS):
        if (args[1] >> k) & 1 == 0:
            continue
        made[k, 0], made[k, 1], made[k, 2] = found[k, 0], found[k, 1], found[k, 2]
        made[k, 3] = found[k, 6]
        made[k, 4], made[k, 5], made[k, 6] = found[k, 3], found[k, 4], found[k, 5]
        if args[2] == 1:
            continue
        normal = Vec3(found[k, 3], found[k, 4], found[k, 5])
        tangent = first_tangent(shapes, pairs.pair[q, 0], pairs.pair[q, 1], normal)
        set_frame(normal, tangent, 0, frame)
        for j in range(9):
            made[k, 4 + j] = frame[0, j]


@inline
def _put_pose(X, shape, axis, origin, duals, at):
    """Pose of a shape in dual numbers, along a rotation or translation about a point; held for axis -1."""
    for k in range(12):
        to = 2 * (at + 12 * shape + k)
        duals[to], duals[to + 1] = X[shape, k], constant(0.0, X[shape, k])
    to = 2 * (at + 12 * shape) + 1
    if axis >= 3:
        duals[to + 2 * (axis - 3)] = constant(1.0, X[shape, 0])
    elif axis >= 0:
        # dp = e x (p - o), dR = [e] R by rows
        one, two = (axis + 1) % 3, (axis + 2) % 3
        arm = sub(Vec3(X[shape, 0], X[shape, 1], X[shape, 2]), origin)
        away = (arm.x, arm.y, arm.z)
        duals[to + 2 * one], duals[to + 2 * two] = -away[two], away[one]
        for j in range(3):
            duals[to + 2 * (3 + 3 * one + j)] = -X[shape, 3 + 3 * two + j]
            duals[to + 2 * (3 + 3 * two + j)] = X[shape, 3 + 3 * one + j]


@inline
def _geometry(m, d, q, ids, contact_row, links, trees, slopes):
    """Slopes of the contacts of a pair by displacements of its bodies."""
    hm, hc, ha, hd = linear.collision_of(m, d)
    X, pair_args = (
        collision.shape_view(hm, hc, ha, hd).shape_X_W,
        memory.address_as(m[linear.PAIR_ARGS], int64),
    )
    at = hm[_AT_SHAPE]
    duals = memory.vector(memory.address_like(m[linear.CONTACT_DUALS], d), 0, m[linear.DUALS])
    shaped = memory.matrix(memory.address_like(m[linear.SHAPED], d), 0, PAIR_CONTACTS, 2 * contacts.SLOPES)
    pair_args[0], pair_args[1], pair_args[2] = q, 0, 0
    for i in range(PAIR_CONTACTS):
        if contact_row[PAIR_CONTACTS * q + i, 0] >= 0:
            pair_args[1] |= 1 << i
            pair_args[2] = 1 if contact_row[PAIR_CONTACTS * q + i, 1] == 1 else 0
    k, count = PAIR_CONTACTS * q, contacts.SIDES * contacts.DIRECTIONS
    for side in range(contacts.SIDES):
        link = links[side]
        if link == 0:
            continue
        origin = load_vec3(trees.origin, trees.link_root[link])
        for axis in range(contacts.DIRECTIONS):
            _put_pose(X, ids[k, 1 - side], -1, origin, duals, at)
            _put_pose(X, ids[k, side], axis, origin, duals, at)
            memory.call_stage(
                m[linear.PAIR_STAGE],
                m,
                memory.constants_like(m[linear.CONTACT_C], d),
                pair_args,
                memory.address_like(m[linear.CONTACT_DUALS], d),
            )
            row = contacts.DIRECTIONS * side + axis
            for i in range(PAIR_CONTACTS):
                for j in range(contacts.SLOPES):
                    slopes[count * i + row, j] = shaped[i, 2 * j + 1]


@stage
def linearize_touching(m, c, args, d):
    """contacts, rows, v, solved a -> what contacts make of derivatives and of the Hessian."""
    tm, lin = memory.address_as(m[linear.TREE_M], int64), linear.linear_of(m, d)
    rm, rc, ra, rd = linear.rows_of(m, d)
    hm, hc, ha, hd = linear.collision_of(m, d)
    pos, chain = views.position_view(tm, c, d), views.chain_view(tm, c, d)
    trees = contacts.LaneTrees(
        chain.dof_parent,
        chain.link_last,
        views.tree_view(tm, c, d).link_root,
        pos.link_origin,
        pos.dof_S,
        views.velocity_view(tm, c, d).link_V,
        lin.rate,
        lin.link_Va,
        lin.rate_a,
    )
    weights, laws = t.weight_view(rm, rc, ra, rd), t.shape_law_view(rm, rc, ra, rd)
    frames, notes = t.contact_frame_view(rm, rc, ra, rd), t.row_note_view(rm, rc, ra, rd)
    found, ids = (
        collision.contact_view(hm, hc, ha, hd).contact,
        collision.contact_view(hm, hc, ha, hd).contact_id,
    )
    h, safe = weights.option[t.STEP], weights.option[t.SAFE] != 0.0
    count = contacts.SIDES * contacts.DIRECTIONS
    dofs = memory.vector(memory.address_as(m[linear.INTEGERS], int64), 0, tm[_NV])
    forces = contacts.LaneForces(lin.rows[1], lin.rows[2], lin.rows[3])
    scratch = contacts.LaneScratch(dofs, lin.G, lin.K, lin.base, lin.change, lin.push)
    sums = contacts.LaneSums(lin.dq, lin.dv, lin.H, lin.link_W)
    for q in range(collision.bucket_view(hm, hc, ha, hd).counter[collision.PAIRS]):
        shaped = False
        for i in range(PAIR_CONTACTS):
            k = PAIR_CONTACTS * q + i
            first = frames.contact_row[k, 0]
            if first < 0:
                continue
            links = (weights.body_link[ids[k, 2]], weights.body_link[ids[k, 3]])
            if not shaped:
                _geometry(m, d, q, ids, frames.contact_row, links, trees, lin.slopes)
                shaped = True
            # worlds without the contact have no numbers of it, of whatever kind
            active, zero = notes.row_active[first] > 0.5, constant(0.0, found[k, 0])
            for row in range(count * i, count * i + count):
                for j in range(contacts.SLOPES):
                    lin.slopes[row, j] = where(active, lin.slopes[row, j], zero)
            for j in range(9):
                lin.axes[j // 3, j % 3] = where(active, frames.frame[k, j], zero)
            law = combined_material(laws, ids[k, 0], ids[k, 1]).law
            contact = contacts.LaneContact(
                links,
                frames.contact_row[k, 1],
                first,
                frames.mu[k],
                lin.axes,
                law_spring(law, h, safe).damping,
                Vec3(
                    where(active, found[k, 0], zero),
                    where(active, found[k, 1], zero),
                    where(active, found[k, 2], zero),
                ),
                memory.matrix(memory.pointer(lin.slopes[count * i]), 0, count, contacts.SLOPES),
            )
            contacts.linearize_lane_contact(trees, contact, forces, scratch, sums)


# ---- solution


@inline
def _factor(H_io):
    """H = L^T L from the tips on, so that what nothing couples stays zero; inverses on the diagonal."""
    n = H_io.shape[0]
    for k in range(n - 1, -1, -1):
        inverse = 1.0 / sqrt(H_io[k, k])
        H_io[k, k] = inverse
        for j in range(k):
            H_io[k, j] = H_io[k, j] * inverse
        for i in range(k):
            x = H_io[k, i]
            if any_of(absolute(x) > 0.0):
                for j in range(i + 1):
                    H_io[i, j] = H_io[i, j] - x * H_io[k, j]


@inline
def _solve_one(L, x_io):
    """x = H^-1 x by the factor of H."""
    n = L.shape[0]
    for k in range(n - 1, -1, -1):
        y = x_io[k] * L[k, k]
        x_io[k] = y
        for i in range(k):
            x_io[i] = x_io[i] - L[k, i] * y
    for k in range(n):
        y = x_io[k]
        for i in range(k):
            y = y - L[k, i] * x_io[i]
        x_io[k] = y * L[k, k]


@inline
def _solve_columns(L, entries, X_io):
    """X = H^-1 X by the factor of H, for whole tiles of columns."""
    for k in range(L.shape[0]):
        count = 0
        for i in range(k):
            if any_of(absolute(L[k, i]) > 0.0):
                count += 1
                entries[k, count] = i
        entries[k, 0] = count
    solve_pattern(L, entries, X_io.shape[1], X_io)


@stage
def factor_lanes(m, c, args, d):
    """r, its derivatives, Hessian -> factors of the Hessian and of M + h D, velocities after the step."""
    tm, lin = memory.address_as(m[linear.TREE_M], int64), linear.linear_of(m, d)
    tree, pos, dof = views.tree_view(tm, c, d), views.position_view(tm, c, d), views.dof_view(tm, c, d)
    kind, acc, inertia = (
        views.joint_view(tm, c, d).dof_kind,
        views.acceleration_view(tm, c, d),
        views.inertia_view(tm, c, d),
    )
    operand, h = views.operand_view(tm, c, d), views.step_view(tm, c, d).time_step[0]
    v, a = operand.v, operand.a
    nv, zero = v.shape[0], constant(0.0, a[0])
    # forces on links that are held, by subtrees; those of contacts are part of the residual already
    _take_off_wrenches(tree, lin)
    r.subtract_held_forces(dof, kind, pos, lin.link_W, lin.dq)
    for k in range(nv):
        lin.residual[k] = lin.residual[k] + lin.joint[k, 0]
        lin.dq[k, k] = lin.dq[k, k] + lin.joint[k, 1 + linear.Q]
        lin.dv[k, k] = lin.dv[k, k] + lin.joint[k, 1 + linear.V]
    _factor(lin.H)
    for k in range(nv):
        lin.z[k], lin.w[k] = lin.residual[k], zero
    _solve_one(lin.H, lin.z)
    if m[linear.IS_DAMPED] == 1:
        damped = Damped(views.chain_view(tm, c, d), views.passive_view(tm, c, d), views.drive_view(tm, c, d))
        for k in range(nv):
            lin.damping[k] = h * damping_of(damped, k)
            lin.w[k] = lin.damping[k] * a[k]
            for j in range(nv):
                lin.HD[k, j] = lin.M[k, j]
            lin.HD[k, k] = lin.HD[k, k] + lin.damping[k]
        _factor(lin.HD)
        _solve_one(lin.HD, lin.w)
        # d(M w)/dq
        for j in range(6):
            lin.link_Va[0, j] = zero
        inertial_forces(tree, inertia, pos, lin.w, acc, memory.vector(memory.pointer(lin.y), 0, nv))
        r.carried_motions(tree, pos, lin.w, lin.link_Va, lin.second)
        crb = views.mass_view(tm, c, d).link_crb
        r.inertial_force_jacobian(dof, kind, pos, lin.second, crb, acc.link_F, lin.dMw)
    # v' = v + h (a - w); how far h times a Newton step is, over one and the largest speed
    worst, size = zero, zero + 1.0
    for k in range(nv):
        lin.v_end[k] = v[k] + h * (a[k] - lin.w[k])
        worst = maximum(worst, absolute(h * lin.z[k]))
        size = maximum(size, absolute(lin.v_end[k]) + 1.0)
    lin.off[0] = worst / size


@inline
def _take_off_wrenches(tree, lin):
    """Wrenches of links as those of subtrees."""
    for i in range(tree.link_parent.shape[0] - 1, 0, -1):
        p = tree.link_parent[i]
        if p > 0:
            for j in range(6):
                lin.link_W[p, j] = lin.link_W[p, j] + lin.link_W[i, j]


@inline
def _unit_push(m, c, d, number, x_out, j, sign):
    """x_j += sign S^T F of a number of the forces on bodies: a unit torque or force at a centre of mass."""
    tm = memory.address_as(m[linear.TREE_M], int64)
    pos, chain = views.position_view(tm, c, d), views.chain_view(tm, c, d)
    link, k = memory.vector(memory.address_as(m[linear.LINKS], int64), 0, tm[_NBODY])[number // 6], number % 6
    if link > 0:
        arm, i = center_of_mass(views.inertia_view(tm, c, d), pos, link), chain.link_last[link]
        while i >= 0:
            S = spatial_motion.load_motion(pos.dof_S, i)
            p = spatial_motion.velocity_at(S, arm)
            along = (S.ang.x, S.ang.y, S.ang.z, p.x, p.y, p.z)
            x_out[i, j] = x_out[i, j] + sign * along[k]
            i = chain.dof_parent[i]


@stage
def lane_columns(m, c, args, d):
    """Factors and derivatives of r -> derivatives of the state after the step, by columns."""
    tm, lin = memory.address_as(m[linear.TREE_M], int64), linear.linear_of(m, d)
    columns = memory.matrix(memory.address_as(m[linear.COLUMNS], int64), 0, m[linear.COLUMN_COUNT], 2)
    actuators = memory.matrix(memory.address_as(m[linear.ACTUATORS], int64), 0, m[linear.ACTUATOR_COUNT], 3)
    turns = memory.matrix(memory.address_as(m[linear.TURNS], int64), 0, m[linear.TURN_COUNT], 2)
    h, x, y, out = views.step_view(tm, c, d).time_step[0], lin.x, lin.y, lin.out
    nv, n, zero = x.shape[0], columns.shape[0], constant(0.0, lin.residual[0])
    _clear(x, zero)
    _clear(y, zero)
    _clear(out, zero)
    # x = dr, y = d(M w)
    for j in range(n):
        source, i = columns[j, 0], columns[j, 1]
        if source == BY_Q:
            out[i, j] = zero + 1.0
            for k in range(nv):
                x[k, j], y[k, j] = lin.dq[k, i], lin.dMw[k, i]
        elif source == BY_V:
            out[nv + i, j] = zero + 1.0
            for k in range(nv):
                x[k, j] = lin.dv[k, i]
        elif source == BY_FORCE:
            x[i, j] = lin.joint[i, 1 + linear.FORCE]
        elif source == BY_CONTROL:
            x[actuators[i, 0], j] = lin.joint[actuators[i, 0], 1 + linear.CONTROL + actuators[i, 1]]
        elif source == BY_BODY:
            _unit_push(m, c, d, i, x, j, -1.0)
    # x = H^-1 dr = -da
    entries = memory.matrix(memory.address_as(m[linear.INTEGERS], int64), nv, nv, nv)
    _solve_columns(lin.H, entries, x)
    if m[linear.IS_DAMPED] == 1:
        # -da' = x - (M + h D)^-1 (h D x + d(M w))
        for k in range(nv):
            for j in range(n):
                y[k, j] = y[k, j] + lin.damping[k] * x[k, j]
        _solve_columns(lin.HD, entries, y)
        for k in range(nv):
            for j in range(n):
                x[k, j] = x[k, j] - y[k, j]
    # v' = v + h a', q' = q + h v'
    for k in range(nv):
        for j in range(n):
            out[nv + k, j] = out[nv + k, j] - h * x[k, j]
    for k in range(turns.shape[0]):
        # Q exp(p): dQ' = exp(-p) dQ + J dp with p = h w
        i = turns[k, 1]
        phi = Vec3(h * lin.v_end[i], h * lin.v_end[i + 1], h * lin.v_end[i + 2])
        made = turn_of(phi)
        for j in range(n):
            start, w = (
                Vec3(out[i, j], out[i + 1, j], out[i + 2, j]),
                Vec3(out[nv + i, j], out[nv + i + 1, j], out[nv + i + 2, j]),
            )
            moved = add_turned(made.sine, made.versine, phi, start, -1.0)
            turned = add_turned(made.versine, made.rest, phi, w, -1.0)
            # what is added to every degree of freedom below is taken off here
            moved = add(moved, scale(sub(turned, w), h))
            out[i, j], out[i + 1, j], out[i + 2, j] = moved.x, moved.y, moved.z
    for k in range(nv):
        for j in range(n):
            out[k, j] = out[k, j] + h * out[nv + k, j]


@stage
def lane_gradient(m, c, args, d):
    """Factors and derivatives of r, the gradient by the state after the step -> by columns."""
    tm, lin = memory.address_as(m[linear.TREE_M], int64), linear.linear_of(m, d)
    columns = memory.matrix(memory.address_as(m[linear.COLUMNS], int64), 0, m[linear.COLUMN_COUNT], 2)
    actuators = memory.matrix(memory.address_as(m[linear.ACTUATORS], int64), 0, m[linear.ACTUATOR_COUNT], 3)
    turns = memory.matrix(memory.address_as(m[linear.TURNS], int64), 0, m[linear.TURN_COUNT], 2)
    h, nv, n = views.step_view(tm, c, d).time_step[0], lin.w.shape[0], columns.shape[0]
    zero = constant(0.0, lin.residual[0])
    g = memory.vector(memory.address_like(m[linear.GIVEN], d), 0, 2 * nv)
    by_q, by_v = lin.gradient[:nv], lin.gradient[nv : 2 * nv]
    out, w, y = lin.gradient[2 * nv :], lin.z, memory.vector(memory.pointer(lin.y), 0, nv)
    # through q' = q + h v'
    for k in range(nv):
        by_q[k], by_v[k] = g[k], g[nv + k] + h * g[k]
    for k in range(turns.shape[0]):
        i = turns[k, 1]
        phi = Vec3(h * lin.v_end[i], h * lin.v_end[i + 1], h * lin.v_end[i + 2])
        made, given = turn_of(phi), Vec3(g[i], g[i + 1], g[i + 2])
        moved = add_turned(made.sine, made.versine, phi, given, 1.0)
        turned = add_turned(made.versine, made.rest, phi, given, 1.0)
        by_q[i], by_q[i + 1], by_q[i + 2] = moved.x, moved.y, moved.z
        by_v[i] = g[nv + i] + h * turned.x
        by_v[i + 1] = g[nv + i + 1] + h * turned.y
        by_v[i + 2] = g[nv + i + 2] + h * turned.z
    # w = H^-1 (1 - h D (M + h D)^-1) dL/da'
    for k in range(nv):
        w[k], y[k] = h * by_v[k], zero
    if m[linear.IS_DAMPED] == 1:
        for k in range(nv):
            y[k] = w[k]
        _solve_one(lin.HD, y)
        for k in range(nv):
            w[k] = w[k] - lin.damping[k] * y[k]
    _solve_one(lin.H, w)
    for k in range(nv):
        for j in range(nv):
            by_q[j] = by_q[j] - w[k] * lin.dq[k, j] + y[k] * lin.dMw[k, j]
            by_v[j] = by_v[j] - w[k] * lin.dv[k, j]
    x = memory.matrix(memory.pointer(lin.x), 0, nv, 1)
    for j in range(n):
        source, i = columns[j, 0], columns[j, 1]
        out[j] = zero
        if source == BY_Q:
            out[j] = by_q[i]
        elif source == BY_V:
            out[j] = by_v[i]
        elif source == BY_FORCE:
            out[j] = -(w[i] * lin.joint[i, 1 + linear.FORCE])
        elif source == BY_CONTROL:
            k = actuators[i, 0]
            out[j] = -(w[k] * lin.joint[k, 1 + linear.CONTROL + actuators[i, 1]])
        elif source == BY_BODY:
            _clear(x, zero)
            _unit_push(m, c, d, i, x, 0, 1.0)
            for k in range(nv):
                out[j] = out[j] + w[k] * x[k, 0]
