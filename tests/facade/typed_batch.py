# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Many worlds in one batch, with every name and its type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldline import msd
from worldline import simulation as sx

Array = NDArray[np.float64]
TEXT = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
  <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  <body name="ball" pos="1 0 .1"><freejoint/><geom size=".1"/></body></worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator></mujoco>"""


def run(folder: Path) -> int:
    """Steps of a batch, and everything that is read from it."""
    world = sx.World.from_scene(msd.from_str(TEXT, format="mjcf"))
    batch = sx.WorldBatch(world, 3, layout="lanes", divergence_policy=sx.DivergencePolicy.FREEZE)
    names: list[str] = [batch.layout, *batch.body_names, *batch.actuator_names, *batch.keyframes]
    count: int = batch.num_worlds + batch.model.body_count
    seconds: float = batch.time_step
    rows: tuple[sx.ResolvedOption, ...] = batch.resolved_configuration
    assert batch.divergence_policy is sx.DivergencePolicy.FREEZE and names and rows and seconds > 0
    batch.controls = np.ones((3, 1))
    batch.joint_positions[1, 0] = 0.3
    arrays: list[Array] = [
        batch.joint_positions,
        batch.joint_velocities,
        batch.activations,
        batch.position_targets,
        batch.velocity_targets,
        batch.joint_forces,
        batch.controls,
        batch.body_wrenches,
        batch.body_poses,
        batch.body_linear_velocities,
        batch.body_angular_velocities,
        batch.kinetic_energy,
        batch.potential_energy,
        batch.time,
    ]
    steps: NDArray[np.int64] = batch.frame
    frozen: NDArray[np.bool_] = batch.frozen
    assert all(len(array) == 3 for array in arrays) and not frozen.any() and not steps.any()
    absent: list[Callable[[], Array]] = [
        lambda: batch.acceleration_targets,
        lambda: batch.mocap_poses,
        lambda: batch.world_joint_commands,
        lambda: batch.multibodies["arm"].joints["hinge"].command_acceleration,
    ]
    for read in absent:
        try:
            read()
            raise AssertionError("this batch has none")
        except NotImplementedError:
            pass
    readings: Array = sx.WorldBatch(world, 2, layout="threads").sensor_values
    where_read: dict[str, slice] = batch.sensor_slices
    assert readings.shape == (2, 0) and not where_read and batch.sensor_values.shape == (3, 0)
    batch.step(5, controls=np.zeros((5, 3, 1)), threads=1, executor=None)
    batch.step_kinematics(2)
    failures: tuple[sx.StepFailure, ...] = batch.failures
    assert not failures
    part: sx.BatchSelection = batch.select([0, 2])
    one: sx.BatchWorld = batch.worlds[1]
    part.joint_positions = batch.joint_positions[0]
    assert part.indices.tolist() == [0, 2] and one.index == 1 and len(part) == 2 and len(batch.worlds) == 3
    part.reset()
    batch.reset([1], state={"joint_velocities": np.zeros(7)})
    robot: sx.BatchMultibody = batch.multibodies["arm"]
    joint: sx.BatchJoint = robot.joints["hinge"]
    link: sx.BatchLink = robot.links["arm"]
    ball: sx.BatchRigidBody = batch.rigid_bodies["ball"]
    assert (robot.name, joint.num_dofs, robot.num_dofs, robot.joints.num_dofs) == ("arm", 1, 1, 1)
    joint.position = [0.5]
    joint.velocity, joint.force = [[0.1]] * 3, [0.0]
    joint.target_position, joint.target_velocity, joint.command_velocity = [0.0], [0.0], [0.0]
    assert robot.joints.position.shape == robot.joints.velocity.shape == robot.joints.force.shape == (3, 1)
    shapes: list[tuple[int, ...]] = [
        link.transform.shape,
        link.translation.shape,
        link.quaternion.shape,
        link.linear_velocity.shape,
        link.angular_velocity.shape,
        robot.links.transforms.shape,
        robot.links.translations.shape,
        robot.links.quaternions.shape,
        robot.links.linear_velocities.shape,
        robot.links.angular_velocities.shape,
    ]
    assert all(shape[0] == 3 for shape in shapes)
    ball.translation, ball.quaternion = (1, 0, 0.099), (0, 0, 0, 1)
    ball.linear_velocity, ball.angular_velocity = (0, 0, 0), (0, 0, 0)
    ball.force, ball.torque = (0, 0, -1.0), (0, 0, 0)
    found: sx.BatchContacts = batch.contacts
    coordinates: Array = batch.articulation_array("joint_q")
    assert coordinates is batch.joint_positions
    where: list[Array] = [found.point, found.normal, found.force, found.net_forces(3, count)]
    on_ball: Array = found.pair_forces(3, batch.body_names.index("ball"), -1)
    assert on_ball.shape == (3, 3)
    who: list[NDArray[np.int64]] = [found.world, found.body_a, found.body_b, found.shape_a, found.shape_b]
    assert found.count == 3 == len(found.depth) and len(where) + len(who) == 9
    assert found.of_world(1).count == 1 and found.counts(3).tolist() == [1, 1, 1]
    table: sx.BatchParameters = batch.parameters
    mass: list[str] = table.matching("multibodies.*.mass")
    values: Array = table[mass[0]]
    lines: list[sx.Randomized] = [
        sx.Randomized(mass[0], sx.Uniform(0.5, 1.5), mode="scale", group="load"),
        sx.Randomized("gravity", sx.Normal(0.0, 0.1, low=-1.0, high=1.0), mode="add", elementwise=True),
        sx.Randomized("multibodies.arm.joints.hinge.armature", sx.LogUniform(0.1, 1.0), mode="set"),
        sx.Randomized("multibodies.*.links.*.gravity_compensation", sx.Choice((0.0, 1.0), (1.0, 2.0)), "set"),
    ]
    drawn = sx.Randomization(tuple(lines), seed=3)
    again: sx.Randomization = sx.Randomization.from_json(drawn.to_json())
    numbers: Array = drawn.draw(lines[0], mass[0], (), world=1, count=0)
    all_numbers: Array = drawn.draws(lines[0], mass[0], (), np.arange(2), np.zeros(2, np.int64))
    assert all_numbers[1] == numbers
    kinds: list[float] = [lines[0].distribution.at(np.array(0.5)).item(), numbers.item()]
    assert again == drawn and again.seed == 3 and again.lines[0].name == mass[0] and len(kinds) == 2
    assert lines[0].applied(values, numbers).shape == (3,) and lines[0].mode == "scale"
    assert (lines[0].group, lines[0].elementwise) == ("load", False) and mass[0] in table.names
    low, high, middle = sx.Uniform(1.0, 2.0), sx.LogUniform(1.0, 2.0), sx.Normal(1.0, 2.0)
    chosen = sx.Choice((1.0,))
    bounds: tuple[float, ...] = (low.low, low.high, high.low, high.high, middle.mean, *chosen.values)
    assert middle.standard_deviation == 2.0 and middle.low is middle.high is chosen.weights is None and bounds
    other = sx.WorldBatch(world, 2)
    other.randomize(drawn, worlds=[1])
    other.reset(sample=sx.Randomization((sx.Randomized("controls", sx.Uniform(0, 1), "set"),)))
    prints: tuple[str, str, str] = (world.fingerprint(), other.fingerprint(), other.fingerprint(1))
    assert len(set(prints)) == 3
    model = world.model()
    gain = sx.state.Feedback(np.zeros((1, 14)), model.joint_q, model.joint_qd, np.zeros(1))
    trajectory: sx.state.RolloutTrajectory = sx.state.rollout(
        world, {"joint_velocities": np.zeros((2, 7))}, gain, steps=3, threads=1, contacts=True, layout="lanes"
    )
    again_into: sx.state.RolloutTrajectory = sx.state.rollout(
        model, None, np.zeros((2, 3, 1)), out=trajectory, sensors=False
    )
    assert again_into.num_steps == trajectory.num_steps == 3 and trajectory.num_worlds == 2
    batch.save(folder / "run.batch")
    batch.load(folder / "run.batch")
    single: sx.World = batch.extract(2)
    return single.num_dofs + mixed()


def mixed() -> int:
    """Worlds of different descriptions."""
    worlds: list[sx.World] = []
    for count in (1, 2):
        world = sx.World()
        for k in range(count):
            arm = world.add_multibody(f"arm_{k}")
            base = arm.add_link("base")
            arm.add_link("link", parent=base, joint=sx.JointSpec("hinge", axis=(0, 1, 0)))
        worlds.append(world)
    many = sx.MixedBatch(worlds)
    many.step(2)
    view: sx.FlatArticulationView = many.articulations("*")
    view.set_dof_positions(view.get_dof_positions())
    view.set_dof_velocities(view.get_dof_velocities())
    view.set_dof_forces(view.get_dof_forces())
    poses: list[Array] = [view.get_root_transforms(), view.get_link_transforms()]
    twists: Array = view.get_link_velocities()
    others = (
        view.set_root_transforms,
        view.set_root_velocities,
        view.get_root_velocities,
        view.get_attribute,
    )
    labels: list[str] = [*view.labels, *view.joint_labels, *view.link_labels]
    assert (
        len(poses) == 2
        and len(twists) == 3
        and len(others) == 4
        and labels
        and view.world.tolist() == [0, 1, 1]
    )
    assert view.joint_coord_count == view.joint_dof_count == 1 and many.num_worlds == 2
    single: tuple[sx.World, sx.BatchWorld] = (many.extract(1), many.world(0))
    state: tuple[np.ndarray, ...] = (many.time, many.frame, many.frozen, many.kinetic_energy)
    calls = (many.reset, many.randomize, many.save, many.load)
    assert len(single) == 2 and len(state) == 4 and len(calls) == 4 and len(many.fingerprint()) > 0
    assert many.potential_energy.shape == (2,) and len(many.failures) == 0
    contacts: sx.BatchContacts = many.contacts
    assert len(contacts.world) == 0
    return view.count


def page(viewer: sx.BatchViewer) -> tuple[str, int, str, int | None, bool]:
    """What the page of a batch has."""
    viewer.pick(0)
    viewer.play()
    viewer.pause()
    viewer.step(2)
    viewer.reset()
    return viewer.url, viewer.port, viewer.status, viewer.picked, viewer.is_playing


def pictures(batch: sx.WorldBatch) -> tuple[np.ndarray, sx.BatchViewer]:
    """Worlds side by side, in a picture and on a page."""
    return sx.render_batch(batch, [0, 1], columns=2), sx.view_batch(batch, spacing=2.0)
