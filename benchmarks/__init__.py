# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Measurements anyone can repeat: `make bench`, or `python -m benchmarks [NAME ...]`."""
