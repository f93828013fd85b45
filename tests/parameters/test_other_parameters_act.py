# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of builders, batches, pictures, queries, files and linear complementarity problems acts."""

from __future__ import annotations

import dataclasses

import numpy as np
from effects import Effect, Refused, arguments, check, complete, put, rows_of, settable

import worldline
from worldline import collision as wc
from worldline import lcp, msd
from worldline import model as wm
from worldline import simulation as sx
from worldline._src.model.records import AxisJointOptions, JointOptions, ShapeOptions
from worldline._src.step.user_elements import UserElements
from worldline._src.step.user_stages import ENDS
from worldline._src.step.user_tables import KernelElement

Family = sx.MultibodyIntegrationFamily


def chosen(make, observe, base=None, **field):
    """A keyword of `make` changes what is observed of its result."""
    return Effect(lambda: dict(base or {}), lambda g: g.update(field), lambda g: observe(make(**g)))


# ---- models by code


def pendulum(joint=None, dof=None, shape=None, link=None, steps=30, start=0.0, force=0.0):
    """A rod on a hinge about y above a plane, as an array of its motion; every part takes keywords."""
    builder = wm.ModelBuilder()
    given = {"mass": 1.0, "com": (0.3, 0.0, 0.0), "inertia": np.diag([0.01, 0.02, 0.03])} | (link or {})
    rod = builder.add_link(**given)
    builder.add_shape_sphere(rod, 0.1, **(shape or {}))
    plane = wm.ShapeConfig(mu=1.0)
    builder.add_shape_plane(xform=(0, 0, -0.3, 0, 0, 0, 1), cfg=plane)
    hinge = builder.add_joint_revolute(-1, rod, wm.Axis.Y, **(dof or {}), **(joint or {}))
    builder.add_articulation([hinge])
    model = builder.finalize()
    sim = wm.Simulation(model, 0.005)
    sim.v[0] = start
    sim.force[0] = force
    sim.step(steps)
    labels = [*model.joint_label, *model.body_label, *(model.shapes.label if model.shapes else ())]
    return [str(labels), *sim.q.tolist(), *sim.v.tolist(), *np.ravel(model.body_mass).tolist()]


def motion(**parts):
    return pendulum(**parts)


def joint_field(start=0.0, force=0.0, base=None, **field):
    return chosen(lambda **g: motion(dof=g, start=start, force=force), lambda seen: seen, base, **field)


JOINT_OPTIONS = {
    "parent_xform": chosen(
        lambda **g: motion(joint=g), lambda s: s, parent_xform=(0, 0, 0.1, 0, 0.5, 0, 0.8660254)
    ),
    "child_xform": chosen(
        lambda **g: motion(joint=g), lambda s: s, child_xform=(0.1, 0, 0, 0, 0.5, 0, 0.8660254)
    ),
    "label": chosen(lambda **g: motion(joint=g), lambda s: s, label="elbow"),
}
SOFT = {"limit_upper": 0.05}
DOF = {
    "axis": Effect(dict, lambda g: g.update(axis=wm.Axis.X), lambda g: axis_of(**g)),
    "limit_lower": joint_field(start=-3.0, limit_lower=-0.05),
    "limit_upper": joint_field(limit_upper=0.05),
    "limit_ke": joint_field(base=SOFT, limit_ke=50.0),
    "limit_kd": joint_field(base=SOFT, limit_kd=500.0),
    "target_pos": joint_field(base={"target_ke": 20.0}, target_pos=0.5),
    "target_vel": joint_field(base={"target_kd": 2.0}, target_vel=0.5),
    "target_ke": joint_field(base={"target_pos": 0.5}, target_ke=20.0),
    "target_kd": joint_field(base={"target_vel": 0.5}, target_kd=2.0),
    "damping": joint_field(damping=0.5),
    "stiffness": joint_field(base={"spring_ref": 0.3}, stiffness=10.0),
    "spring_ref": joint_field(base={"stiffness": 10.0}, spring_ref=0.3),
    "armature": joint_field(armature=0.5),
    "friction": joint_field(friction=0.5),
    "effort_limit": joint_field(force=50.0, effort_limit=1.0),
    "effort_lower": joint_field(force=-50.0, effort_lower=-1.0),
    "velocity_limit": joint_field(velocity_limit=0.1),
    "velocity_lower": joint_field(force=-50.0, velocity_lower=-0.1),
    "actuator_mode": joint_field(
        base={"target_ke": 20.0, "target_kd": 2.0, "target_vel": 3.0}, actuator_mode=wm.ActuatorMode.POSITION
    ),
}


