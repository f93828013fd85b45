# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A browser without a screen that looks at a viewer, and what tests read off its pictures."""

from __future__ import annotations

import io
import os
import shutil
import time
from pathlib import Path

import numpy as np

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


def find_browser() -> str | None:
    """A Chromium on this machine; WORLDLINE_BROWSER names another."""
    told = os.environ.get("WORLDLINE_BROWSER")
    return told or next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """A page of a viewer in a browser."""

    def __init__(self, browser, viewer, name):
        self.viewer, self.name = viewer, name
        self.page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        self.page.set_default_timeout(60_000)
        self.requests: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"http://127.0.0.1:{viewer.port}")
        self.page.wait_for_selector("canvas")
        self.page.get_by_role("tab", name="Run").wait_for()
        # a note on slow graphics would cover the scene
        self.page.add_style_tag(content=".mantine-Notification-root { display: none; }")

    def picture(self, name: str = "") -> np.ndarray:
        """What the page shows, (height, width, 3) bytes; kept when it has a name."""
        from PIL import Image

        data = self.page.screenshot()
        if name:
            OUTPUT.mkdir(parents=True, exist_ok=True)
            (OUTPUT / f"{self.name}_{name}.png").write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    def blob(self, channel: int, name: str = "") -> tuple[float, float, int]:
        """Middle and number of pixels of one strong colour (0 red, 1 green, 2 blue), left of the panel."""
        picture = self.picture(name)[:, : SIZE[0] - 345].astype(int)
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
            found = check()
            if found or time.monotonic() > end:
                assert found, f"{what}: not within {seconds:g} s"
                return found
            self.page.wait_for_timeout(100)

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

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
