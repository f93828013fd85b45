# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Actuators with states of their own beside MuJoCo: PID plugins, PID actuators, motors with inductance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import SceneError
from worldline._src.jit import DISABLED
from worldline._src.scalar.exponential import exp_of_negative
from worldline.model import LaneSimulation

mujoco = pytest.importorskip("mujoco")

MODEL = """<mujoco>
  <option timestep="0.002" integrator="{integrator}"><flag eulerdamp="disable"/></option>
  <extension><plugin plugin="mujoco.pid"/></extension>
  <worldbody><body pos="0 0 1"><joint name="j" axis="0 1 0" damping="0.01"/>
    <geom size=".1" pos=".3 0 0" mass="1" contype="0" conaffinity="0"/></body></worldbody>
  <actuator>{actuator}</actuator>{more}</mujoco>"""


def plugin(states: int, more: str = "", **gains: float) -> str:
    config = "".join(f'<config key="{key}" value="{value}"/>' for key, value in gains.items())
    return f'<plugin name="a" joint="j" plugin="mujoco.pid" actdim="{states}" {more}>{config}</plugin>'


MOTOR = '<dcmotor name="a" joint="j" motorconst="0.5" resistance="2" {}/>'
RATIO = '<pid name="a" joint="j" kp="20" dampratio="0.7" input="pos" {}/>'
PID = '<pid name="a" joint="j" kp="20" kv="1" {}/>'
ACTUATORS = {
    "plugin without states": plugin(0, kp=20, kd=1),
    "plugin with ki": plugin(1, kp=20, ki=40, kd=2),
    "plugin with ki and imax": plugin(1, kp=20, ki=40, imax=0.5, kd=2),
    "plugin with slewmax": plugin(1, kp=20, slewmax=3, kd=1),
    "plugin with slewmax 0": plugin(1, kp=20, slewmax=0),
    "plugin with all": plugin(2, 'gear="2"', kp=20, ki=40, imax=5, slewmax=3, kd=2),
    "plugin with ranges": plugin(1, 'ctrlrange="-1 1" forcerange="-4 4"', kp=20, ki=-4, imax=-1, kd=1),
    "pid": PID.format('input="pos" ki="40"'),
    "pid with imax": PID.format('input="pos" ki="40" imax="0.1"'),
    "pid with slewmax": PID.format('input="pos" slewmax="3" gear="-2"'),
    "pid with all": PID.format('input="pos" ki="40" imax="0.1" slewmax="3"'),
    "pid of two inputs": PID.format('ki="40" imax="0.1" slewmax="3"'),
    "pid with a damping ratio and ki": RATIO.format('ki="40"'),
    "pid with a damping ratio and all": RATIO.format('ki="40" imax="0.1" slewmax="3" gear="2"'),
    "motor": MOTOR.format('inductance="0.1" ctrlrange="-5 5"'),
    "motor with a time constant": MOTOR.format('inductance="0 0.02" saturation="0.3"'),
    "motor with a rate of current": MOTOR.format('inductance="0.1" saturation="0 0 5"'),
    "motor that heats": MOTOR.format('thermal="2 0.05 0 0.004 25 30"'),
    "motor that heats by a time constant": MOTOR.format('thermal="0 0.05 0.3 0.004" saturation="0.3"'),
    "motor with friction": MOTOR.format('lugre="100 1 .1 .3 .5"'),
    "motor with cogging": MOTOR.format('cogging=".3 6 .2" saturation="0.2"'),
    "motor with all": MOTOR.format(
        'inductance="0.1" cogging=".3 6 .2" lugre="100 1 .1 .3 .5" thermal="2 .05 0 .004 25 30" '
        'saturation=".35 0 5" gear="2"'
    ),
}
LAW = '<general name="a" joint="j" dyntype="{}" gainprm="5" {}/>'
ACTIVATIONS = ACTUATORS | {
    "muscle": '<muscle name="a" joint="j" lengthrange="-2 2" force="30" timeconst=".02 .05"/>',
    "integrator": LAW.format("integrator", 'actrange="-.2 .2"'),
    "integrator that acts early": LAW.format("integrator", 'actrange="-.05 .03" actearly="true"'),
    "filter": LAW.format("filter", 'dynprm=".03" biastype="affine" biasprm="0 -2 -.1"'),
    "exact filter": LAW.format("filterexact", 'dynprm=".03" biastype="affine" biasprm="0 -2 -.1"'),
    "exact filter that acts early": LAW.format("filterexact", 'dynprm=".03" actearly="true"'),
    "servo of an integrated speed": '<intvelocity name="a" joint="j" kp="20" kv="1" actrange="-.2 .2"/>',
    "filtered servo": '<position name="a" joint="j" kp="20" kv="1" timeconst=".05"/>',
}
CONTROLS = (1.5, -2.0, 0.4)


