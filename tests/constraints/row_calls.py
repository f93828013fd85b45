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
from worldline._src.kernels.constraints import cone_newton as cone_kernel
from worldline._src.kernels.constraints import dual_pgs as dual_kernel
from worldline._src.kernels.constraints import impedance as imp
from worldline._src.kernels.constraints.active_sets import SetWork
from worldline._src.kernels.constraints.body_ncg import SweepWork
from worldline._src.kernels.constraints.body_pgs import Bodies, BodyContacts
from worldline._src.kernels.constraints.cone_newton import ConeProblem, ConeWork
from worldline._src.kernels.constraints.dual_pgs import DualOptions, DualRows, DualWork
from worldline._src.kernels.constraints.mixed_sweeps import HISTORY, MIXED
from worldline._src.kernels.constraints.packed_rows import PackedRows, pack_rows, unpack_forces
from worldline._src.kernels.constraints.rows import CONE, UNILATERAL, Rows
from worldline._src.kernels.constraints.sparse_hessian import Pattern
from worldline._src.kernels.constraints.tables import OF_CONTACT, OF_FRICTION
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


class Notes(NamedTuple):
    """What rows belong to."""

    row_note: np.ndarray
    row_active: np.ndarray


class Problem(NamedTuple):
    """Rows of the fixed layout, columns for packed ones and scratch; see `packed_rows.py`."""

    rows: Rows
    notes: Notes
    mask: np.ndarray
    packed: PackedRows
    pattern: Pattern
    M: np.ndarray
    H: np.ndarray
    G: np.ndarray
    vectors: np.ndarray
    scratch: np.ndarray
    done: np.ndarray


@inline
def _solve_sets(p, done, tries, force, a):
    n = p.rows.kind.shape[0]
    count = pack_rows(p.rows, p.notes, p.mask, n, False, p.M.shape[0], force, p.packed)
    work = SetWork(p.H, p.vectors, p.scratch[0], p.scratch[1], p.scratch[2])
    solved = sets_kernel.active_sets(p.packed, count, p.M, p.pattern, done, work, tries, a)
    unpack_forces(p.packed, p.notes.row_active, p.done, force)
    return solved


@inline
def _solve_cones(p, guess, tolerance, done, tries, force, a):
    n = p.rows.kind.shape[0]
    count = pack_rows(p.rows, p.notes, p.mask, n, True, p.M.shape[0], force, p.packed)
    work = ConeWork(p.H, p.G, p.vectors, p.scratch[0], p.scratch[1], p.scratch[2])
    solved = cone_kernel.cone_newton(
        p.packed, count, ConeProblem(p.M, p.pattern, guess, tolerance), done, work, tries, a
    )
    unpack_forces(p.packed, p.notes.row_active, p.done, force)
    return solved


@inline
def _in_lanes(p):
    """The same arrays as those of lanes."""
    n, capacity, nv = p.rows.kind.shape[0], p.packed.J.shape[0], p.M.shape[0]
    w = pointer_as(p.scratch, LANES4)
    number = (p.packed.aref, p.packed.D, p.packed.low, p.packed.high, p.packed.force)
    return Problem(
        Rows(
            matrix(pointer_as(p.rows.J, LANES4), 0, n, nv),
            vector(pointer_as(p.rows.aref, LANES4), 0, n),
            vector(pointer_as(p.rows.D, LANES4), 0, n),
            vector(pointer_as(p.rows.bound, LANES4), 0, n),
            p.rows.kind,
            p.rows.dim,
        ),
        Notes(p.notes.row_note, vector(pointer_as(p.notes.row_active, LANES4), 0, n)),
        p.mask,
        PackedRows(
            matrix(pointer_as(p.packed.J, LANES4), 0, capacity, nv),
            vector(pointer_as(number[0], LANES4), 0, capacity),
            vector(pointer_as(number[1], LANES4), 0, capacity),
            vector(pointer_as(number[2], LANES4), 0, capacity),
            vector(pointer_as(number[3], LANES4), 0, capacity),
            vector(pointer_as(number[4], LANES4), 0, capacity),
            p.packed.column,
            p.packed.count,
            p.packed.mask,
            p.packed.source,
            p.packed.end,
        ),
        p.pattern,
        matrix(pointer_as(p.M, LANES4), 0, nv, nv),
        matrix(pointer_as(p.H, LANES4), 0, nv, nv),
        matrix(pointer_as(p.G, LANES4), 0, capacity, nv),
        matrix(pointer_as(p.vectors, LANES4), 0, 6, nv),
        matrix(w, 0, 3, capacity),
        vector(pointer_as(p.done, LANES4), 0, 1),
    )


@entry
def sets_one(p, tries, force, a, done):
    tries[1] = _solve_sets(p, done, tries, force, a)


@entry
def sets_lanes(p, tries, force, a, done):
    taken = vector(pointer_as(tries, LANES4), 0, 2)
    n, nv = p.rows.kind.shape[0], p.M.shape[0]
    x, y = vector(pointer_as(force, LANES4), 0, n), vector(pointer_as(a, LANES4), 0, nv)
    taken[1] = _solve_sets(_in_lanes(p), constant(done, taken[0]), taken, x, y)


@entry
def cones_one(p, guess, tolerance, tries, force, a, done):
    tries[1] = _solve_cones(p, guess, tolerance, done, tries, force, a)


@entry
def cones_lanes(p, guess, tolerance, tries, force, a, done):
    taken = vector(pointer_as(tries, LANES4), 0, 2)
    n, nv = p.rows.kind.shape[0], p.M.shape[0]
    x, y = vector(pointer_as(force, LANES4), 0, n), vector(pointer_as(a, LANES4), 0, nv)
    start = vector(pointer_as(guess, LANES4), 0, nv)
    taken[1] = _solve_cones(
        _in_lanes(p), start, constant(tolerance, taken[0]), constant(done, taken[0]), taken, x, y
    )


