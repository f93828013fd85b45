# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Writing SDF: what it says comes back, what it cannot say is reported, and other readers agree."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest
import rewriting
from rewriting import assert_same_motion, differences, rewrite
from sdf_scenes import DATA, joint, load, model
from test_urdf_write import ARM, CHAINS, HINGES, HOSTILE, PART, TETRAHEDRON, one_joint

import worldline.model as wm
from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.assets.library import AssetLibrary

WEIGHT = (
    "<inertial><pose>0.1 0 0.2 0.1 0.2 0.3</pose><mass>1.5</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy>"
    "<izz>0.15</izz><ixy>0.01</ixy></inertia></inertial>"
)
SHAPE = '<collision name="s"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>'
PARTS = (
    f'<link name="a">{WEIGHT}</link><link name="b"><pose>1 0 0 0 0 0</pose>{WEIGHT}</link>'
    f'<link name="c"><pose>2 0 0 0.1 0.2 0.3</pose>{WEIGHT}</link>'
)
LIMITED = "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>"


def local(name: str) -> str:
    """A name without the models it stands in."""
    return name.rsplit("::", 1)[-1]


def assert_survives(scene: msd.World, folder: Path) -> str:
    """Nothing to report, and the same scene; returns the text."""
    back, report, text = rewrite(scene, folder, ".sdf")
    assert not len(report), str(report)
    assert list(differences(scene, back)) == []
    assert_same_motion(scene, back)
    return text


# what comes back


@pytest.mark.parametrize("name", ["frames", "axes_1_4", "axes_1_5", "axes_1_6"])
def test_files_of_every_version_come_back_as_they_were(name, tmp_path):
    assert_survives(msd.from_file(DATA / f"{name}.sdf"), tmp_path)


JOINTS = {
    "springs": joint(
        "j",
        "revolute",
        "a",
        "b",
        "<pose>0.1 0.2 0.3 0.4 0.5 0.6</pose><axis><xyz>0 1 1</xyz><limit><lower>-1</lower><effort>3</effort>"
        "<velocity>4</velocity></limit><dynamics><damping>0.3</damping><friction>0.2</friction>"
        "<spring_reference>0.1</spring_reference><spring_stiffness>5</spring_stiffness></dynamics></axis>",
    ),
    "slide": joint("j", "prismatic", "a", "b", LIMITED),
    "ball": joint("j", "ball", "a", "b", "<pose>0.1 0.2 0.3 0 0 0</pose>"),
    "universal": joint(
        "j",
        "universal",
        "a",
        "b",
        "<axis><xyz>1 0 0</xyz><dynamics><damping>2</damping></dynamics></axis><axis2><xyz>0 1 0</xyz></axis2>",
    ),
    "screw": joint(
        "j", "screw", "a", "b", "<axis><xyz>1 0 0</xyz></axis><screw_thread_pitch>0.3</screw_thread_pitch>"
    ),
    "held": joint("w", "fixed", "world", "a")
    + joint("j", "continuous", "a", "b", "<axis><xyz>1 0 0</xyz></axis>"),
    "mimic": joint("j", "revolute", "a", "b", LIMITED)
    + joint(
        "k",
        "revolute",
        "b",
        "c",
        LIMITED.replace(
            "</axis>", '<mimic joint="j"><multiplier>-2</multiplier><offset>0.5</offset></mimic></axis>'
        ),
    ),
    "gearbox": joint("j", "revolute", "a", "b", LIMITED)
    + joint("k", "revolute", "a", "c", LIMITED)
    + joint(
        "gear",
        "gearbox",
        "b",
        "c",
        "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
        '<axis><xyz expressed_in="b">0 0 1</xyz></axis><axis2><xyz expressed_in="c">0 0 1</xyz></axis2>',
    ),
}


@pytest.mark.parametrize("name", JOINTS)
def test_joints_come_back_as_they_were(name, tmp_path):
    scene = model(PARTS + JOINTS[name])
    assert name not in ("mimic", "gearbox") or len(scene.couplers) == 1
    assert_survives(scene, tmp_path)


@pytest.mark.parametrize("kind", ["fixed", "ball", "revolute", "prismatic", "universal", "screw"])
def test_loops_are_closed_again(kind, tmp_path):
    axes = {"fixed": "", "ball": ""}.get(kind, "<axis><xyz>0 1 0</xyz></axis>")
    scene = model(
        PARTS
        + joint("w", "fixed", "world", "a")
        + joint("j", "revolute", "a", "b", LIMITED)
        + joint("k", "revolute", "b", "c", LIMITED)
        + joint("loop", kind, "a", "c", f"<pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>{axes}")
    )
    assert len(scene.loop_closures) + len(scene.joints) == 1
    text = assert_survives(scene, tmp_path)
    assert "<must_be_loop_joint>true" in text