def axis_of(**given):
    """The motion of a joint of six freedoms with one configured axis."""
    builder = wm.ModelBuilder()
    rod = builder.add_link(mass=1.0, com=(0.3, 0.1, 0.0), inertia=np.eye(3) * 0.01)
    builder.add_articulation(
        [builder.add_joint_d6(-1, rod, angular_axes=[wm.JointDofConfig(**({"axis": wm.Axis.Y} | given))])]
    )
    sim = wm.Simulation(builder.finalize(), 0.005)
    sim.step(10)
    return sim.q


def touching(**given):
    """A ball on the end of the rod, which falls on a plane; the configuration of its shape is given."""
    return motion(shape={"cfg": wm.ShapeConfig(**given), "xform": (0.5, 0, 0, 0, 0, 0, 1)}, steps=60)


def rolling(**given):
    """A ball that rolls and spins on a plane, by laws that have friction about all axes."""
    builder = wm.ModelBuilder()
    ball = builder.add_body((0, 0, 0.099, 0, 0, 0, 1), mass=1.0, inertia=np.eye(3) * 0.004)
    config = {"condim": 6, "density": 0.0} | given
    builder.add_shape_sphere(ball, 0.1, cfg=wm.ShapeConfig(**config))
    builder.add_ground_plane()
    sim = wm.Simulation(builder.finalize(), 0.005)
    sim.v[0], sim.v[4], sim.v[5] = 1.0, 10.0, 5.0
    sim.step(20)
    return [*sim.q, *sim.v]


def two_layers(**given):
    builder = wm.ModelBuilder()
    ball = builder.add_body((0, 0, 0.099, 0, 0, 0, 1), mass=1.0, inertia=np.eye(3) * 0.004)
    builder.add_shape_sphere(ball, 0.1, cfg=wm.ShapeConfig(**({"mu": 0.1, "density": 0.0} | given)))
    builder.add_shape_plane(cfg=wm.ShapeConfig(mu=0.8))
    sim = wm.Simulation(builder.finalize(), 0.005)
    sim.v[0] = 1.0
    sim.step(10)
    return sim.v


SHAPE = {
    "density": chosen(touching, lambda s: s, density=10.0),
    "mu": chosen(two_layers, lambda s: s, mu=2.0),
    "spin_friction": chosen(rolling, lambda s: s, spin_friction=0.1),
    "rolling_friction": chosen(rolling, lambda s: s, rolling_friction=0.1),
    "restitution": chosen(touching, lambda s: s, restitution=0.9),
    "ke": chosen(touching, lambda s: s, ke=2000.0),
    "kd": chosen(touching, lambda s: s, {"ke": 2000.0}, kd=100.0),
    "margin": chosen(touching, lambda s: s, margin=0.05),
    "gap": chosen(touching, lambda s: s, {"margin": 0.05}, gap=0.04),
    "priority": chosen(two_layers, lambda s: s, priority=1),
    "condim": chosen(rolling, lambda s: s, condim=1),
    "is_solid": chosen(touching, lambda s: s, is_solid=False),
    # shapes touch when either is in a group that the other touches
    "collision_group": chosen(touching, lambda s: s, {"collision_mask": 2}, collision_group=2),
    "collision_mask": chosen(touching, lambda s: s, {"collision_group": 2}, collision_mask=2),
    "has_shape_collision": chosen(touching, lambda s: s, has_shape_collision=False),
}
SHAPE_OPTIONS = {
    "xform": chosen(lambda **g: motion(shape=g), lambda s: s, xform=(0.3, 0, 0, 0, 0, 0, 1)),
    "cfg": chosen(lambda **g: motion(shape=g), lambda s: s, cfg=wm.ShapeConfig(density=10.0)),
    "label": chosen(lambda **g: motion(shape=g), lambda s: s, label="foot"),
}
ADD_LINK = {
    "xform": chosen(lambda **g: wm_fixed(**g), lambda s: s, xform=(1.0, 0, 0, 0, 0, 0, 1)),
    "mass": chosen(lambda **g: motion(link=g), lambda s: s, mass=2.0),
    "com": chosen(lambda **g: motion(link=g), lambda s: s, com=(0.1, 0, 0)),
    "inertia": chosen(lambda **g: motion(link=g), lambda s: s, inertia=np.diag([0.01, 0.025, 0.03])),
    "is_kinematic": chosen(lambda **g: motion(link=g, start=1.0), lambda s: s, is_kinematic=True),
    "label": chosen(lambda **g: motion(link=g), lambda s: s, label="rod"),
    "check_inertia": Effect(
        dict,
        lambda g: g.update(check_inertia=False),
        lambda g: accepted(inertia=np.diag([1.0, 1.0, 9.0]), **g),
    ),
    "gravcomp": chosen(lambda **g: motion(link=g), lambda s: s, gravcomp=1.0),
}


