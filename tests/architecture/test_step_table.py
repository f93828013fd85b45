# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The table of the step: it is sound, it is the only place that orders stages, and pages show it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import step_pages

from worldline._src.jit import Stage
from worldline._src.step import derivative_table, step_table
from worldline._src.step.derivative_table import DERIVED, INSTEAD, Form, Part, calls_of, selection
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import (
    TABLE,
    Phase,
    called_stages,
    forward_stages,
    in_line,
    sensor_stages,
)

STEP = Path(step_table.__file__).parent
INPUTS = {"q", "v", "a", "commands", "controls", "activations", "forces on bodies", "kept forces", "sleep"}
"""What a step finds: state, inputs, and what the last step left."""
LANES = ("fixed", "drives", "rows", "shapes", "friction", "limits", "speed_limits", "actuators", "implicit")
ALL = StepPlan(*[True] * len(StepPlan._fields))


def words(text):
    return set(filter(None, text.split(", ")))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.stage.name)
def test_conditions_are_over_the_plan(row):
    known = {*StepPlan._fields, "first", "second", "third", "last"}
    for clause in filter(None, row.when.split(" and ")):
        for word in clause.split(" or "):
            assert word.removeprefix("not ") in known
    domains = {"kinematics", "forces", "dynamics", "collision", "constraints", "integration", "sensors"}
    assert row.domain in domains


@pytest.mark.parametrize(
    "plan",
    [
        ALL._replace(fixed=False, runge_kutta=False, variational=False, adhesion=False),
        ALL._replace(fixed=False, runge_kutta=False, variational=False, adhesion=True),
        ALL._replace(fixed=False, runge_kutta=True, variational=False, split=False),
        StepPlan(**dict.fromkeys(LANES, True)),
        StepPlan(variational=True, prescribed=True),
        ALL._replace(fixed=False, runge_kutta=False),
        StepPlan(),
    ],
    ids=["one world", "adhesion", "runge-kutta", "lanes", "variational", "variational, all", "bare"],
)
def test_whatever_is_read_was_written_before(plan):
    """What no stage of a plan writes is constant, such as transmissions of motors on joints."""
    rows, made = in_line(plan), set(INPUTS)
    written = set().union(*(words(row.writes) for row in rows))
    for row in rows:
        assert words(row.reads) & written <= made, row.stage.name
        made |= words(row.writes)


def test_forces_half_way_are_evaluated_before_every_solution_of_the_variational_equations():
    for plan, passes in ((StepPlan(tendons=True), 4), (StepPlan(actuators=True, closed_loops=True), 10)):
        names = [row.stage.name for row in in_line(plan._replace(variational=True))]
        solved = [k for k, name in enumerate(names) if name == "variational_solve"]
        assert len(solved) == passes and all(names[k - 1] == "keep_middle_forces" for k in solved)
        force = "tendon_forces" if plan.tendons else "actuator_forces"
        assert names.count(force) == names.count("variational_middle") == passes
    names = [row.stage.name for row in in_line(StepPlan(variational=True, drives=True, closed_loops=True))]
    assert names.count("variational_solve") == 7 and "variational_middle" not in names


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("dynamics", [False, True])
def test_sensors_read_what_an_evaluation_wrote(fixed, dynamics):
    only = () if dynamics else ("accelerations", "forces", "efforts", "limits", "touch", "contacts")
    plan = ALL._replace(fixed=fixed, runge_kutta=False, variational=False, read_dynamics=dynamics)
    plan = plan._replace(**{f"read_{name}": False for name in only})
    stages = [stage.name for stage, _ in sensor_stages(plan)]
    assert ("solve_islands" in stages) == (dynamics and not fixed) and "semi_implicit_euler" not in stages
    assert stages.count("positions") == 1 and stages[-1] == "clip_readings"
    rows = [row for row in TABLE if row.phase is Phase.SENSORS and row.stage.name in stages]
    written = set().union(*(words(row.writes) for row in rows))
    made = {"link poses", "link velocities", "constraint forces", *INPUTS}
    for row in rows:
        assert words(row.reads) & written <= made, row.stage.name
        made |= words(row.writes)


def test_an_evaluation_of_the_present_has_no_integration():
    full = ALL._replace(fixed=False, variational=False)
    stages = [stage.name for stage, _ in forward_stages(full)]
    assert "accelerations" in stages and "solve_islands" in stages
    assert not {"semi_implicit_euler", "semi_implicit_turn", "runge_kutta_first", "damp_implicitly"} & {
        *stages
    }
    assert stages.count("accelerations") == 1


