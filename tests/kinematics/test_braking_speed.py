# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The largest velocity from which a joint stops within the room it has, beside braking it step by step."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.kernels.inverse_kinematics import differential

H = 0.01


def braking_way(v: float, unit: float) -> float:
    """How far a joint goes that brakes by `unit` a step, or stops at once."""
    way = 0.0
    while v > 0.0:
        way += v * H
        v -= unit if unit else v
    return way


@pytest.mark.parametrize("unit", [0.0, 0.02, 0.5])
@pytest.mark.parametrize("room", [1e-5, 1e-3, 0.07, 0.9])
def test_the_braking_speed_uses_up_the_room(room, unit):
    per_way = 1.0 / (H * unit) if unit else 1.0 / H
    v = float(differential._braking_speed(np.float64(room), np.float64(unit), per_way, 1.0 / H))
    assert braking_way(v, unit) == pytest.approx(room, rel=1e-9)
    # beyond the limit there is no room, and no speed towards it
    assert differential._braking_speed(np.float64(-room), np.float64(unit), per_way, 1.0 / H) == 0.0
