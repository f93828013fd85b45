# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What rests on what: depths of soft contact, towers, mass ratios, and the order of bodies."""

from __future__ import annotations

import numpy as np
import pytest
from contact_worlds import METHODS, G, ball, box, every_method, ground_force, with_law

from worldline import msd
from worldline import simulation as sx

Law = msd.ConstraintForceModel


method = every_method(1e-6)


# ---- depths


def depth_at_rest(law, mass, method=sx.ContactSolverMethod.NEWTON, **options):
    world = sx.World(contact_solver_method=method)
    world.add_ground_plane()
    ball(world, mass=mass, position=(0, 0, 0.1))
    world = with_law(world, law, **options)
    world.step(n=4000)
    body = world.rigid_bodies["ball"]
    assert abs(body.linear_velocity[2]) < 1e-8
    np.testing.assert_allclose(ground_force(world), (0, 0, mass * G), rtol=0, atol=1e-5 * mass * G)
    return 0.1 - body.translation[2]


@pytest.mark.parametrize("mass", [0.1, 1.0, 25.0])
@pytest.mark.parametrize("stiffness", [1e3, 1e5])
def test_springs_sink_by_what_their_laws_say(stiffness, mass, method):
    spring = msd.StiffnessDamping(k=stiffness, d=2.0 * np.sqrt(stiffness))
    assert depth_at_rest(Law.acceleration_spring(spring), mass, method) == pytest.approx(
        G / stiffness, rel=1e-5
    )
    spring = msd.StiffnessDamping(k=stiffness * mass, d=2.0 * mass * np.sqrt(stiffness))
    assert depth_at_rest(Law.force_spring(spring), mass, method) == pytest.approx(G / stiffness, rel=1e-5)


@pytest.mark.parametrize("mass", [0.1, 25.0])
def test_hard_contact_does_not_sink(mass, method):
    assert abs(depth_at_rest(None, mass, method)) < 1e-8


SETTINGS = [
    # solref, solimp, depth of the closed form
    ("0.02 1", "0.9 0.9 0.001", 0.0003924),
    ("0.1 0.8", "0.9 0.9 0.001", 0.0062784),
    ("-100 -20", "0.9 0.9 0.001", 0.00981),
    ("0.05 1.2", "0.8 0.8 0.001", 9.81 * 0.2 * 0.06**2),
    ("-2000 -60", "0.5 0.5 0.001", 9.81 * 0.5 / 2000),
]
BALL = """<mujoco><option cone="{cone}" timestep="0.002"/><default><geom solref="{solref}" solimp="{solimp}"/></default>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="ball" pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="{mass}"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("mass", [0.2, 30.0])
@pytest.mark.parametrize(("solref", "solimp", "depth"), SETTINGS)
def test_impedance_contact_sinks_by_its_formula(solref, solimp, depth, mass, cone):
    text = BALL.format(solref=solref, solimp=solimp, mass=mass, cone=cone)
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    body = world.rigid_bodies["ball"]
    world.step(n=4000)
    # frictional contact of a pyramid is stiffer: four edges that share one regularizer
    told = 0.1 - body.translation[2]
    if cone == "elliptic":
        assert told == pytest.approx(depth, rel=1e-6)
    assert ground_force(world)[2] == pytest.approx(mass * G, rel=1e-6)


SOFT = """<mujoco><option timestep="0.002" cone="{cone}"/><worldbody>
<geom type="plane" size="5 5 1" friction="0.8"/>
<body name="low" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.15 0.1" mass="2"/></body>
<body name="high" pos="0.02 0 0.29"><freejoint/><geom type="capsule" size="0.05 0.1" zaxis="0 1 0" mass="1"
  solimp="0.8 0.95 0.002 0.3 3" solref="0.03 0.9"/></body>
<body name="ball" pos="1 0 0.2"><freejoint/><geom type="sphere" size="0.15" mass="5" solref="-3000 -80"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_rest_heights_and_forces_are_those_of_mujoco(cone):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")
    text = SOFT.format(cone=cone)
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    world.step(n=1500)
    mujoco.mj_step(model, data, 1500)
    for name in ("low", "high", "ball"):
        ours, theirs = world.rigid_bodies[name].translation[2], data.body(name).xpos[2]
        nominal = {"low": 0.1, "high": 0.25, "ball": 0.15}[name]
        # 1 percent of how far they sink, which is the hard part
        assert ours - nominal == pytest.approx(theirs - nominal, rel=0.01), name
    force = np.zeros(6)
    theirs = {}
    for k in range(data.ncon):
        mujoco.mj_contactForce(model, data, k, force)
        key = tuple(sorted(int(model.geom_bodyid[g]) for g in data.contact[k].geom))
        theirs[key] = theirs.get(key, 0.0) + force[0]
    number = {None: 0, **{world.rigid_bodies[n]: model.body(n).id for n in ("low", "high", "ball")}}
    ours = {
        tuple(sorted((number[p.body_a], number[p.body_b]))): abs(float(p.force[2]))
        for p in world.step_report().pairs
    }
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        assert ours[key] == pytest.approx(value, rel=0.01)


