# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Masses and moments too small for a step are refused where they are given, with the name of the body."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, SceneError
from worldline.model import ModelBuilder

SMALL = np.diag([9e-25, 9e-25, 9e-25])
ENOUGH = np.diag([1.1e-24, 1.1e-24, 1.1e-24])


def _body(**given):
    return sx.World().add_rigid_body("ball", **given)


def _link(**given):
    return sx.World().add_multibody("arm").add_link("upper", **given)


def _set(owner, name, value):
    setattr(owner, name, value)


def _bodies():
    world = sx.World()
    world.add_rigid_body("ball")
    return world.rigid_bodies


def _links():
    return _link().multibody.links


CALLS = {
    "body keyword": (lambda: _body(inertia=SMALL), "ball"),
    "body mass": (lambda: _body(mass=9e-25), "ball"),
    "body options": (lambda: sx.RigidBodyOptions(inertia=SMALL), "RigidBodyOptions"),
    "body options mass": (lambda: sx.RigidBodyOptions(mass=9e-25), "RigidBodyOptions"),
    "link options": (lambda: sx.LinkOptions(inertia=SMALL), "LinkOptions"),
    "link options mass": (lambda: sx.LinkOptions(mass=9e-25), "Link"),
    "Inertia": (lambda: sx.Inertia(1.0, (0, 0, 0), SMALL), "Inertia"),
    "Inertia mass": (lambda: sx.Inertia(9e-25, (0, 0, 0), np.zeros((3, 3))), "Inertia"),
    "body setter": (lambda: _set(_body(), "inertia", SMALL), "ball"),
    "body mass setter": (lambda: _set(_body(), "mass", 9e-25), "ball"),
    "link setter": (lambda: _set(_link(), "inertia", SMALL), "upper"),
    "link mass setter": (lambda: _set(_link(), "mass", 9e-25), "upper"),
    "one small moment": (lambda: _set(_body(), "inertia", np.diag([9e-25, 1.0, 1.0])), "ball"),
    "bodies": (lambda: _set(_bodies(), "masses", 9e-25), "ball"),
    "links": (lambda: _set(_links(), "masses", 9e-25), "upper"),
    "inertias of bodies": (lambda: _set(_bodies(), "inertias", [SMALL]), "ball"),
    "inertias of links": (lambda: _set(_links(), "inertias", [SMALL]), "upper"),
    "builder": (lambda: ModelBuilder().add_link(mass=1.0, inertia=SMALL, label="rod"), "rod"),
    "builder mass": (lambda: ModelBuilder().add_link(mass=9e-25, label="rod"), "rod"),
    "builder unchecked": (
        lambda: ModelBuilder().add_link(mass=1.0, inertia=SMALL, label="rod", check_inertia=False),
        "rod",
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_refuses_what_no_step_can_move(case):
    call, name = CALLS[case]
    with pytest.raises(ArgumentError, match="at least 1e-24") as caught:
        call()
    assert name in str(caught.value)


def test_what_rounding_leaves_of_no_moment_is_none():
    """A rod that was turned by a right angle has 1e-33 kg m^2 about its own axis."""
    turned = np.diag([5e-33, 0.1, 0.1])
    ModelBuilder().add_link(mass=1.0, inertia=turned)
    with pytest.raises(ArgumentError, match="at least 1e-24"):
        ModelBuilder().add_link(mass=1.0, inertia=1e-24 * turned)


def test_what_is_just_large_enough_steps():
    world = sx.World(gravity=(0, 0, 0))
    ball = world.add_rigid_body("ball", mass=1.1e-24, inertia=ENOUGH, linear_velocity=(1, 0, 0))
    world.step(10)
    assert ball.translation[0] == pytest.approx(0.01)


def test_a_refused_write_changes_nothing():
    ball = _body(mass=2.0)
    for name, value in (("inertia", SMALL), ("mass", 1e-30)):
        with pytest.raises(ArgumentError):
            setattr(ball, name, value)
    assert ball.mass == 2.0 and np.array_equal(ball.inertia, np.eye(3))


@pytest.mark.parametrize(
    "inertial", ['mass="1" diaginertia="1e-30 1e-30 1e-30"', 'mass="1e-30" diaginertia="1 1 1"']
)
def test_a_file_is_refused_when_it_is_read(inertial):
    text = f"""<mujoco><worldbody><body name="speck"><freejoint/><inertial pos="0 0 0" {inertial}/></body>
        </worldbody></mujoco>"""
    with pytest.raises(SceneError, match=r"speck.*at least 1e-24"):
        sx.World.from_scene(msd.from_str(text, format="mjcf"))
    # what stands still may be that small
    msd.from_str(text.replace("<freejoint/>", ""), format="mjcf").validate()


def test_shapes_of_a_link_that_moves_are_not_too_small():
    text = (
        """<mujoco><worldbody><body name="dust"><freejoint/><geom size="1e-7"/></body></worldbody></mujoco>"""
    )
    with pytest.raises(SceneError, match=r"dust.*at least 1e-24"):
        sx.World.from_scene(msd.from_str(text, format="mjcf")).step()
