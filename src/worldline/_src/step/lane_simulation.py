# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Many worlds of one model that step with contact, several in each instruction.

What `Simulation` is for one world: arrays that are the state, and `step`. The same kernels run for one world
and for lanes, so world i has the same bits however many worlds there are, however they are grouped and
however many threads step them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError, OperationError
from worldline._src.jit import Stage
from worldline._src.kernels.broadphase.every_pair import every_pair
from worldline._src.kernels.constraints import tables as t
from worldline._src.model.compile import constant_views
from worldline._src.model.model import Model
from worldline._src.scalar.memory import address_of, aligned_zeros
from worldline._src.spatial.poses import Array
from worldline._src.step.constraint_program import ROWS, TREE
from worldline._src.step.evaluate import (
    SCALARS,
    WITH_GRAVITY,
    choose_scalar,
    in_threads,
    is_count,
    new_arena,
    require_inertia,
    stage_addresses,
)
from worldline._src.step.lane_runner import lane_runner, program_table, set_table
from worldline._src.step.simulation import portions
from worldline._src.step.slot_constraints import STAGES, SlotConstraints
from worldline._src.step.stepping import (
    RUNGE_KUTTA_PARTS,
    MultibodyIntegrationFamily,
    dynamics_stages,
    model_needs,
    semi_implicit_stages,
    target_configuration,
)


class _Part(NamedTuple):
    """Numbers of a row: how many, and where in the arenas they go."""

    name: str
    count: int
    place: int
    at: int
    runs: tuple[tuple[int, int, int], ...] | None = None
    """Where not all of them go to one place: first number, where it goes, how many, of every run."""


class _Room(NamedTuple):
    """Arenas of a group of worlds, and the table of their addresses."""

    sets: list[tuple[np.ndarray, ...]]
    table: Any


