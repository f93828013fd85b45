# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Free bodies that spin: momentum kept to rounding, no energy gained, however far a step turns them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx

BODY = """<mujoco><option gravity='{gravity}' timestep='{h}'/><worldbody><body euler='10 30 50'><freejoint/>
<inertial pos='{com}' mass='2' diaginertia='{inertia}'/></body></worldbody></mujoco>"""


def thrown(h, spin, com="0 0 0", inertia=".01 .02 .029", gravity="0 0 0", least=0.0):
    text = BODY.format(h=h, com=com, inertia=inertia, gravity=gravity)
    scene = msd.from_str(text, format="mjcf")
    scene.simulate_option.policy.free_spin_turn = least
    world = sx.World.from_scene(scene)
    world.rigid_bodies[0].angular_velocity = spin
    return world


@pytest.mark.parametrize("com", ["0 0 0", "0.05 0.02 -0.03"])
@pytest.mark.parametrize(
    ("h", "speed"), [(1e-3, 5.0), (1e-3, 50.0), (0.01, 30.0), (0.02, 100.0), (0.02, 600.0)]
)
def test_momentum_stays_and_energy_does_not_grow(h, speed, com):
    world = thrown(h, speed * np.array([0.01, 1.0, 0.3]), com)
    linear, angular, energy = world.linear_momentum, world.angular_momentum, world.kinetic_energy
    for _ in range(50):
        world.step(n=10)
        assert world.kinetic_energy <= energy * (1.0 + 1e-11)
    np.testing.assert_allclose(world.linear_momentum, linear, rtol=0, atol=1e-11 * max(speed, 1.0))
    np.testing.assert_allclose(world.angular_momentum, angular, rtol=0, atol=3e-10 * np.linalg.norm(angular))


def test_the_intermediate_axis_flips_on_time():
    """Inertia 1, 2, 3 and spin (0.01, 5, 0): the axis turns over every 5.266055124076 s."""
    world = thrown(1e-3, (0.0, 0.0, 0.0), inertia="1 2 3")
    body = world.rigid_bodies[0]
    R = body.rotation
    body.angular_velocity = R @ (0.01, 5.0, 0.0)
    energy = world.kinetic_energy
    flips, last = [], 5.0
    for k in range(11000):
        world.step()
        spin = float((body.rotation.T @ body.angular_velocity)[1])
        if spin * last < 0.0:
            flips.append(k * 1e-3)
        last = spin
    assert np.diff(flips) == pytest.approx(5.266055124076, rel=0.01)
    assert world.kinetic_energy == pytest.approx(energy, rel=1e-6)


def test_turning_differs_from_the_torque_at_the_beginning_by_second_order():
    """A step with the torque of the beginning, by hand: the two differ as h^2 once and not more."""
    J, w = np.array([0.01, 0.02, 0.029]), np.array([3.0, 5.0, -4.0])
    gaps = []
    for h in (2e-3, 1e-3, 5e-4):
        world = thrown(h, (0.0, 0.0, 0.0))
        body = world.rigid_bodies[0]
        body.angular_velocity = body.rotation @ w
        world.step()
        spin = body.rotation.T @ body.angular_velocity
        gaps.append(np.linalg.norm(spin - (w - h * np.cross(w, J * w) / J)))
    assert np.allclose(np.log2(np.array(gaps[:-1]) / gaps[1:]), 2.0, atol=0.05)


def test_a_heavy_body_falls_as_before():
    """Gravity has no moment about the centre of mass: its way is that of a semi-implicit step."""
    world = thrown(1e-3, (20.0, -30.0, 10.0), com="0.05 0.02 -0.03", gravity="0 0 -9.81")
    start, n = world.center_of_mass[2], 500
    velocity = world.linear_momentum[2] / 2.0
    world.step(n=n)
    fallen = velocity * n * 1e-3 - 9.81 * 1e-6 * n * (n + 1) / 2
    assert world.center_of_mass[2] - start == pytest.approx(fallen, abs=1e-10)


@pytest.mark.parametrize("least", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("com", ["0 0 0", "0.05 0.02 -0.03"])
def test_the_ledger_knows_the_turn(com, least):
    world = thrown(0.01, (3.0, 40.0, 5.0), com, gravity="0 0 -9.81", least=least)
    for _ in range(20):
        world.step()
        ledger = world.energy_ledger()
        assert abs(ledger.unexplained) < 1e-12 * world.kinetic_energy
        assert ledger.limits == 0.0


def test_rows_of_states_step_like_a_world():
    """The array layer takes the same steps, in lanes too."""
    scene = msd.from_str(
        BODY.format(h=0.01, com="0.05 0.02 -0.03", inertia=".01 .02 .029", gravity="0 0 -9.81"), format="mjcf"
    )
    scene.simulate_option.policy.free_spin_turn = 0.15
    model = msd.build(scene)
    rng = np.random.default_rng(4)
    speeds = rng.normal(size=(4, model.joint_dof_count)) * 20.0
    state = model.state()
    rows = type(state)(**{f.name: np.repeat(getattr(state, f.name)[None], 4, axis=0) for f in fields(state)})
    rows.joint_qd[:] = speeds
    wm.step(model, rows, steps=20, dt=0.01, lanes=4)
    for k in range(4):
        one = model.state()
        one.joint_qd[:] = speeds[k]
        wm.step(model, one, steps=20, dt=0.01)
        assert np.array_equal(one.joint_q, rows.joint_q[k])
        assert np.array_equal(one.joint_qd, rows.joint_qd[k])


@pytest.mark.parametrize("com", ["0 0 0", "0.05 0.02 -0.03"])
def test_slow_spin_of_mujoco_files_is_integrated_as_there(com):
    mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")
    text = BODY.format(h=0.002, com=com, inertia=".01 .02 .029", gravity="0 0 -9.81")
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    body = world.rigid_bodies[0]
    data.qvel[3:] = (3.0, 20.0, 5.0)
    body.angular_velocity = body.rotation @ (3.0, 20.0, 5.0)
    world._live().sim.v[:3] = 0.0
    world._live().sim.velocities_written()
    for _ in range(50):
        mujoco.mj_step(model, data)
    world.step(n=50)
    np.testing.assert_allclose(body.translation, data.qpos[:3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(world._live().sim.v, data.qvel, rtol=0, atol=1e-11)
