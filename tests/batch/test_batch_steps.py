# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stepping and resetting a batch: controls, threads, executors, time, keyframes, failures."""

from __future__ import annotations

import numpy as np
import pytest
from batch_scenes import BOXES, lane_batch, robot, scatter, thread_batch

from worldline import ArgumentError, NotFoundError, ShapeError, StepFailure, msd
from worldline import simulation as sx
from worldline.model import BatchFailure

BOTH = pytest.mark.parametrize("make", [lane_batch, thread_batch])


@BOTH
def test_a_sequence_of_controls_is_that_of_steps_one_by_one(make):
    rng = np.random.default_rng(1)
    batch, other = make(3), make(3)
    controls = rng.uniform(-1, 1, (25, 3, 2))
    batch.step(25, controls=controls)
    for row in controls:
        other.controls[:] = row
        other.step()
    assert np.array_equal(batch.joint_positions, other.joint_positions)
    assert np.array_equal(batch.controls, controls[-1]) and batch.frame.tolist() == [25] * 3
    with pytest.raises(ShapeError, match=r"\(2, 3, 2\)"):
        batch.step(2, controls=controls)
    with pytest.raises(ArgumentError, match="finite"):
        batch.step(25, controls=np.full((25, 3, 2), np.nan))
    assert batch.frame.tolist() == [25] * 3


@BOTH
def test_executors_do_the_work(make):
    batch, other = make(5), make(5)
    scatter(batch)
    scatter(other)
    ran = []

    class Counting(sx.compute.ParallelExecutor):
        def run(self, graph):
            ran.append(graph.names)
            return super().run(graph)

    with Counting(2) as executor:
        batch.step(10, executor=executor)
        with pytest.raises(ArgumentError, match="not both"):
            batch.step(10, executor=executor, threads=2)
    other.step(10)
    assert ran and len(ran[0]) == (1 if batch.layout == "lanes" else 2)
    assert np.array_equal(batch.joint_positions, other.joint_positions)
    with pytest.raises(ShapeError, match="executor"):
        batch.step(executor=3)


@BOTH
def test_wrong_counts_are_refused(make):
    batch = make(2)
    for n in (-1, 1.5, True):
        with pytest.raises(ArgumentError):
            batch.step(n)
    with pytest.raises(ArgumentError, match="threads"):
        batch.step(threads=-1)
    with pytest.raises(ArgumentError):
        batch.step_kinematics(-1)
    batch.step(0)
    assert batch.frame.tolist() == [0, 0]


@BOTH
def test_kinematic_steps_let_time_pass_only(make):
    batch = make(2)
    batch.joint_positions[1, 0] = 3.0
    batch.joint_velocities[:] = 1.0
    before = batch.joint_positions.copy()
    batch.step_kinematics(10)
    assert np.array_equal(batch.joint_positions, before)
    assert batch.frame.tolist() == [10, 10] and batch.time == pytest.approx([0.02, 0.02])
    batch.step(5)
    assert batch.frame.tolist() == [15, 15]


@BOTH
def test_reset_of_some_worlds_leaves_the_others(make):
    batch = make(4)
    start = batch.joint_positions.copy()
    scatter(batch)
    batch.joint_forces[:, 7] = 0.1
    batch.step(30)
    kept = batch.joint_positions.copy()
    batch.reset([0, 2])
    assert np.array_equal(batch.joint_positions[[0, 2]], start[[0, 2]])
    assert np.array_equal(batch.joint_positions[[1, 3]], kept[[1, 3]])
    assert batch.controls[[0, 2]].tolist() == [[0, 0], [0, 0]] and batch.joint_forces[0, 7] == 0.0
    assert batch.frame.tolist() == [0, 30, 0, 30] and batch.time == pytest.approx([0, 0.06, 0, 0.06])
    batch.reset(np.array([False, True, False, False]))
    assert batch.frame.tolist() == [0, 0, 0, 30]
    # a world that was reset is a new one, to the last bit
    new = make(4)
    scatter(new, 5)
    batch.reset()
    scatter(batch, 5)
    batch.step(40)
    new.step(40)
    assert np.array_equal(batch.joint_positions, new.joint_positions)
    assert batch.frame.tolist() == [40] * 4


