# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The constraint part of a world that steps: its arenas, filled from the tables of a Model.

Shapes that can touch go to the collision tables, in the same order as their laws here. Limits, dry friction
and actuators become rows of their own columns. What a scene asks for and no stage does is named in
`Constraints.missing`.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.body_blocks import SIDE, STRIDE
from worldline._src.kernels.constraints.contact.impacts import SLOW
from worldline._src.kernels.constraints.islands import LARGEST_DENSE
from worldline._src.linear_algebra import norm
from worldline._src.model.checks import INERTIAL
from worldline._src.model.model import Model
from worldline._src.scalar.packed import padded
from worldline._src.scene.options import SimulateOption, made_by_code
from worldline._src.spatial.poses import Array
from worldline._src.step import island_stages as i
from worldline._src.step.constraint_program import ConstraintProgram
from worldline._src.step.damping_clamp import (
    clamp_damping,
    friction_with_time_constants,
    given_damping,
    guard_friction,
)
from worldline._src.step.inverse_weights import inverse_weights
from worldline._src.step.island_options import BOXED_ROWS, SOLVED, Rest, SolverMethod
from worldline._src.step.missing import missing_parts
from worldline._src.step.pack_anchors import link_trees
from worldline._src.step.pack_equalities import Owner
from worldline._src.step.pack_ties import order_rows
from worldline._src.step.pack_trees import nodes_of, pack_trees, tree_starts, tree_ties
from worldline._src.step.packing import ModelPacking
from worldline._src.step.room import Room
from worldline._src.step.stage_links import compile_soon, link_stages
from worldline._src.step.step_collision import (
    collision_arenas,
    connect_collision,
    found_contacts,
    link_families,
    refresh_fixed_bodies,
)
from worldline._src.step.step_plan import StepPlan

_CONTACT_ROOM = 64
"""Contacts that a world begins with room for beyond those its number of shapes suggests."""
_MASS_ROOM = 1024
"""Elements of the mass matrices of all trees that a world has room for from the beginning."""
_JACOBIAN_ROOM, _SQUARE_ROOM = 1 << 17, 1 << 14
"""Elements of the Jacobian and of a square matrix that a world begins with room for, if it can need them."""
_FREE_COLUMNS = i.FREE_BODY_COLUMNS
"""Columns of an island from which on sequential impulses solve it, when asked for."""
_HARD_COLUMNS = 4 * i.FREE_BODY_COLUMNS
"""Columns from which on islands of hard contacts with other trees than free bodies have rows of two trees.

Dense sweeps over smaller ones regularize jams more, which those over rows of two trees do not.
"""
_FACTOR_BLOCKS = 2
"""Blocks of sparse factors for every contact there is room for; heaps have fewer of them than contacts."""
_SWEEP_SHARE = 0.01
"""Sequential impulses end when no velocity changes by more than this share of what gravity does in a step."""


