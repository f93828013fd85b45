# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rotations in all the forms a file may give them, and the frames they make.

Quaternions are xyzw tuples of floats here, as everywhere but in the files: thousands of small frames are
composed while a file is read, and NumPy takes longer to start on three numbers than plain Python to finish.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.formats.mjcf.compiler import Compiler
from worldline._src.scene.formats.mjcf.schema import ORIENTATION
from worldline._src.scene.formats.xml import Attributes

Vec = tuple[float, float, float]
Quat = tuple[float, float, float, float]

_FORMS: Final = frozenset(ORIENTATION)
_TINY: Final = 1e-14
UNIT_SLACK: Final = 5e-15
"""What is this near to unit length is taken to be at it."""
_NO_TURN: Final[Quat] = (0.0, 0.0, 0.0, 1.0)


class Placement(NamedTuple):
    """A rotation and then a translation."""

    position: Vec = (0.0, 0.0, 0.0)
    rotation: Quat = _NO_TURN

    def then(self, other: Placement) -> Placement:
        """The other placement, given in this one, seen from where this one is seen from."""
        if self is HERE:
            return other
        return Placement(self.apply(other.position), multiply(self.rotation, other.rotation))

    def apply(self, point: Sequence[float]) -> Vec:
        """A point given in this placement."""
        x, y, z = turn(self.rotation, point)
        a, b, c = self.position
        return x + a, y + b, z + c


HERE: Final = Placement()


def multiply(a: Quat, b: Quat) -> Quat:
    """The rotation b followed by a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def turn(rotation: Quat, vector: Sequence[float]) -> Vec:
    """A vector turned by a unit quaternion."""
    x, y, z, w = rotation
    a, b, c = vector
    # twice the cross product of the quaternion's axis with the vector
    d, e, f = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return a + w * d + y * f - z * e, b + w * e + z * d - x * f, c + w * f + x * e - y * d


def unit(vector: Sequence[float]) -> tuple[float, ...] | None:
    """A vector at length one, None when it is too short to have a direction."""
    length = math.hypot(*vector)
    if abs(length - 1.0) <= UNIT_SLACK:
        # what is of unit length but for rounding stays as it is, so that written files read back the same
        return tuple(vector)
    if length < _TINY:
        return None
    if length == math.inf:
        # only the sum overflows
        return unit([0.25 * x for x in vector])
    return tuple([x / length for x in vector])


def from_wxyz(wxyz: Sequence[float]) -> Quat | None:
    """A quaternion in the order of the files, None when it is zero."""
    scaled = unit(wxyz)
    return None if scaled is None else (scaled[1], scaled[2], scaled[3], scaled[0])


def from_axis_angle(axis: Sequence[float], angle: float) -> Quat | None:
    """A rotation by an angle in radians, None when the axis is zero."""
    direction = unit(axis)
    if direction is None:
        return None
    x, y, z = direction
    s = math.sin(0.5 * angle)
    return x * s, y * s, z * s, math.cos(0.5 * angle)


def from_euler(angles: Sequence[float], sequence: str) -> Quat:
    """Rotations one after another; lower-case axes turn along, upper-case ones stay with the parent."""
    total = _NO_TURN
    for angle, letter in zip(angles, sequence, strict=True):
        s, c = math.sin(0.5 * angle), math.cos(0.5 * angle)
        axis = letter.lower()
        one: Quat = (s * (axis == "x"), s * (axis == "y"), s * (axis == "z"), c)
        total = multiply(total, one) if letter.islower() else multiply(one, total)
    return total


def from_z_axis(direction: Sequence[float]) -> Quat | None:
    """The smallest rotation that takes z to a direction, None when that is zero."""
    z = unit(direction)
    if z is None:
        return None
    x, y = -z[1], z[0]
    across = math.hypot(x, y)
    half = 0.5 * math.atan2(across, z[2])
    x, y = (1.0, 0.0) if across < 1e-10 else (x / across, y / across)
    s = math.sin(half)
    return x * s, y * s, 0.0, math.cos(half)


def from_xy_axes(axes: Sequence[float]) -> Quat | None:
    """The frame of an x axis and of a y axis made square to it, None when they are parallel or zero."""
    x = unit(axes[:3])
    if x is None:
        return None
    along = sum(a * b for a, b in zip(x, axes[3:], strict=True))
    y = unit([b - along * a for a, b in zip(x, axes[3:], strict=True)])
    if y is None:
        return None
    z = (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
    return _from_columns(x, y, z)


def _from_columns(x: Sequence[float], y: Sequence[float], z: Sequence[float]) -> Quat:
    """The quaternion of a rotation matrix, by the largest of its four parts, which keeps all digits."""
    parts = (x[0] - y[1] - z[2], y[1] - x[0] - z[2], z[2] - x[0] - y[1], x[0] + y[1] + z[2])
    largest = parts.index(max(parts))
    size = 0.5 * math.sqrt(1.0 + parts[largest])
    f = 0.25 / size
    if largest == 0:
        return size, (x[1] + y[0]) * f, (x[2] + z[0]) * f, (y[2] - z[1]) * f
    if largest == 1:
        return (x[1] + y[0]) * f, size, (y[2] + z[1]) * f, (z[0] - x[2]) * f
    if largest == 2:
        return (x[2] + z[0]) * f, (y[2] + z[1]) * f, size, (x[1] - y[0]) * f
    return (y[2] - z[1]) * f, (z[0] - x[2]) * f, (x[1] - y[0]) * f, size


def read_rotation(a: Attributes, compiler: Compiler) -> Quat | None:
    """The rotation an element or its defaults give, None when they give none.

    The most specific element that gives any form decides.
    """
    if not a.gives_any(_FORMS):
        return None
    holder, given = a.nearest(ORIENTATION)
    if len(given) > 1:
        a.log.problem(holder, f"more than one orientation: {', '.join(given)}")
        return None
    form = given[0]
    count = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[form]
    numbers = Attributes(holder, a.log).reals(form, count)
    if numbers is None:
        return None
    if form == "quat":
        found = from_wxyz(numbers)
    elif form == "axisangle":
        found = from_axis_angle(numbers[:3], numbers[3] * compiler.angle)
    elif form == "euler":
        return from_euler([x * compiler.angle for x in numbers], compiler.eulerseq)
    elif form == "xyaxes":
        found = from_xy_axes(numbers)
    else:
        found = from_z_axis(numbers)
    if found is None:
        a.log.problem(
            holder, f"attribute '{form}': given {holder.get(form)!r}; allowed: directions of some length"
        )
    return found


def read_placement(a: Attributes, compiler: Compiler) -> Placement:
    """The position and rotation of an element."""
    position = a.reals("pos", 3)
    rotation = read_rotation(a, compiler)
    if position is None and rotation is None:
        return HERE
    x, y, z = position or (0.0, 0.0, 0.0)
    return Placement((x, y, z), rotation or _NO_TURN)


def between(ends: Sequence[float]) -> tuple[Placement, float] | None:
    """The frame half way between two points and half their distance, None when they coincide.

    Its z axis runs from the second point to the first, as compiled models have it.
    """
    a, b, c, d, e, f = ends
    line = a - d, b - e, c - f
    rotation = from_z_axis(line)
    if rotation is None:
        return None
    middle = 0.5 * (a + d), 0.5 * (b + e), 0.5 * (c + f)
    return Placement(middle, rotation), 0.5 * math.hypot(*line)
