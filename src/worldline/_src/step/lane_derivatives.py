# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Analytic derivatives of steps of worlds in lanes, several worlds in each instruction.

What `analytic_step.py` is for one world: the step is evaluated once more from the rows of state and inputs
that it began with, then r(q, v, u, a) = RNEA(q, v, a) - tau - J^T f = 0 is differentiated at the
accelerations a that were found, da = -H^-1 dr with H = M + J^T W J. Forces of joints and the numbers of rows
follow from dual numbers in lanes, all degrees of freedom along one direction at a time; contacts from dual
numbers along displacements of the two bodies of a pair that touches in any world, and formulas
(`lane_contact_derivatives.py`). Active sets are those of each world: rows that push in one and not in another
have weights in the one alone.

A group is filled up by repeating its last world, and always has as many worlds as the processor has lanes, so
the derivatives of a world do not depend on the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.duals.lane_kind import DUAL_LANES4, DUAL_LANES8
from worldline._src.errors import CapabilityError, OperationError
from worldline._src.jit import DISABLED, Stage, entry, inline
from worldline._src.kernels.constraints import lane_contact_derivatives as contacts
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.fixed_solve import PLAIN_ROWS
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS
from worldline._src.kinds import LANES4, LANES8, Kind, float64
from worldline._src.model.compile import constant_views
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.lanes import native_width
from worldline._src.scalar.memory import address_of, aligned_zeros
from worldline._src.spatial.poses import Array, read_only
from worldline._src.step import analytic_program as p
from worldline._src.step import analytic_step, dual_step, fixed_constraints
from worldline._src.step import lane_linear as linear
from worldline._src.step import lane_linear_stages as s
from worldline._src.step import stages as trees
from worldline._src.step.lane_runner import move_rows
from worldline._src.step.lane_simulation import LaneSimulation, Share
from worldline._src.step.runner import call_on_set
from worldline._src.step.simulation import Simulation
from worldline._src.step.step_table import COLLISION, CONSTRAINT, MULTIBODY

_JOINT_STAGES = (
    *("drive_forces", "no_drive_forces", "actuator_forces", "spring_displacements", "add_passive_forces"),
)
_ROW_STAGES = ("begin_fixed_rows", "friction_rows", "limit_rows", "contact_rows")
_OTHERS = (
    *("positions", "link_velocities", "center_forces", "accelerations", "composites", "mass_matrix"),
    *("collision_poses", "fixed_shape_poses", "narrow_fixed", "settle_fixed_contacts", "begin_fixed_solve"),
    *("newton_fixed_rows", "sweep_fixed_rows", "end_fixed_solve"),
)
_AFTER = ("damp_fixed", "semi_implicit_euler", "count_steps")
"""What follows the accelerations of a step."""
_SAME = 1e-6
"""How far a step may be from the solution of its rows, as a share of velocities."""

WIDTHS: dict[int, tuple[Kind, Kind]] = {4: (LANES4, DUAL_LANES4), 8: (LANES8, DUAL_LANES8)}
"""Lanes and dual numbers in lanes, by the number of worlds that they have."""


def obstacles(sim: Simulation, lanes: LaneSimulation) -> tuple[str, ...]:
    """What keeps derivatives of a Simulation from being taken in lanes; empty where nothing does."""
    found: list[str] = []
    constraints = lanes.constraints
    names = {stage.name for stage, _ in lanes.stages()}
    if not analytic_step.has_local_forces(sim):
        found.append("derivatives of forces without formulas")
    elif not names <= {*_JOINT_STAGES, *_ROW_STAGES, *_OTHERS, *_AFTER} or lanes.elements is not None:
        found.append("derivatives of stages without formulas in lanes")
    if DISABLED:
        found.append("derivatives of steps without the compiler, which NUMBA_DISABLE_JIT switches off")
    if lanes.dtype != np.float64:
        found.append("derivatives of steps in single precision")
    if constraints.sizes["na"]:
        found.append("derivatives by activations of actuators")
    if constraints.single is not None:
        found.append("derivatives of contacts of boxes, cylinders and hulls with other shapes than planes")
    if constraints.may_grow:
        found.append("derivatives of more rows than are laid out at once")
    laws = np.concatenate([constraints.column.shape_law, constraints.column.pair_law])
    if constraints.collision is not None and (laws[:, t.KIND] != t.IMPEDANCE).any():
        found.append("derivatives of hard contacts and contact springs")
    elif constraints.constrains and constraints.column.option[t.NEWTON_STEPS] != PLAIN_ROWS:
        found.append("derivatives of elliptic friction cones and of rows that sweeps solve")
    return tuple(found)


