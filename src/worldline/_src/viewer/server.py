# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The server of the page: for this machine only by default, with lights and a first camera."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypedDict

import numpy as np

from worldline._src.drawing.cameras import View, usual_distance
from worldline._src.errors import ArgumentError, CapabilityError
from worldline._src.facade import values
from worldline._src.facade.closing import Closing
from worldline._src.facade.copying import NotCopied
from worldline._src.facade.known_names import KnownNames
from worldline._src.keywords import shared_keywords
from worldline._src.viewer.access import Gate, guarded_servers
from worldline._src.viewer.messages import check_messages

LOOPBACK = "127.0.0.1"


class PageOptions(TypedDict, total=False):
    """Keywords of functions that show a page: its address and its rate."""

    host: str
    port: int
    fps: float


with_page = shared_keywords(PageOptions, host=LOOPBACK, port=8080, fps=30.0)


def page_options(host: str = LOOPBACK, port: int = 8080, fps: float = 30.0) -> tuple[str, int, float]:
    """The keywords of `PageOptions`, checked."""
    if not 0 < values.count(port, "port") < 65536:
        raise ArgumentError(f"a port is 1 to 65535, got {port}")
    return values.text(host, "host"), port, values.positive(fps, "fps")


class ShownPage(NotCopied, KnownNames, Closing):
    """What viewers have: a page and its address."""

    _host: str
    _server: Any
    _gate: Gate
    _closed: threading.Event

    @property
    def url(self) -> str:
        """Address of the page, with the token that lets a browser in."""
        shown = "localhost" if self._host in (LOOPBACK, "0.0.0.0", "::") else self._host
        return f"http://{shown}:{self.port}/?token={self._gate.token}"

    @property
    def port(self) -> int:
        """Port of the page."""
        return int(self._server.get_port())

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the viewer is closed, the time is over, or the program is interrupted with Ctrl-C."""
        until = math.inf if seconds is None else time.monotonic() + values.non_negative(seconds, "seconds")
        try:
            # in portions, between which every system delivers an interrupt
            while not self._closed.wait(max(0.0, min(0.2, until - time.monotonic()))):
                if time.monotonic() >= until:
                    return
        except KeyboardInterrupt:
            self.close()


def check_host(host: str) -> None:
    """Refuse an address that this machine does not have; an empty one would be that of every network."""
    try:
        if not host:
            raise ValueError
        # a socket of any free port shows that a server can listen there; names are resolved first
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
        with socket.socket(found[0][0], socket.SOCK_STREAM) as trial:
            trial.bind(found[0][4])
    except (OSError, ValueError):
        raise ArgumentError(f"host must be an address of this machine, got {host!r}") from None


def start_server(host: str, port: int, gate: Gate) -> Any:
    """A server of viser that is silent, checks requests by a gate and drops messages that are not valid."""
    try:
        import viser
    except ImportError:
        raise CapabilityError(
            "the viewer needs the package 'viser', which is not installed; pip install 'worldline[viewer]'"
        ) from None
    check_host(host)
    with quiet(), guarded_servers(gate):
        server = viser.ViserServer(host=host, port=port, verbose=False)
    check_messages(server)

    def refuse(*_: Any, **__: Any) -> None:
        """Pages cannot ask for an address that is reachable from outside."""

    server.request_share_url = refuse  # type: ignore[method-assign]
    return server


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the server from printing: what it says is for those who program it."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


def set_up_page(server: Any, view: View, size: float, shadows: bool) -> None:
    """Lights, fog and the first camera of a page.

    Args:
        server: the server of the page.
        view: a camera that has everything in view.
        size: half the diagonal of the scene [m].
        shadows: whether lights cast shadows.
    """
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
    reach = max(size, 1.0)
    server.scene.configure_fog(8.0 * reach, 25.0 * reach, color=(255, 255, 255))
    camera = server.initial_camera
    camera.position = tuple(view.position)
    camera.look_at = tuple(view.position + usual_distance(size) * view.forward)
    camera.up = (0.0, 0.0, 1.0)
    camera.fov = float(np.radians(view.fovy if not view.orthographic else 45.0))
    camera.near = 0.005 * size
    camera.far = 500.0 * max(size, 1.0)
