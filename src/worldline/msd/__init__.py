# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The scene description: everything that can be said about a world, as plain editable objects.

A scene is a `World`. Load one with `from_file`, build one from the classes here, or join several
with `World.attach`; check it with `World.validate`, look at it with `World.summary`, and save it
with `World.to_file`. Lengths are in metres, angles in radians unless a field says degrees, masses
in kilograms; quaternions are xyzw; sizes of shapes are half sizes.

Fields are plain attributes that take tuples, lists and arrays and refuse wrong types and shapes on
assignment. Objects are live: what is read from a scene and edited in place changes the scene.
Variants are made by their cases, such as `ActuatorTarget.joint("elbow")`.
"""

from typing import TYPE_CHECKING, Any

from worldline._src.errors import Problem, SceneError
from worldline._src.scene.actuators import (
    Actuator,
    ActuatorTarget,
    ActuatorType,
    BiasType,
    DampingType,
    DynType,
    GainType,
    GeneralParam,
    PositionParam,
)
from worldline._src.scene.asset_specs import (
    AssetSpecs,
    HFieldSource,
    HFieldSourceType,
    MeshData,
    MeshSource,
    MeshTransform,
)
from worldline._src.scene.bodies import (
    Body,
    BodyKind,
    BodyRole,
    Frame,
    FrameKind,
    Hierarchy,
    Inertia,
    Link,
    Multibody,
)
from worldline._src.scene.cameras import (
    Camera,
    DirectionalLightDesc,
    FreeCamera,
    Light,
    LightType,
    PointLightDesc,
    PositionTrack,
    RotationTrack,
    SpotLightDesc,
    TrackMode,
)
from worldline._src.scene.closures import (
    ClosureDynamicsPolicy,
    ClosureKinematicsPolicy,
    CouplerMode,
    DifferentiableParameter,
    DistanceSpring,
    FrameRef,
    GroundContact,
    GroundPoint,
    JointCoupler,
    LoopClosure,
    LoopClosureFamily,
    PhysicalParameter,
    ProjectionPolicy,
    WorldJoint,
)
from worldline._src.scene.constraints import (
    ConnectConstraintType,
    EqualityConnect,
    EqualityConstraintSet,
    EqualityJoint,
    EqualityPath,
    EqualityTendon,
    EqualityWeld,
    PathShape,
    WeldConstraintType,
)
from worldline._src.scene.contact import (
    CollisionIgnores,
    CollisionMask,
    CombineRule,
    ConstraintForceModel,
    ContactPair,
    ForceOverride,
    PhysicsMaterial,
)
from worldline._src.scene.formats.load import ReadOptions, from_file, from_msgpack, from_str
from worldline._src.scene.geometry import Geometry, GeomVisualAttrs, MeshInertia, ShapeType, Site, SiteShape
from worldline._src.scene.joints import (
    CoordinateFunction,
    DriveType,
    EulerOrder,
    FreeJoint,
    Joint,
    JointDof,
    JointType,
    MotionAxis,
    MotionTerm,
    TargetMode,
)
from worldline._src.scene.keyframes import Keyframe
from worldline._src.scene.limits import Limits
from worldline._src.scene.materials import (
    AlphaMode,
    BuildinAttr,
    ColorSpace,
    DynamicTextureDesc,
    Layer,
    Mark,
    Material,
    MaterialRole,
    SkyboxLayout,
    TexcoordOrigin,
    Texture,
    TextureSource,
    TextureType,
)
from worldline._src.scene.options import (
    CoACDApxMode,
    CoACDConfig,
    CoACDPreprocessMode,
    CompileOptions,
    ConvexStrategy,
    FrictionModel,
    InertiaSource,
    IntegratorMethod,
    ShapeFit,
    SimulateOption,
    SolverType,
)
from worldline._src.scene.policies import (
    AcceleratorPolicy,
    ContactGradientMode,
    ContactOptions,
    ContactSolverMethod,
    DeactivationOptions,
    DivergenceAction,
    DivergenceOptions,
    IntegrationFamily,
    MultibodyOptions,
    RigidBodySolver,
    SimulationPolicy,
)
from worldline._src.scene.report import Fate, Report, ReportEntry
from worldline._src.scene.schema import json_schema
from worldline._src.scene.sensor_types import (
    ActuatorSensorType,
    ContactMatch,
    ContactSensorReduce,
    DistanceSensorType,
    FrameSensorRef,
    FrameSensorType,
    JointSensorType,
    ObjectType,
    SiteSensorType,
    SubtreeSensorType,
    TendonSensorType,
    WorldSensorType,
)
from worldline._src.scene.sensors import (
    ActuatorSensor,
    CameraProjectionSensor,
    ContactSensor,
    ContactSensorReport,
    DistanceSensor,
    FrameSensor,
    ImuSensor,
    InsideSensor,
    JointSensor,
    SensorSet,
    SiteSensor,
    SubtreeSensor,
    TendonSensor,
    TouchSensor,
    WorldSensor,
)
from worldline._src.scene.tendons import (
    JointTendon,
    JointTendonNode,
    SpatialTendon,
    SpringLengthType,
    TendonPathNode,
    TendonSet,
)
from worldline._src.scene.values import (
    FrequencyDampingRatio,
    Impedance,
    ImpedanceDamping,
    ImpedanceSpring,
    Range,
    SpringDampCoeff,
    SpringDamper,
    StiffnessDamping,
)
from worldline._src.scene.visual import (
    AmbientLight,
    HeadLight,
    Probe,
    SceneStatistic,
    SsgiSettings,
    ToneMapping,
    ToneMappingMethod,
    Visual,
)
from worldline._src.scene.world import CustomData, World

if TYPE_CHECKING:
    from worldline._src.step.build import build

__all__ = [
    "AcceleratorPolicy", "Actuator", "ActuatorSensor", "ActuatorSensorType", "ActuatorTarget", "ActuatorType",
    "AlphaMode", "AmbientLight", "AssetSpecs", "BiasType", "Body", "BodyKind", "BodyRole", "BuildinAttr",
    "Camera", "CameraProjectionSensor", "ClosureDynamicsPolicy", "ClosureKinematicsPolicy", "CoACDApxMode",
    "CoACDConfig", "CoACDPreprocessMode", "CollisionIgnores", "CollisionMask", "ColorSpace", "CombineRule",
    "CompileOptions", "ConnectConstraintType", "ConstraintForceModel", "ContactGradientMode", "ContactMatch",
    "ContactOptions", "ContactPair", "ContactSensor", "ContactSensorReduce", "ContactSensorReport",
    "ContactSolverMethod", "ConvexStrategy", "CoordinateFunction", "CouplerMode", "CustomData", "DampingType",
    "DeactivationOptions", "DifferentiableParameter", "DirectionalLightDesc", "DistanceSensor",
    "DistanceSensorType", "DistanceSpring", "DivergenceAction", "DivergenceOptions", "DriveType", "DynType",
    "DynamicTextureDesc", "EqualityConnect", "EqualityConstraintSet", "EqualityJoint", "EqualityPath",
    "EqualityTendon", "EqualityWeld", "EulerOrder", "Fate", "ForceOverride", "Frame", "FrameKind", "FrameRef",
    "FrameSensor", "FrameSensorRef", "FrameSensorType", "FreeCamera", "FreeJoint", "FrequencyDampingRatio",
    "FrictionModel", "GainType", "GeneralParam", "GeomVisualAttrs", "Geometry", "GroundContact",
    "GroundPoint", "HFieldSource", "HFieldSourceType", "HeadLight", "Hierarchy", "Impedance",
    "ImpedanceDamping", "ImpedanceSpring", "ImuSensor", "Inertia", "InertiaSource", "InsideSensor",
    "IntegrationFamily", "IntegratorMethod", "Joint", "JointCoupler", "JointDof", "JointSensor",
    "JointSensorType", "JointTendon", "JointTendonNode", "JointType", "Keyframe", "Layer", "Light",
    "LightType", "Limits", "Link", "LoopClosure", "LoopClosureFamily", "Mark", "Material", "MaterialRole",
    "MeshData", "MeshInertia", "MeshSource", "MeshTransform", "MotionAxis", "MotionTerm", "Multibody",
    "MultibodyOptions", "ObjectType", "PathShape", "PhysicalParameter", "PhysicsMaterial", "PointLightDesc",
    "PositionParam", "PositionTrack", "Probe", "Problem", "ProjectionPolicy", "Range", "ReadOptions",
    "Report", "ReportEntry", "RigidBodySolver", "RotationTrack", "SceneError", "SceneStatistic", "SensorSet",
    "ShapeFit", "ShapeType", "SimulateOption", "SimulationPolicy", "Site", "SiteSensor", "SiteSensorType",
    "SiteShape", "SkyboxLayout", "SolverType", "SpatialTendon", "SpotLightDesc", "SpringDampCoeff",
    "SpringDamper", "SpringLengthType", "SsgiSettings", "StiffnessDamping", "SubtreeSensor",
    "SubtreeSensorType", "TargetMode", "TendonPathNode", "TendonSensor", "TendonSensorType", "TendonSet",
    "TexcoordOrigin", "Texture", "TextureSource", "TextureType", "ToneMapping", "ToneMappingMethod",
    "TouchSensor", "TrackMode", "Visual", "WeldConstraintType", "World", "WorldJoint", "WorldSensor",
    "WorldSensorType", "build", "from_file", "from_msgpack", "from_str", "json_schema",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # building needs the kernels; reading and editing scenes should not load a compiler
    if name == "build":
        from worldline._src.step.build import build

        return build
    raise AttributeError(f"module 'worldline.msd' has no attribute '{name}'")
