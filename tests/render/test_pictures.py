# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures against known answers: projections of spheres and boxes, distances, who is where, conventions."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from needs import drawing

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, NotFoundError, OperationError
from worldline.collision import CollisionShape

pytestmark = drawing

SCENE = """<mujoco>
  <worldbody>
    <camera name="front" pos="0 -4 0" xyaxes="1 0 0 0 0 1" fovy="40"/>
    <camera name="low" pos="0 -4 0.5" xyaxes="1 0 0 0 0 1" fovy="50" resolution="200 100"/>
    <camera name="map" pos="0 0 5" projection="orthographic" fovy="3"/>
    <camera name="lens" pos="0 -4 0" xyaxes="1 0 0 0 0 1" resolution="400 200" sensorsize="0.04 0.02"
      focal="0.02 0.01" principal="0.01 -0.005"/>
    <geom name="ball" type="sphere" size="0.5" rgba="1 0 0 1"/>
    <geom name="left" type="box" size="0.2 0.2 0.2" pos="-1 0 0" rgba="0 1 0 1"/>
    <body name="up" pos="0 0 1"><freejoint/><geom name="top" type="box" size="0.2 0.1 0.2" rgba="0 0 1 1"/></body>
    <body name="arm"><joint name="turn" axis="0 0 1"/>
      <camera name="rider" pos="0 -4 0" xyaxes="1 0 0 0 0 1" fovy="40"/>
      <camera name="follower" mode="track" pos="0 -4 0" xyaxes="1 0 0 0 0 1" fovy="40"/>
      <camera name="watcher" mode="targetbody" target="up" pos="2 -4 0"/>
      <geom name="tip" type="sphere" size="0.1" pos="1 0 0" rgba="1 1 0 1"/></body>
  </worldbody></mujoco>"""


def scene():
    return sx.World.from_scene(msd.from_str(SCENE, format="mjcf"))


def ball(radius=0.5, **place):
    world = sx.World()
    body = world.add_rigid_body("ball", **place)
    body.add_collision_shape(CollisionShape.sphere(radius), name="sphere")
    return world


def test_a_sphere_covers_the_pixels_of_its_cone():
    """A sphere on the optical axis fills the cone with sine r/d: a disc of d tan(asin(r/d)) in the picture."""
    r, d, height = 0.5, 3.0, 400
    picture = sx.render(
        ball(r), sx.LookAt((d, 0, 0), fovy=45.0), width=600, height=height, rgb=False, segmentation=True
    )
    tan = np.tan(np.arcsin(r / d))
    pixels = 0.5 * height / np.tan(np.radians(22.5)) * tan
    rows, columns = np.nonzero(picture.segmentation == 0)
    # the drawn sphere is made of flat faces, a little within the round one
    assert np.pi * pixels**2 * 0.98 < len(rows) < np.pi * pixels**2 * 1.005
    assert rows.mean() == pytest.approx(0.5 * height - 0.5, abs=0.6)
    assert columns.mean() == pytest.approx(299.5, abs=0.6)
    assert np.ptp(rows) + 1 == pytest.approx(2.0 * pixels, abs=2.0)


def test_depth_is_along_the_optical_axis():
    world = sx.World()
    wall = world.add_rigid_body("wall", fixed=True, position=(-1.0, 0, 0))
    wall.add_collision_shape(CollisionShape.box((0.5, 4.0, 4.0)))
    picture = sx.render(world, sx.LookAt((2, 0, 0), fovy=60.0), width=80, height=60, rgb=False, depth=True)
    # every point of a wall across the view is as far along the axis as its middle
    assert picture.depth == pytest.approx(np.full((60, 80), 2.5), abs=1e-4)


