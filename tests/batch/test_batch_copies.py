# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""copy.deepcopy and pickle of batches give batches of their own that go on bit for bit; views refuse."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from worldline import OperationError
from worldline import simulation as sx

Copier = Callable[[Any], Any]
COPIERS: dict[str, Copier] = {"deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}
copiers = pytest.mark.parametrize("copied", COPIERS.values(), ids=COPIERS)
MASS = "rigid_bodies.ball.mass"


def _world(links: int = 1) -> sx.World:
    world = sx.World(time_step=0.002)
    world.add_rigid_body("ball", position=(0, 0, 1))
    arm, parent = world.add_multibody("arm"), None
    for k in range(links):
        spec = sx.JointSpec(name=f"hinge{k}", axis=(0, 1, 0))
        parent = arm.add_link(f"link{k}", parent, spec, mass=1.0, inertia=(0.1, 0.2, 0.25))
    return world


def _batch(layout: str, own: bool) -> sx.WorldBatch:
    batch = sx.WorldBatch(_world(), 4, layout=layout)
    assert MASS in batch.parameters.names
    if own:
        batch.parameters[MASS] = [1.0, 2.0, 3.0, 4.0]
    batch.joint_velocities[:] = np.arange(4.0)[:, None]
    batch.body_wrenches[:, 0, 5] = 2.0
    batch.step(n=10)
    return batch


@copiers
@pytest.mark.parametrize("own", [False, True], ids=["", "own parameters"])
@pytest.mark.parametrize("layout", ["lanes", "threads"])
def test_a_copy_goes_on_as_the_original_and_shares_nothing(layout: str, own: bool, copied: Copier) -> None:
    batch = _batch(layout, own)
    before = batch.joint_positions.copy()
    twin = copied(batch)
    assert twin.layout == layout and twin.parameters[MASS].tolist() == batch.parameters[MASS].tolist()
    twin.step(n=15)
    assert (twin.joint_positions != before).any(axis=1).all()
    assert (batch.joint_positions == before).all() and batch.frame.tolist() == [10] * 4
    batch.step(n=15)
    for name in ("joint_positions", "joint_velocities", "body_poses", "time", "frame"):
        assert (getattr(twin, name) == getattr(batch, name)).all(), name
    # what is written goes to the worlds of the copy alone, in one array or by name
    twin.joint_velocities[:] = 0.0
    twin.rigid_bodies["ball"].linear_velocity = (0.0, 0.0, 7.0)
    assert batch.joint_velocities.any() and (twin.joint_velocities == 7.0).sum() == 4
    twin.reset()
    batch.reset()
    assert (twin.joint_positions == batch.joint_positions).all()
    assert (twin.joint_velocities == batch.joint_velocities).all()


@copiers
def test_batches_of_several_models_are_copied(copied: Copier) -> None:
    batch = sx.MixedBatch([_world(1), _world(2), _world(1)])
    batch.step(n=5)
    twin = copied(batch)
    twin.step(n=5)
    batch.step(n=5)
    for k in range(3):
        assert (twin.world(k).joint_positions == batch.world(k).joint_positions).all()
        assert twin.world(k).joint_velocities.any()


@pytest.mark.parametrize("copied", [copy.copy, *COPIERS.values()], ids=["copy", *COPIERS])
def test_views_of_a_batch_refuse_with_words(copied: Copier) -> None:
    batch = _batch("lanes", own=False)
    arm = batch.multibodies["arm"]
    mixed = sx.MixedBatch([_world(1), _world(1)])
    views = (
        batch.worlds,
        batch.worlds[1],
        batch.select([0, 2]),
        batch.rigid_bodies["ball"],
        batch.parameters,
    )
    for view in (*views, arm, arm.joints["hinge0"], arm.links["link0"], mixed.articulations("arm")):
        with pytest.raises(OperationError, match="it is a view; copy the batch"):
            copied(view)
        with pytest.raises(AttributeError):
            view.nonsense = 1
