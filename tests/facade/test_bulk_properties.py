# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""No write vanishes: bulk properties for everything members have, unknown attributes refused, read-only copies."""

from __future__ import annotations

import enum
import inspect
from typing import Any

import numpy as np
import pytest

from facade.every_object import every_object, readable, settable
from worldline import ArgumentError, WorldlineError
from worldline import simulation as sx
from worldline._src.facade.bulk import Listed, PerFreedom, Stacked

COLLECTIONS = {
    "joints": ("hinge", sx.JointCollection),
    "links": ("link", sx.LinkCollection),
    "bodies": ("body", None),
    "closures": ("closure", None),
    "world_joints": ("world_joint", None),
}
NOT_IN_BULK = {"is_valid", "is_world", "num_dofs", "num_collision_shapes", "has_collision_shape", "is_mocap"}
NOT_IN_BULK |= {"is_link", "is_rigid_body"}
NOT_IN_BULK |= {"deactivation_group_index", "frozen_position", "use_coupler_constraint", "mocap_transform"}


def _bulk(kind: type) -> dict[str, Any]:
    """Bulk property by the property of a member."""
    found: dict[str, Any] = {}
    for name in dir(kind):
        item = inspect.getattr_static(kind, name)
        if isinstance(item, (Stacked, PerFreedom, Listed)):
            found[item.member_property] = item
        elif isinstance(item, property):
            found[name] = item
    singular = {"transforms": "transform", "translations": "translation", "masses": "mass"}
    return {singular.get(name, name): item for name, item in found.items()}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_collections_have_every_number_array_and_flag_of_a_member(name: str) -> None:
    objects = every_object()
    objects["world"].step()
    member, collection = objects[COLLECTIONS[name][0]], objects[name]
    known = _bulk(type(collection))
    for attribute in readable(member):
        if attribute in NOT_IN_BULK:
            continue
        try:
            value = getattr(member, attribute)
        except WorldlineError:
            continue
        if not isinstance(value, (float, bool, np.ndarray)):
            continue
        assert attribute in known, f"{type(collection).__name__} lacks {attribute}"
        described = inspect.getattr_static(type(member), attribute)
        if isinstance(described, property) and described.fset is not None:
            made = known[attribute]
            can = made.fset is not None if isinstance(made, property) else made._settable
            assert can, f"{attribute} of {type(collection).__name__} cannot be set"


# what only some members have, or what belongs to the place of one
NOT_WRITTEN_IN_BULK = {"parent_frame", "mocap_transform", "use_coupler_constraint", "name"}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_what_can_be_set_on_a_member_can_be_set_on_all(name: str) -> None:
    member, collection = COLLECTIONS[name][0], every_object()[name]
    known = _bulk(type(collection))
    of_member = {attribute for who, attribute in settable() if who == member} - NOT_WRITTEN_IN_BULK
    assert of_member
    for attribute in of_member:
        made = known.get(attribute)
        assert made is not None, f"{type(collection).__name__} lacks {attribute}"
        if isinstance(made, (Stacked, PerFreedom, Listed)):
            assert made._settable, attribute
        else:
            assert made.fset is not None, attribute


@pytest.mark.parametrize("stepped", [False, True])
def test_lists_of_choices_are_written_to_all_or_none(stepped: bool) -> None:
    world, arm = _arm()
    if stepped:
        world.step()
    velocity, force = sx.ActuatorType.VELOCITY, sx.ActuatorType.FORCE
    before = arm.joints.actuator_type
    assert before == tuple(joint.actuator_type for joint in arm.joints)
    assert arm.joints.types == (sx.JointType.REVOLUTE, sx.JointType.UNIVERSAL, sx.JointType.FIXED)
    arm.joints[:2][0].actuator_type = velocity
    assert arm.joints.actuator_type[:2] == (velocity, before[1])
    arm.joints.actuator_type = before
    whole = arm.chain(arm.links["a"], arm.links["b"], include_parent_joint=True)
    whole.actuator_type = velocity
    assert whole.actuator_type == (velocity, velocity)
    assert arm.joints.actuator_type == (velocity, velocity, before[2])
    with pytest.raises(ArgumentError, match="one value or 3, got 2"):
        arm.joints.actuator_type = [force, force]
    with pytest.raises(TypeError):
        arm.joints.actuator_type = [force, "fast", force]  # type: ignore[list-item]
    assert arm.joints.actuator_type == (velocity, velocity, before[2])
    with pytest.raises(AttributeError, match="can be read only"):
        arm.joints.types = sx.JointType.FIXED
    arm.links.mass_properties = sx.Inertia.from_sphere(0.5, mass=2.0)
    assert arm.links.masses.tolist() == [2.0, 2.0, 2.0]


