# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds that are saved in the middle of a run and go on elsewhere: the same bits in a new process."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

CHILD = """
import hashlib, json, sys
from worldline import simulation as sx
for path in json.loads(sys.argv[1]):
    world = sx.World()
    world.load_binary(path)
    world.step(n=100)
    print(hashlib.sha256(world.state_vector.tobytes()).hexdigest(), flush=True)
"""
PACKAGES = {"dm_control": "suite", "gymnasium": "envs/mujoco/assets"}
TENDON = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 1"/>
  <site name="post" pos="0 0 2"/>
  <body name="load" pos="0.3 0.1 1"><freejoint/><geom size="0.1"/><site name="hook" pos="0 0 0.1"/>
    <body name="leg" pos="0.1 0 0"><joint name="hip" axis="0 1 0"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 -0.3"/><site name="toe" pos="0.3 0 -0.3"/></body>
  </body></worldbody>
  <tendon><spatial name="rope" stiffness="40" damping="2"><site site="post"/><site site="hook"/></spatial>
    <spatial name="sinew"><site site="hook"/><site site="toe"/></spatial></tendon>
  <equality><tendon tendon1="sinew"/></equality>
  <actuator><motor name="pull" tendon="sinew" gear="20"/></actuator></mujoco>"""


def digest(world: sx.World) -> str:
    return hashlib.sha256(world.state_vector.tobytes()).hexdigest()


def models(package: str) -> list[Path]:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return sorted((Path(spec.submodule_search_locations[0]) / PACKAGES[package]).glob("*.xml"))


def in_the_middle(world: sx.World) -> sx.World:
    rng = np.random.default_rng(1)
    for _ in range(5):
        world.actuator_controls = rng.uniform(-1.0, 1.0, len(world.actuator_controls))
        world.step(n=30)
    return world


def elsewhere(paths: list[Path]) -> list[str]:
    """States after 100 steps of saved worlds in one new process."""
    command = [sys.executable, "-c", CHILD, json.dumps([str(path) for path in paths])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


def continued(world: sx.World, path: Path) -> str:
    """Save a world, let it, a clone and a replay of it go on, and return the state that all of them reach."""
    world.save_binary(path)
    twin = world.clone()
    world.replay_recording_enabled = True
    world.step(n=100)
    wanted = digest(world)
    twin.step(n=100)
    assert digest(twin) == wanted, f"clone of {path.name}"
    world.restore_replay_frame(0)
    world.step(n=100)
    assert digest(world) == wanted, f"replay of {path.name}"
    return wanted


def test_tendons_of_a_body_that_moved_away(tmp_path):
    """What is derived at the reference configuration must not follow the body to where it is now."""
    path = tmp_path / "world.bin"
    wanted = continued(in_the_middle(sx.World.from_scene(msd.from_str(TENDON, format="mjcf"))), path)
    assert elsewhere([path]) == [wanted]


def test_the_reference_configuration_stays(tmp_path):
    """The model of a clone and of a saved World is compiled at the configuration the first one was."""
    world = sx.World()
    world.add_rigid_body("stone", position=(0.1, 0.2, 3.0), angular_velocity=(1, 2, 3))
    world.enter_simulation_mode()
    start = world._live().model.joint_q.copy()
    world.step(n=200)
    world.save_binary(tmp_path / "world.bin")
    other = sx.World()
    other.load_binary(tmp_path / "world.bin")
    for each in (world.clone(), other):
        assert each._live().model.joint_q.tobytes() == start.tobytes()
        assert each.state_vector.tobytes() == world.state_vector.tobytes()


def test_a_description_keeps_rest_lengths_of_tendons():
    world = in_the_middle(sx.World.from_scene(msd.from_str(TENDON, format="mjcf")))
    again = sx.World.from_scene(world.to_scene())
    world.step(n=20)
    again.step(n=20)
    # a new World solves its first step from another start; rest lengths that moved would be off by 1e-2
    np.testing.assert_allclose(again.state_vector, world.state_vector, atol=1e-8)


def test_meshes_come_along(tmp_path):
    """A saved World does not need the files it was loaded from, wherever it is saved."""
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    text = "v 0 0 0\nv 0.2 0 0\nv 0 0.2 0\nv 0 0 0.2\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "from" / "tetra.obj").write_text(text)
    (tmp_path / "from" / "scene.xml").write_text(
        """<mujoco><asset><mesh name="m" file="tetra.obj" scale="1.5 1 1"/></asset><worldbody>
        <geom type="plane" size="5 5 1"/><body pos="0 0 0.3"><freejoint/><geom type="mesh" mesh="m"/></body>
        </worldbody></mujoco>"""
    )
    world = sx.World.from_file(tmp_path / "from" / "scene.xml")
    world.step(n=150)
    path = tmp_path / "to" / "world.bin"
    world.save_binary(path)
    (tmp_path / "from" / "tetra.obj").unlink()
    world.step(n=100)
    assert elsewhere([path]) == [digest(world)]


@pytest.mark.parametrize("package", PACKAGES)
def test_models_of_packages(package, tmp_path):
    wanted = {
        file.stem: continued(in_the_middle(sx.World.from_file(file)), tmp_path / f"{file.stem}.bin")
        for file in models(package)
    }
    found = elsewhere([tmp_path / f"{name}.bin" for name in wanted])
    assert dict(zip(wanted, found, strict=True)) == wanted and len(wanted) >= 14


# ---- what a World forgets when it becomes another one


def measured() -> sx.World:
    world = sx.World()
    world.add_ground_plane()
    box = world.add_rigid_body("box", position=(0, 0, 0.1))
    box.add_collision_shape(CollisionShape.sphere(0.1))
    world.add_marker("spot", box)
    world.sensors.add_imu("unit", attach_to=box)
    other = world.add_rigid_body("other", position=(0, 0, 1))
    world.add_joint(box, other, sx.JointSpec(name="weld", type=sx.JointType.FIXED))
    arm = world.add_multibody("arm")
    arm.add_link("tip", joint=sx.JointSpec(name="hinge"))
    world.add_fixed_frame("tool", arm.links["tip"])
    return world


def every_handle(world: sx.World) -> list:
    arm = world.multibodies["arm"]
    found = [world.rigid_bodies["box"], world.sensors["unit"], world.markers["spot"], world.joints["weld"]]
    return [*found, world.frames["tool"], arm, arm.links["tip"], arm.joints["hinge"], arm.dofs[0]]


@pytest.mark.parametrize("how", ["load_binary", "clear"])
def test_no_handle_outlives_its_world(tmp_path, how):
    world = measured()
    world.step(n=5)
    world.save_binary(tmp_path / "world.bin")
    old = every_handle(world)
    assert all(handle.is_valid for handle in old)
    if how == "clear":
        world.clear()
    else:
        world.load_binary(tmp_path / "world.bin")
        assert all(handle.is_valid for handle in every_handle(world))
    assert [type(handle).__name__ for handle in old if handle.is_valid] == []
    for read in (lambda: old[1].value, lambda: old[1].kind, lambda: old[2].translation, lambda: old[3].type):
        with pytest.raises(RuntimeError, match="not valid any more: its World was"):
            read()


def test_a_sensor_of_the_same_name_is_another_sensor():
    world = measured()
    old = world.sensors["unit"]
    world.remove(old)
    world.sensors.add_imu("unit", attach_to=world.rigid_bodies["other"])
    assert not old.is_valid and world.sensors["unit"].is_valid
    with pytest.raises(RuntimeError, match="not valid any more"):
        _ = old.value


def test_a_loaded_world_records(tmp_path):
    world = measured()
    world.step(n=5)
    world.save_binary(tmp_path / "world.bin")
    world.replay_recording_enabled = True
    replay = world.replay
    world.step(n=3)
    world.load_binary(tmp_path / "world.bin")
    assert world.replay is replay and world.replay_frame_count == 0 and not world.replay_recording_enabled
    world.replay_recording_enabled = True
    world.step(n=4)
    assert world.replay_frame_count == 5
    world.restore_replay_frame(0)
    assert world.frame == 5
