# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings leave the program: npz, plots, and a page that replays in a browser."""

from __future__ import annotations

import base64
import json
import pickle
import re
import shutil
import subprocess

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, CapabilityError, NotFoundError
from worldline._src.facade.replay_page import thinned
from worldline._src.facade.shape_triangles import box, shape_triangles
from worldline._src.model.kinds import ShapeKind

SCENE = """<mujoco model="a &lt;b&gt; &amp; c"><worldbody>
  <geom name="floor" type="plane" size="3 3 0.1" rgba="0.5 0.5 0.5 1"/>
  <body name="crate" pos="0 0 0.4"><freejoint/>
    <geom name="crate" type="box" size="0.3 0.3 0.3" rgba="1 0 0 1"/></body>
  <body name="arm" pos="2 0 2"><joint name="hinge" axis="0 1 0"/>
    <geom name="rod" type="capsule" fromto="0 0 0 0 0 -0.5" size="0.05"/>
    <geom name="tip" type="ellipsoid" size="0.1 0.2 0.3" pos="0 0 -0.5"/>
    <geom name="disc" type="cylinder" size="0.2 0.05"/><geom name="ball" size="0.15"/></body>
</worldbody></mujoco>"""


def recorded(steps=120) -> sx.World:
    world = sx.World.from_scene(msd.from_str(SCENE, format="mjcf"))
    world.multibodies["arm"].joints["hinge"].velocity = [2.0]
    world.replay_recording_enabled = True
    world.step(n=steps)
    return world


@pytest.fixture(scope="module")
def world():
    return recorded()


def page_data(path):
    text = path.read_text("utf-8")
    return text, json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])


# ---- arrays


