# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Step requirements of the constraints of a world; `step_table.py` selects stages by them."""

from __future__ import annotations

import numpy as np

from worldline._src.collision.arenas import Arenas as CollisionArenas
from worldline._src.kernels.actuation import AFFINE, MUSCLE
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact.impacts import BOTH, POSITION_PASS, UNRESOLVED
from worldline._src.kernels.narrowphase.tables import BALL, CONVEX, FLAT, ROUND, SURFACE
from worldline._src.model.model import Model
from worldline._src.model.tables import CURRENT_ACTIVATIONS
from worldline._src.scene.options import SimulateOption
from worldline._src.step.step_plan import StepPlan

_SIZES = {
    "equalities": "nequality",
    "friction": "nfriction",
    "motors": "nmotor",
    "limits": "nlimit",
    "tendons": "ntendon",
    "shapes": "nshape",
    "speed_limits": "nspeed",
}
"""What can have rows, by its name in a `StepPlan`, and how many of it there are."""
_FAMILIES = {
    ROUND: "round_pairs",
    FLAT: "flat_pairs",
    BALL: "ball_pairs",
    CONVEX: "convex_pairs",
    SURFACE: "surface_pairs",
}
"""Families of pairs of shapes by their names in a `StepPlan`."""
_OPEN = 1e300
"""Bounds beyond this are none."""
_PARTS = {
    "nequality": "closures, couplers and joints between bodies",
    "nfriction": "joint friction",
    "nmotor": "servos and mimic motors",
    "nlimit": "position limits",
    "ntendon": "tendons",
    "nshape": "contacts",
    "nspeed": "velocity limits",
    "nu": "actuators",
    "nspring": "springs between bodies",
    "nbox": "a fluid",
}
"""Sizes of what a step of the trees alone does not do, and what it is."""
_HELD_FORCES = (
    *("body_springs", "joint_motors", "fluid", "ground", "tendons", "transmissions", "adhesion", "actuators"),
    *("actuated_gravity_compensation", "force_elements", "force_kernels"),
    *("acceleration_stages", "acceleration_kernels"),
)
"""Forces, by their names in a `StepPlan`, that a step has at its start alone: mechanisms keep order one."""


