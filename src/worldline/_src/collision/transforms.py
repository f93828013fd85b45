# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""4x4 transforms as poses."""

from __future__ import annotations

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.spatial.poses import Array, quaternion


def pose_of_matrix(matrix: Array, what: str) -> Array:
    """Position and xyzw, (7,), of a finite 4x4 transform, whose rotation must be one."""
    if float(np.abs(matrix[3] - (0.0, 0.0, 0.0, 1.0)).max()) > 1e-9:
        raise ArgumentError(f"{what}: the last row must be 0 0 0 1, got {matrix[3].tolist()}")
    R = matrix[:3, :3]
    if float(np.abs(R @ R.T - np.eye(3)).max()) > 1e-6 or float(np.linalg.det(R)) < 0.0:
        raise ArgumentError(f"{what}: rotation must be orthonormal and right-handed, got {R.tolist()}")
    return np.concatenate([matrix[:3, 3], quaternion(R)])
