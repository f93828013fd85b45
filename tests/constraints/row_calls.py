# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The generic row kernels as functions of NumPy arrays, for one world and for four worlds in lanes.

Arrays of several worlds have the world as their last axis, which is the memory order of lanes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worldline._src.jit import entry, inline
from worldline._src.kernels.constraints import active_sets as sets_kernel
from worldline._src.kernels.constraints import body_pgs as bodies_kernel
from worldline._src.kernels.constraints import delassus as delassus_kernel
from worldline._src.kernels.constraints import dual_pgs as dual_kernel
from worldline._src.kernels.constraints import impedance as imp
from worldline._src.kernels.constraints.active_sets import PlainRows, SetWork
from worldline._src.kernels.constraints.body_pgs import Bodies, BodyContacts
from worldline._src.kernels.constraints.dual_pgs import DualOptions, DualRows, DualWork
from worldline._src.scalar.lanes import LANES4
from worldline._src.scalar.memory import aligned_zeros, matrix, pointer_as, vector
from worldline._src.scalar.ops import constant
from worldline._src.spatial.vec3 import Vec3

LANES = 4


def aligned(array):
    """A copy of an array on a boundary that vector loads need."""
    array = np.asarray(array, dtype=float)
    copy = aligned_zeros(array.size).reshape(array.shape)
    copy[...] = array
    return copy


@inline
def _spans(first, end, J):
    for k in range(first.shape[0]):
        first[k], end[k] = 0, J.shape[1]


@entry
def dual_one(J, K, aref, R, bound, active, integers, tolerance, sweeps, work, block, taken, force, a):
    n = J.shape[0]
    first, end, kind, dim, lifted = integers[0], integers[1], integers[2], integers[3], integers[4]
    _spans(first, end, J)
    rows = DualRows(J, K, first, end, aref, R, bound, active, kind, dim, lifted)
    scratch = DualWork(work[:n], work[n : 2 * n], block, work[2 * n :])
    dual_kernel.dual_pgs(rows, n, DualOptions(tolerance, sweeps, 0.0), scratch, taken, force, a)


@entry
def dual_lanes(J, K, aref, R, bound, active, integers, tolerance, sweeps, work, block, taken, force, a):
    n, nv = J.shape[0], J.shape[1]
    first, end, kind, dim, lifted = integers[0], integers[1], integers[2], integers[3], integers[4]
    _spans(first, end, J)
    rows = DualRows(
        matrix(pointer_as(J, LANES4), 0, n, nv),
        matrix(pointer_as(K, LANES4), 0, n, nv),
        first,
        end,
        vector(pointer_as(aref, LANES4), 0, n),
        vector(pointer_as(R, LANES4), 0, n),
        vector(pointer_as(bound, LANES4), 0, n),
        vector(pointer_as(active, LANES4), 0, n),
        kind,
        dim,
        lifted,
    )
    w = pointer_as(work, LANES4)
    scratch = DualWork(
        vector(w, 0, n), vector(w, n, n), matrix(pointer_as(block, LANES4), 0, n, 6), vector(w, 2 * n, 24)
    )
    dual_kernel.dual_pgs(
        rows,
        n,
        DualOptions(tolerance, sweeps, constant(0.0, w[0])),
        scratch,
        vector(pointer_as(taken, LANES4), 0, 1),
        vector(pointer_as(force, LANES4), 0, n),
        vector(pointer_as(a, LANES4), 0, nv),
    )


def dual_pgs(
    J, K, R, c, bound, active, kind, dim, tolerance=1e-12, sweeps=5000, guess=None, lifted=0, smooth=None
):
    """Forces, sweeps taken and accelerations; one world, or four when c has a second axis.

    c: what J a_smooth - aref is; `smooth` is a_smooth, zero when None.
    """
    tail = (LANES,) if np.ndim(c) == 2 else ()
    n, nv = J.shape[:2]
    a = aligned(np.zeros((nv, *tail)) if smooth is None else smooth)
    aref = (np.einsum("kd...,d...->k...", J, a) if smooth is not None else 0.0) - np.asarray(c)
    arrays = [aligned(np.broadcast_to(x, (n, nv, *tail))) for x in (J, K)]
    arrays += [aligned(np.broadcast_to(x, (n, *tail))) for x in (aref, R, bound, active)]
    force = aligned(np.zeros((n, *tail)) if guess is None else guess)
    work, block = aligned(np.zeros((2 * n + 24, *tail))), aligned(np.zeros((n, 6, *tail)))
    taken = aligned(np.zeros((1, *tail)))
    integers = np.zeros((5, n), np.int64)
    integers[2:] = [np.broadcast_to(x, n) for x in (kind, dim, lifted)]
    call = dual_lanes if tail else dual_one
    call(*arrays, integers, tolerance, sweeps, work, block, taken, force, a)
    return force, taken[0], a


@inline
def _solve_sets(rows, n, M, done, work, tries, force, a):
    return sets_kernel.active_sets(rows, n, M, done, work, tries, force, a)


