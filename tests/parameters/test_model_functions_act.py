# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every argument of the functions of `worldline.model` and of an ArticulationView acts or is refused."""

from __future__ import annotations

import inspect
import re
from functools import cache

import numpy as np
import pytest
from effects import Effect, Refused, arguments, called, check, complete, complete_for_all, rows

from worldline import WorldlineError
from worldline import model as wm
from worldline import simulation as sx


def builder(mass=1.0, robots=1):
    """Floating trunks with two hinges that have springs, dampers and limits."""
    made = wm.ModelBuilder()
    for k in range(robots):
        trunk = made.add_link(
            mass=2.0, com=(0.1, 0, 0), inertia=np.diag([0.2, 0.3, 0.4]), label=f"r{k}/trunk"
        )
        arm = made.add_link(mass=mass, com=(0.2, 0.1, 0), inertia=np.diag([0.1, 0.2, 0.2]), label=f"r{k}/arm")
        hand = made.add_link(
            mass=0.5, com=(0, 0.1, 0.1), inertia=np.diag([0.1, 0.1, 0.1]), label=f"r{k}/hand"
        )
        joints = [
            made.add_joint_free(trunk, label=f"r{k}/root"),
            made.add_joint_revolute(trunk, arm, wm.Axis.Y, damping=0.3, label=f"r{k}/one", limit_upper=1.0),
            made.add_joint_revolute(
                arm, hand, wm.Axis.X, stiffness=2.0, label=f"r{k}/two", parent_xform=(0.4, 0, 0, 0, 0, 0, 1)
            ),
        ]
        made.add_articulation(joints, label=f"robot_{k}")
    return made


@cache
def model(mass=1.0):
    return builder(mass).finalize()


def coordinates(seed):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=9)
    q[3:7] /= np.linalg.norm(q[3:7])
    return q


def dofs(seed):
    return np.random.default_rng(seed).normal(size=8)


def state():
    """A State whose bodies move."""
    made = model().state()
    wm.eval_fk(model(), coordinates(1), dofs(2), made)
    return made


BY_NAME = {
    "model": (model(), model(3.0)),
    "q": (coordinates(1), coordinates(2)),
    "q0": (coordinates(1), coordinates(2)),
    "q1": (coordinates(3), coordinates(4)),
    "joint_q": (coordinates(1), coordinates(2)),
    "qd": (dofs(1), dofs(2)),
    "joint_qd": (dofs(1), dofs(2)),
    "qdd": (dofs(3), dofs(4)),
    "tau": (dofs(5), dofs(6)),
    "rhs": (dofs(5), dofs(6)),
    "impulse": (dofs(5), dofs(6)),
    "displacement": (dofs(5), dofs(6)),
    "wrenches": (..., np.ones((3, 6))),
    "fraction": (0.2, 0.8),
    "link": (1, 2),
    "point": ((0.0, 0.0, 0.0), (0.1, 0.2, 0.3)),
    "axes": ("world", "link"),
    "about": ("com", "origin"),
    "jacobian": (np.eye(2, 8), np.eye(2, 8, 3)),
    "gamma": (..., np.ones(2)),
    "mask": (..., np.array([False])),
    "indices": (..., []),
}
"""Two values of every argument, by its name."""
SPECIAL = {
    "constrained_dynamics": {
        # the same row twice: what the proximal iterations leave depends on them
        "proximal": Effect(
            lambda: {"jacobian": np.eye(1, 8).repeat(2, 0), "max_iterations": 1},
            lambda given: given.update(proximal=1e-2),
            lambda given: of("constrained_dynamics", **given),
        ),
        "max_iterations": Effect(
            lambda: {"jacobian": np.eye(1, 8).repeat(2, 0), "proximal": 1.0},
            lambda given: given.update(max_iterations=1),
            lambda given: of("constrained_dynamics", **given),
        ),
        "tolerance": Effect(
            lambda: {"jacobian": np.eye(1, 8).repeat(2, 0), "proximal": 1.0},
            lambda given: given.update(tolerance=1e3),
            lambda given: of("constrained_dynamics", **given),
        ),
    },
    "zero_moment_point": {
        "height": (0.0, 1.0),
        "up": ((0, 0, 1), (0, 1, 1)),
        "bodies": (..., np.array([True, False, False])),
    },
    "body_regressor": {"velocity": (dofs(1)[:6], dofs(2)[:6]), "acceleration": (dofs(3)[:6], dofs(4)[:6])},
    "balance_margin": {
        "point": ((0.1, 0.7, 0), (0.9, 0.7, 0)),
        "polygon": (
            np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]),
            np.array([[-2.0, -1, 0], [1, -1, 0], [0, 1, 0]]),
        ),
        "up": ((0, 0, 1), (0, 1, 1)),
    },
    "support_polygon": {
        "points": (
            np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
            np.array([[0.0, 0, 0], [2, 0, 0], [0, 1, 0]]),
        ),
        "up": ((0, 0, 1), (1, 0, 0)),
    },
    "random_configuration": {
        "model": (model(), builder(robots=2).finalize()),
        "rng": (1, 2),
        "worlds": (..., 3),
        "within_limits": Effect(
            dict,
            lambda given: given.update(within_limits=False),
            lambda given: wm.random_configuration(model(), 3, worlds=50, **given),
        ),
    },
    "neutral": {"model": (model(), builder(robots=2).finalize())},
    "freeze_joints": {
        "builder": (builder(), builder(3.0)),
        "joints": (["r0/one"], ["r0/two"]),
        "q": (..., coordinates(1)),
    },
    "bind": {
        "function": (wm.mass_matrix, wm.gravity_forces),
        "model": (model(), model(3.0)),
        "out": Effect(
            lambda: {"out": None},
            lambda given: given.update(out=np.zeros((8, 8))),
            lambda given: wm.bind(wm.mass_matrix, model(), coordinates(1), **given)() is given["out"],
        ),
    },
}