def accepted(**given):
    try:
        motion(link=given)
    except ValueError as error:
        return type(error).__name__
    return "accepted"


def wm_fixed(**given):
    """Where a link that no joint moves stands."""
    builder = wm.ModelBuilder()
    builder.add_body(mass=1.0, inertia=np.eye(3), **given)
    model = builder.finalize()
    return model.state().joint_q


BUILDER = {"gravity": chosen(lambda **g: falls(**g), lambda s: s, gravity=(0, 1, 0))}


def falls(**given):
    builder = wm.ModelBuilder(**given)
    builder.add_body(mass=1.0, inertia=np.eye(3))
    sim = wm.Simulation(builder.finalize(), 0.005)
    sim.step(3)
    return sim.q


# ---- batches and simulations


def ball_model():
    builder = wm.ModelBuilder()
    ball = builder.add_body((0, 0, 0.3, 0, 0, 0, 1), mass=1.0, inertia=np.diag([0.004, 0.005, 0.006]))
    builder.add_shape_sphere(ball, 0.1, cfg=wm.ShapeConfig(density=0.0))
    builder.add_ground_plane()
    return builder.finalize()


def lanes(steps=60, **given):
    worlds = wm.LaneSimulation(ball_model(), given.pop("worlds", 2), **({"time_step": 0.005} | given))
    worlds.v[:, 3:] = 1.0, 2.0, 3.0
    worlds.step(steps)
    return worlds


def state(worlds):
    return [*worlds.q.ravel(), *worlds.v.ravel()]


def diverging(**given):
    """What became of two worlds that fall far below a limit."""
    try:
        worlds = lanes(**({"time_step": 1.0} | given))
    except sx.StepFailure:
        return "raised"
    return [len(worlds.failures), *state(worlds)]


@worldline.kernel
def push(step):
    step.v[0] = step.v[0] + 0.5


def pushing():
    made = UserElements()
    made.kernels.append(KernelElement("push", ENDS, push))
    return made


LANES = {
    "elements": Effect(dict, lambda g: g.update(elements=pushing()), lambda g: state(lanes(**g))),
    "model": Effect(
        lambda: [ball_model()], lambda m: m[0].update(gravity=(0, 0, -1.0)), lambda m: moved_by(m[0])
    ),
    "worlds": chosen(lanes, lambda w: w.q.shape, worlds=3),
    "time_step": chosen(lanes, state, time_step=0.004),
    "integration_family": chosen(lanes, state, integration_family=Family.RUNGE_KUTTA_4),
    "sweeps": chosen(lanes, lambda w: w.sweeps.tolist(), {"tolerance": 0.0}, sweeps=3),
    "tolerance": chosen(lanes, lambda w: w.sweeps.tolist(), tolerance=0.0),
    "divergence_policy": chosen(
        diverging, lambda s: s, {"divergence_limit": 5.0}, divergence_policy="freeze"
    ),
    "divergence_limit": chosen(diverging, lambda s: s, divergence_limit=5.0),
    "dtype": chosen(lanes, state, dtype=np.float32),
}


def test_worlds_in_lanes_take_as_many_sweeps_as_their_scene_says():
    """Without `sweeps` it is `constraint_solver_iterations`; a number that is given counts more."""
    taken = {}
    for most in (2, 5):
        worlds = settled(most)
        worlds.v[:, 0] = 3.0
        worlds.step()
        taken[most] = int(worlds.sweeps.max())
    assert taken == {2: 2, 5: 5}
    worlds = settled(2, sweeps=4)
    worlds.v[:, 0] = 3.0
    worlds.step()
    assert int(worlds.sweeps.max()) == 4


