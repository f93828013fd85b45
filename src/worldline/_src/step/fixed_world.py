# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The fixed layout of lanes for the step of one world, and how its rows are solved."""

from __future__ import annotations

from worldline._src.errors import CapabilityError
from worldline._src.model.model import Model
from worldline._src.step.fixed_constraints import LANE_STAGES, FixedConstraints
from worldline._src.step.lane_precision import solver_bounds
from worldline._src.step.step_plan import StepPlan

_ISLANDS = (
    *("round_pairs", "flat_pairs", "ball_pairs", "convex_pairs", "surface_pairs"),
    *("impulses", "swept", "body_rows", "warm_start"),
)
"""What only stages of islands look at."""
_SERVED = frozenset(
    (
        *(*LANE_STAGES, *_ISLANDS, "runge_kutta", "recorded", "contact_log", "user_poses"),
        *("controllers", "force_elements", "acceleration_stages", "end_stages", "observers"),
    )
)
"""What a step of one world in the fixed layout can have, by its names in a `StepPlan`."""


def fixed_or_why(model: Model) -> tuple[FixedConstraints | None, str]:
    """Constraints of one world in the fixed layout, or why lanes refuse the model."""
    try:
        return fixed_constraints(model), ""
    except CapabilityError as error:
        return None, str(error)


def fixed_constraints(model: Model) -> FixedConstraints:
    """Constraints of one world in the fixed layout, solved as those of worlds in lanes."""
    return FixedConstraints(model, *solver_bounds(model, None, None, float))


def require_served(plan: StepPlan) -> None:
    """Refuse stages that one world in the fixed layout does not have."""
    found = [
        name.replace("_", " ") for name, there in plan._asdict().items() if there and name not in _SERVED
    ]
    if found:
        raise CapabilityError(f"steps in the fixed layout of lanes do not have {', '.join(found)}")
