# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of one step: its stages once more, in dual numbers.

A step is repeated stage by stage from the state it began with. Structure comes from this repetition in plain
numbers: which shapes touch, islands, which rows there are, the solution of the solver. Numbers come from the
same stages compiled for dual numbers, seven directions at a time; where the step solved rows,
`differentiate_islands` differentiates the solution implicitly. Nothing is differenced.

Derivatives are those of the active set of the step. Directions and results are tangents: a displacement for
every degree of freedom, as `integrate` moves it, then velocities, then activations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from worldline._src.duals.kind import DIRECTIONS, DOUBLES, dual_address
from worldline._src.errors import CapabilityError, OperationError
from worldline._src.jit import DISABLED, Stage, entry, outline
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.narrowphase.dispatch import FAMILY_LINKS, narrow_sort, pair_family
from worldline._src.kernels.narrowphase.lanes import fixed_shape_poses
from worldline._src.kernels.narrowphase.links import LINKED
from worldline._src.kernels.narrowphase.tables import BOX, CAPSULE, CONTACTS, CONVEX, HULL, SPHERE, SURFACE
from worldline._src.kernels.program import caller
from worldline._src.kinds import float64, int64
from worldline._src.scalar.memory import address_as, address_of, aligned_zeros, call_stage, vector
from worldline._src.spatial.poses import Array
from worldline._src.step import stages as trees
from worldline._src.step.constraints import Constraints
from worldline._src.step.derivative_stages import differentiate_islands, relax_islands
from worldline._src.step.dynamics import difference, integrate
from worldline._src.step.evaluate import new_arena
from worldline._src.step.fixed_stages import damp_fixed
from worldline._src.step.island_stages import mass_of_island, solve_islands
from worldline._src.step.simulation import Simulation
from worldline._src.step.step_table import (
    COLLISION,
    CONSTRAINT,
    LOG,
    MULTIBODY,
    TABLE,
    USER,
    Phase,
    StepPlan,
    called_stages,
    may_hold,
)

_STRUCTURE = frozenset(
    (
        *("guess_from_last", "begin_rows", "broad", "narrow_sort", "narrow_surface"),
        *("check_contacts", "find_islands", "check_islands", "equality_forces", "mass_of_trees"),
        *("keep_smooth", "solve_velocities", "correct_positions"),
    )
)
"""Stages without numbers to differentiate, and those whose results derivatives find otherwise."""

_REFUSED = {
    "variational": "the variational family",
    "ground": "points on a ground plane",
    "implicit_velocity": "the implicit-velocity family with forces that depend on rates",
    "sleep": "sleeping islands (deactivation)",
    "boxed": "a boxed problem as the solver of constraints",
    "no_slip": "sweeps against slip (noslip_iterations)",
    "adhesion": "adhesion",
    "controllers": "controllers",
    "force_elements": "force elements",
    "detector": "contacts of a collision detector",
    "acceleration_stages": "stages of the user at accelerations",
    "end_stages": "stages of the user at the end of a step",
    "controller_kernels": "controllers that are kernels",
    "force_kernels": "force elements that are kernels",
    "acceleration_kernels": "kernels at accelerations",
    "end_kernels": "kernels at the end of a step",
}
"""What derivatives do not have yet, by its name in a `StepPlan`."""

_KEPT = ("q", "v", "a", "force", "q_target", "v_target", "a_target", "body_f", "time_step")
"""Fields of the trees that a step begins with."""
_ROW_STATE = ("control", "activation")
"""Columns of constraints that a step begins with."""
_ENDS = ("q", "v", "activation")
"""What a step ends with."""
_INPUTS = (
    *("act_moment", "act_blend", "act_size", "tendon_moment", "tendon_size"),
    *("anchor_X", "equality_command", "equality_break", "tree_share", "tree_recovery"),
)
"""Columns of constraints that stages read before any of them writes them, or that no stage writes."""

_ONE_SIDED = (t.OF_LIMIT, t.OF_CONTACT, t.OF_TENDON, t.OF_SPEED, t.OF_BOUND)
"""Rows whose force has one sign, by what they belong to."""
_SAME = 1e-6
"""How far the step in dual numbers may be from the step itself, relative to the largest number or one."""
_AT_BOUND = 1e-9
"""How near to its bound, as a share of it, friction counts as sliding."""