@BOTH
def test_reset_to_a_state_and_to_a_keyframe(make):
    batch = make(3)
    batch.step(20)
    q = batch.joint_positions[0].copy()
    q[0] = 4.0
    batch.reset([1], state={"joint_positions": q, "controls": [0.2, 0.3], "time": 2.0})
    assert batch.joint_positions[1, 0] == 4.0 and batch.controls[1].tolist() == [0.2, 0.3]
    assert batch.joint_velocities[1].any() == False and batch.time[1] == pytest.approx(2.0)  # noqa: E712
    if batch.layout == "threads":
        # the keyframe of the robot alone does not fit the scene with boxes
        return
    assert batch.keyframes == ["crouch"]
    batch.reset([0, 2], keyframe="crouch")
    world = sx.World.from_scene(robot())
    world.apply_keyframe("crouch")
    for w in (0, 2):
        assert np.array_equal(batch.worlds[w].joint_positions, world._live().sim.q)
        assert batch.controls[w].tolist() == [0.4, -0.2] and batch.activations[w].tolist() == [0.1]
        assert batch.time[w] == pytest.approx(0.5)
    batch.step(10)
    world.step(n=10)
    np.testing.assert_allclose(batch.joint_positions[0], world._live().sim.q, atol=1e-9)
    assert batch.time[0] == pytest.approx(0.52)


@BOTH
def test_wrong_resets_change_nothing(make):
    batch = make(2)
    batch.step(5)
    before = batch.joint_positions.copy()
    for call in (
        lambda: batch.reset(state={"joint_postions": 0}),
        lambda: batch.reset(state={"joint_positions": [1.0]}),
        lambda: batch.reset(state={"joint_positions": np.nan}),
        lambda: batch.reset(state={}, keyframe="crouch"),
        lambda: batch.reset([5]),
    ):
        with pytest.raises(ArgumentError):
            call()
    with pytest.raises(NotFoundError, match="no keyframe"):
        batch.reset(keyframe="crunch")
    assert np.array_equal(batch.joint_positions, before) and batch.frame.tolist() == [5, 5]


# ---- failures


def failing(policy, layout):
    """World 1 has a velocity that the limit does not allow."""
    world = sx.World.from_scene(robot("", "" if layout == "lanes" else BOXES))
    world.divergence_limit = 1e4
    world.divergence_policy = policy
    batch = sx.WorldBatch(world, 3)
    assert batch.layout == layout
    batch.joint_velocities[1, 6] = 9e3
    batch.controls[1] = [1.0, 1.0]
    return batch


@pytest.mark.parametrize("layout", ["lanes", "threads"])
@pytest.mark.parametrize("policy", ["raise", "freeze"])
def test_a_world_that_fails_is_frozen_and_named_while_others_go_on(layout, policy):
    batch = failing(policy, layout)
    good = failing(policy, layout)
    good.joint_velocities[1] = 0.0
    if policy == "raise":
        with pytest.raises(BatchFailure, match="world 1") as caught:
            batch.step(30)
        assert [failure.world for failure in caught.value.failures] == [1]
    else:
        batch.step(30)
    good.step(30)
    (failure,) = batch.failures
    assert failure.world == 1 and failure.body in ("thigh", "trunk", "shin", "tail")
    assert failure.quantity in ("acceleration", "velocity") and failure.frame >= 1
    assert batch.frozen.tolist() == [False, True, False]
    # neighbours have their bits
    assert np.array_equal(batch.joint_positions[[0, 2]], good.joint_positions[[0, 2]])
    state = batch.joint_positions[1].copy()
    assert np.isfinite(state).all()
    batch.step(10)
    assert np.array_equal(batch.joint_positions[1], state) and batch.frozen[1]
    assert [failure.world for failure in batch.failures] == [1]
    # written or reset, it goes on
    batch.joint_velocities[1] = 0.0
    assert not batch.frozen[1]
    batch.step(5)
    assert not np.array_equal(batch.joint_positions[1], state) and not batch.failures
    batch.joint_velocities[1, 6] = 9e5
    if policy == "raise":
        with pytest.raises(BatchFailure):
            batch.step()
    else:
        batch.step()
    batch.reset([1])
    batch.step()
    assert not batch.failures and not batch.frozen.any()