def test_stages_of_an_island_are_called_and_not_run_in_line():
    plan = ALL._replace(fixed=False, runge_kutta=False, variational=False)
    line = [row.stage.name for row in in_line(plan)]
    called = [row.stage.name for row in called_stages(plan)]
    assert {"contact_rows", "limit_rows", "solve_rows", "mass_of_island"} - {"mass_of_island"} <= {*called}
    assert not {"contact_rows", "solve_rows"} & {*line}
    lanes = plan._replace(fixed=True)
    assert called_stages(lanes) == []
    assert "contact_rows" in [row.stage.name for row in in_line(lanes)]


def test_links_are_given_once_for_any_plan():
    for implicit in (False, True):
        plan = ALL._replace(fixed=False, variational=False, implicit=implicit)
        links = [row.link for row in called_stages(plan) if row.link is not None]
        assert len(links) == len(set(links))


def test_nothing_else_orders_the_stages_of_a_step():
    """No other module lists two or more stages that solve constraints or integrate."""
    allowed = {"step_table.py", "constraints.py"}
    names = {row.stage.name for row in TABLE if row.domain in ("constraints", "integration")}
    for path in sorted(STEP.glob("*.py")):
        if path.name in allowed:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.List, ast.Tuple)):
                found = [e.attr if isinstance(e, ast.Attribute) else getattr(e, "id", "") for e in node.elts]
                assert len([name for name in found if name in names]) < 2, f"{path.name}:{node.lineno}"


DERIVATIVES = (
    "analytic_step.py",
    "column_step.py",
    "dual_step.py",
    "parameter_step.py",
    "step_derivatives.py",
)
"""Modules that run the stages of a step for derivatives."""


@pytest.mark.parametrize("form", Form)
def test_derivatives_run_the_stages_of_a_step_in_its_order(form):
    """They leave stages out and put others in their place, one by one; none moves."""
    for plan in (ALL._replace(fixed=False, variational=False), StepPlan(drives=True, passive=True)):
        schedule = step_table.stages_of(plan)
        chosen = selection(schedule, form)
        of_step = [pair for pair in schedule if pair[1] not in (step_table.LOG, step_table.USER)]
        assert [(one.stage, one.arenas) for one in chosen] == of_step
        for one in chosen:
            if one.stage.name not in DERIVED:
                assert one.calls == (() if form is Form.LOCAL else ((one.stage, one.arenas),))
            assert form is not Form.DUALS or not one.behind
            assert form is not Form.LOCAL or (one.part in (Part.REFUSED, Part.REPEATED)) <= (not one.calls)
    once = [stage for one in chosen for stage, _ in one.calls]
    solved = once.count(derivative_table.inverse.linearize_accelerations)
    assert solved == (form is Form.INVERSE)


def test_stages_that_derivatives_put_in_the_place_of_others_are_known():
    """Entries are for stages of the step; what they run is a stage of the step or of derivatives."""
    names = {row.stage.name for row in TABLE}
    assert DERIVED.keys() <= names
    homes = ("derivative_stages", "analytic_stages", "analytic_row_stages", "analytic_turn_stages")
    for row in TABLE:
        for form in Form:
            for stage, _ in calls_of(row.stage, row.arenas, form):
                chosen = INSTEAD.get(stage, stage)
                home = chosen.function.__module__.rpartition(".")[2]
                assert chosen.name in names | {"damp_fixed"} or home in homes, (row.stage, chosen)


def test_modules_of_derivatives_choose_no_stage_themselves():
    """Machine code of stages is that of selections: no address is taken of a stage by its name."""
    for name in DERIVATIVES:
        for node in ast.walk(ast.parse((STEP / name).read_text())):
            if not isinstance(node, ast.Call):
                continue
            function = ast.unparse(node.func)
            taken = ast.unparse(node.args[0]) if function.endswith("dual_address") and node.args else function
            if function.endswith((".address", "dual_address")):
                stage = taken.removesuffix(".address").rpartition(".")[2]
                assert stage not in Stage.registry, f"{name}:{node.lineno} {stage}"


def test_every_stage_of_the_table_is_registered():
    for row in TABLE:
        assert Stage.registry[row.stage.name] is row.stage
    assert {row.phase for row in TABLE} == set(Phase)


@pytest.mark.parametrize("page", step_pages.PAGES, ids=lambda page: page.name)
def test_pages_show_the_table_as_it_is(page):
    assert step_pages.written_anew(page) == page.read_text("utf-8"), "run: make tables"
