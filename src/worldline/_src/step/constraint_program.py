# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which stages a step with constraints runs, in which order and on which arenas."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.collision.arenas import Arenas as HitArenas
from worldline._src.jit import Stage
from worldline._src.kernels.actuation import AFFINE, BIAS, GAIN, MUSCLE
from worldline._src.kernels.broadphase.pairs import broad
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.impacts import BOTH, WAY
from worldline._src.scene.options import SimulateOption
from worldline._src.step import constraint_stages as s
from worldline._src.step import holding_stages as g
from worldline._src.step import impact_stages as p
from worldline._src.step import island_stages as i
from worldline._src.step import room_stages as r
from worldline._src.step import stages, step_stages
from worldline._src.step import velocity_stages as v

TREE, ROWS, HITS, LOG = 0, 1, 2, 3
"""Sets of arenas that the stages of a step run on."""

ROW_STAGES = (
    ("nequality", g.equality_rows),
    ("nfriction", s.friction_rows),
    ("nmotor", g.motor_rows),
    ("nlimit", s.limit_rows),
    ("ntendon", g.tendon_rows),
    ("nshape", s.contact_rows),
    ("nspeed", g.speed_rows),
)
"""What makes rows, in order: speed limits look at all that came before."""
_OPEN = 1e300
"""Bounds beyond this are none."""
_ROWED = tuple(size for size, _ in ROW_STAGES)
"""Sizes of what can have rows."""
RESUME = {r.check_contacts: broad, r.check_islands: r.check_islands}
"""Stages that look whether there is room, and where a step goes on once there is."""
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
    "nbox": "a medium",
}
"""Sizes of what a step of the trees alone does not do, and what it is."""


