# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that can be switched on the real page: marks, surfaces, groups, cameras, speed, plots.

Every switch is pressed with the mouse, and its effect is looked for in the picture: pixels of the right colour
appear where the camera puts the thing, and go away again. Pictures of the page are kept in test-output/viewer.
"""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from browser import FLAGS, MARKS, Page, changed, driver, find_browser, of_hue

from worldline import msd
from worldline import simulation as sx
from worldline._src.viewer.overlays import KINDS, SHOWN

playwright = driver()
EXECUTABLE = find_browser()
pytestmark = MARKS

SCENE = """<mujoco>
  <option timestep="0.005"/>
  <asset>
    <mesh name="vee" vertex="VERTICES" face="FACES"/>
    <hfield name="hill" nrow="5" ncol="5" size="0.5 0.5 0.4 0.05"
      elevation="0 0 0 0 0  0 .5 .6 .5 0  0 .6 1 .6 0  0 .5 .6 .5 0  0 0 0 0 0"/>
    <texture name="check" type="2d" builtin="checker" rgb1="1 0 1" rgb2="1 1 0" width="64" height="64"/>
    <material name="chequered" texture="check" texrepeat="2 2"/>
    <material name="teal" rgba="0 0.6 0.5 1"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 0.1" rgba="0.9 0.9 0.9 1"/>
    <geom name="hill" type="hfield" hfield="hill" pos="0.9 -1.6 0.06" rgba="0.8 0.2 0.8 1"/>
    <geom name="vee" type="mesh" mesh="vee" pos="1.4 0.2 0.1" rgba="0.1 0.2 0.9 1"/>
    <geom name="sign" type="box" size="0.02 0.35 0.35" pos="-0.8 -1.4 1.2" material="chequered"/>
    <geom name="post" type="cylinder" size="0.2 0.3" pos="1.2 -0.6 0.3" material="teal"/>
    <geom name="wheel" type="cylinder" size="0.12 0.05" pos="0 0.2 1.2" quat="0.7071 0 0.7071 0" rgba="0.6 0.6 0.6 1"/>
    <site name="nail" pos="0 -0.2 1.5"/>
    <body name="box" pos="0 -0.6 0.25"><freejoint/>
      <geom type="box" size="0.25 0.25 0.25" rgba="0.7 0.7 0.7 1" mass="2"/>
      <site name="mark" pos="0 0 0.4" size="0.08" rgba="1 0 1 1"/></body>
    <body name="arm" pos="0 0.8 1.5"><joint name="turn" axis="1 0 0" range="-90 90" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.6" size="0.05" rgba="0.7 0.7 0.7 1" mass="1"/>
      <geom name="hidden" type="sphere" size="0.15" pos="0 0 -0.6" group="4" rgba="0 0.8 0 1" mass="0.1"/>
      <site name="hand" pos="0 0 -0.6"/></body>
    <camera name="front" pos="4 -0.4 1" xyaxes="0 1 0 0 0 1"/>
  </worldbody>
  <tendon><spatial name="rope" rgba="0 0.8 0 1" width="0.02">
    <site site="nail"/><geom geom="wheel"/><site site="hand"/></spatial></tendon>
  <sensor><jointpos name="angle" joint="turn"/><framepos name="place" objtype="site" objname="hand"/>
    <accelerometer name="shake" site="hand"/></sensor>
  <keyframe><key name="low" qpos="0 -0.6 0.25 1 0 0 0 -0.5"/><key name="up" qpos="0 -0.6 1.3 1 0 0 0 1.2"/></keyframe>
