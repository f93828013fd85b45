# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Randomization as data: which numbers of a world are drawn, from which distribution, with which seed.

Every world draws by itself: a number follows from the seed, the index of the world, the count of draws and
the name of what is drawn, and from nothing else. So world 7 is the same in a batch of 8 and of 4096.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import msgspec
import numpy as np

from worldline._src.errors import ArgumentError, ShapeError, require_kind
from worldline._src.facade import values
from worldline._src.facade.batch.seeded_shares import shares
from worldline._src.spatial.poses import Array, float_array

MODES = ("set", "scale", "add")


class _Distribution(msgspec.Struct, frozen=True, tag=str.lower, forbid_unknown_fields=True):
    """Numbers from shares: `at(u)` is the number below which a share u of all draws lies."""

    def at(self, u: Array) -> Array:
        """The inverse of the cumulative distribution, for u between 0 and 1."""
        raise NotImplementedError


def _numbers(distribution: _Distribution, *names: str) -> None:
    """Raise for a field of a distribution that is no finite number."""
    for name in names:
        values.real(getattr(distribution, name), f"{name} of {type(distribution).__name__}")


def _shares(u: Array) -> Array:
    """Shares of draws, each between 0 and 1."""
    made = float_array(u, "u")
    if not ((made >= 0.0) & (made <= 1.0)).all():
        raise ArgumentError(f"u must be between 0 and 1, got {u!r}")
    return made


class Uniform(_Distribution, frozen=True, tag="uniform", forbid_unknown_fields=True):
    """Every number from `low` to `high` alike."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _numbers(self, "low", "high")
        if not self.low <= self.high:
            raise ArgumentError(f"Uniform needs finite low <= high, got {self.low} and {self.high}")

    def at(self, u: Array) -> Array:
        """The inverse of the cumulative distribution, for u between 0 and 1."""
        return self.low + (self.high - self.low) * _shares(u)


class LogUniform(_Distribution, frozen=True, tag="log_uniform", forbid_unknown_fields=True):
    """Every order of magnitude from `low` to `high` alike; both are positive."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _numbers(self, "low", "high")
        if not 0.0 < self.low <= self.high:
            raise ArgumentError(f"LogUniform needs finite 0 < low <= high, got {self.low} and {self.high}")

    def at(self, u: Array) -> Array:
        """The inverse of the cumulative distribution, for u between 0 and 1."""
        return self.low * (self.high / self.low) ** _shares(u)


class Normal(_Distribution, frozen=True, tag="normal", forbid_unknown_fields=True):
    """Gauss's distribution; draws beyond `low` and `high` are cut to them."""

    mean: float
    standard_deviation: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        _numbers(self, "mean", "standard_deviation")
        _numbers(self, *(name for name in ("low", "high") if getattr(self, name) is not None))
        if not self.standard_deviation > 0.0:
            raise ArgumentError(
                f"Normal needs a finite mean and a positive standard deviation, got {self.mean} and "
                f"{self.standard_deviation}"
            )
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise ArgumentError(f"Normal needs low <= high, got {self.low} and {self.high}")

    def at(self, u: Array) -> Array:
        """The inverse of the cumulative distribution, for u between 0 and 1."""
        standard = NormalDist(self.mean, self.standard_deviation)
        # u is drawn from [0, 1): 0 has no finite number
        shares = np.clip(_shares(u), 2.0**-54, 1.0 - 2.0**-53)
        made = np.array([standard.inv_cdf(share) for share in shares.ravel().tolist()]).reshape(shares.shape)
        return np.clip(
            made, -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high
        )


