# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Build a Model from a scene: trees, then everything that needs the masses of the trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from worldline._src.errors import Problem, SceneError, require_kind
from worldline._src.linear_algebra import unit_vector
from worldline._src.model import scene_constraints, scene_shapes, tables
from worldline._src.model.kinds import codes, rows_of_numbers
from worldline._src.model.model import Model
from worldline._src.model.scene_index import SceneIndex, labels, pose
from worldline._src.model.scene_sensors import sensor_table
from worldline._src.model.scene_trees import SceneTrees, add_trees
from worldline._src.model.shape_tables import Assets
from worldline._src.named_tuple import NamedTuple
from worldline._src.progress import slow
from worldline._src.scene import actuators
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.base import clone
from worldline._src.scene.enums import counterparts
from worldline._src.scene.freezing import references_to_frozen
from worldline._src.scene.fusing import fused
from worldline._src.scene.joints import FreeJoint, JointType
from worldline._src.scene.layout import moving_joints
from worldline._src.scene.values import Range
from worldline._src.scene.world import World
from worldline._src.spatial.poses import Array
from worldline._src.step.damping_ratios import damping_of_ratios
from worldline._src.step.dynamics import mass_matrix_inverse
from worldline._src.step.reduction import freeze_joints

_UNBOUNDED = (-np.inf, np.inf)
# looking up a member of an enumeration takes Python ten times as long as looking up a name
_JOINT, _SHIFTED = tables.TargetKind.JOINT, (JointType.Revolute, JointType.Slide)
_GAINS = counterparts(actuators.GainType, tables.GainKind)
_BIASES = counterparts(actuators.BiasType, tables.BiasKind)
_ACTIVATIONS = counterparts(actuators.DynType, tables.ActivationKind)


def build(world: World, *, library: AssetLibrary | None = None) -> Model:
    """Compile a scene description into a Model.

    Everything is checked before anything is made; what is wrong comes in one `SceneError`. The model
    starts in the pose in which the scene is drawn. The scene is not changed and not kept.

    Args:
        world: the scene.
        library: where meshes come from; made from the scene when None.

    Returns:
        The model, with a body for every link (and one more for every joint but the last of a link with
        several; fewer where `CompileOptions.fuse_static` merges welded links), a joint for every joint, and
        tables of actuators, tendons, sites and keyframes.

    Example:
        >>> from worldline import msd
        >>> scene = msd.from_str(
        ...     "<mujoco><worldbody><body name='bob'><joint name='hinge' axis='0 1 0'/>"
        ...     "<geom size='0.1' pos='0 0 -1'/></body></worldbody></mujoco>", format="mjcf")
        >>> msd.build(scene).joint_label
        ['hinge']
    """
    require_kind(world, World, "world", "build")
    if library is not None:
        require_kind(library, AssetLibrary, "library", "build")
    if world.compile_options.fuse_static:
        # merging relies on a sound scene
        world.validate()
        world = fused(world)
    return compile_scene(world, library).model


class CompiledScene(NamedTuple):
    """A model, and where the objects of the scene went."""

    model: Model
    trees: SceneTrees


def compile_scene(
    world: World, library: AssetLibrary | None = None, *, only_trees: bool = False, validated: bool = False
) -> CompiledScene:
    """What `build` does, with the way back to the scene's objects; `only_trees` leaves out all tables.

    `validated`: the scene has been validated since it was last changed.
    """
    with slow(f"building {world.name or 'a scene'}"):
        if not (only_trees or validated):
            world.validate()
        library = AssetLibrary(world) if library is None else library
        trees = add_trees(world, library)
        _place_joints(trees)
        trees = _freeze_joints(trees, world)
        model = trees.builder.finalize()
        _require_finite(model)
        model.time_step = world.simulate_option.timestep
        if only_trees:
            _settle_springs(model, trees)
        else:
            index = SceneIndex(world, trees)
            # before anything lays out the arenas, which have room for the points
            model.ground_points = scene_constraints.ground_table(world, index)
            _settle_springs(model, trees)
            _add_tables(world, index, library, model)
            model.actuators = _actuators(world, index, model)
            model.keyframes = _keyframes(world, trees, model)
    return CompiledScene(model, trees)


