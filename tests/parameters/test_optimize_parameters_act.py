# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of costs, trajectory optimisation, rollouts as functions and identification acts."""

from __future__ import annotations

import numpy as np
import pytest
from effects import Effect, Refused, arguments, check, complete_for_all, rows

from worldline import WorldlineError
from worldline import optimize as wo
from worldline import simulation as sx

STEPS = 6
PUSH = np.array([2.0, 0.3])


def cart(mass=2.0):
    """Two slides above each other, pushed along x."""
    world = sx.World(time_step=0.05, gravity=(0, 0, 0), differentiable=True)
    robot = world.add_multibody("cart")
    spec = sx.JointSpec(name="low", type=sx.JointType.PRISMATIC, axis=(1, 0, 0), damping_coefficient=0.5)
    low = robot.add_link("lower", joint=spec, mass=mass)
    robot.add_link(
        "upper", low, sx.JointSpec(name="high", type=sx.JointType.PRISMATIC, axis=(1, 0, 0)), mass=1.0
    )
    robot.joints["low"].position = [1.0]
    return world


def one_control():
    world = cart()
    names = [f"{v.name}[{k}]" for v in world.control_space().variables for k in range(v.dimension)]
    return [names[0]]


def cost(**given):
    return wo.TrackingCost(**({"target": np.zeros(4), "state": 1.0, "control": 0.1, "final": 5.0} | given))


def shown(result):
    first = round(result.history[0].cost, 9) if result.history else None
    return repr([np.round(result.actions, 8).tolist(), round(result.cost, 9), len(result.history), first])


def solved(function, **given):
    """The result of an optimisation, and how often it said where it was."""
    count = len(given["controls"]) if given.get("controls") else 2
    base = {"world": cart(), "actions": np.zeros((STEPS, count)), "cost": cost()}
    if function is wo.multiple_shooting:
        base["states"] = np.tile(cart().state_vector, (STEPS + 1, 1))
    said: list[wo.Iteration] = []
    given["progress"] = said.append if given.get("progress") else False
    return shown(function(**(base | given))) + str(len(said))


def of(run, base=None, **fields):
    """A table: a call with one field more than the base."""
    return {
        name: value
        if isinstance(value, (Effect, Refused))
        else Effect(
            lambda: dict(base or {}),
            lambda given, name=name, value=value: given.update({name: value}),
            lambda given: run(**given),
        )
        for name, value in fields.items()
    }


def common(function):
    return of(
        lambda **given: solved(function, **given),
        world=cart(5.0),
        actions=np.zeros((STEPS + 1, 2)) if function is wo.ilqr else np.ones((STEPS, 2)),
        cost=cost(control=3.0),
        controls=one_control(),
        steps_per_action=2,
        lower=-0.1,
        upper=0.1,
        iterations=Effect(
            lambda: {"lower": -0.1, "iterations": 20},
            lambda given: given.update(iterations=1),
            lambda given: solved(function, **given),
        ),
        tolerance=Effect(
            lambda: {"lower": -0.1},
            lambda given: given.update(tolerance=10.0),
            lambda given: solved(function, **given),
        ),
        progress=True,
    )


COST = of(
    lambda **given: solved(wo.ilqr, cost=cost(**given)),
    target=np.full(4, 0.5),
    state=3.0,
    control=2.0,
    final=50.0,
    action=[1.0, 2.0],
)
ILQR = common(wo.ilqr)
SHOOTING = common(wo.multiple_shooting) | of(
    lambda **given: solved(wo.multiple_shooting, **given),
    # a linear system is solved from every guess in one iteration; a guess that is good enough is kept
    actions=Effect(
        lambda: {"tolerance": 1e9},
        lambda given: given.update(actions=np.ones((STEPS, 2))),
        lambda given: solved(wo.multiple_shooting, **given),
    ),
    states=Refused(lambda: solved(wo.multiple_shooting, states=np.zeros((2, 4))), "states"),
)


def planned(**given):
    """The first plan of a receding horizon."""
    return wo.RecedingHorizon(**given).plan(cart().state_vector)


