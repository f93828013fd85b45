# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of a user within steps: controllers, force elements, stages and sensors as compiled code."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import worldline
from worldline import msd, ops
from worldline import simulation as sx
from worldline._src import kernel_cache
from worldline._src.errors import (
    ArgumentError,
    CapabilityError,
    MachineCodeError,
    NotFoundError,
    OperationError,
)
from worldline._src.step import user_kernels

Family = sx.MultibodyIntegrationFamily
MOTOR = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body name="base" pos="0 0 .5"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/>
    <body name="arm" pos=".1 0 0"><joint name="hinge" axis="0 1 0" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".2"/></body></body></worldbody>
  <actuator><motor name="m" joint="hinge" gear="2"/></actuator></mujoco>"""


@worldline.kernel
def spring(step):
    """Pulls a body to the origin: f = -k x."""
    body, stiffness = step.bodies[0], step.parameters[0]
    x, y, z = ops.center_of_mass(step, body)
    ops.add_force(step, body, -stiffness * x, -stiffness * y, -stiffness * z)


@worldline.kernel
def push_at(step):
    """A force along y at a point of the world on the x axis."""
    zero = 0.0 * step.parameters[0]
    ops.add_force_at(step, step.bodies[0], zero, step.parameters[0], zero, step.parameters[1], zero, zero)


@worldline.kernel
def swing(step):
    """Proportional to the sine of time, less what a damper takes."""
    sine, _ = ops.sincos(10.0 * step.time)
    step.control[step.actuators[0]] = step.parameters[0] * sine - 0.1 * step.v[step.dofs[0]]


@worldline.kernel
def halve(step):
    for k in range(step.v.shape[0]):
        step.v[k] *= 0.5


@worldline.kernel
def drag(step):
    for k in range(step.a.shape[0]):
        step.a[k] -= step.parameters[0] * step.v[k]


@worldline.kernel
def tell(step):
    """Speed along x, and the time."""
    step.reading[0] = step.body_qd[step.bodies[0], 0]
    step.reading[1] = step.time + step.parameters[0]


def ball(family=Family.SEMI_IMPLICIT, h=0.01):
    world = sx.World(
        time_step=h, gravity=(0, 0, 0), multibody_options=sx.MultibodyOptions(integration_family=family)
    )
    body = world.add_rigid_body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(1.0, 0.0, 0.0))
    return world, body


def motor():
    world = sx.World.from_scene(msd.from_str(MOTOR, format="mjcf"))
    tree = next(iter(world.multibodies))
    return world, tree, tree.joints["hinge"]


def add_swing(world, hinge, **more):
    world.add_controller("swing", swing, joints=(hinge,), actuators=("m",), parameters=(0.7,), **more)


# ---- what kernels do


@pytest.mark.parametrize(("family", "order"), [(Family.SEMI_IMPLICIT, 1), (Family.RUNGE_KUTTA_4, 4)])
def test_a_spring_has_the_order_of_the_family(family, order):
    errors = []
    for h in (0.02, 0.01):
        world, body = ball(family, h)
        world.add_force_element("spring", spring, bodies=(body,), parameters=(8.0,))
        world.step(n=round(1.0 / h))
        errors.append(abs(body.translation[0] - np.cos(2.0)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_a_force_at_a_point_has_the_torque_of_its_arm():
    world, body = ball(h=0.001)
    body.center_of_mass = (0.1, 0.0, 0.0)
    world.add_force_element("push", push_at, bodies=(body,), parameters=(3.0, 1.3))
    world.step()
    # arm of 0.2 m from the centre of mass: 0.6 N m about z
    assert body.angular_velocity[2] == pytest.approx(0.001 * 0.6 / 0.1, rel=1e-9)
    body.center_of_mass = (0.2, 0.0, 0.0)
    before = body.angular_velocity[2]
    world.step()
    assert body.angular_velocity[2] - before == pytest.approx(0.001 * 0.3 / 0.1, rel=1e-3)


@pytest.mark.parametrize("family", [Family.SEMI_IMPLICIT, Family.RUNGE_KUTTA_4])
def test_a_kernel_gives_the_bits_of_the_function(family):
    world, body = ball(family)
    other, twin = ball(family)
    world.add_force_element("spring", spring, bodies=(body,), parameters=(8.0,))
    other.add_force_element("spring", lambda s: s.add_force(twin, -8.0 * s.body_q[s.body_row(twin), :3]))
    for each in (world, other):
        each.step(n=40)
    assert body.translation.tobytes() == twin.translation.tobytes()


def test_kernels_and_functions_add_up_and_last_for_their_evaluation():
    world, body = ball()
    body.force = (2.0, 0.0, 0.0)
    world.add_force_element("push", push_at, bodies=(body,), parameters=(0.0, 0.0))
    world.add_force_element("more", lambda step: step.add_force(body, (4.0, 0.0, 0.0)))
    world.step(n=10)
    assert body.linear_velocity[0] == pytest.approx(6.0 / 2.0 * 0.1)
    assert body.force.tolist() == [2.0, 0.0, 0.0]
    push = next(one for one in world.step_functions if one.name == "push")
    push.parameters = (5.0, 1.0)
    world.step(n=1)
    # arms are from the present position, so only the force is exact
    assert body.linear_velocity[1] == pytest.approx(5.0 / 2.0 * 0.01)


def test_a_controller_gives_the_bits_of_a_loop():
    world, tree, hinge = motor()
    add_swing(world, hinge)
    world.step(n=200)
    other, twin, joint = motor()
    for _ in range(200):
        sine, _ = ops.sincos(10.0 * other.time)
        other.actuator_controls = [0.7 * sine - 0.1 * joint.velocity[0]]
        other.step()
    np.testing.assert_allclose(tree.joints.position, twin.joints.position, rtol=0, atol=1e-13)
    assert world.actuator_controls == pytest.approx(other.actuator_controls, abs=1e-12)


def test_commands_stay_between_calls_and_a_period_leaves_them():
    whole, _, hinge = motor()
    add_swing(whole, hinge, period=0.01)
    whole.step(n=23)
    parts, _, joint = motor()
    add_swing(parts, joint, period=0.01)
    for _ in range(23):
        parts.step()
    assert hinge.position.tobytes() == joint.position.tobytes()
    held = parts.actuator_controls
    parts.step()
    assert parts.actuator_controls.tobytes() == held.tobytes(), "frame 23 is not due"
    parts.step(n=2)
    assert parts.actuator_controls.tobytes() != held.tobytes(), "frame 25 is"


def test_stages_change_accelerations_and_the_state():
    world, body = ball()
    body.linear_velocity = (3.0, 0.0, 0.0)
    world.add_stage("halve", halve, "end")
    world.step(n=2)
    assert body.linear_velocity[0] == 0.75
    world, body = ball()
    body.linear_velocity = (3.0, 0.0, 0.0)
    world.add_stage("drag", drag, "accelerations", parameters=(2.0,))
    world.step(n=10)
    assert body.linear_velocity[0] == pytest.approx(3.0 * 0.98**10, rel=1e-12)
    other, twin = ball()
    twin.linear_velocity = (3.0, 0.0, 0.0)

    def slow(step):
        step.a[:] -= 2.0 * step.v

    other.add_stage("drag", slow, "accelerations")
    other.step(n=10)
    assert twin.linear_velocity[0] == pytest.approx(3.0 * 0.98**10, rel=1e-12)


def test_time_is_that_of_the_world():
    world, body = ball()
    world.time = 5.0
    reading = world.sensors.add_function("tell", tell, 2, bodies=(body,), parameters=(1.0,))
    seen = []
    world.add_observer("look", lambda step: seen.append(step.time))
    world.step(n=3)
    assert reading.value[1] == pytest.approx(6.03)
    assert seen == pytest.approx([5.01, 5.02, 5.03])


def test_sensors_are_read_like_any_other():
    world, body = ball()
    body.linear_velocity = (0.5, 0.0, 0.0)
    sensor = world.sensors.add_function("tell", tell, 2, bodies=(body,), parameters=(1.0,))
    assert sensor.kind == "kernel" and sensor.value.tolist() == [0.5, 1.0]
    body.linear_velocity = (0.7, 0.0, 0.0)
    sensor.parameters = (3.0,)
    assert world.sensors.values.tolist() == [0.7, 3.0]
    twin = world.clone()
    twin.rigid_bodies["ball"].linear_velocity = (9.0, 0.0, 0.0)
    assert twin.sensors["tell"].value.tolist() == [9.0, 3.0] and sensor.value[0] == 0.7
    sensor.remove()
    assert world.sensors.names == [] and not sensor.is_valid
    world.step()


def test_ledger_and_sensors_see_forces_of_kernels():
    world, body = ball()
    imu = world.sensors.add_imu("imu", attach_to=body)
    world.add_force_element("push", push_at, bodies=(body,), parameters=(4.0, 1.0))
    world.step(n=3)
    assert body.linear_acceleration[1] == pytest.approx(2.0)
    assert np.abs(imu.value).max() == pytest.approx(2.0, rel=1e-3)
    ledger = world.energy_ledger()
    assert ledger.external == pytest.approx(4.0 * 0.01 * 0.05, rel=1e-3)
    assert abs(ledger.unexplained) < 1e-12


# ---- rules


def test_a_function_that_raises_takes_back_what_kernels_wrote():
    world, tree, hinge = motor()
    add_swing(world, hinge)
    world.step(n=7)
    before, controls = tree.joints.position, world.actuator_controls

    def fail(step):
        raise KeyError("mine")

    world.add_observer("fail", fail)
    with pytest.raises(KeyError, match="mine"):
        world.step(n=5)
    assert tree.joints.position.tobytes() == before.tobytes() and world.frame == 7
    assert world.actuator_controls.tobytes() == controls.tobytes()
    world.remove_step_function("fail")
    world.step()
    assert world.actuator_controls.tobytes() != controls.tobytes()


def test_a_diverged_step_takes_back_commands():
    world, _, hinge = motor()
    add_swing(world, hinge)
    world.step(n=3)
    controls = world.actuator_controls
    next(iter(world.step_functions)).parameters = (1e200,)
    with pytest.raises(worldline.StepFailure):
        world.step(n=20)
    assert world.actuator_controls.tobytes() == controls.tobytes()


def test_clones_files_and_edits():
    world, body = ball()
    world.add_force_element("spring", spring, bodies=(body,), parameters=(8.0,))
    world.step(n=5)
    twin = copy.deepcopy(world)
    next(iter(twin.step_functions)).parameters = (0.0,)
    assert next(iter(world.step_functions)).parameters.tolist() == [8.0]
    with world.edit():
        world.add_rigid_body("other", mass=1.0, inertia=(1, 1, 1), position=(0, 5, 0))
    speed = body.linear_velocity[0]
    world.step()
    assert body.linear_velocity[0] < speed
    twin.step()
    assert twin.rigid_bodies["ball"].linear_velocity[0] == speed
    with pytest.raises(OperationError, match="force element 'spring'"):
        pickle.dumps(world)


def test_an_element_whose_body_is_gone_says_so():
    world, _body = ball()
    other = world.add_rigid_body("other", mass=1.0, inertia=(1, 1, 1), position=(0, 5, 0))
    world.add_force_element("spring", spring, bodies=(other,), parameters=(8.0,))
    world.step()
    with pytest.raises(OperationError, match="force element 'spring' works on 'other', which is gone"):
        with world.edit():
            other.remove()
    world.step()
    assert other.is_valid, "edit() takes back all of it"
    world.remove_step_function("spring")
    with world.edit():
        other.remove()
    world.step()


def test_replay_finds_the_same():
    world, _, hinge = motor()
    add_swing(world, hinge)
    world.replay_recording_enabled = True
    world.step(n=20)
    assert world.verify_replay().matches


def test_profiling_runs_kernels():
    world, body = ball()
    world.add_force_element("spring", spring, bodies=(body,), parameters=(8.0,))
    world.step_profiling_enabled = True
    world.step(n=2)
    assert world.last_step_profile.get_stage("force_kernels").calls == 1
    assert body.linear_velocity[0] < 0.0


def test_refusals_change_nothing():
    world, _tree, hinge = motor()
    _, stranger = ball()
    given = {"joints": (hinge,), "actuators": ("m",), "parameters": (0.7,)}
    for error, text, call in (
        (ArgumentError, "are for kernels", lambda: world.add_controller("c", lambda step: None, **given)),
        (ArgumentError, "another World", lambda: world.add_force_element("c", spring, bodies=(stranger,))),
        (
            NotFoundError,
            "no actuator 'n' for controller 'c'",
            lambda: world.add_controller("c", swing, actuators=("n",)),
        ),
        (ArgumentError, "must be finite", lambda: world.add_controller("c", swing, parameters=(np.nan,))),
        (CapabilityError, "observer 'c'", lambda: world.add_observer("c", swing)),
        (ArgumentError, "accelerations, end", lambda: world.add_stage("c", halve, "middle")),
        (ArgumentError, "joints", lambda: world.add_controller("c", swing, joints=("hinge",))),
        (ArgumentError, "got <class 'int'>", lambda: worldline.kernel(int)),
    ):
        with pytest.raises(error, match=text):
            call()
    assert world.step_functions == ()
    add_swing(world, hinge)
    with pytest.raises(ArgumentError, match="parameters of controller 'swing'"):
        world.step_functions[0].parameters = (1.0, 2.0)
    assert world.step_functions[0].parameters.tolist() == [0.7]


def test_the_variational_family_refuses_by_name():
    world, _body = ball(Family.VARIATIONAL)
    world.add_stage("drag", drag, "accelerations", parameters=(2.0,))
    with pytest.raises(CapabilityError, match="'variational' does not have stage at accelerations"):
        world.step()


@worldline.kernel
def allocates(step):
    step.force[0] = np.zeros(3)[0]


@worldline.kernel
def takes_two(step, more):
    step.force[0] = more


def test_what_cannot_be_compiled_is_refused_by_name():
    world, _, _ = motor()
    with pytest.raises(ArgumentError, match="kernel 'allocates' cannot be compiled for float64"):
        world.add_controller("c", allocates)
    with pytest.raises(ArgumentError, match="'takes_two' must take one argument, a KernelStep, got 2"):
        world.add_controller("c", takes_two)
    assert world.step_functions == ()


def test_without_the_compiler_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(kernel_cache, "compiler_version", lambda: None)

    @worldline.kernel
    def fresh(step):
        step.force[0] = 0.125

    world, _, _ = motor()
    with pytest.raises(MachineCodeError, match=r"kernel fresh .*worldline\[compiler\]"):
        world.add_controller("c", fresh)


# ---- the key of machine code


def made(number, helper=None):
    scope = {"NUMBER": number, "helper": helper}
    exec("def f(step):\n    step.force[0] = NUMBER\n    helper(step)", scope)
    return scope["f"]


def inner(step):
    return 1.0


def other_inner(step):
    return 2.0


def test_the_key_goes_by_all_that_a_kernel_sees():
    key = user_kernels.source_key
    assert key(made(1.0, inner)) == key(made(1.0, inner))
    assert key(made(1.0, inner)) != key(made(2.0, inner))
    assert key(made(1.0, inner)) != key(made(1.0, other_inner))
    assert key(made(np.ones(2), inner)) != key(made(np.zeros(2), inner))
    assert key(made(object(), inner)) is None, "it may change without being seen"
