# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Constraint problems recorded from MuJoCo, in the form our row kernels take.

MuJoCo builds Jacobian rows, reference accelerations and regularizers; its converged Newton solution is the
answer to compare with. Nothing of ours builds these rows, so the solvers are tested on their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from worldline._src.jit import entry
from worldline._src.kernels.constraints.newton import NewtonOptions, NewtonStats, NewtonWork
from worldline._src.kernels.constraints.newton import newton as newton_kernel
from worldline._src.kernels.constraints.rows import CONE, EQUALITY, FRICTION, UNILATERAL, Rows
from worldline._src.scalar.memory import aligned_zeros
from worldline._src.scalar.packed import padded

KINDS = {
    mujoco.mjtConstraint.mjCNSTR_EQUALITY: EQUALITY,
    mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF: FRICTION,
    mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON: FRICTION,
    mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT: UNILATERAL,
    mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON: UNILATERAL,
    mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS: UNILATERAL,
    mujoco.mjtConstraint.mjCNSTR_CONTACT_PYRAMIDAL: UNILATERAL,
    mujoco.mjtConstraint.mjCNSTR_CONTACT_ELLIPTIC: CONE,
}


class Recorded(NamedTuple):
    """A problem and MuJoCo's answer."""

    M: np.ndarray
    a_smooth: np.ndarray
    a_guess: np.ndarray
    rows: Rows
    n: int
    qacc: np.ndarray
    force: np.ndarray


def block(*shape: int) -> np.ndarray:
    """Zeros on a boundary that machine vectors like."""
    return aligned_zeros(int(np.prod(shape))).reshape(shape)


def gymnasium_model(name: str, **options: Any) -> mujoco.MjModel:
    import gymnasium

    path = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"
    model = mujoco.MjModel.from_xml_path(str(path))
    return with_options(model, **options)


def with_options(model: mujoco.MjModel, elliptic: bool | None = None, dim: int = 0) -> mujoco.MjModel:
    """A converged Newton solver, a cone by wish, contacts of one dimension by wish."""
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.iterations = 200
    model.opt.ls_iterations = 200
    model.opt.tolerance = 0.0
    model.opt.ls_tolerance = 1e-10
    model.opt.noslip_iterations = 0
    if elliptic is not None:
        kind = mujoco.mjtCone
        model.opt.cone = kind.mjCONE_ELLIPTIC if elliptic else kind.mjCONE_PYRAMIDAL
    if dim:
        model.geom_condim[:] = dim
        model.geom_friction[:] = (0.7, 0.02, 0.01)
    return model


def dense_jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    n, nv = data.nefc, model.nv
    if not mujoco.mj_isSparse(model):
        return data.efc_J.reshape(n, nv).copy()
    J = np.zeros((n, nv))
    for k in range(n):
        start, count = data.efc_J_rowadr[k], data.efc_J_rownnz[k]
        J[k, data.efc_J_colind[start : start + count]] = data.efc_J[start : start + count]
    return J


def record(model: mujoco.MjModel, data: mujoco.MjData, capacity: int | None = None) -> Recorded:
    """The constraint problem of the present state; `mj_forward` has been called."""
    n, nv = data.nefc, model.nv
    capacity = capacity or n + 5
    width = padded(nv)
    full = np.zeros((nv, nv))
    mujoco.mj_fullM(model, data, full) if _new_full_matrix() else mujoco.mj_fullM(model, full, data.qM)
    M = block(nv, width)
    M[:, :nv] = full
    J, aref, D, bound = block(capacity, width), block(capacity), block(capacity), block(capacity)
    kind, dim = np.zeros(capacity, dtype=np.int64), np.zeros(capacity, dtype=np.int64)
    J[:n, :nv] = dense_jacobian(model, data)
    aref[:n], D[:n] = data.efc_aref, data.efc_D
    kind[:n] = [KINDS[mujoco.mjtConstraint(t)] for t in data.efc_type]
    bound[:n] = data.efc_frictionloss
    for contact in data.contact:
        k = contact.efc_address
        if k >= 0 and kind[k] == CONE:
            dim[k] = contact.dim
            bound[k] = contact.mu
            bound[k + 1 : k + contact.dim] = contact.friction[: contact.dim - 1]
    return Recorded(
        M,
        data.qacc_smooth.copy(),
        data.qacc_warmstart.copy(),
        Rows(J, aref, D, bound, kind, dim),
        n,
        data.qacc.copy(),
        data.efc_force.copy(),
    )


def _new_full_matrix() -> bool:
    """MuJoCo 3.4 changed the arguments of mj_fullM."""
    return "dst" in (mujoco.mj_fullM.__doc__ or "") and "MjData" in (mujoco.mj_fullM.__doc__ or "")


def newton_work(nv: int, capacity: int) -> NewtonWork:
    width = padded(nv)
    return NewtonWork(
        block(width, width),
        block(width, width),
        block(8, width),
        block(6, width),
        block(6, 6),
        block(5, capacity),
        *(np.zeros(capacity, dtype=np.int64) for _ in range(3)),
        *(np.zeros(width, dtype=np.int64) for _ in range(4)),
    )


@entry
def newton(M, a_smooth, rows, n, options, work, force, a):
    return newton_kernel(M, a_smooth, rows, n, options, work, force, a)


@entry
def newton_again(times, guess, M, a_smooth, rows, n, options, work, force, a):
    """The same solve many times from the same guess, for timing."""
    stats = newton_kernel(M, a_smooth, rows, n, options, work, force, a)
    for _ in range(times):
        for i in range(guess.shape[0]):
            a[i] = guess[i]
        stats = newton_kernel(M, a_smooth, rows, n, options, work, force, a)
    return stats


EXACT = NewtonOptions(1e-15, 100, 1e-8, 60, 10**9)
USUAL = NewtonOptions(1e-8, 100, 1e-2, 50, 10**9)


def solve_newton(problem: Recorded, guess=None, options: NewtonOptions = EXACT):
    """Acceleration, forces and statistics by our Newton kernel."""
    work = newton_work(problem.M.shape[0], problem.rows.aref.shape[0])
    a = np.array(problem.a_guess if guess is None else guess)
    force = block(problem.rows.aref.shape[0])
    stats = newton(problem.M, problem.a_smooth, problem.rows, problem.n, options, work, force, a)
    return a, force[: problem.n], NewtonStats(*stats)


def fallen(model: mujoco.MjModel, seed: int, steps: int) -> mujoco.MjData:
    """A state after random controls, with the answer of this state computed."""
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(model)
    data.qpos[:] += rng.normal(scale=0.02, size=model.nq)
    data.qvel[:] = rng.normal(scale=0.5, size=model.nv)
    for _ in range(steps):
        data.ctrl[:] = rng.uniform(-1, 1, model.nu)
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return data
