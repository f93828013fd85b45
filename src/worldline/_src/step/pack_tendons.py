# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the tendons of a Model to their columns; lengths at the start are measured once."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.tables import ConstraintColumns
from worldline._src.kernels.tendons import ANCHOR, CYLINDER, PULLEY, SPHERE
from worldline._src.model.kinds import ShapeKind
from worldline._src.model.model import Model
from worldline._src.model.sensor_tables import SensorKind
from worldline._src.model.tables import PathKind, TargetKind
from worldline._src.scalar.columns import Block
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array
from worldline._src.step import force_element_stages as s
from worldline._src.step.inverse_weights import InverseMass
from worldline._src.step.moments import Rows, coefficients, entries, pack_rows, tendon_rows
from worldline._src.step.pack_anchors import Anchors, measure
from worldline._src.step.pack_joints import law_rows
from worldline._src.step.packer import Packer, Packing, Touched, Trees
from worldline._src.step.tree_masses import tree_masses

_Node = tuple[int, int, int, float]


def tendons_matter(model: Model, option: SimulateOption) -> bool:
    """Whether tendons are measured or do more than being the target of actuators with constant moments."""
    table = model.tendons
    if table is None or not len(table):
        return False
    asked = (table.stiffness != 0.0) | (table.damping != 0.0) | (table.friction != 0.0)
    asked |= (table.armature != 0.0) | (np.isfinite(table.limit).any(axis=1) & (not option.disable_limit))
    measured = model.sensors is not None and (model.sensors.kind == SensorKind.TENDON).any()
    held = model.equalities is not None and (model.equalities.kind == t.TENDON).any()
    driven = np.zeros(len(table), bool)
    if model.actuators is not None:
        driven[model.actuators.target[model.actuators.target_kind == TargetKind.TENDON]] = True
    bounded = np.isfinite(table.force_range).any(axis=1)
    return bool(asked.any() or held or measured or (driven & (table.spatial | bounded)).any())


def tendon_nodes(model: Model, anchors: Anchors) -> list[_Node]:
    """Nodes of all paths: kind, anchor, anchor of the side or -1, radius or divisor."""
    table = model.tendons
    assert table is not None
    nodes: list[_Node] = []
    for kind, index, side, divisor in zip(
        table.path_kind.tolist(),
        table.path_index.tolist(),
        table.path_side.tolist(),
        table.path_divisor.tolist(),
        strict=True,
    ):
        if kind == PathKind.SITE:
            nodes.append((ANCHOR, anchors.site(index), -1, 0.0))
        elif kind == PathKind.PULLEY:
            nodes.append((PULLEY, 0, -1, divisor))
        else:
            shapes = model.shapes
            assert shapes is not None
            shape = CYLINDER if shapes.kind[index] == ShapeKind.CYLINDER else SPHERE
            at = -1 if side < 0 else anchors.site(side)
            nodes.append((shape, anchors.shape(index), at, float(shapes.size[index, 0])))
    return nodes


def pack_tendons(
    model: Model, column: ConstraintColumns, nodes: list[_Node], rows: Rows, option: SimulateOption
) -> None:
    """Everything but what depends on the length at the start; `rows` are degrees of freedom of tendons."""
    table = model.tendons
    if table is None or not len(column.tendon_bound):
        return
    column.tendon_path[:, 0], column.tendon_path[:, 1] = table.path_start[:-1], table.path_start[1:]
    pack_rows(column, "tendon", rows)
    column.tendon_coefficient[: len(table.coefficient)] = table.coefficient
    limit = np.array(table.limit)
    if option.disable_limit or option.disable_constraints:
        limit[:] = (-np.inf, np.inf)
    column.tendon_bound[:, :2], column.tendon_bound[:, 2] = limit, table.margin
    column.tendon_law[:] = law_rows(table.limit_force)
    spring = column.tendon_spring
    spring[:, 0] = 0.0 if option.disable_springs else table.stiffness
    spring[:, 1] = 0.0 if option.disable_damping else table.damping
    spring[:, 2:] = table.rest
    friction, soft = column.tendon_friction, table.friction_force
    if not (option.disable_frictionloss or option.disable_constraints):
        friction[:, 0] = table.friction
    yields = (soft.damping > 0.0) & (soft.impedance > 0.0)
    friction[:, 1], friction[:, 2] = soft.damping, np.where(yields, soft.impedance, 1.0)
    friction[:, 3] = np.maximum(soft.dmax, 1e-4)
    column.tendon_armature[:] = table.armature
    column.tendon_force_range[:] = table.force_range
    if nodes:
        kind, anchor, side, number = zip(*nodes, strict=True)
        column.node_kind[:], column.node_anchor[:] = kind, anchor
        column.node_side[:], column.node_number[:] = side, number


