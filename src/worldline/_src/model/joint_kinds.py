# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joint types of a scene in a Model: which type of the Model, how a builder adds it, how kernels move it.

`KINDS` is the table. Sizes, axes and the names of other layers stand in `JOINTS` of scene/joints.py, and the
motion itself in kernels/joints.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.kernels import joints as code
from worldline._src.linear_algebra import solve, unit_vector
from worldline._src.model.kinds import ActuatorMode, JointType
from worldline._src.model.records import JointDofConfig
from worldline._src.scene.enums import counterparts
from worldline._src.scene.joints import CoordinateFunction, Joint, JointDof, MotionAxis, TargetMode
from worldline._src.scene.joints import JointType as SceneType
from worldline._src.spatial.poses import IDENTITY, Array, compose, inverse

if TYPE_CHECKING:
    from worldline._src.model.builder import ModelBuilder
    from worldline._src.model.model import Model

MODES = counterparts(TargetMode, ActuatorMode)


def joint_axis(joint: Joint) -> Array:
    """The axis of a joint, z where it has none."""
    # a copy: the builder keeps it
    return joint.axis.copy() if any(joint.axis.tolist()) else np.array([0.0, 0.0, 1.0])


def dof_config(dof: JointDof, axis: Any) -> JointDofConfig:
    """One degree of freedom with settings of its own."""
    return JointDofConfig(
        axis=axis,
        limit_lower=dof.pos_limit.lower,
        limit_upper=dof.pos_limit.upper,
        limit_ke=math.inf if dof.limit_stiffness is None else dof.limit_stiffness,
        limit_kd=dof.limit_damping,
        target_pos=dof.target_position,
        target_vel=dof.target_velocity,
        target_ke=dof.target_stiffness,
        target_kd=dof.target_damping,
        damping=dof.damping,
        stiffness=dof.stiffness,
        spring_ref=dof.rest_position,
        armature=dof.armature,
        friction=dof.friction_loss,
        effort_limit=dof.effort_limit,
        velocity_limit=dof.velocity_limit,
        effort_lower=dof.effort_lower,
        velocity_lower=dof.velocity_lower,
        actuator_mode=MODES[dof.target_mode],
    )


def _limits(joint: Joint) -> dict[str, float]:
    """Distances as a builder takes them: negative means no limit."""
    low, high = joint.distance_limit.lower, joint.distance_limit.upper
    return {
        "min_distance": low if np.isfinite(low) else -1.0,
        "max_distance": high if np.isfinite(high) else -1.0,
    }


def _free(builder: ModelBuilder, joint: Joint, frames: dict[str, Any], settings: dict[str, Any]) -> int:
    """A free joint within a tree: its coordinates start at zero where the scene is drawn."""
    index = builder.add_joint_free(**frames)
    record = builder.joints[index]
    builder.joint_q[record.start : record.start + 7] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    keep = _free_settings(settings)
    record.linear = [replace(d, **keep) for d in record.linear]
    record.angular = [replace(d, **keep) for d in record.angular]
    return index


def _free_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """What six degrees of freedom take of the settings of a joint."""
    return {name: value for name, value in settings.items() if name != "spring_ref"}


def _d6(builder: ModelBuilder, joint: Joint, frames: dict[str, Any], settings: dict[str, Any]) -> int:
    return builder.add_joint_d6(
        linear_axes=[dof_config(d, d.axis) for d in joint.dofs if not d.angular],
        angular_axes=[dof_config(d, d.axis) for d in joint.dofs if d.angular],
        **frames,
    )


def _cable(builder: ModelBuilder, joint: Joint, frames: dict[str, Any], settings: dict[str, Any]) -> int:
    dof = JointDofConfig(**settings)
    return builder.add_joint_cable(
        axis=joint_axis(joint), bend_axis=joint.axis2, stretch=dof, bend=dof, **frames
    )


