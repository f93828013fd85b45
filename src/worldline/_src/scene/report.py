# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reports of losses when a file is read or a scene is written.

A reader notes what it approximated or left out, with the place it came from; nothing is dropped silently.
A writer does the same for what its format cannot say. Strict loading turns those two kinds of entries into an
error; strict loading of motion only those that may change how the scene moves, since hardly a file of a real
robot is without some setting of a viewer.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from typing import Final

from worldline._src.errors import FixedAttributes, Problem, SceneError, ShapeError, require_kind
from worldline._src.named_tuple import NamedTuple


class Fate(enum.Enum):
    """What happened to a part of a file."""

    Kept = "kept"
    Approximated = "approximated"
    LeftOut = "left out"


LOOKS: Final = frozenset(
    (
        # MJCF
        *("visual", "camera", "light", "texture", "material", "skin"),
        # URDF: settings of controllers and their hardware
        *("transmission", "safety_controller", "calibration"),
        # SDF
        *("scene", "gui", "spherical_coordinates"),
    )
)
"""Elements that say nothing about motion; settings of another simulator (`gazebo`, `plugin`, `ode`) may."""

SCENE_LOOKS: Final = frozenset(
    (
        *("visual", "materials", "textures", "skybox", "free_camera", "statistic"),
        *("cameras", "lights", "rgba", "material", "group", "custom"),
        *("role", "multibody", "multibodies", "differentiable_parameters"),
    )
)
"""Fields of a scene that say nothing about motion, for the notes of writers."""


class ReportEntry(NamedTuple):
    """One note of a reader.

    Attributes:
        fate: Kept, approximated or left out.
        path: The element, such as `mujoco/worldbody/body[0]/geom[2]` or `$.hierarchy.geoms[2].foo`.
        message: What was done and why.
        file: The file it stands in, when known.
        line: The line in that file, counted from 1, when known.
    """

    fate: Fate
    path: str
    message: str
    file: str | None = None
    line: int | None = None

    @property
    def may_move(self) -> bool:
        """Whether it may change how the scene moves; False for looks, viewers and hardware."""
        if self.path.startswith("$"):
            return SCENE_LOOKS.isdisjoint(re.sub(r"\[[^]]*\]", "", self.path).split("."))
        return LOOKS.isdisjoint(step.partition("[")[0] for step in self.path.split("/"))

    def __str__(self) -> str:
        return f"{self.fate.value}: {Problem(self.path, self.message, self.file, self.line)}"


class Report(FixedAttributes):
    """The notes of a reader, in the order it made them.

    Example:
        >>> report = Report()
        >>> report.left_out("robot/gazebo[0]", "simulator settings have no meaning here", line=7)
        >>> len(report), report.is_exact
        (1, False)
    """

    def __init__(self) -> None:
        self.entries: list[ReportEntry] = []

    def add(
        self, fate: Fate, path: str, message: str, file: str | None = None, line: int | None = None
    ) -> None:
        """Adds a note; see `kept`, `approximated` and `left_out`."""
        require_kind(fate, Fate, "fate", "Report.add")
        for what, text in (("path", path), ("message", message), ("file", file)):
            if not (isinstance(text, str) or (what == "file" and text is None)):
                raise ShapeError(f"{what} of a note must be a text, got {text!r}")
        self.entries.append(ReportEntry(fate, path, message, file, line))

    def kept(self, path: str, message: str, *, file: str | None = None, line: int | None = None) -> None:
        """Notes something kept in full that a user may have doubts about."""
        self.add(Fate.Kept, path, message, file, line)

    def approximated(
        self, path: str, message: str, *, file: str | None = None, line: int | None = None
    ) -> None:
        """Notes something kept with a changed meaning."""
        self.add(Fate.Approximated, path, message, file, line)

    def left_out(self, path: str, message: str, *, file: str | None = None, line: int | None = None) -> None:
        """Notes something that has no place in the scene."""
        self.add(Fate.LeftOut, path, message, file, line)

    def extend(self, other: Report) -> None:
        """Takes over the notes of an included or attached part."""
        require_kind(other, Report, "other", "Report.extend")
        self.entries.extend(other.entries)

    @property
    def losses(self) -> list[ReportEntry]:
        """The notes that mean the scene says less than its file."""
        return [entry for entry in self.entries if entry.fate is not Fate.Kept]

    @property
    def is_exact(self) -> bool:
        """Whether the scene says everything its file said."""
        return not self.losses

    def raise_losses(self, headline: str = "strict loading", *, motion_only: bool = False) -> None:
        """Raises a `SceneError` with every approximated or left-out part; nothing if there is none.

        Args:
            headline: How the error begins.
            motion_only: Only count what may change how the scene moves.
        """
        losses = [entry for entry in self.losses if entry.may_move or not motion_only]
        if losses:
            problems = [
                Problem(entry.path, f"{entry.fate.value}: {entry.message}", entry.file, entry.line)
                for entry in losses
            ]
            number = "1 part" if len(losses) == 1 else f"{len(losses)} parts"
            raise SceneError(f"{headline}: {number} would be lost", problems)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[ReportEntry]:
        return iter(self.entries)

    def __str__(self) -> str:
        return "\n".join(str(entry) for entry in self.entries) or "nothing to report"

    def __repr__(self) -> str:
        return f"<Report: {len(self.entries)} entries, {len(self.losses)} losses>"