def _arm() -> tuple[sx.World, sx.Multibody]:
    world = sx.World()
    arm = world.add_multibody("arm")
    first = arm.add_link("a", joint=sx.JointSpec(name="one"))
    second = arm.add_link("b", parent=first, joint=sx.JointSpec(name="two", type=sx.JointType.UNIVERSAL))
    arm.add_link("c", parent=second, joint=sx.JointSpec(name="weld", type=sx.JointType.FIXED))
    return world, arm


@pytest.mark.parametrize(
    "name",
    ["target_stiffness", "target_damping", "spring_stiffness", "damping_coefficient", "coulomb_friction",
     "armature", "velocity_limits", "acceleration_limits", "effort_limits", "rest_position"],
)  # fmt: skip
def test_bulk_writes_reach_every_joint(name: str) -> None:
    for stepped in (False, True):
        world, arm = _arm()
        if stepped:
            world.step()
        whole = arm.chain(arm.links["a"], arm.links["c"], include_parent_joint=True)
        setattr(arm.joints, name, [0.5, 1.5, 2.5])
        assert getattr(arm.joints["one"], name).tolist() == [0.5]
        assert getattr(arm.joints["two"], name).tolist() == [1.5, 2.5]
        assert getattr(arm.joints, name).tolist() == getattr(whole, name).tolist() == [0.5, 1.5, 2.5]
        setattr(whole, name, 3.0)
        assert getattr(arm.joints, name).tolist() == [3.0, 3.0, 3.0]
        with pytest.raises(ArgumentError):
            setattr(arm.joints, name, [1.0, 2.0])
        world.step()


def test_a_refused_bulk_write_changes_no_member() -> None:
    world, arm = _arm()
    arm.joints.target_stiffness = [1.0, 2.0, 3.0]
    with pytest.raises(ArgumentError, match="'two'"):
        arm.joints.target_stiffness = [4.0, 5.0, -1.0]
    assert arm.joints.target_stiffness.tolist() == [1.0, 2.0, 3.0]
    arm.joints.set_position_limits([-1, -2, -3], [1, 2, 3])
    with pytest.raises(ArgumentError):
        arm.joints.set_position_limits([-5, 4, 0], [5, 3, 0])
    assert arm.joints.position_lower_limits.tolist() == [-1, -2, -3]
    a, b = world.add_rigid_body("a", mass=2.0), world.add_rigid_body("b", mass=3.0)
    with pytest.raises(ArgumentError):
        world.rigid_bodies.masses = [5.0, -1.0]
    assert (a.mass, b.mass) == (2.0, 3.0)
    world.rigid_bodies.linear_velocities = [[1, 0, 0], [0, 2, 0]]
    world.rigid_bodies.are_kinematic = [False, True]
    assert b.is_kinematic
    assert not a.is_kinematic
    with pytest.raises(AttributeError, match="can be read only"):
        world.rigid_bodies.kinetic_energies = [1.0, 1.0]
    arm.links.masses = [1.0, 2.0, 3.0]
    assert arm.mass == 6.0
    assert arm.links.inertias.shape == (3, 3, 3)


def test_every_public_object_refuses_attributes_it_does_not_know() -> None:
    objects = every_object()
    world = objects["world"]
    world.replay_recording_enabled = True
    world.step_profiling_enabled = True
    world.step(n=2)
    executor = sx.compute.ParallelExecutor(2)
    more = {
        "state": world.get_state(world.state_space()),
        "control": world.get_control(world.control_space()),
        "space": world.state_space(),
        "variable": world.state_space().variables[0],
        "recording": world.recording,
        "pipeline": world.pipeline,
        "profile": world.last_step_profile,
        "executor": executor,
        "sequential": sx.compute.SequentialExecutor(),
        "run": executor.step([sx.World(), sx.World()]),
        "graph": sx.compute.ComputeGraph(),
        "job": world.start_step(n=0),
        "report": world.step_report(),
        "metrics": world.compute_step_metrics(),
        "ledger": world.energy_ledger(),
        "memory": world.memory_diagnostics,
        "residual": objects["closure"].compute_residual(),
        "hits": world.raycast((0, 0, 9), (0, 0, -9)),
        "contacts": sx.Contact,
        "spec": sx.JointSpec(),
        "closure spec": sx.LoopClosureSpec(objects["body"], objects["link"]),
        "options": world.options,
        "reading": objects["sensor"].read(),
        "inertia": objects["body"].mass_properties,
        "graph of queries": sx.CollisionQueryOptions(),
    }
    for name, item in {**objects, **more}.items():
        if inspect.isclass(item) or isinstance(item, enum.Enum):
            continue
        with pytest.raises(AttributeError):
            item.nonsense = 1
        assert not hasattr(item, "nonsense"), name


