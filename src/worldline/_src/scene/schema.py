# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of scene files."""

from __future__ import annotations

from typing import Any

from worldline._src.scene.containers import struct_schema
from worldline._src.scene.world import World


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the MSD JSON format, for editors and other tools.

    It describes what is written; readers also take a range as its two ends. Keys that are not
    listed are allowed, and reported when read.

    Example:
        >>> json_schema()["$ref"]
        '#/$defs/World'
    """
    definitions: dict[str, Any] = {}
    top = struct_schema(World, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Worldline scene",
        **top,
        "$defs": dict(sorted(definitions.items())),
    }
