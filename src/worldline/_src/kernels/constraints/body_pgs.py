# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sequential impulses between free bodies: projected Gauss-Seidel that keeps velocities, no matrices.

For each contact the normal impulse is solved first, then both friction impulses, with the disc (isotropic)
or the square (pyramid) of the new normal impulse as bound: Coulomb's law without the artificial lifting of
an associated cone. In a disc the 2x2 block of the tangents is solved exactly; where that leaves the disc the
contact slides, and a step that ends with friction opposed to the slip is taken instead. Velocities are
updated at once; a sweep is linear in the number of contacts.

Generic over the scalar: bodies, shapes of friction and the number of contacts are integers shared by all
worlds; `active` says in which of them a contact counts. Worlds that have converged are frozen.

A stage fills `BodyContacts` with `prepare_contact`, contact by contact, up to its capacity, and sets targets:
for hard contact the wanted normal velocity (restitution, error reduction, or minus gap over time step) and
zero for friction; R is CFM, or (1 - d) / d times the block's diagonal for the impedance model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.projections import onto_disc
from worldline._src.scalar.ops import absolute, any_of, clamp, constant, maximum, sqrt, where
from worldline._src.spatial.inertia import load_sym3, sym_mul
from worldline._src.spatial.vec3 import Vec3, cross, dot, load_vec3, store_vec3

DISC, SQUARE = 0, 1


class BodyContacts(NamedTuple):
    """Contacts of a capacity; three rows each: normal (from a to b), first and second tangent.

    a, b: (capacity,) integers, rows of the body arrays; the world is a row without inverse mass.
    shape: (capacity,) integers, DISC or SQUARE.
    axes: (3 capacity, 3) directions, world axes. arm_a, arm_b: (3 capacity, 3) r x axis about the centres of
    mass. spin_a, spin_b: (3 capacity, 3) change of angular velocity by a unit impulse.
    block: (capacity, 8) inverse of the normal entry; inverse (xx, xy, yy) of the tangents' 2x2; one over its
    largest eigenvalue; one over its diagonal entries; its other entry.
    target, R: (3 capacity,) wanted velocity [m/s] and regularizer [1/kg]. mu, active: (capacity,).
    """

    a: Any
    b: Any
    shape: Any
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
    k = 3 * c
    inverse_masses = bodies.inverse_mass[a] + bodies.inverse_mass[b]
    normal = _response(contacts_out, inverse_masses, k, k) + contacts_out.R[k]
    xx = _response(contacts_out, inverse_masses, k + 1, k + 1) + contacts_out.R[k + 1]
    yy = _response(contacts_out, inverse_masses, k + 2, k + 2) + contacts_out.R[k + 2]
    xy = _response(contacts_out, inverse_masses, k + 1, k + 2)
    determinant = xx * yy - xy * xy
    half = 0.5 * (xx - yy)
    block = contacts_out.block
    block[c, 0] = 1.0 / normal
    block[c, 1] = yy / determinant
    block[c, 2] = -xy / determinant
    block[c, 3] = xx / determinant
    block[c, 4] = 1.0 / (0.5 * (xx + yy) + sqrt(half * half + xy * xy))
    block[c, 5] = 1.0 / xx
    block[c, 6] = 1.0 / yy
    block[c, 7] = xy


@inline
def _approach(contacts, k, va, wa, vb, wb):
    """Velocity of b relative to a along row `k`."""
    axis = load_vec3(contacts.axes, k)
    along = dot(axis, Vec3(vb.x - va.x, vb.y - va.y, vb.z - va.z))
    return along + dot(load_vec3(contacts.arm_b, k), wb) - dot(load_vec3(contacts.arm_a, k), wa)


@inline
def _plus(u, v, x):
    return Vec3(u.x + v.x * x, u.y + v.y * x, u.z + v.z * x)


@inline
def _push(contacts, bodies, c, k, impulse, velocities):
    """Velocities of both bodies after an impulse of row `k`."""
    va, wa, vb, wb = velocities
    axis = load_vec3(contacts.axes, k)
    va = _plus(va, axis, -impulse * bodies.inverse_mass[contacts.a[c]])
    wa = _plus(wa, load_vec3(contacts.spin_a, k), -impulse)
    vb = _plus(vb, axis, impulse * bodies.inverse_mass[contacts.b[c]])
    wb = _plus(wb, load_vec3(contacts.spin_b, k), impulse)
    return va, wa, vb, wb


