# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The viewer: a web page that shows a World and lets a user interact with it."""
