# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""JointDofConfig: defaults, rules, targets inside limits, drive modes; limits of random configurations."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from builders import everything, same, single
from worldline.model import ActuatorMode, JointDofConfig, ModelBuilder

NAN, INF = float("nan"), float("inf")

DEFAULTS = {
    "limit_lower": -INF,
    "limit_upper": INF,
    "limit_ke": 1e4,
    "limit_kd": 1e1,
    "target_pos": 0.0,
    "target_vel": 0.0,
    "target_ke": 0.0,
    "target_kd": 0.0,
    "damping": 0.0,
    "stiffness": 0.0,
    "spring_ref": 0.0,
    "armature": 0.0,
    "friction": 0.0,
    "effort_limit": 1e6,
    "velocity_limit": 1e6,
}
NON_NEGATIVE = (
    "limit_ke",
    "limit_kd",
    "target_ke",
    "target_kd",
    "damping",
    "stiffness",
    "armature",
    "friction",
    "effort_limit",
    "velocity_limit",
)
KINDS = ["revolute", "prismatic", "screw", "universal", "planar", "euler", "translational", "ball"]


def d6(**options) -> ModelBuilder:
    return single("d6", linear_axes=[], angular_axes=[JointDofConfig(**options)])


def test_defaults():
    config = JointDofConfig()
    model = single("revolute").finalize()
    for name, value in DEFAULTS.items():
        assert getattr(config, name) == value
        assert getattr(model, f"joint_{name}")[0] == value
    assert config.actuator_mode is None
    assert ModelBuilder.JointDofConfig is JointDofConfig


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_option_reaches_every_axis(name, kind):
    value = {"limit_lower": -0.5, "limit_upper": 0.5}.get(name, 0.25)
    # the lower limit of an orientation goes with its upper one
    other = {"limit_upper": 0.5} if kind == "ball" and name == "limit_lower" else {}
    model = single(kind, **{name: value}, **other).finalize()
    if name == "spring_ref" and kind == "ball":
        return  # springs of orientations are relaxed where they start
    assert (getattr(model, f"joint_{name}") == value).all()


def test_spring_ref_is_in_the_layout_of_joint_q():
    builder = single("ball", stiffness=1.0)
    builder.joint_q[:] = [0, 0, 1, 0]
    model = builder.finalize()
    assert model.joint_spring_ref.tolist() == [0, 0, 1, 0]
    assert not wm.passive_forces(model, model.joint_q, np.zeros(3)).any()
    model = single("revolute", stiffness=2.0, spring_ref=0.25).finalize()
    assert wm.passive_forces(model, [1.0], [0.0]).tolist() == [-1.5]


# ---- rules


@pytest.mark.parametrize("make", [d6, lambda **k: single("revolute", **k)], ids=["config", "keyword"])
@pytest.mark.parametrize("name", NON_NEGATIVE)
@pytest.mark.parametrize("value", [-1.0, -INF, NAN, None, "1", True])
def test_numbers_that_must_not_be_negative(make, name, value):
    with pytest.raises(ValueError, match=f"'joint_001': {name}"):
        make(**{name: value})


@pytest.mark.parametrize("name", NON_NEGATIVE)
def test_only_bounds_and_the_stiffness_of_limits_may_be_infinite(name):
    if name in ("effort_limit", "velocity_limit", "limit_ke"):
        assert single("revolute", **{name: INF}).finalize().joint_count == 1
    else:
        with pytest.raises(ValueError, match=name):
            single("revolute", **{name: INF})


@pytest.mark.parametrize("name", ["target_pos", "target_vel", "spring_ref"])
@pytest.mark.parametrize("value", [NAN, INF, None, "a"])
def test_targets_are_finite(name, value):
    with pytest.raises(ValueError, match=name):
        d6(**{name: value})


@pytest.mark.parametrize(
    "limits",
    [
        (1.0, 0.0),
        (NAN, 1.0),
        (0.0, NAN),
        (INF, INF),
        (-INF, -INF),
        (None, 1.0),
        ("a", 1.0),
        (0.0, [1.0]),
        (True, 2.0),
    ],
)
def test_limits_leave_room(limits):
    builder = single("prismatic")
    link = builder.add_link(mass=1.0)
    before = everything(builder)
    config = JointDofConfig(limit_lower=limits[0], limit_upper=limits[1])
    with pytest.raises(ValueError, match=r"'hinge'.*limit"):
        builder.add_joint_d6(-1, link, angular_axes=[config], label="hinge")
    assert same(everything(builder), before)


def test_limits_may_touch():
    model = single("revolute", limit_lower=0.5, limit_upper=0.5).finalize()
    assert model.joint_target_pos.tolist() == [0.5]


@pytest.mark.parametrize(
    ("limits", "target", "expected"),
    [
        ((-1.0, 1.0), 0.5, 0.5),
        ((-1.0, 1.0), 1.0, 1.0),
        ((1.0, 3.0), 0.0, 2.0),
        ((1.0, 3.0), 7.0, 2.0),
        ((-3.0, -1.0), 0.0, -2.0),
        ((1.0, INF), 0.0, 1.0),
        ((-INF, -1.0), 0.0, -1.0),
        ((-INF, INF), 99.0, 99.0),
    ],
)
def test_targets_outside_the_limits_move_to_their_middle(limits, target, expected):
    model = d6(limit_lower=limits[0], limit_upper=limits[1], target_pos=target).finalize()
    assert model.joint_target_pos.tolist() == [expected]
    assert model.control().joint_target_pos.tolist() == [expected]


