# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Binary files of a World: everything that is needed to continue bit for bit.

The file is a short header (`checked_file.py`) and one msgpack map: the description with its meshes and height
fields, its parameters as the model holds them, state, commands, the state that `reset` leads to, mode, clock
and the counters of made-up names. The description keeps the reference configuration that the model was
compiled at. Nothing in it is code, and everything is checked before anything of the World changes.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from worldline._src.errors import SceneError, WorldlineError
from worldline._src.facade import closure_projection, loading
from worldline._src.facade.checked_file import FileKind, from_checked, read_checked, to_checked, write_checked
from worldline._src.facade.checkpoint import handles, kill_handles
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.options import WorldOptions
from worldline._src.facade.runtime import Runtime
from worldline._src.facade.snapshots import BodyState, JointState, Snapshot, objects_of
from worldline._src.later import without_collection
from worldline._src.model.checks import UPDATABLE
from worldline._src.scene.assets.embedding import embed_assets
from worldline._src.scene.formats import load
from worldline._src.scene.formats.atomic_write import path_text
from worldline._src.scene.joints import FreeJoint, Joint

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import W, WorldRuntime

_KIND = FileKind(b"WORLDLIN", 3, "saved World", SceneError)
_NOT_PARAMETERS = {"body_q", "body_qd", "joint_q", "joint_qd", "joint_f", "gravity"}
_PARAMETERS = tuple(name for name in UPDATABLE if name not in _NOT_PARAMETERS)


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    """What the file holds; arrays are their little-endian bytes."""

    scene: bytes
    simulating: bool
    time_start: float
    parameters: dict[str, bytes]
    state: dict[str, bytes]
    initial: dict[str, bytes] | None
    initial_time: float
    numbers: dict[str, int]
    multibody_numbers: dict[str, tuple[int, int]]
    contacts: dict[str, tuple[list[int], bytes]] = {}
    """Contacts of the last step and who sleeps: shape and numbers of each array."""


# ---- writing


def save(world: WorldRuntime, path: str | PathLike[str]) -> None:
    """See `World.save_binary`; the file appears whole or not at all."""
    world._require_no_edit("save_binary")
    world._functions.require_none("a file")
    closure_projection.require_default(world, "a file")
    write_checked(path, _KIND, _encoded(world, Path(path_text(path))))


def to_bytes(world: WorldRuntime) -> bytes:
    """What `save` would write, as bytes."""
    world._require_no_edit("pickling a World")
    world._functions.require_none("a pickle")
    closure_projection.require_default(world, "a pickle")
    return to_checked(_KIND, _encoded(world, None))


def _encoded(world: WorldRuntime, path: Path | None) -> bytes:
    """The World as msgpack; relative asset paths start at `path`."""
    scene = loading.to_scene(world, drawn=False)
    embed_assets(scene)
    return msgspec.msgpack.encode(_packed(world, scene.to_msgpack(file_path=path)))


def clone_world(world: W) -> W:
    """See `World.clone`."""
    world._require_idle()
    world._require_no_edit("clone")
    made = type(world).__new__(type(world))
    with without_collection():
        options, scene = world._options.copy(), loading.to_scene(world, state=False)
        made._start(options, scene)
        made._cloned = world._live()
        loading.fill_with(made, scene, options)
        _take_over_state(world, made)
    made.step_profiling_enabled = world.step_profiling_enabled
    made._functions.take_over(world._functions)
    made._parameters = list(world._parameters)
    closure_projection.take_over(made, world)
    return made


@exclusive
def _take_over_state(world: WorldRuntime, made: WorldRuntime) -> None:
    """Give a clone the state, the mode and the counters of its World, by objects in the same places."""
    source, runtime = world._live(), made._live()
    runtime.take_state(source)
    memory = source.memory()
    if memory:
        runtime.recall(memory)
    made._simulating, made._numbers = world._simulating, dict(world._numbers)
    if world._initial is not None:
        pairs = zip(objects_of(source.scene), objects_of(runtime.scene), strict=True)
        made._initial = _of_others(world._initial, {id(old): new for old, new in pairs})
    made._time_start, made._initial_time = world._time_start, world._initial_time
    for robot, copied in zip(world._multibodies.values(), made._multibodies.values(), strict=True):
        copied._link_number, copied._joint_number = robot._link_number, robot._joint_number


