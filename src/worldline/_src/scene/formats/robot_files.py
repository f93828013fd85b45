# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reading and writing the text of a robot file: what URDF and SDF have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.formats.xml import Element, Log, check_objects, parse
from worldline._src.scene.report import Report
from worldline._src.scene.world import World


def read_file(
    source: str,
    file_path: Path | None,
    options: Any,
    name: str,
    root_tag: str,
    objects: Any,
    make: Callable[[Element, PathPolicy, Log], World],
) -> World:
    """The scene of a text in the format called `name`; `make` reads the elements below the root.

    Raises:
        SceneError: everything that is wrong with the file.
    """
    where = f"{name} text" if file_path is None else str(file_path)
    log = Log(f"{where}: not a valid {name} file", options.limits)
    check_objects(source, objects, options.limits, file_path)
    root = parse(source, file_path=file_path)
    if root.tag != root_tag:
        log.problem(root, f"given the root <{root.tag}>; allowed: <{root_tag}>")
        log.raise_any()
    with np.errstate(all="ignore"):
        # a file may hold numbers of any size; validation finds what overflows
        world = make(root, PathPolicy.of(file_path, options), log)
    log.raise_any()
    world.report = log.report
    return world


def written(report: Report, name: str, make: Callable[[WriteLosses], str]) -> str:
    """The text of a file in the format called `name`; what that cannot say goes to the report.

    The `write` of a format takes a valid scene, whose relative asset paths start at the file; the path of
    the file, when there is one; the report; and a dict that gets files to be written beside it, None when
    there can be none.
    """
    notes = WriteLosses(report, name)
    text = make(notes)
    notes.finish()
    return text
