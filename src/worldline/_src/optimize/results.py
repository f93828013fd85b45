# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Progress reports and results of optimisers, with plots."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError, NotFoundError, ShapeError
from worldline._src.facade import values
from worldline._src.named_tuple import NamedTuple
from worldline._src.optimize.dynamics import SteppedWorld
from worldline._src.progress import say
from worldline._src.spatial.poses import Array


class Iteration(NamedTuple):
    """One iteration of an optimiser."""

    number: int
    cost: float
    """After the iteration."""
    gap: float
    """Largest number of a state that does not continue the one before it; zero in single shooting."""
    step: float
    """Share of the computed step that was taken; zero when none helped."""
    regularization: float


Progress = bool | Callable[[Iteration], object]


def check_run(iterations: int, tolerance: float, progress: Progress) -> None:
    """Check when an optimiser stops, and where it reports."""
    if values.count(iterations, "iterations") < 0:
        raise ArgumentError(f"iterations must not be negative, got {iterations}")
    values.non_negative(tolerance, "tolerance")
    if not callable(progress):
        values.flag(progress, "progress")


def report_iteration(progress: Progress, made: Iteration) -> None:
    """Report an iteration: to a function, or in a line."""
    if callable(progress):
        progress(made)
    elif progress:
        gap = f", gaps {made.gap:.1e}" if made.gap else ""
        say(f"iteration {made.number}: cost {made.cost:.6g}{gap}, step {made.step:.3g}")


def axes_of(count: int, axes: Any) -> tuple[Any, list[Any]]:
    """Axes to plot in, below each other, made when none are given."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise CapabilityError("plots need matplotlib: pip install 'worldline[plot]'") from error
    if axes is not None:
        given = [axes] if hasattr(axes, "plot") else values.several(axes, "axes")
        if len(given) != count or not all(hasattr(axis, "plot") for axis in given):
            raise ShapeError(f"axes must be {count} of matplotlib, got {axes!r}")
        return given[0].figure, given
    figure, grid = pyplot.subplots(
        count, 1, sharex=False, squeeze=False, figsize=(8.0, 1.0 + 2.2 * count), layout="constrained"
    )
    return figure, list(grid[:, 0])


@dataclass(frozen=True)
class TrajectoryResult:
    """A trajectory that an optimiser found.

    Attributes:
        states: before every action and after the last, (steps + 1, state dimension).
        actions: (steps, m).
        gains: feedback of tangents from the planned states on actions, (steps, m, n); see `policy`.
        cost: of the trajectory.
        converged: whether nothing was left to gain.
        message: why it ended.
        history: a report an iteration.
        times: of the states [s].
        state_names, action_names: of tangents and of actions.
    """

    states: Array
    actions: Array
    gains: Array
    cost: float
    converged: bool
    message: str
    history: tuple[Iteration, ...]
    times: Array
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    _system: SteppedWorld
    _bounds: tuple[Array, Array]

    def __repr__(self) -> str:
        return (
            f"TrajectoryResult({len(self.actions)} actions, cost {self.cost:.6g} after {len(self.history)} "
            f"iterations, {self.message})"
        )

    def policy(self, t: int, state: Array) -> Array:
        """The action at step `t` in a state that may not be the planned one, (m,), within the bounds.

        The planned action, plus the gains times the difference of the state to the planned one.
        """
        if not 0 <= values.count(t, "t") < len(self.actions):
            raise ArgumentError(f"t must be 0 to {len(self.actions) - 1}, got {t}")
        x = self._system.checked_state(state, "state")
        u = self.actions[t] + self.gains[t] @ self._system.difference(self.states[t], x)
        return np.clip(u, *self._bounds)

    def tangents(self, names: Iterable[str]) -> Array:
        """Numbers of states, rotations as rotation vectors, (steps + 1, names)."""
        rows = []
        for name in values.several(names, "names"):
            if values.key(name, "name of a number") not in self.state_names:
                raise NotFoundError(f"there is no '{name}'; there are {', '.join(self.state_names)}")
            rows.append(self.state_names.index(name))
        return np.array([self._system.difference(self._system.neutral, x)[rows] for x in self.states])

    def plot(self, names: Iterable[str] | None = None, *, axes: Any = None) -> Any:
        """Draw states, actions and the cost by iteration; returns the figure.

        Args:
            names: tangents to draw, as in `state_names`; up to eight when None.
            axes: three matplotlib axes to draw in, made when None.
        """
        figure, (first, second, third) = axes_of(3, axes)
        chosen = values.several(self.state_names[:8] if names is None else names, "names")
        for name, numbers in zip(chosen, self.tangents(chosen).T, strict=True):
            first.plot(self.times, numbers, label=name)
        for name, numbers in zip(self.action_names, self.actions.T, strict=True):
            second.step(self.times[:-1], numbers, where="post", label=name)
        third.semilogy(
            [one.number for one in self.history], [max(one.cost, 1e-300) for one in self.history], ".-"
        )
        for axis, what in ((first, "state"), (second, "action")):
            axis.set_ylabel(what)
            axis.set_xlabel("time, s")
            axis.legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        third.set_ylabel("cost")
        third.set_xlabel("iteration")
        for axis in (first, second, third):
            axis.grid(True, alpha=0.3)
        return figure
