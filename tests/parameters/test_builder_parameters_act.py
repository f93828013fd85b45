# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of the methods of `ModelBuilder`, of `step`, `Simulation` and executors acts or is refused."""

from __future__ import annotations

import inspect
import threading

import numpy as np
import pytest
from effects import Effect, Refused, arguments, check, complete, rows, settable

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.constraints import tables as t
from worldline._src.step.island_options import SolverMethod
from worldline._src.step.scene_semantics import constraints_of
from worldline._src.step.stepping import VariationalOptions

Family = sx.MultibodyIntegrationFamily


def given(make, base=None, **field):
    """A keyword of `make` changes its result."""
    return Effect(lambda: dict(base or {}), lambda g: g.update(field), lambda g: make(**g))


def seen(builder, steps=5, **finalized):
    """Labels, masses and motion of a model, as a text that compares."""
    model = builder.finalize(**finalized)
    sim = wm.Simulation(model, 0.005)
    sim.v[:] = 0.1 + 0.01 * np.arange(len(sim.v))
    sim.step(steps)
    labels = [*model.joint_label, *model.body_label, *model.articulation_label]
    shapes = () if model.shapes is None else model.shapes.label
    mass = np.ravel(model.body_mass).tolist()
    return repr([labels, shapes, mass, np.ravel(model.body_inertia).tolist(), sim.q.tolist(), sim.v.tolist()])


# ---- joints


def jointed(method, child="rod", parent="world", **fields):
    """A carrier on the world and two rods; a joint of some type moves one of them and a free joint the other."""
    builder = wm.ModelBuilder()
    carrier = builder.add_link(mass=1.0, com=(0.2, 0, 0), inertia=np.eye(3) * 0.02)
    rods = {
        name: builder.add_link(mass=mass, com=(0.3, 0.1, 0.0), inertia=np.diag([0.01, 0.02, 0.025]) * mass)
        for name, mass in (("rod", 1.0), ("other", 3.0))
    }
    first = builder.add_joint_revolute(-1, carrier, wm.Axis.Y)
    builder.add_articulation([first])
    above = -1 if parent == "world" else carrier
    if parent != "world":
        builder.add_shape_sphere(carrier, 0.01, cfg=wm.ShapeConfig(has_shape_collision=False))
    call = getattr(builder, method)
    ends = (rods[child], above) if method == "add_joint_free" else (above, rods[child])
    options = {"label": "tested"} | fields
    joint = call(*ends, **options)
    if above == -1:
        builder.add_articulation([joint])
    else:
        # joints of a tree are listed one after the other
        return repr([above, ends, builder.joints[-1].parent])
    builder.add_articulation([builder.add_joint_free(rods["other" if child == "rod" else "rod"])])
    return seen(builder)


def dof(axis, **fields):
    return wm.JointDofConfig(axis=axis, **fields)


def turning(axis):
    return [msd.MotionAxis.turn(axis, msd.CoordinateFunction.linear())]


NEEDED = {
    "add_joint_screw": {"pitch": 0.1},
    "add_joint_d6": {"linear_axes": [dof(wm.Axis.Z)]},
    "add_joint_custom": {"motion": turning((0, 1, 0))},
}
"""What joints cannot do without."""


def joint(method, **field):
    base = NEEDED.get(method, {})
    return given(lambda **g: jointed(method, **g), base, **field)


JOINTS = {
    f"{name}.{parameter}": entry
    for name in dir(wm.ModelBuilder)
    if name.startswith("add_joint_")
    for parameter, entry in (
        ("parent", joint(name, parent="carrier")),
        ("child", joint(name, child="other")),
        ("options", Refused(lambda name=name: jointed(name, bogus=1.0, **NEEDED.get(name, {})), "bogus")),
    )
} | {
    "add_joint_cable.axis": joint("add_joint_cable", axis=wm.Axis.X),
    "add_joint_cable.bend_axis": joint("add_joint_cable", bend_axis=wm.Axis.Y),
    "add_joint_cable.stretch": joint("add_joint_cable", stretch=dof(wm.Axis.Z, stiffness=50.0)),
    "add_joint_cable.bend": joint("add_joint_cable", bend=dof(wm.Axis.X, stiffness=50.0)),
    "add_joint_custom.motion": joint("add_joint_custom", motion=turning((1, 0, 0))),
    "add_joint_d6.linear_axes": joint("add_joint_d6", linear_axes=[dof(wm.Axis.X)]),
    "add_joint_d6.angular_axes": joint("add_joint_d6", angular_axes=[dof(wm.Axis.Y)]),
    "add_joint_distance.min_distance": given(
        lambda **g: tethered(**g), {"max_distance": -1.0}, min_distance=0.6
    ),
    "add_joint_distance.max_distance": given(lambda **g: tethered(**g), max_distance=0.3),
    "add_joint_euler.order": joint("add_joint_euler", order="zyx"),
    "add_joint_planar.axis": joint("add_joint_planar", axis=wm.Axis.Y),
    "add_joint_planar.axis2": joint("add_joint_planar", axis2=wm.Axis.Y),
    "add_joint_prismatic.axis": joint("add_joint_prismatic", axis=wm.Axis.Z),
    "add_joint_revolute.axis": joint("add_joint_revolute", axis=wm.Axis.Y),
    "add_joint_screw.axis": joint("add_joint_screw", axis=wm.Axis.Y),
    "add_joint_screw.pitch": joint("add_joint_screw", pitch=0.4),
    "add_joint_translational.axes": joint("add_joint_translational", axes=(wm.Axis.X, wm.Axis.Z)),
    "add_joint_universal.axis": joint("add_joint_universal", axis=wm.Axis.Z),
    "add_joint_universal.axis2": joint("add_joint_universal", axis2=wm.Axis.Z),
}


