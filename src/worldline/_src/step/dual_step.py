# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A step in dual numbers beside the step in plain numbers: arenas, operations, and what is refused.

Structure comes from the repetition of the step in plain numbers, numbers from the same stages compiled for
dual numbers; see `step_derivatives.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.duals.kind import DIRECTIONS, DOUBLES, DUAL7, PLAIN, dual_address
from worldline._src.errors import CapabilityError
from worldline._src.jit import Stage, entry, outline
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.narrowphase.dispatch import FAMILY_LINKS, narrow_sort, pair_family
from worldline._src.kernels.narrowphase.links import LINKED
from worldline._src.kernels.narrowphase.tables import BOX, CAPSULE, CONTACTS, CONVEX, HULL, SPHERE, SURFACE
from worldline._src.kinds import float64, int64
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_as, address_of, aligned_zeros, vector
from worldline._src.spatial.poses import Array
from worldline._src.step.constraints import Constraints
from worldline._src.step.derivative_table import (
    INSTEAD,
    PLAIN_LINEAR,
    SETTLED,
    Calls,
    Form,
    Selected,
    selection,
)
from worldline._src.step.evaluate import new_arena
from worldline._src.step.island_stages import mass_of_island, solve_islands
from worldline._src.step.runner import call_on_set
from worldline._src.step.simulation import Simulation
from worldline._src.step.step_table import COLLISION, CONSTRAINT, MULTIBODY, called_stages

KEPT = ("q", "v", "a", "force", "q_target", "v_target", "a_target", "body_f", "time_step")
"""Fields of the trees that a step begins with."""
ROW_STATE = ("control", "activation")
"""Columns of constraints that a step begins with."""
ENDS = ("q", "v", "activation")
"""What a step ends with."""
_INPUTS = (
    *("act_moment", "act_blend", "act_size", "tendon_moment", "tendon_size"),
    *("anchor_X", "equality_command", "equality_break", "tree_share", "tree_recovery", "tree_grip"),
)
"""Columns of constraints that stages read before any of them writes them, or that no stage writes."""

_STRAIGHT = frozenset((SPHERE, CAPSULE, BOX, HULL))
"""Shapes that are polytopes with a radius, whose contacts with each other have closed forms."""

CALL, INTEGERS, NUMBERS = range(3)
"""Operations: call a stage on a set of arenas, copy integers, copy numbers as duals without derivatives."""
OPERATION = 4
"""Numbers of an operation: its kind; the stage and its set, or where to copy from and to; how many."""


Operation = tuple[int, int, int, int]


@outline
def operate(operations, start, end, sets):
    """Operations from `start` to `end` in their order."""
    for k in range(start, end):
        kind, first, second = operations[k, 0], operations[k, 1], operations[k, 2]
        count = operations[k, 3]
        if kind == CALL:
            call_on_set(first, sets, second, float64)
        elif kind == INTEGERS:
            source = vector(address_as(first, int64), 0, count)
            target = vector(address_as(second, int64), 0, count)
            for i in range(count):
                target[i] = source[i]
        else:
            numbers = vector(address_as(first, float64), 0, count)
            duals = vector(address_as(second, float64), 0, DOUBLES * count)
            for i in range(count):
                duals[DOUBLES * i] = numbers[i]
                for j in range(1, DOUBLES):
                    duals[DOUBLES * i + j] = 0.0


@entry(signature="int64[:,::1] int64[:,::1]", label="operations of a step to be differentiated")
def run_once(operations, sets):
    """Operations in their order."""
    operate(operations, 0, operations.shape[0], sets)


@entry(
    signature="int64[:,::1] int64[:,::1] int64[:,::1] int64[:,::1] float64[:,::1] float64[:,::1]",
    label="a step in dual numbers",
)
def _run_groups(operations, sets, inputs, outputs, x, y):
    """Operations once for every group of directions, a row of x and of y each.

    inputs, outputs: address of duals, how many there are, and where they stand in a row.
    """
    for g in range(x.shape[0]):
        for p in range(inputs.shape[0]):
            n = DOUBLES * inputs[p, 1]
            duals = vector(address_as(inputs[p, 0], float64), 0, n)
            for i in range(n):
                duals[i] = x[g, DOUBLES * inputs[p, 2] + i]
        operate(operations, 0, operations.shape[0], sets)
        for p in range(outputs.shape[0]):
            n = DOUBLES * outputs[p, 1]
            duals = vector(address_as(outputs[p, 0], float64), 0, n)
            for i in range(n):
                y[g, DOUBLES * outputs[p, 2] + i] = duals[i]


@entry(signature="float64[::1] float64[::1] float64[::1] float64[::1]", label="how far two states are apart")
def gap(ends, q, v, activation):
    """Largest difference of coordinates, velocities and activations, over one and their largest number."""
    worst, at = 0.0, 0
    for part in (q, v, activation):
        largest, scale = 0.0, 1.0
        for i in range(part.shape[0]):
            off = abs(ends[at + i] - part[i])
            if not off <= largest:
                largest = off
            scale = max(scale, 1.0 + abs(part[i]))
        at += part.shape[0]
        if not largest / scale <= worst:
            worst = largest / scale
    return worst


def key_of(sim: Simulation, relaxed: bool) -> tuple[Any, ...]:
    """What duals were made for: the schedule and the arenas of a step."""
    return (
        relaxed,
        id(sim.schedule),
        *(id(block) for arenas in sim.sets[: COLLISION + 1] for block in arenas),
    )


def quaternions(model: Model) -> np.ndarray:
    """First coordinate and first degree of freedom of every orientation, (n, 2)."""
    q_start, v_start = model.joint_q_start, model.joint_qd_start
    found = [
        (int(q1) - 4, int(v1) - 3)
        for q0, q1, v0, v1 in zip(q_start[:-1], q_start[1:], v_start[:-1], v_start[1:], strict=True)
        if q1 - q0 != v1 - v0
    ]
    return np.array(found, np.int64).reshape(-1, 2)


def plain_coordinates(model: Model, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates that are numbers, and their degrees of freedom; `turns` as `quaternions` has them."""
    q = np.setdiff1d(np.arange(model.joint_coord_count), (turns[:, :1] + np.arange(4)).reshape(-1))
    v = np.setdiff1d(np.arange(model.joint_dof_count), (turns[:, 1:] + np.arange(3)).reshape(-1))
    return q, v


class Solves(NamedTuple):
    """A solve of a step in plain numbers, and how it goes on to the solution of its rows.

    Attributes:
        before, after: operations around `solve_islands`; none where no contact obeys Coulomb's law.
        found: accelerations of the step, (nv,); settled: those that solve the rows to rounding.
    """

    before: list[Operation]
    after: list[Operation]
    found: Array
    settled: Array
    kept: tuple[Array, ...]
    """Arrays of the operations, which live as long as they."""


def solve_of(sim: Simulation) -> Solves:
    """The operations around a solve; see `settle_rows`."""
    assert sim.constraints is not None
    column, nv = sim.constraints.column, len(sim.a)
    found, settled, smooth, guess = np.zeros((4, nv))
    a, last = address_of(sim.a), address_of(column.a_last)
    before: list[Operation] = []
    # doubles are copied as integers are
    after: list[Operation] = [(INTEGERS, a, address_of(found), nv)]
    if obeys_coulomb(sim.constraints):
        before = [(INTEGERS, a, address_of(smooth), nv), (INTEGERS, last, address_of(guess), nv)]
        after += [
            (INTEGERS, address_of(smooth), last, nv),
            *((CALL, stage.address(PLAIN), place, 0) for stage, place in SETTLED),
            (INTEGERS, address_of(guess), last, nv),
        ]
    after.append((INTEGERS, a, address_of(settled), nv))
    return Solves(before, after, found, settled, (smooth, guess))


def plain_calls(calls: Calls) -> list[Operation]:
    """Stages in plain numbers."""
    return [(CALL, stage.address(float64), place, 0) for stage, place in calls]


def dual_calls(calls: Calls) -> list[Operation]:
    """Stages in dual numbers, but in plain numbers on the arenas that have these."""
    addresses = [(one.address(float64) if at == PLAIN_LINEAR else dual_address(one), at) for one, at in calls]
    return [(CALL, address, place, 0) for address, place in addresses]


def repeated(one: Selected, solves: list[Solves]) -> list[Operation]:
    """A stage in plain numbers, with the operations around the last of `solves` when it solves rows."""
    call = plain_calls(((one.stage, one.arenas),))
    if one.stage is solve_islands:
        call = [*solves[-1].before, *call, *solves[-1].after]
    return call + plain_calls(one.behind)


def obeys_coulomb(constraints: Constraints) -> bool:
    """Whether a contact may have De Saxce's correction: all laws but the impedance model."""
    column = constraints.column
    laws = np.concatenate([column.shape_law[:, t.KIND], column.pair_law[:, t.KIND]])
    return constraints.collision is not None and bool((laws != t.IMPEDANCE).any())


class DualStep:
    """Arenas of dual numbers beside those of a Simulation, and the operations that repeat its step in both.

    Operations of plain numbers keep what those of dual numbers need: pairs and islands before they are used,
    the solution of every evaluation.
    """

    kind = DUAL7
    """The scalar that stages are compiled for."""

    def __init__(self, sim: Simulation, relaxed: bool, kept: dict[str, Array]) -> None:
        self.kept = kept
        """What the step began with, by field."""
        self.key = key_of(sim, relaxed)
        self._relaxed = relaxed
        self._alive: list[Any] = [sim.schedule, sim.sets]
        self._redirect_links: list[Operation] = []
        self.solves: list[Solves] = []
        self._offsets, model = sim.model.arenas.offsets, sim.model
        index, constant, arguments, _ = sim.sets[MULTIBODY]
        self._trees, constant = as_duals(new_arena(model, "float")), self._constants(constant)
        sizes = {name: sim.field(name).size for name in KEPT}
        sets: list[tuple[np.ndarray, ...]] = [(index, constant, arguments, self._trees)] * (COLLISION + 1)
        constraints = sim.constraints
        self._block = None if constraints is None else constraints.block
        if constraints is not None and self._block is not None:
            self._lay_out_rows(constraints, sets)
            sizes |= {name: constraints.column[name].size for name in ROW_STATE}
        self._sets, self._plain_sets = _addresses(sets), _addresses(sim.sets[: COLLISION + 1])
        self._alive.append(sets)
        self._make_operations(sim)
        self._make_first(sim)

        # what a group of directions begins with and ends with
        places = {name: self._place(name) for name in sizes}
        starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
        self._sizes, self._starts = sizes, starts
        self._inputs = np.array([(places[name], sizes[name], starts[name]) for name in sizes], np.int64)
        ends = [name for name in ENDS if name in sizes]
        self._ends = dict(zip(ends, np.cumsum([0, *(sizes[name] for name in ends)]).tolist(), strict=False))
        self._outputs = np.array([(places[name], sizes[name], self._ends[name]) for name in ends], np.int64)

    def _address(self, stage: Stage) -> int:
        """The address of a stage's machine code for dual numbers, compiled when there is none."""
        return stage.address(self.kind)

    def _constants(self, numbers: Array) -> Array:
        """The arena of constants of a model as stages read it."""
        return numbers

    def _lay_out_rows(self, constraints: Constraints, sets: list[tuple[np.ndarray, ...]]) -> None:
        """Arenas of constraints and collision, with the addresses of stages and arenas in dual numbers."""
        block, collision = constraints.block, constraints.collision
        self._rows = as_duals(block.d)
        self._m, self._args = block.m.copy(), block.args.copy()
        sets[CONSTRAINT] = (self._m, self._constants(block.c), self._args, self._rows)
        links = {t.TREE_C: address_of(sets[MULTIBODY][1]), t.TREE_D: address_of(self._trees)}
        if collision is not None:
            collision_d, self._collision_args = as_duals(collision.d), collision.args.copy()
            constants = self._constants(collision.c)
            sets[COLLISION] = (collision.m, constants, self._collision_args, collision_d)
            links |= {
                t.COLLISION_ARGS: address_of(self._collision_args),
                t.COLLISION_D: address_of(collision_d),
            }
            if constraints.step_plan.convex_pairs:
                needed = FAMILY_LINKS[CONVEX]
                shared = np.array([self._address(LINKED[k]) for k in needed], np.int64)
                self._alive.append(shared)
                self._redirect_links = [
                    (INTEGERS, address_of(shared) + 8 * i, address_of(self._collision_args) + 8 * k, 1)
                    for i, k in enumerate(needed)
                ]
        makers = [row.stage for row in called_stages(constraints.step_plan) if row.link is None]
        called = {t.FIRST_ROW_LINK + k: self._address(one) for k, one in enumerate(makers)}
        called[t.MASS_LINK] = self._address(mass_of_island)
        # addresses that take the place of those of plain numbers, as operations
        link, program = (int(block.m[t.TABLE.entry[name]]) for name in ("link", "program"))
        places = {link + k: x for k, x in links.items()} | {program + k: x for k, x in called.items()}
        values = np.array(list(places.values()), np.int64)
        self._args[list(places)] = values
        self._alive.append(values)
        at = address_of(self._args)
        self._redirect = [(INTEGERS, address_of(values) + 8 * i, at + 8 * k, 1) for i, k in enumerate(places)]

    def _make_operations(self, sim: Simulation) -> None:
        """The stages of the step in plain numbers, with copies of what they leave, and in dual numbers."""
        plain: list[Operation] = []
        dual: list[Operation] = []
        for one in selection(sim.schedule, Form.DUALS):
            solves = one.stage is solve_islands
            if solves and self._block is not None:
                self._pass_on(self._block.m, self._m, plain, dual)
                self._pass_on(self._block.args, self._args, plain, dual)
                dual += self._redirect
            if solves:
                self.solves.append(solve_of(sim))
                plain += self.solves[-1].before
            plain += plain_calls(((one.stage, one.arenas),))
            if one.stage is narrow_sort:
                self._pass_on(sim.sets[COLLISION][2], self._collision_args, plain, dual)
                dual += self._redirect_links
            if solves and self._block is not None:
                closed = self._block.column.tree_closed
                at = int(self._block.m[t.TABLE.entry["tree_closed"]])
                self._pass_on(closed, self._args[at : at + len(closed)], plain, dual)
            if solves:
                plain += self.solves[-1].after
                solved = self.solves[-1].settled
                dual.append((NUMBERS, address_of(solved), self._place("a_last"), len(solved)))
            for stage, place in one.calls:
                chosen = INSTEAD.get(stage, stage) if self._relaxed else stage
                dual.append((CALL, self._address(chosen), place, 0))
        self._plain, self._dual = (np.array(made, np.int64).reshape(-1, OPERATION) for made in (plain, dual))

    def _make_first(self, sim: Simulation) -> None:
        """What is copied before the first group of directions."""
        first = []
        if sim.constraints is not None:
            column = sim.constraints.column
            first = [
                (NUMBERS, address_of(column[name]), self._place(name), column[name].size) for name in _INPUTS
            ]
        self._first = np.array(first, np.int64).reshape(-1, OPERATION)

    def _pass_on(self, source: np.ndarray, target: np.ndarray, plain: list[Any], dual: list[Any]) -> None:
        """Operations that hand integers of the repeated step to the one in dual numbers."""
        copy = np.zeros_like(source)
        self._alive.append(copy)
        plain.append((INTEGERS, address_of(source), address_of(copy), len(source)))
        dual.append((INTEGERS, address_of(copy), address_of(target), len(source)))

    def _place(self, name: str) -> int:
        """Address of a field of the trees or of a column of constraints in dual numbers."""
        if name in self._offsets:
            return address_of(self._trees) + 8 * DOUBLES * self._offsets[name]
        assert self._block is not None
        return address_of(self._rows) + 8 * DOUBLES * int(self._block.m[t.TABLE.entry[name]])

    # ---- a step

    def repeat(self, sim: Simulation) -> None:
        """Repeat the step in plain numbers, from the state that was put."""
        run_once(self._plain, self._plain_sets)
        if sim.constraints is not None and sim.constraints.constrains:
            require_newton(sim)
            require_known_contacts(sim)
        run_once(self._first, self._sets)

    def run(self, slopes: dict[str, Array], n: int) -> dict[str, Array]:
        """The step in dual numbers along `n` directions; values, then derivatives of what it ends with."""
        groups = -(-n // DIRECTIONS)
        x = np.zeros((groups, sum(self._sizes.values()), DOUBLES))
        for name, start in self._starts.items():
            part = x[:, start : start + self._sizes[name]]
            part[:, :, 0] = self.kept[name].reshape(-1)
            rows = slopes.get(name)
            if rows is not None:
                for g in range(groups):
                    some = rows[g * DIRECTIONS : (g + 1) * DIRECTIONS]
                    part[g, :, 1 : 1 + len(some)] = some.T
        y = np.zeros((groups, sum(self._sizes[name] for name in self._ends), DOUBLES))
        rows_of = (groups, -1)
        _run_groups(
            self._dual, self._sets, self._inputs, self._outputs, x.reshape(rows_of), y.reshape(rows_of)
        )
        made = {"activation": np.zeros((0, 1 + n))}
        for name, start in self._ends.items():
            part = y[:, start : start + self._sizes[name]]
            size = (self._sizes[name], groups * DIRECTIONS)
            whole = np.moveaxis(part[:, :, 1:], 0, 1).reshape(size)[:, :n]
            values = self.kept[name][:, None] if n == 0 else part[0, :, :1]
            made[name] = np.concatenate([values, whole], axis=1)
        return made


def _addresses(sets: Any) -> np.ndarray:
    """Addresses of sets of arenas."""
    return np.array([[address_of(block) for block in arenas] for arenas in sets], np.int64)


def as_duals(numbers: Array) -> Array:
    """An arena of duals with these values and no derivatives."""
    duals = aligned_zeros(DOUBLES * numbers.size)
    duals[::DOUBLES] = numbers.reshape(-1)
    return duals


def require_newton(sim: Simulation) -> None:
    """Refuse steps of two passes, and islands that were not solved by Newton's method."""
    assert sim.constraints is not None
    counter = sim.constraints.column.counter
    if sim.constraints.step_plan.split and counter[t.IS_SPLIT]:
        raise CapabilityError(
            "derivatives of a step do not have deep overlap and impacts within it, which are solved for "
            "positions and for velocities"
        )
    if counter[t.BY_IMPULSES] or counter[t.BY_SWEEPS] or counter[t.BY_PIVOTING]:
        raise CapabilityError("derivatives of a step have rows that Newton's method solved, and no others")


def require_known_contacts(sim: Simulation) -> None:
    """Refuse contacts of shapes whose geometry has no exact derivatives.

    Iterations between curved surfaces end at a tolerance, and derivatives carried through them are off by
    more than that; triangles of surfaces are not compiled for dual numbers.
    """
    assert sim.constraints is not None
    plan, collision = sim.constraints.step_plan, sim.constraints.collision
    if collision is None or not (plan.convex_pairs or plan.surface_pairs):
        return
    column, shapes = collision.column, sim.model.shapes
    assert shapes is not None
    kinds = column.shape_type
    for a, b in column.contact_id[: column.counter[CONTACTS], :2].tolist():
        pair = int(kinds[a]), int(kinds[b])
        family = pair_family(*pair)
        if family == SURFACE or (family == CONVEX and not set(pair) <= _STRAIGHT):
            first, second = (shapes.label[sim.constraints.shapes[k]] for k in (a, b))
            raise CapabilityError(
                "derivatives of a step have contacts of planes and of spheres with all convex shapes, and of "
                f"capsules, boxes and hulls with each other; '{first}' and '{second}' touch and are another "
                "pair"
            )
