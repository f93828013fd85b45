# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Models with tendons, equalities and a fluid from two collections, with random controls, against MuJoCo."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from oracle.test_contact_steps import Pair
from peers import gymnasium_model

pytest.importorskip("mujoco", reason="compares with MuJoCo")


def suite_model(name: str) -> str:
    """A model file of dm_control's suite; its code is not used."""
    found = find_spec("dm_control")
    if found is None or found.origin is None:
        pytest.skip("the model files of dm_control are not installed")
    return str(Path(found.origin).parent / "suite" / f"{name}.xml")


def run(path: str) -> Pair:
    pair, rng = Pair(path), np.random.default_rng(0)
    low, high = pair.m.actuator_ctrlrange.T
    for _ in range(50):
        pair.step(rng.uniform(low, high))
    return pair


@pytest.mark.parametrize("name", ["ball_in_cup", "fish", "point_mass", "manipulator", "quadruped", "stacker"])
def test_tendons_and_equalities(name):
    pair = run(suite_model(name))
    assert pair.gap() < 1e-11
    assert pair.m.ntendon > 0


@pytest.mark.parametrize("name", ["swimmer", "pusher", "reacher", "inverted_double_pendulum"])
def test_medium_and_tables(name):
    assert run(gymnasium_model(name)).gap() < 1e-11


def test_a_dog_that_sweeps_against_slip():
    """85 degrees of freedom, tendons, filtered actuators and a dozen contacts: 1e-3 after fifty steps."""
    pair, rng = Pair(suite_model("dog")), np.random.default_rng(0)
    assert pair.m.opt.noslip_iterations > 0
    low, high = pair.m.actuator_ctrlrange.T
    for k in range(50):
        pair.step(rng.uniform(low, high))
        # until the first of many impacts the two are one
        assert k > 7 or pair.gap() < 1e-9
    assert pair.gap() < 1e-3
