# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The documentation builds as a site without a warning, asks nothing of the network, and says what was measured."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from benchmarks import saved

ROOT = Path(__file__).parents[1]
MISSING = [name for name in ("sphinx", "furo", "myst_parser") if importlib.util.find_spec(name) is None]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if MISSING:
        pytest.skip(f"the documentation needs {', '.join(MISSING)}: pip install 'worldline[docs]'")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_reference_has_what_is_public(site):
    for page, names in {
        "simulation": ("World.step", "World.pipeline", "Multibody.mass_matrix", "Recording.to_html"),
        "compute": ("ParallelExecutor.step", "WorldStepPipeline.to_dot"),
        "model": ("ModelBuilder.add_link", "forward_dynamics"),
        "msd": ("World.attach", "from_file"),
    }.items():
        module = f"worldline.simulation.{page}" if page == "compute" else f"worldline.{page}"
        text = (site / "api" / f"{page}.html").read_text("utf-8")
        for name in names:
            assert f'id="{module}.{name}"' in text, name


class Addresses(HTMLParser):
    """What a page loads when it is opened."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.found.append(attributes.get("src") or "")
        if tag == "link" and attributes.get("rel") in ("stylesheet", "preload", "icon"):
            self.found.append(attributes.get("href") or "")


def test_the_site_asks_nothing_of_the_network(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        outside = [url for url in Addresses(page.read_text("utf-8")).found if re.match(r"(https?:)?//", url)]
        assert outside == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", style.read_text("utf-8")), style


def test_the_comparison_is_what_was_measured():
    data = json.loads(saved.DATA.read_text("utf-8"))
    assert saved.PAGE.read_text("utf-8") == saved.markdown(data)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", data["date"]) and data["machine"]
    assert any("MuJoCo" in table["columns"] for table in data["tables"])
    assert any("Pinocchio" in table["columns"] for table in data["tables"])


def test_the_readme_tells_the_same_figures():
    data = json.loads(saved.DATA.read_text("utf-8"))
    text = saved.README.read_text("utf-8")
    assert saved.with_figures(text, data) == text
    steps = next(table for table in data["tables"] if table["title"].startswith("steps per second"))
    row = dict(zip(steps["columns"], steps["rows"][0], strict=True))
    assert f"| {row['scene']} | {row['ratio']} x the steps per second of MuJoCo |" in text
