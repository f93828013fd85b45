# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments, conversion to small arrays, and read-only results.

A 4x4 transform stands for a pose; inside, poses are 7 numbers (position, xyzw).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.collision.transforms import pose_of_matrix
from worldline._src.errors import ArgumentError, ShapeError
from worldline._src.masked import has_masked_entries
from worldline._src.model.checks import check_body, is_plain_body
from worldline._src.scene.bodies import LEAST_INERTIA
from worldline._src.scene.texts import unwritable
from worldline._src.spatial.poses import (
    Array,
    read_only,  # noqa: F401 # pyright: ignore[reportUnusedImport] # users of values find it here
)

if TYPE_CHECKING:
    from typing_extensions import TypeIs

VectorLike = Sequence[float] | Array
TransformLike = Sequence[Sequence[float]] | Array
_ISFINITE = math.isfinite
_F64 = np.dtype(np.float64)
_WHOLE: tuple[type, ...] = (int, np.integer)
_NUMBER: tuple[type, ...] = (int, float, np.floating, np.integer)


def is_array(value: object) -> TypeIs[np.ndarray]:
    """Whether a value is an array."""
    return isinstance(value, np.ndarray)


def is_mapping(value: object) -> TypeIs[Mapping[Any, Any]]:
    """Whether a value has entries by key."""
    return isinstance(value, Mapping)


def is_sequence(value: object) -> TypeIs[Sequence[Any]]:
    """Whether a value is a sequence; arrays are none, texts are."""
    return isinstance(value, Sequence)