def moved_by(model):
    worlds = wm.LaneSimulation(model, 1, time_step=0.005)
    worlds.step(3)
    return worlds.v


LANE_STEP = {
    "n": Effect(lambda: lanes(1), lambda w: w.step(3), state),
    # how work is divided leaves no trace in results: it shows in what is refused
    "threads": Refused(lambda: lanes(1).step(threads=-1), "threads"),
    "lanes": Refused(lambda: lanes(1).step(lanes=3), "lanes"),
}


def batch():
    return lanes(1)


LANE_ARRAYS = {
    "q": Effect(batch, put("q", np.tile([0, 0, 1.0, 0, 0, 0, 1], (2, 1))), lambda w: (w.step(), state(w))[1]),
    "v": Effect(batch, put("v", np.ones((2, 6))), lambda w: (w.step(), state(w))[1]),
    "force": Effect(batch, put("force", np.ones((2, 6))), lambda w: (w.step(), state(w))[1]),
    "body_f": Effect(batch, put("body_f", np.ones((2, 1, 6))), lambda w: (w.step(), state(w))[1]),
    "divergence_policy": Effect(batch, put("divergence_policy", "freeze"), lambda w: fall_far(w, -1e12)),
    "divergence_limit": Effect(batch, put("divergence_limit", 1.0), lambda w: fall_far(w)),
}


def fall_far(worlds, speed=-5.0):
    worlds.v[:, 2] = speed
    try:
        worlds.step(10)
    except sx.StepFailure:
        return "raised"
    return len(worlds.failures)


def driven():
    text = """<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
      <actuator><general joint="j" dyntype="filter" gainprm="1" dynprm="0.1"/></actuator></mujoco>"""
    return msd.build(msd.from_str(text, format="mjcf"))


def sprung():
    """A model whose joint is driven to targets."""
    builder = wm.ModelBuilder()
    rod = builder.add_link(mass=1.0, com=(0.3, 0, 0), inertia=np.eye(3) * 0.01)
    builder.add_articulation([builder.add_joint_revolute(-1, rod, wm.Axis.Y, target_ke=20.0, target_kd=2.0)])
    return builder.finalize()


def after_steps(sim):
    sim.step(3)
    return [*np.ravel(sim.q), *np.ravel(sim.v)]


def simulated(model, name, value):
    return Effect(lambda: wm.Simulation(model(), 0.005), put(name, value), after_steps)


def batched(model, name, value):
    return Effect(lambda: wm.LaneSimulation(model(), 1, time_step=0.005), put(name, value), after_steps)


LANE_ARRAYS |= {
    "q_target": batched(sprung, "q_target", [[0.5]]),
    "v_target": batched(sprung, "v_target", [[0.5]]),
    "control": batched(driven, "control", [[0.5]]),
    "activation": batched(driven, "activation", [[0.5]]),
    "kept": Effect(
        lambda: settled(),
        lambda w: setattr(w, "kept", 0.0 * w.kept),
        lambda w: (w.step(), w.sweeps.tolist())[1],
    ),
}


def settled(iterations=100, **given):
    scene = msd.from_str(
        """<mujoco><option cone="elliptic"/><worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 .099"><freejoint/>
        <geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>""",
        format="mjcf",
    )
    scene.simulate_option.policy.contact_solver_method = "SequentialImpulse"
    scene.simulate_option.constraint_solver_iterations = iterations
    worlds = wm.LaneSimulation(msd.build(scene), 1, **({"tolerance": 1e-6} | given))
    worlds.step(300)
    return worlds


def prescribed():
    """A joint that follows a commanded acceleration, as a World makes it."""
    world = sx.World()
    robot = world.add_multibody("robot")
    spec = sx.JointSpec(name="j", axis=(0, 1, 0), actuator_type=sx.ActuatorType.ACCELERATION)
    robot.add_link("rod", None, spec, mass=1.0, inertia=np.eye(3) * 0.01, center_of_mass=(0.3, 0, 0))
    return wm.Simulation(msd.build(world.to_scene()), 0.005)


