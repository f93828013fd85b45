# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pendulums: closed-form periods, IFToMM A01, double and triple pendulums, and the order of the methods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipkm1

import worldline.model as wm
from integrators import order, rk4, semi_implicit_euler
from references import load, relative_error, rotations
from worldline.model import ModelBuilder

REFERENCE = load("pendulums")
G = REFERENCE["g"]
CHAINS = [name for name in REFERENCE if name.startswith(("double", "triple"))]


def chain(case):
    """Hinges about y, every link hanging down along its -z at angle zero."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    joints, parent, reach = [], -1, 0.0
    for k in range(case["n"]):
        I = case["inertia_com"][k]
        link = builder.add_link(
            mass=case["mass"][k], com=(0, 0, -case["com"][k]), inertia=np.diag([I, I, 0.0])
        )
        place = (0.0, 0.0, -reach, 0.0, 0.0, 0.0, 1.0)
        joints.append(builder.add_joint_revolute(parent, link, "y", parent_xform=place))
        parent, reach = link, case["length"][k]
    builder.add_articulation(joints)
    return builder.finalize()


def pendulum(com, inertia):
    return chain({"n": 1, "length": [1.0], "mass": [1.0], "com": [com], "inertia_com": [inertia]})


def joint_angles(absolute):
    """References measure every link from the vertical, joints from the link before."""
    return np.diff(absolute, prepend=0.0)


@pytest.mark.parametrize(
    ("key", "com", "inertia"),
    [("simple_pendulum_period_L1", 1.0, 0.0), ("rod_pendulum_L1_period", 0.5, 1.0 / 12.0)],
)
def test_period(key, com, inertia):
    """Released at rest, a pendulum is back at rest where it was after 4 sqrt(I / m g l) K."""
    model = pendulum(com, inertia)
    degrees = np.array([float(d) for d in REFERENCE[key]])
    amplitude = np.radians(degrees)[:, None]
    period = 4.0 * np.sqrt((com**2 + inertia) / (G * com)) * ellipkm1(np.cos(0.5 * amplitude) ** 2)
    assert relative_error(period[:, 0], list(REFERENCE[key].values())) < 1e-14
    assert wm.forward_dynamics(model, amplitude, 0.0 * amplitude, 0.0 * amplitude) == pytest.approx(
        -G * com / (com**2 + inertia) * np.sin(amplitude), rel=1e-14
    )

    # all amplitudes at once, each with its own step
    errors = []
    for steps in (400, 800):
        q, v = rk4(model, amplitude, 0.0 * amplitude, period / steps, steps)
        errors.append(np.concatenate([q - amplitude, v], axis=1))
    # at 179 degrees the pendulum lingers at the top, where an error of its energy grows a thousandfold
    assert (np.abs(errors[1]).max(axis=1) < np.where(degrees > 170.0, 1e-5, 1e-8)).all()
    # there and at 150 degrees errors of order 5 still show
    clear = degrees < 140.0
    assert order(errors[0][clear], errors[1][clear]) == pytest.approx(4.0, abs=0.2)


def test_iftomm_a01():
    """The simple pendulum of the IFToMM benchmark library, released horizontally at (-1, 0)."""
    model = pendulum(1.0, 0.0)
    q, v, h, time = np.array([0.5 * np.pi]), np.zeros(1), 1e-3, 0.0
    for key, goal in REFERENCE["IFToMM_A01_simple_pendulum"].items():
        until = float(key)
        q, v = rk4(model, q, v, h, round((until - time) / h))
        time = until
        # RK4: h^4 times some periods
        assert q[0] == pytest.approx(goal["angle_from_down"], abs=1e-10)
        assert v[0] == pytest.approx(goal["rate"], abs=1e-10)
        # the benchmark's plane is our x and z
        mass = np.array([0.0, 0.0, -1.0])
        speed = wm.jacobian(model, q, 0, mass) @ v
        place = wm.forward_kinematics(model, q)[0]
        mass = place[:3] + rotations(place[3:]) @ mass
        assert relative_error(mass[[0, 2]], goal["P1"]) < 1e-10
        assert relative_error(speed[[3, 5]], goal["P1_vel"]) < 1e-10


@pytest.mark.parametrize("name", CHAINS)
def test_chain(name):
    case = REFERENCE[name]
    model = chain(case)
    q, v = joint_angles(case["angles0_from_down_absolute"]), np.zeros(case["n"])
    energy = wm.potential_energy(model, q)
    assert energy == pytest.approx(case["energy0"], abs=1e-13)
    h, time = 1e-3, 0.0
    # h^4 = 1e-12 times the growth of errors in a chaotic motion; measured at most 9e-10, 6e-9, 2e-7
    for until, tolerance in ((1.0, 3e-9), (2.0, 3e-8), (5.0, 1e-6)):
        q, v = rk4(model, q, v, h, round((until - time) / h))
        time = until
        goal = case["states"][str(until)]
        assert np.abs(np.cumsum(q) - goal["angles"]).max() < tolerance, until
        assert np.abs(np.cumsum(v) - goal["rates"]).max() < 10.0 * tolerance, until
    total = wm.kinetic_energy(model, q, v) + wm.potential_energy(model, q)
    assert total == pytest.approx(energy, abs=1e-6)


def errors_after(step, name, until, counts):
    case = REFERENCE[name]
    model = chain(case)
    goal = case["states"][str(until)]
    found = []
    for steps in counts:
        q, v = joint_angles(case["angles0_from_down_absolute"]), np.zeros(case["n"])
        q, v = step(model, q, v, until / steps, steps)
        found.append(np.r_[np.cumsum(q) - goal["angles"], np.cumsum(v) - goal["rates"]])
    return found


@pytest.mark.parametrize("name", CHAINS)
def test_rk4_has_order_four(name):
    # at 1 s the errors of order 4 and 5 of the half-metre triple pendulum cancel for larger steps
    counts = (1600, 3200) if name.startswith("triple_rod_0.5m") else (400, 800)
    errors = errors_after(rk4, name, 1.0, counts)
    assert order(*errors) == pytest.approx(4.0, abs=0.4)


@pytest.mark.parametrize("name", CHAINS)
def test_semi_implicit_euler_has_order_one(name):
    errors = errors_after(semi_implicit_euler, name, 1.0, (4000, 8000))
    assert order(*errors) == pytest.approx(1.0, abs=0.1)
