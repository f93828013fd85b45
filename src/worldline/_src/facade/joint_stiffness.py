# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Constraint stiffness of joints between bodies."""

from __future__ import annotations

import math
from typing import Any

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.options import Options, Setting


class JointConstraintProjectionPolicy(Options):
    """How stiff a joint between bodies is; a value that is assigned as a whole.

    Args:
        start_stiffness: where methods that raise a stiffness begin; the solvers of a step solve for the whole
            stiffness at once, and `StepReport.notes` says that it is not used.
        linear_stiffness: against translation [N/m]; infinity is rigid.
        angular_stiffness: against rotation [N m/rad]; infinity is rigid.

    Example:
        >>> from worldline import simulation as sx
        >>> sx.JointConstraintProjectionPolicy(linear_stiffness=1e4).angular_stiffness
        inf
    """

    start_stiffness: Setting[float, float] = Setting(lambda v: _stiffness(v, "start_stiffness"))
    linear_stiffness: Setting[float, float] = Setting(lambda v: _stiffness(v, "linear_stiffness"))
    angular_stiffness: Setting[float, float] = Setting(lambda v: _stiffness(v, "angular_stiffness"))

    def __init__(
        self,
        start_stiffness: float = 1.0,
        linear_stiffness: float = math.inf,
        angular_stiffness: float = math.inf,
    ) -> None:
        self._take(locals())
        self.check_stiffness()

    def check_stiffness(self) -> None:
        """The start does not exceed what it leads to."""
        least = min(self.linear_stiffness, self.angular_stiffness)
        if self.start_stiffness > least:
            raise ArgumentError(
                f"start_stiffness {self.start_stiffness:g} must not exceed the stiffness of the joint, "
                f"{least:g}"
            )


def _stiffness(value: Any, name: str) -> float:
    number = values.any_number(value, f"JointConstraintProjectionPolicy {name}")
    if not number >= 0.0:
        raise ArgumentError(f"{name} must be non-negative, or infinity, got {number}")
    return number
