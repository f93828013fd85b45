# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Layout of replay frames: properties of a World that must be unchanged to restore one.

A layout is names and tables of numbers: topology, joint parameters, mass properties, shapes, frames,
closures. Comparing two says what changed and on which object.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import LayoutError
from worldline._src.facade.frame import FreeFrame
from worldline._src.facade.values import is_array
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.bodies import BodyKind
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime

_BODIES = {
    "mass": "body_mass",
    "center of mass": "body_com",
    "inertia": "body_inertia",
    "gravity compensation": "body_gravcomp",
}
_JOINTS = {
    "joint type": "joint_type",
    "parent": "joint_parent",
    "child": "joint_child",
    "frame in the parent": "joint_X_p",
    "frame in the child": "joint_X_c",
    "distance limits": "joint_distance",
}
_DOFS = {
    "axis": "joint_axis",
    "pitch": "joint_pitch",
    "lower position limit": "joint_limit_lower",
    "upper position limit": "joint_limit_upper",
    "limit stiffness": "joint_limit_ke",
    "limit damping": "joint_limit_kd",
    "target stiffness": "joint_target_ke",
    "target damping": "joint_target_kd",
    "target mode": "joint_act_mode",
    "armature": "joint_armature",
    "damping coefficient": "joint_damping",
    "spring stiffness": "joint_stiffness",
    "Coulomb friction": "joint_friction",
    "effort limit": "joint_effort_limit",
    "velocity limit": "joint_velocity_limit",
    "lower effort limit": "joint_effort_lower",
    "lower velocity limit": "joint_velocity_lower",
}


class Table(NamedTuple):
    """Numbers with one row per object of a kind."""

    owner: str
    """The kind of object: a key of `Layout.names`."""
    numbers: Array


class Layout(NamedTuple):
    """Names by kind of object, and tables by what they say about them."""

    names: dict[str, list[str]]
    tables: dict[str, Table]

    def change(self, now: Layout) -> tuple[str, str, str] | None:
        """What differs in `now`: a field, its owner, and a sentence; None when nothing does."""
        for kind in dict.fromkeys((*self.names, *now.names)):
            before, after = self.names.get(kind, []), now.names.get(kind, [])
            if before != after:
                return kind, "", _names_changed(kind, before, after)
        for field in dict.fromkeys((*self.tables, *now.tables)):
            if field not in self.tables or field not in now.tables:
                return field, "", f"{field} is known on one side only"
        for field, (kind, before) in self.tables.items():
            after = now.tables[field].numbers
            if before.shape != after.shape:
                return field, "", f"{field} has another shape: {before.shape}, now {after.shape}"
            other = (before != after) & ~(np.isnan(before) & np.isnan(after))
            if other.any():
                k = int(np.argwhere(other)[0, 0])
                owner = self.names[kind][k]
                said = f"{field} of {_SINGULAR.get(kind, kind)} '{owner}' was {before[k].tolist()}"
                return field, owner, f"{said}, is {after[k].tolist()}"
        return None

    def require(self, now: Layout, what: str) -> None:
        """Refuse when the World is not what it was."""
        changed = self.change(now)
        if changed is not None:
            field, owner, sentence = changed
            raise LayoutError(f"{what} does not fit the World any more: {sentence}", field, owner)


_SINGULAR = {
    "bodies": "body",
    "joints": "joint",
    "dofs": "joint",
    "coordinates": "joint",
    "rigid bodies": "rigid body",
    "fixed frames": "frame",
    "closures": "loop closure",
    "shapes": "shape",
}


def _names_changed(kind: str, before: list[str], after: list[str]) -> str:
    new = [name for name in after if name not in before]
    gone = [name for name in before if name not in after]
    said = [
        f"{word} {', '.join(map(repr, names))}" for word, names in (("new", new), ("gone", gone)) if names
    ]
    return f"{kind} changed ({'; '.join(said) or 'another order or number'})"


