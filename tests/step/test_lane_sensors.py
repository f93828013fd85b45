# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors of many worlds: bit for bit those of one world, and as a World reads them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from lane_scenes import TEXTS, scatter

from worldline import msd
from worldline import simulation as sx
from worldline.model import LaneSimulation

SITES = """<site name="chest" pos=".1 .02 .03" euler="10 20 30" size=".3"/>
    <camera name="eye" pos="0 -1 .5" euler="80 5 10" resolution="640 480"/>"""
FOOT = """<site name="sole" pos=".03 0 -.03" type="box" size=".2 .1 .1" euler="5 0 10"/>"""
KINDS = {
    "state": """<jointpos joint="hip"/><jointvel joint="knee"/><ballquat joint="tail"/><ballangvel joint="tail"/>
      <clock/><e_kinetic/><e_potential/>""",
    "frames": """<framepos objtype="site" objname="sole"/><framequat objtype="body" objname="foot"/>
      <framexaxis objtype="geom" objname="shank"/><frameyaxis objtype="xbody" objname="thigh"/>
      <framezaxis objtype="site" objname="sole" reftype="site" refname="chest"/>
      <framelinvel objtype="site" objname="sole" reftype="site" refname="chest"/>
      <frameangvel objtype="body" objname="shin"/><framelinacc objtype="site" objname="sole"/>
      <frameangacc objtype="body" objname="thigh"/><gyro site="chest"/><velocimeter site="sole"/>
      <accelerometer site="sole" cutoff="6"/><magnetometer site="chest"/>
      <camprojection site="sole" camera="eye"/><insidesite site="chest" objtype="xbody" objname="thigh"/>""",
    "subtrees": """<subtreecom body="trunk"/><subtreelinvel body="thigh"/><subtreeangmom body="trunk"/>""",
    "actuators": """<actuatorpos actuator="drive"/><actuatorvel actuator="drive"/><actuatorfrc actuator="drive"/>
      <jointactuatorfrc joint="hip"/>""",
    "forces": """<force site="sole"/><torque site="sole"/><touch site="sole"/>""",
    "limits": """<jointlimitpos joint="knee"/><jointlimitvel joint="knee"/><jointlimitfrc joint="knee"/>""",
    "shapes": """<rangefinder site="chest"/><distance geom1="shank" geom2="floor" cutoff="3"/>
      <contact num="4" data="found force dist pos normal" body1="foot"/>""",
}
BRANCHING = {"limits", "shapes"}
"""Kinds that are read one world at a time."""


def _text(sensors, cone="pyramidal"):
    text = TEXTS["monopod, pyramid" if cone == "pyramidal" else "monopod, cone"]
    text = text.replace('<body name="thigh"', f'{SITES}<body name="thigh"', 1)
    text = text.replace('stiffness="4"/>', f'stiffness="4"/>{FOOT}', 1)
    text = text.replace('size=".03" mass=".6"/>', 'size=".03" mass=".6" name="shank"/>', 1)
    text = text.replace('<position joint="hip"', '<position name="drive" joint="hip"', 1)
    return text.replace("</mujoco>", f"<sensor>{sensors}</sensor></mujoco>")


def _worlds(text, count=5):
    worlds = LaneSimulation(msd.build(msd.from_str(text, format="mjcf")), count)
    worlds.q[:, 2] -= 0.14
    scatter(worlds, 3)
    return worlds


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("kind", KINDS)
def test_readings_are_those_of_one_world_and_of_a_world(kind, cone):
    text = _text(KINDS[kind], cone)
    worlds, touched = _worlds(text), 0
    assert worlds.sensor_refused == {}
    for _ in range(3):
        worlds.step(25)
        found = worlds.sensor_values()
        assert found.shape == (5, worlds.model.sensors.size)
        # lanes, threads and groups change no bit
        assert worlds.sensor_values(lanes=1).tobytes() == found.tobytes()
        assert worlds.sensor_values(threads=2).tobytes() == found.tobytes()
        world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
        sim = world._live().sim
        for w in range(5):
            sim.q[:], sim.v[:] = worlds.q[w], worlds.v[w]
            sim.written()
            if len(sim.activation):
                sim.activation[:] = worlds.activation[w]
            world.actuator_controls = worlds.control[w]
            world.time = worlds.time
            wanted = world.sensors.values
            scale = np.maximum(1.0, np.abs(wanted))
            # solvers of lanes stop at another residual
            assert (np.abs(found[w] - wanted) / scale).max() < 1e-4, (kind, w)
            touched += int(np.abs(found[w]).max() > 0.0)
    assert touched >= 10, "nothing was measured"


def test_slices_name_the_numbers_of_every_sensor():
    worlds = _worlds(_text('<jointpos name="a" joint="hip"/><gyro name="b" site="chest"/><clock name="c"/>'))
    assert worlds.sensor_slices == {"a": slice(0, 1), "b": slice(1, 4), "c": slice(4, 5)}
    worlds.step(10)
    found = worlds.sensor_values()
    assert found[:, worlds.sensor_slices["a"]].tolist() == worlds.q[:, 7:8].tolist()
    assert found[:, 4].tolist() == [worlds.time] * 5


def test_a_reading_changes_no_bit_of_the_next_steps():
    text = _text("".join(KINDS.values()))
    watched = _worlds(text)
    alone = copy.deepcopy(watched)
    for _ in range(4):
        watched.sensor_values()
        watched.step(10)
        alone.step(10)
    assert watched.q.tobytes() == alone.q.tobytes() and watched.kept.tobytes() == alone.kept.tobytes()
    assert watched.sensor_values().tobytes() == alone.sensor_values().tobytes()


def test_readings_follow_every_write():
    worlds = _worlds(_text('<jointpos joint="hip"/><accelerometer site="chest"/>'))
    worlds.q[:, 2] = 5.0
    worlds.q[:, 7] = np.arange(5) * 0.1
    before = worlds.sensor_values()
    assert before[:, 0].tolist() == worlds.q[:, 7].tolist()
    # a force against the weight of every body, in one world
    worlds.body_f[2, :, 5] = 9.81 * worlds.model.body_mass
    change = np.linalg.norm((worlds.sensor_values() - before)[:, 1:], axis=1)
    np.testing.assert_allclose(change, (0.0, 0.0, 9.81, 0.0, 0.0), atol=1e-9)


def test_what_cannot_be_read_is_refused_by_name():
    worlds = _worlds(
        _text('<jointpos name="slow" joint="hip" interval=".1"/><jointpos name="q" joint="hip"/>')
    )
    assert list(worlds.sensor_refused) == ["slow"] and "period" in worlds.sensor_refused["slow"]
    found = worlds.sensor_values()
    assert np.isnan(found[:, 0]).all() and found[:, 1].tolist() == worlds.q[:, 7].tolist()
    with pytest.raises(ValueError, match="threads must be"):
        worlds.sensor_values(threads=-1)
    with pytest.raises(ValueError, match="lanes must be"):
        worlds.sensor_values(lanes=3)


def test_a_model_without_sensors_has_no_numbers():
    worlds = _worlds(_text(""))
    assert worlds.sensor_values().shape == (5, 0) and worlds.sensor_slices == {}
    off = _text('<jointpos joint="hip"/>').replace(
        "<option ", '<option><flag sensor="disable"/></option><option ', 1
    )
    assert _worlds(off).sensor_values().tolist() == [[0.0]] * 5