def test_npz_has_all_arrays(world, tmp_path):
    world.recording.to_npz(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as data:
        expected = world.recording.to_numpy()
        assert set(data.files) == set(expected)
        for name, values in expected.items():
            assert np.array_equal(data[name], values)


# ---- plots


def test_plot_draws_what_was_recorded(world, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    recording = world.recording
    figure = recording.plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["crate.pose", "arm.q"]
    line = figure.axes[0].lines[2]
    assert line.get_label() == "z"
    assert np.array_equal(line.get_ydata(), recording["crate.pose"][:, 2])
    assert np.array_equal(line.get_xdata(), recording.times)
    figure.canvas.draw()
    pyplot.close(figure)
    own, axes = pyplot.subplots()
    assert recording.plot("arm.dq", axes=axes) is own and len(axes.lines) == 1
    with pytest.raises(ArgumentError, match="as many axes"):
        recording.plot(["arm.q", "arm.dq"], axes=axes)
    pyplot.close(own)
    with pytest.raises(NotFoundError, match="did you mean 'arm"):
        recording.plot("arm.qq")


def test_plot_without_matplotlib_says_what_to_install(world, monkeypatch):
    import builtins

    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(CapabilityError, match=r"worldline\[plot\]"):
        world.recording.plot()


# ---- the page


def test_the_page_holds_the_motion(world, tmp_path):
    world.recording.to_html(tmp_path / "run.html")
    _text, data = page_data(tmp_path / "run.html")
    assert data["bodies"] == list(world._live().model.body_label)
    poses = np.frombuffer(base64.b64decode(data["poses"]), "<f4").reshape(-1, len(data["bodies"]), 7)
    assert len(poses) == len(data["times"])
    assert data["times"][-1] == world.recording.times[-1]
    crate = world.recording["crate.pose"]
    assert poses[-1, data["bodies"].index("crate")] == pytest.approx(crate[-1], abs=1e-6)
    assert poses[0, data["bodies"].index("crate")] == pytest.approx(crate[0], abs=1e-6)
    assert {shape["name"] for shape in data["shapes"]} == {"floor", "crate", "rod", "tip", "disc", "ball"}
    assert next(s["color"] for s in data["shapes"] if s["name"] == "crate") == [1, 0, 0, 1]


def test_the_page_needs_nothing_from_outside(world, tmp_path):
    world.recording.to_html(tmp_path / "run.html")
    text, _ = page_data(tmp_path / "run.html")
    assert not re.search(r"(?:src|href)\s*=|https?:|@import|url\(", text)
    assert "default-src 'none'" in text


def test_names_cannot_break_out_of_the_page(tmp_path):
    world = recorded(2)
    world.recording.to_html(tmp_path / "run.html", title="</title><script>alert(1)</script>")
    text, _ = page_data(tmp_path / "run.html")
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text
    world.recording.to_html(tmp_path / "run.html")
    assert "a &lt;b&gt; &amp; c" in (tmp_path / "run.html").read_text("utf-8")


def test_a_recording_from_a_file_needs_its_world(world, tmp_path):
    world.recording.save(tmp_path / "run.wlr")
    loaded = sx.Recording.load(tmp_path / "run.wlr")
    with pytest.raises(ArgumentError, match="needs the World"):
        loaded.to_html(tmp_path / "run.html")
    loaded.to_html(tmp_path / "run.html", world)
    other = sx.World()
    other.add_rigid_body("box")
    with pytest.raises(sx.LayoutError):
        loaded.to_html(tmp_path / "other.html", other)
    assert not (tmp_path / "other.html").exists()
    with pytest.raises(ArgumentError, match="frames_per_second"):
        loaded.to_html(tmp_path / "run.html", world, frames_per_second=0.0)


def test_a_recording_can_still_be_pickled(world):
    again = pickle.loads(pickle.dumps(world.recording))
    assert np.array_equal(again["arm.q"], world.recording["arm.q"])


def test_frames_are_thinned_evenly():
    times = np.arange(1001) * 1e-3
    kept = thinned(times, 50.0)
    assert kept[0] == 0 and kept[-1] == 1000 and len(kept) == 51
    assert np.allclose(np.diff(times[kept]), 0.02)
    assert thinned(times[:1], 50.0).tolist() == [0]


# ---- surfaces


def volume(surface):
    a, b, c = (surface.vertices[surface.corners[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def test_surfaces_are_closed_face_outward_and_have_the_right_size():
    world = recorded(1)
    model = world._live().model
    exact = {
        "crate": 0.6**3,
        "rod": np.pi * 0.05**2 * 0.5 + 4 / 3 * np.pi * 0.05**3,
        "tip": 4 / 3 * np.pi * 0.1 * 0.2 * 0.3,
        "disc": np.pi * 0.2**2 * 0.1,
        "ball": 4 / 3 * np.pi * 0.15**3,
    }
    for k, label in enumerate(model.shapes.label):
        if label not in exact:
            continue
        surface = shape_triangles(model, k)
        # polygons lie inside what they stand for
        assert 0.93 * exact[label] < volume(surface) <= exact[label] * (1 + 1e-12), label
        edges = {tuple(e) for t in surface.corners for e in zip(t, np.roll(t, -1), strict=True)}
        assert all((b, a) in edges for a, b in edges), label
    assert volume(box(1.0, 2.0, 3.0)) == pytest.approx(48.0)


def test_cones_and_height_fields():
    from types import SimpleNamespace

    field = SimpleNamespace(heights=np.array([[0.0, 1.0], [2.0, 3.0]]), size=(4.0, 2.0))
    shapes = SimpleNamespace(
        kind=[ShapeKind.CONE, ShapeKind.HFIELD],
        size=np.array([[0.3, 0.5, 0.0], [0.0, 0.0, 0.0]]),
        source=[-1, 0],
        scale=np.ones((2, 3)),
    )
    model = SimpleNamespace(shapes=shapes, assets=SimpleNamespace(hfield=lambda _: field))
    exact = np.pi * 0.3**2 * 1.0 / 3
    assert 0.95 * exact < volume(shape_triangles(model, 0)) < exact
    ground = shape_triangles(model, 1)
    assert ground.vertices.tolist() == [[-2, -1, 0], [2, -1, 1], [-2, 1, 2], [2, 1, 3]]
    a, b, c = (ground.vertices[ground.corners[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()


# ---- a browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PROBE = """<script>window.addEventListener("load", () => setTimeout(() => {
  const colours = () => { replay.draw(); const gl = document.querySelector("canvas").getContext("webgl2");
    const w = gl.drawingBufferWidth, h = gl.drawingBufferHeight, p = new Uint8Array(4 * w * h);
    gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, p);
    let n = 0, y = 0;
    for (let k = 0; k < p.length; k += 4) if (p[k] > 90 && p[k + 1] < 30 && p[k + 2] < 30) { n++; y += k / 4 / w / h; }
    return [n / w / h, y / n]; };
  replay.setPlaying(false); replay.seek(0);
  const first = colours(), clock = document.getElementById("clock").textContent;
  const scrub = document.getElementById("scrub");
  scrub.value = replay.frameCount - 1; scrub.dispatchEvent(new Event("input"));
  const last = colours();
  document.title = JSON.stringify({first, last, clock, frame: replay.state.frame, count: replay.frameCount});
}, 300));</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to replay the page in")
def test_a_browser_replays_it(world, tmp_path):
    page = tmp_path / "run.html"
    world.recording.to_html(page)
    text = page.read_text("utf-8")
    page.write_text(text.replace("</body>", PROBE), "utf-8")
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--disable-background-networking",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--window-size=640,480",
            "--virtual-time-budget=3000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    import html

    told = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", done.stdout)[1]))
    assert told["count"] == told["frame"] + 1 > 10
    assert told["clock"].startswith("0.00 of 0.24 s")
    # the red crate is seen, and lies lower at the end than at the start
    (seen, height), (seen_last, height_last) = told["first"], told["last"]
    assert seen > 0.002 and seen_last > 0.002
    assert height_last < height - 0.005
