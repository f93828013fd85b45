# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The viewer: a page in the browser that shows a World, and a thread that plays it.

One thread owns the World while the viewer plays it, and everything a person does on the page is done there,
in order. While it does not play it only reads coordinates, so that a program may step the World itself and
the page shows it. Nothing of the viewer is stored in the World: viewers come and go while it runs.
"""

from __future__ import annotations

import queue
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError, OperationError, WorldlineError
from worldline._src.facade import values
from worldline._src.viewer.controls import Controls
from worldline._src.viewer.playback import Playback
from worldline._src.viewer.stage import Stage

if TYPE_CHECKING:
    from worldline._src.facade.world import World

_LOOPBACK = "127.0.0.1"


class Viewer:
    """A World on a page in the browser; made by `view`.

    Buttons of the page and methods of this class do the same. Methods return when it is done.
    """

    def __init__(self, world: World, *, host: str, port: int, fps: float, shadows: bool) -> None:
        self.world = world
        self.playback = Playback(world, 1.0 / fps)
        self._interval = 1.0 / fps
        self._lock = threading.RLock()
        self._work: queue.Queue[Callable[[], None]] = queue.Queue()
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._server = _start_server(host, port)
        self._host = host
        try:
            self._stage = Stage(self._server, world)
            self._set_up_page(shadows)
            self._controls = Controls(self._server, self)
            self._controls.update(0.0, force=True)
            self._stage.draw(None, force=True)
        except BaseException:
            self._server.stop()
            raise
        self._thread = threading.Thread(target=self._run, name="worldline viewer", daemon=True)
        self._thread.start()

    # ---- the page

    @property
    def url(self) -> str:
        """Address of the page."""
        shown = "localhost" if self._host in (_LOOPBACK, "0.0.0.0", "::") else self._host
        return f"http://{shown}:{self.port}"

    @property
    def port(self) -> int:
        """Port of the page."""
        return int(self._server.get_port())

    @property
    def client_count(self) -> int:
        """Browsers that look at it now."""
        return len(self._server.get_clients())

    @property
    def stage(self) -> Stage:
        """What is on the page."""
        return self._stage

    def _set_up_page(self, shadows: bool) -> None:
        server, view = self._server, self._stage.home()
        server.gui.configure_theme(
            control_layout="floating", control_width="medium", show_logo=False, show_share_button=False
        )
        server.gui.set_panel_label("Worldline")
        server.scene.set_up_direction("+z")
        server.scene.world_axes.visible = False
        # a sky instead of surroundings: those take a browser without a graphics card half a minute
        server.scene.configure_environment_map(None)
        server.scene.add_light_hemisphere(
            "/lights/sky", sky_color=(255, 255, 255), ground_color=(165, 160, 155), intensity=0.9
        )
        server.scene.configure_default_lights(cast_shadow=shadows)
        reach = max(self._stage.size, 1.0)
        server.scene.configure_fog(8.0 * reach, 25.0 * reach, color=(255, 255, 255))
        camera = server.initial_camera
        camera.position = tuple(view.position)
        away = 1.1 * self._stage.size / 0.38
        camera.look_at = tuple(view.position + away * view.forward)
        camera.up = (0.0, 0.0, 1.0)
        camera.fov = float(np.radians(view.fovy if not view.orthographic else 45.0))
        camera.near = 0.005 * self._stage.size
        camera.far = 500.0 * max(self._stage.size, 1.0)
        self._let_drag()

    def _let_drag(self) -> None:
        """Let bodies be pulled at with Ctrl and the mouse."""
        perturbation = self.playback.perturbation
        for node in self._stage.shapes.movable():
            rows = node.rows

            # in the loop of the page, which keeps the order of events
            async def drag(event: Any, rows: Any = rows) -> None:
                item = self._stage.shapes.items.rows[int(rows[event.instance_index or 0])]
                if event.phase == "start":
                    where = event.start_position, event.end_position
                    self.post(lambda: perturbation.grab(item.body, *where))
                elif event.phase == "update":
                    self.post(lambda: perturbation.move(event.end_position))
                else:
                    self.post(perturbation.release)

            node.handle.on_drag("left", modifier="cmd/ctrl")(drag)

    # ---- the thread

    def post(self, work: Callable[[], None]) -> None:
        """Let the thread of the viewer do some work soon, in order."""
        self._work.put(work)
        self._wake.set()

    def _do(self, work: Callable[[], None]) -> None:
        """Let the thread of the viewer do some work, and wait; raises what the work raised."""
        if self._closed.is_set():
            raise OperationError("the viewer is closed")
        if threading.current_thread() is self._thread:
            work()
            return
        done, failed = threading.Event(), []

        def run() -> None:
            try:
                work()
            except Exception as error:
                failed.append(error)
            finally:
                done.set()

        self.post(run)
        while not done.wait(0.5):
            if self._closed.is_set():
                raise OperationError("the viewer was closed")
        if failed:
            raise failed[0]

    def _run(self) -> None:
        due = time.perf_counter()
        while not self._closed.is_set():
            worked = False
            with self._lock:
                worked = self._drain()
                if self.world._job is None:
                    made = self.playback.advance()
                    self._show(force=worked or bool(made))
            due = max(due + self._interval, time.perf_counter())
            self._wake.wait(max(0.0, due - time.perf_counter()) or 1e-4)
            self._wake.clear()

    def _drain(self) -> bool:
        """Do what was asked for."""
        worked = False
        while True:
            try:
                work = self._work.get_nowait()
            except queue.Empty:
                return worked
            worked = True
            try:
                work()
            except WorldlineError as error:
                # told on the page; what was refused has changed nothing
                self.playback.error = error

    def _show(self, force: bool = False) -> None:
        """Bring the page up to date, if anybody looks."""
        runtime = self.world._runtime
        if runtime is None or not self._server.get_clients():
            # a World that is being edited is shown when it is whole again
            return
        if runtime is not self._stage.runtime:
            self._rebuild()
            force = True
        now = time.perf_counter()
        moved = self._stage.draw(self.playback.perturbation.line(), force)
        if moved or force:
            self._controls.plots.sample(now)
        self._controls.update(now, force=force and not self.playback.is_playing)

    def _rebuild(self) -> None:
        """The World was changed: draw it anew."""
        self._stage.remove()
        self.playback.perturbation.release()
        self.playback.timeline.clear()
        self._stage = Stage(self._server, self.world)
        self._controls.carry_over(self._stage)
        self._let_drag()

    # ---- what a program can do

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held while the viewer works on the World: `with viewer.lock:` keeps it away for a while."""
        return self._lock

    def sync(self) -> None:
        """Show the World as it is now; for programs that step it themselves.

        Reads the World from the thread of the caller, and returns at once when nobody looks.
        """
        with self._lock:
            if not self._closed.is_set():
                self.world._live()
                self._show(force=True)

    def play(self) -> None:
        """Let the viewer step the World against the clock."""
        self._do(self.playback.play)

    def pause(self) -> None:
        """Let time stand still."""
        self._do(self.playback.pause)

    @property
    def is_playing(self) -> bool:
        """Whether the viewer steps the World."""
        return self.playback.is_playing

    @property
    def speed(self) -> float:
        """Simulated seconds in a second, 0.01 to 10."""
        return self.playback.speed

    @speed.setter
    def speed(self, value: float) -> None:
        self._do(lambda: setattr(self.playback, "speed", value))

    def step(self, n: int = 1) -> None:
        """Pause, and make n steps."""
        self._do(lambda: self.playback.step(n))

    def reset(self) -> None:
        """Pause, and go back to the start; the time line begins again."""
        self._do(self.playback.reset)

    def apply_keyframe(self, name: str) -> None:
        """Pause, and take the state of a keyframe of the scene."""
        self._do(lambda: self.playback.apply_keyframe(name))

    def seek(self, index: int) -> None:
        """Pause, and go to a state of the time line, 0 to `frame_count` - 1."""
        self._do(lambda: self.playback.seek(values.count(index, "index of a state")))

    @property
    def frame_count(self) -> int:
        """States on the time line."""
        return self.playback.timeline.count

    def show(self, kind: str, on: bool = True) -> None:
        """Show or hide marks, by the names of the page: "Contact forces", "Joint axes", "Sites" ..."""
        self._do(lambda: self._controls.show_kind(kind, on))

    def plot(self, name: str, names: tuple[str, ...], read: Callable[[], tuple[float, ...]]) -> None:
        """Plot numbers of your own as the World runs.

        Args:
            name: title of the plot.
            names: a name for every number.
            read: returns the numbers; called in the thread of the viewer.
        """
        self._do(lambda: self._controls.plots.add(name, tuple(names), read))

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the viewer is closed, the time is over, or the program is interrupted with Ctrl-C."""
        until = None if seconds is None else time.monotonic() + seconds
        try:
            while not self._closed.wait(0.2):
                if until is not None and time.monotonic() >= until:
                    return
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Take the page away; the World stays as it is."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._wake.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(5.0)
        with _quiet():
            self._server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed.is_set() else f"{self.url}, {self.client_count} browsers"
        return f"<Viewer of {self.world!r}: {state}>"


def _start_server(host: str, port: int) -> Any:
    try:
        import viser
    except ImportError:
        raise CapabilityError(
            "the viewer needs the package 'viser', which is not installed; pip install 'worldline[viewer]'"
        ) from None
    with _quiet():
        server = viser.ViserServer(host=host, port=port, verbose=False)

    def refuse(*_: Any, **__: Any) -> None:
        """Pages cannot ask for an address that is reachable from outside."""

    server.request_share_url = refuse  # type: ignore[method-assign]
    return server


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the server from printing: what it says is for those who program it."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


def view(
    world: World,
    *,
    host: str = _LOOPBACK,
    port: int = 8080,
    fps: float = 30.0,
    shadows: bool = True,
    play: bool = False,
    open_browser: bool = False,
) -> Viewer:
    """Show a World on a page in the browser, and return at once.

    The page has buttons to play, pause, step and reset, a time line, sliders for joints and actuators, plots,
    and whatever else there is to see. Hold Ctrl and drag a body to pull at it. Close the viewer, or the
    program, to end it; the World does not notice.

    Args:
        world: what to show. Programs that step it themselves call `Viewer.sync` after their steps, or leave
        it to
            the viewer to look `fps` times a second.
        host: who can reach the page: this machine only, unless told otherwise ("0.0.0.0" is everybody).
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
    rate = values.positive(fps, "fps")
    if not 0 < values.count(port, "port") < 65536:
        raise ArgumentError(f"a port is 1 to 65535, got {port}")
    world._require_idle()
    world._live()
    viewer = Viewer(world, host=values.text(host, "host"), port=port, fps=rate, shadows=shadows)
    if play:
        viewer.play()
    if open_browser:
        webbrowser.open(viewer.url)
    return viewer