def is_iterable(value: object) -> TypeIs[Iterable[Any]]:
    """Whether a value holds several, one by one; a text is one."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def real(value: Any, what: str) -> float:
    """A finite number."""
    number = _number(value, what)
    if not _ISFINITE(number):
        raise ArgumentError(f"{what} must be finite, got {number}")
    return number


def positive(value: Any, what: str) -> float:
    """A number greater than zero."""
    number = value if type(value) is float else _number(value, what)
    if not (_ISFINITE(number) and number > 0.0):
        raise ArgumentError(f"{what} must be positive and finite, got {number}")
    return number


def mass_of(value: Any, what: str) -> float:
    """A mass that a step can move [kg]."""
    return at_least(positive(value, what), LEAST_INERTIA, what, " kg")


def non_negative(value: Any, what: str) -> float:
    """A number not less than zero."""
    number = _number(value, what)
    if not (_ISFINITE(number) and number >= 0.0):
        raise ArgumentError(f"{what} must be non-negative and finite, got {number}")
    return number


def at_least(value: Any, least: float, what: str, unit: str = "") -> float:
    """A finite number not less than `least`."""
    number = real(value, what)
    if number < least:
        raise ArgumentError(f"{what} must be at least {least:g}{unit}, got {number:g}")
    return number


def any_number(value: Any, what: str) -> float:
    """A number, infinity included; NaN is none."""
    number = _number(value, what)
    if number != number:
        raise ArgumentError(f"{what} must be a number, got NaN")
    return number


def _number(value: Any, what: str) -> float:
    """Anything that is a float64, NaN too."""
    if isinstance(value, (bool, str, bytes)) or not isinstance(value, _NUMBER):
        raise ShapeError(f"{what} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ArgumentError(f"{what} must be within the range of a float64, got a larger number") from None


def array(value: Any, what: str) -> Array:
    """Numbers of any shape as float64; texts, flags and complex numbers are not numbers."""
    if has_masked_entries(value):
        raise ArgumentError(f"{what} must not have masked entries; fill them first, got {value!r}")
    try:
        made = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"{what} must be rows of numbers of equal length, got {value!r}") from error
    if made.dtype.kind == "O" and made.size and all(_is_whole(item) for item in made.flat):
        raise ArgumentError(f"{what} must be within the range of a float64")
    if made.dtype.kind not in "fiu":
        raise ShapeError(f"{what} must be numbers, got {value!r}")
    return made.astype(np.float64)


def shaped(value: Any, shape: tuple[int, ...], what: str) -> Array:
    """Numbers of one shape as float64."""
    made = array(value, what)
    if made.shape != shape:
        raise ShapeError(f"{what} must have shape {shape}, got {made.shape}")
    return made


def _is_whole(item: Any) -> bool:
    return isinstance(item, (int, float)) and not isinstance(item, bool)


def vector3(value: Any, what: str) -> Array:
    """Three finite numbers."""
    made = array(value, what)
    if made.shape != (3,):
        raise ShapeError(f"{what} must be 3 numbers, got {value!r}")
    return _finite(made, what)


def _finite(made: Array, what: str) -> Array:
    if not np.isfinite(made).all():
        raise ArgumentError(f"{what} must contain only finite values, got {made.tolist()}")
    return made


def direction(value: Any, what: str) -> Array:
    """A vector that is not zero, as it was given; shorter where its length would overflow."""
    made = vector3(value, what)
    largest = float(np.abs(made).max())
    if largest > 1e150:
        return made / largest
    if float(np.linalg.norm(made)) < 1e-12:
        raise ArgumentError(f"{what} must be finite and non-zero, got {made.tolist()}")
    return made


def dof_vector(value: Any, n: int, what: str | Callable[[], str]) -> Array:
    """`n` finite numbers in a 1-D array; a bare number is refused, also for n = 1.

    `what` may be a function, so that a name is only put together when there is something to complain about.
    """
    made = None
    if type(value) is np.ndarray and value.dtype is _F64 and value.shape == (n,):
        # a sum is finite when its terms are, or nearly so: one that overflows is looked at below
        if _ISFINITE(sum(value.tolist())):
            return value
    if type(value) in (list, tuple, np.ndarray):
        # `array` below reports what NumPy refuses
        with suppress(ValueError, TypeError, OverflowError):
            made = np.asarray(value)
    if made is not None and made.dtype is _F64 and made.shape == (n,) and all(map(_ISFINITE, made.tolist())):
        return made
    name = what if isinstance(what, str) else what()
    made = array(value, name)
    if made.ndim != 1:
        raise ShapeError(f"{name}: Expected a 1-D vector of length {n}, got shape {made.shape}")
    if made.shape[0] != n:
        raise ArgumentError(f"{name} dimension is {n}, got {made.shape[0]} numbers")
    return _finite(made, name)


def quaternion_of(value: Any, what: str) -> Array:
    """Four numbers xyzw, made unit."""
    made = array(value, what)
    if made.shape != (4,):
        raise ShapeError(f"{what} must be 4 numbers (xyzw), got {value!r}")
    length = float(np.linalg.norm(made))
    if not _ISFINITE(length) or length < 1e-12:
        raise ArgumentError(f"{what} must be finite and non-zero, got {made.tolist()}")
    return made / length


def inertia_of(value: Any, what: str) -> Array:
    """Inertia that a body of a World can have: three moments or a 3x3 matrix.

    It is symmetric positive definite, and no principal moment exceeds the sum of the other two.
    """
    made = array(value, what)
    if made.shape == (3,):
        made = np.diag(made)
    if made.shape != (3, 3):
        raise ShapeError(f"{what} must be a 3x3 matrix, got {value!r}")
    if is_plain_body(1.0, made) and _least_moment(made) > LEAST_INERTIA:
        return made
    scale = float(np.abs(made).max()) if np.isfinite(made).all() else math.inf
    if (
        not _ISFINITE(scale)
        or float(np.abs(made - made.T).max()) > 1e-9 * scale
        or float(np.linalg.eigvalsh(made)[0]) <= 0.0
    ):
        raise ArgumentError(f"{what} must be symmetric positive definite, got {made.tolist()}")
    made = 0.5 * (made + made.T)
    check_body(1.0, made, what)
    least = float(np.linalg.eigvalsh(made)[0])
    if least < LEAST_INERTIA:
        raise ArgumentError(
            f"{what} must have principal moments of at least {LEAST_INERTIA} kg m^2, got {made.tolist()}"
        )
    return made


def _least_moment(inertia: Array) -> float:
    """A number that no principal moment is below: two of them have a product of (trace / 2)^2 at most."""
    (a, d, e), (_, b, f), (_, _, c) = inertia.tolist()
    half = 0.5 * (a + b + c)
    return (a * (b * c - f * f) - d * (d * c - e * f) + e * (d * f - b * e)) / (half * half)


def spread(value: Any, count: int, what: str) -> Array:
    """One number for each of several: given so, or as one for all; infinity is a number, NaN is none."""
    made = array(value, what)
    if made.ndim == 0:
        made = np.full(count, float(made))
    if made.shape != (count,):
        raise ArgumentError(f"{what} must be one number or {count}, got shape {made.shape}")
    if np.isnan(made).any():
        raise ArgumentError(f"{what} must not be NaN, got {made.tolist()}")
    return made


def pose_of(value: Any, what: str) -> Array:
    """A 4x4 transform as position and xyzw."""
    made = array(value, what)
    if made.shape != (4, 4):
        raise ShapeError(f"{what}: Expected a 4x4 matrix, got shape {made.shape}")
    if not np.isfinite(made).all():
        raise ArgumentError(f"{what} must contain only finite values")
    return pose_of_matrix(made, what)


def matrix_of(pose: Array) -> Array:
    """Position and xyzw as a new 4x4 transform."""
    px, py, pz, x, y, z, w = pose.tolist()
    # plain floats: on arrays this small NumPy's overhead is ten times the arithmetic
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    return np.array(
        (
            (1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (xz + wy), px),
            (2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx), py),
            (2.0 * (xz - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy), pz),
            (0.0, 0.0, 0.0, 1.0),
        )
    )


def rotation_vector(xyzw: ArrayLike) -> Array:
    """The rotation vector of a unit quaternion, of at most half a turn."""
    return np.array(rotation_numbers(*np.asarray(xyzw, np.float64).tolist()))


def rotation_numbers(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    """The same of four numbers, as three."""
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    s = math.sqrt(x * x + y * y + z * z)
    k = 2.0 / w if s < 1e-12 else 2.0 * math.atan2(s, w) / s
    return k * x, k * y, k * z


def quaternion_from_vector(r: ArrayLike) -> Array:
    """The unit quaternion xyzw of a rotation vector."""
    x, y, z = np.asarray(r, np.float64).tolist()
    angle = math.hypot(x, y, z)
    # sin(a/2)/a by its series where the quotient loses digits
    k = 0.5 - angle * angle / 48.0 if angle < 1e-4 else math.sin(0.5 * angle) / angle
    return np.array((k * x, k * y, k * z, math.cos(0.5 * angle)))


def indices(parts: Iterable[slice]) -> np.ndarray:
    """Indices of several slices, one after the other."""
    found: list[range] = [range(part.start, part.stop) for part in parts]
    return np.concatenate([np.zeros(0, np.int64), *found])


def count(value: Any, what: str) -> int:
    """A whole number of 64 bits; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, _WHOLE):
        raise ShapeError(f"{what} must be a whole number, got {value!r}")
    if not -(1 << 63) <= value < 1 << 63:
        raise ArgumentError(f"{what} must be within the range of a 64-bit integer, got a larger number")
    return int(value)


def text(value: Any, what: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ShapeError(f"{what} must be a text, got {value!r}")
    fault = unwritable(value)
    if fault:
        raise ArgumentError(f"{what} must not contain {fault}, got {value!r}")
    return value


def key(value: Any, what: str) -> str:
    """A name to look something up by."""
    if not isinstance(value, str):
        raise ShapeError(f"{what} must be a text, got {value!r}")
    return value


def mapping(value: Any, what: str) -> Mapping[Any, Any]:
    """Things by name; none for None."""
    if value is None:
        return {}
    if not is_mapping(value):
        raise ShapeError(f"{what} must be arrays by name, got {value!r}")
    return value


def several(value: Any, what: str) -> list[Any]:
    """What can be gone through, one by one; a text is one thing."""
    if not is_iterable(value):
        raise ShapeError(f"{what} must be several, got {value!r}")
    try:
        return list(value)
    except TypeError:
        # an array without a dimension
        raise ShapeError(f"{what} must be several, got {value!r}") from None


def flag(value: Any, what: str) -> bool:
    """True or False."""
    if isinstance(value, bool):
        return value
    if type(value) is not np.bool_:
        raise ShapeError(f"{what} must be True or False, got {value!r}")
    return bool(value)
