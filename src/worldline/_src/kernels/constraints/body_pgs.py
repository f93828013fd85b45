# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sequential impulses between free bodies: projected Gauss-Seidel that keeps velocities, no matrices.

For each contact the normal impulse is solved first, then both friction impulses, with the disc of the new
normal impulse as bound: Coulomb's law without the artificial lifting of an associated cone. The 2x2 block of
the tangents is solved exactly; where that leaves the disc the contact slides, and a step that ends with
friction opposed to the slip is taken instead. Velocities are updated at once; a sweep is linear in the number
of contacts.

Generic over the scalar: bodies and the number of contacts are integers shared by all worlds; `active` says in
which of them a contact counts. Worlds that have converged are frozen.

A stage fills `BodyContacts` with `prepare_contact`, contact by contact, up to its capacity, and sets targets:
for hard contact the wanted normal velocity (restitution, error reduction, or minus gap over time step) and
zero for friction; R is CFM, or (1 - d) / d times the block's diagonal for the impedance model.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.projections import onto_disc
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, any_of, constant, maximum, sqrt, where
from worldline._src.spatial.inertia import load_sym3, sym_mul
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, scale, store_vec3, sub


class BodyContacts(NamedTuple):
    """Contacts of a capacity; three rows each: normal (from a to b), first and second tangent.

    a, b: (capacity,) integers, rows of the body arrays; the world is a row without inverse mass.
    axes: (3 capacity, 3) directions, world axes. arm_a, arm_b: (3 capacity, 3) r x axis about the centres of
    mass. spin_a, spin_b: (3 capacity, 3) change of angular velocity by a unit impulse.
    block: (capacity, 10) of the contact's 3x3 response: 0 inverse of the normal entry; 1-3 inverse (xx, xy,
    yy) of the tangents' 2x2; 4 one over its largest eigenvalue; 5, 6 entries between tangents and normal;
    7-9 the diagonal.
    target, R: (3 capacity,) wanted velocity [m/s] and regularizer [1/kg]. mu, active: (capacity,).
    """

    a: Any
    b: Any
    axes: Any
    arm_a: Any
    arm_b: Any
    spin_a: Any
    spin_b: Any
    block: Any
    target: Any
    R: Any
    mu: Any
    active: Any


class Bodies(NamedTuple):
    """Velocities of bodies about their centres of mass, world axes.

    linear, angular: (bodies, 3). inverse_mass: (bodies,). inverse_inertia: (bodies, 6), xx yy zz xy xz yz.
    """

    linear: Any
    angular: Any
    inverse_mass: Any
    inverse_inertia: Any


@inline
def _response(contacts, inverse_masses, k, m):
    """Velocity of row `k` by a unit impulse of row `m` of the same contact."""
    direct = dot(load_vec3(contacts.axes, k), load_vec3(contacts.axes, m)) * inverse_masses
    turn_a = dot(load_vec3(contacts.arm_a, k), load_vec3(contacts.spin_a, m))
    return direct + turn_a + dot(load_vec3(contacts.arm_b, k), load_vec3(contacts.spin_b, m))


@inline
def fill_block(bodies, c, contacts_io):
    """The response of contact `c` to its own impulses, with R; axes, arms, spins and R are set before."""
    a, b, k = contacts_io.a[c], contacts_io.b[c], 3 * c
    inverse_masses = bodies.inverse_mass[a] + bodies.inverse_mass[b]
    normal = _response(contacts_io, inverse_masses, k, k) + contacts_io.R[k]
    xx = _response(contacts_io, inverse_masses, k + 1, k + 1) + contacts_io.R[k + 1]
    yy = _response(contacts_io, inverse_masses, k + 2, k + 2) + contacts_io.R[k + 2]
    xy = _response(contacts_io, inverse_masses, k + 1, k + 2)
    determinant = xx * yy - xy * xy
    half = 0.5 * (xx - yy)
    block = contacts_io.block
    block[c, 0] = 1.0 / normal
    block[c, 1] = yy / determinant
    block[c, 2] = -xy / determinant
    block[c, 3] = xx / determinant
    block[c, 4] = 1.0 / (0.5 * (xx + yy) + sqrt(half * half + xy * xy))
    block[c, 5] = _response(contacts_io, inverse_masses, k + 1, k)
    block[c, 6] = _response(contacts_io, inverse_masses, k + 2, k)
    block[c, 7] = normal
    block[c, 8] = xx
    block[c, 9] = yy


@kernel
def prepare_contact(bodies, c, arm_a, arm_b, axes, contacts_out):
    """Fill arms, spins and blocks of contact `c` from lever arms (Vec3) and three axes (Vec3 each).

    a, b and R of the contact are set before.
    """
    a, b = contacts_out.a[c], contacts_out.b[c]
    inertia_a, inertia_b = load_sym3(bodies.inverse_inertia, a), load_sym3(bodies.inverse_inertia, b)
    for j in range(3):
        k = 3 * c + j
        # pick the axis by its number: the three are equal in type
        axis = axes[j]
        ra, rb = cross(arm_a, axis), cross(arm_b, axis)
        store_vec3(contacts_out.axes, k, axis)
        store_vec3(contacts_out.arm_a, k, ra)
        store_vec3(contacts_out.arm_b, k, rb)
        store_vec3(contacts_out.spin_a, k, sym_mul(inertia_a, ra))
        store_vec3(contacts_out.spin_b, k, sym_mul(inertia_b, rb))
    fill_block(bodies, c, contacts_out)


@inline
def approach_speed(contacts, k, v, wa, wb):
    """Velocity of b relative to a along row `k`; v is that of the centres."""
    along = dot(load_vec3(contacts.axes, k), v)
    return along + dot(load_vec3(contacts.arm_b, k), wb) - dot(load_vec3(contacts.arm_a, k), wa)


