# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What the names of the object API do: shapes, limits from both sides, joints between bodies, executors, loading."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

import worldline
from facade.scenes import moved, pendulum
from worldline import collision, lcp, model, msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, CapabilityError, OperationError, ShapeError
from worldline._src.facade.world_joint import TYPES

TURN = np.array([[0.0, -1.0, 0.0, 0.1], [1.0, 0.0, 0.0, 0.2], [0.0, 0.0, 1.0, 0.3], [0.0, 0.0, 0.0, 1.0]])


# ---- shapes and contacts


def test_local_transforms_are_4x4_or_7_numbers():
    ball = sx.CollisionShape.sphere(0.5, TURN)
    np.testing.assert_allclose(ball.local_transform, TURN, atol=1e-15)
    again = sx.CollisionShape.sphere(0.5, ball.local_pose)
    np.testing.assert_array_equal(again.local_transform, ball.local_transform)
    with pytest.raises(ArgumentError, match="orthonormal"):
        sx.CollisionShape.box((1, 1, 1), np.diag([2.0, 1.0, 1.0, 1.0]))
    with pytest.raises(ArgumentError, match="7 numbers"):
        sx.CollisionShape.box((1, 1, 1), np.eye(3))
    assert sx.CollisionShape is collision.CollisionShape and ball.type is sx.CollisionShapeType.SPHERE


@pytest.mark.parametrize("stepped", [False, True])
def test_contacts_have_the_points_of_both_surfaces_in_their_shapes(stepped):
    world = sx.World(gravity=(0, 0, 0))
    a = world.add_rigid_body("a", mass=1.0)
    b = world.add_rigid_body("b", mass=1.0, position=(1.6, 0, 0), orientation=(0, 0, 1, 0))
    a.add_collision_shape(sx.CollisionShape.sphere(1.0, moved(0.1, 0, 0)))
    b.add_collision_shape(sx.CollisionShape.sphere(1.0, moved(0, 0.2, 0.0)))
    if stepped:
        before = [(body.transform, body.collision_shape.local_transform) for body in (a, b)]
        world.step()
        (contact,) = world.contacts
    else:
        before = [(body.transform, body.collision_shape.local_transform) for body in (a, b)]
        (contact,) = world.collide(sx.CollisionQueryOptions())
    points = []
    for (X, local), point in zip(before, (contact.local_point_a, contact.local_point_b), strict=True):
        assert np.linalg.norm(point) == pytest.approx(1.0, abs=1e-9), "on the surface of the ball"
        points.append((X @ local @ [*point, 1.0])[:3])
    # from the surface of a back to that of b by the depth
    np.testing.assert_allclose(points[0] - points[1], contact.depth * contact.normal, atol=1e-9)
    assert (
        contact.body_a.is_rigid_body
        and contact.body_a.as_rigid_body() is a
        and contact.body_a.as_link() is None
    )


def test_pairs_are_chosen_by_the_options_of_a_query():
    world = sx.World()
    for x in (0.0, 1.5):
        world.add_rigid_body(position=(x, 0, 0)).add_collision_shape(sx.CollisionShape.sphere(1.0))
    assert len(world.collide(sx.CollisionQueryOptions())) == 1
    none = sx.CollisionQueryOptions(include_rigid_body_pairs=False)
    assert world.collide(none) == world.collide(include=none) == []
    with pytest.raises(ArgumentError, match="once"):
        world.collide(none, include=none)


# ---- joints

OWN = {
    sx.JointType.D6: {"linear_axes": [(1, 0, 0)]},
    sx.JointType.CUSTOM: {"motion": [msd.MotionAxis.turn((0, 0, 1), msd.CoordinateFunction.linear())]},
}


def test_limits_are_set_and_read_from_both_sides():
    hinge = pendulum(sx.World()).joints["hinge"]
    for what in ("velocity", "effort"):
        set_limits = getattr(hinge, f"set_{what}_limits")
        set_limits([-2.0], [2.0])
        assert getattr(hinge, f"{what}_lower_limits").tolist() == [-2.0]
        assert getattr(hinge, f"{what}_upper_limits").tolist() == [2.0]
        assert getattr(hinge, f"{what}_limits").tolist() == [2.0]
        with pytest.raises(ArgumentError, match="zero must be within"):
            set_limits(1.0, 2.0)
        with pytest.raises(ArgumentError, match="must not exceed upper limits"):
            set_limits(3.0, 2.0)
        assert getattr(hinge, f"{what}_limits").tolist() == [2.0]
        set_limits(-np.inf, np.inf)
        assert np.isinf(getattr(hinge, f"{what}_upper_limits")).all()


