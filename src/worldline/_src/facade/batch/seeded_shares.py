# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shares between 0 and 1 of many generators at once, bit for bit those of NumPy.

A world draws from a generator of its own, `numpy.random.default_rng([seed, world, count, number])`. Making
one takes some 20 us for every world and name; here the hash of the seed (O'Neill's seed_seq with a pool of
four words) and the generator (PCG XSL-RR 128/64, O'Neill 2014) run for all worlds in arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldline._src.spatial.poses import Array

Words = np.ndarray
"""Unsigned integers, one for every generator."""

_MASK = 0xFFFF_FFFF
_POOL = 4
_INIT_A, _MULT_A, _INIT_B, _MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT, _SHIFT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715), np.uint32(16)
_MULT_HIGH, _MULT_LOW = np.uint64(2549297995355413924), np.uint64(4865540595714422341)


class _Hash:
    """Hash of words, with a constant that changes with every use."""

    def __init__(self, start: int, factor: int) -> None:
        self._constant, self._factor = start, factor

    def __call__(self, words: Words) -> Words:
        words = words ^ np.uint32(self._constant)
        self._constant = self._constant * self._factor & _MASK
        words = words * np.uint32(self._constant)
        return words ^ (words >> _SHIFT)


def _mix(x: Words, y: Words) -> Words:
    made = _MIX_LEFT * x - _MIX_RIGHT * y
    return made ^ (made >> _SHIFT)


def _words_of(number: int) -> list[int]:
    """A number as words of 32 bits, the lowest first."""
    words = [number & _MASK]
    while number := number >> 32:
        words.append(number & _MASK)
    return words


def _seeds(entropy: list[Words]) -> list[Words]:
    """Four words of 64 bits from the words of a seed."""
    hashed, zero = _Hash(_INIT_A, _MULT_A), np.zeros_like(entropy[0])
    pool = [hashed(entropy[k] if k < len(entropy) else zero) for k in range(_POOL)]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = _mix(pool[target], hashed(pool[source]))
    for words in entropy[_POOL:]:
        for target in range(_POOL):
            pool[target] = _mix(pool[target], hashed(words))
    hashed = _Hash(_INIT_B, _MULT_B)
    made = [hashed(pool[k % _POOL]).astype(np.uint64) for k in range(2 * _POOL)]
    return [made[2 * k] | (made[2 * k + 1] << np.uint64(32)) for k in range(_POOL)]


def _high_product(x: Words, y: np.uint64) -> Words:
    """The upper 64 bits of x y."""
    low, half = np.uint64(_MASK), np.uint64(32)
    xl, xh, yl, yh = x & low, x >> half, y & low, y >> half
    middle = xh * yl + (xl * yl >> half)
    return xh * yh + (middle >> half) + ((xl * yh + (middle & low)) >> half)


def _add(high: Words, low: Words, more_high: Words, more_low: Words) -> tuple[Words, Words]:
    made = low + more_low
    return high + more_high + (made < low), made


def shares(seed: int, worlds: np.ndarray, counts: np.ndarray, number: int, each: int) -> Array:
    """What `default_rng([seed, world, count, number]).random(each)` gives for every world, (worlds, each).

    worlds, counts: whole numbers below 2**32, (n,).
    """
    with np.errstate(over="ignore"):
        size = len(worlds)
        parts: list[Sequence[int] | np.ndarray] = [*([word] * size for word in _words_of(seed))]
        parts += [worlds, counts, *([word] * size for word in _words_of(number))]
        state = _seeds([np.asarray(part, np.uint64).astype(np.uint32) for part in parts])
        one, top = np.uint64(1), np.uint64(63)
        # pcg_setseq_128_srandom: odd increment; state 0, a step, add the seed, a step
        step_high, step_low = (state[2] << one) | (state[3] >> top), (state[3] << one) | one
        high, low = _add(step_high, step_low, state[0], state[1])
        made = np.empty((size, each))
        for k in range(-1, each):
            product = _high_product(low, _MULT_LOW) + high * _MULT_LOW + low * _MULT_HIGH
            high, low = _add(product, low * _MULT_LOW, step_high, step_low)
            if k >= 0:
                # xor of the halves, turned right by the upper six bits; the upper 53 bits are the share
                turn, word = high >> np.uint64(58), high ^ low
                word = (word >> turn) | (word << (-turn & top))
                made[:, k] = (word >> np.uint64(11)) * 2.0**-53
    return made
