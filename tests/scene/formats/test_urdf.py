# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""URDF: every element, what is reported, and hostile files."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.assets.rotations import rotation_matrix

HANG = 3.0
"""Seconds of processor time a refusal may take; the slowest was measured at 0.9 s on a quiet machine."""

DATA = Path(__file__).parents[2] / "data"
ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="steel"><color rgba="0.6 0.6 0.7 1"/></material>
  <link name="base">
    <inertial><origin xyz="0.1 0.2 0.3" rpy="0 0 1.5707963267948966"/><mass value="2.5"/>
      <inertia ixx="0.3" iyy="0.2" izz="0.4" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial>
    <visual name="skin"><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry>
      <material name="steel"/></visual>
    <collision><geometry><cylinder radius="0.5" length="2"/></geometry></collision>
    <contact><lateral_friction value="0.7"/><restitution value="0.2"/><spinning_friction value="1"/></contact>
  </link>
  <link name="upper"><collision><geometry><sphere radius="0.2"/></geometry></collision></link>
  <link name="lower"><visual><geometry><capsule radius="0.1" length="0.4"/></geometry>
    <material name=""><color rgba="1 0 0 0.5"/></material></visual></link>
  <link name="finger_a"/><link name="finger_b"/><link name="flying"/><link name="sliding"/>
  <joint name="shoulder" type="revolute">
    <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><parent link="base"/><child link="upper"/><axis xyz="0 0 2"/>
    <limit lower="-1" upper="2" effort="30" velocity="4"/><dynamics damping="0.5" friction="0.25"/>
  </joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <limit effort="7" velocity="8"/></joint>
  <joint name="grip" type="prismatic"><parent link="lower"/><child link="finger_a"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.1" effort="1" velocity="1"/></joint>
  <joint name="grip2" type="prismatic"><parent link="lower"/><child link="finger_b"/>
    <limit lower="0" upper="0.1" effort="1" velocity="1"/>
    <mimic joint="grip" multiplier="-2" offset="0.01"/></joint>
  <joint name="fly" type="floating"><parent link="base"/><child link="flying"/></joint>
  <joint name="plane" type="planar"><parent link="base"/><child link="sliding"/><axis xyz="0 0 1"/></joint>
