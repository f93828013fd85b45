# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small values used all over a scene: ranges, springs, and impedance profiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from worldline._src.scene.base import Struct, field, optional, part, value
from worldline._src.scene.containers import Nested
from worldline._src.scene.contexts import Probe, Rejected, Source
from worldline._src.scene.kinds import BOUND, NON_NEGATIVE, REAL, Kind, describe, is_list, to_float
from worldline._src.scene.variant import Variant, case


class Range(Struct, kw_only=False):
    """A range of numbers, both ends included; unbounded unless given.

    The constructor refuses a lower end above the upper one. Single ends may be assigned in any order, so
    there it is `World.validate` that looks.

    Example:
        >>> Range(-1.0, 1.0)
        Range(lower=-1.0, upper=1.0)
    """

    lower: float = value(BOUND, -math.inf, "Lower end.")
    upper: float = value(BOUND, math.inf, "Upper end.")

    def __init__(self, lower: float = -math.inf, upper: float = math.inf) -> None:
        super().__init__(lower=lower, upper=upper)
        if self.lower > self.upper:
            raise Rejected(f"{self.lower!r} to {self.upper!r}", "lower <= upper", "Range")

    def _check(self, probe: Probe, path: str) -> None:
        super()._check(probe, path)
        if probe.values and self.lower > self.upper:
            probe.reject(path, f"{self.lower!r} to {self.upper!r}", "lower <= upper")

    @property
    def is_bounded(self) -> bool:
        """Whether at least one end is finite."""
        return math.isfinite(self.lower) or math.isfinite(self.upper)


class RangeKind(Kind[Range | Sequence[float], Range]):
    """A `Range`, or its two ends."""

    allowed = "a Range or two numbers lower <= upper"

    def __init__(self) -> None:
        self.inner = Nested(Range)

    def __call__(self, value: Range | Sequence[float]) -> Range:
        if isinstance(value, Range):
            return value
        if isinstance(value, set) or not is_list(value) or not hasattr(value, "__len__"):
            raise self.reject(value)
        ends = [to_float(end) for end in value]
        if len(ends) != 2 or ends[0] is None or ends[1] is None:
            raise self.reject(value)
        if ends[0] > ends[1]:
            raise self.reject(value)
        return Range(ends[0], ends[1])

    def sound(self) -> str:
        ends = "(type(r['lower']) is float and type(r['upper']) is float and r['lower'] <= r['upper'])"
        return f"type(v) is {{k}}.inner.struct and (r := v.__dict__) and {ends}"

    def plain(self, value: Range, writer: Any) -> Any:
        return value._plain(writer)

    def read(self, raw: Any, source: Source, path: str) -> Any:
        if isinstance(raw, list):
            return super().read(raw, source, path)
        ends: Any = raw
        if isinstance(raw, dict):
            # null is how a writer without infinities leaves an end open
            ends = {key: end for key, end in ends.items() if end is not None}
        return self.inner.read(ends, source, path)

    def identical(self, a: Range, b: Range) -> bool:
        return a._identical(b)

    def copy(self, value: Range, writer: Any) -> Range:
        return value._copy(writer)

    def check(self, value: Any, probe: Probe, path: str) -> None:
        if isinstance(value, Range):
            value._check(probe, path)
        else:
            probe.reject(path, describe(value), self.allowed)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        end = {"type": "number"}
        pair = {"type": "array", "items": end, "minItems": 2, "maxItems": 2}
        return {"anyOf": [self.inner.schema(definitions), pair]}


RANGE = RangeKind()


class StiffnessDamping(Struct):
    """A spring and damper by its coefficients: force = -k x - d v."""

    k: float = value(NON_NEGATIVE, 2500.0, "Stiffness, N/m or N m/rad.")
    d: float = value(NON_NEGATIVE, 100.0, "Damping, N s/m or N m s/rad.")


class FrequencyDampingRatio(Struct):
    """A spring and damper by its natural frequency and damping ratio: k = w^2, d = 2 w z."""

    w: float = value(NON_NEGATIVE, 50.0, "Natural frequency, rad/s.")
    z: float = value(NON_NEGATIVE, 1.0, "Damping ratio; 1 is critical.")


class Impedance(Struct):
    """How the impedance of a soft constraint grows with its violation r.

    It goes from `d0` at r = 0 to `dmax` at |r| = `width`, along a curve of exponent `power` on both sides of
    the fraction `middle` of the width. `dmax` below `d0` is allowed.
    """

    d0: float = field(default=0.0, doc="Impedance at no violation, 0 to 1.")
    dmax: float = field(default=0.0, doc="Impedance at `width`, 0 to 1.")
    width: float = field(default=0.0, doc="Violation where `dmax` is reached, m or rad.")
    middle: float = field(default=0.0, doc="Where the halves meet, 0 to 1.")
    power: float = field(default=0.0, doc="Exponent of the curve, 1 or more.")


class ImpedanceSpring(Struct):
    """A soft constraint: a spring and damper whose effect is scaled by an impedance."""

    spring: StiffnessDamping = part(
        StiffnessDamping, "Stiffness, 1/s^2, and damping, 1/s, of the reference acceleration."
    )
    impedance: Impedance = part(Impedance, "Impedance profile.")
    direct: bool = field(
        default=False,
        doc="Where two meet, the smaller coefficients count instead of weighted time constants, and those are"
        " not kept above two steps.",
    )


class ImpedanceDamping(Struct):
    """How soft a dry-friction constraint is; no damping makes it hard."""

    damping: float = value(NON_NEGATIVE, 100.0, "Damping, 1/s.")
    impedance: float = field(default=0.0, doc="Constant impedance, 0 to 1.")
    dmax: float | None = optional(
        REAL, "The damping is divided by this impedance; None divides by the constant one."
    )
    direct: bool = field(default=False, doc="See `ImpedanceSpring.direct`.")


class SpringDampCoeff(Variant):
    """The coefficients of a joint spring, in one of two forms."""

    stiffness_damping = case(Nested(StiffnessDamping), "Coefficients of force: force = -k x - d v.")
    frequency_damping_ratio = case(
        Nested(FrequencyDampingRatio), "Coefficients of acceleration, whatever the inertia."
    )


class SpringDamper(Struct):
    """A spring and damper acting along a joint."""

    coeff: SpringDampCoeff = field(
        default_factory=lambda: SpringDampCoeff.frequency_damping_ratio(FrequencyDampingRatio()),
        doc="Coefficients.",
    )
    target_pos: float = field(default=0.0, doc="Coordinate at which the spring is at rest, m or rad.")
