# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Edit blocks: topology changes of a running World, applied as a whole or rolled back.

Within the block objects may be added and removed. At its end everything is checked and compiled; state is
carried over by object. What raises within it, or fails the check, leaves the World as it was, bit for bit.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from worldline._src.errors import OperationError
from worldline._src.facade.checkpoint import Checkpoint
from worldline._src.facade.snapshots import Snapshot
from worldline._src.facade.step_report import keep_contacts

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import W


@contextmanager
def edit(world: W) -> Generator[W, None, None]:
    """See `World.edit`."""
    if world._editing:
        raise OperationError("edit() within edit(): one block at a time")
    before = Checkpoint(world)
    known = world._initial
    if world._runtime is not None:
        keep_contacts(world)
        # the block works on a runtime of its own, so that the present one can be put back untouched
        world._carried = world._runtime.snapshot()
        world._runtime = None
    world._editing = True
    world._checked = False
    try:
        yield world
        world.validate_topology()
        if world._simulating and known is not None:
            world._initial = _extended(known, world._live().snapshot())
    except BaseException:
        before.restore("the edit() it was made in was rolled back")
        raise
    world._editing = False


def _extended(initial: Snapshot, now: Snapshot) -> Snapshot:
    """Where `reset` leads after an edit: old objects to their old start, new ones to how they were added."""
    joints = {}
    for key, state in now.joints.items():
        old = initial.joints.get(key)
        fits = old is not None and len(old.q) == len(state.q) and len(old.v) == len(state.v)
        joints[key] = old if old is not None and fits else state
    bodies = {key: initial.bodies.get(key, wrench) for key, wrench in now.bodies.items()}
    return initial._replace(joints=joints, bodies=bodies)
