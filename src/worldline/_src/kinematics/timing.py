# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Time-optimal timing of a path under limits of velocity, acceleration and torque."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError, FixedAttributes, OperationError
from worldline._src.kinematics.paths import JointPath
from worldline._src.math.arrays import operand
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, float_array, read_only
from worldline._src.step.dynamics import inverse_dynamics
from worldline._src.step.evaluate import is_count

_ROUNDS = 12
"""Times that a profile is made with tighter limits until those of the user hold between grid points."""
_SETTLING = 6
"""Rounds in which the rates that dampers are counted at settle, before limits are tightened."""
_ALLOWED = 1e-7
"""Relative violation of a limit between grid points that is accepted."""
_TINY = 1e-12


class _Rows(NamedTuple):
    """Limits at both ends of every interval of the grid: a u + b x <= c, where x is the squared rate of the
    parameter and u half its derivative by the parameter; the row of an end counts x there."""

    a: Array
    """(intervals, rows)."""
    b: Array
    c: Array
    most: Array
    """Largest x at the grid points, from limits of velocity, (intervals + 1,)."""


class Trajectory(FixedAttributes):
    """A path with its timing.

    Attributes:
        path: the path.
        duration: time from start to end [s].
        times: grid of times [s], (n,).
        parameters: s of the path at those times, (n,).

    Both arrays are read-only.
    """

    def __init__(self, path: JointPath, s: Array, x: Array) -> None:
        self.path, self.parameters = path, read_only(s.copy())
        rate = np.sqrt(np.maximum(x, 0.0))
        # u is constant on an interval, so the rate changes evenly in time
        steps = 2.0 * np.diff(s) / np.maximum(rate[1:] + rate[:-1], 1e-300)
        self.times = read_only(np.concatenate([[0.0], np.cumsum(steps)]))
        self.duration = float(self.times[-1])
        self._rate, self._pull = rate, 0.5 * np.diff(x) / np.diff(s)

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Coordinates ([n,] joint_coord_count), velocities and accelerations ([n,] joint_dof_count) at times.

        Args:
            t: a time [s] or (n,) of them; before the start and after the end the end values.
        """
        at = operand(t, (), "time of a trajectory")
        if not np.isfinite(at).all():
            raise ArgumentError(f"time of a trajectory must be finite, got {t!r}")
        inside = (at >= 0.0) & (at <= self.duration)
        now = np.clip(at, 0.0, self.duration)
        k = np.clip(np.searchsorted(self.times, now, side="right") - 1, 0, len(self.times) - 2)
        return self._at(k, now - self.times[k], inside)

    def _at(self, k: np.ndarray, ahead: Array, inside: np.ndarray) -> tuple[Array, Array, Array]:
        """Motion some time after the beginning of intervals."""
        u = self._pull[k]
        rate = np.maximum(self._rate[k] + u * ahead, 0.0)
        s = self.parameters[k] + ahead * (self._rate[k] + 0.5 * u * ahead)
        # derivatives of the piece that the interval is in, also at its end
        s = np.clip(s, self.parameters[k], np.nextafter(self.parameters[k + 1], -np.inf))
        first, second = self.path.derivative(s), self.path.derivative(s, 2)
        moving = np.asarray(inside, float)[..., None]
        rate, u = rate[..., None], np.asarray(u)[..., None]
        return self.path.coordinates(s), moving * first * rate, moving * (first * u + second * rate**2)

    def _between(self, count: int) -> tuple[Array, Array, Array]:
        """Motion at `count` times of every interval, ends included, in rows."""
        k = np.repeat(np.arange(len(self._pull)), count)
        share = np.tile(np.linspace(0.0, 1.0, count), len(self._pull))
        return self._at(k, share * np.diff(self.times)[k], np.ones(len(k), bool))

    def __repr__(self) -> str:
        return f"Trajectory({self.duration:.6g} s along {self.path!r})"


def time_optimal(
    path: JointPath,
    *,
    max_velocity: ArrayLike | None = None,
    max_acceleration: ArrayLike | None = None,
    max_torque: ArrayLike | bool | None = None,
    grid: int = 500,
) -> Trajectory:
    """The fastest motion along a path from rest to rest under limits of the joints.

    Reachability analysis [Pham and Pham 2018]: backwards, the rates of the path from which its end can be
    reached; forwards, the largest of them. Limits hold at both ends of every interval of a grid; where the
    path bends between them, the profile is made again with limits that are tighter by as much as was found.

    Args:
        path: from `interpolate_joints` or `interpolate_frame`.
        max_velocity: a number or one a degree of freedom of the model [m/s or rad/s]; the limits of the model
            hold as well.
        max_acceleration: a number or one a degree of freedom [m/s^2 or rad/s^2].
        max_torque: a number or one a degree of freedom [N or N m], of inverse dynamics, with gravity, springs
            and dampers; True for the effort limits of the model.
        grid: number of intervals of the path, at least; knots of the path are added.

    Raises:
        OperationError: where no motion meets the limits, as when torques do not hold the arm at rest.

    Example:
        >>> import worldline.model as wm
        >>> from worldline import kinematics as wk
        >>> builder = wm.ModelBuilder()
        >>> joint = builder.add_joint_prismatic(-1, builder.add_link(), axis="x")
        >>> _ = builder.add_articulation([joint])
        >>> path = wk.interpolate_joints(builder.finalize(), [[0.0], [2.0]])
        >>> motion = wk.time_optimal(path, max_velocity=1.0, max_acceleration=2.0)
        >>> round(motion.duration, 4)
        2.5
    """
    if not isinstance(path, JointPath):
        raise ArgumentError(f"time_optimal takes a JointPath, got {path!r}")
    if not is_count(grid) or grid < 2:
        raise ArgumentError(f"grid of a timing must be a whole number from 2 on, got {grid!r}")
    limits = _Limits(path, max_velocity, max_acceleration, max_torque)
    s = _grid(path, int(grid))
    tighter, x, best = np.ones(3), None, None
    for k in range(_ROUNDS):
        x = _profile(limits.rows(path, s, tighter, x), s, path.stops)
        made = Trajectory(path, s, x)
        over = limits.violations(made)
        if (over <= 1.0 + _ALLOWED).all():
            if best is not None and made.duration > best.duration * (1.0 - 1e-6):
                return best
            best = made
            if not limits.has_dampers:
                return made
            continue
        if best is not None:
            return best
        if limits.has_dampers and k < _SETTLING:
            continue
        tighter *= np.where(over > 1.0 + _ALLOWED, 1.0 - 1.2 * (over - 1.0), 1.0)
        tighter = np.maximum(tighter, 0.5)
    raise OperationError(
        f"the path bends too much between grid points: limits are violated by {100 * (over.max() - 1):.2g} "
        f"percent; raise grid, which is {grid}"
    )


def _grid(path: JointPath, count: int) -> Array:
    """Parameters with all knots, at most length / count apart; finer next to both ends and to stops."""
    parts = []
    for low, high in zip(path.knots[:-1], path.knots[1:], strict=True):
        pieces = max(2, int(np.ceil((high - low) / path.length * count)))
        parts.append(np.linspace(low, high, pieces + 1)[:-1])
    return np.append(np.concatenate(parts), path.length)


class _Limits:
    """Limits of the degrees of freedom that a path moves."""

    def __init__(
        self,
        path: JointPath,
        max_velocity: ArrayLike | None,
        max_acceleration: ArrayLike | None,
        max_torque: ArrayLike | bool | None,
    ) -> None:
        model = path._subject.model
        self.model, self.dofs = model, path.dofs
        nv = model.joint_dof_count
        top = _bound(max_velocity, nv, "max_velocity")
        self.fast = np.minimum(top, model.joint_velocity_limit)[self.dofs]
        self.slow = np.maximum(-top, model.joint_velocity_lower)[self.dofs]
        self.acceleration = _bound(max_acceleration, nv, "max_acceleration")[self.dofs]
        if max_torque is True:
            self.effort = np.array(model.joint_effort_limit)[self.dofs]
            self.effort_low = np.array(model.joint_effort_lower)[self.dofs]
        else:
            top = _bound(None if max_torque is False else max_torque, nv, "max_torque")
            self.effort, self.effort_low = top[self.dofs], -top[self.dofs]
        self.has_torque = bool(np.isfinite(self.effort).any() or np.isfinite(self.effort_low).any())
        self.has_dampers = self.has_torque and bool(np.any(model.joint_damping[self.dofs] > 0.0))
        bounded = np.isfinite(self.acceleration) | np.isfinite(self.effort)
        if not bounded.any():
            raise ArgumentError(
                "a timing needs a limit of acceleration or torque; without one motion has no duration"
            )

    def rows(self, path: JointPath, s: Array, tighter: Array, before: Array | None) -> _Rows:
        """Rows of all limits, each limit tighter by a share: velocity, acceleration, torque.

        `before` are the squared rates of the round before, for dampers.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.full(len(s), np.inf)
            for side in (s, np.nextafter(s, -np.inf).clip(0.0)):
                d = path.derivative(side)[:, self.dofs]
                speed = np.where(d > 0.0, self.fast, -self.slow) * tighter[0] / np.abs(d)
                most = np.minimum(most, np.where(d == 0.0, np.inf, speed).min(axis=1) ** 2)
        ends = []
        for first, side, known in (
            (True, s[:-1], None if before is None else before[:-1]),
            (False, np.nextafter(s[1:], -np.inf), None if before is None else before[1:]),
        ):
            for a, b, c in self._end(path, side, tighter, known):
                # at the far end x is x + 2 u ds
                if not first:
                    a = a + 2.0 * np.diff(s)[:, None] * b
                ends.append((a, b, c))
        a, b, c = (np.concatenate(block, axis=1) for block in zip(*ends, strict=True))
        return _Rows(a, b, c, most)

    def _end(
        self, path: JointPath, s: Array, tighter: Array, before: Array | None
    ) -> list[tuple[Array, Array, Array]]:
        d1, d2 = path.derivative(s), path.derivative(s, 2)
        made = []
        limited = np.isfinite(self.acceleration)
        if limited.any():
            some = self.dofs[limited]
            top = np.broadcast_to(self.acceleration[limited] * tighter[1], (len(s), len(some)))
            made += [(d1[:, some], d2[:, some], top), (-d1[:, some], -d2[:, some], top)]
        if self.has_torque:
            # tau = a u + b x + c + e sqrt(x), where dampers give e
            q = path.coordinates(s)
            zero = np.zeros_like(d1)
            c = self._torque(q, zero, zero)
            forth, back = self._torque(q, d1, zero), self._torque(q, -d1, zero)
            a = self._torque(q, zero, d1) - c
            b = 0.5 * (forth + back) - c + self._torque(q, zero, d2) - c
            e = 0.5 * (forth - back)
            for sign, bound in ((1.0, self.effort), (-1.0, -self.effort_low)):
                some = np.isfinite(bound)
                top = bound[some] * tighter[2] - sign * c[:, some]
                slope, constant = _damper_rows(sign * e[:, some], top, before)
                made.append((sign * a[:, some], sign * b[:, some] + slope, top - constant))
        return made

    def _torque(self, q: Array, v: Array, a: Array) -> Array:
        return inverse_dynamics(self.model, q, v, a, lanes=1)[:, self.dofs]

    def violations(self, made: Trajectory) -> Array:
        """Largest ratios to the limits of velocity, acceleration and torque on a grid that is four times as
        fine."""
        q, v, a = made._between(5)
        v, rate = v[:, self.dofs], a[:, self.dofs]
        with np.errstate(divide="ignore", invalid="ignore"):
            speed = np.where(v > 0.0, v / self.fast, v / self.slow)
            pull = np.abs(rate) / self.acceleration
        found = [np.nanmax(speed, initial=0.0), np.nanmax(pull, initial=0.0), 0.0]
        if self.has_torque:
            full = np.zeros_like(a)
            full[:, self.dofs] = v
            tau = self._torque(q, full, a)
            with np.errstate(divide="ignore", invalid="ignore"):
                found[2] = np.nanmax(
                    np.where(tau > 0.0, tau / self.effort, tau / self.effort_low), initial=0.0
                )
        return np.array(found)


