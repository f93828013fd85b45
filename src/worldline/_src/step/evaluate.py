# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From a function call on arrays to a run of compiled stages: checks, outputs, lanes and threads."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from worldline._src.errors import ArgumentError, CapabilityError
from worldline._src.jit import DISABLED, Stage
from worldline._src.kinds import (
    DUAL,
    LANES4,
    LANES4_OWN,
    LANES8,
    LANES8_OWN,
    SINGLE8,
    SINGLE8_OWN,
    SINGLE16,
    SINGLE16_OWN,
    float64,
)
from worldline._src.masked import has_masked_entries
from worldline._src.model.fields import BY_NAME, extent
from worldline._src.model.kinds import QUATERNION_JOINTS
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.lanes import native_width
from worldline._src.scalar.memory import aligned_zeros
from worldline._src.spatial.poses import Array
from worldline._src.step import runner

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_F64 = np.dtype(np.float64)
NO_ARGS = np.zeros(4, np.int64)
WITH_GRAVITY = np.array([1, 0, 0, 0], np.int64)
_UNUSED = (np.zeros(0),) * 4
_ONE = np.array([0, 1, runner.CHECK])
"""What is run in the usual call: one world, whose operands are checked."""
_SINGULAR = 1e-6
"""A mass matrix of unit diagonal whose Cholesky factor has a smaller diagonal entry has no inverse."""

SCALARS: dict[str, tuple[Any, int]] = {
    "float": (float64, 1),
    "lanes4": (LANES4, 4),
    "lanes8": (LANES8, 8),
    "lanes4own": (LANES4_OWN, 4),
    "lanes8own": (LANES8_OWN, 8),
    "single8": (SINGLE8, 8),
    "single16": (SINGLE16, 16),
    "single8own": (SINGLE8_OWN, 8),
    "single16own": (SINGLE16_OWN, 16),
    "dual": (DUAL, 2),
}
"""Name of every scalar: its compiled type and how many numbers it has."""


@dataclass(frozen=True, eq=False)
class Program:
    """Stages in the order they run, the operands they need and the field that holds the result."""

    name: str
    stages: tuple[Stage, ...]
    operands: tuple[str, ...]
    names: tuple[str, ...]
    """What error messages call the operands."""
    shape: tuple[str | int, ...]
    """Symbolic shape of the result for one world."""
    result: str = "result"
    partial: bool = False
    """True when bodies outside articulations do no harm; their part of the result is undefined."""
    one_by_one: bool = False
    """True for programs that branch so much that lanes would not pay."""
    needs_inertia: Literal["no", "mobile", "all"] = "no"
    """Which degrees of freedom must have something to accelerate: none, those not kinematic, all."""


_DENSE_STAGES = {
    "mass_matrix",
    "factor_mass_matrix",
    "invert_mass_matrix",
    "solve_mass_matrix",
    "impulse_response",
}
"""Stages that use the mass matrix of a whole model or its factor."""

_LINEAR_RESULT = 16
"""Room for the result of other programs, in numbers a degree of freedom and a link."""


class _Plan(NamedTuple):
    """A program laid out for a model."""

    table: np.ndarray
    cores: tuple[tuple[str, tuple[int, ...]], ...]
    """Name and shape of every operand for one world."""
    ready: dict[str, tuple[Any, Any, list[np.ndarray]]]
    """By scalar: compiled stages, the loop that runs them, arenas nobody uses."""
    size: int
    """Numbers that an arena has for one world."""


