# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Machine code that comes with the package: found by its sources, checked, and enough without the compiler."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import worldline
from worldline._src import kernel_cache, machine_code, processor
from worldline._src.cli.compile_units import scalars, units
from worldline._src.duals.kind import DUAL7, PLAIN
from worldline._src.duals.parameter_kind import DUAL7_OWN
from worldline._src.errors import ArgumentError, MachineCodeError
from worldline._src.jit import DISABLED
from worldline._src.kernel_cache import SOURCES
from worldline._src.scalar import lanes as lanes_module
from worldline._src.step import constraint_stages, fixed_constraints, stages, step_derivatives
from worldline._src.step.derivative_table import PLAIN_LINEAR, Form, calls_of
from worldline._src.step.evaluate import choose_scalar
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import LOG, USER, in_line, rows_of

try:
    from render.needs import WHY_NOT
except pytest.skip.Exception as missing:
    WHY_NOT = str(missing)

ROOT = Path(__file__).parents[1]
PACKAGE = Path(worldline.__file__).parent

pytestmark = [
    pytest.mark.skipif(DISABLED, reason="there is no compiler"),
    pytest.mark.skipif(not processor.levels(), reason="libraries are built for x86-64-v3 and later"),
    pytest.mark.skipif(
        shutil.which("objcopy") is None or shutil.which("cc") is None, reason="nothing links here"
    ),
]

# a robot on its feet, the same robot in many worlds, rays, an LCP, and a picture where one can be made
PROGRAM = """
import json, sys
from pathlib import Path
{before}
import numpy as np
import worldline
from worldline import lcp, model as wm, msd, simulation as sx

scene = msd.from_file(Path(worldline.__file__).parent / "_src/cli/data/walker.xml")
world = sx.World.from_scene(scene)
world.step(n=300)
assert world.compute_step_metrics().active_contact_count > 0
assert world.raycast((0.0, 0.0, 5.0), (0.0, 0.0, -5.0))
numbers = world.multibodies["pelvis"].joints.position.tolist()
robots = sx.WorldBatch(world, 3)
robots.step(20)
numbers += robots.joint_positions.ravel().tolist()

for dtype in ("float64", "float32"):
    batch = wm.LaneSimulation(msd.build(msd.from_str({hopper!r}, format="mjcf")), 5, dtype=dtype)
    batch.step(100)
    numbers += batch.q.ravel().tolist() + batch.v.ravel().tolist()
numbers += lcp.Dantzig().solve(lcp.LcpProblem([[2, 1], [1, 2]], [5, 6])).x.tolist()
{draw}
print(json.dumps([number.hex() for number in numbers]))
{after}
"""
HOPPER = """<mujoco><worldbody>
  <geom type="plane" size="5 5 1"/>
  <body pos="0 0 0.42"><freejoint/><geom type="capsule" size="0.05 0.1"/>
    <body pos="0 0 -0.15"><joint axis="0 1 0" range="-60 60" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0.05 0 -0.2" size="0.03"/></body></body>
</worldbody></mujoco>"""
DRAW = "assert sx.render(world, width=64, height=48).rgb.any()" if WHY_NOT is None else ""
NO_COMPILER = "sys.modules['numba'] = sys.modules['llvmlite'] = None"
ALONE = """
assert not {"numba", "llvmlite"} & {name.split(".")[0] for name, module in sys.modules.items() if module}
from worldline._src import machine_code
assert machine_code.package().level
# nothing was written for a compiler that does not run
import gc
from worldline._src.derived_stages import _DerivedFunction
from worldline._src.helpers import WrittenHelper
written = [one for one in gc.get_objects() if isinstance(one, WrittenHelper | _DerivedFunction)]
assert len(written) > 100 and not any("py_func" in vars(one) for one in written)
"""