@entry
def sets_one(J, M, rowed, active, integers, work, H, vectors, tries, force, a, done):
    n = J.shape[0]
    first, end, kind = integers[0], integers[1], integers[2]
    _spans(first, end, J)
    rows = PlainRows(J, first, end, rowed[0], rowed[1], rowed[2], active, kind)
    scratch = SetWork(H, vectors, work[0], work[1], work[2])
    return _solve_sets(rows, n, M, done, scratch, tries, force, a)


@entry
def sets_lanes(J, M, rowed, active, integers, work, H, vectors, tries, force, a, done):
    n, nv = J.shape[0], J.shape[1]
    first, end, kind = integers[0], integers[1], integers[2]
    _spans(first, end, J)
    x, w = pointer_as(rowed, LANES4), pointer_as(work, LANES4)
    rows = PlainRows(
        matrix(pointer_as(J, LANES4), 0, n, nv),
        first,
        end,
        vector(x, 0, n),
        vector(x, n, n),
        vector(x, 2 * n, n),
        vector(pointer_as(active, LANES4), 0, n),
        kind,
    )
    scratch = SetWork(
        matrix(pointer_as(H, LANES4), 0, nv, nv),
        matrix(pointer_as(vectors, LANES4), 0, 2, nv),
        vector(w, 0, n),
        vector(w, n, n),
        vector(w, 2 * n, n),
    )
    taken = vector(pointer_as(tries, LANES4), 0, 2)
    taken[1] = _solve_sets(
        rows,
        n,
        matrix(pointer_as(M, LANES4), 0, nv, nv),
        constant(done, taken[0]),
        scratch,
        taken,
        vector(pointer_as(force, LANES4), 0, n),
        vector(pointer_as(a, LANES4), 0, nv),
    )
    return 0.0


def active_sets(kind, J, M, D, aref, bound, active, smooth, guess, done=0.0):
    """Forces, accelerations, 1 where solved, systems taken; one world, or four when aref has a second axis."""
    n, nv = J.shape[:2]
    tail = (LANES,) if np.ndim(aref) == 2 else ()
    rowed = aligned(np.stack([aref, D, bound]))
    work, H = aligned(np.zeros((3, n, *tail))), aligned(np.zeros((nv, nv, *tail)))
    vectors, tries = aligned(np.zeros((2, nv, *tail))), aligned(np.zeros((2, *tail)))
    force, a = aligned(guess), aligned(smooth)
    integers = np.zeros((3, n), np.int64)
    integers[2] = kind
    call = sets_lanes if tail else sets_one
    solved = call(
        aligned(J), aligned(M), rowed, aligned(active), integers, work, H, vectors, tries, force, a, done
    )
    return force, a, tries[1] if tail else np.float64(solved), tries[0]


@entry
def delassus(J, K, R, n, A):
    delassus_kernel.delassus(J, K, R, n, A)


@entry
def impedance_one(r, solimp, out):
    for i in range(r.shape[0]):
        out[i] = imp.impedance(r[i], solimp[0], solimp[1], solimp[2], solimp[3], solimp[4])


