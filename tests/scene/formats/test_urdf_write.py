# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Writing URDF: what it says comes back, what it cannot say is reported, and nothing else happens."""

from __future__ import annotations

import math

import numpy as np
import pytest
import rewriting
from rewriting import assert_same_motion, differences, rewrite

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.assets.mesh import from_data
from worldline._src.scene.assets.rotations import from_rpy, rotation_matrix
from worldline._src.scene.formats.parts import stl
from worldline._src.scene.formats.rigid import roll_pitch_yaw

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0.02" rpy="0.3 0.2 1.5708"/><mass value="2.5"/>'
    '<inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="-0.001" izz="0.04"/></inertial>'
)


def joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="0.1 0.2 0.3" rpy="0.1 -0.2 0.3"/>'
        f'<parent link="{parent}"/><child link="{child}"/>{inside}</joint>'
    )


ARM = f"""<robot name="arm">
  <material name="red"><color rgba="1 0 0 0.5"/></material>
  <link name="world"><collision><geometry><box size="4 4 0.1"/></geometry></collision></link>
  <link name="base">{INERTIAL}
    <visual name="shell"><origin xyz="0 0 1" rpy="0 1.5707963 0"/><geometry><cylinder radius="0.1" length="0.5"/>
      </geometry><material name="red"/></visual>
    <visual><geometry><sphere radius="0.2"/></geometry><material name=""><color rgba="0 1 0 1"/></material></visual>
    <collision name="hull"><geometry><box size="0.1 0.2 0.3"/></geometry></collision>
    <contact><lateral_friction value="0.4"/><restitution value="0.2"/></contact>
  </link>
  <link name="upper">{
    INERTIAL
}<collision><geometry><capsule radius="0.1" length="0.5"/></geometry></collision></link>
  <link name="lower">{INERTIAL}</link><link name="slide">{INERTIAL}</link><link name="wheel">{INERTIAL}</link>
  <link name="puck">{INERTIAL}</link><link name="tool"/>
  {joint("float", "floating", "world", "base")}
  {
    joint(
        "shoulder",
        "revolute",
        "base",
        "upper",
        '<axis xyz="0 0.6 0.8"/><limit lower="-1" upper="2" effort="30" velocity="4" acceleration="9"/>'
        '<dynamics damping="0.5" friction="0.25"/>',
    )
}
  {joint("elbow", "continuous", "upper", "lower", '<axis xyz="0 0 -1"/><limit effort="7" velocity="8"/>')}
  {
    joint(
        "jaw",
        "prismatic",
        "lower",
        "slide",
        '<axis xyz="1 0 0"/><limit lower="0" upper="0.1" effort="1" velocity="1"/>'
        '<mimic joint="elbow" multiplier="-0.05" offset="0.01"/>',
    )
}
  {joint("spin", "continuous", "base", "wheel", '<axis xyz="0 1 0"/>')}
  {joint("table", "planar", "base", "puck", '<axis xyz="0 0.6 0.8"/>')}
  {joint("mount", "fixed", "slide", "tool")}
</robot>"""


def test_a_robot_of_everything_comes_back_as_it_was(tmp_path):
    scene = msd.from_str(ARM, "urdf")
    back, report, text = rewrite(scene, tmp_path, ".urdf")
    # all readers but some know capsules
    assert [entry.fate.value for entry in report] == ["kept"] and "capsule" in str(report)
    assert list(differences(scene, back)) == []
    assert_same_motion(scene, back)
    # numbers stay as short as they were
    assert 'rpy="0.3 0.2 1.5708"' in text and 'rpy="0 1.5707963 0"' in text
    again, _, second = rewrite(back, tmp_path, ".urdf")
    assert second == text and again == back


def test_the_comparison_notices_changes():
    scene = msd.from_str(ARM, "urdf")
    changed = scene.deepcopy()
    link = changed.hierarchy.bodies[0].link
    link.children[0].joints[0].axis = (0, 0.6, 0.8001)
    link.inertial.full_inertia = [0.02, 0.03, 0.04, 0.001, 0.002, 0.001]
    changed.couplers[0].offset = 0.02
    assert len(list(differences(scene, changed))) == 3