def test_depth_of_a_sphere_is_that_of_its_rays():
    r, d, size = 0.5, 3.0, 201
    picture = sx.render(
        ball(r), sx.LookAt((d, 0, 0), fovy=30.0), width=size, height=size, rgb=False, depth=True
    )
    half = np.tan(np.radians(15.0))
    x = half * ((2.0 * np.arange(size) + 1.0) / size - 1.0)
    across = x[None, :] ** 2 + x[:, None] ** 2
    # |t (1, y, z) - d e|^2 = r^2 for the nearer t
    root = d**2 - (1.0 + across) * (d**2 - r**2)
    hit = root > 0.09
    exact = (d - np.sqrt(np.where(hit, root, 0.0))) / (1.0 + across)
    assert hit.sum() > 1000
    # faces of 7.5 degrees lie up to 2 r (1 - cos 3.75 deg) = 2.1 mm within the sphere, seen at 53 degrees or less
    assert picture.depth[hit] == pytest.approx(exact[hit], abs=2.2e-3 / 0.6)
    assert picture.depth[size // 2, size // 2] == pytest.approx(d - r, abs=1e-4)
    assert np.isinf(picture.depth[0, 0])


def test_an_orthographic_camera_keeps_sizes():
    picture = sx.render(scene(), "map", width=300, height=300, rgb=False, depth=True, segmentation=True)
    # 3 m over 300 pixels
    left = picture.mask("left")
    assert left.sum() == pytest.approx(40 * 40, abs=90)
    rows, columns = np.nonzero(left)
    assert (columns.mean(), rows.mean()) == pytest.approx((49.5, 149.5), abs=0.6)
    assert picture.depth[150, 50] == pytest.approx(5.0 - 0.2, abs=1e-4)
    assert picture.depth[150, 150] == pytest.approx(5.0 - 1.2, abs=1e-4)


def test_cameras_look_along_minus_z_with_y_up():
    picture = sx.render(scene(), "front", width=320, height=240, segmentation=True)
    places = {}
    for name in ("ball", "left", "top", "tip"):
        rows, columns = np.nonzero(picture.mask(name))
        places[name] = columns.mean(), rows.mean()
    focal = 120.0 / np.tan(np.radians(20.0))
    assert places["left"][0] == pytest.approx(159.5 - focal / 4.0, abs=4.0)
    assert places["tip"][0] == pytest.approx(159.5 + focal / 4.0, abs=2.0)
    assert places["top"][1] == pytest.approx(119.5 - focal / 4.0, abs=4.0)
    assert places["ball"] == pytest.approx((159.5, 119.5), abs=1.0)
    for name, channel in (("ball", 0), ("left", 1), ("top", 2)):
        colour = picture.rgb[picture.mask(name)].mean(axis=0)
        assert colour[channel] > 2.5 * max(np.delete(colour, channel)), (name, colour)


def test_segmentation_names_shapes_and_bodies():
    picture = sx.render(scene(), "front", rgb=False, segmentation=True)
    assert picture.shape_names == ("ball", "left", "top", "tip")
    assert picture.body_names == ("world", "world", "up", "arm")
    assert (picture.mask("up") == picture.mask("top")).all()
    assert set(np.unique(picture.segmentation)) == {-1, 0, 1, 2, 3}
    with pytest.raises(ArgumentError, match="no shape or body 'nose'"):
        picture.mask("nose")
    with pytest.raises(ArgumentError, match="segmentation=True"):
        sx.render(scene(), rgb=True, width=8, height=8).mask("up")


def test_cameras_follow_their_bodies():
    world = scene()
    world.multibodies["arm"].joints["turn"].position = [np.pi / 2]
    world.rigid_bodies["up"].translation = (0.5, 0.0, 1.5)

    def place(camera, name):
        mask = sx.render(world, camera, width=320, height=240, rgb=False, segmentation=True).mask(name)
        rows, columns = np.nonzero(mask)
        return columns.mean(), rows.mean()

    focal = 120.0 / np.tan(np.radians(20.0))
    # fixed to the arm: the tip stays where it was in the picture
    assert place("rider", "tip")[0] == pytest.approx(159.5 + focal / 4.0, abs=2.0)
    # keeps its turn and offset in world axes: the tip has gone behind the ball
    assert place("front", "ball") == pytest.approx((159.5, 119.5), abs=1.0)
    assert place("follower", "ball") == pytest.approx((159.5, 119.5), abs=1.0)
    # turns toward the body
    assert place("watcher", "top") == pytest.approx((159.5, 119.5), abs=3.0)


def test_a_camera_says_how_large_its_picture_is():
    assert sx.render(scene(), "low").rgb.shape == (100, 200, 3)
    assert sx.render(scene(), "low", width=100).rgb.shape == (50, 100, 3)
    assert sx.render(scene(), "front").rgb.shape == (480, 640, 3)


def test_lens_of_a_camera():
    """A principal point off the middle moves the picture; unequal focal lengths stretch it."""
    picture = sx.render(scene(), "lens", rgb=False, segmentation=True)
    assert picture.segmentation.shape == (200, 400)
    rows, columns = np.nonzero(picture.mask("ball"))
    # 10,000 pixels a metre: focal lengths of 200 and 100 pixels
    tan = np.tan(np.arcsin(0.5 / 4.0))
    assert np.ptp(columns) + 1 == pytest.approx(2 * 200 * tan, abs=2)
    assert np.ptp(rows) + 1 == pytest.approx(2 * 100 * tan, abs=2)
    mid = columns.mean() - 199.5, rows.mean() - 99.5
    assert mid == pytest.approx((-100.0, 50.0), abs=1.0)


def test_the_world_stays_as_it_is_and_a_state_can_be_drawn():
    world = scene()
    before = world.state_vector
    space = world.state_space()
    state = world.get_state(space)
    state["up.pose"] = [0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0]
    picture = sx.render(world, "front", width=320, height=240, rgb=False, segmentation=True, state=state)
    rows, _ = np.nonzero(picture.mask("up"))
    assert rows.mean() > 180.0
    assert (world.state_vector == before).all()
    now = sx.render(world, "front", width=320, height=240, rgb=False, segmentation=True)
    assert np.nonzero(now.mask("up"))[0].mean() < 60.0


def test_pictures_into_arrays_of_the_caller():
    world = scene()
    out = sx.Picture(np.zeros((60, 80, 3), np.uint8), None, np.zeros((60, 80), np.int32), (), ())
    made = sx.render(world, "front", width=80, height=60, segmentation=True, out=out)
    assert made.rgb is out.rgb and made.segmentation is out.segmentation and made.depth is None
    assert (out.segmentation == 0).any() and out.rgb.any()
    wrong = out._replace(rgb=np.zeros((60, 80, 4), np.uint8))
    with pytest.raises(ArgumentError, match=r"out.rgb must be an array of uint8 with shape \(60, 80, 3\)"):
        sx.render(world, "front", width=80, height=60, out=wrong)
    wrong = out._replace(rgb=np.zeros((60, 80, 3)))
    with pytest.raises(ArgumentError, match="got float64"):
        sx.render(world, "front", width=80, height=60, out=wrong)
    out.rgb.setflags(write=False)
    with pytest.raises(ArgumentError, match="cannot be written"):
        sx.render(world, "front", width=80, height=60, out=out)


def test_what_is_added_later_is_seen():
    world = ball()
    with sx.Renderer(world, 80, 60) as renderer:
        camera = sx.LookAt((4, 0, 0))
        assert renderer.render(camera, segmentation=True).shape_names == ("sphere",)
        box = world.add_rigid_body("box", position=(0, 1, 0))
        box.add_collision_shape(CollisionShape.box((0.2, 0.2, 0.2)), name="crate")
        picture = renderer.render(camera, segmentation=True)
        assert picture.shape_names == ("sphere", "crate") and picture.mask("crate").any()


def test_groups_and_transparent_shapes():
    text = SCENE.replace('name="left"', 'name="left" group="3"').replace("1 1 0 1", "1 1 0 0")
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    shown = sx.render(world, "front", rgb=False, segmentation=True)
    assert not shown.mask("left").any() and not shown.mask("tip").any() and shown.mask("ball").any()
    others = sx.render(world, "front", rgb=False, segmentation=True, groups=(3,))
    assert others.mask("left").any() and not others.mask("ball").any()


def test_a_shadow_is_darker_and_lies_under_the_ball():
    world = ball(0.3, position=(0, 0, 0.6))
    world.add_ground_plane()
    camera = sx.LookAt((0, -4, 3), (0, 0, 0))
    lit = sx.render(world, camera, width=320, height=240, shadows=False).rgb.astype(float)
    shaded = sx.render(world, camera, width=320, height=240, segmentation=True)
    ground = shaded.mask("ground_0") if "ground_0" in shaded.shape_names else shaded.segmentation == 0
    darker = ground & (shaded.rgb.astype(float).sum(axis=2) < lit.sum(axis=2) - 60.0)
    rows, columns = np.nonzero(darker)
    assert 300 < len(rows) < 6000
    # the sun is high: the shadow is beside the foot of the ball, not far from the middle of the picture
    assert abs(columns.mean() - 160) < 60 and abs(rows.mean() - 120) < 60


@pytest.mark.parametrize(
    ("camera", "error", "message"),
    [
        ("frnt", NotFoundError, "no camera 'frnt'; did you mean 'front'"),
        (17, ArgumentError, "no camera 17"),
    ],
)
def test_cameras_that_are_not_there(camera, error, message):
    with pytest.raises(error, match=message):
        sx.render(scene(), camera, width=8, height=8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"position": (0, 0, 0)}, "cannot look at itself"),
        ({"position": (1, 0, 0), "fovy": 180.0}, "below 180"),
        ({"position": (1, 0, 0), "fovy": -1.0}, "fovy of a LookAt must be positive"),
        ({"position": (1, 0)}, "position of a LookAt"),
        ({"position": "abc"}, "position of a LookAt"),
        ({"position": (1, 0, float("nan"))}, "position of a LookAt"),
        ({"position": (1, 0, 0), "target": None}, "target of a LookAt"),
        ({"position": (1, 0, 0), "up": (0, 0, 0)}, "up of a LookAt"),
        ({"position": (1, 0, 0), "orthographic": "yes"}, "orthographic of a LookAt must be True or False"),
    ],
)
def test_a_free_camera_that_cannot_be_is_refused_when_it_is_made(given, message):
    with pytest.raises(ArgumentError, match=message):
        sx.LookAt(**given)