SIMULATION = {
    "q": simulated(sprung, "q", [0.5]),
    "v": simulated(sprung, "v", [0.5]),
    "force": simulated(sprung, "force", [0.5]),
    "q_target": simulated(sprung, "q_target", [0.5]),
    "v_target": simulated(sprung, "v_target", [0.5]),
    "body_f": simulated(sprung, "body_f", np.ones((1, 6))),
    "a_target": Effect(prescribed, put("a_target", [0.5]), after_steps),
    "control": simulated(driven, "control", [0.5]),
    "activation": simulated(driven, "activation", [0.5]),
    "time_step": simulated(sprung, "time_step", 0.01),
    "divergence_policy": Effect(
        lambda: wm.Simulation(sprung(), 0.005),
        put("divergence_policy", "freeze"),
        lambda s: simulated_fall(s),
    ),
    "divergence_limit": Effect(
        lambda: wm.Simulation(sprung(), 0.005),
        put("divergence_limit", 1.0),
        lambda s: simulated_fall(s, huge=False),
    ),
}


def simulated_fall(sim, huge=True):
    sim.v[0] = 1e12 if huge else 5.0
    try:
        sim.step(3)
    except sx.StepFailure:
        return "raised"
    return "went on"


# ---- pictures


def scene_of_pictures():
    world = sx.World()
    world.add_ground_plane()
    box = world.add_rigid_body("box", position=(0, 0, 0.5))
    box.add_collision_shape(wc.CollisionShape.box((0.2, 0.2, 0.2)))
    return world


EYE = {"position": (2.0, 0.5, 1.5)}


def look(**given):
    camera = sx.LookAt(**(EYE | given))
    return sx.render(scene_of_pictures(), camera, width=24, height=16).rgb


LOOK = {
    "position": chosen(look, lambda s: s, position=(2.0, -1.5, 1.5)),
    "target": chosen(look, lambda s: s, target=(0, 0, 1.0)),
    "fovy": chosen(look, lambda s: s, fovy=20.0),
    "up": chosen(look, lambda s: s, up=(0, 1, 0.2)),
    "orthographic": chosen(look, lambda s: s, orthographic=True),
}


def picture(**given):
    world = scene_of_pictures()
    given = {"camera": sx.LookAt((2.0, 0.5, 1.5)), "width": 24, "height": 16} | given
    if given.pop("moved", False):
        kept = world.get_state(world.state_space())
        world.rigid_bodies[0].translation = (0, 0, 2.0)
        given["state"] = kept if given.pop("earlier", False) else None
    out = given.get("out")
    made = sx.render(world, **given)
    if out is not None:
        return made.rgb is out.rgb
    return [
        None if part is None else np.asarray(part).tolist()
        for part in (made.rgb, made.depth, made.segmentation)
    ]


RENDER = {
    "camera": chosen(picture, str, camera=None),
    "width": chosen(picture, str, width=20),
    "height": chosen(picture, str, height=20),
    "rgb": chosen(picture, str, rgb=False, depth=True),
    "depth": chosen(picture, str, depth=True),
    "segmentation": chosen(picture, str, segmentation=True),
    "groups": chosen(picture, str, groups=(4,)),
    "shadows": chosen(picture, str, shadows=False),
    "state": chosen(picture, str, {"moved": True}, earlier=True),
    "out": chosen(
        picture, str, out=sx.render(scene_of_pictures(), sx.LookAt((2.0, 0.5, 1.5)), width=24, height=16)
    ),
}


# ---- linear complementarity problems


def solved(**given):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(8, 8))
    problem = lcp.LcpProblem(A @ A.T + 0.01 * np.eye(8), rng.normal(size=8))
    result = lcp.solve(problem, options=lcp.LcpOptions(**given), method=lcp.Pgs())
    return result.x


LCP = {
    "tolerance": chosen(solved, lambda x: x, tolerance=1e-2),
    "max_iterations": chosen(solved, lambda x: x, max_iterations=1),
    "relaxation": chosen(solved, lambda x: x, {"max_iterations": 3}, relaxation=0.5),
}


# ---- files

URDF = """<robot name="rod"><link name="base"/><link name="tip"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0"
  iyz="0"/></inertial><collision><geometry><sphere radius=".1"/></geometry></collision></link><joint name="j" type="revolute"><parent link="base"/>
  <child link="tip"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/><dynamics damping=".3"/></joint></robot>"""