class LaneSimulation:
    """Worlds of one model that step together, with contacts, limits, joint friction and actuators.

    A layout that is the same for all worlds takes the place of lists: every pair of shapes that may touch
    has room for its contacts. That suits robots of some dozens of shapes. Contacts are those of spheres and
    capsules, and of spheres, capsules and boxes on planes; equalities, closures, tendons and springs
    between bodies are refused with a `CapabilityError` that names them. Rows are those of `Simulation`. Where
    all of them are springs with bounds (pyramids of the impedance model, limits, friction) and there are no
    more than 48 degrees of freedom, Newton's method solves them; others, and what it cannot, projected
    Gauss-Seidel. Both start from the forces of the last step.

    The arrays below are the state and what drives it; write them at any time. Everything that makes the next
    step is in `q`, `v`, `activation` and `kept`. Parameters are those the model has now; after `Model.update`
    make a new one.

    Args:
        model: the model.
        worlds: how many.
        time_step: [s]; the model's own when None.
        integration_family: any but the variational and the implicit-velocity one.
        sweeps: most passes of Gauss-Seidel over the rows of a step.
        tolerance: passes end when no acceleration along a row changes by more than this share of gravity.

    Example:
        >>> import numpy as np
        >>> from worldline.model import LaneSimulation, ModelBuilder
        >>> builder = ModelBuilder()
        >>> ball = builder.add_body()
        >>> _ = builder.add_shape_sphere(ball, radius=0.1)
        >>> _ = builder.add_ground_plane()
        >>> worlds = LaneSimulation(builder.finalize(), 8, time_step=0.002)
        >>> worlds.q[:, 2] = 0.1 + 0.05 * np.arange(8)
        >>> worlds.step(1000)
        >>> worlds.q[:, 2].round(3).tolist()
        [0.096, 0.096, 0.096, 0.096, 0.096, 0.096, 0.096, 0.096]
    """

    def __init__(
        self,
        model: Model,
        worlds: int,
        *,
        time_step: float | None = None,
        integration_family: MultibodyIntegrationFamily | str = MultibodyIntegrationFamily.SEMI_IMPLICIT,
        sweeps: int = 100,
        tolerance: float = 1e-6,
    ) -> None:
        if not is_count(worlds) or worlds < 1:
            raise ArgumentError(f"worlds must be a positive count, got {worlds!r}")
        if not is_count(sweeps) or sweeps < 1:
            raise ArgumentError(f"sweeps must be a positive count, got {sweeps!r}")
        if not (np.isfinite(tolerance) and tolerance >= 0.0):
            raise ArgumentError(f"tolerance must be finite and not negative, got {tolerance!r}")
        h = float(model.time_step if time_step is None else time_step)
        if not (np.isfinite(h) and h > 0.0):
            raise ArgumentError(f"time_step must be positive and finite, got {time_step!r}")
        self.family = MultibodyIntegrationFamily.of(integration_family)
        if self.family in (
            MultibodyIntegrationFamily.VARIATIONAL,
            MultibodyIntegrationFamily.IMPLICIT_VELOCITY,
        ):
            raise CapabilityError(f"steps in lanes have no integration family '{self.family.value}'")
        if model.orphan_joints or model.loose_bodies:
            names = [model.joint_label[j] for j in model.orphan_joints]
            names += [model.body_label[b] for b in model.loose_bodies]
            listed = ", ".join(names)
            raise ArgumentError(
                f"LaneSimulation needs every joint and body in an articulation; these are not: {listed}"
            )
        require_inertia(model, "LaneSimulation", kinematic_too=False)
        self.model = model
        self.worlds = int(worlds)
        self._h = h
        self.frame = 0
        """Steps since the start."""
        self.constraints = SlotConstraints(model, int(sweeps), float(tolerance))
        self._prepare()
        self._lay_out_rows()

    def __repr__(self) -> str:
        return f"LaneSimulation({self.worlds} worlds, {self.model.body_count} bodies, frame {self.frame})"

    # ---- layout

    def _prepare(self) -> None:
        """Constants of a step and the arenas that groups of worlds are copied from."""
        model = self.model
        arenas = model.arenas._replace(index=model.arenas.index.copy(), constant=model.arenas.constant.copy())
        self._index, self._constant = arenas.index, arenas.constant
        self._data = new_arena(model, "float")
        at = model.arenas.offsets["time_step"]
        self._data[at] = self._h
        mobile = constant_views(arenas)["dof_mobile"]
        self.constraints.connect(self._index, self._constant, self._data, mobile, self._h)
        self._programs: dict[tuple[str, bool], Any] = {}
        self._rooms: dict[str, list[_Room]] = {}

    def _lay_out_rows(self) -> None:
        """Rows of state and inputs, one a world, and where their parts go in the arenas."""
        sizes, offsets = self.model.arenas.sizes, self.model.arenas.offsets
        rows, block = self.constraints.sizes, self.constraints.block

        def column(name: str) -> int:
            return int(block.m[t.TABLE.slot[name]])

        nq, nv = sizes["nq"], sizes["nv"]
        state = [
            _Part("q", nq, TREE, offsets["q"]),
            _Part("v", nv, TREE, offsets["v"]),
            _Part("activation", rows["na"], ROWS, column("activation")),
            _Part("kept", rows["nkept"], ROWS, column("kept")),
            _Part("sweeps", 2, ROWS, column("sweeps")),
        ]
        inputs = [
            _Part("q_target", nq, TREE, offsets["q_target"]),
            _Part("v_target", nv, TREE, offsets["v_target"]),
            _Part("force", nv, TREE, offsets["force"]),
            self._control_part(column("control")),
            _Part("body_f", 6 * sizes["nbody"], TREE, offsets["body_f"]),
        ]
        self._state, self._state_parts, held = self._rows(state)
        self._inputs, self._input_parts, given = self._rows(inputs)
        self.q, self.v = held["q"], held["v"]
        """Coordinates and velocities, (worlds, joint_coord_count) and (worlds, joint_dof_count)."""
        self.activation = held["activation"]
        """Activation states of actuators, (worlds, count)."""
        self.kept = held["kept"]
        """Forces of rows that the next step starts from."""
        self._sweeps = held["sweeps"]
        self.q_target, self.v_target = given["q_target"], given["v_target"]
        """Coordinates and velocities that drives lead to."""
        self.force = given["force"]
        """Commanded generalized forces [N or N m], (worlds, joint_dof_count)."""
        self.control = given["control"]
        """Controls of all actuators, (worlds, count); disabled ones keep their entry and exert no force."""
        self.body_f = given["body_f"].reshape(self.worlds, sizes["nbody"], 6)
        """Force at the centre of mass [N] and torque [N m] on bodies, world axes."""
        model = self.model
        self.q[:], self.v[:] = model.joint_q, model.joint_qd
        self.q_target[:] = target_configuration(model, model.joint_target_pos)
        self.v_target[:], self.force[:] = model.joint_target_vel, model.joint_f

    def _rows(self, parts: list[_Part]) -> tuple[Array, np.ndarray, dict[str, Array]]:
        """An array with a row a world, the table of its parts, and views of them by name."""
        starts = np.cumsum([0, *(part.count for part in parts)])
        rows = np.zeros((self.worlds, int(starts[-1])))
        spans = zip(parts, starts.tolist(), strict=False)
        views = {part.name: rows[:, start : start + part.count] for part, start in spans}
        table = [
            (p.place, at, count, start + first)
            for p, start in zip(parts, starts.tolist(), strict=False)
            for first, at, count in (((0, p.at, p.count),) if p.runs is None else p.runs)
        ]
        return rows, np.array(table, np.int64), views

    def _control_part(self, at: int) -> _Part:
        """Controls of all actuators; only those of actuators that act go to the arena."""
        table, acting = self.model.actuators, self.constraints.actuators
        count = 0 if table is None else len(table)
        if len(acting) == count:
            return _Part("control", count, ROWS, at)
        return _Part("control", count, ROWS, at, tuple((u, at + k, 1) for k, u in enumerate(acting.tolist())))

    def stages(self, *, wrenches: bool = True) -> list[tuple[Stage, int]]:
        """The stages of a step with the arenas they run on, with or without forces on bodies."""
        model = self.model
        damped = bool(model.joint_damping.any() or model.joint_target_kd.any())
        implicit = damped and self.family is MultibodyIntegrationFamily.IMPLICIT_DAMPING
        needs = model_needs(model, wrenches=wrenches)
        dynamics, last = semi_implicit_stages(needs)
        parts: tuple[Stage, ...] = (last,)
        if self.family is MultibodyIntegrationFamily.RUNGE_KUTTA_4:
            dynamics, parts = dynamics_stages(needs), RUNGE_KUTTA_PARTS
        return self.constraints.slot_program(dynamics, parts, implicit)

    def _program(self, scalar: str) -> Any:
        """The program of a step as the loop wants it; forces on bodies are looked at when there are any."""
        key = scalar, bool(self.body_f.any())
        if key not in self._programs:
            self._programs[key] = program_table(self.stages(wrenches=key[1]), scalar)
        return self._programs[key]

    def _room(self, scalar: str) -> _Room:
        """Arenas for a group of worlds; those nobody uses wait in a list."""
        try:
            return self._rooms.setdefault(scalar, []).pop()
        except IndexError:
            pass
        width, block, hits = SCALARS[scalar][1], self.constraints.block, self.constraints.hits

        def spread(numbers: np.ndarray) -> np.ndarray:
            wide = aligned_zeros(len(numbers) * width)
            wide.reshape(-1, width)[:] = numbers[:, None]
            return wide

        trees = spread(self._data)
        args, rows = block.args.copy(), spread(block.d)
        sets = [(self._index, self._constant, WITH_GRAVITY, trees), (block.m, block.c, args, rows)]
        args[t.TREE_D] = address_of(trees)
        if hits is not None:
            own, found = hits.args.copy(), spread(hits.d)
            args[t.HIT_ARGS], args[t.HIT_D] = address_of(own), address_of(found)
            sets.append((hits.m, hits.c, own, found))
        return _Room(sets, set_table(sets))

    # ---- stepping

    @property
    def time_step(self) -> float:
        """[s]"""
        return self._h

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.frame * self._h

    @property
    def sweeps(self) -> np.ndarray:
        """Passes over the rows, or linear systems, that the last step of every world took, (worlds,)."""
        return self._sweeps[:, 0].astype(np.int64)

    @property
    def unconverged(self) -> np.ndarray:
        """Solves of the last call of `step` that ended at the most sweeps unsolved, (worlds,)."""
        return self._sweeps[:, 1].astype(np.int64)

    def step(self, n: int = 1, *, threads: int = 1, lanes: int | None = None) -> None:
        """Make `n` steps of every world; when a state is not finite, nothing changes and an error says where.

        Args:
            n: how many.
            threads: processors to use, 0 for all.
            lanes: worlds per instruction; as many as the processor has when None.
        """
        if not is_count(n) or n < 0:
            raise ArgumentError(f"n must be a non-negative step count, got {n!r}")
        if not is_count(threads) or threads < 0:
            raise ArgumentError(f"threads must be a whole number, 0 for all processors, got {threads!r}")
        scalar = choose_scalar(lanes, self.worlds)
        for name, rows in (("state", self._state), ("inputs", self._inputs)):
            if not np.isfinite(rows).all():
                world = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
                raise ArgumentError(f"{name} of world {world} must be finite")
        before = self._state.copy()
        self._sweeps[:, 1] = 0.0
        program, run, width = self._program(scalar), lane_runner(scalar), SCALARS[scalar][1]
        rows = self._state_parts, self._input_parts, self._state, self._inputs

        def chunk(low: int, high: int, many: int) -> None:
            room = self._room(scalar)
            run(program, room.table, *rows, low, high, many)
            self._rooms[scalar].append(room)

        for many in portions(int(n)):
            if threads == 1:
                chunk(0, self.worlds, many)
            else:
                in_threads(chunk, self.worlds, threads, width, many)
            if not np.isfinite(self._state).all():
                self._fail(before)
        self.frame += int(n)

    def _fail(self, before: Array) -> None:
        """Put the state back and say which world and body has none."""
        bad = ~np.isfinite(self._state)
        world = int(np.flatnonzero(bad.any(axis=1))[0])
        dofs = np.flatnonzero(~np.isfinite(self.v[world]))
        self._state[:] = before
        where = ""
        if dofs.size:
            j = int(np.searchsorted(self.model.joint_qd_start, dofs[0], side="right")) - 1
            where = f" of '{self.model.body_label[int(self.model.joint_child[j])]}'"
        raise OperationError(f"the state{where} in world {world} is no longer finite; nothing was changed")


def compile_all(scalar: str) -> None:
    """Compile the loop and every stage of steps in lanes, for one scalar; those of trees are others'."""
    lane_runner(scalar)
    stage_addresses(STAGES, scalar)
    if scalar == "float":
        stage_addresses((every_pair,), scalar)
