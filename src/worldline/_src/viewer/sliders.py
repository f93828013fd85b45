# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sliders for joints and actuators: they show where the World is, and set it where a person drags them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.facade.kinds import JointType
from worldline._src.viewer.events import Post, on_change

if TYPE_CHECKING:
    from worldline._src.facade.world import World

_AT_ONCE = 12
"""Sliders of joints that are brought up to date together."""
_STEP = 0.001
"""Of sliders of joints [rad, m]."""
_TURN, _SLIDE = np.pi, 1.0
"""Range of joints without limits [rad, m]."""
_NOT_AXES = (JointType.FIXED, JointType.SPHERICAL, JointType.FLOATING, JointType.DISTANCE, JointType.CABLE)
_SLIDES = (JointType.PRISMATIC, JointType.PLANAR, JointType.TRANSLATIONAL, JointType.TRANSLATIONAL_2D)


class Sliders:
    """Sliders of one World on one page."""

    def __init__(self, server: Any, world: World, post: Post) -> None:
        self._server, self._world, self._post = server, world, post
        self._joints: list[tuple[Any, int, Any]] = []
        self._actuators: list[tuple[int, Any]] = []
        self._next = 0

    def build(self) -> None:
        """Put sliders on the page, within the container that is open."""
        gui = self._server.gui
        names = self._world.actuator_names
        if names:
            with gui.add_folder("Actuators"):
                for number, (name, low, high) in enumerate(actuator_ranges(self._world)):
                    self._add_actuator(number, name, low, high)
        robots = [robot for robot in self._world._multibodies.values() if joint_ranges(robot)]
        for robot in robots:
            with gui.add_folder(f"Joints of {robot.name}", expand_by_default=len(robots) < 4):
                for joint, axis, name, low, high in joint_ranges(robot):
                    self._add_joint(joint, axis, name, low, high)
        if not names and not robots:
            gui.add_markdown("The scene has no joints with limits of their own and no actuators.")

    def _add_joint(self, joint: Any, axis: int, name: str, low: float, high: float) -> None:
        now = float(np.clip(joint.position[axis], low, high))
        slider = self._server.gui.add_slider(name, low, high, _STEP, now)
        self._joints.append((joint, axis, slider))
        on_change(slider, self._post, lambda value: set_joint(joint, axis, float(value)))

    def _add_actuator(self, number: int, name: str, low: float, high: float) -> None:
        now = float(np.clip(self._world.actuator_controls[number], low, high))
        step = (high - low) / 400.0
        slider = self._server.gui.add_slider(name, low, high, step, now)
        self._actuators.append((number, slider))
        on_change(slider, self._post, lambda value: set_actuator(self._world, number, float(value)))

    def update(self) -> None:
        """Let sliders show where the World is; of many joints a few each time, or they cost too much."""
        for _ in range(min(_AT_ONCE, len(self._joints))):
            self._next = (self._next + 1) % len(self._joints)
            joint, axis, slider = self._joints[self._next]
            if joint.is_valid:
                self._show(slider, float(joint.position[axis]))
        if self._actuators:
            controls = self._world.actuator_controls
            for number, slider in self._actuators:
                if number < len(controls):
                    self._show(slider, float(controls[number]))

    def _show(self, slider: Any, value: float) -> None:
        value = min(max(value, slider.min), slider.max)
        # less than a person can see is not worth a message
        if abs(slider.value - value) > 0.002 * (slider.max - slider.min):
            slider.value = value


def joint_ranges(robot: Any) -> list[tuple[Any, int, str, float, float]]:
    """Joint, axis, name and range of everything a slider can set."""
    found = []
    for joint in robot._joints.values():
        if joint.type in _NOT_AXES:
            continue
        lower, upper = joint.position_lower_limits, joint.position_upper_limits
        for axis in range(joint.num_dofs):
            whole = _SLIDE if joint.type in _SLIDES else _TURN
            low, high = float(lower[axis]), float(upper[axis])
            low, high = (low if np.isfinite(low) else -whole), (high if np.isfinite(high) else whole)
            # three digits are enough for a person, and fit beside the slider
            low, high = float(np.ceil(1e3 * low) / 1e3), float(np.floor(1e3 * high) / 1e3)
            if high > low:
                name = joint.name if joint.num_dofs == 1 else f"{joint.name}[{axis}]"
                found.append((joint, axis, name, low, high))
    return found


def actuator_ranges(world: World) -> list[tuple[str, float, float]]:
    """Name and range of every control; -1 to 1 where there is none."""
    table = world._live().model.actuators
    if table is None:
        return []
    found = []
    for row in range(len(table)):
        low, high = table.control_range[row].tolist()
        low, high = (low if np.isfinite(low) else -1.0), (high if np.isfinite(high) else 1.0)
        found.append((table.label[row], low, max(high, low + 1e-6)))
    return found


def set_joint(joint: Any, axis: int, value: float) -> None:
    """Put one axis of a joint where it is dragged to, at rest."""
    position, velocity = joint.position.copy(), joint.velocity.copy()
    position[axis], velocity[axis] = value, 0.0
    joint.position, joint.velocity = position, velocity


def set_actuator(world: World, number: int, value: float) -> None:
    """Change one control."""
    controls = world.actuator_controls.copy()
    controls[number] = value
    world.actuator_controls = controls
