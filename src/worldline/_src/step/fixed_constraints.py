# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Constraints in a layout that worlds in lanes can share.

What touches is different in every world, so nothing may depend on it: every pair of shapes that may touch
has rows for its contacts in a fixed layout, every contact a fixed index for its forces. What has no such
layout is refused by name.
"""

from __future__ import annotations

import numpy as np

from worldline._src.collision.arenas import Arenas as CollisionArenas
from worldline._src.collision.run import run_stages
from worldline._src.errors import CapabilityError
from worldline._src.kernels.broadphase.every_pair import every_pair
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.fixed_solve import CONES, COULOMB, NO_NEWTON, PLAIN_ROWS
from worldline._src.kernels.constraints.packed_rows import GROUP, LANES, MOST_COLUMNS
from worldline._src.kernels.drives import VELOCITY
from worldline._src.kernels.narrowphase.dispatch import pair_family
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS, is_fixed_pair
from worldline._src.kernels.narrowphase.tables import BOX, CAPSULE, PAIRS, PLANE, SKIP, SPHERE, SURFACE
from worldline._src.kernels.tendons import CYLINDER as CYLINDER_NODE
from worldline._src.kernels.tendons import SPHERE as SPHERE_NODE
from worldline._src.kernels.transmissions import LINEAR
from worldline._src.model.compile import constant_views
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.packed import padded
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array
from worldline._src.step.collision_rows import body_rows, excluded_keys, shape_rows
from worldline._src.step.constraints import Constraints
from worldline._src.step.island_options import SolverMethod
from worldline._src.step.pack_pairs import pair_keys
from worldline._src.step.room import Room
from worldline._src.step.scene_semantics import drives_of, servos_of, solver_of
from worldline._src.step.single_pairs import SinglePairs
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import in_line, sensor_stages

MOST_ROWS = 8192
"""Rows that a fixed layout may have at once; their Jacobian is dense."""
MANY_ROWS = 1024
"""Rows from which on lanes look for near pairs, and lay out no more rows than steps need."""
KEPT_FORCES = 512
"""Forces that a world keeps for the next step where there are many rows."""
_GROWING = ("ncontact", "nrow", "nfixed", "npack", "njacobian")
"""Sizes that grow when a step needs more."""

_PAIR_ROOM = 64
"""Near pairs that there is room for at first, beside two of every shape."""
_UNBREAKABLE = 1e300
"""Forces from which on an equality never breaks."""
ENOUGH = 10
"""Iterations within which Newton's method of a World converges; lanes solve to the end whatever is asked."""
_LOOSEST, _FEWEST, _ROUGHEST = 0.01, 3, 0.1
"""Tolerance of Newton's method, steps and tolerance of its line search: beyond them a World stops where lanes
do not, so that both would move differently. Within them both find the solution."""

_LANES = (
    "fixed",
    "drives",
    "wrenches",
    "rows",
    "shapes",
    "near_pairs",
    "single_pairs",
    "fluid",
    "anchors",
    "tendons",
    "equalities",
    "friction",
    "motors",
    "lopsided_motors",
    "limits",
    "hard_limits",
    "speed_limits",
    "hard_contacts",
    "newton_rows",
    "newton_cones",
    "newton_coulomb",
    "actuators",
    "activations",
    "implicit",
    # kernels of a user
    "controller_kernels",
    "force_kernels",
    "acceleration_kernels",
    "end_kernels",
    "counted",
)
"""What a fixed layout can have, by its names in a `StepPlan`."""

LANE_STAGES = (*_LANES, "passive", "gravity_compensation", "free_spin")
"""The same with what only trees have."""
_FULL = StepPlan(**dict.fromkeys(LANE_STAGES, True))
_PLANS = (
    _FULL,
    _FULL._replace(runge_kutta=True),
    # stages in the place of others
    *(_FULL._replace(**{name: False}) for name in LANE_STAGES if name != "fixed"),
)
STAGES = tuple(dict.fromkeys(row.stage for plan in _PLANS for row in in_line(plan)))
"""Every stage that worlds in lanes may need, also with parameters of their own."""

_READ = (
    *("fixed", "rows", "shapes", "read_dynamics", "read_frames", "read_poses", "read_velocities"),
    *("read_accelerations", "read_state", "read_subtrees", "read_energies", "read_efforts", "read_forces"),
    *("read_touch", "read_clipped"),
)
SENSOR_STAGES = tuple(
    stage
    for stage, _ in sensor_stages(StepPlan(**dict.fromkeys(_READ, True)), evaluate=False)
    if stage not in STAGES
)
"""Every stage that reads sensors of worlds in lanes; others read one world at a time."""


