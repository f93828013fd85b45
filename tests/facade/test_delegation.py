# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Members that World shares with its parts and options have one signature."""

from __future__ import annotations

import inspect

import pytest

from worldline import simulation as sx
from worldline._src.facade.connections import Connections
from worldline._src.facade.options import WorldKeywords


def test_a_method_of_a_part_keeps_its_signature_and_text():
    public, own = sx.World.add_rigid_body_distance_spring, Connections.add_rigid_body_distance_spring
    assert inspect.signature(public) == inspect.signature(own)
    assert "rest_length: where it pulls with nothing" in (inspect.getdoc(public) or "")
    world = sx.World()
    a, b = world.add_rigid_body("a"), world.add_rigid_body("b", position=(1, 0, 0))
    world.add_rigid_body_distance_spring("s", a, child=b, rest_length=0.5, stiffness=3.0)
    assert world.get_rigid_body_distance_spring_parameters(name="s") == (0.5, 3.0)


def test_keywords_of_a_world_are_the_fields_of_its_options():
    options = dict(inspect.signature(sx.WorldOptions).parameters)
    world = dict(inspect.signature(sx.World).parameters)
    del world["options"]
    assert {name: p.default for name, p in world.items()} == {name: p.default for name, p in options.items()}
    annotations = WorldKeywords.__annotations__.items()
    for name, annotation in annotations:
        assert annotation.__forward_arg__ == options[name].annotation, name


def test_other_keywords_are_refused_by_name():
    with pytest.raises(TypeError, match=r"World\.__init__\(\) got an unexpected keyword argument 'gravty'"):
        sx.World(gravty=(0, 0, -9.81))  # type: ignore[call-arg]
