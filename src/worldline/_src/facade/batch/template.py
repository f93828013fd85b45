# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The template of the worlds of a batch: a World, or a Model built in code."""

from __future__ import annotations

import numpy as np

from worldline._src.errors import ShapeError
from worldline._src.facade.closure_projection import require_no_projection
from worldline._src.facade.runtime import Runtime
from worldline._src.facade.world import World
from worldline._src.facade.world_arrays import arrays_of
from worldline._src.model.model import Model
from worldline._src.scene.world import World as Scene
from worldline._src.spatial.poses import Array
from worldline._src.step.divergence import DivergencePolicy
from worldline._src.step.simulation import Simulation

BatchSource = World | Scene | Model
"""What a batch can be made of."""


class Template:
    """The initial state of all worlds of a batch, owned by the batch.

    Attributes:
        world: a clone of the World, or one of the scene; None for a model that was built by code.
        sim: its Simulation, at the state that worlds start with.
        policy: what happens to worlds that diverge.
    """

    def __init__(self, source: BatchSource, policy: DivergencePolicy | str | None) -> None:
        if isinstance(source, World):
            self.world: World | None = source.clone()
        elif isinstance(source, Scene):
            self.world = World.from_scene(source)
        elif isinstance(source, Model):
            self.world = None
        else:
            raise ShapeError(f"a batch is made of a World, a scene or a Model, got {source!r}")
        if self.world is not None:
            require_no_projection(self.world, "a batch")
            # refuses what a step of the World does not have, by name
            self.sim = self.world._ready().sim
            self.world._remember()
        else:
            assert isinstance(source, Model)
            self.sim = Simulation(source)
            self.sim._prepare()
        self.policy = DivergencePolicy.of(self.sim.divergence_policy if policy is None else policy)

    @property
    def model(self) -> Model:
        """The compiled description."""
        return self.sim.model

    @property
    def runtime(self) -> Runtime | None:
        """The compiled side of the World."""
        return None if self.world is None else self.world._live()

    @property
    def time(self) -> float:
        """Simulated time at which worlds start [s]."""
        return self.sim.time if self.world is None else self.world.time

    @property
    def wrenches(self) -> Array:
        """Torques, then forces that stay on bodies, (body_count, 6)."""
        runtime = self.runtime
        return self.sim.body_f if runtime is None else runtime.persistent_wrench

    @property
    def noise(self) -> tuple[int | None, int]:
        """Seed of the noise of sensors, None for no noise, and index of the first world in it."""
        if self.world is not None:
            return self.world.sensor_noise_seed, self.world.sensor_noise_world
        policy = None if self.model.option is None else self.model.option.policy
        return (None, 0) if policy is None else (policy.sensor_noise_seed, policy.sensor_noise_world)

    def start(self) -> dict[str, Array]:
        """Every array of one world that a batch has, at the start, by the name of a field."""
        return arrays_of(self.sim, self.runtime)

    def keyframe(self, name: str) -> dict[str, Array]:
        """The arrays of one world at a keyframe of the scene, and its time."""
        if self.world is not None:
            # the World knows all that a keyframe may hold
            probe = self.world.clone()
            probe.apply_keyframe(name)
            runtime = probe._live()
            made = {field: array.copy() for field, array in arrays_of(runtime.sim, runtime).items()}
            return made | {"time": np.array(probe.time)}
        frames = self.model.keyframes
        assert frames is not None
        k = list(frames.label).index(name)
        made = {"joint_positions": frames.joint_q[k], "joint_velocities": frames.joint_qd[k]}
        return made | {"controls": frames.control[k], "activations": np.nan_to_num(frames.activation[k])}