class ConstraintProgram:
    """The stages that the constraints of a world need."""

    option: SimulateOption
    """Options of the scene."""
    sizes: dict[str, int]
    """Sizes of the columns."""
    column: dict[str, Any]
    """Columns by name."""
    hits: HitArenas | None
    """The collision tables; None without shapes."""
    sleeps: bool
    """Whether islands may fall asleep."""
    parts: bool = False
    """Whether a step may be solved for its way and for its speed; see `impact_stages.py`."""
    _hit_stages: tuple[Stage, ...]
    _moving: bool
    _sticks: bool
    _implicit: bool

    @property
    def drives(self) -> bool:
        """Whether there are actuators."""
        return self.sizes["nu"] > 0

    @property
    def answers(self) -> bool:
        """Whether a tendon is damped, or the force of an actuator depends on its rate."""
        kind, number = self.column["act_kind"], self.column["act_number"]
        gains = (kind[:, 0] == MUSCLE) | ((kind[:, 0] == AFFINE) & (number[:, GAIN + 2] != 0.0))
        biases = (kind[:, 1] == AFFINE) & (number[:, BIAS + 2] != 0.0)
        return bool(gains.any() or biases.any() or self.column["tendon_spring"][:, 1].any())

    @property
    def relieves(self) -> bool:
        """Whether gravity compensation of some joint is an actuator force."""
        return bool(self.column["dof_relieved"].any())

    @property
    def parts_needed(self) -> tuple[str, ...]:
        """What a step of the trees alone does not do, in words."""
        found = [what for size, what in _PARTS.items() if self.sizes[size]]
        return (*found, "gravity compensation by actuators") if self.relieves else tuple(found)

    @property
    def is_needed(self) -> bool:
        """Whether a step needs more than the trees alone."""
        return bool(self.parts_needed)

    @property
    def stops_hard(self) -> bool:
        """Whether a position limit of a joint is hard."""
        return bool((self.column["limit_law"][:, t.KIND] == t.HARD).any())

    @property
    def _splits(self) -> bool:
        """Whether a step may have to be solved for positions and for velocities."""
        column = self.column
        bounds = column["equality_number"][:, 9:11]
        hard = self.stops_hard
        if self.hits is not None:
            laws = np.concatenate([column["shape_law"], column["pair_law"]])
            hard |= bool((laws[:, t.KIND] != t.IMPEDANCE).any())
        return hard or bool((np.abs(bounds) < _OPEN).any())

    @property
    def constrains(self) -> bool:
        """Whether there can be any row."""
        return any(self.sizes[name] for name in _ROWED)

    def row_stages(self) -> list[tuple[Stage, int]]:
        """The stages between smooth accelerations and integration, with the arenas they run on."""
        chosen = [] if self._sticks else self._find_contacts()
        chosen += [(i.find_islands, ROWS), (r.check_islands, ROWS)]
        if self.sleeps:
            chosen.append((i.wake_disturbed, ROWS))
        if self.parts:
            chosen += [(p.keep_smooth, ROWS), (i.solve_islands, ROWS), (p.solve_speeds, ROWS)]
        else:
            chosen.append((i.solve_islands, ROWS))
        return [*chosen, (g.equality_forces, ROWS)] if self.sizes["nequality"] else chosen

    def mass_stages(self) -> list[tuple[Stage, int]]:
        """The stages that make the mass matrices of trees before damping."""
        self._lay_out_masses()
        return [(stages.composites, TREE), (i.mass_of_trees, ROWS)]

    def _lay_out_masses(self) -> None:
        raise NotImplementedError

    def _find_contacts(self) -> list[tuple[Stage, int]]:
        """The stages from poses to contacts."""
        chosen: list[tuple[Stage, int]] = [(i.begin_rows, ROWS)]
        if self.hits is not None:
            chosen.append((s.place_bodies, ROWS))
            chosen += [(stage, HITS) for stage in self._hit_stages]
            chosen.append((r.check_contacts, ROWS))
        return chosen

    def island_stages(self) -> list[Stage]:
        """What `solve_islands` calls: the mass matrix, the solvers, then what makes rows."""
        mass = i.gather_mass if self._implicit else i.mass_of_island
        # never called where no island can be large enough, so what stands there does not matter
        many = 6 * np.count_nonzero(self.column["tree_link"]) > self.column["option"][t.FREE_COLUMNS]
        many = many or self.column["option"][t.STANDS_IN] != 0.0
        boxed = i.solve_boxed if self.column["option"][t.BOXED] else mass
        chosen = [mass, s.solve_rows, i.solve_free_bodies if many else mass, boxed]
        return chosen + [stage for size, stage in ROW_STAGES if self.sizes[size]]

    def _forces(self, stage: Stage) -> list[tuple[Stage, int]]:
        """What follows a stage of smooth dynamics: forces on links, then forces on joints."""
        sizes, chosen, before = self.sizes, [], []
        if stage in (step_stages.center_forces, stages.no_wrenches):
            chosen += [g.place_frames] if sizes["nplace"] else []
            chosen += [g.spring_forces] if sizes["nspring"] else []
            chosen += [g.medium_forces] if sizes["nbox"] else []
        elif stage in (step_stages.drive_forces, step_stages.no_drive_forces):
            chosen += [g.tendon_lengths, g.tendon_forces] if sizes["ntendon"] else []
            chosen += [g.transmissions] if self._moving else []
            chosen += [g.adhesion_moments] if self._sticks else []
            before = self._find_contacts() if self._sticks else []
            chosen += [g.relief_of_joints] if self.relieves else []
            chosen += [s.actuator_forces] if self.drives or self.relieves else []
        return [*before, *((stage, ROWS) for stage in chosen)]

    def step_stages(
        self, dynamics: tuple[Stage, ...], parts: tuple[Stage, ...], damped: bool, speeds: bool = False
    ) -> list[tuple[Stage, int]]:
        """A whole step around the stages of smooth dynamics and the parts of an integrator.

        Actuators act after the drives set tau; rows are solved between accelerations and integration. Damping
        of joints and drives is taken at the end of the step when `damped`, all that `answers` to speeds when
        `speeds`.
        """
        implicit = damped or speeds
        chosen: list[tuple[Stage, int]] = []
        self._implicit = implicit
        self.parts = self._splits and len(parts) == 1
        self.column["option"][t.PHASE] = WAY if self.parts else BOTH
        for part in parts:
            guess = [(i.guess_from_last, ROWS)] if self.constrains else []
            if not self.option.disable_warm_start:
                chosen += guess
            for stage in dynamics:
                chosen.append((stage, TREE))
                chosen += self._forces(stage)
            if self.option.disable_warm_start:
                # by now a is the acceleration without constraints
                chosen += guess
            if implicit:
                chosen += self.mass_stages()
            if self.constrains:
                chosen += self.row_stages()
            if implicit:
                chosen.append((v.damp_velocities if speeds else s.damp_implicitly, ROWS))
            chosen.append((part, TREE))
        if self.parts and self.constrains:
            chosen.append((p.move_apart, ROWS))
        elif self.stops_hard:
            chosen.append((s.recover_limits, ROWS))
        if self.sleeps and self.constrains:
            chosen.append((i.fall_asleep, ROWS))
        if self.sizes["na"]:
            chosen.append((s.advance_activations, ROWS))
        return chosen