def test_a_free_camera_keeps_what_it_was_given():
    position = np.array([1.0, 2.0, 3.0])
    camera = sx.LookAt(position)
    position[0] = 9.0
    assert camera.position == (1.0, 2.0, 3.0) and camera == sx.LookAt((1, 2, 3))


def test_bad_sizes_and_groups():
    with pytest.raises(ArgumentError, match="1 to 8192 pixels, got 0"):
        sx.render(scene(), width=0)
    with pytest.raises(ArgumentError, match="groups are 0 to 7, got 9"):
        sx.render(scene(), width=8, height=8, groups=(9,))


def test_a_renderer_belongs_to_its_thread():
    import threading

    renderer = sx.Renderer(scene(), 8, 8)
    seen = []

    def use():
        try:
            renderer.render()
        except OperationError as error:
            seen.append(str(error))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert seen == ["a Renderer can only be used from the thread that made it"]


THEIRS = """
import sys, mujoco, numpy as np
model = mujoco.MjModel.from_xml_string(sys.stdin.read())
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
found = {}
for argument in sys.argv[2:]:
    name, width, height = argument.split(",")
    with mujoco.Renderer(model, int(height), int(width)) as renderer:
        renderer.update_scene(data, name)
        renderer.enable_depth_rendering()
        found[name + "_depth"] = renderer.render().copy()
        renderer.disable_depth_rendering()
        renderer.enable_segmentation_rendering()
        found[name + "_ids"] = renderer.render()[..., 0].copy()
np.savez(sys.argv[1], **found)
"""


