# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What a case of one attribute of MJCF is, and values that several elements share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Case(NamedTuple):
    """A value of an attribute, with what the model has besides."""

    value: str
    beside: Mapping[str, str | None] = {}
    """Further attributes of the element, in both models."""
    text: str | None = None
    """Another model than that of the element."""
    control: float = 0.7
    steps: int = 20
    moves: bool = True
    """Motion or a sensor shows the attribute; otherwise the scene keeps it, or the report names it."""


def case(value: str, text: str | None = None, control: float = 0.7, steps: int = 20, **beside: Any) -> Case:
    return Case(value, beside, text, control, steps)


def kept(value: str, text: str | None = None, **beside: Any) -> Case:
    """What no motion shows: names, drawing, how a solution is found, files."""
    return Case(value, beside, text, moves=False)


class NotTried(NamedTuple):
    """An attribute without a case, and why."""

    why: str


USER = kept("1 2 3")
NAMED = {"name": kept("other"), "class": kept("d")}
DEFAULTS = """<default><default class="d"><joint group="3"/><geom group="3"/><site group="3"/><pair margin=".01"/>
  <equality solref=".03 1"/><tendon group="3"/><general group="3"/></default></default>"""
"""The default class d of all models."""
GROUP = kept("3")
RGBA = kept("1 0 0 1")
SAME = NotTried("how the same solution is found")


POSE = {
    "pos": case(".02 .01 .03"),
    "quat": case("1 .2 .1 .3"),
    "axisangle": case("0 1 1 20"),
    "euler": case("10 20 30"),
    "xyaxes": case("1 .2 0 0 1 .1"),
    "zaxis": case(".1 .2 1"),
}