@pytest.mark.parametrize("layout", ["lanes", "threads"])
def test_reset_policy_starts_the_world_again(layout):
    batch = failing("reset", layout)
    batch.step(30)
    assert [failure.world for failure in batch.failures] == [1] and "reset" in batch.failures[0].outcome
    start = type(batch)(robot("", "" if layout == "lanes" else BOXES), 1)
    assert np.array_equal(batch.joint_positions[1], start.joint_positions[0])
    batch.step(5)
    assert not batch.failures and not np.array_equal(batch.joint_positions[1], start.joint_positions[0])


@pytest.mark.parametrize("layout", ["lanes", "threads"])
def test_a_world_that_goes_on_is_reported_at_the_step_that_diverged(layout):
    world = sx.World()
    world.add_rigid_body("box", mass=1.0, inertia=np.eye(3))
    batch = sx.WorldBatch(world, 2, layout=layout, divergence_policy="continue")
    batch.step(1)
    batch.joint_velocities[1, 0] = 1e104
    # steps of a call are made in several portions
    batch.step(5)
    assert [(failure.world, failure.frame) for failure in batch.failures] == [(1, 2)]
    assert not batch.frozen.any() and batch.frame.tolist() == [6, 6]


@pytest.mark.parametrize("layout", ["lanes", "threads"])
def test_a_world_that_cannot_go_on_stays_in_time_with_the_others(layout):
    """The square of 1e200 is no number: its step is taken back, and time goes on."""
    world = sx.World()
    arm = world.add_multibody("arm")
    bob = {"mass": 1.0, "center_of_mass": (0.5, 0, 0), "inertia": np.eye(3)}
    arm.add_link("bob", arm.add_link("base"), sx.JointSpec("hinge", axis=(0, 1, 0)), **bob)
    batch = sx.WorldBatch(world, 2, layout=layout, divergence_policy="continue")
    batch.joint_velocities[1] = 1e200
    batch.step(20)
    assert [failure.world for failure in batch.failures] == [1] and batch.frozen.tolist() == [False, True]
    assert batch.frame.tolist() == [20, 20] and batch.time[0] == batch.time[1]
    assert "frozen" in batch.failures[0].outcome


@pytest.mark.parametrize("layout", ["lanes", "threads"])
def test_failures_in_a_sequence_of_controls_are_told_in_the_end(layout):
    batch = failing("raise", layout)
    with pytest.raises(BatchFailure, match="world 1"):
        batch.step(10, controls=np.zeros((10, 3, 2)))
    assert batch.frame.tolist() == [10] * 3 and [failure.world for failure in batch.failures] == [1]


def test_errors_of_functions_reach_the_caller_and_no_world_makes_that_step():
    world = sx.World.from_scene(robot())

    def stop(step):
        if step.q[0] > 1.0:
            raise KeyError("too far")

    world.add_controller("stop", stop)
    batch = sx.WorldBatch(world, 3)
    batch.joint_positions[1, 0] = 2.0
    with pytest.raises(KeyError, match="too far"):
        batch.step(2)
    assert batch.frame.tolist() == [0, 0, 0]


