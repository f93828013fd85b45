# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`python -m worldline`."""

from worldline._src.cli.main import main

main()
