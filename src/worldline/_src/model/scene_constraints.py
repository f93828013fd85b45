# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the constraints of a scene to the constraint tables of a Model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.errors import Problem, SceneError
from worldline._src.model import constraint_tables as tables
from worldline._src.model.equality_kinds import MAKERS, EqualityEnds
from worldline._src.model.force_tables import force_models, friction_models
from worldline._src.model.joint_kinds import KINDS
from worldline._src.model.kinds import JointDrive, rows_of_numbers
from worldline._src.model.scene_index import SceneIndex, labels, shared_when_empty
from worldline._src.model.tables import JointForces, PathKind, Tendons
from worldline._src.scene import joints as described
from worldline._src.scene.closures import (
    ClosureDynamicsPolicy,
    ClosureKinematicsPolicy,
    CouplerMode,
    LoopClosureFamily,
)
from worldline._src.scene.enums import counterparts
from worldline._src.scene.joints import DriveType, FreeJoint, Joint
from worldline._src.scene.options import SimulateOption
from worldline._src.scene.tendons import SpatialTendon, SpringLengthType
from worldline._src.scene.values import Range, StiffnessDamping
from worldline._src.scene.world import World
from worldline._src.spatial.poses import Array

_FAMILIES = counterparts(LoopClosureFamily, tables.ClosureFamily)
_DRIVES = counterparts(DriveType, JointDrive)
_DRIVEN = (described.JointType.Revolute, described.JointType.Slide)
"""Joints between bodies that can have a motor."""
_End = tuple[int, Array]


def _range(given: Range | None) -> tuple[float, float]:
    return (-np.inf, np.inf) if given is None else (given.lower, given.upper)


def _within(given: Range, size: float) -> tuple[float, float]:
    """A range, no larger than a size in both directions."""
    return max(given.lower, -size), min(given.upper, size)


def _ends(a: Sequence[_End], b: Sequence[_End]) -> dict[str, np.ndarray]:
    """Columns of what ties two bodies: the bodies, and the poses of the ends in them."""
    columns: dict[str, np.ndarray] = {}
    for name, ends in (("a", a), ("b", b)):
        columns[f"body_{name}"] = np.array([body for body, _ in ends], np.int64)
        columns[f"X_{name}"] = np.array([X for _, X in ends], np.float64).reshape(-1, 7)
    return columns


def _frames(rows: Sequence[Any], index: SceneIndex) -> dict[str, np.ndarray]:
    """`_ends` of rows that have their ends as frames."""
    return _ends([index.end(row.frame_a) for row in rows], [index.end(row.frame_b) for row in rows])


def _floats(values: Sequence[Any], *shape: int) -> Array:
    return np.array(values, np.float64).reshape(len(values), *shape)


def _equalities(world: World) -> list[Any]:
    made = world.equality_constraint_set
    return [equality for name in MAKERS for equality in getattr(made, name)]


@shared_when_empty(_equalities)
def equality_table(world: World, index: SceneIndex, body_q: Array) -> tables.Equalities:
    """Columns of all equality constraints."""
    made, ends = world.equality_constraint_set, EqualityEnds(index, body_q)
    rows = [make(equality, ends) for name, make in MAKERS.items() for equality in getattr(made, name)]
    everything = _equalities(world)
    return tables.Equalities(
        label=labels([equality.name for equality in everything], "equality"),
        kind=np.array([row.kind for row in rows], np.int64),
        active=np.array([equality.active for equality in everything], bool),
        **_ends([row.a for row in rows], [row.b for row in rows]),
        torque_scale=_floats([row.scale for row in rows]),
        first=np.array([row.first for row in rows], np.int64),
        second=np.array([row.second for row in rows], np.int64),
        polynomial=_floats([row.polynomial for row in rows], 5),
        data=[row.data for row in rows],
        force=force_models([equality.spring for equality in everything]),
        break_force=_floats([equality.break_force for equality in everything]),
        break_torque=_floats([equality.break_torque for equality in everything]),
    )


@shared_when_empty(lambda world: world.loop_closures)
def closure_table(world: World, index: SceneIndex) -> tables.Closures:
    """Columns of all loop closures."""
    rows = world.loop_closures
    return tables.Closures(
        label=labels([row.name for row in rows], "closure"),
        family=np.array([_FAMILIES[row.family] for row in rows], np.int64),
        **_frames(rows, index),
        distance=_floats([row.distance for row in rows]),
        enabled=np.array([row.enabled for row in rows], bool),
        projected=np.array([row.kinematics is ClosureKinematicsPolicy.Project for row in rows], bool),
        solved=np.array([row.dynamics is ClosureDynamicsPolicy.Solve for row in rows], bool),
        collides=np.array([row.allow_collision for row in rows], bool),
        force=force_models([row.spring for row in rows]),
    )


