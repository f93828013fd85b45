# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A World as text and as JSON, for people, diffs and tools: what there is and where its numbers stand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.body_state import MassiveFrame
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.joint import Joint
from worldline._src.facade.link import Link
from worldline._src.facade.world_kind import require_world

if TYPE_CHECKING:
    from worldline._src.facade.world import World

SCHEMA = "worldline.scene/v0"
_MOST_INDENT = 100
"""Spaces of a level of JSON."""


def _body(handle: MassiveFrame, kind: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": handle.name, "kind": kind}
    if isinstance(handle, Link):
        made["multibody"] = handle.multibody.name
        made["parent"] = None if handle.parent_link is None else handle.parent_link.name
    made["mass"] = handle.mass
    made["center_of_mass"] = handle.center_of_mass.tolist()
    made["inertia"] = handle.inertia.tolist()
    made["translation"] = handle.translation.tolist()
    made["quaternion"] = handle.quaternion.tolist()
    return made


def _joint(joint: Joint) -> dict[str, Any]:
    parent = joint.child_link.parent_link
    return {
        "name": joint.name,
        "multibody": joint.multibody.name,
        "type": joint.type.name,
        "parent": "world" if parent is None else parent.name,
        "child": joint.child_link.name,
        "num_dofs": joint.num_dofs,
        "actuator_type": "/".join(dict.fromkeys(kind.name for kind in joint._actuator_types())),
        "position": joint.position.tolist(),
        "velocity": joint.velocity.tolist(),
        # JSON has no infinities: None is no limit
        "lower": [None if x == -float("inf") else x for x in joint.position_lower_limits.tolist()],
        "upper": [None if x == float("inf") else x for x in joint.position_upper_limits.tolist()],
    }


@exclusive
def scene_data(world: World) -> dict[str, Any]:
    """What `dump_scene_json` writes, as maps and lists."""
    runtime = world._live()
    bodies = [_body(body, "rigid_body") for body in world.rigid_bodies]
    joints: list[dict[str, Any]] = []
    flat: list[dict[str, Any]] = []
    for body in world.rigid_bodies:
        free = body._body.free
        assert free is not None
        flat.append(_place(body.name, "rigid_body", runtime.q_slice(free), runtime.v_slice(free)))
    for robot in world.multibodies:
        bodies += [_body(link, "link") for link in robot.links]
        for joint in robot.joints:
            joints.append(_joint(joint))
            q, v = runtime.q_slice(joint._joint), runtime.v_slice(joint._joint)
            flat.append(_place(f"{robot.name}/{joint.name}", "joint", q, v))
    return {
        "schema": SCHEMA,
        "world": {
            "time": world.time,
            "frame": world.frame,
            "time_step": world.time_step,
            "gravity": world.gravity.tolist(),
            "is_simulation_mode": world.is_simulation_mode,
            "multibodies": world.multibodies.names,
            "rigid_bodies": world.rigid_bodies.names,
            "frames": world.frames.names,
            "markers": world.markers.names,
            "loop_closures": world.loop_closures.names,
        },
        "bodies": bodies,
        "joints": joints,
        "flat_index": sorted(flat, key=lambda row: (row["q"][0], row["v"][0])),
    }


def _place(name: str, kind: str, q: slice, v: slice) -> dict[str, Any]:
    return {"name": name, "kind": kind, "q": [q.start, q.stop], "v": [v.start, v.stop]}


def dump_scene_json(world: World, *, indent: int | None = 2) -> str:
    """A World as JSON: `schema`, `world`, `bodies`, `joints`, and in `flat_index` where the numbers of each
    object stand in the arrays of all.

    Example:
        >>> import json
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> json.loads(sx.dump_scene_json(world))["flat_index"][0]
        {'name': 'box', 'kind': 'rigid_body', 'q': [0, 7], 'v': [0, 6]}
    """
    require_world(world, "dump_scene_json")
    if indent is not None and not 0 <= values.count(indent, "indent") <= _MOST_INDENT:
        raise ArgumentError(f"indent must be 0 to {_MOST_INDENT} spaces, or None, got {indent}")
    return json.dumps(scene_data(world), indent=indent)


def dump_scene_text(world: World) -> str:
    """A World as a tree of text.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> arm = world.add_multibody("arm")
        >>> base = arm.add_link("base")
        >>> hand = arm.add_link("hand", parent=base, joint=sx.JointSpec(name="wrist"))
        >>> print(sx.dump_scene_text(world))
        world: design mode, time 0 s, frame 0, 1 dofs
          multibody arm: 2 links, 1 dofs
            base: 1 kg
              hand: 1 kg, wrist REVOLUTE
    """
    require_world(world, "dump_scene_text")
    mode = "simulation" if world.is_simulation_mode else "design"
    dofs = world.num_dofs + 6 * world.num_rigid_bodies
    lines = [f"world: {mode} mode, time {world.time:g} s, frame {world.frame}, {dofs} dofs"]
    for body in world.rigid_bodies:
        kind = "static " if body.is_static else ("kinematic " if body.is_kinematic else "")
        place = ", ".join(f"{x:g}" for x in body.translation)
        lines.append(f"  {kind}rigid body {body.name}: {body.mass:g} kg at ({place})")
    for robot in world.multibodies:
        lines.append(f"  multibody {robot.name}: {robot.num_links} links, {robot.num_dofs} dofs")
        depth: dict[Link, int] = {}
        stack = [link for link in reversed(list(robot.links)) if link.parent_link is None]
        while stack:
            link = stack.pop()
            above = link.parent_link
            depth[link] = 0 if above is None else depth[above] + 1
            joints = "".join(f", {joint.name} {joint.type.name}" for joint in link.parent_joints)
            lines.append(f"{'  ' * (depth[link] + 2)}{link.name}: {link.mass:g} kg{joints}")
            stack.extend(reversed(link.child_links))
    for frame in world.frames:
        lines.append(f"  frame {frame.name} on {frame.parent_frame.name}")
    for closure in world.loop_closures:
        ends = f"{closure.frame_a.name}, {closure.frame_b.name}"
        lines.append(f"  loop closure {closure.name}: {closure.family.name} {ends}")
    return "\n".join(lines)