def _lengths(model: Model, block: Block, q: Array) -> Array:
    """Lengths at some coordinates, (tendons,); their moments are left in the columns."""
    if len(block.column.tendon_bound):
        measure(model, block, q, (s.anchor_poses, s.tendon_lengths))
    return block.column.tendon_size[:, 0].copy()


def settle_tendons(model: Model, block: Block) -> Array:
    """Springs that are at rest where those of joints are, and equalities of lengths; lengths at the start."""
    column = block.column
    spring = column.tendon_spring
    unset = np.isnan(spring[:, 2])
    if unset.any():
        relaxed = _lengths(model, block, model.constants["q_rest"])
        spring[unset, 2] = spring[unset, 3] = relaxed[unset]
    lengths = _lengths(model, block, np.asarray(model.joint_q))
    for k in np.flatnonzero(column.equality_kind == t.TENDON).tolist():
        a, b = int(column.equality_first[k]), int(column.equality_second[k])
        column.equality_number[k, 5] = lengths[a]
        column.equality_number[k, 6] = lengths[b] if b >= 0 else 0.0
    return lengths


def pack_tendon_inertias(model: Model, column: ConstraintColumns, start: Array) -> None:
    """Inverse inertias that tendons see at the start, from their moments there, as `tendon_moment`."""
    if not len(column.tendon_bound):
        return
    # of the same pose: how a free body turned at the start is not all the same to what pulls at it
    inverse = InverseMass(model, tree_masses(model, np.array(model.joint_q)))
    for k, (low, high) in enumerate(column.tendon_span.tolist()):
        column.tendon_bound[k, 3] = inverse.square(column.tendon_dof[low:high], start[low:high])


class TendonPacker(Packer):
    """Tendons, where they are measured or do more than carry actuators with constant moments."""

    ROWS: ClassVar[dict[str, int]] = {"tendon": 4}

    def __init__(self, packing: Packing) -> None:
        super().__init__(packing)
        matter = tendons_matter(self.model, self.option)
        self.count = len(self.model.tendons or ()) if matter else 0
        self.nodes = tendon_nodes(self.model, packing.anchors) if self.count else []
        self.dofs: Rows = tendon_rows(self.model, packing.anchors, self.nodes) if self.count else []
        """Degrees of freedom that every tendon is moved by."""
        self._start_moment = np.zeros(0)

    def sizes(self) -> dict[str, int]:
        """Sizes of its columns."""
        return {"ntendon": self.count, "nnode": len(self.nodes), "nstretched": entries(self.dofs)}

    def touched(self, trees: Trees) -> Touched:
        """Trees along the path or in the sum of every tendon."""
        found, links, table = [], self.packing.anchors.links, self.model.tendons
        for k in range(self.count):
            assert table is not None
            path = range(int(table.path_start[k]), int(table.path_start[k + 1]))
            over = trees.links([links[self.nodes[j][1]] for j in path])
            found.append(sorted({*over, *trees.dofs(coefficients(table, k)[0].tolist())}))
        return {"tendon": found}

    def fill(self, block: Block[ConstraintColumns]) -> None:
        """Fill its columns, and measure lengths at the start."""
        pack_tendons(self.model, block.column, self.nodes, self.dofs, self.option)
        settle_tendons(self.model, block)
        self._start_moment = block.column.tendon_moment.copy()

    def fill_inertias(self, block: Block[ConstraintColumns], dofs: Array) -> None:
        """Inverse inertias that tendons see at the start."""
        pack_tendon_inertias(self.model, block.column, self._start_moment)
