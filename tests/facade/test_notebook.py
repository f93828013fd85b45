# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of Worlds, multibodies and recordings: short, right and escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from worldline import simulation as sx


class Cells(HTMLParser):
    """Texts of table cells, and whether tags close in order."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.open = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def test_a_world():
    world = sx.World(time_step=0.002)
    assert "empty" in world._repr_html_()
    world.add_rigid_body("<img src=x>", mass=2.5)
    arm = world.add_multibody("arm & hand")
    arm.add_link("base")
    html = world._repr_html_()
    assert "<img" not in html
    cells = Cells(html).cells
    assert cells[:3] == ["arm & hand", "multibody", "1 links, 0 dofs"]
    assert cells[3:] == ["<img src=x>", "rigid body", "0 shapes"]
    assert "design mode" in html and "0.002 s" in html
    assert world._runtime is None  # showing it compiled nothing
    world.step(n=3)
    assert "simulation mode, time 0.006 s, step 3" in world._repr_html_()


def test_many_objects_are_counted():
    world = sx.World()
    for k in range(40):
        world.add_rigid_body(f"box{k}")
    html = world._repr_html_()
    assert "and 28 more" in html and len(html) < 3000


def test_a_multibody():
    world = sx.World()
    arm = world.add_multibody("arm")
    base = arm.add_link("base", joint=sx.JointSpec(name="j<1>", axis=(0, 0, 1)))
    arm.add_link("hand", base, sx.JointSpec(name="wrist", type=sx.JointType.SPHERICAL))
    arm.joints["j<1>"].position = [0.5]
    arm.joints["j<1>"].set_position_limits(-1.0, 2.0)
    html = arm._repr_html_()
    assert "<1>" not in html
    assert Cells(html).cells[:5] == ["j<1>", "revolute", "base", "0.5", "-1 to 2"]
    assert Cells(html).cells[5:] == ["wrist", "spherical", "hand", "0, 0, 0", "none"]
    world.clear()
    assert "arm" in arm._repr_html_()  # a dead handle shows itself too


def test_a_recording():
    world = sx.World()
    world.add_rigid_body("b<x>", position=(0, 0, 2))
    world.replay_recording_enabled = True
    world.step(n=10)
    html = world.recording._repr_html_()
    assert "11 frames, 0 s to 0.01 s" in html and "<x>" not in html
    cells = Cells(html).cells
    assert cells[:2] == ["b<x>.pose", "7"]
    low, high = map(float, cells[2].split(" to "))
    assert low == 0.0 and high == pytest.approx(2.0)
