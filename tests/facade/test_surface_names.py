# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every name of the object API: present with its parameters and its setter, or listed with what it waits for."""

from __future__ import annotations

import dataclasses
import inspect
import json
from enum import Enum
from pathlib import Path

import pytest

from worldline import simulation as sx

SURFACE = json.loads((Path(__file__).parents[1] / "data" / "simulation_surface.json").read_text())
FUNCTIONS = SURFACE.pop("__functions__")

DEFORMABLES = "deformable bodies"
WAITING_CLASSES = {
    "DeformableObstaclePolicy": DEFORMABLES,
    "DeformableSolverDiagnostics": DEFORMABLES,
    "DeformableMaterialProperties": DEFORMABLES,
    "DeformableEdge": DEFORMABLES,
    "DeformableSurfaceTriangle": DEFORMABLES,
    "DeformableTetrahedron": DEFORMABLES,
    "DeformableDirichletBoundaryCondition": DEFORMABLES,
    "DeformableNeumannBoundaryCondition": DEFORMABLES,
    "DeformableBodyOptions": DEFORMABLES,
    "DeformableSolverOptions": DEFORMABLES,
    "DeformableBody": DEFORMABLES,
    "DeformableSceneLoadOptions": DEFORMABLES,
    "DeformableSceneBodyInfo": DEFORMABLES,
    "DeformableSceneInfo": DEFORMABLES,
    "DeformableSceneDiagnostics": DEFORMABLES,
}
WAITING_FUNCTIONS = {
    "load_deformable_scene": DEFORMABLES,
    "collect_deformable_scene_diagnostics": DEFORMABLES,
    "load_gmsh_tet_mesh": DEFORMABLES,
    "load_obj_triangle_mesh": DEFORMABLES,
    "load_seg_line_mesh": DEFORMABLES,
    "load_point_set": DEFORMABLES,
    "is_accelerated_deformable_solve_available": DEFORMABLES,
    "set_accelerated_deformable_solve": DEFORMABLES,
    "is_accelerated_deformable_solve_enabled": DEFORMABLES,
}
WAITING_MEMBERS = {
    "RigidBody.deformable_obstacle_policy": DEFORMABLES,
    "World.num_deformable_bodies": DEFORMABLES,
    "World.last_deformable_solver_diagnostics": DEFORMABLES,
    "World.add_deformable_body": DEFORMABLES,
    "World.get_deformable_body": DEFORMABLES,
    "World.has_deformable_body": DEFORMABLES,
    "World.configure_deformable_solver": DEFORMABLES,
    "WorldStepStageProfile.accelerated_backend_enabled": "left out: `acceleration` says it in public words",
}
READ_ONLY_BY_DESIGN = {"WorldJoint.position", "WorldJoint.velocity", "WorldJoint.acceleration"}


def parameters(function) -> set[str]:
    """Names that a call accepts, over all overloads."""
    forms = [function, *_overloads(function)]
    return {name for form in forms for name in inspect.signature(form).parameters}


def _overloads(function):
    from typing import get_overloads

    return get_overloads(inspect.unwrap(getattr(function, "__func__", function)))


def has(kind: type, name: str) -> bool:
    fields = {f.name for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    return name in fields or hasattr(kind, name)


def writable(kind: type, name: str) -> bool:
    found = inspect.getattr_static(kind, name)
    return found.fset is not None if isinstance(found, property) else hasattr(type(found), "__set__")


@pytest.mark.parametrize("name", SURFACE)
def test_a_class_has_its_members_or_waits(name):
    if name in WAITING_CLASSES:
        assert not hasattr(sx, name), f"{name} is there: take it off the list"
        return
    kind, listed = getattr(sx, name), SURFACE[name]
    assert name in sx.__all__
    if issubclass(kind, Enum):
        assert set(listed["members"]) <= set(kind.__members__)
    for member, access in listed["properties"].items():
        if f"{name}.{member}" in WAITING_MEMBERS:
            assert not has(kind, member), f"{name}.{member} is there: take it off the list"
            continue
        assert has(kind, member), f"{name}.{member}"
        if access == "rw":
            assert writable(kind, member) or any(writable(sub, member) for sub in kind.__subclasses__())
    for member, forms in {**listed["methods"], **listed["static"]}.items():
        if f"{name}.{member}" in WAITING_MEMBERS:
            assert not has(kind, member), f"{name}.{member} is there: take it off the list"
            continue
        known = parameters(getattr(kind, member))
        for form in forms:
            assert {word for word in form if word != "*"} <= known, f"{name}.{member}{form}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_its_parameters_or_waits(name):
    if name in WAITING_FUNCTIONS:
        assert not hasattr(sx, name), f"{name} is there: take it off the list"
        return
    known = parameters(getattr(sx, name))
    for form in FUNCTIONS[name]:
        assert set(form) <= known, f"{name}{form}"


def test_lists_of_what_waits_name_nothing_else():
    assert WAITING_CLASSES.keys() <= SURFACE.keys() and WAITING_FUNCTIONS.keys() <= FUNCTIONS.keys()
    for entry in WAITING_MEMBERS:
        owner, member = entry.split(".")
        assert member in {**SURFACE[owner]["properties"], **SURFACE[owner]["methods"]}
    assert all(
        subject
        for table in (WAITING_CLASSES, WAITING_FUNCTIONS, WAITING_MEMBERS)
        for subject in table.values()
    )


def test_joints_between_bodies_have_what_joints_have():
    for member, access in {**SURFACE["Joint"]["properties"], **SURFACE["Joint"]["methods"]}.items():
        assert hasattr(sx.WorldJoint, member), member
        if access == "rw" and f"WorldJoint.{member}" not in READ_ONLY_BY_DESIGN:
            assert writable(sx.WorldJoint, member), member
