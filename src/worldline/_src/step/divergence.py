# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Divergence: detection after a step, and the policy that follows.

After every step each coordinate, velocity, acceleration and activation must be at most the divergence limit,
1e10 in SI units unless it is set otherwise, and generalized forces must be finite. Squares of such numbers
are far from overflow, and no mechanism of everyday size reaches them: ten billion metres are a fifteenth of
the way to the sun, ten billion metres per second thirty times the speed of light.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import Enum

import numpy as np

from worldline._src.errors import ArgumentError, StepFailure, UnknownCapabilityError, nearest_name
from worldline._src.masked import has_masked_entries
from worldline._src.model.model import Model
from worldline._src.scene.enums import counterparts
from worldline._src.scene.policies import DivergenceAction
from worldline._src.spatial.poses import Array
from worldline._src.step.step_table import CONSTRAINT, MULTIBODY

DIVERGENCE_LIMIT = 1e10
"""Largest coordinate, velocity, acceleration and activation of a step unless set otherwise, SI units."""

LARGEST_SQUARED = 1e150
"""Numbers beyond this have diverged whatever the limit: solvers compare squares, which would overflow."""
LARGEST = sys.float_info.max
"""Every finite number is at most this one, infinity is not."""

FORCE, ACCELERATION, VELOCITY, POSITION, ACTIVATION = range(5)
"""Quantities that are checked, in the order in which the first is named."""
NAMES = ("force", "acceleration", "velocity", "position", "activation")


class DivergencePolicy(Enum):
    """What happens to a world whose step diverged.

    A step that diverges is always taken back: the world is at its last good state first.
    """

    RAISE = "raise"
    """`StepFailure` is raised; a batch makes all steps of its other worlds first."""
    FREEZE = "freeze"
    """The world stays at its last good state while time goes on, until its state is written or reset."""
    RESET = "reset"
    """The world goes back to its start, and the rest of the call's steps are not made for it."""
    CONTINUE = "continue"
    """The diverged step is kept and steps go on while numbers are at most 1e150, so that their squares are
    finite; after that like RAISE, and in a batch like FREEZE."""

    @classmethod
    def of(cls, value: DivergencePolicy | str) -> DivergencePolicy:
        """A member from itself, its name or its text, such as "freeze"."""
        if isinstance(value, cls):
            return value
        names = [member.value for member in cls]
        if isinstance(value, str) and value.strip().lower() in names:
            return cls(value.strip().lower())
        hint = nearest_name(str(value), names)
        raise UnknownCapabilityError(
            f"divergence_policy must be one of {', '.join(names)}, got {value!r}{hint}"
        )


class Diverging:
    """A simulation that says what happens when a step diverges, and beyond which numbers it has."""

    _policy: DivergencePolicy
    _limit: float

    def _set_limits(self) -> None:
        """Tell whatever checks steps of a change."""

    @property
    def divergence_policy(self) -> DivergencePolicy:
        """What happens to worlds that diverge; also set from its text, such as "freeze"."""
        return self._policy

    @divergence_policy.setter
    def divergence_policy(self, value: DivergencePolicy | str) -> None:
        self._policy = DivergencePolicy.of(value)
        self._set_limits()

    @property
    def divergence_limit(self) -> float:
        """Largest coordinate, velocity, acceleration and activation after a step, SI units."""
        return self._limit

    @divergence_limit.setter
    def divergence_limit(self, value: float) -> None:
        self._limit = checked_limit(value)
        self._set_limits()


ACTIONS = counterparts(DivergenceAction, DivergencePolicy)
"""Policies by the action of a scene."""


OUTCOMES = {
    DivergencePolicy.RAISE: "the world is as it was before it",
    DivergencePolicy.FREEZE: "the world is frozen as it was before it",
    DivergencePolicy.RESET: "the world was reset",
    DivergencePolicy.CONTINUE: "the world is as it was before it",
}
"""What becomes of a world whose step diverged and was taken back, for its report."""


def checked_limit(value: float) -> float:
    """A divergence limit: positive, or infinite."""
    try:
        number = float("nan") if has_masked_entries(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not number > 0.0 or isinstance(value, bool):
        raise ArgumentError(f"divergence_limit must be a positive number or infinite, got {value!r}")
    return number


def state_checks(at: Mapping[str, int], nq: int, nv: int, activation: tuple[int, int] | None) -> np.ndarray:
    """What is checked after a step: set of arenas, first number, count and quantity, a row each.

    at: where arrays of the multibody arena begin; activation: where the activations begin and their count.
    """
    checks = [
        (MULTIBODY, at["tau"], nv, FORCE),
        (MULTIBODY, at["a"], nv, ACCELERATION),
        (MULTIBODY, at["v"], nv, VELOCITY),
        (MULTIBODY, at["q"], nq, POSITION),
    ]
    if activation is not None:
        checks.append((CONSTRAINT, *activation, ACTIVATION))
    return np.array(checks, np.int64)


def limits_of(checks: np.ndarray, limit: float) -> np.ndarray:
    """The limit of every row of a table of checks; forces need only be finite."""
    return np.where(checks[:, 3] == FORCE, LARGEST, min(limit, LARGEST_SQUARED))


def failed_body(model: Model, quantity: int, index: int) -> str:
    """Label of the body, or of the actuator, that a number of a quantity belongs to."""
    if quantity == ACTIVATION:
        assert model.actuators is not None
        table = model.actuators
        return table.label[int(np.repeat(np.arange(len(table)), table.activation_size)[index])]
    starts = model.joint_q_start if quantity == POSITION else model.joint_qd_start
    joint = int(np.searchsorted(starts, index, side="right")) - 1
    return model.body_label[int(model.joint_child[joint])]


def failure_of(
    model: Model, record: np.ndarray, frame: int, outcome: str, world: int | None = None
) -> StepFailure:
    """The failure that a loop over steps recorded as quantity, index and value."""
    quantity, index, value = int(record[0]), int(record[1]), float(record[2])
    body = failed_body(model, quantity, index)
    return StepFailure(body, NAMES[quantity], frame, value, world=world, outcome=outcome)


def unsolved(model: Model, gap: Array, frame: int, outcome: str) -> StepFailure:
    """A variational step whose equations were not solved, at the degree of freedom with the largest gap."""
    largest = int(np.argmax(np.abs(gap)))
    return StepFailure(failed_body(model, VELOCITY, largest), "solution", frame, outcome=outcome)