def moved(name, **given):
    """What `eval_fk` and `eval_ik` write."""
    made = state()
    if name == "eval_ik":
        made.body_q[:, 0] += 1.0
    q, v = coordinates(1), dofs(1)
    base = {"model": model(), "joint_q": q, "joint_qd": v, "state": made}
    given = base | given
    getattr(wm, name)(**given)
    return np.concatenate(
        [
            np.ravel(x)
            for x in (given["joint_q"], given["joint_qd"], given["state"].body_q, given["state"].body_qd)
        ]
    )


def poses():
    made = state()
    made.body_q[:, 1] += 0.3
    return made


KINEMATICS = {
    name: {
        "model": Effect(dict, lambda g: g.update(model=shifted()), lambda g, name=name: moved(name, **g)),
        "joint_q": Effect(
            dict, lambda g: g.update(joint_q=coordinates(5)), lambda g, name=name: moved(name, **g)
        ),
        "joint_qd": Effect(dict, lambda g: g.update(joint_qd=dofs(9)), lambda g, name=name: moved(name, **g)),
        "state": Effect(dict, lambda g: g.update(state=poses()), lambda g, name=name: moved(name, **g)),
        "mask": Effect(
            dict, lambda g: g.update(mask=np.array([False])), lambda g, name=name: moved(name, **g)
        ),
        "indices": Effect(dict, lambda g: g.update(indices=[]), lambda g, name=name: moved(name, **g)),
        "body_flag_filter": Effect(
            dict,
            lambda g: g.update(body_flag_filter=wm.BodyFlags.KINEMATIC),
            lambda g, name=name: moved(name, **g),
        ),
    }
    for name in ("eval_fk", "eval_ik")
}
# what is written has the shape of the model
KINEMATICS["eval_fk"]["state"] = Refused(lambda: moved("eval_fk", state="abc"), "state")
KINEMATICS["eval_ik"]["joint_q"] = Refused(lambda: moved("eval_ik", joint_q=np.zeros(3)), "joint_q")
KINEMATICS["eval_ik"]["joint_qd"] = Refused(lambda: moved("eval_ik", joint_qd=np.zeros(3)), "joint_qd")


@cache
def shifted():
    made = builder()
    other = made.finalize()
    poses = np.array(other.joint_X_p)
    poses[1] = 0.1, 0.2, 0.3, 0, 0.6, 0, 0.8
    other.update(joint_X_p=poses)
    return other


def of(name, **given):
    """A call with the plain values of what is not given."""
    function = getattr(wm, name)
    plain = {}
    for one in sorted(arguments(function)):
        pair = SPECIAL.get(name, {}).get(one, BY_NAME.get(one))
        if pair is not None and not isinstance(pair, Effect | Refused) and pair[0] is not ...:
            plain[one] = pair[0]
    return function(**(plain | given))


def out_of(name):
    """`out` is filled and returned, or the matrices of the result are parts of it."""
    expected = of(name)

    def is_filled(given):
        made, out = of(name, **given), given["out"]
        if out is None or not isinstance(made, tuple):
            return made is out
        np.testing.assert_array_equal(out, expected)
        return all(np.shares_memory(part, out[k]) for k, part in enumerate(made))

    return Effect(
        lambda: {"out": None}, lambda given: given.update(out=np.zeros(np.shape(expected))), is_filled
    )


def frozen(made):
    made = made.finalize()
    return repr(
        [made.joint_label, made.joint_type.tolist(), made.joint_X_p.tolist(), made.body_mass.tolist()]
    )


