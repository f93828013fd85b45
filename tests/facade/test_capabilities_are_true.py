# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`capabilities()` tells the truth: what it calls available runs, what it calls unavailable is refused by name.

Every entry of the matrix has a proof here, so that an entry added to it fails until it is exercised.
"""

from __future__ import annotations

import numpy as np
import pytest

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx
from worldline._src.facade.capabilities import ROWS
from worldline.collision import CollisionShape

Type, Drive, Family = sx.JointType, sx.ActuatorType, sx.MultibodyIntegrationFamily
MATRIX = {row.row: row for row in sx.capabilities()}


def body(world, name="a", **options):
    made = world.add_rigid_body(name, inertia=np.diag([0.1, 0.2, 0.25]), **options)
    return made


def arm(world=None, **spec):
    world = sx.World() if world is None else world
    robot = world.add_multibody("robot")
    kind = spec.get("type", Type.REVOLUTE)
    with_axis = kind in (
        Type.REVOLUTE,
        Type.PRISMATIC,
        Type.SCREW,
        Type.UNIVERSAL,
        Type.PLANAR,
        Type.TRANSLATIONAL_2D,
    )
    given = {"name": "joint"} | ({"axis": (0, 1, 0)} if with_axis else {}) | spec
    link = robot.add_link("rod", None, sx.JointSpec(**given))
    link.mass, link.inertia, link.center_of_mass = 1.0, np.eye(3) * 0.01, (0.3, 0.1, 0)
    return world, robot


def moves(world, n=10):
    before = world.state_vector.copy()
    world.step(n=n)
    assert np.isfinite(world.state_vector).all() and not np.array_equal(before, world.state_vector)


# ---- families


@pytest.mark.parametrize("family", list(Family), ids=lambda family: family.value)
def test_families(family):
    row = MATRIX["integration family"]
    world, _ = arm(sx.World(multibody_options=sx.MultibodyOptions(family)))
    if family.value in row.available:
        moves(world)
    else:
        assert family.value in row.unavailable
        with pytest.raises(NotImplementedError, match=family.value):
            world.step()


# ---- solvers

SOLVERS = {
    "newton": sx.ContactSolverMethod.NEWTON,
    "sequential impulse": sx.ContactSolverMethod.SEQUENTIAL_IMPULSE,
    "boxed LCP": sx.ContactSolverMethod.BOXED_LCP,
}


@pytest.mark.parametrize("name", MATRIX["constraint solve"].available)
def test_solvers(name):
    method = SOLVERS[name]
    world = sx.World(contact_solver_method=method)
    world.add_ground_plane()
    body(world, position=(0, 0, 0.1)).add_collision_shape(CollisionShape.sphere(0.1))
    world.step(n=3)
    assert world.step_report().methods == {method.value: 1}


def test_solvers_that_are_not_there():
    assert MATRIX["constraint solve"].unavailable == ("barrier method",)
    world = sx.World(rigid_body_solver=sx.RigidBodySolver.IPC)
    with pytest.raises(NotImplementedError, match="barrier method"):
        world.step()


# ---- joints and drives


def claimed(prefix):
    text = next(entry for entry in MATRIX["supported features"].available if entry.startswith(prefix))
    return text.removeprefix(prefix).strip(": ").split(", ")


@pytest.mark.parametrize("name", claimed("world-owned joints that can break"))
def test_joints_between_bodies(name):
    world = sx.World()
    a, b = body(world, "a"), body(world, "b", position=(0.5, 0, 0))
    a.is_static = True
    kind = Type[name]
    fields = {"pitch": 0.1} if kind is Type.SCREW else {}
    joint = world.add_joint(a, b, sx.JointSpec(name="joint", type=kind, **fields))
    world.step(n=20)
    # what a joint lets go along its axis falls by 2 mm; every one of them holds something and breaks
    assert world.step_report().rows == 6 - joint.num_dofs
    joint.break_force = 1e-3
    b.force = (3.0, 3.0, 3.0)
    world.step(n=3)
    assert joint.is_broken


@pytest.mark.parametrize(
    "kind",
    [kind for kind in Type if kind.name not in claimed("world-owned joints that can break")],
    ids=lambda kind: kind.name,
)
def test_no_other_joint_is_between_bodies(kind):
    world = sx.World()
    a, b = body(world, "a"), body(world, "b", position=(0.5, 0, 0))
    fields = {"linear_axes": [(1, 0, 0)]} if kind is Type.D6 else {}
    with pytest.raises(NotImplementedError, match=kind.name):
        world.add_joint(a, b, sx.JointSpec(type=kind, **fields))


@pytest.mark.parametrize("kind", list(Type), ids=lambda kind: kind.name)
def test_open_trees_of_every_joint_type(kind):
    fields = {Type.D6: {"linear_axes": [(0, 0, 1)]}, Type.SCREW: {"pitch": 0.1}}.get(kind, {})
    if kind is Type.CUSTOM:
        with pytest.raises(NotImplementedError, match="CUSTOM"):
            arm(type=kind)
        return
    world, robot = arm(type=kind, **fields)
    if kind is Type.FIXED:
        world.step()
        assert robot.num_dofs == 0
        return
    if kind in (
        Type.REVOLUTE,
        Type.PRISMATIC,
        Type.SCREW,
        Type.UNIVERSAL,
        Type.PLANAR,
        Type.TRANSLATIONAL_2D,
    ):
        robot.joints[0].force = np.ones(robot.num_dofs)
    moves(world)


@pytest.mark.parametrize("kind", list(Drive), ids=lambda kind: kind.name)
def test_drives(kind):
    row, label = MATRIX["supported features"], f"actuator {kind.name}"
    assert (label in row.available) is not (label in row.unavailable)
    world, robot = arm(actuator_type=kind)
    joint = robot.joints[0]
    if label in row.unavailable:
        with pytest.raises(NotImplementedError, match=kind.name):
            world.step()
        return
    if kind is Drive.MIMIC:
        robot.add_link(
            "tip",
            None,
            sx.JointSpec(name="other", axis=(0, 1, 0)),
            mass=1.0,
            inertia=np.eye(3) * 0.01,
        )
        joint.set_mimic_joint(robot.joints["other"], 1.0)
        robot.joints["other"].force = [1.0]
    else:
        joint.force, joint.command_velocity, joint.command_acceleration = [5.0], [0.5], [0.5]
    world.step(n=10)
    wanted = {Drive.VELOCITY: 0.5, Drive.ACCELERATION: 0.005, Drive.LOCKED: 0.0}
    if kind in wanted:
        assert joint.velocity[0] == pytest.approx(wanted[kind], abs=1e-9)
    elif kind is Drive.MIMIC:
        assert joint.position[0] == pytest.approx(robot.joints["other"].position[0], abs=1e-3)
    else:
        assert joint.velocity[0] != 0.0


# ---- shapes and formats

SHAPES = {
    "sphere": CollisionShape.sphere(0.1),
    "box": CollisionShape.box((0.1, 0.1, 0.1)),
    "capsule": CollisionShape.capsule(0.1, 0.1),
    "cylinder": CollisionShape.cylinder(0.1, 0.1),
    "ellipsoid": CollisionShape.ellipsoid((0.1, 0.1, 0.1)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_contacts_of_all_shapes(name):
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    made = body(world, position=(0, 0, 0.25))
    made.add_collision_shape(SHAPES[name])
    world.step(n=300)
    assert world.contacts and 0.05 < made.translation[2] < 0.22


@pytest.mark.parametrize(
    "form", [form for form in sx.ModelFormat if form.name not in ("AUTO",)], ids=lambda form: form.name
)
def test_formats(form, tmp_path):
    texts = {
        "MJCF": "<mujoco><worldbody><body name='a'><freejoint/><geom size='.1'/></body></worldbody></mujoco>",
        "URDF": "<robot name='a'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link></robot>",
        "SDF": "<sdf version='1.9'><model name='a'><link name='a'><inertial><mass>1</mass></inertial></link></model></sdf>",
        "MSD": msd.World().to_str(),
        "USD": "#usda 1.0",
    }
    path = tmp_path / "scene.txt"
    path.write_text(texts[form.name])
    options = sx.ReadOptions(format=form)
    if form.name == "USD":
        with pytest.raises(NotImplementedError, match=r"(?i)usd"):
            sx.add_world(sx.World(), path, options)
    else:
        sx.add_world(sx.World(), path, options)


# ---- execution and derivatives


def test_execution():
    row = MATRIX["execution shape"]
    assert row.available == ("single world", "kinematics-only", "homogeneous batch of arrays")
    world, robot = arm()
    moves(world)
    robot.joints[0].position = [0.3]
    pose = robot.links[0].transform.copy()
    world.sync()
    np.testing.assert_array_equal(robot.links[0].transform, pose)
    model = msd.build(world.to_scene())
    worlds = wm.LaneSimulation(model, 3)
    worlds.step(3)
    assert worlds.q.shape == (3, 1) and worlds.v.all()
    strict = sx.World(
        compute_accelerator_policy=sx.ComputeAcceleratorPolicy.PREFER_ACCELERATED,
        strict_solver_resolution=True,
    )
    with pytest.raises(NotImplementedError, match="accelerator"):
        strict.step()


def test_derivatives():
    assert MATRIX["differentiability"].available == ()
    with pytest.raises(NotImplementedError, match="differentiable"):
        sx.World(differentiable=True).step()


def test_projection_and_slow_sensors_are_refused():
    unavailable = MATRIX["supported features"].unavailable
    assert "loop closures: projection" in unavailable and "sensors with a period or a delay" in unavailable
    world = sx.World()
    a, b = body(world, "a"), body(world, "b", position=(1, 0, 0))
    closure = world.add_loop_closure("c", frame_a=a, frame_b=b, family=sx.LoopClosureFamily.POINT)
    closure.kinematics = sx.ClosureKinematicsPolicy.PROJECT
    with pytest.raises(NotImplementedError, match="PROJECT"):
        world.step()
    for field in ("update_period", "delay"):
        text = "<mujoco><worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody><sensor><jointpos joint='j'/></sensor></mujoco>"
        scene = msd.from_str(text, format="mjcf")
        setattr(scene.sensors.joint[0], field, 0.1)
        slow = sx.World.from_scene(scene)
        with pytest.raises(NotImplementedError, match=r"period|delay"):
            slow.sensors[0].value  # noqa: B018


def test_every_row_is_exercised():
    """The rows above, and the features below, each with the test that exercises it."""
    assert tuple(MATRIX) == ROWS
    features = {
        "open trees of every joint type": test_open_trees_of_every_joint_type,
        "contacts of all shapes; planes are half spaces, meshes count by their hull": test_contacts_of_all_shapes,
    }
    for name in features:
        assert name in MATRIX["supported features"].available
