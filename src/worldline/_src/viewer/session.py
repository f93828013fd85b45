# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One World, one page, and the thread between them.

The thread owns the World while the viewer plays it, and everything a person does on the page is done there,
in order. While it does not play it only reads coordinates, so that a program may step the World itself and
the page shows it. Nothing of the viewer is stored in the World: viewers come and go while it runs.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import BusyError, OperationError
from worldline._src.step.interrupts import watched
from worldline._src.viewer.access import Gate
from worldline._src.viewer.controls import Controls
from worldline._src.viewer.playback import Playback
from worldline._src.viewer.scene_view import SceneView
from worldline._src.viewer.server import quiet, set_up_page, start_server

if TYPE_CHECKING:
    from worldline._src.facade.world import World


class Session:
    """What a `Viewer` does behind its methods."""

    def __init__(self, world: World, *, host: str, port: int, fps: float, shadows: bool) -> None:
        self.world = world
        self.playback = Playback(world, 1.0 / fps)
        self._interval = 1.0 / fps
        self.lock = threading.RLock()
        self._work: queue.Queue[Callable[[], None]] = queue.Queue()
        self._wake = threading.Event()
        self.closed = threading.Event()
        """Set when the page was taken away."""
        self.gate = Gate(host)
        self.server = start_server(host, port, self.gate)
        try:
            self.stage = SceneView(self.server, world)
            set_up_page(self.server, self.stage.home(), self.stage.size, shadows)
            self._let_drag()
            self.controls = Controls(self.server, self)
            self.controls.update(0.0, force=True)
            self.stage.draw(None, force=True)
        except BaseException:
            self.server.stop()
            raise
        self._thread = threading.Thread(target=self._run, name="worldline viewer", daemon=True)
        self._thread.start()

    def _let_drag(self) -> None:
        """Let bodies be pulled at with Ctrl and the mouse."""
        perturbation = self.playback.perturbation
        for node in self.stage.shapes.movable():
            rows = node.rows

            # in the loop of the page, which keeps the order of events
            async def drag(event: Any, rows: Any = rows) -> None:
                index = event.instance_index or 0
                points = np.array([event.start_position, event.end_position], np.float64)
                if not 0 <= index < len(rows) or not np.isfinite(points).all():
                    return
                item = self.stage.shapes.items.rows[int(rows[index])]
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

    def do(self, work: Callable[[], None]) -> None:
        """Let the thread of the viewer do some work, and wait; raises what the work raised."""
        if self.closed.is_set():
            raise OperationError("the viewer is closed")
        if threading.current_thread() is self._thread:
            work()
            return
        done = threading.Event()
        failed: list[BaseException] = []
        self.post(watched(work, done, failed))
        while not done.wait(0.5):
            if self.closed.is_set() or not self._thread.is_alive():
                raise OperationError("the viewer was closed")
        if failed:
            raise failed[0]

    def _run(self) -> None:
        due = time.perf_counter()
        while not self.closed.is_set():
            with self.lock:
                self._turn()
            due = max(due + self._interval, time.perf_counter())
            self._wake.wait(max(0.0, due - time.perf_counter()) or 1e-4)
            self._wake.clear()

    def _turn(self) -> None:
        """Carry out what was requested, make the steps that are due, and show the World.

        Whatever goes wrong is said on the page and ends the play: the thread serves the page until it closes.
        """
        worked = self._drain()
        if self.world._job is not None:
            return
        try:
            made = self.playback.advance()
            # a frame is left out while a program steps or changes the World in its own thread
            with suppress(BusyError), self.world._observed():
                self._show(force=worked or bool(made))
        except BaseException as error:
            self.playback.pause()
            self.playback.error = error

    def _drain(self) -> bool:
        """Do what was requested."""
        worked = False
        while True:
            try:
                work = self._work.get_nowait()
            except queue.Empty:
                return worked
            worked = True
            try:
                work()
            except BaseException as error:
                # shown on the page; what was refused has changed nothing. An interrupt of the program does
                # not come to this thread
                self.playback.error = error

    def _show(self, force: bool = False) -> None:
        """Bring the page up to date, if anybody looks."""
        runtime = self.world._runtime
        if runtime is None or not self.server.get_clients():
            # a World that is being edited is shown when it is whole again
            return
        if runtime is not self.stage.runtime:
            # the next change of the World waits until the page has read all of it
            with runtime.guard:
                if self.world._runtime is not runtime:
                    return
                self._rebuild()
            force = True
        now = time.perf_counter()
        moved = self.stage.draw(self.playback.perturbation.line(), force)
        # a World that stands still is shown as it is, not as it was a tenth of a second ago
        at_once = force and not self.playback.is_playing
        if moved or force:
            self.controls.plots.sample(now, force=at_once)
        self.controls.update(now, force=at_once)

    def _rebuild(self) -> None:
        """The World was changed: draw it anew."""
        self.stage.remove()
        self.playback.perturbation.release()
        self.playback.timeline.clear()
        self.stage = SceneView(self.server, self.world)
        self.controls.carry_over(self.stage)
        self._let_drag()

    # ---- what a program can do

    def sync(self) -> None:
        """Show the World as it is now, from the thread of the caller."""
        with self.lock:
            if not self.closed.is_set():
                self.world._live()
                self._show(force=True)

    def close(self) -> None:
        """Take the page away; the World stays as it is."""
        if self.closed.is_set():
            return
        self.closed.set()
        self._wake.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(5.0)
        with quiet():
            self.server.stop()