def tethered(**fields):
    """A ball that is pushed away from its anchor, and pulled back to it."""
    ends = []
    for push in (-30.0, 30.0):
        builder = wm.ModelBuilder()
        ball = builder.add_link((0.4, 0, 0, 0, 0, 0, 1), mass=1.0, inertia=np.eye(3) * 0.01)
        made = builder.add_joint_distance(-1, ball, **fields, parent_xform=(0, 0, 0, 0, 0, 0, 1))
        builder.add_articulation([made])
        sim = wm.Simulation(builder.finalize(), 0.005)
        sim.force[0] = push
        sim.step(40)
        ends += sim.q.tolist()
    return ends


# ---- shapes

TRIANGLES = (
    0.2 * np.array([[1, 0, -1], [-1, 1, -1], [-1, -1, -1], [0, 0, 1.0]]),
    np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]),
)


def shaped(method, body="ball", **fields):
    """Two bodies that fall on a plane; one of them has a shape of some kind."""
    builder = wm.ModelBuilder()
    builder.add_ground_plane()
    bodies = {name: builder.add_body((x, 0, 0.35, 0, 0, 0, 1)) for name, x in (("ball", 0.0), ("other", 2.0))}
    builder.add_shape_sphere(bodies["other" if body == "ball" else "ball"], 0.1)
    if method == "add_shape_mesh":
        fields = {"vertices": TRIANGLES[0], "indices": TRIANGLES[1]} | fields
    getattr(builder, method)(bodies[body], **fields)
    return seen(builder, 20)


def shape(method, base=None, **field):
    return given(lambda **g: shaped(method, **g), base, **field)


def landed(at=(0, 0), **fields):
    """Where a ball stops that falls on a plane of the world or of a body."""
    builder = wm.ModelBuilder()
    ball = builder.add_body((*at, 0.12, 0, 0, 0, 1))
    builder.add_shape_sphere(ball, 0.1)
    if fields.pop("on_body", False):
        # the world's plane is out of reach, so the ball falls past it
        fields["body"] = builder.add_body(
            (0, 0, -5, 0, 0, 0, 1), mass=1.0, inertia=np.eye(3), is_kinematic=True
        )
    builder.add_shape_plane(**fields)
    return seen(builder, 60)


def grounded(**fields):
    builder = wm.ModelBuilder()
    builder.add_shape_sphere(builder.add_body((0, 0, 0.12, 0, 0, 0, 1)), 0.1)
    builder.add_ground_plane(**fields)
    return seen(builder, 60)


SIZES = {
    "add_shape_box": ("hx", "hy", "hz"),
    "add_shape_capsule": ("radius", "half_height"),
    "add_shape_cone": ("radius", "half_height"),
    "add_shape_cylinder": ("radius", "half_height"),
    "add_shape_ellipsoid": ("a", "b", "c"),
}
SHAPES = {
    f"{name}.{parameter}": entry
    for name in dir(wm.ModelBuilder)
    if name.startswith("add_shape_") and name != "add_shape_plane"
    for parameter, entry in (
        ("body", shape(name, body="other")),
        ("options", Refused(lambda name=name: shaped(name, bogus=1.0), "bogus")),
    )
} | {
    **{f"{name}.{size}": shape(name, **{size: 0.2}) for name, sizes in SIZES.items() for size in sizes},
    "add_shape_mesh.vertices": shape("add_shape_mesh", vertices=1.5 * TRIANGLES[0]),
    # inside out: the sign of its volume
    "add_shape_mesh.indices": shape("add_shape_mesh", indices=np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3]])),
    "add_shape_mesh.scale": shape("add_shape_mesh", scale=(1.0, 1.0, 1.5)),
    "add_shape_sphere.radius": shape("add_shape_sphere", radius=0.2),
    "add_shape_plane.body": given(landed, on_body=True),
    "add_shape_plane.width": given(
        lambda **g: landed(at=(2, 0), **g), {"width": 9.0, "length": 9.0}, width=0.5
    ),
    "add_shape_plane.length": given(
        lambda **g: landed(at=(0, 2), **g), {"width": 9.0, "length": 9.0}, length=0.5
    ),
    "add_shape_plane.options": Refused(lambda: landed(bogus=1.0), "bogus"),
    "add_ground_plane.height": given(grounded, height=0.05),
    "add_ground_plane.label": given(grounded, label="floor"),
}


