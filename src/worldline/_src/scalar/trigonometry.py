# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sine, cosine and arc tangent, the same operations for every scalar.

A library's sine differs from machine to machine and has no lane form, so both would break the equality
of a lane and a world alone. These are branch-free: range reduction in three exact steps after
Cody and Waite, then minimax polynomials on a quarter turn. Errors stay under 2 units in the last place
for |x| < 1e6; beyond that the reduction loses digits gradually and the result stays in [-1, 1]. In single
precision the same holds for |x| < 1e4, with another split of pi.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.scalar.ops import absolute, constant, is_single, nearest, where

_TWO_OVER_PI = 0.6366197723675814
# pi/2 in three parts; the first two have 33 significant bits, so n * part is exact for n < 2**20
_PI_2_A = 1.5707963267341256
_PI_2_B = 6.077100506303966e-11
_PI_2_C = 2.0222662487959506e-21

# the same for single precision: 8 and 11 significant bits, exact for n < 2**13
_PI_2_A_SINGLE = 1.5703125
_PI_2_B_SINGLE = 0.000483751296997070312
_PI_2_C_SINGLE = 7.54978995489188e-08

# minimax coefficients on [-pi/4, pi/4]: sin(r) = r + r^3 P(r^2), cos(r) = 1 - r^2/2 + r^4 Q(r^2)
_S1, _S2 = -1.66666666666666324348e-01, 8.33333333332248946124e-03
_S3, _S4 = -1.98412698298579493134e-04, 2.75573137070700676789e-06
_S5, _S6 = -2.50507602534068634195e-08, 1.58969099521155010221e-10
_C1, _C2 = 4.16666666666666019037e-02, -1.38888888888741095749e-03
_C3, _C4 = 2.48015872894767294178e-05, -2.75573143513906633035e-07
_C5, _C6 = 2.08757232129817482790e-09, -1.13596475577881948265e-11

_PI, _PI_LOW = 3.141592653589793, 1.2246467991473532e-16
_PI_2, _PI_2_LOW = 1.5707963267948966, 6.123233995736766e-17
_PI_4, _PI_4_LOW = 0.7853981633974483, 3.061616997868383e-17
_TAN_PI_8 = 0.41421356237309503

# minimax coefficients of (atan(t) - t) / t^3 in t^2 on |t| <= tan(pi/8), as a ratio of polynomials
_P0 = -8.750608600031904122785e-1
_P1 = -1.615753718733365076637e1
_P2 = -7.500855792314704667340e1
_P3 = -1.228866684490136173410e2
_P4 = -6.485021904942025371773e1
_Q0 = 2.485846490142306297962e1
_Q1 = 1.650270098316988542046e2
_Q2 = 4.328810604912902668951e2
_Q3 = 4.853903996359136964868e2
_Q4 = 1.945506571482613964425e2


@inline
def _parts_of_quarter(like):
    """pi/2 in three parts for the precision of a scalar."""
    if is_single(like):
        return _PI_2_A_SINGLE, _PI_2_B_SINGLE, _PI_2_C_SINGLE
    return _PI_2_A, _PI_2_B, _PI_2_C


@inline
def sincos(x):
    """(sin x, cos x)."""
    pi_2_a, pi_2_b, pi_2_c = _parts_of_quarter(x)
    # reduce to r + r_low in [-pi/4, pi/4], keeping what the subtractions round off
    n = nearest(x * _TWO_OVER_PI)
    a = x - n * pi_2_a
    w = n * pi_2_b
    b = a - w
    lost = (a - b) - w
    w = n * pi_2_c - lost
    r = b - w
    r_low = (b - r) - w

    # polynomials on the quarter turn, with the first-order effect of r_low
    z = r * r
    poly = _S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))
    cube = z * r
    sin_r = r - ((z * (0.5 * r_low - cube * poly) - r_low) - cube * _S1)
    poly = z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * (_C5 + z * _C6)))))
    half = 0.5 * z
    head = 1.0 - half
    cos_r = head + (((1.0 - head) - half) + (z * poly - r * r_low))

    # quadrant n mod 4 without integers: q in {-2, -1, 0, 1, 2}
    q = n - 4.0 * nearest(0.25 * n)
    odd = absolute(q) == 1.0
    s = where(odd, cos_r, sin_r)
    c = where(odd, sin_r, cos_r)
    s = where((absolute(q) == 2.0) | (q == -1.0), -s, s)
    c = where((absolute(q) == 2.0) | (q == 1.0), -c, c)
    return s, c


@inline
def atan2(y, x):
    """The angle of the point (x, y) in (-pi, pi]; zero at the origin."""
    ax = absolute(x)
    ay = absolute(y)
    # t = min / max in [0, 1], zero at the origin
    swap = ax < ay
    big = where(swap, ay, ax)
    small = where(swap, ax, ay)
    big = where(big == 0.0, constant(1.0, big), big)
    # above tan(pi/8) use atan(t) = pi/4 + atan((t - 1) / (t + 1)), formed before dividing
    steep = small > _TAN_PI_8 * big
    t = where(steep, small - big, small) / where(steep, small + big, big)

    # rational polynomial on |t| <= tan(pi/8)
    z = t * t
    top = _P4 + z * (_P3 + z * (_P2 + z * (_P1 + z * _P0)))
    bottom = _Q4 + z * (_Q3 + z * (_Q2 + z * (_Q1 + z * (_Q0 + z))))
    angle = t * (z * top / bottom) + t

    # undo the reductions; the low halves keep the last digit
    angle = where(steep, _PI_4 + (angle + _PI_4_LOW), angle)
    angle = where(swap, _PI_2 - (angle - _PI_2_LOW), angle)
    angle = where(x < 0.0, _PI - (angle - _PI_LOW), angle)
    return where(y < 0.0, -angle, angle)