_STRAIGHT = frozenset((SPHERE, CAPSULE, BOX, HULL))
"""Shapes that are polytopes with a radius, whose contacts with each other have closed forms."""

CALL, INTEGERS, NUMBERS = range(3)
"""Operations: call a stage on a set of arenas, copy integers, copy numbers as duals without derivatives."""
_OPERATION = 4
"""Numbers of an operation: its kind; the stage and its set, or where to copy from and to; how many."""


@outline
def _operate(operations, sets):
    for k in range(operations.shape[0]):
        kind, first, second = operations[k, 0], operations[k, 1], operations[k, 2]
        count = operations[k, 3]
        if kind == CALL:
            call_stage(
                first,
                address_as(sets[second, 0], int64),
                address_as(sets[second, 1], float64),
                address_as(sets[second, 2], int64),
                address_as(sets[second, 3], float64),
            )
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
def _run_once(operations, sets):
    """Operations in their order."""
    _operate(operations, sets)


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
        _operate(operations, sets)
        for p in range(outputs.shape[0]):
            n = DOUBLES * outputs[p, 1]
            duals = vector(address_as(outputs[p, 0], float64), 0, n)
            for i in range(n):
                y[g, DOUBLES * outputs[p, 2] + i] = duals[i]


class Sensitivities(NamedTuple):
    """Derivatives of the state after a step, by columns of seeds: displacements, velocities, activations."""

    displacement: Array
    velocity: Array
    activation: Array


class Outcome(NamedTuple):
    """The state after a step, and what tells its active set from another."""

    q: Array
    v: Array
    activation: Array
    active_set: bytes


class Seeds(NamedTuple):
    """Directions of a derivative, one a row; parts that are None are zero.

    displacement, velocity, force, v_target, a_target: (n, joint_dof_count). q_target: (n, joint_dof_count),
    displacements of targets. activation: (n, activation_count). body_f: (n, 6 body_count). control:
    (n, actuators that act).
    """

    displacement: Array | None = None
    velocity: Array | None = None
    activation: Array | None = None
    control: Array | None = None
    force: Array | None = None
    q_target: Array | None = None
    v_target: Array | None = None
    a_target: Array | None = None
    body_f: Array | None = None


def refused(plan: StepPlan) -> list[str]:
    """What a step of a plan has and derivatives do not, in words."""
    return [words for name, words in _REFUSED.items() if getattr(plan, name)]


