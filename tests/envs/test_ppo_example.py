# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The example of proximal policy optimisation learns, and the learning curves of the documents are its own."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_example_learns_to_hop():
    pytest.importorskip("gymnasium", reason="learning environments need gymnasium")
    torch = pytest.importorskip("torch", reason="the example is written with PyTorch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        learn = runpy.run_path(str(ROOT / "examples" / "learning" / "ppo.py"))["learn"]
        curve = learn("Hopper", 60.0, updates=15)
    finally:
        torch.set_num_threads(before)
    assert len(curve) == 15 and curve[-1][1] == 15 * 64 * 64
    # random actions keep it up for some 20 steps
    assert curve[0][2] < 40.0 and curve[-1][2] > 2 * curve[0][2]


@pytest.mark.parametrize(("name", "reward", "minutes"), [("half_cheetah", 2000, 1), ("ant", 2500, 6)])
def test_the_learning_curves_are_what_the_page_says(name, reward, minutes):
    rows = (ROOT / "docs" / "data" / f"learning_{name}.csv").read_text("utf-8").splitlines()
    assert rows[0] == "seconds,steps,reward"
    curve = [tuple(map(float, row.split(","))) for row in rows[1:]]
    assert next(seconds for seconds, _, got in curve if got > reward) < 60 * minutes
    assert curve[-1][2] > reward and curve == sorted(curve, key=lambda row: row[0])
