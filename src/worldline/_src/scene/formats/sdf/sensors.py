# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""SDF sensors that a scene can express: inertial units, magnetometers and lidars.

A sensor is named by its link and itself, `link::imu`. A lidar that looks all around in one plane is a ring of
range finders, any other one range finder a ray, `link::lidar[3]`. Cameras, contact and force sensors,
altimeters and others are left out, each with its type and name.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any, Final

import numpy as np

from worldline._src.scene.assets.references import free_name
from worldline._src.scene.assets.rotations import from_rpy, quaternion
from worldline._src.scene.bodies import Link
from worldline._src.scene.formats.sdf.frames import SEPARATOR, Scope, pose_within
from worldline._src.scene.formats.sdf.nodes import Node, called
from worldline._src.scene.formats.urdf.joints import across
from worldline._src.scene.formats.xml import Log
from worldline._src.scene.geometry import Site
from worldline._src.scene.poses import Pose
from worldline._src.scene.sensor_types import SiteSensorType
from worldline._src.scene.sensors import ImuSensor, SiteSensor
from worldline._src.scene.world import World

NOT_READ: Final = "sensors of this type are not read"
_LIDARS: Final = ("ray", "gpu_ray", "lidar", "gpu_lidar")
_SETTINGS: Final = dict.fromkeys(
    ("always_on", "visualize", "topic", "enable_metrics", "plugin"), "a setting of one simulator"
) | {"update_rate": "readings are those of every step"}
_MOST_RAYS: Final = 4096
_MOST_RAYS_OF_ALL: Final = 16_384
_MOST_SAMPLES: Final = 1 << 16
_FIELD: Final = (5.5645e-6, 22.8758e-6, -42.3884e-6)
"""Magnetic field of the format where a world gives none [T]."""


