# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Check wheels as their users meet them: installed into empty environments, away from the repository.

    python packaging/check_wheel.py dist/*.whl --python python3.11 python3.12 python3.13 --extras

A wheel with machine code must need no compiler, compile nothing and write nothing into the cache folder, on
every Python, with every command; `tests/scalar/test_every_program.py` runs on the code of every level of
processors that runs here. A wheel without machine code brings the compiler, and is tried with one step.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from worldline._src.processor import LEVELS, levels

ROOT = Path(__file__).parents[1]
LARGEST = 25e6
"""Bytes that a wheel may have."""

PROGRAM = '''
import sys
from pathlib import Path
import numpy as np
import worldline
from worldline import kinematics as wk, lcp, model as wm, msd, simulation as sx

data = Path(worldline.__file__).parent / "_src/cli/data"
for name in ("walker", "humanoid"):
    world = sx.World.from_scene(msd.from_file(data / f"{name}.xml"))
    while not world.compute_step_metrics().active_contact_count:
        assert world.time < 5.0
        world.step(n=10)
assert world.raycast((0.0, 0.0, 5.0), (0.0, 0.0, -5.0))
# both layouts, on one processor and on all
for layout in ("threads", "auto"):
    for threads in (1, 0):
        batch = sx.WorldBatch(world, 17, layout=layout)
        batch.step(20, threads=threads)
        assert np.isfinite(batch.joint_positions).all()
hand = world.multibodies["pelvis"].links[-1]
goal = wk.PositionTask(hand, np.asarray(hand.translation) + (0.0, 0.05, 0.05))
assert wk.solve_ik(world, goal).success
assert wk.solve_ik_batch(world, goal, np.tile(hand.translation, (9, 1))).success.all()
lcp.Dantzig().solve(lcp.LcpProblem([[2, 1], [1, 2]], [5, 6]))
text = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
  <body name="crate" pos="0 0 .098"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>
</worldbody></mujoco>"""
scene = msd.from_str(text, format="mjcf")
scene.simulate_option.policy.differentiable = True
world = sx.World.from_scene(scene)
world.step(n=100)
assert np.isfinite(world.get_step_derivatives().state_jacobian).all()
if "render" in sys.argv:
    assert sx.render(world, width=64, height=48).rgb.any()
assert not {"numba", "llvmlite"} & {name.split(".")[0] for name in sys.modules}
print("done")
'''

FIRST_CONTACT = """
import time
start = time.perf_counter()
from pathlib import Path
import worldline.simulation
imported = time.perf_counter()
from worldline import msd, simulation as sx
folder = Path(worldline.__file__).parent / "_src/cli/data"
world = sx.World.from_scene(msd.from_file(folder / "humanoid.xml"))
while not world.compute_step_metrics().active_contact_count:
    world.step(n=5)
print(imported - start, time.perf_counter() - start, time.process_time())
"""

WORLD = "from worldline import simulation as sx; world = sx.World(); world.add_rigid_body('box')"
EXTRAS = {
    "viewer": f"{WORLD}\nwith sx.view(world) as viewer: assert viewer.url",
    "render": f"{WORLD}; assert sx.render(world, width=64, height=48).rgb.shape == (48, 64, 3)",
    "learn": "import gymnasium, worldline.envs; "
    "e = gymnasium.make('worldline/Hopper-v0'); e.reset(seed=0); assert e.step(e.action_space.sample())",
    "baselines": "from worldline.envs import StableBaselinesVecEnv as V, VectorWorldEnv; assert V",
    "distributed": "import ray; from worldline.distributed import WorkerPool",
    "plot": "import matplotlib; matplotlib.use('Agg'); "
    f"{WORLD}; world.replay_recording_enabled = True; world.step(n=3); assert world.recording.plot()",
    "mesh": "import coacd, numpy as np; from worldline import msd",
    "coal": "from worldline.collision import CoalDetector; assert CoalDetector()",
    "docs": "import sphinx, furo, myst_parser",
    "bench": "import pinocchio, mujoco, coal",
    "compiler": "import numba; from worldline import kernel",
}
"""What is tried with each extra."""


class Checks:
    """One environment with a wheel in it, and what was found wrong with it."""

    def __init__(self, python: str, wheel: Path, folder: Path) -> None:
        self.folder, self.failed = folder, 0
        self.untested: list[str] = []
        """Extras that could not be installed with this Python."""
        self.as_level: str | None = None
        """The level of processors that this one is to act as; what it is when None."""
        subprocess.run([python, "-m", "venv", folder / "env"], check=True)
        self.python = str(folder / "env/bin/python")
        self.cache = folder / "cache"
        self.pip(str(wheel))

    def pip(self, *what: str) -> None:
        command = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
        subprocess.run(command, check=True)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Python in the environment and in an empty folder, without anything of the repository."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "WORLDLINE", "NUMBA"))}
        empty = self.folder / "empty"
        empty.mkdir(exist_ok=True)
        if self.as_level is not None:
            kept["PYTHONPATH"] = str(self.folder / self.as_level)
            acting = Path(kept["PYTHONPATH"]) / "sitecustomize.py"
            acting.parent.mkdir(exist_ok=True)
            # the features of this level, and with them its number of lanes
            features = " ".join(list(LEVELS.values())[list(LEVELS).index(self.as_level) :]).split()
            acting.write_text(
                f"from worldline._src import processor\nprocessor.flags = lambda: frozenset({features})\n"
            )
        return subprocess.run(
            [self.python, *arguments],
            cwd=empty,
            env=kept | {"WORLDLINE_CACHE_DIR": str(self.cache)} | environment,
            capture_output=True,
            text=True,
        )

    def check(self, what: str, attempt: Callable[[], str]) -> None:
        """Say whether an attempt ends without an AssertionError, and what it returns."""
        try:
            said = attempt()
        except AssertionError as error:
            self.failed += 1
            said = f"FAILED\n{error}"
        print(f"  {what}: {said}", flush=True)

    # ---- what is tried

    def needs_no_compiler(self) -> str:
        done = self.run("-c", "import numba")
        assert "No module named 'numba'" in done.stderr, "the wheel brought the compiler"
        return "not installed"

    def quiet_program(self, *arguments: str) -> str:
        done = self.run("-c", PROGRAM, *arguments)
        assert done.stdout.strip() == "done", done.stderr
        # a slow machine may say that it is loading something
        assert "compiling" not in done.stderr and "Error" not in done.stderr, f"it printed {done.stderr}"
        assert not self.cache.exists(), f"files in the cache: {sorted(self.cache.rglob('*'))}"
        return "no compiler, nothing compiled, no file in the cache"

    def nothing_to_compile(self) -> str:
        done = self.run("-m", "worldline", "doctor", "--json")
        assert done.stdout, done.stderr
        report = json.loads(done.stdout)
        found = {one["what"]: one["value"] for one in report["findings"]}
        assert found["still to compile"] == "nothing", f"still to compile: {found['still to compile']}"
        assert report["good"], [one for one in report["findings"] if not one["good"]]
        return found["machine code"]

    def commands(self) -> str:
        """Commands that need no extra, with arguments that a person would give."""
        robot = self.robot()
        return self.try_commands(
            ["demo", "--seconds", "0.2", "--worlds", "16", "--pieces", "3"],
            ["info", robot],
            ["check", robot, "-d", "0.1"],
            ["run", robot, "-n", "20", "-o", "run.npz"],
            ["rollout", robot, "-w", "8", "-n", "10"],
            ["convert", robot, "walker.json", "--force"],
            ["bench", robot, "-d", "0.01", "--rounds", "1", "--no-peer"],
            ["capabilities"],
            ["schema", "-o", "schema.json"],
            ["warmup"],
            ["doctor"],
            ["view", "--help"],
            ["render", "--help"],
        )

    def commands_of_extras(self) -> str:
        """Commands that need extras."""
        robot = self.robot()
        return self.try_commands(
            ["view", robot, "--no-browser", "--seconds", "1", "--port", "18080"],
            ["render", robot, "-o", "one.png", "--width", "64", "--height", "48"],
            ["render", robot, "-o", "two.mp4", "--width", "64", "--height", "48", "--duration", "0.2"],
        )

    def robot(self) -> str:
        """A robot that comes with the package."""
        data = "import worldline, pathlib; print(pathlib.Path(worldline.__file__).parent / '_src/cli/data')"
        return self.run("-c", data).stdout.strip() + "/walker.xml"

    def try_commands(self, *tries: list[str]) -> str:
        for arguments in tries:
            done = self.run("-m", "worldline", *arguments)
            assert done.returncode == 0, f"worldline {' '.join(arguments)}: {done.stdout}{done.stderr}"
            assert "compiling" not in done.stderr, f"worldline {arguments[0]} compiled: {done.stderr}"
        return f"{len(tries)} end with 0"

    def every_program(self) -> str:
        """The test of every program, on packaged code."""
        tests = self.folder / "tests"
        if not tests.exists():
            shutil.copytree(ROOT / "tests", tests, ignore=shutil.ignore_patterns("__pycache__"))
            (tests / "conftest.py").write_text("import sys; sys.path.insert(0, __file__.rsplit('/', 1)[0])\n")
            self.pip("pytest", "hypothesis")
        command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={tests}"]
        done = self.run(*command, str(tests / "scalar/test_every_program.py"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert not self.cache.exists(), "it compiled"
        return done.stdout.strip().splitlines()[-1]

    def start_up(self) -> str:
        times = []
        for _ in range(15):
            done = self.run("-c", FIRST_CONTACT)
            assert done.returncode == 0, done.stderr
            times.append([float(x) for x in done.stdout.split()])
        best, middle = (
            [choose(column) for column in zip(*times, strict=True)] for choose in (min, statistics.median)
        )
        return (
            f"import {best[0]:.3f} s ({middle[0]:.3f}), first contact step of a humanoid {best[1]:.3f} s "
            f"({middle[1]:.3f}), {best[2]:.3f} s of a processor ({middle[2]:.3f}), "
            f"best and median of {len(times)}"
        )

    def extra(self, name: str, wheel: Path) -> str:
        """One extra: installed, and used for what it is there for."""
        try:
            self.pip("--no-compile", f"{wheel}[{name}]")
        except subprocess.CalledProcessError:
            self.untested.append(name)
            return "COULD NOT BE INSTALLED, not tested"
        done = self.run("-c", EXTRAS[name])
        assert done.returncode == 0, done.stderr
        # a wheel without machine code compiles what a program needs
        assert "compiling" not in done.stderr or not levels_of(wheel), f"it compiled: {done.stderr}"
        return "works"

    def install_before(self, package: str) -> str:
        """Install what extras are to find, such as a build of PyTorch, which may be for another Python."""
        try:
            self.pip("--no-compile", package)
        except subprocess.CalledProcessError:
            return "not for this Python, extras install what they need"
        return "installed"

    def one_step(self) -> str:
        """For a wheel without machine code: the compiler is there and makes what one step needs."""
        code = "from worldline import simulation as sx; w = sx.World(); w.add_rigid_body('b'); w.step()"
        done = self.run("-c", code)
        assert done.returncode == 0, done.stderr
        assert "compiling" in done.stderr and self.cache.exists()
        return "compiles and steps"


def extras() -> list[str]:
    """All extras that are for users; the compiler comes last, since nothing else may need it."""
    import tomllib

    names = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return sorted(set(names) - {"dev"}, key=lambda name: (name == "compiler", name))


def levels_of(wheel: Path) -> list[str]:
    """Levels that a wheel has machine code for; none for wheels without."""
    with zipfile.ZipFile(wheel) as archive:
        name = "worldline/_machine_code/manifest.json"
        return list(json.loads(archive.read(name))["levels"]) if name in archive.namelist() else []


def check_wheel(wheel: Path, python: str, with_extras: bool, before: Sequence[str]) -> tuple[int, list[str]]:
    """Try a wheel with one Python; how many checks failed, and what could not be tested."""
    there = levels_of(wheel)
    with tempfile.TemporaryDirectory(prefix="worldline-wheel-") as folder:
        one = Checks(python, wheel, Path(folder))
        print(f"{wheel.name} on {one.run('--version').stdout.strip()}", flush=True)
        if there:
            one.check("compiler", one.needs_no_compiler)
            for one.as_level in there:
                if one.as_level not in levels():
                    print(f"  {one.as_level}: this processor is below it, not tested")
                    continue
                one.check(f"contacts, batch, derivatives, {one.as_level}", one.quiet_program)
                one.check(f"doctor, {one.as_level}", one.nothing_to_compile)
                one.check(f"every program, {one.as_level}", one.every_program)
            # as it is, unless the wheel has nothing for it
            one.as_level = None if levels()[0] in there else there[0]
            one.check("commands", one.commands)
            one.check("start-up", one.start_up)
        else:
            one.check("one step", one.one_step)
        if with_extras:
            for package in before:
                one.check(f"before extras, {package}", lambda package=package: one.install_before(package))
            for name in extras():
                one.check(f"extra {name}", lambda name=name: one.extra(name, wheel))
            if there:
                one.check("all of it with a picture", lambda: one.quiet_program("render"))
                one.check("commands of extras", one.commands_of_extras)
        return one.failed, [f"extra {name} on {python}" for name in one.untested]


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters to try")
    parser.add_argument("--extras", action="store_true", help="install all extras too, which downloads much")
    parser.add_argument("--before", nargs="+", default=(), help="what to install before extras")
    options = parser.parse_args(given)
    failed, untested = 0, []
    for wheel in options.wheels:
        size = wheel.stat().st_size
        print(f"{wheel.name}: {size / 1e6:.1f} MB{'' if size < LARGEST else ', TOO LARGE'}")
        failed += size >= LARGEST
        for python in options.python:
            if shutil.which(python) is None:
                print(f"  {python} is not here: not tested")
                untested.append(f"{wheel.name} on {python}")
                continue
            wrong, left = check_wheel(wheel.resolve(), python, options.extras, options.before)
            failed += wrong
            untested += [f"{wheel.name}, {what}" for what in left]
    for what in untested:
        print(f"NOT TESTED: {what}")
    print("all is well" if not failed else f"{failed} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