def pieces(f: CoordinateFunction) -> list[tuple[float, list[float]]]:
    """A function as polynomials: where each starts, and its coefficients about there, constant first.

    The natural cubic spline solves for the curvatures at its points: with widths h and values y,
    h_i c_i-1 + 2 (h_i + h_i+1) c_i + h_i+1 c_i+1 = 6 ((y_i+1 - y_i) / h_i+1 - (y_i - y_i-1) / h_i).
    """
    if f.coefficients:
        return [(0.0, list(f.coefficients))]
    x, y = np.array(f.knots), np.array(f.values)
    h, n = np.diff(x), len(x)
    rise = np.diff(y) / h
    A, b = np.eye(n), np.zeros(n)
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i]
        b[i] = 6.0 * (rise[i] - rise[i - 1])
    bow = solve(A, b)
    slope = rise - h * (2.0 * bow[:-1] + bow[1:]) / 6.0
    last = slope[-1] + 0.5 * h[-1] * (bow[-2] + bow[-1])
    made = [(float(x[0]), [float(y[0]), float(slope[0])])]
    for i in range(n - 1):
        third = (bow[i + 1] - bow[i]) / (6.0 * h[i])
        made.append((float(x[i]), [float(y[i]), float(slope[i]), float(0.5 * bow[i]), float(third)]))
    return [*made, (float(x[-1]), [float(y[-1]), float(last)])]


def _value(f: CoordinateFunction, x: float) -> float:
    """A function at a coordinate."""
    begun = [piece for piece in pieces(f) if x >= piece[0]]
    start, coefficients = begun[-1] if begun else pieces(f)[0]
    return float(np.polynomial.polynomial.polyval(x - start, coefficients))


def custom_pose(motion: Sequence[MotionAxis], q: Sequence[float]) -> Array:
    """Pose of the moved frame of a custom joint in its joint frame, position and xyzw, (7,)."""
    pose = IDENTITY
    for axis in motion:
        unit = unit_vector(axis.axis)
        amount = sum(math.prod(_value(f, q[f.coordinate]) for f in term.factors) for term in axis.terms)
        if axis.angular:
            step = np.array([0.0, 0.0, 0.0, *(math.sin(0.5 * amount) * unit), math.cos(0.5 * amount)])
        else:
            step = np.array([*(amount * unit), 0.0, 0.0, 0.0, 1.0])
        pose = compose(pose, step)
    return pose


def _custom(builder: ModelBuilder, joint: Joint, frames: dict[str, Any], settings: dict[str, Any]) -> int:
    """A custom joint, whose coordinates are zero where the scene is drawn."""
    at_zero = custom_pose(joint.motion, [0.0] * joint.full_sizes[0])
    moved = {**frames, "parent_xform": compose(frames["parent_xform"], inverse(at_zero))}
    return builder.add_joint_custom(motion=joint.motion, **moved, **settings)


@dataclass(frozen=True)
class SceneKind:
    """A joint type of a scene in a Model."""

    type: JointType
    add: Callable[[ModelBuilder, Joint, dict[str, Any], dict[str, Any]], int]
    """Adds it to a builder: the joint, its frames, and the settings of its degrees of freedom."""


KINDS: dict[SceneType, SceneKind] = {
    SceneType.Fixed: SceneKind(JointType.FIXED, lambda b, j, f, s: b.add_joint_fixed(**f)),
    SceneType.Revolute: SceneKind(
        JointType.REVOLUTE, lambda b, j, f, s: b.add_joint_revolute(axis=joint_axis(j), **f, **s)
    ),
    SceneType.Slide: SceneKind(
        JointType.PRISMATIC, lambda b, j, f, s: b.add_joint_prismatic(axis=joint_axis(j), **f, **s)
    ),
    SceneType.Screw: SceneKind(
        JointType.SCREW, lambda b, j, f, s: b.add_joint_screw(axis=joint_axis(j), pitch=j.pitch, **f, **s)
    ),
    SceneType.Universal: SceneKind(
        JointType.UNIVERSAL,
        lambda b, j, f, s: b.add_joint_universal(axis=joint_axis(j), axis2=j.axis2, **f, **s),
    ),
    SceneType.Planar: SceneKind(
        JointType.PLANAR, lambda b, j, f, s: b.add_joint_planar(axis=joint_axis(j), axis2=j.axis2, **f, **s)
    ),
    SceneType.Euler: SceneKind(
        JointType.EULER, lambda b, j, f, s: b.add_joint_euler(order=j.euler_order.name.lower(), **f, **s)
    ),
    SceneType.Translational: SceneKind(
        JointType.TRANSLATIONAL, lambda b, j, f, s: b.add_joint_translational(**f, **s)
    ),
    # between bodies these are two of the axes that a D6 joint may have: three would be another joint
    SceneType.Translational2D: SceneKind(
        JointType.D6, lambda b, j, f, s: b.add_joint_translational(axes=[joint_axis(j), j.axis2], **f, **s)
    ),
    SceneType.Ball: SceneKind(JointType.BALL, lambda b, j, f, s: b.add_joint_ball(**f, **s)),
    SceneType.Free: SceneKind(JointType.FREE, _free),
    SceneType.D6: SceneKind(JointType.D6, _d6),
    SceneType.Distance: SceneKind(
        JointType.DISTANCE, lambda b, j, f, s: b.add_joint_distance(**f, **_limits(j), **_free_settings(s))
    ),
    SceneType.Cable: SceneKind(JointType.CABLE, _cable),
    SceneType.Custom: SceneKind(JointType.CUSTOM, _custom),
}
"""Every joint type of a scene; `type` is that of a joint between bodies."""

