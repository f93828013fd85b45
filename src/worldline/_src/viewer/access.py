# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Access control of the page: requests need its token, and pages of other origins cannot use it.

The address of the viewer carries a random token. The first request with it gets a cookie, which the browser
sends along with everything else the page requests. On top of that a request must name this server as its
`Host` (which stops DNS rebinding) and, where a browser sends an `Origin`, come from a page of this server.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from worldline._src.viewer.messages import valid_messages

_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
_EVERYBODY = frozenset({"0.0.0.0", "::"})
_REFUSED = (
    b"Open the page by the address that the viewer printed: it carries the token that is missing here.\n"
)
_PATCHING = threading.Lock()


class Gate:
    """Decides about requests to one server.

    Args:
        host: the address that the server listens on.
    """

    def __init__(self, host: str) -> None:
        self.token = secrets.token_urlsafe(18)
        self._host = host
        self._hosts = _LOCAL if host in _LOCAL else frozenset({host})

    def refusal(self, path: str, headers: Any, port: int) -> str | None:
        """Why a request is refused; None when it is not."""
        try:
            return self._refusal(path, headers, port)
        except (ValueError, LookupError):
            # an address with brackets that do not close, a header that comes twice
            return "the request is malformed"

    def _refusal(self, path: str, headers: Any, port: int) -> str | None:
        host, origin = headers.get("Host", ""), headers.get("Origin")
        named = urlsplit(f"//{host}")
        if self._host not in _EVERYBODY and named.hostname not in self._hosts:
            return f"the host {host!r} is not this viewer"
        if origin is not None and urlsplit(origin).netloc != host:
            return f"pages of {origin!r} may not use this viewer"
        given = [*parse_qs(urlsplit(path).query).get("token", ()), *self._cookies(headers, port)]
        if not any(hmac.compare_digest(token.encode(), self.token.encode()) for token in given):
            return "the token is missing or wrong"
        return None

    def cookie(self, port: int) -> str:
        """What the browser is to send with all further requests; cookies do not distinguish ports."""
        return f"worldline-{port}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def _cookies(self, headers: Any, port: int) -> list[str]:
        try:
            found = SimpleCookie(headers.get("Cookie", "")).get(f"worldline-{port}")
        except CookieError:
            return []
        return [] if found is None else [found.value]

    def guard(self, answer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """A handler of requests that checks this gate before another handler answers."""
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        def guarded(connection: Any, request: Any) -> Any:
            port = int(connection.local_address[1])
            if self.refusal(request.path, request.headers, port) is not None:
                headers = Headers({"Content-Type": "text/plain", "Content-Length": str(len(_REFUSED))})
                return Response(403, "Forbidden", headers, _REFUSED)
            response = answer(connection, request)
            if response is not None:
                response.headers["Set-Cookie"] = self.cookie(port)
            return response

        return guarded


@contextmanager
def guarded_servers(gate: Gate) -> Iterator[None]:
    """Within this block servers of the package websockets ask the gate, and drop messages that are not valid.

    viser has no place to say so.
    """
    import websockets.asyncio.server as module

    with _PATCHING:
        plain = module.serve

        def serve(
            handler: Callable[[Any], Any],
            *given: Any,
            process_request: Callable[[Any, Any], Any],
            **options: Any,
        ) -> Any:
            async def handle(connection: Any) -> None:
                connection.recv = valid_messages(connection.recv)
                await handler(connection)

            return plain(handle, *given, process_request=gate.guard(process_request), **options)

        module.serve = serve  # type: ignore[assignment]
        try:
            yield
        finally:
            module.serve = plain