HINGES = """<mujoco><compiler angle="radian"/><option timestep="0.01"/><worldbody>
  <body name="box" pos="0 0 2"><freejoint/><geom size="0.2"/></body>
  <body name="post" pos="1 0 0.5" quat="0.9 0.1 0.3 0.2"><geom type="box" size="0.1 0.2 0.3"/>
    <body name="arm" pos="0.2 0 0"><joint name="a" axis="0 1 0" pos="-0.2 0.1 0.3" range="-1 1" damping="0.5"/>
      <geom type="capsule" size="0.05 0.2" pos="0.1 0 0" quat="1 1 0 0"/>
      <body name="hand" pos="0.3 0 0"><joint name="b" axis="1 0 1" pos="0 0 0.1"/>
        <joint name="c" type="slide" axis="0 0 1" pos="0.3 0 0"/>
        <joint name="d" axis="0 1 1" pos="0 0.2 0"/>
        <geom type="ellipsoid" size="0.1 0.2 0.3" pos="0 0 0.2"/><geom size="0.1" mass="0.5"/></body></body></body>
</worldbody></mujoco>"""


def test_frames_move_onto_joints_and_links_with_several_become_chains(tmp_path):
    scene = msd.from_str(HINGES, "mjcf")
    back, report, _ = rewrite(scene, tmp_path, ".urdf")
    assert_same_motion(scene, back)
    said = str(report)
    assert "moved onto its joint" in said and "several joints of a link" in said
    assert "mass properties that follow from the shapes" in said
    assert "bodies[1].link.children[0].children[0].geoms[0]: URDF has no such shape as a Ellipsoid" in said
    names = [link.name for link in back.hierarchy.links()]
    assert names == ["box", "post", "arm", "hand_b", "hand_c", "hand"]
    assert [body.free is not None for body in back.hierarchy.bodies] == [True, False]


def one_joint(**more) -> msd.World:
    """A fixed post, and an arm on a joint of any type."""
    scene = msd.World(name="one")
    post = msd.Link(name="post", geoms=[msd.Geometry(size=(0.1, 0, 0))])
    arm = msd.Link(name="arm", local_translation=(0.1, 0.2, 0.3), local_rotation=(0.1, 0.2, 0.3, 0.9))
    arm.geoms.append(msd.Geometry(shape="Box", size=(0.1, 0.2, 0.3), position=(0.3, 0.1, 0.2)))
    arm.joints.append(msd.Joint(name="j", pos=(0.05, 0.1, -0.1), orientation=(0.3, 0.1, 0.2, 0.8), **more))
    post.children.append(arm)
    scene.hierarchy.bodies.append(msd.Body(link=post, multibody="one"))
    return scene


CHAINS = [
    ({"type_": "Universal", "axis": (0, 0, 1), "axis2": (1, 0.5, 0)}, ["j_1", "j_2"]),
    ({"type_": "Planar", "axis": (0, 1, 1), "axis2": (1, 1, 0)}, ["j_1", "j_2", "j_3"]),
    ({"type_": "Euler", "euler_order": "ZYX"}, ["j_1", "j_2", "j_3"]),
    ({"type_": "Translational"}, ["j_1", "j_2", "j_3"]),
    ({"type_": "Translational2D", "axis": (0, 1, 0), "axis2": (1, 0, 1)}, ["j_1", "j_2"]),
    ({"type_": "Cable", "axis": (0, 1, 0), "axis2": (1, 0, 1)}, ["j_1", "j_2"]),
    (
        {
            "type_": "D6",
            "dofs": [
                msd.JointDof(axis=(1, 0, 0), angular=False, pos_limit=(-1, 1)),
                msd.JointDof(axis=(0, 1, 2)),
            ],
        },
        ["j_1", "j_2"],
    ),
]


@pytest.mark.parametrize(("settings", "names"), CHAINS, ids=lambda value: str(value)[:30])
def test_joints_of_several_freedoms_move_the_same_as_chains(settings, names, tmp_path):
    scene = one_joint(**settings)
    back, report, _ = rewrite(scene, tmp_path, ".urdf")
    assert report.is_exact and "chain of joints" in str(report)
    found = [joint.name for link in back.hierarchy.links() for joint in link.joints]
    assert found == names
    assert_same_motion(scene, back)


