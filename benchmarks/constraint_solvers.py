# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Constraint solvers on problems recorded from MuJoCo, against MuJoCo's own solver on the same problem.

Ours: the kernel called many times inside compiled code, from the guess of the step before. MuJoCo's:
`mj_fwdConstraint` from Python with the same guess, less the cost of such a call. Same tolerance 1e-8, one
thread. Answers are compared before anything is timed. Piles of free bodies go to sequential impulses: there
the same contacts are solved at the level of velocities with a fixed number of sweeps.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import mujoco
import numpy as np
from rich.console import Console

from benchmarks.timing import table_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "constraints"))

from mujoco_rows import USUAL, block, fallen, gymnasium_model, newton_again, newton_work, record
from row_calls import LANES, Scene, stacked

from worldline._src.jit import entry, inline
from worldline._src.kernels.constraints import body_pgs as bp
from worldline._src.scalar.lanes import LANES4
from worldline._src.scalar.memory import aligned_zeros, matrix, pointer_as, vector

ROUNDS = 7
SWEEPS = 20


def usual(model: mujoco.MjModel) -> mujoco.MjModel:
    model.opt.tolerance, model.opt.iterations = 1e-8, 100
    model.opt.ls_tolerance, model.opt.ls_iterations = 0.01, 50
    return model


def solver_times(model: mujoco.MjModel, seed: int, steps: int, repeats: int):
    """(rows, our time, our steps, MuJoCo's time, its steps) for one state; None without rows."""
    data = fallen(usual(model), seed, steps)
    guess = data.qacc_warmstart.copy()
    mujoco.mj_fwdConstraint(model, data)
    problem = record(model, data)
    n = problem.n
    if n < 3:
        return None
    work, force, a = newton_work(model.nv, n + 5), block(n + 5), guess.copy()
    arguments = (guess, problem.M, problem.a_smooth, problem.rows, n, USUAL, work, force, a)
    stats = newton_again(1, *arguments)
    if not np.abs(a - problem.qacc).max() < 1e-4 * np.abs(problem.qacc).max():
        raise AssertionError("differs from MuJoCo; not timing wrong results")

    def theirs(function) -> float:
        start = time.perf_counter()
        for _ in range(repeats):
            data.qacc_warmstart[:] = guess
            function()
        return (time.perf_counter() - start) / repeats

    ours = peer = np.inf
    for _ in range(ROUNDS):
        start = time.perf_counter()
        newton_again(repeats - 1, *arguments)
        ours = min(ours, (time.perf_counter() - start) / repeats)
        call = theirs(lambda: mujoco.mj_getTotalmass(model))
        peer = min(peer, theirs(lambda: mujoco.mj_fwdConstraint(model, data)) - call)
    return n, ours, stats.iterations, peer, int(data.solver_niter[0])


def newton_table(console: Console) -> None:
    table = table_of(
        "Newton on recorded problems, time of a solve in us; (iterations)",
        "model | dofs | cone | rows | worldline | MuJoCo | ratio",
    )
    scenes = [(name, name, 200) for name in ("ant", "half_cheetah", "humanoid", "humanoidstandup")]
    for label, name, steps in scenes:
        for elliptic in (False, True):
            model = gymnasium_model(name, elliptic=elliptic)
            found = [x for seed in range(4) if (x := solver_times(model, seed, steps, 2000))]
            for n, ours, k, peer, m in sorted(found)[-1:]:
                table.add_row(
                    label,
                    str(model.nv),
                    "elliptic" if elliptic else "pyramid",
                    str(n),
                    f"{1e6 * ours:.1f} ({k})",
                    f"{1e6 * peer:.1f} ({m})",
                    f"{peer / ours:.1f}",
                )
    for count, label in ((10, "stack of 10 boxes"),):
        for elliptic in (False, True):
            model = mujoco.MjModel.from_xml_string(tower(count))
            kind = mujoco.mjtCone
            model.opt.cone = kind.mjCONE_ELLIPTIC if elliptic else kind.mjCONE_PYRAMIDAL
            found = solver_times(model, 0, 0, 300)
            if found:
                n, ours, k, peer, m = found
                cells = (f"{1e6 * ours:.1f} ({k})", f"{1e6 * peer:.1f} ({m})", f"{peer / ours:.1f}")
                table.add_row(label, str(model.nv), "elliptic" if elliptic else "pyramid", str(n), *cells)
    console.print(table)


