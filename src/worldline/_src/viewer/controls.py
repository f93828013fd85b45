# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The panel of the page: run, joints and actuators, what is shown, cameras, plots.

Whatever a person does on the page is handed to the thread that owns the World (`Host.post`); nothing here
touches the World from a thread of the page (`events.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from worldline._src.drawing.cameras import camera_names
from worldline._src.errors import ArgumentError, nearest_name
from worldline._src.viewer.events import on_change, on_press
from worldline._src.viewer.overlays import KINDS
from worldline._src.viewer.playback import Playback
from worldline._src.viewer.plots import Plots
from worldline._src.viewer.scene_view import SceneView
from worldline._src.viewer.sliders import Sliders

if TYPE_CHECKING:
    from worldline._src.facade.world import World

_FREE, _NOBODY = "free", "nothing"
_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
_FADED = 0.35
_EVERY = 0.12
"""Time between updates of numbers on the panel [s]."""


class Host(Protocol):
    """Who owns the World: a viewer."""

    world: World
    playback: Playback

    @property
    def stage(self) -> SceneView: ...

    def post(self, work: Callable[[], None]) -> None: ...


class Controls:
    """The panel of one page."""

    def __init__(self, server: Any, host: Host) -> None:
        self._server, self._host = server, host
        self.plots = Plots(server, host.world, host.post)
        self.sliders = Sliders(server, host.world, host.post)
        self._shown: dict[str, Any] = {}
        self._last = 0.0
        self._build()

    def _build(self) -> None:
        gui = self._server.gui
        self._tabs = gui.add_tab_group()
        with self._tabs.add_tab("Run"):
            self._build_run()
        with self._tabs.add_tab("Joints"):
            self.sliders.build()
        with self._tabs.add_tab("Show"):
            self._build_show()
        with self._tabs.add_tab("Plots"):
            self.plots.build()

    # ---- run

    def _build_run(self) -> None:
        gui, playback = self._server.gui, self._host.playback
        self._status = gui.add_markdown("")
        self._play = gui.add_button("Play")
        post = self._host.post
        on_press(self._play, post, lambda _: playback.pause() if playback.is_playing else playback.play())
        on_press(gui.add_button("Step"), post, lambda _: playback.step(1))
        on_press(gui.add_button("Reset"), post, lambda _: playback.reset())
        speed = gui.add_dropdown("Speed", _SPEEDS, initial_value="1")
        on_change(speed, post, lambda value: setattr(playback, "speed", float(value)))
        self._time = gui.add_slider("Time line", 0, 1, 1, 0, hint="Go back to a state that was shown.")
        on_change(self._time, post, self._seek)
        names = self._host.world.keyframes
        if names:
            chosen = gui.add_dropdown("Keyframe", names, initial_value=names[0])
            on_press(gui.add_button("Apply keyframe"), post, lambda _: playback.apply_keyframe(chosen.value))
        strength = gui.add_slider("Pull", 10.0, 400.0, 10.0, playback.perturbation.strength)
        strength.hint = "Strength of the spring: hold Ctrl and drag a body."
        on_change(strength, post, lambda value: setattr(playback.perturbation, "strength", value))

    def _seek(self, index: int) -> None:
        timeline = self._host.playback.timeline
        if timeline.count:
            self._host.playback.seek(min(index, timeline.count - 1))

    # ---- what is shown

    def _build_show(self) -> None:
        gui, host = self._server.gui, self._host
        for kind in KINDS:
            box = gui.add_checkbox(kind, host.stage.overlays.is_on(kind))
            on_change(box, host.post, lambda on, kind=kind: self.show_kind(kind, on))
            self._shown[kind] = box
        faded = self._shown["See through"] = gui.add_checkbox("See through", False)
        on_change(faded, host.post, lambda on: host.stage.shapes.fade(_FADED if on else 1.0))
        with gui.add_folder("Groups", expand_by_default=False):
            for group in range(8):
                box = gui.add_checkbox(f"Group {group}", group in host.stage.groups)
                on_change(box, host.post, lambda on, group=group: host.stage.show_group(group, on))
                self._shown[f"Group {group}"] = box
        self._build_cameras()

    def show_kind(self, kind: str, on: bool) -> None:
        """Show or hide a kind of mark, on the page and on the panel."""
        if kind not in KINDS:
            raise ArgumentError(f"no marks '{kind}'{nearest_name(kind, KINDS)}; there are {list(KINDS)}")
        self._host.stage.overlays.show(kind, on)
        self._shown[kind].value = on

    def _build_cameras(self) -> None:
        gui, host = self._server.gui, self._host
        whole = gui.add_button("Whole scene", hint="Look at everything again.")

        async def show_all(event: Any) -> None:
            if event.client is not None:
                host.post(lambda: host.stage.go_home(event.client))

        whole.on_click(show_all)
        labels = host.world._live().model.body_label
        follow = gui.add_dropdown("Follow", (_NOBODY, *labels), initial_value=_NOBODY)
        on_change(
            follow, host.post, lambda name: host.stage.follow(-1 if name == _NOBODY else labels.index(name))
        )
        names = camera_names(host.world)
        if names:
            camera = gui.add_dropdown("Camera", (_FREE, *names), initial_value=_FREE)

            async def look(event: Any) -> None:
                if event.client is not None:
                    index = -1 if camera.value == _FREE else names.index(camera.value)
                    host.post(lambda: host.stage.look_through(event.client, index))

            camera.on_update(look)

    # ---- as it runs

    def update(self, now: float, force: bool = False) -> None:
        """Write numbers of the World onto the panel, some times a second; `now` is on the wall [s]."""
        if now - self._last < _EVERY and not force:
            return
        self._last = now
        playback, world = self._host.playback, self._host.world
        timeline = playback.timeline
        label = "Pause" if playback.is_playing else "Play"
        if self._play.label != label:
            self._play.label = label
        text = f"**{world.time:.3f} s**, step {world.frame}"
        if playback.is_playing:
            text += f", {playback.rate:.2f} x real time"
        if playback.error is not None:
            text += f"\n\n**Stopped:** {playback.error}"
        if self._status.content != text:
            self._status.content = text
        most = max(timeline.count - 1, 1)
        if self._time.max != most:
            self._time.max = most
        if timeline.count and self._time.value != timeline.cursor:
            self._time.value = timeline.cursor
        self.sliders.update()

    def carry_over(self, stage: SceneView) -> None:
        """Show on a new stage what was shown on the one before."""
        for kind in KINDS:
            stage.overlays.show(kind, self._shown[kind].value)
        for group in range(8):
            if (group in stage.groups) != self._shown[f"Group {group}"].value:
                stage.show_group(group, self._shown[f"Group {group}"].value)
        if self._shown["See through"].value:
            stage.shapes.fade(_FADED)