def test_a_ball_becomes_three_turns_and_a_screw_a_turn_and_a_slide(tmp_path):
    back, report, _ = rewrite(one_joint(type_="Ball"), tmp_path, ".urdf")
    assert "approximated: $.hierarchy.bodies[0].link.children[0].joints[0]: a ball joint" in str(report)
    assert [j.type_.name for link in back.hierarchy.links() for j in link.joints] == ["Revolute"] * 3
    back, report, _ = rewrite(one_joint(type_="Screw", axis=(0, 1, 0), pitch=0.02), tmp_path, ".urdf")
    assert "a screw is written as" in str(report)
    (coupler,) = back.couplers
    assert (coupler.joint, coupler.reference, coupler.multiplier) == ("j_advance", "j", 0.02)


@pytest.mark.parametrize("suffix", [".urdf", ".sdf"])
def test_a_base_that_is_free_by_a_joint_is_told_where_its_coordinates_count_from(suffix, tmp_path):
    scene = one_joint(axis=(0, 0, 1))
    scene.hierarchy.bodies[0].link.joints.append(msd.Joint(name="f", type_="Free"))
    back, report, _ = rewrite(scene, tmp_path, suffix)
    assert back.hierarchy.bodies[0].free is not None
    assert "$.hierarchy.bodies[0].link.joints[0]: its coordinates are the pose in the world" in str(report)


def test_frozen_joints_are_fixed_where_they_are(tmp_path):
    import worldline.model as wm

    for settings, q in (({"axis": (0, 1, 0), "ref_": 0.2}, [0.7]), ({"type_": "Ball"}, [0.1, 0.2, 0.3, 0.9])):
        scene = one_joint(**settings)
        scene.freeze({"j": q})
        back, report, _ = rewrite(scene, tmp_path, ".urdf")
        assert "a frozen joint is written as a fixed one" in str(report)
        a, b = msd.build(scene), msd.build(back)
        poses = [wm.forward_kinematics(m, np.zeros((1, 0)))[0, 1] for m in (a, b)]
        assert np.allclose(poses[0][:3], poses[1][:3], atol=1e-12)
        assert np.allclose(rotation_matrix(poses[0][3:]), rotation_matrix(poses[1][3:]), atol=1e-12)


@pytest.mark.parametrize("kind", ["Revolute", "Slide"])
def test_coordinates_keep_their_meaning_where_a_scene_is_drawn_elsewhere(kind, tmp_path):
    scene = one_joint(type_=kind, axis=(0, 1, 2), ref_=0.4)
    back, report, _ = rewrite(scene, tmp_path, ".urdf")
    assert [entry.path for entry in report.losses] == [
        "$.hierarchy.bodies[0].link.children[0].joints[0].ref_"
    ]
    assert_same_motion(scene, back)


# what cannot be said

LOSSES = rewriting.LOSSES | {"$.simulate_option.timestep": "<option timestep='0.003'/>"}
PART = """<mujoco>{}<worldbody><geom name='f' type='plane' size='1 1 1'/><site name='w'/><light/>
  <camera name='c' pos='0 0 1'/><body name='b'><joint name='h' armature='0.1' stiffness='3' margin='0.1' range='-1 1'/>
  <geom name='g' size='0.1' friction='0.5 0.1 0.1' condim='4' margin='0.01' contype='2' rgba='1 0 0 1'/>
  <site name='s'/></body></worldbody></mujoco>"""
ALWAYS = [
    "$.hierarchy.geoms[0]",
    "$.hierarchy.sites[0]",
    "$.hierarchy.lights[0]",
    "$.hierarchy.cameras[0]",
    "$.hierarchy.bodies[0].link.joints[0].armature",
    "$.hierarchy.bodies[0].link.joints[0].spring_damper.coeff.k",
    "$.hierarchy.bodies[0].link.joints[0].margin",
    "$.hierarchy.bodies[0].link.geoms[0].margin",
    "$.hierarchy.bodies[0].link.geoms[0].collision_mask",
    "$.hierarchy.bodies[0].link.geoms[0].physics_material.condim",
    "$.hierarchy.bodies[0].link.geoms[0].physics_material.friction",
    "$.hierarchy.bodies[0].link.sites[0]",
]


