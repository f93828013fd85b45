# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Draws of many worlds at once: bit for bit those of a NumPy generator for every world."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx
from worldline._src.facade.batch.seeded_shares import shares


@pytest.mark.parametrize("seed", [0, 3, 2**40 + 5, 2**70 + 1])
@pytest.mark.parametrize("number", [0, 7, 2**63 + 12345])
def test_shares_are_those_of_numpy(seed, number):
    rng = np.random.default_rng(0)
    worlds, counts = rng.integers(0, 2**32, 40), rng.integers(0, 10, 40)
    made = shares(seed, worlds, counts, number, 5)
    for row, world, count in zip(made, worlds.tolist(), counts.tolist(), strict=True):
        assert np.array_equal(row, np.random.default_rng([seed, world, count, number]).random(5))


@pytest.mark.parametrize("elementwise", [False, True])
@pytest.mark.parametrize(
    "distribution",
    [
        sx.Uniform(0.3, 1.7),
        sx.LogUniform(0.01, 5.0),
        sx.Normal(1.0, 0.3, 0.2, 2.0),
        sx.Choice((1.0, 2.0, 3.0), (1, 2, 3)),
    ],
)
def test_draws_are_those_of_single_worlds(distribution, elementwise):
    """World 7 has the same numbers drawn with others and alone."""
    line = sx.Randomized("a", distribution, elementwise=elementwise)
    drawn = sx.Randomization((line,), seed=11)
    worlds, counts = np.arange(300)[::-1], np.arange(300) % 4
    made = np.broadcast_to(drawn.draws(line, "a", (3, 2), worlds, counts), (300, 3, 2))
    for row, world, count in zip(made, worlds.tolist(), counts.tolist(), strict=True):
        assert np.array_equal(row, np.broadcast_to(drawn.draw(line, "a", (3, 2), world, count), (3, 2)))