def text_of(name: str, integrator: str = "Euler", more: str = "") -> str:
    return MODEL.format(integrator=integrator, actuator=ACTIVATIONS[name], more=more)


def started(text: str) -> tuple:
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    world = sx.World.from_scene(msd.from_str(text, strict="motion"))
    joint = world.multibodies[0].joints[0]
    data.qpos[:], data.qvel[:], joint.position, joint.velocity = 0.3, 0.7, [0.3], [0.7]
    return model, data, world, joint


def control_of(step: int, count: int) -> list[float]:
    return [CONTROLS[step // 100 % 3], 0.2][:count]


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
@pytest.mark.parametrize("name", ACTUATORS)
def test_controllers_move_as_in_mujoco(name: str, integrator: str) -> None:
    model, data, world, joint = started(text_of(name, integrator))
    assert len(world.actuator_controls) == model.nu
    for step in range(300):
        data.ctrl[:] = world.actuator_controls = control_of(step, model.nu)
        mujoco.mj_step(model, data)
        world.step()
        assert joint.position[0] == pytest.approx(data.qpos[0], abs=1e-13)
        assert world.actuator_activations[: model.na] == pytest.approx(data.act, abs=1e-12)
    # further activations only say that there was a step
    assert world.actuator_activations[model.na :] == pytest.approx(1.0)


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
@pytest.mark.parametrize(
    "name", ["plugin with all", "pid with all", "motor with a rate of current", "motor with all"]
)
def test_controllers_in_lanes_have_the_bits_of_a_world_alone(name: str) -> None:
    model = msd.build(msd.from_str(text_of(name)))
    several = LaneSimulation(model, 5)
    rng = np.random.default_rng(4)
    starts, controls = rng.normal(size=(5, 1)), rng.normal(size=(3, 5, 1))
    several.q[:] = starts
    ones = [LaneSimulation(model, 1) for _ in range(5)]
    for w, one in enumerate(ones):
        one.q[:] = starts[w]
    native = mujoco.MjModel.from_xml_string(text_of(name))
    data = mujoco.MjData(native)
    data.qpos[:] = starts[2]
    for block in controls:
        several.control[:] = block
        several.step(100)
        for w, one in enumerate(ones):
            one.control[:] = block[w]
            one.step(100)
            assert np.array_equal(one.q[0], several.q[w]) and np.array_equal(one.v[0], several.v[w])
            assert np.array_equal(one.activation[0], several.activation[w])
        data.ctrl[:] = block[2]
        mujoco.mj_step(native, data, 100)
        assert several.q[2] == pytest.approx(data.qpos, abs=1e-12)


@pytest.mark.parametrize("name", ["plugin with all", "pid with all", "motor"])
def test_controllers_go_on_from_a_saved_state(name: str, tmp_path) -> None:
    _, _, world, joint = started(text_of(name))
    world.actuator_controls = [1.5]
    world.step(n=60)
    world.save_binary(tmp_path / "state.bin")
    copies = [world.clone(), sx.World.from_scene(msd.from_str(text_of(name)))]
    copies[1].load_binary(tmp_path / "state.bin")
    world.step(n=60)
    for copy in copies:
        copy.step(n=60)
        assert copy.multibodies[0].joints[0].position[0] == joint.position[0]
        assert np.array_equal(copy.actuator_activations, world.actuator_activations)


@pytest.mark.parametrize("name", ACTUATORS)
def test_controllers_are_written_as_they_were_read(name: str) -> None:
    scene = msd.from_str(text_of(name))
    text = scene.to_str(format="mjcf")
    again = msd.from_str(text)
    assert [a.actuator_type for a in again.actuators] == [a.actuator_type for a in scene.actuators]
    assert [a.forcerange for a in again.actuators] == [a.forcerange for a in scene.actuators]
    mujoco.MjModel.from_xml_string(text)


@pytest.mark.parametrize("time", [0.0, 1.0])
@pytest.mark.parametrize("name", ["plugin with all", "pid with all"])
def test_keyframes_give_the_states_of_controllers(name: str, time: float) -> None:
    more = f'<keyframe><key name="k" time="{time}" qpos="0.3" act="0.01 0.02" ctrl="1.5"/></keyframe>'
    text = text_of(name, more=more)
    model, data, world, joint = started(text)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    world.apply_keyframe("k")
    assert world.actuator_activations[:2] == pytest.approx(data.act)
    mujoco.mj_step(model, data, 50)
    world.step(n=50)
    assert joint.position[0] == pytest.approx(data.qpos[0], abs=1e-13)


WRONG = {
    "a negative imax": (plugin(1, kp=1, ki=4, imax=-5), "imax of the sign of ki"),
    "a negative slewmax": (plugin(1, kp=1, slewmax=-5), "slewmax >= 0"),
    "too few states": (plugin(1, kp=1, ki=4, slewmax=3), "attribute 'actdim': given 1; allowed: 2"),
    "too many states": (plugin(2, kp=1, ki=4), "attribute 'actdim': given 2; allowed: 1"),
    "states of nothing": (plugin(1, kp=1), "attribute 'actdim': given 1; allowed: 0"),
    "an unknown gain": (plugin(0, kpp=1), "given the key 'kpp'; allowed: kp, ki, kd, imax, slewmax"),
    "a motor that cannot heat": (MOTOR.format('thermal="2"'), "given resistance 2 and capacity 0; allowed"),
    "a negative rate of a pid": (PID.format('input="pos" slewmax="-1"'), "numbers >= 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_controllers_are_refused_as_by_mujoco(name: str) -> None:
    actuator, message = WRONG[name]
    text = MODEL.format(integrator="Euler", actuator=actuator, more="")
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_string(text)
    with pytest.raises(SceneError, match=message):
        msd.from_str(text)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_within_runge_kutta_steps_are_those_of_mujoco(name: str) -> None:
    """Rates are evaluated four times a step, in one world and in lanes."""
    text = text_of(name, "RK4")
    assert not msd.from_str(text).report.losses
    model, data, world, joint = started(text)
    lanes = LaneSimulation(msd.build(msd.from_str(text)), 1)
    lanes.q[:], lanes.v[:] = 0.3, 0.7
    for step in range(100):
        data.ctrl[:] = world.actuator_controls = lanes.control[0] = control_of(3 * step, model.nu)
        mujoco.mj_step(model, data)
        world.step()
        lanes.step()
        assert joint.position[0] == pytest.approx(data.qpos[0], abs=1e-13)
        assert lanes.q[0] == pytest.approx(data.qpos, abs=1e-13)
        assert world.actuator_activations[: model.na] == pytest.approx(data.act, abs=1e-13)
        assert lanes.activation[0, : model.na] == pytest.approx(data.act, abs=1e-13)


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
@pytest.mark.parametrize("name", ["muscle", "pid with all", "plugin with all", "exact filter"])
def test_runge_kutta_activations_in_lanes_have_the_bits_of_a_world_alone(name: str) -> None:
    model = msd.build(msd.from_str(text_of(name, "RK4")))
    several = LaneSimulation(model, 5)
    rng = np.random.default_rng(4)
    starts, controls = rng.normal(size=(5, 1)), rng.normal(size=(5, 1))
    several.q[:], several.control[:] = starts, controls
    several.step(50)
    for w in range(5):
        one = LaneSimulation(model, 1)
        one.q[:], one.control[:] = starts[w], controls[w]
        one.step(50)
        assert np.array_equal(one.q[0], several.q[w]) and np.array_equal(one.v[0], several.v[w])
        assert np.array_equal(one.activation[0], several.activation[w])


def test_a_motor_that_acts_late_has_the_current_at_the_start_of_a_step() -> None:
    """K i(0) = 0 in the first step; the next current K i(h) where it acts early."""
    voltage, constant, resistance, time, h = 3.0, 0.5, 2.0, 0.05, 0.002
    scene = msd.from_str(
        MODEL.format(
            integrator="Euler", actuator=MOTOR.format('lugre="100 1 .1 .3 .5" inductance="0.1"'), more=""
        )
    )
    law = scene.actuators[0].actuator_type.value
    forces = []
    for early in (True, False):
        law.actearly = early
        world = sx.World.from_scene(scene)
        world.actuator_controls = [voltage]
        world.step()
        forces.append(float(world._live().constraints.column["act_force"][0]))
        # the state is the same: di/dt = (V / R - i) / time at rest
        current = voltage / resistance * -np.expm1(-h / time)
        assert world.actuator_activations[1] == pytest.approx(current, rel=1e-12)
    assert forces == pytest.approx([constant * current, 0.0], abs=1e-15)


@pytest.mark.parametrize(
    "x", [0.0, -1e-300, -1e-9, -0.3, -0.35, -0.6931471805599453, -1.0, -9.5, -40.0, -87.9]
)
def test_the_exponential_of_kernels_is_exact(x: float) -> None:
    assert exp_of_negative(x) == pytest.approx(math.exp(x), rel=3e-16, abs=0.0)
    assert exp_of_negative(-500.0) == exp_of_negative(-88.0) < 1e-38
