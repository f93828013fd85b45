# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The real page in a real browser: what is drawn, and what buttons and sliders do.

Pictures of the page are kept in test-output/viewer.
"""

from __future__ import annotations

import numpy as np
import pytest
from browser import FLAGS, MARKS, Page, driver, find_browser

from worldline import msd
from worldline import simulation as sx

playwright = driver()
EXECUTABLE = find_browser()
pytestmark = MARKS

SCENE = """<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom name="post" type="box" size="0.05 0.05 0.6" pos="0 0.8 0.6" rgba="0.7 0.7 0.7 1"/>
    <body name="ball" pos="0 -0.5 1.2"><freejoint/><geom type="sphere" size="0.25" rgba="1 0 0 1"/></body>
    <body name="arm" pos="0 0.8 0.9"><joint name="turn" axis="1 0 0" range="-90 90"/>
      <geom type="box" size="0.08 0.08 0.35" pos="0 0 -0.35" rgba="0 0.9 0 1" mass="1"/></body>
    <geom name="floor" type="plane" size="3 3 0.1" rgba="0.8 0.8 0.8 1"/>
  </worldbody>
  <actuator><motor name="motor" joint="turn" ctrlrange="-5 5" ctrllimited="true"/></actuator>
  <keyframe><key name="high" qpos="0 -0.5 1.6 1 0 0 0 0.5"/></keyframe>
