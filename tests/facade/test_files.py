# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Files and descriptions: what goes in comes out, whole files or nothing, and bit for bit after a save."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from facade.scenes import bits, pendulum, rich
from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import OperationError, SceneError
from worldline._src.scene import validate
from worldline._src.scene.formats import load

MJCF = """<mujoco><option timestep="0.004" gravity="0 0 -3"/><worldbody>
<body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0" damping="0.5"/><geom size="0.1" pos="1 0 0"/></body>
<body name="ball" pos="2 0 0"><freejoint name="fly"/><geom size="0.1"/></body></worldbody></mujoco>"""
URDF = """<robot name="rod"><link name="base"/><link name="tip"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.fixture
def urdf(tmp_path):
    file = tmp_path / "rod.urdf"
    file.write_text(URDF)
    return file


def moving():
    world = sx.World(0.002, multibody_options=sx.MultibodyOptions("implicit-damping"))
    robot = rich(world)
    robot.joints.velocity = np.linspace(-1, 1, 5)
    world.step(37)
    return world, robot


# ---- descriptions


def test_a_description_brings_bodies_and_options():
    world = sx.World.from_scene(msd.from_str(MJCF, format="mjcf"))
    assert world.time_step == 0.004 and world.gravity.tolist() == [0, 0, -3]
    assert world.rigid_bodies.names == ["ball"] and world.multibodies.names == ["arm"]
    assert world.multibodies["arm"].joints["hinge"].damping_coefficient.tolist() == [0.5]
    assert world.multibody_options.integration_family is sx.MultibodyIntegrationFamily.IMPLICIT_DAMPING


@pytest.mark.parametrize(
    ("option", "losses"),
    [
        ('integrator="implicitfast"', 0),
        ('integrator="implicit"', 2),  # of the file, and of the World
        ('integrator="implicitfast" viscosity="1"', 1),
    ],
)
def test_implicit_integrators_of_files_are_one_family(option, losses):
    scene = msd.from_str(MJCF.replace("<option", f"<option {option}"), format="mjcf")
    world = sx.World.from_scene(scene)
    assert world.multibody_options.integration_family is sx.MultibodyIntegrationFamily.IMPLICIT_VELOCITY
    told = [str(entry) for entry in world.report.losses]
    assert len(told) == losses and all("explicit" in text for text in told)
    written = msd.from_str(world.to_scene().to_str(format="mjcf"), format="mjcf")
    assert written.simulate_option.integrator.name == "ImplicitFast"


def test_the_description_given_is_not_kept():
    scene = msd.from_str(MJCF, format="mjcf")
    untouched = scene.deepcopy()
    world = sx.World.from_scene(scene)
    world.rigid_bodies["ball"].mass = 5.0
    world.add_multibody("x").add_link()
    assert scene == untouched


def test_a_world_survives_its_description():
    world, robot = moving()
    scene = world.to_scene()
    again = sx.World.from_scene(scene)
    assert again.to_scene() == scene and again.options == world.options and again.time == world.time
    assert (
        again.multibodies.names == ["robot", "empty"] and again.rigid_bodies.names == world.rigid_bodies.names
    )
    twin = again.multibodies["robot"]
    assert twin.links.names == robot.links.names and twin.joints.names == robot.joints.names
    assert (twin.joints.position == robot.joints.position).all()
    assert (twin.joints.target_position == robot.joints.target_position).all()
    assert again.rigid_bodies["ground"].linear_velocity.tolist() == [0, 0, 1]
    assert (
        again.rigid_bodies["box"].force.tolist() == [1, 2, 3] and again.rigid_bodies["box"].friction == 0.25
    )
    assert again.frames["eye"].parent_frame is again.frames["tool"]
    assert (
        again.loop_closures["rod"].compute_residual().norm
        == world.loop_closures["rod"].compute_residual().norm
    )
    world.step(10)
    again.step(10)
    assert [b.tobytes() for b in (twin.joints.position, twin.joints.velocity)] == [
        b.tobytes() for b in (robot.joints.position, robot.joints.velocity)
    ]


@pytest.mark.parametrize("family", list(sx.MultibodyIntegrationFamily))
@pytest.mark.parametrize("method", list(sx.ContactSolverMethod))
def test_options_survive_a_description(family, method):
    world = sx.World(
        0.3,
        gravity=(1, 2, 3),
        differentiable=True,
        rigid_body_solver=sx.RigidBodySolver.IPC,
        multibody_options=sx.MultibodyOptions(family, 7, 1e-5),
        contact_solver_method=method,
        contact_gradient_mode=sx.ContactGradientMode.PRE_CONTACT_SURROGATE,
        compute_accelerator_policy=sx.ComputeAcceleratorPolicy.PREFER_ACCELERATED,
        deactivation_options=sx.DeactivationOptions(True, 1, 2, 3, 4, 5, 6),
    )
    again = sx.World.from_scene(msd.from_str(world.to_scene().to_str(), format="msd"))
    assert again.options == world.options


def test_a_description_with_state_draws_free_bodies_where_they_are():
    world, _ = moving()
    body = world.to_scene().hierarchy.bodies[0]
    assert (body.link.local_translation == world.rigid_bodies["box"].translation).all()


# ---- files


def test_a_file_becomes_a_world(urdf):
    world = sx.World.from_file(urdf)
    (robot,) = world.multibodies
    assert robot.links.names == ["base", "tip"] and robot.joints.names == ["turn"]
    assert sx.World.from_file(f"file://{urdf}").num_multibodies == 1


def test_a_file_is_validated_once_and_again_after_an_edit(urdf, monkeypatch):
    found = []
    examine = validate.examine

    def counted(*args):
        found.append(args[0])
        return examine(*args)

    monkeypatch.setattr(validate, "examine", counted)
    monkeypatch.setattr(load, "examine", counted)
    world = sx.World.from_file(urdf)
    world.step()
    assert len(found) == 1
    edited = sx.World.from_file(urdf)
    edited.add_rigid_body("box")
    edited.step()
    assert len(found) == 3
    floating = sx.World.from_file(urdf, read_options=sx.ReadOptions(root_joint=sx.RootJointType.FLOATING))
    floating.validate_topology()
    assert len(found) == 5
    sx.World.from_scene(msd.from_str(URDF, format="urdf")).step()
    assert len(found) == 7


def test_what_an_edit_breaks_is_found_when_the_world_is_compiled(urdf):
    world = sx.World.from_file(urdf)
    world.add_rigid_body("box")
    world.rigid_bodies["box"]._link.inertial.mass = -1.0
    with pytest.raises(SceneError, match="mass"):
        world.step()


def test_root_joints_can_be_chosen(urdf):
    floating = sx.World.from_file(urdf, read_options=sx.ReadOptions(root_joint=sx.RootJointType.FLOATING))
    assert floating.multibodies[0].num_dofs == 7
    fixed = sx.World.from_scene(msd.from_str(MJCF, format="mjcf"))
    assert fixed.rigid_bodies.names == ["ball"]


def test_formats_can_be_named(tmp_path):
    file = tmp_path / "robot.txt"
    file.write_text(URDF)
    assert (
        sx.World.from_file(file, read_options=sx.ReadOptions(sx.ModelFormat.URDF)).multibodies[0].num_links
        == 2
    )
    with pytest.raises(SceneError):
        sx.World.from_file(file, read_options=sx.ReadOptions(sx.ModelFormat.MJCF))


def test_add_skeleton_gives_one_multibody_with_the_names_of_the_file(urdf):
    world = sx.World()
    first = sx.add_skeleton(world, str(urdf))
    second = sx.add_skeleton(world, urdf, options=sx.SkeletonLoadOptions(translation=(1, 0, 0)))
    third = sx.add_skeleton(world, urdf, options=sx.SkeletonLoadOptions(name="third"))
    assert [r.name for r in (first, second, third)] == ["rod", "rod_002", "third"]
    for robot in world.multibodies:
        assert robot.links.names == ["base", "tip"] and robot.joints.names == ["turn"]
    assert second.links["tip"].translation[0] == 1.0
    world.step()


def test_an_unreadable_model_is_refused_and_nothing_changes(tmp_path):
    world = sx.World()
    with pytest.raises(SceneError, match="Failed to read Skeleton"):
        sx.add_skeleton(world, tmp_path / "missing.urdf")
    (tmp_path / "bad.urdf").write_text("<robot><link/></robot>")
    with pytest.raises(SceneError, match="Failed to read Skeleton"):
        sx.add_skeleton(world, tmp_path / "bad.urdf")
    assert world.num_multibodies == 0


def test_add_scene_returns_what_came(urdf):
    world = sx.World()
    pendulum(world)
    result = world.add_scene(msd.from_str(MJCF, format="mjcf"), prefix="x_", translation=(0, 0, 5))
    assert [b.name for b in result.rigid_bodies] == ["x_ball"] and [m.name for m in result.multibodies] == [
        "x_arm"
    ]
    assert result.rigid_bodies[0].translation.tolist() == [2, 0, 5] and result.source is None
    loaded = sx.add_world(world, urdf, prefix="y_")
    assert loaded.source == str(urdf) and [link.name for link in loaded.links] == ["y_base", "y_tip"]


def test_add_scene_onto_a_link_extends_its_multibody(urdf):
    world = sx.World()
    arm = pendulum(world)
    result = world.add_scene(urdf, prefix="tool_", at=arm.links["bob"], translation=(1, 0, 0))
    assert result.multibodies == () and arm.links.names == ["base", "bob", "tool_base", "tool_tip"]
    assert arm.links["tool_base"].parent_link is arm.links["bob"] and arm.joints.names == [
        "hinge",
        "tool_turn",
    ]
    assert arm.links["tool_base"].translation.tolist() == [1, 0, 0]


def test_a_scene_with_taken_names_changes_nothing(urdf):
    world = sx.World()
    world.add_scene(urdf)
    before = world.to_scene()
    with pytest.raises(SceneError, match="names of this one"):
        world.add_scene(urdf)
    assert world.to_scene() == before and world.num_multibodies == 1


def test_a_scene_added_with_state_keeps_it():
    source, robot = moving()
    world = sx.World()
    result = world.add_scene(source.to_scene(), prefix="l_")
    twin = result.multibodies[0]
    assert twin.name == "l_robot" and twin.links.names == robot.links.names
    assert (twin.joints.position == robot.joints.position).all() and (
        twin.joints.velocity == robot.joints.velocity
    ).all()


def test_what_is_lost_is_reported():
    text = URDF.replace("</robot>", "<transmission name='t'/></robot>")
    world = sx.World()
    result = world.add_scene(msd.from_str(text, format="urdf"))
    assert not result.report.is_exact and "transmission" in str(result.report)


# ---- binary files


def test_a_loaded_world_goes_on_bit_for_bit(tmp_path):
    world, robot = moving()
    robot.links["hand"].apply_force((1, 2, 3))
    robot.links["left"].mass = 3.3
    robot.joints["l"].damping_coefficient = 0.1 / 3
    world.save_binary(tmp_path / "w.bin")
    other = sx.World()
    other.load_binary(tmp_path / "w.bin")
    assert bits(other) == bits(world) and other.frame == world.frame and other.options == world.options
    for n in (1, 50):
        world.step(n)
        other.step(n)
        assert bits(other) == bits(world)
    world.reset()
    other.reset()
    assert bits(other) == bits(world) and other.is_simulation_mode


def test_a_design_world_loads_in_design_mode_and_numbers_go_on(tmp_path):
    world = sx.World()
    for _ in range(3):
        world.add_rigid_body()
    world.rigid_bodies["rigid_body_003"].remove()
    arm = world.add_multibody()
    arm.add_link()
    world.save_binary(tmp_path / "w.bin")
    other = sx.World()
    other.load_binary(tmp_path / "w.bin")
    assert not other.is_simulation_mode and other.add_rigid_body().name == "rigid_body_004"
    assert (
        other.add_multibody().name == "multibody_002" and other.multibodies[0].add_link().name == "link_002"
    )


def test_loading_kills_old_handles(tmp_path):
    world = sx.World()
    box = world.add_rigid_body("box")
    world.save_binary(tmp_path / "w.bin")
    world.load_binary(tmp_path / "w.bin")
    assert not box.is_valid and world.rigid_bodies["box"].is_valid
    with pytest.raises(OperationError, match="loaded from a file"):
        _ = box.mass


def test_hostile_files_are_refused_and_leave_the_world_as_it_was(tmp_path):
    world, robot = moving()
    file = tmp_path / "w.bin"
    world.save_binary(file)
    whole = file.read_bytes()
    before, scene = bits(world), world.to_scene()
    rng = np.random.default_rng(5)
    damaged = [whole[:n] for n in (0, 7, 51, 52, 60, len(whole) // 2, len(whole) - 1)] + [
        whole + b"x",
        b"\x00" * 100,
    ]
    for _ in range(20):
        place = int(rng.integers(len(whole)))
        damaged.append(
            whole[:place] + bytes([whole[place] ^ (1 << int(rng.integers(8)))]) + whole[place + 1 :]
        )
    damaged.append(whole[:12] + struct.pack("<Q", 2**60) + whole[20:])
    for data in damaged:
        file.write_bytes(data)
        with pytest.raises(SceneError, match=r"w\.bin"):
            world.load_binary(file)
    with pytest.raises(SceneError, match="cannot be read"):
        world.load_binary(tmp_path / "missing.bin")
    assert bits(world) == before and world.to_scene() == scene and robot.is_valid


def test_a_file_with_a_right_checksum_and_wrong_content_is_refused(tmp_path):
    import hashlib

    import msgspec

    world, _ = moving()
    file = tmp_path / "w.bin"
    world.save_binary(file)
    content = msgspec.msgpack.decode(file.read_bytes()[52:])
    wrong = {
        "state": {**content["state"], "q": b"\x00" * 8},
        "scene": b"\x93\x01\x02\x03",
        "parameters": {},
        "numbers": {"x": 1},
        "initial": None,
        "time_start": float("nan"),
        "simulating": 3,
    }
    for name, value in wrong.items():
        payload = msgspec.msgpack.encode({**content, name: value})
        header = struct.pack("<8sIQ32s", b"WORLDLIN", 3, len(payload), hashlib.sha256(payload).digest())
        file.write_bytes(header + payload)
        before = bits(world)
        with pytest.raises(SceneError):
            world.load_binary(file)
        assert bits(world) == before
    file.write_bytes(struct.pack("<8sIQ32s", b"WORLDLIN", 99, 0, b"") + b"")
    with pytest.raises(SceneError, match="version 99"):
        world.load_binary(file)


# ---- models of others


def _suites() -> list[Path]:
    found: list[Path] = []
    for module, folder in (("gymnasium", "envs/mujoco/assets"), ("dm_control", "suite")):
        try:
            found += sorted(Path(__import__(module).__file__, "..", folder).resolve().glob("*.xml"))
        except ImportError:
            continue
    return found


@pytest.mark.parametrize("file", _suites(), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_links_of_known_models_are_where_mujoco_puts_them(file):
    mujoco = pytest.importorskip("mujoco", reason="the kinematics to compare with")
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    peer = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(peer)
    world = sx.World.from_file(file, read_options=sx.ReadOptions(allow_outside=True))
    links = {link._link.name: link for robot in world.multibodies for link in robot.links}
    links |= {body._link.name: body for body in world.rigid_bodies}
    names = [peer.body(i).name for i in range(1, peer.nbody)]
    assert set(filter(None, names)) <= links.keys() and len(links) == peer.nbody - 1
    joints = [j.name for robot in world.multibodies for j in robot.joints]
    assert {peer.joint(i).name for i in range(peer.njnt) if peer.jnt_type[i]} - {""} <= set(joints)
    rng = np.random.default_rng(0)
    order = list(links.values()) if "" in names else [links[name] for name in names]
    for _ in range(3):
        for j in range(peer.njnt):
            start, kind = peer.jnt_qposadr[j], peer.jnt_type[j]
            link = order[peer.jnt_bodyid[j] - 1]
            turn = rotation.random(random_state=int(rng.integers(1000)))
            if kind == 0:
                place = rng.normal(size=3)
                data.qpos[start : start + 7] = (*place, *turn.as_quat()[[3, 0, 1, 2]])
                if isinstance(link, sx.RigidBody):
                    link.translation, link.quaternion = place, turn.as_quat()
                else:
                    link.parent_joint.position = (*place, *turn.as_rotvec())
                continue
            joint = link.parent_joints[j - peer.body_jntadr[peer.jnt_bodyid[j]]]
            if kind == 1:
                data.qpos[start : start + 4] = turn.as_quat()[[3, 0, 1, 2]]
                joint.position = turn.as_rotvec()
            else:
                data.qpos[start] = rng.normal()
                joint.position = [data.qpos[start]]
        mujoco.mj_kinematics(peer, data)
        if "" in names:
            continue
        for i, name in enumerate(names, start=1):
            assert links[name].translation == pytest.approx(data.xpos[i], abs=1e-13)
            assert links[name].rotation == pytest.approx(data.xmat[i].reshape(3, 3), abs=1e-13)
    scene = world.to_scene()
    assert sx.World.from_scene(scene).to_scene() == scene
