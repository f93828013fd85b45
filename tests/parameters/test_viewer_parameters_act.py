# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of `view` and of the viewer acts or is refused by name."""

from __future__ import annotations

import time
import webbrowser

import pytest
from effects import Effect, arguments, check, complete, rows, settable

from worldline import msd
from worldline import simulation as sx
from worldline._src.viewer import session as sessions

pytest.importorskip("viser", reason="the viewer needs the package viser")

TEXT = """<mujoco><worldbody><geom type="plane" size="3 3 1"/><body name="b" pos="0 0 .5"><joint name="j" axis="0 1 0"/>
  <geom size=".1" pos=".3 0 0"/></body></worldbody><keyframe><key name="up" qpos="1"/><key name="down" qpos="-1"/></keyframe></mujoco>"""
PORT = 8930


def shown(look, heavy=False, **options):
    """What is observed of an open viewer."""
    world = sx.World.from_scene(msd.from_str(TEXT, format="mjcf"))
    if heavy:
        world.multibodies[0].links[0].mass = 9.0
    with sx.view(world, **({"port": PORT} | options)) as viewer:
        return look(viewer, world)


def view(look, base=None, **field):
    return Effect(lambda: dict(base or {}), lambda g: g.update(field), lambda g: shown(look, **g))


def watched(attribute, owner, **options):
    """The arguments of a function that opening a viewer calls."""
    found = []
    kept = getattr(owner, attribute)
    setattr(
        owner, attribute, lambda *places, **named: (found.append(repr(places[-1])), kept(*places, **named))
    )
    if owner is webbrowser:
        setattr(owner, attribute, lambda url: found.append("opened"))
    try:
        shown(lambda viewer, world: None, **options)
    finally:
        setattr(owner, attribute, kept)
    return repr(found)


VIEW = {
    "world": view(lambda v, w: w.multibodies[0].links[0].mass, heavy=True),
    "host": view(lambda v, w: v._session.server.get_host(), host="0.0.0.0"),
    "port": view(lambda v, w: v.port, port=PORT + 7),
    "fps": view(lambda v, w: v._session._interval, fps=10.0),
    "shadows": Effect(
        dict, lambda g: g.update(shadows=False), lambda g: watched("set_up_page", sessions, **g)
    ),
    "play": view(lambda v, w: v.is_playing, play=True),
    "open_browser": Effect(
        dict, lambda g: g.update(open_browser=True), lambda g: watched("open", webbrowser, **g)
    ),
}


def frames(viewer, world, steps):
    viewer.step(steps)
    return world.frame


def state_at(viewer, world, index):
    for _ in range(3):
        viewer.step()
    viewer.seek(index)
    return world.frame


def keyed(viewer, world, name):
    viewer.apply_keyframe(name)
    return world.multibodies[0].joints[0].position


def refused_kind(viewer, world, kind):
    try:
        viewer.show(kind)
    except ValueError as error:
        return str(error)
    return "shown"


def waited(viewer, world, seconds):
    start = time.perf_counter()
    viewer.wait(seconds)
    return time.perf_counter() - start > 0.25


def of_viewer(look, first, second):
    return Effect(
        lambda: [first], lambda m: m.append(second), lambda m: shown(lambda v, w: look(v, w, m[-1]))
    )


def speeds(viewer, world, speed):
    viewer.speed = speed
    return viewer.speed


VIEWER = {
    "step.n": of_viewer(frames, 1, 3),
    "seek.index": of_viewer(state_at, 0, 2),
    "apply_keyframe.name": of_viewer(keyed, "up", "down"),
    "show.kind": of_viewer(refused_kind, "Contact points", "nothing of the kind"),
    "show.on": of_viewer(lambda v, w, on: toggled(v, on), True, False),
    "plot.name": of_viewer(lambda v, w, name: plotted(v, name=name), "energy", "height"),
    "plot.names": of_viewer(lambda v, w, names: plotted(v, names=names), ("a",), ("b",)),
    "plot.read": of_viewer(lambda v, w, value: plotted(v, value=value), 1.0, 2.0),
    "wait.seconds": of_viewer(waited, 0.01, 0.3),
    "speed": of_viewer(speeds, 1.0, 0.5),
}


def toggled(viewer, on):
    viewer.show("Contact points", on)
    return viewer._session.stage.overlays.is_on("Contact points")


def plotted(viewer, name="energy", names=("a",), value=1.0):
    """Titles, names and numbers of the plots of the page."""
    viewer.plot(name, names, lambda: (value,))
    shown = viewer._session.controls.plots._shown.items()
    return repr([[title, samples.quantity.names, samples.quantity.read()] for title, (samples, _) in shown])


def test_viewer_tables_are_complete():
    complete(VIEW, arguments(sx.view))
    methods = [
        name for name in dir(sx.Viewer) if not name.startswith("_") and callable(getattr(sx.Viewer, name))
    ]
    wanted = {f"{m}.{p}" for m in methods for p in arguments(getattr(sx.Viewer, m))}
    complete(VIEWER, wanted | settable(sx.Viewer))


@rows(view=VIEW, Viewer=VIEWER)
def test_a_parameter_of_the_viewer_acts_or_is_refused(entry):
    check(entry)
