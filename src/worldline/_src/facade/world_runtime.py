# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The interface of a World for its handles and parts.

`World` is above them all: it makes them and passes itself. They know this protocol alone, so that imports of
the facade go one way, also those for types. Entries of tables of handles are Any here; the modules that read
them know their types.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from worldline._src.facade.kinds import ContactGradientMode
from worldline._src.facade.options import DeactivationOptions, MultibodyOptions, WorldOptions
from worldline._src.facade.quantities import Quantity, Reading
from worldline._src.facade.runtime import Runtime
from worldline._src.facade.snapshots import Snapshot
from worldline._src.scene.closures import FrameRef
from worldline._src.scene.report import Report
from worldline._src.scene.world import World as Scene
from worldline._src.spatial.poses import Array


class WorldRuntime(Protocol):
    """A World as its handles and parts see it."""

    # ---- the description, and what it is compiled to

    _scene: Scene
    _options: WorldOptions
    _runtime: Runtime | None
    """None while the description is not compiled, and while a job owns it."""
    _compiling: threading.Lock
    _carried: Snapshot | None
    """State of the last runtime, for the next."""
    _inspection: Any
    _cloned: Runtime | None
    """Runtime of the World that this one is a clone of, until it is compiled."""

    def _live(self) -> Runtime: ...
    def _reach(self) -> Runtime: ...
    def _ready(self) -> Runtime: ...
    def _prepared(self) -> Runtime: ...
    def _begin_call(self, runtime: Runtime) -> None: ...
    def _require_current(self, runtime: Runtime) -> None: ...
    def _topology_changed(self) -> None: ...
    def _configuration_changed(self) -> None: ...

    # ---- what is possible now

    _simulating: bool
    _editing: bool
    _checked: bool
    _validated: bool
    """Whether the description is as a reader has validated it."""
    _job: Any

    def _require_idle(self) -> None: ...
    def _require_design(self, what: str) -> None: ...
    def _require_no_edit(self, what: str) -> None: ...
    def validate_topology(self) -> None: ...
    def enter_simulation_mode(self) -> None: ...

    # ---- time, and the state that `reset` leads to

    _time_start: float
    _initial: Snapshot | None
    _initial_time: float
    _layout_edits: int

    def _start(self, options: WorldOptions, scene: Scene | None = None) -> None: ...
    def _clock(self) -> Array: ...
    def _set_time(self, time: float, /) -> None: ...
    def _remember(self) -> None: ...
    def step(self, n: int = 1, /, *, executor: Any = None) -> None: ...
    @property
    def time(self) -> float: ...
    @property
    def frame(self) -> int: ...

    # ---- options

    @property
    def time_step(self) -> float: ...
    @property
    def gravity(self) -> Array: ...
    @property
    def options(self) -> WorldOptions: ...

    is_differentiable: Reading[bool]
    contact_gradient_mode: Quantity[ContactGradientMode, ContactGradientMode]
    multibody_options: Quantity[MultibodyOptions, MultibodyOptions]
    deactivation_options: Quantity[DeactivationOptions, DeactivationOptions]
    contact_sweeps: Quantity[int, int]
    fixed_layout: Quantity[bool, bool]
    sensor_noise_seed: Quantity[int | None, int | None]
    sensor_noise_world: Quantity[int, int]

    @property
    def step_profiling_enabled(self) -> bool: ...
    @step_profiling_enabled.setter
    def step_profiling_enabled(self, value: bool, /) -> None: ...

    # ---- objects

    _numbers: dict[str, int]
    """Counters of made-up names."""
    _rigid_bodies: dict[str, Any]
    _multibodies: dict[str, Any]
    _frames: dict[str, Any]
    _loop_closures: dict[str, Any]
    _sensors: dict[str, Any]
    _markers: dict[int, Any]

    def _own_frame(self, frame: object, what: str) -> None: ...
    def _frame_ref(self, frame: Any, offset: Array) -> FrameRef: ...
    def _frame_moved(self, frame: Any) -> None: ...
    def _follow_frame(self, frame: Any) -> None: ...
    def remove(self, item: Any) -> None: ...
    @property
    def add_loop_closure(self) -> Callable[..., Any]: ...
    def _clone_multibody(self, robot: Any, name: str, translation: Any, rotation: Any) -> Any: ...
    def _add_end_effector(self, robot: Any, name: str, link: Any, offset: Any) -> Any: ...
    @property
    def sensors(self) -> Any: ...

    joints: Reading[Any]

    @property
    def contacts(self) -> list[Any]: ...

    report: Reading[Report]

    # ---- parts

    def _parts(self) -> tuple[Any, ...]: ...

    _connections: Any
    _replay: Any
    _recorder: Any
    _functions: Any
    _parameters: list[Any]

    @property
    def closure_projection(self) -> Any: ...
    @closure_projection.setter
    def closure_projection(self, value: Any, /) -> None: ...

    _closure_projection: Any
    _projection: Any
    _projection_report: Any
    _touching: Any
    _ended: list[Any]
    _ended_since: list[Any]


W = TypeVar("W", bound=WorldRuntime)
"""A World, or a class of the user that is derived from it."""
