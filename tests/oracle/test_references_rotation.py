# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Turning bodies: the intermediate axis, free and steady precession, heavy tops.

Every case runs with a ball joint and with a free joint where nothing holds the body, and with the
manifold Runge-Kutta method of `integrators.py`, whose order is checked.
"""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from integrators import order, rk4
from references import load, pose, relative_error, rotations, turn, xyzw
from worldline.model import ModelBuilder

REFERENCE = load("rotation")


def body(kind, moments, mass=1.0, com=(0.0, 0.0, 0.0), gravity=(0.0, 0.0, 0.0)):
    """A body on a ball joint at its origin, or free; the velocity of both ends with angular, body axes."""
    builder = ModelBuilder(gravity=gravity)
    link = builder.add_link(mass=mass, com=com, inertia=np.diag(moments))
    joint = builder.add_joint_ball(-1, link) if kind == "ball" else builder.add_joint_free(link)
    builder.add_articulation([joint])
    return builder.finalize()


def start(model, omega, quaternion=(0.0, 0.0, 0.0, 1.0)):
    q, v = np.zeros(model.joint_coord_count), np.zeros(model.joint_dof_count)
    q[-4:], v[-3:] = quaternion, omega
    return q, v


def rotation_error(q, wxyz):
    """Of rotation matrices: a quaternion and its negative are the same turn."""
    return np.abs(rotations(q[..., -4:]) - rotations(xyzw(wxyz))).max()


def follow(model, q, v, h, states, visit):
    time = 0.0
    for key, goal in states.items():
        q, v = rk4(model, q, v, h, round((float(key) - time) / h))
        time = float(key)
        visit(time, q, v, goal)
    return q, v


# ---- no forces


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_intermediate_axis(kind):
    case = REFERENCE["intermediate_axis"]
    model = body(kind, case["I"])
    q, v = start(model, case["omega0_body"])
    assert wm.kinetic_energy(model, q, v) == pytest.approx(case["kinetic_energy"], rel=1e-15)
    assert wm.momentum(model, q, v)[:3] == pytest.approx(case["ang_momentum_world"], rel=1e-15)

    def visit(time, q, v, goal):
        # the turn about the unstable axis multiplies errors by exp(2.9 t) until it flips at 2.6 s
        assert rotation_error(q, goal["quat_wxyz"]) < 1e-9, time
        assert np.abs(v[-3:] - goal["omega_body"]).max() < 1e-9, time

    q, v = follow(model, q, v, 2e-3, case["states"], visit)
    assert wm.kinetic_energy(model, q, v) == pytest.approx(case["kinetic_energy"], rel=1e-10)
    assert relative_error(wm.momentum(model, q, v)[:3], case["ang_momentum_world"]) < 1e-9


def test_intermediate_axis_flips_after_half_a_period():
    """The rate about the unstable axis changes sign from +5 to -5 in the published interval."""
    case = REFERENCE["intermediate_axis"]
    model = body("ball", case["I"])
    q, v = start(model, case["omega0_body"])
    steps = 2000
    q, v = rk4(model, q, v, case["flip_interval"] / steps, steps)
    x, y, z = case["omega0_body"]
    assert np.abs(v - [x, -y, -z]).max() < 1e-7
    q, v = rk4(model, q, v, case["flip_interval"] / steps, steps)
    assert np.abs(v - case["omega0_body"]).max() < 1e-7


def test_free_precession_of_a_symmetric_body():
    """In the body the rate turns at (1 - I3/I1) w3, in space the axis at L / I1, at a constant angle."""
    case = REFERENCE["symmetric_free"]
    I1, _, I3 = case["I"]
    model = body("free", case["I"])
    q, v = start(model, case["omega0"])
    L = wm.momentum(model, q, v)[:3]
    size = np.linalg.norm(L)
    assert size / I1 == pytest.approx(case["space_precession_rate"], rel=1e-14)
    assert (I3 - I1) / I1 * v[-1] == pytest.approx(case["body_precession_rate"], rel=1e-14)
    h, steps = 1e-3, 500
    for k in range(1, 5):
        q, v = rk4(model, q, v, h, steps)
        time = k * steps * h
        phase = case["body_precession_rate"] * time
        w = case["omega0"][0]
        expected = [w * np.cos(phase), w * np.sin(phase), case["omega0"][2]]
        assert np.abs(v[-3:] - expected).max() < 1e-9
        # the body's axis on its cone about L, from where it started
        axis = rotations(q[-4:])[:, 2]
        angle = case["space_precession_rate"] * time
        n, z = L / size, np.array([0.0, 0.0, 1.0])
        turned = z * np.cos(angle) + np.cross(n, z) * np.sin(angle) + n * (n @ z) * (1 - np.cos(angle))
        assert np.abs(axis - turned).max() < 1e-9
        assert np.arccos(axis @ n) == pytest.approx(case["half_cone_angle_axis_to_L"], abs=1e-9)


# ---- tops


def top(case=REFERENCE["steady_precession"]):
    """A top on a ball joint at its tip; moments are given about the tip."""
    m, l, I1, I3 = case["m"], case["l"], case["I1_about_pivot"], case["I3"]
    across = I1 - m * l * l
    return body("ball", [across, across, I3], m, (0.0, 0.0, l), (0.0, 0.0, -case["g"]))


def tilted(degrees):
    return pose(np.zeros(3), turn(0, np.radians(degrees)))[3:]


def test_steady_precession():
    case = REFERENCE["steady_precession"]
    model = top()
    q, v = start(model, case["omega_body_initial_slow"], tilted(case["tilt_deg"]))
    axis = rotations(q)[:, 2]
    steps = 2500
    for k in range(1, 5):
        q, v = rk4(model, q, v, 0.25 * case["period_slow"] / steps, steps)
        # quarter turns about the vertical; a step turns by 0.05 rad, measured 2e-7 a quarter
        expected = turn(2, 0.5 * np.pi * k) @ axis
        assert np.abs(rotations(q)[:, 2] - expected).max() < 1e-6 * k, k
    assert v[2] == pytest.approx(case["omega3_total"], rel=1e-12)


@pytest.mark.parametrize("rate", ["Omega_slow", "Omega_fast"])
def test_steady_precession_needs_no_acceleration(rate):
    """At the two rates of the quadratic the tilt does not change: the closed form, with no integrator."""
    case = REFERENCE["steady_precession"]
    model = top()
    tilt, Omega = np.radians(case["tilt_deg"]), case[rate]
    q, v = start(model, [0.0, Omega * np.sin(tilt), case["omega3_total"]], tilted(case["tilt_deg"]))
    a = wm.forward_dynamics(model, q, v, np.zeros(3))
    # the rate in the body turns with the spin relative to the precession; in space it has no tilt part
    spin = case["omega3_total"] - Omega * np.cos(tilt)
    steady = np.array([Omega * np.sin(tilt) * spin, 0.0, 0.0])
    assert np.abs(a - steady).max() < 1e-11 * np.abs(steady).max()


def test_heavy_top_release():
    case = REFERENCE["heavy_top_release"]
    model = top()
    q, v = start(model, case["omega_body0"], tilted(case["tilt0_deg"]))
    energy = wm.kinetic_energy(model, q, v) + wm.potential_energy(model, q)
    assert energy == pytest.approx(case["energy"], rel=1e-14)
    assert wm.momentum(model, q, v, about="origin")[2] == pytest.approx(case["Lz_world"], rel=1e-14)

    def visit(time, q, v, goal):
        tip = rotations(q)[:, 2] * REFERENCE["steady_precession"]["l"]
        # the step turns by 0.04 rad; measured 1.5e-7, 1.5e-8 and 3e-6 a second
        assert rotation_error(q, goal["quat_wxyz"]) < 5e-7 * time, time
        assert np.abs(tip - goal["tip"]).max() < 5e-8 * time, time
        assert np.abs(v - goal["omega_body"]).max() < 1e-5 * time, time

    q, v = follow(model, q, v, 2e-4, case["states"], visit)
    assert wm.momentum(model, q, v, about="origin")[2] == pytest.approx(case["Lz_world"], rel=2e-8)
    assert wm.kinetic_energy(model, q, v) + wm.potential_energy(model, q) == pytest.approx(energy, rel=2e-8)


def test_heavy_top_nutates():
    """The tilt is largest half a nutation period after the release, and back after a whole one."""
    case = REFERENCE["heavy_top_release"]
    model = top()
    q, v = start(model, case["omega_body0"], tilted(case["tilt0_deg"]))
    tilts = []
    steps = 2000
    for _ in range(2):
        q, v = rk4(model, q, v, 0.5 * case["nutation_period"] / steps, steps)
        tilts.append(np.degrees(np.arccos(rotations(q)[2, 2])))
    assert tilts == pytest.approx([case["theta_max_deg"], case["tilt0_deg"]], abs=1e-6)


TERZE = REFERENCE["heavy_top_terze_mueller"]


def terze_top():
    return body("ball", TERZE["J_com"], TERZE["mass"], TERZE["com"], TERZE["g_vec"])


def test_heavy_top_of_terze_and_mueller():
    model = terze_top()
    q, v = start(model, TERZE["omega0"])
    energy = wm.kinetic_energy(model, q, v) + wm.potential_energy(model, q)
    assert energy == pytest.approx(TERZE["energy"], rel=1e-14)

    def visit(time, q, v, goal):
        # the step turns by 0.03 rad; measured 5e-7 and 4e-6 a second
        assert np.abs(wm.center_of_mass(model, q) - goal["com"]).max() < 1e-6 * time, time
        assert rotation_error(q, goal["quat_wxyz"]) < 1e-6 * time, time
        assert np.abs(v - goal["omega_body"]).max() < 1e-5 * time, time

    q, v = follow(model, q, v, 2e-4, TERZE["states"], visit)
    total = wm.kinetic_energy(model, q, v) + wm.potential_energy(model, q)
    assert total == pytest.approx(energy, rel=2e-8)


def test_heavy_top_converges_with_order_four():
    model, goal = terze_top(), TERZE["states"]["0.2"]
    errors = []
    for steps in (200, 400, 800):
        q, v = rk4(model, *start(model, TERZE["omega0"]), 0.2 / steps, steps)
        turned = rotations(q) - rotations(xyzw(goal["quat_wxyz"]))
        errors.append(np.r_[turned.reshape(-1), v - goal["omega_body"]])
    assert order(errors[0], errors[1]) == pytest.approx(4.0, abs=0.3)
    assert order(errors[1], errors[2]) == pytest.approx(4.0, abs=0.3)


def test_heavy_top_on_hinges_is_the_top_on_a_ball():
    """Euler angles away from their lock describe the same motion as a quaternion."""
    case = REFERENCE["steady_precession"]
    m, l, I1, I3 = case["m"], case["l"], case["I1_about_pivot"], case["I3"]
    builder = ModelBuilder(gravity=(0.0, 0.0, -case["g"]))
    across = I1 - m * l * l
    link = builder.add_link(mass=m, com=(0.0, 0.0, l), inertia=np.diag([across, across, I3]))
    builder.add_articulation([builder.add_joint_euler(-1, link, "zxz")])
    angles = builder.finalize()
    release = REFERENCE["heavy_top_release"]
    # turn about z, tilt, spin: all the rate is spin
    q, v = np.array([0.0, np.radians(release["tilt0_deg"]), 0.0]), np.array([0.0, 0.0, 200.0])
    q, v = rk4(angles, q, v, 1e-4, 1000)
    goal = release["states"]["0.1"]
    place = wm.forward_kinematics(angles, q)[0]
    assert rotation_error(place[3:], goal["quat_wxyz"]) < 1e-8
    omega = wm.link_velocities(angles, q, v)[0, :3] @ rotations(place[3:])
    assert relative_error(omega, goal["omega_body"]) < 1e-9