def table(name):
    function = getattr(wm, name)
    if name in KINEMATICS:
        return KINEMATICS[name]
    made = {}
    for one in sorted(arguments(function)):
        special = SPECIAL.get(name, {}).get(one)
        if special is not None:
            made[one] = special
        elif one == "out":
            made[one] = out_of(name)
        elif one in ("threads", "lanes"):
            made[one] = Refused(
                lambda one=one: (
                    of(name, q=np.tile(coordinates(1), (4, 1)), **{one: -1})
                    if "q" in arguments(function)
                    else of(name, **{one: -1})
                ),
                one,
            )
        elif one in BY_NAME:
            made[one] = BY_NAME[one]
    # poses and displacements do not depend on masses
    if "model" in made and name in GEOMETRIC:
        made["model"] = Refused(lambda: of(name, model="arm"), "model")
    if name == "bind":
        return {
            one: pair
            if isinstance(pair, Effect | Refused)
            else Effect(
                lambda: {"function": wm.mass_matrix, "model": model()},
                lambda given, one=one, pair=pair: given.update({one: pair[1]}),
                lambda given: wm.bind(given["function"], given["model"], coordinates(1))(),
            )
            for one, pair in made.items()
        }
    observe = {"freeze_joints": frozen}
    base = {"model": model()} if name in GEOMETRIC else {}
    return called(function, observe.get(name, lambda result: result), base, **made)


GEOMETRIC = {
    "forward_kinematics",
    "link_velocities",
    "link_accelerations",
    "jacobian",
    "jacobian_derivative",
    "jacobian_dot_times_v",
    "eval_jacobian",
    "integrate",
    "integration_derivatives",
    "difference",
    "interpolate",
    "kinematics_derivatives",
    "passive_forces",
    "kinetic_energy_regressor",
    "potential_energy_regressor",
    "joint_torque_regressor",
}
FUNCTIONS = [name for name in wm.__all__ if inspect.isfunction(getattr(wm, name)) and name != "step"]
TABLES = {name: table(name) for name in FUNCTIONS}


@rows(**TABLES)
def test_an_argument_of_a_function_of_the_model_acts(entry):
    check(entry)


def test_tables_of_functions_of_the_model_are_complete():
    complete_for_all(TABLES, wm)


# ---- articulation views


def two():
    return builder(robots=2).finalize()


@cache
def pair():
    return two()


def view(**given):
    return wm.ArticulationView(**({"model": pair(), "pattern": "robot_*"} | given))


def described(made):
    return repr([made.articulations, made.joint_labels, made.link_labels, made.model.joint_count])


VIEW = called(
    lambda **given: described(view(**given)),
    model=(pair(), builder(robots=3).finalize()),
    pattern=("robot_*", "robot_1"),
    include_joints=(..., "one"),
    exclude_joints=(..., re.compile("two")),
    include_links=(..., ["arm", "hand"]),
    exclude_links=(..., "arm"),
    include_joint_types=(..., [wm.JointType.FREE]),
    exclude_joint_types=(..., [wm.JointType.FREE]),
)


def states(shift=0.0):
    made = pair().state()
    made.joint_q[:] = np.concatenate([coordinates(1), coordinates(2)]) + 0.0
    made.joint_qd[:] = np.arange(16.0) + shift
    wm.eval_fk(pair(), made.joint_q, made.joint_qd, made)
    return made


def moved_states():
    made = states(1.0)
    made.joint_q[0] += 1.0
    wm.eval_fk(pair(), made.joint_q, made.joint_qd, made)
    return made


def controls(shift=0.0):
    made = pair().control()
    made.joint_f[:] = np.arange(16.0) + shift
    return made


GETTERS = {
    name: called(getattr(view(), name), **{one: (states(), moved_states())})
    for name, one in (
        ("get_dof_positions", "state"),
        ("get_dof_velocities", "state"),
        ("get_link_transforms", "state"),
        ("get_link_velocities", "state"),
        ("get_root_transforms", "state"),
        ("get_root_velocities", "state"),
    )
}
GETTERS["get_dof_forces"] = called(view().get_dof_forces, control=(controls(), controls(1.0)))


def written(name, **given):
    """What a setter leaves in its State or Control."""
    holder = controls() if name == "set_dof_forces" else states()
    where = "control" if name == "set_dof_forces" else "state"
    given = {where: holder, "values": 2.0} | given
    if name == "set_root_transforms":
        given["values"] = np.array([given["values"], 0, 0, 0, 0, 0, 1.0])
    getattr(view(), name)(**given)
    return holder.joint_f if name == "set_dof_forces" else np.concatenate([holder.joint_q, holder.joint_qd])


