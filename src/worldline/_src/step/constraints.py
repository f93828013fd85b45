# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The constraint part of a world that steps: its arenas, filled from the tables of a Model.

Shapes that can touch go to the collision tables, in the same order as their laws here. Limits, dry friction
and actuators become rows of their own columns. What a scene asks for and no stage does is named in
`Constraints.missing`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worldline._src.collision.arenas import Arenas as HitArenas
from worldline._src.collision.run import set_links
from worldline._src.compile_ahead import compile_ahead
from worldline._src.jit import Stage
from worldline._src.kernels.broadphase.aabb import place
from worldline._src.kernels.broadphase.pairs import broad
from worldline._src.kernels.broadphase.tree import BUILT
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.impacts import SLOW
from worldline._src.kernels.narrowphase.dispatch import FAMILY_LINKS, FAMILY_STAGES, narrow_sort, pair_family
from worldline._src.kernels.narrowphase.links import LINKED
from worldline._src.kernels.narrowphase.tables import SKIP
from worldline._src.kernels.transmissions import ADHESION, LINEAR
from worldline._src.model.kinds import JointType
from worldline._src.model.model import Model
from worldline._src.model.tables import ActivationKind
from worldline._src.scalar.memory import address_of
from worldline._src.scalar.packed import padded
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array
from worldline._src.step import constraint_stages as s
from worldline._src.step import holding_stages as g
from worldline._src.step import impact_stages as p
from worldline._src.step import island_stages as i
from worldline._src.step.actuator_filling import (
    actuator_holds,
    fill_actuators,
    settle_muscles,
    working_actuators,
)
from worldline._src.step.collision_rows import body_rows, excluded_keys, shape_rows
from worldline._src.step.constraint_program import ROW_STAGES, ConstraintProgram
from worldline._src.step.damping_clamp import clamp_damping, given_damping
from worldline._src.step.energy_stages import limit_energy
from worldline._src.step.equality_filling import (
    Owner,
    equalities,
    fill_equalities,
    fill_equality_inertias,
)
from worldline._src.step.inverse_weights import inverse_weights
from worldline._src.step.joint_filling import fill_friction, fill_limits, law_rows, limited_dofs
from worldline._src.step.missing import missing_parts
from worldline._src.step.motor_filling import (
    fill_medium,
    fill_motors,
    fill_springs,
    limited_speeds,
    mimic_couplers,
    spring_ends,
)
from worldline._src.step.override_filling import override_contacts
from worldline._src.step.pair_filling import fill_pairs, pair_keys, pair_reach
from worldline._src.step.place_filling import Places, link_pose
from worldline._src.step.restitution_stages import limit_restitution
from worldline._src.step.slip_stages import remove_slip_of_island
from worldline._src.step.tendon_filling import (
    fill_tendon_inertias,
    fill_tendons,
    settle_tendons,
    tendon_nodes,
    tendons_matter,
)
from worldline._src.step.tie_filling import order_rows, touched_trees
from worldline._src.step.tree_filling import fill_trees, tree_starts, tree_ties
from worldline._src.step.velocity_stages import damp_velocities

_ROOM = 64
"""Contacts that a world has room for beyond those its number of shapes suggests."""


_REACH = 1e-4
"""How far ahead of touching a hard shape is seen [m]."""
_BOUNCE_SPEED, _BOUNCE_REACH = 10.0, 0.02
"""One that bounces is seen as far as it gets at this speed in a step [m/s], but not further than this [m]."""


_FREE_COLUMNS = 132
"""Columns of an island up to which Newton's method is both as quick and exact: 22 free bodies.

Sequential impulses need more sweeps than anyone would wait for to hold a tower of more than a dozen boxes.
"""

_BOXED_ROWS = 240
"""Rows of an island up to which it is solved as a boxed problem when asked for."""

_SWEEP_SHARE = 0.01
"""Sequential impulses end when no velocity changes by more than this share of what gravity does in a step."""


class Rest(NamedTuple):
    """When islands fall asleep: speeds [m/s, rad/s, either], quiet time [s], force that wakes [N]."""

    linear: float
    angular: float
    joint: float
    time: float
    force: float


