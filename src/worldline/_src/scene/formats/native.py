# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The native formats: MSD as JSON and as msgpack.

Both hold the same maps: the attribute names of the scene objects, enumerations by member name, and
variants by case name in PascalCase. Fields at their default are left out, except those the format
requires. JSON has no infinities, so they are the texts "inf" and "-inf" there; msgpack stores mesh
arrays as raw bytes. Reading what was written gives an equal scene, bit for bit.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from os import PathLike
from typing import Any, Final

from worldline._src.errors import SceneError
from worldline._src.scene.base import clone
from worldline._src.scene.compose import base_directory, is_rooted, rename
from worldline._src.scene.contexts import Source, TooManyProblems, Writer
from worldline._src.scene.formats.pretty import pretty
from worldline._src.scene.formats.size_limits import check_size
from worldline._src.scene.kinds import FAILED, Rename
from worldline._src.scene.limits import LIMITS, Limits
from worldline._src.scene.validate import check_structure
from worldline._src.scene.world import World

REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "FreeJoint": ("friction_loss", "armature"),
    "SimulateOption": (
        "timestep",
        "constraint_solver_iterations",
        "constraint_solver_tolerance",
        "friction_model",
        "solver_type",
    ),
    "Site": ("position", "orientation", "shape"),
    "Camera": ("position", "orientation", "position_track"),
    "Actuator": ("actuator_type", "target"),
    "EqualityConstraintSet": ("connects", "welds", "joints"),
    "EqualityConnect": ("active", "spring"),
    "EqualityWeld": ("active", "spring"),
    "EqualityJoint": ("active", "spring"),
    "JointTendon": ("joints", "limit_force"),
    "SensorSet": ("subtree", "frame", "joint", "touch", "contact"),
    "JointSensor": ("joint", "type_"),
    "FrameSensor": ("object_type",),
    "ContactSensor": ("match_",),
    "ContactSensorReport": ("found", "force", "torque", "dist", "pos", "normal", "tangent"),
    "PhysicsMaterial": ("contact_model", "force_mix"),
    "PositionParam": ("damping_value",),
    "MeshData": ("vertices", "triangles"),
    "MeshSource.path": ("using_meshes",),
    "Texture": ("source",),
}
"""Keys that other readers of the format insist on; always written, and demanded by strict reading."""

JSON_SUFFIXES: Final = (".json", ".msd")
_CHECKSUM: Final = "checksum"
_DIGEST: Final = hashlib.sha256().digest_size
_MARKER: Final = b"\xa8" + _CHECKSUM.encode() + b"\xc4" + bytes([_DIGEST])
"""What stands before the digest: the key, a text of 8 characters, and the type and length of the bytes."""
MSGPACK_SUFFIXES: Final = (".msgpack", ".mpk")


def to_plain(world: World, *, binary: bool, defaults: bool) -> dict[str, Any]:
    """A scene as maps, lists, numbers and text."""
    problems = check_structure(world)
    if problems:
        raise SceneError(f"the scene cannot be written: {len(problems)} problems", problems)
    writer = Writer(binary=binary, defaults=defaults, required=REQUIRED)
    plain = world._plain(writer)
    writer.finish()
    return plain


def to_json(
    world: World,
    *,
    file_path: str | PathLike[str] | None = None,
    defaults: bool = False,
    indented: bool = False,
) -> bytes:
    """A scene as JSON, on one line or indented."""
    import msgspec

    plain = to_plain(for_file(world, file_path), binary=False, defaults=defaults)
    if indented:
        return pretty(plain, lambda part: _deep(msgspec.json.encode, part))
    return _deep(msgspec.json.encode, plain)


def to_msgpack(
    world: World, *, file_path: str | PathLike[str] | None = None, defaults: bool = False
) -> bytes:
    """A scene as msgpack, with a checksum as the last entry of its map."""
    import msgspec

    plain = to_plain(for_file(world, file_path), binary=True, defaults=defaults)
    plain[_CHECKSUM] = bytes(_DIGEST)
    data = _deep(msgspec.msgpack.encode, plain)[:-_DIGEST]
    return data + hashlib.sha256(data).digest()


def _check_checksum(data: bytes, where: str) -> None:
    """Refuse bytes whose checksum is wrong, or is damaged itself; files of other writers may have none.

    The checksum is SHA-256 over everything before it. Its key and type are recognized with one wrong byte
    too, so a flipped byte there does not make a file one without a checksum.
    """
    marker, start = data[-_DIGEST - len(_MARKER) : -_DIGEST], len(data) - _DIGEST
    same = sum(a == b for a, b in zip(marker, _MARKER, strict=False))
    if len(marker) < len(_MARKER) or same < len(_MARKER) - 1:
        return
    if marker != _MARKER or hashlib.sha256(data[:start]).digest() != data[start:]:
        raise SceneError(f"{where}damaged, its checksum does not match")


def _decode_msgpack(data: bytes) -> Any:
    import msgspec

    plain: Any = msgspec.msgpack.decode(data)
    table: dict[Any, Any] = plain
    if isinstance(plain, dict):
        table.pop(_CHECKSUM, None)
    return table


def for_file(world: World, file_path: str | PathLike[str] | None) -> World:
    """The scene with relative asset paths that start at another file."""
    ours = base_directory(world)
    if file_path is None or ours is None:
        return world
    theirs = os.path.dirname(os.path.abspath(file_path))
    if theirs == ours:
        return world

    def file(path: str) -> str:
        if not path or is_rooted(path):
            return path
        return os.path.relpath(os.path.join(ours, path), theirs)

    moved = clone(world)
    rename(moved, Rename(file=file))
    return moved


def from_json(
    data: bytes, *, file: str | None = None, strict: bool = False, limits: Limits = LIMITS
) -> tuple[World, Source]:
    """A scene from JSON, and the problems met on the way."""
    import msgspec

    return _read(data, msgspec.json.decode, "JSON", file=file, strict=strict, limits=limits)


def from_msgpack(
    data: bytes, *, file: str | None = None, strict: bool = False, limits: Limits = LIMITS
) -> tuple[World, Source]:
    """A scene from msgpack, and the problems met on the way."""
    where = f"{file}: " if file else ""
    check_size(data, "msgpack", limits, where)
    _check_checksum(data, where)
    return _read(data, _decode_msgpack, "msgpack", file=file, strict=strict, limits=limits)


def _read(
    data: bytes,
    decode: Callable[[bytes], Any],
    language: str,
    *,
    file: str | None,
    strict: bool,
    limits: Limits,
) -> tuple[World, Source]:
    import msgspec

    where = f"{file}: " if file else ""
    check_size(data, language, limits, where)
    try:
        plain = _deep(decode, data)
    except (msgspec.MsgspecError, UnicodeError, ValueError) as error:
        raise SceneError(f"{where}not {language}: {error}") from None
    except RecursionError:
        raise SceneError(f"{where}the {language} is nested too deeply") from None
    source = Source(limits, file=file, required=REQUIRED if strict else None)
    try:
        world = World._read(plain, source, "$")
        source.finish()
        source.close()
    except TooManyProblems:
        world = FAILED
    if world is FAILED:
        source.raise_any(f"{where}not a scene")
    world.report = source.report
    return world, source


def _deep(call: Callable[[Any], Any], argument: Any) -> Any:
    """Calls a coder, with room for the deepest scene allowed when it needs that."""
    try:
        return call(argument)
    except RecursionError:
        pass
    # each link is an object in a list; the coders are C code with small frames
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 2 * LIMITS.link_depth + 200)
    try:
        return call(argument)
    finally:
        sys.setrecursionlimit(before)