def _require_finite(model: Model) -> None:
    """Poses and masses are made of numbers of the scene, whose sums and products may be too large."""
    # two sums decide the usual case, in which all is well
    if np.isfinite(model.body_q.sum() + model.body_inertia.sum()):
        return
    found = np.isfinite(model.body_q).all(axis=-1) & np.isfinite(model.body_inertia).all(axis=(-2, -1))
    lost = np.flatnonzero(~found).tolist()
    if lost:
        message = "its place or inertia is too large for a number"
        problems = [Problem(f"link {model.body_label[k]!r}", message) for k in lost[:10]]
        raise SceneError("the scene cannot be built", problems)


def _add_tables(world: World, index: SceneIndex, library: AssetLibrary, model: Model) -> None:
    """Everything beside the trees that later stages read."""
    hierarchy = world.hierarchy
    model.option = clone(world.simulate_option)
    model.material_label, model.texture_label = list(world.assets.materials), list(world.assets.textures)
    model.assets = Assets(library)
    model.shapes = scene_shapes.shape_table(index.geoms, library, model.material_label)
    library.check_drawn_meshes()
    model.sites = scene_shapes.site_table(index)
    cameras = [(body, pose(c.position, c.orientation)) for body, c in index.cameras]
    model.cameras = scene_shapes.frame_table([camera.name for _, camera in index.cameras], cameras, "camera")
    model.lights = scene_shapes.light_table(world, index)
    model.frames = scene_shapes.frame_table([frame.name for frame in world.frames], index.frames, "frame")
    model.contact_pairs = scene_shapes.pair_table(world, index)
    model.excluded_bodies = scene_shapes.excluded_bodies(world, index)
    model.self_collision_root = scene_shapes.quiet_subtrees(world, index, model.body_count)
    mocaps = [index.trees.link_body[id(body.link)] for body in hierarchy.bodies if body.mocap]
    model.mocap_bodies = np.array(mocaps, np.int64)
    model.tendons = scene_constraints.tendon_table(world, index)
    objects = [index.trees.joints.get(j) for j in range(model.joint_count)]
    model.joint_forces = scene_constraints.joint_forces(index, objects)
    model.joint_drive = scene_constraints.joint_drives(objects, model.joint_qd_start)
    model.equalities = scene_constraints.equality_table(world, index, model.body_q)
    model.closures = scene_constraints.closure_table(world, index)
    model.couplers = scene_constraints.coupler_table(world, index)
    model.distance_springs = scene_constraints.spring_table(world, index)
    model.loop_joints = scene_constraints.loop_joint_table(world, index)
    model.sensors = sensor_table(world, index, model, library)


def _place_joints(trees: SceneTrees) -> None:
    """Start every joint at its coordinate in the drawn pose."""
    builder = trees.builder
    for index, joint in trees.joints.items():
        if isinstance(joint, FreeJoint):
            continue
        start = builder.joints[index].start
        if joint.type_ in _SHIFTED:
            builder.joint_q[start] = joint.ref_
        elif joint.type_ in (JointType.Ball, JointType.Free, JointType.Distance):
            count = joint.full_sizes[0]
            builder.joint_q[start : start + count] = [0.0] * (count - 1) + [1.0]


def _freeze_joints(trees: SceneTrees, world: World) -> SceneTrees:
    """Weld the joints that the scene has frozen; links and joints keep their numbers."""
    builder, chosen = trees.builder, []
    for index, joint in trees.joints.items():
        if not isinstance(joint, FreeJoint) and joint.frozen is not None:
            record = builder.joints[index]
            q = np.array(joint.frozen)
            if record.coordinates > record.velocities:
                q[-4:] = unit_vector(q[-4:])
            builder.joint_q[record.start : record.start + record.coordinates] = q.tolist()
            chosen.append(index)
    if not chosen:
        return trees
    problems = [Problem(path, "refers to a frozen joint") for path in references_to_frozen(world)]
    if problems:
        raise SceneError("the scene cannot be built", problems)
    return trees._replace(builder=freeze_joints(builder, chosen))


def _settle_springs(model: Model, trees: SceneTrees) -> None:
    """Springs given by frequency and damping ratio: scaled by the inertia their joint sees at the start."""
    if not trees.softness:
        return
    seen = 1.0 / np.diagonal(mass_matrix_inverse(model, np.array(model.joint_q)))
    stiffness, damping = np.array(model.joint_stiffness), np.array(model.joint_damping)
    for j, frequency, ratio in trees.softness:
        dofs = slice(model.joint_qd_start[j], model.joint_qd_start[j + 1])
        stiffness[dofs] = frequency * frequency * seen[dofs]
        damping[dofs] = 2.0 * frequency * ratio * seen[dofs]
    model.update(joint_stiffness=stiffness, joint_damping=damping)


