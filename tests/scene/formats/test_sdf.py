# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""SDF: frames of every version against stored results of Drake, loops, reports, and hostile files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sdf_scenes import DATA, LINKS, POSES, frame, joint, joints, links, load, model, poses, refused

from peers import example_robots
from worldline import msd
from worldline._src.scene.assets.rotations import rotation_matrix
from worldline._src.scene.mass_properties import NOTHING, given_properties

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
        for hinge in link.joints:
            if hinge.type_ is msd.JointType.Fixed:
                continue
            theirs = expected["joints"][hinge.name]
            turn, place = found[link.name][:3, :3], found[link.name][:3, 3]
            assert np.allclose(turn @ hinge.pos + place, theirs["origin"], rtol=0, atol=1e-12)
            for axis, word in ((hinge.axis, "axis"), (hinge.axis2, "axis2")):
                if word in theirs:
                    assert np.allclose(turn @ axis, theirs[word], rtol=0, atol=1e-12)
            if "pitch" in theirs:
                assert hinge.pitch * 2 * math.pi == pytest.approx(theirs["pitch"], rel=1e-14)
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


def test_the_density_of_a_link_is_for_shapes_that_give_none():
    ball = "<geometry><sphere><radius>0.1</radius></sphere></geometry>"
    world = model(
        '<link name="a"><inertial auto="true"><density>100</density></inertial>'
        f'<collision name="s"><density>500</density>{ball}</collision><collision name="t">{ball}</collision></link>'
    )
    assert world.report.is_exact, str(world.report)
    assert [geom.physics_material.density for geom in links(world)["a"].geoms] == [500, 100]


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
        '<link name="a"><collision name="c"><geometry><polyline><height>1</height></polyline></geometry></collision>'
        "</link>"
    )
    assert "no such shape as a polyline" in str(odd.report) and not odd.report.is_exact


def test_shapes_without_a_mask_touch_those_with_one():
    """The format gives them 16 bits, which only shows beside shapes with a mask of their own."""
    ball = "<geometry><sphere><radius>1</radius></sphere></geometry>"
    mask = "<surface><contact><collide_bitmask>{}</collide_bitmask></contact></surface>"
    plain = f'<collision name="p">{ball}</collision>'
    some = f'<collision name="s">{ball}{mask.format("0x10")}</collision>'
    high = f'<collision name="h">{ball}{mask.format(0x10000)}</collision>'
    first, second, third = links(model(f'<link name="a">{plain}{some}{high}</link>'))["a"].geoms
    masks = [geom.collision_mask.collide_group for geom in (first, second, third)]
    assert masks == [geom.collision_mask.collide_with for geom in (first, second, third)]
    assert masks == [0xFFFF, 0x10, 0x10000]
    alone = links(model(f'<link name="a">{plain}</link>'))["a"].geoms[0]
    assert alone.collision_mask == msd.CollisionMask()
    for wrong in ("-1", "1.5", "0xg", "4294967296"):
        bad = f'<model name="m"><link name="a"><collision name="c">{ball}{mask.format(wrong)}</collision></link></model>'
        assert "collide_bitmask" in refused(bad)


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


# robots

CASSIES = example_robots(".sdf")


@pytest.mark.skipif(not CASSIES, reason="the package example-robot-data is not installed")
@pytest.mark.parametrize("path", CASSIES, ids=lambda path: path.name)
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
