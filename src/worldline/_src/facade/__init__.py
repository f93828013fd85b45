# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Live objects: a World and its handles over a scene description and the model built from it."""
