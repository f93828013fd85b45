# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What a call raises is the built-in kind a Python programmer catches: files, capabilities, lookups."""

from __future__ import annotations

import numpy as np
import pytest

import worldline
from worldline import collision, msd
from worldline import simulation as sx

READERS = {
    "msd.from_file": msd.from_file,
    "World.from_file": sx.World.from_file,
    "World.add_scene": lambda path: sx.World().add_scene(path),
    "add_skeleton": lambda path: sx.add_skeleton(sx.World(), path),
    "add_world": lambda path: sx.add_world(sx.World(), path),
    "load_binary": lambda path: sx.World().load_binary(path),
    "Recording.load": sx.Recording.load,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("suffix", [".xml", ".urdf", ".sdf", ".json"])
def test_a_missing_file_is_a_file_not_found_error(name, suffix, tmp_path):
    path = tmp_path / f"nothing{suffix}"
    with pytest.raises(FileNotFoundError, match="nothing") as caught:
        READERS[name](str(path))
    assert isinstance(caught.value, (worldline.SceneError, ValueError))
    assert caught.value.filename == str(path) and caught.value.errno == 2


def test_a_missing_file_within_a_file_is_a_scene_error_with_its_place(tmp_path):
    file = tmp_path / "robot.xml"
    file.write_text("<mujoco><include file='no.xml'/></mujoco>")
    with pytest.raises(worldline.SceneError, match=r"no\.xml") as caught:
        msd.from_file(file)
    assert not isinstance(caught.value, FileNotFoundError)  # the file that was asked for is there


def body_joint(kind):
    world = sx.World()
    return world.add_joint(world.add_rigid_body("b"), sx.JointSpec(type=kind))


ASKED = {
    "cable joint of a body": lambda p: body_joint(sx.JointType.CABLE),
    "floating joint of a body": lambda p: body_joint(sx.JointType.FLOATING),
    "scalar": lambda p: sx.World(dtype=np.float32),
    "integration family": lambda p: sx.MultibodyOptions(integration_family="xpbd"),
    "detector": lambda p: collision.CollisionDetector.create("nobody's"),
    "format by name": lambda p: msd.from_str("#usda 1.0", format="usd"),
    "format by content": lambda p: msd.from_file(p),
    "format to write": lambda p: msd.World().to_file(p),
    "barrier method": lambda p: sx.World(rigid_body_solver=sx.RigidBodySolver.IPC).step(),
    "derivatives": lambda p: sx.World(
        differentiable=True,
        multibody_options=sx.MultibodyOptions(sx.MultibodyIntegrationFamily.VARIATIONAL),
    ).step(),
}


@pytest.mark.parametrize("what", ASKED)
def test_an_unknown_capability_is_a_not_implemented_error(what, tmp_path):
    path = tmp_path / "scene.usda"
    path.write_text("#usda 1.0\n")
    with pytest.raises(NotImplementedError) as caught:
        ASKED[what](path)
    assert isinstance(caught.value, worldline.CapabilityError)


def test_unknown_names_in_square_brackets_are_key_errors():
    world = sx.World()
    arm = world.add_multibody("arm")
    arm.add_link("base")
    for collection in (
        world.rigid_bodies,
        world.multibodies,
        world.frames,
        world.loop_closures,
        world.joints,
        world.markers,
        world.sensors,
        arm.links,
        arm.joints,
        arm.dofs,
        arm.end_effectors,
    ):
        with pytest.raises(KeyError):
            collection["nobody"]