def test_joints_of_a_tree_neither_break_nor_bend():
    hinge = pendulum(sx.World()).joints["hinge"]
    hinge.break_force = hinge.break_torque = np.inf
    hinge.constraint_projection_policy = sx.JointConstraintProjectionPolicy()
    hinge.reset_breakage()
    assert not hinge.is_broken and np.isinf(hinge.break_force)
    for change in (
        lambda: setattr(hinge, "break_force", 10.0),
        lambda: setattr(hinge, "break_torque", 10.0),
        lambda: setattr(
            hinge, "constraint_projection_policy", sx.JointConstraintProjectionPolicy(linear_stiffness=1e3)
        ),
    ):
        with pytest.raises(NotImplementedError, match="'hinge' of a tree"):
            change()


def test_every_type_that_is_claimed_can_be_between_bodies():
    claims = " ".join(entry for row in sx.capabilities() for entry in row.available if "world-owned" in entry)
    assert set(re.findall(r"[A-Z]{4,}", claims)) == {kind.name for kind in TYPES}
    for kind in sx.JointType:
        world = sx.World()
        body = world.add_rigid_body("body")
        if kind in TYPES:
            assert world.add_joint(body, sx.JointSpec(type=kind)).type is kind
        else:
            with pytest.raises(NotImplementedError, match=kind.name):
                world.add_joint(body, sx.JointSpec(type=kind, **OWN.get(kind, {})))
            assert world.num_joints == 0


@pytest.mark.parametrize("kind", [kind.name for kind in TYPES])
def test_a_joint_between_bodies_moves_as_one_of_a_tree(kind):
    """A body on a joint of the World and a link on the same joint of a tree, pushed alike."""
    spec = sx.JointSpec(
        "j",
        type=sx.JointType[kind],
        axis=(0, 0, 1),
        axis2=(1, 0, 0),
        pitch=0.3 if kind == "SCREW" else 0.0,
    )
    world = sx.World(time_step=1e-3)
    mass = {"mass": 2.0, "inertia": np.diag([0.3, 0.4, 0.5]), "center_of_mass": (0.1, 0.2, 0.05)}
    body = world.add_rigid_body("body", **mass)
    joint = world.add_joint(body, spec)
    arm = world.add_multibody("arm")
    link = arm.add_link("link", joint=spec, **mass)
    for _ in range(200):
        for part in (body, link):
            part.apply_torque((0.3, -0.2, 0.5))
        world.step()
        body.clear_torque()
    tree = arm.joints["j"]
    assert joint.num_dofs == tree.num_dofs
    np.testing.assert_allclose(body.transform, link.transform, atol=2e-4)
    np.testing.assert_allclose(joint.position, tree.position, atol=2e-4)
    np.testing.assert_allclose(joint.velocity, tree.velocity, atol=2e-3)
    if tree.num_dofs:
        assert np.abs(tree.velocity).max() > 0.05
    if kind == "SCREW":
        assert joint.pitch == 0.3 and body.translation[2] == pytest.approx(0.3 * joint.position[0], abs=1e-5)


def test_joints_between_links_have_names_axes_and_motors():
    world = sx.World()
    arm = world.add_multibody("arm")
    base = arm.add_link("base")
    links = [
        arm.add_link(n, base, sx.JointSpec(n, axis=(0, 1, 0)), center_of_mass=(0, 0, -0.5))
        for n in ("a", "b")
    ]
    first = world.add_joint(parent=links[0], child=links[1], spec=sx.JointSpec(axis=(0, 2, 0)))
    second = world.add_joint(links[0], sx.JointSpec(type=sx.JointType.SPHERICAL))
    assert [joint.name for joint in (first, second)] == ["joint_001", "joint_002"]
    assert first.axis.tolist() == [0.0, 1.0, 0.0] and first.parent_link is links[0]
    assert repr(first) == "WorldJoint('joint_001', REVOLUTE)"
    first.set_position_limits([-1.0], [1.0])
    assert first.position_lower_limits.tolist() == [-1.0] and first.position_upper_limits.tolist() == [1.0]
    assert first.actuator_type is sx.ActuatorType.FORCE
    assert second.actuator_type is sx.ActuatorType.PASSIVE
    first.actuator_type = sx.ActuatorType.PASSIVE
    with pytest.raises(NotImplementedError, match=r"joint_002.*VELOCITY"):
        second.actuator_type = sx.ActuatorType.VELOCITY
    with pytest.raises(ArgumentError, match="no axis"):
        second.axis  # noqa: B018
    for wrong in ((), (links[0],), (links[0], links[1]), (links[0], links[1], sx.JointSpec(), 1)):
        with pytest.raises(ShapeError, match="add_joint takes"):
            world.add_joint(*wrong)
    with pytest.raises(ShapeError, match="add_joint takes"):
        world.add_joint(links[0], spec=sx.JointSpec(), parent=links[1])