def test_a_world_of_models_comes_back(tmp_path):
    looks = (
        '<visual name="v"><cast_shadows>false</cast_shadows><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid>'
        "</geometry><material><diffuse>1 0 0 1</diffuse><emissive>0 0 1 0</emissive>"
        "<double_sided>true</double_sided><pbr><metal><metalness>0.9</metalness><roughness>0.1</roughness></metal>"
        "</pbr></material></visual>"
    )
    surface = (
        '<collision name="c"><pose>0 0 1 0 0 0.5</pose><geometry><capsule><radius>0.1</radius><length>0.4</length>'
        "</capsule></geometry><density>700</density><surface><friction><ode><mu>0.3</mu><mu2>0.3</mu2></ode>"
        "</friction><bounce><restitution_coefficient>0.5</restitution_coefficient></bounce>"
        "<contact><collide_bitmask>12</collide_bitmask></contact></surface></collision>"
    )
    plane = '<collision name="p"><geometry><plane><normal>0 0 1</normal></plane></geometry></collision>'
    box = '<collision name="b"><geometry><box><size>1 2 3</size></box></geometry></collision>'
    scene = load(
        '<world name="yard"><gravity>0 0 -3.7</gravity><physics type="x"><max_step_size>0.004</max_step_size>'
        "</physics><wind><linear_velocity>1 0 0</linear_velocity></wind><magnetic_field>1 2 3</magnetic_field>"
        f'<model name="ground"><static>true</static><link name="l">{WEIGHT}{plane}</link>'
        f'<link name="m"><pose>1 2 3 0 0 1</pose>{WEIGHT}{box}</link></model>'
        f'<model name="robot"><pose>0 0 1 0 0.1 0</pose><link name="a">{WEIGHT}{looks}{surface}</link>'
        f'<link name="b"><pose>1 0 0 0 0 0</pose>{WEIGHT}<gravity>false</gravity>{SHAPE}</link>'
        f'{joint("j", "revolute", "a", "b", LIMITED)}<frame name="tip" attached_to="b"><pose>0 0 1 0 0 0</pose>'
        f'</frame><model name="inner"><link name="a">{WEIGHT}{SHAPE}</link></model></model>'
        f'<model name="pusher"><link name="a">{WEIGHT}<kinematic>true</kinematic>{SHAPE}</link></model>'
        f'<frame name="table"><pose>1 2 3 0 0 0.5</pose></frame></world>',
        version="1.11",
    )
    assert len(scene.hierarchy.bodies) == 4 and len(scene.collision_ignores.link_pairs) == 2
    text = assert_survives(scene, tmp_path)
    assert "<self_collide>" not in text


def test_a_robot_of_urdf_moves_the_same(tmp_path):
    scene = msd.from_str(ARM, "urdf")
    back, report, _ = rewrite(scene, tmp_path, ".sdf")
    assert_same_motion(scene, back, plain=local)
    first = "$.hierarchy.bodies[0]"
    assert [entry.path for entry in report.losses] == [
        f"{first}.link.children[0].joints[0].acceleration_limit",
        f"{first}.free.name",
    ]
    (coupler,) = back.couplers
    assert (local(coupler.joint), local(coupler.reference), coupler.multiplier) == ("jaw", "elbow", -0.05)


def test_a_scene_of_mjcf_moves_the_same(tmp_path):
    scene = msd.from_str(HINGES, "mjcf")
    back, report, text = rewrite(scene, tmp_path, ".sdf")
    assert_same_motion(scene, back, plain=local)
    assert "<ellipsoid>" in text and "<self_collide>true" in text
    assert "names carry the name of their model" in str(report)
    names = [link.name for link in back.hierarchy.links()]
    assert sorted(map(local, names)) == ["arm", "box", "hand", "hand_b", "hand_c", "post"]


@pytest.mark.parametrize(("settings", "names"), CHAINS, ids=lambda value: str(value)[:30])
def test_joints_of_several_freedoms_move_the_same(settings, names, tmp_path):
    scene = one_joint(**settings)
    back, report, _ = rewrite(scene, tmp_path, ".sdf")
    assert report.is_exact
    assert_same_motion(scene, back)
    assert len(list(back.hierarchy.links())) == (2 if settings["type_"] == "Universal" else 1 + len(names))


