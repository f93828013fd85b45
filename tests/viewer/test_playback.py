# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The logic of the viewer without a page: playing, the time line, pulling, sampling, sliders."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError
from worldline._src.viewer import quantities
from worldline._src.viewer.perturbation import Perturbation
from worldline._src.viewer.playback import Playback
from worldline._src.viewer.sliders import actuator_ranges, joint_ranges, set_actuator, set_joint
from worldline._src.viewer.timeline import Timeline
from worldline.collision import CollisionShape

ARM = """<mujoco><option timestep="0.002"/><worldbody>
  <body name="arm"><joint name="shoulder" axis="0 1 0" range="-90 45"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.05"/>
    <body name="fore" pos="0 0 -0.5"><joint name="elbow" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.04"/></body></body>
</worldbody><actuator><motor name="m" joint="elbow" ctrlrange="-3 2" ctrllimited="true"/>
<motor name="free" joint="shoulder"/></actuator>
<keyframe><key name="bent" qpos="0.3 -0.4"/></keyframe></mujoco>"""


class Clock:
    """A clock that is wound by hand."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def arm():
    return sx.World.from_scene(msd.from_str(ARM, format="mjcf"))


def falling():
    world = sx.World(time_step=0.001)
    world.add_rigid_body("box", mass=2.0, position=(0, 0, 1))
    return world


# ---- playing


def test_time_passes_as_on_the_clock():
    world, clock = falling(), Clock()
    playback = Playback(world, 1 / 30, clock)
    playback.play()
    for _ in range(30):
        clock.now += 1 / 30
        playback.advance()
    assert world.frame in (999, 1000)
    playback.speed = 0.5
    for _ in range(30):
        clock.now += 1 / 30
        playback.advance()
    assert world.frame in (1499, 1500)
    assert playback.rate == pytest.approx(0.5, abs=0.05)
    playback.pause()
    clock.now += 10.0
    assert playback.advance() == 0 and world.frame in (1499, 1500)


def test_what_cannot_be_done_in_time_is_dropped():
    world, clock = falling(), Clock()

    class Slow(Playback):
        def _steps(self, n):
            clock.now += 0.01 * n  # ten times slower than time itself
            return super()._steps(n)

    playback = Slow(world, 1 / 30, clock)
    playback.play()
    clock.now += 1.0
    made = playback.advance()
    assert 1 <= made <= 7
    clock.now += 1 / 30
    # the second that was lost is not made up for
    assert playback.advance() <= 7 and world.frame <= 14


def test_a_failing_step_stops_and_is_told():
    world = falling()
    playback = Playback(world, 1 / 30, Clock())
    playback.step()
    world.rigid_bodies["box"].linear_velocity = (1e308, 0, 0)
    world.time_step = 1e10
    with pytest.raises(sx.StepFailure, match="diverged"):
        playback.step()
    assert isinstance(playback.error, sx.StepFailure) and not playback.is_playing
    playback.reset()
    assert playback.error is None


@pytest.mark.parametrize("speed", [0.0, -1.0, 11.0, 0.001, float("nan")])
def test_speeds_that_are_none(speed):
    with pytest.raises(ArgumentError, match="speed"):
        Playback(falling(), 1 / 30).speed = speed


def test_reset_and_keyframes():
    world = arm()
    playback = Playback(world, 1 / 30, Clock())
    playback.step(10)
    assert playback.timeline.count == 2
    playback.reset()
    assert world.frame == 0 and playback.timeline.count == 0
    playback.apply_keyframe("bent")
    assert world.multibodies["arm"].joints.position == pytest.approx([0.3, -0.4])


# ---- the time line


def test_the_time_line_brings_states_back_exactly():
    world = arm()
    world.multibodies["arm"].joints.position = [0.5, 0.2]
    playback = Playback(world, 1 / 30, Clock())
    states = []
    for _ in range(5):
        playback.step(7)
        states.append((world.frame, world.state_vector))
    line = playback.timeline
    assert line.count == 6 and line.cursor == 5
    assert [line.time(k) for k in range(6)] == pytest.approx([0.014 * k for k in range(6)])
    for k in (3, 1, 5):
        playback.seek(k)
        assert world.frame == states[k - 1][0] and (world.state_vector == states[k - 1][1]).all()
    # going on from the past forgets the future, and comes out the same
    playback.seek(2)
    playback.step(7)
    assert line.count == 4 and (world.state_vector == states[2][1]).all()
    with pytest.raises(ArgumentError, match="no state 9"):
        playback.seek(9)
    assert (world.state_vector == states[2][1]).all()


def test_nothing_of_the_time_line_is_in_the_world():
    world = falling()
    playback = Playback(world, 1 / 30, Clock())
    playback.step(3)
    assert not world.replay_recording_enabled and world.replay_frame_count == 0


def test_a_world_that_records_is_scrubbed_through_its_recording():
    world = falling()
    world.replay_recording_enabled = True
    playback = Playback(world, 1 / 30, Clock())
    playback.step(20)
    assert playback.timeline.is_recording_of_world and playback.timeline.count == 21
    playback.seek(4)
    assert world.frame == 4 and world.replay_cursor == 4
    assert playback.timeline.time(4) == pytest.approx(0.004)


def test_a_changed_world_starts_a_new_time_line():
    world = falling()
    playback = Playback(world, 1 / 30, Clock())
    playback.step(3)
    with world.edit():
        world.add_rigid_body("late")
    with pytest.raises(ArgumentError, match="starts again"):
        playback.seek(0)
    playback.step()
    assert playback.timeline.count == 2


def test_old_states_make_room():
    world = falling()
    line = Timeline(world, most_bytes=20_000)
    world.step()
    for _ in range(200):
        world.step()
        line.capture()
    row = line._rows[0].nbytes
    assert line.count * row <= 20_000 and line.count > 10
    times = [line.time(k) for k in range(line.count)]
    assert (
        (np.diff(times) > 0.0).all()
        and times[0] == pytest.approx(0.002)
        and times[-1] == pytest.approx(0.201)
    )


# ---- pulling


def test_a_pull_brings_a_body_to_the_hand():
    world = falling()
    world.gravity = (0, 0, 0)
    hand = Perturbation(world)
    hand.grab(0, (0, 0, 1), (0, 0, 1))
    assert hand.grip.mass == pytest.approx(2.0)
    hand.move((0.3, 0.0, 1.0))
    # a damped spring of the mass that is felt
    assert hand.force() == pytest.approx([2.0 * hand.strength * 0.3, 0.0, 0.0])
    for _ in range(2000):
        hand.apply()
        world.step()
    box = world.rigid_bodies["box"]
    assert box.translation == pytest.approx([0.3, 0.0, 1.0], abs=1e-3)
    hand.release()
    assert hand.line() is None and not hand.force().any()
    world.step()
    assert not box.force.any() and not world._live().one_shot_wrench.any()


def test_a_pull_off_the_centre_turns():
    world = falling()
    world.rigid_bodies["box"].inertia = (0.5, 0.5, 0.5)
    hand = Perturbation(world)
    hand.grab(0, (0.2, 0, 1), (0.2, 0.4, 1))
    hand.apply()
    force = hand.force()
    assert world._live().one_shot_wrench[0] == pytest.approx([*np.cross((0.2, 0, 0), force), *force])
    # 1/m in every direction, and the turn adds r^2/I in two of them
    assert hand.grip.mass == pytest.approx(3.0 / (3 / 2.0 + 2 * 0.2**2 / 0.5))


def test_what_stands_still_is_not_pulled():
    world = sx.World()
    world.add_rigid_body("rock", fixed=True).add_collision_shape(CollisionShape.sphere(1.0))
    hand = Perturbation(world)
    hand.grab(0, (0, 0, 1), (5, 0, 1))
    assert hand.grip.mass == 0.0 and not hand.force().any()


# ---- numbers and sliders


def test_samples_follow_time_back():
    world = falling()
    samples = quantities.Samples(quantities.energy(world), kept=5)
    for _ in range(8):
        world.step(10)
        samples.take(world.time)
    time, kinetic, potential, total = samples.columns()
    assert time == pytest.approx([0.04, 0.05, 0.06, 0.07, 0.08])
    assert kinetic == pytest.approx(0.5 * 2.0 * (9.81 * time) ** 2)
    assert total == pytest.approx(kinetic + potential)
    samples.take(0.05)
    assert samples.columns()[0] == pytest.approx([0.04, 0.05])


def test_joints_and_contacts_that_can_be_plotted():
    world = arm()
    assert quantities.joint_names(world) == ["arm.shoulder", "arm.elbow"]
    world.multibodies["arm"].joints.position = [0.1, 0.2]
    chosen = quantities.joints(world, ("arm.elbow",))
    assert chosen.names == ("arm.elbow",) and chosen.read() == pytest.approx((0.2,))
    ground = sx.World()
    ground.add_ground_plane()
    box = ground.add_rigid_body("box", position=(0, 0, 0.5))
    box.add_collision_shape(CollisionShape.box((0.5, 0.5, 0.5)))
    ground.step(50)
    count, deepest = quantities.contacts(ground).read()
    assert count == 4 and 0.0 <= deepest < 5.0


def test_sliders_know_ranges_and_set_values():
    world = arm()
    robot = world.multibodies["arm"]
    found = [(name, axis, low, high) for _, axis, name, low, high in joint_ranges(robot)]
    assert found[0][:2] == ("shoulder", 0)
    assert found[0][2:] == pytest.approx((-np.pi / 2, np.pi / 4), abs=1e-3)
    assert found[1][2:] == pytest.approx((-np.pi, np.pi), abs=1e-3)
    # within the limits, never past them
    assert found[0][2] >= -np.pi / 2 and found[0][3] <= np.pi / 4
    robot.joints.velocity = [1.0, 1.0]
    set_joint(robot.joints["elbow"], 0, 0.7)
    assert robot.joints.position == pytest.approx([0.0, 0.7])
    assert robot.joints.velocity == pytest.approx([1.0, 0.0])
    assert actuator_ranges(world) == [("m", -3.0, 2.0), ("free", -1.0, 1.0)]
    set_actuator(world, 0, 1.5)
    assert world.actuator_controls == pytest.approx([1.5, 0.0])