def plan_of(model: Model, program: Program) -> _Plan:
    """Lay a program out for a model; refuses a model that it cannot evaluate."""
    arenas = model.arenas
    if not program.partial:
        require_articulations(model, program.name)
    if program.needs_inertia != "no":
        require_inertia(model, program.name, program.needs_inertia == "all")
    cores = [extent(BY_NAME[name].shape, arenas.sizes) for name in program.operands]
    # offsets of operands and result, then how many numbers each has
    table = np.full(10, -1, np.int64)
    table[5:] = 0
    for k, name in enumerate(program.operands):
        table[k] = arenas.offsets[name]
        table[5 + k] = math.prod(cores[k])
    table[4] = arenas.offsets[program.result]
    table[9] = math.prod(extent(program.shape, arenas.sizes))
    # only some programs need what grows with the square of the size, and large worlds have no room for it
    size = arenas.step_size + _LINEAR_RESULT * (arenas.sizes["nv"] + arenas.sizes["nlink"])
    if any(stage.name in _DENSE_STAGES for stage in program.stages) or arenas.step_size + table[9] > size:
        size = arenas.data_size
    return _Plan(table, tuple(zip(program.names, cores, strict=True)), {}, min(size, arenas.data_size))


def require_articulations(model: Model, what: str) -> None:
    """Raise when a joint or a body is in no articulation."""
    loose = [model.joint_label[j] for j in model.orphan_joints]
    loose += [model.body_label[b] for b in model.loose_bodies]
    if loose:
        raise ArgumentError(
            f"{what} needs every joint and body in an articulation; these are not: {', '.join(loose)}"
        )


def _joint_of(model: Model, d: int) -> str:
    """Label of the joint of a degree of freedom."""
    return model.joint_label[int(np.searchsorted(model.joint_qd_start, d, side="right")) - 1]


def _require_finite(model: Model, what: str, M: Array, first: int) -> None:
    """Refuse a mass matrix of a tree, whose degrees of freedom begin with `first`, that is not finite."""
    bad = np.flatnonzero(~np.isfinite(M).all(axis=1))
    if bad.size:
        raise ArgumentError(
            f"{what}: what joint '{_joint_of(model, first + int(bad[0]))}' moves has no finite inertia; "
            "masses, lengths or pitches are too large for double precision"
        )


def require_inertia(model: Model, what: str, kinematic_too: bool) -> None:
    """The mass matrix must have an inverse; one position shows that it has, the start or a generic one."""
    key = ("has inertia", kinematic_too)
    if key not in model.inertia_scratch:
        _look_for_inertia(model, what, kinematic_too)
        model.inertia_scratch[key] = True


def _look_for_inertia(model: Model, what: str, kinematic_too: bool) -> None:
    from worldline._src.step.inverse_weights import are_free_bodies, has_regular_inertia, start_inertias
    from worldline._src.step.tree_masses import tree_masses

    if are_free_bodies(model):
        return
    if has_regular_inertia(model) and not (kinematic_too and model.body_kinematic.any()):
        return
    held = np.repeat(model.body_kinematic[model.joint_child], np.diff(model.joint_qd_start))
    d = -1
    for attempt in range(-1, 3):
        if not (held.size and (kinematic_too or not held.all())):
            return
        d = -1
        generic = None if attempt < 0 else _generic_configuration(model, attempt)
        for first, M in start_inertias(model).matrices() if generic is None else tree_masses(model, generic):
            dofs = np.flatnonzero(~held[first : first + len(M)] | kinematic_too)
            _require_finite(model, what, M, first)
            if dofs.size and (worst := _massless_dof(M[np.ix_(dofs, dofs)])) >= 0:
                d = first + int(dofs[worst])
                break
        if d < 0:
            return
    raise ArgumentError(
        f"{what}: joint '{_joint_of(model, d)}' moves nothing that has inertia (degree of freedom {d}, alone "
        "or with others); give its links mass and inertia above 1e-24 kg and kg m^2, or the joint armature"
    )


def _generic_configuration(model: Model, attempt: int) -> Array:
    """Coordinates without a pattern, others for each attempt: multiples of the golden ratio, modulo one."""
    k = np.arange(1, model.joint_coord_count + 1)
    q = 2.0 * np.mod((k + 100 * attempt) * 0.6180339887498949, 1.0) - 1.0
    for j in np.flatnonzero(np.isin(model.joint_type, list(QUATERNION_JOINTS))):
        last = int(model.joint_q_start[j + 1])
        q[last - 4 : last] /= np.linalg.norm(q[last - 4 : last])
    return q


