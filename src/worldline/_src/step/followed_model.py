# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parameter updates of a model in lanes, without a new layout.

Drawing parameters for thousands of worlds replaces arrays of one Model again and again. Laying out its
constraints takes some twenty times as long as taking over the arrays that were replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from worldline._src.model.checks import INERTIAL
from worldline._src.model.model import Model
from worldline._src.model.shape_tables import Shapes

if TYPE_CHECKING:
    from worldline._src.step.lane_simulation import LaneSimulation

_IN_ROWS = frozenset(("joint_limit_lower", "joint_limit_upper", "joint_friction"))
"""Arrays that rows of joints are packed from."""
_SHAPES = "shapes"
_FOLLOWED = _IN_ROWS | {
    *("body_mass", "body_com", "body_inertia", "body_gravcomp", "gravity", _SHAPES),
    *("joint_armature", "joint_damping", "joint_stiffness", "joint_spring_ref"),
    *("joint_target_ke", "joint_target_kd"),
}
"""What may be replaced without a new layout; of shapes the coefficients of friction alone."""
_PARTS = tuple(one.name for one in fields(Model))
_OTHER_COLUMNS = tuple(one.name for one in fields(Shapes) if one.name != "friction")


class FollowedModel:
    """The model that parameters were last taken from, in lanes."""

    def __init__(self) -> None:
        self._sim: LaneSimulation | None = None
        self._taken: dict[str, Any] = {}

    def simulation(self, model: Model, make: Callable[[Model], LaneSimulation]) -> LaneSimulation:
        """One world of a model in lanes; `make` lays it out where the last one cannot follow."""
        sim, self._sim = self._sim, None
        present = {name: getattr(model, name, None) for name in _PARTS}
        if sim is None or sim.model is not model or not self._follow(sim, present):
            sim = make(model)
        self._sim, self._taken = sim, present
        return sim

    def _follow(self, sim: LaneSimulation, present: dict[str, Any]) -> bool:
        """Take over what was replaced; False where that needs another layout."""
        changed = {name for name, part in present.items() if part is not self._taken[name]}
        if not changed <= _FOLLOWED:
            return False
        if _SHAPES in changed:
            before, after = self._taken[_SHAPES], present[_SHAPES]
            if any(getattr(before, name) is not getattr(after, name) for name in _OTHER_COLUMNS):
                return False
            sim.constraints.take_friction()
        rows = changed & _IN_ROWS
        if rows and not sim.constraints.take_joint_rows(rows):
            return False
        if not INERTIAL.isdisjoint(changed):
            sim.constraints.refresh()
        sim.take_constants()
        return True