HORIZON = common(planned) | of(lambda **given: solved(planned, **given), actions=np.zeros((STEPS + 1, 2)))


def rolled(**given):
    function = wo.RolloutFunction(**({"world": cart()} | given))
    count = 1 if given.get("controls") else 2
    return np.round(function(cart().state_vector, np.tile(PUSH[:count], (STEPS, 1))), 9).tolist()


def shot(**given):
    given = {"world": cart(), "steps": STEPS, "cost": cost()} | given
    function = wo.ShootingFunction(**given)
    count = 1 if given.get("controls") else 2
    return round(function.value(np.tile(PUSH[:count], given["steps"])), 9)


ROLLOUT = of(rolled, world=cart(5.0), controls=one_control(), steps_per_action=2)
FUNCTION = of(
    shot, world=cart(5.0), steps=4, cost=cost(control=3.0), controls=one_control(), steps_per_action=2
)

# ---- identification


def measured(seed=0):
    world = cart()
    space = world.control_space()
    size = sum(v.dimension for v in space.variables)
    controls = np.zeros((STEPS, size))
    controls[:, 0] = 2.0
    states = [world.state_vector.copy()]
    for row in controls:
        world.control_vector = row
        world.step()
        states.append(world.state_vector.copy())
    return np.array(states) + 1e-3 * np.random.default_rng(seed).normal(size=(STEPS + 1, 4)), controls


def guessed(mass=1.0):
    world = cart(mass)
    world.add_differentiable_parameter(world.multibodies["cart"].links["lower"], sx.PhysicalParameter.MASS)
    return world


def identified(**given):
    states, controls = measured()
    said: list[wo.Iteration] = []
    given["progress"] = said.append if given.get("progress") else False
    found = wo.identify(**({"world": guessed(), "states": states, "controls": controls} | given))
    numbers = [*found.values, *found.start, found.cost]
    return repr([np.round(numbers, 9).tolist(), len(found.history), len(said)])


IDENTIFY = of(
    identified,
    world=guessed(3.0),
    states=measured(1)[0],
    controls=2.0 * measured()[1],
    deviations=0.1,
    window=3,
    iterations=1,
    tolerance=0.9,
    progress=True,
)
TABLES = {
    "TrackingCost": COST,
    "ilqr": ILQR,
    "multiple_shooting": SHOOTING,
    "RecedingHorizon": HORIZON,
    "RolloutFunction": ROLLOUT,
    "ShootingFunction": FUNCTION,
    "identify": IDENTIFY,
}
BRIDGES = {"jax_rollout", "torch_rollout"}
"""Thin functions over RolloutFunction, with its parameters."""
RESULTS = {"Cost", "Expansion", "FunctionGradient", "IdentificationResult", "Iteration", "TrajectoryResult"}


@rows(**TABLES)
def test_parameters_of_optimisation_act(entry):
    check(entry)


def test_tables_of_optimisation_are_complete():
    complete_for_all(TABLES, wo)
    for name in BRIDGES:
        assert arguments(getattr(wo, name)) == arguments(wo.RolloutFunction)
    assert set(wo.__all__) == TABLES.keys() | BRIDGES | RESULTS


HOSTILE = (10**400, 1 + 2j, np.ma.array([1.0, 2.0], mask=[0, 1]), "abc", object(), [[1, 2], [3]])


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_refused_when_it_is_given(value):
    states, controls = measured()
    calls = [
        lambda: wo.TrackingCost(value),
        lambda: wo.TrackingCost([0.0, 0.0], state=value),
        lambda: wo.TrackingCost([0.0, 0.0], control={"u": value}),
        lambda: wo.TrackingCost([0.0, 0.0], action=value),
        lambda: wo.RolloutFunction(guessed())(value, controls),
        lambda: wo.RolloutFunction(guessed())(states[0], value),
        lambda: wo.RecedingHorizon(guessed(), np.zeros((3, 2)), cost()).plan(value),
        lambda: wo.identify(guessed(), value, controls),
        lambda: wo.identify(guessed(), states, value),
        lambda: wo.identify(guessed(), states, controls, deviations=value),
    ]
    for call in calls:
        with pytest.raises(WorldlineError):
            call()
