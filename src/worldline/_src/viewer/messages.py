# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of the page, checked before anything acts on them.

The server of the page takes every kind of message that the library behind it knows, uploads of files into any
control among them, every property of a control that a message names, and casts values without a look at their
range. The page of a viewer sends four kinds. Only values are a person's to set: numbers within the range of
their slider, entries of their list, ticks of their box. Everything else is dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

KINDS = frozenset(
    {"GuiUpdateMessage", "ViewerCameraMessage", "SceneNodeClickMessage", "SceneNodeDragMessage"}
)
"""What a page may send: controls, its camera, and the mouse on a body."""
MOST_LENGTH = 1e15
"""Largest coordinate that a page may send [m]."""
MOST_NUMBER = 1e9
"""Largest number of a control that has no range of its own."""
MOST_TEXT = 1000
"""Characters that a text of the page may have."""


def is_valid_message(data: Any) -> bool:
    """Whether bytes are a message of a kind that a page may send, with fields of their types, all finite."""
    import viser._messages as known

    try:
        fields = msgspec.msgpack.decode(data, type=dict[str, Any])
        kind = fields.pop("type", None)
        if kind not in KINDS:
            return False
        msgspec.convert(fields, getattr(known, kind))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return False
    return kind == "GuiUpdateMessage" or all(map(_is_moderate, fields.values()))


def _is_moderate(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_moderate, value))
    return not isinstance(value, (int, float)) or -MOST_LENGTH <= value <= MOST_LENGTH


def valid_messages(receive: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    """What receives messages of a connection, without those that are not valid."""

    async def receive_valid() -> Any:
        while not is_valid_message(data := await receive()):
            pass
        return data

    return receive_valid


def is_valid_value(handle: Any, value: Any) -> bool:
    """Whether a person could have set a control to a value."""
    now = handle.value
    options = getattr(handle, "options", None)
    if options is not None:
        return isinstance(value, str) and value in tuple(options)
    if isinstance(now, bool):
        return isinstance(value, bool)
    if isinstance(now, (int, float)):
        low, high = getattr(handle, "min", -MOST_NUMBER), getattr(handle, "max", MOST_NUMBER)
        # the page rounds to the step of the slider, which may lead a little beyond its end
        slack = getattr(handle, "step", None) or 0.0
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and low - slack <= value <= high + slack
    return isinstance(value, str) and len(value) <= MOST_TEXT


def is_valid_update(handle: Any, updates: Any) -> bool:
    """Whether a message changes the value of a control, and to one that it can have."""
    if not isinstance(updates, dict):
        return False
    if handle._impl.is_button and not hasattr(handle, "options"):
        return updates in ({}, {"value": True}, {"value": False})
    return set(updates) == {"value"} and is_valid_value(handle, updates["value"])


def check_messages(server: Any) -> None:
    """Let a server of viser drop messages about controls that no person could have caused."""
    from viser._messages import GuiUpdateMessage

    connection = server._websock_server
    plain, controls = connection._handle_incoming_message, server.gui._gui_input_handle_from_uuid

    async def checked(client_id: Any, message: Any) -> None:
        if isinstance(message, GuiUpdateMessage):
            handle = controls.get(message.uuid)
            if handle is None or not is_valid_update(handle, message.updates):
                return
        await plain(client_id, message)

    connection._handle_incoming_message = checked
