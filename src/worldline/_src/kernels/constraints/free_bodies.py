# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""An island of free bodies solved by sequential impulses, without Jacobians or mass matrices.

Bodies are taken with the velocities they would have at the end of the step; `body_pgs.py` finds the impulses
of the contacts, starting from those of the last step, and what they change goes back to the accelerations of
the trees. The laws are the same as those of the rows: a wanted velocity and a regularizer. Impulses stay
inside the round cone of Coulomb's law.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_pgs import prepare_contact, warm_start
from worldline._src.kernels.constraints.body_restitution import blend_restitution, drop_restitution
from worldline._src.kernels.constraints.contact.impacts import (
    BOTH,
    POSITION_PASS,
    SLOWEST,
    Moment,
    contact_soft_row,
    impact_of,
    touches,
)
from worldline._src.kernels.constraints.contact.rows import combined_material, first_tangent, set_frame
from worldline._src.kernels.constraints.impedance import elliptic_first_regularizer
from worldline._src.kernels.constraints.jams import solve_contacts
from worldline._src.kernels.constraints.tables import (
    BOUNCED,
    BOUNCES,
    COLD,
    CONTACT_END,
    CONTACT_FIRST,
    FRICTION_SHARE,
    GRAVITY,
    HARD,
    IS_SPLIT,
    ITERATIONS,
    MEAN_MOTION,
    RATIO,
    RECOVERY_SPEED,
    RESTITUTION_LIMITED,
    ROWS,
    SAFE,
    SHARE,
    SOLVE_PASS,
    SPEED_TOLERANCE,
    SPLIT,
    STEP,
    SWEEPS,
    TREE_END,
    TREE_FIRST,
)
from worldline._src.kernels.links import center_of_mass
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.inertia import Sym3, load_sym3, store_sym3, sym_mul, turned
from worldline._src.spatial.motion import Motion, load_motion, scale_motion
from worldline._src.spatial.rotation import load_mat3
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, store_vec3, sub

FEW_BODIES = 22
"""Bodies of an island that is solved to a finer tolerance, where more sweeps cost little."""
FINE = 1e-5
"""The finer tolerance, as a share of that of other islands."""


class Trees(NamedTuple):
    """Free bodies as the solver sees them: trees of one link each."""

    chain: Any
    tree: Any
    inertia: Any
    pos: Any
    tree_link: Any
    body_link: Any
    body_invweight: Any
    option: Any


class Impulses(NamedTuple):
    """Contacts and bodies of `body_pgs.py`, impulses (3 capacity,), sweeps taken (1,), frames, bounces, and
    scratch of `body_ncg.py`."""

    contacts: Any
    bodies: Any
    impulse: Any
    taken: Any
    frames: Any
    bounces: Any
    conjugate: Any


class Touching(NamedTuple):
    """Contacts of the collision tables, laws of shapes, contacts of the last step."""

    found: Any
    shapes: Any
    memory: Any


@inline
def _inverse(S):
    """Inverse of a symmetric matrix, by cofactors."""
    xx = S.yy * S.zz - S.yz * S.yz
    xy = S.xz * S.yz - S.xy * S.zz
    xz = S.xy * S.yz - S.xz * S.yy
    d = 1.0 / (S.xx * xx + S.xy * xy + S.xz * xz)
    return Sym3(
        xx * d,
        (S.xx * S.zz - S.xz * S.xz) * d,
        (S.xx * S.yy - S.xy * S.xy) * d,
        xy * d,
        xz * d,
        (S.xy * S.xz - S.xx * S.yz) * d,
    )


