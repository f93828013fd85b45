# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arrays of a batch in other array libraries through DLPack, without a copy."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx

PENDULUM = """<mujoco><worldbody><body name="bob"><joint name="hinge" axis="0 1 0" damping="0.1"/>
  <geom size="0.1" pos="0 0 -1"/></body></worldbody><actuator><motor joint="hinge" gear="3"/></actuator></mujoco>"""
LIVE = ("joint_positions", "joint_velocities", "controls", "joint_forces", "body_wrenches")
LAYOUTS = pytest.mark.parametrize("layout", ["lanes", "threads"])


def pendulums(layout, count=9):
    return sx.WorldBatch(msd.from_str(PENDULUM, format="mjcf"), count, layout=layout)


def address(array):
    return array.__array_interface__["data"][0]


@LAYOUTS
def test_numpy_shares_memory(layout):
    batch = pendulums(layout)
    for name in LIVE:
        live = getattr(batch, name)
        assert np.shares_memory(np.from_dlpack(live), live)


@LAYOUTS
def test_torch_shares_memory_and_writes_into_the_batch(layout):
    torch = pytest.importorskip("torch")
    batch, alone = pendulums(layout), pendulums(layout)
    tensors = {name: torch.from_dlpack(getattr(batch, name)) for name in LIVE}
    for name, tensor in tensors.items():
        live = getattr(batch, name)
        assert tensor.data_ptr() == address(live) and tensor.dtype == torch.float64
        assert tuple(tensor.shape) == live.shape
    tensors["joint_positions"][:] = torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None]
    tensors["controls"].fill_(0.5)
    alone.joint_positions, alone.controls = np.linspace(-1, 1, 9)[:, None], np.full((9, 1), 0.5)
    batch.step(50)
    alone.step(50)
    # what the tensor wrote made the steps, and the tensor has what they led to
    np.testing.assert_array_equal(batch.joint_positions, alone.joint_positions)
    np.testing.assert_array_equal(tensors["joint_positions"].numpy(), alone.joint_positions)
    # arrays stay the same after a reset
    batch.reset()
    assert float(tensors["joint_positions"].abs().max()) == 0.0


@LAYOUTS
def test_torch_takes_what_is_computed(layout):
    torch = pytest.importorskip("torch")
    batch = pendulums(layout)
    poses = batch.body_poses
    assert torch.from_dlpack(poses).data_ptr() == address(poses)


@LAYOUTS
def test_jax_takes_compact_arrays(layout):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    batch = pendulums(layout)
    batch.joint_positions[:, 0] = np.linspace(-1, 1, 9)
    made = jax.dlpack.from_dlpack(np.ascontiguousarray(batch.joint_positions))
    np.testing.assert_array_equal(np.asarray(made), batch.joint_positions)
