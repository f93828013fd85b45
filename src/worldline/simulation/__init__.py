# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The object facade: build or load a world, step it, read it.

>>> from worldline import simulation as sx
>>> world = sx.World(gravity=(0, 0, 0))
>>> puck = world.add_rigid_body("puck", linear_velocity=(2, 0, 0))
>>> world.step(n=500)
>>> puck.translation.round(9).tolist()
[1.0, 0.0, 0.0]
"""

import typing as _typing

from worldline._src.later import later as _later

if _typing.TYPE_CHECKING:
    from numpy import float64

    from worldline._src.collision.shapes import CollisionShape, CollisionShapeType
    from worldline._src.drawing.cameras import LookAt
    from worldline._src.errors import StepFailure
    from worldline._src.facade.batch.contacts import BatchContacts
    from worldline._src.facade.batch.flat_view import FlatArticulationView
    from worldline._src.facade.batch.functions import BatchStepContext, BatchStepFunction
    from worldline._src.facade.batch.handles import BatchJoint, BatchLink, BatchMultibody, BatchRigidBody
    from worldline._src.facade.batch.mixed_batch import MixedBatch
    from worldline._src.facade.batch.parameters import BatchParameters
    from worldline._src.facade.batch.randomization import (
        Choice,
        LogUniform,
        Normal,
        Randomization,
        Randomized,
        Uniform,
    )
    from worldline._src.facade.batch.selection import BatchSelection, BatchWorld
    from worldline._src.facade.batch.world_batch import WorldBatch
    from worldline._src.facade.body_options import LinkOptions, RigidBodyOptions
    from worldline._src.facade.capabilities import Capability, capabilities
    from worldline._src.facade.closure_projection import ClosureProjectionOptions, ClosureProjectionReport
    from worldline._src.facade.collections import (
        DofCollection,
        JointCollection,
        LinkCollection,
        LoopClosureCollection,
        NamedCollection,
        RigidBodyCollection,
        WorldJointCollection,
    )
    from worldline._src.facade.contacts import Contact, ContactForce
    from worldline._src.facade.degree_of_freedom import DegreeOfFreedom
    from worldline._src.facade.derivatives import DerivativeCheck, Provenance, StepDerivatives, StepGradient
    from worldline._src.facade.dump import dump_scene_json, dump_scene_text
    from worldline._src.facade.end_effector import EndEffector
    from worldline._src.facade.executors import ComputeExecutor, ParallelExecutor, SequentialExecutor
    from worldline._src.facade.explain import Explanation
    from worldline._src.facade.frame import FixedFrame, Frame, FreeFrame
    from worldline._src.facade.independent_coordinates import IndependentCoordinates
    from worldline._src.facade.inertia import Inertia
    from worldline._src.facade.jobs import StepJob, StepProgress
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.joint_spec import JointSpec
    from worldline._src.facade.joint_stiffness import JointConstraintProjectionPolicy
    from worldline._src.facade.kinds import (
        ActuatorType,
        ClosureDynamicsPolicy,
        ClosureKinematicsPolicy,
        ComputeAcceleratorPolicy,
        ContactGradientMode,
        ContactSolverMethod,
        JointType,
        LoopClosureFamily,
        LoopClosureResidualCoordinates,
        ModelFormat,
        PhysicalParameter,
        RigidBodySolver,
        RootJointType,
        UpdatePolicy,
        WorldSyncStage,
    )
    from worldline._src.facade.kinematics_report import BodyClearance, KinematicsReport
    from worldline._src.facade.ledger import EnergyLedger
    from worldline._src.facade.link import Link
    from worldline._src.facade.loading import LoadResult, ReadOptions, SkeletonLoadOptions, add_world
    from worldline._src.facade.loop_closure import (
        LoopClosure,
        LoopClosureResidual,
        LoopClosureRuntimePolicy,
        LoopClosureSpec,
    )
    from worldline._src.facade.marker import Marker
    from worldline._src.facade.metrics import StepMetrics
    from worldline._src.facade.multibody import Multibody
    from worldline._src.facade.options import DeactivationOptions, MultibodyOptions, WorldOptions
    from worldline._src.facade.queries import BodyDistance, BodyPoint, CollisionQueries, RayHit, RayHits
    from worldline._src.facade.query_options import CollisionQueryOptions
    from worldline._src.facade.recording import Recording, RecordingError
    from worldline._src.facade.replay import Replay, ReplayCheck, ReplayDifference, ReplayIndexError
    from worldline._src.facade.replay_layout import LayoutError
    from worldline._src.facade.requirements import ResolvedOption
    from worldline._src.facade.rigid_body import RigidBody
    from worldline._src.facade.sensors import FunctionSensor, Sensor, SensorCollection, SensorReading
    from worldline._src.facade.shapes import CollisionBody
    from worldline._src.facade.skeletons import (
        SkeletonToMultibodyOptions,
        add_skeleton,
        build_multibody_from_skeleton,
    )
    from worldline._src.facade.state_space import StateSpace, StateVariable
    from worldline._src.facade.step_functions import StepFunction, WorldStepContext
    from worldline._src.facade.step_options import StepOptions
    from worldline._src.facade.step_report import (
        BreakEvent,
        ContactEvent,
        ContactEventKind,
        PairForce,
        StepReport,
    )
    from worldline._src.facade.subsets import Branch, Chain, Group, Linkage
    from worldline._src.facade.visibility import VisibilityQueries, VisibleBody
    from worldline._src.facade.world import World
    from worldline._src.facade.world_joint import WorldJoint
    from worldline._src.facade.world_state import WorldControl, WorldState
    from worldline._src.render.batch_pictures import render_batch
    from worldline._src.render.pictures import Picture
    from worldline._src.render.renderer import Renderer, render
    from worldline._src.step.divergence import DivergencePolicy
    from worldline._src.step.execution_profile import ComputeExecutionProfile, ComputeNodeExecutionProfile
    from worldline._src.step.profiling import WorldStepProfile, WorldStepStageProfile
    from worldline._src.step.stepping import MultibodyIntegrationFamily
    from worldline._src.viewer.batch_viewer import BatchViewer, view_batch
    from worldline._src.viewer.viewer import Viewer, view
    from worldline.simulation import compute as compute
    from worldline.simulation import diff as diff
    from worldline.simulation import rendering as rendering
    from worldline.simulation import sensors as sensors
    from worldline.simulation import state as state
else:
    __getattr__ = _later(
        __name__,
        {
            "numpy": "float64",
            "collision.shapes": "CollisionShape CollisionShapeType",
            "drawing.cameras": "LookAt",
            "errors": "StepFailure",
            "facade.batch.contacts": "BatchContacts",
            "facade.batch.functions": "BatchStepContext BatchStepFunction",
            "facade.batch.handles": "BatchJoint BatchLink BatchMultibody BatchRigidBody",
            "facade.batch.parameters": "BatchParameters",
            "facade.batch.randomization": "Choice LogUniform Normal Randomization Randomized Uniform",
            "facade.batch.selection": "BatchSelection BatchWorld",
            "facade.batch.world_batch": "WorldBatch",
            "facade.batch.mixed_batch": "MixedBatch",
            "facade.batch.flat_view": "FlatArticulationView",
            "facade.body_options": "LinkOptions RigidBodyOptions",
            "facade.capabilities": "Capability capabilities",
            "facade.closure_projection": "ClosureProjectionOptions ClosureProjectionReport",
            "facade.collections": (
                "DofCollection JointCollection LinkCollection LoopClosureCollection NamedCollection "
                "RigidBodyCollection WorldJointCollection"
            ),
            "facade.contacts": "Contact ContactForce",
            "facade.degree_of_freedom": "DegreeOfFreedom",
            "facade.derivatives": "DerivativeCheck Provenance StepDerivatives StepGradient",
            "facade.dump": "dump_scene_json dump_scene_text",
            "facade.end_effector": "EndEffector",
            "facade.executors": "ComputeExecutor ParallelExecutor SequentialExecutor",
            "facade.explain": "Explanation",
            "facade.frame": "FixedFrame Frame FreeFrame",
            "facade.independent_coordinates": "IndependentCoordinates",
            "facade.inertia": "Inertia",
            "facade.jobs": "StepJob StepProgress",
            "facade.joint": "Joint",
            "facade.joint_spec": "JointSpec",
            "facade.joint_stiffness": "JointConstraintProjectionPolicy",
            "facade.kinematics_report": "BodyClearance KinematicsReport",
            "facade.kinds": (
                "ActuatorType ClosureDynamicsPolicy ClosureKinematicsPolicy ComputeAcceleratorPolicy "
                "ContactGradientMode ContactSolverMethod JointType LoopClosureFamily "
                "LoopClosureResidualCoordinates ModelFormat PhysicalParameter RigidBodySolver RootJointType "
                "UpdatePolicy WorldSyncStage"
            ),
            "facade.ledger": "EnergyLedger",
            "facade.link": "Link",
            "facade.loading": "LoadResult ReadOptions SkeletonLoadOptions add_world",
            "facade.loop_closure": "LoopClosure LoopClosureResidual LoopClosureRuntimePolicy LoopClosureSpec",
            "facade.marker": "Marker",
            "facade.metrics": "StepMetrics",
            "facade.multibody": "Multibody",
            "facade.options": "DeactivationOptions MultibodyOptions WorldOptions",
            "facade.queries": "BodyDistance BodyPoint CollisionQueries RayHit RayHits",
            "facade.query_options": "CollisionQueryOptions",
            "facade.recording": "Recording RecordingError",
            "facade.replay": "Replay ReplayCheck ReplayDifference ReplayIndexError",
            "facade.replay_layout": "LayoutError",
            "facade.requirements": "ResolvedOption",
            "facade.rigid_body": "RigidBody",
            "facade.sensors": "FunctionSensor Sensor SensorCollection SensorReading",
            "facade.shapes": "CollisionBody",
            "facade.skeletons": "SkeletonToMultibodyOptions add_skeleton build_multibody_from_skeleton",
            "facade.state_space": "StateSpace StateVariable",
            "facade.step_functions": "StepFunction WorldStepContext",
            "facade.step_options": "StepOptions",
            "facade.step_report": "BreakEvent ContactEvent ContactEventKind PairForce StepReport",
            "facade.subsets": "Branch Chain Group Linkage",
            "facade.visibility": "VisibilityQueries VisibleBody",
            "facade.world": "World",
            "facade.world_joint": "WorldJoint",
            "facade.world_state": "WorldControl WorldState",
            "render.batch_pictures": "render_batch",
            "render.pictures": "Picture",
            "render.renderer": "Renderer render",
            "step.divergence": "DivergencePolicy",
            "step.execution_profile": "ComputeExecutionProfile ComputeNodeExecutionProfile",
            "step.profiling": "WorldStepProfile WorldStepStageProfile",
            "step.stepping": "MultibodyIntegrationFamily",
            "viewer.batch_viewer": "BatchViewer view_batch",
            "viewer.viewer": "Viewer view",
            "": "compute diff rendering sensors state",
        },
    )

__all__ = [
    "ActuatorType", "BatchContacts", "BatchJoint", "BatchLink", "BatchMultibody", "BatchParameters",
    "BatchRigidBody", "BatchSelection", "BatchStepContext", "BatchStepFunction", "BatchViewer", "BatchWorld",
    "BodyClearance", "BodyDistance", "BodyPoint", "Branch", "BreakEvent", "Capability", "Chain", "Choice",
    "ClosureDynamicsPolicy", "ClosureKinematicsPolicy", "ClosureProjectionOptions", "ClosureProjectionReport",
    "CollisionBody", "CollisionQueries", "CollisionQueryOptions", "CollisionShape", "CollisionShapeType",
    "ComputeAcceleratorPolicy", "ComputeExecutionProfile", "ComputeExecutor", "ComputeNodeExecutionProfile",
    "Contact", "ContactEvent", "ContactEventKind", "ContactForce", "ContactGradientMode",
    "ContactSolverMethod", "DeactivationOptions", "DegreeOfFreedom", "DerivativeCheck", "DivergencePolicy",
    "DofCollection", "EndEffector", "EnergyLedger", "Explanation", "FixedFrame", "FlatArticulationView",
    "Frame", "FreeFrame", "FunctionSensor", "Group", "IndependentCoordinates", "Inertia", "Joint",
    "JointCollection", "JointConstraintProjectionPolicy", "JointSpec", "JointType", "KinematicsReport",
    "LayoutError", "Link", "LinkCollection", "LinkOptions", "Linkage", "LoadResult", "LogUniform", "LookAt",
    "LoopClosure", "LoopClosureCollection", "LoopClosureFamily", "LoopClosureResidual",
    "LoopClosureResidualCoordinates", "LoopClosureRuntimePolicy", "LoopClosureSpec", "Marker", "MixedBatch",
    "ModelFormat", "Multibody", "MultibodyIntegrationFamily", "MultibodyOptions", "NamedCollection", "Normal",
    "PairForce", "ParallelExecutor", "PhysicalParameter", "Picture", "Provenance", "Randomization",
    "Randomized", "RayHit", "RayHits", "ReadOptions", "Recording", "RecordingError", "Renderer", "Replay",
    "ReplayCheck", "ReplayDifference", "ReplayIndexError", "ResolvedOption", "RigidBody",
    "RigidBodyCollection", "RigidBodyOptions", "RigidBodySolver", "RootJointType", "Sensor",
    "SensorCollection", "SensorReading", "SequentialExecutor", "SkeletonLoadOptions",
    "SkeletonToMultibodyOptions", "StateSpace", "StateVariable", "StepDerivatives", "StepFailure",
    "StepFunction", "StepGradient", "StepJob", "StepMetrics", "StepOptions", "StepProgress", "StepReport",
    "Uniform", "UpdatePolicy", "Viewer", "VisibilityQueries", "VisibleBody", "World", "WorldBatch",
    "WorldControl", "WorldJoint", "WorldJointCollection", "WorldOptions", "WorldState", "WorldStepContext",
    "WorldStepProfile", "WorldStepStageProfile", "WorldSyncStage", "add_skeleton", "add_world",
    "build_multibody_from_skeleton", "capabilities", "dump_scene_json", "dump_scene_text", "float64",
    "render", "render_batch", "view", "view_batch",
]  # fmt: skip


def __dir__() -> list[str]:
    """Everything public, for completion and for the reference, also what was not imported yet."""
    return sorted({*globals(), *__all__})
