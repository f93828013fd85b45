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
from worldline._src.linear_algebra import matmul
from worldline._src.model.model import Model
from worldline._src.model.tables import Actuators
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array
from worldline._src.step import force_element_stages as s
from worldline._src.step.dynamics import mass_matrix
from worldline._src.step.inverse_weights import InverseMass, pseudo_inverse
from worldline._src.step.moments import actuator_rows, entries, linear_moment, row_of, tendon_rows
from worldline._src.step.pack_actuators import actuator_holds, pack_actuators
from worldline._src.step.pack_anchors import Anchors, measure
from worldline._src.step.pack_tendons import pack_tendons, tendon_nodes
from worldline._src.step.tree_masses import tree_masses

_Row = tuple[np.ndarray, Array]
"""Degrees of freedom and moments of one actuator or tendon."""


def damping_of_ratios(model: Model, table: Actuators, rows: np.ndarray, ratios: Array) -> Array:
    """Damping of the actuators in `rows` of the table of a model, (n,) [N s/m, N m s]."""
    # what measures moments reads the table of the model
    model.actuators = table
    moments, tendon_moments = _moments(model, rows)
    q = np.array(model.joint_q)
    # a degree of freedom without inertia has nothing to be damped
    if tendon_moments:
        # tendons with inertia tie trees together
        assert model.tendons is not None
        M, m, tendon = np.array(mass_matrix(model, q)), _dense(model, moments), _dense(model, tendon_moments)
        M += matmul(tendon.T, model.tendons.armature[:, None] * tendon)
        yielding = np.einsum("ki,ij,kj->k", m, pseudo_inverse(M), m)
    else:
        inverse = InverseMass(model, tree_masses(model, q))
        yielding = np.array([inverse.square(*row) for row in moments])
    felt = np.divide(1.0, yielding, out=np.zeros(len(rows)), where=yielding > 1e-15)
    return 2.0 * ratios * np.sqrt(np.maximum(table.gain[rows, 0], 0.0) * felt)


def _moments(model: Model, rows: np.ndarray) -> tuple[list[_Row], list[_Row]]:
    """How lengths of actuators change at the start, and those of tendons where any has inertia."""
    anchors = Anchors(model)
    held = actuator_holds(model, rows, anchors)
    armed = model.tendons is not None and bool(model.tendons.armature.any())
    if not armed and all(hold[0] == LINEAR for hold in held):
        return [linear_moment(model, u) for u in rows.tolist()], []
    tendons = 0 if model.tendons is None else len(model.tendons)
    nodes = tendon_nodes(model, anchors) if tendons else []
    tendon_dofs = tendon_rows(model, anchors, nodes) if tendons else []
    actuator_dofs = actuator_rows(model, rows, held, anchors, tendon_dofs)
    sizes = dict.fromkeys(t.TABLE.sizes, 0)
    sizes |= {"nv": model.joint_dof_count, "nanchor": len(anchors), "ntendon": tendons, "nnode": len(nodes)}
    sizes |= {"nu": len(rows), "tree_ends": 1, "nbody": model.body_count + 1}
    sizes |= {"nactuated": entries(actuator_dofs), "nstretched": entries(tendon_dofs)}
    block = t.TABLE.lay_out(sizes)
    anchors.fill(block.column)
    pack_actuators(model, block.column, rows, held, actuator_dofs, clamped=True)
    pack_tendons(model, block.column, nodes, tendon_dofs, SimulateOption())
    measure(model, block, np.asarray(model.joint_q), (s.anchor_poses, s.tendon_lengths, s.transmissions))
    of_actuators = [row_of(block.column, "act", k) for k in range(len(rows))]
    return of_actuators, [row_of(block.column, "tendon", k) for k in range(tendons)] if armed else []


def _dense(model: Model, rows: list[_Row]) -> Array:
    """Moments by degree of freedom, (rows, joint_dof_count)."""
    made = np.zeros((len(rows), model.joint_dof_count))
    for k, (dofs, moments) in enumerate(rows):
        made[k, dofs] = moments
    return made