def test_a_misspelt_bulk_property_names_the_nearest() -> None:
    _, arm = _arm()
    with pytest.raises(AttributeError, match="did you mean 'target_stiffness'"):
        arm.joints.target_stifness = [1.0]  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="did you mean 'velocity'"):
        arm.chain(arm.links["a"], arm.links["b"]).velocty = [1.0]  # type: ignore[attr-defined]


def test_arrays_that_properties_return_are_read_only() -> None:
    objects = every_object()
    world = objects["world"]
    world.replay_recording_enabled = True
    world.step(n=2)
    more = {
        "state": world.get_state(world.state_space()),
        "space": world.state_space(),
        "recording": world.recording,
        "options": world.options,
        "body options": sx.RigidBodyOptions(),
        "spec": sx.LoopClosureSpec(objects["body"], objects["link"]),
        "inertia": objects["body"].mass_properties,
        "residual": objects["closure"].compute_residual(),
        "metrics": world.compute_step_metrics(),
    }
    seen = 0
    for name, item in {**objects, **more}.items():
        for attribute in readable(item):
            try:
                value = getattr(item, attribute)
            except WorldlineError:
                continue
            if isinstance(value, np.ndarray) and (name, attribute) != ("state", "vector"):
                seen += 1
                assert not value.flags.writeable, f"{name}.{attribute}"
    assert seen > 150
    with pytest.raises(ValueError, match="read-only"):
        objects["hinge"].position[:] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        world.state_vector[0] = 1.0
    # and the World itself goes on: nothing of its own memory was made read-only
    objects["hinge"].position = objects["hinge"].position
    objects["marker"].rgba = objects["marker"].rgba
    objects["free_frame"].transform = objects["free_frame"].transform
    world.state_vector = world.state_vector
    world.step(n=2)


def test_controls_are_read_only() -> None:
    from worldline import msd

    scene = msd.from_str(
        "<mujoco><worldbody><body><joint name='j'/><geom size='0.1' pos='0 0 1'/></body></worldbody>"
        "<actuator><motor joint='j'/></actuator></mujoco>",
        format="mjcf",
    )
    world = sx.World.from_scene(scene)
    with pytest.raises(ValueError, match="read-only"):
        world.actuator_controls[0] = 1.0
    world.actuator_controls = [1.0]
    assert world.actuator_controls.tolist() == [1.0]


def test_bulk_positions_and_transforms_have_the_bits_of_the_members() -> None:
    """Joints that turn freely stand between others, and links of another multibody between the rows."""
    world = sx.World()
    robots = [world.add_multibody("first"), world.add_multibody("second")]
    kinds = (sx.JointType.REVOLUTE, sx.JointType.SPHERICAL, sx.JointType.PRISMATIC, sx.JointType.FLOATING)
    for robot in robots:
        parent = None
        for k, kind in enumerate((*kinds, *kinds)):
            parent = robot.add_link(
                f"l{k}", parent, sx.JointSpec(name=f"j{k}", type=kind), mass=1.0, inertia=(0.1, 0.2, 0.25)
            )
    rng = np.random.default_rng(3)
    for robot in robots:
        robot.joints.position = rng.uniform(-0.8, 0.8, robot.num_dofs)
        robot.joints.velocity = rng.uniform(-0.5, 0.5, robot.num_dofs)
    world.step(n=5)
    for robot in robots:
        for name in ("position", "target_position"):
            members = np.concatenate([getattr(joint, name) for joint in robot.joints])
            np.testing.assert_array_equal(getattr(robot.joints, name), members)
        members = np.array([link.transform for link in robot.links])
        np.testing.assert_array_equal(robot.links.transforms, members)
        for array in (robot.joints.position, robot.links.transforms):
            assert not array.flags.writeable
        before = robot.joints.position
        robot.joints.position = before + 0.125
        assert not np.array_equal(robot.links.transforms, members), "reads are fresh"
        np.testing.assert_array_equal(robot.joints.position[:1], before[:1] + 0.125)
