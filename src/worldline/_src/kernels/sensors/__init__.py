# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors: from poses, velocities, accelerations, rows and contacts to one array of readings."""