class Constraints(ConstraintProgram):
    """What holds, limits, drives and touches in one world."""

    def __init__(self, model: Model, servos: np.ndarray | None = None) -> None:
        self.model = model
        option = model.option or SimulateOption()
        self.option = option
        self.missing = missing_parts(model, option)
        """What the model asks for that no stage does."""
        off, none = option.disable_constraints, np.zeros(0, np.int64)
        kept = [] if off or option.disable_contacts else shape_rows(model)
        self.shapes = np.array([k for k, _ in kept], np.int64)
        """Rows of `Model.shapes` in the order of the collision tables."""
        pairs = pair_keys(model, self.shapes)
        limited = none if off or option.disable_limit else limited_dofs(model)
        rubbing = none if off or option.disable_frictionloss else np.flatnonzero(model.joint_friction > 0.0)
        speeds = none if off or option.disable_limit else limited_speeds(model)
        mimics = none if off or option.disable_equality else mimic_couplers(model)
        servos = none if servos is None else servos
        self.actuators = none if option.disable_actuators else working_actuators(model, option)
        """Rows of `Model.actuators` that act."""
        places = Places(model)
        self.equalities = equalities(model, option, places)
        """What is held together, in the order of the columns."""
        self.motors: list[int] = [-1] * len(servos) + mimics.tolist()
        """Coupler of every motor, -1 for a servo."""
        ends, held = spring_ends(model, places), actuator_holds(model, self.actuators, places)
        tendons = len(model.tendons or ()) if tendons_matter(model, option) else 0
        nodes = tendon_nodes(model, places) if tendons else []
        self.tendon_names = () if model.tendons is None else tuple(model.tendons.label)
        """Of tendons, in the order of their columns."""
        starts = tree_starts(model)
        moved = (
            [*servos.tolist(), *(int(model.couplers.dof[k]) for k in mimics)] if model.couplers else servos
        )
        self._touched = touched_trees(
            model, starts, self.equalities, places, nodes, moved, speeds.tolist(), tendons
        )
        ties = tree_ties(self._touched)
        self._moving = any(hold[0] != LINEAR for hold in held)
        # adhesion pulls along contacts: they are found before forces, not after
        self._sticks = any(hold[0] == ADHESION for hold in held) and len(self.shapes) > 0
        self._lay_out(
            npair=len(pairs.keys),
            nlimit=len(limited),
            nfriction=len(rubbing),
            nequality=len(self.equalities),
            nplace=len(places),
            ntendon=tendons,
            nnode=len(nodes),
            nmotor=len(self.motors),
            nspeed=len(speeds),
            nspring=len(ends),
            nbox=model.arenas.sizes["nlink"] if option.density > 0.0 or option.viscosity > 0.0 else 0,
            nu=len(self.actuators),
            ntree=len(starts) - 1,
            ntie=len(ties),
        )
        self._families = _families(kept)
        # measuring the model below compiles too
        compile_ahead(self._needed_soon())
        self._fill_shapes()
        fill_pairs(model, self.column, pairs, option.override_contact_margin)
        override_contacts(option, self.column)
        fill_limits(model, self.column, limited)
        fill_friction(model, self.column, rubbing)
        places.fill(self.column)
        fill_equalities(model, self.column, self.equalities)
        fill_motors(model, self.column, servos, mimics)
        self.column["speed_dof"][:] = speeds
        fill_springs(model, self.column, ends)
        fill_actuators(model, self.column, self.actuators, held, not option.disable_control_clamp)
        fill_tendons(model, self.column, nodes, option)
        settle_tendons(model, self.block)
        self._start_moment = self.column["tendon_moment"].copy()
        self._fill_bodies()
        fill_trees(model, self.column, starts, ties, self._touched)
        self._fill_options(option)
        self._damping = given_damping(self.column)
        self._implicit = False
        self.hits: HitArenas | None = None
        self._hit_stages: tuple[Stage, ...] = ()
        if kept:
            self._make_hits(kept, option)

    # ---- layout

    def _lay_out(self, **counts: int) -> None:
        model = self.model
        nv = model.joint_dof_count
        contacts = _ROOM + 4 * len(self.shapes) if len(self.shapes) else 0
        table = model.actuators
        # edges of a pyramid with spinning and rolling friction are the most rows a contact can have
        wide = counts["npair"] or (model.shapes is not None and (model.shapes.condim[self.shapes] > 4).any())
        rows = sum(equality.rows for equality in self.equalities) + (10 if wide else 6) * contacts + 1
        rows += 2 * (counts["nlimit"] + counts["nspeed"] + 2 * counts["ntendon"])
        rows += counts["nfriction"] + counts["nmotor"]
        self.sizes = {
            "nv": nv,
            "width": max(padded(nv), 4),
            "nbody": model.body_count + 1,
            "nshape": len(self.shapes),
            "nrow": rows,
            "ncontact": contacts,
            "na": 0 if table is None else int(np.count_nonzero(table.activation_kind)),
            **counts,
            "tree_ends": counts["ntree"] + 1,
            "ncolumn": nv,
            "nlink": model.arenas.sizes["nlink"],
            "npush": contacts,
            "npush3": 3 * contacts,
            "nlcp": _BOXED_ROWS,
            "nlcp2": _BOXED_ROWS * (_BOXED_ROWS + 5),
            "nslip": rows if self.option.noslip_iterations else 0,
            "nslip2": nv if self.option.noslip_iterations else 0,
            "nslot": max(16, 1 << (2 * contacts).bit_length()) if contacts else 0,
            "nfixed": 0,
            "nkept": 0,
        }
        block = t.TABLE.lay_out(self.sizes)
        self.block = block
        self.column = block.column

    def row_of(self, owner: Owner, index: int) -> int | None:
        """Which equality of the columns comes from a row of a table of the Model; None when none does."""
        for k, equality in enumerate(self.equalities):
            if equality.owner is owner and equality.index == index:
                return k
        return None

    def move_closure_end(self, closure: int, second: bool, body: int, X: Array) -> bool:
        """Put an end of a solved closure at another pose of its body; False when it is on another body."""
        row = self.row_of(Owner.CLOSURE, closure)
        if row is None:
            return True
        place = self.equalities[row].second if second else self.equalities[row].first
        link, pose = link_pose(self.model, body, X)
        if link != self.column["place_link"][place]:
            return False
        self.column["place_pose"][place] = pose
        return True

    def refresh(self) -> None:
        """Masses or kinds of bodies changed: what rows and pair filters know of them is taken again."""
        self._fill_bodies()
        if self.hits is not None:
            fixed = self.hits.column["body_fixed"]
            told = [row.fixed for row in body_rows(self.model)]
            if not np.array_equal(fixed != 0, told):
                fixed[:] = told
                self.hits.column["tree_root"][BUILT] = 0

    @property
    def remembers(self) -> bool:
        """Whether steps read contacts of the last one: impulses start from them, and they hold sleepers."""
        many = 6 * np.count_nonzero(self.column["tree_link"]) > self.column["option"][t.FREE_COLUMNS]
        return self.sleeps or bool(many)

    def forget_contacts(self) -> None:
        """The state is no longer what the last step led to: there are no contacts of a last step."""
        self.column["counter"][t.CONTACT_COUNT] = 0

    def _fill_bodies(self) -> None:
        self.column["body_link"][1:] = self.model.link_of_body()
        dofs, bodies = inverse_weights(self.model)
        self.column["dof_invweight"][:] = dofs
        self.column["body_invweight"][1:] = bodies
        fill_tendon_inertias(self.model, self.column, self._start_moment)
        fill_equality_inertias(self.column, dofs)
        fill_medium(self.model, self.column, self.option)
        settle_muscles(self.model, self.block, self.actuators)

    def _fill_shapes(self) -> None:
        shapes = self.model.shapes
        if shapes is None or not len(self.shapes):
            return
        rows = self.shapes
        column = self.column
        column["shape_priority"][:] = shapes.priority[rows]
        column["shape_condim"][:] = shapes.condim[rows]
        column["shape_rule"][:, 0] = shapes.friction_rule[rows]
        column["shape_rule"][:, 1] = shapes.restitution_rule[rows]
        column["shape_friction"][:] = shapes.friction[rows]
        column["shape_law"][:] = law_rows(shapes.force)[rows]
        column["shape_contact"][:, 0] = shapes.margin[rows]
        column["shape_contact"][:, 1] = shapes.gap[rows]
        column["shape_contact"][:, 2] = shapes.mix[rows]
        bouncing = np.isfinite(shapes.restitution[rows])
        column["shape_law"][bouncing, t.BOUNCINESS] = shapes.restitution[rows][bouncing]
        if self.option.friction_model == 0:
            column["shape_condim"][:] = 1

    def _fill_options(self, option: SimulateOption) -> None:
        numbers = self.column["option"]
        numbers[t.RATIO] = option.impedance_ratio
        numbers[t.TOLERANCE] = option.constraint_solver_tolerance
        numbers[t.NEWTON_STEPS] = max(option.constraint_solver_iterations, 1)
        numbers[t.LINE_TOLERANCE] = max(option.line_search_tolerance, 1e-9)
        numbers[t.LINE_STEPS] = max(option.line_search_iterations, 1)
        numbers[t.ELLIPTIC] = float(option.friction_model == 1)
        numbers[t.SAFE] = float(not option.disable_reference_safety)
        numbers[t.SLIP_SWEEPS] = option.noslip_iterations if self.sizes["nslip"] else 0
        numbers[t.SLIP_TOLERANCE] = option.noslip_tolerance
        numbers[t.SHARE] = self.column["tree_share"][:] = 1.0
        numbers[t.SLOW_PUSH] = self.column["tree_slow"][:] = SLOW
        self.choose()
        self.sleeps = False
        self.sleep(None)

    def _make_hits(self, kept: list, option: SimulateOption) -> None:
        rows, families = [row for _, row in kept], self._families
        contacts = self.sizes["ncontact"]
        self.hits = HitArenas(
            rows,
            body_rows(self.model, parents=not option.disable_parent_filter),
            ignored=excluded_keys(self.model, rows),
            explicit=self.column["pair_key"].tolist(),
            contacts=contacts,
        )
        set_links(tuple(sorted({link for f in families for link in FAMILY_LINKS.get(f, ())})), self.hits.args)
        self._hit_stages = (place, broad, narrow_sort, *(FAMILY_STAGES[f] for f in families))

    def _needed_soon(self) -> list[Stage]:
        """What steps will call, roughly in the order of how long it takes to compile.

        Links of the narrow phase come last: they are what this process compiles first itself.
        """
        if not self.sizes["nrow"] > 1:
            return []
        needed = [s.solve_rows]
        if self._families:
            needed += [s.contact_rows, broad, *(FAMILY_STAGES[f] for f in self._families)]
        needed += [stage for size, stage in ROW_STAGES if self.sizes[size]]
        needed += [i.solve_islands, i.mass_of_island, place, narrow_sort]
        links = {link for f in self._families for link in FAMILY_LINKS.get(f, ())}
        return [*needed, *(LINKED[link] for link in sorted(links, reverse=True))]

    def _set_reach(self, h: float) -> None:
        """Hard shapes are found shortly before they touch, so that what rests or slides keeps its contacts.

        Those that bounce must be seen in the step in which they touch.
        """
        if self.hits is None:
            return
        laws = self.column["shape_law"]
        hard = laws[:, t.KIND] == t.HARD
        bounces = laws[:, t.BOUNCINESS] > 0.0
        ahead = min(_BOUNCE_SPEED * h, _BOUNCE_REACH) if self.parts else 0.0
        reach = np.where(bounces, ahead, _REACH)
        own, override = self.column["shape_contact"][:, 0], self.option.override_contact_margin
        margin = pair_reach(self.model, self.shapes, own, override)
        self.hits.column["shape_margin"][:] = margin + np.where(hard, reach, 0.0)

    def choose(self, *, impulses: bool = False, boxed: bool = False) -> None:
        """Solve islands by Newton's method; large ones of free bodies by impulses, or others by pivoting."""
        numbers = self.column["option"]
        # more than sliding friction has rows only, and so have pairs with parameters of their own
        wide = bool((self.column["shape_condim"] > 3).any() or self.sizes["npair"])
        numbers[t.FREE_COLUMNS] = _FREE_COLUMNS if impulses and not wide else np.inf
        numbers[t.SWEEPS] = max(self.option.constraint_solver_iterations, 1)
        numbers[t.BOXED] = float(boxed)

    def sleep(self, rest: Rest | None) -> None:
        """Let islands that rest fall asleep by these rules; None wakes everything and keeps it awake."""
        numbers = self.column["option"]
        self.sleeps = rest is not None
        numbers[t.QUIET_TIME] = np.inf
        self.wake()
        if rest is not None:
            numbers[t.QUIET_TIME], numbers[t.DISTURBANCE] = rest.time, rest.force
            model, speed = self.model, self.column["dof_quiet"]
            speed[:] = rest.joint
            free = np.isin(model.joint_type, [JointType.FREE, JointType.DISTANCE])
            for start in model.joint_qd_start[:-1][free].tolist():
                speed[start : start + 3], speed[start + 3 : start + 6] = rest.linear, rest.angular

    def wake(self) -> None:
        """Nothing sleeps."""
        self.column["tree_group"][:] = -1
        self.column["tree_quiet"][:] = 0.0

    # ---- what a step runs on

    def sets(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """The arenas of rows, then those of collision."""
        block = self.block
        hits = block if self.hits is None else self.hits
        return [(block.m, block.c, block.args, block.d), (hits.m, hits.c, hits.args, hits.d)]

    def connect(
        self, index: np.ndarray, constant: np.ndarray, data: np.ndarray, mobile: Array, h: float
    ) -> None:
        """Tell the stages where the arenas of the trees are, what can move, and the time step."""
        link, program = self.column["link"], self.column["program"]
        chosen = self.island_stages()
        program[: len(chosen)] = i.addresses(chosen)
        laws = np.concatenate([self.column["shape_law"], self.column["pair_law"]])
        if (laws[:, t.BOUNCINESS] > 0.0).any():
            program[t.RESTITUTION_LINK] = i.addresses([limit_restitution])[0]
        program[t.ENERGY_LINK] = i.addresses([limit_energy])[0] if (laws[:, t.KIND] == t.HARD).any() else 0
        program[t.AGAIN_LINK] = i.addresses([i.solve_islands])[0]
        if self.sizes["nslip"]:
            program[t.SLIP_LINK] = i.addresses([remove_slip_of_island])[0]
        self.column["counter"][t.ROW_STAGES] = len(chosen) - t.FIRST_ROW_LINK
        if mobile.size:
            starts = self.column["tree_dof"][:-1]
            self.column["tree_still"][:] = np.maximum.reduceat(mobile, starts) == 0.0
        order_rows(self.column, self._touched)
        link[t.TREE_M], link[t.TREE_C], link[t.TREE_D] = map(address_of, (index, constant, data))
        if self.hits is not None:
            link[t.HIT_M], link[t.HIT_C] = address_of(self.hits.m), address_of(self.hits.c)
            link[t.HIT_ARGS], link[t.HIT_D] = address_of(self.hits.args), address_of(self.hits.d)
        self.column["option"][t.STEP] = h
        clamp_damping(self.column, self._damping, self.option, h)
        gravity = max(float(np.linalg.norm(self.model.gravity)), 1.0)
        self.column["option"][t.GRAVITY] = gravity
        self.column["option"][t.SPEED_TOLERANCE] = _SWEEP_SHARE * gravity * h
        self._set_reach(h)
        # a filter has a closed form over a step; everything else takes its rate for the whole step
        kind, time = self.column["act_kind"][:, 2], np.maximum(self.column["act_number"][:, 20], 1e-15)
        exact = time * -np.expm1(-h / time)
        self.column["act_blend"][:] = np.where(kind == ActivationKind.FILTER_EXACT, exact, h)


def _families(kept: list) -> list[int]:
    """Kinds of pairs that shapes may form."""
    types = sorted({int(row.shape.type) for _, row in kept})
    return sorted({pair_family(a, b) for a in types for b in types} - {SKIP})


def all_stages() -> tuple[Stage, ...]:
    """Every stage of constraints and collision, for warming the compile cache."""
    rows = tuple(value for part in (s, i, g, p) for value in vars(part).values() if isinstance(value, Stage))
    return (
        *rows,
        damp_velocities,
        limit_energy,
        limit_restitution,
        remove_slip_of_island,
        place,
        broad,
        narrow_sort,
        *FAMILY_STAGES.values(),
        *LINKED.values(),
    )