class Choice(_Distribution, frozen=True, tag="choice", forbid_unknown_fields=True):
    """One of several numbers, all alike or by weights."""

    values: tuple[float, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for one in values.several(self.values, "values of Choice"):
            values.real(one, "a value of Choice")
        if not len(self.values):
            raise ArgumentError("Choice needs at least one value")
        if self.weights is not None:
            for one in values.several(self.weights, "weights of Choice"):
                values.real(one, "a weight of Choice")
            good = len(self.weights) == len(self.values)
            if not (good and min(self.weights) >= 0.0 and sum(self.weights) > 0.0):
                raise ArgumentError(
                    f"Choice needs a weight for each value, none negative, got {self.weights}"
                )

    def at(self, u: Array) -> Array:
        """The inverse of the cumulative distribution, for u between 0 and 1."""
        weights = np.ones(len(self.values)) if self.weights is None else np.array(self.weights)
        ends = np.cumsum(weights) / weights.sum()
        return np.array(self.values)[
            np.minimum(np.searchsorted(ends, _shares(u), side="right"), len(ends) - 1)
        ]


Distribution = Uniform | LogUniform | Normal | Choice


class Randomized(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a randomization.

    Attributes:
        name: of a parameter of `WorldBatch.parameters`, where * and ? stand for any text and every name that
            matches is drawn for itself; or, for resets, of an array such as `joint_positions`.
        distribution: what is drawn.
        mode: "set" puts the number there, "scale" multiplies the number of the start by it, "add" adds it.
        group: lines of one group draw the same share: their numbers rise and fall together.
        elementwise: whether every number of an array is drawn for itself.
    """

    name: str
    distribution: Distribution
    mode: str = "scale"
    group: str | None = None
    elementwise: bool = False

    def __post_init__(self) -> None:
        values.text(self.name, "name of a Randomized")
        if not isinstance(self.distribution, _Distribution):
            raise ArgumentError(
                f"distribution of '{self.name}' must be a Uniform, LogUniform, Normal or Choice, got "
                f"{self.distribution!r}"
            )
        if self.group is not None:
            values.text(self.group, f"group of '{self.name}'")
        values.flag(self.elementwise, f"elementwise of '{self.name}'")
        if not isinstance(self.mode, str) or self.mode not in MODES:
            raise ArgumentError(f"mode of '{self.name}' must be one of {', '.join(MODES)}, got {self.mode!r}")
        if self.group is not None and self.elementwise:
            raise ArgumentError(f"'{self.name}': lines of a group draw one share, not one for each element")

    def applied(self, start: Array, drawn: Array) -> Array:
        """The number of the start with what was drawn."""
        start, drawn = values.array(start, "start"), values.array(drawn, "drawn")
        if drawn.shape not in ((), start.shape):
            raise ShapeError(f"drawn must be one number or {start.shape}, got {drawn.shape}")
        if self.mode == "set":
            return np.broadcast_to(drawn, start.shape)
        return start * drawn if self.mode == "scale" else start + drawn


class Randomization(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines of what is drawn, and the seed.

    Example:
        >>> from worldline import simulation as sx
        >>> drawn = sx.Randomization(
        ...     (sx.Randomized("rigid_bodies.*.mass", sx.Uniform(0.8, 1.2)),), seed=3)
        >>> sx.Randomization.from_json(drawn.to_json()) == drawn
        True
    """

    lines: tuple[Randomized, ...]
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ArgumentError(f"seed must be a whole number that is not negative, got {self.seed!r}")
        for line in values.several(self.lines, "lines of a Randomization"):
            if not isinstance(line, Randomized):
                raise ArgumentError(f"lines of a Randomization are Randomized, got {line!r}")

    def to_json(self) -> str:
        """The randomization as text."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Randomization:
        """The randomization that `to_json` wrote."""
        try:
            return msgspec.json.decode(values.text(text, "text of a Randomization"), type=cls)
        except msgspec.MsgspecError as error:
            raise ArgumentError(f"not a Randomization: {error}") from None

    def draw(self, line: Randomized, name: str, shape: Sequence[int], world: int, count: int = 0) -> Array:
        """What one world draws for one name.

        Args:
            line: one of `lines`.
            name: the name that the line matched.
            shape: of the array; numbers are drawn for each element where the line says so.
            world: index of the world.
            count: how often the world drew before.
        """
        require_kind(line, Randomized, "line", "draw")
        name = values.text(name, "name")
        for what, number in (("world", world), ("count", count)):
            if values.count(number, what) < 0:
                raise ArgumentError(f"{what} must not be negative, got {number}")
        for size in values.several(shape, "shape"):
            values.count(size, "shape")
        rng = np.random.default_rng([self.seed, world, count, _number_of(line, name)])
        return line.distribution.at(rng.random(tuple(shape) if line.elementwise else ()))

    def draws(
        self, line: Randomized, name: str, shape: Sequence[int], worlds: np.ndarray, counts: np.ndarray
    ) -> Array:
        """What `draw` gives each of several worlds, bit for bit, in an array that goes with theirs.

        Args:
            line: one of `lines`.
            name: the name that the line matched.
            shape: of the array of one world.
            worlds: indices of worlds, (n,).
            counts: how often every world drew before, (n,).

        Returns:
            Arrays of that shape, world by world; all elements are equal where they are not drawn one by one.
        """
        each = int(np.prod(shape, dtype=np.int64)) if line.elementwise else 1
        made = line.distribution.at(shares(self.seed, worlds, counts, _number_of(line, name), each))
        made = made.reshape(len(worlds), *(shape if line.elementwise else (1,) * len(shape)))
        return np.broadcast_to(made, (len(worlds), *shape)).copy()


def _number_of(line: Randomized, name: str) -> int:
    """What distinguishes the draws of a name, or of a group, from all others."""
    key = f"name:{name}" if line.group is None else f"group:{line.group}"
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")


def of_mapping(lines: Any) -> Randomization:
    """A randomization that is checked; other things are refused."""
    if not isinstance(lines, Randomization):
        raise ArgumentError(f"a Randomization is needed, got {lines!r}")
    return lines