def _massless_dof(M: Array) -> int:
    """The degree of freedom that most belongs to a motion without inertia, -1 when there is none."""
    # where nothing is moved rounding leaves some 1e-30; no mechanism is that light
    diagonal = np.diagonal(M)
    weight = np.where(diagonal > 1e-24, np.sqrt(np.abs(diagonal)), np.inf)
    # one factor at a time: their product may overflow
    scaled = M / weight[:, None] / weight
    with contextlib.suppress(np.linalg.LinAlgError):
        if np.diagonal(np.linalg.cholesky(scaled)).min() > _SINGULAR:
            return -1
    return int(np.argmax(np.abs(np.linalg.eigh(scaled)[1][:, 0])))


def new_arena(model: Model, scalar: str, size: int | None = None) -> np.ndarray:
    """A data arena for a scalar, of `size` numbers a world, with the world's own row filled in."""
    width = SCALARS[scalar][1]
    data = aligned_zeros((model.arenas.data_size if size is None else size) * width)
    # the world's row: identity rotation, everything else zero
    ones = 1 if scalar == "dual" else width
    for field, entries in (("link_R", (0, 4, 8)), ("link_Q", (3,))):
        start = model.arenas.offsets[field]
        for k in entries:
            data[(start + k) * width : (start + k) * width + ones] = 1.0
    return data


def stage_addresses(stages: tuple[Stage, ...], scalar: str = "float") -> Any:
    """Addresses of the machine code of stages, compiled when missing; without a compiler the stages."""
    if DISABLED:
        return stages
    kind = SCALARS[scalar][0]
    return np.array([stage.address(kind) for stage in stages], np.int64)


_programs: dict[tuple[Program, str], Any] = {}
_pools: dict[int, ThreadPoolExecutor] = {}
os.register_at_fork(after_in_child=_pools.clear)  # threads do not live on in a forked process


def compiled(program: Program, scalar: str) -> Any:
    """The addresses of a program's stages for a scalar; compiles what is missing."""
    key = (program, scalar)
    found = _programs.get(key)
    if found is None:
        found = _programs[key] = stage_addresses(program.stages, scalar)
    return found


def _operand(value: Any, core: tuple[int, ...], what: str) -> tuple[Array, int]:
    """One operand as flat contiguous numbers, and its number of worlds, -1 for no world dimension."""
    if type(value) is not np.ndarray:
        if has_masked_entries(value):
            raise ArgumentError(f"{what} must not have masked entries; fill them first")
        try:
            value = np.array(value)
        except ValueError as error:
            raise ArgumentError(
                f"{what} must have shape {_shapes(core)}, got rows of unequal length"
            ) from error
        if value.dtype.kind in "iu":
            value = value.astype(np.float64)
    if value.dtype != _F64:
        raise ArgumentError(f"{what} must be float64, got {value.dtype}")
    shape = value.shape
    if shape == core:
        worlds = -1
    elif shape[1:] == core and len(shape) == len(core) + 1:
        worlds = shape[0]
    else:
        raise ArgumentError(f"{what} must have shape {_shapes(core)}, got {shape}")
    # the loops are compiled for contiguous, aligned, writable arrays; others would be compiled for anew
    return (value if value.flags.carray else value.copy()).reshape(-1), worlds


def _shapes(core: tuple[int, ...]) -> str:
    return f"{core} or (worlds, {', '.join(map(str, core))})"


