# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What there is to draw: triangles of shapes, looks, places, marks; nothing is drawn here."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.drawing import cameras, looks, marks, triangles
from worldline._src.drawing.items import hulls_of, items_of, texcoords
from worldline._src.drawing.placement import body_poses, composed, coordinates, points_of
from worldline._src.drawing.wrapping import tendon_lines
from worldline._src.scene.assets.hfields import HeightField
from worldline._src.spatial.poses import compose
from worldline._src.viewer.shapes import welded
from worldline.collision import CollisionShape


def load(text):
    return sx.World.from_scene(msd.from_str(text, format="mjcf"))


def volume(vertices, faces):
    """Signed volume within a closed surface; positive when faces look outward."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


CLOSED = {
    "sphere": (triangles.sphere(), 4.0 / 3.0 * np.pi, 0.02),
    "capsule": (triangles.capsule(1.5), 4.0 / 3.0 * np.pi + 3.0 * np.pi, 0.02),
    "cylinder": (triangles.cylinder(), 2.0 * np.pi, 0.01),
    "cone": (triangles.cone(), 2.0 / 3.0 * np.pi, 0.01),
    "box": (triangles.box(), 8.0, 1e-12),
}


@pytest.mark.parametrize("name", CLOSED)
def test_solids_are_closed_and_look_outward(name):
    mesh, exact, share = CLOSED[name]
    found = volume(mesh.vertices, mesh.faces)
    # corners lie on the surface, so faces are within it
    assert exact * (1.0 - share) < found <= exact * (1.0 + 1e-12)
    assert np.linalg.norm(mesh.normals, axis=1) == pytest.approx(np.ones(len(mesh.normals)))
    corners = mesh.vertices[mesh.faces]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ij,ikj->ik", flat, mesh.normals[mesh.faces]) > 0.0).all()
    # every edge belongs to two faces that run along it in opposite directions
    points, index = np.unique(np.round(mesh.vertices, 9), axis=0, return_inverse=True)
    faces = index.reshape(-1)[mesh.faces]
    edges = [(int(f[k]), int(f[(k + 1) % 3])) for f in faces for k in range(3)]
    assert len(edges) == len(set(edges)) and {(b, a) for a, b in edges} == set(edges)
    assert len(points) < len(mesh.vertices)


def test_joined_vertices_keep_the_surface():
    for mesh, exact, share in CLOSED.values():
        vertices, faces = welded(mesh)
        assert volume(vertices.astype(float), faces) == pytest.approx(exact, rel=max(share, 1e-5))
        assert len(vertices) < len(mesh.vertices) or mesh is triangles.box()


def test_height_fields_have_their_size_and_a_base():
    heights = np.add.outer(np.zeros(3), np.array([0.0, 0.5, 1.0, 0.5]))
    mesh = triangles.height_field(HeightField(heights, np.array([6.0, 4.0]), 0.2))
    assert mesh.vertices.min(axis=0) == pytest.approx([-3.0, -2.0, -0.2])
    assert mesh.vertices.max(axis=0) == pytest.approx([3.0, 2.0, 1.0])
    top = mesh.normals[: heights.size]
    assert (top[:, 2] > 0.0).all()
    # columns run along x, rows along y
    middle = mesh.vertices[: heights.size].reshape(3, 4, 3)
    assert middle[:, :, 0] == pytest.approx(np.tile([-3.0, -1.0, 1.0, 3.0], (3, 1)))
    assert middle[:, :, 2] == pytest.approx(heights)
    large = triangles.height_field(HeightField(np.zeros((1001, 700)), np.array([1.0, 1.0]), 0.0))
    assert len(large.vertices) < 300 * 300
    assert large.vertices.max(axis=0)[:2] == pytest.approx([0.5, 0.5])


def test_edges_stay_sharp_and_curves_smooth():
    box = triangles.box()
    again = triangles.with_edges(box.vertices, box.faces)
    assert np.abs(again.normals).max(axis=1) == pytest.approx(np.ones(len(again.normals)))
    ball = triangles.sphere()
    smooth = triangles.with_edges(ball.vertices, ball.faces)
    assert np.einsum("ij,ij->i", smooth.normals, smooth.vertices).min() > 0.99


def test_poses_of_many_are_those_of_each():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 20, 7))
    for pose in (a, b):
        pose[:, 3:] /= np.linalg.norm(pose[:, 3:], axis=1, keepdims=True)
    assert composed(a, b) == pytest.approx(np.array([compose(x, y) for x, y in zip(a, b, strict=True)]))
    assert points_of(a, b[:, :3]) == pytest.approx(composed(a, b)[:, :3])


SHAPES = """<mujoco>
  <asset>
    <texture name="squares" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="64" height="64"/>
    <material name="tiles" texture="squares" texrepeat="2 4"/>
    <material name="shiny" rgba="0.2 0.4 0.6 0.5" shininess="0.9" specular="0.8"/>
    <mesh name="tent" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
    <hfield name="hills" nrow="3" ncol="3" size="1 2 0.5 0.1" elevation="0 0 0 0 1 0 0 0 0"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <geom name="board" type="plane" size="2 1 1" material="tiles"/>
    <geom name="ground" type="hfield" hfield="hills" pos="0 0 -1"/>
    <body name="a" pos="0 0 1"><freejoint/>
      <geom name="ball" type="sphere" size="0.5" rgba="1 0 0 1"/>
      <geom name="egg" type="ellipsoid" size="0.1 0.2 0.3" pos="1 0 0" material="shiny"/>
      <geom name="tent" type="mesh" mesh="tent" pos="0 1 0"/>
      <geom name="pill" type="capsule" size="0.1 0.4" pos="0 2 0" group="3"/>
      <body name="b"><joint name="j"/><geom name="can" type="cylinder" size="0.1 0.2" pos="0 0 1"/></body>
    </body>
    <body name="c" pos="0 3 1"><freejoint/><geom name="brick" type="box" size="0.1 0.2 0.3"/></body>
  </worldbody></mujoco>"""


def test_items_of_all_shapes():
    world = load(SHAPES)
    items = {item.label: item for item in items_of(world).rows}
    assert list(items) == ["floor", "board", "ground", "ball", "egg", "tent", "pill", "can", "brick"]
    sizes = {
        "ball": (0.5, 0.5, 0.5),
        "egg": (0.1, 0.2, 0.3),
        "pill": (0.1, 0.1, 0.5),
        "can": (0.1, 0.1, 0.2),
        "brick": (0.1, 0.2, 0.3),
        "board": (2.0, 1.0, 0.0),
    }
    for name, half in sizes.items():
        item = items[name]
        assert np.abs(item.mesh.vertices * item.scale).max(axis=0) == pytest.approx(half), name
    # balls and eggs share their triangles, as do cans
    assert items["ball"].mesh is items["egg"].mesh
    assert items["floor"].is_endless and not items["board"].is_endless
    assert items["pill"].group == 3 and items["ball"].collides
    assert [hull.label for hull in hulls_of(world).rows] == ["tent"]


def test_looks_come_from_shape_material_and_tree():
    items = {item.label: item for item in items_of(load(SHAPES)).rows}
    assert items["ball"].look.rgba == (1.0, 0.0, 0.0, 1.0)
    assert items["egg"].look.rgba == pytest.approx((0.2, 0.4, 0.6, 0.5))
    assert items["egg"].look.roughness < 0.5
    # one tree, two levels; another tree
    assert items["pill"].look.rgba == looks.palette(0, 0) and items["can"].look.rgba == looks.palette(0, 1)
    assert items["brick"].look.rgba == looks.palette(1, 0)
    assert items["floor"].look.texture.name == "ground" and items["ground"].look.texture.name == "ground"
    board = items["board"]
    assert board.look.texture.pixels[0, 0].tolist() == [255, 0, 0]
    assert board.look.texture.pixels[0, -1].tolist() == [0, 0, 255]
    assert np.ptp(texcoords(board), axis=0) == pytest.approx([2.0, 4.0])
    # squares of the ground are 1 m, two of them in a repeat
    assert np.ptp(texcoords(items["floor"]), axis=0) == pytest.approx(items["floor"].scale[:2])
    assert texcoords(items["ball"]) is None


def test_poses_and_bounds_of_items():
    world = load(SHAPES)
    items = items_of(world)
    bodies = body_poses(world._live().model, coordinates(world))
    poses = dict(zip([item.label for item in items.rows], items.poses(bodies), strict=True))
    assert poses["egg"][:3] == pytest.approx([1.0, 0.0, 1.0])
    assert poses["can"][:3] == pytest.approx([0.0, 0.0, 2.0])
    assert poses["ground"][:3] == pytest.approx([0.0, 0.0, -1.0])
    low, high = items.bounds(bodies)
    assert low == pytest.approx([-1.0, -2.0, -1.1]) and high == pytest.approx([1.1, 3.2, 2.2])
    empty = sx.World()
    empty.add_rigid_body("a", position=(1, 2, 3))
    assert items_of(empty).bounds(body_poses(empty._live().model, coordinates(empty)))[0] == pytest.approx(
        [0.5, 1.5, 2.5]
    )


def test_views():
    world = load(SHAPES)
    items = items_of(world)
    bodies = body_poses(world._live().model, coordinates(world))
    home = cameras.view_of(world, None, items, bodies)
    low, high = items.bounds(bodies)
    # all eight corners are in the picture
    corners = np.array(np.meshgrid(*np.stack([low, high], axis=1))).reshape(3, -1).T
    local = (corners - home.position) @ home.R_WC
    assert (np.abs(local[:, 1] / local[:, 2]) < np.tan(np.radians(22.5))).all() and (local[:, 2] < 0.0).all()
    looking = cameras.view_of(world, sx.LookAt((2, 0, 0), (0, 0, 0)), items, bodies)
    assert looking.forward == pytest.approx([-1, 0, 0]) and looking.up == pytest.approx([0, 0, 1])
    assert np.linalg.det(looking.R_WC) == pytest.approx(1.0)
    down = cameras.view_of(world, sx.LookAt((0, 0, 5), (0, 0, 0)), items, bodies)
    assert down.forward == pytest.approx([0, 0, -1]) and np.linalg.det(down.R_WC) == pytest.approx(1.0)


# ---- marks

MARKS = """<mujoco><worldbody>
  <site name="top" pos="0 0 2" size="0.05" rgba="1 0 0 1"/>
  <site name="foot" pos="1 0 0" size="0.05"/>
  <geom name="drum" type="cylinder" size="0.3 0.5" pos="0.5 0 1" euler="90 0 0" contype="0" conaffinity="0"/>
  <body name="a" pos="0 0 1"><joint name="turn" axis="0 1 0"/>
    <geom type="box" size="0.1 0.1 0.1" pos="0.5 0 0" mass="3"/>
    <body name="b" pos="1 0 0"><joint name="slide" type="slide" axis="0 0 1"/>
      <geom type="box" size="0.1 0.1 0.1" mass="1"/><site name="tip" size="0.02"/></body></body>