def test_depth_and_segmentation_agree_with_another_renderer(tmp_path):
    """MuJoCo draws the same scene from the same cameras; only pixels on edges may differ."""
    pytest.importorskip("mujoco", reason="compares with MuJoCo")
    sizes = dict.fromkeys(("front", "map", "watcher", "rider"), (160, 120)) | {"lens": (200, 100)}
    # in a process of its own: two users of EGL in one process end each other's connection to it
    arguments = [f"{name},{width},{height}" for name, (width, height) in sizes.items()]
    done = subprocess.run(
        [sys.executable, "-c", THEIRS, str(tmp_path / "theirs.npz"), *arguments],
        input=SCENE,
        capture_output=True,
        text=True,
        env=os.environ | {"MUJOCO_GL": "egl"},
    )
    if done.returncode != 0:
        pytest.skip(f"MuJoCo cannot draw here: {done.stderr.strip().splitlines()[-1:]}")
    theirs = np.load(tmp_path / "theirs.npz")
    for name, (width, height) in sizes.items():
        ours = sx.render(scene(), name, width=width, height=height, rgb=False, depth=True, segmentation=True)
        ids = theirs[f"{name}_ids"]
        same = ids == ours.segmentation
        assert same.mean() > 0.985, (name, same.mean())
        both = same & (ids >= 0)
        assert both.sum() > 300, name
        off = np.abs(theirs[f"{name}_depth"][both] - ours.depth[both])
        assert np.median(off) < 2e-3 and np.quantile(off, 0.95) < 0.05, (name, np.median(off))


