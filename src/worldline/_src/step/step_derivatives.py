# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of one step: its stages once more, in dual numbers.

A step is repeated stage by stage from the state it began with. Structure comes from this repetition in plain
numbers: which shapes touch, islands, which rows there are, the solution of the solver. Numbers come from the
same stages compiled for dual numbers, seven directions at a time. Steps of one evaluation are differentiated
in the inverse form (`column_step.py`); in the others (Runge-Kutta, prescribed motion, free bodies on their
own) `differentiate_islands` differentiates the solution of the rows implicitly. Nothing is differenced.

Derivatives are those of the active set of the step. Directions and results are tangents: a displacement for
every degree of freedom, as `integrate` moves it, then velocities, then activations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.duals.kind import PLAIN
from worldline._src.errors import CapabilityError, OperationError
from worldline._src.jit import DISABLED, Stage
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.narrowphase.dispatch import FAMILY_LINKS
from worldline._src.kernels.narrowphase.links import LINKED
from worldline._src.kernels.narrowphase.tables import CONTACTS, CONVEX
from worldline._src.kernels.program import caller
from worldline._src.kinds import float64
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step import dual_step as dual
from worldline._src.step.analytic_step import AnalyticStep, has_local_forces, takes
from worldline._src.step.column_step import ColumnStep, has_inverse_form
from worldline._src.step.derivative_table import (
    SETTLED_EVERYWHERE,
    Form,
    calls_of,
    repeated_stages,
    stages_in_duals,
)
from worldline._src.step.dynamics import difference, integrate
from worldline._src.step.island_stages import mass_of_island, solve_islands
from worldline._src.step.parameter_step import ConstantSlopes, ParameterStep
from worldline._src.step.simulation import Simulation
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_snapshot import Snapshot
from worldline._src.step.step_table import LOG, MULTIBODY, TABLE, USER, Phase, may_hold

