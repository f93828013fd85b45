# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""HTML representations of Worlds, multibodies and recordings for notebooks.

Names come from files of strangers, so all text is escaped. A World that is not finished can be shown too: it
is not compiled for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from worldline._src.facade.multibody import Multibody
    from worldline._src.facade.recording import Recording
    from worldline._src.facade.world_runtime import WorldRuntime

_MOST = 12
"""Rows of a table; more are counted."""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], total: int) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    shown = list(rows)[:_MOST]
    body = "".join(line(row, "td") for row in shown)
    more = total - len(shown)
    if more > 0:
        body += f'<tr><td colspan="{len(head)}">and {more} more</td></tr>'
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"


def _place(numbers: np.ndarray) -> str:
    return ", ".join(f"{x:.3g}" for x in numbers)


def world_html(world: WorldRuntime) -> str:
    """A World: mode, time, and what is in it."""
    mode = "simulation" if world._simulating else "design"
    text = (
        f"<b>World</b>: {mode} mode, time {world.time:g} s, step {world.frame} of {world.time_step:g} s, "
        f"gravity ({_place(world.gravity)}) m/s²"
    )
    losses = len(world.report.losses)
    if losses:
        text += f", {losses} parts lost at loading (see <code>report</code>)"
    rows: list[tuple[str, ...]] = []
    for robot in list(world._multibodies.values())[:_MOST]:
        rows.append((robot.name, "multibody", f"{robot.num_links} links, {robot.num_dofs} dofs"))
    for body in list(world._rigid_bodies.values())[: max(0, _MOST - len(rows))]:
        kind = "static body" if body.is_static else ("kinematic body" if body.is_kinematic else "rigid body")
        shapes = body.num_collision_shapes
        rows.append((body.name, kind, f"{shapes} shape{'s' * (shapes != 1)}"))
    total = len(world._multibodies) + len(world._rigid_bodies)
    return f"<div>{text}{_table(('name', 'what', 'parts'), rows, total) if total else ', empty'}</div>"


def multibody_html(robot: Multibody) -> str:
    """A multibody: its joints with their positions and limits."""
    text = f"<b>Multibody {escape(robot.name)}</b>: {robot.num_links} links, {robot.num_dofs} dofs"
    joints = list(robot.joints)
    rows: list[tuple[str, ...]] = []
    for joint in joints[:_MOST]:
        lower, upper = joint.position_lower_limits, joint.position_upper_limits
        bounds = [
            f"{a:.3g} to {b:.3g}" if np.isfinite((a, b)).any() else "none"
            for a, b in zip(lower, upper, strict=True)
        ]
        limits = "; ".join(dict.fromkeys(bounds))
        name = joint.type.name.lower()
        rows.append((joint.name, name, joint.child_link.name, _place(joint.position), limits))
    head = ("joint", "type", "moves", "position", "limits")
    return f"<div>{text}{_table(head, rows, len(joints)) if joints else ', no joints'}</div>"


def recording_html(recording: Recording) -> str:
    """A recording: its span, and the range of every name."""
    first, last = recording.times[[0, -1]].tolist()
    text = f"<b>Recording</b>: {len(recording)} frames, {first:g} s to {last:g} s"
    rows: list[tuple[str, ...]] = []
    for name in recording.names[:_MOST]:
        values = recording[name]
        span = f"{values.min():.4g} to {values.max():.4g}" if values.size else ""
        rows.append((name, str(values.shape[1]), span))
    return f"<div>{text}{_table(('name', 'numbers', 'range'), rows, len(recording.names))}</div>"
