# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""SDF: frames of every version against stored results of Drake, loops, reports, and hostile files."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.assets.rotations import rotation_matrix
from worldline._src.scene.mass_properties import NOTHING, given_properties

HANG = 3.0
"""Seconds of processor time a refusal may take; the slowest was measured at 0.9 s on a quiet machine."""

DATA = Path(__file__).parents[2] / "data"
POSES = json.loads((DATA / "sdf_poses.json").read_text())


def load(inside: str, version: str = "1.9", **more) -> msd.World:
    return msd.from_str(f'<sdf version="{version}">{inside}</sdf>', "sdf", **more)


def model(inside: str, attributes: str = 'name="m"', **more) -> msd.World:
    return load(f"<model {attributes}>{inside}</model>", **more)


def links(world: msd.World) -> dict[str, msd.Link]:
    return {link.name: link for link in world.hierarchy.links()}


def joints(world: msd.World) -> dict[str, msd.Joint]:
    return {joint.name: joint for link in world.hierarchy.links() for joint in link.joints}


def frame(position, rotation) -> np.ndarray:
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = rotation_matrix(rotation), position
    return made


def poses(world: msd.World) -> dict[str, np.ndarray]:
    """Where every link is in the world."""
    found: dict[str, np.ndarray] = {}
    above = {id(child): link.name for link in world.hierarchy.links() for child in link.children}
    for link in world.hierarchy.links():
        here = frame(link.local_translation, link.local_rotation)
        found[link.name] = found[above[id(link)]] @ here if id(link) in above else here
    return found


def refused(text: str, wrap: bool = True, **more) -> str:
    start = time.process_time()
    with pytest.raises(SceneError) as caught:
        load(text, **more) if wrap else msd.from_str(text, "sdf", **more)
    assert time.process_time() - start < HANG
    return str(caught.value)


LINKS = (
    '<link name="a"/><link name="b"><pose>1 0 0 0 0 0</pose></link>'
    '<link name="c"><pose>2 0 0 0 0 0</pose></link>'
)


def joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'
    )


# frames


@pytest.mark.parametrize("name", ["frames", "axes_1_4", "axes_1_5", "axes_1_6"])
def test_frames_of_every_version_equal_drake(name):
    world = msd.from_file(DATA / f"{name}.sdf")
    expected = POSES[name]
    found = poses(world)
    assert found.keys() == expected["links"].keys()
    for link in world.hierarchy.links():
        theirs = expected["links"][link.name]
        assert np.allclose(found[link.name][:3], theirs["pose"], rtol=0, atol=1e-12)
        ours = given_properties(link.inertial, NOTHING)
        assert ours.mass == theirs["mass"] and np.allclose(ours.com, theirs["com"], atol=1e-14)
        assert np.allclose(ours.inertia, theirs["inertia"], atol=1e-14)
        for joint in link.joints:
            if joint.type_ is msd.JointType.Fixed:
                continue
            theirs = expected["joints"][joint.name]
            turn, place = found[link.name][:3, :3], found[link.name][:3, 3]
            assert np.allclose(turn @ joint.pos + place, theirs["origin"], rtol=0, atol=1e-12)
            for axis, word in ((joint.axis, "axis"), (joint.axis2, "axis2")):
                if word in theirs:
                    assert np.allclose(turn @ axis, theirs[word], rtol=0, atol=1e-12)
            if "pitch" in theirs:
                assert joint.pitch * 2 * math.pi == pytest.approx(theirs["pitch"], rel=1e-14)
    moving = [j for j in joints(world).values() if j.type_ is not msd.JointType.Fixed]
    assert len(moving) == len(expected["joints"])
    for entry in world.frames:
        base = np.eye(4) if entry.parent_link is None else found[entry.parent_link]
        theirs = expected["frames"][entry.name]
        here = (base @ frame(entry.position, entry.orientation))[:3]
        assert np.allclose(here, theirs["pose"], rtol=0, atol=1e-12)
        assert entry.parent_link is None or entry.parent_link == theirs["body"]
    assert len(world.frames) == len(expected["frames"])