</worldbody>
<tendon><spatial name="rope" rgba="0 1 0 1" width="0.01"><site site="top"/><site site="tip"/></spatial>
<spatial name="belt"><site site="top"/><geom geom="drum"/><site site="foot"/></spatial></tendon></mujoco>"""


def test_axes_and_centres_move_with_joints():
    world = load(MARKS)
    robot = world.multibodies["a"]
    robot.joints.position = [np.pi / 2, 0.25]
    model, q = world._live().model, coordinates(world)
    bodies = body_poses(model, q)
    axes = marks.joint_axes(model, q, bodies)
    assert axes.origins[0] == pytest.approx([0, 0, 1]) and axes.directions[0] == pytest.approx([0, 1, 0])
    # a quarter turn about y takes x to -z and z to x
    assert axes.directions[1] == pytest.approx([1, 0, 0], abs=1e-12)
    assert axes.origins[1] == pytest.approx([0.25, 0, 0], abs=1e-12)
    assert marks.body_centres(model, bodies)[0] == pytest.approx([0, 0, 0.5], abs=1e-12)
    assert marks.centre_of_mass(model, bodies) == pytest.approx(world.center_of_mass)


def test_axes_of_a_universal_joint_follow_each_other():
    world = sx.World()
    robot = world.add_multibody("m")
    base = robot.add_link("base")
    spec = sx.JointSpec(name="u", type=sx.JointType.UNIVERSAL, axis=(1, 0, 0), axis2=(0, 1, 0))
    robot.add_link("l", parent=base, joint=spec)
    robot.joints["u"].position = [0.7, 0.4]
    model, q = world._live().model, coordinates(world)
    axes = marks.joint_axes(model, q, body_poses(model, q))
    found = axes.directions[-2:]
    assert found[0] == pytest.approx([1, 0, 0]) and found[1] == pytest.approx([0, np.cos(0.7), np.sin(0.7)])


def test_frames_sites_and_tendons():
    world = load(MARKS)
    hand = world.add_free_frame("hand", parent=world.multibodies["a"].links["b"])
    hand.local_transform = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.5], [0, 0, 0, 1.0]])
    world.multibodies["a"].joints.position = [0.0, 0.25]
    model, q = world._live().model, coordinates(world)
    bodies = body_poses(model, q)
    names, poses = marks.frame_poses(world, bodies)
    assert names == ["hand"] and poses[0, :3] == pytest.approx([1.0, 0.0, 1.75])
    assert poses[0, :3] == pytest.approx(hand.translation)
    sites = marks.site_items(world)
    assert [s.label for s in sites.rows] == ["top", "foot", "tip"] and sites.rows[0].look.rgba[0] == 1.0
    rope, belt = marks.tendons_of(world, bodies)
    assert rope.rgba == (0.0, 1.0, 0.0, 1.0) and rope.radius == 0.01
    assert rope.lines[0] == pytest.approx(np.array([[0, 0, 2], [1, 0, 1.25]]))
    # around the drum and never through it
    line = belt.lines[0]
    assert len(line) > 5
    assert np.hypot(line[1:-1, 0] - 0.5, line[1:-1, 2] - 1.0) == pytest.approx(np.full(len(line) - 2, 0.3))


WRAPS = """<mujoco><worldbody>
  <geom name="drum" type="{kind}" size="0.3 0.5" zaxis="0.1 1 0.2" contype="0" conaffinity="0"/>
  <site name="side" pos="{side}"/><site name="end" pos="-1 0.3 {end}"/>
  <body pos="1 -0.2 0"><joint name="lift" type="slide" axis="0 0 1"/><geom size="0.01" mass="1"/>
    <site name="start"/></body></worldbody>
  <tendon><spatial name="belt"><site site="start"/><geom geom="drum" {sided}/><site site="end"/></spatial></tendon>
  <sensor><tendonpos name="length" tendon="belt"/></sensor></mujoco>"""


@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
@pytest.mark.parametrize("side", [None, "0 0 1", "0 0 -1", "0 0.02 0.1"])
@pytest.mark.parametrize("end", [0.0, 0.4])
def test_a_tendon_is_drawn_as_long_as_it_is(kind, side, end):
    """Around its shape the short way, on the side of a site, or reflected from the inside."""
    text = WRAPS.format(kind=kind, side=side or "0 0 1", end=end, sided='sidesite="side"' if side else "")
    world = load(text)
    for height in (0.0, 0.25, 0.9):
        world.multibodies[0].joints["lift"].position = [height]
        model, q = world._live().model, coordinates(world)
        (lines,) = tendon_lines(model, body_poses(model, q))
        drawn = np.linalg.norm(np.diff(lines[0], axis=0), axis=1).sum()
        assert drawn == pytest.approx(world.sensors["length"].value[0], rel=2e-3)


def test_contacts_are_those_of_the_world():
    world = sx.World()
    world.add_ground_plane()
    box = world.add_rigid_body("box", mass=2.0, position=(0, 0, 0.5))
    box.add_collision_shape(CollisionShape.box((0.5, 0.5, 0.5)))
    assert len(marks.contacts_of(world).points) == 0
    world.step(200)
    found, told = marks.contacts_of(world), world.contacts
    assert found.points == pytest.approx(np.array([c.point for c in told]))
    assert found.forces == pytest.approx(np.array([c.force for c in told]))
    assert np.abs(found.forces.sum(axis=0)) == pytest.approx([0.0, 0.0, 2.0 * 9.81], abs=0.05)


def test_scenes_without_tendons_have_no_lines():
    world = load(SHAPES)
    model = world._live().model
    assert tendon_lines(model, body_poses(model, coordinates(world))) == []