class Constraints(ConstraintProgram):
    """What holds, limits, drives and touches in one world."""

    is_fixed = False
    """Whether rows have the fixed layout of lanes, else there are islands."""

    def __init__(
        self,
        model: Model,
        servos: np.ndarray | None = None,
        room: Room | None = None,
        like: Constraints | None = None,
    ) -> None:
        """`like`: the constraints of a model that this one is a copy of, whose shapes are taken over."""
        self.model = model
        option = model.option or made_by_code(SimulateOption())
        self.option = option
        self.missing = missing_parts(model, option)
        """What the model asks for that no stage does."""
        self.servos = np.zeros(0, np.int64) if servos is None else servos
        """Degrees of freedom that motors with a largest force move to a commanded speed."""
        shared = None if like is None else like._packing
        self._packing = packing = ModelPacking(model, option, self.servos, shared)
        # no chain of clones of clones
        packing.like = None
        self.shapes = packing.shapes.shapes
        """Rows of `Model.shapes` in the order of the collision tables."""
        self.actuators = packing.actuators.working
        """Rows of `Model.actuators` that act."""
        self._equality = packing.equalities
        self.equalities = self._equality.equalities
        """What is held together, in the order of the columns."""
        self.motors = packing.motors.couplers
        """Coupler of every motor, -1 for a servo."""
        self.tendon_names: tuple[str, ...] = () if model.tendons is None else tuple(model.tendons.label)
        """Of tendons, in the order of their columns."""
        starts = tree_starts(model)
        self._tree_columns = np.diff(starts)
        self._touched = packing.touched(starts)
        ties = tree_ties(self._touched)
        self._moving = packing.actuators.has_moving_moments
        # adhesion pulls along contacts: they are found before forces, not after
        self._sticks = packing.actuators.has_adhesion and len(self.shapes) > 0
        self._room = room or Room()
        self._matrix_at: np.ndarray | int = 0
        # a copy has the same solver: it is not laid out again when that is chosen
        self._solver_room = {} if like is None else {name: like.sizes[name] for name in like._solver_sizes()}
        self._lay_out(**packing.sizes(), ntree=len(starts) - 1, ntie=len(ties))
        kept, self._families = packing.shapes.kept, packing.shapes.families
        if self.sizes["nrow"] > 1:
            # measuring the model below compiles too
            compile_soon(StepPlan(**self.row_kinds), self._families)
        packing.fill(self.block)
        self._weights: tuple[Array, Array] | None = None
        self._fill_bodies()
        pack_trees(model, self.column, starts, ties, self._touched)
        self._fill_options(option)
        self._damping = given_damping(self.column)
        self._timed_friction = friction_with_time_constants(model, packing.joints.joint_rows.rubbing)
        self.collision = None
        if kept and like is not None and like.collision is not None:
            self.collision = like.collision.renewed()
            link_families(self.collision, self._families)
        elif kept:
            self._make_collision(kept, option)

    def take_joint_rows(self, names: Collection[str]) -> bool:
        """Take over limits and dry friction of joints; False where the model needs other rows than before.

        `names` are the arrays of the model that changed.
        """
        # ranges of lengths of muscles may be those of joints
        return not self._packing.actuators.has_muscles and self._packing.joints.take(names, self.column)

    def take_friction(self) -> None:
        """Take over coefficients of friction of shapes."""
        self._packing.shapes.take_friction(self.column)

    # ---- layout

    @property
    def kept_column(self) -> str:
        """The column of forces that the next step starts from, in the fixed layout; empty for islands."""
        return ""

    def _lay_out(self, **counts: int) -> None:
        model = self.model
        nv = model.joint_dof_count
        contacts = _CONTACT_ROOM + 4 * len(self.shapes) if len(self.shapes) else 0
        contacts = max(contacts, self._room.contacts)
        self._other_rows = self._packing.rows() + 1
        masses = int((self._tree_columns**2).sum())
        self.sizes = {
            "nv": nv,
            "width": max(padded(nv), 4),
            "nbody": model.body_count + 1,
            "nrow": self._other_rows,
            "ncontact": 0,
            **counts,
            "tree_ends": counts["ntree"] + 1,
            "ncolumn": nv,
            "nspread": nv,
            "nvector": 8 * max(padded(nv + 2), 4),
            "nlink": model.arenas.sizes["nlink"],
            # nearly all models damp joints at the end of a step: small ones are not laid out again for it
            "nmass": masses if masses <= _MASS_ROOM else 0,
            **dict.fromkeys(
                (
                    *("npgs", "npgs3", "nlcp", "nlcp2", "nbucket", "nfixed", "npack", "nhessian", "nkept"),
                    *("ncandidate", "nkept_list"),
                ),
                0,
            ),
            **dict.fromkeys(
                (
                    "njacobian",
                    "nsquare",
                    "nslip",
                    "nslip2",
                    "nsweep",
                    "nsweep2",
                    "nblock",
                    "nbetween",
                    "nfactor",
                    "nmatrix",
                    "nrowblock",
                    "ngroup",
                ),
                0,
            ),
        }
        self.sizes |= self._contact_sizes(contacts)
        self.sizes |= self._dense_sizes(self._room.jacobian, self._room.square) | self._solver_room
        block = t.TABLE.lay_out(self.sizes)
        self.block = block
        self.column = block.column

    def _contact_sizes(self, contacts: int) -> dict[str, int]:
        """Sizes of all that there is for every contact."""
        model, condim = self.model, 1
        if contacts and model.shapes is not None:
            own = model.contact_pairs
            own_condim = own.condim.max(initial=1) if own is not None else 1
            condim = max(model.shapes.condim[self.shapes].max(), own_condim)
        # a pyramid has two edges for every direction of friction
        self._rows_a_contact = int(max(condim, 2 * (condim - 1)))
        pgs_contacts = contacts if self.sizes["npgs"] else 0
        return {
            "ncontact": contacts,
            "nrow": self._other_rows + self._rows_a_contact * contacts,
            "npgs": pgs_contacts,
            "npgs3": 3 * pgs_contacts,
            "nbucket": 2 * max(16, 1 << (2 * contacts).bit_length()) if contacts else 0,
        }

    def _dense_sizes(self, jacobian: int, square: int) -> dict[str, int]:
        """Sizes of what is laid out for the largest island that is solved densely."""
        width = self.sizes["width"]
        # damping at the end of a step factors the matrix of a tree whatever there is of rows
        tree = max(padded(SIDE * int(nodes_of(self._tree_columns).max(initial=0))), 4)
        square = min(max(square, _SQUARE_ROOM, tree * tree), width * width)
        jacobian = min(max(jacobian, _JACOBIAN_ROOM), self.sizes["nrow"] * width)
        slips = self.option.noslip_iterations > 0
        return {
            "njacobian": jacobian,
            "nsquare": square,
            "nslip": jacobian if slips else 0,
            "nslip2": square if slips else 0,
        }

    def _lay_out_again(self, **sizes: int) -> None:
        """Columns of other sizes, with what was in them."""
        if any(self.sizes[name] != size for name, size in sizes.items()):
            self.sizes |= sizes
            before, self.block = self.block, t.TABLE.lay_out(self.sizes)
            self.column = self.block.column
            self.block.take(before)
        # a copy has the sizes of its solver from the beginning
        self.column.matrix_at[:] = self._matrix_at

    def missing_room(self) -> Room:
        """What the last step that was SHORT of room needs."""
        counter = self.column.counter
        contacts, pairs = (0, 0) if self.collision is None else found_contacts(self.collision)
        needs = counter[[t.JACOBIAN_NEED, t.SQUARE_NEED, t.BLOCK_NEED]].tolist()
        return Room(contacts, pairs, *needs)

    def make_room(self, needed: Room) -> None:
        """Grow the arrays that are too small to at least twice their size, and keep what is in all of them.

        The sets of arenas are others afterwards.
        """
        sizes = self.sizes
        contacts, jacobian, square = sizes["ncontact"], sizes["njacobian"], sizes["nsquare"]
        if needed.contacts > contacts:
            contacts = max(needed.contacts, 2 * contacts)
            self.sizes = sizes | self._contact_sizes(contacts)
        if needed.jacobian > jacobian:
            jacobian = max(needed.jacobian, 2 * jacobian)
        if needed.square > square:
            square = max(needed.square, 2 * square)
        self.sizes = self.sizes | self._dense_sizes(jacobian, square)
        if needed.blocks > sizes["nbetween"]:
            self._room = self._room._replace(blocks=max(needed.blocks, 2 * sizes["nbetween"]))
        grown, self.sizes = self.sizes | self._solver_sizes(), sizes
        self._lay_out_again(**grown)
        if self.collision is not None:
            self.collision.make_room(pairs=needed.pairs, contacts=max(needed.contacts, contacts))
            self._connect_collision()
        self.column.link[t.SHORT] = 0

    def _tree_rows(self) -> np.ndarray:
        """Most rows that every tree brings to its island beside those of contacts, (trees,)."""
        column, most = self.column, self._packing.rows_of_trees(self.column)
        each = np.array([equality.rows for equality in self.equalities], np.int64)
        ends = np.append(0, np.cumsum(each[column.equality_order]))
        return most + np.diff(ends[column.tree_equality])

    def _lay_out_masses(self) -> None:
        """Mass matrices of all trees, which damping at the end of a step needs."""
        squares = self._tree_columns**2
        self._lay_out_again(nmass=int(squares.sum()))
        self.column.tree_mass_at[:] = np.cumsum(squares) - squares

    def row_of(self, owner: Owner, index: int) -> int | None:
        """Which equality of the columns comes from a row of a table of the Model; None when none does."""
        return self._equality.row_of(owner, index)

    def command_joints(self, commands: Array) -> None:
        """Effort, velocity and acceleration that motors of joints between bodies follow, (joints, 3)."""
        self._equality.command_joints(self.column, commands)

    def move_closure_end(self, closure: int, second: bool, body: int, X: Array) -> bool:
        """Put an end of a solved closure at another pose of its body; False when it is on another body."""
        return self._equality.move_closure_end(self.column, closure, second, body, X)

    def refresh(self) -> None:
        """Masses or kinds of bodies changed: what rows and pair filters know of them is taken again."""
        self._fill_bodies()
        if self.collision is not None:
            refresh_fixed_bodies(self.collision, self.model)

    def place_of(self, name: str) -> int:
        """Where a column of floats starts in the arena of rows."""
        return int(self.block.m[t.TABLE.entry[name]])

    def reset(self) -> None:
        """As at the start: nothing broken, nothing asleep, no contacts of a last step."""
        self._equality.reset(self.column)
        self.forget_contacts()
        self.wake()

    def forget_contacts(self) -> None:
        """Drop contacts and forces of the last step, after a state was written that it did not lead to."""
        self.column.counter[t.CONTACT_COUNT] = 0
        self.column.qfrc[:] = 0.0

    def take_back(self, frame: int) -> None:
        """Forget what rows left of a step that was taken back: contacts, forces, and what broke in it."""
        self._equality.take_back(self.column, frame)
        # not what a subclass forgets too: forces that the next step starts from were put back with the state
        Constraints.forget_contacts(self)

    def _fill_bodies(self) -> None:
        """Inverse inertias at the start, which rows and damping ratios are scaled with."""
        if not self.is_needed:
            # a simulation of trees alone does not keep these constraints
            return
        weights = inverse_weights(self.model)
        if weights is self._weights:
            # a change of what has inertia makes new ones
            return
        if self._weights is None:
            self.column.body_link[1:] = self.model.link_of_body()
        self._weights = weights
        dofs, bodies = weights
        self.column.dof_invweight[:] = dofs
        self.column.body_invweight[1:] = bodies
        self._packing.fill_inertias(self.block, dofs)

    def _fill_options(self, option: SimulateOption) -> None:
        numbers = self.column.option
        numbers[t.RATIO] = option.impedance_ratio
        numbers[t.TOLERANCE] = option.constraint_solver_tolerance
        numbers[t.NEWTON_STEPS] = max(option.constraint_solver_iterations, 1)
        numbers[t.LINE_TOLERANCE] = max(option.line_search_tolerance, 1e-9)
        numbers[t.LINE_STEPS] = max(option.line_search_iterations, 1)
        numbers[t.ELLIPTIC] = float(option.friction_model == 1)
        numbers[t.SAFE] = float(not option.disable_reference_safety)
        numbers[t.SLIP_SWEEPS] = option.noslip_iterations if self.sizes["nslip"] else 0
        numbers[t.SLIP_TOLERANCE] = option.noslip_tolerance
        numbers[t.SHARE] = self.column.tree_share[:] = 1.0
        numbers[t.FRICTION_SHARE] = self.column.tree_grip[:] = 1.0
        numbers[t.RECOVERY_SPEED] = self.column.tree_recovery[:] = SLOW
        self.choose(SolverMethod.NEWTON)
        self.sleeps = False
        self.sleep(None)

    def _make_collision(self, kept: list, option: SimulateOption) -> None:
        explicit, room = self.column.pair_key.tolist(), (self._room.pairs, self.sizes["ncontact"])
        self.collision = collision_arenas(self.model, option, [row for _, row in kept], explicit, *room)
        link_families(self.collision, self._families)

    def _connect_collision(self) -> None:
        if self.collision is not None:
            connect_collision(self.column, self.collision)

    def _set_reach(self, h: float) -> None:
        """Hard shapes are found shortly before they touch, so that what rests or slides keeps its contacts.

        Those that bounce must be seen in the step in which they touch.
        """
        if self.collision is None:
            return
        packer = self._packing.shapes
        if packer.set_reach(self.column, self.collision, h, splits=self.step_plan.split):
            self._connect_collision()

    def choose(
        self, method: SolverMethod, strict: bool = False, dense: bool = False, sweeps: int = 0
    ) -> None:
        """Solve islands by a method from the next step on.

        AUTOMATIC: Newton's method, and sequential impulses for hard contacts of more than 22 free bodies.
        NEWTON: for those too, up to 256 bodies. SEQUENTIAL_IMPULSE: impulses of bodies for islands of free
        bodies, sweeps over rows for others and for small islands of the impedance model. BOXED: pivoting up
        to 240 rows, Newton's method beyond. `strict` takes the bounds away, and no other method stands in.

        Large islands of free bodies have rows of two bodies each (`body_rows.py`) where friction spins or
        rolls, pairs have parameters of their own or slip is swept, and where all contacts are of the
        impedance model, then over sparse factors. Large islands with other trees have rows of two trees by
        all methods but pivoting. Derivatives need `dense` rows over all columns instead.
        `sweeps` bounds those of sequential impulses over an island, 0 goes on until it is solved.
        """
        wide = bool((self.column.shape_condim > 3).any() or self.sizes["npair"])
        wide |= self.option.noslip_iterations > 0
        # rows of two bodies have sparse matrices
        if len(self.shapes) and self._is_soft and not (strict or dense):
            wide |= method in (SolverMethod.AUTOMATIC, SolverMethod.NEWTON)
        laws, bodies = self.column.shape_law[:, t.KIND], np.count_nonzero(self.column.tree_link)
        numbers, swept = self.column.option, method is SolverMethod.SEQUENTIAL_IMPULSE
        numbers[t.SWEPT], numbers[t.COLD] = float(swept), float(self.option.disable_warm_start)
        numbers[t.STRICT], numbers[t.BOXED] = float(strict), float(method is SolverMethod.BOXED)
        if swept:
            numbers[t.FREE_COLUMNS] = _FREE_COLUMNS if (laws == t.IMPEDANCE).any() else 0
        else:
            numbers[t.FREE_COLUMNS] = _FREE_COLUMNS if method is SolverMethod.AUTOMATIC else LARGEST_DENSE
        if wide and (swept or self._is_soft):
            # Newton's method over rows of two bodies is as exact, and quicker from there on
            numbers[t.FREE_COLUMNS] = _FREE_COLUMNS
        if (strict and not swept) or 6 * bodies <= numbers[t.FREE_COLUMNS]:
            numbers[t.FREE_COLUMNS] = np.inf
        numbers[t.BODY_ROWS] = float(wide)
        numbers[t.TREE_COLUMNS] = self._tree_row_columns(method, strict, dense)
        fails = not (wide or strict or swept) and bodies > 1
        numbers[t.STANDS_IN] = float(fails and bool((laws != t.IMPEDANCE).any()))
        # all other islands of hard contacts have sweeps over rows to fall back on
        others = wide or bodies < self.sizes["ntree"]
        numbers[t.SWEEPS_STAND_IN] = float(others and not (strict or swept or self._is_soft))
        numbers[t.BUDGET], numbers[t.RESIDUAL_BOUND] = np.inf, SOLVED
        # kernels take a negative number as a bound
        numbers[t.SWEEPS] = -sweeps if sweeps else max(self.option.constraint_solver_iterations, 1)
        self._lay_out_again(**self._solver_sizes())

    def _tree_row_columns(self, method: SolverMethod, strict: bool, dense: bool) -> float:
        """Columns from which on islands with other trees than free bodies have rows of two trees."""
        columns, pivots = self._tree_columns, method is SolverMethod.BOXED
        others = len(columns) > np.count_nonzero(self.column.tree_link)
        # pivoting solves islands of few rows; those of so many columns have more
        least = _FREE_COLUMNS if self._is_soft else _HARD_COLUMNS
        if pivots:
            least = LARGEST_DENSE
        if dense or (strict and pivots) or not others or columns.sum() <= least:
            return np.inf
        return float(least)

    @property
    def _is_soft(self) -> bool:
        """Whether all contacts are of the impedance model."""
        laws = np.concatenate([self.column.shape_law, self.column.pair_law])
        return bool((laws[:, t.KIND] == t.IMPEDANCE).all())

    @property
    def has_large_islands(self) -> bool:
        """Whether islands of free bodies may be so large that they are solved without dense matrices."""
        return bool(np.isfinite(self.column.option[t.FREE_COLUMNS]))

    @property
    def has_tree_rows(self) -> bool:
        """Whether islands with other trees than free bodies may have rows of two trees."""
        return bool(np.isfinite(self.column.option[t.TREE_COLUMNS]))

    @property
    def gives_way(self) -> bool:
        """Whether sequential impulses solve islands of free bodies that are large."""
        return self.has_large_islands and not (self.column.option[t.BODY_ROWS] and self._is_soft)

    def _solver_sizes(self) -> dict[str, int]:
        """Sizes of the arrays that one solver alone has, zero for those that are never called."""
        numbers = self.column.option
        rows = 0
        if numbers[t.BOXED]:
            rows = self.sizes["nrow"] if numbers[t.STRICT] else BOXED_ROWS
        tree_rows = self.has_tree_rows
        body_rows = tree_rows or (self.has_large_islands and bool(numbers[t.BODY_ROWS]))
        # Newton's method over rows of two trees needs no responses of rows but for sweeps against slip
        body_sweeps = body_rows and not (self._is_soft and not self.option.noslip_iterations)
        swept = bool(numbers[t.SWEPT]) or bool(numbers[t.SWEEPS_STAND_IN]) or body_sweeps
        pushed = (self.has_large_islands and not numbers[t.BODY_ROWS]) or bool(numbers[t.STANDS_IN])
        pgs_contacts = self.sizes["ncontact"] if pushed else 0
        return (
            {"nlcp": rows, "nlcp2": rows * (rows + 5), "npgs": pgs_contacts, "npgs3": 3 * pgs_contacts}
            | {
                "nsweep": self.sizes["nrow"] if swept else 0,
                "nsweep2": self.sizes["njacobian"] if swept else 0,
            }
            | self._block_sizes(body_rows, tree_rows)
        )

    def _block_sizes(self, body_rows: bool, tree_rows: bool) -> dict[str, int]:
        """Sizes of rows of two trees and of their matrices, of free bodies alone unless `tree_rows`."""
        nodes, nv, contacts = nodes_of(self._tree_columns), self.sizes["nv"], self.sizes["ncontact"]
        columns = max(nv, SIDE * int(nodes.sum())) if tree_rows else nv
        vectors = max(padded(columns + 2), 4)
        # trees of less than whole nodes have more columns there than degrees of freedom
        spread = {
            "nspread": columns,
            "ncolumn": columns,
            "nvector": 8 * vectors,
            "width": vectors if body_rows else max(padded(nv), 4),
        }
        names = ("nblock", "nbetween", "nfactor", "nmatrix", "nrowblock", "ngroup")
        if not body_rows:
            return spread | dict.fromkeys(names, 0)
        used = self.column.tree_link != 0
        if tree_rows:
            used |= (nodes <= i.MOST_NODES) & (self.column.tree_dense == 0)
        kept = np.where(used, nodes, 0)
        matrices, inner = 2 * (SIDE * kept) ** 2, int((kept * (kept - 1) // 2).sum())
        self._matrix_at = np.cumsum(matrices) - matrices
        between = max(contacts + inner, self._room.blocks)
        return spread | {
            "nblock": int(nodes.sum()),
            "nbetween": between,
            "nfactor": _FACTOR_BLOCKS * between + inner,
            "nmatrix": int(matrices.sum()),
            "nrowblock": 2 * STRIDE * int(kept.max(initial=1)),
            "ngroup": contacts + (self._other_rows if tree_rows else 0),
        }

    def sleep(self, rest: Rest | None) -> None:
        """Let islands that rest fall asleep by these rules; None wakes everything and keeps it awake."""
        numbers = self.column.option
        self.sleeps = rest is not None
        numbers[t.QUIET_TIME] = np.inf
        self.wake()
        if rest is not None:
            numbers[t.QUIET_TIME], numbers[t.DISTURBANCE] = rest.time, rest.force
            numbers[t.WAKE_SCALE] = rest.scale
            rest.set_speeds(self.model, self.column.dof_quiet)

    def wake(self) -> None:
        """Nothing sleeps."""
        self.column.tree_group[:] = -1
        self.column.tree_quiet[:] = 0.0

    # ---- what a step runs on

    def sets(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """The arenas of rows, then those of collision."""
        block = self.block
        collision = block if self.collision is None else self.collision
        return [
            (block.m, block.c, block.args, block.d),
            (collision.m, collision.c, collision.args, collision.d),
        ]

    def connect(
        self, index: np.ndarray, constant: np.ndarray, data: np.ndarray, mobile: Array, h: float
    ) -> None:
        """Tell the stages where the arenas of the trees are, what can move, and the time step."""
        link_stages(self.column, self.step_plan)
        if mobile.size:
            starts = self.column.tree_dof[:-1]
            self.column.tree_prescribed[:] = np.maximum.reduceat(mobile, starts) == 0.0
        order_rows(self.column, self._touched)
        self.column.tree_rows[:] = self._tree_rows()
        link_trees(self.block, index, constant, data)
        self._connect_collision()
        self.column.option[t.CONTACT_ROWS] = self._rows_a_contact
        self._set_time_step(h)

    def parameters_changed(self, names: Collection[str], h: float, implicit: bool) -> None:
        """Take over arrays of the model that were replaced, or "time_step".

        For those that leave stages, rows and what is prescribed as they are; see `connect` and `prepare`.
        """
        if not INERTIAL.isdisjoint(names):
            self._fill_bodies()
        if "time_step" in names:
            self.prepare(self.step_plan, damping_time=implicit * h)
            self._set_time_step(h)
        elif "gravity" in names:
            self._set_gravity(h)

    def _set_gravity(self, h: float) -> None:
        """What gravity does in a step, which residuals and tolerances are measured by."""
        gravity = max(norm(self.model.gravity), 1.0)
        self.column.option[t.GRAVITY] = gravity
        self.column.option[t.SPEED_TOLERANCE] = _SWEEP_SHARE * gravity * h

    def _set_time_step(self, h: float) -> None:
        """All that depends on the time step."""
        self.column.option[t.STEP] = h
        clamp_damping(self.column, self._damping, self.option, h)
        if not self.option.disable_reference_safety:
            guard_friction(self.column, self._damping, self._timed_friction, h)
        self._set_gravity(h)
        self._set_reach(h)
        self._packing.actuators.set_time_step(self.column, h)
