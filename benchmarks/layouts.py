# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which published robots step in lanes, and why the others do not.

Every MJCF and URDF file of gymnasium, dm_control and example-robot-data that is installed, and of the folder
in WORLDLINE_MENAGERIE, as a batch of one World each. A file that is no model by itself, such as one that
others include, is left out and named below the table. Nothing is stepped.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.timing import table_of
from worldline import simulation as sx
from worldline._src.errors import WorldlineError
from worldline._src.facade.batch.layout_choice import AUTOMATIC, LANES, choose_layout
from worldline._src.facade.batch.template import Template


class Found(NamedTuple):
    """A file, the layout of a batch of it, and the reasons for that."""

    source: str
    name: str
    layout: str
    reasons: tuple[str, ...]


def files() -> dict[str, list[Path]]:
    """Files by where they come from."""
    found: dict[str, list[Path]] = {}
    for package, inside in (("gymnasium", "envs/mujoco/assets"), ("dm_control", "suite")):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found[package] = sorted((Path(spec.origin).parent / inside).glob("*.xml"))
    for folder in sys.path:
        robots = Path(folder) / "cmeel.prefix/share/example-robot-data/robots"
        if robots.is_dir():
            found["example-robot-data"] = sorted(robots.rglob("*.urdf"))
    menagerie = os.environ.get("WORLDLINE_MENAGERIE")
    if menagerie:
        found["menagerie"] = sorted(Path(menagerie).rglob("*.xml"))
    return found


def survey(paths: dict[str, list[Path]]) -> tuple[list[Found], list[str]]:
    """The layout of every file, and the files that are no model of a robot."""
    found, left_out = [], []
    for source, several in paths.items():
        for path in several:
            name = f"{path.parent.name}/{path.name}"
            try:
                template = Template(sx.World.from_file(str(path)), None)
                if not template.model.joint_dof_count:
                    left_out.append(f"{name}: nothing moves")
                    continue
                choice = choose_layout(template, AUTOMATIC, np.float64)
            except (WorldlineError, OSError) as error:
                left_out.append(f"{name}: {str(error).splitlines()[0][:150]}")
                continue
            found.append(Found(source, name, choice.kind, choice.reasons))
    return found, left_out


def run(console: Console) -> None:
    """Print the tables."""
    found, left_out = survey(files())
    table = table_of("layout of a batch of every model", "model | layout | why not in lanes")
    for model in found:
        reasons = "" if model.layout == LANES else "; ".join(model.reasons)
        table.add_row(model.name, model.layout, reasons)
    console.print(table)
    table = table_of("models in lanes", "source | in lanes | models")
    for source in dict.fromkeys(model.source for model in found):
        mine = [model for model in found if model.source == source]
        table.add_row(source, str(sum(model.layout == LANES for model in mine)), str(len(mine)))
    table.add_row("all", str(sum(model.layout == LANES for model in found)), str(len(found)))
    console.print(table)
    reasons = Counter(reason for model in found if model.layout != LANES for reason in model.reasons)
    table = table_of("reasons, by number of models", "models | reason")
    for reason, count in reasons.most_common():
        table.add_row(str(count), reason)
    console.print(table)
    for line in left_out:
        console.print(f"left out: {line}")
