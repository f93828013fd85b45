# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Energy bound of islands with hard contacts, applied after their solver.

Nearly all islands pass for the cost of looking; see `kernels/constraints/contact/recovery_energy.py`.
"""

from __future__ import annotations

from worldline._src.kernels.constraints.contact.recovery_energy import bound_energy
from worldline._src.step.constraint_operands import constraint_stage

limit_energy = constraint_stage.of(bound_energy, name="limit_energy", v="island_v", trees_out="island_trees")
