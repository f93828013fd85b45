# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The step benchmarks of this tree beside those of another revision, in turns: what a change costs.

    python -m benchmarks.against main~5
    python -m benchmarks.against --native
    python -m benchmarks.against --native --scenes humanoid stack --rounds 40

A process for each tree steps the same scenes from the same start, in turns, so that both meet the same
disturbances. A turn is processor time, which counts the work of the process alone. The ratio is time now over
time then, of the best and of the median turn; above 1 is slower. The other revision is checked out beside
this tree for the time of the run. Ends with status 1 when a scene is slower by more than three percent, by
the best and by the median. `--scenes` selects the scenes whose names contain one of the texts.

`--native` compares machine code for the level of this processor, which wheels carry, with code compiled for
this very processor: what it costs to have one wheel for all. Kernels of the scenes are compiled for the
processor first, which takes minutes; they stay in the compile cache.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALLOWED = 1.03
ARM = "arm of seven joints, nothing else"
BATCH = "64 quadrupeds in lanes"


def jobs(chosen: Sequence[str]) -> dict[str, Callable[[], float]]:
    """Seconds of a turn by scene; kept to calls that older revisions have too.

    `chosen` are parts of the names of scenes; without any, all scenes are built.
    """
    from benchmarks import contact_scenes, lanes
    from worldline import msd
    from worldline import simulation as sx
    from worldline.model import LaneSimulation

    found: dict[str, Callable[[], float]] = {}

    def wanted(name: str) -> bool:
        return not chosen or any(part in name for part in chosen)

    def add(name: str, again: Callable[[], object], steps: Callable[[], object]) -> None:
        def turn() -> float:
            again()
            start = time.process_time()
            steps()
            return time.process_time() - start

        found[name] = turn

    for name, text, _, method, _, count in contact_scenes.scenes():
        if not wanted(name):
            continue
        world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
        world.contact_solver_method = method
        world.enter_simulation_mode()
        add(name, world.reset, lambda world=world, count=count: world.step(n=count))

    if wanted(ARM):
        arm = sx.World(time_step=0.001)
        robot = arm.add_multibody("arm")
        link = robot.add_link("base")
        for k in range(7):
            link = robot.add_link(
                f"l{k}",
                parent=link,
                joint=sx.JointSpec(f"j{k}", axis=(0, k % 2, 1 - k % 2)),
                mass=1.0,
                inertia=(0.01, 0.01, 0.01),
                center_of_mass=(0.1, 0.0, 0.1),
            )
        arm.enter_simulation_mode()
        add(ARM, arm.reset, lambda: arm.step(n=20_000))

    if wanted(BATCH):
        quadruped = msd.build(msd.from_str(lanes.QUADRUPED, format="mjcf"))
        worlds = LaneSimulation(quadruped, 64)
        q, v = worlds.q.copy(), worlds.v.copy()

        def again() -> None:
            worlds.q[:], worlds.v[:] = q, v

        add(BATCH, again, lambda: worlds.step(100))
    return found


def work(chosen: Sequence[str]) -> None:
    """Answer each name on standard input with the seconds of a turn."""
    known = jobs(chosen)
    for turn in known.values():
        turn()  # what is still to be compiled is compiled now
    print(*known, sep="\t", flush=True)
    for line in sys.stdin:
        print(known[line.strip()](), flush=True)


class Tree:
    """A process that steps scenes with the sources of one tree."""

    def __init__(self, sources: Path, chosen: Sequence[str], **environment: str) -> None:
        path = os.pathsep.join([str(sources), str(ROOT)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.against", "--work", "--scenes", *chosen],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "WORLDLINE_QUIET": "1", **environment},
        )
        self.names = self._line().split("\t")

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of a tree ended with status {self._process.wait()}")
        return line.rstrip("\n")

    def turn(self, name: str) -> float:
        assert self._process.stdin is not None
        print(name, file=self._process.stdin, flush=True)
        return float(self._line())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(now: Tree, then: Tree, rounds: int) -> bool:
    """Print the table; whether no scene is slower than allowed."""
    from rich.console import Console
    from rich.table import Table

    fast, table = True, Table("scene", "best, now / then", "median, now / then", "now [ms]")
    for name in [name for name in now.names if name in then.names]:
        pairs = [(now.turn(name), then.turn(name)) for _ in range(rounds)]
        ours, theirs = zip(*pairs, strict=True)
        best, median = min(ours) / min(theirs), statistics.median(a / b for a, b in pairs)
        fast = fast and min(best, median) <= ALLOWED
        table.add_row(name, f"{best:.3f}", f"{median:.3f}", f"{1e3 * min(ours):.2f}")
    Console(width=110).print(table)
    now.close()
    then.close()
    return fast


def compare_revision(revision: str, rounds: int, chosen: Sequence[str]) -> bool:
    """This tree beside a revision of it."""
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "tree"
        command = ["git", "worktree", "add", "--quiet", "--detach", str(other), revision]
        subprocess.run(command, cwd=ROOT, check=True)
        try:
            return compare(Tree(ROOT / "src", chosen), Tree(other / "src", chosen), rounds)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", other], cwd=ROOT, check=True)


def compare_native(rounds: int, chosen: Sequence[str]) -> bool:
    """Code for the level of this processor beside code for the processor itself."""
    from llvmlite import binding

    features = binding.get_host_cpu_features().flatten()
    here = {"NUMBA_CPU_NAME": binding.get_host_cpu_name(), "NUMBA_CPU_FEATURES": features}
    return compare(Tree(ROOT / "src", chosen), Tree(ROOT / "src", chosen, **here), rounds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("revision", nargs="?", help="of git, such as main~5")
    which.add_argument("--native", action="store_true", help="against code for this very processor")
    which.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--scenes", nargs="*", default=[], help="parts of names; all scenes by default")
    given = parser.parse_args()
    if given.work:
        work(given.scenes)
    elif given.native:
        raise SystemExit(not compare_native(given.rounds, given.scenes))
    else:
        raise SystemExit(not compare_revision(given.revision, given.rounds, given.scenes))


if __name__ == "__main__":
    main()