@pytest.mark.parametrize("path", LOSSES)
def test_losses_are_told_with_their_place(path):
    scene = msd.from_str(PART.format(LOSSES[path]), "mjcf")
    report = msd.Report()
    scene.to_str(format="urdf", report=report)
    found = {entry.path for entry in report.losses}
    assert {path, *ALWAYS} <= found


def changes(scene: msd.World) -> list[tuple[object, str, object]]:
    """Fields that URDF has no place for, one of every kind of object."""
    body = scene.hierarchy.bodies[0]
    link = body.link.children[0]
    closure = msd.LoopClosure(name="c", family="Point", frame_b=msd.FrameRef(link="tool"))
    return [
        (link, "gravcomp", 0.5),
        (link, "disable_self_collision", True),
        (link, "may_fuse", False),
        (link, "sites", [msd.Site(name="s")]),
        (link.joints[0], "group", 2),
        (link.joints[0], "actuator_gravcomp", True),
        (link.joints[0], "limit_force", msd.ConstraintForceModel.hard(0.1, 0.2)),
        (link.joints[0], "actuator_force_limit", msd.Range(-1, 1)),
        (link.geoms[0], "gap", 0.1),
        (link.geoms[0], "priority", 2),
        (body, "linear_velocity", (1, 0, 0)),
        (body.free, "armature", 0.1),
        (scene.simulate_option, "gravity", (0, 0, -1.6)),
        (scene.compile_options, "fuse_static", True),
        (scene.assets.materials["red"], "metallic", 1.0),
        (scene.couplers[0], "spring", msd.ImpedanceSpring()),
        (scene, "frames", [msd.Frame(name="tip", parent_link="tool")]),
        (scene, "loop_closures", [closure]),
        (scene, "distance_springs", [msd.DistanceSpring(frame_b=msd.FrameRef(link="tool"))]),
    ]


@pytest.mark.parametrize("index", range(len(changes(msd.from_str(ARM, "urdf")))))
def test_fields_without_a_place_are_told(index):
    scene = msd.from_str(ARM, "urdf")
    owner, name, value = changes(scene)[index]
    setattr(owner, name, value)
    report = msd.Report()
    scene.to_str(format="urdf", report=report)
    (loss,) = report.losses
    assert loss.path.removesuffix("[0]").endswith(f".{name}")


def test_strict_writing_refuses_and_leaves_no_file(tmp_path):
    scene = msd.from_str(PART.format(""), "mjcf")
    with pytest.raises(SceneError, match="would be lost"):
        scene.to_file(tmp_path / "x.urdf", strict=True)
    assert list(tmp_path.iterdir()) == []
    msd.from_str(ARM, "urdf").to_file(tmp_path / "x.urdf", strict=True)


# meshes, names, numbers