class StepTangent:
    """Derivatives of the last step of a Simulation; `keep` is called before every step."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._kept: dict[str, Array] | None = None
        self._schedule: Any = None
        self._made: _Duals | None = None
        self._fields = {name: sim.field(name) for name in _KEPT}
        self.layout: tuple[int, Any] | None = None
        """Where the numbers of a World are among those of the model, with the version it was made for."""
        self.copy: tuple[int, Any] | None = None
        """A copy of the World for differences by parameters, with the version it was made for."""
        # forces on bodies are a control: the step looks at them even where there are none
        sim.has_wrenches = True
        sim.reconfigure()
        quaternions = [
            (int(q1) - 4, int(v1) - 3)
            for q0, q1, v0, v1 in zip(
                sim.model.joint_q_start[:-1],
                sim.model.joint_q_start[1:],
                sim.model.joint_qd_start[:-1],
                sim.model.joint_qd_start[1:],
                strict=True,
            )
            if q1 - q0 != v1 - v0
        ]
        self._turns = np.array(quaternions, np.int64).reshape(-1, 2)
        plain_q = np.setdiff1d(
            np.arange(sim.model.joint_coord_count), (self._turns[:, :1] + np.arange(4)).reshape(-1)
        )
        plain_v = np.setdiff1d(
            np.arange(sim.model.joint_dof_count), (self._turns[:, 1:] + np.arange(3)).reshape(-1)
        )
        self._plain = plain_q, plain_v

    # ---- what a step began with

    def keep(self, body_f: Array | None = None) -> None:
        """Remember the state and commands that the next step begins with; forces on bodies may be others."""
        sim = self._sim
        sim.controls_written()
        self._kept, self._schedule = self._state(), None
        if body_f is not None:
            self._kept["body_f"] = body_f

    def _state(self) -> dict[str, Array]:
        """State and commands that a step begins with."""
        kept = {name: view.copy() for name, view in self._fields.items()}
        constraints = self._sim.constraints
        if constraints is not None:
            kept |= {name: constraints.column[name].copy() for name in (*_ROW_STATE, "equality_on")}
        return kept

    def _present(self) -> dict[str, Array]:
        """All that a repetition of the step writes and that may not be what the step left, to be put back."""
        present, constraints = {"data": self._sim.data.copy()}, self._sim.constraints
        if constraints is not None:
            present |= {name: constraints.column[name].copy() for name in (*_ROW_STATE, "equality_on")}
        return present

    def _put(self, values: dict[str, Array]) -> None:
        sim, fields = self._sim, self._fields
        for name, numbers in values.items():
            if name in fields:
                fields[name][:] = numbers
            elif name == "data":
                sim.data[:] = numbers
            else:
                assert sim.constraints is not None
                sim.constraints.column[name][:] = numbers

    def stepped(self) -> None:
        """The step that began with the state kept last was made; what it ran is what is differentiated."""
        self._schedule = self._sim.schedule

    @property
    def kept(self) -> dict[str, Array]:
        """What the last step began with; raises where there is none to differentiate."""
        if self._kept is None or self._schedule is None:
            raise OperationError("there is no last step to differentiate; step first")
        if not self._sim.is_prepared or self._schedule is not self._sim.schedule:
            raise OperationError("the world changed since its last step; step again before derivatives")
        return self._kept

    # ---- coordinates and displacements

    def _rates(self, q: Array, displacement: Array) -> Array:
        """Changes of coordinates by displacements, (n, nv) to (n, nq)."""
        out = np.zeros((len(displacement), len(q)))
        plain_q, plain_v = self._plain
        out[:, plain_q] = displacement[:, plain_v]
        for i, d in self._turns.tolist():
            x, y, z, w = q[i : i + 4]
            # q (r, 0) / 2
            left = 0.5 * np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]])
            out[:, i : i + 4] = displacement[:, d : d + 3] @ left.T
        return out

    def _displacements(self, q: Array, rates: Array) -> Array:
        """The inverse of `_rates`, (nq, n) to (nv, n)."""
        out = np.zeros((self._sim.model.joint_dof_count, rates.shape[1]))
        plain_q, plain_v = self._plain
        out[plain_v] = rates[plain_q]
        for i, d in self._turns.tolist():
            x, y, z, w = q[i : i + 4]
            left = 2.0 * np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]])
            out[d : d + 3] = left.T @ rates[i : i + 4]
        return out

    # ---- derivatives

    def differentiate(self, seeds: Seeds, relaxed: bool = False) -> Sensitivities:
        """Derivatives of the state after the last step along directions; complementarity may be relaxed."""
        if DISABLED:
            raise OperationError("derivatives need the compiler, which NUMBA_DISABLE_JIT switches off")
        kept, sim = self.kept, self._sim
        if self._made is None or self._made.key != _key(sim, relaxed):
            if found := refused(sim.plan()):
                raise CapabilityError(f"derivatives of a step do not have {', '.join(found)}")
            self._made = _Duals(sim, relaxed)
        duals, present = self._made, self._present()
        try:
            self._put(kept)
            duals.repeat(sim)
            return self._directions(duals, kept, seeds)
        finally:
            self._put(present)

    def _require_same(self, made: dict[str, Array]) -> None:
        """Refuse derivatives of another step than the one in plain numbers, which has just been repeated."""
        sim = self._sim
        for name, after in (("v", sim.v), ("activation", sim.activation), ("q", sim.q)):
            off = np.abs(made[name][:, 0] - after)
            if not (off <= _SAME * (1.0 + np.abs(after).max(initial=0.0))).all():
                raise CapabilityError(
                    "derivatives of a step need constraint forces that solve its rows; this step bounded "
                    f"them otherwise (energy of contacts), or its solver did not converge: {name} is off by "
                    f"{off.max():.2g}"
                )

    def replayed(self, change: Seeds) -> Outcome:
        """The last step once more in plain numbers, from its start moved along a direction, a row each."""
        kept, sim = self.kept, self._sim
        present = self._present()
        moved = dict(kept)
        for name, row in change._asdict().items():
            if row is not None and name in ("displacement", "q_target"):
                at = "q" if name == "displacement" else name
                moved[at] = self._integrated(kept[at], row[0])
            elif row is not None and row.size:
                at = "v" if name == "velocity" else name
                moved[at] = kept[at] + row[0].reshape(kept[at].shape)
        try:
            return replayed_from(sim, moved)
        finally:
            self._put(present)

    def difference(self, first: Outcome, second: Outcome) -> Array:
        """The tangent that leads from one outcome to another: displacement, velocity, activation."""
        moved = difference(self._sim.model, first.q, second.q)
        return np.concatenate([moved, second.v - first.v, second.activation - first.activation])

    def _integrated(self, q: Array, displacement: Array) -> Array:
        return integrate(self._sim.model, q, displacement)

    def _directions(self, duals: _Duals, kept: dict[str, Array], seeds: Seeds) -> Sensitivities:
        given = {name: rows for name, rows in seeds._asdict().items() if rows is not None}
        n = max((len(rows) for rows in given.values()), default=0)
        slopes = {name: rows for name, rows in given.items() if name not in ("displacement", "q_target")}
        if "displacement" in given:
            slopes["q"] = self._rates(kept["q"], given["displacement"])
        if "q_target" in given:
            slopes["q_target"] = self._rates(kept["q_target"], given["q_target"])
        if "velocity" in slopes:
            slopes["v"] = slopes.pop("velocity")
        made = duals.run(kept, slopes, n)
        if n:
            self._require_same(made)
        q, v, activation = (made[name] for name in ("q", "v", "activation"))
        return Sensitivities(self._displacements(q[:, 0], q[:, 1:]), v[:, 1:], activation[:, 1:])


def replayed_from(sim: Simulation, start: dict[str, Array]) -> Outcome:
    """Run the stages of a step in plain numbers from a state; the Simulation is left after it."""
    run, sets = caller(), b""
    if not sim.stages:
        raise OperationError("a step of this world has no stages")
    for name, numbers in start.items():
        if name in _KEPT:
            sim.field(name)[:] = numbers
        elif sim.constraints is not None:
            sim.constraints.column[name][:] = numbers
    for stage, place in sim.schedule:
        if place not in (LOG, USER):
            run(np.array([stage.address(float64)], np.int64), *sim.sets[place])
            if stage is solve_islands:
                _require_room(sim)
                sets += _active_set(sim)
    return Outcome(sim.q.copy(), sim.v.copy(), sim.activation.copy(), sets)


def _require_room(sim: Simulation) -> None:
    assert sim.constraints is not None
    if sim.constraints.column.link[t.SHORT]:
        sim.constraints.column.link[t.SHORT] = 0
        raise OperationError("a perturbed step has more contacts than the last step had room for")


def _active_set(sim: Simulation) -> bytes:
    """Which contacts and rows there are, which of them push, slide or are at a bound."""
    assert sim.constraints is not None
    column, model = sim.constraints.column, sim.model
    n = int(column.counter[t.ALL_ROWS])
    owner, force = column.row_of[:n], column.force[:n]
    parts = [owner.tobytes()]
    if model.actuators is not None:
        low, high = model.actuators.control_range[sim.constraints.actuators].T
        parts += [(column.control < low).tobytes(), (column.control > high).tobytes()]
    rubbing = owner[:, 0] == t.OF_FRICTION
    bound = model.joint_friction[column.friction_dof[owner[rubbing, 1]]]
    parts.append((np.abs(force[rubbing]) >= (1.0 - _AT_BOUND) * bound).tobytes())
    one_sided = np.isin(owner[:, 0], _ONE_SIDED)
    collision = sim.constraints.collision
    if collision is not None:
        count = int(collision.column.counter[CONTACTS])
        parts.append(collision.column.contact_id[:count].tobytes())
        # a cone has as many rows as directions, a pyramid an edge on both sides of each
        touching, condim = owner[:, 0] == t.OF_CONTACT, column.contact_row[:count, 1]
        cone = (np.bincount(owner[touching, 1], minlength=count) == condim) & (condim > 1)
        one_sided[touching] = ~cone[owner[touching, 1]]
        push, mu = column.contact_force[:count], column.mu[:count, :5]
        share = np.where(mu > 0.0, push[:, 1:6] / np.where(mu > 0.0, mu, 1.0), 0.0)
        slides = np.linalg.norm(share, axis=1) >= (1.0 - _AT_BOUND) * push[:, 0]
        parts += [(push[cone, 0] > 0.0).tobytes(), slides[cone].tobytes()]
    parts.append((force[one_sided] != 0.0).tobytes())
    return b"".join(parts)


def _key(sim: Simulation, relaxed: bool) -> tuple[Any, ...]:
    """What duals were made for: the schedule and the arenas of a step."""
    return (
        relaxed,
        id(sim.schedule),
        *(id(block) for arenas in sim.sets[: COLLISION + 1] for block in arenas),
    )


class _Duals:
    """Arenas of dual numbers beside those of a Simulation, and the operations that repeat its step in both.

    Operations of plain numbers keep what those of dual numbers need: pairs and islands before they are used,
    the solution of every evaluation.
    """

    def __init__(self, sim: Simulation, relaxed: bool) -> None:
        self.key = _key(sim, relaxed)
        self._solve = relax_islands if relaxed else differentiate_islands
        self._alive: list[Any] = [sim.schedule, sim.sets]
        self._redirect_links: list[tuple[int, int, int, int]] = []
        self._offsets, model = sim.model.arenas.offsets, sim.model
        index, constant, arguments, _ = sim.sets[MULTIBODY]
        self._trees = _as_duals(new_arena(model, "float"))
        sizes = {name: sim.field(name).size for name in _KEPT}
        sets: list[tuple[np.ndarray, ...]] = [(index, constant, arguments, self._trees)] * (COLLISION + 1)
        constraints = sim.constraints
        self._block = None if constraints is None else constraints.block
        if constraints is not None and self._block is not None:
            self._lay_out_rows(constraints, sets)
            sizes |= {name: constraints.column[name].size for name in _ROW_STATE}
        self._sets, self._plain_sets = _addresses(sets), _addresses(sim.sets[: COLLISION + 1])
        self._alive.append(sets)
        self._make_operations(sim)

        # what a group of directions begins with and ends with
        places = {name: self._place(name) for name in sizes}
        starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
        self._sizes, self._starts = sizes, starts
        self._inputs = np.array([(places[name], sizes[name], starts[name]) for name in sizes], np.int64)
        ends = [name for name in _ENDS if name in sizes]
        self._ends = dict(zip(ends, np.cumsum([0, *(sizes[name] for name in ends)]).tolist(), strict=False))
        self._outputs = np.array([(places[name], sizes[name], self._ends[name]) for name in ends], np.int64)

    def _lay_out_rows(self, constraints: Constraints, sets: list[tuple[np.ndarray, ...]]) -> None:
        """Arenas of constraints and collision, with the addresses of stages and arenas in dual numbers."""
        block, collision = constraints.block, constraints.collision
        self._rows = _as_duals(block.d)
        self._m, self._args = block.m.copy(), block.args.copy()
        sets[CONSTRAINT] = (self._m, block.c, self._args, self._rows)
        links = {t.TREE_D: address_of(self._trees)}
        if collision is not None:
            collision_d, self._collision_args = _as_duals(collision.d), collision.args.copy()
            sets[COLLISION] = (collision.m, collision.c, self._collision_args, collision_d)
            links |= {
                t.COLLISION_ARGS: address_of(self._collision_args),
                t.COLLISION_D: address_of(collision_d),
            }
            if constraints.step_plan.convex_pairs:
                needed = FAMILY_LINKS[CONVEX]
                shared = np.array([dual_address(LINKED[k]) for k in needed], np.int64)
                self._alive.append(shared)
                self._redirect_links = [
                    (INTEGERS, address_of(shared) + 8 * i, address_of(self._collision_args) + 8 * k, 1)
                    for i, k in enumerate(needed)
                ]
        makers = [row.stage for row in called_stages(constraints.step_plan) if row.link is None]
        called = {t.FIRST_ROW_LINK + k: dual_address(one) for k, one in enumerate(makers)}
        called[t.MASS_LINK] = dual_address(mass_of_island)
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
        plain: list[tuple[int, int, int, int]] = []
        dual: list[tuple[int, int, int, int]] = []
        for stage, place in sim.schedule:
            if place in (LOG, USER):
                continue
            if stage is solve_islands and self._block is not None:
                self._pass_on(self._block.m, self._m, plain, dual)
                self._pass_on(self._block.args, self._args, plain, dual)
                dual += self._redirect
            plain.append((CALL, stage.address(float64), place, 0))
            if stage is narrow_sort:
                self._pass_on(sim.sets[COLLISION][2], self._collision_args, plain, dual)
                dual += self._redirect_links
            if stage is solve_islands:
                solved = np.zeros(len(sim.a))
                self._alive.append(solved)
                # doubles are copied as integers are
                plain.append((INTEGERS, address_of(sim.a), address_of(solved), len(solved)))
                dual.append((NUMBERS, address_of(solved), self._place("a_last"), len(solved)))
            if stage.name not in _STRUCTURE:
                instead = _IN_DUALS.get(stage.name, [(stage, place)])
                if stage is solve_islands:
                    instead = [(self._solve, CONSTRAINT)]
                for one, where in instead:
                    dual.append((CALL, dual_address(one), where, 0))
        self._plain, self._dual = (np.array(made, np.int64).reshape(-1, _OPERATION) for made in (plain, dual))
        first = []
        if sim.constraints is not None:
            column = sim.constraints.column
            first = [
                (NUMBERS, address_of(column[name]), self._place(name), column[name].size) for name in _INPUTS
            ]
        self._first = np.array(first, np.int64).reshape(-1, _OPERATION)

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
        _run_once(self._plain, self._plain_sets)
        if sim.constraints is not None and sim.constraints.constrains:
            _require_newton(sim)
            _require_known_contacts(sim)
        _run_once(self._first, self._sets)

    def run(self, kept: dict[str, Array], slopes: dict[str, Array], n: int) -> dict[str, Array]:
        """The step in dual numbers along `n` directions; values, then derivatives of what it ends with."""
        groups = -(-n // DIRECTIONS)
        x = np.zeros((groups, sum(self._sizes.values()), DOUBLES))
        for name, start in self._starts.items():
            part = x[:, start : start + self._sizes[name]]
            part[:, :, 0] = kept[name].reshape(-1)
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
            made[name] = np.concatenate([kept[name][:, None] if n == 0 else part[0, :, :1], whole], axis=1)
        return made


def dual_stages() -> list[Stage]:
    """Every stage that derivatives of steps run in dual numbers."""
    never = frozenset((*_REFUSED, "fixed"))
    found: list[Stage] = [LINKED[k] for k in FAMILY_LINKS[CONVEX]] + [mass_of_island]
    found += [differentiate_islands, relax_islands]
    for row in TABLE:
        left_out = row.phase in (Phase.VARIATIONAL, Phase.SENSORS) or row.arenas in (LOG, USER)
        if left_out or row.stage.name in _STRUCTURE or not may_hold(row.when, never):
            continue
        if row.caller is None:
            found += [one for one, _ in _IN_DUALS.get(row.stage.name, [(row.stage, row.arenas)])]
        elif row.link is None:
            found.append(row.stage)
    return list(dict.fromkeys(found))


def _addresses(sets: Any) -> np.ndarray:
    """Addresses of sets of arenas."""
    return np.array([[address_of(block) for block in arenas] for arenas in sets], np.int64)


_IN_DUALS: dict[str, list[tuple[Stage, int]]] = {
    "shape_poses": [(fixed_shape_poses, COLLISION)],
    "damp_implicitly": [
        (trees.composites, MULTIBODY),
        (trees.mass_matrix, MULTIBODY),
        (damp_fixed, CONSTRAINT),
    ],
}
"""Stages that run in dual numbers in the place of others, by the names of these."""


def _as_duals(numbers: Array) -> Array:
    """An arena of duals with these values and no derivatives."""
    duals = aligned_zeros(DOUBLES * numbers.size)
    duals[::DOUBLES] = numbers.reshape(-1)
    return duals


def _require_newton(sim: Simulation) -> None:
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


def _require_known_contacts(sim: Simulation) -> None:
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
