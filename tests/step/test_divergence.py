# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps that diverge are noticed where it happens, and the policy decides what becomes of the world."""

from __future__ import annotations

import os
import pickle
import signal
import threading

import numpy as np
import pytest

from worldline import BatchFailure, StepFailure, msd
from worldline import model as wm
from worldline import simulation as sx

LIMIT = 1e10


def stiff(policy="raise", limit=LIMIT):
    """An oscillator whose spring is too stiff for its step: speeds grow eightfold a step."""
    world = sx.World(time_step=0.01, gravity=(0, 0, 0), divergence_policy=policy, divergence_limit=limit)
    arm = world.add_multibody("arm")
    arm.add_link("bob", joint=sx.JointSpec(name="hinge"), mass=1.0, inertia=(1, 1, 1))
    hinge = arm.joints["hinge"]
    hinge.spring_stiffness, hinge.position = [1e5], [0.1]
    return world, hinge


def recursion(limit):
    """Semi-implicit Euler of that oscillator: the state before the first step beyond the limit, and its number."""
    q, v, frame = 0.1, 0.0, 0
    while True:
        a = -1e5 * q
        new = v + 0.01 * a
        frame += 1
        for quantity, number in (("acceleration", a), ("velocity", new), ("position", q + 0.01 * new)):
            if abs(number) > limit:
                return q, v, frame, quantity, number
        q, v = q + 0.01 * new, new


@pytest.mark.parametrize("limit", [1e6, LIMIT, 1e30])
def test_divergence_is_noticed_at_the_step_it_happens(limit):
    world, hinge = stiff(limit=limit)
    q, v, frame, quantity, number = recursion(limit)
    with pytest.raises(StepFailure) as caught:
        world.step(n=1000)
    failure = caught.value
    assert (failure.body, failure.quantity, failure.frame) == ("arm/bob", quantity, frame)
    assert failure.value == pytest.approx(number, rel=1e-9)
    assert world.frame == frame - 1
    assert hinge.position[0] == pytest.approx(q, rel=1e-9)
    assert hinge.velocity[0] == pytest.approx(v, rel=1e-9)
    assert world.step_report().failure is failure
    assert "diverged to" in str(failure) and "as it was before" in str(failure)


def test_states_of_1e305_do_not_come_back_without_status():
    world, hinge = stiff(limit=np.inf)
    with pytest.raises(StepFailure) as caught:
        world.step(n=1000)
    assert np.abs(hinge.velocity[0]) > 1e30, "an infinite limit asks for finite numbers only"
    assert caught.value.frame < 400
    box = sx.World()
    box.add_rigid_body("box", linear_velocity=(1e150, 0, 0))
    with pytest.raises(StepFailure, match="velocity of 'box' diverged to 1e"):
        box.step()
    assert box.frame == 0


def test_frozen_worlds_stay_while_time_goes_on():
    world, hinge = stiff("freeze")
    q, v, frame, _, _ = recursion(LIMIT)
    world.step(n=100)
    failure = world.step_report().failure
    assert failure is not None and failure.frame == frame and "frozen" in str(failure)
    assert (world.frame, world.time) == (100, pytest.approx(1.0))
    assert hinge.position[0] == pytest.approx(q, rel=1e-9) and hinge.velocity[0] == pytest.approx(v, rel=1e-9)
    frozen = hinge.position
    world.step()
    assert (hinge.position == frozen).all() and world.frame == 101
    assert world.step_report().failure is failure
    # a new state lets it go on
    hinge.position, hinge.velocity = [0.0], [0.0]
    world.step(n=9)
    assert world.step_report().failure is None and world.frame == 110
    assert hinge.position.tolist() == [0.0]


