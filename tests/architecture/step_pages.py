# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pages that show the table of the step, and how to write it anew: make tables."""

from __future__ import annotations

from pathlib import Path

from worldline._src.step.step_table import markdown

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "ARCHITECTURE.md", ROOT / "docs" / "concepts" / "steps.md")
BEGIN, END = "<!-- step table: make tables -->\n", "<!-- end of the step table -->\n"


def written_anew(page: Path) -> str:
    """The text of a page with the table as it is now."""
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    assert rest and after is not None, f"{page.name} has no table of the step"
    return f"{before}{BEGIN}\n{markdown()}\n{END}{after}"


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(written_anew(each), "utf-8")
