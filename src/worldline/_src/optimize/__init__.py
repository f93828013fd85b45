# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectory optimisation and system identification over differentiable Worlds."""
