# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Plots on the page: energy, contacts, joints, sensors, and whatever a program adds, as they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, BusyError
from worldline._src.viewer import quantities
from worldline._src.viewer.events import Post, on_change, on_press
from worldline._src.viewer.quantities import Quantity, Samples

if TYPE_CHECKING:
    from worldline._src.facade.world import World

_COLOURS = ("#3b76af", "#e6913a", "#519e5b", "#c44e52", "#8172b3", "#937860", "#da8bc3", "#8c8c8c")
_EVERY = 0.1
"""Time between samples [s] on the wall."""

_OF_CHOICE = {"Joint": quantities.joints, "Sensor": quantities.sensors}
"""What is plotted of the names chosen from a list."""


class Plots:
    """A tab with plots; each is sampled only while its box is ticked.

    Args:
        server: the server of the page.
        world: what is plotted.
        post: lets a function run in the thread that owns the World.
    """

    def __init__(self, server: Any, world: World, post: Post) -> None:
        self._server, self._world, self._post = server, world, post
        self._shown: dict[str, tuple[Samples, Any]] = {}
        self._makers: dict[str, Callable[[], Quantity]] = {
            "Energy": lambda: quantities.energy(world),
            "Contacts": lambda: quantities.contacts(world),
        }
        self._chosen: dict[str, tuple[str, ...]] = {}
        self._choices: dict[str, Any] = {}
        self._last = -np.inf

    def build(self) -> None:
        """Put boxes on the page, within the container that is open."""
        for name in list(self._makers):
            self._add_box(name)
        self._add_choice("Joint", quantities.joint_names(self._world))
        self._add_choice("Sensor", quantities.sensor_names(self._world))
        self._folder = self._server.gui.add_folder("Plots")

    def _add_choice(self, what: str, names: list[str]) -> None:
        """A list to choose from, and buttons that add the choice to a plot of all chosen, or clear it."""
        if not names:
            return
        gui = self._server.gui
        self._choices[what] = gui.add_dropdown(what, names, initial_value=names[0])
        buttons = gui.add_button_group(f"{what} plot", ("Add", "Clear"))
        on_press(buttons, self._post, lambda button: self._choose(what, button))

    def add(self, name: str, names: tuple[str, ...], read: Callable[[], tuple[float, ...]]) -> None:
        """One more plot, of numbers that a function gives."""
        if name in self._makers or name in _OF_CHOICE:
            raise ArgumentError(f"there is a plot '{name}' already")
        self._makers[name] = lambda: Quantity(name, names, read)
        with self._folder:
            self._add_box(name, shown=True)
        self._toggle(name, True)

    def _add_box(self, name: str, shown: bool = False) -> None:
        box = self._server.gui.add_checkbox(name, shown)
        on_change(box, self._post, lambda on: self._toggle(name, on))

    def _toggle(self, name: str, on: bool) -> None:
        if on:
            self._show(name, self._makers[name]())
        else:
            self._hide(name)

    def _choose(self, what: str, button: str) -> None:
        self._hide(what)
        names = (*self._chosen.get(what, ()), self._choices[what].value)
        self._chosen[what] = () if button == "Clear" else tuple(dict.fromkeys(names))
        if self._chosen[what]:
            self._show(what, _OF_CHOICE[what](self._world, self._chosen[what]))

    def _show(self, name: str, quantity: Quantity) -> None:
        self._hide(name)
        series = [{"label": "time [s]"}]
        series += [
            {"label": label, "stroke": _COLOURS[k % len(_COLOURS)], "width": 2}
            for k, label in enumerate(quantity.names)
        ]
        with self._folder:
            plot = self._server.gui.add_uplot(
                data=tuple(np.zeros((len(series), 2))),
                series=tuple(series),
                title=quantity.title,
                scales={"x": {"time": False, "auto": True}, "y": {"auto": True}},
                legend={"show": True},
                aspect=1.6,
            )
        self._shown[name] = (Samples(quantity), plot)

    def _hide(self, name: str) -> None:
        kept = self._shown.pop(name, None)
        if kept is not None:
            kept[1].remove()

    def sample(self, now: float, force: bool = False) -> None:
        """Read what is shown, if it is time; `now` is on the wall [s]."""
        if not self._shown or (now - self._last < _EVERY and not force):
            return
        self._last = now
        time = self._world.time
        for name, (samples, plot) in list(self._shown.items()):
            try:
                samples.take(time)
            except BusyError:
                # a program is inside a step: the plots go on with the next frame
                raise
            except (Exception, SystemExit) as error:
                # a function of the user's: its plot ends, the others go on
                self._hide(name)
                self._say(f"Plot '{name}' ended: {type(error).__name__}: {error}")
                continue
            if len(samples) > 1:
                plot.data = samples.columns()

    def _say(self, text: str) -> None:
        """Write a line below the plots."""
        with self._folder:
            self._server.gui.add_markdown(text)