def test_reset_worlds_are_at_their_start():
    world, hinge = stiff("reset")
    world.enter_simulation_mode()
    world.step(n=3)
    assert world.frame == 3
    world.step(n=100)
    assert (world.frame, world.time) == (0, 0.0)
    assert hinge.position.tolist() == [0.1] and hinge.velocity.tolist() == [0.0]
    failure = world.step_report().failure
    assert failure is not None and "was reset" in str(failure)
    world.step(n=2)
    assert world.frame == 2 and world.step_report().failure is None


def test_reset_works_in_a_job():
    world, hinge = stiff("reset")
    world.enter_simulation_mode()
    job = world.start_step(n=100)
    job.result()
    assert hinge.position.tolist() == [0.1]
    assert world.step_report().failure is not None


def test_continuing_goes_on_while_numbers_are_finite():
    world, hinge = stiff("continue")
    frame = recursion(LIMIT)[2]
    world.step(n=frame + 9)
    assert world.frame == frame + 9 and np.abs(hinge.velocity[0]) > 1e15
    failure = world.step_report().failure
    assert failure is not None and failure.frame == frame and "was kept" in str(failure)
    with pytest.raises(StepFailure):
        world.step(n=1000)
    assert np.isfinite(hinge.velocity).all()


def test_the_policy_and_the_limit_are_options_of_a_world():
    world = sx.World(divergence_policy="freeze", divergence_limit=1e5)
    assert world.divergence_policy is sx.DivergencePolicy.FREEZE and world.divergence_limit == 1e5
    again = sx.World.from_scene(world.to_scene())
    assert again.divergence_policy is sx.DivergencePolicy.FREEZE and again.divergence_limit == 1e5
    assert msd.build(world.to_scene()).option.policy.divergence.action is msd.DivergenceAction.Freeze
    with pytest.raises(ValueError, match="did you mean 'freeze'"):
        world.divergence_policy = "frezze"
    for bad in (0.0, -1.0, np.nan, "a", None, True):
        with pytest.raises(ValueError, match="divergence_limit must be a positive number or infinite"):
            world.divergence_limit = bad
    assert world.divergence_policy is sx.DivergencePolicy.FREEZE and world.divergence_limit == 1e5
    world.add_rigid_body("box", linear_velocity=(0, 0, 1e4))
    world.step()
    assert world.step_report().failure is None
    world.divergence_limit = 1e3
    world.divergence_policy = sx.DivergencePolicy.RAISE
    with pytest.raises(StepFailure, match="velocity of 'box'"):
        world.step()


def test_a_failed_step_puts_activations_and_accelerations_back():
    text = """<mujoco><worldbody><body name="b"><joint name="j" axis="0 1 0"/><geom size=".1" pos="0 0 -1"/></body>
    </worldbody><actuator><general joint="j" dyntype="integrator" gainprm="1e7"/></actuator></mujoco>"""
    model = msd.build(msd.from_str(text, format="mjcf"))
    sim = wm.Simulation(model)
    sim.control = 1.0
    sim.step(3)
    before = sim.activation.copy(), sim.a.copy(), sim.q.copy()
    assert before[0][0] > 0.0
    sim.control = 1e12
    sim.divergence_limit = 1e8
    with pytest.raises(StepFailure, match="activation of") as caught:
        sim.step()
    assert caught.value.quantity == "activation"
    assert (sim.activation == before[0]).all() and (sim.a == before[1]).all() and (sim.q == before[2]).all()


def test_a_profiled_step_diverges_alike():
    for profiling in (False, True):
        world, _ = stiff()
        world.step_profiling_enabled = profiling
        with pytest.raises(StepFailure) as caught:
            world.step(n=1000)
        assert caught.value.frame == recursion(LIMIT)[2]


# ---- batches


def hinge_model():
    builder = wm.ModelBuilder(gravity=(0, 0, 0))
    bob = builder.add_link(mass=1.0, inertia=np.eye(3), label="bob")
    free = {"effort_limit": np.inf, "velocity_limit": np.inf}
    builder.add_articulation([builder.add_joint_revolute(parent=-1, child=bob, axis=(0, 1, 0), **free)])
    return builder.finalize()