def robots() -> list[Path]:
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    chosen = ("panda.urdf", "solo12.urdf", "anymal.urdf", "tiago.urdf")
    return sorted(Path(str(file.locate())).resolve() for file in files if file.name in chosen)


@pytest.mark.skipif(not robots(), reason="the package example-robot-data is not installed")
@pytest.mark.parametrize("path", robots(), ids=lambda path: path.name)
def test_robots_of_the_world_move_the_same(path, tmp_path):
    scene = msd.from_file(path, allow_outside=True)
    back, report, _ = rewrite(scene, tmp_path, ".sdf")
    # links and joints share names in URDF, and materials may be there for nothing
    assert all(".name" in entry.path or ".materials" in entry.path for entry in report.losses), str(report)
    assert_same_motion(scene, back, plain=local, states=1)
    assert len(back.couplers) == len(scene.couplers)


def test_a_link_that_is_free_of_its_parent_floats(tmp_path):
    back, report, _ = rewrite(one_joint(type_="Free"), tmp_path, ".sdf")
    assert "floats by itself" in str(report) and len(back.hierarchy.bodies) == 2


# closures that SDF cannot have as they are


def loop(**more) -> msd.World:
    scene = one_joint(axis=(0, 0, 1))
    scene.hierarchy.bodies[0].link.children[0].joints[0].orientation = (0, 0, 0, 1)
    settings = {"name": "c", "family": "Point", "dynamics": "Solve", "frame_b": msd.FrameRef(link="arm")}
    scene.loop_closures.append(msd.LoopClosure(**settings | more))
    return scene


@pytest.mark.parametrize(
    ("more", "path", "words"),
    [
        ({"family": "Distance"}, "$.loop_closures[0]", "no joint for a closure of the family Distance"),
        ({"enabled": False}, "$.loop_closures[0]", "only measured"),
        ({"dynamics": "ResidualOnly"}, "$.loop_closures[0]", "only measured"),
        ({}, "$.loop_closures[0]", "its ends are apart"),
        ({"kinematics": "Project"}, "$.loop_closures[0].kinematics", "no place"),
        ({"spring": msd.ImpedanceSpring()}, "$.loop_closures[0].spring", "no place"),
    ],
)
def test_closures_that_cannot_be_said_are_told(more, path, words, tmp_path):
    _, report, _ = rewrite(loop(**more), tmp_path, ".sdf")
    assert any(entry.path == path and words in entry.message for entry in report.losses)


def test_ends_that_meet_are_exact_and_the_world_is_never_a_child(tmp_path):
    place = (0.1, 0.2, 0.3)
    back, report, _ = rewrite(loop(frame_a=msd.FrameRef(position=place)), tmp_path, ".sdf")
    assert report.is_exact and len(back.loop_closures) == 1
    scene = loop(frame_a=msd.FrameRef(link="arm"), frame_b=msd.FrameRef(position=place))
    back, report, _ = rewrite(scene, tmp_path, ".sdf")
    assert report.is_exact and "exchanged" in str(report)
    assert back.loop_closures[0].frame_b.link == "arm"


def test_a_closure_that_alone_holds_two_bodies_is_told(tmp_path):
    scene = msd.World(name="two")
    for name in ("p", "q"):
        link = msd.Link(name=name, geoms=[msd.Geometry(size=(0.1, 0, 0))])
        scene.hierarchy.bodies.append(msd.Body(free=msd.FreeJoint(), link=link))
    ends = {"frame_a": msd.FrameRef(link="p"), "frame_b": msd.FrameRef(link="q")}
    scene.loop_closures.append(msd.LoopClosure(name="tie", family="Point", dynamics="Solve", **ends))
    back, report, text = rewrite(scene, tmp_path, ".sdf")
    assert "take it for a joint of their tree" in str(report)
    assert "<parent>p::p</parent>" in text and msd.build(back).joint_dof_count == 9


# shapes and files


def test_everything_fixed_to_the_world_is_a_static_model(tmp_path):
    scene = msd.from_str(PART.format(""), "mjcf")
    back, report, _ = rewrite(scene, tmp_path, ".sdf")
    ground = back.hierarchy.bodies[0]
    assert ground.kind is msd.BodyKind.Static and ground.multibody == "environment"
    assert {frame.name for frame in back.frames} == {"w", "b::s"}
    found = {entry.path for entry in report.losses}
    assert {
        "$.hierarchy.cameras[0]",
        "$.hierarchy.lights[0]",
        "$.hierarchy.sites[0]",
        "$.hierarchy.bodies[0].link.sites[0]",
        "$.hierarchy.bodies[0].link.joints[0].armature",
        "$.hierarchy.bodies[0].link.geoms[0].collision_mask",
        "$.hierarchy.bodies[0].link.geoms[0].physics_material.condim",
    } <= found
    assert "$.hierarchy.bodies[0].link.joints[0].spring_damper.coeff.k" not in found


