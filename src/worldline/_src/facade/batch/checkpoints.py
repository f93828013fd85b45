# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Checkpoint files of a batch: everything the next step of each world depends on, written atomically.

The file has no description: it is read into a batch of the same one, with as many worlds in the same layout.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from worldline._src.errors import SceneError, WorldlineError
from worldline._src.facade import persistence
from worldline._src.facade.batch.lane_worlds import PARAMETER
from worldline._src.facade.batch.layout_choice import THREADS
from worldline._src.facade.batch.selecting import indices_of
from worldline._src.facade.checked_file import FileKind, read_checked, write_checked
from worldline._src.facade.fingerprint import digest, model_parts
from worldline._src.facade.options import noise_seed
from worldline._src.facade.values import is_array
from worldline._src.scene.formats.atomic_write import path_text
from worldline._src.spatial.poses import Array
from worldline._src.step.contact_memory import recall, remembered
from worldline._src.step.simulation import Simulation

if TYPE_CHECKING:
    from worldline._src.facade.batch.thread_worlds import Unit
    from worldline._src.facade.batch.world_batch import WorldBatch

_KIND = FileKind(b"WORLDBAT", 2, "checkpoint of a WorldBatch", SceneError)

Packed = tuple[list[int], bytes]
"""Shape and little-endian numbers of an array."""


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    """What the file holds."""

    layout: str
    num_worlds: int
    model: str
    """Fingerprint of the model that all worlds start with."""
    arrays: dict[str, Packed]
    worlds: dict[str, bytes]
    sensor_noise_seed: int | None
    dtype: str = "float64"


def _pack(array: Array) -> Packed:
    return list(array.shape), np.ascontiguousarray(array, "<f8").tobytes()


def _unpack(packed: Packed, what: str) -> Array:
    shape, data = packed
    if len(data) != 8 * int(np.prod(shape)):
        raise SceneError(f"{what}: given {len(data)} bytes; allowed: {8 * int(np.prod(shape))} bytes")
    return np.frombuffer(data, "<f8").astype(np.float64).reshape(shape)


def save(batch: WorldBatch, path: str | PathLike[str]) -> None:
    """See `WorldBatch.save`."""
    write_checked(path, _KIND, packed(batch))


def packed(batch: WorldBatch) -> bytes:
    """Everything that the next steps of a batch depend on."""
    parts = batch._worlds.save()
    saved = _Saved(
        layout=batch.layout,
        num_worlds=batch.num_worlds,
        model=digest(model_parts(batch.model)),
        arrays={name: _pack(part) for name, part in parts.items() if is_array(part)},
        worlds={name: part for name, part in parts.items() if isinstance(part, bytes)},
        sensor_noise_seed=batch.sensor_noise_seed,
        dtype=batch.dtype.name,
    )
    return msgspec.msgpack.encode(saved)


def load(batch: WorldBatch, path: str | PathLike[str]) -> None:
    """See `WorldBatch.load`."""
    where = path_text(path)
    restore(batch, read_checked(where, _KIND), where)


def restore(batch: WorldBatch, data: bytes, where: str) -> None:
    """Take over what `packed` gave; when it does not fit, the batch is as it was."""
    try:
        saved = msgspec.msgpack.decode(data, type=_Saved)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise SceneError(f"{where}: not a checkpoint of a WorldBatch: {error}") from None
    for what, theirs, own in (
        ("num_worlds", saved.num_worlds, batch.num_worlds),
        ("layout", saved.layout, batch.layout),
        ("dtype", saved.dtype, batch.dtype.name),
        ("model", saved.model, digest(model_parts(batch.model))),
    ):
        if theirs != own:
            raise SceneError(f"{where}: {what} of the checkpoint is {theirs}, that of this batch {own}")
    before = batch._worlds.save()
    given: dict[str, Any] = {name: _unpack(packed, name) for name, packed in saved.arrays.items()}
    given |= saved.worlds
    for name, part in before.items():
        if name.startswith(PARAMETER):
            continue
        if name not in given or (is_array(part) and given[name].shape != part.shape):
            raise SceneError(f"{where}: {name} is missing or does not fit")
    before = {name: part.copy() if is_array(part) else part for name, part in before.items()}
    try:
        _require_parameters(batch, given, where)
        seed = noise_seed(saved.sensor_noise_seed)
        batch._worlds.load(given)
        batch.sensor_noise_seed = seed
    except (WorldlineError, msgspec.MsgspecError, KeyError) as error:
        batch._worlds.load(before)
        raise SceneError(f"{where}: not a checkpoint that can be restored: {error}") from error


