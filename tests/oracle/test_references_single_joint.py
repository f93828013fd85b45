# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One joint, closed forms: screw, damped oscillator, free fall step by step."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from integrators import order, rk4, semi_implicit_euler
from references import load
from worldline.model import ModelBuilder

REFERENCE = load("single_joint")
DOWN = (0.0, 0.0, -9.81)


def single(add, gravity=(0.0, 0.0, 0.0), **link):
    builder = ModelBuilder(gravity=gravity)
    body = builder.add_link(**link)
    builder.add_articulation([add(builder, body)])
    return builder.finalize()


def test_screw_under_gravity():
    """A nut that must turn to fall: a = -g m p^2 / (m p^2 + I), the same at any angle and rate."""
    case = REFERENCE["screw_joint_gravity"]
    pitch = case["pitch_m_per_turn"] / (2.0 * np.pi)
    model = single(
        lambda b, body: b.add_joint_screw(-1, body, "z", pitch=pitch),
        gravity=DOWN,
        mass=case["mass"],
        inertia=np.diag([case["inertia_axis"]] * 3),
    )
    q, v = np.array([[0.0], [1.0], [-400.0]]), np.array([[0.0], [30.0], [-7.0]])
    a = wm.forward_dynamics(model, q, v, np.zeros(1))
    assert a[:, 0] == pytest.approx([case["ang_accel"]] * 3, rel=1e-13)
    link = wm.link_accelerations(model, q, v, a)[:, 0]
    assert link[:, 5] == pytest.approx([case["accel"]] * 3, rel=1e-13)
    # constant acceleration: RK4 is exact
    h, steps = 0.01, 100
    q1, v1 = rk4(model, q, v, h, steps)
    assert v1 == pytest.approx(v + case["ang_accel"] * h * steps, rel=1e-12)
    assert q1 == pytest.approx(q + v * h * steps + 0.5 * case["ang_accel"] * (h * steps) ** 2, rel=1e-12)


def oscillator(kind):
    """The same equation as a slider, a hinge, and one axis of a ball."""
    case = REFERENCE["damped_oscillator"]
    spring = {"stiffness": case["k"], "damping": case["c"]}
    body = {"mass": case["m"], "inertia": np.eye(3) * case["m"]}
    if kind == "prismatic":
        return single(lambda b, i: b.add_joint_prismatic(-1, i, "x", **spring), **body)
    if kind == "revolute":
        return single(lambda b, i: b.add_joint_revolute(-1, i, "x", **spring), **body)
    return single(lambda b, i: b.add_joint_ball(-1, i, **spring), **body)


@pytest.mark.parametrize("kind", ["prismatic", "revolute", "ball"])
def test_damped_oscillator(kind):
    case = REFERENCE["damped_oscillator"]
    model = oscillator(kind)
    rest = wm.neutral(model)
    away = np.zeros(model.joint_dof_count)
    away[0] = case["x0"]
    decay = case["c"] / (2.0 * case["m"])
    omega = np.sqrt(case["k"] / case["m"] - decay**2)
    errors = []
    for h in (2e-3, 1e-3):
        q, v, time = wm.integrate(model, rest, away), 0.0 * away, 0.0
        found = []
        for key, x in case["x"].items():
            until = float(key)
            closed = np.exp(-decay * until) * (np.cos(omega * until) + decay / omega * np.sin(omega * until))
            assert x == pytest.approx(case["x0"] * closed, rel=1e-12)
            q, v = rk4(model, q, v, h, round((until - time) / h))
            time = until
            found.append(wm.difference(model, rest, q)[0] - x)
        errors.append(np.array(found))
    assert np.abs(errors[0]).max() < 2e-7  # (omega h)^4
    assert order(*errors) == pytest.approx(4.0, abs=0.2)


@pytest.mark.parametrize("kind", ["free", "prismatic", "planar"])
def test_semi_implicit_free_fall(kind):
    """After n steps z = -g h^2 n (n + 1) / 2: the discrete form, to the last digits."""
    case = REFERENCE["semi_implicit_euler_freefall"]
    add = {
        "free": lambda b, i: b.add_joint_free(i),
        "prismatic": lambda b, i: b.add_joint_prismatic(-1, i, "z"),
        "planar": lambda b, i: b.add_joint_planar(-1, i, axis="y", axis2="z"),
    }[kind]
    model = single(add, gravity=(0.0, 0.0, -case["g"]), mass=2.5, com=(0, 0, 0), inertia=np.eye(3))
    q, v = semi_implicit_euler(
        model, wm.neutral(model), np.zeros(model.joint_dof_count), case["h"], case["n"]
    )
    z = wm.forward_kinematics(model, q)[0, 2]
    speed = wm.link_velocities(model, q, v)[0, 5]
    n, h = case["n"], case["h"]
    assert -case["g"] * h * h * n * (n + 1) / 2 == pytest.approx(case["z"], rel=1e-13)
    # a thousand additions round off by 1e-13 at most
    assert z == pytest.approx(case["z"], rel=1e-12)
    assert speed == pytest.approx(case["v"], rel=1e-12)
