# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of many worlds: a tile each, equal to the picture of that world, and a frame about failed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from needs import can_draw
from typer.testing import CliRunner

from worldline import ArgumentError, msd
from worldline import simulation as sx
from worldline._src.cli.main import app

pytestmark = pytest.mark.skipif(can_draw() is not None, reason=str(can_draw()))

ARM = """<mujoco><worldbody><geom name="floor" type="plane" size="3 3 .1"/>
  <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/>
  <geom name="bob" type="box" size="0.3 0.1 0.05" pos="0.3 0 0" mass="1"/></body></worldbody></mujoco>"""


def arms(count: int) -> sx.WorldBatch:
    batch = sx.WorldBatch(msd.from_str(ARM, format="mjcf"), count, divergence_policy="freeze")
    batch.joint_positions[:, 0] = np.linspace(-1.0, 1.0, count)
    return batch


def test_tiles_are_pictures_of_the_worlds():
    batch = arms(5)
    made = sx.render_batch(batch, width=64, height=48)
    assert made.shape == (2 * 48, 3 * 64, 3) and made.dtype == np.uint8
    for w in range(5):
        row, column = divmod(w, 3)
        tile = made[48 * row : 48 * (row + 1), 64 * column : 64 * (column + 1)]
        with sx.Renderer(batch.extract(w), 64, 48, shadows=False) as renderer:
            assert np.array_equal(tile, renderer.render().rgb), w
    assert not made[48:, 128:].any()
    assert np.array_equal(sx.render_batch(batch, [3], width=64, height=48), made[48:, :64])
    # a size of its own makes a world look otherwise
    batch.parameters["shapes.bob.size"] = np.linspace([0.1, 0.1, 0.05], [0.4, 0.2, 0.05], 5)
    assert not np.array_equal(sx.render_batch(batch, [3], width=64, height=48), made[48:, :64])


def test_failed_worlds_have_a_red_frame():
    batch = arms(3)
    batch.joint_velocities[1] = 1e300
    batch.step()
    made = sx.render_batch(batch, width=64, height=48, columns=3)
    red = (made == (220, 40, 40)).all(axis=2)
    assert red[:3, 64:128].all() and red[:, 64:67].all() and not red[:, :64].any() and not red[:, 128:].any()


def test_wrong_calls_are_refused():
    batch = arms(3)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"columns": 0}, "columns must be"),
        ({"worlds": [9]}, "from 0 to 2"),
        ({"worlds": []}, "at least"),
    ]
    for options, text in cases:
        with pytest.raises(ArgumentError, match=text):
            sx.render_batch(batch, **options)


def test_the_command_writes_a_picture(tmp_path):
    from PIL import Image

    scene = tmp_path / "arm.xml"
    scene.write_text(ARM, "utf-8")
    call = ["rollout", str(scene), "-w", "70", "-n", "5", "--threads", "1", "--spread", "2", "--picture"]
    done = CliRunner().invoke(app, [*call, str(tmp_path / "worlds.png")], env={"COLUMNS": "1000"})
    assert done.exit_code == 0, done.output
    assert Image.open(tmp_path / "worlds.png").size == (8 * 160, 8 * 120)
    done = CliRunner().invoke(app, [*call, str(tmp_path / "worlds.jpg")], env={"COLUMNS": "1000"})
    assert done.exit_code == 2 and "--picture must end in .png" in done.output
