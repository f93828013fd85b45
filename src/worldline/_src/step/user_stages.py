# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Where a step returns to Python for functions of its user.

Each stage sets SHORT, upon which the loop over steps (`runner.py`) returns; `user_elements.py` calls the
functions, and the same step goes on with the next stage. The arenas of these stages are one flag.
"""

from __future__ import annotations

from worldline._src.jit import stage
from worldline._src.kernels.constraints.tables import SHORT


@stage
def call_controllers(m, c, args, d):
    """q, v -> commands, controls: functions that the user gave, at the start of a step."""
    args[SHORT] = 1


@stage
def call_force_elements(m, c, args, d):
    """body poses, body velocities -> forces on bodies, commands: functions that the user gave."""
    args[SHORT] = 1


@stage
def call_observers(m, c, args, d):
    """q, v -> : functions that the user gave, at the end of a step."""
    args[SHORT] = 1
