# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts of many worlds on a Ray cluster or a local Ray; needs the extra `distributed`."""

from worldline._src.distributed.pool import WorkerPool, rollout

__all__ = ["WorkerPool", "rollout"]
