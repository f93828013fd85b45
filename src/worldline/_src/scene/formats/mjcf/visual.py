# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Visual options and statistics."""

from __future__ import annotations

from typing import Final

from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.xml import Attributes

COLORS: Final = {
    "haze": "haze",
    "fog": "fog_color",
    "joint": "joint_color",
    "contactforce": "contact_force_color",
    "bv": "bv_color",
}
LENGTHS: Final = {"znear": "z_near", "zfar": "z_far", "fogstart": "fog_start", "fogend": "fog_end"}


def read_visual(reading: Reading) -> None:
    """All `statistic` and `visual` sections; later ones win."""
    extent = _read_statistic(reading)
    for section in reading.root.source.root.all("visual"):
        for element in section.children:
            a = Attributes(element, reading.log)
            if element.tag == "global":
                _read_global(reading, a)
            elif element.tag == "headlight":
                _read_headlight(reading, a)
            elif element.tag == "map":
                _read_map(reading, a, extent)
            elif element.tag == "rgba":
                for name, field in COLORS.items():
                    if name not in a:
                        continue
                    current = getattr(reading.world.visual, field)
                    setattr(reading.world.visual, field, a.reals(name, 4, default=current))
            elif element.tag == "quality":
                visual = reading.world.visual
                visual.shadow_size = max(0, a.integer("shadowsize", visual.shadow_size))
            names = sorted({name for _, name in a.unread()})
            if names:
                message = (
                    f"attributes {', '.join(names)}: how helpers of a viewer look is not part of a scene"
                )
                reading.log.left_out(element, message)


def _read_statistic(reading: Reading) -> float | None:
    extent: float | None = None
    for element in reading.root.source.root.all("statistic"):
        a = Attributes(element, reading.log)
        statistic = reading.world.statistic
        if "center" in a:
            statistic.center = a.reals("center", 3, default=statistic.center)
        extent = a.real("extent", extent)
        if extent is not None and extent <= 0.0:
            a.reject("extent", f"given {extent:g}; allowed: a length > 0")
            extent = None
        if extent is not None:
            statistic.extent = [extent] * 3
        statistic.mean_size = a.real("meansize", statistic.mean_size)
        reading.finish(
            a, dict.fromkeys(("meanmass", "meaninertia"), "scales of solvers are found by the engine")
        )
    return extent


def _read_global(reading: Reading, a: Attributes) -> None:
    camera = reading.world.free_camera
    camera.azimuth = a.real("azimuth", camera.azimuth)
    camera.elevation = a.real("elevation", camera.elevation)
    fovy = a.real("fovy", camera.fovy)
    if fovy <= 0.0:
        a.reject("fovy", f"given {fovy:g}; allowed: an angle > 0")
    else:
        camera.fovy = fovy
    camera.orthographic = a.flag("orthographic", camera.orthographic)


def _read_headlight(reading: Reading, a: Attributes) -> None:
    visual = reading.world.visual
    visual.head_light.color = a.reals("diffuse", 3, default=visual.head_light.color)
    visual.ambient_light.color = a.reals("ambient", 3, default=visual.ambient_light.color)
    # older files write 0 and 1
    words = {"true": True, "1": True, "auto": True, "false": False, "0": False}
    if not a.choice("active", words, True):
        visual.head_light.luminous_power = 0.0
    if a.element.attributes:
        reading.log.approximated(a.element, "colours are kept, and their brightness is the scene's own")


def _read_map(reading: Reading, a: Attributes, extent: float | None) -> None:
    """Distances of the view, which the format gives in units of the size of the scene."""
    for name, field in LENGTHS.items():
        value = a.real(name, None)
        if value is None:
            continue
        if value < 0.0:
            a.reject(name, f"given {value:g}; allowed: a number >= 0")
            continue
        if extent is None:
            message = f"attribute '{name}': the size of the scene is not given, so it counts as 1 m"
            reading.log.approximated(a.element, message)
        setattr(reading.world.visual, field, value * (extent or 1.0))
