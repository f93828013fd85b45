# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Results of 500 steps are those of the golden set, bit for bit where it was recorded on such a machine."""

from __future__ import annotations

import json

import golden_set
import pytest
from golden_scenes import SCENES

from worldline import simulation as sx
from worldline._src.jit import DISABLED

pytestmark = pytest.mark.skipif(DISABLED, reason="the golden set is recorded with compiled kernels")


@pytest.mark.parametrize("name", SCENES)
def test_results_are_those_of_the_golden_set(name):
    kept = golden_set.recorded()
    early, found = golden_set.run(name)
    assert golden_set.close(early, kept["early"][name]), f"{name}: other state after {golden_set.EARLY} steps"
    wanted = kept["hashes"].get(golden_set.machine(), {}).get(name)
    if wanted is not None:
        assert found == wanted, f"{name}: other bits; if that is meant: make golden REASON='...'"


def test_a_run_is_repeated_to_the_bit():
    name = "monopod with sensors"
    assert golden_set.run(name) == golden_set.run(name)


def test_the_set_has_every_kind():
    for kind in sx.JointType:
        if kind not in (sx.JointType.FIXED, sx.JointType.CABLE, sx.JointType.CUSTOM):
            assert f"joint {kind.value}" in SCENES
    for family in sx.MultibodyIntegrationFamily:
        assert f"every joint, {family.value}" in SCENES
    for solver in sx.ContactSolverMethod:
        assert f"heap of 8, {solver.value}" in SCENES
    assert len(SCENES) >= 40


def test_renewing_notes_what_changed_and_why(tmp_path, monkeypatch):
    name = "joint revolute"
    monkeypatch.setattr(golden_set, "FILE", tmp_path / "golden.json")
    monkeypatch.setattr(golden_set, "SCENES", {name: SCENES[name]})
    assert golden_set.renew("the first record") == [name]
    assert golden_set.renew("nothing changed") == []
    kept = json.loads(golden_set.FILE.read_text())
    kept["hashes"]["another machine"] = {name: "a hash"}
    kept["hashes"][golden_set.machine()][name] = "another hash"
    golden_set.FILE.write_text(json.dumps(kept))
    assert golden_set.renew("other rounding") == [name]
    kept = json.loads(golden_set.FILE.read_text())
    assert kept["hashes"]["another machine"] == {name: "a hash"}
    kept["early"][name][0] += 1e-3
    golden_set.FILE.write_text(json.dumps(kept))
    golden_set.renew("another state")
    kept = json.loads(golden_set.FILE.read_text())
    assert kept["hashes"]["another machine"] == {}
    assert [entry["reason"] for entry in kept["history"]] == ["the first record", "other rounding"]
