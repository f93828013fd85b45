# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts cut into shares of worlds, and put together again.

Shares depend on the number of worlds alone, and a world has the same bits in a batch of any size, so the
result does not depend on who computes which share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.errors import StepFailure
from worldline._src.facade.batch.contacts import BatchContacts
from worldline._src.facade.batch.rollout import Feedback, RolloutTrajectory, count_of, sequence_of, states_of
from worldline._src.facade.batch.template import BatchSource
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array


class Share(NamedTuple):
    """What one worker needs to roll out some worlds."""

    first: int
    """Index of its first world."""
    states: Any
    """Initial states of these worlds, by name or as one array."""
    control: Any
    """Controls of these worlds, or a Feedback, or None."""


def shares_of(model: BatchSource, initial_state: Any, control: Any, size: int) -> list[Share]:
    """A rollout in shares of at most `size` worlds."""
    states = states_of(model, initial_state)
    sequence = None if control is None or isinstance(control, Feedback) else sequence_of(control)
    count = count_of(states, sequence)

    def rows(array: Array, dims: int, low: int) -> Array:
        return array[low : low + size] if array.ndim == dims else np.broadcast_to(array, (1, *array.shape))

    made = []
    for low in range(0, count, size):
        here = min(size, count - low)
        own = {
            name: np.broadcast_to(rows(x, 2, low), (here, x.shape[-1])).copy() for name, x in states.items()
        }
        part = control
        if sequence is not None:
            part = np.broadcast_to(rows(sequence, 3, low), (here, *sequence.shape[-2:])).copy()
        made.append(Share(low, own.get("", own) or None, part))
    return made


def joined(parts: list[RolloutTrajectory], firsts: list[int]) -> RolloutTrajectory:
    """The trajectory of all worlds from those of the shares, in the order of worlds."""
    columns: dict[str, Any] = {}
    for name in ("joint_positions", "joint_velocities", "activations", "controls", "time", "sensor_values"):
        rows = [getattr(part, name) for part in parts]
        columns[name] = None if rows[0] is None else np.concatenate(rows)
    failures = tuple(
        _moved(failure, first) for part, first in zip(parts, firsts, strict=True) for failure in part.failures
    )
    contacts = None
    if parts[0].contacts is not None:
        steps = zip(*(part.contacts or () for part in parts), strict=True)
        contacts = tuple(_contacts(list(step), firsts) for step in steps)
    return RolloutTrajectory(**columns, contacts=contacts, failures=failures)


def _moved(failure: StepFailure, first: int) -> StepFailure:
    """A failure with the index that its world has among all."""
    given = (failure.body, failure.quantity, failure.frame, failure.value)
    return StepFailure(*given, world=first + (failure.world or 0), outcome=failure.outcome)


def _contacts(found: list[BatchContacts], firsts: list[int]) -> BatchContacts:
    """Contacts of one step in all worlds."""
    moved = [c._replace(world=c.world + first) for c, first in zip(found, firsts, strict=True)]
    return BatchContacts(*(np.concatenate(column) for column in zip(*moved, strict=True)))
