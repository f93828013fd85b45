# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Advance velocities and coordinates by one step."""

from __future__ import annotations

from worldline._src.jit import kernel


@kernel
def accelerate(a, h, v_io):
    """v grows by h a."""
    for d in range(a.shape[0]):
        v_io[d] = v_io[d] + h * a[d]