class ConstraintProgram:
    """The stages that the constraints of a world need."""

    model: Model
    """The model they were made for."""
    option: SimulateOption
    """Options of the scene."""
    sizes: dict[str, int]
    """Sizes of the columns."""
    column: t.ConstraintColumns
    """Columns by name."""
    collision: CollisionArenas | None
    """The collision tables; None without shapes."""
    sleeps: bool
    """Whether islands may fall asleep."""
    step_plan: StepPlan = StepPlan()
    """What the step that was prepared last does."""
    _families: list[int]
    _moving: bool
    _sticks: bool

    @property
    def drives(self) -> bool:
        """Whether there are actuators."""
        return self.sizes["nu"] > 0

    @property
    def has_gains(self) -> bool:
        """Whether a tendon is damped, or the force of an actuator depends on its rate."""
        column, kind = self.column, self.column.act_kind
        gains = (kind[:, 0] == MUSCLE) | ((kind[:, 0] == AFFINE) & (column.act_gain[:, 2] != 0.0))
        biases = (kind[:, 1] == AFFINE) & (column.act_bias[:, 2] != 0.0)
        currents = np.isin(kind[:, 2], CURRENT_ACTIVATIONS)
        return bool(gains.any() or biases.any() or currents.any() or self.column.tendon_spring[:, 1].any())

    @property
    def lopsided(self) -> bool:
        """Whether motors have effort limits that are not alike in both directions; see `bounded_rows.py`."""
        dofs = self.column.motor_dof[:, 0]
        return dofs.size > 0 and bool(
            (self.model.joint_effort_lower[dofs] != -self.model.joint_effort_limit[dofs]).any()
        )

    @property
    def compensates_gravity(self) -> bool:
        """Whether gravity compensation of some joint is an actuator force."""
        return bool(self.column.dof_gravcomp.any())

    @property
    def parts_needed(self) -> tuple[str, ...]:
        """What a step of the trees alone does not do, in words."""
        found = [what for size, what in _PARTS.items() if self.sizes[size]]
        return (*found, "gravity compensation by actuators") if self.compensates_gravity else tuple(found)

    @property
    def has_loops_only(self) -> bool:
        """Whether hard equalities that nothing drives, limits or breaks are all there is."""
        column, sizes = self.column, self.sizes
        if self.parts_needed != (_PARTS["nequality"],) or sizes["nloop_equality"] < sizes["nequality"]:
            return False
        bounds = column.equality_number[:, 9:11], column.equality_speed, column.equality_number[:, 11:13]
        others = (column.equality_motor, column.equality_passive[:, ::2], column.equality_armature)
        return not (
            any((np.abs(x) < _OPEN).any() for x in bounds)
            or any(x.any() for x in others)
            or column.equality_friction[:, 0].any()
        )

    @property
    def is_needed(self) -> bool:
        """Whether a step needs more than the trees alone."""
        return any(map(self.sizes.__getitem__, _PARTS)) or self.compensates_gravity

    @property
    def stops_hard(self) -> bool:
        """Whether a position limit of a joint is hard."""
        return bool((self.column.limit_law[:, t.KIND] == t.HARD).any())

    @property
    def _splits(self) -> bool:
        """Whether a step may have to be solved for positions and for velocities."""
        column = self.column
        bounds = column.equality_number[:, 9:11]
        hard = self.stops_hard
        if self.collision is not None:
            laws = np.concatenate([column.shape_law, column.pair_law])
            hard |= bool((laws[:, t.KIND] != t.IMPEDANCE).any())
        return hard or bool((np.abs(bounds) < _OPEN).any())

    def may_split(self, h: float) -> bool:
        """Whether both passes of a step of `h` can differ by more than what limits of joints require.

        Lanes have both passes for those. Contact springs that a step resolves have the same target in both:
        with w the highest frequency of a spring, w^2 h^2 <= UNRESOLVED.
        """
        column, bounds = self.column, self.column.equality_number[:, 9:11]
        if (np.abs(bounds) < _OPEN).any():
            return True
        laws = np.concatenate([column.shape_law, column.pair_law])
        kind, stiffness = laws[:, t.KIND], laws[:, t.STIFFNESS]
        # a row sees at most the inverse inertias of two bodies
        lightest = 2.0 * float(column.body_invweight.max(initial=0.0))
        square = np.where(kind == t.FORCE_SPRING, stiffness * lightest, stiffness)
        springs = np.isin(kind, (t.FORCE_SPRING, t.ACCELERATION_SPRING))
        return bool((kind == t.HARD).any() or (square[springs] * h * h > UNRESOLVED).any())

    @property
    def may_bounce(self) -> bool:
        """Whether a contact can have restitution, which only hard ones do; the harder law of two counts."""
        laws = np.concatenate([self.column.shape_law, self.column.pair_law])
        return bool((laws[:, t.KIND] == t.HARD).any() and (laws[:, t.BOUNCINESS] > 0.0).any())

    @property
    def constrains(self) -> bool:
        """Whether there can be any row."""
        return any(self.sizes[name] for name in _SIZES.values())

    @property
    def row_kinds(self) -> dict[str, bool]:
        """Whether there are equalities, limits and so on, by their names in a `StepPlan`."""
        return {name: bool(self.sizes[size]) for name, size in _SIZES.items()}

    def plan(self, multibody: StepPlan, *, damped: bool, speeds: bool) -> StepPlan:
        """What a step has to do beside what the multibodies need.

        Damping of joints and drives is taken at the end of the step when `damped`, all that `answers` to
        speeds when `speeds`.
        """
        column, sizes, touches = self.column, self.sizes, self.collision is not None
        laws = np.concatenate([column.shape_law, column.pair_law])
        # never called where no island can be large enough
        many = 6 * np.count_nonzero(column.tree_link) > column.option[t.FREE_COLUMNS]
        rows = bool(column.option[t.BODY_ROWS])
        families = {name: touches and family in self._families for family, name in _FAMILIES.items()}
        plan = multibody._replace(
            **self.row_kinds,
            **families,
            rows=self.constrains,
            row_impulses=self.constrains and multibody.variational and not self.has_loops_only,
            anchors=sizes["nanchor"] > 0,
            body_springs=sizes["nspring"] > 0,
            joint_motors=bool(column.equality_motor.any() or column.equality_passive[:, ::2].any()),
            lopsided_motors=self.lopsided,
            fluid=sizes["nbox"] > 0,
            transmissions=self._moving,
            adhesion=self._sticks,
            actuators=self.drives,
            actuated_gravity_compensation=self.compensates_gravity,
            activations=sizes["na"] > 0,
            closed_loops=sizes["nloop"] > 0,
            hard_limits=self.stops_hard,
            warm_start=not self.option.disable_warm_start,
            implicit=damped or speeds,
            implicit_velocity=speeds,
            split=self._splits and not multibody.runge_kutta and not multibody.fixed,
            sleep=self.sleeps,
            impulses=(bool(many) and not rows) or bool(column.option[t.STANDS_IN]),
            body_rows=(bool(many) and rows) or bool(np.isfinite(column.option[t.TREE_COLUMNS])),
            boxed=bool(column.option[t.BOXED]),
            swept=bool(column.option[t.SWEPT] or column.option[t.SWEEPS_STAND_IN]),
            restitution=bool((laws[:, t.BOUNCINESS] > 0.0).any()),
            hard_contacts=bool((laws[:, t.KIND] == t.HARD).any()),
            no_slip=sizes["nslip"] > 0,
        )
        mean = plan.closed_loops and not (plan.implicit or plan.runge_kutta or plan.fixed or plan.variational)
        held = any(getattr(plan, name) for name in _HELD_FORCES)
        return plan._replace(mean_acceleration=mean and not held)

    def prepare(self, plan: StepPlan, *, damping_time: float = 0.0) -> None:
        """Get ready for steps of a plan.

        `damping_time` is the time step where damping is taken at the end of a step, else 0: times the damping
        of joints between bodies it adds to the inertia of their coordinates, I + h d.
        """
        column = self.column
        added = damping_time * column.equality_passive[:, 2]
        column.equality_armature[:, 1] = column.equality_armature[:, 0] + added
        self.step_plan = plan
        column.loop_mean[:] = 0
        self.column.option[t.SOLVE_PASS] = POSITION_PASS if plan.split else BOTH
        self.column.option[t.MEAN_MOTION] = float(plan.variational)
        if plan.implicit and not plan.fixed:
            self._lay_out_masses()

    def _lay_out_masses(self) -> None:
        raise NotImplementedError
