# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Operations for kernels of your own (`worldline.kernel`): the same source for one world and for lanes.

A number may be that of one world or of several in lanes, so that it cannot decide a branch: `where` takes the
place of `if`, `maximum` that of `max`. Indices, counts and loops over them are plain integers.
"""

from worldline._src.scalar.exponential import exp_of_negative
from worldline._src.scalar.ops import (
    absolute,
    any_of,
    clamp,
    constant,
    maximum,
    minimum,
    nearest,
    power,
    sqrt,
    where,
)
from worldline._src.scalar.trigonometry import atan2, sincos
from worldline._src.step.kernel_ops import add_force, add_force_at, add_torque, center_of_mass, to_world
from worldline._src.step.user_kernels import Kernel, KernelStep

__all__ = [
    "Kernel", "KernelStep", "absolute", "add_force", "add_force_at", "add_torque", "any_of", "atan2",
    "center_of_mass", "clamp", "constant", "exp_of_negative", "maximum", "minimum", "nearest", "power",
    "sincos", "sqrt", "to_world", "where",
]  # fmt: skip