# ---- frames, sleep, spaces


def test_a_fixed_frame_that_is_moved_takes_its_closure_along():
    world = sx.World(gravity=(0, 0, 0))
    body = world.add_rigid_body("body", mass=1.0, inertia=(1, 1, 1))
    peg = world.add_fixed_frame("peg", sx.Frame.world())
    world.add_loop_closure("pin", frame_a=body, frame_b=peg, family=sx.LoopClosureFamily.POINT)
    world.step()
    peg.local_transform = moved(0.01, 0, 0)
    world.step(500)
    assert body.translation[0] == pytest.approx(0.01, abs=1e-4)
    with pytest.raises(ArgumentError, match="orthonormal"):
        peg.local_transform = np.diag([2.0, 1.0, 1.0, 1.0])
    with pytest.raises(OperationError, match="another parent"):
        body.parent_frame = peg


def test_a_multibody_sleeps_as_a_whole():
    options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.02)
    world = sx.World(time_step=0.01, deactivation_options=options)
    world.add_ground_plane()
    robot = world.add_multibody("robot")
    base = robot.add_link("base", joint=sx.JointSpec("free", type=sx.JointType.FLOATING))
    base.add_collision_shape(sx.CollisionShape.box((0.5, 0.5, 0.1)))
    robot.joints["free"].position = [0, 0, 0.1, 0, 0, 0]
    assert not robot.is_sleeping and robot.deactivation_group_index == -1
    world.step(20)
    assert robot.is_sleeping and robot.deactivation_group_index >= 0
    robot.joints["free"].velocity = [0, 0, 3.0, 0, 0, 0]
    world.step()
    assert not robot.is_sleeping


def test_a_multibody_of_two_trees_sleeps_when_both_do():
    options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.02)
    world = sx.World(time_step=0.01, deactivation_options=options)
    world.add_ground_plane()
    robot, post = world.add_multibody("robot"), world.add_multibody("post")
    post.add_link("foot", joint=sx.JointSpec("weld", type=sx.JointType.FIXED))
    for name, x in (("first", 0.0), ("second", 3.0)):
        link = robot.add_link(name, joint=sx.JointSpec(f"{name} free", type=sx.JointType.FLOATING))
        link.add_collision_shape(sx.CollisionShape.box((0.5, 0.5, 0.1)))
        robot.joints[f"{name} free"].position = [x, 0, 0.1, 0, 0, 0]
    world.step(20)
    first = robot.deactivation_group_index
    assert robot.is_sleeping and first >= 0
    # what cannot move does not sleep
    assert not post.is_sleeping and post.deactivation_group_index == -1
    for name in ("first", "second"):
        robot.joints[f"{name} free"].velocity = [0, 0, 3.0, 0, 0, 0]
        world.step()
        assert not robot.is_sleeping and robot.deactivation_group_index == -1, name
        world.step(200)
        assert robot.is_sleeping, name


def test_variables_are_added_with_bounds_all_or_none():
    space = sx.StateSpace().add_variables(["x", "y"], lower=-1.0, upper=[1.0, 2.0])
    assert space.lower_bounds.tolist() == [-1.0, -1.0] and space.upper_bounds.tolist() == [1.0, 2.0]
    with pytest.raises(ArgumentError, match="must not exceed"):
        space.add_variables(["u", "v"], lower=[0.0, 3.0], upper=2.0)
    with pytest.raises(ArgumentError, match="upper bounds"):
        space.add_variables(["u", "v"], upper=[1.0])
    assert space.variable_names == ["x", "y"]


# ---- executors


def test_steps_go_through_an_executor_in_every_form():
    for executor in (sx.SequentialExecutor(), sx.ParallelExecutor(2)):
        world = sx.World()
        world.add_rigid_body("box")
        world.step(executor)
        world.step(executor, 2)
        world.step(executor, n=3)
        world.step(n=4, executor=executor)
        world.step(5, executor=executor)
        world.sync(executor, sx.WorldSyncStage.KINEMATICS)
        world.sync(executor)
        world.update_kinematics(executor)
        assert world.frame == 15
        with pytest.raises(ShapeError, match="step"):
            world.step(executor, 1, 2)  # type: ignore[call-overload]
        with pytest.raises(ShapeError, match="step"):
            world.step(executor, executor=executor)  # type: ignore[call-overload]
        with pytest.raises(ShapeError, match="executor"):
            world.step(executor="threads")  # type: ignore[call-overload]
        assert world.frame == 15


