# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What a World compiles to: the Model, its Simulation, and the object-to-index maps.

A runtime is made anew when the topology of the description changes; state is carried over by object, so
handles never notice. Parameters are written to both, the description and the model.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod, ref

import numpy as np

from worldline._src.errors import UnavailableStage
from worldline._src.facade.kinds import ActuatorType, ContactSolverMethod, actuator_type
from worldline._src.facade.snapshots import BodyState, JointState, Snapshot, SwitchKey, objects_of
from worldline._src.facade.start_state import StartState
from worldline._src.kernels import drives
from worldline._src.model.joint_kinds import MODES
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.base import clone
from worldline._src.scene.bodies import Body, BodyKind, Hierarchy, Link
from worldline._src.scene.enums import counterparts
from worldline._src.scene.joints import DriveType, FreeJoint, Joint, TargetMode
from worldline._src.scene.world import World as Scene
from worldline._src.spatial.poses import Array, compose
from worldline._src.step import dynamics
from worldline._src.step.build import compile_scene
from worldline._src.step.constraints import Constraints
from worldline._src.step.contact_memory import recall, remembered, unfit
from worldline._src.step.divergence import DivergencePolicy
from worldline._src.step.fixed_world import fixed_or_why
from worldline._src.step.island_options import Rest, SolverMethod
from worldline._src.step.simulation import Simulation
from worldline._src.step.stepping import MultibodyIntegrationFamily, VariationalOptions
from worldline._src.step.thread_guard import ThreadGuard

if TYPE_CHECKING:
    from worldline._src.facade.options import DeactivationOptions
    from worldline._src.facade.state_space import StateSpace
    from worldline._src.step.step_derivatives import StepTangent

DRIVES = {
    ActuatorType.FORCE: drives.FORCE,
    ActuatorType.PASSIVE: drives.PASSIVE,
    ActuatorType.VELOCITY: drives.VELOCITY,
    ActuatorType.ACCELERATION: drives.ACCELERATION,
    ActuatorType.LOCKED: drives.LOCKED,
    # the joint takes no forces from its command; a motor, a row with a largest force, moves it
    ActuatorType.SERVO: drives.PASSIVE,
    ActuatorType.MIMIC: drives.PASSIVE,
}
"""Actuator types a step can follow, and their codes in the kernels."""
_SOLVERS = counterparts(ContactSolverMethod, SolverMethod, BOXED_LCP="BOXED")
MOTORS = (ActuatorType.SERVO, ActuatorType.MIMIC)
"""Those that are rows; a change to or from them makes the runtime anew."""


class Submodel(NamedTuple):
    """A model of some bodies alone, and the body of every link in it, by the id of the link."""

    model: Model
    link_body: dict[int, int]


def _sharing(model: Model) -> Model:
    """A copy of a model that shares its read-only arrays and tables: a change puts others in their place."""
    made = copy.copy(model)
    made.inertia_scratch.update(model.inertia_scratch)
    index, constant = model.arenas.index.copy(), model.arenas.constant.copy()
    vars(made)["arenas"] = model.arenas._replace(index=index, constant=constant)
    return made


