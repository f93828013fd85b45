# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bulk properties of collections, as typed code uses them; a strict type checker reads this too."""

from __future__ import annotations

from worldline import simulation as sx
from worldline._src.spatial.poses import Array


def of_bodies(bodies: sx.RigidBodyCollection) -> list[Array]:
    """Rigid bodies."""
    bodies.masses = [1.0] * len(bodies)
    bodies.are_static = False
    bodies.are_kinematic = False
    bodies.frictions = 0.5
    bodies.restitutions = 0.1
    return [
        bodies.transforms,
        bodies.translations,
        bodies.quaternions,
        bodies.rotations,
        bodies.local_transforms,
        bodies.linear_velocities,
        bodies.angular_velocities,
        bodies.linear_accelerations,
        bodies.angular_accelerations,
        bodies.linear_momenta,
        bodies.angular_momenta,
        bodies.kinetic_energies,
        bodies.potential_energies,
        bodies.centers_of_mass,
        bodies.inertias,
        bodies.gravity_compensations,
        bodies.forces,
        bodies.torques,
        bodies.are_sleeping,
    ]


def of_joints(joints: sx.JointCollection) -> list[Array]:
    """Joints of a multibody."""
    joints.target_stiffness = 1.0
    joints.target_damping = 1.0
    joints.spring_stiffness = 1.0
    joints.set_position_limits(-1.0, 1.0)
    return [
        joints.rest_position,
        joints.damping_coefficient,
        joints.coulomb_friction,
        joints.armature,
        joints.velocity_limits,
        joints.acceleration_limits,
        joints.effort_limits,
        joints.velocity_lower_limits,
        joints.velocity_upper_limits,
        joints.effort_lower_limits,
        joints.effort_upper_limits,
        joints.limit_margin,
        joints.axis,
        joints.break_force,
        joints.break_torque,
        joints.is_broken,
        joints.is_frozen,
    ]


def of_screws(joints: sx.JointCollection) -> list[Array]:
    """Only joints of some types have these."""
    return [joints.axis2, joints.pitch]


def of_hinges(owned: sx.WorldJointCollection) -> Array:
    """Welds have no axis."""
    return owned.axes


def of_others(closures: sx.LoopClosureCollection, owned: sx.WorldJointCollection) -> list[Array]:
    """Loop closures and joints of the World."""
    owned.break_forces = 1e6
    owned.break_torques = 1e6
    return [
        closures.enabled,
        closures.distances,
        closures.offsets_a,
        closures.offsets_b,
        owned.are_broken,
        owned.wrenches,
        owned.position,
        owned.velocity,
        owned.position_lower_limits,
        owned.position_upper_limits,
        owned.break_forces,
    ]


def of_choices(
    bodies: sx.RigidBodyCollection, joints: sx.JointCollection, closures: sx.LoopClosureCollection
) -> tuple[object, ...]:
    """Enumerations and value objects come in tuples; one can be written for all."""
    joints.actuator_type = sx.ActuatorType.FORCE
    joints.actuator_type = [sx.ActuatorType.FORCE] * len(joints)
    joints.constraint_projection_policy = joints.constraint_projection_policy
    bodies.mass_properties = bodies.mass_properties
    closures.dynamics = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
    closures.kinematics = closures.kinematics
    closures.initial_tolerances = None
    closures.runtime_policies = closures.runtime_policies
    return (*joints.types, *closures.families)


def of_world_screws(owned: sx.WorldJointCollection) -> list[Array]:
    """Only joints of some types have these."""
    return [owned.axes2, owned.pitches]


def run() -> int:
    """Use all of it; returns how many arrays were read."""
    world = sx.World()
    a, b = world.add_rigid_body("a"), world.add_rigid_body("b", position=(1, 0, 0))
    arm = world.add_multibody("arm")
    arm.add_link("tip", joint=sx.JointSpec(name="hinge"))
    world.add_loop_closure("rod", frame_a=a, frame_b=b, family=sx.LoopClosureFamily.POINT)
    world.add_joint(a, sx.JointSpec(name="weld", type=sx.JointType.FIXED))
    found = of_bodies(world.rigid_bodies) + of_joints(arm.joints)
    found += of_others(world.loop_closures, world.joints)
    of_choices(world.rigid_bodies, arm.joints, world.loop_closures)
    return len(found)
