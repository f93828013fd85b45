# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Functions of a user within steps: controllers, force elements, observers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from facade_worlds import arm_and_box
from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, BusyError, CapabilityError, NotFoundError, OperationError
from worldline.collision import CollisionShape

Family = sx.MultibodyIntegrationFamily
MOTOR = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .5"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/>
    <body pos=".1 0 0"><joint name="hinge" axis="0 1 0" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".2"/></body></body></worldbody>
  <actuator><motor name="m" joint="hinge" gear="2"/></actuator></mujoco>"""


def ball(family=Family.SEMI_IMPLICIT, h=0.01):
    world = sx.World(
        time_step=h, gravity=(0, 0, 0), multibody_options=sx.MultibodyOptions(integration_family=family)
    )
    body = world.add_rigid_body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(1.0, 0.0, 0.0))
    return world, body


def spring(body, stiffness=8.0):
    """A force element that pulls a body to the origin; omega is 2 rad/s for 2 kg."""
    return lambda step: step.add_force(body, -stiffness * step.body_q[step.body_row(body), :3])


# ---- force elements


@pytest.mark.parametrize(("family", "order"), [(Family.SEMI_IMPLICIT, 1), (Family.RUNGE_KUTTA_4, 4)])
def test_a_spring_of_the_user_has_the_order_of_the_family(family, order):
    errors = []
    for h in (0.02, 0.01):
        world, body = ball(family, h)
        world.add_force_element("spring", spring(body))
        world.step(n=round(1.0 / h))
        errors.append(abs(body.translation[0] - np.cos(2.0)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_times_of_evaluations():
    for family, wanted in ((Family.SEMI_IMPLICIT, [0.0]), (Family.RUNGE_KUTTA_4, [0.0, 0.005, 0.005, 0.01])):
        world, _ = ball(family)
        seen = []
        world.add_force_element("look", lambda step, seen=seen: seen.append((step.frame, step.time)))
        world.step(n=2)
        assert [time for frame, time in seen if frame == 0] == pytest.approx(wanted)
        assert [time for frame, time in seen if frame == 1] == pytest.approx([t + 0.01 for t in wanted])


def test_a_force_at_a_point_turns_the_body():
    world, body = ball(h=0.001)
    body.center_of_mass = (0.1, 0.0, 0.0)
    point = np.array([1.3, 0.0, 0.0])
    world.add_force_element("push", lambda step: step.add_force(body, np.array([0.0, 3.0, 0.0]), point))
    world.step()
    # arm of 0.2 m from the centre of mass: 0.6 N m about z
    assert body.angular_velocity[2] == pytest.approx(0.001 * 0.6 / 0.1, rel=1e-9)


def test_forces_add_to_those_applied_and_last_for_their_evaluation():
    world, body = ball()
    body.force = (2.0, 0.0, 0.0)
    world.add_force_element("push", lambda step: step.add_force(body, (4.0, 0.0, 0.0)))
    world.step(n=10)
    assert body.linear_velocity[0] == pytest.approx(6.0 / 2.0 * 0.1)
    assert body.force.tolist() == [2.0, 0.0, 0.0]
    world.remove_step_function("push")
    before = body.linear_velocity[0]
    world.step(n=10)
    assert body.linear_velocity[0] - before == pytest.approx(2.0 / 2.0 * 0.1)


def test_generalized_forces_of_an_element_do_not_stay_commanded():
    world, arm = arm_and_box()
    elbow = arm.joints["elbow"]
    other, twin = arm_and_box()

    def twist(step):
        step.force[step.dofs(elbow)] += 0.3

    world.add_force_element("twist", twist)
    twin.joints["elbow"].force = [0.3]
    world.step(n=50)
    other.step(n=50)
    assert arm.joints.position.tobytes() == twin.joints.position.tobytes()
    assert elbow.force.tolist() == [0.0]


def test_sensors_and_ledger_see_the_force():
    world, body = ball()
    imu = world.sensors.add_imu("imu", attach_to=body)
    world.add_force_element("push", lambda step: step.add_force(body, (4.0, 0.0, 0.0)))
    world.step(n=3)
    assert body.linear_acceleration[0] == pytest.approx(2.0)
    assert np.abs(imu.value).max() == pytest.approx(2.0)
    ledger = world.energy_ledger()
    # 4 N over the mean of the speeds before and after the step
    assert ledger.external == pytest.approx(4.0 * 0.01 * 0.05, rel=1e-9)
    assert abs(ledger.unexplained) < 1e-12


def test_a_sleeping_body_wakes_by_the_force():
    world = sx.World(deactivation_options=sx.DeactivationOptions(enabled=True, time_until_sleep=0.05))
    world.add_ground_plane()
    body = world.add_rigid_body("box", mass=1.0, position=(0, 0, 0.1))
    body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    world.step(n=300)
    assert body.is_sleeping
    world.add_force_element("lift", lambda step: step.add_force(body, (0.0, 0.0, 20.0)))
    world.step(n=100)
    assert body.translation[2] > 0.12


def test_the_variational_family_refuses_force_elements():
    world, body = ball(Family.VARIATIONAL)
    world.add_force_element("spring", spring(body))
    with pytest.raises(CapabilityError, match=r"'variational' does not have force elements"):
        world.step()
    world.remove_step_function("spring")
    world.step()


# ---- controllers


def test_a_controller_gives_the_bits_of_a_loop_in_python():
    scene = msd.from_str(MOTOR, format="mjcf")
    inside, outside = sx.World.from_scene(scene), sx.World.from_scene(scene)
    hinge = next(iter(inside.multibodies)).joints["hinge"]

    def swing(step):
        step.control[0] = np.sin(10.0 * step.time) - 0.1 * step.v[step.dofs(hinge)][0]

    inside.add_controller("swing", swing)
    inside.step(n=200)
    joint = next(iter(outside.multibodies)).joints["hinge"]
    for _ in range(200):
        outside.actuator_controls = [np.sin(10.0 * outside.time) - 0.1 * joint.velocity[0]]
        outside.step()
    assert inside.state_vector.tobytes() == outside.state_vector.tobytes()
    assert inside.actuator_controls.tolist() == outside.actuator_controls.tolist()


def test_a_period_is_a_whole_number_of_steps():
    world, _ = ball()
    calls = []
    world.add_controller("slow", lambda step: calls.append(step.frame), period=0.05)
    world.step(n=12)
    assert calls == [0, 5, 10]
    for period in (0.015, 0.004, -1.0, float("nan")):
        with pytest.raises(ArgumentError, match="period"):
            world.add_controller("odd", lambda step: None, period=period)
    assert [each.name for each in world.step_functions] == ["slow"]
    world.time_step = 0.02
    with pytest.raises(ArgumentError, match="whole number of time steps"):
        world.step()


def test_an_observer_sees_the_end_of_every_step():
    world, body = ball()
    body.linear_velocity = (1.0, 0.0, 0.0)
    seen = []
    world.add_observer("log", lambda step: seen.append((step.time, step.q[0])))
    world.step(n=3)
    times, places = zip(*seen, strict=True)
    assert times == pytest.approx([0.01, 0.02, 0.03])
    assert places == pytest.approx([1.01, 1.02, 1.03])


# ---- rules


@pytest.mark.parametrize("kind", ["controller", "force_element", "observer"])
@pytest.mark.parametrize("family", [Family.SEMI_IMPLICIT, Family.RUNGE_KUTTA_4])
def test_a_function_that_raises_leaves_the_world_as_before_the_step(kind, family):
    world, _ = ball(family)
    reference = world.clone()
    calls = []

    def fail(step):
        calls.append(step.frame)
        step.force[:] = 7.0
        if step.frame == 3:
            raise ZeroDivisionError("of the user")

    def push(step):
        step.force[:] = 7.0

    getattr(world, f"add_{kind}")("fails", fail)
    if kind != "observer":
        getattr(reference, f"add_{kind}")("pushes", push)
    with pytest.raises(ZeroDivisionError, match="of the user"):
        world.step(n=10)
    reference.step(n=3)
    assert world.frame == 3 and calls[-1] == 3
    if kind != "observer":
        assert world.state_vector.tobytes() == reference.state_vector.tobytes()
    world.remove_step_function("fails")
    world.step()


def test_commands_of_a_controller_that_raises_are_taken_back():
    world = sx.World.from_scene(msd.from_str(MOTOR, format="mjcf"))
    world.actuator_controls = [0.25]
    world.step(n=2)
    before = world.state_vector.tobytes()

    def fail(step):
        step.control[:], step.force[:], step.q_target[:] = 9.0, 9.0, 9.0
        raise KeyError("of the user")

    world.add_controller("fails", fail)
    with pytest.raises(KeyError, match="of the user"):
        world.step()
    assert world.actuator_controls.tolist() == [0.25]
    assert world.state_vector.tobytes() == before
    assert next(iter(world.multibodies)).joints["hinge"].force.tolist() == [0.0]


def test_a_joint_that_broke_in_a_step_that_was_given_up_holds():
    world = sx.World(time_step=0.002)
    body = world.add_rigid_body("body", mass=1.0, inertia=0.01 * np.eye(3), position=(0, 0, 0.5))
    joint = world.add_joint(body, sx.JointSpec(name="weld", type=sx.JointType.FIXED))
    joint.break_force = 15.0

    def fail(step):
        raise ZeroDivisionError("of the user")

    world.step(n=5)
    world.add_observer("fails", fail)
    # twice what it bears, for one step
    body.apply_force((0, 0, -20.0))
    with pytest.raises(ZeroDivisionError):
        world.step()
    assert not joint.is_broken and world.break_events == [] and world.frame == 5
    world.remove_step_function("fails")
    body.clear_force()
    world.step(n=20)
    assert body.translation[2] == pytest.approx(0.5, abs=1e-9) and not joint.is_broken
    body.apply_force((0, 0, -20.0))
    world.step()
    assert joint.is_broken


def test_calls_on_the_world_are_refused_within_a_step():
    world, body = ball()
    found = []

    def peek(step):
        with pytest.raises(BusyError):
            body.linear_velocity = (1, 2, 3)
        with pytest.raises(BusyError):
            world.step()
        found.append(step.frame)

    world.add_controller("peek", peek)
    world.step()
    assert found == [0]


def test_what_is_only_read_cannot_be_written():
    world, _ = ball()
    for name in ("q", "v", "body_q", "body_qd"):

        def write(step, name=name):
            getattr(step, name)[0] = 1.0

        world.add_force_element("writes", write)
        with pytest.raises(ValueError, match="read-only"):
            world.step()
        world.remove_step_function("writes")


def test_clones_have_the_functions_and_files_refuse_them(tmp_path):
    world, body = ball()

    def pull(step):
        step.body_f[0, 3] -= 8.0 * step.body_q[0, 0]

    world.add_force_element("spring", pull)
    world.step(n=5)
    for twin in (world.clone(), copy.deepcopy(world)):
        twin.step(n=20)
        again = world.clone()
        again.step(n=20)
        assert twin.state_vector.tobytes() == again.state_vector.tobytes()
        assert twin.rigid_bodies["ball"].translation[0] < body.translation[0]
    for act in (lambda: world.save_binary(tmp_path / "w.bin"), lambda: pickle.dumps(world)):
        with pytest.raises(
            OperationError, match=r"cannot hold functions of Python: remove force element 'spring'"
        ):
            act()
    assert not list(tmp_path.iterdir())


def test_functions_survive_edits_and_end_with_clear():
    world, body = ball()
    world.add_force_element("push", lambda step: step.add_force(body, (4.0, 0.0, 0.0)))
    world.step()
    with world.edit():
        world.add_rigid_body("other", position=(5, 5, 5))
    world.step(n=9)
    assert body.linear_velocity[0] == pytest.approx(0.2)
    world.clear()
    assert world.step_functions == ()


def test_refusals():
    world, _ = ball()
    world.add_observer("log", lambda step: None)
    with pytest.raises(ArgumentError, match="there is a observer 'log' already"):
        world.add_controller("log", lambda step: None)
    with pytest.raises(ArgumentError, match="needs a function"):
        world.add_controller("pd", 3)
    with pytest.raises(ArgumentError, match="needs a name"):
        world.add_observer("", print)
    with pytest.raises(NotFoundError, match="did you mean 'log'"):
        world.remove_step_function("logg")
    assert [(each.name, each.kind) for each in world.step_functions] == [("log", "observer")]


def test_profiling_and_replay_run_them():
    world, body = ball()
    world.add_force_element("spring", spring(body))
    plain = world.clone()
    world.step_profiling_enabled = world.replay_recording_enabled = True
    world.step(n=20)
    plain.step(n=20)
    assert world.state_vector.tobytes() == plain.state_vector.tobytes()
    assert "call_force_elements" in world.pipeline.names
    assert "call_force_elements" in [stage.name for stage in world.last_step_profile.stages]
    assert world.verify_replay().matches


# ---- sensors


def test_a_sensor_of_the_user_is_read_like_any_other():
    scene = msd.from_str(
        MOTOR.replace("</mujoco>", '<sensor><jointpos name="angle" joint="hinge"/></sensor></mujoco>'),
        format="mjcf",
    )
    world = sx.World.from_scene(scene)
    double = world.sensors.add_function("double", lambda w: 2.0 * w.sensors["angle"].value[0])
    pair = world.sensors.add_function("pair", lambda w: (w.time, w.frame), dim=2)
    world.step(n=10)
    angle = world.sensors["angle"].value[0]
    assert world.sensors.names == ["angle", "double", "pair"] and world.sensors.dim == 4
    assert double.value.tolist() == [2.0 * angle] and pair.read().value.tolist() == [world.time, 10.0]
    assert world.sensors.values.tolist() == [angle, 2.0 * angle, world.time, 10.0]
    assert (double.span, pair.span) == (slice(1, 2), slice(2, 4))
    assert world.sensors["pair"] is pair and repr(pair) == "Sensor('pair', function)"
    double.remove()
    assert world.sensors.names == ["angle", "pair"] and pair.span == slice(1, 3) and not double.is_valid
    with pytest.raises(OperationError, match="not valid"):
        double.value  # noqa: B018
    world.clear()
    assert not pair.is_valid and not len(world.sensors)


def test_sensors_of_the_user_refuse_what_is_wrong(tmp_path):
    world, _ = ball()
    wrong = world.sensors.add_function("wrong", lambda w: (1.0, 2.0), dim=3)
    with pytest.raises(ValueError, match="reading of sensor 'wrong'"):
        wrong.value  # noqa: B018
    for given, words in (
        (("wrong", print), "already"),
        (("", print), "needs a name"),
        (("other", 3), "needs a function"),
        (("other", print, 0), "at least 1"),
    ):
        with pytest.raises(ArgumentError, match=words):
            world.sensors.add_function(*given)
    assert world.sensors.names == ["wrong"]
    with pytest.raises(OperationError, match="remove sensor 'wrong' first"):
        world.save_binary(tmp_path / "w.bin")


def test_clones_have_the_sensors_of_the_user():
    world, body = ball()
    world.sensors.add_function("x", lambda w: w.rigid_bodies["ball"].translation[0])
    twin = world.clone()
    body.linear_velocity = (1.0, 0.0, 0.0)
    world.step(n=10)
    assert world.sensors["x"].value[0] == pytest.approx(1.1) and twin.sensors["x"].value[0] == 1.0