def tower(count: int) -> str:
    boxes = "".join(
        f'<body pos="0 0 {0.1 + 0.199 * i}"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>'
        for i in range(count)
    )
    return f'<mujoco><worldbody><geom type="plane" size="5 5 1"/>{boxes}</worldbody></mujoco>'


def pile(count: int) -> mujoco.MjModel:
    rng = np.random.default_rng(0)
    bodies = "".join(
        f'<body pos="{x} {y} {0.12 + 0.25 * (i // 16)}"><freejoint/>'
        f'<geom type="{"box" if i % 2 else "sphere"}" size=".1 .1 .1" mass="1"/></body>'
        for i in range(count)
        for x, y in [0.25 * np.array([i % 4, i // 4 % 4]) + rng.uniform(-0.02, 0.02, 2)]
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="5 5 1"/>{bodies}</worldbody></mujoco>'
    )


def free_bodies(model: mujoco.MjModel, data: mujoco.MjData) -> Scene:
    """Contacts of free bodies at the level of velocities; the world is the last body."""
    nb, nc = model.nbody - 1, data.ncon
    body = model.geom_bodyid
    a, b = body[data.contact.geom1] - 1, body[data.contact.geom2] - 1
    axes = data.contact.frame.reshape(3 * nc, 3)
    centre = np.vstack([data.xipos[1:], np.zeros(3)])
    arms = np.empty((2 * nc, 3))
    arms[0::2] = data.contact.pos - centre[a]
    arms[1::2] = data.contact.pos - centre[b]
    R = data.ximat[1:].reshape(nb, 3, 3)
    full = np.einsum("bij,bj,bkj->bik", R, 1.0 / model.body_inertia[1:], R)
    inertia = np.zeros((nb + 1, 6))
    inertia[:nb] = full[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    linear, angular = np.zeros((nb + 1, 3)), np.zeros((nb + 1, 3))
    velocity = (data.qvel + model.opt.timestep * data.qacc_smooth).reshape(nb, 6)
    linear[:nb] = velocity[:, :3]
    angular[:nb] = np.einsum("bij,bj->bi", data.xmat[1:].reshape(nb, 3, 3), velocity[:, 3:])
    target = np.zeros(3 * nc)
    target[0::3] = np.minimum(0.2 * -data.contact.dist / model.opt.timestep, 1.0)
    mass = np.r_[1.0 / model.body_mass[1:], 0.0]
    a, b = np.where(a < 0, nb, a), np.where(b < 0, nb, b)
    return Scene(a, b, axes, arms, linear, angular, mass, inertia, data.contact.friction[:, 0].copy(),
                 target, np.full(3 * nc, 1e-6), np.ones(nc))  # fmt: skip


@inline
def _again(times, contacts, axes, arms, count, sweeps, taken, start, bodies, impulse):
    for _ in range(times):
        for i in range(bodies.linear.shape[0]):
            for j in range(3):
                bodies.linear[i, j] = start[i, j]
                bodies.angular[i, j] = start[i, 3 + j]
        for k in range(3 * count):
            impulse[k] = impulse[k] * 0.0
        for c in range(count):
            three = (bp.load_vec3(axes, 3 * c), bp.load_vec3(axes, 3 * c + 1), bp.load_vec3(axes, 3 * c + 2))
            bp.prepare_contact(
                bodies, c, bp.load_vec3(arms, 2 * c), bp.load_vec3(arms, 2 * c + 1), three, contacts
            )
        bp.warm_start(contacts, count, bodies, impulse)
        bp.body_pgs(contacts, count, 0.0, sweeps, taken, bodies, impulse)


@entry
def again_one(times, contacts, axes, arms, count, sweeps, taken, start, bodies, impulse):
    """Prepare and solve many times, one world."""
    _again(times, contacts, axes, arms, count, sweeps, taken, start, bodies, impulse)


@entry
def again_lanes(times, ints, real, widths, body_real, count, sweeps, start, taken, impulse):
    """The same in lanes; arrays come one after another in two blocks."""
    nc, nb = ints.shape[1], start.shape[0]
    r, q = pointer_as(real, LANES4), pointer_as(body_real, LANES4)
    n3 = 9 * nc
    contacts = bp.BodyContacts(
        ints[0],
        ints[1],
        matrix(r, 0, 3 * nc, 3),
        matrix(r, n3, 3 * nc, 3),
        matrix(r, 2 * n3, 3 * nc, 3),
        matrix(r, 3 * n3, 3 * nc, 3),
        matrix(r, 4 * n3, 3 * nc, 3),
        matrix(r, 5 * n3, nc, 10),
        vector(r, 5 * n3 + 10 * nc, 3 * nc),
        vector(r, 5 * n3 + 13 * nc, 3 * nc),
        vector(r, 5 * n3 + 16 * nc, nc),
        vector(r, 5 * n3 + 17 * nc, nc),
    )
    axes, arms = matrix(r, 5 * n3 + 18 * nc, 3 * nc, 3), matrix(r, 6 * n3 + 18 * nc, 2 * nc, 3)
    bodies = bp.Bodies(
        matrix(q, 0, nb, 3), matrix(q, 3 * nb, nb, 3), vector(q, 6 * nb, nb), matrix(q, 7 * nb, nb, 6)
    )
    first = matrix(pointer_as(start, LANES4), 0, nb, 6)
    count_of, f = vector(pointer_as(taken, LANES4), 0, 1), vector(pointer_as(impulse, LANES4), 0, 3 * nc)
    _again(widths, contacts, axes, arms, count, sweeps, count_of, first, bodies, f)


def bodies_time(scene: Scene, repeats: int) -> float:
    """Time of preparing and solving a scene, per world; lanes when it has four worlds."""
    nc, nb = len(scene.a), scene.inverse_mass.shape[0]
    tail = scene.mu.shape[1:]
    ints = np.array([scene.a, scene.b], dtype=np.int64)
    start = _aligned(np.concatenate([scene.linear, scene.angular], axis=1))
    taken, impulse = block(1, *tail), block(3 * nc, *tail)
    real = np.concatenate(
        [np.zeros((55 * nc, *tail))]
        + [
            x.reshape(-1, *tail)
            for x in (scene.target, scene.R, scene.mu, scene.active, scene.axes, scene.arms)
        ]
    )
    body_real = np.concatenate(
        [
            x.reshape(-1, *tail)
            for x in (scene.linear, scene.angular, scene.inverse_mass, scene.inverse_inertia)
        ]
    )
    if tail:
        arguments = (ints, _aligned(real), repeats, _aligned(body_real), nc, SWEEPS, start, taken, impulse)
        run, worlds = (lambda: again_lanes(1, *arguments)), LANES
    else:
        rooms = [block(3 * nc, 3) for _ in range(5)]
        contacts = bp.BodyContacts(
            *ints, *rooms, block(nc, 10), scene.target, scene.R, scene.mu, scene.active
        )
        bodies = bp.Bodies(block(nb, 3), block(nb, 3), scene.inverse_mass, scene.inverse_inertia)
        arguments = (contacts, scene.axes, scene.arms, nc, SWEEPS, taken, start, bodies, impulse)
        run, worlds = (lambda: again_one(repeats, *arguments)), 1
    run()
    best = np.inf
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best / repeats / worlds


def _aligned(array: np.ndarray) -> np.ndarray:
    copy = aligned_zeros(array.size).reshape(array.shape)
    copy[...] = array
    return copy


def pile_table(console: Console) -> None:
    table = table_of(
        f"A pile of 96 free bodies, {SWEEPS} sweeps from cold, time of a solve in us",
        "contacts | one world | in 4 lanes | MuJoCo Newton | ratio | gain of lanes",
    )
    model = usual(pile(96))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 400)
    mujoco.mj_forward(model, data)
    scene = free_bodies(model, data)
    guess = data.qacc_warmstart.copy()
    peer = np.inf
    for _ in range(ROUNDS):
        data.qacc_warmstart[:] = guess
        start = time.perf_counter()
        mujoco.mj_fwdConstraint(model, data)
        peer = min(peer, time.perf_counter() - start)
    one, lanes = bodies_time(scene, 50), bodies_time(stacked([scene] * LANES), 50)
    table.add_row(
        str(len(scene.a)),
        f"{1e6 * one:.0f}",
        f"{1e6 * lanes:.0f}",
        f"{1e6 * peer:.0f}",
        f"{peer / one:.1f}",
        f"{one / lanes:.1f}",
    )
    console.print(table)


def run(console: Console) -> None:
    """Print both tables."""
    newton_table(console)
    pile_table(console)
