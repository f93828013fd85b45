# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of groups and detectors find what the originals find, also when these are gone."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest

from worldline import OperationError
from worldline.collision import CollisionDetector, CollisionShape


@pytest.mark.parametrize("kind", ["native", "coal"])
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"]
)
def test_a_detector_and_its_group_are_copied_together(kind, copied):
    if kind == "coal":
        pytest.importorskip("coal")
    detector = CollisionDetector.create(kind)
    group = detector.create_group()
    group.add(CollisionShape.plane(), static=True)
    group.add(CollisionShape.box((0.5, 0.5, 0.5)), pose=(0, 0, 0.49, 0, 0, 0, 1))
    found = detector.collide(group)
    twins = copied({"detector": detector, "group": group})
    del detector, group
    gc.collect()
    again = twins["detector"].collide(twins["group"])
    assert len(again) == len(found) > 0
    assert again.depths.tobytes() == found.depths.tobytes()
    twins["group"].add(CollisionShape.sphere(0.5), pose=(0, 0, 1.0, 0, 0, 0, 1))
    assert len(twins["detector"].collide(twins["group"])) > len(found)


def test_a_shallow_copy_of_a_group_is_refused():
    group = CollisionDetector.create("native").create_group()
    with pytest.raises(OperationError, match="deepcopy"):
        copy.copy(group)