def push(policy="raise"):
    """World 3 is faster than the limit in step 11, world 8 accelerates beyond it in step 1, others swing freely."""
    worlds = wm.LaneSimulation(hinge_model(), 11, time_step=0.15, divergence_policy=policy)
    worlds.v[:, 0] = np.linspace(0.1, 1.0, 11)
    worlds.force[3] = 0.95 * LIMIT / 1.5
    worlds.force[8] = 2.0 * LIMIT
    return worlds


OTHERS = [w for w in range(11) if w not in (3, 8)]


@pytest.mark.parametrize("lanes", [1, None])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_diverging_world_is_frozen_and_others_go_on(lanes, threads):
    worlds, calm = push(), push()
    calm.force[:] = 0.0
    with pytest.raises(BatchFailure) as caught:
        worlds.step(50, lanes=lanes, threads=threads)
    calm.step(50, lanes=lanes, threads=threads)
    assert (worlds.frame, worlds.time) == (50, pytest.approx(7.5))
    assert worlds.q[OTHERS].tobytes() == calm.q[OTHERS].tobytes()
    found = [(f.world, f.body, f.quantity, f.frame) for f in caught.value.failures]
    assert found == [(3, "bob", "velocity", 11), (8, "bob", "acceleration", 1)]
    assert [f.world for f in worlds.failures] == [3, 8]
    # ten good steps of constant acceleration, and none
    assert worlds.v[3, 0] == pytest.approx(0.95 * LIMIT + calm.v[3, 0], rel=1e-12)
    assert (worlds.v[8, 0], worlds.q[8, 0]) == (calm.v[8, 0], 0.0)
    assert worlds.frozen.tolist() == [w in (3, 8) for w in range(11)]
    # known failures are not raised again, and frozen worlds do not move
    row = worlds.q[3].copy()
    worlds.step(5, lanes=lanes, threads=threads)
    assert worlds.frame == 55 and (worlds.q[3] == row).all() and len(worlds.failures) == 2
    again = pickle.loads(pickle.dumps(caught.value))
    assert [f.world for f in again.failures] == [3, 8] and str(again) == str(caught.value)


def test_a_frozen_world_goes_on_when_it_is_written():
    worlds = push(policy="freeze")
    worlds.step(50)
    assert [f.world for f in worlds.failures] == [3, 8]
    worlds.force[:] = 0.0
    worlds.q[3], worlds.v[3] = 0.5, 0.25
    worlds.step(10)
    assert worlds.q[3, 0] == pytest.approx(0.5 + 1.5 * 0.25, abs=1e-12)
    assert [f.world for f in worlds.failures] == [8]
    worlds.reset([8])
    assert not worlds.failures and not worlds.frozen.any()
    assert (worlds.q[8] == 0.0).all() and worlds.frame == 60
    for bad, words in (
        ([11], "indices from 0 to 10"),
        ([-1], "indices from 0 to 10"),
        ([0.5], "whole numbers"),
    ):
        with pytest.raises(ValueError, match=f"worlds must be {words}"):
            worlds.reset(bad)


def test_diverged_worlds_of_a_batch_are_reset():
    worlds = push(policy="reset")
    worlds.step(50)
    assert [(f.world, f.frame) for f in worlds.failures] == [(3, 11), (8, 1)]
    assert (worlds.q[[3, 8]] == 0.0).all() and (worlds.v[[3, 8]] == 0.0).all()
    worlds.force[:] = 0.0
    worlds.step(5)
    assert not worlds.failures and worlds.frame == 55


