# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reference values for tests: derived without a simulator or published, see the fields `source`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "data" / "references"


def load(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text())


def turn(axis: int, angle: float) -> np.ndarray:
    """The matrix of a turn about a coordinate axis."""
    c, s = np.cos(angle), np.sin(angle)
    R = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def pose(position, R) -> np.ndarray:
    """Position and xyzw of a rotation matrix, by its eigenvector for the eigenvalue one."""
    R = np.asarray(R)
    # 4 q q^T - 1 in the order xyzw is linear in R [Bar-Itzhack 2000]
    K = np.empty((4, 4))
    K[:3, :3] = R + R.T - np.trace(R) * np.eye(3)
    K[3, :3] = K[:3, 3] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[3, 3] = np.trace(R)
    return np.r_[position, np.linalg.eigh(K)[1][:, 3]]


def xyzw(wxyz) -> np.ndarray:
    return np.roll(wxyz, -1)


def rotations(quaternions) -> np.ndarray:
    """Matrices of xyzw rows, shape (..., 3, 3)."""
    x, y, z, w = np.moveaxis(np.asarray(quaternions, float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def relative_error(ours, reference) -> float:
    """The largest difference by the largest reference value."""
    reference = np.asarray(reference, float)
    scale = float(np.abs(reference).max(initial=0.0)) or 1.0
    return float(np.abs(np.asarray(ours) - reference).max(initial=0.0)) / scale
