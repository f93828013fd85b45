# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The state that `World.reset` leads to, as arrays of the compiled world.

A snapshot is kept by object, so that it outlives the compiled world. The first reset of a compiled world
restores it object by object and keeps copies of the arrays; later ones copy those back in one call.
"""

from __future__ import annotations

from typing import Protocol

from worldline._src.facade.snapshots import Snapshot
from worldline._src.kernels.constraints import tables as t
from worldline._src.spatial.poses import Array
from worldline._src.step.array_runs import Run, Runs
from worldline._src.step.constraints import Constraints
from worldline._src.step.simulation import Simulation

_FIELDS = ("q", "v", "a", "force", "q_target", "v_target", "a_target", "body_f", "clock", "ground_dual")


class CompiledArrays(Protocol):
    """The arrays of a `Runtime` that a snapshot is restored to."""

    sim: Simulation
    constraints: Constraints | None
    persistent_wrench: Array
    one_shot_wrench: Array
    control: Array
    joint_commands: Array
    mocap: Array

    @property
    def activation(self) -> Array: ...


class StartState:
    """Copies of what `Runtime.restore` writes, right after it wrote a snapshot."""

    def __init__(self, runtime: CompiledArrays, saved: Snapshot) -> None:
        self._saved = saved
        self._block = None if runtime.constraints is None else runtime.constraints.block
        written = [getattr(runtime.sim, name) for name in _FIELDS]
        written += [
            runtime.persistent_wrench,
            runtime.one_shot_wrench,
            runtime.control,
            runtime.activation,
            runtime.joint_commands,
        ]
        if runtime.constraints is not None:
            column = runtime.constraints.column
            written += [column.control, column.equality_on]
            written.append(column.counter[t.CONTACT_COUNT : t.CONTACT_COUNT + 1])
            if runtime.constraints.is_fixed:
                written.append(column[runtime.constraints.kept_column])
        # those that are not in an arena are arrays of their own, which are never replaced
        self._runs = Runs(Run(array.copy(), array) for array in written)
        self.has_wrench, self.has_one_shot = (
            bool(runtime.persistent_wrench.any()),
            bool(runtime.one_shot_wrench.any()),
        )
        self.mocap = saved.mocap if saved.mocap.size and saved.mocap.shape == runtime.mocap.shape else None

    def is_of(self, runtime: CompiledArrays, saved: Snapshot) -> bool:
        """Whether these are the arrays of the runtime as it is now, and copies of this snapshot."""
        block = None if runtime.constraints is None else runtime.constraints.block
        return saved is self._saved and block is self._block

    def write(self) -> None:
        """Copy everything back."""
        self._runs.copy()
