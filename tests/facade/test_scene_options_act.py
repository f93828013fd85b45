# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Options of a scene act or are reported: every field is read by something below the readers and writers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import worldline
from worldline import model as wm
from worldline import msd
from worldline import simulation as sx

SOURCE = Path(worldline.__file__).parent / "_src"
ACTING = ("step", "model", "kernels", "facade", "scene/assets", "collision")
REPLACED = {
    "collision_iterations": "reported by scene_options.py",
    "collision_tolerance": "reported by scene_options.py",
    "convex_strategy": "all ways to make a hull make the same hull",
    "compute_energy": "energies can be read at any time",
}


def acting_text():
    return "\n".join(path.read_text() for part in ACTING for path in sorted((SOURCE / part).rglob("*.py")))


@pytest.mark.parametrize("name", sorted(msd.SimulateOption.__annotations__))
def test_every_option_of_a_scene_is_read_by_what_acts(name):
    read = re.search(rf"\.{name}\b", acting_text()) is not None
    assert read or name in REPLACED, f"no stage reads {name}: let it act, or report it by name"


def resting(**options):
    text = """<mujoco><worldbody><geom type="plane" size="5 5 1"/><body name="ball" pos="0 0 0.099"><freejoint/>
      <geom type="sphere" size="0.1"/></body></worldbody></mujoco>"""
    scene = msd.from_str(text, format="mjcf")
    for name, value in options.items():
        setattr(scene.simulate_option, name, value)
    return scene


@pytest.mark.parametrize(
    ("options", "path", "words"),
    [
        ({"solver_type": "CG"}, "solver_type", "Newton's method"),
        ({"solver_type": "PGSIMPR"}, "solver_type", "sequential impulses"),
        ({"solver_type": "Lemke"}, "solver_type", "Dantzig"),
        ({"collision_iterations": 7}, "collision_tolerance", "rounding"),
        ({"collision_tolerance": 1e-2}, "collision_tolerance", "rounding"),
    ],
)
def test_what_is_replaced_is_reported(options, path, words):
    world = sx.World.from_scene(resting(**options))
    notes = [str(entry) for entry in world.report.losses]
    assert any(f"$.simulate_option.{path}" in note and words in note for note in notes), notes
    assert not [n for n in sx.World.from_scene(resting()).report.losses if "simulate_option" in str(n)]


def test_a_cold_start_begins_with_the_motion_without_constraints():
    """With a single iteration a step shows where the solver began."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")
    text = """<mujoco><option timestep="0.01" iterations="1"><flag warmstart="{}"/></option><worldbody>
      <geom type="plane" size="5 5 1"/><body name="a" pos="0 0 0.3" euler="20 30 0"><freejoint/>
      <geom type="box" size="0.1 0.2 0.1"/></body></worldbody></mujoco>"""
    warm, cold = (
        sx.World.from_scene(msd.from_str(text.format(flag), format="mjcf")) for flag in ("enable", "disable")
    )
    model = mujoco.MjModel.from_xml_string(text.format("disable"))
    data = mujoco.MjData(model)
    apart = 0.0
    for _ in range(30):
        warm.step()
        cold.step()
        mujoco.mj_step(model, data)
        np.testing.assert_allclose(cold.rigid_bodies["a"].translation, data.qpos[:3], atol=1e-5)
        apart = max(apart, np.abs(warm.rigid_bodies["a"].translation - data.qpos[:3]).max())
    assert apart > 1e-4


@pytest.mark.parametrize("flag", ["enable", "disable"])
def test_switched_off_sensors_read_zero_as_in_mujoco(flag):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")
    text = f"""<mujoco><option><flag sensor="{flag}"/></option><worldbody><body name="a" pos="0 0 1">
      <joint name="slide" type="slide" axis="0 0 1"/><geom size="0.1"/><site name="s"/></body></worldbody>
      <sensor><jointpos joint="slide"/><accelerometer site="s"/><framepos objtype="site" objname="s"/></sensor></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.step(n=5)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 5)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(world.sensors.values, data.sensordata, atol=1e-9)
    assert world.sensors[0].value.any() == (flag == "enable")


def test_lanes_start_from_zero_where_asked_to():
    """Sweeps from the forces of the last step are over at once when a body rests; those from zero are not."""
    sweeps = {}
    for cold in (False, True):
        scene = resting(disable_warm_start=cold)
        scene.simulate_option.policy.contact_solver_method = "SequentialImpulse"
        worlds = wm.LaneSimulation(msd.build(scene), 2)
        worlds.step(300)
        sweeps[cold] = worlds.sweeps
        np.testing.assert_allclose(worlds.q[:, 2], worlds.q[0, 2], atol=0)
    assert (sweeps[False] == 1).all() and (sweeps[True] > 1).all()


def test_planes_with_half_sizes_end():
    scene = msd.World()
    scene.hierarchy.geoms.append(msd.Geometry(name="table", shape="Plane", size=[0.5, 0.3, 0.0]))
    for name, x in (("on", 0.4), ("off", 0.7)):
        ball = msd.Geometry(name=name, shape="Sphere", size=[0.1, 0.0, 0.0])
        link = msd.Link(name=name, geoms=[ball], local_translation=[x, 0.0, 0.15])
        scene.hierarchy.bodies.append(msd.Body(link=link, free=msd.FreeJoint()))
    world = sx.World.from_scene(scene)
    world.step(n=100)
    heights = {body.name: body.translation[2] for body in world.rigid_bodies}
    assert heights["on"] == pytest.approx(0.1, abs=5e-3) and heights["off"] < -1.0


def test_planes_of_mjcf_files_do_not_end():
    text = """<mujoco><worldbody><geom type="plane" size="0.5 0.3 1"/><body name="ball" pos="3 0 0.1"><freejoint/>
      <geom type="sphere" size="0.1"/></body></worldbody></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.step(n=100)
    assert world.rigid_bodies["ball"].translation[2] > 0.09
