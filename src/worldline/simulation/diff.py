# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives over many steps; those of one step are members of `World` and `WorldBatch`.

>>> import numpy as np
>>> from worldline import simulation as sx
>>> world = sx.World(time_step=0.01, gravity=(0, 0, 0), differentiable=True)
>>> box = world.add_rigid_body("box", mass=1.0)
>>> run = sx.diff.rollout(world, np.zeros((10, 6)))
>>> back = run.vjp(np.eye(12)[0])  # by the position along x at the end
>>> back.state[6].round(9).item(), back.controls[0, 3].round(9).item()
(0.1, 0.001)
"""

from worldline._src.facade.batch.derivatives import BatchRollout, rollout
from worldline._src.facade.differentiable_rollout import DifferentiableRollout, RolloutGradient

__all__ = ["BatchRollout", "DifferentiableRollout", "RolloutGradient", "rollout"]