def test_configurations_are_values():
    config = JointDofConfig(limit_lower=1.0, limit_upper=3.0)
    single("d6", linear_axes=[], angular_axes=[config])
    assert config.target_pos == 0.0
    with pytest.raises(AttributeError):
        config.armature = 3.0
    with pytest.raises(TypeError):
        JointDofConfig(stifness=1.0)


# ---- drives


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ({}, ActuatorMode.NONE),
        ({"target_ke": 1.0}, ActuatorMode.POSITION),
        ({"target_kd": 1.0}, ActuatorMode.VELOCITY),
        ({"target_ke": 1.0, "target_kd": 1.0}, ActuatorMode.POSITION_VELOCITY),
        ({"target_ke": 1.0, "actuator_mode": ActuatorMode.NONE}, ActuatorMode.NONE),
        ({"actuator_mode": ActuatorMode.EFFORT}, ActuatorMode.EFFORT),
        ({"actuator_mode": 3}, ActuatorMode.POSITION_VELOCITY),
    ],
)
def test_drive_modes(options, mode):
    assert d6(**options).finalize().joint_act_mode.tolist() == [mode]
    assert single("revolute", **options).finalize().joint_act_mode.tolist() == [mode]


@pytest.mark.parametrize("mode", [9, -1, "POSITION", 1.5])
def test_bad_drive_modes_are_refused_at_once(mode):
    with pytest.raises(ValueError, match="actuator_mode"):
        single("revolute", actuator_mode=mode)


def test_drive_modes_by_axis():
    modes = [ActuatorMode.EFFORT, None]
    assert single("universal", actuator_mode=modes).finalize().joint_act_mode.tolist() == [4, 0]


@pytest.mark.parametrize(
    ("mode", "force"),
    [
        (ActuatorMode.NONE, 0.0),
        (ActuatorMode.POSITION, 20.0 * 0.5 - 3.0 * 0.2),
        (ActuatorMode.VELOCITY, 3.0 * (0.7 - 0.2)),
        (ActuatorMode.POSITION_VELOCITY, 20.0 * 0.5 + 3.0 * (0.7 - 0.2)),
        (ActuatorMode.EFFORT, 0.0),
    ],
)
@pytest.mark.parametrize("family", list(wm.MultibodyIntegrationFamily))
def test_drives_follow_the_targets_of_their_mode(mode, force, family):
    """A mass of 2 kg on a slide at 0.1 m with 0.2 m/s, and one short step: m a is the force of the drive."""
    options = {"target_pos": 0.6, "target_vel": 0.7, "target_ke": 20.0, "target_kd": 3.0}
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    body = builder.add_link(mass=2.0, inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_prismatic(-1, body, actuator_mode=mode, **options)])
    model, h = builder.finalize(), 1e-6
    state = model.state()
    state.joint_q[:], state.joint_qd[:] = 0.1, 0.2
    wm.step(model, state, dt=h, integration_family=family)
    assert 2.0 * (state.joint_qd[0] - 0.2) / h == pytest.approx(force, abs=1e-4)


# ---- limits in use


@pytest.mark.parametrize(
    ("limits", "low", "high"),
    [
        ((-0.5, 0.25), -0.5, 0.25),
        ((2.0, INF), 2.0, 2.0 + np.pi),
        ((-INF, -7.0), -7.0 - np.pi, -7.0),
        ((-INF, 0.5), -np.pi, 0.5),
        ((-INF, INF), -np.pi, np.pi),
    ],
)
def test_random_configurations_stay_within_limits(limits, low, high):
    model = single("revolute", limit_lower=limits[0], limit_upper=limits[1]).finalize()
    q = wm.random_configuration(model, 0, worlds=400)
    assert low <= q.min() < low + 0.05 * (high - low)
    assert high - 0.05 * (high - low) < q.max() <= high
    free = wm.random_configuration(model, 0, worlds=400, within_limits=False)
    assert -np.pi <= free.min() < -3.0
    assert 3.0 < free.max() <= np.pi


def test_centring_between_limits():
    """The recipe of the documentation: scalar joints by their limits, orientations left alone."""
    builder = single("ball", limit_lower=-3.0, limit_upper=3.0)
    builder.add_builder(single("universal", limit_lower=(-1.0, 0.0), limit_upper=(3.0, INF)), prefix="b/")
    model = builder.finalize()
    q = model.state().joint_q
    for j in range(model.joint_count):
        if model.joint_type[j] in (wm.JointType.FREE, wm.JointType.BALL, wm.JointType.DISTANCE):
            continue
        d, c = model.joint_qd_start[j], model.joint_q_start[j]
        for k in range(model.joint_dof_dim[j].sum()):
            lower, upper = model.joint_limit_lower[d + k], model.joint_limit_upper[d + k]
            if np.isfinite(lower) and np.isfinite(upper):
                q[c + k] = 0.5 * (lower + upper)
    assert q.tolist() == [0, 0, 0, 1, 1.0, 0.0]