def _fixed_contact_count(first: int, second: int) -> int:
    """Slots that a pair of shape types can fill, of the four it has."""
    low, high = sorted((first, second))
    if not is_fixed_pair(low, high):
        return PAIR_CONTACTS
    if low == PLANE:
        return {SPHERE: 1, CAPSULE: 2, BOX: 4}[high]
    return 2 if low == CAPSULE else 1


class FixedRoom(NamedTuple):
    """How many near pairs of shapes and rows a group of worlds has room for."""

    pairs: int
    rows: int


class FixedConstraints(Constraints):
    """What limits, drives and touches, for one world or several in lanes."""

    is_fixed = True

    def __init__(self, model: Model, sweeps: int, tolerance: float, room: FixedRoom | None = None) -> None:
        self.room = room
        """Pairs and rows that steps have room for; all that there may be unless lanes look for near pairs."""
        self.single: SinglePairs | None = None
        """Pairs whose contacts are found one world at a time."""
        super().__init__(model, servos_of(model))
        self._sweeps, self._tolerance = sweeps, tolerance
        self.asked = SolverMethod.AUTOMATIC if model.option is None else solver_of(model.option)
        """The method that the scene requests."""
        self._refuse()

    # ---- layout

    def _lay_out(self, **counts: int) -> None:
        super()._lay_out(**counts)
        self._pairs = self._find_pairs()
        rows = self._contact_rows()
        single = counts["nfriction"] + counts["nmotor"] + counts["nequality"]
        kept = single + counts["nlimit"] + counts["nspeed"] + 3 * counts["ntendon"]
        others = single + 2 * counts["nlimit"] + 2 * counts["nspeed"] + 4 * counts["ntendon"]
        self._most = FixedRoom(len(self._pairs), others + int(rows.sum()))
        self.looks = self._most.rows > MANY_ROWS and self.sizes["nv"] <= MOST_COLUMNS
        """Whether lanes look for near pairs before contacts."""
        bound = others if self.looks else self._most.rows
        if bound > MOST_ROWS:
            raise CapabilityError(
                f"steps in lanes have room for {MOST_ROWS} rows of contacts, limits and friction; this model "
                f"may need {bound}: leave out pairs that need not touch, or step worlds one at a time"
            )
        if self.room is None:
            start = FixedRoom(_PAIR_ROOM + 2 * len(self.shapes), others + MANY_ROWS)
            self.room = self._within(start) if self.looks else self._most
        none = dict.fromkeys(("npgs", "npgs3", "nlcp", "nlcp2", "nbucket", "nmass"), 0)
        width = self.sizes["width"]
        self.sizes |= none | {
            "ncandidate": len(self._pairs),
            "nsquare": width * width,
            "nhessian": width,
            "nkept": kept + int(rows.sum()),
            "nkept_list": KEPT_FORCES if self.looks else 0,
        }
        self.sizes |= self._room_sizes(self.room)
        self.block = t.TABLE.lay_out(self.sizes, last=_GROWING)
        self.column = self.block.column
        self.column.contact_kept[:] = (kept + np.cumsum(rows) - rows).reshape(-1, PAIR_CONTACTS)

    @property
    def may_grow(self) -> bool:
        """Whether a step may need more room than there is."""
        return self.room != self._most

    def _within(self, room: FixedRoom) -> FixedRoom:
        """No more room than the model may need."""
        return FixedRoom(min(room.pairs, self._most.pairs), min(room.rows, self._most.rows))

    def _room_sizes(self, room: FixedRoom) -> dict[str, int]:
        """Sizes that follow from how many pairs and rows there is room for."""
        return {
            "ncontact": PAIR_CONTACTS * room.pairs,
            "nrow": room.rows,
            "nfixed": room.rows,
            "npack": padded(room.rows) + GROUP,
            "njacobian": room.rows * self.sizes["width"],
        }

    def grow(self, short: int) -> None:
        """Double the room for what a step was short of, SHORT_OF_PAIRS or SHORT_OF_ROWS.

        Arenas of groups of worlds have to be made anew afterwards. No column moves but those that grow.
        """
        assert self.room is not None
        pairs, rows = self.room
        pairs = 2 * pairs if short & t.SHORT_OF_PAIRS else pairs
        self.room = self._within(FixedRoom(pairs, 2 * rows if short & t.SHORT_OF_ROWS else rows))
        self.sizes |= self._room_sizes(self.room)
        before, self.block = self.block, t.TABLE.lay_out(self.sizes, last=_GROWING)
        self.column = self.block.column
        self.block.take(before)
        self._order_contacts()
        if self.collision is not None:
            contacts = self.sizes["ncontact"]
            self.collision.make_room(pairs=self.room.pairs, contacts=contacts, fixed_contacts=contacts)
            self._connect_collision()

    def missing_room(self) -> Room:
        """What the last step of a World that was SHORT of room needs."""
        assert self.room is not None
        short, (pairs, rows) = int(self.column.link[t.SHORT]), self.room
        self.column.link[t.SHORT] = 0
        return Room(
            pairs=pairs + 1 if short & t.SHORT_OF_PAIRS else 0,
            jacobian=(rows + 1) * self.sizes["width"] if short & t.SHORT_OF_ROWS else 0,
        )

    def make_room(self, needed: Room) -> None:
        """Grow what is too small, and keep what is in all of it; the sets of arenas are others afterwards."""
        assert self.room is not None
        while needed.pairs > self.room.pairs or needed.contacts > self.sizes["ncontact"]:
            self.grow(t.SHORT_OF_PAIRS)
        while needed.jacobian > self.sizes["njacobian"]:
            self.grow(t.SHORT_OF_ROWS)

    def sets(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """The arenas of rows of a World, then those of collision."""
        self.block.args[self.place_of("packed_end") + LANES] = 1
        if self.single is not None and self.collision is not None:
            pairs = self.sizes["ncontact"] // PAIR_CONTACTS
            self._alone = self.single.connect(1, pairs, self.collision.args)
        return super().sets()

    @property
    def kept_column(self) -> str:
        """The column of forces that the next step starts from."""
        return "kept_list" if self.sizes["nkept_list"] else "kept"

    def forget_contacts(self) -> None:
        """The state is no longer what the last step led to: the next one starts from no forces."""
        super().forget_contacts()
        self.column.kept[:] = self.column.kept_list[:] = 0.0

    def _solver_sizes(self) -> dict[str, int]:
        """None to change: the layout is that of the solver of lanes."""
        return {}

    def _find_pairs(self) -> np.ndarray:
        """Pairs of shapes that may touch, by row of the collision tables, (k, 2)."""
        if not len(self.shapes):
            return np.zeros((0, 2), np.int64)
        rows, n = [row for _, row in shape_rows(self.model)], len(self.shapes)
        arenas = CollisionArenas(
            rows,
            body_rows(self.model, parents=not self.option.disable_parent_filter),
            ignored=excluded_keys(self.model, rows),
            explicit=np.unique(pair_keys(self.model, self.shapes)).tolist(),
            pairs=n * (n - 1) // 2,
        )
        run_stages((every_pair,), arenas.m, arenas.c, arenas.args, arenas.d)
        pairs = arenas.column.pair[: arenas.column.counter[PAIRS]].copy()
        self._types = arenas.column.shape_type.copy()
        self._require_fixed_pairs(pairs)
        return pairs

    def _require_fixed_pairs(self, pairs: np.ndarray) -> None:
        shapes = self.model.shapes
        assert shapes is not None
        for a, b in pairs.tolist():
            if pair_family(int(self._types[a]), int(self._types[b])) == SURFACE:
                first, second = (shapes.label[self.shapes[k]] for k in (a, b))
                raise CapabilityError(
                    f"steps in lanes have room for {PAIR_CONTACTS} contacts of a pair; shapes '{first}' and "
                    f"'{second}' may touch, and a surface of triangles may need more: exclude them from "
                    "touching, or step worlds one at a time"
                )

    def _contact_rows(self) -> np.ndarray:
        """Rows that the contact of every row of the layout may have."""
        rows = np.zeros((len(self._pairs), PAIR_CONTACTS), np.int64)
        if not len(self._pairs):
            return rows.reshape(-1)
        shapes, own = self.model.shapes, self.model.contact_pairs
        assert shapes is not None
        condim = shapes.condim[self.shapes]
        most = np.maximum(condim[self._pairs[:, 0]], condim[self._pairs[:, 1]])
        if own is not None and len(own):
            most = np.maximum(most, own.condim.max())
        elliptic = self.option.friction_model == 1
        count = np.where(most == 1, 1, most if elliptic else 2 * (most - 1))
        for q, (a, b) in enumerate(self._pairs.tolist()):
            rows[q, : _fixed_contact_count(int(self._types[a]), int(self._types[b]))] = count[q]
        return rows.reshape(-1)

    def _make_collision(self, kept: list, option: SimulateOption) -> None:
        rows, pairs = [row for _, row in kept], self._pairs
        assert self.room is not None
        contacts = PAIR_CONTACTS * self.room.pairs
        self.collision = CollisionArenas(
            rows,
            body_rows(self.model, parents=not option.disable_parent_filter),
            pairs=self.room.pairs,
            contacts=contacts,
            fixed_contacts=contacts,
            candidates=len(pairs),
        )
        column = self.collision.column
        column.candidate[:] = pairs
        if not self.looks:
            column.pair[: len(pairs)] = pairs
            column.counter[PAIRS] = len(pairs)
            each = np.repeat(pairs, PAIR_CONTACTS, axis=0)
            column.contact_id[: len(each), :2] = each
            column.contact_id[: len(each), 2:4] = column.shape_body[each]
            column.contact_id[: len(each), 5] = np.arange(len(each)) // PAIR_CONTACTS
        types = column.shape_type[pairs]
        others = [not is_fixed_pair(*sorted(pair)) for pair in types.tolist()]
        single = np.flatnonzero(np.array(others, bool))
        if len(single):
            families = sorted({int(pair_family(a, b)) for a, b in types[single].tolist()} - {SKIP})
            self.single = SinglePairs(rows, self.model, option, pairs[single], families)

    def plan(self, multibody: StepPlan, *, damped: bool, speeds: bool) -> StepPlan:
        """What a step has to do beside what the multibodies need."""
        self._choose_newton()
        made = super().plan(multibody, damped=damped, speeds=speeds)
        method = self.column.option[t.NEWTON_STEPS]
        return made._replace(
            near_pairs=self.looks and len(self.shapes) > 0,
            single_pairs=self.single is not None,
            # only stages of islands ask for it
            restitution=False,
            newton_rows=bool(method == PLAIN_ROWS),
            newton_cones=bool(method == CONES),
            newton_coulomb=bool(method == COULOMB),
        )

    def _refuse(self) -> None:
        """Raise for what a fixed layout does not have."""
        sizes = self.sizes
        found = list(self.missing)
        column = self.column
        if sizes["nspring"]:
            found.append("springs between bodies")
        if not np.isin(column.equality_kind, (t.JOINT, t.TENDON)).all():
            found.append(
                "closures, joints between bodies and equalities of anything but coordinates and tendons"
            )
        if (column.equality_law[:, t.KIND] == t.HARD).any():
            found.append("hard equalities")
        if (column.equality_number[:, 11:13] < _UNBREAKABLE).any():
            found.append("equalities that break")
        if np.isin(column.node_kind, (SPHERE_NODE, CYLINDER_NODE)).any():
            found.append("tendons that wrap around shapes")
        if (column.tendon_span[:, 0] == column.tendon_span[:, 1]).any():
            found.append("tendons that no degree of freedom moves")
        if (self.column.act_hold[:, 0] != LINEAR).any():
            found.append("actuators of anything but joints that turn about or slide along an axis")
        if self.compensates_gravity:
            found.append("gravity compensation by actuators")
        if self.option.noslip_iterations:
            found.append("sweeps against slip (noslip_iterations)")
        policy = self.option.policy
        if policy.deactivation.enabled:
            found.append("sleep (policy.deactivation)")
        if self.asked is SolverMethod.BOXED:
            found.append("a boxed problem as the solver of contacts")
        if self.asked is SolverMethod.NEWTON and policy.strict_solver_resolution:
            found.append("Newton's method alone (policy.strict_solver_resolution)")
        if policy.contact_sweeps:
            found.append("a bound of sweeps (policy.contact_sweeps)")
        found += self._early_ends()
        if (drives_of(self.model) >= VELOCITY).any():
            found.append("joints that follow a velocity or an acceleration, or are locked")
        if found:
            raise CapabilityError(f"steps in lanes do not have {', '.join(found)}; step worlds one at a time")

    @property
    def hard_parts(self) -> list[str]:
        """Parts whose rows are so stiff that single precision has no digits left for what they act on."""
        column, sizes = self.column, self.sizes
        laws = np.concatenate([column.shape_law, column.pair_law])
        found = {
            "hard contacts": bool((laws[:, t.KIND] == t.HARD).any()),
            "hard limits of joints": self.stops_hard,
            "hard dry friction of joints": bool((column.friction_law[:, 2] >= 1.0).any()),
            "motors": sizes["nmotor"] > 0,
            "limits of speed": sizes["nspeed"] > 0,
        }
        return [name for name, has in found.items() if has]

    def _early_ends(self) -> list[str]:
        """Settings that end Newton's method of a World far from the solution, which lanes go on to."""
        option, newton = self.option, self.asked is not SolverMethod.SEQUENTIAL_IMPULSE
        if not (newton and self.sizes["nrow"]):
            return []
        found = []
        if option.constraint_solver_iterations < ENOUGH:
            found.append(f"solves that end early (constraint_solver_iterations below {ENOUGH})")
        if option.constraint_solver_tolerance > _LOOSEST:
            found.append(f"solves that end early (constraint_solver_tolerance above {_LOOSEST})")
        if option.line_search_iterations < _FEWEST or option.line_search_tolerance > _ROUGHEST:
            found.append(
                f"line searches that end early (line_search_iterations below {_FEWEST}, or "
                f"line_search_tolerance above {_ROUGHEST})"
            )
        return found

    # ---- what a step runs

    def connect(
        self, index: np.ndarray, constant: np.ndarray, data: np.ndarray, mobile: Array, h: float
    ) -> None:
        """Prepare the columns for steps of `h`; the addresses of arenas are those of one world."""
        super().connect(index, constant, data, mobile, h)
        column, nv = self.column, self.sizes["nv"]
        moving = np.flatnonzero(column.tree_prescribed == 0)
        column.island_tree[: len(moving)] = moving
        counter = column.counter
        counter[t.TREE_FIRST], counter[t.TREE_END] = 0, len(moving)
        self._order_contacts()
        column.dof_column[:] = column.column_dof[:] = np.arange(nv)
        numbers = column.option
        numbers[t.SWEEPS] = self._sweeps
        numbers[t.COLD] = float(self.option.disable_warm_start)
        self._choose_newton()

    def _set_gravity(self, h: float) -> None:
        super()._set_gravity(h)
        numbers = self.column.option
        numbers[t.SPEED_TOLERANCE] = self._tolerance * numbers[t.GRAVITY]

    def _order_contacts(self) -> None:
        """Contacts are in the order of their pairs."""
        counter, count = self.column.counter, self.sizes["ncontact"]
        counter[t.CONTACT_FIRST], counter[t.CONTACT_END] = 0, count
        self.column.contact_order[:] = np.arange(count)

    @property
    def solver(self) -> SolverMethod:
        """The method that solves the rows first: NEWTON, or SEQUENTIAL_IMPULSE for sweeps over rows."""
        newton = self.column.option[t.NEWTON_STEPS] > 0.0
        return SolverMethod.NEWTON if newton else SolverMethod.SEQUENTIAL_IMPULSE

    @property
    def sweeps_instead(self) -> bool:
        """Whether sweeps over rows take the place of Newton's method, which a World of islands has."""
        newton = self.asked is not SolverMethod.SEQUENTIAL_IMPULSE
        return newton and self.constrains and self.solver is SolverMethod.SEQUENTIAL_IMPULSE

    def _choose_newton(self) -> None:
        """Solve rows by Newton's method where it serves all of them."""
        newton = self.asked is not SolverMethod.SEQUENTIAL_IMPULSE and self.sizes["nv"] <= MOST_COLUMNS
        served = newton and bool(constant_views(self.model.arenas)["dof_mobile"].all())
        self.column.option[t.NEWTON_STEPS] = float(self._newton() if served else NO_NEWTON)

    def _newton(self) -> int:
        """The Newton's method that serves all rows: springs with bounds, cones as well, or Coulomb's law."""
        column = self.column
        condim = np.concatenate([column.shape_condim, column.pair_condim, [1]])
        if (condim == 1).all():
            return PLAIN_ROWS
        kinds = np.concatenate([column.shape_law[:, t.KIND], column.pair_law[:, t.KIND]])
        if not (kinds == t.IMPEDANCE).all():
            return COULOMB
        return CONES if column.option[t.ELLIPTIC] != 0.0 else PLAIN_ROWS
