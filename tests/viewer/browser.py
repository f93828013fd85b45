# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A browser without a screen that looks at a viewer, and what tests read off its pictures."""

from __future__ import annotations

import colorsys
import contextlib
import io
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from worldline import BusyError

OUTPUT = Path(__file__).parents[2] / "test-output" / "viewer"
"""Where pictures of the page are kept."""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-first-run",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZE = (860, 400)
"""Width and height of a page, unless told otherwise [pixels]."""
PANEL = 345
"""What the panel of the page covers, at the right [pixels]."""


def find_browser() -> str | None:
    """A Chromium on this machine; WORLDLINE_BROWSER names another."""
    told = os.environ.get("WORLDLINE_BROWSER")
    return told or next((path for name in NAMES if (path := shutil.which(name))), None)


def driver():
    """What drives a browser; a module of tests that cannot have it is skipped, and says why."""
    pytest.importorskip("viser", reason="the viewer needs the package viser")
    return pytest.importorskip("playwright.sync_api", reason="tests of the page need the package playwright")


MARKS = [
    pytest.mark.skipif(find_browser() is None, reason="no Chromium on this machine: the page is not tested"),
    pytest.mark.xdist_group("browser"),
]
"""Of modules that look at a page."""


class Page:
    """A page of a viewer in a browser."""

    def __init__(self, browser, viewer, name, size=SIZE):
        self.viewer, self.name, self.size = viewer, name, size
        others = set(viewer._session.server.get_clients())
        self.page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        self.page.set_default_timeout(60_000)
        self.requests: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        # a fixed resolution: the page would lower it on a busy machine, and no two pictures be alike
        self.page.goto(f"{viewer.url.replace('localhost', '127.0.0.1')}&fixedDpr=1")
        self.page.wait_for_selector("canvas")
        self.page.get_by_role("tab", name="Run").wait_for()
        # a note on slow graphics would cover the scene
        self.page.add_style_tag(content=".mantine-Notification-root { display: none; }")
        clients = viewer._session.server.get_clients
        self.client = clients()[self.until(lambda: set(clients()) - others, "a browser that looks").pop()]
        self.until(lambda: self.client.camera.update_timestamp > 0.0, "a camera")

    def picture(self, name: str = "") -> np.ndarray:
        """What the page shows, (height, width, 3) bytes; kept when it has a name."""
        from PIL import Image

        data = self.page.screenshot()
        if name:
            OUTPUT.mkdir(parents=True, exist_ok=True)
            (OUTPUT / f"{self.name}_{name}.png").write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    def scene(self, name: str = "") -> np.ndarray:
        """What the page shows left of the panel, (height, width, 3) integers."""
        return self.picture(name)[:, : self.size[0] - PANEL].astype(int)

    def focal(self) -> float:
        """Pixels of a metre at a distance of one metre."""
        return 0.5 * self.size[1] / np.tan(0.5 * self.client.camera.fov)

    def project(self, point) -> tuple[float, float, float]:
        """Where the camera of the page puts a point of the world: x, y [pixels], and its distance [m]."""
        camera = self.client.camera
        forward = camera.look_at - camera.position
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, camera.up_direction)
        right = right / np.linalg.norm(right)
        line = np.asarray(point, float) - camera.position
        away = line @ forward
        x = 0.5 * self.size[0] + self.focal() * (line @ right) / away
        y = 0.5 * self.size[1] - self.focal() * (line @ np.cross(right, forward)) / away
        return float(x), float(y), float(away)

    def blob(self, channel: int, name: str = "") -> tuple[float, float, int]:
        """Middle and number of pixels of one strong colour (0 red, 1 green, 2 blue), left of the panel."""
        picture = self.scene(name)
        others = np.delete(picture, channel, axis=2).max(axis=2)
        strong = (picture[:, :, channel] > 90) & (picture[:, :, channel] > 2.0 * others)
        rows, columns = np.nonzero(strong)
        if not len(rows):
            return np.nan, np.nan, 0
        return float(columns.mean()), float(rows.mean()), len(rows)

    def until(self, check, what: str, seconds: float = 60.0):
        """Wait until a check gives something; its last answer."""
        end = time.monotonic() + seconds
        while True:
            found = None
            with contextlib.suppress(BusyError):
                # refused while the viewer is inside a step
                found = check()
            if found or time.monotonic() > end:
                assert found, f"{what}: not within {seconds:g} s"
                return found
            self.page.wait_for_timeout(100)

    @contextlib.contextmanager
    def pulling(self, start: tuple[float, float], *way: tuple[float, float], held):
        """Hold Ctrl and the mouse and pull from a point along a way, in pixels from there, until `held` holds.

        A browser that hardly gets any time may look under the mouse too late, and takes hold of nothing; a
        person would try again, and so does this.
        """
        mouse, keyboard = self.page.mouse, self.page.keyboard

        def grab() -> bool:
            keyboard.down("Control")
            mouse.move(*start)
            mouse.down()
            for x, y in way:
                mouse.move(start[0] + x, start[1] + y, steps=5)
            end = time.monotonic() + 15.0
            while not held() and time.monotonic() < end:
                self.page.wait_for_timeout(100)
            return bool(held())

        def let_go() -> None:
            mouse.up()
            keyboard.up("Control")

        for _ in range(3):
            if grab():
                break
            let_go()
        else:
            raise AssertionError(f"nothing was held at {start} in three tries")
        try:
            yield
        finally:
            let_go()

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def tick(self, label: str, on: bool = True) -> None:
        """Tick a box of the panel, or take its tick away."""
        self.page.get_by_label(label, exact=True).set_checked(on)

    def choose(self, label: str, option: str) -> None:
        """Choose from a list of the panel."""
        self.page.get_by_role("combobox", name=label, exact=True).click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def _slider(self, label: str):
        name = self.page.locator("label", has_text=label).and_(self.page.get_by_text(label, exact=True))
        return self.page.locator(f"[id='{name.get_attribute('for')}']")

    def drag_slider(self, label: str, share: float) -> None:
        """Drag a slider with the mouse to a share of its length."""
        slider = self._slider(label)
        thumb = slider.get_by_role("slider").bounding_box()
        track = slider.locator(".mantine-Slider-track").bounding_box()
        y = thumb["y"] + 0.5 * thumb["height"]
        self.page.mouse.move(thumb["x"] + 0.5 * thumb["width"], y)
        self.page.mouse.down()
        self.page.mouse.move(track["x"] + share * track["width"], y, steps=5)
        self.page.mouse.up()

    def set_slider(self, label: str, value: float) -> None:
        """Type into the number beside a slider."""
        field = self._slider(label).locator("xpath=following-sibling::div//input")
        field.fill(f"{value:g}")
        field.press("Enter")


def changed(before: np.ndarray, after: np.ndarray, least: int = 40) -> np.ndarray:
    """Pixels that differ plainly between two pictures, (height, width) booleans."""
    return np.abs(after - before).max(axis=2) > least


def hue(rgb) -> float:
    """Angle of a colour on the wheel: red 0, green 120, blue 240 [deg]."""
    return 360.0 * colorsys.rgb_to_hsv(*(np.asarray(rgb, float) / 255.0))[0]


def of_hue(pixels: np.ndarray, rgb, within: float = 25.0) -> np.ndarray:
    """Which pixels, (..., 3), have the hue of a colour, whatever the light; greys have none."""
    p = pixels.astype(float) / 255.0
    top, span = p.max(axis=-1), np.ptp(p, axis=-1)
    r, g, b = np.moveaxis(p, -1, 0)
    safe = np.maximum(span, 1e-9)
    sector = np.where(
        top == r, (g - b) / safe % 6.0, np.where(top == g, (b - r) / safe + 2.0, (r - g) / safe + 4.0)
    )
    apart = np.abs((60.0 * sector - hue(rgb) + 180.0) % 360.0 - 180.0)
    return (apart < within) & (span > 0.15 * top) & (top > 0.15)