# ---- towers


def tower(count, h, method=sx.ContactSolverMethod.NEWTON, masses=None):
    world = sx.World(time_step=h, contact_solver_method=method)
    world.add_ground_plane(friction=0.6)
    boxes = [
        box(
            world,
            f"b{k}",
            mass=1.0 if masses is None else masses[k],
            friction=0.6,
            position=(0, 0, 0.1 + 0.2 * k),
        )
        for k in range(count)
    ]
    return world, boxes


@pytest.mark.parametrize(
    ("count", "seconds", "method"),
    [
        *((count, 60.0, method) for count in (10, 20) for method in METHODS if method.name != "BOXED_LCP"),
        # pivoting is cubic in the rows
        (6, 10.0, sx.ContactSolverMethod.BOXED_LCP),
    ],
)
def test_towers_stand_for_a_minute(count, seconds, method):
    h = 0.01
    world, boxes = tower(count, h, method)
    world.step(n=round(seconds / h))
    for k, body in enumerate(boxes):
        np.testing.assert_allclose(body.translation, (0, 0, 0.1 + 0.2 * k), rtol=0, atol=1e-3)
        np.testing.assert_allclose(body.quaternion, (0, 0, 0, 1), rtol=0, atol=1e-3)
        assert np.abs(body.linear_velocity).max() < 1e-4


@pytest.mark.parametrize("method", METHODS)
def test_every_level_of_a_tower_carries_what_is_above(method):
    world, boxes = tower(10, 0.002, method)
    world.step(n=200 if method.name == "BOXED_LCP" else 5000)
    carried = {pair.body_b: pair.force[2] for pair in world.step_report().pairs}
    for k, body in enumerate(boxes):
        assert carried[body] == pytest.approx((10 - k) * G, rel=1e-3)
        assert np.linalg.norm(body.translation - (0, 0, 0.1 + 0.2 * k)) < 1e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ratio", [10.0, 100.0, 1000.0])
def test_heavy_on_light(ratio, method):
    world, (low, high) = tower(2, 0.002, method, (1.0, ratio))
    world.step(n=2000)
    assert ground_force(world)[2] == pytest.approx((1.0 + ratio) * G, rel=1e-3)
    between = [pair.force[2] for pair in world.step_report().pairs if pair.body_a is not None]
    assert np.sum(between) == pytest.approx(ratio * G, rel=1e-3)
    assert low.translation[2] == pytest.approx(0.1, abs=1e-4)
    assert high.translation[2] == pytest.approx(0.3, abs=2e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_light_box_between_heavy_ones(method):
    world, boxes = tower(5, 0.002, method, (1.0, 1000.0, 1.0, 1000.0, 1.0))
    world.step(n=3000)
    for k, body in enumerate(boxes):
        np.testing.assert_allclose(body.translation, (0, 0, 0.1 + 0.2 * k), rtol=0, atol=1e-3)


# ---- order


def shuffled(order, method):
    """A heap of the same bodies, added in another order.

    A box of friction has many solutions that move bodies in different ways, so pivoting goes without.
    """
    mu = 0.0 if method is sx.ContactSolverMethod.BOXED_LCP else 0.5
    world = sx.World(time_step=0.002, contact_solver_method=method)
    world.add_ground_plane(friction=mu)
    rng = np.random.default_rng(11)
    made = []
    for k in range(12):
        turn = rng.normal(size=4)
        place = np.array([0.36 * (k % 2), 0.0, 0.2 + 0.36 * (k // 2)]) + rng.uniform(-0.02, 0.02, 3)
        made.append((k, place, turn / np.linalg.norm(turn)))
    for k in order:
        _, place, turn = made[k]
        make = box if k % 3 else ball
        # towards each other and down: they start apart and meet
        speed = -5.0 * (place - (0.18, 0.0, 0.1))
        make(world, f"b{k}", friction=mu, position=place, orientation=turn, linear_velocity=speed)
    return world


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_bodies_does_not_matter(method):
    """Up to the tolerance of the solver; chaos multiplies it, so 0.084 s with a dozen impacts are watched.

    Friction wedges the pile after that: damped sweeps solve such a step, to a coarser tolerance.
    """
    plain, other = (
        shuffled(order, method) for order in (range(12), np.random.default_rng(2).permutation(12))
    )
    touched = 0
    for _ in range(14):
        plain.step(n=3)
        other.step(n=3)
        touched += plain.compute_step_metrics().active_contact_count
    assert touched > 40
    for k in range(12):
        a, b = plain.rigid_bodies[f"b{k}"], other.rigid_bodies[f"b{k}"]
        np.testing.assert_allclose(a.translation, b.translation, rtol=0, atol=1e-8)
        np.testing.assert_allclose(a.linear_velocity, b.linear_velocity, rtol=0, atol=1e-6)
