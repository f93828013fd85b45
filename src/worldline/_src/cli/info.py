# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline info`: contents of a scene file, and the losses of reading it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from worldline._src.cli import common

if TYPE_CHECKING:
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.link import Link
    from worldline._src.facade.world import World


def info(
    file: common.SceneFile,
    tree: Annotated[bool, typer.Option("--tree/--no-tree", help="Draw the tree of links.")] = True,
    assets: common.AssetFolders = None,
    allow_outside: common.Outside = False,
    as_json: common.AsJson = False,
) -> None:
    """Show the tree, masses, actuators, sensors and keyframes of a file, and what was left out at loading.

    \b
    Examples:
      worldline info robot.urdf --assets meshes
      worldline info scene.xml --no-tree
      worldline info robot.xml --json | jq '.losses[].message'
    """
    world = common.load(file, assets, allow_outside=allow_outside)
    data = {"file": str(file), **describe(world)}
    if as_json:
        common.write_json(data)
        return
    console = common.results()
    console.print(f"[bold]{escape(str(file))}[/bold]", highlight=False, soft_wrap=True)
    _totals(console, data)
    if tree:
        console.print(draw_tree(world))
    _lists(console, data)
    common.show_losses(console, world.report)
    if data["obstacle"] is not None:
        console.print(f"a step is refused: {escape(data['obstacle'])}", highlight=False)


def describe(world: World) -> dict[str, Any]:
    """The World as maps and lists."""
    from worldline._src.facade.dump import scene_data

    model = world._live().model
    scene = scene_data(world)
    shapes = [] if model.shapes is None else [int(k) for k in model.shapes.kind]
    return {
        "name": world._scene.name,
        "time_step": world.time_step,
        "gravity": world.gravity,
        "mass": float(model.body_mass.sum()),
        "center_of_mass": world.center_of_mass,
        "num_bodies": len(scene["bodies"]),
        "num_coordinates": model.joint_coord_count,
        "num_dofs": model.joint_dof_count,
        "num_shapes": len(shapes),
        "bodies": scene["bodies"],
        "joints": scene["joints"],
        "actuators": _actuators(world),
        "sensors": _sensors(world),
        "tendons": [] if model.tendons is None else list(model.tendons.label),
        "loop_closures": world.loop_closures.names,
        "frames": world.frames.names,
        "keyframes": world.keyframes,
        "losses": common.losses(world.report),
        "obstacle": common.obstacle(world),
    }


def _actuators(world: World) -> list[dict[str, Any]]:
    from worldline._src.model.tables import ActivationKind, BiasKind, GainKind, TargetKind

    model = world._live().model
    found = model.actuators
    if found is None:
        return []
    made = []
    for u in range(len(found)):
        kind, target = TargetKind(int(found.target_kind[u])), int(found.target[u])
        joint = kind in (TargetKind.JOINT, TargetKind.JOINT_IN_PARENT)
        made.append(
            {
                "name": found.label[u],
                "target_kind": kind.name.lower(),
                "target": model.joint_label[target] if joint else target,
                "gain": GainKind(int(found.gain_kind[u])).name.lower(),
                "bias": BiasKind(int(found.bias_kind[u])).name.lower(),
                "activation": ActivationKind(int(found.activation_kind[u])).name.lower(),
                "control_range": found.control_range[u],
                "force_range": found.force_range[u],
            }
        )
    return made


def _sensors(world: World) -> list[dict[str, Any]]:
    return [{"name": found.name, "kind": found.kind, "size": found.dim} for found in world.sensors]


def draw_tree(world: World) -> Tree:
    """Rigid bodies, multibodies and their links as a tree."""
    root = Tree("world")
    for body in world.rigid_bodies:
        kind = "static " if body.is_static else ("kinematic " if body.is_kinematic else "")
        root.add(f"{escape(body.name)}: {kind}rigid body of {body.mass:.4g} kg, {_shapes(body)}")
    for robot in world.multibodies:
        branch = root.add(
            f"[bold]{escape(robot.name)}[/bold]: {robot.mass:.4g} kg, "
            f"{robot.num_links} links, {robot.num_dofs} dofs"
        )
        below: dict[Link | None, Tree] = {None: branch}
        stack = [link for link in reversed(list(robot.links)) if link.parent_link is None]
        while stack:
            link = stack.pop()
            joints = "; ".join(_joint(joint) for joint in link.parent_joints) or "fixed"
            text = f"{escape(link.name)}: {link.mass:.4g} kg, {_shapes(link)}; {joints}"
            below[link] = below[link.parent_link].add(text)
            stack.extend(reversed(link.child_links))
    return root


def _shapes(body: Any) -> str:
    count = body.num_collision_shapes
    return "no shapes" if count == 0 else f"{count} shape{'s' if count > 1 else ''}"


def _joint(joint: Joint) -> str:
    text = f"{escape(joint.name)} {joint.type.name.lower()}"
    lower, upper = joint.position_lower_limits, joint.position_upper_limits
    limited = np.isfinite(lower) | np.isfinite(upper)
    if limited.any():
        bounds = [f"{a:.3g} to {b:.3g}" for a, b in zip(lower[limited], upper[limited], strict=True)]
        text += f" ({', '.join(bounds)})"
    return text


def _totals(console: Console, data: dict[str, Any]) -> None:
    console.print(
        f"{data['num_bodies']} bodies of {data['mass']:.6g} kg, {data['num_dofs']} dofs, "
        f"{data['num_shapes']} shapes, centre of mass at {common.place(data['center_of_mass'])}, "
        f"time step {data['time_step']:g} s"
    )


def _range(bounds: Iterable[float]) -> str:
    low, high = (float(x) for x in bounds)
    return f"{low:.4g} to {high:.4g}" if np.isfinite((low, high)).any() else "unbounded"


def _law(row: dict[str, Any]) -> str:
    """How the force comes from the control, in two or three words."""
    if "muscle" in (row["gain"], row["bias"]):
        return "muscle"
    text = {"none": "motor", "affine": "servo"}[row["bias"]] if row["gain"] == "fixed" else row["gain"]
    return text if row["activation"] == "none" else f"{text}, {row['activation']}"


def _lists(console: Console, data: dict[str, Any]) -> None:
    if data["actuators"]:
        made = common.table("actuators", "name", "acts on", "law", "control", "force")
        for row in data["actuators"]:
            made.add_row(
                escape(row["name"]),
                escape(str(row["target"])) if row["target_kind"] == "joint" else row["target_kind"],
                _law(row),
                _range(row["control_range"]),
                _range(row["force_range"]),
            )
        console.print(made)
    if data["sensors"]:
        made = common.table("sensors", "name", "kind", "numbers")
        for row in data["sensors"]:
            made.add_row(escape(row["name"]), row["kind"], str(row["size"]))
        console.print(made)
    for what in ("tendons", "loop_closures", "frames", "keyframes"):
        if data[what]:
            console.print(f"{what.replace('_', ' ')}: {escape(', '.join(data[what]))}", highlight=False)