def run(code: str, path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a new process, with the package that lies in `path`."""
    env = (
        os.environ
        | {"PYTHONPATH": str(path), "WORLDLINE_QUIET": "", "PYTHONDONTWRITEBYTECODE": "1"}
        | environment
    )
    return subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=path, capture_output=True, text=True, timeout=500
    )


@pytest.fixture(scope="module")
def expected() -> list[str]:
    """What the program computes with code from the compile cache, which has all it needs afterwards."""
    done = run(
        PROGRAM.format(hopper=HOPPER, before="", draw=DRAW, after=""), PACKAGE.parent, WORLDLINE_QUIET="1"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def site(tmp_path_factory, expected) -> Path:
    """A folder with a copy of the package and libraries of everything in the compile cache."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE, folder / "worldline", ignore=shutil.ignore_patterns("__pycache__"))
    out = folder / "worldline" / "_machine_code"
    command = [sys.executable, str(ROOT / "packaging" / "machine_code.py"), str(out), "--from-cache"]
    env = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return folder


def test_packaged_code_is_enough(site, expected, tmp_path):
    cache = tmp_path / "cache"
    code = PROGRAM.format(hopper=HOPPER, before=NO_COMPILER, draw=DRAW, after=ALONE)
    done = run(code, site, WORLDLINE_CACHE_DIR=str(cache))
    assert done.returncode == 0, done.stderr
    # the same bits, not a line, and no file: meshes are kept in the same folder, and this scene has none
    assert json.loads(done.stdout) == expected
    assert done.stderr == ""
    assert not cache.exists()


LOOK = """
from worldline._src.kinds import float64
from worldline._src.jit import Stage
from worldline._src.step import step_table
for name in ("positions", "accelerations"):
    unit = Stage.registry[name].unit(float64)
    print(name, unit.is_ready() and unit.obtain().origin)
"""


@pytest.fixture
def changed(site, tmp_path) -> Path:
    """A copy of the folder that a test may change."""
    shutil.copytree(site, tmp_path / "site")
    return tmp_path / "site"


def origins(path: Path, cache: Path) -> dict[str, str]:
    done = run(LOOK, path, WORLDLINE_CACHE_DIR=str(cache))
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_an_edited_kernel_is_not_taken_from_the_package(changed, tmp_path):
    level = processor.levels()[0]
    everything = {"positions": f"package, {level}", "accelerations": f"package, {level}"}
    assert origins(changed, tmp_path / "cache") == everything
    kernel = changed / "worldline/_src/kernels/aba.py"
    text = kernel.read_text()
    kernel.write_text(text + "\n# edited\n")
    assert origins(changed, tmp_path / "cache") == everything | {"accelerations": "False"}
    kernel.write_text(text)
    assert origins(changed, tmp_path / "cache") == everything
    # a file that everything depends on
    scalar = changed / "worldline/_src/scalar/ops.py"
    scalar.write_text(scalar.read_text() + "\n# edited\n")
    assert set(origins(changed, tmp_path / "cache").values()) == {"False"}


DOCTOR = """
from worldline._src.cli.doctor import _machine_code
print(next(_machine_code()).value)
"""


def test_doctor_tells_what_runs_from_where(changed, tmp_path):
    done = run(DOCTOR, changed, WORLDLINE_CACHE_DIR=str(tmp_path / "cache"))
    assert f"functions for {processor.levels()[0]}, in {changed}" in done.stdout, done.stderr
    assert "not used" not in done.stdout
    kernel = changed / "worldline/_src/kernels/aba.py"
    kernel.write_text(kernel.read_text() + "\n# edited\n")
    done = run(DOCTOR, changed, WORLDLINE_CACHE_DIR=str(tmp_path / "cache"))
    assert "belong to other sources than those here and are not used" in done.stdout, done.stderr
    library = changed / "worldline/_machine_code" / processor.levels()[0] / "float.so"
    library.write_bytes(b"")
    assert run(DOCTOR, changed, WORLDLINE_CACHE_DIR=str(tmp_path / "cache")).stdout.strip() == "damaged"


def test_an_edited_kernel_is_compiled_and_wins(changed, tmp_path):
    kernel = changed / "worldline/_src/collision/run.py"
    kernel.write_text(
        kernel.read_text().replace("poses[k, 0], poses[k, 1]", "7.0 + poses[k, 0], poses[k, 1]")
    )
    code = """
import numpy as np
from worldline._src.collision.run import fill_poses
X = np.zeros((1, 12))
fill_poses(np.array([[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]]), X)
print(X[0, :3].tolist())
"""
    done = run(code, changed, WORLDLINE_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.strip() == "[8.0, 2.0, 3.0]", done.stderr
    assert "compiling poses of collision objects" in done.stderr
    # without a compiler it says what is missing
    done = run(f"import sys; {NO_COMPILER}\n{code}", changed, WORLDLINE_CACHE_DIR=str(tmp_path / "other"))
    assert "MachineCodeError: poses of collision objects has to be compiled" in done.stderr
    assert "pip install 'worldline[compiler]'" in done.stderr


def test_a_damaged_library_is_an_error_that_names_it(changed, tmp_path):
    library = changed / "worldline/_machine_code" / processor.levels()[0] / "float.so"
    content = library.read_bytes()
    for damaged in (content[: len(content) // 2], content[:5000] + b"\x90" + content[5001:], b""):
        library.write_bytes(damaged)
        done = run(LOOK, changed, WORLDLINE_CACHE_DIR=str(tmp_path / "cache"))
        assert done.returncode == 1
        assert f"MachineCodeError: {library} is damaged" in done.stderr
        assert "pip install --force-reinstall" in done.stderr
    library.unlink()
    done = run(LOOK, changed, WORLDLINE_CACHE_DIR=str(tmp_path / "cache"))
    assert f"MachineCodeError: cannot read {library}: No such file" in done.stderr


# ---- the manifest, in this process


def written(folder: Path, **changes) -> machine_code.Package:
    """A package with one function, `positions`, and no library."""
    function = stages.positions.function
    sources = [[SOURCES.label(path), SOURCES.digest(path).hex()] for path in SOURCES.of(function)]
    unit = {"file": "positions.so", "symbol": "positions", "result": "", "set": 0}
    level = {"checksums": {"positions.so": "0"}, "units": {machine_code.unit(function, "float64"): unit}}
    manifest = {
        "format": machine_code.FORMAT,
        "system": machine_code.system(),
        "files": sources,
        "sets": [list(range(len(sources)))],
        "levels": {"x86-64-v3": level},
    }
    write(folder, json.dumps(manifest | changes))
    return machine_code.Package(folder)


def write(folder: Path, manifest: str) -> None:
    """A manifest and its checksum."""
    (folder / "manifest.json").write_text(manifest)
    (folder / "manifest.sha256").write_text(hashlib.sha256(manifest.encode()).hexdigest())


def test_code_is_found_by_its_sources(tmp_path):
    positions, solve = stages.positions.function, constraint_stages.solve_rows.function
    package = written(tmp_path)
    assert package.level == "x86-64-v3"
    assert package.holds(positions, "float64")
    assert not package.holds(positions, "lanes4")
    assert not package.holds(solve, "float64")
    assert not written(tmp_path, format=0).holds(positions, "float64")
    assert not written(tmp_path, system="plan9-z80").holds(positions, "float64")
    assert not machine_code.Package(tmp_path / "nowhere").holds(positions, "float64")
    assert package.count_foreign() == 0
    one_is_gone = [["kernels/nowhere.py", "00"]]
    mixed = written(tmp_path, files=one_is_gone, sets=[[0]])
    assert not mixed.holds(positions, "float64")
    assert mixed.count_foreign() == len(mixed) == 1


def test_a_damaged_manifest_is_an_error_that_names_it(tmp_path):
    write(tmp_path, '{"format": 1')
    with pytest.raises(MachineCodeError, match=r"manifest\.json is damaged"):
        machine_code.Package(tmp_path)
    with pytest.raises(MachineCodeError, match=r"manifest\.json is damaged"):
        written(tmp_path, levels={"x86-64-v3": {}})


def test_a_changed_manifest_is_not_believed(tmp_path):
    """One letter, such as of a symbol, would have another function called."""
    written(tmp_path)
    path = tmp_path / "manifest.json"
    content = path.read_bytes()
    for k in range(0, len(content), 97):
        path.write_bytes(content[:k] + bytes([content[k] ^ 1]) + content[k + 1 :])
        with pytest.raises(MachineCodeError, match=r"manifest\.json is damaged .*pip install"):
            machine_code.Package(tmp_path)
    path.write_bytes(content)
    (tmp_path / "manifest.sha256").unlink()
    with pytest.raises(MachineCodeError, match=r"manifest\.json is damaged .*manifest\.sha256"):
        machine_code.Package(tmp_path)


PROCESSORS = pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("avx avx2 bmi1 bmi2 f16c fma abm movbe", ("x86-64-v3",)),
        ("avx avx2 bmi1 bmi2 f16c fma abm", ()),
        ("avx avx2 bmi1 bmi2 f16c fma abm movbe avx512f", ("x86-64-v3",)),
        ("avx512f avx512bw avx512cd avx512dq avx512vl", ()),
        (
            "avx avx2 bmi1 bmi2 f16c fma abm movbe avx512f avx512bw avx512cd avx512dq avx512vl",
            ("x86-64-v4", "x86-64-v3"),
        ),
    ],
)


@PROCESSORS
def test_levels_of_processors(monkeypatch, flags, expected):
    monkeypatch.setattr(processor, "flags", lambda: frozenset(flags.split()))
    assert processor.levels.__wrapped__() == expected


@PROCESSORS
def test_lanes_that_can_be_chosen_are_in_the_libraries(monkeypatch, flags, expected):
    """Whatever a user asks for by `lanes` and `dtype` must not need the compiler."""
    monkeypatch.setattr(processor, "flags", lambda: frozenset(flags.split()))
    monkeypatch.setattr(lanes_module, "levels", processor.levels.__wrapped__)
    chosen = set()
    for dtype in (np.float64, np.float32):
        for lanes in (None, *range(1, 33)):
            with contextlib.suppress(ArgumentError):
                chosen.add(choose_scalar(lanes, 100, dtype))
    chosen |= {f"{name}own" for name in chosen if name != "float"}
    assert len(chosen) >= 5
    assert chosen <= set(scalars(expected[0] if expected else "x86-64-v3"))


def test_code_is_compiled_for_the_level_of_this_processor_or_the_named_one(monkeypatch):
    from llvmlite import binding

    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.delenv(name, raising=False)
    found = processor.target.__wrapped__
    assert found() == (processor.levels()[0], ""), "the code of wheels"
    with monkeypatch.context() as below:
        below.setattr(processor, "levels", lambda: ())
        assert found().name == binding.get_host_cpu_name() and "sse2" in found().features
    monkeypatch.setenv("NUMBA_CPU_NAME", "x86-64-v3")
    assert found() == ("x86-64-v3", "")
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+avx2")
    assert found() == ("x86-64-v3", "+avx2")


def test_features_are_those_the_compiler_sees():
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    for name in ("avx2", "fma", "avx512f", "avx512vl", "avx512dq"):
        assert (name in processor.flags()) == bool(features.get(name)), name


NAMES = """
from worldline._src.cli.compile_units import units
every = ("float", "lanes4", "lanes8", "single8", "single16", "dual", "dual7", "dual8lanes")
print(*{unit.function.__name__ for scalar in every for unit in units(scalar)})
"""


def test_everything_that_is_compiled_is_a_unit():
    """A function that is missing in the list would be missing in wheels."""
    # in a process of its own: what another test imports is among the units too
    found = set(run(NAMES, PACKAGE.parent).stdout.split())
    for path in sorted((PACKAGE / "_src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                made = {ast.unparse(one).split("(")[0] for one in node.decorator_list}
                assert not made & {"stage", "entry"} or node.name in found, f"{path.name}: {node.name}"


@pytest.mark.parametrize("scalar", ["lanes4", "lanes8own", "single16", "single8own"])
def test_stages_of_lanes_are_units(scalar):
    """Whatever a model has: conditions of the step table in any combination that lanes do not refuse."""
    listed, rng = {unit.function.__name__ for unit in units(scalar)}, np.random.default_rng(0)
    names = (*fixed_constraints.LANE_STAGES, "runge_kutta")
    for _ in range(500):
        chosen = dict(zip(names, rng.random(len(names)) < 0.5, strict=True)) | {"fixed": True}
        needed = {row.stage.function.__name__ for row in in_line(StepPlan(**chosen))}
        assert needed <= listed, chosen


def test_stages_of_derivatives_are_units():
    """Each step of the table that derivatives do not refuse has its stages among the units of dual numbers."""
    listed = {unit.function.__name__ for unit in units("dual7")}
    plain = [unit.function.__name__ for unit in units("dual7") if unit.variant != DUAL7.name]
    assert plain == ["settle_islands", "settle_every_island"] and units("dual7")[-1].variant == PLAIN.name
    flags = [name for name in StepPlan._fields if name not in step_derivatives.REFUSED and name != "fixed"]
    refused = [name for name in StepPlan._fields if name not in flags]
    for off in [None, *flags]:
        # all of them but one, so that what is there in the absence of something is met too
        plan = StepPlan(**{name: name != off for name in flags}, **dict.fromkeys(refused, False))
        for row in rows_of(plan):
            called = row.caller is not None and row.link is not None
            if row.arenas in (LOG, USER) or called:
                continue
            for form in Form:
                pairs = calls_of(row.stage, row.arenas, form)
                in_duals = {stage.name for stage, arenas in pairs if arenas != PLAIN_LINEAR}
                assert in_duals <= listed, (row.stage, form)
    assert listed >= {"differentiate_islands", "relax_islands"}
    by_parameters = {unit.function.__name__ for unit in units("dual7own")}
    assert {unit.variant for unit in units("dual7own")} == {DUAL7_OWN.name}
    assert {name for name in listed - by_parameters if "linear" not in name and "residual" not in name} == {
        "relax_islands",
        "seed_turns",
        "settle_every_island",
        "settle_islands",
    }
    assert not listed & {
        "ground_forces",
        "variational_solve",
        "narrow_surface",
        "solve_rows",
        "solve_islands",
    }


def test_compiled_code_needs_nothing_of_the_compiler(expected, tmp_path):
    """Object code asks for functions of the C library and no others, so it runs without the compiler."""
    wanted = set()
    for scalar in scalars():
        for unit in units(scalar):
            kept = kernel_cache.read(unit.function, unit.variant)
            if kept is not None:
                wanted |= {(name, unit.label) for name in undefined(kept[0], tmp_path / "one.o")}
    assert {name for name, _ in wanted} <= {"pow", "powf", "memset", "memcpy", "memmove"}, sorted(wanted)


def undefined(image: bytes, file: Path) -> set[str]:
    """Symbols that object code does not have itself."""
    file.write_bytes(image)
    done = subprocess.run(["nm", "-u", file], capture_output=True, check=True)
    return {line.split()[-1] for line in done.stdout.decode().splitlines()}