def test_shapes_stand_in_the_frames_they_name():
    world = msd.from_file(DATA / "frames.sdf")
    ball = links(world)["robot::first"].geoms[0]
    place = poses(world)["robot::first"] @ np.append(ball.position, 1.0)
    post = next(entry for entry in world.frames if entry.name == "robot::post")
    base = poses(world)[post.parent_link] @ frame(post.position, post.orientation)
    assert np.allclose(place, base @ [0, 0, 2, 1]) and ball.name == "robot::first::ball"


@pytest.mark.parametrize(
    ("inside", "part"),
    [
        (
            '<link name="a"><pose relative_to="b"/></link><link name="b"><pose relative_to="a"/></link>',
            "stand in each other",
        ),
        ('<link name="a"><pose relative_to="a"/></link>', "stand in each other"),
        ('<link name="a"><pose relative_to="bb"/></link><link name="b"/>', "no frame 'bb'; did you mean 'b'"),
        (
            '<link name="a"/><frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>',
            "attached to itself",
        ),
        ('<link name="a"/><frame name="f" attached_to="q"/>', "no link or frame 'q'"),
        (
            '<link name="a"/><joint name="a" type="fixed"><parent>world</parent><child>a</child></joint>',
            "is taken",
        ),
        ('<link name="__a__"/>', "not allowed"),
        ('<link name="world"/>', "not allowed"),
        ('<link name="a"><pose>1 2 3</pose></link>', "given 3 values; allowed: 6 finite numbers"),
        ('<link name="a"><pose>1 2 3 0 0 nan</pose></link>', "allowed: 6 finite numbers"),
        ('<link name="a"><pose rotation_format="quat_xyzw">1 2 3 0 0 0 0</pose></link>', "zero quaternion"),
        ('<link name="a"><pose rotation_format="quat">1 2 3 0 0 0 0</pose></link>', "euler_rpy, quat_xyzw"),
    ],
)
def test_broken_frames_are_refused(inside, part):
    assert part in refused(f'<model name="m">{inside}</model>')


def test_long_chains_of_frames_are_as_good_as_short_ones():
    frames = "".join(
        f'<frame name="f{i + 1}"><pose relative_to="f{i}">0.001 0 0 0 0 0</pose></frame>' for i in range(3000)
    )
    world = model(f'<link name="f0"/>{frames}<link name="z"><pose relative_to="f3000"/></link>')
    assert poses(world)["z"][0, 3] == pytest.approx(3.0)


# models


def test_a_model_floats_unless_it_is_held():
    world = model(LINKS + joint("j", "revolute", "a", "b"))
    first, second = world.hierarchy.bodies
    assert first.free is not None and second.free is not None and world.name == "m"
    assert [link.name for link in first.link.walk()] == ["a", "b"] and second.link.name == "c"
    held = model(LINKS + joint("j", "revolute", "a", "b") + joint("w", "fixed", "world", "a"))
    assert [body.free is not None for body in held.hierarchy.bodies] == [False, True]
    assert held.hierarchy.bodies[0].link.joints[0].name == "w"
    assert {body.multibody for body in held.hierarchy.bodies} == {"m"}


def test_links_of_a_model_touch_each_other_only_when_asked():
    shape = '<collision name="s"><geometry><sphere><radius>1</radius></sphere></geometry></collision>'
    parts = f'<link name="a">{shape}</link><link name="b">{shape}</link><link name="c">{shape}</link>'
    parts += joint("j", "revolute", "a", "b")
    world = model(parts)
    assert world.hierarchy.bodies[0].link.disable_self_collision
    assert world.collision_ignores.link_pairs == [["a", "c"], ["b", "c"]]
    free = model(parts + "<self_collide>true</self_collide>")
    assert not free.hierarchy.bodies[0].link.disable_self_collision and not free.collision_ignores.link_pairs


def test_static_models_do_not_move():
    plane = "<geometry><plane><normal>0 1 0</normal><size>4 6</size></plane></geometry>"
    world = model(
        f'<static>true</static><link name="a"><collision name="c">{plane}</collision>'
        f'<visual name="v">{plane}</visual></link><link name="b"><pose>1 0 0 0 0 0</pose></link>'
        + joint("j", "revolute", "a", "b")
    )
    (body,) = world.hierarchy.bodies
    assert body.kind is msd.BodyKind.Static and body.free is None and len(body.link.children) == 1
    look, ground = body.link.geoms
    assert ground.shape is msd.ShapeType.InfinitePlane and look.size == [2, 3, 0]
    assert np.allclose(rotation_matrix(ground.orientation) @ [0, 0, 1], [0, 1, 0])
    assert "never move" in str(world.report)
    moving = model(f'<link name="a"><collision name="c">{plane}</collision></link>')
    assert not links(moving)["a"].geoms and "does not move" in str(moving.report)