def test_an_executor_that_stays_on_its_thread_below_a_threshold():
    graph = sx.compute.ComputeGraph()
    for name, after in (("a", ()), ("b", ("a",)), ("c", ("a",)), ("d", ("b", "c"))):
        graph.add(name, lambda: None, after)
    with sx.ParallelExecutor(2, inline_threshold=2) as executor:
        executor.inline_threshold = 5
        profile = executor.run(graph)
        assert profile.worker_count == 1
        executor.inline_threshold = 0
        profile = executor.run(graph)
        assert profile.worker_count == 2
        with pytest.raises(ArgumentError, match="inline_threshold"):
            executor.inline_threshold = -1
    nodes = {node.name: node for node in profile.nodes}
    assert [nodes[n].topological_index for n in "abcd"] == [0, 1, 2, 3]
    assert [nodes[n].level for n in "abcd"] == [0, 1, 1, 2]
    assert [nodes[n].dependency_count for n in "abcd"] == [0, 1, 1, 2]
    assert [nodes[n].dependent_count for n in "abcd"] == [2, 1, 1, 0]
    for node in profile.nodes:
        assert node.end_time_us == node.start_time_us + node.duration_us
        assert node.duration_ms == pytest.approx(1e-3 * node.duration_us)
    assert not profile.is_empty() and profile.wall_time_ms == pytest.approx(1e-3 * profile.wall_time_us)


# ---- loading


ROBOT = """<robot name="r"><link name="base"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <link name="tip"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
    <joint name="hinge" type="revolute"><parent link="base"/><child link="tip"/>
    <limit lower="-1" upper="1" velocity="2" effort="3"/><dynamics damping="0.5"/></joint></robot>"""


@pytest.mark.parametrize("root", list(sx.RootJointType))
def test_roots_hang_on_anchors(root, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOT)
    world = sx.World()
    options = sx.SkeletonLoadOptions(root_anchor_prefix="anchor_")
    robot = sx.add_skeleton(world, str(path), sx.ReadOptions(root_joint=root), options)
    assert robot.links.names == ["anchor_base", "base", "tip"]
    plain = sx.add_skeleton(sx.World(), str(path), sx.ReadOptions(root_joint=root))
    assert robot.num_dofs == plain.num_dofs == (7 if root is sx.RootJointType.FLOATING else 1)
    world.step(10)
    plain._world.step(10)
    np.testing.assert_allclose(robot.links["tip"].transform, plain.links["tip"].transform, atol=1e-12)


def test_a_multibody_takes_what_is_asked_of_a_description():
    scene = msd.from_str(ROBOT, format="urdf")
    whole = sx.build_multibody_from_skeleton(sx.World(), scene)
    assert whole.joints["hinge"].damping_coefficient.tolist() == [0.5] and whole.name == "r"
    assert whole.links["tip"].has_collision_shape
    options = sx.SkeletonToMultibodyOptions("bare", "foot", False, False, False)
    bare = sx.build_multibody_from_skeleton(sx.World(), scene, options)
    assert bare.name == "bare" and bare.links.names == ["foot", "base", "tip"]
    assert bare.joints["hinge"].damping_coefficient.tolist() == [0.0]
    assert np.isinf(bare.joints["hinge"].position_upper_limits).all()
    assert not bare.links["tip"].has_collision_shape
    # the state a World wrote comes along, or not
    whole.joints["hinge"].position = [0.5]
    moved_scene = whole._world.to_scene()
    for copied, expected in ((True, 0.5), (False, 0.0)):
        options = sx.SkeletonToMultibodyOptions(copy_state=copied)
        again = sx.build_multibody_from_skeleton(sx.World(), moved_scene, options)
        assert again.joints[0].position.tolist() == [expected]