def _of_others(saved: Snapshot, other: dict[int, Any]) -> Snapshot:
    """A snapshot of the objects that stand for others, by the ids of those; arrays are shared."""
    joints, bodies = (
        {
            id(new): kept._replace(owner=new)
            for key, kept in table.items()
            if (new := other.get(key)) is not None
        }
        for table in (saved.joints, saved.bodies)
    )
    return saved._replace(joints=joints, bodies=bodies)


@exclusive
def _packed(world: WorldRuntime, scene: bytes) -> _Saved:
    """All that a World is beside its description."""
    runtime = world._live()
    return _Saved(
        scene=scene,
        simulating=world._simulating,
        time_start=world._time_start,
        parameters={name: _bytes(getattr(runtime.model, name)) for name in _PARAMETERS},
        state=_state(runtime, runtime.snapshot()),
        initial=None if world._initial is None else _state(runtime, world._initial),
        initial_time=world._initial_time,
        numbers=dict(world._numbers),
        multibody_numbers={r.name: (r._link_number, r._joint_number) for r in world._multibodies.values()},
        contacts=_contacts(runtime),
    )


def _contacts(runtime: Runtime) -> dict[str, tuple[list[int], bytes]]:
    return {name: (list(array.shape), _bytes(array)) for name, array in runtime.memory().items()}


def _bytes(array: Any) -> bytes:
    return np.ascontiguousarray(array, "<f8").tobytes()


def _owners(runtime: Runtime) -> list[Joint | FreeJoint]:
    """The joints of a runtime in the order of its model."""
    found: dict[int, Joint | FreeJoint] = {}
    for body in runtime.scene.hierarchy.bodies:
        owned = [body.free] if body.free is not None else []
        owned += [joint for link in body.link.walk() for joint in link.joints]
        found |= {runtime.joint_index[id(j)]: j for j in owned if id(j) in runtime.joint_index}
    return [found[index] for index in sorted(found)]


def _state(runtime: Runtime, snapshot: Snapshot) -> dict[str, bytes]:
    """A snapshot as one array for each field, in the order of the model."""
    made = {
        "clock": _bytes(snapshot.clock),
        "control": _bytes(snapshot.control),
        "activation": _bytes(snapshot.activation),
        "mocap": _bytes(snapshot.mocap),
        "switches": _bytes(runtime.switch_row(snapshot)),
        "joint_commands": _bytes(runtime.command_rows(snapshot)),
    }
    rows = [snapshot.joints[id(joint)] for joint in _owners(runtime)]
    for name in JointState._fields[1:]:
        made[name] = _bytes(np.concatenate([np.zeros(0), *(getattr(row, name) for row in rows)]))
    links = [snapshot.bodies[id(link)] for link in runtime.scene.hierarchy.links()]
    for name in BodyState._fields[1:]:
        made[name] = _bytes(np.array([getattr(row, name) for row in links]).reshape(-1, 6))
    return made


# ---- reading


def restore(world: WorldRuntime, path: str | PathLike[str]) -> None:
    """See `World.load_binary`."""
    world._require_no_edit("load_binary")
    where = path_text(path)
    saved = _decoded(read_checked(where, _KIND), where)
    # a World of its own first: only when all of it stands does the caller's World change
    made = type(world).__new__(type(world))
    _fill(made, saved, where)
    kill_handles(world, "its World was loaded from a file")
    for owned in (*handles(made), *made._parts(), made._functions):
        owned._world = world
    replay = world._replay
    replay._forget()
    vars(world).clear()
    vars(world).update(vars(made), _replay=replay)


def from_bytes(world: WorldRuntime, content: bytes, where: str) -> None:
    """Make a World that has no attributes yet the one that `to_bytes` wrote."""
    _fill(world, _decoded(from_checked(content, _KIND, where), where), where)


def _fill(world: WorldRuntime, saved: _Saved, where: str) -> None:
    """Start a World and make it the saved one."""
    world._start(WorldOptions())
    try:
        # meshes are in the file; what is left by path, textures, may be anywhere
        scene = load.from_msgpack(saved.scene, file_path=where, allow_outside=True)
        loading.fill(world, scene, None)
        _apply(world, saved)
    except WorldlineError as error:
        raise SceneError(f"{where}: not a World that can be restored: {error}") from error


def _decoded(payload: bytes, where: str) -> _Saved:
    try:
        return msgspec.msgpack.decode(payload, type=_Saved)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise SceneError(f"{where}: not a saved World: {error}") from None