def test_joints_to_static_models_hold_on_to_the_world():
    world = load(
        '<world name="w"><model name="s"><static>1</static><link name="l"/></model>'
        '<model name="m"><link name="a"/></model>'
        '<joint name="j" type="ball"><parent>s::l</parent><child>m::a</child></joint></world>'
    )
    static, held = world.hierarchy.bodies
    assert static.kind is msd.BodyKind.Static and held.free is None
    assert held.link.joints[0].type_ is msd.JointType.Ball and held.link.joints[0].name == "j"


def test_world_settings_and_scoped_names():
    world = load(
        '<world name="w"><gravity>0 0 -3.7</gravity><magnetic_field>1 2 3</magnetic_field>'
        "<wind><linear_velocity>4 5 6</linear_velocity></wind>"
        '<physics type="ode"><max_step_size>0.002</max_step_size><real_time_factor>1</real_time_factor>'
        "</physics>"
        '<model name="x"><link name="l"/></model><model name="y"><link name="l"/></model></world>'
    )
    option = world.simulate_option
    assert world.name == "w" and option.gravity == [0, 0, -3.7] and option.timestep == 0.002
    assert option.magnetic == [1, 2, 3] and option.wind == [4, 5, 6]
    assert list(links(world)) == ["x::l", "y::l"]
    old = load(
        '<world name="w"><physics type="ode"><gravity>0 0 -1</gravity></physics></world>', version="1.4"
    )
    assert old.simulate_option.gravity == [0, 0, -1]
    assert load('<world name="w"/>').simulate_option.gravity == [0, 0, -9.8]


def test_links_weigh_what_the_format_says():
    world = model(
        '<link name="a"/><link name="b"><inertial><mass>2</mass></inertial></link>'
        '<link name="c"><inertial auto="true"/><collision name="s"><density>500</density>'
        "<geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link>"
        '<link name="d"><gravity>false</gravity></link>'
    )
    found = links(world)
    assert found["a"].inertial.mass == 1 and found["a"].inertial.diag_inertia.tolist() == [1, 1, 1]
    assert found["b"].inertial.mass == 2 and found["b"].inertial.diag_inertia.tolist() == [1, 1, 1]
    assert found["c"].inertial == msd.Inertia() and found["c"].geoms[0].physics_material.density == 500
    assert found["d"].gravcomp == 1 and found["a"].gravcomp == 0


def test_every_shape_has_half_sizes():
    shapes = {
        "<box><size>1 2 3</size></box>": (msd.ShapeType.Box, [0.5, 1, 1.5]),
        "<sphere><radius>2</radius></sphere>": (msd.ShapeType.Sphere, [2, 0, 0]),
        "<cylinder><radius>2</radius><length>3</length></cylinder>": (msd.ShapeType.Cylinder, [2, 1.5, 0]),
        "<capsule><radius>2</radius><length>3</length></capsule>": (msd.ShapeType.Capsule, [2, 1.5, 0]),
        "<ellipsoid><radii>1 2 3</radii></ellipsoid>": (msd.ShapeType.Ellipsoid, [1, 2, 3]),
    }
    parts = "".join(
        f'<collision name="c{i}"><geometry>{shape}</geometry></collision>' for i, shape in enumerate(shapes)
    )
    found = links(
        model(f'<link name="a">{parts}<collision name="n"><geometry><empty/></geometry></collision></link>')
    )
    assert [(geom.shape, geom.size) for geom in found["a"].geoms] == list(shapes.values())
    odd = model(
        '<link name="a"><collision name="c"><geometry><cone><radius>1</radius></cone></geometry></collision>'
        "</link>"
    )
    assert "no such shape as a cone" in str(odd.report) and not odd.report.is_exact