class DifferentiableLanes(LaneSimulation):
    """Worlds in lanes that keep what their last step began with."""

    _has_derivatives = True

    def _start(self) -> None:
        super()._start()
        self._began: tuple[Array, Array] | None = None
        self._is_known = np.zeros(self.worlds, bool)

    def advance(self, n: int, share: Share | None, lanes: int | None = None) -> None:
        """Make `n` steps of every world; rows are kept before the last one."""
        failed, unsolved = (), np.zeros(self.worlds)
        if n > 1:
            super().advance(n - 1, share, lanes)
            failed, unsolved = self.failures, self._sweeps[:, 1].copy()
        if n > 0:
            self._began, self._is_known[:] = (self._state.copy(), self._inputs.copy()), False
            super().advance(1, share, lanes)
            self._is_known[:] = True
        if n > 1:
            self._sweeps[:, 1] += unsolved
            now = {failure.world: failure for failure in self.failures}
            self._last_failures = (*(one for one in failed if one.world not in now), *self._last_failures)

    def put_state(self, rows: Array) -> None:
        """Let all worlds go on from rows of state."""
        self._state[:] = rows

    def state_rows(self) -> Array:
        """Rows of state of all worlds; read only."""
        return read_only(self._state)

    def forget_last_step(self, which: np.ndarray) -> None:
        """The state of worlds is no longer what their last step led to."""
        self._is_known[which] = False

    def began(self, which: np.ndarray) -> tuple[Array, Array]:
        """Rows of state and inputs that the last step of worlds began with."""
        if self._began is None or not self._is_known[which].all():
            raise OperationError("there is no last step to differentiate; step first")
        state, inputs = self._began
        return np.ascontiguousarray(state[which]), np.ascontiguousarray(inputs[which])


class LaneColumns(NamedTuple):
    """What derivatives are taken by, and which rows they have.

    tangent: which displacements and velocities have a row. changes: source and number of every column, see
    `analytic_step.SOURCES`; a negative source changes nothing. states: how many columns are states.
    """

    tangent: np.ndarray
    changes: np.ndarray
    states: int


class _Room(NamedTuple):
    """Arenas of a group of worlds, tables of them, the numbers of derivatives."""

    sets: list[Any]
    table: np.ndarray
    header: np.ndarray
    alive: list[Any]


