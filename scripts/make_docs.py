# SPDX-License-Identifier: Apache-2.0
"""Writes the pages that are made from the code: docs/options.md and docs/rules.md.

    python scripts/make_docs.py            # writes
    python scripts/make_docs.py --check    # fails when a page is not what the code says

Needs the installed package (it asks the plugin for its tables), not TensorFlow.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tflms._library import library

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOTICE = "<!-- Made by scripts/make_docs.py from the code: do not edit. -->\n"


def options_page() -> str:
    lines = [
        "# Options",
        "",
        NOTICE,
        "Each option can be given in Python, `tflms.enable(name=value)`, or in the environment,",
        "`TFLMS_NAME=value`. Python wins over the environment, the environment over the default.",
        "Options in bytes take a number or text with a unit, `360MiB` or `4 GB` (powers of 1024 with",
        "an `i` or a bare letter, else of 1000), in both. An empty variable counts as not set.",
        'Most users set `budget_bytes` or nothing. -1 means "automatic" wherever it is allowed.',
        "",
        "| option | default | unit | range |",
        "|---|---|---|---|",
    ]
    table = library().option_table()
    for row in table:
        default = row["default"] if row["default"] != "" else '""'
        lines.append(
            f"| [`{row['name']}`](#{row['name']}) | {cell(default)} | {row['unit']} "
            f"| {cell(row['range'])} |"
        )
    for row in table:
        lines += ["", f"## {row['name']}", "", row["help"], ""]
        lines.append(f"Environment: `TFLMS_{row['name'].upper()}`. Range: {row['range']}.")
    return "\n".join(lines) + "\n"


def rules_page() -> str:
    lines = ["# Rules and planners", "", NOTICE, "## Rewriting rules, in running order"]
    for row in library().rule_table():
        lines += ["", f"### {row['name']}", "", row["summary"]]
        if row["formula"]:
            lines += ["", "```", row["formula"].strip("\n"), "```"]
    lines += ["", "## Planners"]
    for row in library().planner_table():
        lines += ["", f"### {row['name']}", "", row["summary"]]
    return "\n".join(lines) + "\n"


def cell(text: object) -> str:
    """Text as it can stand in a Markdown table."""
    return str(text).replace("|", "\\|")


PAGES = {"options.md": options_page, "rules.md": rules_page}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    args = parser.parse_args()
    stale = []
    for name, page in PAGES.items():
        path = DOCS / name
        text = page()
        if args.check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.write_text(text, encoding="utf-8")
            print(path)
    if stale:
        raise SystemExit(f"not current, run `make docs`: {', '.join(stale)}")


if __name__ == "__main__":
    main()
