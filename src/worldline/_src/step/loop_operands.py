# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Operands of the compiled loop over steps: stages and arenas by address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.jit import Stage
from worldline._src.scalar.memory import address_of
from worldline._src.step import runner
from worldline._src.step.evaluate import stage_addresses
from worldline._src.step.step_table import INSTEAD, PAUSES, RESUME


def loop_operands(schedule: Sequence[tuple[Stage, int]], sets: Sequence[tuple[Any, ...]]) -> tuple[Any, Any]:
    """Stages and sets of arenas in the form the loop over steps takes; the arenas must outlive them."""
    resume: list[int] = []
    last: dict[Stage | None, int] = {}
    for k, (stage, _) in enumerate(schedule):
        last[stage] = k
        if stage in RESUME:
            begin = RESUME[stage]
            resume.append(last.get(begin, last.get(INSTEAD.get(begin), -1)))
        else:
            resume.append(k + 1 if stage in PAUSES else -1)
    if runner.DISABLED:
        return tuple((*one, k) for one, k in zip(schedule, resume, strict=True)), sets
    addresses = stage_addresses(tuple(stage for stage, _ in schedule))
    places = np.array([place for _, place in schedule], np.int64)
    return (
        np.ascontiguousarray(np.stack([addresses, places, np.array(resume, np.int64)], axis=1)),
        np.array([[address_of(block) for block in row] for row in sets], np.int64),
    )
