# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The array layer: build a model, run every tree algorithm on one world or on thousands.

>>> from worldline.model import ModelBuilder, forward_dynamics
>>> builder = ModelBuilder()
>>> bob = builder.add_link(mass=1.0, com=(0, 0, -1))
>>> hinge = builder.add_joint_revolute(parent=-1, child=bob, axis=(0, 1, 0))
>>> _ = builder.add_articulation([hinge])
>>> model = builder.finalize()
>>> forward_dynamics(model, [0.1], [0.0], [0.0]).round(3)
array([-0.979])
"""

from worldline._src.errors import BatchFailure, StepFailure
from worldline._src.model.builder import ModelBuilder
from worldline._src.model.builder_shapes import ShapeConfig
from worldline._src.model.kinds import ActuatorMode, Axis, BodyFlags, JointType, ShapeFlags, ShapeKind
from worldline._src.model.model import Control, Model, State
from worldline._src.model.records import JointDofConfig
from worldline._src.model.selection import ArticulationView
from worldline._src.step.articulation_terms import eval_bias_forces, eval_jacobian, eval_mass_matrix
from worldline._src.step.balance import balance_margin, support_polygon, zero_moment_point
from worldline._src.step.binding import BoundCall, bind
from worldline._src.step.constrained import ConstrainedDynamics, constrained_dynamics, delassus_matrix
from worldline._src.step.coordinates import eval_fk, eval_ik
from worldline._src.step.derivatives import (
    CentroidalDerivatives,
    ForwardDynamicsDerivatives,
    IntegrationDerivatives,
    InverseDynamicsDerivatives,
    KinematicsDerivatives,
    centroidal_derivatives,
    forward_dynamics_derivatives,
    integration_derivatives,
    inverse_dynamics_derivatives,
    kinematics_derivatives,
)
from worldline._src.step.divergence import DivergencePolicy
from worldline._src.step.dynamics import (
    bias_forces,
    center_of_mass,
    center_of_mass_acceleration,
    center_of_mass_jacobian,
    center_of_mass_velocity,
    centroidal_momentum_matrix,
    coriolis_forces,
    difference,
    forward_dynamics,
    forward_kinematics,
    gravity_forces,
    impulse_response,
    integrate,
    interpolate,
    inverse_dynamics,
    kinetic_energy,
    link_accelerations,
    link_velocities,
    mass_matrix,
    mass_matrix_inverse,
    momentum,
    neutral,
    passive_forces,
    potential_energy,
    random_configuration,
    solve_mass_matrix,
)
from worldline._src.step.jacobians import jacobian, jacobian_derivative, jacobian_dot_times_v
from worldline._src.step.lane_simulation import LaneSimulation
from worldline._src.step.model_step import step
from worldline._src.step.reduction import freeze_joints
from worldline._src.step.regressors import (
    body_regressor,
    inertial_parameters,
    joint_torque_regressor,
    kinetic_energy_regressor,
    potential_energy_regressor,
)
from worldline._src.step.second_derivatives import (
    InverseDynamicsSecondDerivatives,
    inverse_dynamics_second_derivatives,
)
from worldline._src.step.simulation import Simulation
from worldline._src.step.stepping import MultibodyIntegrationFamily

__all__ = [
    "ActuatorMode", "ArticulationView", "Axis", "BatchFailure", "BodyFlags", "BoundCall",
    "CentroidalDerivatives", "ConstrainedDynamics", "Control", "DivergencePolicy",
    "ForwardDynamicsDerivatives", "IntegrationDerivatives", "InverseDynamicsDerivatives",
    "InverseDynamicsSecondDerivatives", "JointDofConfig", "JointType", "KinematicsDerivatives",
    "LaneSimulation", "Model", "ModelBuilder", "MultibodyIntegrationFamily", "ShapeConfig", "ShapeFlags",
    "ShapeKind", "Simulation", "State", "StepFailure", "balance_margin", "bias_forces", "bind",
    "body_regressor", "center_of_mass", "center_of_mass_acceleration", "center_of_mass_jacobian",
    "center_of_mass_velocity", "centroidal_derivatives", "centroidal_momentum_matrix", "constrained_dynamics",
    "coriolis_forces", "delassus_matrix", "difference", "eval_bias_forces", "eval_fk", "eval_ik",
    "eval_jacobian", "eval_mass_matrix", "forward_dynamics", "forward_dynamics_derivatives",
    "forward_kinematics", "freeze_joints", "gravity_forces", "impulse_response", "inertial_parameters",
    "integrate", "integration_derivatives", "interpolate", "inverse_dynamics", "inverse_dynamics_derivatives",
    "inverse_dynamics_second_derivatives", "jacobian", "jacobian_derivative", "jacobian_dot_times_v",
    "joint_torque_regressor", "kinematics_derivatives", "kinetic_energy", "kinetic_energy_regressor",
    "link_accelerations", "link_velocities", "mass_matrix", "mass_matrix_inverse", "momentum", "neutral",
    "passive_forces", "potential_energy", "potential_energy_regressor", "random_configuration",
    "solve_mass_matrix", "step", "support_polygon", "zero_moment_point",
]  # fmt: skip