@inline
def _end_motion(chain, pos, link, v, a, h):
    """Velocity of a link at the end of the step without contacts, about the tree's reference point."""
    total = Motion(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    d = chain.link_last[link]
    while d >= 0:
        S = scale_motion(load_motion(pos.dof_S, d), v[d] + h * a[d])
        total = Motion(add(total.ang, S.ang), add(total.lin, S.lin))
        d = chain.dof_parent[d]
    return total


@inline
def _load_body(trees, link, v, a, h, bodies_out):
    """Velocity, inverse mass and inverse inertia of a link, about its centre of mass in world axes."""
    inertia, pos = trees.inertia, trees.pos
    motion = _end_motion(trees.chain, pos, link, v, a, h)
    c = center_of_mass(inertia, pos, link)
    store_vec3(bodies_out.linear, link, add(motion.lin, cross(motion.ang, c)))
    store_vec3(bodies_out.angular, link, motion.ang)
    bodies_out.inverse_mass[link] = 0.0
    none = Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if trees.chain.dof_mobile[trees.chain.link_last[link]] != 0.0:
        bodies_out.inverse_mass[link] = 1.0 / inertia.link_mass[link]
        none = turned(_inverse(load_sym3(inertia.link_inertia, link)), load_mat3(pos.link_R, link))
    store_sym3(bodies_out.inverse_inertia, link, none)


@inline
def _arm(trees, link, point):
    """From the centre of mass of a link to a point of the world."""
    arm = Vec3(0.0, 0.0, 0.0)
    if link > 0:
        root = trees.tree.link_root[link]
        origin = load_vec3(trees.pos.link_origin, root)
        arm = sub(sub(point, origin), center_of_mass(trees.inertia, trees.pos, link))
    return arm


@inline
def _slip(motion_a, motion_b, axis, arm_a, arm_b):
    """Velocity of the second body past the first along an axis; motions are about the centres of mass."""
    va = add(motion_a.lin, cross(motion_a.ang, arm_a))
    vb = add(motion_b.lin, cross(motion_b.ang, arm_b))
    return dot(axis, sub(vb, va))


@inline
def _now(trees, link, v):
    """Velocity of a link about its centre of mass at the beginning of the step."""
    motion = Motion(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    if link > 0:
        motion = _end_motion(trees.chain, trees.pos, link, v, v, 0.0)
        c = center_of_mass(trees.inertia, trees.pos, link)
        motion = Motion(motion.ang, add(motion.lin, cross(motion.ang, c)))
    return motion


@inline
def _end(bodies, link):
    """Velocity of a link about its centre of mass at the end of the step without contacts."""
    motion = Motion(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    if link > 0:
        motion = Motion(load_vec3(bodies.angular, link), load_vec3(bodies.linear, link))
    return motion


@inline
def _prepare(found, trees, shapes, k, n, v, frames_out, bounces_out, contacts_out, bodies):
    """Contact `k` of the collision tables as number `n` of the solver; False when it does not push."""
    option = trees.option
    h = option[STEP]
    a, b = found.contact_id[k, 0], found.contact_id[k, 1]
    met = combined_material(shapes, a, b)
    r = -found.contact[k, 6] - met.margin
    if r >= 0.0 and met.law.kind != 0.0:
        return False
    normal = Vec3(found.contact[k, 3], found.contact[k, 4], found.contact[k, 5])
    frame = frames_out.frame
    set_frame(normal, first_tangent(found, a, b, normal), k, frame)
    axes = (
        normal,
        Vec3(frame[k, 3], frame[k, 4], frame[k, 5]),
        Vec3(frame[k, 6], frame[k, 7], frame[k, 8]),
    )
    point = Vec3(found.contact[k, 0], found.contact[k, 1], found.contact[k, 2])
    body_a, body_b = found.contact_id[k, 2], found.contact_id[k, 3]
    link_a, link_b = trees.body_link[body_a], trees.body_link[body_b]
    arm_a, arm_b = _arm(trees, link_a, point), _arm(trees, link_b, point)
    motion_a, motion_b = _now(trees, link_a, v), _now(trees, link_b, v)
    A = trees.body_invweight[body_a, 0] + trees.body_invweight[body_b, 0]

    u = _slip(motion_a, motion_b, normal, arm_a, arm_b)
    free = 0.0
    if r > 0.0 and met.law.bounciness > 0.0:
        free = (_slip(_end(bodies, link_a), _end(bodies, link_b), normal, arm_a, arm_b) - u) / h
    ahead = option[SOLVE_PASS] != BOTH and (link_a == 0 or link_b == 0)
    if not touches(met.law, r, u, free, h, option[MEAN_MOTION], ahead):
        return False
    moment = Moment(h, option[SOLVE_PASS], option[SHARE], option[RECOVERY_SPEED], option[MEAN_MOTION])
    impact = impact_of(met.law, r, u, free, A, moment)
    made = contact_soft_row(met.law, impact, u, A, h, option[SAFE] != 0.0)
    R1 = elliptic_first_regularizer(made.friction_R, option[RATIO])
    contacts_out.a[n], contacts_out.b[n] = link_a, link_b
    contacts_out.active[n] = 1.0
    contacts_out.mu[n] = option[FRICTION_SHARE] * met.sliding if met.condim > 1 else 0.0
    row = 3 * n
    bounces_out.bounce[n] = impact.bounce if met.law.kind == HARD else -1.0
    frames_out.bounce[k] = bounces_out.bounce[n]
    bounces_out.before[row] = impact.before
    if impact.bounce > SLOWEST * option[GRAVITY] * h:
        frames_out.counter[BOUNCED] |= BOUNCES
    if impact.parts != 0:
        frames_out.counter[BOUNCED] |= SPLIT
    contacts_out.target[row], contacts_out.R[row] = u + h * made.aref, made.R
    for j in range(1, 3):
        t = _slip(motion_a, motion_b, axes[j], arm_a, arm_b)
        contacts_out.target[row + j] = t - h * made.friction_damping * t
        bounces_out.before[row + j] = t
        contacts_out.R[row + j] = R1
    prepare_contact(bodies, n, arm_a, arm_b, axes, contacts_out)
    frames_out.contact_row[k, 0], frames_out.contact_row[k, 1] = 0, met.condim
    for j in range(5):
        frames_out.mu[k, j] = met.sliding if j < 2 else 0.0
    frames_out.mu[k, 5] = impact.recovery
    frames_out.counter[IS_SPLIT] |= impact.parts
    return True


@inline
def _give_back(trees, link, h, bodies, v, qfrc_out, a_io):
    """What contacts changed about a body, as accelerations and forces of its degrees of freedom."""
    chain, inertia, pos = trees.chain, trees.inertia, trees.pos
    motion = _end_motion(chain, pos, link, v, a_io, h)
    c = center_of_mass(inertia, pos, link)
    push = sub(load_vec3(bodies.linear, link), add(motion.lin, cross(motion.ang, c)))
    turn = sub(load_vec3(bodies.angular, link), motion.ang)
    lift = sub(push, cross(turn, c))
    # the impulses that made the change, about the reference point
    mass = inertia.link_mass[link]
    J = turned(load_sym3(inertia.link_inertia, link), load_mat3(pos.link_R, link))
    impulse = Vec3(push.x * mass, push.y * mass, push.z * mass)
    moment = add(sym_mul(J, turn), cross(c, impulse))
    d = chain.link_last[link]
    while d >= 0:
        # translations come with no rotation, and all axes are square to each other
        S = load_motion(pos.dof_S, d)
        spins = dot(S.ang, S.ang) > 0.5
        a_io[d] += (dot(S.ang, turn) if spins else dot(S.lin, lift)) / h
        qfrc_out[d] += (dot(S.ang, moment) + dot(S.lin, impulse)) / h
        d = chain.dof_parent[d]


@kernel
def solve_free_bodies(touching, trees, island, v, solver_out, records_out, a_io):
    """Contacts of an island of free bodies: forces and accelerations.

    Returns the largest change of a velocity in the last sweep [m/s]; SPEED_TOLERANCE and less is solved.
    A negative number of SWEEPS is a bound; see `solve_contacts`.
    v, a_io: (nv,) of the whole model. O(contacts) a sweep.
    """
    counter, option = island.counter, trees.option
    h = option[STEP]
    found, shapes, memory = touching.found, touching.shapes, touching.memory
    contacts_out, bodies_out, impulse = solver_out.contacts, solver_out.bodies, solver_out.impulse
    frames, bounces = solver_out.frames, solver_out.bounces
    first, end = counter[CONTACT_FIRST], counter[CONTACT_END]

    # bodies, and the world, which has no inverse mass
    for i in range(counter[TREE_FIRST], counter[TREE_END]):
        _load_body(trees, trees.tree_link[island.island_tree[i]], v, a_io, h, bodies_out)
    for i in range(first, end):
        for side in range(2, 4):
            link = trees.body_link[found.contact_id[island.contact_order[i], side]]
            if link > 0 and trees.chain.dof_mobile[trees.chain.link_last[link]] == 0.0:
                _load_body(trees, link, v, a_io, h, bodies_out)

    # contacts that push, with the impulses of the last step
    n = 0
    for i in range(first, end):
        k = island.contact_order[i]
        if _prepare(found, trees, shapes, k, n, v, frames, bounces, contacts_out, bodies_out):
            match = -1 if option[COLD] != 0.0 else memory.contact_match[k]
            for j in range(3):
                impulse[3 * n + j] = h * memory.last_force[match, j] if match >= 0 else 0.0
            n += 1
        for j in range(6):
            records_out.contact_force[k, j] = 0.0
    counter[ROWS] = n

    # solve
    warm_start(contacts_out, n, bodies_out, impulse)
    few = counter[TREE_END] - counter[TREE_FIRST] <= FEW_BODIES
    fine = (FINE if few else 1.0) * option[SPEED_TOLERANCE]
    limits, conjugate = (option[SPEED_TOLERANCE], int(option[SWEEPS]), fine), solver_out.conjugate
    bouncing = counter[BOUNCED] == BOUNCES or (
        counter[BOUNCED] == BOUNCES | SPLIT and option[SOLVE_PASS] != POSITION_PASS
    )
    moved, sweeps, share = 0.0, 0.0, 1.0
    for attempt in range(2):
        again = solve_contacts(contacts_out, n, limits, conjugate, solver_out.taken, bodies_out, impulse)
        if attempt > 0:
            share = blend_restitution(contacts_out, n, bounces, bodies_out, impulse)
            moved, solver_out.taken[0] = max(moved, again), max(solver_out.taken[0], sweeps)
        else:
            moved, sweeps = again, solver_out.taken[0]
            if bouncing:
                bouncing = drop_restitution(n, limits[0], bodies_out, impulse, bounces, contacts_out)
            if not bouncing:
                break
    if share < 1.0 and counter[BOUNCED] != BOUNCES:
        counter[RESTITUTION_LIMITED] = 1
        for i in range(counter[TREE_FIRST], counter[TREE_END]):
            bounces.tree_share[island.island_tree[i]] = share
    counter[ITERATIONS] = max(counter[ITERATIONS], int(solver_out.taken[0]))

    # forces and accelerations
    n = 0
    for i in range(first, end):
        k = island.contact_order[i]
        if frames.contact_row[k, 0] >= 0:
            for j in range(3):
                records_out.contact_force[k, j] = impulse[3 * n + j] / h
            # what the regularizer takes off the acceleration that the contact asks for
            frames.de_saxce_error[k] = contacts_out.R[3 * n] * impulse[3 * n] / h
            n += 1
    for i in range(counter[TREE_FIRST], counter[TREE_END]):
        _give_back(trees, trees.tree_link[island.island_tree[i]], h, bodies_out, v, records_out.qfrc, a_io)
    return moved