@inline
def _velocities(bodies, a, b):
    return (
        load_vec3(bodies.linear, a),
        load_vec3(bodies.angular, a),
        load_vec3(bodies.linear, b),
        load_vec3(bodies.angular, b),
    )


@inline
def _store(bodies_io, a, b, velocities):
    va, wa, vb, wb = velocities
    store_vec3(bodies_io.linear, a, va)
    store_vec3(bodies_io.angular, a, wa)
    store_vec3(bodies_io.linear, b, vb)
    store_vec3(bodies_io.angular, b, wb)


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
def _friction_in_square(block, c, x, y, miss_x, miss_y, radius):
    """New friction impulses, one direction after the other."""
    new_x = clamp(x - block[c, 5] * miss_x, -radius, radius)
    miss_y = miss_y + block[c, 7] * (new_x - x)
    return new_x, clamp(y - block[c, 6] * miss_y, -radius, radius)


@inline
def _solve_contact(contacts, c, frozen, bodies_io, impulse_io):
    """One visit of a contact; returns the largest change of a velocity it made."""
    a, b = contacts.a[c], contacts.b[c]
    k = 3 * c
    counts = contacts.active[c]
    velocities = _velocities(bodies_io, a, b)

    # normal
    inverse = contacts.block[c, 0]
    old = impulse_io[k]
    miss = _approach(contacts, k, *velocities) + contacts.R[k] * old - contacts.target[k]
    new = maximum(old - miss * inverse, 0.0)
    new = where(counts > 0.5, new, 0.0)
    normal = where(frozen > 0.5, old, new)
    impulse_io[k] = normal
    velocities = _push(contacts, bodies_io, c, k, normal - old, velocities)
    moved = absolute(normal - old) / inverse

    # friction, both directions at once
    x, y = impulse_io[k + 1], impulse_io[k + 2]
    miss_x = _approach(contacts, k + 1, *velocities) + contacts.R[k + 1] * x - contacts.target[k + 1]
    miss_y = _approach(contacts, k + 2, *velocities) + contacts.R[k + 2] * y - contacts.target[k + 2]
    radius = contacts.mu[c] * normal
    if contacts.shape[c] == DISC:
        new_x, new_y = _friction_in_disc(contacts.block, c, x, y, miss_x, miss_y, radius)
    else:
        new_x, new_y = _friction_in_square(contacts.block, c, x, y, miss_x, miss_y, radius)
    new_x = where(frozen > 0.5, x, where(counts > 0.5, new_x, 0.0))
    new_y = where(frozen > 0.5, y, where(counts > 0.5, new_y, 0.0))
    impulse_io[k + 1] = new_x
    impulse_io[k + 2] = new_y
    velocities = _push(contacts, bodies_io, c, k + 1, new_x - x, velocities)
    velocities = _push(contacts, bodies_io, c, k + 2, new_y - y, velocities)
    moved = maximum(moved, absolute(new_x - x) / contacts.block[c, 5])
    moved = maximum(moved, absolute(new_y - y) / contacts.block[c, 6])
    _store(bodies_io, a, b, velocities)
    return moved


@kernel
def warm_start(contacts, count, bodies_io, impulse_io):
    """Apply the impulses kept from the step before; contacts that do not count lose theirs."""
    for c in range(count):
        a, b = contacts.a[c], contacts.b[c]
        velocities = _velocities(bodies_io, a, b)
        for j in range(3):
            k = 3 * c + j
            impulse = where(contacts.active[c] > 0.5, impulse_io[k], 0.0)
            impulse_io[k] = impulse
            velocities = _push(contacts, bodies_io, c, k, impulse, velocities)
        _store(bodies_io, a, b, velocities)


@kernel
def body_pgs(contacts, count, tolerance, sweeps, sweeps_out, bodies_io, impulse_io):
    """Sweep until no velocity is changed by more than `tolerance` [m/s] in a sweep, or `sweeps` are done.

    bodies_io hold the velocities that belong to the impulses in impulse_io: call `warm_start` first, with
    zero impulses for a cold start. sweeps_out[0]: sweeps this world took. O(contacts) a sweep.
    """
    frozen = constant(0.0, impulse_io[0])
    taken = constant(0.0, impulse_io[0])
    for _ in range(sweeps):
        taken = taken + (1.0 - frozen)
        moved = constant(0.0, frozen)
        for c in range(count):
            moved = maximum(moved, _solve_contact(contacts, c, frozen, bodies_io, impulse_io))
        frozen = where(moved <= tolerance, 1.0, frozen)
        if not any_of(frozen < 0.5):
            break
    sweeps_out[0] = taken