# ---- bodies, trees and the whole


def body(**fields):
    builder = wm.ModelBuilder()
    builder.add_body(**({"mass": 1.0, "inertia": np.diag([0.1, 0.2, 0.25])} | fields))
    return seen(builder)


def tree(swap=False, **fields):
    """Two links on joints, in one tree or two."""
    builder = wm.ModelBuilder()
    made = []
    for x in (0.3, 0.5):
        link = builder.add_link(mass=1.0, com=(x, 0, 0), inertia=np.eye(3) * 0.01)
        made.append(builder.add_joint_revolute(-1, link, wm.Axis.Y))
    joints = fields.pop("joints", None)
    builder.add_articulation([made[0]] if joints == "first" else made, **fields)
    if joints == "first":
        builder.add_articulation([made[1]])
    model = builder.finalize()
    return repr([model.articulation_label, np.asarray(model.articulation_start).tolist()])


def joined(mass=1.0, **fields):
    inner = wm.ModelBuilder()
    inner.add_body(mass=mass, inertia=np.diag([0.1, 0.2, 0.25]), label="b")
    outer = wm.ModelBuilder()
    outer.add_builder(inner, **fields)
    return seen(outer)


def replicated(n=1):
    builder = wm.ModelBuilder()
    builder.add_body(mass=1.0, inertia=np.eye(3))
    builder.replicate(n)
    return builder.finalize().state().joint_q.shape


def loose(**fields):
    """A joint that belongs to no tree."""
    builder = wm.ModelBuilder()
    link = builder.add_link(mass=1.0, inertia=np.eye(3))
    builder.add_joint_revolute(-1, link, wm.Axis.Y)
    try:
        return builder.finalize(**fields).joint_count
    except ValueError as error:
        return str(error)


def flags(index=0):
    builder = wm.ModelBuilder()
    for moves in (False, True):
        builder.add_link(mass=1.0, inertia=np.eye(3), is_kinematic=moves)
    return str(builder.link_flags(index))


REST = {
    "add_body.xform": given(body, xform=(1, 0, 0, 0, 0, 0, 1)),
    "add_body.mass": given(body, mass=2.0),
    "add_body.com": given(body, com=(0.1, 0, 0)),
    "add_body.inertia": given(body, inertia=np.diag([0.2, 0.2, 0.25])),
    "add_body.is_kinematic": given(body, is_kinematic=True),
    "add_body.label": given(body, label="ball"),
    "add_articulation.joints": given(tree, joints="first"),
    "add_articulation.label": given(tree, label="arm"),
    "add_builder.other": given(joined, mass=2.0),
    "add_builder.prefix": given(joined, prefix="left_"),
    "add_builder.xform": given(joined, xform=(1, 0, 0, 0, 0, 0, 1)),
    "replicate.n": given(replicated, n=3),
    "finalize.skip_validation_joints": given(loose, skip_validation_joints=True),
    "link_flags.index": given(flags, index=1),
}


# ---- steps


def pendulum(**fields):
    builder = wm.ModelBuilder(**fields)
    rod = builder.add_link(mass=1.0, com=(0.3, 0, 0), inertia=np.eye(3) * 0.01)
    builder.add_articulation([builder.add_joint_revolute(-1, rod, wm.Axis.Y)])
    return builder.finalize()


def stepped(gravity=None, speed=0.0, force=0.0, worlds=None, **fields):
    model = pendulum(**({} if gravity is None else {"gravity": gravity}))
    state, control = model.state(), model.control()
    state.joint_qd[...], control.joint_f[...] = speed, force
    wm.step(model, state, control if force else None, **({"steps": 5, "dt": 0.01} | fields))
    return [*state.joint_q, *state.joint_qd]


