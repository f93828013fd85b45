# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Work on many worlds shared out over the processes of a cluster."""