def test_surfaces_and_looks():
    world = model(
        '<link name="a"><collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry><surface>'
        "<friction><ode><mu>0.4</mu><mu2>0.6</mu2><fdir1>1 0 0</fdir1></ode></friction>"
        "<bounce><restitution_coefficient>0.3</restitution_coefficient></bounce>"
        "<contact><collide_bitmask>6</collide_bitmask></contact></surface></collision>"
        '<visual name="v"><geometry><sphere><radius>1</radius></sphere></geometry>'
        "<transparency>0.5</transparency><material><diffuse>1 0 0 1</diffuse>"
        "<specular>0.1 0.1 0.1 1</specular><script/></material></visual></link>"
    )
    look, hull = links(world)["a"].geoms
    assert hull.physics_material.friction[0] == 0.6 and hull.physics_material.restitution == 0.3
    assert (hull.collision_mask.collide_group, hull.collision_mask.collide_with) == (6, 6)
    material = world.assets.materials[look.visual.material]
    assert material.color == [1, 0, 0, 0.5] and material.specular_color == [0.1, 0.1, 0.1, 1]
    assert look.mass == 0 and look.collision_mask == msd.CollisionMask.non_collidable()
    notes = [(entry.fate.name, entry.path.rpartition("/")[2]) for entry in world.report.losses]
    assert (
        ("Approximated", "ode[0]") in notes
        and ("LeftOut", "fdir1[0]") in notes
        and ("LeftOut", "script[0]") in notes
    )


# joints


def test_axis_parameters():
    axis = (
        "<axis><xyz>0 2 0</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>5</effort>"
        "<velocity>-1</velocity></limit><dynamics><damping>0.1</damping><friction>0.2</friction><spring_stiffness>3</spring_stiffness>"
        "<spring_reference>0.4</spring_reference></dynamics></axis>"
    )
    found = joints(
        model(LINKS + joint("j", "revolute", "a", "b", axis) + joint("k", "continuous", "b", "c", axis))
    )
    made = found["j"]
    assert made.axis.tolist() == [0, 1, 0] and made.pos_limit == msd.Range(-1, math.inf)
    assert made.effort_limit == 5 and made.velocity_limit == math.inf and made.friction_loss == 0.2
    assert made.spring_damper.coeff.value == msd.StiffnessDamping(k=3, d=0.1)
    assert made.spring_damper.target_pos == 0.4
    assert not found["k"].pos_limit.is_bounded


def test_joints_with_two_axes():
    axes = (
        "<axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>"
        "<axis2><xyz>0 1 0</xyz><dynamics><damping>0.5</damping></dynamics></axis2>"
    )
    for kind in ("universal", "revolute2"):
        made = joints(model(LINKS + joint("j", kind, "a", "b", axes)))["j"]
        assert made.type_ is msd.JointType.Universal
        assert made.axis.tolist() == [1, 0, 0] and made.axis2.tolist() == [0, 1, 0]
        assert made.dofs[0].pos_limit == msd.Range(-1, 1) and made.dofs[1].damping == 0.5


def test_a_link_may_hang_on_its_child():
    # both a and c are parents of b, so one of them has to hang below it
    world = model(
        LINKS
        + joint("j", "revolute", "a", "b")
        + joint("k", "revolute", "c", "b", "<pose>0.5 0 0 0 0 0</pose>")
    )
    (body,) = world.hierarchy.bodies
    assert [link.name for link in body.link.walk()] == ["a", "b", "c"]
    turned = joints(world)["k"]
    assert turned.axis.tolist() == [0, 0, -1] and np.allclose(turned.pos, [-0.5, 0, 0])
    assert world.report.is_exact and not world.loop_closures


def test_mimic_and_gearbox_become_couplers():
    mimic = (
        '<axis><xyz>0 0 1</xyz><mimic joint="j"><multiplier>3</multiplier><offset>1</offset>'
        "<reference>0.5</reference></mimic></axis>"
    )
    world = model(
        LINKS + joint("j", "revolute", "a", "b") + joint("k", "revolute", "a", "c", mimic), version="1.11"
    )
    (coupler,) = world.couplers
    assert (coupler.joint, coupler.reference, coupler.multiplier, coupler.offset) == ("k", "j", 3, -0.5)
    assert coupler.mode is msd.CouplerMode.Mimic
    gear = (
        "<gearbox_ratio>2</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
        "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>"
    )
    flipped = "<axis><xyz>0 0 -1</xyz></axis>"
    parts = joint("j", "revolute", "a", "b") + joint("k", "revolute", "a", "c", flipped)
    (coupler,) = model(LINKS + parts + joint("g", "gearbox", "b", "c", gear)).couplers
    # the child turns by -2 times the parent, and its hinge counts the other way
    assert (coupler.name, coupler.joint, coupler.reference, coupler.multiplier) == ("g", "k", "j", 2)
    assert coupler.mode is msd.CouplerMode.Coupler
    lost = model(LINKS + joint("j", "revolute", "a", "b") + joint("g", "gearbox", "b", "c", gear))
    assert not lost.couplers and "a gearbox needs a hinge" in str(lost.report)


