# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The kinds of constraints and force elements of a step, registered once.

Kinds take hold of anchors in this order. Adding one is a line here and a packer of its own; see `packer.py`.
"""

from __future__ import annotations

import numpy as np

from worldline._src.model.model import Model
from worldline._src.scene.options import SimulateOption
from worldline._src.step.pack_actuators import ActuatorPacker
from worldline._src.step.pack_equalities import EqualityPacker
from worldline._src.step.pack_joints import JointPacker
from worldline._src.step.pack_loops import LoopPacker
from worldline._src.step.pack_motors import FluidPacker, MotorPacker, SpringPacker
from worldline._src.step.pack_shapes import ShapePacker
from worldline._src.step.pack_tendons import TendonPacker
from worldline._src.step.packer import Packer, Packing

KINDS: tuple[type[Packer], ...] = (
    ShapePacker,
    JointPacker,
    EqualityPacker,
    LoopPacker,
    SpringPacker,
    ActuatorPacker,
    TendonPacker,
    MotorPacker,
    FluidPacker,
)


class ModelPacking(Packing):
    """All kinds of a model, those that others ask for by name."""

    def __init__(
        self, model: Model, option: SimulateOption, servos: np.ndarray, like: Packing | None = None
    ) -> None:
        super().__init__(model, option, servos, KINDS, like)
        self.shapes = self.of(ShapePacker)
        self.joints = self.of(JointPacker)
        self.equalities = self.of(EqualityPacker)
        self.actuators = self.of(ActuatorPacker)
        self.motors = self.of(MotorPacker)