</mujoco>"""


@pytest.fixture(scope="module")
def shown():
    """A viewer and the page of a browser that looks at it."""
    world = sx.World.from_scene(msd.from_str(SCENE, format="mjcf"))
    with playwright.sync_playwright() as starter, sx.view(world, port=8765, shadows=False) as viewer:
        browser = starter.chromium.launch(executable_path=EXECUTABLE, args=list(FLAGS))
        page = Page(browser, viewer, "first")
        yield page, browser, viewer, world
        browser.close()


def start(shown):
    """The page at the start, with the red ball in the air."""
    page, browser, viewer, world = shown
    viewer.reset()
    page.tab("Run")
    x, y, _ = page.project((0.0, -0.5, 1.2))

    def there():
        found = page.blob(0)
        # not where the test before has left it
        return found[2] > 200 and np.hypot(found[0] - x, found[1] - y) < 8.0 and found

    first = page.until(there, "a red ball")
    return page, browser, viewer, world, first


def test_the_scene_is_drawn_where_it_is(shown):
    page, _, _, _, (x, y, count) = start(shown)
    page.picture("start")
    # where the camera of the page puts the ball
    expected_x, expected_y, away = page.project((0.0, -0.5, 1.2))
    assert (x, y) == pytest.approx((expected_x, expected_y), abs=8)
    assert count == pytest.approx(np.pi * (page.focal() * 0.25 / away) ** 2, rel=0.35)
    green = page.blob(1)
    assert green[2] > 100


def test_play_advances_and_pause_holds(shown):
    page, _, viewer, world, (_, before, _) = start(shown)
    page.press("Play")
    page.until(lambda: world.time > 0.3, "time to pass")
    page.press("Pause")
    page.until(lambda: not viewer.is_playing, "a pause")
    time = world.time
    # it has fallen, on the page too
    page.until(lambda: page.blob(0, "played")[1] > before + 15, "the ball to fall on the page")
    page.page.wait_for_timeout(200)
    assert world.time == time and viewer.frame_count > 3
    assert world.rigid_bodies["ball"].translation[2] < 1.0


def test_the_time_line_goes_back(shown):
    page, _, viewer, world, (_, before, _) = start(shown)
    viewer.step(60)
    page.until(lambda: page.blob(0)[1] > before + 15, "the ball to fall")
    page.drag_slider("Time line", 0.0)
    page.until(lambda: world.frame == 0, "the first state")
    page.until(lambda: abs(page.blob(0, "scrubbed")[1] - before) < 4, "the ball to be back")
    assert world.rigid_bodies["ball"].translation[2] == pytest.approx(1.2)


def test_a_slider_moves_a_joint(shown):
    page, _, _, world, _ = start(shown)
    before = page.blob(1)
    page.tab("Joints")
    page.set_slider("turn", 1.2)
    joint = world.multibodies["arm"].joints["turn"]
    page.until(lambda: joint.position[0] == pytest.approx(1.2, abs=2e-3), "the joint to move")
    moved = page.until(
        lambda: np.hypot(*np.subtract((found := page.blob(1, "slider"))[:2], before[:2])) > 15 and found,
        "the arm to move on the page",
    )
    assert moved[2] > 100
    page.set_slider("motor", 3.0)
    page.until(lambda: world.actuator_controls[0] == pytest.approx(3.0, abs=0.02), "the control to change")


def test_step_reset_and_keyframe(shown):
    page, _, viewer, world, (_, before, _) = start(shown)
    page.press("Step")
    page.until(lambda: world.frame == 1, "one step")
    viewer.step(60)
    page.until(lambda: page.blob(0)[1] > before + 15, "the ball to fall")
    page.press("Reset")
    page.until(lambda: world.frame == 0 and world.time == 0.0, "the start")
    page.until(lambda: abs(page.blob(0, "reset")[1] - before) < 4, "the ball to be back")
    page.press("Apply keyframe")
    page.until(lambda: world.rigid_bodies["ball"].translation[2] == pytest.approx(1.6), "the keyframe")
    page.until(lambda: page.blob(0)[1] < before - 5, "the ball to be higher")


def test_a_body_can_be_dragged(shown):
    page, _, viewer, world, (x, y, _) = start(shown)
    perturbation = viewer._session.playback.perturbation
    with page.pulling((x, y), (30, -20), (60, -40), held=lambda: perturbation.grip):
        assert world.rigid_bodies["ball"].name == world._live().model.body_label[perturbation.grip.body]
        page.picture("pulled")
        page.until(lambda: perturbation.force()[2] > 0.0, "a pull upwards")
    page.until(lambda: perturbation.grip is None, "to let go")


def test_plots_and_marks(shown):
    page, _, viewer, _, _ = start(shown)
    page.tab("Plots")
    page.page.get_by_label("Energy").check()
    page.until(lambda: "Energy" in viewer._session.controls.plots._shown, "a plot")
    page.tab("Show")
    page.page.get_by_label("Joint axes").check()
    page.until(lambda: viewer._session.stage.overlays.is_on("Joint axes"), "joint axes")
    viewer.play()
    samples = viewer._session.controls.plots._shown["Energy"][0]
    page.until(lambda: len(samples) > 3, "samples of a plot")
    viewer.pause()
    page.tab("Plots")
    page.until(lambda: page.page.locator(".u-legend, .uplot").count() > 0, "a drawn plot")
    page.picture("plots")
    time, kinetic, potential, total = samples.columns()
    assert total == pytest.approx(kinetic + potential) and (np.diff(time) > 0.0).all()
    page.page.get_by_label("Energy").uncheck()


def test_a_second_browser_sees_the_same(shown):
    page, browser, viewer, _, (_, before, _) = start(shown)
    viewer.step(40)
    page.until(lambda: page.blob(0)[1] > before + 10, "the ball to fall")
    other = Page(browser, viewer, "second")
    try:
        other.until(lambda: viewer.client_count == 2, "two browsers")
        other.until(lambda: other.blob(0)[2] > 200, "a red ball on the other page")
        for channel in (0, 1):
            both = page.blob(channel, "both"), other.blob(channel, "both")
            assert both[0] == pytest.approx(both[1], abs=3, rel=0.05)
        other.press("Reset")
        page.until(lambda: abs(page.blob(0)[1] - before) < 4, "both pages to be reset")
    finally:
        other.page.close()


def test_the_page_asks_nobody_else(shown):
    page = shown[0]
    assert page.requests
    assert [url for url in page.requests if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))] == []