class LaneTangent:
    """Derivatives of steps of a LaneSimulation, from the rows that the steps began with."""

    def __init__(self, lanes: LaneSimulation, sim: Simulation, columns: LaneColumns) -> None:
        """sim: one world, for which actuators act on the same degrees of freedom."""
        self._lanes, self._columns = lanes, columns
        self._width = native_width()
        self._kind, self._dual = WIDTHS[self._width]
        actuators = analytic_step.actuators_of(sim)
        assert actuators is not None, "has_local_forces"
        self._actuators = actuators
        model = lanes.model
        self._nv, self._sizes = model.joint_dof_count, model.arenas.sizes
        self._turns = np.ascontiguousarray(dual_step.quaternions(model))
        turning = (self._turns[:, :1] + np.arange(4)).reshape(-1)
        self._is_plain = np.ones(max(self._sizes["nq"], 1), np.int64)
        self._is_plain[turning] = 0
        self._links = np.ascontiguousarray(constant_views(model.arenas)["body_link"], np.int64)
        self._changes = np.ascontiguousarray(columns.changes)
        count = len(self._changes)
        rows = lanes.constraints.sizes["nrow"] if lanes.constraints.constrains else 0
        self._size = linear.linear_size(self._nv, self._sizes["nlink"], rows, count)
        self._row_room = rows
        self._programs: dict[bool, np.ndarray] = {}
        self._rooms: list[_Room] = []
        self._parts = self._tables()

    # ---- layout

    def _tables(self) -> tuple[np.ndarray, ...]:
        """Which numbers go where: given gradients in, Jacobians, gradients and residuals out."""
        nv, count, n = self._nv, len(self._changes), self._columns.states
        last = self._size - (2 * nv + count + 1)
        out, place = last - 2 * nv * count, self._linear_set
        tangent = self._columns.tangent.tolist()
        given = [(place, self._size + d, 1, i) for i, d in enumerate(tangent)]
        state = [(place, out + d * count, n, i * n) for i, d in enumerate(tangent)]
        control = [(place, out + d * count + n, count - n, i * (count - n)) for i, d in enumerate(tangent)]
        gradient = [(place, last + 2 * nv, count, 0)]
        off = [(place, self._size - 1, 1, 0)]
        return tuple(
            np.array(part, np.int64).reshape(-1, 4) for part in (given, state, control, gradient, off)
        )

    @property
    def _directions(self) -> list[int]:
        """Directions that dual numbers go along."""
        found = [linear.Q, linear.V]
        sources = set(self._changes[:, 0].tolist())
        if p.BY_FORCE in sources:
            found.append(linear.FORCE)
        if p.BY_CONTROL in sources:
            found += [linear.CONTROL + rank for rank in sorted(set(self._actuators[:, 1].tolist()))]
        return found

    @property
    def _first_set(self) -> int:
        return 2 if self._lanes.constraints.collision is None else 3

    @property
    def _linear_set(self) -> int:
        return self._first_set

    def _stages(self, backward: bool) -> list[tuple[Stage, int, Kind]]:
        """Stages with their arenas and scalars."""
        first = self._first_set
        dual_place = {MULTIBODY: first + 1, CONSTRAINT: first + 2}
        header = first + 3
        made: list[tuple[Stage, int, Kind]] = []
        step = [one for one in self._lanes.stages() if one[0].name not in _AFTER]
        names = [stage.name for stage, _ in step]
        made += [(stage, place, self._kind) for stage, place in step]
        if "composites" not in names:
            made.append((trees.composites, MULTIBODY, self._kind))
        for k, direction in enumerate(self._directions):
            made.append((s.seed_direction, header + k, self._kind))
            for stage, place in step:
                follows = stage.name in _JOINT_STAGES
                if direction <= linear.V and stage.name in _ROW_STAGES:
                    # rows of contacts are linear in velocities, with the damping of their law
                    follows = direction == linear.Q or stage.name != "contact_rows"
                if follows:
                    made.append((stage, dual_place[place], self._dual))
            made.append((s.take_direction, header + k, self._kind))
        made.append((s.linearize_motion, header, self._kind))
        if "begin_fixed_rows" in names:
            made.append((s.linearize_lane_rows, header, self._kind))
        if "contact_rows" in names:
            made.append((s.linearize_touching, header, self._kind))
        made.append((s.factor_lanes, header, self._kind))
        made.append((s.lane_gradient if backward else s.lane_columns, header, self._kind))
        return made

    def _program(self, backward: bool) -> np.ndarray:
        if backward not in self._programs:
            self._programs[backward] = np.array(
                [(stage.address(kind), place) for stage, place, kind in self._stages(backward)], np.int64
            )
        return self._programs[backward]

    def _duals(self, numbers: Array) -> Array:
        """An arena of one world in dual numbers in lanes, without derivatives."""
        wide = aligned_zeros(2 * self._width * len(numbers))
        wide.reshape(-1, 2, self._width)[:, 0] = numbers[:, None]
        return wide

    def _room(self) -> _Room:
        """Arenas for a group of worlds; those nobody uses wait in a list."""
        try:
            return self._rooms.pop()
        except IndexError:
            pass
        lanes, constraints = self._lanes, self._lanes.constraints
        block, collision = constraints.block, constraints.collision
        sets: list[Any] = lanes.arenas(f"lanes{self._width}")
        tree_index, tree_constants, tree_args, data = sets[MULTIBODY]
        numbers = aligned_zeros(self._width * (self._size + 2 * self._nv))
        dual_trees, dual_rows = self._duals(lanes._data), self._duals(block.d)
        header, dual_args = np.zeros(linear.HEADER, np.int64), sets[CONSTRAINT][2].copy()
        dual_args[t.TREE_D] = address_of(dual_trees)
        dofs = np.zeros(max(self._nv * (self._nv + 1), 1), np.int64)
        shaped = aligned_zeros(2 * self._width * (PAIR_CONTACTS * (contacts.SLOPES + 8) + 9))
        pair_args, largest = np.zeros(4, np.int64), max(len(lanes._data), len(block.d))
        header[linear.TREE_M], header[linear.TREE_DUALS] = address_of(tree_index), address_of(dual_trees)
        header[linear.NUMBERS], header[linear.INTEGERS] = address_of(numbers), address_of(dofs)
        header[linear.SHAPED], header[linear.PAIR_ARGS] = address_of(shaped), address_of(pair_args)
        header[linear.GIVEN] = address_of(numbers[self._width * self._size :])
        header[linear.IS_DAMPED] = int(any(stage.name == "damp_fixed" for stage, _ in lanes.stages()))
        header[linear.IS_PLAIN], header[linear.LINKS] = address_of(self._is_plain), address_of(self._links)
        header[linear.ACTUATORS], header[linear.ACTUATOR_COUNT] = (
            address_of(self._actuators),
            len(self._actuators),
        )
        header[linear.TURNS], header[linear.TURN_COUNT] = address_of(self._turns), len(self._turns)
        header[linear.COLUMNS], header[linear.COLUMN_COUNT] = address_of(self._changes), len(self._changes)
        header[linear.ROW_ROOM] = self._row_room
        alive = [numbers, dual_trees, dual_rows, dual_args, dofs, shaped, pair_args]
        if constraints.constrains or len(self._actuators):
            header[linear.ROW_M], header[linear.ROW_C], header[linear.ROW_ARGS], header[linear.ROW_D] = map(
                address_of, sets[CONSTRAINT]
            )
            header[linear.ROW_DUALS] = address_of(dual_rows)
        if collision is not None:
            found = self._duals(collision.d)
            alive.append(found)
            dual_args[t.COLLISION_D] = address_of(found)
            largest = max(largest, len(collision.d))
            (
                header[linear.CONTACT_M],
                header[linear.CONTACT_C],
                header[linear.CONTACT_ARGS],
                header[linear.CONTACT_D],
            ) = map(address_of, sets[COLLISION])
            header[linear.CONTACT_DUALS] = address_of(found)
            header[linear.PAIR_STAGE] = s.displaced_pair.address(self._dual)
        header[linear.DUALS] = 2 * largest
        sets.append((tree_index, tree_constants, tree_args, numbers))
        sets.append((tree_index, tree_constants, tree_args, dual_trees))
        sets.append((sets[CONSTRAINT][0], sets[CONSTRAINT][1], dual_args, dual_rows))
        for direction in self._directions:
            args = np.array([direction, 0, 0, 0], np.int64)
            sets.append((header, tree_constants, args, data))
        table = np.array([[address_of(block) for block in one] for one in sets], np.int64)
        return _Room(sets, table, header, alive)

    # ---- derivatives

    def jacobians(self, state: Array, inputs: Array, share: Share) -> tuple[Array, Array]:
        """Derivatives of the state after a step by the state and by controls, (worlds, n, n) and (worlds, n,
        m).

        state, inputs: rows that the step of every world began with. share: calls work for parts of worlds.
        """
        n, m = self._columns.states, len(self._changes) - self._columns.states
        rows = len(self._columns.tangent)
        A, B = np.empty((len(state), rows * n)), np.empty((len(state), rows * m))
        self._run(False, state, inputs, np.zeros((len(state), 0)), A, B, share)
        return A.reshape(-1, rows, n), B.reshape(-1, rows, m)

    def gradient(self, state: Array, inputs: Array, given: Array, share: Share) -> tuple[Array, Array]:
        """Gradients by state and controls from those by the state after the step, (worlds, n)."""
        made = np.empty((len(state), len(self._changes)))
        self._run(True, state, inputs, given, made, np.zeros((len(state), 0)), share)
        return made[:, : self._columns.states], made[:, self._columns.states :]

    def _run(
        self,
        backward: bool,
        state: Array,
        inputs: Array,
        given: Array,
        first: Array,
        second: Array,
        share: Share,
    ) -> None:
        """Fill rows of worlds with derivatives; refuses steps that are not solutions of their rows."""
        program, run = self._program(backward), LOOPS[f"lanes{self._width}"].ready()
        state_parts, input_parts, *_ = self._lanes.row_tables
        to_given, to_state, to_control, to_gradient, to_off = self._parts
        none = np.zeros((0, 4), np.int64)
        parts = (to_given, to_gradient, none) if backward else (none, to_state, to_control)
        off = np.empty((len(state), 1))

        def chunk(low: int, high: int, _: int) -> None:
            room = self._room()
            tables = state_parts, input_parts, *parts, to_off
            run(program, room.table, *tables, state, inputs, given, first, second, off, low, high)
            self._rooms.append(room)

        share(chunk, len(state), self._width, 1)
        bad = np.flatnonzero(~(off[:, 0] <= _SAME))
        if bad.size:
            raise CapabilityError(
                f"derivatives of a step need constraint forces that solve its rows; the solver of world "
                f"{int(bad[0])} did not converge: the state is off by {off[bad[0], 0]:.2g}"
            )