# loops


def loop(kind: str, inside: str = "", first: str = "") -> msd.World:
    limited = "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>"
    parts = joint("ab", "revolute", "a", "b", first or limited) + joint("bc", "revolute", "b", "c", limited)
    return model(LINKS + parts + joint("ca", kind, "c", "a", f"<pose>0.5 0 0 0 0 0</pose>{inside}"))


@pytest.mark.parametrize(("kind", "family"), [("ball", "Point"), ("revolute", "Axis")])
def test_loops_are_cut_and_closed_by_a_closure_of_the_same_name(kind, family):
    world = loop(kind)
    (body,) = world.hierarchy.bodies
    assert len(list(body.link.walk())) == 3 and list(joints(world)) == ["ab", "bc"]
    (closure,) = world.loop_closures
    assert closure.name == "ca" and closure.family.name == family
    assert closure.dynamics is msd.ClosureDynamicsPolicy.Solve
    found = poses(world)
    ends = [
        found[ref.link] @ frame(ref.position, ref.orientation) for ref in (closure.frame_a, closure.frame_b)
    ]
    assert np.allclose(ends[0], ends[1]) and np.allclose(ends[0][:3, 3], [0.5, 0, 0])
    assert np.allclose(ends[0][:3, 2], [0, 0, 1])
    assert world.report.is_exact and "takes its place" in str(world.report)


def test_joints_with_limits_stay_in_the_tree():
    bare = "<axis><xyz>0 1 0</xyz></axis>"
    limited = "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>"
    world = loop("revolute", limited, first=bare)
    assert [closure.name for closure in world.loop_closures] == ["ab"] and world.report.is_exact
    cut = "<physics><simbody><must_be_loop_joint>true</must_be_loop_joint></simbody></physics>"
    forced = loop("revolute", limited + cut, first=bare)
    assert [closure.name for closure in forced.loop_closures] == ["ca"]
    assert "without its limits" in str(forced.report) and not forced.report.is_exact


def test_other_joints_that_close_loops_belong_to_the_world():
    parts = joint("ab", "fixed", "a", "b") + joint("bc", "fixed", "b", "c")
    axis = "<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>"
    world = model(LINKS + parts + joint("ca", "prismatic", "c", "a", axis))
    (owned,) = world.joints
    assert owned.joint.name == "ca" and owned.joint.type_ is msd.JointType.Slide
    assert owned.joint.pos_limit == msd.Range(-1, 1) and owned.joint.axis.tolist() == [0, 1, 0]
    assert (owned.parent.link, owned.child.link) == ("c", "a") and owned.parent.position.tolist() == [
        -2,
        0,
        0,
    ]
    double = model(LINKS + parts + joint("again", "fixed", "a", "c"))
    assert [(c.name, c.family.name) for c in double.loop_closures] == [("again", "Rigid")]


def test_the_scene_survives_writing():
    for world in (loop("ball"), msd.from_file(DATA / "frames.sdf")):
        assert msd.from_str(world.to_str(), "msd") == world


# includes


