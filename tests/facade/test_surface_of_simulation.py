# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The public face of `worldline.simulation`: names, documentation, types and the capability matrix."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import shutil
import subprocess
import sys
from enum import Enum
from pathlib import Path

import pytest

import worldline
from facade import (
    typed_batch,
    typed_bulk,
    typed_connections,
    typed_functions,
    typed_members,
    typed_surface,
    typed_use,
    typed_values,
)
from facade.scenes import rich
from worldline import simulation as sx
from worldline._src.errors import CapabilityError
from worldline._src.facade import capabilities as matrix

PUBLIC = {name: getattr(sx, name) for name in sx.__all__ if not inspect.ismodule(getattr(sx, name))}
CLASSES = {name: item for name, item in PUBLIC.items() if inspect.isclass(item) and item is not sx.float64}


def members():
    for name, item in CLASSES.items():
        for member in vars(item):
            if not member.startswith("_"):
                yield name, member, item


def test_the_module_lists_what_it_has():
    assert sx.__all__ == sorted(sx.__all__)
    loaded = {n for n, value in vars(sx).items() if not n.startswith("_") and not inspect.ismodule(value)}
    assert loaded == set(PUBLIC)


def test_promoted_symbols_are_there():
    promoted = """World RigidBody RigidBodyOptions Multibody Link Joint JointType JointSpec WorldSyncStage LoopClosure
    LoopClosureFamily LoopClosureSpec LoopClosureResidual LoopClosureResidualCoordinates LoopClosureRuntimePolicy
    ClosureKinematicsPolicy ClosureDynamicsPolicy Frame FreeFrame FixedFrame ReadOptions SkeletonLoadOptions
    add_skeleton add_world WorldOptions MultibodyOptions UpdatePolicy"""
    assert set(promoted.split()) <= PUBLIC.keys()


def test_names_are_snake_case_and_enumerations_upper_case():
    for owner, member, item in members():
        if issubclass(item, Enum) and member in item.__members__:
            assert re.fullmatch(r"[A-Z][A-Z0-9_]*", member), f"{owner}.{member}"
        else:
            assert re.fullmatch(r"[a-z][a-z0-9_]*", member), f"{owner}.{member}"


def test_data_has_no_getters_and_setters():
    # lookups by name, Jacobians of a link, both limits at once and a plane with its law are operations, not data
    lookups = r"get_(node|stage|multibody|rigid_body|loop_closure|frame|joint|link|rigid_body_names|variable|variable_index|state|control|replay_\w+|last_contact_forces)|get_\w*(jacobian|center_of_mass)\w*"
    lookups += r"|get_(support_polygon|zero_moment_point|balance_margin|step_derivatives|equality_force)|[gs]et_rigid_body_distance_spring_parameters"
    allowed = re.compile(
        rf"{lookups}|set_((position|velocity|effort)_limits|state|control|collision_shape|collision_pair_ignored"
        "|ground_contact|equality_active)"
    )
    for owner, member, _ in members():
        # named as the array layer names them, see `worldline.model.ArticulationView`
        if member.startswith(("get_", "set_")) and owner != "FlatArticulationView":
            assert allowed.fullmatch(member), f"{owner}.{member}"


@pytest.mark.parametrize(
    "word",
    ["entity", "registry", "component", "dirty", "arena", "kernel", "numba", "backend", "mujoco", "dart"],
)
def test_nothing_inside_shows_in_public_names(word):
    names = [*PUBLIC, *(member for _, member, _ in members())]
    assert not [name for name in names if word in name.lower()]


def test_everything_public_is_documented():
    for name, item in PUBLIC.items():
        if item is not sx.float64:
            assert (inspect.getdoc(item) or "").strip(), name
    for owner, member, item in members():
        value = vars(item)[member]
        if inspect.isfunction(value) or isinstance(value, (property, staticmethod, classmethod)):
            assert (inspect.getdoc(getattr(item, member)) or "").strip(), f"{owner}.{member}"


def test_every_handle_has_a_repr():
    world = sx.World()
    robot = rich(world)
    for handle in (
        world,
        robot,
        robot.links[0],
        robot.joints[0],
        robot.dofs[0],
        world.rigid_bodies[0],
        robot.links,
    ):
        assert "object at" not in repr(handle)


# ---- types


PARTS = (
    typed_batch,
    typed_use,
    typed_members,
    typed_connections,
    typed_values,
    typed_surface,
    typed_bulk,
    typed_functions,
)
TYPED = tuple(Path(part.__file__) for part in PARTS)