class Runtime:
    """The compiled side of a World."""

    def __init__(
        self,
        scene: Scene,
        time_step: float,
        family: MultibodyIntegrationFamily,
        variational: VariationalOptions,
        method: ContactSolverMethod,
        strict: bool,
        like: Runtime | None = None,
        differentiable: bool = False,
        sweeps: int = 0,
        *,
        fixed: bool = False,
        validated: bool = False,
    ) -> None:
        """`like`: the runtime of a World that this one is a clone of; its model is copied, not compiled.
        `fixed`: rows of constraints have the layout of lanes; `not_fixed` says why where they cannot.
        `validated`: whether the scene has been validated since it was last changed.
        """
        self._differentiable = differentiable
        self.scene = scene
        self.guard = ThreadGuard("World", "World.clone")
        """Keeps threads apart; see `step/thread_guard.py`."""
        self.model: Model
        self.link_body: dict[int, int]
        self.joint_index: dict[int, int]
        if like is None:
            built = compile_scene(scene, validated=validated)
            self.model = built.model
            self.link_body, self.joint_index = built.trees.link_body, built.trees.joint_index
        else:
            self._take_over(like)
        made, self.not_fixed = fixed_or_why(self.model) if fixed else (None, "")
        constraints = made or Constraints(self.model, self._servos(), like=like and like.constraints)
        self.missing = constraints.missing
        """What the description requests and no stage does."""
        self.sim = Simulation(self.model, time_step, family, variational, constraints, self.guard)
        self.constraints = self.sim.constraints
        """Contacts, limits, dry friction and actuators; None when there are none."""
        self.choose_solver(method, strict, sweeps)
        self.persistent_wrench = np.zeros((self.model.body_count, 6))
        """Torques, then forces at centres of mass, that stay; world axes."""
        self.one_shot_wrench = np.zeros((self.model.body_count, 6))
        """The same for the next step only."""
        table = self.model.actuators
        self.control = self.sim.control
        """Controls of all actuators of the scene, disabled ones included; see `controls_written`."""
        sizes = np.zeros(0, np.int64) if table is None else table.activation_size
        self.activated = np.repeat(np.arange(len(sizes)), sizes)
        """The actuator of every activation."""
        mocaps = self.model.mocap_bodies
        self.mocap = self.model.body_q[[] if mocaps is None else mocaps].copy()
        """Poses of the mocap bodies, in the order of `Model.mocap_bodies`; see `apply_mocap_poses`."""
        loops = self.model.loop_joints
        self.joint_commands = np.zeros((0, 3)) if loops is None else loops.command.copy()
        """Effort, velocity and acceleration of the joints between bodies; see `joints_commanded`."""
        self.tangent: StepTangent | None = None
        self.settle_closures: Callable[[], None] | None = None
        """Projects loop closures whose policy requests it."""
        self.follows_closures = False
        """Whether steps leave some of them open."""
        self._has_one_shot = False
        self._start: StartState | None = None
        self._acted: Array | None = None
        self._submodels: dict[int, Submodel] = {}
        self.version = 0
        """Grows whenever a parameter is written."""
        self.spaces: dict[tuple[bool, bool], tuple[int, StateSpace]] = {}
        """Own spaces of the World, each with its version, by whether of controls and of free bodies alone."""
        self.queries: Any = None
        """Shapes for collision queries, a `queries.QueryScene` made on first use."""
        self.geoms: Any = None
        """Shapes of the description by the names that the model has for them, listed on first use."""
        self.sensors: Any = None
        """Readings of sensors, `sensor_values.Readings` made on first use."""
        for body in scene.hierarchy.bodies:
            self.set_body_kind(body)
        for joint in self._joints():
            self.set_drive(joint)
        self.acceleration_limits: Array | None = None
        """Bounds of commanded accelerations [m/s^2 or rad/s^2]; None for none at all."""
        self.read_acceleration_limits()

    def _take_over(self, like: Runtime) -> None:
        """Copy the model of another runtime, whose scene is equal."""
        self.model = _sharing(like.model)
        self.model.option = clone(self.scene.simulate_option)
        self.model.time_step = self.scene.simulate_option.timestep
        pairs = list(zip(objects_of(like.scene), objects_of(self.scene), strict=True))
        self.link_body, self.joint_index = (
            {id(new): known[id(old)] for old, new in pairs if id(old) in known}
            for known in (like.link_body, like.joint_index)
        )

    @property
    def activation(self) -> Array:
        """Activations of actuators; a view that is another one after arrays of a step grew."""
        return self.sim.activation

    @property
    def external_state(self) -> dict[str, Array]:
        """Arrays outside the arena on which the next step depends; replay frames contain them."""
        return {
            "held": self.persistent_wrench,
            "once": self.one_shot_wrench,
            "control": self.control,
            "activation": self.activation,
            "mocap": self.mocap,
            "joint_commands": self.joint_commands,
        }

    def controls_written(self) -> None:
        """Controls were written: actuators that act take theirs."""
        self.sim.controls_written()

    def joints_commanded(self) -> None:
        """Commands of joints between bodies were written: their motors take them."""
        if self.constraints is not None:
            self.constraints.command_joints(self.joint_commands)

    def memory(self) -> dict[str, Array]:
        """Contacts of the last step and sleeping islands; see `step/contact_memory.py`."""
        return remembered(self.sim)

    def recall(self, memory: Mapping[str, Array]) -> None:
        """Take over what `memory` gave; contacts that are not in it are forgotten."""
        self.forget_contacts()
        recall(self.sim, memory)
        if self.sim.contact_log is not None:
            self.sim.contact_log.take()

    def forget_contacts(self) -> None:
        """The state is no longer what the last step led to: there are no contacts of a last step."""
        self.sim.ground_dual[:] = 0.0
        if self.constraints is not None:
            self.constraints.forget_contacts()
        if self.sim.contact_log is not None:
            self.sim.contact_log.forget()

    def unfit(self, memory: Mapping[str, Array]) -> str | None:
        """The name of what does not fit, of memory from elsewhere; None when all of it fits."""
        return unfit(self.sim, memory)

    def choose_solver(self, method: ContactSolverMethod, strict: bool, sweeps: int) -> None:
        """How islands of constraints are solved from the next step on.

        `strict`: by no other method. `sweeps`: most of sequential impulses, 0 for as many as it takes.
        """
        if self.constraints is not None and not self.constraints.is_fixed:
            self.constraints.choose(_SOLVERS[method], strict, dense=self._differentiable, sweeps=sweeps)
            self.sim.reconfigure()

    def set_sleep(self, options: DeactivationOptions) -> None:
        """When islands fall asleep from the next step on; everything is awake then."""
        if self.constraints is not None:
            rest = Rest(
                options.linear_speed_threshold,
                options.angular_speed_threshold,
                options.generalized_speed_threshold,
                options.time_until_sleep,
                options.disturbance_force_threshold,
                options.wake_threshold_scale,
            )
            self.constraints.sleep(rest if options.enabled else None)
            self.sim.reconfigure()

    def set_divergence(
        self, policy: DivergencePolicy, limit: float, reset: WeakMethod[Callable[[Runtime], None]]
    ) -> None:
        """What happens when a step diverges; `reset` takes the World of this runtime to its start."""
        self.sim.divergence_policy, self.sim.divergence_limit = policy, limit

        runtime = ref(self)

        def start() -> None:
            back, found = reset(), runtime()
            assert back is not None and found is not None, "both live as long as their steps"
            with found.guard.reading():
                back(found)

        self.sim.on_reset = start

    def sleep_group(self, link: Link) -> int:
        """Number of the sleeping island of a link, -1 when it is awake."""
        if self.constraints is None or not self.constraints.sleeps:
            return -1
        column = self.constraints.column
        tree = int(column.body_tree[self.body(link) + 1])
        return int(column.tree_group[tree]) if tree >= 0 else -1

    def passive_forces(self) -> Array:
        """Springs, dampers and gravity compensation at the beginning of the last step."""
        return dynamics.passive_forces(self.model, self.sim.start_q.copy(), self.sim.start_v.copy())

    def constraint_forces(self) -> Array:
        """Generalized forces of all rows of the last step; a view."""
        if self.constraints is None or not self.constraints.constrains:
            return np.zeros(self.model.joint_dof_count)
        return self.constraints.column.qfrc

    # ---- who is where

    def _joints(self) -> list[Joint]:
        return [
            joint
            for link in self.scene.hierarchy.links()
            for joint in link.joints
            if id(joint) in self.joint_index and joint.frozen is None
        ]

    def _servos(self) -> np.ndarray:
        """Degrees of freedom of the servos."""
        found: list[int] = []
        for joint in self._joints():
            dofs = self.v_slice(joint)
            own = [dof.drive or joint.drive for dof in joint.dofs] or [joint.drive] * (dofs.stop - dofs.start)
            found += [d for d, drive in enumerate(own, dofs.start) if drive is DriveType.Servo]
        return np.array(found, np.int64)

    def body(self, link: Link) -> int:
        """Index of the body of a link."""
        return self.link_body[id(link)]

    def joint(self, joint: Joint | FreeJoint) -> int:
        """Index of a joint."""
        return self.joint_index[id(joint)]

    def q_slice(self, joint: Joint | FreeJoint) -> slice:
        """Coordinates of a joint; none of a fixed one."""
        return self._slice(joint, self.model.joint_q_start)

    def v_slice(self, joint: Joint | FreeJoint) -> slice:
        """Degrees of freedom of a joint; none of a fixed one."""
        return self._slice(joint, self.model.joint_qd_start)

    def _slice(self, joint: Joint | FreeJoint, starts: Array) -> slice:
        """Where a joint is in arrays that begin with it at `starts`."""
        j = self.joint_index.get(id(joint))
        if j is None:
            return slice(0, 0)
        found = slice(int(starts[j]), int(starts[j + 1]))
        # callers cut a view and copy it next
        if self.guard.busy:
            self.guard.wait()
        return found

    # ---- parameters

    def update(self, **arrays: Any) -> None:
        """Change parameter arrays of the model; what was derived from them is made again when needed."""
        with self.guard:
            self.model.update(**arrays)
            self.parameters_changed(arrays)

    def perturb(self, **arrays: Array) -> None:
        """The same without checks, for differences: around a flat body no other inertia is one."""
        with self.guard:
            self.model._update(arrays)
            self.parameters_changed(arrays)

    def update_rows(self, rows: slice, numbers: dict[str, Array]) -> None:
        """The same of some bodies or degrees of freedom alone."""
        with self.guard:
            self.model._update_rows(rows, numbers)
            self.parameters_changed(numbers)

    def parameters_changed(self, names: Iterable[str]) -> None:
        """Arrays of the model were replaced: the next step takes them over, poses are computed again."""
        self.version += 1
        self._submodels.clear()
        self.sim.parameters_changed(names)
        self.sim.written()

    def take_joint_rows(self, names: Collection[str]) -> bool:
        """Limits or dry friction of joints were updated; False where the next step needs other rows."""
        with self.guard:
            return self.constraints is not None and self.constraints.take_joint_rows(names)

    def set_friction(self, rows: np.ndarray, sliding: float) -> None:
        """Give shapes, by row of `Model.shapes`, another coefficient of sliding friction."""
        shapes = self.model.shapes
        assert shapes is not None
        friction = shapes.friction.copy()
        friction[rows, 0] = sliding
        with self.guard:
            # clones share the table
            self.model.shapes = shapes.with_friction(friction)
            if self.constraints is not None:
                self.constraints.take_friction()
            self.parameters_changed(())

    def update_dofs(self, name: str, joint: Joint | FreeJoint, numbers: Array) -> None:
        """Change one parameter of a joint's degrees of freedom in the model."""
        self.update_rows(self.v_slice(joint), {name: numbers})

    def set_drive(self, joint: Joint) -> None:
        """What the joint makes of its commands, as the description says."""
        if id(joint) not in self.joint_index or joint.frozen is not None:
            return
        dofs = self.v_slice(joint)
        own = [dof.drive for dof in joint.dofs] or [None] * (dofs.stop - dofs.start)
        for d, drive in zip(range(dofs.start, dofs.stop), own, strict=True):
            kind = DRIVES.get(actuator_type(joint.drive if drive is None else drive))
            if kind is not None:
                self.sim.drive[d] = kind
                self.model.set_drive(d, kind)
        self.version += 1
        self.sim.reconfigure()

    def accelerations_commanded(self) -> None:
        """Commanded accelerations were written, or their limits: they stay within them."""
        limits = self.acceleration_limits
        if limits is not None:
            np.clip(self.sim.a_target, -limits, limits, out=self.sim.a_target)

    def read_acceleration_limits(self) -> None:
        """Take over the limits of the description; None when there are none."""
        limits = np.full(self.model.joint_dof_count, np.inf)
        for joint in self._joints():
            given = [dof.acceleration_limit for dof in joint.dofs] or joint.acceleration_limit
            limits[self.v_slice(joint)] = given
        self.acceleration_limits = limits if np.isfinite(limits).any() else None
        self.accelerations_commanded()

    # ---- bodies that are placed from outside

    def apply_mocap_poses(self) -> None:
        """Fix mocap bodies where `mocap` says, in the model and in the description."""
        rows = np.array(self.model.joint_X_p)
        bodies = [body for body in self.scene.hierarchy.bodies if body.mocap]
        for body, pose in zip(bodies, self.mocap, strict=True):
            j = int(np.flatnonzero(self.model.joint_child == self.body(body.link))[0])
            rows[j] = compose(pose, self.model.joint_X_c[j])
            body.link.local_translation, body.link.local_rotation = pose[:3], pose[3:]
        if not np.array_equal(rows, self.model.joint_X_p):
            self.update(joint_X_p=rows)

    def set_target_modes(self, joint: Joint | FreeJoint, modes: list[TargetMode]) -> None:
        """Which targets the drives of a joint follow."""
        dofs, wanted = self.v_slice(joint), [MODES[mode] for mode in modes]
        if self.model.joint_act_mode[dofs].tolist() != wanted:
            self.model.set_actuator_modes(dofs, wanted)
            self.parameters_changed(("joint_act_mode",))

    def set_body_kind(self, body: Body) -> None:
        """Static and kinematic bodies are not moved by forces; static ones not by their velocity either."""
        self.version += 1
        self._start = None
        if body.free is None or id(body.free) not in self.joint_index:
            return
        dofs, b = self.v_slice(body.free), self.body(body.link)
        held = body.kind is not BodyKind.Dynamic
        if bool(self.model.body_kinematic[b]) != held:
            self.model.set_kinematic(b, held)
            self.parameters_changed(("body_flags",))
            self.sim.reconfigure()
        if body.kind is BodyKind.Static:
            self.sim.v[dofs] = 0.0
            self.sim.velocities_written()

    def submodel(self, bodies: list[Body]) -> Submodel:
        """A model of some bodies alone, for their dynamics terms; kept until a parameter changes."""
        key = id(bodies[0])
        known = self._submodels.get(key)
        if known is None:
            part = Scene(
                hierarchy=Hierarchy(),
                simulate_option=self.scene.simulate_option,
                compile_options=self.scene.compile_options,
                assets=self.scene.assets,
                source_path=self.scene.source_path,
            )
            part.hierarchy.bodies.extend(bodies)
            built = compile_scene(part, only_trees=True)
            model = built.model
            known = Submodel(model, built.trees.link_body)
            self._submodels[key] = known
            # the numbers of the whole model: masses may have been scaled to a total, springs settled
            first = min((self.link_body[key] - b for key, b in known.link_body.items()), default=0)
            rows = slice(first, first + model.body_count)
            joint = min((self.joint_index[k] - j for k, j in built.trees.joint_index.items()), default=0)
            start = int(self.model.joint_qd_start[joint]) if model.joint_count else 0
            dofs = slice(start, start + model.joint_dof_count)
            model.update(
                gravity=self.model.gravity,
                **{
                    name: getattr(self.model, name)[rows]
                    for name in ("body_mass", "body_com", "body_inertia")
                },
                **{name: getattr(self.model, name)[dofs] for name in ("joint_stiffness", "joint_damping")},
            )
        return known

    # ---- stepping

    def apply_one_shot(self, body: int, wrench: Array) -> None:
        """A torque, then a force at the centre of mass, for the next step only."""
        self.one_shot_wrench[body] += wrench
        self._has_one_shot = True

    def acted(self) -> Array:
        """Torques and forces that acted on bodies in the last step, (body_count, 6)."""
        return self.persistent_wrench if self._acted is None else self._acted

    def hold(self, body: int, wrench: Array) -> None:
        """A torque, then a force at the centre of mass, that stay."""
        if self._acted is None:
            self._acted = self.persistent_wrench.copy()
        self.persistent_wrench[body] = wrench
        self.sim.body_f[:] = self.persistent_wrench
        self.sim.forces_written()

    def wrenches_written(self) -> None:
        """Forces on bodies were written, those that stay or those of the next step."""
        self._has_one_shot = bool(self.one_shot_wrench.any())
        self.sim.body_f[:] = self.persistent_wrench
        self.sim.forces_written()

    @property
    def pushed(self) -> bool:
        """Whether forces act on bodies now, or acted before."""
        return self._has_one_shot or self.sim.has_wrenches

    def tick(self, n: int) -> None:
        """Let `n` time steps pass in which nothing moves by itself."""
        self.sim.clock[:2] += n

    def step(self, n: int) -> None:
        """Make `n` steps; what was applied once acts in the first.

        What was written before them is projected where closures ask for it, and so is every step that leaves
        such a closure open.
        """
        settle = self.settle_closures
        if settle is None:
            (self._step if self.tangent is None else self._steps)(n)
            return
        if self.follows_closures and self.tangent is not None:
            raise UnavailableStage(
                "a differentiable World does not project steps; loop closures that request PROJECT need the "
                "dynamics policy SOLVE there"
            )
        if self.sim.unsettled:
            settle()
        for _ in range(n if self.follows_closures else 1):
            self._steps(1 if self.follows_closures else n)
            if self.sim.frozen:
                return
            if self.follows_closures:
                settle()

    def _steps(self, n: int) -> None:
        tangent = self.tangent
        if tangent is None:
            self._step(n)
            return
        if n > 1:
            self._step(n - 1)
        tangent.keep(self.persistent_wrench + self.one_shot_wrench if self._has_one_shot else None)
        self._step(1)
        if self.sim.failure is None and not self.sim.frozen:
            tangent.stepped()

    def _step(self, n: int) -> None:
        self._acted = None
        if not self._has_one_shot:
            self.sim.take_steps(n)
            self._acted = self.sim.acted
            return
        try:
            self.sim.body_f[:] = self.persistent_wrench + self.one_shot_wrench
            self.sim.forces_written()
            self.sim.take_steps(1)
            self._acted = None if n > 1 else self.persistent_wrench + self.one_shot_wrench
        finally:
            self.one_shot_wrench[:] = 0.0
            self._has_one_shot = False
            self.sim.body_f[:] = self.persistent_wrench
            self.sim.forces_written()
        if n > 1:
            self.sim.take_steps(n - 1)
        if self.sim.acted is not None:
            self._acted = self.sim.acted

    # ---- state

    def snapshot(self) -> Snapshot:
        """State and commands of every object, to be carried to another runtime."""
        with self.guard:
            return self._snapshot()

    def _snapshot(self) -> Snapshot:
        sim, joints = self.sim, {}
        # one copy of each array, of which every joint and link has its part
        arrays = [(name[0] == "q", array.copy()) for name, array in self._fields(sim)]
        held, once = self.persistent_wrench.copy(), self.one_shot_wrench.copy()
        for body in self.scene.hierarchy.bodies:
            owned: list[Any] = [body.free] if body.free is not None else []
            owned += [joint for link in body.link.walk() for joint in link.joints]
            for joint in owned:
                if id(joint) in self.joint_index:
                    q, v = self.q_slice(joint), self.v_slice(joint)
                    parts = [array[q if is_position else v] for is_position, array in arrays]
                    joints[id(joint)] = JointState(joint, *parts)
        links = {
            id(link): BodyState(link, held[b], once[b])
            for link in self.scene.hierarchy.links()
            if (b := self.link_body.get(id(link))) is not None
        }
        switches = self.changed_switches(self.switches)
        commands = dict(zip(self._loop_names(), self.joint_commands.copy(), strict=True))
        others = (self.control.copy(), self.activation.copy(), self.mocap.copy(), switches, commands)
        return Snapshot(joints, links, sim.clock.copy(), *others)

    def _loop_names(self) -> list[str]:
        """Names of the joints between bodies."""
        return [] if self.model.loop_joints is None else list(self.model.loop_joints.label)

    def command_rows(self, saved: Snapshot) -> Array:
        """Commands of the joints between bodies of a snapshot in the order of this runtime, (joints, 3)."""
        kept = [saved.joint_commands.get(name, np.zeros(3)) for name in self._loop_names()]
        return np.array(kept).reshape(-1, 3)

    @property
    def switches(self) -> np.ndarray:
        """0 off, 1 on, 2 broken, of every constraint between bodies, coordinates and tendons; a view."""
        none = np.zeros(0, np.int64)
        return none if self.constraints is None else self.constraints.column.equality_on

    def _switched(self) -> list[tuple[SwitchKey, float]]:
        """Table and name of what `switches` are of, and what the description says of each."""
        made = [] if self.constraints is None else self.constraints.equalities
        return [((int(equality.owner), equality.label), float(equality.active)) for equality in made]

    def changed_switches(self, row: Array) -> dict[SwitchKey, float]:
        """Those of a row of switches that are not as described."""
        pairs = zip(self._switched(), row.tolist(), strict=True)
        return {key: float(now) for (key, described), now in pairs if now != described}

    def switch_row(self, saved: Snapshot) -> Array:
        """The switches of a snapshot in the order of this runtime."""
        return np.array([saved.switches.get(key, described) for key, described in self._switched()])

    @staticmethod
    def _fields(sim: Simulation) -> list[tuple[str, Array]]:
        return [(name, getattr(sim, name)) for name in JointState._fields[1:]]

    def restore(self, saved: Snapshot) -> None:
        """Take over what a snapshot knows of objects that are still here; others keep their start."""
        with self.guard:
            self._restore(saved)

    def reset(self, saved: Snapshot) -> None:
        """What `restore` does, of the snapshot that the World always returns to."""
        with self.guard:
            start = self._start
            if start is None or not start.is_of(self, saved):
                self._restore(saved)
                self._start = StartState(self, saved)
                return
            start.write()
            self._has_one_shot = start.has_one_shot
            if self.joint_commands.size:
                self.joints_commanded()
            if start.mocap is not None:
                self.mocap[:] = start.mocap
                self.apply_mocap_poses()
            sim = self.sim
            if start.has_wrench:
                sim.forces_written()
            if sim.contact_log is not None:
                sim.contact_log.forget()
            sim.written()

    def _restore(self, saved: Snapshot) -> None:
        for key, kept in saved.joints.items():
            if key in self.joint_index:
                q, v = self.q_slice(kept.owner), self.v_slice(kept.owner)
                if len(kept.q) == q.stop - q.start and len(kept.v) == v.stop - v.start:
                    for name, array in self._fields(self.sim):
                        array[q if name.startswith("q") else v] = getattr(kept, name)
        for key, wrench in saved.bodies.items():
            b = self.link_body.get(key)
            if b is not None:
                self.persistent_wrench[b], self.one_shot_wrench[b] = wrench.held, wrench.once
        if len(saved.control) == len(self.control) and len(saved.activation) == len(self.activation):
            self.control[:], self.activation[:] = saved.control, saved.activation
            self.controls_written()
        self._restore_others(self.switch_row(saved), self.command_rows(saved), saved.mocap, saved.clock)

    def _restore_others(self, switches: Array, commands: Array, mocap: Array, clock: Array) -> None:
        self.switches[:] = switches
        self.joint_commands[:] = commands
        self.joints_commanded()
        if mocap.size and mocap.shape == self.mocap.shape:
            self.mocap[:] = mocap
            self.apply_mocap_poses()
        self.wrenches_written()
        self.sim.clock[:] = clock
        self.forget_contacts()
        self.state_replaced()

    def take_state(self, other: Runtime) -> None:
        """What `restore` does of the present state of a runtime of an equal scene."""
        with self.guard, other.guard:
            for (_, array), (_, given) in zip(self._fields(self.sim), self._fields(other.sim), strict=True):
                array[:] = given
            for name in ("persistent_wrench", "one_shot_wrench", "control", "activation"):
                getattr(self, name)[:] = getattr(other, name)
            self.controls_written()
            self._restore_others(other.switches, other.joint_commands, other.mocap, other.sim.clock)

    def state_replaced(self) -> None:
        """The whole state was written from elsewhere; static bodies have no velocity."""
        self.sim.written()
        for body in self.scene.hierarchy.bodies:
            if body.kind is BodyKind.Static:
                self.set_body_kind(body)
