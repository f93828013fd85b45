# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The viewer as a program sees it: `view` and the `Viewer` it returns."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Unpack

from worldline._src.errors import ArgumentError, ShapeError
from worldline._src.facade import values
from worldline._src.facade.world_kind import require_world
from worldline._src.viewer.server import PageOptions, ShownPage, page_options, with_page
from worldline._src.viewer.session import Session

if TYPE_CHECKING:
    from worldline._src.facade.world import World


class Viewer(ShownPage):
    """A World on a page in the browser; made by `view`.

    Buttons of the page and methods of this class do the same. Methods return when it is done.
    """

    _instead = "it is a page that is shown; open another Viewer"

    def __init__(self, session: Session, host: str) -> None:
        self._session, self._host = session, host
        self._server, self._gate, self._closed = session.server, session.gate, session.closed

    @property
    def client_count(self) -> int:
        """Browsers that look at it now."""
        return len(self._server.get_clients())

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held while the viewer works on the World: `with viewer.lock:` keeps it away for a while."""
        return self._session.lock

    def sync(self) -> None:
        """Show the World as it is now; for programs that step it themselves.

        Reads the World from the thread of the caller, and returns at once when no page is open.
        """
        self._session.sync()

    def play(self) -> None:
        """Let the viewer step the World against the clock."""
        self._session.do(self._session.playback.play)

    def pause(self) -> None:
        """Let time stand still."""
        self._session.do(self._session.playback.pause)

    @property
    def is_playing(self) -> bool:
        """Whether the viewer steps the World."""
        return self._session.playback.is_playing

    @property
    def speed(self) -> float:
        """Simulated seconds in a second, 0.01 to 10."""
        return self._session.playback.speed

    @speed.setter
    def speed(self, value: float) -> None:
        self._session.do(lambda: setattr(self._session.playback, "speed", value))

    def step(self, n: int = 1) -> None:
        """Pause, and make n steps.

        Raises:
            StepFailure: a step diverged.
            BusyError: another thread is inside a step of the World.
        """
        self._session.do(lambda: self._session.playback.step(n))

    def reset(self) -> None:
        """Pause, and go back to the start; the time line begins again."""
        self._session.do(self._session.playback.reset)

    def apply_keyframe(self, name: str) -> None:
        """Pause, and take the state of a keyframe of the scene."""
        self._session.do(lambda: self._session.playback.apply_keyframe(name))

    def seek(self, index: int) -> None:
        """Pause, and go to a state of the time line, 0 to `frame_count` - 1."""
        self._session.do(lambda: self._session.playback.seek(values.count(index, "index of a state")))

    @property
    def frame_count(self) -> int:
        """States on the time line."""
        return self._session.playback.timeline.count

    def show(self, kind: str, on: bool = True) -> None:
        """Show or hide marks, by the names of the page: "Contact forces", "Joint axes", "Sites" ..."""
        marks, shown = values.key(kind, "kind of marks"), values.flag(on, "on")
        self._session.do(lambda: self._session.controls.show_kind(marks, shown))

    def plot(self, name: str, names: tuple[str, ...], read: Callable[[], tuple[float, ...]]) -> None:
        """Plot numbers of your own as the World runs.

        Args:
            name: title of the plot, which no other plot has.
            names: a name for every number.
            read: returns the numbers; called in the thread of the viewer.
        """
        title = values.text(name, "name of a plot")
        if isinstance(names, str) or not callable(read):
            raise ShapeError("a plot needs names of its numbers, and a function that returns them")
        labels = tuple(values.text(label, "name of a number") for label in values.several(names, "names"))
        if not labels:
            raise ArgumentError(f"plot '{title}' needs at least one number, got no names")
        self._session.do(lambda: self._session.controls.plots.add(title, labels, read))

    def close(self) -> None:
        """Take the page away; the World stays as it is."""
        self._session.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed.is_set() else f"{self.url}, {self.client_count} browsers"
        return f"<Viewer of {self._session.world!r}: {state}>"


@with_page
def view(
    world: World,
    *,
    shadows: bool = True,
    play: bool = False,
    open_browser: bool = False,
    **keywords: Unpack[PageOptions],
) -> Viewer:
    """Show a World on a page in the browser, and return at once.

    The page has buttons to play, pause, step and reset, a time line, sliders for joints and actuators, plots,
    and whatever else there is to see. Hold Ctrl and drag a body to pull at it. Close the viewer, or the
    program, to end it; the World does not notice.

    Args:
        world: what to show. Programs that step it themselves call `Viewer.sync` after their steps, or leave
            it to the viewer to look `fps` times a second.
        host: who can reach the page: this machine only by default ("0.0.0.0": every network interface).
        port: of the page; the next free one when it is taken.
        fps: frames a second.
        shadows: whether the page draws shadows; slow where the browser has no graphics card.
        play: begin to play at once.
        open_browser: open the page.

    Raises:
        CapabilityError: viser is not installed.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> with sx.view(world) as viewer:  # doctest: +SKIP
        ...     viewer.step(100)
        ...     viewer.seek(0)
    """
    require_world(world, "view")
    host, port, fps = page_options(**keywords)
    world._require_idle()
    world._live()
    play, open_browser = values.flag(play, "play"), values.flag(open_browser, "open_browser")
    shadows = values.flag(shadows, "shadows")
    viewer = Viewer(Session(world, host=host, port=port, fps=fps, shadows=shadows), host)
    if play:
        viewer.play()
    if open_browser:
        webbrowser.open(viewer.url)
    return viewer
