# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of a step as a graph to look at: what runs, in which order, and what waits for what.

A stage waits for the last stage before it that wrote what it reads, and for those that still read what it
overwrites. The order of the list is the order in which they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from worldline._src.errors import by_name
from worldline._src.jit import Stage
from worldline._src.named_tuple import NamedTuple
from worldline._src.step.step_table import TABLE

_NOTES = {row.stage: (row.domain, row.reads, row.writes) for row in reversed(TABLE)}
"""Domain, what is read and what is written, by stage."""
_COLOURS = {
    "kinematics": "#dbe9f6",
    "forces": "#fde8cf",
    "dynamics": "#d9ead3",
    "collision": "#f4d6d2",
    "constraints": "#e3daee",
    "integration": "#fff2b2",
}


class StageMetadata(NamedTuple):
    """One stage of a pipeline."""

    name: str
    """Unique in its pipeline: a stage that runs again has a number after its name."""
    domain: str
    """kinematics, forces, dynamics, collision, constraints or integration."""
    reads: tuple[str, ...]
    """What it reads."""
    writes: tuple[str, ...]
    """What it writes."""
    summary: str
    """What it computes."""
    acceleration: str = "none"
    """Special hardware that it uses; none does."""


class WorldStepPipeline:
    """The stages of a step of one World, in the order they run.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> world.pipeline.names[:2], world.pipeline.get_stage("positions").writes
        (['positions', 'link_velocities'], ('link poses',))
    """

    __slots__ = ("_name", "_stages")

    def __init__(self, name: str, stages: Iterable[StageMetadata]) -> None:
        self._name = name
        self._stages = tuple(stages)

    @property
    def name(self) -> str:
        """What the stages do together."""
        return self._name

    @property
    def stages(self) -> tuple[StageMetadata, ...]:
        """All stages, in the order they run."""
        return self._stages

    @property
    def names(self) -> list[str]:
        """Names of the stages, in the order they run."""
        return [stage.name for stage in self._stages]

    def get_stage(self, name: str) -> StageMetadata:
        """The stage with this name; a KeyError with the nearest name if there is none."""
        return by_name(self._stages, name, f"no stage '{name}'")

    @property
    def dependencies(self) -> list[tuple[str, str]]:
        """Pairs of stages, the first of which must be done before the second begins."""
        found: list[tuple[str, str]] = []
        writer: dict[str, str] = {}
        readers: dict[str, list[str]] = {}
        for stage in self._stages:
            before = [writer[what] for what in stage.reads if what in writer]
            before += [reader for what in stage.writes for reader in readers.get(what, ())]
            before += [writer[what] for what in stage.writes if what in writer]
            found += [(name, stage.name) for name in dict.fromkeys(before) if name != stage.name]
            for what in stage.reads:
                readers.setdefault(what, []).append(stage.name)
            for what in stage.writes:
                writer[what] = stage.name
                readers[what] = []
        return found

    def to_text(self) -> str:
        """A table of text: the stages with what they read and write."""
        if not self._stages:
            return f"{self._name}: no stages"
        rows = [(s.name, s.domain, ", ".join(s.reads), ", ".join(s.writes)) for s in self._stages]
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        lines = [f"{self._name}: {len(rows)} stages"]
        for k, (name, domain, reads, writes) in enumerate(rows, 1):
            flow = f"{reads} -> {writes}".lstrip()
            lines.append(f"{k:4}  {name:<{widths[0]}}  {domain:<{widths[1]}}  {flow}")
        return "\n".join(lines)

    def to_dot(self) -> str:
        """The graph in the DOT language, for Graphviz and its relatives."""
        lines = [f"digraph {_quoted(self._name)} {{", '  node [shape=box, style="filled,rounded"];']
        for stage in self._stages:
            colour = _COLOURS.get(stage.domain, "#eeeeee")
            label = _quoted(f"{stage.name}\n{stage.domain}")
            lines.append(f"  {_quoted(stage.name)} [label={label}, fillcolor={_quoted(colour)}];")
        by_name = {stage.name: stage for stage in self._stages}
        for before, after in self.dependencies:
            shared = [w for w in by_name[before].writes if w in by_name[after].reads]
            label = f" [label={_quoted(', '.join(shared))}]" if shared else " [style=dashed]"
            lines.append(f"  {_quoted(before)} -> {_quoted(after)}{label};")
        return "\n".join([*lines, "}"])

    def __len__(self) -> int:
        return len(self._stages)

    def __iter__(self) -> Iterator[StageMetadata]:
        return iter(self._stages)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<WorldStepPipeline {self._name}: {len(self._stages)} stages>"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def stage_metadata(program: Iterable[tuple[Stage, int]]) -> list[StageMetadata]:
    """What there is to say of the stages of a program; repeated ones are numbered."""
    seen: dict[str, int] = {}
    made = []
    for stage, _ in program:
        times = seen[stage.name] = seen.get(stage.name, 0) + 1
        name = stage.name if times == 1 else f"{stage.name}_{times}"
        domain, *flow = _NOTES[stage]
        reads, writes = (tuple(filter(None, text.split(", "))) for text in flow)
        made.append(StageMetadata(name, domain, reads, writes, stage.doc.split("\n")[0].strip()))
    return made