_CODES = {
    JointType.FIXED: code.FIXED,
    JointType.BALL: code.BALL,
    JointType.FREE: code.FREE,
    JointType.DISTANCE: code.FREE,
    JointType.CUSTOM: code.CUSTOM,
}
_NOT_INVERTED: frozenset[int] = frozenset((JointType.CUSTOM,))
"""Types whose coordinates do not follow from the poses of their bodies in closed form."""


def kernel_code(joint_type: int) -> int:
    """How kernels move a joint of this type; a sequence of axes unless the table says otherwise."""
    return _CODES.get(JointType(joint_type), code.AXES)


def column_kinds(joint_type: int, linear: int, angular: int) -> list[int]:
    """What every velocity of a joint does."""
    if joint_type == JointType.BALL:
        return [code.ANGULAR] * 3
    if joint_type in (JointType.FREE, JointType.DISTANCE):
        return [code.LINEAR] * 3 + [code.ANGULAR] * 3
    if joint_type == JointType.SCREW:
        return [code.SCREW]
    if joint_type == JointType.CUSTOM:
        return [code.COUPLED] * angular
    return [code.SLIDE] * linear + [code.TURN] * angular


def not_inverted(model: Model) -> list[str]:
    """Labels of joints whose coordinates do not follow from the poses of their bodies."""
    found = np.flatnonzero(np.isin(model.joint_type, list(_NOT_INVERTED)))
    return [model.joint_label[j] for j in found]


def joint_sizes(model: Model, tree: np.ndarray) -> dict[str, int]:
    """Sizes of the arrays that kinds of joints have in the arenas; `tree` lists the joints of trees."""
    motions = [model.joint_data[j] for j in _customs(model, tree)]
    terms = [term for motion in motions for axis in motion for term in axis.terms]
    return {
        "nbend": len(motions),
        "nterm": len(terms),
        "npiece": sum(len(pieces(f)) for term in terms for f in term.factors),
        "nturn": -(-_turn_count(model, tree) // code.TURNS) * code.TURNS,
    }


def _turn_count(model: Model, tree: np.ndarray) -> int:
    """How many columns of sequences of axes turn; see `column_kinds`."""
    types = model.joint_type[tree]
    counts = np.where(types == JointType.SCREW, 1, model.joint_dof_dim[tree, 1])
    return int(counts[~np.isin(types, list(_CODES))].sum())


def _customs(model: Model, tree: np.ndarray) -> list[int]:
    """Joints of trees that are custom."""
    return tree[model.joint_type[tree] == JointType.CUSTOM].tolist()


def fill_joints(model: Model, tree: np.ndarray, view: dict[str, np.ndarray]) -> None:
    """Write the constants of kinds of joints."""
    view["dof_pitch"][:] = model.joint_pitch
    view["link_bend"][:] = -1
    link = {j: i for i, j in enumerate(tree.tolist(), start=1)}
    term = piece = 0
    for c, j in enumerate(_customs(model, tree)):
        view["link_bend"][link[j]] = c
        view["custom_kind"][c] = -1
        for k, axis in enumerate(model.joint_data[j]):
            view["custom_kind"][c, k] = code.TURN if axis.angular else code.SLIDE
            view["custom_axis"][c, 3 * k : 3 * k + 3] = unit_vector(axis.axis)
            view["custom_terms"][c, 2 * k : 2 * k + 2] = term, term + len(axis.terms)
            for product in axis.terms:
                for f in product.factors:
                    first = piece
                    for start, coefficients in pieces(f):
                        view["piece_degree"][piece] = len(coefficients) - 1
                        view["piece"][piece, : 1 + len(coefficients)] = [start, *coefficients]
                        piece += 1
                    view["term_pieces"][term, 2 * f.coordinate : 2 * f.coordinate + 2] = first, piece
                term += 1