def _range(given: Range | None) -> tuple[float, float]:
    return _UNBOUNDED if given is None else (given.lower, given.upper)


def _ranges(rows: list[actuators.Actuator], name: str) -> Array:
    """The range that each actuator has in a field, infinite where it has none, shape (n, 2)."""
    found: list[Range | None] = [getattr(row, name) for row in rows]
    return rows_of_numbers([_UNBOUNDED if r is None else (r.lower, r.upper) for r in found], 2)


def _parameters(*values: float) -> list[float]:
    return [*values, *_ZEROS[len(values) :]]


_ZEROS = (0.0,) * 10
_MOTOR: dict[str, Any] = {
    "gain_kind": tables.GainKind.FIXED,
    "gain": _parameters(1.0),
    "bias_kind": tables.BiasKind.NONE,
    "bias": _parameters(),
    "activation_kind": tables.ActivationKind.NONE,
    "activation": _parameters(1.0),
    "activation_early": False,
    "activation_range": (-np.inf, np.inf),
    "damping_ratio": None,
}
"""Force equals the input; other laws start from here, and replace what they change."""


def _law(variant: actuators.ActuatorType) -> dict[str, Any]:
    """Gain, bias and activation of an actuator, with a damping ratio still to be settled."""
    kind, value = variant.variant, variant.value
    if kind == "motor":
        return _MOTOR
    law = _MOTOR.copy()
    if kind == "general":
        assert isinstance(value, actuators.GeneralParam)
        law["gain_kind"], law["gain"] = _GAINS[value.gain], value.gainprm
        law["bias_kind"], law["bias"] = _BIASES[value.bias], list(value.biasprm)
        law["activation_kind"], law["activation"] = _ACTIVATIONS[value.dyntype], value.dynprm
        law["activation_early"], law["activation_range"] = value.actearly, _range(value.actrange)
        law["damping_ratio"] = value.damping_ratio
    elif kind == "position":
        assert isinstance(value, actuators.PositionParam)
        absolute = value.damping_type is actuators.DampingType.Kv
        law["gain"] = _parameters(value.kp)
        law["bias_kind"] = tables.BiasKind.AFFINE
        law["bias"] = _parameters(0.0, -value.kp, -value.damping_value if absolute else 0.0)
        law["damping_ratio"] = None if absolute else value.damping_value
        if value.timeconst > 0.0:
            law["activation_kind"] = tables.ActivationKind.FILTER_EXACT
            law["activation"] = _parameters(value.timeconst)
    elif kind == "velocity":
        law["gain"], law["bias_kind"] = _parameters(value), tables.BiasKind.AFFINE
        law["bias"] = _parameters(0.0, 0.0, -value)
    elif kind == "adhesion":
        law["gain"] = _parameters(value)
    return law


def _target(
    target: actuators.ActuatorTarget, index: SceneIndex, model: Model
) -> tuple[tables.TargetKind, int, int, float]:
    """What an actuator acts on: kind, index, reference, rod."""
    variant, value = target.variant, target.value
    if variant in ("joint", "joint_in_parent"):
        kind = _JOINT if variant == "joint" else tables.TargetKind.JOINT_IN_PARENT
        return kind, index.joint[value], -1, 0.0
    if variant == "floating_base":
        if value in index.joint:
            return _JOINT, index.joint[value], -1, 0.0
        return _JOINT, int(np.flatnonzero(model.joint_child == index.body[value])[0]), -1, 0.0
    if variant == "tendon":
        return tables.TargetKind.TENDON, index.tendon[value], -1, 0.0
    if variant == "link":
        return tables.TargetKind.BODY, index.body[value], -1, 0.0
    if variant == "site":
        other = value["ref_site"]
        return (
            tables.TargetKind.SITE,
            index.site[value["site"]],
            -1 if other is None else index.site[other],
            0.0,
        )
    crank, slider = index.site[value["crank_site"]], index.site[value["slider_site"]]
    return tables.TargetKind.SLIDER_CRANK, crank, slider, value["crank_length"]


