# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A valid scene with something of everything, and every way to break it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from worldline import msd


def scene() -> msd.World:
    """A valid scene with something of everything."""
    world = msd.World(name="test")
    world.add_ground_plane(0.0)
    arm = msd.Link(name="arm", joints=[msd.Joint(name="shoulder", axis=(0, 0, 1), pos_limit=(-1, 1))])
    arm.inertial = msd.Inertia(mass=1.0, pos=(0, 0, 0), diag_inertia=(1, 1, 1))
    hand = msd.Link(name="hand", joints=[msd.Joint(name="wrist", axis=(0, 1, 0))])
    hand.geoms.append(msd.Geometry(name="palm", shape="Box", size=(0.1, 0.1, 0.1)))
    hand.geoms.append(msd.Geometry(name="tip", size=(0.1, 0, 0)))
    hand.sites.append(msd.Site(name="grip", size=(0.1, 0, 0)))
    hand.sites.append(msd.Site(name="base"))
    arm.children.append(hand)
    world.hierarchy.bodies.append(msd.Body(link=arm))
    ball = msd.Link(name="ball", geoms=[msd.Geometry(name="ball geom", size=(0.1, 0, 0))])
    world.hierarchy.bodies.append(msd.Body(link=ball, free=msd.FreeJoint(name="fly")))
    world.actuators.append(msd.Actuator(name="motor", target=msd.ActuatorTarget.joint("wrist")))
    world.sensors.joint.append(msd.JointSensor(name="angle", joint="wrist"))
    node = msd.JointTendonNode(joint_name="wrist")
    world.tendon_set.joint_tendons.append(msd.JointTendon(name="cord", joints=[node]))
    path = [msd.TendonPathNode.site("grip"), msd.TendonPathNode.site("base")]
    world.tendon_set.spatial_tendons.append(msd.SpatialTendon(name="rope", path=path))
    world.loop_closures.append(
        msd.LoopClosure(name="loop", frame_a=msd.FrameRef(link="hand"), frame_b=msd.FrameRef(link="ball"))
    )
    world.frames.append(msd.Frame(name="tool", parent_link="hand"))
    world.frames.append(msd.Frame(name="tool tip", parent_frame="tool"))
    mesh = msd.MeshData(name="flake", vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], triangles=[[0, 1, 2]])
    world.assets.meshes["flake"] = msd.MeshSource.buffer(mesh)
    heights = msd.HFieldSourceType.buffer([[0.0, 1.0], [2.0, 3.0]], "hills")
    world.assets.hfields["hills"] = msd.HFieldSource(nrow=2, ncol=2, source_type=heights)
    world.keyframes.append(msd.Keyframe(name="home", dof_pos=[0, 0, 1, 0, 0, 0, 1, 0.5, 0.25], ctrl=[1.0]))
    return world


def arm(world: msd.World) -> msd.Link:
    return world.hierarchy.bodies[0].link


def hand(world: msd.World) -> msd.Link:
    return arm(world).children[0]


def equate(table: str, kind: type, **given: Any) -> Callable[[msd.World], object]:
    """Adds an equality to a scene."""
    return lambda world: getattr(world.equality_constraint_set, table).append(kind(**given))


def palm(world: msd.World) -> msd.Geometry:
    return hand(world).geoms[0]


def mesh(world: msd.World) -> msd.MeshData:
    return world.assets.meshes["flake"].value["data"]


HAND = "$.hierarchy.bodies[0].link.children[0]"
Mutation = Callable[[msd.World], object]


def join_hand(world: msd.World, **fields: Any) -> None:
    """Give a world a joint between the hand and the world."""
    world.joints.append(msd.WorldJoint(child=msd.FrameRef(link="hand"), **fields))