def check_output(out: Any, shape: tuple[int, ...], operands: Sequence[Array], what: str) -> None:
    """Refuse an array that a result of some shape cannot be written to, or that is part of an operand."""
    if type(out) is not np.ndarray or out.dtype != _F64 or out.shape != shape:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ArgumentError(f"out of {what} must be a float64 array of shape {shape}, got {got}")
    if not out.flags.carray:
        raise ArgumentError(f"out of {what} must be contiguous, aligned and writable")
    for operand in operands:
        if np.may_share_memory(out, operand):
            raise ArgumentError(f"out of {what} must not share memory with an operand")


def number_type(scalar: str) -> np.dtype:
    """The type of the numbers that arenas of a scalar hold."""
    return np.dtype(np.float32 if SCALARS[scalar][0].single else np.float64)


def choose_scalar(lanes: int | None, worlds: int, dtype: DTypeLike = np.float64) -> str:
    """The scalar for a number of worlds; `lanes` overrides.

    There are no single worlds of single precision: one world has the bits that it has among others.
    """
    if np.dtype(dtype) == np.float32:
        widths = {8, 2 * native_width()}
        if lanes is not None and (not is_count(lanes) or lanes not in widths):
            raise ArgumentError(f"lanes of float32 must be None, 8 or (with AVX-512) 16, got {lanes!r}")
        return f"single{max(widths) if lanes is None else lanes}"
    if lanes is None:
        lanes = 1 if worlds < 2 else native_width()
    # wider vectors than the processor has are split late, and round differently from one world alone
    elif not is_count(lanes) or lanes not in (1, 4, native_width()):
        raise ArgumentError(f"lanes must be None, 1, 4 or (with AVX-512) 8, got {lanes!r}")
    return "float" if DISABLED or lanes == 1 else f"lanes{lanes}"