def _actuators(world: World, index: SceneIndex, model: Model) -> tables.Actuators:
    rows = world.actuators
    laws = [_law(row.actuator_type) for row in rows]
    targets = [_target(row.target, index, model) for row in rows]
    # motors are all alike, so columns are made of the laws that differ and then spread
    known = {id(law): law for law in laws}
    place = {key: k for k, key in enumerate(known)}
    where = np.array([place[id(law)] for law in laws], np.int64)

    def column(name: str, kind: Any = np.float64) -> np.ndarray:
        return np.array([law[name] for law in known.values()], kind)[where]

    n = len(rows)
    table = tables.Actuators(
        label=labels([a.name for a in rows], "actuator"),
        target_kind=codes([t[0] for t in targets]),
        target=np.array([t[1] for t in targets], np.int64),
        reference=np.array([t[2] for t in targets], np.int64),
        rod=np.array([t[3] for t in targets], np.float64),
        gear=rows_of_numbers([a.gear for a in rows], 6),
        gain_kind=column("gain_kind", np.int64),
        gain=column("gain").reshape(n, 10),
        bias_kind=column("bias_kind", np.int64),
        bias=column("bias").reshape(n, 10),
        activation_kind=column("activation_kind", np.int64),
        activation=column("activation").reshape(n, 10),
        activation_early=column("activation_early", bool),
        control_range=_ranges(rows, "ctrlrange"),
        force_range=_ranges(rows, "forcerange"),
        activation_range=column("activation_range").reshape(n, 2),
        length_range=_ranges(rows, "length_range"),
        group=np.array([a.group for a in rows], np.int64),
    )
    ratios = [(u, law["damping_ratio"]) for u, law in enumerate(laws) if law["damping_ratio"] is not None]
    if ratios:
        damped = np.array([u for u, _ in ratios], np.int64)
        found = damping_of_ratios(model, table, damped, np.array([ratio for _, ratio in ratios]))
        bias = table.bias.copy()
        bias[damped, 2] = -found
        table = replace(table, bias=bias)
    return table


def _keyframes(world: World, trees: SceneTrees, model: Model) -> tables.Keyframes:
    frames = world.keyframes
    moving = moving_joints(world) if frames else []
    q = np.empty((len(frames), model.joint_coord_count))
    v = np.empty((len(frames), model.joint_dof_count))
    q[:], v[:] = model.joint_q, model.joint_qd
    controls = np.zeros((len(frames), len(world.actuators)))
    # where the coordinates of a keyframe, one joint after another, stand in the model
    records, place = trees.builder.joints, trees.joint_index
    found = [(records[place[id(joint)]], sizes) for _, joint, sizes in moving]
    place_q = np.array([j.start + i for j, (count, _) in found for i in range(count)], np.int64)
    place_v = np.array([j.v_start + i for j, (_, count) in found for i in range(count)], np.int64)
    for k, frame in enumerate(frames):
        if frame.dof_pos.size:
            q[k, place_q] = frame.dof_pos
        if frame.dof_vel.size:
            v[k, place_v] = frame.dof_vel
        if frame.ctrl.size:
            controls[k] = frame.ctrl
    times = [np.nan if frame.time is None else frame.time for frame in frames]
    return tables.Keyframes(
        labels([f.name for f in frames], "keyframe"),
        np.array(times, np.float64),
        q,
        v,
        controls,
        _activations(world, model),
        _mocap_poses(world, model),
    )


def _activations(world: World, model: Model) -> Array:
    """Activations of keyframes, not a number where they give none."""
    found = np.full((len(world.keyframes), model.activation_count), np.nan)
    for k, frame in enumerate(world.keyframes):
        if frame.act.size == found.shape[1]:
            found[k] = frame.act
    return found


def _mocap_poses(world: World, model: Model) -> Array:
    """Poses of mocap bodies; those that a keyframe does not give are the drawn ones."""
    assert model.mocap_bodies is not None
    drawn = model.body_q[model.mocap_bodies]
    found = np.empty((len(world.keyframes), *drawn.shape))
    found[:] = drawn
    for k, frame in enumerate(world.keyframes):
        if frame.mocap_pos.size:
            found[k, :, :3] = frame.mocap_pos
        if frame.mocap_quat.size:
            found[k, :, 3:] = frame.mocap_quat / np.linalg.norm(frame.mocap_quat, axis=1, keepdims=True)
    return found
