# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rings of range finders against as many single range finders, MuJoCo's and closed forms, in all layouts."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline.model import LaneSimulation

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")

COUNT = 7
_PLACE = 'pos=".1 .05 .2"'
TEXT = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="0 0 1" euler="20 0 0" pos="0 0 -1"/>
  <geom type="box" size=".2 .3 .5" pos="2 0 0" euler="0 0 20"/><geom type="sphere" size=".4" pos="-1 1.5 0"/>
  <geom type="cylinder" size=".3 .6" pos="-1.5 -1 0"/><geom type="capsule" size=".2 .6" pos=".2 -2 0"/>
  <body name="drone" pos="0 0 .1" euler="3 5 7"><freejoint/>
    <geom type="box" size=".1 .1 .05" mass="1" contype="0" conaffinity="0"/>
    <site name="mast" {place}/>{sites}</body></worldbody>
  <sensor>{sensors}</sensor></mujoco>"""


def _ring(**more) -> msd.World:
    scene = msd.from_str(TEXT.format(place=_PLACE, sites="", sensors=""), format="mjcf")
    kind = msd.SiteSensorType.RangeFinder
    scene.sensors.site = [msd.SiteSensor(name="ring", site="mast", type_=kind, ring=COUNT, **more)]
    return scene


def _single() -> str:
    """As many single range finders; z of a site leads along its ray."""
    sites, sensors = "", ""
    for k in range(COUNT):
        x, y = np.cos(2 * np.pi * k / COUNT), np.sin(2 * np.pi * k / COUNT)
        sites += f'<site name="r{k}" {_PLACE} zaxis="{x} {y} 0"/>'
        sensors += f'<rangefinder site="r{k}"/>'
    return TEXT.format(place=_PLACE, sites=sites, sensors=sensors)


def test_a_ring_reads_what_single_range_finders_read():
    world = sx.World.from_scene(_ring())
    ring = world.sensors["ring"]
    assert (ring.kind, ring.dim, ring.needs_dynamics) == ("rangefinder_ring", COUNT, False)
    m = mujoco.MjModel.from_xml_string(_single())
    d, rng, met = mujoco.MjData(m), np.random.default_rng(5), set()
    for _ in range(20):
        d.qpos[:3] = rng.uniform(-0.3, 0.3, 3)
        turn = np.array([1.0, 0.0, 0.0, 0.0]) + 0.3 * rng.normal(size=4)
        d.qpos[3:] = turn / np.linalg.norm(turn)
        mujoco.mj_forward(m, d)
        sim = world._live().sim
        sim.q[:] = d.qpos[[0, 1, 2, 4, 5, 6, 3]]
        sim.written()
        np.testing.assert_allclose(ring.value, d.sensordata, atol=1e-9)
        met |= set((ring.value > 0.0).tolist())
    assert met == {True, False}, "some rays meet nothing"


def test_a_ring_in_a_round_room_reads_its_radius():
    scene = msd.from_str(
        """<mujoco><worldbody><site name="s" pos="0 0 .1"/>
        <geom type="sphere" size="2" contype="0" conaffinity="0"/></worldbody></mujoco>""",
        format="mjcf",
    )
    # of a shape of its own body a range finder sees nothing
    kind = msd.SiteSensorType.RangeFinder
    scene.sensors.site = [msd.SiteSensor(name="blind", site="s", type_=kind, ring=3)]
    assert sx.World.from_scene(scene).sensors.values.tolist() == [-1.0] * 3
    text = """<mujoco><worldbody><geom type="sphere" size="2" contype="0" conaffinity="0"/>
      <body><freejoint/><geom size=".01" contype="0" conaffinity="0"/><site name="s" pos="0 0 .1"/></body>
      </worldbody></mujoco>"""
    scene = msd.from_str(text, format="mjcf")
    scene.sensors.site = [msd.SiteSensor(name="ring", site="s", type_=kind, ring=12, cutoff=1.5)]
    scene.sensors.site.append(msd.SiteSensor(name="open", site="s", type_=kind, ring=5))
    world = sx.World.from_scene(scene)
    assert world.sensors["ring"].value.tolist() == [1.5] * 12
    np.testing.assert_allclose(world.sensors["open"].value, (4.0 - 0.01) ** 0.5, rtol=1e-12)


def test_rings_of_many_worlds_are_those_of_one():
    scene = _ring()
    worlds = LaneSimulation(msd.build(scene), 6)
    rng = np.random.default_rng(2)
    worlds.q[:, :3] += rng.uniform(-0.2, 0.2, (6, 3))
    found = worlds.sensor_values()
    assert found.shape == (6, COUNT) and worlds.sensor_slices == {"ring": slice(0, COUNT)}
    world = sx.World.from_scene(scene)
    for w in range(6):
        world._live().sim.q[:] = worlds.q[w]
        world._live().sim.written()
        assert found[w].tobytes() == world.sensors.values.tobytes()
    assert len(np.unique(found)) > COUNT


@pytest.mark.parametrize("layout", ["threads", "lanes"])
def test_rings_of_a_batch_and_of_the_fixed_layout_are_those_of_a_world(layout):
    """The drone falls past the obstacles: readings after every few steps, with a cut-off that clips some."""
    scene = _ring(cutoff=3.0)
    batch = sx.WorldBatch(sx.World.from_scene(scene), 3, layout=layout)
    places = batch.joint_positions
    places[:, 0] += [0.0, 0.1, 0.25]
    batch.joint_positions = places
    worlds = [sx.World.from_scene(scene) for _ in range(3)]
    for world, q in zip(worlds, places, strict=True):
        world.fixed_layout = layout == "lanes"
        world._live().sim.q[:] = q
        world._live().sim.written()
    for _ in range(3):
        batch.step(20)
        for world in worlds:
            world.step(n=20)
        alone = np.stack([world.sensors["ring"].value for world in worlds])
        assert alone.tobytes() == batch.sensor_values.tobytes()
    assert (alone == 3.0).any() and (alone < 3.0).any() and len(np.unique(alone)) > COUNT


def test_a_ring_goes_through_files_or_is_reported():
    scene = _ring()
    again = sx.World.from_scene(msd.from_str(scene.to_str(), format="msd"))
    assert again.sensors.values.tolist() == sx.World.from_scene(scene).sensors.values.tolist()
    report = msd.Report()
    assert "rangefinder" not in scene.to_str(format="mjcf", report=report)
    assert "$.sensors.site[0]" in [entry.path for entry in report.losses]


def test_a_ring_of_another_quantity_is_refused():
    scene = _ring()
    scene.sensors.site[0].type_ = msd.SiteSensorType.Force
    world = sx.World.from_scene(scene)
    with pytest.raises(NotImplementedError, match=r"sensor 'ring' \(force\): a ring of rays"):
        world.sensors["ring"].value  # noqa: B018
    scene.sensors.site[0].ring = -1
    with pytest.raises(ValueError, match=r"sensors.site\[0\].ring"):
        msd.build(scene)