@inline
def _run_lanes(
    program, sets, state, inputs, given, first, second, off, x, u, g, a, b, z, low, high, scalar, width
):
    """Derivatives of worlds `low` to `high`, `width` at a time.

    program: address and set of arenas of every stage. state, inputs, given, first, second, off: which parts
    of the rows of x, u, g, read, and of a, b, z, written, go where.
    """
    for w in range(low, high, width):
        move_rows(sets, state, x, scalar, float64, width, w, high - 1, False)
        move_rows(sets, inputs, u, scalar, float64, width, w, high - 1, False)
        move_rows(sets, given, g, scalar, float64, width, w, high - 1, False)
        for k in range(program.shape[0]):
            call_on_set(program[k, 0], sets, program[k, 1], scalar)
        move_rows(sets, first, a, scalar, float64, width, w, high - 1, True)
        move_rows(sets, second, b, scalar, float64, width, w, high - 1, True)
        move_rows(sets, off, z, scalar, float64, width, w, high - 1, True)


_SIGNATURE = 8 * "int64[:,::1] " + 6 * "float64[:,::1] " + 2 * "int64 "


@entry(signature=_SIGNATURE, label="derivatives of steps of worlds (lanes4)")
def _run_lanes4(program, sets, state, inputs, given, first, second, off, x, u, g, a, b, z, low, high):
    _run_lanes(
        *(program, sets, state, inputs, given, first, second, off, x, u, g, a, b, z, low, high), LANES4, 4
    )


@entry(signature=_SIGNATURE, label="derivatives of steps of worlds (lanes8)")
def _run_lanes8(program, sets, state, inputs, given, first, second, off, x, u, g, a, b, z, low, high):
    _run_lanes(
        *(program, sets, state, inputs, given, first, second, off, x, u, g, a, b, z, low, high), LANES8, 8
    )


LOOPS: dict[str, Any] = {"lanes4": _run_lanes4, "lanes8": _run_lanes8}
"""The compiled loops over worlds, by scalar."""
LANE_STAGES = (
    *(s.seed_direction, s.take_direction, s.linearize_motion, s.linearize_lane_rows, s.linearize_touching),
    *(s.factor_lanes, s.lane_columns, s.lane_gradient),
)
"""Stages of derivatives of worlds in lanes, beside those of their steps."""
DUAL_STAGES = (
    s.displaced_pair,
    *(one for one in fixed_constraints.STAGES if one.name in (*_JOINT_STAGES, *_ROW_STAGES)),
)
"""Stages that derivatives run in dual numbers in lanes."""