SETTERS = {
    name: called(
        lambda name=name, **given: written(name, **given),
        **{
            where: Effect(
                dict,
                lambda g, where=where, make=make: g.update({where: make()}),
                lambda g, name=name: written(name, **g),
            )
        },
        values=(2.0, 3.0),
        mask=(..., np.array([[True, False]])),
    )
    for name, where, make in (
        ("set_dof_positions", "state", states),
        ("set_dof_velocities", "state", states),
        ("set_dof_forces", "control", controls),
        ("set_root_transforms", "state", states),
        ("set_root_velocities", "state", states),
    )
}


def attributed(**given):
    made = two()
    base = {"name": "body_mass", "target": made, "values": 5.0}
    wm.ArticulationView(made, "robot_*").set_attribute(**(base | given))
    return np.concatenate([made.body_mass, made.joint_armature])


ATTRIBUTES = {
    "get_attribute": called(
        view().get_attribute, name=("joint_q", "joint_qd"), source=(states(), moved_states())
    ),
    "set_attribute": called(
        attributed,
        name=("body_mass", "joint_armature"),
        target=Refused(lambda: attributed(target=pair()), "model is not that of this view"),
        values=(5.0, 6.0),
        mask=(..., np.array([True])),
    ),
    "flat": called(view().flat, values=(np.ones((2, 1, 3)), np.ones((1, 2, 4)))),
    "instances": called(view().instances, worlds=(..., 3)),
}
ATTRIBUTES["set_attribute"]["mask"] = Effect(
    dict,
    lambda given: given.update(mask=np.array([[True, False]])),
    lambda given: attributed(**given),
)
VIEWS = GETTERS | SETTERS | ATTRIBUTES


@rows(ArticulationView=VIEW, **VIEWS)
def test_an_argument_of_a_view_acts(entry):
    check(entry)


def test_tables_of_views_are_complete():
    complete(VIEW, arguments(wm.ArticulationView))
    methods = {
        name: item
        for name in dir(wm.ArticulationView)
        if not name.startswith("_")
        and inspect.isfunction(item := getattr(wm.ArticulationView, name))
        and arguments(item)
    }
    complete(VIEWS, methods)
    for name, made in VIEWS.items():
        complete(made, arguments(methods[name]))


HOSTILE = (
    10**400,
    1 + 2j,
    np.ma.array([1.0, 2.0], mask=[0, 1]),
    "abc",
    "1.5",
    None,
    object(),
    [[1, 2], [3]],
    float("nan"),
)


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:12])
def test_views_refuse_what_is_no_number_and_change_nothing(value):
    made, held, forces = view(), states(), controls()
    before = [held.joint_q.copy(), held.joint_qd.copy(), forces.joint_f.copy()]
    fresh = two()
    own = wm.ArticulationView(fresh, "robot_*")
    for call in (
        lambda: made.set_dof_positions(held, value),
        lambda: made.set_dof_velocities(held, value),
        lambda: made.set_dof_forces(forces, value),
        lambda: made.set_root_transforms(held, value),
        lambda: made.set_root_velocities(held, value),
        lambda: own.set_attribute("body_mass", fresh, value),
        lambda: made.set_dof_positions(held, 1.0, mask="abc" if value is None else value),
        lambda: made.set_dof_positions(value, 1.0),
        lambda: made.get_dof_positions(value),
        lambda: made.get_attribute(value, held),
        lambda: made.get_attribute("joint_q", value),
        lambda: made.instances("abc" if value is None else value),
        lambda: made.flat(value),
    ):
        with pytest.raises(WorldlineError):
            call()
    assert all(
        np.array_equal(a, b)
        for a, b in zip(before, [held.joint_q, held.joint_qd, forces.joint_f], strict=True)
    )
    assert np.array_equal(fresh.body_mass, pair().body_mass)


def test_attributes_that_bodies_do_not_have_are_named():
    with pytest.raises(WorldlineError, match="body_mas"):
        view().get_attribute("body_mas", pair())
    with pytest.raises(WorldlineError, match="body_label"):
        view().get_attribute("body_label", pair())
    with pytest.raises(WorldlineError, match="negative"):
        view().instances(-1)


def test_forces_on_bodies_are_an_attribute_of_a_state():
    held = states()
    view().set_attribute("body_f", held, np.arange(6.0), mask=np.array([[False, True]]))
    assert held.body_f.tolist() == [[0.0] * 6] * 3 + [list(range(6))] * 3
    assert view().get_attribute("body_f", held)[0, 1].tolist() == [list(range(6))] * 3
    with pytest.raises(WorldlineError, match="body_f"):
        view().get_attribute("body_f", pair())


def test_a_view_of_a_batch_reads_and_writes_its_worlds():
    batch = sx.WorldBatch(pair(), 3)
    made = wm.ArticulationView(batch.model, "robot_*", include_joints=["one", "two"])
    made.set_dof_positions(batch, 0.2, mask=np.array([True, False, True]))
    assert made.get_dof_positions(batch)[:, 0, 0].tolist() == [0.2, 0.0, 0.2]
