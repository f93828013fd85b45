# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Modules of the facade import each other one way: at their top, inside of functions, and for types.

Handles know their World by the protocol `WorldRuntime`. Public types that name each other, such as a link, its
joints and their multibody, are families: within one of them imports for types may go both ways.
"""

from __future__ import annotations

import ast
from pathlib import Path

import worldline

FACADE = Path(worldline.__file__).parent / "_src" / "facade"
PREFIX = "worldline._src."


def name_of(path):
    return ".".join(("facade", *path.relative_to(FACADE).with_suffix("").parts))


MODULES = {name_of(path): path for path in FACADE.rglob("*.py") if path.name != "__init__.py"}


HANDLES = set(
    """closure_projection closure_residual collections construction degree_of_freedom end_effector freezing ground_contact joint
    joint_parameters joint_wrench link loop_closure mimic multibody multibody_terms notebook recording recording_plot
    replay_page rigid_body shapes subsets subtrees world_joint""".split()
)
BATCH = set(
    """array_fields checkpoints derivatives fields functions handles lane_worlds layouts noise own_parameters parameters
    selection thread_worlds world_batch""".split()
)
FAMILIES = ({f"facade.{name}" for name in HANDLES}, {f"facade.batch.{name}" for name in BATCH})


def imported(path, types=False):
    """Modules of the facade that a file imports when it is loaded, when a function runs, or also for types."""
    found, left = set(), [ast.parse(path.read_text("utf-8"))]
    while left:
        for node in ast.iter_child_nodes(left.pop()):
            typing = not types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PREFIX}facade"):
                base = node.module.removeprefix(PREFIX)
                found |= {f"{base}.{item.name}" for item in node.names} | {base}
            elif not typing:
                left.append(node)
    return found & MODULES.keys()


def cycle_of(graph):
    """Modules that lead back to themselves, one after the other; empty without a cycle."""
    done, path = set(), []

    def visit(module):
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        path.append(module)
        for other in sorted(graph[module]):
            if cycle := visit(other):
                return cycle
        done.add(path.pop())
        return []

    return next((cycle for module in sorted(graph) if (cycle := visit(module))), [])


def test_the_facade_has_no_cycle():
    assert " -> ".join(cycle_of({name: imported(path) - {name} for name, path in MODULES.items()})) == ""


def test_types_form_no_cycle_beyond_a_family():
    graph = {name: imported(path, types=True) - {name} for name, path in MODULES.items()}
    for family in FAMILIES:
        assert family <= MODULES.keys()
        for name in family:
            graph[name] = graph[name] - family
    assert " -> ".join(cycle_of(graph)) == ""
    # a family is left and entered, but never in a circle
    merged = {}
    for name, others in graph.items():
        merged.setdefault(home_of(name), set()).update(home_of(other) for other in others)
    assert " -> ".join(cycle_of({name: others - {name} for name, others in merged.items()})) == ""


def home_of(name):
    """The first module of the family of a module, or the module itself."""
    return next((min(family) for family in FAMILIES if name in family), name)


def test_handles_do_not_import_world():
    assert (
        sorted(name for name, path in MODULES.items() if "facade.world" in imported(path, types=True))
        == ABOVE
    )


ABOVE = sorted(
    f"facade.{name}"
    for name in "batch.derivatives batch.lane_worlds batch.mixed_batch batch.objects batch.own_parameters batch.parameters batch.rollout batch.template "
    "batch.thread_worlds batch.world_batch differentiable_rollout dump skeletons".split()
)


def test_a_cycle_is_found():
    assert cycle_of({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle_of({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