@entry
def impedance_lanes(r, solimp, out):
    values, results = pointer_as(r, LANES4), pointer_as(out, LANES4)
    for i in range(r.shape[0] // 4):
        results[i] = imp.impedance(values[i], solimp[0], solimp[1], solimp[2], solimp[3], solimp[4])


@entry
def soft_row(size, r, v, inverse_inertia, solref, solimp, least_time, out):
    """d, aref and R of one row; `size` is the residual of all rows of its constraint."""
    d = imp.impedance(size, solimp[0], solimp[1], solimp[2], solimp[3], solimp[4])
    spring = imp.row_spring(solref[0], solref[1], solimp[1], least_time)
    out[0] = d
    out[1] = imp.reference_acceleration(spring, d, r, v)
    out[2] = imp.regularizer(d, inverse_inertia)


@entry
def friction_regularizers(R_normal, ratio, mu_first, mu, out):
    R_first = imp.elliptic_first_regularizer(R_normal, ratio)
    out[0] = R_first
    out[1] = imp.elliptic_other_regularizer(R_first, mu_first, mu)
    out[2] = imp.regularized_friction(mu_first, R_first, R_normal)
    out[3] = imp.pyramid_regularizer(R_normal, mu_first, ratio)


@inline
def _row(array, i):
    return Vec3(array[i, 0], array[i, 1], array[i, 2])


@inline
def prepare_row(bodies, axes, arms, c, contacts):
    """Prepare contact `c` from its axes and from the arms to both bodies."""
    three = (_row(axes, 3 * c), _row(axes, 3 * c + 1), _row(axes, 3 * c + 2))
    bodies_kernel.prepare_contact(bodies, c, _row(arms, 2 * c), _row(arms, 2 * c + 1), three, contacts)


@inline
def _solve_bodies(contacts, axes, arms, bodies, count, tolerance, sweeps, taken, impulse):
    for c in range(count):
        prepare_row(bodies, axes, arms, c, contacts)
    bodies_kernel.warm_start(contacts, count, bodies, impulse)
    bodies_kernel.body_pgs(contacts, count, tolerance, sweeps, taken, bodies, impulse)


@entry
def bodies_one(contacts, axes, arms, bodies, count, tolerance, sweeps, taken, impulse):
    _solve_bodies(contacts, axes, arms, bodies, count, tolerance, sweeps, taken, impulse)


@entry
def bodies_lanes(contacts, axes, arms, bodies, count, tolerance, sweeps, taken, impulse):
    seen = BodyContacts(
        contacts.a,
        contacts.b,
        matrix(pointer_as(contacts.axes, LANES4), 0, contacts.axes.shape[0], 3),
        matrix(pointer_as(contacts.arm_a, LANES4), 0, contacts.arm_a.shape[0], 3),
        matrix(pointer_as(contacts.arm_b, LANES4), 0, contacts.arm_b.shape[0], 3),
        matrix(pointer_as(contacts.spin_a, LANES4), 0, contacts.spin_a.shape[0], 3),
        matrix(pointer_as(contacts.spin_b, LANES4), 0, contacts.spin_b.shape[0], 3),
        matrix(pointer_as(contacts.block, LANES4), 0, contacts.block.shape[0], 10),
        vector(pointer_as(contacts.target, LANES4), 0, contacts.target.shape[0]),
        vector(pointer_as(contacts.R, LANES4), 0, contacts.R.shape[0]),
        vector(pointer_as(contacts.mu, LANES4), 0, contacts.mu.shape[0]),
        vector(pointer_as(contacts.active, LANES4), 0, contacts.active.shape[0]),
    )
    moving = Bodies(
        matrix(pointer_as(bodies.linear, LANES4), 0, bodies.linear.shape[0], 3),
        matrix(pointer_as(bodies.angular, LANES4), 0, bodies.angular.shape[0], 3),
        vector(pointer_as(bodies.inverse_mass, LANES4), 0, bodies.inverse_mass.shape[0]),
        matrix(pointer_as(bodies.inverse_inertia, LANES4), 0, bodies.inverse_inertia.shape[0], 6),
    )
    _solve_bodies(
        seen,
        matrix(pointer_as(axes, LANES4), 0, axes.shape[0], 3),
        matrix(pointer_as(arms, LANES4), 0, arms.shape[0], 3),
        moving,
        count,
        tolerance,
        sweeps,
        vector(pointer_as(taken, LANES4), 0, taken.shape[0]),
        vector(pointer_as(impulse, LANES4), 0, impulse.shape[0]),
    )


class Scene(NamedTuple):
    """Free bodies and contacts between them; the last body is the world."""

    a: np.ndarray
    b: np.ndarray
    axes: np.ndarray
    arms: np.ndarray
    linear: np.ndarray
    angular: np.ndarray
    inverse_mass: np.ndarray
    inverse_inertia: np.ndarray
    mu: np.ndarray
    target: np.ndarray
    R: np.ndarray
    active: np.ndarray


def stacked(scenes: list[Scene]) -> Scene:
    """Four worlds of one layout, the world as the last axis."""
    first = scenes[0]
    return Scene(
        first.a, first.b, *(np.stack(x, axis=-1) for x in zip(*(s[2:] for s in scenes), strict=True))
    )


def solve_bodies(scene: Scene, tolerance=1e-13, sweeps=20_000, guess=None):
    """Impulses (3 contacts,), velocities after them, and sweeps taken."""
    nc = len(scene.a)
    tail = scene.mu.shape[1:]
    rooms = [aligned(np.zeros((3 * nc, 3, *tail))) for _ in range(5)]
    contacts = BodyContacts(
        np.array(scene.a, dtype=np.int64),
        np.array(scene.b, dtype=np.int64),
        *rooms,
        aligned(np.zeros((nc, 10, *tail))),
        *(aligned(x) for x in (scene.target, scene.R, scene.mu, scene.active)),
    )
    bodies = Bodies(
        *(aligned(x) for x in (scene.linear, scene.angular, scene.inverse_mass, scene.inverse_inertia))
    )
    taken = aligned(np.zeros((1, *tail)))
    impulse = aligned(np.zeros((3 * nc, *tail)) if guess is None else guess)
    call = bodies_lanes if tail else bodies_one
    axes, arms = aligned(scene.axes), aligned(scene.arms)
    call(contacts, axes, arms, bodies, nc, tolerance, sweeps, taken, impulse)
    return impulse, bodies.linear, bodies.angular, taken[0]


def arrays_of(scene: Scene) -> tuple[BodyContacts, Bodies]:
    """The contacts and bodies of a scene as kernels take them."""
    nc = len(scene.a)
    contacts = BodyContacts(
        np.array(scene.a, dtype=np.int64),
        np.array(scene.b, dtype=np.int64),
        *(aligned(np.zeros((3 * nc, 3))) for _ in range(5)),
        aligned(np.zeros((nc, 10))),
        *(aligned(x) for x in (scene.target, scene.R, scene.mu, scene.active)),
    )
    contacts.axes[:] = scene.axes
    bodies = Bodies(
        *(aligned(x) for x in (scene.linear, scene.angular, scene.inverse_mass, scene.inverse_inertia))
    )
    return contacts, bodies