LOSSES = rewriting.LOSSES | {"$.simulate_option.density": "<option density='1.2'/>"}


@pytest.mark.parametrize("path", LOSSES)
def test_losses_are_told_with_their_place(path):
    report = msd.Report()
    msd.from_str(PART.format(LOSSES[path]), "mjcf").to_str(format="sdf", report=report)
    assert path in {entry.path for entry in report.losses}


def test_meshes_and_heights_held_as_arrays_get_files(tmp_path):
    scene = one_joint(axis=(0, 0, 1))
    scene.assets.meshes["flake"] = msd.MeshSource.buffer(TETRAHEDRON)
    geom = msd.Geometry(shape="Mesh", mesh="flake", mesh_scale=(0.5, 1, 2))
    scene.hierarchy.bodies[0].link.children[0].geoms = [geom]
    heights = np.random.default_rng(0).uniform(-0.3, 0.8, size=(5, 4))
    source = msd.HFieldSource(size=(2, 3), height_scale=2.0, nrow=5, ncol=4)
    source.source_type = msd.HFieldSourceType.buffer(heights, "h")
    scene.assets.hfields["hills"] = source
    scene.hierarchy.geoms.append(msd.Geometry(shape="HField", hfield="hills", position=(0, 0, 1)))
    back, report, _ = rewrite(scene, tmp_path, ".sdf")
    assert sorted(path.suffix for path in tmp_path.rglob("*.*")) == [".png", ".sdf", ".stl"]
    assert [entry.path for entry in report.losses] == ["$.assets.hfields['hills']"]
    assert_same_motion(scene, back, plain=local)
    ours, theirs = AssetLibrary(scene), AssetLibrary(back)
    arm = next(link for link in back.hierarchy.links() if local(link.name) == "arm")
    first, second = ours.geom_properties(geom), theirs.geom_properties(arm.geoms[0])
    assert second.mass == pytest.approx(first.mass, rel=1e-12)
    ground = back.hierarchy.bodies[0].link.geoms[0]
    field = theirs.hfield(ground.hfield)
    level = 2.0 * (heights.max() - heights.min()) / 255
    assert np.abs(field.heights + ground.position[2] - 1.0 - 2.0 * heights).max() < 0.51 * level
    assert field.size.tolist() == [2, 3]


def test_text_alone_has_no_place_for_arrays():
    scene = one_joint(axis=(0, 0, 1))
    scene.assets.meshes["flake"] = msd.MeshSource.buffer(TETRAHEDRON)
    scene.hierarchy.bodies[0].link.geoms.append(msd.Geometry(shape="Mesh", mesh="flake"))
    report = msd.Report()
    assert "<mesh" not in scene.to_str(format="sdf", report=report)
    assert "$.assets.meshes['flake']: needs a file of its own" in str(report)


# names


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_survive_or_are_refused(name, tmp_path):
    scene = one_joint(axis=(0, 0, 1))
    scene.name = scene.hierarchy.bodies[0].multibody = name
    link = scene.hierarchy.bodies[0].link.children[0]
    link.name, link.joints[0].name, link.geoms[0].name = f"{name}", f"{name}", name
    if name != name.strip():
        with pytest.raises(SceneError, match="without blanks at its ends"):
            scene.to_file(tmp_path / "scene.sdf")
        assert list(tmp_path.iterdir()) == []
        return
    back, report, _ = rewrite(scene, tmp_path, ".sdf")
    below = back.hierarchy.bodies[0].link.children[0]
    # links and joints of a model cannot share a name
    assert (back.name, below.name, below.joints[0].name) == (name, name, f"{name}_joint")
    assert [entry.path for entry in report.losses] == [
        "$.hierarchy.bodies[0].link.children[0].joints[0].name"
    ]