def test_tendons_are_drawn_in_colours_only():
    text = """<mujoco><worldbody><site name="a" pos="0 -1 0"/><site name="b" pos="0 1 0"/>
      <geom name="post" type="sphere" size="0.2" pos="0 0 0.6" rgba="1 0 0 1"/></worldbody>
      <tendon><spatial name="rope" rgba="0 0 1 1" width="0.05"><site site="a"/><site site="b"/></spatial>
      </tendon></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    picture = sx.render(world, sx.LookAt((3, 0, 0), (0, 0, 0)), width=200, height=150, segmentation=True)
    wide = picture.rgb.astype(int)
    blue = (wide[..., 2] > 90) & (wide[..., 2] > 2 * wide[..., :2].max(axis=2))
    rows, columns = np.nonzero(blue)
    focal = 75 / np.tan(np.radians(22.5))
    # two metres long and ten centimetres thick, seen from three metres
    assert np.ptp(columns) + 1 == pytest.approx(2.0 * focal / 3.0, abs=4)
    assert np.ptp(rows) + 1 == pytest.approx(0.1 * focal / 3.0, abs=2)
    assert (picture.segmentation[blue] == -1).all()


def test_renderers_do_not_end_each_other():
    worlds = ball(), scene()
    first = sx.Renderer(worlds[0], 40, 30)
    second = sx.Renderer(worlds[1], 40, 30)
    kept = [r.render(segmentation=True) for r in (first, second)]
    first.close()
    again = second.render(segmentation=True)
    assert (again.rgb == kept[1].rgb).all() and (again.segmentation == kept[1].segmentation).all()
    # a closed one may be used again
    assert (first.render().rgb == kept[0].rgb).all()
    second.close()
    first.close()


@pytest.mark.parametrize("shadows", [True, False])
def test_an_orthographic_camera_sees_the_sky_and_a_ball_of_its_size(shadows):
    world = ball(0.3, position=(0, 0, 0))
    camera = sx.LookAt((4, 0, 0), fovy=2.0, orthographic=True)
    for target in (world, sx.World()):
        picture = sx.render(
            target, camera, width=200, height=200, depth=True, segmentation=True, shadows=shadows
        )
        assert picture.rgb.shape == (200, 200, 3)
    picture = sx.render(world, camera, width=200, height=200, depth=True, segmentation=True, shadows=shadows)
    # 200 pixels are 2 m, wherever the ball is
    seen = (picture.segmentation >= 0).sum()
    assert seen == pytest.approx(np.pi * 30.0**2, rel=0.02)
    farther = sx.LookAt((9, 0, 0), fovy=2.0, orthographic=True)
    again = sx.render(world, farther, width=200, height=200, segmentation=True, shadows=shadows)
    assert abs(int((again.segmentation >= 0).sum()) - int(seen)) < 20
    assert picture.depth.min() == pytest.approx(3.7, abs=0.01)