class SensorReader:
    """Reads the sensors of links into a scene."""

    def __init__(self, world: World, log: Log) -> None:
        self.world, self.log = world, log
        self.has_field = False
        self._names: set[str] = set()
        self._rays = 0

    def read(self, owner: Node, link: Link, scope: Scope, name: str) -> None:
        """Add the sensors of a link, which is called `name` within its scope."""
        for element in owner.children("sensor"):
            kind = element.get("type")
            if kind not in ("imu", "magnetometer", *_LIDARS):
                self.log.left_out(element, called(element) + NOT_READ)
                continue
            node = Node(element, self.log)
            label = free_name(f"{link.name}{SEPARATOR}{node.required_attribute('name')}", self._names)
            self._names.add(label)
            pose = pose_within(node, scope, name)
            if kind == "imu":
                self._imu(node, link, label, pose)
            elif kind == "magnetometer":
                self._magnetometer(node, link, label, pose)
            else:
                self._lidar(node, link, label, pose)
            node.finish(ignored=_SETTINGS, attributes=("name", "type"))

    def _imu(self, node: Node, link: Link, label: str, pose: Pose) -> None:
        made = ImuSensor(name=label, link=link.name or "", position=pose.position, orientation=pose.rotation)
        inner = node.node("imu")
        if inner is not None:
            made.noise = self._noise_of_axes(inner, "linear_acceleration")
            made.gyro_noise = self._noise_of_axes(inner, "angular_velocity")
            unread = ("enable_orientation", "orientation_reference_frame")
            inner.finish(ignored=dict.fromkeys(unread, "an inertial unit reads no orientation"))
        self.world.sensors.imu.append(made)

    def _magnetometer(self, node: Node, link: Link, label: str, pose: Pose) -> None:
        inner = node.node("magnetometer")
        noise = 0.0
        if inner is not None:
            noise = self._noise_of_axes(inner, None)
            inner.finish()
        if not self.has_field:
            self.world.simulate_option.magnetic = list(_FIELD)
            self.log.kept(node.element, "no <magnetic_field>; that of the format is taken")
            self.has_field = True
        self._at_site(link, label, pose, SiteSensorType.Magnetometer, noise=noise)

    def _lidar(self, node: Node, link: Link, label: str, pose: Pose) -> None:
        inner = node.node("lidar") or node.node("ray")
        if inner is None:
            self.log.left_out(node.element, f"{called(node.element)}no <lidar> says where it looks")
            return
        scan, span = inner.node("scan"), inner.node("range")
        azimuths = self._angles(scan, "horizontal")
        elevations = self._angles(scan, "vertical")
        if scan is not None:
            scan.finish()
        options: dict[str, Any] = {"noise": self._noise(inner.node("noise"))}
        if span is not None:
            options["cutoff"] = max(span.real("max", 0.0, infinite=True), 0.0)
            if not math.isfinite(options["cutoff"]):
                options["cutoff"] = 0.0
            span.finish(
                ignored={"min": "objects are seen from the sensor on", "resolution": "of the reading"}
            )
        inner.finish(ignored={"visibility_mask": "range finders see all shapes"})
        self.log.kept(node.element, "a ray that meets nothing reads -1")
        around, count = _turns(azimuths)
        is_ring = around and elevations.tolist() == [0.0]
        rays = count if is_ring else len(azimuths) * len(elevations)
        self._rays += rays
        if rays > _MOST_RAYS or self._rays > _MOST_RAYS_OF_ALL:
            limits = f"at most {_MOST_RAYS} of a sensor and {_MOST_RAYS_OF_ALL} of a file are read"
            self.log.left_out(node.element, f"{called(node.element)}{rays} rays; {limits}")
            return
        if is_ring:
            if count < len(azimuths):
                self.log.kept(node.element, "its last ray, which is the first one, is not read twice")
            start = Pose(np.zeros(3), from_rpy(0.0, 0.0, float(azimuths[0])))
            self._at_site(link, label, pose * start, SiteSensorType.RangeFinder, ring=count, **options)
            return
        for k, (elevation, azimuth) in enumerate(product(elevations.tolist(), azimuths.tolist())):
            level = math.cos(elevation)
            z = np.array([level * math.cos(azimuth), level * math.sin(azimuth), math.sin(elevation)])
            x = across(z)
            ray = Pose(np.zeros(3), quaternion(np.stack((x, np.cross(z, x), z), axis=1)))
            self._at_site(link, f"{label}[{k}]", pose * ray, SiteSensorType.RangeFinder, **options)

    def _at_site(self, link: Link, label: str, pose: Pose, kind: SiteSensorType, **options: Any) -> None:
        link.sites.append(Site(name=label, position=pose.position, orientation=pose.rotation))
        self.world.sensors.site.append(SiteSensor(name=label, site=label, type_=kind, **options))

    def _angles(self, scan: Node | None, tag: str) -> np.ndarray:
        """Angles of a scan [rad]; straight ahead where there is none."""
        node = None if scan is None else scan.node(tag)
        if node is None:
            return np.zeros(1)
        samples = node.real("samples", 1.0)
        low, high = node.real("min_angle", 0.0), node.real("max_angle", 0.0)
        node.finish(ignored={"resolution": "as many rays as samples"})
        if samples != int(samples) or not 1 <= samples <= _MOST_SAMPLES:
            self.log.problem(
                node.element,
                f"<samples>: given {samples:g}; allowed: whole numbers from 1 to {_MOST_SAMPLES}",
            )
            return np.zeros(1)
        return np.linspace(low, high, int(samples)) if samples > 1 else np.array([low])

    # noise

    def _noise_of_axes(self, node: Node, tag: str | None) -> float:
        """Standard deviation of the noise of three axes."""
        holder = node if tag is None else node.node(tag)
        if holder is None:
            return 0.0
        found = [(axis, holder.node(axis)) for axis in "xyz"]
        sizes: list[float] = []
        for _, axis in found:
            sizes.append(0.0 if axis is None else self._noise(axis.node("noise")))
            if axis is not None:
                axis.finish()
        if tag is not None:
            holder.finish()
        if len(set(sizes)) > 1:
            self.log.approximated(
                holder.element, f"noise of three sizes {sizes}; the largest is taken for all"
            )
        return max(sizes)

    def _noise(self, node: Node | None) -> float:
        """Standard deviation of Gaussian noise."""
        if node is None:
            return 0.0
        kind = node.attribute("type") or node.text("type") or "none"
        size = node.real("stddev", 0.0)
        if size < 0.0:
            self.log.problem(node.element, f"<stddev>: given {size}; allowed: 0 or more")
        mean = node.real("mean", 0.0)
        unread = (
            "bias_mean",
            "bias_stddev",
            "dynamic_bias_stddev",
            "dynamic_bias_correlation_time",
            "precision",
        )
        node.finish(ignored=dict.fromkeys(unread, "noise has a standard deviation alone"))
        if mean:
            self.log.left_out(node.element, "<mean>: noise has a standard deviation alone")
        return max(size, 0.0) if kind.startswith("gaussian") else 0.0


def _turns(angles: np.ndarray) -> tuple[bool, int]:
    """Whether rays are equally spaced over a full turn, and how many different ones there are."""
    count = len(angles)
    if count < 2:
        return False, count
    step = (angles[-1] - angles[0]) / (count - 1)
    for different in (count, count - 1):
        if different > 1 and abs(step * different - 2.0 * math.pi) < 1e-4:
            return True, different
    return False, count
