# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of a recording, one picture a name, over simulated time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from worldline._src.errors import ArgumentError, CapabilityError
from worldline._src.facade import values

if TYPE_CHECKING:
    from worldline._src.facade.recording import Recording

_PARTS = {
    "pose": ("x", "y", "z", "qx", "qy", "qz", "qw"),
    "velocity": ("vx", "vy", "vz", "wx", "wy", "wz"),
    "acceleration": ("ax", "ay", "az", "alpha x", "alpha y", "alpha z"),
    "wrench": ("tx", "ty", "tz", "fx", "fy", "fz"),
}
_MOST_LINES = 12
"""Lines of one picture that still get a legend."""


def plot(recording: Recording, names: Iterable[str] | str | None, axes: Any) -> Any:
    """See `Recording.plot`."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise CapabilityError("plots need matplotlib: pip install 'worldline[plot]'") from error
    chosen = _chosen(recording, names)
    if axes is None:
        figure, grid = pyplot.subplots(
            len(chosen), 1, sharex=True, squeeze=False, figsize=(8.0, 1.0 + 2.2 * len(chosen))
        )
        given = list(grid[:, 0])
        figure.set_layout_engine("constrained")  # pyright: ignore[reportUnknownMemberType]
    else:
        given = [axes] if hasattr(axes, "plot") else values.several(axes, "axes")
        for place in given:
            if not hasattr(place, "plot"):
                raise ArgumentError(f"axes must be matplotlib Axes, got {place!r}")
        if len(given) != len(chosen):
            raise ArgumentError(f"{len(chosen)} names need as many axes, got {len(given)}")
        figure = given[0].figure
    times = recording.times
    for place, name in zip(given, chosen, strict=True):
        drawn = recording[name]
        labels = _PARTS.get(name.rpartition(".")[2], ())
        for k in range(drawn.shape[1]):
            place.plot(times, drawn[:, k], label=labels[k] if len(labels) == drawn.shape[1] else f"[{k}]")
        place.set_ylabel(name)
        place.grid(True, alpha=0.3)
        if 1 < drawn.shape[1] <= _MOST_LINES:
            place.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False)
    given[-1].set_xlabel("time, s")
    return figure


def _chosen(recording: Recording, names: Iterable[str] | str | None) -> list[str]:
    if names is None:
        # coordinates show most; velocities follow from them
        return [name for name in recording.names if name.endswith((".q", ".pose"))] or recording.names
    chosen = [names] if isinstance(names, str) else values.several(names, "names to plot")
    for name in chosen:
        _ = recording[name]  # refuses what was not recorded
    if not chosen:
        raise ArgumentError("plot needs at least one name")
    return chosen
