# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How the documentation is built: `make docs`, with no network, warnings as errors."""

import re
from typing import Any

from worldline import __version__

project = "Worldline"
author = "The Worldline developers"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["data"]
html_theme = "furo"
html_title = f"Worldline {__version__}"
html_show_sphinx = False
myst_heading_anchors = 3

# docstrings write code in single backticks
default_role = "code"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

# short names of types stand for classes of several modules (a World of objects, a World of a scene)
suppress_warnings = ["ref.python"]


def _plain_bars(app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Bars in docstrings are absolute values; the markup would take them for substitutions."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "|")):
            # every second piece lies within backticks
            pieces = re.split(r"(`[^`]*`)", line)
            lines[k] = "".join(p if p.startswith("`") else p.replace("|", r"\|") for p in pieces)


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", _plain_bars, priority=400)
