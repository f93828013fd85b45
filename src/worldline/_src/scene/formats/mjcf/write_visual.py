# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Visual options and statistics."""

from __future__ import annotations

from typing import Final

from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.mjcf.visual import COLORS, LENGTHS
from worldline._src.scene.formats.mjcf.writing import Words, Writing, preimage

_SAID: Final = frozenset((*COLORS.values(), *LENGTHS.values(), "head_light", "ambient_light", "shadow_size"))


def write_visual(writing: Writing) -> None:
    """The `visual` and `statistic` sections."""
    visual, camera = writing.world.visual, writing.world.free_camera
    extent = _write_statistic(writing)
    words = Words()
    words.real("azimuth", camera.azimuth, 90.0)
    words.real("elevation", camera.elevation, -45.0)
    words.real("fovy", camera.fovy, 45.0)
    words.flag("orthographic", camera.orthographic, False)
    _add(writing, "global", words)
    words = Words()
    words.reals("diffuse", visual.head_light.color, (1.0, 1.0, 1.0))
    words.reals("ambient", visual.ambient_light.color, (1.0, 1.0, 1.0))
    if visual.head_light.luminous_power == 0.0:
        words["active"] = "0"
    _add(writing, "headlight", words)
    off = ("color", "luminous_power") if visual.head_light.luminous_power == 0.0 else ("color",)
    writing.others(visual.head_light, "$.visual.head_light", off)
    writing.others(visual.ambient_light, "$.visual.ambient_light", ("color",))
    words = Words()
    for name, field in LENGTHS.items():
        length = getattr(visual, field)
        if visual._fields[field].is_default(length):
            continue
        if extent is None:
            writing.changed(f"$.visual.{field}", "the size of the scene, its unit in a file, counts as 1 m")
        unit = extent or 1.0
        words.real(name, preimage(lambda x, u=unit: x * u, length / unit, length))
    _add(writing, "map", words)
    words = Words()
    for name, field in COLORS.items():
        color = getattr(visual, field)
        if not visual._fields[field].is_default(color):
            words.reals(name, color)
    _add(writing, "rgba", words)
    words = Words()
    writing.whole(words, "shadowsize", visual.shadow_size, 4096, "$.visual.shadow_size")
    _add(writing, "quality", words)
    writing.others(visual, "$.visual", _SAID)


def _add(writing: Writing, tag: str, words: Words) -> None:
    if words:
        child(writing.section("visual"), tag, words)


def _write_statistic(writing: Writing) -> float | None:
    """The size of the scene; returns the one number that a file has for it."""
    statistic = writing.world.statistic
    words = Words()
    extent = None
    if statistic.extent is not None:
        extent = statistic.extent[0]
        if len(set(statistic.extent)) > 1:
            extent = max(statistic.extent)
            writing.changed("$.statistic.extent", "the size of a scene is one number")
        if extent > 0.0:
            words.real("extent", extent)
        else:
            writing.lost("$.statistic.extent", "the size of a scene is above 0")
            extent = None
    if statistic.center is not None:
        words.reals("center", statistic.center)
    if statistic.mean_size is not None:
        words.real("meansize", statistic.mean_size)
    section = writing.section("statistic")
    for name, text in words.items():
        section.set(name, text)
    return extent