def _packing(kind, dim, J, M, D, aref, bound, active, done):
    """A problem with room for its packed rows; arrays of four worlds have them as their last axis."""
    n, nv = J.shape[:2]
    tail, capacity = aref.shape[1:], (n + 3) // 4 * 4 + 4
    rows = Rows(
        aligned(J),
        aligned(aref),
        aligned(D),
        aligned(bound),
        np.array(kind, np.int64),
        np.broadcast_to(dim, n).astype(np.int64),
    )
    packed = PackedRows(
        aligned(np.zeros((capacity, nv, *tail))),
        *(aligned(np.zeros((capacity, *tail))) for _ in range(5)),
        np.zeros((capacity, nv), np.int64),
        *(np.zeros(capacity, np.int64) for _ in range(2)),
        np.zeros((capacity, 8), np.int64),
        np.array([0, 0, 0, 0, 0, tail[0] if tail else 1, *([0] * 9)]),
    )
    # rows of one sign are those of contacts
    note = np.zeros((n, 2), np.int64)
    note[:, 0] = np.where((rows.kind == UNILATERAL) | (rows.kind == CONE), OF_CONTACT, OF_FRICTION)
    used = np.abs(np.reshape(J, (n, nv, -1))).max(axis=2) > 0.0
    mask = np.array([sum(1 << int(d) for d in np.flatnonzero(row)) for row in used])
    pattern = Pattern(
        np.zeros((nv, nv), np.int64),
        np.zeros(nv, np.int64),
        np.zeros(nv, np.int64),
        np.arange(nv) - 1,
    )
    return Problem(
        rows,
        Notes(note, aligned(active)),
        mask,
        packed,
        pattern,
        aligned(M),
        *(aligned(np.zeros((*shape, nv, *tail))) for shape in ((nv,), (capacity,), (6,))),
        aligned(np.zeros((3, capacity, *tail))),
        aligned(np.full((1, *tail), done)),
    )


def active_sets(kind, J, M, D, aref, bound, active, smooth, guess, done=0.0):
    """Forces, accelerations, 1 where solved, systems taken; one world, or four when aref has a second axis."""
    p, tail = _packing(kind, 0, J, M, D, aref, bound, active, done), np.shape(aref)[1:]
    tries, force, a = aligned(np.zeros((2, *tail))), aligned(guess), aligned(smooth)
    (sets_lanes if tail else sets_one)(p, tries, force, a, done)
    return force, a, tries[1], tries[0]


def cone_newton(kind, dim, J, M, D, aref, bound, active, smooth, guess, done=0.0, tolerance=1e-9):
    """The same for rows with elliptic cones."""
    p, tail = _packing(kind, dim, J, M, D, aref, bound, active, done), np.shape(aref)[1:]
    tries, force, a = aligned(np.zeros((2, *tail))), aligned(guess), aligned(smooth)
    pull = np.moveaxis(np.einsum("kd...,k...->d...", J, guess * active), 0, -1)[..., None]
    answer = np.moveaxis(np.linalg.solve(np.moveaxis(M, (0, 1), (-2, -1)), pull)[..., 0], -1, 0)
    (cones_lanes if tail else cones_one)(p, aligned(answer), tolerance, tries, force, a, done)
    return force, a, tries[1], tries[0]


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
def prepare_and_warm(contacts, axes, arms, bodies, count, impulse):
    """Prepare all contacts and begin with the impulses given."""
    for c in range(count):
        prepare_row(bodies, axes, arms, c, contacts)
    bodies_kernel.warm_start(contacts, count, bodies, impulse)


@inline
def _solve_bodies(contacts, axes, arms, bodies, count, tolerance, sweeps, taken, impulse):
    prepare_and_warm(contacts, axes, arms, bodies, count, impulse)
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


def sweep_work(contacts, value=0.0):
    """Scratch of sweeps over contacts, filled with a value."""
    shapes = (3 * contacts, 3 * contacts, (HISTORY, 3 * contacts), (MIXED, MIXED + 1))
    return SweepWork(*(aligned(np.full(shape, value)) for shape in shapes))


def conjugate_solve(solve, scene, sweeps, tolerance, start):
    """Contacts, bodies and impulses of a scene after `solve`, sweeps taken, and what it returns."""
    nc = len(scene.a)
    contacts, bodies = arrays_of(scene)
    conjugate = sweep_work(nc)
    taken, impulse = aligned(np.zeros(1)), aligned(np.full(3 * nc, start))
    limits = (tolerance, sweeps, tolerance)
    left = solve(contacts, aligned(scene.arms), bodies, limits, conjugate, taken, impulse)
    return contacts, bodies, impulse, taken[0], left


def check_done_world_is_left_alone(solve, problem):
    """A world that is done keeps its forces and its accelerations."""
    problem["guess"][:] = 0.25
    force, a, _, tries = solve(done=1.0, **problem)
    assert (force == 0.25).all()
    assert np.array_equal(a, problem["smooth"])
    assert tries == 0.0


def check_lanes_equal_one_world(solve, worlds):
    """Four worlds together give the bits of each alone, though they take different numbers of systems."""
    stacked = {name: np.stack([w[name] for w in worlds], axis=-1) for name in worlds[0]}
    together = solve(**stacked)
    counts = set()
    for lane in range(LANES):
        alone = solve(**worlds[lane])
        for many, one in zip(together, alone, strict=True):
            assert np.array_equal(many[..., lane], one)
        counts.add(float(alone[3]))
    assert len(counts) > 1, "worlds that take equally many systems would not show it"
