# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments that public calls take, made from the objects at hand.

A line is for all parameters of a name ("q"), or for that of one call ("Joint.set_position_limits.lower");
parameters with a default need none, unless a line with a plus sign says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hostile.public_objects import FACES, POINTS, POSE, SCENE, Objects, nothing, scene
from worldline import collision, kinematics, model, msd, optimize
from worldline import simulation as sx

Maker = Callable[[Objects], Any]
TURN = (0.0, 0.0, 0.0, 1.0)
TWO = (0.0, 0.0)


def always(value: Any) -> Maker:
    """The same for every object."""
    return lambda o: value


def item(name: str) -> Maker:
    """The object of a name."""
    return lambda o: o[name]


def dofs(o: Objects) -> Any:
    """A number for every degree of freedom of the multibody."""
    return np.zeros(o["multibody"].num_dofs)


def saved(path: str, write: Callable[[Objects, str], object]) -> Maker:
    """The path of a file that is written first."""

    def make(o: Objects) -> str:
        write(o, path)
        return path

    return make


PLAIN: dict[str, Maker] = {
    # ---- handles of a World
    "world": item("world"),
    "name": always("new"),
    "label": always("new"),
    "lower": always(-1.0),
    "upper": always(1.0),
    "link": item("link"),
    "joint": item("hinge"),
    "relative_to": item("body"),
    "shape": always(collision.CollisionShape.sphere(0.1)),
    "radius": always(0.1),
    "half_height": always(0.1),
    "half_extents": always((0.1, 0.1, 0.1)),
    "semi_axes": always((0.1, 0.1, 0.1)),
    "size": always((1.0, 1.0)),
    "heights": always(np.zeros((3, 3))),
    "vertices": always(POINTS),
    "triangles": always(FACES),
    "points": always(POINTS),
    "masses": always(1.0),
    "tensor": always(np.eye(6)),
    "Inertia.transformed.pose": always(np.eye(4)),
    **dict.fromkeys(("force", "torque", "impulse"), always((0.0, 0.0, 1.0))),
    **dict.fromkeys(("Multibody.force", "joint_impulse", "desired_acceleration"), dofs),
    "Multibody.acceleration": dofs,
    "Multibody.jacobian": lambda o: np.ones((1, o["multibody"].num_dofs)),
    "set_mimic_joint.reference": item("screw"),
    "multibody": item("multibody"),
    "start": lambda o: o["multibody"].links[0],
    "target": lambda o: o["multibody"].links[2],
    "Multibody.targets": lambda o: [o["multibody"].links[2]],
    "Linkage.targets": lambda o: [o["multibody"].links[2]],
    "Group.links": lambda o: [o["multibody"].links[2]],
    "Group.joints": always(()),
    "local_point": always((0.0, 0.0, 0.0)),
    "plane_normal": always((0.0, 0.0, 1.0)),
    "plane_point": always((0.0, 0.0, 0.0)),
    "stiffness": always(10.0),
    "rest_length": always(1.0),
    "which": always(0),
    "first": item("body"),
    "second": item("other"),
    "frame": always(0),
    "Replay.first": always(0),
    "Replay.second": always(1),
    "index": always(0),
    "recording": item("recording"),
    "path": always("file.bin"),
    "Recording.to_csv.path": always("file.csv"),
    "Recording.to_html.path": always("file.html"),
    "Recording.to_npz.path": always("file.npz"),
    "Recording.load.path": saved("file.wlr", lambda o, path: o["recording"].save(path)),
    "Recording.load_npz.path": saved("file.npz", lambda o, path: o["recording"].to_npz(path)),
    "simulation.World.load_binary.path": saved("file.world", lambda o, path: o["world_2"].save_binary(path)),
    "WorldBatch.load.path": saved("file.batch", lambda o, path: o["batch"].save(path)),
    "MixedBatch.load.path": saved("file.mixed", lambda o, path: o["mixed"].save(path)),
    "from_file.path": saved("file.xml", lambda o, path: scene().to_file(path)),
    **{f"+simulation.{name}.width": always(16) for name in ("render", "render_batch")},
    **{f"+simulation.{name}.height": always(12) for name in ("render", "render_batch")},
    "camera": always(np.eye(4)),
    "Picture.name": always("floor"),
    "BatchContacts.pair_forces.body": always(0),
    "BatchContacts.pair_forces.other": always(-1),
    "+Multibody.add_loop_closure.name": always("new"),
    "Multibody.add_loop_closure.named": lambda o: (sx.LoopClosureSpec(o["tool"], o["link"]),),
    "+World.add_loop_closure.spec": lambda o: sx.LoopClosureSpec(o["body"], o["link"]),
    "add_skeleton.given": lambda o: (scene(),),
    "World.add_joint.given": lambda o: (o["body"], o["other"], sx.JointSpec("new")),
    "attach_to": item("body"),
    "function": always(nothing),
    "add_function.function": always(lambda context: 0.0),
    "place": always("end"),
    "frame_a": item("body"),
    "frame_b": item("link"),
    "position": always((1.0, 1.0, 1.0)),
    "parent": item("body"),
    "child": item("other"),
    "a": item("body"),
    "b": item("other"),
    "simulation.World.distance.b": item("link"),
    "add_differentiable_parameter.body": item("body_3"),
    "parameter": always(sx.PhysicalParameter.MASS),
    "body": item("body"),
    "equality": lambda o: msd.EqualityJoint(name="e", joint_a="arm/hinge", joint_b="arm/screw"),
    "item": item("marker"),
    "is_same_instance_as.other": item("body"),
    "active": always(True),
    "control": item("control"),
    "state": item("state"),
    "space": item("space"),
    "get_control.space": lambda o: o["world"].control_space(),
    "tangent": lambda o: np.zeros(o["state"].tangent_dimension),
    "+state.rollout.steps": always(2),
    "simulation.state.a": item("state"),
    "simulation.state.b": item("state"),
    "fraction": always(0.5),
    "rng": always(np.random.default_rng(0)),
    "raycast.start": always((0.0, 0.0, 5.0)),
    "end": always((0.0, 0.0, -5.0)),
    "point": always((0.1, 0.1, 0.0)),
    "source": lambda o: scene(),
    "skeleton": lambda o: scene(),
    "scene": lambda o: scene(),
    "package": always("package"),
    "directory": always("."),
    **dict.fromkeys(("get_rigid_body_distance_spring_parameters.name",), always("spring")),
    "set_rigid_body_distance_spring_parameters.name": always("spring"),
    "remove_rigid_body_distance_spring.name": always("spring"),
    "ComputeExecutionProfile.name": always("first"),
    "WorldStepPipeline.name": lambda o: o["pipeline"].stages[0].name,
    "WorldStepProfile.name": lambda o: o["step_profile"].stages[0].name,
    **dict.fromkeys(("get_equality_force.name", "set_equality_active.name"), always("tie")),
    "is_equality_active.name": always("tie"),
    "simulation.World.apply_keyframe.name": always("up"),
    "apply_step_jvp.state": always(np.zeros(4)),
    "WorldBatch.apply_step_jvp.state": always(np.zeros((2, 4))),
    "WorldBatch.apply_step_vjp.d_loss_d_next_state": always(np.zeros((2, 4))),
    "diff.state": always(np.zeros(4)),
    "BatchRollout.states": always(np.zeros((2, 4))),
    "BatchRollout.d_loss_d_states": always(np.zeros((2, 3, 4))),
    # ---- values
    "mean": always(0.0),
    "standard_deviation": always(1.0),
    "low": always(0.5),
    "high": always(1.5),
    "values": always((1.0, 2.0)),
    "u": always(np.array([0.5])),
    "lines": lambda o: (o["line"],),
    "line": item("line"),
    "Randomization.shape": always((2,)),
    "Randomization.world": always(0),
    "Randomization.worlds": always(np.arange(2)),
    "counts": always(np.zeros(2, np.int64)),
    "drawn": always(np.ones(2)),
    "Randomized.applied.start": always(np.ones(2)),
    "distribution": item("uniform"),
    "names": always(("b", "c")),
    "text": lambda o: o["randomization"].to_json(),
    "graph": item("graph"),
    "work": always(nothing),
    # ---- batches
    "num_worlds": always(2),
    "num_bodies": always(3),
    "batch": item("batch"),
    "worlds": always(None),
    **{f"{kind}Executor.worlds": item("world") for kind in ("Compute", "Parallel", "Sequential")},
    "WorldBatch.select.worlds": always([0]),
    "randomization": item("randomization"),
    "sources": lambda o: [(scene(), 1)],
    "pattern": always("*"),
    "WorldBatch.remove_step_function.name": always("watch"),
    "simulation.World.remove_step_function.name": always("watch"),
    "articulation_array.name": always("joint_q"),
    "get_attribute.name": always("joint_q"),
    "FlatArticulationView.values": always(np.zeros((2, 2))),
    "FlatArticulationView.set_root_transforms.values": always(np.tile(POSE, (2, 1))),
    "ArticulationView.set_root_transforms.values": always(np.tile(POSE, (1, 1, 1))),
    # ---- scenes
    "string": always(SCENE),
    "data": lambda o: scene().to_msgpack(),
    "msd.world": lambda o: scene(),
    "msd.value": always("name"),
    **dict.fromkeys(
        ("adhesion.value", "velocity.value", "mask.value", "fixed.value", "pulley.value"), always(0.5)
    ),
    "SpringLengthType.range.value": always((0.1, 0.2)),
    "general.value": lambda o: msd.GeneralParam(),
    "ActuatorType.position.value": lambda o: msd.PositionParam(),
    **dict.fromkeys(
        ("acceleration_spring.value", "force_spring.value", "stiffness_damping.value"),
        lambda o: msd.StiffnessDamping(),
    ),
    "impedance.value": lambda o: msd.ImpedanceSpring(),
    "frequency_damping_ratio.value": lambda o: msd.FrequencyDampingRatio(),
    "FrameSensorRef.object.value": lambda o: msd.ObjectType.link("name"),
    "directional.value": lambda o: msd.DirectionalLightDesc(),
    "LightType.point.value": lambda o: msd.PointLightDesc(),
    "spot.value": lambda o: msd.SpotLightDesc(),
    **dict.fromkeys(("checker.value", "flat.value", "gradient.value"), lambda o: msd.BuildinAttr()),
    "dynamic.value": lambda o: msd.DynamicTextureDesc(),
    "msd.value_0": always("a"),
    "msd.value_1": always("b"),
    "message": always("words"),
    "fate": always(msd.Fate.Kept),
    "Report.path": always("$"),
    "Report.extend.other": lambda o: msd.Report(),
    **dict.fromkeys(
        ("site", "crank_site", "slider_site", "site_a", "site_b", "link_a", "geom"), always("name")
    ),
    **dict.fromkeys(("crank_length", "bounciness", "erp", "torque_scale"), always(0.5)),
    "anchor": always((0.0, 0.0, 0.0)),
    "coefficients": always((0.0, 1.0)),
    "knots": always((0.0, 1.0)),
    "CoordinateFunction.values": always((0.0, 1.0)),
    "hfield": always(np.zeros((2, 2))),
    "axis": always((1.0, 0.0, 0.0)),
    "MeshSource.data": lambda o: msd.MeshData(),
    "msd.height": always(0.0),
    "attach.other": lambda o: msd.World(),
    "msd.World.freeze.joints": always({"hinge": [0.0]}),
    "msd.World.unfreeze.joints": always(["hinge"]),
    "to_file.path": always("scene.xml"),
    # ---- models
    "model": item("model"),
    "q": item("q"),
    "q0": item("q"),
    "q1": item("q"),
    **dict.fromkeys(("qd", "qdd", "tau", "v", "rhs", "displacement", "model.impulse"), always(TWO)),
    "joint_q": lambda o: o["q"].copy(),
    "joint_qd": lambda o: np.zeros(2),
    "model.jacobian": always(np.ones((1, 2))),
    "model.link": always("lower"),
    "model.state": lambda o: o["model"].state(),
    "model.control": lambda o: o["model"].control(),
    "model.source": item("model"),
    "model.target": item("model"),
    "model.values": always(np.zeros((1, 1, 2))),
    "ArticulationView.set_attribute.name": always("joint_damping"),
    "model.State.other": lambda o: o["model"].state(),
    "body_regressor.velocity": always(np.zeros(6)),
    "body_regressor.acceleration": always(np.zeros(6)),
    "bind.function": always(model.mass_matrix),
    "bind.operands": lambda o: (o["q"],),
    "polygon": always(POINTS),
    "builder": item("builder"),
    "freeze_joints.joints": always([0]),
    "ModelBuilder.joints": lambda o: [o["builder"].add_joint_revolute(-1, o["builder"].add_link(mass=1.0))],
    "ModelBuilder.parent": always(0),
    "ModelBuilder.child": lambda o: o["builder"].add_link(mass=1.0),
    "+ModelBuilder.add_joint_d6.linear_axes": lambda o: [model.JointDofConfig()],
    "ModelBuilder.body": always(0),
    "ModelBuilder.other": lambda o: model.ModelBuilder(),
    "ModelBuilder.n": always(1),
    "pitch": always(0.1),
    "indices": always(FACES),
    "motion": always((msd.MotionAxis.turn((0.0, 0.0, 1.0), msd.CoordinateFunction.polynomial((0.0, 1.0))),)),
    "body_index.label": always("upper"),
    "joint_index.label": always("hinge"),
    "articulation_index.label": always("upper"),
    "LaneSimulation.worlds": always(2),
    "LaneSimulation.set_parameters.worlds": always(None),
    # ---- detectors and complementarity problems
    "group": item("shapes"),
    "shapes": item("shape"),
    "collision.pose": always(POSE),
    "pairs": always([(0, 1)]),
    "objects": lambda o: [o["object"], o["object_2"]],
    "collision.a": item("object"),
    "collision.b": item("object_2"),
    "collision.child": item("object"),
    "collision.parent": item("object_2"),
    "collision.start": always((0.0, 0.0, 5.0)),
    "value": always(POSE),
    "maker": always(collision.NativeDetector),
    "reach": always(0.5),
    "problem": item("problem"),
    "x": always(TWO),
    "lcp.A": always(np.eye(2)),
    "lcp.b": always(TWO),
    "lcp.M": always(np.eye(2)),
    "lcp.q": always(TWO),
    # ---- kinematics
    "subject": item("world_2"),
    "kinematics.world": item("world_2"),
    "tasks": item("task"),
    "task": item("task"),
    "AnalyticIk.subject": lambda o: o["ur5"].model,
    "AnalyticIk.task": lambda o: kinematics.PoseTask(o["ur5"].tip, POSE),
    "AnalyticIk.elbow_angle.q": always(np.zeros(6)),
    "end_effector": item("tool_2"),
    "kinematics.multibody": item("robot"),
    "kinematics.frame": item("tool_2"),
    "kinematics.target": always((0.3, 0.0, 0.8)),
    "OrientationTask.target": always(TURN),
    "PoseTask.target": always(np.eye(4)),
    "kinematics.polygon": always(((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))),
    "kinematics.path": item("path"),
    "goals": lambda o: o["q"] + 0.1,
    "waypoints": lambda o: np.stack([o["q"], o["q"] + 0.1]),
    "frames": lambda o: [o["tool_2"]],
    "positions": always(np.zeros((2, 1, 3))),
    "solve_ik_batch.targets": always(((0.3, 0.0, 0.8),)),
    "solve_ik_motion.targets": always(((0.3, 0.0, 0.8), (0.3, 0.0, 0.79))),
    "velocities.q": always(np.zeros((1, 2))),
    "s": always(0.1),
    "Trajectory.t": always(0.1),
    "time_step": always(0.01),
    "bodies": item("tool_2"),
    "closure": item("closure"),
    "+kinematics.time_optimal.max_velocity": always(1.0),
    "+kinematics.time_optimal.max_acceleration": always(1.0),
    "+kinematics.time_optimal.grid": always(20),
    "+kinematics.plan_path.max_iterations": always(20),
    "kinematics.joint": lambda o: o["robot"].joints["hinge"],
    "contacts": always(()),
    # ---- optimization
    "optimize.world": item("world_3"),
    "diff.world": item("world_3"),
    **{f"+optimize.{name}.iterations": always(1) for name in ("ilqr", "multiple_shooting", "identify")},
    "cost": lambda o: optimize.TrackingCost(np.zeros(4), state=1.0),
    "actions": item("actions"),
    "steps": always(2),
    "states": always(np.zeros((3, 4))),
    "z": always(np.zeros(2)),
    "by_states": always(np.zeros((3, 4))),
    "d_loss_d_states": always(np.zeros((3, 4))),
    "d_loss_d_next_state": always(np.zeros(4)),
    "controls": always(np.zeros((2, 3))),
    "optimize.state": always(np.zeros(4)),
    "optimize.t": always(0),
    "optimize.x": always(np.zeros(4)),
    "optimize.u": always(np.zeros(1)),
    "TrajectoryResult.names": lambda o: [o["optimum"].state_names[0]],
    "TrackingCost.target": always(np.zeros(4)),
    # ---- learning environments
    "envs.task": item("task_kind"),
    "VectorWorldEnv.actions": always(np.zeros((2, 2))),
    "action": always(np.zeros(2)),
    # ---- mathematics
    **dict.fromkeys(("w", "p", "angles", "math.v"), always((0.1, 0.2, 0.3))),
    **dict.fromkeys(("R", "M"), always(np.eye(3))),
    "S": always(np.zeros((3, 3))),
    **dict.fromkeys(("T", "A", "B"), always(np.eye(4))),
    "angle": always(0.3),
    "twist": always((0.1, 0.2, 0.3, 0.0, 0.0, 0.0)),
    "order": always("xyz"),
    "pose": always(POSE),
    **dict.fromkeys(("math.q", "math.a", "math.b"), always(TURN)),
    "t": always(0.5),
}
"""Makers of arguments by the parts of a label that they are for, and the name of the parameter."""


def optional(label: str, parameter: str) -> Maker | None:
    """The maker of an argument that has a default, where a call needs it or is quicker with it."""
    return PLAIN.get(f"+{'.'.join(label.split('.')[-2:])}.{parameter}")


def argument(label: str, parameter: str) -> Maker | None:
    """The maker of an argument: the line for this call, else that of its class, its module, or its name."""
    parts = label.split(".")
    spans = [(a, b) for a in range(len(parts)) for b in range(a + 1, len(parts) + 1)]
    for a, b in sorted(spans, key=lambda span: (span[0] - span[1], -span[1])):
        made = PLAIN.get(".".join((*parts[a:b], parameter)))
        if made is not None:
            return made
    return PLAIN.get(parameter)