def test_a_batch_that_continues_keeps_finite_worlds():
    worlds = push(policy="continue")
    worlds.step(50)
    assert [(f.world, f.frame) for f in worlds.failures] == [(3, 11), (8, 1)]
    assert not worlds.frozen.any()
    assert worlds.v[3, 0] > 4.0 * LIMIT
    worlds.force[3] = 1e308
    worlds.step(100)
    assert worlds.frozen.tolist() == [w == 3 for w in range(11)]
    assert np.isfinite(worlds.q).all() and np.isfinite(worlds.v).all()


def test_the_number_of_worlds_and_of_steps_in_a_call_change_no_bit():
    whole, parts = push(policy="freeze"), push(policy="freeze")
    whole.step(50)
    for n in (1, 9, 1, 30, 9):
        parts.step(n, lanes=1)
    assert parts.q.tobytes() == whole.q.tobytes() and parts.v.tobytes() == whole.v.tobytes()
    assert [f.frame for f in parts.failures] == [11, 1]


def test_contact_goes_on_beside_a_world_that_is_not_finite():
    builder = wm.ModelBuilder()
    ball = builder.add_body()
    builder.add_shape_sphere(ball, radius=0.1)
    builder.add_ground_plane()
    model = builder.finalize()

    def run(bad):
        worlds = wm.LaneSimulation(model, 9, time_step=0.002, divergence_policy="freeze")
        worlds.q[:, 2] = 0.1 + 0.01 * np.arange(9)
        worlds.v[:, 0] = 0.3
        worlds.force[4, 0] = 1e308 if bad else 0.0
        worlds.step(300)
        return worlds

    good, mixed = run(False), run(True)
    others = [w for w in range(9) if w != 4]
    assert mixed.q[others].tobytes() == good.q[others].tobytes()
    assert mixed.kept[others].tobytes() == good.kept[others].tobytes()
    assert [(f.world, f.frame) for f in mixed.failures] == [(4, 1)]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_leaves_time_and_state_of_all_worlds_at_one_step(threads):
    count = 40
    worlds = wm.LaneSimulation(hinge_model(), count, time_step=0.01)
    worlds.v[:] = 1.0
    worlds.step(1, threads=threads)
    # a signal, as Ctrl-C sends it, wakes a thread that waits; _thread.interrupt_main does not
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            worlds.step(1_000_000, threads=threads)
    timer.join()
    assert 1 < worlds.frame
    assert worlds.q[:, 0] == pytest.approx(np.full(count, 0.01 * worlds.frame), rel=1e-9)
    assert worlds.time == pytest.approx(0.01 * worlds.frame)
    before = worlds.frame
    worlds.step(10, threads=threads)
    assert worlds.frame == before + 10


@pytest.mark.parametrize("stage", ["begin_calls", "_enter_arenas"])
def test_an_interrupt_while_a_step_is_prepared_leaves_it_to_be_prepared_again(stage, monkeypatch):
    simulation, other = wm.Simulation(hinge_model(), 0.01), wm.Simulation(hinge_model(), 0.01)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(wm.Simulation, stage, interrupt)
        with pytest.raises(KeyboardInterrupt):
            simulation.step(3)
    assert simulation.frame == 0
    simulation.step(3)
    other.step(3)
    np.testing.assert_array_equal(simulation.q, other.q)


# ---- arrays


def test_model_step_names_world_body_and_step_and_changes_nothing():
    model = hinge_model()
    model.update(joint_stiffness=np.array([1e5]))
    q = np.tile([0.1], (6, 1))
    q[:4] = 0.0
    state = wm.State(
        q,
        np.zeros((6, 1)),
        np.repeat(model.body_q[None], 6, axis=0),
        np.repeat(model.body_qd[None], 6, axis=0),
        np.zeros((6, 1, 6)),
    )
    with pytest.raises(StepFailure, match="nothing was changed") as caught:
        wm.step(model, state, steps=600, dt=0.01)
    assert (caught.value.world, caught.value.body) == (4, "bob")
    assert caught.value.frame == recursion(LIMIT)[2]
    assert (state.joint_q == q).all() and not state.joint_qd.any()