def _damper_rows(e: Array, top: Array, before: Array | None) -> tuple[Array, Array]:
    """Slope and constant of lines in x for e sqrt(x) in rows that `top` bounds.

    The root is concave: its tangent at the squared rate of the round before is no less, so that dampers that
    hinder are never taken for less than they are. Those that help count at the rate of the round before, and
    not at all in the first round, whose tangents are at half the rate at which the damper takes everything.
    """
    hinders = e > 1e-12
    if before is None:
        x = np.where(hinders, 0.25 * (np.maximum(top, 0.0) / np.where(hinders, e, 1.0)) ** 2, 0.0)
        x = np.maximum(x, 1e-12)
        help_ = np.zeros_like(e)
    else:
        x = np.maximum(before, 1e-4 * float(before.max(initial=0.0)) + 1e-12)[:, None]
        help_ = e * np.sqrt(np.maximum(before, 0.0))[:, None]
    root = np.sqrt(x)
    return np.where(hinders, 0.5 * e / root, 0.0), np.where(hinders, 0.5 * e * root, help_)


def _profile(rows: _Rows, s: Array, stops: Array) -> Array:
    """Squared rates of the parameter at the grid points of the fastest motion."""
    n = len(s)
    ds = np.diff(s)
    fixed = np.isin(s, stops)
    fixed[[0, -1]] = True
    most = np.where(fixed, 0.0, rows.most)
    # backwards: the interval of x from which the end can be reached
    low, high = np.zeros(n), np.zeros(n)
    for i in range(n - 2, -1, -1):
        a = np.concatenate([rows.a[i], [2.0 * ds[i], -2.0 * ds[i]]])
        b = np.concatenate([rows.b[i], [1.0, -1.0]])
        c = np.concatenate([rows.c[i], [high[i + 1], -low[i + 1]]])
        low[i], high[i] = _interval(a, b, c, most[i])
        if high[i] < low[i] - _TINY * max(1.0, abs(low[i])):
            raise OperationError(
                f"no motion along the path meets the limits at s = {s[i]:.6g} of {s[-1]:.6g}; torques may "
                "not hold the joints there"
            )
        high[i] = max(high[i], low[i])
    # forwards: the largest rate of each
    x = np.zeros(n)
    for i in range(n - 1):
        a, rest = rows.a[i], rows.c[i] - rows.b[i] * x[i]
        up = a > _TINY
        u = float(np.min(rest[up] / a[up], initial=np.inf))
        u = min(u, (high[i + 1] - x[i]) / (2.0 * ds[i]))
        x[i + 1] = min(max(x[i] + 2.0 * ds[i] * u, low[i + 1], 0.0), high[i + 1])
    if not (x[1:-1] > 0.0).any() and n > 2:
        raise OperationError("no motion along the path meets the limits: it cannot start")
    return x


