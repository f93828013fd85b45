# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels and functions of a user in batches: both layouts, parameters of every world, errors."""

from __future__ import annotations

import numpy as np
import pytest

import worldline
from facade.test_kernels import swing
from worldline import msd, ops
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, BusyError, CapabilityError, NotFoundError
from worldline.collision import CollisionShape

LAYOUTS = ("lanes", "threads")
MOTOR = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body name="base" pos="0 0 .5"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/>
    <body name="arm" pos=".1 0 0"><joint name="hinge" axis="0 1 0" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".2"/></body></body></worldbody>
  <actuator><motor name="m" joint="hinge" gear="2"/></actuator></mujoco>"""
SWING = """<mujoco><option timestep="0.002"/><worldbody>
    <body name="arm"><joint name="hinge" axis="0 1 0" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".2"/></body></worldbody>
  <actuator><motor name="m" joint="hinge" gear="2"/></actuator></mujoco>"""


@worldline.kernel
def wind(step):
    body = step.bodies[0]
    x, y, z = ops.center_of_mass(step, body)
    ops.add_force_at(step, body, step.parameters[0], 0.1 * z, 0.0 * z, x, y, z + 0.1)


@worldline.kernel
def bound(step):
    for k in range(step.v.shape[0]):
        most = ops.constant(3.0, step.v[k])
        step.v[k] = ops.clamp(step.v[k], -most, most)


@worldline.kernel
def drag(step):
    for k in range(6):
        step.a[k] -= 0.3 * step.v[k]


@worldline.kernel
def tell(step):
    step.reading[0] = step.body_qd[step.bodies[0], 0]
    step.reading[1] = step.time + step.parameters[0]


@worldline.kernel(lanes=False)
def branches(step):
    if step.v[0] > 0.0:
        step.force[0] = -1.0


@worldline.kernel
def branches_too(step):
    if step.v[0] > 0.0:
        step.force[0] = -1.0


def world_with_kernels(family=None):
    scene = msd.from_str(MOTOR, format="mjcf")
    world = sx.World.from_scene(scene)
    if family is not None:
        world.multibody_options = sx.MultibodyOptions(integration_family=family)
    tree = next(iter(world.multibodies))
    world.add_controller("swing", swing, joints=(tree.joints["hinge"],), actuators=("m",), parameters=(0.7,))
    world.add_force_element("wind", wind, bodies=(tree.links["arm"],), parameters=(0.5,))
    world.add_stage("bound", bound, "end")
    world.add_stage("drag", drag, "accelerations")
    world.sensors.add_function("tell", tell, 2, bodies=(tree.links["base"],), parameters=(1.0,))
    return world


def arms(count, layout):
    return sx.WorldBatch(msd.from_str(SWING, format="mjcf"), count, layout=layout)


# ---- kernels


@pytest.mark.parametrize("family", [None, sx.MultibodyIntegrationFamily.RUNGE_KUTTA_4])
def test_lanes_threads_and_a_world_agree(family):
    world = world_with_kernels(family)
    strengths = np.linspace(0.5, 0.9, 5)
    made = {}
    for layout in LAYOUTS:
        batch = sx.WorldBatch(world, 5, layout=layout)
        batch.element_parameters[:, batch.element_parameter_slices["swing"]] = strengths[:, None]
        batch.step(40)
        for _ in range(10):
            batch.step()
        made[layout] = batch
    lanes, threads = made.values()
    assert lanes.layout == "lanes" and threads.layout == "threads"
    np.testing.assert_allclose(lanes.joint_positions, threads.joint_positions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(lanes.controls, threads.controls, rtol=0, atol=1e-11)
    np.testing.assert_allclose(lanes.sensor_values, threads.sensor_values, rtol=0, atol=1e-11)
    assert np.ptp(lanes.controls) > 1e-3
    world.step(n=50)
    assert world.state_vector[:8].tobytes() == threads.extract(2).state_vector[:8].tobytes()
    assert lanes.sensor_values[0, 1] == pytest.approx(1.1)


def test_kernels_see_the_parameters_of_their_world():
    world = world_with_kernels()
    made = {}
    for layout in LAYOUTS:
        batch = sx.WorldBatch(world, 3, layout=layout)
        batch.worlds[1].parameters["multibodies.base.links.arm.mass"] = 0.5
        batch.worlds[2].parameters["multibodies.base.links.arm.center_of_mass"] = (0.05, 0.0, 0.02)
        batch.step(40)
        assert batch.layout == layout
        made[layout] = batch
    lanes, threads = made.values()
    np.testing.assert_allclose(lanes.joint_positions, threads.joint_positions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(lanes.sensor_values, threads.sensor_values, rtol=0, atol=1e-11)
    assert np.abs(np.diff(lanes.joint_positions[:, -1])).min() > 1e-3


def test_a_world_has_the_same_bits_in_a_batch_of_any_size():
    world = world_with_kernels()
    small, large = sx.WorldBatch(world, 3, layout="lanes"), sx.WorldBatch(world, 11, layout="lanes")
    for batch in (small, large):
        batch.element_parameters[:, 0] = 0.5 + 0.05 * np.arange(batch.num_worlds)
    small.step(30)
    large.step(30, threads=2)
    assert small.joint_positions.tobytes() == large.joint_positions[:3].tobytes()


def test_reset_keeps_parameters_and_sets_commands_and_time_back():
    for layout in LAYOUTS:
        batch = sx.WorldBatch(world_with_kernels(), 4, layout=layout)
        batch.element_parameters[:, 0] = 0.9
        batch.step(5)
        batch.reset([1])
        assert batch.controls[1] == 0.0 and batch.controls[0] != 0.0
        assert batch.element_parameters[:, 0].tolist() == [0.9] * 4
        batch.step(5)
        assert batch.sensor_values[:, 1] == pytest.approx([1.02, 1.01, 1.02, 1.02])


def test_extracted_worlds_and_checkpoints_go_on(tmp_path):
    for layout in LAYOUTS:
        batch = sx.WorldBatch(world_with_kernels(), 3, layout=layout)
        batch.element_parameters[:, 0] = (0.1, 0.2, 0.3)
        batch.step(5)
        alone = batch.extract(2)
        assert alone.step_functions[0].parameters.tolist() == [0.3]
        batch.save(tmp_path / layout)
        batch.step(7)
        wanted = batch.joint_positions.copy()
        alone.step(n=7)
        np.testing.assert_allclose(alone.multibodies[0].joints.position[-1], wanted[2, -1], rtol=0, atol=1e-9)
        batch.element_parameters[:] = 0.0
        batch.load(tmp_path / layout)
        batch.step(7)
        assert batch.joint_positions.tobytes() == wanted.tobytes()


def test_kernels_that_lanes_do_not_have_are_named():
    world = sx.World.from_scene(msd.from_str(SWING, format="mjcf"))
    world.add_controller("b", branches)
    with pytest.raises(CapabilityError, match="kernel 'branches' was made with lanes=False"):
        sx.WorldBatch(world, 2, layout="lanes")
    batch = sx.WorldBatch(world, 2)
    assert batch.layout == "threads"
    batch.joint_velocities[:, 0] = (1.0, -1.0)
    batch.step()
    assert batch.joint_forces[:, 0].tolist() == [-1.0, 0.0]
    world.remove_step_function("b")
    world.add_controller("b", branches_too)
    with pytest.raises(ArgumentError, match=r"'branches_too' cannot be compiled for . lanes.*lanes=False"):
        sx.WorldBatch(world, 2).step()
    world.remove_step_function("b")
    hinge = next(iter(world.multibodies)).joints["hinge"]
    world.add_controller("p", swing, period=0.01, joints=(hinge,), actuators=("m",), parameters=(1.0,))
    with pytest.raises(CapabilityError, match="no period of kernels, which 'p' has"):
        sx.WorldBatch(world, 2, layout="lanes")


# ---- functions of Python


def hold(step):
    step.control[:, 0] = 4.0 * (0.5 - step.q[:, 0]) - 0.2 * step.v[:, 0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_controller_gives_the_bits_of_a_loop(layout):
    inside, outside = arms(5, layout), arms(5, layout)
    for batch in (inside, outside):
        batch.joint_positions[:, 0] = np.linspace(-1.0, 1.0, 5)
    inside.add_controller("pd", hold)
    inside.step(50)
    for _ in range(50):
        outside.controls[:, 0] = (
            4.0 * (0.5 - outside.joint_positions[:, 0]) - 0.2 * outside.joint_velocities[:, 0]
        )
        outside.step()
    assert inside.joint_positions.tobytes() == outside.joint_positions.tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_force_element_gives_the_motion_of_a_kernel(layout):
    scene = msd.from_str(MOTOR, format="mjcf")
    world = sx.World.from_scene(scene)
    tree = next(iter(world.multibodies))
    world.add_force_element("wind", wind, bodies=(tree.links["arm"],), parameters=(0.5,))
    with_kernel, plain = sx.WorldBatch(world, 3, layout=layout), sx.WorldBatch(scene, 3, layout=layout)

    def blow(step):
        row, com = step.body_row("arm"), plain.model.body_com
        pose = step.body_q[:, row]
        center = pose[:, :3] + np.stack([_turned(p[3:], com[row]) for p in pose])
        force = np.stack([np.full(3, 0.5), 0.1 * center[:, 2], np.zeros(3)], axis=1)
        step.body_f[:, row, 3:] += force
        step.body_f[:, row, :3] += np.cross([0.0, 0.0, 0.1], force)

    plain.add_force_element("wind", blow)
    plain.body_wrenches[:, 0, 3] = 0.25
    with_kernel.body_wrenches[:, 0, 3] = 0.25
    for batch in (with_kernel, plain):
        batch.step(30)
    np.testing.assert_allclose(plain.joint_positions, with_kernel.joint_positions, rtol=0, atol=1e-10)
    assert plain.body_wrenches[:, 0, 3].tolist() == [0.25] * 3
    assert not plain.body_wrenches[:, 1].any()


def _turned(q, x):
    return x + 2.0 * np.cross(q[:3], np.cross(q[:3], x) + q[3] * x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_stages_observers_and_periods(layout):
    batch, seen = arms(2, layout), []

    def still(step):
        step.v[0] = 0.0

    def count(step):
        step.control[:, 0] += 1.0

    batch.add_stage("still", still)
    batch.add_observer("look", lambda step: seen.append((step.time.tolist(), step.frame.tolist())))
    batch.add_controller("count", count, period=0.004)
    batch.step(3)
    assert batch.joint_velocities[0, 0] == 0.0 and batch.joint_velocities[1, 0] != 0.0
    assert seen[0] == (pytest.approx([0.002] * 2), [0, 0]) and len(seen) == 3
    assert batch.controls[:, 0].tolist() == [2.0, 2.0]
    batch.reset([1])
    batch.step()
    assert batch.controls[:, 0].tolist() == [2.0, 1.0], "world 0 is at step 3, world 1 at its first"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["add_controller", "add_force_element", "add_stage", "add_observer"])
def test_an_error_leaves_every_world_as_before_the_step(layout, kind):
    batch = arms(5, layout)
    batch.add_controller("pd", hold)
    batch.step(3)
    state, velocities = batch.joint_positions.copy(), batch.joint_velocities.copy()
    controls, forces, frame = batch.controls.copy(), batch.joint_forces.copy(), batch.frame

    def fail(step):
        if step.frame[0] == 5:
            step.force[:] = 7.0
            raise KeyError("mine")

    getattr(batch, kind)("fail", fail)
    with pytest.raises(KeyError, match="mine"):
        batch.step(9)
    assert batch.frame.tolist() == (frame + 2).tolist()
    batch.remove_step_function("fail")
    again = arms(5, layout)
    again.add_controller("pd", hold)
    again.step(5)
    assert batch.joint_positions.tobytes() == again.joint_positions.tobytes()
    assert batch.controls.tobytes() == again.controls.tobytes()
    assert batch.joint_forces.tobytes() == forces.tobytes()
    assert state.tobytes() != batch.joint_positions.tobytes() and velocities.any() and controls.any()
    batch.step()
    again.step()
    assert batch.joint_positions.tobytes() == again.joint_positions.tobytes()


def test_an_error_of_one_world_on_threads_leaves_all_as_before_the_step():
    world = sx.World.from_scene(msd.from_str(SWING, format="mjcf"))

    def fail(step):
        if step.q[0] > 0.3:
            raise KeyError("mine")

    world.add_observer("fail", fail)
    batch = sx.WorldBatch(world, 3)
    batch.joint_positions[:, 0] = (-2.0, -0.5, 0.29)
    batch.joint_velocities[:, 0] = (0.0, 0.0, 1.0)
    with pytest.raises(KeyError, match="mine"):
        batch.step(40)
    frame = int(batch.frame[0])
    assert batch.frame.tolist() == [frame] * 3 and 0 < frame < 40
    assert batch.joint_positions[2, 0] <= 0.3
    twin = arms(3, "threads")
    twin.joint_positions[:, 0] = (-2.0, -0.5, 0.29)
    twin.joint_velocities[:, 0] = (0.0, 0.0, 1.0)
    twin.step(frame)
    assert batch.joint_positions.tobytes() == twin.joint_positions.tobytes()


def sliding_stack(sleeps, speed):
    """Boxes that slide on each other; impulses start from the contacts of the last step, and boxes fall asleep."""
    world = sx.World(
        time_step=0.005,
        contact_solver_method=sx.ContactSolverMethod.SEQUENTIAL_IMPULSE,
        deactivation_options=sx.DeactivationOptions(enabled=sleeps, time_until_sleep=0.05),
    )
    world.add_ground_plane(friction=0.6)
    for k in range(3):
        at, inertia = (0.01 * k, 0, 0.1 + 0.2 * k), 0.01 * np.eye(3)
        body = world.add_rigid_body(f"box{k}", mass=1.0 + k, position=at, inertia=inertia)
        body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
        body.linear_velocity = (speed, 0.3 * speed * k, 0.0)
    return world


@pytest.mark.parametrize("owner", ["world", "batch"])
@pytest.mark.parametrize(("sleeps", "steps"), [(False, 20), (True, 20), (True, 120)])
def test_contacts_and_sleep_are_those_before_a_step_that_was_given_up(sleeps, steps, owner):
    ends, fails = [], [False]

    def look(step):
        if fails[0]:
            raise KeyError("mine")

    for error in (False, True):
        world = sliding_stack(sleeps, 0.3 if steps < 120 else 0.02)
        if owner == "world":
            world.add_observer("look", look)
        batch = sx.WorldBatch(world, 2, layout="threads")
        if owner == "batch":
            batch.add_observer("look", look)
        batch.joint_velocities[1, 0] += 0.01
        batch.step(n=steps)
        if error:
            fails[0] = True
            with pytest.raises(KeyError, match="mine"):
                batch.step()
            fails[0] = False
        kept = batch.joint_velocities.copy()
        batch.step(n=3)
        ends.append(kept.tobytes() + batch.joint_velocities.tobytes())
        assert (steps == 120) == (not batch.joint_velocities[0].any())
    assert ends[0] == ends[1]


def test_refusals():
    batch = arms(2, "lanes")
    batch.add_controller("pd", hold)
    with pytest.raises(ArgumentError, match="there is a controller 'pd' already"):
        batch.add_observer("pd", hold)
    with pytest.raises(ArgumentError, match="add it to the World"):
        batch.add_controller("k", swing)
    with pytest.raises(ArgumentError, match="whole number of time steps"):
        batch.add_controller("p", hold, period=0.003)
    with pytest.raises(CapabilityError, match="no place 'accelerations'"):
        batch.add_stage("s", hold, "accelerations")
    with pytest.raises(NotFoundError, match="no function 'pq' in the steps"):
        batch.remove_step_function("pq")
    with pytest.raises(CapabilityError, match="element_parameters"):
        batch.element_parameters  # noqa: B018
    batch.add_observer("again", lambda step: batch.step())
    with pytest.raises(BusyError, match="step is not possible within a function"):
        batch.step()
    assert [one.name for one in batch.step_functions] == ["pd", "again"]
    world = sx.World.from_scene(msd.from_str(SWING, format="mjcf"))
    world.multibody_options = sx.MultibodyOptions(
        integration_family=sx.MultibodyIntegrationFamily.RUNGE_KUTTA_4
    )
    with pytest.raises(CapabilityError, match="'runge-kutta-4'"):
        sx.WorldBatch(world, 2).add_force_element("f", hold)
    with pytest.raises(ValueError, match="read-only"):
        _write_state(arms(2, "lanes"))


def _write_state(batch):
    def write(step):
        step.q[0] = 1.0

    batch.add_controller("w", write)
    batch.step()