def test_typed_use_names_everything_public():
    text = "".join(path.read_text() for path in TYPED)
    assert not [name for name in PUBLIC if not re.search(rf"\bsx\.{name}\b", text)]


def test_typed_use_has_every_public_method_and_property():
    used = set(re.findall(r"\.(\w+)", "".join(path.read_text() for path in TYPED)))
    missing = []
    for name, item in CLASSES.items():
        own = [part for part in item.__mro__ if part.__module__.startswith("worldline")]
        known = {member for part in own for member in vars(part) if not member.startswith("_")}
        # members of enumerations are values, and need no example each
        missing += [] if issubclass(item, Enum) else [f"{name}.{m}" for m in sorted(known - used)]
    assert not missing


def test_typed_use_runs(tmp_path):
    assert "multibody arm" in typed_use.run(tmp_path)
    assert typed_members.run(tmp_path) > 0
    assert typed_connections.run() == 1
    assert typed_values.run() > 0 and typed_surface.run() > 0
    assert typed_bulk.run() > 0
    assert typed_functions.run() == 4
    assert typed_batch.run(tmp_path) > 0
    world = sx.World()
    assert asyncio.run(typed_members.wait_for(world)) == 1 and world.frame == 3


def test_typed_use_passes_a_strict_type_checker(tmp_path):
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    for path in TYPED:
        shutil.copy(path, tmp_path / path.name)
    source = Path(worldline.__file__).parent.parent
    settings = {
        "include": [path.name for path in TYPED],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(source)],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [pyright, "-p", str(tmp_path), "--pythonpath", sys.executable],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]


# ---- capabilities


def test_the_matrix_has_the_seven_rows():
    assert tuple(row.row for row in sx.capabilities()) == matrix.ROWS and len(matrix.ROWS) == 7
    for row in sx.capabilities():
        assert not set(row.available) & set(row.unavailable)


def test_the_page_is_current():
    page = Path(worldline.__file__).parents[2] / "docs" / "capabilities.md"
    if not page.parent.exists():
        pytest.skip("the documentation is not beside the package")
    assert page.read_text() == matrix.markdown(), (
        "run: worldline capabilities --markdown -o docs/capabilities.md"
    )


REQUESTS = {
    "barrier": ("constraint solve", lambda w, r: setattr(w, "rigid_body_solver", sx.RigidBodySolver.IPC)),
}


@pytest.mark.parametrize("what", REQUESTS)
@pytest.mark.parametrize("simulating", [False, True])
def test_unmet_requests_name_their_row_before_the_first_step(what, simulating):
    row, ask = REQUESTS[what]
    world = sx.World()
    robot = rich(world)
    if simulating:
        world.step()
    ask(world, robot)
    frame = world.frame
    with pytest.raises(CapabilityError, match=row):
        world.step()
    assert world.frame == frame and world.is_simulation_mode is simulating


def test_gradient_modes_say_what_they_are():
    reasons = set()
    for mode in sx.ContactGradientMode:
        world = sx.World(differentiable=True, contact_gradient_mode=mode)
        row = {row.option: row for row in world.resolved_configuration}["contact_gradient_mode"]
        assert row.requested == row.resolved == mode.value
        reasons.add(row.reason)
    assert len(reasons) == len(sx.ContactGradientMode)


def test_resolved_configuration_says_what_runs_and_why():
    world = sx.World(compute_accelerator_policy=sx.ComputeAcceleratorPolicy.PREFER_ACCELERATED)
    rows = {row.option: row for row in world.resolved_configuration}
    accelerator = rows["compute_accelerator_policy"]
    assert (accelerator.requested, accelerator.resolved) == (
        "prefer-accelerated",
        "cpu-only",
    ) and accelerator.reason
    assert rows["multibody_options.integration_family"].resolved == "semi-implicit"
    assert {row.row for row in rows.values()} <= set(matrix.ROWS)


def test_dumps_hold_everything():
    world = sx.World()
    robot = rich(world)
    data = json.loads(sx.dump_scene_json(world))
    assert set(data) == {"schema", "world", "bodies", "joints", "flat_index"}
    assert [j["name"] for j in data["joints"]] == robot.joints.names
    text = sx.dump_scene_text(world)
    for name in ("box", "static rigid body ground", "kinematic rigid body belt", "hand", "tool", "rod"):
        assert name in text