def capture(world: WorldRuntime, runtime: Runtime) -> Layout:
    """The layout of a World as it is now."""
    model = runtime.model
    names = {
        "bodies": list(model.body_label),
        "joints": list(model.joint_label),
        "dofs": _spread(model.joint_label, model.joint_qd_start),
        "coordinates": _spread(model.joint_label, model.joint_q_start),
    }
    if world._options.fixed_layout:
        # frames hold the forces that its steps start from
        names["options of the layout of rows"] = ["fixed_layout"]
    tables = {field: Table("bodies", getattr(model, name)) for field, name in _BODIES.items()}
    tables["kind of body"] = Table("bodies", _kinds(runtime))
    tables |= {field: Table("joints", getattr(model, name)) for field, name in _JOINTS.items()}
    tables |= {field: Table("dofs", getattr(model, name)) for field, name in _DOFS.items()}
    tables["frame in the parent"] = Table("joints", _fixed_frames(runtime))
    tables["actuator type"] = Table("dofs", runtime.sim.drive)
    if model.joint_forces is not None:
        tables["limit margin"] = Table("joints", model.joint_forces.margin)
    tables["rest position"] = Table("coordinates", model.joint_spring_ref)
    _add_shapes(runtime, names, tables)
    _add_objects(world, names, tables)
    copied = {field: Table(kind, np.array(numbers, np.float64)) for field, (kind, numbers) in tables.items()}
    return Layout(names, copied)


def _fixed_frames(runtime: Runtime) -> np.ndarray:
    """Frames of joints in their parents; where mocap bodies stand is state, which frames hold."""
    frames, mocaps = np.array(runtime.model.joint_X_p), runtime.model.mocap_bodies
    if mocaps is not None and mocaps.size:
        frames[np.isin(runtime.model.joint_child, mocaps)] = 0.0
    return frames


def _spread(labels: list[str], starts: np.ndarray) -> list[str]:
    return np.repeat(np.array(labels, object), np.diff(starts)).tolist()


def _kinds(runtime: Runtime) -> Array:
    """0 dynamic, 1 kinematic, 2 static, for the first body of every tree; 0 for others."""
    made = np.zeros(runtime.model.body_count)
    codes = {BodyKind.Dynamic: 0.0, BodyKind.Kinematic: 1.0, BodyKind.Static: 2.0}
    for body in runtime.scene.hierarchy.bodies:
        made[runtime.body(body.link)] = codes[body.kind]
    return made


def _add_shapes(runtime: Runtime, names: dict[str, list[str]], tables: dict[str, Table]) -> None:
    shapes = runtime.model.shapes
    if shapes is None:
        return
    names["shapes"] = list(shapes.label)
    for field in fields(shapes):
        numbers = getattr(shapes, field.name)
        if is_array(numbers) and numbers.dtype.kind in "fiub" and len(numbers) == len(shapes.label):
            tables[f"shape {field.name}"] = Table("shapes", numbers)


def _add_objects(world: WorldRuntime, names: dict[str, list[str]], tables: dict[str, Table]) -> None:
    """What only the facade knows: materials, frames, closures."""
    names["rigid bodies"] = list(world._rigid_bodies)
    bodies = world._rigid_bodies.values()
    tables["friction"] = Table("rigid bodies", np.array([body._body.friction for body in bodies]))
    tables["restitution"] = Table("rigid bodies", np.array([body._body.restitution for body in bodies]))
    names["frames"] = [
        f"{name} on {frame._parent.name or 'world'}" + (" (free)" if isinstance(frame, FreeFrame) else "")
        for name, frame in world._frames.items()
    ]
    fixed = {key: frame for key, frame in world._frames.items() if not isinstance(frame, FreeFrame)}
    names["fixed frames"] = list(fixed)
    tables["pose"] = Table("fixed frames", np.array([frame._local() for frame in fixed.values()]))
    closures = world._loop_closures
    names["closures"] = list(closures)
    names["closure settings"] = [
        f"{name}: {c._spec.family.name} between {c._spec.frame_a.name} and {c._spec.frame_b.name}, "
        f"{c.runtime_policy!r}"
        for name, c in closures.items()
    ]
    ends = [
        np.concatenate([c._spec.offset_a.ravel(), c._spec.offset_b.ravel(), [c._spec.distance]])
        for c in closures.values()
    ]
    tables["offsets and distance"] = Table("closures", np.array(ends))