</mujoco>"""
VEE = [(0, 0), (0.35, 0.6), (0.25, 0.6), (0, 0.15), (-0.25, 0.6), (-0.35, 0.6)]
"""Outline of a mesh that is not convex, y and z [m]."""
RED, GREEN, BLUE = (255, 0, 0), (0, 200, 0), (0, 0, 255)
ORANGE, CYAN, MAGENTA, YELLOW = (240, 150, 40), (60, 160, 210), (255, 0, 255), (255, 255, 0)
SIZE = (1100, 640)


def scene():
    """The scene, with the mesh in it."""
    corners = [(x, y, z) for x in (0.1, -0.1) for y, z in VEE]
    faces = []
    for k in range(1, 5):
        faces += [(0, k, k + 1), (6, k + 7, k + 6)]
    for k in range(6):
        after = (k + 1) % 6
        faces += [(k, k + 6, after), (after, k + 6, after + 6)]
    texts = [" ".join(str(number) for row in rows for number in row) for rows in (corners, faces)]
    return msd.from_str(SCENE.replace("VERTICES", texts[0]).replace("FACES", texts[1]), format="mjcf")


@pytest.fixture(scope="module")
def looked():
    """A viewer and the page of a browser that looks at it."""
    world = sx.World.from_scene(scene())
    offset = np.eye(4)
    offset[:3, 3] = -0.5, -1.9, 0.4
    world.add_fixed_frame("peg", sx.Frame.world(), offset)
    with playwright.sync_playwright() as starter, sx.view(world, port=8795, shadows=False) as viewer:
        browser = starter.chromium.launch(executable_path=EXECUTABLE, args=list(FLAGS))
        yield Page(browser, viewer, "marks", SIZE), viewer, world
        browser.close()


@pytest.fixture
def shown(looked):
    """The page at the start, with the box at rest on the floor."""
    page, viewer, world = looked
    viewer.reset()
    for kind in KINDS:
        viewer.show(kind, kind in SHOWN)
    viewer.step(20)
    page.tab("Show")
    still(page)
    return page, viewer, world


def still(page, name=""):
    """A picture of the page once it does not change any more."""
    last = [page.scene()]

    def same():
        page.page.wait_for_timeout(150)
        last.append(page.scene())
        # a slow browser may show the same twice before it shows what is new
        return len(last) > 2 and not any(changed(last[-1], other, 8).any() for other in last[-3:-1])

    page.until(same, "the page to come to rest")
    return page.scene(name)


def near(page, picture, point, radius):
    """The pixels of a picture around a point of the world, (n, n, 3)."""
    x, y, _ = page.project(point)
    assert radius < x < picture.shape[1] - radius and radius < y < picture.shape[0] - radius
    return picture[round(y) - radius : round(y) + radius, round(x) - radius : round(x) + radius]


def switched(page, label, points, colours, radius, name):
    """Switch a box on and off: colours that appear about points and go away; (before, with it)."""
    before = still(page)

    def appeared():
        after = page.scene(name)
        fresh = changed(before, after)
        x, y = np.array([page.project(point)[:2] for point in points]).T
        rows, columns = np.nonzero(fresh)
        seen = all((fresh & of_hue(after, rgb)).sum() >= 8 for rgb in colours)
        return seen and (before, after, np.min(np.hypot(columns[:, None] - x, rows[:, None] - y), axis=1))

    page.tick(label)
    _, after, apart = page.until(appeared, f"{label} to be seen")
    # and nowhere else
    assert np.percentile(apart, 98) < radius
    page.tick(label, False)
    page.until(lambda: not changed(before, page.scene()).any(), f"{label} to go")
    return before, after


def test_surfaces_have_their_colours(shown):
    page, _, _ = shown
    picture = still(page, "surfaces")
    # height field, mesh, material
    assert of_hue(near(page, picture, (0.9, -1.6, 0.4), 6), (204, 51, 204)).mean() > 0.9
    assert of_hue(near(page, picture, (1.5, 0.05, 0.44), 4), (25, 51, 230)).mean() > 0.9
    assert of_hue(near(page, picture, (1.3, -0.5, 0.35), 6), (0, 153, 128)).mean() > 0.9
    # both squares of a texture, about alike
    squares = near(page, picture, (-0.78, -1.4, 1.2), 20)
    shares = of_hue(squares, MAGENTA).mean(), of_hue(squares, YELLOW).mean()
    assert shares == pytest.approx((0.5, 0.5), abs=0.12)


@pytest.mark.parametrize(
    ("label", "points", "colours", "radius"),
    [
        ("Sites", [(0, -0.6, 0.65), (0, -0.2, 1.5), (0, 0.8, 0.9)], [MAGENTA], 25),
        ("Frames", [(-0.5, -1.9, 0.4)], [RED, GREEN, BLUE], 70),
        ("Body frames", [(0, -0.6, 0.25), (0, 0.8, 1.5)], [RED, BLUE], 80),
        ("Joint axes", [(0, 0.8, 1.5), (0.2, 0.8, 1.5), (0.4, 0.8, 1.5)], [CYAN], 50),
        (
            "Contact points",
            [(x, y, 0) for x in (-0.25, 0.25) for y in (-0.85, -0.35)],
            [(214, 57, 57)],
            20,
        ),
        (
            "Contact forces",
            [(x, y, z) for x in (-0.25, 0.25) for y in (-0.85, -0.35) for z in (0, 0.3, 0.6)],
            [ORANGE],
            50,
        ),
        ("Collision hulls", [(1.5, 0.2, 0.5)], [ORANGE], 90),
    ],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "",
)
def test_marks_come_and_go(shown, label, points, colours, radius):
    page, _, _ = shown
    switched(page, label, points, colours, radius, label.replace(" ", "_").lower())


def test_centres_of_mass_are_seen_through_bodies(shown):
    page, _, world = shown
    page.tick("See through")
    page.picture("see_through")
    # of the box, of the arm with its hand, and of both
    assert world.rigid_bodies["box"].translation == pytest.approx((0, -0.6, 0.25), abs=1e-3)
    box, arm = np.array([0, -0.6, 0.25]), np.array([0, 0.8, 1.5 - (0.3 + 0.06) / 1.1])
    points = [box, arm, (2.0 * box + 1.1 * arm) / 3.1]
    switched(page, "Centres of mass", points, [ORANGE], 25, "centres_of_mass")
    page.tick("See through", False)


def test_tendons_wrap_and_move(shown):
    page, viewer, _ = shown
    before = still(page, "tendon")
    rope = of_hue(before, GREEN)
    assert rope.sum() > 30
    # from the nail over the wheel to the hand
    for point in ((0, -0.1, 1.45), (0, 0.5, 1.0)):
        assert of_hue(near(page, before, point, 15), GREEN).any()
    viewer.apply_keyframe("up")
    page.until(lambda: changed(before, page.scene()).any(), "the arm to move")
    moved = of_hue(still(page, "tendon_moved"), GREEN)
    assert (moved & ~rope).sum() > 15
    page.tick("Tendons", False)
    page.until(lambda: not of_hue(page.scene(), GREEN).any(), "the tendon to go")
    page.tick("Tendons")
    page.until(lambda: of_hue(page.scene(), GREEN).sum() > 30, "the tendon to come back")


def test_contact_marks_follow_the_contacts(shown):
    page, viewer, _ = shown

    def red():
        return of_hue(near(page, page.scene("no_contacts"), (0.25, -0.85, 0), 12), (214, 57, 57)).sum()

    assert red() == 0
    page.tick("Contact points")
    page.until(lambda: red() > 4, "a point of contact")
    viewer.apply_keyframe("up")
    viewer.step(1)
    page.until(lambda: red() == 0, "no contact in the air")
    viewer.apply_keyframe("low")
    viewer.step(3)
    page.until(lambda: red() > 4, "a point of contact again")
    page.tick("Contact points", False)


def test_groups_are_shown_and_hidden(shown):
    page, _, _ = shown
    page.tick("Tendons", False)
    page.page.get_by_text("Groups", exact=True).click()
    switched(page, "Group 4", [(0, 0.8, 0.9)], [GREEN], 40, "group_4")
    page.page.get_by_text("Groups", exact=True).click()
    page.tick("Tendons")


def test_the_camera_follows_a_body(shown):
    page, viewer, world = shown
    viewer.apply_keyframe("up")
    page.tick("Sites")
    still(page)
    page.choose("Follow", "box")
    sign = of_hue(still(page), YELLOW)
    place = np.array(page.project((0, -0.6, 1.7))[:2])
    viewer.step(80)
    assert world.rigid_bodies["box"].translation[2] < 0.6
    # the site on the box stays where it was on the page, and the world goes up behind it
    at = np.add(world.rigid_bodies["box"].translation, (0, 0, 0.4))
    page.until(lambda: np.hypot(*(np.array(page.project(at)[:2]) - place)) < 3.0, "the camera to follow")
    picture = still(page, "followed")
    assert of_hue(near(page, picture, at, 8), MAGENTA).mean() > 0.5
    rows = [np.nonzero(mask)[0].mean() for mask in (sign, of_hue(picture, YELLOW))]
    assert rows[1] < rows[0] - 60
    page.choose("Follow", "nothing")
    page.tick("Sites", False)


def test_looking_through_a_camera_of_the_scene(shown):
    page, _, _ = shown
    page.choose("Camera", "front")
    camera = page.client.camera
    page.until(lambda: np.allclose(camera.position, (4, -0.4, 1), atol=1e-3), "the camera of the scene")
    picture = still(page, "camera")
    assert of_hue(near(page, picture, (1.4, -0.6, 0.3), 6), (0, 153, 128)).mean() > 0.9
    page.choose("Camera", "free")


def test_speed_and_what_the_page_says(shown):
    page, viewer, world = shown
    page.tab("Run")
    page.choose("Speed", "0.25")
    page.until(lambda: viewer.speed == 0.25, "a quarter of the speed")
    page.press("Play")
    page.until(lambda: world.time > 0.6, "time to pass")

    def told():
        found = re.search(r"([\d.]+) x real time", page.page.inner_text("body"))
        return found and abs(float(found[1]) - 0.25) < 0.08

    page.until(told, "the speed on the page")
    page.picture("slow")
    page.press("Pause")
    page.choose("Speed", "1")
    page.until(lambda: viewer.speed == 1.0, "the usual speed")


def test_a_keyframe_is_chosen(shown):
    page, _, world = shown
    page.tab("Run")
    page.choose("Keyframe", "up")
    page.press("Apply keyframe")
    joint = world.multibodies["arm"].joints["turn"]
    page.until(lambda: joint.position[0] == pytest.approx(1.2), "the second keyframe")
    page.choose("Keyframe", "low")
    page.press("Apply keyframe")
    page.until(lambda: joint.position[0] == pytest.approx(-0.5), "the first keyframe")


def test_a_page_that_looks_elsewhere_sees_the_whole_scene_again(shown):
    page, viewer, world = shown
    viewer.pause()
    page.tab("Show")
    page.press("Whole scene")
    whole, camera = still(page, "whole"), page.client.camera
    # every body is in the picture
    for body in world.rigid_bodies:
        x, y, away = page.project(body.translation)
        assert 0 < x < page.size[0] and 0 < y < page.size[1] and away > 0.0
    camera.position = camera.position + np.array([40.0, 0.0, 0.0])
    page.until(lambda: np.abs(page.scene() - whole).mean() > 3.0, "another view")
    page.press("Whole scene")
    page.until(lambda: np.abs(page.scene("whole_again") - whole).mean() < 0.5, "the whole scene")
    page.tab("Run")


def test_dragging_lifts_a_body_while_it_plays(shown):
    page, viewer, world = shown
    x, y, _ = page.project((0.2, -0.6, 0.4))
    box = world.rigid_bodies["box"]
    grip = lambda: viewer._session.playback.perturbation.grip  # noqa: E731
    viewer.play()
    with page.pulling((x, y), (0, -60), (0, -160), held=grip):
        page.until(lambda: box.translation[2] > 0.5, "the box to be lifted")
        lifted = page.scene("lifted")
        # the arrow of the pull
        assert of_hue(lifted, (230, 60, 120), 15).sum() > 20
    page.until(lambda: box.translation[2] < 0.45, "the box to fall back")
    viewer.pause()


def plot_pixels(page, number=0):
    """Pixels of the canvas of a plot, (height, width, 3)."""
    from PIL import Image

    data = page.page.locator(".uplot canvas").nth(number).screenshot()
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def test_sensors_are_plotted_as_they_run(shown):
    page, viewer, world = shown
    page.tab("Plots")
    page.choose("Sensor", "place")
    adds = page.page.get_by_role("button", name="Add", exact=True)
    adds.last.click()
    page.until(lambda: page.page.locator(".uplot").count() == 1, "a plot")
    samples, plot = viewer._session.controls.plots._shown["Sensor"]
    viewer.apply_keyframe("up")
    viewer.play()
    page.until(lambda: len(samples) > 8 and world.time > 0.5, "samples of a sensor")
    viewer.pause()
    legend = page.page.locator(".u-legend").inner_text()
    assert all(f"place[{k}]" in legend for k in range(3))
    # the last sample is that of the pause, and says what the sensor says
    page.until(lambda: plot.data[0][-1] == world.time, "the sample of the pause")
    assert [column[-1] for column in plot.data[1:]] == pytest.approx(
        world.sensors["place"].value.tolist(), abs=1e-9
    )
    lines = [(0x3B, 0x76, 0xAF), (0xE6, 0x91, 0x3A), (0x51, 0x9E, 0x5B)]
    page.until(lambda: all(of_hue(plot_pixels(page), rgb, 15).sum() > 30 for rgb in lines), "three lines")
    early = plot_pixels(page)
    page.picture("sensor_plot")
    viewer.play()
    count = len(samples)
    page.until(lambda: len(samples) > count + 8, "more samples")
    viewer.pause()
    page.until(lambda: changed(early, plot_pixels(page)).sum() > 50, "the plot to move on")
    # one more sensor in the same plot, then none
    page.choose("Sensor", "angle")
    adds.last.click()
    page.until(lambda: "angle" in page.page.locator(".u-legend").inner_text(), "two sensors in a plot")
    viewer.play()
    page.page.wait_for_timeout(600)
    viewer.pause()
    page.picture("sensor_plot_of_two")
    page.page.get_by_role("button", name="Clear", exact=True).last.click()
    page.until(lambda: page.page.locator(".uplot").count() == 0, "no plot")


def test_joints_contacts_and_energy_are_plotted(shown):
    page, viewer, _ = shown
    page.tab("Plots")
    page.tick("Energy")
    page.tick("Contacts")
    page.page.get_by_role("button", name="Add", exact=True).first.click()
    page.until(lambda: page.page.locator(".uplot").count() == 3, "three plots")
    viewer.apply_keyframe("up")
    viewer.play()
    shown = viewer._session.controls.plots._shown
    page.until(lambda: min(len(samples) for samples, _ in shown.values()) > 8, "samples")
    viewer.pause()
    legends = " ".join(page.page.locator(".u-legend").all_inner_texts())
    assert all(word in legends for word in ("kinetic", "potential", "total", "deepest", "arm.turn"))
    for number in range(3):
        page.until(
            lambda number=number: of_hue(plot_pixels(page, number), (0x3B, 0x76, 0xAF), 15).sum() > 30,
            "a line",
        )
    page.picture("three_plots")
    page.tick("Energy", False)
    page.tick("Contacts", False)
    page.page.get_by_role("button", name="Clear", exact=True).first.click()
    page.until(lambda: page.page.locator(".uplot").count() == 0, "no plot")
