# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Gaussian noise of sensor readings from a counter-based generator.

Every number is a function of its key and its counter alone: no generator has a state, so worlds, frames and
sensors can be read in any order, any number of times, in any batch. Random bits are those of Philox4x32-10
(Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011), normal numbers those of
Box and Muller (1958). The logarithm is made of products and sums, so all machines have the same bits.
"""

from __future__ import annotations

from worldline._src.jit import entry, outline
from worldline._src.scalar.ops import maximum, sqrt
from worldline._src.scalar.trigonometry import sincos

REAL, POSITIVE, UNIT, QUATERNION = range(4)
"""What the numbers of a row are: any numbers, sizes of what may be absent, a direction, a rotation xyzw."""
ROW = 9
"""Columns of a row: what it is, first and end in the reading, column of its standard deviation, number of its
first component, words of the key, first and end of the block of numbers that is absent when it is zero."""

_WORD = 0xFFFFFFFF
_MULTIPLY_0, _MULTIPLY_1 = 0xD2511F53, 0xCD9E8D57
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_BITS = 52
_TOP, _STEP = 1 << _BITS, 0.5**53
_SQRT_HALF, _LOG_SQRT_HALF, _LOG_2 = 0.7071067811865476, -0.34657359027997264, 0.6931471805599453
_TWO_PI = 6.283185307179586
_TINY = 1e-300


@outline
def philox(c0, c1, c2, c3, k0, k1):
    """Four random words of 32 bits from a counter of four words and a key of two."""
    for _ in range(_ROUNDS):
        # p = M_0 c_0, q = M_1 c_2; c = (high(q) ^ c_1 ^ k_0, low(q), high(p) ^ c_3 ^ k_1, low(p))
        p, q = _MULTIPLY_0 * c0, _MULTIPLY_1 * c2
        c0, c1 = ((q >> 32) & _WORD) ^ c1 ^ k0, q & _WORD
        c2, c3 = ((p >> 32) & _WORD) ^ c3 ^ k1, p & _WORD
        k0, k1 = (k0 + _WEYL_0) & _WORD, (k1 + _WEYL_1) & _WORD
    return c0, c1, c2, c3


@outline
def _log_of_share(odd):
    """log(u) of u = odd / 2^53, for odd numbers below 2^53."""
    # u = f 2^-e with f in [1/2, 1)
    e = 0
    while odd < _TOP:
        odd <<= 1
        e += 1
    f = odd * _STEP
    # log(f) = log(c) + 2 artanh(s), s = (f - c) / (f + c), c = sqrt(1/2); |s| < 0.172, artanh by its series
    s = (f - _SQRT_HALF) / (f + _SQRT_HALF)
    z = s * s
    sum_ = 1.0 / 23.0
    for k in range(10, -1, -1):
        sum_ = sum_ * z + 1.0 / (2 * k + 1)
    return (2.0 * s) * sum_ + (_LOG_SQRT_HALF - e * _LOG_2)


@outline
def normal(component, world, frame, k0, k1):
    """A number of the standard normal distribution for a component of a sensor, a world and a frame."""
    a, b, c, d = philox(component, world, frame & _WORD, frame >> 32, k0, k1)
    # two shares of 52 random bits and a half: never 0 and never 1
    radius = ((a << 20 | b >> 12) << 1) | 1
    turn = ((c << 20 | d >> 12) << 1) | 1
    # Box and Muller: sqrt(-2 log u_1) cos(2 pi u_2)
    _, cosine = sincos(turn * _STEP * _TWO_PI)
    return sqrt(-2.0 * _log_of_share(radius)) * cosine


@outline
def _add_to_row(row, size, world, frame, reading_io):
    """Add noise of a standard deviation to one row of a reading."""
    kind, first, end = row[0], int(row[1]), int(row[2])
    component, k0, k1 = int(row[4]), int(row[5]), int(row[6])
    if kind == REAL or kind == POSITIVE:
        for k in range(first, end):
            # x' = x + size n; what may be absent, 0 or less, stays so, and is never made negative
            if kind == REAL or reading_io[k] > 0.0:
                made = reading_io[k] + size * normal(component + k - first, world, frame, k0, k1)
                reading_io[k] = made if kind == REAL else maximum(made, 0.0)
        return
    n0 = size * normal(component, world, frame, k0, k1)
    n1 = size * normal(component + 1, world, frame, k0, k1)
    n2 = size * normal(component + 2, world, frame, k0, k1)
    if kind == UNIT:
        # t = n - (n . u) u in the tangent plane; u' = cos|t| u + sin|t| t / |t|, normalized
        x, y, z = reading_io[first], reading_io[first + 1], reading_io[first + 2]
        along = n0 * x + n1 * y + n2 * z
        n0, n1, n2 = n0 - along * x, n1 - along * y, n2 - along * z
        angle = sqrt(n0 * n0 + n1 * n1 + n2 * n2)
        sine, cosine = sincos(angle)
        share = sine / maximum(angle, _TINY)
        x, y, z = cosine * x + share * n0, cosine * y + share * n1, cosine * z + share * n2
        scale = 1.0 / maximum(sqrt(x * x + y * y + z * z), _TINY)
        reading_io[first], reading_io[first + 1], reading_io[first + 2] = x * scale, y * scale, z * scale
        return
    # Q' = Q exp(n), n a rotation vector in the axes of the frame that turns; normalized
    x, y, z, w = reading_io[first], reading_io[first + 1], reading_io[first + 2], reading_io[first + 3]
    angle = sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    sine, cosine = sincos(0.5 * angle)
    share = sine / maximum(angle, _TINY)
    a, b, c = share * n0, share * n1, share * n2
    x, y, z, w = (
        w * a + x * cosine + y * c - z * b,
        w * b + y * cosine + z * a - x * c,
        w * c + z * cosine + x * b - y * a,
        w * cosine - x * a - y * b - z * c,
    )
    scale = 1.0 / maximum(sqrt(x * x + y * y + z * z + w * w), _TINY)
    reading_io[first], reading_io[first + 1] = x * scale, y * scale
    reading_io[first + 2], reading_io[first + 3] = z * scale, w * scale


@entry(
    signature="int64[:,::1] float64[::1] float64[:,::1] int64[:,::1] float64[:,::1]",
    label="noise of sensors",
)
def add_noise(rows, cutoff, deviation, moment, reading_io):
    """Add noise to readings of worlds, then clip them: what a sensor tells is never beyond its cut-off.

    Args:
        rows: parts of the reading, see `ROW`, (rows, ROW).
        cutoff: largest size of the numbers of a row; 0 is none, (rows,).
        deviation: standard deviations, (worlds, columns); none is added where they are zero.
        moment: index of the world and number of its frame, (worlds, 2).
        reading_io: (worlds, numbers).
    """
    for w in range(reading_io.shape[0]):
        reading, world, frame = reading_io[w], int(moment[w, 0]), int(moment[w, 1])
        for n in range(rows.shape[0]):
            row, size = rows[n], deviation[w, rows[n, 3]]
            present = row[7] == row[8]
            for k in range(row[7], row[8]):
                present = present or reading[k] != 0.0
            if size > 0.0 and present:
                _add_to_row(row, size, world, frame, reading)
            if cutoff[n] > 0.0:
                for k in range(row[1], row[2]):
                    # what cannot be read, NaN, stays so
                    if reading[k] > cutoff[n]:
                        reading[k] = cutoff[n]
                    elif reading[k] < -cutoff[n]:
                        reading[k] = -cutoff[n]