@inline
def _plus(u, v, x):
    return Vec3(u.x + v.x * x, u.y + v.y * x, u.z + v.z * x)


@inline
def _sum(rows, k, x, y, z):
    """Rows k to k + 2 times three numbers."""
    first = scale(load_vec3(rows, k), x)
    return _plus(_plus(first, load_vec3(rows, k + 1), y), load_vec3(rows, k + 2), z)


@inline
def apply_impulse(contacts, c, normal, x, y, bodies_io):
    """Apply three impulses of a contact to its bodies."""
    a, b, k = contacts.a[c], contacts.b[c], 3 * c
    impulse = _sum(contacts.axes, k, normal, x, y)
    turn_a = _sum(contacts.spin_a, k, normal, x, y)
    turn_b = _sum(contacts.spin_b, k, normal, x, y)
    linear, angular, inverse_mass = bodies_io.linear, bodies_io.angular, bodies_io.inverse_mass
    store_vec3(linear, a, _plus(load_vec3(linear, a), impulse, -inverse_mass[a]))
    store_vec3(linear, b, _plus(load_vec3(linear, b), impulse, inverse_mass[b]))
    store_vec3(angular, a, sub(load_vec3(angular, a), turn_a))
    store_vec3(angular, b, add(load_vec3(angular, b), turn_b))


@inline
def _friction_in_disc(block, c, x, y, miss_x, miss_y, radius):
    """New friction impulses: sticking if the disc has room for it, otherwise a step of sliding.

    Scaling the sticking impulse down would end with friction askew to the slip where the block is not
    round; a gradient step with one step length for both directions does not.
    """
    stick_x = x - block[c, 1] * miss_x - block[c, 2] * miss_y
    stick_y = y - block[c, 2] * miss_x - block[c, 3] * miss_y
    slide_x, slide_y = onto_disc(x - block[c, 4] * miss_x, y - block[c, 4] * miss_y, radius)
    sticks = stick_x * stick_x + stick_y * stick_y <= radius * radius
    return where(sticks, stick_x, slide_x), where(sticks, stick_y, slide_y)


@inline
def solve_contact(contacts, c, frozen, bodies_io, impulse_io):
    """One visit of a contact; returns the largest change of a velocity it made."""
    a, b, k = contacts.a[c], contacts.b[c], 3 * c
    counts, block, R, target = contacts.active[c], contacts.block, contacts.R, contacts.target
    v = sub(load_vec3(bodies_io.linear, b), load_vec3(bodies_io.linear, a))
    wa, wb = load_vec3(bodies_io.angular, a), load_vec3(bodies_io.angular, b)
    old, x, y = impulse_io[k], impulse_io[k + 1], impulse_io[k + 2]
    miss = approach_speed(contacts, k, v, wa, wb) + R[k] * old - target[k]
    miss_x = approach_speed(contacts, k + 1, v, wa, wb) + R[k + 1] * x - target[k + 1]
    miss_y = approach_speed(contacts, k + 2, v, wa, wb) + R[k + 2] * y - target[k + 2]

    # normal; its effect on the tangents is known without pushing the bodies
    normal = where(counts > 0.5, maximum(old - miss * block[c, 0], 0.0), 0.0)
    normal = where(frozen > 0.5, old, normal)
    push = normal - old
    miss_x = miss_x + block[c, 5] * push
    miss_y = miss_y + block[c, 6] * push

    # friction, both directions at once
    radius = contacts.mu[c] * normal
    new_x, new_y = _friction_in_disc(block, c, x, y, miss_x, miss_y, radius)
    new_x = where(frozen > 0.5, x, where(counts > 0.5, new_x, 0.0))
    new_y = where(frozen > 0.5, y, where(counts > 0.5, new_y, 0.0))

    impulse_io[k] = normal
    impulse_io[k + 1] = new_x
    impulse_io[k + 2] = new_y
    apply_impulse(contacts, c, push, new_x - x, new_y - y, bodies_io)
    sideways = maximum(absolute(new_x - x) * block[c, 8], absolute(new_y - y) * block[c, 9])
    return maximum(absolute(push) * block[c, 7], sideways)


@kernel
def warm_start(contacts, count, bodies_io, impulse_io):
    """Apply the impulses kept from the step before; contacts that do not count lose theirs."""
    for c in range(count):
        k = 3 * c
        counts = contacts.active[c] > 0.5
        for j in range(k, k + 3):
            impulse_io[j] = where(counts, impulse_io[j], 0.0)
        apply_impulse(contacts, c, impulse_io[k], impulse_io[k + 1], impulse_io[k + 2], bodies_io)


@kernel
def body_pgs(contacts, count, tolerance, sweeps, sweeps_out, bodies_io, impulse_io):
    """Sweep until no velocity is changed by more than `tolerance` [m/s] in a sweep, or `sweeps` are done.

    bodies_io hold the velocities that belong to the impulses in impulse_io: call `warm_start` first, with
    zero impulses for a cold start. sweeps_out[0]: sweeps this world took. Returns the largest change of a
    velocity in the last sweep [m/s], a bound on what contacts miss but for what their neighbours do after
    them. O(contacts) a sweep.
    """
    frozen = constant(0.0, impulse_io[0])
    taken = constant(0.0, impulse_io[0])
    moved = constant(0.0, impulse_io[0])
    for _ in range(sweeps):
        taken = taken + (1.0 - frozen)
        moved = constant(0.0, frozen)
        for c in range(count):
            moved = maximum(moved, solve_contact(contacts, c, frozen, bodies_io, impulse_io))
        frozen = where(moved <= tolerance, 1.0, frozen)
        if not any_of(frozen < 0.5):
            break
    sweeps_out[0] = taken
    return moved
