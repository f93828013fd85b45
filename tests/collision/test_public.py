# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The public module: examples run, everything is documented, and both detectors answer alike."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

import worldline.collision as wc

MODULES = sorted({wc.__name__} | {getattr(wc, name).__module__ for name in wc.__all__})


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", wc.__all__)
def test_everything_public_has_a_docstring(name):
    assert (getattr(wc, name).__doc__ or "").strip()


def test_the_list_is_sorted():
    assert wc.__all__ == sorted(wc.__all__)


def test_both_detectors_behind_one_interface():
    pytest.importorskip("coal", reason="Coal is the second detector")
    group = wc.CollisionDetector.create("native").create_group()
    group.add(wc.CollisionShape.plane())
    group.add(wc.CollisionShape.sphere(0.5), pose=(0, 0, 0.45, 0, 0, 0, 1))
    group.add(wc.CollisionShape.box((0.5, 0.5, 0.5)), pose=(2, 0, 1.0, 0, 0, 0, 1))
    answers = [wc.CollisionDetector.create(name) for name in ("native", "coal")]
    depth = [d.collide(group).depths.max() for d in answers]
    assert depth[0] == pytest.approx(0.05, abs=1e-12)
    assert depth[1] == pytest.approx(0.05, abs=1e-6)
    found = [d.distances(group, np.array([[0, 2], [1, 2]])).distance for d in answers]
    assert np.allclose(found[0], found[1], atol=1e-6)
    closest = [d.distance(group) for d in answers]
    assert closest[0].object_b is closest[1].object_b is group[1]
    assert answers[0].overlap(group, wc.CollisionShape.sphere(0.1), (2, 0, 1, 0, 0, 0, 1)) == [group[2]]