def _numbers(table: dict[str, bytes], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array of the file, checked against the shape it must have."""
    data = table.get(name)
    if data is None or len(data) != 8 * int(np.prod(shape)):
        given = "nothing" if data is None else f"{len(data)} bytes"
        raise SceneError(f"{name}: given {given}; allowed: {8 * int(np.prod(shape))} bytes")
    made = np.frombuffer(data, "<f8").astype(np.float64).reshape(shape)
    if np.isnan(made).any():
        raise SceneError(f"{name} holds NaN")
    return made


def _apply(world: WorldRuntime, saved: _Saved) -> None:
    """State, mode and counters onto a World that was filled from the description of the same file."""
    runtime = world._live()
    model = runtime.model
    changed: dict[str, np.ndarray] = {}
    for name in _PARAMETERS:
        now = getattr(model, name)
        stored = _numbers(saved.parameters, name, now.shape)
        if not np.array_equal(stored, now):
            changed[name] = stored
    for upper, lower in (
        ("joint_effort_limit", "joint_effort_lower"),
        ("joint_velocity_limit", "joint_velocity_lower"),
    ):
        if upper in changed:
            changed.setdefault(lower, getattr(model, lower))
    if changed:
        # the description says the same up to rounding; the model goes on with the very numbers
        runtime.update(**changed)
    runtime.restore(_snapshot(runtime, saved.state))
    _recall(runtime, saved.contacts)
    if saved.simulating != (saved.initial is not None):
        raise SceneError("a World in simulation mode, and only such a one, has a state to reset to")
    world._simulating = saved.simulating
    world._initial = None if saved.initial is None else _snapshot(runtime, saved.initial)
    for name in ("time_start", "initial_time"):
        if not (np.isfinite(getattr(saved, name)) and getattr(saved, name) >= 0.0):
            raise SceneError(f"{name} must be non-negative and finite, got {getattr(saved, name)}")
    world._time_start, world._initial_time = saved.time_start, saved.initial_time
    if saved.numbers.keys() != world._numbers.keys() or min(saved.numbers.values()) < 0:
        raise SceneError(f"counters of names: given {saved.numbers}")
    world._numbers = dict(saved.numbers)
    for robot in world._multibodies.values():
        robot._link_number, robot._joint_number = saved.multibody_numbers.get(robot.name, (0, 0))


def _recall(runtime: Runtime, contacts: dict[str, tuple[list[int], bytes]]) -> None:
    """Contacts of the last step and who sleeps."""
    if not contacts:
        return
    memory: dict[str, np.ndarray] = {}
    for name, (shape, data) in contacts.items():
        if any(size < 0 for size in shape):
            raise SceneError(f"{name}: given shape {shape}")
        memory[name] = _numbers({name: data}, name, tuple(shape))
    wrong = runtime.unfit(memory)
    if wrong is not None:
        raise SceneError(f"{wrong}: does not fit the contacts and bodies of the description")
    runtime.recall(memory)


def _snapshot(runtime: Runtime, table: dict[str, bytes]) -> Snapshot:
    model = runtime.model
    nq, nv = model.joint_coord_count, model.joint_dof_count
    fields = JointState._fields[1:]
    flat = {name: _numbers(table, name, (nq if name.startswith("q") else nv,)) for name in fields}
    if not all(np.isfinite(numbers).all() for numbers in flat.values()):
        raise SceneError("the state is not finite")
    joints = {}
    for joint in _owners(runtime):
        q, v = runtime.q_slice(joint), runtime.v_slice(joint)
        joints[id(joint)] = JointState(
            joint, *(flat[name][q if name.startswith("q") else v].copy() for name in fields)
        )
    links = list(runtime.scene.hierarchy.links())
    held, once = (_numbers(table, name, (len(links), 6)) for name in BodyState._fields[1:])
    bodies = {id(link): BodyState(link, held[k], once[k]) for k, link in enumerate(links)}
    switches = runtime.changed_switches(_numbers(table, "switches", runtime.switches.shape))
    commands = _numbers(table, "joint_commands", runtime.joint_commands.shape)
    if not np.isfinite(commands).all():
        raise SceneError("commands of joints are not finite")
    return Snapshot(
        joints,
        bodies,
        _numbers(table, "clock", runtime.sim.clock.shape),
        _numbers(table, "control", runtime.control.shape),
        _numbers(table, "activation", runtime.activation.shape),
        _numbers(table, "mocap", runtime.mocap.shape),
        switches,
        dict(
            zip(runtime.model.loop_joints.label if runtime.model.loop_joints else (), commands, strict=True)
        ),
    )