@shared_when_empty(lambda world: world.couplers)
def coupler_table(world: World, index: SceneIndex) -> tables.Couplers:
    """Columns of all gears."""
    rows = world.couplers
    joints = index.trees.builder.joints
    follow: list[tuple[int, int]] = []
    lead: list[tuple[int, int]] = []
    problems: list[Problem] = []
    for k, row in enumerate(rows):
        for name, dof, into in ((row.joint, row.joint_dof, follow), (row.reference, row.reference_dof, lead)):
            joint = joints[index.joint[name]]
            if dof >= joint.velocities:
                given = f"given degree of freedom {dof} of joint {name!r}; allowed: below {joint.velocities}"
                problems.append(Problem(f"$.couplers[{k}]", given))
            into.append((joint.v_start + dof, joint.start + dof))
    if problems:
        raise SceneError("the scene cannot be built", problems)
    return tables.Couplers(
        label=labels([row.name for row in rows], "coupler"),
        dof=np.array([dof for dof, _ in follow], np.int64),
        reference=np.array([dof for dof, _ in lead], np.int64),
        coordinate=np.array([q for _, q in follow], np.int64),
        reference_coordinate=np.array([q for _, q in lead], np.int64),
        multiplier=_floats([row.multiplier for row in rows]),
        offset=_floats([row.offset for row in rows]),
        one_way=np.array([row.mode is CouplerMode.Mimic for row in rows], bool),
        active=np.array([row.active for row in rows], bool),
        force=force_models([row.spring for row in rows]),
    )


@shared_when_empty(lambda world: world.distance_springs)
def spring_table(world: World, index: SceneIndex) -> tables.DistanceSprings:
    """Columns of the springs in space."""
    rows = world.distance_springs
    return tables.DistanceSprings(
        label=labels([row.name for row in rows], "spring"),
        **_frames(rows, index),
        rest=_floats([row.rest_length for row in rows]),
        stiffness=_floats([row.stiffness for row in rows]),
        damping=_floats([row.damping for row in rows]),
        active=np.array([row.active for row in rows], bool),
    )


@shared_when_empty(lambda world: world.ground_points)
def ground_table(world: World, index: SceneIndex) -> tables.GroundPoints:
    """Columns of the points on the ground."""
    rows = [row.contact for row in world.ground_points]
    normal = rows_of_numbers([row.plane_normal for row in rows], 3)
    return tables.GroundPoints(
        label=labels([None] * len(rows), "ground_point"),
        body=np.array([index.body[row.link] for row in world.ground_points], np.int64),
        position=rows_of_numbers([row.position for row in world.ground_points], 3),
        normal=normal / np.linalg.norm(normal, axis=1)[:, None],
        plane_point=rows_of_numbers([row.plane_point for row in rows], 3),
        stiffness=_floats([row.stiffness for row in rows]),
        friction=_floats([row.friction_coefficient for row in rows]),
        regularization=_floats([row.friction_regularization for row in rows]),
        damping=_floats([row.damping_coefficient for row in rows]),
        cadence=np.array([row.dual_update_cadence for row in rows], np.int64),
    )


@shared_when_empty(lambda world: world.joints)
def loop_joint_table(world: World, index: SceneIndex) -> tables.LoopJoints:
    """Columns of the joints beside the trees."""
    rows, option = world.joints, world.simulate_option
    a, b = [index.end(row.parent) for row in rows], [index.end(row.child) for row in rows]
    return tables.LoopJoints(
        label=labels([row.joint.name for row in rows], "joint"),
        kind=np.array([KINDS[row.joint.type_].type for row in rows], np.int64),
        **_ends(a, b),
        axis=_floats([row.joint.axis for row in rows], 3),
        axis2=_floats([row.joint.axis2 for row in rows], 3),
        pitch=_floats([row.joint.pitch for row in rows]),
        limit=_floats([_range(row.joint.pos_limit) for row in rows], 2),
        drive=np.array(
            [_DRIVES[row.joint.drive] if row.joint.type_ in _DRIVEN else JointDrive.PASSIVE for row in rows],
            np.int64,
        ),
        effort=_floats([_within(row.effort_limit, row.joint.effort_limit) for row in rows], 2),
        speed=_floats([_within(row.velocity_limit, row.joint.velocity_limit) for row in rows], 2),
        spring=_floats([_joint_spring(row.joint, option) for row in rows], 3),
        friction=_floats([0.0 if option.disable_frictionloss else row.joint.friction_loss for row in rows]),
        friction_force=friction_models([row.joint.friction_damping for row in rows]),
        armature=_floats([row.joint.armature for row in rows]),
        command=_floats([row.command for row in rows], 3),
        break_force=_floats([row.break_force for row in rows]),
        break_torque=_floats([row.break_torque for row in rows]),
        stiffness=_floats(
            [
                (r.projection.start_stiffness, r.projection.linear_stiffness, r.projection.angular_stiffness)
                for r in rows
            ],
            3,
        ),
    )