@pytest.fixture
def shop(tmp_path, monkeypatch):
    for variable in ("GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "SDF_PATH"):
        monkeypatch.delenv(variable, raising=False)
    table = tmp_path / "models" / "table"
    table.mkdir(parents=True)
    (table / "model.config").write_text(
        '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.9">new.sdf</sdf></model>'
    )
    (table / "old.sdf").write_text('<sdf version="1.4"><model name="old"><link name="l"/></model></sdf>')
    (table / "new.sdf").write_text(
        '<sdf version="1.9"><model name="table"><pose>0 0 1 0 0 0</pose><link name="top">'
        '<visual name="v"><geometry>'
        "<mesh><uri>cube.stl</uri><scale>2 2 2</scale></mesh></geometry></visual></link></model></sdf>"
    )
    (table / "cube.stl").write_bytes((DATA / "cube.stl").read_bytes())
    (tmp_path / "world").mkdir()
    return tmp_path


def include(uri: str, inside: str = "") -> str:
    return f"<include><uri>{uri}</uri>{inside}</include>"


def world_of(inside: str) -> str:
    return f'<sdf version="1.9"><world name="w">{inside}</world></sdf>'


def test_included_models_keep_their_own_files_and_version(shop):
    text = world_of(
        include("model://table")
        + include("model://table", "<name>second</name><pose>3 0 0 0 0 0</pose><static>1</static>")
    )
    world = msd.from_str(text, "sdf", shop / "world" / "w.sdf", asset_dirs=[shop / "models"])
    assert list(links(world)) == ["second::top", "table::top"]
    found = poses(world)
    assert (
        found["table::top"][2, 3] == 1 and found["second::top"][0, 3] == 3 and found["second::top"][2, 3] == 0
    )
    kinds = [body.kind.name for body in world.hierarchy.bodies]
    assert kinds == ["Static", "Dynamic"]
    geom = links(world)["table::top"].geoms[0]
    assert geom.mesh_scale.tolist() == [2, 2, 2] and list(world.assets.meshes) == ["cube"]
    assert world.assets.meshes["cube"].value["path"] == str(shop / "models" / "table" / "cube.stl")


def test_missing_includes_are_reported(shop):
    world = msd.from_str(
        world_of(include("model://chair") + include("x.sdf")), "sdf", shop / "world" / "w.sdf"
    )
    assert [entry.fate for entry in world.report.losses] == [msd.Fate.LeftOut] * 2
    merged = f'<include merge="true"><uri>{shop / "models/table"}</uri></include>'
    world = msd.from_str(world_of(merged), "sdf", shop / "world" / "w.sdf", asset_dirs=[shop])
    assert "merging" in str(world.report)


def test_includes_that_lead_out_are_refused(shop):
    for uri in ("../models/table/new.sdf", str(shop / "models"), "https://fuel.gazebosim.org/x"):
        message = refused(world_of(include(uri)), wrap=False, file_path=shop / "world" / "w.sdf")
        assert "include[0]" in message and ("outside" in message or "network" in message)


def test_files_that_include_themselves_are_refused(shop):
    path = shop / "world" / "a.sdf"
    path.write_text(f'<sdf version="1.9"><model name="a">{include("b.sdf")}</model></sdf>')
    (shop / "world" / "b.sdf").write_text(
        f'<sdf version="1.9"><model name="b">{include("a.sdf")}</model></sdf>'
    )
    start = time.process_time()
    with pytest.raises(SceneError, match="includes itself"):
        msd.from_file(path)
    assert time.process_time() - start < HANG


def test_includes_that_multiply_are_refused(shop):
    for level in range(11):
        inside = "".join(include(f"{level + 1}.sdf", f"<name>n{i}</name>") for i in range(4))
        (shop / "world" / f"{level}.sdf").write_text(
            f'<sdf version="1.9"><model name="m"><link name="a"/>{inside}</model></sdf>'
        )
    start = time.process_time()
    with pytest.raises(SceneError, match="with all includes"):
        msd.from_file(shop / "world" / "0.sdf")
    assert time.process_time() - start < HANG


# what is reported, and what is wrong


def test_extensions_are_left_out_with_their_place():
    world = load(
        '<world name="w">\n<plugin name="p" filename="x"/>\n<light name="l" type="point"/>\n'
        '<model name="m">\n'
        '<link name="a">\n<sensor name="s" type="imu"/>\n<lnk/></link><plugin name="q"/></model></world>'
    )
    notes = [(entry.line, entry.path) for entry in world.report.losses]
    assert notes == [
        (2, "sdf/world[0]/plugin[0]"),
        (3, "sdf/world[0]/light[0]"),
        (7, "sdf/world[0]/model[0]/plugin[0]"),
        (6, "sdf/world[0]/model[0]/link[0]/sensor[0]"),
        (7, "sdf/world[0]/model[0]/link[0]/lnk[0]"),
    ]


def test_all_problems_come_at_once_with_lines_and_hints():
    text = """<model name="m">
      <link name="a"><inertial><mass>heavy</mass></inertial></link>
      <link name="b"><collision name="c"><geometry><box><size>1 2</size></box></geometry></collision>
        <visual name="v"><geometry><mesh/></geometry></visual></link>
      <joint name="j" type="revolut"><parent>a</parent><child>b</child></joint>
      <joint name="k" type="revolute"><parent>aa</parent><child>b</child><axis><xyz>0 0 0</xyz>
        <dynamics><damping>-1</damping></dynamics></axis></joint>
      <joint name="l" type="ball"><parent>a</parent></joint>
      <joint name="n" type="fixed"><parent>a</parent><child>world</child></joint>
      <joint name="o" type="fixed"><parent>a</parent><child>a</child></joint>
      <static>maybe</static>
    </model>"""
    message = refused(text)
    for part in (
        ":2: sdf/model[0]/link[0]/inertial[0]/mass[0]: given 'heavy'; allowed: a finite number",
        "given 2 values; allowed: 3 finite numbers",
        "<uri> is required",
        "given 'revolut'; allowed: revolute, continuous, prismatic, fixed, ball, universal, revolute2, screw",
        "no link or frame 'aa'; did you mean 'a'",
        "given a zero axis",
        "<damping>: given -1.0",
        "<child> is required",
        "the child is the world",
        "the same link",
        "given 'maybe'; allowed: true, false, 1 or 0",
    ):
        assert part in message, part


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<sdf/>", "attribute 'version'"),
        ('<sdf version="1.9"/>', "neither a <world> nor a <model>"),
        ('<sdf version="new"><model name="m"/></sdf>', "a version such as"),
        ('<robot name="r"/>', "allowed: <sdf>"),
        ('<sdf version="1.9"><model><link name="a"/></model></sdf>', "attribute 'name' is required"),
        ('<sdf version="1.9"><model name="m"><link/></model></sdf>', "attribute 'name' is required"),
        ("<sdf", "not well-formed"),
        ('<!DOCTYPE s [<!ENTITY a "b">]><sdf version="1.9">&a;</sdf>', "document type"),
    ],
)
def test_broken_files_are_refused(text, part):
    assert part in refused(text, wrap=False)


