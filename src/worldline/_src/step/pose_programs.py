# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Programs that bring poses and velocities of bodies up to date in the arena of a step."""

from __future__ import annotations

from worldline._src.step import stages as s
from worldline._src.step import step_stages as t
from worldline._src.step.evaluate import Program

POSES = Program("poses", (t.refresh_poses,), ("q",), ("q",), ("nbody", 7))
TWISTS = Program(
    "velocities", (s.positions, s.link_velocities, t.refresh_twists), ("q", "v"), ("q", "v"), ("nbody", 6)
)
READS = (POSES, TWISTS)