def stepped_or_refused(**fields):
    try:
        return stepped(integration_family="variational", speed=40.0, **fields)
    except sx.StepFailure as failure:
        return type(failure).__name__


STEP = {
    "model": given(stepped, gravity=(0, 0, -1.0)),
    "state": given(stepped, speed=1.0),
    "control": given(stepped, force=1.0),
    "steps": given(stepped, steps=3),
    "dt": given(stepped, dt=0.005),
    "integration_family": given(stepped, integration_family="runge-kutta-4"),
    "max_iterations": given(stepped_or_refused, max_iterations=1),
    "tolerance": given(stepped_or_refused, tolerance=0.5),
    # how work is divided leaves no trace in results: it shows in what is refused
    "threads": Refused(lambda: stepped(threads=-1), "threads"),
    "lanes": Refused(lambda: stepped(lanes=3), "lanes"),
}


@pytest.mark.parametrize("name", ["max_iterations", "tolerance"])
def test_options_of_the_variational_family_are_refused_beside_others(name):
    with pytest.raises(ValueError, match=f"{name} is for the variational family"):
        stepped(**{name: 3})


def simulated(gravity=(0, 0, -9.81), speed=30.0, **fields):
    sim = wm.Simulation(pendulum(gravity=gravity), **({"time_step": 0.01} | fields))
    sim.v[0] = speed
    try:
        sim.step(5)
    except sx.StepFailure as failure:
        return str(failure)
    return [*sim.q, *sim.v]


def guarded(shared=False):
    """Whether a step of one Simulation keeps another one from stepping, by what both were given."""
    guard = wm.Simulation(pendulum(), 0.01).guard
    sim = wm.Simulation(pendulum(), 0.01, guard=guard if shared else None)
    return sim.guard is guard


def solved(chosen=False):
    """Whether pivoting solves the rows of a limit, which constraints of the caller ask for."""
    builder = wm.ModelBuilder()
    rod = builder.add_link(mass=1.0, com=(0.3, 0, 0), inertia=np.eye(3) * 0.01)
    builder.add_articulation([builder.add_joint_revolute(-1, rod, wm.Axis.Y, limit_upper=0.1)])
    model = builder.finalize()
    constraints = constraints_of(model) if chosen else None
    if constraints is not None:
        constraints.choose(SolverMethod.BOXED)
    sim = wm.Simulation(model, 0.01, constraints=constraints)
    sim.step(50)
    return sim.constraints.column["option"][t.BOXED]


SIMULATION = {
    "model": given(simulated, gravity=(0, 0, -1.0)),
    "time_step": given(simulated, time_step=0.005),
    "family": given(simulated, family="runge-kutta-4"),
    "variational": given(simulated, {"family": "variational"}, variational=VariationalOptions(100, 0.5)),
    "constraints": given(solved, chosen=True),
    "guard": given(guarded, shared=True),
    "divergence_policy": given(simulated, {"divergence_limit": 1.0}, divergence_policy="freeze"),
    "divergence_limit": given(simulated, divergence_limit=1.0),
}


# ---- executors


def threads_of(executor, nodes=3):
    """Whether nodes of a graph ran on another thread than the caller's."""
    graph = sx.compute.ComputeGraph()
    seen = []
    for k in range(nodes):
        graph.add(f"n{k}", lambda: seen.append(threading.get_ident()))
    with executor:
        executor.run(graph)
    return any(ident != threading.get_ident() for ident in seen)


EXECUTOR = {
    "worker_count": given(
        lambda **g: sx.ParallelExecutor(**g).worker_count, {"worker_count": 1}, worker_count=2
    ),
    "inline_threshold": given(lambda **g: threads_of(sx.ParallelExecutor(2, **g)), inline_threshold=9),
}


def test_builder_tables_are_complete():
    methods = {}
    for name, function in inspect.getmembers(wm.ModelBuilder, inspect.isfunction):
        if not name.startswith("_") and name != "add_link":
            methods |= {f"{name}.{p}": None for p in inspect.signature(function).parameters if p != "self"}
    # JointDofConfig and ShapeConfig have tables of their own, and so has add_link
    complete(JOINTS | SHAPES | REST, methods)
    complete(STEP, arguments(wm.step))
    complete(SIMULATION, arguments(wm.Simulation))
    complete(EXECUTOR, arguments(sx.ParallelExecutor))
    assert not arguments(sx.SequentialExecutor)
    assert settable(sx.ParallelExecutor) <= set(EXECUTOR)


@rows(ModelBuilder=JOINTS | SHAPES | REST, step=STEP, Simulation=SIMULATION, ParallelExecutor=EXECUTOR)
def test_a_parameter_of_builders_and_steps_acts_or_is_refused(entry):
    check(entry)