def test_deep_nesting_is_refused_at_once():
    deep = '<model name="m">' * 300 + '<link name="a"/>' + "</model>" * 300
    assert "models nested deeper than" in refused(deep)
    chain = "".join(f'<link name="l{i}"/>' for i in range(3000))
    chain += "".join(joint(f"j{i}", "fixed", f"l{i}", f"l{i + 1}") for i in range(2999))
    start = time.process_time()
    with pytest.raises(SceneError, match="deeper than 1024"):
        model(chain)
    assert time.process_time() - start < HANG


def test_mutated_files_raise_nothing_else():
    rng = np.random.default_rng(5)
    original = (DATA / "frames.sdf").read_text()
    words = [
        "",
        "nan",
        "1e999",
        "-1",
        "a b c",
        "world",
        "first",
        "0 0 0 0 0 0",
        "true",
        "__model__",
        "arm::tool",
    ]
    for _ in range(100):
        text = original
        for _ in range(rng.integers(1, 5)):
            opened = [i for i, c in enumerate(text) if c in '>"']
            at = opened[rng.integers(len(opened))]
            end = min((i for i in (text.find("<", at + 1), text.find('"', at + 1)) if i > 0), default=at + 1)
            text = text[: at + 1] + words[rng.integers(len(words))] + text[end:]
        try:
            msd.from_str(text, "sdf")
        except SceneError:
            continue


# robots


def cassies() -> list[Path]:
    import importlib.metadata

    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())).resolve() for file in files if file.suffix == ".sdf")


@pytest.mark.skipif(not cassies(), reason="the package example-robot-data is not installed")
@pytest.mark.parametrize("path", cassies(), ids=lambda path: path.name)
def test_robots_with_loops_load(path):
    world = msd.from_file(path)
    found = poses(world)
    balls = [closure for closure in world.loop_closures if closure.family.name == "Point"]
    assert len(balls) == 4
    for closure in world.loop_closures:
        ends = [
            found[ref.link] @ frame(ref.position, ref.orientation)
            for ref in (closure.frame_a, closure.frame_b)
        ]
        assert np.allclose(ends[0], ends[1], atol=1e-12)
    assert len(world.couplers) == (10 if path.name == "cassie.sdf" else 0)
    assert len(world.hierarchy.bodies) == 1 and world.assets.meshes