def _require_parameters(batch: WorldBatch, given: dict[str, Any], where: str) -> None:
    """Raise where a file has parameters that worlds of the batch do not have."""
    for name, rows in given.items():
        known = name.removeprefix(PARAMETER)
        if known == name:
            continue
        if known not in batch.parameters or rows.shape != batch.parameters[known].shape:
            raise SceneError(f"{where}: parameter '{known}' is not one of this batch, or has another shape")


# ---- one world of threads


class _SavedSimulation(msgspec.Struct, forbid_unknown_fields=True):
    """A Simulation beside its model."""

    arrays: dict[str, Packed]
    memory: dict[str, Packed]
    frozen: bool


def _own_arrays(sim: Simulation) -> dict[str, Array]:
    made = {"data": sim.data, "control": sim.control, "activation": sim.activation}
    if sim.constraints is not None:
        made |= {name: sim.constraints.column[name] for name in ("equality_on", "equality_break")}
    return made


def unit_bytes(unit: Unit, full: bool) -> bytes:
    """State of one world; `full` with its description, for parameters of its own."""
    if unit.world is not None:
        head = (b"1" if unit.sim.frozen else b"0") + (b"1" if full else b"0")
        if full:
            return head + persistence.to_bytes(unit.world)
        return head + msgspec.msgpack.encode(persistence._packed(unit.world, b""))
    sim = unit.sim
    memory = remembered(sim)
    return msgspec.msgpack.encode(
        _SavedSimulation(
            {name: _pack(array) for name, array in _own_arrays(sim).items()},
            {name: _pack(array) for name, array in memory.items()},
            sim.frozen,
        )
    )


def unit_restore(unit: Unit, data: bytes) -> None:
    """Take over what `unit_bytes` gave."""
    if unit.world is not None:
        if data[1:2] == b"1":
            made = type(unit.world).__new__(type(unit.world))
            persistence.from_bytes(made, data[2:], "checkpoint of a WorldBatch")
            made._ready()
            unit.world = made
        else:
            persistence._apply(unit.world, msgspec.msgpack.decode(data[2:], type=persistence._Saved))
        unit.sim.frozen = data[:1] == b"1"
        return
    saved, sim = msgspec.msgpack.decode(data, type=_SavedSimulation), unit.sim
    for name, array in _own_arrays(sim).items():
        array[...] = _unpack(saved.arrays[name], name)
    sim.written()
    if sim.constraints is not None:
        sim.constraints.forget_contacts()
        wrong = recall(sim, {name: _unpack(packed, name) for name, packed in saved.memory.items()})
        if wrong is not None:
            raise SceneError(f"{wrong} does not fit the contacts of the model")
    sim.frozen = saved.frozen


def fingerprint(batch: WorldBatch, world: int | None) -> str:
    """See `WorldBatch.fingerprint`."""
    which, worlds = indices_of(world, batch.num_worlds, least=1), batch._worlds
    own = worlds.kind == THREADS or worlds.has_own_parameters
    noise = "" if batch.sensor_noise_seed is None else f"noise {batch.sensor_noise_seed}"
    shared = None if own else digest(model_parts(batch.model))
    options = "" if batch._template.world is None else repr(batch._template.world.options)
    # double precision has the fingerprints it had before there was another
    options += "" if batch.dtype == np.float64 else f" {batch.dtype.name}"
    arrays = [array for name, array in worlds.arrays.items() if batch._has(name) and array[0].size]
    clock = np.stack([worlds.time, worlds.frame], axis=1)
    made: list[Array | str] = []
    for w in which.tolist():
        model = digest(model_parts(worlds.models(np.array([w]))[0])) if own else shared
        made.append(digest([str(model), options, *(array[w] for array in arrays), clock[w], noise]))
    return str(made[0]) if world is not None else digest(made)