@pytest.mark.parametrize("name", ["world", "__x__", "a::", "::b", "a::::b", "post", "__"])
def test_names_that_sdf_reserves_are_changed_and_told(name, tmp_path):
    scene = one_joint(axis=(0, 0, 1))
    scene.hierarchy.bodies[0].link.children[0].joints[0].name = name
    back, report, _ = rewrite(scene, tmp_path, ".sdf")
    assert [entry.path for entry in report.losses] == [
        "$.hierarchy.bodies[0].link.children[0].joints[0].name"
    ]
    assert back.hierarchy.bodies[0].link.children[0].joints[0].name in str(report)


def test_names_with_models_in_them_open_models(tmp_path):
    scene = one_joint(axis=(0, 0, 1))
    scene.hierarchy.bodies[0].link.children[0].name = "left::arm"
    back, report, text = rewrite(scene, tmp_path, ".sdf")
    assert report.is_exact and '<model name="left">' in text
    assert [link.name for link in back.hierarchy.links()] == ["post", "left::arm"]
    assert_same_motion(scene, back)


def test_names_that_are_missing_are_made(tmp_path):
    scene = one_joint(axis=(0, 0, 1))
    scene.name = ""
    body = scene.hierarchy.bodies[0]
    body.multibody = body.link.name = body.link.children[0].name = body.link.children[0].joints[0].name = None
    back, report, _ = rewrite(scene, tmp_path, ".sdf")
    assert report.is_exact and back.name == "body_0"
    assert [link.name for link in back.hierarchy.links()] == ["link_0", "link_1"]


def test_strict_writing_refuses_and_leaves_no_file(tmp_path):
    with pytest.raises(SceneError, match="would be lost"):
        msd.from_str(PART.format(""), "mjcf").to_file(tmp_path / "x.sdf", strict=True)
    assert list(tmp_path.iterdir()) == []
    scene = msd.from_file(DATA / "frames.sdf")
    scene.to_file(tmp_path / "x.world", strict=True)
    assert list(differences(scene, msd.from_file(tmp_path / "x.world"))) == []


# another reader


@pytest.mark.parametrize("source", ["frames", "hinges", "arm", "part"])
def test_drake_reads_the_same_bodies(source, tmp_path):
    parsing = pytest.importorskip("pydrake.multibody.parsing", reason="Drake is not installed")
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import BodyIndex

    scene = {
        "frames": lambda: msd.from_file(DATA / "frames.sdf"),
        "hinges": lambda: msd.from_str(HINGES, "mjcf"),
        "arm": lambda: msd.from_str(ARM, "urdf"),
        "part": lambda: msd.from_str(PART.format(""), "mjcf"),
    }[source]()
    back, _, _ = rewrite(scene, tmp_path, ".sdf")
    plant = MultibodyPlant(0.0)
    parsing.Parser(plant).AddModels(str(tmp_path / "scene.sdf"))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    theirs = {}
    for index in range(1, plant.num_bodies()):
        body = plant.get_body(BodyIndex(index))
        theirs[f"{plant.GetModelInstanceName(body.model_instance())}::{body.name()}"] = body
    ours = msd.build(back)
    assert plant.num_velocities() == ours.joint_dof_count
    assert theirs.keys() == set(ours.body_label)
    X = wm.forward_kinematics(ours, np.array(ours.joint_q)[None])[0]
    for index, label in enumerate(ours.body_label):
        pose = theirs[label].EvalPoseInWorld(context)
        assert np.allclose(pose.translation(), X[index, :3], rtol=0, atol=1e-12)
        assert theirs[label].default_mass() == pytest.approx(ours.body_mass[index], abs=1e-12)


def test_masks_are_written_for_all_shapes_or_for_none(tmp_path):
    """A shape without a mask would touch nearly all others."""
    scene = msd.World()
    for name, mask in (("a", 1), ("b", 2), ("c", 1)):
        geom = msd.Geometry(name=name, shape=msd.ShapeType.Sphere, size=(1, 0, 0))
        geom.collision_mask = msd.CollisionMask(collide_group=mask, collide_with=mask)
        scene.hierarchy.bodies.append(msd.Body(free=msd.FreeJoint(), link=msd.Link(name=name, geoms=[geom])))
    scene.to_file(tmp_path / "mixed.sdf")
    again = msd.from_file(tmp_path / "mixed.sdf")
    masks = [body.link.geoms[0].collision_mask.collide_with for body in again.hierarchy.bodies]
    assert masks == [1, 2, 1]
    for body in scene.hierarchy.bodies:
        body.link.geoms[0].collision_mask = msd.CollisionMask()
    scene.to_file(tmp_path / "plain.sdf")
    assert "bitmask" not in (tmp_path / "plain.sdf").read_text()