def test_sdf_roots_follow_their_own_option(tmp_path):
    sdf = tmp_path / "box.sdf"
    sdf.write_text("<sdf version='1.7'><model name='m'><link name='a'/></model></sdf>")
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(ROBOT)
    fixed = sx.ReadOptions(sdf_default_root_joint_type=sx.RootJointType.FIXED)
    assert sx.add_skeleton(sx.World(), sdf).num_dofs == 6
    assert sx.add_skeleton(sx.World(), sdf, fixed).num_dofs == 0
    floating = sx.ReadOptions(sdf_default_root_joint_type=sx.RootJointType.FLOATING)
    assert sx.add_skeleton(sx.World(), urdf, floating).num_dofs == 1, "only SDF files"
    with pytest.raises(CapabilityError, match="USD"):
        sx.add_skeleton(sx.World(), urdf, sx.ReadOptions(sx.ModelFormat.USD))


def test_a_package_may_lie_in_a_directory_of_another_name(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "part.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    )
    (tmp_path / "robot").mkdir()
    path = tmp_path / "robot" / "robot.urdf"
    path.write_text(ROBOT.replace('<sphere radius="0.1"/>', '<mesh filename="package://stuff/part.obj"/>'))
    assert not sx.add_skeleton(sx.World(), path).links["tip"].has_collision_shape
    options = sx.ReadOptions(strict=True)
    options.add_package_directory("stuff", tmp_path / "files")
    robot = sx.add_skeleton(sx.World(), path, options)
    assert robot.links["tip"].has_collision_shape
    with pytest.raises(ArgumentError, match="name of a package"):
        options.add_package_directory("a/b", tmp_path)


# ---- values and handles


def test_closure_specs_check_every_field():
    world = sx.World()
    a, b = world.add_rigid_body("a"), world.add_rigid_body("b", position=(0, 0, 1))
    spec = sx.LoopClosureSpec(a, b, sx.LoopClosureFamily.DISTANCE)
    for name, value in (("frame_a", 3), ("family", "POINT"), ("offset_b", np.eye(3)), ("distance", -1.0)):
        with pytest.raises(ArgumentError):
            setattr(spec, name, value)
    with pytest.raises(AttributeError, match="no field"):
        spec.frames = (a, b)  # type: ignore[attr-defined]
    spec.distance = 1.0
    closure = world.add_loop_closure(spec)
    spec.distance = 2.0
    assert closure.distance == 1.0 and closure.compute_residual().norm == 0.0


def test_closures_take_a_name_and_a_spec_or_keywords():
    world = sx.World()
    a, b = world.add_rigid_body("a"), world.add_rigid_body("b")
    spec = sx.LoopClosureSpec(a, b)
    made = [
        world.add_loop_closure(spec, name="one"),
        world.add_loop_closure("two", spec),
        world.add_loop_closure(name="three", spec=spec),
        world.add_loop_closure(None, frame_a=a, frame_b=b),
        world.add_loop_closure(spec, name=None),
    ]
    names = ["one", "two", "three", "loop_closure_001", "loop_closure_002"]
    assert [closure.name for closure in made] == names
    refused: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((spec,), {"distance": 0.0, "frame_b": b}, "got both: frame_b, distance"),
        (("four", spec), {"name": "five"}, "each once"),
        (("four", "five", spec), {}, "each once"),
        ((), {"frame_a": a}, "needs frame_a and frame_b"),
        (("four", 3), {}, "allowed: a LoopClosureSpec"),
    ]
    for given, keywords, words in refused:
        with pytest.raises(ArgumentError, match=words):
            world.add_loop_closure(*given, **keywords)
    assert world.loop_closures.names == names


MODULES = (sx, sx.compute, sx.state, sx.sensors, collision, model, msd, lcp)


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_every_public_class_has_a_repr(module):
    for name in module.__all__:
        kind = getattr(module, name)
        if inspect.isclass(kind) and kind.__module__.startswith("worldline") and name not in ("World",):
            assert kind.__repr__ is not object.__repr__, name


def test_modules_and_errors_are_reached_from_the_package():
    for name in ("simulation", "model", "msd", "collision", "kinematics", "lcp", "math"):
        assert inspect.ismodule(getattr(worldline, name))
    assert issubclass(worldline.UnknownCapabilityError, NotImplementedError)
    assert issubclass(worldline.MissingFileError, FileNotFoundError)


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    nothing = tmp_path / "nothing.xml"
    for read in (
        lambda: sx.World.from_file(nothing),
        lambda: sx.World().load_binary(nothing),
        lambda: sx.add_skeleton(sx.World(), nothing),
        lambda: sx.add_world(sx.World(), nothing),
        lambda: sx.World().add_scene(nothing),
        lambda: sx.build_multibody_from_skeleton(sx.World(), nothing),
        lambda: msd.from_file(nothing),
        lambda: sx.Recording.load(nothing),
    ):
        with pytest.raises(FileNotFoundError, match=r"nothing\.xml"):
            read()
