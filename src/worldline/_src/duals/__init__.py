# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dual numbers of seven directions, the scalar that whole steps are differentiated with."""
