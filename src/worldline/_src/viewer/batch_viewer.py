# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds of a batch side by side on a page; the distance between them is that of the picture only."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from worldline._src.drawing.cameras import View, facing, usual_distance
from worldline._src.drawing.items import SHOWN_GROUPS, Item, Items, items_of
from worldline._src.drawing.placement import body_poses
from worldline._src.errors import ArgumentError, BatchFailure, BusyError, require_kind
from worldline._src.facade import values
from worldline._src.facade.batch.selecting import WhichWorlds, indices_of
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.model.kinds import ShapeKind
from worldline._src.spatial.poses import IDENTITY, Array
from worldline._src.step.dynamics import forward_kinematics
from worldline._src.viewer.access import Gate
from worldline._src.viewer.events import on_change, on_press
from worldline._src.viewer.server import (
    PageOptions,
    ShownPage,
    page_options,
    quiet,
    set_up_page,
    start_server,
    with_page,
)
from worldline._src.viewer.shapes import ShapeNodes

MOST = 64
"""Worlds of a page when none are named."""
_FRAMES = 2000
"""States that the time line keeps."""
_HIDDEN = -1
"""A visibility group that is never shown."""
_FAILED, _PICKED = np.array([220, 40, 40]), np.array([60, 130, 230])


class BatchViewer(ShownPage):
    """Worlds of a batch on a page in the browser; made by `view_batch`.

    Buttons of the page and methods of this class do the same. Failed worlds are red, the picked one is blue.
    """

    _instead = "it is a page that is shown; open another BatchViewer"

    def __init__(
        self, batch: WorldBatch, which: np.ndarray, spacing: float | None, host: str, port: int, fps: float
    ) -> None:
        require_kind(batch, WorldBatch, "batch", "BatchViewer")
        self._batch, self._which, self._host, self._interval = batch, which, host, 1.0 / fps
        self._lock, self._closed = threading.RLock(), threading.Event()
        self._work: queue.Queue[Callable[[], None]] = queue.Queue()
        self._playing, self._picked, self._shown = False, -1, -1
        self._error: BaseException | None = None
        self._frames: list[Array] = []
        own = batch._worlds.has_own_parameters
        first = batch.extract(int(which[0]))
        each = [items_of(batch.extract(w)) for w in which.tolist()] if own else [items_of(first)] * len(which)
        self._count, self._each = len(each[0].rows), each
        bodies = body_poses(first._live().model, first._live().sim.q)
        low, high = each[0].bounds(bodies)
        size = max(0.5 * float(np.linalg.norm(high - low)), 1e-2)
        self._spacing = 2.2 * size if spacing is None else spacing
        across = math.ceil(math.sqrt(len(which)))
        row, column = np.divmod(np.arange(len(which)), across)
        self._offset = self._spacing * np.stack([column, row, 0 * row], axis=1)
        # a plane that reaches into other worlds is drawn once, below all of them
        self._wide = np.array([_is_wide(item, self._spacing) for item in each[0].rows], bool)
        self._gate = Gate(host)
        self._server = start_server(host, port, self._gate)
        try:
            poses = self._poses(batch.joint_positions[which])
            rest = [
                _hidden(item) if _is_wide(item, self._spacing) else item
                for one in each[1:]
                for item in one.rows
            ]
            items = Items([*each[0].rows, *rest])
            self._shapes = ShapeNodes(
                self._server, "/worlds", items, poses, lambda item: item.group in SHOWN_GROUPS
            )
            middle = 0.5 * (low + high) + self._offset.mean(axis=0)
            whole = size + 0.5 * float(np.linalg.norm(self._offset.max(axis=0)))
            set_up_page(self._server, _view_of_all(middle, whole), whole, shadows=False)
            self._add_controls()
        except BaseException:
            self._server.stop()
            raise
        self._note()
        self._thread = threading.Thread(target=self._run, name="worldline batch viewer", daemon=True)
        self._thread.start()

    # ---- page

    def _add_controls(self) -> None:
        gui, post = self._server.gui, self._work.put
        self._text = gui.add_markdown("")
        self._button = gui.add_button("Play")
        on_press(self._button, post, lambda _: self.pause() if self._playing else self.play())
        on_press(gui.add_button("Step"), post, lambda _: self.step())
        on_press(gui.add_button("Reset"), post, lambda _: self.reset())
        self._time = gui.add_slider("Time line", 0, 1, 1, 0, hint="Look at a state that was shown.")
        on_change(self._time, post, lambda at: self.seek(min(int(at), self.frame_count - 1)))
        self._world = gui.add_number(
            "World", -1, min=-1, max=int(self._which.max()), step=1, hint="The marked world; -1 for none."
        )
        on_change(self._world, post, lambda w: self.pick(int(w) if w in self._which else None))
        for node in self._shapes.movable():
            rows = node.rows

            async def clicked(event: Any, rows: np.ndarray = rows) -> None:
                index = event.instance_index or 0
                if 0 <= index < len(rows):
                    post(lambda: self.pick(int(self._which[rows[index] // self._count])))

            node.handle.on_click(clicked)

    def _poses(self, q: Array) -> Array:
        """Poses of the shapes of all worlds where they are drawn."""
        bodies = forward_kinematics(self._batch.model, q)
        made = []
        for items, own, offset in zip(self._each, bodies, self._offset, strict=True):
            poses = items.poses(np.concatenate([own, IDENTITY[None]]))
            poses[:, :3] += offset
            made.append(poses)
        made[0][self._wide, :3] += self._offset.mean(axis=0)
        return np.concatenate(made)

    def _draw(self, q: Array) -> None:
        failed = np.array([failure.world for failure in self._batch.failures], np.int64)
        with self._server.atomic():
            self._shapes.place(self._poses(q))
            for node in self._shapes.movable():
                colours = np.array(
                    [[round(255 * c) for c in self._shapes.items.rows[k].look.rgba[:3]] for k in node.rows]
                )
                world = self._which[node.rows // self._count]
                colours[world == self._picked] = _PICKED
                colours[np.isin(world, failed)] = _FAILED
                node.handle.batched_colors = colours.astype(np.uint8)
        self._say()
        self._time.max, self._time.value = max(self.frame_count - 1, 1), max(self._shown, 0)
        self._world.value = self._picked

    def _say(self) -> None:
        """Bring the text of the page up to date."""
        self._text.content = self.status
        self._button.label = "Pause" if self._playing else "Play"

    def _note(self) -> None:
        """Put the present state on the time line and show it."""
        q = self._batch.joint_positions[self._which]
        self._frames.append(q)
        del self._frames[:-_FRAMES]
        self._shown = len(self._frames) - 1
        if np.isfinite(q).all():
            self._draw(q)

    def _run(self) -> None:
        while not self._closed.wait(self._interval):
            try:
                self._turn()
            except BaseException as error:
                # said on the page and ends the play: the thread serves the page until it closes. An interrupt
                # of the program does not come to this thread
                self._playing, self._error = False, error
                with suppress(BusyError):
                    self._say()

    def _turn(self) -> None:
        """Carry out what was requested on the page, and the steps that are due."""
        while not self._work.empty():
            self._work.get()()
        with self._lock:
            if self._playing:
                begun = time.perf_counter()
                self._advance(max(1, round(self._interval / self._batch.time_step)))
                if time.perf_counter() - begun > 10.0 * self._interval:
                    # keep up with the page, not with the clock
                    self._closed.wait(self._interval)

    def _advance(self, n: int) -> None:
        # failed worlds are frozen and shown
        with suppress(BatchFailure):
            self._batch.step(n, threads=0)
        self._error = None
        self._note()

    # ---- what a program does

    @property
    def status(self) -> str:
        """What the page says: worlds that failed, the picked world, and what stopped the last step."""
        failures = {failure.world: failure for failure in self._batch.failures}
        lines = [f"{len(self._which)} worlds, {len(failures)} failed"]
        lines += [str(failure) for failure in list(failures.values())[:5]]
        if self._picked >= 0:
            world = self._batch.worlds[self._picked]
            lines.append(f"world {self._picked}: {float(world.time):.3f} s, {int(world.frame)} steps")
        if self._error is not None:
            lines.append(f"**Stopped:** {self._error}")
        return "\n\n".join(lines)

    @property
    def picked(self) -> int | None:
        """The world that is marked, None when there is none."""
        return None if self._picked < 0 else self._picked

    def pick(self, world: int | None) -> None:
        """Mark a world of the page and say how it fares; None for none."""
        index = -1 if world is None else values.count(world, "index of a world")
        if world is not None and index not in self._which:
            raise ArgumentError(f"world {world!r} is not on the page, which has {self._which.tolist()}")
        with self._lock:
            self._picked = index
            self._draw(self._frames[self._shown])

    def play(self) -> None:
        """Let the viewer step the batch against the clock."""
        self._playing = True

    def pause(self) -> None:
        """Let time stand still."""
        with self._lock:
            self._playing = False

    @property
    def is_playing(self) -> bool:
        """Whether the viewer steps the batch."""
        return self._playing

    def step(self, n: int = 1) -> None:
        """Pause, and make n steps of every world."""
        count = values.count(n, "n of step")
        self.pause()
        with self._lock:
            self._advance(count)

    def reset(self) -> None:
        """Pause, and put all worlds back to the start; the time line begins again."""
        self.pause()
        with self._lock:
            self._batch.reset()
            self._error = None
            self._frames.clear()
            self._note()

    def sync(self) -> None:
        """Show the batch as it is now; for programs that step it themselves."""
        with self._lock:
            self._note()

    @property
    def frame_count(self) -> int:
        """States on the time line."""
        return len(self._frames)

    def seek(self, index: int) -> None:
        """Pause, and look at a state of the time line, 0 to `frame_count` - 1; the batch stays as it is."""
        self.pause()
        with self._lock:
            at = values.count(index, "index of a state")
            if not 0 <= at < self.frame_count:
                raise ArgumentError(f"states of the time line are 0 to {self.frame_count - 1}, got {at}")
            self._shown = at
            self._draw(self._frames[at])

    def close(self) -> None:
        """Take the page away; the batch stays as it is."""
        if not self._closed.is_set():
            self._closed.set()
            self._thread.join()
            with quiet():
                self._server.stop()

    def __repr__(self) -> str:
        state = "closed" if self._closed.is_set() else self.url
        return f"<BatchViewer of {len(self._which)} worlds: {state}>"


def _is_wide(item: Item, spacing: float) -> bool:
    """Whether it is a plane that reaches further than to the next world."""
    across = np.abs(item.mesh.vertices * item.scale)[:, :2]
    return item.kind is ShapeKind.PLANE and bool(across.max() > spacing)


def _hidden(item: Item) -> Item:
    return replace(item, group=_HIDDEN)


def _view_of_all(centre: Array, reach: float) -> View:
    """A camera that looks down at rows of worlds, each in front of the next."""
    azimuth, elevation = np.radians((115.0, -40.0))
    forward = np.array(
        [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    )
    return View(centre - usual_distance(reach) * forward, facing(forward, np.array([0.0, 0.0, 1.0])), 45.0)


@with_page
def view_batch(
    batch: WorldBatch,
    worlds: WhichWorlds = None,
    *,
    spacing: float | None = None,
    **keywords: Unpack[PageOptions],
) -> BatchViewer:
    """Show worlds of a batch side by side on a page in the browser, and return at once.

    The page has buttons to play, pause, step and reset, a time line to look back, and the worlds that failed.
    Click at a world, or give its number, to pick it.

    Args:
        batch: the worlds; all of them step when the page plays.
        worlds: those to show, indices or a mask of bools with one entry a world; the first 64 when None.
        spacing: distance of neighbouring worlds on the page [m]; by their size when None. Nothing moves in
            the worlds themselves.
        host, port, fps: see `view`, which has the same requirements.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> with sx.view_batch(sx.WorldBatch(world, 9)) as viewer:  # doctest: +SKIP
        ...     viewer.step(100)
        ...     viewer.pick(4)
    """
    require_kind(batch, WorldBatch, "batch", "view_batch")
    which = indices_of(worlds, batch.num_worlds, least=1)[: MOST if worlds is None else None]
    if not len(which):
        raise ArgumentError("a page needs at least one world")
    apart = None if spacing is None else values.positive(spacing, "spacing")
    return BatchViewer(batch, which, apart, *page_options(**keywords))
