# SPDX-License-Identifier: Apache-2.0
"""The docs name tests, options and pages that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tflms._library import library

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("tests/text/*.md")]


def core_tests() -> set[str]:
    """ "Suite.Test" of all core tests."""
    found = set()
    for path in ROOT.glob("tests/core/*_test.cc"):
        for match in re.finditer(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", path.read_text()):
            found.add(f"{match[1]}.{match[2]}")
    return found


def python_tests() -> set[str]:
    """Names of test functions and of test files."""
    found = set()
    for path in ROOT.glob("tests/python/test_*.py"):
        found.add(path.stem)
        found.update(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    return found


def test_every_feature_of_earlier_versions_has_tests_that_exist() -> None:
    page = (ROOT / "docs" / "coming-from-tflms.md").read_text()
    core, python = core_tests(), python_tests()
    rows = [line for line in page.splitlines() if line.startswith("| ") and "| test |" not in line]
    assert len(rows) > 30
    missing = []
    for row in rows:
        names = re.findall(r"`([^`]+)`", row.rstrip("| ").rsplit("|", 1)[-1])
        if not names and "README" not in row:
            missing.append(f"no test: {row}")
        for name in names:
            if name.endswith(".txt"):
                there = any((ROOT / "tests" / "text").glob(name))
            elif name.startswith("test_"):
                there = name in python
            else:
                there = any(
                    re.fullmatch(name.replace(".", r"\.").replace("*", r"\w+"), t) for t in core
                )
            if not there:
                missing.append(name)
    assert not missing


def test_options_named_in_the_docs_exist() -> None:
    options = {row["name"] for row in library().option_table()}
    page = (ROOT / "docs" / "coming-from-tflms.md").read_text()
    now = [line.split("|")[2] for line in page.splitlines() if line.startswith("| ")]
    named = {
        word
        for cell in now
        for word in re.findall(r"`([a-z_]+)(?:=[^`]*)?`", cell)
        if "_" in word or word in options
    }
    assert len(named & options) > 20
    assert named <= options


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"
