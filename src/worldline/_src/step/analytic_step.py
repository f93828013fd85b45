# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Analytic derivatives of steps whose forces are local: as columns, and backwards from a gradient.

At the accelerations a that the step found, r(q, v, u, a) = RNEA(q, v, a) - tau - J^T f vanishes, so that
da = -H^-1 (dr/dq dq + dr/dv dv + dr/du du) with H = M + J^T W J. What r is made of decides how it is
differentiated:

    RNEA        formulas [Carpentier & Mansard 2018], `kernels/rnea_derivatives.py`
    tau, rows   forces of drives, springs, dampers and actuators, rows of limits and joint friction: each acts
    of joints   on one degree of freedom and depends on its coordinate, velocity and actuators alone, so all
                of their derivatives come from one pass of dual numbers, with every coordinate changed at once
                along the first direction, every velocity along the second (compressed differentiation
                [Curtis, Powell & Reid 1974])
    contacts    dual numbers along displacements of bodies, and formulas; `contact_derivatives.py`

The same matrices serve both products: a gradient goes back through one solve with the factor of H,
w = H^-T dL/da, and the products w^T dr/dx. H is symmetric unless a contact obeys Coulomb's law. Steps with
forces of other kinds are differentiated in dual numbers (`column_step.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.kernels.constraints.equality.kinds import JOINT, TENDON
from worldline._src.kernels.constraints.equality.rows import NO_MOTOR
from worldline._src.kernels.constraints.tables import ANGLE, BOUNCINESS, HARD, IMPEDANCE, KIND, NUMBER
from worldline._src.kernels.narrowphase.dispatch import narrow_sort
from worldline._src.kernels.tendons import PULLEY
from worldline._src.kernels.transmissions import LINEAR as LINEAR_LENGTH
from worldline._src.model.compile import constant_views
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_of
from worldline._src.spatial.poses import Array
from worldline._src.step import analytic_program as p
from worldline._src.step import analytic_stages as s
from worldline._src.step import dual_step
from worldline._src.step.column_step import has_inverse_form
from worldline._src.step.derivative_table import (
    LOCAL_BEGIN,
    LOCAL_CONTACTS,
    LOCAL_END,
    LOCAL_EQUALITIES,
    LOCAL_JOINTS,
    LOCAL_TENDONS,
    LOCAL_TURN_SEEDS,
    LOCAL_TURNS,
    Form,
    Part,
    repeated_stages,
    selection,
)
from worldline._src.step.island_stages import solve_islands
from worldline._src.step.simulation import Simulation
from worldline._src.step.step_snapshot import Snapshot
from worldline._src.step.step_stages import accelerations
from worldline._src.step.step_table import COLLISION, MULTIBODY, called_stages

_MAKERS = frozenset(("friction_rows", "limit_rows", "contact_rows", "equality_rows", "tendon_rows"))
"""Makers of rows that have analytic derivatives."""

_MAKER_NUMBERS = [s.CONTACT_MAKER, s.EQUALITY_MAKER, s.TENDON_MAKER, s.LIMIT_MAKER]
_OPEN = 1e300
"""Bounds of equalities beyond this are none."""
_RANKS = 2
"""Most actuators of a degree of freedom, which have directions of their own."""
SOURCES = {
    "displacement": p.BY_Q,
    "velocity": p.BY_V,
    "force": p.BY_FORCE,
    "control": p.BY_CONTROL,
    "activation": p.BY_ACTIVATION,
    "body_f": p.BY_BODY,
}
"""What directions change."""
_PLANS = 2
"""Columns that are kept, for the seeds used last."""


class _Plan(NamedTuple):
    """Columns along given seeds."""

    given: Any
    terms: np.ndarray
    """Source, number and column of every change, (n, 3)."""
    values: Array
    columns: int


class _Gradient(NamedTuple):
    """A call of `step_gradient` on arrays of its own."""

    tangent: np.ndarray
    controls: np.ndarray
    given: Array
    out: Array
    call: Any


def has_local_forces(sim: Simulation) -> bool:
    """Whether all that acts in a step has analytic derivatives; see the module."""
    if not has_inverse_form(sim) or sim.model.compensates_gravity or sim.model.arenas.sizes["nbend"]:
        return False
    if any(one.part is Part.REFUSED for one in selection(sim.schedule, Form.LOCAL)):
        return False
    # drives of orientations depend on displacements by the logarithm of a rotation
    turns = dual_step.quaternions(sim.model)[:, 1:] + np.arange(3)
    if sim.model.joint_target_ke[turns].any():
        return False
    constraints = sim.constraints
    if constraints is None:
        return True
    makers = {row.stage.name for row in called_stages(constraints.step_plan) if row.link is None}
    column = constraints.column
    if not makers <= _MAKERS or not np.isin(column.limit_kind, (NUMBER, ANGLE)).all():
        return False
    if "equality_rows" in makers and not _has_plain_equalities(column):
        return False
    if constraints.collision is not None:
        # the reference velocity of a bounce depends on the speed, and on the moment of the impact
        laws = np.concatenate([column.shape_law, column.pair_law])
        if ((laws[:, KIND] != IMPEDANCE) & (laws[:, BOUNCINESS] > 0.0)).any():
            return False
    return actuators_of(sim) is not None


def _has_plain_equalities(column: Any) -> bool:
    """Whether equalities have their own rows alone, without motors and limits of their coordinates."""
    kind = column.equality_kind
    follows, follower = kind == JOINT, column.equality_first[kind == JOINT]
    leader = column.equality_second[follows]
    others = (
        (column.equality_motor != NO_MOTOR)
        | (column.equality_friction[:, 0] > 0.0)
        | (column.equality_armature > 0.0).any(axis=1)
        | (np.abs(column.equality_speed) < _OPEN).any(axis=1)
        | (column.equality_number[:, 9] > -_OPEN)
        | (column.equality_number[:, 10] < _OPEN)
    )
    hard = (column.equality_law[:, KIND] == HARD) | (column.equality_turn_law[:, KIND] == HARD)
    # coordinates that lead and those that follow are displaced one after the other
    return not ((kind == TENDON) | others | hard).any() and not np.isin(follower, leader).any()


def _colors_of(groups: list[set[int]], nlink: int) -> np.ndarray:
    """Colors of kernel links such that the links of a group have different ones; -1 for links in none."""
    colors = np.full(nlink, -1, np.int64)
    for link in sorted(set().union(*groups) - {0}):
        near = set().union(*(group for group in groups if link in group)) - {link}
        taken = {int(colors[other]) for other in near}
        colors[link] = next(c for c in range(nlink) if c not in taken)
    return colors


def _linked_by_equalities(column: Any) -> list[set[int]]:
    """Links of both anchors of every equality that has them."""
    return [set(pair) for pair in column.equality_link[column.equality_kind != JOINT].tolist()]


def _linked_by_tendons(column: Any) -> list[set[int]]:
    """Links that the path of every tendon passes."""
    links = column.anchor_link
    side = np.where(column.node_side < 0, column.node_anchor, column.node_side)
    passed = np.where(
        (column.node_kind == PULLEY)[:, None], 0, links[np.stack([column.node_anchor, side], 1)]
    )
    return [set(passed[first:end].ravel().tolist()) for first, end in column.tendon_path.tolist()]


def actuators_of(sim: Simulation) -> np.ndarray | None:
    """Degree of freedom, rank on it and activation (-1: none) of every actuator; None if one has more."""
    if sim.constraints is None:
        return np.zeros((0, 3), np.int64)
    column = sim.constraints.column
    found: list[tuple[int, int, int]] = []
    used: dict[int, int] = {}
    for u in range(len(column.control)):
        first, end = column.act_span[u].tolist()
        kind = column.act_kind[u]
        local = end - first == 1 and column.act_hold[u, 0] == LINEAR_LENGTH and column.act_tendon[u] < 0
        if not local or (kind[3] >= 0 and kind[5] != 1):
            return None
        dof = int(column.act_dof[first])
        rank = used.get(dof, 0)
        if rank >= _RANKS:
            return None
        used[dof] = rank + 1
        found.append((dof, rank, int(kind[3])))
    return np.array(found, np.int64).reshape(-1, 3)


# ---- the step


class AnalyticStep(dual_step.DualStep):
    """A step with local forces, its derivatives as matrices."""

    def __init__(self, sim: Simulation, kept: dict[str, Array], start: Snapshot, present: Snapshot) -> None:
        """kept: what the step began with, the values of `start`; present: what is put back at the end."""
        nv, nlink = sim.model.joint_dof_count, sim.model.arenas.sizes["nlink"]
        self._sim, self._nv = sim, nv
        self._header = np.zeros(p.PROGRAM_HEADER, np.int64)
        self._numbers = np.zeros(s.linear_size(nv, nlink))
        self._groups = np.zeros(s.grouping_size(nv), np.int64)
        self._solved = np.zeros(nv)
        self._plans: list[_Plan] = []
        self._scratch = np.zeros(0)
        self._gradient: _Gradient | None = None
        self._may_be_unknown = False
        found = actuators_of(sim)
        assert found is not None
        self._actuators = found
        self._turns = np.ascontiguousarray(dual_step.quaternions(sim.model))
        self._links = np.ascontiguousarray(constant_views(sim.model.arenas)["body_link"], np.int64)
        self._snapshots, self._schedule, self._arenas = (start, present), sim.schedule, sim.sets
        super().__init__(sim, False, kept)
        self._make_inputs(sim)
        self._activations = self._sizes.get("activation", 0)
        h = self._header
        h[s.NV], h[s.NLINK], h[p.ACTIVATIONS] = nv, nlink, self._activations
        h[s.START_V], h[s.END_V] = address_of(kept["v"]), address_of(sim.field("v"))
        h[s.ACTIVATED] = self._place("activation") if self._activations else address_of(self._numbers)
        self._join_operations()
        self._point(p.SETS, p.SET_COUNT, self._sets)
        self._point(p.ACTUATORS, p.ACTUATOR_COUNT, self._actuators)
        self._point(p.TURNS, p.TURN_COUNT, self._turns)
        self._point(p.LINKS, p.LINK_COUNT, self._links)
        self._point(p.INPUTS, p.INPUT_COUNT, self._input_table)
        self._point(p.DIRECTIONS, p.DIRECTION_COUNT, self._directions)
        constraints = sim.constraints
        if constraints is not None and constraints.constrains:
            h[p.ROW_COUNTER] = address_of(constraints.column.counter)
            h[p.SPLITS] = int(constraints.step_plan.split)
        if constraints is not None and constraints.collision is not None:
            h[s.IS_STIFF] = int(dual_step.obeys_coulomb(constraints))
            contacts = constraints.collision.column
            h[p.PAIR_COUNTER], h[p.PUSHES] = (
                address_of(contacts.counter),
                address_of(constraints.column.contact_force),
            )
            self._point(p.PAIRS, p.PAIR_COUNT, contacts.contact_id)
            plan = constraints.step_plan
            self._may_be_unknown = plan.convex_pairs or plan.surface_pairs
            self._point(p.BODY_LINK, p.BODY_COUNT, constraints.column.body_link)

    def _point(self, address: int, count: int, array: np.ndarray) -> None:
        """Let two numbers of the header say where an array is and how many rows it has."""
        self._header[address], self._header[count] = address_of(array), len(array)

    def _make_inputs(self, sim: Simulation) -> None:
        """Values of the step in dual numbers, with the direction that changes each."""
        nv = self._nv
        turns = set((self._turns[:, :1] + np.arange(4)).reshape(-1).tolist())
        directions = {
            "q": [-1 if i in turns else p.Q for i in range(self._sizes["q"])],
            "v": [p.V] * nv,
            "force": [p.FORCE] * nv,
            "control": (p.CONTROL + self._actuators[:, 1]).tolist(),
        }
        if "activation" in self._sizes:
            ranks = [-1] * self._sizes["activation"]
            for _, rank, at in self._actuators.tolist():
                if at >= 0:
                    ranks[at] = p.ACTIVATION + rank
            directions["activation"] = ranks
        inputs, flat = [], []
        for name, size in self._sizes.items():
            if name in ("a", "body_f"):
                continue
            inputs.append((self._place(name), size, address_of(self.kept[name]), len(flat)))
            flat += directions.get(name, [-1] * size)
        self._input_table = np.array(inputs, np.int64).reshape(-1, 4)
        self._directions = np.array(flat, np.int64)

    # ---- operations

    def _make_operations(self, sim: Simulation) -> None:
        """The step in plain numbers, then what its derivatives are made of."""
        index, constant, arguments, _ = sim.sets[MULTIBODY]
        h, data = self._header, sim.data
        h[s.TREE_M], h[s.TREE_C], h[s.TREE_D] = address_of(index), address_of(constant), address_of(data)
        h[s.NUMBERS], h[s.GROUPS] = address_of(self._numbers), address_of(self._groups)
        h[s.SOLVED], h[_MAKER_NUMBERS] = address_of(self._solved), -1
        dual = [address_of(x) for x in (h, constant, arguments, self._trees)]
        plain_set = [*dual[:3], address_of(data)]
        self._sets = np.concatenate([self._sets, np.array([dual, plain_set], np.int64)])

        plain: list[dual_step.Operation] = []
        parts: dict[Part, list[dual_step.Operation]] = {part: [] for part in Part}
        chosen = selection(sim.schedule, Form.LOCAL)
        last_solve = [one.stage for one in chosen if one.stage in (accelerations, solve_islands)][-1]
        for one in chosen:
            if one.stage is solve_islands:
                assert self._block is not None
                self._copy_integers(self._block.m, self._m, plain)
                self._copy_integers(self._block.args, self._args, plain)
                plain += self._redirect
                self.solves.append(dual_step.solve_of(sim))
            plain += dual_step.repeated(one, self.solves)
            if one.stage is narrow_sort:
                self._copy_integers(sim.sets[COLLISION][2], self._collision_args, plain)
                plain += self._redirect_links
                self._reset_counters(sim, plain, parts[Part.CONTACTS])
            elif one.stage is last_solve:
                # doubles are copied as integers are
                plain.append((dual_step.INTEGERS, address_of(sim.a), address_of(self._solved), self._nv))
            parts[one.part] += dual_step.dual_calls(one.calls)
        joints = dual_step.dual_calls(LOCAL_BEGIN) + parts[Part.JOINTS]
        joints += dual_step.dual_calls(LOCAL_JOINTS) + parts[Part.END]
        contacts = parts[Part.CONTACTS]
        self._point_at_rows(sim)
        h[s.TURNS], h[s.TURN_COUNT] = address_of(self._turns), len(self._turns)
        if self._turns_have_forces(sim):
            # commanded forces have a direction of their own, which now is one of an orientation
            joints.append((dual_step.NUMBERS, address_of(self.kept["force"]), self._place("force"), self._nv))
            joints += dual_step.dual_calls(LOCAL_TURN_SEEDS) + parts[Part.JOINTS]
            joints += dual_step.dual_calls(LOCAL_TURNS)
        names = {one.stage.name for one in chosen}
        has_equalities, has_tendons = h[s.EQUALITY_MAKER] >= 0, "tendon_forces" in names
        constants = ["dof_S", "link_origin"] if contacts or has_equalities or has_tendons else []
        if has_equalities:
            constants += ["link_V", "link_A"]
            joints.append((dual_step.NUMBERS, address_of(self._solved), self._place("a"), self._nv))
        constants += ["q"] if has_equalities or has_tendons else []
        for name in constants:
            # columns are constants to the forces between bodies
            field = sim.field(name) if name != "q" else self.kept[name]
            joints.append((dual_step.NUMBERS, address_of(field), self._place(name), field.size))
        if contacts:
            contacts += dual_step.dual_calls(LOCAL_CONTACTS)
        if has_equalities:
            joints += dual_step.dual_calls(LOCAL_EQUALITIES)
        if has_tendons:
            joints += dual_step.dual_calls(LOCAL_TENDONS)
        h[s.IS_DAMPED] = int("damp_implicitly" in names)
        self._parts = (plain, joints, contacts, dual_step.dual_calls(LOCAL_END))

    def _join_operations(self) -> None:
        """All operations one after the other: repeat the step, joints, contacts, finish, put back."""
        plain, joints, contacts, last = (
            np.array(part, np.int64).reshape(-1, dual_step.OPERATION) for part in self._parts
        )
        # arenas of plain numbers stand behind those of dual numbers
        plain[plain[:, 0] == dual_step.CALL, 2] += len(self._sets)
        self._sets = np.concatenate([self._sets, self._plain_sets])
        start, present = self._snapshots
        begin = np.concatenate([present.taking, start.putting, plain, self._first])
        parts = (begin, joints, contacts, last, present.putting)
        self._operations, self._begun = np.concatenate(parts), (present.taking, start.putting)
        ends = np.cumsum([len(part) for part in parts])
        self._header[p.BEGUN : p.PUT_BACK + 1] = ends
        self._header[p.OPERATIONS] = address_of(self._operations)

    @property
    def is_stiff(self) -> bool:
        """Whether contacts obey Coulomb's law: sums of columns lose digits that the columns have."""
        return bool(self._header[s.IS_STIFF])

    def is_current(self, kept: dict[str, Array], start: Snapshot, present: Snapshot) -> bool:
        """Whether the operations are those of the stages, arenas and snapshots of today."""
        sim, (taking, putting) = self._sim, self._begun
        if self.kept is not kept or taking is not present.taking or putting is not start.putting:
            return False
        return self._schedule is sim.schedule and self._arenas is sim.sets

    @staticmethod
    def _copy_integers(source: np.ndarray, target: np.ndarray, operations: list[dual_step.Operation]) -> None:
        operations.append((dual_step.INTEGERS, address_of(source), address_of(target), len(source)))

    def _reset_counters(
        self, sim: Simulation, plain: list[dual_step.Operation], contacts: list[dual_step.Operation]
    ) -> None:
        """Counters of contacts as they were before any was found."""
        assert sim.constraints is not None and sim.constraints.collision is not None
        counter = sim.constraints.collision.column.counter
        offset = address_of(counter) - address_of(sim.sets[COLLISION][2])
        copy = np.zeros_like(counter)
        self._alive.append(copy)
        plain.append((dual_step.INTEGERS, address_of(counter), address_of(copy), counter.size))
        contacts.append(
            (dual_step.INTEGERS, address_of(copy), address_of(self._collision_args) + offset, counter.size)
        )

    def _turns_have_forces(self, sim: Simulation) -> bool:
        """Whether an orientation has a spring or a limit."""
        limits = sim.constraints is not None and (sim.constraints.column.limit_kind == ANGLE).any()
        return bool(limits or sim.model.joint_stiffness[self._turns[:, 1:] + np.arange(3)].any())

    def _point_at_rows(self, sim: Simulation) -> None:
        """Addresses of the arenas of rows and collision."""
        h, constraints = self._header, sim.constraints
        if constraints is None or self._block is None:
            return
        nlink, column = sim.model.arenas.sizes["nlink"], constraints.column
        stages = {stage.name: stage for stage, _ in repeated_stages(sim.schedule)}
        h[s.HAS_ROWS] = int("solve_islands" in stages)
        h[s.ROW_M], h[s.ROW_C] = address_of(self._m), address_of(self._block.c)
        h[s.ROW_ARGS], h[s.ROW_D] = address_of(self._args), address_of(self._rows)
        makers = [row.stage.name for row in called_stages(constraints.step_plan) if row.link is None]
        if "contact_rows" in makers:
            h[s.CONTACT_MAKER] = makers.index("contact_rows")
        if "equality_rows" in makers:
            h[s.EQUALITY_MAKER] = makers.index("equality_rows")
            self._colors = _colors_of(_linked_by_equalities(column), nlink)
            h[s.COLORS], h[s.COLOR_COUNT] = address_of(self._colors), max(self._colors.max() + 1, 1)
        if "limit_rows" in makers:
            h[s.LIMIT_MAKER] = makers.index("limit_rows")
        if "tendon_rows" in makers:
            h[s.TENDON_MAKER] = makers.index("tendon_rows")
        if "tendon_lengths" in stages:
            self._tendon_colors = _colors_of(_linked_by_tendons(column), nlink)
            self._tendons = np.zeros((len(column.tendon_size), 4))
            h[s.TENDON_COLORS], h[s.TENDON_NUMBERS] = map(address_of, (self._tendon_colors, self._tendons))
            h[s.TENDON_COLOR_COUNT] = self._tendon_colors.max() + 1
            h[s.TENDON_LENGTHS] = self._address(stages["tendon_lengths"])
        if constraints.collision is not None:
            h[s.CONTACT_M], h[s.CONTACT_D] = (
                address_of(constraints.collision.m),
                address_of(constraints.collision.d),
            )
            h[s.CONTACT_DUALS] = int(self._sets[COLLISION, 3])

    # ---- derivatives

    def columns(self, seeds: Any, tangent: np.ndarray) -> tuple[Array, float]:
        """Repeat the step and take derivatives of the tangent after it by columns; the World stays as it is.

        tangent: which of displacements, velocities and activations, one after the other, have a row. Also how
        far accelerations of the step are from the solution of its rows, as a share of velocities.
        """
        plan = next((one for one in self._plans if one.given is seeds), None)
        if plan is None:
            plan = _plan_of(seeds)
            self._plans = [plan, *self._plans[: _PLANS - 1]]
        return self.along(plan.terms, plan.values, plan.columns, tangent)

    def along(
        self, terms: np.ndarray, values: Array, columns: int, tangent: np.ndarray
    ) -> tuple[Array, float]:
        """The same by changes: `SOURCES`, number and column of each, (n, 3), and their values."""
        size = (4 * self._nv + self._activations) * columns
        if len(self._scratch) < size:
            self._scratch = np.zeros(size)
        out = np.empty((len(tangent), columns))
        off = p.step_columns(self._header, terms, values, tangent, self._scratch, out)
        self._require(off)
        return out, off

    def gradient(self, given: Array, tangent: np.ndarray, controls: np.ndarray) -> tuple[Array, float]:
        """Repeat the step and take the gradient by the tangent and the controls it began with; see `columns`.

        given: the gradient by the tangent after the step. controls: source and number of each, (n, 2).
        """
        bound = self._gradient
        if bound is None or bound.tangent is not tangent or bound.controls is not controls:
            n, m = len(tangent), len(controls)
            operands = np.zeros(n), np.zeros(n + m + 1)
            call = p.step_gradient.bound(  # type: ignore[attr-defined]
                self._header, tangent, controls, *operands, alone=False
            )
            bound = self._gradient = _Gradient(tangent, controls, *operands, call)
        bound.given[:] = given
        bound.call()
        off = float(bound.out[-1])
        self._require(off)
        return bound.out[:-1].copy(), off

    def _require(self, off: float) -> None:
        """Refuse what another method than Newton's solved, and contacts without derivatives."""
        if off == p.OTHER_METHOD:
            dual_step.require_newton(self._sim)
        if self._may_be_unknown:
            dual_step.require_known_contacts(self._sim)


def _plan_of(seeds: Any) -> _Plan:
    """Terms of columns along seeds."""
    terms, values, columns = [np.zeros((0, 3), np.int64)], [np.zeros(0)], 0
    for name, rows in seeds._asdict().items():
        if rows is None:
            continue
        columns = max(columns, len(rows))
        column, number = np.nonzero(rows)
        if len(column):
            terms.append(np.stack([np.full(len(column), SOURCES[name]), number, column], axis=1))
            values.append(rows[column, number])
    return _Plan(seeds, np.concatenate(terms).astype(np.int64), np.concatenate(values), columns)


def takes(seeds: Any) -> bool:
    """Whether all directions are those that terms have."""
    return all(rows is None or name in SOURCES for name, rows in seeds._asdict().items())