def is_count(value: Any) -> bool:
    """True for whole numbers of 64 bits; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        return False
    return bool(-(1 << 63) <= value < 1 << 63)


class Binding(NamedTuple):
    """In the place of `out`: prepare a call instead of making it; see `binding.py`."""

    arrays: tuple[np.ndarray, ...]
    """Operands that calls read from."""
    out: Array | None


class Prepared(NamedTuple):
    """A call that was checked: what to run with which operands."""

    name: str
    names: tuple[str, ...]
    run: Any
    call: tuple[Any, ...]
    out: Array
    check: Callable[[Model], object]
    """Refuses a model that the program cannot evaluate."""


def _prepare(
    model: Model,
    program: Program,
    operands: tuple[Any, ...],
    shape: tuple[int, ...],
    binding: Binding,
    args: np.ndarray,
) -> Any:
    """What `evaluate` would do for one world, to be done later with what is in the operands then."""
    plan = plan_of(model, program)
    rows = []
    for value, (name, core) in zip(operands, plan.cores, strict=True):
        row, worlds = _operand(value, core, name)
        if worlds >= 0:
            raise ArgumentError(f"{name} must have shape {core} to be bound, got {np.shape(value)}")
        if isinstance(value, np.ndarray) and not np.shares_memory(row, value) and row.size:
            raise ArgumentError(f"{name} must be contiguous, aligned and writable to be bound")
        rows.append(row)
    if not all(any(given is value for value in operands) for given in binding.arrays):
        raise CapabilityError(
            f"{program.name} cannot be bound: it does not evaluate its operands as they are"
        )
    out = np.empty(shape) if binding.out is None else binding.out
    check_output(out, shape, rows, program.name)
    scalar = "float"
    x0, x1, x2, x3 = *rows, *_UNUSED[len(rows) :]
    data, arenas = new_arena(model, scalar, plan.size), model.arenas
    call = (compiled(program, scalar), arenas[0], arenas.constant, args, data, plan.table)
    call = (*call, x0, x1, x2, x3, out.reshape(-1), _ONE)
    names = tuple(name for name, _ in plan.cores)
    return Prepared(program.name, names, runner.runner(scalar), call, out, lambda m: plan_of(m, program))


def evaluate(
    model: Model,
    program: Program,
    operands: tuple[Any, ...],
    shape: tuple[int, ...],
    out: Array | None = None,
    threads: int = 1,
    lanes: int | None = None,
    args: np.ndarray = NO_ARGS,
    constant: np.ndarray | None = None,
) -> Array:
    """Run a program on one world or on many; `shape` is the result's shape for one world.

    `constant` takes the place of the model's constants, for programs that see them otherwise.
    """
    if type(out) is Binding:
        if threads != 1 or lanes is not None or constant is not None:
            raise ArgumentError(f"{program.name} is bound to one world: it takes no threads and no lanes")
        return _prepare(model, program, operands, shape, out, args)
    plan = model.scratch.get(program)
    if plan is None:
        plan = model.scratch[program] = plan_of(model, program)

    # operands; one without a world dimension serves all worlds
    worlds, flags = -1, 0
    rows: list[Array] = []
    for value, (name, core) in zip(operands, plan.cores, strict=True):
        if type(value) is np.ndarray and value.shape == core and value.dtype is _F64 and len(core) == 1:
            # the usual case of one world, kept short: a call should not cost more than its kernel
            rows.append(value if value.flags.carray else value.copy())
            continue
        row, count = _operand(value, core, name)
        if count >= 0:
            if worlds >= 0 and worlds != count:
                raise ArgumentError(f"{name} has {count} worlds, other operands have {worlds}")
            worlds = count
            flags |= 1 << len(rows)
        rows.append(row)

    count = 1 if worlds < 0 else worlds
    full = shape if worlds < 0 else (worlds, *shape)
    if out is None:
        out = np.empty(full)
    else:
        check_output(out, full, rows, program.name)
    flat = out if out.ndim == 1 else out.reshape(-1)
    x0, x1, x2, x3 = *rows, *_UNUSED[len(rows) :]
    scalar = choose_scalar(1 if program.one_by_one else lanes, count)
    ready = plan.ready.get(scalar)
    if ready is None:
        stock = model.scratch.setdefault((scalar, plan.size), [])
        ready = plan.ready[scalar] = (compiled(program, scalar), runner.runner(scalar), stock)
    stages, run, stock = ready
    arenas = model.arenas
    constants = arenas.constant if constant is None else constant

    def chunk(low: int, high: int, flags: int) -> int:
        # arenas nobody uses wait in a list; taking from it and adding to it are atomic
        try:
            data = stock.pop()
        except IndexError:
            data = new_arena(model, scalar, plan.size)
        span = _ONE if (low, high, flags) == (0, 1, runner.CHECK) else np.array((low, high, flags), np.int64)
        bad = run(stages, arenas[0], constants, args, data, plan.table, x0, x1, x2, x3, flat, span)
        stock.append(data)
        return bad

    if type(threads) is int and threads == 1:
        bad = chunk(0, count, flags | runner.CHECK)
    else:
        if not is_count(threads) or threads < 0:
            raise ArgumentError(f"threads must be a whole number, 0 for all processors, got {threads!r}")
        bad = runner.first_bad(plan.table, x0, x1, x2, x3)
        if bad < 0:
            in_threads(chunk, count, threads, SCALARS[scalar][1], flags)
    if bad >= 0:
        where = "" if worlds < 0 else f" in world {bad // 4}"
        raise ArgumentError(f"{program.names[bad % 4]} must be finite; it is not{where}")
    return out


def in_threads(chunk: Any, count: int, threads: int, width: int, flags: int) -> None:
    """Call `chunk(low, high, flags)` for parts of `count` worlds, each a multiple of `width`, in threads."""
    threads = int(threads) or os.cpu_count() or 1
    pool = _pools.get(threads)
    if pool is None:
        from concurrent.futures import ThreadPoolExecutor

        pool = _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="worldline")
    size = -(-max(count, 1) // (threads * width)) * width
    jobs = [pool.submit(chunk, low, min(low + size, count), flags) for low in range(0, count, size)]
    for job in jobs:
        job.result()
