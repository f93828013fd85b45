# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Fingerprints for comparing runs: hashes of a model, of options and of state."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.values import is_array
from worldline._src.facade.world_arrays import arrays_of
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


def digest(parts: Iterable[Array | str]) -> str:
    """SHA-256 of arrays and texts, each with its shape or length, as 64 hexadecimal digits."""
    made = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            data = part.encode()
            made.update(f"text {len(data)}:".encode())
        else:
            array = np.ascontiguousarray(part)
            data = array.astype(array.dtype.newbyteorder("<")).tobytes()
            made.update(f"{array.dtype.kind} {array.shape}:".encode())
        made.update(data)
    return made.hexdigest()


def model_parts(model: Model) -> list[Array | str]:
    """What a model is: topology, parameters and tables."""
    made: list[Array | str] = [model.arenas.index, model.arenas.constant, "\n".join(model.body_label)]
    tables = ("shapes", "actuators", "tendons", "contact_pairs", "loop_joints", "keyframes", "sensors")
    for name in tables:
        table: object = getattr(model, name, None)
        if table is not None:
            made.append(name)
            made += [x for x in vars(table).values() if is_array(x) and x.dtype.kind in "fiub"]
    return made


@exclusive
def world_fingerprint(world: WorldRuntime) -> str:
    """See `World.fingerprint`."""
    runtime = world._live()
    arrays = arrays_of(runtime.sim, runtime)
    return digest(
        [
            *model_parts(runtime.model),
            repr(world.options),
            *arrays.values(),
            runtime.switches.astype(float),
            np.array([world.time, world.frame]),
        ]
    )
