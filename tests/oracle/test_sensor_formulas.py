# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings that random scenes seldom tell apart, against MuJoCo and closed forms.

Tilted gravity, contacts in the order of their forces, both ends of a range within its margin, range finders
over planes that end, and the energy of springs between bodies in every direction.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from scene_pairs import ScenePair
from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.sensors.rays import REACH, _plane
from worldline._src.spatial.vec3 import Vec3


def compare(xml: str, place=None, steps: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Readings of MuJoCo and of a World at the same state."""
    pair = ScenePair(mujoco, xml)
    if place is not None:
        place(pair)
    mujoco.mj_step(pair.m, pair.d, steps)
    if steps:
        pair.world.step(steps)
    mujoco.mj_forward(pair.m, pair.d)
    return pair.d.sensordata.copy(), pair.world.sensors.values


def test_accelerometers_measure_against_gravity_from_any_side():
    theirs, ours = compare(
        """<mujoco><option gravity="1 -2 -9"/><worldbody>
          <body pos="0 0 1"><joint name="a" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
            <site name="tip" pos=".3 0 0" euler="20 30 40"/></body>
          <body pos="2 0 1"><site name="still" euler="50 60 70"/></body></worldbody>
          <sensor><accelerometer site="tip"/><accelerometer site="still"/></sensor></mujoco>"""
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert np.linalg.norm(ours[3:]) == pytest.approx(np.sqrt(86.0), rel=1e-12)


def balls(reduce: str) -> str:
    """Four balls on a floor, lightest first; the third lies less deep than the second, and slides."""
    bodies = ""
    for n, (mass, friction, depth) in enumerate(((0.5, 0, 1), (1.0, 0, 2), (0.35, 1, 1.9), (0.7, 0, 3))):
        bodies += f"""<body name="b{n}" pos="{n} 0 {0.1 - 1e-4 * depth}"><freejoint name="f{n}"/>
          <geom size=".1" mass="{mass}" friction="{friction} 0 0" priority="1"/></body>"""
    return f"""<mujoco><option cone="elliptic" timestep=".001"/><worldbody><geom name="floor" type="plane" size="9 9 1"/>
      {bodies}</worldbody><sensor>
      <contact geom1="floor" num="3" reduce="{reduce}" data="found force dist pos"/></sensor></mujoco>"""


@pytest.mark.parametrize("reduce", ["maxforce", "mindist"])
@pytest.mark.parametrize("along", [(1.0, 0.0), (0.0, 1.0)])
def test_contacts_come_in_the_order_of_their_forces_or_depths(reduce, along):
    """The size of a force counts both tangents: a light ball that slides is before a heavy one at rest."""

    def place(pair):
        pair.d.qvel[12:14] = along
        x = np.zeros(3)
        x[:2] = along
        pair.world.rigid_bodies["b2"].linear_velocity = x

    theirs, ours = compare(balls(reduce), place)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    # found, force, distance, position
    found = ours.reshape(3, -1)
    order = [round(x) for x in found[:, 5]]
    if reduce == "mindist":
        assert order == [3, 1, 2]
    else:
        assert order[0] == 2 and found[0, 1] < found[1:, 1].max()


def test_the_length_of_a_slider_crank_follows_a_slider_that_turns():
    """Rates are moments times velocities: those of MuJoCo, and the difference of lengths along them."""
    text = """<mujoco><option gravity="0 0 0"/><worldbody>
      <body name="a" pos="0 0 .1"><joint name="u" axis="0 1 .3"/><joint name="v" axis="1 .2 0"/><geom size=".1" pos=".2 0 0"/>
        <site name="crank" pos=".2 .1 0"/></body>
      <body name="b" pos=".1 0 .5"><joint name="w" axis=".3 1 0"/><joint name="x" axis="1 0 .4"/><geom size=".1" pos="0 .2 0"/>
        <site name="slider" pos=".1 .1 .1" euler="20 30 10"/></body></worldbody>
      <actuator><motor name="m" cranksite="crank" slidersite="slider" cranklength=".9" gear="1.7"/></actuator>
      <sensor><actuatorpos actuator="m"/><actuatorvel actuator="m"/></sensor></mujoco>"""
    rng = np.random.default_rng(4)
    q, v, h = 0.3 * rng.normal(size=4), rng.normal(size=4), 1e-5

    def at(q):
        def place(pair):
            pair.d.qpos[:], pair.d.qvel[:] = q, v
            for k, joint in enumerate("uvwx"):
                dof = pair.world.multibodies["a" if k < 2 else "b"].joints[joint]
                dof.position, dof.velocity = q[k : k + 1], v[k : k + 1]

        return compare(text, place)

    theirs, ours = at(q)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    ahead, behind = at(q + h * v)[1], at(q - h * v)[1]
    assert ours[1] == pytest.approx((ahead[0] - behind[0]) / (2 * h), rel=1e-8)


def test_rates_of_limits_are_of_the_end_that_is_nearer():
    """Both ends of the range lie within the margin; the rows of the lower one come first."""
    theirs, ours = compare(
        """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
          <body><joint name="j" axis="0 1 0" range="0 .3" margin=".25" limited="true"/><geom size=".1" pos=".3 0 0"/></body>
          <body pos="0 3 0"><joint name="k" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
          <tendon><fixed name="t" range="0 .3" margin=".2" limited="true"><joint joint="k" coef="1"/></fixed></tendon>
          <sensor><jointlimitpos joint="j"/><jointlimitvel joint="j"/><tendonlimitpos tendon="t"/>
            <tendonlimitvel tendon="t"/></sensor>
          <keyframe><key name="k" qpos=".1 .1" qvel=".4 .7"/></keyframe></mujoco>""",
        lambda pair: (
            mujoco.mj_resetDataKeyframe(pair.m, pair.d, 0),
            pair.world.apply_keyframe("k"),
        ),
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(ours, [-0.15, 0.4, -0.1, 0.7], atol=1e-12)


def test_oblique_range_finders_see_planes_where_they_are():
    """Within the half sizes of a plane, beyond either of them, from the side and from below."""
    sites = "".join(
        f'<site name="s{n}" pos="{x} {y} {z}" zaxis="{zaxis}"/>'
        for n, (x, y, z, zaxis) in enumerate(
            [
                (0, 0, 1, ".5 .2 -1"),
                (0, 0, 1, "-.5 -.7 -1"),
                (0, 0, 1, "1.3 0 -1"),
                (0, 0, 1, "-1.3 0 -1"),
                (0, 0, 1, "0 2.4 -1"),
                (0.4, -0.3, 1, "0 1.8 -1"),
                (0, 0, 1, "1 0 0"),
                (0, 0, -1, "0 0 1"),
                (0, 0, -1, ".1 0 -1"),
            ]
        )
    )
    rays = "".join(f'<rangefinder site="s{n}"/>' for n in range(9))
    theirs, ours = compare(
        f"""<mujoco><worldbody><geom type="plane" size="1 2 1"/><body pos="0 0 .1" euler="0 10 20">{sites}
          </body></worldbody><sensor>{rays}</sensor></mujoco>"""
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
    assert (ours > 0).sum() >= 3 and (ours < 0).sum() >= 4


def test_potential_energy_counts_springs_between_bodies_in_every_direction():
    """E = k (|p_b - p_a| - rest)^2 / 2, no gravity."""
    scene = msd.from_str(
        """<mujoco><option gravity="0 0 0"/><worldbody>
          <body name="a" pos="1 .5 -.3"><freejoint/><geom size=".1" mass="2"/></body>
          <body name="b" pos="3 -1.2 .9"><freejoint/><geom size=".1" mass="3"/></body></worldbody>
          <sensor><e_potential/></sensor></mujoco>""",
        format="mjcf",
    )
    first, second = msd.FrameRef(link="a"), msd.FrameRef(link="b")
    scene.distance_springs.append(
        msd.DistanceSpring(frame_a=first, frame_b=second, rest_length=1.5, stiffness=40.0, active=True)
    )
    world = sx.World.from_scene(scene)
    gap = np.array([2.0, -1.7, 1.2])
    expected = 20.0 * (np.linalg.norm(gap) - 1.5) ** 2
    assert world.sensors.values[0] == pytest.approx(expected, rel=1e-12)


def test_a_ray_meets_the_front_of_a_plane_within_its_half_sizes():
    """o + t d = 0 at z = 0; parallel rays, those from behind and those beyond either side miss."""
    bound = np.array([[1.0, 2.0], [0.0, 0.0]])
    cases = (
        ((0.2, 0.3, 2.0), (0.3, -0.4, -1.0), 2.0, 2.0),
        ((0.0, 0.0, 1.0), (1.5, 0.0, -1.0), REACH, 1.0),
        ((0.0, 0.0, 1.0), (-1.5, 0.0, -1.0), REACH, 1.0),
        ((0.0, 0.0, 1.0), (0.0, 1.5, -1.0), 1.0, 1.0),
        ((0.0, 0.0, 1.0), (0.0, 2.5, -1.0), REACH, 1.0),
        ((0.0, 0.0, 1.0), (0.0, -2.5, -1.0), REACH, 1.0),
        ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), REACH, REACH),
        ((0.0, 0.0, 1.0), (0.0, 0.0, 1.0), REACH, REACH),
        ((0.0, 0.0, -1.0), (0.0, 0.0, -1.0), REACH, REACH),
        ((0.0, 0.0, 0.0), (0.0, 0.0, -1.0), 0.0, 0.0),
    )
    for o, d, within, endless in cases:
        for s, expected in enumerate((within, endless)):
            assert _plane(Vec3(*o), Vec3(*d), bound, s) == pytest.approx(expected, rel=1e-15), (o, d, s)