TETRAHEDRON = msd.MeshData(
    name="flake",
    vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    triangles=[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
)


FINE = msd.MeshData(vertices=TETRAHEDRON.vertices / 3.0, triangles=TETRAHEDRON.triangles)
PAINTED = msd.MeshData(
    vertices=TETRAHEDRON.vertices,
    triangles=TETRAHEDRON.triangles,
    texcoord=[[0, 0], [0, 1], [1, 1], [0.1, 0]],
)


def with_mesh(data: msd.MeshData = TETRAHEDRON) -> msd.World:
    scene = one_joint(axis=(0, 0, 1))
    scene.assets.meshes["flake / one"] = msd.MeshSource.buffer(data)
    link = scene.hierarchy.bodies[0].link.children[0]
    link.geoms = [msd.Geometry(shape="Mesh", mesh="flake / one", mesh_scale=(0.5, 1, 2), position=(1, 0, 0))]
    return scene


@pytest.mark.parametrize(
    ("data", "suffix", "precision"),
    [(TETRAHEDRON, ".stl", 1e-12), (FINE, ".obj", 1e-6), (PAINTED, ".obj", 1e-12)],
)
def test_meshes_held_as_arrays_get_files(data, suffix, precision, tmp_path):
    """Meshes are read in single precision, which tells how near they come back."""
    scene = with_mesh(data)
    back, report, text = rewrite(scene, tmp_path, ".urdf")
    (file,) = tmp_path.rglob(f"*{suffix}")
    assert file.relative_to(tmp_path).as_posix() in text and report.is_exact
    ours, theirs = (AssetLibrary(world) for world in (scene, back))
    first = ours.geom_properties(scene.hierarchy.bodies[0].link.children[0].geoms[0])
    # the frame of the file's link is on the joint
    link = back.hierarchy.bodies[0].link.children[0]
    second = theirs.geom_properties(link.geoms[0])
    assert second.mass == pytest.approx(first.mass, rel=precision)
    shift = np.array([0.05, 0.1, -0.1])
    assert np.allclose(second.com + shift, first.com, rtol=0, atol=precision)
    assert np.allclose(second.inertia, first.inertia, rtol=precision)
    # the inertia of the link is in the file itself
    assert_same_motion(scene, back)
    ours, theirs = ours.mesh("flake / one"), theirs.mesh(link.geoms[0].mesh)
    assert (theirs.texcoords is None) == (ours.texcoords is None)
    if ours.texcoords is not None:
        assert np.allclose(theirs.texcoords, ours.texcoords)


def test_meshes_in_pieces_or_moved_get_files(tmp_path):
    (tmp_path / "flake.stl").write_bytes(stl(from_data(TETRAHEDRON)))
    scene = with_mesh()
    turned = msd.MeshTransform(position=(0.5, 0, 0), rotation=(0.5, 0.5, 0.5, 0.5), scale=(2, 2, 1))
    scene.assets.meshes["flake / one"] = msd.MeshSource.path("flake.stl", transform=turned)
    scene.source_path = str(tmp_path / "scene.json")
    back, report, text = rewrite(scene, tmp_path, ".urdf")
    assert report.is_exact and "scene_assets/flake_one.stl" in text
    first = AssetLibrary(scene).mesh("flake / one").bounds
    second = AssetLibrary(back).mesh("flake_one").bounds
    assert np.allclose(first, second, rtol=0, atol=1e-12)


def test_the_scale_of_a_mesh_goes_to_its_shapes(tmp_path):
    (tmp_path / "flake.stl").write_bytes(stl(from_data(TETRAHEDRON)))
    scene = with_mesh()
    scene.assets.meshes["flake / one"] = msd.MeshSource.path("flake.stl", msd.MeshTransform(scale=(2, 1, 1)))
    scene.source_path = str(tmp_path / "scene.json")
    back, report, text = rewrite(scene, tmp_path, ".urdf")
    assert report.is_exact and '<mesh filename="flake.stl" scale="1 1 2"/>' in text
    assert_same_motion(scene, back)


def test_relative_paths_start_at_the_new_file(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "flake.stl").write_bytes(stl(from_data(TETRAHEDRON)))
    scene = with_mesh()
    scene.assets.meshes["flake / one"] = msd.MeshSource.path("flake.stl")
    scene.source_path = str(tmp_path / "a" / "scene.json")
    _, report, text = rewrite(scene, tmp_path / "b", ".urdf")
    assert report.is_exact and 'filename="../a/flake.stl"' in text


def test_a_mesh_that_is_missing_where_it_is_weighed_is_refused(tmp_path):
    scene = with_mesh()
    scene.assets.meshes["flake / one"] = msd.MeshSource.path("nowhere.stl")
    scene.source_path = str(tmp_path / "scene.json")
    with pytest.raises(SceneError, match=r"children\[0\].inertial: no file 'nowhere.stl'"):
        scene.to_file(tmp_path / "x.urdf")


def test_text_alone_has_no_place_for_arrays():
    report = msd.Report()
    text = with_mesh().to_str(format="urdf", report=report)
    assert "<mesh" not in text
    assert "$.assets.meshes['flake / one']: needs a file of its own" in str(report)


HOSTILE = ["a b", "<&>\"'", "é漢🤖", "tab\tin", "x" * 300, "new\nline", " ends ", "../up", "{x}%s"]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_survive_whatever_they_are(name, tmp_path):
    scene = one_joint(axis=(0, 0, 1))
    scene.name = scene.hierarchy.bodies[0].multibody = name
    link = scene.hierarchy.bodies[0].link.children[0]
    link.name, link.joints[0].name, link.geoms[0].name = name, name, name
    scene.assets.materials[name] = msd.Material(name=name)
    link.geoms[0].visual.material = name
    back, _, _ = rewrite(scene, tmp_path, ".urdf")
    below = back.hierarchy.bodies[0].link.children[0]
    assert (back.name, below.name, below.joints[0].name) == (name, name, name)
    assert below.geoms[1].name == name and below.geoms[0].visual.material == name


@pytest.mark.parametrize("name", ["nul\x01", "esc\x1b[0m", "\ud800", "\ufffe"])
def test_names_that_xml_cannot_hold_are_refused(name, tmp_path):
    scene = one_joint(axis=(0, 0, 1))
    scene.hierarchy.bodies[0].link.name = name
    with pytest.raises(SceneError, match=r"bodies\[0\].link.name"):
        scene.to_file(tmp_path / "x.urdf")
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_missing_or_taken_are_made(tmp_path):
    scene = one_joint(axis=(0, 0, 1))
    scene.name = ""
    body = scene.hierarchy.bodies[0]
    body.multibody, body.link.name, body.link.children[0].joints[0].name = None, "world", None
    body.link.children[0].name = None
    back, report, _ = rewrite(scene, tmp_path, ".urdf")
    assert back.name == "robot" and [link.name for link in back.hierarchy.links()] == ["world_link", "link_1"]
    assert back.hierarchy.bodies[0].link.children[0].joints[0].name == "link_1_joint"
    assert [entry.path for entry in report.losses] == ["$.hierarchy.bodies[0].link.name"]


def test_numbers_that_are_none_are_never_written(tmp_path):
    for value in (math.nan, math.inf):
        scene = one_joint(axis=(0, 0, 1))
        scene.hierarchy.bodies[0].link.geoms[0].position[1] = value
        with pytest.raises(SceneError):
            scene.to_file(tmp_path / "x.urdf")
    for shape, message in (
        ("Box", "a computed number is inf"),
        ("Sphere", "link.inertial: link 'post': its mass is too large"),
    ):
        scene = one_joint(axis=(0, 0, 1))
        geom = scene.hierarchy.bodies[0].link.geoms[0]
        geom.shape, geom.size = shape, [1e200, 1e200, 1e200]
        with pytest.raises(SceneError, match=message):
            scene.to_file(tmp_path / "x.urdf")
    assert list(tmp_path.iterdir()) == []


def test_no_limit_is_a_number_for_others_and_none_for_us(tmp_path):
    scene = one_joint(type_="Slide", axis=(0, 0, 1), pos_limit=(-math.inf, 0.5))
    back, report, text = rewrite(scene, tmp_path, ".urdf")
    joint = back.hierarchy.bodies[0].link.children[0].joints[0]
    assert joint.pos_limit == msd.Range(-math.inf, 0.5) and math.isinf(joint.effort_limit)
    assert "inf" not in text.replace("<inertial", "") and report.is_exact


def test_angles_give_the_rotation_back_everywhere():
    rng = np.random.default_rng(0)
    turns = list(rng.normal(size=(300, 4)))
    for pitch in (0.5 * math.pi, -0.5 * math.pi, 0.5 * math.pi - 1e-9, 1.5707963, 1e-9, math.pi):
        turns += [from_rpy(*rng.uniform(-7, 7, 1), pitch, *rng.uniform(-7, 7, 1)) for _ in range(20)]
    for turn in turns:
        turn = turn / np.linalg.norm(turn)
        angles, exact = roll_pitch_yaw(turn)
        found = from_rpy(*angles)
        assert np.array_equal(found, turn) if exact else abs(found @ turn) > 1 - 1e-15
        assert np.abs(rotation_matrix(found) - rotation_matrix(turn)).max() < 2e-15