def _joint_spring(joint: Joint, option: SimulateOption) -> tuple[float, float, float]:
    """Stiffness, coordinate at rest and damping of a joint between bodies."""
    if joint.spring_damper is None:
        return 0.0, 0.0, 0.0
    given = joint.spring_damper.coeff.value
    # a checked scene has no other
    assert isinstance(given, StiffnessDamping)
    stiffness = 0.0 if option.disable_springs else given.k
    return stiffness, joint.spring_damper.target_pos, 0.0 if option.disable_damping else given.d


def tendon_table(world: World, index: SceneIndex) -> Tendons:
    """Columns of all tendons, fixed ones first."""
    fixed, spatial = world.tendon_set.joint_tendons, world.tendon_set.spatial_tendons
    tendons = (*fixed, *spatial)
    joints = index.trees.builder.joints
    weights: list[list[tuple[int, float]]] = []
    for tendon in fixed:
        total: dict[int, float] = {}
        for node in tendon.joints:
            dof = joints[index.joint[node.joint_name]].v_start
            total[dof] = total.get(dof, 0.0) + node.weight
        weights.append(sorted((dof, weight) for dof, weight in total.items() if weight != 0.0))
    sizes = [len(row) for row in weights] + [0] * len(spatial)
    nodes = [_path(tendon, index) for tendon in spatial]
    flat = [node for path in nodes for node in path]
    counts = [0] * len(fixed) + [len(path) for path in nodes]
    rests: list[SpringLengthType] = [t.spring_length for t in tendons]
    springs = [(0.0, 0.0) if t.spring is None else (t.spring.k, t.spring.d) for t in tendons]
    return Tendons(
        label=labels([t.name for t in tendons], "tendon"),
        coefficient_start=np.array([0, *np.cumsum(sizes, dtype=np.int64)], np.int64),
        coefficient_dof=np.array([dof for row in weights for dof, _ in row], np.int64),
        coefficient=_floats([weight for row in weights for _, weight in row]),
        spatial=np.array([False] * len(fixed) + [True] * len(spatial), bool),
        path_start=np.array([0, *np.cumsum(counts, dtype=np.int64)], np.int64),
        path_kind=np.array([node[0] for node in flat], np.int64),
        path_index=np.array([node[1] for node in flat], np.int64),
        path_side=np.array([node[2] for node in flat], np.int64),
        path_divisor=_floats([node[3] for node in flat]),
        stiffness=_floats([k for k, _ in springs]),
        damping=_floats([d for _, d in springs]),
        rest=_floats([_rest(rest.variant, rest.value) for rest in rests], 2),
        friction=_floats([t.frictionloss for t in tendons]),
        friction_force=friction_models([t.friction_damping for t in tendons]),
        limit=_floats([_range(t.limit) for t in tendons], 2),
        limit_force=force_models([t.limit_force for t in tendons]),
        margin=_floats([t.margin for t in tendons]),
        armature=_floats([t.armature for t in tendons]),
        force_range=_floats([_range(t.actuator_force_limit) for t in tendons], 2),
    )


def _rest(variant: str, value: Any) -> tuple[float, float]:
    if variant == "automatic":
        return np.nan, np.nan
    return _range(value) if variant == "range" else (value, value)


def _path(tendon: SpatialTendon, index: SceneIndex) -> list[tuple[PathKind, int, int, float]]:
    found: list[tuple[PathKind, int, int, float]] = []
    for node in tendon.path:
        value = node.value
        if node.variant == "site":
            found.append((PathKind.SITE, index.site[value], -1, 1.0))
        elif node.variant == "geom":
            side = -1 if value["side_site"] is None else index.site[value["side_site"]]
            found.append((PathKind.SHAPE, index.shape[value["geom"]], side, 1.0))
        else:
            found.append((PathKind.PULLEY, -1, -1, value))
    return found


def joint_drives(objects: Sequence[Joint | FreeJoint | None], starts: np.ndarray) -> np.ndarray | None:
    """`JointDrive` of every degree of freedom, which start at `starts`; None when all take forces."""
    found = np.zeros(int(starts[-1]), np.int64)
    for j, joint in enumerate(objects):
        dofs = slice(int(starts[j]), int(starts[j + 1]))
        if isinstance(joint, Joint) and dofs.stop > dofs.start:
            own = [dof.drive or joint.drive for dof in joint.dofs] or [joint.drive] * (dofs.stop - dofs.start)
            found[dofs] = [_DRIVES[drive] for drive in own]
    return found if found.any() else None


def joint_forces(index: SceneIndex, objects: Sequence[Joint | FreeJoint | None]) -> JointForces:
    """How limits and dry friction answer, one row a joint of the Model; None for welds."""
    jointed = [joint if isinstance(joint, Joint) else None for joint in objects]
    return JointForces(
        limit=force_models([None if j is None else j.limit_force for j in jointed]),
        margin=_floats([0.0 if j is None else j.margin for j in jointed]),
        friction=friction_models([None if j is None else j.friction_damping for j in objects]),
        force_range=_floats([_range(None if j is None else j.actuator_force_limit) for j in jointed], 2),
        actuated_gravcomp=np.array([j is not None and j.actuator_gravcomp for j in jointed], bool),
    )