def _interval(a: Array, b: Array, c: Array, most: float) -> tuple[float, float]:
    """Least and largest x between 0 and `most` for which some u has a u + b x <= c, by elimination of u.

    Rows with a > 0 bound u from above and with a < 0 from below: each pair bounds x [Fourier 1826].
    """
    flat = np.abs(a) <= _TINY
    up, down = a > _TINY, a < -_TINY
    scale_up, scale_down = a[up], -a[down]
    B = np.concatenate([b[flat], np.add.outer(b[up] / scale_up, b[down] / scale_down).ravel()])
    C = np.concatenate([c[flat], np.add.outer(c[up] / scale_up, c[down] / scale_down).ravel()])
    above, below = B > _TINY, B < -_TINY
    high = min(most, float(np.min(C[above] / B[above], initial=np.inf)))
    low = max(0.0, float(np.max(C[below] / B[below], initial=0.0)))
    level = ~(above | below)
    if (C[level] < -1e-9 * np.maximum(1.0, np.abs(C).max(initial=1.0))).any():
        return 1.0, 0.0
    return low, high


def _bound(value: ArrayLike | bool | None, count: int, what: str) -> Array:
    """A bound a degree of freedom; infinite when None."""
    if value is None:
        return np.full(count, np.inf)
    made = float_array(value, f"{what} of a timing")
    if made.shape not in ((), (count,)) or np.isnan(made).any() or (made <= 0.0).any():
        raise ArgumentError(f"{what} of a timing must be a positive number or {count} of them, got {value!r}")
    return np.broadcast_to(made, (count,)).copy()