FAULTS: dict[str, tuple[Mutation, str, str, str]] = {
    # types and shapes broken in place
    "text in a list of geoms": (
        lambda w: hand(w).geoms.append("geom"),
        f"{HAND}.geoms[2]",
        "'geom'",
        "a Geometry",
    ),
    "text in a list of links": (
        lambda w: hand(w).children.append("link"),
        f"{HAND}.children[0]",
        "'link'",
        "a Link",
    ),
    "size cut short": (lambda w: palm(w).size.pop(), f"{HAND}.geoms[0].size", "list of 2", "3 numbers"),
    "text in a size": (
        lambda w: palm(w).size.__setitem__(1, "x"),
        f"{HAND}.geoms[0].size",
        "'x'",
        "3 numbers",
    ),
    "actuator list replaced inside": (
        lambda w: w.actuators.append(None),
        "$.actuators[1]",
        "None",
        "an Actuator",
    ),
    "wrong key": (
        lambda w: w.assets.textures.__setitem__(3, msd.Texture()),
        "$.assets.textures",
        "3",
        "text",
    ),
    # not a number
    "NaN in a size": (
        lambda w: palm(w).size.__setitem__(1, math.nan),
        f"{HAND}.geoms[0].size[1]",
        "nan",
        "finite",
    ),
    "NaN in a position": (
        lambda w: palm(w).position.__setitem__(0, math.nan),
        f"{HAND}.geoms[0].position",
        "nan",
        "finite",
    ),
    "infinite mass": (lambda w: setattr(palm(w), "mass", math.inf), f"{HAND}.geoms[0].mass", "inf", "finite"),
    "NaN in a limit": (
        lambda w: setattr(arm(w).joints[0].pos_limit, "lower", math.nan),
        "$.hierarchy.bodies[0].link.joints[0].pos_limit.lower",
        "nan",
        "number",
    ),
    "NaN in a vertex": (
        lambda w: mesh(w).vertices.__setitem__((1, 2), math.nan),
        "$.assets.meshes['flake'].Buffer.data.vertices[1]",
        "nan",
        "finite",
    ),
    "infinite height": (
        lambda w: w.assets.hfields["hills"].source_type.value["hfield"].__setitem__((0, 0), math.inf),
        "$.assets.hfields['hills'].source_type.Buffer.hfield",
        "not finite",
        "finite",
    ),
    # values
    "negative mass": (
        lambda w: setattr(arm(w).inertial, "mass", -1.0),
        "$.hierarchy.bodies[0].link.inertial.mass",
        "-1.0",
        ">= 0",
    ),
    "negative geom mass": (lambda w: setattr(palm(w), "mass", -2.0), f"{HAND}.geoms[0].mass", "-2.0", ">= 0"),
    "negative moment": (
        lambda w: setattr(arm(w).inertial, "diag_inertia", (1, -1, 1)),
        "$.hierarchy.bodies[0].link.inertial.diag_inertia",
        "-1.0",
        ">= 0",
    ),
    "indefinite tensor": (
        lambda w: setattr(arm(w).inertial, "full_inertia", (1, 1, 1, 5, 0, 0)),
        "$.hierarchy.bodies[0].link.inertial.full_inertia",
        "5.0",
        "negative principal moments",
    ),
    "inverted range": (
        lambda w: setattr(arm(w).joints[0].pos_limit, "lower", 3.0),
        "$.hierarchy.bodies[0].link.joints[0].pos_limit",
        "3.0 to 1.0",
        "lower <= upper",
    ),
    "zero quaternion": (
        lambda w: setattr(hand(w), "local_rotation", (0, 0, 0, 0)),
        f"{HAND}.local_rotation",
        "0.0, 0.0",
        "not all zero",
    ),
    "zero axis": (
        lambda w: setattr(hand(w).joints[0], "axis", (0, 0, 0)),
        f"{HAND}.joints[0].axis",
        "zero axis",
        "Revolute",
    ),
    "no time step": (
        lambda w: setattr(w.simulate_option, "timestep", 0.0),
        "$.simulate_option.timestep",
        "0.0",
        "> 0",
    ),
    "condim 2": (
        lambda w: setattr(palm(w).physics_material, "condim", 2),
        f"{HAND}.geoms[0].physics_material.condim",
        "2",
        "1, 3, 4 or 6",
    ),
    "group 9": (lambda w: setattr(palm(w).visual, "group", 9), f"{HAND}.geoms[0].visual.group", "9", "<= 7"),
    "negative friction": (
        lambda w: setattr(palm(w).physics_material, "friction", (-1, 0, 0)),
        f"{HAND}.geoms[0].physics_material.friction[0]",
        "-1.0",
        ">= 0",
    ),
    "zero size": (
        lambda w: setattr(palm(w), "size", (0.1, 0, 0.1)),
        f"{HAND}.geoms[0].size",
        "0.0",
        "three half sizes",
    ),
    "zero radius": (
        lambda w: setattr(hand(w).geoms[1], "size", (0, 1, 1)),
        f"{HAND}.geoms[1].size",
        "0.0",
        "a radius > 0",
    ),
    "zero mesh scale": (
        lambda w: setattr(palm(w), "mesh_scale", (1, 0, 1)),
        f"{HAND}.geoms[0].mesh_scale",
        "0.0",
        "no zero",
    ),
    "break force": (
        lambda w: join_hand(w, joint=msd.Joint(type_="Fixed"), break_force=-1.0),
        "$.joints[0].break_force",
        "-1.0",
        ">= 0",
    ),
    "override of two numbers": (
        lambda w: setattr(w.simulate_option, "override_friction", (1, 1)),
        "$.simulate_option.override_friction",
        "2 numbers",
        "3 or 5",
    ),
    "inverted groups": (
        lambda w: setattr(w.compile_options, "inertia_groups", (3, 1)),
        "$.compile_options.inertia_groups",
        "[3, 1]",
        "first <= last",
    ),
    # shapes and their assets
    "mesh without a name": (
        lambda w: setattr(palm(w), "shape", "Mesh"),
        f"{HAND}.geoms[0].mesh",
        "None",
        "shape is Mesh",
    ),
    "height field without a name": (
        lambda w: setattr(palm(w), "shape", "HField"),
        f"{HAND}.geoms[0].hfield",
        "None",
        "shape is HField",
    ),
    "plane on a moving link": (
        lambda w: setattr(palm(w), "shape", "InfinitePlane"),
        f"{HAND}.geoms[0].shape",
        "InfinitePlane",
        "move",
    ),
    "triangle beyond the vertices": (
        lambda w: setattr(mesh(w), "triangles", [[0, 1, 3]]),
        "$.assets.meshes['flake'].Buffer.data.triangles",
        "0 to 3",
        "the 3 vertices",
    ),
    "loose vertices": (
        lambda w: (setattr(mesh(w), "triangles", None), setattr(mesh(w), "vertices", np.ones((4, 3)))),
        "$.assets.meshes['flake'].Buffer.data.vertices",
        "4 vertices",
        "multiple of three",
    ),
    "too few normals": (
        lambda w: setattr(mesh(w), "normal", np.ones((2, 3))),
        "$.assets.meshes['flake'].Buffer.data.normal",
        "2 rows",
        "3, one for each vertex",
    ),
    "height field that lies about its size": (
        lambda w: setattr(w.assets.hfields["hills"], "nrow", 1000),
        "$.assets.hfields['hills'].source_type.Buffer.hfield",
        "(2, 2)",
        "1000 rows of 2",
    ),
    "height field of one row": (
        lambda w: setattr(w.assets.hfields["hills"], "nrow", 1),
        "$.assets.hfields['hills']",
        "1 rows",
        "at least 2",
    ),
    "flat height field": (
        lambda w: setattr(w.assets.hfields["hills"], "size", (0, 1)),
        "$.assets.hfields['hills'].size",
        "0.0",
        "> 0",
    ),
    "site of no length": (
        lambda w: setattr(hand(w).sites[0], "from_to", (1, 2, 3, 1, 2, 3)),
        f"{HAND}.sites[0].from_to",
        "1.0",
        "two different points",
    ),
    # names
    "duplicate link": (
        lambda w: hand(w).children.append(msd.Link(name="arm")),
        f"{HAND}.children[0].name",
        "'arm', already used at",
        "given the link name",
    ),
    "duplicate joint": (
        lambda w: setattr(w.hierarchy.bodies[1].free, "name", "shoulder"),
        "$.hierarchy.bodies[1].free.name",
        "'shoulder', already used at",
        "given the joint name",
    ),
    "duplicate sensor of another kind": (
        lambda w: w.sensors.touch.append(msd.TouchSensor(name="angle", site="grip")),
        "$.sensors.touch[0].name",
        "'angle', already used at",
        "given the sensor name",
    ),
    "duplicate tendon of another kind": (
        lambda w: setattr(w.tendon_set.spatial_tendons[0], "name", "cord"),
        "$.tendon_set.spatial_tendons[0].name",
        "'cord', already used at",
        "given the tendon name",
    ),
    "empty name": (lambda w: setattr(palm(w), "name", ""), f"{HAND}.geoms[0].name", "an empty name", "None"),
    # references
    "actuator of no joint": (
        lambda w: setattr(w.actuators[0], "target", msd.ActuatorTarget.joint("wirst")),
        "$.actuators[0].target.Joint",
        "'wirst' (str), which is no joint",
        "did you mean 'wrist'?",
    ),
    "actuator without a target": (
        lambda w: setattr(w.actuators[0], "target", msd.ActuatorTarget.joint("")),
        "$.actuators[0].target.Joint",
        "no name",
        "the name of a joint",
    ),
    "sensor of no joint": (
        lambda w: setattr(w.sensors.joint[0], "joint", "elbow"),
        "$.sensors.joint[0].joint",
        "'elbow' (str), which is no joint",
        "'wrist'",
    ),
    "geom of no mesh": (
        lambda w: setattr(palm(w), "mesh", "flakes"),
        f"{HAND}.geoms[0].mesh",
        "which is no mesh",
        "did you mean 'flake'?",
    ),
    "geom of no material": (
        lambda w: setattr(palm(w).visual, "material", "steel"),
        f"{HAND}.geoms[0].visual.material",
        "which is no material",
        "the scene has none",
    ),
    "camera looking at nothing": (
        lambda w: w.hierarchy.cameras.append(msd.Camera(track_target="hnd")),
        "$.hierarchy.cameras[0].track_target",
        "which is no link",
        "did you mean 'hand'?",
    ),
    "closure of no link": (
        lambda w: setattr(w.loop_closures[0].frame_a, "link", "hands"),
        "$.loop_closures[0].frame_a.link",
        "which is no link",
        "did you mean 'hand'?",
    ),
    "ignored pair of no link": (
        lambda w: w.collision_ignores.link_pairs.append(["arm", "leg"]),
        "$.collision_ignores.link_pairs[0][1]",
        "'leg' (str), which is no link",
        "'arm'",
    ),
    "contact match of no geom": (
        lambda w: w.sensors.contact.append(
            msd.ContactSensor(match_=msd.ContactMatch.geom_pair("palm", "tp"))
        ),
        "$.sensors.contact[0].match_.GeomPair[1]",
        "which is no geom",
        "did you mean 'tip'?",
    ),
    "tendon through no site": (
        lambda w: w.tendon_set.spatial_tendons[0].path.append(msd.TendonPathNode.site("gripp")),
        "$.tendon_set.spatial_tendons[0].path[2].Site",
        "which is no site",
        "did you mean 'grip'?",
    ),
    # things that do not go together
    "closure from a link to itself": (
        lambda w: setattr(w.loop_closures[0].frame_b, "link", "hand"),
        "$.loop_closures[0]",
        "'hand' on both ends",
        "two distinct frames",
    ),
    "distance of a rigid closure": (
        lambda w: setattr(w.loop_closures[0], "distance", 1.0),
        "$.loop_closures[0].distance",
        "1.0",
        "family is Rigid",
    ),
    "frame reference to both": (
        lambda w: setattr(w.loop_closures[0].frame_a, "frame", "tool"),
        "$.loop_closures[0].frame_a",
        "both a link and a frame",
        "one of them",
    ),
    "frame with two parents": (
        lambda w: setattr(w.frames[1], "parent_link", "hand"),
        "$.frames[1]",
        "both a parent link and a parent frame",
        "one of them",
    ),
    "frames in a cycle": (
        lambda w: (
            setattr(w.frames[0], "parent_link", None),
            setattr(w.frames[0], "parent_frame", "tool tip"),
        ),
        "$.frames[0].parent_frame",
        "leads back",
        "no cycle",
    ),
    "spring from the world to the world": (
        lambda w: w.distance_springs.append(msd.DistanceSpring()),
        "$.distance_springs[0]",
        "the world",
        "two distinct frames",
    ),
    "ground plane without a normal": (
        lambda w: w.ground_points.append(
            msd.GroundPoint(link="hand", contact=msd.GroundContact(plane_normal=(0, 0, 0)))
        ),
        "$.ground_points[0].contact.plane_normal",
        "0.0",
        "a direction",
    ),
    "spring of a world joint by its frequency": (
        lambda w: join_hand(w, joint=msd.Joint(axis=(0, 0, 1), spring_damper=msd.SpringDamper())),
        "$.joints[0].joint.spring_damper.coeff",
        "frequency",
        "stiffness and damping",
    ),
    "armature of a world joint without an axis": (
        lambda w: join_hand(w, joint=msd.Joint(type_="Fixed", armature=1.0)),
        "$.joints[0].joint.armature",
        "1.0",
        "none",
    ),
    "world joint off its anchors": (
        lambda w: join_hand(w, joint=msd.Joint(type_="Fixed", pos=(1, 0, 0))),
        "$.joints[0].joint.pos",
        "1.0",
        "anchors",
    ),
    "projection that starts too stiff": (
        lambda w: join_hand(
            w,
            joint=msd.Joint(type_="Fixed"),
            projection=msd.ProjectionPolicy(start_stiffness=2.0, linear_stiffness=1.0),
        ),
        "$.joints[0].projection.start_stiffness",
        "2.0",
        "no more than",
    ),
    "coupler of a joint with itself": (
        lambda w: w.couplers.append(msd.JointCoupler(joint="wrist", reference="wrist")),
        "$.couplers[0].reference",
        "'wrist' twice",
        "two different",
    ),
    "contact pair of a geom with itself": (
        lambda w: w.contact_pairs.append(msd.ContactPair(geom_a="palm", geom_b="palm")),
        "$.contact_pairs[0].geom_b",
        "'palm' twice",
        "two different",
    ),
    "contact pair of condim 5": (
        lambda w: w.contact_pairs.append(msd.ContactPair(geom_a="palm", geom_b="tip", condim=5)),
        "$.contact_pairs[0].condim",
        "5",
        "1, 3, 4 or 6",
    ),
    "ignored pair of a link with itself": (
        lambda w: w.collision_ignores.link_pairs.append(["arm", "arm"]),
        "$.collision_ignores.link_pairs[0]",
        "'arm' twice",
        "two different",
    ),
    "connect of a link with itself": (
        equate(
            "connects",
            msd.EqualityConnect,
            connect_type=msd.ConnectConstraintType.link_anchor("arm", (0, 0, 0), "arm"),
        ),
        "$.equality_constraint_set.connects[0].connect_type",
        "'arm' twice",
        "two different",
    ),
    "weld to a pose that is none": (
        equate(
            "welds",
            msd.EqualityWeld,
            weld_type=msd.WeldConstraintType.link_anchor("arm", (0, 0, 0), 1.0, "hand", [0] * 7),
        ),
        "$.equality_constraint_set.welds[0].weld_type.LinkAnchor.relative_pose",
        "0.0",
        "not zero",
    ),
    "joint equal to itself": (
        equate("joints", msd.EqualityJoint, joint_a="wrist", joint_b="wrist"),
        "$.equality_constraint_set.joints[0].joint_b",
        "'wrist' twice",
        "two different",
    ),
    "point of a link on a path of its own": (
        equate("paths", msd.EqualityPath, point=msd.FrameRef(link="arm"), frame=msd.FrameRef(link="arm")),
        "$.equality_constraint_set.paths[0].frame",
        "twice",
        "two different",
    ),
    "tendon equal to itself": (
        equate("tendons", msd.EqualityTendon, tendon_a="cord", tendon_b="cord"),
        "$.equality_constraint_set.tendons[0].tendon_b",
        "'cord' twice",
        "two different",
    ),
    "tendon of no joints": (
        lambda w: w.tendon_set.joint_tendons[0].joints.clear(),
        "$.tendon_set.joint_tendons[0].joints",
        "no joints",
        "at least one",
    ),
    "tendon of one site": (
        lambda w: w.tendon_set.spatial_tendons[0].path.pop(),
        "$.tendon_set.spatial_tendons[0].path",
        "1 sites",
        "at least two",
    ),
    "mocap on a jointed base": (
        lambda w: setattr(w.hierarchy.bodies[0], "mocap", True),
        "$.hierarchy.bodies[0].mocap",
        "a base that moves",
        "only on a fixed base",
    ),
    "mocap and kinematic": (
        lambda w: w.hierarchy.bodies.append(msd.Body(mocap=True, kind="Kinematic")),
        "$.hierarchy.bodies[2].mocap",
        "Kinematic",
        "one of both",
    ),
    "parallel axes": (
        lambda w: (
            setattr(hand(w).joints[0], "type_", "Universal"),
            setattr(hand(w).joints[0], "axis2", (0, 2, 0)),
        ),
        f"{HAND}.joints[0].axis2",
        "2.0",
        "across",
    ),
    "settings for too many freedoms": (
        lambda w: setattr(hand(w).joints[0], "dofs", [msd.JointDof(), msd.JointDof()]),
        f"{HAND}.joints[0].dofs",
        "2 entries",
        "1 for a Revolute",
    ),
    "D6 with angular axes first": (
        lambda w: (
            setattr(hand(w).joints[0], "type_", "D6"),
            setattr(hand(w).joints[0], "dofs", [msd.JointDof(), msd.JointDof(angular=False)]),
        ),
        f"{HAND}.joints[0].dofs",
        "before a linear",
        "linear axes first",
    ),
    "D6 with four angular axes": (
        lambda w: (
            setattr(hand(w).joints[0], "type_", "D6"),
            setattr(hand(w).joints[0], "dofs", [msd.JointDof() for _ in range(4)]),
        ),
        f"{HAND}.joints[0].dofs",
        "4 axes",
        "at most 3",
    ),
    "D6 with a zero axis": (
        lambda w: (
            setattr(hand(w).joints[0], "type_", "D6"),
            setattr(hand(w).joints[0], "dofs", [msd.JointDof(axis=(0, 0, 0))]),
        ),
        f"{HAND}.joints[0].dofs[0].axis",
        "zero axis",
        "a direction",
    ),
    "inverted bounds of a parameter": (
        lambda w: w.differentiable_parameters.append(
            msd.DifferentiableParameter(link="arm", lower=[2.0], upper=[1.0])
        ),
        "$.differentiable_parameters[0]",
        "[2.0] to [1.0]",
        "lower <= upper",
    ),
    # the scene as a whole
    "keyframe of another scene": (
        lambda w: setattr(w.keyframes[0], "dof_pos", [0.0]),
        "$.keyframes[0].dof_pos",
        "1 entries",
        "9 for the coordinates",
    ),
    "keyframe without its controls": (
        lambda w: setattr(w.keyframes[0], "ctrl", [0.0, 0.0]),
        "$.keyframes[0].ctrl",
        "2 entries",
        "1 for the actuators",
    ),
}