def skeleton(**given):
    world = sx.World()
    sx.add_skeleton(world, msd.from_str(URDF, format="urdf"), options=sx.SkeletonLoadOptions(**given))
    world.step()
    return [
        str(world.multibodies.names),
        str(world.multibodies[0].link_names),
        *np.ravel(world.multibodies[0].links[0].transform).tolist(),
    ]


SKELETON = {
    "name": chosen(skeleton, str, name="other"),
    "translation": chosen(skeleton, str, translation=(1, 0, 0)),
    "rotation": chosen(skeleton, str, rotation=(0, 0, 1, 0)),
    "root_anchor_prefix": chosen(skeleton, str, root_anchor_prefix="anchor_"),
}


def rebuilt(**given):
    source = sx.World()
    sx.add_skeleton(source, msd.from_str(URDF, format="urdf"))
    source.multibodies[0].joints[0].position = [0.3]
    world = sx.World()
    robot = sx.build_multibody_from_skeleton(world, source.to_scene(), sx.SkeletonToMultibodyOptions(**given))
    joint = robot.joints[-1]
    return [
        robot.name,
        robot.link_names,
        joint.position.tolist(),
        joint.damping_coefficient.tolist(),
        sum(link.num_collision_shapes for link in robot.links),
    ]


REBUILT = {
    "name": chosen(rebuilt, str, name="other"),
    "base_link_name": chosen(rebuilt, str, base_link_name="foot"),
    "copy_state": chosen(rebuilt, str, copy_state=False),
    "copy_joint_properties": chosen(rebuilt, str, copy_joint_properties=False),
    "load_collision_shapes": chosen(rebuilt, str, load_collision_shapes=False),
}


# ---- parts of a World


def running():
    world = scene_of_pictures()
    world.step()
    return world


PARTS = {
    "Multibody.name": Effect(
        lambda: skeleton_world().multibodies[0], put("name", "other"), lambda m: m._world.multibodies.names
    ),
    "Replay.enabled": Effect(
        lambda: running().replay, put("enabled", True), lambda r: (r._world.step(), r.frame_count)[1]
    ),
    "WorldState.vector": Effect(running, lambda w: moved_state(w), lambda w: w.state_vector),
    "WorldControl.vector": Effect(
        running, lambda w: moved_control(w), lambda w: (w.step(), w.state_vector)[1]
    ),
}


def skeleton_world():
    world = sx.World()
    sx.add_skeleton(world, msd.from_str(URDF, format="urdf"))
    return world


def moved_state(world):
    state = world.get_state(world.state_space())
    state.vector = state.vector + 0.01
    world.set_state(state)


def moved_control(world):
    control = world.get_control(world.control_space())
    control.vector = control.vector + 1.0
    world.set_control(control)


def test_other_tables_are_complete():
    fields = {field.name for field in dataclasses.fields(wm.JointDofConfig)}
    complete(DOF, fields)
    complete(JOINT_OPTIONS, set(JointOptions.__annotations__))
    assert set(AxisJointOptions.__annotations__) | {"axis"} >= fields - {"axis"}
    complete(SHAPE, {field.name for field in dataclasses.fields(wm.ShapeConfig)})
    complete(SHAPE_OPTIONS, set(ShapeOptions.__annotations__))
    complete(ADD_LINK, arguments(wm.ModelBuilder.add_link))
    complete(BUILDER, arguments(wm.ModelBuilder))
    complete(LANES, arguments(wm.LaneSimulation))
    complete(LANE_STEP, arguments(wm.LaneSimulation.step))
    complete(LANE_ARRAYS, settable(wm.LaneSimulation))
    # accelerations and joint forces are results of a step
    complete(SIMULATION, settable(wm.Simulation) - {"a", "tau"})
    complete(LOOK, arguments(sx.LookAt))
    complete(RENDER, arguments(sx.render, "world"))
    complete(LCP, arguments(lcp.LcpOptions))
    complete(SKELETON, settable(sx.SkeletonLoadOptions))
    complete(REBUILT, settable(sx.SkeletonToMultibodyOptions))


@rows_of(globals())
def test_a_parameter_acts_or_is_refused(entry):
    check(entry)