</robot>"""


def load(text: str, **more) -> msd.World:
    return msd.from_str(text, "urdf", **more)


def links(world: msd.World) -> dict[str, msd.Link]:
    return {link.name: link for link in world.hierarchy.links()}


def robot(inside: str, name: str = "r") -> str:
    return f'<robot name="{name}">{inside}</robot>'


def messages(world: msd.World) -> str:
    return str(world.report)


def refused(text: str, **more) -> SceneError:
    start = time.process_time()
    with pytest.raises(SceneError) as caught:
        load(text, **more)
    assert time.process_time() - start < HANG
    return caught.value


# what is read


def test_tree_and_names():
    world = load(ARM)
    assert world.name == "arm"
    (body,) = world.hierarchy.bodies
    assert body.free is None and body.multibody == "arm"
    assert [link.name for link in body.link.walk()] == [
        "base", "upper", "lower", "finger_a", "finger_b", "flying", "sliding",
    ]  # fmt: skip


def test_joint_of_every_type():
    found = links(load(ARM))
    shoulder = found["upper"].joints[0]
    assert shoulder.name == "shoulder" and shoulder.type_ is msd.JointType.Revolute
    assert shoulder.axis.tolist() == [0, 0, 2] and shoulder.pos_limit == msd.Range(-1, 2)
    assert (shoulder.effort_limit, shoulder.velocity_limit, shoulder.friction_loss) == (30, 4, 0.25)
    assert shoulder.spring_damper.coeff.value == msd.StiffnessDamping(k=0, d=0.5)
    elbow = found["lower"].joints[0]
    assert elbow.type_ is msd.JointType.Revolute and not elbow.pos_limit.is_bounded
    assert elbow.axis.tolist() == [1, 0, 0] and elbow.effort_limit == 7
    assert found["finger_a"].joints[0].type_ is msd.JointType.Slide
    assert found["flying"].joints[0].type_ is msd.JointType.Free
    plane = found["sliding"].joints[0]
    assert plane.type_ is msd.JointType.Planar and plane.axis2.tolist() == [1, 0, 0]


def test_origin_turns_about_fixed_axes():
    upper = links(load(ARM))["upper"]
    assert upper.local_translation.tolist() == [1, 2, 3]

    def about(axis: int, angle: float) -> np.ndarray:
        made = np.eye(3)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        made[[i, j], [i, j]] = math.cos(angle)
        made[i, j], made[j, i] = -math.sin(angle), math.sin(angle)
        return made

    expected = about(2, 0.3) @ about(1, 0.2) @ about(0, 0.1)
    assert np.allclose(rotation_matrix(upper.local_rotation), expected, atol=1e-15)


def test_inertial_keeps_its_own_axes():
    inertial = links(load(ARM))["base"].inertial
    assert inertial.mass == 2.5 and inertial.pos.tolist() == [0.1, 0.2, 0.3]
    assert inertial.full_inertia == [0.3, 0.2, 0.4, 0.01, 0.02, 0.03]
    assert np.allclose(inertial.orientation, [0, 0, math.sqrt(0.5), math.sqrt(0.5)])


def test_link_without_inertial_weighs_nothing():
    inertial = links(load(ARM))["upper"].inertial
    assert inertial.mass == 0 and not inertial.diag_inertia.any()


def test_shapes_have_half_sizes_and_visuals_do_not_touch():
    found = links(load(ARM))
    skin, hull = found["base"].geoms
    assert skin.name == "skin" and skin.shape is msd.ShapeType.Box and skin.size == [0.5, 1, 1.5]
    assert skin.position.tolist() == [0, 0, 1] and skin.mass == 0 and skin.visual.group == 2
    assert skin.collision_mask == msd.CollisionMask.non_collidable() and skin.visual.material == "steel"
    assert hull.shape is msd.ShapeType.Cylinder and hull.size == [0.5, 1, 0] and hull.visual.group == 3
    assert hull.physics_material.friction[0] == 0.7 and hull.physics_material.restitution == 0.2
    # the only thing there is to see
    assert found["upper"].geoms[0].visual.group == 0
    assert found["lower"].geoms[0].shape is msd.ShapeType.Capsule
    assert found["lower"].geoms[0].visual.color == [1, 0, 0, 0.5]
    assert load(ARM).assets.materials["steel"].color == [0.6, 0.6, 0.7, 1]


def test_mimic_becomes_a_coupler():
    (coupler,) = load(ARM).couplers
    assert (coupler.joint, coupler.reference, coupler.multiplier, coupler.offset) == (
        "grip2",
        "grip",
        -2,
        0.01,
    )
    assert coupler.mode is msd.CouplerMode.Mimic


def test_fixed_joints_keep_their_names():
    text = robot(
        '<link name="a"/><link name="b"/>'
        '<joint name="weld" type="fixed"><parent link="a"/><child link="b"/></joint>'
    )
    (joint,) = links(load(text))["b"].joints
    assert joint.name == "weld" and joint.type_ is msd.JointType.Fixed


def test_root_named_world_is_the_world():
    text = robot(
        '<link name="world"><visual><geometry><sphere radius="1"/></geometry></visual></link>'
        '<link name="a"/><link name="b"/>'
        '<joint name="x" type="floating"><parent link="world"/><child link="a"/><origin xyz="1 0 0"/></joint>'
        '<joint name="y" type="revolute"><parent link="world"/><child link="b"/><limit upper="1"/></joint>'
    )
    world = load(text)
    free, fixed = world.hierarchy.bodies
    assert free.free.name == "x" and free.link.name == "a" and not free.link.joints
    assert free.link.local_translation.tolist() == [1, 0, 0]
    assert fixed.free is None and fixed.link.joints[0].name == "y"
    assert len(world.hierarchy.geoms) == 1
    assert free.multibody == fixed.multibody == "r"


def test_the_scene_survives_writing():
    world = load(ARM)
    assert msd.from_str(world.to_str(), "msd") == world


# meshes


@pytest.fixture
def package(tmp_path):
    cube = (DATA / "cube.stl").read_bytes()
    (tmp_path / "arm" / "meshes").mkdir(parents=True)
    (tmp_path / "arm" / "urdf").mkdir()
    (tmp_path / "arm" / "package.xml").write_text("<package/>")
    (tmp_path / "arm" / "meshes" / "cube.stl").write_bytes(cube)
    (tmp_path / "outside.stl").write_bytes(cube)
    return tmp_path / "arm"


def mesh_robot(*names: str, scale: str = "") -> str:
    shapes = "".join(
        f'<visual><geometry><mesh filename="{name}" {scale}/></geometry></visual>' for name in names
    )
    return robot(f'<link name="a">{shapes}</link>')


def test_meshes_are_found_once(package):
    path = package / "urdf" / "arm.urdf"
    names = ("package://arm/meshes/cube.stl", "../meshes/cube.stl", str(package / "meshes" / "cube.stl"))
    path.write_text(mesh_robot(*names, scale='scale="0.001 0.001 0.002"'))
    world = msd.from_file(path)
    assert list(world.assets.meshes) == ["cube"]
    geoms = links(world)["a"].geoms
    assert [geom.mesh for geom in geoms] == ["cube"] * 3
    assert geoms[0].mesh_scale.tolist() == [0.001, 0.001, 0.002]
    from worldline._src.scene.assets.cache import NoCache
    from worldline._src.scene.assets.library import AssetLibrary

    shape = AssetLibrary(world, cache=NoCache()).resolved(geoms[0])
    assert np.allclose(shape.mesh.bounds[1], [0.001, 0.002, 0.006])


def test_search_directories_hold_packages(package):
    world = load(mesh_robot("package://arm/meshes/cube.stl"), asset_dirs=[package.parent])
    assert world.assets.meshes["cube"].value["path"] == str(package / "meshes" / "cube.stl")


def test_missing_and_unreadable_meshes_are_reported(package):
    (package / "meshes" / "a.blend").write_text("")
    text = mesh_robot("package://who/x.stl", "nothing.stl", "../meshes/a.blend")
    world = load(text, file_path=package / "urdf" / "arm.urdf")
    assert not links(world)["a"].geoms
    assert [entry.fate for entry in world.report] == [msd.Fate.LeftOut] * 3
    assert "asset_dirs" in messages(world) and "'.blend'" in messages(world)
    assert world.report.entries[0].path == "robot/link[0]/visual[0]/geometry[0]/mesh[0]"
    refused(text, file_path=package / "urdf" / "arm.urdf", strict=True)


@pytest.mark.parametrize(
    "name", ["../../outside.stl", "/etc/passwd", "http://x.org/a.stl", "package://arm/../outside.stl"]
)
def test_paths_that_lead_out_are_refused(package, name):
    error = refused(mesh_robot(name), file_path=package / "urdf" / "arm.urdf")
    assert error.problems[0].line == 1 and "mesh[0]" in error.problems[0].path


# what is reported


def test_extensions_are_left_out_with_their_place():
    text = robot(
        '<link name="a"/>\n<transmission name="t"/>\n<gazebo reference="a"><mu1>1</mu1></gazebo>\n'
        '<xacro:include filename="x"/>\n<lnik name="b"/>'
    )
    report = load(text).report
    assert [(entry.line, entry.path) for entry in report] == [
        (2, "robot/transmission[0]"),
        (3, "robot/gazebo[0]"),
        (4, "robot/xacro:include[0]"),
        (5, "robot/lnik[0]"),
    ]
    assert "did you mean 'link'" in str(report) and not report.is_exact


def test_odd_limits_are_reported():
    joint = (
        '<link name="a"/><link name="b"/>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>{}</joint>'
    )
    world = load(robot(joint.format("")))
    assert "without <limit>" in messages(world) and not links(world)["b"].joints[0].pos_limit.is_bounded
    world = load(robot(joint.format('<limit lower="1" upper="-1" effort="1" velocity="1"/>')))
    assert "exchanged" in messages(world) and links(world)["b"].joints[0].pos_limit == msd.Range(-1, 1)
    world = load(robot(joint.format('<limit lower="-inf" upper="inf"/><mimic joint="k"/>')))
    assert "no other joint 'k'" in messages(world) and not world.couplers
    world = load(
        robot(joint.format('<limit upper="1"/><safety_controller k_velocity="1"/><calibration rising="0"/>'))
    )
    assert len(world.report.losses) == 2


def test_impossible_inertia_is_kept_and_reported():
    text = robot(
        '<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="5" ixz="0" iyz="0"/>'
        "</inertial></link>"
    )
    world = load(text)
    assert "no body can have" in messages(world) and world.report.is_exact
    assert links(world)["a"].inertial.full_inertia == [1, 1, 1, 5, 0, 0]


def test_doubtful_names_are_kept():
    shape = "<geometry><sphere radius='1'/></geometry>"
    text = robot(f'<link name="a"><visual name="v">{shape}</visual><visual name="v">{shape}</visual></link>')
    world = load(text)
    assert [geom.name for geom in links(world)["a"].geoms] == ["v", "v_2"] and world.report.is_exact
    inner = load(robot(
        '<link name="a"/><link name="world"/>'
        '<joint name="j" type="fixed"><parent link="a"/><child link="world"/></joint>'
    ))  # fmt: skip
    assert list(links(inner)) == ["a", "world_2"] and not inner.report.is_exact


def test_material_of_another_colour_stays_with_its_visual():
    shape = "<geometry><sphere radius='1'/></geometry>"
    first, second = (
        f"<visual>{shape}<material name='m'><color rgba='{c} 0 0 1'/></material></visual>" for c in (0.1, 0.2)
    )
    world = load(robot(f'<link name="a">{first}{second}</link>'))
    looks = [geom.visual for geom in links(world)["a"].geoms]
    assert [look.color for look in looks] == [None, [0.2, 0, 0, 1]]
    assert world.assets.materials["m"].color == [0.1, 0, 0, 1]
    missing = load(robot(f'<link name="a"><visual>{shape}<material name="x"/></visual></link>'))
    assert "no material 'x'" in messages(missing)


# what is wrong


def test_all_problems_come_at_once_with_lines_and_hints():
    text = """<robot name="r">
      <link name="base"/><link name="base"/>
      <link name="arm"><inertial><mass value="heavy"/><inertia ixx="1" iyy="1"/></inertial>
        <collision><geometry><sphree radius="1"/></geometry></collision></link>
      <joint name="j" type="revolut"><parent link="bse"/><child link="arm"/></joint>
      <joint name="k" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 0"/>
        <limit lower="nan" upper="1" effort="-1"/><dynamics damping="-1"/></joint>
      <joint name="k" type="fixed"><parent link="base"/><child link="arm"/></joint>
    </robot>"""
    error = refused(text)
    found = "\n".join(str(problem) for problem in error.problems)
    for part in (
        "2: robot/link[1]: a second link 'base'",
        "3: robot/link[2]/inertial[0]/mass[0]: attribute 'value': given 'heavy'",
        "attribute 'izz' is required",
        "<geometry> with one of box, capsule, cylinder, mesh, sphere; did you mean 'sphere'",
        "revolute, continuous, prismatic, fixed, floating, planar, spherical; did you mean 'revolute'",
        "no link 'bse'; did you mean 'base'",
        "a zero axis",
        "attribute 'lower': given 'nan'",
        "attribute 'effort': given -1.0",
        "attribute 'damping': given -1.0",
        "a second joint 'k'",
        "link 'arm' already has a parent",
    ):
        assert part in found, part


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<robot/>", "without links"),
        ("<sdf/>", "allowed: <robot>"),
        ("<robot>", "not well-formed"),
        ("", "not well-formed"),
        ('<!DOCTYPE r [<!ENTITY a "b">]><robot>&a;</robot>', "document type"),
        (robot("<link/>"), "'name' is required"),
        (robot('<link name="a"/><joint name="j" type="fixed"/>'), "<parent link=...> is required"),
        (
            robot('<link name="a"/><joint name="j" type="fixed"><parent link="a"/><child link="a"/></joint>'),
            "the same link",
        ),
        (robot('<link name="a"><collision/></link>'), "no shape"),
        (robot('<link name="a"><inertial/></link>'), "<mass> is required"),
        (robot('<link name="a"><inertial><mass value="-1"/></inertial></link>'), "a mass of -1"),
        (
            robot('<link name="a"><collision><geometry><box size="1 -1 1"/></geometry></collision></link>'),
            "negative",
        ),
        (
            robot('<link name="a"><collision><geometry><box size="1 1"/></geometry></collision></link>'),
            "allowed: 3 finite numbers",
        ),
        (mesh_robot("x.stl", scale='scale="1 1 a"'), "scale"),
    ],
)
def test_broken_files_are_refused(text, part):
    assert part in str(refused(text))


def test_cycles_of_joints_are_refused():
    text = robot(
        '<link name="a"/><link name="b"/><link name="c"/>'
        '<joint name="x" type="fixed"><parent link="b"/><child link="c"/></joint>'
        '<joint name="y" type="fixed"><parent link="c"/><child link="b"/></joint>'
    )
    assert "'b', 'c' form a cycle" in str(refused(text))


def test_a_chain_too_deep_is_refused_at_once():
    count = 3000
    parts = "".join(f'<link name="l{i}"/>' for i in range(count))
    parts += "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(count - 1)
    )
    assert "levels deep; allowed: 1024" in str(refused(robot(parts)))


def test_deep_nesting_is_refused_at_once():
    assert "nested deeper" in str(refused(robot("<a>" * 5000 + "</a>" * 5000)))


def test_mutated_files_raise_nothing_else():
    rng = np.random.default_rng(3)
    words = ["", "nan", "1e999", "1e308", "-1", "a b c", "world", "base", "0 0 0", "revolute", "planar", "é"]
    for _ in range(150):
        text = list(ARM)
        for _ in range(rng.integers(1, 6)):
            at = int(rng.integers(len(text)))
            if rng.random() < 0.5:
                quotes = [i for i, c in enumerate(text) if c == '"']
                start = int(rng.integers(len(quotes) // 2)) * 2
                text[quotes[start] + 1 : quotes[start + 1]] = list(words[rng.integers(len(words))])
            else:
                text[at] = chr(rng.integers(32, 127))
        try:
            load("".join(text))
        except SceneError:
            continue


def test_limits_that_let_nothing_move_are_pointed_out():
    """Exporters write zeros where nobody gave limits."""
    joint = '<link name="a"/><link name="b"/><joint name="j" type="{}"><parent link="a"/><child link="b"/>{}</joint>'
    for kind, limit in (("revolute", "0 0 0 0"), ("prismatic", "2 2 1 1"), ("continuous", "0 0 1 0")):
        lower, upper, effort, velocity = limit.split()
        given = f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}"/>'
        world = load(robot(joint.format(kind, given)))
        assert world.report.is_exact and "cannot move" in str(list(world.report)), kind
    moving = load(robot(joint.format("revolute", '<limit lower="0" upper="1" effort="0" velocity="1"/>')))
    assert "cannot move" not in str(list(moving.report))


def test_a_joint_that_follows_itself():
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><mimic joint="j"/></joint>'
    world = load(robot(f'<link name="a"/><link name="b"/>{joint}'))
    assert "cannot follow itself" in messages(world)
    assert world.couplers == []