REFUSED = {
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

_ONE_SIDED = (t.OF_LIMIT, t.OF_CONTACT, t.OF_TENDON, t.OF_SPEED, t.OF_BOUND)
"""Rows whose force has one sign, by what they belong to."""
_SAME = 1e-6
"""How far the step in dual numbers may be from the step itself, relative to the largest number or one."""
_SOLVED, _REPORTED = 1e-5, 10.0
"""How far a step may be from the solution of its rows: ten times what iterations of Coulomb's law leave, or
this multiple of the residual that the step reports, as a velocity."""
_AT_BOUND = 1e-9
"""How near to its bound, as a share of it, friction counts as sliding."""


class Sensitivities(NamedTuple):
    """Derivatives of the state after a step, by columns of seeds: displacements, velocities, activations."""

    rows: Array
    """All of them, one after the other, (2 joint_dof_count + activations, seeds)."""
    nv: int

    @property
    def displacement(self) -> Array:
        return self.rows[: self.nv]

    @property
    def velocity(self) -> Array:
        return self.rows[self.nv : 2 * self.nv]


class Outcome(NamedTuple):
    """The state after a step, and what distinguishes its active set from another."""

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
    return [words for name, words in REFUSED.items() if getattr(plan, name)]


class StepTangent:
    """Derivatives of the last step of a Simulation; `keep` is called before every step."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._kept = Snapshot({})
        self._present = Snapshot({})
        self._bound: tuple[Any, ...] | None = None
        self._schedule: Any = None
        self._made: dual.DualStep | None = None
        self._of_parameters: tuple[dict[str, Array], ParameterStep] | None = None
        self._local: tuple[int, bool] | None = None
        """Whether the forces of a step are local, with the number of preparations it was found for."""
        self._analytic: AnalyticStep | None = None
        self._fields = {name: sim.field(name) for name in dual.KEPT}
        self.layout: tuple[int, Any] | None = None
        """Where the numbers of a World are among those of the model, with the version it was made for."""
        self.by_parameters: Any = None
        """What derivatives by parameters need besides the state; see `facade/parameter_derivatives.py`."""
        # forces on bodies are a control: the step looks at them even where there are none
        sim.has_wrenches = True
        sim.reconfigure()
        self._turns = dual.quaternions(sim.model)
        self._plain = dual.plain_coordinates(sim.model, self._turns)

    # ---- what a step began with

    def keep(self, body_f: Array | None = None) -> None:
        """Remember the state and commands that the next step begins with; forces on bodies may be others."""
        self._sim.controls_written()
        self._schedule = None
        self._bind()
        self._kept.take()
        if body_f is not None:
            self._kept.values["body_f"][:] = body_f

    def _bind(self) -> None:
        """Where the arrays of constraints are now: they move when a step needs more room."""
        constraints = self._sim.constraints
        blocks, bound = (), self._bound
        if constraints is not None:
            blocks = (constraints.block.m, constraints.block.args, constraints.block.d)
        if bound is not None and len(bound) == len(blocks):
            if all(a is b for a, b in zip(blocks, bound, strict=True)):
                return
        rows = {}
        if constraints is not None:
            rows = {name: constraints.column[name] for name in (*dual.ROW_STATE, "equality_on")}
        state, data = self._fields | rows, {"data": self._sim.data} | rows
        known = {name: one.shape for name, one in self._kept.values.items()}
        if known == {name: one.shape for name, one in state.items()}:
            self._kept.bind(state)
        else:
            self._kept = Snapshot(state)
        self._present, self._bound = Snapshot(data), blocks

    def stepped(self) -> None:
        """The step that began with the state kept last was made; what it ran is what is differentiated."""
        self._schedule = self._sim.schedule

    @property
    def kept(self) -> dict[str, Array]:
        """What the last step began with; raises where there is none to differentiate."""
        if self._schedule is None:
            raise OperationError("there is no last step to differentiate; step first")
        if not self._sim.is_prepared or self._schedule is not self._sim.schedule:
            raise OperationError("the world changed since its last step; step again before derivatives")
        return self._kept.values

    def saved(self) -> dict[str, Array]:
        """A copy of what the last step began with, for `return_to`."""
        return {name: numbers.copy() for name, numbers in self.kept.items()}

    def return_to(self, saved: dict[str, Array]) -> None:
        """Differentiate an earlier step from now on, until the next one is made."""
        kept = self.kept
        for name, numbers in saved.items():
            kept[name][...] = numbers

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
        kept, sim = self.kept, self._sim
        analytic = None if relaxed or not takes(seeds) else self._analytic_step(kept)
        if analytic is not None:
            every = np.arange(2 * sim.model.joint_dof_count + len(sim.activation))
            return Sensitivities(
                self._checked(analytic, *analytic.columns(seeds, every)), sim.model.joint_dof_count
            )
        duals = self._dual_step(kept, relaxed)
        self._present.take()
        try:
            self._kept.put()
            duals.repeat(sim)
            self._require_solved(duals)
            if isinstance(duals, ColumnStep):
                return self._columns(duals, seeds)
            return self._directions(duals, kept, seeds)
        finally:
            self._present.put()

    def by_constants(self, slopes: ConstantSlopes) -> Sensitivities:
        """Derivatives of the state after the last step by parameters, through the constants of the model."""
        kept, sim = self.kept, self._sim
        self._bind()
        made = self._of_parameters
        if (
            made is None
            or made[0] is not kept
            or made[1].key != dual.key_of(sim, False)
            or made[1].given is not slopes
        ):
            self._require_supported()
            made = self._of_parameters = kept, ParameterStep(sim, kept, slopes)
        self._present.take()
        try:
            self._kept.put()
            made[1].repeat(sim)
            self._require_solved(made[1])
            return self._tangents(made[1].by_parameters(), len(slopes.slopes[MULTIBODY]))
        finally:
            self._present.put()

    def columns(self, seeds: Seeds, tangent: np.ndarray) -> Array | None:
        """Rows `tangent` of `differentiate`, where the step has analytic derivatives; else None."""
        analytic = self._analytic_step(self.kept)
        return None if analytic is None else self._checked(analytic, *analytic.columns(seeds, tangent))

    def along(self, terms: np.ndarray, values: Array, columns: int, tangent: np.ndarray) -> Array | None:
        """The same by changes: `SOURCES`, number and column of each, (n, 3), and their values."""
        analytic = self._analytic_step(self.kept)
        if analytic is None:
            return None
        return self._checked(analytic, *analytic.along(terms, values, columns, tangent))

    def gradient(self, given: Array, tangent: np.ndarray, controls: np.ndarray) -> Array | None:
        """The gradient by what the last step began with, where it has analytic derivatives; else None.

        given: by rows `tangent` of the displacements, velocities and activations after the step. controls:
        `SOURCES` and number of each, (n, 2).
        """
        analytic = self._analytic_step(self.kept)
        return (
            None
            if analytic is None
            else self._checked(analytic, *analytic.gradient(given, tangent, controls))
        )

    def _checked(self, analytic: AnalyticStep, made: Array, off: float) -> Array:
        """What was made, of a step that solved its rows."""
        self._require_solved(analytic)
        _refuse(off, _SAME)
        return made

    @property
    def is_stiff(self) -> bool:
        """Whether the last step has analytic derivatives, and contacts that are stiff beside inertias."""
        made = self._analytic_step(self.kept)
        return made is not None and made.is_stiff

    @property
    def is_analytic(self) -> bool:
        """Whether the last step has analytic derivatives."""
        return self._analytic_step(self.kept) is not None

    def _analytic_step(self, kept: dict[str, Array]) -> AnalyticStep | None:
        """The last step for analytic derivatives, None where it has forces without them."""
        sim = self._sim
        self._bind()
        if self._local is None or self._local[0] != sim.preparations:
            # parameters may change what acts, and leave the stages as they are
            self._require_supported()
            self._local, self._analytic = (sim.preparations, has_local_forces(sim)), None
        if not self._local[1]:
            return None
        made = self._analytic
        if made is None or not made.is_current(kept, self._kept, self._present):
            made = self._analytic = AnalyticStep(sim, kept, self._kept, self._present)
        return made

    def _dual_step(self, kept: dict[str, Array], relaxed: bool) -> dual.DualStep:
        """The last step in dual numbers."""
        sim = self._sim
        self._bind()
        if self._made is None or self._made.kept is not kept or self._made.key != dual.key_of(sim, relaxed):
            self._require_supported()
            self._made = (ColumnStep if has_inverse_form(sim) else dual.DualStep)(sim, relaxed, kept)
        return self._made

    def _require_supported(self) -> None:
        if DISABLED:
            raise OperationError("derivatives need the compiler, which NUMBA_DISABLE_JIT switches off")
        if found := refused(self._sim.plan()):
            raise CapabilityError(f"derivatives of a step do not have {', '.join(found)}")

    def _require_solved(self, duals: dual.DualStep) -> None:
        """Refuse steps whose accelerations are not those that solve their rows."""
        constraints, h = self._sim.constraints, self._sim.time_step
        if constraints is None or not any(solve.before for solve in duals.solves):
            return
        option, scale = constraints.column.option, 1.0 + float(np.abs(self._sim.v).max(initial=0.0))
        most = max(_SOLVED, _REPORTED * h * float(option[t.RESIDUAL] * option[t.GRAVITY]) / scale)
        for solve in duals.solves:
            _refuse(h * float(np.abs(solve.found - solve.settled).max(initial=0.0)) / scale, most)

    def _require_same(self, ends: Array) -> None:
        """Refuse derivatives of another step than the one in plain numbers, which has just been repeated.

        ends: coordinates, velocities and activations after the step in dual numbers.
        """
        sim = self._sim
        _refuse(dual.gap(ends, sim.q, sim.v, sim.activation), _SAME)

    def replayed(self, change: Seeds) -> Outcome:
        """The last step once more in plain numbers, from its start moved along a direction, a row each."""
        kept, sim = self.kept, self._sim
        self._bind()
        self._present.take()
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
            self._present.put()

    def difference(self, first: Outcome, second: Outcome) -> Array:
        """The tangent that leads from one outcome to another: displacement, velocity, activation."""
        moved = difference(self._sim.model, first.q, second.q)
        return np.concatenate([moved, second.v - first.v, second.activation - first.activation])

    def _integrated(self, q: Array, displacement: Array) -> Array:
        return integrate(self._sim.model, q, displacement)

    def _columns(self, duals: ColumnStep, seeds: Seeds) -> Sensitivities:
        out, ends = duals.columns(seeds)
        self._require_same(ends)
        return Sensitivities(out, self._sim.model.joint_dof_count)

    def _directions(self, duals: dual.DualStep, kept: dict[str, Array], seeds: Seeds) -> Sensitivities:
        given = {name: rows for name, rows in seeds._asdict().items() if rows is not None}
        n = max((len(rows) for rows in given.values()), default=0)
        slopes = {name: rows for name, rows in given.items() if name not in ("displacement", "q_target")}
        if "displacement" in given:
            slopes["q"] = self._rates(kept["q"], given["displacement"])
        if "q_target" in given:
            slopes["q_target"] = self._rates(kept["q_target"], given["q_target"])
        if "velocity" in slopes:
            slopes["v"] = slopes.pop("velocity")
        return self._tangents(duals.run(slopes, n), n)

    def _tangents(self, made: dict[str, Array], n: int) -> Sensitivities:
        """Derivatives of coordinates, velocities and activations after the step as tangents."""
        if n:
            self._require_same(np.concatenate([made[name][:, 0] for name in ("q", "v", "activation")]))
        q, v, activation = (made[name] for name in ("q", "v", "activation"))
        rows = [self._displacements(q[:, 0], q[:, 1:]), v[:, 1:], activation[:, 1:]]
        return Sensitivities(np.concatenate(rows), self._sim.model.joint_dof_count)


def _refuse(off: float, most: float) -> None:
    """Refuse a step that is further from the solution of its rows than it may be."""
    if not off <= most:
        why = f"the state is off by {off:.2g}" if off == off else "no solution is found from its result"
        raise CapabilityError(
            "derivatives of a step need constraint forces that solve its rows; this step bounded them "
            f"otherwise (energy of contacts), or its solver did not converge: {why}"
        )


def replayed_from(sim: Simulation, start: dict[str, Array], grows: bool = False) -> Outcome:
    """Run the stages of a step in plain numbers from a state; the Simulation is left after it.

    Arrays that are too small for what is found are made larger where they may grow, else it is refused.
    """
    while True:
        made = _replay(sim, start)
        if made is not None:
            return made
        if not grows:
            raise OperationError("a perturbed step has more contacts than the last step had room for")
        assert sim.constraints is not None
        sim.make_room(sim.constraints.missing_room())


def _replay(sim: Simulation, start: dict[str, Array]) -> Outcome | None:
    """See `replayed_from`; None where arrays are too small, which ends the step."""
    run, sets, constraints = caller(), b"", sim.constraints
    if not sim.stages:
        raise OperationError("a step of this world has no stages")
    for name, numbers in start.items():
        if name in dual.KEPT:
            sim.field(name)[:] = numbers
        elif constraints is not None:
            constraints.column[name][:] = numbers
    for stage, place in repeated_stages(sim.schedule):
        smooth = sim.a.copy()
        run(np.array([stage.address(float64)], np.int64), *sim.sets[place])
        if constraints is not None and constraints.column.link[t.SHORT]:
            constraints.column.link[t.SHORT] = 0
            return None
        if stage is solve_islands:
            assert constraints is not None
            sets += _active_set(sim)
            if constraints.constrains:
                # a step stops short of its solution, and differences would have the noise of that
                last = constraints.column.a_last
                guess, found = last.copy(), sim.a.copy()
                last[:] = smooth
                for settle, where in SETTLED_EVERYWHERE:
                    run(np.array([settle.address(PLAIN)], np.int64), *sim.sets[where])
                last[:] = guess
                unsettled = ~np.isfinite(sim.a)
                sim.a[unsettled] = found[unsettled]
                sets += unsettled.tobytes()
    return Outcome(sim.q.copy(), sim.v.copy(), sim.activation.copy(), sets)


def _active_set(sim: Simulation) -> bytes:
    """Which contacts and rows there are, which of them push, slide or are at a bound."""
    assert sim.constraints is not None
    column, model = sim.constraints.column, sim.model
    n = int(column.counter[t.ALL_ROWS])
    owner, force = column.row_of[:n], column.force[:n]
    parts = [owner.tobytes(), column.counter[t.IS_SPLIT].tobytes()]
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


def dual_stages() -> list[Stage]:
    """Every stage that derivatives of steps by state and controls run in dual numbers."""
    return list(dict.fromkeys([*parameter_stages(), *stages_in_duals()]))


def parameter_stages() -> list[Stage]:
    """Every stage that derivatives of steps by parameters run in dual numbers."""
    never = frozenset((*REFUSED, "fixed"))
    found: list[Stage] = [LINKED[k] for k in FAMILY_LINKS[CONVEX]]
    found.append(mass_of_island)
    for row in TABLE:
        left_out = row.phase in (Phase.VARIATIONAL, Phase.SENSORS) or row.arenas in (LOG, USER)
        if left_out or not may_hold(row.when, never):
            continue
        if row.caller is None:
            found += [one for one, _ in calls_of(row.stage, row.arenas, Form.DUALS)]
        elif row.link is None:
            found.append(row.stage)
    return list(dict.fromkeys(found))
