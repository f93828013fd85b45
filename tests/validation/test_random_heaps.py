# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random heaps of every law and method: nothing is lost and nothing explodes. Thousands: `benchmarks/robustness.py`."""

from __future__ import annotations

import numpy as np
import pytest
from random_heaps import LAWS, Case, fall, random_case

from worldline import simulation as sx

HEAPS = 24 * 3


@pytest.mark.parametrize("part", range(8))
def test_heaps_neither_explode_nor_get_lost(part):
    for seed in range(10_000 + part, 10_000 + HEAPS, 8):
        case = random_case(seed)
        outcome = fall(case, 30)
        assert outcome.finite and not outcome.exploded, (case, outcome)


@pytest.mark.parametrize("seed", [489, 593, 1689])
def test_bounces_of_many_contacts_with_friction_add_no_energy(seed):
    """Heaps in which Newton's restitution alone gains up to half of the energy there is."""
    outcome = fall(random_case(seed), 60)
    assert outcome.finite and outcome.energy <= outcome.allowed, outcome


@pytest.mark.parametrize("law", ["hard", "hard, bouncing"])
@pytest.mark.parametrize(
    "seed, method", [(5033, "NEWTON"), (4433, "NEWTON"), (3857, "NEWTON"), (3857, "BOXED_LCP")]
)
def test_bodies_jammed_into_each_other_are_moved_and_not_thrown(seed, method, law):
    """Heaps with pushes below 1 m/s that left bodies at several: 1.07 to 1.3 times the energy explained.

    These jams are chaotic, so several starts that differ by rounding are judged, each by itself.
    """
    case = random_case(seed)._replace(method=sx.ContactSolverMethod[method], law=law)
    for k in range(7):
        outcome = fall(case._replace(friction=case.friction * (1.0 + 1e-13 * k)), 12)
        assert outcome.finite and outcome.energy <= 0.9 * outcome.allowed, (k, outcome)
        # some of these steps have less friction than asked for, and say so
        assert outcome.unconverged == 0 and outcome.weakened <= 4, (k, outcome)


@pytest.mark.parametrize("h", [1e-4, 1e-3, 0.02])
@pytest.mark.parametrize("method", list(sx.ContactSolverMethod))
def test_deep_overlap_is_no_explosive(h, method):
    """Bodies that start inside each other leave at a walk, whatever the step."""
    case = Case(seed=5, law="hard", method=method, friction=0.5, h=h, deep=True, count=10)
    outcome = fall(case, 50)
    assert outcome.finite and not outcome.exploded, outcome


@pytest.mark.parametrize("law", LAWS)
def test_a_heap_comes_to_rest(law):
    case = Case(
        seed=3, law=law, method=sx.ContactSolverMethod.NEWTON, friction=0.6, h=0.002, deep=False, count=8
    )
    outcome = fall(case, 600)
    assert outcome.finite and not outcome.exploded
    # of the soft laws the softest gives most: several g over 2500 1/s^2
    assert outcome.at_rest < (0.03 if law in ("soft acceleration spring", "impedance") else 2e-3), outcome
    assert np.isfinite(outcome.energy)
