# SPDX-License-Identifier: Apache-2.0
"""docs/results.md is what the files of bench/results say (bench/results_page.py, bench/suite.py)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "bench"))

import results_page
import suite

ROOT = suite.ROOT
MIB = 1 << 20
# By section: a result as its benchmark writes it, made up, and cells that the table has then.
SAMPLES: dict[str, tuple[Any, list[str]]] = {
    "max_batch": (
        {"model": "net", "memory_mib": 360, "without": 30, "with": 240, "same_loss": True},
        ["| 360 MiB | none | 30 | 240 | 8.00 | - | - | equal |"],
    ),
    "max_batch_v2_rules": (
        {"model": "net", "options": {"planner": "p"}, "with": 12, "same_loss": False},
        ['{"planner": "p"}', "| 12 | - |", "DIFFERENT"],
    ),
    "bound_share": (
        [{"model": "net", "memory_mib": 64, "batch": 80, "bound": 99.96, "share": 0.8}],
        ["| 80 | - | 100.0 | 80 % |"],
    ),
    "unet3d": (
        {"size": 32, "rows": [{"unit": "batch", "without": 8, "with": 24, "factor": 3.0}]},
        ["largest batch, 32^3 voxels each | 8 | 24 | 3.00x"],
    ),
    "step_time": (
        {
            "model": "net",
            "batch": 120,
            "base_s": 2.0,
            "plain_s": 1.9,
            "rows": [
                {"planner": "a", "link_bytes_per_s": 400e6, "seconds": 2.2, "equal": True},
                {"planner": "b", "link_bytes_per_s": 0, "seconds": 0.0, "error": "no room"},
            ],
        },
        ["net, batch 120", ": 0.950.", "| a | 400 MB/s | 2.20 s | 1.100 |", "no limit | no room |"],
    ),
    "remat": (
        [
            {
                "name": "net",
                "batch": 4,
                "remat": "tool",
                "memory_mib": 9,
                "link_mb_per_s": 400,
                "fixed_batch": [
                    {"way": "remat", "peak_bytes": 12 * MIB, "multiple": 1.25, "equal": False},
                    {"way": "tflms", "peak_bytes": 11 * MIB, "multiple": 1.0, "error": "full"},
                ],
                "fixed_device": [{"way": "tflms", "batch": 6, "examples_per_s": 70.4}],
            }
        ],
        [
            "| remat: tool | 12.0 MiB | 1.25x | DIFFERENT |",
            "| tflms | 11.0 MiB | full | - |",
            "| net, 9 MiB | tflms | 6 | 70 |",
            "Link: 400 MB/s.",
        ],
    ),
    "predicted_peak": (
        [{"model": "net", "fraction": 0.9, "error": -0.034, "measured_bytes": 20 * MIB}],
        ["| 0.90x | - | - | 20.0 MiB | -3.4 % |"],
    ),
    "predicted_time": (
        {"rows": [{"times_from": "profile", "link_bytes_per_s": 1e8, "predicted_s": 1.5}]},
        ["| profile | 100 MB/s | 1.50 s |"],
    ),
    "planning": (
        [{"planner": "p", "nodes": 1000, "seconds": 0.25, "grown_bytes": 512000, "fits": True}],
        ["| p | 1,000 | 0.25 s | - | 512 bytes | - | - | yes |"],
    ),
    "bounds": (
        [{"model": "net", "planner": "p", "step_us": 2_500_000, "over_bound": 1.25}],
        ["| p | - | - | - | 2.50 s | - | - | 1.250 |"],
    ),
    "peers": (
        {
            "machine": "card",
            "budgets": [
                {
                    "budget": "60%",
                    "rows": [
                        {"policy": "dtr", "fits": True, "time_us": 15, "compute_us": 10},
                        {"policy": "other", "fault": "illegal", "compute_us": 10},
                    ],
                }
            ],
        },
        ["Costs and link: card.", "| 60% | dtr | yes | +50.0 % |", "| other | illegal |"],
    ),
    "checkmate": (
        {
            "link_gb_per_s": 12.0,
            "models": {
                "VGG19": {
                    "published": {"sqrt": 197, "checkmate": 289},
                    "artifact": {"4": {"sqrt": 197}},
                    "limits": {"2": {"bound": 500, "policies": {"joint": {"batch": 400}}}},
                }
            },
        },
        ["| VGG19 | 4 | sqrt 197 | sqrt 197 |", "| VGG19 | 2 | joint | 400 | 500 | 289 |"],
    ),
    "dtr": (
        {
            "lstm": {
                "budgets": [
                    {
                        "gb": 8,
                        "published": 0.25,
                        "published_recompute": 0.02,
                        "policies": {"joint": {"fits": False, "overhead": 0.013}},
                    }
                ]
            }
        },
        ["| lstm | 8 GB | +25.0 % (2.0 %) | +1.3 % (no fit) |"],
    ),
}


def stored(result: Any, **changes: Any) -> dict[str, Any]:
    return {**suite.envelope("python bench/x.py", "usual", "", result), **changes}


def test_the_page_is_what_the_results_say() -> None:
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert text == results_page.page(results_page.load(suite.RESULTS)), (
        "python bench/suite.py --page"
    )


def test_every_benchmark_has_a_section() -> None:
    names = [benchmark.name for benchmark in suite.BENCHMARKS]
    assert sorted(names) == sorted(part.name for part in results_page.SECTIONS)
    assert sorted(names) == sorted(SAMPLES)
    assert all((ROOT / "bench" / benchmark.script).exists() for benchmark in suite.BENCHMARKS)


def test_stored_results_are_of_whole_runs_and_say_nothing_of_the_machine() -> None:
    benchmarks = {benchmark.name: benchmark for benchmark in suite.BENCHMARKS}
    for path in suite.RESULTS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        content = results_page.load(suite.RESULTS)[path.stem]
        assert path.stem in benchmarks
        assert content["mode"] in ("usual", "long"), path.name
        script = f"python bench/{benchmarks[path.stem].script}"
        assert content["command"].startswith(script)
        assert suite.without_paths(text) == text, path.name
        assert not re.search(r"\b20\d\d-\d\d-\d\d\b", text), path.name


@pytest.mark.parametrize("name", SAMPLES)
def test_figures_are_on_the_page(name: str) -> None:
    result, cells = SAMPLES[name]
    text = results_page.page({name: stored(result)})
    missing = [cell for cell in cells if cell not in text]
    assert not missing, text
    assert text.count("Not measured.") == len(SAMPLES) - 1
    assert text.count("Made by `python bench/x.py`") == 1
    # All lines of a table have as many cells as its head.
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table


@pytest.mark.parametrize("name", SAMPLES)
def test_without_rows_it_says_not_measured(name: str) -> None:
    whole = SAMPLES[name][0]
    empty = [None, [], {}] if isinstance(whole, dict) else [None, []]
    if isinstance(whole, dict):
        empty += [{key: [] for key in whole if isinstance(whole[key], list)}]
        empty += [{key: {} for key in whole if isinstance(whole[key], dict)}]
    for result in empty:
        text = results_page.page({name: stored(result)})
        assert text.count("Not measured.") == len(SAMPLES), (name, result)
        assert "Made by `" not in text
    assert results_page.page({name: {}}) == results_page.page({})


def test_a_row_that_lacks_figures_is_a_row() -> None:
    for name in ("bound_share", "bounds", "predicted_peak", "planning", "remat"):
        results_page.page({name: stored([{}])})


def test_quick_forms_and_failures_are_named() -> None:
    result = SAMPLES["planning"][0]
    text = results_page.page({"planning": stored(result, mode="quick", failure="losses differ")})
    assert "**The quick form, to be compared with nothing.**" in text
    assert "It ended with: losses differ" in text


def test_paths_are_taken_out() -> None:
    text = f'"{ROOT}/bench/x.py", "/tmp/abc/result.json: no", "a/home/b", "1/2"'
    assert suite.without_paths(text) == '"bench/x.py", "...: no", "a/home/b", "1/2"'
