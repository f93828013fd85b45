# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Damping of actuators that a scene gives as a ratio to critical damping.

With position gain k and ratio z the damping is 2 z sqrt(k m), where m is the inertia that the actuator feels
at the start: 1 / (g M^-1 g) for its moments g, so the joints it does not hold are free to give way. Lengths
of tendons and the transmissions of sites and cranks are measured by the stages of a step, run once.
"""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.transmissions import LINEAR
from worldline._src.model.model import Model
from worldline._src.model.tables import Actuators
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array
from worldline._src.step import force_element_stages as s
from worldline._src.step.dynamics import mass_matrix
from worldline._src.step.pack_actuators import actuator_holds, actuator_moment, pack_actuators
from worldline._src.step.pack_anchors import Places, measure
from worldline._src.step.pack_tendons import pack_tendons, tendon_nodes


def damping_of_ratios(model: Model, table: Actuators, rows: np.ndarray, ratios: Array) -> Array:
    """Damping of the actuators in `rows` of the table of a model, (n,) [N s/m, N m s]."""
    # what measures moments reads the table of the model
    model.actuators = table
    M = np.array(mass_matrix(model, np.array(model.joint_q)))
    moments, tendon_moments = _moments(model, rows)
    if model.tendons is not None and tendon_moments.size:
        M += tendon_moments.T @ (model.tendons.armature[:, None] * tendon_moments)
    # a degree of freedom without inertia has nothing to be damped
    yielding = np.einsum("ki,ij,kj->k", moments, np.linalg.pinv(M, hermitian=True), moments)
    felt = np.divide(1.0, yielding, out=np.zeros(len(rows)), where=yielding > 1e-15)
    return 2.0 * ratios * np.sqrt(np.maximum(table.gain[rows, 0], 0.0) * felt)


def _moments(model: Model, rows: np.ndarray) -> tuple[Array, Array]:
    """How lengths of actuators and of tendons change with the degrees of freedom at the start."""
    places = Places(model)
    held = actuator_holds(model, rows, places)
    armed = model.tendons is not None and bool(model.tendons.armature.any())
    if not armed and all(hold[0] == LINEAR for hold in held):
        return np.array([actuator_moment(model, u) for u in rows.tolist()]), np.zeros((0, 0))
    tendons = 0 if model.tendons is None else len(model.tendons)
    nodes = tendon_nodes(model, places) if tendons else []
    sizes = dict.fromkeys(t.TABLE.sizes, 0)
    sizes |= {"nv": model.joint_dof_count, "nplace": len(places), "ntendon": tendons, "nnode": len(nodes)}
    sizes |= {"nu": len(rows), "tree_ends": 1, "nbody": model.body_count + 1}
    block = t.TABLE.lay_out(sizes)
    places.fill(block.column)
    pack_actuators(model, block.column, rows, held, clamped=True)
    pack_tendons(model, block.column, nodes, SimulateOption())
    measure(model, block, np.asarray(model.joint_q), (s.anchor_poses, s.tendon_lengths, s.transmissions))
    return block.column["act_moment"].copy(), block.column["tendon_moment"].copy()