@BOTH
def test_an_interrupt_leaves_all_worlds_at_the_same_step(make, monkeypatch):
    from worldline._src.facade.batch import thread_worlds
    from worldline._src.step import lane_simulation

    batch, other = make(3), make(3)
    scatter(batch)
    scatter(other)

    def interrupted(work):
        work()
        raise KeyboardInterrupt

    for module in (thread_worlds, lane_simulation):
        monkeypatch.setattr(module, "uninterrupted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch.step(1000, threads=2)
    monkeypatch.undo()
    done = int(batch.frame[0])
    assert 0 < done < 1000 and batch.frame.tolist() == [done] * 3
    other.step(done)
    assert np.array_equal(batch.joint_positions, other.joint_positions)
    batch.step(5)
    other.step(5)
    assert np.array_equal(batch.joint_positions, other.joint_positions)


@pytest.mark.parametrize("layout", ["lanes", "threads"])
def test_steps_of_failures_are_counted_in_their_own_world(layout):
    batch = failing("freeze", layout)
    batch.joint_velocities[1] = 0.0
    batch.step(4)
    batch.reset([1])
    batch.joint_velocities[1, 0] = 1e9
    batch.step(3)
    assert [(failure.world, failure.frame) for failure in batch.failures] == [(1, 1)]
    assert batch.frame.tolist() == [7, 3, 7]


@pytest.mark.parametrize("layout", ["lanes", "threads"])
def test_a_world_that_the_policy_resets_has_commands_and_time_of_the_start(layout):
    batch = sx.WorldBatch(robot("", ""), 3, layout=layout, divergence_policy="reset")
    start = batch.controls[1].copy()
    batch.step(4)
    batch.controls[:] = 0.3
    batch.joint_velocities[1, 6] = 1e12
    batch.step(3)
    for _ in range(2):
        assert [(failure.world, failure.frame) for failure in batch.failures] == [(1, 5)]
    assert np.array_equal(batch.controls[1], start) and (batch.controls[[0, 2]] == 0.3).all()
    assert batch.frame.tolist() == [7, 0, 7]
    assert batch.time.tolist() == [7 * batch.time_step, 0.0, 7 * batch.time_step]
    batch.step(2)
    assert not batch.failures and batch.frame.tolist() == [9, 2, 9]


HUGE = {
    "ball": '<body name="b" pos="0 0 .1"><freejoint/><geom size=".1"/></body>',
    "limit": '<body name="b"><joint type="slide" axis="1 0 0" range="-.1 .1"/><geom size=".1"/></body>',
    "friction": '<body name="b"><joint type="slide" axis="1 0 0" frictionloss="1"/><geom size=".1"/></body>',
}


@pytest.mark.parametrize("speed", [1e104, 1e140, 1e152, 1e200, -1e300])
@pytest.mark.parametrize("name", HUGE)
def test_worlds_that_go_on_stop_where_squares_overflow_alone_and_in_lanes(name, speed):
    # contact, limits and friction compare squares; beyond 1e150 no solver means anything by its answer
    text = f'<mujoco><worldbody><geom type="plane" size="5 5 .1"/>{HUGE[name]}</worldbody></mujoco>'
    alone = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    alone.divergence_policy = "continue"
    batch = sx.WorldBatch(alone, 2, layout="lanes")
    assert batch.divergence_policy is sx.DivergencePolicy.CONTINUE
    batch.joint_velocities[1, 0] = speed
    if name == "ball":
        alone.rigid_bodies["b"].linear_velocity = (speed, 0, 0)
    else:
        alone.multibodies[0].joints[0].velocity = [speed]
    batch.step(3)
    try:
        alone.step(n=3)
        goes_on = True
        assert alone.step_report().failure is not None
    except StepFailure:
        goes_on = False
    assert batch.frozen.tolist() == [False, not goes_on]
    assert [failure.world for failure in batch.failures] == [1]
    if abs(speed) > 1e150:
        assert not goes_on and batch.joint_velocities[1, 0] == speed and alone.frame == 0
    elif name != "ball":
        assert goes_on and alone.frame == 3
