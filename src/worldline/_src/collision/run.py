# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Enter compiled code once for a list of collision stages."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.jit import DISABLED, Stage, entry
from worldline._src.kernels.narrowphase.links import LINKED
from worldline._src.kernels.program import caller
from worldline._src.kinds import float64
from worldline._src.spatial.rotation import Quat, quat_to_matrix

_programs: dict[tuple[Stage, ...], Any] = {}


def run_stages(stages: tuple[Stage, ...], m: Any, c: Any, args: Any, d: Any) -> None:
    """Run stages over the arenas of one world, in order; the links they call must be set."""
    program = _programs.get(stages)
    if program is None:
        program = stages if DISABLED else np.array([stage.address(float64) for stage in stages], np.int64)
        _programs[stages] = program
    caller()(program, m, c, args, d)


def set_links(links: tuple[int, ...], args: Any) -> None:
    """Put the addresses of links where stages look for them: at the front of the args arena."""
    if DISABLED:
        return
    for k in links:
        args[k] = LINKED[k].address(float64)


@entry(signature="float64[:,::1] float64[:,::1]", label="poses of collision objects")
def fill_poses(poses, X_out):
    """Poses of position and unit quaternion, (n, 7), as position and rotation matrix, (n, 12)."""
    for k in range(poses.shape[0]):
        R = quat_to_matrix(Quat(poses[k, 3], poses[k, 4], poses[k, 5], poses[k, 6]))
        X_out[k, 0], X_out[k, 1], X_out[k, 2] = poses[k, 0], poses[k, 1], poses[k, 2]
        X_out[k, 3], X_out[k, 4], X_out[k, 5] = R.xx, R.xy, R.xz
        X_out[k, 6], X_out[k, 7], X_out[k, 8] = R.yx, R.yy, R.yz
        X_out[k, 9], X_out[k, 10], X_out[k, 11] = R.zx, R.zy, R.zz
